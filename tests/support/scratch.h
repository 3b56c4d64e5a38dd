// SPDX-License-Identifier: Apache-2.0
/// @file scratch.h
/// Memory of tests: taken anywhere, given back together. It does not go through the library, whose blocks are counted.

#ifndef LACUNA_TESTS_SCRATCH_H
#define LACUNA_TESTS_SCRATCH_H

#include <stddef.h>

/// Zeroed memory that lives until scratch_release of an earlier mark, or the end of the test.
void *scratch(size_t bytes);

/// Everything taken after the mark is given back by the release.
size_t scratch_mark(void);
void scratch_release(size_t mark);

#endif
