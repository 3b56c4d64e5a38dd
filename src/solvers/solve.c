// SPDX-License-Identifier: Apache-2.0
/// @file solve.c
/// What factors are asked: solves, reports of solves, determinants, inverses, condition numbers. The kind of the factor
/// does the work, or its partner where the kind cannot.

#include <math.h>

#include "core/number_at.h"
#include "solvers/options.h"
#include "solvers/vectors.h"

// -- solves ----------------------------------------------------------------------------------------------------------

static void solve_remember(lac_context *ctx, const lac_factor *factor, const lac_solve_report *report) {
  lac_solver_core *core = factor->core;
  lac_solve_tell(ctx, report);
  pthread_mutex_lock(&core->lock);
  core->last = *report;
  pthread_mutex_unlock(&core->lock);
}

lac_status lac_solver_last_solve(const lac_solver *solver, lac_solve_report *out) {
  lac_context *ctx = NULL;
  lac_status status = LAC_OK;
  lac_solve_report last;

  LAC_CHECK(solver, LAC_ERR_ARG, "lac_solver_last_solve: the solver is NULL");
  LAC_TRY(lac_sized_check(ctx, "lac_solver_last_solve", LAC_SOLVE_REPORT, out));
  pthread_mutex_lock(&solver->core->lock);
  last = solver->core->last;
  pthread_mutex_unlock(&solver->core->lock);
  lac_sized_give(LAC_SOLVE_REPORT, &last, out);
done:
  return status;
}

lac_status lac_context_last_solve(const lac_context *context, lac_solve_report *out) {
  lac_context *ctx = NULL;
  lac_status status = LAC_OK;

  LAC_CHECK(context, LAC_ERR_ARG, "lac_context_last_solve: the context is NULL");
  LAC_TRY(lac_sized_check(ctx, "lac_context_last_solve", LAC_SOLVE_REPORT, out));
  lac_sized_give(LAC_SOLVE_REPORT, &context->last_solve, out);
done:
  return status;
}

void lac_solve_name(const lac_factor *factor, lac_solve_report *report) {
  lac_report made = lac_factor_reported(factor);
  report->method = made.method, report->preconditioner = made.preconditioner;
}

/// What a report says that was asked for beforehand: the residual, measured, and what solved.
static lac_status solve_complete(lac_context *ctx, const lac_factor *factor, const lac_solve_job *job,
                                 lac_solve_report *report) {
  lac_status status = LAC_OK;

  if (report->residual == LAC_UNMEASURED) LAC_TRY(lac_factor_measure(ctx, factor, job, report));
  lac_solve_name(factor, report);
done:
  return status;
}

lac_status lac_factor_solve_job(lac_context *ctx, const lac_factor *factor, lac_solve_job job) {
  lac_status status = LAC_OK;
  double begin = lac_seconds();
  lac_batch batch;
  lac_solve_report report = {.residual = LAC_UNMEASURED};

  LAC_TRY(lac_factor_fit(ctx, "lac_factor_solve", factor, job.form, job.b, job.x, &batch));
  job.batch = &batch;
  (void)lac_array_edit(job.x);  // a new version
  status = factor->table->solve(ctx, factor, &job, &report);
  report.method = report.preconditioner = "";
  if (status == LAC_OK && job.wants_residual) status = solve_complete(ctx, factor, &job, &report);
  report.seconds = lac_seconds() - begin;
  solve_remember(ctx, factor, &report);
  LAC_TRY(status);
done:
  return status;
}

lac_status lac_factor_solve(lac_context *ctx, const lac_factor *factor, const lac_array *b, lac_form op, lac_array *x) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_context_faults(ctx));
  LAC_TRY(lac_factor_solve_job(ctx, factor, (lac_solve_job){.form = op, .b = b, .x = x}));
done:
  return status;
}

/// |b - op(A) x| / |b| of the worst column.
static lac_status solve_measure(lac_context *ctx, const lac_factor *f, const lac_solve_job *job,
                                lac_solve_report *report) {
  lac_status status = LAC_OK;
  const lac_meta *meta = &job->b->meta;
  int64_t rows = meta->shape[meta->ndim - 2], k = meta->shape[meta->ndim - 1], count = job->batch->count;
  lac_array *values = NULL, *flat = NULL, *r = NULL, *wide = NULL;
  lac_meta shape = job->x->meta;
  double *sizes = NULL, *rest = NULL;

  shape.shape[shape.ndim - 2] = rows;
  LAC_ALLOC(sizes, count * k);
  LAC_ALLOC(rest, count * k);
  LAC_TRY(lac_factor_values(ctx, f, &values));
  LAC_TRY(lac_array_make(ctx, &shape, &r));
  LAC_TRY(ctx->kernels->spmm(ctx, f->core->pattern, job->form, values, job->x, r));
  LAC_TRY(lac_batch_spread(ctx, job->batch, 1, job->b, &flat));
  LAC_TRY(lac_column_norms(ctx, flat, count, rows, k, sizes));
  LAC_TRY(lac_array_reshape(ctx, r, 3, flat->meta.shape, &wide));
  LAC_TRY(ctx->kernels->axpy(ctx, -1, 0, flat, wide));
  LAC_TRY(lac_column_norms(ctx, wide, count, rows, k, rest));
  report->residual = 0, report->first_residual = 1;
  for (int64_t i = 0; i < count * k; i++) {
    double share = sizes[i] > 0 ? rest[i] / sizes[i] : rest[i];
    if (share > report->residual || (isnan(share) && !isnan(report->residual)))
      report->residual = share, report->item = i / k, report->column = i % k;
  }
done:
  lac_free(sizes);
  lac_free(rest);
  lac_array_destroy(&values);
  lac_array_destroy(&flat);
  lac_array_destroy(&r);
  lac_array_destroy(&wide);
  return status;
}

/// What a kind did not measure itself. What was applied once has converged if it is within the tolerance.
lac_status lac_factor_measure(lac_context *ctx, const lac_factor *f, const lac_solve_job *job,
                              lac_solve_report *report) {
  lac_status status = LAC_OK;
  double rtol = lac_options_iteration(&f->core->options.iteration, f->meta.dtype, false).rtol;

  report->residual = report->first_residual = 0;
  if (job->x->count > 0 && job->b->count > 0) LAC_TRY(solve_measure(ctx, f, job, report));
  if (f->table->flags & LAC_APPROXIMATES && !(report->residual <= rtol)) report->ending = LAC_ENDING_LIMIT;
done:
  return status;
}

lac_status lac_solve_check_start(lac_context *ctx, const char *function, const lac_array *x0, const lac_array *x) {
  lac_status status = LAC_OK;

  if (!x0) goto done;
  LAC_TRY(lac_solver_require_here(ctx, function, "x0", x0));
  LAC_CHECK(lac_meta_same(&x0->meta, &x->meta), LAC_ERR_SHAPE, "%s: the start x0 must have the shape and dtype of x",
            function);
  LAC_CHECK(!lac_array_overlaps(x0, x), LAC_ERR_ARG, "%s: x0 and x share memory; give x memory of its own", function);
done:
  return status;
}

lac_status lac_factor_iterate(lac_context *ctx, const lac_factor *factor, const lac_array *b, const lac_array *x0,
                              lac_form op, lac_array *x, lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_batch batch;
  lac_solve_job job = {.form = op, .only_reports = true, .wants_residual = true, .b = b, .x0 = x0, .x = x};

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_context_faults(ctx));
  if (report) LAC_TRY(lac_sized_check(ctx, "lac_factor_iterate", LAC_SOLVE_REPORT, report));
  LAC_TRY(lac_factor_fit(ctx, "lac_factor_iterate", factor, op, b, x, &batch));
  LAC_TRY(lac_solve_check_start(ctx, "lac_factor_iterate", x0, x));
  LAC_TRY(lac_factor_solve_job(ctx, factor, job));
  if (report) lac_sized_give(LAC_SOLVE_REPORT, &ctx->last_solve, report);
done:
  return status;
}

// -- determinants, inverses, condition numbers -----------------------------------------------------------------------

lac_status lac_factor_logdet(lac_context *ctx, const lac_factor *factor, lac_array *logabs, lac_array *sign) {
  lac_status status = LAC_OK;
  const lac_factor *f = factor;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_logdet: the factor is NULL");
  LAC_TRY(lac_factor_fit_batch(ctx, __func__, factor, logabs, lac_dtype_real(factor->meta.dtype), "logabs"));
  LAC_TRY(lac_factor_fit_batch(ctx, __func__, factor, sign, factor->meta.dtype, "sign"));
  LAC_CHECK(logabs->storage != sign->storage, LAC_ERR_ARG,
            "lac_factor_logdet: logabs and sign share memory; give each its own");
  while (f && !f->table->logdet) LAC_TRY(lac_factor_partner(ctx, f, NULL, &f));
  LAC_CHECK(f, LAC_ERR_UNSUPPORTED, "lac_factor_logdet: no method gives the determinant");
  LAC_TRY(f->table->logdet(ctx, f, logabs, sign));
done:
  return status;
}

/// A number of an array of one number, on the host.
static lac_status solve_read_number(lac_context *ctx, const lac_array *array, c128 *out) {
  lac_status status = LAC_OK;
  c128 room = 0;

  LAC_TRY(lac_array_fetch(ctx, array, &room));
  *out = lac_number_get(array->meta.dtype, &room, 0);
done:
  return status;
}

lac_status lac_factor_slogdet(lac_context *ctx, const lac_factor *factor, double *logabs, double *sign) {
  lac_status status = LAC_OK;
  lac_array *size = NULL, *phase = NULL;
  c128 size_there, phase_there;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor && logabs, LAC_ERR_ARG, "lac_factor_slogdet: %s is NULL", factor ? "logabs" : "the factor");
  LAC_CHECK(factor->items == 1, LAC_ERR_SHAPE,
            "lac_factor_slogdet: the factor is of a batch of %lld matrices; lac_factor_logdet takes arrays for them",
            (long long)factor->items);
  LAC_TRY(lac_array_create(ctx, lac_dtype_real(factor->meta.dtype), 0, NULL, &size));
  LAC_TRY(lac_array_create(ctx, factor->meta.dtype, 0, NULL, &phase));
  LAC_TRY(lac_factor_logdet(ctx, factor, size, phase));
  LAC_TRY(solve_read_number(ctx, size, &size_there));
  LAC_TRY(solve_read_number(ctx, phase, &phase_there));
  *logabs = creal(size_there);
  if (sign) sign[0] = creal(phase_there), sign[1] = cimag(phase_there);
done:
  lac_array_destroy(&size);
  lac_array_destroy(&phase);
  return status;
}

lac_status lac_factor_selected_inverse(lac_context *ctx, const lac_factor *factor, lac_array *values) {
  lac_status status = LAC_OK;
  const lac_factor *f = factor;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_selected_inverse: the factor is NULL");
  LAC_TRY(lac_factor_require_here(ctx, "lac_factor_selected_inverse", factor));
  LAC_TRY(lac_solver_require_here(ctx, "lac_factor_selected_inverse", "values", values));
  LAC_CHECK(values->meta.dtype == factor->meta.dtype, LAC_ERR_DTYPE,
            "lac_factor_selected_inverse: the factor is %s and values are %s; they must agree",
            lac_dtype_name(factor->meta.dtype), lac_dtype_name(values->meta.dtype));
  LAC_CHECK(lac_factor_same_shape(&factor->meta, &values->meta, 1), LAC_ERR_SHAPE,
            "lac_factor_selected_inverse: values must have the shape of those that were factored, %s; they have %s",
            lac_shape_text(factor->meta.ndim, factor->meta.shape, text),
            lac_shape_text(values->meta.ndim, values->meta.shape, other));
  while (f && !f->table->selected_inverse) LAC_TRY(lac_factor_partner(ctx, f, NULL, &f));
  LAC_CHECK(f, LAC_ERR_UNSUPPORTED, "lac_factor_selected_inverse: no method gives the inverse");
  LAC_TRY(f->table->selected_inverse(ctx, f, values));
done:
  return status;
}

lac_status lac_factor_rcond(lac_context *ctx, const lac_factor *factor, lac_array *rcond) {
  lac_status status = LAC_OK;
  const lac_factor *f = factor;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_rcond: the factor is NULL");
  LAC_TRY(lac_factor_fit_batch(ctx, __func__, factor, rcond, lac_dtype_real(factor->meta.dtype), "rcond"));
  while (f && !f->table->rcond) LAC_TRY(lac_factor_partner(ctx, f, NULL, &f));
  LAC_CHECK(f, LAC_ERR_UNSUPPORTED, "lac_factor_rcond: no method gives the condition number");
  LAC_TRY(f->table->rcond(ctx, f, rcond));
done:
  return status;
}
