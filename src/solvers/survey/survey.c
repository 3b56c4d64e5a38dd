// SPDX-License-Identifier: Apache-2.0
/// @file survey.c
/// The survey of values, by the backend that has them.

#include "solvers/survey/survey.h"

#include "core/search.h"
#include "kernels/kernels.h"

static lac_status survey_look(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, bool is_closer,
                              double *largest, lac_survey *out) {
  lac_status status = LAC_OK;

  LAC_CHECK(ctx->kernels->survey, LAC_ERR_UNSUPPORTED,
            "survey: the backend %s has no kernel that looks at values; copy them to a context on \"cpu\" "
            "(lac_array_read)",
            lac_context_backend(ctx));
  LAC_TRY(ctx->kernels->survey(ctx, pattern, values, is_closer, largest, out));
done:
  return status;
}

lac_status lac_survey_values(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, double *largest,
                             lac_survey *out) {
  return survey_look(ctx, pattern, values, true, largest, out);
}

lac_status lac_survey_glance(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, lac_survey *out) {
  return survey_look(ctx, pattern, values, false, NULL, out);
}

lac_status lac_survey_place(lac_context *ctx, const lac_pattern *pattern, int64_t slot, long long *row,
                            long long *column) {
  lac_status status = LAC_OK;
  int64_t next = 1, rows = pattern->rows;

  LAC_TRY(lac_pattern_host(ctx, pattern));
  LAC_SEARCH(next, rows, i, lac_buffer_get(pattern->offsets, i) <= slot)
  *row = next - 1;
  *column = lac_buffer_get(pattern->columns, slot);
done:
  return status;
}
