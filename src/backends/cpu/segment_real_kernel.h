// SPDX-License-Identifier: Apache-2.0
// Reductions of reals over the groups of a map. A group of `full` numbers has zeros where no input is; sums are taken in f64.
//
// `runs` is a constant at each place where a text is inlined: a group is then a run of inputs, and its loop a plain one.

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

/// What is taken from every exponent: the largest, or 0 where that is infinite or NaN, so that these show in the sum.
INLINE T IN(group_shift)(T most) { return isfinite(most) ? most : 0; }

INLINE void IN(logsumexp_groups)(const cpu_grouped *g, int64_t begin, int64_t end, const bool runs) {
  const C *offsets = g->offsets, *sources = g->sources;
  const T *x = g->in[0];
  T *y = g->out;
  for (int64_t j = begin; j < end; ++j) {
    int64_t p = offsets[j], last = offsets[j + 1], zeros = IN(group_zeros)(g, last - p);
    T shift = IN(group_shift)(IN(group_extreme)(x, sources, p, last, zeros, 1, runs));
    double sum = zeros > 0 ? (double)zeros * exp(-(double)shift) : 0;
    for (; p < last; ++p) sum += FN(group_exp)(x[runs ? p : sources[p]] - shift);
    y[j] = (T)((double)shift + log(sum));
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
  const T *x = g->in[0];
  T *y = g->out;
  for (int64_t j = begin; j < end; ++j) {
    int64_t first = offsets[j], last = offsets[j + 1], zeros = IN(group_zeros)(g, last - first);
    T shift = IN(group_shift)(IN(group_extreme)(x, sources, first, last, zeros, 1, runs));
    double sum = zeros > 0 ? (double)zeros * exp(-(double)shift) : 0;
    for (int64_t p = first; p < last; ++p) {
      int64_t i = runs ? p : sources[p];
      y[i] = FN(group_exp)(x[i] - shift);
      sum += y[i];
    }
    T part = sum == 0 ? 0 : (T)(1 / sum);
    for (int64_t p = first; p < last; ++p) y[runs ? p : sources[p]] *= part;
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
