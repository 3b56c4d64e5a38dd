// SPDX-License-Identifier: Apache-2.0
/// @file surveyed.c
/// One look at the values of a matrix for all that is made of them.

#include "solvers/solver_impl.h"

static lac_status survey_now(lac_context *ctx, const lac_factor *f, const lac_linear *a, lac_surveyed *out) {
  lac_status status = LAC_OK;
  lac_array *flat = NULL;
  double *largest = NULL;

  LAC_ALLOC(largest, f->items);
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)a->values, 2, (int64_t[]){f->items, a->pattern->nnz}, &flat));
  LAC_TRY(lac_survey_values(ctx, a->pattern, flat, largest, &out->survey));
  LAC_TRY(
      lac_array_from(ctx, LAC_F64, 3, (const int64_t[]){f->items, 1, 1}, largest, LAC_OWNERSHIP_COPY, &out->largest));
done:
  lac_free(largest);
  lac_array_destroy(&flat);
  return status;
}

void lac_surveyed_assume(const lac_factor *f, lac_survey *survey) {
  if (f->core->options.assume_hermitian && !survey->is_unpaired && f->core->rows == f->core->cols)
    survey->asymmetric = -1;
}

lac_status lac_surveyed_make(lac_context *ctx, const lac_factor *f, const lac_linear *a, lac_surveyed *out) {
  lac_status status = LAC_OK;
  long long row = 0, column = 0;
  char which[64];

  if (a->survey) {
    *out = (lac_surveyed){*a->survey, lac_array_retain(a->largest)};
  } else {
    LAC_TRY(survey_now(ctx, f, a, out));
  }
  lac_surveyed_assume(f, &out->survey);
  if (out->survey.nonfinite >= 0) LAC_TRY(lac_survey_place(ctx, a->pattern, out->survey.nonfinite, &row, &column));
  LAC_CHECK(out->survey.nonfinite < 0, LAC_ERR_NONFINITE,
            "%s: the value of entry (%lld, %lld) is not finite%s; a matrix with NaN or infinity cannot be solved",
            f->function, row, column, lac_factor_item_text(f, out->survey.nonfinite_item, which));
done:
  return status;
}

void lac_surveyed_drop(lac_surveyed *seen) { lac_array_destroy(&seen->largest); }
