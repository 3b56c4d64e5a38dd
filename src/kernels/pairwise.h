// SPDX-License-Identifier: Apache-2.0
/// @file pairwise.h
/// The loops of pairwise aggregation, a table of its own that a backend may have (pairwise.def), and what they walk.
///
/// Shapes and slices serve loops that run along neighbouring rows: a backend without such loops leaves out these three
/// kernels, and all levels are walked row by row.
///
/// Vectors are [items, n, k]. Those of a hierarchy have its dtype H, the same as the matrix's dtype T or that of half
/// the bytes; on the finest level the matrix, b and z have T, on all others H. The finest level works with scaled
/// numbers: the matrix times unit[item, 0], b times scale[item, 0, column], and what comes out times scale[item, 1,
/// column]; these are powers of two, so that no scale of a problem leaves the range of H. NULL stands for ones.

#ifndef LACUNA_KERNELS_PAIRWISE_H
#define LACUNA_KERNELS_PAIRWISE_H

#include "kernels/cycle.h"
#include "kernels/kernels.h"

/// Rows are looked at in slices: on a grid neighbours are alike.
enum { LAC_SLICE = 16 };
enum { LAC_SHAPE = 64 };  // entries that the members of an aggregate may have where it is to be like others

/// The aggregates of a level: those rows that `aggregates` sends to I are members[starts[I]] ... members[starts[I + 1]
/// - 1], ascending. Rows sent to -1 have no part in the coarse level. All are 32-bit.
///
/// Slices of coarse rows whose aggregates are alike have a shape, others a 0: shapes[firsts[s]] is the number of
/// members, behind it are the length of a coarse row and its columns, less the row; then the length of each member's
/// row, and the place in the coarse row that each of their entries, at most LAC_SHAPE, adds up in.
typedef struct lac_aggregation {
  int64_t fine, coarse;
  lac_buffer *aggregates, *starts, *members;
  lac_buffer *firsts, *shapes;  // or NULL
  bool is_regular;              // most have the same size, and neighbours among them have members that are neighbours
} lac_aggregation;

/// The shape of a coarse row, or NULL.
static inline const int32_t *lac_aggregation_shape(const lac_aggregation *aggregation, int64_t row) {
  if (!aggregation->shapes) return NULL;
  int64_t first = lac_buffer_get(aggregation->firsts, row / LAC_SLICE);
  const int32_t *shape = (const int32_t *)aggregation->shapes->host + first;
  return *shape ? shape : NULL;
}

/// How a coarse level holds its values in slices of LAC_SLICE rows. On a grid neighbouring rows have neighbouring
/// columns, so that the entries of a slice lie on a few diagonals: it holds LAC_SLICE values of each, one diagonal
/// behind the other, and zeros where a row has no entry there. Columns need not be read: lists[firsts[s]] is the number
/// of diagonals, and their shifts, columns less rows and ascending, are behind it; no column on them is outside of the
/// matrix. A slice with none holds its rows one behind the other.
typedef struct lac_slices {
  int64_t count, room;                  // slices; values of all of them
  lac_buffer *firsts, *lists, *starts;  // the list of each slice, and where its values begin: 32-bit
} lac_slices;

/// A level as kernels walk it.
typedef struct lac_level_view {
  lac_rows rows;             // op(A)
  bool conjugates;           // values and weights
  bool is_ragged;            // the lengths of rows change from one to the next
  const lac_slices *slices;  // that hold the values; NULL: as rows have them
  const lac_array *values;   // [items, nnz] or [items, room]
  const lac_array *weights;  // [items, n], H: the smoother is x += weights (b - A x)
  const lac_array *unit;     // [items, 2, 1], f64: the magnitudes of values
  const lac_array *scale;    // [items, 2, k], f64
} lac_level_view;

void lac_aggregation_clear(lac_aggregation *aggregation);
void lac_slices_destroy(lac_slices *slices);

#define LAC_KERNEL(slot, parameters) typedef lac_status lac_pairwise_##slot parameters;
#include "kernels/pairwise.def"
#undef LAC_KERNEL

struct lac_pairwise_kernels {
#define LAC_KERNEL(slot, parameters) lac_pairwise_##slot *slot;
#include "kernels/pairwise.def"
#undef LAC_KERNEL
};

#endif
