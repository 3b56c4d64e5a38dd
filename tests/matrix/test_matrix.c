// SPDX-License-Identifier: Apache-2.0
/// Matrices: every way in and out, new values, tapes, factors, files, and that nothing is lost where one fails.

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/number_at.h"
#include "support/check.h"
#include "support/scratch.h"

#undef I

enum { ROWS = 3, COLS = 4, MOST = 24 };

/// [[1, 0, 2, 0], [0, 0, 0, 3], [4, 5, 0, 6]] in the dtype; complex ones have -k/2 as imaginary part of k.
static void whole_of(lac_dtype dtype, void *out) {
  static const double whole[ROWS * COLS] = {1, 0, 2, 0, 0, 0, 0, 3, 4, 5, 0, 6};
  for (int i = 0; i < ROWS * COLS; i++) lac_number_put(dtype, out, i, PAIR(whole[i], -whole[i] / 2));
}

/// Numbers 1, 2, ... of a list in the dtype, likewise.
static void list_of(lac_dtype dtype, int count, const double *list, void *out) {
  for (int i = 0; i < count; i++) lac_number_put(dtype, out, i, PAIR(list[i], -list[i] / 2));
}

static void check_dense(lac_context *ctx, const lac_matrix *m, lac_dtype dtype) {
  c128 expected[ROWS * COLS], got[ROWS * COLS];

  CHECK_EQ(lac_matrix_rows(m), ROWS);
  CHECK_EQ(lac_matrix_cols(m), COLS);
  CHECK_EQ(lac_matrix_dtype(m), dtype);
  whole_of(dtype, expected);
  CHECK_OK(lac_matrix_read_dense(ctx, m, got));
  for (int i = 0; i < ROWS * COLS; i++) CHECK(lac_number_get(dtype, got, i) == lac_number_get(dtype, expected, i));
}

// The entries of that matrix as callers have them: coordinates backwards, 4 in two parts, one that is dropped.

static const double coo_values[] = {6, 5, 3, 9, 3, 2, 1, 1};
static const int64_t coo_row[] = {2, 2, 2, -1, 1, 0, 0, 2}, coo_col[] = {3, 1, 0, 2, 3, 2, 0, 0};
static const int64_t csr_offsets[] = {0, 2, 3, 6}, csr_columns[] = {2, 0, 3, 0, 1, 3};  // the first row unsorted
static const double csr_values[] = {2, 1, 3, 4, 5, 6};
static const int64_t csc_offsets[] = {0, 2, 3, 4, 6}, csc_rows[] = {0, 2, 2, 0, 1, 2};
static const double csc_values[] = {1, 4, 5, 2, 3, 6};

/// Indices as 32 bits, or as they are.
static const void *indices(lac_index_type type, int count, const int64_t *from) {
  int32_t *narrow = scratch((size_t)count * sizeof *narrow);
  for (int i = 0; i < count; i++) narrow[i] = (int32_t)from[i];
  return type == LAC_I32 ? (const void *)narrow : from;
}

static lac_matrix *coo_matrix(lac_context *ctx, lac_index_type type, lac_dtype dtype) {
  lac_matrix *m = NULL;
  c128 values[MOST];
  list_of(dtype, 8, coo_values, values);
  CHECK_OK(lac_matrix_from_coo(ctx, ROWS, COLS, 8, type, indices(type, 8, coo_row), indices(type, 8, coo_col), dtype,
                               values, LAC_OWNERSHIP_COPY, &m));
  return m;
}

static lac_matrix *csr_matrix(lac_context *ctx, lac_index_type type, lac_dtype dtype) {
  lac_matrix *m = NULL;
  c128 values[MOST];
  list_of(dtype, 6, csr_values, values);
  CHECK_OK(lac_matrix_from_csr(ctx, ROWS, COLS, type, indices(type, 4, csr_offsets), indices(type, 6, csr_columns),
                               dtype, values, LAC_OWNERSHIP_COPY, &m));
  return m;
}

static lac_matrix *csc_matrix(lac_context *ctx, lac_index_type type, lac_dtype dtype) {
  lac_matrix *m = NULL;
  c128 values[MOST];
  list_of(dtype, 6, csc_values, values);
  CHECK_OK(lac_matrix_from_csc(ctx, ROWS, COLS, type, indices(type, 5, csc_offsets), indices(type, 6, csc_rows), dtype,
                               values, LAC_OWNERSHIP_COPY, &m));
  return m;
}

/// Blocks of 3 x 2, the second first and the first in two parts of which one is zero.
static lac_matrix *bsr_matrix(lac_context *ctx, lac_index_type type, lac_dtype dtype) {
  static const double blocks[] = {2, 0, 0, 3, 0, 6, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 5};
  lac_matrix *m = NULL;
  c128 values[MOST];
  list_of(dtype, 18, blocks, values);
  CHECK_OK(lac_matrix_from_bsr(ctx, ROWS, COLS, 3, 2, type, indices(type, 2, (int64_t[]){0, 3}),
                               indices(type, 3, (int64_t[]){1, 0, 0}), dtype, values, LAC_OWNERSHIP_COPY, &m));
  return m;
}

static lac_matrix *dense_matrix_of(lac_context *ctx, lac_index_type type, lac_dtype dtype) {
  lac_matrix *m = NULL;
  c128 whole[ROWS * COLS];
  (void)type;
  whole_of(dtype, whole);
  CHECK_OK(lac_matrix_from_dense(ctx, ROWS, COLS, dtype, whole, 0, &m));
  return m;
}

typedef lac_matrix *maker(lac_context *ctx, lac_index_type type, lac_dtype dtype);
static maker *const makers[] = {coo_matrix, csr_matrix, csc_matrix, bsr_matrix, dense_matrix_of};
enum { MAKERS = sizeof makers / sizeof *makers };

static void every_layout_gives_the_same_matrix(lac_context *ctx) {
  for (int i = 0; i < MAKERS * 8; i++) {
    lac_dtype dtype = (lac_dtype)(i / MAKERS % 4);
    lac_matrix *m = makers[i % MAKERS](ctx, i < MAKERS * 4 ? LAC_I32 : LAC_I64, dtype);
    check_dense(ctx, m, dtype);
    lac_matrix_destroy(&m);
    CHECK(!m);
  }
}

static void every_layout_comes_out_again(lac_context *ctx) {
  for (int i = 0; i < MAKERS; i++) {
    lac_matrix *m = makers[i](ctx, LAC_I32, LAC_F64), *again[3] = {NULL};
    int64_t a[MOST], b[MOST], nnz = lac_matrix_nnz(m);
    double values[MOST];

    CHECK_EQ(nnz, makers[i] == bsr_matrix ? 12 : 6);
    CHECK_OK(lac_matrix_read_coo(ctx, m, a, b, values));
    CHECK_OK(lac_matrix_from_coo(ctx, ROWS, COLS, nnz, LAC_I64, a, b, LAC_F64, values, LAC_OWNERSHIP_COPY, &again[0]));
    CHECK_OK(lac_matrix_read_csr(ctx, m, a, b, values));
    CHECK_OK(lac_matrix_from_csr(ctx, ROWS, COLS, LAC_I64, a, b, LAC_F64, values, LAC_OWNERSHIP_COPY, &again[1]));
    CHECK_OK(lac_matrix_read_csc(ctx, m, a, b, values));
    CHECK_OK(lac_matrix_from_csc(ctx, ROWS, COLS, LAC_I64, a, b, LAC_F64, values, LAC_OWNERSHIP_COPY, &again[2]));
    CHECK(!lac_matrix_entries(again[0]) && !lac_matrix_entries(again[1]));  // by slots already
    for (int k = 0; k < 3; k++) {
      check_dense(ctx, again[k], LAC_F64);
      lac_matrix_destroy(&again[k]);
    }
    lac_matrix_destroy(&m);
  }
}

static void the_callers_order_is_kept(lac_context *ctx) {
  lac_matrix *m = coo_matrix(ctx, LAC_I32, LAC_F64);
  double given[MOST], slots[MOST];
  static const double by_slots[] = {1, 2, 3, 4, 5, 6};

  CHECK_EQ(lac_matrix_count(m), 8);
  CHECK_EQ(lac_map_inputs(lac_matrix_entries(m)), 8);
  CHECK_OK(lac_matrix_read_given(ctx, m, given));
  CHECK(memcmp(given, coo_values, sizeof coo_values) == 0);
  CHECK_OK(lac_array_read(ctx, lac_matrix_values(m), slots));
  CHECK(memcmp(slots, by_slots, sizeof by_slots) == 0);
  lac_matrix_destroy(&m);
}

/// A pointer that is NULL is no error where numbers go out, and one where they are needed.
static void pointers_that_are_null(lac_context *ctx) {
  lac_matrix *m = csr_matrix(ctx, LAC_I32, LAC_F64), *made = NULL;

  CHECK_OK(lac_matrix_read_dense(ctx, m, NULL));
  CHECK_OK(lac_matrix_read_given(ctx, m, NULL));
  CHECK_OK(lac_matrix_read_csc(ctx, m, NULL, NULL, NULL));
  CHECK_FAILS(lac_matrix_from_coo(ctx, 2, 2, 1, LAC_I32, (int32_t[]){1}, (int32_t[]){1}, LAC_F64, NULL,
                                  LAC_OWNERSHIP_COPY, &made),
              LAC_ERR_ARG, "lac_matrix_from_coo: values is NULL, and there are 1 entries");
  CHECK(!made);
  lac_matrix_destroy(&m);
}

static void a_threshold_drops_small_numbers(lac_context *ctx) {
  static const double numbers[] = {0, -0.5, 2, -0.0, NAN, 0.25};
  static const double thresholds[] = {-1, 0, 0.25, 0.5, 10, INFINITY};
  static const int kept[] = {6, 4, 3, 2, 1, 1};  // NaN is no small number

  for (int i = 0; i < 6; i++) {
    lac_matrix *m = NULL;
    CHECK_OK(lac_matrix_from_dense(ctx, 2, 3, LAC_F64, numbers, thresholds[i], &m));
    CHECK_EQ(lac_matrix_nnz(m), kept[i]);
    CHECK(!lac_matrix_entries(m));
    lac_matrix_destroy(&m);
  }
}

static void updates_come_in_the_callers_order(lac_context *ctx) {
  for (int i = 0; i < MAKERS; i++) {
    lac_matrix *m = makers[i](ctx, LAC_I32, LAC_F64);
    double given[MOST], before[ROWS * COLS], after[ROWS * COLS];
    int64_t count = lac_matrix_count(m);

    CHECK_OK(lac_matrix_read_dense(ctx, m, before));
    CHECK_OK(lac_matrix_read_given(ctx, m, given));
    for (int k = 0; k < count; k++) given[k] *= 3;
    CHECK_OK(lac_matrix_update(ctx, m, count, given, LAC_OWNERSHIP_COPY));
    CHECK_OK(lac_matrix_read_dense(ctx, m, after));
    for (int k = 0; k < ROWS * COLS; k++) CHECK(after[k] == 3 * before[k]);
    CHECK_FAILS(lac_matrix_update(ctx, m, count - 1, given, LAC_OWNERSHIP_COPY), LAC_ERR_SHAPE, "give one for each");
    CHECK_FAILS(lac_matrix_update(ctx, m, count, NULL, LAC_OWNERSHIP_COPY), LAC_ERR_ARG,
                "lac_matrix_update: values is NULL");
    lac_matrix_destroy(&m);
  }
}

static void what_was_made_of_old_values_keeps_them(lac_context *ctx) {
  lac_matrix *m = csr_matrix(ctx, LAC_I32, LAC_F64);
  lac_array *old = lac_array_retain(lac_matrix_values(m)), *batch = NULL;
  double numbers[MOST], wanted[] = {1, 2, 3, 4, 5, 6}, twice[2 * ROWS * COLS];

  CHECK_OK(lac_matrix_update(ctx, m, 6, (double[6]){0}, LAC_OWNERSHIP_COPY));
  CHECK_OK(lac_array_read(ctx, old, numbers));
  CHECK(memcmp(numbers, wanted, sizeof wanted) == 0);
  for (int i = 0; i < 12; i++) numbers[i] = i < 6 ? csr_values[i] : -csr_values[i - 6];
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){2, 6}, numbers, LAC_OWNERSHIP_COPY, &batch));
  CHECK_OK(lac_matrix_update_array(ctx, m, batch));  // two matrices on one pattern
  CHECK_OK(lac_matrix_read_dense(ctx, m, twice));
  for (int i = 0; i < ROWS * COLS; i++) CHECK(twice[i] == -twice[ROWS * COLS + i]);
  CHECK_FAILS(lac_matrix_update_array(ctx, m, NULL), LAC_ERR_ARG, "values is NULL");
  lac_array_destroy(&old), lac_array_destroy(&batch);
  lac_matrix_destroy(&m);
}

/// The gradient of |A x|^2 / 2 in the caller's numbers: (A x)_i x_j for entry (i, j), and 0 for one that is dropped.
static void gradients_come_back_in_the_callers_order(lac_context *ctx) {
  lac_matrix *m = coo_matrix(ctx, LAC_I32, LAC_F64);
  double x[COLS] = {1, -1, 2, 0.5}, bar[8], whole[ROWS * COLS], y[ROWS] = {0};
  lac_array *right = NULL;
  lac_tape *tape = NULL;
  lac_var leaf, a_bar;

  whole_of(LAC_F64, whole);
  for (int k = 0; k < ROWS * COLS; k++) y[k / COLS] += whole[k] * x[k % COLS];
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){COLS, 1}, x, LAC_OWNERSHIP_COPY, &right));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_matrix_leaf(tape, m, &leaf);
  lac_var product = lac_spmm(tape, lac_matrix_pattern(m), a, lac_tape_constant(tape, right), LAC_PLAIN);
  lac_var loss = lac_scale(tape, lac_dot(tape, product, product), 0.5, 0);
  CHECK_OK(lac_tape_vjp(tape, 1, &loss, NULL, 1, &leaf, &a_bar, LAC_GRAPH_NONE));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, a_bar), bar));
  for (int k = 0; k < 8; k++) CHECK_NEAR(bar[k], coo_row[k] < 0 ? 0 : y[coo_row[k]] * x[coo_col[k]], 1e-14);
  lac_tape_destroy(&tape);
  lac_array_destroy(&right);
  lac_matrix_destroy(&m);
}

static void every_layout_goes_onto_a_tape(lac_context *ctx) {
  for (int i = 0; i < MAKERS; i++) {
    lac_matrix *m = makers[i](ctx, LAC_I32, LAC_F64);
    lac_array *eye = NULL;
    lac_tape *tape = NULL;
    double ones[COLS * COLS] = {0}, whole[ROWS * COLS], got[ROWS * COLS];

    for (int k = 0; k < COLS; k++) ones[k * COLS + k] = 1;
    whole_of(LAC_F64, whole);
    CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){COLS, COLS}, ones, LAC_OWNERSHIP_COPY, &eye));
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
    lac_var x = lac_tape_constant(tape, eye);
    lac_var a[2] = {lac_matrix_leaf(tape, m, NULL), lac_matrix_constant(tape, m)};
    for (int k = 0; k < 2; k++) {
      lac_var y = lac_spmm(tape, lac_matrix_pattern(m), a[k], x, LAC_PLAIN);
      CHECK_OK(lac_tape_status(tape));
      CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, y), got));
      CHECK(memcmp(got, whole, sizeof whole) == 0);
    }
    CHECK_EQ(lac_matrix_leaf(tape, NULL, NULL).id, 0);
    CHECK_FAILS(lac_tape_status(tape), LAC_ERR_ARG, "lac_matrix_leaf: the matrix is NULL");
    lac_tape_destroy(&tape);
    lac_array_destroy(&eye);
    lac_matrix_destroy(&m);
  }
}

/// Compressed columns, unsorted, of [[4, 1, 0], [0, 3, 1], [1, 0, 2]]: two right-hand sides, and det = 25.
static void a_matrix_is_factored_and_solved_without_a_tape(lac_context *ctx) {
  lac_matrix *m = NULL;
  lac_factor *factor = NULL, *second = NULL;
  lac_array *b = NULL, *x = NULL, *logdet = NULL;
  double right[] = {6, 5, 9, 4, 7, 3}, numbers[6], expected[] = {1, 1, 2, 1, 3, 1}, log_det;

  CHECK_OK(lac_matrix_from_csc(ctx, 3, 3, LAC_I32, (int32_t[]){0, 2, 4, 6}, (int32_t[]){2, 0, 0, 1, 1, 2}, LAC_F64,
                               (double[]){1, 4, 1, 3, 1, 2}, LAC_OWNERSHIP_COPY, &m));
  CHECK_OK(lac_matrix_factor(ctx, m, NULL, &factor));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 2}, right, LAC_OWNERSHIP_COPY, &b));
  CHECK_OK(lac_run_solve_with(ctx, factor, lac_matrix_values(m), b, LAC_PLAIN, &x));
  CHECK_OK(lac_array_read(ctx, x, numbers));
  for (int i = 0; i < 6; i++) CHECK_NEAR(numbers[i], expected[i], 1e-14);
  CHECK_OK(lac_factor_slogdet(ctx, factor, &log_det, NULL));
  CHECK_NEAR(log_det, log(25), 1e-14);
  CHECK_OK(lac_run_logdet_with(ctx, factor, lac_matrix_values(m), &logdet));
  CHECK_OK(lac_array_read(ctx, logdet, &log_det));
  CHECK_NEAR(log_det, log(25), 1e-14);
  CHECK_OK(lac_matrix_update(ctx, m, 6, (double[]){2, 8, 2, 6, 2, 4}, LAC_OWNERSHIP_COPY));
  CHECK_OK(lac_factor_refactor(ctx, factor, lac_matrix_values(m), &second));
  CHECK_OK(lac_factor_solve(ctx, second, b, LAC_PLAIN, x));
  CHECK_OK(lac_array_read(ctx, x, numbers));
  for (int i = 0; i < 6; i++) CHECK_NEAR(numbers[i], expected[i] / 2, 1e-14);
  CHECK_FAILS(lac_matrix_factor(ctx, NULL, NULL, &factor), LAC_ERR_ARG, "the matrix is NULL");
  lac_array_destroy(&b), lac_array_destroy(&x), lac_array_destroy(&logdet);
  lac_factor_destroy(&factor), lac_factor_destroy(&second);
  lac_matrix_destroy(&m);
}

/// One byte is too little for a factor, and enough for an iteration: "auto" iterates, the default does not, whatever
/// else the options say.
static void a_factor_is_direct_unless_a_method_is_asked_for(lac_context *ctx) {
  enum { SIDE = 12, COUNT = SIDE * SIDE };
  lac_solver_options options = {.size = sizeof options, .max_bytes = 1};
  lac_report report = {.size = sizeof report};
  lac_matrix *m = NULL;
  lac_factor *factor = NULL;
  double *numbers = calloc(COUNT * COUNT, sizeof *numbers);

  for (int i = 0; i < COUNT; i++) {
    numbers[i * COUNT + i] = 5;
    if (i % SIDE) numbers[i * COUNT + i - 1] = numbers[(i - 1) * COUNT + i] = -1;
    if (i >= SIDE) numbers[i * COUNT + i - SIDE] = numbers[(i - SIDE) * COUNT + i] = -1;
  }
  CHECK_OK(lac_matrix_from_dense(ctx, COUNT, COUNT, LAC_F64, numbers, 0, &m));
  CHECK_EQ(lac_matrix_factor(ctx, m, &options, &factor), LAC_ERR_MEMORY);
  CHECK(!factor);
  options.method = "auto";
  CHECK_OK(lac_matrix_factor(ctx, m, &options, &factor));
  CHECK_OK(lac_factor_report(factor, &report));
  CHECK(strstr(report.method, "cg"));
  options.size = 3;
  CHECK_FAILS(lac_matrix_factor(ctx, m, &options, &factor), LAC_ERR_ARG, "lac_matrix_factor: the size");
  lac_factor_destroy(&factor);
  lac_matrix_destroy(&m);
  free(numbers);
}

/// Two blocks in the order of the slots: their map is the identity, and the numbers may come flat, as the map's inputs,
/// or block by block.
static void blocks_in_order_come_flat_or_block_by_block(lac_context *ctx) {
  const int32_t offsets[] = {0, 1, 2}, columns[] = {0, 1};
  double numbers[] = {1, 2, 3, 4, 5, 6, 7, 8}, dense[16];
  const double whole[] = {1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 5, 6, 0, 0, 7, 8};
  lac_pattern *pattern = NULL;
  lac_map *entries = NULL;
  lac_array *flat = NULL, *blocks = NULL;

  CHECK_OK(lac_pattern_from_bsr(ctx, 4, 4, 2, 2, LAC_I32, offsets, columns, LAC_WIDTH_AUTO, &pattern, &entries));
  CHECK(lac_map_is_identity(entries));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){8}, numbers, LAC_OWNERSHIP_COPY, &flat));
  CHECK_OK(lac_array_reshape(ctx, flat, 3, (int64_t[]){2, 2, 2}, &blocks));
  for (int i = 0; i < 2; i++) {
    lac_matrix *m = NULL;
    CHECK_OK(lac_matrix_create(ctx, pattern, entries, i ? blocks : flat, &m));
    CHECK_OK(lac_matrix_update_array(ctx, m, i ? flat : blocks));
    CHECK_OK(lac_matrix_read_dense(ctx, m, dense));
    CHECK(memcmp(dense, whole, sizeof whole) == 0);
    CHECK_EQ(lac_matrix_count(m), 8);
    CHECK_FAILS(lac_matrix_update(ctx, m, 2, numbers, LAC_OWNERSHIP_COPY), LAC_ERR_SHAPE, "8");
    lac_matrix_destroy(&m);
  }
  lac_array_destroy(&flat), lac_array_destroy(&blocks);
  lac_map_destroy(&entries), lac_pattern_destroy(&pattern);
}

// -- one triangle ----------------------------------------------------------------------------------------------------

// The lower triangle of [[4, 1 - i, 0], [1 + i, 5, 2i], [0, -2i, 6]] by columns as CHOLMOD has it, unsorted, the entry
// (1, 0) in two parts, and one entry above the diagonal that is not read. Its determinant is 92.
static const int64_t lower_offsets[] = {0, 3, 6, 7}, lower_rows[] = {1, 0, 1, 0, 2, 1, 2};
static const c128 lower_values[] = {PAIR(0.25, 1.0), 4, 0.75, 9, PAIR(0.0, -2.0), 5, 6};
static const c128 lower_whole[] = {4, PAIR(1.0, -1.0), 0, PAIR(1.0, 1.0), 5, PAIR(0.0, 2.0), 0, PAIR(0.0, -2.0), 6};

static lac_matrix *lower_matrix(lac_context *ctx, lac_dtype dtype) {
  lac_matrix *triangle = NULL, *m = NULL;
  double real[7];
  for (int k = 0; k < 7; k++) real[k] = creal(lower_values[k]);
  CHECK_OK(lac_matrix_from_csc(ctx, 3, 3, LAC_I64, lower_offsets, lower_rows, dtype,
                               dtype == LAC_C128 ? (const void *)lower_values : real, LAC_OWNERSHIP_COPY, &triangle));
  CHECK_OK(lac_matrix_mirror(ctx, triangle, LAC_TRIANGLE_LOWER, LAC_ADJOINT, &m));
  lac_matrix_destroy(&triangle);
  return m;
}

static void a_triangle_makes_a_whole_matrix(lac_context *ctx) {
  lac_matrix *m = lower_matrix(ctx, LAC_C128), *again = NULL;
  c128 whole[9], doubled[7];
  CHECK_EQ(lac_matrix_nnz(m), 7);
  CHECK_EQ(lac_matrix_count(m), 7);
  CHECK_OK(lac_matrix_read_dense(ctx, m, whole));
  for (int k = 0; k < 9; k++) CHECK(whole[k] == lower_whole[k]);
  for (int k = 0; k < 7; k++) doubled[k] = 2 * lower_values[k];
  CHECK_OK(lac_matrix_update(ctx, m, 7, doubled, LAC_OWNERSHIP_COPY));
  CHECK_OK(lac_matrix_read_dense(ctx, m, whole));
  for (int k = 0; k < 9; k++) CHECK(whole[k] == 2 * lower_whole[k]);
  CHECK_FAILS(lac_matrix_mirror(ctx, m, LAC_TRIANGLE_LOWER, LAC_ADJOINT, &again), LAC_ERR_ARG, "mirrored before");
  CHECK_FAILS(lac_matrix_mirror(ctx, NULL, LAC_TRIANGLE_LOWER, LAC_ADJOINT, &again), LAC_ERR_ARG, "matrix is NULL");
  lac_matrix_destroy(&m);
  CHECK(!again && lac_matrix_mirrored(NULL) == NULL);
}

static void a_triangle_is_factored_and_has_a_determinant(lac_context *ctx) {
  lac_matrix *m = lower_matrix(ctx, LAC_C128), *part = NULL;
  lac_solver_options options = {.method = "cholesky"};
  lac_factor *factor = NULL;
  double logabs, sign[2];
  CHECK_OK(lac_matrix_from_coo(ctx, 2, 2, 3, LAC_I32, (int32_t[]){0, 1, 1}, (int32_t[]){0, 0, 1}, LAC_F64,
                               (double[]){2, 1, 2}, LAC_OWNERSHIP_COPY, &part));
  CHECK_FAILS(lac_matrix_factor(ctx, part, &options, &factor), LAC_ERR_SYMMETRY, "add the other one (lac_mirror)");
  CHECK_OK(lac_matrix_factor(ctx, m, &options, &factor));
  CHECK_OK(lac_factor_slogdet(ctx, factor, &logabs, sign));
  CHECK_NEAR(logabs, log(92), 1e-14);
  CHECK_NEAR(sign[0], 1, 1e-14);
  CHECK_NEAR(sign[1], 0, 1e-14);
  CHECK_OK(lac_factor_slogdet(ctx, factor, &logabs, NULL));
  CHECK_NEAR(logabs, log(92), 1e-14);
  lac_factor_destroy(&factor);
  lac_matrix_destroy(&m), lac_matrix_destroy(&part);
}

/// The gradient of |A x|^2 / 2 in a number of the triangle: (A x)_i x_j, and (A x)_j x_i for the image; 0 outside it.
static void gradients_come_back_to_the_triangle(lac_context *ctx) {
  lac_matrix *m = lower_matrix(ctx, LAC_F64);
  double x[3] = {1, -1, 2}, y[3] = {0}, bar[7];
  lac_array *right = NULL;
  lac_tape *tape = NULL;
  lac_var leaf, a_bar;
  for (int k = 0; k < 9; k++) y[k / 3] += creal(lower_whole[k]) * x[k % 3];
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 1}, x, LAC_OWNERSHIP_COPY, &right));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var a = lac_matrix_leaf(tape, m, &leaf);
  lac_var product = lac_spmm(tape, lac_matrix_pattern(m), a, lac_tape_constant(tape, right), LAC_PLAIN);
  lac_var loss = lac_scale(tape, lac_dot(tape, product, product), 0.5, 0);
  CHECK_OK(lac_tape_vjp(tape, 1, &loss, NULL, 1, &leaf, &a_bar, LAC_GRAPH_NONE));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, a_bar), bar));
  for (int k = 0; k < 7; k++) {
    int64_t i = lower_rows[k], j = k < 3 ? 0 : k < 6 ? 1 : 2;
    CHECK_NEAR(bar[k], i < j ? 0 : y[i] * x[j] + (i > j) * y[j] * x[i], 1e-14);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&right);
  lac_matrix_destroy(&m);
}

CHECK_MAIN(every_layout_gives_the_same_matrix, every_layout_comes_out_again, the_callers_order_is_kept,
           a_threshold_drops_small_numbers, pointers_that_are_null, updates_come_in_the_callers_order,
           what_was_made_of_old_values_keeps_them, gradients_come_back_in_the_callers_order,
           every_layout_goes_onto_a_tape, a_matrix_is_factored_and_solved_without_a_tape,
           a_factor_is_direct_unless_a_method_is_asked_for, blocks_in_order_come_flat_or_block_by_block,
           a_triangle_makes_a_whole_matrix, a_triangle_is_factored_and_has_a_determinant,
           gradients_come_back_to_the_triangle)
