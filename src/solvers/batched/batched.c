// SPDX-License-Identifier: Apache-2.0
/// @file batched.c
/// Many small systems of one structure: LU by lists (kernels/listed.h), a block of threads to a matrix, all of them in
/// one launch.
///
/// Rows and columns are eliminated in an order that keeps L\U sparse, with the diagonal for pivots, whatever the values
/// are. So every solve is refined and measured (measured/), and where a factor gives cause (pivots that are small
/// relative to others) a system with random numbers is solved too: it grows by the condition of the matrix. Where that
/// leaves a doubt about some matrices, these have a direct factor that chooses its pivots (rest.h); about many, and
/// where a solve leaves one, the partner has all of them. Determinants and inverses are the partner's too.

#include <stdio.h>

#include "solvers/batched/plan.h"
#include "solvers/batched/rest.h"
#include "solvers/measured/probe.h"
#include "solvers/vectors.h"

/// The part of a core.
typedef struct batched_core {
  lac_listed_lu *list;
  int64_t products;
} batched_core;

/// The part of a factor.
typedef struct batched_factor {
  lac_array *lu;             // [*batch, entries + 1]
  lac_batched_rest rest;     // matrices that have a factor of their own
  _Atomic double condition;  // of the others, from below; 0: not yet known
  atomic_bool has_failed;    // the partner solves
} batched_factor;

static const batched_core *batched_core_of(const lac_factor *f) { return f->core->part; }
static batched_factor *batched_of(const lac_factor *f) { return f->part; }

// -- cores -----------------------------------------------------------------------------------------------------------

static lac_status batched_analyse(lac_context *ctx, lac_solver_core *core) {
  lac_status status = LAC_OK;
  batched_core *c = NULL;

  LAC_ALLOC(c, 1);
  core->part = c;
  LAC_CHECK(core->rows <= LAC_BATCHED_ROWS, LAC_ERR_UNSUPPORTED,
            "lac_solver_create: method = \"batched\" is for small systems, of %d unknowns at most, and this has %lld; "
            "use method = \"auto\"",
            LAC_BATCHED_ROWS, (long long)core->rows);
  LAC_TRY(lac_batched_plan(ctx, core->pattern, core->options.ordering, &c->products, &c->list));
  LAC_CHECK(c->list, LAC_ERR_UNSUPPORTED,
            "lac_solver_create: method = \"batched\" is for small systems, of %d products in an elimination at most, "
            "and this takes %lld; use method = \"auto\"",
            LAC_BATCHED_PRODUCTS, (long long)c->products);
done:
  return status;
}

static void batched_forget(lac_solver_core *core) {
  batched_core *c = core->part;
  if (!c) return;
  lac_batched_plan_destroy(&c->list);
  lac_free(c);
  core->part = NULL;
}

/// A product is two operations.
static void batched_tell(const batched_core *c, lac_report *report) {
  report->ordering = "fill-reducing";
  report->factor_nnz = c->list->entries;
  report->flops = 2 * (double)c->products;
}

static void batched_foresee(const lac_solver_core *core, lac_report *report) {
  report->method = core->table->name;
  report->reason = core->why;
  batched_tell(core->part, report);
  report->factor_bytes = -1;
  report->work_bytes = -1;
}

static bool batched_is_here(const lac_context *ctx, const lac_solver_table *table, const lac_solver_core *core) {
  (void)table, (void)core;
  return ctx->kernels->listed_lu && ctx->kernels->listed_solve && ctx->kernels->survey;
}

// -- factors ---------------------------------------------------------------------------------------------------------

/// What L\U of all matrices takes, before it is taken.
static lac_status batched_check_room(lac_context *ctx, lac_factor *f) {
  lac_status status = LAC_OK;
  int64_t most = f->core->options.max_bytes;
  double bytes =
      (double)f->items * (double)(batched_core_of(f)->list->entries + 1) * (double)lac_dtype_size(f->meta.dtype);

  f->shortage = LAC_SHORT_FORESEEN;
  LAC_CHECK(
      most <= 0 || bytes <= (double)most, LAC_ERR_MEMORY,
      "%s: the factors of %lld matrices take %.3g bytes, and max_bytes is %lld; raise it, or solve fewer at a time",
      f->function, (long long)f->items, bytes, (long long)most);
  f->shortage = LAC_SHORT_OF_NOTHING;
done:
  return status;
}

/// L\U of all matrices; shares[i] is the smallest pivot of a matrix relative to its largest.
static lac_status batched_eliminate(lac_context *ctx, lac_factor *f, double *shares) {
  lac_status status = LAC_OK;
  const lac_listed_lu *list = batched_core_of(f)->list;
  lac_meta meta = f->meta;
  lac_array *share = NULL;

  meta.shape[meta.ndim - 1] = list->entries + 1;
  LAC_TRY(lac_array_make(ctx, &meta, &batched_of(f)->lu));
  LAC_TRY(lac_array_create(ctx, LAC_F64, 1, &f->items, &share));
  LAC_TRY(ctx->kernels->listed_lu(ctx, list, f->values, batched_of(f)->lu, share));
  LAC_TRY(lac_array_fetch(ctx, share, shares));
done:
  lac_array_destroy(&share);
  return status;
}

/// Refuse values that are not finite. Each is an entry of L\U, so that only a matrix without pivots may have one.
static lac_status batched_refuse(lac_context *ctx, const lac_factor *f, const lac_linear *a, const double *shares) {
  lac_status status = LAC_OK;
  lac_surveyed seen = {0};
  bool is_due = false;

  for (int64_t i = 0; i < f->items; i++) is_due |= !(shares[i] > 0);
  if (is_due) LAC_TRY(lac_surveyed_make(ctx, f, a, &seen));
done:
  lac_surveyed_drop(&seen);
  return status;
}

/// A solve as lac_measured_solve asks for it.
typedef struct batched_job {
  const lac_factor *f;
  lac_form form;
  const lac_solve_job *asked;  // NULL: one column for each matrix
} batched_job;

/// Those of the rest; where they cannot be solved, the partner shall solve all.
static lac_status batched_apply_rest(lac_context *ctx, const batched_job *job, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK, solved;
  batched_factor *d = batched_of(job->f);
  lac_solve_job own = {.form = job->form, .judged_from = LAC_UNJUDGED};

  if (d->rest.count == 0) goto done;
  if (job->asked) own = *job->asked;
  solved = lac_batched_rest_solve(ctx, &d->rest, &own, b, x);
  if (solved == LAC_ERR_MEMORY || solved == LAC_ERR_INTERRUPTED) LAC_TRY(solved);
  if (solved == LAC_OK) goto done;
  lac_context_clear_error(ctx);
  atomic_store(&d->has_failed, true);
done:
  return status;
}

/// lac_measured_apply: arrays [count, n, k].
static lac_status batched_apply(lac_context *ctx, const void *self, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const batched_job *job = self;
  const lac_factor *f = job->f;
  lac_array *right = NULL, *left = NULL;
  lac_meta meta = f->meta;

  if (!job->asked) meta.shape[meta.ndim - 1] = f->core->rows, meta.shape[meta.ndim++] = 1;
  if (job->asked) meta = job->asked->x->meta;
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)b, meta.ndim, meta.shape, &right));
  LAC_TRY(lac_array_reshape(ctx, x, meta.ndim, meta.shape, &left));
  LAC_TRY(ctx->kernels->listed_solve(ctx, batched_core_of(f)->list, job->form, batched_of(f)->lu, right, left));
  LAC_TRY(batched_apply_rest(ctx, job, b, x));
done:
  lac_array_destroy(&right);
  lac_array_destroy(&left);
  return status;
}

/// Look at all matrices that are not bad yet; those about which a doubt remains are.
static lac_status batched_probe(lac_context *ctx, const lac_factor *f, bool *is_bad) {
  lac_status status = LAC_OK;
  batched_job job = {f, LAC_PLAIN, NULL};
  lac_measured all = {0}, *each = NULL;
  double most = 0;

  LAC_ALLOC(each, f->items);
  LAC_TRY(lac_measured_probe(ctx, f, batched_apply, &job, each, &all));
  for (int64_t i = 0; i < f->items; i++) {
    double condition = lac_measured_condition(f, &each[i]);
    if (is_bad[i]) continue;
    is_bad[i] = lac_measured_is_bad(f, each[i].error) || !lac_measured_is_settled(f, condition, each[i].error, 0);
    if (!is_bad[i] && condition > most) most = condition;
  }
  atomic_store(&batched_of(f)->condition, most);
done:
  lac_free(each);
  return status;
}

/// Which matrices are bad: those without pivots, and of the others those that a probe shows, where small pivots give
/// cause for one.
static lac_status batched_judge(lac_context *ctx, const lac_factor *f, const double *shares, bool *is_bad) {
  lac_status status = LAC_OK;
  bool has_cause = false;

  for (int64_t i = 0; i < f->items; i++) {
    is_bad[i] = !(shares[i] > 0);
    has_cause |= !is_bad[i] && shares[i] < lac_measured_cause(f);
  }
  if (has_cause) LAC_TRY(batched_probe(ctx, f, is_bad));
done:
  return status;
}

/// A factor of the bad ones, if any; *is_good: all matrices are served.
static lac_status batched_set_aside(lac_context *ctx, lac_factor *f, const bool *is_bad, bool *is_good) {
  lac_status status = LAC_OK;
  batched_factor *d = batched_of(f);
  int64_t count = 0;

  for (int64_t i = 0; i < f->items; i++) count += is_bad[i];
  *is_good = count == 0;
  if (count == 0) goto done;
  LAC_TRY(lac_batched_rest_make(ctx, f, is_bad, &d->rest, is_good));
  if (*is_good)
    lac_factor_say(f, "; of %lld the diagonal has no good pivots: a direct factor that chooses its pivots serves",
                   (long long)count);
done:
  return status;
}

static lac_status batched_make(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK;
  batched_factor *d = NULL;
  const lac_factor *partner = NULL;
  double *shares = NULL;
  bool *is_bad = NULL, is_good = false;

  (void)like;
  LAC_ALLOC(d, 1);
  f->part = d;
  lac_factor_say(f, "LU of each matrix by a block of threads, all of them at once");
  if (f->items == 0 || f->core->rows == 0) goto done;
  LAC_TRY(batched_check_room(ctx, f));
  LAC_ALLOC(shares, f->items);
  LAC_ALLOC(is_bad, f->items);
  LAC_TRY(batched_eliminate(ctx, f, shares));
  LAC_TRY(batched_refuse(ctx, f, a, shares));
  LAC_TRY(batched_judge(ctx, f, shares, is_bad));
  LAC_TRY(batched_set_aside(ctx, f, is_bad, &is_good));
  if (is_good) goto done;
  atomic_store(&d->has_failed, true);
  lac_array_destroy(&d->lu);
  lac_factor_say(f, ", which was inaccurate: a direct factor that chooses its pivots serves");
  LAC_TRY(lac_factor_partner(ctx, f, NULL, &partner));
done:
  lac_free(shares);
  lac_free(is_bad);
  return status;
}

static void batched_destroy(lac_factor *f) {
  batched_factor *d = f->part;
  if (!d) return;
  lac_array_destroy(&d->lu);
  lac_batched_rest_clear(&d->rest);
  lac_free(d);
  f->part = NULL;
}

// -- solves ----------------------------------------------------------------------------------------------------------

static bool batched_is_rest(const lac_factor *f, int64_t item) {
  const lac_batched_rest *rest = &batched_of(f)->rest;
  return rest->count > 0 && rest->place[item] >= 0;
}

/// A probe where there was none; *finds_bad: of matrices that have no factor of their own.
static lac_status batched_probe_once(lac_context *ctx, const lac_factor *f, bool *finds_bad) {
  lac_status status = LAC_OK;
  bool *is_bad = NULL;

  *finds_bad = false;
  if (atomic_load(&batched_of(f)->condition) > 0) goto done;
  LAC_ALLOC(is_bad, f->items);
  for (int64_t i = 0; i < f->items; i++) is_bad[i] = batched_is_rest(f, i);
  LAC_TRY(batched_probe(ctx, f, is_bad));
  for (int64_t i = 0; i < f->items; i++) *finds_bad |= is_bad[i] && !batched_is_rest(f, i);
done:
  lac_free(is_bad);
  return status;
}

/// Whether digits of a solution are certain; by a probe, where it gives cause.
static lac_status batched_certify(lac_context *ctx, const lac_factor *f, const lac_measured *solved, bool *is_certain) {
  lac_status status = LAC_OK;
  double known;
  bool finds_bad = false;

  *is_certain = true;
  if (solved->growth <= lac_measured_growth(f)) goto done;
  LAC_TRY(batched_probe_once(ctx, f, &finds_bad));
  known = atomic_load(&batched_of(f)->condition);
  known = known > solved->growth ? known : solved->growth;
  *is_certain = !finds_bad && lac_measured_is_settled(f, known, solved->error, 0);
done:
  return status;
}

/// *is_done: the solution is good, and certain where that is asked for.
static lac_status batched_solve_here(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, bool *is_done) {
  lac_status status = LAC_OK;
  batched_job own = {f, job->form, job};
  lac_measured_system system = {.pattern = f->core->pattern,
                                .values = f->values,
                                .form = job->form,
                                .x = job->x,
                                .apply = batched_apply,
                                .self = &own};
  lac_measured solved = {0};
  lac_array *b = NULL;

  *is_done = false;
  if (job->judged_from > 0 || atomic_load(&batched_of(f)->has_failed)) goto done;  // a part of x is judged by others
  LAC_TRY(lac_batch_spread(ctx, job->batch, 1, job->b, &b));
  system.b = b;
  LAC_TRY(lac_measured_solve(ctx, &system, &solved));
  *is_done = !lac_measured_is_bad(f, solved.error) && !atomic_load(&batched_of(f)->has_failed);
  if (*is_done && job->judged_from == 0) LAC_TRY(batched_certify(ctx, f, &solved, is_done));
done:
  lac_array_destroy(&b);
  return status;
}

static lac_status batched_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job,
                                lac_solve_report *report) {
  lac_status status = LAC_OK;
  const lac_factor *partner = NULL;
  bool is_done = job->x->count == 0;

  *report = (lac_solve_report){.ending = LAC_ENDING_CONVERGED, .residual = LAC_UNMEASURED};
  snprintf(report->reason, sizeof report->reason, "solved by a direct factor");
  if (!is_done) LAC_TRY(batched_solve_here(ctx, f, job, &is_done));
  if (is_done) goto done;
  LAC_TRY(lac_factor_partner(ctx, f, NULL, &partner));
  if (job->judged_from <= 0) atomic_store(&batched_of(f)->has_failed, true);
  LAC_TRY(partner->table->solve(ctx, partner, job, report));
done:
  return status;
}

static void batched_report(const lac_factor *f, lac_report *report) {
  const batched_core *c = batched_core_of(f);
  const batched_factor *d = f->part;

  batched_tell(c, report);
  report->method = f->core->table->name;
  report->factor_nnz *= f->items;
  report->flops *= (double)f->items;
  report->factor_bytes =
      lac_factor_bytes_of(f->core, f->meta.dtype, f->items, d->lu ? (int64_t)lac_array_bytes(d->lu) : 0);
  if (d->rest.factor) report->factor_bytes += lac_factor_bytes(d->rest.factor);
}

const lac_solver_table lac_kind_batched = {.name = "batched",
                                           .flags = LAC_DIRECT_FLAGS | LAC_READS_ORDERING,
                                           .analyse = batched_analyse,
                                           .forget = batched_forget,
                                           .foresee = batched_foresee,
                                           .is_here = batched_is_here,
                                           .factor = batched_make,
                                           .solve = batched_solve,
                                           .partner = lac_partner_direct,
                                           .report = batched_report,
                                           .destroy = batched_destroy};
