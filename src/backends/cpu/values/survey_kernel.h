// SPDX-License-Identifier: Apache-2.0
// The rows of one matrix for one dtype; survey.c. Included once for each.

#include "core/finite_kernel.h"

static bool FN(survey_mirrors)(T here, T there) {
  if (here == FN(conj)(there)) return true;
  double size = fmax(FN(size)(here), FN(size)(there));
  return FN(size)(here - FN(conj)(there)) <= LAC_SURVEY_ROUNDINGS * FN(epsilon) * size;
}

// Whether (i, j) and (j, i) differ by rounding of the diagonal alone; entries that cancelled are few, or all of a
// matrix that is assembled.
static bool FN(survey_cancels)(const survey_rows *s, const T *a, int64_t i, int64_t j, T here, T there) {
  int64_t p = survey_find(s, false, i, i), q = survey_find(s, false, j, j);
  if (p < 0 || q < 0) return false;
  double unit = sqrt(FN(size)(a[p])) * sqrt(FN(size)(a[q]));
  return FN(size)(here - FN(conj)(there)) <= LAC_SURVEY_ROUNDINGS * FN(epsilon) * unit;
}

static inline double FN(survey_modulus)(T x) {
  double im = fabs((double)FN(im)(x)), re = fabs((double)FN(re)(x));
  return im > 0 ? hypot(re, im) : re;
}

static double FN(survey_largest)(int64_t count, const void *values) {
  double largest = 0;
  for (int64_t p = 0; p < count; p++) largest = fmax(largest, FN(size)(((const T *)values)[p]));
  return largest;
}

// Sums of a row off its diagonal: what is positive of real parts, and all sizes; and the largest size.
static inline void FN(survey_add)(T a, double *positive, double *beside, double *largest) {
  double real = (double)FN(re)(a), size = FN(size)(a);
  *positive += real > 0 ? real : 0;
  *beside += size;
  *largest = size > *largest ? size : *largest;
}

static inline void FN(survey_pair)(const survey_rows *s, bool narrow, const T *a, int64_t i, int64_t p, int64_t begin,
                                   survey_part *part) {
  int64_t mirror = survey_mirror(s, narrow, i, survey_column(s, narrow, p), p - begin);
  if (narrow) {  // mirrors run ahead of the rows: entries behind them are prefetched
    __builtin_prefetch(a + mirror + SURVEY_AHEAD, 0, 3);
    __builtin_prefetch(s->columns32 + mirror + SURVEY_AHEAD, 0, 3);
  }
  if (mirror >= 0 && FN(survey_mirrors)(a[p], a[mirror])) return;
  if (mirror >= 0 && FN(survey_cancels)(s, a, i, survey_column(s, narrow, p), a[p], a[mirror])) return;
  part->asymmetric = p, part->is_unpaired = mirror < 0;
}

// Each entry above the diagonal looks for its mirror, and there are as many below: then all have one. Sums tell whether
// all is finite; one that overflows sends for a closer look.
static inline void FN(survey_row)(const survey_rows *s, bool narrow, const T *a, int64_t i, survey_part *part) {
  int64_t begin = survey_offset(s, narrow, i), end = survey_offset(s, narrow, i + 1), p = begin;
  double positive = 0, beside = 0, largest = 0;
  T diagonal = 0;

  for (; p < end && survey_column(s, narrow, p) < i; p++) FN(survey_add)(a[p], &positive, &beside, &largest);
  part->below += p - begin;
  if (p < end && survey_column(s, narrow, p) == i) {
    diagonal = a[p];
    if (part->asymmetric < 0 && !FN(survey_mirrors)(diagonal, diagonal))
      part->asymmetric = p, part->is_unpaired = false;
    p++;
  }
  part->above += end - p;
  for (; p < end; p++) {
    FN(survey_add)(a[p], &positive, &beside, &largest);
    if (part->asymmetric < 0) FN(survey_pair)(s, narrow, a, i, p, begin, part);
  }
  part->positive += positive, part->beside += beside;
  largest = FN(size)(diagonal) > largest ? FN(size)(diagonal) : largest;
  part->largest = largest > part->largest ? largest : part->largest;
  part->least = FN(size)(diagonal) < part->least ? FN(size)(diagonal) : part->least;
  part->most = FN(size)(diagonal) > part->most ? FN(size)(diagonal) : part->most;
  double share = survey_part_of(beside, FN(survey_modulus)(diagonal));
  if (share > part->dominance) part->dominance = share;
  if (!(FN(re)(diagonal) > 0)) part->not_positive = survey_first(part->not_positive, i);
  if (FN(size)(diagonal) == 0) part->without = survey_first(part->without, i);
  if (!isfinite(beside + FN(size)(diagonal)))
    part->nonfinite = survey_first(part->nonfinite, FN(finite_first)(a, begin, end));
}

static void FN(survey_rows)(const survey_rows *s, const void *values, int64_t begin, int64_t end, survey_part *part) {
  if (s->offsets32 && s->columns32) {
    for (int64_t i = begin; i < end; i++) FN(survey_row)(s, true, values, i, part);
  } else {
    for (int64_t i = begin; i < end; i++) FN(survey_row)(s, false, values, i, part);
  }
}

// The largest share of a row or of a column, by moduli; `sums` has room for one number a row, and zeros.
static double FN(survey_shares)(const survey_rows *s, const void *values, bool by_columns, double *sums) {
  const T *a = values;
  double largest = 0;
  for (int64_t i = 0; i < s->rows; i++) {
    for (int64_t p = survey_offset(s, false, i); p < survey_offset(s, false, i + 1); p++) {
      int64_t j = survey_column(s, false, p);
      if (j != i) sums[by_columns ? j : i] += FN(survey_modulus)(a[p]);
    }
  }
  for (int64_t i = 0; i < s->rows; i++) {
    int64_t p = survey_find(s, false, i, i);
    largest = fmax(largest, survey_part_of(sums[i], p < 0 ? 0 : FN(survey_modulus)(a[p])));
  }
  return largest;
}
