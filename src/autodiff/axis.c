// SPDX-License-Identifier: Apache-2.0
/// @file axis.c
/// Axes as users count them, and as attributes have them.

#include "autodiff/axis.h"

int lac_axes_of(const lac_tape *tape, lac_var x) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  return meta ? meta->ndim : -1;
}

int lac_axis_from_end(lac_tape *tape, const char *name, int ndim, int axis) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;

  if (ndim < 0) return 0;
  LAC_CHECK(axis >= -ndim && axis < ndim, LAC_ERR_SHAPE,
            "%s: an array of %d dimensions has no axis %d; 0 is the first and -1 the last", name, ndim, axis);
  return axis < 0 ? -1 - axis : ndim - 1 - axis;
done:
  (void)lac_tape_fail(tape, status);
  return -1;
}

uint32_t lac_axes_mask(lac_tape *tape, const char *name, int ndim, int count, const int *axes) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  uint32_t mask = 0;

  if (ndim < 0 || ndim > LAC_MAX_DIMS) return 0;
  if (!axes && count == 0) return (UINT32_C(1) << ndim) - 1;
  LAC_CHECK(count >= 0 && axes, LAC_ERR_ARG, "%s: %d axes at %s; give a list and its length, or 0 and NULL for all",
            name, count, axes ? "a list" : "NULL");
  for (int i = 0; i < count; ++i) {
    int from_end = lac_axis_from_end(tape, name, ndim, axes[i]);
    if (from_end < 0) return 0;
    LAC_CHECK(!(mask >> from_end & 1), LAC_ERR_SHAPE, "%s: axis %d is named twice", name, axes[i]);
    mask |= UINT32_C(1) << from_end;
  }
  return mask;
done:
  (void)lac_tape_fail(tape, status);
  return 0;
}

const int *lac_mask_axes(uint32_t mask, int axes[32]) {
  for (int d = 0, n = 0; d < 32; ++d) {
    if (mask >> d & 1) axes[n++] = -1 - d;
  }
  return axes;
}
