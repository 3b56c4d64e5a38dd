// SPDX-License-Identifier: Apache-2.0
/// @file plain.c
/// Plain calls, made from the prototypes of the differentiable functions by scripts/check-plain --write.

#include "lacuna/plain.h"

#include "autodiff/plain.h"

lac_status lac_run_add(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_add(&plain.tape, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sub(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_sub(&plain.tape, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_mul(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_mul(&plain.tape, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_div(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_div(&plain.tape, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_neg(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_neg(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_scale(lac_context *ctx, const lac_array *x, double real, double imag, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_scale(&plain.tape, x_var, real, imag);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_offset(lac_context *ctx, const lac_array *x, double real, double imag, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_offset(&plain.tape, x_var, real, imag);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_full(lac_context *ctx, const lac_array *x, int ndim, const int64_t *shape, double real, double imag,
                        lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_full(&plain.tape, x_var, ndim, shape, real, imag);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_div_or_zero(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_div_or_zero(&plain.tape, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_conj(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_conj(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_real(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_real(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_imag(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_imag(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_abs(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_abs(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sign(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_sign(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_cast(lac_context *ctx, const lac_array *x, lac_dtype dtype, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_cast(&plain.tape, x_var, dtype);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_magnitude(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_magnitude(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_compare(lac_context *ctx, const lac_array *x, const lac_array *y, lac_relation relation,
                           lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_compare(&plain.tape, x_var, y_var, relation);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_select(lac_context *ctx, const lac_array *c, const lac_array *x, lac_selection selection,
                          lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var c_var = lac_plain_in(&plain, "c", c);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_select(&plain.tape, c_var, x_var, selection);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_where(lac_context *ctx, const lac_array *c, const lac_array *x, const lac_array *y,
                         lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var c_var = lac_plain_in(&plain, "c", c);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_where(&plain.tape, c_var, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_exp(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_exp(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_log(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_log(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sqrt(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_sqrt(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sin(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_sin(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_cos(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_cos(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_tanh(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_tanh(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sigmoid(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_sigmoid(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_square(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_square(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_reciprocal(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_reciprocal(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_pow(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_pow(&plain.tape, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_power(lac_context *ctx, const lac_array *x, double exponent, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_power(&plain.tape, x_var, exponent);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_expm1(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_expm1(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_log1p(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_log1p(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_softplus(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_softplus(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_relu(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_relu(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_heaviside(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_heaviside(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_clamp(lac_context *ctx, const lac_array *x, double low, double high, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_clamp(&plain.tape, x_var, low, high);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_broadcast(lac_context *ctx, const lac_array *x, const lac_meta *like, int count, const int *axes,
                             bool keepdims, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_broadcast(&plain.tape, x_var, like, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_reshape(lac_context *ctx, const lac_array *x, int ndim, const int64_t *shape, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_reshape(&plain.tape, x_var, ndim, shape);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_slice(lac_context *ctx, const lac_array *x, int axis, int64_t begin, int64_t end, int64_t step,
                         lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_slice(&plain.tape, x_var, axis, begin, end, step);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_embed(lac_context *ctx, const lac_array *x, const lac_meta *like, int axis, int64_t begin,
                         int64_t end, int64_t step, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_embed(&plain.tape, x_var, like, axis, begin, end, step);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_concat(lac_context *ctx, const lac_array *x, const lac_array *y, int axis, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_concat(&plain.tape, x_var, y_var, axis);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_concat_all(lac_context *ctx, int n, const lac_array *const *vars, int axis, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  const lac_var *vars_vars = lac_plain_list(&plain, n, vars);
  lac_var made = lac_concat_all(&plain.tape, n, vars_vars, axis);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sum_axes(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                            lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_sum_axes(&plain.tape, x_var, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sum(lac_context *ctx, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_sum(&plain.tape, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_extent(lac_context *ctx, const lac_array *x, int count, const int *axes, double power,
                          lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_extent(&plain.tape, x_var, count, axes, power);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_mean(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                        lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_mean(&plain.tape, x_var, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_prod(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                        lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_prod(&plain.tape, x_var, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_max(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                       lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_max(&plain.tape, x_var, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_min(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                       lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_min(&plain.tape, x_var, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_norm(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                        lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_norm(&plain.tape, x_var, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_norm1(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                         lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_norm1(&plain.tape, x_var, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_norm_inf(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                            lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_norm_inf(&plain.tape, x_var, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_logsumexp(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                             lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_logsumexp(&plain.tape, x_var, count, axes, keepdims);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_softmax(lac_context *ctx, const lac_array *x, int count, const int *axes, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_softmax(&plain.tape, x_var, count, axes);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_log_softmax(lac_context *ctx, const lac_array *x, int count, const int *axes, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_log_softmax(&plain.tape, x_var, count, axes);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_cumsum(lac_context *ctx, const lac_array *x, int axis, bool backwards, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_cumsum(&plain.tape, x_var, axis, backwards);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_segment_scale(lac_context *ctx, const lac_map *map, const lac_array *d, const lac_array *a,
                                 lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var d_var = lac_plain_in(&plain, "d", d);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_segment_scale(&plain.tape, map, d_var, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_segment_dot(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v,
                               lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var u_var = lac_plain_in(&plain, "u", u);
  lac_var v_var = lac_plain_in(&plain, "v", v);
  lac_var made = lac_segment_dot(&plain.tape, map, u_var, v_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_segment_mean(lac_context *ctx, const lac_map *map, const lac_array *x, int axes,
                                lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_segment_mean(&plain.tape, map, x_var, axes);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_segment_logsumexp(lac_context *ctx, const lac_map *map, const lac_array *x, int64_t full,
                                     lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_segment_logsumexp(&plain.tape, map, x_var, full);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_segment_softmax(lac_context *ctx, const lac_map *map, const lac_array *x, int64_t full,
                                   lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_segment_softmax(&plain.tape, map, x_var, full);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_segment_max(lac_context *ctx, const lac_map *map, const lac_array *x, int64_t full,
                               lac_extreme extreme, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_segment_max(&plain.tape, map, x_var, full, extreme);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_segment_ties(lac_context *ctx, const lac_map *map, const lac_array *x, int64_t full,
                                lac_extreme extreme, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_segment_ties(&plain.tape, map, x_var, full, extreme);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sparse_logsumexp(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_lines lines,
                                    lac_absent absent, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_sparse_logsumexp(&plain.tape, pattern, a_var, lines, absent);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sparse_softmax(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_lines lines,
                                  lac_absent absent, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_sparse_softmax(&plain.tape, pattern, a_var, lines, absent);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sparse_max(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_lines lines,
                              lac_absent absent, lac_extreme extreme, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_sparse_max(&plain.tape, pattern, a_var, lines, absent, extreme);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sparse_bidir_logsumexp(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                          lac_absent absent, lac_array *out[2]) {
  lac_plain plain;
  lac_array **const to[] = {out ? &out[0] : NULL, out ? &out[1] : NULL};
  lac_var made[2] = {{0}};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_sparse_bidir_logsumexp(&plain.tape, pattern, a_var, absent, made);
  return lac_plain_close(&plain, 2, made, to);
}

lac_status lac_run_remap(lac_context *ctx, const lac_map *map, const lac_array *x, lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_remap(&plain.tape, map, x_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_remap_blocks(lac_context *ctx, const lac_map *map, const lac_array *x, lac_form op, int axes,
                                lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_remap_blocks(&plain.tape, map, x_var, op, axes);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_gather(lac_context *ctx, const lac_map *map, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_gather(&plain.tape, map, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_scatter_add(lac_context *ctx, const lac_map *map, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_scatter_add(&plain.tape, map, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_spadd(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                         const lac_array *b, lac_pattern **out, lac_array **result) {
  lac_plain plain;
  lac_pattern *out_made[1] = {NULL};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_spadd(&plain.tape, pa, a_var, pb, b_var, out ? out_made : NULL);
  lac_status status = lac_plain_close(&plain, 1, &made, &result);
  lac_plain_hand_over(status, 1, out_made, out);
  return status;
}

lac_status lac_run_hadamard(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                            const lac_array *b, lac_pattern **out, lac_array **result) {
  lac_plain plain;
  lac_pattern *out_made[1] = {NULL};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_hadamard(&plain.tape, pa, a_var, pb, b_var, out ? out_made : NULL);
  lac_status status = lac_plain_close(&plain, 1, &made, &result);
  lac_plain_hand_over(status, 1, out_made, out);
  return status;
}

lac_status lac_run_kron(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                        const lac_array *b, lac_pattern **out, lac_array **result) {
  lac_plain plain;
  lac_pattern *out_made[1] = {NULL};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_kron(&plain.tape, pa, a_var, pb, b_var, out ? out_made : NULL);
  lac_status status = lac_plain_close(&plain, 1, &made, &result);
  lac_plain_hand_over(status, 1, out_made, out);
  return status;
}

lac_status lac_run_mirror(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_triangle triangle,
                          lac_form op, lac_pattern **out, lac_array **result) {
  lac_plain plain;
  lac_pattern *out_made[1] = {NULL};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_mirror(&plain.tape, pattern, a_var, triangle, op, out ? out_made : NULL);
  lac_status status = lac_plain_close(&plain, 1, &made, &result);
  lac_plain_hand_over(status, 1, out_made, out);
  return status;
}

lac_status lac_run_block_diag(lac_context *ctx, int n, const lac_pattern *const *patterns,
                              const lac_array *const *values, lac_pattern **out, lac_array **result) {
  lac_plain plain;
  lac_pattern *out_made[1] = {NULL};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  const lac_var *values_vars = lac_plain_list(&plain, n, values);
  lac_var made = lac_block_diag(&plain.tape, n, patterns, values_vars, out ? out_made : NULL);
  lac_status status = lac_plain_close(&plain, 1, &made, &result);
  lac_plain_hand_over(status, 1, out_made, out);
  return status;
}

lac_status lac_run_to_dense(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_to_dense(&plain.tape, pattern, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_row_sum(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_row_sum(&plain.tape, pattern, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_col_sum(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_col_sum(&plain.tape, pattern, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_diagonal_of(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_diagonal_of(&plain.tape, pattern, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_trace(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_trace(&plain.tape, pattern, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_scale_rows(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *d,
                              lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var d_var = lac_plain_in(&plain, "d", d);
  lac_var made = lac_scale_rows(&plain.tape, pattern, a_var, d_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_scale_cols(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *d,
                              lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var d_var = lac_plain_in(&plain, "d", d);
  lac_var made = lac_scale_cols(&plain.tape, pattern, a_var, d_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_matrix_norm(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_norm_kind kind,
                               lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_matrix_norm(&plain.tape, pattern, a_var, kind);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_norm2(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, double tolerance,
                         int64_t steps, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_norm2(&plain.tape, pattern, a_var, tolerance, steps);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_dot(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_dot(&plain.tape, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_matmul(lac_context *ctx, const lac_array *x, const lac_array *y, lac_form op_x, lac_form op_y,
                          lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_matmul(&plain.tape, x_var, y_var, op_x, op_y);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_spmm(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *x,
                        lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_spmm(&plain.tape, pattern, a_var, x_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sddmm(lac_context *ctx, const lac_pattern *pattern, const lac_array *u, const lac_array *v,
                         lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var u_var = lac_plain_in(&plain, "u", u);
  lac_var v_var = lac_plain_in(&plain, "v", v);
  lac_var made = lac_sddmm(&plain.tape, pattern, u_var, v_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_spgemm(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                          const lac_array *b, lac_pattern **out, lac_array **result) {
  lac_plain plain;
  lac_pattern *out_made[1] = {NULL};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_spgemm(&plain.tape, pa, a_var, pb, b_var, out ? out_made : NULL);
  lac_status status = lac_plain_close(&plain, 1, &made, &result);
  lac_plain_hand_over(status, 1, out_made, out);
  return status;
}

lac_status lac_run_sampled_spgemm(lac_context *ctx, const lac_pattern *target, const lac_pattern *px,
                                  const lac_array *x, const lac_pattern *py, const lac_array *y, lac_form op_x,
                                  lac_form op_y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_sampled_spgemm(&plain.tape, target, px, x_var, py, y_var, op_x, op_y);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_sell_mm(lac_context *ctx, const lac_format *format, const lac_array *a, const lac_array *x,
                           lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_sell_mm(&plain.tape, format, a_var, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_gather_mm(lac_context *ctx, const lac_map *map, const lac_array *a, const lac_array *b, lac_form op,
                             lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_gather_mm(&plain.tape, map, a_var, b_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_gather_outer(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v,
                                lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var u_var = lac_plain_in(&plain, "u", u);
  lac_var v_var = lac_plain_in(&plain, "v", v);
  lac_var made = lac_gather_outer(&plain.tape, map, u_var, v_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_segment_mm(lac_context *ctx, const lac_array *a, const lac_array *b, int64_t r,
                              const int64_t *lengths, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_segment_mm(&plain.tape, a_var, b_var, r, lengths);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_trisolve(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *b,
                            lac_triangle triangle, lac_diagonal diagonal, lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_trisolve(&plain.tape, pattern, a_var, b_var, triangle, diagonal, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_solve_with(lac_context *ctx, const lac_factor *factor, const lac_array *a, const lac_array *b,
                              lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_solve_with(&plain.tape, factor, a_var, b_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_solve(lac_context *ctx, const lac_solver *solver, const lac_array *a, const lac_array *b,
                         lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_solve(&plain.tape, solver, a_var, b_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_solve_from(lac_context *ctx, const lac_solver *solver, const lac_array *a, const lac_array *b,
                              const lac_array *x0, lac_form op, bool reports, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var x0_var = lac_plain_in(&plain, "x0", x0);
  lac_var made = lac_solve_from(&plain.tape, solver, a_var, b_var, x0_var, op, reports);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_solve_operator(lac_context *ctx, lac_tape_function function, void *data, int thetas,
                                  const lac_array *const *theta, const lac_array *b, const lac_solver_options *options,
                                  lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  const lac_var *theta_vars = lac_plain_list(&plain, thetas, theta);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_solve_operator(&plain.tape, function, data, thetas, theta_vars, b_var, options);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_lstsq(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *b,
                         const lac_array *damp, const lac_solver *solver, lac_array *out[2]) {
  lac_plain plain;
  lac_array **const to[] = {out ? &out[0] : NULL, out ? &out[1] : NULL};
  lac_var made[2] = {{0}};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var damp_var = lac_plain_may(&plain, damp);
  lac_lstsq(&plain.tape, pattern, a_var, b_var, damp_var, solver, made);
  return lac_plain_close(&plain, 2, made, to);
}

lac_status lac_run_lu_values(lac_context *ctx, const lac_pattern *pattern, const lac_array *c, const lac_map *steps,
                             lac_pivots pivots, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var c_var = lac_plain_in(&plain, "c", c);
  lac_var made = lac_lu_values(&plain.tape, pattern, c_var, steps, pivots);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_lu_values_adjoint(lac_context *ctx, const lac_pattern *pattern, const lac_array *c,
                                     const lac_array *lu_bar, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var c_var = lac_plain_in(&plain, "c", c);
  lac_var lu_bar_var = lac_plain_in(&plain, "lu_bar", lu_bar);
  lac_var made = lac_lu_values_adjoint(&plain.tape, pattern, c_var, lu_bar_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_lu(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_ordering ordering,
                      lac_pattern *patterns[2], lac_array *out[2]) {
  lac_plain plain;
  lac_pattern *patterns_made[2] = {NULL};
  lac_array **const to[] = {out ? &out[0] : NULL, out ? &out[1] : NULL};
  lac_var made[2] = {{0}};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_lu(&plain.tape, pattern, a_var, ordering, patterns ? patterns_made : NULL, made);
  lac_status status = lac_plain_close(&plain, 2, made, to);
  lac_plain_hand_over(status, 2, patterns_made, patterns);
  return status;
}

lac_status lac_run_ldlt(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_ordering ordering,
                        lac_pattern **lower, lac_array *out[2]) {
  lac_plain plain;
  lac_pattern *lower_made[1] = {NULL};
  lac_array **const to[] = {out ? &out[0] : NULL, out ? &out[1] : NULL};
  lac_var made[2] = {{0}};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_ldlt(&plain.tape, pattern, a_var, ordering, lower ? lower_made : NULL, made);
  lac_status status = lac_plain_close(&plain, 2, made, to);
  lac_plain_hand_over(status, 1, lower_made, lower);
  return status;
}

lac_status lac_run_cholesky(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_ordering ordering,
                            lac_pattern **lower, lac_array **result) {
  lac_plain plain;
  lac_pattern *lower_made[1] = {NULL};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_cholesky(&plain.tape, pattern, a_var, ordering, lower ? lower_made : NULL);
  lac_status status = lac_plain_close(&plain, 1, &made, &result);
  lac_plain_hand_over(status, 1, lower_made, lower);
  return status;
}

lac_status lac_run_ilu0(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_pattern *patterns[2],
                        lac_array *out[2]) {
  lac_plain plain;
  lac_pattern *patterns_made[2] = {NULL};
  lac_array **const to[] = {out ? &out[0] : NULL, out ? &out[1] : NULL};
  lac_var made[2] = {{0}};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_ilu0(&plain.tape, pattern, a_var, patterns ? patterns_made : NULL, made);
  lac_status status = lac_plain_close(&plain, 2, made, to);
  lac_plain_hand_over(status, 2, patterns_made, patterns);
  return status;
}

lac_status lac_run_ic0(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_pattern **lower,
                       lac_array **result) {
  lac_plain plain;
  lac_pattern *lower_made[1] = {NULL};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_ic0(&plain.tape, pattern, a_var, lower ? lower_made : NULL);
  lac_status status = lac_plain_close(&plain, 1, &made, &result);
  lac_plain_hand_over(status, 1, lower_made, lower);
  return status;
}

lac_status lac_run_logdet(lac_context *ctx, const lac_solver *solver, const lac_array *a, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_logdet(&plain.tape, solver, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_logdet_with(lac_context *ctx, const lac_factor *factor, const lac_array *a, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_logdet_with(&plain.tape, factor, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_slogdet(lac_context *ctx, const lac_solver *solver, const lac_array *a, lac_array *out[2]) {
  lac_plain plain;
  lac_array **const to[] = {out ? &out[0] : NULL, out ? &out[1] : NULL};
  lac_var made[2] = {{0}};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_slogdet(&plain.tape, solver, a_var, made);
  return lac_plain_close(&plain, 2, made, to);
}

lac_status lac_run_det(lac_context *ctx, const lac_solver *solver, const lac_array *a, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_det(&plain.tape, solver, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_selected_inverse(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                    lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_selected_inverse(&plain.tape, solver, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_selected_inverse_with(lac_context *ctx, const lac_factor *factor, const lac_array *a,
                                         lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_selected_inverse_with(&plain.tape, factor, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_inverse_on(lac_context *ctx, const lac_solver *solver, const lac_array *a, const lac_pattern *target,
                              lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_inverse_on(&plain.tape, solver, a_var, target);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_inverse_diagonal(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                    lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var made = lac_inverse_diagonal(&plain.tape, solver, a_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_trace_solve(lac_context *ctx, const lac_solver *solver, const lac_array *a, const lac_pattern *pb,
                               const lac_array *b, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_trace_solve(&plain.tape, solver, a_var, pb, b_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_quadratic_form(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *x,
                                  const lac_array *y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_quadratic_form(&plain.tape, pattern, a_var, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_inverse_quadratic_form(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                          const lac_array *x, const lac_array *y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_inverse_quadratic_form(&plain.tape, solver, a_var, x_var, y_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_probes(lac_context *ctx, lac_dtype dtype, int64_t rows, int64_t count, int64_t seed,
                          lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var made = lac_probes(&plain.tape, dtype, rows, count, seed);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_probes_like(lac_context *ctx, const lac_array *x, int64_t rows, int64_t count, int64_t seed,
                               lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_probes_like(&plain.tape, x_var, rows, count, seed);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_logdet_estimate(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                   const lac_array *probes, int64_t steps, lac_array *out[2]) {
  lac_plain plain;
  lac_array **const to[] = {out ? &out[0] : NULL, out ? &out[1] : NULL};
  lac_var made[2] = {{0}};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var probes_var = lac_plain_in(&plain, "probes", probes);
  lac_logdet_estimate(&plain.tape, solver, a_var, probes_var, steps, made);
  return lac_plain_close(&plain, 2, made, to);
}

lac_status lac_run_trace_solve_estimate(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                        const lac_pattern *pb, const lac_array *b, const lac_array *probes,
                                        lac_array *out[2]) {
  lac_plain plain;
  lac_array **const to[] = {out ? &out[0] : NULL, out ? &out[1] : NULL};
  lac_var made[2] = {{0}};

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var probes_var = lac_plain_in(&plain, "probes", probes);
  lac_trace_solve_estimate(&plain.tape, solver, a_var, pb, b_var, probes_var, made);
  return lac_plain_close(&plain, 2, made, to);
}

lac_status lac_run_banded_mm(lac_context *ctx, int64_t lower, int64_t upper, const lac_array *ab, const lac_array *x,
                             int64_t rows, lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var ab_var = lac_plain_in(&plain, "ab", ab);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_banded_mm(&plain.tape, lower, upper, ab_var, x_var, rows, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_banded_outer(lac_context *ctx, int64_t lower, int64_t upper, const lac_array *u, const lac_array *v,
                                lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var u_var = lac_plain_in(&plain, "u", u);
  lac_var v_var = lac_plain_in(&plain, "v", v);
  lac_var made = lac_banded_outer(&plain.tape, lower, upper, u_var, v_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_banded_gemm(lac_context *ctx, int64_t lower_x, int64_t upper_x, const lac_array *x, int64_t lower_y,
                               int64_t upper_y, const lac_array *y, int64_t lower, int64_t upper, lac_form op_x,
                               lac_form op_y, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made =
      lac_banded_gemm(&plain.tape, lower_x, upper_x, x_var, lower_y, upper_y, y_var, lower, upper, op_x, op_y);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_banded_solve(lac_context *ctx, int64_t lower, int64_t upper, const lac_array *ab, const lac_array *b,
                                lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var ab_var = lac_plain_in(&plain, "ab", ab);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_banded_solve(&plain.tape, lower, upper, ab_var, b_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_tridiagonal_solve(lac_context *ctx, const lac_array *lower, const lac_array *diag,
                                     const lac_array *upper, const lac_array *b, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var lower_var = lac_plain_in(&plain, "lower", lower);
  lac_var diag_var = lac_plain_in(&plain, "diag", diag);
  lac_var upper_var = lac_plain_in(&plain, "upper", upper);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_tridiagonal_solve(&plain.tape, lower_var, diag_var, upper_var, b_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_diag_mm(lac_context *ctx, const lac_array *d, const lac_array *x, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var d_var = lac_plain_in(&plain, "d", d);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_diag_mm(&plain.tape, d_var, x_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_diag_solve(lac_context *ctx, const lac_array *d, const lac_array *b, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var d_var = lac_plain_in(&plain, "d", d);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_diag_solve(&plain.tape, d_var, b_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_circulant_mm(lac_context *ctx, const lac_array *c, const lac_array *x, lac_form op,
                                lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var c_var = lac_plain_in(&plain, "c", c);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_circulant_mm(&plain.tape, c_var, x_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_circulant_outer(lac_context *ctx, const lac_array *u, const lac_array *v, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var u_var = lac_plain_in(&plain, "u", u);
  lac_var v_var = lac_plain_in(&plain, "v", v);
  lac_var made = lac_circulant_outer(&plain.tape, u_var, v_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_circulant_solve(lac_context *ctx, const lac_array *c, const lac_array *b, lac_form op,
                                   lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var c_var = lac_plain_in(&plain, "c", c);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var made = lac_circulant_solve(&plain.tape, c_var, b_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_toeplitz_mm(lac_context *ctx, const lac_array *column, const lac_array *row, const lac_array *x,
                               lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var column_var = lac_plain_in(&plain, "column", column);
  lac_var row_var = lac_plain_in(&plain, "row", row);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_toeplitz_mm(&plain.tape, column_var, row_var, x_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_toeplitz(lac_context *ctx, const lac_pattern *pattern, const lac_array *column, const lac_array *row,
                            lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var column_var = lac_plain_in(&plain, "column", column);
  lac_var row_var = lac_plain_in(&plain, "row", row);
  lac_var made = lac_toeplitz(&plain.tape, pattern, column_var, row_var);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_kron_mm(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                           const lac_array *b, const lac_array *x, lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_kron_mm(&plain.tape, pa, a_var, pb, b_var, x_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_kronsum_mm(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                              const lac_array *b, const lac_array *x, lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var x_var = lac_plain_in(&plain, "x", x);
  lac_var made = lac_kronsum_mm(&plain.tape, pa, a_var, pb, b_var, x_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}

lac_status lac_run_kron_solve(lac_context *ctx, const lac_solver *sa, const lac_array *a, const lac_solver *sb,
                              const lac_array *b, const lac_array *y, lac_form op, lac_array **result) {
  lac_plain plain;

  if (!lac_plain_open(&plain, ctx, __func__)) return LAC_ERR_ARG;
  lac_plain_give(&plain, result);
  lac_var a_var = lac_plain_in(&plain, "a", a);
  lac_var b_var = lac_plain_in(&plain, "b", b);
  lac_var y_var = lac_plain_in(&plain, "y", y);
  lac_var made = lac_kron_solve(&plain.tape, sa, a_var, sb, b_var, y_var, op);
  return lac_plain_close(&plain, 1, &made, &result);
}
