// SPDX-License-Identifier: Apache-2.0
/// @file call.c
/// Running one application of an operator.

#include "autodiff/call.h"

#include <string.h>

#include "kernels/kernels.h"

lac_status lac_call_begin(lac_context *ctx, const lac_spec *spec, lac_signature *signature, lac_call *call) {
  lac_status status = LAC_OK;
  const lac_op *op = spec->op;

  for (int i = 0; i < LAC_MAX_IN; i++) call->in[i] = NULL, call->in_meta[i].partition = NULL;
  for (int i = 0; i < LAC_MAX_OUT; i++) call->out[i] = NULL;
  ctx->status = LAC_OK;  // so that a code without a sentence does not borrow an older one
  LAC_CHECK(op, LAC_ERR_ARG, "lac_tape_call: the spec names no operator; set spec.op (lac_op_find)");
  LAC_CHECK(op->name && op->forward, LAC_ERR_ARG, "lac_tape_call: an operator needs a name and a forward");
  LAC_CHECK(lac_signature_of(op, spec->patterns, signature), LAC_ERR_ARG,
            "%s: cannot read the signature \"%s\"; write it like \"(z),(n,k)->(m,k)\"", op->name,
            op->signature ? op->signature : "NULL");
  call->ctx = ctx;
  call->op = op;
  call->patterns = spec->patterns;
  call->object = spec->object;
  call->attrs = &spec->attrs;
  call->symbols = NULL;
done:
  return status;
}

/// Refuse blocks where the operator does not take them, and bind their axes where it does.
static lac_status call_take_blocks(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < LAC_MAX_PATTERNS; i++) {
    const lac_pattern *p = call->patterns[i];
    if (!p || !lac_pattern_has_blocks(p)) continue;
    LAC_CHECK(
        i == 0 && call->op->flags & LAC_TAKES_BLOCKS, LAC_ERR_UNSUPPORTED,
        "%s: pattern %d has blocks of %lld x %lld, and one with single entries is needed; lac_pattern_scalar gives "
        "it, and the map that takes values there",
        call->op->name, i, (long long)p->br, (long long)p->bc);
    LAC_TRY(lac_call_bind(call, LAC_SYMBOL_BR, p->br, NULL));
    LAC_TRY(lac_call_bind(call, LAC_SYMBOL_BC, p->bc, NULL));
  }
done:
  return status;
}

/// Patterns with blocks, and operators that say so, do without ranks.
static lac_status call_check_whole(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  const lac_pattern *first = call->patterns[0];
  bool is_spread = false;

  if (!(call->op->flags & LAC_WHOLE) && !(first && lac_pattern_has_blocks(first))) return LAC_OK;
  for (int i = 0; i < LAC_MAX_IN; i++) is_spread = is_spread || call->in_meta[i].partition;
  for (int i = 0; i < LAC_MAX_PATTERNS; i++) is_spread = is_spread || (call->patterns[i] && call->patterns[i]->halo);
  LAC_CHECK(!is_spread, LAC_ERR_UNSUPPORTED,
            "%s: operands that are spread over ranks are not taken yet; use replicated ones", call->op->name);
done:
  return status;
}

lac_status lac_call_infer(lac_call *call, int outs) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  struct lac_symbols symbols;

  symbols.count = 0;
  call->symbols = &symbols;
  for (int i = 0; i < outs; i++) call->out_meta[i] = (lac_meta){.ndim = -1};
  LAC_TRY(call_take_blocks(call));
  LAC_TRY(call_check_whole(call));
  LAC_TRY(call->op->infer ? call->op->infer(call) : lac_call_match(call));
  for (int i = 0; i < outs; i++) {
    LAC_CHECK(call->out_meta[i].ndim >= 0, LAC_ERR_ARG,
              "%s: its infer left the shape of output %d open; end it with lac_call_match", call->op->name, i);
    LAC_TRY(lac_meta_check(ctx, call->op->name, &call->out_meta[i]));
  }
done:
  call->symbols = NULL;
  return status;
}

lac_status lac_call_agree(lac_context *ctx, lac_status status) {
  if (!ctx->kernels->agree) return status;
  status = ctx->kernels->agree(ctx, status);
  ctx->agreed = status != LAC_OK;
  return status;
}

static lac_status call_make_outputs(lac_call *call, int outs, bool made[LAC_MAX_OUT]) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < outs; i++) {
    if (call->out[i]) continue;
    LAC_TRY(lac_array_make(ctx, &call->out_meta[i], &call->out[i]));
    made[i] = true;
  }
done:
  return status;
}

lac_status lac_call_run(lac_call *call, int outs, lac_status so_far) {
  lac_context *ctx = call->ctx;
  lac_status status = so_far;
  bool made[LAC_MAX_OUT] = {false};

  if (status == LAC_OK) status = call_make_outputs(call, outs, made);
  if (call->op->flags & LAC_COMMUNICATES) status = lac_call_agree(ctx, status);
  LAC_TRY(status);
  LAC_TRY(call->op->forward(call));
done:
  for (int i = 0; i < outs && status != LAC_OK; i++) {
    if (made[i]) lac_array_destroy(&call->out[i]);
  }
  return status;
}

lac_status lac_call_fail(lac_call *call, lac_status status, const char *sentence) {
  return lac_context_fail(call->ctx, status, call->op->name, "%s: %s", call->op->name, sentence);
}

void lac_spec_retain(const lac_spec *spec) {
  for (int i = 0; i < LAC_MAX_PATTERNS; i++) lac_object_retain(spec->patterns[i]);
  lac_object_retain(spec->object);
  lac_object_retain(spec->attrs.like.partition);
}

void lac_spec_release(const lac_spec *spec) {
  for (int i = 0; i < LAC_MAX_PATTERNS; i++) lac_object_release(spec->patterns[i]);
  lac_object_release(spec->object);
  lac_object_release(spec->attrs.like.partition);
}

void lac_meta_take_shape(lac_meta *to, const lac_meta *from) {
  lac_object_retain(from->partition);
  lac_object_release(to->partition);
  to->ndim = from->ndim;
  memcpy(to->shape, from->shape, sizeof to->shape);
  to->partition = from->partition;
  to->partition_axis = from->partition_axis;
}
