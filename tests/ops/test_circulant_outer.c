// SPDX-License-Identifier: Apache-2.0
/// The operator circulant_outer: its values, its derivatives.

#include "support/op_case.h"

static void circulant_outer_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_circulant_outer(tape, in[0], in[1]);
}

static void circulant_outer_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = in[0].meta.shape[in[0].meta.ndim - 2], k = in[0].meta.shape[in[0].meta.ndim - 1];
  (void)c;
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *u = walk_item(&w, &in[0], 2), *v = walk_item(&w, &in[1], 2);
    number *s = walk_item(&w, out, 1);
    for (int64_t d = 0; d < n; ++d) {
      s[d] = 0;
      for (int64_t e = 0; e < n * k; ++e) s[d] += u[e] * conj(v[(e / k - d + n) % n * k + e % k]);
    }
  }
}

static void check_circulant_outer(lac_context *ctx, const char *u, const char *v, const char *s) {
  op_case c = {.op = "circulant_outer", .shapes = {u, v}, .result = {s}, .slack = 8};
  c.apply = circulant_outer_apply, c.dense = circulant_outer_dense;
  c.degree[0] = c.degree[1] = 1;
  check_op(ctx, &c);
}

static void circulant_outer_differentiates(lac_context *ctx) {
  check_circulant_outer(ctx, "5,2", "5,2", "5");
  check_circulant_outer(ctx, "35,2", "35,2", "35");
  check_circulant_outer(ctx, "64,1", "64,1", "64");
}

static void circulant_outer_takes_what_is_small_or_empty(lac_context *ctx) {
  check_circulant_outer(ctx, "1,1", "1,1", "1");
  check_circulant_outer(ctx, "3,0", "3,0", "3");
  check_circulant_outer(ctx, "0,2", "0,2", "0");
}

static void circulant_outer_broadcasts_batches(lac_context *ctx) {
  check_circulant_outer(ctx, "2,3,2", "3,2", "2,3");
  check_circulant_outer(ctx, "3,1", "2,1,3,1", "2,1,3");
}

static void circulant_outer_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "circulant_outer", .shapes = {"3,700,5", "700,5"}, .result = {"3,700"}};
  c.apply = circulant_outer_apply;
  check_op_large(ctx, &c);
}

CHECK_MAIN(circulant_outer_differentiates, circulant_outer_takes_what_is_small_or_empty,
           circulant_outer_broadcasts_batches, circulant_outer_does_not_depend_on_threads)
