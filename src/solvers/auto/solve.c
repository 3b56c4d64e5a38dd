// SPDX-License-Identifier: Apache-2.0
/// @file solve.c
/// Solves by an automatic choice: an iteration is watched, and a direct factor serves where it fails or is left.
///
/// The watch (watch.h) asks for an analysis when the rate gives cause, in the middle of the iteration, which goes on
/// unless it is left. On devices, whose speed is another, and with a preconditioner of the user's own, whose price is
/// not known, iterations are not watched.

#include <math.h>
#include <stdio.h>

#include "core/memory_impl.h"
#include "solvers/auto/auto.h"
#include "solvers/auto/watch.h"
#include "solvers/krylov/krylov_solver.h"
#include "solvers/precondition/preconditioner.h"
#include "solvers/price.h"

extern const lac_solver_table lac_kind_batched;

const lac_factor *lac_auto_inner(const lac_factor *f) {
  const lac_auto_factor *part = f->part;
  return atomic_load(&part->has_fallen) ? atomic_load(&part->taken->partner) : part->taken;
}

// -- an iteration that is watched ------------------------------------------------------------------------------------

typedef struct solve_watch {
  lac_watch watch;
  const lac_factor *f;
  bool is_hermitian;
  double columns;      // of all matrices
  lac_auto_cost cost;  // once it is known
  bool has_left;
} solve_watch;

/// Of this many matrices of this dtype, by LU where they are not Hermitian: of its two triangles the figures may have
/// one. Infinite where there is no room for it.
static double watch_price(const solve_watch *w) {
  const lac_factor *f = w->f;
  const lac_pattern *pattern = f->core->pattern;
  double both = w->is_hermitian || w->cost.has_both ? 1 : 2, items = both * (double)f->items;
  double flops = lac_dtype_is_complex(f->meta.dtype) ? 4 : 1;
  double limit = (double)f->core->options.max_bytes;
  double room = limit > 0 ? limit : 0.5 * (double)lac_memory_available();

  if (items * w->cost.bytes > room) return INFINITY;
  return items * flops * lac_price_factor(pattern, w->cost.flops, w->cost.nnz) +
         w->columns * lac_price_solve(pattern, w->cost.nnz);
}

/// The price of the other way; an analysis that has no room is no reason to end the iteration.
static lac_status watch_ask(lac_context *ctx, solve_watch *w) {
  lac_status status = LAC_OK, made;
  bool is_known = false;

  made = lac_auto_analyse(ctx, w->f->core, &w->cost, &is_known);
  if (made != LAC_ERR_MEMORY) LAC_TRY(made);
  w->watch.direct = is_known ? watch_price(w) : INFINITY;
done:
  return status;
}

static lac_status watch_look(lac_context *ctx, void *data, int64_t iteration, double excess, bool *ends) {
  lac_status status = LAC_OK;
  solve_watch *w = data;
  lac_watch_verdict verdict = lac_watch_look(&w->watch, iteration, excess);

  if (verdict == LAC_WATCH_ASK) {
    LAC_TRY(watch_ask(ctx, w));
    verdict = lac_watch_look(&w->watch, iteration, excess);
  }
  *ends = w->has_left = verdict == LAC_WATCH_LEAVE;
done:
  return status;
}

// It is asked for again where so many times the bytes are available that were when it had none.
static const double watch_more = 1.5;

/// Whether there was no room for a direct factor, and there is hardly more now.
static bool watch_lacks_room(const lac_factor *f) {
  int64_t lacking = atomic_load(&lac_auto_of(f)->lacking);
  return lacking > 0 && (double)lac_memory_available() < watch_more * (double)lacking;
}

/// Whether an iteration by the factor `last` may be left for a direct factor whose price can be compared.
static bool watch_is_due(const lac_context *ctx, const lac_factor *f, const lac_factor *last,
                         const lac_solve_job *job) {
  const lac_precondition *p = &f->core->options.preconditioner;
  return last->table->flags & LAC_ITERATES && f->core->pattern && lac_auto_may_go_direct(f->core) &&
         lac_context_is_host(ctx) && !p->factor && !p->apply && !job->only_reports &&
         !f->core->options.iteration.accept_unconverged && !watch_lacks_room(f);
}

static solve_watch watch_begin(const lac_factor *f, const lac_factor *last, const lac_solve_job *job) {
  const lac_auto_core *c = f->core->part;
  const lac_pattern *pattern = f->core->pattern;
  const lac_array *b = job->b;
  solve_watch w = {.f = f, .cost = c->cost, .is_hermitian = lac_krylov_of(last)->is_hermitian};

  lac_report report = lac_factor_reported(last);
  lac_price_of of = {report.preconditioner, report.complexity, w.is_hermitian, lac_krylov_is_on_grid(last)};

  w.columns = (double)job->batch->count * (double)b->meta.shape[b->meta.ndim - 1];
  w.watch.per_iteration = w.columns * lac_price_iteration(pattern, &of);
  w.watch.before = (double)f->items * lac_price_setup(pattern, &of);
  w.watch.analysis = w.cost.is_exact ? 0 : lac_price_analysis(pattern, w.cost.width, w.cost.flops);
  w.watch.guess = lac_price_factor(pattern, w.cost.flops, w.cost.nnz);
  w.watch.direct = -1;
  return w;
}

static void watch_tell(const solve_watch *w, const lac_solve_report *r, char *text, size_t size) {
  snprintf(text, size,
           "was left after %lld iterations at a relative residual of %.1e: at its rate the rest would take %.1f times "
           "the work of a direct factor, %.2g GB and %.2g flops",
           (long long)r->iterations, r->residual, w->watch.rest / w->watch.direct, 1e-9 * w->cost.bytes, w->cost.flops);
}

// -- solves ----------------------------------------------------------------------------------------------------------

/// A direct factor of the same values: from here on it serves this factor, since what did (`who`) is what `text` says.
/// *lacks_room: it has none, as the context's error says; memory that is missing elsewhere is an error.
static lac_status solve_fall_back(lac_context *ctx, const lac_factor *f, const char *who, const char *text,
                                  bool *lacks_room) {
  lac_status status = LAC_OK, made;
  lac_auto_factor *part = f->part;
  const lac_factor *partner = NULL;
  lac_shortage shortage;
  char other[LAC_SENTENCE_SIZE / 2];

  made = lac_factor_partner(ctx, part->taken, &shortage, &partner);
  *lacks_room = shortage != LAC_SHORT_OF_NOTHING;
  if (*lacks_room) {
    atomic_store(&part->lacking, (int64_t)fmax(1, (double)lac_memory_available()));
    goto done;
  }
  if (made != LAC_OK) snprintf(other, sizeof other, "%s", lac_context_error(ctx));
  LAC_CHECK(made == LAC_OK, made, "lac_factor_solve: %s; nor would a direct solver do: %s", text, other);
  LAC_CHECK(partner, LAC_ERR_CONVERGENCE, "lac_factor_solve: %s; nor is there a direct method for it", text);
  pthread_mutex_lock(&((lac_factor *)f)->lock);
  if (!atomic_load(&part->has_fallen)) {
    snprintf(part->fallen, sizeof part->fallen, "%.120s; %s %.260s", partner->reason, who, text);
    atomic_store(&part->has_fallen, true);
  }
  pthread_mutex_unlock(&((lac_factor *)f)->lock);
done:
  return status;
}

/// Whether a solve by `last`, which is not looked up again since another thread may fall back meanwhile, is all there
/// is to do.
static bool solve_is_done(const lac_factor *f, const lac_factor *last, const lac_solve_job *job,
                          const lac_solve_report *report) {
  return !(last->table->flags & LAC_ITERATES) || report->ending == LAC_ENDING_CONVERGED || job->only_reports ||
         f->core->options.iteration.accept_unconverged;
}

/// Go on iterating from where it was left, within the limit of the whole, and unwatched.
static lac_status solve_go_on(lac_context *ctx, const lac_factor *f, const lac_solve_job *job,
                              lac_solve_report *report) {
  lac_status status = LAC_OK;
  const lac_factor *taken = lac_auto_of(f)->taken;
  lac_solve_report before = *report;
  lac_solve_job own = *job;

  own.x0 = job->x;
  own.only_reports = true;
  own.spent = before.iterations;
  LAC_TRY(taken->table->solve(ctx, taken, &own, report));
  report->first_residual = before.first_residual;
  report->seconds += before.seconds;
done:
  return status;
}

/// There is no room for a direct factor, as the context's error says: what was left goes on, and what fails is told
/// with both reasons.
static lac_status solve_without_room(lac_context *ctx, const lac_factor *f, bool has_left, const lac_solve_job *job,
                                     lac_solve_report *report) {
  lac_status status = LAC_OK;
  char text[LAC_SENTENCE_SIZE / 2], other[LAC_SENTENCE_SIZE / 2];

  snprintf(other, sizeof other, "%s", lac_context_error(ctx));
  if (has_left) LAC_TRY(solve_go_on(ctx, f, job, report));
  if (report->ending == LAC_ENDING_CONVERGED) goto done;
  lac_krylov_explain(lac_factor_innermost(lac_auto_of(f)->taken), job->is_derivative, report, text, sizeof text);
  if (report->ending == LAC_ENDING_INTERRUPTED) LAC_TRY(lac_krylov_fail(ctx, report, text));
  LAC_FAIL(LAC_ERR_CONVERGENCE, "lac_factor_solve: %s; nor is there room for a direct factor: %s", text, other);
done:
  return status;
}

/// By a direct factor, and direct from then on; `watch` is NULL or saw the iteration end.
static lac_status solve_directly(lac_context *ctx, const lac_factor *f, const solve_watch *watch,
                                 const lac_solve_job *job, lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_auto_core *c = f->core->part;
  bool has_left = watch && watch->has_left, lacks_room = false;
  const lac_factor *inner = NULL;
  char text[LAC_SENTENCE_SIZE / 2];

  if (has_left) {
    watch_tell(watch, report, text, sizeof text);
  } else {
    lac_krylov_explain(lac_factor_innermost(lac_auto_of(f)->taken), job->is_derivative, report, text, sizeof text);
  }
  if (!has_left && (!lac_auto_may_go_direct(f->core) || report->ending == LAC_ENDING_INTERRUPTED))
    LAC_TRY(lac_krylov_fail(ctx, report, text));
  LAC_TRY(solve_fall_back(ctx, f, "iterating", text, &lacks_room));
  if (lacks_room) {
    LAC_TRY(solve_without_room(ctx, f, has_left, job, report));
    goto done;
  }
  if (report->ending != LAC_ENDING_DIVERGED) {  // that may be b's fault
    atomic_store(&c->learnt, has_left ? "iterating on earlier values was slower than a direct factor"
                                      : "iterating on earlier values did not converge");
  }
  inner = lac_auto_inner(f);
  LAC_TRY(inner->table->solve(ctx, inner, job, report));
done:
  return status;
}

/// What an engine cannot solve, as the context's error says, a direct factor of the host does, now and later.
static lac_status solve_without_engine(lac_context *ctx, const lac_factor *f, const lac_solve_job *job,
                                       lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_auto_core *c = f->core->part;
  const lac_factor *inner = NULL;
  bool lacks_room = false;
  char text[LAC_SENTENCE_SIZE / 2];

  snprintf(text, sizeof text, "%s", lac_context_error(ctx));
  lac_context_clear_error(ctx);
  LAC_TRY(solve_fall_back(ctx, f, "an engine failed,", text, &lacks_room));
  LAC_CHECK(!lacks_room, LAC_ERR_MEMORY, "lac_factor_solve: %s; nor is there room for a direct factor on the host",
            text);
  atomic_store(&c->has_left_device, true);
  inner = lac_auto_inner(f);
  LAC_TRY(inner->table->solve(ctx, inner, job, report));
done:
  return status;
}

/// Whether a factor is of those on a device that one on the host can replace.
static bool solve_is_of_the_device(const lac_context *ctx, const lac_factor *inner) {
  return inner->table == lac_engine_on_device(ctx->space) || inner->table == &lac_kind_batched;
}

lac_status lac_auto_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, lac_solve_report *report) {
  lac_status status = LAC_OK, solved;
  const lac_factor *inner = lac_auto_inner(f), *last = lac_factor_innermost(inner);
  lac_solve_job own = *job;
  bool is_watched = watch_is_due(ctx, f, last, job);
  solve_watch watch = {0};
  lac_onlooker onlooker = {.look = watch_look, .data = &watch};

  own.only_reports = job->only_reports || last->table->flags & LAC_ITERATES;
  LAC_TRY(lac_factor_require_fresh(ctx, "lac_factor_solve", f));
  if (is_watched) watch = watch_begin(f, last, job), own.onlooker = &onlooker;
  solved = inner->table->solve(ctx, inner, &own, report);
  if (solve_is_of_the_device(ctx, inner) && lac_auto_is_engines_own(solved)) {
    LAC_TRY(solve_without_engine(ctx, f, job, report));
    goto done;
  }
  LAC_TRY(solved);
  if (!solve_is_done(f, last, job, report)) LAC_TRY(solve_directly(ctx, f, is_watched ? &watch : NULL, job, report));
done:
  return status;
}
