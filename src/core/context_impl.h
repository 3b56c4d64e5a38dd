// SPDX-License-Identifier: Apache-2.0
/// @file context_impl.h
/// The inside of a context, and the two macros by which every function fails.

#ifndef LACUNA_CORE_CONTEXT_IMPL_H
#define LACUNA_CORE_CONTEXT_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/crowd.h"
#include "core/memory_impl.h"
#include "lacuna/context.h"
#include "lacuna/iterative.h"

typedef struct lac_backend lac_backend;  // core/backend.h
typedef struct lac_kernels lac_kernels;  // kernels/kernels.h
typedef struct lac_comm lac_comm;        // lacuna/distributed.h

enum { LAC_SENTENCE_SIZE = 1024, LAC_TRACE_SIZE = 512 };

struct lac_context {
  const lac_backend *backend;
  const lac_kernels *kernels;  // the backend's table; the distributed table when a communicator is attached
  lac_kernels *attached;       // owned: the table of a context that communicates
  lac_space *space;            // where this context's arrays live
  const lac_comm *comm;        // NULL: one process
  void *stream;                // CUDA only
  void *backend_data;          // what a backend keeps for each context
  lac_context *host;           // owned: a context of the host, for what cannot work here; NULL: not asked for yet
  struct lac_object *kept;     // what others keep for each context (autodiff/program_keep.c); let go with it
  int device;
  int threads;
  int asked_threads;  // by lac_context_set_threads; 0: not set
  bool agreed;        // the last error is known to all ranks
  lac_status status;
  char sentence[LAC_SENTENCE_SIZE];
  char trace[LAC_TRACE_SIZE];
  char warning[LAC_SENTENCE_SIZE];
  lac_interrupt interrupt;  // NULL: not set
  void *interrupt_data;
  double asked;                 // when it was called last, in seconds
  uint64_t stir;                // not 0: iterative solves show what their tolerance leaves open (krylov/stir.c); a seed
  int64_t solves;               // by this context: what changes it has solved
  lac_solve_report last_solve;  // of the last of them
};

/// Work, counted in products or numbers, below which one thread is faster than waking others.
enum { LAC_THREADED_WORK = 50000 };

/// How many of `threads` to wake for `tasks` pieces of `work` in all: at least one, and no more where the work is small
/// or the cores are taken. Ask once for a loop: the next answer may be another.
static inline int lac_threads_worth(int threads, int64_t tasks, double work) {
  if (threads <= 1 || tasks <= 1 || !(work >= LAC_THREADED_WORK)) return 1;
  return lac_crowd_threads(tasks < threads ? (int)tasks : threads);
}

/// Keep the sentence of an error and start its trace; returns `status`. ctx may be NULL: the sentence is then the
/// thread's.
lac_status lac_context_fail(lac_context *ctx, lac_status status, const char *function, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/// Keep the sentence of a warning, in place of an earlier one: what was done is doubtful, and no error.
void lac_context_warn(lac_context *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Of a clock that only goes forward (stop.c).
double lac_seconds(void);

/// Whether what goes on shall end. Costs a look at a clock; the user's function is called ten times a second at most.
bool lac_context_is_interrupted(lac_context *ctx);

/// The same for work of the calling thread alone: LAC_ERR_INTERRUPTED, and a sentence that names the work, where it
/// shall end. ctx may be NULL: no function is asked. Work of many threads has a lac_stop (core/stop.h).
lac_status lac_context_look(lac_context *ctx, const char *work);

/// A context of the host that belongs to this one, for work that cannot be done where its arrays lie: itself where that
/// is the host with all of its kernels. Made when first asked for; borrowed.
lac_status lac_context_host(lac_context *ctx, lac_context **out);

/// Add a function to the trace of the current error; returns `status`.
lac_status lac_context_pass(lac_context *ctx, lac_status status, const char *function);

/// Raise an error of values that kernels have noted since the last one was raised (core/fault.h): among the first lines
/// of what users call, and the last of what waits for the device. Never waits. The library's own calls do not ask: they
/// would take an earlier error for one of theirs.
lac_status lac_context_faults(lac_context *ctx);

// Both macros expect `ctx`, `status` and a label `done:` that frees owned locals, which are NULL before the first
// macro.

#define LAC_TRY(expression)                          \
  do {                                               \
    status = (expression);                           \
    if (status != LAC_OK) {                          \
      (void)lac_context_pass(ctx, status, __func__); \
      goto done;                                     \
    }                                                \
  } while (0)

#define LAC_FAIL(code, ...)                                     \
  do {                                                          \
    status = (code); /* where an analyser sees it */            \
    (void)lac_context_fail(ctx, status, __func__, __VA_ARGS__); \
    goto done;                                                  \
  } while (0)

#define LAC_CHECK(condition, code, ...)              \
  do {                                               \
    if (!(condition)) LAC_FAIL((code), __VA_ARGS__); \
  } while (0)

/// OpenMP ends the process where it cannot make a thread: no more are asked for than any machine has use for.
enum { LAC_MAX_THREADS = 1024 };

/// The first line of every public function that needs a context, and of those that work for a public `function`.
#define LAC_CHECK_CONTEXT() LAC_CHECK_CONTEXT_OF(__func__)
#define LAC_CHECK_CONTEXT_OF(function) \
  LAC_CHECK(ctx, LAC_ERR_ARG, "%s: the context is NULL; open one with lac_context_create", function)

/// Take memory or fail: LAC_ALLOC(ptr, count) where ptr is typed and owned.
#define LAC_ALLOC(pointer, count)                                                                      \
  do {                                                                                                 \
    (pointer) = lac_calloc((size_t)(count), sizeof *(pointer));                                        \
    LAC_CHECK((pointer), LAC_ERR_MEMORY, "out of memory: %lld items of %zu bytes", (long long)(count), \
              sizeof *(pointer));                                                                      \
  } while (0)

#endif
