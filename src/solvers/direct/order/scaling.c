// SPDX-License-Identifier: Apache-2.0
/// @file scaling.c
/// Scalings by powers of two.
///
///     rows and columns   r_i = 2^-e with 2^e above max_j |a_ij|, then c_j likewise on R A
///     symmetric          D A D / 2^g with 2^g above max |a_ij|, and d_i /= 2^(e / 2) with 2^e above row i's largest,
///                        a few times (Ruiz 2001)

#include "solvers/direct/order/scaling.h"

#include <limits.h>
#include <stdio.h>

// Each round halves the exponents that are left: five bring 1e-300 to 1e-9 and what is usual to 1.
enum { SCALING_ROUNDS = 5 };

#define KERNEL_FILE "solvers/direct/order/scaling_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int32_t scaling_find_kernel(const lac_structure *, const void *, void *, void *);
typedef void scaling_apply_kernel(const lac_structure *, const void *, const void *, const void *, void *);
typedef lac_scaling_range scaling_measure_kernel(const lac_structure *, const void *, const int32_t *);
static scaling_find_kernel *const scaling_find_kernels[] = TABLE(equilibrate);
static scaling_find_kernel *const scaling_symmetric_kernels[] = TABLE(scaling_symmetric);
static scaling_apply_kernel *const scaling_apply_kernels[] = TABLE(scaling_apply);
typedef int scaling_exponent_kernel(const lac_structure *, const void *);
static scaling_exponent_kernel *const scaling_exponent_kernels[] = TABLE(scaling_exponent);
static scaling_measure_kernel *const scaling_measure_kernels[] = TABLE(scaling_measure);

int32_t lac_scaling_equilibrate(const lac_structure *structure, lac_dtype dtype, const void *values, void *row_scale,
                                void *col_scale) {
  return scaling_find_kernels[dtype](structure, values, row_scale, col_scale);
}

int32_t lac_scaling_symmetric(const lac_structure *structure, lac_dtype dtype, const void *values, void *row_scale,
                              void *col_scale) {
  return scaling_symmetric_kernels[dtype](structure, values, row_scale, col_scale);
}

void lac_scaling_zero_text(const lac_structure *structure, int32_t row, char *text, size_t size) {
  if (structure->offsets[row] == structure->offsets[row + 1]) {
    lac_structure_singular_text(structure, 0, text, size);
  } else {
    snprintf(text, size, "the matrix is singular: row %d has only zeros, pivot 0", row);
  }
}

int lac_scaling_exponent(const lac_structure *structure, lac_dtype dtype, const void *values) {
  return scaling_exponent_kernels[dtype](structure, values);
}

void lac_scaling_apply(const lac_structure *structure, lac_dtype dtype, const void *values, const void *row_scale,
                       const void *col_scale, void *scaled) {
  scaling_apply_kernels[dtype](structure, values, row_scale, col_scale, scaled);
}

lac_scaling_range lac_scaling_measure(const lac_structure *structure, lac_dtype dtype, const void *scaled,
                                      const int32_t *match) {
  return scaling_measure_kernels[dtype](structure, scaled, match);
}
