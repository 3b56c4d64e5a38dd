// SPDX-License-Identifier: Apache-2.0
/// @file survey.h
/// What the numbers of a matrix say to an iterative solver: one pass over them, without the structure that direct solvers read.

#ifndef LACUNA_SOLVERS_SURVEY_SURVEY_H
#define LACUNA_SOLVERS_SURVEY_SURVEY_H

#include "core/array_impl.h"
#include "core/pattern/pattern_impl.h"

/// Of all matrices of a batch. Slots and rows are the first offender of the first matrix that has one, or -1.
typedef struct lac_survey {
  int64_t nonfinite;     // slot of a NaN or an infinity; the others mean nothing then
  int64_t asymmetric;    // slot of an entry (i, j) that is not conj of (j, i), to a few roundings; 0 for a rectangle
  int64_t not_positive;  // row whose diagonal is not a positive number
  int64_t without;       // row whose diagonal is zero or not stored
  int64_t nonfinite_item, asymmetric_item, not_positive_item, without_item;
  bool is_unpaired;  // what makes it asymmetric is that (j, i) is not stored
  bool is_m_like;    // real parts: a positive diagonal, and all but a small share of what stands beside it is negative
  // The most that stands beside a diagonal entry, as a share of it: of all rows, or of all columns if that is less; from 1 on neither
  // dominate. Columns are asked where rows do not and the matrix is neither Hermitian nor m_like; sizes of complex entries are at most sqrt(2)
  // too large unless that alone would tell against iterating.
  double dominance;
} lac_survey;

/// Values [items, nnz], on any backend: they come to the host where they are elsewhere. `largest` (or NULL) gets the largest size in each matrix
/// that is square.
lac_status lac_survey_values(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, double *largest,
                             lac_survey *out);

/// The row and the column of a slot, for sentences.
void lac_survey_place(const lac_pattern *pattern, int64_t slot, long long *row, long long *column);

#endif
