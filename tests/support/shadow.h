// SPDX-License-Identifier: Apache-2.0
/// @file shadow.h
/// The CPU in the place of another backend: it has the kernels that the backend's claims.def names and no others, and
/// of those that serve several operations only what is claimed. So claims are tried where there is no device: what is
/// claimed must work with these kernels alone and without looking into arrays, and what is not claimed must be refused
/// with a sentence.

#ifndef LACUNA_TESTS_SHADOW_H
#define LACUNA_TESTS_SHADOW_H

#include "kernels/kernels.h"

/// The table that stands in for a backend ("cuda"), or NULL where there is none.
const lac_kernels *shadow_of(const char *backend);

/// Turn a fresh CPU context into the shadow of a backend: its memory counts as a device's, which the host does not
/// read.
void shadow_enter(lac_context *ctx, const lac_kernels *shadow);

#endif
