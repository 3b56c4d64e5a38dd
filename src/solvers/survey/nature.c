// SPDX-License-Identifier: Apache-2.0
/// @file nature.c
/// Finite? Hermitian? A positive diagonal?

#include "solvers/survey/nature.h"

// How far the two numbers of a Hermitian pair may be apart: they are often sums of the same terms in another order.
#define NATURE_ROUNDINGS 8

#define KERNEL_FILE "solvers/survey/nature_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef lac_values_nature nature_kernel(const lac_structure *, const void *);
static nature_kernel *const nature_kernels[] = TABLE(nature);

lac_values_nature lac_values_nature_of(const lac_structure *structure, lac_dtype dtype, const void *values) {
  return nature_kernels[dtype](structure, values);
}
