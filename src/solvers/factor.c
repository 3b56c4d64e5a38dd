// SPDX-License-Identifier: Apache-2.0
/// @file factor.c
/// Factors: their life, how they are made, of values and by an earlier one, and what they are made of.

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
  LAC_TRY(lac_context_faults(ctx));
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

// -- what it is made of ----------------------------------------------------------------------------------------------

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
