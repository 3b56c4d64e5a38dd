// SPDX-License-Identifier: Apache-2.0
/// Patterns of blocks: from compressed rows, to single entries and back, transposed, compared, refused.

#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"

enum { TRIALS = 200 };

/// Where every number of a pattern stands.
typedef struct places {
  int64_t count, *row, *col;
} places;

static places places_of(const lac_pattern *p) {
  int64_t br = 0, bc = 0, nnz = lac_pattern_nnz(p);
  lac_pattern_blocks(p, &br, &bc);
  int64_t *row = scratch((size_t)nnz * sizeof *row), *col = scratch((size_t)nnz * sizeof *col);
  lac_pattern_read(p, NULL, col, row);
  places out = {nnz * br * bc, scratch((size_t)(nnz * br * bc) * 8), scratch((size_t)(nnz * br * bc) * 8)};
  for (int64_t n = 0; n < out.count; ++n) {
    int64_t z = n / (br * bc), e = n % (br * bc);
    out.row[n] = row[z] * br + e / bc;
    out.col[n] = col[z] * bc + e % bc;
  }
  return out;
}

/// The map takes every number to the place where it stands, or stands transposed.
static void check_moves(const lac_pattern *from, const lac_pattern *to, const lac_map *map, int transposed) {
  places a = places_of(from), b = places_of(to);
  CHECK_EQ(lac_map_inputs(map), a.count);
  CHECK_EQ(lac_map_outputs(map), b.count);
  int64_t *target = scratch((size_t)a.count * sizeof *target);
  lac_map_read(map, target);
  for (int64_t n = 0; n < a.count; ++n) {
    CHECK(target[n] >= 0);
    CHECK_EQ(b.row[target[n]], transposed ? a.col[n] : a.row[n]);
    CHECK_EQ(b.col[target[n]], transposed ? a.row[n] : a.col[n]);
  }
}

/// Block rows ascend, and so do the columns in each.
static void check_canonical(const lac_pattern *p) {
  int64_t nnz = lac_pattern_nnz(p);
  int64_t *row = scratch((size_t)nnz * sizeof *row), *col = scratch((size_t)nnz * sizeof *col);
  lac_pattern_read(p, NULL, col, row);
  for (int64_t z = 1; z < nnz; ++z) CHECK(row[z - 1] < row[z] || (row[z - 1] == row[z] && col[z - 1] < col[z]));
}

static void check_ways(lac_context *ctx, const lac_pattern *p, int64_t br, int64_t bc) {
  lac_pattern *blocks = NULL, *scalar = NULL, *turned = NULL, *back = NULL;
  lac_map *to_blocks = NULL, *to_scalar = NULL, *turn = NULL;
  CHECK_OK(lac_pattern_blocked(ctx, p, br, bc, &blocks, &to_blocks));
  CHECK_OK(lac_pattern_scalar(ctx, blocks, &scalar, &to_scalar));
  CHECK_OK(lac_pattern_transpose(ctx, blocks, &turned, &turn));
  CHECK_OK(lac_pattern_transpose(ctx, turned, &back, NULL));
  CHECK_EQ(lac_pattern_rows(blocks), lac_pattern_rows(p));
  CHECK_EQ(lac_pattern_cols(blocks), lac_pattern_cols(p));
  CHECK_EQ(lac_pattern_rows(turned), lac_pattern_cols(p));
  CHECK_EQ(lac_pattern_nnz(scalar), lac_pattern_nnz(blocks) * br * bc);
  CHECK(lac_pattern_same(back, blocks));
  check_moves(p, blocks, to_blocks, 0);
  check_moves(blocks, scalar, to_scalar, 0);
  check_moves(blocks, turned, turn, 1);
  check_canonical(blocks);
  check_canonical(scalar);
  check_canonical(turned);
  lac_pattern_destroy(&blocks), lac_pattern_destroy(&scalar), lac_pattern_destroy(&turned), lac_pattern_destroy(&back);
  lac_map_destroy(&to_blocks), lac_map_destroy(&to_scalar), lac_map_destroy(&turn);
}

static void ways_between_blocks_and_entries_keep_places(lac_context *ctx) {
  random_state r = random_start(5);
  for (int trial = 0; trial < TRIALS; ++trial) {
    size_t mark = scratch_mark();
    int64_t br = 1 + random_below(&r, 4), bc = 1 + random_below(&r, 4);
    int64_t rows = br * random_below(&r, 5), cols = bc * random_below(&r, 5);
    const sketch *s = sketch_random(rows, cols, (double)random_below(&r, 9) / 10, random_bits(&r));
    lac_pattern *p = NULL;
    CHECK_OK(lac_context_set_threads(ctx, 1 + trial % 2));
    CHECK_OK(sketch_pattern(ctx, s, (lac_width)(LAC_WIDTH_32_32 + trial % 3), &p));
    check_ways(ctx, p, br, bc);
    lac_pattern_destroy(&p);
    scratch_release(mark);
  }
}

static void no_block_is_made_without_an_entry(lac_context *ctx) {
  const int64_t row[] = {0, 1, 5}, col[] = {0, 1, 3};
  lac_pattern *p = NULL, *blocks = NULL;
  CHECK_OK(lac_pattern_from_coo(ctx, 6, 4, 3, LAC_I64, row, col, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_pattern_blocked(ctx, p, 2, 2, &blocks, NULL));
  CHECK_EQ(lac_pattern_nnz(blocks), 2);
  lac_pattern_destroy(&p), lac_pattern_destroy(&blocks);
}

/// Two block rows: {2, 0, 2} and {}; the repeated block shares its slot, number by number.
static void rows_of_blocks_may_be_unsorted_and_repeat(lac_context *ctx) {
  const int32_t offsets[] = {0, 3, 3}, columns[] = {2, 0, 2};
  const int64_t expected[] = {2, 3, 0, 1, 2, 3};
  lac_pattern *p = NULL;
  lac_map *entries = NULL;
  int64_t target[6], br = 0, bc = 0;
  CHECK_OK(lac_pattern_from_bsr(ctx, 4, 3, 2, 1, LAC_I32, offsets, columns, LAC_WIDTH_AUTO, &p, &entries));
  lac_pattern_blocks(p, &br, &bc);
  CHECK_EQ(br, 2);
  CHECK_EQ(bc, 1);
  CHECK_EQ(lac_pattern_nnz(p), 2);
  CHECK_EQ(lac_pattern_rows(p), 4);
  CHECK_EQ(lac_pattern_cols(p), 3);
  CHECK_EQ(lac_map_inputs(entries), 6);
  lac_map_read(entries, target);
  for (int i = 0; i < 6; ++i) CHECK_EQ(target[i], expected[i]);
  lac_pattern_destroy(&p), lac_map_destroy(&entries);
}

static void a_block_of_one_is_no_block(lac_context *ctx) {
  const int64_t offsets[] = {0, 1, 2}, columns[] = {1, 0};
  lac_pattern *bsr = NULL, *csr = NULL, *scalar = NULL, *blocked = NULL;
  lac_map *map = NULL;
  CHECK_OK(lac_pattern_from_bsr(ctx, 2, 2, 1, 1, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &bsr, NULL));
  CHECK_OK(lac_pattern_from_csr(ctx, 2, 2, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &csr, NULL));
  CHECK(lac_pattern_same(bsr, csr));
  CHECK_OK(lac_pattern_scalar(ctx, csr, &scalar, &map));
  CHECK(scalar == csr && lac_map_is_identity(map));
  CHECK_OK(lac_pattern_blocked(ctx, csr, 1, 1, &blocked, NULL));
  CHECK(blocked == csr);
  lac_pattern_destroy(&bsr), lac_pattern_destroy(&csr), lac_pattern_destroy(&scalar), lac_pattern_destroy(&blocked);
  lac_map_destroy(&map);
}

/// The same rows and columns of blocks, and even the same shape, are other patterns when the blocks are.
static void the_size_of_blocks_belongs_to_the_pattern(lac_context *ctx) {
  const int64_t offsets[] = {0, 1, 2}, columns[] = {1, 0};
  lac_pattern *p[3] = {NULL};
  CHECK_OK(lac_pattern_from_bsr(ctx, 4, 4, 2, 2, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p[0], NULL));
  CHECK_OK(lac_pattern_from_bsr(ctx, 4, 6, 2, 3, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p[1], NULL));
  CHECK_OK(lac_pattern_from_bsr(ctx, 4, 4, 2, 2, LAC_I64, offsets, columns, LAC_WIDTH_64_64, &p[2], NULL));
  CHECK(!lac_pattern_same(p[0], p[1]));
  CHECK(lac_pattern_same(p[0], p[2]));
  for (int i = 0; i < 3; ++i) lac_pattern_destroy(&p[i]);
}

/// A symmetric structure of blocks that are not square: the transpose is another pattern.
static void transposes_turn_the_size_of_blocks(lac_context *ctx) {
  const int64_t offsets[] = {0, 1, 2}, columns[] = {0, 1};
  lac_pattern *p = NULL, *t = NULL, *again = NULL;
  int64_t br = 0, bc = 0;
  CHECK_OK(lac_pattern_from_bsr(ctx, 4, 6, 2, 3, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_pattern_transpose(ctx, p, &t, NULL));
  CHECK_OK(lac_pattern_transpose(ctx, p, &again, NULL));
  lac_pattern_blocks(t, &br, &bc);
  CHECK(br == 3 && bc == 2 && t != p && t == again);
  CHECK(lac_pattern_bytes(p) > 0);
  lac_pattern_destroy(&p), lac_pattern_destroy(&t), lac_pattern_destroy(&again);
}

static void sizes_that_do_not_fit_are_refused(lac_context *ctx) {
  const int64_t offsets[] = {0, 1, 1}, columns[] = {7}, fine[] = {0};
  lac_pattern *p = NULL, *out = NULL;
  CHECK_FAILS(lac_pattern_from_bsr(ctx, 5, 4, 2, 2, LAC_I64, offsets, fine, LAC_WIDTH_AUTO, &out, NULL), LAC_ERR_SHAPE,
              "lac_pattern_from_bsr: blocks of 2 x 2 do not divide 5 x 4");
  CHECK_FAILS(lac_pattern_from_bsr(ctx, 4, 4, 0, 2, LAC_I64, offsets, fine, LAC_WIDTH_AUTO, &out, NULL), LAC_ERR_ARG,
              "give 1 or more");
  CHECK_FAILS(lac_pattern_from_bsr(ctx, 4, 4, INT64_MAX / 2, 4, LAC_I64, offsets, fine, LAC_WIDTH_AUTO, &out, NULL),
              LAC_ERR_OVERFLOW, "beyond");
  CHECK_FAILS(lac_pattern_from_bsr(ctx, 4, 4, 2, 2, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &out, NULL),
              LAC_ERR_PATTERN, "lac_pattern_from_bsr: columns[0] = 7");
  CHECK_OK(lac_pattern_from_csr(ctx, 2, 8, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_FAILS(lac_pattern_blocked(ctx, p, 2, 3, &out, NULL), LAC_ERR_SHAPE, "do not divide 2 x 8");
  CHECK(!out);
  lac_pattern_destroy(&p);
}

static void functions_of_single_entries_refuse_blocks(lac_context *ctx) {
  const int64_t offsets[] = {0, 1, 2}, columns[] = {0, 1};
  const char *words = "lac_pattern_scalar";
  lac_pattern *p = NULL, *out = NULL;
  lac_map *map = NULL;
  CHECK_OK(lac_pattern_from_bsr(ctx, 4, 4, 2, 2, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_FAILS(lac_pattern_triangle(ctx, p, LAC_TRIANGLE_LOWER, 0, &out, &map), LAC_ERR_UNSUPPORTED, words);
  CHECK_FAILS(lac_pattern_submatrix(ctx, p, 0, 2, 0, 2, &out, &map), LAC_ERR_UNSUPPORTED, words);
  CHECK_FAILS(lac_pattern_union(ctx, p, p, &out, NULL, NULL), LAC_ERR_UNSUPPORTED, words);
  CHECK_FAILS(lac_pattern_product(ctx, p, p, &out), LAC_ERR_UNSUPPORTED, words);
  CHECK_FAILS(lac_pattern_diagonal(ctx, p, &map), LAC_ERR_UNSUPPORTED, words);
  CHECK_FAILS(lac_pattern_dense(ctx, p, &map), LAC_ERR_UNSUPPORTED, words);
  CHECK_FAILS(lac_pattern_blocked(ctx, p, 2, 2, &out, &map), LAC_ERR_UNSUPPORTED, words);
  lac_pattern_destroy(&p);
}

/// Every operator with patterns but the two that take blocks, with inputs that would fit a scalar reading of the
/// numbers.
static void operators_of_single_entries_refuse_blocks(lac_context *ctx) {
  const int64_t offsets[] = {0, 1, 2}, columns[] = {0, 1}, shape[] = {2, 2, 2};
  lac_pattern *p = NULL;
  lac_array *a = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_pattern_from_bsr(ctx, 4, 4, 2, 2, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 3, shape, &a));
  CHECK_OK(lac_array_fill(ctx, a, 1, 0));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  for (int i = 0; i < 3; ++i) {
    lac_tape_clear(tape);
    lac_var v = lac_tape_constant(tape, a);
    if (i == 0) (void)lac_sampled_spgemm(tape, p, p, v, p, v, LAC_PLAIN, LAC_PLAIN);
    if (i == 1) (void)lac_spgemm(tape, p, v, p, v, NULL);
    if (i == 2) (void)lac_trisolve(tape, p, v, v, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, LAC_PLAIN);
    CHECK_FAILS(lac_tape_status(tape), LAC_ERR_UNSUPPORTED, "lac_pattern_scalar");
  }
  lac_tape_clear(tape);
  (void)lac_spmm(tape, p, lac_reshape(tape, lac_tape_constant(tape, a), 1, (int64_t[]){8}),
                 lac_reshape(tape, lac_tape_constant(tape, a), 2, (int64_t[]){4, 2}), LAC_PLAIN);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "the pattern has blocks, so z is (nnz, br, bc)");
  lac_tape_destroy(&tape);
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
}

static lac_status make_all(lac_context *ctx) {
  const int64_t offsets[] = {0, 2, 3}, columns[] = {1, 0, 1};
  lac_pattern *p[4] = {NULL};
  lac_map *m[4] = {NULL};
  lac_status status = lac_pattern_from_bsr(ctx, 4, 6, 2, 3, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p[0], &m[0]);
  if (status == LAC_OK) status = lac_pattern_scalar(ctx, p[0], &p[1], &m[1]);
  if (status == LAC_OK) status = lac_pattern_transpose(ctx, p[0], &p[2], &m[2]);
  if (status == LAC_OK) status = lac_pattern_blocked(ctx, p[1], 2, 2, &p[3], &m[3]);
  for (int i = 0; i < 4; ++i) lac_pattern_destroy(&p[i]), lac_map_destroy(&m[i]);
  return status;
}

static void failing_allocations_leave_nothing(lac_context *ctx) {
  long long before = check_live_blocks();
  for (int64_t n = 1;; ++n) {
    lac_memory_fail_at(n);
    lac_status status = make_all(ctx);
    int is_reached = lac_memory_fail_at(0) >= n;
    if (!is_reached) {
      CHECK_OK(status);
      break;
    }
    CHECK_EQ(status, LAC_ERR_MEMORY);
    CHECK_EQ(check_live_blocks(), before);
  }
}

CHECK_MAIN(ways_between_blocks_and_entries_keep_places, no_block_is_made_without_an_entry,
           rows_of_blocks_may_be_unsorted_and_repeat, a_block_of_one_is_no_block,
           the_size_of_blocks_belongs_to_the_pattern, transposes_turn_the_size_of_blocks,
           sizes_that_do_not_fit_are_refused, functions_of_single_entries_refuse_blocks,
           operators_of_single_entries_refuse_blocks, failing_allocations_leave_nothing)
