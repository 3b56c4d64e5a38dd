// SPDX-License-Identifier: Apache-2.0
/// @file identity.c
/// Which values a factor was made of.
///
/// Memory that the library owns changes only through functions that count a version, and its storage has a number that
/// is never used again: both being equal, the values are. Memory of others (NumPy, PyTorch, DLPack) changes without a
/// word and addresses come back, so that it is known by 128 bits of a hash, computed each time where the values lie.
/// Values that were not seen before differ from the others at a glance, in a few hundred of their words; the pass over
/// all of them is made where a glance finds no difference.

#include "core/numbers/random.h"
#include "solvers/solver_impl.h"

enum { GLANCE_WORDS = 256, GLANCE_FROM = 1 << 16 };  // words that are read, and the fewest that there are

lac_identity lac_identity_quick(const lac_array *values) {
  const lac_storage *s = values->storage;
  return (lac_identity){.storage = s->id, .version = s->id ? atomic_load(&s->version) : 0};
}

lac_status lac_identity_glance(lac_context *ctx, const lac_array *values, lac_identity *identity) {
  uint64_t words = lac_array_bytes(values) / sizeof(uint32_t);
  const uint32_t *data = values->storage->data;

  if (words < GLANCE_FROM || !lac_context_is_host(ctx)) return lac_identity_hash(ctx, values, identity);
  for (uint64_t i = 0; i < GLANCE_WORDS; i++) {
    identity->glance = lac_random_mix(identity->glance ^ data[lac_random_bits(6, i) % words]);
  }
  identity->has_glance = true;
  return LAC_OK;
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

// -- of a factor -----------------------------------------------------------------------------------------------------

lac_status lac_factor_identify(lac_context *ctx, lac_factor *f, const lac_array *values, const lac_identity *known) {
  lac_status status = LAC_OK;

  f->identity = known ? *known : lac_identity_quick(values);
  if ((!f->values || f->loan || f->core->blocks) && !f->identity.has_hash)
    LAC_TRY(lac_identity_hash(ctx, values, &f->identity));
done:
  return status;
}

bool lac_factor_is_fresh(const lac_factor *f) {
  return !f->shares_values || atomic_load(&f->values->storage->version) == f->version;
}

lac_status lac_factor_require_fresh(lac_context *ctx, const char *function, const lac_factor *f) {
  lac_status status = LAC_OK;

  LAC_CHECK(lac_factor_is_fresh(f), LAC_ERR_STALE,
            "%s: the values have changed since they were factored, and the factor shares them; factor them again "
            "(lac_solver_factor), or factor a copy (lac_array_clone)",
            function);
done:
  return status;
}

lac_status lac_factor_values(lac_context *ctx, const lac_factor *f, lac_array **out) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_factor_require_fresh(ctx, __func__, f));
  *out = lac_array_retain(f->values);
done:
  return status;
}

lac_status lac_factor_bits(lac_context *ctx, lac_factor *f, lac_identity *out) {
  lac_status status = LAC_OK;

  pthread_mutex_lock(&f->lock);
  *out = f->identity.has_hash ? f->identity : f->late;
  if (!out->has_hash && f->values) status = lac_identity_hash(ctx, f->values, &f->late), *out = f->late;
  pthread_mutex_unlock(&f->lock);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

lac_status lac_factor_matches(lac_context *ctx, const char *function, const lac_factor *factor, const lac_array *values,
                              int *matches) {
  lac_status status = LAC_OK;
  lac_identity identity, own;
  lac_array *flat = NULL;

  LAC_TRY(lac_solver_require_here(ctx, function, "values", values));
  LAC_TRY(lac_core_flatten(ctx, function, factor->core, values, &flat));
  *matches = flat->meta.dtype == factor->meta.dtype && lac_factor_same_shape(&factor->meta, &flat->meta, 1) &&
             lac_factor_is_fresh(factor);
  if (!*matches) goto done;
  identity = lac_identity_quick(flat);
  if (lac_identity_same(&factor->identity, &identity)) goto done;
  LAC_TRY(lac_identity_hash(ctx, flat, &identity));
  LAC_TRY(lac_factor_bits(ctx, (lac_factor *)factor, &own));
  *matches = lac_identity_same(&own, &identity);
done:
  lac_array_destroy(&flat);
  return status;
}
