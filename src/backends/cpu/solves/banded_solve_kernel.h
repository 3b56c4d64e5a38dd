// SPDX-License-Identifier: Apache-2.0
// Elimination with partial pivoting in a band, the right-hand sides along with it; k of them, row-major.

#define REAL FN(real)

/// The size by which pivots are chosen.
INLINE REAL FN(size_of)(T x) {
  REAL re = FN(re)(x), im = FN(im)(x);
  return (re < 0 ? -re : re) + (im < 0 ? -im : im);
}

/// op(A)[i, j], which is in the band.
INLINE T FN(band_at)(const band_solve_job *job, const T *ab, int64_t i, int64_t j) {
  const int64_t place =
      job->transposed ? (job->stored_upper + j - i) * job->n + i : (job->stored_upper + i - j) * job->n + j;
  return FN(signed)(ab[place], (REAL)job->sign);
}

/// x[to] -= v x[from], rows of k numbers.
INLINE void FN(row_take)(T *x, int64_t k, int64_t to, T v, int64_t from) {
  T *target = x + to * k;
  const T *source = x + from * k;
#pragma omp simd
  for (int64_t c = 0; c < k; ++c) target[c] = FN(mac)(target[c], -v, source[c]);
}

INLINE void FN(row_swap)(T *x, int64_t k, int64_t i, int64_t j) {
  for (int64_t c = 0; c < k; ++c) {
    T kept = x[i * k + c];
    x[i * k + c] = x[j * k + c];
    x[j * k + c] = kept;
  }
}

INLINE void FN(row_divide)(T *x, int64_t k, int64_t i, T d) {
  for (int64_t c = 0; c < k; ++c) x[i * k + c] = FN(div)(x[i * k + c], d);
}

// -- any band --------------------------------------------------------------------------------------------------------

/// Column j of the work: A[i, j] is column[i - j], from -(lower + upper) on, which exchanging rows may fill, to lower.
INLINE T *FN(band_column)(const band_solve_job *job, T *work, int64_t j) {
  return work + j * (2 * job->lower + job->upper + 1) + job->lower + job->upper;
}

INLINE void FN(band_load)(const band_solve_job *job, const T *ab, T *work) {
  memset(work, 0, (size_t)(job->n * (2 * job->lower + job->upper + 1)) * sizeof(T));
  for (int64_t j = 0; j < job->n; ++j) {
    T *column = FN(band_column)(job, work, j);
    const int64_t first = j > job->upper ? j - job->upper : 0,
                  last = j + job->lower < job->n ? j + job->lower : job->n - 1;
    for (int64_t i = first; i <= last; ++i) column[i - j] = FN(band_at)(job, ab, i, j);
  }
}

/// The row of the pivot of column j, below which `below` rows lie.
INLINE int64_t FN(band_pivot)(const T *column, int64_t below) {
  int64_t pivot = 0;
  for (int64_t i = 1; i <= below; ++i) {
    if (FN(size_of)(column[i]) > FN(size_of)(column[pivot])) pivot = i;
  }
  return pivot;
}

/// Exchange rows j and j + pivot in column c, and take the multiples of row j out of the rows below.
INLINE void FN(band_update)(const band_solve_job *job, T *work, const T *factors, int64_t j, int64_t c, int64_t pivot,
                            int64_t below) {
  T *column = FN(band_column)(job, work, c) + (j - c);
  const T v = column[pivot];
  column[pivot] = column[0];
  column[0] = v;
  if (v == 0) return;
#pragma omp simd
  for (int64_t i = 1; i <= below; ++i) column[i] = FN(mac)(column[i], -factors[i], v);
}

/// op(A) to upper triangular form, x along with it; returns the first column without a pivot, or -1.
static int64_t FN(band_eliminate)(const band_solve_job *job, T *work, T *x) {
  const int64_t n = job->n;
  int64_t reach = 0;  // the last column that a row above has entries in
  for (int64_t j = 0; j < n; ++j) {
    T *column = FN(band_column)(job, work, j);
    const int64_t below = job->lower < n - 1 - j ? job->lower : n - 1 - j, pivot = FN(band_pivot)(column, below);
    if (column[pivot] == 0) return j;
    const int64_t last = j + pivot + job->upper;
    if (last > reach) reach = last;
    if (reach > n - 1) reach = n - 1;
    T kept = column[pivot];
    column[pivot] = column[0];
    column[0] = kept;
    for (int64_t i = 1; i <= below; ++i) column[i] = FN(div)(column[i], kept);
    for (int64_t c = j + 1; c <= reach; ++c) FN(band_update)(job, work, column, j, c, pivot, below);
    if (pivot) FN(row_swap)(x, job->k, j, j + pivot);
    for (int64_t i = 1; i <= below; ++i) FN(row_take)(x, job->k, j + i, column[i], j);
  }
  return -1;
}

static void FN(band_substitute)(const band_solve_job *job, T *work, T *x) {
  const int64_t above = job->lower + job->upper;
  for (int64_t j = job->n - 1; j >= 0; --j) {
    const T *column = FN(band_column)(job, work, j);
    FN(row_divide)(x, job->k, j, column[0]);
    for (int64_t i = j > above ? j - above : 0; i < j; ++i) FN(row_take)(x, job->k, i, column[i - j], j);
  }
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
    if (FN(size_of)(below) > FN(size_of)(diag[i])) {
      const T factor = FN(div)(diag[i], below), v = up[i];
      diag[i] = below;
      up[i] = d;
      far[i] = u;
      diag[i + 1] = FN(mac)(v, -factor, d);
      up[i + 1] = FN(mul)(-factor, u);
      FN(row_swap)(x, k, i, i + 1);
      FN(row_take)(x, k, i + 1, factor, i);
    } else {
      if (diag[i] == 0) return i;
      const T factor = FN(div)(below, diag[i]);
      far[i] = 0;
      diag[i + 1] = FN(mac)(d, -factor, up[i]);
      up[i + 1] = u;
      FN(row_take)(x, k, i + 1, factor, i);
    }
  }
  return diag[n - 1] == 0 ? n - 1 : -1;
}

/// Rows are divided before the unknown that was found last is taken out, so that the chain of rows does not wait for divisions.
INLINE void FN(three_substitute)(const band_solve_job *job, const T *work, T *x, const int64_t k) {
  const int64_t n = job->n;
  const T *diag = work, *up = work + n, *far = work + 2 * n;
  FN(row_divide)(x, k, n - 1, diag[n - 1]);
  for (int64_t i = n - 2; i >= 0; --i) {
    if (i + 2 < n) FN(row_take)(x, k, i, far[i], i + 2);
    FN(row_divide)(x, k, i, diag[i]);
    FN(row_take)(x, k, i, FN(div)(up[i], diag[i]), i + 1);
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
  const int64_t diagonals = FN(is_three)(job) ? 3 : 2 * job->lower + job->upper + 1;
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
    FN(band_load)(job, ab, work);
    column = FN(band_eliminate)(job, work, x);
    if (column < 0) FN(band_substitute)(job, work, x);
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
