// SPDX-License-Identifier: Apache-2.0
/// The operator sell_mm: its values, its refusals, its derivatives.

#include <math.h>

#include "support/op_case.h"
#include "support/scratch.h"

/// i[0], i[1]: slice and window.
static lac_status sell_object(const op_setup *setup, lac_array *const *in, const void **out) {
  lac_format *f = NULL;
  (void)in;
  lac_status status = lac_format_sell(setup->ctx, setup->patterns[0], setup->c->i[0], setup->c->i[1], &f);
  *out = f;
  return status;
}

static void sell_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_sell_mm(tape, setup->object, in[0], in[1]);
}

/// The storage, by hand: where each slot of the sketch stands, windows sorted by selection.
typedef struct layout {
  int64_t size, *at;
} layout;

static layout layout_of(const sketch *s, int64_t slice, int64_t window) {
  int64_t *length = scratch((size_t)s->rows * 8), *order = scratch((size_t)s->rows * 8);
  layout out = {0, scratch((size_t)s->nnz * 8)};
  for (int64_t z = 0; z < s->nnz; ++z) ++length[s->row[z]];
  for (int64_t i = 0; i < s->rows; ++i) order[i] = i;
  for (int64_t i = 0; i < s->rows; ++i) {
    int64_t best = i, end = i / window * window + window;
    for (int64_t j = i; j < s->rows && j < end; ++j) best = length[order[j]] > length[order[best]] ? j : best;
    int64_t row = order[best];
    for (int64_t j = best; j > i; --j) order[j] = order[j - 1];
    order[i] = row;
  }
  for (int64_t first = 0; first < s->rows; first += slice) {
    int64_t longest = 0;
    for (int64_t i = first; i < first + slice && i < s->rows; ++i) {
      int64_t j = 0;
      for (int64_t z = 0; z < s->nnz; ++z) {
        if (s->row[z] == order[i]) out.at[z] = out.size + j++ * slice + i - first;
      }
      if (length[order[i]] > longest) longest = length[order[i]];
    }
    out.size += longest * slice;
  }
  return out;
}

static void sell_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[0];
  layout l = layout_of(s, c->i[0], c->i[1]);
  number *values = scratch((size_t)s->nnz * sizeof *values);
  int64_t k = in[1].meta.shape[in[1].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    const number *a = walk_item(&w, &in[0], 1);
    for (int64_t z = 0; z < s->nnz; ++z) values[z] = a[l.at[z]];
    dense product = dense_mul(dense_matrix(s, values), dense_over(s->cols, k, walk_item(&w, &in[1], 2)));
    dense_copy_to(product, walk_item(&w, out, 2));
  }
}

static op_case sell_case(const sketch *s, int64_t slice, int64_t window, const char *batch_a, const char *batch_x,
                         const char *batch_y, int k) {
  op_case c = {.op = "sell_mm",
               .patterns = {s},
               .shapes = {op_text("%s%d", batch_a, (int)layout_of(s, slice, window).size),
                          op_text("%s%d,%d", batch_x, (int)s->cols, k)},
               .result = {op_text("%s%d,%d", batch_y, (int)s->rows, k)},
               .i = {slice, window},
               .object = sell_object,
               .apply = sell_apply,
               .dense = sell_dense,
               .degree = {1, 1},
               .fixed = {1, 2}};
  return c;
}

static void check_sell(lac_context *ctx, const sketch *s, int64_t slice, int64_t window, int k) {
  op_case c = sell_case(s, slice, window, "", "", "", k);
  check_op(ctx, &c);
}

static void sell_mm_differentiates(lac_context *ctx) {
  check_sell(ctx, sketch_random(5, 4, 0.4, 1), 2, 1, 1);
  check_sell(ctx, sketch_random(5, 4, 0.4, 1), 3, 5, 2);
  check_sell(ctx, sketch_random(9, 3, 0.6, 2), 8, 4, 1);
}

static void sell_mm_broadcasts_batches_both_ways(lac_context *ctx) {
  const sketch *s = sketch_random(4, 3, 0.5, 2);
  op_case c[] = {sell_case(s, 3, 2, "", "3,", "3,", 1), sell_case(s, 3, 2, "2,1,", "3,", "2,3,", 2)};
  for (int i = 0; i < 2; ++i) check_op(ctx, &c[i]);
}

static void sell_mm_takes_what_is_empty(lac_context *ctx) {
  check_sell(ctx, sketch_empty(4, 3), 2, 1, 2);
  check_sell(ctx, sketch_empty(0, 3), 8, 1, 1);
  check_sell(ctx, sketch_random(4, 3, 0.5, 4), 2, 2, 0);
}

static void sell_mm_does_not_depend_on_threads(lac_context *ctx) {
  const sketch *s = sketch_random(900, 1100, 0.03, 7);
  op_case c[] = {sell_case(s, 8, 64, "", "", "", 1), sell_case(s, 8, 64, "", "", "", 3),
                 sell_case(s, 12, 1, "", "", "", 1)};
  for (int i = 0; i < 3; ++i) check_op_large(ctx, &c[i]);
}

/// The result; then both gradients and, one at a time, the values by slots: none for each item of the batch.
static void sell_mm_keeps_no_array_for_each_item(lac_context *ctx) {
  if (!check_claimed("sell_mm")) return;
  const sketch *s = sketch_random(900, 1100, 0.03, 7);
  op_case c = sell_case(s, 8, 64, "", "9,", "9,", 1);
  int64_t y = 9 * 900 * 8, x_bar = 9 * 1100 * 8, a_bar = layout_of(s, 8, 64).size * 8;
  check_op_peak(ctx, &c, LAC_F64, y, y + x_bar + a_bar + s->nnz * 8);
}

/// What stands in padding, and what x holds where padding would point, changes nothing.
static void sell_mm_does_not_read_padding(lac_context *ctx) {
  if (!check_claimed("sell_mm")) return;
  const int64_t row[] = {0, 0, 1}, col[] = {0, 1, 1};
  double x[] = {INFINITY, 2}, a[] = {1, 3, 2, NAN};
  lac_pattern *p = NULL;
  lac_format *f = NULL;
  lac_tape *tape = NULL;
  lac_array *ax = NULL, *xx = NULL;
  CHECK_OK(lac_pattern_from_coo(ctx, 2, 2, 3, LAC_I64, row, col, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_format_sell(ctx, p, 2, 1, &f));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){4}, a, LAC_OWNERSHIP_COPY, &ax));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 1}, x, LAC_OWNERSHIP_COPY, &xx));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var y = lac_sell_mm(tape, f, lac_tape_constant(tape, ax), lac_tape_constant(tape, xx));
  CHECK_OK(lac_tape_status(tape));
  double got[2] = {0, 0};
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, y), got));
  CHECK(isinf(got[0]));
  CHECK_EQ(got[1], 6);
  lac_tape_destroy(&tape);
  lac_array_destroy(&ax), lac_array_destroy(&xx);
  lac_format_destroy(&f);
  lac_pattern_destroy(&p);
}

static void sell_mm_refuses_other_formats(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_format *f = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_square(2, 1, 1), LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_format_ell(ctx, p, &f));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  (void)lac_sell_mm(tape, f, lac_tape_scalar(tape, LAC_F64, 1, 0), lac_tape_scalar(tape, LAC_F64, 1, 0));
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "lac_format_sell makes one");
  lac_tape_destroy(&tape);
  lac_format_destroy(&f);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(sell_mm_differentiates, sell_mm_broadcasts_batches_both_ways, sell_mm_takes_what_is_empty,
           sell_mm_keeps_no_array_for_each_item, sell_mm_does_not_depend_on_threads, sell_mm_does_not_read_padding,
           sell_mm_refuses_other_formats)
