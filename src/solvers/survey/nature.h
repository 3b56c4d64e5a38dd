// SPDX-License-Identifier: Apache-2.0
/// @file nature.h
/// What the numbers of a matrix say about the method it needs.

#ifndef LACUNA_SOLVERS_SURVEY_NATURE_H
#define LACUNA_SOLVERS_SURVEY_NATURE_H

#include "lacuna/array.h"
#include "solvers/direct/order/structure.h"

/// Each is the first offender, or -1 where there is none.
typedef struct lac_values_nature {
  int64_t nonfinite;     // slot of a NaN or an infinity
  int64_t asymmetric;    // slot of an entry (i, j) that is not conj of (j, i), to a few roundings
  int64_t not_positive;  // row whose diagonal is not a positive number
} lac_values_nature;

/// One pass over the values of one matrix; the last two are found only when all numbers are finite.
lac_values_nature lac_values_nature_of(const lac_structure *structure, lac_dtype dtype, const void *values);

#endif
