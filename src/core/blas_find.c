// SPDX-License-Identifier: Apache-2.0
/// @file blas_find.c
/// Looks for a BLAS and loads it; it is never linked, so that the library is the same wherever it was built.
///
///     LACUNA_BLAS in the environment   that one, by name or path; "none": none
///     LACUNA_BLAS when it was built    the same
///     else                             the first of a list of fast ones that the system finds
///
/// The reference BLAS, which many systems have as libblas, is known by its globals and left alone: our own loops are
/// faster. So is one whose integers have 64 bits: it would read past what it is given.

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/blas.h"
#include "lacuna/lacuna.h"

#if !defined(LACUNA_BLAS)
#define LACUNA_BLAS ""
#endif

/// Address space that a library and the buffers of its threads may take: on 64 cores OpenBLAS has as many.
static const size_t find_room = (size_t)256 << 20;

static const char *const find_names[] = {
    "libopenblas.so.0", "libopenblas.so", "libmkl_rt.so.2",    "libmkl_rt.so",
    "libblis.so.4",     "libblis.so",     "libflexiblas.so.3", "libnvpl_blas_lp64_gomp.so.0",
    "libarmpl_lp64.so", "libcblas.so.3",  "libblas.so.3",
};

/// What only one library has, and what to call it.
static const struct find_mark {
  const char *symbol, *name;
} find_marks[] = {
    {"openblas_get_config", "OpenBLAS"},    {"mkl_get_version_string", "MKL"}, {"bli_info_get_version_str", "BLIS"},
    {"flexiblas_get_version", "FlexiBLAS"}, {"nvpl_blas_get_version", "NVPL"}, {"armplversion", "Arm PL"},
};

static pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool find_is_done;
static atomic_bool find_is_due = true;  // OpenBLAS may be in the process, and has not been looked for
static lac_blas find_blas;
static void *find_library;  // if it is OpenBLAS
const lac_blas *lac_blas_found;

/// *function = a symbol of the library; ISO C has no cast from an object to a function.
static bool find_symbol(void *library, const char *symbol, void *function) {
  void *address = dlsym(library, symbol);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

/// Whether its integers are those of cblas.h, 32 bits wide. OpenBLAS says it; others have other names then.
static bool find_is_narrow(const char *config) { return !config || !strstr(config, "USE64BITINT"); }

/// What a library is called by its marks; NULL: it has none.
static const char *find_mark_of(void *library) {
  for (size_t i = 0; i < sizeof find_marks / sizeof *find_marks; i++) {
    if (dlsym(library, find_marks[i].symbol)) return find_marks[i].name;
  }
  return NULL;
}

/// "OpenBLAS 0.3.21" of "OpenBLAS 0.3.21 DYNAMIC_ARCH ...".
static void find_name(void *library, lac_blas *blas, const char *config) {
  const char *name = find_mark_of(library);
  if (!name) name = "an unknown BLAS";
  snprintf(blas->name, sizeof blas->name, "%s", config ? config : name);
  char *space = config ? strchr(blas->name, ' ') : NULL;
  if (space && (space = strchr(space + 1, ' '))) *space = '\0';
}

static bool find_functions(void *library, lac_blas *blas) {
  char *(*get_config)(void) = NULL;
  const char *config = find_symbol(library, "openblas_get_config", &get_config) ? get_config() : NULL;
  if (!find_is_narrow(config) || (!find_mark_of(library) && dlsym(library, "RowMajorStrg"))) return false;
  find_name(library, blas, config);
  return find_symbol(library, "cblas_sgemm", &blas->sgemm) && find_symbol(library, "cblas_dgemm", &blas->dgemm) &&
         find_symbol(library, "cblas_cgemm", &blas->cgemm) && find_symbol(library, "cblas_zgemm", &blas->zgemm);
}

static bool find_load(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  lac_blas blas = {0};
  if (!library) return false;
  if (!find_functions(library, &blas)) return dlclose(library), false;
  find_blas = blas;
  atomic_store(&find_is_due, true);
  find_library = strncmp(blas.name, "OpenBLAS", 8) == 0 ? library : NULL;
  lac_blas_found = &find_blas;
  return true;
}

/// What is asked for; "": nothing.
static const char *find_asked(void) {
  const char *asked = getenv("LACUNA_BLAS");
  return asked && *asked ? asked : LACUNA_BLAS;
}

static void find_choose(void) {
  const char *asked = find_asked();
  if (*asked) {
    if (strcmp(asked, "none") != 0) (void)find_load(asked);
    return;
  }
  for (size_t i = 0; i < sizeof find_names / sizeof *find_names; i++) {
    if (find_load(find_names[i])) return;
  }
}

/// OpenBLAS tries for ever where it is loaded without room.
static bool find_fits(void) {
  if (strcmp(find_asked(), "none") == 0) return true;
  void *room = mmap(NULL, find_room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, find_room);
  return true;
}

bool lac_blas_find(void) {
  if (atomic_load_explicit(&find_is_done, memory_order_acquire)) return true;
  pthread_mutex_lock(&find_lock);
  bool fits = atomic_load(&find_is_done) || find_fits();
  if (fits && !atomic_load(&find_is_done)) {
    find_choose();
    atomic_store_explicit(&find_is_done, true, memory_order_release);
  }
  pthread_mutex_unlock(&find_lock);
  return fits;
}

// -- OpenBLAS --------------------------------------------------------------------------------------------------------

static bool find_openblas(void *library, lac_openblas *out) {
  return find_symbol(library, "openblas_set_num_threads", &out->set_threads) &&
         find_symbol(library, "openblas_get_num_threads", &out->get_threads) &&
         find_symbol(library, "blas_memory_alloc", &out->memory_alloc) &&
         find_symbol(library, "blas_memory_free", &out->memory_free);
}

void lac_blas_look_again(void) { atomic_store(&find_is_due, true); }

const lac_openblas *lac_blas_openblas(void) {
  static lac_openblas there;
  static atomic_bool is_there;
  if (atomic_load_explicit(&is_there, memory_order_acquire)) return &there;
  if (!atomic_load(&find_is_due)) return NULL;
  pthread_mutex_lock(&find_lock);
  void *library = find_library ? find_library : dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
  if (!atomic_load(&is_there) && library && find_openblas(library, &there)) {
    atomic_store_explicit(&is_there, true, memory_order_release);
  }
  atomic_store(&find_is_due, false);
  pthread_mutex_unlock(&find_lock);
  return atomic_load(&is_there) ? &there : NULL;
}

const char *lac_blas_name(void) { return lac_blas_find() && lac_blas_found ? lac_blas_found->name : ""; }
