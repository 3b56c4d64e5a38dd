// SPDX-License-Identifier: Apache-2.0
/// @file survey.c
/// The survey of values, by the backend that has them.

#include "solvers/survey/survey.h"

#include <stdio.h>

#include "core/number_at.h"
#include "core/numbers/search.h"
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

// -- what is not Hermitian -------------------------------------------------------------------------------------------

const char *lac_survey_symmetry_ways(const lac_survey *survey) {
  return survey->is_unpaired ? "or, where one triangle stands for the whole matrix, add the other one (lac_mirror)"
                             : "or, where it should be Hermitian, take the mean of the values and their transpose, or "
                               "say assume_hermitian";
}

/// A number as a sentence has it; imaginary parts where there are any.
static lac_status survey_number(lac_context *ctx, const lac_array *values, int64_t at, char text[64]) {
  lac_status status = LAC_OK;
  lac_dtype dtype = values->meta.dtype;
  size_t size = lac_dtype_size(dtype);
  lac_number number;
  c128 x;

  LAC_TRY(ctx->backend->download(ctx, &number, (const char *)values->storage->data + (size_t)at * size, size));
  x = lac_number_get(dtype, &number, 0);
  if (lac_dtype_is_complex(dtype)) {
    snprintf(text, 64, "%.17g%+.17gi", creal(x), cimag(x));
  } else {
    snprintf(text, 64, "%.17g", creal(x));
  }
done:
  return status;
}

lac_status lac_survey_asymmetry(lac_context *ctx, const lac_pattern *pattern, const lac_array *values,
                                const lac_survey *survey, char *text, size_t size) {
  lac_status status = LAC_OK;
  long long row = 0, column = 0;
  int64_t low, high, first = survey->asymmetric_item * pattern->nnz;
  char here[64], there[64];

  LAC_TRY(lac_survey_place(ctx, pattern, survey->asymmetric, &row, &column));
  if (survey->is_unpaired) {
    snprintf(text, size, "entry (%lld, %lld) has no counterpart (%lld, %lld)", row, column, column, row);
    goto done;
  }
  low = lac_buffer_get(pattern->offsets, column), high = lac_buffer_get(pattern->offsets, column + 1);
  LAC_SEARCH(low, high, slot, lac_buffer_get(pattern->columns, slot) < row)
  LAC_TRY(survey_number(ctx, values, first + survey->asymmetric, here));
  LAC_TRY(survey_number(ctx, values, first + low, there));
  snprintf(text, size, "entry (%lld, %lld), %s, %s entry (%lld, %lld), %s, to rounding", row, column, here,
           lac_dtype_is_complex(values->meta.dtype) ? "is not the conjugate of" : "does not equal", column, row, there);
done:
  return status;
}
