// SPDX-License-Identifier: Apache-2.0
/// @file partner.c
/// Partners: factors of the same values by another kind, which serve where a factor cannot.

#include "solvers/solver_impl.h"

const lac_solver_table *lac_partner_direct(const lac_factor *factor, lac_solver_options *options) {
  extern const lac_solver_table lac_kind_direct;
  (void)factor, (void)options;
  return &lac_kind_direct;
}

static lac_status partner_make(lac_context *ctx, lac_factor *f, const lac_solver_table *kind,
                               const lac_solver_options *options, lac_shortage *shortage) {
  lac_status status = LAC_OK;
  lac_solver_core *core = NULL;
  lac_factor *partner = NULL;
  lac_linear a;

  LAC_CHECK(f->core->rows == f->core->cols, LAC_ERR_SHAPE,
            "lac_solver_factor: a matrix of %lld x %lld has no direct factor, determinant or inverse",
            (long long)f->core->rows, (long long)f->core->cols);
  a = lac_linear_matrix(f->core->pattern, f->values);
  LAC_TRY(lac_core_create(ctx, kind, f->core->pattern, options, "asked for", &core));
  core->counts = f->core->counts;  // f holds its core and the partner
  LAC_TRY(lac_factor_make(ctx, "lac_solver_factor", core, &a, NULL, false, shortage, &partner));
  atomic_store(&f->partner, partner);
  atomic_fetch_add(&f->core->counts->factorisations, 1);
done:
  lac_object_release(core);
  return status;
}

lac_status lac_factor_partner(lac_context *ctx, const lac_factor *factor, lac_shortage *shortage,
                              const lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *f = (lac_factor *)factor;  // its partner comes under its lock; what it is does not change
  lac_solver_options options = f->core->options;
  const lac_solver_table *kind = f->table->partner ? f->table->partner(f, &options) : NULL;

  *out = NULL;
  if (shortage) *shortage = LAC_SHORT_OF_NOTHING;
  if (!kind) return LAC_OK;
  pthread_mutex_lock(&f->lock);
  status = lac_factor_require_fresh(ctx, "lac_solver_factor", f);  // whether there is a partner already or not
  if (status == LAC_OK && !f->partner) status = partner_make(ctx, f, kind, &options, shortage);
  if (status == LAC_OK) *out = f->partner;
  pthread_mutex_unlock(&f->lock);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

// Without the lock, which is held for as long as a partner is being made.
int64_t lac_factor_partner_bytes(const lac_factor *factor) {
  const lac_factor *partner = atomic_load(&factor->partner);
  return partner ? lac_factor_bytes(partner) + lac_factor_partner_bytes(partner) : 0;
}
