// SPDX-License-Identifier: Apache-2.0
/// A loss through the tape has the same derivatives on any number of ranks as in one process.

#include "distributed/spread.h"

enum { VALUES, FIELD, WEIGHTS, SHIFT, LEAVES, WIDTH = 2 };

/// A loss of the matrix's values and a field, both spread over ranks, and of weights and a shift, both replicated:
///
///     y = (A x) * w      u = A^T y + b x      v = A conj(u)      loss = <u, u> + sum(sddmm(v, u) * a) + sum(v * y)
static lac_var loss_of(lac_tape *tape, const lac_pattern *p, const lac_var *leaf) {
  lac_var a = leaf[VALUES], x = leaf[FIELD];
  lac_var y = lac_mul(tape, lac_spmm(tape, p, a, x, LAC_PLAIN), leaf[WEIGHTS]);
  lac_var u = lac_add(tape, lac_spmm(tape, p, a, y, LAC_TRANSPOSED), lac_mul(tape, leaf[SHIFT], x));
  lac_var v = lac_spmm(tape, p, a, u, LAC_CONJUGATED);
  lac_var first = lac_dot(tape, u, u), second = lac_sum(tape, lac_mul(tape, lac_sddmm(tape, p, v, u), a));
  lac_var by_column = lac_sum_axes(tape, lac_mul(tape, v, y), LAC_AXES(-2), true);

  return lac_add(tape, lac_add(tape, first, second), lac_sum(tape, lac_mul(tape, by_column, leaf[WEIGHTS])));
}

static void leaves_random(const spread *s, lac_dtype dtype, uint64_t seed, twin *leaf) {
  const int64_t nnz = lac_pattern_nnz(s->whole), field[] = {s->n, WIDTH}, weights[] = {1, WIDTH}, shift[] = {1, 1};

  leaf[VALUES] = twin_random(s, dtype, 1, &nnz, lac_pattern_entries(s->pattern), 0, seed);
  leaf[FIELD] = twin_random(s, dtype, 2, field, s->cols, 0, seed + 1);
  leaf[WEIGHTS] = twin_random(s, dtype, 2, weights, NULL, -1, seed + 2);
  leaf[SHIFT] = twin_random(s, dtype, 2, shift, NULL, -1, seed + 3);
}

/// One computation, on ranks or in one process.
typedef struct form_of {
  lac_context *ctx;
  const lac_pattern *pattern;
  lac_tape *tape;
  lac_var leaf[LEAVES], direction[LEAVES], loss;
} form_of;

static void side_open(form_of *o, const twin *leaves, const twin *directions, int whole) {
  lac_context *ctx = o->ctx;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &o->tape));
  for (int i = 0; i < LEAVES; ++i) {
    o->leaf[i] = lac_tape_leaf(o->tape, whole ? leaves[i].whole : leaves[i].part);
    o->direction[i] = lac_tape_constant(o->tape, whole ? directions[i].whole : directions[i].part);
  }
  o->loss = loss_of(o->tape, o->pattern, o->leaf);
  CHECK_OK(lac_tape_status(o->tape));
}

/// What is compared: the gradient, J d, and the Hessian times d in two ways.
typedef struct derivatives {
  lac_var gradient[LEAVES], tangent, reverse_twice[LEAVES], forward_of_reverse[LEAVES];
} derivatives;

static void side_differentiate(form_of *o, derivatives *d) {
  lac_context *ctx = o->ctx;
  lac_tape *tape = o->tape;
  lac_var along = {0};

  CHECK_OK(lac_tape_vjp(tape, 1, &o->loss, NULL, LEAVES, o->leaf, d->gradient, LAC_GRAPH_CREATE));
  CHECK_OK(lac_tape_jvp(tape, LEAVES, o->leaf, o->direction, 1, &o->loss, &d->tangent, LAC_GRAPH_NONE));
  for (int i = 0; i < LEAVES; ++i) {
    lac_var term = lac_sum(tape, lac_mul(tape, d->gradient[i], o->direction[i]));

    along = i ? lac_add(tape, along, term) : term;
  }
  CHECK_OK(lac_tape_vjp(tape, 1, &along, NULL, LEAVES, o->leaf, d->reverse_twice, LAC_GRAPH_NONE));
  CHECK_OK(
      lac_tape_jvp(tape, LEAVES, o->leaf, o->direction, LEAVES, d->gradient, d->forward_of_reverse, LAC_GRAPH_NONE));
}

static void var_same(const form_of *part, lac_var p, const form_of *whole, lac_var w) {
  const lac_array *mine = lac_tape_value(part->tape, p), *all = lac_tape_value(whole->tape, w);

  CHECK(mine && all);
  CHECK_SAME(mine, all);
}

static void derivatives_agree(lac_context *ctx, int64_t m, int64_t n, deal rows, deal cols, lac_dtype dtype) {
  spread s = spread_create(ctx, m, n, 0.4, rows, cols, LAC_WIDTH_AUTO);
  form_of part = {.ctx = ctx, .pattern = s.pattern}, whole = {.ctx = s.serial, .pattern = s.whole};
  derivatives mine, all;
  twin leaf[LEAVES], direction[LEAVES];

  leaves_random(&s, dtype, 100, leaf);
  leaves_random(&s, dtype, 200, direction);
  side_open(&part, leaf, direction, 0);
  side_open(&whole, leaf, direction, 1);
  var_same(&part, part.loss, &whole, whole.loss);
  side_differentiate(&part, &mine);
  side_differentiate(&whole, &all);
  var_same(&part, mine.tangent, &whole, all.tangent);
  for (int i = 0; i < LEAVES; ++i) {
    var_same(&part, mine.gradient[i], &whole, all.gradient[i]);
    var_same(&part, mine.reverse_twice[i], &whole, all.reverse_twice[i]);
    var_same(&part, mine.forward_of_reverse[i], &whole, all.forward_of_reverse[i]);
    twin_destroy(&leaf[i]);
    twin_destroy(&direction[i]);
  }
  lac_tape_destroy(&part.tape);
  lac_tape_destroy(&whole.tape);
  spread_destroy(&s);
}

static void derivatives_agree_however_rows_are_dealt(lac_context *ctx) {
  for (deal rows = DEAL_EVEN; rows < DEALS; ++rows) {
    for (deal cols = DEAL_EVEN; cols < DEALS; ++cols) {
      derivatives_agree(ctx, 13, 17, rows, cols, LAC_F64);
      derivatives_agree(ctx, 13, 17, rows, cols, LAC_C128);
    }
  }
}

/// Ranks with one row or none: a size of 1 that is a part is not a size of 1 that broadcasts.
static void derivatives_agree_on_few_rows(lac_context *ctx) {
  static const int64_t shapes[][2] = {{4, 4}, {2, 3}, {3, 1}, {1, 4}, {1, 1}};

  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    derivatives_agree(ctx, shapes[i][0], shapes[i][1], DEAL_EVEN, DEAL_EVEN, LAC_C128);
    derivatives_agree(ctx, shapes[i][0], shapes[i][1], DEAL_EVEN, DEAL_LAST, LAC_F64);
  }
}

/// Gradient without a recorded graph: programs run on arrays.
static void plain_gradient_agrees(lac_context *ctx) {
  spread s = spread_create(ctx, 21, 18, 0.3, DEAL_EVEN, DEAL_SKEWED, LAC_WIDTH_AUTO);
  form_of part = {.ctx = ctx, .pattern = s.pattern}, whole = {.ctx = s.serial, .pattern = s.whole};
  lac_var mine[LEAVES], all[LEAVES];
  twin leaf[LEAVES];

  leaves_random(&s, LAC_C128, 300, leaf);
  side_open(&part, leaf, leaf, 0);
  side_open(&whole, leaf, leaf, 1);
  CHECK_OK(lac_tape_vjp(part.tape, 1, &part.loss, NULL, LEAVES, part.leaf, mine, LAC_GRAPH_NONE));
  CHECK(lac_tape_vjp(whole.tape, 1, &whole.loss, NULL, LEAVES, whole.leaf, all, LAC_GRAPH_NONE) == LAC_OK);
  for (int i = 0; i < LEAVES; ++i) {
    var_same(&part, mine[i], &whole, all[i]);
    twin_destroy(&leaf[i]);
  }
  lac_tape_destroy(&part.tape);
  lac_tape_destroy(&whole.tape);
  spread_destroy(&s);
}

// -- entries in the caller's order -----------------------------------------------------------------------------------

/// <A x, A x> with A = remap(entries): duplicates sum, and each gets the full cotangent.
static lac_var energy_of(lac_tape *tape, const lac_pattern *p, const lac_map *map, lac_var entries, lac_var x) {
  lac_var y = lac_spmm(tape, p, lac_remap(tape, map, entries, LAC_PLAIN), x, LAC_PLAIN);

  return lac_dot(tape, y, y);
}

/// Row i has entries in columns i + 1, i, i + 1 (mod n), in this order.
static void entries_may_be_unsorted_and_repeated(lac_context *ctx) {
  enum { N = 11 };
  spread s = spread_create(ctx, N, N, 0.1, DEAL_EVEN, DEAL_SKEWED, LAC_WIDTH_AUTO);
  lac_context *serial = s.serial;
  int64_t offsets[N + 1], columns[3 * N], count = 3 * N;
  const int64_t field[] = {N, WIDTH};
  lac_pattern *pattern = NULL, *whole = NULL;
  lac_map *map = NULL, *whole_map = NULL;
  lac_tape *tape = NULL, *whole_tape = NULL;
  lac_var in[2], bar[2], whole_in[2], whole_bar[2], energy, whole_energy;
  twin entries, x;

  for (int i = 0; i <= N; ++i) offsets[i] = 3 * i;
  for (int i = 0; i < N; ++i) columns[3 * i] = columns[3 * i + 2] = (i + 1) % N, columns[3 * i + 1] = i;
  CHECK_OK(lac_pattern_distributed(ctx, s.rows, s.cols, LAC_I64, offsets, columns + 3 * lac_partition_begin(s.rows),
                                   LAC_WIDTH_AUTO, &pattern, &map));
  CHECK(lac_pattern_from_csr(serial, N, N, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &whole, &whole_map) == LAC_OK);
  entries = twin_random(&s, LAC_F64, 1, &count, lac_map_entries(map), 0, 1);
  x = twin_random(&s, LAC_F64, 2, field, s.cols, 0, 2);
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(lac_tape_create(serial, LAC_TAPE_RECORD, &whole_tape) == LAC_OK);
  in[0] = lac_tape_leaf(tape, entries.part), in[1] = lac_tape_leaf(tape, x.part);
  whole_in[0] = lac_tape_leaf(whole_tape, entries.whole), whole_in[1] = lac_tape_leaf(whole_tape, x.whole);
  energy = energy_of(tape, pattern, map, in[0], in[1]);
  whole_energy = energy_of(whole_tape, whole, whole_map, whole_in[0], whole_in[1]);
  CHECK_OK(lac_tape_vjp(tape, 1, &energy, NULL, 2, in, bar, LAC_GRAPH_NONE));
  CHECK(lac_tape_vjp(whole_tape, 1, &whole_energy, NULL, 2, whole_in, whole_bar, LAC_GRAPH_NONE) == LAC_OK);
  for (int i = 0; i < 2; ++i) CHECK_SAME(lac_tape_value(tape, bar[i]), lac_tape_value(whole_tape, whole_bar[i]));
  lac_tape_destroy(&tape);
  lac_tape_destroy(&whole_tape);
  twin_destroy(&entries);
  twin_destroy(&x);
  lac_map_destroy(&map);
  lac_map_destroy(&whole_map);
  lac_pattern_destroy(&pattern);
  lac_pattern_destroy(&whole);
  spread_destroy(&s);
}

// -- samples spread over ranks ---------------------------------------------------------------------------------------

/// One matrix for all samples: the gradient of its values is the sum over the samples of all ranks.
static lac_var samples_loss(lac_tape *tape, const lac_pattern *p, lac_var a, lac_var x) {
  lac_var y = lac_spmm(tape, p, a, x, LAC_PLAIN);

  return lac_sum(tape, lac_dot(tape, y, lac_mul(tape, y, y)));
}

static void samples_agree(lac_context *ctx, lac_graph_mode mode) {
  spread s = spread_create(ctx, 5, 6, 0.4, DEAL_EVEN, DEAL_EVEN, LAC_WIDTH_AUTO);
  const int64_t nnz = lac_pattern_nnz(s.whole), shape[] = {5, 6, WIDTH};
  twin a = twin_random(&s, LAC_F64, 1, &nnz, NULL, -1, 1), x = twin_random(&s, LAC_F64, 3, shape, s.rows, 0, 2);
  lac_tape *tape = NULL, *whole_tape = NULL;
  lac_var in[2], bar[2], whole_in[2], whole_bar[2], loss, whole_loss;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(lac_tape_create(s.serial, LAC_TAPE_RECORD, &whole_tape) == LAC_OK);
  in[0] = lac_tape_leaf(tape, a.part), in[1] = lac_tape_leaf(tape, x.part);
  whole_in[0] = lac_tape_leaf(whole_tape, a.whole), whole_in[1] = lac_tape_leaf(whole_tape, x.whole);
  loss = samples_loss(tape, s.whole, in[0], in[1]);
  whole_loss = samples_loss(whole_tape, s.whole, whole_in[0], whole_in[1]);
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(lac_tape_vjp(tape, 1, &loss, NULL, 2, in, bar, mode));
  CHECK(lac_tape_vjp(whole_tape, 1, &whole_loss, NULL, 2, whole_in, whole_bar, mode) == LAC_OK);
  for (int i = 0; i < 2; ++i) CHECK_SAME(lac_tape_value(tape, bar[i]), lac_tape_value(whole_tape, whole_bar[i]));
  lac_tape_destroy(&tape);
  lac_tape_destroy(&whole_tape);
  twin_destroy(&a);
  twin_destroy(&x);
  spread_destroy(&s);
}

static void samples_may_be_spread_over_ranks(lac_context *ctx) {
  samples_agree(ctx, LAC_GRAPH_NONE);
  samples_agree(ctx, LAC_GRAPH_CREATE);
}

/// z = x + w with x spread and w replicated: the tangent of w alone is spread like z, also where this rank has one row
/// of it.
static void tangent_of_a_replicated_term_is_spread(lac_context *ctx) {
  spread s = spread_create(ctx, 1, world.size, 0.4, DEAL_EVEN, DEAL_EVEN, LAC_WIDTH_AUTO);
  const int64_t shape[] = {world.size, WIDTH}, row[] = {1, WIDTH};
  twin x = twin_random(&s, LAC_F64, 2, shape, s.cols, 0, 1), w = twin_random(&s, LAC_F64, 2, row, NULL, -1, 2);
  lac_tape *tape = NULL;
  lac_var weights, sum, tangent;
  const double *mine, *all = lac_array_data(w.whole);

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  weights = lac_tape_leaf(tape, w.part);
  sum = lac_add(tape, lac_tape_leaf(tape, x.part), weights);
  CHECK_OK(lac_tape_jvp(tape, 1, &weights, &weights, 1, &sum, &tangent, LAC_GRAPH_NONE));
  CHECK(lac_tape_meta(tape, tangent)->partition == s.cols && lac_tape_meta(tape, tangent)->shape[0] == 1);
  mine = lac_array_data(lac_tape_value(tape, tangent));
  for (int k = 0; k < WIDTH; ++k) CHECK(mine[k] == all[k]);
  lac_tape_destroy(&tape);
  twin_destroy(&x);
  twin_destroy(&w);
  spread_destroy(&s);
}

MPI_CHECK_MAIN(derivatives_agree_however_rows_are_dealt, derivatives_agree_on_few_rows, plain_gradient_agrees,
               entries_may_be_unsorted_and_repeated, samples_may_be_spread_over_ranks,
               tangent_of_a_replicated_term_is_spread)
