// SPDX-License-Identifier: Apache-2.0
/// @file smoothed.h
/// The loops of smoothed aggregation, a table of its own that a backend may have (smoothed.def), and what they walk.
///
/// A matrix is its rows (lac_rows) and an array of values, of one matrix where nothing else is said: [nnz], or blocks
/// [nnz, br, bc], where the rows are those of a graph of nodes, each for br rows of the matrix; scalings S and F then
/// are blocks [nodes, br, br]. Strengths and aggregates know no blocks: they are of the blocks' sizes. Vectors are [n,
/// k], whatever stands before. Every sum has one order, whatever the number of threads. What the host has to know
/// before it goes on is put into `found`, an f64 array that the caller reads in one place. Buffers and arrays that a
/// kernel makes are the caller's.

#ifndef LACUNA_KERNELS_SMOOTHED_H
#define LACUNA_KERNELS_SMOOTHED_H

#include <math.h>

#include "kernels/kernels.h"

enum { LAC_BLOCK_MOST = 32 };  // rows of a block

/// What an entry is to the aggregates: a byte for each, in a buffer of 32-bit integers. A strong one joins rows to one
/// aggregate; a leaning one is large in its row and not in the other's, whose unknowns it follows without joining them:
/// a row of a soft material next to a stiff one.
enum { LAC_ENTRY_WEAK, LAC_ENTRY_STRONG, LAC_ENTRY_LEANING, LAC_ENTRY_DIAGONAL };

/// A diagonal scaling S that makes I - S A a smoother.
typedef enum lac_smoother {
  LAC_SMOOTHER_JACOBI,  // 1 / a_ii
  LAC_SMOOTHER_SPAI     // conj(a_ii) / sum_j |a_ij|^2: the diagonal with the least |I - S A|_F
} lac_smoother;

/// How rows, or nodes of several rows, become nodes of the next level: node i belongs to aggregate member[i] (-1: to
/// none), a node of m unknowns, and its rows have the numbers of basis [rows, m] there. `basis` NULL: the number 1.
/// Indices are of the type of the matrix's columns.
typedef struct lac_aggregates {
  int64_t count;
  int m;
  lac_buffer *member;
  lac_array *basis;
} lac_aggregates;

/// out = x + beta (x - old) + omega S (b - op(A) x): a step of an iteration. `old` or x NULL: zero; S NULL: the
/// identity; `bare`: out is omega S (b - op(A) x) alone.
typedef struct lac_sweep {
  const lac_array *b, *x, *old, *s;
  double beta, omega;
  bool bare, conjugates;  // `conjugates`: op(A) and S have the conjugates of the values
} lac_sweep;

/// A power of two that takes the largest number to about 1, so that narrow numbers and squares hold it; 1 for what is
/// zero or not finite.
static inline double lac_smoothed_factor(double largest) {
  int exponent = 0;
  if (!(largest > 0) || !isfinite(largest)) return 1;
  (void)frexp(largest, &exponent);
  return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

#define LAC_KERNEL(slot, parameters) typedef lac_status lac_smoothed_##slot parameters;
#include "kernels/smoothed.def"
#undef LAC_KERNEL

struct lac_smoothed_kernels {
#define LAC_KERNEL(slot, parameters) lac_smoothed_##slot *slot;
#include "kernels/smoothed.def"
#undef LAC_KERNEL
};

#endif
