// SPDX-License-Identifier: Apache-2.0
/// @file load.c
/// Engines by the names of their kinds, and the plug-ins that bring them.

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/blas.h"
#include "solvers/direct/dense/dense.h"
#include "solvers/direct/direct.h"
#include "solvers/direct/order/ordering.h"
#include "solvers/engines/cudss/library.h"
#include "solvers/engines/engine.h"

extern const lac_solver_table lac_kind_cudss;

enum { ENGINE_KINDS = 8 };  // that a plug-in may bring

typedef struct engine_plugin {
  lac_plugin base;
  const char *project, *package;
  lac_solver_table kinds[ENGINE_KINDS];  // made of its methods; its own kinds besides
  int count;
} engine_plugin;

/// A kind, the plug-in that brings it, what serves where that is missing, and the flags of the options that it reads,
/// which are known before it is loaded. cuDSS needs no plug-in: its library is loaded as it is.
typedef struct engine_entry {
  const char *kind, *name;
  engine_plugin *plugin;
  const char *instead;
  unsigned reads;
} engine_entry;

static _Atomic int64_t engine_narrow = INT32_MAX;

static const lac_engine_host engine_host = {
    .sizes = LAC_ENGINE_SIZES, .order = lac_order_symmetric, .narrow = &engine_narrow};

static engine_plugin engine_suitesparse = {
    .base = {.name = "suitesparse", .more = &engine_host}, .project = "SuiteSparse", .package = "libsuitesparse-dev"};
static engine_plugin engine_mumps = {.base = {.name = "mumps", .more = &engine_host, .prefers_own = true},
                                     .project = "sequential MUMPS",
                                     .package = "libmumps-seq-dev"};

static const engine_entry engine_entries[] = {
    {"cholmod", "CHOLMOD", &engine_suitesparse, "cholesky", LAC_READS_ORDERING},
    {"umfpack", "UMFPACK", &engine_suitesparse, "lu", LAC_READS_ORDERING | LAC_READS_PIVOTING},
    {"klu", "KLU", &engine_suitesparse, "lu", LAC_READS_ORDERING | LAC_READS_PIVOTING},
    {"mumps", "MUMPS", &engine_mumps, "lu", LAC_READS_ORDERING | LAC_READS_PIVOTING},
    {"cudss", "cuDSS", NULL, "direct", 0},
};

static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;

void lac_engine_set_narrow(int64_t narrow) { atomic_store(&engine_narrow, narrow); }

// -- loading ---------------------------------------------------------------------------------------------------------

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
  return true;
}

// How many kinds a plug-in brings; 0, and the reason, where it cannot be loaded. The lock is held.
static int engine_load(engine_plugin *plugin, char why[LAC_WHY_SIZE]) {
  const lac_engine *engine = lac_plugin_load(&plugin->base, why);

  if (!engine) return 0;
  if (plugin->count) return plugin->count;
  lac_blas_look_into(plugin->base.library);
  if (!engine_enlist(plugin, engine)) {
    snprintf(why, LAC_WHY_SIZE, "it brings more than %d methods", ENGINE_KINDS);
    plugin->count = 0;
  }
  return plugin->count;
}

static const lac_solver_table *engine_lookup(const engine_entry *entry, char why[LAC_WHY_SIZE]) {
  const lac_solver_table *found = NULL;

  snprintf(why, LAC_WHY_SIZE, "it does not bring this method");
  pthread_mutex_lock(&engine_lock);
  int count = engine_load(entry->plugin, why);
  for (int i = 0; i < count; i++) {
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

const lac_solver_table *lac_engine_on_device(const lac_space *space) {
  char why[LAC_WHY_SIZE];
  return strcmp(space->backend, "cuda") == 0 && lac_cudss_find(why, sizeof why) ? &lac_kind_cudss : NULL;
}

void lac_engine_suggest(const char *name, const char *path) {
  if (name && strcmp(name, lac_kind_cudss.name) == 0) lac_cudss_suggest(path);
}

const char *lac_engine_version(const char *name) {
  char why[LAC_WHY_SIZE];
  const cudss_library *l = name && strcmp(name, lac_kind_cudss.name) == 0 ? lac_cudss_find(why, sizeof why) : NULL;
  return l ? l->version : "";
}

unsigned lac_engine_flags(int i) { return engine_entries[i].reads | LAC_DIRECT_FLAGS; }

static lac_status engine_need_cudss(lac_context *ctx, const char *function) {
  lac_status status = LAC_OK;
  char why[LAC_WHY_SIZE];

  LAC_CHECK(lac_cudss_find(why, sizeof why), LAC_ERR_UNSUPPORTED,
            "%s: cuDSS cannot be used: neither libcudss.so.1 nor libcudss.so.0 could be loaded (%s); pip install "
            "nvidia-cudss-cu13 (CUDA 12: nvidia-cudss-cu12), name the library in LACUNA_CUDSS, or use method = "
            "\"direct\"",
            function, why);
done:
  return status;
}

lac_status lac_engine_kind(lac_context *ctx, const char *function, const char *name, const lac_solver_table **out) {
  lac_status status = LAC_OK;
  const engine_entry *entry = NULL;
  char why[LAC_WHY_SIZE];

  *out = NULL;
  for (size_t i = 0; i < sizeof engine_entries / sizeof *engine_entries && !entry; i++) {
    if (strcmp(engine_entries[i].kind, name) == 0) entry = &engine_entries[i];
  }
  if (!entry) goto done;
  if (!entry->plugin) {
    LAC_TRY(engine_need_cudss(ctx, function));
    *out = &lac_kind_cudss;
    goto done;
  }
  *out = engine_lookup(entry, why);
  LAC_CHECK(*out, LAC_ERR_UNSUPPORTED,
            "%s: %s cannot be used: liblacuna_%s.so, by which it is called, could not be loaded (%s); install %s "
            "(Debian: %s) and build Lacuna with it, or use method = \"%s\"",
            function, entry->name, entry->plugin->base.name, why, entry->plugin->project, entry->plugin->package,
            entry->instead);
done:
  return status;
}
