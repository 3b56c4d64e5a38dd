// SPDX-License-Identifier: Apache-2.0
/// @file banded_mm.c
/// A banded matrix times a dense block.
///
///     forward   y      = op(A) x                          i[0]: side, i[1], i[2]: lower, upper, i[3]: rows of A; ops/structured/banded.h
///     vjp       ab_bar = banded_outer(y_bar, x)           transposed and conjugated with the side
///               x_bar  = op(A)^H y_bar
///     jvp       y_dot  = op(A_dot) x + op(A) x_dot

#include "ops/structured/banded.h"

enum { AB, X };
enum { Y };

static lac_status banded_mm_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  bool transposed = lac_side_transposes(SIDE(c));
  lac_banded band = lac_banded_of(c->attrs, lac_meta_last(&c->in_meta[AB]));

  LAC_TRY(lac_call_check_banded(c, SIDE(c), band.lower, band.upper, band.rows));
  LAC_TRY(lac_call_bind(c, 'w', band.lower + band.upper + 1, NULL));
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
  LAC_TRY(KERNELS(c)->banded_mm(ctx, &band, SIDE(c), c->in[AB], c->in[X], c->out[Y]));
done:
  return status;
}

static void banded_mm_vjp(lac_rule *r) {
  const int64_t *i = r->attrs->i;

  if (r->wants[AB]) r->in_bar[AB] = lac_emit_banded_bar(r->tape, SIDE(r), i[1], i[2], r->out_bar[Y], r->in[X]);
  if (r->wants[X]) r->in_bar[X] = lac_banded_mm(r->tape, flip(SIDE(r)), i[1], i[2], i[3], r->in[AB], r->out_bar[Y]);
}

static void banded_mm_jvp(lac_rule *r) {
  const int64_t *i = r->attrs->i;

  r->out_dot[Y] = lac_add(r->tape, lac_banded_mm(r->tape, SIDE(r), i[1], i[2], i[3], r->in_dot[AB], r->in[X]),
                          lac_banded_mm(r->tape, SIDE(r), i[1], i[2], i[3], r->in[AB], r->in_dot[X]));
}

const lac_op lac_op_banded_mm = {
    .name = "banded_mm",
    .signature = "(w,c),(n,k)->(m,k)",
    .parameters = "lower_and_upper: bands @1, ab: array, x: columns, rows: integer @3, side: side @0 = N",
    .about = "y = op(A) x for a banded A of so many rows.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_SUMS_BATCH | LAC_WHOLE,
    .vjp_needs = NEEDS_IN(AB) | NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(AB) | NEEDS_IN(X),
    .infer = banded_mm_infer,
    .forward = banded_mm_forward,
    .vjp = banded_mm_vjp,
    .jvp = banded_mm_jvp,
};

lac_var lac_banded_mm(lac_tape *tape, lac_side side, int64_t lower, int64_t upper, int64_t rows, lac_var ab,
                      lac_var x) {
  lac_spec spec = {.op = &lac_op_banded_mm, .attrs.i = {side, lower, upper, rows}};
  return lac_emit(tape, &spec, (lac_var[]){ab, x});
}
