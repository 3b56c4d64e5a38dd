// SPDX-License-Identifier: Apache-2.0
/// Multigrid: which kind it chooses and why, and that it does what the chosen one does.

#include <stdlib.h>

#include "core/memory_impl.h"
#include "support/multigrid_case.h"
#include "support/scratch.h"

#define TABLE (&lac_preconditioner_multigrid)

/// A grid whose entries from row to row of it are `along`, and from column to column -1.
static direct_case grid(int64_t side, double along) {
  direct_case c = direct_make(DIRECT_POISSON, side * side, LAC_F64, 1);
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    int64_t apart = c.s->row[z] - c.s->col[z];
    c.a.x[z] = apart == 0 ? 2 + 2 * fabs(along) : apart == 1 || apart == -1 ? along : -1;
  }
  return c;
}

/// The same on no grid: the ends of each row are joined.
static direct_case tube(int64_t side, double along) {
  direct_case c = grid(side, along);
  int64_t n = side * side;
  double *full = scratch((size_t)(n * n) * sizeof *full);
  for (int64_t z = 0; z < c.s->nnz; ++z) full[c.s->row[z] * n + c.s->col[z]] = creal(c.a.x[z]);
  for (int64_t y = 0; y < side; ++y) {
    int64_t i = y * side, j = i + side - 1;
    full[i * n + j] = full[j * n + i] = along;
  }
  return direct_small(n, full, LAC_F64);
}

static void check_choice(lac_context *ctx, const direct_case *c, lac_multigrid_kind kind, const lac_array *near_null,
                         const char *expected) {
  multigrid_case s;
  char *text = NULL;
  case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.kind = kind;
  s.options.preconditioner.near_null = near_null;
  case_set_up(ctx, &s);
  CHECK_OK(TABLE->describe(ctx, s.part, &text));
  if (!strstr(text, expected)) check_fail(__FILE__, __LINE__, "it says '%s', not '%s'", text, expected);
  lac_free(text);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 150);
  case_close(&s);
}

static void what_is_asked_for_is_taken(lac_context *ctx) {
  direct_case even = grid(40, -1), uneven = grid(40, -0.01);
  check_choice(ctx, &even, LAC_MULTIGRID_SMOOTHED, NULL, "smoothed multigrid: asked for");
  check_choice(ctx, &uneven, LAC_MULTIGRID_GRID, NULL, "grid multigrid: asked for");
  check_choice(ctx, &uneven, LAC_MULTIGRID_PAIRWISE, NULL, "pairwise multigrid: asked for");
}

static void grids_are_known(lac_context *ctx) {
  direct_case even = grid(40, -1), uneven = grid(40, -0.1), slow = grid(200, -0.001);
  check_choice(ctx, &even, LAC_MULTIGRID_AUTO, NULL, "grid multigrid: entries are even and of one sign, on a grid");
  check_choice(ctx, &uneven, LAC_MULTIGRID_AUTO, NULL,
               "grid multigrid: on the grid, cycles took the residual down by 0.");
  check_choice(ctx, &slow, LAC_MULTIGRID_AUTO, NULL, "smoothed multigrid: entries differ");
}

static void even_entries_take_pairs(lac_context *ctx) {
  direct_case c = tube(40, -1);
  check_choice(ctx, &c, LAC_MULTIGRID_AUTO, NULL, "pairwise multigrid: entries are even");
}

static void entries_of_other_magnitude_or_sign_take_smoothed_aggregates(lac_context *ctx) {
  direct_case uneven = tube(40, -0.01), positive = tube(40, 0.9);
  check_choice(ctx, &uneven, LAC_MULTIGRID_AUTO, NULL, "smoothed multigrid: entries differ");
  check_choice(ctx, &positive, LAC_MULTIGRID_AUTO, NULL, "smoothed multigrid: entries differ");
}

static void near_null_vectors_take_smoothed_aggregates(lac_context *ctx) {
  direct_case c = grid(40, -1);
  lac_array *near_null = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){1600, 1}, &near_null));
  CHECK_OK(lac_array_fill(ctx, near_null, 1, 0));
  check_choice(ctx, &c, LAC_MULTIGRID_AUTO, near_null, "smoothed multigrid: near-null vectors are given");
  lac_array_destroy(&near_null);
}

static void a_doubt_is_measured(lac_context *ctx) {
  direct_case c = tube(40, -0.2);
  check_choice(ctx, &c, LAC_MULTIGRID_AUTO, NULL, "pairwise multigrid: pairs took the residual down by 0.");
}

/// The square of a matrix.
static direct_case squared(direct_case c) {
  direct_case square = {sketch_product(c.s, c.s), c.a};
  square.a = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {square.s->nnz}});
  for (int64_t y = 0; y < c.s->nnz; ++y) {
    for (int64_t z = 0; z < c.s->nnz; ++z) {
      if (c.s->col[y] != c.s->row[z]) continue;
      square.a.x[sketch_find(square.s, c.s->row[y], c.s->col[z])] += c.a.x[y] * c.a.x[z];
    }
  }
  return square;
}

static void slow_pairs_give_way(lac_context *ctx) {
  direct_case c = squared(grid(32, -1));
  check_choice(ctx, &c, LAC_MULTIGRID_AUTO, NULL, "smoothed multigrid: pairs took the residual down by no more than");
}

static void refreshed_it_is_what_it_was(lac_context *ctx) {
  static const lac_multigrid_kind KINDS[] = {LAC_MULTIGRID_PAIRWISE, LAC_MULTIGRID_SMOOTHED, LAC_MULTIGRID_GRID};
  for (int kind = 0; kind < 3; ++kind) {
    direct_case c = direct_convection(30, 0.4, LAC_C128);
    multigrid_case s;
    lac_setup_figures before = {0}, after = {0};
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 2, false);
    s.options.preconditioner.kind = KINDS[kind];
    case_set_up(ctx, &s);
    TABLE->report(s.part, &before);
    case_check_refreshed(ctx, &s, LAC_ADJOINT);
    TABLE->report(s.part, &after);
    CHECK_EQ(before.levels, after.levels);
    CHECK_EQ(before.bytes, after.bytes);
    case_close(&s);
  }
}

/// The pattern of both is the same: a grid whose entries along one axis are a thousandth of what they were.
static void check_wants_another(lac_context *ctx, direct_case c, direct_case other, lac_multigrid_kind kind) {
  multigrid_case s, t;
  void *again = NULL;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  case_open(ctx, &t, TABLE, &other, LAC_WIDTH_AUTO, 1, true);
  case_set_up(ctx, &s);
  case_set_up(ctx, &t);
  CHECK_FAILS(TABLE->refresh(ctx, &t.setup, s.part, &again), LAC_ERR_UNSUPPORTED, "set it up afresh");
  t.options.preconditioner.kind = kind;  // whoever asks for it keeps it
  CHECK_OK(TABLE->refresh(ctx, &t.setup, s.part, &again));
  TABLE->destroy(again);
  case_close(&s);
  case_close(&t);
}

static void what_was_chosen_is_not_refreshed_for_values_that_want_another_kind(lac_context *ctx) {
  check_wants_another(ctx, tube(32, -1), tube(32, -0.001), LAC_MULTIGRID_PAIRWISE);
  check_wants_another(ctx, grid(32, -1), grid(32, -0.001), LAC_MULTIGRID_GRID);
}

static void every_allocation_may_fail(lac_context *ctx) {
  direct_case c = squared(grid(28, -1));
  multigrid_case s;
  lac_status status = LAC_ERR_MEMORY;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  s.setup.options = &s.options;
  for (int64_t n = 1; status != LAC_OK && n < 1000; n = check_next_failure(ctx, n)) {
    void *part = NULL;
    lac_memory_fail_at(n);
    status = TABLE->create(ctx, &s.setup, &part);
    lac_memory_fail_at(0);
    CHECK(status == LAC_OK || status == LAC_ERR_MEMORY);
    TABLE->destroy(part);
  }
  CHECK_EQ(status, LAC_OK);
  case_close(&s);
}

CHECK_MAIN_OF("smoothed", what_is_asked_for_is_taken, grids_are_known, even_entries_take_pairs,
              entries_of_other_magnitude_or_sign_take_smoothed_aggregates, near_null_vectors_take_smoothed_aggregates,
              a_doubt_is_measured, slow_pairs_give_way, refreshed_it_is_what_it_was,
              what_was_chosen_is_not_refreshed_for_values_that_want_another_kind, every_allocation_may_fail)
