// SPDX-License-Identifier: Apache-2.0
/// The operator extent: its values, its refusals, its derivatives, which are zero.

#include <math.h>

#include "support/axes_case.h"

static void extent_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_extent(tape, in[0], AXES_OF(setup->c->i[0], 0), setup->c->f[0]);
}

static void extent_dense(const op_case *c, const ref *in, ref *out) {
  const lac_meta *x = &in[0].meta;
  double n = 1;
  for (int d = 0; d < x->ndim; ++d) n *= c->i[0] >> d & 1 ? (double)x->shape[x->ndim - 1 - d] : 1;
  out[0].x[0] = pow(n, c->f[0]);
}

static void check_extent(lac_context *ctx, const char *shape, uint32_t mask, double power) {
  check_op(ctx, &(op_case){.op = "extent",
                           .shapes = {shape},
                           .result = {""},
                           .i = {mask},
                           .f = {power},
                           .apply = extent_apply,
                           .dense = extent_dense});
}

static void extent_differentiates_to_zero(lac_context *ctx) {
  check_extent(ctx, "4,3", 1, 1);
  check_extent(ctx, "4,3", 2, -1);
  check_extent(ctx, "2,4,3", 5, -0.5);
}

static void extent_of_no_axes_is_one_and_of_nothing_zero(lac_context *ctx) {
  check_extent(ctx, "", 0, 1);
  check_extent(ctx, "0,3", 2, 1);
  check_extent(ctx, "0,3", 1, 1);
}

static void extent_refuses_axes_that_are_not_there(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_extent(tape, lac_tape_scalar(tape, LAC_F64, 3, 0), LAC_AXES(-1), 1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "extent");
  lac_tape_destroy(&tape);
}

CHECK_MAIN(extent_differentiates_to_zero, extent_of_no_axes_is_one_and_of_nothing_zero,
           extent_refuses_axes_that_are_not_there)
