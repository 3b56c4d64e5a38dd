// SPDX-License-Identifier: Apache-2.0
/// @file cudss.c
/// cuDSS as a kind of solver: sparse direct factors on CUDA devices, where nothing of a matrix or of a right-hand side
/// goes to the host.
///
/// Which factorisation the values decide. What fails is followed by the next:
///
///     Hermitian with a positive diagonal   ->  Cholesky
///     Hermitian with a full diagonal       ->  L D L^H
///     a full diagonal                      ->  L D U
///     any                                  ->  L D U, rows matched with columns and scaled; one matrix alone
///     none of them                         ->  the partner, a direct factor on the host
///
/// cuDSS chooses pivots inside supernodes and enlarges small ones. So every solve is refined and measured as those on
/// the host are (measured/), and where a factor gives cause (pivots that were enlarged or are small, or that cuDSS does
/// not show) a system with random numbers is solved too: it grows by the condition of the matrix. What cannot be
/// certified here is left to the partner, which judges it (direct/certain.c). Determinants and inverses are the
/// partner's too.
///
/// All calls for one core are made under its lock, and a call is complete when the lock goes.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solvers/engines/cudss/kind.h"

enum { CUDSS_WAYS = 4 };

// -- cores -----------------------------------------------------------------------------------------------------------

static lac_status cudss_analyse(lac_context *ctx, lac_solver_core *core) {
  lac_status status = LAC_OK;
  cudss_core *c = NULL;
  char why[512] = "";

  LAC_ALLOC(c, 1);
  pthread_mutex_init(&c->lock, NULL);
  core->part = c;
  c->repeats = c->lends = true;
  c->l = lac_cudss_find(why, sizeof why);
  LAC_CHECK(c->l, LAC_ERR_UNSUPPORTED, "lac_solver_create: cuDSS cannot be used: %s", why);
done:
  return status;
}

static void cudss_drop_idle(cudss_core *c) {
  for (int i = 0; i < CUDSS_IDLE; i++) {
    lac_cudss_session_destroy(c->idle[i]);
    c->idle[i] = NULL;
  }
}

static void cudss_forget(lac_solver_core *core) {
  cudss_core *c = core->part;
  if (!c) return;
  cudss_drop_idle(c);
  pthread_mutex_destroy(&c->lock);
  lac_free(c);
  core->part = NULL;
}

static void cudss_foresee(const lac_solver_core *core, lac_report *report) {
  report->method = core->table->name;
  report->reason = core->why;
  report->ordering = "nested dissection";
  report->factor_nnz = report->factor_bytes = report->work_bytes = -1;
  report->flops = -1;
}

static bool cudss_same(const cudss_nature *a, const cudss_nature *b) {
  return a->space == b->space && a->dtype == b->dtype && a->items == b->items && a->of == b->of &&
         a->matches == b->matches && a->is_transpose == b->is_transpose && a->repeats == b->repeats;
}

void lac_cudss_count(const lac_factor *f) {
  cudss_factor *d = cudss_of(f);
  int64_t bytes = d->session ? lac_cudss_session_bytes(d->session) : 0;
  if (d->twin) bytes += lac_cudss_session_bytes(d->twin);
  if (d->scaled) bytes += (int64_t)lac_array_bytes(d->scaled);
  if (d->t_scaled) bytes += (int64_t)lac_array_bytes(d->t_scaled);
  atomic_store(&d->bytes, bytes);
}

/// A session that waits, with an analysis of that nature; NULL: none does. The lock is held.
static cudss_session *cudss_take_idle(cudss_core *c, const cudss_nature *nature) {
  for (int i = 0; i < CUDSS_IDLE; i++) {
    cudss_session *s = c->idle[i];
    if (!s || !cudss_same(lac_cudss_session_nature(s), nature)) continue;
    c->idle[i] = NULL;
    return s;
  }
  return NULL;
}

/// Where there is no place, the oldest of those that wait goes. The lock is held.
static void cudss_give_back(cudss_core *c, cudss_session **session) {
  int place = 0;
  if (!*session) return;
  while (place < CUDSS_IDLE - 1 && c->idle[place]) place++;
  lac_cudss_session_destroy(c->idle[place]);
  memmove(c->idle + 1, c->idle, (size_t)place * sizeof *c->idle);
  c->idle[0] = *session, *session = NULL;
}

/// What to try where a session could not be made: without the memory of those that wait, without the promise of the
/// same bits, which cuDSS does not give for every matrix, or with cuDSS's own memory, where it fails though nothing of
/// ours was refused. False: nothing more.
static bool cudss_relent(lac_context *ctx, cudss_core *c, cudss_nature *nature, lac_status failure) {
  bool goes_on = false;

  if (failure == LAC_ERR_MEMORY) goes_on = c->idle[0] || c->idle[1], cudss_drop_idle(c);
  if (failure == LAC_ERR_UNSUPPORTED) goes_on = nature->repeats, nature->repeats = false;
  if (failure == LAC_ERR_BACKEND) goes_on = nature->lends, nature->lends = false;
  if (goes_on) lac_context_clear_error(ctx);
  return goes_on;
}

/// One attempt at a session that has these values factored; f->shortage says whether memory was missing.
static lac_status cudss_attempt(lac_context *ctx, lac_factor *f, const lac_pattern *pattern, const cudss_nature *nature,
                                const lac_array *values, cudss_finding *finding, cudss_session **out) {
  lac_status status = LAC_OK;
  double begin = lac_seconds();
  cudss_session *s = NULL;

  f->shortage = LAC_SHORT_MET;
  LAC_TRY(lac_cudss_session_create(ctx, cudss_core_of(f)->l, pattern, nature, values, &s));
  f->shortage = LAC_SHORT_FORESEEN;
  LAC_TRY(lac_cudss_session_fits(ctx, s, f->core->options.max_bytes));
  f->shortage = LAC_SHORT_MET;
  cudss_of(f)->analyse_seconds += lac_seconds() - begin;
  LAC_TRY(lac_cudss_session_factor(ctx, s, values, finding));
  *out = s, s = NULL;
done:
  if (status != LAC_ERR_MEMORY) f->shortage = LAC_SHORT_OF_NOTHING;
  lac_cudss_session_destroy(s);
  return status;
}

/// A new session that has these values factored. The lock is held.
static lac_status cudss_begin_session(lac_context *ctx, lac_factor *f, const lac_pattern *pattern,
                                      const cudss_nature *nature, const lac_array *values, cudss_finding *finding,
                                      cudss_session **out) {
  lac_status status = LAC_OK, made;
  cudss_core *c = cudss_core_of(f);
  cudss_nature own = *nature;

  own.repeats = c->repeats, own.lends = c->lends;
  do {
    made = cudss_attempt(ctx, f, pattern, &own, values, finding, out);
  } while (made != LAC_OK && cudss_relent(ctx, c, &own, made));
  LAC_TRY(made);
  c->repeats = own.repeats, c->lends = own.lends;  // what did not help is asked for again next time
done:
  return status;
}

lac_status lac_cudss_make(lac_context *ctx, lac_factor *f, const lac_pattern *pattern, const cudss_nature *nature,
                          const lac_array *values, cudss_finding *finding, cudss_session **out) {
  lac_status status = LAC_OK;
  cudss_session *s = cudss_take_idle(cudss_core_of(f), nature);

  if (s) LAC_TRY(lac_cudss_session_factor(ctx, s, values, finding));
  if (s && nature->matches && (finding->info != 0 || finding->perturbed > 0)) lac_cudss_session_destroy(s), s = NULL;
  if (!s) LAC_TRY(cudss_begin_session(ctx, f, pattern, nature, values, finding, &s));
  *out = s, s = NULL;
done:
  lac_cudss_session_destroy(s);
  return status;
}

// -- factors ---------------------------------------------------------------------------------------------------------

/// A way of factoring.
typedef struct cudss_way {
  const char *name;
  int of[2];  // for reals, for complex numbers
  bool matches;
} cudss_way;

static const cudss_way cudss_ways[CUDSS_WAYS] = {
    {"Cholesky", {CUDSS_SPD, CUDSS_HPD}, false},
    {"L D L^H", {CUDSS_SYMMETRIC, CUDSS_HERMITIAN}, false},
    {"L D U", {CUDSS_GENERAL, CUDSS_GENERAL}, false},
    {"matched L D U", {CUDSS_GENERAL, CUDSS_GENERAL}, true},
};
enum { CUDSS_BY_CHOLESKY, CUDSS_BY_LDLH, CUDSS_BY_LDU, CUDSS_BY_MATCHED };

/// The first way that may do.
static int cudss_first(const lac_survey *s) {
  bool is_hermitian = s->asymmetric < 0;
  if (is_hermitian && s->not_positive < 0) return CUDSS_BY_CHOLESKY;
  if (s->without >= 0) return CUDSS_BY_MATCHED;
  return is_hermitian ? CUDSS_BY_LDLH : CUDSS_BY_LDU;
}

/// By the way of `like`, where the values still are what it takes.
static int cudss_begin(const lac_factor *like, int first) {
  for (int i = first; like && i < CUDSS_WAYS; i++) {
    if (cudss_of(like)->way == cudss_ways[i].name) return i;
  }
  return first;
}

// Numbers beyond this are scaled: squares, which complex quotients have, must fit.
static const double cudss_far = 0x1p40;

/// Values of a size near 1, where they are far from it.
static lac_status cudss_scale(lac_context *ctx, lac_factor *f, const lac_surveyed *seen) {
  lac_status status = LAC_OK;
  cudss_factor *d = cudss_of(f);
  const int range = lac_dtype_is_single(f->meta.dtype) ? 126 : 1022;  // of exponents whose negatives exist
  double *largest = NULL, most = 0;

  LAC_ALLOC(largest, f->items);
  LAC_TRY(lac_array_fetch(ctx, seen->largest, largest));
  for (int64_t i = 0; i < f->items; i++) most = fmax(most, largest[i]);
  if (most == 0 || (most <= cudss_far && most >= 1 / cudss_far)) goto done;
  d->unit = ldexp(1, (int)fmin(range, fmax(-range, ilogb(most))));
  LAC_TRY(lac_array_make(ctx, &f->values->meta, &d->scaled));
  LAC_TRY(ctx->kernels->scale(ctx, 1 / d->unit, 0, f->values, d->scaled));
done:
  lac_free(largest);
  return status;
}

/// Matching may fail where rows have no columns that are left, so that this is a finding about the matrix. The lock is
/// held.
static lac_status cudss_make_by(lac_context *ctx, lac_factor *f, const cudss_nature *nature) {
  lac_status status = LAC_OK;
  cudss_factor *d = cudss_of(f);
  lac_status made = lac_cudss_make(ctx, f, f->core->pattern, nature, lac_cudss_values(f), &d->finding, &d->session);

  if (made == LAC_ERR_BACKEND && nature->matches) {
    lac_context_clear_error(ctx);
    d->finding = (cudss_finding){.info = 1, .flops = -1};
    goto done;
  }
  LAC_TRY(made);
done:
  return status;
}

/// One way after the other until a factor is good; without a session in the end where none is. The lock is held.
static lac_status cudss_try_ways(lac_context *ctx, lac_factor *f, int first) {
  lac_status status = LAC_OK;
  cudss_factor *d = cudss_of(f);
  cudss_core *c = cudss_core_of(f);
  bool is_good = false;

  for (int i = first; i < CUDSS_WAYS && !is_good; i++) {
    const cudss_way *way = &cudss_ways[i];
    cudss_nature nature = {.space = f->space,
                           .dtype = f->meta.dtype,
                           .items = f->items,
                           .of = way->of[lac_dtype_is_complex(f->meta.dtype)],
                           .matches = way->matches,
                           .repeats = c->repeats};
    if (way->matches && f->items > 1) continue;  // cuDSS does not match batches
    LAC_TRY(cudss_make_by(ctx, f, &nature));
    LAC_TRY(lac_cudss_judge(ctx, f, &is_good));
    d->way = way->name;
    lac_factor_say(f, "%s%s by cuDSS %s%s", *f->reason ? ", then " : "", way->name, c->l->version,
                   c->repeats ? "" : ", whose bits may differ from run to run");
    if (!is_good) {
      lac_factor_say(f, ", %s", d->finding.info != 0 ? "which failed" : "which was inaccurate");
      cudss_give_back(c, &d->session);
    }
  }
done:
  return status;
}

static lac_status cudss_factor_from(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK;
  cudss_core *c = cudss_core_of(f);
  cudss_factor *d = NULL;
  lac_surveyed seen = {0};
  const lac_factor *partner = NULL;

  LAC_CHECK(!lac_context_is_host(ctx), LAC_ERR_UNSUPPORTED,
            "%s: method = \"cudss\" works on CUDA arrays, and these are on the host; move them to a device, or use "
            "method = \"direct\"",
            f->function);
  LAC_ALLOC(d, 1);
  d->unit = 1;
  f->part = d;
  if (f->items == 0 || f->core->rows == 0) goto done;
  LAC_TRY(lac_surveyed_make(ctx, f, a, &seen));
  d->is_hermitian = seen.survey.asymmetric < 0;
  LAC_TRY(cudss_scale(ctx, f, &seen));
  pthread_mutex_lock(&c->lock);
  status = cudss_try_ways(ctx, f, cudss_begin(like, cudss_first(&seen.survey)));
  lac_cudss_count(f);
  pthread_mutex_unlock(&c->lock);
  LAC_TRY(status);
  if (d->session) goto done;
  atomic_store(&d->has_failed, true);
  lac_factor_say(f, "; a direct factor on the host serves, to which values and right-hand sides travel");
  LAC_TRY(lac_factor_partner(ctx, f, NULL, &partner));
done:
  lac_surveyed_drop(&seen);
  return status;
}

static lac_status cudss_factor_new(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  (void)like;  // its session serves once it has ended
  return cudss_factor_from(ctx, a, NULL, f);
}

static void cudss_destroy(lac_factor *f) {
  cudss_factor *d = f->part;
  cudss_core *c = cudss_core_of(f);
  if (!d) return;
  pthread_mutex_lock(&c->lock);
  cudss_give_back(c, &d->twin);
  cudss_give_back(c, &d->session);
  pthread_mutex_unlock(&c->lock);
  lac_array_destroy(&d->scaled);
  lac_array_destroy(&d->t_scaled);
  lac_free(d);
  f->part = NULL;
}

static void cudss_report(const lac_factor *f, lac_report *report) {
  const cudss_factor *d = f->part;

  report->method = f->core->table->name;
  report->ordering = "nested dissection";
  report->factor_nnz = d->finding.nnz * f->items;
  report->factor_bytes = lac_factor_bytes_of(f->core, f->meta.dtype, f->items, atomic_load(&d->bytes));
  report->flops = d->finding.flops < 0 ? -1 : d->finding.flops * (double)f->items;
  report->perturbed = d->finding.perturbed;
  report->analyse_seconds += d->analyse_seconds;
  report->factor_seconds -= d->analyse_seconds;
}

const lac_solver_table lac_kind_cudss = {.name = "cudss",
                                         .flags = LAC_DIRECT_FLAGS | LAC_READS_ANYWHERE,
                                         .analyse = cudss_analyse,
                                         .forget = cudss_forget,
                                         .foresee = cudss_foresee,
                                         .factor = cudss_factor_new,
                                         .refresh = cudss_factor_from,
                                         .solve = lac_cudss_solve,
                                         .partner = lac_partner_direct,
                                         .report = cudss_report,
                                         .destroy = cudss_destroy};
