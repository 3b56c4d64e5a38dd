// SPDX-License-Identifier: Apache-2.0
// Includes KERNEL_FILE for the six pairs of T and H (multigrid_instantiate.h). No guard, on purpose.

#define T f32
#define H f32
#include KERNEL_FILE
#undef T
#define T f64
#include KERNEL_FILE
#undef H
#define H f64
#include KERNEL_FILE
#undef T
#undef H
#define T c64
#define H c64
#include KERNEL_FILE
#undef T
#define T c128
#include KERNEL_FILE
#undef H
#define H c128
#include KERNEL_FILE
#undef T
#undef H
