// SPDX-License-Identifier: Apache-2.0
/// The operator remap, and what is made of it: transpose, triangle, submatrix, diagonal, to_dense, coalesce, gather and
/// scatter_add of rows, spadd.

#include <limits.h>

#include "core/pattern/pattern_impl.h"
#include "support/op_case.h"
#include "support/scratch.h"

/// What a map is made for: i[1] of a case.
typedef enum kind { TRANSPOSE, LOWER, SUBMATRIX, DIAGONAL, DENSE, COALESCE, FIXED, PLAIN } kind;

enum { TWICE = 3 };  // COALESCE: this many entries are given a second time, in front

/// Entry e of the coordinates that COALESCE is built from, as a slot.
static int64_t coalesced(const sketch *s, int64_t e) { return e < TWICE ? s->nnz - 1 - e : e - TWICE; }

static int64_t map_inputs(const op_case *c) { return c->patterns[0]->nnz + (c->i[1] == COALESCE ? TWICE : 0); }

/// Where input e goes, by coordinates alone; -1: nowhere.
static int64_t map_target(const op_case *c, int64_t e) {
  const sketch *s = c->patterns[0];
  int64_t i = s->nnz ? s->row[c->i[1] == COALESCE ? coalesced(s, e) : e] : 0;
  int64_t j = s->nnz ? s->col[c->i[1] == COALESCE ? coalesced(s, e) : e] : 0;
  switch ((kind)c->i[1]) {
    case TRANSPOSE:
      return sketch_find(c->data, j, i);
    case LOWER:
      return j <= i ? sketch_find(c->data, i, j) : -1;
    case SUBMATRIX:
    case FIXED:
      return i >= 1 && j < s->cols - 1 ? sketch_find(c->data, i - 1, j) : -1;
    case DIAGONAL:
      return i == j ? i : -1;
    case DENSE:
      return i * s->cols + j;
    case COALESCE:
      return coalesced(s, e);
    case PLAIN:
      return e % 3 - 1;
  }
  return -1;
}

/// A map of the caller's own, in the integers of the width; lac_map_create takes the narrowest.
static lac_status plain_make(const op_setup *setup, const int64_t *target, lac_map **out) {
  int64_t inputs = map_inputs(setup->c);
  lac_buffer *buffer = NULL;
  if (setup->width == LAC_WIDTH_32_32) return lac_map_create(setup->ctx, inputs, 4, target, out);
  lac_status status = lac_buffer_create(setup->ctx, LAC_I64, inputs, &buffer);
  for (int64_t e = 0; e < inputs && status == LAC_OK; ++e) lac_buffer_set(buffer, e, target[e]);
  if (status == LAC_OK) status = lac_map_adopt(setup->ctx, 4, &buffer, out);
  lac_object_release(buffer);
  return status;
}

static lac_status map_make(const op_setup *setup, lac_array *const *in, const void **out) {
  (void)in;
  const op_case *c = setup->c;
  const lac_pattern *p = setup->patterns[0];
  lac_context *ctx = setup->ctx;
  const sketch *s = c->patterns[0];
  lac_map *map = NULL;
  lac_pattern *made = NULL;
  lac_status status = LAC_OK;
  int64_t inputs = map_inputs(c), *row = scratch((size_t)inputs * 8), *col = scratch((size_t)inputs * 8);

  for (int64_t e = 0; e < inputs && c->i[1] == COALESCE; ++e)
    row[e] = s->row[coalesced(s, e)], col[e] = s->col[coalesced(s, e)];
  for (int64_t e = 0; e < inputs && c->i[1] == FIXED; ++e)
    row[e] = s->row[e] - 1, col[e] = s->col[e] < s->cols - 1 ? s->col[e] : -1;
  for (int64_t e = 0; e < inputs && c->i[1] == PLAIN; ++e) row[e] = map_target(c, e);
  switch ((kind)c->i[1]) {
    case TRANSPOSE:
      status = lac_pattern_transpose(ctx, p, &made, &map);
      break;
    case LOWER:
      status = lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, &made, &map);
      break;
    case SUBMATRIX:
      status = lac_pattern_submatrix(ctx, p, 1, s->rows, 0, s->cols - 1, &made, &map);
      break;
    case DIAGONAL:
      status = lac_pattern_diagonal(ctx, p, &map);
      break;
    case DENSE:
      status = lac_pattern_dense(ctx, p, &map);
      break;
    case COALESCE:
      status = lac_pattern_from_coo(ctx, s->rows, s->cols, inputs, LAC_I64, row, col, setup->width, &made, &map);
      break;
    case FIXED:
      status =
          lac_pattern_from_coo(ctx, s->rows - 1, s->cols - 1, inputs, LAC_I64, row, col, setup->width, &made, &map);
      break;
    case PLAIN:
      status = plain_make(setup, row, &map);
      break;
  }
  lac_pattern_destroy(&made);
  if (map) CHECK_EQ(map->target->type, lac_width_offsets(setup->width));  // every width runs on integers of its own
  *out = map;
  return status;
}

static void remap_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_remap(tape, setup->object, in[0], (lac_form)setup->c->i[0]);
}

static void remap_dense(const op_case *c, const ref *in, ref *out) {
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *x = walk_item(&w, in, 1);
    number *y = walk_item(&w, out, 1);
    for (int64_t e = 0; e < map_inputs(c); ++e) {
      int64_t target = map_target(c, e);
      if (target < 0) continue;
      if (c->i[0] == LAC_PLAIN) y[target] += x[e];
      if (c->i[0] == LAC_TRANSPOSED) y[e] = x[target];
    }
  }
}

/// Both forms of one map, `outputs` long.
static void check_map(lac_context *ctx, const sketch *s, kind k, const sketch *made, int64_t outputs,
                      const char *batch) {
  op_case c = {
      .op = "remap", .patterns = {s}, .data = made, .object = map_make, .apply = remap_apply, .dense = remap_dense};
  const char *from = NULL, *to = op_text("%s%lld", batch, (long long)outputs);
  c.i[1] = k, c.degree[0] = 1, c.fixed[0] = 1;
  from = op_text("%s%lld", batch, (long long)map_inputs(&c));
  c.i[0] = LAC_PLAIN, c.shapes[0] = from, c.result[0] = to;
  check_op(ctx, &c);
  c.i[0] = LAC_TRANSPOSED, c.shapes[0] = to, c.result[0] = from;
  check_op(ctx, &c);
}

static void remap_transposes(lac_context *ctx) {
  const sketch *s = sketch_random(5, 4, 0.5, 1), *symmetric = sketch_symmetric(4, 0.4, 2);
  check_map(ctx, s, TRANSPOSE, sketch_transpose(s), s->nnz, "");
  check_map(ctx, symmetric, TRANSPOSE, symmetric, symmetric->nnz, "");
}

static const sketch *cut(const sketch *s, int64_t row0, int64_t rows, int64_t cols, int lower) {
  sketch *out = scratch(sizeof *out);
  *out = (sketch){rows, cols, 0, scratch((size_t)s->nnz * 8), scratch((size_t)s->nnz * 8)};
  for (int64_t z = 0; z < s->nnz; ++z) {
    int64_t i = s->row[z] - row0, j = s->col[z];
    if (i < 0 || i >= rows || j >= cols || (lower && j > i)) continue;
    out->row[out->nnz] = i, out->col[out->nnz++] = j;
  }
  return out;
}

static void remap_takes_triangles_and_submatrices(lac_context *ctx) {
  const sketch *s = sketch_random(5, 6, 0.5, 3);
  const sketch *lower = cut(s, 0, 5, 6, 1), *part = cut(s, 1, 4, 5, 0);
  check_map(ctx, s, LOWER, lower, lower->nnz, "");
  check_map(ctx, s, SUBMATRIX, part, part->nnz, "2,");
}

static void remap_takes_diagonals_and_dense_matrices(lac_context *ctx) {
  const sketch *s = sketch_random(5, 4, 0.5, 4);
  check_map(ctx, s, DIAGONAL, NULL, 4, "");
  check_map(ctx, s, DENSE, NULL, 20, "2,");
}

static void remap_gives_duplicates_the_full_cotangent(lac_context *ctx) {
  const sketch *s = sketch_random(4, 4, 0.5, 5);
  check_map(ctx, s, COALESCE, NULL, s->nnz, "");
  check_map(ctx, s, COALESCE, NULL, s->nnz, "2,3,");
}

/// The first row and the last column are fixed: their numbers go nowhere, and their cotangents are 0.
static void remap_drops_entries_of_fixed_rows_and_columns(lac_context *ctx) {
  const sketch *s = sketch_random(5, 6, 0.5, 3), *part = cut(s, 1, 4, 5, 0);
  CHECK(part->nnz > 0 && part->nnz < s->nnz);
  check_map(ctx, s, FIXED, part, part->nnz, "");
  check_map(ctx, s, FIXED, part, part->nnz, "2,3,");
}

static void remap_takes_maps_that_collide_and_drop(lac_context *ctx) {
  check_map(ctx, sketch_random(4, 4, 0.5, 6), PLAIN, NULL, 4, "2,");
}

static void remap_takes_what_is_empty(lac_context *ctx) {
  const sketch *none = sketch_empty(3, 2);
  check_map(ctx, none, TRANSPOSE, sketch_empty(2, 3), 0, "");
  check_map(ctx, none, DIAGONAL, NULL, 2, "");
  check_map(ctx, none, DENSE, NULL, 6, "2,");
  check_map(ctx, sketch_random(4, 4, 0.5, 6), PLAIN, NULL, 4, "0,");
}

static void remap_does_not_depend_on_threads(lac_context *ctx) {
  const sketch *s = sketch_random(900, 1100, 0.03, 7);
  op_case c = {.op = "remap", .patterns = {s}, .object = map_make, .apply = remap_apply};
  c.shapes[0] = "2,nnz", c.result[0] = "2,nnz", c.i[1] = TRANSPOSE;
  check_op_large(ctx, &c);
  c.i[1] = PLAIN, c.result[0] = "2,4";
  check_op_large(ctx, &c);
}

/// Entries that are blocks: i[2] axes behind theirs, `rest` numbers in all.
static void blocks_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const op_case *c = setup->c;
  lac_form form = (lac_form)c->i[0];
  if (c->i[2] == 1) {
    out[0] = form == LAC_PLAIN ? lac_scatter_add(tape, setup->object, in[0]) : lac_gather(tape, setup->object, in[0]);
  } else {
    out[0] = lac_remap_blocks(tape, setup->object, in[0], form, (int)c->i[2]);
  }
}

static void blocks_dense(const op_case *c, const ref *in, ref *out) {
  int core = 1 + (int)c->i[2];
  int64_t k = 1;
  for (int d = 1; d < core; ++d) k *= out[0].meta.shape[out[0].meta.ndim - d];
  for (walk w = walk_batch(out, core); walk_next(&w);) {
    const number *x = walk_item(&w, in, core);
    number *y = walk_item(&w, out, core);
    for (int64_t e = 0; e < map_inputs(c) * k; ++e) {
      int64_t target = map_target(c, e / k);
      if (target < 0) continue;
      if (c->i[0] == LAC_PLAIN) y[target * k + e % k] += x[e];
      if (c->i[0] == LAC_TRANSPOSED) y[e] = x[target * k + e % k];
    }
  }
}

static void check_blocks(lac_context *ctx, const sketch *s, kind k, const sketch *made, int64_t outputs,
                         const char *batch, const char *block, int axes) {
  op_case c = {.op = "remap", .patterns = {s}, .data = made, .i = {LAC_PLAIN, k, axes}, .degree = {1}};
  const char *to = op_text("%s%lld%s", batch, (long long)outputs, block), *from = NULL;
  c.object = map_make, c.apply = blocks_apply, c.dense = blocks_dense, c.fixed[0] = 1u << axes;
  from = op_text("%s%lld%s", batch, (long long)map_inputs(&c), block);
  c.shapes[0] = from, c.result[0] = to;
  check_op(ctx, &c);
  c.i[0] = LAC_TRANSPOSED, c.shapes[0] = to, c.result[0] = from;
  check_op(ctx, &c);
}

static void gather_and_scatter_add_move_rows(lac_context *ctx) {
  const sketch *s = sketch_random(4, 4, 0.5, 6);
  check_blocks(ctx, s, PLAIN, NULL, 4, "", ",3", 1);
  check_blocks(ctx, s, PLAIN, NULL, 4, "2,", ",1", 1);
  check_blocks(ctx, s, PLAIN, NULL, 4, "2,", ",0", 1);
  check_blocks(ctx, sketch_random(2, 2, 0.9, 6), PLAIN, NULL, 4, "", ",66", 1);
}

static void remap_moves_blocks(lac_context *ctx) {
  const sketch *s = sketch_random(5, 4, 0.5, 1);
  check_blocks(ctx, s, TRANSPOSE, sketch_transpose(s), s->nnz, "", ",2,3", 2);
  check_blocks(ctx, s, DIAGONAL, NULL, 4, "2,", ",2,2", 2);
  check_blocks(ctx, s, FIXED, cut(s, 1, 4, 3, 0), cut(s, 1, 4, 3, 0)->nnz, "2,", ",2,2", 2);
  check_blocks(ctx, sketch_empty(3, 2), DIAGONAL, NULL, 2, "", ",2,2", 2);
}

static void remap_refuses_blocks_that_are_not_there(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_array *x = NULL;
  lac_map *map = NULL;
  CHECK_OK(lac_map_create(ctx, 2, 3, (int64_t[]){2, 0}, &map));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){3}, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_gather(tape, map, lac_tape_leaf(tape, x)).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "at least 2 dimensions");
  lac_tape_clear(tape);
  CHECK(!lac_remap_blocks(tape, map, lac_tape_leaf(tape, x), LAC_PLAIN, -1).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "blocks of -1 axes");
  lac_tape_clear(tape);
  CHECK(!lac_remap_blocks(tape, map, lac_tape_leaf(tape, x), LAC_PLAIN, INT_MAX).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "blocks of 2147483647 axes need at least 2147483648");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_map_destroy(&map);
}

static void rows_do_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "remap", .patterns = {sketch_random(90, 110, 0.1, 7)}, .i = {LAC_PLAIN, PLAIN, 1}};
  c.object = map_make, c.apply = blocks_apply;
  c.shapes[0] = "nnz,90", c.result[0] = "4,90";
  check_op_large(ctx, &c);
  c.i[0] = LAC_TRANSPOSED, c.shapes[0] = "4,90", c.result[0] = "nnz,90";
  check_op_large(ctx, &c);
}

static void spadd_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_spadd(tape, setup->patterns[0], in[0], setup->patterns[1], in[1], NULL);
}

static void spadd_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *both = c->data;
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    number *y = walk_item(&w, out, 1);
    for (int o = 0; o < 2; ++o) {
      const sketch *s = c->patterns[o];
      const number *x = walk_item(&w, &in[o], 1);
      for (int64_t z = 0; z < s->nnz; ++z) y[sketch_find(both, s->row[z], s->col[z])] += x[z];
    }
  }
}

static void check_spadd(lac_context *ctx, const sketch *a, const sketch *b, const char *batch_a, const char *batch_b,
                        const char *batch) {
  sketch *both = scratch(sizeof *both);
  *both = (sketch){a->rows, a->cols, 0, scratch((size_t)(a->nnz + b->nnz) * 8), scratch((size_t)(a->nnz + b->nnz) * 8)};
  for (int64_t i = 0; i < a->rows; ++i) {
    for (int64_t j = 0; j < a->cols; ++j) {
      if (sketch_find(a, i, j) < 0 && sketch_find(b, i, j) < 0) continue;
      both->row[both->nnz] = i, both->col[both->nnz++] = j;
    }
  }
  op_case c = {.op = "remap", .patterns = {a, b}, .data = both, .apply = spadd_apply, .dense = spadd_dense};
  if (a == b) c.op = "add";  // both maps are the identity, and cost nothing
  c.shapes[0] = op_text("%snnz", batch_a), c.shapes[1] = op_text("%snnz1", batch_b);
  c.result[0] = op_text("%s%lld", batch, (long long)both->nnz);
  c.takes_absent = 1;
  check_op(ctx, &c);
}

static void spadd_adds_on_the_union(lac_context *ctx) {
  const sketch *a = sketch_random(4, 5, 0.4, 8), *b = sketch_random(4, 5, 0.4, 9);
  check_spadd(ctx, a, b, "", "", "");
  check_spadd(ctx, a, a, "", "", "");
  check_spadd(ctx, a, b, "2,", "", "2,");
  check_spadd(ctx, a, b, "2,1,", "3,", "2,3,");
  check_spadd(ctx, a, sketch_empty(4, 5), "", "", "");
}

/// Forward: y. Gradient: y and x_bar. The pattern keeps both maps, so the measured pass has them on the device already.
static void remap_takes_its_results_alone(lac_context *ctx) {
  op_case c = {
      .op = "remap", .patterns = {sketch_random(900, 1100, 0.03, 7)}, .object = map_make, .apply = remap_apply};
  int64_t x = 8 * c.patterns[0]->nnz, diagonal = 8 * 900;
  c.shapes[0] = "nnz", c.result[0] = "nnz", c.i[1] = TRANSPOSE;
  check_op_peak(ctx, &c, LAC_F64, x, 2 * x);
  c.result[0] = "900", c.i[1] = DIAGONAL;
  check_op_peak(ctx, &c, LAC_F64, diagonal, diagonal + x);
}

/// Of equal patterns both maps are the identity, and yet the values must be those of the entries.
static void spadd_refuses_values_of_another_count(lac_context *ctx) {
  static const int64_t counts[] = {1, 2, 4};
  lac_pattern *p = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_pattern_eye(ctx, 3, 3, 0, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    lac_array *x = NULL;
    CHECK_OK(lac_array_create(ctx, LAC_F64, 1, &counts[i], &x));
    lac_var v = lac_tape_constant(tape, x);
    CHECK(!lac_spadd(tape, p, v, p, v, NULL).id);
    CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "of matrix 0 must be 3");
    lac_tape_clear(tape);
    lac_array_destroy(&x);
  }
  lac_tape_destroy(&tape);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(remap_transposes, remap_takes_triangles_and_submatrices, remap_takes_diagonals_and_dense_matrices,
           remap_gives_duplicates_the_full_cotangent, remap_drops_entries_of_fixed_rows_and_columns,
           remap_takes_maps_that_collide_and_drop, remap_takes_what_is_empty, remap_does_not_depend_on_threads,
           gather_and_scatter_add_move_rows, remap_moves_blocks, remap_refuses_blocks_that_are_not_there,
           rows_do_not_depend_on_threads, spadd_adds_on_the_union, remap_takes_its_results_alone,
           spadd_refuses_values_of_another_count)
