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
