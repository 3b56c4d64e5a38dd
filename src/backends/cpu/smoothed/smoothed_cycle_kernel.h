// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_cycle.c, for one dtype T and integers O, C (instantiate_indexed.h).

/// (A x)_i, one column.
INLINE T XN(row_product)(const cpu_sparse *a, const T *values, const T *x, FN(real) sign, int64_t i, bool direct) {
  const O *offsets = a->offsets, *slots = a->slots;
  const C *columns = a->columns;
  T sum = 0;
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    sum = FN(mac)(sum, FN(signed)(values[direct ? p : slots[p]], sign), x[columns[p]]);
  }
  return sum;
}

/// What a step makes of (A x)_i = product.
INLINE void XN(step_finish)(const step_sweep *s, int64_t at, T scale, T product, T *out) {
  const T *b = s->b, *x = s->x, *old = s->old;
  T change = FN(mul)(scale, b[at] - product);
  if (s->bare || !x) {
    out[at] = change;
  } else {
    out[at] = x[at] + change + (FN(real))s->beta * (old ? x[at] - old[at] : x[at]);
  }
}

INLINE void XN(step_run)(const step_job *j, int64_t begin, int64_t end, bool direct) {
  const step_sweep *s = j->step;
  const T *diagonal = s->s, *x = s->x;
  T *out = j->out;
  FN(real) sign = s->conjugates ? -1 : 1, omega = (FN(real))s->omega;
  for (int64_t i = begin; i < end; ++i) {
    T scale = diagonal ? omega * FN(signed)(diagonal[i], sign) : omega;
    T product = x ? XN(row_product)(j->a, j->values, x, sign, i, direct) : 0;
    XN(step_finish)(s, i, scale, product, out);
  }
}

/// The same for k columns, eight at a time.
static void XN(step_columns)(const step_job *j, int64_t begin, int64_t end) {
  const step_sweep *s = j->step;
  const O *offsets = j->a->offsets, *slots = j->a->slots;
  const C *columns = j->a->columns;
  const T *diagonal = s->s, *x = s->x, *values = j->values;
  T *out = j->out;
  int64_t k = j->k;
  FN(real) sign = s->conjugates ? -1 : 1, omega = (FN(real))s->omega;
  for (int64_t i = begin; i < end; ++i) {
    T scale = diagonal ? omega * FN(signed)(diagonal[i], sign) : omega;
    for (int64_t c = 0; c < k; c += 8) {
      int64_t wide = k - c < 8 ? k - c : 8;
      T sum[8] = {0};
      for (int64_t p = offsets[i]; x && p < offsets[i + 1]; ++p) {
        T value = FN(signed)(values[slots ? slots[p] : p], sign);
        const T *row = x + (int64_t)columns[p] * k + c;
        for (int64_t l = 0; l < wide; ++l) sum[l] = FN(mac)(sum[l], value, row[l]);
      }
      for (int64_t l = 0; l < wide; ++l) XN(step_finish)(s, i * k + c + l, scale, sum[l], out);
    }
  }
}

static void XN(step_rows)(const void *job, int64_t begin, int64_t end) {
  const step_job *j = job;
  if (j->k != 1) {
    XN(step_columns)(j, begin, end);
  } else if (j->a->slots) {
    XN(step_run)(j, begin, end, false);
  } else {
    XN(step_run)(j, begin, end, true);
  }
}

static void XN(multiply_rows)(const void *job, int64_t begin, int64_t end) {
  const multiply_job *j = job;
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  const T *x = j->x, *values = j->values;
  T *y = j->y;
  int64_t k = j->k;
  for (int64_t i = begin; i < end && k == 1; ++i) {
    T sum = XN(row_product)(j->a, values, x, 1, i, true);
    y[i] = j->adds ? y[i] + sum : sum;
  }
  for (int64_t i = begin; i < end && k != 1; ++i) {
    for (int64_t c = 0; c < k; ++c) y[i * k + c] = j->adds ? y[i * k + c] : 0;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
      const T *row = x + (int64_t)columns[p] * k;
      for (int64_t c = 0; c < k; ++c) y[i * k + c] = FN(mac)(y[i * k + c], values[p], row[c]);
    }
  }
}
