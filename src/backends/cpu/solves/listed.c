// SPDX-License-Identifier: Apache-2.0
/// @file listed.c
/// Elimination and substitution by lists (kernels/listed.h), a thread to a matrix or a right-hand side.

#include <stdatomic.h>

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"

typedef struct listed_job {
  const lac_listed_lu *list;
  lac_form form;
  int64_t nnz, k;     // entries of A, columns
  const void *a, *b;  // values, or L\U and right-hand sides
  void *out;
  double *share;
  lac_batch batch;  // of L\U and x
  atomic_bool *out_of_memory;
} listed_job;

#define KERNEL_FILE "backends/cpu/solves/listed_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part listed_factors[4] = TABLE(listed_factors);
static const cpu_part listed_solves[4] = TABLE(listed_solves);

lac_status cpu_listed_lu(lac_context *ctx, const lac_listed_lu *list, const lac_array *a, lac_array *lu,
                         lac_array *share) {
  int64_t items = share->count;
  listed_job job = {.list = list,
                    .nnz = items ? a->count / items : 0,
                    .a = cpu_data(a),
                    .out = cpu_edit(lu),
                    .share = cpu_edit(share)};
  cpu_split(cpu_threads(ctx, items * (list->products + list->entries)), items, 1, listed_factors[a->meta.dtype], &job);
  return LAC_OK;
}

lac_status cpu_listed_solve(lac_context *ctx, const lac_listed_lu *list, lac_form form, const lac_array *lu,
                            const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const lac_meta *metas[] = {&lu->meta, &x->meta};
  atomic_bool out_of_memory = false;
  listed_job job = {.list = list,
                    .form = form,
                    .k = x->meta.shape[x->meta.ndim - 1],
                    .a = cpu_data(lu),
                    .b = cpu_data(b),
                    .out = cpu_edit(x),
                    .out_of_memory = &out_of_memory};
  int64_t columns = list->n ? x->count / list->n : 0;

  lac_batch_init(&job.batch, 2, metas, (const int[]){1, 2});
  cpu_split(cpu_threads(ctx, columns * list->entries), columns, 1, listed_solves[x->meta.dtype], &job);
  LAC_CHECK(!atomic_load(&out_of_memory), LAC_ERR_MEMORY,
            "lac_factor_solve: out of memory for a column of %lld numbers", (long long)list->n);
done:
  return status;
}
