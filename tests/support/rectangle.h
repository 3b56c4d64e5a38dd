// SPDX-License-Identifier: Apache-2.0
/// @file rectangle.h
/// Cases of operators on rectangular matrices of full rank.

#ifndef LACUNA_TESTS_RECTANGLE_H
#define LACUNA_TESTS_RECTANGLE_H

#include "support/op_case.h"

/// A rectangle that has its diagonal, and an empty row or column of the longer side.
const sketch *rectangle(int64_t rows, int64_t cols, uint64_t seed);

/// op_case.fill: input 0 is large where the row is the column, so that the rank is full; input 2, a damp, is near 3/4.
void rectangle_fill(const op_case *c, int input, ref *x);

/// (A^H A + delta^2)^-1 A^H b, or A^H (A A^H + delta^2)^-1 b.
dense rectangle_lstsq(dense a, dense b, double delta);

#endif
