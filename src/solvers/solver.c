// SPDX-License-Identifier: Apache-2.0
/// @file solver.c
/// Solvers: options, analysis, and the factors they keep.

#include <string.h>

#include "solvers/krylov/iterative.h"

lac_solver_options lac_solver_options_defaults(void) {
  return (lac_solver_options){.method = LAC_METHOD_AUTO,
                              .ordering = LAC_ORDER_AUTO,
                              .pivot_tolerance = 0.1,
                              .keep_bytes = INT64_C(512) << 20,
                              .iteration = lac_iteration_defaults()};
}

const char *lac_finding_ordering(const lac_finding *finding, const lac_solver_core *core) {
  static const char *const names[] = {"amd", "amd", "metis", "natural"};
  return finding->ordering ? finding->ordering : names[core->options.ordering];
}

// -- life ------------------------------------------------------------------------------------------------------------

static void core_destroy(lac_object *object) {
  lac_solver_core *core = (lac_solver_core *)object;
  lac_extensions_drop(core);
  lac_iterative_let_go(&core->options);
  lac_object_release(core->direct);
  lac_object_release(core->iterative);
  pthread_mutex_destroy(&core->lock);
  lac_object_release(core->structure);
  lac_pattern_destroy(&core->pattern);
  lac_free(core);
}

static void solver_destroy(lac_object *object) {
  lac_solver *solver = (lac_solver *)object;
  while (solver->kept) {
    lac_factor *first = solver->kept;
    solver->kept = first->next;
    lac_object_release(first);
  }
  pthread_mutex_destroy(&solver->lock);
  lac_object_release(solver->analysis);
  lac_object_release(solver->core);
  lac_free(solver);
}

static const lac_kind core_kind = {"solver core", core_destroy};
const lac_kind lac_solver_kind = {"solver", solver_destroy};

lac_status lac_solver_core_begin(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                 lac_solver_core **out) {
  lac_status status = LAC_OK;
  lac_solver_core *core = NULL;

  LAC_ALLOC(core, 1);
  lac_object_init(&core->object, &core_kind);
  pthread_mutex_init(&core->lock, NULL);
  core->pattern = lac_pattern_retain(pattern);
  core->options = *options;
  lac_iterative_hold(&core->options);
  *out = core, core = NULL;
done:
  lac_object_release(core);
  return status;
}

lac_status lac_solver_core_create(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                  lac_solver_core **out) {
  lac_status status = LAC_OK;
  double begin = lac_solver_seconds();
  lac_solver_core *core = NULL;

  LAC_TRY(lac_solver_core_begin(ctx, pattern, options, &core));
  LAC_TRY(lac_structure_get(ctx, pattern, &core->structure));
  core->seconds = lac_solver_seconds() - begin;
  *out = core, core = NULL;
done:
  lac_object_release(core);
  return status;
}

static lac_status solver_check(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_pattern_require_scalar(ctx, pattern, "lac_solver_create"));
  LAC_CHECK(options->method >= LAC_METHOD_AUTO && options->method <= LAC_METHOD_DIRECT, LAC_ERR_ARG,
            "lac_solver_create: unknown method %d; use one of lac_method", (int)options->method);
  LAC_CHECK(
      pattern->rows == pattern->cols || lac_iterative_takes_rectangles(options->method), LAC_ERR_SHAPE,
      "lac_solver_create: this method needs a square matrix, the pattern is %lld x %lld; least squares are solved by "
      "lac_lstsq, LAC_METHOD_LSMR or LAC_METHOD_LSQR",
      (long long)pattern->rows, (long long)pattern->cols);
  LAC_CHECK(options->ordering >= LAC_ORDER_AUTO && options->ordering <= LAC_ORDER_NATURAL, LAC_ERR_ARG,
            "lac_solver_create: unknown ordering %d; use one of lac_ordering", (int)options->ordering);
  LAC_TRY(lac_ordering_find(ctx, options->ordering));
  LAC_CHECK(options->pivot_tolerance >= 0 && options->pivot_tolerance <= 1, LAC_ERR_ARG,
            "lac_solver_create: pivot_tolerance must lie between 0 and 1, it is %g", options->pivot_tolerance);
  LAC_CHECK(options->keep_bytes >= 0, LAC_ERR_ARG, "lac_solver_create: keep_bytes must not be negative, it is %lld",
            (long long)options->keep_bytes);
  LAC_CHECK(options->max_bytes >= 0, LAC_ERR_ARG, "lac_solver_create: max_bytes must not be negative, it is %lld",
            (long long)options->max_bytes);
  LAC_TRY(lac_iterative_check(ctx, pattern, options));
done:
  return status;
}

// The method that values will probably need, its analysis, and what that foresees.
static lac_status solver_analyse(lac_context *ctx, lac_solver *solver) {
  lac_status status = LAC_OK;
  const lac_solver_core *core = solver->core;

  LAC_TRY(lac_choose_likely(ctx, core, &solver->likely, &solver->reason));
  if (solver->likely) {
    LAC_TRY(lac_analysis_get(ctx, core->pattern, core->structure, solver->likely, core->options.ordering,
                             &solver->analysis));
  }
  solver->foreseen = lac_foresee(solver->likely, solver->analysis, LAC_F64);
  if (solver->foreseen.nnz >= 0) {
    lac_foresee_warn(core->structure, solver->likely, LAC_F64, &solver->foreseen, solver->warning,
                     sizeof solver->warning);
  }
done:
  return status;
}

lac_status lac_solver_create(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                             lac_solver **out) {
  lac_status status = LAC_OK;
  lac_solver_options chosen = options ? *options : lac_solver_options_defaults();
  bool is_direct = chosen.method == LAC_METHOD_DIRECT;
  lac_solver *solver = NULL;
  lac_solver_core *core = NULL;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_solver_create: out is NULL");
  LAC_TRY(solver_check(ctx, pattern, &chosen));
  if (is_direct) chosen.method = LAC_METHOD_AUTO;  // of direct ones
  if (!is_direct) LAC_TRY(lac_iterative_core(ctx, pattern, &chosen, &core));
  if (!core) LAC_TRY(lac_solver_core_create(ctx, pattern, &chosen, &core));
  LAC_ALLOC(solver, 1);
  lac_object_init(&solver->object, &lac_solver_kind);
  pthread_mutex_init(&solver->lock, NULL);
  solver->core = core, core = NULL;
  solver->core->may_iterate = !is_direct && chosen.method == LAC_METHOD_AUTO;
  solver->reason = solver->core->why;
  solver->foreseen = (lac_finding){.nnz = -1, .bytes = -1, .work_bytes = -1, .flops = -1};
  if (solver->core->structure) LAC_TRY(solver_analyse(ctx, solver));
  *out = solver, solver = NULL;
done:
  lac_object_release(solver);
  lac_object_release(core);
  return status;
}

lac_solver *lac_solver_retain(const lac_solver *solver) { return lac_object_retain(solver); }

void lac_solver_destroy(lac_solver **solver) {
  if (!solver) return;
  lac_object_release(*solver);
  *solver = NULL;
}

int64_t lac_solver_id(const lac_solver *solver) { return solver->object.id; }

const lac_pattern *lac_solver_pattern(const lac_solver *solver) { return solver->core->pattern; }

// -- factors that are kept -------------------------------------------------------------------------------------------

static inline uint64_t hash_step(uint64_t hash, const char *from, size_t bytes) {
  uint64_t word = 0;
  memcpy(&word, from, bytes);
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

// Of a block's bits. Four lanes, so that it keeps up with memory; the rest goes through one.
static uint64_t hash_block(const char *from, size_t bytes) {
  size_t at = 0;
  uint64_t a = bytes, b = 1, c = 2, d = 3;

  for (; bytes - at >= 32; at += 32) {
    a = hash_step(a, from + at, 8);
    b = hash_step(b, from + at + 8, 8);
    c = hash_step(c, from + at + 16, 8);
    d = hash_step(d, from + at + 24, 8);
  }
  for (; at < bytes; at += 4) a = hash_step(a, from + at, 4);  // every number is made of fours
  a = hash_step(a, (const char *)&b, sizeof b);
  a = hash_step(a, (const char *)&c, sizeof c);
  return hash_step(a, (const char *)&d, sizeof d);
}

// Of the values' bits: unequal means different. Blocks do not depend on the number of threads.
static uint64_t kept_hash(const lac_context *ctx, const lac_array *values) {
  enum { BLOCKS = 64, LEAST = 1 << 18 };
  const char *from = lac_array_data(values);
  size_t bytes = (size_t)values->count * lac_dtype_size(values->meta.dtype);
  size_t block = bytes / BLOCKS / 32 * 32 + 32 < LEAST ? LEAST : bytes / BLOCKS / 32 * 32 + 32;
  int blocks = (int)((bytes + block - 1) / block);
  uint64_t parts[BLOCKS] = {0};

  if (blocks <= 1) return hash_block(from, bytes);
#pragma omp parallel for schedule(static) num_threads(ctx->threads) if (ctx->threads > 1)
  for (int i = 0; i < blocks; i++) {
    size_t begin = (size_t)i * block;
    parts[i] = hash_block(from + begin, bytes - begin < block ? bytes - begin : block);
  }
  return hash_block((const char *)parts, (size_t)blocks * sizeof *parts);
}

static bool kept_matches(const lac_factor *factor, const lac_array *values, uint64_t hash) {
  if (factor->iterative) return lac_iterative_recognises(factor, values, hash);
  size_t bytes = (size_t)values->count * lac_dtype_size(values->meta.dtype);
  return factor->hash == hash && lac_meta_same(&factor->meta, &values->meta) &&
         memcmp(factor->values, lac_array_data(values), bytes) == 0;
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

// Let go of the last ones until the others fit the budget, with the partners they have by now. The last set-up of an
// iterative solver stays whatever its size: the next ones are refreshed from it. The lock is held.
static void kept_fit(lac_solver *solver) {
  int64_t bytes = 0, count = 0;
  for (const lac_factor *f = solver->kept; f && count < LAC_KEPT_FACTORS; f = f->next, count++) {
    int64_t own = lac_factor_bytes(f) + lac_factor_partner_bytes(f);
    bool is_last_set_up = count == 0 && f->iterative;
    if (own > solver->core->options.keep_bytes - bytes && !is_last_set_up) break;
    bytes += own;
  }
  while (solver->kept_count > count) kept_drop_last(solver);
  solver->kept_bytes = bytes;
}

// The kept factor of these values, which moves to the front; retained, or NULL. The lock is held.
static lac_factor *kept_find(lac_solver *solver, const lac_array *values, uint64_t hash) {
  for (lac_factor **link = &solver->kept; *link; link = &(*link)->next) {
    lac_factor *factor = *link;
    if (!kept_matches(factor, values, hash)) continue;
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
    if (!factor->iterative || lac_iterative_is_fresh(factor)) {
      link = &factor->next;
      continue;
    }
    *link = factor->next;
    solver->kept_count--;
    lac_object_release(factor);
  }
}

// Keep a factor at the front, if the budget has room for it at all. The lock is held.
static void kept_add(lac_solver *solver, lac_factor *factor) {
  int64_t budget = solver->core->options.keep_bytes;
  if (budget == 0 || (lac_factor_bytes(factor) > budget && !factor->iterative)) return;
  kept_drop_stale(solver);
  factor->next = solver->kept;
  solver->kept = lac_factor_retain(factor);
  solver->kept_count++;
  kept_fit(solver);
}

static lac_factor *solver_recall(lac_solver *solver, const lac_array *values, uint64_t hash) {
  pthread_mutex_lock(&solver->lock);
  lac_factor *factor = kept_find(solver, values, hash);
  pthread_mutex_unlock(&solver->lock);
  return factor;
}

// Another thread may have been faster with the same values: then its factor is everyone's.
static lac_factor *solver_keep(lac_solver *solver, const lac_array *values, uint64_t hash, lac_factor *made) {
  made->hash = hash;
  pthread_mutex_lock(&solver->lock);
  lac_factor *factor = kept_find(solver, values, hash);
  if (!factor) kept_add(solver, made);
  pthread_mutex_unlock(&solver->lock);
  if (!factor) return made;
  lac_object_release(made);
  return factor;
}

// The last set-up of this dtype and shape, retained; or NULL.
static lac_factor *solver_last(lac_solver *solver, const lac_array *values) {
  lac_factor *last = NULL;
  pthread_mutex_lock(&solver->lock);
  for (lac_factor *f = solver->kept; f && !last; f = f->next) {
    if (f->iterative && lac_meta_same(&f->meta, &values->meta)) last = lac_factor_retain(f);
  }
  pthread_mutex_unlock(&solver->lock);
  return last;
}

lac_status lac_solver_require_here(lac_context *ctx, const char *function, const lac_array *array) {
  lac_status status = LAC_OK;

  LAC_CHECK(array, LAC_ERR_ARG, "%s: an array is NULL", function);
  LAC_CHECK(array->storage->space == ctx->space, LAC_ERR_DEVICE,
            "%s: an array lies on %s, the context on %s; make it through this context", function,
            array->storage->space->backend, lac_context_backend(ctx));
  LAC_CHECK(!array->meta.partition, LAC_ERR_UNSUPPORTED,
            "%s: the built-in solvers work in one process, an array is partitioned over ranks", function);
done:
  return status;
}

lac_status lac_solver_require_iterative(lac_context *ctx, const char *function, const lac_array *array) {
  lac_status status = LAC_OK;

  LAC_CHECK(ctx->kernels->columns, LAC_ERR_UNSUPPORTED,
            "%s: iterative solvers need kernels that the backend %s does not have; copy values and right-hand sides to "
            "the host (lac_array_read) and solve through a context on \"cpu\"",
            function, lac_context_backend(ctx));
  LAC_TRY(lac_solver_require_here(ctx, function, array));
done:
  return status;
}

lac_status lac_solver_require_cpu(lac_context *ctx, const char *function, const lac_array *array) {
  lac_status status = LAC_OK;

  LAC_CHECK(array, LAC_ERR_ARG, "%s: an array is NULL", function);
  LAC_CHECK(
      ctx->space->is_host, LAC_ERR_UNSUPPORTED,
      "%s: the built-in direct solver works on the CPU, this context is on %s; ask for a Krylov method (LAC_METHOD_CG, "
      "LAC_METHOD_GMRES), or copy values and right-hand sides to the host (lac_array_read) and solve through a context "
      "on \"cpu\"",
      function, lac_context_backend(ctx));
  LAC_TRY(lac_solver_require_here(ctx, function, array));
done:
  return status;
}

static lac_status solver_check_values(lac_context *ctx, const lac_solver *solver, const lac_array *values) {
  lac_status status = LAC_OK;
  const lac_meta *meta;
  char text[LAC_SHAPE_TEXT];

  LAC_CHECK(solver, LAC_ERR_ARG, "lac_solver_factor: the solver is NULL");
  if (solver->core->structure) {
    LAC_TRY(lac_solver_require_cpu(ctx, "lac_solver_factor", values));
  } else {
    LAC_TRY(lac_solver_require_iterative(ctx, "lac_solver_factor", values));
  }
  meta = &values->meta;
  LAC_CHECK(meta->ndim >= 1 && meta->shape[meta->ndim - 1] == solver->core->pattern->nnz, LAC_ERR_SHAPE,
            "lac_solver_factor: values must have shape (*batch, %lld), one number for each entry of the pattern; they "
            "have %s",
            (long long)solver->core->pattern->nnz, lac_shape_text(meta->ndim, meta->shape, text));
done:
  return status;
}

static lac_status solver_make(lac_context *ctx, lac_solver *solver, const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK, made = LAC_OK;
  bool lacks_room = false;
  lac_factor *last = solver_last(solver, values);

  if (!solver->core->structure) {
    LAC_TRY(lac_iterative_make(ctx, solver->core, last, values, out));
    goto done;
  }
  made = lac_factor_make(ctx, solver->core, values, &lacks_room, out);
  if (lacks_room && solver->core->may_iterate) {
    made = lac_iterative_make_instead(ctx, solver->core, last, values, out);
  }
  LAC_TRY(made);
done:
  lac_object_release(last);
  return status;
}

lac_status lac_solver_factor(lac_context *ctx, const lac_solver *solver, const lac_array *values, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_solver *keeper = (lac_solver *)solver;  // what it keeps changes under its lock; what it is does not
  lac_factor *factor = NULL;
  uint64_t hash;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_solver_factor: out is NULL");
  LAC_TRY(solver_check_values(ctx, solver, values));
  hash = keeper->core->options.keep_bytes > 0 && ctx->space->is_host ? kept_hash(ctx, values) : 0;
  factor = solver_recall(keeper, values, hash);
  if (factor) {
    atomic_fetch_add(&solver->core->reuses, 1);
  } else {
    LAC_TRY(solver_make(ctx, keeper, values, &factor));
    atomic_fetch_add(&solver->core->factorisations, 1);
    factor = solver_keep(keeper, values, hash, factor);
  }
  *out = factor, factor = NULL;
done:
  return status;
}

// -- what it foresees ------------------------------------------------------------------------------------------------

lac_report lac_solver_report(const lac_solver *solver) {
  const lac_solver_core *core = solver->core;
  lac_method asked = core->options.method;
  if (!core->structure) return lac_iterative_foreseen(core);
  lac_report report = {.method = asked == LAC_METHOD_LDLT      ? "ldlt"
                                 : asked == LAC_METHOD_CHOLMOD ? "cholmod"
                                                               : "cholesky",
                       .reason = solver->reason,
                       .warning = solver->warning,
                       .ordering = lac_finding_ordering(&solver->foreseen, core),
                       .factor_nnz = solver->foreseen.nnz,
                       .factor_bytes = -1,
                       .work_bytes = solver->foreseen.work_bytes,
                       .flops = solver->foreseen.flops,
                       .analyse_seconds = core->seconds,
                       .factorisations = atomic_load(&core->factorisations),
                       .reuses = atomic_load(&core->reuses),
                       .preconditioner = ""};
  if (solver->foreseen.nnz >= 0) report.factor_bytes = lac_factor_bytes_of(core, LAC_F64, 1, solver->foreseen.bytes);
  if (!solver->likely) return report;
  report.method = solver->likely->name;
  report.analyse_seconds += solver->analysis->seconds;
  return report;
}
