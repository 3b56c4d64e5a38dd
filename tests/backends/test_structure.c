// SPDX-License-Identifier: Apache-2.0
/// Patterns from indices where a backend has them, beside those that the host makes: slots, maps, transposes, groups,
/// sentences.

#include "structure_check.h"

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

/// Compressed rows, or the same integers as compressed columns.
static void check_compressed(lac_context *ctx, bool is_csc, int64_t rows, int64_t cols, lac_index_type type,
                             const int64_t *offsets, const int64_t *columns, lac_width width) {
  lac_context *cpu = NULL;
  built there = {NULL, NULL}, here = {NULL, NULL};
  integers o = integers_make(ctx, type, rows + 1, offsets), c = integers_make(ctx, type, offsets[rows], columns);
  CHECK_OK(lac_context_create("cpu", 0, &cpu));
  if (is_csc) {
    CHECK_OK(
        lac_pattern_from_csc_on(ctx, cols, rows, type, o.there.data, c.there.data, width, &there.pattern, &there.map));
    CHECK_OK(lac_pattern_from_csc(cpu, cols, rows, type, o.here.data, c.here.data, width, &here.pattern, &here.map));
  } else {
    CHECK_OK(
        lac_pattern_from_csr_on(ctx, rows, cols, type, o.there.data, c.there.data, width, &there.pattern, &there.map));
    CHECK_OK(lac_pattern_from_csr(cpu, rows, cols, type, o.here.data, c.here.data, width, &here.pattern, &here.map));
  }
  check_patterns(ctx, cpu, &there, &here);
  built_free(&there);
  built_free(&here);
  integers_free(&o);
  integers_free(&c);
  lac_context_destroy(&cpu);
}

// -- what comes in ---------------------------------------------------------------------------------------------------

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

static void compressed_lines_sorted_and_not(lac_context *ctx) {
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
    for (int is_csc = 0; is_csc < 2; ++is_csc) {
      check_compressed(ctx, is_csc, rows, cols, seed % 3 ? LAC_I32 : LAC_I64, offsets, columns, all_widths[seed % 3]);
    }
    scratch_release(mark);
  }
}

// -- pairs -----------------------------------------------------------------------------------------------------------

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
  if (is_csr) {  // as columns too
    there = lac_pattern_from_csc_on(ctx, cols, rows, type, a.there.data, b.there.data, width, &none, NULL);
    here = lac_pattern_from_csc(cpu, cols, rows, type, a.here.data, b.here.data, width, &none, NULL);
    CHECK(here != LAC_OK && there == here);
    CHECK_TEXT(lac_context_error(ctx), lac_context_error(cpu));
  }
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

static void memory_that_runs_out_is_said(lac_context *ctx) {
  const sketch *s = sketch_square(20, 0.3, 1);
  integers r = integers_make(ctx, LAC_I32, s->nnz, s->col), c = integers_make(ctx, LAC_I32, s->nnz, s->row);
  lac_status status = LAC_ERR_MEMORY;
  int64_t fail = 0;
  while (status != LAC_OK && fail < 200) {
    built made = {NULL, NULL}, flipped = {NULL, NULL};
    lac_pattern *both = NULL, *product = NULL;
    lac_memory_fail_at(++fail);
    status = lac_pattern_from_coo_on(ctx, 20, 20, s->nnz, LAC_I32, r.there.data, c.there.data, LAC_WIDTH_AUTO,
                                     &made.pattern, &made.map);
    if (status == LAC_OK) status = lac_pattern_transpose(ctx, made.pattern, &flipped.pattern, &flipped.map);
    if (status == LAC_OK) status = lac_pattern_union(ctx, made.pattern, flipped.pattern, &both, NULL, NULL);
    if (status == LAC_OK) status = lac_pattern_product(ctx, made.pattern, flipped.pattern, &product);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
    built_free(&made);
    built_free(&flipped);
    lac_pattern_destroy(&both);
    lac_pattern_destroy(&product);
  }
  CHECK(fail > 8 && fail < 200);
  lac_context_clear_error(ctx);
  integers_free(&r);
  integers_free(&c);
}

CHECK_MAIN(random_coordinates_in_any_order, coordinates_in_canonical_order_and_backwards,
           extremes_of_repetition_and_of_gaps, dropped_entries_have_no_slot, shapes_beyond_64_bits_of_a_key,
           compressed_lines_sorted_and_not, pairs_are_as_on_the_host, maps_of_lines_are_as_on_the_host,
           bad_indices_are_named_as_on_the_host, bad_offsets_are_named_as_on_the_host,
           patterns_born_elsewhere_are_like_others, memory_that_runs_out_is_said)
