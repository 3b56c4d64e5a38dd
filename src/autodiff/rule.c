// SPDX-License-Identifier: Apache-2.0
/// @file rule.c
/// What the rooms of matrix operators share.

#include "autodiff/rule.h"

lac_status lac_call_needs_pattern(lac_call *call, int i) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(call->patterns[i], LAC_ERR_ARG, "%s: pattern %d is missing; it says which entries the matrix has",
            call->op->name, i);
done:
  return status;
}

lac_status lac_call_needs_kernel(lac_call *call, bool has) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(has, LAC_ERR_UNSUPPORTED, "%s: the backend %s has no kernel for it; copy the arrays to a cpu context",
            call->op->name, ctx->kernels->name);
done:
  return status;
}

lac_status lac_call_bind_matrix(lac_call *call, const lac_pattern *p, lac_side side, char z, char m, char n) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  bool t = lac_side_transposes(side);

  LAC_CHECK(side >= LAC_N && side <= LAC_H, LAC_ERR_ARG, "%s: side is %d; it is LAC_N, LAC_T, LAC_C or LAC_H",
            call->op->name, (int)side);
  LAC_TRY(lac_call_bind(call, z, p->nnz, p->entry_partition));
  LAC_TRY(
      lac_call_bind(call, m, t ? lac_pattern_cols(p) : lac_pattern_rows(p), t ? p->col_partition : p->row_partition));
  LAC_TRY(
      lac_call_bind(call, n, t ? lac_pattern_rows(p) : lac_pattern_cols(p), t ? p->row_partition : p->col_partition));
done:
  return status;
}

lac_status lac_call_match_real(lac_call *call) {
  lac_status status = lac_call_match(call);
  call->out_meta[0].dtype = lac_dtype_real(call->out_meta[0].dtype);
  return status;
}

lac_status lac_call_match_ordered(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(!lac_dtype_is_complex(call->in_meta[0].dtype), LAC_ERR_DTYPE,
            "%s: takes real arrays, and input 0 is %s; take its real part, imaginary part or size (real, imag, abs)",
            call->op->name, lac_dtype_name(call->in_meta[0].dtype));
  LAC_TRY(lac_call_match(call));
done:
  return status;
}

lac_status lac_call_unary(lac_call *call, lac_unary op) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_call_needs_kernel(call, KERNELS(call)->unary));
  LAC_TRY(KERNELS(call)->unary(ctx, op, call->in[0], call->out[0]));
done:
  return status;
}
