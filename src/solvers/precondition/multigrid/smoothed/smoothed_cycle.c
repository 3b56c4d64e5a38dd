// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_cycle.c
/// A V(1,1) cycle.
///
///     u = S b;  u += P A_next^-1 R (b - A u);  x = u + S (b - A u)
///
/// Its adjoint has A^H for A, S^H for S and the same P and R = P^H. With a Hermitian A the smoother may be a polynomial
/// of degree 2 in S A.

#include <math.h>

#include "solvers/precondition/multigrid/smoothed/smoothed.h"

/// One run of the cycle: for one matrix, k columns.
typedef struct cycle_run {
  const smoothed_part *part;
  int64_t item, k;
  bool adjoint;
  lac_rows a[LAC_LEVELS];                              // of A, or of A^H
  smoothed_numbers level[LAC_LEVELS];                  // of this matrix
  lac_array *b[LAC_LEVELS], *x[LAC_LEVELS];            // [n, k]
  lac_array *u[LAC_LEVELS], *v[LAC_LEVELS], *factors;  // factors: [k], f64
} cycle_run;

/// Steps of a smoother: x + first S r, then x + beta (x - old) + second S r.
typedef struct cycle_smoother {
  double first, second, beta;
} cycle_smoother;

// The smoother works on the eigenvalues above rho over this. Coarse levels of systems hold less: blocks have more to
// do.
static const double CYCLE_SPREAD = 4, CYCLE_BLOCK_SPREAD = 8;

/// The Chebyshev polynomial of degree 2 for [rho / spread, rho].
static cycle_smoother cycle_chebyshev(double rho, double spread) {
  double low = rho / spread, middle = (rho + low) / 2, half = (rho - low) / 2;
  double ratio = 1 / (2 * middle / half - half / middle);
  return (cycle_smoother){1 / middle, 2 * ratio / half, ratio * half / middle};
}

static lac_status cycle_step(lac_context *ctx, const cycle_run *run, int l, lac_sweep step, lac_array *out) {
  step.b = run->b[l];
  step.conjugates = run->adjoint;
  return ctx->kernels->smoothed->step(ctx, &run->a[l], run->level[l].values, &step, out);
}

/// out = u smoothed; u NULL: zero. v is for what is between.
static lac_status cycle_smooth(lac_context *ctx, const cycle_run *run, int l, const lac_array *u, lac_array *v,
                               lac_array *out) {
  lac_status status = LAC_OK;
  const smoothed_numbers *level = &run->level[l];
  double omega = level->omega[run->item];
  cycle_smoother c;

  if (run->part->degree == 1) {
    return cycle_step(ctx, run, l, (lac_sweep){.x = u, .s = level->s, .omega = omega}, out);
  }
  c = cycle_chebyshev(omega > 0 ? omega : 1, run->part->shape->has_blocks ? CYCLE_BLOCK_SPREAD : CYCLE_SPREAD);
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
    LAC_TRY(lac_coarse_solve(ctx, run->part->coarse, run->item, run->adjoint, run->b[l], run->x[l]));
    goto done;
  }
  LAC_TRY(cycle_smooth(ctx, run, l, NULL, run->v[l], run->u[l]));
  LAC_TRY(cycle_smooth(ctx, run, l, run->u[l], run->v[l], run->x[l]));
done:
  return status;
}

static lac_status cycle_down(lac_context *ctx, const cycle_run *run, int l) {
  lac_status status = LAC_OK;
  const lac_rows *r = &run->part->shape->level[l].r;

  LAC_TRY(cycle_smooth(ctx, run, l, NULL, run->v[l], run->u[l]));
  LAC_TRY(cycle_step(ctx, run, l, (lac_sweep){.x = run->u[l], .omega = 1, .bare = true}, run->v[l]));
  LAC_TRY(ctx->kernels->smoothed->multiply(ctx, r, run->level[l].r_values, false, run->v[l], run->b[l + 1]));
done:
  return status;
}

static lac_status cycle_up(lac_context *ctx, const cycle_run *run, int l) {
  lac_status status = LAC_OK;
  const lac_rows *p = &run->part->shape->level[l].p;

  LAC_TRY(ctx->kernels->smoothed->multiply(ctx, p, run->level[l].p_values, true, run->x[l + 1], run->u[l]));
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

static void cycle_close(cycle_run *run) {
  for (int l = 0; l < LAC_LEVELS; ++l) {
    lac_array_destroy(&run->b[l]), lac_array_destroy(&run->x[l]);
    lac_array_destroy(&run->u[l]), lac_array_destroy(&run->v[l]);
  }
  lac_array_destroy(&run->factors);
}

/// Walks of all levels, and four vectors for each. Those of the finest that are the caller's are put in for each
/// matrix.
static lac_status cycle_open(lac_context *ctx, const smoothed_part *part, int64_t k, bool adjoint, cycle_run *run) {
  lac_status status = LAC_OK;

  *run = (cycle_run){.part = part, .k = k, .adjoint = adjoint};
  for (int l = 0; l < part->shape->levels; ++l) {
    const smoothed_structure *level = &part->shape->level[l];
    lac_array **vectors[] = {&run->b[l], &run->x[l], &run->u[l], &run->v[l]};
    run->a[l] = level->a;
    if (adjoint) LAC_TRY(lac_pattern_walk(ctx, level->pattern, true, &run->a[l]));
    for (int v = l == 0 && part->dtype == part->outer ? 2 : 0; v < 4; ++v)
      LAC_TRY(lac_array_create(ctx, part->dtype, 2, (const int64_t[]){smoothed_rows(level), k}, vectors[v]));
  }
  LAC_TRY(lac_array_create(ctx, LAC_F64, 1, &k, &run->factors));
done:
  return status;
}

static void cycle_part(cycle_run *run) {
  for (int l = 0; l < LAC_LEVELS; ++l) {
    smoothed_numbers *level = &run->level[l];
    lac_array_destroy(&level->values), lac_array_destroy(&level->s);
    lac_array_destroy(&level->p_values), lac_array_destroy(&level->r_values);
  }
}

/// Take the numbers of one matrix.
static lac_status cycle_take(lac_context *ctx, cycle_run *run, int64_t item) {
  lac_status status = LAC_OK;
  const smoothed_part *part = run->part;

  run->item = item;
  for (int l = 0; l < part->shape->levels; ++l) {
    const smoothed_numbers *from = &part->level[l];
    smoothed_numbers *to = &run->level[l];
    to->omega = from->omega;
    LAC_TRY(smoothed_item(ctx, from->values, part->items, item, &to->values));
    if (from->s) LAC_TRY(smoothed_item(ctx, from->s, part->items, item, &to->s));
    if (from->p_values) LAC_TRY(smoothed_item(ctx, from->p_values, part->items, item, &to->p_values));
    if (from->r_values) LAC_TRY(smoothed_item(ctx, from->r_values, part->items, item, &to->r_values));
  }
done:
  return status;
}

/// The cycle between vectors of the wider dtype. `factor` has room for k numbers.
static lac_status cycle_between(lac_context *ctx, cycle_run *run, const lac_array *b, lac_array *x, double *factor) {
  lac_status status = LAC_OK;
  const smoothed_part *part = run->part;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;

  LAC_TRY(kernels->largest(ctx, b, run->factors));
  LAC_TRY(lac_array_fetch(ctx, run->factors, factor));
  for (int64_t j = 0; j < run->k; ++j) factor[j] = lac_smoothed_factor(factor[j]);
  LAC_TRY(lac_array_write(ctx, run->factors, factor));
  LAC_TRY(kernels->narrow(ctx, run->factors, b, run->b[0]));
  LAC_TRY(cycle_run_all(ctx, run));
  for (int64_t j = 0; j < run->k; ++j) factor[j] = part->factor[run->item] / factor[j];
  LAC_TRY(lac_array_write(ctx, run->factors, factor));
  LAC_TRY(kernels->widen(ctx, run->factors, run->x[0], x));
done:
  return status;
}

/// One matrix, and its part of b and x.
static lac_status cycle_item(lac_context *ctx, cycle_run *run, int64_t item, const lac_array *b, lac_array *x,
                             double *factor) {
  lac_status status = LAC_OK;
  const smoothed_part *part = run->part;
  lac_array *from = NULL, *to = NULL;

  LAC_TRY(cycle_take(ctx, run, item));
  LAC_TRY(smoothed_item(ctx, b, part->items, item, &from));
  LAC_TRY(smoothed_item(ctx, x, part->items, item, &to));
  if (part->dtype != part->outer) {
    LAC_TRY(cycle_between(ctx, run, from, to, factor));
  } else {
    run->b[0] = from, run->x[0] = to;
    status = cycle_run_all(ctx, run);
    run->b[0] = run->x[0] = NULL;
    LAC_TRY(status);
  }
done:
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  cycle_part(run);
  return status;
}

static lac_status cycle_apply(lac_context *ctx, const smoothed_part *part, bool adjoint, const lac_array *b,
                              lac_array *x) {
  lac_status status = LAC_OK;
  int64_t k = x->meta.shape[x->meta.ndim - 1];
  cycle_run run = {0};
  double *factor = NULL;

  if (x->count == 0) goto done;
  LAC_ALLOC(factor, k);
  LAC_TRY(cycle_open(ctx, part, k, adjoint, &run));
  for (int64_t i = 0; i < part->items; ++i) LAC_TRY(cycle_item(ctx, &run, i, b, x, factor));
done:
  cycle_close(&run);
  lac_free(factor);
  return status;
}

/// x = op(M)^-1 b for vectors of all places.
static lac_status apply_whole(lac_context *ctx, const smoothed_part *part, lac_form form, const lac_array *b,
                              lac_array *x) {
  lac_status status = LAC_OK;
  bool turns = lac_form_transposes(form), conjugates = lac_form_conjugates(form);
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

lac_status smoothed_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const smoothed_part *part = self;
  const smoothed_places *places = &part->shape->places;
  lac_array *from = NULL, *to = NULL;

  if (!places->rows) return apply_whole(ctx, part, form, b, x);
  LAC_TRY(smoothed_places_put(ctx, places, b, &from));
  LAC_TRY(lac_array_make(ctx, &from->meta, &to));
  LAC_TRY(apply_whole(ctx, part, form, from, to));
  LAC_TRY(smoothed_places_take(ctx, places, to, x));
done:
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  return status;
}
