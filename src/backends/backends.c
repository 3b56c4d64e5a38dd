// SPDX-License-Identifier: Apache-2.0
/// @file backends.c
/// Backends by name: those that are built in, and those that plug-ins bring when they are asked for.

#include <stdio.h>
#include <string.h>

#include "backends/plugin.h"
#include "core/backend.h"

#define LAC_BACKEND(name) extern const lac_backend lac_##name##_backend;
#define LAC_PLUGIN(name, way_out)
#include "backends/backends.def"
#undef LAC_BACKEND
#undef LAC_PLUGIN

static const lac_backend_host backends_host = {.sizes = LAC_BACKEND_SIZES};

/// A backend that is built in, or a plug-in and what brings that.
typedef struct backends_entry {
  const char *name;
  const lac_backend *built_in;
  lac_plugin plugin;
  const char *way_out;
} backends_entry;

static backends_entry backends_entries[] = {
#define LAC_BACKEND(label) {.name = #label, .built_in = &lac_##label##_backend},
#define LAC_PLUGIN(label, words) \
  {.name = #label, .plugin = {.name = #label, .more = &backends_host}, .way_out = (words)},
#include "backends/backends.def"
#undef LAC_BACKEND
#undef LAC_PLUGIN
};

enum { BACKENDS = sizeof backends_entries / sizeof *backends_entries, BACKENDS_TEXT = 256 };

static const lac_backend *backends_load(backends_entry *entry, char why[LAC_WHY_SIZE]) {
  return entry->built_in ? entry->built_in : lac_plugin_load(&entry->plugin, why);
}

static backends_entry *backends_entry_of(const char *name) {
  for (int i = 0; i < BACKENDS; ++i) {
    if (strcmp(backends_entries[i].name, name) == 0) return &backends_entries[i];
  }
  return NULL;
}

const lac_backend *lac_backend_find(const char *name) {
  char why[LAC_WHY_SIZE];
  backends_entry *entry = backends_entry_of(name);
  return entry ? backends_load(entry, why) : NULL;
}

lac_status lac_backend_take(lac_context *ctx, const char *function, const char *name, const lac_backend **out) {
  lac_status status = LAC_OK;
  char why[LAC_WHY_SIZE];
  backends_entry *entry = backends_entry_of(name);

  LAC_CHECK(entry, LAC_ERR_UNSUPPORTED, "%s: there is no backend '%s'; here are: %s", function, name, lac_backends());
  *out = backends_load(entry, why);
  LAC_CHECK(*out, LAC_ERR_UNSUPPORTED,
            "%s: the backend '%s' is not here: liblacuna_%s.so, which brings it, could not be loaded (%s); %s, or name "
            "the folder of liblacuna_%s.so in LACUNA_PLUGINS",
            function, name, name, why, entry->way_out, name);
done:
  return status;
}

const char *lac_backends(void) {
  static _Thread_local char names[BACKENDS_TEXT];
  char why[LAC_WHY_SIZE];
  size_t used = 0;

  for (int i = 0; i < BACKENDS; ++i) {
    if (!backends_load(&backends_entries[i], why)) continue;
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? " " : "", backends_entries[i].name);
  }
  return names;
}
