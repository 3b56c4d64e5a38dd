// SPDX-License-Identifier: Apache-2.0
/// Least squares by solvers of the matrix itself, LSMR and LSQR: values and derivatives of every order, tall, wide and
/// square, and through lac_lstsq, damped too.

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "support/op_case.h"
#include "support/rectangle.h"

static double rounding_of(lac_dtype dtype) { return dtype == LAC_F32 || dtype == LAC_C64 ? FLT_EPSILON : DBL_EPSILON; }

/// A solver of a method, as tight as the dtype allows.
static lac_status tight_solver(lac_context *ctx, const lac_pattern *pattern, const char *method, lac_dtype dtype,
                               lac_solver **out) {
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  options.iteration.rtol = 16 * rounding_of(dtype);
  options.iteration.max_iterations = 400;
  return lac_solver_create(ctx, pattern, &options, out);
}

static lac_status fit_object(const op_setup *setup, lac_array *const *in, const void **out) {
  lac_context *ctx = setup->ctx;
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_status status = tight_solver(ctx, setup->patterns[0], setup->c->data, setup->dtype, &solver);
  if (status == LAC_OK && setup->c->i[1] == 0) status = lac_solver_factor(ctx, solver, in[0], &factor);
  *out = factor ? (const void *)factor : solver;
  if (factor) lac_solver_destroy(&solver);
  return status;
}

static void fit_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_spec spec = {.op = lac_op_find("lstsq_with"), .object = setup->object, .attrs.i = {setup->c->i[0]}};
  (void)lac_tape_call(tape, &spec, in, out);
}

static void fit_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[0];
  int64_t k = out[0].meta.shape[out[0].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_side(dense_matrix(s, walk_item(&w, &in[0], 1)), (lac_form)c->i[0]);
    dense_copy_to(rectangle_lstsq(a, dense_over(a.rows, k, walk_item(&w, &in[1], 2)), 0), walk_item(&w, &out[0], 2));
  }
}

/// i[1]: 0 a factor, 1 a solver; data: the name of the method.
static op_case fit_case(const sketch *s, lac_form form, const char *method) {
  bool is_turned = form == LAC_TRANSPOSED || form == LAC_ADJOINT;
  return (op_case){.op = "lstsq_with",
                   .needs = op_text("%s identity", method),
                   .patterns = {s},
                   .shapes = {"nnz", op_text("%lld,2", (long long)(is_turned ? s->cols : s->rows))},
                   .result = {op_text("%lld,2", (long long)(is_turned ? s->rows : s->cols))},
                   .i = {form},
                   .data = method,
                   .object = fit_object,
                   .apply = fit_apply,
                   .dense = fit_dense,
                   .fill = rectangle_fill,
                   .degree = {s->nnz ? -1 : 0, 1},
                   .fixed = {1, 2},
                   .slack = 1024,
                   .skip = OP_MEMORY};
}

static void check_fit(lac_context *ctx, op_case c) { check_op(ctx, &c); }

static void lstsq_with_differentiates_any_shape_and_side(lac_context *ctx) {
  static const int64_t shapes[][2] = {{6, 3}, {3, 6}, {4, 4}};
  static const lac_form forms[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};
  for (int i = 0; i < 12; i++) {
    const sketch *s = rectangle(shapes[i % 3][0], shapes[i % 3][1], (uint64_t)i);
    check_fit(ctx, fit_case(s, forms[i / 3], i % 2 ? "lsmr" : "lsqr"));
  }
}

static void lstsq_with_takes_solvers_batches_and_what_is_empty(lac_context *ctx) {
  op_case c = fit_case(rectangle(5, 3, 1), LAC_PLAIN, "lsmr");
  c.i[1] = 1;
  check_op(ctx, &c);
  c = fit_case(rectangle(4, 2, 1), LAC_PLAIN, "lsmr");
  c.shapes[0] = "2,nnz", c.shapes[1] = "4,1", c.result[0] = "2,2,1";
  check_op(ctx, &c);
  c = fit_case(rectangle(2, 4, 1), LAC_ADJOINT, "lsmr");
  c.shapes[1] = "3,4,1", c.result[0] = "3,2,1";
  check_op(ctx, &c);
  c.shapes[1] = "4,0", c.result[0] = "2,0";
  check_op(ctx, &c);
}

// -- through lac_lstsq -----------------------------------------------------------------------------------------------

/// The solver of A, or of A over the identity.
static lac_status through_object(const op_setup *setup, lac_array *const *in, const void **out) {
  lac_context *ctx = setup->ctx;
  const lac_pattern *p = setup->patterns[0];
  lac_pattern *identity = NULL, *stack = NULL;
  lac_solver *solver = NULL;
  lac_status status = LAC_OK;
  (void)in;
  if (setup->c->shapes[2]) {
    status =
        lac_pattern_eye(ctx, setup->c->patterns[0]->cols, setup->c->patterns[0]->cols, 0, LAC_WIDTH_AUTO, &identity);
    if (status == LAC_OK) status = lac_pattern_vstack(ctx, 2, (const lac_pattern *[]){p, identity}, &stack, NULL);
  }
  if (status == LAC_OK) status = tight_solver(ctx, stack ? stack : p, "lsmr", setup->dtype, &solver);
  lac_pattern_destroy(&identity);
  lac_pattern_destroy(&stack);
  *out = solver;
  return status;
}

static void through_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_var damp = {0};
  if (setup->c->shapes[2]) damp = lac_real(tape, in[2]);
  lac_var both[2];
  lac_lstsq(tape, setup->patterns[0], in[0], in[1], damp, setup->object, both);
  for (int i = 0; i < 2 && setup->c->result[i]; i++) out[i] = both[i];
}

static void through_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[0];
  int64_t k = out[0].meta.shape[out[0].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_matrix(s, walk_item(&w, &in[0], 1)), b = dense_over(s->rows, k, walk_item(&w, &in[1], 2));
    dense x = rectangle_lstsq(a, b, c->shapes[2] ? creal(*walk_item(&w, &in[2], 0)) : 0), ax = dense_mul(a, x);
    dense_copy_to(x, walk_item(&w, &out[0], 2));
    for (int64_t z = 0; c->result[1] && z < s->rows * k; z++) walk_item(&w, &out[1], 2)[z] = b.x[z] - ax.x[z];
  }
}

static void lac_lstsq_takes_solvers_of_the_matrix(lac_context *ctx) {
  int cases = check_claimed("lstsq_with") ? 4 : 2;  // damped ones take more operators
  for (int i = 0; i < cases; i++) {
    const sketch *s = i % 2 ? rectangle(3, 5, 2) : rectangle(5, 3, 1);
    op_case c = fit_case(s, LAC_PLAIN, "lsmr");
    c.object = through_object, c.apply = through_apply, c.dense = through_dense;
    c.result[1] = op_text("%lld,2", (long long)s->rows), c.degree[0] = 0, c.skip |= OP_SCALE | OP_INPUT;
    if (i >= 2) c.shapes[2] = "";
    if (i == 1) c.result[1] = NULL;  // rounding
    check_op(ctx, &c);
  }
}

/// A tolerance that is not met is an error, and no gradient is handed out.
static void lstsq_with_says_where_it_does_not_converge(lac_context *ctx) {
  enum { M = 12, N = 8 };
  double full[M * N], ones[M];
  int64_t row[M * N], col[M * N], count = M * N;
  lac_solver_options options = lac_solver_options_defaults();
  lac_pattern *p = NULL;
  lac_solver *solver = NULL;
  lac_array *a = NULL, *b = NULL;
  lac_tape *tape = NULL;
  lac_var out[2];
  for (int z = 0; z < M * N; z++) row[z] = z / N, col[z] = z % N, full[z] = pow((z / N + 1.0) / M, z % N);
  for (int i = 0; i < M; i++) ones[i] = i % 3;
  options.method = "lsmr", options.iteration.max_iterations = 2;
  CHECK_OK(lac_pattern_from_coo(ctx, M, N, count, LAC_I64, row, col, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_solver_create(ctx, p, &options, &solver));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &count, full, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){M, 1}, ones, LAC_OWNERSHIP_COPY, &b));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_lstsq(tape, p, lac_tape_leaf(tape, a), lac_tape_constant(tape, b), (lac_var){0}, solver, out);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_CONVERGENCE, "max_iterations");
  lac_tape_destroy(&tape);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&p);
  lac_array_destroy(&a);
  lac_array_destroy(&b);
}

CHECK_MAIN(lstsq_with_differentiates_any_shape_and_side, lstsq_with_takes_solvers_batches_and_what_is_empty,
           lac_lstsq_takes_solvers_of_the_matrix, lstsq_with_says_where_it_does_not_converge)
