// SPDX-License-Identifier: Apache-2.0
/// @file solve.c
/// Solves by cuDSS: columns and batches as it takes them, refined, and judged.
///
/// A^T is solved with the same factor by cuDSS 1; before that, a second session has the transposed matrix. conj(A) and
/// A^H are A and A^T between two conjugations, and those of a Hermitian matrix A and conj(A).
///
/// cuDSS gives the same bits each time for single right-hand sides alone: columns are solved one after the other.

#include <math.h>
#include <stdio.h>

#include "solvers/engines/cudss/kind.h"
#include "solvers/measured/probe.h"
#include "solvers/vectors.h"

// -- solves by a session ---------------------------------------------------------------------------------------------

/// A solve as lac_measured_solve asks for it: one factor, one form, the joint batch.
typedef struct cudss_job {
  const lac_factor *f;
  lac_form form;
  const lac_batch *batch;  // NULL: that of the matrices
} cudss_job;

/// The session of A^T, made when first asked for. The lock is held.
static lac_status cudss_twin(lac_context *ctx, const lac_factor *f, cudss_session **out) {
  lac_status status = LAC_OK;
  cudss_factor *d = cudss_of(f);
  cudss_nature nature;
  cudss_finding finding;
  lac_pattern *pattern = NULL;
  lac_map *map = NULL;

  if (d->twin) goto done;
  nature = *lac_cudss_session_nature(d->session);
  nature.is_transpose = true;
  LAC_TRY(lac_pattern_transpose(ctx, f->core->pattern, &pattern, &map));
  LAC_TRY(lac_array_make(ctx, &f->values->meta, &d->t_scaled));
  LAC_TRY(ctx->kernels->remap(ctx, map, LAC_PLAIN, 0, lac_cudss_values(f), d->t_scaled));
  LAC_TRY(lac_cudss_make(ctx, (lac_factor *)f, pattern, &nature, d->t_scaled, &finding, &d->twin));
  lac_cudss_count(f);
done:
  lac_pattern_destroy(&pattern);
  lac_map_destroy(&map);
  if (status == LAC_OK) *out = d->twin;
  return status;
}

/// Arrays [items, n], one right-hand side for each matrix.
static lac_status cudss_solve_items(lac_context *ctx, const cudss_job *job, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  cudss_session *s = cudss_of(job->f)->session;
  bool is_able = false;

  LAC_TRY(lac_cudss_session_solve(ctx, s, lac_form_transposes(job->form), b, x, &is_able));
  if (is_able) goto done;
  LAC_TRY(cudss_twin(ctx, job->f, &s));
  LAC_TRY(lac_cudss_session_solve(ctx, s, false, b, x, &is_able));
done:
  return status;
}

/// Column `from` of an array [n, k] to column `to` of another, both one item of arrays [*, n, k].
static lac_status cudss_move(lac_context *ctx, const lac_array *x, int64_t x_item, int64_t from, lac_array *y,
                             int64_t y_item, int64_t to) {
  lac_status status = LAC_OK;
  lac_array *source = NULL, *target = NULL;

  LAC_TRY(lac_batch_items(ctx, x, x_item, 1, &source));
  LAC_TRY(lac_batch_items(ctx, y, y_item, 1, &target));
  LAC_TRY(ctx->kernels->place(ctx, 0, 1, source, (lac_along){from, 1}, target, (lac_along){to, 1}));
done:
  lac_array_destroy(&source);
  lac_array_destroy(&target);
  return status;
}

/// Where the right-hand sides of each matrix are in the joint batch: those of matrix i at order[i * rounds].
static lac_status cudss_order(lac_context *ctx, const cudss_job *job, int64_t count, int64_t **out) {
  lac_status status = LAC_OK;
  int64_t items = job->f->items, rounds = count / items;
  int64_t *order = NULL, *seen = NULL;

  LAC_ALLOC(order, count);
  LAC_ALLOC(seen, items);
  for (int64_t i = 0; i < count; i++) {
    int64_t item = job->batch ? lac_batch_item(job->batch, 0, i) : i;
    order[item * rounds + seen[item]++] = i;
  }
  *out = order, order = NULL;
done:
  lac_free(order);
  lac_free(seen);
  return status;
}

/// Arrays [count, n, k], column by column.
static lac_status cudss_solve_columns(lac_context *ctx, const cudss_job *job, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  int64_t items = job->f->items, n = b->meta.shape[1], k = b->meta.shape[2], rounds = b->meta.shape[0] / items;
  lac_array *right = NULL, *left = NULL;
  int64_t *order = NULL;

  LAC_TRY(cudss_order(ctx, job, b->meta.shape[0], &order));
  LAC_TRY(lac_array_create(ctx, b->meta.dtype, 3, (int64_t[]){items, n, 1}, &right));
  LAC_TRY(lac_array_create(ctx, b->meta.dtype, 3, (int64_t[]){items, n, 1}, &left));
  for (int64_t at = 0; at < rounds * k; at++) {
    int64_t round = at / k, column = at % k;
    for (int64_t i = 0; i < items; i++) LAC_TRY(cudss_move(ctx, b, order[i * rounds + round], column, right, i, 0));
    LAC_TRY(cudss_solve_items(ctx, job, right, left));
    for (int64_t i = 0; i < items; i++) LAC_TRY(cudss_move(ctx, left, i, 0, x, order[i * rounds + round], column));
  }
done:
  lac_free(order);
  lac_array_destroy(&right);
  lac_array_destroy(&left);
  return status;
}

/// x = op(A)^-1 b, op plain or transposed, without the unit.
static lac_status cudss_solve_plain(lac_context *ctx, const cudss_job *job, const lac_array *b, lac_array *x) {
  bool is_whole = b->meta.shape[2] == 1 && b->meta.shape[0] == job->f->items;
  for (int64_t i = 0; is_whole && job->batch && i < b->meta.shape[0]; i++)
    is_whole = lac_batch_item(job->batch, 0, i) == i;
  return is_whole ? cudss_solve_items(ctx, job, b, x) : cudss_solve_columns(ctx, job, b, x);
}

/// lac_measured_apply: arrays [count, n, k].
static lac_status cudss_apply_factor(lac_context *ctx, const void *self, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const cudss_job *job = self;
  double unit = cudss_of(job->f)->unit;
  bool conjugates = lac_form_conjugates(job->form) && lac_dtype_is_complex(b->meta.dtype);
  lac_array *turned = NULL;

  if (conjugates) {
    LAC_TRY(lac_array_make(ctx, &b->meta, &turned));
    LAC_TRY(ctx->kernels->conj(ctx, b, turned));
  }
  LAC_TRY(cudss_solve_plain(ctx, job, turned ? turned : b, x));
  if (conjugates) {
    LAC_TRY(ctx->kernels->conj(ctx, x, turned));
    LAC_TRY(ctx->backend->copy(ctx, turned, x));
  }
  if (unit != 1) LAC_TRY(ctx->kernels->scale(ctx, 1 / unit, 0, x, x));
done:
  lac_array_destroy(&turned);
  return status;
}

// -- what is certain -------------------------------------------------------------------------------------------------

/// The size relative to its row and column below which cuDSS enlarges a pivot. It bounds what grows: of a condition
/// beyond it nothing is seen.
static double cudss_enlarged(const lac_factor *f) { return lac_dtype_is_single(f->meta.dtype) ? 1e-5 : 1e-13; }

static bool cudss_is_settled(const lac_factor *f, double condition, double error) {
  return lac_measured_is_settled(f, condition, error, cudss_of(f)->finding.perturbed > 0 ? cudss_enlarged(f) : 0);
}

/// Solve op(A) x = b and measure. The lock is held.
static lac_status cudss_refine(lac_context *ctx, const lac_factor *f, lac_form form, const lac_batch *batch,
                               const lac_array *b, lac_array *x, lac_measured *out) {
  cudss_job job = {f, form, batch};
  lac_measured_system system = {.pattern = f->core->pattern,
                                .values = f->values,
                                .form = form,
                                .b = b,
                                .x = x,
                                .apply = cudss_apply_factor,
                                .self = &job};
  return lac_measured_solve(ctx, &system, out);
}

/// Solve for random numbers. The lock is held.
static lac_status cudss_probe(lac_context *ctx, const lac_factor *f, lac_measured *out) {
  cudss_job job = {f, LAC_PLAIN, NULL};
  return lac_measured_probe(ctx, f, cudss_apply_factor, &job, NULL, out);
}

lac_status lac_cudss_judge(lac_context *ctx, lac_factor *f, bool *is_good) {
  lac_status status = LAC_OK;
  cudss_factor *d = cudss_of(f);
  double smallest = 0, largest = 0;
  lac_measured probe = {0};

  *is_good = d->finding.info == 0;
  if (!*is_good) goto done;
  LAC_TRY(lac_cudss_session_pivots(ctx, d->session, &smallest, &largest));
  if (d->finding.perturbed == 0 && largest > 0 && smallest >= lac_measured_cause(f) * largest) goto done;
  LAC_TRY(cudss_probe(ctx, f, &probe));
  atomic_store(&d->condition, lac_measured_condition(f, &probe));
  *is_good =
      !lac_measured_is_bad(f, probe.error) && cudss_is_settled(f, lac_measured_condition(f, &probe), probe.error);
done:
  return status;
}

// -- solves ----------------------------------------------------------------------------------------------------------

/// Whether digits of a solution are certain; by a probe, where it gives cause. The lock is held.
static lac_status cudss_certify(lac_context *ctx, const lac_factor *f, const lac_measured *solved, bool *is_certain) {
  lac_status status = LAC_OK;
  cudss_factor *d = cudss_of(f);
  double known = atomic_load(&d->condition);
  lac_measured probe = {0};

  *is_certain = true;
  if (solved->growth <= lac_measured_growth(f)) goto done;
  if (known == 0) {
    LAC_TRY(cudss_probe(ctx, f, &probe));
    atomic_store(&d->condition, known = lac_measured_condition(f, &probe));
  }
  *is_certain = cudss_is_settled(f, fmax(known, solved->growth), solved->error);
done:
  return status;
}

/// On the device. *is_done: the solution is good, and certain where that is asked for.
static lac_status cudss_solve_here(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, bool *is_done) {
  lac_status status = LAC_OK;
  cudss_factor *d = cudss_of(f);
  cudss_core *c = cudss_core_of(f);
  lac_form form = lac_form_of(job->form, d->is_hermitian);
  lac_measured refined = {0};
  lac_array *b = NULL;

  *is_done = false;
  if (job->judged_from > 0 || atomic_load(&d->has_failed)) goto done;  // a part of x is judged on the host
  LAC_TRY(lac_batch_spread(ctx, job->batch, 1, job->b, &b));
  pthread_mutex_lock(&c->lock);
  status = cudss_refine(ctx, f, form, job->batch, b, job->x, &refined);
  *is_done = status == LAC_OK && !lac_measured_is_bad(f, refined.error);
  if (*is_done && job->judged_from == 0) status = cudss_certify(ctx, f, &refined, is_done);
  pthread_mutex_unlock(&c->lock);
  LAC_TRY(status);
done:
  lac_array_destroy(&b);
  return status;
}

lac_status lac_cudss_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, lac_solve_report *report) {
  lac_status status = LAC_OK;
  const lac_factor *partner = NULL;
  bool is_done = job->x->count == 0;

  *report = (lac_solve_report){.ending = LAC_ENDING_CONVERGED, .residual = LAC_UNMEASURED};
  snprintf(report->reason, sizeof report->reason, "solved by a direct factor");
  if (!is_done) LAC_TRY(cudss_solve_here(ctx, f, job, &is_done));
  if (is_done) goto done;
  LAC_TRY(lac_factor_partner(ctx, f, NULL, &partner));
  if (job->judged_from <= 0) atomic_store(&cudss_of(f)->has_failed, true);
  LAC_TRY(partner->table->solve(ctx, partner, job, report));
done:
  return status;
}
