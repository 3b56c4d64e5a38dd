// SPDX-License-Identifier: Apache-2.0
/// @file adam.c
/// The kernel adam.

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"

typedef struct adam_job {
  lac_adam a;
  const void *g;
  void *m, *v, *x;
} adam_job;

INLINE f32 fused_c64(f32 x, f32 y, f32 s) { return fused_f32(x, y, s); }
INLINE f64 fused_c128(f64 x, f64 y, f64 s) { return fused_f64(x, y, s); }
INLINE f32 root_f32(f32 x) { return sqrtf(x); }
INLINE f64 root_f64(f64 x) { return sqrt(x); }
INLINE f32 root_c64(f32 x) { return sqrtf(x); }
INLINE f64 root_c128(f64 x) { return sqrt(x); }

#define KERNEL_FILE "backends/cpu/arrays/adam_kernel.h"
#include "backends/cpu/base/instantiate.h"

static const cpu_part adams[] = TABLE(adam);

enum { ADAM_GRAIN = 1024 };

lac_status cpu_adam(lac_context *ctx, const lac_adam *a, const lac_array *g, lac_array *m, lac_array *v, lac_array *x) {
  adam_job job = {*a, g ? cpu_data(g) : NULL, cpu_edit(m), cpu_edit(v), cpu_edit(x)};
  int64_t reals = x->count * (lac_dtype_is_complex(x->meta.dtype) ? 2 : 1);
  cpu_split(cpu_threads(ctx, reals), reals, ADAM_GRAIN, adams[x->meta.dtype], &job);
  return LAC_OK;
}
