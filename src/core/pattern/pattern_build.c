// SPDX-License-Identifier: Apache-2.0
/// @file pattern_build.c
/// Patterns from what users have: coordinates, compressed rows, compressed columns.
///
/// Input is checked once, here; errors name the first offending position and its value. What is canonical already is
/// copied and its entry map is the identity; everything else is sorted (pattern_sort.h).

#include <inttypes.h>
#include <string.h>

#include "core/pattern/structure.h"

/// Who asks, for what, to where.
typedef struct build_task {
  const char *function;
  lac_width width;
  lac_pattern **out;
  lac_map **map;
  const lac_structure_kernels *there;  // of the backend on whose device the indices lie; NULL: on the host
} build_task;

// -- checks ----------------------------------------------------------------------------------------------------------

static lac_status build_check_sizes(lac_context *ctx, const build_task *task, int64_t rows, int64_t cols, int64_t count,
                                    lac_index_type type) {
  lac_status status = LAC_OK;
  const char *function = task->function;
  const char *names[] = {"rows", "cols", "count"};
  const int64_t sizes[] = {rows, cols, count};
  lac_width width = LAC_WIDTH_AUTO;

  LAC_CHECK(task->out, LAC_ERR_ARG, "%s: out is NULL", function);
  LAC_CHECK(type == LAC_I32 || type == LAC_I64, LAC_ERR_ARG, "%s: type = %d; give LAC_I32 or LAC_I64", function,
            (int)type);
  for (int i = 0; i < 3; ++i) {
    LAC_CHECK(sizes[i] >= 0, LAC_ERR_ARG, "%s: %s = %" PRId64 " is negative", function, names[i], sizes[i]);
    LAC_CHECK(sizes[i] <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
              "%s: %s = %" PRId64 " is beyond what can be addressed (%" PRId64 ")", function, names[i], sizes[i],
              (int64_t)LAC_MAX_COUNT);
  }
  LAC_TRY(lac_width_choose(ctx, function, task->width, rows, cols, 0, &width));
done:
  return status;
}

/// The name of indices in sentences, and of what they count.
typedef struct build_axis {
  const char *name, *of;
  int64_t size;
  bool may_drop;  // -1 is no index, and yet not wrong
} build_axis;

enum { BUILD_RUN = 1024 };  // indices that are read before it is asked whether one of them is wrong

/// Past all runs of indices [i, end) of which none is wrong: below `lowest`, or `size` and more beyond it.
static int64_t build_pass(lac_indices indices, int64_t i, int64_t end, uint64_t lowest, uint64_t size, int64_t *bits) {
  while (i < end) {
    int64_t stop = i + BUILD_RUN < end ? i + BUILD_RUN : end, all = 0, wrong = 0;
    for (int64_t k = i; k < stop; ++k) {
      int64_t index = lac_indices_get(indices, k);
      wrong |= (uint64_t)index - lowest >= size;
      all |= index;
    }
    if (wrong) break;
    *bits |= all;
    i = stop;
  }
  return i;
}

/// The first of `count` indices that is wrong, or `count`. *bits gets those of all that were read: its sign is that of
/// a -1.
static int64_t build_first_outside(lac_context *ctx, lac_indices indices, int64_t count, build_axis axis,
                                   int64_t *bits) {
  int chunks = lac_structure_threads(ctx);
  int64_t first = count, all = 0;
  uint64_t lowest = axis.may_drop ? UINT64_MAX : 0, size = (uint64_t)axis.size - lowest;

  if (count <= 1 << 16) chunks = 1;
#pragma omp parallel for num_threads(chunks) reduction(min : first) reduction(| : all)
  for (int c = 0; c < chunks; ++c) {
    int64_t i = count / chunks * c, end = c + 1 < chunks ? count / chunks * (c + 1) : count;
    i = build_pass(indices, i, end, lowest, size, &all);
    while (i < end && (uint64_t)lac_indices_get(indices, i) - lowest < size) ++i;
    if (i < end && i < first) first = i;
  }
  *bits |= all;
  return first;
}

static lac_status build_refuse(lac_context *ctx, const char *function, build_axis axis, int64_t i, int64_t value) {
  lac_status status = LAC_OK;
  LAC_CHECK(axis.size > 0, LAC_ERR_PATTERN, "%s: %s[%" PRId64 "] = %" PRId64 ", but the matrix has no %s", function,
            axis.name, i, value, axis.of);
  LAC_FAIL(LAC_ERR_PATTERN,
           "%s: %s[%" PRId64 "] = %" PRId64 " is outside 0..%" PRId64 " (%" PRId64 " %s, counted from 0%s)", function,
           axis.name, i, value, axis.size - 1, axis.size, axis.of, axis.may_drop ? "; -1 drops an entry" : "");
done:
  return status;
}

static lac_status build_check_range(lac_context *ctx, const char *function, build_axis axis, lac_indices indices,
                                    int64_t count, int64_t *bits) {
  lac_status status = LAC_OK;
  int64_t i = 0;

  LAC_CHECK(indices.data || count == 0, LAC_ERR_ARG, "%s: %s is NULL, and there are %" PRId64 " entries", function,
            axis.name, count);
  i = build_first_outside(ctx, indices, count, axis, bits);
  if (i < count) LAC_TRY(build_refuse(ctx, function, axis, i, lac_indices_get(indices, i)));
done:
  return status;
}

/// How many entries are dropped.
static int64_t build_count_dropped(const lac_entries *e, int threads) {
  int64_t dropped = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : dropped) if (e->count > 1 << 16)
  for (int64_t i = 0; i < e->count; ++i) {
    dropped += lac_indices_get(e->row, i) < 0 || lac_indices_get(e->col, i) < 0;
  }
  return dropped;
}

/// Rows and columns: whichever goes wrong first is named.
static lac_status build_check_coordinates(lac_context *ctx, const char *function, lac_entries *e) {
  lac_status status = LAC_OK;
  build_axis row = {"row", "rows", e->rows, e->may_drop}, col = {"col", "columns", e->cols, e->may_drop};
  int64_t i = e->count, bits = 0;

  LAC_CHECK(e->row.data || e->count == 0, LAC_ERR_ARG, "%s: row is NULL, and there are %" PRId64 " entries", function,
            e->count);
  i = build_first_outside(ctx, e->row, e->count, row, &bits);
  LAC_TRY(build_check_range(ctx, function, col, e->col, i, &bits));
  if (i < e->count) LAC_TRY(build_refuse(ctx, function, row, i, lac_indices_get(e->row, i)));
  e->dropped = bits < 0 ? build_count_dropped(e, lac_structure_threads(ctx)) : 0;
done:
  return status;
}

/// The first of the offsets 1..lines that is less than the one before it, or lines + 1.
static int64_t build_first_descent(lac_context *ctx, lac_indices offsets, int64_t lines) {
  int chunks = lac_structure_threads(ctx);
  int64_t first = lines + 1;

#pragma omp parallel for num_threads(chunks) schedule(static, 1) reduction(min : first) if (lines > 1 << 16)
  for (int c = 0; c < chunks; ++c) {
    int64_t i = lines / chunks * c + 1, end = c + 1 < chunks ? lines / chunks * (c + 1) : lines;
    while (i <= end && lac_indices_get(offsets, i) >= lac_indices_get(offsets, i - 1)) ++i;
    if (i <= end && i < first) first = i;
  }
  return first;
}

/// What is wrong with offsets, if anything is.
static lac_status build_look_at_offsets(lac_context *ctx, lac_indices offsets, int64_t lines, lac_offsets_look *out) {
  *out = (lac_offsets_look){lac_indices_get(offsets, 0), lac_indices_get(offsets, lines), lines + 1};
  if (out->first == 0) out->descent = build_first_descent(ctx, offsets, lines);
  return LAC_OK;
}

/// One index, wherever it is.
static lac_status build_read(lac_context *ctx, const build_task *task, lac_indices indices, int64_t i, int64_t *out) {
  lac_status status = LAC_OK;
  size_t size = lac_index_size(indices.type);
  int32_t narrow = 0;

  if (!task->there) {
    *out = lac_indices_get(indices, i);
    goto done;
  }
  LAC_TRY(ctx->backend->download(ctx, size == sizeof narrow ? (void *)&narrow : (void *)out,
                                 (const char *)indices.data + (size_t)i * size, size));
  if (size == sizeof narrow) *out = narrow;
done:
  return status;
}

/// Offsets begin at 0 and do not decrease; the last is the number of entries.
static lac_status build_check_offsets(lac_context *ctx, const build_task *task, lac_indices offsets, int64_t lines,
                                      int64_t *count) {
  lac_status status = LAC_OK;
  const char *function = task->function;
  lac_offsets_look look = {0};
  int64_t here = 0, before = 0;

  LAC_CHECK(offsets.data, LAC_ERR_ARG, "%s: offsets is NULL; %" PRId64 " are needed, also for an empty matrix",
            function, lines + 1);
  LAC_TRY((task->there ? task->there->look_at_offsets : build_look_at_offsets)(ctx, offsets, lines, &look));
  LAC_CHECK(look.first == 0, LAC_ERR_PATTERN, "%s: offsets[0] = %" PRId64 "; offsets begin with 0", function,
            look.first);
  if (look.descent <= lines) {
    LAC_TRY(build_read(ctx, task, offsets, look.descent, &here));
    LAC_TRY(build_read(ctx, task, offsets, look.descent - 1, &before));
  }
  LAC_CHECK(look.descent > lines, LAC_ERR_PATTERN,
            "%s: offsets[%" PRId64 "] = %" PRId64 " is less than offsets[%" PRId64 "] = %" PRId64
            "; offsets must not decrease",
            function, look.descent, here, look.descent - 1, before);
  LAC_CHECK(look.last <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
            "%s: offsets[%" PRId64 "] = %" PRId64 " is beyond what can be addressed", function, lines, look.last);
  *count = look.last;
done:
  return status;
}

// -- order -----------------------------------------------------------------------------------------------------------

/// Whether coordinates come by row, and whether they are canonical.
static void build_find_order(lac_entries *e, int threads) {
  int by_row = e->dropped == 0, canonical = by_row;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(& : by_row, canonical) if (e->count > 1 << 16)
  for (int64_t i = 1; i < e->count; ++i) {
    if (!by_row) continue;
    int64_t above = lac_indices_get(e->row, i - 1), row = lac_indices_get(e->row, i);
    by_row &= above <= row;
    canonical &= above < row || (above == row && lac_indices_get(e->col, i - 1) < lac_indices_get(e->col, i));
  }
  e->by_row = by_row;
  e->canonical = by_row && canonical;
}

/// Whether columns ascend within each of the compressed rows: where they do not ascend a row begins.
static void build_find_ascent(lac_entries *e, int threads) {
  lac_indices col = e->col, offsets = e->offsets;
  int64_t descents = 0, begins = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : descents) if (e->count > 1 << 16)
  for (int64_t p = 1; p < e->count; ++p) descents += lac_indices_get(col, p - 1) >= lac_indices_get(col, p);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : begins) if (e->count > 1 << 16)
  for (int64_t i = 1; i < e->rows; ++i) {
    int64_t p = lac_indices_get(offsets, i);
    if (p == lac_indices_get(offsets, i - 1) || p == e->count) continue;  // the row before is empty, or all that follow
    begins += lac_indices_get(col, p - 1) >= lac_indices_get(col, p);
  }
  e->by_row = true;
  e->canonical = descents == begins;
}

/// `count` integers into a buffer of their own type or another one.
static void build_copy(lac_indices from, int64_t count, lac_buffer *to, int threads) {
  size_t size = lac_index_size(to->type);
  int chunks = from.type == to->type && count > 1 << 16 ? threads : 1;
  if (from.type != to->type) {
#pragma omp parallel for num_threads(threads) schedule(static) if (count > 1 << 16)
    for (int64_t p = 0; p < count; ++p) lac_buffer_set(to, p, lac_indices_get(from, p));
    return;
  }
#pragma omp parallel for num_threads(chunks) schedule(static, 1) if (chunks > 1)
  for (int c = 0; c < chunks; ++c) {
    size_t begin = (size_t)(count / chunks * c), end = (size_t)(c + 1 < chunks ? count / chunks * (c + 1) : count);
    if (begin < end)
      memcpy((char *)to->host + begin * size, (const char *)from.data + begin * size, (end - begin) * size);
  }
}

/// Where each row begins, for entries that come by row.
static void build_find_bounds(const lac_entries *e, lac_buffer *bounds, int threads) {
  if (e->offsets.data) {
    build_copy(e->offsets, e->rows + 1, bounds, threads);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static) if (e->count > 1 << 16)
  for (int64_t p = 0; p <= e->count; ++p) {  // entry p begins all rows after the one before it, up to its own
    int64_t above = p > 0 ? lac_indices_get(e->row, p - 1) : -1;
    int64_t row = p < e->count ? lac_indices_get(e->row, p) : e->rows;
    for (int64_t i = above + 1; i <= row; ++i) lac_buffer_set(bounds, i, p);
  }
}

// -- making ----------------------------------------------------------------------------------------------------------

/// The same integers in another type; takes the buffer over.
static lac_status build_convert(lac_context *ctx, lac_index_type type, lac_buffer **buffer) {
  lac_status status = LAC_OK;
  lac_buffer *other = NULL;
  int threads = lac_structure_threads(ctx);

  if ((*buffer)->type == type) goto done;
  LAC_TRY(lac_buffer_create(ctx, type, (*buffer)->count, &other));
#pragma omp parallel for num_threads(threads) schedule(static) if (other->count > 1 << 16)
  for (int64_t i = 0; i < other->count; ++i) lac_buffer_set(other, i, lac_buffer_get(*buffer, i));
  lac_object_release(*buffer);
  *buffer = other;
done:
  return status;
}

/// Room for the slot of each entry, -1 where that is dropped; the identity where entries are canonical.
static lac_status build_target(lac_context *ctx, const lac_entries *e, lac_width width, int64_t nnz, lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_index_type type = lac_map_type(e->count, nnz) == LAC_I64 ? LAC_I64 : lac_width_offsets(width);

  LAC_TRY((e->canonical ? lac_buffer_create_counting : lac_buffer_create)(ctx, type, e->count, out));
  for (int64_t i = 0; e->dropped && i < e->count; ++i) lac_buffer_set(*out, i, -1);
done:
  return status;
}

/// Offsets of the slots and, unless the entries are canonical, the sorted entries with their bounds.
static lac_status build_order(lac_context *ctx, const lac_entries *e, lac_buffer **offsets, lac_buffer **bounds,
                              void **sorted) {
  lac_status status = LAC_OK;
  lac_index_type type = lac_entries_type(e);

  LAC_TRY(lac_buffer_create(ctx, type, e->rows + 1, bounds));
  if (e->by_row) build_find_bounds(e, *bounds, lac_structure_threads(ctx));
  if (e->canonical) {
    *offsets = lac_object_retain(*bounds);
    goto done;
  }
  LAC_TRY(lac_buffer_create(ctx, type, e->rows + 1, offsets));
  LAC_TRY(lac_entries_sort(ctx, e, *bounds, *offsets, sorted));
done:
  return status;
}

/// Hand over a pattern of these parts and its entry map. Where there are as many slots as entries that are kept, no two
/// share one.
static lac_status build_finish(lac_context *ctx, const build_task *task, const lac_entries *e, lac_width width,
                               lac_buffer **offsets, lac_buffer **columns, lac_buffer **target) {
  lac_status status = LAC_OK;
  lac_pattern *made = NULL;
  int64_t nnz = (*columns)->count;
  bool is_injective = nnz == e->count - e->dropped;

  LAC_TRY(lac_pattern_adopt(ctx, e->rows, e->cols, width, offsets, columns, &made));
  if (task->map) LAC_TRY((is_injective ? lac_map_adopt_injective : lac_map_adopt_shared)(ctx, nnz, target, task->map));
  *task->out = made, made = NULL;
done:
  lac_pattern_destroy(&made);
  return status;
}

static lac_status build_make(lac_context *ctx, const build_task *task, const lac_entries *e) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *bounds = NULL, *columns = NULL, *target = NULL;
  void *sorted = NULL;
  lac_width width = LAC_WIDTH_AUTO;
  int64_t nnz = 0;

  LAC_TRY(build_order(ctx, e, &offsets, &bounds, &sorted));
  nnz = lac_buffer_get(offsets, e->rows);
  LAC_TRY(lac_width_choose(ctx, task->function, task->width, e->rows, e->cols, nnz, &width));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), nnz, &columns));
  if (task->map) LAC_TRY(build_target(ctx, e, width, nnz, &target));
  if (e->canonical) {
    build_copy(e->col, e->count, columns, lac_structure_threads(ctx));
  } else {
    lac_entries_emit(ctx, e, sorted, bounds, offsets, columns, target);
  }
  LAC_TRY(build_convert(ctx, lac_width_offsets(width), &offsets));
  LAC_TRY(build_finish(ctx, task, e, width, &offsets, &columns, &target));
done:
  lac_free(sorted);
  lac_object_release(offsets);
  lac_object_release(bounds);
  lac_object_release(columns);
  lac_object_release(target);
  return status;
}

// -- what users have -------------------------------------------------------------------------------------------------

lac_status lac_pattern_from_coo(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, lac_index_type type,
                                const void *row, const void *col, lac_width width, lac_pattern **out,
                                lac_map **entries) {
  lac_status status = LAC_OK;
  build_task task = {"lac_pattern_from_coo", width, out, entries, NULL};
  lac_entries e = {
      .rows = rows, .cols = cols, .count = count, .may_drop = true, .row = {row, type}, .col = {col, type}};

  LAC_TRY(build_check_sizes(ctx, &task, rows, cols, count, type));
  LAC_TRY(build_check_coordinates(ctx, task.function, &e));
  build_find_order(&e, lac_structure_threads(ctx));
  LAC_TRY(build_make(ctx, &task, &e));
done:
  return status;
}

lac_status lac_pattern_compress(lac_context *ctx, const char *function, int64_t rows, int64_t cols, lac_index_type type,
                                const void *offsets, const void *columns, lac_width width, lac_pattern **out,
                                lac_map **entries) {
  lac_status status = LAC_OK;
  build_task task = {function, width, out, entries, NULL};
  lac_entries e = {.rows = rows, .cols = cols, .offsets = {offsets, type}, .col = {columns, type}};
  int64_t bits = 0;

  LAC_TRY(build_check_sizes(ctx, &task, rows, cols, 0, type));
  LAC_TRY(build_check_offsets(ctx, &task, e.offsets, rows, &e.count));
  LAC_TRY(
      build_check_range(ctx, task.function, (build_axis){"columns", "columns", cols, false}, e.col, e.count, &bits));
  build_find_ascent(&e, lac_structure_threads(ctx));
  LAC_TRY(build_make(ctx, &task, &e));
done:
  return status;
}

lac_status lac_pattern_from_csr(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type, const void *offsets,
                                const void *columns, lac_width width, lac_pattern **out, lac_map **entries) {
  return lac_pattern_compress(ctx, "lac_pattern_from_csr", rows, cols, type, offsets, columns, width, out, entries);
}

lac_status lac_pattern_from_csc(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type, const void *offsets,
                                const void *rows_of, lac_width width, lac_pattern **out, lac_map **entries) {
  lac_status status = LAC_OK;
  build_task task = {"lac_pattern_from_csc", width, out, entries, NULL};
  lac_entries e = {.rows = rows, .cols = cols, .row = {rows_of, type}};
  lac_indices starts = {offsets, type};
  lac_buffer *col = NULL;
  int64_t bits = 0;
  int threads = lac_structure_threads(ctx);

  LAC_TRY(build_check_sizes(ctx, &task, rows, cols, 0, type));
  LAC_TRY(build_check_offsets(ctx, &task, starts, cols, &e.count));
  LAC_TRY(build_check_range(ctx, task.function, (build_axis){"rows_of", "rows", rows, false}, e.row, e.count, &bits));
  LAC_TRY(lac_buffer_create(ctx, cols <= INT32_MAX ? LAC_I32 : LAC_I64, e.count, &col));
#pragma omp parallel for num_threads(threads) schedule(static) if (e.count > 1 << 16)
  for (int64_t j = 0; j < cols; ++j) {
    int64_t end = lac_indices_get(starts, j + 1);
    for (int64_t p = lac_indices_get(starts, j); p < end; ++p) lac_buffer_set(col, p, j);
  }
  e.col = (lac_indices){col->host, col->type};
  build_find_order(&e, lac_structure_threads(ctx));
  LAC_TRY(build_make(ctx, &task, &e));
done:
  lac_object_release(col);
  return status;
}

// -- where the indices lie on a device -------------------------------------------------------------------------------

/// Rows and columns by the backend: whichever goes wrong first is named, and the rows of one entry before its column.
static lac_status build_check_there(lac_context *ctx, const build_task *task, build_axis row, build_axis col,
                                    lac_entries *e) {
  lac_status status = LAC_OK;
  lac_entries_look look = {0};
  int64_t value = 0;

  LAC_CHECK(e->row.data || e->count == 0, LAC_ERR_ARG, "%s: %s is NULL, and there are %" PRId64 " entries",
            task->function, row.name, e->count);
  LAC_CHECK(e->col.data || e->count == 0, LAC_ERR_ARG, "%s: %s is NULL, and there are %" PRId64 " entries",
            task->function, col.name, e->count);
  LAC_TRY(task->there->look_at_entries(ctx, e, &look));
  if (look.col < look.row) {
    LAC_TRY(build_read(ctx, task, e->col, look.col, &value));
    LAC_TRY(build_refuse(ctx, task->function, col, look.col, value));
  } else if (look.row < e->count) {
    LAC_TRY(build_read(ctx, task, e->row, look.row, &value));
    LAC_TRY(build_refuse(ctx, task->function, row, look.row, value));
  }
  e->dropped = look.dropped;
  e->by_row = e->canonical = look.canonical && !look.dropped;
done:
  return status;
}

static lac_status build_make_there(lac_context *ctx, const build_task *task, const lac_entries *e) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *columns = NULL, *target = NULL;
  lac_width width = task->width;

  LAC_TRY(task->there->build(ctx, task->function, e, &width, &offsets, &columns, task->map ? &target : NULL));
  LAC_TRY(build_finish(ctx, task, e, width, &offsets, &columns, &target));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  lac_object_release(target);
  return status;
}

/// Whether the context's arrays lie on the host; else its backend must know structure.
static lac_status build_find_backend(lac_context *ctx, const char *function, const lac_structure_kernels **there) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT_OF(function);
  LAC_CHECK(ctx->space->is_host || ctx->backend->structure, LAC_ERR_UNSUPPORTED,
            "%s: the backend %s makes no patterns; copy the indices to the host and hand them in there", function,
            ctx->backend->name);
  *there = ctx->space->is_host ? NULL : ctx->backend->structure;
done:
  return status;
}

lac_status lac_pattern_from_coo_on(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, lac_index_type type,
                                   const void *row, const void *col, lac_width width, lac_pattern **out,
                                   lac_map **entries) {
  lac_status status = LAC_OK;
  build_task task = {"lac_pattern_from_coo", width, out, entries, NULL};
  lac_entries e = {
      .rows = rows, .cols = cols, .count = count, .may_drop = true, .row = {row, type}, .col = {col, type}};

  LAC_TRY(build_find_backend(ctx, "lac_pattern_from_coo_on", &task.there));
  if (!task.there) return lac_pattern_from_coo(ctx, rows, cols, count, type, row, col, width, out, entries);
  LAC_TRY(build_check_sizes(ctx, &task, rows, cols, count, type));
  LAC_TRY(build_check_there(ctx, &task, (build_axis){"row", "rows", rows, true},
                            (build_axis){"col", "columns", cols, true}, &e));
  LAC_TRY(build_make_there(ctx, &task, &e));
done:
  return status;
}

lac_status lac_pattern_from_csr_on(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                   const void *offsets, const void *columns, lac_width width, lac_pattern **out,
                                   lac_map **entries) {
  lac_status status = LAC_OK;
  build_task task = {"lac_pattern_from_csr", width, out, entries, NULL};
  lac_entries e = {.rows = rows, .cols = cols, .offsets = {offsets, type}, .col = {columns, type}};
  lac_buffer *row = NULL;

  LAC_TRY(build_find_backend(ctx, "lac_pattern_from_csr_on", &task.there));
  if (!task.there) return lac_pattern_from_csr(ctx, rows, cols, type, offsets, columns, width, out, entries);
  LAC_TRY(build_check_sizes(ctx, &task, rows, cols, 0, type));
  LAC_TRY(build_check_offsets(ctx, &task, e.offsets, rows, &e.count));
  e.row.type = rows <= INT32_MAX ? LAC_I32 : LAC_I64;
  LAC_TRY(task.there->lines_of(ctx, e.offsets, rows, e.count, e.row.type, &row));
  LAC_TRY(lac_buffer_on(ctx, row, &e.row.data));
  LAC_TRY(build_check_there(ctx, &task, (build_axis){"row", "rows", rows, false},
                            (build_axis){"columns", "columns", cols, false}, &e));
  LAC_TRY(build_make_there(ctx, &task, &e));
done:
  lac_object_release(row);
  return status;
}

lac_status lac_pattern_from_csc_on(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                   const void *offsets, const void *rows_of, lac_width width, lac_pattern **out,
                                   lac_map **entries) {
  lac_status status = LAC_OK;
  build_task task = {"lac_pattern_from_csc", width, out, entries, NULL};
  lac_entries e = {.rows = rows, .cols = cols, .row = {rows_of, type}};
  lac_indices starts = {offsets, type};
  lac_buffer *col = NULL;

  LAC_TRY(build_find_backend(ctx, "lac_pattern_from_csc_on", &task.there));
  if (!task.there) return lac_pattern_from_csc(ctx, rows, cols, type, offsets, rows_of, width, out, entries);
  LAC_TRY(build_check_sizes(ctx, &task, rows, cols, 0, type));
  LAC_TRY(build_check_offsets(ctx, &task, starts, cols, &e.count));
  e.col.type = cols <= INT32_MAX ? LAC_I32 : LAC_I64;
  LAC_TRY(task.there->lines_of(ctx, starts, cols, e.count, e.col.type, &col));
  LAC_TRY(lac_buffer_on(ctx, col, &e.col.data));
  LAC_TRY(build_check_there(ctx, &task, (build_axis){"rows_of", "rows", rows, false},
                            (build_axis){"col", "columns", cols, false}, &e));
  LAC_TRY(build_make_there(ctx, &task, &e));
done:
  lac_object_release(col);
  return status;
}
