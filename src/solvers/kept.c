// SPDX-License-Identifier: Apache-2.0
/// @file kept.c
/// The factors that a solver keeps: the last few, most recently used first, within its budget of bytes.
///
/// A backward, and whoever has only values, asks for the factor of these values again. A new factor may be refreshed
/// from a kept one. What others call takes the solver's lock, unless the solver ends.

#include "solvers/kept.h"

/// Whether a factor may be that of these values.
static bool kept_fits(const lac_factor *factor, const lac_array *values) {
  return factor->space == values->storage->space && lac_meta_same(&factor->meta, &values->meta) &&
         lac_factor_is_fresh(factor);
}

static void kept_drop_last(lac_solver *solver) {
  lac_factor **link = &solver->kept, *last;
  while (*link && (*link)->next) link = &(*link)->next;
  last = *link;
  if (!last) return;
  *link = NULL;
  solver->kept_count--;
  lac_object_release(last);
}

/// Let go of the oldest ones until the others fit the budget, with the partners they have by now. The last one stays
/// whatever its size, and drives nothing out: a backward wants it, and others are refreshed from it. The lock is held.
static void kept_fit(lac_solver *solver) {
  int64_t budget = solver->core->options.keep_bytes, bytes = 0, count = 0;
  solver->kept_bytes = 0;
  for (const lac_factor *f = solver->kept; f && count < LAC_KEPT_FACTORS; f = f->next, count++) {
    int64_t own = lac_factor_bytes(f) + lac_factor_partner_bytes(f);
    bool is_large = count == 0 && own > budget;
    if (!is_large && own > budget - bytes) break;
    if (!is_large) bytes += own;
    solver->kept_bytes += own;
  }
  while (solver->kept_count > count) kept_drop_last(solver);
}

/// Before another is made: let go of a last one that is beyond the budget, unless the next is refreshed from it. The
/// lock is held.
static void kept_make_room(lac_solver *solver) {
  lac_factor *last = solver->kept;
  if (!last || lac_factor_is_seed(last) || lac_factor_bytes(last) <= solver->core->options.keep_bytes) return;
  solver->kept = last->next;
  solver->kept_count--;
  lac_object_release(last);
  kept_fit(solver);
}

/// A kept factor moves to the front; retained. The lock is held.
static lac_factor *kept_move(lac_solver *solver, lac_factor **link) {
  lac_factor *factor = *link;
  *link = factor->next;
  factor->next = solver->kept;
  solver->kept = lac_factor_retain(factor);
  kept_fit(solver);
  return factor;
}

/// The kept factor of these values, which moves to the front; retained, or NULL. The lock is held.
static lac_factor *kept_find(lac_solver *solver, const lac_array *values, const lac_identity *identity) {
  for (lac_factor **link = &solver->kept; *link; link = &(*link)->next) {
    if (kept_fits(*link, values) && lac_identity_same(&(*link)->identity, identity)) return kept_move(solver, link);
  }
  return NULL;
}

/// Factors whose values have changed since will never be asked for again. The lock is held.
static void kept_drop_stale(lac_solver *solver) {
  lac_factor **link = &solver->kept;
  while (*link) {
    lac_factor *factor = *link;
    if (lac_factor_is_fresh(factor)) {
      link = &factor->next;
      continue;
    }
    *link = factor->next;
    solver->kept_count--;
    lac_object_release(factor);
  }
}

/// Keep a factor at the front. The lock is held.
static void kept_add(lac_solver *solver, lac_factor *factor) {
  if (solver->core->options.keep_bytes == 0) return;
  kept_drop_stale(solver);
  factor->next = solver->kept;
  solver->kept = lac_factor_retain(factor);
  solver->kept_count++;
  kept_fit(solver);
}

static lac_factor *kept_take(lac_solver *solver, const lac_array *values, const lac_identity *identity) {
  pthread_mutex_lock(&solver->lock);
  lac_factor *factor = kept_find(solver, values, identity);
  pthread_mutex_unlock(&solver->lock);
  return factor;
}

/// The kept factors whose values look like these at a glance, retained; how many they are.
static int kept_alike(lac_solver *solver, const lac_array *values, const lac_identity *identity,
                      lac_factor *alike[LAC_KEPT_FACTORS]) {
  int count = 0;
  pthread_mutex_lock(&solver->lock);
  for (lac_factor *f = solver->kept; f && count < LAC_KEPT_FACTORS; f = f->next) {
    bool is_alike = f->identity.has_glance && f->identity.glance == identity->glance;
    if (is_alike && kept_fits(f, values)) alike[count++] = lac_factor_retain(f);
  }
  pthread_mutex_unlock(&solver->lock);
  return count;
}

/// A factor that may have been let go of meanwhile; retained.
static lac_factor *kept_again(lac_solver *solver, lac_factor *factor) {
  pthread_mutex_lock(&solver->lock);
  lac_factor **link = &solver->kept;
  while (*link && *link != factor) link = &(*link)->next;
  factor = *link ? kept_move(solver, link) : lac_factor_retain(factor);
  pthread_mutex_unlock(&solver->lock);
  return factor;
}

/// By all bits, where there are factors whose values look like these.
static lac_status kept_recall_alike(lac_context *ctx, lac_solver *solver, const lac_array *values,
                                    lac_identity *identity, lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *alike[LAC_KEPT_FACTORS] = {NULL};
  int count = kept_alike(solver, values, identity, alike);
  lac_identity own;

  if (count > 0) LAC_TRY(lac_identity_hash(ctx, values, identity));
  for (int i = 0; i < count && !*out; i++) {
    LAC_TRY(lac_factor_bits(ctx, alike[i], &own));
    if (lac_identity_same(&own, identity)) *out = kept_again(solver, alike[i]);
  }
done:
  for (int i = 0; i < count; i++) lac_object_release(alike[i]);
  return status;
}

lac_status lac_kept_recall(lac_context *ctx, lac_solver *solver, const lac_array *values, lac_identity *identity,
                           lac_factor **out) {
  lac_status status = LAC_OK;

  *identity = lac_identity_quick(values);
  if (solver->core->options.keep_bytes == 0) goto done;
  if (identity->storage) *out = kept_take(solver, values, identity);
  if (*out) goto done;
  LAC_TRY(lac_identity_glance(ctx, values, identity));
  if (identity->has_hash) *out = kept_take(solver, values, identity);
  if (identity->has_glance) LAC_TRY(kept_recall_alike(ctx, solver, values, identity, out));
done:
  return status;
}

lac_factor *lac_kept_seed(lac_solver *solver, const lac_array *values) {
  lac_factor *seed = NULL;
  pthread_mutex_lock(&solver->lock);
  for (lac_factor *f = solver->kept; f && !seed; f = f->next) {
    bool suits = f->space == values->storage->space && lac_meta_same(&f->meta, &values->meta);
    if (suits && lac_factor_is_seed(f)) seed = lac_factor_retain(f);
  }
  kept_make_room(solver);
  pthread_mutex_unlock(&solver->lock);
  return seed;
}

lac_factor *lac_kept_share(lac_solver *solver, const lac_array *values, lac_factor *made) {
  pthread_mutex_lock(&solver->lock);
  lac_factor *factor = kept_find(solver, values, &made->identity);
  if (!factor) kept_add(solver, made);
  pthread_mutex_unlock(&solver->lock);
  if (!factor) return made;
  lac_object_release(made);
  return factor;
}

void lac_kept_drop(lac_solver *solver) {
  while (solver->kept) {
    lac_factor *first = solver->kept;
    solver->kept = first->next;
    lac_object_release(first);
  }
}
