// SPDX-License-Identifier: Apache-2.0
/// @file slice.c
/// A part of an array: every step-th place of a range along one axis.
///
///     forward   y[.., i, ..] = x[.., begin + i step, ..]     i[0]: axis from the end; i[1], i[2], i[3]: begin, end,
///                                                            step
///     vjp       x_bar = embed(y_bar)                         back to the same places
///     jvp       y_dot = slice(x_dot)

#include "autodiff/axis.h"
#include "ops/range.h"

enum { X };
enum { Y };

static lac_status slice_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_range range = lac_range_of(c->attrs);
  int axis;

  LAC_TRY(lac_call_check_range(c, &c->in_meta[X], &axis));
  c->out_meta[Y] = c->in_meta[X];
  c->out_meta[Y].shape[axis] = lac_range_count(&range);
done:
  return status;
}

static lac_status slice_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_range range = lac_range_of(c->attrs);

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->place));
  LAC_TRY(KERNELS(c)->place(ctx, range.axis, lac_range_count(&range), c->in[X], (lac_along){range.begin, range.step},
                            c->out[Y], (lac_along){0, 1}));
done:
  return status;
}

static void slice_vjp(lac_rule *r) {
  lac_range range = lac_range_of(r->attrs);
  r->in_bar[X] = lac_embed(r->tape, r->out_bar[Y], &r->in_meta[X], -1 - range.axis, range.begin, range.end, range.step);
}

static void slice_jvp(lac_rule *r) {
  lac_range range = lac_range_of(r->attrs);
  r->out_dot[Y] = lac_slice(r->tape, r->in_dot[X], -1 - range.axis, range.begin, range.end, range.step);
}

const lac_op lac_op_slice = {
    .name = "slice",
    .signature = "()->()",
    .parameters = "x: array, axis: axis, begin: integer, end: integer, step: integer = 1",
    .about = "The places begin, begin + step, ... before end of an axis.",
    .order = LAC_ANY_ORDER,
    .infer = slice_infer,
    .forward = slice_forward,
    .vjp = slice_vjp,
    .jvp = slice_jvp,
};

lac_var lac_slice(lac_tape *tape, lac_var x, int axis, int64_t begin, int64_t end, int64_t step) {
  int from_end = lac_axis_from_end(tape, "slice", lac_axes_of(tape, x), axis);

  return lac_emit(tape, &(lac_spec){.op = &lac_op_slice, .attrs.i = {from_end, begin, end, step}}, &x);
}
