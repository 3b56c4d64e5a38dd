// SPDX-License-Identifier: Apache-2.0
/// @file rule.c
/// What the rooms of operators share.

#include "autodiff/rule.h"

#include <stdio.h>

#include "autodiff/tape_impl.h"

void lac_rule_nothing(lac_rule *rule) {
  if (!rule) return;
  for (int i = 0; i < rule->ins; i++) {
    if (rule->in_bar[i].id == TAPE_UNSET) rule->in_bar[i] = (lac_var){0};
  }
  for (int i = 0; i < rule->outs; i++) {
    if (rule->out_dot[i].id == TAPE_UNSET) rule->out_dot[i] = (lac_var){0};
  }
}

lac_var lac_tape_lacks(lac_tape *tape, const char *function, const char *what, const char *give) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;

  LAC_TRY(lac_tape_status(tape));
  LAC_FAIL(LAC_ERR_ARG, "%s: %s is NULL; give %s", function, what, give);
done:
  return lac_tape_fail(tape, status);
}

lac_var lac_tape_lacks_shape(lac_tape *tape, const char *function, int ndim) {
  char give[48];
  snprintf(give, sizeof give, "a list of %d sizes", ndim);
  return lac_tape_lacks(tape, function, "shape", give);
}

lac_var lac_emit_along(lac_tape *tape, const lac_map *map, lac_var x, lac_form form) {
  return lac_map_is_identity(map) ? x : lac_remap(tape, map, x, form);
}

lac_var lac_emit_axes(lac_tape *tape, lac_var x, int drop, int count, const int64_t *sizes) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  int64_t shape[2 * LAC_MAX_DIMS];

  if (!meta || meta->ndim < drop) return x;
  int batch = meta->ndim - drop;
  for (int d = 0; d < batch; d++) shape[d] = meta->shape[d];
  for (int d = 0; d < count; d++) shape[batch + d] = sizes[d];
  return lac_reshape(tape, x, batch + count, shape);
}

lac_status lac_tape_check_values(lac_tape *tape, const char *name, int i, const lac_pattern *p, lac_var values) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *meta = lac_tape_meta(tape, values);

  LAC_CHECK(meta, LAC_ERR_ABSENT, "%s: the values of matrix %d are absent; give an array on this tape", name, i);
  LAC_CHECK(meta->ndim > 0 && meta->shape[meta->ndim - 1] == p->nnz, LAC_ERR_SHAPE,
            "%s: the last dimension of the values of matrix %d must be %lld, its entries", name, i, (long long)p->nnz);
done:
  return status;
}

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
            call->op->name, ctx->backend->name);
done:
  return status;
}

lac_status lac_call_check_form(lac_call *call, int64_t form) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(form >= LAC_PLAIN && form <= LAC_ADJOINT, LAC_ERR_ARG,
            "%s: op is %lld; it must be LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED or LAC_ADJOINT", call->op->name,
            (long long)form);
done:
  return status;
}

lac_status lac_call_check_ordered(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  char name[LAC_INPUT_NAME];

  LAC_CHECK(!lac_dtype_is_complex(call->in_meta[0].dtype), LAC_ERR_DTYPE,
            "%s: takes real arrays, and %s is %s; take its real part, imaginary part or size (real, imag, abs)",
            call->op->name, lac_op_input_name(call->op, 0, name), lac_dtype_name(call->in_meta[0].dtype));
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

  LAC_TRY(lac_call_check_ordered(call));
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
