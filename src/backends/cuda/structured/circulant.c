// SPDX-License-Identifier: Apache-2.0
/// @file circulant.c
/// Circulant matrices, C[i, j] = c[(i - j) mod n], which Fourier transforms make diagonal: y^ = c^ x^.
///
/// The transforms are our own (fft.cu), in double precision. Few unknowns are multiplied directly. Columns are taken as
/// many at a time as some room holds.

#include "backends/cuda/backend.h"
#include "backends/cuda/structured/structured.h"

enum { CIRCULANT_DIRECT = 32 };                          // up to here n^2 products are less than three transforms
static const int64_t CIRCULANT_ROOM = (int64_t)1 << 24;  // numbers in Fourier space at a time, if one column has fewer

/// A job in Fourier space, and the parts of its memory.
typedef struct circulant_job {
  cuda_circulant_part part;
  cuda_fft fft;
  int64_t items;  // of the joint batch
  cuda_scratch memory;
  uint64_t *fault;
  cuda_wide *tables, *kept, *x, *room;  // kept: c^ of all items of c, or the sums of all items; x: columns
} circulant_job;

static int64_t last_size(const lac_array *x) { return x->meta.shape[x->meta.ndim - 1]; }

static int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

/// `x_core` is 1 where the first operand has n numbers in an item, 2 where it has n k.
static circulant_job job_of(const lac_array *x, const lac_array *y, const lac_array *out, int x_core, int out_core) {
  const int core[] = {x_core, 2, out_core};
  int64_t k = last_size(y), n = y->meta.shape[y->meta.ndim - 2];
  circulant_job job = {.part = {.dtype = out->meta.dtype, .n = n, .k = k, .count = k}};
  job.part.batch = cuda_batch_of(x, y, out, core, x_core == 1 ? n : n * k, n * k);
  job.items = job.part.batch.kept.count;
  return job;
}

/// Take memory for `kept` transforms that stay and `sets` sets of columns, and fill the tables. job->part.count becomes
/// how many columns are taken at a time.
static lac_status job_open(lac_context *ctx, const char *name, circulant_job *job, int64_t kept, int sets) {
  lac_status status = LAC_OK;
  int64_t n = job->part.n, tables, column, columns, units, room;
  cudaError_t error = cudaSuccess;
  cuda_scope scope;

  job->fft = cuda_fft_plan(n);
  tables = cuda_fft_tables(&job->fft);
  column = job->items * (sets * n + cuda_fft_room(&job->fft, 1));
  columns = largest(1, CIRCULANT_ROOM / column);
  if (columns < job->part.k) job->part.count = columns;
  units = job->items * job->part.count;
  room = cuda_fft_room(&job->fft, largest(kept, units));
  LAC_TRY(cuda_scratch_take(ctx, name, (size_t)(1 + tables + kept * n + sets * units * n + room) * sizeof *job->tables,
                            &job->memory));
  job->fault = job->memory.data;
  job->tables = (cuda_wide *)job->memory.data + 1;
  job->kept = job->tables + tables;
  job->x = job->kept + kept * n;
  job->room = job->x + sets * units * n;
  scope = cuda_begin(ctx);
  error = cuda_launch_fft_tables(ctx->stream, &job->fft, job->tables, job->room);
  LAC_TRY(cuda_end(ctx, scope, error, name));
done:
  return status;
}

/// The next columns of a job; false: there are none.
static bool job_next(circulant_job *job) {
  cuda_circulant_part *part = &job->part;
  part->first += part->count;
  if (part->first + part->count > part->k) part->count = part->k - part->first;
  return part->count > 0;
}

/// c^ of all items of c, or 1 / c^.
static cudaError_t start_symbol(cudaStream_t stream, circulant_job *job, lac_form form, const lac_array *c,
                                const double *tolerance) {
  int64_t n = job->part.n, items = c->count / n;
  cudaError_t error = cuda_launch_circulant_load(stream, job->part.dtype, n, items, lac_form_transposes(form),
                                                 lac_form_conjugates(form), c->storage->data, job->kept);
  if (error == cudaSuccess) error = cuda_launch_fft(stream, &job->fft, items, job->kept, job->room);
  if (error == cudaSuccess && tolerance) {
    error = cuda_launch_circulant_invert(stream, n, items, *tolerance, job->kept, job->fault);
  }
  return error;
}

static cudaError_t start_columns(cudaStream_t stream, circulant_job *job, const lac_array *x, lac_array *y) {
  const cuda_circulant_part *part = &job->part;
  int64_t units = job->items * cuda_circulant_units(part, 1);
  cudaError_t error = cuda_launch_circulant_gather(stream, part, 1, 1, x->storage->data, job->x);
  if (error == cudaSuccess) error = cuda_launch_fft(stream, &job->fft, units, job->x, job->room);
  if (error == cudaSuccess) error = cuda_launch_circulant_multiply(stream, part, job->kept, job->x);
  if (error == cudaSuccess) error = cuda_launch_fft(stream, &job->fft, units, job->x, job->room);
  return error == cudaSuccess ? cuda_launch_circulant_store(stream, part, job->x, y->storage->data) : error;
}

/// y = op(C) x, or op(C)^-1 x where there is a tolerance.
static lac_status circulant_run(lac_context *ctx, const char *name, circulant_job *job, lac_form form,
                                const lac_array *c, const lac_array *x, lac_array *y, const double *tolerance) {
  lac_status status = LAC_OK;
  cudaError_t error = cudaSuccess;
  cuda_scope scope;

  LAC_TRY(job_open(ctx, name, job, c->count / job->part.n, 1));
  scope = cuda_begin(ctx);
  error = start_symbol(ctx->stream, job, form, c, tolerance);
  do {
    if (error == cudaSuccess) error = start_columns(ctx->stream, job, x, y);
  } while (job_next(job));
  LAC_TRY(cuda_end(ctx, scope, error, name));
done:
  return status;
}

lac_status cuda_circulant_mm(lac_context *ctx, lac_form form, const lac_array *c, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  circulant_job job;
  cuda_scope scope;

  if (y->count == 0) return LAC_OK;
  job = job_of(c, x, y, 1, 2);
  if (job.part.n <= CIRCULANT_DIRECT) {
    scope = cuda_begin(ctx);
    LAC_TRY(cuda_end(
        ctx, scope,
        cuda_launch_circulant_direct(ctx->stream, &job.part, lac_form_transposes(form), lac_form_conjugates(form),
                                     c->storage->data, x->storage->data, y->storage->data),
        "circulant_mm"));
  } else {
    LAC_TRY(circulant_run(ctx, "circulant_mm", &job, form, c, x, y, NULL));
  }
done:
  cuda_scratch_release(ctx, &job.memory);
  return status;
}

static cudaError_t start_sums(cudaStream_t stream, circulant_job *job, const lac_array *u, const lac_array *v) {
  const cuda_circulant_part *part = &job->part;
  int64_t units = job->items * part->count;
  cuda_wide *of_u = job->x, *of_v = job->x + units * part->n;
  cudaError_t error = cuda_launch_circulant_gather(stream, part, 0, 0, u->storage->data, of_u);
  if (error == cudaSuccess) error = cuda_launch_circulant_gather(stream, part, 1, 0, v->storage->data, of_v);
  if (error == cudaSuccess) error = cuda_launch_fft(stream, &job->fft, units, of_u, job->room);
  if (error == cudaSuccess) error = cuda_launch_fft(stream, &job->fft, units, of_v, job->room);
  return error == cudaSuccess ? cuda_launch_circulant_add(stream, part, part->first > 0, of_u, of_v, job->kept) : error;
}

static lac_status outer_run(lac_context *ctx, circulant_job *job, const lac_array *u, const lac_array *v,
                            lac_array *s) {
  lac_status status = LAC_OK;
  int64_t n = job->part.n;
  cudaError_t error = cudaSuccess;
  cuda_scope scope;

  LAC_TRY(job_open(ctx, "circulant_outer", job, job->items, 2));
  scope = cuda_begin(ctx);
  do {
    if (error == cudaSuccess) error = start_sums(ctx->stream, job, u, v);
  } while (job_next(job));
  if (error == cudaSuccess) error = cuda_launch_circulant_conj(ctx->stream, job->items * n, job->kept);
  if (error == cudaSuccess) error = cuda_launch_fft(ctx->stream, &job->fft, job->items, job->kept, job->room);
  if (error == cudaSuccess) {
    error = cuda_launch_circulant_sums(ctx->stream, job->part.dtype, n, job->items, job->kept, s->storage->data);
  }
  LAC_TRY(cuda_end(ctx, scope, error, "circulant_outer"));
done:
  return status;
}

lac_status cuda_circulant_outer(lac_context *ctx, const lac_array *u, const lac_array *v, lac_array *s) {
  lac_status status = LAC_OK;
  circulant_job job;
  cuda_scope scope;

  if (s->count == 0) return LAC_OK;
  if (u->count == 0 || v->count == 0) return cuda_fill(ctx, s, 0, 0);
  job = job_of(u, v, s, 2, 1);
  if (job.part.n <= CIRCULANT_DIRECT) {
    scope = cuda_begin(ctx);
    LAC_TRY(cuda_end(ctx, scope,
                     cuda_launch_circulant_direct_outer(ctx->stream, &job.part, u->storage->data, v->storage->data,
                                                        s->storage->data),
                     "circulant_outer"));
  } else {
    LAC_TRY(outer_run(ctx, &job, u, v, s));
  }
done:
  cuda_scratch_release(ctx, &job.memory);
  return status;
}

static lac_status circulant_say_zero(lac_context *ctx, const char *who, const lac_value_fault *f) {
  lac_status status = LAC_OK;

  LAC_CHECK(f->items > 1, LAC_ERR_SINGULAR,
            "%s: the eigenvalue of frequency %lld is zero to rounding; the matrix is singular", who,
            (long long)f->place);
  LAC_FAIL(LAC_ERR_SINGULAR,
           "%s: the eigenvalue of frequency %lld is zero to rounding in item %lld of the batch; the matrix is singular",
           who, (long long)f->place, (long long)f->item);
done:
  return status;
}

lac_status cuda_circulant_solve(lac_context *ctx, lac_form form, const lac_array *c, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const lac_late late = {circulant_say_zero, "circulant_solve", NULL};
  double tolerance = lac_dtype_is_single(x->meta.dtype) ? 1e-12 : 1e-15;
  circulant_job job;
  cuda_found found;

  if (x->count == 0) return LAC_OK;
  job = job_of(c, b, x, 1, 2);
  LAC_TRY(circulant_run(ctx, "circulant_solve", &job, form, c, b, x, &tolerance));
  found = (cuda_found){
      .first = job.fault, .size = job.part.n, .items = job.items, .joint = job.items > 1 ? &job.part.batch.kept : NULL};
  LAC_TRY(cuda_watch(ctx, &late, &found, x));
done:
  cuda_scratch_release(ctx, &job.memory);
  return status;
}
