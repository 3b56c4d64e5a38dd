// SPDX-License-Identifier: Apache-2.0
/// The operator banded_gemm: its values on every pair of forms, its derivatives.

#include "support/banded.h"
#include "support/op_case.h"

/// i: forms of X and Y, bands of X, Y and the product.
static void banded_gemm_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const int64_t *i = setup->c->i;
  out[0] = lac_banded_gemm(tape, i[2], i[3], in[0], i[4], i[5], in[1], i[6], i[7], (lac_form)(i[0]), (lac_form)i[1]);
}

static void banded_gemm_dense(const op_case *c, const ref *in, ref *out) {
  const int64_t *i = c->i, n = in[0].meta.shape[in[0].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense x = dense_side(dense_banded(n, n, (bands){i[2], i[3]}, walk_item(&w, &in[0], 2)), (lac_form)i[0]);
    dense y = dense_side(dense_banded(n, n, (bands){i[4], i[5]}, walk_item(&w, &in[1], 2)), (lac_form)i[1]);
    banded_of(dense_mul(x, y), (bands){i[6], i[7]}, walk_item(&w, out, 2));
  }
}

static void check_banded_gemm(lac_context *ctx, int64_t n, lac_form sx, bands x, lac_form sy, bands y, bands t) {
  op_case c = {.op = "banded_gemm", .i = {sx, sy, x.lower, x.upper, y.lower, y.upper, t.lower, t.upper}};
  c.shapes[0] = op_text("%lld,%lld", (long long)(x.lower + x.upper + 1), (long long)n);
  c.shapes[1] = op_text("%lld,%lld", (long long)(y.lower + y.upper + 1), (long long)n);
  c.result[0] = op_text("%lld,%lld", (long long)(t.lower + t.upper + 1), (long long)n);
  c.apply = banded_gemm_apply, c.dense = banded_gemm_dense;
  c.degree[0] = c.degree[1] = 1;
  c.fixed[0] = c.fixed[1] = 2;
  check_op(ctx, &c);
}

static void banded_gemm_differentiates_on_every_pair_of_sides(lac_context *ctx) {
  for (int s = 0; s < 16; ++s) {
    check_banded_gemm(ctx, 4, (lac_form)(s % 4), (bands){2, 1}, (lac_form)(s / 4), (bands){0, 1}, (bands){1, 2});
  }
}

static void banded_gemm_gives_all_of_a_product(lac_context *ctx) {
  check_banded_gemm(ctx, 6, LAC_PLAIN, (bands){1, 1}, LAC_PLAIN, (bands){2, 0}, (bands){3, 1});
  check_banded_gemm(ctx, 5, LAC_TRANSPOSED, (bands){1, 0}, LAC_PLAIN, (bands){1, 0}, (bands){1, 1});
}

static void banded_gemm_takes_what_is_small_or_wider_than_the_matrix(lac_context *ctx) {
  check_banded_gemm(ctx, 3, LAC_PLAIN, (bands){4, 2}, LAC_ADJOINT, (bands){1, 5}, (bands){3, 3});
  check_banded_gemm(ctx, 1, LAC_CONJUGATED, (bands){1, 1}, LAC_PLAIN, (bands){0, 0}, (bands){0, 1});
  check_banded_gemm(ctx, 0, LAC_PLAIN, (bands){1, 1}, LAC_PLAIN, (bands){1, 1}, (bands){2, 2});
}

static void banded_gemm_broadcasts_batches(lac_context *ctx) {
  op_case c = {.op = "banded_gemm",
               .i = {LAC_PLAIN, LAC_PLAIN, 1, 0, 0, 1, 1, 1},
               .shapes = {"2,2,3", "2,3"},
               .result = {"2,3,3"}};
  c.apply = banded_gemm_apply, c.dense = banded_gemm_dense, c.fixed[0] = c.fixed[1] = 2;
  check_op(ctx, &c);
}

static void banded_gemm_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "banded_gemm", .i = {LAC_PLAIN, LAC_TRANSPOSED, 1, 1, 2, 1, 2, 2}, .shapes = {"3,9000", "4,9000"}};
  c.result[0] = "5,9000", c.apply = banded_gemm_apply;
  check_op_large(ctx, &c);
}

/// Two forms travel as one number: -1 and LAC_TRANSPOSED must not pass for LAC_ADJOINT and LAC_PLAIN.
static void banded_gemm_refuses_sides_that_are_none(lac_context *ctx) {
  static const int forms[][2] = {{-1, 1}, {6, 0}, {4, 3}, {0, 4}};
  lac_array *x = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){1, 2}, (double[]){1, 2}, LAC_OWNERSHIP_COPY, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
    lac_var v = lac_tape_constant(tape, x);
    (void)lac_banded_gemm(tape, 0, 0, v, 0, 0, v, 0, 0, (lac_form)forms[i][0], (lac_form)forms[i][1]);
    CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "op is");
    lac_tape_clear(tape);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

CHECK_MAIN(banded_gemm_differentiates_on_every_pair_of_sides, banded_gemm_gives_all_of_a_product,
           banded_gemm_takes_what_is_small_or_wider_than_the_matrix, banded_gemm_broadcasts_batches,
           banded_gemm_does_not_depend_on_threads, banded_gemm_refuses_sides_that_are_none)
