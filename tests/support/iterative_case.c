// SPDX-License-Identifier: Apache-2.0
/// @file iterative_case.c
/// Systems of iterative solvers.

#include "support/iterative_case.h"

#include <math.h>
#include <stdbool.h>

#include "support/check.h"
#include "support/scratch.h"

lac_solver_options iterative_options(const char *method, const char *preconditioner) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  options.preconditioner.method = preconditioner;
  return options;
}

iterative_system iterative_open(lac_context *ctx, const direct_case *c, const lac_solver_options *options) {
  iterative_system system = {direct_open(ctx, c, LAC_WIDTH_AUTO, options), NULL};
  CHECK_OK(lac_solver_factor(ctx, system.s.solver, system.s.values, &system.factor));
  return system;
}

void iterative_close(iterative_system *system) {
  lac_factor_destroy(&system->factor);
  direct_close(&system->s);
}

/// The largest |b - op(A) x| / |b| of a column, by the sketch.
static double iterative_rest(const direct_case *c, lac_form form, const ref *b, const ref *x) {
  int64_t k = b->meta.shape[b->meta.ndim - 1], n = c->s->rows;
  bool turns = form == LAC_TRANSPOSED || form == LAC_ADJOINT,
       conjugates = form == LAC_CONJUGATED || form == LAC_ADJOINT;
  double worst = 0;
  for (int64_t j = 0; j < k; j++) {
    size_t mark = scratch_mark();
    number *r = scratch((size_t)n * sizeof *r);
    double size = 0, rest = 0;
    for (int64_t i = 0; i < n; i++) r[i] = b->x[i * k + j];
    for (int64_t z = 0; z < c->s->nnz; z++) {
      int64_t to = turns ? c->s->col[z] : c->s->row[z], from = turns ? c->s->row[z] : c->s->col[z];
      r[to] -= (conjugates ? conj(c->a.x[z]) : c->a.x[z]) * x->x[from * k + j];
    }
    for (int64_t i = 0; i < n; i++) size += pow(cabs(b->x[i * k + j]), 2), rest += pow(cabs(r[i]), 2);
    if (size > 0) worst = fmax(worst, sqrt(rest / size));
    if (size == 0) worst = fmax(worst, sqrt(rest));
    scratch_release(mark);
  }
  return worst;
}

/// Solve with random b of k columns; the residual.
double iterative_residual(lac_context *ctx, const direct_case *c, const lac_factor *factor, lac_form form, int64_t k) {
  int64_t shape[] = {c->s->rows, k};
  lac_array *b = direct_random(ctx, c->a.meta.dtype, 2, shape, 77), *x = NULL;
  ref rb, rx;
  CHECK_OK(lac_array_create(ctx, c->a.meta.dtype, 2, shape, &x));
  CHECK_OK(lac_factor_solve(ctx, factor, b, form, x));
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return iterative_rest(c, form, &rb, &rx);
}

double iterative_asked(lac_dtype dtype) { return dtype == LAC_F32 || dtype == LAC_C64 ? 1e-5 : 1e-10; }

lac_solve_report iterative_run(lac_context *ctx, const lac_factor *factor, int64_t n, double fill) {
  lac_dtype dtype = lac_factor_meta(factor)->dtype;
  lac_array *b = direct_random(ctx, dtype, 2, (int64_t[]){n, 2}, 3), *x = NULL;
  lac_solve_report report = {0};
  if (fill != 1) CHECK_OK(lac_array_fill(ctx, b, fill, 0));
  CHECK_OK(lac_array_create(ctx, dtype, 2, (int64_t[]){n, 2}, &x));
  CHECK_OK(lac_factor_iterate(ctx, factor, b, NULL, LAC_PLAIN, x, &report));
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return report;
}
