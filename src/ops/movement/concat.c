// SPDX-License-Identifier: Apache-2.0
/// @file concat.c
/// Two arrays behind each other along an axis.
///
///     forward   z     = [x, y]                          i[0]: axis from the end; axes before it broadcast
///     vjp       x_bar = the slice of z_bar where x is   y_bar alike
///     jvp       z_dot = embed(x_dot) + embed(y_dot)     each where it is; [x_dot, y_dot] if both are there

#include "autodiff/axis.h"

enum { X, Y };
enum { Z };

#define AXIS(r) ((int)(r)->attrs->i[0])

/// The size of the axis of an input.
static int64_t concat_size(const lac_meta *meta, int axis) { return meta->shape[meta->ndim - 1 - axis]; }

/// Axis d from the end, which is not the one of the concatenation; -1 if x and y do not fit.
static int64_t concat_join(const lac_meta *x, const lac_meta *y, int d, int axis) {
  int64_t size_x = d < x->ndim ? concat_size(x, d) : 1, size_y = d < y->ndim ? concat_size(y, d) : 1;

  if (size_x == size_y) return size_x;
  if (d < axis || (size_x != 1 && size_y != 1)) return -1;
  return size_x == 1 ? size_y : size_x;
}

/// Where x and y are spread over ranks, they are so alike, and not along the axis.
static bool concat_is_spread_alike(const lac_meta *x, const lac_meta *y, int axis) {
  int spread = x->ndim - 1 - x->partition_axis;

  if (x->partition != y->partition) return false;
  return !x->partition || (spread == y->ndim - 1 - y->partition_axis && spread != axis);
}

static lac_status concat_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &c->in_meta[X], *y = &c->in_meta[Y];
  lac_meta z = x->ndim >= y->ndim ? *x : *y;
  char tx[LAC_SHAPE_TEXT], ty[LAC_SHAPE_TEXT];
  int axis = AXIS(c);

  lac_shape_text(x->ndim, x->shape, tx), lac_shape_text(y->ndim, y->shape, ty);
  LAC_CHECK(x->dtype == y->dtype, LAC_ERR_DTYPE,
            "concat: y is %s and x is %s; nothing is promoted silently: convert one of them", lac_dtype_name(y->dtype),
            lac_dtype_name(x->dtype));
  LAC_CHECK(axis >= 0 && axis < x->ndim && axis < y->ndim, LAC_ERR_SHAPE,
            "concat: shapes %s and %s have no common axis %d; -1 is the last", tx, ty, -1 - axis);
  LAC_CHECK(concat_is_spread_alike(x, y, axis), LAC_ERR_UNSUPPORTED,
            "concat: both arrays must be spread over ranks alike, and not along axis %d", -1 - axis);
  for (int d = 0; d < z.ndim; ++d) {
    int64_t *size = &z.shape[z.ndim - 1 - d];
    *size = d == axis ? concat_size(x, d) + concat_size(y, d) : concat_join(x, y, d, axis);
    LAC_CHECK(*size >= 0, LAC_ERR_SHAPE, "concat: shapes %s and %s must agree but for axis %d; axes before it may be 1",
              tx, ty, -1 - axis);
  }
  c->out_meta[Z] = z;
done:
  return status;
}

static lac_status concat_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  int axis = AXIS(c);
  int64_t nx = concat_size(&c->in_meta[X], axis), ny = concat_size(&c->in_meta[Y], axis);

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->place));
  LAC_TRY(KERNELS(c)->place(ctx, axis, nx, c->in[X], (lac_along){0, 1}, c->out[Z], (lac_along){0, 1}));
  LAC_TRY(KERNELS(c)->place(ctx, axis, ny, c->in[Y], (lac_along){0, 1}, c->out[Z], (lac_along){nx, 1}));
done:
  return status;
}

static void concat_vjp(lac_rule *r) {
  int axis = AXIS(r);
  int64_t nx = concat_size(&r->in_meta[X], axis), n = nx + concat_size(&r->in_meta[Y], axis);

  if (r->wants[X]) r->in_bar[X] = lac_slice(r->tape, r->out_bar[Z], -1 - axis, 0, nx, 1);
  if (r->wants[Y]) r->in_bar[Y] = lac_slice(r->tape, r->out_bar[Z], -1 - axis, nx, n, 1);
}

/// A tangent at its places among zeros; the caller spreads its batch.
static lac_var concat_embed(lac_rule *r, int input, int64_t begin) {
  int axis = AXIS(r);
  lac_meta like = r->in_meta[input];
  int64_t size = concat_size(&like, axis);

  like.shape[like.ndim - 1 - axis] = concat_size(&r->out_meta[Z], axis);
  return lac_embed(r->tape, r->in_dot[input], &like, -1 - axis, begin, begin + size, 1);
}

static void concat_jvp(lac_rule *r) {
  int64_t nx = concat_size(&r->in_meta[X], AXIS(r));

  if (r->in_dot[X].id && r->in_dot[Y].id) {
    r->out_dot[Z] = lac_concat(r->tape, r->in_dot[X], r->in_dot[Y], -1 - AXIS(r));
  } else {
    r->out_dot[Z] = r->in_dot[X].id ? concat_embed(r, X, 0) : concat_embed(r, Y, nx);
  }
}

const lac_op lac_op_concat = {
    .name = "concat",
    .signature = "(),()->()",
    .parameters = "x: array, y: array, axis: axis",
    .about = "x, then y along an axis; axes before it broadcast.",
    .order = LAC_ANY_ORDER,
    .infer = concat_infer,
    .forward = concat_forward,
    .vjp = concat_vjp,
    .jvp = concat_jvp,
};

lac_var lac_concat(lac_tape *tape, lac_var x, lac_var y, int axis) {
  int nx = lac_axes_of(tape, x), ny = lac_axes_of(tape, y);
  int from_end = lac_axis_from_end(tape, "concat", nx > ny ? nx : ny, axis);

  return lac_emit(tape, &(lac_spec){.op = &lac_op_concat, .attrs.i = {from_end}}, (lac_var[]){x, y});
}
