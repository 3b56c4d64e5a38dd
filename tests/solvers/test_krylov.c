// SPDX-License-Identifier: Apache-2.0
/// Krylov methods against dense references: dtypes, forms, columns, batches, starts, preconditioners, tolerances.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/krylov_case.h"
#include "support/scratch.h"

static const lac_krylov_table *const METHODS[] = {
#define LAC_KRYLOV(name, flags) &lac_krylov_##name,
#include "solvers/krylov/krylov.def"
#undef LAC_KRYLOV
};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS };
static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_form FORMS[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_ADJOINT, LAC_CONJUGATED};

static double rtol_of(lac_dtype dtype) { return direct_rounding(dtype) > 1e-10 ? 1e-5 : 1e-10; }

/// A matrix that the method is for.
static direct_case matrix_for(const lac_krylov_table *method, int64_t n, lac_dtype dtype) {
  if (!method->needs_hermitian) {
    direct_case c = direct_make(DIRECT_NONSYMMETRIC, n, dtype, 5);
    for (int64_t z = 0; z < c.s->nnz; ++z) c.a.x[z] += c.s->row[z] == c.s->col[z] ? 4 : 0;
    return c;
  }
  return direct_make(strcmp(method->name, "minres") == 0 ? DIRECT_INDEFINITE : DIRECT_POSITIVE, n, dtype, 5);
}

static void check_converged(const krylov_case *c, const krylov_result *got) {
  double asked = c->iteration.rtol != 0 ? c->iteration.rtol : rtol_of(c->matrix.a.meta.dtype);
  if (got->report.ending != LAC_ENDING_CONVERGED)
    check_fail(__FILE__, __LINE__, "%s: %s", c->method->name, got->report.reason);
  if (!(got->residual <= asked * 1.01 + 4 * direct_rounding(c->matrix.a.meta.dtype)))
    check_fail(__FILE__, __LINE__, "%s: the residual is %g, not %g", c->method->name, got->residual, asked);
}

static void every_method_solves_what_it_is_for(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (int d = 0; d < 4; ++d) {
      for (int s = 0; s < 4; ++s) {
        size_t mark = scratch_mark();
        krylov_case c = {.method = METHODS[m], .matrix = matrix_for(METHODS[m], 40, DTYPES[d]), .form = FORMS[s]};
        krylov_result got = krylov_solve(ctx, &c, 0);
        check_converged(&c, &got);
        CHECK(krylov_error(&c, &got) <= 300 * rtol_of(DTYPES[d]));
        CHECK(got.report.iterations > 0 && got.report.residual > 0 && got.report.first_residual == 1);
        scratch_release(mark);
      }
    }
  }
}

static void every_method_takes_columns_and_batches(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (int d = 0; d < 4; ++d) {
      size_t mark = scratch_mark();
      krylov_case c = {.method = METHODS[m],
                       .matrix = matrix_for(METHODS[m], 30, DTYPES[d]),
                       .form = d % 2 ? LAC_ADJOINT : LAC_PLAIN,
                       .items = 3,
                       .width = 5,
                       .tilt = 2};
      krylov_result got = krylov_solve(ctx, &c, 0);
      check_converged(&c, &got);
      CHECK(krylov_error(&c, &got) <= 300 * rtol_of(DTYPES[d]));
      c.inverse = krylov_diagonal(&c);
      if (strcmp(c.method->name, "minres") == 0) c.inverse = NULL;
      if (c.method->takes_rectangles) c.inverse = NULL;
      got = krylov_solve(ctx, &c, 0);
      check_converged(&c, &got);
      scratch_release(mark);
    }
  }
}

static void flexible_methods_take_preconditioners_that_vary(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    if (!METHODS[m]->is_flexible) continue;
    krylov_case c = {.method = METHODS[m], .matrix = direct_make(DIRECT_POISSON, 100, LAC_C128, 1), .width = 2};
    krylov_result plain = krylov_solve(ctx, &c, 0);
    c.inverse = krylov_diagonal(&c);
    c.inverse->varies = 1;
    krylov_result got = krylov_solve(ctx, &c, 0);
    check_converged(&c, &got);
    CHECK(got.report.iterations <= 5 * plain.report.iterations);
  }
}

/// Bytes beyond what there was, at the peak of a solve of n unknowns in f64.
static int64_t peak_of(lac_context *ctx, krylov_case *c) {
  lac_memory_stats before, after;
  (void)krylov_solve_only(ctx, c);
  lac_memory_reset_peak("cpu");
  before = memory_now("cpu");
  (void)krylov_solve_only(ctx, c);
  after = memory_now("cpu");
  return after.peak_bytes - before.live_bytes;
}

static void memory_does_not_grow_with_iterations(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case c = {.method = METHODS[m], .matrix = direct_make(DIRECT_POISSON, 900, LAC_F64, 1)};
    c.iteration.restart = 5, c.iteration.max_iterations = 6;
    int64_t few = peak_of(ctx, &c);
    c.iteration.max_iterations = 60;
    CHECK_EQ(peak_of(ctx, &c), few);
  }
}

CHECK_MAIN(every_method_solves_what_it_is_for, every_method_takes_columns_and_batches,
           flexible_methods_take_preconditioners_that_vary, memory_does_not_grow_with_iterations)
