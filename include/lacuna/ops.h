// SPDX-License-Identifier: Apache-2.0
/// @file ops.h
/// The operators, one prototype each. Equations and rules stand at the head of each operator's room, src/ops/<name>.c.
///
/// All take vars of one tape and return a var; all are differentiable to any order in all their vars unless said. Leading
/// dimensions are batch and broadcast (aligned at the right, equal or 1). Dense operands carry their columns: a vector is (n, 1).
/// Errors stick to the tape: LAC_ERR_SHAPE, LAC_ERR_DTYPE, LAC_ERR_MEMORY everywhere, others as said.

#ifndef LACUNA_OPS_H
#define LACUNA_OPS_H

#include "lacuna/solver.h"
#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- arrays ----------------------------------------------------------------------------------------------------------

LAC_API lac_var lac_add(lac_tape *tape, lac_var x, lac_var y);                   ///< x + y
LAC_API lac_var lac_sub(lac_tape *tape, lac_var x, lac_var y);                   ///< x - y
LAC_API lac_var lac_mul(lac_tape *tape, lac_var x, lac_var y);                   ///< x * y, number by number
LAC_API lac_var lac_scale(lac_tape *tape, double real, double imag, lac_var x);  ///< (real + i imag) x, a frozen factor
LAC_API lac_var lac_conj(lac_tape *tape, lac_var x);                             ///< conj(x); x itself when real

/// The sum over the axes of `mask` (bit i is the i-th axis from the end), which are removed, or kept with size 1.
typedef enum lac_axes { LAC_DROP_AXES, LAC_KEEP_AXES } lac_axes;
LAC_API lac_var lac_sum_axes(lac_tape *tape, lac_var x, uint32_t mask, lac_axes axes);
LAC_API lac_var lac_sum(lac_tape *tape, lac_var x);  ///< over all axes: a single number

/// x spread to the shape of `like` along the axes of `mask`: the adjoint of lac_sum_axes.
LAC_API lac_var lac_broadcast(lac_tape *tape, lac_var x, const lac_meta *like, uint32_t mask, lac_axes axes);

LAC_API lac_var lac_dot(lac_tape *tape, lac_var x, lac_var y);  ///< sum of conj(x) y over the last two axes

/// The same numbers under another shape. Of an array that is spread over ranks the spread axis must survive; write -1 for its size
/// wherever axes of size 1 stand beside it: a rank with one row could not tell it from them.
LAC_API lac_var lac_reshape(lac_tape *tape, lac_var x, int ndim, const int64_t *shape);

/// The places begin, begin + step, ... before `end` of an axis, which is counted from the end: 0 is the last.
/// 0 <= begin <= end <= size and step > 0, else LAC_ERR_SHAPE; begin = end is empty.
LAC_API lac_var lac_slice(lac_tape *tape, lac_var x, int axis, int64_t begin, int64_t end, int64_t step);

/// x at these places of zeros with the shape of `like`: the adjoint of lac_slice.
LAC_API lac_var lac_embed(lac_tape *tape, lac_var x, const lac_meta *like, int axis, int64_t begin, int64_t end,
                          int64_t step);

/// x, then y along an axis (counted from the end): axes before it broadcast, those behind it are equal.
LAC_API lac_var lac_concat(lac_tape *tape, lac_var x, lac_var y, int axis);

/// Any number of arrays along an axis, at least one: pairs, then pairs of pairs.
LAC_API lac_var lac_concat_all(lac_tape *tape, int n, const lac_var *vars, int axis);

// -- structure -------------------------------------------------------------------------------------------------------

/// y = M x (LAC_N) or M^T x (LAC_T) on the last axis. With the maps of pattern.h: transpose, triangle, submatrix, diagonal,
/// to_dense, coalesce.
LAC_API lac_var lac_remap(lac_tape *tape, const lac_map *map, lac_side side, lac_var x);

/// The same where an entry is a block of numbers with `axes` axes of its own: y and x are [*batch, entries, *block].
LAC_API lac_var lac_remap_blocks(lac_tape *tape, const lac_map *map, lac_side side, int axes, lac_var x);

/// Rows along a frozen list of indices, the target of a map with n outputs: x (n, k), y (m, k), y[i] = x[target[i]], and 0
/// where it is -1. This is M^T x on rows.
LAC_API lac_var lac_gather(lac_tape *tape, const lac_map *map, lac_var x);

/// The adjoint of lac_gather: y[target[i]] += x[i], x (m, k), y (n, k), in one order on any number of threads. This is M x.
LAC_API lac_var lac_scatter_add(lac_tape *tape, const lac_map *map, lac_var x);

/// A + B on the union of two patterns. `out` (optional) receives the union, to be destroyed by the caller.
LAC_API lac_var lac_spadd(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                          lac_pattern **out);

// -- products --------------------------------------------------------------------------------------------------------

/// y = op(A) x: a (nnz), x (n, k), y (m, k).
LAC_API lac_var lac_spmm(lac_tape *tape, const lac_pattern *pattern, lac_side side, lac_var a, lac_var x);

/// s_z = sum_k u[row z, k] conj(v[col z, k]) for each slot z: u (rows, k), v (cols, k), s (nnz). No rows x cols anywhere.
LAC_API lac_var lac_sddmm(lac_tape *tape, const lac_pattern *pattern, lac_var u, lac_var v);

/// C = A B on the pattern of the product. `out` (optional) receives that pattern, to be destroyed by the caller.
LAC_API lac_var lac_spgemm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                           lac_pattern **out);

/// t = op(X) op(Y) at the slots of `target` alone.
LAC_API lac_var lac_sampled_spgemm(lac_tape *tape, const lac_pattern *target, const lac_pattern *px, lac_side sx,
                                   lac_var x, const lac_pattern *py, lac_side sy, lac_var y);

// -- solves ----------------------------------------------------------------------------------------------------------

/// op(T) x = b with T the named triangle of the matrix. Entries outside it, and a stored diagonal under LAC_UNIT, are not read
/// and get a gradient of exactly zero. LAC_ERR_SINGULAR names a zero or missing diagonal.
LAC_API lac_var lac_trisolve(lac_tape *tape, const lac_pattern *pattern, lac_triangle triangle, lac_diagonal diagonal,
                             lac_side side, lac_var a, lac_var b);

/// x = op(A)^-1 b with a factor of these values. LAC_ERR_STALE when `a` is not what `factor` was made of.
LAC_API lac_var lac_solve_with(lac_tape *tape, const lac_factor *factor, lac_side side, lac_var a, lac_var b);

/// x = op(A)^-1 b: factor and solve. Every derivative of every order uses the factor made here.
LAC_API lac_var lac_solve(lac_tape *tape, const lac_solver *solver, lac_side side, lac_var a, lac_var b);

// -- structured matrices ---------------------------------------------------------------------------------------------

// A band is stored as LAPACK and SciPy store it: ab (lower + upper + 1, n) holds A[i, j] at ab[upper + i - j, j]. What lies outside
// the matrix is not read and has a gradient of exactly zero. lower, upper >= 0 may reach beyond the matrix.

/// y = op(A) x for a banded A with `rows` rows: ab (lower + upper + 1, cols), x (n, k), y (m, k).
LAC_API lac_var lac_banded_mm(lac_tape *tape, lac_side side, int64_t lower, int64_t upper, int64_t rows, lac_var ab,
                              lac_var x);

/// The band of u v^H: s[upper + i - j, j] = sum_k u[i, k] conj(v[j, k]): u (rows, k), v (cols, k), s (lower + upper + 1, cols).
LAC_API lac_var lac_banded_outer(lac_tape *tape, int64_t lower, int64_t upper, lac_var u, lac_var v);

/// The band (lower, upper) of op(X) op(Y), both square and banded; lower_x + lower_y and upper_x + upper_y hold all of X Y.
LAC_API lac_var lac_banded_gemm(lac_tape *tape, int64_t lower, int64_t upper, lac_side sx, int64_t lower_x,
                                int64_t upper_x, lac_var x, lac_side sy, int64_t lower_y, int64_t upper_y, lac_var y);

/// x = op(A)^-1 b for a square banded A, pivoted: ab (lower + upper + 1, n), b (n, k). LAC_ERR_SINGULAR names the column.
LAC_API lac_var lac_banded_solve(lac_tape *tape, lac_side side, int64_t lower, int64_t upper, lac_var ab, lac_var b);

/// x = A^-1 b for a tridiagonal A: lower (n - 1), diag (n), upper (n - 1), b (n, k).
LAC_API lac_var lac_tridiagonal_solve(lac_tape *tape, lac_var lower, lac_var diag, lac_var upper, lac_var b);

LAC_API lac_var lac_diag_mm(lac_tape *tape, lac_var d, lac_var x);     ///< diag(d) x: d (n), x (n, k)
LAC_API lac_var lac_diag_solve(lac_tape *tape, lac_var d, lac_var b);  ///< diag(d)^-1 b; LAC_ERR_SINGULAR names a zero

/// y = op(C) x with C[i, j] = c[(i - j) mod n], in O(n log n): c (n), x (n, k).
LAC_API lac_var lac_circulant_mm(lac_tape *tape, lac_side side, lac_var c, lac_var x);

/// s[d] = sum_i sum_k u[i, k] conj(v[(i - d) mod n, k]): u, v (n, k), s (n).
LAC_API lac_var lac_circulant_outer(lac_tape *tape, lac_var u, lac_var v);

/// x = op(C)^-1 b: c (n), b (n, k). LAC_ERR_SINGULAR names an eigenvalue that is zero to rounding.
LAC_API lac_var lac_circulant_solve(lac_tape *tape, lac_side side, lac_var c, lac_var b);

/// y = op(T) x with T[i, j] = column[i - j] for i >= j, else row[j - i], in O(n log n): column (m), row (n), T m x n. row[0] is
/// not read.
LAC_API lac_var lac_toeplitz_mm(lac_tape *tape, lac_side side, lac_var column, lac_var row, lac_var x);

/// y = op(A (x) B) x, the Kronecker product never formed: y and x have the rows of A outside, those of B inside.
LAC_API lac_var lac_kron_mm(lac_tape *tape, lac_side side, const lac_pattern *pa, lac_var a, const lac_pattern *pb,
                            lac_var b, lac_var x);

/// y = op(A (x) I + I (x) B) x for square A and B.
LAC_API lac_var lac_kronsum_mm(lac_tape *tape, lac_side side, const lac_pattern *pa, lac_var a, const lac_pattern *pb,
                               lac_var b, lac_var x);

/// x = op(A (x) B)^-1 y by a solver of A's pattern and one of B's.
LAC_API lac_var lac_kron_solve(lac_tape *tape, lac_side side, const lac_solver *sa, lac_var a, const lac_solver *sb,
                               lac_var b, lac_var y);

#ifdef __cplusplus
}
#endif
#endif
