// SPDX-License-Identifier: Apache-2.0
/// @file blas_find.c
/// Looks for a BLAS and loads it; it is never linked, so that the library is the same wherever it was built.
///
///     LACUNA_BLAS in the environment   that one, by name or path; "none": none
///     LACUNA_BLAS when it was built    the same
///     lac_blas_suggest                 that one, where it serves
///     else                             the first of a list of fast ones that the system finds
///
/// The OpenBLAS that comes with Python packages has `scipy_` before its names, and is looked up with and without it.
///
/// The reference BLAS, which many systems have as libblas, is known by its globals and left alone: our own loops are
/// faster. So is one whose integers have 64 bits: it would read past what it is given. Where one is asked for and does
/// not serve, loops of our own do; lac_blas_name and the reports of factors say why.

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/blas.h"
#include "core/context_impl.h"
#include "lacuna/lacuna.h"

#define FIND_NONE "none: "
#if !defined(LACUNA_BLAS)
#define LACUNA_BLAS ""
#endif

/// Address space of a library, and of a stack of one of its threads.
static const size_t find_library_room = (size_t)64 << 20, find_stack = (size_t)8 << 20;

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
static lac_blas find_blas;
static lac_openblas find_open[LAC_OPENBLAS_MOST];
static atomic_int find_opened;     // how many of them there are
static char find_none[320];        // "none: " and why the one that is asked for does not serve; else ""
static char find_suggested[4096];  // "": none
const lac_blas *lac_blas_found;

/// Where a symbol of the library is, under its own name or with the prefix of Python packages; NULL: nowhere.
static void *find_address(void *library, const char *symbol) {
  char prefixed[64];
  void *address = dlsym(library, symbol);
  if (address) return address;
  snprintf(prefixed, sizeof prefixed, "scipy_%s", symbol);
  return dlsym(library, prefixed);
}

/// *function = a symbol of the library; ISO C has no cast from an object to a function.
static bool find_symbol(void *library, const char *symbol, void *function) {
  void *address = find_address(library, symbol);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

/// Whether its integers are those of cblas.h, 32 bits wide. OpenBLAS says it. Others are asked: the first two numbers
/// of [1, 1], the 2 being in the low half of an integer of 64 bits that is negative. Who reads the low half sums up 2,
/// who reads all of it has nothing to sum; the calling conventions of 64-bit machines pass both in the same register.
static bool find_is_narrow(void *library, const char *config) {
  const double ones[] = {1, 1};
  double (*sum)(int64_t n, const double *x, int64_t stride) = NULL;
  if (config && strstr(config, "USE64BITINT")) return false;
  if (config || sizeof(void *) < 8 || !find_symbol(library, "cblas_dasum", &sum)) return true;
  return sum(INT64_MIN + 2, ones, 1) == 2;
}

/// What a library is called by its marks; NULL: it has none.
static const char *find_mark_of(void *library) {
  for (size_t i = 0; i < sizeof find_marks / sizeof *find_marks; i++) {
    if (find_address(library, find_marks[i].symbol)) return find_marks[i].name;
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

/// Threads of a library's own. MKL_Set_Num_Threads takes a number; mkl_set_num_threads is for Fortran, and takes its
/// address.
static void find_team(void *library, lac_blas_team *team) {
  static const char *const names[][2] = {{"MKL_Get_Max_Threads", "MKL_Set_Num_Threads"},
                                         {"flexiblas_get_num_threads", "flexiblas_set_num_threads"},
                                         {"nvpl_blas_get_max_threads", "nvpl_blas_set_num_threads"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (find_symbol(library, names[i][0], &team->get) && find_symbol(library, names[i][1], &team->set)) return;
  }
  *team = (lac_blas_team){0};
  if (!find_symbol(library, "bli_thread_get_num_threads", &team->get_wide) ||
      !find_symbol(library, "bli_thread_set_num_threads", &team->set_wide))
    *team = (lac_blas_team){0};
}

/// What is wrong with a library; NULL: it serves.
static const char *find_functions(void *library, lac_blas *blas) {
  char *(*get_config)(void) = NULL;
  const char *config = find_symbol(library, "openblas_get_config", &get_config) ? get_config() : NULL;
  bool has_all = find_symbol(library, "cblas_sgemm", &blas->sgemm) &&
                 find_symbol(library, "cblas_dgemm", &blas->dgemm) &&
                 find_symbol(library, "cblas_cgemm", &blas->cgemm) && find_symbol(library, "cblas_zgemm", &blas->zgemm);
  if (!has_all) return "it has no cblas_sgemm, cblas_dgemm, cblas_cgemm and cblas_zgemm";
  if (!find_mark_of(library) && dlsym(library, "RowMajorStrg"))
    return "it is the reference BLAS, which is slower than the library's own loops";
  if (!find_is_narrow(library, config)) return "its integers have 64 bits (ILP64), and 32 are needed (LP64)";
  find_name(library, blas, config);
  if (!config) find_team(library, &blas->team);
  return NULL;
}

/// OpenBLAS, if that is what the library is or needs: dlsym looks through what a library was linked with too. The lock
/// is held.
static void find_enlist(void *library) {
  lac_openblas o = {0};
  int count = atomic_load(&find_opened);
  bool is_new = find_symbol(library, "openblas_set_num_threads", &o.team.set) &&
                find_symbol(library, "openblas_get_num_threads", &o.team.get) && count < LAC_OPENBLAS_MOST;
  for (int i = 0; i < count; i++) is_new = is_new && find_open[i].team.set != o.team.set;
  if (!is_new) return;
  bool has_memory = find_symbol(library, "blas_memory_alloc", &o.memory_alloc) &&
                    find_symbol(library, "blas_memory_free", &o.memory_free);
  if (!has_memory) o.memory_alloc = NULL;
  find_open[count] = o;
  atomic_store_explicit(&find_opened, count + 1, memory_order_release);
}

static void find_refuse(const char *name, const char *why) {
  snprintf(find_none, sizeof find_none, FIND_NONE "LACUNA_BLAS names '%.100s', which does not serve: %.160s", name,
           why);
}

static bool find_load(const char *name, bool is_asked) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  lac_blas blas = {0};
  const char *why = library ? find_functions(library, &blas) : dlerror();
  if (is_asked && (!library || why)) find_refuse(name, why ? why : "it cannot be loaded");
  if (!library) return false;
  if (why) return dlclose(library), false;
  find_blas = blas;
  find_enlist(library);
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
    if (strcmp(asked, "none") != 0) (void)find_load(asked, true);
    return;
  }
  if (*find_suggested && find_load(find_suggested, false)) return;
  for (size_t i = 0; i < sizeof find_names / sizeof *find_names; i++) {
    if (find_load(find_names[i], false)) return;
  }
}

/// Threads that OpenBLAS begins when it is loaded: one for each core that is ours, unless the environment says less.
static int find_threads(void) {
  static const char *const names[] = {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"};
  cpu_set_t ours;
  int cores = sched_getaffinity(0, sizeof ours, &ours) == 0 ? CPU_COUNT(&ours) : 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *text = getenv(names[i]);
    long asked = text ? strtol(text, NULL, 10) : 0;
    if (asked > 0) return asked < cores ? (int)asked : cores;
  }
  return cores;
}

/// OpenBLAS tries for ever where it is loaded without room for its threads, each of which takes a buffer at once. Asked
/// for in one piece, which is not to be paid for (MAP_NORESERVE), it is refused where limits refuse it, not because it
/// is more than the memory of the machine.
static bool find_fits(void) {
  if (strcmp(find_asked(), "none") == 0) return true;
  size_t bytes = find_library_room + (size_t)find_threads() * (LAC_BLAS_BUFFER + find_stack);
  void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, bytes);
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

lac_status lac_blas_suggest(const char *library) {
  lac_status status = LAC_OK;
  lac_context *ctx = NULL;
  size_t length = library ? strlen(library) : 0;

  LAC_CHECK(length < sizeof find_suggested, LAC_ERR_ARG,
            "lac_blas_suggest: the path has %zu characters; %zu are the most", length, sizeof find_suggested - 1);
  pthread_mutex_lock(&find_lock);
  snprintf(find_suggested, sizeof find_suggested, "%s", library ? library : "");
  pthread_mutex_unlock(&find_lock);
done:
  return status;
}

// -- OpenBLAS --------------------------------------------------------------------------------------------------------

void lac_blas_look_into(void *library) {
  pthread_mutex_lock(&find_lock);
  find_enlist(library);
  pthread_mutex_unlock(&find_lock);
}

int lac_blas_openblas(const lac_openblas **out) {
  *out = find_open;
  return atomic_load_explicit(&find_opened, memory_order_acquire);
}

// -- names -----------------------------------------------------------------------------------------------------------

const char *lac_blas_refusal(void) {
  bool is_refused = atomic_load_explicit(&find_is_done, memory_order_acquire) && *find_none;
  return is_refused ? find_none + sizeof FIND_NONE - 1 : "";
}

const char *lac_blas_name(void) {
  if (!lac_blas_find()) return "";
  return lac_blas_found ? lac_blas_found->name : find_none;
}
