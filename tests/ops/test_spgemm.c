// SPDX-License-Identifier: Apache-2.0
/// The operator spgemm: its values, its refusals, its derivatives.

#include <string.h>

#include "support/op_case.h"
#include "support/random.h"
#include "support/scratch.h"

static void spgemm_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_spgemm(tape, setup->patterns[0], in[0], setup->patterns[1], in[1], NULL);
}

/// `data` is the sketch of the product.
static void spgemm_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->data;
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    dense product = dense_mul(dense_matrix(c->patterns[0], walk_item(&w, &in[0], 1)),
                              dense_matrix(c->patterns[1], walk_item(&w, &in[1], 1)));
    number *values = walk_item(&w, out, 1);
    for (int64_t z = 0; z < s->nnz; ++z) values[z] = product.x[s->row[z] * s->cols + s->col[z]];
  }
}

/// Shapes are given without their last axis, which is the number of entries.
static void check_spgemm(lac_context *ctx, const sketch *a, const sketch *b, const char *batch_a, const char *batch_b,
                         const char *batch) {
  const sketch *product = sketch_product(a, b);
  op_case c = {.op = "spgemm", .patterns = {a, b}, .data = product, .apply = spgemm_apply, .dense = spgemm_dense};
  c.shapes[0] = op_text("%snnz", batch_a), c.shapes[1] = op_text("%snnz1", batch_b);
  c.result[0] = op_text("%s%lld", batch, (long long)product->nnz);
  c.degree[0] = c.degree[1] = 1;
  c.fixed[0] = c.fixed[1] = 1;
  check_op(ctx, &c);
}

static void spgemm_differentiates(lac_context *ctx) {
  check_spgemm(ctx, sketch_random(5, 6, 0.4, 1), sketch_random(6, 4, 0.4, 2), "", "", "");
  check_spgemm(ctx, sketch_square(4, 0.3, 3), sketch_square(4, 0.3, 4), "", "", "");
}

static void spgemm_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *a = sketch_random(3, 4, 0.5, 5), *b = sketch_random(4, 3, 0.5, 6);
  check_spgemm(ctx, a, b, "3,", "", "3,");
  check_spgemm(ctx, a, b, "", "3,", "3,");
  check_spgemm(ctx, a, b, "2,1,", "2,", "2,2,");
  check_spgemm(ctx, a, b, "0,", "", "0,");
}

static void spgemm_takes_what_is_empty(lac_context *ctx) {
  check_spgemm(ctx, sketch_empty(3, 4), sketch_random(4, 3, 0.5, 6), "", "", "");
  check_spgemm(ctx, sketch_random(3, 4, 0.5, 5), sketch_empty(4, 2), "2,", "", "2,");
  check_spgemm(ctx, sketch_empty(3, 0), sketch_empty(0, 2), "", "", "");
  check_spgemm(ctx, sketch_empty(0, 3), sketch_random(3, 3, 0.5, 6), "", "", "");
}

static void spgemm_takes_a_single_entry(lac_context *ctx) {
  check_spgemm(ctx, sketch_square(1, 1, 1), sketch_square(1, 1, 1), "", "", "");
}

static void spgemm_hands_out_the_products_pattern(lac_context *ctx) {
  if (!check_claimed("spgemm")) return;
  const sketch *a = sketch_random(5, 6, 0.4, 1), *b = sketch_random(6, 4, 0.4, 2), *product = sketch_product(a, b);
  lac_pattern *pa = NULL, *pb = NULL, *pc = NULL, *again = NULL;
  lac_array *x = NULL, *y = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(sketch_pattern(ctx, a, LAC_WIDTH_AUTO, &pa));
  CHECK_OK(sketch_pattern(ctx, b, LAC_WIDTH_AUTO, &pb));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, &a->nnz, &x));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, &b->nnz, &y));
  CHECK_OK(lac_array_fill(ctx, x, 1, 0));
  CHECK_OK(lac_array_fill(ctx, y, 1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var c = lac_spgemm(tape, pa, lac_tape_constant(tape, x), pb, lac_tape_constant(tape, y), &pc);
  CHECK(c.id);
  CHECK_EQ(lac_pattern_rows(pc), 5);
  CHECK_EQ(lac_pattern_cols(pc), 4);
  CHECK_EQ(lac_pattern_nnz(pc), product->nnz);
  CHECK_OK(lac_pattern_product(ctx, pa, pb, &again));
  CHECK(again == pc);
  CHECK(!lac_spgemm(tape, pa, lac_tape_constant(tape, x), pa, lac_tape_constant(tape, x), NULL).id);
  CHECK(lac_tape_status(tape) != LAC_OK);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&y);
  lac_pattern_destroy(&pa);
  lac_pattern_destroy(&pb);
  lac_pattern_destroy(&pc);
  lac_pattern_destroy(&again);
}

static void spgemm_does_not_depend_on_threads(lac_context *ctx) {
  const sketch *a = sketch_random(300, 250, 0.05, 7), *b = sketch_random(250, 280, 0.05, 8);
  op_case c = {.op = "spgemm", .patterns = {a, b}, .shapes = {"nnz", "2,nnz1"}, .apply = spgemm_apply};
  c.result[0] = op_text("2,%lld", (long long)sketch_product(a, b)->nnz);
  check_op_large(ctx, &c);
}

/// Forward: c. Gradient: c, a_bar and b_bar.
static void spgemm_takes_its_results_alone(lac_context *ctx) {
  if (!check_claimed("spgemm")) return;
  const sketch *a = sketch_random(300, 250, 0.05, 7), *b = sketch_random(250, 280, 0.05, 8);
  int64_t nnz = sketch_product(a, b)->nnz;
  op_case c = {.op = "spgemm", .patterns = {a, b}, .shapes = {"nnz", "nnz1"}, .apply = spgemm_apply};
  c.result[0] = op_text("%lld", (long long)nnz);
  check_op_peak(ctx, &c, LAC_F64, 8 * nnz, 8 * (nnz + a->nnz + b->nnz));
}

/// The product and both its adjoints, one after the other, of complex values that are the same every time.
static void product_and_adjoints(lac_context *ctx, const sketch *a, const sketch *b, lac_pattern **pc, double *out) {
  const sketch *forms[] = {a, b, sketch_product(a, b)};
  lac_pattern *p[2] = {NULL};
  lac_array *array[3] = {NULL};
  lac_tape *tape = NULL;
  lac_var in[3], bar[2];
  random_state r = random_start(9);
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  for (int i = 0; i < 3; ++i) {
    double *numbers = scratch((size_t)forms[i]->nnz * 2 * sizeof *numbers);
    for (int64_t z = 0; z < 2 * forms[i]->nnz; ++z) numbers[z] = (double)random_below(&r, 2001) / 1000 - 1;
    CHECK_OK(lac_array_from(ctx, LAC_C128, 1, &forms[i]->nnz, numbers, LAC_OWNERSHIP_COPY, &array[i]));
    if (i < 2) CHECK_OK(sketch_pattern(ctx, forms[i], LAC_WIDTH_AUTO, &p[i]));
    in[i] = lac_tape_leaf(tape, array[i]);
  }
  lac_var c = lac_spgemm(tape, p[0], in[0], p[1], in[1], pc);
  CHECK_OK(lac_tape_vjp(tape, 1, &c, &in[2], 2, in, bar, LAC_GRAPH_NONE));
  const lac_array *results[] = {lac_tape_value(tape, c), lac_tape_value(tape, bar[0]), lac_tape_value(tape, bar[1])};
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(lac_array_read(ctx, results[i], out));
    out += 2 * lac_array_count(results[i]);
    lac_array_destroy(&array[i]);
  }
  lac_tape_destroy(&tape);
  for (int i = 0; i < 2; ++i) lac_pattern_destroy(&p[i]);
}

/// Whether the places of a plan are used or rows are marked, every number is summed in the same order.
static void spgemm_gives_the_same_bits_with_and_without_places(lac_context *ctx) {
  if (!check_claimed("spgemm")) return;
  const sketch *a = sketch_random(300, 250, 0.05, 7), *b = sketch_random(250, 280, 0.05, 8);
  size_t count = 2 * (size_t)(a->nnz + b->nnz + sketch_product(a, b)->nnz);
  double *with = scratch(count * sizeof *with), *without = scratch(count * sizeof *without);
  lac_pattern *pc = NULL;
  for (int threads = 1; threads < 4; ++threads) {
    CHECK_OK(lac_context_set_threads(ctx, threads));
    product_and_adjoints(ctx, a, b, &pc, with);
    lac_pattern_destroy(&pc);
    lac_pattern_set_plan_budget(0);
    product_and_adjoints(ctx, a, b, &pc, without);
    lac_pattern_destroy(&pc);
    lac_pattern_set_plan_budget((int64_t)256 << 20);
    CHECK(memcmp(with, without, count * sizeof *with) == 0);
  }
}

CHECK_MAIN(spgemm_differentiates, spgemm_broadcasts_batches_both_ways, spgemm_takes_what_is_empty,
           spgemm_takes_a_single_entry, spgemm_hands_out_the_products_pattern, spgemm_does_not_depend_on_threads,
           spgemm_takes_its_results_alone, spgemm_gives_the_same_bits_with_and_without_places)
