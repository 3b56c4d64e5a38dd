// SPDX-License-Identifier: Apache-2.0
/// @file iterative_solve.c
/// op(A) x = b by iterating, and what becomes of it where the tolerance is not reached.
///
/// A Hermitian A is its own adjoint: then A^H and A^T are A and conj(A), whose rows lie ready.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/number_at.h"
#include "solvers/krylov/iterative.h"

// -- one run ---------------------------------------------------------------------------------------------------------

/// b [*, m, k] as [count, m, k]: itself, or spread over the joint batch.
static lac_status solve_spread(lac_context *ctx, const lac_batch *batch, int operand, const lac_array *b,
                               lac_array **out) {
  lac_status status = LAC_OK;
  int64_t rows = b->meta.shape[b->meta.ndim - 2], k = b->meta.shape[b->meta.ndim - 1], items = 1;
  lac_array *flat = NULL, *spread = NULL, *from = NULL, *to = NULL;

  for (int d = 0; d < b->meta.ndim - 2; d++) items *= b->meta.shape[d];
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)b, 3, (int64_t[]){items, rows, k}, &flat));
  if (items == batch->count) {
    *out = flat, flat = NULL;
    goto done;
  }
  LAC_TRY(lac_array_create(ctx, b->meta.dtype, 3, (int64_t[]){batch->count, rows, k}, &spread));
  for (int64_t i = 0; i < batch->count; i++) {
    LAC_TRY(lac_iterative_items(ctx, flat, lac_batch_item(batch, operand, i), 1, &from));
    LAC_TRY(lac_iterative_items(ctx, spread, i, 1, &to));
    LAC_TRY(ctx->backend->copy(ctx, from, to));
    lac_array_destroy(&from);
    lac_array_destroy(&to);
  }
  *out = spread, spread = NULL;
done:
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  lac_array_destroy(&flat);
  lac_array_destroy(&spread);
  return status;
}

static lac_side solve_side(const lac_factor *f, lac_side side) {
  if (!f->iterative->is_hermitian || !lac_side_transposes(side)) return side;
  return lac_side_conjugates(side) ? LAC_N : LAC_C;
}

static bool solve_has_preconditioner(const lac_iterative *it) {
  return it->inner || (it->table ? it->part && it->table != &lac_preconditioner_identity : true);
}

static lac_status solve_krylov(lac_context *ctx, const lac_iterative_view *view, lac_side side, bool is_derivative,
                               const lac_array *b, bool starts_at_zero, lac_array *x, lac_solve_report *report) {
  const lac_factor *f = view->factor;
  const lac_pattern *pattern = f->core->pattern;
  lac_iteration iteration = lac_iteration_for(&f->core->options.iteration, f->meta.dtype, is_derivative);
  lac_krylov_job job = {.a = {lac_iterative_product, view},
                        .side = solve_side(f, side),
                        .iteration = &iteration,
                        .items = view->count,
                        .rows = pattern->rows,
                        .cols = pattern->cols,
                        .width = b->meta.shape[2],
                        .dtype = f->meta.dtype,
                        .b = b,
                        .x = x,
                        .starts_at_zero = starts_at_zero};

  if (solve_has_preconditioner(f->iterative)) job.m = (lac_linear){lac_iterative_precondition, view};
  return f->iterative->krylov->run(ctx, &job, report);
}

static lac_status solve_start(lac_context *ctx, const lac_array *x0, lac_array *x) {
  return x0 ? ctx->backend->copy(ctx, x0, x) : ctx->backend->fill(ctx, x, 0, 0);
}

lac_status lac_iterative_run(lac_context *ctx, const lac_factor *f, lac_side side, bool is_derivative,
                             const lac_batch *batch, const lac_array *b, const lac_array *x0, lac_array *x,
                             lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_iterative_view view = lac_iterative_view_of(f, batch);
  double begin = lac_solver_seconds();
  lac_array *flat_b = NULL, *flat_x = NULL;

  *report = (lac_solve_report){.ending = LAC_CONVERGED};
  snprintf(report->reason, sizeof report->reason, "there is nothing to solve");
  LAC_TRY(lac_iterative_require_fresh(ctx, "lac_factor_solve", f));
  LAC_TRY(solve_start(ctx, x0, x));
  if (x->count == 0 || b->count == 0) goto done;
  LAC_TRY(solve_spread(ctx, batch, 1, b, &flat_b));
  LAC_TRY(solve_spread(ctx, batch, 2, x, &flat_x));
  if (f->iterative->krylov) {
    LAC_TRY(solve_krylov(ctx, &view, side, is_derivative, flat_b, !x0, flat_x, report));
  } else {
    LAC_TRY(lac_iterative_precondition(ctx, &view, solve_side(f, side), flat_b, flat_x));
    snprintf(report->reason, sizeof report->reason, "%s was applied once", f->iterative->table->name);
  }
  atomic_fetch_add(&f->iterative->solves, 1);
  atomic_fetch_add(&f->iterative->iterations, report->iterations);
done:
  report->seconds = lac_solver_seconds() - begin;
  lac_array_destroy(&flat_b);
  lac_array_destroy(&flat_x);
  return status;
}

// -- what was not reached --------------------------------------------------------------------------------------------

static void solve_explain(const lac_factor *f, bool is_derivative, const lac_solve_report *r, char *text, size_t size) {
  lac_iteration asked = lac_iteration_for(&f->core->options.iteration, f->meta.dtype, is_derivative);
  lac_report names = lac_iterative_report(f);
  snprintf(
      text, size,
      "did not reach the tolerance%s: relative residual %.2e after %lld iterations of %s with %s (asked: %.1e%s): %s",
      is_derivative ? " in the solve of a derivative" : "", r->residual, (long long)r->iterations,
      f->iterative->krylov->name, names.preconditioner, asked.rtol, asked.atol > 0 ? " or atol" : "", r->reason);
}

/// A direct factor of the same values, if there is room for one: from here on it serves this factor.
static lac_status solve_fall_back(lac_context *ctx, const lac_factor *f, const char *text) {
  lac_status status = LAC_OK, made;
  lac_iterative *it = f->iterative;
  const lac_factor *partner = NULL;
  char other[LAC_SENTENCE_SIZE / 2];

  made = lac_factor_partner(ctx, f, &partner);
  if (made != LAC_OK) snprintf(other, sizeof other, "%s", lac_context_error(ctx));
  LAC_CHECK(made == LAC_OK || made == LAC_ERR_MEMORY, made, "lac_factor_solve: %s; nor would a direct solver do: %s",
            text, other);
  LAC_CHECK(made == LAC_OK, LAC_ERR_CONVERGENCE, "lac_factor_solve: %s; nor is there room for a direct factor: %s",
            text, other);
  pthread_mutex_lock(&((lac_factor *)f)->lock);
  if (!atomic_load(&it->has_fallen)) {
    snprintf(it->fallen, sizeof it->fallen, "%.120s; iterating %.260s", partner->reason, text);
    atomic_store(&it->has_fallen, true);
  }
  pthread_mutex_unlock(&((lac_factor *)f)->lock);
done:
  return status;
}

lac_status lac_iterative_solve(lac_context *ctx, const lac_factor *f, lac_side side, bool is_derivative,
                               const lac_batch *batch, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  lac_solve_report report;
  char text[LAC_SENTENCE_SIZE / 2];

  if (!atomic_load(&f->iterative->has_fallen)) {
    LAC_TRY(lac_iterative_run(ctx, f, side, is_derivative, batch, b, NULL, x, &report));
    if (report.ending == LAC_CONVERGED || f->core->options.iteration.accept_unconverged) goto done;
    solve_explain(f, is_derivative, &report, text, sizeof text);
    LAC_CHECK(
        lac_iterative_may_go_direct(f->core) && report.ending != LAC_INTERRUPTED, LAC_ERR_CONVERGENCE,
        "lac_factor_solve: %s; raise max_iterations or rtol, choose another preconditioner, or use a direct method",
        text);
    LAC_TRY(solve_fall_back(ctx, f, text));
    if (report.ending != LAC_DIVERGED) atomic_store(&f->core->has_failed, true);  // that may be b's fault
  }
  LAC_TRY(lac_iterative_require_fresh(ctx, "lac_factor_solve", f));
  LAC_TRY(lac_factor_solve(ctx, f->partner, side, b, x));
done:
  return status;
}

// -- residuals -------------------------------------------------------------------------------------------------------

/// Norms of the columns of [count, m, k], on the host.
static lac_status solve_norms(lac_context *ctx, const lac_array *r, void *host) {
  lac_status status = LAC_OK;
  lac_dtype real = lac_dtype_real(r->meta.dtype);
  lac_array *norms = NULL;

  LAC_CHECK(ctx->kernels->reduce, LAC_ERR_UNSUPPORTED, "lac_factor_iterate: the backend %s has no norms",
            lac_context_backend(ctx));
  LAC_TRY(lac_array_create(ctx, real, 2, (int64_t[]){r->meta.shape[0], r->meta.shape[2]}, &norms));
  LAC_TRY(ctx->kernels->reduce(ctx, LAC_REDUCE_NORM, r, 1u << 1, norms));
  LAC_TRY(lac_array_read(ctx, norms, host));
done:
  lac_array_destroy(&norms);
  return status;
}

static void solve_worst(const void *sizes, const void *left, lac_dtype real, int64_t count, int64_t k,
                        lac_solve_report *report) {
  report->residual = 0, report->first_residual = 1;
  for (int64_t i = 0; i < count * k; i++) {
    double size = creal(lac_number_get(real, sizes, i)), rest = creal(lac_number_get(real, left, i));
    double share = size > 0 ? rest / size : rest;
    if (share > report->residual || (isnan(share) && !isnan(report->residual)))
      report->residual = share, report->item = i / k, report->column = i % k;
  }
}

/// |b - op(A) x| / |b| of the worst column.
static lac_status solve_measure(lac_context *ctx, const lac_factor *f, lac_side side, const lac_batch *batch,
                                const lac_array *b, const lac_array *x, lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_dtype real = lac_dtype_real(f->meta.dtype);
  lac_array *values = NULL, *flat = NULL, *wide = NULL, *r = NULL;
  lac_meta meta = x->meta;
  char *host = NULL;
  size_t bytes = (size_t)(batch->count * b->meta.shape[b->meta.ndim - 1]) * lac_dtype_size(real);

  meta.shape[meta.ndim - 2] = b->meta.shape[b->meta.ndim - 2];
  LAC_ALLOC(host, 2 * bytes + 1);
  LAC_TRY(lac_factor_values(ctx, f, &values));
  LAC_TRY(lac_array_make(ctx, &meta, &r));
  LAC_TRY(ctx->kernels->spmm(ctx, f->core->pattern, side, values, x, r));
  LAC_TRY(solve_spread(ctx, batch, 1, b, &flat));
  LAC_TRY(solve_norms(ctx, flat, host));
  LAC_TRY(solve_spread(ctx, batch, 2, r, &wide));
  LAC_TRY(ctx->kernels->axpy(ctx, -1, 0, flat, wide));
  LAC_TRY(solve_norms(ctx, wide, host + bytes));
  solve_worst(host, host + bytes, real, batch->count, b->meta.shape[b->meta.ndim - 1], report);
done:
  lac_free(host);
  lac_array_destroy(&values);
  lac_array_destroy(&flat);
  lac_array_destroy(&wide);
  lac_array_destroy(&r);
  return status;
}

/// A direct factor, or a preconditioner applied once.
static lac_status iterate_once(lac_context *ctx, const lac_factor *f, lac_side side, const lac_batch *batch,
                               const lac_array *b, lac_array *x, lac_solve_report *report) {
  lac_status status = LAC_OK;
  double begin = lac_solver_seconds(), rtol = lac_iteration_for(&f->core->options.iteration, f->meta.dtype, false).rtol;
  bool is_direct = !f->iterative || atomic_load(&f->iterative->has_fallen);

  *report = (lac_solve_report){.ending = LAC_CONVERGED};
  snprintf(report->reason, sizeof report->reason, "%s", is_direct ? "solved by a direct factor" : "applied once");
  LAC_TRY(lac_factor_solve(ctx, f, side, b, x));
  if (x->count > 0 && b->count > 0) LAC_TRY(solve_measure(ctx, f, side, batch, b, x, report));
  if (!is_direct && !(report->residual <= rtol)) report->ending = LAC_LIMIT;
  report->seconds = lac_solver_seconds() - begin;
done:
  return status;
}

lac_status lac_factor_iterate(lac_context *ctx, const lac_factor *factor, lac_side side, const lac_array *b,
                              const lac_array *x0, lac_array *x, lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_batch batch;
  lac_solve_report own;

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_factor_solve_check(ctx, "lac_factor_iterate", factor, side, b, x, &batch));
  if (x0) {
    LAC_TRY(lac_solver_require_here(ctx, "lac_factor_iterate", x0));
    LAC_CHECK(lac_meta_same(&x0->meta, &x->meta), LAC_ERR_SHAPE,
              "lac_factor_iterate: the start x0 must have the shape and dtype of x");
    LAC_CHECK(x0->storage != x->storage, LAC_ERR_ARG,
              "lac_factor_iterate: x0 and x share memory; give x memory of its own");
  }
  if (factor->iterative && factor->iterative->krylov && !atomic_load(&factor->iterative->has_fallen)) {
    LAC_TRY(lac_iterative_run(ctx, factor, side, false, &batch, b, x0, x, &own));
  } else {
    LAC_TRY(iterate_once(ctx, factor, side, &batch, b, x, &own));
  }
  if (report) *report = own;
done:
  return status;
}
