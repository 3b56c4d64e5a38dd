// SPDX-License-Identifier: Apache-2.0
/// @file kernels.c
/// The kernel table of a context with a communicator: the backend's own, but for
///
///     spmm N, C             y = A H x: fetch ghost rows of x, then the local product
///     spmm T, H             y = H^T A^T x: the local transposed product, then ghost rows return to their owners and
///                           add
///     sddmm                 fetch ghost rows of v, then the local products
///     sum, dot, matmul      locally, then over ranks where a contracted axis is partitioned: the result is replicated
///
/// What works number by number works on the local part, and needs nothing here. Operators that cannot do with a part
/// say LAC_OP_WHOLE.
///
/// Rules and tape do not change: the vjp of spmm emits sddmm and spmm with the flipped form, and these communicate.

#include "distributed/distributed_impl.h"

// -- reductions ------------------------------------------------------------------------------------------------------

/// The partitioned axis counted from the end, or -1.
static int partitioned_from_end(const lac_array *x) {
  return x->meta.partition ? x->meta.ndim - 1 - x->meta.partition_axis : -1;
}

static lac_status distributed_sum(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  const int axis = partitioned_from_end(x);
  const lac_status status = ctx->backend->kernels->sum(ctx, x, mask, y);

  return axis >= 0 && (mask >> axis & 1) ? lac_reduce(ctx, status, y) : status;
}

static lac_status distributed_dot(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array *s) {
  const int axis = partitioned_from_end(x);
  const lac_status status = ctx->backend->kernels->dot(ctx, x, y, s);

  return axis >= 0 && axis < 2 ? lac_reduce(ctx, status, s) : status;
}

// -- products --------------------------------------------------------------------------------------------------------

/// After a product with a pattern of one process: the sum over ranks where a partitioned axis went into an output that
/// is replicated.
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
static lac_status spmm_fetch(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a,
                             const lac_array *x, lac_array *y) {
  const lac_pattern *local = lac_pattern_halo(p)->local;
  lac_status status = LAC_OK;
  lac_exchange e = {0};

  LAC_TRY(lac_agree(ctx, product_prepare(ctx, "spmm: x", p, x, &e)));
  LAC_TRY(lac_exchange_fetch(ctx, &e, x));
  LAC_TRY(lac_agree(ctx, ctx->backend->kernels->spmm(ctx, local, form, a, e.extended ? e.extended : x, y)));
done:
  lac_exchange_close(&e);
  return status;
}

/// z = A^T x with the rows of ghosts, which others own. Local.
static lac_status spmm_extended(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a,
                                const lac_array *x, lac_array *y, lac_exchange *exchange) {
  const lac_pattern *local = lac_pattern_halo(p)->local;
  lac_status status = LAC_OK;

  LAC_TRY(product_expects(ctx, "spmm: x", x, p->row_partition));
  LAC_TRY(lac_exchange_open(ctx, lac_pattern_halo(p), y, exchange));
  LAC_TRY(ctx->backend->kernels->spmm(ctx, local, form, a, x, exchange->extended ? exchange->extended : y));
done:
  return status;
}

/// y = H^T A^T x
static lac_status spmm_return(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a,
                              const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  lac_exchange e = {0};

  LAC_TRY(lac_agree(ctx, spmm_extended(ctx, p, form, a, x, y, &e)));
  LAC_TRY(lac_exchange_return(ctx, &e, y));
done:
  lac_exchange_close(&e);
  return status;
}

static lac_status distributed_spmm(lac_context *ctx, const lac_pattern *p, lac_form form, const lac_array *a,
                                   const lac_array *x, lac_array *y) {
  if (!p->halo) return product_finish(ctx, ctx->backend->kernels->spmm(ctx, p, form, a, x, y), a, x, y);
  return lac_form_transposes(form) ? spmm_return(ctx, p, form, a, x, y) : spmm_fetch(ctx, p, form, a, x, y);
}

/// s = sddmm(A, u, H v)
static lac_status distributed_sddmm(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v,
                                    lac_array *s) {
  lac_status status = LAC_OK;
  lac_exchange e = {0};

  if (!p->halo) return product_finish(ctx, ctx->backend->kernels->sddmm(ctx, p, u, v, s), u, v, s);
  LAC_TRY(lac_agree(ctx, product_prepare(ctx, "sddmm: v", p, v, &e)));
  LAC_TRY(lac_exchange_fetch(ctx, &e, v));
  LAC_TRY(
      lac_agree(ctx, ctx->backend->kernels->sddmm(ctx, lac_pattern_halo(p)->local, u, e.extended ? e.extended : v, s)));
done:
  lac_exchange_close(&e);
  return status;
}

static lac_status distributed_matmul(lac_context *ctx, lac_form form_x, const lac_array *x, lac_form form_y,
                                     const lac_array *y, lac_array *z) {
  return product_finish(ctx, ctx->backend->kernels->matmul(ctx, form_x, x, form_y, y, z), x, y, z);
}

// -- the table -------------------------------------------------------------------------------------------------------

void lac_distributed_kernels(const lac_kernels *local, lac_kernels *out) {
  *out = *local;
  out->sum = distributed_sum;
  out->dot = distributed_dot;
  out->spmm = distributed_spmm;
  out->sddmm = distributed_sddmm;
  if (local->matmul) out->matmul = distributed_matmul;
  out->agree = lac_context_agree;
}
