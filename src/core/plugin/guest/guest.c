// SPDX-License-Identifier: Apache-2.0
/// @file guest.c
/// Each function of host.def once more, as a call of the host.

#include "core/plugin/guest/guest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const lac_host *guest_host;

bool lac_guest_start(const lac_host *host) {
  static const size_t sizes[] = LAC_HOST_SIZES;
  if (strcmp(host->version, LACUNA_VERSION) != 0 || host->size != sizeof *host) return false;
  if (memcmp(host->sizes, sizes, sizeof sizes) != 0) return false;
  guest_host = host;
  return true;
}

#define LAC_HOST_GIVES(type, name, parameters, arguments) \
  type name parameters { return guest_host->name arguments; }
#define LAC_HOST_DOES(name, parameters, arguments) \
  void name parameters { guest_host->name arguments; }
#include "core/plugin/host.def"
#undef LAC_HOST_GIVES
#undef LAC_HOST_DOES

lac_status lac_context_fail(lac_context *ctx, lac_status status, const char *function, const char *format, ...) {
  char text[LAC_SENTENCE_SIZE];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return guest_host->fail(ctx, status, function, "%s", text);
}

void lac_context_warn(lac_context *ctx, const char *format, ...) {
  char text[LAC_SENTENCE_SIZE];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  guest_host->warn(ctx, "%s", text);
}
