// SPDX-License-Identifier: Apache-2.0
/// @file unary.c
/// Functions of one array, number by number: unary, power, clamp, cast.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/functions.h"
#include "backends/cpu/base/types.h"

enum { UNARY_POWER = LAC_HEAVISIDE + 1, UNARY_SQUARE, UNARY_RECIPROCAL, UNARY_CLAMP };  // behind those of lac_unary

typedef struct unary_job {
  int op;          // lac_unary, or one of the above
  double f[2];     // the exponent, or the bounds
  lac_dtype from;  // the dtype of x, where y's is another
  const void *x;
  void *y;
} unary_job;

#define KERNEL_FILE "backends/cpu/arrays/unary_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part unary_parts[] = TABLE(unary_part), cast_parts[] = TABLE(cast_part);

enum { UNARY_GRAIN = 1024 };

static lac_status unary_run(lac_context *ctx, const cpu_part *parts, lac_dtype dtype, unary_job *job,
                            const lac_array *x, lac_array *y) {
  job->x = cpu_data(x);
  job->y = cpu_edit(y);
  cpu_split(cpu_threads(ctx, y->count), y->count, UNARY_GRAIN, parts[dtype], job);
  return LAC_OK;
}

lac_status cpu_unary(lac_context *ctx, lac_unary op, const lac_array *x, lac_array *y) {
  return unary_run(ctx, unary_parts, x->meta.dtype, &(unary_job){.op = (int)op}, x, y);
}

lac_status cpu_power(lac_context *ctx, double exponent, const lac_array *x, lac_array *y) {
  int op = exponent == 2 ? UNARY_SQUARE : exponent == -1 ? UNARY_RECIPROCAL : UNARY_POWER;
  return unary_run(ctx, unary_parts, x->meta.dtype, &(unary_job){.op = op, .f = {exponent}}, x, y);
}

lac_status cpu_clamp(lac_context *ctx, double low, double high, const lac_array *x, lac_array *y) {
  return unary_run(ctx, unary_parts, x->meta.dtype, &(unary_job){.op = UNARY_CLAMP, .f = {low, high}}, x, y);
}

lac_status cpu_cast(lac_context *ctx, const lac_array *x, lac_array *y) {
  return unary_run(ctx, cast_parts, y->meta.dtype, &(unary_job){.from = x->meta.dtype}, x, y);
}
