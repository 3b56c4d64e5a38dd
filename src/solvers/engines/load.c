// SPDX-License-Identifier: Apache-2.0
/// @file load.c
/// Finds plug-ins: in the folder that LACUNA_ENGINES names, else in the folder of the library that has this code.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/beside.h"
#include "core/blas.h"
#include "core/memory_impl.h"
#include "solvers/direct/dense/dense.h"
#include "solvers/direct/direct.h"
#include "solvers/direct/order/ordering.h"
#include "solvers/engines/engine.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ENGINE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ENGINE_SANITIZED 1
#endif
#endif

enum { ENGINE_KINDS = 8 };  // that a plug-in may bring

typedef struct engine_plugin {
  const char *name, *project, *package;
  const lac_engine *engine;              // once it is loaded
  lac_solver_table kinds[ENGINE_KINDS];  // made of its methods; its own kinds besides
  int count;
} engine_plugin;

/// A kind, the plug-in that brings it, what serves where that is missing, and the flags of the options that it reads,
/// which are known before it is loaded.
typedef struct engine_entry {
  const char *kind, *name;
  engine_plugin *plugin;
  const char *instead;
  unsigned reads;
} engine_entry;

static engine_plugin engine_suitesparse = {
    .name = "suitesparse", .project = "SuiteSparse", .package = "libsuitesparse-dev"};
static engine_plugin engine_mumps = {.name = "mumps", .project = "sequential MUMPS", .package = "libmumps-seq-dev"};

static const engine_entry engine_entries[] = {
    {"cholmod", "CHOLMOD", &engine_suitesparse, "cholesky", LAC_READS_ORDERING},
    {"umfpack", "UMFPACK", &engine_suitesparse, "lu", LAC_READS_ORDERING | LAC_READS_PIVOTING},
    {"klu", "KLU", &engine_suitesparse, "lu", LAC_READS_ORDERING | LAC_READS_PIVOTING},
    {"mumps", "MUMPS", &engine_mumps, "lu", LAC_READS_ORDERING | LAC_READS_PIVOTING},
};

static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool engine_hidden;
static _Atomic int64_t engine_narrow = INT32_MAX;

static const lac_engine_host engine_host = {
    .version = LACUNA_VERSION,
    .size = sizeof(lac_engine_host),
    .sizes = LAC_ENGINE_SIZES,
    .alloc = lac_alloc,
    .calloc = lac_calloc,
    .free = lac_free,
    .fail = lac_context_fail,
    .pass = lac_context_pass,
    .order = lac_order_symmetric,
    .blas_hold = lac_blas_hold,
    .blas_drop = lac_blas_drop,
    .blas_enter = lac_blas_enter,
    .blas_leave = lac_blas_leave,
    .narrow = &engine_narrow,
};

void lac_engine_hide(bool is_hidden) { atomic_store(&engine_hidden, is_hidden); }
void lac_engine_set_narrow(int64_t narrow) { atomic_store(&engine_narrow, narrow); }

// -- loading ---------------------------------------------------------------------------------------------------------

static void engine_path(const engine_plugin *plugin, char path[LAC_PATH_SIZE]) {
  const char *folder = getenv("LACUNA_ENGINES");
  char name[64];

  snprintf(name, sizeof name, "liblacuna_%s.so", plugin->name);
  if (folder && *folder) {
    snprintf(path, LAC_PATH_SIZE, "%s/%s", folder, name);
  } else {
    lac_path_beside(name, path);
  }
}

// Sequential MUMPS brings an MPI of its own, for one process. Where the program has a true one, whose Fortran names are
// the same, a plug-in must prefer what it brings.
static int engine_flags(void) {
  int flags = RTLD_NOW | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND) && !defined(ENGINE_SANITIZED)
  if (dlsym(RTLD_DEFAULT, "mpi_init_")) flags |= RTLD_DEEPBIND;
#endif
  return flags;
}

static unsigned engine_reads(const char *kind) {
  for (size_t i = 0; i < sizeof engine_entries / sizeof *engine_entries; i++) {
    if (strcmp(engine_entries[i].kind, kind) == 0) return engine_entries[i].reads;
  }
  return 0;
}

// A method becomes a kind, as those that are built in do; kinds are taken as they are.
// Says whether there was room for all.
static bool engine_enlist(engine_plugin *plugin, const lac_engine *e) {
  for (int i = 0; e->methods && e->methods[i]; i++) {
    if (plugin->count == ENGINE_KINDS) return false;
    plugin->kinds[plugin->count++] = lac_direct_kind(e->methods[i], engine_reads(e->methods[i]->name));
  }
  for (int i = 0; e->kinds && e->kinds[i]; i++) {
    if (plugin->count == ENGINE_KINDS) return false;
    plugin->kinds[plugin->count++] = *e->kinds[i];
  }
  plugin->engine = e;
  return true;
}

// Why a plug-in could not be loaded goes to `why`. The lock is held.
static void engine_load(engine_plugin *plugin, char *why, size_t size) {
  char path[LAC_PATH_SIZE], symbol[64];
  lac_engine_open *open = NULL;

  engine_path(plugin, path);
  void *library = dlopen(path, engine_flags());
  if (!library) {
    const char *error = dlerror();
    snprintf(why, size, "%.400s", error ? error : path);
    return;
  }
  lac_blas_look_into(library);
  snprintf(symbol, sizeof symbol, "lac_engine_%s", plugin->name);
  *(void **)&open = dlsym(library, symbol);
  const lac_engine *engine = open ? open(&engine_host) : NULL;
  if (!engine) {
    snprintf(why, size, "%.400s belongs to another build of Lacuna", path);
    dlclose(library);
  } else if (!engine_enlist(plugin, engine)) {
    snprintf(why, size, "%.400s brings more than %d methods", path, ENGINE_KINDS);
    plugin->count = 0;
    dlclose(library);
  }
}

static const lac_solver_table *engine_lookup(const engine_entry *entry, char *why, size_t size) {
  const lac_solver_table *found = NULL;

  snprintf(why, size, "hidden");
  if (atomic_load(&engine_hidden)) return NULL;
  pthread_mutex_lock(&engine_lock);
  snprintf(why, size, "it does not bring this method");
  if (!entry->plugin->engine) engine_load(entry->plugin, why, size);
  for (int i = 0; i < entry->plugin->count; i++) {
    if (strcmp(entry->plugin->kinds[i].name, entry->kind) == 0) found = &entry->plugin->kinds[i];
  }
  pthread_mutex_unlock(&engine_lock);
  return found;
}

// -- what the registry asks ------------------------------------------------------------------------------------------

const char *lac_engine_name(int i) {
  const int count = sizeof engine_entries / sizeof *engine_entries;
  return i < count ? engine_entries[i].kind : NULL;
}

unsigned lac_engine_flags(int i) { return engine_entries[i].reads | LAC_DIRECT_FLAGS; }

lac_status lac_engine_kind(lac_context *ctx, const char *function, const char *name, const lac_solver_table **out) {
  lac_status status = LAC_OK;
  const engine_entry *entry = NULL;
  char why[512];

  *out = NULL;
  for (size_t i = 0; i < sizeof engine_entries / sizeof *engine_entries && !entry; i++) {
    if (strcmp(engine_entries[i].kind, name) == 0) entry = &engine_entries[i];
  }
  if (!entry) goto done;
  *out = engine_lookup(entry, why, sizeof why);
  LAC_CHECK(*out, LAC_ERR_UNSUPPORTED,
            "%s: %s cannot be used: liblacuna_%s.so, by which it is called, could not be loaded (%s); install %s "
            "(Debian: %s) and build Lacuna with it, or use method = \"%s\"",
            function, entry->name, entry->plugin->name, why, entry->plugin->project, entry->plugin->package,
            entry->instead);
done:
  return status;
}
