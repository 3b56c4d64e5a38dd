// SPDX-License-Identifier: Apache-2.0
/// @file units.c
/// What the kinds of multigrid have in common: the numbers of a hierarchy, and the sizes of those of its matrix.

#include <math.h>

#include "solvers/precondition/multigrid/coarse/coarse.h"

// What is left of a singular matrix in f32, and in f64 (times the root of n).
static const double ROUNDING_SINGLE = 2.4e-7, ROUNDING_DOUBLE = 2e-15;

lac_dtype lac_coarse_narrow(lac_dtype dtype) { return lac_dtype_is_complex(dtype) ? LAC_C64 : LAC_F32; }

lac_form lac_coarse_form(lac_form form, lac_dtype dtype, bool is_hermitian) {
  if (is_hermitian && lac_form_transposes(form)) form = lac_form_conjugates(form) ? LAC_PLAIN : LAC_CONJUGATED;
  if (lac_dtype_is_complex(dtype)) return form;
  return lac_form_transposes(form) ? LAC_TRANSPOSED : LAC_PLAIN;
}

double lac_coarse_rounding(lac_dtype dtype, int64_t n) {
  return lac_dtype_real(dtype) == LAC_F32 ? ROUNDING_SINGLE : ROUNDING_DOUBLE * sqrt((double)n);
}

lac_status lac_coarse_units(lac_context *ctx, const lac_setup *setup, lac_array **out) {
  lac_status status = LAC_OK;
  int64_t items = lac_setup_items(setup);
  lac_array *column = NULL, *unit = NULL;

  LAC_TRY(lac_array_create(ctx, LAC_F64, 3, (const int64_t[]){items, 2, 1}, &unit));
  if (!setup->largest) {
    LAC_TRY(lac_array_reshape(ctx, (lac_array *)setup->values, 3, (const int64_t[]){items, setup->pattern->nnz, 1},
                              &column));
  }
  LAC_TRY(ctx->kernels->magnitudes(ctx, setup->largest ? setup->largest : column, NULL, unit));
  *out = unit, unit = NULL;
done:
  lac_array_destroy(&column);
  lac_array_destroy(&unit);
  return status;
}
