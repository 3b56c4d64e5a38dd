// SPDX-License-Identifier: Apache-2.0
// A run of products in accumulators (f64 for f32 and c64): in lanes as long as they last, then from left to right.

/// The total of `lanes` lanes, a power of two and a constant to the compiler.
INLINE FN(acc) FN(lanes_total)(FN(acc) * lane, const int lanes) {
  UNROLL(4) for (int step = lanes / 2; step; step /= 2) {
    UNROLL(8) for (int l = 0; l < step; ++l) lane[l] += lane[l + step];
  }
  return lane[0];
}

/// sum of conj(x) y
INLINE FN(acc) FN(run_dot)(const T *x, const T *y, int64_t n, const int lanes) {
  FN(acc) total = 0;
  int64_t i = 0;
  if (n >= lanes) {
    FN(acc) lane[DOT_LANES] = {0};
    for (; i + lanes <= n; i += lanes) {
      UNROLL(16) for (int l = 0; l < lanes; ++l) lane[l] = FN(mac_acc)(lane[l], FN(signed)(x[i + l], -1), y[i + l]);
    }
    total = FN(lanes_total)(lane, lanes);
  }
  for (; i < n; ++i) total = FN(mac_acc)(total, FN(signed)(x[i], -1), y[i]);
  return total;
}
