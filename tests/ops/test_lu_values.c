// SPDX-License-Identifier: Apache-2.0
/// The operator lu_values: its values, its refusals, its derivatives.

#include <math.h>
#include <string.h>

#include "support/elimination.h"

static void lu_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_lu_values(tape, setup->patterns[0], in[0], NULL, (lac_pivots)setup->c->i[0]);
}

static void lu_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    eliminate_values(c->patterns[0], walk_item(&w, &in[0], 1), walk_item(&w, out, 1));
  }
}

static op_case lu_case(const sketch *s, const char *c) {
  op_case made = {.op = "lu_values", .patterns = {s}, .shapes = {c}, .result = {c}, .slack = 8};
  made.apply = lu_apply, made.dense = lu_dense, made.fill = eliminate_fill, made.fixed[0] = 1;
  return made;
}

static void check_lu(lac_context *ctx, const sketch *s, const char *c) {
  check_op(ctx, &(op_case[]){lu_case(s, c)}[0]);
}

static void lu_values_differentiates_factors(lac_context *ctx) {
  const sketch *s = sketch_closed(sketch_square(5, 0.4, 1));
  check_lu(ctx, s, "nnz");
  check_lu(ctx, s, "2,nnz");
}

static void lu_values_differentiates_incomplete_factors(lac_context *ctx) {
  const sketch *s = sketch_square(6, 0.4, 2);
  CHECK(sketch_closed(s)->nnz > s->nnz);
  check_lu(ctx, s, "nnz");
}

static void lu_values_takes_small_and_empty_matrices(lac_context *ctx) {
  check_lu(ctx, sketch_square(1, 1, 1), "nnz");
  check_lu(ctx, sketch_triangle(4, 0.6, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, 3), "nnz");
  check_lu(ctx, sketch_triangle(4, 0.6, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, 3), "nnz");
  check_lu(ctx, sketch_square(4, 0.4, 1), "0,nnz");
  check_lu(ctx, sketch_empty(0, 0), "nnz");
}

/// A full first row, which all short rows below take from entry by entry.
static void lu_values_takes_an_arrow(lac_context *ctx) {
  enum { N = 40 };
  sketch *s = scratch(sizeof *s);
  *s = (sketch){N, N, 0, scratch(3 * N * sizeof *s->row), scratch(3 * N * sizeof *s->col)};
  for (int64_t p = 0; p < N * N; ++p) {
    if (p / N != 0 && p % N != 0 && p / N != p % N) continue;
    s->row[s->nnz] = p / N;
    s->col[s->nnz++] = p % N;
  }
  check_lu(ctx, s, "nnz");
}

static void lu_values_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = lu_case(sketch_square(60, 0.05, 7), "33,nnz");
  check_op_large(ctx, &c);
}

/// L U has the entries of C.
static void lu_values_gives_the_factors_of_a_closed_pattern(lac_context *ctx) {
  if (!check_claimed("lu_values")) return;
  const sketch *s = sketch_closed(sketch_square(9, 0.2, 4));
  op_case c = lu_case(s, "nnz");
  lac_meta meta = op_shape(&c, LAC_C128, "nnz");
  ref x = ref_new(&meta);
  lac_pattern *p = NULL;
  lac_array *values = NULL;
  lac_tape *tape = NULL;
  ref_random(&x, 5, 1);
  eliminate_fill(&c, 0, &x);
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  CHECK_OK(ref_upload(ctx, &x, &values));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var lu = lac_lu_values(tape, p, lac_tape_constant(tape, values), NULL, LAC_PIVOTS_NONZERO);
  ref got = {0};
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(ref_download(ctx, lac_tape_value(tape, lu), &got));
  dense lower = dense_new(9, 9), upper = dense_new(9, 9), want = dense_matrix(s, x.x);
  for (int64_t z = 0; z < s->nnz; ++z) {
    (s->row[z] > s->col[z] ? lower : upper).x[s->row[z] * 9 + s->col[z]] = got.x[z];
  }
  for (int64_t i = 0; i < 9; ++i) lower.x[i * 9 + i] = 1;
  dense product = dense_mul(lower, upper);
  double worst = 0;
  for (int64_t z = 0; z < 81; ++z) worst = fmax(worst, cabs(product.x[z] - want.x[z]));
  lac_tape_destroy(&tape);
  lac_array_destroy(&values);
  lac_pattern_destroy(&p);
  CHECK(worst < 1e-14);
}

/// Eliminate ones with this number at (2, 2), in a matrix of four rows.
static lac_status eliminate_ones(lac_context *ctx, const sketch *s, lac_pivots pivots, int64_t batch, double special) {
  lac_pattern *p = NULL;
  lac_map *steps = NULL;
  lac_array *a = NULL;
  lac_tape *tape = NULL;
  double values[64] = {0};
  for (int64_t z = 0; z < batch * s->nnz; ++z) {
    int64_t row = s->row[z % s->nnz], col = s->col[z % s->nnz];
    values[z] = row != col ? 0 : row == 2 && z >= (batch - 1) * s->nnz ? special : 1;
    if (row == 3 && col == 2) values[z] = 1;
  }
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_map_create(ctx, 4, 4, (int64_t[]){0, 1, 7 % 4, 2}, &steps));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){batch, s->nnz}, values, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  (void)lac_lu_values(tape, p, lac_tape_leaf(tape, a), s->rows == 4 ? steps : NULL, pivots);
  lac_status status = check_late(ctx, lac_tape_status(tape));
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_map_destroy(&steps);
  lac_pattern_destroy(&p);
  return status;
}

static void lu_values_names_the_row_of_a_pivot_that_does_not_do(lac_context *ctx) {
  if (!check_claimed("lu_values")) return;
  static int64_t row[] = {0, 1, 2, 3, 3}, col[] = {0, 1, 2, 2, 3};
  static const sketch s = {.rows = 4, .cols = 4, .nnz = 5, .row = row, .col = col};
  CHECK_OK(eliminate_ones(ctx, &s, LAC_PIVOTS_NONZERO, 1, -2));
  CHECK_OK(eliminate_ones(ctx, &s, LAC_PIVOTS_POSITIVE, 1, 2));
  CHECK_FAILS(eliminate_ones(ctx, &s, LAC_PIVOTS_NONZERO, 1, 0), LAC_ERR_SINGULAR, "pivot of row 3 is zero");
  CHECK_FAILS(eliminate_ones(ctx, &s, LAC_PIVOTS_NONZERO, 2, 0), LAC_ERR_SINGULAR, "matrix 1 of the batch");
  CHECK_FAILS(eliminate_ones(ctx, &s, LAC_PIVOTS_POSITIVE, 1, -2), LAC_ERR_DEFINITE, "pivot -2 in row 3");
  CHECK_FAILS(eliminate_ones(ctx, &s, LAC_PIVOTS_POSITIVE, 2, NAN), LAC_ERR_DEFINITE, "matrix 1 of the batch");
  CHECK_FAILS(
      eliminate_ones(ctx, sketch_triangle(4, 1, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, 1), LAC_PIVOTS_NONZERO, 1, 1),
      LAC_ERR_SINGULAR, "row 0 has no diagonal entry");
  CHECK_FAILS(eliminate_ones(ctx, sketch_random(4, 5, 0.5, 1), LAC_PIVOTS_NONZERO, 1, 1), LAC_ERR_SHAPE, "square");
  CHECK_FAILS(eliminate_ones(ctx, &s, (lac_pivots)7, 1, 1), LAC_ERR_ARG, "not 7");
}

/// The last pivot divides nothing: a singular matrix has factors all the same.
static void lu_values_takes_a_zero_that_is_not_divided_by(lac_context *ctx) {
  if (!check_claimed("lu_values")) return;
  static int64_t at[] = {0, 1, 2};
  static const sketch s = {.rows = 3, .cols = 3, .nnz = 3, .row = at, .col = at};
  CHECK_OK(eliminate_ones(ctx, &s, LAC_PIVOTS_NONZERO, 1, 0));
}

/// Forward: lu. Gradient: lu and c_bar, beside which the factors come into being once more. The CPU works in a row.
static void lu_values_takes_what_it_states(lac_context *ctx) {
  if (!check_claimed("lu_values")) return;
  op_case c = lu_case(sketch_square(300, 0.05, 7), "nnz");
  int64_t lu = 8 * c.patterns[0]->nnz, row = strcmp(lac_context_backend(ctx), "cpu") == 0 ? 8 * 300 : 0;
  check_op_peak(ctx, &c, LAC_F64, lu + row, 3 * lu + row);
}

CHECK_MAIN(lu_values_differentiates_factors, lu_values_differentiates_incomplete_factors,
           lu_values_takes_small_and_empty_matrices, lu_values_takes_an_arrow, lu_values_does_not_depend_on_threads,
           lu_values_gives_the_factors_of_a_closed_pattern, lu_values_names_the_row_of_a_pivot_that_does_not_do,
           lu_values_takes_a_zero_that_is_not_divided_by, lu_values_takes_what_it_states)
