// SPDX-License-Identifier: Apache-2.0
/// @file random.h
/// Random numbers, and sketches: what a pattern is before it is one.
///
/// Numbers are multiples of 2^-10 in [-1, 1] and away from zero, so that every dtype holds them exactly.

#ifndef LACUNA_TESTS_RANDOM_H
#define LACUNA_TESTS_RANDOM_H

#include <stdint.h>

#include "lacuna/pattern.h"

typedef struct random_state {
  uint64_t s;
} random_state;

random_state random_start(uint64_t seed);
uint64_t random_bits(random_state *r);
double random_unit(random_state *r);  ///< in [-1, 1], at least 1/16 in size
int64_t random_below(random_state *r, int64_t n);

/// Entries in canonical order, which is what slots are. Kept in scratch memory.
typedef struct sketch {
  int64_t rows, cols, nnz;
  int64_t *row, *col;
} sketch;

/// About `density` of all entries; no symmetry; an empty row and an empty column where there are more than two.
const sketch *sketch_random(int64_t rows, int64_t cols, double density, uint64_t seed);

/// So many entries in each row, anywhere: neighbouring rows have nothing to do with each other.
const sketch *sketch_anywhere(int64_t n, int64_t each, uint64_t seed);

/// Square, about `density` of all entries wherever they fall.
const sketch *sketch_scattered(int64_t n, double density, uint64_t seed);

/// Square, with a full diagonal.
const sketch *sketch_square(int64_t n, double density, uint64_t seed);

/// A triangle, with or without its diagonal.
const sketch *sketch_triangle(int64_t n, double density, lac_triangle triangle, lac_diagonal diagonal, uint64_t seed);

/// Square and symmetric in structure, with a full diagonal.
const sketch *sketch_symmetric(int64_t n, double density, uint64_t seed);

/// No entries.
const sketch *sketch_empty(int64_t rows, int64_t cols);

/// The sketch of A^T, in its own canonical order, and of the structure of op(A) op(B).
const sketch *sketch_transpose(const sketch *s);
const sketch *sketch_product(const sketch *a, const sketch *b);

/// The slot of an entry, or -1.
int64_t sketch_find(const sketch *s, int64_t row, int64_t col);

/// The pattern of a sketch, built from coordinates in a shuffled order.
lac_status sketch_pattern(lac_context *ctx, const sketch *s, lac_width width, lac_pattern **out);

/// The pattern whose blocks of br x bc stand where the sketch has entries, built from rows whose blocks come backwards.
lac_status sketch_block_pattern(lac_context *ctx, const sketch *s, int64_t br, int64_t bc, lac_width width,
                                lac_pattern **out);

#endif
