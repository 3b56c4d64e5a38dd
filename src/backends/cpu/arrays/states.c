// SPDX-License-Identifier: Apache-2.0
/// @file states.c
/// Reductions that are not plain sums: max, min, norm, log(sum(exp)), and softmax.
///
/// What belongs to one output is cut into blocks as for sums (reduce.h). A block gives a state (kernels/states.h);
/// states are joined pair by pair in a fixed order. Blocks are read twice, the second time from the cache.

#define LAC_STATE_EXP(x) exp_f64(x)

#include "backends/cpu/base/functions.h"
#include "backends/cpu/arrays/reduce.h"
#include "kernels/loop.h"
#include "kernels/states.h"

enum { STATE_LANES = 16 };

typedef struct state_job {
  sum_job plan;
  lac_reduction op;
  lac_state *states;  // blocks, by rows of outputs
} state_job;

typedef struct softmax_job {
  const void *x;
  void *y;
  const lac_state *states;  // one for each output
  lac_loop loop;            // over y: where x and states stand
} softmax_job;

/// The value of x in the search for the largest.
static inline double candidate(lac_reduction op, double x, double size) {
  return op == LAC_REDUCE_MIN ? -x : op == LAC_REDUCE_NORM ? size : x;
}

/// What x adds to the total of a state; inverse = 1 / most, exact for a norm. The largest itself is exp(0), also where
/// it is infinite.
static inline double state_term(lac_reduction op, double x, double size, double most, double inverse) {
  double r = size * inverse;
  return op == LAC_REDUCE_LOGSUMEXP ? exp_f64(x == most ? 0 : x - most) : r * r;
}

/// Join states[0..blocks, 0..width) pair by pair into the first row.
static void state_tree(lac_reduction op, lac_state *states, int64_t blocks, int64_t width) {
  for (int64_t step = 1; step < blocks; step *= 2) {
    for (int64_t b = 0; b + step < blocks; b += 2 * step) {
      for (int64_t c = 0; c < width; ++c) {
        states[b * width + c] = lac_state_join(op, states[b * width + c], states[(b + step) * width + c]);
      }
    }
  }
}

#define KERNEL_FILE "backends/cpu/arrays/states_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part state_units[] = TABLE(state_units);
static const cpu_part softmax_spans[] = TABLE(softmax_span);

/// One state for each output, in order; *out is the caller's to free.
static lac_status states_make(lac_context *ctx, lac_reduction op, const lac_array *x, uint32_t mask, lac_state **out) {
  lac_status status = LAC_OK;
  state_job job = {.plan = cpu_sum_plan(x, mask), .op = op};
  const sum_job *plan = &job.plan;
  int64_t width = plan->is_along ? 1 : plan->inner, rows = plan->kept.count;

  LAC_ALLOC(job.states, rows * plan->blocks * width);
  cpu_split(cpu_threads(ctx, x->count), rows * plan->blocks * plan->tiles, 1, state_units[x->meta.dtype], &job);
  for (int64_t row = 0; row < rows && plan->blocks > 1; ++row) {
    state_tree(op, job.states + row * plan->blocks * width, plan->blocks, width);
    memmove(job.states + row * width, job.states + row * plan->blocks * width, (size_t)width * sizeof *job.states);
  }
  *out = job.states, job.states = NULL;
done:
  lac_free(job.states);
  return status;
}

lac_status cpu_reduce(lac_context *ctx, lac_reduction op, const lac_array *x, uint32_t mask, lac_array *y) {
  lac_status status = LAC_OK;
  lac_state *states = NULL;

  if (x->count == 0) return cpu_fill(ctx, y, op == LAC_REDUCE_NORM ? 0 : -INFINITY, 0);
  LAC_TRY(states_make(ctx, op, x, mask, &states));
  for (int64_t i = 0; i < y->count; ++i) {
    double result = lac_state_result(op, states[i]);
    if (y->meta.dtype == LAC_F32) {
      ((f32 *)cpu_edit(y))[i] = (f32)result;
    } else {
      ((f64 *)cpu_edit(y))[i] = result;
    }
  }
done:
  lac_free(states);
  return status;
}

lac_status cpu_softmax(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  enum { GRAIN = 256 };
  lac_status status = LAC_OK;
  lac_state *states = NULL;
  softmax_job job = {.x = cpu_data(x), .y = cpu_edit(y)};

  if (x->count == 0) return LAC_OK;
  LAC_TRY(states_make(ctx, LAC_REDUCE_LOGSUMEXP, x, mask, &states));
  job.states = states;
  lac_loop_spread(&x->meta, &x->meta, job.loop.stride[0]);
  lac_loop_masked(&x->meta, mask, job.loop.stride[1]);
  lac_loop_join(&job.loop, &x->meta);
  cpu_split(cpu_threads(ctx, 16 * x->count), x->count, GRAIN, softmax_spans[x->meta.dtype], &job);
done:
  lac_free(states);
  return status;
}
