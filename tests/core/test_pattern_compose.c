// SPDX-License-Identifier: Apache-2.0
/// Patterns made of several, or of lists: intersection, kron, stacks, permutations, selections, diagonals, and the maps
/// to lines. The oracle is a table of all cells.

#include "core/pattern/pattern_impl.h"
#include "support/check.h"
#include "support/mask.h"
#include "support/random.h"
#include "support/scratch.h"

static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
enum { TRIALS = 200, MOST = 6 };

static lac_pattern *draw(lac_context *ctx, random_state *r, int64_t rows, int64_t cols) {
  double density = (double)random_below(r, 11) / 10;
  lac_pattern *p = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(rows, cols, density, random_bits(r)), widths[random_below(r, 3)], &p));
  return p;
}

static int64_t *targets(const lac_map *map) {
  int64_t *target = scratch((size_t)lac_map_inputs(map) * sizeof *target);
  lac_map_read(map, target);
  return target;
}

/// Groups and runs of a map are its targets, turned round.
static void check_groups(lac_context *ctx, const lac_map *map) {
  const lac_buffer *offsets = NULL, *sources = NULL;
  int64_t *target = targets(map), seen = 0;
  for (int runs = 1; runs >= 0; --runs) {
    CHECK_OK((runs ? lac_map_runs : lac_map_groups)(ctx, map, &offsets, &sources));
    for (int64_t j = seen = 0; j < lac_map_outputs(map); ++j) {
      CHECK_EQ(lac_buffer_get(offsets, j), seen);
      for (int64_t g = lac_buffer_get(offsets, j), last = -1; g < lac_buffer_get(offsets, j + 1); ++g, ++seen) {
        int64_t source = sources ? lac_buffer_get(sources, g) : g;
        CHECK(source > last);
        CHECK_EQ(target[source], j);
        last = source;
      }
    }
    CHECK_EQ(lac_buffer_get(offsets, lac_map_outputs(map)), seen);
    for (int64_t i = 0; i < lac_map_inputs(map); ++i) seen -= target[i] >= 0;
    CHECK_EQ(seen, 0);
  }
}

typedef void check_trial(lac_context *ctx, random_state *r);

static void try_often(lac_context *ctx, uint64_t seed, check_trial *trial) {
  random_state r = random_start(seed);
  for (int t = 0; t < TRIALS; ++t) {
    size_t mark = scratch_mark();
    CHECK_OK(lac_context_set_threads(ctx, 1 + t % 3));
    trial(ctx, &r);
    scratch_release(mark);
  }
}

static void try_intersection(lac_context *ctx, random_state *r) {
  int64_t rows = random_below(r, MOST), cols = random_below(r, MOST);
  lac_pattern *a = draw(ctx, r, rows, cols), *b = random_below(r, 5) ? draw(ctx, r, rows, cols) : lac_pattern_retain(a);
  lac_pattern *out = NULL;
  lac_map *from[2] = {NULL, NULL};
  CHECK_OK(lac_pattern_intersection(ctx, a, b, &out, &from[0], &from[1]));
  mask ma = mask_read(a), mb = mask_read(b), both = mask_empty(rows, cols);
  for (int64_t z = 0; z < rows * cols; ++z) both.slot[z] = ma.slot[z] >= 0 && mb.slot[z] >= 0 ? 0 : -1;
  mask_number(&both);
  mask_check(&both, out);
  mask_check_map(&ma, &both, 0, 0, from[0]);
  mask_check_map(&mb, &both, 0, 0, from[1]);
  CHECK((both.nnz == ma.nnz) == (out == a));
  lac_pattern_destroy(&a), lac_pattern_destroy(&b), lac_pattern_destroy(&out);
  lac_map_destroy(&from[0]), lac_map_destroy(&from[1]);
}

static void intersections_match_brute_force(lac_context *ctx) { try_often(ctx, 1, try_intersection); }

static void try_kron(lac_context *ctx, random_state *r) {
  lac_pattern *a = draw(ctx, r, random_below(r, MOST), random_below(r, MOST));
  lac_pattern *b = draw(ctx, r, random_below(r, MOST), random_below(r, MOST)), *out = NULL;
  lac_map *map = NULL;
  CHECK_OK(lac_pattern_kron(ctx, a, b, &out, &map));
  mask ma = mask_read(a), mb = mask_read(b), m = mask_empty(ma.rows * mb.rows, ma.cols * mb.cols);
  for (int64_t i = 0; i < m.rows; ++i) {
    for (int64_t j = 0; j < m.cols; ++j) {
      bool is = *mask_at(&ma, i / mb.rows, j / mb.cols) >= 0 && *mask_at(&mb, i % mb.rows, j % mb.cols) >= 0;
      *mask_at(&m, i, j) = is ? 0 : -1;
    }
  }
  mask_number(&m);
  mask_check(&m, out);
  int64_t *target = targets(map);
  CHECK_EQ(lac_map_inputs(map), ma.nnz * mb.nnz);
  for (int64_t i = 0; i < m.rows; ++i) {
    for (int64_t j = 0; j < m.cols; ++j) {
      int64_t p = *mask_at(&ma, i / mb.rows, j / mb.cols), q = *mask_at(&mb, i % mb.rows, j % mb.cols);
      if (p >= 0 && q >= 0) CHECK_EQ(target[p * mb.nnz + q], *mask_at(&m, i, j));
    }
  }
  lac_pattern_destroy(&a), lac_pattern_destroy(&b), lac_pattern_destroy(&out);
  lac_map_destroy(&map);
}

static void kronecker_products_match_brute_force(lac_context *ctx) { try_often(ctx, 2, try_kron); }

typedef lac_status stack_function(lac_context *, int64_t, const lac_pattern *const *, lac_pattern **, lac_map **);

/// One to three blocks that fit; `down` and `right` say where the next one goes.
static void try_stack(lac_context *ctx, random_state *r, stack_function *stack, bool down, bool right) {
  int64_t count = 1 + random_below(r, 3), rows = random_below(r, MOST), cols = random_below(r, MOST);
  lac_pattern *block[3] = {0}, *out = NULL;
  lac_map *maps[3] = {0};
  int64_t row0[4] = {0}, col0[4] = {0};
  for (int64_t b = 0; b < count; ++b) {
    block[b] = draw(ctx, r, down ? random_below(r, MOST) : rows, right ? random_below(r, MOST) : cols);
    row0[b + 1] = row0[b] + (down ? lac_pattern_rows(block[b]) : 0);
    col0[b + 1] = col0[b] + (right ? lac_pattern_cols(block[b]) : 0);
  }
  CHECK_OK(stack(ctx, count, (const lac_pattern *const *)block, &out, random_below(r, 4) ? maps : NULL));
  mask m = mask_empty(down ? row0[count] : rows, right ? col0[count] : cols);
  for (int64_t b = 0; b < count; ++b) {
    mask mb = mask_read(block[b]);
    for (int64_t z = 0; z < mb.rows * mb.cols; ++z) {
      if (mb.slot[z] >= 0) *mask_at(&m, row0[b] + z / mb.cols, col0[b] + z % mb.cols) = 0;
    }
  }
  mask_number(&m);
  mask_check(&m, out);
  for (int64_t b = 0; b < count; ++b) {
    mask mb = mask_read(block[b]);
    if (maps[b]) mask_check_map(&mb, &m, -row0[b], -col0[b], maps[b]);
    lac_map_destroy(&maps[b]);
    lac_pattern_destroy(&block[b]);
  }
  lac_pattern_destroy(&out);
}

static void try_hstack(lac_context *ctx, random_state *r) { try_stack(ctx, r, lac_pattern_hstack, false, true); }
static void try_vstack(lac_context *ctx, random_state *r) { try_stack(ctx, r, lac_pattern_vstack, true, false); }
static void try_block_diag(lac_context *ctx, random_state *r) { try_stack(ctx, r, lac_pattern_block_diag, true, true); }

static void stacks_match_brute_force(lac_context *ctx) {
  try_often(ctx, 3, try_hstack);
  try_often(ctx, 4, try_vstack);
  try_often(ctx, 5, try_block_diag);
}

/// A shuffled 0 .. n - 1.
static int64_t *shuffle(random_state *r, int64_t n) {
  int64_t *list = scratch((size_t)n * sizeof *list);
  for (int64_t i = 0; i < n; ++i) {
    int64_t j = random_below(r, i + 1);
    list[i] = list[j];
    list[j] = i;
  }
  return list;
}

static int64_t at(const int64_t *list, int64_t i) { return list ? list[i] : i; }

static void try_permute(lac_context *ctx, random_state *r) {
  lac_pattern *a = draw(ctx, r, random_below(r, 9), random_below(r, 9)), *out = NULL;
  mask ma = mask_read(a), m = mask_empty(ma.rows, ma.cols);
  const int64_t *row = random_below(r, 3) ? shuffle(r, ma.rows) : NULL;
  const int64_t *col = random_below(r, 3) ? shuffle(r, ma.cols) : NULL;
  lac_map *map = NULL;
  CHECK_OK(lac_pattern_permute(ctx, a, row, col, &out, &map));
  for (int64_t z = 0; z < m.rows * m.cols; ++z) m.slot[z] = *mask_at(&ma, at(row, z / m.cols), at(col, z % m.cols));
  mask_number(&m);
  mask_check(&m, out);
  CHECK_EQ(lac_pattern_width(out), lac_pattern_width(a));
  int64_t *target = targets(map);
  for (int64_t z = 0; z < m.rows * m.cols; ++z) {
    if (m.slot[z] >= 0) CHECK_EQ(target[*mask_at(&ma, at(row, z / m.cols), at(col, z % m.cols))], m.slot[z]);
  }
  CHECK(map->is_injective);
  lac_pattern_destroy(&a), lac_pattern_destroy(&out);
  lac_map_destroy(&map);
}

static void permutations_match_brute_force(lac_context *ctx) { try_often(ctx, 6, try_permute); }

/// Any indices below n; none where there are none.
static int64_t *any_list(random_state *r, int64_t n, int64_t *count) {
  *count = n ? random_below(r, 9) : 0;
  int64_t *list = scratch((size_t)*count * sizeof *list + 1);
  for (int64_t i = 0; i < *count; ++i) list[i] = random_below(r, n);
  return list;
}

static void try_select(lac_context *ctx, random_state *r) {
  lac_pattern *a = draw(ctx, r, random_below(r, 9), random_below(r, 9)), *out = NULL;
  mask ma = mask_read(a);
  int64_t rows = ma.rows, cols = ma.cols;
  const int64_t *row = random_below(r, 4) ? any_list(r, ma.rows, &rows) : NULL;
  const int64_t *col = random_below(r, 4) ? any_list(r, ma.cols, &cols) : NULL;
  lac_map *map = NULL;
  CHECK_OK(lac_pattern_select(ctx, a, rows, row, cols, col, &out, &map));
  mask m = mask_empty(rows, cols);
  for (int64_t z = 0; z < rows * cols; ++z) m.slot[z] = *mask_at(&ma, at(row, z / cols), at(col, z % cols));
  mask_number(&m);
  mask_check(&m, out);
  int64_t *source = targets(map);
  CHECK_EQ(lac_map_outputs(map), ma.nnz);
  for (int64_t z = 0; z < rows * cols; ++z) {
    if (m.slot[z] >= 0) CHECK_EQ(source[m.slot[z]], *mask_at(&ma, at(row, z / cols), at(col, z % cols)));
  }
  check_groups(ctx, map);
  lac_pattern_destroy(&a), lac_pattern_destroy(&out);
  lac_map_destroy(&map);
}

static void selections_match_brute_force(lac_context *ctx) { try_often(ctx, 7, try_select); }

static void diagonals_match_brute_force(lac_context *ctx) {
  for (int64_t rows = 0; rows < 4; ++rows) {
    for (int64_t cols = 0; cols < 5; ++cols) {
      for (int64_t k = -5; k <= 6; ++k) {
        lac_pattern *p = NULL;
        mask m = mask_empty(rows, cols);
        for (int64_t z = 0; z < rows * cols; ++z) m.slot[z] = z % cols - z / cols == k ? 0 : -1;
        mask_number(&m);
        CHECK_OK(lac_pattern_eye(ctx, rows, cols, k, widths[(k + 6) % 3], &p));
        mask_check(&m, p);
        lac_pattern_destroy(&p);
      }
    }
  }
  lac_pattern *p = NULL;
  CHECK_OK(lac_pattern_eye(ctx, 3, 3, INT64_MIN, LAC_WIDTH_AUTO, &p));
  CHECK_EQ(lac_pattern_nnz(p), 0);
  lac_pattern_destroy(&p);
}

static void try_lines(lac_context *ctx, random_state *r) {
  lac_pattern *p = draw(ctx, r, random_below(r, 9), random_below(r, 9));
  lac_map *rows = NULL, *cols = NULL, *again = NULL;
  mask m = mask_read(p);
  CHECK_OK(lac_pattern_row_map(ctx, p, &rows));
  CHECK_OK(lac_pattern_col_map(ctx, p, &cols));
  int64_t *row = targets(rows), *col = targets(cols);
  for (int64_t z = 0; z < m.rows * m.cols; ++z) {
    if (m.slot[z] < 0) continue;
    CHECK_EQ(row[m.slot[z]], z / m.cols);
    CHECK_EQ(col[m.slot[z]], z % m.cols);
  }
  CHECK(rows->is_sorted);
  CHECK_EQ(lac_map_outputs(rows), m.rows);
  CHECK_EQ(lac_map_outputs(cols), m.cols);
  CHECK_EQ(rows->target->type, p->offsets->type);
  CHECK_EQ(cols->target->type, p->offsets->type);
  check_groups(ctx, rows);
  check_groups(ctx, cols);
  CHECK_OK(lac_pattern_row_map(ctx, p, &again));
  CHECK(again == rows);
  lac_map_destroy(&again);
  CHECK_OK(lac_pattern_col_map(ctx, p, &again));
  CHECK(again == cols);
  lac_pattern_destroy(&p);  // the maps live on
  check_groups(ctx, cols);
  lac_map_destroy(&again), lac_map_destroy(&rows), lac_map_destroy(&cols);
}

static void maps_to_lines_match_brute_force_and_are_kept(lac_context *ctx) { try_often(ctx, 8, try_lines); }

static void large_results_do_not_depend_on_threads(lac_context *ctx) {
  lac_pattern *a = NULL, *b = NULL, *made[2][4] = {{0}};
  CHECK_OK(sketch_pattern(ctx, sketch_random(300, 200, 0.3, 22), LAC_WIDTH_AUTO, &a));
  CHECK_OK(sketch_pattern(ctx, sketch_random(300, 200, 0.3, 23), LAC_WIDTH_AUTO, &b));
  random_state r = random_start(9);
  const int64_t *row = shuffle(&r, 300), *col = shuffle(&r, 200);
  for (int t = 0; t < 2; ++t) {
    lac_pattern_set_plan_budget(0);
    CHECK_OK(lac_context_set_threads(ctx, 1 + 3 * t));
    CHECK_OK(lac_pattern_intersection(ctx, a, b, &made[t][0], NULL, NULL));
    CHECK_OK(lac_pattern_hstack(ctx, 2, (const lac_pattern *const[]){a, b}, &made[t][1], NULL));
    CHECK_OK(lac_pattern_permute(ctx, a, row, col, &made[t][2], NULL));
    CHECK_OK(lac_pattern_select(ctx, a, 300, row, 100, col, &made[t][3], NULL));
  }
  lac_pattern_set_plan_budget((int64_t)256 << 20);
  for (int i = 0; i < 4; ++i) {
    CHECK(lac_pattern_same(made[0][i], made[1][i]));
    lac_pattern_destroy(&made[0][i]), lac_pattern_destroy(&made[1][i]);
  }
  lac_pattern_destroy(&a), lac_pattern_destroy(&b);
}

static void what_does_not_fit_is_refused(lac_context *ctx) {
  lac_pattern *a = NULL, *b = NULL, *tall = NULL, *out = NULL;
  lac_map *map = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(3, 4, 0.5, 1), LAC_WIDTH_AUTO, &a));
  CHECK_OK(sketch_pattern(ctx, sketch_random(4, 3, 0.5, 2), LAC_WIDTH_AUTO, &b));
  CHECK_FAILS(lac_pattern_intersection(ctx, a, b, &out, NULL, NULL), LAC_ERR_SHAPE, "a is 3 x 4 and b is 4 x 3");
  CHECK_FAILS(lac_pattern_hstack(ctx, 2, (const lac_pattern *const[]){a, b}, &out, NULL), LAC_ERR_SHAPE, "rows");
  CHECK_FAILS(lac_pattern_vstack(ctx, 2, (const lac_pattern *const[]){a, b}, &out, NULL), LAC_ERR_SHAPE, "columns");
  CHECK_FAILS(lac_pattern_vstack(ctx, 0, NULL, &out, NULL), LAC_ERR_ARG, "at least one");
  CHECK_FAILS(lac_pattern_block_diag(ctx, 2, (const lac_pattern *const[]){a, NULL}, &out, NULL), LAC_ERR_ARG, "NULL");
  CHECK_FAILS(lac_pattern_permute(ctx, a, (const int64_t[]){0, 2, 2}, NULL, &out, NULL), LAC_ERR_ARG, "row[2] = 2");
  CHECK_FAILS(lac_pattern_permute(ctx, a, NULL, (const int64_t[]){0, 1, 4, 2}, &out, NULL), LAC_ERR_ARG, "0..3");
  CHECK_FAILS(lac_pattern_select(ctx, a, 2, (const int64_t[]){0, -1}, 0, NULL, &out, NULL), LAC_ERR_ARG, "row[1] = -1");
  CHECK_FAILS(lac_pattern_select(ctx, a, -1, (const int64_t[]){0}, 0, NULL, &out, NULL), LAC_ERR_ARG, "-1 row");
  CHECK_FAILS(lac_pattern_eye(ctx, -1, 2, 0, LAC_WIDTH_AUTO, &out), LAC_ERR_ARG, "rows = -1");
  CHECK_FAILS(lac_pattern_eye(ctx, INT64_MAX, 2, 0, LAC_WIDTH_AUTO, &out), LAC_ERR_OVERFLOW, "beyond");
  CHECK_FAILS(lac_pattern_eye(ctx, 2, (int64_t)1 << 40, 0, LAC_WIDTH_32_32, &out), LAC_ERR_OVERFLOW, "cols");
  CHECK_FAILS(lac_pattern_row_map(ctx, NULL, &map), LAC_ERR_ARG, "NULL");
  CHECK_FAILS(lac_pattern_col_map(ctx, a, NULL), LAC_ERR_ARG, "map is NULL");
  CHECK_OK(lac_pattern_eye(ctx, 1, (int64_t)1 << 40, 0, LAC_WIDTH_AUTO, &tall));
  int64_t blocks = check_live_blocks();
  CHECK_FAILS(lac_pattern_kron(ctx, tall, tall, &out, NULL), LAC_ERR_OVERFLOW, "columns are beyond");
  CHECK_EQ(check_live_blocks(), blocks);
  CHECK(!out && !map);
  lac_pattern_destroy(&a), lac_pattern_destroy(&b), lac_pattern_destroy(&tall);
}

static void distributed_patterns_are_refused(lac_context *ctx) {
  lac_pattern *p = NULL, *out = NULL;
  lac_map *map = NULL;
  lac_object halo;
  CHECK_OK(sketch_pattern(ctx, sketch_square(3, 0.5, 1), LAC_WIDTH_AUTO, &p));
  p->halo = &halo;  // never looked into
  CHECK_FAILS(lac_pattern_intersection(ctx, p, p, &out, NULL, NULL), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_kron(ctx, p, p, &out, NULL), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_hstack(ctx, 1, (const lac_pattern *const[]){p}, &out, NULL), LAC_ERR_UNSUPPORTED, "");
  CHECK_FAILS(lac_pattern_permute(ctx, p, NULL, NULL, &out, NULL), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_select(ctx, p, 0, NULL, 0, NULL, &out, NULL), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_row_map(ctx, p, &map), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_col_map(ctx, p, &map), LAC_ERR_UNSUPPORTED, "distributed");
  p->halo = NULL;
  lac_pattern_destroy(&p);
}

enum { INTERSECTION, KRON, HSTACK, BLOCK_DIAG, PERMUTE, SELECT, EYE, ROW_MAP, COL_MAP, FUNCTIONS };

static lac_status call_one(lac_context *ctx, int which, lac_pattern *a, lac_pattern *b, lac_pattern **out,
                           lac_map **maps) {
  static const int64_t row[] = {3, 1, 0, 2, 4}, any[] = {3, 3, 0};
  const lac_pattern *const both[] = {a, b};
  switch (which) {
    case INTERSECTION:
      return lac_pattern_intersection(ctx, a, b, out, &maps[0], &maps[1]);
    case KRON:
      return lac_pattern_kron(ctx, a, b, out, maps);
    case HSTACK:
      return lac_pattern_hstack(ctx, 2, both, out, maps);
    case BLOCK_DIAG:
      return lac_pattern_block_diag(ctx, 2, both, out, maps);
    case PERMUTE:
      return lac_pattern_permute(ctx, a, row, row, out, maps);
    case SELECT:
      return lac_pattern_select(ctx, a, 3, any, 3, any, out, maps);
    case EYE:
      return lac_pattern_eye(ctx, 4, 5, 1, LAC_WIDTH_AUTO, out);
    case ROW_MAP:
      return lac_pattern_row_map(ctx, a, maps);
    default:
      return lac_pattern_col_map(ctx, a, maps);
  }
}

static void every_failing_allocation_is_survived(lac_context *ctx) {
  const sketch *sa = sketch_random(5, 5, 0.4, 56), *sb = sketch_random(5, 5, 0.4, 57);
  for (int which = 0; which < FUNCTIONS; ++which) {
    for (int64_t n = 1;; ++n) {
      lac_pattern *a = NULL, *b = NULL, *out = NULL;
      lac_map *maps[2] = {0};
      long long before = check_live_blocks();
      CHECK_OK(sketch_pattern(ctx, sa, LAC_WIDTH_64_32, &a));
      CHECK_OK(sketch_pattern(ctx, sb, LAC_WIDTH_AUTO, &b));
      lac_memory_fail_at(n);
      lac_status status = call_one(ctx, which, a, b, &out, maps);
      int64_t asked = lac_memory_fail_at(0);
      if (status != LAC_OK) CHECK(!out && !maps[0] && !maps[1]);
      lac_pattern_destroy(&out);
      lac_map_destroy(&maps[0]), lac_map_destroy(&maps[1]);
      lac_pattern_destroy(&a), lac_pattern_destroy(&b);
      CHECK_EQ(check_live_blocks(), before);
      if (asked < n) break;
      CHECK_FAILS(status, LAC_ERR_MEMORY, "out of memory");
    }
  }
}

CHECK_MAIN(intersections_match_brute_force, kronecker_products_match_brute_force, stacks_match_brute_force,
           permutations_match_brute_force, selections_match_brute_force, diagonals_match_brute_force,
           maps_to_lines_match_brute_force_and_are_kept, large_results_do_not_depend_on_threads,
           what_does_not_fit_is_refused, distributed_patterns_are_refused, every_failing_allocation_is_survived)
