// SPDX-License-Identifier: Apache-2.0
// Banded products, diagonal by diagonal. `d` is i - j on the diagonal of A[i, j], which is row upper + d of ab.

#define REAL FN(real)

/// z += a x on n numbers, both with their signs.
INLINE void FN(band_mac)(T *z, const T *a, REAL sa, const T *x, REAL sx, int64_t n) {
#pragma omp simd
  for (int64_t c = 0; c < n; ++c) z[c] = FN(mac)(z[c], FN(signed)(a[c], sa), FN(signed)(x[c], sx));
}

/// Outputs `range` of one product with k columns. Output o meets input o + shift: a[o + at] x[o + shift].
INLINE void FN(mm_chunk)(const band_job *job, const T *ab, const T *x, T *y, band_range range) {
  const lac_banded *band = &job->band;
  const int64_t k = job->k;
  for (int64_t d = -band->upper; d <= band->lower; ++d) {
    const int64_t shift = job->transposed ? d : -d;
    const band_range o = band_clip(range, shift, job->transposed ? band->rows : band->cols);
    const T *a = ab + (band->upper + d) * band->cols + (job->transposed ? 0 : -d);
    if (k == 1) {
      FN(band_mac)(y + o.begin, a + o.begin, (REAL)job->sign, x + o.begin + shift, 1, o.end - o.begin);
      continue;
    }
    for (int64_t i = o.begin; i < o.end; ++i) {
      const T v = FN(signed)(a[i], (REAL)job->sign), *row = x + (i + shift) * k;
#pragma omp simd
      for (int64_t c = 0; c < k; ++c) y[i * k + c] = FN(mac)(y[i * k + c], v, row[c]);
    }
  }
}

static void FN(banded_mm)(const void *opaque, int64_t begin, int64_t end) {
  const band_job local = *(const band_job *)opaque, *job = &local;
  const int64_t rows = band_max(1, BAND_CHUNK / job->k);
  for (int64_t item = 0; item < job->batch.count; ++item) {
    const T *ab = (const T *)job->in[0] + lac_batch_item(&job->batch, 0, item) * job->size[0];
    const T *x = (const T *)job->in[1] + lac_batch_item(&job->batch, 1, item) * job->size[1];
    T *y = (T *)job->out + lac_batch_item(&job->batch, 2, item) * job->size[2];
    if (cpu_batch_is_first(&job->batch, 2, item)) {
      memset(y + begin * job->k, 0, (size_t)((end - begin) * job->k) * sizeof(T));
    }
    for (int64_t o = begin; o < end; o += rows) FN(mm_chunk)(job, ab, x, y, (band_range){o, band_min(o + rows, end)});
  }
}

/// Columns `range` of diagonal d of u v^H, into row s of the band.
INLINE void FN(outer_run)(const band_job *job, const T *u, const T *v, T *s, int64_t d, band_range range, bool adds) {
  const int64_t k = job->k;
  const band_range o = band_clip(range, d, job->band.rows);
  if (!adds) {
    for (int64_t j = range.begin; j < o.begin; ++j) s[j] = 0;
    for (int64_t j = o.end; j < range.end; ++j) s[j] = 0;
  }
  if (k == 1 && !adds) {
#pragma omp simd
    for (int64_t j = o.begin; j < o.end; ++j) s[j] = FN(mul)(u[j + d], FN(signed)(v[j], -1));
    return;
  }
  for (int64_t j = o.begin; j < o.end; ++j) {
    FN(acc) sum = 0;
    for (int64_t c = 0; c < k; ++c) sum = FN(mac_acc)(sum, u[(j + d) * k + c], FN(signed)(v[j * k + c], -1));
    s[j] = adds ? s[j] + (T)sum : (T)sum;
  }
}

static void FN(banded_outer)(const void *opaque, int64_t begin, int64_t end) {
  const band_job local = *(const band_job *)opaque, *job = &local;
  const lac_banded *band = &job->band;
  const int64_t cols = band_max(1, BAND_CHUNK / job->k);
  for (int64_t item = 0; item < job->batch.count; ++item) {
    const T *u = (const T *)job->in[0] + lac_batch_item(&job->batch, 0, item) * job->size[0];
    const T *v = (const T *)job->in[1] + lac_batch_item(&job->batch, 1, item) * job->size[1];
    T *s = (T *)job->out + lac_batch_item(&job->batch, 2, item) * job->size[2];
    const bool adds = !cpu_batch_is_first(&job->batch, 2, item);
    for (int64_t o = begin; o < end; o += cols) {
      for (int64_t d = -band->upper; d <= band->lower; ++d) {
        FN(outer_run)(job, u, v, s + (band->upper + d) * band->cols, d, (band_range){o, band_min(o + cols, end)}, adds);
      }
    }
  }
}

/// Columns `range` of diagonal d of op(X) op(Y): T[j + d, j] is the sum over e of op(X)[j + d, j + e] op(Y)[j + e, j].
/// A number of op(X) or op(Y) stands in the column of its band that is its own column, or its row where it is
/// transposed.
INLINE void FN(gemm_run)(const band_job *job, const T *x, const T *y, T *t, int64_t d, band_range range) {
  const lac_banded *bx = &job->x, *by = &job->y;
  const int64_t n = job->band.cols, down = job->transposed ? bx->upper : bx->lower,
                up = job->transposed ? bx->lower : bx->upper, down_y = job->transposed_y ? by->upper : by->lower,
                up_y = job->transposed_y ? by->lower : by->upper;
  const band_range inside = band_clip(range, d, n);
  for (int64_t e = band_max(-up_y, d - down); e <= band_min(down_y, d + up); ++e) {
    const band_range o = band_clip(inside, e, n);
    const T *a = x + (bx->upper + (job->transposed ? e - d : d - e)) * n + (job->transposed ? d : e);
    const T *b = y + (by->upper + (job->transposed_y ? -e : e)) * n + (job->transposed_y ? e : 0);
    FN(band_mac)(t + o.begin, a + o.begin, (REAL)job->sign, b + o.begin, (REAL)job->sign_y, o.end - o.begin);
  }
}

static void FN(banded_gemm)(const void *opaque, int64_t begin, int64_t end) {
  const band_job local = *(const band_job *)opaque, *job = &local;
  const lac_banded *band = &job->band;
  for (int64_t item = 0; item < job->batch.count; ++item) {
    const T *x = (const T *)job->in[0] + lac_batch_item(&job->batch, 0, item) * job->size[0];
    const T *y = (const T *)job->in[1] + lac_batch_item(&job->batch, 1, item) * job->size[1];
    T *t = (T *)job->out + lac_batch_item(&job->batch, 2, item) * job->size[2];
    const bool adds = !cpu_batch_is_first(&job->batch, 2, item);
    for (int64_t o = begin; o < end; o += BAND_CHUNK) {
      const band_range range = {o, band_min(o + BAND_CHUNK, end)};
      for (int64_t d = -band->upper; d <= band->lower; ++d) {
        T *row = t + (band->upper + d) * band->cols;
        if (!adds) memset(row + range.begin, 0, (size_t)(range.end - range.begin) * sizeof(T));
        FN(gemm_run)(job, x, y, row, d, range);
      }
    }
  }
}

#undef REAL
