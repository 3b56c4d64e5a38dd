// SPDX-License-Identifier: Apache-2.0
// Substitution by rows: x_i = (b_i - sum of a_ij x_j over the triangle) / a_ii.

#define REAL FN(real)

/// The entries of row i beside the diagonal, [*p, *end), and the entry on it. A lower row ends with its diagonal, an upper one
/// begins with it.
INLINE int64_t XN(row_range)(const solve_job *job, int64_t i, int64_t *p, int64_t *end) {
  const O *offsets = job->offsets;
  *p = offsets[i];
  *end = offsets[i + 1];
  if (job->is_unit) return -1;
  return job->is_lower ? --*end : (*p)++;
}

INLINE T XN(entry)(const solve_job *job, const T *a, int64_t p) {
  const O *slots = job->slots;
  return FN(signed)(a[slots ? slots[p] : p], (REAL)job->sign);
}

/// One right-hand side. The unknown that was found last comes last in its row and is taken from where it is, not from memory: a
/// chain of rows then waits for its arithmetic alone.
INLINE void XN(solve_one)(const solve_job *job, const T *a, const T *b, T *x, const bool is_lower) {
  const C *column = job->columns;
  int64_t first = is_lower ? 0 : job->rows - 1, step = is_lower ? 1 : -1, last = first - step;
  T found = 0;
  for (int64_t n = 0, i = first; n < job->rows; ++n, last = i, i += step) {
    int64_t p, end, diagonal = XN(row_range)(job, i, &p, &end);
    T s = b[i];
    for (int64_t q = is_lower ? p : end - 1, left = end - p; left > 0; --left, q += step) {
      T v = -XN(entry)(job, a, q);
      if (column[q] == last) {
        s = FN(mac)(s, v, found);
      } else {
        s = FN(mac)(s, v, x[column[q]]);
      }
    }
    found = job->is_unit ? s : FN(div)(s, XN(entry)(job, a, diagonal));
    x[i] = found;
  }
}

/// k right-hand sides, SOLVE_TILE at a time.
static void XN(solve_many)(const solve_job *job, const T *a, const T *b, T *x) {
  const C *column = job->columns;
  const int64_t k = job->k;
  T s[SOLVE_TILE];
  for (int64_t n = 0; n < job->rows; ++n) {
    int64_t i = job->is_lower ? n : job->rows - 1 - n, begin, end, diagonal = XN(row_range)(job, i, &begin, &end);
    for (int64_t j = 0; j < k; j += SOLVE_TILE) {
      int64_t width = k - j < SOLVE_TILE ? k - j : SOLVE_TILE;
      memcpy(s, b + i * k + j, (size_t)width * sizeof(T));
      for (int64_t p = begin; p < end; ++p) {
        T v = -XN(entry)(job, a, p);
        const T *row = x + column[p] * k + j;
        for (int64_t c = 0; c < width; ++c) s[c] = FN(mac)(s[c], v, row[c]);
      }
      if (!job->is_unit) {
        T v = XN(entry)(job, a, diagonal);
        for (int64_t c = 0; c < width; ++c) s[c] = FN(div)(s[c], v);
      }
      memcpy(x + i * k + j, s, (size_t)width * sizeof(T));
    }
  }
}

static void XN(solve_items)(const void *opaque, int64_t begin, int64_t end) {
  const solve_job *job = opaque;
  for (int64_t item = begin; item < end; ++item) {
    const T *a = (const T *)job->a + lac_batch_item(&job->batch, 0, item) * job->nnz;
    const T *b = (const T *)job->b + lac_batch_item(&job->batch, 1, item) * job->rows * job->k;
    T *x = (T *)job->x + lac_batch_item(&job->batch, 2, item) * job->rows * job->k;
    if (job->k == 1 && job->is_lower) {
      XN(solve_one)(job, a, b, x, true);
    } else if (job->k == 1) {
      XN(solve_one)(job, a, b, x, false);
    } else {
      XN(solve_many)(job, a, b, x);
    }
  }
}

/// The first of rows [begin, end) without a number other than zero on its diagonal, or -1.
static int64_t XN(find_zero)(const solve_job *job, const void *values, int64_t begin, int64_t end) {
  const O *offsets = job->offsets, *slots = job->slots;
  const C *column = job->columns;
  const T *a = values;
  for (int64_t i = begin; i < end; ++i) {
    if (offsets[i] == offsets[i + 1]) return i;
    int64_t p = job->is_lower ? offsets[i + 1] - 1 : offsets[i];
    if (column[p] != i || a[slots ? slots[p] : p] == 0) return i;
  }
  return -1;
}

#undef REAL
