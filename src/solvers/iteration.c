// SPDX-License-Identifier: Apache-2.0
/// @file iteration.c
/// How an iteration goes on if nothing else is said.

#include "lacuna/iterative.h"

lac_iteration lac_iteration_defaults(void) { return (lac_iteration){.rtol = 1e-10, .restart = 30, .look_every = 1}; }
