// SPDX-License-Identifier: Apache-2.0
/// @file object.h
/// What patterns, maps, buffers, partitions, solvers and factors have in common: a count, a name, a way to go.
///
/// Objects are immutable once built (caches fill lazily under a lock) and may be held from any thread. A lac_object is
/// the first member of each such struct, so that calls and tapes hold any of them alike.

#ifndef LACUNA_CORE_OBJECT_H
#define LACUNA_CORE_OBJECT_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct lac_object lac_object;

/// One static instance for each kind of object; its address is the kind.
typedef struct lac_kind {
  const char *name;
  void (*destroy)(lac_object *object);
} lac_kind;

struct lac_object {
  const lac_kind *kind;
  int64_t id;  // never used again in this process
  _Atomic int64_t holders;
  _Atomic(lac_object *) kept;  // what is kept with it (lac_object_keep); let go before the object goes
};

/// Start a new object's life with one holder.
void lac_object_init(lac_object *object, const lac_kind *kind);

/// One more holder; accepts NULL; returns its argument. Objects are immutable, so const callers may hold them too.
void *lac_object_retain(const void *object);

/// One holder less; the last one destroys. Accepts NULL.
void lac_object_release(const void *object);

/// What is kept with an object, borrowed; NULL where nothing is.
lac_object *lac_object_kept(const void *object);

/// Keep `made` with an object for the rest of its life, or let go of `made` where something is kept already; returns
/// what is kept, borrowed. What is kept must not hold the object: neither would ever go.
lac_object *lac_object_keep(const void *object, lac_object *made);

#endif
