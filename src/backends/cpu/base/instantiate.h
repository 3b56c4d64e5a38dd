// SPDX-License-Identifier: Apache-2.0
// One kernel source for all dtypes (core/numbers/instantiate.h), with the numbers of types.h. No guard, on purpose.

#include "backends/cpu/base/types.h"
#include "core/numbers/instantiate.h"
