// SPDX-License-Identifier: Apache-2.0
/// @file shapes.h
/// Shapes and parts of arrays: broadcast, reshape, slice, embed, concatenate.
///
/// Axes are counted as NumPy counts them: 0 is the first, -1 the last.
/// ops.h says what holds for every function: ownership, derivatives, errors.

#ifndef LACUNA_SHAPES_H
#define LACUNA_SHAPES_H

#include <stdbool.h>

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- shapes and parts ------------------------------------------------------------------------------------------------

/// x repeated along `count` axes of the shape of `like`: the adjoint of lac_sum_axes. x lacks these axes or, with
/// keepdims, has size 1 there. The dtype is that of x.
LAC_API lac_var lac_broadcast(lac_tape *tape, lac_var x, const lac_meta *like, int count, const int *axes,
                              bool keepdims);

/// The same numbers in the same order under another shape. Of an array that is spread over ranks, the spread axis must
/// survive; write -1 for its size wherever axes of size 1 are next to it, because a rank with one row could not
/// distinguish them.
LAC_API lac_var lac_reshape(lac_tape *tape, lac_var x, int ndim, const int64_t *shape);

/// The places begin, begin + step, ... before `end` of an axis; begin = end gives an empty array.
/// Errors: LAC_ERR_SHAPE unless 0 <= begin <= end <= size; LAC_ERR_ARG unless step > 0.
LAC_API lac_var lac_slice(lac_tape *tape, lac_var x, int axis, int64_t begin, int64_t end, int64_t step);

/// Zeros with the shape of `like`, and x at these places of an axis: the adjoint of lac_slice.
LAC_API lac_var lac_embed(lac_tape *tape, lac_var x, const lac_meta *like, int axis, int64_t begin, int64_t end,
                          int64_t step);

/// x followed by y along an axis. Axes before that axis broadcast; axes behind it have equal sizes.
LAC_API lac_var lac_concat(lac_tape *tape, lac_var x, lac_var y, int axis);

/// n arrays, n >= 1, one behind the other along an axis. Of one array the result is that var.
LAC_API lac_var lac_concat_all(lac_tape *tape, int n, const lac_var *vars, int axis);

#ifdef __cplusplus
}
#endif
#endif
