// SPDX-License-Identifier: Apache-2.0
/// @file kernels.c
/// The kernel table of a context with a communicator: the backend's own, but for
///
///     spmm N, C             y = A H x: fetch ghost rows of x, then the local product
///     spmm T, H             y = H^T A^T x: the local transposed product, then ghost rows return to their owners and add
///     sddmm                 fetch ghost rows of v, then the local products
///     sum, dot              locally, then over ranks where a contracted axis is partitioned: the result is replicated
///
/// What works number by number works on the local part, and needs nothing here. Operators that cannot do with a part say
/// LAC_WHOLE. The table has no open and close: a context opens and closes through its backend's own, attached or not.
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

/// Refuse what the backend of this context has no kernel for.
static lac_status needs_local(lac_context *ctx, bool has_kernel, const char *name) {
  lac_status status = LAC_OK;

  LAC_CHECK(has_kernel, LAC_ERR_UNSUPPORTED, "%s: backend \"%s\" has no such kernel", name, ctx->local->name);
done:
  return status;
}

static lac_status distributed_unary(lac_context *ctx, lac_unary op, const lac_array *x, lac_array *y) {
  lac_status status = needs_local(ctx, ctx->local->unary, "unary");
  return status == LAC_OK ? ctx->local->unary(ctx, op, x, y) : status;
}

static lac_status distributed_power(lac_context *ctx, double exponent, const lac_array *x, lac_array *y) {
  lac_status status = needs_local(ctx, ctx->local->power, "power");
  return status == LAC_OK ? ctx->local->power(ctx, exponent, x, y) : status;
}

static lac_status distributed_clamp(lac_context *ctx, double low, double high, const lac_array *x, lac_array *y) {
  lac_status status = needs_local(ctx, ctx->local->clamp, "clamp");
  return status == LAC_OK ? ctx->local->clamp(ctx, low, high, x, y) : status;
}

static lac_status distributed_cast(lac_context *ctx, const lac_array *x, lac_array *y) {
  lac_status status = needs_local(ctx, ctx->local->cast, "cast");
  return status == LAC_OK ? ctx->local->cast(ctx, x, y) : status;
}

static lac_status distributed_where(lac_context *ctx, const lac_array *c, const lac_array *x, const lac_array *y,
                                    lac_array *z) {
  lac_status status = needs_local(ctx, ctx->local->where, "where");
  return status == LAC_OK ? ctx->local->where(ctx, c, x, y, z) : status;
}

static lac_status distributed_broadcast(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  return ctx->local->broadcast(ctx, x, mask, y);
}

/// Over axes that are not spread (the operators see to it).
static lac_status distributed_reduce(lac_context *ctx, lac_reduction op, const lac_array *x, uint32_t mask,
                                     lac_array *y) {
  lac_status status = LAC_OK;

  LAC_CHECK(ctx->local->reduce, LAC_ERR_UNSUPPORTED, "backend \"%s\" has no kernel for max, min, norm and logsumexp",
            ctx->local->name);
  LAC_TRY(ctx->local->reduce(ctx, op, x, mask, y));
done:
  return status;
}

static lac_status distributed_softmax(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  lac_status status = LAC_OK;

  LAC_CHECK(ctx->local->softmax, LAC_ERR_UNSUPPORTED, "softmax: backend \"%s\" has no such kernel", ctx->local->name);
  LAC_TRY(ctx->local->softmax(ctx, x, mask, y));
done:
  return status;
}

static lac_status distributed_cumsum(lac_context *ctx, int axis, bool backwards, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;

  LAC_CHECK(ctx->local->cumsum, LAC_ERR_UNSUPPORTED, "cumsum: backend \"%s\" has no such kernel", ctx->local->name);
  LAC_TRY(ctx->local->cumsum(ctx, axis, backwards, x, y));
done:
  return status;
}

/// Along an axis that is not spread (slice, embed and concat see to it).
static lac_status distributed_place(lac_context *ctx, int axis, int64_t count, const lac_array *x, lac_places from,
                                    lac_array *y, lac_places to) {
  lac_status status = LAC_OK;

  LAC_CHECK(ctx->local->place, LAC_ERR_UNSUPPORTED, "backend \"%s\" has no kernel that moves parts of arrays",
            ctx->local->name);
  LAC_TRY(ctx->local->place(ctx, axis, count, x, from, y, to));
done:
  return status;
}

/// Maps are between entries of one rank.
static lac_status distributed_remap(lac_context *ctx, const lac_map *map, lac_side side, int rest, const lac_array *x,
                                    lac_array *y) {
  return ctx->local->remap(ctx, map, side, rest, x, y);
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

static lac_status distributed_matmul(lac_context *ctx, lac_side side_x, const lac_array *x, lac_side side_y,
                                     const lac_array *y, lac_array *z) {
  return product_finish(ctx, ctx->local->matmul(ctx, side_x, x, side_y, y, z), x, y, z);
}

// -- the table -------------------------------------------------------------------------------------------------------

void lac_distributed_kernels(const lac_kernels *local, lac_kernels *out) {
  *out = *local;
  out->name = "distributed";
  out->open = NULL;
  out->close = NULL;
  out->sum = distributed_sum;
  out->dot = distributed_dot;
  out->spmm = distributed_spmm;
  out->sddmm = distributed_sddmm;
  if (local->matmul) out->matmul = distributed_matmul;
  out->agree = lac_context_agree;
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
    .unary = distributed_unary,
    .power = distributed_power,
    .clamp = distributed_clamp,
    .cast = distributed_cast,
    .where = distributed_where,
    .sum = distributed_sum,
    .reduce = distributed_reduce,
    .softmax = distributed_softmax,
    .cumsum = distributed_cumsum,
    .broadcast = distributed_broadcast,
    .dot = distributed_dot,
    .place = distributed_place,
    .remap = distributed_remap,
    .spmm = distributed_spmm,
    .sddmm = distributed_sddmm,
    .sampled_spgemm = distributed_sampled_spgemm,
    .matmul = distributed_matmul,
    .trisolve = distributed_trisolve,
    .agree = lac_context_agree,
};
