// SPDX-License-Identifier: Apache-2.0
/// @file kron.c
/// Kronecker products and sums of sparse matrices, never formed.
///
///     (A (x) B) x            = B along the inner rows of A along the outer rows of x
///     (A (x) I + I (x) B) x  = A along the outer rows + B along the inner rows
///
/// A along outer rows is a product with inner * k columns; B along inner rows is a batch of `outer` products. Both are
/// reshapes.

#include "functions/function.h"
#include "ops/solves/factored.h"

/// x (.., rows, columns) as (.., outer, inner, columns).
static lac_var kron_split(lac_tape *tape, lac_var x, int64_t outer, int64_t inner, int64_t columns) {
  return lac_emit_axes(tape, x, 2, 3, (int64_t[]){outer, inner, columns});
}

/// The same with inner rows among the columns, and back from either of both: the last `drop` axes become (rows,
/// columns).
static lac_var kron_join(lac_tape *tape, lac_var x, int drop, int64_t rows, int64_t columns) {
  return lac_emit_axes(tape, x, drop, 2, (int64_t[]){rows, columns});
}

/// Values with a batch get an axis for the outer rows, which all share them.
static lac_var kron_values(lac_tape *tape, lac_var b) {
  const lac_meta *meta = lac_tape_meta(tape, b);
  return meta && meta->ndim > 1 ? kron_join(tape, b, 1, 1, meta->shape[meta->ndim - 1]) : b;
}

static lac_status kron_times(lac_context *ctx, const char *name, int64_t a, int64_t b, int64_t *out) {
  lac_status status = LAC_OK;

  LAC_CHECK(!__builtin_mul_overflow(a, b, out) && *out <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
            "%s: %lld times %lld rows are beyond what can be addressed (%lld)", name, (long long)a, (long long)b,
            (long long)LAC_MAX_COUNT);
done:
  return status;
}

/// Refuse an x that does not have outer * inner rows; its columns.
static lac_status kron_columns(lac_tape *tape, const char *name, lac_var x, int64_t outer, int64_t inner, int64_t *k) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *meta = lac_tape_meta(tape, x);
  int64_t rows = 0, columns = 0;

  LAC_TRY(kron_times(ctx, name, outer, inner, &rows));
  LAC_CHECK(meta->ndim > 1, LAC_ERR_SHAPE, "%s: the dense operand is a vector; it must have rows and columns", name);
  LAC_CHECK(meta->shape[meta->ndim - 2] == rows, LAC_ERR_SHAPE,
            "%s: the dense operand has %lld rows; it must have %lld rows, %lld times %lld", name,
            (long long)meta->shape[meta->ndim - 2], (long long)rows, (long long)outer, (long long)inner);
  *k = meta->shape[meta->ndim - 1];
  LAC_TRY(kron_times(ctx, name, inner, *k, &columns));
done:
  return status;
}

/// The shape of op(P).
static void kron_sizes(const lac_pattern *p, lac_form form, int64_t *m, int64_t *n) {
  bool t = lac_form_transposes(form);
  *m = t ? p->cols : p->rows;
  *n = t ? p->rows : p->cols;
}

static lac_status kron_check(lac_context *ctx, const char *name, const lac_pattern *pa, const lac_pattern *pb) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_pattern_require_host(ctx, pa, name));
  LAC_TRY(lac_pattern_require_host(ctx, pb, name));
done:
  return status;
}

lac_var lac_kron_mm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b, lac_var x,
                    lac_form op) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  int64_t ma, na, mb, nb, rows = 0, k = 0;
  lac_var y = {0};

  if (!lac_tape_has(tape, "kron_mm", 3, (lac_var[]){a, b, x})) return y;
  LAC_TRY(kron_check(ctx, "kron_mm", pa, pb));
  kron_sizes(pa, op, &ma, &na);
  kron_sizes(pb, op, &mb, &nb);
  LAC_TRY(kron_columns(tape, "kron_mm", x, na, nb, &k));
  LAC_TRY(kron_times(ctx, "kron_mm", ma, mb, &rows));
  y = lac_spmm(tape, pa, a, kron_join(tape, x, 2, na, nb * k), op);
  y = lac_spmm(tape, pb, kron_values(tape, b), kron_split(tape, y, ma, nb, k), op);
  return kron_join(tape, y, 3, rows, k);
done:
  return lac_tape_fail(tape, status);
}

lac_var lac_kronsum_mm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b, lac_var x,
                       lac_form op) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  int64_t n, m, k = 0;
  lac_var outer = {0}, inner = {0};

  if (!lac_tape_has(tape, "kronsum_mm", 3, (lac_var[]){a, b, x})) return (lac_var){0};
  LAC_TRY(kron_check(ctx, "kronsum_mm", pa, pb));
  n = pa->rows, m = pb->rows;
  LAC_CHECK(pa->cols == n && pb->cols == m, LAC_ERR_SHAPE,
            "kronsum_mm: the matrices are %lld x %lld and %lld x %lld; both must be square", (long long)n,
            (long long)pa->cols, (long long)m, (long long)pb->cols);
  LAC_TRY(kron_columns(tape, "kronsum_mm", x, n, m, &k));
  outer = lac_spmm(tape, pa, a, kron_join(tape, x, 2, n, m * k), op);
  inner = lac_spmm(tape, pb, kron_values(tape, b), kron_split(tape, x, n, m, k), op);
  return lac_add(tape, kron_join(tape, outer, 2, n * m, k), kron_join(tape, inner, 3, n * m, k));
done:
  return lac_tape_fail(tape, status);
}

/// The map of rows that stand with those of A outside, n of them, to where they stand with those of B outside.
static lac_status kron_turn(lac_context *ctx, int64_t n, int64_t m, lac_map **out) {
  lac_status status = LAC_OK;
  int64_t *target = NULL;

  LAC_ALLOC(target, n * m);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++) target[i * m + j] = j * n + i;
  }
  LAC_TRY(lac_map_create(ctx, n * m, n * m, target, out));
done:
  lac_free(target);
  return status;
}

/// op(B)^-1 along the inner rows of x (n, m k). Values without a batch serve a batch of n solves; those with one must
/// stay as they are, for a factor knows its values: then the inner rows become the outer ones, and are put back.
static lac_status kron_solve_inner(lac_tape *tape, const void *sb, lac_form form, lac_var b, int64_t n, int64_t m,
                                   int64_t k, lac_var *x) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *meta = lac_tape_meta(tape, b);
  lac_map *turn = NULL;

  if (!meta || meta->ndim < 2) {
    *x = lac_emit_solution(tape, sb, form, b, kron_split(tape, *x, n, m, k));
    *x = kron_join(tape, *x, 3, n * m, k);
    goto done;
  }
  LAC_TRY(kron_turn(ctx, n, m, &turn));
  *x = lac_scatter_add(tape, turn, kron_join(tape, *x, 2, n * m, k));
  *x = lac_emit_solution(tape, sb, form, b, kron_join(tape, *x, 2, m, n * k));
  *x = lac_gather(tape, turn, kron_join(tape, *x, 2, n * m, k));
done:
  lac_map_destroy(&turn);
  return status;
}

/// By a solver or a factor of each.
static lac_var kron_solve_by(lac_tape *tape, lac_form form, const void *sa, lac_var a, const void *sb, lac_var b,
                             lac_var y) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  int64_t n, m, k = 0;
  lac_var x = {0};

  if (!lac_tape_has(tape, "kron_solve", 3, (lac_var[]){a, b, y})) return x;
  LAC_CHECK(sa && sb, LAC_ERR_ARG, "kron_solve: both solvers must be there; see lac_solver_create");
  n = lac_pattern_rows(lac_factored_pattern(sa)), m = lac_pattern_rows(lac_factored_pattern(sb));
  LAC_TRY(kron_columns(tape, "kron_solve", y, n, m, &k));
  x = lac_emit_solution(tape, sa, form, a, kron_join(tape, y, 2, n, m * k));
  LAC_TRY(kron_solve_inner(tape, sb, form, b, n, m, k, &x));
  return x;
done:
  return lac_tape_fail(tape, status);
}

lac_var lac_kron_solve(lac_tape *tape, const lac_solver *sa, lac_var a, const lac_solver *sb, lac_var b, lac_var y,
                       lac_form op) {
  return kron_solve_by(tape, op, sa, a, sb, b, y);
}

LAC_WRITES(kron_mm, "pa: pattern, a: values, pb: pattern, b: values, x: columns, op: form = N",
           "y = op(A (x) B) x, the Kronecker product never formed: rows of A outside, rows of B inside.") {
  c->out[0] = lac_kron_mm(c->tape, PATTERN(c, 0), IN(c, 0), PATTERN(c, 1), IN(c, 1), IN(c, 2), (lac_form)INT(c, 0));
}

LAC_WRITES(kronsum_mm, "pa: pattern, a: values, pb: pattern, b: values, x: columns, op: form = N",
           "y = op(A (x) I + I (x) B) x for square A and B.") {
  c->out[0] = lac_kronsum_mm(c->tape, PATTERN(c, 0), IN(c, 0), PATTERN(c, 1), IN(c, 1), IN(c, 2), (lac_form)INT(c, 0));
}

LAC_WRITES(kron_solve, "sa: factor, a: values, sb: factor, b: values, y: columns, op: form = N",
           "x = op(A (x) B)^-1 y by a pattern, solver or factor of A and one of B.") {
  c->out[0] = kron_solve_by(c->tape, (lac_form)INT(c, 0), FACTORED(c, 0), IN(c, 0), FACTORED(c, 1), IN(c, 1), IN(c, 2));
}
