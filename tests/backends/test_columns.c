// SPDX-License-Identifier: Apache-2.0
/// The kernel columns beside sums and products taken one by one, of any width and length; the composed one beside it.

#include <math.h>
#include <string.h>

#include "solvers/krylov/steps/column_steps.h"
#include "kernels/kernels.h"
#include "solvers/krylov/frame.h"
#include "support/check.h"
#include "support/composed_columns.h"
#include "support/dense.h"
#include "support/direct_case.h"
#include "support/scratch.h"

enum { ADD, TURN, SCALE, TAKE, DOT, OTHER, SLOTS };

typedef lac_status pass(lac_context *ctx, int count, const lac_column_op *ops, lac_array *state);

/// Vectors x and y and coefficients of which some are zero.
typedef struct world {
  ref x, y, state;
  lac_array *x_array, *y_array, *state_array;
} world;

static world world_open(lac_context *ctx, lac_dtype dtype, int64_t items, int64_t n, int64_t k) {
  world w = {.x = ref_new(&(lac_meta){.dtype = dtype, .ndim = 3, .shape = {items, n, k}}),
             .y = ref_new(&(lac_meta){.dtype = dtype, .ndim = 3, .shape = {items, n, k}}),
             .state = ref_new(&(lac_meta){.dtype = LAC_C128, .ndim = 3, .shape = {SLOTS, items, k}})};
  ref_random(&w.x, 1, lac_dtype_is_complex(dtype));
  ref_random(&w.y, 2, lac_dtype_is_complex(dtype));
  ref_random(&w.state, 3, lac_dtype_is_complex(dtype));
  for (int64_t i = 0; i < w.state.count; i += 3) w.state.x[i] = 0;
  CHECK_OK(ref_upload(ctx, &w.x, &w.x_array));
  CHECK_OK(ref_upload(ctx, &w.y, &w.y_array));
  CHECK_OK(ref_upload(ctx, &w.state, &w.state_array));
  return w;
}

static void world_close(world *w) {
  lac_array_destroy(&w->x_array);
  lac_array_destroy(&w->y_array);
  lac_array_destroy(&w->state_array);
}

/// y after all five operations, and the sums.
static void world_expect(world *w) {
  int64_t n = w->x.meta.shape[1], k = w->x.meta.shape[2], columns = w->x.meta.shape[0] * k;
  for (int64_t i = 0; i < columns; ++i) {
    const number *c = w->state.x + i;
    number sum = 0;
    for (int64_t row = 0; row < n; ++row) {
      int64_t at = (i / k * n + row) * k + i % k;
      number x = w->x.x[at], *y = w->y.x + at;
      *y += 0.5 * c[ADD * columns] * x;
      *y = x - c[TURN * columns] * *y;
      *y *= c[SCALE * columns];
      if (c[TAKE * columns] != 0) *y = x;
      sum += conj(x) * *y;
    }
    w->state.x[DOT * columns + i] = sum;
  }
}

static void world_run(lac_context *ctx, world *w, pass *columns) {
  const lac_column_op ops[] = {{LAC_COLUMN_ADD, ADD, 0.5, w->x_array, w->y_array},
                               {LAC_COLUMN_TURN, TURN, -1, w->x_array, w->y_array},
                               {LAC_COLUMN_SCALE, SCALE, 1, w->y_array, w->y_array},
                               {LAC_COLUMN_TAKE, TAKE, 1, w->x_array, w->y_array},
                               {LAC_COLUMN_DOT, DOT, 1, w->x_array, w->y_array}};
  CHECK_OK(columns(ctx, 5, ops, w->state_array));
}

static void world_compare(lac_context *ctx, const world *w) {
  ref y, state;
  double rounding = direct_rounding(w->x.meta.dtype);
  int64_t columns = w->state.meta.shape[1] * w->state.meta.shape[2];
  CHECK_OK(ref_download(ctx, w->y_array, &y));
  CHECK_OK(ref_download(ctx, w->state_array, &state));
  for (int64_t i = 0; i < y.count; ++i) CHECK(cabs(y.x[i] - w->y.x[i]) <= 16 * rounding);
  for (int64_t i = 0; i < columns; ++i) {
    number got = state.x[DOT * columns + i], want = w->state.x[DOT * columns + i];
    CHECK(cabs(got - want) <= 4 * rounding * (double)(1 + w->x.meta.shape[1]));
    CHECK(state.x[OTHER * columns + i] == w->state.x[OTHER * columns + i]);
  }
}

/// The backend's own kernel, or the one that is composed.
static pass *pass_of(lac_context *ctx, int composed) {
  return composed || !ctx->kernels->columns ? composed_columns : ctx->kernels->columns;
}

static void every_shape_agrees_with_the_formula(lac_context *ctx) {
  static const int64_t widths[] = {0, 1, 2, 3, 7, 31, 32, 33, 64, 65, 130}, lengths[] = {0, 1, 5, 63, 700, 4100};
  for (int d = 0; d < 4; ++d) {
    for (int a = 0; a < 11; ++a) {
      for (int b = 0; b < 6; ++b) {
        if (widths[a] * lengths[b] > 30000) continue;
        for (int composed = 0; composed < 2; ++composed) {
          size_t mark = scratch_mark();
          world w = world_open(ctx, (lac_dtype)d, 1 + b % 3, lengths[b], widths[a]);
          world_run(ctx, &w, pass_of(ctx, composed));
          world_expect(&w);
          world_compare(ctx, &w);
          world_close(&w);
          scratch_release(mark);
        }
      }
    }
  }
}

static void zeros_shut_out_nan(lac_context *ctx) {
  for (int composed = 0; composed < 2; ++composed) {
    if (!ctx->kernels->where && pass_of(ctx, composed) == composed_columns) continue;
    for (int64_t k = 1; k <= 3; k += 2) {
      world w = world_open(ctx, LAC_F64, 1, 9, k);
      ref y;
      pass *columns = pass_of(ctx, composed);
      CHECK_OK(lac_array_fill(ctx, w.state_array, 0, 0));
      CHECK_OK(lac_array_fill(ctx, w.x_array, NAN, 0));
      CHECK_OK(columns(ctx, 2,
                       (lac_column_op[]){{LAC_COLUMN_ADD, ADD, 1, w.x_array, w.y_array},
                                         {LAC_COLUMN_TAKE, TAKE, 1, w.x_array, w.y_array}},
                       w.state_array));
      CHECK_OK(ref_download(ctx, w.y_array, &y));
      CHECK_EQ(memcmp(y.x, w.y.x, (size_t)y.count * sizeof *y.x), 0);
      CHECK_OK(columns(ctx, 1, &(lac_column_op){LAC_COLUMN_TURN, TURN, 1, w.y_array, w.x_array}, w.state_array));
      CHECK_OK(ref_download(ctx, w.x_array, &y));
      CHECK_EQ(memcmp(y.x, w.y.x, (size_t)y.count * sizeof *y.x), 0);
      CHECK_OK(lac_array_fill(ctx, w.x_array, NAN, 0));
      CHECK_OK(columns(ctx, 1, &(lac_column_op){LAC_COLUMN_SCALE, SCALE, 1, w.x_array, w.x_array}, w.state_array));
      CHECK_OK(ref_download(ctx, w.x_array, &y));
      CHECK(ref_max(&y) == 0);
      world_close(&w);
    }
  }
}

static void threads_give_the_same_bits(lac_context *ctx) {
  for (int d = 0; d < 4; ++d) {
    for (int64_t k = 1; k <= 9; k += 4) {
      ref y[2], state[2];
      size_t mark = scratch_mark();
      for (int threads = 1; threads <= 2; ++threads) {
        world w = world_open(ctx, (lac_dtype)d, 2, 20011, k);
        CHECK_OK(lac_context_set_threads(ctx, threads));
        world_run(ctx, &w, pass_of(ctx, 0));
        CHECK_OK(ref_download(ctx, w.y_array, &y[threads - 1]));
        CHECK_OK(ref_download(ctx, w.state_array, &state[threads - 1]));
        world_close(&w);
      }
      CHECK_EQ(memcmp(y[0].x, y[1].x, (size_t)y[0].count * sizeof(number)), 0);
      CHECK_EQ(memcmp(state[0].x, state[1].x, (size_t)state[0].count * sizeof(number)), 0);
      scratch_release(mark);
    }
  }
}

static void single_precision_is_added_in_double(lac_context *ctx) {
  int64_t n = 1 << 20;
  lac_array *x = NULL, *state = NULL;
  lac_pair sum;
  if (!ctx->kernels->columns) return;
  CHECK_OK(lac_array_create(ctx, LAC_F32, 3, (int64_t[]){1, n, 1}, &x));
  CHECK_OK(lac_array_create(ctx, LAC_C128, 3, (int64_t[]){1, 1, 1}, &state));
  CHECK_OK(lac_array_fill(ctx, x, 0.1, 0));
  CHECK_OK(ctx->kernels->columns(ctx, 1, &(lac_column_op){LAC_COLUMN_DOT, 0, 1, x, x}, state));
  CHECK_OK(lac_array_read(ctx, state, &sum));
  CHECK_NEAR(sum.re, (double)0.1f * (double)0.1f * (double)n, 1e-13);
  lac_array_destroy(&x);
  lac_array_destroy(&state);
}

CHECK_MAIN(every_shape_agrees_with_the_formula, zeros_shut_out_nan, threads_give_the_same_bits,
           single_precision_is_added_in_double)
