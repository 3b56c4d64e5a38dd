// SPDX-License-Identifier: Apache-2.0
/// @file infer.c
/// From the signature and the inputs' shapes to the outputs' shapes: the one place where shapes are judged.
///
/// Core dimensions are matched by letter; leading dimensions are batch, aligned at the right, equal or 1. An axis that
/// is spread over ranks keeps its partition through its letter, or through the batch axis it stands on.

#include <string.h>

#include "autodiff/call.h"

/// The place of a letter where it is bound, or -1.
static inline int infer_find(const struct lac_symbols *symbols, char symbol) {
  int place = symbol - 'A';
  return symbols->bound >> place & 1 ? place : -1;
}

lac_status lac_call_bind(lac_call *call, char symbol, int64_t size, const lac_partition *partition) {
  lac_context *ctx = call ? call->ctx : NULL;
  lac_status status = LAC_OK;
  struct lac_symbols *s = call ? call->symbols : NULL;
  int i;

  LAC_CHECK(call, LAC_ERR_ARG, "lac_call_bind: the call is NULL");
  LAC_CHECK(s, LAC_ERR_ARG, "%s: lac_call_bind is for infer alone", call->op->name);
  i = symbol - 'A';
  LAC_CHECK(i >= 0 && i < LAC_SYMBOLS, LAC_ERR_ARG, "%s: lac_call_bind: the symbol '%c' is no letter", call->op->name,
            symbol);
  if (s->bound >> i & 1) {
    LAC_CHECK(s->at[i].size == size, LAC_ERR_SHAPE, "%s: the patterns do not fit together: %c is %lld and %lld",
              call->op->name, symbol, (long long)s->at[i].size, (long long)size);
    LAC_CHECK(s->at[i].partition == partition, LAC_ERR_SHAPE,
              "%s: the patterns do not fit together: %c is spread over ranks in two ways; use one partition for both",
              call->op->name, symbol);
  }
  s->bound |= UINT64_C(1) << i;
  s->at[i] = (lac_measure){size, partition};
done:
  return status;
}

static lac_status infer_dtypes(lac_call *call) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  char name[LAC_INPUT_NAME], first[LAC_INPUT_NAME];

  for (int i = 1; i < call->ins; i++) {
    LAC_CHECK(call->in_meta[i].dtype == call->in_meta[0].dtype, LAC_ERR_DTYPE,
              "%s: %s is %s and %s is %s; nothing is promoted silently: convert one of them", call->op->name,
              lac_op_input_name(call->op, i, name), lac_dtype_name(call->in_meta[i].dtype),
              lac_op_input_name(call->op, 0, first), lac_dtype_name(call->in_meta[0].dtype));
  }
done:
  return status;
}

/// The partition of an input's axis, or NULL.
static const lac_partition *infer_partition(const lac_meta *meta, int axis) {
  return meta->partition && meta->partition_axis == axis ? meta->partition : NULL;
}

/// What sentences add where z has more axes than its letter shows.
static const char *infer_hint(const lac_call *call) {
  bool has_blocks = infer_find(call->symbols, LAC_SYMBOL_BR) >= 0;
  return has_blocks ? "; the pattern has blocks, so z is (nnz, br, bc)" : "";
}

/// What they add where vectors came, one for each of a batch, and columns are asked for.
static const char *infer_vectors(const lac_operand *operand, const lac_meta *in, int d, int64_t size) {
  bool are_vectors = operand->core == 2 && d == 0 && in->shape[in->ndim - 1] == size;
  return are_vectors ? "; a batch of vectors wants one more dimension, of 1, at the end" : "";
}

/// Match the core dimensions of one input, binding letters that are new.
static lac_status infer_core(lac_call *call, const lac_operand *operand, int i) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  struct lac_symbols *s = call->symbols;
  const lac_meta *in = &call->in_meta[i];
  int core = operand->core, first = in->ndim - core;
  char text[LAC_SHAPE_TEXT], name[LAC_INPUT_NAME];

  LAC_CHECK(first >= 0, LAC_ERR_SHAPE, "%s: %s has shape %s, but \"%s\" asks for at least %d dimensions%s",
            call->op->name, lac_op_input_name(call->op, i, name), lac_shape_text(in->ndim, in->shape, text),
            call->op->signature, core, infer_hint(call));
  for (int d = 0; d < core; d++) {
    const lac_partition *partition = infer_partition(in, first + d);
    int j = infer_find(s, operand->symbol[d]);
    if (j < 0) {
      LAC_TRY(lac_call_bind(call, operand->symbol[d], in->shape[first + d], partition));
      continue;
    }
    LAC_CHECK(in->shape[first + d] == s->at[j].size, LAC_ERR_SHAPE,
              "%s: %s has shape %s; its dimension %d must be %lld (%c in \"%s\"%s)%s", call->op->name,
              lac_op_input_name(call->op, i, name), lac_shape_text(in->ndim, in->shape, text), first + d,
              (long long)s->at[j].size, operand->symbol[d], call->op->signature, infer_hint(call),
              infer_vectors(operand, in, d, s->at[j].size));
    LAC_CHECK(partition == s->at[j].partition, LAC_ERR_SHAPE,
              "%s: dimension %d of %s is %s where %c in \"%s\" is %s; use one partition for both", call->op->name,
              first + d, lac_op_input_name(call->op, i, name), partition ? "spread over ranks" : "replicated",
              operand->symbol[d], call->op->signature,
              s->at[j].partition ? "spread over ranks by its own partition" : "replicated");
  }
done:
  return status;
}

/// Join the batch dimensions of one input into `batch`, whose dimensions are counted from the right.
static lac_status infer_batch(lac_call *call, const lac_operand *operand, int i, lac_meta *batch) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  const lac_meta *in = &call->in_meta[i];
  int ndim = in->ndim - operand->core;
  char text[LAC_SHAPE_TEXT], name[LAC_INPUT_NAME];

  for (int d = 0; d < ndim; d++) {  // d counts from the right
    int axis = ndim - 1 - d;
    int64_t size = in->shape[axis];
    const lac_partition *partition = infer_partition(in, axis);
    bool is_new = d >= batch->ndim, was_spread = batch->partition && batch->partition_axis == d;
    if (is_new) batch->shape[batch->ndim++] = 1;
    if (size == 1 && !partition) continue;  // broadcast
    LAC_CHECK((batch->shape[d] == 1 && !was_spread) || batch->shape[d] == size, LAC_ERR_SHAPE,
              "%s: %s has shape %s; its dimension %d must be 1 or %lld to go with the inputs before it", call->op->name,
              lac_op_input_name(call->op, i, name), lac_shape_text(in->ndim, in->shape, text), axis,
              (long long)batch->shape[d]);
    LAC_CHECK(partition ? !batch->partition || (was_spread && batch->partition == partition) : !was_spread,
              LAC_ERR_SHAPE, "%s: dimension %d of %s is %s, unlike the inputs before it; use one partition for all",
              call->op->name, axis, lac_op_input_name(call->op, i, name),
              partition ? "spread over ranks" : "replicated");
    LAC_CHECK(!partition || was_spread || is_new || batch->shape[d] == 1, LAC_ERR_SHAPE,
              "%s: dimension %d of %s is spread over ranks, unlike the inputs before it; use one partition for all",
              call->op->name, axis, lac_op_input_name(call->op, i, name));
    batch->shape[d] = size;
    if (partition) batch->partition = partition, batch->partition_axis = d;
  }
done:
  return status;
}

/// One output: the joint batch, then its core dimensions.
static lac_status infer_output(lac_call *call, const lac_operand *operand, int i, const lac_meta *batch) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  lac_meta *out = &call->out_meta[i];
  const char *letters = operand->symbol;
  int core = operand->core;

  *out = (lac_meta){.dtype = call->in_meta[0].dtype, .ndim = batch->ndim + core};
  LAC_CHECK(out->ndim <= LAC_MAX_DIMS, LAC_ERR_SHAPE, "%s: output %d would have %d dimensions; %d are the most",
            call->op->name, i, out->ndim, LAC_MAX_DIMS);
  for (int d = 0; d < batch->ndim; d++) out->shape[d] = batch->shape[batch->ndim - 1 - d];
  if (batch->partition) {
    out->partition = batch->partition;
    out->partition_axis = batch->ndim - 1 - batch->partition_axis;
  }
  for (int d = 0; d < core; d++) {
    int j = infer_find(call->symbols, letters[d]);
    LAC_CHECK(j >= 0, LAC_ERR_ARG, "%s: nothing says what %c is in \"%s\"; say it in binds, or bind it in infer",
              call->op->name, letters[d], call->op->signature);
    out->shape[batch->ndim + d] = call->symbols->at[j].size;
    if (call->symbols->at[j].partition) {
      out->partition = call->symbols->at[j].partition;
      out->partition_axis = batch->ndim + d;
    }
  }
done:
  return status;
}

/// Replace the output's batch by the smaller one that attrs.like asks for: the forward sums over the rest.
static lac_status infer_fit(lac_call *call, int core) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  const lac_meta *like = &call->attrs->like;
  lac_meta *out = &call->out_meta[0];
  char want[LAC_SHAPE_TEXT], have[LAC_SHAPE_TEXT];
  int dropped = out->ndim - like->ndim;
  bool fits = dropped >= 0 && like->ndim >= core;

  for (int d = 0; fits && d < like->ndim; d++) {
    bool is_batch = d < like->ndim - core;
    fits = like->shape[d] == out->shape[d + dropped] || (is_batch && like->shape[d] == 1);
  }
  LAC_CHECK(fits, LAC_ERR_SHAPE, "%s: cannot sum an output of shape %s to %s", call->op->name,
            lac_shape_text(out->ndim, out->shape, have), lac_shape_text(like->ndim, like->shape, want));
  out->ndim = like->ndim;
  memcpy(out->shape, like->shape, sizeof out->shape);
  out->partition = like->partition;
  out->partition_axis = like->partition_axis;
done:
  return status;
}

lac_status lac_call_match(lac_call *call) {
  lac_context *ctx = call ? call->ctx : NULL;
  lac_status status = LAC_OK;
  lac_operands operands;
  lac_operand operand = {.core = 0};
  lac_meta batch = {.ndim = 0};

  LAC_CHECK(call, LAC_ERR_ARG, "lac_call_match: the call is NULL");
  operands = lac_operands_of(call->op, call->patterns);
  LAC_CHECK(call->symbols, LAC_ERR_ARG, "%s: lac_call_match is for infer alone", call->op->name);
  LAC_TRY(infer_dtypes(call));
  for (int i = 0; i < call->ins; i++) {
    lac_operands_next(&operands, &operand);
    LAC_TRY(infer_core(call, &operand, i));
    LAC_TRY(infer_batch(call, &operand, i, &batch));
  }
  for (int i = 0; i < call->outs; i++) {
    lac_operands_next(&operands, &operand);
    LAC_TRY(infer_output(call, &operand, i, &batch));
  }
  LAC_CHECK(!call->attrs->fit || call->op->flags & LAC_OP_SUMS_BATCH, LAC_ERR_ARG,
            "%s: attrs.fit is set, but the operator does not sum over a batch (LAC_OP_SUMS_BATCH)", call->op->name);
  if (call->attrs->fit) LAC_TRY(infer_fit(call, operand.core));  // of its one output
done:
  return status;
}
