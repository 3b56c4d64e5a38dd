// SPDX-License-Identifier: Apache-2.0
/// @file lu_values.c
/// Elimination on a pattern, row by row, and its adjoint, which takes the rows backwards.
///
/// A row is worked on in a vector as long as the matrix is wide, unless it is much shorter than the one that it takes
/// from. Elimination adds to places of that vector which the row does not have, and never reads them; the adjoint needs
/// zeros there. Threads share the items of a batch.

#include <stdatomic.h>

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"
#include "core/numbers/search.h"

enum { LU_FEW = 16 };  // times shorter, a row is looked up entry by entry

typedef struct lu_job {
  const void *offsets, *columns;
  const void *diagonal;  // the slot of each row's diagonal entry
  int64_t rows, nnz;
  bool positive;
  const void *in, *bar;  // c, or lu and lu_bar
  void *out;             // lu, or c_bar
  lac_batch batch;
  lac_pivot_fault *fault;
  atomic_bool *out_of_memory;
} lu_job;

/// Keep the fault of the first item that has one.
static void lu_note(const lu_job *job, int64_t item, int64_t row, double pivot) {
#pragma omp critical(lac_lu_values)
  if (job->fault->row < 0 || item < job->fault->item) *job->fault = (lac_pivot_fault){item, row, pivot};
}

#define KERNEL_FILE "backends/cpu/solves/lu_values_kernel.h"
#include "backends/cpu/base/instantiate_indexed.h"

static const cpu_part lu_items[4][4] = TABLE_INDEXED(lu_items);
static const cpu_part lu_adjoint_items[4][4] = TABLE_INDEXED(lu_adjoint_items);

/// The structure of the job; the slots on the diagonal are the groups of `map`, which the caller lets go.
static lac_status lu_open(lac_context *ctx, const lac_pattern *p, lu_job *job, lac_map **map) {
  lac_status status = LAC_OK;
  const lac_buffer *groups = NULL, *slots = NULL;

  LAC_TRY(lac_pattern_host(ctx, p));
  LAC_TRY(lac_pattern_diagonal(ctx, p, map));
  LAC_TRY(lac_map_groups(ctx, *map, &groups, &slots));
  job->offsets = p->offsets->host;
  job->columns = p->columns->host;
  job->diagonal = slots->host;
  job->rows = p->rows;
  job->nnz = p->nnz;
done:
  return status;
}

static lac_status lu_run(lac_context *ctx, const char *name, const cpu_part part, lu_job *job) {
  lac_status status = LAC_OK;
  atomic_bool out_of_memory = false;

  job->out_of_memory = &out_of_memory;
  cpu_split(cpu_threads(ctx, job->batch.count * job->nnz * 8), job->batch.count, 1, part, job);
  LAC_CHECK(!atomic_load(&out_of_memory), LAC_ERR_MEMORY, "%s: out of memory for a row of %lld numbers", name,
            (long long)job->rows);
done:
  return status;
}

lac_status cpu_lu_values(lac_context *ctx, const lac_pattern *p, bool positive, const lac_array *c, lac_array *lu,
                         const lac_late *late, lac_pivot_fault *fault) {
  lac_status status = LAC_OK;
  const lac_meta *metas[] = {&c->meta, &lu->meta};
  lac_map *map = NULL;
  lu_job job = {.positive = positive, .in = cpu_data(c), .out = cpu_edit(lu), .fault = fault};

  (void)late;  // it is found at once
  *fault = (lac_pivot_fault){.row = -1};
  if (lu->count == 0) return LAC_OK;
  LAC_TRY(lu_open(ctx, p, &job, &map));
  lac_batch_init(&job.batch, 2, metas, (const int[]){1, 1});
  LAC_TRY(lu_run(ctx, "lu_values", lu_items[c->meta.dtype][p->width], &job));
done:
  lac_map_destroy(&map);
  return status;
}

lac_status cpu_lu_values_adjoint(lac_context *ctx, const lac_pattern *p, const lac_array *lu, const lac_array *lu_bar,
                                 lac_array *c_bar) {
  lac_status status = LAC_OK;
  const lac_meta *metas[] = {&lu->meta, &lu_bar->meta, &c_bar->meta};
  lac_map *map = NULL;
  lu_job job = {.in = cpu_data(lu), .bar = cpu_data(lu_bar), .out = cpu_edit(c_bar)};

  if (c_bar->count == 0) return LAC_OK;
  LAC_TRY(lu_open(ctx, p, &job, &map));
  lac_batch_init(&job.batch, 3, metas, (const int[]){1, 1, 1});
  LAC_TRY(lu_run(ctx, "lu_values_adjoint", lu_adjoint_items[lu->meta.dtype][p->width], &job));
done:
  lac_map_destroy(&map);
  return status;
}
