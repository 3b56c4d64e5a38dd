// SPDX-License-Identifier: Apache-2.0
// One kernel source for all dtypes (core/numbers/instantiate.h), with the numbers of numbers.h and
//
//     REAL, WIDE    the real numbers inside, the numbers in which residuals are summed
//
// No guard, on purpose.

#include "solvers/numbers/numbers.h"

#ifndef REAL
#define REAL FN(real)
#define WIDE FN(acc)
#endif

#include "core/numbers/instantiate.h"
