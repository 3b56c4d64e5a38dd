// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_numbers.c
/// The numbers of a level whose structure is known: smoother, interpolation, and the matrix of the next level.
///
///     P = (I - omega F A') T,  R = P^H,  A_next = R A P,  omega = 4/3 / rho(F A')
///
/// A' is A with its weak entries on the diagonal, F its inverted diagonal.

#include <math.h>

#include "core/numbers/random.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"

enum { POWER_STEPS = 8, POWER_SEED = 1 };
static const double NUMBERS_TIGHT = 2.1;    // a bound of rho that needs no better one
static const double NUMBERS_SAFETY = 1.15;  // for what the power method has not found yet
// A diagonal smoother I - omega S A: S A has eigenvalues near 1, unless rho is near 2; then omega rho is 1.8, safely
// below 2.
static const double NUMBERS_NEAR_TWO = 1.9, NUMBERS_DAMPED = 1.8;

lac_status smoothed_take(lac_context *ctx, smoothed_part *part, int64_t count, int64_t rows, int64_t cols,
                         lac_array **out) {
  lac_status status = LAC_OK;
  const int64_t shape[] = {part->items, count, rows, cols};
  LAC_TRY(lac_array_create(ctx, part->dtype, part->shape->has_blocks ? 4 : 2, shape, out));
  part->bytes += (*out)->count * (int64_t)lac_dtype_size(part->dtype);
done:
  return status;
}

lac_status smoothed_item(lac_context *ctx, const lac_array *array, int64_t items, int64_t item, lac_array **out) {
  lac_status status = LAC_OK;
  lac_meta meta = {.dtype = array->meta.dtype, .ndim = array->meta.ndim - 1};
  size_t bytes = 0;

  if (items == 1) {
    *out = lac_array_retain(array);
    goto done;
  }
  for (int d = 0; d < meta.ndim; ++d) meta.shape[d] = array->meta.shape[d + 1];
  bytes = (size_t)(array->count / items) * lac_dtype_size(meta.dtype);
  LAC_TRY(lac_array_wrap(ctx, &meta, (char *)array->storage->data + (size_t)item * bytes, out));
done:
  return status;
}

/// Read what a kernel found: the one place at which a set-up waits for its backend.
lac_status smoothed_found_read(lac_context *ctx, lac_array *found, double numbers[2]) {
  return lac_array_fetch(ctx, found, numbers);
}

lac_status smoothed_found_create(lac_context *ctx, lac_array **out) {
  return lac_array_create(ctx, LAC_F64, 1, (const int64_t[]){2}, out);
}

/// One matrix in the hierarchy's precision.
static lac_status finest_narrow(lac_context *ctx, smoothed_part *part, int64_t item, const lac_array *from,
                                lac_array *to) {
  lac_status status = LAC_OK;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  lac_array *factor = NULL;

  LAC_TRY(lac_array_create(ctx, LAC_F64, 1, (const int64_t[]){1}, &factor));
  LAC_TRY(kernels->largest(ctx, from, factor));
  LAC_TRY(lac_array_fetch(ctx, factor, &part->factor[item]));
  part->factor[item] = lac_smoothed_factor(part->factor[item]);
  LAC_TRY(lac_array_write(ctx, factor, &part->factor[item]));
  LAC_TRY(kernels->narrow(ctx, factor, from, to));
done:
  lac_array_destroy(&factor);
  return status;
}

/// One matrix of the finest level: entries, or gathered into blocks.
static lac_status finest_matrix(lac_context *ctx, const lac_setup *setup, smoothed_part *part, int64_t item) {
  lac_status status = LAC_OK;
  const smoothed_structure *level = &part->shape->level[0];
  lac_rows entries = smoothed_walk(setup->pattern);
  lac_array *from = NULL, *to = NULL, *narrow = NULL;

  LAC_TRY(smoothed_item(ctx, setup->values, part->items, item, &from));
  LAC_TRY(smoothed_item(ctx, part->level[0].values, part->items, item, &to));
  if (part->dtype != part->outer) {
    if (level->size > 1) LAC_TRY(lac_array_create(ctx, part->dtype, 1, &setup->pattern->nnz, &narrow));
    LAC_TRY(finest_narrow(ctx, part, item, from, narrow ? narrow : to));
  }
  if (level->size > 1) LAC_TRY(ctx->kernels->smoothed->blocks(ctx, &entries, narrow ? narrow : from, &level->a, to));
done:
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  lac_array_destroy(&narrow);
  return status;
}

/// The values of the finest level: the caller's own, or in the hierarchy's precision and blocks.
lac_status smoothed_finest(lac_context *ctx, const lac_setup *setup, smoothed_part *part) {
  lac_status status = LAC_OK;
  const smoothed_structure *level = &part->shape->level[0];
  const int64_t shape[] = {part->items, setup->pattern->nnz, 1, 1};
  lac_array **values = &part->level[0].values;

  LAC_ALLOC(part->factor, part->items);
  for (int64_t item = 0; item < part->items; ++item) part->factor[item] = 1;
  if (part->dtype == part->outer && level->size == 1) {
    LAC_TRY(lac_array_reshape(ctx, (lac_array *)setup->values, part->shape->has_blocks ? 4 : 2, shape, values));
    goto done;
  }
  LAC_TRY(smoothed_take(ctx, part, smoothed_nnz(&level->a), level->size, level->size, values));
  for (int64_t item = 0; item < part->items; ++item) LAC_TRY(finest_matrix(ctx, setup, part, item));
done:
  return status;
}

/// Numbers of no order, the same in every run.
static lac_status matrix_random(lac_context *ctx, lac_dtype dtype, int64_t count, lac_array **out) {
  lac_status status = LAC_OK;
  int64_t reals = lac_dtype_is_complex(dtype) ? 2 * count : count;
  void *numbers = lac_alloc((size_t)count * lac_dtype_size(dtype));

  LAC_CHECK(numbers, LAC_ERR_MEMORY, "out of memory: a vector of %lld numbers", (long long)count);
  lac_random_fill(POWER_SEED, lac_dtype_real(dtype) == LAC_F64, reals, numbers);
  LAC_TRY(lac_array_from(ctx, dtype, 1, &count, numbers, LAC_OWNERSHIP_COPY, out));
done:
  lac_free(numbers);
  return status;
}

/// rho(S A), or of F A' with kinds: a bound that is tight enough, or what a few power steps find.
static lac_status matrix_rho(lac_context *ctx, const smoothed_matrix *m, const lac_buffer *kinds, const lac_array *s,
                             double bound, double *rho) {
  lac_status status = LAC_OK;
  const lac_rows *a = &m->structure->a;
  int64_t n = smoothed_rows(m->structure);
  lac_dtype dtype = m->values->meta.dtype;
  lac_array *x = NULL, *y = NULL, *swap;
  double found[2] = {0, 0}, before = 1;

  *rho = bound;
  if (!(bound > NUMBERS_TIGHT)) goto done;
  LAC_TRY(matrix_random(ctx, dtype, n, &x));
  LAC_TRY(lac_array_create(ctx, dtype, 1, &n, &y));
  for (int step = 0; step < POWER_STEPS; ++step) {
    before = step ? found[0] : 1;
    if (!(before > 0)) break;
    LAC_TRY(ctx->kernels->smoothed->power_step(ctx, a, m->values, kinds, s, 1 / before, x, y, m->found));
    LAC_TRY(smoothed_found_read(ctx, m->found, found));
    swap = x, x = y, y = swap;
  }
  if (isfinite(found[0]) && found[0] > 0) *rho = fmin(bound, NUMBERS_SAFETY * found[0]);
done:
  lac_array_destroy(&x);
  lac_array_destroy(&y);
  return status;
}

/// Smoother and interpolation of one matrix.
static lac_status matrix_fill(lac_context *ctx, const smoothed_part *part, const smoothed_matrix *m, double *omega) {
  lac_status status = LAC_OK;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  const smoothed_structure *structure = m->structure;
  lac_smoother smoother = part->degree > 1 ? LAC_SMOOTHER_JACOBI : LAC_SMOOTHER_SPAI;
  double bounds[2], rho = 0;

  LAC_TRY(kernels->diagonals(ctx, &structure->a, m->values, structure->kinds, smoother, m->s, m->f, m->found));
  LAC_TRY(smoothed_found_read(ctx, m->found, bounds));
  LAC_TRY(matrix_rho(ctx, m, NULL, m->s, bounds[0], &rho));
  *omega = part->degree > 1 ? rho : rho > NUMBERS_NEAR_TWO ? NUMBERS_DAMPED / rho : 1;
  if (!structure->p.rows) goto done;
  if (!part->shape->has_blocks || part->degree == 1)  // else F is S, and all of A is smoothed by
    LAC_TRY(matrix_rho(ctx, m, structure->kinds, m->f, bounds[1], &rho));
  LAC_TRY(kernels->interpolate_values(ctx, &structure->a, m->values, structure->kinds, m->f,
                                      rho > 0 ? 4 / (3 * rho) : 0, &structure->aggregates, &structure->p, m->p_values));
  LAC_TRY(kernels->transpose_values(ctx, &structure->p, m->p_values, &structure->r, m->r_values));
done:
  return status;
}

void smoothed_matrix_close(smoothed_matrix *m) {
  lac_array_destroy(&m->values), lac_array_destroy(&m->s);
  lac_array_destroy(&m->p_values), lac_array_destroy(&m->r_values);
}

/// One of the matrices of a level, with its part of the level's numbers.
lac_status smoothed_matrix_open(lac_context *ctx, const smoothed_part *part, int l, int64_t item, smoothed_matrix *m) {
  lac_status status = LAC_OK;
  const smoothed_numbers *level = &part->level[l];

  m->structure = &part->shape->level[l];
  LAC_TRY(smoothed_item(ctx, level->values, part->items, item, &m->values));
  LAC_TRY(smoothed_item(ctx, level->s, part->items, item, &m->s));
  if (!level->p_values) goto done;
  LAC_TRY(smoothed_item(ctx, level->p_values, part->items, item, &m->p_values));
  LAC_TRY(smoothed_item(ctx, level->r_values, part->items, item, &m->r_values));
done:
  return status;
}

/// Room for the numbers of a level, and for F of one matrix.
static lac_status fill_open(lac_context *ctx, smoothed_part *part, const smoothed_structure *structure,
                            smoothed_numbers *level, lac_array **f) {
  lac_status status = LAC_OK;
  int64_t nodes = structure->a.rows, size = structure->size, m = structure->aggregates.m;
  const int64_t shape[] = {nodes, size, size};

  LAC_TRY(lac_array_create(ctx, part->dtype, part->shape->has_blocks ? 3 : 1, shape, f));
  LAC_TRY(smoothed_take(ctx, part, nodes, size, size, &level->s));
  LAC_ALLOC(level->omega, part->items);
  if (!structure->p.rows) goto done;
  LAC_TRY(smoothed_take(ctx, part, smoothed_nnz(&structure->p), size, m, &level->p_values));
  LAC_TRY(smoothed_take(ctx, part, smoothed_nnz(&structure->p), m, size, &level->r_values));
done:
  return status;
}

lac_status smoothed_fill(lac_context *ctx, smoothed_part *part, int l) {
  lac_status status = LAC_OK;
  smoothed_numbers *level = &part->level[l];
  smoothed_matrix m = {0};

  LAC_TRY(smoothed_found_create(ctx, &m.found));
  LAC_TRY(fill_open(ctx, part, &part->shape->level[l], level, &m.f));
  for (int64_t item = 0; item < part->items; ++item) {
    LAC_TRY(smoothed_matrix_open(ctx, part, l, item, &m));
    LAC_TRY(matrix_fill(ctx, part, &m, &level->omega[item]));
    smoothed_matrix_close(&m);
  }
done:
  smoothed_matrix_close(&m);
  lac_array_destroy(&m.f);
  lac_array_destroy(&m.found);
  return status;
}

/// The next level's values of matrices [first, items), on its structure.
lac_status smoothed_galerkin(lac_context *ctx, smoothed_part *part, int l, int64_t first) {
  lac_status status = LAC_OK;
  const smoothed_structure *structure = &part->shape->level[l], *next = structure + 1;
  smoothed_matrix m = {0};
  lac_array *out = NULL;

  for (int64_t item = first; item < part->items; ++item) {
    LAC_TRY(smoothed_matrix_open(ctx, part, l, item, &m));
    LAC_TRY(smoothed_item(ctx, part->level[l + 1].values, part->items, item, &out));
    LAC_TRY(ctx->kernels->smoothed->galerkin_values(ctx, &structure->a, m.values, &structure->p, m.p_values,
                                                    &structure->r, m.r_values, &next->a, out));
    smoothed_matrix_close(&m);
    lac_array_destroy(&out);
  }
done:
  smoothed_matrix_close(&m);
  lac_array_destroy(&out);
  return status;
}
