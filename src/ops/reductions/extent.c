// SPDX-License-Identifier: Apache-2.0
/// @file extent.c
/// How many numbers stand along some axes of an array, to a power: a number that follows from the shape alone, whatever
/// it will be when a program runs.
///
///     forward   y     = n^p          n: the product of the sizes of the axes of a mask, i[0] as in sum; p = f[0];
///                                    y has the dtype of x and the shape `like`, which is that of one number
///     vjp       x_bar = 0
///     jvp       y_dot = 0
///
/// A mean is sum(x) n^-1. An axis that is spread over ranks counts in full.

#include <math.h>

#include "lacuna/distributed.h"
#include "ops/axes.h"

enum { X };
enum { Y };

static lac_status extent_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &c->in_meta[X];

  LAC_CHECK(c->attrs->i[0] >= 0 && c->attrs->i[0] < (int64_t)1 << x->ndim, LAC_ERR_SHAPE,
            "extent: the mask of axes is 0x%llx and the array has %d dimensions; bit d is the d-th axis from the end",
            (unsigned long long)c->attrs->i[0], x->ndim);
  c->out_meta[Y] = c->attrs->like;
  c->out_meta[Y].dtype = x->dtype;
done:
  return status;
}

static lac_status extent_forward(lac_call *c) {
  const lac_meta *x = &c->in_meta[X];
  double n = 1;

  for (int d = 0; d < x->ndim; d++) {
    bool is_spread = x->partition && x->partition_axis == d;
    if (MASK(c) >> (x->ndim - 1 - d) & 1) {
      n *= (double)(is_spread ? lac_partition_total(x->partition) : x->shape[d]);
    }
  }
  return c->ctx->backend->fill(c->ctx, c->out[Y], pow(n, c->attrs->f[0]), 0);
}

const lac_op lac_op_extent = {
    .name = "extent",
    .signature = "()->()",
    .parameters = "x: array, axis: axes = all, power: real = 1",
    .about = "How many numbers stand along the given axes, to a power, in the dtype of x.",
    .order = LAC_ANY_ORDER,
    .infer = extent_infer,
    .forward = extent_forward,
    .vjp = lac_rule_nothing,
    .jvp = lac_rule_nothing,
};

lac_var lac_extent(lac_tape *tape, lac_var x, int count, const int *axes, double power) {
  uint32_t mask = lac_axes_mask(tape, "extent", lac_axes_of(tape, x), count, axes);
  return lac_emit(tape, &(lac_spec){.op = &lac_op_extent, .attrs = {.i = {mask}, .f = {power}}}, &x);
}
