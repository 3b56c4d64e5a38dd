// SPDX-License-Identifier: Apache-2.0
/// @file selected_inverse.c
/// The inverse of a sparse matrix where the matrix has entries.
///
///     forward   z     = A^-T on the pattern: in the slot of (i, j) stands (A^-1)(j, i)
///               the object is a factor of A, or a solver that factors when asked
///     vjp       a_bar = conj(S(conj(z_bar)))
///     jvp       z_dot = S(a_dot)                    S(M) = -A^-T M^T A^-T on the pattern
///
/// S is its own transpose. It is read off a selected inverse again, that of a matrix of twice the size
/// (solvers/extension.h),
///
///     [A M]^-T   [A^-T    0 ]
///     [0 A]    = [S(M)  A^-T]
///
/// with every entry of A a block of two by two, the zeros stored: remap, selected_inverse, remap. So the set is closed
/// to any order; each order doubles the size. S is linear, and M goes in scaled by a power of two, far below A: then
/// all pivots are A's, elimination is that of dual numbers, and S(M) is as accurate as A^-T. With an M as large as A
/// the larger matrix has the square of A's condition. An M with NaN or infinity has no factor, and is refused with
/// LAC_ERR_NONFINITE.

#include "ops/solves/factored.h"
#include "solvers/extension.h"

enum { A };
enum { Z };

static lac_status selected_inverse_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_factor *factor = NULL;

  LAC_TRY(lac_call_factor(c, A, &factor));
  LAC_TRY(lac_factor_selected_inverse(ctx, factor, c->out[Z]));
done:
  lac_factor_destroy(&factor);
  return status;
}

/// S(m) of the extension: A is scaled to 1, so that nothing of the size of 1 / |A|^2 comes up on the way, and m to less
/// of it than one over any condition that leaves digits.
static lac_var selected_inverse_read(lac_rule *r, const lac_extension *e, lac_dtype dtype, lac_var m) {
  lac_tape *tape = r->tape;
  double share = lac_dtype_real(dtype) == LAC_F32 ? 0x1p-24 : 0x1p-100;
  lac_var from = lac_emit_size(tape, m, dtype);
  lac_var size = lac_emit_size(tape, r->in[A], dtype);
  lac_var a = lac_div(tape, r->in[A], size), z;

  m = lac_scale(tape, lac_div(tape, m, from), share, 0);
  z = lac_remap(tape, e->parts, lac_concat(tape, a, m, -1), LAC_TRANSPOSED);
  z = lac_remap(tape, e->block, lac_emit_selected_inverse(tape, e->solver, z), LAC_PLAIN);
  z = lac_mul(tape, lac_scale(tape, z, 1 / share, 0), lac_div(tape, from, size));
  return lac_div(tape, z, size);
}

/// S(m).
static lac_var selected_inverse_change(lac_rule *r, lac_var m) {
  lac_context *ctx = lac_tape_context(r->tape);
  lac_status status = LAC_OK;
  const lac_meta *meta = lac_tape_meta(r->tape, m);
  lac_extension *e = NULL;

  if (!meta || lac_factored_pattern(r->object)->nnz == 0) return m;  // absent, or of no numbers
  LAC_TRY(lac_extension_doubled(ctx, lac_core_of(r->object), &e));
  m = selected_inverse_read(r, e, meta->dtype, m);
done:
  lac_object_release(e);
  return status == LAC_OK ? m : lac_tape_fail(r->tape, status);
}

static void selected_inverse_vjp(lac_rule *r) {
  r->in_bar[A] = lac_conj(r->tape, selected_inverse_change(r, lac_conj(r->tape, r->out_bar[Z])));
}

static void selected_inverse_jvp(lac_rule *r) { r->out_dot[Z] = selected_inverse_change(r, r->in_dot[A]); }

const lac_op lac_op_selected_inverse = {
    .name = "selected_inverse",
    .signature = "(z)->(z)",
    .binds = "factor: z, (n,n)",
    .parameters = "solver: factor, a: values",
    .about =
        "A^-T where A has entries: in the slot of (i, j) stands (A^-1)(j, i). The gradient of log|det A|, conjugated.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(A),
    .jvp_needs = NEEDS_IN(A),
    .forward = selected_inverse_forward,
    .vjp = selected_inverse_vjp,
    .jvp = selected_inverse_jvp,
};

lac_var lac_emit_selected_inverse(lac_tape *tape, const void *object, lac_var a) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_selected_inverse, .object = object}, &a);
}

lac_var lac_selected_inverse_with(lac_tape *tape, const lac_factor *factor, lac_var a) {
  return lac_emit_selected_inverse(tape, factor, a);
}

lac_var lac_selected_inverse(lac_tape *tape, const lac_solver *solver, lac_var a) {
  lac_var z;

  lac_tape_call_factored(tape, "selected_inverse", solver, (lac_spec){.op = &lac_op_selected_inverse}, &a, &z);
  return z;
}
