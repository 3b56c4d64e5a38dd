// SPDX-License-Identifier: Apache-2.0
/// The operator trisolve: its values, its refusals, its derivatives.

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/op_case.h"

#define FORM(c) ((lac_form)(c)->i[0])
#define TRIANGLE(c) ((lac_triangle)(c)->i[1])
#define DIAGONAL(c) ((lac_diagonal)(c)->i[2])

static void trisolve_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const op_case *c = setup->c;
  out[0] = lac_trisolve(tape, setup->patterns[0], in[0], in[1], TRIANGLE(c), DIAGONAL(c), FORM(c));
}

/// The triangle that is read, as a dense matrix.
static dense triangle_of(const op_case *c, const number *values) {
  dense t = dense_matrix(c->patterns[0], values);
  for (int64_t i = 0; i < t.rows; ++i) {
    for (int64_t j = 0; j < t.cols; ++j) {
      if (TRIANGLE(c) == LAC_TRIANGLE_LOWER ? j > i : j < i) t.x[i * t.cols + j] = 0;
      if (i == j && DIAGONAL(c) == LAC_DIAGONAL_UNIT) t.x[i * t.cols + j] = 1;
    }
  }
  return t;
}

static void trisolve_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = c->patterns[0]->rows, k = out[0].meta.shape[out[0].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense t = dense_side(triangle_of(c, walk_item(&w, &in[0], 1)), FORM(c));
    dense_copy_to(dense_solve(t, dense_over(n, k, walk_item(&w, &in[1], 2))), walk_item(&w, out, 2));
  }
}

/// Diagonals away from zero, the rest small.
static void trisolve_fill(const op_case *c, int input, ref *x) {
  const sketch *s = c->patterns[0];
  if (input != 0) return;
  for (int64_t e = 0; e < x->count; ++e) {
    int64_t z = e % s->nnz;
    x->x[e] = s->row[z] == s->col[z] ? 2 + x->x[e] / 2 : x->x[e] / 2;
  }
}

static void check_trisolve(lac_context *ctx, const sketch *s, lac_triangle triangle, lac_diagonal diagonal,
                           lac_form form, const char *a, const char *b, const char *x) {
  op_case c = {.op = "trisolve", .patterns = {s}, .shapes = {a, b}, .result = {x}, .i = {form, triangle, diagonal}};
  c.apply = trisolve_apply, c.dense = trisolve_dense, c.fill = trisolve_fill;
  c.degree[0] = diagonal == LAC_DIAGONAL_STORED && s->nnz ? -1 : 0, c.degree[1] = 1;
  c.fixed[0] = 1, c.fixed[1] = 2;
  c.slack = 8;
  check_op(ctx, &c);
}

static void trisolve_differentiates_on_every_side(lac_context *ctx) {
  const sketch *lower = sketch_triangle(5, 0.5, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, 1);
  const sketch *upper = sketch_triangle(5, 0.5, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, 2);
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
    check_trisolve(ctx, lower, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, (lac_form)form, "nnz", "5,2", "5,2");
    check_trisolve(ctx, upper, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, (lac_form)form, "nnz", "5,2", "5,2");
  }
}

/// The pattern has both triangles and a diagonal: what is not read gets a gradient of exactly zero, as the dense
/// formula says.
static void trisolve_gives_no_gradient_to_what_it_does_not_read(lac_context *ctx) {
  const sketch *s = sketch_square(5, 0.5, 3);
  check_trisolve(ctx, s, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_PLAIN, "nnz", "5,2", "5,2");
  check_trisolve(ctx, s, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, LAC_ADJOINT, "nnz", "5,2", "5,2");
  check_trisolve(ctx, s, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, LAC_PLAIN, "nnz", "5,2", "5,2");
  check_trisolve(ctx, s, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_UNIT, LAC_TRANSPOSED, "nnz", "5,1", "5,1");
}

static void trisolve_takes_unit_triangles_without_a_diagonal(lac_context *ctx) {
  const sketch *s = sketch_triangle(5, 0.5, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, 4);
  check_trisolve(ctx, s, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, LAC_PLAIN, "nnz", "5,2", "5,2");
  check_trisolve(ctx, s, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, LAC_CONJUGATED, "2,nnz", "5,2", "2,5,2");
}

static void trisolve_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_triangle(4, 0.5, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, 5);
  check_trisolve(ctx, s, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_PLAIN, "nnz", "3,4,2", "3,4,2");
  check_trisolve(ctx, s, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_ADJOINT, "3,nnz", "4,2", "3,4,2");
  check_trisolve(ctx, s, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_TRANSPOSED, "2,1,nnz", "2,4,1", "2,2,4,1");
}

static void trisolve_takes_what_is_empty(lac_context *ctx) {
  const sketch *s = sketch_triangle(4, 0.5, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, 5);
  check_trisolve(ctx, s, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_PLAIN, "nnz", "4,0", "4,0");
  check_trisolve(ctx, s, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_PLAIN, "nnz", "0,4,2", "0,4,2");
  check_trisolve(ctx, sketch_empty(0, 0), LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_PLAIN, "nnz", "0,2", "0,2");
  check_trisolve(ctx, sketch_empty(3, 3), LAC_TRIANGLE_UPPER, LAC_DIAGONAL_UNIT, LAC_ADJOINT, "nnz", "3,2", "3,2");
}

static void trisolve_takes_a_single_entry(lac_context *ctx) {
  check_trisolve(ctx, sketch_square(1, 1, 1), LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, LAC_ADJOINT, "nnz", "1,1",
                 "1,1");
}

/// Solve with values that are all `diagonal` on the diagonal of row 2 and 1 elsewhere.
static lac_status solve_once(lac_context *ctx, const sketch *s, double diagonal) {
  lac_pattern *p = NULL;
  lac_array *a = NULL, *b = NULL;
  lac_tape *tape = NULL;
  double values[64];
  for (int64_t z = 0; z < s->nnz; ++z) values[z] = s->row[z] == 2 && s->col[z] == 2 ? diagonal : 1;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &s->nnz, values, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){s->rows, 1}, &b));
  CHECK_OK(lac_array_fill(ctx, b, 1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  (void)lac_trisolve(tape, p, lac_tape_leaf(tape, a), lac_tape_leaf(tape, b), LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED,
                     LAC_PLAIN);
  lac_status status = check_late(ctx, lac_tape_status(tape));
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_array_destroy(&b);
  lac_pattern_destroy(&p);
  return status;
}

static void trisolve_names_a_zero_or_missing_diagonal(lac_context *ctx) {
  if (!check_claimed("trisolve")) return;
  CHECK_OK(solve_once(ctx, sketch_square(5, 0.4, 6), 3));
  CHECK_FAILS(solve_once(ctx, sketch_square(5, 0.4, 6), 0), LAC_ERR_SINGULAR, "2");
  CHECK_FAILS(solve_once(ctx, sketch_triangle(5, 1, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, 6), 1), LAC_ERR_SINGULAR,
              "0");
  CHECK_FAILS(solve_once(ctx, sketch_random(4, 5, 0.5, 6), 1), LAC_ERR_SHAPE, "square");
}

static void trisolve_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "trisolve", .patterns = {sketch_triangle(700, 0.03, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, 7)}};
  c.shapes[0] = "nnz", c.shapes[1] = "700,3", c.result[0] = "700,3";
  c.apply = trisolve_apply, c.fill = trisolve_fill;
  check_op_large(ctx, &c);
  c.i[0] = LAC_ADJOINT;
  check_op_large(ctx, &c);
}

/// Two wide levels: the second half of the unknowns needs the first, and some rows their neighbour.
static sketch *sketch_levels(lac_triangle triangle) {
  enum { ROWS = 40000 };
  bool lower = triangle == LAC_TRIANGLE_LOWER;
  static int64_t row[3 * ROWS], col[3 * ROWS];
  static sketch s;
  int64_t z = 0;
  for (int64_t i = 0; i < ROWS; ++i) {
    bool second = lower ? i >= ROWS / 2 : i < ROWS / 2;
    int64_t far = lower ? i - ROWS / 2 : i + ROWS / 2;
    if (!lower) row[z] = i, col[z++] = i;
    if (!lower && i == ROWS / 2 - 1) row[z] = i, col[z++] = i + 1;
    if (second && i % 3) row[z] = i, col[z++] = far;
    if (lower && i == ROWS / 2) row[z] = i, col[z++] = i - 1;
    if (lower) row[z] = i, col[z++] = i;
  }
  s = (sketch){.rows = ROWS, .cols = ROWS, .nnz = z, .row = row, .col = col};
  return &s;
}

/// x of op(T) x = 1 on so many threads, values that vary, into `x`.
static void solve_on_threads(lac_context *ctx, const sketch *s, lac_triangle triangle, lac_form form, int64_t k,
                             int threads, double *x) {
  lac_pattern *p = NULL;
  lac_array *a = NULL, *b = NULL;
  lac_tape *tape = NULL;
  double *values = malloc((size_t)s->nnz * sizeof *values);
  for (int64_t z = 0; z < s->nnz; ++z)
    values[z] = s->row[z] == s->col[z] ? 1.5 + (double)(z % 7) : 0.1 * (double)(z % 11);
  CHECK_OK(lac_context_set_threads(ctx, threads));
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &s->nnz, values, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){s->rows, k}, &b));
  CHECK_OK(lac_array_fill(ctx, b, 1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var found = lac_trisolve(tape, p, lac_tape_constant(tape, a), lac_tape_constant(tape, b), triangle,
                               LAC_DIAGONAL_STORED, form);
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, found), x));
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_array_destroy(&b);
  lac_pattern_destroy(&p);
  free(values);
}

static void trisolve_gives_the_same_bits_by_rows_by_levels_and_by_columns(lac_context *ctx) {
  if (!check_claimed("trisolve")) return;
  for (int c = 0; c < 8; ++c) {
    lac_triangle triangle = c & 1 ? LAC_TRIANGLE_UPPER : LAC_TRIANGLE_LOWER;
    const sketch *s = sketch_levels(triangle);
    int64_t k = c & 4 ? 3 : 1;
    size_t bytes = (size_t)(s->rows * k) * sizeof(double);
    double *one = malloc(bytes), *four = malloc(bytes);
    solve_on_threads(ctx, s, triangle, c & 2 ? LAC_TRANSPOSED : LAC_PLAIN, k, 1, one);
    solve_on_threads(ctx, s, triangle, c & 2 ? LAC_TRANSPOSED : LAC_PLAIN, k, 4, four);
    int same = !memcmp(one, four, bytes);
    free(one);
    free(four);
    CHECK(same);
  }
}

/// A chain, longer than the chunks in which it is divided, in closed form: x_i = 1 for rows that sum to 1.
static void trisolve_runs_down_and_up_a_long_chain(lac_context *ctx) {
  if (!check_claimed("trisolve")) return;
  enum { ROWS = 1300 };
  static int64_t row[2 * ROWS], col[2 * ROWS];
  double *x = malloc(ROWS * sizeof *x);
  for (int c = 0; c < 4; ++c) {
    int64_t z = 0;
    for (int64_t i = 0; i < ROWS; ++i) {
      if (!(c & 1) && i) row[z] = i, col[z++] = i - 1;
      row[z] = i, col[z++] = i;
      if (c & 1 && i + 1 < ROWS) row[z] = i, col[z++] = i + 1;
    }
    sketch s = {.rows = ROWS, .cols = ROWS, .nnz = z, .row = row, .col = col};
    solve_on_threads(ctx, &s, c & 1 ? LAC_TRIANGLE_UPPER : LAC_TRIANGLE_LOWER, c & 2 ? LAC_TRANSPOSED : LAC_PLAIN, 1, 1,
                     x);
    // the residual, with the values that solve_on_threads gives them
    double sum[ROWS] = {0}, worst = 0;
    for (int64_t e = 0; e < z; ++e) {
      double v = row[e] == col[e] ? 1.5 + (double)(e % 7) : 0.1 * (double)(e % 11);
      int64_t i = c & 2 ? col[e] : row[e], j = c & 2 ? row[e] : col[e];
      sum[i] += v * x[j];
    }
    for (int64_t i = 0; i < ROWS; ++i) worst = fabs(sum[i] - 1) > worst ? fabs(sum[i] - 1) : worst;
    CHECK(worst < 1e-14);
  }
  free(x);
}

/// Chains with and without their diagonal, and one with a gap, which is none.
static void trisolve_differentiates_chains(lac_context *ctx) {
  static int64_t row[] = {0, 1, 1, 2, 2, 3, 3}, col[] = {0, 0, 1, 1, 2, 2, 3};
  static int64_t row_unit[] = {1, 2, 3}, col_unit[] = {0, 1, 2}, row_gap[] = {0, 1, 2, 2, 3, 3};
  static int64_t col_gap[] = {0, 1, 1, 2, 2, 3};
  static const sketch chain = {.rows = 4, .cols = 4, .nnz = 7, .row = row, .col = col};
  static const sketch up = {.rows = 4, .cols = 4, .nnz = 7, .row = col, .col = row};
  static const sketch unit = {.rows = 4, .cols = 4, .nnz = 3, .row = row_unit, .col = col_unit};
  static const sketch gap = {.rows = 4, .cols = 4, .nnz = 6, .row = row_gap, .col = col_gap};
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
    check_trisolve(ctx, &chain, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, (lac_form)form, "nnz", "4,1", "4,1");
    check_trisolve(ctx, &up, LAC_TRIANGLE_UPPER, LAC_DIAGONAL_STORED, (lac_form)form, "2,nnz", "4,1", "2,4,1");
    check_trisolve(ctx, &unit, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_UNIT, (lac_form)form, "nnz", "2,4,1", "2,4,1");
    check_trisolve(ctx, &gap, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, (lac_form)form, "nnz", "4,1", "4,1");
  }
}

/// Forward: x. Gradient: x and lambda, which is b_bar; a_bar, whose sign is turned in place.
static void trisolve_takes_what_it_states(lac_context *ctx) {
  if (!check_claimed("trisolve")) return;
  op_case c = {.op = "trisolve", .patterns = {sketch_triangle(700, 0.03, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, 7)}};
  int64_t x = 8 * 700 * 3, a_bar = 8 * c.patterns[0]->nnz;
  c.shapes[0] = "nnz", c.shapes[1] = "700,3", c.result[0] = "700,3";
  c.apply = trisolve_apply, c.fill = trisolve_fill;
  check_op_peak(ctx, &c, LAC_F64, x, 2 * x + a_bar);
}

CHECK_MAIN(trisolve_differentiates_on_every_side, trisolve_gives_no_gradient_to_what_it_does_not_read,
           trisolve_takes_unit_triangles_without_a_diagonal, trisolve_broadcasts_batches_both_ways,
           trisolve_takes_what_is_empty, trisolve_takes_a_single_entry, trisolve_names_a_zero_or_missing_diagonal,
           trisolve_does_not_depend_on_threads, trisolve_gives_the_same_bits_by_rows_by_levels_and_by_columns,
           trisolve_runs_down_and_up_a_long_chain, trisolve_differentiates_chains, trisolve_takes_what_it_states)
