// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_vectors.c
/// What multigrid does with vectors alone: scaling into the hierarchy and out of it, interpolation, the steps of a
/// K-cycle.

#include <float.h>

#include "backends/cpu/pairwise/pairwise.h"
#include "backends/cpu/base/types.h"

#define KERNEL_FILE "backends/cpu/pairwise/pairwise_vector_kernel.h"
#include "backends/cpu/pairwise/pairwise_pairs.h"
#undef KERNEL_FILE
#define KERNEL_FILE "backends/cpu/pairwise/pairwise_step_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const level_rows narrows[4][2] = TABLE_PAIRS(narrow);
static const level_rows widens[4][2] = TABLE_PAIRS(widen);
static const level_rows collects[4][2] = TABLE_PAIRS(collect);
static const level_rows largests[4][2] = TABLE_PAIRS(largest);
static const level_rows prolongs[4] = TABLE(prolong);
static const level_rows advances[4] = TABLE(advance);

/// The two scales of a column from the largest part in it.
static void set_scales(double most, double unit, double *in, double *out) {
  int exponent = 0;
  double u = 1;
  if (most > 0 && most <= DBL_MAX) {
    (void)frexp(most, &exponent);
    if (exponent > 1000) exponent = 1000;  // the reciprocal is a normal number
    if (exponent < -1000) exponent = -1000;
    u = ldexp(1, exponent - 1);
  }
  *in = 1 / u;
  *out = u * unit;
}

lac_status cpu_magnitudes(lac_context *ctx, const lac_array *x, const lac_array *unit, lac_array *scale) {
  lac_status status = LAC_OK;
  int64_t k = x->meta.shape[2], rows = x->meta.shape[1];
  level_jobs jobs = {.items = x->meta.shape[0], .job = {.k = k, .rows = rows}};
  int64_t blocks = (rows + LEVEL_BLOCK - 1) / LEVEL_BLOCK;
  double *partial = lac_alloc((size_t)(jobs.items * blocks * k) * sizeof *partial), *out = cpu_edit(scale);
  LAC_CHECK(partial, LAC_ERR_MEMORY, "out of memory: magnitudes of %lld blocks", (long long)blocks);
  jobs.partial = (char *)partial;
  jobs.partial_bytes = k * (int64_t)sizeof *partial;
  jobs.job.b = level_operand(&jobs, LEVEL_B, x);
  jobs.kernel = largests[x->meta.dtype][0];
  level_jobs_run(ctx, &jobs, rows * k);
  for (int64_t item = 0; item < jobs.items; ++item) {
    for (int64_t c = 0; c < k; ++c) {
      double most = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        double here = partial[(item * blocks + block) * k + c];
        most = here <= most ? most : here;
      }
      set_scales(most, unit ? ((const double *)cpu_data(unit))[2 * item] : 1, out + 2 * item * k + c,
                 out + (2 * item + 1) * k + c);
    }
  }
done:
  lac_free(partial);
  return status;
}

lac_status cpu_pairwise_scaled(lac_context *ctx, const lac_array *weights, bool conjugates, const lac_array *scale,
                               int which, const lac_array *x, lac_array *y) {
  int64_t k = x->meta.shape[2];
  lac_dtype from = x->meta.dtype, to = y->meta.dtype;
  level_jobs jobs = {.items = x->meta.shape[0], .job = {.k = k, .rows = x->meta.shape[1]}};
  jobs.job.sign = conjugates ? -1 : 1;
  jobs.job.weights = level_operand(&jobs, LEVEL_WEIGHTS, weights);
  jobs.job.in_scale = level_operand(&jobs, LEVEL_IN_SCALE, scale);
  if (scale) jobs.job.in_scale += which * k;
  jobs.job.b = level_operand(&jobs, LEVEL_B, x);
  jobs.job.z = (void *)level_operand(&jobs, LEVEL_Z, y);
  jobs.kernel = lac_dtype_size(to) > lac_dtype_size(from) ? widens[to][1] : narrows[from][from != to];
  level_jobs_run(ctx, &jobs, jobs.job.rows * k);
  return LAC_OK;
}

void cpu_pairwise_collected(lac_context *ctx, const lac_aggregation *aggregation, const lac_array *weights,
                            bool conjugates, const lac_array *r, lac_array *rc, lac_array *xc) {
  int64_t k = r->meta.shape[2];
  level_jobs jobs = {.items = r->meta.shape[0], .job = {.k = k, .rows = aggregation->coarse}};
  jobs.job.sign = conjugates ? -1 : 1;
  jobs.job.starts = aggregation->starts->host;
  jobs.job.members = aggregation->members->host;
  jobs.job.next_weights = level_operand(&jobs, LEVEL_NEXT_WEIGHTS, weights);
  jobs.job.b = level_operand(&jobs, LEVEL_B, r);
  jobs.job.y = (void *)level_operand(&jobs, LEVEL_Y, rc);
  jobs.job.z = (void *)level_operand(&jobs, LEVEL_Z, xc);
  jobs.kernel = collects[r->meta.dtype][r->meta.dtype != rc->meta.dtype];
  level_jobs_run(ctx, &jobs, aggregation->fine * k);
}

lac_status cpu_pairwise_prolonged(lac_context *ctx, const lac_aggregation *aggregation, const lac_array *steps,
                                  const lac_array *c, const lac_array *d, lac_array *x) {
  int64_t k = x->meta.shape[2];
  level_jobs jobs = {.items = x->meta.shape[0], .job = {.k = k, .rows = aggregation->fine}};
  jobs.job.aggregates = aggregation->aggregates->host;
  jobs.job.steps = level_operand(&jobs, LEVEL_STEPS, steps);
  jobs.job.c = level_operand(&jobs, LEVEL_C, c);
  jobs.job.d = level_operand(&jobs, LEVEL_D, d);
  jobs.job.y = (void *)level_operand(&jobs, LEVEL_Y, x);
  jobs.kernel = prolongs[x->meta.dtype];
  level_jobs_run(ctx, &jobs, aggregation->fine * k);
  return LAC_OK;
}

/// a / b, and 0 where b is 0: a right-hand side of zeros
static c128 share(c128 a, c128 b) { return b == 0 ? PAIR(0.0, 0.0) : div_c128(a, b); }

/// The steps along the two directions that solve the problem of two unknowns. The second is left out where it is the
/// first again.
static void set_steps(const c128 sums[LAC_CYCLE_SUMS], bool second, c128 steps[LAC_CYCLE_STEPS]) {
  const c128 rho = sums[LAC_CYCLE_RHO], gamma = sums[LAC_CYCLE_GAMMA], beta = sums[LAC_CYCLE_BETA];
  steps[LAC_CYCLE_FIRST] = share(sums[LAC_CYCLE_ALPHA], rho);
  if (!second) return;
  c128 rest = beta - share(mul_c128(gamma, conj_c128(gamma)), rho), d = 0;
  if (!(cabs(rest) <= 1e-12 * cabs(beta))) d = div_c128(sums[LAC_CYCLE_ALPHA2], rest);
  steps[LAC_CYCLE_C] = steps[LAC_CYCLE_FIRST] - mul_c128(share(conj_c128(gamma), rho), d);
  steps[LAC_CYCLE_D] = d;
}

lac_status cpu_pairwise_steps(lac_context *ctx, bool second, const lac_array *sums, lac_array *steps) {
  int64_t items = sums->meta.shape[0], k = sums->meta.shape[2], parts = lac_dtype_is_complex(sums->meta.dtype) ? 2 : 1;
  (void)ctx;
  for (int64_t at = 0; at < items * k; ++at) {
    const double *from = (const double *)cpu_data(sums) + (at / k * LAC_CYCLE_SUMS * k + at % k) * parts;
    double *to = (double *)cpu_edit(steps) + (at / k * LAC_CYCLE_STEPS * k + at % k) * parts;
    c128 in[LAC_CYCLE_SUMS], out[LAC_CYCLE_STEPS] = {0};
    for (int s = 0; s < LAC_CYCLE_SUMS; ++s, from += k * parts) in[s] = PAIR(from[0], parts == 2 ? from[1] : 0.0);
    set_steps(in, second, out);
    for (int s = 0; s < (second ? LAC_CYCLE_STEPS : 1); ++s, to += k * parts) {
      to[0] = creal(out[s]);
      if (parts == 2) to[1] = cimag(out[s]);
    }
  }
  return LAC_OK;
}

lac_status cpu_pairwise_advanced(lac_context *ctx, const lac_level_view *level, const lac_array *steps,
                                 const lac_array *v, lac_array *r, lac_array *x) {
  int64_t k = x->meta.shape[2];
  level_jobs jobs = {.items = x->meta.shape[0], .job = {.k = k, .rows = x->meta.shape[1]}};
  jobs.job.sign = level->conjugates ? -1 : 1;
  jobs.job.weights = level_operand(&jobs, LEVEL_WEIGHTS, level->weights);
  jobs.job.steps = level_operand(&jobs, LEVEL_STEPS, steps);
  jobs.job.c = level_operand(&jobs, LEVEL_C, v);
  jobs.job.y = (void *)level_operand(&jobs, LEVEL_Y, r);
  jobs.job.z = (void *)level_operand(&jobs, LEVEL_Z, x);
  jobs.kernel = advances[x->meta.dtype];
  level_jobs_run(ctx, &jobs, jobs.job.rows * k);
  return LAC_OK;
}
