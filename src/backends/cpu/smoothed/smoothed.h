// SPDX-License-Identifier: Apache-2.0
/// @file smoothed.h
/// What the files of smoothed aggregation share on the CPU (kernels/smoothed.h).

#ifndef LACUNA_BACKENDS_CPU_SMOOTHED_SMOOTHED_H
#define LACUNA_BACKENDS_CPU_SMOOTHED_SMOOTHED_H

#include "backends/cpu/cpu.h"
#include "backends/cpu/types.h"
#include "kernels/smoothed.h"

// |x| of a number.
INLINE f64 modulus_f32(f32 x) { return fabsf(x); }
INLINE f64 modulus_f64(f64 x) { return fabs(x); }
INLINE f64 modulus_c64(c64 x) {
  f64 re = crealf(x), im = cimagf(x);
  return sqrt(re * re + im * im);
}
INLINE f64 modulus_c128(c128 x) { return hypot(creal(x), cimag(x)); }

/// The row with `share` of all entries and rows before it.
int64_t cpu_smoothed_cut(const lac_sparse *a, double share);

/// Cut rows so that each thread has as many entries and rows as the others.
void cpu_smoothed_split(lac_context *ctx, const lac_sparse *a, int64_t work, cpu_part part, const void *job);

lac_status cpu_smoothed_largest(lac_context *ctx, lac_dtype dtype, int64_t count, int64_t k, const void *x,
                                double *largest);
lac_status cpu_smoothed_narrow(lac_context *ctx, lac_dtype dtype, int64_t count, int64_t k, const double *factor,
                               const void *x, void *y);
lac_status cpu_smoothed_widen(lac_context *ctx, lac_dtype dtype, int64_t count, int64_t k, const double *factor,
                              const void *x, void *y);
lac_status cpu_smoothed_strength(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, int64_t items,
                                 const void *values, double theta, uint8_t *kinds, int64_t *weak);
lac_status cpu_smoothed_diagonals(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                                  const uint8_t *kinds, lac_smoother smoother, void *s, void *f, double bounds[2]);
lac_status cpu_smoothed_power(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                              const uint8_t *kinds, const void *s, double scale, const void *x, void *y, double *norm);
lac_status cpu_smoothed_aggregate(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                                  const uint8_t *kinds, void *member, int64_t *count);
lac_status cpu_smoothed_interpolate(lac_context *ctx, const lac_sparse *a, const uint8_t *kinds,
                                    const lac_aggregates *aggregates, void *offsets, void *columns);
lac_status cpu_smoothed_interpolate_values(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                                           const uint8_t *kinds, const void *f, double omega,
                                           const lac_aggregates *aggregates, const lac_sparse *p, void *p_values);
lac_status cpu_smoothed_transpose(lac_context *ctx, const lac_sparse *p, void *offsets, void *columns);
lac_status cpu_smoothed_transpose_values(lac_context *ctx, lac_dtype dtype, const lac_sparse *p, const void *p_values,
                                         const lac_sparse *r, void *r_values);
lac_status cpu_smoothed_galerkin(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                                 const lac_sparse *p, const void *p_values, const lac_sparse *r, const void *r_values,
                                 lac_buffer **offsets, lac_buffer **columns, void **out);
lac_status cpu_smoothed_galerkin_values(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values,
                                        const lac_sparse *p, const void *p_values, const lac_sparse *r,
                                        const void *r_values, const lac_sparse *c, void *out);
lac_status cpu_smoothed_step(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values, int64_t k,
                             const lac_sweep *step, void *out);
lac_status cpu_smoothed_multiply(lac_context *ctx, lac_dtype dtype, const lac_sparse *a, const void *values, int64_t k,
                                 bool adds, const void *x, void *y);

extern const lac_smoothed_kernels cpu_smoothed_kernels;

#endif
