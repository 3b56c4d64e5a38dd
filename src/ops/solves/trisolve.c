// SPDX-License-Identifier: Apache-2.0
/// @file trisolve.c
/// The solution of a triangular system.
///
///     forward   op(T) x = b                       i[0]: form, i[1]: lac_triangle, i[2]: lac_diagonal
///     vjp       lambda = op(T)^-H x_bar           b_bar = lambda,  t_bar = -sddmm(lambda, x)
///     jvp       x_dot  = op(T)^-1 (b_dot - op(T_dot) x)
///
/// The operator takes a pattern that *is* the triangle (without a diagonal under LAC_DIAGONAL_UNIT). The public
/// function brings any pattern to that by a remap, so entries that are not read get a gradient of exactly zero, in
/// every order.

#include "autodiff/rule.h"

enum { A, B };
enum { X };

#define TRIANGLE(r) ((lac_triangle)(r)->attrs->i[1])
#define DIAGONAL(r) ((lac_diagonal)(r)->attrs->i[2])

/// The call with other inputs or another form, as rules emit it.
static lac_var trisolve_like(lac_rule *r, lac_form form, lac_var a, lac_var b);

static lac_status trisolve_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK((TRIANGLE(c) == LAC_TRIANGLE_LOWER || TRIANGLE(c) == LAC_TRIANGLE_UPPER) &&
                (DIAGONAL(c) == LAC_DIAGONAL_STORED || DIAGONAL(c) == LAC_DIAGONAL_UNIT),
            LAC_ERR_ARG,
            "trisolve: triangle %d is LAC_TRIANGLE_LOWER or LAC_TRIANGLE_UPPER, diagonal %d is LAC_DIAGONAL_STORED or "
            "LAC_DIAGONAL_UNIT",
            (int)TRIANGLE(c), (int)DIAGONAL(c));
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

/// Name the first entry outside the triangle: rows are sorted, so it is the first or the last of its row.
static lac_status trisolve_name_outside(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_pattern *p = c->patterns[0];
  bool lower = TRIANGLE(c) == LAC_TRIANGLE_LOWER, unit = DIAGONAL(c) == LAC_DIAGONAL_UNIT;

  LAC_TRY(lac_pattern_host(ctx, p));
  for (int64_t i = 0; i < p->rows; i++) {
    int64_t begin = lac_buffer_get(p->offsets, i), end = lac_buffer_get(p->offsets, i + 1);
    if (begin == end) continue;
    int64_t j = lac_buffer_get(p->columns, lower ? end - 1 : begin);
    LAC_CHECK((lower ? j <= i : j >= i) && !(unit && j == i), LAC_ERR_PATTERN,
              "trisolve: entry (%lld, %lld) is outside the %s%s triangle; lac_pattern_triangle takes it out",
              (long long)i, (long long)j, unit ? "strictly " : "", lower ? "lower" : "upper");
  }
done:
  return status;
}

/// Refuse a pattern that is not the triangle, by its band, which is kept.
static lac_status trisolve_check_structure(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_band *band = NULL;
  int64_t from = DIAGONAL(c) == LAC_DIAGONAL_UNIT;

  LAC_TRY(lac_pattern_band(ctx, c->patterns[0], &band));
  if (band->low > band->high) return LAC_OK;
  if (TRIANGLE(c) == LAC_TRIANGLE_LOWER ? band->high > -from : band->low < from) LAC_TRY(trisolve_name_outside(c));
done:
  return status;
}

static lac_status trisolve_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->trisolve));
  LAC_TRY(trisolve_check_structure(c));
  LAC_TRY(KERNELS(c)->trisolve(ctx, c->patterns[0], TRIANGLE(c), DIAGONAL(c), FORM(c), c->in[A], c->in[B], c->out[X]));
done:
  return status;
}

static void trisolve_vjp(lac_rule *r) {
  lac_var lambda = trisolve_like(r, flip(FORM(r)), r->in[A], r->out_bar[X]);

  r->in_bar[B] = lambda;
  if (r->wants[A]) {
    r->in_bar[A] = lac_neg(r->tape, lac_emit_matrix_bar(r->tape, r->patterns[0], FORM(r), lambda, r->out[X]));
  }
}

static void trisolve_jvp(lac_rule *r) {
  lac_var change = lac_spmm(r->tape, r->patterns[0], r->in_dot[A], r->out[X], FORM(r));
  r->out_dot[X] = trisolve_like(r, FORM(r), r->in[A], lac_sub(r->tape, r->in_dot[B], change));
}

const lac_op lac_op_trisolve = {
    .name = "trisolve",
    .signature = "(z),(n,k)->(n,k)",
    .binds = "pattern 0: z, op(n,n)",
    .parameters =
        "pattern: pattern, a: values, b: columns, op: form = N, triangle: lower|upper = lower, diagonal: stored|unit "
        "= stored",
    .about = "op(T) x = b, T being all of the pattern.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(A) | NEEDS_OUT(X),
    .jvp_needs = NEEDS_IN(A) | NEEDS_OUT(X),
    .infer = trisolve_infer,
    .forward = trisolve_forward,
    .vjp = trisolve_vjp,
    .jvp = trisolve_jvp,
};

static lac_var trisolve_like(lac_rule *r, lac_form form, lac_var a, lac_var b) {
  lac_spec spec = {.op = &lac_op_trisolve, .patterns = {r->patterns[0]}, .attrs.i = {form, TRIANGLE(r), DIAGONAL(r)}};
  return lac_emit(r->tape, &spec, (lac_var[]){a, b});
}

lac_var lac_trisolve(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var b, lac_triangle triangle,
                     lac_diagonal diagonal, lac_form op) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *part = NULL;
  lac_map *map = NULL;
  lac_var x = {0};
  int64_t k = diagonal == LAC_DIAGONAL_STORED ? 0 : triangle == LAC_TRIANGLE_LOWER ? -1 : 1;

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_triangle(ctx, pattern, triangle, k, &part, &map));
  x = lac_emit(tape, &(lac_spec){.op = &lac_op_trisolve, .patterns = {part}, .attrs.i = {op, triangle, diagonal}},
               (lac_var[]){lac_emit_along(tape, map, a, LAC_PLAIN), b});
done:
  lac_map_destroy(&map);
  lac_pattern_destroy(&part);
  return status == LAC_OK ? x : lac_tape_fail(tape, status);
}
