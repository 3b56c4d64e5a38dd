// SPDX-License-Identifier: Apache-2.0
/// Determinants made of logdet: lac_slogdet and lac_det, against elimination in dense matrices.

#include <math.h>

#include "support/square.h"

static void slogdet_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_slogdet(tape, setup->object, in[0], out);
}

static void slogdet_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    number det = dense_determinant(dense_matrix(c->patterns[0], walk_item(&w, &in[0], 1)));
    *walk_item(&w, &out[0], 0) = det / cabs(det);
    *walk_item(&w, &out[1], 0) = log(cabs(det));
  }
}

/// The second output is real.
static lac_dtype slogdet_dtype(const op_case *c, int output, lac_dtype dtype) {
  return output ? op_real_dtype(c, output, dtype) : dtype;
}

static void slogdet_differentiates(lac_context *ctx) {
  op_case c = {.op = "logdet",
               .patterns = {sketch_symmetric(4, 1, 2)},
               .shapes = {"2,nnz"},
               .result = {"2", "2"},
               .i = {0, SOLVER, SHUFFLED},
               .object = square_object,
               .needs = "direct",
               .apply = slogdet_apply,
               .dense = slogdet_dense,
               .fill = square_fill,
               .result_dtype = slogdet_dtype,
               .fixed = {1},
               .slack = 32};
  check_op(ctx, &c);
}

static void det_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_det(tape, setup->object, in[0]);
}

static void det_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 0); walk_next(&w);) {
    *walk_item(&w, out, 0) = dense_determinant(dense_matrix(c->patterns[0], walk_item(&w, &in[0], 1)));
  }
}

/// det(s A) = s^n det(A).
static void det_differentiates(lac_context *ctx) {
  op_case c = {.op = "logdet",
               .patterns = {sketch_symmetric(4, 1, 2)},
               .shapes = {"2,nnz"},
               .result = {"2"},
               .i = {0, SOLVER, SHUFFLED},
               .object = square_object,
               .needs = "direct",
               .apply = det_apply,
               .dense = det_dense,
               .fill = square_fill,
               .degree = {4},
               .fixed = {1},
               .slack = 512};
  check_op(ctx, &c);
}

typedef struct diagonal_case {
  lac_pattern *pattern;
  lac_solver *solver;
  lac_array *a;
  lac_tape *tape;
} diagonal_case;

/// A matrix of n equal numbers on the diagonal.
static diagonal_case diagonal_open(lac_context *ctx, int64_t n, double value) {
  diagonal_case d = {0};
  CHECK_OK(lac_pattern_eye(ctx, n, n, 0, LAC_WIDTH_AUTO, &d.pattern));
  CHECK_OK(lac_solver_create(ctx, d.pattern, NULL, &d.solver));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, &n, &d.a));
  CHECK_OK(lac_array_fill(ctx, d.a, value, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &d.tape));
  return d;
}

static void diagonal_close(diagonal_case *d) {
  lac_tape_destroy(&d->tape);
  lac_array_destroy(&d->a);
  lac_solver_destroy(&d->solver);
  lac_pattern_destroy(&d->pattern);
}

/// diag(1e-4) of four rows: 1e-16, and each gradient is 1e-12.
static void a_tiny_determinant_has_its_gradient(lac_context *ctx) {
  if (!check_claimed("logdet")) return;
  diagonal_case d = diagonal_open(ctx, 4, 1e-4);
  double det = 0, bars[4];
  lac_var a = lac_tape_leaf(d.tape, d.a), y = lac_det(d.tape, d.solver, a), bar = {0};
  CHECK_OK(lac_tape_vjp(d.tape, 1, &y, NULL, 1, &a, &bar, LAC_GRAPH_NONE));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(d.tape, y), &det));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(d.tape, bar), bars));
  CHECK_NEAR(det / 1e-16, 1, 1e-13);
  for (int i = 0; i < 4; ++i) CHECK_NEAR(bars[i] / 1e-12, 1, 1e-13);
  diagonal_close(&d);
}

static void the_logarithm_does_not_overflow(lac_context *ctx) {
  if (!check_claimed("logdet")) return;
  for (int sign = -1; sign <= 1; sign += 2) {
    diagonal_case d = diagonal_open(ctx, 2001, sign * 1e200);
    double numbers[2];
    lac_var out[2];
    lac_slogdet(d.tape, d.solver, lac_tape_leaf(d.tape, d.a), out);
    CHECK_OK(lac_tape_status(d.tape));
    for (int o = 0; o < 2; ++o) CHECK_OK(lac_array_read(ctx, lac_tape_value(d.tape, out[o]), &numbers[o]));
    CHECK_EQ(numbers[0], sign);
    CHECK_NEAR(numbers[1] / (2001 * 200 * log(10)), 1, 1e-14);
    diagonal_close(&d);
  }
}

static void a_missing_solver_is_said(lac_context *ctx) {
  two_by_two s = two_by_two_open(ctx, (double[]){3, 1, 2, 4});
  lac_var out[2];
  lac_slogdet(s.tape, NULL, lac_tape_leaf(s.tape, s.a), out);
  CHECK(!out[0].id && !out[1].id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_ARG, "slogdet: the solver is NULL");
  two_by_two_close(&s);
}

CHECK_MAIN(slogdet_differentiates, det_differentiates, a_tiny_determinant_has_its_gradient,
           the_logarithm_does_not_overflow, a_missing_solver_is_said)
