// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_cycle.c
/// A V(1,1) cycle.
///
///     u = S b;  u += P A_next^-1 R (b - A u);  x = u + S (b - A u)
///
/// Its adjoint has A^H for A, S^H for S and the same P and R = P^H. With a Hermitian A the smoother may be a polynomial of degree 2 in S A.

#include <math.h>

#include "solvers/precondition/multigrid/smoothed/smoothed.h"

/// One run of the cycle: for one matrix, k columns.
typedef struct cycle_run {
  const smoothed_part *part;
  int64_t item, k;
  bool adjoint;
  lac_sparse a[LAC_LEVELS];  // of A, or of A^H
  char *b[LAC_LEVELS], *x[LAC_LEVELS], *u[LAC_LEVELS], *v[LAC_LEVELS];
} cycle_run;

/// Steps of a smoother: x + first S r, then x + beta (x - old) + second S r.
typedef struct cycle_smoother {
  double first, second, beta;
} cycle_smoother;

static const double CYCLE_SPREAD = 4;  // the smoother works on the eigenvalues above rho over this

/// The Chebyshev polynomial of degree 2 for [rho / spread, rho].
static cycle_smoother cycle_chebyshev(double rho) {
  double low = rho / CYCLE_SPREAD, middle = (rho + low) / 2, half = (rho - low) / 2;
  double ratio = 1 / (2 * middle / half - half / middle);
  return (cycle_smoother){1 / middle, 2 * ratio / half, ratio * half / middle};
}

static const void *cycle_values(const cycle_run *run, int l) {
  return (const char *)run->part->level[l].values +
         (size_t)(run->item * run->part->shape->level[l].a.nnz) * lac_dtype_size(run->part->dtype);
}

static lac_status cycle_step(lac_context *ctx, const cycle_run *run, int l, lac_sweep step, void *out) {
  const smoothed_part *part = run->part;
  const char *s = part->level[l].s;
  step.b = run->b[l];
  step.conjugates = run->adjoint;
  if (step.s) step.s = s + (size_t)(run->item * run->a[l].rows) * lac_dtype_size(part->dtype);
  return ctx->kernels->smoothed->step(ctx, part->dtype, &run->a[l], cycle_values(run, l), run->k, &step, out);
}

/// out = u smoothed; u NULL: zero. v is for what is between.
static lac_status cycle_smooth(lac_context *ctx, const cycle_run *run, int l, const void *u, void *v, void *out) {
  lac_status status = LAC_OK;
  const smoothed_numbers *level = &run->part->level[l];
  double omega = level->omega[run->item];
  cycle_smoother c;

  if (run->part->degree == 1) {
    return cycle_step(ctx, run, l, (lac_sweep){.x = u, .s = level->s, .omega = omega}, out);
  }
  c = cycle_chebyshev(omega > 0 ? omega : 1);
  LAC_TRY(cycle_step(ctx, run, l, (lac_sweep){.x = u, .s = level->s, .omega = c.first}, v));
  LAC_TRY(
      cycle_step(ctx, run, l, (lac_sweep){.x = v, .old = u, .s = level->s, .omega = c.second, .beta = c.beta}, out));
done:
  return status;
}

/// x = A^-1 b on the last level: directly, or smoothed twice.
static lac_status cycle_last(lac_context *ctx, const cycle_run *run, int l) {
  lac_status status = LAC_OK;

  if (run->part->coarse) {
    LAC_TRY(lac_coarse_solve(ctx, run->part->coarse, run->item, run->adjoint, run->k, run->b[l], run->x[l]));
    goto done;
  }
  LAC_TRY(cycle_smooth(ctx, run, l, NULL, run->v[l], run->u[l]));
  LAC_TRY(cycle_smooth(ctx, run, l, run->u[l], run->v[l], run->x[l]));
done:
  return status;
}

static lac_status cycle_down(lac_context *ctx, const cycle_run *run, int l) {
  lac_status status = LAC_OK;
  const smoothed_part *part = run->part;
  const smoothed_structure *structure = &part->shape->level[l];
  size_t numbers = (size_t)(run->item * structure->p.nnz) * lac_dtype_size(part->dtype);

  LAC_TRY(cycle_smooth(ctx, run, l, NULL, run->v[l], run->u[l]));
  LAC_TRY(cycle_step(ctx, run, l, (lac_sweep){.x = run->u[l], .omega = 1, .bare = true}, run->v[l]));
  LAC_TRY(ctx->kernels->smoothed->multiply(ctx, part->dtype, &structure->r,
                                           (const char *)part->level[l].r_values + numbers, run->k, false, run->v[l],
                                           run->b[l + 1]));
done:
  return status;
}

static lac_status cycle_up(lac_context *ctx, const cycle_run *run, int l) {
  lac_status status = LAC_OK;
  const smoothed_part *part = run->part;
  const smoothed_structure *structure = &part->shape->level[l];
  size_t numbers = (size_t)(run->item * structure->p.nnz) * lac_dtype_size(part->dtype);

  LAC_TRY(ctx->kernels->smoothed->multiply(ctx, part->dtype, &structure->p,
                                           (const char *)part->level[l].p_values + numbers, run->k, true, run->x[l + 1],
                                           run->u[l]));
  LAC_TRY(cycle_smooth(ctx, run, l, run->u[l], run->v[l], run->x[l]));
done:
  return status;
}

static lac_status cycle_run_all(lac_context *ctx, const cycle_run *run) {
  lac_status status = LAC_OK;
  int last = run->part->shape->levels - 1;

  for (int l = 0; l < last; ++l) LAC_TRY(cycle_down(ctx, run, l));
  LAC_TRY(cycle_last(ctx, run, last));
  for (int l = last - 1; l >= 0; --l) LAC_TRY(cycle_up(ctx, run, l));
done:
  return status;
}

// -- vectors ---------------------------------------------------------------------------------------------------------

/// Four vectors for each level; the block is the caller's to free.
static lac_status cycle_open(lac_context *ctx, const smoothed_part *part, int64_t k, bool adjoint, cycle_run *run,
                             char **block) {
  lac_status status = LAC_OK;
  size_t size = lac_dtype_size(part->dtype), total = 0;
  char *at;

  *run = (cycle_run){.part = part, .k = k, .adjoint = adjoint};
  for (int l = 0; l < part->shape->levels; ++l) {
    total += 4 * (((size_t)(part->shape->level[l].a.rows * k) * size + 63) / 64 * 64);
    run->a[l] = part->shape->level[l].a;
    if (adjoint) {
      lac_rows rows;
      LAC_TRY(lac_pattern_walk(ctx, part->shape->level[l].pattern, true, &rows));
      LAC_TRY(lac_rows_host(ctx, &rows));
      run->a[l].offsets = rows.offsets->host, run->a[l].columns = rows.columns->host;
      run->a[l].slots = rows.slots ? rows.slots->host : NULL;
    }
  }
  *block = at = lac_alloc(total);
  LAC_CHECK(at, LAC_ERR_MEMORY, "out of memory: %zu bytes for the vectors of a cycle", total);
  for (int l = 0; l < part->shape->levels; ++l) {
    size_t bytes = ((size_t)(part->shape->level[l].a.rows * k) * size + 63) / 64 * 64;
    run->b[l] = at, run->x[l] = at + bytes, run->u[l] = at + 2 * bytes, run->v[l] = at + 3 * bytes;
    at += 4 * bytes;
  }
done:
  return status;
}

/// The cycle between vectors of the wider dtype. `factor` has room for k numbers.
static lac_status cycle_between(lac_context *ctx, cycle_run *run, const void *b, void *x, double *factor) {
  lac_status status = LAC_OK;
  const smoothed_part *part = run->part;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  int64_t n = run->a[0].rows;

  LAC_TRY(kernels->largest(ctx, part->outer, n, run->k, b, factor));
  for (int64_t j = 0; j < run->k; ++j) factor[j] = smoothed_factor(factor[j]);
  LAC_TRY(kernels->narrow(ctx, part->dtype, n, run->k, factor, b, run->b[0]));
  LAC_TRY(cycle_run_all(ctx, run));
  for (int64_t j = 0; j < run->k; ++j) factor[j] = part->factor[run->item] / factor[j];
  LAC_TRY(kernels->widen(ctx, part->dtype, n, run->k, factor, run->x[0], x));
done:
  return status;
}

static lac_status cycle_apply(lac_context *ctx, const smoothed_part *part, bool adjoint, const lac_array *b,
                              lac_array *x) {
  lac_status status = LAC_OK;
  int64_t n = part->shape->level[0].a.rows, k = x->meta.shape[x->meta.ndim - 1];
  size_t item = (size_t)(n * k) * lac_dtype_size(part->outer);
  cycle_run run;
  char *block = NULL;
  double *factor = NULL;

  if (x->count == 0) goto done;
  LAC_ALLOC(factor, k);
  LAC_TRY(cycle_open(ctx, part, k, adjoint, &run, &block));
  for (int64_t i = 0; i < part->items; ++i) {
    char *from = (char *)b->storage->data + (size_t)i * item, *to = (char *)x->storage->data + (size_t)i * item;
    run.item = i;
    if (part->dtype != part->outer) {
      LAC_TRY(cycle_between(ctx, &run, from, to, factor));
    } else {
      run.b[0] = from, run.x[0] = to;
      LAC_TRY(cycle_run_all(ctx, &run));
    }
  }
done:
  lac_free(block);
  lac_free(factor);
  return status;
}

lac_status smoothed_apply(lac_context *ctx, const void *self, lac_side side, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const smoothed_part *part = self;
  bool turns = lac_side_transposes(side), conjugates = lac_side_conjugates(side);
  lac_array *turned = NULL;

  if (lac_dtype_is_complex(part->outer) && turns != conjugates) {  // M^-T b = conj(M^-H conj b)
    LAC_TRY(lac_array_make(ctx, &b->meta, &turned));
    LAC_TRY(ctx->kernels->conj(ctx, b, turned));
    LAC_TRY(cycle_apply(ctx, part, turns && !part->is_hermitian, turned, x));
    LAC_TRY(ctx->kernels->conj(ctx, x, x));
    goto done;
  }
  LAC_TRY(cycle_apply(ctx, part, turns && !part->is_hermitian, b, x));
done:
  lac_array_destroy(&turned);
  return status;
}
