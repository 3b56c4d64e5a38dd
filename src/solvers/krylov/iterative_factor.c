// SPDX-License-Identifier: Apache-2.0
/// @file iterative_factor.c
/// Factors of iterative solvers: the values they share, and what they say of themselves.

#include <stdio.h>
#include <string.h>

#include "solvers/krylov/iterative.h"

void lac_iterative_destroy(lac_iterative *it) {
  if (!it) return;
  if (it->table && it->part) it->table->destroy(it->part);
  lac_object_release(it->inner);
  lac_array_destroy(&it->values);
  lac_array_destroy(&it->given);
  lac_array_destroy(&it->largest);
  lac_free(it->text);
  lac_free(it);
}

// -- values ----------------------------------------------------------------------------------------------------------

/// Share memory that the library owns; copy what belongs to somebody else, who may change it without a word.
static lac_status iterative_take_values(lac_context *ctx, lac_factor *f, const lac_array *values) {
  lac_status status = LAC_OK;
  lac_iterative *it = f->iterative;
  const int64_t shape[] = {f->items, f->core->pattern->nnz};

  if (values->storage->origin == STORAGE_BORROWED) {
    LAC_TRY(lac_array_clone(ctx, values, &it->given));
  } else {
    it->given = lac_array_retain(values);
  }
  it->version = atomic_load(&it->given->storage->version);
  LAC_TRY(lac_array_reshape(ctx, it->given, 2, shape, &it->values));
done:
  return status;
}

static lac_status iterative_begin(lac_context *ctx, lac_solver_core *core, const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *f = NULL;

  LAC_ALLOC(f, 1);
  lac_object_init(&f->object, &lac_factor_kind);
  pthread_mutex_init(&f->lock, NULL);
  f->core = lac_object_retain(core);
  f->function = "lac_solver_factor";
  f->meta = values->meta;
  f->items = 1;
  for (int d = 0; d < f->meta.ndim - 1; d++) f->items *= f->meta.shape[d];
  LAC_ALLOC(f->iterative, 1);
  LAC_TRY(iterative_take_values(ctx, f, values));
  *out = f, f = NULL;
done:
  lac_object_release(f);
  return status;
}

bool lac_iterative_is_fresh(const lac_factor *f) {
  return atomic_load(&f->iterative->given->storage->version) == f->iterative->version;
}

lac_status lac_iterative_require_fresh(lac_context *ctx, const char *function, const lac_factor *f) {
  lac_status status = LAC_OK;

  LAC_CHECK(lac_iterative_is_fresh(f), LAC_ERR_STALE,
            "%s: the values have changed since they were factored, and the factor shares them; factor them again "
            "(lac_solver_factor), or factor a copy (lac_array_clone)",
            function);
done:
  return status;
}

bool lac_iterative_recognises(const lac_factor *f, const lac_array *values, uint64_t hash) {
  const lac_array *own = f->iterative->given;
  size_t bytes = (size_t)values->count * lac_dtype_size(values->meta.dtype);

  if (!lac_meta_same(&f->meta, &values->meta) || !lac_iterative_is_fresh(f)) return false;
  if (own->storage == values->storage) return true;
  if (own->storage->space != values->storage->space || !own->storage->space->is_host) return false;
  return f->hash == hash && memcmp(own->storage->data, lac_array_data(values), bytes) == 0;
}

/// Bit by bit, on the host where they are elsewhere.
static lac_status iterative_compare(lac_context *ctx, const lac_array *a, const lac_array *b, int *same) {
  lac_status status = LAC_OK;
  size_t bytes = (size_t)a->count * lac_dtype_size(a->meta.dtype);
  char *host = NULL;

  if (ctx->space->is_host) {
    *same = memcmp(lac_array_data(a), lac_array_data(b), bytes) == 0;
    goto done;
  }
  LAC_ALLOC(host, 2 * bytes);
  LAC_TRY(lac_array_read(ctx, a, host));
  LAC_TRY(lac_array_read(ctx, b, host + bytes));
  *same = memcmp(host, host + bytes, bytes) == 0;
done:
  lac_free(host);
  return status;
}

lac_status lac_iterative_matches(lac_context *ctx, const char *function, const lac_factor *f, const lac_array *values,
                                 int *matches) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_solver_require_here(ctx, function, values));
  *matches = values->meta.dtype == f->meta.dtype && lac_factor_same_shape(&f->meta, &values->meta, 1) &&
             lac_iterative_is_fresh(f);
  if (*matches && f->iterative->given->storage != values->storage) {
    LAC_TRY(iterative_compare(ctx, f->iterative->given, values, matches));
  }
done:
  return status;
}

// -- making one ------------------------------------------------------------------------------------------------------

static lac_status iterative_refuse(lac_context *ctx, const lac_factor *f, const lac_survey *survey) {
  lac_status status = LAC_OK;
  long long row = 0, column = 0;
  char which[64];

  if (survey->nonfinite >= 0) LAC_TRY(lac_survey_place(ctx, f->core->pattern, survey->nonfinite, &row, &column));
  LAC_CHECK(
      survey->nonfinite < 0, LAC_ERR_NONFINITE,
      "lac_solver_factor: the value of entry (%lld, %lld) is not finite%s; a matrix with NaN or infinity cannot be "
      "solved",
      row, column, lac_factor_item_text(f, survey->nonfinite_item, which));
done:
  return status;
}

/// The core that direct factors of an automatic choice share, made when first needed; borrowed.
static lac_status iterative_direct_core(lac_context *ctx, lac_solver_core *core, lac_solver_core **out) {
  lac_status status = LAC_OK;

  pthread_mutex_lock(&core->lock);
  if (!core->direct) status = lac_solver_core_create(ctx, core->pattern, &core->options, &core->direct);
  *out = core->direct;
  pthread_mutex_unlock(&core->lock);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

// What the other way of solving has to say, without the function's name before it.
static void iterative_quote(const lac_context *ctx, char text[LAC_SENTENCE_SIZE / 2]) {
  const char *sentence = lac_context_error(ctx), *colon = strstr(sentence, ": ");
  snprintf(text, LAC_SENTENCE_SIZE / 2, "%s", colon ? colon + 2 : sentence);
}

static lac_status iterative_go_direct(lac_context *ctx, lac_solver_core *core, const lac_array *values,
                                      const char *finding, lac_factor **out) {
  lac_status status = LAC_OK, made;
  lac_solver_core *direct = NULL;
  bool lacks_room = false;
  char refusal[LAC_SENTENCE_SIZE / 2];

  LAC_TRY(lac_solver_require_cpu(ctx, "lac_solver_factor", values));
  LAC_TRY(iterative_direct_core(ctx, core, &direct));
  made = lac_factor_make(ctx, direct, values, &lacks_room, out);
  if (lacks_room) iterative_quote(ctx, refusal);
  LAC_CHECK(!lacks_room, LAC_ERR_MEMORY,
            "lac_solver_factor: %s; nor is it iterated on unless a Krylov method is asked for by name: %s", refusal,
            finding);
  LAC_TRY(made);
  atomic_fetch_add(&direct->factorisations, 1);
  lac_choose_say(*out, "; %s, so that it is not iterated on", finding);
done:
  return status;
}

/// The core for iterating of an automatic choice that began as a direct one, made when first needed; borrowed.
static lac_status iterative_core_beside(lac_context *ctx, lac_solver_core *core, lac_solver_core **out) {
  lac_status status = LAC_OK;

  pthread_mutex_lock(&core->lock);
  if (!core->iterative) {
    status = lac_solver_core_begin(ctx, core->pattern, &core->options, &core->iterative);
    if (core->iterative) snprintf(core->iterative->why, LAC_REASON_SIZE, "there is no room for a direct factor");
  }
  *out = core->iterative;
  pthread_mutex_unlock(&core->lock);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

lac_status lac_iterative_make_instead(lac_context *ctx, lac_solver_core *core, const lac_factor *like,
                                      const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_solver_core *beside = NULL;
  char refusal[LAC_SENTENCE_SIZE / 2];

  iterative_quote(ctx, refusal);
  LAC_TRY(iterative_core_beside(ctx, core, &beside));
  LAC_TRY(lac_iterative_make(ctx, beside, like, values, out));
  atomic_fetch_add(&beside->factorisations, 1);
  if ((*out)->iterative) lac_choose_say(*out, "; %s", refusal);
done:
  return status;
}

lac_status lac_iterative_make(lac_context *ctx, lac_solver_core *core, const lac_factor *like, const lac_array *values,
                              lac_factor **out) {
  lac_status status = LAC_OK;
  double begin = lac_solver_seconds();
  lac_factor *f = NULL;
  lac_survey survey;
  double *largest = NULL;
  const char *finding = "";

  if (lac_iterative_may_go_direct(core) && atomic_load(&core->has_failed)) {
    LAC_TRY(iterative_go_direct(ctx, core, values, "iterating on earlier values did not converge", out));
    goto done;
  }
  LAC_TRY(iterative_begin(ctx, core, values, &f));
  LAC_ALLOC(largest, f->items);
  LAC_TRY(lac_survey_values(ctx, core->pattern, f->iterative->values, largest, &survey));
  LAC_TRY(
      lac_array_from(ctx, LAC_F64, 3, (const int64_t[]){f->items, 1, 1}, largest, LAC_COPY, &f->iterative->largest));
  LAC_TRY(iterative_refuse(ctx, f, &survey));
  if (lac_iterative_may_go_direct(core) && !lac_iterative_suits(&survey, &finding)) {
    LAC_TRY(iterative_go_direct(ctx, core, values, finding, out));
    goto done;
  }
  LAC_TRY(lac_iterative_choose(ctx, f, like, &survey));
  f->seconds = lac_solver_seconds() - begin;
  *out = f, f = NULL;
done:
  lac_object_release(f);
  lac_free(largest);
  return status;
}

// -- what it says ----------------------------------------------------------------------------------------------------

static const char *iterative_preconditioner_name(const lac_factor *f) {
  const lac_iterative *it = f->iterative;
  if (it->table) return it->table->name;
  if (!it->inner) return "a function";
  return lac_factor_report(it->inner).method;
}

lac_report lac_iterative_report(const lac_factor *f) {
  lac_iterative *it = f->iterative;
  lac_report report = {.method = it->krylov ? it->krylov->name : it->table->name,
                       .reason = f->reason,
                       .warning = f->warning,
                       .ordering = "natural",
                       .factor_bytes = lac_factor_bytes(f) + lac_factor_partner_bytes(f),
                       .analyse_seconds = f->core->seconds,
                       .factor_seconds = f->seconds,
                       .factorisations = atomic_load(&f->core->factorisations),
                       .reuses = atomic_load(&f->core->reuses),
                       .preconditioner = it->krylov ? iterative_preconditioner_name(f) : "",
                       .levels = it->finding.levels,
                       .complexity = it->finding.complexity,
                       .setups = atomic_load(&f->core->setups),
                       .refreshes = atomic_load(&f->core->refreshes),
                       .solves = atomic_load(&it->solves),
                       .iterations = atomic_load(&it->iterations)};
  if (!atomic_load(&it->has_fallen)) return report;
  report.method = f->partner->table->name;
  report.reason = it->fallen;
  report.warning = f->partner->warning;
  report.ordering = lac_finding_ordering(&f->partner->finding, f->partner->core);
  report.factor_nnz = f->partner->finding.nnz;
  report.flops = f->partner->finding.flops;
  return report;
}

lac_report lac_iterative_foreseen(const lac_solver_core *core) {
  const lac_krylov_table *krylov = lac_krylov_of(core->options.method);
  const lac_preconditioner_table *asked = lac_preconditioner_of(core->options.method);
  const lac_preconditioner_table *table = lac_preconditioner_of((lac_method)core->options.preconditioner.method);
  if (table && table->is_variable && lac_krylov_flexible(krylov)) krylov = lac_krylov_flexible(krylov);
  return (lac_report){.method = krylov  ? krylov->name
                                : asked ? asked->name
                                        : lac_krylov_flexible_cg.name,
                      .reason = core->why,
                      .warning = "",
                      .ordering = "natural",
                      .factor_nnz = -1,
                      .factor_bytes = -1,
                      .work_bytes = -1,
                      .flops = -1,
                      .analyse_seconds = core->seconds,
                      .factorisations = atomic_load(&core->factorisations),
                      .reuses = atomic_load(&core->reuses),
                      .preconditioner = asked   ? ""
                                        : table ? table->name
                                                : "",
                      .setups = atomic_load(&core->setups),
                      .refreshes = atomic_load(&core->refreshes)};
}

static lac_status iterative_describe(lac_context *ctx, const lac_factor *f, const char **text) {
  lac_status status = LAC_OK;
  lac_iterative *it = f->iterative;

  pthread_mutex_lock(&((lac_factor *)f)->lock);
  if (!it->text) status = it->table->describe(ctx, it->part, &it->text);
  *text = it->text;
  pthread_mutex_unlock(&((lac_factor *)f)->lock);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

lac_status lac_factor_describe(lac_context *ctx, const lac_factor *factor, const char **text) {
  lac_status status = LAC_OK;
  const lac_iterative *it;
  const char *made = "";

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor && text, LAC_ERR_ARG, "lac_factor_describe: the factor or text is NULL");
  it = factor->iterative;
  if (it && it->table && it->part && it->table->describe) LAC_TRY(iterative_describe(ctx, factor, &made));
  if (it && it->inner) LAC_TRY(lac_factor_describe(ctx, it->inner, &made));
  *text = made;
done:
  return status;
}
