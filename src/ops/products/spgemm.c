// SPDX-License-Identifier: Apache-2.0
/// @file spgemm.c
/// Sparse matrix times sparse matrix, on the pattern of the product.
///
///     forward   C     = A B                        patterns: A, B, C; the plan for the pair is the pattern of C
///     vjp       a_bar = (C_bar B^H) at A's entries       = sampled_spgemm(A; C_bar, B^H)
///               b_bar = (A^H C_bar) at B's entries       = sampled_spgemm(B; A^H, C_bar)
///     jvp       c_dot = A_dot B + A B_dot

#include "autodiff/rule.h"

enum { A, B };
enum { C };

/// The call on a known product pattern, as rules emit it.
static lac_var spgemm_on(lac_tape *tape, const lac_pattern *const *p, lac_var a, lac_var b);

static lac_status spgemm_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->sampled_spgemm));
  LAC_TRY(KERNELS(c)->sampled_spgemm(ctx, c->patterns[2], c->patterns[A], LAC_PLAIN, c->patterns[B], LAC_PLAIN,
                                     c->in[A], c->in[B], c->out[C]));
done:
  return status;
}

static void spgemm_vjp(lac_rule *r) {
  const lac_pattern *pa = r->patterns[A], *pb = r->patterns[B], *pc = r->patterns[2];
  lac_var a = r->in[A], b = r->in[B], c_bar = r->out_bar[C];

  if (r->wants[A]) r->in_bar[A] = lac_sampled_spgemm(r->tape, pa, pc, c_bar, pb, b, LAC_PLAIN, LAC_ADJOINT);
  if (r->wants[B]) r->in_bar[B] = lac_sampled_spgemm(r->tape, pb, pa, a, pc, c_bar, LAC_ADJOINT, LAC_PLAIN);
}

static void spgemm_jvp(lac_rule *r) {
  r->out_dot[C] = lac_add(r->tape, spgemm_on(r->tape, r->patterns, r->in_dot[A], r->in[B]),
                          spgemm_on(r->tape, r->patterns, r->in[A], r->in_dot[B]));
}

const lac_op lac_op_spgemm = {
    .name = "spgemm",
    .signature = "(p),(q)->(r)",
    .binds = "pattern 0: p, (m,l); pattern 1: q, (l,n); pattern 2: r, (m,n)",
    .parameters = "pa: pattern, a: values, pb: pattern, b: values, pc: pattern",
    .about = "The values of C = A B on the pattern of the product.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(A) | NEEDS_IN(B),
    .jvp_needs = NEEDS_IN(A) | NEEDS_IN(B),
    .forward = spgemm_forward,
    .vjp = spgemm_vjp,
    .jvp = spgemm_jvp,
};

static lac_var spgemm_on(lac_tape *tape, const lac_pattern *const *p, lac_var a, lac_var b) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_spgemm, .patterns = {p[0], p[1], p[2]}}, (lac_var[]){a, b});
}

lac_var lac_spgemm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                   lac_pattern **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *product = NULL;
  lac_var c = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_product(ctx, pa, pb, &product));
  c = spgemm_on(tape, (const lac_pattern *[]){pa, pb, product}, a, b);
  LAC_TRY(lac_tape_status(tape));
  if (out) *out = product, product = NULL;
done:
  lac_pattern_destroy(&product);
  return status == LAC_OK ? c : lac_tape_fail(tape, status);
}
