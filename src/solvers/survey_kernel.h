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

// Each entry above the diagonal looks for its mirror, and there are as many below: then all have one.
static void FN(survey_row)(const survey_rows *s, const void *values, int64_t i, survey_part *part) {
  const T *a = values;
  T diagonal = 0;

  for (int64_t p = survey_offset(s, i); p < survey_offset(s, i + 1); p++) {
    int64_t j = survey_column(s, p), mirror;
    double real = (double)FN(re)(a[p]);
    if (j == i) {
      diagonal = a[p];
      part->asymmetric = survey_first(part->asymmetric, FN(survey_mirrors)(a[p], a[p]) ? -1 : p);
      continue;
    }
    if (real > 0) part->positive += real;
    part->beside += FN(size)(a[p]);
    part->below += j<i, part->above += j> i;
    if (j < i || part->asymmetric >= 0) continue;
    mirror = survey_find(s, j, i);
    if (mirror < 0 || !FN(survey_mirrors)(a[p], a[mirror])) part->asymmetric = p, part->is_unpaired = mirror < 0;
  }
  if (!(FN(re)(diagonal) > 0)) part->not_positive = survey_first(part->not_positive, i);
  if (FN(size)(diagonal) == 0) part->without = survey_first(part->without, i);
}

static void FN(survey_rows)(const survey_rows *s, const void *values, int64_t begin, int64_t end, survey_part *part) {
  for (int64_t i = begin; i < end; i++) FN(survey_row)(s, values, i, part);
}
