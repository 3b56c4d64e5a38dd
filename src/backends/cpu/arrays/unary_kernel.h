// SPDX-License-Identifier: Apache-2.0
// Functions of one number. `op` is a constant to the compiler wherever it is passed on.

INLINE T FN(unary_value)(const int op, T x, const double *f) {
  switch (op) {
    case LAC_SIGN:
      return FN(sign)(x);
    case LAC_EXP:
      return FN(exp)(x);
    case LAC_LOG:
      return FN(log)(x);
    case LAC_SQRT:
      return FN(sqrt)(x);
    case LAC_SIN:
      return FN(sin)(x);
    case LAC_COS:
      return FN(cos)(x);
    case LAC_SIGMOID:
      return FN(sigmoid)(x);
    case LAC_TANH:
      return FN(tanh)(x);
    case LAC_EXPM1:
      return FN(expm1)(x);
    case LAC_LOG1P:
      return FN(log1p)(x);
    case LAC_SOFTPLUS:
      return FN(softplus)(x);
    case LAC_RELU:
      return FN(relu)(x);
    case LAC_HEAVISIDE:
      return FN(heaviside)(x);
    case UNARY_SQUARE:
      return FN(mul)(x, x);
    case UNARY_RECIPROCAL:
      return FN(div)(1, x);
    case UNARY_POWER:
      return FN(power)(x, f[0]);
    default:  // UNARY_CLAMP; NaN stays
      return FN(re)(x) < (FN(real))f[0] ? (FN(real))f[0] : FN(re)(x) > (FN(real))f[1] ? (FN(real))f[1] : x;
  }
}

/// y = op(x), where y may be x, by calls of the C library.
INLINE void FN(called)(const int op, const unary_job *job, int64_t begin, int64_t end) {
  const T *x = job->x;
  T *y = job->y;
  for (int64_t i = begin; i < end; ++i) y[i] = FN(unary_value)(op, x[i], job->f);
}

/// The same for functions that are written out here for reals.
INLINE void FN(written)(const int op, const unary_job *job, int64_t begin, int64_t end) {
  const T *x = job->x;
  T *y = job->y;
  const double f[2] = {job->f[0], job->f[1]};
  if (FN(has_imag)) {
    FN(called)(op, job, begin, end);
    return;
  }
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) y[i] = FN(unary_value)(op, x[i], f);
}

/// The same for functions whose values are real.
INLINE void FN(measured)(const int op, const unary_job *job, int64_t begin, int64_t end) {
  const T *x = job->x;
  FN(real) *y = job->y;
  if (FN(has_imag) && (op == LAC_ABS || op == LAC_MAGNITUDE)) {
    for (int64_t i = begin; i < end; ++i) y[i] = op == LAC_ABS ? FN(abs)(x[i]) : FN(magnitude)(x[i]);
    return;
  }
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    y[i] = op == LAC_ABS         ? FN(abs)(x[i])
           : op == LAC_MAGNITUDE ? FN(magnitude)(x[i])
           : op == LAC_REAL      ? FN(re)(x[i])
                                 : FN(im)(x[i]);
  }
}

#define UNARY_CASE(op, span)       \
  case op:                         \
    FN(span)(op, job, begin, end); \
    break

static void FN(unary_part)(const void *opaque, int64_t begin, int64_t end) {
  const unary_job *job = opaque;
  switch (job->op) {
    UNARY_CASE(LAC_ABS, measured);
    UNARY_CASE(LAC_REAL, measured);
    UNARY_CASE(LAC_IMAG, measured);
    UNARY_CASE(LAC_MAGNITUDE, measured);
    UNARY_CASE(LAC_SIGN, written);
    UNARY_CASE(LAC_EXP, written);
    UNARY_CASE(LAC_LOG, called);
    UNARY_CASE(LAC_SQRT, written);
    UNARY_CASE(LAC_SIN, called);
    UNARY_CASE(LAC_COS, called);
    UNARY_CASE(LAC_SIGMOID, written);
    UNARY_CASE(LAC_TANH, written);
    UNARY_CASE(LAC_EXPM1, called);
    UNARY_CASE(LAC_LOG1P, called);
    UNARY_CASE(LAC_SOFTPLUS, written);
    UNARY_CASE(LAC_RELU, written);
    UNARY_CASE(LAC_HEAVISIDE, written);
    UNARY_CASE(UNARY_POWER, called);
    UNARY_CASE(UNARY_SQUARE, written);
    UNARY_CASE(UNARY_RECIPROCAL, written);
    UNARY_CASE(UNARY_CLAMP, written);
  }
}

#undef UNARY_CASE

// y in T from x of any dtype. From complex numbers only complex ones are made.
#define CAST_CASE(dtype, from)                                                                     \
  case dtype:                                                                                      \
    for (int64_t i = begin; i < end; ++i) {                                                        \
      y[i] = FN(make)(re_##from(((const from *)job->x)[i]), im_##from(((const from *)job->x)[i])); \
    }                                                                                              \
    break

static void FN(cast_part)(const void *opaque, int64_t begin, int64_t end) {
  const unary_job *job = opaque;
  T *y = job->y;
  switch (job->from) {
    CAST_CASE(LAC_F32, f32);
    CAST_CASE(LAC_F64, f64);
    CAST_CASE(LAC_C64, c64);
    CAST_CASE(LAC_C128, c128);
  }
}

#undef CAST_CASE
