// SPDX-License-Identifier: Apache-2.0
/// @file eliminate_lu.c
/// LU of one front, by halves of its columns (Toledo 1997).
///
///     [A_1 A_2]    A_1 = L_1 U_1 over all rows;   U_12 = L_11^-1 A_12;   A_22 -= L_21 U_12;   A_22 likewise
///
/// The rows of R take part in everything but the choice of pivots, so that L_RP comes of itself and every pivot is seen
/// relative to its column. Where P is narrow, A_PP is factored aside first: as a rule its pivots are beyond doubt, and
/// L_RP is a substitution.

#include "solvers/direct/dense/eliminate.h"

#include "solvers/direct/dense/dense.h"

// Columns that are done one by one: products of so few are not worth a call of BLAS. And columns of a narrow P.
enum { LU_NARROW = 8, LU_ASIDE = 32 };

// A pivot that is this share of the largest number of its front is beyond doubt.
static const double LU_SURE = 1e-3;

#define KERNEL_FILE "solvers/direct/dense/eliminate_lu_kernel.h"
#include "solvers/numbers/instantiate.h"

lac_eliminate *const lac_eliminate_lu[4] = TABLE(eliminate_lu);
