// SPDX-License-Identifier: Apache-2.0
/// @file krylov_solve.c
/// op(A) x = b by iterating: products with a batch of matrices, their preconditioner, and what is said where the
/// tolerance is not reached.

#include <stdio.h>
#include <string.h>

#include "solvers/krylov/krylov_solver.h"
#include "solvers/options.h"
#include "solvers/precondition/preconditioner.h"
#include "solvers/vectors.h"

/// One solve: how the matrices of the factor, and those of its preconditioner, meet the items of the joint batch.
typedef struct solve_view {
  const lac_factor *f;
  const lac_batch *batch;  // operand 0: the values
  bool is_flat;            // values as [items, nnz] multiply items as they come
  lac_batch precondition;  // values of the preconditioner; its b and x are [count, n, k]
} solve_view;

// -- products --------------------------------------------------------------------------------------------------------

/// [count, n, k] as [*lead, n, k] over the same memory.
static lac_status solve_unfold(lac_context *ctx, const lac_batch *batch, const lac_array *x, lac_array **out) {
  int64_t shape[LAC_MAX_DIMS];

  memcpy(shape, batch->shape, (size_t)batch->ndim * sizeof *shape);
  memcpy(shape + batch->ndim, x->meta.shape + 1, 2 * sizeof *shape);
  return lac_array_reshape(ctx, (lac_array *)x, batch->ndim + 2, shape, out);
}

static lac_status solve_product(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  const solve_view *v = self;
  const lac_pattern *pattern = v->f->core->pattern;
  lac_array *wide_x = NULL, *wide_y = NULL;

  if (v->is_flat) {
    LAC_TRY(ctx->kernels->spmm(ctx, pattern, form, lac_krylov_of(v->f)->values, x, y));
    goto done;
  }
  LAC_TRY(solve_unfold(ctx, v->batch, x, &wide_x));
  LAC_TRY(solve_unfold(ctx, v->batch, y, &wide_y));
  LAC_TRY(ctx->kernels->spmm(ctx, pattern, form, v->f->values, wide_x, wide_y));
done:
  lac_array_destroy(&wide_x);
  lac_array_destroy(&wide_y);
  return status;
}

// -- the preconditioner ----------------------------------------------------------------------------------------------

/// The joint batch as a preconditioner meets it: one matrix serves all, or they are spread as those of the factor;
/// vectors are there for each item.
static void solve_batch_of(const lac_factor *m, const lac_batch *batch, lac_batch *out) {
  int64_t stride = 1;

  *out = *batch;
  for (int d = batch->ndim - 1; d >= 0; d--) {
    if (m->items == 1) out->stride[0][d] = 0;
    out->stride[1][d] = out->stride[2][d] = batch->shape[d] > 1 ? stride : 0;
    stride *= batch->shape[d];
  }
}

/// An inner iteration need not reach its tolerance.
static lac_status solve_by_factor(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y) {
  const solve_view *v = self;
  const lac_factor *m = lac_krylov_of(v->f)->m;
  lac_solve_job job = {
      .form = form, .only_reports = true, .batch = &v->precondition, .b = x, .x = y, .judged_from = LAC_UNJUDGED};
  lac_solve_report report;
  return m->table->solve(ctx, m, &job, &report);
}

static lac_status solve_by_function(lac_context *ctx, const void *self, lac_form form, const lac_array *x,
                                    lac_array *y) {
  const lac_precondition *p = &((const solve_view *)self)->f->core->options.preconditioner;
  return p->apply(ctx, p->apply_data, x, form, y);
}

static lac_linear solve_preconditioner(const solve_view *v) {
  const lac_factor *m = lac_krylov_of(v->f)->m;
  if (m)
    return (lac_linear){.apply = m->table->method == &lac_preconditioner_identity ? NULL : solve_by_factor, .self = v};
  return (lac_linear){.apply = v->f->core->options.preconditioner.apply ? solve_by_function : NULL, .self = v};
}

/// A factor preconditions from the right, and has as many columns as A: of a rectangle that does not fit A^H.
static lac_status solve_require_form(lac_context *ctx, const lac_factor *f, lac_form form) {
  lac_status status = LAC_OK;
  const lac_factor *m = lac_krylov_of(f)->m;

  if (!m || m->table->method == &lac_preconditioner_identity || !lac_form_transposes(form)) goto done;
  LAC_CHECK(
      f->core->rows == f->core->cols, LAC_ERR_UNSUPPORTED,
      "lac_factor_solve: the preconditioner's factor has the columns of a matrix that is not square, and does not "
      "fit its transpose; solve with the transposed matrix, or give preconditioner.apply");
done:
  return status;
}

// -- one run ---------------------------------------------------------------------------------------------------------

static solve_view solve_view_of(const lac_factor *f, const lac_batch *batch) {
  solve_view v = {.f = f, .batch = batch, .is_flat = f->items == 1 || f->items == batch->count};
  for (int64_t i = 0; v.is_flat && f->items > 1 && i < batch->count; i++) v.is_flat = lac_batch_item(batch, 0, i) == i;
  if (lac_krylov_of(f)->m) solve_batch_of(lac_krylov_of(f)->m, batch, &v.precondition);
  return v;
}

static lac_status solve_run(lac_context *ctx, const lac_factor *f, const lac_solve_job *job,
                            const lac_iteration *iteration, const lac_array *b, lac_array *x,
                            lac_solve_report *report) {
  const lac_krylov_factor *k = f->part;
  solve_view view = solve_view_of(f, job->batch);
  lac_linear matrix = {.apply = solve_product, .self = &view};
  lac_krylov_job run = {.a = f->core->pattern ? matrix : k->products,
                        .m = solve_preconditioner(&view),
                        .form = lac_form_of(job->form, k->is_hermitian),
                        .iteration = iteration,
                        .items = job->batch->count,
                        .rows = f->core->rows,
                        .cols = f->core->cols,
                        .width = b->meta.shape[2],
                        .dtype = f->meta.dtype,
                        .b = b,
                        .x = x,
                        .starts_at_zero = !job->x0,
                        .saves_memory = f->core->options.low_memory,
                        .largest = k->largest,
                        .onlooker = job->onlooker,
                        .spent = job->spent};
  return k->method->run(ctx, &run, report);
}

void lac_krylov_explain(const lac_factor *f, bool is_derivative, const lac_solve_report *r, char *text, size_t size) {
  snprintf(text, size, "did not reach the tolerance%s: %s%s %s with %s",
           is_derivative ? " in the solve of a derivative" : "", r->reason,
           r->ending == LAC_ENDING_DIVERGED ? ", in" : " of", lac_krylov_of(f)->method->name,
           lac_factor_reported(f).preconditioner);
}

lac_status lac_krylov_fail(lac_context *ctx, const lac_solve_report *report, const char *text) {
  const char *way =
      "; raise max_iterations or rtol, choose another preconditioner or a direct method, and of a singular "
      "matrix give the null space (iteration.null_space)";

  if (report->ending == LAC_ENDING_INTERRUPTED)
    way = "; call again to begin anew, or accept_unconverged to take what there is";
  if (report->ending == LAC_ENDING_DIVERGED) way = "";  // more iterations make nothing finite
  return lac_context_fail(ctx, lac_ending_status(report->ending), __func__, "lac_factor_solve: %s%s", text, way);
}

static lac_status solve_conclude(lac_context *ctx, const lac_factor *f, const lac_solve_job *job,
                                 const lac_solve_report *report) {
  char text[LAC_SENTENCE_SIZE / 2];

  if (report->ending == LAC_ENDING_CONVERGED || job->only_reports || f->core->options.iteration.accept_unconverged)
    return LAC_OK;
  lac_krylov_explain(f, job->is_derivative, report, text, sizeof text);
  return lac_krylov_fail(ctx, report, text);
}

lac_status lac_krylov_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_krylov_factor *k = f->part;
  double begin = lac_seconds();
  lac_iteration iteration = lac_options_iteration(&f->core->options.iteration, f->meta.dtype, job->is_derivative);
  lac_array *b = NULL, *x = NULL;

  *report = (lac_solve_report){.ending = LAC_ENDING_CONVERGED};
  snprintf(report->reason, sizeof report->reason, "there is nothing to solve");
  LAC_TRY(lac_factor_require_fresh(ctx, "lac_factor_solve", f));
  LAC_TRY(solve_require_form(ctx, f, job->form));
  if (!job->x0) LAC_TRY(ctx->backend->fill(ctx, job->x, 0, 0));
  if (job->x0 && job->x0 != job->x) LAC_TRY(ctx->backend->copy(ctx, job->x0, job->x));
  if (job->x->count == 0 || job->b->count == 0) goto done;
  LAC_TRY(lac_batch_spread(ctx, job->batch, 1, job->b, &b));
  LAC_TRY(lac_batch_spread(ctx, job->batch, 2, job->x, &x));
  if (ctx->stir) LAC_TRY(lac_krylov_stir(ctx, &iteration, &b));
  LAC_TRY(solve_run(ctx, f, job, &iteration, b, x, report));
  atomic_fetch_add(&k->solves, 1);
  atomic_fetch_add(&k->iterations, report->iterations - job->spent);
  if (*report->warning) lac_context_warn(ctx, "lac_factor_solve: %s", report->warning);
  LAC_TRY(solve_conclude(ctx, f, job, report));
done:
  report->seconds = lac_seconds() - begin;
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return status;
}
