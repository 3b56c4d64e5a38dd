// SPDX-License-Identifier: Apache-2.0
/// @file lanczos.c
/// Lanczos with full reorthogonalisation.
///
///     w = A v_j,  alpha_j = v_j^H w,  w = w - V V^H w (twice),  beta_j = |w|,  v_j+1 = w / beta_j
///
/// and with a preconditioner B, where U = B^-1 V is kept too:
///
///     w = w - U V^H w (twice),  z = B w,  beta_j = sqrt(w^H z),  v_j+1 = z / beta_j,  u_j+1 = w / beta_j
///
/// The vectors lie in blocks of a few, so that reorthogonalisation is a product with a dense matrix and reads each
/// vector twice; places of a block that are not filled yet are zero. Where beta is rounding relative to earlier ones,
/// the space is exhausted: the vectors that follow are zero and change nothing.

#include "solvers/eigen/lanczos.h"

#include <math.h>

#include "core/reals.h"

enum { LANCZOS_BLOCK = 8, LANCZOS_PASSES = 2 };

typedef struct lanczos_work {
  const lac_lanczos *job;
  int64_t items, n, steps, blocks;
  double rounding;
  lac_array **block;              // [*batch, LANCZOS_BLOCK, n]
  lac_array **dual;               // U likewise; NULL: there is no preconditioner
  lac_array *v, *w, *t;           // [*batch, n, 1]
  lac_array *u, *z;               // [*batch, n, 1]; NULL: there is no preconditioner
  lac_array *lying, *lying_u;     // v and u as [*batch, 1, n]
  lac_array *coefficients;        // [*batch, LANCZOS_BLOCK, 1]
  lac_array *number;              // [*batch, 1, 1]
  lac_array *dots, *norms;        // [*batch]; norms are real
  double *read, *factor, *scale;  // [items]
} lanczos_work;

static void lanczos_close(lanczos_work *work) {
  lac_array **arrays[] = {&work->v,      &work->w,     &work->t,       &work->u,
                          &work->z,      &work->lying, &work->lying_u, &work->coefficients,
                          &work->number, &work->dots,  &work->norms};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) lac_array_destroy(arrays[i]);
  for (int64_t b = 0; work->block && b < work->blocks; b++) lac_array_destroy(&work->block[b]);
  for (int64_t b = 0; work->dual && b < work->blocks; b++) lac_array_destroy(&work->dual[b]);
  lac_free(work->block);
  lac_free(work->dual);
  lac_free(work->read);
  lac_free(work->factor);
  lac_free(work->scale);
}

/// An array of the batch of `like` with these last two axes.
static lac_status lanczos_array(lac_context *ctx, const lac_array *like, int64_t rows, int64_t cols, lac_array **out) {
  lac_meta meta = like->meta;
  meta.shape[meta.ndim - 2] = rows;
  meta.shape[meta.ndim - 1] = cols;
  return lac_array_make(ctx, &meta, out);
}

static lac_status lanczos_open_blocks(lac_context *ctx, const lac_array *start, const lanczos_work *work,
                                      lac_array **block) {
  lac_status status = LAC_OK;

  for (int64_t b = 0; b < work->blocks; b++) {
    LAC_TRY(lanczos_array(ctx, start, LANCZOS_BLOCK, work->n, &block[b]));
    LAC_TRY(ctx->backend->fill(ctx, block[b], 0, 0));
  }
done:
  return status;
}

/// What a preconditioner needs besides.
static lac_status lanczos_open_dual(lac_context *ctx, const lac_array *start, lanczos_work *work) {
  lac_status status = LAC_OK;

  LAC_ALLOC(work->dual, work->blocks);
  LAC_TRY(lanczos_array(ctx, start, work->n, 1, &work->u));
  LAC_TRY(lanczos_array(ctx, start, work->n, 1, &work->z));
  LAC_TRY(lac_array_reshape(ctx, work->u, work->lying->meta.ndim, work->lying->meta.shape, &work->lying_u));
  LAC_TRY(lanczos_open_blocks(ctx, start, work, work->dual));
done:
  return status;
}

static lac_status lanczos_open_arrays(lac_context *ctx, const lac_array *start, lanczos_work *work) {
  lac_status status = LAC_OK;
  int64_t n = work->n, shape[LAC_MAX_DIMS];
  int batch = start->meta.ndim - 2;

  for (int d = 0; d < batch; d++) shape[d] = start->meta.shape[d];
  shape[batch] = 1, shape[batch + 1] = n;
  LAC_TRY(lanczos_array(ctx, start, n, 1, &work->v));
  LAC_TRY(lanczos_array(ctx, start, n, 1, &work->w));
  LAC_TRY(lanczos_array(ctx, start, n, 1, &work->t));
  LAC_TRY(lac_array_reshape(ctx, work->v, batch + 2, shape, &work->lying));
  LAC_TRY(lanczos_array(ctx, start, LANCZOS_BLOCK, 1, &work->coefficients));
  LAC_TRY(lanczos_array(ctx, start, 1, 1, &work->number));
  LAC_TRY(lac_array_create(ctx, start->meta.dtype, batch, shape, &work->dots));
  LAC_TRY(lac_array_create(ctx, lac_dtype_real(start->meta.dtype), batch, shape, &work->norms));
  LAC_TRY(lanczos_open_blocks(ctx, start, work, work->block));
  if (work->job->preconditioner) LAC_TRY(lanczos_open_dual(ctx, start, work));
done:
  return status;
}

static lac_status lanczos_open(lac_context *ctx, const lac_lanczos *job, const lac_array *start, lanczos_work *work) {
  lac_status status = LAC_OK;
  const lac_kernels *k = ctx->kernels;

  LAC_CHECK(k->matmul && k->place && k->reduce, LAC_ERR_UNSUPPORTED,
            "%s: the backend %s lacks dense products, moves or norms; use a CPU context", job->function,
            ctx->backend->name);
  work->job = job;
  work->n = start->meta.shape[start->meta.ndim - 2];
  work->items = 1;
  for (int d = 0; d < start->meta.ndim - 2; d++) work->items *= start->meta.shape[d];
  work->steps = job->steps < work->n ? job->steps : work->n;
  work->blocks = (work->steps + LANCZOS_BLOCK - 1) / LANCZOS_BLOCK;
  work->rounding = 16 * lac_dtype_epsilon(start->meta.dtype);
  LAC_ALLOC(work->block, work->blocks);
  LAC_ALLOC(work->read, work->items);
  LAC_ALLOC(work->factor, work->items);
  LAC_ALLOC(work->scale, work->items);
  LAC_TRY(lanczos_open_arrays(ctx, start, work));
done:
  return status;
}

/// z = B w, and sqrt(w^H z) of each item into work->read.
static lac_status lanczos_norm_by_preconditioner(lac_context *ctx, lanczos_work *work) {
  lac_status status = LAC_OK;

  LAC_TRY(work->job->preconditioner(ctx, work->job->self, work->w, work->z));
  LAC_TRY(ctx->kernels->dot(ctx, work->w, work->z, work->dots));
  LAC_TRY(lac_reals_read(ctx, work->dots, work->read));
  for (int64_t i = 0; i < work->items; i++) {
    double square = work->read[i], size = sqrt(fabs(square));
    LAC_CHECK(!(square < 0) || size <= work->rounding * work->scale[i], LAC_ERR_DEFINITE,
              "%s: the preconditioner is not positive definite: (x, B x) is %.3g for an x", work->job->function,
              square);
    work->read[i] = square < 0 ? 0 : size;
  }
done:
  return status;
}

/// |w| of each item into work->read, in the norm of a preconditioner where there is one.
static lac_status lanczos_norm(lac_context *ctx, lanczos_work *work) {
  lac_status status = LAC_OK;

  if (work->job->preconditioner) return lanczos_norm_by_preconditioner(ctx, work);
  LAC_TRY(ctx->kernels->reduce(ctx, LAC_REDUCE_NORM, work->w, 3, work->norms));
  LAC_TRY(lac_reals_read(ctx, work->norms, work->read));
done:
  return status;
}

/// v = w / work->read, or z / work->read and u = w / work->read, and 0 where that is 0.
static lac_status lanczos_normalise(lac_context *ctx, lanczos_work *work) {
  lac_status status = LAC_OK;
  for (int64_t i = 0; i < work->items; i++) work->factor[i] = work->read[i] == 0 ? 0 : 1 / work->read[i];
  LAC_TRY(lac_reals_write(ctx, work->number, work->factor));
  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, work->number, work->z ? work->z : work->w, work->v));
  if (work->u) LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, work->number, work->w, work->u));
done:
  return status;
}

/// w = w - U V^H w for the vectors of the first `blocks` blocks, twice; U is V where there is no preconditioner.
static lac_status lanczos_orthogonalise(lac_context *ctx, lanczos_work *work, int64_t blocks) {
  lac_status status = LAC_OK;
  const lac_kernels *k = ctx->kernels;
  lac_array **dual = work->dual ? work->dual : work->block;

  for (int pass = 0; pass < LANCZOS_PASSES; pass++) {
    for (int64_t b = 0; b < blocks; b++) {
      LAC_TRY(k->matmul(ctx, LAC_CONJUGATED, work->block[b], LAC_PLAIN, work->w, work->coefficients));
      LAC_TRY(k->matmul(ctx, LAC_TRANSPOSED, dual[b], LAC_PLAIN, work->coefficients, work->t));
      LAC_TRY(k->axpy(ctx, -1, 0, work->t, work->w));
    }
  }
done:
  return status;
}

/// Keep alpha or beta of step j; a beta that is rounding relative to earlier ones becomes 0.
static void lanczos_note(lanczos_work *work, int64_t j, bool is_beta) {
  const lac_lanczos *job = work->job;
  for (int64_t i = 0; i < work->items; i++) {
    if (is_beta && (work->read[i] <= work->rounding * work->scale[i] || j + 1 == work->n)) work->read[i] = 0;
    work->scale[i] = fmax(work->scale[i], fabs(work->read[i]));
    (is_beta ? job->beta : job->alpha)[i * job->steps + j] = work->read[i];
    if (is_beta && work->read[i] == 0 && job->made[i] > j + 1) job->made[i] = j + 1;
  }
}

static lac_status lanczos_step(lac_context *ctx, lanczos_work *work, int64_t j) {
  lac_status status = LAC_OK;
  const lac_kernels *k = ctx->kernels;
  int64_t b = j / LANCZOS_BLOCK;
  lac_along from = {0, 1}, to = {j % LANCZOS_BLOCK, 1};

  LAC_TRY(k->place(ctx, 1, 1, work->lying, from, work->block[b], to));
  if (work->dual) LAC_TRY(k->place(ctx, 1, 1, work->lying_u, from, work->dual[b], to));
  LAC_TRY(work->job->product(ctx, work->job->self, work->v, work->w));
  LAC_TRY(k->dot(ctx, work->v, work->w, work->dots));
  LAC_TRY(lac_reals_read(ctx, work->dots, work->read));
  lanczos_note(work, j, false);
  LAC_TRY(lanczos_orthogonalise(ctx, work, b + 1));
  LAC_TRY(lanczos_norm(ctx, work));
  lanczos_note(work, j, true);
  LAC_TRY(lanczos_normalise(ctx, work));
done:
  return status;
}

lac_status lac_lanczos_run(lac_context *ctx, const lac_lanczos *job, const lac_array *start) {
  lac_status status = LAC_OK;
  lanczos_work work = {0};

  LAC_TRY(lanczos_open(ctx, job, start, &work));
  LAC_TRY(ctx->backend->copy(ctx, start, work.w));
  LAC_TRY(lanczos_norm(ctx, &work));
  for (int64_t i = 0; i < work.items; i++) {
    job->norm[i] = work.read[i];
    job->made[i] = work.read[i] == 0 ? 0 : work.steps;
  }
  LAC_TRY(lanczos_normalise(ctx, &work));
  for (int64_t j = 0; j < work.steps; j++) {
    LAC_TRY(lac_context_look(ctx, job->function));
    LAC_TRY(lanczos_step(ctx, &work, j));
  }
done:
  lanczos_close(&work);
  return status;
}
