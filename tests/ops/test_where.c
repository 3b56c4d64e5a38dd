// SPDX-License-Identifier: Apache-2.0
/// The operator where: its values, its refusals, its derivatives, and what must not leak.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void where_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_where(tape, in[0], in[1], in[2]);
}

static void where_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    *walk_item(&w, out, 0) = *walk_item(&w, &in[*walk_item(&w, &in[0], 0) != 0 ? 1 : 2], 0);
  }
}

static void where_fill(const op_case *c, int input, ref *x) {
  (void)c;
  for (int64_t i = 0; input == 0 && i < x->count; ++i) x->x[i] += creal(x->x[i]) < 0 ? -1 : 1;
}

static void check_where(lac_context *ctx, const char *c, const char *x, const char *y, const char *z) {
  check_op(ctx, &(op_case){.op = "where",
                           .shapes = {c, x, y},
                           .result = {z},
                           .apply = where_apply,
                           .dense = where_dense,
                           .fill = where_fill});
}

static void where_differentiates(lac_context *ctx) { check_where(ctx, "2,3", "2,3", "2,3", "2,3"); }

static void where_broadcasts_all_three(lac_context *ctx) {
  check_where(ctx, "2,1,2", "3,1", "2", "2,3,2");
  check_where(ctx, "", "2,2", "2", "2,2");
}

static void where_takes_empty_and_single_arrays(lac_context *ctx) {
  check_where(ctx, "", "", "", "");
  check_where(ctx, "0,3", "1,3", "3", "0,3");
}

/// The condition is made of the data: x where it is positive, a tenth of y elsewhere.
static void leaky_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  lac_var c = lac_cast(tape, lac_heaviside(tape, lac_real(tape, in[0])), setup->dtype);
  out[0] = lac_where(tape, c, in[0], lac_scale(tape, in[1], 0.125, 0));
}

static void leaky_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = creal(in[0].x[i]) > 0 ? in[0].x[i] : 0.125 * in[1].x[i];
}

static void where_takes_a_condition_that_is_computed(lac_context *ctx) {
  check_op(ctx, &(op_case){.op = "where",
                           .shapes = {"4,3", "4,3"},
                           .result = {"4,3"},
                           .apply = leaky_apply,
                           .dense = leaky_dense,
                           .fill = where_fill});
}

/// log(x) where x > 0, else 0.
static lac_var safe_log(lac_tape *tape, lac_var x) {
  lac_var zero = lac_tape_scalar(tape, lac_tape_meta(tape, x)->dtype, 0, 0);
  return lac_where(tape, lac_heaviside(tape, x), lac_log(tape, x), zero);
}

static void what_is_not_chosen_does_not_leak(lac_context *ctx) {
  if (!check_claimed("where")) return;
  CHECK(probe_value(ctx, safe_log, LAC_F64, 0) == 0);
  CHECK(probe_value(ctx, safe_log, LAC_F64, -1) == 0);
  CHECK(probe_gradient(ctx, safe_log, LAC_F64, -1) == 0);
  CHECK(probe_gradient(ctx, safe_log, LAC_F64, 0.5) == 2);
}

static void where_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "where", .shapes = {"200,301", "301", "200,1"}, .result = {"200,301"}, .apply = where_apply};
  check_op_large(ctx, &c);
  c.shapes[0] = "", c.shapes[1] = "200,301";
  check_op_large(ctx, &c);
}

CHECK_MAIN(where_differentiates, where_broadcasts_all_three, where_takes_empty_and_single_arrays,
           where_takes_a_condition_that_is_computed, what_is_not_chosen_does_not_leak, where_does_not_depend_on_threads)
