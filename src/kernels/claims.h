// SPDX-License-Identifier: Apache-2.0
/// @file claims.h
/// What a backend says that it has. Tests hold it to that: what is claimed must not answer LAC_ERR_UNSUPPORTED, and
/// what is not claimed is skipped. A slot of its table may serve some operations, dtypes or patterns and not others, so
/// that the slots alone do not say it.
///
/// A backend's list is its claims.def: LAC_HAS(slot) for each kernel of kernels.def that it has, from which its
/// prototypes and its table are made, and LAC_CLAIM(kind, name, dtypes, blocks) for each thing that works on it,
/// derivatives included.

#ifndef LACUNA_KERNELS_CLAIMS_H
#define LACUNA_KERNELS_CLAIMS_H

#include <stdbool.h>

#include "lacuna/array.h"

typedef enum lac_claim_kind {
  LAC_CLAIM_OPERATOR,  // by its name
  /// A method or a preconditioner, by its name; `direct` stands for all direct methods, `grid` for multigrid on grids
  LAC_CLAIM_SOLVER
} lac_claim_kind;

/// Sets of dtypes.
enum { LAC_CLAIM_REAL = 1 << LAC_F32 | 1 << LAC_F64, LAC_CLAIM_ALL = LAC_CLAIM_REAL | 1 << LAC_C64 | 1 << LAC_C128 };

/// Whether patterns may have blocks.
enum { LAC_CLAIM_SCALAR, LAC_CLAIM_BLOCKS };

typedef struct lac_claim {
  lac_claim_kind kind;
  const char *name;
  unsigned dtypes;  // bit i: lac_dtype i
  int blocks;
} lac_claim;

/// The list of a backend.
typedef struct lac_claims {
  int count;
  const lac_claim *list;
} lac_claims;

/// Whether a list has something. No list stands for all that there is: the CPU's.
bool lac_claims_have(const lac_claims *claims, lac_claim_kind kind, const char *name, lac_dtype dtype, bool has_blocks);

#endif
