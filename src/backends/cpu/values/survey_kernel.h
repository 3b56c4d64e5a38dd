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

// -- runs of rows ----------------------------------------------------------------------------------------------------

// What an entry of each row in a run differs from its mirror, which is where rows of a stencil have it, or false.
// Mirrors run ahead of the rows: entries behind them are prefetched.
static bool FN(survey_run_pairs)(const survey_rows *s, const T *a, int64_t i, int32_t count, int32_t place,
                                 survey_run *run) {
  const int64_t mirror = survey_run_mirror(s, i, count, place);
  const T *here = a + s->offsets32[i] + place, *there = a + mirror;
  if (mirror < 0) return false;
  for (int p = 0; p < count * SURVEY_RUN; p += 64 / (int)sizeof *a) __builtin_prefetch(there + SURVEY_AHEAD + p, 0, 3);
  VECTOR_LOOP for (int r = 0; r < SURVEY_RUN; r++) {
    run->apart[r] += FN(size)(here[count * r] - FN(conj)(there[count * r]));
  }
  return true;
}

// Rows [i, i + SURVEY_RUN) that repeat each other, off their diagonals, entries `own`, and on them.
static void FN(survey_run_sum)(const T *a, int32_t count, int32_t own, survey_run *run) {
  memset(run, 0, sizeof *run);
  for (int32_t q = 0; q < count; q++) {
    if (q == own) continue;
    VECTOR_LOOP for (int r = 0; r < SURVEY_RUN; r++) {
      FN(survey_add)(a[count * r + q], &run->positive[r], &run->beside[r], &run->largest[r]);
    }
  }
  VECTOR_LOOP for (int r = 0; r < SURVEY_RUN; r++) {
    run->most[r] = FN(re)(a[count * r + own]);
    run->apart[r] = fabs((double)FN(im)(a[count * r + own]));
  }
}

// Rows [i, i + SURVEY_RUN) that repeat each other, where all is well: false where they need a closer look. Loops run
// from row to row and not along a row, so that they are those of vectors.
static bool FN(survey_run)(const survey_rows *s, const T *a, int64_t i, survey_run *all, survey_part *part) {
  const int32_t begin = s->offsets32[i], count = s->offsets32[i + 1] - begin;
  survey_run run;
  int32_t own = 0;

  while (own < count && s->columns32[begin + own] < i) own++;
  if (own == count || s->columns32[begin + own] != i) return false;
  FN(survey_run_sum)(a + begin, count, own, &run);
  for (int32_t q = own + 1; q < count && part->asymmetric < 0; q++) {
    if (!FN(survey_run_pairs)(s, a, i, count, q, &run)) return false;
  }
  if (!survey_run_is_well(&run)) return false;
  part->below += own * SURVEY_RUN, part->above += (count - 1 - own) * SURVEY_RUN;
  survey_run_add(&run, all);
  return true;
}

// Where one run needs a closer look, so will the others of a block, unless it is that the matrix is not Hermitian.
static void FN(survey_narrow)(const survey_rows *s, const T *a, int64_t begin, int64_t end, survey_part *part) {
  survey_run all;
  bool runs = true;
  survey_run_begin(&all);
  for (int64_t i = begin; i < end;) {
    bool repeats = (runs || part->asymmetric >= 0) && i + SURVEY_RUN <= end && survey_repeats(s, i);
    bool is_well = repeats && FN(survey_run)(s, a, i, &all, part);
    runs = runs && repeats == is_well;
    const int64_t last = i + (repeats ? SURVEY_RUN : 1);
    for (; i < last && !is_well; i++) FN(survey_row)(s, true, a, i, part);
    i = last;
  }
  survey_run_end(&all, part);
}

static void FN(survey_rows)(const survey_rows *s, const void *values, int64_t begin, int64_t end, survey_part *part) {
  if (s->offsets32 && s->columns32) {
    FN(survey_narrow)(s, values, begin, end, part);
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
