// SPDX-License-Identifier: Apache-2.0
/// @file comm_mpi.c
/// The communication table over MPI, on a duplicate of the caller's communicator: its messages cannot meet the
/// caller's, and its errors come back as codes. `self` is the duplicate's handle, not a pointer to it: no memory is
/// taken here.
///
/// MPI counts are int, so that longer messages go in pieces.

#include <mpi.h>
#include <string.h>

#include "lacuna/distributed.h"

_Static_assert(sizeof(MPI_Comm) <= sizeof(void *), "lac_comm.self holds an MPI_Comm");

enum { COMM_TAG = 7121, COMM_PIECE = 1 << 30, COMM_SUM_PIECE = 1024 };

#define COMM_TRY(expression)                \
  do {                                      \
    int code_ = (expression);               \
    if (code_ != MPI_SUCCESS) return code_; \
  } while (0)

static MPI_Comm mpi_of(void *self) {
  MPI_Comm comm;

  memcpy(&comm, &self, sizeof comm);
  return comm;
}

static int mpi_piece(int64_t left, int64_t most) { return (int)(left < most ? left : most); }

/// values += the values of a rank further up the tree.
static int mpi_add_from(MPI_Comm comm, int rank, double *values, int count) {
  double other[COMM_SUM_PIECE];

  COMM_TRY(MPI_Recv(other, count, MPI_DOUBLE, rank, COMM_TAG, comm, MPI_STATUS_IGNORE));
  for (int i = 0; i < count; ++i) values[i] += other[i];
  return MPI_SUCCESS;
}

/// A binary tree over ranks, fixed by their number, down to rank 0: MPI_Allreduce promises neither order nor equal
/// bits.
static int mpi_reduce(MPI_Comm comm, double *values, int count) {
  int rank, size;

  COMM_TRY(MPI_Comm_rank(comm, &rank));
  COMM_TRY(MPI_Comm_size(comm, &size));
  for (int step = 1; step < size; step *= 2) {
    if (rank & step) return MPI_Send(values, count, MPI_DOUBLE, rank - step, COMM_TAG, comm);
    if (rank + step < size) COMM_TRY(mpi_add_from(comm, rank + step, values, count));
  }
  return MPI_SUCCESS;
}

static int mpi_sum(void *self, double *values, int64_t count) {
  MPI_Comm comm = mpi_of(self);

  for (int64_t i = 0; i < count; i += COMM_SUM_PIECE) {
    const int piece = mpi_piece(count - i, COMM_SUM_PIECE);

    COMM_TRY(mpi_reduce(comm, values + i, piece));
    COMM_TRY(MPI_Bcast(values + i, piece, MPI_DOUBLE, 0, comm));
  }
  return MPI_SUCCESS;
}

static int mpi_max(void *self, int64_t *values, int64_t count) {
  for (int64_t i = 0; i < count; i += COMM_PIECE) {
    COMM_TRY(
        MPI_Allreduce(MPI_IN_PLACE, values + i, mpi_piece(count - i, COMM_PIECE), MPI_INT64_T, MPI_MAX, mpi_of(self)));
  }
  return MPI_SUCCESS;
}

static int mpi_gather(void *self, const int64_t *mine, int64_t count, int64_t *all) {
  if (count > COMM_PIECE) return MPI_ERR_COUNT;
  return MPI_Allgather(mine, (int)count, MPI_INT64_T, all, (int)count, MPI_INT64_T, mpi_of(self));
}

/// Send `out` bytes to one rank and receive `in` bytes from another, in pieces; a side that is done falls silent.
static int mpi_swap(MPI_Comm comm, const char *send, int64_t out, int to, char *receive, int64_t in, int from) {
  for (int64_t i = 0; i < out || i < in; i += COMM_PIECE) {
    const int sends = i < out, receives = i < in;

    COMM_TRY(MPI_Sendrecv(sends ? send + i : send, sends ? mpi_piece(out - i, COMM_PIECE) : 0, MPI_BYTE,
                          sends ? to : MPI_PROC_NULL, COMM_TAG, receives ? receive + i : receive,
                          receives ? mpi_piece(in - i, COMM_PIECE) : 0, MPI_BYTE, receives ? from : MPI_PROC_NULL,
                          COMM_TAG, comm, MPI_STATUS_IGNORE));
  }
  return MPI_SUCCESS;
}

/// Ranks that have nothing for each other exchange no message: a halo costs its neighbours alone.
static int mpi_exchange(void *self, const void *send, const int64_t *send_offsets, void *receive,
                        const int64_t *receive_offsets) {
  MPI_Comm comm = mpi_of(self);
  int rank, size;

  COMM_TRY(MPI_Comm_rank(comm, &rank));
  COMM_TRY(MPI_Comm_size(comm, &size));
  for (int step = 0; step < size; ++step) {
    const int to = (rank + step) % size, from = (rank - step + size) % size;

    COMM_TRY(mpi_swap(comm, (const char *)send + send_offsets[to], send_offsets[to + 1] - send_offsets[to], to,
                      (char *)receive + receive_offsets[from], receive_offsets[from + 1] - receive_offsets[from],
                      from));
  }
  return MPI_SUCCESS;
}

static int mpi_broadcast(void *self, void *data, int64_t bytes, int root) {
  for (int64_t i = 0; i < bytes; i += COMM_PIECE) {
    COMM_TRY(MPI_Bcast((char *)data + i, mpi_piece(bytes - i, COMM_PIECE), MPI_BYTE, root, mpi_of(self)));
  }
  return MPI_SUCCESS;
}

/// Rank and size of the duplicate, and its handle.
static int mpi_describe(MPI_Comm comm, lac_comm *out) {
  COMM_TRY(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  COMM_TRY(MPI_Comm_rank(comm, &out->rank));
  COMM_TRY(MPI_Comm_size(comm, &out->size));
  memcpy(&out->self, &comm, sizeof comm);
  return MPI_SUCCESS;
}

static int mpi_is_running(void) {
  int initialised = 0, finalised = 0;

  if (MPI_Initialized(&initialised) != MPI_SUCCESS || MPI_Finalized(&finalised) != MPI_SUCCESS) return 0;
  return initialised && !finalised;
}

lac_status lac_comm_mpi(const void *mpi_comm, lac_comm *out) {
  lac_comm made = {
      .sum = mpi_sum, .max = mpi_max, .gather = mpi_gather, .exchange = mpi_exchange, .broadcast = mpi_broadcast};
  MPI_Comm comm = MPI_COMM_NULL;

  if (!mpi_comm || !out) return LAC_ERR_ARG;
  if (!mpi_is_running()) return LAC_ERR_BACKEND;
  if (*(const MPI_Comm *)mpi_comm == MPI_COMM_NULL) return LAC_ERR_ARG;
  if (MPI_Comm_dup(*(const MPI_Comm *)mpi_comm, &comm) != MPI_SUCCESS) return LAC_ERR_BACKEND;
  if (mpi_describe(comm, &made) != MPI_SUCCESS) {
    (void)MPI_Comm_free(&comm);
    return LAC_ERR_BACKEND;
  }
  *out = made;
  return LAC_OK;
}

void lac_comm_mpi_free(lac_comm *comm) {
  MPI_Comm duplicate;

  if (!comm || !comm->self) return;
  duplicate = mpi_of(comm->self);
  if (mpi_is_running()) (void)MPI_Comm_free(&duplicate);  // MPI_Finalize has taken it otherwise
  *comm = (lac_comm){0};
}
