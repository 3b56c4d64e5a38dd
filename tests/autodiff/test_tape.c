// SPDX-License-Identifier: Apache-2.0
/// The tape: what it records, what it keeps, how it fails.

#include <string.h>

#include "support/check.h"
#include "support/scratch.h"

/// An array of doubles.
static lac_array *array_of(lac_context *ctx, int64_t rows, int64_t cols, const double *numbers) {
  lac_array *array = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){rows, cols}, (void *)numbers, LAC_COPY, &array));
  return array;
}

static void read_doubles(lac_context *ctx, const lac_tape *tape, lac_var var, double *out) {
  CHECK(lac_tape_value(tape, var));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, var), out));
}

/// A is [[1, 2, 0], [0, 0, 3]].
static lac_pattern *small_pattern(lac_context *ctx) {
  lac_pattern *pattern = NULL;
  CHECK_OK(lac_pattern_from_csr(ctx, 2, 3, LAC_I64, (int64_t[]){0, 2, 3}, (int64_t[]){0, 1, 2}, LAC_WIDTH_AUTO, &pattern, NULL));
  return pattern;
}

static void tape_differentiates_a_quadratic(lac_context *ctx) {
  // loss = |A x|^2: a_bar = 2 (A x)[row] x[col], x_bar = 2 A^T A x
  lac_pattern *p = small_pattern(ctx);
  lac_array *a = NULL, *x = array_of(ctx, 3, 1, (double[]){1, -1, 2});
  lac_tape *tape = NULL;
  double a_bar[3], x_bar[3], loss;

  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, (double[]){1, 2, 3}, LAC_COPY, &a));
  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var in[2] = {lac_tape_leaf(tape, a), lac_tape_leaf(tape, x)}, bar[2];
  lac_var y = lac_spmm(tape, p, LAC_N, in[0], in[1]), s = lac_dot(tape, y, y);
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 2, in, bar, LAC_PLAIN));
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

  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  for (int way = 0; way < 3; way++) {
    lac_tape_clear(tape);
    lac_var in = lac_tape_leaf(tape, x), dot = lac_tape_constant(tape, v), y = fourth_power(tape, in), g, s, hv;
    if (way == 0) {  // forward over reverse
      CHECK_OK(lac_tape_vjp(tape, 1, &y, NULL, 1, &in, &g, LAC_CREATE_GRAPH));
      CHECK_OK(lac_tape_jvp(tape, 1, &in, &dot, 1, &g, &hv, LAC_PLAIN));
    } else if (way == 1) {  // reverse over forward
      CHECK_OK(lac_tape_jvp(tape, 1, &in, &dot, 1, &y, &s, LAC_CREATE_GRAPH));
      CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 1, &in, &hv, LAC_PLAIN));
    } else {  // reverse over reverse
      CHECK_OK(lac_tape_vjp(tape, 1, &y, NULL, 1, &in, &g, LAC_CREATE_GRAPH));
      CHECK_OK(lac_tape_vjp(tape, 1, &g, &dot, 1, &in, &hv, LAC_PLAIN));
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

  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var in = lac_tape_leaf(tape, x), d = fourth_power(tape, in);
  for (int order = 0; order < 3; order++) CHECK_OK(lac_tape_vjp(tape, 1, &d, NULL, 1, &in, &d, LAC_CREATE_GRAPH));
  read_doubles(ctx, tape, d, &third);
  CHECK_NEAR(third, 72, 1e-14);  // 24 x
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void errors_stick_until_cleared(lac_context *ctx) {
  lac_array *x = array_of(ctx, 3, 1, (double[]){1, 2, 3}), *y = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), b = lac_tape_leaf(tape, y);
  lac_var bad = lac_add(tape, a, b);
  CHECK_EQ(bad.id, 0);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "add: input 1 has shape (2, 1)");
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

static void written_arrays_are_stale(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;
  lac_var g;

  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), s = lac_dot(tape, a, a);
  CHECK_OK(lac_array_write(ctx, x, (double[]){5, 6}));
  CHECK_FAILS(lac_tape_vjp(tape, 1, &s, NULL, 1, &a, &g, LAC_PLAIN), LAC_ERR_STALE, "written to after it came onto the tape");
  CHECK_OK(lac_tape_status(tape));  // a failed derivative leaves the tape as it was
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void absent_adjoints_are_absent(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var in[2] = {lac_tape_leaf(tape, x), lac_tape_leaf(tape, x)}, bar[2], s = lac_dot(tape, in[0], in[0]);
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 2, in, bar, LAC_PLAIN));
  CHECK(bar[0].id);
  CHECK_EQ(bar[1].id, 0);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void constants_are_not_differentiated(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;
  lac_var g;

  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var c = lac_tape_constant(tape, x), s = lac_dot(tape, c, c);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &s, NULL, 1, &c, &g, LAC_PLAIN), LAC_ERR_ARG, "does not depend on a leaf");
  lac_tape_destroy(&tape);
  CHECK_OK(lac_tape_create(ctx, LAC_RUN, &tape));
  c = lac_tape_leaf(tape, x), s = lac_dot(tape, c, c);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &s, NULL, 1, &c, &g, LAC_PLAIN), LAC_ERR_ARG, "does not record");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void seeds_must_fit(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2}), *w = array_of(ctx, 1, 2, (double[]){1, 2});
  lac_tape *tape = NULL;
  lac_var g;

  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), y = lac_mul(tape, a, a), seed = lac_tape_constant(tape, w);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &y, NULL, 1, &a, &g, LAC_PLAIN), LAC_ERR_ARG, "no seed");
  CHECK_FAILS(lac_tape_vjp(tape, 1, &y, &seed, 1, &a, &g, LAC_PLAIN), LAC_ERR_SHAPE, "seed 0");
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

  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), y = lac_add(tape, a, a), seed = lac_tape_constant(tape, w);
  CHECK_OK(lac_tape_vjp(tape, 1, &y, &seed, 1, &a, &g, LAC_PLAIN));
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
  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), b = lac_add(tape, a, a), c = lac_mul(tape, b, b), s = lac_sum(tape, c), g;
  int64_t before = lac_memory_get_stats(check_backend()).live_bytes;
  lac_tape_release(tape, c);  // no rule reads it
  int64_t after = lac_memory_get_stats(check_backend()).live_bytes;
  CHECK(before - after >= 80000);
  CHECK(!lac_tape_value(tape, c));
  lac_tape_release(tape, b);  // mul's rule reads it: kept, and the gradient still works
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 1, &a, &g, LAC_PLAIN));
  double *numbers = scratch((10000) * sizeof(double));
  read_doubles(ctx, tape, g, numbers);
  CHECK_NEAR(numbers[0], 16, 0);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void vars_of_another_tape_are_refused(lac_context *ctx) {
  lac_array *x = array_of(ctx, 2, 1, (double[]){1, 2});
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x), stranger = {a.id + 100};
  CHECK_EQ(lac_mul(tape, a, stranger).id, 0);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ABSENT, "of another tape");
  lac_tape_clear(tape);
  a = lac_tape_leaf(tape, x);
  CHECK_EQ(lac_mul(tape, a, (lac_var){0}).id, 0);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ABSENT, "input 1 is absent");
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
  CHECK_OK(lac_tape_create(ctx, LAC_RECORD, &tape));
  lac_var va = lac_tape_leaf(tape, a), y = lac_spmm(tape, p, LAC_N, va, lac_tape_constant(tape, x)), s = lac_sum(tape, y);
  lac_memory_reset_peak(check_backend());
  int64_t before = lac_memory_get_stats(check_backend()).live_bytes;
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 1, &va, &g, LAC_PLAIN));
  int64_t peak = lac_memory_get_stats(check_backend()).peak_bytes - before;
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

CHECK_MAIN(tape_differentiates_a_quadratic, hessian_times_vector_is_the_same_three_ways,
           third_derivative_comes_from_the_same_rules, errors_stick_until_cleared, written_arrays_are_stale,
           absent_adjoints_are_absent, constants_are_not_differentiated, seeds_must_fit, seeds_are_not_written_to,
           released_vars_give_memory_back, vars_of_another_tape_are_refused, shared_values_need_no_batch_of_gradients)
