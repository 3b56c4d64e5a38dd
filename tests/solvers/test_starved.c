// SPDX-License-Identifier: Apache-2.0
/// Little address space: a factorisation and a solve end, with a result or with LAC_ERR_MEMORY. They neither hang, as
/// OpenBLAS does that finds no room for its buffers, nor end the process. Each trial is a process of its own.

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/blas.h"
#include "support/check.h"
#include "support/engine_case.h"
#include "support/sanitized.h"

enum { MEGABYTE = 1 << 20, SECONDS = 60, ROWS = 10000 };
// Exit codes of a trial; 1 is that of a library which ends the process.
enum { GAVE_RESULT = 10, GAVE_MEMORY, GAVE_OTHER, GAVE_NOTHING };

/// Address space in use, in bytes.
static int64_t used(void) {
  long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%lld", &pages) != 1) pages = 0;
  if (file) (void)fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static bool limit_to(int64_t more) {
  rlim_t bytes = (rlim_t)(used() + more);
  return used() > 0 && setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) == 0;
}

static int verdict(lac_context *ctx, lac_status status) {
  if (status == LAC_OK || status == LAC_ERR_MEMORY) return status == LAC_OK ? GAVE_RESULT : GAVE_MEMORY;
  (void)printf("  %s: %s\n", lac_status_name(status), lac_context_error(ctx));
  return GAVE_OTHER;
}

/// The trial itself: what is loaded, analysed and begun is so before the limit, which is then `more` above what is in
/// use.
static int trial_run(lac_context *ctx, const char *name, int threads, int64_t more) {
  direct_case c = direct_make(DIRECT_POISSON, ROWS, LAC_F64, 1);
  lac_solver_options options = lac_solver_options_defaults();
  const int64_t shape[] = {c.s->rows, 20};
  lac_factor *factor = NULL;
  lac_status status = LAC_OK;
  int begun = 0;

  options.method = name;
  CHECK_OK(lac_context_set_threads(ctx, threads));
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
  lac_array *b = direct_random(ctx, LAC_F64, 2, shape, 1), *x = direct_random(ctx, LAC_F64, 2, shape, 2);
#pragma omp parallel num_threads(threads) reduction(+ : begun)
  begun++;
  if (begun != threads || !limit_to(more)) return GAVE_NOTHING;
  status = lac_solver_factor(ctx, system.solver, system.values, &factor);
  if (status == LAC_OK) status = lac_factor_solve(ctx, factor, b, LAC_PLAIN, x);
  return verdict(ctx, status);
}

static int trial(lac_context *ctx, const char *name, int threads, int64_t more) {
  int how = 0;
  (void)fflush(stdout);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    (void)alarm(SECONDS);
    _exit(trial_run(ctx, name, threads, more));
  }
  CHECK(waitpid(child, &how, 0) == child);
  if (!WIFEXITED(how)) {
    check_fail(__FILE__, __LINE__, "%s with %d threads and %lld MB ended by signal %d", name, threads,
               (long long)(more / MEGABYTE), WTERMSIG(how));
  }
  return WEXITSTATUS(how);
}

// From too little for anything to enough for all, where there must be a result.
static void check_kind(lac_context *ctx, const char *name) {
  static const int64_t MORE[] = {1, 8, 40, 140, 400, 4000};
  enum { COUNT = sizeof MORE / sizeof *MORE };
  for (int threads = 1; threads <= 2; threads++) {
    for (int i = 0; i < COUNT; i++) {
      int got = trial(ctx, name, threads, MORE[i] * MEGABYTE);
      if (got != GAVE_RESULT && got != GAVE_MEMORY) {
        check_fail(__FILE__, __LINE__, "%s with %d threads and %lld MB: exit code %d", name, threads,
                   (long long)MORE[i], got);
      }
      if (i == COUNT - 1) CHECK_EQ(got, GAVE_RESULT);
    }
  }
}

static void openblas_is_what_is_starved(lac_context *ctx) {
  const lac_openblas *all;
  (void)ctx;
  CHECK(lac_blas_find());
  if (lac_blas_openblas(&all) == 0)
    check_skip("the BLAS is not OpenBLAS: nothing is asked of memory before it is called");
}

static void built_in_methods_end(lac_context *ctx) {
  if (check_is_sanitized()) return;
  static const char *const NAMES[] = {"cholesky", "ldlt", "lu", "pivoting_lu"};
  for (int i = 0; i < 4; i++) check_kind(ctx, NAMES[i]);
}

static void engine_ends(lac_context *ctx, const engine *e) { check_kind(ctx, e->name); }

static void engines_end(lac_context *ctx) {
  if (!check_is_sanitized()) each_engine(ctx, engine_ends);
}

CHECK_MAIN(openblas_is_what_is_starved, built_in_methods_end, engines_end)
