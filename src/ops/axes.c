// SPDX-License-Identifier: Apache-2.0
/// @file axes.c
/// What reductions over axes share.

#include "ops/axes.h"

lac_status lac_call_reduce_axes(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &call->in_meta[0];
  lac_meta *y = &call->out_meta[0];

  LAC_CHECK(call->attrs->i[0] >= 0 && call->attrs->i[0] < (int64_t)1 << x->ndim, LAC_ERR_SHAPE,
            "%s: the mask of axes is 0x%llx and the array has %d dimensions; bit d is the d-th axis from the end",
            call->op->name, (unsigned long long)call->attrs->i[0], x->ndim);
  LAC_CHECK(call->attrs->i[1] == 0 || call->attrs->i[1] == 1, LAC_ERR_ARG, "%s: keepdims is %lld; it is 0 or 1",
            call->op->name, (long long)call->attrs->i[1]);
  *y = (lac_meta){.dtype = x->dtype};
  for (int d = 0; d < x->ndim; d++) {
    bool reduced = MASK(call) >> (x->ndim - 1 - d) & 1;
    if (reduced && !KEEP(call)) continue;
    if (!reduced && x->partition && x->partition_axis == d) y->partition = x->partition, y->partition_axis = y->ndim;
    y->shape[y->ndim++] = reduced ? 1 : x->shape[d];
  }
done:
  return status;
}

lac_status lac_call_reduce_local(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &call->in_meta[0];

  LAC_TRY(lac_call_reduce_axes(call));
  LAC_CHECK(!x->partition || !(MASK(call) >> (x->ndim - 1 - x->partition_axis) & 1), LAC_ERR_UNSUPPORTED,
            "%s: axis %d is spread over ranks and cannot be reduced so yet; use a replicated array", call->op->name,
            x->partition_axis);
done:
  return status;
}

lac_status lac_call_reduce_ordered(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_check_ordered(call));
  LAC_TRY(lac_call_reduce_local(call));
done:
  return status;
}

lac_status lac_call_reduce(lac_call *call, lac_reduction op) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(call, KERNELS(call)->reduce));
  LAC_TRY(KERNELS(call)->reduce(ctx, op, call->in[0], MASK(call), call->out[0]));
done:
  return status;
}

lac_var lac_emit_spread(lac_rule *rule, lac_var y) {
  return lac_broadcast(rule->tape, y, &rule->in_meta[0], OVER(MASK(rule)), KEEP(rule));
}
