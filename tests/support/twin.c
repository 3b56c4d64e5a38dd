// SPDX-License-Identifier: Apache-2.0
/// @file twin.c
/// Arrays and kernels on two backends.

#include "support/twin.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "support/random.h"
#include "support/scratch.h"

static lac_context *contexts[2];

void twin_must(int side, lac_status status) {
  lac_context *ctx = contexts[side];
  CHECK_OK(status);
}

void twin_open(lac_context *other) {
  lac_context *ctx = other;
  contexts[TWIN_OTHER] = other;
  CHECK_OK(lac_context_create("cpu", 0, &contexts[TWIN_CPU]));
}

void twin_close(void) { lac_context_destroy(&contexts[TWIN_CPU]); }

lac_context *twin_context(int side) { return contexts[side]; }

static double _Complex number_at(const void *host, lac_dtype dtype, int64_t i) {
  return dtype == LAC_F32   ? (double)((const float *)host)[i]
         : dtype == LAC_F64 ? ((const double *)host)[i]
         : dtype == LAC_C64 ? (double _Complex)((const float _Complex *)host)[i]
                            : ((const double _Complex *)host)[i];
}

static void number_set(void *host, lac_dtype dtype, int64_t i, double _Complex value) {
  if (dtype == LAC_F32) {
    ((float *)host)[i] = (float)creal(value);
  } else if (dtype == LAC_F64) {
    ((double *)host)[i] = creal(value);
  } else if (dtype == LAC_C64) {
    ((float _Complex *)host)[i] = (float _Complex)value;
  } else {
    ((double _Complex *)host)[i] = value;
  }
}

static int64_t count_of(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int d = 0; d < ndim; ++d) count *= shape[d];
  return count;
}

twin twin_of(lac_dtype dtype, int ndim, const int64_t *shape, const double _Complex *numbers) {
  twin x = {{NULL, NULL}};
  size_t mark = scratch_mark();
  int64_t count = count_of(ndim, shape);
  void *host = scratch((size_t)(count + 1) * lac_dtype_size(dtype));
  for (int64_t i = 0; i < count; ++i) number_set(host, dtype, i, numbers[i]);
  for (int side = 0; side < 2; ++side) {
    twin_must(side, lac_array_from(contexts[side], dtype, ndim, shape, host, LAC_OWNERSHIP_COPY, &x.on[side]));
  }
  scratch_release(mark);
  return x;
}

twin twin_random(lac_dtype dtype, int ndim, const int64_t *shape, uint64_t seed) {
  random_state r = random_start(seed);
  size_t mark = scratch_mark();
  int64_t count = count_of(ndim, shape);
  double _Complex *numbers = scratch((size_t)(count + 1) * sizeof *numbers);
  for (int64_t i = 0; i < count; ++i) {
    double re = random_unit(&r), im = random_unit(&r);
    numbers[i] = re + im * _Complex_I;
  }
  twin x = twin_of(dtype, ndim, shape, numbers);
  scratch_release(mark);
  return x;
}

static void poison(twin *x) {
  for (int side = 0; side < 2; ++side) twin_must(side, lac_array_fill(contexts[side], x->on[side], NAN, NAN));
}

twin twin_new(lac_dtype dtype, int ndim, const int64_t *shape) {
  twin x = {{NULL, NULL}};
  for (int side = 0; side < 2; ++side) {
    twin_must(side, lac_array_create(contexts[side], dtype, ndim, shape, &x.on[side]));
  }
  poison(&x);
  return x;
}

void twin_destroy(twin *x) {
  for (int side = 0; side < 2; ++side) lac_array_destroy(&x->on[side]);
}

static void *read_side(const twin *x, int side) {
  void *host = scratch(lac_array_bytes(x->on[side]) + 1);
  twin_must(side, lac_array_read(contexts[side], x->on[side], host));
  return host;
}

double _Complex twin_get(const twin *x, int side, int64_t i) {
  size_t mark = scratch_mark();
  double _Complex value = number_at(read_side(x, side), x->on[side]->meta.dtype, i);
  scratch_release(mark);
  return value;
}

/// Both agree to so many roundings of the largest number, or of the smallest that counts as large.
static void expect_close(const twin *x, double roundings, const char *what) {
  lac_dtype dtype = x->on[TWIN_CPU]->meta.dtype;
  const void *want = read_side(x, TWIN_CPU), *got = read_side(x, TWIN_OTHER);
  double worst = 0, size = 1e-3, unit = dtype == LAC_F32 || dtype == LAC_C64 ? FLT_EPSILON : DBL_EPSILON;
  for (int64_t i = 0; i < x->on[TWIN_CPU]->count; ++i) {
    double _Complex w = number_at(want, dtype, i), g = number_at(got, dtype, i);
    if (isnan(creal(g)) || isnan(cimag(g)))
      check_fail(__FILE__, __LINE__, "%s, %s: number %lld is NaN", what, lac_dtype_name(dtype), (long long)i);
    worst = fmax(worst, cabs(w - g));
    size = fmax(size, cabs(w));
  }
  if (worst > roundings * unit * size) {
    check_fail(__FILE__, __LINE__, "%s, %s: deviates by %g of %g", what, lac_dtype_name(dtype), worst, size);
  }
}

void twin_compare(twin_kernel *run, const void *call, twin *out, double roundings, const char *what) {
  size_t mark = scratch_mark();
  poison(out);
  for (int side = 0; side < 2; ++side) twin_must(side, run(contexts[side], call, side));
  expect_close(out, roundings, what);
  const void *first = read_side(out, TWIN_OTHER);
  poison(out);
  twin_must(TWIN_OTHER, run(contexts[TWIN_OTHER], call, TWIN_OTHER));
  if (memcmp(first, read_side(out, TWIN_OTHER), lac_array_bytes(out->on[TWIN_OTHER])) != 0) {
    check_fail(__FILE__, __LINE__, "%s: two runs differ", what);
  }
  scratch_release(mark);
}
