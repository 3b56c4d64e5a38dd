// SPDX-License-Identifier: Apache-2.0
/// Factors whose values are lent for the time of a solve: memory of others is known again by its bits wherever it lies,
/// is not looked at between solves, and a factor that is asked for by itself has a copy.

#include <math.h>
#include <pthread.h>

#include "support/check.h"
#include "support/iterative_case.h"
#include "support/scratch.h"

/// An array over memory of the caller, which here is an array of the library's.
static lac_array *borrowed(lac_context *ctx, const lac_array *owner) {
  lac_array *made = NULL;
  CHECK_OK(lac_array_from(ctx, owner->meta.dtype, owner->meta.ndim, owner->meta.shape, owner->storage->data,
                          LAC_OWNERSHIP_BORROW, &made));
  return made;
}

static lac_array *solved(lac_context *ctx, const lac_solver *solver, const lac_array *a, const lac_array *b) {
  lac_array *x = NULL;
  CHECK_OK(lac_run_solve(ctx, solver, a, b, LAC_PLAIN, &x));
  return x;
}

/// |b - A x| / |b|, by a product where the arrays lie.
static double residual_of(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *b,
                          const lac_array *x) {
  lac_array *product = NULL;
  ref f, y;
  double left = 0, whole = 0;
  CHECK_OK(lac_run_spmm(ctx, pattern, a, x, LAC_PLAIN, &product));
  CHECK_OK(ref_download(ctx, product, &y));
  CHECK_OK(ref_download(ctx, b, &f));
  for (int64_t i = 0; i < f.count; ++i) {
    left += creal((f.x[i] - y.x[i]) * conj(f.x[i] - y.x[i])), whole += creal(f.x[i] * conj(f.x[i]));
  }
  lac_array_destroy(&product);
  return sqrt(left / whole);
}

static int64_t setups_of(lac_context *ctx, const lac_solver *solver) {
  lac_report report = {.size = sizeof report};
  CHECK_OK(lac_solver_report(solver, &report));
  return report.setups + report.refreshes;
}

static const char *const PRECONDITIONERS[] = {"jacobi", "chebyshev", "multigrid"};
enum { SIDE = 40 };

static void values_at_another_address_are_known(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, SIDE * SIDE, LAC_F64, 1);
  int64_t shape[] = {c.s->rows, 1};
  for (size_t q = 0; q < sizeof PRECONDITIONERS / sizeof *PRECONDITIONERS; ++q) {
    if (!check_claimed(PRECONDITIONERS[q])) continue;
    lac_solver_options options = iterative_options("flexible_cg", PRECONDITIONERS[q]);
    direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *copy = NULL;
    CHECK_OK(lac_array_clone(ctx, s.values, &copy));
    lac_array *first = borrowed(ctx, s.values), *second = borrowed(ctx, copy);
    lac_array *x = solved(ctx, s.solver, first, b), *y = NULL;
    CHECK(residual_of(ctx, s.pattern, copy, b, x) <= 1e-9);
    CHECK_EQ(setups_of(ctx, s.solver), 1);
    CHECK_OK(lac_array_fill(ctx, s.values, NAN, 0));  // nothing of the first is read any more
    y = solved(ctx, s.solver, second, b);
    CHECK_EQ(setups_of(ctx, s.solver), 1);
    CHECK(residual_of(ctx, s.pattern, copy, b, y) <= 1e-9);
    lac_array_destroy(&x), lac_array_destroy(&y), lac_array_destroy(&first), lac_array_destroy(&second);
    lac_array_destroy(&copy), lac_array_destroy(&b);
    direct_close(&s);
  }
}

/// A factor of its own works when the memory that it was made of has other numbers.
static void a_factor_that_is_asked_for_has_a_copy(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, SIDE * SIDE, LAC_F64, 1);
  int64_t shape[] = {c.s->rows, 1};
  lac_solver_options options = iterative_options("flexible_cg", "chebyshev");
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 3), *copy = NULL, *x = NULL, *y = NULL;
  lac_factor *factor = NULL;
  CHECK_OK(lac_array_clone(ctx, s.values, &copy));
  lac_array *lent = borrowed(ctx, copy);
  lac_report after = {.size = sizeof after};
  x = solved(ctx, s.solver, lent, b);
  CHECK_OK(lac_solver_factor(ctx, s.solver, lent, &factor));
  CHECK_OK(lac_array_fill(ctx, copy, NAN, 0));
  CHECK_OK(lac_array_make(ctx, &b->meta, &y));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, y));
  CHECK(residual_of(ctx, s.pattern, s.values, b, y) <= 1e-9);
  CHECK_EQ(setups_of(ctx, s.solver), 1);
  CHECK_OK(lac_factor_report(factor, &after));
  CHECK(after.factor_bytes >= c.s->nnz * (int64_t)sizeof(double));
  lac_factor_destroy(&factor);
  lac_array_destroy(&x), lac_array_destroy(&y), lac_array_destroy(&lent), lac_array_destroy(&copy);
  lac_array_destroy(&b);
  direct_close(&s);
}

// -- threads ---------------------------------------------------------------------------------------------------------

enum { ROWS = SIDE * SIDE, MOST = 5 * ROWS, LENDERS = 3 };

/// What a thread works with; numbers of the host, since scratch memory and the checks belong to one thread.
typedef struct lender {
  const direct_system *s;
  const char *backend;
  pthread_t thread;
  int64_t nnz;
  double a[MOST], b[ROWS], product[ROWS];
  int fails;
} lender;

static bool lender_is_right(const lender *l) {
  double left = 0, whole = 0;
  for (int i = 0; i < ROWS; ++i) {
    left += (l->b[i] - l->product[i]) * (l->b[i] - l->product[i]), whole += l->b[i] * l->b[i];
  }
  return left <= 1e-18 * whole;
}

/// A solve with memory that is the thread's own and has other numbers at once after it.
static bool lender_solves(lac_context *ctx, lender *l) {
  int64_t count[] = {l->nnz}, shape[] = {ROWS, 1};
  lac_array *own = NULL, *lent = NULL, *values = NULL, *b = NULL, *x = NULL, *product = NULL;
  bool is_done = lac_array_from(ctx, LAC_F64, 1, count, l->a, LAC_OWNERSHIP_COPY, &own) == LAC_OK &&
                 lac_array_from(ctx, LAC_F64, 1, count, l->a, LAC_OWNERSHIP_COPY, &values) == LAC_OK &&
                 lac_array_from(ctx, LAC_F64, 1, count, own->storage->data, LAC_OWNERSHIP_BORROW, &lent) == LAC_OK &&
                 lac_array_from(ctx, LAC_F64, 2, shape, l->b, LAC_OWNERSHIP_COPY, &b) == LAC_OK &&
                 lac_run_solve(ctx, l->s->solver, lent, b, LAC_PLAIN, &x) == LAC_OK &&
                 lac_array_fill(ctx, own, NAN, 0) == LAC_OK &&
                 lac_run_spmm(ctx, l->s->pattern, values, x, LAC_PLAIN, &product) == LAC_OK &&
                 lac_array_read(ctx, product, l->product) == LAC_OK && lender_is_right(l);
  lac_array_destroy(&product), lac_array_destroy(&x), lac_array_destroy(&b);
  lac_array_destroy(&lent), lac_array_destroy(&values), lac_array_destroy(&own);
  return is_done;
}

/// In a context of its own, which is gone after each solve.
static void *lend(void *data) {
  lender *l = data;
  for (int turn = 0; turn < 5 && !l->fails; ++turn) {
    lac_context *ctx = NULL;
    l->fails = lac_context_create(l->backend, 0, &ctx) != LAC_OK || !lender_solves(ctx, l);
    lac_context_destroy(&ctx);
  }
  return NULL;
}

static void threads_lend_in_turns(lac_context *ctx) {
  if (check_is_shadow()) {
    check_skip("a shadow has one context");
    return;
  }
  direct_case c = direct_make(DIRECT_POISSON, ROWS, LAC_F64, 1);
  lac_solver_options options = iterative_options("flexible_cg", "chebyshev");
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lender *lenders = scratch(LENDERS * sizeof *lenders);
  CHECK(c.s->rows == ROWS && c.s->nnz <= MOST);
  CHECK_OK(lac_context_synchronize(ctx));
  for (int t = 0; t < LENDERS; ++t) {
    lender *l = &lenders[t];
    *l = (lender){.s = &s, .backend = lac_context_backend(ctx), .nnz = c.s->nnz};
    for (int64_t k = 0; k < l->nnz; ++k) l->a[k] = creal(c.a.x[k]);
    for (int i = 0; i < ROWS; ++i) l->b[i] = 1 + (i * 7 + t) % 5;
  }
  for (int t = 0; t < LENDERS; ++t) CHECK_EQ(pthread_create(&lenders[t].thread, NULL, lend, &lenders[t]), 0);
  for (int t = 0; t < LENDERS; ++t) CHECK_EQ(pthread_join(lenders[t].thread, NULL), 0);
  for (int t = 0; t < LENDERS; ++t) CHECK(!lenders[t].fails);
  direct_close(&s);
}

CHECK_MAIN(values_at_another_address_are_known, a_factor_that_is_asked_for_has_a_copy, threads_lend_in_turns)
