// SPDX-License-Identifier: Apache-2.0
/// @file extension.c
/// Extensions are made without the lock and kept under it; of two that were made at once the first stays.

#include "solvers/extension.h"

#include "solvers/direct/order/structure.h"

enum { EXTENSIONS_KEPT = 8 };  // at most

static void extension_destroy(lac_object *object) {
  lac_extension *e = (lac_extension *)object;
  lac_pattern_destroy(&e->target);
  lac_solver_destroy(&e->solver);
  lac_map_destroy(&e->parts);
  lac_map_destroy(&e->block);
  lac_free(e);
}

static const lac_kind extension_kind = {"extension", extension_destroy};

void lac_extensions_drop(lac_solver_core *core) {
  while (core->extensions) {
    lac_extension *first = core->extensions;
    core->extensions = first->next;
    lac_object_release(first);
  }
}

static bool extension_matches(const lac_extension *e, const lac_pattern *target) {
  return target ? e->target && lac_pattern_same(e->target, target) : !e->target;
}

/// The kept one, moved to the front and retained; or NULL. The lock is held.
static lac_extension *extension_find(lac_solver_core *core, const lac_pattern *target) {
  for (lac_extension **link = &core->extensions; *link; link = &(*link)->next) {
    lac_extension *e = *link;
    if (!extension_matches(e, target)) continue;
    *link = e->next;
    e->next = core->extensions;
    core->extensions = e;
    return lac_object_retain(e);
  }
  return NULL;
}

static void extension_shorten(lac_solver_core *core) {
  lac_extension **link = &core->extensions;
  for (int i = 0; i < EXTENSIONS_KEPT && *link; i++) link = &(*link)->next;
  while (*link) {
    lac_extension *last = *link;
    *link = last->next;
    lac_object_release(last);
  }
}

static lac_extension *extension_recall(lac_solver_core *core, const lac_pattern *target) {
  pthread_mutex_lock(&core->lock);
  lac_extension *e = extension_find(core, target);
  pthread_mutex_unlock(&core->lock);
  return e;
}

/// Keep a new one, or take the one that another thread kept meanwhile.
static lac_extension *extension_keep(lac_solver_core *core, lac_extension *made) {
  pthread_mutex_lock(&core->lock);
  lac_extension *e = extension_find(core, made->target);
  if (!e) {
    made->next = core->extensions;
    core->extensions = lac_object_retain(made);
    extension_shorten(core);
  }
  pthread_mutex_unlock(&core->lock);
  if (!e) return made;
  lac_object_release(made);
  return e;
}

/// LU takes any matrix, and so does the automatic choice; what is asked for by name may not fit the larger one.
static lac_solver_options extension_options(const lac_solver_core *core, const char *otherwise) {
  extern const lac_solver_table lac_kind_lu, lac_kind_pivoting_lu;
  lac_solver_options options = core->options;
  if (core->table != &lac_kind_lu && core->table != &lac_kind_pivoting_lu) options.method = otherwise;
  return options;
}

static lac_status extension_create(lac_context *ctx, lac_extension **out) {
  lac_status status = LAC_OK;

  LAC_ALLOC(*out, 1);
  lac_object_init(&(*out)->object, &extension_kind);
done:
  return status;
}

// -- doubled ---------------------------------------------------------------------------------------------------------

/// `spread` takes entry k and place q of its block, counted by rows, to a slot: 4 k + q -> slot.
static lac_status extension_make_maps(lac_context *ctx, int64_t nnz, const lac_map *spread, lac_extension *e) {
  lac_status status = LAC_OK;
  int64_t *slot = NULL, *parts = NULL, *block = NULL;

  LAC_ALLOC(slot, 4 * nnz);
  LAC_ALLOC(parts, 4 * nnz);
  LAC_ALLOC(block, 4 * nnz);
  LAC_TRY(lac_map_read(spread, slot));
  for (int64_t k = 0; k < nnz; k++) {
    const int64_t from[4] = {k, nnz + k, -1, k};
    for (int q = 0; q < 4; q++) parts[slot[4 * k + q]] = from[q], block[slot[4 * k + q]] = q == 2 ? k : -1;
  }
  LAC_TRY(lac_map_create(ctx, 4 * nnz, 2 * nnz, parts, &e->parts));
  LAC_TRY(lac_map_create(ctx, 4 * nnz, nnz, block, &e->block));
done:
  lac_free(slot);
  lac_free(parts);
  lac_free(block);
  return status;
}

static lac_status extension_double(lac_context *ctx, lac_solver_core *core, lac_extension *e) {
  lac_status status = LAC_OK;
  lac_solver_options options = extension_options(core, "lu");
  lac_pattern *two = NULL, *doubled = NULL;
  lac_map *spread = NULL;

  options.keep_bytes = 0;  // the direction is another each time
  LAC_TRY(lac_pattern_banded(ctx, 2, 2, 1, 1, LAC_WIDTH_AUTO, &two, NULL));
  LAC_TRY(lac_pattern_kron(ctx, core->pattern, two, &doubled, &spread));
  LAC_TRY(extension_make_maps(ctx, core->pattern->nnz, spread, e));
  LAC_TRY(lac_solver_make(ctx, doubled, &options, &e->solver));
done:
  lac_map_destroy(&spread);
  lac_pattern_destroy(&doubled);
  lac_pattern_destroy(&two);
  return status;
}

lac_status lac_extension_doubled(lac_context *ctx, lac_solver_core *core, lac_extension **out) {
  lac_status status = LAC_OK;
  lac_extension *e = extension_recall(core, NULL);

  if (!e) {
    LAC_TRY(extension_create(ctx, &e));
    LAC_TRY(extension_double(ctx, core, e));
    e = extension_keep(core, e);
  }
  *out = e, e = NULL;
done:
  lac_object_release(e);
  return status;
}

// -- covering --------------------------------------------------------------------------------------------------------

/// The union, and of a symmetric pattern one that stays symmetric, so that Cholesky remains possible. Where the solver
/// does not iterate this one does not either.
static lac_status extension_cover(lac_context *ctx, lac_solver_core *core, lac_extension *e) {
  lac_status status = LAC_OK;
  bool is_direct = !(core->table->flags & (LAC_ITERATES | LAC_APPROXIMATES | LAC_DELEGATES));
  lac_solver_options options = extension_options(core, is_direct ? "direct" : "auto");
  lac_pattern *wide = NULL, *turned = NULL, *whole = NULL;
  lac_structure *structure = NULL;

  LAC_TRY(lac_structure_get(ctx, core->pattern, &structure));
  LAC_TRY(lac_pattern_union(ctx, core->pattern, e->target, &wide, NULL, NULL));
  if (structure->is_symmetric) {
    LAC_TRY(lac_pattern_transpose(ctx, wide, &turned, NULL));
    LAC_TRY(lac_pattern_union(ctx, wide, turned, &whole, NULL, NULL));
  }
  LAC_TRY(lac_solver_make(ctx, whole ? whole : wide, &options, &e->solver));
done:
  lac_object_release(structure);
  lac_pattern_destroy(&wide);
  lac_pattern_destroy(&turned);
  lac_pattern_destroy(&whole);
  return status;
}

static lac_status extension_covering(lac_context *ctx, lac_solver_core *core, const lac_pattern *target,
                                     lac_extension **out) {
  lac_status status = LAC_OK;
  lac_extension *e = NULL;

  LAC_TRY(extension_create(ctx, &e));
  e->target = lac_pattern_retain(target);
  LAC_TRY(extension_cover(ctx, core, e));
  *out = extension_keep(core, e), e = NULL;
done:
  lac_object_release(e);
  return status;
}

/// Whether a pattern has all entries of another.
static lac_status extension_is_part(lac_context *ctx, const lac_pattern *pattern, const lac_pattern *target,
                                    bool *is_part) {
  lac_status status = LAC_OK;
  lac_pattern *both = NULL;

  LAC_TRY(lac_pattern_union(ctx, pattern, target, &both, NULL, NULL));
  *is_part = both->nnz == pattern->nnz;
done:
  lac_pattern_destroy(&both);
  return status;
}

lac_status lac_solver_covering(lac_context *ctx, const lac_solver *solver, const lac_pattern *target,
                               lac_solver **out) {
  lac_status status = LAC_OK;
  lac_extension *e = NULL;
  bool is_part = false;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_solver_covering: out is NULL");
  LAC_CHECK(solver, LAC_ERR_ARG, "lac_solver_covering: the solver is NULL; see lac_solver_create");
  LAC_TRY(lac_pattern_require_host(ctx, target, "lac_solver_covering"));
  LAC_CHECK(target->rows == solver->core->pattern->rows && target->cols == solver->core->pattern->rows, LAC_ERR_SHAPE,
            "lac_solver_covering: the target is %lld x %lld, the matrix has %lld rows and columns; they must agree",
            (long long)target->rows, (long long)target->cols, (long long)solver->core->pattern->rows);
  e = extension_recall(solver->core, target);
  if (!e) LAC_TRY(extension_is_part(ctx, solver->core->pattern, target, &is_part));
  if (!e && !is_part) LAC_TRY(extension_covering(ctx, solver->core, target, &e));
  *out = lac_solver_retain(is_part ? solver : e->solver);
done:
  lac_object_release(e);
  return status;
}
