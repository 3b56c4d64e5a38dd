// SPDX-License-Identifier: Apache-2.0
/// An array that is spread over ranks, under another shape: all ranks find the same axis, whatever rows they have.

#include "distributed/spread.h"

enum { MOST = 4 };  // ranks

/// Rows of each rank: one, none, many; unlike and alike.
static const int64_t dealt[][MOST] = {{1, 3, 0, 5}, {3, 1, 1, 0}, {0, 4, 1, 1}, {0, 0, 3, 1}, {1, 1, 1, 1},
                                      {2, 2, 2, 2}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {7, 6, 5, 4}};
enum { DEALT = sizeof dealt / sizeof *dealt };

/// x under a shape of its own and under another; -2 stands for the rows of each rank as a number, -1 for itself.
typedef struct change {
  int ndim, axis;
  int64_t shape[5];
  int to_ndim, to_axis;
  int64_t to[5];
} change;

enum { ROWS = -2, SPREAD = -1 };

static void shape_with(int64_t rows, int marked, int ndim, const int64_t *shape, int64_t *out) {
  for (int d = 0; d < ndim; ++d) {
    out[d] = shape[d] == ROWS || (shape[d] == SPREAD && !marked) ? rows : shape[d];
  }
}

/// sum over the spread axis of reshape(x)^3, times x's own sum: it communicates by the axis that was found.
static lac_var loss_of(lac_tape *tape, const change *c, lac_var x, int64_t rows, int marked) {
  int64_t to[5];
  lac_var y, cube, by_axis;

  shape_with(rows, marked, c->to_ndim, c->to, to);
  y = lac_reshape(tape, x, c->to_ndim, to);
  cube = lac_mul(tape, y, lac_mul(tape, y, y));
  by_axis = lac_sum_axes(tape, cube, LAC_AXES(c->to_axis), true);
  return lac_sum(tape, lac_mul(tape, by_axis, by_axis));
}

/// Value, gradient, tangent and Hessian times x of the loss.
typedef struct results {
  lac_tape *tape;
  lac_var loss, gradient, tangent, second;
} results;

static results results_of(lac_context *ctx, const change *c, lac_array *array, int64_t rows, int marked) {
  results r = {.tape = NULL};
  lac_var x, along;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &r.tape));
  x = lac_tape_leaf(r.tape, array);
  r.loss = loss_of(r.tape, c, x, rows, marked);
  CHECK_OK(lac_tape_status(r.tape));
  CHECK_OK(lac_tape_vjp(r.tape, 1, &r.loss, NULL, 1, &x, &r.gradient, LAC_GRAPH_CREATE));
  CHECK_OK(lac_tape_jvp(r.tape, 1, &x, &x, 1, &r.loss, &r.tangent, LAC_GRAPH_NONE));
  along = lac_sum(r.tape, lac_mul(r.tape, r.gradient, x));
  CHECK_OK(lac_tape_vjp(r.tape, 1, &along, NULL, 1, &x, &r.second, LAC_GRAPH_NONE));
  return r;
}

static void results_agree(results *mine, results *all) {
  CHECK_SAME(lac_tape_value(mine->tape, mine->loss), lac_tape_value(all->tape, all->loss));
  CHECK_SAME(lac_tape_value(mine->tape, mine->gradient), lac_tape_value(all->tape, all->gradient));
  CHECK_SAME(lac_tape_value(mine->tape, mine->tangent), lac_tape_value(all->tape, all->tangent));
  CHECK_SAME(lac_tape_value(mine->tape, mine->second), lac_tape_value(all->tape, all->second));
  lac_tape_destroy(&mine->tape);
  lac_tape_destroy(&all->tape);
}

/// The array's own reshape finds the same axis.
static void arrays_agree(lac_context *ctx, const change *c, lac_array *array, const lac_partition *partition) {
  int64_t to[5];
  lac_array *other = NULL;
  const lac_meta *meta = NULL;

  shape_with(lac_partition_rows(partition), 1, c->to_ndim, c->to, to);
  CHECK_OK(lac_array_reshape(ctx, array, c->to_ndim, to, &other));
  meta = lac_array_meta(other);
  CHECK(meta->partition == partition && meta->partition_axis == c->to_axis);
  CHECK(meta->shape[c->to_axis] == lac_partition_rows(partition) && lac_array_count(other) == lac_array_count(array));
  lac_array_destroy(&other);
}

static void change_agrees(lac_context *ctx, const change *c, const int64_t *rows) {
  spread s = {.ctx = ctx};
  int64_t shape[5];
  results mine, all;
  twin x;

  CHECK_OK(lac_context_create("cpu", 0, &s.serial));
  CHECK_OK(lac_partition_create(ctx, rows[world.rank], &s.rows));
  shape_with(lac_partition_total(s.rows), 0, c->ndim, c->shape, shape);
  x = twin_random(&s, LAC_C128, c->ndim, shape, s.rows, c->axis, 7);
  mine = results_of(ctx, c, x.part, lac_partition_rows(s.rows), 1);
  all = results_of(s.serial, c, x.whole, lac_partition_total(s.rows), 0);
  results_agree(&mine, &all);
  arrays_agree(ctx, c, x.part, s.rows);
  twin_destroy(&x);
  spread_destroy(&s);
}

static void spread_axis_survives_by_itself(lac_context *ctx) {
  static const change changes[] = {{2, 0, {ROWS, 6}, 3, 0, {ROWS, 2, 3}},
                                   {3, 0, {ROWS, 2, 3}, 2, 0, {ROWS, 6}},
                                   {3, 2, {2, 3, ROWS}, 2, 1, {6, ROWS}},
                                   {4, 2, {2, 3, ROWS, 2}, 3, 1, {6, ROWS, 2}},
                                   {1, 0, {ROWS}, 1, 0, {ROWS}},
                                   {2, 0, {ROWS, 1}, 1, 0, {ROWS}},
                                   {2, 1, {1, ROWS}, 1, 0, {ROWS}},
                                   {3, 1, {1, ROWS, 1}, 1, 0, {ROWS}},
                                   {3, 1, {2, ROWS, 2}, 5, 1, {2, ROWS, 2, 1, 1}},
                                   {3, 1, {2, ROWS, 0}, 4, 1, {2, ROWS, 3, 0}}};

  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    for (int j = 0; j < DEALT; ++j) change_agrees(ctx, &changes[i], dealt[j]);
  }
}

static void spread_axis_stands_where_it_is_marked(lac_context *ctx) {
  static const change changes[] = {
      {1, 0, {ROWS}, 2, 0, {SPREAD, 1}},          {1, 0, {ROWS}, 2, 1, {1, SPREAD}},
      {1, 0, {ROWS}, 3, 1, {1, SPREAD, 1}},       {1, 0, {ROWS}, 1, 0, {SPREAD}},
      {2, 0, {ROWS, 1}, 2, 1, {1, SPREAD}},       {2, 1, {1, ROWS}, 2, 0, {SPREAD, 1}},
      {2, 0, {ROWS, 6}, 4, 1, {1, SPREAD, 2, 3}}, {3, 1, {2, ROWS, 3}, 5, 3, {2, 1, 1, SPREAD, 3}}};

  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    for (int j = 0; j < DEALT; ++j) change_agrees(ctx, &changes[i], dealt[j]);
  }
}

/// Every rank refuses on its own, without a word to the others.
static void refuses(lac_context *ctx, const change *c, const int64_t *rows, const char *words) {
  lac_partition *partition = NULL;
  lac_array *x = NULL, *y = NULL;
  lac_tape *tape = NULL;
  int64_t shape[5], to[5];

  CHECK_OK(lac_partition_create(ctx, rows[world.rank], &partition));
  shape_with(lac_partition_rows(partition), 0, c->ndim, c->shape, shape);
  shape_with(lac_partition_rows(partition), 1, c->to_ndim, c->to, to);
  CHECK_OK(lac_array_partitioned(ctx, LAC_F64, c->ndim, shape, partition, c->axis, NULL, LAC_OWNERSHIP_COPY, &x));
  CHECK_FAILS(lac_array_reshape(ctx, x, c->to_ndim, to, &y), LAC_ERR_SHAPE, words);
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(lac_reshape(tape, lac_tape_leaf(tape, x), c->to_ndim, to).id == 0);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, words);
  CHECK(!y);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_partition_destroy(&partition);
}

static void sizes_of_one_beside_the_spread_axis_ask_for_a_mark_on_all_ranks(lac_context *ctx) {
  static const change changes[] = {{1, 0, {ROWS}, 2, 1, {1, ROWS}},
                                   {1, 0, {ROWS}, 2, 0, {ROWS, 1}},
                                   {2, 0, {ROWS, 6}, 3, 1, {1, ROWS, 6}},
                                   {3, 1, {2, ROWS, 3}, 4, 1, {2, ROWS, 1, 3}},
                                   {2, 0, {ROWS, 0}, 3, 0, {ROWS, 1, 0}}};

  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    for (int j = 0; j < DEALT; ++j) refuses(ctx, &changes[i], dealt[j], "write -1 for its size");
  }
}

/// Also on ranks without rows, where every count is 0.
static void lost_spread_axis_is_refused_on_all_ranks(lac_context *ctx) {
  static const change changes[] = {
      {2, 0, {ROWS, 6}, 2, 0, {SPREAD, 3}}, {2, 0, {ROWS, 6}, 2, 1, {6, SPREAD}}, {2, 0, {ROWS, 6}, 1, 0, {SPREAD}}};
  static const char *const words[] = {"reshape: ", "cannot keep axis 0", "reshape: "};

  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    for (int j = 0; j < DEALT; ++j) refuses(ctx, &changes[i], dealt[j], words[i]);
  }
}

static void two_marks_are_refused(lac_context *ctx) {
  refuses(ctx, &(change){1, 0, {ROWS}, 2, 0, {SPREAD, SPREAD}}, dealt[0], "is negative");
}

MPI_CHECK_MAIN(spread_axis_survives_by_itself, spread_axis_stands_where_it_is_marked,
               sizes_of_one_beside_the_spread_axis_ask_for_a_mark_on_all_ranks,
               lost_spread_axis_is_refused_on_all_ranks, two_marks_are_refused)
