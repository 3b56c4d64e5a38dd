// SPDX-License-Identifier: Apache-2.0
/// @file solver.c
/// Solvers: their life, and the factors that they make.

#include "solvers/kept.h"
#include "solvers/options.h"

// -- life ------------------------------------------------------------------------------------------------------------

static void solver_destroy(lac_object *object) {
  lac_solver *solver = (lac_solver *)object;
  lac_kept_drop(solver);
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
  LAC_TRY(lac_pattern_require_scalar(ctx, *entries, "lac_solver_create"));
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

// -- factors ---------------------------------------------------------------------------------------------------------

static lac_status solver_make(lac_context *ctx, lac_solver *solver, const lac_array *values,
                              const lac_identity *identity, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *seed = lac_kept_seed(solver, values), *made = NULL;
  lac_array *sorted = NULL;
  lac_linear a;

  LAC_TRY(lac_core_sort(ctx, solver->core, values, &sorted));
  a = lac_linear_matrix(solver->core->pattern, sorted);
  LAC_TRY(lac_factor_make(ctx, "lac_solver_factor", solver->core, &a, seed, false, NULL, &made));
  LAC_TRY(lac_factor_identify(ctx, made, values, identity));
  atomic_fetch_add(&solver->core->counts->factorisations, 1);
  *out = lac_kept_share(solver, values, made), made = NULL;
done:
  lac_array_destroy(&sorted);
  lac_object_release(made);
  lac_object_release(seed);
  return status;
}

lac_status lac_solver_take_factor(lac_context *ctx, const lac_solver *solver, const lac_array *values,
                                  lac_factor **out) {
  lac_status status = LAC_OK;
  lac_solver *keeper = (lac_solver *)solver;  // what it keeps changes under its lock; what it is does not
  lac_factor *factor = NULL;
  lac_array *flat = NULL;
  lac_identity identity;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_solver_factor: out is NULL");
  LAC_CHECK(solver, LAC_ERR_ARG, "lac_solver_factor: the solver is NULL");
  LAC_TRY(lac_solver_require_here(ctx, "lac_solver_factor", "values", values));
  LAC_TRY(lac_core_flatten(ctx, "lac_solver_factor", solver->core, values, &flat));
  LAC_TRY(lac_kept_recall(ctx, keeper, flat, &identity, &factor));
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

lac_status lac_solver_factor(lac_context *ctx, const lac_solver *solver, const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_context_faults(ctx));
  LAC_TRY(lac_solver_take_factor(ctx, solver, values, out));
done:
  return status;
}
