// SPDX-License-Identifier: Apache-2.0
/// The operator banded_solve: its values with and without exchanged rows, its refusals, its derivatives; tridiagonal
/// and diagonal.

#include <string.h>

#include "support/banded.h"
#include "support/op_case.h"

#define FORM(c) ((lac_form)(c)->i[0])

static void banded_solve_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const op_case *c = setup->c;
  out[0] = lac_banded_solve(tape, c->i[1], c->i[2], in[0], in[1], FORM(c));
}

static void banded_solve_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = in[0].meta.shape[in[0].meta.ndim - 1], k = in[1].meta.shape[in[1].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_side(dense_banded(n, n, (bands){c->i[1], c->i[2]}, walk_item(&w, &in[0], 2)), FORM(c));
    dense_copy_to(dense_solve(a, dense_over(n, k, walk_item(&w, &in[1], 2))), walk_item(&w, out, 2));
  }
}

/// A large diagonal; with i[4] the large numbers stand one place below it, and at the end of the first row, so that
/// rows are exchanged.
static void banded_solve_fill(const op_case *c, int input, ref *x) {
  int64_t n = x->meta.shape[x->meta.ndim - 1], width = c->i[1] + c->i[2] + 1;
  if (input != 0) return;
  for (int64_t e = 0; e < x->count; ++e) {
    int64_t r = e / n % width, j = e % n, i = j + r - c->i[2];
    int large = c->i[4] ? i == j + 1 || (i == 0 && j == n - 1) : i == j;
    x->x[e] = large ? 3 + x->x[e] / 2 : x->x[e] / 4;
  }
}

static void check_banded_solve(lac_context *ctx, int64_t n, bands b, lac_form form, int64_t k, int exchanged) {
  op_case c = {.op = "banded_solve", .i = {form, b.lower, b.upper, 0, exchanged}};
  c.shapes[0] = op_text("%lld,%lld", (long long)(b.lower + b.upper + 1), (long long)n);
  c.shapes[1] = c.result[0] = op_text("%lld,%lld", (long long)n, (long long)k);
  c.apply = banded_solve_apply, c.dense = banded_solve_dense, c.fill = banded_solve_fill;
  c.degree[0] = n ? -1 : 0, c.degree[1] = 1;
  c.fixed[0] = 2;
  c.slack = exchanged ? 200 : 20;
  check_op(ctx, &c);
}

static void banded_solve_differentiates_on_every_side(lac_context *ctx) {
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
    check_banded_solve(ctx, 6, (bands){2, 1}, (lac_form)form, 2, 0);
    check_banded_solve(ctx, 5, (bands){1, 1}, (lac_form)form, 1, 0);
  }
}

static void banded_solve_exchanges_rows(lac_context *ctx) {
  check_banded_solve(ctx, 4, (bands){1, 3}, LAC_PLAIN, 2, 1);
  check_banded_solve(ctx, 4, (bands){1, 3}, LAC_TRANSPOSED, 1, 1);
  check_banded_solve(ctx, 5, (bands){1, 4}, LAC_ADJOINT, 2, 1);
}

static void banded_solve_takes_triangles_and_any_width(lac_context *ctx) {
  check_banded_solve(ctx, 4, (bands){0, 0}, LAC_ADJOINT, 2, 0);
  check_banded_solve(ctx, 4, (bands){0, 2}, LAC_PLAIN, 1, 0);
  check_banded_solve(ctx, 4, (bands){2, 0}, LAC_TRANSPOSED, 2, 0);
  check_banded_solve(ctx, 3, (bands){5, 4}, LAC_PLAIN, 1, 0);
  check_banded_solve(ctx, 1, (bands){1, 1}, LAC_CONJUGATED, 2, 0);
  check_banded_solve(ctx, 2, (bands){1, 1}, LAC_PLAIN, 1, 0);
}

static void banded_solve_takes_what_is_empty(lac_context *ctx) {
  check_banded_solve(ctx, 0, (bands){1, 1}, LAC_PLAIN, 2, 0);
  check_banded_solve(ctx, 3, (bands){1, 2}, LAC_PLAIN, 0, 0);
}

static void banded_solve_broadcasts_batches_both_ways(lac_context *ctx) {
  op_case c = {.op = "banded_solve", .i = {LAC_PLAIN, 1, 1}, .shapes = {"3,4", "2,4,2"}, .result = {"2,4,2"}};
  c.apply = banded_solve_apply, c.dense = banded_solve_dense, c.fill = banded_solve_fill, c.fixed[0] = 2, c.slack = 20;
  check_op(ctx, &c);
  c.shapes[0] = "2,1,3,4", c.shapes[1] = "3,4,1", c.result[0] = "2,3,4,1", c.i[0] = LAC_ADJOINT;
  check_op(ctx, &c);
}

static lac_array *array_of(lac_context *ctx, int ndim, const int64_t *shape, double *values) {
  lac_array *array = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, ndim, shape, values, LAC_OWNERSHIP_COPY, &array));
  return array;
}

/// Solve with `items` bands of n columns and a right-hand side of ones; the solution into x unless it is NULL.
static lac_status solve_once(lac_context *ctx, bands b, int64_t items, int64_t n, double *ab, double *x) {
  lac_tape *tape = NULL;
  double ones[64];
  for (int i = 0; i < 64; ++i) ones[i] = 1;
  lac_array *band = array_of(ctx, 3, (int64_t[]){items, b.lower + b.upper + 1, n}, ab);
  lac_array *right = array_of(ctx, 2, (int64_t[]){n, 1}, ones);
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var found = lac_banded_solve(tape, b.lower, b.upper, lac_tape_constant(tape, band),
                                   lac_tape_constant(tape, right), LAC_PLAIN);
  lac_status status = check_late(ctx, lac_tape_status(tape));
  if (x && status == LAC_OK) CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, found), x));
  lac_tape_destroy(&tape);
  lac_array_destroy(&band);
  lac_array_destroy(&right);
  return status;
}

static void banded_solve_names_the_column_of_a_singular_matrix(lac_context *ctx) {
  if (!check_claimed("banded_solve")) return;
  CHECK_FAILS(solve_once(ctx, (bands){0, 0}, 1, 3, (double[]){1, 0, 2}, NULL), LAC_ERR_SINGULAR, "column 1");
  CHECK_FAILS(solve_once(ctx, (bands){0, 0}, 2, 2, (double[]){1, 2, 3, 0}, NULL), LAC_ERR_SINGULAR, "item 1");
  CHECK_FAILS(solve_once(ctx, (bands){1, 1}, 1, 3, (double[]){0, 1, 1, 0, 0, 0, 1, 1, 0}, NULL), LAC_ERR_SINGULAR,
              "column 2");
  CHECK_FAILS(solve_once(ctx, (bands){1, 0}, 1, 2, (double[]){0, 1, 0, 0}, NULL), LAC_ERR_SINGULAR, "column 0");
}

/// [0 1; 1 0] has no pivot on its diagonal and a solution all the same, as a tridiagonal and as a wider band.
static void banded_solve_finds_pivots_beside_a_zero_diagonal(lac_context *ctx) {
  if (!check_claimed("banded_solve")) return;
  double x[2];
  CHECK_OK(solve_once(ctx, (bands){1, 1}, 1, 2, (double[]){0, 2, 0, 0, 4, 0}, x));
  CHECK(x[0] == 0.25 && x[1] == 0.5);
  CHECK_OK(solve_once(ctx, (bands){1, 2}, 1, 2, (double[]){0, 0, 0, 2, 0, 0, 4, 0}, x));
  CHECK(x[0] == 0.25 && x[1] == 0.5);
}

static void banded_solve_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "banded_solve", .i = {LAC_PLAIN, 2, 1}, .shapes = {"5,4,900", "5,900,2"}, .result = {"5,900,2"}};
  c.apply = banded_solve_apply, c.fill = banded_solve_fill;
  check_op_large(ctx, &c);
}

/// Forward: x, and a copy of the band with room for exchanged rows, or what is left of it, U. Gradient: x, lambda, and
/// that copy, or ab_bar after it.
static void banded_solve_takes_what_it_states(lac_context *ctx) {
  if (!check_claimed("banded_solve")) return;
  op_case c = {.op = "banded_solve", .i = {LAC_PLAIN, 2, 2}, .shapes = {"5,3000", "3000,2"}, .result = {"3000,2"}};
  int64_t copy = (strcmp(lac_context_backend(ctx), "cpu") == 0 ? 7 : 5) * 3000;
  c.apply = banded_solve_apply, c.fill = banded_solve_fill;
  check_op_peak(ctx, &c, LAC_F64, 8 * (6000 + copy), 8 * (2 * 6000 + copy));
}

// -- what is made of it ----------------------------------------------------------------------------------------------

static void tridiagonal_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  (void)setup;
  out[0] = lac_tridiagonal_solve(tape, in[0], in[1], in[2], in[3]);
}

static void tridiagonal_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = in[1].meta.shape[in[1].meta.ndim - 1], k = in[3].meta.shape[in[3].meta.ndim - 1];
  (void)c;
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_new(n, n);
    for (int64_t i = 0; i < n; ++i) {
      a.x[i * n + i] = walk_item(&w, &in[1], 1)[i];
      if (i + 1 < n) a.x[(i + 1) * n + i] = walk_item(&w, &in[0], 1)[i];
      if (i + 1 < n) a.x[i * n + i + 1] = walk_item(&w, &in[2], 1)[i];
    }
    dense_copy_to(dense_solve(a, dense_over(n, k, walk_item(&w, &in[3], 2))), walk_item(&w, out, 2));
  }
}

static void tridiagonal_fill(const op_case *c, int input, ref *x) {
  (void)c;
  for (int64_t e = 0; e < x->count && input < 3; ++e) x->x[e] = input == 1 ? 3 + x->x[e] / 2 : x->x[e] / 2;
}

static void three_diagonals_are_solved_and_differentiated(lac_context *ctx) {
  op_case c = {.op = "banded_solve", .shapes = {"4", "5", "4", "5,2"}, .result = {"5,2"}, .slack = 20};
  c.apply = tridiagonal_apply, c.dense = tridiagonal_dense, c.fill = tridiagonal_fill;
  c.skip = OP_INPUT | OP_OPERATOR | OP_SCALE;
  check_op(ctx, &c);
  c.shapes[0] = c.shapes[2] = "0", c.shapes[1] = "1", c.shapes[3] = c.result[0] = "1,1";
  check_op(ctx, &c);
}

static void diag_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = setup->c->i[0] ? lac_diag_solve(tape, in[0], in[1]) : lac_diag_mm(tape, in[0], in[1]);
}

static void diag_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = in[0].meta.shape[in[0].meta.ndim - 1], k = in[1].meta.shape[in[1].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    const number *d = walk_item(&w, &in[0], 1), *x = walk_item(&w, &in[1], 2);
    for (int64_t e = 0; e < n * k; ++e) walk_item(&w, out, 2)[e] = c->i[0] ? x[e] / d[e / k] : x[e] * d[e / k];
  }
}

static void diag_fill(const op_case *c, int input, ref *x) {
  (void)c;
  for (int64_t e = 0; e < x->count && input == 0; ++e) x->x[e] = 3 + x->x[e] / 2;
}

static void diagonals_are_multiplied_and_solved(lac_context *ctx) {
  op_case c = {.op = "banded_mm", .shapes = {"4", "2,4,2"}, .result = {"2,4,2"}, .slack = 20};
  c.apply = diag_apply, c.dense = diag_dense, c.fill = NULL;
  c.skip = OP_INPUT | OP_OPERATOR | OP_SCALE;
  check_op(ctx, &c);
  c.op = "banded_solve", c.i[0] = 1, c.fill = diag_fill, c.shapes[0] = "2,4";
  check_op(ctx, &c);
}

static void tridiagonal_solve_refuses_diagonals_of_other_lengths(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_array *four = array_of(ctx, 1, (int64_t[]){4}, (double[]){1, 2, 3, 4});
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var v = lac_tape_constant(tape, four);
  (void)lac_tridiagonal_solve(tape, v, v, v, v);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "must have 3");
  lac_tape_destroy(&tape);
  lac_array_destroy(&four);
}

CHECK_MAIN(banded_solve_differentiates_on_every_side, banded_solve_exchanges_rows,
           banded_solve_takes_triangles_and_any_width, banded_solve_takes_what_is_empty,
           banded_solve_broadcasts_batches_both_ways, banded_solve_names_the_column_of_a_singular_matrix,
           banded_solve_finds_pivots_beside_a_zero_diagonal, banded_solve_does_not_depend_on_threads,
           banded_solve_takes_what_it_states, three_diagonals_are_solved_and_differentiated,
           diagonals_are_multiplied_and_solved, tridiagonal_solve_refuses_diagonals_of_other_lengths)
