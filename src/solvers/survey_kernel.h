// SPDX-License-Identifier: Apache-2.0
// The rows of one matrix for one dtype; survey.c. Included once for each.

static int64_t FN(survey_nonfinite)(const void *values, int64_t begin, int64_t end) {
  const T *a = values;
  for (int64_t p = begin; p < end; p++) {
    if (!FN(finite)(a[p])) return p;
  }
  return -1;
}

static bool FN(survey_mirrors)(T here, T there) {
  if (here == FN(conj)(there)) return true;
  double size = fmax(FN(size)(here), FN(size)(there));
  return FN(size)(here - FN(conj)(there)) <= SURVEY_ROUNDINGS * FN(epsilon) * size;
}

static inline double FN(survey_modulus)(T x) {
  double im = fabs((double)FN(im)(x)), re = fabs((double)FN(re)(x));
  return im > 0 ? hypot(re, im) : re;
}

// Each entry above the diagonal looks for its mirror, and there are as many below: then all have one.
static inline void FN(survey_row)(const survey_rows *s, bool narrow, const T *a, int64_t i, survey_part *part) {
  int64_t begin = survey_offset(s, narrow, i), end = survey_offset(s, narrow, i + 1), below = 0, above = 0;
  bool is_finite = true, has_looked = part->asymmetric >= 0;
  double positive = 0, beside = 0;
  T diagonal = 0;

  for (int64_t p = begin; p < end; p++) {
    int64_t j = survey_column(s, narrow, p), mirror = p;
    is_finite = is_finite && FN(finite)(a[p]);
    if (j < i) {
      below++;
    } else if (!has_looked) {
      if (j > i) mirror = survey_mirror(s, narrow, i, j, p - begin);
      has_looked = mirror < 0 || !FN(survey_mirrors)(a[p], a[mirror]);
      if (has_looked) part->asymmetric = p, part->is_unpaired = mirror < 0;
    }
    above += j > i;
    if (j == i) {
      diagonal = a[p];
    } else {
      double real = (double)FN(re)(a[p]);
      positive += real > 0 ? real : 0;
      beside += FN(size)(a[p]);
    }
  }
  part->below += below, part->above += above;
  part->positive += positive, part->beside += beside;
  double share = survey_part_of(beside, FN(survey_modulus)(diagonal));
  if (share > part->dominance) part->dominance = share;
  if (!(FN(re)(diagonal) > 0)) part->not_positive = survey_first(part->not_positive, i);
  if (FN(size)(diagonal) == 0) part->without = survey_first(part->without, i);
  if (!is_finite) part->nonfinite = survey_first(part->nonfinite, FN(survey_nonfinite)(a, begin, end));
}

static void FN(survey_rows)(const survey_rows *s, const void *values, int64_t begin, int64_t end, survey_part *part) {
  if (s->offsets32 && s->columns32) {
    for (int64_t i = begin; i < end; i++) FN(survey_row)(s, true, values, i, part);
  } else {
    for (int64_t i = begin; i < end; i++) FN(survey_row)(s, false, values, i, part);
  }
}

// The largest share of a column; `sums` has room for one number a row, and zeros.
static double FN(survey_columns)(const survey_rows *s, const void *values, double *sums) {
  const T *a = values;
  double largest = 0;
  for (int64_t i = 0; i < s->rows; i++) {
    for (int64_t p = survey_offset(s, false, i); p < survey_offset(s, false, i + 1); p++) {
      int64_t j = survey_column(s, false, p);
      if (j != i) sums[j] += FN(size)(a[p]);
    }
  }
  for (int64_t i = 0; i < s->rows; i++) {
    int64_t p = survey_find(s, false, i, i);
    largest = fmax(largest, survey_part_of(sums[i], p < 0 ? 0 : FN(survey_modulus)(a[p])));
  }
  return largest;
}
