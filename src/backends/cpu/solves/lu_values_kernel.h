// SPDX-License-Identifier: Apache-2.0
// L\U by rows, and its adjoint. diagonal[i] parts row i: L is before it, U from it on.

/// The place of a column among those of a row from `begin` to `end` - 1, ascending, or -1.
INLINE int64_t XN(lu_find)(const C *columns, int64_t begin, int64_t end, int64_t column) {
  int64_t low = begin, high = end;
  LAC_SEARCH(low, high, i, columns[i] < column)
  return low < end && columns[low] == column ? low : -1;
}

/// row -= l u_k on the columns from p on of a row that is much shorter than that of u_k: those of the shorter are
/// looked up in the longer, so that a full row does not cost its length in each row below.
INLINE void XN(lu_take_few)(const lu_job *job, int64_t k, T l, const T *lu, int64_t p, int64_t end, T *row) {
  const O *offsets = job->offsets, *diagonal = job->diagonal;
  const C *columns = job->columns;
  for (int64_t from = (int64_t)diagonal[k] + 1; p < end; ++p) {
    const int64_t q = XN(lu_find)(columns, from, offsets[k + 1], columns[p]);
    if (q < 0) continue;
    row[columns[p]] = FN(mac)(row[columns[p]], -l, lu[q]);
    from = q + 1;
  }
}

/// L\U of c; returns the row of the first pivot that does not do, or -1. `row` has as many numbers as the matrix has
/// columns.
static int64_t XN(lu_eliminate)(const lu_job *job, const T *c, T *lu, T *row) {
  const O *offsets = job->offsets, *diagonal = job->diagonal;
  const C *columns = job->columns;
  for (int64_t i = 0; i < job->rows; ++i) {
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) row[columns[p]] = c[p];
    for (int64_t p = offsets[i]; p < diagonal[i]; ++p) {
      const int64_t k = columns[p];
      const T pivot = lu[diagonal[k]];
      if (pivot == 0) return k;
      const T l = FN(div)(row[k], pivot);
      lu[p] = l;
      if ((offsets[i + 1] - p) * LU_FEW < offsets[k + 1] - diagonal[k]) {
        XN(lu_take_few)(job, k, l, lu, p + 1, offsets[i + 1], row);
        continue;
      }
      for (int64_t q = diagonal[k] + 1; q < offsets[k + 1]; ++q) {
        row[columns[q]] = FN(mac)(row[columns[q]], -l, lu[q]);
      }
    }
    for (int64_t p = diagonal[i]; p < offsets[i + 1]; ++p) lu[p] = row[columns[p]];
    if (job->positive && !(FN(re)(lu[diagonal[i]]) > 0)) return i;
  }
  return -1;
}

static void XN(lu_items)(const void *opaque, int64_t begin, int64_t end) {
  const lu_job *job = opaque;
  T *row = lac_calloc((size_t)job->rows, sizeof(T));
  if (!row) {
    atomic_store(job->out_of_memory, true);
    return;
  }
  for (int64_t item = begin; item < end; ++item) {
    T *lu = (T *)job->out + lac_batch_item(&job->batch, 1, item) * job->nnz;
    const T *c = (const T *)job->in + lac_batch_item(&job->batch, 0, item) * job->nnz;
    const int64_t failed = XN(lu_eliminate)(job, c, lu, row);
    if (failed >= 0) lu_note(job, item, failed, (double)FN(re)(lu[((const O *)job->diagonal)[failed]]));
  }
  lac_free(row);
}

/// The same as lu_give_back below, on the columns from p on of a row that is much shorter than that of u_k.
INLINE T XN(lu_give_back_few)(const lu_job *job, int64_t k, T l, const T *lu, const T *row, int64_t p, int64_t end,
                              T *bar) {
  const O *offsets = job->offsets, *diagonal = job->diagonal;
  const C *columns = job->columns;
  T sum = 0;
  for (int64_t from = (int64_t)diagonal[k] + 1; p < end; ++p) {
    const int64_t q = XN(lu_find)(columns, from, offsets[k + 1], columns[p]);
    if (q < 0) continue;
    sum = FN(mac)(sum, FN(conj)(lu[q]), row[columns[p]]);
    bar[q] = FN(mac)(bar[q], -l, row[columns[p]]);
    from = q + 1;
  }
  return sum;
}

/// What row i owes to row k: sum_j conj(u_kj) row_j goes to l_bar, and u_bar_kj loses conj(l_ik) row_j.
INLINE T XN(lu_give_back)(const lu_job *job, int64_t k, T l, const T *lu, const T *row, T *bar) {
  const O *offsets = job->offsets, *diagonal = job->diagonal;
  const C *columns = job->columns;
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t q = diagonal[k] + 1; q < offsets[k + 1]; ++q) {
    const T v = row[columns[q]];
    sum = FN(mac)(sum, FN(conj)(lu[q]), v);
    bar[q] = FN(mac)(bar[q], -l, v);
  }
  return sum;
}

/// lu_bar, which is in `bar`, becomes c_bar. `row` is zero before and after.
static void XN(lu_adjoint)(const lu_job *job, const T *lu, T *bar, T *row) {
  const O *offsets = job->offsets, *diagonal = job->diagonal;
  const C *columns = job->columns;
  for (int64_t i = job->rows - 1; i >= 0; --i) {
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) row[columns[p]] = bar[p];
    for (int64_t p = (int64_t)diagonal[i] - 1; p >= offsets[i]; --p) {
      const int64_t k = columns[p];
      const bool is_short = (offsets[i + 1] - p) * LU_FEW < offsets[k + 1] - diagonal[k];
      const T l = FN(conj)(lu[p]);
      const T sum = is_short ? XN(lu_give_back_few)(job, k, l, lu, row, p + 1, offsets[i + 1], bar)
                             : XN(lu_give_back)(job, k, l, lu, row, bar);
      row[k] = FN(div)(row[k] - sum, FN(conj)(lu[diagonal[k]]));
      bar[diagonal[k]] = FN(mac)(bar[diagonal[k]], -l, row[k]);
    }
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) bar[p] = row[columns[p]], row[columns[p]] = 0;
  }
}

static void XN(lu_adjoint_items)(const void *opaque, int64_t begin, int64_t end) {
  const lu_job *job = opaque;
  T *row = lac_calloc((size_t)job->rows, sizeof(T));
  if (!row) {
    atomic_store(job->out_of_memory, true);
    return;
  }
  for (int64_t item = begin; item < end; ++item) {
    const T *lu = (const T *)job->in + lac_batch_item(&job->batch, 0, item) * job->nnz;
    T *bar = (T *)job->out + lac_batch_item(&job->batch, 2, item) * job->nnz;
    memcpy(bar, (const T *)job->bar + lac_batch_item(&job->batch, 1, item) * job->nnz, (size_t)job->nnz * sizeof(T));
    XN(lu_adjoint)(job, lu, bar, row);
  }
  lac_free(row);
}
