// SPDX-License-Identifier: Apache-2.0
/// @file probe.c
/// A function of one number at one place.

#include "support/probe.h"

/// The number that a var holds; an absent one is 0.
static number probe_read(lac_context *ctx, lac_tape *tape, lac_var var) {
  ref out;
  if (!var.id) return 0;
  CHECK_OK(ref_download(ctx, lac_tape_value(tape, var), &out));
  return out.x[0];
}

number probe_derivative(lac_context *ctx, probe_function *f, lac_dtype dtype, number x, int order) {
  lac_tape *tape = NULL;
  lac_array *array = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK_OK(lac_array_create(ctx, dtype, 0, NULL, &array));
  CHECK_OK(lac_array_fill(ctx, array, creal(x), cimag(x)));
  lac_var leaf = lac_tape_leaf(tape, array), y = f(tape, leaf);
  CHECK_OK(lac_tape_status(tape));
  for (int i = 0; i < order && y.id; ++i) {
    lac_var bar = {0};
    CHECK_OK(lac_tape_vjp(tape, 1, &y, NULL, 1, &leaf, &bar, LAC_GRAPH_CREATE));
    y = bar;
  }
  number value = probe_read(ctx, tape, y);
  lac_array_destroy(&array);
  lac_tape_destroy(&tape);
  return value;
}

number probe_value(lac_context *ctx, probe_function *f, lac_dtype dtype, number x) {
  return probe_derivative(ctx, f, dtype, x, 0);
}

number probe_gradient(lac_context *ctx, probe_function *f, lac_dtype dtype, number x) {
  return probe_derivative(ctx, f, dtype, x, 1);
}
