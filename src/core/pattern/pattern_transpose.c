// SPDX-License-Identifier: Apache-2.0
/// @file pattern_transpose.c
/// What a pattern derives from itself when first asked, and keeps: its transpose, the row of each slot, the identity.
///
///     t_offsets, t_rows   A^T by rows: the rows of A that have an entry in column j, ascending
///     t_slots             the slot in A of each of these, so that A^T is walked with the values of A
///
/// The pattern of A^T is made of the same buffers with the roles exchanged, and a symmetric structure is stored once.

#include <string.h>

#include "core/pattern/structure.h"
#include "core/numbers/search.h"

// -- the transpose ---------------------------------------------------------------------------------------------------

/// A cut of the rows into chunks of about equal work, with a count of each column for every chunk.
typedef struct transpose_cut {
  int chunks;
  int64_t *begin;   // chunks + 1 rows
  int64_t *cursor;  // chunks x cols: entries of a column in a chunk, then where the next one goes
} transpose_cut;

/// The first row that begins at or after entry `p`.
static int64_t row_at(const lac_pattern *a, int64_t p) {
  int64_t low = 0, high = a->rows;
  LAC_SEARCH(low, high, i, lac_buffer_get(a->offsets, i) < p)
  return low;
}

static lac_status transpose_cut_rows(lac_context *ctx, const lac_pattern *a, transpose_cut *cut) {
  lac_status status = LAC_OK;

  cut->chunks = a->nnz > 1 << 16 ? lac_structure_threads(ctx) : 1;
  while (cut->chunks > 1 && cut->chunks * a->cols > 2 * a->nnz) cut->chunks /= 2;  // the counts stay O(nnz)
  LAC_ALLOC(cut->begin, cut->chunks + 1);
  for (int c = 1; c < cut->chunks; ++c) cut->begin[c] = row_at(a, a->nnz / cut->chunks * c);
  cut->begin[cut->chunks] = a->rows;
done:
  return status;
}

/// Count the columns of each chunk, and turn the counts into places: column by column, chunk after chunk.
static void transpose_count(const lac_pattern *a, const transpose_cut *cut, lac_buffer *t_offsets) {
#pragma omp parallel for num_threads(cut->chunks) schedule(static, 1)
  for (int c = 0; c < cut->chunks; ++c) {
    int64_t *count = cut->cursor + c * a->cols;
    const lac_buffer columns = *a->columns;  // of its own: no count can change it
    int64_t end = lac_buffer_get(a->offsets, cut->begin[c + 1]);
    for (int64_t p = lac_buffer_get(a->offsets, cut->begin[c]); p < end; ++p) ++count[lac_buffer_get(&columns, p)];
  }
  int64_t place = 0;
  for (int64_t j = 0; j < a->cols; ++j) {
    lac_buffer_set(t_offsets, j, place);
    for (int c = 0; c < cut->chunks; ++c) {
      int64_t *cursor = &cut->cursor[c * a->cols + j], count = *cursor;
      *cursor = place;
      place += count;
    }
  }
  lac_buffer_set(t_offsets, a->cols, place);
}

static void transpose_fill(const lac_pattern *a, const transpose_cut *cut, lac_buffer *t_rows, lac_buffer *t_slots) {
#pragma omp parallel for num_threads(cut->chunks) schedule(static, 1)
  for (int c = 0; c < cut->chunks; ++c) {
    int64_t *cursor = cut->cursor + c * a->cols;
    const lac_buffer offsets = *a->offsets, columns = *a->columns;  // of its own, all four: no store can change them
    lac_buffer rows = *t_rows, slots = *t_slots;
    int64_t p = lac_buffer_get(&offsets, cut->begin[c]);
    for (int64_t i = cut->begin[c]; i < cut->begin[c + 1]; ++i) {
      for (int64_t end = lac_buffer_get(&offsets, i + 1); p < end; ++p) {
        int64_t place = cursor[lac_buffer_get(&columns, p)]++;
        lac_buffer_set(&rows, place, i);
        lac_buffer_set(&slots, place, p);
      }
    }
  }
}

/// Both by one chunk of rows whose indices have 32 bits: places are counted in t_offsets itself, which stays in the
/// cache.
static void transpose_narrow(const lac_pattern *a, lac_buffer *t_offsets, lac_buffer *t_rows, lac_buffer *t_slots) {
  const int32_t *offsets = a->offsets->host, *columns = a->columns->host;
  int32_t *begin = t_offsets->host, *rows = t_rows->host, *slots = t_slots->host, place = 0;
  memset(begin, 0, (size_t)(a->cols + 1) * sizeof *begin);
  for (int64_t p = 0; p < a->nnz; ++p) ++begin[columns[p]];
  for (int64_t j = 0; j <= a->cols; ++j) {
    int32_t count = begin[j];
    begin[j] = place, place += count;
  }
  for (int32_t i = 0, p = 0; i < a->rows; ++i) {
    for (; p < offsets[i + 1]; ++p) {
      int32_t to = begin[columns[p]]++;
      rows[to] = i, slots[to] = p;
    }
  }
  memmove(begin + 1, begin, (size_t)a->cols * sizeof *begin);
  begin[0] = 0;
}

/// The rows of a chunk: entry (i, j) is met at (j, i), the next one of row j. False: there is no such entry.
static bool reflect_rows(const lac_pattern *a, int64_t begin, int64_t end, int64_t shift, lac_buffer *cursor,
                         lac_buffer *t_slots) {
  if (begin == 0) {
    size_t size = lac_index_size(cursor->type);
    memcpy((char *)cursor->host + (size_t)shift * size, a->offsets->host, (size_t)a->cols * size);
  } else {
    for (int64_t j = 0; j < a->cols; ++j) lac_buffer_set(cursor, shift + j, lac_pattern_reaches(a, j, begin));
  }
  for (int64_t i = begin, p = lac_buffer_get(a->offsets, begin); i < end; ++i) {
    for (int64_t last = lac_buffer_get(a->offsets, i + 1); p < last; ++p) {
      int64_t j = lac_buffer_get(a->columns, p), met = lac_buffer_get(cursor, shift + j);
      if (met == lac_buffer_get(a->offsets, j + 1) || lac_buffer_get(a->columns, met) != i) return false;
      lac_buffer_set(cursor, shift + j, met + 1);
      lac_buffer_set(t_slots, met, p);
    }
  }
  return true;
}

/// Where A and A^T have the same structure, which is then stored once, the slots alone are to be found: in one walk,
/// that ends early where they have not. Both chunks of rows and columns of a row ascend.
static lac_status transpose_reflect(lac_context *ctx, lac_pattern *a, const transpose_cut *cut, lac_buffer **t_slots) {
  lac_status status = LAC_OK;
  lac_buffer *cursor = NULL;
  int is_same = 1;

  LAC_TRY(lac_buffer_create(ctx, a->offsets->type, cut->chunks * a->cols, &cursor));
#pragma omp parallel for num_threads(cut->chunks) schedule(static, 1) reduction(& : is_same)
  for (int c = 0; c < cut->chunks; ++c) {
    is_same &= reflect_rows(a, cut->begin[c], cut->begin[c + 1], c * a->cols, cursor, *t_slots);
  }
  if (!is_same) goto done;
  a->t_offsets = lac_object_retain(a->offsets);
  a->t_rows = lac_object_retain(a->columns);
  a->t_slots = *t_slots, *t_slots = NULL;
done:
  lac_object_release(cursor);
  return status;
}

static lac_status rows_of_make(lac_context *ctx, lac_pattern *a);

/// By the backend: slots are grouped by column, and their rows come along.
static lac_status transpose_make_there(lac_context *ctx, const lac_structure_kernels *structure, lac_pattern *a) {
  lac_status status = LAC_OK;
  lac_buffer *t_offsets = NULL, *t_rows = NULL, *t_slots = NULL;
  bool is_same = a->rows == a->cols;

  if (!a->rows_of) LAC_TRY(rows_of_make(ctx, a));
  LAC_TRY(structure->group(ctx, a->columns, a->cols, a->offsets->type, &t_offsets, &t_slots));
  LAC_TRY(structure->gather(ctx, a->rows_of, t_slots, &t_rows));
  if (is_same) LAC_TRY(structure->same(ctx, t_offsets, a->offsets, &is_same));
  if (is_same) LAC_TRY(structure->same(ctx, t_rows, a->columns, &is_same));
  a->t_offsets = lac_object_retain(is_same ? a->offsets : t_offsets);
  a->t_rows = lac_object_retain(is_same ? a->columns : t_rows);
  a->t_slots = lac_object_retain(t_slots);
done:
  lac_object_release(t_offsets);
  lac_object_release(t_rows);
  lac_object_release(t_slots);
  return status;
}

/// By sorting: columns are counted, and entries go to their places.
static lac_status transpose_sort(lac_context *ctx, lac_pattern *a, transpose_cut *cut, lac_buffer **t_slots) {
  lac_status status = LAC_OK;
  lac_buffer *t_offsets = NULL, *t_rows = NULL;

  LAC_TRY(lac_buffer_create(ctx, a->offsets->type, a->cols + 1, &t_offsets));
  LAC_TRY(lac_buffer_create(ctx, a->columns->type, a->nnz, &t_rows));
  if (cut->chunks == 1 && a->offsets->type == LAC_I32 && a->columns->type == LAC_I32) {
    transpose_narrow(a, t_offsets, t_rows, *t_slots);
  } else {
    LAC_ALLOC(cut->cursor, cut->chunks * a->cols);
    transpose_count(a, cut, t_offsets);
    transpose_fill(a, cut, t_rows, *t_slots);
  }
  a->t_offsets = t_offsets, t_offsets = NULL;
  a->t_rows = t_rows, t_rows = NULL;
  a->t_slots = *t_slots, *t_slots = NULL;
done:
  lac_object_release(t_offsets);
  lac_object_release(t_rows);
  return status;
}

static lac_status transpose_make(lac_context *ctx, lac_pattern *a) {
  lac_status status = LAC_OK;
  transpose_cut cut = {0};
  lac_buffer *t_slots = NULL;

  if (lac_structure_of(ctx)) return transpose_make_there(ctx, lac_structure_of(ctx), a);
  LAC_TRY(lac_pattern_host(ctx, a));
  LAC_TRY(lac_buffer_create(ctx, a->offsets->type, a->nnz, &t_slots));
  LAC_TRY(transpose_cut_rows(ctx, a, &cut));
  if (a->rows == a->cols) LAC_TRY(transpose_reflect(ctx, a, &cut, &t_slots));
  if (!a->t_slots) LAC_TRY(transpose_sort(ctx, a, &cut, &t_slots));
done:
  lac_free(cut.begin);
  lac_free(cut.cursor);
  lac_object_release(t_slots);
  return status;
}

lac_status lac_pattern_walk(lac_context *ctx, const lac_pattern *pattern, bool transposed, lac_rows *out) {
  lac_status status = LAC_OK;
  lac_pattern *a = (lac_pattern *)pattern;  // only its derived parts change, under the lock

  LAC_TRY(lac_pattern_require_here(ctx, pattern, "lac_pattern_walk"));
  if (transposed) {
    pthread_mutex_lock(&a->lock);
    if (!a->t_slots) status = transpose_make(ctx, a);
    *out = (lac_rows){a->cols, a->rows, a->t_offsets, a->t_rows, a->t_slots};
    pthread_mutex_unlock(&a->lock);
    LAC_TRY(status);
  } else {
    *out = (lac_rows){a->rows, a->cols, a->offsets, a->columns, NULL};
  }
  if (!lac_structure_of(ctx)) LAC_TRY(lac_rows_host(ctx, out));
done:
  return status;
}

/// The place of each slot of A in the transpose: the map from the values of A to those of A^T.
static lac_status transpose_targets(lac_context *ctx, const lac_rows *t, lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;
  int threads = lac_structure_threads(ctx);

  if (lac_structure_of(ctx)) return lac_structure_of(ctx)->invert(ctx, t->slots, t->slots->count, t->slots->type, out);
  LAC_TRY(lac_buffer_create(ctx, t->slots->type, t->slots->count, &target));
#pragma omp parallel for num_threads(threads) schedule(static) if (t->slots->count > 1 << 16)
  for (int64_t q = 0; q < t->slots->count; ++q) lac_buffer_set(target, lac_buffer_get(t->slots, q), q);
  *out = target;
done:
  return status;
}

/// The pattern of A^T over the buffers of A; its own transpose is A, whose entries find their values through `target`.
static lac_status transpose_pattern(lac_context *ctx, const lac_pattern *a, const lac_rows *t, const lac_buffer *target,
                                    lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = lac_object_retain(t->offsets), *columns = lac_object_retain(t->columns);

  LAC_TRY(lac_pattern_adopt_blocks(ctx, t->rows, t->cols, a->bc, a->br, a->width, &offsets, &columns, out));
  (*out)->t_offsets = lac_object_retain(a->offsets);
  (*out)->t_rows = lac_object_retain(a->columns);
  (*out)->t_slots = lac_object_retain(target);
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

/// The map that goes with it: for blocks on the flattened numbers, and each block is transposed.
static lac_status transpose_map(lac_context *ctx, const lac_pattern *a, lac_buffer **target, lac_map **out) {
  lac_status status = LAC_OK;
  lac_buffer *flat = NULL;
  int64_t size = a->br * a->bc;
  int threads = lac_structure_threads(ctx);

  if (!lac_pattern_has_blocks(a)) {
    LAC_TRY(lac_map_adopt_injective(ctx, a->nnz, target, out));
    goto done;
  }
  LAC_TRY(lac_buffer_host(ctx, *target));
  LAC_TRY(lac_buffer_create(ctx, lac_map_type(a->nnz * size, a->nnz * size), a->nnz * size, &flat));
#pragma omp parallel for num_threads(threads) schedule(static) if (a->nnz * size > 1 << 16)
  for (int64_t p = 0; p < a->nnz; ++p) {
    for (int64_t e = 0; e < size; ++e) {
      lac_buffer_set(flat, p * size + e, lac_buffer_get(*target, p) * size + e % a->bc * a->br + e / a->bc);
    }
  }
  LAC_TRY(lac_map_adopt_injective(ctx, a->nnz * size, &flat, out));
done:
  lac_object_release(flat);
  return status;
}

static lac_status transpose_part(lac_context *ctx, const lac_pattern *pattern, lac_part *part) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;
  lac_rows t;

  LAC_TRY(lac_pattern_walk(ctx, pattern, true, &t));
  LAC_TRY(transpose_targets(ctx, &t, &target));
  if (t.columns == pattern->columns && pattern->br == pattern->bc) {
    part->pattern = lac_pattern_retain(pattern);
  } else {
    LAC_TRY(transpose_pattern(ctx, pattern, &t, target, &part->pattern));
  }
  LAC_TRY(transpose_map(ctx, pattern, &target, &part->map));
done:
  lac_object_release(target);
  return status;
}

lac_status lac_pattern_transpose(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out, lac_map **map) {
  lac_status status = LAC_OK;
  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_transpose: out is NULL");
  LAC_TRY(lac_pattern_require_here(ctx, pattern, "lac_pattern_transpose"));
  LAC_TRY(lac_pattern_part(ctx, pattern, LAC_PART_TRANSPOSE, 0, transpose_part, out, map));
done:
  return status;
}

// -- rows and the identity -------------------------------------------------------------------------------------------

static lac_status rows_of_make(lac_context *ctx, lac_pattern *a) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *structure = lac_structure_of(ctx);
  lac_buffer *rows_of = NULL;
  lac_indices offsets = {NULL, a->offsets->type};
  int threads = lac_structure_threads(ctx);

  if (structure) {
    LAC_TRY(lac_buffer_on(ctx, a->offsets, &offsets.data));
    LAC_TRY(structure->lines_of(ctx, offsets, a->rows, a->nnz, a->columns->type, &a->rows_of));
    goto done;
  }
  LAC_TRY(lac_pattern_host(ctx, a));
  LAC_TRY(lac_buffer_create(ctx, a->columns->type, a->nnz, &rows_of));
#pragma omp parallel for num_threads(threads) schedule(static) if (a->nnz > 1 << 16)
  for (int64_t i = 0; i < a->rows; ++i) {
    int64_t end = lac_buffer_get(a->offsets, i + 1);
    for (int64_t p = lac_buffer_get(a->offsets, i); p < end; ++p) lac_buffer_set(rows_of, p, i);
  }
  a->rows_of = rows_of;
done:
  return status;
}

lac_status lac_pattern_rows_of(lac_context *ctx, const lac_pattern *pattern, const lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_pattern *a = (lac_pattern *)pattern;  // only its derived parts change, under the lock

  pthread_mutex_lock(&a->lock);
  if (!a->rows_of) LAC_TRY(rows_of_make(ctx, a));
  if (!lac_structure_of(ctx)) LAC_TRY(lac_buffer_host(ctx, a->rows_of));
  *out = a->rows_of;
done:
  pthread_mutex_unlock(&a->lock);
  return status;
}

static lac_status identity_make(lac_context *ctx, lac_pattern *a) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;

  LAC_TRY(lac_buffer_create_counting(ctx, a->offsets->type, a->nnz, &target));
  LAC_TRY(lac_map_adopt_injective(ctx, a->nnz, &target, &a->identity));
done:
  lac_object_release(target);
  return status;
}

lac_status lac_pattern_identity(lac_context *ctx, const lac_pattern *pattern, lac_map **out) {
  lac_status status = LAC_OK;
  lac_pattern *a = (lac_pattern *)pattern;  // only its derived parts change, under the lock

  pthread_mutex_lock(&a->lock);
  if (!a->identity) LAC_TRY(identity_make(ctx, a));
  *out = lac_map_retain(a->identity);
done:
  pthread_mutex_unlock(&a->lock);
  return status;
}
