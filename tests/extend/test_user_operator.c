// SPDX-License-Identifier: Apache-2.0
/// A user's operators, written with public headers and linked to the library alone.
///
/// `cube` emits its rules and may be differentiated without end. `sine` has a VJP that is computed, not emitted: it is
/// the forward of a second operator without rules, so it can be differentiated once, and says so the second time.
/// `blend` has 36 inputs, `spread` broadcasts, and the derivative of `floored` is zero.

#include <lacuna/extend.h>
#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int holds, const char *what, const lac_context *ctx) {
  if (holds) return;
  failures++;
  printf("FAILED: %s (%s)\n", what, lac_context_error(ctx));
}

// -- cube: y = x^3, rules made of operators ---------------------------------------------------------------------------

static lac_status cube_forward(lac_call *c) {
  const double *x = lac_array_data(c->in[0]);
  double *y = lac_array_edit(c->out[0]);

  if (c->in_meta[0].dtype != LAC_F64) return lac_call_fail(c, LAC_ERR_DTYPE, "takes f64 alone");
  for (int64_t i = 0; i < lac_array_count(c->in[0]); i++) y[i] = x[i] * x[i] * x[i];
  return LAC_OK;
}

/// 3 x^2 v
static lac_var cube_slope(lac_tape *tape, lac_var x, lac_var v) {
  return lac_scale(tape, lac_mul(tape, lac_mul(tape, x, x), v), 3, 0);
}

static void cube_vjp(lac_rule *r) { r->in_bar[0] = cube_slope(r->tape, r->in[0], r->out_bar[0]); }
static void cube_jvp(lac_rule *r) { r->out_dot[0] = cube_slope(r->tape, r->in[0], r->in_dot[0]); }

static const lac_op cube = {.name = "cube",
                            .signature = "()->()",
                            .vjp_needs = LAC_NEEDS_IN(0),
                            .jvp_needs = LAC_NEEDS_IN(0),
                            .order = LAC_ANY_ORDER,
                            .forward = cube_forward,
                            .vjp = cube_vjp,
                            .jvp = cube_jvp};

static lac_var my_cube(lac_tape *tape, lac_var x) {
  lac_var y;
  lac_tape_call(tape, &(lac_spec){.op = &cube}, &x, &y);
  return y;
}

// -- sine: its VJP is computed, not emitted ---------------------------------------------------------------------------

static lac_status sine_forward(lac_call *c) {
  const double *x = lac_array_data(c->in[0]);
  double *y = lac_array_edit(c->out[0]);

  for (int64_t i = 0; i < lac_array_count(c->in[0]); i++) y[i] = sin(x[i]);
  return LAC_OK;
}

static lac_status sine_bar_forward(lac_call *c) {
  const double *x = lac_array_data(c->in[0]), *y_bar = lac_array_data(c->in[1]);
  double *x_bar = lac_array_edit(c->out[0]);

  for (int64_t i = 0; i < lac_array_count(c->in[0]); i++) x_bar[i] = cos(x[i]) * y_bar[i];
  return LAC_OK;
}

static const lac_op sine_bar = {
    .name = "sine_bar", .signature = "(n),(n)->(n)", .order = 0, .forward = sine_bar_forward};

static void sine_vjp(lac_rule *r) {
  lac_tape_call(r->tape, &(lac_spec){.op = &sine_bar}, (lac_var[]){r->in[0], r->out_bar[0]}, &r->in_bar[0]);
}

static const lac_op sine = {
    .name = "sine", .signature = "(n)->(n)", .vjp_needs = 1, .order = 1, .forward = sine_forward, .vjp = sine_vjp};

// -- blend: more inputs than bits of a needs mask -------------------------------------------------------------------

enum { BLEND_INS = 36, BLEND_OUTS = 2 };

/// y_0 = sum_i (i + 1) x_i, y_1 = sum_i x_i^2.
static lac_status blend_forward(lac_call *c) {
  double *first = lac_array_edit(c->out[0]), *second = lac_array_edit(c->out[1]);

  if (c->ins != BLEND_INS || c->outs != BLEND_OUTS) return lac_call_fail(c, LAC_ERR_ARG, "the counts are wrong");
  for (int64_t k = 0; k < lac_array_count(c->out[0]); k++) {
    first[k] = second[k] = 0;
    for (int i = 0; i < c->ins; i++) {
      double x = ((const double *)lac_array_data(c->in[i]))[k];
      first[k] += (i + 1) * x, second[k] += x * x;
    }
  }
  return LAC_OK;
}

static void blend_vjp(lac_rule *r) {
  for (int i = 0; i < r->ins; i++) {
    if (!r->wants[i]) continue;
    r->in_bar[i] = lac_add(r->tape, lac_scale(r->tape, r->out_bar[0], i + 1, 0),
                           lac_scale(r->tape, lac_mul(r->tape, r->in[i], r->out_bar[1]), 2, 0));
  }
}

static void blend_jvp(lac_rule *r) {
  for (int i = 0; i < r->ins; i++) {
    lac_var slope = lac_scale(r->tape, lac_mul(r->tape, r->in[i], r->in_dot[i]), 2, 0);
    r->out_dot[0] = lac_add(r->tape, r->out_dot[0], lac_scale(r->tape, r->in_dot[i], i + 1, 0));
    r->out_dot[1] = lac_add(r->tape, r->out_dot[1], slope);
  }
}

static const lac_op blend = {.name = "blend",
                             .signature =
                                 "(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),"
                                 "(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),(),()->(),()",
                             .vjp_needs = 0xffffffff,
                             .jvp_needs = 0xffffffff,
                             .order = LAC_ANY_ORDER,
                             .forward = blend_forward,
                             .vjp = blend_vjp,
                             .jvp = blend_jvp};

/// Each leaf is each input as many times as it takes.
static lac_var blend_of_leaves(lac_tape *tape, const lac_var *leaves, void *user) {
  lac_var in[BLEND_INS], out[BLEND_OUTS];

  (void)user;
  for (int i = 0; i < BLEND_INS; i++) in[i] = leaves[i % 2];
  lac_tape_call(tape, &(lac_spec){.op = &blend}, in, out);
  return lac_mul(tape, out[0], out[1]);
}

static void check_blend(lac_context *ctx, const lac_array *x) {
  lac_gradcheck_report report = {0};
  lac_tape *tape = NULL;
  lac_var in[BLEND_INS], out[BLEND_OUTS], bar[BLEND_INS];
  double at[3], got[3];

  expect(lac_gradcheck(ctx, blend_of_leaves, NULL, 2, (const lac_array *[]){x, x}, NULL, &report) == LAC_OK,
         "gradcheck of blend", ctx);
  expect(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape) == LAC_OK, "a tape", ctx);
  for (int i = 0; i < BLEND_INS; i++) in[i] = lac_tape_leaf(tape, x);
  lac_tape_call(tape, &(lac_spec){.op = &blend}, in, out);
  lac_var loss = lac_sum(tape, lac_add(tape, out[0], out[1]));
  expect(lac_tape_vjp(tape, 1, &loss, NULL, BLEND_INS, in, bar, LAC_GRAPH_NONE) == LAC_OK, "the gradient of blend",
         ctx);
  expect(lac_array_read(ctx, x, at) == LAC_OK, "reading", ctx);
  for (int i = 0; i < BLEND_INS; i++) {
    expect(lac_array_read(ctx, lac_tape_value(tape, bar[i]), got) == LAC_OK, "reading", ctx);
    for (int k = 0; k < 3; k++) expect(fabs(got[k] - (i + 1 + 2 * at[k])) < 1e-13, "its gradient is i + 1 + 2 x", ctx);
  }
  lac_tape_destroy(&tape);
}

// -- spread: y = w x with a batch of its own for each input -----------------------------------------------------------

static lac_status spread_forward(lac_call *c) {
  const double *w = lac_array_data(c->in[0]), *x = lac_array_data(c->in[1]);
  double *y = lac_array_edit(c->out[0]);
  int64_t n = c->in_meta[1].shape[c->in_meta[1].ndim - 1];

  if (lac_call_offset(c, 3, 0) != -1 || lac_call_offset(c, -1, 0) != -1) return lac_call_fail(c, LAC_ERR_ARG, "no -1");
  for (int64_t i = 0; i < lac_call_items(c); i++) {
    const double *row = x + lac_call_offset(c, 1, i);
    for (int64_t k = 0; k < n; k++) y[lac_call_offset(c, 2, i) + k] = w[lac_call_offset(c, 0, i)] * row[k];
  }
  return LAC_OK;
}

static const lac_op spread = {.name = "spread", .signature = "(),(n)->(n)", .forward = spread_forward};

/// w [2, 1], x [3, 4]: y [2, 3, 4].
static void check_spread(lac_context *ctx) {
  double w[2] = {2, -3}, x[12], y[24];
  lac_array *arrays[2] = {NULL, NULL};
  lac_tape *tape = NULL;
  lac_var out;

  for (int i = 0; i < 12; i++) x[i] = i + 1;
  expect(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 1}, w, LAC_OWNERSHIP_COPY, &arrays[0]) == LAC_OK, "an array",
         ctx);
  expect(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 4}, x, LAC_OWNERSHIP_COPY, &arrays[1]) == LAC_OK, "an array",
         ctx);
  expect(lac_tape_create(ctx, LAC_TAPE_RUN, &tape) == LAC_OK, "a tape", ctx);
  lac_var in[2] = {lac_tape_constant(tape, arrays[0]), lac_tape_constant(tape, arrays[1])};
  expect(lac_tape_call(tape, &(lac_spec){.op = &spread}, in, &out) == LAC_OK, "spread", ctx);
  expect(lac_tape_meta(tape, out) && lac_tape_meta(tape, out)->ndim == 3, "a batch of two dimensions", ctx);
  expect(lac_array_read(ctx, lac_tape_value(tape, out), y) == LAC_OK, "reading", ctx);
  for (int i = 0; i < 24; i++) expect(y[i] == w[i / 12] * x[i % 12], "items meet as broadcasting says", ctx);
  lac_tape_destroy(&tape);
  lac_array_destroy(&arrays[0]);
  lac_array_destroy(&arrays[1]);
}

// -- floor: its derivative is zero, on purpose or forgotten -----------------------------------------------------------

static lac_status floor_forward(lac_call *c) {
  const double *x = lac_array_data(c->in[0]);
  double *y = lac_array_edit(c->out[0]);

  for (int64_t i = 0; i < lac_array_count(c->in[0]); i++) y[i] = floor(x[i]);
  return LAC_OK;
}

static void floor_forgets(lac_rule *r) { (void)r; }
static void floor_vjp(lac_rule *r) { r->in_bar[0] = (lac_var){0}; }
static void floor_jvp(lac_rule *r) { r->out_dot[0] = (lac_var){0}; }

static const lac_op forgetful = {.name = "forgetful",
                                 .signature = "()->()",
                                 .order = LAC_ANY_ORDER,
                                 .forward = floor_forward,
                                 .vjp = floor_forgets,
                                 .jvp = floor_forgets};
static const lac_op floored = {.name = "floored",
                               .signature = "()->()",
                               .order = LAC_ANY_ORDER,
                               .forward = floor_forward,
                               .vjp = floor_vjp,
                               .jvp = floor_jvp};
static const lac_op nothing = {.name = "nothing",
                               .signature = "()->()",
                               .order = LAC_ANY_ORDER,
                               .forward = floor_forward,
                               .vjp = lac_rule_nothing,
                               .jvp = lac_rule_nothing};

/// The statuses of both derivatives of sum(op(x)) + sum(x), whose gradient is 1 where that of op is zero.
static void differentiate_floor(lac_context *ctx, const lac_op *op, const lac_array *x, lac_status status[2],
                                double gradient[3]) {
  lac_tape *tape = NULL;
  lac_var y, bar, dot;

  expect(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape) == LAC_OK, "a tape", ctx);
  lac_var in = lac_tape_leaf(tape, x), along = lac_tape_constant(tape, x);
  lac_tape_call(tape, &(lac_spec){.op = op}, &in, &y);
  lac_var sum = lac_add(tape, lac_sum(tape, y), lac_sum(tape, in));
  status[1] = lac_tape_jvp(tape, 1, &in, &along, 1, &sum, &dot, LAC_GRAPH_NONE);
  status[0] = lac_tape_vjp(tape, 1, &sum, NULL, 1, &in, &bar, LAC_GRAPH_NONE);
  if (status[0] == LAC_OK) (void)lac_array_read(ctx, lac_tape_value(tape, bar), gradient);
  lac_tape_destroy(&tape);
}

static void check_zero(lac_context *ctx, const lac_array *x) {
  const lac_op *ops[2] = {&floored, &nothing};
  lac_status status[2];
  double gradient[3] = {0};

  for (int i = 0; i < 2; i++) {
    differentiate_floor(ctx, ops[i], x, status, gradient);
    expect(status[0] == LAC_OK && status[1] == LAC_OK, "a zero on purpose", ctx);
    for (int k = 0; k < 3; k++) expect(gradient[k] == 1, "the gradient of what is beside it", ctx);
  }
  differentiate_floor(ctx, &forgetful, x, status, gradient);
  expect(status[0] == LAC_ERR_ABSENT && status[1] == LAC_ERR_ABSENT, "a rule that sets nothing", ctx);
  expect(strstr(lac_context_error(ctx), "forgetful: its vjp rule does not set in_bar[0]") != NULL, "its sentence", ctx);
}

// -- a failing one ----------------------------------------------------------------------------------------------------

static lac_status broken_forward(lac_call *c) { return lac_call_fail(c, LAC_ERR_NONFINITE, "something is not finite"); }
static const lac_op broken = {.name = "broken", .signature = "()->()", .forward = broken_forward};
static const lac_op unreadable = {.name = "unreadable", .signature = "(n->n)", .forward = broken_forward};

static lac_var cube_of_leaf(lac_tape *tape, const lac_var *leaves, void *user) {
  (void)user;
  return my_cube(tape, leaves[0]);
}

static void check_cube(lac_context *ctx, const lac_array *x) {
  lac_gradcheck_report report = {0};
  lac_tape *tape = NULL;
  lac_var d;
  double third[3];

  expect(lac_gradcheck(ctx, cube_of_leaf, NULL, 1, &x, NULL, &report) == LAC_OK, "gradcheck of cube", ctx);
  expect(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape) == LAC_OK, "a tape", ctx);
  lac_var in = lac_tape_leaf(tape, x);
  d = lac_sum(tape, my_cube(tape, in));
  for (int order = 0; order < 3; order++) {
    lac_var sum = order ? lac_sum(tape, d) : d;
    expect(lac_tape_vjp(tape, 1, &sum, NULL, 1, &in, &d, LAC_GRAPH_CREATE) == LAC_OK, "a derivative of cube", ctx);
  }
  expect(lac_array_read(ctx, lac_tape_value(tape, d), third) == LAC_OK, "reading", ctx);
  for (int i = 0; i < 3; i++) expect(fabs(third[i] - 6) < 1e-14, "the third derivative of x^3 is 6", ctx);
  lac_tape_destroy(&tape);
}

static void check_sine(lac_context *ctx, const lac_array *x) {
  lac_tape *tape = NULL;
  lac_var g, second;
  double bar[3], at[3];

  expect(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape) == LAC_OK, "a tape", ctx);
  lac_var in = lac_tape_leaf(tape, x), y, s;
  lac_tape_call(tape, &(lac_spec){.op = &sine}, &in, &y);
  s = lac_sum(tape, y);
  expect(lac_tape_vjp(tape, 1, &s, NULL, 1, &in, &g, LAC_GRAPH_CREATE) == LAC_OK, "the derivative of sine", ctx);
  expect(lac_array_read(ctx, lac_tape_value(tape, g), bar) == LAC_OK, "reading", ctx);
  expect(lac_array_read(ctx, x, at) == LAC_OK, "reading", ctx);
  for (int i = 0; i < 3; i++) expect(fabs(bar[i] - cos(at[i])) < 1e-15, "sine' is cosine", ctx);
  s = lac_sum(tape, g);
  expect(lac_tape_vjp(tape, 1, &s, NULL, 1, &in, &second, LAC_GRAPH_NONE) == LAC_ERR_ORDER, "sine'' is refused", ctx);
  expect(strstr(lac_context_error(ctx), "sine_bar") != NULL, "the sentence names the operator", ctx);
  lac_tape_destroy(&tape);
}

static void check_failures(lac_context *ctx, const lac_array *x) {
  lac_tape *tape = NULL;
  lac_var y;

  expect(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape) == LAC_OK, "a tape", ctx);
  lac_var in = lac_tape_leaf(tape, x);
  expect(lac_tape_call(tape, &(lac_spec){.op = &broken}, &in, &y) == LAC_ERR_NONFINITE, "a forward that fails", ctx);
  expect(strcmp(lac_context_error(ctx), "broken: something is not finite") == 0, "its sentence", ctx);
  lac_tape_clear(tape);
  in = lac_tape_leaf(tape, x);
  expect(lac_tape_call(tape, &(lac_spec){.op = &unreadable}, &in, &y) == LAC_ERR_ARG, "a signature that cannot be read",
         ctx);
  lac_tape_clear(tape);
  in = lac_tape_leaf(tape, x);
  expect(lac_tape_call(tape, &(lac_spec){.op = NULL}, &in, &y) == LAC_ERR_ARG, "no operator", ctx);
  lac_tape_destroy(&tape);
}

int main(void) {
  lac_memory_stats stats = {.size = sizeof stats};
  lac_context *ctx = NULL;
  lac_array *x = NULL;

  if (lac_context_create("cpu", 0, &ctx) != LAC_OK) return 1;
  expect(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, (double[]){0.5, -1.5, 2}, LAC_OWNERSHIP_COPY, &x) == LAC_OK,
         "an array", ctx);
  check_cube(ctx, x);
  check_sine(ctx, x);
  check_blend(ctx, x);
  check_spread(ctx);
  check_zero(ctx, x);
  check_failures(ctx, x);
  lac_array_destroy(&x);
  lac_context_destroy(&ctx);
  expect(lac_memory_get_stats("cpu", &stats) == LAC_OK, "counters", NULL);
  expect(stats.live_blocks == 0, "every block was given back", NULL);
  printf("%s\n", failures ? "failed" : "user operators: all hold");
  return failures != 0;
}
