// SPDX-License-Identifier: Apache-2.0
/// The battery is tested: what it says of a case, and which cases it refuses.

#include <stdlib.h>
#include <string.h>

#include "autodiff/rule.h"
#include "kernels/kernels.h"
#include "support/op_case.h"
#include "support/scratch.h"

enum { X };
enum { Y };

// -- the suspect: y = x x --------------------------------------------------------------------------------------------

static lac_status square_forward(lac_call *c) {
  return KERNELS(c)->binary(c->ctx, LAC_MUL, c->in[X], c->in[X], c->out[Y]);
}

static lac_status broken_forward(lac_call *c) { return lac_call_fail(c, LAC_ERR_BACKEND, "the device is on fire"); }

static void square_vjp(lac_rule *r) {
  r->in_bar[X] = lac_scale(r->tape, lac_mul(r->tape, lac_conj(r->tape, r->in[X]), r->out_bar[Y]), 2, 0);
}

static void square_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_scale(r->tape, lac_mul(r->tape, r->in[X], r->in_dot[X]), 2, 0);
}

/// A derivative that ends with an error when it runs.
static const lac_op broken;
static void broken_vjp(lac_rule *r) { r->in_bar[X] = lac_emit(r->tape, &(lac_spec){.op = &broken}, &r->out_bar[Y]); }

#define SQUARE(need, flag, run, reverse)                                                                       \
  {                                                                                                            \
    .name = "square", .signature = "()->()", .order = LAC_ANY_ORDER, .vjp_needs = (need), .jvp_needs = (need), \
    .flags = (flag), .forward = (run), .vjp = (reverse), .jvp = square_jvp                                     \
  }
static const lac_op square = SQUARE(NEEDS_IN(X), 0, square_forward, square_vjp);
static const lac_op pointwise = SQUARE(NEEDS_IN(X), LAC_OP_POINTWISE, square_forward, square_vjp);
static const lac_op needless = SQUARE(0, 0, square_forward, square_vjp);
/// Rules that say zero.
static const lac_op silent = {.name = "square",
                              .signature = "()->()",
                              .order = LAC_ANY_ORDER,
                              .forward = square_forward,
                              .vjp = lac_rule_nothing,
                              .jvp = lac_rule_nothing};
static const lac_op broken = SQUARE(NEEDS_IN(X), 0, broken_forward, square_vjp);
static const lac_op broken_back = SQUARE(NEEDS_IN(X), 0, square_forward, broken_vjp);

/// z = 2 x, whose derivative comes out as 2 x^6 / x^6: right, by a way that leaves the range.
static lac_status slope_forward(lac_call *c) { return KERNELS(c)->scale(c->ctx, 2, 0, c->in[X], c->out[Y]); }
static lac_var slope_times(lac_rule *r, lac_var v) {
  lac_var far = lac_power(r->tape, lac_real(r->tape, r->in[X]), 6);
  lac_var one = lac_cast(r->tape, lac_div(r->tape, far, far), r->in_meta[X].dtype);
  return lac_scale(r->tape, lac_mul(r->tape, one, v), 2, 0);
}
static void slope_vjp(lac_rule *r) { r->in_bar[X] = slope_times(r, r->out_bar[Y]); }
static void slope_jvp(lac_rule *r) { r->out_dot[Y] = slope_times(r, r->in_dot[X]); }
static const lac_op slope = {.name = "slope",
                             .signature = "()->()",
                             .order = LAC_ANY_ORDER,
                             .vjp_needs = NEEDS_IN(X),
                             .jvp_needs = NEEDS_IN(X),
                             .forward = slope_forward,
                             .vjp = slope_vjp,
                             .jvp = slope_jvp};
static void far_vjp(lac_rule *r) {
  lac_var twice = lac_emit(r->tape, &(lac_spec){.op = &slope}, &r->in[X]);
  r->in_bar[X] = lac_mul(r->tape, lac_conj(r->tape, twice), r->out_bar[Y]);
}
static const lac_op far = SQUARE(NEEDS_IN(X), 0, square_forward, far_vjp);

static void square_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)lac_tape_call(tape, &(lac_spec){.op = setup->c->user_op}, in, out);
}

static void power_dense(const op_case *c, const ref *in, ref *out) {
  for (int64_t e = 0; e < in[X].count; ++e) {
    out[Y].x[e] = 1;
    for (int64_t p = 0; p < c->i[0]; ++p) out[Y].x[e] *= in[X].x[e];
  }
}

static op_case square_case(const lac_op *op) {
  return (op_case){.op = "square",
                   .user_op = op,
                   .shapes = {"2,3"},
                   .result = {"2,3"},
                   .i = {2},
                   .apply = square_apply,
                   .dense = power_dense,
                   .degree = {2}};
}

/// What the battery says of a case, in scratch memory; the sections that failed into *failed.
static const char *listen(lac_context *ctx, const op_case *c, uint32_t *failed) {
  char *said = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&said, &length);
  CHECK(out);
  *failed = check_op_sections(ctx, c, out);
  (void)fclose(out);
  char *kept = memcpy(scratch(length + 1), said, length);
  free(said);
  return kept;
}

static int lines_with(const char *said, const char *words) {
  int count = 0;
  while ((said = strstr(said, words))) ++count, said += strlen(words);
  return count;
}

static void expect_green(lac_context *ctx, const op_case *c) {
  uint32_t failed = 0;
  const char *said = listen(ctx, c, &failed);
  if (failed) check_fail(__FILE__, __LINE__, "sections %#x are red: %s", failed, said);
}

// -- the operator of a case ------------------------------------------------------------------------------------------

static void a_users_operator_passes(lac_context *ctx) {
  op_case c = square_case(&square);
  expect_green(ctx, &c);
}

static void unknown_operators_are_refused(lac_context *ctx) {
  op_case c = square_case(NULL), other = square_case(&square);
  uint32_t failed = 0;
  CHECK(strstr(listen(ctx, &c, &failed), "square: ops.def has no operator of this name"));
  CHECK_EQ(failed, OP_OPERATOR);
  other.op = "cube";
  CHECK(strstr(listen(ctx, &other, &failed), "cube: the user's operator has another name"));
  CHECK_EQ(failed, OP_OPERATOR);
}

static void multiply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[Y] = in[X];
  for (int64_t p = 1; p < setup->c->i[0]; ++p) out[Y] = lac_mul(tape, out[Y], in[X]);
}

/// The case says "square", and applies mul.
static void an_operator_that_is_not_called_is_caught(lac_context *ctx) {
  op_case c = square_case(&square);
  uint32_t failed = 0;
  c.apply = multiply;
  CHECK(strstr(listen(ctx, &c, &failed), "square: `apply` did not call the operator"));
  CHECK_EQ(failed, OP_OPERATOR);
  c.op = "mul", c.user_op = NULL;
  expect_green(ctx, &c);
}

static void a_pointwise_operator_that_is_not_linear_is_caught(lac_context *ctx) {
  op_case c = square_case(&pointwise);
  CHECK_EQ(check_op_sections(ctx, &c, NULL), OP_OPERATOR);
}

// -- what is said ----------------------------------------------------------------------------------------------------

/// A rule that reads what its mask does not name is refused by the library, once for each dtype.
static void rules_that_read_too_much_are_named(lac_context *ctx) {
  op_case c = square_case(&needless);
  uint32_t failed = 0;
  const char *said = listen(ctx, &c, &failed);
  CHECK_EQ(lines_with(said, "reads but its needs mask does not name"), 4);
  CHECK_EQ(failed, OP_ADJOINT);
}

/// A rule that says zero where the dense derivative is something.
static void absent_derivatives_are_pointed_out(lac_context *ctx) {
  op_case c = square_case(&silent);
  uint32_t failed = 0;
  const char *said = listen(ctx, &c, &failed), *hint = "; absent: the rule gives nothing";
  CHECK_EQ(lines_with(said, hint), 2 * 4);  // gradient and tangent, in four dtypes
  CHECK(failed & OP_TANGENT);
  CHECK(failed & OP_GRADIENT);
  c = square_case(&pointwise);
  CHECK_EQ(lines_with(listen(ctx, &c, &failed), hint), 0);
}

static void errors_are_said_once_for_each_dtype(lac_context *ctx) {
  op_case c = square_case(&broken);
  uint32_t failed = 0;
  const char *said = listen(ctx, &c, &failed);
  CHECK_EQ(failed, OP_VALUES);
  CHECK_EQ(lines_with(said, "\n"), 4);
  CHECK_EQ(lines_with(said, "the device is on fire"), 4);
  c = square_case(&broken_back);
  said = listen(ctx, &c, &failed);
  CHECK_EQ(failed, OP_ADJOINT);
  CHECK_EQ(lines_with(said, "\n"), 4);
  CHECK_EQ(lines_with(said, "first derivatives: LAC_ERR_BACKEND"), 4);
}

// -- degrees ---------------------------------------------------------------------------------------------------------

static void degrees_of_any_size_are_tried(lac_context *ctx) {
  op_case c = square_case(NULL);
  c.op = "mul", c.apply = multiply;
  for (int p = 2; p <= 5; ++p) {
    c.i[0] = c.degree[0] = p;
    expect_green(ctx, &c);
  }
  c.degree[0] = 4;
  CHECK_EQ(check_op_sections(ctx, &c, NULL), OP_SCALE);
}

/// Values and first derivatives are right at any scale; the second leave the range on their way.
static void second_derivatives_that_leave_the_range_are_caught(lac_context *ctx) {
  op_case c = square_case(&far);
  uint32_t failed = 0;
  const char *said = listen(ctx, &c, &failed);
  CHECK_EQ(failed, OP_SCALE);
  CHECK(strstr(said, "tangent of gradient 0"));
  c.degree[0] = 0;
  expect_green(ctx, &c);
}

CHECK_MAIN(a_users_operator_passes, unknown_operators_are_refused, an_operator_that_is_not_called_is_caught,
           a_pointwise_operator_that_is_not_linear_is_caught, rules_that_read_too_much_are_named,
           absent_derivatives_are_pointed_out, errors_are_said_once_for_each_dtype, degrees_of_any_size_are_tried,
           second_derivatives_that_leave_the_range_are_caught)
