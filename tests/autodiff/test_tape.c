// SPDX-License-Identifier: Apache-2.0
/// The tape: what it records, what it keeps, how it fails.

#include <string.h>

#include "lacuna/extend.h"
#include "support/check.h"
#include "support/scratch.h"

/// An array of doubles.
static lac_array *array_of(lac_context *ctx, int64_t rows, int64_t cols, const double *numbers) {
  lac_array *array = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){rows, cols}, (void *)numbers, LAC_OWNERSHIP_COPY, &array));
  return array;
}

static void read_doubles(lac_context *ctx, const lac_tape *tape, lac_var var, double *out) {
  CHECK(lac_tape_value(tape, var));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, var), out));
}

/// A is [[1, 2, 0], [0, 0, 3]].
static lac_pattern *small_pattern(lac_context *ctx) {
  lac_pattern *pattern = NULL;
  CHECK_OK(lac_pattern_from_csr(ctx, 2, 3, LAC_I64, (int64_t[]){0, 2, 3}, (int64_t[]){0, 1, 2}, LAC_WIDTH_AUTO,
                                &pattern, NULL));
  return pattern;
}

static void tape_differentiates_a_quadratic(lac_context *ctx) {
  // loss = |A x|^2: a_bar = 2 (A x)[row] x[col], x_bar = 2 A^T A x
  lac_pattern *p = small_pattern(ctx);
  lac_array *a = NULL, *x = array_of(ctx, 3, 1, (double[]){1, -1, 2});
  lac_tape *tape = NULL;
  double a_bar[3], x_bar[3], loss;

  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, (double[]){1, 2, 3}, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in[2] = {lac_tape_leaf(tape, a), lac_tape_leaf(tape, x)}, bar[2];
  lac_var y = lac_spmm(tape, p, in[0], in[1], LAC_PLAIN), s = lac_dot(tape, y, y);
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 2, in, bar, LAC_GRAPH_NONE));
  read_doubles(ctx, tape, s, &loss);
  read_doubles(ctx, tape, bar[0], a_bar);
  read_doubles(ctx, tape, bar[1], x_bar);
  CHECK_NEAR(loss, 37, 1e-15);  // A x = (-1, 6)
  CHECK_NEAR(a_bar[0], -2, 1e-15);
  CHECK_NEAR(a_bar[1], 2, 1e-15);
  CHECK_NEAR(a_bar[2], 24, 1e-15);
  CHECK_NEAR(x_bar[0], -2, 1e-15);
  CHECK_NEAR(x_bar[1], -4, 1e-15);
  CHECK_NEAR(x_bar[2], 36, 1e-15);

  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_array_destroy(&x);
  lac_pattern_destroy(&p);
}

/// f(x) = sum x^4, whose gradient is 4 x^3 and Hessian diagonal 12 x^2.
static lac_var fourth_power(lac_tape *tape, lac_var x) {
  lac_var square = lac_mul(tape, x, x);
  return lac_sum(tape, lac_mul(tape, square, square));
}

static void hessian_times_vector_is_the_same_three_ways(lac_context *ctx) {
  lac_array *x = array_of(ctx, 3, 1, (double[]){1, -2, 0.5}), *v = array_of(ctx, 3, 1, (double[]){3, 1, -1});
  double expected[3] = {36, 48, -3}, got[3][3];
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  for (int way = 0; way < 3; way++) {
    lac_tape_clear(tape);
    lac_var in = lac_tape_leaf(tape, x), dot = lac_tape_constant(tape, v), y = fourth_power(tape, in), g, s, hv;
    if (way == 0) {  // forward over reverse
      CHECK_OK(lac_tape_vjp(tape, 1, &y, NULL, 1, &in, &g, LAC_GRAPH_CREATE));
      CHECK_OK(lac_tape_jvp(tape, 1, &in, &dot, 1, &g, &hv, LAC_GRAPH_NONE));
    } else if (way == 1) {  // reverse over forward
      CHECK_OK(lac_tape_jvp(tape, 1, &in, &dot, 1, &y, &s, LAC_GRAPH_CREATE));
      CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 1, &in, &hv, LAC_GRAPH_NONE));
    } else {  // reverse over reverse
      CHECK_OK(lac_tape_vjp(tape, 1, &y, NULL, 1, &in, &g, LAC_GRAPH_CREATE));
      CHECK_OK(lac_tape_vjp(tape, 1, &g, &dot, 1, &in, &hv, LAC_GRAPH_NONE));
    }
    read_doubles(ctx, tape, hv, got[way]);
    for (int i = 0; i < 3; i++) CHECK_NEAR(got[way][i], expected[i], 1e-14);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&v);
}

static void third_derivative_comes_from_the_same_rules(lac_context *ctx) {
  lac_array *x = array_of(ctx, 1, 1, (double[]){3});
  lac_tape *tape = NULL;
  double third;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in = lac_tape_leaf(tape, x), d = fourth_power(tape, in);
  for (int order = 0; order < 3; order++) CHECK_OK(lac_tape_vjp(tape, 1, &d, NULL, 1, &in, &d, LAC_GRAPH_CREATE));
  read_doubles(ctx, tape, d, &third);
  CHECK_NEAR(third, 72, 1e-14);  // 24 x
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void errors_stick_until_cleared(lac_context *ctx) {
  lac_array *x = array_of(ctx, 3, 1, (double[]){1, 2, 3}), *y = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), b = lac_tape_leaf(tape, y);
  lac_var bad = lac_add(tape, a, b);
  CHECK_EQ(bad.id, 0);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "add: y has shape (2, 1)");
  CHECK_EQ(lac_mul(tape, a, a).id, 0);  // nothing runs on a failed tape
  lac_tape_clear(tape);
  CHECK_OK(lac_tape_status(tape));
  CHECK(!lac_tape_value(tape, a));  // vars of before the clear are gone
  a = lac_tape_leaf(tape, x);
  CHECK(lac_mul(tape, a, a).id);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&y);
}

/// Borrowed memory that is opened for writing: derivatives do not mix old results with new numbers.
static void borrowed_memory_that_is_edited_is_stale(lac_context *ctx) {
  double data[2] = {1, 2}, got[2];
  lac_array *x = NULL;
  lac_tape *tape = NULL;
  lac_var g;

  if (strcmp(lac_context_backend(ctx), "cpu") != 0) return;  // host memory cannot be borrowed elsewhere
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 1}, data, LAC_OWNERSHIP_BORROW, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), s = lac_dot(tape, a, a);
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 1, &a, &g, LAC_GRAPH_NONE));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, g), got));
  CHECK_NEAR(got[1], 4, 0);
  ((double *)lac_array_edit(x))[1] = 7;
  CHECK_EQ(data[1], 7);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &s, NULL, 1, &a, &g, LAC_GRAPH_NONE), LAC_ERR_STALE, "");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

/// Each list that is NULL is named.
static void lists_that_are_null_are_named(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;
  lac_var g;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), s = lac_dot(tape, a, a);
  CHECK_FAILS(lac_tape_vjp(tape, 1, NULL, NULL, 1, &a, &g, LAC_GRAPH_NONE), LAC_ERR_ARG, "vjp: out is NULL");
  CHECK_FAILS(lac_tape_vjp(tape, 1, &s, NULL, 1, NULL, &g, LAC_GRAPH_NONE), LAC_ERR_ARG, "vjp: in is NULL");
  CHECK_FAILS(lac_tape_vjp(tape, 1, &s, NULL, 1, &a, NULL, LAC_GRAPH_NONE), LAC_ERR_ARG, "vjp: in_bar is NULL");
  CHECK_FAILS(lac_tape_vjp(tape, 0, &s, NULL, 1, &a, &g, LAC_GRAPH_NONE), LAC_ERR_ARG, "outs = 0");
  CHECK_FAILS(lac_tape_jvp(tape, 1, &a, NULL, 1, &s, &g, LAC_GRAPH_NONE), LAC_ERR_ARG, "jvp: in_dot is NULL");
  CHECK_FAILS(lac_tape_jvp(tape, 1, &a, &a, 1, &s, NULL, LAC_GRAPH_NONE), LAC_ERR_ARG, "jvp: out_dot is NULL");
  CHECK_FAILS(lac_tape_gradient(tape, s, 1, &a, NULL, NULL), LAC_ERR_ARG, "gradient: value is NULL");
  CHECK_EQ(lac_reshape(tape, a, 2, NULL).id, 0);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "reshape: shape is NULL; give a list of 2 sizes");
  lac_tape_clear(tape);
  CHECK_EQ(lac_concat_all(tape, 2, NULL, 0).id, 0);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "concat_all: vars is NULL; give a list of 2 arrays");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void written_arrays_are_stale(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;
  lac_var g;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), s = lac_dot(tape, a, a);
  CHECK_OK(lac_array_write(ctx, x, (double[]){5, 6}));
  CHECK_FAILS(lac_tape_vjp(tape, 1, &s, NULL, 1, &a, &g, LAC_GRAPH_NONE), LAC_ERR_STALE,
              "written to after it came onto the tape");
  CHECK_OK(lac_tape_status(tape));  // a failed derivative leaves the tape as it was
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void absent_adjoints_are_absent(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in[2] = {lac_tape_leaf(tape, x), lac_tape_leaf(tape, x)}, bar[2], s = lac_dot(tape, in[0], in[0]);
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 2, in, bar, LAC_GRAPH_NONE));
  CHECK(bar[0].id);
  CHECK_EQ(bar[1].id, 0);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void constants_are_not_differentiated(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;
  lac_var g;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var c = lac_tape_constant(tape, x), s = lac_dot(tape, c, c);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &s, NULL, 1, &c, &g, LAC_GRAPH_NONE), LAC_ERR_ARG, "does not depend on a leaf");
  lac_tape_destroy(&tape);
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  c = lac_tape_leaf(tape, x), s = lac_dot(tape, c, c);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &s, NULL, 1, &c, &g, LAC_GRAPH_NONE), LAC_ERR_ARG, "does not record");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void seeds_must_fit(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2}), *w = array_of(ctx, 1, 2, (double[]){1, 2});
  lac_tape *tape = NULL;
  lac_var g;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), y = lac_mul(tape, a, a), seed = lac_tape_constant(tape, w);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &y, NULL, 1, &a, &g, LAC_GRAPH_NONE), LAC_ERR_ARG, "no seed");
  CHECK_FAILS(lac_tape_vjp(tape, 1, &y, &seed, 1, &a, &g, LAC_GRAPH_NONE), LAC_ERR_SHAPE, "seed 0");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&w);
}

static void seeds_are_not_written_to(lac_context *ctx) {
  // y = x + x passes its seed to x twice: the sum must not be made in the seed itself.
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2}), *w = array_of(ctx, 2, 1, (double[]){3, 4});
  lac_tape *tape = NULL;
  double bar[2], seed_after[2];
  lac_var g;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), y = lac_add(tape, a, a), seed = lac_tape_constant(tape, w);
  CHECK_OK(lac_tape_vjp(tape, 1, &y, &seed, 1, &a, &g, LAC_GRAPH_NONE));
  read_doubles(ctx, tape, g, bar);
  CHECK_OK(lac_array_read(ctx, w, seed_after));
  CHECK_NEAR(bar[0], 6, 0);
  CHECK_NEAR(bar[1], 8, 0);
  CHECK_NEAR(seed_after[0], 3, 0);
  CHECK_NEAR(seed_after[1], 4, 0);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&w);
}

static void released_vars_give_memory_back(lac_context *ctx) {
  int64_t shape[2] = {1000, 10};
  lac_array *x = NULL;
  lac_tape *tape = NULL;

  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, shape, &x));
  CHECK_OK(lac_array_fill(ctx, x, 2, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), b = lac_add(tape, a, a), c = lac_mul(tape, b, b), s = lac_sum(tape, c), g;
  int64_t before = memory_now(check_backend()).live_bytes;
  lac_tape_release(tape, c);  // no rule reads it
  int64_t after = memory_now(check_backend()).live_bytes;
  CHECK(before - after >= 80000);
  CHECK(!lac_tape_value(tape, c));
  lac_tape_release(tape, b);  // mul's rule reads it: kept, and the gradient still works
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 1, &a, &g, LAC_GRAPH_NONE));
  double *numbers = scratch((10000) * sizeof(double));
  read_doubles(ctx, tape, g, numbers);
  CHECK_NEAR(numbers[0], 16, 0);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void vars_of_another_tape_are_refused(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL, *other = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &other));
  lac_var a = lac_tape_leaf(tape, x), stranger = lac_tape_leaf(other, x);
  CHECK_EQ(lac_mul(tape, a, stranger).id, 0);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ABSENT, "of another tape");
  lac_tape_clear(tape);
  (void)lac_tape_leaf(tape, x);
  CHECK_EQ(lac_mul(tape, a, a).id, 0);  // of before the clear, though the tape has as many vars again
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ABSENT, "from before lac_tape_clear");
  lac_tape_destroy(&other);
  lac_tape_clear(tape);
  a = lac_tape_leaf(tape, x);
  CHECK_EQ(lac_mul(tape, a, (lac_var){0}).id, 0);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ABSENT, "y is absent");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void shared_values_need_no_batch_of_gradients(lac_context *ctx) {
  // One matrix, a batch of B right-hand sides: the gradient of the values is summed inside the kernel.
  enum { B = 64, N = 400, K = 1 };
  lac_pattern *p = NULL;
  lac_array *a = NULL, *x = NULL;
  lac_tape *tape = NULL;
  lac_var g;
  int64_t *offsets = scratch((N + 1) * sizeof(int64_t)), *columns = scratch((N * 10) * sizeof(int64_t));

  for (int i = 0; i <= N; i++) offsets[i] = 10 * (int64_t)i;
  for (int i = 0; i < N * 10; i++) columns[i] = (i / 10 + 37 * (i % 10)) % N;
  CHECK_OK(lac_pattern_from_csr(ctx, N, N, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){N * 10}, &a));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 3, (int64_t[]){B, N, K}, &x));
  CHECK_OK(lac_array_fill(ctx, a, 1, 0));
  CHECK_OK(lac_array_fill(ctx, x, 1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var va = lac_tape_leaf(tape, a), y = lac_spmm(tape, p, va, lac_tape_constant(tape, x), LAC_PLAIN),
          s = lac_sum(tape, y);
  lac_memory_reset_peak(check_backend());
  int64_t before = memory_now(check_backend()).live_bytes;
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 1, &va, &g, LAC_GRAPH_NONE));
  int64_t peak = memory_now(check_backend()).peak_bytes - before;
  int64_t batch_of_values = (int64_t)B * N * 10 * 8, batch_of_outputs = (int64_t)B * N * K * 8;
  CHECK(peak < batch_of_outputs + batch_of_values / 4);
  CHECK_EQ(lac_tape_meta(tape, g)->ndim, 1);
  double *numbers = scratch((N * 10) * sizeof(double));
  read_doubles(ctx, tape, g, numbers);
  for (int i = 0; i < N * 10; i++) CHECK_NEAR(numbers[i], B, 0);
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_array_destroy(&x);
  lac_pattern_destroy(&p);
}

static void failed_derivatives_give_absent_vars(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;
  lac_var g = {12345}, dot = {12345};

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), y = lac_mul(tape, a, a);
  CHECK(lac_tape_vjp(tape, 1, &y, NULL, 1, &a, &g, LAC_GRAPH_NONE) == LAC_ERR_ARG);  // no seed
  CHECK_EQ(g.id, 0);
  CHECK(lac_tape_jvp(tape, 1, &a, &y, 1, &(lac_var){77}, &dot, LAC_GRAPH_NONE) == LAC_ERR_ABSENT);
  CHECK_EQ(dot.id, 0);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void calls_on_a_failed_tape_leave_its_sentence(lac_context *ctx) {
  lac_array *x = array_of(ctx, 3, 1, (double[]){1, 2, 3}), *y = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;
  char trace[512];

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), bad = lac_add(tape, a, lac_tape_leaf(tape, y));
  strncpy(trace, lac_context_trace(ctx), sizeof trace - 1);
  trace[sizeof trace - 1] = '\0';
  for (int i = 0; i < 10; i++) bad = lac_mul(tape, a, bad);
  CHECK_TEXT(lac_context_trace(ctx), trace);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "add: y has shape (2, 1)");
  CHECK_FAILS(lac_context_set_threads(ctx, -3), LAC_ERR_ARG, "threads is -3");  // another error, not of this tape
  CHECK_FAILS(lac_tape_vjp(tape, 1, &a, NULL, 1, &a, &bad, LAC_GRAPH_NONE), LAC_ERR_SHAPE, "add: y has shape");
  lac_context_clear_error(ctx);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "add: y has shape");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&y);
}

static void shapes_that_overflow_are_refused(lac_context *ctx) {
  lac_array *empty = NULL;
  lac_tape *tape = NULL;
  lac_meta huge = {.dtype = LAC_F64, .ndim = 2, .shape = {(int64_t)1 << 31, (int64_t)1 << 31}};

  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){0, 1}, &empty));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  CHECK_EQ(lac_broadcast(tape, lac_tape_scalar(tape, LAC_F64, 1, 0), &huge, LAC_AXES(-2, -1), false).id, 0);
  CHECK(lac_tape_status(tape) != LAC_OK);
  lac_tape_clear(tape);
  int64_t shape[3] = {0, (int64_t)1 << 40, (int64_t)1 << 40};
  CHECK_EQ(lac_reshape(tape, lac_tape_constant(tape, empty), 3, shape).id, 0);
  CHECK(lac_tape_status(tape) != LAC_OK);
  lac_tape_destroy(&tape);
  lac_array_destroy(&empty);
}

static lac_status identity_forward(lac_call *c) {
  (void)c;
  return LAC_ERR_NONFINITE;  // a code, and no sentence
}

/// Gives (1, n) where (n, 1) is asked for.
static void transposed_vjp(lac_rule *r) {
  r->in_bar[0] = lac_reshape(r->tape, r->out_bar[0], 2, (int64_t[]){r->in_meta[0].shape[1], r->in_meta[0].shape[0]});
}

static lac_status copy_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  double numbers[8];

  CHECK_OK(lac_array_read(ctx, c->in[0], numbers));
  return lac_array_write(ctx, c->out[0], numbers);
}

/// Reads an input that its mask does not name; makes a number of its own; hands out a var of nowhere.
static void greedy_vjp(lac_rule *r) { r->in_bar[0] = lac_mul(r->tape, r->in[0], r->out_bar[0]); }
static void inventing_vjp(lac_rule *r) {
  r->in_bar[0] = lac_mul(r->tape, r->out_bar[0], lac_tape_scalar(r->tape, LAC_F64, 2, 0));
}
static void wild_vjp(lac_rule *r) { r->in_bar[0] = (lac_var){999}; }

static void bad_rules_are_refused(lac_context *ctx) {
  void (*rules[3])(lac_rule *) = {greedy_vjp, inventing_vjp, wild_vjp};
  const char *words[3] = {"needs mask does not name", "rules emit operators", "not on its tape"};
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  for (int i = 0; i < 3; i++) {
    lac_op op = {
        .name = "bad", .signature = "()->()", .order = LAC_ANY_ORDER, .forward = copy_forward, .vjp = rules[i]};
    lac_var a = lac_tape_leaf(tape, x), y, g;
    CHECK_OK(lac_tape_call(tape, &(lac_spec){.op = &op}, &a, &y));
    lac_status status = lac_tape_vjp(tape, 1, &y, &a, 1, &a, &g, LAC_GRAPH_NONE);
    CHECK_FAILS(status, lac_context_status(ctx), words[i]);
    CHECK_EQ(g.id, 0);
    lac_tape_clear(tape);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static const lac_op op_bare = {.name = "bare", .signature = "()->()", .forward = identity_forward};
static const lac_op op_turned = {.name = "turned",
                                 .signature = "(n,k)->(n,k)",
                                 .order = LAC_ANY_ORDER,
                                 .forward = copy_forward,
                                 .vjp = transposed_vjp};

static void wrong_rules_and_bare_codes_are_named(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_map *none = NULL;
  lac_tape *tape = NULL;
  lac_var y, g;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x);
  CHECK_OK(lac_tape_call(tape, &(lac_spec){.op = &op_turned}, &a, &y));
  CHECK_FAILS(lac_tape_vjp(tape, 1, &y, &y, 1, &a, &g, LAC_GRAPH_NONE), LAC_ERR_SHAPE, "turned: its vjp rule gives");
  CHECK_EQ(g.id, 0);
  CHECK_FAILS(lac_tape_call(tape, &(lac_spec){.op = lac_op_find("mul"), .attrs.fit = 1}, (lac_var[]){a, a}, &y),
              LAC_ERR_ARG, "does not sum over a batch");
  lac_tape_clear(tape);
  CHECK(lac_map_create(ctx, -1, 0, NULL, &none) != LAC_OK);  // an older sentence
  a = lac_tape_leaf(tape, x);
  CHECK_FAILS(lac_tape_call(tape, &(lac_spec){.op = &op_bare}, &a, &y), LAC_ERR_NONFINITE, "no further word");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

/// (x, x), with tangents 2 x_dot and 3 x_dot so that they can be told apart.
static lac_status pair_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  double numbers[8];

  CHECK_OK(lac_array_read(ctx, c->in[0], numbers));
  CHECK_OK(lac_array_write(ctx, c->out[0], numbers));
  return lac_array_write(ctx, c->out[1], numbers);
}

static void pair_jvp(lac_rule *r) {
  r->out_dot[0] = lac_scale(r->tape, r->in_dot[0], 2, 0);
  r->out_dot[1] = lac_scale(r->tape, r->in_dot[0], 3, 0);
}

static const lac_op op_pair = {
    .name = "pair", .signature = "()->(),()", .order = LAC_ANY_ORDER, .forward = pair_forward, .jvp = pair_jvp};

static void a_given_tangent_is_not_added_to(lac_context *ctx) {
  lac_array *x = array_of(ctx, 1, 1, (double[]){5}), *one = array_of(ctx, 1, 1, (double[]){1});
  lac_tape *tape = NULL;
  lac_var y[2], dot;
  double tangent;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), unit = lac_tape_constant(tape, one);
  CHECK_OK(lac_tape_call(tape, &(lac_spec){.op = &op_pair}, &a, y));
  lac_var sum = lac_add(tape, y[0], y[1]);
  CHECK_OK(lac_tape_jvp(tape, 2, (lac_var[]){a, y[0]}, (lac_var[]){unit, unit}, 1, &sum, &dot, LAC_GRAPH_NONE));
  read_doubles(ctx, tape, dot, &tangent);
  CHECK_NEAR(tangent, 4, 0);  // 1 for y[0], as given, and 3
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&one);
}

/// What is made of several calls says it like a single one.
static void functions_without_a_tape_do_nothing(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_var none = {0};
  CHECK_OK(lac_pattern_eye(ctx, 2, 2, 0, LAC_WIDTH_AUTO, &p));
  CHECK(!lac_mul(NULL, none, none).id);
  CHECK(!lac_spadd(NULL, p, none, p, none, NULL).id);
  CHECK(!lac_kron(NULL, p, none, p, none, NULL).id);
  CHECK(!lac_kron_mm(NULL, p, none, p, none, none, LAC_PLAIN).id);
  CHECK(!lac_toeplitz_mm(NULL, none, none, none, LAC_PLAIN).id);
  CHECK(!lac_matrix_norm(NULL, p, none, LAC_NORM_2).id);
  CHECK(!lac_sparse_logsumexp(NULL, p, none, LAC_LINES_ROWS, LAC_ABSENT_IS_ZERO).id);
  CHECK(!lac_concat_all(NULL, 1, &none, -1).id);
  CHECK(!lac_prod(NULL, none, LAC_AXES(-1), false).id);
  lac_pattern_destroy(&p);
}

/// The sentence names the function, and the outputs of later calls are absent until lac_tape_clear.
static void a_list_of_results_that_is_null_fails_the_tape(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_solver *solver = NULL;
  lac_tape *tape = NULL;
  lac_array *values = NULL;

  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){2}, (double[]){2, 3}, LAC_OWNERSHIP_COPY, &values));
  CHECK_OK(lac_pattern_eye(ctx, 2, 2, 0, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_solver_create(ctx, p, NULL, &solver));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_slogdet(tape, solver, lac_tape_leaf(tape, values), NULL);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "slogdet: the list of results is NULL");
  CHECK(!lac_tape_leaf(tape, values).id);
  lac_tape_clear(tape);
  lac_lu(tape, p, lac_tape_leaf(tape, values), LAC_ORDER_AUTO, NULL, NULL);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "lu: the list of results is NULL");
  lac_tape_destroy(&tape);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&p);
  lac_array_destroy(&values);
}

CHECK_MAIN(tape_differentiates_a_quadratic, hessian_times_vector_is_the_same_three_ways,
           third_derivative_comes_from_the_same_rules, errors_stick_until_cleared, written_arrays_are_stale,
           absent_adjoints_are_absent, constants_are_not_differentiated, seeds_must_fit, seeds_are_not_written_to,
           released_vars_give_memory_back, lists_that_are_null_are_named, borrowed_memory_that_is_edited_is_stale,
           vars_of_another_tape_are_refused, shared_values_need_no_batch_of_gradients,
           failed_derivatives_give_absent_vars, calls_on_a_failed_tape_leave_its_sentence,
           shapes_that_overflow_are_refused, wrong_rules_and_bare_codes_are_named, a_given_tangent_is_not_added_to,
           bad_rules_are_refused, functions_without_a_tape_do_nothing, a_list_of_results_that_is_null_fails_the_tape)
