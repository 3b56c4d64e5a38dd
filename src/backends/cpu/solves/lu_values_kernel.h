// SPDX-License-Identifier: Apache-2.0
// L\U by rows, and its adjoint. diagonal[i] parts row i: L is before it, U from it on.

/// L\U of c; returns the row of the first pivot that does not do, or -1. `row` has as many numbers as the matrix has columns.
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
      const T l = FN(conj)(lu[p]), sum = XN(lu_give_back)(job, k, l, lu, row, bar);
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
