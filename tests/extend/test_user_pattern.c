// SPDX-License-Identifier: Apache-2.0
/// A user's operator on a sparse matrix, written with public headers and linked to the library alone.
///
///     forward   y     = (A o A) x                               o: entry by entry
///     vjp       a_bar = 2 a * sddmm(P, y_bar, x)
///               x_bar = (A o A)^T y_bar                         spmm(P, T, a * a, y_bar)
///     jvp       y_dot = 2 (A o A_dot) x + (A o A) x_dot

#include <lacuna/extend.h>
#include <lacuna/lacuna.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int holds, const char *what, const lac_context *ctx) {
  if (holds) return;
  failures++;
  printf("FAILED: %s (%s)\n", what, lac_context_error(ctx));
}

enum { A, X };

static lac_status squared_infer(lac_call *c) {
  if (c->in_meta[A].ndim > 1 || c->in_meta[X].ndim > 2) return lac_call_fail(c, LAC_ERR_SHAPE, "takes no batch");
  if (c->in_meta[A].dtype != LAC_F64) return lac_call_fail(c, LAC_ERR_DTYPE, "takes f64 alone");
  return lac_call_match(c);
}

static lac_status squared_forward(lac_call *c) {
  const lac_pattern *p = c->patterns[0];
  const int64_t nnz = lac_pattern_nnz(p), k = c->in_meta[X].shape[1];
  const double *a = lac_array_data(c->in[A]), *x = lac_array_data(c->in[X]);
  double *y = lac_array_edit(c->out[0]);
  int64_t *row = malloc((size_t)(nnz + 1) * sizeof *row), *col = malloc((size_t)(nnz + 1) * sizeof *col);
  lac_status status = row && col ? LAC_OK : lac_call_fail(c, LAC_ERR_MEMORY, "out of memory");

  if (status == LAC_OK) {
    lac_pattern_read(p, NULL, col, row);
    memset(y, 0, (size_t)lac_array_count(c->out[0]) * sizeof *y);
    for (int64_t z = 0; z < nnz; z++) {
      for (int64_t j = 0; j < k; j++) y[row[z] * k + j] += a[z] * a[z] * x[col[z] * k + j];
    }
  }
  free(row);
  free(col);
  return status;
}

static lac_var squared(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var x);

static void squared_vjp(lac_rule *r) {
  lac_tape *t = r->tape;
  const lac_pattern *p = r->patterns[0];
  lac_var a = r->in[A], x = r->in[X], y_bar = r->out_bar[0];

  if (r->wants[A]) r->in_bar[A] = lac_scale(t, lac_mul(t, a, lac_sddmm(t, p, y_bar, x)), 2, 0);
  if (r->wants[X]) r->in_bar[X] = lac_spmm(t, p, lac_mul(t, a, a), y_bar, LAC_TRANSPOSED);
}

static void squared_jvp(lac_rule *r) {
  lac_tape *t = r->tape;
  const lac_pattern *p = r->patterns[0];
  lac_var a = r->in[A], a_change = lac_scale(t, lac_mul(t, a, r->in_dot[A]), 2, 0);

  r->out_dot[0] = lac_add(t, lac_spmm(t, p, a_change, r->in[X], LAC_PLAIN), squared(t, p, a, r->in_dot[X]));
}

static const lac_op squared_op = {.name = "squared",
                                  .signature = "(z),(n,k)->(m,k)",
                                  .binds = "pattern 0: z, (m,n)",
                                  .vjp_needs = 1 << A | 1 << X,
                                  .jvp_needs = 1 << A | 1 << X,
                                  .order = LAC_ANY_ORDER,
                                  .infer = squared_infer,
                                  .forward = squared_forward,
                                  .vjp = squared_vjp,
                                  .jvp = squared_jvp};

static lac_var squared(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var x) {
  lac_var y;
  lac_tape_call(tape, &(lac_spec){.op = &squared_op, .patterns = {pattern}}, (lac_var[]){a, x}, &y);
  return y;
}

// A = [1 . 2; . . .; . -3 4; 5 . .], a row without entries among them.
enum { ROWS = 4, COLS = 3, NNZ = 5, K = 2 };

static lac_var squared_of_leaves(lac_tape *tape, const lac_var *leaves, void *user) {
  return squared(tape, user, leaves[0], leaves[1]);
}

static void check_values(lac_context *ctx, const lac_pattern *p, const lac_array *a, const lac_array *x) {
  static const double expected[ROWS * K] = {1 * 1 + 4 * 5,  1 * 2 + 4 * 6,  0,      0,
                                            9 * 3 + 16 * 5, 9 * 4 + 16 * 6, 25 * 1, 25 * 2};
  lac_tape *tape = NULL;
  double y[ROWS * K];

  expect(lac_tape_create(ctx, LAC_TAPE_RUN, &tape) == LAC_OK, "a tape", ctx);
  lac_var out = squared(tape, p, lac_tape_constant(tape, a), lac_tape_constant(tape, x));
  expect(lac_array_read(ctx, lac_tape_value(tape, out), y) == LAC_OK, "reading", ctx);
  expect(memcmp(y, expected, sizeof y) == 0, "(A o A) x", ctx);
  lac_tape_destroy(&tape);
}

static void check_derivatives(lac_context *ctx, lac_pattern *p, const lac_array *a, const lac_array *x) {
  lac_gradcheck_report report = {0};
  const lac_array *leaves[] = {a, x};

  expect(lac_gradcheck(ctx, squared_of_leaves, p, 2, leaves, NULL, &report) == LAC_OK, "gradcheck of squared", ctx);
  expect(report.tangent > 0 && report.second_tangent > 0, "gradcheck compared both orders", ctx);
}

static void check_refusals(lac_context *ctx, const lac_pattern *p, const lac_array *a, const lac_array *x) {
  lac_tape *tape = NULL;

  expect(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape) == LAC_OK, "a tape", ctx);
  lac_var values = lac_tape_leaf(tape, a), vectors = lac_tape_leaf(tape, x);
  (void)squared(tape, p, vectors, vectors);
  expect(lac_tape_status(tape) == LAC_ERR_SHAPE, "a block of vectors where values belong", ctx);
  lac_tape_clear(tape);
  values = lac_tape_leaf(tape, a), vectors = lac_tape_leaf(tape, x);
  (void)squared(tape, NULL, values, vectors);
  expect(lac_tape_status(tape) == LAC_ERR_ARG, "no pattern", ctx);
  expect(strstr(lac_context_error(ctx), "squared: pattern 0 is missing") != NULL, "its sentence", ctx);
  lac_tape_clear(tape);
  values = lac_tape_leaf(tape, a), vectors = lac_tape_leaf(tape, x);
  (void)squared(tape, p, values, lac_spmm(tape, p, values, vectors, LAC_PLAIN));
  expect(lac_tape_status(tape) == LAC_ERR_SHAPE, "vectors of another length than the columns bound to n", ctx);
  expect(strstr(lac_context_error(ctx), "squared") != NULL, "the sentence names the operator", ctx);
  lac_tape_destroy(&tape);
}

int main(void) {
  static const int64_t offsets[ROWS + 1] = {0, 2, 2, 4, 5}, columns[NNZ] = {0, 2, 1, 2, 0};
  lac_memory_stats stats = {.size = sizeof stats};
  lac_context *ctx = NULL;
  lac_pattern *p = NULL;
  lac_array *a = NULL, *x = NULL;
  int64_t nnz = NNZ, block[] = {COLS, K};
  double values[NNZ] = {1, 2, -3, 4, 5}, vectors[COLS * K] = {1, 2, 3, 4, 5, 6};

  if (lac_context_create("cpu", 0, &ctx) != LAC_OK) return 1;
  expect(lac_pattern_from_csr(ctx, ROWS, COLS, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL) == LAC_OK,
         "a pattern", ctx);
  expect(lac_array_from(ctx, LAC_F64, 1, &nnz, values, LAC_OWNERSHIP_COPY, &a) == LAC_OK, "values", ctx);
  expect(lac_array_from(ctx, LAC_F64, 2, block, vectors, LAC_OWNERSHIP_COPY, &x) == LAC_OK, "vectors", ctx);
  check_values(ctx, p, a, x);
  check_derivatives(ctx, p, a, x);
  check_refusals(ctx, p, a, x);
  lac_array_destroy(&a);
  lac_array_destroy(&x);
  lac_pattern_destroy(&p);
  lac_context_destroy(&ctx);
  expect(lac_memory_get_stats("cpu", &stats) == LAC_OK, "counters", NULL);
  expect(stats.live_blocks == 0, "every block was given back", NULL);
  printf("%s\n", failures ? "failed" : "user operators on patterns: all hold");
  return failures != 0;
}
