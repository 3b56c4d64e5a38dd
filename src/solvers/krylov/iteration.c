// SPDX-License-Identifier: Apache-2.0
/// @file iteration.c
/// How an iteration goes on if nothing else is said.

#include "lacuna/iterative.h"

lac_iteration lac_iteration_defaults(void) { return (lac_iteration){0}; }
