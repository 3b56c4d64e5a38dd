// SPDX-License-Identifier: Apache-2.0
/// MPI as a communicator: apart from the caller's messages, with errors as codes, and given back.

#include "distributed/spread.h"

/// A receive of the caller's for any message from anyone is open while ranks talk, and gets the caller's message.
static void callers_messages_are_apart(lac_context *ctx) {
  MPI_Request request = MPI_REQUEST_NULL;
  double open = 0, sent = 42;
  int64_t largest = world.rank;
  double total = 1;

  (void)ctx;
  if (world.rank == 0 && world.size > 1) {
    MPI_Irecv(&open, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  }
  CHECK(world.sum(world.self, &total, 1) == 0 && total == world.size);
  CHECK(world.max(world.self, &largest, 1) == 0 && largest == world.size - 1);
  if (world.rank == 1) MPI_Send(&sent, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(open == (world.rank == 0 && world.size > 1 ? 42 : 0));
}

static void errors_of_mpi_are_codes(lac_context *ctx) {
  int64_t data = 1, total = 0;

  CHECK(world.broadcast(world.self, &data, sizeof data, world.size) != 0);  // there is no such root
  data = 1;
  for (int r = 0; r < world.size; ++r) {
    int64_t mine = world.rank == r ? data : 0;

    CHECK(world.broadcast(world.self, &mine, sizeof mine, r) == 0);
    total += mine;
  }
  CHECK(total == world.size);
  CHECK_OK(lac_context_agree(ctx, LAC_OK));
}

static int broken_gather(void *self, const int64_t *mine, int64_t count, int64_t *all) {
  (void)mine, (void)count, (void)all;
  return world.broadcast(self, &(int64_t){0}, sizeof(int64_t), -1);
}

static void errors_of_mpi_become_sentences(lac_context *ctx) {
  lac_comm broken = world;
  lac_partition *partition = NULL;

  broken.gather = broken_gather;
  CHECK_OK(lac_context_attach(ctx, &broken));
  CHECK_FAILS(lac_partition_create(ctx, 1, &partition), LAC_ERR_BACKEND, "the library returned code");
  CHECK(!partition);
}

/// The caller's communicator may go; what was made of it stays, until it is given back.
static void communicator_outlives_the_one_it_was_made_of(lac_context *ctx) {
  MPI_Comm reversed;
  lac_comm comm;
  double total = 2;

  MPI_Comm_split(MPI_COMM_WORLD, 0, -world.rank, &reversed);
  CHECK(lac_comm_mpi(&reversed, &comm) == LAC_OK);
  MPI_Comm_free(&reversed);
  CHECK(comm.rank == world.size - 1 - world.rank && comm.size == world.size);
  CHECK(comm.sum(comm.self, &total, 1) == 0 && total == 2 * world.size);
  CHECK_OK(lac_context_attach(ctx, &comm));
  CHECK_OK(lac_context_agree(ctx, LAC_OK));
  CHECK_OK(lac_context_attach(ctx, NULL));
  lac_comm_mpi_free(&comm);
  CHECK(!comm.self && !comm.sum);
  lac_comm_mpi_free(&comm);
  lac_comm_mpi_free(NULL);
}

static void nothing_is_made_of_nothing(lac_context *ctx) {
  const MPI_Comm none = MPI_COMM_NULL, all = MPI_COMM_WORLD;
  lac_comm comm = {0};

  (void)ctx;
  CHECK(lac_comm_mpi(NULL, &comm) == LAC_ERR_ARG);
  CHECK(lac_comm_mpi(&all, NULL) == LAC_ERR_ARG);
  CHECK(lac_comm_mpi(&none, &comm) == LAC_ERR_ARG);
  CHECK(!comm.sum);
}

MPI_CHECK_MAIN(callers_messages_are_apart, errors_of_mpi_are_codes, errors_of_mpi_become_sentences,
               communicator_outlives_the_one_it_was_made_of, nothing_is_made_of_nothing)
