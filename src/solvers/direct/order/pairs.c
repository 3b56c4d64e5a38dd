// SPDX-License-Identifier: Apache-2.0
/// @file pairs.c
/// Pairs from the cycles of a matching (Duff and Pralet 2005).
///
///     match            the largest product of |a_i,match(i)|, with R A C at most about 1 and about 1 where it matches
///     cycle            i -> match(i) -> ... -> i: consecutive rows are pairs; of an odd number one stays single
///     scale            D A D, d_i = sqrt(r_i c_i), which does not exceed 1 either, for A is Hermitian
///
/// A row whose diagonal is zero is eliminated with a row in which it has a strong entry.

#include "solvers/direct/order/pairs.h"

#include <math.h>

#include "core/number_at.h"
#include "solvers/direct/order/matching.h"
#include "solvers/numbers/numbers.h"
#include "solvers/direct/order/scaling.h"

static bool pairs_has_diagonal(const lac_structure *s, int32_t row) {
  for (int64_t p = s->offsets[row]; p < s->offsets[row + 1]; p++) {
    if (s->columns[p] >= row) return s->columns[p] == row;
  }
  return false;
}

// Where an odd cycle is best cut: at a row that can be eliminated alone.
static int32_t pairs_cut(const lac_structure *s, const int32_t *match, int32_t start, int32_t length) {
  int32_t row = start;
  for (int32_t k = 0; k < length; k++, row = match[row]) {
    if (pairs_has_diagonal(s, row)) return row;
  }
  return start;
}

// mate from the cycles of match; -1 says "not yet".
static int32_t pairs_of_cycles(const lac_structure *s, const int32_t *match, int32_t *mate) {
  int32_t count = 0;
  for (int32_t i = 0; i < s->n; i++) mate[i] = -1;
  for (int32_t i = 0; i < s->n; i++) {
    int32_t length = 1, row = i;
    if (mate[i] >= 0) continue;
    for (int32_t next = match[i]; next != i; next = match[next]) length++;
    if (length % 2) {
      row = pairs_cut(s, match, i, length);
      mate[row] = row;
      row = match[row];
    }
    for (int32_t k = 0; k < length / 2; k++) {
      int32_t other = match[row];
      mate[row] = other, mate[other] = row;
      row = match[other];
      count++;
    }
  }
  return count;
}

static int pairs_limit(lac_dtype dtype) { return lac_dtype_is_single(dtype) ? range_f32 : range_f64; }

static void pairs_store(lac_dtype dtype, void *scale, int32_t i, int exponent) {
  int limit = pairs_limit(dtype);
  lac_real_put(dtype, scale, i, power_of_two(exponent > limit ? limit : exponent < -limit ? -limit : exponent));
}

// Halves are rounded relative to the largest number of the matrix: its scale does not change a bit.
static void pairs_scale(const lac_structure *s, lac_dtype dtype, const void *values, const double *r, const double *c,
                        void *row_scale, void *col_scale) {
  int exponent = lac_scaling_exponent(s, dtype, values), half = exponent / 2;
  for (int32_t i = 0; i < s->n; i++) {
    int both = exponent_of(r[i]) + exponent_of(c[i]) - 2 + exponent, own = (both - (both & 1)) / 2;
    pairs_store(dtype, row_scale, i, own - half);
    pairs_store(dtype, col_scale, i, own - (exponent - half));
  }
}

lac_status lac_pairs_find(const lac_structure *s, lac_dtype dtype, const void *values, int32_t *mate, void *row_scale,
                          void *col_scale, int32_t *count) {
  size_t n = (size_t)s->n;
  int32_t *match = lac_alloc(n * sizeof *match), rank = 0;
  double *r = lac_alloc(n * sizeof *r), *c = lac_alloc(n * sizeof *c);
  lac_status status = match && r && c ? LAC_OK : LAC_ERR_MEMORY;

  if (status == LAC_OK) status = lac_matching(s, dtype, values, match, r, c, &rank);
  if (status == LAC_OK) {
    *count = pairs_of_cycles(s, match, mate);
    pairs_scale(s, dtype, values, r, c, row_scale, col_scale);
  }
  lac_free(match);
  lac_free(r);
  lac_free(c);
  return status;
}
