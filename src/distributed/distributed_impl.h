// SPDX-License-Identifier: Apache-2.0
/// @file distributed_impl.h
/// The inside of partitions and halos, and what the distributed kernel table is made of.
///
/// Everything that communicates follows one form: what may fail on one rank alone is done first, ranks agree on how it
/// went, and only then do they talk:
///
///     LAC_TRY(lac_agree(ctx, prepare(...)));
///     LAC_TRY(lac_comm_check(ctx, ctx->comm->exchange(...)));

#ifndef LACUNA_DISTRIBUTED_DISTRIBUTED_IMPL_H
#define LACUNA_DISTRIBUTED_DISTRIBUTED_IMPL_H

#include "core/array_impl.h"
#include "kernels/kernels.h"
#include "core/pattern/pattern_impl.h"
#include "lacuna/distributed.h"

/// lac_context_agree, and never LAC_OK where this rank failed, whatever the communicator says.
static inline lac_status lac_agree(lac_context *ctx, lac_status mine) {
  const lac_status status = lac_context_agree(ctx, mine);

  return status == LAC_OK ? mine : status;
}

/// Rank r owns rows [offsets[r], offsets[r + 1]) of the global axis.
struct lac_partition {
  lac_object object;
  int ranks, rank;
  int64_t offsets[];
};

/// The rank that owns a global row, 0 <= row < total.
int lac_partition_owner(const lac_partition *partition, int64_t row);

/// What a rank needs of others to apply its rows, and what others need of it.
///
/// Ghosts are the columns that its rows touch and other ranks own, ascending by global index and so grouped by owner.
/// The local columns are [ghosts of lower ranks | owned | ghosts of higher ranks]: renumbering keeps the order of
/// global columns, so the slots of `local` are the canonical slots of the global matrix, cut at the rank's rows.
struct lac_halo {
  lac_object object;
  lac_pattern *local;  // owned rows x local columns
  int ranks;
  int64_t below, owned, above;  // how many local columns are which
  int64_t *ghosts;              // ranks + 1: ghosts [ghosts[r], ghosts[r + 1]) come from rank r
  int64_t *sent;                // ranks + 1: rows_sent [sent[r], sent[r + 1]) go to rank r
  int64_t *rows_sent;           // owned columns, counted from this rank's first
};

static inline const lac_halo *lac_pattern_halo(const lac_pattern *pattern) { return (const lac_halo *)pattern->halo; }

/// One exchange of rows between owners and ghosts, for an array [*batch, owned, k]: H and H^T of
///
///     H x = [ghost rows below | x | ghost rows above]
typedef struct lac_exchange {
  const lac_halo *halo;
  int64_t items;                           // of the batch
  int64_t row_bytes;                       // of k numbers
  lac_array *extended;                     // [*batch, below + owned + above, k]; NULL when this rank has no ghosts
  char *owned, *ghosts;                    // packed rows: mine that are ghosts elsewhere, my ghosts
  int64_t *owned_offsets, *ghost_offsets;  // bytes for each rank
} lac_exchange;

/// Take all memory that the exchange needs; `owned` gives dtype, batch, rows and k. Local: agree before going on.
/// The exchange starts zeroed and is closed on every path.
lac_status lac_exchange_open(lac_context *ctx, const lac_halo *halo, const lac_array *owned, lac_exchange *exchange);
void lac_exchange_close(lac_exchange *exchange);

/// extended = H x. Without ghosts x itself is what extended would be.
lac_status lac_exchange_fetch(lac_context *ctx, lac_exchange *exchange, const lac_array *x);

/// y = H^T extended: own rows first, then what other ranks send, in rank order. Without ghosts y holds this rank's own
/// part already.
lac_status lac_exchange_return(lac_context *ctx, lac_exchange *exchange, lac_array *y);

/// y = sum of y over all ranks, the same bits on each. `mine` says how the computation of this rank's part went.
lac_status lac_reduce(lac_context *ctx, lac_status mine, lac_array *y);

/// Turn the code that a communication library returned into a status.
lac_status lac_comm_check(lac_context *ctx, int code);

/// LAC_ERR_ARG unless a communicator is attached; `function` is who asks.
lac_status lac_comm_required(lac_context *ctx, const char *function);

/// The backend's table with what communicates in the place of what does not.
void lac_distributed_kernels(const lac_kernels *local, lac_kernels *out);

#endif
