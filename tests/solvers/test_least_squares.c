// SPDX-License-Identifier: Apache-2.0
/// LSQR and LSMR at condition 1e6, of a matrix and of the products of a function, against the solution that a singular
/// value decomposition gives.

#include <math.h>

#include "core/number_at.h"
#include "support/check.h"
#include "support/dense.h"
#include "support/scratch.h"

enum { REFLECTIONS = 3, EMPTY = 2 };

static const char *const METHODS[] = {"lsqr", "lsmr"};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};

/// B = op(A) = U S V^H with U and V of reflections and singular values from 1 to 1e-6, below it empty rows; a
/// right-hand side that is not in its range, and the shortest of the best x.
typedef struct problem {
  int64_t rows, cols;
  lac_form op;
  dense b, adjoint;  // B, B^H
  ref right, x;
  int calls;
} problem;

static ref vector(lac_dtype dtype, int64_t n, uint64_t seed) {
  ref made = ref_new(&(lac_meta){.dtype = dtype, .ndim = 2, .shape = {n, 1}});
  if (seed) ref_random(&made, seed, dtype == LAC_C128);
  return made;
}

/// x -= 2 u (u^H x) / (u^H u), several times, for u of random numbers: one after the other, or back.
static void reflect(lac_dtype dtype, int64_t n, uint64_t seed, int is_back, number *x) {
  for (int i = 0; i < REFLECTIONS; i++) {
    ref u = vector(dtype, n, seed + (uint64_t)(is_back ? REFLECTIONS - 1 - i : i));
    number along = 0, square = 0;
    for (int64_t k = 0; k < n; k++) along += conj(u.x[k]) * x[k], square += conj(u.x[k]) * u.x[k];
    for (int64_t k = 0; k < n; k++) x[k] -= 2 * along / square * u.x[k];
  }
}

static double singular_value(int64_t k, int64_t rank) { return pow(10, -6 * (double)k / (double)(rank - 1)); }

/// Row i of B: conj(V S U^H e_i).
static void problem_row(const problem *p, lac_dtype dtype, int64_t rank, int64_t i, number *row) {
  int64_t full = p->rows - EMPTY;
  ref e = vector(dtype, full, 0);
  e.x[i] = 1;
  reflect(dtype, full, 11, 1, e.x);
  for (int64_t k = 0; k < p->cols; k++) row[k] = k < rank ? singular_value(k, rank) * e.x[k] : 0;
  reflect(dtype, p->cols, 21, 0, row);
  for (int64_t k = 0; k < p->cols; k++) row[k] = conj(row[k]);
}

/// b = B x + 1e-3 e of random x and e
static ref problem_right(const problem *p, lac_dtype dtype) {
  ref b = vector(dtype, p->rows, 0), e = vector(dtype, p->rows, 5), x = vector(dtype, p->cols, 6);
  dense_copy_to(dense_mul(p->b, dense_over(p->cols, 1, x.x)), b.x);
  ref_axpy(1e-3, &e, &b);
  return b;
}

/// x = V S^-1 U^H b
static ref problem_solution(const problem *p, lac_dtype dtype, int64_t rank) {
  ref x = vector(dtype, p->cols, 0), turned = ref_copy(&p->right);
  reflect(dtype, p->rows - EMPTY, 11, 1, turned.x);
  for (int64_t k = 0; k < rank; k++) x.x[k] = turned.x[k] / singular_value(k, rank);
  reflect(dtype, p->cols, 21, 0, x.x);
  return x;
}

static problem problem_make(lac_dtype dtype, int64_t rows, int64_t cols, lac_form op) {
  problem p = {.rows = rows + EMPTY, .cols = cols, .op = op, .b = dense_new(rows + EMPTY, cols)};
  int64_t rank = rows < cols ? rows : cols;
  for (int64_t i = 0; i < rows; i++) problem_row(&p, dtype, rank, i, p.b.x + i * cols);
  p.adjoint = dense_side(p.b, LAC_ADJOINT);
  p.right = problem_right(&p, dtype);
  p.x = problem_solution(&p, dtype, rank);
  return p;
}

/// op(A) x = B x, or its adjoint; vectors have the shapes that the caller gave them.
static lac_status product(lac_context *ctx, void *data, const lac_array *x, lac_form form, lac_array *y) {
  problem *p = data;
  lac_form apart = (lac_form)(form ^ p->op);
  dense side = apart == LAC_PLAIN ? p->b : p->adjoint;
  size_t mark = scratch_mark();
  ref in, out = ref_new(lac_array_meta(y));
  lac_status status;
  void *host;

  CHECK(apart == LAC_PLAIN || apart == LAC_ADJOINT);
  CHECK_EQ(lac_array_meta(x)->shape[0], side.cols);
  CHECK_EQ(out.meta.shape[0], side.rows);
  p->calls++;
  CHECK_OK(ref_download(ctx, x, &in));
  dense_copy_to(dense_mul(side, dense_over(side.cols, 1, in.x)), out.x);
  host = scratch((size_t)out.count * lac_dtype_size(out.meta.dtype));
  for (int64_t i = 0; i < out.count; i++) lac_number_put(out.meta.dtype, host, i, out.x[i]);
  status = lac_array_write(ctx, y, host);
  scratch_release(mark);
  return status;
}

static void check_near_solution(lac_context *ctx, const problem *p, const lac_array *x) {
  ref got;
  CHECK_OK(ref_download(ctx, x, &got));
  ref_axpy(-1, &p->x, &got);
  CHECK(ref_max(&got) <= 1e-6 * ref_max(&p->x));
}

static void check_products(lac_context *ctx, problem *p, const char *method) {
  lac_solver_options options = {.size = sizeof options, .method = method};
  lac_solve_report report = {.size = sizeof report};
  lac_array *b = NULL, *x = NULL;

  options.iteration.rtol = 1e-14;
  options.iteration.max_iterations = 20000;
  CHECK_OK(ref_upload(ctx, &p->right, &b));
  CHECK_OK(lac_array_create(ctx, p->right.meta.dtype, 2, p->x.meta.shape, &x));
  CHECK_OK(lac_solve_products(ctx, product, p, b, NULL, p->op, &options, x, &report));
  CHECK(report.ending == LAC_ENDING_CONVERGED && report.iterations > 0 && p->calls > report.iterations);
  check_near_solution(ctx, p, x);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

static void check_matrix(lac_context *ctx, const problem *p, const char *method) {
  lac_solver_options options = {.size = sizeof options, .method = method};
  lac_solve_report report = {.size = sizeof report};
  lac_pattern *pattern = NULL;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_array *values = NULL, *b = NULL, *x = NULL;
  ref numbers = ref_new(&(lac_meta){.dtype = p->right.meta.dtype, .ndim = 1, .shape = {p->rows * p->cols}});

  options.iteration.rtol = 1e-14;
  options.iteration.max_iterations = 20000;
  dense_copy_to(p->b, numbers.x);
  CHECK_OK(lac_pattern_banded(ctx, p->rows, p->cols, p->rows - 1, p->cols - 1, LAC_WIDTH_AUTO, &pattern, NULL));
  CHECK_OK(ref_upload(ctx, &numbers, &values));
  CHECK_OK(ref_upload(ctx, &p->right, &b));
  CHECK_OK(lac_array_create(ctx, p->right.meta.dtype, 2, p->x.meta.shape, &x));
  CHECK_OK(lac_solver_create(ctx, pattern, &options, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, values, &factor));
  CHECK_OK(lac_factor_iterate(ctx, factor, b, NULL, LAC_PLAIN, x, &report));
  CHECK(report.ending == LAC_ENDING_CONVERGED);
  check_near_solution(ctx, p, x);
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&pattern);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

/// Tall, wide and square but for empty rows.
static const int64_t SHAPES[][2] = {{60, 20}, {20, 60}, {20, 20}};

/// Rounding takes about 40 iterations for each column of 50, in which |r| may stay as it is for hundreds of them.
static void ill_conditioned_matrices_are_solved_with(lac_context *ctx) {
  for (int s = 0; s < 3; s++) {
    for (int d = LAC_F64; d <= LAC_C128; d += LAC_C128 - LAC_F64) {
      problem p = problem_make((lac_dtype)d, 5 * SHAPES[s][0] / 2, 5 * SHAPES[s][1] / 2, LAC_PLAIN);
      check_matrix(ctx, &p, "lsqr");
      check_matrix(ctx, &p, "lsmr");
    }
  }
}

static void ill_conditioned_products_are_solved_with(lac_context *ctx) {
  for (int s = 0; s < 3; s++) {
    for (int f = 0; f < 4; f++) {
      problem real = problem_make(LAC_F64, SHAPES[s][0], SHAPES[s][1], FORMS[f]);
      problem twin = problem_make(LAC_C128, SHAPES[s][0], SHAPES[s][1], FORMS[f]);
      check_products(ctx, &real, METHODS[f % 2]);
      check_products(ctx, &twin, METHODS[(f + 1) % 2]);
    }
  }
}

/// The best x from a start is the start and the shortest step from it: with the exact x as the start it is x.
static void a_start_of_products_is_gone_on_from(lac_context *ctx) {
  problem p = problem_make(LAC_F64, 30, 10, LAC_PLAIN);
  lac_solver_options options = {.size = sizeof options};
  lac_solve_report report = {.size = sizeof report};
  lac_array *b = NULL, *x0 = NULL, *x = NULL;

  CHECK_OK(ref_upload(ctx, &p.right, &b));
  CHECK_OK(ref_upload(ctx, &p.x, &x0));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, p.x.meta.shape, &x));
  options.iteration.rtol = 1e-8;
  CHECK_OK(lac_solve_products(ctx, product, &p, b, x0, LAC_PLAIN, &options, x, &report));  // LSMR by default
  CHECK(report.iterations <= 1);
  check_near_solution(ctx, &p, x);
  lac_array_destroy(&b);
  lac_array_destroy(&x0);
  lac_array_destroy(&x);
}

static lac_status inverse_of_one(lac_context *ctx, void *data, const lac_array *x, lac_form form, lac_array *y) {
  (void)ctx, (void)data, (void)x, (void)form, (void)y;
  return LAC_ERR_UNSUPPORTED;
}

static void what_rectangles_do_not_take_is_refused(lac_context *ctx) {
  problem p = problem_make(LAC_F64, 8, 3, LAC_PLAIN);
  lac_solver_options options = {.size = sizeof options, .method = "gmres"};
  lac_array *b = NULL, *x = NULL, *single = NULL, *start = NULL;

  CHECK_OK(ref_upload(ctx, &p.right, &b));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, p.x.meta.shape, &x));
  CHECK_OK(lac_array_create(ctx, LAC_F32, 2, p.x.meta.shape, &single));
  CHECK_OK(lac_array_clone(ctx, b, &start));
  CHECK_FAILS(lac_solve_products(ctx, product, &p, b, NULL, LAC_PLAIN, &options, x, NULL), LAC_ERR_SHAPE,
              "gmres needs a square matrix, and b has 10 numbers where x has 3");
  CHECK_FAILS(lac_solve_products(ctx, product, &p, b, NULL, LAC_PLAIN, NULL, single, NULL), LAC_ERR_DTYPE,
              "b is f64 and x is f32");
  CHECK_FAILS(lac_solve_products(ctx, product, &p, b, start, LAC_PLAIN, NULL, x, NULL), LAC_ERR_SHAPE, "x0");
  options = (lac_solver_options){.size = sizeof options, .preconditioner.apply = inverse_of_one};
  CHECK_FAILS(lac_solve_products(ctx, product, &p, b, NULL, LAC_PLAIN, &options, x, NULL), LAC_ERR_UNSUPPORTED, "");
  CHECK_FAILS(lac_solve_products(ctx, product, &p, x, NULL, LAC_ADJOINT, &options, b, NULL), LAC_ERR_UNSUPPORTED,
              "x is not the shortest");
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_array_destroy(&single);
  lac_array_destroy(&start);
}

/// A factor that stands at the right of A has no place at that of A^H.
static void factors_precondition_one_side_of_a_rectangle(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  problem p = problem_make(LAC_F64, 8, 3, LAC_PLAIN), turned = problem_make(LAC_F64, 8, 3, LAC_ADJOINT);
  lac_solver_options options = {.size = sizeof options};
  lac_pattern *pattern = NULL;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_array *values = NULL, *b = NULL, *x = NULL;

  CHECK_OK(lac_pattern_banded(ctx, 3, 3, 0, 0, LAC_WIDTH_AUTO, &pattern, NULL));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){3}, &values));
  CHECK_OK(lac_array_fill(ctx, values, 2, 0));
  CHECK_OK(lac_solver_create(ctx, pattern, NULL, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, values, &factor));
  CHECK_OK(ref_upload(ctx, &p.right, &b));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, p.x.meta.shape, &x));
  options.preconditioner.factor = factor;
  options.iteration.rtol = 1e-11;
  CHECK_OK(lac_solve_products(ctx, product, &p, b, NULL, LAC_PLAIN, &options, x, NULL));
  check_near_solution(ctx, &p, x);
  CHECK_FAILS(lac_solve_products(ctx, product, &turned, b, NULL, LAC_ADJOINT, &options, x, NULL), LAC_ERR_SHAPE,
              "the preconditioner's factor");
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&pattern);
  lac_array_destroy(&values);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

static void no_rows_and_no_columns_are_sizes_too(lac_context *ctx) {
  lac_array *none = NULL, *some = NULL;
  double got[3] = {1, 1, 1};

  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){0}, &none));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, got, LAC_OWNERSHIP_COPY, &some));
  CHECK_OK(lac_solve_products(ctx, product, NULL, some, NULL, LAC_PLAIN, NULL, none, NULL));
  CHECK_OK(lac_solve_products(ctx, product, NULL, none, NULL, LAC_PLAIN, NULL, some, NULL));
  CHECK_OK(lac_array_read(ctx, some, got));
  for (int i = 0; i < 3; i++) CHECK_NEAR(got[i], 0, 0);
  lac_array_destroy(&none);
  lac_array_destroy(&some);
}

CHECK_MAIN(ill_conditioned_matrices_are_solved_with, ill_conditioned_products_are_solved_with,
           a_start_of_products_is_gone_on_from, what_rectangles_do_not_take_is_refused,
           factors_precondition_one_side_of_a_rectangle, no_rows_and_no_columns_are_sizes_too)
