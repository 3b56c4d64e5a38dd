// SPDX-License-Identifier: Apache-2.0
/// The public gradient check where numbers are uncertain: solves that magnify roundings, and solves that end at a
/// tolerance. Right derivatives pass with the defaults, wrong ones are found, and what cannot be judged is not judged.
///
/// The matrix is V diag(lambda) V with a reflection V and lambda from 1 down to 1 / condition: full, so that no scaling
/// helps, and symmetric by a map, so that all methods take it. Its true derivatives are those of the library's solve,
/// which other tests compare with dense formulas; wrong ones come from an operator that lies about its own.

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lacuna/extend.h"
#include "lacuna/gradcheck.h"
#include "support/check.h"

enum { N = 12, SLOTS = N * N, TRIANGLE = N * (N + 1) / 2 };

// -- tilt: y = x, whose derivatives are f[0] (vjp) and f[1] (jvp) instead of 1 ----------------------------------------

static lac_status tilt_forward(lac_call *c) {
  size_t bytes = (size_t)lac_array_count(c->in[0]) * lac_dtype_size(c->in_meta[0].dtype);
  memcpy(lac_array_edit(c->out[0]), lac_array_data(c->in[0]), bytes);
  return LAC_OK;
}

static void tilt_vjp(lac_rule *r) { r->in_bar[0] = lac_scale(r->tape, r->out_bar[0], r->attrs->f[0], 0); }
static void tilt_jvp(lac_rule *r) { r->out_dot[0] = lac_scale(r->tape, r->in_dot[0], r->attrs->f[1], 0); }

static const lac_op tilt = {.name = "tilt",
                            .signature = "()->()",
                            .order = LAC_ANY_ORDER,
                            .forward = tilt_forward,
                            .vjp = tilt_vjp,
                            .jvp = tilt_jvp};

// -- the system ------------------------------------------------------------------------------------------------------

typedef struct lie {
  double vjp, jvp;
} lie;

static const lie truth = {1, 1}, wrong = {1.01, 1.01}, slightly_wrong = {1.0001, 1.0001}, wrong_vjp = {1.01, 1};

/// FLAT: b = A 1, so that x is 1 and residuals say little of x. FIXED: the matrix is a constant.
enum { PLAIN = 0, FLAT = 1, FIXED = 2 };

typedef struct system_case {
  lac_dtype dtype;
  const char *method;
  double rtol, condition;
  int order, kind;
} system_case;

typedef struct parts {
  lac_pattern *pattern;
  lac_map *tie;
  lac_solver *solver;
  lac_array *triangle, *b;
  bool is_fixed;
  lie lie;
} parts;

/// sum |x|^2 of A x = b, where A is made of its triangle.
static lac_var energy(lac_tape *tape, const lac_var *leaves, void *user) {
  const parts *p = user;
  lac_var triangle = p->is_fixed ? lac_tape_constant(tape, p->triangle) : leaves[1];
  lac_var x = lac_solve(tape, p->solver, lac_remap(tape, p->tie, triangle, LAC_TRANSPOSED), leaves[0], LAC_PLAIN), y;

  lac_tape_call(tape, &(lac_spec){.op = &tilt, .attrs.f = {p->lie.vjp, p->lie.jvp}}, &x, &y);
  return lac_sum(tape, lac_square(tape, y));
}

/// A = V diag(lambda) V, V = 1 - 2 v v^T.
static void fill_matrix(double condition, double a[N][N]) {
  double v[N], norm = 0;

  for (int i = 0; i < N; i++) v[i] = 1 + 0.3 * sin(3.0 * i), norm += v[i] * v[i];
  for (int i = 0; i < N; i++) v[i] /= sqrt(norm);
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      a[i][j] = 0;
      for (int k = 0; k < N; k++) {
        a[i][j] += ((i == k) - 2 * v[i] * v[k]) * ((j == k) - 2 * v[j] * v[k]) * pow(condition, -k / (N - 1.0));
      }
    }
  }
}

static lac_array *upload(lac_context *ctx, lac_dtype dtype, int ndim, int64_t count, const double *numbers) {
  lac_array *array = NULL;
  float singles[SLOTS];

  for (int64_t i = 0; i < count; i++) singles[i] = (float)numbers[i];
  CHECK_OK(lac_array_create(ctx, dtype, ndim, (int64_t[]){count, 1}, &array));
  CHECK_OK(lac_array_write(ctx, array, dtype == LAC_F32 ? (const void *)singles : numbers));
  return array;
}

static void make_structure(lac_context *ctx, parts *p) {
  int32_t rows[SLOTS], cols[SLOTS];
  int64_t tie[SLOTS];

  for (int z = 0; z < SLOTS; z++) {
    int high = z / N > z % N ? z / N : z % N, low = z / N + z % N - high;
    rows[z] = z / N, cols[z] = z % N, tie[z] = high * (high + 1) / 2 + low;
  }
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, SLOTS, LAC_I32, rows, cols, LAC_WIDTH_AUTO, &p->pattern, NULL));
  CHECK_OK(lac_map_create(ctx, SLOTS, TRIANGLE, tie, &p->tie));
}

static void make_parts(lac_context *ctx, const system_case *s, parts *p) {
  double a[N][N], triangle[TRIANGLE], b[N];
  lac_solver_options options = lac_solver_options_defaults();

  fill_matrix(s->condition, a);
  for (int i = 0; i < N; i++) {
    b[i] = s->kind & FLAT ? 0 : 1 + 0.5 * sin(2.0 * i);
    for (int j = 0; j <= i; j++) triangle[i * (i + 1) / 2 + j] = a[i][j];
    for (int j = 0; j < N && (s->kind & FLAT); j++) b[i] += a[i][j];
  }
  make_structure(ctx, p);
  options.method = s->method;
  options.iteration.rtol = s->rtol;
  if (s->rtol > 0) options.iteration.max_iterations = 5000, options.preconditioner.method = "jacobi";
  CHECK_OK(lac_solver_create(ctx, p->pattern, &options, &p->solver));
  p->triangle = upload(ctx, s->dtype, 1, TRIANGLE, triangle);
  p->b = upload(ctx, s->dtype, 2, N, b);
  p->is_fixed = (s->kind & FIXED) != 0;
}

static void free_parts(parts *p) {
  lac_array_destroy(&p->triangle);
  lac_array_destroy(&p->b);
  lac_solver_destroy(&p->solver);
  lac_map_destroy(&p->tie);
  lac_pattern_destroy(&p->pattern);
}

static lac_status check_system(lac_context *ctx, const system_case *s, lie told, lac_gradcheck_report *report) {
  parts p = {.lie = told};
  lac_gradcheck_options options = lac_gradcheck_options_defaults();
  lac_status status;

  make_parts(ctx, s, &p);
  options.order = s->order;
  status =
      lac_gradcheck(ctx, energy, &p, s->kind & FIXED ? 1 : 2, (const lac_array *[]){p.b, p.triangle}, &options, report);
  free_parts(&p);
  return status;
}

/// Whether so little is left of second derivatives that rounding decides whether there is a judgement: by another
/// compiler, another one of the two.
static bool is_edge(const system_case *s) { return s->order > 1 && s->condition >= (s->dtype == LAC_F64 ? 1e8 : 20); }

/// Neither a pass nor an accusation.
static bool is_open(lac_context *ctx, lac_status status) {
  bool is = status == LAC_ERR_CONVERGENCE && strstr(lac_context_error(ctx), "too noisy here to judge");
  if (is) lac_context_clear_error(ctx);
  return is;
}

/// The truth passes, and an error of 1 % is found, in both rules and in one.
static void check_judgement(lac_context *ctx, const system_case *s) {
  lac_status status = check_system(ctx, s, truth, NULL);
  if (!is_edge(s) || !is_open(ctx, status)) CHECK_OK(status);
  status = check_system(ctx, s, wrong, NULL);
  if (!is_edge(s) || !is_open(ctx, status)) CHECK_FAILS(status, LAC_ERR_CONVERGENCE, "the derivative is wrong");
  status = check_system(ctx, s, wrong_vjp, NULL);
  if (!is_edge(s) || !is_open(ctx, status)) CHECK_FAILS(status, LAC_ERR_CONVERGENCE, "do not belong together");
}

static const char *const HERE = "an operator that reads host memory";

static void direct_solves_of_ill_conditioned_matrices_are_judged(lac_context *ctx) {
  const char *const methods[] = {"cholesky", "ldlt", "lu"};
  const double conditions[] = {1e2, 1e6, 1e8, 1e9, 1e10};

  if (!check_claimed(HERE)) return;
  for (int m = 0; m < 3; m++) {
    for (int i = 0; i < 5; i++) {
      check_judgement(ctx, &(system_case){LAC_F64, methods[m], 0, conditions[i], 2, PLAIN});
    }
  }
}

/// A residual cannot be less than some roundings of |A| |x|: tighter tolerances go with smaller conditions.
static void iterative_solves_are_judged_by_their_tolerance(lac_context *ctx) {
  const system_case cases[] = {{LAC_F64, "cg", 1e-6, 1e8, 1, PLAIN},        {LAC_F64, "cg", 1e-7, 1e8, 1, PLAIN},
                               {LAC_F64, "cg", 1e-8, 1e6, 1, PLAIN},        {LAC_F64, "cg", 1e-10, 1e4, 1, PLAIN},
                               {LAC_F64, "cg", 1e-12, 1e2, 1, PLAIN},       {LAC_F64, "minres", 1e-6, 1e6, 1, PLAIN},
                               {LAC_F64, "gmres", 1e-8, 1e6, 1, PLAIN},     {LAC_F64, "bicgstab", 1e-8, 1e4, 1, PLAIN},
                               {LAC_F64, "cg", 1e-6, 1e9, 1, FIXED},        {LAC_F64, "cg", 1e-10, 1e5, 1, FLAT},
                               {LAC_F64, "cg", 1e-12, 1e4, 1, FLAT | FIXED}};

  if (!check_claimed(HERE)) return;
  for (int i = 0; i < 11; i++) {
    for (int order = 1; order <= 2; order++) {
      system_case s = cases[i];
      s.order = order;
      check_judgement(ctx, &s);
    }
  }
}

static void single_precision_is_judged(lac_context *ctx) {
  if (!check_claimed(HERE)) return;
  check_judgement(ctx, &(system_case){LAC_F32, "cholesky", 0, 20, 2, PLAIN});
  check_judgement(ctx, &(system_case){LAC_F32, "cholesky", 0, 1e4, 2, FIXED});
  check_judgement(ctx, &(system_case){LAC_F32, "cg", 1e-6, 20, 1, PLAIN});
  check_judgement(ctx, &(system_case){LAC_F32, "cg", 1e-5, 1e3, 2, FIXED});
}

/// One part in ten thousand, where noise is that small.
static void slight_errors_are_found_where_noise_allows(lac_context *ctx) {
  const system_case cases[] = {{LAC_F64, "cholesky", 0, 1e2, 1, PLAIN},
                               {LAC_F64, "cholesky", 0, 1e6, 1, PLAIN},
                               {LAC_F64, "cholesky", 0, 1e8, 1, FIXED},
                               {LAC_F64, "cg", 1e-10, 1e4, 1, PLAIN},
                               {LAC_F64, "cg", 1e-8, 1e6, 1, FIXED}};

  if (!check_claimed(HERE)) return;
  for (int i = 0; i < 5; i++) {
    CHECK_OK(check_system(ctx, &cases[i], truth, NULL));
    CHECK_FAILS(check_system(ctx, &cases[i], slightly_wrong, NULL), LAC_ERR_CONVERGENCE, "the derivative is wrong");
  }
}

/// x is 1 and the residual may be 1e-6 of b: along the smallest eigenvalue, that is 100 in x.
static void what_noise_hides_is_not_judged(lac_context *ctx) {
  const system_case loose = {LAC_F64, "cg", 1e-6, 1e8, 1, FLAT};
  const system_case single = {LAC_F32, "lu", 0, 1e6, 1, PLAIN};
  lac_gradcheck_report report = {0};

  if (!check_claimed(HERE)) return;
  CHECK_FAILS(check_system(ctx, &loose, truth, &report), LAC_ERR_CONVERGENCE, "too noisy here to judge");
  CHECK(report.noise > 1e-2);
  CHECK_FAILS(check_system(ctx, &single, truth, &report), LAC_ERR_CONVERGENCE, "too noisy here to judge");
}

// -- functions of two leaves a and b, whose derivative by b is a lie --------------------------------------------------

enum { PAIR = 6 };

typedef struct pair_case {
  lac_gradcheck_function function;
  lac_dtype dtype;
  double lie, step;  // of the derivative by b: 1 is the truth; of the options: 0 is the default
} pair_case;

static lac_var tilted(lac_tape *tape, lac_var x, double factor) {
  lac_var y;
  lac_tape_call(tape, &(lac_spec){.op = &tilt, .attrs.f = {factor, factor}}, &x, &y);
  return y;
}

static lac_status check_pair(lac_context *ctx, const pair_case *p, uint64_t seed) {
  double a[PAIR], b[PAIR];
  lac_array *leaves[2];
  lac_gradcheck_options options = {.order = 1, .seed = seed, .step = p->step};
  lac_status status;

  for (int i = 0; i < PAIR; i++) a[i] = 0.7 + 0.4 * sin(5.0 * i), b[i] = 0.8 + 0.3 * cos(3.0 * i);
  leaves[0] = upload(ctx, p->dtype, 1, PAIR, a), leaves[1] = upload(ctx, p->dtype, 1, PAIR, b);
  status = lac_gradcheck(ctx, p->function, (void *)&p->lie, 2, (const lac_array *const *)leaves, &options, NULL);
  lac_array_destroy(&leaves[0]);
  lac_array_destroy(&leaves[1]);
  return status;
}

static void check_pair_passes(lac_context *ctx, const pair_case *p) {
  for (uint64_t seed = 1; seed <= 5; seed++) CHECK_OK(check_pair(ctx, p, seed));
}

static void check_pair_fails(lac_context *ctx, const pair_case *p, const char *words) {
  for (uint64_t seed = 1; seed <= 5; seed++) CHECK_FAILS(check_pair(ctx, p, seed), LAC_ERR_CONVERGENCE, words);
}

/// (a + big) + b - (a + big) = b, in steps of a rounding of big.
static lac_var coarse(lac_tape *tape, double big, lac_var a, lac_var b) {
  lac_var far = lac_offset(tape, a, big, 0);
  return lac_sub(tape, lac_add(tape, far, b), far);
}

static lac_var coarse_sum(lac_tape *tape, const lac_var *leaves, void *user) {
  return coarse(tape, 1e10, leaves[0], tilted(tape, leaves[1], *(double *)user));
}

/// Between two steps of the first term the second one moves.
static lac_var coarse_sum_and_square(lac_tape *tape, const lac_var *leaves, void *user) {
  lac_var b = tilted(tape, leaves[1], *(double *)user);
  return lac_add(tape, coarse(tape, 3e9, leaves[0], b), lac_square(tape, b));
}

/// Short steps lie between two values, where nothing is uncertain and all is wrong. Only the longest show b; so do they
/// when they are asked for.
static void values_in_coarse_steps_are_not_judged_by_short_ones(lac_context *ctx) {
  if (!check_claimed(HERE)) return;
  check_pair_fails(ctx, &(pair_case){coarse_sum, LAC_F64, 1, 0}, "too noisy here to judge");
  check_pair_fails(ctx, &(pair_case){coarse_sum, LAC_F64, 0, 0}, "too noisy here to judge");
  check_pair_fails(ctx, &(pair_case){coarse_sum, LAC_F32, 1, 0}, "too noisy here to judge");
  check_pair_fails(ctx, &(pair_case){coarse_sum_and_square, LAC_F64, 1, 0},
                   "with step 2.0e-01 the difference is another");
  check_pair_passes(ctx, &(pair_case){coarse_sum, LAC_F64, 1, 0.2});
  check_pair_passes(ctx, &(pair_case){coarse_sum_and_square, LAC_F64, 1, 0.2});
  check_pair_fails(ctx, &(pair_case){coarse_sum, LAC_F64, 1.01, 0.2}, "lac_gradcheck: central difference");
}

static lac_var far_sum(lac_tape *tape, const lac_var *leaves, void *user) {
  return lac_offset(tape, lac_add(tape, leaves[0], tilted(tape, leaves[1], *(double *)user)), 3000, 0);
}

static lac_var large_sum(lac_tape *tape, const lac_var *leaves, void *user) {
  return lac_add(tape, lac_scale(tape, leaves[0], 1e8, 0), tilted(tape, leaves[1], *(double *)user));
}

static lac_var large_total(lac_tape *tape, const lac_var *leaves, void *user) {
  return lac_sum(tape, large_sum(tape, leaves, user));
}

/// A derivative that is small beside the values is judged by a step that shows it, or not at all.
static void derivatives_are_judged_however_large_the_values_are(lac_context *ctx) {
  if (!check_claimed(HERE)) return;
  check_pair_passes(ctx, &(pair_case){far_sum, LAC_F32, 1, 0});
  check_pair_fails(ctx, &(pair_case){far_sum, LAC_F32, 1.01, 0}, "lac_gradcheck: central difference");
  check_pair_fails(ctx, &(pair_case){far_sum, LAC_F32, 1.1, 0}, "the derivative is wrong");
  check_pair_passes(ctx, &(pair_case){far_sum, LAC_F64, 1, 0});
  check_pair_fails(ctx, &(pair_case){far_sum, LAC_F64, 1.0001, 0}, "the derivative is wrong");
  check_pair_passes(ctx, &(pair_case){large_total, LAC_F64, 1, 0});
  check_pair_fails(ctx, &(pair_case){large_total, LAC_F64, 1.01, 0}, "the derivative is wrong");
  check_pair_fails(ctx, &(pair_case){large_sum, LAC_F32, 1, 0}, "too noisy here to judge");
  check_pair_fails(ctx, &(pair_case){large_sum, LAC_F32, 31, 0}, "too noisy here to judge");
}

static lac_var nothing_but_rounding(lac_tape *tape, const lac_var *leaves, void *user) {
  (void)user;
  return lac_sub(tape, lac_offset(tape, leaves[0], 1, 0), leaves[0]);
}

/// (a + 1) - a: J x_dot is 0, and values scatter by their rounding.
static void a_derivative_of_zero_passes_where_values_only_scatter(lac_context *ctx) {
  check_pair_passes(ctx, &(pair_case){nothing_but_rounding, LAC_F64, 1, 0});
  check_pair_passes(ctx, &(pair_case){nothing_but_rounding, LAC_F32, 1, 0});
}

/// sum |x|^2 of A x = b where all values of A are a leaf.
static lac_var untied_energy(lac_tape *tape, const lac_var *leaves, void *user) {
  const parts *p = user;
  return lac_sum(tape, lac_square(tape, lac_solve(tape, p->solver, leaves[1], leaves[0], LAC_PLAIN)));
}

static void check_untied(lac_context *ctx, const system_case *s) {
  parts p = {.lie = truth};
  double a[N][N];
  lac_array *values;

  make_parts(ctx, s, &p);
  fill_matrix(s->condition, a);
  values = upload(ctx, s->dtype, 1, SLOTS, &a[0][0]);
  CHECK_FAILS(lac_gradcheck(ctx, untied_energy, &p, 2, (const lac_array *[]){p.b, values}, NULL, NULL),
              LAC_ERR_SYMMETRY, "make the matrix with lac_remap; lac_solver_factor: cg needs a Hermitian matrix");
  lac_array_destroy(&values);
  free_parts(&p);
}

/// The function's own sentence says what is wrong: a matrix that is no longer symmetric, one that is indefinite on one
/// side of x with every step that x can be told from, and one that is so with the step that was tried first.
static void a_function_that_fails_beside_x_says_why(lac_context *ctx) {
  const system_case near = {LAC_F32, "cholesky", 0, 1e6, 1, PLAIN};
  const system_case loose = {LAC_F32, "cholesky", 0, 3e4, 1, PLAIN};

  if (!check_claimed(HERE)) return;
  check_untied(ctx, &(system_case){LAC_F64, "cg", 1e-10, 1e2, 1, PLAIN});
  CHECK_FAILS(check_system(ctx, &near, truth, NULL), LAC_ERR_DEFINITE, "with step 4.9e-03: lac_solver_factor: ");
  CHECK_FAILS(check_system(ctx, &loose, truth, NULL), LAC_ERR_CONVERGENCE,
              "with step 4.9e-03 the function fails: lac_solver_factor: the matrix is not positive definite");
}

/// Of a well-conditioned direct solve nothing is measured; of others the report has noise and step.
static void the_report_says_what_was_measured(lac_context *ctx) {
  lac_gradcheck_report calm = {0}, ill = {0}, loose = {0};

  if (!check_claimed(HERE)) return;
  CHECK_OK(check_system(ctx, &(system_case){LAC_F64, "cholesky", 0, 2, 1, PLAIN}, truth, &calm));
  CHECK_EQ(calm.noise, 0);
  CHECK_NEAR(calm.step, cbrt(0x1p-52), 1e-12);
  CHECK_OK(check_system(ctx, &(system_case){LAC_F64, "cholesky", 0, 1e8, 1, PLAIN}, truth, &ill));
  CHECK(ill.noise > 1e-12 && ill.noise < 1e-4);
  CHECK(ill.step < 1e-7);  // beside 1 / condition
  CHECK_OK(check_system(ctx, &(system_case){LAC_F64, "cg", 1e-6, 10, 1, PLAIN}, truth, &loose));
  CHECK(loose.noise > 1e-8 && loose.noise < 1e-3);
  CHECK(loose.step > 1e-4);
}

CHECK_MAIN(direct_solves_of_ill_conditioned_matrices_are_judged, iterative_solves_are_judged_by_their_tolerance,
           single_precision_is_judged, slight_errors_are_found_where_noise_allows, what_noise_hides_is_not_judged,
           values_in_coarse_steps_are_not_judged_by_short_ones, derivatives_are_judged_however_large_the_values_are,
           a_derivative_of_zero_passes_where_values_only_scatter, a_function_that_fails_beside_x_says_why,
           the_report_says_what_was_measured)
