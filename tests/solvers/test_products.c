// SPDX-License-Identifier: Apache-2.0
/// Solves with a matrix that is known by the products of a C function.

#include <math.h>
#include <string.h>

#include "support/check.h"

enum { N = 6 };

/// What the function is told, and what it has seen.
typedef struct bidiagonal {
  double upper;
  int calls, ndim;
  lac_form form;
  lac_status fails_with;
} bidiagonal;

/// y = op(A) x for A with 3 on the diagonal and `upper` above it.
static lac_status product(lac_context *ctx, void *data, const lac_array *x, lac_form op, lac_array *y) {
  bidiagonal *m = data;
  double in[N], out[N];

  m->calls++, m->form = op, m->ndim = lac_array_meta(x)->ndim;
  if (m->fails_with != LAC_OK) return m->fails_with;
  if (lac_array_read(ctx, x, in) != LAC_OK) return LAC_ERR_BACKEND;
  for (int i = 0; i < N; i++) {
    int other = op == LAC_TRANSPOSED || op == LAC_ADJOINT ? i - 1 : i + 1;
    out[i] = 3 * in[i] + (other >= 0 && other < N ? m->upper * in[other] : 0);
  }
  return lac_array_write(ctx, y, out);
}

typedef struct world {
  lac_array *b, *x;
} world;

static world world_open(lac_context *ctx) {
  world w = {NULL, NULL};
  double ones[N];
  for (int i = 0; i < N; i++) ones[i] = 1;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 3}, ones, LAC_OWNERSHIP_COPY, &w.b));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){2, 3}, &w.x));
  return w;
}

static void world_close(world *w) { lac_array_destroy(&w->b), lac_array_destroy(&w->x); }

/// Substitution backwards (A) or forwards (A^T).
static void check_solution(lac_context *ctx, const lac_array *x, lac_form op) {
  double got[N], want = 1. / 3;
  CHECK_OK(lac_array_read(ctx, x, got));
  for (int k = 0; k < N; k++) {
    int i = op == LAC_PLAIN ? N - 1 - k : k;
    CHECK_NEAR(got[i], want, 1e-9);
    want = (1 + want) / 3;  // upper is -1
  }
}

static void products_of_a_function_are_solved_with(lac_context *ctx) {
  world w = world_open(ctx);
  lac_solve_report report = {.size = sizeof report};
  for (int op = LAC_PLAIN; op <= LAC_TRANSPOSED; op++) {
    bidiagonal m = {.upper = -1};
    CHECK_OK(lac_solve_products(ctx, product, &m, w.b, NULL, (lac_form)op, NULL, w.x, &report));
    CHECK(m.calls > 0 && m.form == (lac_form)op && m.ndim == 2);
    CHECK(report.ending == LAC_ENDING_CONVERGED && report.iterations > 0);
    check_solution(ctx, w.x, (lac_form)op);
  }
  world_close(&w);
}

static void a_start_that_is_the_solution_needs_no_iteration(lac_context *ctx) {
  world w = world_open(ctx);
  lac_array *start = NULL;
  bidiagonal m = {.upper = 0};
  lac_solve_report report = {.size = sizeof report};
  CHECK_OK(lac_array_clone(ctx, w.b, &start));
  CHECK_OK(lac_array_fill(ctx, start, 1. / 3, 0));
  CHECK_OK(lac_solve_products(ctx, product, &m, w.b, start, LAC_PLAIN, NULL, w.x, &report));
  CHECK_EQ(report.iterations, 0);
  lac_array_destroy(&start);
  world_close(&w);
}

static void what_goes_wrong_is_said(lac_context *ctx) {
  world w = world_open(ctx);
  bidiagonal m = {.upper = -1};
  lac_solver_options options = {.size = sizeof options, .iteration.max_iterations = 1};
  lac_solve_report report = {.size = sizeof report};
  lac_array *other = NULL;

  CHECK_FAILS(lac_solve_products(ctx, product, &m, w.b, NULL, LAC_PLAIN, &options, w.x, &report), LAC_ERR_CONVERGENCE,
              "lac_solve_products: did not reach the tolerance");
  CHECK_EQ(report.iterations, 1);
  options.iteration.accept_unconverged = true;
  CHECK_OK(lac_solve_products(ctx, product, &m, w.b, NULL, LAC_PLAIN, &options, w.x, &report));
  CHECK(report.ending == LAC_ENDING_LIMIT && report.residual > 1e-3);
  m.fails_with = LAC_ERR_NONFINITE;
  CHECK_FAILS(lac_solve_products(ctx, product, &m, w.b, NULL, LAC_PLAIN, NULL, w.x, NULL), LAC_ERR_NONFINITE,
              "the product returned LAC_ERR_NONFINITE");
  CHECK_FAILS(lac_solve_products(ctx, NULL, &m, w.b, NULL, LAC_PLAIN, NULL, w.x, NULL), LAC_ERR_ARG, "is NULL");
  CHECK_FAILS(lac_solve_products(ctx, product, &m, w.b, NULL, (lac_form)9, NULL, w.x, NULL), LAC_ERR_ARG, "op is 9");
  CHECK_FAILS(lac_solve_products(ctx, product, &m, w.b, NULL, LAC_PLAIN, NULL, w.b, NULL), LAC_ERR_ARG, "share memory");
  options = (lac_solver_options){.size = sizeof options, .method = "lu"};
  CHECK_FAILS(lac_solve_products(ctx, product, &m, w.b, NULL, LAC_PLAIN, &options, w.x, NULL), LAC_ERR_ARG,
              "lu needs a matrix");
  options = (lac_solver_options){.size = sizeof options, .iteration.rtol = 7};
  CHECK_FAILS(lac_solve_products(ctx, product, &m, w.b, NULL, LAC_PLAIN, &options, w.x, NULL), LAC_ERR_ARG,
              "lac_solve_products: rtol");
  report.size = 1 << 20;  // refused before the product is asked, which would fail
  CHECK_FAILS(lac_solve_products(ctx, product, &m, w.b, NULL, LAC_PLAIN, NULL, w.x, &report), LAC_ERR_ARG,
              "the size of the lac_solve_report");
  CHECK_FAILS(lac_solve_products(ctx, product, &m, w.b, w.x, LAC_PLAIN, NULL, w.x, NULL), LAC_ERR_ARG, "x0 and x");
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){N}, &other));
  CHECK_FAILS(lac_solve_products(ctx, product, &m, w.b, other, LAC_PLAIN, NULL, w.x, NULL), LAC_ERR_SHAPE, "x0");
  lac_array_destroy(&other);
  world_close(&w);
}

static void a_system_of_no_numbers_is_solved(lac_context *ctx) {
  lac_array *b = NULL, *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){0}, &b));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){0}, &x));
  CHECK_OK(lac_solve_products(ctx, product, NULL, b, NULL, LAC_PLAIN, NULL, x, NULL));
  lac_array_destroy(&b), lac_array_destroy(&x);
}

CHECK_MAIN(products_of_a_function_are_solved_with, a_start_that_is_the_solution_needs_no_iteration,
           what_goes_wrong_is_said, a_system_of_no_numbers_is_solved)
