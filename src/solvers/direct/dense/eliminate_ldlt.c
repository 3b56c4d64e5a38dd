// SPDX-License-Identifier: Apache-2.0
/// @file eliminate_ldlt.c
/// L D L^H of one front (Bunch and Kaufman 1977), some columns at a time.
///
///     column k   w = A(:, k) - sum_j L(:, j) conj(W(k, j))        W = L D, j over the columns of the block before k
///     pivot      w_k where it is not much smaller than the rest of its column inside P, or than what the largest of
///                that would face; else the diagonal of that row; else the two together
///     block      A -= L W^H for what is right of it
///
/// D has a real diagonal; a block of two has D(k + 1, k) as well. The rows of R take part in everything but the choice
/// of pivots. Only lower triangles are read.

#include "solvers/direct/dense/eliminate.h"

#include "solvers/direct/dense/dense.h"

// Columns of a block; and (1 + sqrt(17)) / 8, which makes growth over two steps of one row that over one of two.
enum { LDLT_BLOCK = 32 };
static const double LDLT_ALPHA = 0.6403882032022076;

#define KERNEL_FILE "solvers/direct/dense/eliminate_ldlt_kernel.h"
#include "solvers/numbers/instantiate.h"

lac_eliminate *const lac_eliminate_ldlt[4] = TABLE(eliminate_ldlt);
