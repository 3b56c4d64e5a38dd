// SPDX-License-Identifier: Apache-2.0
/// @file call.c
/// Running one application of an operator.

#include "autodiff/call.h"

#include <string.h>

#include "kernels/kernels.h"

/// The lists of the operands, in one block.
static lac_status frame_extend(lac_frame *frame) {
  lac_call *c = &frame->call;
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  size_t operands = (size_t)c->ins + (size_t)c->outs;
  char *block = NULL;

  LAC_ALLOC(block, operands * (sizeof(lac_meta) + sizeof(lac_array *)));
  frame->heap = block;
  c->in_meta = (lac_meta *)(void *)block;
  c->in = (const lac_array **)(void *)(c->in_meta + operands);
  c->out = (lac_array **)(void *)(c->in + c->ins);
done:
  return status;
}

lac_status lac_call_resume(lac_context *ctx, const lac_spec *spec, int ins, int outs, lac_meta *metas, lac_frame *out) {
  lac_status status = LAC_OK;

  out->heap = NULL;
  out->call = (lac_call){.ctx = ctx,
                         .op = spec->op,
                         .patterns = spec->patterns,
                         .object = spec->object,
                         .attrs = &spec->attrs,
                         .ins = ins,
                         .outs = outs,
                         .in_meta = out->meta,
                         .in = out->in,
                         .out = out->out};
  if (ins > FRAME_INS || outs > FRAME_OUTS) LAC_TRY(frame_extend(out));
  if (metas) out->call.in_meta = metas;
  out->call.out_meta = out->call.in_meta + ins;
  for (int i = 0; i < ins; i++) out->call.in[i] = NULL;
  for (int i = 0; i < outs; i++) out->call.out[i] = NULL;
done:
  return status;
}

lac_status lac_call_begin(lac_context *ctx, const lac_spec *spec, lac_frame *out) {
  lac_status status = LAC_OK;
  const lac_op *op = spec->op;
  int ins, outs;

  out->heap = NULL;
  out->call.ins = out->call.outs = 0;
  ctx->status = LAC_OK;  // so that a code without a sentence does not borrow an older one
  LAC_CHECK(op, LAC_ERR_ARG, "lac_tape_call: the spec names no operator; set spec.op (lac_op_find)");
  LAC_CHECK(op->name && op->forward, LAC_ERR_ARG, "lac_tape_call: an operator needs a name and a forward");
  LAC_CHECK(lac_signature_count(op->signature, &ins, &outs), LAC_ERR_ARG,
            "%s: cannot read the signature \"%s\"; write it like \"(z),(n,k)->(m,k)\"", op->name,
            op->signature ? op->signature : "NULL");
  LAC_TRY(lac_call_resume(ctx, spec, ins, outs, NULL, out));
done:
  if (status != LAC_OK) out->call.ins = out->call.outs = 0;  // there are no lists
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
        i == 0 && call->op->flags & LAC_OP_TAKES_BLOCKS, LAC_ERR_UNSUPPORTED,
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

  if (!(call->op->flags & LAC_OP_WHOLE) && !(first && lac_pattern_has_blocks(first))) return LAC_OK;
  for (int i = 0; i < call->ins; i++) is_spread = is_spread || call->in_meta[i].partition;
  for (int i = 0; i < LAC_MAX_PATTERNS; i++) is_spread = is_spread || (call->patterns[i] && call->patterns[i]->halo);
  LAC_CHECK(!is_spread, LAC_ERR_UNSUPPORTED,
            "%s: operands that are spread over ranks are not taken yet; use replicated ones", call->op->name);
done:
  return status;
}

lac_status lac_call_infer(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  struct lac_symbols symbols;

  symbols.bound = 0;
  call->symbols = &symbols;
  for (int i = 0; i < call->outs; i++) call->out_meta[i] = (lac_meta){.ndim = -1};
  LAC_TRY(call_take_blocks(call));
  LAC_TRY(call_check_whole(call));
  if (call->op->binds) LAC_TRY(lac_call_bind_frozen(call));
  LAC_TRY(call->op->infer ? call->op->infer(call) : lac_call_match(call));
  for (int i = 0; i < call->outs; i++) {
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

static lac_status call_make_outputs(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < call->outs; i++) {
    if (!call->out[i]) LAC_TRY(lac_array_make(ctx, &call->out_meta[i], &call->out[i]));
  }
done:
  return status;
}

lac_status lac_call_run(lac_call *call, lac_status so_far) {
  lac_context *ctx = call->ctx;
  lac_status status = so_far;

  if (status == LAC_OK) status = call_make_outputs(call);
  if (call->op->flags & LAC_OP_COMMUNICATES) status = lac_call_agree(ctx, status);
  LAC_TRY(status);
  LAC_TRY(call->op->forward(call));
done:
  return status;
}

/// The joint batch, that of output 0, and an operand's own batch; returns how many numbers an item of the operand has.
static int64_t call_batch(const lac_call *call, int operand, lac_batch *batch) {
  lac_operands operands = lac_operands_of(call->op, call->patterns);
  const lac_meta *metas[2] = {&call->out_meta[0], &call->in_meta[operand]};  // metas of outputs follow those of inputs
  int core[2] = {0, 0};
  int64_t numbers = 1;
  lac_operand found;

  for (int i = 0; i < call->ins + call->outs; i++) {
    lac_operands_next(&operands, &found);
    if (i == call->ins) core[0] = found.core;
    if (i == operand) core[1] = found.core;
  }
  lac_batch_init(batch, 2, metas, core);
  for (int d = metas[1]->ndim - core[1]; d < metas[1]->ndim; d++) numbers *= metas[1]->shape[d];
  return numbers;
}

int64_t lac_call_items(const lac_call *call) {
  lac_batch batch;

  if (!call) return 0;
  (void)call_batch(call, call->ins, &batch);
  return batch.count;
}

int64_t lac_call_offset(const lac_call *call, int operand, int64_t i) {
  lac_batch batch;

  if (!call || operand < 0 || operand >= call->ins + call->outs) return -1;
  int64_t numbers = call_batch(call, operand, &batch);
  return numbers * lac_batch_item(&batch, 1, i);
}

lac_status lac_call_fail(lac_call *call, lac_status status, const char *sentence) {
  if (!call || !sentence)
    return lac_context_fail(NULL, LAC_ERR_ARG, __func__, "lac_call_fail: call or sentence is NULL");
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
