// SPDX-License-Identifier: Apache-2.0
/// @file triangle.h
/// What the backends' triangular solves ask of a pattern, on the host.

#ifndef LACUNA_KERNELS_TRIANGLE_H
#define LACUNA_KERNELS_TRIANGLE_H

#include "kernels/kernels.h"

/// The level of each row, one more than the highest level of the rows that it needs: those of the lower or the upper
/// triangle. Entries of the other triangle and of the diagonal do not count. Indices are on the host, and `level` is
/// zero before. Returns how many levels there are.
int64_t lac_triangle_levels(const lac_rows *rows, bool is_lower, int64_t *level);

/// Refuse a triangle with a row that has no entry on the diagonal.
lac_status lac_triangle_require_diagonal(lac_context *ctx, const lac_band *band, lac_triangle triangle);

#endif
