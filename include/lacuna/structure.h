// SPDX-License-Identifier: Apache-2.0
/// @file structure.h
/// Sparse matrices as patterns and values: values along maps, sums and unions, Kronecker products, scalings, norms.
///
/// The values of a pattern are (nnz), one number for each slot (pattern.h). No derivative passes through a pattern.
/// ops.h says what holds for every function: ownership, derivatives, errors.

#ifndef LACUNA_STRUCTURE_H
#define LACUNA_STRUCTURE_H

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- values along maps -----------------------------------------------------------------------------------------------

/// y = M x (LAC_PLAIN) or M^T x (LAC_TRANSPOSED) on the last axis, for the 0/1 matrix M of a map. With the maps of
/// pattern.h this is a transpose, a triangle, a submatrix, a diagonal, a dense matrix, a sum of duplicates.
LAC_API lac_var lac_remap(lac_tape *tape, const lac_map *map, lac_var x, lac_form op);

/// lac_remap where an entry is a block of numbers with `axes` axes of its own: x and y are [*batch, entries, *block].
LAC_API lac_var lac_remap_blocks(lac_tape *tape, const lac_map *map, lac_var x, lac_form op, int axes);

/// Gather rows: y[i] = x[target[i]], and 0 where target[i] is -1, with the target of a map of m inputs and n outputs.
/// Shapes: x (n, k), y (m, k).
LAC_API lac_var lac_gather(lac_tape *tape, const lac_map *map, lac_var x);

/// Scatter rows: y[target[i]] += x[i], the adjoint of lac_gather.
/// Shapes: x (m, k), y (n, k).
/// Bits: rows are added in one order on any number of threads.
LAC_API lac_var lac_scatter_add(lac_tape *tape, const lac_map *map, lac_var x);

// -- matrices made of matrices ---------------------------------------------------------------------------------------

// The result is the values on a pattern that the call makes.
// Ownership: `out` may be NULL; else *out receives the pattern, which the caller destroys. On failure *out is
// unchanged.

/// A + B on the union of two patterns. Absent values are zeros.
LAC_API lac_var lac_spadd(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                          lac_pattern **out);

/// A .* B, entry by entry, on the intersection of two patterns.
LAC_API lac_var lac_hadamard(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                             lac_pattern **out);

/// The Kronecker product of A and B. lac_kron_mm (structured.h) multiplies by it without forming it.
/// Errors: LAC_ERR_OVERFLOW where its entries cannot be counted.
LAC_API lac_var lac_kron(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                         lac_pattern **out);

/// The whole of a Hermitian (LAC_ADJOINT) or symmetric (LAC_TRANSPOSED) matrix, of which `pattern` and `a` have one
/// triangle: A = T + op(T without its diagonal), on the pattern of lac_pattern_mirror. Entries outside the triangle are
/// not read: their gradient is zero.
/// Errors: LAC_ERR_SHAPE for a matrix that is not square; LAC_ERR_ARG for another op.
LAC_API lac_var lac_mirror(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_triangle triangle, lac_form op,
                           lac_pattern **out);

/// The matrix with n others along its diagonal, n >= 1.
LAC_API lac_var lac_block_diag(lac_tape *tape, int n, const lac_pattern *const *patterns, const lac_var *values,
                               lac_pattern **out);

// -- sums, scalings and norms of a matrix ----------------------------------------------------------------------------

LAC_API lac_var lac_to_dense(lac_tape *tape, const lac_pattern *pattern, lac_var a);     ///< (nnz) -> (rows, cols)
LAC_API lac_var lac_row_sum(lac_tape *tape, const lac_pattern *pattern, lac_var a);      ///< (nnz) -> (rows)
LAC_API lac_var lac_col_sum(lac_tape *tape, const lac_pattern *pattern, lac_var a);      ///< (nnz) -> (cols)
LAC_API lac_var lac_diagonal_of(lac_tape *tape, const lac_pattern *pattern, lac_var a);  ///< (nnz) -> (min(rows, cols))
LAC_API lac_var lac_trace(lac_tape *tape, const lac_pattern *pattern, lac_var a);        ///< (nnz) -> ()

/// diag(d) A for d (rows), and A diag(d) for d (cols), on the pattern of A.
LAC_API lac_var lac_scale_rows(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var d);
LAC_API lac_var lac_scale_cols(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var d);

/// The norm of a matrix.
typedef enum lac_norm_kind {
  LAC_NORM_FRO,  ///< Frobenius
  LAC_NORM_1,    ///< the largest column sum of |a|
  LAC_NORM_INF,  ///< the largest row sum of |a|
  LAC_NORM_2     ///< the largest singular value: lac_norm2 with its defaults
} lac_norm_kind;

/// A norm of a matrix, of a real dtype: (nnz) -> ().
/// Derivatives: zero at a = 0; of LAC_NORM_2 the first order alone.
LAC_API lac_var lac_matrix_norm(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_norm_kind kind);

/// The largest singular value, by Lanczos iteration to a relative residual (0: 1e-12, and 1e-5 in f32 and c64) in at
/// most `steps` steps (0: 10000).
/// Derivatives: the first order alone, else LAC_ERR_ORDER. Where the singular value is multiple, the gradient is one of
/// several subgradients.
/// Errors: LAC_ERR_CONVERGENCE where the residual is not reached.
LAC_API lac_var lac_norm2(lac_tape *tape, const lac_pattern *pattern, lac_var a, double tolerance, int64_t steps);

#ifdef __cplusplus
}
#endif
#endif
