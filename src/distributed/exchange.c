// SPDX-License-Identifier: Apache-2.0
/// @file exchange.c
/// Rows travel between owners and ghosts, and sums between all.
///
///     fetch     extended = H x       = [ghosts below | x | ghosts above]
///     return    y        = H^T extended: every ghost's row is added to its owner's
///
/// <H x, z> = <x, H^T z>: the adjoint of a product with ghosts is the product's transpose followed by the return.

#include "distributed/distributed_impl.h"

#include <string.h>

static char *exchange_data(const lac_array *array) { return array->storage->data; }

/// Local columns of the halo: ghosts and owned.
static int64_t exchange_columns(const lac_halo *halo) { return halo->below + halo->owned + halo->above; }

/// The local column of the first ghost that comes from rank r.
static int64_t exchange_first(const lac_halo *halo, int r) {
  return halo->ghosts[r] + (halo->ghosts[r] < halo->below ? 0 : halo->owned);
}

/// Bytes for each rank from rows for each rank.
static void exchange_bytes(const lac_exchange *e, const int64_t *rows, int64_t *bytes) {
  for (int r = 0; r <= e->halo->ranks; ++r) bytes[r] = rows[r] * e->items * e->row_bytes;
}

static lac_status exchange_buffer(lac_context *ctx, int64_t bytes, char **out) {
  lac_status status = LAC_OK;

  *out = lac_alloc((size_t)bytes);
  LAC_CHECK(*out, LAC_ERR_MEMORY, "out of memory: %lld bytes for the exchange of rows between ranks", (long long)bytes);
done:
  return status;
}

lac_status lac_exchange_open(lac_context *ctx, const lac_halo *halo, const lac_array *owned, lac_exchange *exchange) {
  lac_status status = LAC_OK;
  lac_exchange *e = exchange;
  lac_meta meta = owned->meta;
  const int rows = meta.ndim - 2;

  e->halo = halo;
  e->items = 1;
  for (int d = 0; d < rows; ++d) e->items *= meta.shape[d];
  e->row_bytes = meta.shape[rows + 1] * (int64_t)lac_dtype_size(meta.dtype);
  LAC_ALLOC(e->owned_offsets, halo->ranks + 1);
  LAC_ALLOC(e->ghost_offsets, halo->ranks + 1);
  exchange_bytes(e, halo->sent, e->owned_offsets);
  exchange_bytes(e, halo->ghosts, e->ghost_offsets);
  LAC_TRY(exchange_buffer(ctx, e->owned_offsets[halo->ranks], &e->owned));
  LAC_TRY(exchange_buffer(ctx, e->ghost_offsets[halo->ranks], &e->ghosts));
  if (halo->below + halo->above > 0) {
    meta.shape[rows] = exchange_columns(halo);
    meta.partition = NULL;
    LAC_TRY(lac_array_make(ctx, &meta, &e->extended));
  }
done:
  return status;
}

void lac_exchange_close(lac_exchange *exchange) {
  lac_array_destroy(&exchange->extended);
  lac_free(exchange->owned);
  lac_free(exchange->ghosts);
  lac_free(exchange->owned_offsets);
  lac_free(exchange->ghost_offsets);
}

// -- packing ---------------------------------------------------------------------------------------------------------

/// Pack the rows of x that other ranks asked for.
static void exchange_pack_owned(const lac_exchange *e, const char *x) {
  const lac_halo *h = e->halo;
  const size_t bytes = (size_t)e->row_bytes;

  for (int r = 0; r < h->ranks; ++r) {
    char *to = e->owned + e->owned_offsets[r];

    for (int64_t item = 0; item < e->items; ++item) {
      for (int64_t i = h->sent[r]; i < h->sent[r + 1]; ++i, to += bytes) {
        memcpy(to, x + (item * h->owned + h->rows_sent[i]) * e->row_bytes, bytes);
      }
    }
  }
}

typedef enum exchange_way { TO_EXTENDED, FROM_EXTENDED } exchange_way;

/// Move ghost rows between their buffer and `extended`. Those of one rank lie together in both.
static void exchange_move_ghosts(const lac_exchange *e, exchange_way way) {
  const lac_halo *h = e->halo;
  char *extended = exchange_data(e->extended);

  for (int r = 0; r < h->ranks; ++r) {
    const int64_t bytes = (h->ghosts[r + 1] - h->ghosts[r]) * e->row_bytes;
    char *packed = e->ghosts + e->ghost_offsets[r];

    for (int64_t item = 0; item < e->items && bytes > 0; ++item, packed += bytes) {
      char *rows = extended + (item * exchange_columns(h) + exchange_first(h, r)) * e->row_bytes;

      memcpy(way == TO_EXTENDED ? rows : packed, way == TO_EXTENDED ? packed : rows, (size_t)bytes);
    }
  }
}

/// Move owned rows between the array that holds them alone and `extended`.
static void exchange_move_owned(const lac_exchange *e, char *owned, exchange_way way) {
  const lac_halo *h = e->halo;
  const int64_t bytes = h->owned * e->row_bytes;
  char *extended = exchange_data(e->extended) + h->below * e->row_bytes;

  for (int64_t item = 0; item < e->items && bytes > 0; ++item) {
    char *inner = extended + item * exchange_columns(h) * e->row_bytes, *outer = owned + item * bytes;

    memcpy(way == TO_EXTENDED ? inner : outer, way == TO_EXTENDED ? outer : inner, (size_t)bytes);
  }
}

static void exchange_add_f32(float *to, const float *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

static void exchange_add_f64(double *to, const double *from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

/// Add what other ranks sent to the rows of y, rank by rank.
static void exchange_add_owned(const lac_exchange *e, lac_array *y) {
  const lac_halo *h = e->halo;
  char *data = exchange_data(y);

  for (int r = 0; r < h->ranks; ++r) {
    const char *from = e->owned + e->owned_offsets[r];

    for (int64_t item = 0; item < e->items; ++item) {
      for (int64_t i = h->sent[r]; i < h->sent[r + 1]; ++i, from += e->row_bytes) {
        void *to = data + (item * h->owned + h->rows_sent[i]) * e->row_bytes;

        if (lac_dtype_is_single(y->meta.dtype)) {
          exchange_add_f32(to, (const void *)from, e->row_bytes / (int64_t)sizeof(float));
        } else {
          exchange_add_f64(to, (const void *)from, e->row_bytes / (int64_t)sizeof(double));
        }
      }
    }
  }
}

// -- talking ---------------------------------------------------------------------------------------------------------

lac_status lac_exchange_fetch(lac_context *ctx, lac_exchange *exchange, const lac_array *x) {
  const lac_comm *comm = ctx->comm;
  lac_exchange *e = exchange;
  lac_status status = LAC_OK;

  exchange_pack_owned(e, exchange_data(x));
  LAC_TRY(lac_comm_check(ctx, comm->exchange(comm->self, e->owned, e->owned_offsets, e->ghosts, e->ghost_offsets)));
  if (e->extended) {
    exchange_move_owned(e, exchange_data(x), TO_EXTENDED);
    exchange_move_ghosts(e, TO_EXTENDED);
  }
done:
  return status;
}

lac_status lac_exchange_return(lac_context *ctx, lac_exchange *exchange, lac_array *y) {
  const lac_comm *comm = ctx->comm;
  lac_exchange *e = exchange;
  lac_status status = LAC_OK;

  if (e->extended) {
    exchange_move_ghosts(e, FROM_EXTENDED);
    exchange_move_owned(e, exchange_data(y), FROM_EXTENDED);
  }
  LAC_TRY(lac_comm_check(ctx, comm->exchange(comm->self, e->ghosts, e->ghost_offsets, e->owned, e->owned_offsets)));
  exchange_add_owned(e, y);
done:
  return status;
}

/// Room in which single precision is summed in double; none is needed for doubles. Passes `mine` on.
static lac_status reduce_prepare(lac_context *ctx, lac_status mine, const lac_array *y, int64_t count, double **wide) {
  lac_status status = mine;

  if (status != LAC_OK || !lac_dtype_is_single(y->meta.dtype)) return status;
  *wide = lac_alloc((size_t)count * sizeof **wide);
  LAC_CHECK(*wide, LAC_ERR_MEMORY, "out of memory: %lld numbers to be summed over ranks", (long long)count);
done:
  return status;
}

lac_status lac_reduce(lac_context *ctx, lac_status mine, lac_array *y) {
  const int64_t count = y->count * (lac_dtype_is_complex(y->meta.dtype) ? 2 : 1);
  lac_status status = LAC_OK;
  double *wide = NULL;
  float *single = NULL;

  LAC_TRY(lac_agree(ctx, reduce_prepare(ctx, mine, y, count, &wide)));
  if (!wide) {
    LAC_TRY(lac_comm_check(ctx, ctx->comm->sum(ctx->comm->self, (double *)exchange_data(y), count)));
    goto done;
  }
  single = (float *)exchange_data(y);
  for (int64_t i = 0; i < count; ++i) wide[i] = single[i];
  LAC_TRY(lac_comm_check(ctx, ctx->comm->sum(ctx->comm->self, wide, count)));
  for (int64_t i = 0; i < count; ++i) single[i] = (float)wide[i];
done:
  lac_free(wide);
  return status;
}
