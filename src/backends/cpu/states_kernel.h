// SPDX-License-Identifier: Apache-2.0
// States of blocks (states.c). Reductions other than norms are of reals: they read the real part.

/// The state of a run. `op` is a constant to the compiler.
INLINE state FN(run_state)(const lac_reduction op, const T *x, int64_t n) {
  double largest = state_none(op).most;
  state s = {0};
  for (int64_t i = 0; i < n; ++i) largest = larger(largest, candidate(op, FN(re)(x[i]), FN(abs)(x[i])));
  s.most = state_most(op, largest);
  if (!state_has_total(op, s.most)) return s;
  for (int64_t i = 0; i < n; ++i) s.total += state_term(op, FN(re)(x[i]), FN(abs)(x[i]), s.most);
  return s;
}

/// A block whose innermost dimension is reduced: one state.
INLINE void FN(state_along)(const lac_reduction op, const sum_job *plan, int64_t unit, state *out) {
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
  *out = state_none(op);
  for (int64_t r = begin; r < end; ++r) {
    state run = FN(run_state)(op, x + axes_offset(&plan->summed, r), plan->inner);
    *out = r == begin ? run : state_join(op, out, &run);
  }
}

/// A block whose innermost dimension is kept: a tile of columns, row by row.
INLINE void FN(state_across)(const lac_reduction op, const sum_job *plan, int64_t unit, int64_t tile, state *out) {
  int64_t first = tile * REDUCE_TILE, left = plan->inner - first, width = left < REDUCE_TILE ? left : REDUCE_TILE;
  const T *x = (const T *)plan->x + axes_offset(&plan->kept, unit / plan->blocks) + first;
  int64_t begin = unit % plan->blocks * plan->runs, last = plan->summed.count;
  int64_t end = begin + plan->runs < last ? begin + plan->runs : last;
  for (int64_t c = 0; c < width; ++c) out[first + c] = state_none(op);
  for (int64_t r = begin; r < end; ++r) {
    const T *row = x + axes_offset(&plan->summed, r);
    for (int64_t c = 0; c < width; ++c) {
      out[first + c].most = larger(out[first + c].most, candidate(op, FN(re)(row[c]), FN(abs)(row[c])));
    }
  }
  for (int64_t c = 0; c < width; ++c) out[first + c].most = state_most(op, out[first + c].most);
  for (int64_t r = begin; r < end && (op == LAC_REDUCE_NORM || op == LAC_REDUCE_LOGSUMEXP); ++r) {
    const T *row = x + axes_offset(&plan->summed, r);
    for (int64_t c = 0; c < width; ++c) {
      state *s = &out[first + c];
      if (state_has_total(op, s->most)) s->total += state_term(op, FN(re)(row[c]), FN(abs)(row[c]), s->most);
    }
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

/// y = exp(x - most) / total
static void FN(softmax_span)(const void *opaque, int64_t begin, int64_t end) {
  const softmax_job *job = opaque;
  const cpu_loop *loop = &job->loop;
  int64_t inner = cpu_loop_inner(loop), stride = loop->stride[1][loop->ndim - 1];
  for (int64_t n; begin < end; begin += n) {
    int64_t start = begin % inner;
    cpu_cursor cursor = cpu_cursor_at(loop, begin / inner);
    const state *s = job->states + cursor.offset[1] + start * stride;
    const T *x = (const T *)job->x + begin;
    T *y = (T *)job->y + begin;
    n = end - begin < inner - start ? end - begin : inner - start;
    for (int64_t i = 0; i < n; ++i, s += stride) {
      bool has = state_has_total(LAC_REDUCE_LOGSUMEXP, s->most);
      y[i] = has ? (T)(state_term(LAC_REDUCE_LOGSUMEXP, FN(re)(x[i]), 0, s->most) / s->total) : 0;
    }
  }
}
