// SPDX-License-Identifier: Apache-2.0
/// Supernodes: they hold all that elimination on a dense mask makes, and every entry of A stands at its place.

#include <string.h>

#include "core/memory_impl.h"
#include "solvers/direct/symbolic/supernodes.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"

static lac_structure *structure_of(lac_context *ctx, const sketch *s) {
  lac_pattern *pattern = NULL;
  lac_structure *structure = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(lac_structure_get(ctx, pattern, &structure));
  lac_pattern_destroy(&pattern);
  return structure;
}

// A permutation of rows, or NULL for odd seeds.
static int32_t *random_match(int64_t n, uint64_t seed) {
  if (seed % 2) return NULL;
  random_state r = random_start(seed);
  int32_t *match = scratch((size_t)n * sizeof *match + 1);
  for (int32_t i = 0; i < n; i++) match[i] = i;
  for (int64_t i = n - 1; i > 0; i--) {
    int64_t j = random_below(&r, i + 1);
    int32_t held = match[i];
    match[i] = match[j];
    match[j] = held;
  }
  return match;
}

// -- against elimination on a dense mask -----------------------------------------------------------------------------

// The structure of L + L^T by steps: that of B + B^T, filled in. The diagonal is always there.
static char *eliminated(const sketch *a, const lac_supernodes *s) {
  int64_t n = a->rows;
  char *mask = scratch((size_t)(n * n) + 1);
  for (int64_t z = 0; z < a->nnz; z++) {
    int64_t i = s->row_step[a->row[z]], j = s->col_step[a->col[z]];
    mask[i * n + j] = mask[j * n + i] = 1;
  }
  for (int64_t k = 0; k < n; k++) {
    mask[k * n + k] = 1;
    for (int64_t i = k + 1; i < n; i++) {
      for (int64_t j = k + 1; mask[i * n + k] && j < n; j++) mask[i * n + j] |= mask[k * n + j];
    }
  }
  return mask;
}

static void check_steps(const lac_supernodes *s, const int32_t *match) {
  char *seen = scratch((size_t)s->n + 1);
  for (int32_t k = 0; k < s->n; k++) {
    CHECK(s->col_at[k] >= 0 && s->col_at[k] < s->n && !seen[s->col_at[k]]++);
    CHECK_EQ(s->col_step[s->col_at[k]], k);
    CHECK_EQ(s->row_step[s->row_at[k]], k);
    CHECK_EQ(match ? match[s->row_at[k]] : s->row_at[k], s->col_at[k]);
    CHECK(s->first[s->owner[k]] <= k && k < s->first[s->owner[k] + 1]);
  }
  CHECK_EQ(s->first[0], 0);
  CHECK_EQ(s->first[s->count], s->n);
}

// R is the union of what stands below the columns; all of L lies in the trapezoids.
static void check_rows(const lac_supernodes *s, const char *mask) {
  int64_t n = s->n;
  for (int32_t i = 0; i < s->count; i++) {
    int32_t end = s->first[i + 1];
    int64_t p = s->row_offsets[i];
    CHECK(s->first[i] < end);
    for (int64_t k = end; k < n; k++) {
      bool is_there = false;
      for (int32_t j = s->first[i]; j < end; j++) is_there |= mask[k * n + j];
      if (!is_there) continue;
      CHECK(p < s->row_offsets[i + 1] && s->rows[p] == k);
      p++;
    }
    CHECK_EQ(p, s->row_offsets[i + 1]);
  }
}

// The parent owns the first row below; its front holds all of them.
static void check_tree(const lac_supernodes *s) {
  for (int32_t i = 0; i < s->count; i++) {
    int32_t up = s->parent[i];
    if (lac_front_rows(s, i) == 0) {
      CHECK_EQ(up, -1);
      continue;
    }
    CHECK(up > i && up == s->owner[s->rows[s->row_offsets[i]]]);
    CHECK(s->leftmost[up] <= s->leftmost[i]);
    for (int64_t p = s->row_offsets[i]; p < s->row_offsets[i + 1]; p++) {
      int32_t at = s->relative[p], cols = lac_front_cols(s, up);
      CHECK(at >= 0 && at < cols + lac_front_rows(s, up));
      CHECK_EQ(at < cols ? s->first[up] + at : s->rows[s->row_offsets[up] + at - cols], s->rows[p]);
    }
  }
  for (int32_t i = 0; i < s->count; i++) {
    int32_t least = i;
    for (int32_t c = 0; c < i; c++) {
      int32_t above = c;
      while (above != -1 && above < i) above = s->parent[above];
      if (above == i && c < least) least = c;
      CHECK(above != i || c >= s->leftmost[i]);
    }
    CHECK_EQ(least, s->leftmost[i]);
  }
}

static int32_t local_step(const lac_supernodes *s, int32_t i, int32_t local) {
  int32_t cols = lac_front_cols(s, i);
  return local < cols ? s->first[i] + local : s->rows[s->row_offsets[i] + local - cols];
}

// Every slot once, at the place of its entry, in the front that eliminates the earlier of its row and column.
static void check_entries(const sketch *a, const lac_supernodes *s) {
  char *seen = scratch((size_t)a->nnz + 1);
  CHECK_EQ(s->entry_offsets[0], 0);
  CHECK_EQ(s->entry_offsets[s->count], a->nnz);
  for (int32_t i = 0; i < s->count; i++) {
    CHECK(s->entry_offsets[i] <= s->upper_offsets[i] && s->upper_offsets[i] <= s->entry_offsets[i + 1]);
    for (int64_t p = s->entry_offsets[i]; p < s->entry_offsets[i + 1]; p++) {
      int64_t slot = s->entry_slots[p];
      int32_t row = s->row_step[a->row[slot]], col = s->col_step[a->col[slot]];
      CHECK(!seen[slot]++);
      CHECK_EQ(local_step(s, i, s->entry_rows[p]), row);
      CHECK_EQ(local_step(s, i, s->entry_cols[p]), col);
      CHECK_EQ(s->owner[row < col ? row : col], i);
      CHECK_EQ(row < col, p >= s->upper_offsets[i]);
    }
  }
}

// Counted one by one, and walked as a factorisation walks.
static void check_sums(const lac_supernodes *s) {
  int64_t nnz = 0, panel = 0, alive = 0, peak = 0;
  double *flops = scratch((size_t)s->count * sizeof *flops + 1);
  for (int32_t i = 0; i < s->count; i++) {
    int64_t cols = lac_front_cols(s, i), rows = lac_front_rows(s, i);
    CHECK_EQ(s->panels[i], panel);
    panel += (cols + rows) * cols;
    for (int64_t below = rows; below < rows + cols; below++) {
      nnz += below + 1;
      flops[i] += 1.0 + (double)below + (double)below * (double)(below + 1);
    }
    CHECK_NEAR(s->flops[i], flops[i], 1e-12 * flops[i]);
    if (s->parent[i] != -1) flops[s->parent[i]] += flops[i];
    alive += rows * rows;
    if (alive > peak) peak = alive;
    for (int32_t c = 0; c < i; c++) {
      if (s->parent[c] == i) alive -= (int64_t)lac_front_rows(s, c) * lac_front_rows(s, c);
    }
  }
  CHECK_EQ(s->panels[s->count], panel);
  CHECK_EQ(s->nnz, nnz);
  CHECK_EQ(s->stack, peak);
}

static void check_supernodes(lac_context *ctx, const sketch *a, const int32_t *match, lac_ordering ordering) {
  size_t mark = scratch_mark();
  lac_structure *structure = structure_of(ctx, a);
  lac_supernodes *s = NULL;
  CHECK_OK(lac_supernodes_create(ctx, structure, match, ordering, &s));
  CHECK_EQ(s->n, a->rows);
  check_steps(s, match);
  check_rows(s, eliminated(a, s));
  check_tree(s);
  check_entries(a, s);
  check_sums(s);
  lac_object_release(s);
  lac_object_release(structure);
  scratch_release(mark);
}

static void they_are_what_elimination_makes(lac_context *ctx) {
  static const lac_ordering ORDERINGS[] = {LAC_ORDER_AMD, LAC_ORDER_NATURAL, LAC_ORDER_AUTO};
  for (uint64_t seed = 1; seed <= 240; seed++) {
    size_t mark = scratch_mark();
    int64_t n = 1 + (int64_t)(seed * 5 % 61);
    double density = 0.015 * (double)(seed % 11);
    const sketch *a = seed % 3 == 0   ? sketch_symmetric(n, density, seed)
                      : seed % 3 == 1 ? sketch_square(n, density, seed)
                                      : sketch_random(n, n, density, seed);
    check_supernodes(ctx, a, random_match(n, seed / 2), ORDERINGS[seed % 3]);
    scratch_release(mark);
  }
}

static void they_take_matrices_of_every_kind(lac_context *ctx) {
  for (int kind = 0; kind < DIRECT_KINDS; kind++) {
    size_t mark = scratch_mark();
    direct_case c = direct_make(kind, 130, LAC_F64, 3);
    check_supernodes(ctx, c.s, NULL, LAC_ORDER_AUTO);
    check_supernodes(ctx, c.s, random_match(c.s->rows, 2), LAC_ORDER_AUTO);
    check_supernodes(ctx, c.s, NULL, LAC_ORDER_NATURAL);
    scratch_release(mark);
  }
}

static void they_take_nothing(lac_context *ctx) {
  check_supernodes(ctx, sketch_empty(0, 0), NULL, LAC_ORDER_AUTO);
  check_supernodes(ctx, sketch_empty(1, 1), NULL, LAC_ORDER_AUTO);
  check_supernodes(ctx, sketch_empty(9, 9), random_match(9, 4), LAC_ORDER_AUTO);
  check_supernodes(ctx, sketch_symmetric(12, 1, 1), NULL, LAC_ORDER_AUTO);
}

// A row and a column that are full, far beyond the others.
static void they_take_dense_rows(lac_context *ctx) {
  sketch *s = scratch(sizeof *s);
  int64_t n = 300;
  *s = (sketch){n, n, 0, scratch((size_t)(5 * n) * sizeof *s->row), scratch((size_t)(5 * n) * sizeof *s->col)};
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      if (i != j && i != 40 && j != 17 && j != i + 1) continue;
      s->row[s->nnz] = i;
      s->col[s->nnz++] = j;
    }
  }
  check_supernodes(ctx, s, NULL, LAC_ORDER_AUTO);
  check_supernodes(ctx, s, random_match(n, 6), LAC_ORDER_AUTO);
  check_supernodes(ctx, s, NULL, LAC_ORDER_NATURAL);
}

static void every_allocation_may_fail(lac_context *ctx) {
  lac_structure *structure = structure_of(ctx, sketch_square(40, 0.1, 5));
  int32_t *match = random_match(40, 8);
  lac_status status = LAC_ERR_MEMORY;
  for (int64_t fail = 1; status != LAC_OK; fail++) {
    lac_supernodes *s = NULL;
    lac_memory_fail_at(fail);
    status = lac_supernodes_create(ctx, structure, match, LAC_ORDER_AUTO, &s);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK ? s != NULL : status == LAC_ERR_MEMORY && s == NULL);
    CHECK(fail < 200);
    lac_object_release(s);
  }
  lac_object_release(structure);
}

CHECK_MAIN(they_are_what_elimination_makes, they_take_matrices_of_every_kind, they_take_nothing, they_take_dense_rows,
           every_allocation_may_fail)
