// SPDX-License-Identifier: Apache-2.0
/// @file banded.c
/// Products of banded matrices, ab[upper + i - j, j] = A[i, j].
///
/// A diagonal of the matrix is a run of numbers in a row of ab, and so is what it meets in a vector or in another band,
/// transposed or not: everything is done diagonal by diagonal, on chunks of outputs that stay in cache. Threads share
/// the outputs; each is summed in the order of the diagonals, item after item of a batch that is summed over.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"

enum { BAND_CHUNK = 2048 };

typedef struct band_job {
  lac_banded band, x, y;  // x and y of banded_gemm
  int64_t k;
  bool transposed, transposed_y;
  double sign, sign_y;  // -1 conjugates the values
  const void *in[2];
  void *out;
  int64_t size[3];  // numbers in one item of each
  lac_batch batch;  // of in[0], in[1], out
} band_job;

typedef struct band_range {
  int64_t begin, end;
} band_range;

static inline int64_t band_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t band_min(int64_t a, int64_t b) { return a < b ? a : b; }

/// Those o of a range with 0 <= o + shift < size; empty ranges end where they begin.
static inline band_range band_clip(band_range range, int64_t shift, int64_t size) {
  int64_t begin = band_max(range.begin, -shift), end = band_min(range.end, size - shift);
  begin = band_min(begin, range.end);
  return (band_range){begin, band_max(begin, end)};
}

#define KERNEL_FILE "backends/cpu/solves/banded_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part banded_mm[4] = TABLE(banded_mm);
static const cpu_part banded_outer[4] = TABLE(banded_outer);
static const cpu_part banded_gemm[4] = TABLE(banded_gemm);

/// Set the operands of a job and run it on [0, count) outputs of each item, `work` products each.
static void band_run(lac_context *ctx, band_job *job, const cpu_part *part, const lac_array *x, const lac_array *y,
                     lac_array *out, const int core[3], int64_t count, int64_t work) {
  const lac_meta *metas[] = {&x->meta, &y->meta, &out->meta};

  job->in[0] = cpu_data(x);
  job->in[1] = cpu_data(y);
  job->out = cpu_edit(out);
  lac_batch_init(&job->batch, 3, metas, core);
  for (int o = 0; o < 3; ++o) job->size[o] = cpu_core_count(metas[o], core[o]);
  cpu_split(cpu_threads(ctx, count * work * job->batch.count), count, 64, part[out->meta.dtype], job);
}

static int64_t band_width(const lac_banded *band) { return band->lower + band->upper + 1; }

lac_status cpu_banded_mm(lac_context *ctx, const lac_banded *band, lac_form form, const lac_array *ab,
                         const lac_array *x, lac_array *y) {
  band_job job = {.band = *band,
                  .k = x->meta.shape[x->meta.ndim - 1],
                  .transposed = lac_form_transposes(form),
                  .sign = lac_form_conjugates(form) ? -1 : 1};

  if (y->count == 0) return LAC_OK;
  if (ab->count == 0 || x->count == 0) return cpu_fill(ctx, y, 0, 0);
  band_run(ctx, &job, banded_mm, ab, x, y, (const int[]){2, 2, 2}, job.transposed ? band->cols : band->rows,
           band_width(band) * job.k);
  return LAC_OK;
}

lac_status cpu_banded_outer(lac_context *ctx, const lac_banded *band, const lac_array *u, const lac_array *v,
                            lac_array *s) {
  band_job job = {.band = *band, .k = u->meta.shape[u->meta.ndim - 1]};

  if (s->count == 0) return LAC_OK;
  if (u->count == 0 || v->count == 0) return cpu_fill(ctx, s, 0, 0);
  band_run(ctx, &job, banded_outer, u, v, s, (const int[]){2, 2, 2}, band->cols, band_width(band) * job.k);
  return LAC_OK;
}

lac_status cpu_banded_gemm(lac_context *ctx, const lac_banded *band, const lac_banded *bx, lac_form sx,
                           const lac_banded *by, lac_form sy, const lac_array *x, const lac_array *y, lac_array *t) {
  band_job job = {.band = *band,
                  .x = *bx,
                  .y = *by,
                  .transposed = lac_form_transposes(sx),
                  .transposed_y = lac_form_transposes(sy),
                  .sign = lac_form_conjugates(sx) ? -1 : 1,
                  .sign_y = lac_form_conjugates(sy) ? -1 : 1};

  if (t->count == 0) return LAC_OK;
  if (x->count == 0 || y->count == 0) return cpu_fill(ctx, t, 0, 0);
  band_run(ctx, &job, banded_gemm, x, y, t, (const int[]){2, 2, 2}, band->cols,
           band_width(band) * band_min(band_width(bx), band_width(by)));
  return LAC_OK;
}
