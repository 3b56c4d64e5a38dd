// SPDX-License-Identifier: Apache-2.0
/// @file check.h
/// Checks, and the main function of a test program.
///
/// Tests are functions of a fresh context, named by the sentence that they prove. A failing check prints where and why
/// and ends its test; the others still run. Every test must give back every block it took.
///
///     test_spmm [backend [name of one test]]        exit 0: all hold, 1: some fail, 77: the backend is not here
///
/// The backend cpu-as-cuda is the CPU with the kernels that CUDA has (shadow.h).

#ifndef LACUNA_TESTS_CHECK_H
#define LACUNA_TESTS_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "lacuna/lacuna.h"

typedef void check_test(lac_context *ctx);

/// The condition holds.
#define CHECK(condition) ((condition) ? (void)0 : check_fail(__FILE__, __LINE__, "%s", #condition))

/// The call succeeds; `ctx` has the sentence if it does not.
#define CHECK_OK(call) check_ok(__FILE__, __LINE__, ctx, (call), #call)

/// The call fails with this status and a sentence that contains these words.
#define CHECK_FAILS(call, expected, words) check_fails(__FILE__, __LINE__, ctx, (call), (expected), (words), #call)

/// Two integers are equal; two numbers are, to a relative tolerance; two texts are.
#define CHECK_EQ(a, b) check_eq(__FILE__, __LINE__, (long long)(a), (long long)(b), #a " == " #b)
#define CHECK_NEAR(a, b, tolerance) check_near(__FILE__, __LINE__, (a), (b), (tolerance), #a " ~ " #b)
#define CHECK_TEXT(a, b) check_text(__FILE__, __LINE__, (a), (b))

#define CHECK_MAIN(...) CHECK_MAIN_OF(NULL, __VA_ARGS__)

/// The same for tests that all need something which a backend may not claim (check_claimed).
#define CHECK_MAIN_OF(needs, ...)                                                                   \
  int main(int argc, char **argv) {                                                                 \
    static check_test *const tests[] = {__VA_ARGS__};                                               \
    return check_main(argc, argv, needs, #__VA_ARGS__, tests, (int)(sizeof tests / sizeof *tests)); \
  }

_Noreturn void check_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void check_ok(const char *file, int line, const lac_context *ctx, lac_status status, const char *call);
void check_fails(const char *file, int line, lac_context *ctx, lac_status status, lac_status expected,
                 const char *words, const char *call);
void check_eq(const char *file, int line, long long a, long long b, const char *text);
void check_near(const char *file, int line, double a, double b, double tolerance, const char *text);
void check_text(const char *file, int line, const char *a, const char *b);

int check_main(int argc, char **argv, const char *needs, const char *names, check_test *const *tests, int count);

/// The backend of the program's contexts: as on its command line, and "cpu" for a shadow.
const char *check_backend(void);

/// The test that is running cannot be done here, for this reason; it then returns. It counts as skipped, not as passed,
/// and a program of which no test was done is skipped itself.
void check_skip(const char *why);

/// How often a sweep over random cases repeats: `usual` times, and LACUNA_TEST_LONG times as often where that is set.
int check_sweep(int usual);

/// Which allocation is to fail after the n-th (lac_memory_fail_at): on the host the next. On a device the steps grow:
/// most of many allocations are those of an algorithm of the host, and each try waits for the device.
int64_t check_next_failure(const lac_context *ctx, int64_t n);

/// Whether LACUNA_TEST_QUICK is set: a part of the cases is enough.
int check_is_quick(void);

/// Whether the program runs on a shadow, whose numbers are the CPU's: what is asked there is what works at all.
int check_is_shadow(void);

/// Whether the test goes on: what the backend does not claim (kernels/claims.h) is said to be skipped.
int check_claimed(const char *what);

/// The status of a call with that of the error of values which it may have left on a device.
lac_status check_late(lac_context *ctx, lac_status status);

/// The battery has run a case of an operator, or had to leave one out: a program that left out all of them counts as
/// skipped.
void check_battery(int has_run);

/// The counters of a backend's memory.
lac_memory_stats memory_now(const char *backend);

/// Blocks live now on host and devices, after caches that may drop what they hold have dropped it.
long long check_live_blocks(void);

#endif
