// SPDX-License-Identifier: Apache-2.0
/// @file eliminate.h
/// Elimination of the first p of the p + r rows and columns of an assembled front, in place.
///
///     LU        Pi A_PP = L_PP U_PP          U_PR = L_PP^-1 Pi A_PR          L_RP = A_RP U_PP^-1
///               update = beta update - L_RP U_PR
///     L D L^H   Pi A_PP Pi^T = L_PP D L_PP^H                                 L_RP = A_RP Pi^T L_PP^-H D^-1
///               update = beta update - L_RP D L_RP^H
///     Cholesky  A_PP = L_PP L_PP^H                                           L_RP = A_RP L_PP^-H
///               update = beta update - L_RP L_RP^H
///
/// Pivots are chosen among the p: by columns for LU (the largest), of one or two rows for L D L^H (Bunch and Kaufman
/// 1977). One that is smaller than `small` times what it eliminates is enlarged to that and counted: nothing grows by
/// more than 1 / small at once. Panels are those of fronts.h.

#ifndef LACUNA_SOLVERS_DIRECT_DENSE_ELIMINATE_H
#define LACUNA_SOLVERS_DIRECT_DENSE_ELIMINATE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct lac_front {
  int p, r, threads;
  int32_t first;    // the step of the first column: pivots are steps
  void *l;          // A_PP and A_RP, (p + r) x p, leading dimension p + r; L D L^H reads the lower triangle of A_PP
  void *u;          // LU: A_PR^T, r x p, leading dimension r
  void *update;     // r x r, leading dimension r, symmetric kinds: the lower triangle; not read where beta is 0
  void *work;       // L D L^H: (p + r) p numbers; LU: p int32_t
  int32_t *pivots;  // p: at step first + k the pivot row (and column) is that of step pivots[k]
  void *d_below;    // L D L^H: p: D(k + 1, k), nonzero where a block of 2 begins at k
  const int32_t *like_pivots;  // the choices of an earlier factor, to be taken over; NULL: choose
  const void *like_d_below;    // L D L^H: which of those were blocks of 2
  const double *norms;         // Cholesky: p: the largest number of each row as it came; the others: none
  double small;
  double beta;  // 1: A_RR is there; 0: the driver adds it afterwards
  // What came of it.
  int32_t where;    // the step of
  double smallest;  // the smallest pivot; Cholesky: relative to its row's largest number
  double largest;   // the largest number that stands in the front or comes of a pivot
  int perturbed;    // pivots enlarged,
  int zeros;        // and those of them that were zero with nothing but zeros to eliminate: `smallest` is 0 then
} lac_front;

/// Where the row stands that an earlier factor had at k; pivots[], which is what stands where, then has it at k.
static inline int lac_front_earlier(lac_front *f, int k) {
  int at = k;
  while (f->pivots[at] != f->like_pivots[k]) at++;
  f->pivots[at] = f->pivots[k];
  f->pivots[k] = f->like_pivots[k];
  return at;
}

static inline double lac_front_larger(double a, double b) { return b > a ? b : a; }

/// One front by lac_dtype. False when a number is not finite; Cholesky: when the pivot of step `where`, which is
/// `smallest`, is not positive.
typedef bool lac_eliminate(lac_front *front);
extern lac_eliminate *const lac_eliminate_lu[4], *const lac_eliminate_ldlt[4], *const lac_eliminate_cholesky[4];

#endif
