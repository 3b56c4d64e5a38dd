// SPDX-License-Identifier: Apache-2.0
/// @file cube.h
/// Cubes of n^3 points for solvers.

#ifndef LACUNA_TESTS_CUBE_H
#define LACUNA_TESTS_CUBE_H

#include "support/direct_case.h"

/// The pattern of the seven-point stencil, which the host has too.
lac_pattern *cube_pattern(lac_context *ctx, int64_t n);

/// Pattern and values of the seven-point stencil, 6 and -1, in the memory of the host, and a solver.
direct_system cube_open(lac_context *ctx, int64_t n, const lac_solver_options *options);

/// Edges of weights from 1e-4 to 1e4 in place of a cube's, and 0.1 on the diagonal besides.
void cube_weigh(const direct_system *cube);

#endif
