// SPDX-License-Identifier: Apache-2.0
/// @file structure.c
/// Reads a pattern and its transpose into the integers of the direct solvers.

#include "solvers/direct/structure.h"

#include <stdio.h>

#include "solvers/direct/block_form.h"

// A or A^T as the pattern walks it, in the integers of structure.h: the loops of every factorisation read one type.
static void structure_read(const lac_rows *rows, int64_t *offsets, int32_t *columns) {
  for (int64_t i = 0; i <= rows->rows; i++) offsets[i] = lac_buffer_get(rows->offsets, i);
  for (int64_t p = 0; p < rows->columns->count; p++) columns[p] = (int32_t)lac_buffer_get(rows->columns, p);
}

// Row i of A and of A^T are both ascending: one walk along the two counts what they share.
static void structure_compare(lac_structure *s) {
  s->unmatched = -1;
  for (int32_t i = 0; i < s->n; i++) {
    int64_t p = s->offsets[i], q = s->t_offsets[i];
    while (p < s->offsets[i + 1] && q < s->t_offsets[i + 1]) {
      int32_t j = s->columns[p], k = s->t_rows[q];
      if (j == k && j == i) s->diagonals++;
      if (j == k && j != i) s->matched++;
      if (j < k && s->unmatched < 0) s->unmatched = p;
      p += j <= k;
      q += k <= j;
    }
    if (p < s->offsets[i + 1] && s->unmatched < 0) s->unmatched = p;
  }
  s->is_symmetric = s->unmatched < 0;
}

// Columns ascend: the first and the last entry of each row tell how far it reaches.
static void structure_measure(lac_structure *s) {
  for (int32_t i = 0; i < s->n; i++) {
    if (s->offsets[i] == s->offsets[i + 1]) continue;
    int32_t below = i - s->columns[s->offsets[i]], above = s->columns[s->offsets[i + 1] - 1] - i;
    if (below > s->lower) s->lower = below;
    if (above > s->upper) s->upper = above;
  }
}

static void structure_destroy(lac_object *object) {
  lac_structure *s = (lac_structure *)object;
  lac_free(s->offsets);
  lac_free(s->columns);
  lac_free(s->t_offsets);
  lac_free(s->t_rows);
  lac_free(s->t_slots);
  lac_block_form_destroy(s->form);
  lac_free(s);
}

static const lac_kind structure_kind = {"structure", structure_destroy};

static lac_status structure_create(lac_context *ctx, const lac_pattern *pattern, lac_structure **out) {
  lac_status status = LAC_OK;
  lac_structure *s = NULL;
  lac_rows rows;

  LAC_ALLOC(s, 1);
  lac_object_init(&s->object, &structure_kind);
  s->n = (int32_t)pattern->rows;
  s->nnz = pattern->nnz;
  LAC_ALLOC(s->offsets, s->n + 1);
  LAC_ALLOC(s->columns, s->nnz);
  LAC_ALLOC(s->t_offsets, s->n + 1);
  LAC_ALLOC(s->t_rows, s->nnz);
  LAC_ALLOC(s->t_slots, s->nnz);
  LAC_TRY(lac_pattern_walk(ctx, pattern, false, &rows));
  structure_read(&rows, s->offsets, s->columns);
  LAC_TRY(lac_pattern_walk(ctx, pattern, true, &rows));
  structure_read(&rows, s->t_offsets, s->t_rows);
  for (int64_t p = 0; p < s->nnz; p++) s->t_slots[p] = lac_buffer_get(rows.slots, p);
  structure_compare(s);
  structure_measure(s);
  *out = s, s = NULL;
done:
  lac_object_release(s);
  return status;
}

lac_status lac_structure_get(lac_context *ctx, const lac_pattern *pattern, lac_structure **out) {
  lac_status status = LAC_OK;
  lac_structure *s = (lac_structure *)lac_pattern_find_cached(pattern, &structure_kind, NULL, NULL);

  if (!s) {
    LAC_CHECK(pattern->rows < LAC_DIRECT_MAX_ROWS, LAC_ERR_OVERFLOW,
              "lac_solver_create: the direct solver takes fewer than %lld rows, the pattern has %lld",
              (long long)LAC_DIRECT_MAX_ROWS, (long long)pattern->rows);
    LAC_TRY(structure_create(ctx, pattern, &s));
    LAC_TRY(lac_pattern_add_cached(ctx, pattern, &s->object, 16 * (s->n + s->nnz)));
  }
  *out = s, s = NULL;
done:
  lac_object_release(s);
  return status;
}

// The entries of a part by rows, with the slots they have in A; without `columns` they are only counted.
static void part_read(const lac_structure *from, const int32_t *rows, const int32_t *place, int32_t first,
                      lac_structure *s, int64_t *slots) {
  int64_t count = 0;
  for (int32_t i = 0; i < s->n; i++) {
    for (int64_t p = from->offsets[rows[i]]; p < from->offsets[rows[i] + 1]; p++) {
      int32_t j = place[from->columns[p]] - first;
      if (j < 0 || j >= s->n) continue;
      if (s->columns) s->columns[count] = j, slots[count] = p;
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
      s->t_rows[q] = i;
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
  LAC_ALLOC(s->columns, s->nnz);
  LAC_ALLOC(s->t_rows, s->nnz);
  LAC_ALLOC(s->t_slots, s->nnz);
  LAC_ALLOC(own, s->nnz);
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
  int64_t low = 0, high = structure->n;  // offsets[low] <= slot < offsets[high]
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (structure->offsets[middle] <= slot) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
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
