// SPDX-License-Identifier: Apache-2.0
/// @file object.c
/// Counted objects.

#include "core/object.h"

#include <stddef.h>

static _Atomic int64_t object_ids;

void lac_object_init(lac_object *object, const lac_kind *kind) {
  object->kind = kind;
  object->id = atomic_fetch_add_explicit(&object_ids, 1, memory_order_relaxed) + 1;
  atomic_init(&object->holders, 1);
}

void *lac_object_retain(const void *object) {
  lac_object *o = (lac_object *)object;
  if (o) (void)atomic_fetch_add_explicit(&o->holders, 1, memory_order_relaxed);
  return o;
}

void lac_object_release(const void *object) {
  lac_object *o = (lac_object *)object;
  if (o && atomic_fetch_sub_explicit(&o->holders, 1, memory_order_acq_rel) == 1) o->kind->destroy(o);
}
