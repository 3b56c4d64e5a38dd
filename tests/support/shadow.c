// SPDX-License-Identifier: Apache-2.0
/// @file shadow.c
/// A table of CPU kernels, cut to the claims of another backend.

#include "support/shadow.h"

#include <string.h>

static const lac_kernels *cpu(void) { return lac_backend_find("cpu")->kernels; }

/// Refuse the part of a kernel that serves an operator which is not claimed.
static lac_status refuse(lac_context *ctx, const char *name, lac_dtype dtype, bool has_blocks) {
  if (lac_claims_have(ctx->kernels->claims, LAC_CLAIM_OPERATOR, name, dtype, has_blocks)) return LAC_OK;
  return lac_context_fail(ctx, LAC_ERR_UNSUPPORTED, __func__, "%s: the backend that the CPU stands in for has none%s",
                          name, has_blocks ? " for blocks" : "");
}

static lac_status shadow_binary(lac_context *ctx, lac_binary op, const lac_array *x, const lac_array *y, lac_array *z) {
  static const char *const names[] = {[LAC_ADD] = "add", [LAC_SUB] = "sub",         [LAC_MUL] = "mul",
                                      [LAC_DIV] = "div", [LAC_DIV_OR_ZERO] = "div", [LAC_POW] = "pow"};
  lac_status status = refuse(ctx, op >= LAC_COMPARE_EQ ? "compare" : names[op], x->meta.dtype, false);
  return status == LAC_OK ? cpu()->binary(ctx, op, x, y, z) : status;
}

static lac_status shadow_unary(lac_context *ctx, lac_unary op, const lac_array *x, lac_array *y) {
  static const char *const names[] = {[LAC_ABS] = "abs",
                                      [LAC_REAL] = "real",
                                      [LAC_IMAG] = "imag",
                                      [LAC_MAGNITUDE] = "magnitude",
                                      [LAC_SIGN] = "sign",
                                      [LAC_EXP] = "exp",
                                      [LAC_LOG] = "log",
                                      [LAC_SQRT] = "sqrt",
                                      [LAC_SIN] = "sin",
                                      [LAC_COS] = "cos",
                                      [LAC_SIGMOID] = "sigmoid",
                                      [LAC_TANH] = "tanh",
                                      [LAC_EXPM1] = "expm1",
                                      [LAC_LOG1P] = "log1p",
                                      [LAC_SOFTPLUS] = "softplus",
                                      [LAC_RELU] = "relu",
                                      [LAC_HEAVISIDE] = "heaviside"};
  lac_status status = refuse(ctx, names[op], x->meta.dtype, false);
  return status == LAC_OK ? cpu()->unary(ctx, op, x, y) : status;
}

static lac_status shadow_reduce(lac_context *ctx, lac_reduction op, const lac_array *x, uint32_t mask, lac_array *y) {
  static const char *const names[] = {[LAC_REDUCE_MAX] = "max",
                                      [LAC_REDUCE_MIN] = "min",
                                      [LAC_REDUCE_NORM] = "norm",
                                      [LAC_REDUCE_LOGSUMEXP] = "logsumexp"};
  lac_status status = refuse(ctx, names[op], x->meta.dtype, false);
  return status == LAC_OK ? cpu()->reduce(ctx, op, x, mask, y) : status;
}

static lac_status shadow_spmm(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a,
                              const lac_array *x, lac_array *y) {
  lac_status status = refuse(ctx, "spmm", y->meta.dtype, lac_pattern_has_blocks(p));
  return status == LAC_OK ? cpu()->spmm(ctx, p, form, a, x, y) : status;
}

static lac_status shadow_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v,
                               lac_array *s) {
  lac_status status = refuse(ctx, "sddmm", s->meta.dtype, lac_pattern_has_blocks(p));
  return status == LAC_OK ? cpu()->sddmm(ctx, p, u, v, s) : status;
}

static const lac_claim cuda_list[] = {
#define LAC_HAS(slot)
#define LAC_CLAIM(kind, name, dtypes, blocks) {LAC_CLAIM_##kind, #name, LAC_CLAIM_##dtypes, LAC_CLAIM_##blocks},
#include "backends/cuda/claims.def"
#undef LAC_HAS
#undef LAC_CLAIM
};
static const lac_claims cuda_claims = {sizeof cuda_list / sizeof *cuda_list, cuda_list};

void shadow_enter(lac_context *ctx, const lac_kernels *shadow) {
  static lac_space space;
  space = lac_host_space;
  space.is_host = false;
  ctx->space = &space;
  ctx->kernels = shadow;
}

const lac_kernels *shadow_of(const char *backend) {
  static lac_kernels table;
  if (strcmp(backend, "cuda") != 0) return NULL;
  table = (lac_kernels){.claims = &cuda_claims};
#define LAC_HAS(slot) table.slot = cpu()->slot;
#define LAC_CLAIM(kind, name, dtypes, blocks)
#include "backends/cuda/claims.def"
#undef LAC_HAS
#undef LAC_CLAIM
  if (lac_claims_have(&cuda_claims, LAC_CLAIM_SOLVER, "grid", LAC_F64, false)) table.grid = cpu()->grid;
  if (lac_claims_have(&cuda_claims, LAC_CLAIM_SOLVER, "pairwise", LAC_F64, false)) table.pairwise = cpu()->pairwise;
  if (table.binary) table.binary = shadow_binary;
  if (table.unary) table.unary = shadow_unary;
  if (table.reduce) table.reduce = shadow_reduce;
  if (table.spmm) table.spmm = shadow_spmm;
  if (table.sddmm) table.sddmm = shadow_sddmm;
  return &table;
}
