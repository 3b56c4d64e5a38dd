// SPDX-License-Identifier: Apache-2.0
/// @file pairwise.c
/// The cycle of aggregation multigrid on the CPU: passes over a level's matrix, each doing all that it can on the way.

#include "backends/cpu/pairwise/pairwise.h"

#include "backends/cpu/base/functions.h"

#define KERNEL_FILE "backends/cpu/pairwise/pairwise_diagonal_kernel.h"
#include "backends/cpu/base/instantiate.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/pairwise/pairwise_kernel.h"
#include "backends/cpu/pairwise/pairwise_instantiate.h"

static const level_rows restricts[4][2][4] = TABLE_PAIRWISE(restrict);
static const level_rows remains[4][2][4] = TABLE_PAIRWISE(remain);
static const level_rows smooths[4][2][4] = TABLE_PAIRWISE(smooth);
static const level_rows products[4][2][4] = TABLE_PAIRWISE(product);
static const level_rows weighs[4][2][4] = TABLE_PAIRWISE(weigh);

// -- jobs ------------------------------------------------------------------------------------------------------------

const void *level_operand(level_jobs *jobs, int which, const lac_array *x) {
  if (!x) return NULL;
  jobs->bytes[which] = jobs->items ? x->count / jobs->items * (int64_t)lac_dtype_size(x->meta.dtype) : 0;
  return cpu_data(x);
}

lac_status level_jobs_level(lac_context *ctx, level_jobs *jobs, const lac_level_view *level) {
  lac_status status = LAC_OK;
  level_job *job = &jobs->job;
  jobs->items = level->values->meta.shape[0];
  LAC_TRY(lac_buffer_on(ctx, level->rows.offsets, &job->offsets));
  LAC_TRY(lac_buffer_on(ctx, level->rows.columns, &job->columns));
  if (level->rows.slots) LAC_TRY(lac_buffer_on(ctx, level->rows.slots, &job->slots));
  job->way = level->slices ? LEVEL_SLICES : job->slots ? LEVEL_SLOTS : LEVEL_ROWS;
  if (level->slices) {
    job->firsts = level->slices->firsts->host;
    job->lists = level->slices->lists->host;
    job->slice_starts = level->slices->starts->host;
  }
  job->is_ragged = level->is_ragged;
  job->asks = level->rows.columns->count * (int64_t)lac_dtype_size(level->values->meta.dtype) > LEVEL_CACHED_BYTES;
  job->rows = level->rows.rows;
  job->sign = level->conjugates ? -1 : 1;
  job->values = level_operand(jobs, LEVEL_VALUES, level->values);
  job->weights = level_operand(jobs, LEVEL_WEIGHTS, level->weights);
  jobs->unit = level->unit ? cpu_data(level->unit) : NULL;
  if (level->scale) {
    job->in_scale = level_operand(jobs, LEVEL_IN_SCALE, level->scale);
    job->out_scale = job->in_scale + level->scale->meta.shape[2];
    jobs->bytes[LEVEL_OUT_SCALE] = jobs->bytes[LEVEL_IN_SCALE];
  }
done:
  return status;
}

static const void *moved(const void *pointer, int64_t bytes, int64_t item) {
  return pointer ? (const char *)pointer + bytes * item : NULL;
}

static level_job job_of(const level_jobs *jobs, int64_t item) {
  level_job g = jobs->job;
  const int64_t *bytes = jobs->bytes;
  g.unit = jobs->unit ? jobs->unit[2 * item] : 1;
  g.values = moved(g.values, bytes[LEVEL_VALUES], item);
  g.weights = moved(g.weights, bytes[LEVEL_WEIGHTS], item);
  g.next_weights = moved(g.next_weights, bytes[LEVEL_NEXT_WEIGHTS], item);
  g.in_scale = moved(g.in_scale, bytes[LEVEL_IN_SCALE], item);
  g.out_scale = moved(g.out_scale, bytes[LEVEL_OUT_SCALE], item);
  g.b = moved(g.b, bytes[LEVEL_B], item);
  g.x = moved(g.x, bytes[LEVEL_X], item);
  g.c = moved(g.c, bytes[LEVEL_C], item);
  g.d = moved(g.d, bytes[LEVEL_D], item);
  g.steps = moved(g.steps, bytes[LEVEL_STEPS], item);
  g.y = (void *)moved(g.y, bytes[LEVEL_Y], item);
  g.z = (void *)moved(g.z, bytes[LEVEL_Z], item);
  return g;
}

static void run_blocks(const void *shared, int64_t begin, int64_t end) {
  const level_jobs *jobs = shared;
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t item = unit / jobs->blocks, row = unit % jobs->blocks * LEVEL_BLOCK;
    level_job g = job_of(jobs, item);
    if (jobs->partial) g.sums = jobs->partial + unit * jobs->partial_bytes;
    jobs->kernel(&g, row, row + LEVEL_BLOCK < g.rows ? row + LEVEL_BLOCK : g.rows);
  }
}

void level_jobs_run(lac_context *ctx, level_jobs *jobs, int64_t work) {
  jobs->blocks = (jobs->job.rows + LEVEL_BLOCK - 1) / LEVEL_BLOCK;
  if (jobs->items * jobs->blocks == 0) return;
  cpu_split(cpu_threads(ctx, work * jobs->items), jobs->items * jobs->blocks, 1, run_blocks, jobs);
}

// -- passes over the matrix ------------------------------------------------------------------------------------------

static lac_width width_of(const lac_rows *rows) {
  if (rows->offsets->type == LAC_I32) return LAC_WIDTH_32_32;
  return rows->columns->type == LAC_I32 ? LAC_WIDTH_64_32 : LAC_WIDTH_64_64;
}

static level_rows pick(const level_rows table[4][2][4], const lac_level_view *level, lac_dtype hierarchy) {
  lac_dtype dtype = level->values->meta.dtype;
  return table[dtype][dtype != hierarchy][width_of(&level->rows)];
}

static int64_t level_work(const lac_level_view *level, int64_t k) {
  return (level->rows.columns->count + level->rows.rows) * k;
}

lac_status cpu_pairwise_weights(lac_context *ctx, const lac_level_view *level, double omega, lac_array *weights) {
  lac_status status = LAC_OK;
  level_jobs jobs = {.job = {.k = 1}};
  LAC_TRY(level_jobs_level(ctx, &jobs, level));
  jobs.job.c = &omega;
  jobs.job.y = (void *)level_operand(&jobs, LEVEL_Y, weights);
  jobs.kernel = pick(weighs, level, weights->meta.dtype);
  level_jobs_run(ctx, &jobs, level_work(level, 1));
done:
  return status;
}

/// In one pass by aggregates where their rows lie in order: else memory would be read all over, and the residual comes
/// first. So it does where rows are taken in slices.
lac_status cpu_pairwise_restricted(lac_context *ctx, const lac_level_view *level, const lac_aggregation *aggregation,
                                   const lac_array *weights, const lac_array *b, const lac_array *x, lac_array *room,
                                   lac_array *rc, lac_array *xc) {
  lac_status status = LAC_OK;
  bool fuses = aggregation->is_regular && !level->slices;
  level_jobs jobs = {.job = {.k = b->meta.shape[2]}};
  LAC_TRY(level_jobs_level(ctx, &jobs, level));
  jobs.job.b = level_operand(&jobs, LEVEL_B, b);
  jobs.job.x = level_operand(&jobs, LEVEL_X, x);
  if (fuses) {
    jobs.job.rows = aggregation->coarse;
    jobs.job.starts = aggregation->starts->host;
    jobs.job.members = aggregation->members->host;
    jobs.job.next_weights = level_operand(&jobs, LEVEL_NEXT_WEIGHTS, weights);
    jobs.job.y = (void *)level_operand(&jobs, LEVEL_Y, rc);
  }
  jobs.job.z = (void *)level_operand(&jobs, LEVEL_Z, fuses ? xc : room);
  jobs.kernel = pick(fuses ? restricts : remains, level, x->meta.dtype);
  level_jobs_run(ctx, &jobs, level_work(level, jobs.job.k));
  if (!fuses) cpu_pairwise_collected(ctx, aggregation, weights, level->conjugates, room, rc, xc);
done:
  return status;
}

lac_status cpu_pairwise_relaxed(lac_context *ctx, const lac_level_view *level, const lac_array *b, const lac_array *x,
                                lac_array *z) {
  lac_status status = LAC_OK;
  level_jobs jobs = {.job = {.k = b->meta.shape[2]}};
  LAC_TRY(level_jobs_level(ctx, &jobs, level));
  jobs.job.b = level_operand(&jobs, LEVEL_B, b);
  jobs.job.x = level_operand(&jobs, LEVEL_X, x);
  jobs.job.z = (void *)level_operand(&jobs, LEVEL_Z, z);
  jobs.kernel = pick(smooths, level, x->meta.dtype);
  level_jobs_run(ctx, &jobs, level_work(level, jobs.job.k));
done:
  return status;
}

/// Sums of blocks [items, blocks, 3, k], one behind the other, into those of the call: complex ones are two reals.
static void add_blocks(const level_jobs *jobs, bool second, int64_t reals, lac_array *sums) {
  static const int places[2][3] = {{LAC_CYCLE_RHO, LAC_CYCLE_ALPHA, -1},
                                   {LAC_CYCLE_BETA, LAC_CYCLE_ALPHA2, LAC_CYCLE_GAMMA}};
  for (int64_t item = 0; item < jobs->items; ++item) {
    double *out = (double *)cpu_edit(sums) + item * LAC_CYCLE_SUMS * reals;
    for (int s = 0; s < 3; ++s) {
      if (places[second][s] < 0) continue;
      double *to = out + places[second][s] * reals;
      memset(to, 0, (size_t)reals * sizeof *to);
      for (int64_t block = 0; block < jobs->blocks; ++block) {
        const double *from =
            (const double *)(jobs->partial + (item * jobs->blocks + block) * jobs->partial_bytes) + s * reals;
        for (int64_t r = 0; r < reals; ++r) to[r] += from[r];
      }
    }
  }
}

lac_status cpu_pairwise_product(lac_context *ctx, const lac_level_view *level, bool of_image, const lac_array *c,
                                const lac_array *r, const lac_array *before, lac_array *v, lac_array *sums) {
  lac_status status = LAC_OK;
  int64_t k = c->meta.shape[2], reals = lac_dtype_is_complex(c->meta.dtype) ? 2 * k : k;
  int64_t blocks = (level->rows.rows + LEVEL_BLOCK - 1) / LEVEL_BLOCK;
  level_jobs jobs = {.job = {.k = k, .of_image = of_image}};
  LAC_TRY(level_jobs_level(ctx, &jobs, level));
  jobs.partial_bytes = 3 * reals * (int64_t)sizeof(double);
  jobs.partial = lac_alloc((size_t)(jobs.items * blocks * jobs.partial_bytes));
  LAC_CHECK(jobs.partial, LAC_ERR_MEMORY, "out of memory: sums of %lld blocks", (long long)blocks);
  memset(jobs.partial, 0, (size_t)(jobs.items * blocks * jobs.partial_bytes));
  jobs.job.x = level_operand(&jobs, LEVEL_X, c);
  jobs.job.b = level_operand(&jobs, LEVEL_B, r);
  jobs.job.c = level_operand(&jobs, LEVEL_C, before);
  jobs.job.y = (void *)level_operand(&jobs, LEVEL_Y, v);
  jobs.kernel = pick(products, level, c->meta.dtype);
  level_jobs_run(ctx, &jobs, level_work(level, k));
  add_blocks(&jobs, before != NULL, reals, sums);
done:
  lac_free(jobs.partial);
  return status;
}

const lac_pairwise_kernels cpu_pairwise_kernels = {
#define LAC_KERNEL(slot, parameters) .slot = cpu_pairwise_##slot,
#include "kernels/pairwise.def"
#undef LAC_KERNEL
};
