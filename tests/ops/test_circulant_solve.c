// SPDX-License-Identifier: Apache-2.0
/// The operator circulant_solve: its values, its refusals, its derivatives.

#include "support/circulant.h"
#include "support/op_case.h"

#define FORM(c) ((lac_form)(c)->i[0])

static void circulant_solve_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_circulant_solve(tape, in[0], in[1], FORM(setup->c));
}

static void circulant_solve_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = in[0].meta.shape[in[0].meta.ndim - 1], k = in[1].meta.shape[in[1].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_side(dense_circulant(n, walk_item(&w, &in[0], 1)), FORM(c));
    dense_copy_to(dense_solve(a, dense_over(n, k, walk_item(&w, &in[1], 2))), walk_item(&w, out, 2));
  }
}

/// A first number larger than the others together: no eigenvalue is near zero.
static void circulant_solve_fill(const op_case *c, int input, ref *x) {
  int64_t n = x->meta.shape[x->meta.ndim - 1];
  (void)c;
  for (int64_t e = 0; e < x->count && input == 0; ++e) x->x[e] = e % n ? x->x[e] / (double)n : 3 + x->x[e] / 2;
}

static void check_circulant_solve(lac_context *ctx, lac_form form, const char *first, const char *b, const char *x) {
  op_case c = {.op = "circulant_solve", .i = {form}, .shapes = {first, b}, .result = {x}, .slack = 30};
  c.apply = circulant_solve_apply, c.dense = circulant_solve_dense, c.fill = circulant_solve_fill;
  c.degree[0] = -1, c.degree[1] = 1;
  check_op(ctx, &c);
}

static void circulant_solve_differentiates_on_every_side(lac_context *ctx) {
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) check_circulant_solve(ctx, (lac_form)form, "5", "5,3", "5,3");
  check_circulant_solve(ctx, LAC_PLAIN, "8", "8,2", "8,2");
}

static void circulant_solve_takes_what_is_small_or_empty(lac_context *ctx) {
  check_circulant_solve(ctx, LAC_ADJOINT, "1", "1,2", "1,2");
  check_circulant_solve(ctx, LAC_PLAIN, "3", "3,0", "3,0");
}

static void circulant_solve_broadcasts_batches_both_ways(lac_context *ctx) {
  check_circulant_solve(ctx, LAC_PLAIN, "3", "2,3,2", "2,3,2");
  check_circulant_solve(ctx, LAC_TRANSPOSED, "2,1,3", "3,3,1", "2,3,3,1");
}

static lac_status solve_once(lac_context *ctx, int items, double *c) {
  lac_tape *tape = NULL;
  lac_array *first = NULL, *b = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){items, 4}, c, LAC_OWNERSHIP_COPY, &first));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){4, 1}, &b));
  CHECK_OK(lac_array_fill(ctx, b, 1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  (void)lac_circulant_solve(tape, lac_tape_constant(tape, first), lac_tape_constant(tape, b), LAC_PLAIN);
  lac_status status = check_late(ctx, lac_tape_status(tape));
  lac_tape_destroy(&tape);
  lac_array_destroy(&first);
  lac_array_destroy(&b);
  return status;
}

static void circulant_solve_names_the_frequency_of_a_singular_matrix(lac_context *ctx) {
  if (!check_claimed("circulant_solve")) return;
  CHECK_OK(solve_once(ctx, 1, (double[]){2, -1, 0, -0.5}));
  CHECK_FAILS(solve_once(ctx, 1, (double[]){2, -1, 0, -1}), LAC_ERR_SINGULAR, "frequency 0 ");
  CHECK_FAILS(solve_once(ctx, 1, (double[]){1, 1, 0, 0}), LAC_ERR_SINGULAR, "frequency 2 ");
  CHECK_FAILS(solve_once(ctx, 2, (double[]){2, 0, 0, 0, 1, 0, 1, 0}), LAC_ERR_SINGULAR, "frequency 1 ");
  CHECK_FAILS(solve_once(ctx, 1, (double[]){0, 0, 0, 0}), LAC_ERR_SINGULAR, "frequency 0 ");
}

static void circulant_solve_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "circulant_solve", .shapes = {"2,700", "700,5"}, .result = {"2,700,5"}};
  c.apply = circulant_solve_apply, c.fill = circulant_solve_fill;
  check_op_large(ctx, &c);
}

CHECK_MAIN(circulant_solve_differentiates_on_every_side, circulant_solve_takes_what_is_small_or_empty,
           circulant_solve_broadcasts_batches_both_ways, circulant_solve_names_the_frequency_of_a_singular_matrix,
           circulant_solve_does_not_depend_on_threads)
