// SPDX-License-Identifier: Apache-2.0
/// The operator select: its values, its refusals, its derivatives, and what must not leak.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void select_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_select(tape, in[0], in[1], (lac_selection)setup->c->i[0]);
}

static void select_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    int is_zero = *walk_item(&w, &in[0], 0) == 0;
    *walk_item(&w, out, 0) = is_zero == (c->i[0] == LAC_SELECT_ZERO) ? *walk_item(&w, &in[1], 0) : 0;
  }
}

/// The condition is moved when it is differentiated; only one that stays what it is has a derivative.
static void nonzero_fill(const op_case *c, int input, ref *x) {
  (void)c;
  for (int64_t i = 0; input == 0 && i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? -1 : 1;
}

static void check_select(lac_context *ctx, const char *c, const char *x, const char *z) {
  for (int64_t selection = LAC_SELECT_NONZERO; selection <= LAC_SELECT_ZERO; ++selection) {
    check_op(ctx, &(op_case){.op = "select",
                             .shapes = {c, x},
                             .result = {z},
                             .i = {selection},
                             .apply = select_apply,
                             .dense = select_dense,
                             .fill = nonzero_fill,
                             .degree = {0, 1}});
  }
}

static void select_differentiates(lac_context *ctx) { check_select(ctx, "3,4", "3,4", "3,4"); }

static void select_broadcasts_both_ways(lac_context *ctx) {
  check_select(ctx, "2,1,3", "4,1", "2,4,3");
  check_select(ctx, "", "3,2", "3,2");
  check_select(ctx, "3,2", "", "3,2");
}

static void select_takes_empty_and_single_arrays(lac_context *ctx) {
  check_select(ctx, "", "", "");
  check_select(ctx, "0,3", "1,3", "0,3");
}

/// A condition that is frozen, with zeros in it.
static void masked_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_var half = lac_tape_scalar(tape, setup->dtype, 0.25, 0);
  lac_var c = lac_compare(tape, lac_real(tape, in[0]), lac_real(tape, half), LAC_RELATION_LT);
  out[0] = lac_select(tape, lac_cast(tape, c, setup->dtype), in[0], (lac_selection)setup->c->i[0]);
}

static void masked_dense(const op_case *c, const ref *in, ref *out) {
  for (int64_t i = 0; i < in[0].count; ++i) {
    out[0].x[i] = (creal(in[0].x[i]) < 0.25) == (c->i[0] == LAC_SELECT_NONZERO) ? in[0].x[i] : 0;
  }
}

/// Real parts lie near -1 and 1.
static void masked_fill(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] = 0.25 * x->x[i] + (i % 3 ? 1 : -1);
}

static void select_keeps_what_the_condition_names(lac_context *ctx) {
  for (int64_t selection = LAC_SELECT_NONZERO; selection <= LAC_SELECT_ZERO; ++selection) {
    check_op(ctx, &(op_case){.op = "select",
                             .shapes = {"4,3"},
                             .result = {"4,3"},
                             .i = {selection},
                             .apply = masked_apply,
                             .dense = masked_dense,
                             .fill = masked_fill});
  }
}

static double condition;
static lac_var selected(lac_tape *tape, lac_var x) {
  return lac_select(tape, lac_tape_scalar(tape, lac_tape_meta(tape, x)->dtype, condition, 0), x, LAC_SELECT_NONZERO);
}

/// 1 / x where the condition holds.
static lac_var selected_inverse(lac_tape *tape, lac_var x) {
  lac_var one = lac_tape_scalar(tape, lac_tape_meta(tape, x)->dtype, 1, 0);
  return selected(tape, lac_div(tape, one, x));
}

static void what_is_not_selected_does_not_leak(lac_context *ctx) {
  static const double wild[] = {NAN, INFINITY, -INFINITY};
  if (!check_claimed("select")) return;
  condition = 0;
  for (int i = 0; i < 3; ++i) {
    CHECK(probe_value(ctx, selected, LAC_F64, wild[i]) == 0);
    CHECK(probe_value(ctx, selected, LAC_C64, wild[i]) == 0);
    CHECK(probe_gradient(ctx, selected, LAC_F32, wild[i]) == 0);
  }
  CHECK(probe_value(ctx, selected_inverse, LAC_F64, 0) == 0);
  condition = NAN;  // is not zero
  CHECK(probe_value(ctx, selected, LAC_F64, 3) == 3);
}

static void select_refuses_an_unknown_selection(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_scalar(tape, LAC_F64, 3, 0);
  CHECK(!lac_select(tape, x, x, (lac_selection)2).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "LAC_SELECT_NONZERO");
  lac_tape_destroy(&tape);
}

static void select_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "select", .shapes = {"200,301", "301"}, .result = {"200,301"}, .apply = select_apply};
  check_op_large(ctx, &c);
  c.shapes[0] = "200,1", c.shapes[1] = "200,301";
  check_op_large(ctx, &c);
}

/// Forward: z. Gradient: z and x_bar.
static void select_takes_its_results_alone(lac_context *ctx) {
  op_case c = {.op = "select", .shapes = {"70000", "70000"}, .result = {"70000"}, .apply = select_apply};
  if (!check_claimed("select")) return;
  check_op_peak(ctx, &c, LAC_F64, 70000 * 8, 2 * 70000 * 8);
}

CHECK_MAIN(select_differentiates, select_broadcasts_both_ways, select_takes_empty_and_single_arrays,
           select_keeps_what_the_condition_names, what_is_not_selected_does_not_leak,
           select_refuses_an_unknown_selection, select_does_not_depend_on_threads, select_takes_its_results_alone)
