// SPDX-License-Identifier: Apache-2.0
/// @file reductions.c
/// Reductions made of operators; derivatives come from the parts.
///
///     mean         sum(x) / n
///     prod         pair by pair: no division, so that zeros are exact, in every order of derivative
///     norm1        sum |x|
///     norm_inf     max |x|
///     log_softmax  x - logsumexp(x)

#include "lacuna/distributed.h"
#include "ops/axes.h"

lac_var lac_mean(lac_tape *tape, lac_var x, uint32_t mask, lac_axes axes) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  double n = 1;

  for (int d = 0; meta && d < meta->ndim; ++d) {
    bool spread = meta->partition && meta->partition_axis == d;
    if (mask >> (meta->ndim - 1 - d) & 1) n *= (double)(spread ? lac_partition_total(meta->partition) : meta->shape[d]);
  }
  return lac_scale(tape, 1 / n, 0, lac_sum_axes(tape, x, mask, axes));
}

lac_var lac_norm1(lac_tape *tape, lac_var x, uint32_t mask, lac_axes axes) {
  return lac_sum_axes(tape, lac_abs(tape, x), mask, axes);
}

lac_var lac_norm_inf(lac_tape *tape, lac_var x, uint32_t mask, lac_axes axes) {
  return lac_max(tape, lac_abs(tape, x), mask, axes);
}

lac_var lac_log_softmax(lac_tape *tape, lac_var x, uint32_t mask) {
  return lac_sub(tape, x, lac_logsumexp(tape, x, mask, LAC_KEEP_AXES));
}

/// The product along one axis of n numbers, which is kept with size 1. An odd one out waits for the next round.
static lac_var prod_along(lac_tape *tape, lac_var x, int axis, int64_t n) {
  lac_var rest = {0};

  if (n == 0) {  // a zero for each, equal to itself: 1
    lac_var zero = lac_sum_axes(tape, x, 1u << axis, LAC_KEEP_AXES);
    return lac_compare(tape, LAC_EQ, zero, zero);
  }
  for (; n > 1; n /= 2) {
    if (n % 2) {
      lac_var odd = lac_slice(tape, x, axis, n - 1, n, 1);
      rest = rest.id ? lac_mul(tape, rest, odd) : odd;
    }
    x = lac_mul(tape, lac_slice(tape, x, axis, 0, n / 2, 1), lac_slice(tape, x, axis, n / 2, n / 2 * 2, 1));
  }
  return rest.id ? lac_mul(tape, x, rest) : x;
}

lac_var lac_prod(lac_tape *tape, lac_var x, uint32_t mask, lac_axes axes) {
  const lac_meta *given = lac_tape_meta(tape, x);
  lac_meta meta = given ? *given : (lac_meta){.ndim = 0};  // a copy: calls grow the tape

  for (int d = 0; d < meta.ndim; ++d) {
    if (mask >> d & 1) x = prod_along(tape, x, d, meta.shape[meta.ndim - 1 - d]);
  }
  return lac_sum_axes(tape, x, mask, axes);  // axes of size 1 go or stay; an x or a mask that does not fit is refused
}
