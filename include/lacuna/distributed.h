// SPDX-License-Identifier: Apache-2.0
/// @file distributed.h
/// Arrays and patterns spread over ranks. Operators, rules and the tape do not change.
///
/// A partition says which consecutive rows of a global axis each rank owns. An array without one is replicated: all ranks
/// hold the same numbers. A distributed pattern keeps the rows that its rank owns, with global columns; a product fetches the rows
/// of x that it needs from their owners (the halo), and the adjoint sends contributions back and adds them. Sums and inner
/// products over a partitioned axis are sums over all ranks, and their result is replicated.
///
/// Every function here, and every call that communicates, is collective: all ranks call it in the same order. Ranks agree on the
/// status first, so that one rank's error is everyone's (LAC_ERR_REMOTE names the rank) and nobody hangs.

#ifndef LACUNA_DISTRIBUTED_H
#define LACUNA_DISTRIBUTED_H

#include "lacuna/array.h"
#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a communication library must offer. All buffers are host memory. Calls return 0, or an error code of their own.
typedef struct lac_comm {
  void *self;
  int rank, size;
  /// In place: the element-wise sum of `count` doubles over all ranks, the same bits on every rank.
  int (*sum)(void *self, double *values, int64_t count);
  /// In place: the element-wise maximum of `count` integers.
  int (*max)(void *self, int64_t *values, int64_t count);
  /// Every rank's `count` integers, in rank order, to every rank.
  int (*gather)(void *self, const int64_t *mine, int64_t count, int64_t *all);
  /// Send bytes [send_offsets[r], send_offsets[r+1]) of `send` to rank r and receive likewise.
  int (*exchange)(void *self, const void *send, const int64_t *send_offsets, void *receive,
                  const int64_t *receive_offsets);
  /// `bytes` bytes from rank `root` to all.
  int (*broadcast)(void *self, void *data, int64_t bytes, int root);
} lac_comm;

/// Attach a communicator, which must outlive the context. Contexts of all ranks attach together. NULL detaches.
/// Errors: LAC_ERR_UNSUPPORTED for contexts that are not on the CPU.
LAC_API lac_status lac_context_attach(lac_context *ctx, const lac_comm *comm);

/// Agree on how things stand: LAC_OK when `mine` is LAC_OK on all ranks. Otherwise a rank that failed gets `mine` back, and the
/// others LAC_ERR_REMOTE with the sentence of the first that failed. Calls that communicate, lac_tape_vjp and lac_tape_jvp do
/// this themselves; a program does it where it would leave the common path because of its own error:
///
///     status = lac_context_agree(ctx, lac_tape_status(tape));
LAC_API lac_status lac_context_agree(lac_context *ctx, lac_status mine);

/// Each rank owns `rows` consecutive rows, in rank order; none is allowed. Two axes fit together when they carry the same
/// partition object. Arrays, patterns and tapes hold their partition.
LAC_API lac_status lac_partition_create(lac_context *ctx, int64_t rows, lac_partition **out);
LAC_API lac_partition *lac_partition_retain(const lac_partition *partition);
LAC_API void lac_partition_destroy(lac_partition **partition);
LAC_API int64_t lac_partition_begin(const lac_partition *partition);  ///< first global row of this rank
LAC_API int64_t lac_partition_rows(const lac_partition *partition);   ///< rows of this rank
LAC_API int64_t lac_partition_total(const lac_partition *partition);  ///< rows of all ranks

/// An array whose axis `axis` is this rank's part of `partition`: shape[axis] must be lac_partition_rows(partition). `data` may be
/// NULL: the contents are then undefined. When any rank fails, memory to be adopted stays the caller's.
LAC_API lac_status lac_array_partitioned(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape,
                                         const lac_partition *partition, int axis, void *data, lac_ownership ownership,
                                         lac_array **out);

/// A pattern from the rows that this rank owns: `offsets` has lac_partition_rows(rows) + 1 entries, `columns` are global.
/// Its values are an array over this rank's entries, partitioned by lac_pattern_entries. Slots are ordered by row and global
/// column, so the values of all ranks, one after the other, are the values of the whole matrix in one process.
/// lac_pattern_rows, cols and nnz count what this rank owns; lac_pattern_read gives its rows, counted from 0, and global columns.
/// `entries` (optional) takes this rank's input entries to its slots, as in lac_pattern_from_csr; lac_map_entries spreads them.
/// Products and lac_sddmm take such patterns; functions that make patterns of patterns, and solvers, answer LAC_ERR_UNSUPPORTED.
LAC_API lac_status lac_pattern_distributed(lac_context *ctx, const lac_partition *rows, const lac_partition *cols,
                                           lac_index_type type, const void *offsets, const void *columns,
                                           lac_width width, lac_pattern **out, lac_map **entries);

/// The partition of a distributed pattern's entries; NULL for a pattern of one process. Borrowed.
LAC_API const lac_partition *lac_pattern_entries(const lac_pattern *pattern);

/// The partition of the inputs of a distributed pattern's entry map: lac_pattern_entries itself when the map is the identity on
/// all ranks; NULL for a map of one process. Borrowed.
LAC_API const lac_partition *lac_map_entries(const lac_map *map);

/// A communicator of one rank, so that a program for many runs in one process without MPI.
LAC_API lac_comm lac_comm_self(void);

/// MPI as a communicator (library lacuna_mpi). `mpi_comm` points to an MPI_Comm, which is duplicated: the caller's own messages
/// cannot be taken for Lacuna's, and MPI's errors become LAC_ERR_BACKEND with MPI's code instead of ending the program. Collective over
/// mpi_comm. MPI is initialised by the caller; `out` is given back by lac_comm_mpi_free.
/// Errors: LAC_ERR_ARG for NULL and MPI_COMM_NULL, LAC_ERR_BACKEND when MPI is not running or cannot duplicate.
LAC_API lac_status lac_comm_mpi(const void *mpi_comm, lac_comm *out);

/// Give back what lac_comm_mpi made and clear it: collective, when no context is attached to it any more, and before MPI_Finalize.
/// Accepts NULL and what is cleared already.
LAC_API void lac_comm_mpi_free(lac_comm *comm);

#ifdef __cplusplus
}
#endif
#endif
