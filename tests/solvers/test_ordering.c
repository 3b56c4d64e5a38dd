// SPDX-License-Identifier: Apache-2.0
/// Orders of elimination, the tree and the counts: always permutations, little fill, and exactly the fill that
/// elimination makes.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory_impl.h"
#include "solvers/direct/order/ordering.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/scratch.h"

static lac_structure *structure_of(lac_context *ctx, const sketch *s) {
  lac_pattern *pattern = NULL;
  lac_structure *structure = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(lac_structure_get(ctx, pattern, &structure));
  lac_pattern_destroy(&pattern);
  return structure;
}

static void check_permutation(const int32_t *order, int64_t n) {
  char *seen = scratch((size_t)n + 1);
  for (int64_t k = 0; k < n; k++) CHECK(order[k] >= 0 && order[k] < n && !seen[order[k]]++);
}

static void check_orders(lac_context *ctx, const sketch *s) {
  lac_structure *structure = structure_of(ctx, s);
  int32_t *order = scratch((size_t)s->rows * sizeof *order + 1);
  for (int ordering = LAC_ORDER_AUTO; ordering <= LAC_ORDER_NATURAL; ordering++) {
    if (ordering == LAC_ORDER_METIS && !lac_metis_find()) continue;
    CHECK_OK(lac_order_symmetric(ctx, structure, (lac_ordering)ordering, order));
    check_permutation(order, s->rows);
    CHECK_OK(lac_order_columns(ctx, structure, (lac_ordering)ordering, order));
    check_permutation(order, s->rows);
  }
  lac_object_release(structure);
}

static void every_order_is_a_permutation(lac_context *ctx) {
  static const double DENSITIES[] = {0, 0.01, 0.05, 0.2, 0.6, 1};
  check_orders(ctx, sketch_empty(0, 0));
  check_orders(ctx, sketch_empty(7, 7));
  for (uint64_t seed = 1; seed <= 240; seed++) {
    size_t mark = scratch_mark();
    int64_t n = 1 + (int64_t)(seed * 7 % 97);
    double density = DENSITIES[seed % 6];
    check_orders(ctx, seed % 3 == 0   ? sketch_symmetric(n, density, seed)
                      : seed % 3 == 1 ? sketch_square(n, density, seed)
                                      : sketch_random(n, n, density, seed));
    scratch_release(mark);
  }
  for (int kind = 0; kind < DIRECT_KINDS; kind++) check_orders(ctx, direct_make(kind, 150, LAC_F64, 3).s);
}

// A chain with links from each node to one further on, and a full row and column.
static const sketch *sketch_dense(void) {
  sketch *s = scratch(sizeof *s);
  int64_t n = 900;
  *s = (sketch){n, n, 0, scratch((size_t)(5 * n) * sizeof *s->row), scratch((size_t)(5 * n) * sizeof *s->col)};
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      if (i != j && i != 400 && j != 17 && j != i + 1 && j != i * i % n) continue;
      s->row[s->nnz] = i;
      s->col[s->nnz++] = j;
    }
  }
  return s;
}

// Rows and columns with many more entries than the others are set aside, and still come back.
static void dense_rows_and_columns_do_not_get_lost(lac_context *ctx) { check_orders(ctx, sketch_dense()); }

// -- METIS -----------------------------------------------------------------------------------------------------------

// A grid of side^3 nodes and their six neighbours.
static const sketch *sketch_cube(int64_t side) {
  sketch *s = scratch(sizeof *s);
  int64_t n = side * side * side, steps[3] = {side * side, side, 1};
  *s = (sketch){n, n, 0, scratch((size_t)(7 * n) * sizeof *s->row), scratch((size_t)(7 * n) * sizeof *s->col)};
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < 7; k++) {
      int64_t step = k == 3 ? 0 : steps[k < 3 ? k : 6 - k], at = k == 3 ? 0 : i / step % side;
      if (k != 3 && (k < 3 ? at == 0 : at == side - 1)) continue;
      s->row[s->nnz] = i;
      s->col[s->nnz++] = k < 3 ? i - step : i + step;
    }
  }
  return s;
}

// The elimination of A + A^T in an order; cleared by the caller.
static lac_elimination eliminate(lac_context *ctx, const lac_structure *structure, lac_ordering ordering,
                                 const char **name) {
  lac_graph graph = {0};
  lac_elimination e = {0};
  CHECK_OK(lac_graph_init(ctx, structure, NULL, &graph));
  CHECK_OK(lac_order_graph(ctx, &graph, ordering, &e, name));
  lac_graph_clear(&graph);
  return e;
}

static double order_flops(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, const char **name) {
  lac_elimination e = eliminate(ctx, structure, ordering, name);
  double flops = e.cost.flops;
  lac_elimination_clear(&e);
  return flops;
}

static void a_costly_factor_is_worth_a_second_order(lac_context *ctx) {
  lac_structure *cube = structure_of(ctx, sketch_cube(28)), *square = structure_of(ctx, sketch_cube(4));
  const char *name;
  double amd = order_flops(ctx, cube, LAC_ORDER_AMD, &name), automatic = order_flops(ctx, cube, LAC_ORDER_AUTO, &name);
  if (lac_metis_find()) {
    CHECK_TEXT(name, "metis");
    CHECK(automatic < 0.75 * amd);
    CHECK(order_flops(ctx, cube, LAC_ORDER_METIS, &name) == automatic);
  }
  order_flops(ctx, square, LAC_ORDER_AUTO, &name);
  CHECK_TEXT(name, "amd");
  lac_metis_hide(true);
  CHECK(order_flops(ctx, cube, LAC_ORDER_AUTO, &name) == amd);
  CHECK_TEXT(name, "amd");
  lac_metis_hide(false);
  lac_object_release(cube);
  lac_object_release(square);
}

static void a_metis_that_is_not_there_is_named(lac_context *ctx) {
  lac_pattern *pattern = NULL;
  lac_solver *solver = NULL;
  lac_solver_options options = lac_solver_options_defaults();
  options.ordering = LAC_ORDER_METIS;
  CHECK_OK(sketch_pattern(ctx, sketch_symmetric(9, 0.4, 1), LAC_WIDTH_AUTO, &pattern));
  lac_metis_hide(true);
  CHECK_FAILS(lac_ordering_find(ctx, LAC_ORDER_METIS), LAC_ERR_UNSUPPORTED, "libmetis5");
  CHECK_FAILS(lac_solver_create(ctx, pattern, &options, &solver), LAC_ERR_UNSUPPORTED, "libmetis5");
  CHECK_OK(lac_ordering_find(ctx, LAC_ORDER_AUTO));
  CHECK_OK(lac_ordering_find(ctx, LAC_ORDER_AMD));
  CHECK_OK(lac_ordering_find(ctx, LAC_ORDER_NATURAL));
  CHECK_FAILS(lac_ordering_find(ctx, (lac_ordering)9), LAC_ERR_ARG, "unknown ordering 9");
  lac_metis_hide(false);
  lac_pattern_destroy(&pattern);
}

// It draws from rand, as the program may.
static void metis_leaves_the_random_numbers_of_others_alone(lac_context *ctx) {
  lac_structure *cube = structure_of(ctx, sketch_cube(8));
  int32_t *order = scratch(512 * sizeof *order), *again = scratch(512 * sizeof *order);
  int first, second;
  lac_ordering ordering = lac_metis_find() ? LAC_ORDER_METIS : LAC_ORDER_AMD;
  srand(5);
  first = rand(), second = rand();
  srand(5);
  CHECK_EQ(rand(), first);
  CHECK_OK(lac_order_symmetric(ctx, cube, ordering, order));
  CHECK_EQ(rand(), second);
  CHECK_OK(lac_order_symmetric(ctx, cube, ordering, again));
  CHECK(memcmp(order, again, 512 * sizeof *order) == 0);
  lac_object_release(cube);
}

// -- fill ------------------------------------------------------------------------------------------------------------

// Entries of L, with its diagonal.
static int64_t order_fill(lac_context *ctx, const sketch *s, lac_ordering ordering) {
  lac_structure *structure = structure_of(ctx, s);
  const char *name;
  lac_elimination e = eliminate(ctx, structure, ordering, &name);
  int64_t fill = e.cost.nnz;
  lac_elimination_clear(&e);
  lac_object_release(structure);
  return fill;
}

// On a 5-point grid.
static int64_t grid_fill(lac_context *ctx, int64_t side, lac_ordering ordering) {
  return order_fill(ctx, direct_make(DIRECT_POISSON, side * side, LAC_F64, 1).s, ordering);
}

// Reference: multiple minimum degree as SciPy has it, splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0,
// options={"SymmetricMode": True}), gives an L of 63 266 entries on 64 x 64 and of 2 498 612 on 300 x 300.
static void fill_on_a_grid_is_that_of_minimum_degree(lac_context *ctx) {
  CHECK(grid_fill(ctx, 64, LAC_ORDER_AMD) <= 1.15 * 63266);
  CHECK(grid_fill(ctx, 300, LAC_ORDER_AMD) <= 1.15 * 2498612);
  CHECK(grid_fill(ctx, 64, LAC_ORDER_NATURAL) > 4 * 63266);
}

static void no_fill_where_none_is_needed(lac_context *ctx) {
  direct_case arrow = direct_make(DIRECT_ARROW, 60, LAC_F64, 2),
              triangular = direct_make(DIRECT_TRIANGULAR, 60, LAC_F64, 2);
  CHECK_EQ(order_fill(ctx, arrow.s, LAC_ORDER_AMD), (arrow.s->nnz + 60) / 2);
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "pivoting_lu";
  direct_system system = direct_open(ctx, &triangular, LAC_WIDTH_AUTO, &options);
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_EQ(report_of_factor(factor).factor_nnz, triangular.s->nnz);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

// L by elimination on a dense mask, in the same order: its counts, and the first entry below each diagonal.
static void check_counts(const sketch *s, const lac_elimination *e) {
  int64_t n = s->rows, nnz = 0;
  char *mask = scratch((size_t)(n * n) + 1);
  for (int64_t z = 0; z < s->nnz; z++) {
    int64_t i = e->place[s->row[z]], j = e->place[s->col[z]];
    mask[i * n + j] = mask[j * n + i] = 1;
  }
  for (int64_t k = 0; k < n; k++) {
    int64_t count = 1, parent = -1;
    for (int64_t i = n - 1; i > k; i--) {
      if (!mask[i * n + k]) continue;
      count++, parent = i;
      for (int64_t j = k + 1; j < n; j++) mask[i * n + j] |= mask[k * n + j];
    }
    CHECK_EQ(e->count[k], count);
    CHECK_EQ(e->parent[k], parent);
    nnz += count;
  }
  CHECK_EQ(e->cost.nnz, nnz);
}

static void counts_are_what_elimination_makes(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 120; seed++) {
    size_t mark = scratch_mark();
    int64_t n = 1 + (int64_t)(seed * 5 % 47);
    double density = 0.02 * (double)(seed % 11);
    const sketch *s = seed % 3 ? sketch_symmetric(n, density, seed) : sketch_random(n, n, density, seed);
    lac_structure *structure = structure_of(ctx, s);
    const char *name;
    lac_elimination e = eliminate(ctx, structure, seed % 2 ? LAC_ORDER_AMD : LAC_ORDER_NATURAL, &name);
    check_permutation(e.order, n);
    check_counts(s, &e);
    lac_elimination_clear(&e);
    lac_object_release(structure);
    scratch_release(mark);
  }
}

// What an ordering counts on its way is what eliminating by it makes, or a share more where rows were set aside.
static void check_cost(lac_context *ctx, const sketch *s, double share) {
  lac_structure *structure = structure_of(ctx, s);
  lac_graph graph = {0};
  int32_t *order = scratch((size_t)s->rows * sizeof *order + 1);
  CHECK_OK(lac_graph_init(ctx, structure, NULL, &graph));
  for (int ordering = LAC_ORDER_AUTO; ordering <= LAC_ORDER_NATURAL; ordering++) {
    if (ordering == LAC_ORDER_METIS && !lac_metis_find()) continue;
    const char *name;
    lac_cost cost;
    lac_elimination e = {0};
    CHECK_OK(lac_order_find(ctx, &graph, (lac_ordering)ordering, order, &cost, &name));
    CHECK_OK(lac_elimination_init(ctx, &graph, order, &e));
    CHECK(cost.nnz >= e.cost.nnz && (double)cost.nnz <= (1 + share) * (double)e.cost.nnz);
    CHECK(cost.flops >= e.cost.flops && cost.flops <= (1 + 2 * share) * e.cost.flops);
    lac_elimination_clear(&e);
  }
  lac_graph_clear(&graph);
  lac_object_release(structure);
}

static void an_order_costs_what_elimination_makes(lac_context *ctx) {
  for (uint64_t seed = 1; seed <= 120; seed++) {
    size_t mark = scratch_mark();
    int64_t n = 1 + (int64_t)(seed * 13 % 211);
    double density = 0.01 * (double)(seed % 7);
    check_cost(ctx, seed % 2 ? sketch_symmetric(n, density, seed) : sketch_random(n, n, density, seed), 0);
    scratch_release(mark);
  }
  for (int kind = 0; kind < DIRECT_KINDS; kind++) check_cost(ctx, direct_make(kind, 600, LAC_F64, 3).s, 0);
  check_cost(ctx, sketch_dense(), 0.1);
}

// -- variables with at most two neighbours ---------------------------------------------------------------------------

// Node i is linked to up(i), where that is another one, whichever is larger; and `hubs` of the last ones to all others.
static const sketch *sketch_links(int64_t n, int64_t (*up)(int64_t i, int64_t n), int64_t hubs) {
  sketch *s = scratch(sizeof *s);
  char *mask = scratch((size_t)(n * n));
  *s = (sketch){n, n, 0, scratch((size_t)((3 + 2 * hubs) * n) * sizeof *s->row),
                scratch((size_t)((3 + 2 * hubs) * n) * sizeof *s->col)};
  for (int64_t i = 0; i < n; i++) {
    int64_t j = up(i, n);
    mask[i * n + i] = mask[i * n + j] = mask[j * n + i] = 1;
    for (int64_t h = n - hubs; h < n; h++) mask[h * n + i] = mask[i * n + h] = 1;
  }
  for (int64_t p = 0; p < n * n; p++) {
    if (mask[p]) s->row[s->nnz] = p / n, s->col[s->nnz++] = p % n;
  }
  return s;
}

static int64_t up_path(int64_t i, int64_t n) { return i + 1 < n ? i + 1 : i; }
static int64_t up_ring(int64_t i, int64_t n) { return (i + 1) % n; }
static int64_t up_tree(int64_t i, int64_t n) { return n - 1 - (n - 1 - i) / 3; }
static int64_t up_star(int64_t i, int64_t n) { return i < n - 1 ? n - 1 : i; }

static void trees_and_rings_are_taken_apart_without_fill(lac_context *ctx) {
  for (int64_t n = 3; n <= 400; n = 2 * n + 1) {
    size_t mark = scratch_mark();
    CHECK_EQ(order_fill(ctx, sketch_links(n, up_path, 0), LAC_ORDER_AMD), 2 * n - 1);
    CHECK_EQ(order_fill(ctx, sketch_links(n, up_tree, 0), LAC_ORDER_AMD), 2 * n - 1);
    CHECK_EQ(order_fill(ctx, sketch_links(n, up_star, 0), LAC_ORDER_AMD), 2 * n - 1);
    CHECK_EQ(order_fill(ctx, sketch_links(n, up_ring, 0), LAC_ORDER_AMD), 3 * n - 3);
    scratch_release(mark);
  }
}

// A ring is halved by each round: the way from a leaf to the root is short.
static void the_tree_of_a_ring_is_low(lac_context *ctx) {
  enum { N = 383 };
  lac_structure *structure = structure_of(ctx, sketch_links(N, up_ring, 0));
  const char *name;
  lac_elimination e = eliminate(ctx, structure, LAC_ORDER_AMD, &name);
  int height[N] = {0}, most = 0;
  for (int32_t k = 0; k < N; k++) {
    if (e.parent[k] >= 0 && height[e.parent[k]] <= height[k]) height[e.parent[k]] = height[k] + 1;
    if (height[k] > most) most = height[k];
  }
  CHECK(most <= 20);
  lac_elimination_clear(&e);
  lac_object_release(structure);
}

// With what is set aside too, and with what is left to minimum degree.
static void series_cost_what_elimination_makes(lac_context *ctx) {
  int64_t (*const ups[])(int64_t, int64_t) = {up_path, up_ring, up_tree, up_star};
  for (int u = 0; u < 4; u++) {
    for (int64_t hubs = 0; hubs <= 10; hubs += 5) {
      size_t mark = scratch_mark();
      const sketch *s = sketch_links(700, ups[u], hubs);
      check_orders(ctx, s);
      check_cost(ctx, s, hubs ? 0.1 : 0);
      scratch_release(mark);
    }
  }
}

static void orders_of_a_pattern_are_made_once(lac_context *ctx) {
  direct_case c = direct_make(DIRECT_POISSON, 400, LAC_F64, 1);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, NULL);
  int64_t bytes = lac_pattern_bytes(system.pattern);
  lac_solver *again = NULL;
  CHECK_OK(lac_solver_create(ctx, system.pattern, NULL, &again));
  CHECK_EQ(lac_pattern_bytes(system.pattern), bytes);
  lac_solver_destroy(&again);
  direct_close(&system);
}

/// What making a solver leaves behind is with its pattern, and counted there, but for the solver itself.
static void what_an_analysis_holds_is_counted(lac_context *ctx) {
  enum { SOLVER = 16384 };
  if (!check_claimed("memory of the host")) return;
  direct_case c = direct_make(DIRECT_POISSON, 4900, LAC_F64, 1);
  lac_pattern *pattern = NULL;
  lac_solver *solver = NULL;
  CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
  int64_t live = memory_now("cpu").live_bytes, counted = lac_pattern_bytes(pattern);
  CHECK_OK(lac_solver_create(ctx, pattern, NULL, &solver));
  live = memory_now("cpu").live_bytes - live, counted = lac_pattern_bytes(pattern) - counted;
  CHECK(live > 16 * c.s->rows && live <= counted + SOLVER);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&pattern);
}

CHECK_MAIN(every_order_is_a_permutation, dense_rows_and_columns_do_not_get_lost,
           a_costly_factor_is_worth_a_second_order, a_metis_that_is_not_there_is_named,
           metis_leaves_the_random_numbers_of_others_alone, fill_on_a_grid_is_that_of_minimum_degree,
           no_fill_where_none_is_needed, counts_are_what_elimination_makes, an_order_costs_what_elimination_makes,
           trees_and_rings_are_taken_apart_without_fill, the_tree_of_a_ring_is_low, series_cost_what_elimination_makes,
           orders_of_a_pattern_are_made_once, what_an_analysis_holds_is_counted)
