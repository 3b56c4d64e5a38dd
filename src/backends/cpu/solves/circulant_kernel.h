// SPDX-License-Identifier: Apache-2.0
// Columns to and from Fourier space. Two columns of reals travel as one of complex numbers: a real matrix keeps them
// apart.

/// Column j, and column j + 1 as imaginary part where there is one and numbers are real.
INLINE void FN(column_load)(const circulant_job *job, const T *x, int64_t j, c128 *to) {
  const int64_t k = job->k;
  const bool paired = !FN(has_imag) && j + 1 < k;
  for (int64_t i = 0; i < job->n; ++i) {
    to[i] = FN(has_imag) ? PAIR((double)FN(re)(x[i * k + j]), (double)FN(im)(x[i * k + j]))
                         : PAIR((double)FN(re)(x[i * k + j]), paired ? (double)FN(re)(x[i * k + j + 1]) : 0.0);
  }
}

/// The same back, times `factor`.
INLINE void FN(column_store)(const circulant_job *job, const c128 *from, double factor, int64_t j, T *y) {
  const int64_t k = job->k;
  const bool paired = !FN(has_imag) && j + 1 < k;
  for (int64_t i = 0; i < job->n; ++i) {
    y[i * k + j] = FN(make)(factor * creal(from[i]), factor * cimag(from[i]));
    if (paired) y[i * k + j + 1] = FN(make)(factor * cimag(from[i]), 0);
  }
}

/// The first column of op(C) in Fourier space, or its inverse.
INLINE void FN(symbol)(const circulant_job *job, int64_t item, const T *c, c128 *to, c128 *room) {
  const int64_t n = job->n;
  for (int64_t i = 0; i < n; ++i) {
    const T value = c[job->transposed && i ? n - i : i];
    to[i] = PAIR((double)FN(re)(value), job->sign * (double)FN(im)(value));
  }
  cpu_dft_forward(&job->dft, to, room);
  if (job->divides) circulant_invert(job, item, to);
}

/// y = op(C) x for one column, n^2 products.
INLINE void FN(direct)(const circulant_job *job, const T *c, const T *x, T *y, int64_t j) {
  const int64_t n = job->n, k = job->k;
  for (int64_t i = 0; i < n; ++i) {
    FN(acc) sum = 0;
    for (int64_t p = 0; p < n; ++p) {
      const int64_t d = job->transposed ? p - i : i - p;
      sum = FN(mac_acc)(sum, FN(signed)(c[d < 0 ? d + n : d], (FN(real))job->sign), x[p * k + j]);
    }
    y[i * k + j] = (T)sum;
  }
}

/// Units [begin, end): a unit is a column, or two, of an item.
static void FN(circulant_columns)(const void *opaque, int64_t begin, int64_t end) {
  const circulant_job *job = opaque;
  const int64_t n = job->n, size = n * job->k, pairs = circulant_pairs(job), step = pairs == job->k ? 1 : 2;
  const bool direct = job->direct;
  c128 *symbol = direct ? NULL : lac_alloc((size_t)(2 * n + cpu_dft_room(&job->dft)) * sizeof *symbol);
  int64_t last = -1;  // the item of the symbol
  if (!direct && !symbol) {
    atomic_store(job->out_of_memory, true);
    return;
  }
  c128 *column = direct ? NULL : symbol + n, *room = direct ? NULL : column + n;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t item = unit / pairs, j = unit % pairs * step;
    const T *c = (const T *)job->in[0] + lac_batch_item(&job->batch, 0, item) * n;
    const T *x = (const T *)job->in[1] + lac_batch_item(&job->batch, 1, item) * size;
    T *y = (T *)job->out + lac_batch_item(&job->batch, 2, item) * size;
    if (direct) {
      FN(direct)(job, c, x, y, j);
      continue;
    }
    if (item != last) FN(symbol)(job, item, c, symbol, room), last = item;
    FN(column_load)(job, x, j, column);
    cpu_dft_forward(&job->dft, column, room);
    for (int64_t f = 0; f < n; ++f) column[f] = mul_c128(column[f], symbol[f]);
    cpu_dft_backward(&job->dft, column, room);
    FN(column_store)(job, column, 1 / (double)n, j, y);
  }
  lac_free(symbol);
}

/// s[d] = sum of u[i, k] conj(v[i - d, k]), n^2 products a column.
INLINE void FN(direct_sums)(const circulant_job *job, const T *u, const T *v, T *s) {
  const int64_t n = job->n, k = job->k;
  for (int64_t d = 0; d < n; ++d) {
    FN(acc) sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T *ui = u + i * k, *vi = v + (i - d < 0 ? i - d + n : i - d) * k;
      for (int64_t j = 0; j < k; ++j) sum = FN(mac_acc)(sum, ui[j], FN(signed)(vi[j], -1));
    }
    s[d] = (T)sum;
  }
}

/// One column of u and of v into the sums in Fourier space.
INLINE void FN(add_spectrum)(const circulant_job *job, const T *u, const T *v, int64_t j, c128 *sum, c128 *of_u,
                             c128 *of_v, c128 *room) {
  const int64_t n = job->n, k = job->k;
  for (int64_t i = 0; i < n; ++i) {
    of_u[i] = PAIR((double)FN(re)(u[i * k + j]), (double)FN(im)(u[i * k + j]));
    of_v[i] = PAIR((double)FN(re)(v[i * k + j]), (double)FN(im)(v[i * k + j]));
  }
  cpu_dft_forward(&job->dft, of_u, room);
  cpu_dft_forward(&job->dft, of_v, room);
  for (int64_t f = 0; f < n; ++f) sum[f] = mac_c128(sum[f], of_u[f], conj_c128(of_v[f]));
}

/// Items [begin, end).
static void FN(circulant_sums)(const void *opaque, int64_t begin, int64_t end) {
  const circulant_job *job = opaque;
  const int64_t n = job->n, k = job->k;
  const bool direct = job->direct;
  c128 *sum = direct ? NULL : lac_alloc((size_t)(3 * n + cpu_dft_room(&job->dft)) * sizeof *sum);
  if (!direct && !sum) {
    atomic_store(job->out_of_memory, true);
    return;
  }
  c128 *room = direct ? NULL : sum + 3 * n;
  for (int64_t item = begin; item < end; ++item) {
    const T *u = (const T *)job->in[0] + lac_batch_item(&job->batch, 0, item) * n * k;
    const T *v = (const T *)job->in[1] + lac_batch_item(&job->batch, 1, item) * n * k;
    T *s = (T *)job->out + lac_batch_item(&job->batch, 2, item) * n;
    if (direct) {
      FN(direct_sums)(job, u, v, s);
      continue;
    }
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t j = 0; j < k; ++j) FN(add_spectrum)(job, u, v, j, sum, sum + n, sum + 2 * n, room);
    cpu_dft_backward(&job->dft, sum, room);
    for (int64_t i = 0; i < n; ++i) s[i] = FN(make)(creal(sum[i]) / (double)n, cimag(sum[i]) / (double)n);
  }
  lac_free(sum);
}
