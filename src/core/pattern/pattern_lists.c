// SPDX-License-Identifier: Apache-2.0
/// @file pattern_lists.c
/// Rows and columns by lists of indices, in any order:
///
///     select    B = A[rows, :][:, cols]; an index may come several times, or never
///     permute   the same with lists that have each index once
///
/// Each column of A knows its places in the list of columns, so an entry of A becomes as many entries of B as there are
/// such places. A row of B has its entries in the order of A's row; sorting them is the work of lac_pattern_from_csr.
/// Where an index repeats, one slot of A goes to several of B, which no map can say. The map of `select` therefore runs
/// from the slots of B to those of A, and values follow by its transpose.

#include "core/pattern/structure.h"

typedef struct lists_task {
  const char *function;
  const lac_pattern *a;
  int64_t rows, cols;
  const int64_t *row, *col;  // NULL: all, in order
  int64_t *place0, *places;  // of column j: places[place0[j] .. place0[j + 1]) in `col`; NULL without a list
} lists_task;

static lac_status lists_check(lac_context *ctx, const lists_task *t, const char *what, int64_t count,
                              const int64_t *list, int64_t size) {
  lac_status status = LAC_OK;
  LAC_CHECK(count >= 0 && count <= LAC_MAX_COUNT, LAC_ERR_ARG, "%s: %lld %s were asked for; give 0 or more",
            t->function, (long long)count, what);
  for (int64_t i = 0; list && i < count; ++i) {
    LAC_CHECK(list[i] >= 0 && list[i] < size, LAC_ERR_ARG, "%s: %s[%lld] = %lld is outside 0..%lld", t->function, what,
              (long long)i, (long long)list[i], (long long)size - 1);
  }
done:
  return status;
}

/// Invert the list of columns: count, add up, distribute.
static lac_status lists_invert(lac_context *ctx, lists_task *t) {
  lac_status status = LAC_OK;

  if (!t->col) goto done;
  LAC_ALLOC(t->place0, t->a->cols + 2);
  LAC_ALLOC(t->places, t->cols);
  for (int64_t c = 0; c < t->cols; ++c) ++t->place0[t->col[c] + 2];
  for (int64_t j = 0; j < t->a->cols; ++j) t->place0[j + 2] += t->place0[j + 1];
  for (int64_t c = 0; c < t->cols; ++c) t->places[t->place0[t->col[c] + 1]++] = c;
done:
  return status;
}

/// Row i of B: how many entries it has; with `columns`, also which, and of which slots of A.
static int64_t lists_row(const lists_task *t, int64_t i, int64_t *columns, int64_t *slots) {
  int64_t from = t->row ? t->row[i] : i, count = 0;
  int64_t end = lac_buffer_get(t->a->offsets, from + 1);

  for (int64_t p = lac_buffer_get(t->a->offsets, from); p < end; ++p) {
    int64_t j = lac_buffer_get(t->a->columns, p);
    int64_t first = t->col ? t->place0[j] : 0, last = t->col ? t->place0[j + 1] : 1;
    for (int64_t n = first; columns && n < last; ++n) {
      columns[count + n - first] = t->col ? t->places[n] : j;
      slots[count + n - first] = p;
    }
    count += last - first;
  }
  return count;
}

/// The rows of B as they come, unsorted: begin has rows + 1 offsets.
static lac_status lists_collect(lac_context *ctx, const lists_task *t, int64_t *begin, int64_t **columns,
                                int64_t **slots) {
  lac_status status = LAC_OK;
  int threads = lac_structure_threads(ctx);

#pragma omp parallel for num_threads(threads) schedule(static) if (t->rows + t->a->nnz > 1 << 14)
  for (int64_t i = 0; i < t->rows; ++i) begin[i + 1] = lists_row(t, i, NULL, NULL);
  for (int64_t i = 0; i < t->rows; ++i) {
    begin[i + 1] += begin[i];
    LAC_CHECK(begin[i + 1] <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW, "%s: the result has more entries than can be addressed",
              t->function);
  }
  LAC_ALLOC(*columns, begin[t->rows]);
  LAC_ALLOC(*slots, begin[t->rows]);
#pragma omp parallel for num_threads(threads) schedule(static) if (begin[t->rows] > 1 << 14)
  for (int64_t i = 0; i < t->rows; ++i) (void)lists_row(t, i, *columns + begin[i], *slots + begin[i]);
done:
  return status;
}

/// The pattern of B, and the slot of A for each of its slots.
static lac_status lists_make(lac_context *ctx, lists_task *t, lac_pattern **out, lac_buffer **source) {
  lac_status status = LAC_OK;
  int64_t *begin = NULL, *columns = NULL, *slots = NULL;
  lac_map *entries = NULL;
  lac_width width = LAC_WIDTH_AUTO;
  lac_index_type type = LAC_I32;

  LAC_TRY(lac_pattern_host(ctx, t->a));
  LAC_TRY(lists_invert(ctx, t));
  LAC_ALLOC(begin, t->rows + 1);
  LAC_TRY(lists_collect(ctx, t, begin, &columns, &slots));
  LAC_TRY(lac_width_choose(ctx, t->function, LAC_WIDTH_AUTO, t->rows, t->cols, begin[t->rows], &width));
  if (t->a->width > width) width = t->a->width;
  type = lac_width_offsets(width) == LAC_I64 ? LAC_I64 : lac_map_type(begin[t->rows], t->a->nnz);
  LAC_TRY(lac_buffer_create(ctx, type, begin[t->rows], source));
  LAC_TRY(lac_pattern_from_csr(ctx, t->rows, t->cols, LAC_I64, begin, columns, width, out, &entries));
  LAC_TRY(lac_map_host(ctx, entries));
  for (int64_t e = 0; e < entries->inputs; ++e) {
    lac_buffer_set(*source, lac_buffer_get(entries->target, e), slots[e]);
  }
done:
  lac_free(begin);
  lac_free(columns);
  lac_free(slots);
  lac_map_destroy(&entries);
  return status;
}

// -- on a device -----------------------------------------------------------------------------------------------------

/// Whether an index comes twice; *twice is the place of the first that does, or -1.
static lac_status lists_find_twice(lac_context *ctx, int64_t count, const int64_t *list, int64_t size, int64_t *twice) {
  lac_status status = LAC_OK;
  uint64_t *seen = NULL;

  *twice = -1;
  if (!list) goto done;
  LAC_ALLOC(seen, size / 64 + 1);
  for (int64_t i = 0; i < count && *twice < 0; ++i) {
    uint64_t bit = (uint64_t)1 << (list[i] % 64);
    if (seen[list[i] / 64] & bit) *twice = i;
    seen[list[i] / 64] |= bit;
  }
done:
  lac_free(seen);
  return status;
}

/// Of each of `lines` (the rows or the columns of A's entries) its place in a list, or -1; the lines themselves where
/// there is no list.
static lac_status lists_follow(lac_context *ctx, int64_t count, const int64_t *list, int64_t size,
                               const lac_buffer *lines, lac_buffer **out) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *there = lac_structure_of(ctx);
  lac_index_type type = size <= INT32_MAX ? LAC_I32 : LAC_I64;
  lac_buffer *given = NULL, *place = NULL;

  if (!list) {
    *out = lac_object_retain(lines);
    goto done;
  }
  LAC_TRY(lac_buffer_create(ctx, type, count, &given));
  for (int64_t i = 0; i < count; ++i) lac_buffer_set(given, i, list[i]);
  LAC_TRY(there->invert(ctx, given, size, type, &place));
  LAC_TRY(there->gather(ctx, place, lines, out));
done:
  lac_object_release(given);
  lac_object_release(place);
  return status;
}

/// Lists in which no index comes twice: each entry of A goes to one place, which coordinates tell. `target` has the
/// slot of B for each of A.
static lac_status lists_build(lac_context *ctx, const lists_task *t, lac_pattern **out, lac_buffer **target) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *there = lac_structure_of(ctx);
  lac_entries e = {.rows = t->rows, .cols = t->cols, .count = t->a->nnz, .may_drop = true};
  const lac_buffer *rows_of = NULL;
  lac_buffer *row = NULL, *col = NULL, *offsets = NULL, *columns = NULL;
  lac_width width = lac_pair_width_asked(t->a, t->a);
  lac_entries_look look = {0};

  LAC_TRY(lac_pattern_rows_of(ctx, t->a, &rows_of));
  LAC_TRY(lists_follow(ctx, t->rows, t->row, t->a->rows, rows_of, &row));
  LAC_TRY(lists_follow(ctx, t->cols, t->col, t->a->cols, t->a->columns, &col));
  e.row.type = row->type, e.col.type = col->type;
  LAC_TRY(lac_buffer_on(ctx, row, &e.row.data));
  LAC_TRY(lac_buffer_on(ctx, col, &e.col.data));
  LAC_TRY(there->look_at_entries(ctx, &e, &look));
  e.dropped = look.dropped;
  e.by_row = e.canonical = look.canonical && !look.dropped;
  LAC_TRY(there->build(ctx, t->function, &e, &width, &offsets, &columns, target));
  LAC_TRY(lac_pattern_adopt(ctx, t->rows, t->cols, width, &offsets, &columns, out));
done:
  lac_object_release(row);
  lac_object_release(col);
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

/// Whether the pattern lies on a device, and the lists can be followed there.
static lac_status lists_are_there(lac_context *ctx, const lists_task *t, bool *out) {
  lac_status status = LAC_OK;
  int64_t row = -1, col = -1;

  *out = lac_structure_there(ctx, t->a) != NULL;
  if (!*out) goto done;
  LAC_TRY(lists_find_twice(ctx, t->rows, t->row, t->a->rows, &row));
  LAC_TRY(lists_find_twice(ctx, t->cols, t->col, t->a->cols, &col));
  *out = row < 0 && col < 0;
done:
  return status;
}

// -- what users ask for ----------------------------------------------------------------------------------------------

static void lists_close(lists_task *t) {
  lac_free(t->place0);
  lac_free(t->places);
}

lac_status lac_pattern_select(lac_context *ctx, const lac_pattern *pattern, int64_t rows, const int64_t *row,
                              int64_t cols, const int64_t *col, lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  lists_task t = {.function = "lac_pattern_select", .a = pattern, .rows = rows, .cols = cols, .row = row, .col = col};
  lac_buffer *source = NULL, *target = NULL;
  lac_pattern *made = NULL;
  bool is_there = false;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_select: out is NULL");
  LAC_TRY(lac_pattern_require_scalar(ctx, pattern, t.function));
  if (!row) t.rows = pattern->rows;
  if (!col) t.cols = pattern->cols;
  LAC_TRY(lists_check(ctx, &t, "row", t.rows, row, pattern->rows));
  LAC_TRY(lists_check(ctx, &t, "col", t.cols, col, pattern->cols));
  LAC_TRY(lists_are_there(ctx, &t, &is_there));
  if (is_there) {
    LAC_TRY(lists_build(ctx, &t, &made, &target));
    LAC_TRY(lac_structure_of(ctx)->invert(ctx, target, made->nnz, target->type, &source));
    if (map) LAC_TRY(lac_map_adopt_injective(ctx, pattern->nnz, &source, map));
  } else {
    LAC_TRY(lists_make(ctx, &t, &made, &source));
    if (map) LAC_TRY(lac_map_adopt(ctx, pattern->nnz, &source, map));
  }
  *out = made, made = NULL;
done:
  lists_close(&t);
  lac_object_release(source);
  lac_object_release(target);
  lac_pattern_destroy(&made);
  return status;
}

/// Refuse a list that has an index twice, and so lacks another.
static lac_status lists_check_once(lac_context *ctx, const lists_task *t, const char *what, const int64_t *list,
                                   int64_t size) {
  lac_status status = LAC_OK;
  int64_t i = -1;

  if (!list) goto done;
  LAC_TRY(lists_check(ctx, t, what, size, list, size));
  LAC_TRY(lists_find_twice(ctx, size, list, size, &i));
  LAC_CHECK(i < 0, LAC_ERR_ARG,
            "%s: %s[%lld] = %lld came before; a permutation has each index once (lac_pattern_select takes any list)",
            t->function, what, (long long)i, (long long)list[i < 0 ? 0 : i]);
done:
  return status;
}

/// From the slot of A for each slot of B to the other way round.
static lac_status lists_turn(lac_context *ctx, const lac_buffer *source, lac_map **map) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;

  LAC_TRY(lac_buffer_create(ctx, source->type, source->count, &target));
  for (int64_t z = 0; z < source->count; ++z) lac_buffer_set(target, lac_buffer_get(source, z), z);
  LAC_TRY(lac_map_adopt_injective(ctx, source->count, &target, map));
done:
  lac_object_release(target);
  return status;
}

lac_status lac_pattern_permute(lac_context *ctx, const lac_pattern *pattern, const int64_t *row, const int64_t *col,
                               lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  lists_task t = {.function = "lac_pattern_permute", .a = pattern, .row = row, .col = col};
  lac_buffer *source = NULL, *target = NULL;
  lac_pattern *made = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_permute: out is NULL");
  LAC_TRY(lac_pattern_require_scalar(ctx, pattern, t.function));
  t.rows = pattern->rows;
  t.cols = pattern->cols;
  LAC_TRY(lists_check_once(ctx, &t, "row", row, t.rows));
  LAC_TRY(lists_check_once(ctx, &t, "col", col, t.cols));
  if (lac_structure_there(ctx, pattern)) {
    LAC_TRY(lists_build(ctx, &t, &made, &target));
    if (map) LAC_TRY(lac_map_adopt_injective(ctx, made->nnz, &target, map));
  } else {
    LAC_TRY(lists_make(ctx, &t, &made, &source));
    if (map) LAC_TRY(lists_turn(ctx, source, map));
  }
  *out = made, made = NULL;
done:
  lists_close(&t);
  lac_object_release(source);
  lac_object_release(target);
  lac_pattern_destroy(&made);
  return status;
}
