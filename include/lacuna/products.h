// SPDX-License-Identifier: Apache-2.0
/// @file products.h
/// Products: dense, sparse times dense, sparse times sparse, and rows times the matrix that each row names.
///
/// op(A) is A, A^T, conj(A) or A^H (lac_form in pattern.h). Where op transposes, rows and columns of A change places.
/// Bits: sums have one order on any number of threads.
/// ops.h says what holds for every function: ownership, derivatives, errors.

#ifndef LACUNA_PRODUCTS_H
#define LACUNA_PRODUCTS_H

#include "lacuna/format.h"
#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- dense products --------------------------------------------------------------------------------------------------

/// The inner product: the sum of conj(x) y over the last two axes, or of two vectors (n).
LAC_API lac_var lac_dot(lac_tape *tape, lac_var x, lac_var y);

/// Z = op(X) op(Y), dense.
/// Shapes: op(X) (m, l), op(Y) (l, n), Z (m, n).
LAC_API lac_var lac_matmul(lac_tape *tape, lac_var x, lac_var y, lac_form op_x, lac_form op_y);

// -- sparse products -------------------------------------------------------------------------------------------------

/// y = op(A) x.
/// Shapes: a (nnz), or (nnz, br, bc) where the pattern has blocks; x (n, k), y (m, k) for op(A) m x n.
LAC_API lac_var lac_spmm(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var x, lac_form op);

/// s_z = sum_k u[row z, k] conj(v[col z, k]) for each slot z: the entries of U V^H on a pattern.
/// Shapes: u (rows, k), v (cols, k), s (nnz), or (nnz, br, bc) where the pattern has blocks.
/// Cost: nnz k multiplications; no array of rows x cols is made.
LAC_API lac_var lac_sddmm(lac_tape *tape, const lac_pattern *pattern, lac_var u, lac_var v);

/// C = A B on the pattern of the product.
/// Ownership: `out` may be NULL; else *out receives the pattern of C, which the caller destroys.
/// Cost: the pattern of C and the places of its terms are kept for the pair (lac_pattern_set_plan_budget).
LAC_API lac_var lac_spgemm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                           lac_pattern **out);

/// t = op(X) op(Y) at the slots of `target` alone.
LAC_API lac_var lac_sampled_spgemm(lac_tape *tape, const lac_pattern *target, const lac_pattern *px, lac_var x,
                                   const lac_pattern *py, lac_var y, lac_form op_x, lac_form op_y);

/// y = A x with A in sliced ELL: a holds the numbers of the format's storage, as lac_remap of the values along
/// lac_format_map(format) gives them.
/// Shapes: a (lac_format_size), x (cols, k), y (rows, k).
/// Derivatives: padding is not read and has a gradient of zero.
/// Errors: LAC_ERR_ARG for a format of another kind.
LAC_API lac_var lac_sell_mm(lac_tape *tape, const lac_format *format, lac_var a, lac_var x);

// -- products of grouped rows ----------------------------------------------------------------------------------------

/// y[i] = a[i] op(b[target i]), with the target of a map from n rows to r matrices; 0 where it is -1.
/// Shapes: a (n, d), b (r, d, e), y (n, e); where op transposes, a (n, e), y (n, d).
/// Cost: rows that name the same matrix are multiplied together: n d e multiplications, whatever r is.
LAC_API lac_var lac_gather_mm(lac_tape *tape, const lac_map *map, lac_var a, lac_var b, lac_form op);

/// w[j] = sum of conj(u[i])^T v[i] over the rows i that name matrix j; 0 where no row does.
/// Shapes: u (n, d), v (n, e), w (r, d, e).
LAC_API lac_var lac_gather_outer(lac_tape *tape, const lac_map *map, lac_var u, lac_var v);

/// The first lengths[0] rows of a times b[0], the next lengths[1] rows times b[1], and so on.
/// Shapes: a (n, d), b (r, d, e), result (n, e).
/// Errors: LAC_ERR_SHAPE unless the r lengths are >= 0 and add up to n.
LAC_API lac_var lac_segment_mm(lac_tape *tape, lac_var a, lac_var b, int64_t r, const int64_t *lengths);

#ifdef __cplusplus
}
#endif
#endif
