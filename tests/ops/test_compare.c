// SPDX-License-Identifier: Apache-2.0
/// The operator compare: its values, its refusals, its derivatives, which are zero.

#include <math.h>

#include "support/op_case.h"
#include "support/probe.h"

static void compare_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_compare(tape, in[0], in[1], (lac_relation)setup->c->i[0]);
}

static int holds(int64_t relation, number x, number y) {
  double a = creal(x), b = creal(y);
  return relation == LAC_RELATION_EQ   ? x == y
         : relation == LAC_RELATION_NE ? x != y
         : relation == LAC_RELATION_LT ? a < b
         : relation == LAC_RELATION_LE ? a <= b
         : relation == LAC_RELATION_GT ? a > b
                                       : a >= b;
}

static void compare_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    *walk_item(&w, out, 0) = holds(c->i[0], *walk_item(&w, &in[0], 0), *walk_item(&w, &in[1], 0));
  }
}

/// One side holds whole numbers, the other halves: differences do not change what holds.
static void compare_fill(const op_case *c, int input, ref *x) {
  (void)c;
  for (int64_t i = 0; i < x->count; ++i) x->x[i] = round(2 * creal(x->x[i])) + (input ? 0.5 : 0);
}

static void check_compare(lac_context *ctx, lac_relation relation, const char *x, const char *y, const char *z) {
  check_op(ctx, &(op_case){.op = "compare",
                           .shapes = {x, y},
                           .result = {z},
                           .i = {relation},
                           .apply = compare_apply,
                           .dense = compare_dense,
                           .fill = compare_fill,
                           .dtypes = relation > LAC_RELATION_NE ? OP_REAL : 0});
}

static void every_relation_has_zero_derivatives(lac_context *ctx) {
  for (lac_relation relation = LAC_RELATION_EQ; relation <= LAC_RELATION_GE; ++relation)
    check_compare(ctx, relation, "3,4", "3,4", "3,4");
}

static void compare_broadcasts_both_ways(lac_context *ctx) {
  check_compare(ctx, LAC_RELATION_LT, "2,1,3", "4,1", "2,4,3");
  check_compare(ctx, LAC_RELATION_NE, "3,2", "", "3,2");
}

static void compare_takes_empty_and_single_arrays(lac_context *ctx) {
  check_compare(ctx, LAC_RELATION_EQ, "", "", "");
  check_compare(ctx, LAC_RELATION_GE, "0,3", "1,3", "0,3");
}

static lac_relation asked;
static lac_var with_itself(lac_tape *tape, lac_var x) { return lac_compare(tape, x, x, asked); }

static void a_number_equals_itself_and_nan_does_not(lac_context *ctx) {
  static const double of_one[] = {1, 0, 0, 1, 0, 1}, of_nan[] = {0, 1, 0, 0, 0, 0};
  if (!check_claimed("compare")) return;
  for (asked = LAC_RELATION_EQ; asked <= LAC_RELATION_GE; ++asked) {
    CHECK(probe_value(ctx, with_itself, LAC_F32, 1) == of_one[asked]);
    CHECK(probe_value(ctx, with_itself, LAC_F64, INFINITY) == of_one[asked]);
    CHECK(probe_value(ctx, with_itself, LAC_F64, NAN) == of_nan[asked]);
  }
  for (asked = LAC_RELATION_EQ; asked <= LAC_RELATION_NE; ++asked) {
    CHECK(probe_value(ctx, with_itself, LAC_C64, 2 - I) == of_one[asked]);
    CHECK(probe_value(ctx, with_itself, LAC_C128, NAN * I) == of_nan[asked]);
  }
}

static void compare_refuses_an_unknown_relation(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var x = lac_tape_scalar(tape, LAC_F64, 3, 0);
  CHECK(!lac_compare(tape, x, x, (lac_relation)6).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "LAC_RELATION_EQ");
  lac_tape_destroy(&tape);
}

static void compare_does_not_depend_on_threads(lac_context *ctx) {
  check_op_large(ctx, &(op_case){.op = "compare",
                                 .shapes = {"200,301", "301"},
                                 .result = {"200,301"},
                                 .i = {LAC_RELATION_LE},
                                 .apply = compare_apply,
                                 .dtypes = OP_REAL});
}

CHECK_MAIN(every_relation_has_zero_derivatives, compare_broadcasts_both_ways, compare_takes_empty_and_single_arrays,
           a_number_equals_itself_and_nan_does_not, compare_refuses_an_unknown_relation,
           compare_does_not_depend_on_threads)
