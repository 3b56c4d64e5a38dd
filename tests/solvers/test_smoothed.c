// SPDX-License-Identifier: Apache-2.0
/// The hierarchy of smoothed aggregation: its interpolation, its products, near-null vectors.

#include "core/number_at.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"
#include "support/multigrid_case.h"
#include "support/scratch.h"

#define TABLE (&lac_preconditioner_smoothed)
static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
static const lac_width WIDTHS[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};

// -- the structure ---------------------------------------------------------------------------------------------------

static int64_t offset_at(const lac_rows *a, int64_t i) { return lac_buffer_get(a->offsets, i); }

static void coarse_matrices_are_the_products_of_dense_ones(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    for (int w = 0; w < 3; ++w) {
      size_t mark = scratch_mark();
      direct_case c = direct_convection(18, 0.7, DTYPES[d]);
      multigrid_case s;
      double rounding = direct_rounding(DTYPES[d]);
      case_open(ctx, &s, TABLE, &c, WIDTHS[w], 2, false);
      s.options.preconditioner.coarse_rows = 20;
      s.options.preconditioner.full_precision = 1;
      case_set_up(ctx, &s);
      const smoothed_part *part = s.part;
      CHECK(part->shape->levels >= 3);
      for (int l = 0; l + 1 < part->shape->levels; ++l) {
        const smoothed_structure *level = &part->shape->level[l];
        for (int64_t item = 0; item < 2; ++item) {
          const smoothed_numbers *numbers = &part->level[l];
          dense a = case_dense(DTYPES[d], &level->a, numbers->values, item);
          dense p = case_dense(DTYPES[d], &level->p, numbers->p_values, item);
          case_check_same(case_dense(DTYPES[d], &level->r, numbers->r_values, item), dense_side(p, LAC_ADJOINT), 0);
          case_check_same(dense_mul(dense_side(p, LAC_ADJOINT), dense_mul(a, p)),
                          case_dense(DTYPES[d], &level[1].a, numbers[1].values, item), 50 * rounding);
        }
      }
      case_close(&s);
      scratch_release(mark);
    }
  }
}

/// The largest part of a vector of ones that P of level 0 does not reproduce, away from rows with a boundary.
static void constants_are_interpolated_exactly(lac_context *ctx) {
  direct_case c = multigrid_neumann(20, LAC_F64);
  multigrid_case s;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  s.options.preconditioner.full_precision = 1;
  s.options.preconditioner.coarse_rows = 10;
  case_set_up(ctx, &s);
  const smoothed_part *part = s.part;
  for (int l = 0; l + 1 < part->shape->levels; ++l) {
    const lac_rows *p = &part->shape->level[l].p;
    for (int64_t i = 0; i < p->rows; ++i) {
      number sum = 0;
      for (int64_t q = offset_at(p, i); q < offset_at(p, i + 1); ++q)
        sum += lac_number_get(LAC_F64, lac_array_data(part->level[l].p_values), q);
      CHECK(cabs(sum - 1) <= 1e-12);
    }
  }
  case_close(&s);
}

static void near_null_vectors_are_interpolated(lac_context *ctx) {
  ref motions;
  direct_case c = multigrid_springs(9, &motions);
  multigrid_case s;
  lac_array *near_null = NULL;
  case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
  CHECK_OK(ref_upload(ctx, &motions, &near_null));
  s.options.preconditioner.near_null = near_null;
  s.options.preconditioner.full_precision = 1;
  s.options.preconditioner.coarse_rows = 20;
  case_set_up(ctx, &s);
  const smoothed_part *part = s.part;
  const smoothed_structure *level = &part->shape->level[0];
  const lac_aggregates *aggregates = &level->aggregates;
  const double *basis = lac_array_data(aggregates->basis);
  CHECK(part->shape->levels >= 2);
  // Columns of the basis are orthonormal, and the motions lie in their span: b - Q Q^T b = 0 on each aggregate.
  for (int64_t a = 0; a < aggregates->count; ++a) {
    for (int v = 0; v < 3; ++v) {
      double coefficient[3] = {0}, worst = 0, most = 0;
      for (int64_t i = 0; i < smoothed_rows(level); ++i) {
        if (lac_buffer_get(aggregates->member, i / level->size) != a) continue;
        for (int r = 0; r < 3; ++r) coefficient[r] += basis[i * 3 + r] * creal(motions.x[i * 3 + v]);
      }
      for (int64_t i = 0; i < smoothed_rows(level); ++i) {
        if (lac_buffer_get(aggregates->member, i / level->size) != a) continue;
        double rest = creal(motions.x[i * 3 + v]);
        most = fmax(most, fabs(rest));
        for (int r = 0; r < 3; ++r) rest -= basis[i * 3 + r] * coefficient[r];
        worst = fmax(worst, fabs(rest));
      }
      CHECK(worst <= 1e-5 * most);
    }
  }
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 1, NULL) <= 25);
  case_close(&s);
  lac_array_destroy(&near_null);
}

static void blocks_of_unknowns_are_found(lac_context *ctx) {
  static const double FULL[] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1};
  direct_case c = direct_small(4, FULL, LAC_F64);
  lac_pattern *pattern = NULL;
  CHECK_OK(sketch_pattern(ctx, c.s, LAC_WIDTH_AUTO, &pattern));
  CHECK_EQ(lac_setup_blocks(pattern, 3), 2);
  CHECK_EQ(lac_setup_blocks(pattern, 4), 2);
  CHECK_EQ(lac_setup_blocks(pattern, 1), 1);
  lac_pattern_destroy(&pattern);
}

static void rigid_motions_help_springs(lac_context *ctx) {
  ref motions;
  direct_case c = multigrid_springs(14, &motions);
  int64_t counts[2];
  lac_array *near_null = NULL;
  CHECK_OK(ref_upload(ctx, &motions, &near_null));
  for (int with = 0; with < 2; ++with) {
    multigrid_case s;
    case_open(ctx, &s, TABLE, &c, LAC_WIDTH_AUTO, 1, true);
    s.options.preconditioner.near_null = with ? near_null : NULL;
    s.options.preconditioner.coarse_rows = 40;
    case_set_up(ctx, &s);
    counts[with] = case_iterations(ctx, &s, LAC_PLAIN, 2, NULL);
    case_close(&s);
  }
  CHECK(counts[1] <= 25);
  CHECK(counts[1] < counts[0]);
  lac_array_destroy(&near_null);
}

CHECK_MAIN_OF("smoothed", coarse_matrices_are_the_products_of_dense_ones, constants_are_interpolated_exactly,
              near_null_vectors_are_interpolated, blocks_of_unknowns_are_found, rigid_motions_help_springs)
