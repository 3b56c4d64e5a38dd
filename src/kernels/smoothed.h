// SPDX-License-Identifier: Apache-2.0
/// @file smoothed.h
/// The loops of smoothed aggregation, a sub-table of lac_kernels. Memory lies where the context's kernels can read it.
///
/// A matrix is its rows (lac_sparse) beside values of a dtype; several matrices on one structure follow each other. Vectors have k
/// columns and lie by rows. Every sum has one order, whatever the number of threads.

#ifndef LACUNA_KERNELS_SMOOTHED_H
#define LACUNA_KERNELS_SMOOTHED_H

#include "kernels/kernels.h"

/// Compressed rows. Entry p of row i stands in column columns[p] and has the value values[slots[p]] (slots NULL: p itself).
typedef struct lac_sparse {
  int64_t rows, cols, nnz;
  lac_width width;  // of all three arrays
  const void *offsets, *columns, *slots;
} lac_sparse;

/// What an entry is to the aggregates.
enum { LAC_ENTRY_WEAK, LAC_ENTRY_STRONG, LAC_ENTRY_DIAGONAL };

/// A diagonal scaling S that makes I - S A a smoother.
typedef enum lac_smoother {
  LAC_SMOOTHER_JACOBI,  // 1 / a_ii
  LAC_SMOOTHER_SPAI     // conj(a_ii) / sum_j |a_ij|^2: the diagonal with the least |I - S A|_F
} lac_smoother;

/// How rows of the finest levels become unknowns of the next: row i belongs to aggregate member[i] (-1: to none), whose columns
/// are first[a] .. first[a + 1], and has the numbers basis[i m], basis[i m + 1], ... there. `first` and `basis` NULL: one column
/// and the number 1. Indices are of the width's columns.
typedef struct lac_aggregates {
  int64_t count, columns;
  int m;
  const void *member, *first, *basis;
} lac_aggregates;

/// out = x + beta (x - old) + omega S (b - op(A) x): a step of an iteration. `old` or x NULL: zero; S NULL: the identity;
/// `bare`: out is omega S (b - op(A) x) alone.
typedef struct lac_sweep {
  const void *b, *x, *old, *s;
  double beta, omega;
  bool bare, conjugates;  // `conjugates`: op(A) and S have the conjugates of the values
} lac_sweep;

struct lac_smoothed_kernels {
  /// largest[j] = the largest |x[i, j]| of x [count, k], by the larger of the parts
  lac_status (*largest)(lac_context *ctx, lac_dtype dtype, int64_t count, int64_t k, const void *x, double *largest);
  /// y[i, j] = factor[j] x[i, j] from f64 to f32 or c128 to c64 (`dtype` is y's), or back (`dtype` is x's)
  lac_status (*narrow)(lac_context *ctx, lac_dtype dtype, int64_t count, int64_t k, const double *factor, const void *x,
                       void *y);
  lac_status (*widen)(lac_context *ctx, lac_dtype dtype, int64_t count, int64_t k, const double *factor, const void *x,
                      void *y);

  /// kinds[p] of each entry: strong where |a_ij| > theta sqrt(|a_ii|) min(sqrt(|a_ii|), sqrt(|a_jj|)) in any of the matrices: in the usual
  /// measure, or beside its own diagonal, which is all that a row between much larger ones has. *weak counts those that are not
  lac_status (*strength)(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, int64_t items, const void *values,
                         double theta, uint8_t *kinds, int64_t *weak);
  /// Of one matrix: S, and F = 1 / (a_ii + the weak entries of row i), 0 where that is nothing to divide by; bounds[0] >= |S A|,
  /// bounds[1] >= |F A'| for the matrix A' whose weak entries are on its diagonal (in the maximum norm)
  lac_status (*diagonals)(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                          const uint8_t *kinds, lac_smoother smoother, void *s, void *f, double bounds[2]);
  /// *norm = |y|, y = scale S A x, or of A' with kinds
  lac_status (*power)(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values, const uint8_t *kinds,
                      const void *s, double scale, const void *x, void *y, double *norm);
  /// Greedy aggregates of nodes along strong entries: member[i] of each row, *count of them
  lac_status (*aggregate)(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                          const uint8_t *kinds, void *member, int64_t *count);
  /// The structure of P = (I - omega F A') T: offsets (a->rows + 1) when columns is NULL, else columns
  lac_status (*interpolate)(lac_context *ctx, const lac_sparse *a, const uint8_t *kinds,
                            const lac_aggregates *aggregates, void *offsets, void *columns);
  lac_status (*interpolate_values)(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                                   const uint8_t *kinds, const void *f, double omega, const lac_aggregates *aggregates,
                                   const lac_sparse *p, void *p_values);
  /// R = P^T: offsets and columns
  lac_status (*transpose)(lac_context *ctx, const lac_sparse *p, void *offsets, void *columns);
  /// the values of R = P^H
  lac_status (*transpose_values)(lac_context *ctx, lac_dtype dtype, const lac_sparse *p, const void *p_values,
                                 const lac_sparse *r, void *r_values);
  /// R A P: its structure, with ascending columns, and values; the caller's to free
  lac_status (*galerkin)(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                         const lac_sparse *p, const void *p_values, const lac_sparse *r, const void *r_values,
                         lac_buffer **offsets, lac_buffer **columns, void **out);
  /// the same for a structure that is known
  lac_status (*galerkin_values)(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                                const lac_sparse *p, const void *p_values, const lac_sparse *r, const void *r_values,
                                const lac_sparse *c, void *out);

  /// The steps of a cycle, for vectors of k columns
  lac_status (*step)(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values, int64_t k,
                     const lac_sweep *step, void *out);
  /// y = A x, or y += A x
  lac_status (*multiply)(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values, int64_t k,
                         bool adds, const void *x, void *y);
};

#endif
