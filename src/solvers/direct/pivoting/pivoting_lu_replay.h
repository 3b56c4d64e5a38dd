// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu_replay.h
/// An elimination with known pivots, written down: which numbers are multiplied, without a loop over columns.
///
/// Where columns of L and U have two or three entries, finding out where they begin and end takes longer than what is
/// computed with them. A replay has all multiplications of a shape in a list, and entries with their columns:
///
///     read         v[target] = a scale                  all of A
///     each level   v[t] -= v[l] v[u] ...                columns that need no other one of the level
///                  v[l] *= 1 / pivot ...                theirs of L
///     solve        x[row] -= v x[col] ...               L, then U with x_col over its pivot, then what is below
///
/// What is read again and again must stay in the cache: indices have 16 bits, and what is larger has no replay.
///
/// The numbers of a factor lie in one block v: L, U, the diagonal, what is below the blocks, waste, and one over the
/// diagonal.
/// Sums are taken in the order in which they are without a replay, of factors and of solutions: the bits are the same,
/// but for complex numbers, whose products compilers fuse in more than one way. Scales, powers of two, are taken over
/// while they bring the largest number of every row and column of a block near 1: those that did so are looked at
/// again.

#ifndef LACUNA_SOLVERS_DIRECT_PIVOTING_PIVOTING_LU_REPLAY_H
#define LACUNA_SOLVERS_DIRECT_PIVOTING_PIVOTING_LU_REPLAY_H

#include "solvers/direct/pivoting/pivoting_lu.h"

/// Two products with the same number of U: v[to] -= v[l] v[u] and v[other] -= v[l + 1] v[u]. Where there is one alone,
/// the other is waste.
typedef struct replay_step {
  uint16_t to, other, l, u;
} replay_step;

/// v[l] over the pivot of a step.
typedef struct replay_quotient {
  uint16_t l, step;
} replay_quotient;

/// An entry of a factor, by steps.
typedef struct replay_place {
  uint16_t row, col;
} replay_place;

typedef struct pivoting_replay {
  lac_dtype dtype;
  int32_t n;
  int32_t u, diagonal, below, waste, inverse, count;  // where these begin in v, and how many numbers it has
  int32_t entries;                                    // of A
  uint16_t *target;                                   // by slots
  int16_t *power;  // likewise: scales are powers of two, twice the exponent; one more for what is below the blocks
  int32_t levels;
  int32_t *first_step, *first_column, *first_quotient;  // levels + 1
  replay_step *step;
  uint16_t *column;  // n: steps of elimination by levels
  replay_quotient *quotient;
  double *demand;     // of each quotient, where pivots are chosen: this one is while demand |v[l]| <= |pivot|
  uint16_t *largest;  // where the largest number of each row and column is read to
  int32_t nears;      // and how many these are
  uint16_t *unit;     // n: the slot of the largest number of each column, not scaled
  int32_t *segment;   // segments + 1: steps at which a block begins, or a run of blocks of one row
  int32_t segments;
  replay_place *l_at, *u_at, *below_at;  // of the numbers of the three, in their order
  void *row_scale, *col_scale;           // R and C
  float *load_scale, *store_scale;       // the same by steps
  uint16_t *load_at, *store_at;          // n: the row and the column of each step
  int64_t bytes;                         // of all this
  _Atomic bool is_counted;               // by a factor
} pivoting_replay;

void pivoting_replay_destroy(pivoting_replay *replay);  // accepts NULL

/// A factor in this shape by its replay. NULL: there is none, a pivot would not be taken on the diagonal, however
/// readily, or, where they shall be those that a search finds with these scales (`chosen`), it would find another one,
/// scales do not suit, or there is no memory.
pivoting_numeric *pivoting_replay_factor(const lac_direct_job *job, pivoting_shape *shape, bool chosen);

/// Such a factor is kept: the first one counts the memory of the replay as its own.
void pivoting_replay_count(pivoting_numeric *f);

/// Values of a shape were factored anew to `f`: when that happens for the second time a replay is written, where it is
/// worth its memory.
void pivoting_replay_learn(const lac_direct_job *job, const pivoting_numeric *f, pivoting_shape *shape);

/// x = A^-1 b for one column, by a factor that a replay made.
void pivoting_replay_solve(const pivoting_numeric *f, const void *b, void *x, void *work);

#endif
