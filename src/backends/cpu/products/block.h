// SPDX-License-Identifier: Apache-2.0
/// @file block.h
/// The products of patterns with blocks, which spmm and sddmm hand on.

#ifndef LACUNA_BACKENDS_CPU_PRODUCTS_BLOCK_H
#define LACUNA_BACKENDS_CPU_PRODUCTS_BLOCK_H

#include "kernels/kernels.h"

lac_kernel_spmm cpu_block_spmm;
lac_kernel_sddmm cpu_block_sddmm;

#endif
