// SPDX-License-Identifier: Apache-2.0
/// @file outline.h
/// What eliminating a structure comes to, before anything of its factor is built: the order and its cost.
///
/// Rows are moved so that the diagonal has no gaps, where they can: pivots are foreseen there. Where the blocks of the
/// block triangular form pay, they are eliminated each by itself, and what stands below them is left as it is.

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_OUTLINE_H
#define LACUNA_SOLVERS_DIRECT_ORDER_OUTLINE_H

#include "solvers/direct/order/ordering.h"

typedef struct lac_outline {
  int32_t n;
  int32_t *order;  // the column that is eliminated k-th
  lac_cost cost;
  const char *ordering;  // that was taken: "amd", "metis", "natural"
  int32_t *row_of;       // the row of A in the diagonal place of each column; NULL: its own
  const struct lac_block_form
      *form;      // whose blocks are eliminated by themselves, kept by the structure; NULL: all is one
  int64_t below;  // entries off these blocks
} lac_outline;

/// The outline of a structure, which keeps one for each ordering; borrowed. NULL where the diagonal cannot be filled. A
/// structure that is symmetric, or whose diagonal is full, is taken as it stands.
lac_status lac_outline_get(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                           const lac_outline **out);
void lac_outline_destroy(lac_outline *outline);  // accepts NULL

/// What it holds, which the analysis that goes on from it counts as its own; 0 of NULL.
int64_t lac_outline_bytes(const lac_outline *outline);

/// Multiplications for each entry of L below which columns are so short that LU makes no dense blocks of them; a
/// Hermitian matrix, of which dense blocks need half, below fewer.
enum { LAC_OUTLINE_THIN = 40, LAC_OUTLINE_THIN_HERMITIAN = 8 };

/// Whether columns are as short as that. Where rows had to be moved, blocks cost more: rows are moved anew for them, by
/// the values, and ordered anew.
static inline bool lac_outline_is_thin(const lac_outline *outline, double products) {
  return outline && outline->cost.flops <= (outline->row_of ? 2 : 1) * products * (double)outline->cost.nnz;
}

#endif
