// SPDX-License-Identifier: Apache-2.0
/// The operator logdet_estimate, and lac_logdet_estimate: exact where probes leave nothing to chance, near with random
/// ones.

#include <math.h>
#include <stdlib.h>

#include "autodiff/rule.h"
#include "support/square.h"

/// A Hadamard matrix: the columns are probes z with Z Z^H = k I.
static lac_var hadamard(lac_tape *tape, lac_dtype dtype, int64_t n) {
  lac_context *ctx = lac_tape_context(tape);
  lac_array *array = NULL;
  ref z = ref_new(&(lac_meta){.dtype = dtype, .ndim = 2, .shape = {n, n}});
  for (int64_t e = 0; e < z.count; ++e) z.x[e] = __builtin_parityll((unsigned long long)(e / n & e % n)) ? -1 : 1;
  lac_status status = ref_upload(ctx, &z, &array);
  if (status != LAC_OK) return lac_tape_fail(tape, status);
  lac_var probes = lac_tape_constant(tape, array);
  lac_array_destroy(&array);
  return probes;
}

static void estimate_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_var both[2];
  lac_var z = hadamard(tape, setup->dtype, setup->c->patterns[0]->rows);
  lac_logdet_estimate(tape, setup->object, in[0], z, setup->c->i[0], both);
  out[0] = both[0];
}

/// log det of the Hermitian part.
static void estimate_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    dense a = dense_matrix(c->patterns[0], walk_item(&w, &in[0], 1)), h = dense_side(a, LAC_ADJOINT);
    for (int64_t e = 0; e < a.rows * a.rows; ++e) h.x[e] = (h.x[e] + a.x[e]) / 2;
    *walk_item(&w, out, 0) = log(cabs(dense_determinant(h)));
  }
}

static op_case estimate_case(const sketch *s, const char *a, const char *result) {
  return (op_case){.op = "logdet_estimate",
                   .patterns = {s},
                   .shapes = {a},
                   .result = {result},
                   .i = {0, SOLVER, DEFINITE},
                   .object = square_object,
                   .needs = "direct",
                   .apply = estimate_apply,
                   .dense = estimate_dense,
                   .fill = square_fill,
                   .result_dtype = op_real_dtype,
                   .fixed = {1},
                   .slack = 64};
}

static void estimates_are_exact_where_probes_leave_nothing_to_chance(lac_context *ctx) {
  op_case c = estimate_case(sketch_symmetric(4, 0.4, 3), "nnz", "");
  check_op(ctx, &c);
  c.skip = OP_MEMORY;  // tried once: allocations are many
  c.patterns[0] = sketch_symmetric(8, 0.3, 4);
  check_op(ctx, &c);
  c.i[0] = 8;
  check_op(ctx, &c);
}

static void estimates_take_batches_and_what_is_small(lac_context *ctx) {
  op_case c = estimate_case(sketch_symmetric(2, 1, 3), "3,nnz", "3");
  c.skip = OP_MEMORY;
  check_op(ctx, &c);
  c = estimate_case(sketch_symmetric(4, 0.4, 5), "0,nnz", "0"), c.skip = OP_MEMORY;
  check_op(ctx, &c);
  c = estimate_case(sketch_symmetric(1, 1, 5), "nnz", ""), c.skip = OP_MEMORY;
  check_op(ctx, &c);
}

// -- random probes ---------------------------------------------------------------------------------------------------

typedef struct grid {
  lac_pattern *pattern;
  lac_solver *solver;
  lac_array *values;
  lac_tape *tape;
} grid;

/// The five-point grid, a little more on its diagonal, times `scale`.
static grid grid_open(lac_context *ctx, int64_t side, double scale) {
  grid g = {0};
  int64_t n = side * side, *row = malloc((size_t)(5 * n) * sizeof *row), *col = malloc((size_t)(5 * n) * sizeof *col),
          nnz = 0;
  double *a = malloc((size_t)(5 * n) * sizeof *a);
  for (int64_t i = 0; i < n; ++i) {
    int64_t next[] = {i - side, i % side ? i - 1 : -1, i, i % side + 1 < side ? i + 1 : -1, i + side};
    for (int d = 0; d < 5; ++d) {
      if (next[d] < 0 || next[d] >= n) continue;
      row[nnz] = i, col[nnz] = next[d], a[nnz++] = scale * (d == 2 ? 4.1 : -1);
    }
  }
  CHECK_OK(lac_pattern_from_coo(ctx, n, n, nnz, LAC_I64, row, col, LAC_WIDTH_AUTO, &g.pattern, NULL));
  CHECK_OK(lac_solver_create(ctx, g.pattern, NULL, &g.solver));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &nnz, a, LAC_OWNERSHIP_COPY, &g.values));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &g.tape));
  free(row), free(col), free(a);
  return g;
}

static void grid_close(grid *g) {
  lac_tape_destroy(&g->tape);
  lac_array_destroy(&g->values);
  lac_solver_destroy(&g->solver);
  lac_pattern_destroy(&g->pattern);
}

static double number_of(lac_context *ctx, const grid *g, lac_var x) {
  double value = NAN;
  CHECK_OK(lac_tape_status(g->tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(g->tape, x), &value));
  return value;
}

/// 30 x 30 points, twenty seeds: the mean of the errors beside their standard errors is about one, and none is far out.
static void random_probes_come_as_near_as_they_say(lac_context *ctx) {
  if (!check_claimed("logdet_estimate")) return;
  grid g = grid_open(ctx, 30, 1);
  lac_var a = lac_tape_leaf(g.tape, g.values), out[2];
  double exact = number_of(ctx, &g, lac_logdet(g.tape, g.solver, a)), square = 0;
  for (int64_t seed = 0; seed < 20; ++seed) {
    lac_logdet_estimate(g.tape, g.solver, a, lac_probes(g.tape, LAC_F64, 900, 12, seed), 40, out);
    double off = (number_of(ctx, &g, out[0]) - exact) / number_of(ctx, &g, out[1]);
    CHECK(fabs(number_of(ctx, &g, out[0]) / exact - 1) < 0.02);
    CHECK(fabs(off) < 6);
    square += off * off / 20;
  }
  CHECK(square > 0.2 && square < 4);
  grid_close(&g);
}

/// The gradient along A itself is z^H z / k = n; along the identity it estimates tr A^-1, and the tangent agrees with
/// it.
static void the_gradient_estimates_that_of_logdet(lac_context *ctx) {
  if (!check_claimed("logdet_estimate")) return;
  grid g = grid_open(ctx, 12, 1);
  lac_var a = lac_tape_leaf(g.tape, g.values), z = lac_probes(g.tape, LAC_F64, 144, 400, 5), out[2], bar = {0},
          true_bar = {0}, dot = {0};
  lac_logdet_estimate(g.tape, g.solver, a, z, 0, out);
  lac_var exact = lac_logdet(g.tape, g.solver, a);
  CHECK_OK(lac_tape_vjp(g.tape, 1, &out[0], NULL, 1, &a, &bar, LAC_GRAPH_CREATE));
  CHECK_OK(lac_tape_vjp(g.tape, 1, &exact, NULL, 1, &a, &true_bar, LAC_GRAPH_CREATE));
  CHECK_OK(lac_tape_jvp(g.tape, 1, &a, &a, 1, &out[0], &dot, LAC_GRAPH_NONE));
  CHECK_NEAR(number_of(ctx, &g, dot), 144, 1e-12);
  CHECK_NEAR(number_of(ctx, &g, lac_sum(g.tape, lac_mul(g.tape, bar, a))), 144, 1e-12);
  CHECK_NEAR(number_of(ctx, &g, lac_trace(g.tape, g.pattern, bar)),
             number_of(ctx, &g, lac_trace(g.tape, g.pattern, true_bar)), 0.02);
  grid_close(&g);
}

static void the_scale_of_a_matrix_is_added(lac_context *ctx) {
  if (!check_claimed("logdet_estimate")) return;
  double numbers[3], scales[] = {1, 1e150, 1e-150};
  for (int i = 0; i < 3; ++i) {
    grid g = grid_open(ctx, 6, scales[i]);
    lac_var out[2];
    lac_logdet_estimate(g.tape, g.solver, lac_tape_leaf(g.tape, g.values), lac_probes(g.tape, LAC_F64, 36, 5, 1), 0,
                        out);
    numbers[i] = number_of(ctx, &g, out[0]) - 36 * log(scales[i]);
    grid_close(&g);
  }
  CHECK_NEAR(numbers[1], numbers[0], 1e-11);
  CHECK_NEAR(numbers[2], numbers[0], 1e-11);
}

/// Value and error are functions of the seed, and more probes begin with the same ones.
static void seeds_decide(lac_context *ctx) {
  lac_tape *tape = NULL;
  double few[3 * 2], many[3 * 5], other[3 * 2];
  int different = 0;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, lac_probes(tape, LAC_F64, 3, 2, 7)), few));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, lac_probes(tape, LAC_F64, 3, 5, 7)), many));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, lac_probes(tape, LAC_F64, 3, 2, 8)), other));
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) {
      CHECK(few[i * 2 + j] == many[i * 5 + j] && fabs(few[i * 2 + j]) == 1);
      different += few[i * 2 + j] != other[i * 2 + j];
    }
  }
  CHECK(different > 0);
  lac_tape_destroy(&tape);
}

// -- refusals --------------------------------------------------------------------------------------------------------

static void refused(lac_context *ctx, const double values[4], int64_t probes, int64_t steps, lac_status status,
                    const char *words) {
  two_by_two s = two_by_two_open(ctx, values);
  lac_var out[2];
  lac_logdet_estimate(s.tape, s.solver, lac_tape_leaf(s.tape, s.a), lac_probes(s.tape, LAC_F64, 2, probes, 1), steps,
                      out);
  CHECK(!out[0].id && !out[1].id);
  CHECK_FAILS(lac_tape_status(s.tape), status, words);
  two_by_two_close(&s);
}

static void what_has_no_estimate_is_said(lac_context *ctx) {
  if (!check_claimed("logdet_estimate")) return;
  refused(ctx, (double[]){1, 2, 2, 1}, 3, 0, LAC_ERR_DEFINITE, "not positive definite");
  refused(ctx, (double[]){2, 1, 1, 2}, 0, 0, LAC_ERR_SHAPE, "no probes");
  refused(ctx, (double[]){2, 1, 1, 2}, 1, -1, LAC_ERR_ARG, "-1 steps");
}

static void the_operator_refuses_what_is_not_hermitian(lac_context *ctx) {
  if (!check_claimed("logdet_estimate")) return;
  two_by_two s = two_by_two_open(ctx, (double[]){3, 1, 2, 4});
  lac_spec spec = {.op = lac_op_find("logdet_estimate"), .object = s.solver};
  lac_var out[2], in[] = {lac_tape_leaf(s.tape, s.a), lac_probes(s.tape, LAC_F64, 2, 3, 1)};
  CHECK_FAILS(lac_tape_call(s.tape, &spec, in, out), LAC_ERR_SYMMETRY, "not Hermitian");
  two_by_two_close(&s);
}

/// One probe has no spread; a number that is not finite is not lost.
static void nan_means_unknown(lac_context *ctx) {
  if (!check_claimed("logdet_estimate")) return;
  for (int bad = 0; bad < 2; ++bad) {
    two_by_two s = two_by_two_open(ctx, (double[]){bad ? NAN : 2, 1, 1, 2});
    lac_var out[2];
    double estimate = 0, error = 0;
    lac_logdet_estimate(s.tape, s.solver, lac_tape_leaf(s.tape, s.a), lac_probes(s.tape, LAC_F64, 2, 1 + bad, 1), 0,
                        out);
    CHECK_OK(lac_tape_status(s.tape));
    CHECK_OK(lac_array_read(ctx, lac_tape_value(s.tape, out[0]), &estimate));
    CHECK_OK(lac_array_read(ctx, lac_tape_value(s.tape, out[1]), &error));
    CHECK(isnan(estimate) == bad && isnan(error));
    two_by_two_close(&s);
  }
}

CHECK_MAIN(estimates_are_exact_where_probes_leave_nothing_to_chance, estimates_take_batches_and_what_is_small,
           random_probes_come_as_near_as_they_say, the_gradient_estimates_that_of_logdet,
           the_scale_of_a_matrix_is_added, seeds_decide, what_has_no_estimate_is_said,
           the_operator_refuses_what_is_not_hermitian, nan_means_unknown)
