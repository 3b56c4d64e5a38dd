// SPDX-License-Identifier: Apache-2.0
/// @file logdet.c
/// The logarithm of the determinant of a sparse matrix, and its sign.
///
///     forward   det A  = sign exp(log|det A|)          the object is a factor of A, or a solver that factors when
///                                                      asked
///               logdet = log|det A|                    complex: + i arg det A, in (-pi, pi]
///               sign   = +1 or -1                      complex: det A / |det A|
///     vjp       a_bar  = (logdet_bar + i Im(conj(sign) sign_bar)) conj(Z)       Z = A^-T on the pattern =
///                                                                               selected_inverse(a)
///     jvp       logdet_dot = sum_k Z_k a_dot_k                                  = tr(A^-1 A_dot)
///               sign_dot   = i sign Im(logdet_dot)
///
/// Of reals the sign is constant, and its terms are absent. Nothing overflows: det A itself is nowhere. Every order
/// uses the factor of the forward; the second derivative is that of selected_inverse. The values are independent
/// parameters: for a symmetric A with both halves stored, each half has its own gradient.

#include <math.h>

#include "core/number_at.h"
#include "ops/solves/factored.h"

enum { A };
enum { LOGDET, SIGN };

/// log|det| + i arg of each, from the two: a number for each matrix, joined on the host.
static lac_status logdet_join(lac_context *ctx, lac_array *out, const lac_array *logabs, const lac_array *sign) {
  lac_status status = LAC_OK;
  lac_dtype dtype = out->meta.dtype;
  c128 *sizes = NULL, *phases = NULL;  // room enough for every dtype

  LAC_ALLOC(sizes, out->count);
  LAC_ALLOC(phases, out->count);
  LAC_TRY(lac_array_fetch(ctx, logabs, sizes));
  LAC_TRY(lac_array_fetch(ctx, sign, phases));
  for (int64_t i = 0; i < out->count; i++) {
    c128 phase = lac_number_get(dtype, phases, i);
    lac_number_put(dtype, phases, i,
                   PAIR(lac_real_get(dtype, sizes, i), lac_dtype_is_single(dtype)
                                                           ? (double)atan2f((float)cimag(phase), (float)creal(phase))
                                                           : atan2(cimag(phase), creal(phase))));
  }
  LAC_TRY(lac_array_write(ctx, out, phases));
done:
  lac_free(sizes);
  lac_free(phases);
  return status;
}

static lac_status logdet_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_factor *factor = NULL;
  lac_array *logabs = NULL;
  lac_meta meta = c->out_meta[LOGDET];

  meta.dtype = lac_dtype_real(meta.dtype);
  LAC_TRY(lac_call_factor(c, A, &factor));
  if (meta.dtype == c->out_meta[LOGDET].dtype) {
    LAC_TRY(lac_factor_logdet(ctx, factor, c->out[LOGDET], c->out[SIGN]));
  } else {
    LAC_TRY(lac_array_make(ctx, &meta, &logabs));
    LAC_TRY(lac_factor_logdet(ctx, factor, logabs, c->out[SIGN]));
    LAC_TRY(logdet_join(ctx, c->out[LOGDET], logabs, c->out[SIGN]));
  }
done:
  lac_array_destroy(&logabs);
  lac_factor_destroy(&factor);
  return status;
}

/// i Im(x).
static lac_var logdet_turn(lac_rule *r, lac_var x) {
  return lac_scale(r->tape, lac_cast(r->tape, lac_imag(r->tape, x), r->in_meta[A].dtype), 0, 1);
}

static void logdet_vjp(lac_rule *r) {
  lac_var bar = r->out_bar[LOGDET];

  if (lac_dtype_is_complex(r->in_meta[A].dtype)) {
    lac_var along = lac_mul(r->tape, lac_conj(r->tape, r->out[SIGN]), r->out_bar[SIGN]);
    bar = lac_add(r->tape, bar, logdet_turn(r, along));
  }
  lac_rule_nothing(r);
  if (!bar.id) return;
  lac_var z = lac_emit_selected_inverse(r->tape, r->object, r->in[A]);
  r->in_bar[A] = lac_mul(r->tape, lac_emit_column(r->tape, bar), lac_conj(r->tape, z));
}

static void logdet_jvp(lac_rule *r) {
  lac_var z = lac_emit_selected_inverse(r->tape, r->object, r->in[A]);
  lac_var dot = lac_emit_pairing(r->tape, z, r->in_dot[A]);

  lac_rule_nothing(r);  // a real sign is constant
  r->out_dot[LOGDET] = dot;
  if (lac_dtype_is_complex(r->in_meta[A].dtype)) {
    r->out_dot[SIGN] = lac_mul(r->tape, r->out[SIGN], logdet_turn(r, dot));
  }
}

const lac_op lac_op_logdet = {
    .name = "logdet",
    .signature = "(z)->(),()",
    .binds = "factor: z, (n,n)",
    .parameters = "solver: factor, a: values",
    .about = "(log det A, its sign).",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(A) | NEEDS_OUT(SIGN),
    .jvp_needs = NEEDS_IN(A) | NEEDS_OUT(SIGN),
    .forward = logdet_forward,
    .vjp = logdet_vjp,
    .jvp = logdet_jvp,
};

void lac_emit_logdet(lac_tape *tape, const char *function, const void *object, lac_var a, lac_var out[2]) {
  lac_tape_call_factored(tape, function, object, (lac_spec){.op = &lac_op_logdet}, &a, out);
}

lac_var lac_logdet_with(lac_tape *tape, const lac_factor *factor, lac_var a) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_logdet, .object = factor}, &a);
}

lac_var lac_logdet(lac_tape *tape, const lac_solver *solver, lac_var a) {
  lac_var out[2];

  lac_emit_logdet(tape, "logdet", solver, a, out);
  return out[LOGDET];
}
