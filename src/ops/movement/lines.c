// SPDX-License-Identifier: Apache-2.0
/// @file lines.c
/// Rows, columns and the diagonal of a matrix, by the maps that its pattern keeps. No operator of its own:
///
///     row_sum      remap(row_map, a)               scale_rows   segment_scale(row_map, d, a)
///     col_sum      remap(col_map, a)               scale_cols   segment_scale(col_map, d, a)
///     diagonal_of  remap(diagonal, a)              trace        its sum over the last axis
///     sparse_*     segment_*(row_map or col_map, a), a line's full length being the other side of the matrix

#include "autodiff/rule.h"

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
  lac_var y = map ? lac_remap(tape, map, LAC_N, a) : (lac_var){0};

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
  return lac_sum_axes(tape, lac_diagonal_of(tape, pattern, a), 1, LAC_DROP_AXES);
}

static lac_var lines_scale(lac_tape *tape, const lac_pattern *pattern, lines_maker *make, lac_var d, lac_var a) {
  lac_map *map = lines_map(tape, pattern, make);
  lac_var y = map ? lac_segment_scale(tape, map, d, a) : (lac_var){0};

  lac_map_destroy(&map);
  return y;
}

lac_var lac_scale_rows(lac_tape *tape, const lac_pattern *pattern, lac_var d, lac_var a) {
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
  LAC_CHECK(lines == LAC_ROWS || lines == LAC_COLS, LAC_ERR_ARG, "%s: lines are LAC_ROWS or LAC_COLS, not %d", name,
            (int)lines);
  LAC_CHECK(absent == LAC_ABSENT_IS_ZERO || absent == LAC_ABSENT_IS_NOTHING, LAC_ERR_ARG,
            "%s: absent is LAC_ABSENT_IS_ZERO or LAC_ABSENT_IS_NOTHING, not %d", name, (int)absent);
  return lines_map(tape, pattern, lines == LAC_ROWS ? lac_pattern_row_map : lac_pattern_col_map);
done:
  (void)lac_tape_fail(tape, status);
  return NULL;
}

/// The length of a line where what is absent is zero; 0 where it is nothing.
static int64_t lines_full(const lac_pattern *pattern, lac_lines lines, lac_absent absent) {
  if (absent == LAC_ABSENT_IS_NOTHING) return 0;
  return lines == LAC_ROWS ? pattern->cols : pattern->rows;
}

lac_var lac_sparse_logsumexp(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines,
                             lac_absent absent) {
  lac_map *map = lines_of(tape, "sparse_logsumexp", pattern, lines, absent);
  lac_var y = map ? lac_segment_logsumexp(tape, map, lines_full(pattern, lines, absent), a) : (lac_var){0};

  lac_map_destroy(&map);
  return y;
}

lac_var lac_sparse_softmax(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines, lac_absent absent) {
  lac_map *map = lines_of(tape, "sparse_softmax", pattern, lines, absent);
  lac_var y = map ? lac_segment_softmax(tape, map, lines_full(pattern, lines, absent), a) : (lac_var){0};

  lac_map_destroy(&map);
  return y;
}

lac_var lac_sparse_max(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines, lac_extreme extreme,
                       lac_absent absent) {
  lac_map *map = lines_of(tape, "sparse_max", pattern, lines, absent);
  lac_var y = map ? lac_segment_max(tape, map, extreme, lines_full(pattern, lines, absent), a) : (lac_var){0};

  lac_map_destroy(&map);
  return y;
}

void lac_sparse_bidir_logsumexp(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_absent absent,
                                lac_var out[2]) {
  out[0] = lac_sparse_logsumexp(tape, pattern, a, LAC_COLS, absent);
  out[1] = lac_sparse_logsumexp(tape, pattern, a, LAC_ROWS, absent);
}
