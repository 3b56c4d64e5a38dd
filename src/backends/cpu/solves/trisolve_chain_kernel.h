// SPDX-License-Identifier: Apache-2.0
// A chain: every row has its diagonal and one neighbour, so that slots need no looking up. The diagonal of row i is
// slot 2 i, and the slot after it couples unknowns i and i + 1, in a lower and in an upper matrix, as it is and
// transposed. Under LAC_DIAGONAL_UNIT there are the couplings alone.

/// b_i / a_ii and a_ij / a_ii for the n rows from `first` on, whose couplings are slots 2 i + `to`.
INLINE void FN(chain_divide)(const solve_job *job, const T *a, const T *b, int64_t first, int64_t n, const int64_t to,
                             T *q, T *r, bool *zero) {
  const FN(real) sign = (FN(real))job->sign;
  int zeros = 0;
#pragma omp simd reduction(| : zeros)
  for (int64_t c = 0; c < n; ++c) {
    const T d = FN(signed)(a[2 * (first + c)], sign);
    q[c] = FN(div)(b[first + c], d);
    r[c] = FN(div)(FN(signed)(a[2 * (first + c) + to], sign), d);
    zeros |= d == 0;
  }
  *zero |= zeros;
}

/// The n rows from `first` on: their b_i / a_ii and a_ij / a_ii are in q and r, the unknown before them is `found`.
INLINE T FN(chain_run)(T *x, const T *q, const T *r, int64_t n, T found, const int64_t step) {
  for (int64_t c = 0; c < n; ++c) {
    const int64_t i = step > 0 ? c : n - 1 - c;
    x[i] = found = FN(mac)(q[i], -r[i], found);
  }
  return found;
}

INLINE void FN(chain)(const solve_job *job, const T *a, const T *b, T *x, const int64_t step) {
  T q[CHAIN_CHUNK], r[CHAIN_CHUNK];
  const int64_t end = step > 0 ? 0 : job->rows - 1;  // where it begins
  const T d = FN(signed)(a[2 * end], (FN(real))job->sign);
  bool zero = d == 0;
  T found = FN(div)(b[end], d);
  x[end] = found;
  for (int64_t done = 1, n; done < job->rows; done += n) {
    n = job->rows - done < CHAIN_CHUNK ? job->rows - done : CHAIN_CHUNK;
    const int64_t first = step > 0 ? done : job->rows - done - n;
    FN(chain_divide)(job, a, b, first, n, -step, q, r, &zero);
    found = FN(chain_run)(x + first, q, r, n, found, step);
  }
  if (zero) solve_note_zero(job);
}

/// Ones on the diagonal: slot i couples unknowns i and i + 1.
INLINE void FN(chain_unit)(const solve_job *job, const T *a, const T *b, T *x, const int64_t step) {
  const FN(real) sign = (FN(real))job->sign;
  int64_t i = step > 0 ? 0 : job->rows - 1;
  T found = x[i] = b[i];
  for (int64_t n = 1; n < job->rows; ++n) {
    const T v = FN(signed)(a[step > 0 ? i : i - 1], sign);
    i += step;
    x[i] = found = FN(mac)(b[i], -v, found);
  }
}

static void FN(solve_chains)(const void *opaque, int64_t begin, int64_t end) {
  const solve_job *job = opaque;
  for (int64_t item = begin; item < end; ++item) {
    const T *a = (const T *)job->a + lac_batch_item(&job->batch, 0, item) * job->nnz;
    const T *b = (const T *)job->b + lac_batch_item(&job->batch, 1, item) * job->rows;
    T *x = (T *)job->x + lac_batch_item(&job->batch, 2, item) * job->rows;
    if (job->is_unit && job->is_lower) {
      FN(chain_unit)(job, a, b, x, 1);
    } else if (job->is_unit) {
      FN(chain_unit)(job, a, b, x, -1);
    } else if (job->is_lower) {
      FN(chain)(job, a, b, x, 1);
    } else {
      FN(chain)(job, a, b, x, -1);
    }
  }
}
