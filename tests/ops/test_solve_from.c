// SPDX-License-Identifier: Apache-2.0
/// The operator solve_from, and lac_solve_from: values and derivatives from any start, and what the report of a solve
/// and of its derivative says.

#include <float.h>
#include <math.h>
#include <string.h>

#include "support/square.h"

static double rounding_of(lac_dtype dtype) { return dtype == LAC_F32 || dtype == LAC_C64 ? FLT_EPSILON : DBL_EPSILON; }

/// A method as tight as the dtype allows: `data` is its name.
static lac_status start_object(const op_setup *setup, lac_array *const *in, const void **out) {
  lac_solver_options options = lac_solver_options_defaults();
  op_case tight = *setup->c;
  op_setup own = *setup;
  options.method = setup->c->data;
  if (strcmp(options.method, "lu") != 0) {
    options.preconditioner.method = "jacobi";
    options.iteration.rtol = 16 * rounding_of(setup->dtype);
    options.iteration.max_iterations = 400;
  }
  tight.data = &options, own.c = &tight;
  return square_object(&own, in, out);
}

/// i[3]: the solve reports.
static void start_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const int64_t *i = setup->c->i;
  lac_spec spec = {.op = lac_op_find("solve_from"), .object = setup->object, .attrs.i = {i[0], [5] = i[3]}};
  (void)lac_tape_call(tape, &spec, in, out);
}

static op_case start_case(const sketch *s, lac_form form, const char *method, int object) {
  const char *columns = op_text("%lld,2", (long long)s->rows);
  return (op_case){.op = "solve_from",
                   .needs = op_text("%s jacobi", method),
                   .patterns = {s},
                   .shapes = {"nnz", columns, columns},
                   .result = {columns},
                   .i = {form, object, GENERAL},
                   .data = method,
                   .object = start_object,
                   .apply = start_apply,
                   .dense = square_solve_dense,
                   .fill = square_fill,
                   .degree = {s->nnz ? -1 : 0, 1},
                   .fixed = {1, 2, 2},
                   .slack = 1024,
                   .skip = OP_MEMORY | OP_SCALE};  // the start has no part in scales: far above x it costs its digits
}

static void every_form_differentiates_from_any_start(lac_context *ctx) {
  static const lac_form forms[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_CONJUGATED, LAC_ADJOINT};
  for (int i = 0; i < 4; i++) {
    op_case c = start_case(sketch_square(5, 0.4, 1), forms[i], i % 2 ? "bicgstab" : "gmres", i / 2 ? SOLVER : FACTOR);
    c.i[3] = i % 2;
    check_op(ctx, &c);
  }
}

static void a_direct_method_does_not_read_the_start(lac_context *ctx) {
  op_case c = start_case(sketch_square(5, 0.4, 1), LAC_PLAIN, "lu", FACTOR);
  check_op(ctx, &c);
  c.i[3] = 1;
  check_op(ctx, &c);
}

static void starts_are_spread_over_the_batch(lac_context *ctx) {
  static const char *const shapes[][4] = {{"nnz", "3,4,2", "4,2", "3,4,2"},
                                          {"3,nnz", "4,2", "1,4,2", "3,4,2"},
                                          {"2,1,nnz", "3,4,1", "2,1,4,1", "2,3,4,1"},
                                          {"nnz", "4,0", "4,0", "4,0"}};
  for (int i = 0; i < 4; i++) {
    op_case c = start_case(sketch_square(4, 0.4, 5), LAC_PLAIN, "gmres", FACTOR);
    for (int k = 0; k < 3; k++) c.shapes[k] = shapes[i][k];
    c.result[0] = shapes[i][3];
    check_op(ctx, &c);
  }
}

// -- reports ---------------------------------------------------------------------------------------------------------

/// tridiag(-1, 2, -1) x = 1, for an iteration that ends after some steps.
typedef struct chain {
  lac_pattern *pattern;
  lac_solver *solver;
  lac_array *a, *b;
  lac_tape *tape;
} chain;

enum { CHAIN = 300, ENTRIES = 3 * CHAIN - 2 };

static chain chain_open(lac_context *ctx, int64_t limit) {
  lac_solver_options options = lac_solver_options_defaults();
  double values[ENTRIES];
  chain s = {0};
  options.method = "minres", options.preconditioner.method = "identity", options.iteration.max_iterations = limit;
  for (int z = 0; z < ENTRIES; z++) values[z] = z % 3 ? -1 : 2;  // by rows: 2 -1, -1 2 -1, ..., -1 2
  CHECK_OK(lac_pattern_banded(ctx, CHAIN, CHAIN, 1, 1, LAC_WIDTH_AUTO, &s.pattern, NULL));
  CHECK_OK(lac_solver_create(ctx, s.pattern, &options, &s.solver));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){ENTRIES}, values, LAC_OWNERSHIP_COPY, &s.a));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){CHAIN, 1}, &s.b));
  CHECK_OK(lac_array_fill(ctx, s.b, 1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &s.tape));
  return s;
}

static void chain_close(chain *s) {
  lac_tape_destroy(&s->tape);
  lac_array_destroy(&s->a);
  lac_array_destroy(&s->b);
  lac_solver_destroy(&s->solver);
  lac_pattern_destroy(&s->pattern);
}

static lac_solve_report last_of(lac_context *ctx) {
  lac_solve_report report = {.size = sizeof report};
  CHECK_OK(lac_context_last_solve(ctx, &report));
  return report;
}

static void what_is_not_reached_is_reported_of_derivatives_too(lac_context *ctx) {
  chain s = chain_open(ctx, 2);
  lac_var a = lac_tape_leaf(s.tape, s.a), b = lac_tape_leaf(s.tape, s.b), bar = {0};
  lac_var x = lac_solve_from(s.tape, s.solver, a, b, (lac_var){0}, LAC_PLAIN, true);
  CHECK_OK(lac_tape_status(s.tape));
  CHECK_EQ(last_of(ctx).ending, LAC_ENDING_LIMIT);
  CHECK_EQ(last_of(ctx).iterations, 2);
  CHECK_TEXT(last_of(ctx).method, "minres");
  CHECK_TEXT(last_of(ctx).preconditioner, "identity");
  CHECK(last_of(ctx).residual > 0.5);
  lac_var loss = lac_dot(s.tape, x, x);
  CHECK_OK(lac_tape_vjp(s.tape, 1, &loss, NULL, 1, &a, &bar, LAC_GRAPH_NONE));
  CHECK_EQ(last_of(ctx).ending, LAC_ENDING_LIMIT);
  chain_close(&s);
}

static void what_is_not_reached_is_an_error_where_nobody_asked(lac_context *ctx) {
  chain s = chain_open(ctx, 2);
  lac_var a = lac_tape_leaf(s.tape, s.a), b = lac_tape_leaf(s.tape, s.b);
  CHECK(!lac_solve_from(s.tape, s.solver, a, b, b, LAC_PLAIN, false).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_CONVERGENCE, "after 2 iterations");
  chain_close(&s);
}

/// The solution is i (n + 1 - i) / 2: from there nothing is left to do.
static void a_good_start_saves_iterations(lac_context *ctx) {
  double exact[CHAIN];
  chain s = chain_open(ctx, 1000);
  lac_array *start = NULL;
  lac_var a = lac_tape_leaf(s.tape, s.a), b = lac_tape_leaf(s.tape, s.b);
  for (int i = 0; i < CHAIN; i++) exact[i] = 0.5 * (i + 1) * (CHAIN - i);
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){CHAIN, 1}, exact, LAC_OWNERSHIP_COPY, &start));
  (void)lac_solve_from(s.tape, s.solver, a, b, (lac_var){0}, LAC_PLAIN, true);
  CHECK(last_of(ctx).iterations > 100);
  CHECK_EQ(last_of(ctx).ending, LAC_ENDING_CONVERGED);
  (void)lac_solve_from(s.tape, s.solver, a, b, lac_tape_constant(s.tape, start), LAC_PLAIN, true);
  CHECK_OK(lac_tape_status(s.tape));
  CHECK_EQ(last_of(ctx).ending, LAC_ENDING_CONVERGED);
  CHECK_EQ(last_of(ctx).iterations, 0);
  lac_array_destroy(&start);
  chain_close(&s);
}

CHECK_MAIN(every_form_differentiates_from_any_start, a_direct_method_does_not_read_the_start,
           starts_are_spread_over_the_batch, what_is_not_reached_is_reported_of_derivatives_too,
           what_is_not_reached_is_an_error_where_nobody_asked, a_good_start_saves_iterations)
