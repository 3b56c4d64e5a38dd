// SPDX-License-Identifier: Apache-2.0
/// @file front_analysis.h
/// The analysis that Cholesky, L D L^H and LU share, so that falling from one to the next orders nothing anew.
///
/// Where LU must match rows with columns, or L D L^H must pair rows, the values decide the order too: the latest such
/// choice is kept here, with its scales and its supernodes, for the values to come.

#ifndef LACUNA_SOLVERS_DIRECT_SYMBOLIC_FRONT_ANALYSIS_H
#define LACUNA_SOLVERS_DIRECT_SYMBOLIC_FRONT_ANALYSIS_H

#include <pthread.h>

#include "solvers/direct/symbolic/supernodes.h"

/// A choice made by values.
typedef struct lac_front_choice {
  lac_supernodes *s;
  lac_dtype dtype;  // of the scales
  void *row_scale, *col_scale;
} lac_front_choice;

typedef enum lac_front_slot { LAC_FRONT_MATCHED, LAC_FRONT_PAIRED, LAC_FRONT_SLOTS } lac_front_slot;

typedef struct lac_front_analysis {
  lac_ordering ordering;
  lac_supernodes *plain;  // of the matrix as it stands; NULL where pivots cannot be found so: gaps on the diagonal
  pthread_mutex_t lock;   // of what follows
  lac_front_choice kept[LAC_FRONT_SLOTS];
} lac_front_analysis;

/// Slots of lac_direct_table.
lac_status lac_front_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, void **part,
                             int64_t *bytes);
void lac_front_forget(void *part);

/// The kept choice: its supernodes, held for the caller, and its scales, copied; NULL where no choice was kept for the
/// dtype.
lac_supernodes *lac_front_recall(const lac_front_analysis *analysis, lac_front_slot slot, lac_dtype dtype,
                                 void *row_scale, void *col_scale);

/// Keep a choice in place of the one before; false where memory runs out.
bool lac_front_keep(const lac_front_analysis *analysis, lac_front_slot slot, lac_dtype dtype, lac_supernodes *s,
                    const void *row_scale, const void *col_scale);

#endif
