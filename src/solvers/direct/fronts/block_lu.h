// SPDX-License-Identifier: Apache-2.0
/// @file block_lu.h
/// When LU takes a matrix apart into the blocks of its block triangular form.

#ifndef LACUNA_SOLVERS_DIRECT_FRONTS_BLOCK_LU_H
#define LACUNA_SOLVERS_DIRECT_FRONTS_BLOCK_LU_H

#include "solvers/direct/order/structure.h"

/// Whether blocks pay: a good share of the rows stands outside the largest one. False where it cannot have an LU at all.
lac_status lac_block_lu_pays(lac_context *ctx, const lac_structure *structure, bool *pays);

#endif
