// SPDX-License-Identifier: Apache-2.0
/// @file lu_values.c
/// The values of the factors C = L U, by elimination on a pattern without pivoting.
///
///     forward   for k < i:  l_ik = c_ik / u_kk,  c_ij = c_ij - l_ik u_kj         only where the pattern P has entries
///     vjp       c_bar  = lu_values_adjoint(P, c, lu_bar)
///     jvp       lu_dot = the derivative's part of lu_values(P2, [[c, c_dot], [0, c]])
///
/// L, whose diagonal is one and not stored, stands below the diagonal, U on and above; P is square with a full
/// diagonal. Where P is closed under elimination (lac_pattern_fill) these are the factors; elsewhere they are those of
/// ILU(0), a function of c like any other and with the same rules. P2 is P with a block of 2 x 2 in place of each
/// entry: elimination is made of products, differences and quotients, which such blocks have as dual numbers do.
///
/// i[0] is lac_pivots. The object, which may be absent, is a map whose target says which row a step eliminates, for
/// sentences.

#include "ops/solves/lu.h"

enum { A };
enum { LU };

#define PIVOTS(call) ((lac_pivots)(call)->attrs->i[0])

lac_status lac_lu_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_pattern *p = c->patterns[0];
  const lac_map *steps = c->object;

  LAC_TRY(lac_pattern_require_scalar(ctx, p, c->op->name));
  LAC_CHECK(!steps || (steps->object.kind == &lac_map_kind && steps->inputs == p->rows), LAC_ERR_ARG,
            "%s: the object must be a map of the %lld steps to rows (lac_pattern_fill), or absent", c->op->name,
            (long long)p->rows);
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

/// Refuse a row without a diagonal entry, which the groups of a kept map show.
static lac_status lu_check_diagonal(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_pattern *p = c->patterns[0];
  const lac_buffer *offsets = NULL, *slots = NULL;
  lac_map *map = NULL;
  int64_t row = 0;

  LAC_TRY(lac_pattern_diagonal(ctx, p, &map));
  LAC_TRY(lac_map_groups(ctx, map, &offsets, &slots));
  if (slots->count == p->rows) goto done;
  LAC_TRY(lac_buffer_host(ctx, offsets));
  while (lac_buffer_get(offsets, row + 1) > lac_buffer_get(offsets, row)) ++row;
  LAC_FAIL(LAC_ERR_SINGULAR,
           "%s: row %lld has no diagonal entry; store one in every row (a zero will do where elimination fills it)",
           c->op->name, (long long)row);
done:
  lac_map_destroy(&map);
  return status;
}

static lac_status lu_say_zero(lac_context *ctx, const char *who, const lac_value_fault *f) {
  lac_status status = LAC_OK;

  LAC_CHECK(f->items == 1, LAC_ERR_SINGULAR,
            "%s: the pivot of row %lld is zero in matrix %lld of the batch; another order of elimination, or a solver, "
            "which pivots, may do",
            who, (long long)f->place, (long long)f->item);
  LAC_FAIL(LAC_ERR_SINGULAR,
           "%s: the pivot of row %lld is zero; another order of elimination, or a solver, which pivots, may do", who,
           (long long)f->place);
done:
  return status;
}

static lac_status lu_say_indefinite(lac_context *ctx, const char *who, const lac_value_fault *f) {
  lac_status status = LAC_OK;

  LAC_CHECK(f->items == 1, LAC_ERR_DEFINITE,
            "%s: matrix %lld of the batch is not positive definite: pivot %.3g in row %lld; use lac_lu or lac_ldlt",
            who, (long long)f->item, f->number, (long long)f->place);
  LAC_FAIL(LAC_ERR_DEFINITE, "%s: the matrix is not positive definite: pivot %.3g in row %lld; use lac_lu or lac_ldlt",
           who, f->number, (long long)f->place);
done:
  return status;
}

/// Say what was found at once; rows are called what `late` calls them.
static lac_status lu_say_now(lac_call *c, const lac_late *late, const lac_pivot_fault *found, int64_t items) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_value_fault fault = {.item = found->item, .place = found->row, .items = items, .number = found->pivot};

  if (late->names) {
    LAC_TRY(lac_buffer_host(ctx, late->names));
    fault.place = lac_buffer_get(late->names, found->row);
  }
  LAC_TRY(late->say(ctx, late->who, &fault));
done:
  return status;
}

lac_status lac_lu_run(lac_call *c, lac_pivots pivots, const lac_array *a, lac_array *lu) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_map *steps = c->object;
  bool is_positive = pivots == LAC_PIVOTS_POSITIVE;
  lac_late late = {is_positive ? lu_say_indefinite : lu_say_zero, c->op->name, steps ? steps->target : NULL};
  lac_pivot_fault found = {.row = -1};

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->lu_values));
  LAC_TRY(lu_check_diagonal(c));
  LAC_TRY(KERNELS(c)->lu_values(ctx, c->patterns[0], is_positive, a, lu, &late, &found));
  if (found.row >= 0) LAC_TRY(lu_say_now(c, &late, &found, a->count / c->patterns[0]->nnz));
done:
  return status;
}

static lac_status lu_values_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(PIVOTS(c) == LAC_PIVOTS_NONZERO || PIVOTS(c) == LAC_PIVOTS_POSITIVE, LAC_ERR_ARG,
            "lu_values: pivots is LAC_PIVOTS_NONZERO or LAC_PIVOTS_POSITIVE, not %lld", (long long)c->attrs->i[0]);
  LAC_TRY(lac_lu_infer(c));
done:
  return status;
}

static lac_status lu_values_forward(lac_call *c) { return lac_lu_run(c, PIVOTS(c), c->in[A], c->out[LU]); }

static void lu_values_vjp(lac_rule *r) {
  r->in_bar[A] = lac_lu_values_adjoint(r->tape, r->patterns[0], r->in[A], r->out_bar[LU]);
}

static void lu_values_jvp(lac_rule *r) {
  lac_doubled *d = dual_pattern(r);
  if (!d) return;
  lac_var c = dual_number(r->tape, d, r->in[A], r->in_dot[A]);
  r->out_dot[LU] = dual_derivative(r->tape, d, lac_lu_values(r->tape, d->pattern, c, NULL, LAC_PIVOTS_NONZERO));
  lac_object_release(d);
}

const lac_op lac_op_lu_values = {
    .name = "lu_values",
    .signature = "(z)->(z)",
    .binds = "pattern 0: z, (n,n)",
    .parameters = "pattern: pattern, c: values, steps: map = none, pivots: nonzero|positive = nonzero",
    .about = "L and U of C = L U without pivoting, L below the diagonal and U on and above.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(A),
    .jvp_needs = NEEDS_IN(A),
    .infer = lu_values_infer,
    .forward = lu_values_forward,
    .vjp = lu_values_vjp,
    .jvp = lu_values_jvp,
};

lac_var lac_lu_values(lac_tape *tape, const lac_pattern *pattern, lac_var c, const lac_map *steps, lac_pivots pivots) {
  lac_spec spec = {.op = &lac_op_lu_values, .patterns = {pattern}, .object = steps, .attrs.i = {pivots}};
  return lac_emit(tape, &spec, &c);
}
