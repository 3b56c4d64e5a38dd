// SPDX-License-Identifier: Apache-2.0
/// @file cg.c
/// Conjugate gradients for Hermitian positive definite A and M (Hestenes and Stiefel 1952).
///
///     z = M^-1 r      beta = (r, z) / (r, z)_old      or, flexible, -(q, z) / (p, q)      p = z + beta p
///     q = A p         alpha = (r, z) / (p, q)         x += alpha p      r -= alpha q
///
/// The flexible beta (Polak and Ribiere; Notay 2000) needs no vector more: r - r_old is -alpha q. It keeps the last two
/// directions conjugate where M varies. Works in 3 vectors, 4 with a preconditioner; where memory is scarce q is not
/// kept while z is needed, unless it is flexible, and 3 are enough. x is the last iterate, whose error
/// is the smallest in the norm of A.

#include "solvers/krylov/frame.h"

enum { R, Q };  // like b
enum { P, Z };  // like x

static lac_status cg_iterate(krylov *k, bool is_flexible, bool is_first) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool has_m = krylov_is_preconditioned(k);
  lac_array *x = k->job->x, *r = k->r[R], *q = k->r[Q], *p = k->v[P];
  lac_array *z = !has_m ? r : k->v_count > Z ? k->v[Z] : q;
  lac_column_step step = !has_m ? LAC_STEP_cg_plain : is_flexible ? LAC_STEP_cg_flexible : LAC_STEP_cg_beta;

  k->numbers.iteration = is_first ? 0 : 1;
  if (has_m) {
    LAC_TRY(krylov_precondition(k, r, z));
    LAC_TRY(
        krylov_pass(k, is_flexible && !is_first ? 2 : 1,
                    (lac_column_op[]){{LAC_COLUMN_DOT, LAC_CG_NEW_RZ, 1, r, z}, {LAC_COLUMN_DOT, LAC_CG_QZ, 1, q, z}}));
  }
  LAC_TRY(krylov_step(k, step));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_TURN, LAC_CG_BETA, 1, z, p}));
  LAC_TRY(krylov_product(k, p, q));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_DOT, LAC_CG_PQ, 1, p, q}));
  LAC_TRY(krylov_step(k, LAC_STEP_cg_alpha));
  LAC_TRY(krylov_pass(k, 3,
                      (lac_column_op[]){{LAC_COLUMN_ADD, LAC_CG_ALPHA, 1, p, x},
                                        {LAC_COLUMN_ADD, LAC_CG_ALPHA, -1, q, r},
                                        {LAC_COLUMN_DOT, LAC_SLOT_SQUARE, 1, r, r}}));
  LAC_TRY(krylov_step(k, LAC_STEP_cg_residual));
done:
  return status;
}

static lac_status cg_repeat(krylov *k, bool is_flexible) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool goes_on = true;
  for (bool is_first = true; goes_on; is_first = false) {
    LAC_TRY(cg_iterate(k, is_flexible, is_first));
    LAC_TRY(krylov_end(k, &goes_on));
  }
done:
  return status;
}

static lac_status cg_cycle(krylov *k) { return cg_repeat(k, false); }
static lac_status flexible_cycle(krylov *k) { return cg_repeat(k, true); }

static lac_status cg_run(lac_context *ctx, const lac_krylov_job *job, lac_solve_report *report) {
  krylov_method method = {
      2, job->m.apply && !job->saves_memory ? 2 : 1, LAC_CG_SLOTS, krylov_window(job), 0, cg_cycle, false};
  return krylov_run(ctx, job, &method, report);
}

static lac_status flexible_run(lac_context *ctx, const lac_krylov_job *job, lac_solve_report *report) {
  krylov_method method = {2, job->m.apply ? 2 : 1, LAC_CG_SLOTS, krylov_window(job), 0, flexible_cycle, false};
  return krylov_run(ctx, job, &method, report);
}

const lac_krylov_table lac_krylov_cg = {
    .name = "cg", .needs_hermitian = true, .flexible = &lac_krylov_flexible_cg, .run = cg_run};
const lac_krylov_table lac_krylov_flexible_cg = {.name = "flexible_cg",
                                                 .needs_hermitian = true,
                                                 .is_flexible = true,
                                                 .flexible = &lac_krylov_flexible_cg,
                                                 .run = flexible_run};
