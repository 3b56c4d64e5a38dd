// SPDX-License-Identifier: Apache-2.0
// States of blocks (states.c). Reductions other than norms are of reals: they read the real part.

/// The largest candidate of a run, in lanes as long as they last.
INLINE double FN(run_largest)(const lac_reduction op, const T *x, int64_t n) {
  double lane[STATE_LANES], largest = lac_state_none(op).most;
  int64_t i = 0;
  for (int l = 0; l < STATE_LANES; ++l) lane[l] = largest;
  for (; i + STATE_LANES <= n; i += STATE_LANES) {
#pragma omp simd
    for (int l = 0; l < STATE_LANES; ++l) {
      lane[l] = lac_larger(lane[l], candidate(op, FN(re)(x[i + l]), FN(abs)(x[i + l])));
    }
  }
  for (; i < n; ++i) largest = lac_larger(largest, candidate(op, FN(re)(x[i]), FN(abs)(x[i])));
  for (int l = 0; l < STATE_LANES; ++l) largest = lac_larger(largest, lane[l]);
  return largest;
}

/// The total of a run, likewise.
INLINE double FN(run_total)(const lac_reduction op, const T *x, int64_t n, double most, double inverse) {
  double lane[STATE_LANES] = {0}, total = 0;
  int64_t i = 0;
  for (; i + STATE_LANES <= n; i += STATE_LANES) {
#pragma omp simd
    for (int l = 0; l < STATE_LANES; ++l) {
      lane[l] += state_term(op, FN(re)(x[i + l]), FN(abs)(x[i + l]), most, inverse);
    }
  }
  for (; i < n; ++i) total += state_term(op, FN(re)(x[i]), FN(abs)(x[i]), most, inverse);
  for (int step = STATE_LANES / 2; step; step /= 2) {
    for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  return total + lane[0];
}

/// The state of a run. `op` is a constant to the compiler.
INLINE lac_state FN(run_state)(const lac_reduction op, const T *x, int64_t n) {
  lac_state s = {lac_state_most(op, FN(run_largest)(op, x, n)), 0};
  if (lac_state_has_total(op, s.most)) s.total = FN(run_total)(op, x, n, s.most, 1 / s.most);
  return s;
}

/// A block whose innermost dimension is reduced: one state.
INLINE void FN(state_along)(const lac_reduction op, const sum_job *plan, int64_t unit, lac_state *out) {
  const T *x = (const T *)plan->x + axes_offset(&plan->kept, unit / plan->blocks);
  int64_t block = unit % plan->blocks;
  if (plan->pieces > 1) {  // a part of one run
    int64_t start = block % plan->pieces * REDUCE_BLOCK, left = plan->inner - start;
    x += axes_offset(&plan->summed, block / plan->pieces) + start;
    *out = FN(run_state)(op, x, left < REDUCE_BLOCK ? left : REDUCE_BLOCK);
    return;
  }
  int64_t begin = block * plan->runs, last = plan->summed.count;
  int64_t end = begin + plan->runs < last ? begin + plan->runs : last;
  *out = lac_state_none(op);
  for (int64_t r = begin; r < end; ++r) {
    lac_state run = FN(run_state)(op, x + axes_offset(&plan->summed, r), plan->inner);
    *out = r == begin ? run : lac_state_join(op, *out, run);
  }
}

/// The totals of the columns of a tile, row by row.
INLINE void FN(columns_total)(const lac_reduction op, const T *row, int64_t width, const double *most, double *total) {
#pragma omp simd
  for (int64_t c = 0; c < width; ++c) {
    total[c] += state_term(op, FN(re)(row[c]), FN(abs)(row[c]), most[c], 1 / most[c]);
  }
}

/// A block whose innermost dimension is kept: a tile of columns.
INLINE void FN(state_across)(const lac_reduction op, const sum_job *plan, int64_t unit, int64_t tile, lac_state *out) {
  int64_t first = tile * REDUCE_TILE, left = plan->inner - first, width = left < REDUCE_TILE ? left : REDUCE_TILE;
  const T *x = (const T *)plan->x + axes_offset(&plan->kept, unit / plan->blocks) + first;
  int64_t begin = unit % plan->blocks * plan->runs, last = plan->summed.count;
  int64_t end = begin + plan->runs < last ? begin + plan->runs : last;
  double most[REDUCE_TILE], total[REDUCE_TILE] = {0};
  for (int64_t c = 0; c < width; ++c) most[c] = lac_state_none(op).most;
  for (int64_t r = begin; r < end; ++r) {
    const T *row = x + axes_offset(&plan->summed, r);
#pragma omp simd
    for (int64_t c = 0; c < width; ++c) most[c] = lac_larger(most[c], candidate(op, FN(re)(row[c]), FN(abs)(row[c])));
  }
  for (int64_t c = 0; c < width; ++c) most[c] = lac_state_most(op, most[c]);
  for (int64_t r = begin; r < end && (op == LAC_REDUCE_NORM || op == LAC_REDUCE_LOGSUMEXP); ++r) {
    FN(columns_total)(op, x + axes_offset(&plan->summed, r), width, most, total);
  }
  for (int64_t c = 0; c < width; ++c) {
    out[first + c] = (lac_state){most[c], lac_state_has_total(op, most[c]) ? total[c] : 0};
  }
}

INLINE void FN(state_units_of)(const lac_reduction op, const state_job *job, int64_t begin, int64_t end) {
  const sum_job *plan = &job->plan;
  for (int64_t u = begin; u < end; ++u) {
    int64_t unit = u / plan->tiles;
    if (plan->is_along) {
      FN(state_along)(op, plan, unit, job->states + unit);
    } else {
      FN(state_across)(op, plan, unit, u % plan->tiles, job->states + unit * plan->inner);
    }
  }
}

static void FN(state_units)(const void *opaque, int64_t begin, int64_t end) {
  const state_job *job = opaque;
  switch (job->op) {
    case LAC_REDUCE_MAX:
      FN(state_units_of)(LAC_REDUCE_MAX, job, begin, end);
      break;
    case LAC_REDUCE_MIN:
      FN(state_units_of)(LAC_REDUCE_MIN, job, begin, end);
      break;
    case LAC_REDUCE_NORM:
      FN(state_units_of)(LAC_REDUCE_NORM, job, begin, end);
      break;
    case LAC_REDUCE_LOGSUMEXP:
      FN(state_units_of)(LAC_REDUCE_LOGSUMEXP, job, begin, end);
      break;
  }
}

/// y = exp(x - most) / total, with one state for all or one for each.
INLINE void FN(softmax_run)(const T *x, const lac_state *s, const int stride, T *y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    double most = s[i * stride].most, term = state_term(LAC_REDUCE_LOGSUMEXP, FN(re)(x[i]), 0, most, 0);
    y[i] = lac_state_has_total(LAC_REDUCE_LOGSUMEXP, most) ? (T)(term / s[i * stride].total) : 0;
  }
}

static void FN(softmax_span)(const void *opaque, int64_t begin, int64_t end) {
  const softmax_job *job = opaque;
  const lac_loop *loop = &job->loop;
  int64_t inner = lac_loop_inner(loop), stride = loop->stride[1][loop->ndim - 1];
  for (int64_t n; begin < end; begin += n) {
    int64_t start = begin % inner;
    lac_cursor cursor = lac_cursor_at(loop, begin / inner);
    const lac_state *s = job->states + cursor.offset[1] + start * stride;
    const T *x = (const T *)job->x + begin;
    T *y = (T *)job->y + begin;
    n = end - begin < inner - start ? end - begin : inner - start;
    if (stride == 0) {
      FN(softmax_run)(x, s, 0, y, n);
    } else {
      FN(softmax_run)(x, s, 1, y, n);
    }
  }
}
