// SPDX-License-Identifier: Apache-2.0
/// Patterns made of one pattern: transpose, triangle, submatrix, and the maps to the diagonal and to the dense matrix.

#include <omp.h>

#include "core/pattern/pattern_impl.h"
#include "support/check.h"
#include "support/mask.h"
#include "support/random.h"
#include "support/scratch.h"

static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};

/// A random pattern of up to 8 x 8, or a fixed small one first; trials differ in width and threads.
static lac_pattern *draw(lac_context *ctx, random_state *r, int trial) {
  static const int64_t sizes[][2] = {{0, 0}, {0, 4}, {4, 0}, {1, 1}, {3, 3}};
  size_t mark = scratch_mark();
  int64_t rows = trial < 5 ? sizes[trial][0] : random_below(r, 9),
          cols = trial < 5 ? sizes[trial][1] : random_below(r, 9);
  double density = (double)random_below(r, 11) / 10;
  const sketch *s = trial % 7 == 4 ? sketch_symmetric(rows, density, random_bits(r))
                    : trial % 3    ? sketch_random(rows, cols, density, random_bits(r))
                                   : sketch_empty(rows, cols);
  lac_pattern *p = NULL;
  CHECK_OK(lac_context_set_threads(ctx, 1 + trial % 3));
  CHECK_OK(sketch_pattern(ctx, s, widths[trial % 3], &p));
  scratch_release(mark);
  return p;
}

enum { TRIALS = 400 };

/// A walk visits the entries of A or A^T row by row, columns ascending, with the slots of A.
static void check_walk(lac_context *ctx, const lac_pattern *p, bool transposed) {
  mask m = mask_read(p);
  lac_rows w;
  CHECK_OK(lac_pattern_walk(ctx, p, transposed, &w));
  CHECK_EQ(w.rows, transposed ? m.cols : m.rows);
  CHECK_EQ(w.cols, transposed ? m.rows : m.cols);
  int64_t place = 0;
  for (int64_t i = 0; i < w.rows; ++i) {
    CHECK_EQ(lac_buffer_get(w.offsets, i), place);
    for (int64_t j = 0; j < w.cols; ++j) {
      int64_t slot = *(transposed ? mask_at(&m, j, i) : mask_at(&m, i, j));
      if (slot < 0) continue;
      CHECK_EQ(lac_buffer_get(w.columns, place), j);
      CHECK_EQ(w.slots ? lac_buffer_get(w.slots, place) : place, slot);
      ++place;
    }
  }
  CHECK_EQ(lac_buffer_get(w.offsets, w.rows), place);
}

static mask mask_transposed(const mask *m) {
  mask t = mask_empty(m->cols, m->rows);
  for (int64_t i = 0; i < m->rows; ++i) {
    for (int64_t j = 0; j < m->cols; ++j) *mask_at(&t, j, i) = *mask_at(m, i, j);
  }
  mask_number(&t);
  return t;
}

static void check_transpose(lac_context *ctx, const lac_pattern *p) {
  mask m = mask_read(p), t = mask_transposed(&m);
  lac_pattern *out = NULL;
  lac_map *map = NULL;
  CHECK_OK(lac_pattern_transpose(ctx, p, &out, &map));
  mask_check(&t, out);
  CHECK_EQ(lac_pattern_width(out), lac_pattern_width(p));
  int64_t *target = scratch((size_t)m.nnz * sizeof *target);
  lac_map_read(map, target);
  for (int64_t z = 0, cells = m.rows * m.cols; z < cells; ++z) {
    if (m.slot[z] >= 0) CHECK_EQ(target[m.slot[z]], *mask_at(&t, z % m.cols, z / m.cols));
  }
  check_walk(ctx, out, false);
  check_walk(ctx, out, true);
  lac_pattern_destroy(&out);
  lac_map_destroy(&map);
}

static void transposes_match_brute_force(lac_context *ctx) {
  random_state r = random_start(21);
  for (int trial = 0; trial < TRIALS; ++trial) {
    size_t mark = scratch_mark();
    lac_pattern *p = draw(ctx, &r, trial);
    check_walk(ctx, p, false);
    check_walk(ctx, p, true);
    check_transpose(ctx, p);
    lac_pattern_destroy(&p);
    scratch_release(mark);
  }
}

static void large_transposes_do_not_depend_on_threads(lac_context *ctx) {
  const sketch *s = sketch_random(300, 200, 0.3, 22);
  for (int threads = 1; threads < 5; threads += 3) {
    lac_pattern *p = NULL;
    CHECK_OK(lac_context_set_threads(ctx, threads));
    CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_32_32, &p));
    check_walk(ctx, p, true);
    check_transpose(ctx, p);
    lac_pattern_destroy(&p);
  }
}

static void a_symmetric_structure_is_its_own_transpose_but_slots_move(lac_context *ctx) {
  lac_pattern *p = NULL, *t = NULL;
  lac_map *map = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_symmetric(6, 0.5, 23), LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_pattern_transpose(ctx, p, &t, &map));
  CHECK(lac_pattern_same(p, t));
  CHECK(!lac_map_is_identity(map));
  CHECK(map->is_injective);
  lac_map_destroy(&map);
  lac_pattern_destroy(&t);
  lac_pattern_destroy(&p);
}

/// Three diagonals and one more entry at (row, col), if any: large enough for several threads.
static lac_pattern *three_diagonals(lac_context *ctx, int64_t n, int64_t row, int64_t col) {
  size_t mark = scratch_mark();
  int64_t *rows = scratch(8 * (size_t)(3 * n + 1)), *cols = scratch(8 * (size_t)(3 * n + 1)), count = 0;
  lac_pattern *p = NULL;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i > 0 ? i - 1 : 0; j < n && j <= i + 1; ++j) rows[count] = i, cols[count++] = j;
  }
  if (row >= 0) rows[count] = row, cols[count++] = col;
  CHECK_OK(lac_pattern_from_coo(ctx, n, n, count, LAC_I64, rows, cols, LAC_WIDTH_AUTO, &p, NULL));
  scratch_release(mark);
  return p;
}

/// The rows of each column ascend, and their slots are in these rows and in this column.
static void check_columns(const lac_pattern *p, const lac_rows *t) {
  CHECK_EQ(lac_buffer_get(t->offsets, t->rows), p->nnz);
  for (int64_t j = 0; j < t->rows; ++j) {
    int64_t before = -1;
    for (int64_t q = lac_buffer_get(t->offsets, j); q < lac_buffer_get(t->offsets, j + 1); ++q) {
      int64_t i = lac_buffer_get(t->columns, q), slot = lac_buffer_get(t->slots, q);
      CHECK(i > before && lac_buffer_get(p->columns, slot) == j);
      CHECK(lac_buffer_get(p->offsets, i) <= slot && slot < lac_buffer_get(p->offsets, i + 1));
      before = i;
    }
  }
}

static void one_entry_makes_a_large_structure_unsymmetric(lac_context *ctx) {
  enum { N = 40000 };
  static const int64_t more[][2] = {{-1, -1}, {0, N - 1}, {N - 1, 0}, {N - 1, N - 3}, {N / 2, N / 2 + 7}};
  for (int i = 0; i < 10; ++i) {
    lac_rows rows;
    CHECK_OK(lac_context_set_threads(ctx, i % 2 ? 3 : 1));
    lac_pattern *p = three_diagonals(ctx, N, more[i / 2][0], more[i / 2][1]);
    CHECK_OK(lac_pattern_walk(ctx, p, true, &rows));
    CHECK_EQ(rows.columns == p->columns, i / 2 == 0);
    check_columns(p, &rows);
    lac_pattern_destroy(&p);
  }
}

/// Where a caller's loop leaves one thread, that has all parts.
static void a_transpose_within_a_parallel_loop_is_the_same(lac_context *ctx) {
  enum { N = 40000 };
  int levels = omp_get_max_active_levels();
  lac_rows rows;
  lac_pattern *p = three_diagonals(ctx, N, 0, N - 1);
  CHECK_OK(lac_context_set_threads(ctx, 3));
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp single
  CHECK_OK(lac_pattern_walk(ctx, p, true, &rows));
  omp_set_max_active_levels(levels);
  CHECK(rows.columns != p->columns);
  check_columns(p, &rows);
  lac_pattern_destroy(&p);
}

static void the_transpose_outlives_its_origin_and_shares_its_buffers(lac_context *ctx) {
  lac_pattern *p = NULL, *t = NULL, *back = NULL;
  lac_rows rows;
  CHECK_OK(sketch_pattern(ctx, sketch_random(5, 7, 0.5, 24), LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_pattern_transpose(ctx, p, &t, NULL));
  CHECK_OK(lac_pattern_walk(ctx, p, true, &rows));
  CHECK(rows.offsets == t->offsets && rows.columns == t->columns);
  CHECK_OK(lac_pattern_walk(ctx, t, true, &rows));
  CHECK(rows.offsets == p->offsets && rows.columns == p->columns);
  CHECK_OK(lac_pattern_transpose(ctx, t, &back, NULL));
  CHECK(lac_pattern_same(p, back));
  lac_pattern_destroy(&p);
  check_walk(ctx, t, true);
  lac_pattern_destroy(&t);
  check_walk(ctx, back, true);
  lac_pattern_destroy(&back);
}

static void caches_count_as_bytes(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_rows rows;
  const lac_buffer *rows_of = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(50, 70, 0.5, 25), LAC_WIDTH_32_32, &p));
  int64_t plain = lac_pattern_bytes(p), nnz = lac_pattern_nnz(p);
  CHECK(plain >= 4 * (51 + nnz));
  CHECK_OK(lac_pattern_walk(ctx, p, true, &rows));
  int64_t with_transpose = lac_pattern_bytes(p);
  CHECK(with_transpose >= plain + 4 * (71 + 2 * nnz));
  CHECK_OK(lac_pattern_rows_of(ctx, p, &rows_of));
  CHECK(lac_pattern_bytes(p) >= with_transpose + 4 * nnz);
  lac_pattern_destroy(&p);
}

static int64_t live_blocks(void) { return memory_now("cpu").live_blocks; }

/// Ask for what is kept, twice; the second time nothing is taken.
static void check_kept(lac_context *ctx, const lac_pattern *p) {
  lac_pattern *t[2] = {0}, *lower[2] = {0}, *upper[2] = {0};
  lac_map *t_map[2] = {0}, *lower_map[2] = {0}, *upper_map[2] = {0}, *diagonal[2] = {0};
  int64_t after = 0;
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(lac_pattern_transpose(ctx, p, &t[i], &t_map[i]));
    CHECK_OK(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, &lower[i], i ? &lower_map[i] : NULL));
    CHECK_OK(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_UPPER, 1, &upper[i], &upper_map[i]));
    CHECK_OK(lac_pattern_diagonal(ctx, p, &diagonal[i]));
    if (i) CHECK_EQ(live_blocks(), after);
    after = live_blocks();
  }
  CHECK(t[0] == t[1] && lower[0] == lower[1] && upper[0] == upper[1] && lower[0] != upper[0]);
  CHECK(t_map[0] == t_map[1] && upper_map[0] == upper_map[1] && diagonal[0] == diagonal[1]);
  for (int i = 0; i < 2; ++i) {
    lac_pattern_destroy(&t[i]), lac_pattern_destroy(&lower[i]), lac_pattern_destroy(&upper[i]);
    lac_map_destroy(&t_map[i]), lac_map_destroy(&lower_map[i]), lac_map_destroy(&upper_map[i]);
    lac_map_destroy(&diagonal[i]);
  }
}

static void parts_are_kept_and_go_with_their_pattern(lac_context *ctx) {
  int64_t before = live_blocks();
  lac_pattern *p = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(6, 5, 0.6, 32), LAC_WIDTH_AUTO, &p));
  check_kept(ctx, p);
  lac_pattern_destroy(&p);
  CHECK_EQ(live_blocks(), before);
  CHECK_OK(sketch_pattern(ctx, sketch_symmetric(6, 0.5, 33), LAC_WIDTH_AUTO, &p));  // its transpose is itself
  check_kept(ctx, p);
  lac_pattern_destroy(&p);
  CHECK_EQ(live_blocks(), before);
  CHECK_OK(sketch_pattern(ctx, sketch_empty(0, 3), LAC_WIDTH_AUTO, &p));  // a triangle is the whole
  lac_pattern *whole = NULL;
  CHECK_OK(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, &whole, NULL));
  CHECK(whole == p);
  lac_pattern_destroy(&whole);
  lac_pattern_destroy(&p);
  CHECK_EQ(live_blocks(), before);
}

static void triangles_used_last_are_kept(lac_context *ctx) {
  lac_pattern *p = NULL, *first = NULL, *again = NULL, *other = NULL;
  lac_rows rows;
  CHECK_OK(sketch_pattern(ctx, sketch_random(8, 8, 0.9, 34), LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, &first, NULL));
  CHECK_OK(lac_pattern_walk(ctx, first, true, &rows));
  for (int64_t k = 1; k < 20; ++k) {
    CHECK_OK(lac_pattern_triangle(ctx, p, k % 2 ? LAC_TRIANGLE_LOWER : LAC_TRIANGLE_UPPER, -k % 5, &other, NULL));
    lac_pattern_destroy(&other);
    if (k % 3) continue;
    CHECK_OK(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, &again, NULL));
    CHECK(again == first && again->t_slots);  // with what it derived from itself
    lac_pattern_destroy(&again);
  }
  int64_t blocks = 0;
  for (int64_t k = 0; k < 20; ++k) {
    CHECK_OK(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_UPPER, k % 7, &other, NULL));
    lac_pattern_destroy(&other);
    if (k == 3) blocks = live_blocks();
    if (k > 3) CHECK_EQ(live_blocks(), blocks);  // four are kept
  }
  CHECK_OK(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, &again, NULL));
  CHECK(again != first);
  lac_pattern_destroy(&again);
  lac_pattern_destroy(&first);
  lac_pattern_destroy(&p);
}

static void parts_of_parts_make_no_cycles_and_no_chains(lac_context *ctx) {
  int64_t before = live_blocks();
  lac_pattern *p = NULL, *q = NULL, *t = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(7, 9, 0.5, 35), LAC_WIDTH_AUTO, &p));
  q = lac_pattern_retain(p);
  int64_t blocks = 0;
  for (int i = 0; i < 100; ++i) {
    CHECK_OK(lac_pattern_transpose(ctx, q, &t, NULL));
    CHECK_EQ(lac_pattern_rows(t), i % 2 ? 7 : 9);
    lac_pattern_destroy(&q);
    q = t, t = NULL;
    if (i == 20) blocks = live_blocks();
    if (i > 20) CHECK(live_blocks() <= blocks + 64);
  }
  lac_pattern_destroy(&q);
  CHECK_OK(lac_pattern_transpose(ctx, p, &t, NULL));
  CHECK_OK(lac_pattern_transpose(ctx, t, &q, NULL));
  CHECK(q != p && lac_pattern_same(q, p));
  lac_pattern_destroy(&p);  // the origin goes first
  lac_pattern_destroy(&q);
  lac_pattern_destroy(&t);
  CHECK_EQ(live_blocks(), before);
}

static void kept_parts_count_as_bytes_once(lac_context *ctx) {
  lac_pattern *p = NULL, *t = NULL, *lower = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(50, 70, 0.5, 36), LAC_WIDTH_32_32, &p));
  int64_t plain = lac_pattern_bytes(p), nnz = lac_pattern_nnz(p);
  CHECK_OK(lac_pattern_transpose(ctx, p, &t, NULL));
  int64_t all = lac_pattern_bytes(p), live = 4 * (71 + 3 * nnz);  // offsets, rows, slots and the map's targets
  CHECK(all >= plain + live && all < plain + live + 4 * nnz);
  CHECK_OK(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, &lower, NULL));
  CHECK(lac_pattern_bytes(p) >= all + 4 * (51 + nnz + lac_pattern_nnz(lower)));
  lac_pattern_destroy(&lower);
  lac_pattern_destroy(&t);
  lac_pattern_destroy(&p);
}

enum { ASKERS = 4 };

/// What a thread gets that asks at the same time as others.
typedef struct asker {
  const lac_pattern *p;
  lac_pattern *t, *lower;
  lac_status status;
} asker;

static void *asker_run(void *argument) {
  asker *a = argument;
  lac_context *ctx = NULL;
  a->status = lac_context_create("cpu", 0, &ctx);
  if (a->status == LAC_OK) a->status = lac_pattern_transpose(ctx, a->p, &a->t, NULL);
  if (a->status == LAC_OK) a->status = lac_pattern_triangle(ctx, a->p, LAC_TRIANGLE_LOWER, 0, &a->lower, NULL);
  lac_context_destroy(&ctx);
  return NULL;
}

static void threads_get_the_same_parts(lac_context *ctx) {
  pthread_t threads[ASKERS];
  asker askers[ASKERS] = {{0}};
  lac_pattern *p = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(300, 200, 0.3, 37), LAC_WIDTH_AUTO, &p));
  for (int i = 0; i < ASKERS; ++i) {
    askers[i].p = p;
    CHECK_EQ(pthread_create(&threads[i], NULL, asker_run, &askers[i]), 0);
  }
  for (int i = 0; i < ASKERS; ++i) CHECK_EQ(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < ASKERS; ++i) {
    CHECK_EQ(askers[i].status, LAC_OK);
    CHECK(askers[i].t == askers[0].t && askers[i].lower == askers[0].lower);
  }
  for (int i = 0; i < ASKERS; ++i) lac_pattern_destroy(&askers[i].t), lac_pattern_destroy(&askers[i].lower);
  lac_pattern_destroy(&p);
}

/// The part of a pattern that `keeps` names, as a mask of rows x cols moved by (row0, col0).
typedef struct part {
  int64_t row0, row1, col0, col1, k;
  int triangle;  // lac_triangle, or -1
} part;

static mask mask_part(const mask *m, const part *w) {
  mask t = mask_empty(w->row1 - w->row0, w->col1 - w->col0);
  for (int64_t i = w->row0; i < w->row1; ++i) {
    for (int64_t j = w->col0; j < w->col1; ++j) {
      int keeps = w->triangle < 0 || (w->triangle == LAC_TRIANGLE_LOWER ? j - i <= w->k : j - i >= w->k);
      if (keeps) *mask_at(&t, i - w->row0, j - w->col0) = *mask_at(m, i, j);
    }
  }
  mask_number(&t);
  return t;
}

static void check_part(lac_context *ctx, const lac_pattern *p, const part *w) {
  size_t mark = scratch_mark();
  mask m = mask_read(p), expected = mask_part(&m, w);
  lac_pattern *out = NULL, *alone = NULL;
  lac_map *map = NULL;
  if (w->triangle >= 0) {
    CHECK_OK(lac_pattern_triangle(ctx, p, (lac_triangle)w->triangle, w->k, &out, &map));
    CHECK_OK(lac_pattern_triangle(ctx, p, (lac_triangle)w->triangle, w->k, &alone, NULL));
  } else {
    CHECK_OK(lac_pattern_submatrix(ctx, p, w->row0, w->row1, w->col0, w->col1, &out, &map));
    CHECK_OK(lac_pattern_submatrix(ctx, p, w->row0, w->row1, w->col0, w->col1, &alone, NULL));
  }
  mask_check(&expected, out);
  mask_check_map(&m, &expected, w->row0, w->col0, map);
  CHECK(lac_pattern_same(out, alone));
  CHECK_EQ(lac_pattern_width(out), lac_pattern_width(p));
  int is_whole = expected.nnz == m.nnz && expected.rows == m.rows && expected.cols == m.cols;
  CHECK_EQ(out == p, is_whole);
  lac_pattern_destroy(&out);
  lac_pattern_destroy(&alone);
  lac_map_destroy(&map);
  scratch_release(mark);
}

static void triangles_match_brute_force(lac_context *ctx) {
  random_state r = random_start(26);
  for (int trial = 0; trial < TRIALS; ++trial) {
    lac_pattern *p = draw(ctx, &r, trial);
    int64_t rows = lac_pattern_rows(p), cols = lac_pattern_cols(p);
    for (int form = 0; form < 2; ++form) {
      for (int64_t k = -rows - 2; k <= cols + 2; ++k) check_part(ctx, p, &(part){0, rows, 0, cols, k, form});
      check_part(ctx, p, &(part){0, rows, 0, cols, INT64_MAX, form});
      check_part(ctx, p, &(part){0, rows, 0, cols, INT64_MIN, form});
    }
    lac_pattern_destroy(&p);
  }
}

static void submatrices_match_brute_force(lac_context *ctx) {
  random_state r = random_start(27);
  for (int trial = 0; trial < 4 * TRIALS; ++trial) {
    lac_pattern *p = draw(ctx, &r, trial);
    int64_t row0 = random_below(&r, lac_pattern_rows(p) + 1), col0 = random_below(&r, lac_pattern_cols(p) + 1);
    int64_t row1 = row0 + random_below(&r, lac_pattern_rows(p) - row0 + 1);
    int64_t col1 = col0 + random_below(&r, lac_pattern_cols(p) - col0 + 1);
    check_part(ctx, p, &(part){row0, row1, col0, col1, 0, -1});
    check_part(ctx, p, &(part){0, lac_pattern_rows(p), 0, lac_pattern_cols(p), 0, -1});
    lac_pattern_destroy(&p);
  }
}

static void maps_to_diagonal_and_dense_match_brute_force(lac_context *ctx) {
  random_state r = random_start(28);
  for (int trial = 0; trial < TRIALS; ++trial) {
    size_t mark = scratch_mark();
    lac_pattern *p = draw(ctx, &r, trial);
    mask m = mask_read(p);
    lac_map *diagonal = NULL, *dense = NULL;
    int64_t *to_diagonal = scratch((size_t)m.nnz * sizeof(int64_t)),
            *to_dense = scratch((size_t)m.nnz * sizeof(int64_t));
    CHECK_OK(lac_pattern_diagonal(ctx, p, &diagonal));
    CHECK_OK(lac_pattern_dense(ctx, p, &dense));
    CHECK_EQ(lac_map_outputs(diagonal), m.rows < m.cols ? m.rows : m.cols);
    CHECK_EQ(lac_map_outputs(dense), m.rows * m.cols);
    CHECK_EQ(diagonal->target->type, p->offsets->type);
    CHECK_EQ(dense->target->type, p->offsets->type);
    CHECK_EQ(lac_map_is_identity(dense), m.nnz == m.rows * m.cols);
    lac_map_read(diagonal, to_diagonal);
    lac_map_read(dense, to_dense);
    for (int64_t z = 0; z < m.rows * m.cols; ++z) {
      if (m.slot[z] < 0) continue;
      CHECK_EQ(to_dense[m.slot[z]], z);
      CHECK_EQ(to_diagonal[m.slot[z]], z / m.cols == z % m.cols ? z / m.cols : -1);
    }
    lac_map_destroy(&diagonal);
    lac_map_destroy(&dense);
    lac_pattern_destroy(&p);
    scratch_release(mark);
  }
}

static void a_dense_map_beyond_32_bits_is_wide(lac_context *ctx) {
  int64_t row[] = {0, 99999}, col[] = {3, 99999};
  lac_pattern *p = NULL;
  lac_map *map = NULL;
  CHECK_OK(lac_pattern_from_coo(ctx, 100000, 100000, 2, LAC_I64, row, col, LAC_WIDTH_32_32, &p, NULL));
  CHECK_OK(lac_pattern_dense(ctx, p, &map));
  int64_t target[2];
  lac_map_read(map, target);
  CHECK_EQ(target[0], 3);
  CHECK_EQ(target[1], 9999999999);
  lac_map_destroy(&map);
  lac_pattern_destroy(&p);
}

static void what_does_not_fit_is_refused(lac_context *ctx) {
  lac_pattern *p = NULL, *out = NULL, *wide = NULL;
  lac_map *map = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(4, 6, 0.5, 29), LAC_WIDTH_AUTO, &p));
  CHECK_FAILS(lac_pattern_transpose(ctx, NULL, &out, NULL), LAC_ERR_ARG, "lac_pattern_transpose: the pattern is NULL");
  CHECK_FAILS(lac_pattern_transpose(ctx, p, NULL, NULL), LAC_ERR_ARG, "lac_pattern_transpose: out is NULL");
  CHECK_FAILS(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, NULL, NULL), LAC_ERR_ARG,
              "lac_pattern_triangle: out is NULL");
  CHECK_FAILS(lac_pattern_triangle(ctx, p, (lac_triangle)5, 0, &out, NULL), LAC_ERR_ARG, "triangle = 5");
  CHECK_FAILS(lac_pattern_submatrix(ctx, p, 3, 2, 0, 1, &out, NULL), LAC_ERR_ARG,
              "rows [3, 2) are not a range within 0..4");
  CHECK_FAILS(lac_pattern_submatrix(ctx, p, -1, 2, 0, 1, &out, NULL), LAC_ERR_ARG, "rows [-1, 2)");
  CHECK_FAILS(lac_pattern_submatrix(ctx, p, 0, 5, 0, 1, &out, NULL), LAC_ERR_ARG, "rows [0, 5)");
  CHECK_FAILS(lac_pattern_submatrix(ctx, p, 0, 4, 2, 7, &out, NULL), LAC_ERR_ARG,
              "columns [2, 7) are not a range within 0..6");
  CHECK_FAILS(lac_pattern_submatrix(ctx, p, 0, 4, 2, 5, NULL, NULL), LAC_ERR_ARG, "lac_pattern_submatrix: out is NULL");
  CHECK_FAILS(lac_pattern_diagonal(ctx, p, NULL), LAC_ERR_ARG, "lac_pattern_diagonal: map is NULL");
  CHECK_FAILS(lac_pattern_diagonal(ctx, NULL, &map), LAC_ERR_ARG, "lac_pattern_diagonal: the pattern is NULL");
  CHECK_FAILS(lac_pattern_dense(ctx, p, NULL), LAC_ERR_ARG, "lac_pattern_dense: map is NULL");
  CHECK_OK(lac_pattern_from_coo(ctx, 5, INT64_MAX / 64, 0, LAC_I64, NULL, NULL, LAC_WIDTH_AUTO, &wide, NULL));
  CHECK_FAILS(lac_pattern_dense(ctx, wide, &map), LAC_ERR_OVERFLOW, "numbers are beyond what can be addressed");
  CHECK(!out && !map);
  lac_pattern_destroy(&p);
  lac_pattern_destroy(&wide);
}

static void halo_free(lac_object *object) { lac_free(object); }
static const lac_kind halo_kind = {"halo", halo_free};

static void distributed_patterns_are_refused(lac_context *ctx) {
  lac_pattern *p = NULL, *out = NULL;
  lac_map *map = NULL;
  lac_rows rows;
  CHECK_OK(sketch_pattern(ctx, sketch_square(4, 0.5, 30), LAC_WIDTH_AUTO, &p));
  p->halo = lac_calloc(1, sizeof *p->halo);
  lac_object_init(p->halo, &halo_kind);
  CHECK_FAILS(lac_pattern_transpose(ctx, p, &out, NULL), LAC_ERR_UNSUPPORTED,
              "lac_pattern_transpose: the pattern is distributed");
  CHECK_FAILS(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, &out, NULL), LAC_ERR_UNSUPPORTED,
              "lac_pattern_triangle");
  CHECK_FAILS(lac_pattern_submatrix(ctx, p, 0, 1, 0, 1, &out, NULL), LAC_ERR_UNSUPPORTED, "lac_pattern_submatrix");
  CHECK_FAILS(lac_pattern_diagonal(ctx, p, &map), LAC_ERR_UNSUPPORTED, "lac_pattern_diagonal");
  CHECK_FAILS(lac_pattern_dense(ctx, p, &map), LAC_ERR_UNSUPPORTED, "lac_pattern_dense");
  CHECK_FAILS(lac_pattern_union(ctx, p, p, &out, NULL, NULL), LAC_ERR_UNSUPPORTED, "lac_pattern_union");
  CHECK_FAILS(lac_pattern_product(ctx, p, p, &out), LAC_ERR_UNSUPPORTED, "lac_pattern_product");
  CHECK_FAILS(lac_pattern_walk(ctx, p, true, &rows), LAC_ERR_UNSUPPORTED, "lac_pattern_walk");
  CHECK(!out && !map);
  lac_pattern_destroy(&p);
}

static lac_status make_part(lac_context *ctx, int which, const lac_pattern *p, lac_pattern **out, lac_map **map) {
  lac_rows rows;
  const lac_buffer *rows_of = NULL;
  switch (which) {
    case 0:
      return lac_pattern_transpose(ctx, p, out, map);
    case 1:
      return lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, out, map);
    case 2:
      return lac_pattern_submatrix(ctx, p, 1, 3, 0, 2, out, map);
    case 3:
      return lac_pattern_diagonal(ctx, p, map);
    case 4:
      return lac_pattern_dense(ctx, p, map);
    case 5:
      return lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 99, out, map);
    case 6:
      return lac_pattern_walk(ctx, p, true, &rows);
    default:
      return lac_pattern_rows_of(ctx, p, &rows_of);
  }
}

static void failing_allocations_lose_nothing(lac_context *ctx) {
  const sketch *s = sketch_random(4, 6, 0.5, 31);
  for (int which = 0; which < 8; ++which) {
    for (int64_t n = 1;; ++n) {
      lac_pattern *p = NULL, *out = NULL;
      lac_map *map = NULL;
      long long before = memory_now("cpu").live_blocks;
      CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_64_32, &p));
      lac_memory_fail_at(n);
      lac_status status = make_part(ctx, which, p, &out, &map);
      int64_t asked = lac_memory_fail_at(0);
      if (status != LAC_OK) CHECK(!out && !map);
      lac_pattern_destroy(&out);
      lac_map_destroy(&map);
      lac_pattern_destroy(&p);
      CHECK_EQ(memory_now("cpu").live_blocks, before);
      if (asked < n) break;
      CHECK_FAILS(status, LAC_ERR_MEMORY, "out of memory");
    }
  }
}

CHECK_MAIN(transposes_match_brute_force, large_transposes_do_not_depend_on_threads,
           a_symmetric_structure_is_its_own_transpose_but_slots_move, one_entry_makes_a_large_structure_unsymmetric,
           a_transpose_within_a_parallel_loop_is_the_same, the_transpose_outlives_its_origin_and_shares_its_buffers,
           caches_count_as_bytes, parts_are_kept_and_go_with_their_pattern, triangles_used_last_are_kept,
           parts_of_parts_make_no_cycles_and_no_chains, kept_parts_count_as_bytes_once, threads_get_the_same_parts,
           triangles_match_brute_force, submatrices_match_brute_force, maps_to_diagonal_and_dense_match_brute_force,
           a_dense_map_beyond_32_bits_is_wide, what_does_not_fit_is_refused, distributed_patterns_are_refused,
           failing_allocations_lose_nothing)
