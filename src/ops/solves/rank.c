// SPDX-License-Identifier: Apache-2.0
/// @file rank.c
/// Whether the matrix of a least-squares system has full rank to working precision.
///
///     K = [alpha I, A; A^H, -delta^2 / alpha I]       K^-1 [0; v] = [.; y],   y = -alpha (A^H A + delta^2)^-1 v
///     sigma^2 = |A y|^2 + |delta y|^2                 for y of length 1; K [0; y] = [A y; -delta^2 / alpha y]
///
/// (or the other way round, where A is wide.) Each solve turns y towards the vector of the smallest singular value, of
/// which sigma is never less; it is measured and not concluded from pivots, since those of a singular system are
/// rounding errors times anything. The lines of A are near 1 in size. Where y is not much longer than v the matter is
/// settled at once: the usual case costs one solve. Else the unknowns of every solution are judged, for how much the
/// residual takes from them depends on b.

#include <math.h>

#include "core/number_at.h"
#include "core/numbers/random.h"
#include "ops/solves/factored.h"

// A singular value of so many roundings is zero; so many solves look for it.
enum { RANK_ROUNDINGS = 64, RANK_SOLVES = 3, RANK_SEED = 1 };

typedef struct rank_look {
  const lac_attrs *attrs;
  const lac_factor *factor;
  int64_t rows, parts;  // of a vector; real numbers in a number
  lac_array *y, *z;     // vectors for each of the batch
  double *at_y, *at_z;  // their real numbers on the host
  double *numbers;      // room for those of one of them in their own dtype
} rank_look;

static bool rank_is_asked(const lac_attrs *attrs) { return attrs->i[SOLVE_RANK] == 1; }

lac_status lac_rank_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  int64_t rows = lac_factored_pattern(c->object)->rows, begin = c->attrs->i[SOLVE_BEGIN], end = c->attrs->i[SOLVE_END];

  LAC_CHECK(c->attrs->i[SOLVE_RANK] == 0 || (rank_is_asked(c->attrs) && 0 <= begin && begin <= end && end <= rows),
            LAC_ERR_ARG, "%s: i[1] is 0, or 1 with rows i[2] = %lld to i[3] = %lld within 0..%lld", c->op->name,
            (long long)begin, (long long)end, (long long)rows);
done:
  return status;
}

static lac_status rank_refuse(lac_context *ctx) {
  return lac_context_fail(
      ctx, LAC_ERR_SINGULAR, __func__,
      "lstsq: the matrix has not full rank to working precision, so that no solution is the least-squares one; give "
      "(more) damp, or take out what depends on the rest");
}

/// Where a direct factor does not arrive the matrix is at fault; an iteration has its own words.
lac_status lac_rank_judge(lac_context *ctx, const lac_attrs *attrs, const lac_solver_core *core, lac_status given) {
  bool is_direct = !(core->table->flags & LAC_ITERATES);
  bool is_lost = given == LAC_ERR_SINGULAR || (is_direct && given == LAC_ERR_CONVERGENCE);
  return is_lost && rank_is_asked(attrs) ? rank_refuse(ctx) : given;
}

// -- vectors of real numbers, on the host ----------------------------------------------------------------------------

/// The numbers [*begin, *end) of the shorter side, and where the matrix `item` has its first and last.
static void rank_side(const rank_look *l, int64_t item, int64_t *first, int64_t *begin, int64_t *end, int64_t *last) {
  *first = item * l->rows * l->parts;
  *begin = *first + l->attrs->i[SOLVE_BEGIN] * l->parts;
  *end = *first + l->attrs->i[SOLVE_END] * l->parts;
  *last = *first + l->rows * l->parts;
}

/// Numbers of one size and of signs without order on the shorter side, zeros on the longer.
static void rank_start(rank_look *l) {
  for (int64_t item = 0; item < l->factor->items; item++) {
    int64_t first, begin, end, last;
    rank_side(l, item, &first, &begin, &end, &last);
    for (int64_t i = first; i < last; i++) {
      l->at_y[i] = i < begin || i >= end ? 0 : lac_random_sign(RANK_SEED, (uint64_t)i);
    }
  }
}

/// y = the shorter side of z, of length 1. Returns how much longer than y it was, at most over the batch.
static double rank_normalise(rank_look *l) {
  double longest = 0;
  for (int64_t item = 0; item < l->factor->items; item++) {
    int64_t first, begin, end, last;
    double before = 0, after = 0;
    rank_side(l, item, &first, &begin, &end, &last);
    for (int64_t i = begin; i < end; i++) before += pow(l->at_y[i], 2), after += pow(l->at_z[i], 2);
    for (int64_t i = begin; i < end; i++) l->at_y[i] = l->at_z[i] / sqrt(after);
    longest = fmax(longest, sqrt(after / before));
  }
  return longest;
}

/// The smallest sigma of the batch, from z = K y.
static double rank_sigma(const rank_look *l) {
  double smallest = INFINITY;
  for (int64_t item = 0; item < l->factor->items; item++) {
    int64_t first, begin, end, last;
    double square = 0;
    rank_side(l, item, &first, &begin, &end, &last);
    for (int64_t i = first; i < last; i++) {
      double z = l->at_z[i];
      square += i < begin || i >= end ? z * z : l->attrs->f[SOLVE_ALPHA] * fabs(z * l->at_y[i]);
    }
    smallest = fmin(smallest, sqrt(square));
  }
  return smallest;
}

// -- the look --------------------------------------------------------------------------------------------------------

static lac_status rank_open(lac_context *ctx, rank_look *l) {
  lac_status status = LAC_OK;
  lac_meta meta = l->factor->meta;

  l->rows = lac_factor_rows(l->factor);
  l->parts = lac_dtype_parts(meta.dtype);
  meta.shape[meta.ndim - 1] = l->rows;
  meta.shape[meta.ndim++] = 1;
  LAC_TRY(lac_array_make(ctx, &meta, &l->y));
  LAC_TRY(lac_array_make(ctx, &meta, &l->z));
  LAC_ALLOC(l->at_y, l->y->count * l->parts);
  LAC_ALLOC(l->at_z, l->y->count * l->parts);
  LAC_ALLOC(l->numbers, l->y->count * l->parts);
done:
  return status;
}

/// The real numbers of y go to its array; those of z come from its own.
static lac_status rank_write(lac_context *ctx, rank_look *l) {
  lac_dtype real = lac_dtype_real(l->factor->meta.dtype);
  for (int64_t i = 0; i < l->y->count * l->parts; i++) lac_number_put(real, l->numbers, i, l->at_y[i]);
  return lac_array_write(ctx, l->y, l->numbers);
}

static lac_status rank_read(lac_context *ctx, rank_look *l) {
  lac_status status = LAC_OK;
  lac_dtype real = lac_dtype_real(l->factor->meta.dtype);

  LAC_TRY(lac_array_fetch(ctx, l->z, l->numbers));
  for (int64_t i = 0; i < l->z->count * l->parts; i++) l->at_z[i] = creal(lac_number_get(real, l->numbers, i));
done:
  return status;
}

/// One solve, and what it shows.
static lac_status rank_step(lac_context *ctx, rank_look *l, const lac_array *values, bool *is_settled) {
  lac_status status = LAC_OK, solved = LAC_OK;
  double rounding = lac_dtype_epsilon(l->factor->meta.dtype);

  LAC_TRY(rank_write(ctx, l));
  solved = lac_factor_solve_job(ctx, l->factor, (lac_solve_job){.b = l->y, .x = l->z, .judged_from = LAC_UNJUDGED});
  LAC_TRY(solved == LAC_ERR_NONFINITE ? rank_refuse(ctx) : lac_rank_judge(ctx, l->attrs, l->factor->core, solved));
  LAC_TRY(rank_read(ctx, l));
  *is_settled = rank_normalise(l) < l->attrs->f[SOLVE_ALPHA] / (RANK_ROUNDINGS * RANK_ROUNDINGS * rounding);
  if (*is_settled) goto done;
  LAC_TRY(rank_write(ctx, l));
  LAC_TRY(ctx->kernels->spmm(ctx, l->factor->core->pattern, LAC_PLAIN, values, l->y, l->z));
  LAC_TRY(rank_read(ctx, l));
  if (!(rank_sigma(l) > RANK_ROUNDINGS * rounding)) LAC_TRY(rank_refuse(ctx));
done:
  return status;
}

/// The first row of the unknowns: they are the shorter side, or behind it.
static int64_t rank_unknowns(const lac_attrs *attrs) {
  return attrs->i[SOLVE_BEGIN] > 0 ? attrs->i[SOLVE_BEGIN] : attrs->i[SOLVE_END];
}

lac_status lac_rank_check(lac_context *ctx, const lac_attrs *attrs, const lac_factor *factor, const lac_array *values,
                          int64_t *judged_from) {
  lac_status status = LAC_OK;
  rank_look look = {.attrs = attrs, .factor = factor};
  bool is_settled = false;

  if (!rank_is_asked(attrs) || factor->items == 0 || attrs->i[SOLVE_BEGIN] == attrs->i[SOLVE_END]) return LAC_OK;
  *judged_from = atomic_load(&factor->judged_from);
  if (*judged_from != 0) return LAC_OK;
  LAC_TRY(rank_open(ctx, &look));
  rank_start(&look);
  for (int solve = 0; solve < RANK_SOLVES && !is_settled; solve++) {
    LAC_TRY(rank_step(ctx, &look, values, &is_settled));
  }
  *judged_from = is_settled ? LAC_UNJUDGED : rank_unknowns(attrs);
  // Of these values, and of the shape of their system.
  atomic_store(&((lac_factor *)factor)->judged_from, *judged_from);
done:
  lac_array_destroy(&look.y);
  lac_array_destroy(&look.z);
  lac_free(look.at_y);
  lac_free(look.at_z);
  lac_free(look.numbers);
  return status;
}
