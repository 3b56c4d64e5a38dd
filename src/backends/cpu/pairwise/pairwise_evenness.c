// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_evenness.c
/// Whether entries off the diagonal are of similar size, by a look at some rows.

#include <math.h>

#include "backends/cpu/pairwise/pairwise.h"
#include "core/number_at.h"

/// One row: its largest and smallest size off the diagonal, and the size of entries with the diagonal's sign.
static void look_at_row(const lac_pattern *p, const lac_array *array, int64_t i, double *largest, double *smallest,
                        double *positive) {
  lac_dtype dtype = array->meta.dtype;
  const void *values = cpu_data(array);
  int64_t begin = lac_buffer_get(p->offsets, i), end = lac_buffer_get(p->offsets, i + 1);
  c128 diagonal = 1;
  *largest = *positive = 0, *smallest = INFINITY;
  for (int64_t q = begin; q < end; ++q) {
    if (lac_buffer_get(p->columns, q) == i) diagonal = lac_number_get(dtype, values, q);
  }
  for (int64_t q = begin; q < end; ++q) {
    c128 a = lac_number_get(dtype, values, q);
    double size = cabs(a);
    if (lac_buffer_get(p->columns, q) == i || size == 0) continue;
    *largest = fmax(*largest, size), *smallest = fmin(*smallest, size);
    if (creal(a * conj(diagonal / cabs(diagonal))) > 0) *positive = fmax(*positive, size);
  }
}

lac_status cpu_pairwise_evenness(lac_context *ctx, const lac_pattern *pattern, const lac_array *values, int64_t samples,
                                 const double ratio[2], const double sign[2], lac_array *shares) {
  int64_t n = pattern->rows, count = n < samples ? n : samples, found[2] = {0, 0};
  double *out = cpu_edit(shares);
  (void)ctx;

  for (int64_t s = 0; s < count; ++s) {
    double largest, smallest, positive;
    look_at_row(pattern, values, (int64_t)((double)s / (double)count * (double)n), &largest, &smallest, &positive);
    for (int l = 0; l < 2; ++l) found[l] += largest > ratio[l] * smallest || positive > sign[l] * largest;
  }
  for (int l = 0; l < 2; ++l) out[l] = count ? (double)found[l] / (double)count : 0;
  return LAC_OK;
}
