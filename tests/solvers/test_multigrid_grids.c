// SPDX-License-Identifier: Apache-2.0
/// Multigrid of matrices on grids, on every backend that has grids: an even matrix stays on its grid without a trial,
/// others after one, and coefficients at random, on which a grid is slow, call for another kind.

#include <stdlib.h>

#include "support/multigrid_case.h"

#define TABLE (&lac_preconditioner_multigrid)

enum { SIDE = 150 };

/// Diffusion between the points of a square with a coefficient for each, held all around; between rows of the square it
/// is `along` times as strong.
static direct_case diffusion(const double *k, double along) {
  direct_case c = direct_make(DIRECT_POISSON, SIDE * SIDE, LAC_F64, 1);
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    int64_t i = c.s->row[z], j = c.s->col[z], x = i % SIDE, y = i / SIDE;
    double sides = (double)((x == 0) + (x == SIDE - 1)), ends = (double)((y == 0) + (y == SIDE - 1));
    if (i == j) {
      double sum = k[i] * (sides + along * ends);
      if (x > 0) sum += 2 / (1 / k[i] + 1 / k[i - 1]);
      if (x < SIDE - 1) sum += 2 / (1 / k[i] + 1 / k[i + 1]);
      if (y > 0) sum += along * 2 / (1 / k[i] + 1 / k[i - SIDE]);
      if (y < SIDE - 1) sum += along * 2 / (1 / k[i] + 1 / k[i + SIDE]);
      c.a.x[z] = sum;
    } else {
      c.a.x[z] = -(llabs(i - j) == 1 ? 1 : along) * 2 / (1 / k[i] + 1 / k[j]);
    }
  }
  return c;
}

/// Coefficients exp(u), u at random between -`wide` and `wide`.
static double *coefficients(double wide) {
  double *k = scratch(SIDE * SIDE * sizeof *k);
  random_state random = random_start(11);
  for (int64_t i = 0; i < SIDE * SIDE; ++i) k[i] = exp(wide * ((double)random_below(&random, 2001) / 1000 - 1));
  return k;
}

/// What it says begins with `expected`, or, where that is NULL, with anything but a grid; and it solves.
static void check_choice(lac_context *ctx, const direct_case *c, const char *expected, int64_t most) {
  multigrid_case s;
  char *text = NULL;
  case_open(ctx, &s, TABLE, c, LAC_WIDTH_AUTO, 1, true);
  case_set_up(ctx, &s);
  CHECK_OK(TABLE->describe(ctx, s.part, &text));
  if (expected ? strncmp(text, expected, strlen(expected)) != 0 : strncmp(text, "grid", 4) == 0)
    check_fail(__FILE__, __LINE__, "it says '%s', and should say '%s'", text, expected ? expected : "not grid");
  lac_free(text);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= most);
  case_close(&s);
}

static void an_even_matrix_stays_on_its_grid(lac_context *ctx) {
  direct_case c = diffusion(coefficients(0), 1);
  check_choice(ctx, &c, "grid multigrid: entries are even and of one sign, on a grid", 10);
}

static void an_uneven_matrix_on_which_cycles_are_quick_stays_on_its_grid(lac_context *ctx) {
  direct_case stretched = diffusion(coefficients(0), 0.1), rough = diffusion(coefficients(1.5), 1);
  check_choice(ctx, &stretched, "grid multigrid: on the grid, cycles took the residual down by 0.", 30);
  check_choice(ctx, &rough, "grid multigrid: on the grid, cycles took the residual down by 0.", 30);
}

static void coefficients_at_random_over_orders_of_magnitude_leave_the_grid(lac_context *ctx) {
  direct_case c = diffusion(coefficients(6), 1);
  check_choice(ctx, &c, NULL, 200);
}

/// Values that are uneven are set up afresh, where the part is of even ones.
static void a_part_of_even_values_is_not_refreshed_for_uneven_ones(lac_context *ctx) {
  direct_case even = diffusion(coefficients(0), 1), rough = diffusion(coefficients(6), 1);
  multigrid_case s, other;
  void *again = NULL;
  case_open(ctx, &s, TABLE, &even, LAC_WIDTH_AUTO, 1, true);
  case_set_up(ctx, &s);
  case_open(ctx, &other, TABLE, &rough, LAC_WIDTH_AUTO, 1, true);
  s.setup.values = other.values;
  CHECK_FAILS(TABLE->refresh(ctx, &s.setup, s.part, &again), LAC_ERR_UNSUPPORTED, "set it up afresh");
  s.setup.values = s.values;
  case_check_refreshed(ctx, &s, LAC_PLAIN);
  other.setup.options = &other.options;
  CHECK_OK(TABLE->create(ctx, &other.setup, &other.part));
  case_close(&other);
  case_close(&s);
}

CHECK_MAIN_OF("grid", an_even_matrix_stays_on_its_grid, an_uneven_matrix_on_which_cycles_are_quick_stays_on_its_grid,
              coefficients_at_random_over_orders_of_magnitude_leave_the_grid,
              a_part_of_even_values_is_not_refreshed_for_uneven_ones)
