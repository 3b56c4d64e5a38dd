// SPDX-License-Identifier: Apache-2.0
/// @file pairs.h
/// Pairs of rows of a Hermitian matrix that are to be eliminated together, by pivots of two rows.

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_PAIRS_H
#define LACUNA_SOLVERS_DIRECT_ORDER_PAIRS_H

#include "lacuna/array.h"
#include "solvers/direct/order/structure.h"

/// mate[i] is the other row of a pair, or i itself; `count` pairs. Scales as scaling.h has them: the matrix stays
/// Hermitian, its numbers are at most about 1, and about 1 between the two of a pair and on the diagonal of a single
/// row. LAC_ERR_SINGULAR where rows and columns cannot all be matched: mate is undefined then. LAC_ERR_MEMORY.
lac_status lac_pairs_find(const lac_structure *structure, lac_dtype dtype, const void *values, int32_t *mate,
                          void *row_scale, void *col_scale, int32_t *count);

#endif
