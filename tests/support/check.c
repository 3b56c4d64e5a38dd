// SPDX-License-Identifier: Apache-2.0
/// @file check.c
/// Runs tests one by one, each under a fresh context, and looks for blocks left behind.

#include "support/check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autodiff/tape_impl.h"
#include "support/scratch.h"
#include "support/shadow.h"

enum { PASSED = 0, FAILED = 1, SKIPPED = 77, PLAN_BUDGET = 256 << 20 };

static jmp_buf check_out;
static const char *check_name = "cpu";

void check_fail(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)printf("  %s:%d: ", file, line);
  (void)vprintf(format, arguments);
  (void)printf("\n");
  va_end(arguments);
  longjmp(check_out, 1);
}

void check_ok(const char *file, int line, const lac_context *ctx, lac_status status, const char *call) {
  if (status == LAC_OK) return;
  check_fail(file, line, "%s gives %s: %s [%s]", call, lac_status_name(status), lac_context_error(ctx),
             lac_context_trace(ctx));
}

void check_fails(const char *file, int line, lac_context *ctx, lac_status status, lac_status expected,
                 const char *words, const char *call) {
  if (status != expected) {
    check_fail(file, line, "%s gives %s, not %s: %s", call, lac_status_name(status), lac_status_name(expected),
               lac_context_error(ctx));
  }
  if (!strstr(lac_context_error(ctx), words)) {
    check_fail(file, line, "the sentence of %s lacks '%s': %s", call, words, lac_context_error(ctx));
  }
  lac_context_clear_error(ctx);
}

void check_eq(const char *file, int line, long long a, long long b, const char *text) {
  if (a != b) check_fail(file, line, "%s: %lld against %lld", text, a, b);
}

void check_near(const char *file, int line, double a, double b, double tolerance, const char *text) {
  if (!(fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b)))) {
    check_fail(file, line, "%s: %.17g against %.17g", text, a, b);
  }
}

void check_text(const char *file, int line, const char *a, const char *b) {
  if (strcmp(a, b) != 0) check_fail(file, line, "'%s' against '%s'", a, b);
}

const char *check_backend(void) { return lac_backend_find(check_name) ? check_name : "cpu"; }

static int skips;  // since the test that is running began

void check_skip(const char *why) {
  (void)printf("skip: %s\n", why);
  ++skips;
}

int check_sweep(int usual) {
  const char *factor = getenv("LACUNA_TEST_LONG");
  long times = factor ? strtol(factor, NULL, 10) : 1;
  return usual * (int)(times < 1 ? 1 : times > 1000 ? 1000 : times);
}

int64_t check_next_failure(const lac_context *ctx, int64_t n) {
  return n + 1 + (ctx->kernels == lac_backend_find("cpu")->kernels ? 0 : n / 16);
}

int check_is_quick(void) {
  const char *quick = getenv("LACUNA_TEST_QUICK");
  return quick && *quick;
}

/// The table that the tests run with; NULL where the backend is not built in.
static const lac_kernels *check_kernels(void) {
  static const char prefix[] = "cpu-as-";
  if (strncmp(check_name, prefix, strlen(prefix)) == 0) return shadow_of(check_name + strlen(prefix));
  const lac_backend *backend = lac_backend_find(check_name);
  return backend ? backend->kernels : NULL;
}

int check_is_shadow(void) { return check_kernels() && !lac_backend_find(check_name); }

lac_status check_late(lac_context *ctx, lac_status status) {
  return status == LAC_OK ? lac_context_synchronize(ctx) : status;
}

int check_claimed(const char *what) {
  const lac_claims *claims = check_kernels()->claims;
  if (!claims) return 1;
  for (int i = 0; i < claims->count; ++i) {
    if (strcmp(claims->list[i].name, what) == 0) return 1;
  }
  (void)printf("skip: %s: the backend %s does not claim it\n", what, check_name);
  return 0;
}

static lac_context *check_ctx;  // of the test that runs

static int battery_ran, battery_left_out;

void check_battery(int has_run) { ++*(has_run ? &battery_ran : &battery_left_out); }

lac_memory_stats memory_now(const char *backend) {
  lac_context *ctx = NULL;
  lac_memory_stats stats = {.size = sizeof stats};
  CHECK_OK(lac_memory_get_stats(backend, &stats));
  return stats;
}

long long check_live_blocks(void) {
  lac_pattern_set_plan_budget(0);  // plans are a cache, not a leak
  lac_pattern_set_plan_budget(PLAN_BUDGET);
  if (check_ctx) lac_program_forget(check_ctx, NULL);  // and so are programs
  return memory_now("cpu").live_blocks + memory_now("cuda").live_blocks;
}

static int run_one(check_test *test) {
  lac_context *ctx = NULL;
  check_ctx = NULL;
  if (setjmp(check_out)) return FAILED;  // what a failed test held is not looked for

  long long before = check_live_blocks();
  const lac_kernels *kernels = check_kernels();
  lac_status status = lac_context_create(check_is_shadow() ? "cpu" : check_name, 0, &ctx);
  if (status == LAC_ERR_UNSUPPORTED) {
    (void)printf("skip: %s\n", lac_context_error(NULL));
    return SKIPPED;
  }
  if (status != LAC_OK) check_fail(__FILE__, __LINE__, "%s", lac_context_error(NULL));
  check_ctx = ctx;
  if (check_is_shadow()) shadow_enter(ctx, kernels);
  test(ctx);
  check_ctx = NULL;
  lac_context_destroy(&ctx);
  long long left = check_live_blocks() - before;
  if (left) check_fail(__FILE__, __LINE__, "%lld blocks were not given back", left);
  return PASSED;
}

/// The length of the first name of a list "a, b, c".
static int name_length(const char *names) { return (int)strcspn(names, ", "); }

int check_main(int argc, char **argv, const char *needs, const char *names, check_test *const *tests, int count) {
  const char *only = argc > 2 ? argv[2] : NULL;
  int failures = 0, done = 0, skipped = 0;
  if (argc > 1) check_name = argv[1];
  (void)setvbuf(stdout, NULL, _IOLBF, 0);
  if (needs && check_kernels() && !check_claimed(needs)) return SKIPPED;

  for (int i = 0; i < count; ++i) {
    int length = name_length(names);
    if (!only || (strncmp(only, names, (size_t)length) == 0 && only[length] == '\0')) {
      skips = 0;
      int result = run_one(tests[i]);
      scratch_release(0);
      if (result == SKIPPED) return SKIPPED;
      (void)printf("%s %.*s\n", result != PASSED ? "FAIL" : skips ? "SKIP" : "ok  ", length, names);
      failures += result != PASSED;
      ++*(skips ? &skipped : &done);
    }
    names += length;
    names += strspn(names, ", \n\t");
  }
  int nothing = (skipped && !done) || (battery_left_out && !battery_ran);
  return failures ? FAILED : nothing ? SKIPPED : PASSED;
}
