// SPDX-License-Identifier: Apache-2.0
/// @file smoothed.h
/// The loops of smoothed aggregation, a table of its own that a backend may have (smoothed.def), and what they walk. Memory lies where the context's kernels can read it.
///
/// A matrix is its rows (lac_sparse) beside values of a dtype; several matrices on one structure follow each other. Vectors have k
/// columns and lie by rows. Every sum has one order, whatever the number of threads.

#ifndef LACUNA_KERNELS_SMOOTHED_H
#define LACUNA_KERNELS_SMOOTHED_H

#include "kernels/kernels.h"

/// Compressed rows. Entry p of row i stands in column columns[p] and has the value values[slots[p]] (slots NULL: p itself).
typedef struct lac_sparse {
  int64_t rows, cols, nnz;
  lac_width width;  // of all three arrays
  const void *offsets, *columns, *slots;
} lac_sparse;

/// What an entry is to the aggregates.
enum { LAC_ENTRY_WEAK, LAC_ENTRY_STRONG, LAC_ENTRY_DIAGONAL };

/// A diagonal scaling S that makes I - S A a smoother.
typedef enum lac_smoother {
  LAC_SMOOTHER_JACOBI,  // 1 / a_ii
  LAC_SMOOTHER_SPAI     // conj(a_ii) / sum_j |a_ij|^2: the diagonal with the least |I - S A|_F
} lac_smoother;

/// How rows of the finest levels become unknowns of the next: row i belongs to aggregate member[i] (-1: to none), whose columns
/// are first[a] .. first[a + 1], and has the numbers basis[i m], basis[i m + 1], ... there. `first` and `basis` NULL: one column
/// and the number 1. Indices are of the width's columns.
typedef struct lac_aggregates {
  int64_t count, columns;
  int m;
  const void *member, *first, *basis;
} lac_aggregates;

/// out = x + beta (x - old) + omega S (b - op(A) x): a step of an iteration. `old` or x NULL: zero; S NULL: the identity;
/// `bare`: out is omega S (b - op(A) x) alone.
typedef struct lac_sweep {
  const void *b, *x, *old, *s;
  double beta, omega;
  bool bare, conjugates;  // `conjugates`: op(A) and S have the conjugates of the values
} lac_sweep;

#define LAC_KERNEL(slot, parameters) typedef lac_status lac_smoothed_##slot parameters;
#include "kernels/smoothed.def"
#undef LAC_KERNEL

struct lac_smoothed_kernels {
#define LAC_KERNEL(slot, parameters) lac_smoothed_##slot *slot;
#include "kernels/smoothed.def"
#undef LAC_KERNEL
};

#endif
