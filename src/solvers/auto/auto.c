// SPDX-License-Identifier: Apache-2.0
/// @file auto.c
/// The automatic choice: direct or iterative, by what is foreseen, by the values, and by what failed.
///
///     pattern      a direct factor is foreseen to be cheap                  ->  direct
///                  it is costly, or a preconditioner or null space is given ->  iterate
///                  in doubt, and an analysis is cheap relative to both      ->  by the analysis
///     values       neither definite, nor like an M-matrix, nor dominant     ->  direct
///                  they jump, and a direct factor is not much more          ->  direct
///     memory       a direct factor has no room                              ->  iterate
///     a solve      is foreseen to take longer than a direct factor          ->  a direct partner, now and later
///                  does not converge                                        ->  the same
///                  was left, and there is no room for a direct factor       ->  goes on
///     a device     lacks what a direct factor there takes, or fails         ->  direct, on the host, now and later
///
/// Of Krylov methods, flexible CG for Hermitian matrices with a positive diagonal, else GMRES. It chooses among what
/// the backend has; where only a method on the host will do, values and right-hand sides travel (travel.c). On a device
/// with an engine for direct factors (engines/cudss), these are the engine's, unless there are few rows; a batch of
/// matrices of few rows is factored on the device too (batched/).

#include "solvers/auto/auto.h"

#include <stdio.h>
#include <string.h>

#include "solvers/batched/plan.h"
#include "solvers/options.h"
#include "solvers/precondition/preconditioner.h"

extern const lac_solver_table lac_kind_auto, lac_kind_batched, lac_kind_direct, lac_kind_flexible_cg, lac_kind_gmres,
    lac_kind_flexible_gmres;

// -- cores -----------------------------------------------------------------------------------------------------------

/// Whoever gives a preconditioner or a null space wants to iterate.
static bool auto_is_wanted(const lac_solver_options *o) {
  const lac_precondition *p = &o->preconditioner;
  return p->factor || p->apply || lac_options_preconditioner(p) || o->iteration.null_space ||
         o->iteration.left_null_space;
}

// Up to so many rows travel: the host has factored them before an engine on a device has begun. So many matrices of a
// few rows are factored on the device before they have travelled.
enum { AUTO_FEW = 10000, AUTO_BATCH = 8 };

/// Who makes direct factors of so many matrices where the context's arrays lie. Options that are not followed there are
/// for methods of the host.
static const lac_solver_table *auto_direct_kind(const lac_context *ctx, const lac_solver_core *core, int64_t items) {
  lac_auto_core *c = core->part;
  const lac_solver_table *engine = lac_engine_on_device(ctx->space), *batched = &lac_kind_batched;
  bool is_free = core->options.ordering == LAC_ORDER_AUTO &&
                 core->options.pivot_tolerance == lac_solver_options_defaults().pivot_tolerance;

  if (!is_free || lac_context_is_host(ctx) || atomic_load(&c->has_left_device)) return &lac_kind_direct;
  if (engine && core->rows > AUTO_FEW) return engine;
  if (items < AUTO_BATCH || core->rows > LAC_BATCHED_ROWS) return &lac_kind_direct;
  return batched->is_here(ctx, batched, core) ? batched : &lac_kind_direct;
}

lac_status lac_auto_analyse(lac_context *ctx, lac_solver_core *core, lac_auto_cost *cost, bool *is_known) {
  lac_status status = LAC_OK;
  lac_solver_core *direct = NULL;
  lac_report foreseen = lac_report_empty();

  LAC_TRY(lac_core_inner(ctx, core, &lac_kind_direct, "chosen", &direct));
  lac_kind_direct.foresee(direct, &foreseen);
  *is_known = lac_auto_analysed(core->pattern, &foreseen, cost);
done:
  return status;
}

static void auto_say_cost(lac_auto_core *c) {
  const lac_auto_cost *f = &c->cost;
  if (f->is_away && f->width == 0) {
    snprintf(c->why, sizeof c->why, "multigrid is on the device, and a direct factor would be made on the host");
  } else if (f->is_exact) {
    snprintf(
        c->why, sizeof c->why,
        "iterating is foreseen to be cheaper: a direct factor takes %.2g GB and %.2g flops, %.1f times the work of "
        "iterating",
        1e-9 * f->bytes, f->flops, f->share);
  } else {
    snprintf(c->why, sizeof c->why,
             "iterating is foreseen to be cheaper: separators of about %.0f rows promise a factor of some %.0e flops, "
             "without an analysis",
             f->width, f->flops);
  }
}

/// Direct or not, by a guess; and by an analysis, where one is made in any case or decides cheaply. An engine analyses
/// by itself.
static lac_status auto_weigh(lac_context *ctx, lac_solver_core *core) {
  lac_status status = LAC_OK;
  lac_auto_core *c = core->part;
  bool is_known = false;

  LAC_TRY(lac_auto_foresee(ctx, core->pattern, &c->cost));
  if (auto_direct_kind(ctx, core, 1) == &lac_kind_direct &&
      (!c->cost.is_costly || lac_auto_is_in_doubt(core->pattern, &c->cost))) {
    LAC_TRY(lac_auto_analyse(ctx, core, &c->cost, &is_known));
  }
  c->begins_iterating = c->cost.is_costly;
  auto_say_cost(c);
done:
  return status;
}

static lac_status auto_analyse(lac_context *ctx, lac_solver_core *core) {
  lac_status status = LAC_OK;
  lac_solver_core *direct = NULL;
  lac_auto_core *c = NULL;
  const char *name = lac_options_preconditioner(&core->options.preconditioner);

  LAC_ALLOC(c, 1);
  core->part = c;
  LAC_TRY(lac_options_check_iterating(ctx, core->pattern, &core->options));
  if (name) LAC_TRY(lac_kind_find(ctx, "lac_solver_create", name, &c->asked));
  c->begins_iterating = auto_is_wanted(&core->options);
  snprintf(c->why, sizeof c->why, "a preconditioner or a null space is given");
  if (!c->begins_iterating) LAC_TRY(auto_weigh(ctx, core));
  if (!c->begins_iterating) {
    snprintf(c->why, sizeof c->why, "there is no room for a direct factor");
    LAC_TRY(lac_core_inner(ctx, core, auto_direct_kind(ctx, core, 1), "chosen", &direct));
    c->direct = direct;
  }
done:
  return status;
}

static void auto_forget(lac_solver_core *core) {
  lac_free(core->part);
  core->part = NULL;
}

static void auto_foresee(const lac_solver_core *core, lac_report *report) {
  const lac_auto_core *c = core->part;

  if (!c->begins_iterating) {
    c->direct->table->foresee(c->direct, report);
    return;
  }
  report->method = lac_kind_flexible_cg.name;
  report->reason = c->why;
  report->preconditioner = c->asked ? c->asked->name : "";
}

/// All of it travels where iterating would.
static bool auto_is_here(const lac_context *ctx, const lac_solver_table *table, const lac_solver_core *core) {
  const lac_auto_core *c = core->part;
  (void)table;
  if (!ctx->kernels->columns) return false;
  return !c->asked || !c->asked->is_here || c->asked->is_here(ctx, c->asked, core);
}

// -- what the values say ---------------------------------------------------------------------------------------------

bool lac_auto_suits(const lac_survey *s, const char **finding) {
  bool is_definite = s->asymmetric < 0 && s->not_positive < 0;
  if (is_definite || s->is_m_like || s->dominance < 1) return true;
  *finding = s->asymmetric < 0 ? "the matrix is Hermitian without a positive diagonal, and not diagonally dominant"
                               : "the matrix is neither Hermitian nor like an M-matrix nor diagonally dominant";
  return false;
}

/// Whether values are such that iterating on them takes longer than was foreseen from the pattern, and a direct factor
/// not much longer; *finding says so then.
static lac_status auto_jumps(lac_context *ctx, const lac_linear *a, const lac_factor *f, const char **finding) {
  lac_status status = LAC_OK;
  const lac_auto_core *c = f->core->part;
  lac_setup setup = {.pattern = a->pattern,
                     .options = &f->core->options,
                     .is_hermitian = a->survey->asymmetric < 0,
                     .spread = a->survey->spread};
  lac_array *values = NULL;
  bool is_uneven = false, jumps = false;

  if (!c->begins_iterating || !lac_auto_is_cheap_beside(&c->cost) || f->items == 0) goto done;
  if (c->cost.is_grid && !setup.is_hermitian) {
    *finding = "it is not Hermitian, and a direct factor is cheap relative to the iterations that this takes";
    goto done;
  }
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)a->values, 2, (int64_t[]){f->items, a->pattern->nnz}, &values));
  setup.values = values;
  LAC_TRY(lac_multigrid_look(ctx, &setup, &is_uneven, &jumps));
  if (is_uneven || jumps)
    *finding = "its entries jump, and a direct factor is cheap relative to the multigrid that they call for";
done:
  lac_array_destroy(&values);
  return status;
}

// Whether a function varies is unknown; where a preconditioner is known to vary, GMRES becomes flexible.
static const lac_solver_table *auto_krylov(const lac_solver_options *o, const lac_survey *s) {
  if (s->asymmetric < 0 && s->not_positive < 0) return &lac_kind_flexible_cg;
  return o->preconditioner.apply ? &lac_kind_flexible_gmres : &lac_kind_gmres;
}

// -- factors ---------------------------------------------------------------------------------------------------------

// What the other way of solving has to say, without the function's name before it.
static void auto_quote(const lac_context *ctx, char text[LAC_SENTENCE_SIZE / 2]) {
  const char *sentence = lac_context_error(ctx), *colon = strstr(sentence, ": ");
  snprintf(text, LAC_SENTENCE_SIZE / 2, "%s", colon ? colon + 2 : sentence);
}

/// The earlier factor by the same kind, where there is one.
static const lac_factor *auto_like(const lac_factor *like, const lac_solver_table *kind) {
  const lac_factor *taken = like ? lac_auto_of(like)->taken : NULL;
  return taken && taken->core->table == kind ? taken : NULL;
}

static const lac_factor *auto_like_direct(const lac_context *ctx, const lac_factor *f, const lac_factor *like) {
  return auto_like(like, auto_direct_kind(ctx, f->core, f->items));
}

/// A direct factor by one kind.
static lac_status auto_direct_by(lac_context *ctx, const lac_solver_table *kind, const lac_linear *a,
                                 const lac_factor *like, lac_factor *f, lac_shortage *shortage) {
  lac_status status = LAC_OK;
  lac_solver_core *core = NULL;

  *shortage = LAC_SHORT_OF_NOTHING;
  LAC_TRY(lac_core_inner(ctx, f->core, kind, "chosen", &core));
  LAC_TRY(lac_factor_make(ctx, f->function, core, a, like, like != NULL, shortage, &lac_auto_of(f)->taken));
  lac_factor_say(f, "%s", lac_auto_of(f)->taken->reason);
done:
  return status;
}

/// *lacks_room: it was refused for that before it began, and something else may do.
static lac_status auto_direct(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f,
                              bool *lacks_room) {
  lac_status status = LAC_OK;
  const lac_solver_table *kind = auto_direct_kind(ctx, f->core, f->items);
  lac_auto_core *c = f->core->part;
  lac_shortage shortage;
  lac_status made = auto_direct_by(ctx, kind, a, like, f, &shortage);
  char failure[LAC_SENTENCE_SIZE / 2];

  if (kind != &lac_kind_direct && shortage != LAC_SHORT_FORESEEN && lac_auto_is_engines_own(made)) {
    auto_quote(ctx, failure);
    lac_context_clear_error(ctx);
    atomic_store(&c->has_left_device, true);
    made = auto_direct_by(ctx, &lac_kind_direct, a, NULL, f, &shortage);
    if (made == LAC_OK) lac_factor_say(f, "; %s failed: %s", kind->name, failure);
  }
  *lacks_room = shortage == LAC_SHORT_FORESEEN;
  LAC_TRY(made);
done:
  return status;
}

/// A direct factor where iterating was foreseen; *lacks_room says that there is no room for it.
static lac_status auto_direct_after_all(lac_context *ctx, const lac_linear *a, const lac_factor *like,
                                        const char *finding, lac_factor *f, bool *lacks_room) {
  lac_status status = LAC_OK, made = auto_direct(ctx, a, like, f, lacks_room);

  if (*lacks_room) goto done;
  LAC_TRY(made);
  lac_factor_say(f, "; %s, so that it is not iterated on", finding);
done:
  return status;
}

static lac_status auto_refuse(lac_context *ctx, const lac_factor *f, const char *finding) {
  char refusal[LAC_SENTENCE_SIZE / 2];

  auto_quote(ctx, refusal);
  return lac_context_fail(ctx, LAC_ERR_MEMORY, __func__,
                          "%s: %s; nor is it iterated on unless a Krylov method is asked for by name: %s", f->function,
                          refusal, finding);
}

static lac_status auto_iterate(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK;
  const lac_auto_core *c = f->core->part;
  const lac_solver_table *kind = auto_krylov(&f->core->options, a->survey);
  lac_solver_core *core = NULL;

  LAC_TRY(lac_core_inner(ctx, f->core, kind, c->why, &core));
  LAC_TRY(lac_factor_make(ctx, f->function, core, a, auto_like(like, kind), false, NULL, &lac_auto_of(f)->taken));
  lac_factor_say(f, "%s", lac_auto_of(f)->taken->reason);
done:
  return status;
}

/// By what a look at the values says, and by what was learnt; what may be iterated on is where there is no room.
static lac_status auto_by_values(lac_context *ctx, const lac_linear *a, const lac_factor *like, bool by_choices,
                                 lac_factor *f) {
  lac_status status = LAC_OK;
  const lac_auto_core *c = f->core->part;
  lac_linear own = *a;
  lac_surveyed seen = {0};
  const char *finding = "", *learnt = atomic_load(&c->learnt);
  bool suits = true, lacks_room = false;

  LAC_TRY(lac_surveyed_make(ctx, f, a, &seen));
  own.survey = &seen.survey, own.largest = seen.largest, own.levels = c->cost.levels;
  suits = lac_auto_suits(&seen.survey, &finding);
  if (suits && learnt) finding = learnt;
  if (suits && !learnt) LAC_TRY(auto_jumps(ctx, &own, f, &finding));
  if (lac_auto_may_go_direct(f->core) && *finding) {
    LAC_TRY(
        auto_direct_after_all(ctx, &own, by_choices ? auto_like_direct(ctx, f, like) : NULL, finding, f, &lacks_room));
    if (lacks_room && !suits) LAC_TRY(auto_refuse(ctx, f, finding));
  }
  if (!lac_auto_of(f)->taken) LAC_TRY(auto_iterate(ctx, &own, like, f));
done:
  lac_surveyed_drop(&seen);
  return status;
}

static lac_status auto_take(lac_context *ctx, const lac_linear *a, const lac_factor *like, bool by_choices,
                            lac_factor *f) {
  lac_status status = LAC_OK, made;
  const lac_auto_core *c = f->core->part;
  bool lacks_room = false;
  char refusal[LAC_SENTENCE_SIZE / 2];

  if (c->begins_iterating) {
    LAC_TRY(auto_by_values(ctx, a, like, by_choices, f));
    goto done;
  }
  made = auto_direct(ctx, a, by_choices ? auto_like_direct(ctx, f, like) : NULL, f, &lacks_room);
  if (!lacks_room) LAC_TRY(made);
  if (!lacks_room) goto done;
  auto_quote(ctx, refusal);
  LAC_TRY(auto_by_values(ctx, a, like, by_choices, f));
  lac_factor_say(f, "; %s", refusal);
done:
  return status;
}

static lac_status auto_make(lac_context *ctx, const lac_linear *a, const lac_factor *like, bool by_choices,
                            lac_factor *f) {
  lac_status status = LAC_OK;
  lac_auto_factor *part = NULL;

  LAC_ALLOC(part, 1);
  f->part = part;
  LAC_TRY(auto_take(ctx, a, like, by_choices, f));
  lac_factor_share(f, part->taken);
  snprintf(f->warning, sizeof f->warning, "%s", part->taken->warning);
done:
  return status;
}

static lac_status auto_factor(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  return auto_make(ctx, a, like, false, f);
}

static lac_status auto_refresh(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  return auto_make(ctx, a, like, true, f);
}

static void auto_destroy(lac_factor *f) {
  lac_auto_factor *part = f->part;
  if (!part) return;
  lac_object_release(part->taken);
  lac_free(part);
  f->part = NULL;
}

// -- what others ask -------------------------------------------------------------------------------------------------

static lac_status auto_logdet(lac_context *ctx, const lac_factor *f, lac_array *logabs, lac_array *sign) {
  return lac_factor_logdet(ctx, lac_auto_inner(f), logabs, sign);
}

static lac_status auto_selected_inverse(lac_context *ctx, const lac_factor *f, lac_array *values) {
  return lac_factor_selected_inverse(ctx, lac_auto_inner(f), values);
}

static lac_status auto_rcond(lac_context *ctx, const lac_factor *f, lac_array *rcond) {
  return lac_factor_rcond(ctx, lac_auto_inner(f), rcond);
}

static lac_status auto_describe(lac_context *ctx, const lac_factor *f, char **text) {
  const lac_factor *taken = lac_auto_of(f)->taken;
  return taken->table->describe ? taken->table->describe(ctx, taken, text) : LAC_OK;
}

/// That of what was taken, whose factorisation has its own seconds: those of `f` may include an analysis; and of its
/// partner what it says of itself, once that serves.
static void auto_report(const lac_factor *f, lac_report *report) {
  const lac_auto_factor *part = f->part;
  const lac_solver_core *taken = part->taken->core;
  lac_report inner = lac_factor_reported(part->taken);

  inner.reason = report->reason;
  inner.analyse_seconds += report->analyse_seconds - (taken->is_counted ? taken->seconds : 0);
  *report = inner;
  if (!atomic_load(&part->has_fallen)) return;
  inner = lac_factor_reported(part->taken->partner);
  report->method = inner.method;
  report->reason = part->fallen;
  report->warning = inner.warning;
  report->ordering = inner.ordering;
  report->factor_nnz = inner.factor_nnz;
  report->flops = inner.flops;
}

const lac_solver_table lac_kind_auto = {.name = "auto",
                                        .flags = LAC_READS_ANYWHERE | LAC_DELEGATES | LAC_KEEPS_HERMITIAN |
                                                 LAC_READS_ORDERING | LAC_READS_PIVOTING | LAC_READS_SINGULAR |
                                                 LAC_READS_ITERATION | LAC_READS_RESTART,
                                        .analyse = auto_analyse,
                                        .forget = auto_forget,
                                        .foresee = auto_foresee,
                                        .is_here = auto_is_here,
                                        .factor = auto_factor,
                                        .refresh = auto_refresh,
                                        .solve = lac_auto_solve,
                                        .logdet = auto_logdet,
                                        .selected_inverse = auto_selected_inverse,
                                        .rcond = auto_rcond,
                                        .partner = lac_partner_direct,
                                        .inner = lac_auto_inner,
                                        .describe = auto_describe,
                                        .report = auto_report,
                                        .destroy = auto_destroy};
