// SPDX-License-Identifier: Apache-2.0
/// @file distributed.h
/// Arrays and patterns spread over ranks. Operators, rules and the tape do not change.
///
/// A partition assigns consecutive rows of a global axis to each rank. An array without a partition is replicated: all
/// ranks hold the same numbers. A distributed pattern stores the rows that its rank owns, with global columns. A
/// product fetches the rows of x that it needs from their owners (the halo), and its adjoint sends contributions back,
/// where they are added. Sums and inner products over a partitioned axis are sums over all ranks, and their results are
/// replicated.
///
/// Every function here, and every call that communicates, is collective: all ranks call it in the same order. Ranks
/// agree on the status first: an error on one rank is an error on all ranks (LAC_ERR_REMOTE names the rank), and no
/// rank waits forever.

#ifndef LACUNA_DISTRIBUTED_H
#define LACUNA_DISTRIBUTED_H

#include "lacuna/array.h"
#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A communicator: the functions that a communication library provides. All buffers are host memory. Each function
/// returns 0, or an error code of its own, which becomes LAC_ERR_BACKEND.
typedef struct lac_comm {
  void *self;
  int rank, size;
  /// Replace `count` doubles by their sums over all ranks, element by element, with the same bits on every rank.
  int (*sum)(void *self, double *values, int64_t count);
  /// Replace `count` integers by their maxima over all ranks, element by element.
  int (*max)(void *self, int64_t *values, int64_t count);
  /// Give every rank the `count` integers of each rank, in rank order.
  int (*gather)(void *self, const int64_t *mine, int64_t count, int64_t *all);
  /// Send bytes [send_offsets[r], send_offsets[r+1]) of `send` to rank r and receive likewise.
  int (*exchange)(void *self, const void *send, const int64_t *send_offsets, void *receive,
                  const int64_t *receive_offsets);
  /// Copy `bytes` bytes of rank `root` to all ranks.
  int (*broadcast)(void *self, void *data, int64_t bytes, int root);
} lac_comm;

/// Attach a communicator to a context, on all ranks together; NULL detaches it.
/// Ownership: the communicator stays the caller's, and must outlive the context.
/// Errors: LAC_ERR_UNSUPPORTED for contexts that are not on the CPU.
LAC_API lac_status lac_context_attach(lac_context *ctx, const lac_comm *comm);

/// Agree on a status: LAC_OK where `mine` is LAC_OK on all ranks. Otherwise a rank that failed gets `mine` back, and
/// the other ranks get LAC_ERR_REMOTE with the sentence of the first rank that failed. Calls that communicate,
/// lac_tape_vjp and lac_tape_jvp agree by themselves; a program calls this where its own error would take it off the
/// common path:
///
///     status = lac_context_agree(ctx, lac_tape_status(tape));
LAC_API lac_status lac_context_agree(lac_context *ctx, lac_status mine);

/// Make a partition in which this rank owns `rows` >= 0 consecutive rows; ranks follow each other in rank order. Two
/// axes fit together where they have the same partition object.
/// Ownership: the caller destroys *out; arrays, patterns and tapes hold their partition.
LAC_API lac_status lac_partition_create(lac_context *ctx, int64_t rows, lac_partition **out);

/// Add a holder, and remove one; both accept NULL. The last one that goes ends the partition; *partition is NULL
/// afterwards.
LAC_API lac_partition *lac_partition_retain(const lac_partition *partition);
LAC_API void lac_partition_destroy(lac_partition **partition);

LAC_API int64_t lac_partition_begin(const lac_partition *partition);  ///< first global row of this rank
LAC_API int64_t lac_partition_rows(const lac_partition *partition);   ///< rows of this rank
LAC_API int64_t lac_partition_total(const lac_partition *partition);  ///< rows of all ranks

/// Make an array whose axis `axis` is this rank's part of `partition`. `data` may be NULL: the numbers are then
/// undefined.
/// Ownership: the caller destroys *out; `data` as `ownership` says (array.h). Where any rank fails, memory that was to
/// be adopted stays the caller's.
/// Errors: LAC_ERR_SHAPE where shape[axis] is not lac_partition_rows(partition); those of lac_array_from.
LAC_API lac_status lac_array_partitioned(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape,
                                         const lac_partition *partition, int axis, void *data, lac_ownership ownership,
                                         lac_array **out);

/// Make a distributed pattern from the rows that this rank owns: `offsets` has lac_partition_rows(rows) + 1 entries,
/// `columns` are global. Its values are an array over this rank's entries, partitioned by lac_pattern_entries. Slots
/// are ordered by row and global column: the values of all ranks, one after the other, are the values of the whole
/// matrix in one process. lac_pattern_rows, cols and nnz count the rows, columns and slots of this rank;
/// lac_pattern_read gives its rows, counted from 0, and global columns. lac_spmm and lac_sddmm take such patterns;
/// functions that make patterns of patterns, and solvers, refuse them with LAC_ERR_UNSUPPORTED.
/// Arguments: `entries` (may be NULL) receives the map from this rank's input entries to its slots, as in
/// lac_pattern_from_csr; lac_map_entries is the partition of its inputs.
/// Ownership: the caller destroys *out and *entries.
/// Errors: those of lac_pattern_from_csr.
LAC_API lac_status lac_pattern_distributed(lac_context *ctx, const lac_partition *rows, const lac_partition *cols,
                                           lac_index_type type, const void *offsets, const void *columns,
                                           lac_width width, lac_pattern **out, lac_map **entries);

/// The partition of a distributed pattern's entries, borrowed; NULL for a pattern of one process.
LAC_API const lac_partition *lac_pattern_entries(const lac_pattern *pattern);

/// The partition of the inputs of a distributed pattern's entry map, borrowed: lac_pattern_entries where the map is the
/// identity on all ranks; NULL for a map of one process.
LAC_API const lac_partition *lac_map_entries(const lac_map *map);

/// A communicator of one rank: a program for many ranks then runs in one process without MPI.
LAC_API lac_comm lac_comm_self(void);

/// Make a communicator of MPI (library lacuna_mpi). `mpi_comm` points to an MPI_Comm, which is duplicated: the caller's
/// messages and Lacuna's cannot be confused, and errors of MPI become LAC_ERR_BACKEND with MPI's code instead of ending
/// the program. Collective over mpi_comm. The caller has initialised MPI.
/// Ownership: the caller gives *out back by lac_comm_mpi_free.
/// Errors: LAC_ERR_ARG for NULL and MPI_COMM_NULL; LAC_ERR_BACKEND where MPI is not running or cannot duplicate.
LAC_API lac_status lac_comm_mpi(const void *mpi_comm, lac_comm *out);

/// Give back a communicator of lac_comm_mpi and clear it: collectively, after every context is detached from it, and
/// before MPI_Finalize. Accepts NULL and a communicator that is cleared already.
LAC_API void lac_comm_mpi_free(lac_comm *comm);

#ifdef __cplusplus
}
#endif
#endif
