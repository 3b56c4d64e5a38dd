// SPDX-License-Identifier: Apache-2.0
/// @file sized.h
/// Structs whose first field is their size: options that come in, reports that go out.
///
/// Caller and library may have been compiled with different versions of a struct, which differ by fields at its end.
/// The size says which version the caller has; 0 stands for the first one.

#ifndef LACUNA_CORE_SIZED_H
#define LACUNA_CORE_SIZED_H

#include <stddef.h>

#include "core/context_impl.h"

/// A struct as the library knows it.
typedef struct lac_sized {
  const char *name;
  size_t first;  // bytes of its first version
  size_t known;  // bytes of this one
} lac_sized;

/// The sizes of a type; `last` is the last field of its first version, and stays so when others follow.
#define LAC_SIZED(type, last) \
  ((lac_sized){.name = #type, .first = offsetof(type, last) + sizeof(((type *)0)->last), .known = sizeof(type)})

/// Options as the library knows them, with zero in fields that the caller does not know of; `given` may be NULL. Refuse
/// what the library does not know of, unless it is zero. For `function`.
lac_status lac_sized_take(lac_context *ctx, const char *function, lac_sized type, const void *given, void *out);

/// Refuse a report of the caller's whose size cannot be, or that is NULL. For `function`.
lac_status lac_sized_check(lac_context *ctx, const char *function, lac_sized type, const void *out);

/// Hand out as much of a report as the caller has room for, where lac_sized_check has passed; its size stays. What the
/// library does not know of is zero.
void lac_sized_give(lac_sized type, const void *report, void *out);

#endif
