// SPDX-License-Identifier: Apache-2.0
/// @file precondition.c
/// Preconditioners as kinds of solvers: a factor is the set-up, a solve applies it once.
///
/// Matrices and right-hand sides broadcast, so that a matrix may serve several items of a batch; a preconditioner wants
/// one item for each of its matrices, in order. It gets them in rounds: each matrix serves equally many items.

#include <stdio.h>
#include <string.h>

#include "core/stop.h"
#include "solvers/options.h"
#include "solvers/precondition/preconditioner.h"
#include "solvers/vectors.h"

// -- cores -----------------------------------------------------------------------------------------------------------

static lac_status precondition_analyse(lac_context *ctx, lac_solver_core *core) {
  return lac_options_check_iterating(ctx, core->pattern, &core->options);
}

static void precondition_forget(lac_solver_core *core) { core->part = NULL; }

static void precondition_foresee(const lac_solver_core *core, lac_report *report) { (void)core, (void)report; }

static bool precondition_is_here(const lac_context *ctx, const lac_solver_table *table, const lac_solver_core *core) {
  const lac_preconditioner_table *method = table->method;
  return !method->is_here || method->is_here((lac_context *)ctx, core->pattern, &core->options);
}

// -- setting up ------------------------------------------------------------------------------------------------------

static void precondition_destroy(lac_factor *f) {
  lac_precondition_factor *p = f->part;
  if (!p) return;
  if (p->part) p->table->destroy(p->part);
  lac_array_destroy(&p->values);
  lac_array_destroy(&p->largest);
  lac_free(p);
  f->part = NULL;
}

/// From what there is where that can be refreshed, else from nothing.
static lac_status precondition_set_up(lac_context *ctx, const lac_setup *setup, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK, refreshed = LAC_ERR_ARG;
  lac_precondition_factor *p = f->part;
  const void *old = like ? lac_precondition_of(like)->part : NULL;

  if (f->items == 0 || f->core->rows == 0 || f->core->rows != f->core->cols) goto done;
  if (old && p->table->refresh) refreshed = p->table->refresh(ctx, setup, old, &p->part);
  if (lac_status_is_final(refreshed)) LAC_TRY(refreshed);
  if (refreshed == LAC_OK) {
    atomic_fetch_add(&f->core->counts->refreshes, 1);
  } else {
    LAC_TRY(p->table->create(ctx, setup, &p->part));
    atomic_fetch_add(&f->core->counts->setups, 1);
  }
  p->table->report(p->part, &p->finding);
  snprintf(f->warning, sizeof f->warning, "%s", p->finding.warning);
done:
  return status;
}

static lac_status precondition_factor(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK;
  lac_precondition_factor *p = NULL;
  lac_surveyed seen = {0};
  lac_setup setup;

  LAC_ALLOC(p, 1);
  f->part = p;
  p->table = f->core->table->method;
  LAC_TRY(lac_array_reshape(ctx, f->values, 2, (int64_t[]){f->items, a->pattern->nnz}, &p->values));
  LAC_TRY(lac_surveyed_make(ctx, f, a, &seen));
  p->is_hermitian = seen.survey.asymmetric < 0;
  p->largest = lac_array_retain(seen.largest);
  setup = (lac_setup){.pattern = a->pattern,
                      .values = p->values,
                      .options = &f->core->options,
                      .is_hermitian = p->is_hermitian,
                      .largest = p->largest,
                      .spread = seen.survey.spread,
                      .nodes = a->nodes};
  lac_factor_say(f, "%s", f->core->why);
  LAC_TRY(precondition_set_up(ctx, &setup, like, f));
done:
  lac_surveyed_drop(&seen);
  return status;
}

// -- applying it -----------------------------------------------------------------------------------------------------

/// How the matrices of a factor meet the items of a joint batch; b and x are [count, n, k].
typedef struct precondition_view {
  const lac_precondition_factor *p;
  const lac_batch *batch;
  int64_t items;  // matrices
  lac_form form;
  const lac_array *b;
  lac_array *x;
} precondition_view;

static lac_status precondition_some(lac_context *ctx, const precondition_view *v, int64_t first) {
  lac_status status = LAC_OK;
  lac_array *b = NULL, *x = NULL;

  LAC_TRY(lac_batch_items(ctx, v->b, first, v->items, &b));
  LAC_TRY(lac_batch_items(ctx, v->x, first, v->items, &x));
  LAC_TRY(v->p->table->apply(ctx, v->p->part, v->form, b, x));
done:
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return status;
}

/// One round: matrix m serves item served[m].
static lac_status precondition_gathered(lac_context *ctx, const precondition_view *v, const int64_t *served) {
  lac_status status = LAC_OK;
  lac_meta meta = v->b->meta;
  lac_array *b = NULL, *x = NULL;

  meta.shape[0] = v->items;
  LAC_TRY(lac_array_make(ctx, &meta, &b));
  LAC_TRY(lac_array_make(ctx, &meta, &x));
  for (int64_t m = 0; m < v->items; m++) LAC_TRY(lac_batch_move(ctx, v->b, served[m], b, m));
  LAC_TRY(v->p->table->apply(ctx, v->p->part, v->form, b, x));
  for (int64_t m = 0; m < v->items; m++) LAC_TRY(lac_batch_move(ctx, x, m, v->x, served[m]));
done:
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return status;
}

static lac_status precondition_rounds(lac_context *ctx, const precondition_view *v) {
  lac_status status = LAC_OK;
  int64_t count = v->batch->count, *served = NULL, *rounds = NULL;  // [rounds, items]; of each matrix, so far

  LAC_ALLOC(served, count);
  LAC_ALLOC(rounds, v->items);
  for (int64_t i = 0; i < count; i++) {
    int64_t m = lac_batch_item(v->batch, 0, i);
    served[rounds[m]++ * v->items + m] = i;
  }
  for (int64_t first = 0; first < count; first += v->items) LAC_TRY(precondition_gathered(ctx, v, served + first));
done:
  lac_free(served);
  lac_free(rounds);
  return status;
}

static lac_status precondition_apply(lac_context *ctx, const precondition_view *v) {
  lac_status status = LAC_OK;
  bool is_plain = v->items == v->batch->count;

  for (int64_t i = 0; is_plain && i < v->items; i++) is_plain = lac_batch_item(v->batch, 0, i) == i;
  if (is_plain) {
    LAC_TRY(v->p->table->apply(ctx, v->p->part, v->form, v->b, v->x));
  } else if (v->items == 1) {
    for (int64_t i = 0; i < v->batch->count; i++) LAC_TRY(precondition_some(ctx, v, i));
  } else {
    LAC_TRY(precondition_rounds(ctx, v));
  }
done:
  return status;
}

static lac_status precondition_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job,
                                     lac_solve_report *report) {
  lac_status status = LAC_OK;
  const lac_precondition_factor *p = f->part;
  precondition_view view = {p, job->batch, f->items, lac_form_of(job->form, p->is_hermitian), NULL, NULL};
  lac_array *b = NULL, *x = NULL;

  *report = (lac_solve_report){.ending = LAC_ENDING_CONVERGED, .residual = LAC_UNMEASURED};
  snprintf(report->reason, sizeof report->reason, "%s was applied once", p->table->name);
  LAC_TRY(lac_factor_require_fresh(ctx, "lac_factor_solve", f));
  LAC_CHECK(f->core->rows == f->core->cols, LAC_ERR_SHAPE,
            "lac_factor_solve: %s is a preconditioner, and a matrix of %lld x %lld has none to apply", p->table->name,
            (long long)f->core->rows, (long long)f->core->cols);
  if (job->x->count == 0 || job->b->count == 0) {
    LAC_TRY(ctx->backend->fill(ctx, job->x, 0, 0));
    goto done;
  }
  LAC_TRY(lac_batch_spread(ctx, job->batch, 1, job->b, &b));
  LAC_TRY(lac_batch_spread(ctx, job->batch, 2, job->x, &x));
  view.b = b, view.x = x;
  LAC_TRY(precondition_apply(ctx, &view));
done:
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return status;
}

// -- what it says ----------------------------------------------------------------------------------------------------

static void precondition_report(const lac_factor *f, lac_report *report) {
  const lac_precondition_factor *p = f->part;
  report->factor_bytes =
      lac_factor_bytes_of(f->core, f->meta.dtype, f->items, p->finding.bytes) - lac_factor_lent_bytes(f);
  report->levels = p->finding.levels;
  report->complexity = p->finding.complexity;
}

static lac_status precondition_describe(lac_context *ctx, const lac_factor *f, char **text) {
  const lac_precondition_factor *p = f->part;
  return p->part && p->table->describe ? p->table->describe(ctx, p->part, text) : LAC_OK;
}

// -- the kinds -------------------------------------------------------------------------------------------------------

#define LAC_PRECONDITIONER(kind, kind_flags)                                                        \
  extern const lac_solver_table lac_kind_##kind;                                                    \
  const lac_solver_table lac_kind_##kind = {.name = #kind,                                          \
                                            .flags = (kind_flags) | LAC_APPROXIMATES | LAC_IS_SEED, \
                                            .method = &lac_preconditioner_##kind,                   \
                                            .analyse = precondition_analyse,                        \
                                            .forget = precondition_forget,                          \
                                            .foresee = precondition_foresee,                        \
                                            .is_here = precondition_is_here,                        \
                                            .factor = precondition_factor,                          \
                                            .solve = precondition_solve,                            \
                                            .partner = lac_partner_direct,                          \
                                            .describe = precondition_describe,                      \
                                            .report = precondition_report,                          \
                                            .destroy = precondition_destroy};
#include "solvers/precondition/preconditioners.def"
#undef LAC_PRECONDITIONER
