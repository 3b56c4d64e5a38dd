// SPDX-License-Identifier: Apache-2.0
/// @file mpi_check.h
/// Checks, and the main function of a test program that runs on several ranks.
///
/// Tests are functions of a fresh context with MPI attached, named by the sentence that they prove; every rank runs all
/// of them. A failing check prints rank, place and reason, and ends all ranks: those that wait for each other cannot go
/// on alone.

#ifndef LACUNA_TESTS_DISTRIBUTED_MPI_CHECK_H
#define LACUNA_TESTS_DISTRIBUTED_MPI_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lacuna/distributed.h"
#include "lacuna/lacuna.h"

typedef void mpi_test(lac_context *ctx);

static lac_comm world;  // all ranks

__attribute__((format(printf, 3, 4))) static inline void mpi_fail(const char *file, int line, const char *format, ...) {
  va_list arguments;

  fprintf(stderr, "%s:%d: rank %d of %d: ", file, line, world.rank, world.size);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void mpi_ok(const char *file, int line, const lac_context *ctx, lac_status status, const char *call) {
  if (status == LAC_OK) return;
  mpi_fail(file, line, "%s: %s: %s [%s]", call, lac_status_name(status), lac_context_error(ctx),
           lac_context_trace(ctx));
}

static inline void mpi_fails(const char *file, int line, const lac_context *ctx, lac_status status, lac_status expected,
                             const char *words, const char *call) {
  if (status != expected) {
    mpi_fail(file, line, "%s: %s, expected %s: %s", call, lac_status_name(status), lac_status_name(expected),
             lac_context_error(ctx));
  }
  if (!strstr(lac_context_error(ctx), words)) {
    mpi_fail(file, line, "%s: \"%s\" is not in the sentence: %s", call, words, lac_context_error(ctx));
  }
}

/// The condition holds; the call succeeds; the call fails with this status and a sentence that contains these words.
#define CHECK(condition) ((condition) ? (void)0 : mpi_fail(__FILE__, __LINE__, "%s", #condition))
#define CHECK_OK(call) mpi_ok(__FILE__, __LINE__, ctx, (call), #call)
#define CHECK_FAILS(call, expected, words) mpi_fails(__FILE__, __LINE__, ctx, (call), (expected), (words), #call)

#define MPI_CHECK_MAIN(...)                                                    \
  int main(int argc, char **argv) {                                            \
    static mpi_test *const tests[] = {__VA_ARGS__};                            \
    return mpi_main(&argc, &argv, tests, (int)(sizeof tests / sizeof *tests)); \
  }

/// Blocks of the host's memory that live now.
static inline int64_t mpi_live_blocks(void) {
  lac_memory_stats stats = {.size = sizeof stats};
  (void)lac_memory_get_stats("cpu", &stats);
  return stats.live_blocks;
}

static inline void mpi_run(mpi_test *test) {
  const int64_t live = mpi_live_blocks();
  lac_context *ctx = NULL;

  CHECK_OK(lac_context_create("cpu", 0, &ctx));
  CHECK_OK(lac_context_attach(ctx, &world));
  test(ctx);
  lac_context_destroy(&ctx);
  CHECK(mpi_live_blocks() == live);  // a test gives back every block it took
}

static inline int mpi_main(int *argc, char ***argv, mpi_test *const *tests, int count) {
  MPI_Comm comm = MPI_COMM_NULL;

  MPI_Init(argc, argv);
  comm = MPI_COMM_WORLD;
  CHECK(lac_comm_mpi(&comm, &world) == LAC_OK);
  for (int i = 0; i < count; ++i) mpi_run(tests[i]);
  if (world.rank == 0) printf("%d tests on %d ranks\n", count, world.size);
  lac_comm_mpi_free(&world);
  MPI_Finalize();
  return 0;
}

#endif
