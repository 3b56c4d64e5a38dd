// SPDX-License-Identifier: Apache-2.0
/// @file sized.c
/// Structs whose first field is their size.

#include "core/sized.h"

#include <string.h>

// No struct of the library will be as large: a larger size is memory that was not initialised.
enum { SIZED_MOST = 1 << 16 };

/// The bytes that a struct of the caller's has.
static size_t sized_bytes(lac_sized type, const void *given) {
  size_t size;
  memcpy(&size, given, sizeof size);
  return size ? size : type.first;
}

lac_status lac_sized_check(lac_context *ctx, const char *function, lac_sized type, const void *out) {
  lac_status status = LAC_OK;
  size_t size;

  LAC_CHECK(out, LAC_ERR_ARG, "%s: the %s is NULL", function, type.name);
  size = sized_bytes(type, out);
  LAC_CHECK(size >= type.first && size <= SIZED_MOST, LAC_ERR_ARG,
            "%s: the size of the %s is %zu; initialise the struct with {0}, or its size with sizeof(%s)", function,
            type.name, size, type.name);
done:
  return status;
}

lac_status lac_sized_take(lac_context *ctx, const char *function, lac_sized type, const void *given, void *out) {
  lac_status status = LAC_OK;
  const unsigned char *bytes = given;
  size_t size;

  memset(out, 0, type.known);
  if (given) {
    LAC_TRY(lac_sized_check(ctx, function, type, given));
    size = sized_bytes(type, given);
    for (size_t i = type.known; i < size; i++) {
      LAC_CHECK(!bytes[i], LAC_ERR_ARG,
                "%s: the %s has %zu bytes, this library knows %zu of them, and byte %zu is not zero: the program was "
                "compiled for a later version of the library; run it with that one, or leave the new options at zero",
                function, type.name, size, type.known, i);
    }
    memcpy(out, given, size < type.known ? size : type.known);
  }
  memcpy(out, &type.known, sizeof type.known);
done:
  return status;
}

void lac_sized_give(lac_sized type, const void *report, void *out) {
  const size_t head = sizeof(size_t), size = sized_bytes(type, out), both = size < type.known ? size : type.known;

  memcpy((char *)out + head, (const char *)report + head, both - head);
  if (size > type.known) memset((char *)out + type.known, 0, size - type.known);
}
