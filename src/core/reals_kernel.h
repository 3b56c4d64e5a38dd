// SPDX-License-Identifier: Apache-2.0
// Doubles and a dtype (reals.c).

static void FN(reals_load)(int64_t count, const void *from, double *to) {
  const T *x = from;
  for (int64_t i = 0; i < count; i++) to[i] = FN(re)(x[i]);
}

static void FN(reals_store)(int64_t count, const double *from, void *to) {
  T *x = to;
  for (int64_t i = 0; i < count; i++) x[i] = (T)from[i];
}
