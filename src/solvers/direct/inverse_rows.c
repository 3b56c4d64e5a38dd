// SPDX-License-Identifier: Apache-2.0
/// @file inverse_rows.c
/// Rows of Z = A^-T on the pattern of A.
///
///     by a solve     A x = e_i,  z_ij = x_j
///     checked by     (A A^-1)_ii = sum_j a_ij z_ij = 1
///
/// All that the sum needs of the inverse stands on the pattern. It is invariant under scalings of rows and columns, and its
/// terms say how large its rounding may be.

#include "solvers/direct/inverse_rows.h"

// Roundings of sum_j |a_ij z_ij| that a row may be off: what a factor may lose that is worth using (refine.c).
enum { INVERSE_BAD = 1000 };

#define wide_size_f32 size_f64
#define wide_size_f64 size_f64
#define wide_size_c64 size_c128
#define wide_size_c128 size_c128
#define KERNEL_FILE "solvers/direct/inverse_rows_kernel.h"
#include "solvers/direct/instantiate.h"

typedef void inverse_unit_kernel(int64_t, void *);
typedef void inverse_take_kernel(const lac_structure *, int32_t, int, int, const void *, void *);
typedef double inverse_row_kernel(const lac_structure *, const void *, const void *, int32_t, double *);
static inverse_unit_kernel *const inverse_unit_kernels[] = TABLE(inverse_unit);
static inverse_take_kernel *const inverse_take_kernels[] = TABLE(inverse_take);
static inverse_row_kernel *const inverse_row_kernels[] = TABLE(inverse_row);

lac_status lac_inverse_solve_rows(const lac_system *a, int width, const int32_t *rows, void *memory, void *z,
                                  lac_fault *fault) {
  size_t block = (size_t)a->structure->n * (size_t)width * lac_dtype_size(a->dtype);
  void *blocks[REFINE_BLOCKS];

  for (int i = 0; i < REFINE_BLOCKS; i++) blocks[i] = (char *)memory + (size_t)i * block;
  memset(blocks[REFINE_B], 0, block);
  for (int c = 0; c < width; c++) {
    inverse_unit_kernels[a->dtype]((int64_t)rows[c] * width + c, blocks[REFINE_B]);
  }
  lac_status status = lac_refine_solve(a, LAC_N, width, blocks, fault);
  for (int c = 0; c < width; c++) {
    inverse_take_kernels[a->dtype](a->structure, rows[c], width, c, blocks[REFINE_X], z);
  }
  return status == LAC_ERR_CONVERGENCE ? LAC_OK
                                       : status;  // that judges all of x; what is taken of it has its own check
}

bool lac_inverse_row_is_good(const lac_structure *structure, lac_dtype dtype, const void *a, const void *z, int32_t row,
                             double *error, double *allowed) {
  double terms = 0;
  *error = inverse_row_kernels[dtype](structure, a, z, row, &terms);
  *allowed = INVERSE_BAD * (dtype == LAC_F32 || dtype == LAC_C64 ? FLT_EPSILON : DBL_EPSILON) * (terms + 1);
  return *error <= *allowed && isfinite(terms);
}
