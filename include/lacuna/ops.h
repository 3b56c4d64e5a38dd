// SPDX-License-Identifier: Apache-2.0
/// @file ops.h
/// The operators, one prototype each. Equations and rules stand at the head of each operator's room, src/ops/<name>.c.
///
/// All take vars of one tape and return a var; all are differentiable to any order in all their vars unless said. Leading
/// dimensions are batch and broadcast (aligned at the right, equal or 1). Dense operands carry their columns: a vector is (n, 1).
/// Errors stick to the tape: LAC_ERR_SHAPE, LAC_ERR_DTYPE, LAC_ERR_MEMORY everywhere, others as said.

#ifndef LACUNA_OPS_H
#define LACUNA_OPS_H

#include "lacuna/format.h"
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

// -- structure -------------------------------------------------------------------------------------------------------

/// y = M x (LAC_N) or M^T x (LAC_T) on the last axis. With the maps of pattern.h: transpose, triangle, submatrix, diagonal,
/// to_dense, coalesce.
LAC_API lac_var lac_remap(lac_tape *tape, const lac_map *map, lac_side side, lac_var x);

/// A + B on the union of two patterns. `out` (optional) receives the union, to be destroyed by the caller.
LAC_API lac_var lac_spadd(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                          lac_pattern **out);

// -- products --------------------------------------------------------------------------------------------------------

/// y = op(A) x: a (nnz), x (n, k), y (m, k). Where the pattern has blocks, a is (nnz, br, bc).
LAC_API lac_var lac_spmm(lac_tape *tape, const lac_pattern *pattern, lac_side side, lac_var a, lac_var x);

/// s_z = sum_k u[row z, k] conj(v[col z, k]) for each slot z: u (rows, k), v (cols, k), s (nnz). No rows x cols anywhere.
LAC_API lac_var lac_sddmm(lac_tape *tape, const lac_pattern *pattern, lac_var u, lac_var v);

/// C = A B on the pattern of the product. `out` (optional) receives that pattern, to be destroyed by the caller.
LAC_API lac_var lac_spgemm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                           lac_pattern **out);

/// t = op(X) op(Y) at the slots of `target` alone.
LAC_API lac_var lac_sampled_spgemm(lac_tape *tape, const lac_pattern *target, const lac_pattern *px, lac_side sx,
                                   lac_var x, const lac_pattern *py, lac_side sy, lac_var y);

/// y = A x with A in sliced ELL: a holds the numbers of the format's storage, lac_remap(lac_format_map(format)) of the values by
/// slots. Padding is not read and gets a gradient of zero. LAC_ERR_ARG for a format of another kind.
LAC_API lac_var lac_sell_mm(lac_tape *tape, const lac_format *format, lac_var a, lac_var x);

// -- solves ----------------------------------------------------------------------------------------------------------

/// op(T) x = b with T the named triangle of the matrix. Entries outside it, and a stored diagonal under LAC_UNIT, are not read
/// and get a gradient of exactly zero. LAC_ERR_SINGULAR names a zero or missing diagonal.
LAC_API lac_var lac_trisolve(lac_tape *tape, const lac_pattern *pattern, lac_triangle triangle, lac_diagonal diagonal,
                             lac_side side, lac_var a, lac_var b);

/// x = op(A)^-1 b with a factor of these values. LAC_ERR_STALE when `a` is not what `factor` was made of.
LAC_API lac_var lac_solve_with(lac_tape *tape, const lac_factor *factor, lac_side side, lac_var a, lac_var b);

/// x = op(A)^-1 b: factor and solve. Every derivative of every order uses the factor made here.
LAC_API lac_var lac_solve(lac_tape *tape, const lac_solver *solver, lac_side side, lac_var a, lac_var b);

#ifdef __cplusplus
}
#endif
#endif
