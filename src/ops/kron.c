// SPDX-License-Identifier: Apache-2.0
/// @file kron.c
/// Kronecker products and sums of sparse matrices, never formed.
///
///     (A (x) B) x            = B along the inner rows of A along the outer rows of x
///     (A (x) I + I (x) B) x  = A along the outer rows + B along the inner rows
///
/// A along outer rows is a product with inner * k columns; B along inner rows is a batch of `outer` products. Both are reshapes.

#include "autodiff/rule.h"

/// The product of two sizes; one that no shape can have where it overflows, so that whoever takes it refuses.
static int64_t kron_times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/// x under the shape [*batch, a, b] or [*batch, a, b, c] (c < 0: not there), where its last `core` axes were.
static lac_var kron_shape(lac_tape *tape, lac_var x, int core, int64_t a, int64_t b, int64_t c) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  int64_t shape[LAC_MAX_DIMS + 3];

  if (!meta || meta->ndim < core) return (lac_var){0};
  int ndim = meta->ndim - core;
  for (int d = 0; d < ndim; ++d) shape[d] = meta->shape[d];
  shape[ndim++] = a;
  shape[ndim++] = b;
  if (c >= 0) shape[ndim++] = c;
  return lac_reshape(tape, x, ndim, shape);
}

/// Values with a batch get an axis for the outer rows, which all share them.
static lac_var kron_values(lac_tape *tape, lac_var b) {
  const lac_meta *meta = lac_tape_meta(tape, b);
  return meta && meta->ndim > 1 ? kron_shape(tape, b, 1, 1, meta->shape[meta->ndim - 1], -1) : b;
}

/// Refuse an x that does not have `rows` rows; its columns.
static lac_status kron_columns(lac_tape *tape, const char *name, lac_var x, int64_t rows, int64_t *k) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *meta = lac_tape_meta(tape, x);

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(meta && meta->ndim > 1, LAC_ERR_SHAPE, "%s: x must be there, with rows and columns", name);
  LAC_CHECK(meta->shape[meta->ndim - 2] == rows, LAC_ERR_SHAPE,
            "%s: x has %lld rows; the product of both matrices' columns is %lld", name,
            (long long)meta->shape[meta->ndim - 2], (long long)rows);
  *k = meta->shape[meta->ndim - 1];
done:
  return status;
}

/// The shape of op(P).
static void kron_sizes(const lac_pattern *p, lac_side side, int64_t *m, int64_t *n) {
  bool t = lac_side_transposes(side);
  *m = t ? p->cols : p->rows;
  *n = t ? p->rows : p->cols;
}

lac_var lac_kron_mm(lac_tape *tape, lac_side side, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                    lac_var x) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  int64_t ma, na, mb, nb, k = 0;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_require_local(ctx, pa, "kron_mm"));
  LAC_TRY(lac_pattern_require_local(ctx, pb, "kron_mm"));
  kron_sizes(pa, side, &ma, &na);
  kron_sizes(pb, side, &mb, &nb);
  LAC_TRY(kron_columns(tape, "kron_mm", x, kron_times(na, nb), &k));
  y = lac_spmm(tape, pa, side, a, kron_shape(tape, x, 2, na, kron_times(nb, k), -1));
  y = lac_spmm(tape, pb, side, kron_values(tape, b), kron_shape(tape, y, 2, ma, nb, k));
  return kron_shape(tape, y, 3, kron_times(ma, mb), k, -1);
done:
  return lac_tape_fail(tape, status);
}

lac_var lac_kronsum_mm(lac_tape *tape, lac_side side, const lac_pattern *pa, lac_var a, const lac_pattern *pb,
                       lac_var b, lac_var x) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  int64_t n, m, k = 0;
  lac_var outer = {0}, inner = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_require_local(ctx, pa, "kronsum_mm"));
  LAC_TRY(lac_pattern_require_local(ctx, pb, "kronsum_mm"));
  n = pa->rows, m = pb->rows;
  LAC_CHECK(pa->cols == n && pb->cols == m, LAC_ERR_SHAPE,
            "kronsum_mm: the matrices are %lld x %lld and %lld x %lld; both must be square", (long long)n,
            (long long)pa->cols, (long long)m, (long long)pb->cols);
  LAC_TRY(kron_columns(tape, "kronsum_mm", x, kron_times(n, m), &k));
  outer = lac_spmm(tape, pa, side, a, kron_shape(tape, x, 2, n, kron_times(m, k), -1));
  inner = lac_spmm(tape, pb, side, kron_values(tape, b), kron_shape(tape, x, 2, n, m, k));
  return lac_add(tape, kron_shape(tape, outer, 2, kron_times(n, m), k, -1),
                 kron_shape(tape, inner, 3, kron_times(n, m), k, -1));
done:
  return lac_tape_fail(tape, status);
}

lac_var lac_kron_solve(lac_tape *tape, lac_side side, const lac_solver *sa, lac_var a, const lac_solver *sb, lac_var b,
                       lac_var y) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  int64_t n, m, k = 0;
  lac_var x = {0};

  LAC_CHECK(sa && sb, LAC_ERR_ARG, "kron_solve: both solvers must be there; see lac_solver_create");
  n = lac_solver_pattern(sa)->rows, m = lac_solver_pattern(sb)->rows;
  LAC_TRY(kron_columns(tape, "kron_solve", y, kron_times(n, m), &k));
  x = lac_solve(tape, sa, side, a, kron_shape(tape, y, 2, n, kron_times(m, k), -1));
  x = lac_solve(tape, sb, side, kron_values(tape, b), kron_shape(tape, x, 2, n, m, k));
  return kron_shape(tape, x, 3, kron_times(n, m), k, -1);
done:
  return lac_tape_fail(tape, status);
}
