// SPDX-License-Identifier: Apache-2.0
/// @file finite.c
/// Whether values are finite, where nothing else is asked of them.

#include "solvers/direct/direct.h"

#define KERNEL_FILE "core/finite_kernel.h"
#include "core/instantiate.h"

typedef int64_t finite_first_kernel(const void *, int64_t, int64_t);
static finite_first_kernel *const finite_first_kernels[] = TABLE(finite_first);

lac_survey lac_direct_finite(const lac_factor *f) {
  lac_survey out = lac_survey_begin();
  for (int64_t item = 0; item < f->items && out.nonfinite < 0; item++) {
    out.nonfinite = finite_first_kernels[f->meta.dtype](lac_direct_item(f, item), 0, lac_direct_structure(f)->nnz);
    out.nonfinite_item = item;
  }
  return out;
}
