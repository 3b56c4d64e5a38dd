// SPDX-License-Identifier: Apache-2.0
/// Optimisers: known minima are found, Adam and momentum equal their textbook, and whatever goes wrong is in the
/// report.

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"

#undef I

static lac_array *array_of(lac_context *ctx, lac_dtype dtype, int64_t count, const void *numbers) {
  lac_array *array = NULL;
  CHECK_OK(lac_array_from(ctx, dtype, 2, (int64_t[]){count, 1}, (void *)numbers, LAC_OWNERSHIP_COPY, &array));
  return array;
}

// -- Rosenbrock's valley, written by hand ----------------------------------------------------------------------------

typedef struct valley {
  enum { HONEST, NAN_AT_START, UPHILL, FAILS_LATER, NAN_BEYOND, GROWS_NAN } kind;
  int calls;
} valley;

/// f = sum 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2 over the numbers of all arrays in a row.
static lac_status rosenbrock(lac_context *ctx, void *data, int count, lac_array *const *x, double *value,
                             lac_array **gradient) {
  enum { MOST = 64 };
  valley *v = data;
  double at[MOST] = {0}, g[MOST] = {0};
  int n = 0;

  if (++v->calls > 3 && v->kind == FAILS_LATER) return LAC_ERR_CONVERGENCE;
  for (int a = 0; a < count; n += (int)lac_array_count(x[a++])) {
    lac_status status = lac_array_read(ctx, x[a], at + n);
    if (status != LAC_OK) return status;
  }
  *value = 0;
  for (int i = 0; i + 1 < n; i++) {
    double off = at[i + 1] - at[i] * at[i], away = 1 - at[i];
    *value += 100 * off * off + away * away;
    g[i + 1] += 200 * off;
    g[i] += -400 * off * at[i] - 2 * away;
  }
  if (v->kind == NAN_AT_START || (v->kind == GROWS_NAN && v->calls > 3)) *value = NAN;
  if (v->kind == NAN_BEYOND && (at[0] < -1.3 || at[0] > 1.3)) *value = NAN;
  for (int i = 0; i < n && v->kind == UPHILL; i++) g[i] = -g[i];
  for (int a = 0, i = 0; a < count; i += (int)lac_array_count(x[a++])) {
    const lac_meta *meta = lac_array_meta(x[a]);
    lac_status status = lac_array_from(ctx, LAC_F64, meta->ndim, meta->shape, g + i, LAC_OWNERSHIP_COPY, &gradient[a]);
    if (status != LAC_OK) return status;
  }
  return LAC_OK;
}

static void lbfgs_walks_down_rosenbrocks_valley(lac_context *ctx) {
  for (int parts = 1; parts <= 2; parts++) {  // one array of 10 numbers, or two
    double start[10] = {-1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1}, x[10];
    lac_array *arrays[2] = {array_of(ctx, LAC_F64, parts == 1 ? 10 : 4, start), array_of(ctx, LAC_F64, 6, start + 4)};
    lac_optimise_report report = {0};
    valley v = {HONEST, 0};

    CHECK_OK(lac_minimise(ctx, NULL, parts, arrays, rosenbrock, &v, &report));
    CHECK_EQ(report.outcome, LAC_OUTCOME_SMALL_GRADIENT);
    CHECK(strstr(report.reason, "converged"));
    CHECK(report.iterations > 5 && report.iterations < 100);
    CHECK_EQ(report.evaluations, v.calls);
    CHECK(report.evaluations < 2 * report.iterations);
    CHECK(report.gradient_norm <= 1e-8 * report.first_gradient_norm);
    CHECK_OK(lac_array_read(ctx, arrays[0], x));
    CHECK_OK(lac_array_read(ctx, arrays[1], x + 4));
    if (parts == 1) CHECK_OK(lac_array_read(ctx, arrays[0], x));
    for (int i = 0; i < 10; i++) CHECK_NEAR(x[i], 1, 1e-6);
    for (int i = 0; i < 2; i++) lac_array_destroy(&arrays[i]);
  }
}

static void points_that_are_not_finite_are_stepped_back_from(lac_context *ctx) {
  double start[2] = {-1.2, 1}, x[2];
  lac_array *at = array_of(ctx, LAC_F64, 2, start);
  lac_optimise_report report = {0};
  valley v = {NAN_BEYOND, 0};

  CHECK_OK(lac_minimise(ctx, NULL, 1, &at, rosenbrock, &v, &report));
  CHECK_EQ(report.outcome, LAC_OUTCOME_SMALL_GRADIENT);
  CHECK_OK(lac_array_read(ctx, at, x));
  CHECK_NEAR(x[0], 1, 1e-6);
  lac_array_destroy(&at);
}

static int stop_at_third(void *data, const lac_optimise_report *report) {
  ++*(int *)data;
  return report->iterations == 3;
}

static void every_end_is_in_the_report(lac_context *ctx) {
  double start[2] = {-1.2, 1}, x[2];
  lac_optimise_options options = lac_optimise_options_defaults();
  lac_optimise_report report = {0};
  lac_array *at = array_of(ctx, LAC_F64, 2, start);
  valley v = {NAN_AT_START, 0};
  int seen = 0;

  CHECK_FAILS(lac_minimise(ctx, &options, 1, &at, rosenbrock, &v, &report), LAC_ERR_NONFINITE, "value is not finite");
  CHECK_EQ(report.outcome, LAC_OUTCOME_NOT_FINITE);
  v = (valley){UPHILL, 0};
  CHECK_OK(lac_minimise(ctx, &options, 1, &at, rosenbrock, &v, &report));
  CHECK_EQ(report.outcome, LAC_OUTCOME_NO_DECREASE);
  CHECK(strstr(report.reason, "not converged"));
  v = (valley){HONEST, 0}, options.max_iterations = 4;
  CHECK_OK(lac_minimise(ctx, &options, 1, &at, rosenbrock, &v, &report));
  CHECK_EQ(report.outcome, LAC_OUTCOME_MAX_ITERATIONS);
  CHECK_EQ(report.iterations, 4);
  CHECK(report.value < report.first_value);
  options.max_iterations = 1000, options.max_evaluations = 5;
  CHECK_OK(lac_minimise(ctx, &options, 1, &at, rosenbrock, &v, &report));
  CHECK_EQ(report.outcome, LAC_OUTCOME_MAX_EVALUATIONS);
  options.max_evaluations = 0, options.progress = stop_at_third, options.progress_data = &seen;
  CHECK_OK(lac_minimise(ctx, &options, 1, &at, rosenbrock, &v, &report));
  CHECK_EQ(report.outcome, LAC_OUTCOME_STOPPED);
  CHECK_EQ(seen, 3);
  options.progress = NULL, options.value_tolerance = 0.5;
  CHECK_OK(lac_array_write(ctx, at, start));
  CHECK_OK(lac_minimise(ctx, &options, 1, &at, rosenbrock, &v, &report));
  CHECK_EQ(report.outcome, LAC_OUTCOME_SMALL_DECREASE);

  CHECK_OK(lac_array_write(ctx, at, start));
  v = (valley){FAILS_LATER, 0};
  CHECK_FAILS(lac_minimise(ctx, NULL, 1, &at, rosenbrock, &v, &report), LAC_ERR_CONVERGENCE, "objective returned");
  CHECK_EQ(report.outcome, LAC_OUTCOME_OBJECTIVE_FAILED);
  CHECK_OK(lac_array_read(ctx, at, x));
  CHECK(100 * pow(x[1] - x[0] * x[0], 2) + pow(1 - x[0], 2) <= report.first_value);  // x is an accepted point
  v = (valley){GROWS_NAN, 0}, options.method = LAC_OPTIMISE_ADAM, options.value_tolerance = 0;
  CHECK_FAILS(lac_minimise(ctx, &options, 1, &at, rosenbrock, &v, &report), LAC_ERR_NONFINITE, "after 3 steps");
  CHECK_EQ(report.outcome, LAC_OUTCOME_NOT_FINITE);
  lac_array_destroy(&at);
}

static void bad_arguments_are_refused(lac_context *ctx) {
  lac_optimise_options options = lac_optimise_options_defaults();
  lac_optimise_report report = {0};
  lac_optimiser *optimiser = NULL;
  lac_array *at = array_of(ctx, LAC_F64, 2, (double[]){1, 2}), *three = array_of(ctx, LAC_F64, 3, (double[]){1, 2, 3});
  const lac_array *wrong = three, *same = at;
  lac_array *none = NULL;
  valley v = {HONEST, 0};

  CHECK_FAILS(lac_minimise(ctx, NULL, 1, &at, rosenbrock, &v, NULL), LAC_ERR_ARG, "report is NULL");
  CHECK_FAILS(lac_minimise(ctx, NULL, 0, &at, rosenbrock, &v, &report), LAC_ERR_ARG, "no arrays");
  CHECK_FAILS(lac_minimise(ctx, NULL, 1, &none, rosenbrock, &v, &report), LAC_ERR_ARG, "array 0 is NULL");
  options.curvature = 2;
  CHECK_FAILS(lac_minimise(ctx, &options, 1, &at, rosenbrock, &v, &report), LAC_ERR_ARG, "curvature 2");
  CHECK_FAILS(lac_optimiser_create(ctx, &options, 1, &at, &optimiser), LAC_ERR_ARG, "not a first-order");
  options.method = LAC_OPTIMISE_ADAM, options.beta2 = 1;
  CHECK_FAILS(lac_optimiser_create(ctx, &options, 1, &at, &optimiser), LAC_ERR_ARG, "beta2 1");
  options.beta2 = 0.999, options.epsilon = NAN;
  CHECK_FAILS(lac_optimiser_create(ctx, &options, 1, &at, &optimiser), LAC_ERR_ARG, "epsilon nan");
  options.method = LAC_OPTIMISE_GRADIENT_DESCENT, options.rate = NAN;
  CHECK_FAILS(lac_optimiser_create(ctx, &options, 1, &at, &optimiser), LAC_ERR_ARG, "not finite");
  options.rate = 0.1;
  CHECK_OK(lac_optimiser_create(ctx, &options, 1, &at, &optimiser));
  CHECK_FAILS(lac_optimiser_step(optimiser, &wrong), LAC_ERR_SHAPE, "gradient 0 is f64 (3, 1)");
  CHECK_FAILS(lac_optimiser_step(optimiser, &same), LAC_ERR_ARG, "shares its memory");
  CHECK_FAILS(lac_optimiser_set_rate(optimiser, INFINITY), LAC_ERR_ARG, "not finite");
  lac_optimiser_destroy(&optimiser);
  lac_array_destroy(&at);
  lac_array_destroy(&three);
}

// -- quadratics on the tape ------------------------------------------------------------------------------------------

/// f = x^H A x - 2 Re b^H x with A = tridiag(-i, 3, i) or tridiag(-1, 3, -1): the minimum solves A x = b.
typedef struct quadratic {
  lac_tape *tape;
  lac_pattern *pattern;
  lac_array *a, *b;
} quadratic;

static lac_status quadratic_loss(lac_context *ctx, void *data, int count, lac_array *const *x, double *value,
                                 lac_array **gradient) {
  const quadratic *q = data;
  lac_tape *tape = q->tape;

  (void)ctx;
  lac_tape_clear(tape);
  lac_var leaf = lac_tape_leaf(tape, x[0]), b = lac_tape_constant(tape, q->b);
  lac_var ax = lac_spmm(tape, q->pattern, lac_tape_constant(tape, q->a), leaf, LAC_PLAIN);
  lac_var cross = lac_add(tape, lac_dot(tape, b, leaf), lac_dot(tape, leaf, b));
  return lac_tape_gradient(tape, lac_sub(tape, lac_dot(tape, leaf, ax), cross), count, &leaf, value, gradient);
}

enum { N = 12, NNZ = 3 * N - 2 };

static void pack(lac_dtype dtype, const double complex *from, int64_t count, void *to) {
  for (int64_t i = 0; i < count; i++) {
    if (dtype == LAC_F32) ((float *)to)[i] = (float)creal(from[i]);
    if (dtype == LAC_F64) ((double *)to)[i] = creal(from[i]);
    if (dtype == LAC_C64) ((float complex *)to)[i] = (float complex)from[i];
    if (dtype == LAC_C128) ((double complex *)to)[i] = from[i];
  }
}

static void quadratic_open(lac_context *ctx, lac_dtype dtype, quadratic *q) {
  double complex a[NNZ], b[N], room[NNZ];
  int64_t row[NNZ], col[NNZ];
  int z = 0;

  for (int i = 0; i < N; i++) {
    b[i] = (1 + i % 3) + (dtype >= LAC_C64 ? (2 - i % 5) * _Complex_I : 0);
    for (int j = i ? i - 1 : 0; j <= i + 1 && j < N; j++, z++) {
      row[z] = i, col[z] = j;
      a[z] = i == j ? 3 : dtype >= LAC_C64 ? (j - i) * _Complex_I : -1;
    }
  }
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, NNZ, LAC_I64, row, col, LAC_WIDTH_AUTO, &q->pattern, NULL));
  pack(dtype, a, NNZ, room);
  CHECK_OK(lac_array_from(ctx, dtype, 1, (int64_t[]){NNZ}, room, LAC_OWNERSHIP_COPY, &q->a));
  pack(dtype, b, N, room);
  q->b = array_of(ctx, dtype, N, room);
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &q->tape));
}

static void quadratic_close(quadratic *q) {
  lac_tape_destroy(&q->tape);
  lac_array_destroy(&q->a);
  lac_array_destroy(&q->b);
  lac_pattern_destroy(&q->pattern);
}

/// |A x - b|^2 / |b|^2, from the tape that only runs.
static double quadratic_residual(lac_context *ctx, const quadratic *q, const lac_array *x) {
  lac_tape *run = NULL;
  double up[2] = {0}, down[2] = {0};
  float up32, down32;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &run));
  lac_var b = lac_tape_constant(run, q->b);
  lac_var r =
      lac_sub(run, lac_spmm(run, q->pattern, lac_tape_constant(run, q->a), lac_tape_constant(run, x), LAC_PLAIN), b);
  CHECK_OK(lac_array_read(ctx, lac_tape_value(run, lac_dot(run, r, r)), up));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(run, lac_dot(run, b, b)), down));
  memcpy(&up32, up, sizeof up32), memcpy(&down32, down, sizeof down32);
  lac_dtype dtype = lac_array_meta(x)->dtype;
  lac_tape_destroy(&run);
  return dtype == LAC_F32 || dtype == LAC_C64 ? (double)(up32 / down32) : up[0] / down[0];
}

static void every_method_solves_a_quadratic_of_every_dtype(lac_context *ctx) {
  for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; dtype++) {
    for (lac_optimise_method method = LAC_OPTIMISE_LBFGS; method <= LAC_OPTIMISE_ADAM; method++) {
      bool is_single = dtype == LAC_F32 || dtype == LAC_C64;
      quadratic q = {.tape = NULL};
      lac_optimise_options options = lac_optimise_options_defaults();
      lac_optimise_report report = {0};
      lac_array *x = NULL;

      quadratic_open(ctx, dtype, &q);
      CHECK_OK(lac_array_create(ctx, dtype, 2, (int64_t[]){N, 1}, &x));
      CHECK_OK(lac_array_fill(ctx, x, 0, 0));
      options.method = method, options.rate = method == LAC_OPTIMISE_ADAM ? 0.05 : 0.1, options.momentum = 0.3;
      options.gradient_tolerance = is_single ? 1e-4 : 1e-9, options.max_iterations = 5000;
      CHECK_OK(lac_minimise(ctx, &options, 1, &x, quadratic_loss, &q, &report));
      CHECK_EQ(report.outcome, LAC_OUTCOME_SMALL_GRADIENT);
      CHECK(quadratic_residual(ctx, &q, x) < (is_single ? 1e-8 : 1e-17));
      if (method == LAC_OPTIMISE_LBFGS) CHECK(report.iterations < 40);
      lac_array_destroy(&x);
      quadratic_close(&q);
    }
  }
}

static void a_step_makes_what_was_recorded_stale(lac_context *ctx) {
  quadratic q = {.tape = NULL};
  lac_optimise_options options = lac_optimise_options_defaults();
  lac_optimiser *optimiser = NULL;
  lac_array *x = NULL, *g = NULL;
  double value;

  quadratic_open(ctx, LAC_F64, &q);
  CHECK_OK(lac_array_clone(ctx, q.b, &x));
  options.method = LAC_OPTIMISE_GRADIENT_DESCENT;
  CHECK_OK(lac_optimiser_create(ctx, &options, 1, &x, &optimiser));
  CHECK_OK(quadratic_loss(ctx, &q, 1, &x, &value, &g));
  lac_var leaf = lac_tape_leaf(q.tape, x), y = lac_dot(q.tape, leaf, leaf), bar;
  CHECK_OK(lac_optimiser_step(optimiser, (const lac_array *const *)&g));
  CHECK_FAILS(lac_tape_vjp(q.tape, 1, &y, NULL, 1, &leaf, &bar, LAC_GRAPH_NONE), LAC_ERR_STALE, "written to");
  lac_optimiser_destroy(&optimiser);
  lac_array_destroy(&g);
  lac_array_destroy(&x);
  quadratic_close(&q);
}

// -- logistic regression, written by hand ----------------------------------------------------------------------------

enum { SAMPLES = 40, FEATURES = 3 };

static lac_status logistic(lac_context *ctx, void *data, int count, lac_array *const *x, double *value,
                           lac_array **gradient) {
  const double(*sample)[FEATURES + 1] = data;  // features, then the label +-1
  double w[FEATURES], g[FEATURES];
  lac_status status = lac_array_read(ctx, x[0], w);

  (void)count;
  *value = 0;
  for (int f = 0; f < FEATURES; f++) *value += 0.05 * w[f] * w[f], g[f] = 0.1 * w[f];
  for (int s = 0; s < SAMPLES; s++) {
    double margin = 0;
    for (int f = 0; f < FEATURES; f++) margin += w[f] * sample[s][f] * sample[s][FEATURES];
    *value += log1p(exp(-margin));
    for (int f = 0; f < FEATURES; f++) g[f] -= sample[s][f] * sample[s][FEATURES] / (1 + exp(margin));
  }
  return status == LAC_OK ? lac_array_from(ctx, LAC_F64, 2, (int64_t[]){FEATURES, 1}, g, LAC_OWNERSHIP_COPY, gradient)
                          : status;
}

static void logistic_regression_has_one_minimum_for_all_methods(lac_context *ctx) {
  double sample[SAMPLES][FEATURES + 1], w[3][FEATURES];
  random_state r = random_start(9);

  for (int s = 0; s < SAMPLES; s++) {
    for (int f = 0; f < FEATURES; f++) sample[s][f] = random_unit(&r);
    sample[s][FEATURES] = sample[s][0] - 0.5 * sample[s][1] + 0.5 * random_unit(&r) > 0 ? 1 : -1;
  }
  for (lac_optimise_method method = LAC_OPTIMISE_LBFGS; method <= LAC_OPTIMISE_ADAM; method++) {
    lac_optimise_options options = lac_optimise_options_defaults();
    lac_optimise_report report = {0};
    lac_array *x = array_of(ctx, LAC_F64, FEATURES, (double[FEATURES]){0});
    options.method = method, options.rate = method == LAC_OPTIMISE_ADAM ? 0.1 : 0.02, options.momentum = 0.9;
    options.max_iterations = 20000, options.gradient_tolerance = 1e-10;
    CHECK_OK(lac_minimise(ctx, &options, 1, &x, logistic, sample, &report));
    CHECK_EQ(report.outcome, LAC_OUTCOME_SMALL_GRADIENT);
    CHECK_OK(lac_array_read(ctx, x, w[method]));
    for (int f = 0; f < FEATURES; f++) CHECK_NEAR(w[method][f], w[0][f], 1e-6);
    lac_array_destroy(&x);
  }
}

// -- textbooks -------------------------------------------------------------------------------------------------------

static void adam_equals_its_textbook(lac_context *ctx) {
  enum { COUNT = 5, STEPS = 30 };
  for (int kind = 0; kind < 3; kind++) {  // no decay, coupled, decoupled
    double x[COUNT] = {1, -2, 3, 0.5, 0}, m[COUNT] = {0}, v[COUNT] = {0}, g[COUNT], got[COUNT];
    double rate = 0.1, b1 = 0.8, b2 = 0.95, eps = 1e-3, decay = kind ? 0.3 : 0;
    lac_optimise_options o = lac_optimise_options_defaults();
    lac_optimiser *optimiser = NULL;
    lac_array *array = array_of(ctx, LAC_F64, COUNT, x);
    random_state r = random_start(3);

    o.method = LAC_OPTIMISE_ADAM, o.rate = rate, o.beta1 = b1, o.beta2 = b2, o.epsilon = eps, o.decay = decay;
    o.decay_kind = kind == 2 ? LAC_DECAY_DECOUPLED : LAC_DECAY_COUPLED;
    CHECK_OK(lac_optimiser_create(ctx, &o, 1, &array, &optimiser));
    for (int t = 1; t <= STEPS; t++) {
      for (int i = 0; i < COUNT; i++) g[i] = t == 7 ? 0 : random_unit(&r);
      lac_array *gradient = t == 7 ? NULL : array_of(ctx, LAC_F64, COUNT, g);  // absent is zero
      if (t == 20) CHECK_OK(lac_optimiser_set_rate(optimiser, rate = 0.01));
      CHECK_OK(lac_optimiser_step(optimiser, (const lac_array *const *)&gradient));
      lac_array_destroy(&gradient);
      for (int i = 0; i < COUNT; i++) {
        double slope = g[i] + (kind == 1 ? decay * x[i] : 0);
        if (kind == 2) x[i] -= rate * decay * x[i];
        m[i] = b1 * m[i] + (1 - b1) * slope;
        v[i] = b2 * v[i] + (1 - b2) * slope * slope;
        x[i] -= rate * (m[i] / (1 - pow(b1, t))) / (sqrt(v[i] / (1 - pow(b2, t))) + eps);
      }
    }
    CHECK_OK(lac_array_read(ctx, array, got));
    for (int i = 0; i < COUNT; i++) CHECK_NEAR(got[i], x[i], 1e-13);
    lac_optimiser_destroy(&optimiser);
    lac_array_destroy(&array);
  }
}

static void adam_takes_complex_numbers_as_two_reals_and_single_precision(lac_context *ctx) {
  enum { COUNT = 6 };
  double x[COUNT] = {1, -2, 3, 0.5, 0.25, -1}, g[COUNT] = {0.5, 0.25, -1, 1, 0.125, 2}, got[2][COUNT];
  float x32[COUNT], g32[COUNT], got32[COUNT];
  lac_optimise_options o = lac_optimise_options_defaults();
  lac_array *arrays[3], *gradients[3];

  for (int i = 0; i < COUNT; i++) x32[i] = (float)x[i], g32[i] = (float)g[i];
  arrays[0] = array_of(ctx, LAC_F64, COUNT, x), gradients[0] = array_of(ctx, LAC_F64, COUNT, g);
  arrays[1] = array_of(ctx, LAC_C128, COUNT / 2, x), gradients[1] = array_of(ctx, LAC_C128, COUNT / 2, g);
  arrays[2] = array_of(ctx, LAC_C64, COUNT / 2, x32), gradients[2] = array_of(ctx, LAC_C64, COUNT / 2, g32);
  o.method = LAC_OPTIMISE_ADAM, o.rate = 0.125, o.decay = 0.5, o.decay_kind = LAC_DECAY_DECOUPLED;
  lac_optimiser *optimiser = NULL;
  CHECK_OK(lac_optimiser_create(ctx, &o, 3, arrays, &optimiser));
  for (int t = 0; t < 9; t++) CHECK_OK(lac_optimiser_step(optimiser, (const lac_array *const *)gradients));
  for (int i = 0; i < 2; i++) CHECK_OK(lac_array_read(ctx, arrays[i], got[i]));
  CHECK_OK(lac_array_read(ctx, arrays[2], got32));
  CHECK(memcmp(got[0], got[1], sizeof got[0]) == 0);
  for (int i = 0; i < COUNT; i++) CHECK_NEAR(got32[i], got[0][i], 1e-5);
  for (int i = 0; i < 3; i++) lac_array_destroy(&arrays[i]), lac_array_destroy(&gradients[i]);
  lac_optimiser_destroy(&optimiser);
}

static void momentum_equals_its_textbook(lac_context *ctx) {
  enum { COUNT = 4 };
  for (int kind = 0; kind < 6; kind++) {
    double x[COUNT] = {1, -2, 3, 0.5}, v[COUNT] = {0}, g[COUNT] = {0.5, 1, -0.25, 2}, got[COUNT];
    double momentum = kind % 2 ? 0.75 : 0, decay = kind >= 2 ? 0.25 : 0, rate = 0.125;
    lac_optimise_options o = lac_optimise_options_defaults();
    lac_array *array = array_of(ctx, LAC_F64, COUNT, x), *gradient = array_of(ctx, LAC_F64, COUNT, g);
    lac_optimiser *optimiser = NULL;

    o.method = LAC_OPTIMISE_GRADIENT_DESCENT, o.rate = rate, o.momentum = momentum, o.decay = decay;
    o.decay_kind = kind >= 4 ? LAC_DECAY_DECOUPLED : LAC_DECAY_COUPLED;
    CHECK_OK(lac_optimiser_create(ctx, &o, 1, &array, &optimiser));
    for (int t = 0; t < 8; t++) {
      CHECK_OK(lac_optimiser_step(optimiser, (const lac_array *const *)&gradient));
      for (int i = 0; i < COUNT; i++) {
        v[i] = momentum * v[i] + g[i] + (kind < 4 ? decay * x[i] : 0);
        if (kind >= 4) x[i] -= rate * decay * x[i];
        x[i] -= rate * v[i];
      }
    }
    CHECK_OK(lac_array_read(ctx, array, got));
    for (int i = 0; i < COUNT; i++) CHECK_NEAR(got[i], x[i], 1e-14);
    lac_optimiser_destroy(&optimiser);
    lac_array_destroy(&array);
    lac_array_destroy(&gradient);
  }
}

static void adam_gives_the_same_bits_on_any_number_of_threads(lac_context *ctx) {
  enum { COUNT = 150001 };
  float *start = scratch(COUNT * sizeof *start), *slope = scratch(COUNT * sizeof *slope), *got[2];
  random_state r = random_start(11);

  for (int i = 0; i < COUNT; i++) start[i] = (float)random_unit(&r), slope[i] = (float)random_unit(&r);
  for (int threads = 1; threads <= 2; threads++) {
    lac_optimise_options o = lac_optimise_options_defaults();
    lac_array *x = array_of(ctx, LAC_F32, COUNT, start), *g = array_of(ctx, LAC_F32, COUNT, slope);
    lac_optimiser *optimiser = NULL;

    o.method = LAC_OPTIMISE_ADAM, o.decay = 0.1;
    CHECK_OK(lac_context_set_threads(ctx, threads));
    CHECK_OK(lac_optimiser_create(ctx, &o, 1, &x, &optimiser));
    for (int t = 0; t < 3; t++) CHECK_OK(lac_optimiser_step(optimiser, (const lac_array *const *)&g));
    got[threads - 1] = scratch(COUNT * sizeof **got);
    CHECK_OK(lac_array_read(ctx, x, got[threads - 1]));
    lac_optimiser_destroy(&optimiser);
    lac_array_destroy(&x);
    lac_array_destroy(&g);
  }
  CHECK(memcmp(got[0], got[1], COUNT * sizeof **got) == 0);
}

// -- memory ----------------------------------------------------------------------------------------------------------

static void every_failing_allocation_is_told_and_nothing_leaks(lac_context *ctx) {
  quadratic q = {.tape = NULL};
  lac_array *x = NULL;

  quadratic_open(ctx, LAC_F64, &q);
  CHECK_OK(lac_array_clone(ctx, q.b, &x));
  lac_tape_clear(q.tape);
  long long before = -1;
  for (lac_optimise_method method = LAC_OPTIMISE_LBFGS; method <= LAC_OPTIMISE_ADAM; method++) {
    lac_optimise_options options = lac_optimise_options_defaults();
    lac_optimise_report report = {0};

    options.method = method, options.max_iterations = 3, options.memory = 2, options.momentum = 0.5;
    for (int64_t n = 0;; n += 1 + n / 32) {
      CHECK_OK(lac_array_fill(ctx, x, 0.5, 0));
      lac_memory_fail_at(n);
      lac_status status = lac_minimise(ctx, &options, 1, &x, quadratic_loss, &q, &report);
      bool is_reached = n && lac_memory_fail_at(0) >= n;
      lac_tape_clear(q.tape);
      if (before < 0) before = check_live_blocks();  // caches of structure are filled
      CHECK_EQ(check_live_blocks(), before);
      CHECK_EQ(status, is_reached ? LAC_ERR_MEMORY : LAC_OK);
      if (is_reached) CHECK_EQ(report.outcome, LAC_OUTCOME_OBJECTIVE_FAILED);
      if (n && !is_reached) break;
    }
  }
  lac_array_destroy(&x);
  quadratic_close(&q);
}

CHECK_MAIN(lbfgs_walks_down_rosenbrocks_valley, points_that_are_not_finite_are_stepped_back_from,
           every_end_is_in_the_report, bad_arguments_are_refused, every_method_solves_a_quadratic_of_every_dtype,
           a_step_makes_what_was_recorded_stale, logistic_regression_has_one_minimum_for_all_methods,
           adam_equals_its_textbook, adam_takes_complex_numbers_as_two_reals_and_single_precision,
           momentum_equals_its_textbook, adam_gives_the_same_bits_on_any_number_of_threads,
           every_failing_allocation_is_told_and_nothing_leaks)
