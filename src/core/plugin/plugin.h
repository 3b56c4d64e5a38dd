// SPDX-License-Identifier: Apache-2.0
/// @file plugin.h
/// Libraries of their own that are loaded when they are asked for: backends of devices, solvers of others.
///
/// A plug-in is liblacuna_<name>.so and exports one function, lac_plugin_<name>. The core links none: it works where
/// what they need is missing, and some are under other licences than Lacuna. A plug-in links nothing of Lacuna either:
/// it gets the functions of the core in a struct (host.def), by which guest/guest.c defines them once more, so that a
/// plug-in is written like any other file of Lacuna. It is loaded once, for good.
///
/// A plug-in is looked for in the folder that LACUNA_PLUGINS names, else in the folder of the library that has this
/// code.

#ifndef LACUNA_CORE_PLUGIN_PLUGIN_H
#define LACUNA_CORE_PLUGIN_PLUGIN_H

#include "core/array_impl.h"
#include "core/blas.h"
#include "core/pattern/pattern_impl.h"
#include "lacuna/format.h"

enum { LAC_HOST_STRUCTS = 9 };

/// Of the structs of the core that plug-ins read or fill.
#define LAC_HOST_SIZES                                                                             \
  {                                                                                                \
    sizeof(struct lac_context), sizeof(struct lac_array), sizeof(lac_storage), sizeof(lac_batch),  \
        sizeof(struct lac_pattern), sizeof(struct lac_map), sizeof(lac_buffer), sizeof(lac_space), \
        sizeof(lac_memory_stats)                                                                   \
  }

/// What a plug-in gets of the core. Both see the same structs, so both must have been compiled of the same text:
/// `version` is Lacuna's, and the sizes distinguish builds of one version.
typedef struct lac_host {
  const char *version;
  size_t size;  // of this struct
  size_t sizes[LAC_HOST_STRUCTS];
  lac_status (*fail)(lac_context *ctx, lac_status status, const char *function, const char *format, ...)
      __attribute__((format(printf, 4, 5)));
  void (*warn)(lac_context *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define LAC_HOST_GIVES(type, name, parameters, arguments) type(*name) parameters;
#define LAC_HOST_DOES(name, parameters, arguments) void(*name) parameters;
#include "core/plugin/host.def"
#undef LAC_HOST_GIVES
#undef LAC_HOST_DOES
} lac_host;

/// The type of lac_plugin_<name>: what the plug-in brings, or NULL when the host is of another build. `more` is what
/// the layer that loads it gives besides. Both live as long as the process.
typedef const void *lac_plugin_open(const lac_host *host, const void *more);

/// A plug-in as its layer knows it: static, because what is loaded stays.
typedef struct lac_plugin {
  const char *name;
  const void *more;
  bool prefers_own;    // the libraries that it brings go before those of the program that have the same symbols
  void *library;       // of the system; once it is loaded
  const void *brings;  // what lac_plugin_<name> returned; NULL: not loaded
} lac_plugin;

enum { LAC_WHY_SIZE = 512 };

/// What a plug-in brings, loaded where that was not done before; or NULL, and the reason, which names the file.
const void *lac_plugin_load(lac_plugin *plugin, char why[LAC_WHY_SIZE]);

#endif
