// SPDX-License-Identifier: Apache-2.0
/// @file pattern_lines.c
/// The lines of a pattern as groups of slots, and the pattern that is one diagonal.
///
///     row_map   slot -> row: ascending, so a group is a run of slots
///     col_map   slot -> column: groups are the rows of the transpose
///
/// Both are kept with the pattern and share its buffers where the integers agree: sums over lines are remaps by these
/// maps.

#include "core/pattern/structure.h"

/// The integers in the offsets' type, which is that of slot maps: the same buffer, retained, where it has that type.
static lac_status lines_target(lac_context *ctx, const lac_pattern *p, const lac_buffer *lines, lac_buffer **out) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *structure = lac_structure_of(ctx);
  int threads = lac_structure_threads(ctx);

  if (lines->type == p->offsets->type) {
    *out = lac_object_retain(lines);
    goto done;
  }
  if (structure) {
    LAC_TRY(structure->part(ctx, lines, 0, lines->count, p->offsets->type, out));
    goto done;
  }
  LAC_TRY(lac_buffer_host(ctx, lines));
  LAC_TRY(lac_buffer_create(ctx, p->offsets->type, lines->count, out));
#pragma omp parallel for num_threads(threads) schedule(static) if (lines->count > 1 << 16)
  for (int64_t z = 0; z < lines->count; ++z) lac_buffer_set(*out, z, lac_buffer_get(lines, z));
done:
  return status;
}

/// A map from slots to lines. More slots than lines share some, which need not be looked for.
static lac_status lines_map(lac_context *ctx, int64_t lines, lac_buffer **target, lac_map **out) {
  return ((*target)->count > lines ? lac_map_adopt_shared : lac_map_adopt)(ctx, lines, target, out);
}

static lac_status row_part(lac_context *ctx, const lac_pattern *p, lac_part *part) {
  lac_status status = LAC_OK;
  const lac_buffer *rows_of = NULL;
  lac_buffer *target = NULL;

  LAC_TRY(lac_pattern_rows_of(ctx, p, &rows_of));
  LAC_TRY(lines_target(ctx, p, rows_of, &target));
  LAC_TRY(lines_map(ctx, p->rows, &target, &part->map));
  part->map->g_offsets = lac_object_retain(p->offsets);
done:
  lac_object_release(target);
  return status;
}

static lac_status col_part(lac_context *ctx, const lac_pattern *p, lac_part *part) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;
  lac_rows t;

  LAC_TRY(lac_pattern_walk(ctx, p, true, &t));
  LAC_TRY(lines_target(ctx, p, p->columns, &target));
  LAC_TRY(lines_map(ctx, p->cols, &target, &part->map));
  part->map->g_offsets = lac_object_retain(t.offsets);
  part->map->g_sources = lac_object_retain(t.slots);
done:
  lac_object_release(target);
  return status;
}

lac_status lac_pattern_row_map(lac_context *ctx, const lac_pattern *pattern, lac_map **map) {
  return lac_pattern_part_map(ctx, "lac_pattern_row_map", pattern, LAC_PART_ROWS, row_part, map);
}

lac_status lac_pattern_col_map(lac_context *ctx, const lac_pattern *pattern, lac_map **map) {
  return lac_pattern_part_map(ctx, "lac_pattern_col_map", pattern, LAC_PART_COLS, col_part, map);
}

/// Rows [first, end) have one entry each, in column i + k.
static lac_status eye_make(lac_context *ctx, int64_t rows, int64_t cols, int64_t k, int64_t first, int64_t end,
                           lac_width width, lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *columns = NULL;
  int threads = lac_structure_threads(ctx);

  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), rows + 1, &offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), end - first, &columns));
#pragma omp parallel for num_threads(threads) schedule(static) if (rows > 1 << 16)
  for (int64_t i = 0; i <= rows; ++i) {
    lac_buffer_set(offsets, i, i < first ? 0 : i < end ? i - first : end - first);
    if (i >= first && i < end) lac_buffer_set(columns, i - first, i + k);
  }
  LAC_TRY(lac_pattern_adopt(ctx, rows, cols, width, &offsets, &columns, out));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

lac_status lac_pattern_eye(lac_context *ctx, int64_t rows, int64_t cols, int64_t k, lac_width width,
                           lac_pattern **out) {
  lac_status status = LAC_OK;
  int64_t first = 0, end = 0;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_eye: out is NULL");
  LAC_CHECK(rows >= 0 && cols >= 0, LAC_ERR_ARG, "lac_pattern_eye: rows = %lld, cols = %lld; give 0 or more",
            (long long)rows, (long long)cols);
  LAC_CHECK(rows <= LAC_MAX_COUNT && cols <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
            "lac_pattern_eye: %lld x %lld is beyond what can be addressed", (long long)rows, (long long)cols);
  if (k < -rows) k = -rows;  // beyond the corners there is nothing
  if (k > cols) k = cols;
  first = k < 0 ? -k : 0;
  end = cols - k < rows ? cols - k : rows;
  if (end < first) end = first;
  LAC_TRY(lac_width_choose(ctx, "lac_pattern_eye", width, rows, cols, end - first, &width));
  LAC_TRY(eye_make(ctx, rows, cols, k, first, end, width, out));
done:
  return status;
}
