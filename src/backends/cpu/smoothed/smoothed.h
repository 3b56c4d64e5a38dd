// SPDX-License-Identifier: Apache-2.0
/// @file smoothed.h
/// What the files of smoothed aggregation share on the CPU (kernels/smoothed.h).

#ifndef LACUNA_BACKENDS_CPU_SMOOTHED_SMOOTHED_H
#define LACUNA_BACKENDS_CPU_SMOOTHED_SMOOTHED_H

#include "backends/cpu/base/cpu.h"
#include "backends/cpu/base/types.h"
#include "kernels/smoothed.h"

// |x| of a number.
INLINE f64 modulus_f32(f32 x) { return fabsf(x); }
INLINE f64 modulus_f64(f64 x) { return fabs(x); }
INLINE f64 modulus_c64(c64 x) {
  f64 re = crealf(x), im = cimagf(x);
  return sqrt(re * re + im * im);
}
INLINE f64 modulus_c128(c128 x) { return hypot(creal(x), cimag(x)); }

/// Compressed rows in memory. Entry p of row i stands in column columns[p] and has the value values[slots[p]] (slots
/// NULL: p itself).
typedef struct cpu_sparse {
  int64_t rows, cols, nnz;
  lac_width width;  // of all three arrays
  const void *offsets, *columns, *slots;
} cpu_sparse;

cpu_sparse cpu_sparse_of(const lac_rows *rows);

/// lac_aggregates in memory.
typedef struct cpu_aggregates {
  int64_t count;
  const void *member, *basis;
} cpu_aggregates;

/// The row with `share` of all entries and rows before it.
int64_t cpu_smoothed_cut(const cpu_sparse *a, double share);

/// Cut rows so that each thread has as many entries and rows as the others.
void cpu_smoothed_split(lac_context *ctx, const cpu_sparse *a, int64_t work, cpu_part part, const void *job);

/// Lengths of rows, and one number more, to offsets; returns the sum.
int64_t cpu_smoothed_scan(lac_buffer *lengths);

#define LAC_KERNEL(slot, parameters) lac_smoothed_##slot cpu_smoothed_##slot;
#include "kernels/smoothed.def"
#undef LAC_KERNEL

extern const lac_smoothed_kernels cpu_smoothed_kernels;

#endif
