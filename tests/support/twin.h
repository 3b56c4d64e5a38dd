// SPDX-License-Identifier: Apache-2.0
/// @file twin.h
/// The same arrays on the CPU and on another backend, and kernels that are run on both.

#ifndef LACUNA_TESTS_TWIN_H
#define LACUNA_TESTS_TWIN_H

#include <complex.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"
#include "support/check.h"

enum { TWIN_CPU = 0, TWIN_OTHER = 1, TWIN_SKIPPED = 77 };

static const lac_dtype twin_dtypes[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};

/// Open beside a context of another backend, which stays the caller's.
void twin_open(lac_context *other);
void twin_close(void);
lac_context *twin_context(int side);

/// Fail with the sentence of that side's context.
void twin_must(int side, lac_status status);

typedef struct twin {
  lac_array *on[2];
} twin;

/// Numbers that are given in double precision, rounded to the dtype; random ones; undefined ones, which are NaN.
twin twin_of(lac_dtype dtype, int ndim, const int64_t *shape, const double _Complex *numbers);
twin twin_random(lac_dtype dtype, int ndim, const int64_t *shape, uint64_t seed);
twin twin_new(lac_dtype dtype, int ndim, const int64_t *shape);
void twin_destroy(twin *x);

/// Number i on one side.
double _Complex twin_get(const twin *x, int side, int64_t i);

/// Run on both sides, and on the other one once more. Both agree to `roundings` of the largest number, every number was
/// written, and two runs give the same bits.
typedef lac_status twin_kernel(lac_context *ctx, const void *call, int side);
void twin_compare(twin_kernel *run, const void *call, twin *out, double roundings, const char *what);

#define TWIN_NAMES_OF(...) #__VA_ARGS__
#define TWIN_NAMES(...) TWIN_NAMES_OF(__VA_ARGS__)

/// The program of tests of the CUDA backend beside the CPU's: on another backend there is nothing to compare.
#define TWIN_MAIN(...)                                                                                        \
  int main(int argc, char **argv) {                                                                           \
    static check_test *const tests[] = {__VA_ARGS__};                                                         \
    if (argc < 2 || strcmp(argv[1], "cuda") != 0) {                                                           \
      (void)printf("skip: the CUDA backend beside the CPU's\n");                                              \
      return TWIN_SKIPPED;                                                                                    \
    }                                                                                                         \
    return check_main(argc, argv, NULL, TWIN_NAMES(__VA_ARGS__), tests, (int)(sizeof tests / sizeof *tests)); \
  }

#endif
