// SPDX-License-Identifier: Apache-2.0
/// Kernels on complex numbers of every exponent, beside the same formula in numbers of a longer one: each part of a
/// result is right to rounding, 0 or subnormal where it is too small, and infinite only where it is too large.

#include <float.h>

#include "backends/kernel_check.h"
#include "support/random.h"

enum { COUNT = 6000 };

/// What a result should be, and the size of what was added up in its parts.
typedef struct expected {
  long double re, im, re_size, im_size;
} expected;

typedef expected formula(long double _Complex x, long double _Complex y);

/// A part with any exponent of the dtype, or one near `exponent`; sometimes 0.
static double draw_part(random_state *r, bool is_single, int exponent) {
  int least = is_single ? -149 : -1074, most = is_single ? 127 : 1023;
  int64_t kind = random_below(r, 8);
  if (kind == 0) return 0;
  int own = kind < 4 ? exponent : least + (int)random_below(r, most - least + 1);
  double x = ldexp(random_unit(r), own);
  return is_single ? (double)(float)x : x;
}

static subject draw(lac_context *ctx, lac_dtype dtype, uint64_t seed) {
  random_state r = random_start(seed << 32);  // seeds that are near are near in one sequence
  bool is_single = dtype == LAC_C64;
  subject s = {.value = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {COUNT}})};
  for (int i = 0; i < COUNT; ++i) {
    int exponent = is_single ? (int)random_below(&r, 277) - 149 : (int)random_below(&r, 2098) - 1074;
    double re = draw_part(&r, is_single, exponent), im = draw_part(&r, is_single, exponent);
    if (re == 0 && im == 0) re = 1;
    s.value.x[i] = re + im * I;
  }
  CHECK_OK(ref_upload(ctx, &s.value, &s.array));
  return s;
}

static bool is_right(double got, long double want, long double size, bool is_single) {
  long double unit = is_single ? FLT_EPSILON : DBL_EPSILON, most = is_single ? FLT_MAX : DBL_MAX;
  long double least = is_single ? 0x1p-149L : 0x1p-1074L, slack = 8 * unit * size + 2 * least;
  if (fabsl(want) > most * (1 + 8 * unit)) return isinf(got) && (got > 0) == (want > 0);
  return fabsl(got - want) <= slack || (isinf(got) && fabsl(want) + slack > most);
}

static void expect_right(lac_context *ctx, const char *what, const subject *x, const subject *y, formula *f,
                         const lac_array *result) {
  ref got;
  bool is_single = x->value.meta.dtype == LAC_C64;
  CHECK_OK(ref_download(ctx, result, &got));
  for (int i = 0; i < COUNT; ++i) {
    number a = x->value.x[i], b = y ? y->value.x[i] : 1;
    expected want = f(a, b);
    if (is_right(creal(got.x[i]), want.re, want.re_size, is_single) &&
        is_right(cimag(got.x[i]), want.im, want.im_size, is_single)) {
      continue;
    }
    check_fail(__FILE__, __LINE__, "%s of %a + %a i and %a + %a i is %a + %a i, not %La + %La i", what, creal(a),
               cimag(a), creal(b), cimag(b), creal(got.x[i]), cimag(got.x[i]), want.re, want.im);
  }
}

/// Whether the numbers of the formulas reach further than those of the kernels; says where they do not.
static bool has_reach(void) {
  if (LDBL_MAX_EXP >= 8 * DBL_MAX_EXP && LDBL_EPSILON < DBL_EPSILON) return true;
  (void)printf("skip: long double is no longer than double here\n");
  return false;
}

// -- quotients -------------------------------------------------------------------------------------------------------

static expected quotient(long double _Complex x, long double _Complex y) {
  long double a = creall(x), b = cimagl(x), c = creall(y), d = cimagl(y), square = c * c + d * d;
  return (expected){(a * c + b * d) / square, (b * c - a * d) / square, (fabsl(a * c) + fabsl(b * d)) / square,
                    (fabsl(b * c) + fabsl(a * d)) / square};
}

static expected reciprocal(long double _Complex x, long double _Complex one) { return quotient(one, x); }

static void quotients_have_the_range_of_their_parts(lac_context *ctx) {
  if (!has_reach()) return;
  for (lac_dtype dtype = LAC_C64; dtype <= LAC_C128; ++dtype) {
    subject x = draw(ctx, dtype, 1), y = draw(ctx, dtype, 2), z = subject_out(ctx, x.value.meta);
    for (lac_binary op = LAC_DIV; op <= LAC_DIV_OR_ZERO; ++op) {
      lac_status status = ctx->kernels->binary(ctx, op, x.array, y.array, z.array);
      if (status == LAC_OK) expect_right(ctx, "the quotient", &x, &y, quotient, z.array);
      if (status != LAC_OK) CHECK_EQ(status, LAC_ERR_UNSUPPORTED);
    }
    lac_context_clear_error(ctx);
    lac_array_destroy(&x.array), lac_array_destroy(&y.array), lac_array_destroy(&z.array);
  }
}

static void reciprocals_have_the_range_of_their_parts(lac_context *ctx) {
  NEEDS(reciprocal);
  if (!has_reach()) return;
  for (lac_dtype dtype = LAC_C64; dtype <= LAC_C128; ++dtype) {
    subject x = draw(ctx, dtype, 3), y = subject_out(ctx, x.value.meta);
    int64_t fault;
    CHECK_OK(ctx->kernels->reciprocal(ctx, x.array, y.array, &fault));
    expect_right(ctx, "the reciprocal", &x, NULL, reciprocal, y.array);
    if (ctx->kernels->power) {
      CHECK_OK(ctx->kernels->power(ctx, -1, x.array, y.array));
      expect_right(ctx, "the power -1", &x, NULL, reciprocal, y.array);
    }
    lac_array_destroy(&x.array), lac_array_destroy(&y.array);
  }
}

/// 0 has none; that of an infinite number is 0, whatever its other part.
static void reciprocals_of_what_is_not_finite(lac_context *ctx) {
  NEEDS(reciprocal);
  const double infinite = INFINITY;
  for (lac_dtype dtype = LAC_C64; dtype <= LAC_C128; ++dtype) {
    ref x = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {5}}), got;
    number all[] = {infinite, __builtin_complex(0.0, infinite), __builtin_complex(infinite, -infinite),
                    __builtin_complex(1.0, infinite), 0};
    lac_array *from = NULL, *to = NULL;
    int64_t fault;
    memcpy(x.x, all, sizeof all);
    CHECK_OK(ref_upload(ctx, &x, &from));
    CHECK_OK(ref_upload(ctx, &x, &to));
    CHECK_OK(ctx->kernels->reciprocal(ctx, from, to, &fault));
    CHECK_OK(ref_download(ctx, to, &got));
    CHECK_EQ(fault, 4);
    for (int i = 0; i < 4; ++i) CHECK(creal(got.x[i]) == 0 && cimag(got.x[i]) == 0);
    lac_array_destroy(&from), lac_array_destroy(&to);
  }
}

// -- functions -------------------------------------------------------------------------------------------------------

static expected exactly(long double _Complex z) {
  return (expected){creall(z), cimagl(z), fabsl(creall(z)), fabsl(cimagl(z))};
}

static expected modulus(long double _Complex x, long double _Complex y) {
  return (void)y, exactly(hypotl(creall(x), cimagl(x)));
}
static expected direction(long double _Complex x, long double _Complex y) {
  return (void)y, exactly(x / hypotl(creall(x), cimagl(x)));
}
static expected root(long double _Complex x, long double _Complex y) { return (void)y, exactly(csqrtl(x)); }

/// Near |x| = 1 the real part is that of a sum that cancels.
static expected logarithm(long double _Complex x, long double _Complex y) {
  expected e = exactly(logl(hypotl(creall(x), cimagl(x))) + I * atan2l(cimagl(x), creall(x)));
  return (void)y, e;
}

static void functions_have_the_range_of_their_parts(lac_context *ctx) {
  static const struct {
    lac_unary op;
    formula *f;
    const char *name;
    bool is_real;
  } cases[] = {{LAC_ABS, modulus, "the modulus", true},
               {LAC_SIGN, direction, "the sign", false},
               {LAC_SQRT, root, "the root", false},
               {LAC_LOG, logarithm, "the logarithm", false}};
  NEEDS(unary);
  if (!has_reach()) return;
  for (lac_dtype dtype = LAC_C64; dtype <= LAC_C128; ++dtype) {
    subject x = draw(ctx, dtype, 4);
    for (size_t c = 0; c < COUNT_OF(cases); ++c) {
      lac_meta meta = x.value.meta;
      if (cases[c].is_real) meta.dtype = dtype == LAC_C64 ? LAC_F32 : LAC_F64;
      subject y = subject_out(ctx, meta);
      CHECK_OK(ctx->kernels->unary(ctx, cases[c].op, x.array, y.array));
      expect_right(ctx, cases[c].name, &x, NULL, cases[c].f, y.array);
      lac_array_destroy(&y.array);
    }
    lac_array_destroy(&x.array);
  }
}

CHECK_MAIN(quotients_have_the_range_of_their_parts, reciprocals_have_the_range_of_their_parts,
           reciprocals_of_what_is_not_finite, functions_have_the_range_of_their_parts)
