// SPDX-License-Identifier: Apache-2.0
/// @file reductions.h
/// Sums, means, products, extremes, norms and softmax: over axes, over the groups of a map, over the lines of a matrix.
///
/// Sums have one order on any number of threads: the bits of a result do not depend on it.
/// ops.h says what holds for every function: ownership, derivatives, errors.

#ifndef LACUNA_REDUCTIONS_H
#define LACUNA_REDUCTIONS_H

#include <stdbool.h>

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- reductions over axes --------------------------------------------------------------------------------------------

// `count` axes are reduced, counted as NumPy counts them: 0 is the first, -1 the last. A count of 0 with NULL stands
// for all axes, and LAC_ALL_AXES writes that; LAC_AXES(-1) or LAC_AXES(0, 1) writes both arguments (C only).
// Shapes: reduced axes are dropped or, with keepdims, have size 1.
// Errors: LAC_ERR_SHAPE for an axis that the array lacks or that is named twice.

#define LAC_ALL_AXES 0, NULL
#define LAC_AXES(...) \
  (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]) { __VA_ARGS__ }

/// The sum over these axes, and the sum over all axes, a single number. Over an axis that is spread over ranks it is
/// the sum over all ranks.
LAC_API lac_var lac_sum_axes(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);
LAC_API lac_var lac_sum(lac_tape *tape, lac_var x);

/// n^power for the count n of numbers along these axes: one number in the dtype of x, whose numbers are not read.
/// Derivatives: zero.
LAC_API lac_var lac_extent(lac_tape *tape, lac_var x, int count, const int *axes, double power);

/// The mean; NaN over an empty axis.
LAC_API lac_var lac_mean(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// The product; 1 over an empty axis.
/// Derivatives: exact where numbers are zero.
/// Cost: pairs are multiplied in log2(n) rounds, each of which makes an array.
LAC_API lac_var lac_prod(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// The largest and the smallest number of real arrays; NaN where a number is NaN.
/// Derivatives: numbers that tie have equal shares.
/// Errors: LAC_ERR_SHAPE for an empty axis; LAC_ERR_DTYPE for complex arrays.
LAC_API lac_var lac_max(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);
LAC_API lac_var lac_min(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// The norms sqrt(sum |x|^2), sum |x| and max |x|, of a real dtype. Squares neither overflow nor underflow.
/// Derivatives: zero at x = 0.
/// Errors: LAC_ERR_SHAPE for the last of them over an empty axis.
LAC_API lac_var lac_norm(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);
LAC_API lac_var lac_norm1(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);
LAC_API lac_var lac_norm_inf(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// log(sum(exp(x))) of real arrays, without overflow; -inf where all numbers are -inf, with a gradient of zero.
/// Errors: LAC_ERR_DTYPE for complex arrays.
LAC_API lac_var lac_logsumexp(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// exp(x) / sum(exp(x)) of real arrays, the sum over these axes, in the shape of x; 0 where all numbers are -inf.
/// Errors: LAC_ERR_DTYPE for complex arrays.
LAC_API lac_var lac_softmax(lac_tape *tape, lac_var x, int count, const int *axes);

/// log(softmax(x)) = y - logsumexp(y) for y = x - max(x): no digits are lost, however large x is.
/// Errors: LAC_ERR_DTYPE for complex arrays.
LAC_API lac_var lac_log_softmax(lac_tape *tape, lac_var x, int count, const int *axes);

/// The running sums along an axis, from its first place on or, backwards, from its last.
LAC_API lac_var lac_cumsum(lac_tape *tape, lac_var x, int axis, bool backwards);

// -- reductions over groups ------------------------------------------------------------------------------------------

// The group of an output of a map is the set of its sources. The sum of each group is lac_remap (structure.h). With
// lac_pattern_row_map and lac_pattern_col_map the groups are the rows and the columns of a matrix.
// Shapes: x is (p), one number for each input of the map; a result for each group is (q), q outputs.

/// d[target i] a_i: each number a_i (p) times the number d (q) of its group; 0 where the map drops an input. With the
/// map from the entries of element matrices to their elements, followed by lac_remap, this assembles a matrix from one
/// number for each element (docs/assembling.md).
LAC_API lac_var lac_segment_scale(lac_tape *tape, const lac_map *map, lac_var d, lac_var a);

LAC_API lac_var lac_segment_dot(lac_tape *tape, const lac_map *map, lac_var u, lac_var v);  ///< sums of u_i conj(v_i)

/// The mean of each group, 0 for an empty one. Entries of x are blocks of `axes` axes, as in lac_remap_blocks: 0 for
/// numbers (p), 1 for rows of features (p, k), whose sums are lac_scatter_add.
LAC_API lac_var lac_segment_mean(lac_tape *tape, const lac_map *map, lac_var x, int axes);

/// The log of the sum of exp(x) over each group (q), and the weights exp(x) / sum (p), of real arrays.
/// `full`: the length of a group, of which the entries that are not stored are zeros and take part. 0: only stored
/// entries count, and an empty group gives -inf.
/// Errors: LAC_ERR_DTYPE for complex arrays.
LAC_API lac_var lac_segment_logsumexp(lac_tape *tape, const lac_map *map, lac_var x, int64_t full);
LAC_API lac_var lac_segment_softmax(lac_tape *tape, const lac_map *map, lac_var x, int64_t full);

/// Which extreme.
typedef enum lac_extreme { LAC_EXTREME_LARGEST, LAC_EXTREME_SMALLEST } lac_extreme;

/// The extreme of each group (q), of real arrays; with `full` = 0 an empty group gives -inf (largest) or +inf
/// (smallest), else `full` is that of lac_segment_logsumexp.
/// Derivatives: numbers that tie have equal shares, zeros that are not stored included.
/// Errors: LAC_ERR_DTYPE for complex arrays.
LAC_API lac_var lac_segment_max(lac_tape *tape, const lac_map *map, lac_var x, int64_t full, lac_extreme extreme);

/// The shares (p) that the derivative of lac_segment_max has: 1 / n for each of n numbers that tie, else 0.
/// Derivatives: zero.
LAC_API lac_var lac_segment_ties(lac_tape *tape, const lac_map *map, lac_var x, int64_t full, lac_extreme extreme);

// -- reductions over the lines of a matrix ---------------------------------------------------------------------------

/// Which lines of a matrix.
typedef enum lac_lines { LAC_LINES_ROWS, LAC_LINES_COLS } lac_lines;

/// Entries that are not stored.
typedef enum lac_absent {
  LAC_ABSENT_IS_ZERO,    ///< they are zeros and take part: the result is that of the dense matrix
  LAC_ABSENT_IS_NOTHING  ///< they do not take part
} lac_absent;

/// The reductions of lac_segment_logsumexp, _softmax and _max over each row or column of a real matrix, a (nnz).
/// Shapes: (rows) or (cols); of the softmax (nnz).
LAC_API lac_var lac_sparse_logsumexp(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines,
                                     lac_absent absent);
LAC_API lac_var lac_sparse_softmax(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines,
                                   lac_absent absent);
LAC_API lac_var lac_sparse_max(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines,
                               lac_absent absent, lac_extreme extreme);

/// lac_sparse_logsumexp over the columns, out[0] (cols), and over the rows, out[1] (rows).
LAC_API void lac_sparse_bidir_logsumexp(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_absent absent,
                                        lac_var out[2]);

#ifdef __cplusplus
}
#endif
#endif
