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
  atomic_init(&object->kept, NULL);
}

void *lac_object_retain(const void *object) {
  lac_object *o = (lac_object *)object;
  if (o) (void)atomic_fetch_add_explicit(&o->holders, 1, memory_order_relaxed);
  return o;
}

void lac_object_release(const void *object) {
  lac_object *o = (lac_object *)object;
  if (!o || atomic_fetch_sub_explicit(&o->holders, 1, memory_order_acq_rel) > 1) return;
  lac_object_release(lac_object_kept(o));
  o->kind->destroy(o);
}

lac_object *lac_object_kept(const void *object) {
  return atomic_load_explicit(&((lac_object *)object)->kept, memory_order_acquire);
}

lac_object *lac_object_keep(const void *object, lac_object *made) {
  lac_object *kept = NULL;

  if (atomic_compare_exchange_strong(&((lac_object *)object)->kept, &kept, made)) return made;
  lac_object_release(made);
  return kept;
}
