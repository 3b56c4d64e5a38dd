// SPDX-License-Identifier: Apache-2.0
/// @file attach.c
/// A context joins its fellows on other ranks, and agrees with them on how things stand.

#include "distributed/distributed_impl.h"

#include <string.h>

/// What the first failing rank tells the others.
typedef struct attach_news {
  int32_t status;
  char function[64];
  char sentence[LAC_SENTENCE_SIZE];
} attach_news;

/// The innermost function of the trace "f < g < h".
static void attach_innermost(const char *trace, char function[64]) {
  size_t length = strcspn(trace, " ");

  if (length > 63) length = 63;
  memcpy(function, trace, length);
  function[length] = '\0';
}

lac_status lac_comm_check(lac_context *ctx, int code) {
  if (code == 0) return LAC_OK;
  return lac_context_fail(ctx, LAC_ERR_BACKEND, __func__,
                          "communication failed on rank %d of %d: the library returned code %d\n"
                          "  the ranks are no longer in step: end the program",
                          ctx->comm->rank, ctx->comm->size, code);
}

lac_status lac_comm_required(lac_context *ctx, const char *function) {
  if (ctx->comm) return LAC_OK;
  return lac_context_fail(ctx, LAC_ERR_ARG, function,
                          "%s: the context has no communicator; call lac_context_attach first", function);
}

/// Tell, or hear, what happened on rank `root`.
static lac_status attach_spread(lac_context *ctx, lac_status mine, int root) {
  attach_news news = {.status = mine};
  lac_status status = LAC_OK;

  if (ctx->comm->rank == root) {
    attach_innermost(ctx->trace, news.function);
    memcpy(news.sentence, ctx->sentence, LAC_SENTENCE_SIZE);
  }
  LAC_TRY(lac_comm_check(ctx, ctx->comm->broadcast(ctx->comm->self, &news, sizeof news, root)));
  if (mine != LAC_OK) return mine;  // who failed keeps what it knows
  status = lac_context_fail(ctx, LAC_ERR_REMOTE, __func__, "rank %d failed in %s with %s: %s", root, news.function,
                            lac_status_name((lac_status)news.status), news.sentence);
done:
  return status;
}

lac_status lac_context_agree(lac_context *ctx, lac_status mine) {
  lac_status status = LAC_OK;
  int64_t worst = 0;

  LAC_CHECK_CONTEXT();
  if (!ctx->comm) return mine;
  worst = mine == LAC_OK ? 0 : ctx->comm->size - ctx->comm->rank;  // the lowest failing rank has the largest
  LAC_TRY(lac_comm_check(ctx, ctx->comm->max(ctx->comm->self, &worst, 1)));
  if (worst > 0) status = attach_spread(ctx, mine, ctx->comm->size - (int)worst);
done:
  if (ctx) ctx->agreed = status != LAC_OK;
  return status;
}

/// The context's own table, made when it first communicates.
static lac_status attach_table(lac_context *ctx) {
  lac_status status = LAC_OK;

  if (!ctx->attached) LAC_ALLOC(ctx->attached, 1);
  lac_distributed_kernels(ctx->backend->kernels, ctx->attached);
done:
  return status;
}

lac_status lac_context_attach(lac_context *ctx, const lac_comm *comm) {
  lac_status status = LAC_OK, mine = LAC_OK;

  LAC_CHECK_CONTEXT();
  ctx->comm = NULL;
  ctx->kernels = ctx->backend->kernels;
  if (!comm) return LAC_OK;
  LAC_CHECK(comm->sum && comm->max && comm->gather && comm->exchange && comm->broadcast, LAC_ERR_ARG,
            "lac_context_attach: the communicator lacks a function; all five must be set");
  LAC_CHECK(comm->size > 0 && comm->rank >= 0 && comm->rank < comm->size, LAC_ERR_ARG,
            "lac_context_attach: rank %d of %d ranks is not possible", comm->rank, comm->size);
  ctx->comm = comm;
  if (!ctx->space->is_host) {
    mine = lac_context_fail(ctx, LAC_ERR_UNSUPPORTED, __func__,
                            "lac_context_attach: contexts on \"%s\" cannot communicate yet; use \"cpu\"",
                            ctx->backend->name);
  }
  if (mine == LAC_OK) mine = attach_table(ctx);
  status = lac_context_agree(ctx, mine);
  if (status == LAC_OK) {
    ctx->kernels = ctx->attached;
  } else {
    ctx->comm = NULL;
  }
done:
  return status;
}
