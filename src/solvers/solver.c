// SPDX-License-Identifier: Apache-2.0
/// @file solver.c
/// Solvers: their life, the factors they make and keep, what they foresee.

#include "core/sized.h"
#include "solvers/options.h"

// -- life ------------------------------------------------------------------------------------------------------------

static void solver_destroy(lac_object *object) {
  lac_solver *solver = (lac_solver *)object;
  while (solver->kept) {
    lac_factor *first = solver->kept;
    solver->kept = first->next;
    lac_object_release(first);
  }
  pthread_mutex_destroy(&solver->lock);
  lac_object_release(solver->core);
  lac_free(solver);
}

const lac_kind lac_solver_kind = {"solver", solver_destroy};

static lac_status solver_check(lac_context *ctx, const lac_solver_table *kind, const lac_pattern *pattern,
                               const lac_solver_options *options) {
  lac_status status = LAC_OK;

  LAC_CHECK(
      pattern->rows == pattern->cols || kind->flags & LAC_TAKES_RECTANGLES, LAC_ERR_SHAPE,
      "lac_solver_create: this method needs a square matrix, the pattern is %lld x %lld; least squares are solved by "
      "lac_lstsq, method = \"lsmr\" or method = \"lsqr\"",
      (long long)pattern->rows, (long long)pattern->cols);
  LAC_TRY(lac_options_check(ctx, options));
done:
  return status;
}

/// A name that lives as long as the solver, in place of the caller's.
static lac_status solver_name_preconditioner(lac_context *ctx, lac_precondition *p) {
  lac_status status = LAC_OK;
  const lac_solver_table *kind = NULL;

  LAC_TRY(lac_kind_of_preconditioner(ctx, "lac_solver_create", p->method, &kind));
  p->method = kind ? kind->name : NULL;
done:
  return status;
}

/// What a pattern with blocks is made of: single entries, and the way to them.
static lac_status solver_take_apart(lac_context *ctx, const lac_pattern *pattern, lac_pattern **entries,
                                    lac_map **map) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_pattern_require_here(ctx, pattern, "lac_solver_create"));
  if (lac_pattern_has_blocks(pattern)) {
    LAC_TRY(lac_pattern_scalar(ctx, pattern, entries, map));
  } else {
    *entries = lac_pattern_retain(pattern);
  }
  LAC_TRY(lac_pattern_require_host(ctx, *entries, "lac_solver_create"));
done:
  return status;
}

lac_status lac_solver_make(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                           lac_solver **out) {
  lac_status status = LAC_OK;
  lac_solver_options chosen = *options;
  const lac_solver_table *kind = NULL;
  lac_pattern *entries = NULL;
  lac_map *map = NULL;
  lac_solver *solver = NULL;

  LAC_TRY(solver_take_apart(ctx, pattern, &entries, &map));
  LAC_TRY(lac_kind_find(ctx, "lac_solver_create", chosen.method, &kind));
  LAC_TRY(solver_check(ctx, kind, entries, &chosen));
  chosen.method = kind->name;
  LAC_TRY(solver_name_preconditioner(ctx, &chosen.preconditioner));
  LAC_ALLOC(solver, 1);
  lac_object_init(&solver->object, &lac_solver_kind);
  pthread_mutex_init(&solver->lock, NULL);
  LAC_TRY(lac_core_create(ctx, kind, entries, &chosen, "asked for", &solver->core));
  if (map) solver->core->blocks = lac_pattern_retain(pattern), solver->core->entries = map, map = NULL;
  *out = solver, solver = NULL;
done:
  lac_object_release(solver);
  lac_pattern_destroy(&entries);
  lac_map_destroy(&map);
  return status;
}

lac_status lac_solver_create(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                             lac_solver **out) {
  lac_status status = LAC_OK;
  lac_solver_options settled;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_solver_create: out is NULL");
  LAC_TRY(lac_options_take(ctx, "lac_solver_create", options, &settled));
  LAC_TRY(lac_options_check_acting(ctx, "lac_solver_create", &settled));
  LAC_TRY(lac_solver_make(ctx, pattern, &settled, out));
done:
  return status;
}

lac_solver *lac_solver_retain(const lac_solver *solver) { return lac_object_retain(solver); }

void lac_solver_destroy(lac_solver **solver) {
  if (!solver) return;
  lac_object_release(*solver);
  *solver = NULL;
}

int64_t lac_solver_id(const lac_solver *solver) { return solver ? solver->object.id : 0; }

const lac_pattern *lac_solver_pattern(const lac_solver *solver) { return solver ? lac_core_given(solver->core) : NULL; }

// -- factors that are kept -------------------------------------------------------------------------------------------

static bool kept_is(const lac_factor *factor, const lac_array *values, const lac_identity *identity) {
  return factor->space == values->storage->space && lac_meta_same(&factor->meta, &values->meta) &&
         lac_factor_is_fresh(factor) && lac_identity_same(&factor->identity, identity);
}

static void kept_drop_last(lac_solver *solver) {
  lac_factor **link = &solver->kept, *last;
  while (*link && (*link)->next) link = &(*link)->next;
  last = *link;
  if (!last) return;
  *link = NULL;
  solver->kept_count--;
  lac_object_release(last);
}

// Let go of the oldest ones until the others fit the budget, with the partners they have by now. The last one stays
// whatever its size, and drives nothing out: a backward wants it, and others are refreshed from it. The lock is held.
static void kept_fit(lac_solver *solver) {
  int64_t budget = solver->core->options.keep_bytes, bytes = 0, count = 0;
  solver->kept_bytes = 0;
  for (const lac_factor *f = solver->kept; f && count < LAC_KEPT_FACTORS; f = f->next, count++) {
    int64_t own = lac_factor_bytes(f) + lac_factor_partner_bytes(f);
    bool is_large = count == 0 && own > budget;
    if (!is_large && own > budget - bytes) break;
    if (!is_large) bytes += own;
    solver->kept_bytes += own;
  }
  while (solver->kept_count > count) kept_drop_last(solver);
}

// Before another is made: let go of a last one that is beyond the budget, unless the next is refreshed from it. The
// lock is held.
static void kept_make_room(lac_solver *solver) {
  lac_factor *last = solver->kept;
  if (!last || lac_factor_is_seed(last) || lac_factor_bytes(last) <= solver->core->options.keep_bytes) return;
  solver->kept = last->next;
  solver->kept_count--;
  lac_object_release(last);
  kept_fit(solver);
}

// The kept factor of these values, which moves to the front; retained, or NULL. The lock is held.
static lac_factor *kept_find(lac_solver *solver, const lac_array *values, const lac_identity *identity) {
  for (lac_factor **link = &solver->kept; *link; link = &(*link)->next) {
    lac_factor *factor = *link;
    if (!kept_is(factor, values, identity)) continue;
    *link = factor->next;
    factor->next = solver->kept;
    solver->kept = lac_factor_retain(factor);
    kept_fit(solver);
    return factor;
  }
  return NULL;
}

// Factors whose values have changed since will never be asked for again. The lock is held.
static void kept_drop_stale(lac_solver *solver) {
  lac_factor **link = &solver->kept;
  while (*link) {
    lac_factor *factor = *link;
    if (lac_factor_is_fresh(factor)) {
      link = &factor->next;
      continue;
    }
    *link = factor->next;
    solver->kept_count--;
    lac_object_release(factor);
  }
}

// Keep a factor at the front. The lock is held.
static void kept_add(lac_solver *solver, lac_factor *factor) {
  if (solver->core->options.keep_bytes == 0) return;
  kept_drop_stale(solver);
  factor->next = solver->kept;
  solver->kept = lac_factor_retain(factor);
  solver->kept_count++;
  kept_fit(solver);
}

static lac_factor *solver_find(lac_solver *solver, const lac_array *values, const lac_identity *identity) {
  pthread_mutex_lock(&solver->lock);
  lac_factor *factor = kept_find(solver, values, identity);
  pthread_mutex_unlock(&solver->lock);
  return factor;
}

// Recognised at no cost where the library owns the memory, else by a hash.
static lac_status solver_recall(lac_context *ctx, lac_solver *solver, const lac_array *values, lac_identity *identity,
                                lac_factor **out) {
  lac_status status = LAC_OK;

  *identity = lac_identity_quick(values);
  if (solver->core->options.keep_bytes == 0) goto done;
  if (identity->storage) *out = solver_find(solver, values, identity);
  if (*out) goto done;
  LAC_TRY(lac_identity_hash(ctx, values, identity));
  *out = solver_find(solver, values, identity);
done:
  return status;
}

// Another thread may have been faster with the same values: then its factor is everyone's.
static lac_factor *solver_keep(lac_solver *solver, const lac_array *values, lac_factor *made) {
  pthread_mutex_lock(&solver->lock);
  lac_factor *factor = kept_find(solver, values, &made->identity);
  if (!factor) kept_add(solver, made);
  pthread_mutex_unlock(&solver->lock);
  if (!factor) return made;
  lac_object_release(made);
  return factor;
}

// The last seed of this dtype and shape where these values lie, retained; or NULL.
static lac_factor *solver_last(lac_solver *solver, const lac_array *values) {
  lac_factor *last = NULL;
  pthread_mutex_lock(&solver->lock);
  for (lac_factor *f = solver->kept; f && !last; f = f->next) {
    bool suits = f->space == values->storage->space && lac_meta_same(&f->meta, &values->meta);
    if (suits && lac_factor_is_seed(f)) last = lac_factor_retain(f);
  }
  pthread_mutex_unlock(&solver->lock);
  return last;
}

static lac_status solver_make(lac_context *ctx, lac_solver *solver, const lac_array *values,
                              const lac_identity *identity, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *last = solver_last(solver, values), *made = NULL;
  lac_array *sorted = NULL;
  lac_linear a;

  pthread_mutex_lock(&solver->lock);
  kept_make_room(solver);
  pthread_mutex_unlock(&solver->lock);
  LAC_TRY(lac_core_sort(ctx, solver->core, values, &sorted));
  a = lac_linear_matrix(solver->core->pattern, sorted);
  LAC_TRY(lac_factor_make(ctx, "lac_solver_factor", solver->core, &a, last, false, NULL, &made));
  LAC_TRY(lac_factor_identify(ctx, made, values, identity));
  atomic_fetch_add(&solver->core->counts->factorisations, 1);
  *out = solver_keep(solver, values, made), made = NULL;
done:
  lac_array_destroy(&sorted);
  lac_object_release(made);
  lac_object_release(last);
  return status;
}

lac_status lac_solver_factor(lac_context *ctx, const lac_solver *solver, const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_solver *keeper = (lac_solver *)solver;  // what it keeps changes under its lock; what it is does not
  lac_factor *factor = NULL;
  lac_array *flat = NULL;
  lac_identity identity;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_solver_factor: out is NULL");
  LAC_CHECK(solver, LAC_ERR_ARG, "lac_solver_factor: the solver is NULL");
  LAC_TRY(lac_solver_require_here(ctx, "lac_solver_factor", "values", values));
  LAC_TRY(lac_core_flatten(ctx, "lac_solver_factor", solver->core, values, &flat));
  LAC_TRY(solver_recall(ctx, keeper, flat, &identity, &factor));
  if (factor) {
    atomic_fetch_add(&solver->core->counts->reuses, 1);
  } else {
    LAC_TRY(solver_make(ctx, keeper, flat, &identity, &factor));
  }
  *out = factor, factor = NULL;
done:
  lac_array_destroy(&flat);
  return status;
}

// -- what it foresees ------------------------------------------------------------------------------------------------

lac_report lac_report_empty(void) {
  return (lac_report){.method = "", .reason = "", .warning = "", .ordering = "", .preconditioner = ""};
}

lac_status lac_report_give(lac_context *ctx, const char *function, const lac_report *report, lac_report *out) {
  const lac_sized type = LAC_SIZED(lac_report, iterations);
  lac_status status = lac_sized_check(ctx, function, type, out);
  if (status == LAC_OK) lac_sized_give(type, report, out);
  return status;
}

static lac_report solver_foresee(const lac_solver_core *core) {
  lac_report report = {.method = core->table->name,
                       .reason = core->why,
                       .warning = "",
                       .ordering = "natural",
                       .factor_nnz = -1,
                       .factor_bytes = -1,
                       .work_bytes = -1,
                       .flops = -1,
                       .analyse_seconds = core->seconds,
                       .factorisations = atomic_load(&core->counts->factorisations),
                       .reuses = atomic_load(&core->counts->reuses),
                       .preconditioner = "",
                       .setups = atomic_load(&core->counts->setups),
                       .refreshes = atomic_load(&core->counts->refreshes)};
  core->table->foresee(core, &report);
  return report;
}

lac_status lac_solver_report(const lac_solver *solver, lac_report *out) {
  lac_context *ctx = NULL;
  lac_status status = LAC_OK;
  lac_report report;

  LAC_CHECK(solver, LAC_ERR_ARG, "lac_solver_report: the solver is NULL");
  report = solver_foresee(solver->core);
  LAC_TRY(lac_report_give(ctx, "lac_solver_report", &report, out));
done:
  return status;
}
