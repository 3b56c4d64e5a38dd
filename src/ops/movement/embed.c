// SPDX-License-Identifier: Apache-2.0
/// @file embed.c
/// An array put into zeros: the adjoint of slice.
///
///     forward   y[.., begin + i step, ..] = x[.., i, ..]     `like` is the shape of y; i[] as in slice
///               and zero elsewhere
///     vjp       x_bar = slice(y_bar)                         from the same places
///     jvp       y_dot = embed(x_dot)

#include "autodiff/axis.h"
#include "ops/range.h"

enum { X };
enum { Y };

static lac_status embed_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_range range = lac_range_of(c->attrs);
  const lac_meta *x = &c->in_meta[X];
  lac_meta part = c->attrs->like;
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];
  int axis;

  part.dtype = x->dtype;
  LAC_TRY(lac_meta_check(ctx, "embed", &part));
  LAC_TRY(lac_call_check_range(c, &part, &axis));
  c->out_meta[Y] = part;
  part.shape[axis] = lac_range_count(&range);
  LAC_CHECK(lac_meta_same(x, &part), LAC_ERR_SHAPE,
            "embed: shape %s does not fill the places %lld to %lld by steps of %lld of axis %d; %s does",
            lac_shape_text(x->ndim, x->shape, have), (long long)range.begin, (long long)range.end,
            (long long)range.step, axis, lac_shape_text(part.ndim, part.shape, want));
done:
  return status;
}

static lac_status embed_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_range range = lac_range_of(c->attrs);

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->place));
  LAC_TRY(c->ctx->backend->fill(ctx, c->out[Y], 0, 0));
  LAC_TRY(KERNELS(c)->place(ctx, range.axis, lac_range_count(&range), c->in[X], (lac_along){0, 1}, c->out[Y],
                            (lac_along){range.begin, range.step}));
done:
  return status;
}

static void embed_vjp(lac_rule *r) {
  lac_range range = lac_range_of(r->attrs);
  r->in_bar[X] = lac_slice(r->tape, r->out_bar[Y], -1 - range.axis, range.begin, range.end, range.step);
}

static void embed_jvp(lac_rule *r) {
  lac_range range = lac_range_of(r->attrs);
  r->out_dot[Y] =
      lac_embed(r->tape, r->in_dot[X], &r->attrs->like, -1 - range.axis, range.begin, range.end, range.step);
}

const lac_op lac_op_embed = {
    .name = "embed",
    .signature = "()->()",
    .parameters = "x: array, shape: shape, axis: integer, begin: integer, end: integer, step: integer = 1",
    .about =
        "x at the places begin, begin + step, ... of an axis, counted from the end, of zeros: the adjoint of slice.",
    .order = LAC_ANY_ORDER,
    .infer = embed_infer,
    .forward = embed_forward,
    .vjp = embed_vjp,
    .jvp = embed_jvp,
};

lac_var lac_embed(lac_tape *tape, lac_var x, const lac_meta *like, int axis, int64_t begin, int64_t end, int64_t step) {
  lac_spec spec = {.op = &lac_op_embed, .attrs.i = {0, begin, end, step}};

  if (!like) return lac_tape_lacks(tape, "embed", "like", "the meta of an array that has the shape");
  spec.attrs.i[0] = lac_axis_from_end(tape, "embed", like->ndim, axis);
  spec.attrs.like = *like;
  return lac_emit(tape, &spec, &x);
}
