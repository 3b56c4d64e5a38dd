// SPDX-License-Identifier: Apache-2.0
// Reciprocals for one dtype T (reciprocal.c).

static void FN(reciprocal_part)(const void *job, int64_t begin, int64_t end) {
  const reciprocal_job *j = job;
  const T *x = j->x;
  T *y = j->y;

  for (int64_t i = begin; i < end; i++) {
    y[i] = FN(div)(1, x[i]);
    if (FN(size)(x[i]) == 0 || !FN(finite)(y[i])) reciprocal_note(j->first, i);
  }
}
