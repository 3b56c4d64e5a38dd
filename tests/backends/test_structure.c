// SPDX-License-Identifier: Apache-2.0
/// Patterns from indices where a backend has them, beside those that the host makes: slots, maps, transposes, groups,
/// sentences.

#include "core/pattern/structure.h"

#include "kernel_check.h"

// -- indices, here and there -----------------------------------------------------------------------------------------

/// Integers of a type on the host, and a buffer that has them where the context's kernels read them.
typedef struct integers {
  lac_indices here, there;
  lac_buffer *buffer;
} integers;

static integers integers_make(lac_context *ctx, lac_index_type type, int64_t count, const int64_t *values) {
  integers made = {.buffer = NULL};
  CHECK_OK(lac_buffer_create(ctx, type, count, &made.buffer));
  for (int64_t i = 0; i < count; ++i) lac_buffer_set(made.buffer, i, values[i]);
  made.here = made.there = (lac_indices){made.buffer->host, type};
  CHECK_OK(lac_buffer_on(ctx, made.buffer, &made.there.data));
  return made;
}

static void integers_free(integers *i) { lac_object_release(i->buffer); }

// -- comparisons -----------------------------------------------------------------------------------------------------

/// A pattern with its map.
typedef struct built {
  lac_pattern *pattern;
  lac_map *map;
} built;

static void built_free(built *b) {
  lac_pattern_destroy(&b->pattern);
  lac_map_destroy(&b->map);
}

static void check_buffers(lac_context *ctx, const lac_buffer *a, const lac_buffer *b) {
  CHECK_EQ(a->count, b->count);
  CHECK_EQ(a->type, b->type);
  CHECK_OK(lac_buffer_host(ctx, a));
  CHECK_OK(lac_buffer_host(ctx, b));
  for (int64_t i = 0; i < a->count; ++i) CHECK_EQ(lac_buffer_get(a, i), lac_buffer_get(b, i));
}

/// The longest line of offsets is looked for where they are.
static void check_longest(lac_context *ctx, lac_context *cpu, const lac_buffer *a, const lac_buffer *b) {
  lac_longest there, here;
  CHECK_OK(lac_buffer_longest(ctx, a, &there));
  CHECK_OK(lac_buffer_longest(cpu, b, &here));
  CHECK_EQ(there.line, here.line);
  CHECK_EQ(there.count, here.count);
}

static void check_maps(lac_context *ctx, lac_context *cpu, const lac_map *a, const lac_map *b) {
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

static void check_transposes(lac_context *ctx, lac_context *cpu, const lac_pattern *a, const lac_pattern *b) {
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
static void check_bands(lac_context *ctx, lac_context *cpu, const lac_pattern *a, const lac_pattern *b) {
  const lac_band *there, *here;
  CHECK_OK(lac_pattern_band(ctx, a, &there));
  CHECK_OK(lac_pattern_band(cpu, b, &here));
  CHECK_EQ(there->low, here->low);
  CHECK_EQ(there->high, here->high);
  CHECK_EQ(there->first_without, here->first_without);
  CHECK_EQ(there->last_without, here->last_without);
}

static void check_patterns(lac_context *ctx, lac_context *cpu, const built *there, const built *here) {
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

/// Coordinates through both doors.
static void check_coo(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, lac_index_type type,
                      const int64_t *row, const int64_t *col, lac_width width) {
  lac_context *cpu = NULL;
  built there = {NULL, NULL}, here = {NULL, NULL};
  integers r = integers_make(ctx, type, count, row), c = integers_make(ctx, type, count, col);
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  CHECK_OK(lac_pattern_from_coo_on(ctx, rows, cols, count, type, r.there.data, c.there.data, width, &there.pattern,
                                   &there.map));
  CHECK_OK(
      lac_pattern_from_coo(cpu, rows, cols, count, type, r.here.data, c.here.data, width, &here.pattern, &here.map));
  if (!ctx->space->is_host) CHECK(!there.pattern->columns->host && !there.map->target->host);  // born elsewhere
  check_patterns(ctx, cpu, &there, &here);
  built_free(&there);
  built_free(&here);
  CHECK_OK(
      lac_pattern_from_coo_on(ctx, rows, cols, count, type, r.there.data, c.there.data, width, &there.pattern, NULL));
  CHECK_EQ(lac_pattern_rows(there.pattern), rows);
  built_free(&there);
  integers_free(&r);
  integers_free(&c);
  lac_context_destroy(&cpu);
}

static void check_csr(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type, const int64_t *offsets,
                      const int64_t *columns, lac_width width) {
  lac_context *cpu = NULL;
  built there = {NULL, NULL}, here = {NULL, NULL};
  integers o = integers_make(ctx, type, rows + 1, offsets), c = integers_make(ctx, type, offsets[rows], columns);
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  CHECK_OK(
      lac_pattern_from_csr_on(ctx, rows, cols, type, o.there.data, c.there.data, width, &there.pattern, &there.map));
  CHECK_OK(lac_pattern_from_csr(cpu, rows, cols, type, o.here.data, c.here.data, width, &here.pattern, &here.map));
  check_patterns(ctx, cpu, &there, &here);
  built_free(&there);
  built_free(&here);
  integers_free(&o);
  integers_free(&c);
  lac_context_destroy(&cpu);
}

// -- what comes in ---------------------------------------------------------------------------------------------------

/// Random coordinates, some of them more than once.
static void random_entries(random_state *r, int64_t rows, int64_t cols, int64_t count, int64_t *row, int64_t *col) {
  for (int64_t i = 0; i < count; ++i) {
    bool again = i > 0 && random_below(r, 4) == 0;
    int64_t like = again ? random_below(r, i) : 0;
    row[i] = again ? row[like] : random_below(r, rows);
    col[i] = again ? col[like] : random_below(r, cols);
  }
}

static void random_coordinates_in_any_order(lac_context *ctx) {
  static const int64_t sizes[][3] = {
      {1, 1, 1},       {1, 1, 5},       {7, 5, 20},           {5, 7, 0},       {100, 1, 60},
      {1, 100, 60},    {40, 40, 400},   {1000, 3, 5000},      {3, 1000, 5000}, {300, 300, 4000},
      {100000, 7, 50}, {7, 100000, 50}, {70000, 70000, 70001}};
  for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
    for (int kind = 0; kind < 4; ++kind) {
      size_t mark = scratch_mark();
      random_state r = random_start(10 * s + (uint64_t)kind);
      int64_t rows = sizes[s][0], cols = sizes[s][1], count = sizes[s][2];
      int64_t *row = scratch((size_t)(count + 1) * sizeof *row), *col = scratch((size_t)(count + 1) * sizeof *col);
      random_entries(&r, rows, cols, count, row, col);
      check_coo(ctx, rows, cols, count, kind % 2 ? LAC_I64 : LAC_I32, row, col,
                kind == 3   ? LAC_WIDTH_64_64
                : kind == 2 ? LAC_WIDTH_64_32
                            : LAC_WIDTH_AUTO);
      scratch_release(mark);
    }
  }
}

static void coordinates_in_canonical_order_and_backwards(lac_context *ctx) {
  const sketch *s = sketch_symmetric(60, 0.2, 3);
  int64_t *row = scratch((size_t)s->nnz * sizeof *row), *col = scratch((size_t)s->nnz * sizeof *col);
  check_coo(ctx, 60, 60, s->nnz, LAC_I32, s->row, s->col, LAC_WIDTH_AUTO);
  for (int64_t i = 0; i < s->nnz; ++i) row[i] = s->row[s->nnz - 1 - i], col[i] = s->col[s->nnz - 1 - i];
  check_coo(ctx, 60, 60, s->nnz, LAC_I64, row, col, LAC_WIDTH_AUTO);
}

/// One entry many times, and rows of one entry far apart.
static void extremes_of_repetition_and_of_gaps(lac_context *ctx) {
  enum { N = 3000 };
  int64_t row[N], col[N];
  for (int i = 0; i < N; ++i) row[i] = 4, col[i] = 2;
  check_coo(ctx, 9, 9, N, LAC_I32, row, col, LAC_WIDTH_AUTO);
  for (int i = 0; i < N; ++i) row[i] = (N - 1 - i) * 97, col[i] = i * 31;
  check_coo(ctx, N * 97, N * 31, N, LAC_I32, row, col, LAC_WIDTH_AUTO);
}

/// Some of each, and then all of them, of matrices with rows and columns and without.
static void dropped_entries_have_no_slot(lac_context *ctx) {
  static const int64_t sizes[][3] = {{1, 1, 4}, {7, 5, 20}, {300, 300, 4000}, {70000, 70000, 70001}};
  for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
    size_t mark = scratch_mark();
    random_state r = random_start(60 + s);
    int64_t rows = sizes[s][0], cols = sizes[s][1], count = sizes[s][2];
    int64_t *row = scratch((size_t)count * sizeof *row), *col = scratch((size_t)count * sizeof *col);
    random_entries(&r, rows, cols, count, row, col);
    for (int64_t i = 0; i < count; i += 3) (i % 2 ? row : col)[i] = -1;
    check_coo(ctx, rows, cols, count, LAC_I32, row, col, LAC_WIDTH_AUTO);
    check_coo(ctx, rows, cols, count, LAC_I64, row, col, LAC_WIDTH_64_64);
    for (int64_t i = 0; i < count; ++i) row[i] = -1;
    check_coo(ctx, rows, cols, count, LAC_I32, row, col, LAC_WIDTH_64_32);
    check_coo(ctx, 0, cols, count, LAC_I64, row, col, LAC_WIDTH_AUTO);
    scratch_release(mark);
  }
}

/// Row and column in 66 bits: one key does not hold both. Few rows have memory for offsets, so the columns are many.
static void shapes_beyond_64_bits_of_a_key(lac_context *ctx) {
  enum { N = 500 };
  int64_t row[N], col[N], cols = (int64_t)1 << 56, rows = 2000;
  random_state r = random_start(4);
  for (int i = 0; i < N; ++i) {
    row[i] = random_below(&r, rows);
    col[i] = i % 3 ? (int64_t)(random_bits(&r) % (uint64_t)cols) : i ? col[i - 1] : 0;
    if (i % 7 == 0) (i % 2 ? row : col)[i] = -1;
  }
  lac_context *cpu = NULL;
  built there = {NULL, NULL}, here = {NULL, NULL};
  integers a = integers_make(ctx, LAC_I64, N, row), b = integers_make(ctx, LAC_I64, N, col);
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  CHECK_OK(lac_pattern_from_coo_on(ctx, rows, cols, N, LAC_I64, a.there.data, b.there.data, LAC_WIDTH_AUTO,
                                   &there.pattern, &there.map));
  CHECK_OK(lac_pattern_from_coo(cpu, rows, cols, N, LAC_I64, a.here.data, b.here.data, LAC_WIDTH_AUTO, &here.pattern,
                                &here.map));
  CHECK_EQ(there.pattern->width, LAC_WIDTH_64_64);
  CHECK_EQ(there.pattern->fingerprint, here.pattern->fingerprint);
  check_maps(ctx, cpu, there.map, here.map);
  CHECK(lac_pattern_same(there.pattern, here.pattern));
  built_free(&there);
  built_free(&here);
  integers_free(&a);
  integers_free(&b);
  lac_context_destroy(&cpu);
}

static void compressed_rows_sorted_and_not(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    size_t mark = scratch_mark();
    random_state r = random_start(seed);
    int64_t rows = random_below(&r, 200), cols = 1 + random_below(&r, 90), count = 0;
    int64_t *offsets = scratch((size_t)(rows + 1) * sizeof *offsets), *columns = scratch(sizeof *columns * 20 * 201);
    for (int64_t i = 0; i < rows; ++i) {
      int64_t length = random_below(&r, 5) ? random_below(&r, 20) : 0;
      for (int64_t k = 0; k < length; ++k) columns[count++] = seed % 2 ? random_below(&r, cols) : k * cols / 20;
      offsets[i + 1] = count;
    }
    check_csr(ctx, rows, cols, seed % 3 ? LAC_I32 : LAC_I64, offsets, columns, all_widths[seed % 3]);
    scratch_release(mark);
  }
}

// -- pairs -----------------------------------------------------------------------------------------------------------

/// A pattern of random entries, made where the context has it. The same seed with more entries gives those and more.
static lac_pattern *pattern_in(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, uint64_t seed,
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

static void check_made(lac_context *ctx, lac_context *cpu, const lac_pattern *a, const lac_pattern *b) {
  CHECK_EQ(a->width, b->width);
  CHECK_EQ(a->fingerprint, b->fingerprint);
  check_buffers(ctx, a->offsets, b->offsets);
  check_buffers(ctx, a->columns, b->columns);
  CHECK(lac_pattern_same(a, b));
  check_transposes(ctx, cpu, a, b);
}

/// Of (a, b) made through both contexts: a union with its maps and an intersection, or a product.
static void check_pair(lac_context *ctx, lac_context *cpu, lac_pattern *const there[2], lac_pattern *const here[2]) {
  built joined[2] = {{NULL, NULL}, {NULL, NULL}};
  lac_map *from_b[2] = {NULL, NULL};
  lac_pattern *common[2] = {NULL, NULL};
  CHECK_OK(lac_pattern_union(ctx, there[0], there[1], &joined[0].pattern, &joined[0].map, &from_b[0]));
  CHECK_OK(lac_pattern_union(cpu, here[0], here[1], &joined[1].pattern, &joined[1].map, &from_b[1]));
  if (!ctx->space->is_host) CHECK(!from_b[0]->target->host);
  CHECK_EQ(joined[0].pattern == there[0], joined[1].pattern == here[0]);
  CHECK_EQ(joined[0].pattern == there[1], joined[1].pattern == here[1]);
  check_made(ctx, cpu, joined[0].pattern, joined[1].pattern);
  check_maps(ctx, cpu, joined[0].map, joined[1].map);
  check_maps(ctx, cpu, from_b[0], from_b[1]);
  CHECK_OK(lac_pattern_intersection(ctx, there[0], there[1], &common[0], NULL, NULL));
  CHECK_OK(lac_pattern_intersection(cpu, here[0], here[1], &common[1], NULL, NULL));
  check_made(ctx, cpu, common[0], common[1]);
  for (int i = 0; i < 2; ++i) {
    built_free(&joined[i]);
    lac_map_destroy(&from_b[i]);
    lac_pattern_destroy(&common[i]);
  }
}

static void check_product(lac_context *ctx, lac_context *cpu, lac_pattern *const there[2], lac_pattern *const here[2]) {
  lac_pattern *made[2] = {NULL, NULL};
  CHECK_OK(lac_pattern_product(ctx, there[0], there[1], &made[0]));
  CHECK_OK(lac_pattern_product(cpu, here[0], here[1], &made[1]));
  check_made(ctx, cpu, made[0], made[1]);
  lac_pattern_destroy(&made[0]);
  lac_pattern_destroy(&made[1]);
}

/// a is rows x cols with `count` coordinates; b has as many and that shape, or the transposed one where it shall be a
/// factor.
static void check_with(lac_context *ctx, int64_t rows, int64_t cols, const int64_t count[2], const uint64_t seeds[2],
                       const lac_width widths[2], bool is_product) {
  lac_context *cpu = NULL;
  lac_pattern *there[2], *here[2];
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  for (int i = 0; i < 2; ++i) {
    int64_t m = is_product && i ? cols : rows, n = is_product && i ? rows + 3 : cols;
    there[i] = pattern_in(ctx, m, n, count[i], seeds[i], widths[i]);
    here[i] = pattern_in(cpu, m, n, count[i], seeds[i], widths[i]);
  }
  (is_product ? check_product : check_pair)(ctx, cpu, there, here);
  for (int i = 0; i < 2; ++i) {
    lac_pattern_destroy(&there[i]);
    lac_pattern_destroy(&here[i]);
  }
  lac_context_destroy(&cpu);
}

static void pairs_are_as_on_the_host(lac_context *ctx) {
  static const int64_t sizes[][2] = {{1, 1}, {7, 5}, {5, 40}, {40, 5}, {300, 200}, {2000, 2000}};
  static const int64_t counts[][2] = {{0, 0}, {0, 9}, {9, 0}, {20, 60}, {3000, 500}};
  for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
    for (size_t c = 0; c < COUNT_OF(counts); ++c) {
      lac_width widths[2] = {all_widths[s % 3], all_widths[c % 3]};
      for (int is_product = 0; is_product < 2; ++is_product) {
        check_with(ctx, sizes[s][0], sizes[s][1], counts[c], (uint64_t[]){10 * s + c, 77}, widths, is_product);
      }
    }
    // the same entries, and more of the same: the union is a, or b
    check_with(ctx, sizes[s][0], sizes[s][1], (int64_t[]){90, 90}, (uint64_t[]){5, 5}, all_widths, false);
    check_with(ctx, sizes[s][0], sizes[s][1], (int64_t[]){50, 90}, (uint64_t[]){5, 5}, all_widths, false);
    check_with(ctx, sizes[s][0], sizes[s][1], (int64_t[]){90, 50}, (uint64_t[]){5, 5}, all_widths, false);
  }
}

/// Maps from slots to themselves and to lines, with as many slots as lines, fewer and more.
static void maps_of_lines_are_as_on_the_host(lac_context *ctx) {
  static const int64_t counts[] = {0, 3, 12, 400};
  lac_context *cpu = NULL;
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  for (size_t c = 0; c < COUNT_OF(counts); ++c) {
    for (int w = 0; w < 3; ++w) {
      lac_pattern *there = pattern_in(ctx, 20, 30, counts[c], c, all_widths[w]);
      lac_pattern *here = pattern_in(cpu, 20, 30, counts[c], c, all_widths[w]);
      lac_status (*const makers[])(lac_context *, const lac_pattern *, lac_map **) = {
          lac_pattern_identity, lac_pattern_row_map, lac_pattern_col_map};
      for (size_t m = 0; m < COUNT_OF(makers); ++m) {
        lac_map *maps[2] = {NULL, NULL};
        CHECK_OK(makers[m](ctx, there, &maps[0]));
        CHECK_OK(makers[m](cpu, here, &maps[1]));
        if (lac_structure_of(ctx) && counts[c] > 30) CHECK(!there->columns->host && !maps[0]->target->host);
        check_maps(ctx, cpu, maps[0], maps[1]);
        lac_map_destroy(&maps[0]);
        lac_map_destroy(&maps[1]);
      }
      lac_pattern_destroy(&there);
      lac_pattern_destroy(&here);
    }
  }
  lac_context_destroy(&cpu);
}

// -- parts, lists, Kronecker products, stacks ------------------------------------------------------------------------

/// What is made of one pattern or of two, by a number.
enum { PARTS = 20 };

static lac_status make_part(lac_context *ctx, lac_pattern *const p[2], int part, built *out) {
  int64_t rows = p[0]->rows, cols = p[0]->cols, row[200], col[200];
  bool repeats = part == 11;

  for (int64_t i = 0; i < 200; ++i) {  // backwards, some left out, or each twice
    row[i] = rows ? repeats ? i / 2 % rows : rows - 1 - i : 0;
    col[i] = cols ? repeats ? (i + 1) / 2 % cols : (7 * i + 3) % cols : 0;
  }
  switch (part) {
    case 0:
    case 1:
    case 2:
    case 3:
      return lac_pattern_triangle(ctx, p[0], part % 2 ? LAC_TRIANGLE_LOWER : LAC_TRIANGLE_UPPER,
                                  part < 2 ? 0 : 2 * part - 5, &out->pattern, &out->map);
    case 4:
      return lac_pattern_triangle(ctx, p[0], LAC_TRIANGLE_LOWER, cols + 9, &out->pattern, &out->map);
    case 5:
      return lac_pattern_submatrix(ctx, p[0], rows / 3, rows - rows / 4, cols / 4, cols - cols / 3, &out->pattern,
                                   &out->map);
    case 6:
      return lac_pattern_submatrix(ctx, p[0], 0, rows, 0, cols / 2, &out->pattern, &out->map);
    case 7:
      return lac_pattern_submatrix(ctx, p[0], rows / 2, rows / 2, 0, cols, &out->pattern, &out->map);
    case 8:
      return lac_pattern_diagonal(ctx, p[0], &out->map);
    case 9:
      return lac_pattern_dense(ctx, p[0], &out->map);
    case 10:
    case 11:
      return lac_pattern_select(ctx, p[0], rows < 100 ? (rows + 1) / 2 : 100, row,
                                cols % 7 && cols < 100 ? cols : cols / 3 % 20, cols % 7 || repeats ? col : NULL,
                                &out->pattern, &out->map);
    case 12:
      return lac_pattern_select(ctx, p[0], 0, NULL, rows < 90 ? 1 : 0, col, &out->pattern, &out->map);
    case 13:
      return lac_pattern_permute(ctx, p[0], rows < 200 ? row : NULL, cols % 7 && cols < 200 ? col : NULL, &out->pattern,
                                 &out->map);
    case 14:
      return lac_pattern_permute(ctx, p[0], NULL, NULL, &out->pattern, &out->map);
    case 15:
      return lac_pattern_kron(ctx, p[0], p[1], &out->pattern, &out->map);
    case 18:
      return lac_pattern_block_diag(ctx, 2, (const lac_pattern *const *)p, &out->pattern, NULL);
    default:
      return lac_pattern_intersection(ctx, p[0], p[1], &out->pattern, &out->map, NULL);
  }
}

/// One part of the same patterns, made here and there; the host never has the indices of the latter.
static void check_part(lac_context *ctx, lac_context *cpu, lac_pattern *const there[2], lac_pattern *const here[2],
                       int part) {
  built made[4] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
  lac_map *maps[4] = {NULL, NULL, NULL, NULL};
  bool is_stack = part == 16 || part == 17;
  if (is_stack) {  // maps of all blocks
    lac_status (*stack)(lac_context *, int64_t, const lac_pattern *const *, lac_pattern **, lac_map **) =
        part == 16 ? lac_pattern_hstack : lac_pattern_vstack;
    CHECK_OK(stack(ctx, 2, (const lac_pattern *const *)there, &made[0].pattern, &maps[0]));
    CHECK_OK(stack(cpu, 2, (const lac_pattern *const *)here, &made[1].pattern, &maps[2]));
    check_maps(ctx, cpu, maps[0], maps[2]);
    check_maps(ctx, cpu, maps[1], maps[3]);
  } else {
    CHECK_OK(make_part(ctx, there, part, &made[0]));
    CHECK_OK(make_part(cpu, here, part, &made[1]));
  }
  if (lac_structure_of(ctx) && there[0]->nnz && there[1]->nnz && part != 11) {
    CHECK(!there[0]->columns->host && !there[1]->columns->host);
    if (made[0].pattern) CHECK(!made[0].pattern->columns->host);
    if (made[0].map) CHECK(!made[0].map->target->host);
  }
  if (made[0].map) check_maps(ctx, cpu, made[0].map, made[1].map);
  CHECK_EQ(made[0].pattern == there[0], made[1].pattern == here[0]);
  if (made[0].pattern && made[0].pattern != there[0]) check_made(ctx, cpu, made[0].pattern, made[1].pattern);
  for (int i = 0; i < 2; ++i) built_free(&made[i]);
  for (int i = 0; i < 4; ++i) lac_map_destroy(&maps[i]);
}

static void parts_and_stacks_are_as_on_the_host(lac_context *ctx) {
  static const int64_t sizes[][2] = {{1, 1}, {6, 5}, {5, 41}, {41, 5}, {90, 90}, {150, 120}};
  static const int64_t counts[][2] = {{0, 0}, {0, 9}, {20, 30}, {700, 500}};
  lac_context *cpu = NULL;
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
    for (size_t c = 0; c < COUNT_OF(counts); ++c) {
      for (int part = 0; part < PARTS; ++part) {
        lac_pattern *there[2], *here[2];
        for (int i = 0; i < 2; ++i) {
          lac_width width = all_widths[(s + c + (size_t)i) % 3];
          there[i] = pattern_in(ctx, sizes[s][0], sizes[s][1], counts[c][i], 3 * s + c, width);
          here[i] = pattern_in(cpu, sizes[s][0], sizes[s][1], counts[c][i], 3 * s + c, width);
        }
        check_part(ctx, cpu, there, here, part);
        for (int i = 0; i < 2; ++i) lac_pattern_destroy(&there[i]), lac_pattern_destroy(&here[i]);
      }
    }
  }
  lac_context_destroy(&cpu);
}

/// What is refused is so in the host's words, and nothing is made.
static void parts_that_do_not_fit_are_refused(lac_context *ctx) {
  lac_pattern *p = pattern_in(ctx, 9, 7, 30, 1, LAC_WIDTH_AUTO), *q = pattern_in(ctx, 8, 7, 30, 1, LAC_WIDTH_AUTO);
  lac_pattern *none = NULL;
  const lac_pattern *both[] = {p, q};
  CHECK_FAILS(lac_pattern_hstack(ctx, 2, both, &none, NULL), LAC_ERR_SHAPE, "pattern 1 has 8 rows");
  CHECK_FAILS(lac_pattern_intersection(ctx, p, q, &none, NULL, NULL), LAC_ERR_SHAPE, "9 x 7 and b is 8 x 7");
  CHECK_FAILS(lac_pattern_submatrix(ctx, p, 3, 2, 0, 7, &none, NULL), LAC_ERR_ARG, "rows [3, 2)");
  CHECK_FAILS(lac_pattern_select(ctx, p, 1, (int64_t[]){9}, 0, NULL, &none, NULL), LAC_ERR_ARG, "row[0] = 9");
  CHECK_FAILS(lac_pattern_permute(ctx, p, NULL, (int64_t[]){0, 1, 2, 3, 4, 5, 1}, &none, NULL), LAC_ERR_ARG,
              "col[6] = 1 came before");
  CHECK(!none);
  lac_pattern_destroy(&p);
  lac_pattern_destroy(&q);
}

// -- what is refused -------------------------------------------------------------------------------------------------

/// Both doors refuse with the same status and the same sentence.
static void check_refusals(lac_context *ctx, bool is_csr, int64_t rows, int64_t cols, int64_t count,
                           lac_index_type type, const int64_t *first, int64_t firsts, const int64_t *second,
                           lac_width width) {
  lac_context *cpu = NULL;
  lac_pattern *none = NULL;
  integers a = integers_make(ctx, type, firsts, first), b = integers_make(ctx, type, count, second);
  lac_status there, here;
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  if (is_csr) {
    there = lac_pattern_from_csr_on(ctx, rows, cols, type, a.there.data, b.there.data, width, &none, NULL);
    here = lac_pattern_from_csr(cpu, rows, cols, type, a.here.data, b.here.data, width, &none, NULL);
  } else {
    there = lac_pattern_from_coo_on(ctx, rows, cols, count, type, a.there.data, b.there.data, width, &none, NULL);
    here = lac_pattern_from_coo(cpu, rows, cols, count, type, a.here.data, b.here.data, width, &none, NULL);
  }
  CHECK(here != LAC_OK && !none);
  CHECK_EQ(there, here);
  CHECK_TEXT(lac_context_error(ctx), lac_context_error(cpu));
  lac_context_clear_error(ctx);
  integers_free(&a);
  integers_free(&b);
  lac_context_destroy(&cpu);
}

static void bad_indices_are_named_as_on_the_host(lac_context *ctx) {
  enum { N = 700 };
  int64_t row[N], col[N], wrong[] = {-2, 50, INT32_MAX, INT32_MIN};
  for (int round = 0; round < 24; ++round) {
    random_state r = random_start((uint64_t)round);
    for (int i = 0; i < N; ++i) row[i] = random_below(&r, 50), col[i] = random_below(&r, 40);
    int at = (int)random_below(&r, N), later = at + (int)random_below(&r, N - at);
    (round % 3 ? row : col)[at] = wrong[round % 4];
    (round % 2 ? row : col)[later] = wrong[(round + 1) % 4];
    check_refusals(ctx, false, 50, 40, N, round % 2 ? LAC_I32 : LAC_I64, row, N, col, LAC_WIDTH_AUTO);
  }
  check_refusals(ctx, false, 0, 40, 1, LAC_I32, (int64_t[]){0}, 1, (int64_t[]){0}, LAC_WIDTH_AUTO);
  check_refusals(ctx, false, 40, 0, 1, LAC_I32, (int64_t[]){0}, 1, (int64_t[]){0}, LAC_WIDTH_AUTO);
  check_refusals(ctx, false, -1, 4, 0, LAC_I32, row, 0, col, LAC_WIDTH_AUTO);
  check_refusals(ctx, false, INT64_C(1) << 40, 4, 1, LAC_I64, row, 1, col, LAC_WIDTH_32_32);
}

static void bad_offsets_are_named_as_on_the_host(lac_context *ctx) {
  static const int64_t offsets[][5] = {
      {1, 2, 3, 4, 5}, {0, 2, 1, 4, 5}, {0, 2, 3, 3, 2}, {0, 1, 2, -3, 5}, {-1, 1, 2, 3, 5}};
  int64_t columns[5] = {0, 1, 2, 3, 9};
  for (size_t i = 0; i < COUNT_OF(offsets); ++i) {
    for (int type = LAC_I32; type <= LAC_I64; ++type) {
      check_refusals(ctx, true, 4, 9, 5, (lac_index_type)type, offsets[i], 5, columns, LAC_WIDTH_AUTO);
    }
  }
  check_refusals(ctx, true, 4, 9, 5, LAC_I32, (int64_t[]){0, 1, 2, 3, 5}, 5, columns, LAC_WIDTH_AUTO);
}

// -- what becomes of them --------------------------------------------------------------------------------------------

/// A product and its adjoint, a union and a solve with a pattern that was born on the device.
static void patterns_born_elsewhere_are_like_others(lac_context *ctx) {
  const sketch *s = sketch_square(30, 0.2, 1);
  integers r = integers_make(ctx, LAC_I32, s->nnz, s->row), c = integers_make(ctx, LAC_I32, s->nnz, s->col);
  lac_pattern *pattern = NULL, *other = NULL, *joined = NULL, *lower = NULL;
  subject a = subject_in(ctx, (lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {s->nnz}}, 1);
  subject x = subject_in(ctx, (lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {30, 2}}, 2);
  CHECK_OK(lac_pattern_from_coo_on(ctx, 30, 30, s->nnz, LAC_I32, r.there.data, c.there.data, LAC_WIDTH_AUTO, &pattern,
                                   NULL));
  FOR_SIDES(form) {
    subject y = subject_out(ctx, (lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {30, 2}});
    CHECK_OK(ctx->kernels->spmm(ctx, pattern, form, a.array, x.array, y.array));
    for (int64_t p = 0; p < s->nnz; ++p) {
      int64_t i = lac_form_transposes(form) ? s->col[p] : s->row[p],
              j = lac_form_transposes(form) ? s->row[p] : s->col[p];
      for (int k = 0; k < 2; ++k) subject_add(&y, 2 * i + k, a.value.x[p], x.value.x[2 * j + k]);
    }
    subject_check(ctx, &y, "spmm");
    lac_array_destroy(&y.array);
  }
  CHECK_OK(sketch_pattern(ctx, sketch_symmetric(30, 0.1, 2), LAC_WIDTH_AUTO, &other));
  CHECK_OK(lac_pattern_union(ctx, pattern, other, &joined, NULL, NULL));
  CHECK(lac_pattern_nnz(joined) >= s->nnz);
  CHECK_OK(lac_pattern_triangle(ctx, pattern, LAC_TRIANGLE_LOWER, 0, &lower, NULL));
  CHECK(lac_pattern_nnz(lower) >= 30);
  lac_pattern_destroy(&pattern);
  lac_pattern_destroy(&other);
  lac_pattern_destroy(&joined);
  lac_pattern_destroy(&lower);
  lac_array_destroy(&a.array);
  lac_array_destroy(&x.array);
  integers_free(&r);
  integers_free(&c);
}

/// Solves with the triangles of a square pattern, whose levels are found where it lies; beside the host's.
static void check_triangle(lac_context *ctx, lac_context *cpu, lac_pattern *const pattern[2], lac_triangle triangle) {
  lac_context *const contexts[2] = {ctx, cpu};
  int64_t rows = pattern[0]->rows;
  lac_pattern *part[2] = {NULL, NULL};
  double *x[2];
  for (int side = 0; side < 2; ++side) {
    CHECK_OK(lac_pattern_triangle(contexts[side], pattern[side], triangle, triangle == LAC_TRIANGLE_LOWER ? -1 : 1,
                                  &part[side], NULL));
  }
  FOR_SIDES(form) {
    for (int side = 0; side < 2; ++side) {
      size_t count = (size_t)part[side]->nnz;
      lac_array *a = NULL, *b = NULL, *out = NULL;
      double *values = scratch((count + 1) * sizeof *values), *right = scratch((size_t)rows * sizeof *right);
      random_state r = random_start(9);
      for (size_t i = 0; i < count; ++i) values[i] = (random_unit(&r) - 0.5) / 8;
      for (int64_t i = 0; i < rows; ++i) right[i] = random_unit(&r);
      lac_context *here = contexts[side];
      x[side] = scratch((size_t)rows * sizeof **x);
      CHECK_OK(lac_array_from(here, LAC_F64, 1, &part[side]->nnz, values, LAC_OWNERSHIP_COPY, &a));
      CHECK_OK(lac_array_from(here, LAC_F64, 2, (int64_t[]){rows, 1}, right, LAC_OWNERSHIP_COPY, &b));
      CHECK_OK(lac_run_trisolve(here, part[side], a, b, triangle, LAC_DIAGONAL_UNIT, form, &out));
      CHECK_OK(lac_array_read(here, out, x[side]));
      lac_array_destroy(&a), lac_array_destroy(&b), lac_array_destroy(&out);
    }
    for (int64_t i = 0; i < rows; ++i) CHECK_NEAR(x[0][i], x[1][i], 1e-10);
  }
  if (lac_structure_of(ctx)) CHECK(!part[0]->columns->host && !pattern[0]->columns->host);
  lac_pattern_destroy(&part[0]);
  lac_pattern_destroy(&part[1]);
}

static void triangles_born_elsewhere_are_solved_there(lac_context *ctx) {
  static const int64_t sizes[][2] = {{40, 200}, {300, 3000}, {5000, 30000}, {70000, 300000}};
  lac_context *cpu = NULL;
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  for (size_t s = 0; s < COUNT_OF(sizes); ++s) {
    for (int w = 0; w < 3; ++w) {
      size_t mark = scratch_mark();
      lac_pattern *both[2] = {pattern_in(ctx, sizes[s][0], sizes[s][0], sizes[s][1], s, all_widths[w]),
                              pattern_in(cpu, sizes[s][0], sizes[s][0], sizes[s][1], s, all_widths[w])};
      check_triangle(ctx, cpu, both, LAC_TRIANGLE_LOWER);
      check_triangle(ctx, cpu, both, LAC_TRIANGLE_UPPER);
      lac_pattern_destroy(&both[0]);
      lac_pattern_destroy(&both[1]);
      scratch_release(mark);
    }
  }
  lac_context_destroy(&cpu);
}

static void memory_that_runs_out_is_said(lac_context *ctx) {
  const sketch *s = sketch_square(20, 0.3, 1);
  integers r = integers_make(ctx, LAC_I32, s->nnz, s->col), c = integers_make(ctx, LAC_I32, s->nnz, s->row);
  lac_status status = LAC_ERR_MEMORY;
  int64_t fail = 0;
  while (status != LAC_OK && fail < 600) {
    built made = {NULL, NULL}, flipped = {NULL, NULL};
    lac_pattern *both = NULL, *product = NULL;
    lac_memory_fail_at(++fail);
    status = lac_pattern_from_coo_on(ctx, 20, 20, s->nnz, LAC_I32, r.there.data, c.there.data, LAC_WIDTH_AUTO,
                                     &made.pattern, &made.map);
    if (status == LAC_OK) status = lac_pattern_transpose(ctx, made.pattern, &flipped.pattern, &flipped.map);
    if (status == LAC_OK) status = lac_pattern_union(ctx, made.pattern, flipped.pattern, &both, NULL, NULL);
    if (status == LAC_OK) status = lac_pattern_product(ctx, made.pattern, flipped.pattern, &product);
    for (int part = 0; part < PARTS && status == LAC_OK; ++part) {
      built more = {NULL, NULL};
      if (part == 16 || part == 17) continue;  // whose maps are two
      status = make_part(ctx, (lac_pattern *[]){made.pattern, flipped.pattern}, part, &more);
      built_free(&more);
    }
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
    built_free(&made);
    built_free(&flipped);
    lac_pattern_destroy(&both);
    lac_pattern_destroy(&product);
  }
  CHECK(fail > 8 && fail < 600);
  lac_context_clear_error(ctx);
  integers_free(&r);
  integers_free(&c);
}

CHECK_MAIN(random_coordinates_in_any_order, coordinates_in_canonical_order_and_backwards,
           extremes_of_repetition_and_of_gaps, dropped_entries_have_no_slot, shapes_beyond_64_bits_of_a_key,
           compressed_rows_sorted_and_not, pairs_are_as_on_the_host, maps_of_lines_are_as_on_the_host,
           parts_and_stacks_are_as_on_the_host, parts_that_do_not_fit_are_refused, bad_indices_are_named_as_on_the_host,
           bad_offsets_are_named_as_on_the_host, patterns_born_elsewhere_are_like_others,
           triangles_born_elsewhere_are_solved_there, memory_that_runs_out_is_said)
