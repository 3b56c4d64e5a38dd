// SPDX-License-Identifier: Apache-2.0
/// @file context.c
/// Contexts, and the sentences of errors.

#include "core/backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/object.h"
#include "lacuna/lacuna.h"

#ifndef LACUNA_VERSION
#define LACUNA_VERSION "0.1.0"
#endif

/// Keeps the error of functions that have no context: those that fail to make one, or were given none.
static _Thread_local lac_context context_none;

static lac_context *context_book(lac_context *ctx) { return ctx ? ctx : &context_none; }

lac_status lac_context_fail(lac_context *ctx, lac_status status, const char *function, const char *format, ...) {
  lac_context *book = context_book(ctx);
  va_list arguments;

  book->status = status;
  va_start(arguments, format);
  (void)vsnprintf(book->sentence, sizeof book->sentence, format, arguments);
  va_end(arguments);
  (void)snprintf(book->trace, sizeof book->trace, "%s", function);
  return status;
}

lac_status lac_context_pass(lac_context *ctx, lac_status status, const char *function) {
  lac_context *book = context_book(ctx);
  if (book->status != status) {  // a function returned a status without a sentence
    return lac_context_fail(ctx, status, function, "%s: failed with %s and no further word", function,
                            lac_status_name(status));
  }
  size_t used = strlen(book->trace);
  (void)snprintf(book->trace + used, sizeof book->trace - used, " < %s", function);
  return status;
}

lac_status lac_context_create(const char *backend, int device, lac_context **out) {
  lac_context *const ctx = NULL;
  lac_status status = LAC_OK;
  lac_context *made = NULL;

  LAC_CHECK(backend && out, LAC_ERR_ARG, "lac_context_create: %s is NULL", backend ? "out" : "backend");
  LAC_ALLOC(made, 1);
  LAC_TRY(lac_backend_take(ctx, __func__, backend, &made->backend));
  made->space = &lac_host_space;
  made->device = device;
  made->threads = 1;
  made->kernels = made->backend->kernels;
  status = made->backend->open(made, device);
  if (status != LAC_OK) {
    (void)lac_context_fail(NULL, status, "open", "lac_context_create: backend '%s', device %d: %s", backend, device,
                           made->sentence[0] ? made->sentence : lac_status_name(status));
    LAC_TRY(status);
  }
  *out = made, made = NULL;
done:
  lac_free(made);
  return status;
}

lac_status lac_context_host(lac_context *ctx, lac_context **out) {
  lac_status status = LAC_OK;

  if (ctx->space->is_host && ctx->kernels == ctx->backend->kernels) {
    *out = ctx;
    goto done;
  }
  if (!ctx->host) status = lac_context_create(lac_host_space.backend, 0, &ctx->host);
  LAC_CHECK(status == LAC_OK, status, "%s", lac_context_error(NULL));
  if (ctx->asked_threads) ctx->host->threads = ctx->asked_threads;
  ctx->host->interrupt = ctx->interrupt, ctx->host->interrupt_data = ctx->interrupt_data;
  ctx->host->stir = ctx->stir;
  *out = ctx->host;
done:
  return status;
}

void lac_context_destroy(lac_context **ctx) {
  if (!ctx || !*ctx) return;
  lac_context_destroy(&(*ctx)->host);
  lac_object_release((*ctx)->kept);
  (*ctx)->backend->close(*ctx);
  lac_free((*ctx)->attached);
  lac_free(*ctx);
  *ctx = NULL;
}

const char *lac_context_error(const lac_context *ctx) { return ctx ? ctx->sentence : context_none.sentence; }
const char *lac_context_trace(const lac_context *ctx) { return ctx ? ctx->trace : context_none.trace; }
lac_status lac_context_status(const lac_context *ctx) { return ctx ? ctx->status : context_none.status; }

void lac_context_clear_error(lac_context *ctx) {
  lac_context *book = context_book(ctx);
  book->status = LAC_OK;
  book->sentence[0] = book->trace[0] = '\0';
}

lac_status lac_context_set_interrupt(lac_context *ctx, lac_interrupt interrupt, void *data) {
  lac_status status = LAC_OK;
  LAC_CHECK_CONTEXT();
  ctx->interrupt = interrupt;
  ctx->interrupt_data = data;
done:
  return status;
}

const char *lac_context_warning(const lac_context *ctx) { return ctx ? ctx->warning : ""; }

void lac_context_clear_warning(lac_context *ctx) {
  if (ctx) ctx->warning[0] = '\0';
}

void lac_context_warn(lac_context *ctx, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(ctx->warning, sizeof ctx->warning, format, list);
  va_end(list);
}

const char *lac_context_backend(const lac_context *ctx) { return ctx ? ctx->backend->name : ""; }
int lac_context_device(const lac_context *ctx) { return ctx ? ctx->device : -1; }

lac_status lac_context_set_threads(lac_context *ctx, int threads) {
  lac_status status = LAC_OK;
  LAC_CHECK_CONTEXT();
  LAC_CHECK(threads >= 1 && threads <= LAC_MAX_THREADS, LAC_ERR_ARG,
            "lac_context_set_threads: threads is %d; give 1 to %d", threads, LAC_MAX_THREADS);
  ctx->threads = ctx->asked_threads = threads;
done:
  return status;
}

int lac_context_threads(const lac_context *ctx) { return ctx ? ctx->threads : 0; }

lac_status lac_context_set_stream(lac_context *ctx, void *stream) {
  lac_status status = LAC_OK;
  LAC_CHECK_CONTEXT();
  ctx->stream = stream;
done:
  return status;
}

lac_status lac_context_synchronize(lac_context *ctx) {
  lac_status status = LAC_OK;
  LAC_CHECK_CONTEXT();
  LAC_TRY(ctx->backend->synchronize(ctx));
  LAC_TRY(lac_context_faults(ctx));
done:
  return status;
}

lac_status lac_context_faults(lac_context *ctx) { return ctx->backend->faults ? ctx->backend->faults(ctx) : LAC_OK; }

lac_status lac_context_share_errors(lac_context *ctx) {
  lac_status status = LAC_OK;
  LAC_CHECK_CONTEXT();
  if (ctx->backend->share_faults) ctx->backend->share_faults(ctx);
done:
  return status;
}

const char *lac_version(void) { return LACUNA_VERSION; }
