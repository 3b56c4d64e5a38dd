// SPDX-License-Identifier: Apache-2.0
/// @file context.h
/// A context is one thread's access to a device: kernels, stream, threads, and the sentence of the last error.
///
/// Contexts are cheap, and each belongs to one thread. Patterns, maps, solvers and factors are immutable and may be
/// shared between threads.
///
/// NULL: functions that return a status refuse a NULL context with LAC_ERR_ARG; lac_context_error(NULL) has the
/// sentence. Getters return "", 0, -1 or LAC_OK.

#ifndef LACUNA_CONTEXT_H
#define LACUNA_CONTEXT_H

#include "lacuna/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_context lac_context;

/// Open a context on a backend, "cpu" or "cuda". `device` is the ordinal of the CUDA device, and 0 for the CPU.
/// Ownership: the caller destroys *out.
/// The backend "cuda" is a library of its own, liblacuna_cuda.so, which is loaded by the first call that asks for it.
/// Errors: LAC_ERR_UNSUPPORTED where that library is missing or finds no device. On failure there is no context:
/// lac_context_error(NULL) has the sentence.
LAC_API lac_status lac_context_create(const char *backend, int device, lac_context **out);

/// Close a context; accepts NULL and leaves NULL. Arrays and patterns that were made through it stay valid. Tapes and
/// optimisers of the context must be destroyed before.
LAC_API void lac_context_destroy(lac_context **ctx);

// -- errors and warnings ---------------------------------------------------------------------------------------------

/// The sentence of the context's last error: the function, what was expected, what was given, and the way out; "" where
/// there was no error. Of NULL: the last error of this thread without a context, such as a failed lac_context_create.
/// Ownership: borrowed until the next call through the context.
LAC_API const char *lac_context_error(const lac_context *ctx);

/// The functions through which the last error came, innermost first: "spmm_infer < lac_tape_call < ...".
LAC_API const char *lac_context_trace(const lac_context *ctx);

/// The status of the last error, LAC_OK where there was none since lac_context_clear_error; and its removal.
LAC_API lac_status lac_context_status(const lac_context *ctx);
LAC_API void lac_context_clear_error(lac_context *ctx);

/// The sentence of the context's last warning since lac_context_clear_warning: a result is doubtful, for example the
/// solution of a nearly singular system; "" where there was none. A warning is no error, and ends no call.
LAC_API const char *lac_context_warning(const lac_context *ctx);
LAC_API void lac_context_clear_warning(lac_context *ctx);

/// Decide whether a long call goes on: a result other than 0 ends it with LAC_ERR_INTERRUPTED. Called in the thread of
/// the call.
typedef int (*lac_interrupt)(void *data);

/// Set the function that long calls ask whether they should go on, for example to honour Ctrl-C; NULL removes it.
/// Asked by iterations, orderings, factorisations, solves of many columns, selected inverses, set-ups and estimates, at
/// most ten times a second, whenever a piece of work ends: an iteration, the columns of one front or band, a call of an
/// engine or METIS. A call that is interrupted keeps nothing, and later calls work.
LAC_API lac_status lac_context_set_interrupt(lac_context *ctx, lac_interrupt interrupt, void *data);

// -- device, threads, stream -----------------------------------------------------------------------------------------

/// The backend's name, "cpu" or "cuda", and the device's ordinal. Of NULL: "" and -1.
LAC_API const char *lac_context_backend(const lac_context *ctx);
LAC_API int lac_context_device(const lac_context *ctx);

/// Set the number of threads of CPU kernels, and read it. Default: all that OpenMP offers. Results have the same bits
/// on any number of threads.
/// Errors: LAC_ERR_ARG for fewer than 1.
LAC_API lac_status lac_context_set_threads(lac_context *ctx, int threads);
LAC_API int lac_context_threads(const lac_context *ctx);

/// Set the CUDA stream (a cudaStream_t) on which kernels run; NULL is the default stream. The CPU ignores it.
/// Ownership: the stream stays the caller's, and must live until the context has another one or is destroyed.
/// An array belongs to the stream under which it was made. Another stream must wait for that stream before it uses the
/// array, and that stream must wait for the other before the array is destroyed: by events, or by
/// lac_context_synchronize under each.
LAC_API lac_status lac_context_set_stream(lac_context *ctx, void *stream);

/// Wait until all work that was started through this context is done, and report errors of the device and of values.
LAC_API lac_status lac_context_synchronize(lac_context *ctx);

/// Let errors of values belong to the device instead of the context: where threads take turns in one computation, each
/// through its own context, whichever calls next raises the error. Contexts that share errors share them with all such
/// contexts of their device. The CPU raises errors of values within the call.
///
/// On a CUDA device an error that depends on values (a zero pivot, a singular matrix) is found after its call has
/// returned: the results of that call are NaN, and the error comes out, once, of the next operator, program or solve
/// that is called through the context, of reading an array, or of lac_context_synchronize, in the words that name the
/// operator and the place. The first error wins; calls that were made before it came out raise no other.
LAC_API lac_status lac_context_share_errors(lac_context *ctx);

/// The names of the backends that are here, separated by spaces: "cpu", or "cpu cuda" where liblacuna_cuda.so can be
/// loaded, with or without a device. Ownership: borrowed until the next call by this thread.
LAC_API const char *lac_backends(void);

#ifdef __cplusplus
}
#endif
#endif
