// SPDX-License-Identifier: Apache-2.0
/// @file matching.h
/// Matchings of rows with columns: large numbers, or simply entries, for the diagonal.

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_MATCHING_H
#define LACUNA_SOLVERS_DIRECT_ORDER_MATCHING_H

#include "lacuna/array.h"
#include "solvers/direct/order/structure.h"

/// The matching with the largest product of |a_ij| (|re| + |im|): row i goes to the diagonal place of column match[i].
/// Stored zeros are no entries. Where the diagonal dominates every row, or every column, it is the identity.
///
/// The scalings, n numbers each, are powers of two: row_scale[i] col_scale[j] |a_ij| is at most 2, and within a factor
/// of 2 of 1 where j = match[i], unless the dtype's range forbids. lac_matching_scaled multiplies without overflow.
///
/// Errors: LAC_ERR_SINGULAR where only `rank` < n rows have a column: each other row i has match[i] = -1 - j with a
/// column j that is left over too, and the scalings are undefined. LAC_ERR_MEMORY. There is no context: the caller has
/// the words.
lac_status lac_matching(const lac_structure *structure, lac_dtype dtype, const void *values, int32_t *match,
                        double *row_scale, double *col_scale, int32_t *rank);

/// a r c, where two of them alone may overflow or underflow and all three do not.
static inline double lac_matching_scaled(double a, double r, double c) {
  return (r > 1) == (c > 1) ? a * r * c : a * (r * c);
}

/// The same by structure alone, as many entries as possible; returns their number, or -1 where memory runs out. Rows
/// that are left over have match[i] = -1 - j.
int32_t lac_matching_structural(const lac_structure *structure, int32_t *match);

#endif
