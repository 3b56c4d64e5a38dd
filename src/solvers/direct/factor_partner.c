// SPDX-License-Identifier: Apache-2.0
/// @file factor_partner.c
/// Who serves where a factor cannot.
///
/// Enlarged pivots are made good for by refinement in a solve, but a determinant or an inverse of such a factor is that of
/// another matrix; and some methods only solve. Then the same values are factored once more, by
///
///     an iterative method           ->  the built-in choice of direct ones
///     an engine                     ->  the built-in choice
///     a method without the slots    ->  LU inside supernodes
///     L D L^H                       ->  LU inside supernodes, which may match rows with other columns
///     enlarged pivots, bad results  ->  LU with threshold partial pivoting, and at last strict partial pivoting

#include "solvers/krylov/iterative.h"

// The options of the partner; false: there is none.
static bool partner_options(const lac_factor *f, lac_solver_options *options) {
  const double usual = lac_solver_options_defaults().pivot_tolerance;
  *options = f->core->options;
  if (f->iterative) {
    options->method = LAC_METHOD_AUTO;
    return true;
  }
  if (f->table == &lac_solver_pivoting_lu) {
    options->method = LAC_METHOD_PIVOTING_LU;
    options->pivot_tolerance = options->pivot_tolerance < usual ? usual : 1;
    return f->core->options.pivot_tolerance < 1;
  }
  bool is_able = f->table->logdet && f->table->selected_inverse && f->finding.perturbed == 0;
  if (options->pivot_tolerance < usual) options->pivot_tolerance = usual;
  if (options->method >= LAC_METHOD_CHOLMOD && !is_able) {
    options->method = LAC_METHOD_AUTO;
  } else if ((f->finding.perturbed == 0 && !is_able) || f->table == &lac_solver_ldlt) {
    options->method = LAC_METHOD_LU;
  } else {
    options->method = LAC_METHOD_PIVOTING_LU;
  }
  return true;
}

static lac_status partner_make(lac_context *ctx, lac_factor *f, const lac_solver_options *options) {
  lac_status status = LAC_OK;
  lac_solver_core *core = NULL;
  lac_array *values = NULL;
  lac_factor *partner = NULL;

  if (f->iterative) {
    LAC_CHECK(f->core->pattern->rows == f->core->pattern->cols, LAC_ERR_SHAPE,
              "lac_solver_factor: a matrix of %lld x %lld has no direct factor, determinant or inverse",
              (long long)f->core->pattern->rows, (long long)f->core->pattern->cols);
    LAC_TRY(lac_iterative_require_fresh(ctx, "lac_solver_factor", f));
    LAC_TRY(lac_solver_require_cpu(ctx, "lac_solver_factor", f->iterative->values));
  }
  LAC_TRY(lac_factor_values(ctx, f, &values));
  LAC_TRY(lac_solver_core_create(ctx, f->core->pattern, options, &core));
  LAC_TRY(lac_factor_make(ctx, core, values, NULL, &partner));
  atomic_store(&f->partner, partner);
  atomic_fetch_add(&f->core->factorisations, 1);
done:
  lac_array_destroy(&values);
  lac_object_release(core);
  return status;
}

lac_status lac_factor_partner(lac_context *ctx, const lac_factor *factor, const lac_factor **out) {
  lac_status status = LAC_OK;
  lac_factor *f = (lac_factor *)factor;  // its partner comes under its lock; what it is does not change
  lac_solver_options options;

  *out = NULL;
  if (!partner_options(f, &options)) return LAC_OK;
  pthread_mutex_lock(&f->lock);
  if (f->iterative)
    status = lac_iterative_require_fresh(ctx, __func__, f);  // whether there is a partner already or not
  if (status == LAC_OK && !f->partner) status = partner_make(ctx, f, &options);
  if (status == LAC_OK) *out = f->partner;
  pthread_mutex_unlock(&f->lock);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

// Without the lock, which is held for as long as a partner is being made.
int64_t lac_factor_partner_bytes(const lac_factor *factor) {
  const lac_factor *partner = atomic_load(&factor->partner);
  return partner ? lac_factor_bytes(partner) + lac_factor_partner_bytes(partner) : 0;
}
