// SPDX-License-Identifier: Apache-2.0
/// The operator circulant_mm: its values beside sums, its derivatives; Toeplitz matrices, which are made of it.

#include <math.h>
#include <stdlib.h>

#include "support/circulant.h"
#include "support/op_case.h"

#define FORM(c) ((lac_form)(c)->i[0])

static void circulant_mm_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_circulant_mm(tape, in[0], in[1], FORM(setup->c));
}

static void circulant_mm_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = in[0].meta.shape[in[0].meta.ndim - 1], k = in[1].meta.shape[in[1].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_side(dense_circulant(n, walk_item(&w, &in[0], 1)), FORM(c));
    dense_copy_to(dense_mul(a, dense_over(n, k, walk_item(&w, &in[1], 2))), walk_item(&w, out, 2));
  }
}

static void check_circulant_mm(lac_context *ctx, lac_form form, const char *first, const char *x, const char *y) {
  op_case c = {.op = "circulant_mm", .i = {form}, .shapes = {first, x}, .result = {y}, .slack = 8};
  c.apply = circulant_mm_apply, c.dense = circulant_mm_dense;
  c.degree[0] = c.degree[1] = 1;
  check_op(ctx, &c);
}

static void circulant_mm_differentiates_on_every_side(lac_context *ctx) {
  for (int form = LAC_PLAIN; form <= LAC_ADJOINT; ++form) check_circulant_mm(ctx, (lac_form)form, "5", "5,3", "5,3");
}

/// Powers of two and other lengths, columns in pairs and alone.
static void circulant_mm_is_right_in_fourier_space(lac_context *ctx) {
  check_circulant_mm(ctx, LAC_PLAIN, "64", "64,1", "64,1");
  check_circulant_mm(ctx, LAC_ADJOINT, "35", "35,3", "35,3");
  check_circulant_mm(ctx, LAC_TRANSPOSED, "37", "37,2", "37,2");
}

static void circulant_mm_takes_what_is_small_or_empty(lac_context *ctx) {
  check_circulant_mm(ctx, LAC_PLAIN, "0", "0,2", "0,2");
  check_circulant_mm(ctx, LAC_CONJUGATED, "1", "1,2", "1,2");
  check_circulant_mm(ctx, LAC_TRANSPOSED, "2", "2,0", "2,0");
}

static void circulant_mm_broadcasts_batches_both_ways(lac_context *ctx) {
  check_circulant_mm(ctx, LAC_PLAIN, "3", "2,3,2", "2,3,2");
  check_circulant_mm(ctx, LAC_ADJOINT, "2,1,3", "3,3,1", "2,3,3,1");
}

static void circulant_mm_does_not_depend_on_threads(lac_context *ctx) {
  op_case c = {.op = "circulant_mm", .shapes = {"3,700", "700,5"}, .result = {"3,700,5"}, .apply = circulant_mm_apply};
  check_op_large(ctx, &c);
}

/// A long one against single direct sums, and the shift by one, which is known to all.
static void circulant_mm_is_right_for_many_unknowns(lac_context *ctx) {
  if (!check_claimed("circulant_mm")) return;
  static const int64_t sizes[] = {100003, 131072};
  for (int s = 0; s < 2; ++s) {
    int64_t n = sizes[s];
    double *c = malloc((size_t)n * sizeof *c), *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; ++i) c[i] = sin(0.37 * (double)i), x[i] = cos(1.3 * (double)(i % 1009));
    lac_array *first = NULL, *in = NULL;
    lac_tape *tape = NULL;
    CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &n, c, LAC_OWNERSHIP_COPY, &first));
    CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){n, 1}, x, LAC_OWNERSHIP_COPY, &in));
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
    lac_var out = lac_circulant_mm(tape, lac_tape_constant(tape, first), lac_tape_constant(tape, in), LAC_PLAIN);
    CHECK_OK(lac_tape_status(tape));
    CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, out), y));
    double worst = 0;
    for (int64_t i = 0; i < n; i += n / 7) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += c[(i - j + n) % n] * x[j];
      worst = fmax(worst, fabs(sum - y[i]));
    }
    lac_array_destroy(&first);
    lac_array_destroy(&in);
    lac_tape_destroy(&tape);
    free(c), free(x), free(y);
    CHECK(worst < 1e-12 * (double)n);
  }
}

// -- Toeplitz --------------------------------------------------------------------------------------------------------

static void toeplitz_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_toeplitz_mm(tape, in[0], in[1], in[2], FORM(setup->c));
}

static void toeplitz_dense(const op_case *c, const ref *in, ref *out) {
  int64_t m = in[0].meta.shape[in[0].meta.ndim - 1], n = in[1].meta.shape[in[1].meta.ndim - 1];
  int64_t rows = in[2].meta.shape[in[2].meta.ndim - 2], k = in[2].meta.shape[in[2].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    const number *column = walk_item(&w, &in[0], 1), *row = walk_item(&w, &in[1], 1);
    dense t = dense_new(m, n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) t.x[i * n + j] = i >= j ? column[i - j] : row[j - i];
    }
    dense x = dense_over(rows, k, walk_item(&w, &in[2], 2));
    dense_copy_to(dense_mul(dense_side(t, FORM(c)), x), walk_item(&w, out, 2));
  }
}

static void check_toeplitz(lac_context *ctx, lac_form form, const char *column, const char *row, const char *x,
                           const char *y) {
  op_case c = {.op = "circulant_mm", .i = {form}, .shapes = {column, row, x}, .result = {y}, .slack = 8};
  c.apply = toeplitz_apply, c.dense = toeplitz_dense;
  c.skip = OP_INPUT | OP_OPERATOR | OP_SCALE;
  check_op(ctx, &c);
}

static void toeplitz_matrices_of_any_shape_are_multiplied(lac_context *ctx) {
  check_toeplitz(ctx, LAC_PLAIN, "5", "5", "5,2", "5,2");
  check_toeplitz(ctx, LAC_ADJOINT, "5", "3", "5,2", "3,2");
  check_toeplitz(ctx, LAC_PLAIN, "3", "6", "6,1", "3,1");
  check_toeplitz(ctx, LAC_TRANSPOSED, "1", "1", "1,1", "1,1");
  check_toeplitz(ctx, LAC_CONJUGATED, "2,4", "3", "3,2", "2,4,2");
  check_toeplitz(ctx, LAC_PLAIN, "30", "20", "20,1", "30,1");
  check_toeplitz(ctx, LAC_PLAIN, "0", "3", "3,2", "0,2");
  check_toeplitz(ctx, LAC_ADJOINT, "0", "3", "0,2", "3,2");
  check_toeplitz(ctx, LAC_PLAIN, "5", "0", "0,1", "5,1");
}

static void toeplitz_mm_refuses_rows_that_do_not_fit(lac_context *ctx) {
  lac_tape *tape = NULL;
  double values[6] = {1, 2, 3, 4, 5, 6};
  lac_array *column = NULL, *x = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, values, LAC_OWNERSHIP_COPY, &column));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 3}, values, LAC_OWNERSHIP_COPY, &x));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  lac_var c = lac_tape_constant(tape, column);
  (void)lac_toeplitz_mm(tape, c, c, lac_tape_constant(tape, x), LAC_PLAIN);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "x has 2 rows");
  lac_tape_destroy(&tape);
  lac_array_destroy(&column);
  lac_array_destroy(&x);
}

static void toeplitz_on_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  out[0] = lac_toeplitz(tape, setup->patterns[0], in[0], in[1]);
}

static void toeplitz_on_dense(const op_case *c, const ref *in, ref *out) {
  const sketch *s = c->patterns[0];
  for (walk w = walk_batch(out, 1); walk_next(&w);) {
    const number *column = walk_item(&w, &in[0], 1), *row = walk_item(&w, &in[1], 1);
    number *a = walk_item(&w, out, 1);
    for (int64_t e = 0; e < s->nnz; ++e) {
      int64_t i = s->row[e], j = s->col[e];
      a[e] = i >= j ? column[i - j] : row[j - i];
    }
  }
}

static void check_toeplitz_on(lac_context *ctx, const sketch *s, const char *column, const char *row, const char *a) {
  op_case c = {.op = "remap", .patterns = {s}, .shapes = {column, row}, .result = {a}};
  c.apply = toeplitz_on_apply, c.dense = toeplitz_on_dense;
  c.fixed[0] = c.fixed[1] = 1, c.degree[0] = c.degree[1] = 1;
  c.skip = OP_OPERATOR | OP_SCALE;  // an entry is of one of both
  check_op(ctx, &c);
}

static void toeplitz_matrices_stand_on_patterns(lac_context *ctx) {
  check_toeplitz_on(ctx, sketch_random(5, 4, 0.6, 3), "5", "4", "nnz");
  check_toeplitz_on(ctx, sketch_random(3, 6, 0.5, 1), "2,3", "6", "2,nnz");
  check_toeplitz_on(ctx, sketch_square(4, 1, 2), "4", "4", "nnz");
  check_toeplitz_on(ctx, sketch_empty(3, 0), "3", "0", "nnz");
}

CHECK_MAIN(circulant_mm_differentiates_on_every_side, circulant_mm_is_right_in_fourier_space,
           circulant_mm_takes_what_is_small_or_empty, circulant_mm_broadcasts_batches_both_ways,
           circulant_mm_does_not_depend_on_threads, circulant_mm_is_right_for_many_unknowns,
           toeplitz_matrices_of_any_shape_are_multiplied, toeplitz_mm_refuses_rows_that_do_not_fit,
           toeplitz_matrices_stand_on_patterns)
