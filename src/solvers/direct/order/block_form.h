// SPDX-License-Identifier: Apache-2.0
/// @file block_form.h
/// The block triangular form: rows and columns in an order that leaves nothing above square diagonal blocks.
///
///     A(rows, cols) = [ A_00              ]
///                     [ A_10  A_11        ]      no block can be taken apart further
///                     [ A_20  A_21  A_22  ]

#ifndef LACUNA_SOLVERS_DIRECT_ORDER_BLOCK_FORM_H
#define LACUNA_SOLVERS_DIRECT_ORDER_BLOCK_FORM_H

#include "solvers/direct/order/structure.h"

typedef struct lac_block_form {
  int32_t n;
  int32_t rank;    // how many places of the diagonal have an entry: the structural rank
  int32_t blocks;  // n of them: the matrix is triangular
  int32_t *rows;   // n: the row of A at each place
  int32_t *cols;   // n: and the column
  int32_t *first;  // blocks + 1: where each block begins
  int32_t *block;  // n: the block that a column of A is in
  int32_t vacant;  // the first place whose diagonal has no entry, or -1
} lac_block_form;

/// The form of a structure, which keeps it; borrowed. Time: proportional to the entries, but for the matching.
lac_status lac_block_form_get(lac_context *ctx, const lac_structure *structure, const lac_block_form **out);
void lac_block_form_destroy(lac_block_form *form);  // accepts NULL

/// Whether to take a matrix apart pays: a good share of the rows stands outside the largest block. False where the
/// structural rank is not full.
bool lac_block_form_pays(const lac_block_form *form);

/// How many sets of blocks there are that have nothing to do with each other.
lac_status lac_block_form_components(lac_context *ctx, const lac_structure *structure, const lac_block_form *form,
                                     int32_t *out);

/// Whether the permutation that takes rows[k] to cols[k] is odd.
lac_status lac_block_form_parity(lac_context *ctx, const lac_block_form *form, bool *is_odd);

#endif
