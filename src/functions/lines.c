// SPDX-License-Identifier: Apache-2.0
/// @file lines.c
/// Rows, columns and the diagonal of a matrix, by the maps that its pattern keeps. No operator of its own:
///
///     row_sum      remap(row_map, a)               scale_rows   segment_scale(row_map, d, a)
///     col_sum      remap(col_map, a)               scale_cols   segment_scale(col_map, d, a)
///     diagonal_of  remap(diagonal, a)              trace        its sum over the last axis
///     sparse_*     segment_*(row_map or col_map, a), a line's full length being the other side of the matrix

#include <math.h>

#include "functions/function.h"

typedef lac_status lines_maker(lac_context *ctx, const lac_pattern *pattern, lac_map **map);

/// The map that a pattern keeps; a failure sticks to the tape. Released by the caller.
static lac_map *lines_map(lac_tape *tape, const lac_pattern *pattern, lines_maker *make) {
  lac_map *map = NULL;
  lac_status status = lac_tape_status(tape);

  if (status == LAC_OK) status = make(lac_tape_context(tape), pattern, &map);
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
  return map;
}

static lac_var lines_sum(lac_tape *tape, const lac_pattern *pattern, lines_maker *make, lac_var a) {
  lac_map *map = lines_map(tape, pattern, make);
  lac_var y = map ? lac_remap(tape, map, a, LAC_PLAIN) : (lac_var){0};

  lac_map_destroy(&map);
  return y;
}

lac_var lac_row_sum(lac_tape *tape, const lac_pattern *pattern, lac_var a) {
  return lines_sum(tape, pattern, lac_pattern_row_map, a);
}

lac_var lac_col_sum(lac_tape *tape, const lac_pattern *pattern, lac_var a) {
  return lines_sum(tape, pattern, lac_pattern_col_map, a);
}

lac_var lac_diagonal_of(lac_tape *tape, const lac_pattern *pattern, lac_var a) {
  return lines_sum(tape, pattern, lac_pattern_diagonal, a);
}

lac_var lac_trace(lac_tape *tape, const lac_pattern *pattern, lac_var a) {
  return lac_sum_axes(tape, lac_diagonal_of(tape, pattern, a), LAC_AXES(-1), false);
}

static lac_var lines_scale(lac_tape *tape, const lac_pattern *pattern, lines_maker *make, lac_var d, lac_var a) {
  lac_map *map = lines_map(tape, pattern, make);
  lac_var y = map ? lac_segment_scale(tape, map, d, a) : (lac_var){0};

  lac_map_destroy(&map);
  return y;
}

lac_var lac_scale_rows(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var d) {
  return lines_scale(tape, pattern, lac_pattern_row_map, d, a);
}

lac_var lac_scale_cols(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var d) {
  return lines_scale(tape, pattern, lac_pattern_col_map, d, a);
}

// -- reductions ------------------------------------------------------------------------------------------------------

static lac_map *lines_of(lac_tape *tape, const char *name, const lac_pattern *pattern, lac_lines lines,
                         lac_absent absent) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(lines == LAC_LINES_ROWS || lines == LAC_LINES_COLS, LAC_ERR_ARG,
            "%s: lines are LAC_LINES_ROWS or LAC_LINES_COLS, not %d", name, (int)lines);
  LAC_CHECK(absent == LAC_ABSENT_IS_ZERO || absent == LAC_ABSENT_IS_NOTHING, LAC_ERR_ARG,
            "%s: absent is LAC_ABSENT_IS_ZERO or LAC_ABSENT_IS_NOTHING, not %d", name, (int)absent);
  return lines_map(tape, pattern, lines == LAC_LINES_ROWS ? lac_pattern_row_map : lac_pattern_col_map);
done:
  (void)lac_tape_fail(tape, status);
  return NULL;
}

/// The length of a line where what is absent is zero; 0 where it is nothing.
static int64_t lines_full(const lac_pattern *pattern, lac_lines lines, lac_absent absent) {
  if (absent == LAC_ABSENT_IS_NOTHING) return 0;
  return lines == LAC_LINES_ROWS ? pattern->cols : pattern->rows;
}

lac_var lac_sparse_logsumexp(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines,
                             lac_absent absent) {
  lac_map *map = lines_of(tape, "sparse_logsumexp", pattern, lines, absent);
  lac_var y = map ? lac_segment_logsumexp(tape, map, a, lines_full(pattern, lines, absent)) : (lac_var){0};

  lac_map_destroy(&map);
  return y;
}

lac_var lac_sparse_softmax(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines, lac_absent absent) {
  lac_map *map = lines_of(tape, "sparse_softmax", pattern, lines, absent);
  lac_var y = map ? lac_segment_softmax(tape, map, a, lines_full(pattern, lines, absent)) : (lac_var){0};

  lac_map_destroy(&map);
  return y;
}

lac_var lac_sparse_max(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines, lac_absent absent,
                       lac_extreme extreme) {
  lac_map *map = lines_of(tape, "sparse_max", pattern, lines, absent);
  lac_var y = map ? lac_segment_max(tape, map, a, lines_full(pattern, lines, absent), extreme) : (lac_var){0};

  lac_map_destroy(&map);
  return y;
}

void lac_sparse_bidir_logsumexp(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_absent absent,
                                lac_var out[2]) {
  if (!lac_tape_results(tape, "sparse_bidir_logsumexp", 2, out)) return;
  out[0] = lac_sparse_logsumexp(tape, pattern, a, LAC_LINES_COLS, absent);
  out[1] = lac_sparse_logsumexp(tape, pattern, a, LAC_LINES_ROWS, absent);
}

// -- entries ---------------------------------------------------------------------------------------------------------

LAC_WRITES(row_sum, "pattern: pattern, a: values", "The sum of each row: (nnz) -> (rows).") {
  c->out[0] = lac_row_sum(c->tape, PATTERN(c, 0), IN(c, 0));
}

LAC_WRITES(col_sum, "pattern: pattern, a: values", "The sum of each column: (nnz) -> (cols).") {
  c->out[0] = lac_col_sum(c->tape, PATTERN(c, 0), IN(c, 0));
}

LAC_WRITES(diagonal, "pattern: pattern, a: values",
           "The diagonal, 0 where it is not stored: (nnz) -> (min(rows, cols)).") {
  c->out[0] = lac_diagonal_of(c->tape, PATTERN(c, 0), IN(c, 0));
}

LAC_WRITES(trace, "pattern: pattern, a: values", "The sum of the diagonal.") {
  c->out[0] = lac_trace(c->tape, PATTERN(c, 0), IN(c, 0));
}

LAC_WRITES(scale_rows, "pattern: pattern, a: values, d: array", "The values of diag(d) A.") {
  c->out[0] = lac_scale_rows(c->tape, PATTERN(c, 0), IN(c, 0), IN(c, 1));
}

LAC_WRITES(scale_cols, "pattern: pattern, a: values, d: array", "The values of A diag(d).") {
  c->out[0] = lac_scale_cols(c->tape, PATTERN(c, 0), IN(c, 0), IN(c, 1));
}

#define LINES(c) (INT(c, 0) % 2 ? LAC_LINES_ROWS : LAC_LINES_COLS)
#define ABSENT(flag) ((flag) ? LAC_ABSENT_IS_ZERO : LAC_ABSENT_IS_NOTHING)
#define AXIS "axis: 0|1|-2|-1"

/// A number for each line, where asked with an axis of size 1 in place of the one that was reduced.
static lac_var lines_kept(lac_tape *tape, lac_var y, lac_lines lines, bool keeps) {
  const lac_meta *meta = lac_tape_meta(tape, y);
  int64_t count = meta ? meta->shape[meta->ndim - 1] : 0, by_rows[] = {count, 1}, by_cols[] = {1, count};

  return keeps ? lac_emit_axes(tape, y, 1, 2, lines == LAC_LINES_ROWS ? by_rows : by_cols) : y;
}

LAC_WRITES(
    sparse_logsumexp, "pattern: pattern, a: values, " AXIS ", keepdims: flag = false, include_zeros: flag = true",
    "log of the sum of exp of each row (axis 1) or column (axis 0), the reduced dimension kept with size 1 if asked. "
    "include_zeros: absent entries are zeros, as in the dense matrix; else they are nothing, an empty line is -inf.") {
  lac_var y = lac_sparse_logsumexp(c->tape, PATTERN(c, 0), IN(c, 0), LINES(c), ABSENT(INT(c, 2)));
  c->out[0] = lines_kept(c->tape, y, LINES(c), INT(c, 1));
}

LAC_WRITES(sparse_softmax, "pattern: pattern, a: values, " AXIS ", include_zeros: flag = false",
           "The weights exp(a) / sum of the stored entries of each row (axis 1) or column (axis 0).") {
  c->out[0] = lac_sparse_softmax(c->tape, PATTERN(c, 0), IN(c, 0), LINES(c), ABSENT(INT(c, 1)));
}

LAC_WRITES(sparse_max,
           "pattern: pattern, a: values, " AXIS
           ", keepdims: flag = false, include_zeros: flag = true, "
           "extreme: largest|smallest = largest",
           "The largest number of each row (axis 1) or column (axis 0); ties share the gradient.") {
  lac_extreme extreme = (lac_extreme)INT(c, 3);
  lac_var y = lac_sparse_max(c->tape, PATTERN(c, 0), IN(c, 0), LINES(c), ABSENT(INT(c, 2)), extreme);
  c->out[0] = lines_kept(c->tape, y, LINES(c), INT(c, 1));
}

/// y (n) as (1, length), -inf behind its end.
static lac_var lines_padded(lac_tape *tape, lac_var y, int64_t length) {
  const lac_meta *meta = lac_tape_meta(tape, y);
  int64_t missing = meta && meta->ndim ? length - meta->shape[meta->ndim - 1] : 0;

  if (missing) y = lac_concat(tape, y, lac_full(tape, y, 1, &missing, -INFINITY, 0), -1);
  return lac_emit_axes(tape, y, 1, 2, (int64_t[]){1, length});
}

LAC_WRITES(
    sparse_bidir_logsumexp,
    "pattern: pattern, a: values, keepdims: flag = false, include_zeros: flag = true, "
    "output_layout: tuple|padded = tuple",
    "(over each column, over each row); output_layout \"padded\": (2, max(rows, cols)), the shorter ends with -inf.") {
  const lac_pattern *p = PATTERN(c, 0);
  bool is_padded = INT(c, 2), keeps = INT(c, 0);
  lac_var both[2];

  lac_sparse_bidir_logsumexp(c->tape, p, IN(c, 0), ABSENT(INT(c, 1)), both);
  if (is_padded && p) {
    int64_t length = p->rows > p->cols ? p->rows : p->cols;
    c->out[0] = lac_concat(c->tape, lines_padded(c->tape, both[0], length), lines_padded(c->tape, both[1], length), -2);
    return;
  }
  c->outs = 2;
  c->out[0] = lines_kept(c->tape, both[0], LAC_LINES_COLS, keeps);
  c->out[1] = lines_kept(c->tape, both[1], LAC_LINES_ROWS, keeps);
}
