// SPDX-License-Identifier: Apache-2.0
/// @file factor.c
/// Factors: their life, and one numeric factor for each matrix of the batch.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solvers/krylov/iterative.h"

static void factor_drop_numerics(lac_factor *f) {
  for (int64_t i = 0; f->numerics && f->table && i < f->items; i++) {
    f->table->destroy(f->numerics[i]);
    f->numerics[i] = NULL;
  }
  lac_object_release(f->analysis);
  f->analysis = NULL;
  f->table = NULL;
}

static void factor_destroy(lac_object *object) {
  lac_factor *f = (lac_factor *)object;
  factor_drop_numerics(f);
  lac_iterative_destroy(f->iterative);
  lac_object_release(f->partner);
  pthread_mutex_destroy(&f->lock);
  lac_free(f->numerics);
  lac_free(f->values);
  lac_object_release(f->core);
  lac_free(f);
}

const lac_kind lac_factor_kind = {"factor", factor_destroy};

const void *lac_factor_item(const lac_factor *f, int64_t item) {
  return (const char *)f->values + (size_t)(item * f->core->structure->nnz) * lac_dtype_size(f->meta.dtype);
}

lac_status lac_factor_values(lac_context *ctx, const lac_factor *f, lac_array **out) {
  lac_status status = LAC_OK;

  if (!f->iterative) return lac_array_wrap(ctx, &f->meta, f->values, out);
  LAC_TRY(lac_iterative_require_fresh(ctx, __func__, f));
  *out = lac_array_retain(f->iterative->given);
done:
  return status;
}

const char *lac_factor_item_text(const lac_factor *f, int64_t item, char text[64]) {
  text[0] = '\0';
  if (f->items > 1) snprintf(text, 64, " (matrix %lld of the batch)", (long long)item);
  return text;
}

lac_status lac_factor_begin(lac_context *ctx, const char *function, lac_solver_core *core, const lac_array *values,
                            lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *f = NULL;
  size_t bytes = lac_array_bytes(values);

  LAC_ALLOC(f, 1);
  lac_object_init(&f->object, &lac_factor_kind);
  pthread_mutex_init(&f->lock, NULL);
  f->core = lac_object_retain(core);
  f->meta = values->meta;
  f->function = function;
  f->items = 1;
  for (int d = 0; d < f->meta.ndim - 1; d++) f->items *= f->meta.shape[d];
  LAC_ALLOC(f->numerics, f->items);
  f->values = lac_alloc(bytes);
  LAC_CHECK(f->values, LAC_ERR_MEMORY, "out of memory: a copy of %zu bytes of values", bytes);
  memcpy(f->values, lac_array_data(values), bytes);
  *out = f, f = NULL;
done:
  lac_object_release(f);
  return status;
}

// -- with one method -------------------------------------------------------------------------------------------------

lac_status lac_factor_explain(lac_context *ctx, const lac_factor *f, const lac_trial *trial) {
  lac_status status = trial->status;
  char which[64] = "";
  const char *way_out = "";
  if (status == LAC_ERR_DEFINITE) way_out = "; use LAC_METHOD_LDLT, or LAC_METHOD_AUTO which falls back to it";
  if (status == LAC_ERR_SINGULAR) way_out = "; check the entries it is made of, or add to its diagonal";
  if (status == LAC_ERR_CONVERGENCE) way_out = "; use LAC_METHOD_PIVOTING_LU, which may pivot anywhere";
  if (status == LAC_ERR_NONFINITE) way_out = "; scale the values, or use a wider dtype";
  return lac_context_fail(ctx, status, f->function, "%s: %s%s%s", f->function, trial->fault.text,
                          trial->item < f->items ? lac_factor_item_text(f, trial->item, which) : which, way_out);
}

// One matrix. `like` may be NULL; a batch is worked on by many threads, one for each matrix.
static lac_trial factor_one(const lac_context *ctx, lac_factor *f, const lac_factor *like, int64_t i) {
  lac_trial trial = {.item = i};
  lac_factor_job job = {.structure = f->core->structure,
                        .part = f->analysis->part,
                        .options = &f->core->options,
                        .dtype = f->meta.dtype,
                        .values = lac_factor_item(f, i),
                        .like = like ? like->numerics[i] : NULL,
                        .near = i > 0 ? f->numerics[0] : NULL,
                        .threads = f->items < ctx->threads ? ctx->threads : 1};
  trial.status = f->table->factor(&job, &f->numerics[i], &trial.fault);
  return trial;
}

// The first matrix by itself: what it chooses may suit the others, and does not depend on who is faster.
static lac_trial factor_items(const lac_context *ctx, lac_factor *f, const lac_factor *like) {
  lac_trial trial = {.status = LAC_OK, .item = f->items};
  lac_finding one = lac_foresee(f->table, f->analysis, f->meta.dtype);
  double work = fmax(one.flops, (double)f->core->structure->nnz);  // those that are not foreseen are -1
  int threads = lac_threads_worth(ctx->threads, f->items, (double)f->items * work);

  trial.status = lac_foresee_check(f->table, &f->core->options, f->meta.dtype, f->items, threads, &one, &trial.fault);
  if (trial.status != LAC_OK) return trial;
  if (f->items > 0) trial = factor_one(ctx, f, like, 0);
  if (f->items <= 1 || trial.status != LAC_OK) return trial;
  trial.item = f->items;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t i = 1; i < f->items; i++) {
    lac_trial own = factor_one(ctx, f, like, i);
    if (own.status == LAC_OK) continue;
#pragma omp critical(lac_factor_fault)
    if (i < trial.item) trial = own;
  }
  return trial;
}

static void factor_sum_up(lac_factor *f) {
  f->finding = (lac_finding){.smallest = 1, .where = -1};
  for (int64_t i = 0; i < f->items; i++) {
    lac_finding one = {0};
    f->table->report(f->analysis->part, f->numerics[i], &one);
    f->finding.nnz += one.nnz;
    f->finding.bytes += one.bytes;
    f->finding.flops += one.flops;
    f->finding.perturbed += one.perturbed;
    f->finding.ordering = one.ordering;
    if (one.work_bytes > f->finding.work_bytes) f->finding.work_bytes = one.work_bytes;
    if (one.growth > f->finding.growth) f->finding.growth = one.growth;
    if (one.smallest < f->finding.smallest) {
      f->finding.smallest = one.smallest, f->finding.where = one.where, f->finding.item = i;
    }
  }
}

// A method may find out only by the values that it has no room.
static void factor_conclude(lac_factor *f, const lac_trial *trial) {
  f->lacks_room = trial->status == LAC_ERR_MEMORY && trial->fault.lacks_room;
  if (trial->status == LAC_OK) factor_sum_up(f);
}

lac_status lac_factor_try(lac_context *ctx, lac_factor *f, const lac_solver_table *table, lac_trial *trial) {
  lac_status status = LAC_OK;
  const lac_solver_core *core = f->core;

  factor_drop_numerics(f);
  LAC_TRY(lac_analysis_get(ctx, core->pattern, core->structure, table, core->options.ordering, &f->analysis));
  f->table = table;
  *trial = factor_items(ctx, f, NULL);
  factor_conclude(f, trial);
done:
  return status;
}

lac_trial lac_factor_try_like(const lac_context *ctx, lac_factor *f, const lac_factor *like) {
  factor_drop_numerics(f);
  f->analysis = lac_object_retain(like->analysis);
  f->table = like->table;
  lac_trial trial = factor_items(ctx, f, like);
  factor_conclude(f, &trial);
  return trial;
}

// Pivots below so much of their column are little more than rounding.
static double factor_doubt(const lac_factor *f) { return 8 * lac_dtype_epsilon(f->meta.dtype); }

bool lac_factor_is_regular(const lac_factor *f, int64_t item) {
  lac_finding one = {0};
  if (f->finding.smallest >= factor_doubt(f)) return true;
  f->table->report(f->analysis->part, f->numerics[item], &one);
  return one.smallest >= factor_doubt(f);
}

// A pivot that is little more than rounding does not stop anything, but it is said. So is a factor with very many entries.
static void factor_warn(lac_factor *f) {
  lac_finding one = f->finding;
  char which[64];
  if (f->items == 0) return;
  if (f->finding.smallest < factor_doubt(f)) {
    snprintf(f->warning, sizeof f->warning,
             "the matrix is singular to working precision: the pivot of column %lld is %.1e of the column%s",
             (long long)f->finding.where, f->finding.smallest, lac_factor_item_text(f, f->finding.item, which));
  }
  one.nnz /= f->items, one.bytes /= f->items;
  lac_foresee_warn(f->core->structure, f->table, f->meta.dtype, &one, f->warning, sizeof f->warning);
}

void lac_factor_finish(lac_factor *f, double begin) {
  factor_warn(f);
  f->seconds = lac_solver_seconds() - begin;
}

lac_status lac_factor_make(lac_context *ctx, lac_solver_core *core, const lac_array *values, bool *lacks_room,
                           lac_factor **out) {
  lac_status status = LAC_OK;
  double begin = lac_solver_seconds();
  lac_factor *f = NULL;

  LAC_TRY(lac_factor_begin(ctx, "lac_solver_factor", core, values, &f));
  LAC_TRY(lac_choose(ctx, f));
  lac_factor_finish(f, begin);
  *out = f, f = NULL;
done:
  if (lacks_room) *lacks_room = f && f->lacks_room;
  lac_object_release(f);
  return status;
}

// -- what others ask -------------------------------------------------------------------------------------------------

int64_t lac_factor_bytes_of(const lac_solver_core *core, lac_dtype dtype, int64_t items, int64_t numeric_bytes) {
  int64_t values = core->pattern->nnz * (int64_t)lac_dtype_size(dtype);
  return (int64_t)sizeof(lac_factor) + numeric_bytes + items * ((int64_t)sizeof(void *) + values);
}

int64_t lac_factor_bytes(const lac_factor *factor) {
  return lac_factor_bytes_of(factor->core, factor->meta.dtype, factor->items, factor->finding.bytes);
}

bool lac_factor_same_shape(const lac_meta *a, const lac_meta *b, int core) {
  int skip_a = 0, skip_b = 0;

  while (skip_a < a->ndim - core && a->shape[skip_a] == 1) skip_a++;
  while (skip_b < b->ndim - core && b->shape[skip_b] == 1) skip_b++;
  return a->ndim - skip_a == b->ndim - skip_b &&
         memcmp(a->shape + skip_a, b->shape + skip_b, (size_t)(a->ndim - skip_a) * sizeof *a->shape) == 0;
}

lac_status lac_factor_matches(lac_context *ctx, const char *function, const lac_factor *factor, const lac_array *values,
                              int *matches) {
  lac_status status = LAC_OK;
  size_t bytes;

  if (factor->iterative) return lac_iterative_matches(ctx, function, factor, values, matches);
  LAC_TRY(lac_solver_require_cpu(ctx, function, values));
  bytes = lac_array_bytes(values);
  *matches = values->meta.dtype == factor->meta.dtype && lac_factor_same_shape(&factor->meta, &values->meta, 1) &&
             memcmp(factor->values, lac_array_data(values), bytes) == 0;
done:
  return status;
}

lac_factor *lac_factor_retain(const lac_factor *factor) { return lac_object_retain(factor); }

void lac_factor_destroy(lac_factor **factor) {
  if (!factor) return;
  lac_object_release(*factor);
  *factor = NULL;
}

int64_t lac_factor_id(const lac_factor *factor) { return factor->object.id; }

const lac_pattern *lac_factor_pattern(const lac_factor *factor) { return factor->core->pattern; }

const lac_meta *lac_factor_meta(const lac_factor *factor) { return &factor->meta; }

lac_report lac_factor_report(const lac_factor *factor) {
  if (factor->iterative) return lac_iterative_report(factor);
  return (lac_report){.method = factor->table->name,
                      .reason = factor->reason,
                      .warning = factor->warning,
                      .ordering = lac_finding_ordering(&factor->finding, factor->core),
                      .factor_nnz = factor->finding.nnz,
                      .factor_bytes = lac_factor_bytes(factor) + lac_factor_partner_bytes(factor),
                      .work_bytes = factor->finding.work_bytes,
                      .flops = factor->finding.flops,
                      .perturbed = factor->finding.perturbed,
                      .analyse_seconds = factor->core->seconds + factor->analysis->seconds,
                      .factor_seconds = factor->seconds,
                      .factorisations = atomic_load(&factor->core->factorisations),
                      .reuses = atomic_load(&factor->core->reuses),
                      .preconditioner = ""};
}
