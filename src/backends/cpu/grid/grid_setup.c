// SPDX-License-Identifier: Apache-2.0
/// @file grid_setup.c
/// From the matrix of a grid to that of the next one, by interpolation that follows the entries (Dendy 1982).
///
///     between two points of the next grid   p_w = -(a_w + a_nw + a_sw) / (a + a_n + a_s), e and columns alike
///     in the middle of four                 p_sw = -(a_sw + a_s p_w(s) + a_w p_s(w)) / a, and so for the others
///     next matrix                           P^T A P: nine-point, whatever A is
///
/// Along a jump of the coefficient, interpolation follows the stiffer side. A diagonal smaller than half of its row is
/// taken for that half. Interpolation is real, by the real parts of entries over the diagonal, so that the cycle of
/// op(A) is op of the cycle.

#include <stdatomic.h>

#include "backends/cpu/grid/grid.h"

/// Lines of numbers that a part has of each row of cells in hand: weights, one over the diagonals of the four colours,
/// their entries of nine directions, and so many of A P.
enum {
  SETUP_WEST,
  SETUP_EAST,
  SETUP_BEFORE,
  SETUP_BEHIND,
  SETUP_CORNER,
  SETUP_INVERSE = SETUP_CORNER + 4,
  SETUP_MATRIX = SETUP_INVERSE + 4,
  SETUP_PRODUCT = SETUP_MATRIX + 36,
  SETUP_LINES = SETUP_PRODUCT + 36,
  SETUP_ROWS = 3
};

/// The points of the next grid that a colour is interpolated from: cells away, and the line of weights; -1: ones.
typedef struct setup_parent {
  int down, across, line;
} setup_parent;

typedef struct setup_family {
  int count;
  setup_parent each[4];
} setup_family;

static const setup_family setup_parents[LAC_GRID_COLOURS] = {
    {1, {{0, 0, -1}}},
    {2, {{0, 0, SETUP_WEST}, {0, 1, SETUP_EAST}}},
    {2, {{0, 0, SETUP_BEFORE}, {1, 0, SETUP_BEHIND}}},
    {4, {{0, 0, SETUP_CORNER}, {0, 1, SETUP_CORNER + 1}, {1, 0, SETUP_CORNER + 2}, {1, 1, SETUP_CORNER + 3}}},
};

static inline double setup_number_real(double re, double im) { return (void)im, re; }
#define setup_number_f32 setup_number_real
#define setup_number_f64 setup_number_real
#define setup_number_c64 make_c128
#define setup_number_c128 make_c128

typedef struct setup_job {
  lac_grid grid, next;
  bool is_first, is_half;
  bool is_wide_offset, is_wide_column;
  const void *offsets, *columns;
  int64_t nnz;
  const void *values;
  const double *unit;
  void *planes, *weights, *out;
  _Atomic double *largest;  // of one over the diagonal
} setup_job;

static inline int64_t setup_offset(const setup_job *j, int64_t i) {
  return j->is_wide_offset ? ((const int64_t *)j->offsets)[i] : ((const int32_t *)j->offsets)[i];
}

static inline int64_t setup_column(const setup_job *j, int64_t q) {
  return j->is_wide_column ? ((const int64_t *)j->columns)[q] : ((const int32_t *)j->columns)[q];
}

/// What a point takes from two neighbours, p and q, is multiplied by this: by one over what it does not give away along
/// the middle, but by no more than makes their sum 2.
static inline double setup_share(double p, double q, double middle) {
  double size = fabs(p) + fabs(q);
  if (size == 0) return 0;
  return 2 * middle >= size ? 1 / middle : 2 / size;
}

/// The largest of what all parts note.
static inline void setup_note(_Atomic double *most, double value) {
  double before = atomic_load(most);
  while (value > before && !atomic_compare_exchange_weak(most, &before, value)) continue;
}

#define KERNEL_FILE "backends/cpu/grid/grid_setup_kernel.h"
#include "backends/cpu/pairwise/pairwise_pairs.h"

static const grid_part set_ups[4][2] = TABLE_PAIRS(set_up);

lac_status cpu_grid_coarsened(lac_context *ctx, const lac_pattern *pattern, const lac_array *values,
                              const lac_array *unit, const lac_grid_level *level, const lac_grid *next, lac_array *out,
                              double *smallest) {
  lac_status status = LAC_OK;
  _Atomic double largest = 0;
  lac_dtype wide = values->meta.dtype, narrow = level->planes->meta.dtype;
  setup_job job = {
      .grid = level->grid, .next = *next, .is_first = pattern != NULL, .is_half = level->is_half, .largest = &largest};

  if (pattern) {
    LAC_TRY(lac_buffer_on(ctx, pattern->offsets, &job.offsets));
    LAC_TRY(lac_buffer_on(ctx, pattern->columns, &job.columns));
    job.is_wide_offset = pattern->offsets->type == LAC_I64;
    job.is_wide_column = pattern->columns->type == LAC_I64;
    job.nnz = pattern->nnz;
  }
  job.values = cpu_data(values);
  job.unit = unit ? cpu_data(unit) : NULL;
  job.planes = cpu_edit(level->planes);
  job.weights = cpu_edit(level->weights);
  job.out = cpu_edit(out);
  LAC_TRY(cpu_fill(ctx, level->planes, 0, 0));
  LAC_TRY(cpu_fill(ctx, level->weights, 0, 0));
  LAC_TRY(cpu_fill(ctx, out, 0, 0));
  LAC_TRY(grid_run(ctx, level->planes->meta.shape[0], 1, &level->grid,
                   (size_t)((SETUP_ROWS * SETUP_LINES + 9) * level->grid.stride) * lac_dtype_size(out->meta.dtype),
                   set_ups[wide][wide != narrow], &job));
  *smallest = 1 / largest;
done:
  return status;
}

lac_status cpu_grid_listed(lac_context *ctx, const lac_grid *grid, const lac_array *planes, const lac_pattern *pattern,
                           lac_array *values) {
  size_t number = lac_dtype_size(values->meta.dtype);
  int64_t room = lac_grid_room(grid);
  char *to = cpu_edit(values);

  (void)ctx;
  for (int64_t item = 0; item < values->meta.shape[0]; ++item) {
    const char *from = (const char *)cpu_data(planes) + (size_t)(item * LAC_GRID_DIRECTIONS * room) * number;
    for (int64_t i = 0; i < pattern->rows; ++i) {
      int64_t y = i / grid->width, x = i % grid->width;
      int64_t at = ((y / 2 + 1) * LAC_GRID_COLOURS + 2 * (y % 2) + x % 2) * grid->stride + 1 + x / 2;
      for (int64_t q = lac_buffer_get(pattern->offsets, i); q < lac_buffer_get(pattern->offsets, i + 1); ++q) {
        int64_t column = lac_buffer_get(pattern->columns, q), dy = column / grid->width - y;
        int64_t direction = (dy + 1) * 3 + column % grid->width - x + 1;  // of narrow grids too
        memcpy(to, from + (size_t)(direction * room + at) * number, number);
        to += number;
      }
    }
  }
  return LAC_OK;
}
