// SPDX-License-Identifier: Apache-2.0
/// @file finite.c
/// Numbers that are not finite, looked for in blocks by threads.

#include "core/finite.h"

#define KERNEL_FILE "core/finite_kernel.h"
#include "core/numbers/instantiate.h"

enum { FINITE_BLOCK = 4096 };  // numbers that are looked at together

typedef int64_t finite_first_kernel(const void *, int64_t, int64_t);
static finite_first_kernel *const finite_first_kernels[] = TABLE(finite_first);

int64_t lac_nonfinite_first(const lac_context *ctx, lac_dtype dtype, const void *values, int64_t items, int64_t nnz,
                            int64_t *item) {
  int64_t first = -1, count = items * nnz, blocks = (count + FINITE_BLOCK - 1) / FINITE_BLOCK;
  int threads = lac_threads_worth(ctx->threads, blocks, (double)count);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && blocks > 8)
  for (int64_t block = 0; block < blocks; block++) {
    int64_t begin = block * FINITE_BLOCK, end = begin + FINITE_BLOCK < count ? begin + FINITE_BLOCK : count;
    int64_t found = finite_first_kernels[dtype](values, begin, end);
    if (found < 0) continue;
#pragma omp critical(lac_nonfinite)
    first = first < 0 || found < first ? found : first;
  }
  *item = first < 0 ? 0 : first / nnz;
  return first < 0 ? -1 : first % nnz;
}
