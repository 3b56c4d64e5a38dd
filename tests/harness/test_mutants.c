// SPDX-License-Identifier: Apache-2.0
/// The battery is tested: operators with known faults must turn it red, in the section that is there for the fault.
///
/// All are copies of y = A x with one thing wrong, named by an attribute; the copy without a fault passes.

#include "autodiff/rule.h"
#include "kernels/kernels.h"
#include "support/op_case.h"
#include "support/scratch.h"

enum { A, X };
enum { Y, Z };

typedef enum fault {
  NO_FAULT,
  WRONG_SIGN,         // x_bar = -A^H y_bar
  MISSING_TRANSPOSE,  // x_bar = conj(A) y_bar
  MISSING_CONJ,       // x_bar = A^T y_bar: right for real numbers
  MISSING_CONJ_IN_A,  // a_bar without the conjugate of x
  WRONG_SLOTS,        // a_bar in the slots of the transpose
  DROPPED_TANGENT,    // y_dot = A x_dot alone
  FACTOR_TWO,         // vjp and jvp agree with each other and are both twice too large
  DETACHED,           // x_bar is right and is a constant
  ORDER_ONE,          // x_bar is right and cannot be differentiated
  ZERO_INPUT,         // x_bar is said to be zero
  MISSING_NEEDS,      // the needs masks do not name x
  MEAN_OVER_BATCH,    // a_bar is the mean over the batch, not the sum
  WRONG_VALUE,        // y is off in its third digit
  LEAK,               // the forward keeps a block
  LEAK_ON_FAILURE,    // the forward keeps a block when its second allocation fails
  SWALLOWED_FAILURE,  // the forward says that all is well when an allocation failed
  WRONG_CODE,         // the forward gives another error when an allocation failed
  THREADED_BITS,      // the last bits depend on the number of threads
  RANDOM_BITS,        // the last bits depend on the weather
  TINY_IS_ZERO,       // cotangents below 1e-12 are taken for zero
  ACCEPTS_ANYTHING    // shapes are not looked at
} fault;

#define FAULT(call_or_rule) ((fault)(call_or_rule)->attrs->i[1])

// -- blocks that the leaking operators keep --------------------------------------------------------------------------

static void *kept[100000];
static int kept_count;

static void keep(void *block) {
  if (block && kept_count < (int)(sizeof kept / sizeof *kept)) kept[kept_count++] = block;
}

static void free_kept(void) {
  while (kept_count) lac_free(kept[--kept_count]);
}

// -- helpers that rules emit -----------------------------------------------------------------------------------------

static lac_status copy_forward(lac_call *c) { return c->ctx->backend->copy(c->ctx, c->in[0], c->out[0]); }

static const lac_op detach = {.name = "detach",
                              .signature = "()->()",
                              .order = LAC_ANY_ORDER,
                              .forward = copy_forward,
                              .vjp = lac_rule_nothing,
                              .jvp = lac_rule_nothing};

static const lac_op dead_end = {.name = "dead_end", .signature = "()->()", .order = 0, .forward = copy_forward};

static lac_status cut_forward(lac_call *c) {
  size_t mark = scratch_mark();
  ref x;
  lac_status status = ref_download(c->ctx, c->in[0], &x);
  double most = status == LAC_OK ? ref_max(&x) : 0;
  scratch_release(mark);
  if (status != LAC_OK) return status;
  return most < 1e-12 ? c->ctx->backend->fill(c->ctx, c->out[0], 0, 0) : copy_forward(c);
}

static const lac_op cut;
static void cut_vjp(lac_rule *r) { r->in_bar[0] = lac_emit(r->tape, &(lac_spec){.op = &cut}, &r->out_bar[0]); }
static void cut_jvp(lac_rule *r) { r->out_dot[0] = lac_emit(r->tape, &(lac_spec){.op = &cut}, &r->in_dot[0]); }
static const lac_op cut = {.name = "cut",
                           .signature = "()->()",
                           .order = LAC_ANY_ORDER,
                           .forward = cut_forward,
                           .vjp = cut_vjp,
                           .jvp = cut_jvp};

// -- the suspect -----------------------------------------------------------------------------------------------------

static lac_status suspect_infer(lac_call *c) {
  if (FAULT(c) == ACCEPTS_ANYTHING) {
    c->out_meta[Y] = c->in_meta[X];
    return LAC_OK;
  }
  return lac_call_match(c);
}

/// Faults of a forward that needs memory of its own.
static lac_status suspect_allocate(lac_call *c) {
  void *first = lac_alloc(8), *second = first ? lac_alloc(8) : NULL;
  lac_status status = second ? LAC_OK : lac_call_fail(c, LAC_ERR_MEMORY, "out of memory");

  if (FAULT(c) == LEAK || (FAULT(c) == LEAK_ON_FAILURE && !second)) keep(first), first = NULL;
  if (FAULT(c) == SWALLOWED_FAILURE) status = LAC_OK;
  if (FAULT(c) == WRONG_CODE && !second) status = lac_call_fail(c, LAC_ERR_ARG, "something is wrong");
  lac_free(first);
  lac_free(second);
  return status;
}

static bool is_matrix_product(const lac_call *c) {
  const lac_meta *x = &c->in_meta[X];
  return c->patterns[0] && x->ndim >= 2 && x->shape[x->ndim - 2] == 4 && c->in_meta[A].ndim > 0 &&
         lac_array_count(c->in[A]) == lac_pattern_nnz(c->patterns[0]) && x->dtype == c->in_meta[A].dtype;
}

/// 1 and `steps` units of the last place.
static double off_by(const lac_call *c, int steps) {
  bool is_single = c->in_meta[X].dtype == LAC_F32 || c->in_meta[X].dtype == LAC_C64;
  return 1 + steps * (is_single ? 0x1p-22 : 0x1p-51);
}

static lac_status suspect_forward(lac_call *c) {
  static int runs;
  double factor = 1;
  if (FAULT(c) == ACCEPTS_ANYTHING && !is_matrix_product(c)) return c->ctx->backend->fill(c->ctx, c->out[Y], 0, 0);
  if (FAULT(c) == WRONG_VALUE) factor = 1.001;
  if (FAULT(c) == THREADED_BITS) factor = off_by(c, lac_context_threads(c->ctx));
  if (FAULT(c) == RANDOM_BITS) factor = off_by(c, ++runs % 3);
  lac_status status = suspect_allocate(c);
  if (status == LAC_OK) status = KERNELS(c)->spmm(c->ctx, c->patterns[0], LAC_PLAIN, c->in[A], c->in[X], c->out[Y]);
  if (status == LAC_OK && factor != 1) status = KERNELS(c)->scale(c->ctx, factor, 0, c->out[Y], c->out[Y]);
  return status;
}

static lac_var suspect_a_bar(lac_rule *r, lac_var y_bar) {
  const lac_pattern *p = r->patterns[0];
  lac_var x = r->in[X];
  switch (FAULT(r)) {
    case MISSING_CONJ_IN_A:
      return lac_sddmm(r->tape, p, y_bar, lac_conj(r->tape, x));
    case WRONG_SLOTS:
      return lac_conj(r->tape, lac_sddmm(r->tape, p, x, y_bar));
    case FACTOR_TWO:
      return lac_scale(r->tape, lac_sddmm(r->tape, p, y_bar, x), 2, 0);
    case MEAN_OVER_BATCH:
      return lac_scale(r->tape, lac_sddmm(r->tape, p, y_bar, x), 1. / 3, 0);
    default:
      return lac_sddmm(r->tape, p, y_bar, x);
  }
}

static lac_var suspect_x_bar(lac_rule *r, lac_var y_bar) {
  const lac_pattern *p = r->patterns[0];
  lac_var a = r->in[A], x_bar = lac_spmm(r->tape, p, a, y_bar, LAC_ADJOINT);
  switch (FAULT(r)) {
    case WRONG_SIGN:
      return lac_scale(r->tape, x_bar, -1, 0);
    case MISSING_TRANSPOSE:
      return lac_spmm(r->tape, p, a, y_bar, LAC_CONJUGATED);
    case MISSING_CONJ:
      return lac_spmm(r->tape, p, a, y_bar, LAC_TRANSPOSED);
    case FACTOR_TWO:
      return lac_scale(r->tape, x_bar, 2, 0);
    case DETACHED:
      return lac_emit(r->tape, &(lac_spec){.op = &detach}, &x_bar);
    case ORDER_ONE:
      return lac_emit(r->tape, &(lac_spec){.op = &dead_end}, &x_bar);
    case TINY_IS_ZERO:
      return lac_emit(r->tape, &(lac_spec){.op = &cut}, &x_bar);
    default:
      return x_bar;
  }
}

static void suspect_vjp(lac_rule *r) {
  if (r->wants[A]) r->in_bar[A] = suspect_a_bar(r, r->out_bar[Y]);
  lac_rule_nothing(r);
  if (r->wants[X] && FAULT(r) != ZERO_INPUT) r->in_bar[X] = suspect_x_bar(r, r->out_bar[Y]);
}

static void suspect_jvp(lac_rule *r) {
  const lac_pattern *p = r->patterns[0];
  lac_var change = lac_spmm(r->tape, p, r->in_dot[A], r->in[X], LAC_PLAIN);
  lac_var moved = lac_spmm(r->tape, p, r->in[A], r->in_dot[X], LAC_PLAIN);
  r->out_dot[Y] = FAULT(r) == DROPPED_TANGENT ? moved : lac_add(r->tape, change, moved);
  if (FAULT(r) == FACTOR_TWO) r->out_dot[Y] = lac_scale(r->tape, r->out_dot[Y], 2, 0);
}

#define SUSPECT(needs)                                                                                          \
  {                                                                                                             \
    .name = "suspect", .signature = "(z),(n,k)->(m,k)", .binds = "pattern 0: z, (m,n)", .order = LAC_ANY_ORDER, \
    .vjp_needs = (needs), .jvp_needs = (needs), .infer = suspect_infer, .forward = suspect_forward,             \
    .vjp = suspect_vjp, .jvp = suspect_jvp                                                                      \
  }
static const lac_op suspect = SUSPECT(NEEDS_IN(A) | NEEDS_IN(X)), needless = SUSPECT(NEEDS_IN(A));

static void suspect_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_spec spec = {.op = setup->c->user_op, .patterns = {setup->patterns[0]}, .attrs.i = {0, setup->c->i[1]}};
  (void)lac_tape_call(tape, &spec, in, out);
}

static void product_dense(const op_case *c, const ref *in, ref *out) {
  int64_t k = in[X].meta.shape[in[X].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_matrix(c->patterns[0], walk_item(&w, &in[A], 1));
    dense_copy_to(dense_mul(a, dense_over(4, k, walk_item(&w, &in[X], 2))), walk_item(&w, out, 2));
    if (!c->result[Z]) continue;
    for (int64_t e = 0; e < 4 * k; ++e) walk_item(&w, &out[Z], 2)[e] = 3 * walk_item(&w, &in[X], 2)[e];
  }
}

static op_case suspect_case(fault f) {
  return (op_case){.op = "suspect",
                   .user_op = f == MISSING_NEEDS ? &needless : &suspect,
                   .patterns = {sketch_symmetric(4, 0.6, 1)},
                   .shapes = {"nnz", "3,4,2"},
                   .result = {"3,4,2"},
                   .i = {0, f},
                   .apply = suspect_apply,
                   .dense = product_dense,
                   .degree = {1, 1},
                   .fixed = {1, 2}};
}

/// These sections, at least, are red.
static void expect_red(lac_context *ctx, fault f, uint32_t sections) {
  op_case c = suspect_case(f);
  uint32_t failed = check_op_sections(ctx, &c, NULL);
  free_kept();
  if ((failed & sections) != sections) {
    check_fail(__FILE__, __LINE__, "fault %d: sections %#x are red, expected are %#x", (int)f, failed, sections);
  }
}

static void the_copy_without_a_fault_is_green(lac_context *ctx) {
  op_case c = suspect_case(NO_FAULT);
  CHECK_EQ(check_op_sections(ctx, &c, NULL), 0);
}

static void wrong_gradients_are_caught(lac_context *ctx) {
  expect_red(ctx, WRONG_SIGN, OP_ADJOINT | OP_GRADIENT);
  expect_red(ctx, MISSING_TRANSPOSE, OP_ADJOINT | OP_GRADIENT);
  expect_red(ctx, MISSING_CONJ, OP_ADJOINT | OP_GRADIENT);
  expect_red(ctx, MISSING_CONJ_IN_A, OP_ADJOINT | OP_GRADIENT);
  expect_red(ctx, WRONG_SLOTS, OP_ADJOINT | OP_GRADIENT);
  expect_red(ctx, ZERO_INPUT, OP_ADJOINT | OP_GRADIENT);
  expect_red(ctx, MEAN_OVER_BATCH, OP_ADJOINT | OP_GRADIENT);
  expect_red(ctx, MISSING_NEEDS, OP_ADJOINT);  // the library itself refuses the rule
}

static void wrong_tangents_are_caught(lac_context *ctx) { expect_red(ctx, DROPPED_TANGENT, OP_ADJOINT | OP_TANGENT); }

static void derivatives_that_only_agree_with_each_other_are_caught(lac_context *ctx) {
  op_case c = suspect_case(FACTOR_TWO);
  uint32_t failed = check_op_sections(ctx, &c, NULL);
  CHECK(!(failed & OP_ADJOINT));
  CHECK(failed & OP_TANGENT);
  CHECK(failed & OP_GRADIENT);
}

static void wrong_second_derivatives_are_caught(lac_context *ctx) {
  expect_red(ctx, DETACHED, OP_SECOND);
  expect_red(ctx, ORDER_ONE, OP_SECOND);
}

static void wrong_values_are_caught(lac_context *ctx) { expect_red(ctx, WRONG_VALUE, OP_VALUES | OP_TANGENT); }

static void leaks_and_swallowed_failures_are_caught(lac_context *ctx) {
  expect_red(ctx, LEAK, OP_MEMORY);
  expect_red(ctx, LEAK_ON_FAILURE, OP_MEMORY);
  expect_red(ctx, SWALLOWED_FAILURE, OP_MEMORY);
  expect_red(ctx, WRONG_CODE, OP_MEMORY);
}

static void bits_that_vary_are_caught(lac_context *ctx) {
  expect_red(ctx, THREADED_BITS, OP_THREADS);
  expect_red(ctx, RANDOM_BITS, OP_THREADS);
}

static void tiny_cotangents_taken_for_zero_are_caught(lac_context *ctx) { expect_red(ctx, TINY_IS_ZERO, OP_SCALE); }

static void missing_refusals_are_caught(lac_context *ctx) { expect_red(ctx, ACCEPTS_ANYTHING, OP_INPUT); }

// -- two outputs -----------------------------------------------------------------------------------------------------

/// y = A x, z = 3 x; i[1] says whether the vjp forgets z.
static lac_status pair_forward(lac_call *c) {
  lac_status status = KERNELS(c)->spmm(c->ctx, c->patterns[0], LAC_PLAIN, c->in[A], c->in[X], c->out[Y]);
  return status == LAC_OK ? KERNELS(c)->scale(c->ctx, 3, 0, c->in[X], c->out[Z]) : status;
}

static void pair_vjp(lac_rule *r) {
  lac_var z_bar = r->attrs->i[1] ? (lac_var){0} : r->out_bar[Z];
  if (r->wants[A]) r->in_bar[A] = lac_sddmm(r->tape, r->patterns[0], r->out_bar[Y], r->in[X]);
  if (!r->wants[X]) return;
  r->in_bar[X] = lac_add(r->tape, lac_spmm(r->tape, r->patterns[0], r->in[A], r->out_bar[Y], LAC_ADJOINT),
                         lac_scale(r->tape, z_bar, 3, 0));
}

static void pair_jvp(lac_rule *r) {
  suspect_jvp(r);
  r->out_dot[Z] = lac_scale(r->tape, r->in_dot[X], 3, 0);
}

static const lac_op pair = {.name = "pair",
                            .signature = "(z),(n,k)->(m,k),(n,k)",
                            .binds = "pattern 0: z, (m,n)",
                            .order = LAC_ANY_ORDER,
                            .vjp_needs = NEEDS_IN(A) | NEEDS_IN(X),
                            .jvp_needs = NEEDS_IN(A) | NEEDS_IN(X),
                            .forward = pair_forward,
                            .vjp = pair_vjp,
                            .jvp = pair_jvp};

static void pair_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_spec spec = {.op = setup->c->user_op, .patterns = {setup->patterns[0]}, .attrs.i = {0, setup->c->i[1]}};
  (void)lac_tape_call(tape, &spec, in, out);
}

static void a_forgotten_output_is_caught(lac_context *ctx) {
  op_case c = suspect_case(NO_FAULT);
  c.op = "pair", c.user_op = &pair;
  c.apply = pair_apply, c.shapes[X] = "4,2", c.result[Y] = c.result[Z] = "4,2";
  c.degree[A] = c.degree[X] = 0;
  CHECK_EQ(check_op_sections(ctx, &c, NULL), 0);
  c.i[1] = 1;
  uint32_t failed = check_op_sections(ctx, &c, NULL);
  CHECK(failed & OP_ADJOINT);
  CHECK(failed & OP_GRADIENT);
}

CHECK_MAIN(the_copy_without_a_fault_is_green, wrong_gradients_are_caught, wrong_tangents_are_caught,
           derivatives_that_only_agree_with_each_other_are_caught, wrong_second_derivatives_are_caught,
           wrong_values_are_caught, leaks_and_swallowed_failures_are_caught, bits_that_vary_are_caught,
           tiny_cotangents_taken_for_zero_are_caught, missing_refusals_are_caught, a_forgotten_output_is_caught)
