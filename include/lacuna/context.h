// SPDX-License-Identifier: Apache-2.0
/// @file context.h
/// A context is one thread's door to a device: kernels, stream, threads and the sentence of the last error.
///
/// Contexts are cheap and are not shared between threads. Patterns, maps, solvers and factors are immutable and are.
///
/// A NULL context is refused with LAC_ERR_ARG; lac_context_error(NULL) has the sentence.

#ifndef LACUNA_CONTEXT_H
#define LACUNA_CONTEXT_H

#include "lacuna/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_context lac_context;

/// Open a context on a backend: "cpu" or "cuda". `device` is the ordinal of the CUDA device; the CPU takes 0 only.
/// Errors: LAC_ERR_UNSUPPORTED when the backend is not built in or finds no device; lac_context_error(NULL) says why.
LAC_API lac_status lac_context_create(const char *backend, int device, lac_context **out);

/// Close a context. Arrays, patterns and tapes' values made through it stay valid; tapes themselves must be gone.
LAC_API void lac_context_destroy(lac_context **ctx);

/// The sentence of the context's last error: what was called, what was expected, what came, the way out; "" if none.
/// With NULL: the same for this thread's last error without a context, such as a failed lac_context_create.
LAC_API const char *lac_context_error(const lac_context *ctx);

/// The chain of functions through which the last error came, innermost first: "spmm_infer < lac_tape_call < ...".
LAC_API const char *lac_context_trace(const lac_context *ctx);

/// The status of the last error; LAC_OK if none since lac_context_clear_error.
LAC_API lac_status lac_context_status(const lac_context *ctx);
LAC_API void lac_context_clear_error(lac_context *ctx);

/// Asked by what goes on for long, in the thread that called: iterations, orderings, factorisations, solves of many
/// columns, selected inverses, set-ups, estimates; no more than ten times a second, and as soon as the piece of work in
/// hand ends: an iteration, the columns of one front or band, a call of an engine or METIS. Anything but 0 ends the
/// call with LAC_ERR_INTERRUPTED. Nothing is kept of it, and the next call works. So a program may honour Ctrl-C. NULL:
/// nobody is asked.
typedef int (*lac_interrupt)(void *data);
LAC_API lac_status lac_context_set_interrupt(lac_context *ctx, lac_interrupt interrupt, void *data);

/// The sentence of the context's last warning since lac_context_clear_warning: what came out is doubtful, as the
/// solution of a nearly singular system is; "" if none. A warning is no error and stops nothing.
LAC_API const char *lac_context_warning(const lac_context *ctx);
LAC_API void lac_context_clear_warning(lac_context *ctx);

/// The backend's name, "cpu" or "cuda", and the device's ordinal; "" and -1 for NULL.
LAC_API const char *lac_context_backend(const lac_context *ctx);
LAC_API int lac_context_device(const lac_context *ctx);

/// How many threads the CPU kernels use. Default: all that OpenMP offers. The results do not depend on it, to the bit.
/// lac_context_threads(NULL) is 0.
LAC_API lac_status lac_context_set_threads(lac_context *ctx, int threads);
LAC_API int lac_context_threads(const lac_context *ctx);

/// The CUDA stream (a cudaStream_t) on which kernels run; NULL is the default stream. The CPU ignores it.
/// It stays the caller's and must live until the context is given another one or destroyed. An array belongs to the
/// stream under which it was made: another stream must wait for that one before it uses the array, and that one for the
/// other before the array is destroyed (by events, or lac_context_synchronize under each).
LAC_API lac_status lac_context_set_stream(lac_context *ctx, void *stream);

/// Wait until everything that was started through this context is done, and report what went wrong on the device.
LAC_API lac_status lac_context_synchronize(lac_context *ctx);

/// The names of the backends that this build contains, separated by spaces: "cpu" or "cpu cuda".
LAC_API const char *lac_backends(void);

#ifdef __cplusplus
}
#endif
#endif
