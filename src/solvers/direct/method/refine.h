// SPDX-License-Identifier: Apache-2.0
/// @file refine.h
/// A solve that measures its own error and mends it.

#ifndef LACUNA_SOLVERS_DIRECT_METHOD_REFINE_H
#define LACUNA_SOLVERS_DIRECT_METHOD_REFINE_H

#include "solvers/direct/method/method.h"

/// One matrix with its factor.
typedef struct lac_system {
  const lac_direct_table *table;
  const lac_structure *structure;
  const void *analysis, *numeric, *values;
  lac_dtype dtype;
  int threads;      // that a solve may use
  lac_stop *stop;   // looked at between solves; or NULL
  bool is_stable;   // the factor is known to be good: the verdict may be mild
  bool is_regular;  // and the matrix not singular to working precision: then milder still
} lac_system;

/// Five blocks of n rows and `width` columns: the right-hand sides, the solution, and room to work.
enum { REFINE_B, REFINE_X, REFINE_R, REFINE_Y, REFINE_WORK, REFINE_BLOCKS };

/// A backward error of so many roundings is good: more is not asked for.
enum { REFINE_GOOD = 32 };

/// What came of each column.
typedef struct lac_refined {
  double growth[LAC_BLOCK_WIDTH];  // |A| |x| / |b|
  double error[LAC_BLOCK_WIDTH];   // the backward error that was accepted
} lac_refined;

/// Solve A x = b (LAC_PLAIN) or A^T x = b (LAC_TRANSPOSED). `out` may be NULL. Errors: LAC_ERR_CONVERGENCE when the
/// backward error stays large, LAC_ERR_NONFINITE when a finite b gives an x that is not; and what the method's own
/// solve fails with. A column of b with NaN or infinity passes through.
lac_status lac_refine_solve(const lac_system *a, lac_form form, int width, void *blocks[REFINE_BLOCKS],
                            lac_refined *out, lac_fault *fault);

/// Probe a factor whose pivots are in doubt: A x = b, and A^T x = b too where `both`, are solved and refined, with
/// numbers b that are as large as 1 in a matrix scaled by rows and columns (NULL: as it is). LAC_ERR_CONVERGENCE, with
/// the error said, where it does not come down to rounding. Numbers without order reach into every null space: a matrix
/// that is singular does not pass.
lac_status lac_refine_probe(const lac_system *a, bool both, const void *row_scale, const void *col_scale, double *error,
                            lac_fault *fault);

#endif
