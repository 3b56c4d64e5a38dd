// SPDX-License-Identifier: Apache-2.0
/// The operator matmul: its values, its refusals, its derivatives.

#include "support/op_case.h"

static void matmul_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_matmul(tape, in[0], in[1], (lac_form)setup->c->i[0], (lac_form)setup->c->i[1]);
}

/// op(A) of the item of an operand that belongs to the walk.
static dense matmul_operand(const walk *w, const ref *a, int64_t form) {
  const int64_t *shape = a->meta.shape + a->meta.ndim - 2;
  return dense_side(dense_over(shape[0], shape[1], walk_item(w, a, 2)), (lac_form)form);
}

static void matmul_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense x = matmul_operand(&w, &in[0], c->i[0]), y = matmul_operand(&w, &in[1], c->i[1]);
    dense_copy_to(dense_mul(x, y), walk_item(&w, out, 2));
  }
}

static void check_matmul(lac_context *ctx, lac_form form_x, const char *x, lac_form form_y, const char *y,
                         const char *z) {
  op_case c = {.op = "matmul", .shapes = {x, y}, .result = {z}, .i = {form_x, form_y}, .degree = {1, 1}};
  c.apply = matmul_apply, c.dense = matmul_dense;
  c.fixed[0] = (form_x & LAC_TRANSPOSED) ? 2 : 1;
  c.fixed[1] = (form_y & LAC_TRANSPOSED) ? 1 : 2;
  check_op(ctx, &c);
}

static void matmul_multiplies_from_all_sides(lac_context *ctx) {
  for (int sx = LAC_PLAIN; sx <= LAC_ADJOINT; ++sx) {
    for (int sy = LAC_PLAIN; sy <= LAC_ADJOINT; ++sy) {
      check_matmul(ctx, (lac_form)sx, sx & LAC_TRANSPOSED ? "3,2" : "2,3", (lac_form)sy,
                   sy & LAC_TRANSPOSED ? "4,3" : "3,4", "2,4");
    }
  }
}

static void matmul_broadcasts_batches(lac_context *ctx) {
  check_matmul(ctx, LAC_PLAIN, "2,2,3", LAC_PLAIN, "3,2", "2,2,2");
  check_matmul(ctx, LAC_ADJOINT, "3,2", LAC_PLAIN, "2,3,2", "2,2,2");
  check_matmul(ctx, LAC_PLAIN, "2,1,1,3", LAC_TRANSPOSED, "3,2,3", "2,3,1,2");
  check_matmul(ctx, LAC_CONJUGATED, "0,2,3", LAC_PLAIN, "3,2", "0,2,2");
}

static void matmul_takes_what_is_empty(lac_context *ctx) {
  check_matmul(ctx, LAC_PLAIN, "0,3", LAC_PLAIN, "3,2", "0,2");
  check_matmul(ctx, LAC_PLAIN, "2,0", LAC_PLAIN, "0,3", "2,3");
  check_matmul(ctx, LAC_TRANSPOSED, "2,3", LAC_PLAIN, "2,0", "3,0");
  check_matmul(ctx, LAC_PLAIN, "1,1", LAC_ADJOINT, "1,1", "1,1");
}

/// op(X) of m x l times op(Y) of l x n in all forms.
static void check_matmul_forms(lac_context *ctx, int m, int l, int n) {
  char texts[5][16];
  snprintf(texts[0], sizeof *texts, "%d,%d", m, n);
  snprintf(texts[1], sizeof *texts, "%d,%d", m, l), snprintf(texts[2], sizeof *texts, "%d,%d", l, m);
  snprintf(texts[3], sizeof *texts, "%d,%d", l, n), snprintf(texts[4], sizeof *texts, "%d,%d", n, l);
  for (int sx = LAC_PLAIN; sx <= LAC_ADJOINT; ++sx) {
    for (int sy = LAC_PLAIN; sy <= LAC_ADJOINT; ++sy) {
      op_case c = {.op = "matmul", .i = {sx, sy}, .result = {texts[0]}, .apply = matmul_apply, .dense = matmul_dense};
      c.skip = ~(uint32_t)(OP_VALUES | OP_OPERATOR);
      c.shapes[0] = texts[sx & LAC_TRANSPOSED ? 2 : 1], c.shapes[1] = texts[sy & LAC_TRANSPOSED ? 4 : 3];
      check_op(ctx, &c);
    }
  }
}

/// Large enough for BLAS, where it is used, and for edges of tiles.
static void matmul_agrees_with_itself_in_tiles(lac_context *ctx) { check_matmul_forms(ctx, 9, 70, 8); }

/// Few columns, few rows, one of either: ways of their own.
static void matmul_takes_few_columns_and_rows(lac_context *ctx) {
  check_matmul_forms(ctx, 67, 70, 1);
  check_matmul_forms(ctx, 9, 70, 3);
  check_matmul_forms(ctx, 1, 70, 67);
  check_matmul_forms(ctx, 4, 70, 9);
  check_matmul_forms(ctx, 260, 5, 2);
  check_matmul_forms(ctx, 2, 5, 260);
  check_matmul_forms(ctx, 2, 1030, 1);
  check_matmul_forms(ctx, 1, 300, 1);
}

static void matmul_refuses_unknown_sides(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_array *x = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, 3}, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_tape_leaf(tape, x);
  CHECK(!lac_matmul(tape, a, a, LAC_PLAIN, (lac_form)4).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "op is 4");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void matmul_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "matmul", .shapes = {"130,150", "150,140"}, .result = {"130,140"}, .apply = matmul_apply};
  check_op_large(ctx, &c);
  c.shapes[0] = "6,70,40", c.shapes[1] = "40,30", c.result[0] = "6,70,30";
  check_op_large(ctx, &c);
  c.shapes[0] = "300,150", c.shapes[1] = "150,2", c.result[0] = "300,2";
  check_op_large(ctx, &c);
}

/// Forward: Z. Gradient: Z, X_bar and Y_bar, which is summed over the batch where it is made.
static void matmul_takes_its_results_alone(lac_context *ctx) {
  if (!check_claimed("matmul")) return;
  op_case c = {.op = "matmul", .shapes = {"9,60,80", "80,70"}, .result = {"9,60,70"}, .apply = matmul_apply};
  int64_t z = 9 * 60 * 70 * 8;
  check_op_peak(ctx, &c, LAC_F64, z, z + 9 * 60 * 80 * 8 + 80 * 70 * 8);
}

CHECK_MAIN(matmul_multiplies_from_all_sides, matmul_broadcasts_batches, matmul_takes_what_is_empty,
           matmul_agrees_with_itself_in_tiles, matmul_takes_few_columns_and_rows, matmul_refuses_unknown_sides,
           matmul_does_not_depend_on_threads, matmul_takes_its_results_alone)
