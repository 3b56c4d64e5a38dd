// SPDX-License-Identifier: Apache-2.0
/// @file circulant.c
/// Circulant matrices, C[i, j] = c[(i - j) mod n], which Fourier transforms make diagonal: y^ = c^ x^.
///
/// The transpose has the first column c[-i mod n]. Few unknowns are multiplied directly. Everything is in double
/// precision. Threads share columns of all items, or items.

#include <stdatomic.h>

#include "backends/cpu/solves/fft.h"

enum { CIRCULANT_DIRECT = 32 };  // measured: up to here n^2 products are faster than three transforms

typedef struct circulant_job {
  int64_t n, k;
  bool transposed, divides, is_complex, direct;
  double sign;  // -1 conjugates c
  double tolerance;
  const void *in[2];
  void *out;
  lac_batch batch;
  cpu_dft dft;            // not when direct
  _Atomic int64_t *zero;  // item n + frequency of an eigenvalue that is zero; else INT64_MAX
  atomic_bool *out_of_memory;
} circulant_job;

/// Remember the first zero.
static void circulant_note_zero(const circulant_job *job, int64_t item, int64_t frequency) {
  int64_t mine = item * job->n + frequency, first = atomic_load(job->zero);
  while (mine < first && !atomic_compare_exchange_weak(job->zero, &first, mine)) {
  }
}

/// c^ becomes 1 / c^. An eigenvalue that is zero to rounding, relative to the largest, is noted.
static void circulant_invert(const circulant_job *job, int64_t item, c128 *c) {
  double most = 0;
  for (int64_t f = 0; f < job->n; ++f) most = fmax(most, hypot(creal(c[f]), cimag(c[f])));
  for (int64_t f = 0; f < job->n; ++f) {
    if (hypot(creal(c[f]), cimag(c[f])) <= job->tolerance * most) circulant_note_zero(job, item, f);
    c[f] = div_c128(1, c[f]);
  }
}

/// How many units an item has: columns, in pairs where they are real.
static int64_t circulant_pairs(const circulant_job *job) {
  return job->is_complex || job->direct ? job->k : (job->k + 1) / 2;
}

#define KERNEL_FILE "backends/cpu/solves/circulant_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part circulant_columns[4] = TABLE(circulant_columns);
static const cpu_part circulant_sums[4] = TABLE(circulant_sums);

/// Run a job whose operands are set, on `units` units.
static lac_status circulant_run(lac_context *ctx, circulant_job *job, cpu_part part, int64_t units) {
  lac_status status = LAC_OK;
  atomic_bool out_of_memory = false;
  int log = 1;

  job->out_of_memory = &out_of_memory;
  while (job->n >> log) ++log;
  if (!job->direct) LAC_TRY(cpu_dft_open(ctx, job->n, &job->dft));
  cpu_split(cpu_threads(ctx, job->batch.count * job->n * job->k * log), units, 1, part, job);
  LAC_CHECK(!atomic_load(&out_of_memory), LAC_ERR_MEMORY, "circulant: out of memory for transforms of length %lld",
            (long long)job->n);
done:
  cpu_dft_close(&job->dft);
  return status;
}

static void circulant_init(circulant_job *job, const lac_array *x, const lac_array *y, lac_array *out,
                           const int *core) {
  const lac_meta *metas[] = {&x->meta, &y->meta, &out->meta};

  job->k = y->meta.shape[y->meta.ndim - 1];
  job->n = y->meta.shape[y->meta.ndim - 2];
  job->is_complex = lac_dtype_is_complex(out->meta.dtype);
  job->in[0] = cpu_data(x);
  job->in[1] = cpu_data(y);
  job->out = cpu_edit(out);
  lac_batch_init(&job->batch, 3, metas, core);
}

lac_status cpu_circulant_mm(lac_context *ctx, lac_form form, const lac_array *c, const lac_array *x, lac_array *y) {
  circulant_job job = {.transposed = lac_form_transposes(form), .sign = lac_form_conjugates(form) ? -1 : 1};

  if (y->count == 0) return LAC_OK;
  circulant_init(&job, c, x, y, (const int[]){1, 2, 2});
  job.direct = job.n <= CIRCULANT_DIRECT;
  return circulant_run(ctx, &job, circulant_columns[y->meta.dtype], job.batch.count * circulant_pairs(&job));
}

lac_status cpu_circulant_outer(lac_context *ctx, const lac_array *u, const lac_array *v, lac_array *s) {
  circulant_job job = {.sign = 1};

  if (s->count == 0) return LAC_OK;
  if (u->count == 0 || v->count == 0) return cpu_fill(ctx, s, 0, 0);
  circulant_init(&job, u, v, s, (const int[]){2, 2, 1});
  job.direct = job.n <= CIRCULANT_DIRECT;
  return circulant_run(ctx, &job, circulant_sums[s->meta.dtype], job.batch.count);
}

lac_status cpu_circulant_solve(lac_context *ctx, lac_form form, const lac_array *c, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  lac_dtype dtype = x->meta.dtype;
  _Atomic int64_t zero = INT64_MAX;
  circulant_job job = {.transposed = lac_form_transposes(form),
                       .sign = lac_form_conjugates(form) ? -1 : 1,
                       .divides = true,
                       .tolerance = lac_dtype_is_single(dtype) ? 1e-12 : 1e-15,
                       .zero = &zero};

  if (x->count == 0) return LAC_OK;
  circulant_init(&job, c, b, x, (const int[]){1, 2, 2});
  LAC_TRY(circulant_run(ctx, &job, circulant_columns[dtype], job.batch.count * circulant_pairs(&job)));
  LAC_CHECK(zero == INT64_MAX || job.batch.count > 1, LAC_ERR_SINGULAR,
            "circulant_solve: the eigenvalue of frequency %lld is zero to rounding; the matrix is singular",
            (long long)(zero % job.n));
  LAC_CHECK(
      zero == INT64_MAX, LAC_ERR_SINGULAR,
      "circulant_solve: the eigenvalue of frequency %lld is zero to rounding in item %lld of the batch; the matrix is "
      "singular",
      (long long)(zero % job.n), (long long)(zero / job.n));
done:
  return status;
}
