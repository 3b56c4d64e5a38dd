// SPDX-License-Identifier: Apache-2.0
/// @file listed.h
/// LU without pivoting of one structure, written out as lists: which product goes where, and what may be done at the
/// same time. Matrices that share a structure share the lists, and each is worked on by one block of threads.
///
/// A list has tasks, each a sum of products that are there by then:
///
///     y[target] = (y[target] - sum of f[left] z[right]) / f[over]
///
/// For elimination f, z and y are the entries of L\U and a task is one of them; for substitution z and y are the
/// unknowns and a task is one of those. Tasks of a level do not need each other. They lie in chunks of 32 lanes: a task
/// has a lane, or a power of two of them that share its sum, and a chunk has as many steps as its longest lane. Lanes
/// without a product left add a zero to their sums: the number behind the entries and the one behind the unknowns.

#ifndef LACUNA_KERNELS_LISTED_H
#define LACUNA_KERNELS_LISTED_H

#include "core/pattern/pattern_impl.h"

enum { LAC_LANES = 32 };

typedef struct lac_worklist {
  int threads;        // that a matrix keeps busy: a power of two from 32 on
  int64_t levels;     // none: nothing is to be done
  lac_buffer *level;  // the first chunk of each level, and their number
  lac_buffer *lanes;  // of each chunk, those that share a task
  lac_buffer *base;   // the first step of each chunk, and their number
  lac_buffer *target;  // of each lane of a chunk; -1: it is idle
  lac_buffer *over;    // likewise; -1: no division
  lac_buffer *pairs;   // of each lane of a step: left and right in one integer, `shift` bits apart
  int shift;
} lac_worklist;

typedef struct lac_listed_lu {
  int64_t n, entries;    // of L\U
  int64_t products;      // of an elimination
  lac_buffer *source;    // of each entry of L\U, the slot in A; -1: it is filled in
  lac_buffer *diagonal;  // the entries that are pivots
  lac_buffer *steps;     // the row and column of A that a step eliminates
  lac_worklist factor;
  lac_worklist solve[2][2];  // of A and of A^T: down, up
} lac_listed_lu;

#endif
