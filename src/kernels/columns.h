// SPDX-License-Identifier: Apache-2.0
/// @file columns.h
/// What Krylov methods do to vectors [items, n, k]: each column of each item has coefficients of its own.
///
/// The coefficients are a state: pairs of doubles [slots, items, k] in backend memory, whatever the dtype of the
/// vectors, so that those of f32 neither underflow nor lose digits. A pass is a list of operations on vectors of one
/// shape, run one after the other on a block of rows while it is in the cache: each vector comes from memory once. A
/// step (column_steps.h) computes new coefficients from old ones, column by column.

#ifndef LACUNA_KERNELS_COLUMNS_H
#define LACUNA_KERNELS_COLUMNS_H

#include "lacuna/array.h"

typedef struct lac_pair {
  double re, im;
} lac_pair;

/// What an operation does with c = sign * state[slot]. A c of exactly zero shuts out what it multiplies, NaN included.
typedef enum lac_column_what {
  LAC_COLUMN_ADD,    // y += c x
  LAC_COLUMN_TURN,   // y = x + c y
  LAC_COLUMN_SCALE,  // y = c x; x may be y
  LAC_COLUMN_TAKE,   // y = x where c is not zero
  LAC_COLUMN_DOT     // state[slot] = sum of conj(x) y over the rows; accumulates in f64
} lac_column_what;

typedef struct lac_column_op {
  lac_column_what what;
  int slot;
  double sign;
  const lac_array *x;
  lac_array *y;  // DOT only reads it
} lac_column_op;

/// The numbers of a step that are the same for all columns.
typedef struct lac_step_numbers {
  double rtol, atol;
  double low, high;    // norms outside are scaled
  int reach;           // by two to this power at most
  double epsilon;      // the rounding of the vectors' dtype
  double floor;        // size of a right-hand side that is rounding alone, relative to the original one
  int64_t window;      // iterations without progress that are stagnation
  int64_t iteration;   // of this column's cycle
  int64_t restart;     // longest cycle
  int first, is_last;  // the first look at the residual; the last
  int has_m;           // there is a preconditioner
  int is_lsmr;         // not LSQR
  int is_rectangular;  // a least-squares solution is wanted
  double least;        // |A^H r| / (|A| |r|) that counts as zero
} lac_step_numbers;

/// The steps, as solvers/krylov/krylov.def lists them with their methods.
typedef enum lac_column_step {
#define LAC_STEP(name) LAC_STEP_##name,
#include "solvers/krylov/krylov.def"
  LAC_STEP_END
} lac_column_step;

#endif
