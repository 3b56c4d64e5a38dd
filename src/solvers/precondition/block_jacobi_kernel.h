// SPDX-License-Identifier: Apache-2.0
// Inverses of the blocks, in place (block_jacobi.c): Gauss and Jordan with partial pivoting.

/// Scales: 1 over the largest of each row, and the largest of each column in rows so scaled. False: a row is zero.
static bool FN(block_scale)(int64_t n, const T *a, double *row, double *col) {
  for (int64_t j = 0; j < n; j++) col[j] = 0;
  for (int64_t i = 0; i < n; i++) {
    double largest = 0;
    for (int64_t j = 0; j < n; j++) largest = fmax(largest, FN(size)(a[i * n + j]));
    row[i] = 1 / largest;
    if (!isfinite(row[i])) return false;
    for (int64_t j = 0; j < n; j++) col[j] = fmax(col[j], row[i] * FN(size)(a[i * n + j]));
  }
  return true;
}

/// The row at or below `k` that is largest in column k relative to its own scale.
static int64_t FN(block_pivot)(int64_t n, const T *a, const double *row, int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < n; i++) {
    if (row[i] * FN(size)(a[i * n + k]) > row[best] * FN(size)(a[best * n + k])) best = i;
  }
  return best;
}

static void FN(block_swap)(int64_t n, T *x, int64_t step, T *y) {
  for (int64_t j = 0; j < n; j++) {
    T t = x[j * step];
    x[j * step] = y[j * step];
    y[j * step] = t;
  }
}

/// One step: column k of the inverse takes the place of column k of the matrix.
static void FN(block_step)(int64_t n, T *a, int64_t k) {
  T *row = a + k * n, pivot = row[k];
  row[k] = 1;
  for (int64_t j = 0; j < n; j++) row[j] = FN(div)(row[j], pivot);
  for (int64_t i = 0; i < n; i++) {
    T l = a[i * n + k];
    if (i == k) continue;
    a[i * n + k] = 0;
    for (int64_t j = 0; j < n; j++) a[i * n + j] -= l * row[j];
  }
}

/// `swapped` has n places, `scales` 2 n. Rows were exchanged on the way: columns of the inverse are exchanged back,
/// last first. A pivot that is only the rounding of its column is zero.
static bool FN(block_invert)(int64_t n, T *a, int64_t *swapped, double *scales) {
  double *row = scales, *col = scales + n;
  if (!FN(block_scale)(n, a, row, col)) return false;
  for (int64_t k = 0; k < n; k++) {
    int64_t best = swapped[k] = FN(block_pivot)(n, a, row, k);
    if (best != k) FN(block_swap)(n, a + k * n, 1, a + best * n);
    double scale = row[best];
    row[best] = row[k];
    if (!(scale * FN(size)(a[k * n + k]) > 4 * FN(epsilon) * col[k])) return false;
    FN(block_step)(n, a, k);
  }
  for (int64_t k = n - 1; k >= 0; k--) {
    if (swapped[k] != k) FN(block_swap)(n, a + k, n, a + swapped[k]);
  }
  for (int64_t i = 0; i < n * n; i++) {
    if (!FN(finite)(a[i])) return false;
  }
  return true;
}

/// The first block that has no inverse, or -1; -2: out of memory.
static int64_t FN(block_invert_all)(const block_job *job, void *opaque) {
  T *all = opaque;
  int64_t count = job->items * job->blocks, first = count, numbers = block_numbers(job);
  int64_t *swapped = lac_calloc((size_t)(job->size * job->threads), sizeof *swapped);
  double *scales = lac_calloc((size_t)(2 * job->size * job->threads), sizeof *scales);
  if (!swapped || !scales) first = -2, count = 0;
#pragma omp parallel for schedule(static) num_threads(job->threads) reduction(min : first)
  for (int64_t b = 0; b < count; b++) {
    int64_t block = b % job->blocks, rows = block_rows(job, block);
    T *a = all + b / job->blocks * numbers + block * job->size * job->size;
    int64_t work = omp_get_thread_num() * job->size;
    if (!FN(block_invert)(rows, a, swapped + work, scales + 2 * work) && b < first) first = b;
  }
  lac_free(swapped);
  lac_free(scales);
  return first == -2 || first < count ? first : -1;
}
