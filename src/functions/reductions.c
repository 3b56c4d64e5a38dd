// SPDX-License-Identifier: Apache-2.0
/// @file reductions.c
/// Reductions made of operators; derivatives come from the parts.
///
///     mean         sum(x) times extent^-1
///     prod         pair by pair: no division, so that zeros are exact, in every order of derivative
///     norm1        sum |x|
///     norm_inf     max |x|
///     log_softmax  y - logsumexp(y) for y = x - max(x), which loses no digits however large x is

#include "functions/function.h"

lac_var lac_mean(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims) {
  return lac_mul(tape, lac_sum_axes(tape, x, count, axes, keepdims), lac_extent(tape, x, count, axes, -1));
}

lac_var lac_norm1(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims) {
  return lac_sum_axes(tape, lac_abs(tape, x), count, axes, keepdims);
}

lac_var lac_norm_inf(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims) {
  return lac_max(tape, lac_abs(tape, x), count, axes, keepdims);
}

/// Whether an axis of a mask is empty: there is no largest number then, and no number that would need it.
static bool reduces_nothing(lac_tape *tape, lac_var x, uint32_t mask) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  bool is_empty = false;

  for (int d = 0; meta && d < meta->ndim; ++d) is_empty |= mask >> d & 1 && meta->shape[meta->ndim - 1 - d] == 0;
  return is_empty;
}

lac_var lac_log_softmax(lac_tape *tape, lac_var x, int count, const int *axes) {
  uint32_t mask = lac_axes_mask(tape, "log_softmax", lac_axes_of(tape, x), count, axes);
  lac_var y = reduces_nothing(tape, x, mask) ? x : lac_sub(tape, x, lac_max(tape, x, OVER(mask), true));

  return lac_sub(tape, y, lac_logsumexp(tape, y, OVER(mask), true));
}

/// The product along one axis of n numbers (counted from the end by -1 and down), which is kept with size 1. An odd one
/// out waits for the next round.
static lac_var prod_along(lac_tape *tape, lac_var x, int axis, int64_t n) {
  lac_var rest = {0};

  if (n == 0) {  // a zero for each, equal to itself: 1
    lac_var zero = lac_sum_axes(tape, x, 1, &axis, true);
    return lac_compare(tape, zero, zero, LAC_RELATION_EQ);
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

lac_var lac_prod(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims) {
  const lac_meta *given = lac_tape_meta(tape, x);
  lac_meta meta = given ? *given : (lac_meta){.ndim = 0};  // a copy: calls grow the tape

  uint32_t mask = lac_axes_mask(tape, "prod", lac_axes_of(tape, x), count, axes);

  for (int d = 0; d < meta.ndim; ++d) {
    if (mask >> d & 1) x = prod_along(tape, x, -1 - d, meta.shape[meta.ndim - 1 - d]);
  }
  return lac_sum_axes(tape, x, OVER(mask), keepdims);  // axes of size 1 go or stay; an absent x is refused
}

#define AXES "x: array, axis: axes = all, keepdims: flag = false"
#define MASK(c) ((uint32_t)INT(c, 0))
#define KEEP(c) (INT(c, 1) != 0)

LAC_WRITES(mean, AXES, "The mean over the given axes, all by default; NaN of no numbers.") {
  c->out[0] = lac_mean(c->tape, IN(c, 0), OVER(MASK(c)), KEEP(c));
}

LAC_WRITES(prod, AXES,
           "The product over the given axes, all by default, pair by pair: exact with zeros; 1 of no numbers.") {
  c->out[0] = lac_prod(c->tape, IN(c, 0), OVER(MASK(c)), KEEP(c));
}

LAC_WRITES(
    norm, AXES ", ord: 2|1|inf = 2",
    "The vector norm over the given axes, all by default, of order 1, 2 or inf: real, its gradient at zero is zero.") {
  lac_var (*const by_order[])(lac_tape *, lac_var, int, const int *, bool) = {lac_norm, lac_norm1, lac_norm_inf};
  lac_context *ctx = lac_tape_context(c->tape);
  lac_status status = LAC_OK;

  LAC_CHECK(INT(c, 2) >= 0 && INT(c, 2) < 3, LAC_ERR_ARG, "norm: ord %lld is none of 0 (2), 1 (1) and 2 (inf)",
            (long long)INT(c, 2));
  c->out[0] = by_order[INT(c, 2)](c->tape, IN(c, 0), OVER(MASK(c)), KEEP(c));
done:
  if (status != LAC_OK) (void)lac_tape_fail(c->tape, status);
}

LAC_WRITES(log_softmax, "x: array, axis: axes = -1",
           "log(softmax(x)) = y - logsumexp(y) for y = x - max(x), which loses no digits however large x is.") {
  c->out[0] = lac_log_softmax(c->tape, IN(c, 0), OVER(MASK(c)));
}
