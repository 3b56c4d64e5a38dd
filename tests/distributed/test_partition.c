// SPDX-License-Identifier: Apache-2.0
/// Partitions, arrays that carry one, patterns that are made with them.

#include "distributed/spread.h"

static void partition_counts_rows_in_rank_order(lac_context *ctx) {
  lac_partition *partition = NULL;
  const int64_t rank = world.rank, size = world.size;

  CHECK_OK(lac_partition_create(ctx, rank + 1, &partition));
  CHECK(lac_partition_rows(partition) == rank + 1);
  CHECK(lac_partition_begin(partition) == rank * (rank + 1) / 2);
  CHECK(lac_partition_total(partition) == size * (size + 1) / 2);
  lac_partition_destroy(&partition);
  CHECK(!partition);
}

static void partition_may_be_empty(lac_context *ctx) {
  lac_partition *partition = NULL;

  CHECK_OK(lac_partition_create(ctx, 0, &partition));
  CHECK(lac_partition_total(partition) == 0 && lac_partition_begin(partition) == 0);
  lac_partition_destroy(&partition);
}

static void partition_refuses_negative_rows_of_one_rank_on_all(lac_context *ctx) {
  lac_partition *partition = NULL;
  const int last = world.size - 1;
  const lac_status status = lac_partition_create(ctx, world.rank == last ? -1 : 3, &partition);

  CHECK_FAILS(status, world.rank == last ? LAC_ERR_ARG : LAC_ERR_REMOTE, "rows must not be negative, got -1");
  CHECK(!partition);
}

static void partition_refuses_more_rows_than_fit(lac_context *ctx) {
  lac_partition *partition = NULL;

  if (world.size == 1) return;
  CHECK_FAILS(lac_partition_create(ctx, INT64_MAX, &partition), LAC_ERR_OVERFLOW, "do not fit 64 bits");
}

static void partition_needs_a_communicator(lac_context *ctx) {
  lac_partition *partition = NULL;

  CHECK_OK(lac_context_attach(ctx, NULL));
  CHECK_FAILS(lac_partition_create(ctx, 1, &partition), LAC_ERR_ARG, "call lac_context_attach first");
  CHECK(lac_partition_create(NULL, 1, &partition) == LAC_ERR_ARG && lac_context_agree(NULL, LAC_OK) == LAC_ERR_ARG);
  CHECK(!partition);
}

static void partition_lives_while_it_is_held(lac_context *ctx) {
  lac_partition *partition = NULL;

  CHECK_OK(lac_partition_create(ctx, world.rank + 2, &partition));
  lac_partition *held = lac_partition_retain(partition);
  CHECK(held == partition);
  lac_partition_destroy(&partition);
  CHECK(!partition && lac_partition_rows(held) == world.rank + 2);
  lac_partition_destroy(&held);
  CHECK(!lac_partition_retain(NULL));
}

static void array_holds_its_partition(lac_context *ctx) {
  lac_partition *partition = NULL;
  lac_array *array = NULL;
  const int64_t shape[] = {2, world.rank, 3};

  CHECK_OK(lac_partition_create(ctx, world.rank, &partition));
  CHECK_OK(lac_array_partitioned(ctx, LAC_C64, 3, shape, partition, 1, NULL, LAC_OWNERSHIP_COPY, &array));
  lac_partition_destroy(&partition);
  CHECK(lac_array_count(array) == (int64_t)6 * world.rank);
  CHECK(lac_array_meta(array)->partition_axis == 1);
  CHECK(lac_partition_rows(lac_array_meta(array)->partition) == world.rank);
  lac_array_destroy(&array);
}

static void array_refuses_a_shape_that_is_not_its_part(lac_context *ctx) {
  lac_partition *partition = NULL;
  lac_array *array = NULL;
  const int64_t shape[] = {world.rank == 0 ? 5 : 4, 1};

  CHECK_OK(lac_partition_create(ctx, 4, &partition));
  CHECK_FAILS(lac_array_partitioned(ctx, LAC_F64, 2, shape, partition, 0, NULL, LAC_OWNERSHIP_COPY, &array),
              world.rank == 0 ? LAC_ERR_SHAPE : LAC_ERR_REMOTE, "must have the 4 rows that rank 0 owns");
  CHECK(!array);
  lac_partition_destroy(&partition);
}

static void pattern_cuts_the_slots_of_the_whole(lac_context *ctx) {
  for (deal rows = DEAL_EVEN; rows < DEALS; ++rows) {
    spread s = spread_create(ctx, 23, 17, 0.3, rows, DEALS - 1 - rows, LAC_WIDTH_AUTO);
    const int64_t begin = lac_partition_begin(lac_pattern_entries(s.pattern)), nnz = lac_pattern_nnz(s.pattern);
    int64_t *whole = malloc((size_t)(lac_pattern_nnz(s.whole) + 1) * sizeof *whole);
    int64_t *mine = malloc((size_t)(nnz + 1) * sizeof *mine);

    CHECK(lac_pattern_rows(s.pattern) == lac_partition_rows(s.rows));
    CHECK(lac_pattern_cols(s.pattern) == lac_partition_rows(s.cols));
    CHECK(lac_partition_total(lac_pattern_entries(s.pattern)) == lac_pattern_nnz(s.whole));
    lac_pattern_read(s.whole, NULL, whole, NULL);
    lac_pattern_read(s.pattern, NULL, mine, NULL);
    for (int64_t z = 0; z < nnz; ++z) CHECK(mine[z] == whole[begin + z]);
    free(whole);
    free(mine);
    spread_destroy(&s);
  }
}

/// Two rows on each rank: columns unsorted and repeated, one on the next rank.
static void pattern_maps_unsorted_and_repeated_entries(lac_context *ctx) {
  const int64_t next = (world.rank + 1) % world.size * 2, own = (int64_t)world.rank * 2;
  const int64_t offsets[] = {0, 3, 4}, columns[] = {own + 1, own, own + 1, next};
  lac_partition *rows = NULL;
  lac_pattern *pattern = NULL;
  lac_map *entries = NULL;
  int64_t target[4];

  CHECK_OK(lac_partition_create(ctx, 2, &rows));
  CHECK_OK(lac_pattern_distributed(ctx, rows, rows, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &pattern, &entries));
  CHECK(lac_pattern_nnz(pattern) == 3 && lac_map_inputs(entries) == 4 && lac_map_outputs(entries) == 3);
  CHECK(lac_partition_rows(lac_map_entries(entries)) == 4);
  lac_map_read(entries, target);
  CHECK(target[0] == 1 && target[1] == 0 && target[2] == 1 && target[3] == 2);
  lac_map_destroy(&entries);
  lac_pattern_destroy(&pattern);
  lac_partition_destroy(&rows);
}

static void pattern_refuses_a_column_out_of_range_on_all_ranks(lac_context *ctx) {
  const int64_t offsets[] = {0, 1}, column = world.rank == 0 ? world.size : 0;
  lac_partition *rows = NULL;
  lac_pattern *pattern = NULL;

  CHECK_OK(lac_partition_create(ctx, 1, &rows));
  CHECK_FAILS(lac_pattern_distributed(ctx, rows, rows, LAC_I64, offsets, &column, LAC_WIDTH_AUTO, &pattern, NULL),
              world.rank == 0 ? LAC_ERR_PATTERN : LAC_ERR_REMOTE, "");
  CHECK(world.rank == 0 || strstr(lac_context_error(ctx), "rank 0 failed in"));
  CHECK(!pattern);
  lac_partition_destroy(&rows);
}

static void pattern_refuses_what_needs_other_ranks_rows(lac_context *ctx) {
  spread s = spread_create(ctx, 6, 6, 0.5, DEAL_EVEN, DEAL_EVEN, LAC_WIDTH_AUTO);
  lac_pattern *out = NULL;
  lac_solver *solver = NULL;
  lac_map *map = NULL;

  CHECK_FAILS(lac_pattern_transpose(ctx, s.pattern, &out, NULL), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_triangle(ctx, s.pattern, LAC_TRIANGLE_LOWER, 0, &out, NULL), LAC_ERR_UNSUPPORTED,
              "distributed");
  CHECK_FAILS(lac_pattern_submatrix(ctx, s.pattern, 0, 0, 0, 0, &out, NULL), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_union(ctx, s.pattern, s.pattern, &out, NULL, NULL), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_product(ctx, s.pattern, s.pattern, &out), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_diagonal(ctx, s.pattern, &map), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_pattern_dense(ctx, s.pattern, &map), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK_FAILS(lac_solver_create(ctx, s.pattern, NULL, &solver), LAC_ERR_UNSUPPORTED, "distributed");
  CHECK(!out && !solver && !map);
  spread_destroy(&s);
}

/// A result with nowhere to go on the last rank is an error of all, not a wait for it.
static void missing_outputs_of_one_rank_fail_on_all(lac_context *ctx) {
  const int64_t offsets[] = {0, 1}, column = 0, shape = 1;
  const int last = world.rank == world.size - 1;
  const lac_status expected = last ? LAC_ERR_ARG : LAC_ERR_REMOTE;
  lac_partition *rows = NULL, *none = NULL;
  lac_pattern *pattern = NULL;
  lac_array *array = NULL;

  CHECK_OK(lac_partition_create(ctx, 1, &rows));
  CHECK_FAILS(lac_partition_create(ctx, 1, last ? NULL : &none), expected, "lac_partition_create: out is NULL");
  CHECK_FAILS(lac_array_partitioned(ctx, LAC_F64, 1, &shape, rows, 0, NULL, LAC_OWNERSHIP_COPY, last ? NULL : &array),
              expected, "lac_array_partitioned: out is NULL");
  CHECK_FAILS(
      lac_pattern_distributed(ctx, rows, rows, LAC_I64, offsets, &column, LAC_WIDTH_AUTO, last ? NULL : &pattern, NULL),
      expected, "lac_pattern_distributed: out is NULL");
  CHECK(!none && !array && !pattern);
  lac_partition_destroy(&rows);
}

static void communicator_of_one_rank_needs_no_mpi(lac_context *ctx) {
  const lac_comm self = lac_comm_self();
  lac_partition *partition = NULL;

  CHECK_OK(lac_context_attach(ctx, &self));
  CHECK_OK(lac_partition_create(ctx, 7, &partition));
  CHECK(lac_partition_total(partition) == 7 && lac_partition_begin(partition) == 0);
  lac_partition_destroy(&partition);
}

MPI_CHECK_MAIN(partition_counts_rows_in_rank_order, partition_may_be_empty,
               partition_refuses_negative_rows_of_one_rank_on_all, partition_refuses_more_rows_than_fit,
               partition_needs_a_communicator, partition_lives_while_it_is_held, array_holds_its_partition,
               array_refuses_a_shape_that_is_not_its_part, pattern_cuts_the_slots_of_the_whole,
               pattern_maps_unsorted_and_repeated_entries, pattern_refuses_a_column_out_of_range_on_all_ranks,
               pattern_refuses_what_needs_other_ranks_rows, missing_outputs_of_one_rank_fail_on_all,
               communicator_of_one_rank_needs_no_mpi)
