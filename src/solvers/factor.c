// SPDX-License-Identifier: Apache-2.0
/// @file factor.c
/// Factors: their life, whose values they have, their partners, what they say of themselves.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "solvers/solver_impl.h"

static void factor_destroy(lac_object *object) {
  lac_factor *f = (lac_factor *)object;
  f->table->destroy(f);
  lac_object_release(f->partner);
  pthread_mutex_destroy(&f->lock);
  lac_array_destroy(&f->values);
  lac_free(f->text);
  lac_object_release(f->core);
  lac_free(f);
}

const lac_kind lac_factor_kind = {"factor", factor_destroy};

lac_factor *lac_factor_retain(const lac_factor *factor) { return lac_object_retain(factor); }

void lac_factor_destroy(lac_factor **factor) {
  if (!factor) return;
  lac_object_release(*factor);
  *factor = NULL;
}

int64_t lac_factor_id(const lac_factor *factor) { return factor ? factor->object.id : 0; }
const lac_pattern *lac_factor_pattern(const lac_factor *factor) { return factor ? lac_core_given(factor->core) : NULL; }
const lac_meta *lac_factor_meta(const lac_factor *factor) { return factor ? &factor->meta : NULL; }

// -- making one ------------------------------------------------------------------------------------------------------

/// Share memory that the library owns; copy other memory, whose owner may change it unnoticed.
static lac_status factor_take_values(lac_context *ctx, lac_factor *f, const lac_array *values) {
  lac_status status = LAC_OK;

  f->meta = values->meta;
  for (int d = 0; d < f->meta.ndim - 1; d++) f->items *= f->meta.shape[d];
  if (f->table->flags & LAC_DELEGATES) goto done;
  f->shares_values = !(f->table->flags & LAC_COPIES) && values->storage->origin != STORAGE_BORROWED;
  if (f->shares_values) {
    f->values = lac_array_retain(values);
    f->version = atomic_load(&values->storage->version);
  } else {
    LAC_TRY(lac_array_clone(ctx, values, &f->values));
  }
done:
  return status;
}

void lac_factor_share(lac_factor *f, const lac_factor *taken) {
  f->values = lac_array_retain(taken->values);
  f->shares_values = taken->shares_values;
  f->version = taken->version;
}

static lac_status factor_begin(lac_context *ctx, const char *function, lac_solver_core *core,
                               const lac_solver_table *table, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *f = NULL;

  LAC_ALLOC(f, 1);
  lac_object_init(&f->object, &lac_factor_kind);
  pthread_mutex_init(&f->lock, NULL);
  f->core = lac_object_retain(core);
  f->table = table;
  f->space = ctx->space;
  f->function = function;
  f->items = 1;
  *out = f;
done:
  return status;
}

static lac_status factor_make(lac_context *ctx, const lac_solver_table *table, const char *function,
                              lac_solver_core *core, const lac_linear *a, const lac_factor *like, bool by_choices,
                              lac_shortage *shortage, lac_factor **out) {
  lac_status status = LAC_OK;
  double begin = lac_seconds();
  lac_linear own = *a;
  lac_factor *f = NULL;

  LAC_TRY(factor_begin(ctx, function, core, table, &f));
  LAC_TRY(factor_take_values(ctx, f, a->values));
  if (f->values) own.values = f->values;
  if (like && like->table != f->table) like = NULL;
  if (by_choices && like && f->table->refresh) {
    LAC_TRY(f->table->refresh(ctx, &own, like, f));
  } else {
    LAC_TRY(f->table->factor(ctx, &own, like, f));
  }
  f->seconds = lac_seconds() - begin;
  *out = f, f = NULL;
done:
  if (shortage) *shortage = f ? f->shortage : LAC_SHORT_OF_NOTHING;
  lac_object_release(f);
  return status;
}

lac_status lac_factor_make(lac_context *ctx, const char *function, lac_solver_core *core, const lac_linear *a,
                           const lac_factor *like, bool by_choices, lac_shortage *shortage, lac_factor **out) {
  const lac_solver_table *kind = core->table;
  bool is_here = !kind->is_here || kind->is_here(ctx, kind, core);
  return factor_make(ctx, is_here ? kind : &lac_travel_table, function, core, a, like, by_choices, shortage, out);
}

lac_status lac_factor_make_here(lac_context *ctx, const char *function, lac_solver_core *core, const lac_linear *a,
                                const lac_factor *like, bool by_choices, lac_shortage *shortage, lac_factor **out) {
  return factor_make(ctx, core->table, function, core, a, like, by_choices, shortage, out);
}

lac_status lac_factor_identify(lac_context *ctx, lac_factor *f, const lac_array *values, const lac_identity *known) {
  lac_status status = LAC_OK;

  f->identity = known ? *known : lac_identity_quick(values);
  if ((!f->values || f->core->blocks) && !f->identity.has_hash) LAC_TRY(lac_identity_hash(ctx, values, &f->identity));
done:
  return status;
}

lac_status lac_factor_of_products(lac_context *ctx, const char *function, const lac_solver_options *options,
                                  const lac_linear *a, lac_dtype dtype, lac_factor **out) {
  lac_status status = LAC_OK;
  const lac_solver_table *kind = NULL;
  lac_solver_core *core = NULL;
  lac_factor *f = NULL;

  LAC_TRY(lac_kind_find(ctx, function, options->method, &kind));
  LAC_TRY(lac_core_of_products(ctx, kind, a, options, &core));
  LAC_TRY(factor_begin(ctx, function, core, kind, &f));
  f->meta = (lac_meta){.dtype = dtype, .ndim = 1};
  LAC_TRY(f->table->factor(ctx, a, NULL, f));
  *out = f, f = NULL;
done:
  lac_object_release(f);
  lac_object_release(core);
  return status;
}

void lac_factor_say(lac_factor *f, const char *format, ...) {
  size_t length = strlen(f->reason);
  va_list list;
  va_start(list, format);
  vsnprintf(f->reason + length, sizeof f->reason - length, format, list);
  va_end(list);
}

const char *lac_factor_item_text(const lac_factor *f, int64_t item, char text[64]) {
  text[0] = '\0';
  if (f->items > 1) snprintf(text, 64, " (matrix %lld of the batch)", (long long)item);
  return text;
}

// -- by an earlier one -----------------------------------------------------------------------------------------------

static lac_status refactor_check(lac_context *ctx, const lac_factor *like, const lac_array *values) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_CHECK(values->meta.dtype == like->meta.dtype, LAC_ERR_DTYPE,
            "lac_factor_refactor: the factor is %s, the values are %s; they must agree",
            lac_dtype_name(like->meta.dtype), lac_dtype_name(values->meta.dtype));
  LAC_CHECK(lac_meta_same(&values->meta, &like->meta), LAC_ERR_SHAPE,
            "lac_factor_refactor: the factor was made of values of shape %s, these have %s; factor them with "
            "lac_solver_factor",
            lac_shape_text(like->meta.ndim, like->meta.shape, text),
            lac_shape_text(values->meta.ndim, values->meta.shape, other));
done:
  return status;
}

lac_status lac_factor_refactor(lac_context *ctx, const lac_factor *like, const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *f = NULL;
  lac_array *flat = NULL, *sorted = NULL;
  lac_linear a;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_factor_refactor: out is NULL");
  LAC_CHECK(like, LAC_ERR_ARG, "lac_factor_refactor: the factor is NULL");
  LAC_TRY(lac_solver_require_here(ctx, "lac_factor_refactor", "values", values));
  LAC_TRY(lac_core_flatten(ctx, "lac_factor_refactor", like->core, values, &flat));
  LAC_TRY(refactor_check(ctx, like, flat));
  LAC_TRY(lac_core_sort(ctx, like->core, flat, &sorted));
  a = lac_linear_matrix(like->core->pattern, sorted);
  LAC_TRY(lac_factor_make(ctx, "lac_factor_refactor", like->core, &a, like, true, NULL, &f));
  LAC_TRY(lac_factor_identify(ctx, f, flat, NULL));
  atomic_fetch_add(&like->core->counts->factorisations, 1);
  *out = f, f = NULL;
done:
  lac_array_destroy(&flat);
  lac_array_destroy(&sorted);
  lac_object_release(f);
  return status;
}

// -- whose values ----------------------------------------------------------------------------------------------------

bool lac_factor_is_fresh(const lac_factor *f) {
  return !f->shares_values || atomic_load(&f->values->storage->version) == f->version;
}

lac_status lac_factor_require_fresh(lac_context *ctx, const char *function, const lac_factor *f) {
  lac_status status = LAC_OK;

  LAC_CHECK(lac_factor_is_fresh(f), LAC_ERR_STALE,
            "%s: the values have changed since they were factored, and the factor shares them; factor them again "
            "(lac_solver_factor), or factor a copy (lac_array_clone)",
            function);
done:
  return status;
}

lac_status lac_factor_values(lac_context *ctx, const lac_factor *f, lac_array **out) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_factor_require_fresh(ctx, __func__, f));
  *out = lac_array_retain(f->values);
done:
  return status;
}

bool lac_factor_same_shape(const lac_meta *a, const lac_meta *b, int core) {
  int skip_a = 0, skip_b = 0;

  while (skip_a < a->ndim - core && a->shape[skip_a] == 1) skip_a++;
  while (skip_b < b->ndim - core && b->shape[skip_b] == 1) skip_b++;
  return a->ndim - skip_a == b->ndim - skip_b &&
         memcmp(a->shape + skip_a, b->shape + skip_b, (size_t)(a->ndim - skip_a) * sizeof *a->shape) == 0;
}

// The bits of a factor that was made without them, computed from its values and kept.
static lac_status factor_hash(lac_context *ctx, lac_factor *f, lac_identity *out) {
  lac_status status = LAC_OK;

  pthread_mutex_lock(&f->lock);
  *out = f->identity.has_hash ? f->identity : f->late;
  if (!out->has_hash && f->values) status = lac_identity_hash(ctx, f->values, &f->late), *out = f->late;
  pthread_mutex_unlock(&f->lock);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

lac_status lac_factor_matches(lac_context *ctx, const char *function, const lac_factor *factor, const lac_array *values,
                              int *matches) {
  lac_status status = LAC_OK;
  lac_identity identity, own;
  lac_array *flat = NULL;

  LAC_TRY(lac_solver_require_here(ctx, function, "values", values));
  LAC_TRY(lac_core_flatten(ctx, function, factor->core, values, &flat));
  *matches = flat->meta.dtype == factor->meta.dtype && lac_factor_same_shape(&factor->meta, &flat->meta, 1) &&
             lac_factor_is_fresh(factor);
  if (!*matches) goto done;
  identity = lac_identity_quick(flat);
  if (lac_identity_same(&factor->identity, &identity)) goto done;
  LAC_TRY(lac_identity_hash(ctx, flat, &identity));
  LAC_TRY(factor_hash(ctx, (lac_factor *)factor, &own));
  *matches = lac_identity_same(&own, &identity);
done:
  lac_array_destroy(&flat);
  return status;
}

lac_status lac_solver_require_here(lac_context *ctx, const char *function, const char *name, const lac_array *array) {
  lac_status status = LAC_OK;

  LAC_CHECK(array, LAC_ERR_ARG, "%s: %s is NULL; give an array", function, name);
  LAC_CHECK(array->storage->space == ctx->space, LAC_ERR_DEVICE,
            "%s: %s lies on %s, the context on %s; make it through this context", function, name,
            array->storage->space->backend, lac_context_backend(ctx));
  LAC_CHECK(!array->meta.partition, LAC_ERR_UNSUPPORTED,
            "%s: the built-in solvers work in one process, and %s is partitioned over ranks", function, name);
done:
  return status;
}

// -- partners --------------------------------------------------------------------------------------------------------

const lac_solver_table *lac_partner_direct(const lac_factor *factor, lac_solver_options *options) {
  extern const lac_solver_table lac_kind_direct;
  (void)factor, (void)options;
  return &lac_kind_direct;
}

static lac_status partner_make(lac_context *ctx, lac_factor *f, const lac_solver_table *kind,
                               const lac_solver_options *options, lac_shortage *shortage) {
  lac_status status = LAC_OK;
  lac_solver_core *core = NULL;
  lac_factor *partner = NULL;
  lac_linear a;

  LAC_CHECK(f->core->rows == f->core->cols, LAC_ERR_SHAPE,
            "lac_solver_factor: a matrix of %lld x %lld has no direct factor, determinant or inverse",
            (long long)f->core->rows, (long long)f->core->cols);
  a = lac_linear_matrix(f->core->pattern, f->values);
  LAC_TRY(lac_core_create(ctx, kind, f->core->pattern, options, "asked for", &core));
  core->counts = f->core->counts;  // f holds its core and the partner
  LAC_TRY(lac_factor_make(ctx, "lac_solver_factor", core, &a, NULL, false, shortage, &partner));
  atomic_store(&f->partner, partner);
  atomic_fetch_add(&f->core->counts->factorisations, 1);
done:
  lac_object_release(core);
  return status;
}

lac_status lac_factor_partner(lac_context *ctx, const lac_factor *factor, lac_shortage *shortage,
                              const lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *f = (lac_factor *)factor;  // its partner comes under its lock; what it is does not change
  lac_solver_options options = f->core->options;
  const lac_solver_table *kind = f->table->partner ? f->table->partner(f, &options) : NULL;

  *out = NULL;
  if (shortage) *shortage = LAC_SHORT_OF_NOTHING;
  if (!kind) return LAC_OK;
  pthread_mutex_lock(&f->lock);
  status = lac_factor_require_fresh(ctx, "lac_solver_factor", f);  // whether there is a partner already or not
  if (status == LAC_OK && !f->partner) status = partner_make(ctx, f, kind, &options, shortage);
  if (status == LAC_OK) *out = f->partner;
  pthread_mutex_unlock(&f->lock);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

// Without the lock, which is held for as long as a partner is being made.
int64_t lac_factor_partner_bytes(const lac_factor *factor) {
  const lac_factor *partner = atomic_load(&factor->partner);
  return partner ? lac_factor_bytes(partner) + lac_factor_partner_bytes(partner) : 0;
}

// -- what it says ----------------------------------------------------------------------------------------------------

const lac_factor *lac_factor_innermost(const lac_factor *f) {
  for (const lac_factor *next = f; next; next = f->table->inner ? f->table->inner(f) : NULL) f = next;
  return f;
}

bool lac_factor_is_seed(const lac_factor *f) { return lac_factor_innermost(f)->table->flags & LAC_IS_SEED; }
bool lac_factor_varies(const lac_factor *f) { return lac_factor_innermost(f)->table->flags & LAC_VARIES; }

int64_t lac_factor_bytes_of(const lac_solver_core *core, lac_dtype dtype, int64_t items, int64_t part_bytes) {
  int64_t values = core->pattern ? core->pattern->nnz * (int64_t)lac_dtype_size(dtype) : 0;
  return (int64_t)sizeof(lac_factor) + part_bytes + items * ((int64_t)sizeof(void *) + values);
}

static lac_report factor_report(const lac_factor *f) {
  const lac_counts *counts = f->core->counts;
  lac_report report = {.method = f->table->name,
                       .reason = f->reason,
                       .warning = f->warning,
                       .ordering = "natural",
                       .analyse_seconds = f->core->seconds,
                       .factor_seconds = f->seconds,
                       .factorisations = atomic_load(&counts->factorisations),
                       .reuses = atomic_load(&counts->reuses),
                       .preconditioner = "",
                       .setups = atomic_load(&counts->setups),
                       .refreshes = atomic_load(&counts->refreshes)};
  f->table->report(f, &report);
  return report;
}

int64_t lac_factor_bytes(const lac_factor *factor) { return factor_report(factor).factor_bytes; }

lac_report lac_factor_reported(const lac_factor *factor) {
  lac_report report;
  if (!factor) return lac_report_empty();
  report = factor_report(factor);
  report.factor_bytes += lac_factor_partner_bytes(factor);
  return report;
}

lac_status lac_factor_report(const lac_factor *factor, lac_report *out) {
  lac_context *ctx = NULL;
  lac_status status = LAC_OK;
  lac_report report;

  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_report: the factor is NULL");
  report = lac_factor_reported(factor);
  LAC_TRY(lac_report_give(ctx, "lac_factor_report", &report, out));
done:
  return status;
}

lac_status lac_factor_describe(lac_context *ctx, const lac_factor *factor, const char **text) {
  lac_status status = LAC_OK;
  lac_factor *f = (lac_factor *)factor;  // its text comes under its lock

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor && text, LAC_ERR_ARG, "lac_factor_describe: the factor or text is NULL");
  *text = "";
  if (!f->table->describe) goto done;
  pthread_mutex_lock(&f->lock);
  if (!f->text) status = f->table->describe(ctx, f, &f->text);
  if (f->text) *text = f->text;
  pthread_mutex_unlock(&f->lock);
  LAC_TRY(status);
done:
  return status;
}
