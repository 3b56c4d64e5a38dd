// SPDX-License-Identifier: Apache-2.0
/// Claims are tested: a backend that lacks what it claims does not pass the battery, nor one that has what it does not
/// claim.

#include <string.h>

#include "support/op_case.h"
#include "support/shadow.h"

static void exp_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_exp(tape, in[0]);
}

static void exp_dense(const op_case *c, const ref *in, ref *out) {
  (void)c;
  for (int64_t i = 0; i < in[0].count; ++i) out[0].x[i] = cexp(in[0].x[i]);
}

static const op_case of_exp = {.op = "exp",
                               .shapes = {"3,2"},
                               .result = {"3,2"},
                               .apply = exp_apply,
                               .dense = exp_dense,
                               .slack = 16,
                               .skip = OP_MEMORY | OP_INPUT};

static const lac_claim lists[][2] = {
    {{LAC_CLAIM_OPERATOR, "exp", LAC_CLAIM_ALL, LAC_CLAIM_SCALAR}, {LAC_CLAIM_OPERATOR, "mul", LAC_CLAIM_ALL, 0}},
    {{LAC_CLAIM_OPERATOR, "exp", LAC_CLAIM_REAL, LAC_CLAIM_SCALAR}, {LAC_CLAIM_OPERATOR, "mul", LAC_CLAIM_ALL, 0}},
    {{LAC_CLAIM_OPERATOR, "log", LAC_CLAIM_ALL, LAC_CLAIM_SCALAR}, {LAC_CLAIM_OPERATOR, "mul", LAC_CLAIM_ALL, 0}}};
enum { CLAIMS_EXP, CLAIMS_REAL_EXP, CLAIMS_NO_EXP };

/// What the battery says of a backend with all kernels of the CPU, or with one taken out, and these claims.
static uint32_t sections_of(lac_context *ctx, int list, bool has_unary) {
  const lac_claims claims = {2, lists[list]};
  const lac_kernels *own = ctx->kernels;
  lac_kernels table = *own;
  table.claims = &claims;
  if (!has_unary) table.unary = NULL;
  ctx->kernels = &table;
  uint32_t failed = check_op_sections(ctx, &of_exp, NULL);
  ctx->kernels = own;
  return failed;
}

static void a_claim_that_holds_passes(lac_context *ctx) { CHECK_EQ(sections_of(ctx, CLAIMS_EXP, true), 0); }

static void a_kernel_taken_out_fails_its_claim(lac_context *ctx) {
  CHECK(sections_of(ctx, CLAIMS_EXP, false) & OP_VALUES);
}

static void what_is_not_claimed_is_left_out(lac_context *ctx) { CHECK_EQ(sections_of(ctx, CLAIMS_NO_EXP, false), 0); }

static void what_works_must_be_claimed(lac_context *ctx) {
  CHECK_EQ(sections_of(ctx, CLAIMS_NO_EXP, true), OP_CLAIMS);
  CHECK_EQ(sections_of(ctx, CLAIMS_REAL_EXP, true), OP_CLAIMS);  // for each dtype
}

static void blocks_are_claimed_apart(lac_context *ctx) {
  const lac_claim list[] = {{LAC_CLAIM_OPERATOR, "spmm", LAC_CLAIM_REAL, LAC_CLAIM_SCALAR},
                            {LAC_CLAIM_OPERATOR, "sddmm", LAC_CLAIM_ALL, LAC_CLAIM_BLOCKS}};
  const lac_claims claims = {2, list};
  (void)ctx;
  CHECK(lac_claims_have(&claims, LAC_CLAIM_OPERATOR, "spmm", LAC_F32, false));
  CHECK(!lac_claims_have(&claims, LAC_CLAIM_OPERATOR, "spmm", LAC_F32, true));
  CHECK(!lac_claims_have(&claims, LAC_CLAIM_OPERATOR, "spmm", LAC_C64, false));
  CHECK(lac_claims_have(&claims, LAC_CLAIM_OPERATOR, "sddmm", LAC_C128, true));
  CHECK(!lac_claims_have(&claims, LAC_CLAIM_SOLVER, "sddmm", LAC_F64, false));
  CHECK(!lac_claims_have(&claims, LAC_CLAIM_OPERATOR, "add", LAC_F64, false));
  CHECK(lac_claims_have(NULL, LAC_CLAIM_OPERATOR, "add", LAC_F64, true));  // the CPU's
}

/// Every name that CUDA claims is that of an operator or a solver.
static void claims_name_what_there_is(lac_context *ctx) {
  static const char *const solvers =
      " auto direct batched identity jacobi block_jacobi ssor ic0 ilu0 chebyshev multigrid grid pairwise cg "
      "flexible_cg "
      "bicgstab gmres flexible_gmres minres lsmr lsqr ";
  const lac_claims *claims = shadow_of("cuda")->claims;
  (void)ctx;
  for (int i = 0; i < claims->count; ++i) {
    const lac_claim *c = &claims->list[i];
    bool is_there = c->kind == LAC_CLAIM_SOLVER ? strstr(solvers, op_text(" %s ", c->name)) != NULL
                                                : lac_op_find(c->name) || strcmp(c->name, "solve_operator") == 0;
    if (!is_there) check_fail(__FILE__, __LINE__, "claims.def claims %s, which there is not", c->name);
  }
}

CHECK_MAIN(a_claim_that_holds_passes, a_kernel_taken_out_fails_its_claim, what_is_not_claimed_is_left_out,
           what_works_must_be_claimed, blocks_are_claimed_apart, claims_name_what_there_is)
