// SPDX-License-Identifier: Apache-2.0
/// Least squares, made of solve_with: tall, wide, damped; their values, refusals and derivatives.

#include <math.h>
#include <stdbool.h>

#include "core/memory_impl.h"
#include "support/matrix_market.h"
#include "support/op_case.h"
#include "support/rectangle.h"
#include "support/reports.h"
#include "support/scratch.h"

/// The solver of a case's system.
static lac_status system_of(lac_context *ctx, const lac_pattern *p, const char *method, lac_solver **out) {
  lac_pattern *system = NULL;
  lac_status status = lac_pattern_augmented(ctx, p, &system, NULL);
  lac_solver_options options = lac_solver_options_defaults();
  options.method = method;
  if (status == LAC_OK) status = lac_solver_create(ctx, system, &options, out);
  lac_pattern_destroy(&system);
  return status;
}

static lac_status lstsq_object(const op_setup *setup, lac_array *const *in, const void **out) {
  lac_solver *solver = NULL;
  (void)in;
  lac_status status = system_of(setup->ctx, setup->patterns[0], "auto", &solver);
  *out = solver;
  return status;
}

/// damp, where there is one, is the real part of input 2. i[0]: how many outputs.
static void lstsq_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_var both[2], damp = {0};
  if (setup->c->shapes[2]) damp = lac_real(tape, in[2]);
  lac_lstsq(tape, setup->patterns[0], in[0], in[1], damp, setup->object, both);
  for (int i = 0; i < setup->c->i[0]; ++i) out[i] = both[i];
}

static void lstsq_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[0];
  int64_t k = out[0].meta.shape[out[0].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_matrix(s, walk_item(&w, &in[0], 1)), b = dense_over(s->rows, k, walk_item(&w, &in[1], 2));
    dense x = rectangle_lstsq(a, b, c->shapes[2] ? creal(*walk_item(&w, &in[2], 0)) : 0);
    dense_copy_to(x, walk_item(&w, &out[0], 2));
    if (c->i[0] < 2 || (!c->shapes[2] && s->rows <= s->cols)) continue;  // the residual is zero
    dense ax = dense_mul(a, x);
    for (int64_t z = 0; z < s->rows * k; ++z) walk_item(&w, &out[1], 2)[z] = b.x[z] - ax.x[z];
  }
}

/// k right-hand sides; `batch` is that of the result.
static op_case lstsq_case(const sketch *s, const char *batch_a, const char *batch_b, const char *batch, int k) {
  op_case c = {.op = "solve_with", .patterns = {s}, .slack = 64, .i = {2}};
  c.apply = lstsq_apply, c.dense = lstsq_dense, c.fill = rectangle_fill, c.object = lstsq_object;
  c.shapes[0] = op_text("%snnz", batch_a), c.shapes[1] = op_text("%s%lld,%d", batch_b, (long long)s->rows, k);
  c.result[0] = op_text("%s%lld,%d", batch, (long long)s->cols, k);
  c.result[1] = op_text("%s%lld,%d", batch, (long long)s->rows, k);
  c.fixed[0] = 1, c.fixed[1] = 2, c.degree[1] = 1, c.skip = OP_MEMORY;
  return c;
}

/// The same with damp. The battery's complex damp becomes real, so that wrong dtypes are a test of their own.
static op_case damped_case(const sketch *s, int k) {
  op_case c = lstsq_case(s, "", "", "", k);
  c.shapes[2] = "", c.skip |= OP_INPUT;
  return c;
}

static void check_case(lac_context *ctx, op_case c) { check_op(ctx, &c); }

static void lstsq_differentiates_tall_and_square_systems(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  check_case(ctx, lstsq_case(rectangle(5, 3, 1), "", "", "", 2));
  check_case(ctx, lstsq_case(rectangle(3, 3, 2), "", "", "", 1));
}

static void lstsq_differentiates_wide_systems(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  check_case(ctx, lstsq_case(rectangle(3, 5, 3), "", "", "", 2));
}

static void lstsq_differentiates_damped_systems_of_any_shape(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  check_case(ctx, damped_case(rectangle(4, 3, 1), 2));
  check_case(ctx, damped_case(rectangle(3, 4, 3), 1));
}

static void lstsq_broadcasts_batches_both_ways(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  check_case(ctx, lstsq_case(rectangle(4, 2, 1), "2,", "", "2,", 1));
  check_case(ctx, lstsq_case(rectangle(2, 4, 1), "", "2,", "2,", 1));
}

static void lstsq_takes_what_is_empty(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  check_case(ctx, lstsq_case(sketch_empty(3, 0), "", "", "", 2));
  check_case(ctx, lstsq_case(sketch_empty(0, 3), "", "", "", 2));
  check_case(ctx, lstsq_case(sketch_empty(0, 0), "", "", "", 2));
  check_case(ctx, lstsq_case(rectangle(3, 2, 1), "", "", "", 0));
  check_case(ctx, lstsq_case(rectangle(3, 2, 1), "0,", "", "0,", 1));
  check_case(ctx, damped_case(sketch_empty(3, 2), 1));
}

/// x alone is as large as A is small, over all the range that numbers have.
static void lstsq_takes_values_of_any_size(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  for (int wide = 0; wide <= 1; ++wide) {
    op_case c = lstsq_case(wide ? rectangle(3, 4, 1) : rectangle(4, 3, 1), "", "", "", 1);
    c.result[1] = NULL, c.i[0] = 1, c.degree[0] = -1;
    check_op(ctx, &c);
  }
}

// -- one system of doubles -------------------------------------------------------------------------------------------

typedef struct answer {
  lac_status status;
  double *x, *r;
} answer;

/// What solves the systems; each test below is run with all of them.
static const char *const methods[] = {"auto", "ldlt", "lu", "pivoting_lu"};
enum { METHODS = sizeof methods / sizeof *methods };

/// x and r of min |A x - b|, k = 1. A negative damp is none. Kept in scratch memory.
static answer least_squares(lac_context *ctx, const char *method, const sketch *s, const double *a, const double *b,
                            double damp) {
  answer out = {.x = scratch((size_t)(s->cols + 1) * 8), .r = scratch((size_t)(s->rows + 1) * 8)};
  lac_pattern *p = NULL;
  lac_solver *solver = NULL;
  lac_array *values = NULL, *right = NULL;
  lac_tape *tape = NULL;
  lac_var both[2], delta = {0};
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  CHECK_OK(system_of(ctx, p, method, &solver));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &s->nnz, (void *)a, LAC_OWNERSHIP_COPY, &values));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){s->rows, 1}, (void *)b, LAC_OWNERSHIP_COPY, &right));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  if (damp >= 0) delta = lac_tape_scalar(tape, LAC_F64, damp, 0);
  lac_lstsq(tape, p, lac_tape_leaf(tape, values), lac_tape_constant(tape, right), delta, solver, both);
  out.status = lac_tape_status(tape);
  if (out.status == LAC_OK) {
    CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, both[0]), out.x));
    CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, both[1]), out.r));
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&values);
  lac_array_destroy(&right);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&p);
  return out;
}

/// A dense m x n sketch.
static const sketch *full(int64_t m, int64_t n) {
  sketch *s = scratch(sizeof *s);
  *s = (sketch){m, n, m * n, scratch((size_t)(m * n) * 8), scratch((size_t)(m * n) * 8)};
  for (int64_t z = 0; z < m * n; ++z) s->row[z] = z / n, s->col[z] = z % n;
  return s;
}

static void check_rank(lac_context *ctx, const char *method) {
  enum { M = 7, N = 4 };
  double tall[M * N], wide[M * N], b[M];
  random_state random = random_start(4);
  for (int i = 0; i < M; ++i) {
    b[i] = random_unit(&random);
    for (int j = 0; j < N; ++j) tall[i * N + j] = random_unit(&random);
    tall[i * N + 2] = 0.3 * tall[i * N] - 0.7 * tall[i * N + 1];
    for (int j = 0; j < N; ++j) wide[j * M + i] = tall[i * N + j];
  }
  CHECK_FAILS(least_squares(ctx, method, full(M, N), tall, b, -1).status, LAC_ERR_SINGULAR, "give (more) damp");
  CHECK_FAILS(least_squares(ctx, method, full(N, M), wide, b, -1).status, LAC_ERR_SINGULAR, "give (more) damp");
  CHECK_FAILS(least_squares(ctx, method, full(M, N), tall, b, 0).status, LAC_ERR_SINGULAR, "give (more) damp");
  CHECK_OK(least_squares(ctx, method, full(M, N), tall, b, 1e-3).status);
  CHECK_OK(least_squares(ctx, method, full(N, M), wide, b, 1e-3).status);
  CHECK_FAILS(least_squares(ctx, method, sketch_empty(3, 2), tall, b, -1).status, LAC_ERR_SINGULAR, "give (more) damp");
  CHECK_OK(least_squares(ctx, method, sketch_empty(3, 2), tall, b, 1).status);
}

static void lstsq_asks_for_damp_where_the_rank_is_not_full(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  for (int i = 0; i < METHODS; ++i) check_rank(ctx, methods[i]);
}

/// Columns of sizes from 1e-100 to 1e100, of a matrix whose solution is known: x_j is 1 over the size.
static void check_columns(lac_context *ctx, const char *method) {
  enum { M = 12, N = 5 };
  double a[M * N], wide[M * N], b[M] = {0}, c[N] = {0};
  random_state random = random_start(8);
  for (int z = 0; z < M * N; ++z) {
    int i = z / N, j = z % N;
    double v = random_unit(&random);
    a[z] = v * pow(10, 50 * (j - 2));
    wide[j * M + i] = v * pow(10, 50 * (j - 2));
    b[i] += v;
  }
  answer tall = least_squares(ctx, method, full(M, N), a, b, -1);
  CHECK_OK(tall.status);
  for (int j = 0; j < N; ++j) CHECK_NEAR(tall.x[j] * pow(10, 50 * (j - 2)), 1, 1e-13);
  for (int j = 0; j < N; ++j) c[j] = pow(10, 50 * (j - 2));
  answer short_one = least_squares(ctx, method, full(N, M), wide, c, -1);
  CHECK_OK(short_one.status);
  for (int j = 0; j < N; ++j) {
    double sum = 0;
    for (int i = 0; i < M; ++i) sum += wide[j * M + i] * short_one.x[i];
    CHECK_NEAR(sum / c[j], 1, 1e-13);
  }
}

static void lstsq_takes_columns_of_any_size(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  for (int i = 0; i < METHODS; ++i) check_columns(ctx, methods[i]);
}

/// A condition of 1e7, which its square would drown: polynomials of degree 8 on 20 points, fitted to one of them.
static void check_accuracy(lac_context *ctx, const char *method) {
  enum { M = 20, N = 9 };
  double a[M * N], b[M] = {0};
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) a[i * N + j] = pow((double)(i + 1) / M, j);
    for (int j = 0; j < N; ++j) b[i] += a[i * N + j] * (j % 2 ? -1 : 1);
  }
  answer got = least_squares(ctx, method, full(M, N), a, b, -1);
  CHECK_OK(got.status);
  for (int j = 0; j < N; ++j) CHECK_NEAR(got.x[j], j % 2 ? -1 : 1, 1e-8);
  for (int i = 0; i < M; ++i) CHECK(fabs(got.r[i]) < 1e-14);
}

static void lstsq_is_as_accurate_as_an_orthogonal_factorisation(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  for (int i = 0; i < METHODS; ++i) check_accuracy(ctx, methods[i]);
}

static double largest(int64_t n, const double *x) {
  double most = 0;
  for (int64_t i = 0; i < n; ++i) most = fmax(most, fabs(x[i]));
  return most;
}

/// A matrix of a linear program, 223 x 472, on its side and upright.
static void check_practice(lac_context *ctx, const char *method) {
  mm_matrix mm;
  mm_read("lp_e226", &mm);
  sketch wide = {mm.rows, mm.cols, mm.count, mm.row, mm.col};
  const sketch *tall = sketch_transpose(&wide);
  double *a = scratch((size_t)mm.count * 8), *t = scratch((size_t)mm.count * 8), *b = scratch((size_t)mm.cols * 8);
  for (int64_t z = 0; z < mm.count; ++z) a[z] = mm.value[2 * z];
  for (int64_t z = 0; z < mm.count; ++z) t[sketch_find(tall, mm.col[z], mm.row[z])] = a[z];
  for (int64_t i = 0; i < mm.cols; ++i) b[i] = sin((double)i + 1);
  answer shortest = least_squares(ctx, method, &wide, a, b, -1), nearest = least_squares(ctx, method, tall, t, b, -1);
  CHECK_OK(shortest.status);
  CHECK_OK(nearest.status);
  double *ax = scratch((size_t)mm.rows * 8), *slope = scratch((size_t)mm.rows * 8);
  for (int64_t z = 0; z < mm.count; ++z) {
    ax[mm.row[z]] += a[z] * shortest.x[mm.col[z]];
    slope[mm.row[z]] += a[z] * nearest.r[mm.col[z]];
  }
  for (int64_t i = 0; i < mm.rows; ++i) ax[i] -= b[i];
  CHECK(largest(mm.rows, ax) < 1e-12);                                     // it is a solution,
  CHECK(largest(mm.rows, slope) < 1e-11 * largest(mm.count, a));           // it is a minimum,
  answer row_space = least_squares(ctx, method, tall, t, shortest.x, -1);  // it has no part outside the row space:
  CHECK_OK(row_space.status);
  CHECK(largest(mm.cols, row_space.r) < 1e-12 * largest(mm.cols, shortest.x));  // so it is the shortest one
  mm_free(&mm);
}

static void lstsq_solves_a_matrix_from_practice(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  for (int i = 0; i < METHODS; ++i) check_practice(ctx, methods[i]);
}

/// Damp of another dtype, a solver of another pattern, b of another length, nothing at all.
static void lstsq_refuses_what_does_not_fit(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  const sketch *s = rectangle(4, 3, 1);
  for (int wrong = 0; wrong < 5; ++wrong) {
    lac_pattern *p = NULL, *other = NULL;
    lac_solver *solver = NULL;
    lac_array *a = NULL, *b = NULL;
    lac_tape *tape = NULL;
    lac_var out[2], damp = {0};
    CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
    CHECK_OK(lac_pattern_eye(ctx, 4, 4, 0, LAC_WIDTH_AUTO, &other));
    CHECK_OK(wrong == 1 ? lac_solver_create(ctx, other, NULL, &solver) : system_of(ctx, p, "auto", &solver));
    CHECK_OK(lac_array_create(ctx, LAC_F64, 1, &s->nnz, &a));
    CHECK_OK(lac_array_create(ctx, wrong == 4 ? LAC_F32 : LAC_F64, 2, (int64_t[]){wrong == 2 ? 3 : 4, 1}, &b));
    CHECK_OK(lac_array_fill(ctx, a, 1, 0));
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
    if (wrong == 0) damp = lac_tape_scalar(tape, LAC_C128, 1, 0);
    lac_lstsq(tape, p, lac_tape_leaf(tape, a), lac_tape_leaf(tape, b), damp, wrong == 3 ? NULL : solver, out);
    static const char *const words[] = {"damp is a real number", "one of another pattern",
                                        "must have shape (*batch, 4, k)", "lac_pattern_augmented", "they must agree"};
    static const lac_status statuses[] = {LAC_ERR_DTYPE, LAC_ERR_PATTERN, LAC_ERR_SHAPE, LAC_ERR_ARG, LAC_ERR_DTYPE};
    CHECK_FAILS(lac_tape_status(tape), statuses[wrong], words[wrong]);
    CHECK(!out[0].id && !out[1].id);
    lac_tape_destroy(&tape);
    lac_array_destroy(&a);
    lac_array_destroy(&b);
    lac_solver_destroy(&solver);
    lac_pattern_destroy(&p);
    lac_pattern_destroy(&other);
  }
}

// -- one gradient ----------------------------------------------------------------------------------------------------

typedef struct problem {
  lac_pattern *pattern;
  lac_solver *solver;
  lac_array *a, *b;
} problem;

static problem problem_open(lac_context *ctx, const sketch *s) {
  op_case c = lstsq_case(s, "", "", "", 1);
  lac_meta meta = op_shape(&c, LAC_F64, "nnz");
  ref values = ref_new(&meta);
  problem p = {NULL, NULL, NULL, NULL};
  ref_random(&values, 1, 0);
  rectangle_fill(&c, 0, &values);
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p.pattern));
  CHECK_OK(system_of(ctx, p.pattern, "auto", &p.solver));
  CHECK_OK(ref_upload(ctx, &values, &p.a));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){s->rows, 1}, &p.b));
  CHECK_OK(lac_array_fill(ctx, p.b, 1, 0));
  return p;
}

static void problem_close(problem *p) {
  lac_array_destroy(&p->a);
  lac_array_destroy(&p->b);
  lac_solver_destroy(&p->solver);
  lac_pattern_destroy(&p->pattern);
}

/// The gradient of |x|^2, and `order` 2: that of its square too.
static lac_status problem_differentiate(lac_context *ctx, const problem *p, int order) {
  lac_tape *tape = NULL;
  lac_var out[2], bar[2], again, leaf[2];
  lac_status status = lac_tape_create(ctx, LAC_TAPE_RECORD, &tape);
  if (status != LAC_OK) return status;
  leaf[0] = lac_tape_leaf(tape, p->a), leaf[1] = lac_tape_leaf(tape, p->b);
  lac_lstsq(tape, p->pattern, leaf[0], leaf[1], lac_tape_scalar(tape, LAC_F64, 0.5, 0), p->solver, out);
  lac_var loss = lac_sum(tape, lac_square(tape, out[0]));
  status = lac_tape_vjp(tape, 1, &loss, NULL, 2, leaf, bar, order > 1 ? LAC_GRAPH_CREATE : LAC_GRAPH_NONE);
  if (status == LAC_OK && order > 1) {
    loss = lac_sum(tape, lac_square(tape, bar[0]));
    status = lac_tape_vjp(tape, 1, &loss, NULL, 1, leaf, &again, LAC_GRAPH_NONE);
  }
  lac_tape_destroy(&tape);
  return status;
}

static void lstsq_factors_once_for_all_derivatives(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  problem p = problem_open(ctx, rectangle(5, 3, 1));
  CHECK_OK(problem_differentiate(ctx, &p, 2));
  CHECK_EQ(report_of_solver(p.solver).factorisations, 1);
  problem_close(&p);
}

/// The factor is kept, so that what fails is of least squares alone.
static void lstsq_leaks_nothing_where_an_allocation_fails(lac_context *ctx) {
  if (!check_claimed("segment_max")) return;
  problem p = problem_open(ctx, rectangle(3, 2, 1));
  CHECK_OK(problem_differentiate(ctx, &p, 1));
  long long before = check_live_blocks();
  bool is_reached = true;
  for (int64_t n = 1; is_reached; n = check_next_failure(ctx, n)) {
    lac_memory_fail_at(n);
    lac_status status = problem_differentiate(ctx, &p, 1);
    is_reached = lac_memory_fail_at(0) >= n;
    if (is_reached) CHECK_FAILS(status, LAC_ERR_MEMORY, "");
    CHECK_EQ(check_live_blocks(), before);
  }
  CHECK_OK(problem_differentiate(ctx, &p, 1));
  problem_close(&p);
}

CHECK_MAIN(lstsq_differentiates_tall_and_square_systems, lstsq_differentiates_wide_systems,
           lstsq_differentiates_damped_systems_of_any_shape, lstsq_broadcasts_batches_both_ways,
           lstsq_takes_what_is_empty, lstsq_takes_values_of_any_size, lstsq_asks_for_damp_where_the_rank_is_not_full,
           lstsq_takes_columns_of_any_size, lstsq_is_as_accurate_as_an_orthogonal_factorisation,
           lstsq_solves_a_matrix_from_practice, lstsq_refuses_what_does_not_fit, lstsq_factors_once_for_all_derivatives,
           lstsq_leaks_nothing_where_an_allocation_fails)
