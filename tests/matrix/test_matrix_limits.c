// SPDX-License-Identifier: Apache-2.0
/// Matrices at their edges: whose memory is whose, what is refused and how, files, NULL, and that no failure loses
/// anything.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/test_hooks.h"
#include "support/check.h"
#include "support/temporary.h"

/// [[1, 2], [0, 3]], its entries backwards or by rows.
static const int32_t back_row[] = {1, 0, 0}, back_col[] = {1, 1, 0}, offsets[] = {0, 2, 3}, columns[] = {0, 1, 1};
static const double back[] = {3, 2, 1}, by_rows[] = {1, 2, 3}, whole[] = {1, 2, 0, 3};

static lac_status from_back(lac_context *ctx, const void *values, lac_ownership ownership, lac_matrix **out) {
  return lac_matrix_from_coo(ctx, 2, 2, 3, LAC_I32, back_row, back_col, LAC_F64, values, ownership, out);
}

static lac_status from_rows(lac_context *ctx, const void *values, lac_ownership ownership, lac_matrix **out) {
  return lac_matrix_from_csr(ctx, 2, 2, LAC_I32, offsets, columns, LAC_F64, values, ownership, out);
}

static void check_whole(lac_context *ctx, const lac_matrix *m, double times) {
  double numbers[4];
  CHECK_OK(lac_matrix_read_dense(ctx, m, numbers));
  for (int i = 0; i < 4; i++) CHECK(numbers[i] == times * whole[i]);
}

static double *heap_copy(const double *values) {
  double *copy = malloc(3 * sizeof *copy);
  memcpy(copy, values, 3 * sizeof *copy);
  return copy;
}

static void memory_is_copied_borrowed_or_adopted(lac_context *ctx) {
  double own[3], backwards[3];
  lac_matrix *m = NULL;

  memcpy(own, by_rows, sizeof own);
  CHECK_OK(from_rows(ctx, own, LAC_OWNERSHIP_BORROW, &m));
  CHECK(lac_array_data(lac_matrix_values(m)) == own);  // used as it is
  lac_matrix_destroy(&m);
  memcpy(backwards, back, sizeof backwards);
  CHECK_OK(from_back(ctx, backwards, LAC_OWNERSHIP_BORROW, &m));
  CHECK(lac_array_data(lac_matrix_given(m)) == backwards);
  for (int i = 0; i < 3; i++) backwards[i] *= 2;
  CHECK_OK(lac_matrix_update(ctx, m, 3, backwards, LAC_OWNERSHIP_BORROW));  // changes are seen from here on
  check_whole(ctx, m, 2);
  CHECK_OK(lac_matrix_update(ctx, m, 3, heap_copy(back), LAC_OWNERSHIP_ADOPT));
  check_whole(ctx, m, 1);
  lac_matrix_destroy(&m);
  CHECK_OK(from_rows(ctx, heap_copy(by_rows), LAC_OWNERSHIP_ADOPT, &m));  // a leak or a second free shows under asan
  check_whole(ctx, m, 1);
  lac_matrix_destroy(&m);
}

static void holders_share_a_matrix(lac_context *ctx) {
  lac_matrix *m = NULL, *other = NULL;

  CHECK_OK(from_back(ctx, back, LAC_OWNERSHIP_COPY, &m));
  other = lac_matrix_retain(m);
  lac_matrix_destroy(&m);
  check_whole(ctx, other, 1);
  lac_matrix_destroy(&other);
}

static void what_cannot_be_is_refused(lac_context *ctx) {
  lac_matrix *m = NULL;
  lac_pattern *pattern = NULL;
  lac_map *wrong = NULL;
  lac_array *four = NULL;

  CHECK_FAILS(from_back(ctx, NULL, LAC_OWNERSHIP_COPY, &m), LAC_ERR_ARG, "values is NULL");
  CHECK_FAILS(from_back(ctx, back, (lac_ownership)7, &m), LAC_ERR_ARG, "ownership 7");
  CHECK_FAILS(from_back(ctx, back, LAC_OWNERSHIP_COPY, NULL), LAC_ERR_ARG, "lac_matrix_from_coo: out is NULL");
  CHECK_EQ(from_back(NULL, back, LAC_OWNERSHIP_COPY, &m), LAC_ERR_ARG);
  CHECK_FAILS(lac_matrix_from_csc(ctx, 2, 2, LAC_I32, offsets, columns, (lac_dtype)9, back, LAC_OWNERSHIP_COPY, &m),
              LAC_ERR_DTYPE, "lac_matrix_from_csc: dtype 9");
  CHECK_FAILS(lac_matrix_from_csr(ctx, 2, 1, LAC_I32, offsets, columns, LAC_F64, back, LAC_OWNERSHIP_COPY, &m),
              LAC_ERR_PATTERN, "columns[1] = 1");
  CHECK_FAILS(lac_matrix_from_bsr(ctx, 3, 2, 2, 1, LAC_I32, offsets, columns, LAC_F64, back, LAC_OWNERSHIP_COPY, &m),
              LAC_ERR_SHAPE, "blocks of 2 x 1");
  CHECK_FAILS(lac_matrix_from_dense(ctx, 2, 2, LAC_F64, whole, NAN, &m), LAC_ERR_ARG, "0 drops exact zeros");
  CHECK_FAILS(lac_matrix_from_dense(ctx, 2, 2, LAC_F64, NULL, 0, &m), LAC_ERR_ARG, "numbers is NULL");
  CHECK_FAILS(lac_matrix_from_dense(ctx, -1, 2, LAC_F64, whole, 0, &m), LAC_ERR_SHAPE, "");
  CHECK_OK(lac_pattern_from_csr(ctx, 2, 2, LAC_I32, offsets, columns, LAC_WIDTH_AUTO, &pattern, NULL));
  CHECK_OK(lac_map_create(ctx, 4, 4, (int64_t[]){0, 1, 2, 3}, &wrong));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){4}, (void *)whole, LAC_OWNERSHIP_COPY, &four));
  CHECK_FAILS(lac_matrix_create(ctx, pattern, NULL, four, &m), LAC_ERR_SHAPE, "the values are (4)");
  CHECK_FAILS(lac_matrix_create(ctx, pattern, wrong, four, &m), LAC_ERR_SHAPE, "the map leads to 4 places");
  CHECK_FAILS(lac_matrix_create(ctx, NULL, NULL, four, &m), LAC_ERR_ARG, "pattern is NULL");
  CHECK(!m);
  lac_map_destroy(&wrong);
  lac_array_destroy(&four);
  lac_pattern_destroy(&pattern);
}

static void empty_matrices_are_matrices(lac_context *ctx) {
  lac_matrix *m = NULL;
  int64_t starts[1];

  CHECK_OK(lac_matrix_from_dense(ctx, 0, 3, LAC_F32, NULL, 0, &m));
  CHECK_EQ(lac_matrix_cols(m), 3);
  CHECK_OK(lac_matrix_read_csr(ctx, m, starts, NULL, NULL));
  CHECK_EQ(starts[0], 0);
  CHECK_OK(lac_matrix_update(ctx, m, 0, NULL, LAC_OWNERSHIP_COPY));
  lac_matrix_destroy(&m);
}

static void null_has_nothing_to_say(lac_context *ctx) {
  double numbers[4];
  int64_t index[4];

  CHECK(!lac_matrix_pattern(NULL) && !lac_matrix_values(NULL) && !lac_matrix_given(NULL) && !lac_matrix_entries(NULL));
  CHECK_EQ(lac_matrix_rows(NULL) + lac_matrix_cols(NULL) + lac_matrix_nnz(NULL) + lac_matrix_count(NULL), 0);
  CHECK_EQ(lac_matrix_dtype(NULL), LAC_F32);
  CHECK(!lac_matrix_retain(NULL));
  lac_matrix_destroy(NULL);
  CHECK_FAILS(lac_matrix_update(ctx, NULL, 3, back, LAC_OWNERSHIP_COPY), LAC_ERR_ARG, "the matrix is NULL");
  CHECK_FAILS(lac_matrix_read_coo(ctx, NULL, index, index, numbers), LAC_ERR_ARG, "lac_matrix_read_coo");
  CHECK_FAILS(lac_matrix_read_csr(ctx, NULL, index, index, numbers), LAC_ERR_ARG, "lac_matrix_read_csr");
  CHECK_FAILS(lac_matrix_read_csc(ctx, NULL, index, index, numbers), LAC_ERR_ARG, "lac_matrix_read_csc");
  CHECK_FAILS(lac_matrix_read_dense(ctx, NULL, numbers), LAC_ERR_ARG, "lac_matrix_read_dense");
  CHECK_FAILS(lac_matrix_read_given(ctx, NULL, numbers), LAC_ERR_ARG, "lac_matrix_read_given");
  CHECK_FAILS(lac_matrix_to_file(ctx, NULL, "a.mtx"), LAC_ERR_ARG, "the matrix is NULL");
}

static void files_hold_matrices(lac_context *ctx) {
  const char *paths[] = {temporary_path("a.mtx"), temporary_path("a.safetensors")};
  const char *array = temporary_text("b.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n0\n2\n3\n");
  lac_matrix *m = NULL, *read = NULL;

  CHECK_OK(from_back(ctx, back, LAC_OWNERSHIP_COPY, &m));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(lac_matrix_to_file(ctx, m, paths[i]));
    CHECK_OK(lac_matrix_from_file(ctx, paths[i], &read));
    check_whole(ctx, read, 1);
    lac_matrix_destroy(&read);
  }
  CHECK_OK(lac_matrix_from_file(ctx, array, &read));
  CHECK_EQ(lac_matrix_nnz(read), 3);
  check_whole(ctx, read, 1);
  CHECK_FAILS(lac_matrix_from_file(ctx, "a.csv", &m), LAC_ERR_ARG, "\"a.csv\" ends neither in .mtx");
  CHECK_FAILS(lac_matrix_to_file(ctx, m, NULL), LAC_ERR_ARG, "path is NULL");
  CHECK_FAILS(lac_matrix_from_file(ctx, temporary_path("none.mtx"), &m), LAC_ERR_FILE, "none.mtx");
  lac_matrix_destroy(&m), lac_matrix_destroy(&read);
}

/// A matrix each way, its readings, an update, a tape: with memory that is adopted where that succeeds.
static lac_status use_everything(lac_context *ctx, lac_tape *tape) {
  double numbers[4], *adopted = heap_copy(back), *update = heap_copy(by_rows);
  lac_matrix *m[3] = {NULL};
  lac_factor *factor = NULL;
  int64_t index[4];
  lac_status status = from_back(ctx, adopted, LAC_OWNERSHIP_ADOPT, &m[0]);

  if (status != LAC_OK) free(adopted);
  if (status == LAC_OK) status = lac_matrix_from_dense(ctx, 2, 2, LAC_F64, whole, 0, &m[1]);
  if (status == LAC_OK) {
    status = lac_matrix_from_bsr(ctx, 2, 2, 1, 2, LAC_I32, (int32_t[]){0, 1, 3}, (int32_t[]){0, 0, 0}, LAC_F64,
                                 (double[]){1, 2, 0, 1, 0, 2}, LAC_OWNERSHIP_COPY, &m[2]);
  }
  lac_status exchanged = status == LAC_OK ? lac_matrix_update(ctx, m[1], 3, update, LAC_OWNERSHIP_ADOPT) : status;
  if (exchanged != LAC_OK) free(update);
  status = exchanged;
  for (int i = 0; i < 3 && status == LAC_OK; i++) {
    status = lac_matrix_read_csc(ctx, m[i], index, index, numbers);
    if (status == LAC_OK) status = lac_matrix_read_dense(ctx, m[i], numbers);
    if (status == LAC_OK) CHECK(memcmp(numbers, whole, sizeof whole) == 0);
    if (status == LAC_OK) (void)lac_matrix_leaf(tape, m[i], NULL), status = lac_tape_status(tape);
  }
  if (status == LAC_OK) status = lac_matrix_factor(ctx, m[0], NULL, &factor);
  for (int i = 0; i < 3; i++) lac_matrix_destroy(&m[i]);
  lac_factor_destroy(&factor);
  return status;
}

static void failing_allocations_lose_nothing(lac_context *ctx) {
  int is_reached = 1;
  long long before;

  for (int64_t n = 0; is_reached; n++) {
    lac_tape *tape = NULL;
    before = check_live_blocks();
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
    lac_memory_fail_at(n);
    lac_status status = use_everything(ctx, tape);
    is_reached = lac_memory_fail_at(0) >= n;
    if (n && is_reached) CHECK_FAILS(status, LAC_ERR_MEMORY, "");
    if (!n || !is_reached) CHECK_OK(status);
    lac_tape_destroy(&tape);
    if (n) CHECK_EQ(check_live_blocks(), before);
  }
}

CHECK_MAIN(memory_is_copied_borrowed_or_adopted, holders_share_a_matrix, what_cannot_be_is_refused,
           empty_matrices_are_matrices, null_has_nothing_to_say, files_hold_matrices, failing_allocations_lose_nothing)
