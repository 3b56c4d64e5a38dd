// SPDX-License-Identifier: Apache-2.0
/// @file certain.c
/// Which results of a direct factor are certain: a matrix that is singular to working precision has solutions with a
/// small residual, a determinant and an inverse, and no digit of them means anything.
///
/// To ask costs a few solves (method/certainty.h), so there must be cause: a pivot that is small relative to its row or
/// column, as a matrix that is singular in exact arithmetic has one; or |A| |x| far above |b|, as it is along a null
/// space that no pivot shows; or units of the unknowns that are far apart. Then the condition of the matrix is
/// estimated, once; and where that does not settle it, the error of each column. Of a least-squares system, whose
/// condition is that of its matrix squared, the unknowns alone are judged, and whoever solves it knows whether there is
/// cause (ops/solves/rank.c).

#include <math.h>
#include <stdio.h>

#include "solvers/direct/direct.h"
#include "solvers/direct/method/certainty.h"

#define CERTAIN_WAYS \
  "give its null space (iteration.null_space, with method = \"auto\" or a Krylov method), add to its diagonal, or "
const char lac_direct_singular_ways[] = CERTAIN_WAYS "take what comes (accept_singular)";
const char lac_direct_pivot_ways[] = CERTAIN_WAYS "solve a damped least-squares problem (lac_lstsq)";

// The estimates are from below, and rarely less than a third.
static const double CERTAIN_MARGIN = 3;

// A share of a row or column below which a pivot is cause to ask, and a share of |A| |x| below which b is: the latter
// is no less than one over the condition, and stiff matrices of practice come to 1e9.
static double certain_cause(const lac_factor *f) { return pow(lac_dtype_epsilon(f->meta.dtype), 0.4); }
static double certain_growth(const lac_factor *f) { return pow(lac_dtype_epsilon(f->meta.dtype), -0.65); }

/// Whether pivots give cause for an estimate. Where a method does not report its pivots, the smallest is 0.
static bool certain_has_cause(const lac_factor *f, const lac_finding *finding) {
  return lac_finding_weakest(finding) < certain_cause(f);
}

static bool certain_is_doubtful(const lac_factor *f, int64_t item) {
  const lac_direct_factor *d = f->part;
  lac_finding one = {0};
  if (!certain_has_cause(f, &d->finding)) return false;
  d->table->report(d->analysis->part, d->numerics[item], &one);
  return certain_has_cause(f, &one);
}

/// Whether solves must be refined to judge the matrix: pivots were enlarged, or an engine chose them by rules of its
/// own.
static bool certain_refines(const lac_factor *f) {
  return lac_direct_of(f)->finding.perturbed > 0 || lac_direct_of(f)->table->is_foreign;
}

/// Whether a condition leaves digits to every solution with such a backward error.
static bool certain_is_settled(const lac_factor *f, double condition, double backward) {
  return CERTAIN_MARGIN * condition * fmax(backward, lac_dtype_epsilon(f->meta.dtype)) < LAC_CERTAINTY_FEW;
}

static _Atomic double *certain_kept(const lac_factor *f, int64_t item, lac_form form, int what) {
  return &lac_direct_of(f)->conditions[(what + (form == LAC_TRANSPOSED)) * f->items + item];
}

/// Whether an earlier solve has found a condition that settles the matter.
static bool certain_is_known(const lac_factor *f, int64_t item, lac_form form, double backward) {
  double known = atomic_load(certain_kept(f, item, form, CERTAIN_PLAIN));
  return known > 0 && certain_is_settled(f, known, backward);
}

/// From now on carefully: the factor may be a poor one, or the units of the matrix odd.
static lac_status certain_take_care(lac_certainty *c, lac_fault *fault) {
  c->task.refines = true;
  return lac_certainty_units(c, fault);
}

/// The condition of op(A) in the units that `c` has, kept with the factor; several threads may find it at once.
static lac_status certain_condition(const lac_factor *f, int64_t item, int what, lac_certainty *c, double *out,
                                    lac_fault *fault) {
  _Atomic double *kept = certain_kept(f, item, c->form, what);
  lac_status status = LAC_OK;

  *out = atomic_load(kept);
  if (*out == 0) status = lac_certainty_condition(c, out, fault);
  if (status == LAC_OK && !c->task.is_lost) atomic_store(kept, *out);
  return status;
}

/// Whether the condition settles the matter, by a quick look in units of x; else by a careful one in those of the
/// matrix, and `c` is careful afterwards.
static lac_status certain_look(const lac_factor *f, int64_t item, double backward, lac_certainty *c, bool *is_quick,
                               double *condition, lac_fault *fault) {
  lac_status status = certain_condition(f, item, CERTAIN_PLAIN, c, condition, fault);
  *is_quick = status == LAC_OK && certain_is_settled(f, *condition, backward);
  if (status != LAC_OK || *is_quick) return status;
  status = certain_take_care(c, fault);
  return status == LAC_OK ? certain_condition(f, item, CERTAIN_CAREFUL, c, condition, fault) : status;
}

static lac_status certain_refuse(const lac_factor *f, double error, const char *what, lac_fault *fault) {
  const lac_finding *finding = &lac_direct_of(f)->finding;
  int length = snprintf(fault->text, sizeof fault->text,
                        "the matrix is singular to working precision, so that no digit of %s is certain: its estimated "
                        "relative error is %.1e",
                        what, error);
  if (finding->where >= 0 && finding->smallest < certain_cause(f)) {
    snprintf(fault->text + length, sizeof fault->text - (size_t)length,
             "; the pivot of column %lld is %.1e of the column", (long long)finding->where, finding->smallest);
  }
  return LAC_ERR_SINGULAR;
}

static void doubt_note(lac_doubt *doubt, double error, int64_t task) {
  pthread_mutex_lock(&doubt->lock);
  if (error > doubt->error || (error == doubt->error && task < doubt->task)) doubt->error = error, doubt->task = task;
  pthread_mutex_unlock(&doubt->lock);
}

/// Ask a partner; without a partner the doubt stays.
static lac_status certain_give_up(const lac_factor *f, double error, int64_t task, lac_doubt *doubt, lac_fault *fault) {
  if (!lac_direct_has_partner(f)) {
    doubt_note(doubt, fmax(error, LAC_CERTAINTY_FEW), task);
    return LAC_OK;
  }
  snprintf(fault->text, sizeof fault->text, "the factor is too poor to tell whether the matrix is singular");
  return LAC_ERR_CONVERGENCE;
}

/// What comes of an estimated error of `what`: a partner is asked where solves were lost, it is refused, noted, or
/// nothing.
static lac_status certain_judge(const lac_factor *f, double error, bool is_lost, const char *what, int64_t task,
                                lac_doubt *doubt, lac_fault *fault) {
  if (is_lost) return certain_give_up(f, error, task, doubt, fault);
  if (error < LAC_CERTAINTY_FEW) return LAC_OK;
  if (error >= LAC_CERTAINTY_NONE && !f->core->options.accept_singular) return certain_refuse(f, error, what, fault);
  doubt_note(doubt, error, task);
  return LAC_OK;
}

/// Columns that give cause; all of them where pivots do.
typedef struct certain_doubted {
  bool is[LAC_BLOCK_WIDTH], any;
  double backward;  // the largest error of theirs
} certain_doubted;

/// How far apart units of the unknowns are: as the method measured it on its way, or measured now.
static double certain_apart(const lac_factor *f, const lac_solved *s, lac_form form, double enough) {
  const lac_direct_factor *d = f->part;
  lac_finding one = {0};
  if (form == LAC_PLAIN) d->table->report(d->analysis->part, d->numerics[s->item], &one);
  return one.apart > 0 ? one.apart : lac_certainty_apart(s->system, form, enough);
}

/// Whether unknowns are of units so far apart that x may be lost as it stands, though not in units of the matrix. A
/// Hermitian matrix is D H D with no number in H above 1, where D^2 has the largest of each column: half of what is
/// between its columns are units of its rows. Those have the same numbers, and are quicker to read.
static bool certain_is_apart(const lac_factor *f, const lac_solved *s) {
  bool is_hermitian = lac_direct_of(f)->table->needs_hermitian;
  lac_form form = is_hermitian ? LAC_TRANSPOSED : s->form;
  _Atomic double *kept = certain_kept(f, s->item, form, CERTAIN_UNIT);
  double least = atomic_load(kept), enough = pow(certain_cause(f), is_hermitian ? 2 : 1);
  if (least == 0) atomic_store(kept, least = certain_apart(f, s, form, enough));
  return least < enough;
}

static certain_doubted certain_doubt(const lac_factor *f, const lac_solved *s) {
  bool all = s->judged_from > 0 || certain_is_doubtful(f, s->item) || certain_is_apart(f, s);
  certain_doubted out = {.any = false};
  for (int k = 0; k < s->width; k++) {
    out.is[k] = all || s->refined->growth[k] > certain_growth(f);
    out.any |= out.is[k];
    if (out.is[k]) out.backward = fmax(out.backward, s->refined->error[k]);
  }
  return out;
}

/// The worst error of those columns.
static lac_status certain_columns(lac_certainty *c, const lac_solved *s, const certain_doubted *doubted, double *worst,
                                  lac_fault *fault) {
  lac_status status = LAC_OK;
  for (int k = 0; k < s->width && status == LAC_OK; k++) {
    double error = 0;
    if (!doubted->is[k]) continue;
    status = lac_certainty_error(c, s->width, k, s->blocks[REFINE_B], s->blocks[REFINE_X], &error, fault);
    *worst = fmax(*worst, error);
  }
  return status;
}

/// All rows: nothing more where the condition settles it. Units of the matrix show whether it is singular; what is lost
/// in those that x came in is a doubt too, and no more.
static lac_status certain_whole(const lac_factor *f, const lac_solved *s, const certain_doubted *doubted,
                                lac_certainty *c, double *worst, lac_fault *fault) {
  double condition = 0, plain = 0;
  bool is_quick = false;
  lac_status status = lac_certainty_open(s->system, certain_refines(f), s->form, c, fault);
  if (status == LAC_OK) status = certain_look(f, s->item, doubted->backward, c, &is_quick, &condition, fault);
  if (status != LAC_OK || is_quick) return status;
  if (!certain_is_settled(f, condition, doubted->backward)) status = certain_columns(c, s, doubted, worst, fault);
  if (status != LAC_OK || *worst >= LAC_CERTAINTY_NONE) return status;
  lac_certainty_plain(c);
  status = certain_columns(c, s, doubted, &plain, fault);
  *worst = fmax(*worst, fmin(plain, LAC_CERTAINTY_DOUBT));
  return status;
}

/// The unknowns of least squares. Where they are in doubt and the factor is inaccurate, a partner judges them.
static lac_status certain_part(const lac_factor *f, const lac_solved *s, const certain_doubted *doubted,
                               lac_certainty *c, double *worst, lac_fault *fault) {
  bool is_poor = doubted->backward > REFINE_GOOD * lac_dtype_epsilon(f->meta.dtype);
  lac_status status = lac_certainty_open(s->system, true, s->form, c, fault);
  if (status != LAC_OK) return status;
  c->task.system.is_stable = false;  // solutions that are only mildly good show a null space that does not exist
  lac_certainty_rows(c, s->judged_from);
  status = certain_columns(c, s, doubted, worst, fault);
  c->task.is_lost |= is_poor && *worst >= LAC_CERTAINTY_FEW && lac_direct_has_partner(f);
  return status;
}

lac_status lac_direct_certain(const lac_factor *f, const lac_solved *s, lac_doubt *doubt, lac_fault *fault) {
  certain_doubted doubted = certain_doubt(f, s);
  bool is_whole = s->judged_from == 0;
  double worst = 0;
  lac_certainty c = {.memory = NULL};
  lac_status status;

  if (!doubted.any || (is_whole && certain_is_known(f, s->item, s->form, doubted.backward))) return LAC_OK;
  status = (is_whole ? certain_whole : certain_part)(f, s, &doubted, &c, &worst, fault);
  lac_certainty_close(&c);
  return status == LAC_OK ? certain_judge(f, worst, c.task.is_lost, "x", s->task, doubt, fault) : status;
}

// -- of the matrix alone ---------------------------------------------------------------------------------------------

/// The matrices of a factor that are in doubt.
typedef struct certain_work {
  const lac_factor *f;
  int threads;  // of each matrix
  lac_doubt *doubt;
  lac_stop *stop;
} certain_work;

static lac_status certain_item(const void *job, int64_t item, int thread, lac_fault *fault) {
  const certain_work *w = job;
  lac_system a = lac_direct_system(w->f, item, w->threads, w->stop);
  lac_certainty c = {.memory = NULL};
  lac_status status = LAC_OK;
  double condition = atomic_load(certain_kept(w->f, item, LAC_PLAIN, CERTAIN_CAREFUL)), error;
  bool is_quick;

  (void)thread;
  if (!certain_is_doubtful(w->f, item) || certain_is_known(w->f, item, LAC_PLAIN, 0)) return LAC_OK;
  if (condition == 0) {
    status = lac_certainty_open(&a, certain_refines(w->f), LAC_PLAIN, &c, fault);
    if (status == LAC_OK) status = certain_look(w->f, item, 0, &c, &is_quick, &condition, fault);
    lac_certainty_close(&c);
  }
  error = condition * lac_dtype_epsilon(w->f->meta.dtype);
  if (c.task.is_lost && !lac_direct_has_partner(w->f))
    error = fmax(error, 1), c.task.is_lost = false;  // undecided: the error may be 1
  return status == LAC_OK ? certain_judge(w->f, error, c.task.is_lost, "this", item, w->doubt, fault) : status;
}

static const char *certain_way_out(lac_status status) {
  if (status == LAC_ERR_INTERRUPTED) return lac_direct_interrupted_ways;
  return status == LAC_ERR_SINGULAR ? lac_direct_singular_ways : "free memory";
}

static lac_status certain_all(lac_context *ctx, const char *function, const lac_factor *f) {
  lac_status status = LAC_OK;
  lac_doubt doubt = {.lock = PTHREAD_MUTEX_INITIALIZER};
  lac_stop stop;
  certain_work work = {f, f->items < ctx->threads ? ctx->threads : 1, &doubt, &stop};
  const lac_finding *finding = &lac_direct_of(f)->finding;
  int threads = lac_threads_worth(ctx->threads, f->items, (double)finding->nnz);
  lac_trial trial;
  char which[64];

  if (f->items == 0 || !certain_has_cause(f, finding)) goto done;
  lac_stop_init(&stop, ctx);
  trial = lac_tasks_run(threads, &stop, 0, f->items, certain_item, &work);
  LAC_CHECK(trial.status == LAC_OK, trial.status, "%s: %s%s; %s", function, trial.fault.text,
            lac_factor_item_text(f, trial.task, which), certain_way_out(trial.status));
  if (doubt.error > 0) {
    lac_context_warn(
        ctx, "%s: few digits are certain, for the matrix is nearly singular: the estimated relative error is %.1e%s",
        function, doubt.error, lac_factor_item_text(f, doubt.task, which));
  }
done:
  return status;
}

lac_status lac_direct_certain_partner(lac_context *ctx, const char *function, bool (*is_able)(const lac_factor *f),
                                      const lac_factor **f) {
  lac_status status = LAC_OK;

  while (*f) {
    status = is_able(*f) ? certain_all(ctx, function, *f) : LAC_ERR_CONVERGENCE;
    if (status != LAC_ERR_CONVERGENCE) break;
    LAC_TRY(lac_factor_partner(ctx, *f, NULL, f));
  }
done:
  return status == LAC_ERR_CONVERGENCE && !*f ? LAC_OK : status;
}
