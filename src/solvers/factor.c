// SPDX-License-Identifier: Apache-2.0
/// @file factor.c
/// Factors: which method, why, and one numeric factor for each matrix of the batch.

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "solvers/direct/nature.h"
#include "solvers/engines/engine.h"
#include "solvers/solver_impl.h"

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
  lac_free(f->numerics);
  lac_free(f->values);
  lac_object_release(f->core);
  lac_free(f);
}

const lac_kind lac_factor_kind = {"factor", factor_destroy};

static const void *factor_item(const lac_factor *f, int64_t item) {
  return (const char *)f->values + (size_t)(item * f->core->structure->nnz) * lac_dtype_size(f->meta.dtype);
}

// " (matrix 3 of the batch)", or nothing for a single one.
static const char *factor_item_text(const lac_factor *f, int64_t item, char text[64]) {
  text[0] = '\0';
  if (f->items > 1) snprintf(text, 64, " (matrix %lld of the batch)", (long long)item);
  return text;
}

static lac_status factor_create(lac_context *ctx, lac_solver_core *core, const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *f = NULL;
  size_t bytes = (size_t)values->count * lac_dtype_size(values->meta.dtype);

  LAC_ALLOC(f, 1);
  lac_object_init(&f->object, &lac_factor_kind);
  f->core = lac_object_retain(core);
  f->meta = values->meta;
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

// How the factorisation of a batch ended: where it failed, the first matrix to do so and why.
typedef struct factor_outcome {
  lac_status status;
  int64_t item;
  lac_fault fault;
} factor_outcome;

static lac_status factor_explain(lac_context *ctx, const lac_factor *f, const factor_outcome *outcome) {
  lac_status status = outcome->status;
  char which[64];
  const char *way_out = "";
  if (status == LAC_ERR_DEFINITE) way_out = "; use LAC_METHOD_LU, or LAC_METHOD_AUTO which falls back to it";
  if (status == LAC_ERR_SINGULAR) way_out = "; check the entries it is made of, or add to its diagonal";
  if (status == LAC_ERR_SINGULAR && f->table == &lac_solver_ldlt) way_out = "; use LAC_METHOD_LU";
  return lac_context_fail(ctx, status, "lac_solver_factor", "lac_solver_factor: %s%s%s", outcome->fault.text,
                          factor_item_text(f, outcome->item, which), way_out);
}

static factor_outcome factor_items(const lac_context *ctx, lac_factor *f) {
  factor_outcome outcome = {.status = LAC_OK, .item = f->items};
  int threads = ctx->threads < f->items ? ctx->threads : (int)f->items;

#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t i = 0; i < f->items; i++) {
    factor_outcome own = {.item = i};
    lac_factor_job job = {.structure = f->core->structure,
                          .part = f->analysis->part,
                          .options = &f->core->options,
                          .dtype = f->meta.dtype,
                          .values = factor_item(f, i),
                          .threads = f->items < ctx->threads ? ctx->threads : 1};
    own.status = f->table->factor(&job, &f->numerics[i], &own.fault);
    if (own.status == LAC_OK) continue;
#pragma omp critical(lac_factor_fault)
    if (i < outcome.item) outcome = own;
  }
  return outcome;
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
    if (one.growth > f->finding.growth) f->finding.growth = one.growth;
    if (one.smallest < f->finding.smallest) f->finding.smallest = one.smallest, f->finding.where = one.where;
  }
}

// A numeric factor of every matrix by one method. A matrix that it cannot take is an outcome, not an error yet.
static lac_status factor_try(lac_context *ctx, lac_factor *f, const lac_solver_table *table, factor_outcome *outcome) {
  lac_status status = LAC_OK;
  const lac_solver_core *core = f->core;

  LAC_TRY(lac_analysis_get(ctx, core->pattern, core->structure, table, core->options.ordering, &f->analysis));
  f->table = table;
  *outcome = factor_items(ctx, f);
  if (outcome->status == LAC_OK) factor_sum_up(f);
done:
  return status;
}

static lac_status factor_by(lac_context *ctx, lac_factor *f, const lac_solver_table *table) {
  lac_status status = LAC_OK;
  factor_outcome outcome;

  LAC_TRY(factor_try(ctx, f, table, &outcome));
  if (outcome.status != LAC_OK) LAC_TRY(factor_explain(ctx, f, &outcome));
done:
  return status;
}

// -- which method ----------------------------------------------------------------------------------------------------

// The nature of the batch: the first offender of each kind, and the matrix it is in.
typedef struct factor_nature {
  lac_values_nature is;
  int64_t asymmetric_item, not_positive_item;
} factor_nature;

static lac_status factor_look(lac_context *ctx, const lac_factor *f, factor_nature *out) {
  lac_status status = LAC_OK;
  const lac_structure *s = f->core->structure;
  char which[64];

  *out = (factor_nature){.is = {-1, -1, -1}};
  for (int64_t i = 0; i < f->items; i++) {
    lac_values_nature one = lac_values_nature_of(s, f->meta.dtype, factor_item(f, i));
    LAC_CHECK(
        one.nonfinite < 0, LAC_ERR_NONFINITE,
        "lac_solver_factor: the value of entry (%lld, %lld) is not finite%s; a matrix with NaN or infinity has no "
        "factor",
        (long long)lac_structure_row(s, one.nonfinite), (long long)s->columns[one.nonfinite],
        factor_item_text(f, i, which));
    if (out->is.asymmetric < 0 && one.asymmetric >= 0) out->is.asymmetric = one.asymmetric, out->asymmetric_item = i;
    if (out->is.not_positive < 0 && one.not_positive >= 0) {
      out->is.not_positive = one.not_positive, out->not_positive_item = i;
    }
  }
done:
  return status;
}

// "entry (2, 5) has no entry (5, 2)" or "entry (2, 5) is not the conjugate of entry (5, 2)".
static void factor_asymmetry_text(const lac_factor *f, const factor_nature *nature, char *text, size_t size) {
  const lac_structure *s = f->core->structure;
  long long row = lac_structure_row(s, nature->is.asymmetric), col = s->columns[nature->is.asymmetric];
  const char *what = !s->is_symmetric                      ? "has no counterpart"
                     : lac_dtype_is_complex(f->meta.dtype) ? "is not the conjugate of entry"
                                                           : "does not equal entry";
  char which[64];
  snprintf(text, size, "entry (%lld, %lld) %s (%lld, %lld)%s", row, col, what, col, row,
           factor_item_text(f, nature->asymmetric_item, which));
}

static lac_status factor_hermitian(lac_context *ctx, lac_factor *f, const lac_solver_table *table,
                                   const factor_nature *nature) {
  lac_status status = LAC_OK;
  char text[160] = "";

  if (nature->is.asymmetric >= 0) factor_asymmetry_text(f, nature, text, sizeof text);
  LAC_CHECK(nature->is.asymmetric < 0, LAC_ERR_SYMMETRY,
            "lac_solver_factor: %s needs a Hermitian matrix, but %s; use LAC_METHOD_LU or LAC_METHOD_AUTO", table->name,
            text);
  LAC_TRY(factor_by(ctx, f, table));
  snprintf(f->reason, sizeof f->reason, "asked for");
done:
  return status;
}

// Cholesky where nothing speaks against it, else LU; the reason says what did.
static lac_status factor_automatic(lac_context *ctx, lac_factor *f, const factor_nature *nature) {
  lac_status status = LAC_OK;
  factor_outcome outcome = {.status = LAC_ERR_DEFINITE};
  char text[160] = "", which[64];

  if (nature->is.asymmetric >= 0) {
    factor_asymmetry_text(f, nature, text, sizeof text);
    snprintf(f->reason, sizeof f->reason, "the matrix is not Hermitian: %s", text);
  } else if (nature->is.not_positive >= 0) {
    snprintf(f->reason, sizeof f->reason, "the diagonal is not positive in row %lld%s",
             (long long)nature->is.not_positive, factor_item_text(f, nature->not_positive_item, which));
  } else {
    LAC_TRY(factor_try(ctx, f, &lac_solver_cholesky, &outcome));
    snprintf(f->reason, sizeof f->reason, "the matrix is Hermitian with a positive diagonal");
  }
  if (outcome.status == LAC_OK) goto done;
  if (outcome.status != LAC_ERR_DEFINITE) LAC_TRY(factor_explain(ctx, f, &outcome));
  if (f->table) snprintf(f->reason, sizeof f->reason, "Cholesky gave up: %s", outcome.fault.text);
  factor_drop_numerics(f);
  LAC_TRY(factor_by(ctx, f, &lac_solver_pivoting_lu));
done:
  return status;
}

static lac_status factor_choose(lac_context *ctx, lac_factor *f) {
  lac_status status = LAC_OK;
  factor_nature nature;
  const lac_solver_table *engine = NULL;

  LAC_TRY(factor_look(ctx, f, &nature));
  switch (f->core->options.method) {
    case LAC_METHOD_AUTO:
      LAC_TRY(factor_automatic(ctx, f, &nature));
      break;
    case LAC_METHOD_LU:
    case LAC_METHOD_PIVOTING_LU:
      LAC_TRY(factor_by(ctx, f, &lac_solver_pivoting_lu));
      snprintf(f->reason, sizeof f->reason, "asked for");
      break;
    case LAC_METHOD_CHOLMOD:
      LAC_TRY(lac_engine_table(ctx, f->core->options.method, &engine));
      LAC_TRY(factor_hermitian(ctx, f, engine, &nature));
      break;
    case LAC_METHOD_UMFPACK:
    case LAC_METHOD_KLU:
    case LAC_METHOD_MUMPS:
      LAC_TRY(lac_engine_table(ctx, f->core->options.method, &engine));
      LAC_TRY(factor_by(ctx, f, engine));
      snprintf(f->reason, sizeof f->reason, "asked for");
      break;
    default:
      LAC_TRY(factor_hermitian(
          ctx, f, f->core->options.method == LAC_METHOD_LDLT ? &lac_solver_ldlt : &lac_solver_cholesky, &nature));
  }
done:
  return status;
}

// A pivot that is all rounding does not stop anything, but it is said.
static void factor_warn(lac_factor *f) {
  double rounding = f->meta.dtype == LAC_F32 || f->meta.dtype == LAC_C64 ? FLT_EPSILON : DBL_EPSILON;
  if (f->finding.smallest >= rounding) return;
  snprintf(f->warning, sizeof f->warning,
           "the matrix is singular to working precision: the pivot of column %lld is %.1e of the column",
           (long long)f->finding.where, f->finding.smallest);
}

lac_status lac_factor_make(lac_context *ctx, lac_solver_core *core, const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK;
  double begin = lac_solver_seconds();
  lac_factor *f = NULL;

  LAC_TRY(factor_create(ctx, core, values, &f));
  LAC_TRY(factor_choose(ctx, f));
  factor_warn(f);
  f->seconds = lac_solver_seconds() - begin;
  *out = f, f = NULL;
done:
  lac_object_release(f);
  return status;
}

// -- what others ask -------------------------------------------------------------------------------------------------

int64_t lac_factor_bytes_of(const lac_solver_core *core, lac_dtype dtype, int64_t items, int64_t numeric_bytes) {
  int64_t values = core->structure->nnz * (int64_t)lac_dtype_size(dtype);
  return (int64_t)sizeof(lac_factor) + numeric_bytes + items * ((int64_t)sizeof(void *) + values);
}

int64_t lac_factor_bytes(const lac_factor *factor) {
  return lac_factor_bytes_of(factor->core, factor->meta.dtype, factor->items, factor->finding.bytes);
}

/// Equal shapes but for leading dimensions of size 1: those broadcast alike.
static bool factor_same_batch(const lac_meta *a, const lac_meta *b) {
  int skip_a = 0, skip_b = 0;

  while (skip_a < a->ndim - 1 && a->shape[skip_a] == 1) skip_a++;
  while (skip_b < b->ndim - 1 && b->shape[skip_b] == 1) skip_b++;
  return a->ndim - skip_a == b->ndim - skip_b &&
         memcmp(a->shape + skip_a, b->shape + skip_b, (size_t)(a->ndim - skip_a) * sizeof *a->shape) == 0;
}

lac_status lac_factor_matches(lac_context *ctx, const lac_factor *factor, const lac_array *values, int *matches) {
  lac_status status = LAC_OK;
  size_t bytes;

  LAC_TRY(lac_solver_require_cpu(ctx, "solve_with", values));
  bytes = (size_t)values->count * lac_dtype_size(values->meta.dtype);
  *matches = values->meta.dtype == factor->meta.dtype && factor_same_batch(&factor->meta, &values->meta) &&
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

lac_report lac_factor_report(const lac_factor *factor) {
  return (lac_report){.method = factor->table->name,
                      .reason = factor->reason,
                      .warning = factor->warning,
                      .ordering = lac_ordering_name(factor->core->options.ordering),
                      .factor_nnz = factor->finding.nnz,
                      .factor_bytes = lac_factor_bytes(factor),
                      .work_bytes = factor->finding.work_bytes,
                      .flops = factor->finding.flops,
                      .perturbed = factor->finding.perturbed,
                      .analyse_seconds = factor->core->seconds + factor->analysis->seconds,
                      .factor_seconds = factor->seconds,
                      .factorisations = atomic_load(&factor->core->factorisations),
                      .reuses = atomic_load(&factor->core->reuses)};
}
