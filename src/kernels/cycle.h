// SPDX-License-Identifier: Apache-2.0
/// @file cycle.h
/// The numbers of a K-cycle's two steps, in words that a device compiler takes as well.

#ifndef LACUNA_KERNELS_CYCLE_H
#define LACUNA_KERNELS_CYCLE_H

/// Its sums and the coefficients from them, [items, LAC_CYCLE_SUMS, k] and [items, LAC_CYCLE_STEPS, k] in f64 or c128.
enum { LAC_CYCLE_RHO, LAC_CYCLE_ALPHA, LAC_CYCLE_GAMMA, LAC_CYCLE_BETA, LAC_CYCLE_ALPHA2, LAC_CYCLE_SUMS };
enum { LAC_CYCLE_FIRST, LAC_CYCLE_C, LAC_CYCLE_D, LAC_CYCLE_STEPS };

#endif
