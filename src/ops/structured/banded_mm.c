// SPDX-License-Identifier: Apache-2.0
/// @file banded_mm.c
/// A banded matrix times a dense block.
///
///     forward   y      = op(A) x                          i[0]: form, i[1], i[2]: lower, upper, i[3]: rows of A;
///                                                         ops/structured/banded.h
///     vjp       ab_bar = banded_outer(y_bar, x)           transposed and conjugated with the form
///               x_bar  = op(A)^H y_bar
///     jvp       y_dot  = op(A_dot) x + op(A) x_dot

#include "ops/structured/banded.h"

enum { AB, X };
enum { Y };

static lac_status banded_mm_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  bool transposed = lac_form_transposes(FORM(c));
  lac_banded band = lac_banded_of(c->attrs, lac_meta_last(&c->in_meta[AB]));

  LAC_CHECK(band.rows >= 0, LAC_ERR_ARG, "banded_mm: rows = %lld; it must be 0 or more", (long long)band.rows);
  LAC_TRY(lac_call_bind(c, 'm', transposed ? band.cols : band.rows, NULL));
  LAC_TRY(lac_call_bind(c, 'n', transposed ? band.rows : band.cols, NULL));
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status banded_mm_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_banded band = lac_banded_of(c->attrs, lac_meta_last(&c->in_meta[AB]));

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->banded_mm));
  LAC_TRY(KERNELS(c)->banded_mm(ctx, &band, FORM(c), c->in[AB], c->in[X], c->out[Y]));
done:
  return status;
}

static void banded_mm_vjp(lac_rule *r) {
  const int64_t *i = r->attrs->i;

  if (r->wants[AB]) r->in_bar[AB] = lac_emit_banded_bar(r->tape, FORM(r), i[1], i[2], r->out_bar[Y], r->in[X]);
  if (r->wants[X]) r->in_bar[X] = lac_banded_mm(r->tape, i[1], i[2], r->in[AB], r->out_bar[Y], i[3], flip(FORM(r)));
}

static void banded_mm_jvp(lac_rule *r) {
  const int64_t *i = r->attrs->i;

  r->out_dot[Y] = lac_add(r->tape, lac_banded_mm(r->tape, i[1], i[2], r->in_dot[AB], r->in[X], i[3], FORM(r)),
                          lac_banded_mm(r->tape, i[1], i[2], r->in[AB], r->in_dot[X], i[3], FORM(r)));
}

const lac_op lac_op_banded_mm = {
    .name = "banded_mm",
    .signature = "(w,c),(n,k)->(m,k)",
    .binds = "op; bands 1: w",
    .parameters = "lower_and_upper: bands @1, ab: array, x: columns, rows: integer @3, op: form @0 = N",
    .about = "y = op(A) x for a banded A of so many rows.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(AB) | NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(AB) | NEEDS_IN(X),
    .infer = banded_mm_infer,
    .forward = banded_mm_forward,
    .vjp = banded_mm_vjp,
    .jvp = banded_mm_jvp,
};

lac_var lac_banded_mm(lac_tape *tape, int64_t lower, int64_t upper, lac_var ab, lac_var x, int64_t rows, lac_form op) {
  lac_spec spec = {.op = &lac_op_banded_mm, .attrs.i = {op, lower, upper, rows}};
  return lac_emit(tape, &spec, (lac_var[]){ab, x});
}
