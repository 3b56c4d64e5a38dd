// SPDX-License-Identifier: Apache-2.0
/// Which BLAS is found, by name, by path, or none; that products are the same with it and without, and that its threads
/// are not added to ours. Each trial is a process of its own, since a BLAS is found once.

#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/blas.h"
#include "lacuna/lacuna.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/reports.h"
#include "support/sanitized.h"

enum { FORM = 96 };  // of matrices: large enough for BLAS

/// The exit code of a trial with LACUNA_BLAS set so; NULL: not set.
static int trial(const char *blas, int (*run)(void)) {
  int status = 0;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (blas) setenv("LACUNA_BLAS", blas, 1);
    if (!blas) unsetenv("LACUNA_BLAS");
    _exit(run());
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int is_found(void) { return lac_blas_find() && lac_blas_found; }

/// 0: X Y by lac_matmul is what the sums of products say.
static int product_is_wrong(void) {
  const int64_t shape[] = {FORM, FORM};
  static double x[FORM * FORM], y[FORM * FORM];
  lac_context *ctx = NULL;
  lac_tape *tape = NULL;
  lac_array *arrays[2] = {NULL, NULL};
  double worst = 0;

  for (int i = 0; i < FORM * FORM; i++) x[i] = sin(i), y[i] = cos(3 * i);
  if (lac_context_create("cpu", 0, &ctx) != LAC_OK || lac_context_set_threads(ctx, 1) != LAC_OK) return 1;
  if (lac_array_from(ctx, LAC_F64, 2, shape, x, LAC_OWNERSHIP_COPY, &arrays[0]) != LAC_OK) return 2;
  if (lac_array_from(ctx, LAC_F64, 2, shape, y, LAC_OWNERSHIP_COPY, &arrays[1]) != LAC_OK) return 2;
  if (lac_tape_create(ctx, LAC_TAPE_RUN, &tape) != LAC_OK) return 3;
  lac_var z = lac_matmul(tape, lac_tape_constant(tape, arrays[0]), lac_tape_constant(tape, arrays[1]), LAC_PLAIN,
                         LAC_TRANSPOSED);
  if (lac_tape_status(tape) != LAC_OK) return 4;
  const double *out = lac_array_data(lac_tape_value(tape, z));
  for (int i = 0; i < FORM * FORM; i++) {
    double sum = 0;
    for (int k = 0; k < FORM; k++) sum += x[i / FORM * FORM + k] * y[i % FORM * FORM + k];
    worst = fmax(worst, fabs(out[i] - sum));
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&arrays[0]), lac_array_destroy(&arrays[1]);
  lac_context_destroy(&ctx);
  return worst < 1e-11 ? 0 : 5;
}

static void none_is_none(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(trial("none", is_found), 0);
  CHECK_EQ(trial("libthereisnosuchblas.so", is_found), 0);
  CHECK_EQ(trial("libm.so.6", is_found), 0);  // there, and no BLAS
}

/// A name that is asked for is found again by itself, where there is one.
static void a_name_is_found(lac_context *ctx) {
  (void)ctx;
  if (!trial(NULL, is_found)) {
    check_skip("no fast BLAS on this machine");
    return;
  }
  CHECK(access("/usr/lib/x86_64-linux-gnu/libopenblas.so.0", R_OK) ||
        trial("/usr/lib/x86_64-linux-gnu/libopenblas.so.0", is_found));
}

static void the_reference_is_left_alone(lac_context *ctx) {
  const char *path = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3";
  (void)ctx;
  if (access(path, R_OK)) {
    check_skip("no reference BLAS on this machine");
    return;
  }
  CHECK_EQ(trial(path, is_found), 0);
}

static void products_are_right_with_and_without(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(trial(NULL, product_is_wrong), 0);
  CHECK_EQ(trial("none", product_is_wrong), 0);
}

// -- what is asked for and does not serve ----------------------------------------------------------------------------

#define MISSING "libthereisnosuchblas.so"

static int is_named_as_missing(void) {
  return strstr(lac_blas_name(), "none: LACUNA_BLAS names '" MISSING "'") != NULL;
}
static int is_named_as_no_blas(void) { return strstr(lac_blas_name(), "it has no cblas_sgemm") != NULL; }
static int is_named_as_wide(void) { return strstr(lac_blas_name(), "its integers have 64 bits") != NULL; }
static int is_nameless(void) { return *lac_blas_name() == '\0'; }

/// The report of a factor that wanted a BLAS says why there is none.
static int report_says_missing(void) {
  lac_context *ctx = NULL;
  lac_factor *factor = NULL;
  lac_solver_options options = lac_solver_options_defaults();
  direct_case c = direct_make(DIRECT_POISSON, 900, LAC_F64, 1);
  options.method = "cholesky";
  if (lac_context_create("cpu", 0, &ctx) != LAC_OK) return 2;
  direct_system s = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  if (lac_solver_factor(ctx, s.solver, s.values, &factor) != LAC_OK) return 3;
  return strstr(report_of_factor(factor).warning, "LACUNA_BLAS names '" MISSING "'") != NULL;
}

static void one_that_does_not_serve_is_told(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(trial(MISSING, is_named_as_missing), 1);
  CHECK_EQ(trial("libm.so.6", is_named_as_no_blas), 1);
  CHECK_EQ(trial("none", is_nameless), 1);
  CHECK_EQ(trial(MISSING, report_says_missing), 1);
  CHECK_EQ(trial("none", report_says_missing), 0);
}

static void integers_of_64_bits_are_found_out(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(trial(BLAS_STUBS "mkl_wide.so", is_found), 0);
  CHECK_EQ(trial(BLAS_STUBS "mkl_wide.so", is_named_as_wide), 1);
  CHECK_EQ(trial(BLAS_STUBS "mkl_wide.so", product_is_wrong), 0);
  CHECK_EQ(trial(BLAS_STUBS "mkl.so", is_found), 1);
}

// -- threads of its own ----------------------------------------------------------------------------------------------

#define SCIPY BLAS_STUBS "scipy.so"

/// What a stub says, where it is loaded: the one that LACUNA_BLAS names, else the one that was suggested.
static int stub_says(const char *symbol) {
  int (*ask)(void) = NULL;
  const char *named = getenv("LACUNA_BLAS");
  void *library = dlopen(named ? named : SCIPY, RTLD_NOW | RTLD_NOLOAD), *address;
  if (!library || !(address = dlsym(library, symbol))) return -1;
  memcpy(&ask, &address, sizeof ask);
  return ask();
}

/// 0: products and factors are right, had one thread each, and the library has its four again.
static int threads_are_multiplied(void) {
  if (product_is_wrong()) return 1;
  if (stub_says("stub_products") < 1) return 2;
  if (stub_says("stub_most_threads") != 1) return 3;
  if (stub_says("stub_threads") != 4 || !lac_blas_enter(2)) return 4;
  if (stub_says("stub_threads") != 1 || !lac_blas_hold(1)) return 5;
  lac_blas_leave(2);
  if (stub_says("stub_threads") != 1) return 6;
  lac_blas_drop(1);
  return stub_says("stub_threads") == 4 ? 0 : 7;
}

static void threads_of_others_rest_while_ours_are_inside(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(trial(BLAS_STUBS "mkl.so", threads_are_multiplied), 0);
  CHECK_EQ(trial(BLAS_STUBS "blis.so", threads_are_multiplied), 0);
}

// -- one that is suggested, with a prefix before its names -----------------------------------------------------------

/// 0: products are right and done by the stub, whose threads rest while an elimination is inside.
static int suggestion_is_left(void) {
  if (lac_blas_suggest(SCIPY) != LAC_OK || product_is_wrong()) return 1;
  if (strcmp(lac_blas_name(), "OpenBLAS 9.8.7") != 0) return 2;
  if (stub_says("stub_products") < 1) return 3;
  if (stub_says("stub_threads") != 4 || !lac_blas_enter(2)) return 4;
  if (stub_says("stub_threads") != 1) return 5;
  lac_blas_leave(2);
  return stub_says("stub_threads") == 4 ? 0 : 6;
}

static int is_name_of_mkl(void) { return lac_blas_suggest(SCIPY) == LAC_OK && strcmp(lac_blas_name(), "MKL") == 0; }

static int is_found_beside_a_bad_suggestion(void) { return lac_blas_suggest(MISSING) == LAC_OK && is_found(); }

static int is_found_after_a_suggestion_is_taken_back(void) {
  return lac_blas_suggest(SCIPY) == LAC_OK && lac_blas_suggest(NULL) == LAC_OK && stub_says("stub_threads") == -1 &&
         is_found() && strcmp(lac_blas_name(), "OpenBLAS 9.8.7") != 0;
}

static void a_suggestion_goes_before_the_systems(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(trial(NULL, suggestion_is_left), 0);
  CHECK_EQ(trial(BLAS_STUBS "mkl.so", is_name_of_mkl), 1);  // LACUNA_BLAS goes before it
  CHECK_EQ(trial(NULL, is_found_beside_a_bad_suggestion), trial(NULL, is_found));
  CHECK_EQ(trial(NULL, is_found_after_a_suggestion_is_taken_back), trial(NULL, is_found));
}

static void a_path_that_is_too_long_is_refused(lac_context *ctx) {
  static char path[5000];
  (void)ctx;
  memset(path, 'x', sizeof path - 1);
  CHECK_EQ(lac_blas_suggest(path), LAC_ERR_ARG);
  CHECK(strstr(lac_context_error(NULL), "4999 characters") != NULL);
}

// -- room ------------------------------------------------------------------------------------------------------------

/// Whether a library is loaded with 300 MB of address space left: enough for a buffer of one thread, and no more.
static int finds_in_little_room(void) {
  enum { LITTLE = 300 << 20 };
  long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%lld", &pages) != 1) return 2;
  rlim_t bytes = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + LITTLE);
  (void)fclose(file);
  return setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) == 0 ? lac_blas_find() : 3;
}

static int finds_with_one_thread(void) { return setenv("OPENBLAS_NUM_THREADS", "1", 1) ? 4 : finds_in_little_room(); }
static int finds_with_two_threads(void) { return setenv("OPENBLAS_NUM_THREADS", "2", 1) ? 4 : finds_in_little_room(); }

static void room_is_asked_for_by_threads(lac_context *ctx) {
  cpu_set_t ours;
  (void)ctx;
  if (check_is_sanitized()) return;
  if (sched_getaffinity(0, sizeof ours, &ours) || CPU_COUNT(&ours) < 2) {
    check_skip("one core");
    return;
  }
  CHECK_EQ(trial(BLAS_STUBS "mkl.so", finds_with_one_thread), 1);
  CHECK_EQ(trial(BLAS_STUBS "mkl.so", finds_with_two_threads), 0);
}

CHECK_MAIN(none_is_none, a_name_is_found, the_reference_is_left_alone, products_are_right_with_and_without,
           one_that_does_not_serve_is_told, integers_of_64_bits_are_found_out,
           threads_of_others_rest_while_ours_are_inside, a_suggestion_goes_before_the_systems,
           a_path_that_is_too_long_is_refused, room_is_asked_for_by_threads)
