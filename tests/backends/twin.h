// SPDX-License-Identifier: Apache-2.0
/// @file twin.h
/// Kernels of the CUDA backend beside the CPU's: each case runs on both with the same random numbers; outputs are
/// filled with NaN before, and two runs on the device must give the same bits.

#ifndef TESTS_BACKENDS_TWIN_H
#define TESTS_BACKENDS_TWIN_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"

enum { SKIPPED = 77, CPU = 0, CUDA = 1 };

static const lac_dtype dtypes[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};

/// The same array on both backends.
typedef struct twin {
  lac_array *on[2];
} twin;

static lac_context *contexts[2];

static inline size_t bytes_of(const lac_array *x) { return (size_t)x->count * lac_dtype_size(x->meta.dtype); }

static inline void must(int backend, lac_status status) {
  lac_context *ctx = contexts[backend];
  CHECK_OK(status);
}

static inline lac_meta meta_of(lac_dtype dtype, int ndim, const int64_t *shape) {
  lac_meta meta = {.dtype = dtype, .ndim = ndim};
  for (int d = 0; d < ndim; ++d) meta.shape[d] = shape[d];
  return meta;
}

/// Random numbers, which f32 holds exactly.
static inline void *numbers(lac_dtype dtype, int64_t count, uint64_t seed) {
  random_state r = random_start(seed);
  int64_t parts = lac_dtype_is_complex(dtype) ? 2 * count : count;
  bool narrow = dtype == LAC_F32 || dtype == LAC_C64;
  void *host = scratch((size_t)count * lac_dtype_size(dtype));
  for (int64_t i = 0; i < parts; ++i) {
    double value = random_unit(&r);
    if (narrow) {
      ((float *)host)[i] = (float)value;
    } else {
      ((double *)host)[i] = value;
    }
  }
  return host;
}

static inline twin twin_random(lac_dtype dtype, int ndim, const int64_t *shape, uint64_t seed) {
  twin x = {{NULL, NULL}};
  lac_meta meta = meta_of(dtype, ndim, shape);
  size_t mark = scratch_mark();
  void *host = numbers(dtype, lac_meta_count(&meta), seed);
  for (int b = 0; b < 2; ++b)
    must(b, lac_array_from(contexts[b], dtype, ndim, shape, host, LAC_OWNERSHIP_COPY, &x.on[b]));
  scratch_release(mark);
  return x;
}

/// Undefined contents, made visible.
static inline void twin_poison(twin *x) {
  for (int b = 0; b < 2; ++b) must(b, lac_array_fill(contexts[b], x->on[b], NAN, NAN));
}

static inline twin twin_new(lac_dtype dtype, int ndim, const int64_t *shape) {
  twin x = {{NULL, NULL}};
  for (int b = 0; b < 2; ++b) must(b, lac_array_create(contexts[b], dtype, ndim, shape, &x.on[b]));
  twin_poison(&x);
  return x;
}

static inline void twin_destroy(twin *x) {
  for (int b = 0; b < 2; ++b) lac_array_destroy(&x->on[b]);
}

static inline double part(const void *host, lac_dtype dtype, int64_t i) {
  return dtype == LAC_F32 || dtype == LAC_C64 ? (double)((const float *)host)[i] : ((const double *)host)[i];
}

/// Both agree to rounding, scaled by the largest number; every number was written.
static inline void twin_check(const twin *x, const char *what) {
  lac_dtype dtype = x->on[CPU]->meta.dtype;
  void *want = scratch(bytes_of(x->on[CPU])), *got = scratch(bytes_of(x->on[CUDA]));
  int64_t parts = x->on[CPU]->count * (lac_dtype_is_complex(dtype) ? 2 : 1);
  double tolerance = dtype == LAC_F32 || dtype == LAC_C64 ? 2e-5 : 2e-14, worst = 0, size = 1e-3;

  must(CPU, lac_array_read(contexts[CPU], x->on[CPU], want));
  must(CUDA, lac_array_read(contexts[CUDA], x->on[CUDA], got));
  for (int64_t i = 0; i < parts; ++i) {
    double w = part(want, dtype, i), g = part(got, dtype, i);
    if (isnan(g))
      check_fail(__FILE__, __LINE__, "%s, %s: number %lld was not written", what, lac_dtype_name(dtype), (long long)i);
    worst = fmax(worst, fabs(w - g));
    size = fmax(size, fabs(w));
  }
  if (worst > tolerance * size) {
    check_fail(__FILE__, __LINE__, "%s, %s: deviates by %g of %g", what, lac_dtype_name(dtype), worst, size);
  }
}

/// A kernel as a case runs it on backend b.
typedef lac_status twin_run(lac_context *ctx, int b, const void *c);

/// Run on both backends, and on the device once more: the same bits.
static inline void twin_compare(twin_run *run, const void *c, twin *out, const char *what) {
  size_t mark = scratch_mark(), bytes = bytes_of(out->on[CUDA]);
  void *first = scratch(bytes), *second = scratch(bytes);

  for (int b = 0; b < 2; ++b) must(b, run(contexts[b], b, c));
  twin_check(out, what);
  must(CUDA, lac_array_read(contexts[CUDA], out->on[CUDA], first));
  twin_poison(out);
  must(CUDA, run(contexts[CUDA], CUDA, c));
  must(CUDA, lac_array_read(contexts[CUDA], out->on[CUDA], second));
  if (memcmp(first, second, bytes) != 0) check_fail(__FILE__, __LINE__, "%s: two runs differ", what);
  scratch_release(mark);
}

static inline void open_both(lac_context *ctx) {
  contexts[CUDA] = ctx;
  CHECK_OK(lac_context_create("cpu", 0, &contexts[CPU]));
}

static inline void close_both(void) { lac_context_destroy(&contexts[CPU]); }

#define TWIN_NAMES_OF(...) #__VA_ARGS__
#define TWIN_NAMES(...) TWIN_NAMES_OF(__VA_ARGS__)

/// The program of such tests: there is nothing to compare on another backend.
#define TWIN_MAIN(...)                                                                                        \
  int main(int argc, char **argv) {                                                                           \
    static check_test *const tests[] = {__VA_ARGS__};                                                         \
    if (argc < 2 || strcmp(argv[1], "cuda") != 0) {                                                           \
      (void)printf("skip: the CUDA backend beside the CPU's\n");                                              \
      return SKIPPED;                                                                                         \
    }                                                                                                         \
    return check_main(argc, argv, NULL, TWIN_NAMES(__VA_ARGS__), tests, (int)(sizeof tests / sizeof *tests)); \
  }

#endif
