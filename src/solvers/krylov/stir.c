// SPDX-License-Identifier: Apache-2.0
/// @file stir.c
/// What a tolerance leaves open, made visible: a right-hand side b + t u, |u| about 1 and random, t = max(rtol |b|,
/// atol).
///
/// Every x with |b - A x| <= t is an answer that a Krylov method may give, and it gives the same one each time. The
/// solution for a stirred b is another of them: how far apart they lie is what the tolerance is worth in all that is
/// computed from x (autodiff/gradcheck.c).

#include <math.h>

#include "core/number_at.h"
#include "core/numbers/random.h"
#include "solvers/krylov/krylov_solver.h"
#include "solvers/vectors.h"

/// t u of every column of an array [items, rows, width] into `numbers`, whose reals are uniform in (-1, 1).
static void stir_scale(const lac_meta *meta, const lac_iteration *iteration, const double *norms, void *numbers) {
  const int parts = lac_dtype_parts(meta->dtype);
  const int64_t rows = meta->shape[1], width = meta->shape[2], block = rows * width * parts;
  const double unit = sqrt(3.0 / (double)(rows * parts));  // a uniform number has the variance 1/3

  for (int64_t i = 0; i < meta->shape[0] * block; i++) {
    int64_t column = i / block * width + i / parts % width;
    double by = unit * fmax(iteration->rtol * norms[column], iteration->atol);
    lac_real_put(meta->dtype, numbers, i, by * lac_real_get(meta->dtype, numbers, i));
  }
}

lac_status lac_krylov_stir(lac_context *ctx, const lac_iteration *iteration, lac_array **b) {
  lac_status status = LAC_OK;
  const lac_meta *meta = &(*b)->meta;
  lac_array *stirred = NULL;
  double *norms = NULL;
  char *numbers = NULL;

  LAC_ALLOC(norms, meta->shape[0] * meta->shape[2]);
  LAC_ALLOC(numbers, lac_array_bytes(*b));
  LAC_TRY(lac_column_norms(ctx, *b, meta->shape[0], meta->shape[1], meta->shape[2], norms));
  lac_random_fill(ctx->stir, !lac_dtype_is_single(meta->dtype), (*b)->count * lac_dtype_parts(meta->dtype), numbers);
  ctx->stir = lac_random_bits(ctx->stir, 0) | 1;  // the next solve is stirred otherwise
  stir_scale(meta, iteration, norms, numbers);
  LAC_TRY(lac_array_make(ctx, meta, &stirred));
  LAC_TRY(lac_array_write(ctx, stirred, numbers));
  LAC_TRY(ctx->kernels->axpy(ctx, 1, 0, *b, stirred));
  lac_array_destroy(b);
  *b = stirred, stirred = NULL;
done:
  lac_array_destroy(&stirred);
  lac_free(norms);
  lac_free(numbers);
  return status;
}
