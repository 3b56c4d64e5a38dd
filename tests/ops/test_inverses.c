// SPDX-License-Identifier: Apache-2.0
/// What is read off an inverse: lac_inverse_on, lac_inverse_diagonal, lac_trace_solve; and quadratic forms. All against
/// dense matrices.

#include "support/reports.h"
#include "support/square.h"

static dense inverse_of(const op_case *c, const walk *w, const ref *a) {
  return dense_inverse(dense_matrix(c->patterns[0], walk_item(w, a, 1)));
}

static op_case inverse_case(const sketch *s, const sketch *other, const char *a, const char *result) {
  return (op_case){.op = "selected_inverse",
                   .patterns = {s, other},
                   .shapes = {a},
                   .result = {result},
                   .i = {0, SOLVER, GENERAL},
                   .object = square_object,
                   .needs = "direct",
                   .fill = square_fill,
                   .degree = {-1},
                   .fixed = {1},
                   .slack = 64};
}

static void on_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_inverse_on(tape, setup->object, in[0], setup->patterns[1]);
}

static void on_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *q = c->patterns[1];
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    dense inverse = inverse_of(c, &w, &in[0]);
    for (int64_t z = 0; z < q->nnz; ++z) walk_item(&w, out, 1)[z] = inverse.x[q->row[z] * q->rows + q->col[z]];
  }
}

static void inverse_on_reads_any_pattern(lac_context *ctx) {
  op_case c = inverse_case(sketch_square(4, 0.3, 1), sketch_random(4, 4, 0.4, 2), "nnz", "nnz1");
  c.apply = on_apply, c.dense = on_dense;
  check_op(ctx, &c);
  c.skip = OP_MEMORY;                               // tried once: allocations are many
  c.patterns[1] = sketch_transpose(c.patterns[0]);  // nothing is widened
  check_op(ctx, &c);
  c.patterns[1] = sketch_empty(4, 4);
  check_op(ctx, &c);
}

/// A definite matrix stays one, whatever is asked for: of its symmetric pattern a symmetric one is made.
static void inverse_on_keeps_cholesky(lac_context *ctx) {
  if (!check_claimed("selected_inverse")) return;
  lac_pattern *p = NULL, *q = NULL;
  lac_solver *solver = NULL, *wide = NULL, *again = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_symmetric(6, 0.3, 3), LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_pattern_eye(ctx, 6, 6, 4, LAC_WIDTH_AUTO, &q));
  CHECK_OK(lac_solver_create(ctx, p, NULL, &solver));
  CHECK_OK(lac_solver_covering(ctx, solver, q, &wide));
  CHECK_OK(lac_solver_covering(ctx, solver, q, &again));
  CHECK(wide == again);
  CHECK_TEXT(report_of_solver(wide).method, "cholesky");
  lac_solver_destroy(&wide);
  lac_solver_destroy(&again);
  CHECK_OK(lac_solver_covering(ctx, solver, p, &wide));
  CHECK(wide == solver);
  lac_solver_destroy(&wide);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&q);
  CHECK_OK(lac_pattern_eye(ctx, 5, 5, 0, LAC_WIDTH_AUTO, &q));
  CHECK_OK(lac_solver_create(ctx, p, NULL, &solver));
  CHECK_FAILS(lac_solver_covering(ctx, solver, q, &wide), LAC_ERR_SHAPE, "5 x 5");
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&q);
  lac_pattern_destroy(&p);
}

static void diagonal_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_inverse_diagonal(tape, setup->object, in[0]);
}

static void diagonal_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    dense inverse = inverse_of(c, &w, &in[0]);
    for (int64_t i = 0; i < inverse.rows; ++i) walk_item(&w, out, 1)[i] = inverse.x[i * inverse.rows + i];
  }
}

/// A cycle, of which the entries i -> i + 1 and one more of the diagonal are stored.
static const sketch *cycle(int64_t n, uint64_t seed) {
  const sketch *s = sketch_symmetric(n, 1, seed);
  sketch *thin = (sketch *)s;
  int64_t nnz = 0;
  for (int64_t z = 0; z < s->nnz; ++z) {
    if (s->col[z] != (s->row[z] + 1) % n && s->row[z] + s->col[z] != 0) continue;
    thin->row[nnz] = s->row[z], thin->col[nnz++] = s->col[z];
  }
  thin->nnz = nnz;
  return thin;
}

static void inverse_diagonal_is_that_of_the_dense_inverse(lac_context *ctx) {
  op_case c = inverse_case(sketch_square(5, 0.3, 4), NULL, "2,nnz", "2,5");
  c.apply = diagonal_apply, c.dense = diagonal_dense, c.skip = OP_MEMORY;
  check_op(ctx, &c);
  c.patterns[0] = cycle(4, 5), c.i[2] = SHUFFLED;  // a diagonal that is not stored
  c.shapes[0] = "nnz", c.result[0] = "4";
  check_op(ctx, &c);
}

static void trace_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_trace_solve(tape, setup->object, in[0], setup->patterns[1], in[1]);
}

static void trace_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    dense product = dense_mul(inverse_of(c, &w, &in[0]), dense_matrix(c->patterns[1], walk_item(&w, &in[1], 1)));
    number *sum = walk_item(&w, out, 0);
    *sum = 0;
    for (int64_t i = 0; i < product.rows; ++i) *sum += product.x[i * product.rows + i];
  }
}

static void trace_solve_takes_any_matrix(lac_context *ctx) {
  op_case c = inverse_case(sketch_square(4, 0.3, 6), sketch_random(4, 4, 0.5, 7), "nnz", "2");
  c.apply = trace_apply, c.dense = trace_dense, c.skip = OP_MEMORY;
  c.shapes[1] = "2,nnz1", c.degree[1] = 1, c.fixed[1] = 1;
  check_op(ctx, &c);
}

// -- quadratic forms -------------------------------------------------------------------------------------------------

static void form_of(dense x, dense ay, number *out) {
  for (int64_t k = 0; k < x.cols; ++k) {
    out[k] = 0;
    for (int64_t i = 0; i < x.rows; ++i) out[k] += conj(x.x[i * x.cols + k]) * ay.x[i * x.cols + k];
  }
}

static void form_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_quadratic_form(tape, setup->patterns[0], in[0], in[1], in[2]);
}

static void form_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    dense a = dense_matrix(c->patterns[0], walk_item(&w, &in[0], 1));
    dense y = dense_over(a.cols, 2, walk_item(&w, &in[2], 2));
    form_of(dense_over(a.rows, 2, walk_item(&w, &in[1], 2)), dense_mul(a, y), walk_item(&w, out, 1));
  }
}

static void a_quadratic_form_has_a_number_for_each_column(lac_context *ctx) {
  op_case c = {.op = "spmm", .patterns = {sketch_random(4, 3, 0.6, 8)}, .apply = form_apply, .dense = form_dense};
  c.shapes[0] = "nnz", c.shapes[1] = "2,4,2", c.shapes[2] = "3,2", c.result[0] = "2,2";
  c.degree[0] = c.degree[1] = c.degree[2] = 1, c.slack = 8;
  c.fixed[0] = 1, c.fixed[1] = 2, c.fixed[2] = 2;
  check_op(ctx, &c);
}

static void inverse_form_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_inverse_quadratic_form(tape, setup->object, in[0], in[1], in[2]);
}

static void inverse_form_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    dense inverse = inverse_of(c, &w, &in[0]), y = dense_over(inverse.cols, 2, walk_item(&w, &in[2], 2));
    form_of(dense_over(inverse.rows, 2, walk_item(&w, &in[1], 2)), dense_mul(inverse, y), walk_item(&w, out, 1));
  }
}

static void an_inverse_quadratic_form_solves(lac_context *ctx) {
  op_case c = inverse_case(sketch_square(4, 0.4, 9), NULL, "nnz", "2");
  c.op = "solve_with", c.apply = inverse_form_apply, c.dense = inverse_form_dense;
  c.shapes[1] = c.shapes[2] = "4,2", c.degree[1] = c.degree[2] = 1, c.fixed[1] = c.fixed[2] = 2;
  check_op(ctx, &c);
}

CHECK_MAIN(inverse_on_reads_any_pattern, inverse_on_keeps_cholesky, inverse_diagonal_is_that_of_the_dense_inverse,
           trace_solve_takes_any_matrix, a_quadratic_form_has_a_number_for_each_column,
           an_inverse_quadratic_form_solves)
