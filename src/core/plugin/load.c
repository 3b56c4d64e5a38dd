// SPDX-License-Identifier: Apache-2.0
/// @file load.c
/// Finds plug-ins and gives them the functions of the core.

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/beside.h"
#include "core/plugin/plugin.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLUGIN_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLUGIN_SANITIZED 1
#endif
#endif

static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool plugin_hidden;

static const lac_host plugin_host = {
    .version = LACUNA_VERSION,
    .size = sizeof(lac_host),
    .sizes = LAC_HOST_SIZES,
    .fail = lac_context_fail,
    .warn = lac_context_warn,
#define LAC_HOST_GIVES(type, name, parameters, arguments) .name = name,
#define LAC_HOST_DOES(name, parameters, arguments) .name = name,
#include "core/plugin/host.def"
#undef LAC_HOST_GIVES
#undef LAC_HOST_DOES
};

void lac_plugin_hide(bool is_hidden) { atomic_store(&plugin_hidden, is_hidden); }

static void plugin_path(const lac_plugin *plugin, char path[LAC_PATH_SIZE]) {
  const char *folder = getenv("LACUNA_PLUGINS");
  char name[64];

  snprintf(name, sizeof name, "liblacuna_%s.so", plugin->name);
  if (folder && *folder) {
    snprintf(path, LAC_PATH_SIZE, "%s/%s", folder, name);
  } else {
    lac_path_beside(name, path);
  }
}

// Sequential MUMPS brings an MPI of its own, for one process. Where the program has a true one, whose Fortran names are
// the same, such a plug-in must prefer what it brings.
static int plugin_flags(const lac_plugin *plugin) {
  int flags = RTLD_NOW | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND) && !defined(PLUGIN_SANITIZED)
  if (plugin->prefers_own && dlsym(RTLD_DEFAULT, "mpi_init_")) flags |= RTLD_DEEPBIND;
#else
  (void)plugin;
#endif
  return flags;
}

/// The lock is held.
static void plugin_open(lac_plugin *plugin, const char *path, char why[LAC_WHY_SIZE]) {
  lac_plugin_open *open = NULL;
  char symbol[64];

  void *library = dlopen(path, plugin_flags(plugin));
  if (!library) {
    const char *error = dlerror();
    snprintf(why, LAC_WHY_SIZE, "%.400s", error ? error : path);
    return;
  }
  snprintf(symbol, sizeof symbol, "lac_plugin_%s", plugin->name);
  *(void **)&open = dlsym(library, symbol);
  plugin->brings = open ? open(&plugin_host, plugin->more) : NULL;
  if (plugin->brings) {
    plugin->library = library;
  } else {
    snprintf(why, LAC_WHY_SIZE, "%.400s belongs to another build of Lacuna", path);
    dlclose(library);
  }
}

const void *lac_plugin_load(lac_plugin *plugin, char why[LAC_WHY_SIZE]) {
  char path[LAC_PATH_SIZE];

  plugin_path(plugin, path);
  if (atomic_load(&plugin_hidden)) {
    snprintf(why, LAC_WHY_SIZE, "%.400s: hidden", path);
    return NULL;
  }
  pthread_mutex_lock(&plugin_lock);
  if (!plugin->brings) plugin_open(plugin, path, why);
  const void *brings = plugin->brings;
  pthread_mutex_unlock(&plugin_lock);
  return brings;
}
