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

#endif
