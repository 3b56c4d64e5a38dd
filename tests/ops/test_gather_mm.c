// SPDX-License-Identifier: Apache-2.0
/// The operator gather_mm: its values, its refusals, its derivatives; segment_mm, which is made of it.

#include "support/groups.h"

#define FORM(c) ((lac_form)(c)->i[0])

/// i[1], i[2]: the sizes of a matrix. The map has an input for each slot of the pattern.
static void mm_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_gather_mm(tape, setup->object, in[0], in[1], FORM(setup->c));
}

static void mm_dense(const op_case *c, const ref *in, ref *out) {
  int64_t d = c->i[1], e = c->i[2];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    number *a = walk_item(&w, &in[0], 2), *b = walk_item(&w, &in[1], 3), *y = walk_item(&w, out, 2);
    for (int64_t i = 0; i < c->patterns[0]->nnz; ++i) {
      if (group_of(c, i) < 0) continue;
      dense m = dense_side(dense_over(d, e, b + group_of(c, i) * d * e), FORM(c));
      dense_copy_to(dense_mul(dense_over(1, m.rows, a + i * m.rows), m), y + i * m.cols);
    }
  }
}

typedef struct sizes {
  int64_t d, e;
} sizes;

static op_case mm_case(const sketch *s, group_kind kind, lac_form form, sizes size, const char *a, const char *b,
                       const char *y) {
  op_case c = {.op = "gather_mm", .patterns = {s}, .apply = mm_apply, .dense = mm_dense, .object = group_map};
  long long d = (long long)size.d, e = (long long)size.e;
  int turned = form == LAC_TRANSPOSED || form == LAC_ADJOINT;
  c.i[0] = form, c.i[1] = size.d, c.i[2] = size.e, c.i[5] = kind;
  c.shapes[0] = op_text("%snnz,%lld", a, turned ? e : d);
  c.shapes[1] = op_text("%s%lld,%lld,%lld", b, (long long)group_count(&c), d, e);
  c.result[0] = op_text("%snnz,%lld", y, turned ? d : e);
  c.degree[0] = c.degree[1] = 1, c.fixed[0] = 3, c.fixed[1] = 4;
  return c;
}

static void check_mm(lac_context *ctx, const sketch *s, group_kind kind, lac_form form, sizes size, const char *a,
                     const char *b, const char *y) {
  op_case c = mm_case(s, kind, form, size, a, b, y);
  check_op(ctx, &c);
}

static void gather_mm_differentiates_on_every_side(lac_context *ctx) {
  const sketch *s = sketch_random(4, 3, 0.8, 1);
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) {
    check_mm(ctx, s, BY_ROW, (lac_form)form, (sizes){2, 3}, "", "", "");
    check_mm(ctx, s, MIXED, (lac_form)form, (sizes){3, 1}, "", "", "");
  }
  check_mm(ctx, s, BY_COL, LAC_PLAIN, (sizes){1, 2}, "", "", "");
}

static void gather_mm_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_random(3, 3, 0.7, 2);
  check_mm(ctx, s, BY_COL, LAC_PLAIN, (sizes){2, 2}, "2,", "", "2,");
  check_mm(ctx, s, BY_ROW, LAC_ADJOINT, (sizes){2, 2}, "", "2,", "2,");
  check_mm(ctx, s, MIXED, LAC_TRANSPOSED, (sizes){1, 2}, "2,1,", "2,", "2,2,");
}

static void gather_mm_takes_what_is_empty(lac_context *ctx) {
  check_mm(ctx, sketch_empty(3, 4), BY_ROW, LAC_PLAIN, (sizes){2, 3}, "", "", "");
  check_mm(ctx, sketch_random(3, 3, 0.5, 3), BY_ROW, LAC_PLAIN, (sizes){0, 3}, "", "", "");
  check_mm(ctx, sketch_random(3, 3, 0.5, 3), BY_ROW, LAC_TRANSPOSED, (sizes){0, 3}, "", "", "");
  check_mm(ctx, sketch_random(3, 3, 0.5, 3), BY_ROW, LAC_PLAIN, (sizes){2, 3}, "0,", "", "0,");
}

static void wide_matrices_are_cut_into_tiles(lac_context *ctx) {
  op_case c = mm_case(sketch_random(3, 5, 0.8, 4), BY_ROW, LAC_PLAIN, (sizes){2, 19}, "", "", "");
  c.skip = OP_SECOND | OP_MEMORY;
  check_op(ctx, &c);
  c = mm_case(sketch_random(3, 5, 0.8, 4), BY_COL, LAC_ADJOINT, (sizes){2, 19}, "", "", "");
  c.skip = OP_SECOND | OP_MEMORY;
  check_op(ctx, &c);
}

static void gather_mm_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = mm_case(sketch_random(90, 110, 0.1, 7), BY_COL, LAC_PLAIN, (sizes){9, 21}, "", "", "");
  check_op_large(ctx, &c);
  c = mm_case(sketch_random(3, 300, 0.9, 7), BY_ROW, LAC_ADJOINT, (sizes){9, 21}, "", "", "");
  check_op_large(ctx, &c);
}

// -- segments --------------------------------------------------------------------------------------------------------

static lac_status segment_mm_once(lac_context *ctx, int64_t r, const int64_t *lengths, double *y) {
  lac_tape *tape = NULL;
  lac_array *a = NULL, *b = NULL;
  double rows[] = {1, 2, 3}, matrices[] = {10, 20, 30};
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (const int64_t[]){3, 1}, rows, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 3, (const int64_t[]){r, 1, 1}, matrices, LAC_OWNERSHIP_COPY, &b));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var out = lac_segment_mm(tape, lac_tape_leaf(tape, a), lac_tape_leaf(tape, b), r, lengths);
  lac_status status = lac_tape_status(tape);
  if (status == LAC_OK) CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, out), y));
  lac_tape_destroy(&tape);
  lac_array_destroy(&a), lac_array_destroy(&b);
  return status;
}

static void segments_follow_each_other_and_add_up(lac_context *ctx) {
  if (!check_claimed("gather_mm")) return;
  double y[3];
  CHECK_OK(segment_mm_once(ctx, 3, (const int64_t[]){2, 0, 1}, y));
  CHECK(y[0] == 10 && y[1] == 20 && y[2] == 90);
  CHECK_FAILS(segment_mm_once(ctx, 2, (const int64_t[]){1, 1}, y), LAC_ERR_SHAPE, "add up to 2 and a has 3 rows");
  CHECK_FAILS(segment_mm_once(ctx, 2, (const int64_t[]){1, 3}, y), LAC_ERR_SHAPE, "lengths[1] = 3");
  CHECK_FAILS(segment_mm_once(ctx, 2, (const int64_t[]){4, -1}, y), LAC_ERR_SHAPE, "lengths[0] = 4");
  CHECK_FAILS(segment_mm_once(ctx, 2, NULL, y), LAC_ERR_ARG, "r = 2 lengths at NULL; give a list");
}

CHECK_MAIN(gather_mm_differentiates_on_every_side, gather_mm_broadcasts_batches_both_ways,
           gather_mm_takes_what_is_empty, wide_matrices_are_cut_into_tiles, gather_mm_does_not_depend_on_threads,
           segments_follow_each_other_and_add_up)
