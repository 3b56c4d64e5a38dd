// SPDX-License-Identifier: Apache-2.0
/// @file elementwise.c
/// Kernels that work number by number: fill, binary, scale, axpy, conj, broadcast.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/functions.h"
#include "backends/cpu/base/types.h"
#include "kernels/loop.h"

enum { ELEMENT_SCALE = LAC_COMPARE_GE + 1, ELEMENT_AXPY, ELEMENT_CONJ, ELEMENT_COPY };  // behind those of lac_binary

typedef struct element_job {
  int op;  // lac_binary, or one of the above
  bool streams;
  double re, im;  // alpha
  const void *x, *y;
  void *z;
  lac_loop loop;
} element_job;

#define KERNEL_FILE "backends/cpu/arrays/elementwise_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part elements[] = TABLE(elements);

enum { ELEMENT_GRAIN = 1024 };

static lac_status element_run(lac_context *ctx, element_job *job, lac_array *z) {
  job->z = cpu_edit(z);
  bool can_align = (uintptr_t)job->z % lac_dtype_size(z->meta.dtype) == 0;
  job->streams = cpu_streams(z) && can_align && job->z != job->x && job->z != job->y;
  cpu_split(cpu_threads(ctx, z->count), z->count, ELEMENT_GRAIN, elements[z->meta.dtype], job);
  return LAC_OK;
}

/// The loop over arrays of as many numbers.
static lac_loop flat_loop(int64_t count) { return (lac_loop){.ndim = 1, .shape = {count}, .stride = {{1}, {1}}}; }

lac_status cpu_fill(lac_context *ctx, lac_array *x, double real, double imag) {
  c128 number;  // room for any dtype
  switch (x->meta.dtype) {
    case LAC_F32:
      memcpy(&number, &(f32){(f32)real}, sizeof(f32));
      break;
    case LAC_F64:
      memcpy(&number, &real, sizeof(f64));
      break;
    case LAC_C64:
      memcpy(&number, &(c64){make_c64(real, imag)}, sizeof(c64));
      break;
    default:
      number = make_c128(real, imag);
  }
  element_job job = {.op = ELEMENT_COPY, .x = &number, .y = &number, .loop = flat_loop(x->count)};
  job.loop.stride[0][0] = job.loop.stride[1][0] = 0;
  return element_run(ctx, &job, x);
}

lac_status cpu_binary(lac_context *ctx, lac_binary op, const lac_array *x, const lac_array *y, lac_array *z) {
  element_job job = {.op = (int)op, .x = cpu_data(x), .y = cpu_data(y)};
  if (x->count == z->count && y->count == z->count) {
    job.loop = flat_loop(z->count);
  } else {
    lac_loop_spread(&z->meta, &x->meta, job.loop.stride[0]);
    lac_loop_spread(&z->meta, &y->meta, job.loop.stride[1]);
    lac_loop_join(&job.loop, &z->meta);
  }
  return element_run(ctx, &job, z);
}

lac_status cpu_scale(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y) {
  element_job job = {ELEMENT_SCALE, false, real, imag, cpu_data(x), cpu_data(x), NULL, flat_loop(y->count)};
  return element_run(ctx, &job, y);
}

lac_status cpu_axpy(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y) {
  element_job job = {ELEMENT_AXPY, false, real, imag, cpu_data(x), cpu_data(y), NULL, flat_loop(y->count)};
  return element_run(ctx, &job, y);
}

lac_status cpu_conj(lac_context *ctx, const lac_array *x, lac_array *y) {
  int op = lac_dtype_is_complex(x->meta.dtype) ? ELEMENT_CONJ : ELEMENT_COPY;
  element_job job = {op, false, 0, 0, cpu_data(x), cpu_data(x), NULL, flat_loop(y->count)};
  return element_run(ctx, &job, y);
}

lac_status cpu_broadcast(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y) {
  element_job job = {.op = ELEMENT_COPY, .x = cpu_data(x), .y = cpu_data(x)};
  lac_loop_masked(&y->meta, mask, job.loop.stride[0]);
  lac_loop_masked(&y->meta, mask, job.loop.stride[1]);
  lac_loop_join(&job.loop, &y->meta);
  return element_run(ctx, &job, y);
}
