// SPDX-License-Identifier: Apache-2.0
/// @file survey.h
/// What the numbers of a matrix say about the method that it needs, found in one pass where they lie.

#ifndef LACUNA_SOLVERS_SURVEY_SURVEY_H
#define LACUNA_SOLVERS_SURVEY_SURVEY_H

#include "core/array_impl.h"
#include "core/pattern/pattern_impl.h"
#include "kernels/survey.h"

/// Values [items, nnz] on any backend. `largest` (or NULL) gets the largest size in each matrix that is square.
lac_status lac_survey_values(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, double *largest,
                             lac_survey *out);

/// The same without the closer look at dominance, which direct methods do not ask for.
lac_status lac_survey_glance(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, lac_survey *out);

/// The row and the column of a slot, for sentences.
lac_status lac_survey_place(lac_context *ctx, const lac_pattern *pattern, int64_t slot, long long *row,
                            long long *column);

/// Why a matrix is not Hermitian, for sentences: "entry (2, 5), 1, does not equal entry (5, 2), 1.5", or that it has no
/// counterpart. `values` have items of nnz numbers.
lac_status lac_survey_asymmetry(lac_context *ctx, const lac_pattern *pattern, const lac_array *values,
                                const lac_survey *survey, char *text, size_t size);

/// The ways out of it, after those that another method is.
const char *lac_survey_symmetry_ways(const lac_survey *survey);

#endif
