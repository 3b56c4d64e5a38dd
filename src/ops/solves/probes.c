// SPDX-License-Identifier: Apache-2.0
/// @file probes.c
/// Random signs, for estimates of traces.
///
///     z_ij = 1 or -1          a function of seed, i and j alone: more columns leave the first ones as they are

#include "autodiff/rule.h"
#include "core/random.h"
#include "core/reals.h"

/// The signs of column j are those of a seed of its own.
static void probes_fill(int64_t rows, int64_t count, int64_t seed, double *z) {
  for (int64_t j = 0; j < count; j++) {
    uint64_t mine = lac_random_bits((uint64_t)seed, (uint64_t)j);
    for (int64_t i = 0; i < rows; i++) z[i * count + j] = lac_random_sign(mine, (uint64_t)i);
  }
}

lac_var lac_probes(lac_tape *tape, lac_dtype dtype, int64_t rows, int64_t count, int64_t seed) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  double *z = NULL;
  lac_var out = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_array_create(ctx, dtype, 2, (const int64_t[]){rows, count}, &array));
  LAC_ALLOC(z, array->count);
  probes_fill(rows, count, seed, z);
  LAC_TRY(lac_reals_write(ctx, array, z));
  out = lac_tape_constant(tape, array);
done:
  lac_free(z);
  lac_array_destroy(&array);
  return status == LAC_OK ? out : lac_tape_fail(tape, status);
}
