// SPDX-License-Identifier: Apache-2.0
/// @file select.c
/// An array where a condition holds, and exact zeros elsewhere.
///
///     forward   z     = x where c != 0, else 0        i[0]: lac_selection, which may turn the condition round
///     vjp       x_bar = select(c, z_bar)              zero for c
///     jvp       z_dot = select(c, x_dot)
///
/// Nothing is multiplied: what x, z_bar and x_dot hold where they are not selected, NaN and infinity too, is not seen.

#include "autodiff/rule.h"

enum { C, X };
enum { Z };

#define SELECTION(r) ((lac_selection)(r)->attrs->i[0])

static lac_status select_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(SELECTION(c) == LAC_SELECT_NONZERO || SELECTION(c) == LAC_SELECT_ZERO, LAC_ERR_ARG,
            "select: the selection is LAC_SELECT_NONZERO or LAC_SELECT_ZERO, not %lld", (long long)c->attrs->i[0]);
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status select_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  bool nonzero = SELECTION(c) == LAC_SELECT_NONZERO;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->where));
  LAC_TRY(KERNELS(c)->where(ctx, c->in[C], nonzero ? c->in[X] : NULL, nonzero ? NULL : c->in[X], c->out[Z]));
done:
  return status;
}

static void select_vjp(lac_rule *r) {
  lac_rule_nothing(r);  // for c
  if (r->wants[X]) r->in_bar[X] = lac_select(r->tape, r->in[C], r->out_bar[Z], SELECTION(r));
}

static void select_jvp(lac_rule *r) { r->out_dot[Z] = lac_select(r->tape, r->in[C], r->in_dot[X], SELECTION(r)); }

const lac_op lac_op_select = {
    .name = "select",
    .signature = "(),()->()",
    .parameters = "c: condition, x: array, keep: nonzero|zero = nonzero",
    .about = "x where c is not zero (keep=\"zero\": where it is), exactly 0 elsewhere; no derivative in c.",
    .order = LAC_ANY_ORDER,
    .vjp_needs = NEEDS_IN(C),
    .jvp_needs = NEEDS_IN(C),
    .infer = select_infer,
    .forward = select_forward,
    .vjp = select_vjp,
    .jvp = select_jvp,
};

lac_var lac_select(lac_tape *tape, lac_var c, lac_var x, lac_selection selection) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_select, .attrs.i = {selection}}, (lac_var[]){c, x});
}
