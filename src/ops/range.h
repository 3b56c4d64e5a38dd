// SPDX-License-Identifier: Apache-2.0
/// @file range.h
/// The range of slice and embed: every step-th place from begin on and before end, along one axis.

#ifndef LACUNA_OPS_RANGE_H
#define LACUNA_OPS_RANGE_H

#include "autodiff/rule.h"

/// As in attrs: i[0] is the axis, counted from the end, i[1] begin, i[2] end, i[3] step.
typedef struct lac_range {
  int axis;
  int64_t begin, end, step;
} lac_range;

static inline lac_range lac_range_of(const lac_attrs *attrs) {
  return (lac_range){(int)attrs->i[0], attrs->i[1], attrs->i[2], attrs->i[3]};
}

static inline int64_t lac_range_count(const lac_range *r) {
  return (r->end - r->begin) / r->step + ((r->end - r->begin) % r->step > 0);
}

/// Refuse a range that does not lie within an array of this shape; the axis counted from the front into *axis.
static inline lac_status lac_call_check_range(lac_call *c, const lac_meta *whole, int *axis) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const int64_t *i = c->attrs->i;
  char text[LAC_SHAPE_TEXT];

  LAC_CHECK(i[0] >= 0 && i[0] < whole->ndim, LAC_ERR_SHAPE,
            "%s: the array %s has no axis %lld; axes are counted from the end, 0 is the last", c->op->name,
            lac_shape_text(whole->ndim, whole->shape, text), (long long)i[0]);
  LAC_CHECK(i[3] > 0, LAC_ERR_ARG, "%s: the step is %lld; it must be positive", c->op->name, (long long)i[3]);
  *axis = whole->ndim - 1 - (int)i[0];
  LAC_CHECK(0 <= i[1] && i[1] <= i[2] && i[2] <= whole->shape[*axis], LAC_ERR_SHAPE,
            "%s: the range from %lld to %lld of an axis of %lld; 0 <= begin <= end <= %lld is asked for", c->op->name,
            (long long)i[1], (long long)i[2], (long long)whole->shape[*axis], (long long)whole->shape[*axis]);
  LAC_CHECK(!whole->partition || whole->partition_axis != *axis, LAC_ERR_UNSUPPORTED,
            "%s: axis %d is spread over ranks and cannot be cut; choose another axis or replicate the array",
            c->op->name, *axis);
done:
  return status;
}

#endif
