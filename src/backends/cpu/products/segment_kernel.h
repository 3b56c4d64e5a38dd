// SPDX-License-Identifier: Apache-2.0
// Products between the inputs of a map and one number for each of its groups. Sums are taken in accumulators (f64 for
// f32 and c64), in the order of the sources; what comes from several items of a batch is added in T.

/// y_i = d[target i] a_i, or 0 where the target is -1.
static void IN(segment_scale)(const cpu_grouped *g, int64_t begin, int64_t end) {
  const C *target = g->target;
  const T *d = g->in[0], *a = g->in[1];
  T *y = g->out;
  if (g->adds) {
    for (int64_t i = begin; i < end; ++i) {
      if (target[i] >= 0) y[i] = FN(mac)(y[i], d[target[i]], a[i]);
    }
    return;
  }
  for (int64_t i = begin; i < end; ++i) y[i] = target[i] < 0 ? 0 : FN(mul)(d[target[i]], a[i]);
}

/// s_j = the sum of u_i conj(v_i) over the sources of j.
static void IN(segment_dot)(const cpu_grouped *g, int64_t begin, int64_t end) {
  const C *offsets = g->offsets, *sources = g->sources;
  const T *u = g->in[0], *v = g->in[1];
  T *s = g->out;
  for (int64_t j = begin; j < end; ++j) {
    FN(acc) sum = 0;
    int64_t p = offsets[j], last = offsets[j + 1];
    if (sources) {
      for (; p < last; ++p) sum = FN(mac_acc)(sum, FN(signed)(v[sources[p]], -1), u[sources[p]]);
    } else {
      for (; p < last; ++p) sum = FN(mac_acc)(sum, FN(signed)(v[p], -1), u[p]);
    }
    s[j] = g->adds ? s[j] + (T)sum : (T)sum;
  }
}
