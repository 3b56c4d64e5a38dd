// SPDX-License-Identifier: Apache-2.0
/// @file block_jacobi.c
/// Blocks of the diagonal as preconditioner.
///
///     op(M)^-1 b = op(B)^-1 b          B: the entries of A within blocks of `size` rows along the diagonal
///
/// The inverses of the blocks are dense, and kept as the values of a pattern, so that spmm applies them. They are made
/// on the host, by elimination with partial pivoting.

#include <omp.h>

#include "solvers/precondition/relax.h"

enum { BLOCK_DEFAULT = 8, BLOCK_WORK = 1 << 14 };

/// One matrix after another; block b has rows b size .. and its numbers are by rows at b size^2.
typedef struct block_job {
  int64_t n, size, blocks, items;
  int threads;
} block_job;

static int64_t block_rows(const block_job *job, int64_t block) {
  int64_t left = job->n - block * job->size;
  return left < job->size ? left : job->size;
}

static int64_t block_numbers(const block_job *job) {
  int64_t last = job->blocks > 0 ? block_rows(job, job->blocks - 1) : 0;
  return job->blocks > 0 ? (job->blocks - 1) * job->size * job->size + last * last : 0;
}

#define KERNEL_FILE "solvers/precondition/block_jacobi_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int64_t block_kernel(const block_job *, void *);
static block_kernel *const block_invert_kernels[] = TABLE(block_invert_all);

typedef struct block_part {
  block_job job;
  lac_pattern *pattern;  // of the blocks, full
  lac_map *map;          // from the slots of the matrix
  lac_array *inverse;    // [items, numbers of the blocks]
} block_part;

static void block_destroy(void *part) {
  block_part *block = part;
  if (!block) return;
  lac_pattern_destroy(&block->pattern);
  lac_map_destroy(&block->map);
  lac_array_destroy(&block->inverse);
  lac_free(block);
}

/// All entries of the blocks.
static lac_status block_pattern(lac_context *ctx, const block_job *job, lac_pattern **out) {
  lac_status status = LAC_OK;
  int64_t *offsets = NULL, *columns = NULL, slot = 0;

  LAC_ALLOC(offsets, job->n + 1);
  LAC_ALLOC(columns, block_numbers(job));
  for (int64_t i = 0; i < job->n; i++) {
    int64_t block = i / job->size, first = block * job->size;
    for (int64_t j = 0; j < block_rows(job, block); j++) columns[slot++] = first + j;
    offsets[i + 1] = slot;
  }
  LAC_TRY(lac_pattern_from_csr(ctx, job->n, job->n, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, out, NULL));
done:
  lac_free(offsets);
  lac_free(columns);
  return status;
}

/// Where the entries of the matrix go; those outside the blocks are dropped.
static lac_status block_map(lac_context *ctx, const block_job *job, const lac_pattern *pattern, lac_map **out) {
  lac_status status = LAC_OK;
  int64_t *target = NULL;

  LAC_ALLOC(target, pattern->nnz);
  for (int64_t i = 0; i < job->n; i++) {
    int64_t block = i / job->size, first = block * job->size, rows = block_rows(job, block);
    for (int64_t p = lac_buffer_get(pattern->offsets, i); p < lac_buffer_get(pattern->offsets, i + 1); p++) {
      int64_t j = lac_buffer_get(pattern->columns, p) - first;
      target[p] = j < 0 || j >= rows ? -1 : first * job->size + (i - first) * rows + j;
    }
  }
  LAC_TRY(lac_map_create(ctx, pattern->nnz, block_numbers(job), target, out));
done:
  lac_free(target);
  return status;
}

static lac_status block_structure(lac_context *ctx, const lac_setup *setup, const block_part *like, block_part *made) {
  lac_status status = LAC_OK;
  int64_t n = setup->pattern->rows, size = setup->options->preconditioner.block;

  LAC_CHECK(size >= 0, LAC_ERR_ARG, "block_jacobi: block = %lld rows; give a positive number, or 0 for the default",
            (long long)size);
  if (like) {
    made->job = like->job;
    made->pattern = lac_pattern_retain(like->pattern);
    made->map = lac_map_retain(like->map);
  } else {
    LAC_TRY(lac_pattern_host(ctx, setup->pattern));
    if (size == 0) size = lac_setup_blocks(setup->pattern, BLOCK_DEFAULT);
    if (size == 1 && setup->options->preconditioner.block == 0) size = BLOCK_DEFAULT;
    if (size > n) size = n > 0 ? n : 1;
    LAC_CHECK(size == 0 || n <= LAC_MAX_COUNT / size, LAC_ERR_OVERFLOW,
              "block_jacobi: %lld rows in blocks of %lld have too many entries; choose smaller blocks", (long long)n,
              (long long)size);
    made->job = (block_job){.n = n, .size = size, .blocks = (n + size - 1) / size};
    LAC_TRY(block_pattern(ctx, &made->job, &made->pattern));
    LAC_TRY(block_map(ctx, &made->job, setup->pattern, &made->map));
  }
  made->job.items = setup->values->meta.shape[0];
  made->job.threads = made->job.items * made->job.n * made->job.size < BLOCK_WORK ? 1 : ctx->threads;
done:
  return status;
}

/// Take the blocks and invert them.
static lac_status block_values(lac_context *ctx, const lac_setup *setup, block_part *made) {
  lac_status status = LAC_OK;
  const block_job *job = &made->job;
  lac_dtype dtype = setup->values->meta.dtype;
  int64_t numbers = block_numbers(job), fault = -1;
  char *host = NULL;

  LAC_TRY(lac_array_create(ctx, dtype, 2, (const int64_t[]){job->items, numbers}, &made->inverse));
  LAC_TRY(ctx->kernels->remap(ctx, made->map, LAC_PLAIN, 0, setup->values, made->inverse));
  LAC_ALLOC(host, (size_t)(job->items * numbers) * lac_dtype_size(dtype));
  LAC_TRY(lac_array_fetch(ctx, made->inverse, host));
  fault = block_invert_kernels[dtype](job, host);
  LAC_CHECK(fault != -2, LAC_ERR_MEMORY, "block_jacobi: out of memory for a block of %lld rows", (long long)job->size);
  LAC_CHECK(fault < 0, LAC_ERR_SINGULAR,
            "block_jacobi: the block of rows %lld to %lld in matrix %lld is singular; choose another size of blocks, "
            "another preconditioner or a direct method",
            (long long)(fault % job->blocks * job->size),
            (long long)(fault % job->blocks * job->size + block_rows(job, fault % job->blocks) - 1),
            (long long)(fault / job->blocks));
  LAC_TRY(lac_array_write(ctx, made->inverse, host));
done:
  lac_free(host);
  return status;
}

static lac_status block_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **part) {
  lac_status status = LAC_OK;
  block_part *made = NULL;

  LAC_ALLOC(made, 1);
  LAC_TRY(block_structure(ctx, setup, like, made));
  LAC_TRY(block_values(ctx, setup, made));
  *part = made, made = NULL;
done:
  block_destroy(made);
  return status;
}

static lac_status block_create(lac_context *ctx, const lac_setup *setup, void **part) {
  return block_refresh(ctx, setup, NULL, part);
}

static lac_status block_apply(lac_context *ctx, const void *part, lac_form form, const lac_array *b, lac_array *x) {
  const block_part *block = part;
  return ctx->kernels->spmm(ctx, block->pattern, form, block->inverse, b, x);
}

static void block_report(const void *part, lac_setup_figures *finding) {
  const block_part *block = part;
  *finding = (lac_setup_figures){.bytes = lac_relax_bytes(block->inverse) + lac_pattern_bytes(block->pattern)};
}

const lac_preconditioner_table lac_preconditioner_block_jacobi = {
    .name = "block_jacobi",
    .create = block_create,
    .refresh = block_refresh,
    .apply = block_apply,
    .report = block_report,
    .destroy = block_destroy,
};
