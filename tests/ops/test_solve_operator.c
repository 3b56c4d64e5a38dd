// SPDX-License-Identifier: Apache-2.0
/// lac_solve_operator: systems without a matrix, their values, their refusals, their derivatives.

#include <float.h>

#include "autodiff/tape_impl.h"
#include "core/memory_impl.h"
#include "lacuna/extend.h"
#include "support/square.h"

typedef struct product {
  const lac_pattern *pattern;
  int is_bent;  // not linear
} product;

/// y = A x + d x, number by number.
static lac_status product_emit(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  const product *p = data;
  (void)step;
  out[0] = lac_add(tape, lac_spmm(tape, p->pattern, in[0], in[2], LAC_PLAIN), lac_mul(tape, in[1], in[2]));
  if (p->is_bent) out[0] = lac_add(tape, out[0], lac_square(tape, in[2]));
  return lac_tape_status(tape);
}

static void operator_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_solver_options options = lac_solver_options_defaults();
  product p = {setup->patterns[0], 0};
  int is_single = setup->dtype == LAC_F32 || setup->dtype == LAC_C64;
  options.method = setup->c->data;
  options.iteration.rtol = 16 * (is_single ? FLT_EPSILON : DBL_EPSILON);
  options.iteration.max_iterations = 400;
  out[0] = lac_solve_operator(tape, product_emit, &p, 2, in, in[2], &options);
}

static void operator_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = c->patterns[0]->rows, k = out[0].meta.shape[1];
  for (int64_t j = 0; j < k; j++) {
    dense a = dense_matrix(c->patterns[0], in[0].x), b = dense_new(n, 1);
    for (int64_t i = 0; i < n; i++) a.x[i * n + i] += in[1].x[i * k + j], b.x[i] = in[2].x[i * k + j];
    dense x = dense_solve(a, b);
    for (int64_t i = 0; i < n; i++) out[0].x[i * k + j] = x.x[i];
  }
}

static const lac_op any_arity = {.name = "solve_operator", .signature = "(),(),()->()", .order = LAC_ANY_ORDER};

static void solve_operator_differentiates(lac_context *ctx) {
  const char *const methods[] = {"auto", "bicgstab", "lsmr"};
  for (int m = 0; m < 3; m++) {
    op_case c = {.op = "solve_operator",
                 .user_op = &any_arity,
                 .patterns = {sketch_square(4, 0.5, 1)},
                 .shapes = {"nnz", "4,2", "4,2"},
                 .result = {"4,2"},
                 .i = {LAC_PLAIN, FACTOR, GENERAL},
                 .data = methods[m],
                 .apply = operator_apply,
                 .dense = operator_dense,
                 .fill = square_fill,
                 .degree = {0, 0, 1},
                 .slack = 1024,
                 .skip = OP_OPERATOR | OP_INPUT | OP_MEMORY};
    check_op(ctx, &c);
  }
}

typedef struct line_system {
  lac_pattern *pattern;
  lac_array *a, *d, *b;
  lac_tape *tape;
  lac_var theta[2], right;
} line_system;

static line_system line_open(lac_context *ctx, int64_t n) {
  line_system s = {0};
  int64_t nnz = 3 * n - 2;
  CHECK_OK(lac_pattern_banded(ctx, n, n, 1, 1, LAC_WIDTH_AUTO, &s.pattern, NULL));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, &nnz, &s.a));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, &n, &s.d));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){n, 1}, &s.b));
  CHECK_OK(lac_array_fill(ctx, s.a, -1, 0));
  CHECK_OK(lac_array_fill(ctx, s.d, 3.1, 0));
  CHECK_OK(lac_array_fill(ctx, s.b, 1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &s.tape));
  s.theta[0] = lac_tape_leaf(s.tape, s.a);
  s.right = lac_tape_leaf(s.tape, s.b);
  s.theta[1] = lac_reshape(s.tape, lac_tape_leaf(s.tape, s.d), 2, (int64_t[]){n, 1});
  return s;
}

static void line_close(line_system *s) {
  lac_tape_destroy(&s->tape);
  lac_array_destroy(&s->a);
  lac_array_destroy(&s->d);
  lac_array_destroy(&s->b);
  lac_pattern_destroy(&s->pattern);
}

static void what_is_not_linear_is_refused(lac_context *ctx) {
  line_system s = line_open(ctx, 5);
  product p = {s.pattern, 1};
  CHECK(!lac_solve_operator(s.tape, product_emit, &p, 2, s.theta, s.right, NULL).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_ARG, "not linear in x");
  line_close(&s);
}

static void a_list_that_is_missing_is_refused(lac_context *ctx) {
  line_system s = line_open(ctx, 5);
  CHECK(!lac_solve_operator(s.tape, NULL, NULL, 0, NULL, s.right, NULL).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_ARG, "solve_operator: the function is NULL");
  for (int thetas = -1; thetas <= 1; thetas += 2) {
    lac_tape_clear(s.tape);
    CHECK(!lac_solve_operator(s.tape, product_emit, NULL, thetas, NULL, lac_tape_leaf(s.tape, s.b), NULL).id);
    CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_ARG, thetas < 0 ? "thetas = -1" : "the list theta is NULL");
  }
  line_close(&s);
}

static void methods_that_need_a_matrix_are_refused(lac_context *ctx) {
  line_system s = line_open(ctx, 5);
  product p = {s.pattern, 0};
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "lu";
  CHECK(!lac_solve_operator(s.tape, product_emit, &p, 2, s.theta, s.right, &options).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_ARG, "Krylov");
  line_close(&s);
}

static void what_is_not_reached_is_an_error(lac_context *ctx) {
  line_system s = line_open(ctx, 200);
  product p = {s.pattern, 0};
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "cg";
  options.iteration.max_iterations = 2;
  CHECK(!lac_solve_operator(s.tape, product_emit, &p, 2, s.theta, s.right, &options).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_CONVERGENCE, "after 2 iterations");
  line_close(&s);
}

/// A factor of the matrix itself: one iteration, and one for the adjoint.
static void a_factor_preconditions_an_operator(lac_context *ctx) {
  if (!check_claimed("direct solvers")) return;
  line_system s = line_open(ctx, 30);
  product p = {s.pattern, 0};
  lac_solver_options options = lac_solver_options_defaults();
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_array *values = NULL;
  lac_var loss, bar;
  CHECK_OK(lac_array_clone(ctx, s.a, &values));
  double *x = lac_array_edit(values);
  for (int64_t i = 0; i < 30; i++) x[3 * i] += 3.1;
  CHECK_OK(lac_solver_create(ctx, s.pattern, NULL, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, values, &factor));
  options.iteration.max_iterations = 2;
  options.preconditioner.factor = factor;
  loss = lac_sum(s.tape, lac_solve_operator(s.tape, product_emit, &p, 2, s.theta, s.right, &options));
  lac_factor_destroy(&factor);  // the call holds it
  lac_solver_destroy(&solver);
  lac_array_destroy(&values);
  CHECK_OK(lac_tape_vjp(s.tape, 1, &loss, NULL, 1, &s.theta[0], &bar, LAC_GRAPH_NONE));
  line_close(&s);
}

/// A factor that iterates: GMRES, asked for or not, becomes flexible; what has no flexible form is refused.
static void a_factor_that_varies_wants_a_flexible_method(lac_context *ctx) {
  line_system s = line_open(ctx, 30);
  product p = {s.pattern, 0};
  lac_solver_options options = lac_solver_options_defaults(), inner = options;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_var x;
  inner.method = "gmres";
  inner.preconditioner.method = "jacobi";
  inner.iteration.max_iterations = 3;  // which does not reach its tolerance, and need not
  CHECK_OK(lac_solver_create(ctx, s.pattern, &inner, &solver));
  CHECK_OK(lac_solver_factor(ctx, solver, s.a, &factor));
  options.preconditioner.factor = factor;
  x = lac_solve_operator(s.tape, product_emit, &p, 2, s.theta, s.right, &options);
  CHECK_OK(lac_tape_status(s.tape));
  CHECK(x.id);
  options.method = "gmres";
  CHECK(lac_solve_operator(s.tape, product_emit, &p, 2, s.theta, s.right, &options).id);
  CHECK_OK(lac_tape_status(s.tape));
  options.method = "bicgstab";
  CHECK(!lac_solve_operator(s.tape, product_emit, &p, 2, s.theta, s.right, &options).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_ARG, "\"flexible_gmres\"");
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  line_close(&s);
}

static lac_status solve_and_differentiate(lac_context *ctx, const line_system *s) {
  product p = {s->pattern, 0};
  lac_tape *tape = NULL;
  lac_status status = lac_tape_create(ctx, LAC_TAPE_RECORD, &tape);
  if (status != LAC_OK) return status;
  lac_var theta[2] = {lac_tape_leaf(tape, s->a), lac_tape_leaf(tape, s->d)}, b = lac_tape_leaf(tape, s->b), bar[2];
  lac_var column = lac_reshape(tape, theta[1], 2, (int64_t[]){6, 1}), in[2] = {theta[0], column};
  lac_var loss = lac_sum(tape, lac_solve_operator(tape, product_emit, &p, 2, in, b, NULL));
  status = lac_tape_vjp(tape, 1, &loss, NULL, 2, theta, bar, LAC_GRAPH_NONE);
  lac_tape_destroy(&tape);
  return status;
}

static void every_failing_allocation_is_told(lac_context *ctx) {
  line_system s = line_open(ctx, 6);
  CHECK_OK(solve_and_differentiate(ctx, &s));
  for (int64_t n = 1;; n = check_next_failure(ctx, n)) {
    lac_program_forget(ctx, NULL), lac_program_forget(ctx, s.pattern);
    lac_memory_fail_at(n);
    lac_status status = solve_and_differentiate(ctx, &s);
    lac_memory_fail_at(0);
    if (status == LAC_OK) break;
    CHECK_EQ(status, LAC_ERR_MEMORY);
  }
  line_close(&s);
}

enum { THETAS = 34, POINTS = 3 };

static double theta_number(int i, int j) { return 0.125 * ((3 * i + j) % 5); }

/// y = d x, number by number, with d = 2 + sum_i (i + 1) theta_i / THETAS.
static lac_status many_emit(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)data, (void)step;
  out[0] = lac_scale(tape, in[THETAS], 2, 0);
  for (int i = 0; i < THETAS; i++) {
    lac_var part = lac_scale(tape, lac_mul(tape, in[i], in[THETAS]), (i + 1.0) / THETAS, 0);
    out[0] = lac_add(tape, out[0], part);
  }
  return lac_tape_status(tape);
}

/// x = b / d, and so theta_i_bar = - (i + 1) / THETAS x x_bar / d: checked by hand, for a loss of sum(x).
static void an_operator_may_have_many_parameters(lac_context *ctx) {
  lac_solver_options options = lac_solver_options_defaults();
  lac_tape *tape = NULL;
  lac_var theta[THETAS + 1], bar[THETAS + 1], loss;
  const double b[POINTS] = {1, -2, 0.5};
  double d[POINTS] = {2, 2, 2}, got[POINTS];

  options.iteration.rtol = 1e-15;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  for (int i = 0; i <= THETAS; i++) {
    double numbers[POINTS];
    lac_array *array = NULL;
    for (int j = 0; j < POINTS; j++) numbers[j] = i < THETAS ? theta_number(i, j) : b[j];
    for (int j = 0; j < POINTS && i < THETAS; j++) d[j] += (i + 1.0) / THETAS * numbers[j];
    CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){POINTS}, numbers, LAC_OWNERSHIP_COPY, &array));
    theta[i] = lac_tape_leaf(tape, array);
    lac_array_destroy(&array);
  }
  loss = lac_sum(tape, lac_solve_operator(tape, many_emit, NULL, THETAS, theta, theta[THETAS], &options));
  CHECK_OK(lac_tape_vjp(tape, 1, &loss, NULL, THETAS + 1, theta, bar, LAC_GRAPH_NONE));
  for (int i = 0; i <= THETAS; i++) {
    CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, bar[i]), got));
    for (int j = 0; j < POINTS; j++) {
      double want = i < THETAS ? -(i + 1.0) / THETAS * b[j] / (d[j] * d[j]) : 1 / d[j];
      CHECK_NEAR(got[j], want, 1e-12);
    }
  }
  lac_tape_destroy(&tape);
}

CHECK_MAIN(solve_operator_differentiates, every_failing_allocation_is_told, what_is_not_linear_is_refused,
           methods_that_need_a_matrix_are_refused, a_list_that_is_missing_is_refused, what_is_not_reached_is_an_error,
           a_factor_preconditions_an_operator, a_factor_that_varies_wants_a_flexible_method,
           an_operator_may_have_many_parameters)
