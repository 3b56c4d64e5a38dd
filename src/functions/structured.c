// SPDX-License-Identifier: Apache-2.0
/// @file structured.c
/// Structured matrices that are composed of other operators: tridiagonal, diagonal, Toeplitz.
///
///     tridiagonal   the three diagonals are brought together into a band
///     diagonal      a product number by number; a solve is that of a band of one diagonal
///     Toeplitz      a corner of a circulant of at least n + m - 1 rows, a power of two: x is padded by zeros, y cut;
///                   on a pattern it is a sparse matrix, whose values are gathered from column and row

#include "functions/function.h"
#include "ops/structured/banded.h"

/// A diagonal, (n), as the only row of a band, (1, n).
static lac_var band_of_one(lac_tape *tape, lac_var x) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  return lac_emit_axes(tape, x, 1, 2, (int64_t[]){1, meta ? lac_meta_last(meta) : 0});
}

/// A diagonal of a band as one row of n numbers, of which it is [begin, end).
static lac_var band_row(lac_tape *tape, lac_var x, int64_t n, int64_t begin, int64_t end) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  lac_meta like;

  if (!meta || meta->ndim == 0) return x;
  like = *meta;
  like.shape[like.ndim - 1] = n;
  return band_of_one(tape, lac_embed(tape, x, &like, -1, begin, end, 1));
}

lac_var lac_tridiagonal_solve(lac_tape *tape, lac_var lower, lac_var diag, lac_var upper, lac_var b) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *dm = lac_tape_meta(tape, diag), *lm = lac_tape_meta(tape, lower), *um = lac_tape_meta(tape, upper);
  int64_t n, off;
  lac_var ab = {0};

  if (!lac_tape_has(tape, "tridiagonal_solve", 4, (lac_var[]){lower, diag, upper, b})) return (lac_var){0};
  LAC_CHECK(dm->ndim && lm->ndim && um->ndim, LAC_ERR_SHAPE,
            "tridiagonal_solve: lower (n - 1), diag (n) and upper (n - 1) must have one dimension at least");
  n = lac_meta_last(dm), off = n > 0 ? n - 1 : 0;
  LAC_CHECK(lac_meta_last(lm) == off && lac_meta_last(um) == off, LAC_ERR_SHAPE,
            "tridiagonal_solve: diag has %lld numbers, lower %lld and upper %lld; lower and upper must have %lld",
            (long long)n, (long long)lac_meta_last(lm), (long long)lac_meta_last(um), (long long)off);
  ab = lac_concat_all(
      tape, 3,
      (lac_var[]){band_row(tape, upper, n, n - off, n), band_of_one(tape, diag), band_row(tape, lower, n, 0, off)}, -2);
  return lac_banded_solve(tape, 1, 1, ab, b, LAC_PLAIN);
done:
  return lac_tape_fail(tape, status);
}

lac_var lac_diag_mm(lac_tape *tape, lac_var d, lac_var x) {
  const lac_meta *meta = lac_tape_meta(tape, d);
  int64_t n = meta ? lac_meta_last(meta) : 0;  // a copy: calls grow the tape

  return lac_banded_mm(tape, 0, 0, band_of_one(tape, d), x, n, LAC_PLAIN);
}

lac_var lac_diag_solve(lac_tape *tape, lac_var d, lac_var b) {
  return lac_banded_solve(tape, 0, 0, band_of_one(tape, d), b, LAC_PLAIN);
}

/// The map from a Toeplitz matrix's first column and row, behind each other, to the first column of the circulant.
static lac_status toeplitz_map(lac_context *ctx, int64_t m, int64_t n, int64_t size, lac_map **out) {
  lac_status status = LAC_OK;
  int64_t *target = NULL;

  LAC_ALLOC(target, m + n);
  for (int64_t i = 0; i < m; ++i) target[i] = i;
  for (int64_t j = 0; j < n; ++j) target[m + j] = j ? size - j : -1;
  LAC_TRY(lac_map_create(ctx, m + n, size, target, out));
done:
  lac_free(target);
  return status;
}

/// x (n, k) with rows of zeros up to `size`.
static lac_var toeplitz_fill_up(lac_tape *tape, lac_var x, int64_t size) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  lac_meta like;

  if (!meta || meta->ndim < 2) return x;
  like = *meta;
  like.shape[like.ndim - 2] = size;
  return lac_embed(tape, x, &like, -2, 0, meta->shape[meta->ndim - 2], 1);
}

lac_var lac_toeplitz_mm(lac_tape *tape, lac_var column, lac_var row, lac_var x, lac_form op) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *cm = lac_tape_meta(tape, column), *rm = lac_tape_meta(tape, row), *xm = lac_tape_meta(tape, x);
  int64_t m, n, in, size = 1;
  lac_map *map = NULL;
  lac_var y = {0};

  if (!lac_tape_has(tape, "toeplitz_mm", 3, (lac_var[]){column, row, x})) return (lac_var){0};
  LAC_CHECK(cm->ndim && rm->ndim && xm->ndim > 1, LAC_ERR_SHAPE,
            "toeplitz_mm: the inputs have %d, %d and %d dimensions; they must be column (m), row (n) and x (n, k)",
            cm->ndim, rm->ndim, xm->ndim);
  m = lac_meta_last(cm), n = lac_meta_last(rm), in = lac_form_transposes(op) ? m : n;
  LAC_CHECK(xm->shape[xm->ndim - 2] == in, LAC_ERR_SHAPE, "toeplitz_mm: x has %lld rows; op(T) has %lld columns",
            (long long)xm->shape[xm->ndim - 2], (long long)in);
  while (size < m + n - 1 || size < m || size < n) size *= 2;  // of a matrix without rows x is there all the same
  LAC_TRY(toeplitz_map(ctx, m, n, size, &map));
  y = lac_circulant_mm(tape, lac_remap(tape, map, lac_concat(tape, column, row, -1), LAC_PLAIN),
                       toeplitz_fill_up(tape, x, size), op);
  y = lac_slice(tape, y, -2, 0, lac_form_transposes(op) ? n : m, 1);
done:
  lac_map_destroy(&map);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

/// The map from the slots of a pattern to a Toeplitz matrix's first column and row, behind each other.
static lac_status toeplitz_places(lac_context *ctx, const lac_pattern *pattern, lac_map **out) {
  lac_status status = LAC_OK;
  int64_t *target = NULL;

  LAC_ALLOC(target, pattern->nnz);
  for (int64_t i = 0; i < pattern->rows; ++i) {
    int64_t end = lac_buffer_get(pattern->offsets, i + 1);
    for (int64_t z = lac_buffer_get(pattern->offsets, i); z < end; ++z) {
      int64_t j = lac_buffer_get(pattern->columns, z);
      target[z] = i >= j ? i - j : pattern->rows + j - i;
    }
  }
  LAC_TRY(lac_map_create(ctx, pattern->nnz, pattern->rows + pattern->cols, target, out));
done:
  lac_free(target);
  return status;
}

lac_var lac_toeplitz(lac_tape *tape, const lac_pattern *pattern, lac_var column, lac_var row) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *cm = lac_tape_meta(tape, column), *rm = lac_tape_meta(tape, row);
  lac_map *map = NULL;
  lac_var a = {0};

  if (!lac_tape_has(tape, "toeplitz", 2, (lac_var[]){column, row})) return (lac_var){0};
  LAC_TRY(lac_pattern_require_host(ctx, pattern, "toeplitz"));
  LAC_CHECK(cm->ndim && rm->ndim && lac_meta_last(cm) == pattern->rows && lac_meta_last(rm) == pattern->cols,
            LAC_ERR_SHAPE, "toeplitz: column has %lld numbers and row %lld; the pattern has %lld rows and %lld columns",
            (long long)lac_meta_last(cm), (long long)lac_meta_last(rm), (long long)pattern->rows,
            (long long)pattern->cols);
  LAC_TRY(toeplitz_places(ctx, pattern, &map));
  a = lac_remap(tape, map, lac_concat(tape, column, row, -1), LAC_TRANSPOSED);
done:
  lac_map_destroy(&map);
  return status == LAC_OK ? a : lac_tape_fail(tape, status);
}

// -- entries ---------------------------------------------------------------------------------------------------------

LAC_WRITES(banded_mm, "lower_and_upper: bands, ab: array, x: columns, rows: integer = -1, op: form = N",
           "y = op(A) x for a banded A stored as SciPy stores it, ab[upper + i - j, j] = A[i, j]; square unless `rows` "
           "says.") {
  const lac_meta *ab = lac_tape_meta(c->tape, IN(c, 0));
  int64_t rows = INT(c, 2) < 0 && ab ? lac_meta_last(ab) : INT(c, 2);

  c->out[0] = lac_banded_mm(c->tape, INT(c, 0), INT(c, 1), IN(c, 0), IN(c, 1), rows, (lac_form)INT(c, 3));
}

/// How far op of a band reaches below (0) and above (1) the diagonal. A reach that the operator refuses is cut off, so
/// that the sum of two exists.
static int64_t band_reach(const lac_function_call *c, int first, int64_t form, int above) {
  int64_t reach = INT(c, first + (lac_form_transposes((lac_form)form) ? !above : above));
  return reach < 0 ? -1 : reach < LAC_MAX_COUNT ? reach : LAC_MAX_COUNT;
}

LAC_WRITES(
    banded_gemm,
    "bands_of_x: bands, x: array, bands_of_y: bands, y: array, target: bands = -1 -1, op_x: form = N, op_y: form = N",
    "op(X) op(Y) of two square banded matrices on the band `target`, which by default holds all of it.") {
  int64_t sx = INT(c, 6), sy = INT(c, 7), target[2] = {INT(c, 4), INT(c, 5)};

  if (target[0] == -1 && target[1] == -1) {
    for (int above = 0; above < 2; above++) target[above] = band_reach(c, 0, sx, above) + band_reach(c, 2, sy, above);
  }
  c->out[0] = lac_banded_gemm(c->tape, INT(c, 0), INT(c, 1), IN(c, 0), INT(c, 2), INT(c, 3), IN(c, 1), target[0],
                              target[1], (lac_form)sx, (lac_form)sy);
}

LAC_WRITES(tridiagonal_solve, "lower: array, diag: array, upper: array, b: columns",
           "x = A^-1 b: lower (n - 1), diag (n), upper (n - 1).") {
  c->out[0] = lac_tridiagonal_solve(c->tape, IN(c, 0), IN(c, 1), IN(c, 2), IN(c, 3));
}

LAC_WRITES(diag_mm, "d: array, x: columns", "diag(d) x.") { c->out[0] = lac_diag_mm(c->tape, IN(c, 0), IN(c, 1)); }

LAC_WRITES(diag_solve, "d: array, b: columns", "diag(d)^-1 b; a zero is an error that names it.") {
  c->out[0] = lac_diag_solve(c->tape, IN(c, 0), IN(c, 1));
}

LAC_WRITES(toeplitz_mm, "c: array, r: array, x: columns, op: form = N",
           "y = op(T) x, T = scipy.linalg.toeplitz(c, r) and never formed; r[0] is not read.") {
  c->out[0] = lac_toeplitz_mm(c->tape, IN(c, 0), IN(c, 1), IN(c, 2), (lac_form)INT(c, 0));
}

LAC_WRITES(toeplitz, "pattern: pattern, c: array, r: array",
           "The values of scipy.linalg.toeplitz(c, r) on a pattern; r[0] and diagonals that it does not store are not "
           "read. solve, logdet and all that takes a matrix then take this one.") {
  c->out[0] = lac_toeplitz(c->tape, PATTERN(c, 0), IN(c, 0), IN(c, 1));
}
