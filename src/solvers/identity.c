// SPDX-License-Identifier: Apache-2.0
/// @file identity.c
/// Which values a factor was made of.
///
/// Memory that the library owns changes only through functions that count a version, and its storage has a number that
/// is never used again: both being equal, the values are. Memory of others (NumPy, PyTorch, DLPack) changes without a
/// word and addresses come back, so that it is known by 128 bits of a hash, computed each time where the values lie.

#include "solvers/solver_impl.h"

lac_identity lac_identity_quick(const lac_array *values) {
  const lac_storage *s = values->storage;
  return (lac_identity){.storage = s->id, .version = s->id ? atomic_load(&s->version) : 0};
}

lac_status lac_identity_hash(lac_context *ctx, const lac_array *values, lac_identity *identity) {
  lac_status status = LAC_OK;

  LAC_TRY(ctx->kernels->hash(ctx, values, identity->hash));
  identity->has_hash = true;
done:
  return status;
}

bool lac_identity_same(const lac_identity *a, const lac_identity *b) {
  if (a->storage && a->storage == b->storage && a->version == b->version) return true;
  return a->has_hash && b->has_hash && a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1];
}
