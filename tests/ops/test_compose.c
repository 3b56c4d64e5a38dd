// SPDX-License-Identifier: Apache-2.0
/// What is made of operators over several patterns and over lines: hadamard, kron, block_diag, mirror, sums, diagonal,
/// trace, means.

#include "support/groups.h"
#include "support/scratch.h"

typedef enum what { HADAMARD, KRON, BLOCK_DIAG } what;

/// i[0] of a case says what; its data is the sketch of the result.
static void pair_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_pattern *const *p = setup->patterns;
  lac_pattern *made = NULL;
  const sketch *want = setup->c->data;
  out[0] = setup->c->i[0] == HADAMARD ? lac_hadamard(tape, p[0], in[0], p[1], in[1], &made)
           : setup->c->i[0] == KRON   ? lac_kron(tape, p[0], in[0], p[1], in[1], &made)
                                      : lac_block_diag(tape, 2, (const lac_pattern *const[]){p[0], p[1]}, in, &made);
  if (made) CHECK(lac_pattern_rows(made) == want->rows && lac_pattern_nnz(made) == want->nnz);
  lac_pattern_destroy(&made);
}

/// An entry (i, j) of the result from the dense matrices; whether it is stored, if `values` is NULL.
static number pair_entry(const op_case *c, int64_t i, int64_t j, const number *x, const number *y) {
  const sketch *a = c->patterns[0], *b = c->patterns[1];
  int64_t p = 0, q = 0;
  switch ((what)c->i[0]) {
    case HADAMARD:
      p = sketch_find(a, i, j), q = sketch_find(b, i, j);
      break;
    case KRON:
      p = sketch_find(a, i / b->rows, j / b->cols), q = sketch_find(b, i % b->rows, j % b->cols);
      break;
    case BLOCK_DIAG:
      p = i < a->rows && j < a->cols ? sketch_find(a, i, j) : -1;
      q = i >= a->rows && j >= a->cols ? sketch_find(b, i - a->rows, j - a->cols) : -1;
      if (!x) return p >= 0 || q >= 0;
      return p >= 0 ? x[p] : q >= 0 ? y[q] : 0;
  }
  if (!x) return p >= 0 && q >= 0;
  return p >= 0 && q >= 0 ? x[p] * y[q] : 0;
}

static void pair_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *made = c->data;
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *x = walk_item(&w, &in[0], 1), *y = walk_item(&w, &in[1], 1);
    number *z = walk_item(&w, out, 1);
    for (int64_t e = 0; e < made->nnz; ++e) z[e] = pair_entry(c, made->row[e], made->col[e], x, y);
  }
}

static void check_pair(lac_context *ctx, what w, const sketch *a, const sketch *b, const char *batch_a,
                       const char *batch_b, const char *batch) {
  static const char *const ops[] = {"mul", "mul", "concat"};
  op_case c = {.op = ops[w], .patterns = {a, b}, .apply = pair_apply, .dense = pair_dense, .i = {w}};
  sketch *made = scratch(sizeof *made);
  int64_t rows = w == HADAMARD ? a->rows : w == KRON ? a->rows * b->rows : a->rows + b->rows;
  int64_t cols = w == HADAMARD ? a->cols : w == KRON ? a->cols * b->cols : a->cols + b->cols;
  *made = (sketch){rows, cols, 0, scratch((size_t)(rows * cols) * 8 + 1), scratch((size_t)(rows * cols) * 8 + 1)};
  for (int64_t z = 0; z < rows * cols; ++z) {
    if (pair_entry(&c, z / cols, z % cols, NULL, NULL) == 0) continue;
    made->row[made->nnz] = z / cols, made->col[made->nnz++] = z % cols;
  }
  c.data = made, c.shapes[0] = op_text("%snnz", batch_a), c.shapes[1] = op_text("%snnz1", batch_b);
  c.result[0] = op_text("%s%lld", batch, (long long)made->nnz), c.fixed[0] = c.fixed[1] = 1;
  check_op(ctx, &c);
}

static void hadamard_multiplies_on_the_intersection(lac_context *ctx) {
  const sketch *a = sketch_random(4, 5, 0.6, 8), *b = sketch_random(4, 5, 0.6, 9);
  check_pair(ctx, HADAMARD, a, b, "", "", "");
  check_pair(ctx, HADAMARD, a, a, "", "", "");
  check_pair(ctx, HADAMARD, a, b, "2,1,", "3,", "2,3,");
  check_pair(ctx, HADAMARD, a, sketch_empty(4, 5), "", "", "");
}

static void kron_multiplies_all_with_all(lac_context *ctx) {
  check_pair(ctx, KRON, sketch_random(3, 2, 0.7, 1), sketch_random(2, 4, 0.6, 2), "", "", "");
  check_pair(ctx, KRON, sketch_random(2, 2, 0.7, 1), sketch_random(3, 1, 0.9, 2), "2,", "", "2,");
  check_pair(ctx, KRON, sketch_empty(2, 3), sketch_random(2, 2, 0.6, 2), "", "", "");
}

static void block_diag_puts_one_behind_the_other(lac_context *ctx) {
  check_pair(ctx, BLOCK_DIAG, sketch_random(3, 2, 0.7, 1), sketch_random(2, 4, 0.6, 2), "", "", "");
  check_pair(ctx, BLOCK_DIAG, sketch_random(2, 2, 0.9, 1), sketch_random(3, 3, 0.6, 2), "2,", "", "2,");
  check_pair(ctx, BLOCK_DIAG, sketch_random(2, 2, 0.9, 1), sketch_empty(1, 0), "", "", "");
}

// -- one matrix ------------------------------------------------------------------------------------------------------

typedef lac_var line_function(lac_tape *tape, const lac_pattern *pattern, lac_var a);
enum { ROW_SUM, COL_SUM, DIAGONAL, TRACE };

static void line_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  static line_function *const functions[] = {lac_row_sum, lac_col_sum, lac_diagonal_of, lac_trace};
  out[0] = functions[setup->c->i[0]](tape, setup->patterns[0], in[0]);
}

static void line_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[0];
  int core = c->i[0] == TRACE ? 0 : 1;
  for (walk w = walk_batch(out, core); walk_next(&w);) {
    const number *a = walk_item(&w, in, 1);
    number *y = walk_item(&w, out, core);
    for (int64_t e = 0; e < s->nnz; ++e) {
      int diagonal = s->row[e] == s->col[e];
      if (c->i[0] == ROW_SUM) y[s->row[e]] += a[e];
      if (c->i[0] == COL_SUM) y[s->col[e]] += a[e];
      if (c->i[0] == DIAGONAL && diagonal) y[s->row[e]] += a[e];
      if (c->i[0] == TRACE && diagonal) y[0] += a[e];
    }
  }
}

static void check_line(lac_context *ctx, const sketch *s, int function, const char *batch, const char *result) {
  op_case c = {.op = function == TRACE ? "sum" : "remap", .patterns = {s}, .apply = line_apply, .dense = line_dense};
  c.i[0] = function, c.shapes[0] = op_text("%snnz", batch), c.result[0] = result, c.degree[0] = 1, c.fixed[0] = 1;
  check_op(ctx, &c);
}

static void rows_columns_and_diagonals_are_summed(lac_context *ctx) {
  const sketch *s = sketch_random(6, 4, 0.6, 3);
  check_line(ctx, s, ROW_SUM, "", "6");
  check_line(ctx, s, COL_SUM, "2,", "2,4");
  check_line(ctx, s, DIAGONAL, "2,", "2,4");
  check_line(ctx, s, TRACE, "2,", "2");
  check_line(ctx, sketch_empty(3, 0), ROW_SUM, "", "3");
}

/// i[1] of a case is how many axes stand behind each entry, 0 or 1.
static void mean_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_segment_mean(tape, setup->object, in[0], (int)setup->c->i[1]);
}

static void mean_dense(const op_case *c, const ref *in, ref *out) {
  int axes = (int)c->i[1];
  int64_t width = axes ? out->meta.shape[out->meta.ndim - 1] : 1;
  for (walk w = walk_batch(out, 1 + axes); walk_next(&w);) {
    const number *x = walk_item(&w, in, 1 + axes);
    number *y = walk_item(&w, out, 1 + axes);
    for (int64_t at = 0; at < group_count(c) * width; ++at) {
      double count = 0;
      for (int64_t e = 0; e < c->patterns[0]->nnz; ++e) {
        if (group_of(c, e) == at / width) y[at] += x[e * width + at % width], ++count;
      }
      if (count > 0) y[at] /= count;
    }
  }
}

static void groups_have_means(lac_context *ctx) {
  if (!check_claimed("segment_mean")) return;
  for (int kind = BY_ROW; kind <= MIXED; ++kind) {
    for (int axes = 0; axes < 2; ++axes) {
      op_case c = {.op = "remap", .patterns = {sketch_random(5, 4, 0.6, 3)}, .apply = mean_apply, .dense = mean_dense};
      c.object = group_map, c.i[1] = axes, c.i[5] = kind, c.fixed[0] = 1 + axes, c.degree[0] = 1;
      c.shapes[0] = axes ? "2,nnz,3" : "2,nnz";
      c.result[0] = op_text(axes ? "2,%lld,3" : "2,%lld", (long long)group_count(&c));
      check_op(ctx, &c);
    }
  }
}

static void means_of_too_many_axes_are_refused(lac_context *ctx) {
  lac_map *map = NULL;
  lac_array *x = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_map_create(ctx, 2, 2, (int64_t[]){0, 1}, &map));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){2}, &x));
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
    (void)lac_segment_mean(tape, map, lac_tape_constant(tape, x), (int[]){-1, 1, LAC_MAX_DIMS}[i]);
    CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "axes");
    lac_tape_destroy(&tape);
  }
  lac_array_destroy(&x);
  lac_map_destroy(&map);
}

// -- one triangle ----------------------------------------------------------------------------------------------------

/// i[0] of a case is the triangle, i[1] the op; its data is the sketch of the whole.
static void mirror_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const op_case *c = setup->c;
  const sketch *want = c->data;
  lac_pattern *made = NULL;
  out[0] = lac_mirror(tape, setup->patterns[0], in[0], (lac_triangle)c->i[0], (lac_form)c->i[1], &made);
  if (made) CHECK(lac_pattern_rows(made) == want->rows && lac_pattern_nnz(made) == want->nnz);
  lac_pattern_destroy(&made);
}

/// The slot from which entry (i, j) of the whole comes, or -1.
static int64_t mirror_source(const op_case *c, int64_t i, int64_t j) {
  bool is_inside = c->i[0] == LAC_TRIANGLE_LOWER ? j <= i : j >= i;
  return is_inside ? sketch_find(c->patterns[0], i, j) : sketch_find(c->patterns[0], j, i);
}

static void mirror_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *made = c->data;
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *x = walk_item(&w, in, 1);
    number *y = walk_item(&w, out, 1);
    for (int64_t e = 0; e < made->nnz; ++e) {
      int64_t i = made->row[e], j = made->col[e];
      bool is_image = c->i[0] == LAC_TRIANGLE_LOWER ? j > i : j < i;
      number from = x[mirror_source(c, i, j)];
      y[e] = is_image && c->i[1] == LAC_ADJOINT ? conj(from) : from;
    }
  }
}

static void check_mirror(lac_context *ctx, const sketch *s, lac_triangle triangle, lac_form op, const char *batch) {
  op_case c = {.op = "remap", .patterns = {s}, .apply = mirror_apply, .dense = mirror_dense, .i = {triangle, op}};
  sketch *made = scratch(sizeof *made);
  int64_t n = s->rows;
  *made = (sketch){n, n, 0, scratch((size_t)(n * n) * 8 + 1), scratch((size_t)(n * n) * 8 + 1)};
  for (int64_t z = 0; z < n * n; ++z) {
    if (mirror_source(&c, z / n, z % n) < 0) continue;
    made->row[made->nnz] = z / n, made->col[made->nnz++] = z % n;
  }
  c.data = made, c.shapes[0] = op_text("%snnz", batch), c.fixed[0] = 1;
  c.result[0] = op_text("%s%lld", batch, (long long)made->nnz);
  check_op(ctx, &c);
}

static void a_triangle_is_mirrored(lac_context *ctx) {
  const lac_form ops[] = {LAC_ADJOINT, LAC_TRANSPOSED};
  for (int k = 0; k < 4; ++k) {
    lac_triangle triangle = k < 2 ? LAC_TRIANGLE_LOWER : LAC_TRIANGLE_UPPER;
    check_mirror(ctx, sketch_random(5, 5, 0.5, 4), triangle, ops[k % 2], k == 1 ? "2," : "");
  }
  check_mirror(ctx, sketch_empty(3, 3), LAC_TRIANGLE_LOWER, LAC_ADJOINT, "");
}

static void mirror_refuses_what_has_no_image(lac_context *ctx) {
  lac_pattern *wide = NULL, *square = NULL;
  lac_array *a = NULL, *y = NULL;
  CHECK_OK(lac_pattern_eye(ctx, 2, 3, 0, LAC_WIDTH_AUTO, &wide));
  CHECK_OK(lac_pattern_eye(ctx, 2, 2, 0, LAC_WIDTH_AUTO, &square));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){2}, (double[]){1, 2}, LAC_OWNERSHIP_COPY, &a));
  CHECK_FAILS(lac_run_mirror(ctx, wide, a, LAC_TRIANGLE_LOWER, LAC_ADJOINT, NULL, &y), LAC_ERR_SHAPE, "2 x 3");
  CHECK_FAILS(lac_run_mirror(ctx, square, a, LAC_TRIANGLE_LOWER, LAC_PLAIN, NULL, &y), LAC_ERR_ARG, "LAC_ADJOINT");
  CHECK_FAILS(lac_run_mirror(ctx, square, a, (lac_triangle)7, LAC_ADJOINT, NULL, &y), LAC_ERR_ARG, "triangle = 7");
  CHECK(!y);
  lac_array_destroy(&a);
  lac_pattern_destroy(&wide), lac_pattern_destroy(&square);
}

static void block_diag_refuses_values_that_are_not_there(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_pattern_eye(ctx, 2, 2, 0, LAC_WIDTH_AUTO, &p));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_block_diag(tape, 2, (const lac_pattern *const[]){p, p}, NULL, NULL).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "the values are NULL");
  lac_tape_destroy(&tape);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(hadamard_multiplies_on_the_intersection, kron_multiplies_all_with_all, block_diag_puts_one_behind_the_other,
           rows_columns_and_diagonals_are_summed, groups_have_means, means_of_too_many_axes_are_refused,
           a_triangle_is_mirrored, mirror_refuses_what_has_no_image, block_diag_refuses_values_that_are_not_there)
