// SPDX-License-Identifier: Apache-2.0
/// @file inverse_rows.h
/// Rows of A^-T on the pattern of A: by solves, and checked.

#ifndef LACUNA_SOLVERS_DIRECT_INVERSE_ROWS_H
#define LACUNA_SOLVERS_DIRECT_INVERSE_ROWS_H

#include "solvers/direct/refine.h"

/// z_ij = (A^-1)(j, i) for the entries of `width` rows of A, by refined solves with unit vectors; `memory` holds
/// REFINE_BLOCKS blocks of n rows and LAC_BLOCK_WIDTH columns.
lac_status lac_inverse_solve_rows(const lac_system *a, int width, const int32_t *rows, void *memory, void *z,
                                  lac_fault *fault);

/// Whether sum_j a_ij z_ij is 1 to rounding, in row i; else its distance from 1, and what was allowed.
bool lac_inverse_row_is_good(const lac_structure *structure, lac_dtype dtype, const void *a, const void *z, int32_t row,
                             double *error, double *allowed);

#endif
