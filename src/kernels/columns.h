// SPDX-License-Identifier: Apache-2.0
/// @file columns.h
/// What Krylov methods do to vectors [items, n, k]: each column of each item has coefficients of its own.
///
/// The coefficients are a state: pairs of doubles [slots, items, k] in backend memory, whatever the dtype of the vectors, so
/// that those of f32 neither underflow nor lose digits. A pass is a list of operations on vectors of one shape, run one after
/// the other on a block of rows while it is in the cache: each vector comes from memory once. A step (column_steps.h)
/// computes new coefficients from old ones, column by column.

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
  double floor;        // of a right-hand side that is all rounding, beside what it was
  int64_t window;      // iterations without progress that are stagnation
  int64_t iteration;   // of this column's cycle
  int64_t restart;     // longest cycle
  int first, is_last;  // the first look at the residual; the last
  int has_m;           // there is a preconditioner
  int is_lsmr;         // not LSQR
  int is_rectangular;  // a least-squares solution is what is asked for
  double least;        // |A^H r| beside |A| |r| that is none
} lac_step_numbers;

/// The steps: LAC_STEP(name) is lac_step_<name>(coefficients of a column, distance of its slots, numbers).
#define LAC_STEPS(LAC_STEP) \
  LAC_STEP(open)            \
  LAC_STEP(norm)            \
  LAC_STEP(look)            \
  LAC_STEP(again)           \
  LAC_STEP(cg_alpha)        \
  LAC_STEP(cg_residual)     \
  LAC_STEP(cg_plain)        \
  LAC_STEP(cg_beta)         \
  LAC_STEP(cg_flexible)     \
  LAC_STEP(gmres_begin)     \
  LAC_STEP(gmres_column)    \
  LAC_STEP(gmres_solve)     \
  LAC_STEP(bicgstab_begin)  \
  LAC_STEP(bicgstab_alpha)  \
  LAC_STEP(bicgstab_half)   \
  LAC_STEP(bicgstab_omega)  \
  LAC_STEP(bicgstab_end)    \
  LAC_STEP(bicgstab_keep)   \
  LAC_STEP(minres_begin)    \
  LAC_STEP(minres_alpha)    \
  LAC_STEP(minres_rotate)   \
  LAC_STEP(minres_residual) \
  LAC_STEP(gk_begin)        \
  LAC_STEP(gk_first)        \
  LAC_STEP(gk_u)            \
  LAC_STEP(lsqr_rotate)     \
  LAC_STEP(lsmr_rotate)

#define LAC_STEP(name) LAC_STEP_##name,
typedef enum lac_column_step { LAC_STEPS(LAC_STEP) LAC_STEPS_END } lac_column_step;
#undef LAC_STEP

#endif
