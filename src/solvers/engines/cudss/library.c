// SPDX-License-Identifier: Apache-2.0
/// @file library.c
/// Looks for cuDSS when it is first wanted and loads it.
///
///     LACUNA_CUDSS in the environment   that one, by name or path; "none": none
///     else                              the one that was suggested (lac_engine_suggest): Python names that of the
///                                       package nvidia-cudss; then libcudss.so.1, then libcudss.so.0, where the
///                                       system or the process has it
///
/// Versions 0.7 to 1.x serve. Later ones of 1.x keep the numbers that are used here, since its ABI is stable.

#include "solvers/engines/cudss/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin/plugin.h"

typedef int cudss_create_csr(cudss_matrix *matrix, int64_t rows, int64_t cols, int64_t nnz, const void *begins,
                             const void *ends, const void *columns, const void *values, int offset_type,
                             int column_type, int value_type, int nature, int view, int base);
typedef int cudss_create_csr_before(cudss_matrix *matrix, int64_t rows, int64_t cols, int64_t nnz, const void *begins,
                                    const void *ends, const void *columns, const void *values, int index_type,
                                    int value_type, int nature, int view, int base);

static const cudss_names names_0_7 = {.use_matching = 3,
                                      .matching = 4,
                                      .solve_mode = -1,
                                      .pivot_scaling = 17,
                                      .batch = 19,
                                      .repeats = 25,
                                      .estimates = 12,
                                      .flops = -1};
static const cudss_names names_0_8 = {.use_matching = -1,
                                      .matching = 3,
                                      .solve_mode = -1,
                                      .pivot_scaling = 16,
                                      .batch = 18,
                                      .repeats = 24,
                                      .estimates = 13,
                                      .flops = 26};
static const cudss_names names_1 = {.use_matching = -1,
                                    .matching = 3,
                                    .solve_mode = 4,
                                    .pivot_scaling = 16,
                                    .batch = 18,
                                    .repeats = 24,
                                    .estimates = 13,
                                    .flops = 26};

static pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;
static bool find_is_done;
static cudss_library found;
static bool is_found;
static char suggested[1024];
static char refusal[LAC_WHY_SIZE];

// -- finding it ------------------------------------------------------------------------------------------------------

/// *function = a symbol of the library; ISO C has no cast from an object to a function.
static bool find_symbol(void *library, const char *symbol, void *function) {
  void *address = dlsym(library, symbol);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

static bool find_functions(void *library, cudss_library *l) {
  return find_symbol(library, "cudssCreate", &l->create) && find_symbol(library, "cudssDestroy", &l->destroy) &&
         find_symbol(library, "cudssSetStream", &l->set_stream) &&
         find_symbol(library, "cudssSetDeviceMemHandler", &l->set_memory) &&
         find_symbol(library, "cudssConfigCreate", &l->config_create) &&
         find_symbol(library, "cudssConfigDestroy", &l->config_destroy) &&
         find_symbol(library, "cudssConfigSet", &l->config_set) &&
         find_symbol(library, "cudssDataCreate", &l->data_create) &&
         find_symbol(library, "cudssDataDestroy", &l->data_destroy) &&
         find_symbol(library, "cudssDataGet", &l->data_get) &&
         find_symbol(library, "cudssMatrixCreateDn", &l->create_dense) &&
         find_symbol(library, "cudssMatrixCreateCsr", &l->create_csr) &&
         find_symbol(library, "cudssMatrixSetValues", &l->set_values) &&
         find_symbol(library, "cudssMatrixDestroy", &l->matrix_destroy) &&
         find_symbol(library, "cudssExecute", &l->execute) && find_symbol(library, "cudssGetProperty", &l->property);
}

/// The numbers of a version; false: it is one that is not known.
static bool find_names(cudss_library *l) {
  int major = -1, minor = -1, patch = -1;

  (void)l->property(0, &major);
  (void)l->property(1, &minor);
  (void)l->property(2, &patch);
  snprintf(l->version, sizeof l->version, "%d.%d.%d", major, minor, patch);
  l->names = major == 1 ? names_1 : minor == 8 ? names_0_8 : names_0_7;
  l->has_offset_type = major == 1 || minor == 8;
  return major == 1 || (major == 0 && (minor == 7 || minor == 8));
}

/// What a library lacks is said; what dlopen says is kept, the last of several.
static bool find_load(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  cudss_library all = {.version = ""};

  if (!library) {
    const char *why = dlerror();
    snprintf(refusal, sizeof refusal, "%s", why ? why : name);
    return false;
  }
  is_found = find_functions(library, &all) && find_names(&all);
  if (is_found) {
    found = all;
  } else {
    snprintf(refusal, sizeof refusal, "%.150s is %s", name,
             *all.version ? "another version than 0.7, 0.8 or 1" : "no cuDSS");
    dlclose(library);
  }
  return is_found;
}

static void find(void) {
  static const char *const names[] = {"libcudss.so.1", "libcudss.so.0"};
  const char *asked = getenv("LACUNA_CUDSS");

  if (asked && strcmp(asked, "none") == 0) {
    snprintf(refusal, sizeof refusal, "LACUNA_CUDSS is \"none\"");
    return;
  }
  if (asked && *asked) {
    (void)find_load(asked);
    return;
  }
  if (*suggested && find_load(suggested)) return;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (find_load(names[i])) return;
  }
}

const cudss_library *lac_cudss_find(char *why, size_t size) {
  pthread_mutex_lock(&find_lock);
  if (!find_is_done) find();
  find_is_done = true;
  if (!is_found) snprintf(why, size, "%s", refusal);
  pthread_mutex_unlock(&find_lock);
  return is_found ? &found : NULL;
}

void lac_cudss_suggest(const char *path) {
  pthread_mutex_lock(&find_lock);
  snprintf(suggested, sizeof suggested, "%s", path ? path : "");
  if (!is_found) find_is_done = false;
  pthread_mutex_unlock(&find_lock);
}

// -- what differs between versions -----------------------------------------------------------------------------------

int lac_cudss_create_csr(const cudss_library *l, int64_t n, int64_t nnz, const void *offsets, const void *columns,
                         const void *values, const int types[3], int nature, int view, cudss_matrix *out) {
  cudss_create_csr *create;
  cudss_create_csr_before *create_before;

  memcpy(&create, &l->create_csr, sizeof create);
  memcpy(&create_before, &l->create_csr, sizeof create_before);
  if (l->has_offset_type) {
    return create(out, n, n, nnz, offsets, NULL, columns, values, types[0], types[1], types[2], nature, view,
                  CUDSS_FROM_ZERO);
  }
  if (types[0] != types[1]) return CUDSS_UNSUPPORTED;
  return create_before(out, n, n, nnz, offsets, NULL, columns, values, types[1], types[2], nature, view,
                       CUDSS_FROM_ZERO);
}
