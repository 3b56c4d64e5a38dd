// SPDX-License-Identifier: Apache-2.0
/// @file certainty.h
/// How much of a solution is certain: condition numbers and forward errors that do not depend on units.

#ifndef LACUNA_SOLVERS_DIRECT_METHOD_CERTAINTY_H
#define LACUNA_SOLVERS_DIRECT_METHOD_CERTAINTY_H

#include "solvers/direct/method/inverse_norm.h"

/// A relative error from which on no digit of x is certain, and one from which on this is worth a warning.
static const double LAC_CERTAINTY_NONE = 0.3, LAC_CERTAINTY_FEW = 0.01;
static const double LAC_CERTAINTY_DOUBT = 0.29;  // as near to none as a warning goes

/// How far apart the units of the unknowns of op(A) are, by the largest number before each: the smallest over the
/// largest, or a number below that which is `enough`.
double lac_certainty_apart(const lac_system *a, lac_form form, double enough);

/// Room for estimates about one matrix.
typedef struct lac_certainty {
  lac_inverse_task task;
  lac_form form;         // LAC_PLAIN or LAC_TRANSPOSED: of the systems that are asked about
  double *left, *right;  // weights
  bool counts_b;         // the size of x is at least that of b
  int32_t parts,
      *part;  // that have nothing to do with each other; which one columns and, behind them, rows are in; or NULL
  void *memory;
} lac_certainty;

/// By solves as the factor has them, or refined. All units are one. Close it in any case. LAC_ERR_MEMORY, and where
/// solves end early LAC_ERR_INTERRUPTED: the fault has a text.
lac_status lac_certainty_open(const lac_system *a, bool refines, lac_form form, lac_certainty *out, lac_fault *fault);
void lac_certainty_close(lac_certainty *c);

/// Take units of the matrix, and look at its parts one by one. It costs a matching. Errors as above.
lac_status lac_certainty_units(lac_certainty *c, lac_fault *fault);

/// Take all units for one again.
void lac_certainty_plain(lac_certainty *c);

/// Ask for errors of the rows from `from` on alone, the unknowns of a least-squares system whose matrix has numbers
/// near 1. They count in b too: where all of b is residual, the unknowns are noise.
void lac_certainty_rows(lac_certainty *c, int64_t from);

/// The condition of op(A): the most that rounding of its numbers can do to a solution, in roundings.
lac_status lac_certainty_condition(lac_certainty *c, double *condition, lac_fault *fault);

/// The relative error of column `column` of a solution x of op(A) x = b, blocks of `width` columns; 0 where x is zero.
lac_status lac_certainty_error(lac_certainty *c, int width, int column, const void *b, const void *x, double *error,
                               lac_fault *fault);

#endif
