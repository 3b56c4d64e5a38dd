// SPDX-License-Identifier: Apache-2.0
/// @file numerics.c
/// The numerics of a factor: each matrix of a batch by one method, in threads, and what they come to.

#include <math.h>

#include "solvers/direct/direct.h"

const void *lac_direct_item(const lac_factor *f, int64_t item) {
  return (const char *)lac_array_data(f->values) +
         (size_t)(item * lac_direct_structure(f)->nnz) * lac_dtype_size(f->meta.dtype);
}

void lac_direct_drop(lac_factor *f) {
  lac_direct_factor *d = f->part;
  for (int64_t i = 0; d->numerics && d->table && i < f->items; i++) {
    d->table->destroy(d->numerics[i]);
    d->numerics[i] = NULL;
  }
  lac_object_release(d->analysis);
  d->analysis = NULL;
  d->table = NULL;
}

const char lac_direct_interrupted_ways[] = "call again to begin anew";

lac_status lac_direct_explain(lac_context *ctx, const lac_factor *f, const lac_trial *trial) {
  lac_status status = trial->status;
  char which[64] = "";
  const char *way_out = "";
  if (status == LAC_ERR_DEFINITE) way_out = "use method = \"ldlt\", or method = \"auto\" which falls back to it";
  if (status == LAC_ERR_SINGULAR) way_out = lac_direct_pivot_ways;
  if (status == LAC_ERR_CONVERGENCE) way_out = "use method = \"pivoting_lu\", which may pivot anywhere";
  if (status == LAC_ERR_NONFINITE) way_out = "scale the values, or use a wider dtype";
  if (status == LAC_ERR_INTERRUPTED) way_out = lac_direct_interrupted_ways;
  return lac_context_fail(ctx, status, f->function, "%s: %s%s%s%s", f->function, trial->fault.text,
                          trial->task < f->items ? lac_factor_item_text(f, trial->task, which) : which,
                          *way_out ? "; " : "", way_out);
}

/// The matrices of a factor on the way to their numerics.
typedef struct numerics_work {
  const lac_factor *f, *like;  // `like` may be NULL
  int threads;                 // of each matrix
  lac_stop *stop;
} numerics_work;

static lac_status numerics_one(const void *job, int64_t i, int thread, lac_fault *fault) {
  const numerics_work *w = job;
  const lac_direct_factor *d = w->f->part;
  lac_direct_job one = {.structure = lac_direct_structure(w->f),
                        .part = d->analysis->part,
                        .options = &w->f->core->options,
                        .dtype = w->f->meta.dtype,
                        .values = lac_direct_item(w->f, i),
                        .like = w->like ? lac_direct_of(w->like)->numerics[i] : NULL,
                        .near = i > 0 ? d->numerics[0] : NULL,
                        .threads = w->threads,
                        .stop = w->stop};
  (void)thread;
  return d->table->factor(&one, &d->numerics[i], fault);
}

/// The first matrix by itself: what it chooses may suit the others, and does not depend on which thread is faster.
static lac_trial numerics_items(lac_context *ctx, lac_factor *f, const lac_factor *like) {
  const lac_direct_factor *d = f->part;
  lac_stop stop;
  numerics_work work = {f, like, f->items < ctx->threads ? ctx->threads : 1, &stop};
  lac_trial trial = {.status = LAC_OK, .task = f->items};
  lac_finding one = lac_foresee(d->table, d->analysis, f->meta.dtype);
  double flops = fmax(one.flops, (double)lac_direct_structure(f)->nnz);  // those that are not foreseen are -1
  int threads = lac_threads_worth(ctx->threads, f->items, (double)f->items * flops);

  trial.status = lac_foresee_check(d->table, &f->core->options, f->meta.dtype, f->items, threads, &one, &trial.fault);
  if (trial.status != LAC_OK) return trial;
  lac_stop_init(&stop, ctx);
  trial = lac_tasks_run(1, &stop, 0, f->items < 1 ? f->items : 1, numerics_one, &work);
  return trial.status == LAC_OK ? lac_tasks_run(threads, &stop, 1, f->items, numerics_one, &work) : trial;
}

static void numerics_sum_up(lac_factor *f) {
  lac_direct_factor *d = f->part;
  d->finding = (lac_finding){.smallest = 1, .where = -1, .weakest = 1};
  for (int64_t i = 0; i < f->items; i++) {
    lac_finding one = {0};
    d->table->report(d->analysis->part, d->numerics[i], &one);
    d->finding.nnz += one.nnz;
    d->finding.bytes += one.bytes;
    d->finding.flops += one.flops;
    d->finding.perturbed += one.perturbed;
    d->finding.ordering = one.ordering;
    if (one.work_bytes > d->finding.work_bytes) d->finding.work_bytes = one.work_bytes;
    if (one.growth > d->finding.growth) d->finding.growth = one.growth;
    d->finding.is_rough |= one.is_rough;
    d->finding.weakest = fmin(d->finding.weakest, lac_finding_weakest(&one));
    if (one.smallest < d->finding.smallest) {
      d->finding.smallest = one.smallest, d->finding.where = one.where, d->finding.item = i;
    }
  }
}

/// A method may find out only by the values, or on the way, that it has no room.
static void numerics_conclude(lac_factor *f, const lac_trial *trial) {
  f->shortage = LAC_SHORT_OF_NOTHING;
  if (trial->status == LAC_ERR_MEMORY) f->shortage = trial->fault.lacks_room ? LAC_SHORT_FORESEEN : LAC_SHORT_MET;
  if (trial->status == LAC_OK) numerics_sum_up(f);
}

lac_status lac_direct_try(lac_context *ctx, lac_factor *f, const lac_direct_table *table, lac_trial *trial) {
  lac_status status = LAC_OK, made;
  lac_direct_factor *d = f->part;

  lac_direct_drop(f);
  made =
      lac_analysis_get(ctx, f->core->pattern, lac_direct_structure(f), table, f->core->options.ordering, &d->analysis);
  f->shortage = made == LAC_ERR_MEMORY ? LAC_SHORT_MET : LAC_SHORT_OF_NOTHING;
  LAC_TRY(made);
  d->table = table;
  *trial = numerics_items(ctx, f, NULL);
  numerics_conclude(f, trial);
done:
  return status;
}

lac_trial lac_direct_try_like(lac_context *ctx, lac_factor *f, const lac_factor *like) {
  lac_direct_factor *d = f->part;
  lac_direct_drop(f);
  d->analysis = lac_object_retain(lac_direct_of(like)->analysis);
  d->table = lac_direct_of(like)->table;
  lac_trial trial = numerics_items(ctx, f, like);
  numerics_conclude(f, &trial);
  return trial;
}
