// SPDX-License-Identifier: Apache-2.0
/// Errors that depend on values, where kernels run behind the calls that start them: they come out at the next call or
/// read, once, in the words of the call that they belong to, and nobody waits for them.
///
/// Without a device, a backend that leaves a fault when asked to stands in: it shows where the library looks.

#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "support/check.h"

/// Whether this is a test of what the context is not; then it is said to be skipped.
static bool skips(lac_context *ctx, bool needs_device, const char *why) {
  bool is_skipped = ctx->space->is_host == needs_device;
  if (is_skipped) check_skip(why);
  return is_skipped;
}

// -- calls that fail -------------------------------------------------------------------------------------------------

enum { ROWS = 3 };

typedef enum failing {
  TRISOLVE,
  TRISOLVE_BATCH,
  BANDED,
  TRIDIAGONAL,
  CIRCULANT,
  LU_ZERO,
  LU_INDEFINITE,
  KINDS
} failing;

static const struct {
  const char *words;
  lac_status status;
} expected[KINDS] = {
    [TRISOLVE] = {"trisolve: the diagonal entry of row 1 is zero; the matrix", LAC_ERR_SINGULAR},
    [TRISOLVE_BATCH] = {"trisolve: the diagonal entry of row 1 is zero in item 1", LAC_ERR_SINGULAR},
    [BANDED] = {"banded_solve: no pivot other than zero is left in column 1;", LAC_ERR_SINGULAR},
    [TRIDIAGONAL] = {"banded_solve: no pivot other than zero is left in column 2;", LAC_ERR_SINGULAR},
    [CIRCULANT] = {"circulant_solve: the eigenvalue of frequency 0 is zero", LAC_ERR_SINGULAR},
    [LU_ZERO] = {"lu_values: the pivot of row 2 is zero", LAC_ERR_SINGULAR},
    [LU_INDEFINITE] = {"lu_values: the matrix is not positive definite: pivot -1 in row 2", LAC_ERR_DEFINITE},
};

/// What calls work with: rows 1 and 2 hang together, so that the pivot of row 1 is divided by.
typedef struct world {
  lac_pattern *lower, *square;
  lac_map *steps;  // row 1 is called 2
  lac_array *ones, *fine, *b;
} world;

static lac_array *array_of(lac_context *ctx, int ndim, const int64_t *shape, const double *numbers) {
  lac_array *array = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, ndim, shape, (void *)numbers, LAC_OWNERSHIP_COPY, &array));
  return array;
}

static world world_open(lac_context *ctx) {
  static const int32_t row[] = {0, 1, 2, 2, 1}, col[] = {0, 1, 1, 2, 2};
  world w = {0};
  CHECK_OK(lac_pattern_from_coo(ctx, ROWS, ROWS, 4, LAC_I32, row, col, LAC_WIDTH_AUTO, &w.lower, NULL));
  CHECK_OK(lac_pattern_from_coo(ctx, ROWS, ROWS, 5, LAC_I32, row, col, LAC_WIDTH_AUTO, &w.square, NULL));
  CHECK_OK(lac_map_create(ctx, ROWS, ROWS, (int64_t[]){0, 2, 1}, &w.steps));
  w.ones = array_of(ctx, 2, (int64_t[]){ROWS, 1}, (double[]){1, 1, 1});
  w.fine = array_of(ctx, 1, (int64_t[]){4}, (double[]){2, 2, 1, 2});
  w.b = array_of(ctx, 2, (int64_t[]){4, 1}, (double[]){1, 2, 3, 4});
  return w;
}

static void world_close(world *w) {
  lac_pattern_destroy(&w->lower), lac_pattern_destroy(&w->square);
  lac_map_destroy(&w->steps);
  lac_array_destroy(&w->ones), lac_array_destroy(&w->fine), lac_array_destroy(&w->b);
}

/// The values of each kind, made beforehand: a copy to the device is a wait of its own.
static lac_array *values_of(lac_context *ctx, failing kind) {
  switch (kind) {
    case TRISOLVE:
      return array_of(ctx, 1, (int64_t[]){4}, (double[]){1, 0, 1, 1});
    case TRISOLVE_BATCH:
      return array_of(ctx, 2, (int64_t[]){2, 4}, (double[]){1, 1, 1, 1, 1, 0, 1, 1});
    case BANDED:
      return array_of(ctx, 2, (int64_t[]){1, ROWS}, (double[]){1, 0, 2});
    case TRIDIAGONAL:
      return array_of(ctx, 2, (int64_t[]){3, ROWS}, (double[]){0, 1, 1, 0, 0, 0, 1, 1, 0});
    case CIRCULANT:
      return array_of(ctx, 1, (int64_t[]){4}, (double[]){2, -1, 0, -1});
    default:
      return array_of(ctx, 1, (int64_t[]){5}, (double[]){1, kind == LU_ZERO ? 0 : -1, 1, 1, 1});
  }
}

static lac_status call(lac_context *ctx, const world *w, failing kind, const lac_array *values, lac_array **out) {
  switch (kind) {
    case TRISOLVE:
    case TRISOLVE_BATCH:
      return lac_run_trisolve(ctx, w->lower, values, w->ones, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_PLAIN, out);
    case BANDED:
      return lac_run_banded_solve(ctx, 0, 0, values, w->ones, LAC_PLAIN, out);
    case TRIDIAGONAL:
      return lac_run_banded_solve(ctx, 1, 1, values, w->ones, LAC_PLAIN, out);
    case CIRCULANT:
      return lac_run_circulant_solve(ctx, values, w->b, LAC_PLAIN, out);
    default:
      return lac_run_lu_values(ctx, w->square, values, w->steps,
                               kind == LU_ZERO ? LAC_PIVOTS_NONZERO : LAC_PIVOTS_POSITIVE, out);
  }
}

/// Whatever was started is over; nothing is raised.
static void settle(lac_context *ctx) { CHECK_OK(ctx->backend->synchronize(ctx)); }

static lac_status harmless(lac_context *ctx, const world *w) {
  lac_array *y = NULL;
  lac_status status = lac_run_spmm(ctx, w->lower, w->fine, w->ones, LAC_PLAIN, &y);
  lac_array_destroy(&y);
  return status;
}

static void the_next_call_raises_what_a_call_left(lac_context *ctx) {
  if (skips(ctx, true, "calls of the host raise their errors themselves")) return;
  world w = world_open(ctx);
  for (failing kind = 0; kind < KINDS; ++kind) {
    lac_array *values = values_of(ctx, kind), *out = NULL;
    CHECK_OK(call(ctx, &w, kind, values, &out));
    settle(ctx);
    CHECK_FAILS(harmless(ctx, &w), expected[kind].status, expected[kind].words);
    CHECK_OK(harmless(ctx, &w));  // raised once
    lac_array_destroy(&values), lac_array_destroy(&out);
  }
  world_close(&w);
}

static void reading_raises_and_shows_nan(lac_context *ctx) {
  if (skips(ctx, true, "calls of the host raise their errors themselves")) return;
  world w = world_open(ctx);
  for (failing kind = 0; kind < KINDS; ++kind) {
    lac_array *values = values_of(ctx, kind), *out = NULL;
    double numbers[8] = {0};
    CHECK_OK(call(ctx, &w, kind, values, &out));
    CHECK_FAILS(lac_array_read(ctx, out, numbers), expected[kind].status, expected[kind].words);
    for (int64_t i = 0; i < lac_array_count(out); ++i) CHECK(isnan(numbers[i]));
    CHECK_OK(lac_array_read(ctx, out, numbers));
    lac_array_destroy(&values), lac_array_destroy(&out);
  }
  world_close(&w);
}

static void synchronising_raises_and_derivatives_do(lac_context *ctx) {
  if (skips(ctx, true, "calls of the host raise their errors themselves")) return;
  world w = world_open(ctx);
  lac_array *values = values_of(ctx, TRISOLVE), *out = NULL;
  lac_tape *tape = NULL;
  lac_var a, x, loss, bar;

  CHECK_OK(call(ctx, &w, TRISOLVE, values, &out));
  CHECK_FAILS(lac_context_synchronize(ctx), LAC_ERR_SINGULAR, expected[TRISOLVE].words);
  CHECK_OK(lac_context_synchronize(ctx));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  a = lac_tape_leaf(tape, w.fine);
  x = lac_spmm(tape, w.lower, a, lac_tape_constant(tape, w.ones), LAC_PLAIN);
  loss = lac_dot(tape, x, x);
  lac_array_destroy(&out);
  CHECK_OK(call(ctx, &w, TRISOLVE, values, &out));
  settle(ctx);
  CHECK_FAILS(lac_tape_vjp(tape, 1, &loss, NULL, 1, &a, &bar, LAC_GRAPH_NONE), LAC_ERR_SINGULAR,
              expected[TRISOLVE].words);
  CHECK_OK(lac_tape_vjp(tape, 1, &loss, NULL, 1, &a, &bar, LAC_GRAPH_NONE));
  lac_tape_destroy(&tape);
  lac_array_destroy(&values), lac_array_destroy(&out);
  world_close(&w);
}

static void the_first_error_wins_and_what_was_started_before_is_forgotten(lac_context *ctx) {
  if (skips(ctx, true, "calls of the host raise their errors themselves")) return;
  world w = world_open(ctx);
  lac_array *first = values_of(ctx, BANDED), *second = values_of(ctx, CIRCULANT), *x = NULL, *y = NULL;

  CHECK_OK(call(ctx, &w, BANDED, first, &x));
  lac_status early = call(ctx, &w, CIRCULANT, second, &y);  // the first error may be there already
  if (early == LAC_OK) {
    CHECK_FAILS(lac_context_synchronize(ctx), LAC_ERR_SINGULAR, expected[BANDED].words);
  } else {
    CHECK_FAILS(early, LAC_ERR_SINGULAR, expected[BANDED].words);
  }
  CHECK_OK(lac_context_synchronize(ctx));
  lac_array_destroy(&y);
  CHECK_OK(call(ctx, &w, CIRCULANT, second, &y));  // what fails later is raised
  CHECK_FAILS(lac_context_synchronize(ctx), LAC_ERR_SINGULAR, expected[CIRCULANT].words);
  lac_array_destroy(&x), lac_array_destroy(&y), lac_array_destroy(&first), lac_array_destroy(&second);
  world_close(&w);
}

static void contexts_keep_their_errors_unless_they_share(lac_context *ctx) {
  if (skips(ctx, true, "calls of the host raise their errors themselves")) return;
  world w = world_open(ctx);
  lac_array *values = values_of(ctx, BANDED), *x = NULL;
  lac_context *other = NULL;

  CHECK_OK(lac_context_create("cuda", 0, &other));
  CHECK_OK(call(ctx, &w, BANDED, values, &x));
  settle(ctx);
  CHECK_OK(lac_context_synchronize(other));
  CHECK_FAILS(lac_context_synchronize(ctx), LAC_ERR_SINGULAR, expected[BANDED].words);
  CHECK_OK(lac_context_share_errors(ctx));
  CHECK_OK(lac_context_share_errors(other));
  lac_array_destroy(&x);
  CHECK_OK(call(ctx, &w, BANDED, values, &x));
  settle(ctx);
  CHECK_EQ(lac_context_synchronize(other), LAC_ERR_SINGULAR);
  CHECK(strstr(lac_context_error(other), expected[BANDED].words) != NULL);
  CHECK_OK(lac_context_synchronize(ctx));
  lac_context_destroy(&other);
  lac_array_destroy(&x), lac_array_destroy(&values);
  world_close(&w);
}

static void calls_whose_values_may_fail_neither_copy_nor_wait(lac_context *ctx) {
  if (skips(ctx, true, "only a device can be waited for")) return;
  world w = world_open(ctx);
  for (failing kind = 0; kind < KINDS; ++kind) {
    double eye[8] = {4, 1, 1, 1, 4, 1, 1, 1};
    int64_t count = kind == BANDED ? 3 : kind == TRISOLVE || kind == CIRCULANT ? 4 : kind >= LU_ZERO ? 5 : 8;
    if (kind == TRISOLVE_BATCH || kind == TRIDIAGONAL) continue;
    lac_array *flat = array_of(ctx, 1, &count, eye), *good = NULL, *out = NULL;
    CHECK_OK(lac_array_reshape(ctx, flat, kind == BANDED ? 2 : 1, kind == BANDED ? (int64_t[]){1, 3} : &count, &good));
    CHECK_OK(call(ctx, &w, kind, good, &out));  // indices are on the device from now on
    lac_memory_stats before = memory_now("cuda");
    for (int i = 0; i < 5; ++i) {
      lac_array_destroy(&out);
      CHECK_OK(call(ctx, &w, kind, good, &out));
    }
    lac_memory_stats after = memory_now("cuda");
    CHECK_EQ(after.waits, before.waits);
    CHECK_EQ(after.to_host_bytes, before.to_host_bytes);
    CHECK_EQ(after.to_device_bytes, before.to_device_bytes);
    CHECK_OK(lac_context_synchronize(ctx));
    lac_array_destroy(&out), lac_array_destroy(&good), lac_array_destroy(&flat);
  }
  world_close(&w);
}

// -- where the library looks -----------------------------------------------------------------------------------------

static int left;  // faults of the backend that stands in

static lac_status leave_fault(lac_context *ctx) {
  if (left == 0) return LAC_OK;
  --left;
  return lac_context_fail(ctx, LAC_ERR_SINGULAR, __func__, "left: a fault of an earlier call");
}

static void operators_reads_and_solves_look_once(lac_context *ctx) {
  if (skips(ctx, false, "the tests of the device's own faults are above")) return;
  const lac_backend *sound = ctx->backend;
  lac_backend leaving = *sound;
  world w = world_open(ctx);
  lac_array *y = NULL, *x = NULL, *diagonal = values_of(ctx, LU_INDEFINITE);
  double numbers[4];
  lac_solver_options options = {.size = sizeof options, .method = "lu"};
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;

  leaving.faults = leave_fault;
  ctx->backend = &leaving;
  CHECK_OK(lac_solver_create(ctx, w.square, &options, &solver));
  CHECK_OK(lac_array_clone(ctx, w.ones, &x));
  left = 1;
  CHECK_FAILS(lac_run_spmm(ctx, w.lower, w.fine, w.ones, LAC_PLAIN, &y), LAC_ERR_SINGULAR, "left: a fault");
  CHECK_OK(lac_run_spmm(ctx, w.lower, w.fine, w.ones, LAC_PLAIN, &y));
  left = 1;
  CHECK_FAILS(lac_array_read(ctx, y, numbers), LAC_ERR_SINGULAR, "left: a fault");
  CHECK_OK(lac_array_read(ctx, y, numbers));
  left = 1;
  CHECK_FAILS(lac_context_synchronize(ctx), LAC_ERR_SINGULAR, "left: a fault");
  left = 1;
  CHECK_FAILS(lac_solver_factor(ctx, solver, diagonal, &factor), LAC_ERR_SINGULAR, "left: a fault");
  CHECK_OK(lac_solver_factor(ctx, solver, diagonal, &factor));
  left = 1;
  CHECK_FAILS(lac_factor_solve(ctx, factor, w.ones, LAC_PLAIN, x), LAC_ERR_SINGULAR, "left: a fault");
  CHECK_OK(lac_factor_solve(ctx, factor, w.ones, LAC_PLAIN, x));
  CHECK_EQ(left, 0);
  ctx->backend = sound;
  lac_factor_destroy(&factor);
  lac_solver_destroy(&solver);
  lac_array_destroy(&diagonal), lac_array_destroy(&x), lac_array_destroy(&y);
  world_close(&w);
}

/// Errors of values on the host: within the call, and no word of them afterwards.
static void calls_of_the_host_raise_within(lac_context *ctx) {
  if (skips(ctx, false, "calls of a device raise errors of values later")) return;
  world w = world_open(ctx);
  for (failing kind = 0; kind < KINDS; ++kind) {
    lac_array *values = values_of(ctx, kind), *out = NULL;
    CHECK_FAILS(call(ctx, &w, kind, values, &out), expected[kind].status, expected[kind].words);
    CHECK_OK(harmless(ctx, &w));
    CHECK_OK(lac_context_synchronize(ctx));
    lac_array_destroy(&values), lac_array_destroy(&out);
  }
  CHECK_OK(lac_context_share_errors(ctx));
  world_close(&w);
}

CHECK_MAIN(the_next_call_raises_what_a_call_left, reading_raises_and_shows_nan, synchronising_raises_and_derivatives_do,
           the_first_error_wins_and_what_was_started_before_is_forgotten, contexts_keep_their_errors_unless_they_share,
           calls_whose_values_may_fail_neither_copy_nor_wait, operators_reads_and_solves_look_once,
           calls_of_the_host_raise_within)
