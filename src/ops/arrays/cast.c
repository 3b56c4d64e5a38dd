// SPDX-License-Identifier: Apache-2.0
/// @file cast.c
/// An array in another dtype. The public function returns its argument where the dtype is the same.
///
///     forward   y     = x                 like.dtype: the dtype of y; not real where x is complex
///     vjp       x_bar = y_bar             its real part where x is real; in the dtype of x
///     jvp       y_dot = x_dot

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status cast_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_dtype from = c->in_meta[X].dtype, to = c->attrs->like.dtype;

  LAC_CHECK(lac_dtype_size(to), LAC_ERR_DTYPE, "cast: dtype %d is unknown; take LAC_F32, F64, C64 or C128", (int)to);
  LAC_CHECK(lac_dtype_is_complex(to) || !lac_dtype_is_complex(from), LAC_ERR_DTYPE,
            "cast: %s to %s would lose the imaginary part; take the part you mean (real, imag, abs) and cast that",
            lac_dtype_name(from), lac_dtype_name(to));
  LAC_TRY(lac_call_match(c));
  c->out_meta[Y].dtype = to;
done:
  return status;
}

static lac_status cast_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->cast));
  LAC_TRY(KERNELS(c)->cast(ctx, c->in[X], c->out[Y]));
done:
  return status;
}

static void cast_vjp(lac_rule *r) {
  lac_dtype dtype = r->in_meta[X].dtype;
  lac_var y_bar = lac_dtype_is_complex(dtype) ? r->out_bar[Y] : lac_real(r->tape, r->out_bar[Y]);

  r->in_bar[X] = lac_cast(r->tape, y_bar, dtype);
}

static void cast_jvp(lac_rule *r) { r->out_dot[Y] = lac_cast(r->tape, r->in_dot[X], r->attrs->like.dtype); }

const lac_op lac_op_cast = {
    .name = "cast",
    .signature = "()->()",
    .parameters = "x: array, dtype: dtype",
    .about = "x in another dtype, itself where that is its own. Complex to real is refused: say real, imag or abs.",
    .order = LAC_ANY_ORDER,
    .infer = cast_infer,
    .forward = cast_forward,
    .vjp = cast_vjp,
    .jvp = cast_jvp,
};

lac_var lac_cast(lac_tape *tape, lac_var x, lac_dtype dtype) {
  const lac_meta *meta = lac_tape_meta(tape, x);

  if (meta && meta->dtype == dtype) return x;
  return lac_emit(tape, &(lac_spec){.op = &lac_op_cast, .attrs.like.dtype = dtype}, &x);
}
