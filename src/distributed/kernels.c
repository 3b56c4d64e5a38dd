// SPDX-License-Identifier: Apache-2.0
/// @file kernels.c
/// The kernel table of a context with a communicator. It wraps the backend's own table:
///
///     number by number      the local part, nothing else
///     spmm N, C             y = A H x: fetch ghost rows of x, then the local product
///     spmm T, H             y = H^T A^T x: the local transposed product, then ghost rows return to their owners and add
///     sddmm                 fetch ghost rows of v, then the local products
///     sum, dot              locally, then over ranks where a contracted axis is partitioned: the result is replicated
///
/// It has no open and close: a context opens and closes through its backend's own table, attached or not.
///
/// Rules and tape do not change: the vjp of spmm emits sddmm and spmm with the flipped side, and these communicate.

#include "distributed/distributed_impl.h"

// -- what passes through ---------------------------------------------------------------------------------------------

static lac_status distributed_synchronize(lac_context *ctx) { return ctx->local->synchronize(ctx); }

static lac_status distributed_upload(lac_context *ctx, void *to, const void *from_host, size_t bytes) {
  return ctx->local->upload(ctx, to, from_host, bytes);
}

static lac_status distributed_download(lac_context *ctx, void *to_host, const void *from, size_t bytes) {
  return ctx->local->download(ctx, to_host, from, bytes);
}

static lac_status distributed_copy(lac_context *ctx, const lac_array *from, lac_array *to) {
  return ctx->local->copy(ctx, from, to);
}

static lac_status distributed_fill(lac_context *ctx, lac_array *x, double real, double imag) {
  return ctx->local->fill(ctx, x, real, imag);
}

static lac_status distributed_binary(lac_context *ctx, lac_binary op, const lac_array *x, const lac_array *y,
                                     lac_array *z) {
  return ctx->local->binary(ctx, op, x, y, z);
}

static lac_status distributed_scale(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y) {
  return ctx->local->scale(ctx, real, imag, x, y);
}

static lac_status distributed_axpy(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y) {
  return ctx->local->axpy(ctx, real, imag, x, y);
}

static lac_status distributed_conj(lac_context *ctx, const lac_array *x, lac_array *y) {
  return ctx->local->conj(ctx, x, y);
}

static lac_status distributed_broadcast(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  return ctx->local->broadcast(ctx, x, mask, y);
}

/// Maps are between entries of one rank.
static lac_status distributed_remap(lac_context *ctx, const lac_map *map, lac_side side, const lac_array *x,
                                    lac_array *y) {
  return ctx->local->remap(ctx, map, side, x, y);
}

// -- reductions ------------------------------------------------------------------------------------------------------

/// The partitioned axis counted from the end, or -1.
static int partitioned_from_end(const lac_array *x) {
  return x->meta.partition ? x->meta.ndim - 1 - x->meta.partition_axis : -1;
}

static lac_status distributed_sum(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  const int axis = partitioned_from_end(x);
  const lac_status status = ctx->local->sum(ctx, x, mask, y);

  return axis >= 0 && (mask >> axis & 1) ? lac_reduce(ctx, status, y) : status;
}

static lac_status distributed_dot(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array *s) {
  const int axis = partitioned_from_end(x);
  const lac_status status = ctx->local->dot(ctx, x, y, s);

  return axis >= 0 && axis < 2 ? lac_reduce(ctx, status, s) : status;
}

// -- products --------------------------------------------------------------------------------------------------------

/// After a product with a pattern of one process: the sum over ranks where a partitioned axis went into an output that is replicated.
static lac_status product_finish(lac_context *ctx, lac_status status, const lac_array *x, const lac_array *y,
                                 lac_array *out) {
  const bool contracted = (x->meta.partition || y->meta.partition) && !out->meta.partition;

  return contracted ? lac_reduce(ctx, status, out) : status;
}

/// Refuse rows that are not spread like the pattern's. `infer` has seen to it for calls through a tape.
static lac_status product_expects(lac_context *ctx, const char *what, const lac_array *x,
                                  const lac_partition *partition) {
  lac_status status = LAC_OK;

  LAC_CHECK(x->meta.partition == partition && partitioned_from_end(x) == 1, LAC_ERR_SHAPE,
            "%s must be spread over ranks by the partition that the pattern was made with (lac_array_partitioned)",
            what);
done:
  return status;
}

/// Everything before rows are fetched. Local.
static lac_status product_prepare(lac_context *ctx, const char *what, const lac_pattern *p, const lac_array *x,
                                  lac_exchange *exchange) {
  lac_status status = LAC_OK;

  LAC_TRY(product_expects(ctx, what, x, p->col_partition));
  LAC_TRY(lac_exchange_open(ctx, lac_pattern_halo(p), x, exchange));
done:
  return status;
}

/// y = A H x
static lac_status spmm_fetch(lac_context *ctx, const lac_pattern *p, lac_side side, const lac_array *a,
                             const lac_array *x, lac_array *y) {
  const lac_pattern *local = lac_pattern_halo(p)->local;
  lac_status status = LAC_OK;
  lac_exchange e = {0};

  LAC_TRY(lac_agree(ctx, product_prepare(ctx, "spmm: x", p, x, &e)));
  LAC_TRY(lac_exchange_fetch(ctx, &e, x));
  LAC_TRY(lac_agree(ctx, ctx->local->spmm(ctx, local, side, a, e.extended ? e.extended : x, y)));
done:
  lac_exchange_close(&e);
  return status;
}

/// z = A^T x with the rows of ghosts, which others own. Local.
static lac_status spmm_extended(lac_context *ctx, const lac_pattern *p, lac_side side, const lac_array *a,
                                const lac_array *x, lac_array *y, lac_exchange *exchange) {
  const lac_pattern *local = lac_pattern_halo(p)->local;
  lac_status status = LAC_OK;

  LAC_TRY(product_expects(ctx, "spmm: x", x, p->row_partition));
  LAC_TRY(lac_exchange_open(ctx, lac_pattern_halo(p), y, exchange));
  LAC_TRY(ctx->local->spmm(ctx, local, side, a, x, exchange->extended ? exchange->extended : y));
done:
  return status;
}

/// y = H^T A^T x
static lac_status spmm_return(lac_context *ctx, const lac_pattern *p, lac_side side, const lac_array *a,
                              const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  lac_exchange e = {0};

  LAC_TRY(lac_agree(ctx, spmm_extended(ctx, p, side, a, x, y, &e)));
  LAC_TRY(lac_exchange_return(ctx, &e, y));
done:
  lac_exchange_close(&e);
  return status;
}

static lac_status distributed_spmm(lac_context *ctx, const lac_pattern *p, lac_side side, const lac_array *a,
                                   const lac_array *x, lac_array *y) {
  if (!p->halo) return product_finish(ctx, ctx->local->spmm(ctx, p, side, a, x, y), a, x, y);
  return lac_side_transposes(side) ? spmm_return(ctx, p, side, a, x, y) : spmm_fetch(ctx, p, side, a, x, y);
}

/// s = sddmm(A, u, H v)
static lac_status distributed_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v,
                                    lac_array *s) {
  lac_status status = LAC_OK;
  lac_exchange e = {0};

  if (!p->halo) return product_finish(ctx, ctx->local->sddmm(ctx, p, u, v, s), u, v, s);
  LAC_TRY(lac_agree(ctx, product_prepare(ctx, "sddmm: v", p, v, &e)));
  LAC_TRY(lac_exchange_fetch(ctx, &e, v));
  LAC_TRY(lac_agree(ctx, ctx->local->sddmm(ctx, lac_pattern_halo(p)->local, u, e.extended ? e.extended : v, s)));
done:
  lac_exchange_close(&e);
  return status;
}

// -- what is not there yet -------------------------------------------------------------------------------------------

static lac_status distributed_sampled_spgemm(lac_context *ctx, const lac_pattern *target, const lac_pattern *px,
                                             lac_side sx, const lac_pattern *py, lac_side sy, const lac_array *x,
                                             const lac_array *y, lac_array *t) {
  lac_status status = LAC_OK;

  LAC_CHECK(!target->halo && !px->halo && !py->halo && !x->meta.partition && !y->meta.partition, LAC_ERR_UNSUPPORTED,
            "sampled_spgemm: operands that are spread over ranks cannot be multiplied yet; use replicated ones");
  LAC_CHECK(ctx->local->sampled_spgemm, LAC_ERR_UNSUPPORTED, "sampled_spgemm: backend \"%s\" has no such kernel",
            ctx->local->name);
  LAC_TRY(ctx->local->sampled_spgemm(ctx, target, px, sx, py, sy, x, y, t));
done:
  return status;
}

static lac_status distributed_trisolve(lac_context *ctx, const lac_pattern *p, lac_triangle triangle,
                                       lac_diagonal diagonal, lac_side side, const lac_array *a, const lac_array *b,
                                       lac_array *x) {
  lac_status status = LAC_OK;

  LAC_CHECK(!p->halo && !a->meta.partition && !b->meta.partition, LAC_ERR_UNSUPPORTED,
            "trisolve: a system that is spread over ranks cannot be solved yet; use replicated operands");
  LAC_CHECK(ctx->local->trisolve, LAC_ERR_UNSUPPORTED, "trisolve: backend \"%s\" has no such kernel", ctx->local->name);
  LAC_TRY(ctx->local->trisolve(ctx, p, triangle, diagonal, side, a, b, x));
done:
  return status;
}

/// Patterns with blocks are of one process.
static lac_status distributed_block_spmm(lac_context *ctx, const lac_pattern *p, lac_side side, const lac_array *a,
                                         const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;

  LAC_CHECK(!a->meta.partition && !x->meta.partition, LAC_ERR_UNSUPPORTED,
            "spmm: operands that are spread over ranks cannot be multiplied by blocks yet; use replicated ones, or the "
            "pattern without blocks (lac_pattern_scalar)");
  LAC_CHECK(ctx->local->block_spmm, LAC_ERR_UNSUPPORTED, "spmm: backend \"%s\" has no kernel for blocks",
            ctx->local->name);
  LAC_TRY(ctx->local->block_spmm(ctx, p, side, a, x, y));
done:
  return status;
}

static lac_status distributed_block_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u,
                                          const lac_array *v, lac_array *s) {
  lac_status status = LAC_OK;

  LAC_CHECK(
      !u->meta.partition && !v->meta.partition, LAC_ERR_UNSUPPORTED,
      "sddmm: operands that are spread over ranks cannot be multiplied by blocks yet; use replicated ones, or the "
      "pattern without blocks (lac_pattern_scalar)");
  LAC_CHECK(ctx->local->block_sddmm, LAC_ERR_UNSUPPORTED, "sddmm: backend \"%s\" has no kernel for blocks",
            ctx->local->name);
  LAC_TRY(ctx->local->block_sddmm(ctx, p, u, v, s));
done:
  return status;
}

static lac_status distributed_sell_mm(lac_context *ctx, const lac_format *f, const lac_array *a, const lac_array *x,
                                      lac_array *y) {
  lac_status status = LAC_OK;

  LAC_CHECK(!a->meta.partition && !x->meta.partition, LAC_ERR_UNSUPPORTED,
            "sell_mm: operands that are spread over ranks cannot be multiplied yet; use spmm, or replicated ones");
  LAC_CHECK(ctx->local->sell_mm, LAC_ERR_UNSUPPORTED, "sell_mm: backend \"%s\" has no such kernel", ctx->local->name);
  LAC_TRY(ctx->local->sell_mm(ctx, f, a, x, y));
done:
  return status;
}

const lac_kernels lac_distributed_kernels = {
    .name = "distributed",
    .synchronize = distributed_synchronize,
    .upload = distributed_upload,
    .download = distributed_download,
    .copy = distributed_copy,
    .fill = distributed_fill,
    .binary = distributed_binary,
    .scale = distributed_scale,
    .axpy = distributed_axpy,
    .conj = distributed_conj,
    .sum = distributed_sum,
    .broadcast = distributed_broadcast,
    .dot = distributed_dot,
    .remap = distributed_remap,
    .spmm = distributed_spmm,
    .sddmm = distributed_sddmm,
    .sampled_spgemm = distributed_sampled_spgemm,
    .trisolve = distributed_trisolve,
    .block_spmm = distributed_block_spmm,
    .block_sddmm = distributed_block_sddmm,
    .sell_mm = distributed_sell_mm,
    .agree = lac_context_agree,
};
