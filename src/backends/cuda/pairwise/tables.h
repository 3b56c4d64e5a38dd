// SPDX-License-Identifier: Apache-2.0
/// @file tables.h
/// The kernels of pairwise aggregation that the table of this backend names.

#ifndef LACUNA_BACKENDS_CUDA_PAIRWISE_TABLES_H
#define LACUNA_BACKENDS_CUDA_PAIRWISE_TABLES_H

#include "backends/cuda/pairwise/pairwise.h"
#include "kernels/pairwise.h"

lac_pairwise_matched cuda_pairwise_matched;                // pairwise_match.c
lac_pairwise_coarse_pattern cuda_pairwise_coarse_pattern;  // pairwise_pattern.c

/// Aggregates as launchers take them.
lac_status cuda_pairwise_merge(lac_context *ctx, const lac_aggregation *aggregation, const cuda_rows *rows,
                               cuda_merge *out);

#endif
