// SPDX-License-Identifier: Apache-2.0
/// @file plugin.h
/// Backends that are plug-ins (core/plugin/plugin.h): liblacuna_<name>.so brings a lac_backend.

#ifndef LACUNA_BACKENDS_PLUGIN_H
#define LACUNA_BACKENDS_PLUGIN_H

#include "core/pattern/structure.h"
#include "core/plugin/plugin.h"
#include "kernels/kernels.h"

enum { LAC_BACKEND_STRUCTS = 5 };

/// What such a plug-in gets besides the core: the sizes of the tables that it fills, so that it can tell whether they
/// are those of its own build.
typedef struct lac_backend_host {
  size_t sizes[LAC_BACKEND_STRUCTS];
} lac_backend_host;

#define LAC_BACKEND_SIZES \
  { sizeof(lac_backend), sizeof(lac_kernels), sizeof(lac_structure_kernels), sizeof(lac_claim), sizeof(lac_claims) }

#endif
