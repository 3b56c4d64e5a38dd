// SPDX-License-Identifier: Apache-2.0
/// @file backend.h
/// What a backend is to the core: a door to its devices, the bytes in their memory, and a table of kernels that the
/// core hands on without looking into it.

#ifndef LACUNA_CORE_BACKEND_H
#define LACUNA_CORE_BACKEND_H

#include "core/context_impl.h"
#include "lacuna/array.h"

typedef struct lac_structure_kernels lac_structure_kernels;  // core/pattern/structure.h

struct lac_backend {
  const char *name;  // as in backends/backends.def

  // -- the door ------------------------------------------------------------------------------------------------------
  /// Sets space, backend_data and threads of the context. Finds the device, or says why not.
  lac_status (*open)(lac_context *ctx, int device);
  void (*close)(lac_context *ctx);
  lac_status (*synchronize)(lac_context *ctx);

  // -- bytes ---------------------------------------------------------------------------------------------------------
  lac_status (*upload)(lac_context *ctx, void *to, const void *from_host, size_t bytes);    // done on return
  lac_status (*download)(lac_context *ctx, void *to_host, const void *from, size_t bytes);  // done on return
  lac_status (*copy)(lac_context *ctx, const lac_array *from, lac_array *to);               // same count
  lac_status (*fill)(lac_context *ctx, lac_array *x, double real, double imag);

  const lac_kernels *kernels;              // kernels/kernels.h
  const lac_structure_kernels *structure;  // patterns where their indices lie; NULL: on the host

  // -- errors of values ----------------------------------------------------------------------------------------------
  /// As lac_context_faults and lac_context_share_errors say; NULL: kernels run within their calls.
  lac_status (*faults)(lac_context *ctx);
  void (*share_faults)(lac_context *ctx);
};

/// A backend by its name (backends/backends.def), loaded where it is a plug-in; NULL: it is not here.
const lac_backend *lac_backend_find(const char *name);

/// The same for `function`: LAC_ERR_UNSUPPORTED where it is not here, with what was looked for and what brings it.
lac_status lac_backend_take(lac_context *ctx, const char *function, const char *name, const lac_backend **out);

#endif
