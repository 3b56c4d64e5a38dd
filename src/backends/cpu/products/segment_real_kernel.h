// SPDX-License-Identifier: Apache-2.0
// Reductions of reals over the groups of a map. A group of `full` numbers has zeros where no input is; sums are taken
// in f64.
//
// `runs` is a constant at each place where a text is inlined: a group is then a run of inputs, and its loop a plain
// one.

/// The largest of the group's numbers and its implicit zeros times `sign`; NaN if one is NaN, -inf of nothing.
INLINE T IN(group_extreme)(const T *x, const C *sources, int64_t p, int64_t last, int64_t zeros, T sign,
                           const bool runs) {
  T most = zeros > 0 ? 0 : (T)-INFINITY;
  bool is_nan = false;
  for (; p < last; ++p) {
    T value = sign * x[runs ? p : sources[p]];
    is_nan |= isnan(value);
    most = value > most ? value : most;
  }
  return is_nan ? (T)NAN : most;
}

INLINE int64_t IN(group_zeros)(const cpu_grouped *g, int64_t count) { return g->full > count ? g->full - count : 0; }

/// What is taken from every exponent: the largest, or 0 where that is -inf or NaN, so that these show in the sum.
INLINE T IN(group_shift)(T most) { return most > -(T)INFINITY ? most : 0; }

/// e = x - shift of entries [p, last), whose places in x are p itself or sources[p]; 0 also for what is +inf like the
/// shift.
INLINE void IN(group_differences)(const T *x, const C *sources, int64_t p, int64_t last, T shift, T *e,
                                  const bool runs) {
  for (; p < last; ++p) {
    T value = x[runs ? p : sources[p]];
    *e++ = value == shift ? 0 : value - shift;
  }
}

INLINE void IN(group_exps)(T *e, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) e[i] = FN(exp)(e[i]);
}

/// sum + the exponentials e, from first to last.
INLINE double IN(group_total)(const T *e, int64_t n, double sum) {
  for (int64_t i = 0; i < n; ++i) sum += e[i];
  return sum;
}

/// A group too long for the buffer, in pieces; with `y` the exponentials are kept there.
INLINE double IN(long_total)(const T *x, const C *sources, int64_t p, int64_t last, T shift, double sum, T *y,
                             const bool runs) {
  T e[SEGMENT_BUFFER];
  for (int64_t n; p < last; p += n) {
    n = last - p < SEGMENT_BUFFER ? last - p : SEGMENT_BUFFER;
    IN(group_differences)(x, sources, p, p + n, shift, e, runs);
    IN(group_exps)(e, n);
    for (int64_t i = 0; y && i < n; ++i) y[runs ? p + i : sources[p + i]] = e[i];
    sum = IN(group_total)(e, n, sum);
  }
  return sum;
}

/// The groups from `begin` on that go into the buffers together, at least one.
INLINE int64_t IN(groups_at_once)(const C *offsets, int64_t begin, int64_t end) {
  int64_t j = begin + 1;
  while (j < end && j - begin < SEGMENT_GROUPS && offsets[j + 1] - offsets[begin] <= SEGMENT_BUFFER) ++j;
  return j;
}

/// What a pass over groups knows of them: exponents less the shift, then the exponentials; the shift and the sum of
/// each.
typedef struct IN(segment_pass) {
  T e[SEGMENT_BUFFER], shift[SEGMENT_GROUPS];
  double sum[SEGMENT_GROUPS];
} IN(segment_pass);

/// Shifts, exponentials and sums of groups [begin, end), which fit; one that does not fit keeps its exponentials in y,
/// if given. Short groups share the loop over exponentials, which has vectors to fill.
INLINE void IN(segment_exps)(const cpu_grouped *g, int64_t begin, int64_t end, IN(segment_pass) * pass, T *y,
                             const bool runs) {
  const C *offsets = g->offsets, *sources = g->sources;
  const T *x = g->in[0];
  bool fits = offsets[end] - offsets[begin] <= SEGMENT_BUFFER;
  for (int64_t j = begin; j < end; ++j) {
    int64_t p = offsets[j], last = offsets[j + 1], zeros = IN(group_zeros)(g, last - p);
    T shift = IN(group_shift)(IN(group_extreme)(x, sources, p, last, zeros, 1, runs));
    pass->shift[j - begin] = shift;
    pass->sum[j - begin] = zeros > 0 ? (double)zeros * exp(-(double)shift) : 0;
    if (fits) IN(group_differences)(x, sources, p, last, shift, pass->e + (p - offsets[begin]), runs);
  }
  if (!fits) {
    pass->sum[0] = IN(long_total)(x, sources, offsets[begin], offsets[end], pass->shift[0], pass->sum[0], y, runs);
    return;
  }
  IN(group_exps)(pass->e, offsets[end] - offsets[begin]);
  for (int64_t j = begin; j < end; ++j) {
    const T *e = pass->e + (offsets[j] - offsets[begin]);
    pass->sum[j - begin] = IN(group_total)(e, offsets[j + 1] - offsets[j], pass->sum[j - begin]);
  }
}

INLINE void IN(logsumexp_groups)(const cpu_grouped *g, int64_t begin, int64_t end, const bool runs) {
  IN(segment_pass) pass;
  T *y = g->out;
  for (int64_t next; begin < end; begin = next) {
    next = IN(groups_at_once)(g->offsets, begin, end);
    IN(segment_exps)(g, begin, next, &pass, NULL, runs);
    for (int64_t j = begin; j < next; ++j) y[j] = (T)((double)pass.shift[j - begin] + log(pass.sum[j - begin]));
  }
}

static void IN(segment_logsumexp)(const cpu_grouped *g, int64_t begin, int64_t end) {
  if (g->sources) {
    IN(logsumexp_groups)(g, begin, end, false);
  } else {
    IN(logsumexp_groups)(g, begin, end, true);
  }
}

/// A group without mass, all -inf, has weights of 0.
INLINE void IN(softmax_groups)(const cpu_grouped *g, int64_t begin, int64_t end, const bool runs) {
  const C *offsets = g->offsets, *sources = g->sources;
  IN(segment_pass) pass;
  T *y = g->out;
  for (int64_t next; begin < end; begin = next) {
    next = IN(groups_at_once)(offsets, begin, end);
    IN(segment_exps)(g, begin, next, &pass, y, runs);
    bool fits = offsets[next] - offsets[begin] <= SEGMENT_BUFFER;
    for (int64_t j = begin; j < next; ++j) {
      T part = pass.sum[j - begin] == 0 ? 0 : (T)(1 / pass.sum[j - begin]);
      for (int64_t p = offsets[j]; p < offsets[j + 1]; ++p) {
        int64_t i = runs ? p : sources[p];
        y[i] = (fits ? pass.e[p - offsets[begin]] : y[i]) * part;
      }
    }
  }
}

static void IN(segment_softmax)(const cpu_grouped *g, int64_t begin, int64_t end) {
  if (g->sources) {
    IN(softmax_groups)(g, begin, end, false);
  } else {
    IN(softmax_groups)(g, begin, end, true);
  }
}

INLINE void IN(extreme_groups)(const cpu_grouped *g, int64_t begin, int64_t end, const bool runs) {
  const C *offsets = g->offsets, *sources = g->sources;
  T *y = g->out, sign = (T)g->sign;
  for (int64_t j = begin; j < end; ++j) {
    int64_t p = offsets[j], last = offsets[j + 1];
    y[j] = sign * IN(group_extreme)(g->in[0], sources, p, last, IN(group_zeros)(g, last - p), sign, runs);
  }
}

static void IN(segment_extreme)(const cpu_grouped *g, int64_t begin, int64_t end) {
  if (g->sources) {
    IN(extreme_groups)(g, begin, end, false);
  } else {
    IN(extreme_groups)(g, begin, end, true);
  }
}

/// y_i = 1 / n where x_i is one of the n extremes of its group, implicit zeros among them; 0 elsewhere.
INLINE void IN(ties_groups)(const cpu_grouped *g, int64_t begin, int64_t end, const bool runs) {
  const C *offsets = g->offsets, *sources = g->sources;
  const T *x = g->in[0];
  T *y = g->out, sign = (T)g->sign;
  for (int64_t j = begin; j < end; ++j) {
    int64_t first = offsets[j], last = offsets[j + 1], zeros = IN(group_zeros)(g, last - first);
    T most = sign * IN(group_extreme)(x, sources, first, last, zeros, sign, runs);
    int64_t count = most == 0 ? zeros : 0;
    for (int64_t p = first; p < last; ++p) {
      int64_t i = runs ? p : sources[p];
      bool is_one = x[i] == most || (isnan(x[i]) && isnan(most));
      y[i] = is_one;
      count += is_one;
    }
    for (int64_t p = first; p < last; ++p) y[runs ? p : sources[p]] /= (T)count;
  }
}

static void IN(segment_ties)(const cpu_grouped *g, int64_t begin, int64_t end) {
  if (g->sources) {
    IN(ties_groups)(g, begin, end, false);
  } else {
    IN(ties_groups)(g, begin, end, true);
  }
}
