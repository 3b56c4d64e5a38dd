// SPDX-License-Identifier: Apache-2.0
// Solves in a band, k right-hand sides, row-major (banded_solve.c).

#define REAL FN(real)

#include "core/numbers/band_lu_kernel.h"

/// op(A)[i, j], which is in the band.
INLINE T FN(band_at)(const band_solve_job *job, const T *ab, int64_t i, int64_t j) {
  const int64_t place =
      job->transposed ? (job->stored_upper + j - i) * job->n + i : (job->stored_upper + i - j) * job->n + j;
  return FN(signed)(ab[place], (REAL)job->sign);
}

// -- any band --------------------------------------------------------------------------------------------------------

INLINE void FN(band_load)(const band_solve_job *job, const T *ab, lac_band_lu *f) {
  memset(f->numbers, 0, (size_t)(f->n * lac_band_lu_width(f->lower, f->upper)) * sizeof(T));
  for (int64_t i = 0; i < f->n; ++i) {
    T *row = FN(band_row)(f, i);
    const int64_t first = i > f->lower ? -f->lower : -i, last = f->upper < f->n - 1 - i ? f->upper : f->n - 1 - i;
    for (int64_t j = first; j <= last; ++j) row[j] = FN(band_at)(job, ab, i, i + j);
  }
}

/// Step j of x = U^-1 x. One number a row is summed in a register; of several, an unknown goes to all rows above it.
INLINE void FN(band_rise)(const lac_band_lu *f, int64_t j, const int64_t k, T *x) {
  const int64_t most = f->lower + f->upper, after = most < f->n - 1 - j ? most : f->n - 1 - j;
  if (k == 1) {
    FN(band_up)(f, j, after, 1, x);
    return;
  }
  FN(band_divide)(x, j, FN(band_row)(f, j)[0], k);
  for (int64_t i = 1; i <= most && i <= j; ++i) FN(band_take)(x, j - i, FN(band_row)(f, j - i)[i], j, k);
}

/// Right-hand sides go along with the elimination, so that nothing is kept of it but U.
INLINE int64_t FN(band_solve)(lac_band_lu *f, const int64_t k, T *x) {
  for (int64_t j = 0; j < f->n; ++j) {
    const int64_t pivot = FN(band_step)(f, j);
    if (pivot < 0) return j;
    FN(band_down)(f, j, pivot, k, x);
  }
  for (int64_t j = f->n - 1; j >= 0; --j) FN(band_rise)(f, j, k, x);
  return -1;
}

static int64_t FN(band_item)(const band_solve_job *job, const T *ab, T *work, T *x) {
  lac_band_lu f = {.n = job->n, .lower = job->lower, .upper = job->upper, .numbers = work};
  FN(band_load)(job, ab, &f);
  return job->k == 1 ? FN(band_solve)(&f, 1, x) : FN(band_solve)(&f, job->k, x);
}

// -- tridiagonal -----------------------------------------------------------------------------------------------------

/// Three diagonals from the main one up; the one below is read where it is.
INLINE int64_t FN(three_eliminate)(const band_solve_job *job, const T *ab, T *work, T *x, const int64_t k) {
  const int64_t n = job->n;
  T *diag = work, *up = work + n, *far = work + 2 * n;
  diag[0] = FN(band_at)(job, ab, 0, 0);
  up[0] = FN(band_at)(job, ab, 0, 1);
  for (int64_t i = 0; i + 1 < n; ++i) {
    const T below = FN(band_at)(job, ab, i + 1, i), d = FN(band_at)(job, ab, i + 1, i + 1);
    const T u = i + 2 < n ? FN(band_at)(job, ab, i + 1, i + 2) : 0;
    if (FN(size)(below) > FN(size)(diag[i])) {
      const T factor = FN(div)(diag[i], below), v = up[i];
      diag[i] = below;
      up[i] = d;
      far[i] = u;
      diag[i + 1] = FN(mac)(v, -factor, d);
      up[i + 1] = FN(mul)(-factor, u);
      FN(band_exchange)(x, i, i + 1, k);
      FN(band_take)(x, i + 1, factor, i, k);
    } else {
      if (diag[i] == 0) return i;
      const T factor = FN(div)(below, diag[i]);
      far[i] = 0;
      diag[i + 1] = FN(mac)(d, -factor, up[i]);
      up[i + 1] = u;
      FN(band_take)(x, i + 1, factor, i, k);
    }
  }
  return diag[n - 1] == 0 ? n - 1 : -1;
}

/// Rows are divided before the unknown that was found last is taken out, so that the chain of rows does not wait for
/// divisions.
INLINE void FN(three_substitute)(const band_solve_job *job, const T *work, T *x, const int64_t k) {
  const int64_t n = job->n;
  const T *diag = work, *up = work + n, *far = work + 2 * n;
  FN(band_divide)(x, n - 1, diag[n - 1], k);
  for (int64_t i = n - 2; i >= 0; --i) {
    if (i + 2 < n) FN(band_take)(x, i, far[i], i + 2, k);
    FN(band_divide)(x, i, diag[i], k);
    FN(band_take)(x, i, FN(div)(up[i], diag[i]), i + 1, k);
  }
}

/// k right-hand sides, a constant to the compiler where there is one.
INLINE int64_t FN(three_solve)(const band_solve_job *job, const T *ab, T *work, T *x, const int64_t k) {
  const int64_t column = FN(three_eliminate)(job, ab, work, x, k);
  if (column < 0) FN(three_substitute)(job, work, x, k);
  return column;
}

// -- items -----------------------------------------------------------------------------------------------------------

INLINE bool FN(is_three)(const band_solve_job *job) { return job->lower == 1 && job->upper == 1 && job->n > 1; }

static size_t FN(work_bytes)(const band_solve_job *job) {
  const int64_t diagonals = FN(is_three)(job) ? 3 : lac_band_lu_width(job->lower, job->upper);
  return (size_t)(job->n * diagonals) * sizeof(T);
}

/// Solve one item; returns the column without a pivot, or -1.
static int64_t FN(solve_item)(const band_solve_job *job, int64_t item, void *work) {
  const int64_t numbers = job->n * job->k;
  const T *ab = (const T *)job->ab + lac_batch_item(&job->batch, 0, item) * job->stored;
  const T *b = (const T *)job->b + lac_batch_item(&job->batch, 1, item) * numbers;
  T *x = (T *)job->x + lac_batch_item(&job->batch, 2, item) * numbers;
  int64_t column;
  memcpy(x, b, (size_t)numbers * sizeof(T));
  if (FN(is_three)(job)) {
    column = job->k == 1 ? FN(three_solve)(job, ab, work, x, 1) : FN(three_solve)(job, ab, work, x, job->k);
  } else {
    column = FN(band_item)(job, ab, work, x);
  }
  return column;
}

static void FN(solve_bands)(const void *opaque, int64_t begin, int64_t end) {
  const band_solve_job *job = opaque;
  void *work = lac_alloc(FN(work_bytes)(job));
  if (!work) {
    atomic_store(job->out_of_memory, true);
    return;
  }
  for (int64_t item = begin; item < end; ++item) {
    if (FN(solve_item)(job, item, work) >= 0) band_solve_failed(job, item);
  }
  lac_free(work);
}

#undef REAL
