// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_blocks.h
/// Numbers that are blocks: values [*, nnz, br, bc] of a graph of nodes, each of which stands for several rows.
///
/// Kernels of smoothed aggregation that meet such values hand over to their kin here. A vector of n nodes has n b rows,
/// those of a node together; so has the basis of aggregates. Blocks are by rows.

#ifndef LACUNA_BACKENDS_CPU_SMOOTHED_SMOOTHED_BLOCKS_H
#define LACUNA_BACKENDS_CPU_SMOOTHED_SMOOTHED_BLOCKS_H

#include "backends/cpu/smoothed/smoothed.h"

static inline bool cpu_has_blocks(const lac_array *values) { return values->meta.ndim > 2; }
static inline int cpu_block_rows(const lac_array *values) { return (int)values->meta.shape[values->meta.ndim - 2]; }
static inline int cpu_block_cols(const lac_array *values) { return (int)values->meta.shape[values->meta.ndim - 1]; }

lac_smoothed_diagonals cpu_block_diagonals;
lac_smoothed_power_step cpu_block_power_step;
lac_smoothed_interpolate_values cpu_block_interpolate_values;
lac_status cpu_block_transpose_values(lac_context *ctx, const lac_rows *p, const lac_array *p_values, const lac_rows *r,
                                      lac_array *r_values);
lac_smoothed_galerkin cpu_block_galerkin;
lac_smoothed_galerkin_values cpu_block_galerkin_values;
lac_smoothed_step cpu_block_step;
lac_smoothed_multiply cpu_block_multiply;

#endif
