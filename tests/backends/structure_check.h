// SPDX-License-Identifier: Apache-2.0
/// Patterns where a backend has their indices, beside those that the host makes.

#ifndef LACUNA_TESTS_STRUCTURE_CHECK_H
#define LACUNA_TESTS_STRUCTURE_CHECK_H

#include "core/pattern/structure.h"
#include "kernel_check.h"

// -- indices, here and there -----------------------------------------------------------------------------------------

/// Integers of a type on the host, and a buffer that has them where the context's kernels read them.
typedef struct integers {
  lac_indices here, there;
  lac_buffer *buffer;
} integers;

static inline integers integers_make(lac_context *ctx, lac_index_type type, int64_t count, const int64_t *values) {
  integers made = {.buffer = NULL};
  CHECK_OK(lac_buffer_create(ctx, type, count, &made.buffer));
  for (int64_t i = 0; i < count; ++i) lac_buffer_set(made.buffer, i, values[i]);
  made.here = made.there = (lac_indices){made.buffer->host, type};
  CHECK_OK(lac_buffer_on(ctx, made.buffer, &made.there.data));
  return made;
}

static inline void integers_free(integers *i) { lac_object_release(i->buffer); }

// -- comparisons -----------------------------------------------------------------------------------------------------

/// A pattern with its map.
typedef struct built {
  lac_pattern *pattern;
  lac_map *map;
} built;

static inline void built_free(built *b) {
  lac_pattern_destroy(&b->pattern);
  lac_map_destroy(&b->map);
}

static inline void check_buffers(lac_context *ctx, const lac_buffer *a, const lac_buffer *b) {
  CHECK_EQ(a->count, b->count);
  CHECK_EQ(a->type, b->type);
  CHECK_OK(lac_buffer_host(ctx, a));
  CHECK_OK(lac_buffer_host(ctx, b));
  for (int64_t i = 0; i < a->count; ++i) CHECK_EQ(lac_buffer_get(a, i), lac_buffer_get(b, i));
}

/// The longest line of offsets is looked for where they are.
static inline void check_longest(lac_context *ctx, lac_context *cpu, const lac_buffer *a, const lac_buffer *b) {
  lac_longest there, here;
  CHECK_OK(lac_buffer_longest(ctx, a, &there));
  CHECK_OK(lac_buffer_longest(cpu, b, &here));
  CHECK_EQ(there.line, here.line);
  CHECK_EQ(there.count, here.count);
}

static inline void check_maps(lac_context *ctx, lac_context *cpu, const lac_map *a, const lac_map *b) {
  const lac_buffer *offsets[2], *sources[2];
  CHECK_EQ(a->inputs, b->inputs);
  CHECK_EQ(a->outputs, b->outputs);
  CHECK_EQ(a->is_identity, b->is_identity);
  CHECK_EQ(a->is_injective, b->is_injective);
  CHECK_EQ(a->is_sorted, b->is_sorted);
  check_buffers(ctx, a->target, b->target);
  CHECK_OK(lac_map_groups(ctx, a, &offsets[0], &sources[0]));
  CHECK_OK(lac_map_groups(cpu, b, &offsets[1], &sources[1]));
  check_longest(ctx, cpu, offsets[0], offsets[1]);
  check_buffers(ctx, offsets[0], offsets[1]);
  check_buffers(ctx, sources[0], sources[1]);
}

static inline void check_transposes(lac_context *ctx, lac_context *cpu, const lac_pattern *a, const lac_pattern *b) {
  built there = {NULL, NULL}, here = {NULL, NULL};
  lac_rows walks[2];
  const lac_buffer *rows_of[2];
  CHECK_OK(lac_pattern_rows_of(ctx, a, &rows_of[0]));
  CHECK_OK(lac_pattern_rows_of(cpu, b, &rows_of[1]));
  check_buffers(ctx, rows_of[0], rows_of[1]);
  CHECK_OK(lac_pattern_walk(ctx, a, true, &walks[0]));
  CHECK_OK(lac_pattern_walk(cpu, b, true, &walks[1]));
  check_longest(ctx, cpu, walks[0].offsets, walks[1].offsets);
  check_buffers(ctx, walks[0].offsets, walks[1].offsets);
  check_buffers(ctx, walks[0].columns, walks[1].columns);
  check_buffers(ctx, walks[0].slots, walks[1].slots);
  CHECK_EQ(walks[0].columns == a->columns, walks[1].columns == b->columns);  // symmetric structures are shared
  CHECK_OK(lac_pattern_transpose(ctx, a, &there.pattern, &there.map));
  CHECK_OK(lac_pattern_transpose(cpu, b, &here.pattern, &here.map));
  CHECK_EQ(there.pattern == a, here.pattern == b);
  CHECK_EQ(there.pattern->fingerprint, here.pattern->fingerprint);
  CHECK(lac_pattern_same(there.pattern, here.pattern));
  check_maps(ctx, cpu, there.map, here.map);
  built_free(&there);
  built_free(&here);
}

/// Before the host has asked for indices.
static inline void check_bands(lac_context *ctx, lac_context *cpu, const lac_pattern *a, const lac_pattern *b) {
  const lac_band *there, *here;
  CHECK_OK(lac_pattern_band(ctx, a, &there));
  CHECK_OK(lac_pattern_band(cpu, b, &here));
  CHECK_EQ(there->low, here->low);
  CHECK_EQ(there->high, here->high);
  CHECK_EQ(there->first_without, here->first_without);
  CHECK_EQ(there->last_without, here->last_without);
}

static inline void check_patterns(lac_context *ctx, lac_context *cpu, const built *there, const built *here) {
  const lac_pattern *a = there->pattern, *b = here->pattern;
  check_bands(ctx, cpu, a, b);
  CHECK_EQ(a->rows, b->rows);
  CHECK_EQ(a->cols, b->cols);
  CHECK_EQ(a->nnz, b->nnz);
  CHECK_EQ(a->width, b->width);
  CHECK_EQ(a->fingerprint, b->fingerprint);
  check_maps(ctx, cpu, there->map, here->map);
  check_transposes(ctx, cpu, a, b);
  check_buffers(ctx, a->offsets, b->offsets);
  check_buffers(ctx, a->columns, b->columns);
  CHECK(lac_pattern_same(a, b));
}

/// Random coordinates, some of them more than once.
static inline void random_entries(random_state *r, int64_t rows, int64_t cols, int64_t count, int64_t *row,
                                  int64_t *col) {
  for (int64_t i = 0; i < count; ++i) {
    bool again = i > 0 && random_below(r, 4) == 0;
    int64_t like = again ? random_below(r, i) : 0;
    row[i] = again ? row[like] : random_below(r, rows);
    col[i] = again ? col[like] : random_below(r, cols);
  }
}

/// A pattern of random entries, made where the context has it. The same seed with more entries gives those and more.
static inline lac_pattern *pattern_in(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, uint64_t seed,
                                      lac_width width) {
  size_t mark = scratch_mark();
  random_state r = random_start(seed);
  int64_t *row = scratch((size_t)(count + 1) * sizeof *row), *col = scratch((size_t)(count + 1) * sizeof *col);
  lac_pattern *out = NULL;
  random_entries(&r, rows, cols, count, row, col);
  integers on_rows = integers_make(ctx, LAC_I64, count, row), on_cols = integers_make(ctx, LAC_I64, count, col);
  CHECK_OK(lac_pattern_from_coo_on(ctx, rows, cols, count, LAC_I64, on_rows.there.data, on_cols.there.data, width, &out,
                                   NULL));
  integers_free(&on_rows);
  integers_free(&on_cols);
  scratch_release(mark);
  return out;
}

static inline void check_made(lac_context *ctx, lac_context *cpu, const lac_pattern *a, const lac_pattern *b) {
  CHECK_EQ(a->width, b->width);
  CHECK_EQ(a->fingerprint, b->fingerprint);
  check_buffers(ctx, a->offsets, b->offsets);
  check_buffers(ctx, a->columns, b->columns);
  CHECK(lac_pattern_same(a, b));
  check_transposes(ctx, cpu, a, b);
}

#endif
