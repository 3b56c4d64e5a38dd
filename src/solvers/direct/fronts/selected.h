// SPDX-License-Identifier: Apache-2.0
/// @file selected.h
/// What a factor over supernodes gives besides solves: slots of lac_direct_table whose numeric is a lac_fronts.

#ifndef LACUNA_SOLVERS_DIRECT_FRONTS_SELECTED_H
#define LACUNA_SOLVERS_DIRECT_FRONTS_SELECTED_H

#include "solvers/direct/fronts/fronts.h"

lac_status lac_fronts_logdet(const void *part, const void *fronts, lac_polar *out);

/// Works, besides the result, in the fronts of the inverse along one path of the tree in each thread, and in those
/// above the subtrees whose children are not done.
lac_status lac_fronts_selected_inverse(const lac_structure *structure, const void *part, const void *fronts,
                                       int threads, lac_stop *stop, void *values, lac_fault *fault);

#endif
