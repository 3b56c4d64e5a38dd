// SPDX-License-Identifier: Apache-2.0
/// @file sell_mm.c
/// Sliced ELL matrix times a block of dense vectors.
///
///     forward   y     = A x                             the object is a format F of kind LAC_FORMAT_SELL, a the
///                                                       numbers of its storage
///     vjp       a_bar = remap(F, sddmm(P, y_bar, x))    zero in padding, which is never read
///               x_bar = spmm(P, H, remap(F, T, a), y_bar)
///     jvp       y_dot = sell_mm(F, a_dot, x) + sell_mm(F, a, x_dot)
///
/// P is the pattern of F. The storage is filled once, by `remap` along the format's map, and then used again and again.
///
/// `spmm` does not choose this by itself. As measured (f64, one column, slices of 8) a product takes 0.97 to 1.00 of
/// the time by rows on the 2-D Poisson stencil of 1M and 4M rows, where both run at the memory's bandwidth, 0.84 to
/// 1.03 on rows of 8 random columns, and the same time where all is in cache; moving the values costs as much as 3
/// products or more whenever they change, the layout as much as 20 and more once, and both stay in memory beside the
/// original. It may pay for a matrix that is kept for some hundred products.

#include "autodiff/rule.h"
#include "core/pattern/format_impl.h"

enum { A, X };
enum { Y };

static lac_status sell_mm_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_format *f = c->object;

  LAC_CHECK(f->kind == LAC_FORMAT_SELL, LAC_ERR_ARG,
            "sell_mm: the object must be a format of sliced ELL; lac_format_sell makes one");
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status sell_mm_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(KERNELS(c)->sell_mm, LAC_ERR_UNSUPPORTED,
            "sell_mm: the backend %s has no kernel for it; spmm takes the pattern and the values by slots",
            c->ctx->backend->name);
  LAC_TRY(KERNELS(c)->sell_mm(ctx, c->object, c->in[A], c->in[X], c->out[Y]));
done:
  return status;
}

/// The adjoint of the values by slots. It is summed over the batch that these lack before it is moved: nothing of the
/// size batch x nnz appears.
static lac_var sell_mm_slots_bar(lac_rule *r) {
  const lac_format *f = r->object;
  lac_spec spec = {.op = lac_op_find("sddmm"), .patterns = {f->pattern}, .attrs = {.fit = 1, .like = r->in_meta[A]}};

  spec.attrs.like.shape[spec.attrs.like.ndim - 1] = f->pattern->nnz;
  return lac_emit(r->tape, &spec, (lac_var[]){r->out_bar[Y], r->in[X]});
}

static void sell_mm_vjp(lac_rule *r) {
  const lac_format *f = r->object;

  if (r->wants[A]) r->in_bar[A] = lac_remap(r->tape, f->map, sell_mm_slots_bar(r), LAC_PLAIN);
  if (r->wants[X]) {
    lac_var slots = lac_remap(r->tape, f->map, r->in[A], LAC_TRANSPOSED);
    r->in_bar[X] = lac_spmm(r->tape, f->pattern, slots, r->out_bar[Y], LAC_ADJOINT);
  }
}

static void sell_mm_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_add(r->tape, lac_sell_mm(r->tape, r->object, r->in_dot[A], r->in[X]),
                          lac_sell_mm(r->tape, r->object, r->in[A], r->in_dot[X]));
}

const lac_op lac_op_sell_mm = {
    .name = "sell_mm",
    .signature = "(s),(n,k)->(m,k)",
    .binds = "format: s, (m,n)",
    .parameters = "format: format, a: array, x: columns",
    .about = "y = A x with A in sliced ELL: a is remap(format.map, values), x (n, k) or (n,).",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(A) | NEEDS_IN(X),
    .jvp_needs = NEEDS_IN(A) | NEEDS_IN(X),
    .infer = sell_mm_infer,
    .forward = sell_mm_forward,
    .vjp = sell_mm_vjp,
    .jvp = sell_mm_jvp,
};

lac_var lac_sell_mm(lac_tape *tape, const lac_format *format, lac_var a, lac_var x) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_sell_mm, .object = format}, (lac_var[]){a, x});
}
