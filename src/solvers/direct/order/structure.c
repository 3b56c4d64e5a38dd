// SPDX-License-Identifier: Apache-2.0
/// @file structure.c
/// Reads a pattern and its transpose into the integers of the direct solvers.

#include "solvers/direct/order/structure.h"

#include <stdio.h>
#include <string.h>

#include "core/numbers/search.h"
#include "solvers/direct/order/block_form.h"
#include "solvers/direct/order/outline.h"

// Buffers of a pattern in the integers of structure.h: the loops of every factorisation read one type.
static void structure_widen(const lac_buffer *from, int64_t *to) {
  const int32_t *narrow = from->host;
  if (from->type == LAC_I64) {
    memcpy(to, from->host, (size_t)from->count * sizeof *to);
  } else {
    for (int64_t i = 0; i < from->count; i++) to[i] = narrow[i];
  }
}

static bool structure_same(const lac_buffer *a, const lac_buffer *b) {
  size_t size = a->type == LAC_I32 ? sizeof(int32_t) : sizeof(int64_t);
  if (a == b) return true;
  return a->type == b->type && a->count == b->count && memcmp(a->host, b->host, (size_t)a->count * size) == 0;
}

// The first entry that has no mirror, or -1. Row i of A and of A^T ascend: they agree as far as entries have one.
static int64_t structure_first_unmatched(const lac_structure *s) {
  for (int32_t i = 0; i < s->n; i++) {
    int64_t q = s->t_offsets[i], end = s->t_offsets[i + 1];
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++, q++) {
      while (q < end && s->t_rows[q] < s->columns[p]) q++;
      if (q == end || s->t_rows[q] != s->columns[p]) return p;
    }
  }
  return -1;
}

static void structure_compare(lac_structure *s) {
  s->unmatched = s->t_rows == s->columns ? -1 : structure_first_unmatched(s);
  s->is_symmetric = s->unmatched < 0;
}

int64_t lac_structure_matched(const lac_structure *s) {
  int64_t count = 0;
  for (int32_t i = 0; i < s->n; i++) {
    int64_t p = s->offsets[i], q = s->t_offsets[i], p_end = s->offsets[i + 1], q_end = s->t_offsets[i + 1];
    while (p < p_end && q < q_end) {
      int32_t here = s->columns[p], there = s->t_rows[q];
      count += here == there && here != i;
      p += here <= there, q += there <= here;
    }
  }
  return count;
}

enum { STRUCTURE_RUN = 8 };  // entries that are looked at together

// Columns ascend: the first and the last entry of each row are its extent. The diagonals of short rows are counted by
// their places in the row, which is not left at its end, for no processor could guess that.
static void structure_measure(lac_structure *s) {
  int32_t found[STRUCTURE_RUN] = {0}, lower = 0, upper = 0;
  for (int32_t i = 0; i < s->n; i++) {
    const int32_t *columns = s->columns + s->offsets[i];
    int32_t count = (int32_t)(s->offsets[i + 1] - s->offsets[i]);
    if (count == 0) continue;
    if (count <= STRUCTURE_RUN && s->offsets[i] + STRUCTURE_RUN <= s->nnz) {
#pragma omp simd
      for (int32_t p = 0; p < STRUCTURE_RUN; p++) found[p] += (columns[p] == i) & (p < count);
    } else {
      for (int32_t p = 0; p < count; p++) found[0] += columns[p] == i;
    }
    int32_t below = i - columns[0], above = columns[count - 1] - i;
    lower = below > lower ? below : lower;
    upper = above > upper ? above : upper;
  }
  s->lower = lower, s->upper = upper;
  for (int32_t p = 0; p < STRUCTURE_RUN; p++) s->diagonals += found[p];
}

static void structure_destroy(lac_object *object) {
  lac_structure *s = (lac_structure *)object;
  lac_free(s->offsets);
  if (s->t_offsets != s->offsets) lac_free(s->t_offsets);
  lac_free(s->own_columns);
  lac_free(s->own_t_rows);
  lac_free(s->t_slots);
  for (int i = 0; i < 2; i++) lac_object_release(s->held[i]);
  lac_block_form_destroy(s->form);
  for (int i = 0; i <= LAC_ORDER_NATURAL; i++) lac_outline_destroy(s->outlines[i]);
  lac_free(s);
}

static const lac_kind structure_kind = {"structure", structure_destroy};

static lac_status structure_widened(lac_context *ctx, const lac_buffer *from, int64_t **out) {
  lac_status status = LAC_OK;

  *out = lac_alloc((size_t)from->count * sizeof **out);
  LAC_CHECK(*out, LAC_ERR_MEMORY, "out of memory: a structure of %lld integers", (long long)from->count);
  structure_widen(from, *out);
done:
  return status;
}

// Rows or columns of entries: those of the buffer, which is held, where they have 32 bits, else a copy.
static lac_status structure_narrowed(lac_context *ctx, const lac_buffer *from, const lac_buffer **held, int32_t **own,
                                     const int32_t **out) {
  lac_status status = LAC_OK;
  const int64_t *wide = from->host;

  if (from->type == LAC_I32) {
    *held = lac_object_retain(from);
    *out = from->host;
    goto done;
  }
  *own = lac_alloc((size_t)from->count * sizeof **own);
  LAC_CHECK(*own, LAC_ERR_MEMORY, "out of memory: a structure of %lld integers", (long long)from->count);
  for (int64_t i = 0; i < from->count; i++) (*own)[i] = (int32_t)wide[i];
  *out = *own;
done:
  return status;
}

// A symmetric structure is its own transpose.
static lac_status structure_read(lac_context *ctx, const lac_rows *rows, const lac_rows *t, lac_structure *s) {
  lac_status status = LAC_OK;

  LAC_TRY(structure_widened(ctx, rows->offsets, &s->offsets));
  LAC_TRY(structure_narrowed(ctx, rows->columns, &s->held[0], &s->own_columns, &s->columns));
  if (structure_same(rows->offsets, t->offsets) && structure_same(rows->columns, t->columns)) {
    s->t_offsets = s->offsets;
    s->t_rows = s->columns;
  } else {
    LAC_TRY(structure_widened(ctx, t->offsets, &s->t_offsets));
    LAC_TRY(structure_narrowed(ctx, t->columns, &s->held[1], &s->own_t_rows, &s->t_rows));
  }
  LAC_TRY(structure_widened(ctx, t->slots, &s->t_slots));
done:
  return status;
}

static lac_status structure_create(lac_context *ctx, const lac_pattern *pattern, lac_structure **out) {
  lac_status status = LAC_OK;
  lac_structure *s = NULL;
  lac_rows rows, transpose;

  LAC_ALLOC(s, 1);
  lac_object_init(&s->object, &structure_kind);
  s->n = (int32_t)pattern->rows;
  s->nnz = pattern->nnz;
  LAC_TRY(lac_pattern_walk(ctx, pattern, false, &rows));
  LAC_TRY(lac_rows_host(ctx, &rows));
  LAC_TRY(lac_pattern_walk(ctx, pattern, true, &transpose));
  LAC_TRY(lac_rows_host(ctx, &transpose));
  LAC_TRY(structure_read(ctx, &rows, &transpose, s));
  structure_compare(s);
  structure_measure(s);
  *out = s, s = NULL;
done:
  lac_object_release(s);
  return status;
}

// What it holds beyond the pattern.
static int64_t structure_bytes(const lac_structure *s) {
  int64_t lists = s->t_offsets == s->offsets ? 1 : 2, copies = (s->own_columns != NULL) + (s->own_t_rows != NULL);
  return (int64_t)sizeof *s + lists * 8 * (int64_t)s->n + copies * 4 * s->nnz + 8 * s->nnz;
}

lac_status lac_structure_get(lac_context *ctx, const lac_pattern *pattern, lac_structure **out) {
  lac_status status = LAC_OK;
  lac_structure *s = (lac_structure *)lac_pattern_find_cached(pattern, &structure_kind, NULL, NULL);

  if (!s) {
    LAC_CHECK(pattern->rows < LAC_DIRECT_MAX_ROWS, LAC_ERR_OVERFLOW,
              "lac_solver_create: the direct solver takes fewer than %lld rows, the pattern has %lld",
              (long long)LAC_DIRECT_MAX_ROWS, (long long)pattern->rows);
    LAC_TRY(structure_create(ctx, pattern, &s));
    LAC_TRY(lac_pattern_add_cached(ctx, pattern, &s->object, structure_bytes(s)));
  }
  *out = s, s = NULL;
done:
  lac_object_release(s);
  return status;
}

// The entries of a part by rows, with the slots they have in A; without `slots` they are only counted.
static void part_read(const lac_structure *from, const int32_t *rows, const int32_t *place, int32_t first,
                      lac_structure *s, int64_t *slots) {
  int64_t count = 0;
  for (int32_t i = 0; i < s->n; i++) {
    for (int64_t p = from->offsets[rows[i]]; p < from->offsets[rows[i] + 1]; p++) {
      int32_t j = place[from->columns[p]] - first;
      if (j < 0 || j >= s->n) continue;
      if (slots) s->own_columns[count] = j, slots[count] = p;
      count++;
    }
    s->offsets[i + 1] = count;
  }
  s->nnz = count;
}

static void part_transpose(lac_structure *s) {
  for (int64_t p = 0; p < s->nnz; p++) s->t_offsets[s->columns[p] + 1]++;
  for (int32_t j = 0; j < s->n; j++) s->t_offsets[j + 1] += s->t_offsets[j];
  for (int32_t i = 0; i < s->n; i++) {
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      int64_t q = s->t_offsets[s->columns[p]]++;
      s->own_t_rows[q] = i;
      s->t_slots[q] = p;
    }
  }
  for (int32_t j = s->n; j > 0; j--) s->t_offsets[j] = s->t_offsets[j - 1];
  s->t_offsets[0] = 0;
}

lac_status lac_structure_part(lac_context *ctx, const lac_structure *structure, int32_t n, const int32_t *rows,
                              const int32_t *place, int32_t first, lac_structure **out, int64_t **slots) {
  lac_status status = LAC_OK;
  lac_structure *s = NULL;
  int64_t *own = NULL;

  LAC_ALLOC(s, 1);
  lac_object_init(&s->object, &structure_kind);
  s->n = n;
  LAC_ALLOC(s->offsets, n + 1);
  LAC_ALLOC(s->t_offsets, n + 1);
  part_read(structure, rows, place, first, s, NULL);
  LAC_ALLOC(s->own_columns, s->nnz);
  LAC_ALLOC(s->own_t_rows, s->nnz);
  LAC_ALLOC(s->t_slots, s->nnz);
  LAC_ALLOC(own, s->nnz);
  s->columns = s->own_columns, s->t_rows = s->own_t_rows;
  part_read(structure, rows, place, first, s, own);
  part_transpose(s);
  structure_compare(s);
  structure_measure(s);
  *out = s, s = NULL;
  *slots = own, own = NULL;
done:
  lac_object_release(s);
  lac_free(own);
  return status;
}

int64_t lac_structure_row(const lac_structure *structure, int64_t slot) {
  return lac_search_row(structure->offsets, structure->n, slot);
}

static void structure_say(char *text, size_t size, const char *format, int64_t number) {
  static const char BEGIN[] = "the matrix is structurally singular: ";
  snprintf(text, size, "%s", BEGIN);
  if (size > sizeof BEGIN) snprintf(text + sizeof BEGIN - 1, size - sizeof BEGIN + 1, format, (long long)number);
}

void lac_structure_singular_text(const lac_structure *structure, int64_t column, char *text, size_t size) {
  for (int32_t i = 0; i < structure->n; i++) {
    bool row_is_empty = structure->offsets[i] == structure->offsets[i + 1];
    bool column_is_empty = structure->t_offsets[i] == structure->t_offsets[i + 1];
    if (row_is_empty) structure_say(text, size, "row %lld is empty", i);
    if (column_is_empty && !row_is_empty) structure_say(text, size, "column %lld is empty", i);
    if (row_is_empty || column_is_empty) return;
  }
  structure_say(text, size, "no pivot is left for column %lld", column);
}
