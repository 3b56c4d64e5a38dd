// SPDX-License-Identifier: Apache-2.0
/// The nature of patterns, beside dense closures and all permutations.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "solvers/direct/order/block_form.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/matrix_market.h"
#include "support/scratch.h"

static lac_nature nature_of(lac_context *ctx, const sketch *s) {
  lac_pattern *pattern = NULL;
  lac_nature nature = {0}, again = {0};
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(lac_pattern_nature(ctx, pattern, &nature));
  CHECK_OK(lac_pattern_nature(ctx, pattern, &again));
  CHECK(nature.blocks == again.blocks && nature.structural_rank == again.structural_rank);
  lac_pattern_destroy(&pattern);
  return nature;
}

// The most entries in rows from `row` on, no two in a column, none in one that is taken.
static int64_t rank_from(const char *mask, int64_t n, int64_t row, unsigned taken) {
  if (row == n) return 0;
  int64_t most = rank_from(mask, n, row + 1, taken);
  for (int64_t j = 0; j < n && most < n - row; j++) {
    if (!mask[row * n + j] || taken >> j & 1) continue;
    int64_t rank = 1 + rank_from(mask, n, row + 1, taken | 1U << j);
    if (rank > most) most = rank;
  }
  return most;
}

// Classes of the relation "i reaches j and j reaches i" on 0 .. n - 1; `reach` becomes its own closure.
static int64_t classes_of(char *reach, int64_t n) {
  int64_t classes = 0;
  for (int64_t i = 0; i < n; i++) reach[i * n + i] = 1;
  for (int64_t k = 0; k < n; k++) {
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < n; j++) reach[i * n + j] |= reach[i * n + k] && reach[k * n + j];
    }
  }
  for (int64_t i = 0; i < n; i++) {
    int is_first = 1;
    for (int64_t j = 0; j < i; j++) is_first = is_first && !(reach[i * n + j] && reach[j * n + i]);
    classes += is_first;
  }
  return classes;
}

static const lac_block_form *form_of(lac_context *ctx, const sketch *s, lac_structure **structure) {
  lac_pattern *pattern = NULL;
  const lac_block_form *form = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(lac_structure_get(ctx, pattern, structure));
  CHECK_OK(lac_block_form_get(ctx, *structure, &form));
  lac_pattern_destroy(&pattern);
  return form;
}

// The matrix in the order of the form: nothing above the blocks, which cannot be taken apart; entries on the diagonal.
static void check_form(const char *mask, const lac_block_form *form, int64_t components) {
  int64_t n = form->n, on_diagonal = 0, inner = 0;
  int64_t *block = scratch((size_t)n * sizeof *block + 1);
  char *reach = scratch((size_t)(n * n) + 1), *both = scratch((size_t)(n * n) + 1);
  CHECK_EQ(form->first[0], 0);
  CHECK_EQ(form->first[form->blocks], n);
  for (int32_t b = 0; b < form->blocks; b++) {
    CHECK(form->first[b] < form->first[b + 1]);
    for (int32_t k = form->first[b]; k < form->first[b + 1]; k++) block[k] = b;
  }
  for (int64_t k = 0; k < n; k++) {
    for (int64_t l = 0; l < n; l++) {
      if (!mask[form->rows[k] * n + form->cols[l]]) continue;
      CHECK(block[l] <= block[k]);
      reach[k * n + l] = block[l] == block[k];
      both[k * n + l] = both[l * n + k] = 1;
      on_diagonal += k == l;
    }
  }
  for (int64_t k = 0; k < n; k++) inner += mask[form->rows[k] * n + form->cols[k]] && form->vacant == k;
  CHECK_EQ(inner, 0);
  CHECK_EQ(form->vacant < 0, form->rank == n);
  CHECK_EQ(on_diagonal, form->rank);
  CHECK_EQ(classes_of(reach, n), form->blocks);
  CHECK_EQ(classes_of(both, n), components);
}

static int is_odd_of(const lac_block_form *form) {
  int inversions = 0;
  for (int32_t k = 0; k < form->n; k++) {
    for (int32_t l = 0; l < k; l++) inversions += (form->rows[k] < form->rows[l]) != (form->cols[k] < form->cols[l]);
  }
  return inversions % 2;
}

static void forms_agree_with_closures_and_permutations(lac_context *ctx) {
  int deficient = 0, reducible = 0;
  for (uint64_t seed = 1; seed <= 600; seed++) {
    size_t mark = scratch_mark();
    int64_t n = (int64_t)(seed % 9);
    const sketch *s = sketch_scattered(n, 0.1 + 0.1 * (double)(seed % 5), seed);
    char *mask = scratch((size_t)(n * n) + 1);
    lac_structure *structure = NULL;
    const lac_block_form *form = form_of(ctx, s, &structure);
    bool is_odd = false;
    int32_t components = 0;
    for (int64_t z = 0; z < s->nnz; z++) mask[s->row[z] * n + s->col[z]] = 1;
    CHECK_EQ(form->rank, rank_from(mask, n, 0, 0));
    CHECK_OK(lac_block_form_components(ctx, structure, form, &components));
    check_form(mask, form, components);
    CHECK_OK(lac_block_form_parity(ctx, form, &is_odd));
    CHECK_EQ(is_odd, is_odd_of(form));
    deficient += form->rank < n;
    reducible += form->rank == n && form->blocks > 1 && form->blocks < n;
    lac_object_release(structure);
    scratch_release(mark);
  }
  CHECK(deficient > 50 && reducible > 20);
}

static void a_diagonal_pattern_is_all_of_the_simple_natures(lac_context *ctx) {
  sketch s = {3, 3, 3, (int64_t[]){0, 1, 2}, (int64_t[]){0, 1, 2}};
  lac_nature nature = nature_of(ctx, &s);
  CHECK(nature.is_diagonal && nature.is_triangular && nature.is_symmetric);
  CHECK(nature.lower == 0 && nature.upper == 0 && nature.diagonals == 3 && nature.structural_rank == 3);
  CHECK(nature.blocks == 3 && nature.components == 3);
}

static void triangles_are_known_in_any_order(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    size_t mark = scratch_mark();
    direct_case c = direct_make(DIRECT_TRIANGULAR, 50, LAC_F64, seed);
    lac_nature nature = nature_of(ctx, c.s);
    CHECK(nature.is_triangular && !nature.is_diagonal);
    CHECK(nature.blocks == 50 && nature.structural_rank == 50);
    scratch_release(mark);
  }
  sketch strict = {3, 3, 2, (int64_t[]){1, 2}, (int64_t[]){0, 0}};  // no diagonal: triangular, and singular
  lac_nature nature = nature_of(ctx, &strict);
  CHECK(nature.is_triangular && nature.structural_rank == 1 && nature.diagonals == 0);
}

static void bands_are_measured(lac_context *ctx) {
  sketch s = {5, 5, 4, (int64_t[]){0, 1, 3, 4}, (int64_t[]){3, 1, 2, 0}};
  lac_nature nature = nature_of(ctx, &s);
  CHECK(nature.lower == 4 && nature.upper == 3 && nature.diagonals == 1 && !nature.is_symmetric);
  direct_case c = direct_make(DIRECT_POISSON, 49, LAC_F64, 1);
  nature = nature_of(ctx, c.s);
  CHECK(nature.lower == 7 && nature.upper == 7 && nature.is_symmetric && nature.blocks == 1 && nature.components == 1);
}

static void independent_systems_are_counted(lac_context *ctx) {
  sketch s = {4, 4, 6, (int64_t[]){0, 0, 1, 2, 2, 3}, (int64_t[]){1, 3, 0, 1, 3, 2}};  // {0, 2} with {1, 3}; 1; 3
  lac_nature nature = nature_of(ctx, &s);
  CHECK(nature.structural_rank == 4 && nature.components == 3 && nature.blocks == 3 && !nature.is_triangular);
}

static void empty_patterns_have_a_nature(lac_context *ctx) {
  lac_nature none = nature_of(ctx, sketch_empty(0, 0)), hollow = nature_of(ctx, sketch_empty(3, 3));
  CHECK(none.is_diagonal && none.is_triangular && none.is_symmetric && none.blocks == 0 && none.components == 0);
  CHECK(hollow.is_diagonal && hollow.structural_rank == 0 && hollow.diagonals == 0 && hollow.blocks == 3);
}

static void patterns_that_have_none_are_refused(lac_context *ctx) {
  lac_pattern *wide = NULL;
  lac_nature nature = {0};
  CHECK_OK(sketch_pattern(ctx, sketch_random(3, 4, 0.5, 1), LAC_WIDTH_AUTO, &wide));
  CHECK_FAILS(lac_pattern_nature(ctx, wide, &nature), LAC_ERR_SHAPE, "3 x 4");
  CHECK_FAILS(lac_pattern_nature(ctx, wide, NULL), LAC_ERR_ARG, "the lac_nature is NULL");
  CHECK_FAILS(lac_pattern_nature(ctx, NULL, &nature), LAC_ERR_ARG, "lac_pattern_nature");
  lac_pattern_destroy(&wide);
}

// A chain that a recursion would follow to its end, and a matching that has to move every row by one.
static void long_chains_need_no_deep_stack(lac_context *ctx) {
  int64_t n = 200000;
  sketch s = {n, n, 2 * n, malloc((size_t)(2 * n) * sizeof(int64_t)), malloc((size_t)(2 * n) * sizeof(int64_t))};
  int64_t z = 0;
  for (int64_t i = 0; i + 1 < n; i++) {
    s.row[z] = i, s.col[z++] = i;
    s.row[z] = i, s.col[z++] = i + 1;
  }
  s.row[z] = n - 1, s.col[z++] = 0;  // closes the ring: every row moves by one, and all are one block
  s.nnz = z;
  lac_nature nature = nature_of(ctx, &s);
  CHECK(nature.structural_rank == n && nature.components == 1);
  s.col[z - 1] = n - 1;  // opens it
  lac_nature open = nature_of(ctx, &s);
  CHECK(open.structural_rank == n && open.blocks == n && open.components == 1 && open.is_triangular);
  free(s.row);
  free(s.col);
}

static void memory_that_runs_out_is_said(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_ZERO_DIAGONAL, 20, LAC_F64, 1);
  lac_status status = LAC_ERR_MEMORY;
  int64_t fail = 0;
  while (status != LAC_OK && fail < 200) {
    lac_pattern *pattern = NULL;
    lac_nature nature = {0};
    CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
    lac_memory_fail_at(++fail);
    status = lac_pattern_nature(ctx, pattern, &nature);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
    lac_pattern_destroy(&pattern);
  }
  CHECK(fail > 10 && fail < 200);
}

// Reference: scipy.sparse.csgraph, structural_rank and the strong components after maximum_bipartite_matching.
static void real_matrices_have_the_known_rank_and_blocks(lac_context *ctx) {
  static const struct {
    const char *name;
    int64_t rank, blocks;
  } KNOWN[] = {{"west0479", 479, 166}, {"nnc1374", 1374, 57}, {"rajat01", 6833, 507}, {"watt_2", 1856, 65}};
  for (size_t f = 0; f < sizeof KNOWN / sizeof *KNOWN; f++) {
    mm_matrix mm;
    mm_read(KNOWN[f].name, &mm);
    lac_nature nature = nature_of(ctx, &(sketch){mm.rows, mm.cols, mm.count, mm.row, mm.col});
    CHECK_EQ(nature.structural_rank, KNOWN[f].rank);
    CHECK_EQ(nature.blocks, KNOWN[f].blocks);
    mm_free(&mm);
  }
}

CHECK_MAIN(forms_agree_with_closures_and_permutations, a_diagonal_pattern_is_all_of_the_simple_natures,
           triangles_are_known_in_any_order, bands_are_measured, independent_systems_are_counted,
           empty_patterns_have_a_nature, patterns_that_have_none_are_refused, long_chains_need_no_deep_stack,
           memory_that_runs_out_is_said, real_matrices_have_the_known_rank_and_blocks)
