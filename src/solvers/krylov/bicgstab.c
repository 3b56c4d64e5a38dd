// SPDX-License-Identifier: Apache-2.0
/// @file bicgstab.c
/// BiCGSTAB for any square A, preconditioned from the right (van der Vorst 1992).
///
///     beta = (r0, r) / (r0, r)_old alpha / omega       p = r + beta (p - omega v)       y = M^-1 p       v = A y
///     alpha = (r0, r) / (r0, v)                        x += alpha y                     s = r - alpha v
///     y = M^-1 s    t = A y                            omega = (t, s) / (t, t)          x += omega y   r = s - omega t
///
/// Where (r0, r) or (t, s) vanishes a cycle ends and the next begins with another r0. The residual is not monotone: the
/// x of the smallest (to a factor of 0.7) is kept. Works in 6 vectors, 7 with a preconditioner; s is r.

#include "solvers/krylov/frame.h"

enum { R, T, R0, V };  // like b
enum { P, BEST, Y };   // like x

/// x and r move along y and its product.
static lac_status bicgstab_move(krylov *k, const lac_array *y, const lac_array *product, int x_slot, int r_slot,
                                int dots) {
  lac_array *r = k->r[R];
  return krylov_pass(k, 2 + dots,
                     (lac_column_op[]){{LAC_COLUMN_ADD, x_slot, 1, y, k->job->x},
                                       {LAC_COLUMN_ADD, r_slot, -1, product, r},
                                       {LAC_COLUMN_DOT, LAC_SLOT_SQUARE, 1, r, r},
                                       {LAC_COLUMN_DOT, LAC_BICGSTAB_NEW_RHO, 1, k->r[R0], r}});
}

/// *y = M^-1 from, product = A *y
static lac_status bicgstab_product(krylov *k, lac_array *from, lac_array *product, const lac_array **y) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  *y = from;
  if (krylov_is_preconditioned(k)) {
    LAC_TRY(krylov_precondition(k, from, k->v[Y]));
    *y = k->v[Y];
  }
  LAC_TRY(krylov_product(k, *y, product));
done:
  return status;
}

static lac_status bicgstab_iterate(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  lac_array *r = k->r[R], *t = k->r[T], *v = k->r[V], *p = k->v[P];
  const lac_array *y;

  LAC_TRY(krylov_pass(
      k, 2,
      (lac_column_op[]){{LAC_COLUMN_ADD, LAC_BICGSTAB_STEP, -1, v, p}, {LAC_COLUMN_TURN, LAC_BICGSTAB_BETA, 1, r, p}}));
  LAC_TRY(bicgstab_product(k, p, v, &y));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_DOT, LAC_BICGSTAB_RV, 1, k->r[R0], v}));
  LAC_TRY(krylov_step(k, LAC_STEP_bicgstab_alpha));
  LAC_TRY(bicgstab_move(k, y, v, LAC_BICGSTAB_ALPHA, LAC_BICGSTAB_ALPHA, 1));
  LAC_TRY(krylov_step(k, LAC_STEP_bicgstab_half));
  LAC_TRY(bicgstab_product(k, r, t, &y));
  LAC_TRY(krylov_pass(k, 3,
                      (lac_column_op[]){{LAC_COLUMN_SCALE, LAC_BICGSTAB_RANGE, 1, t, t},
                                        {LAC_COLUMN_DOT, LAC_BICGSTAB_TS, 1, t, r},
                                        {LAC_COLUMN_DOT, LAC_BICGSTAB_TT, 1, t, t}}));
  LAC_TRY(krylov_step(k, LAC_STEP_bicgstab_omega));
  LAC_TRY(bicgstab_move(k, y, t, LAC_BICGSTAB_STEP, LAC_BICGSTAB_OMEGA, 2));
  LAC_TRY(krylov_step(k, LAC_STEP_bicgstab_end));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_TAKE, LAC_BICGSTAB_TAKE, 1, k->job->x, k->v[BEST]}));
done:
  return status;
}

static lac_status bicgstab_cycle(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool goes_on = true;

  LAC_TRY(ctx->backend->copy(ctx, k->r[R], k->r[R0]));
  LAC_TRY(ctx->backend->copy(ctx, k->job->x, k->v[BEST]));
  LAC_TRY(krylov_step(k, LAC_STEP_bicgstab_begin));
  for (k->numbers.iteration = 0; goes_on; k->numbers.iteration = 1) {
    LAC_TRY(bicgstab_iterate(k));
    LAC_TRY(krylov_end(k, &goes_on));
  }
  LAC_TRY(krylov_step(k, LAC_STEP_bicgstab_keep));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_TAKE, LAC_BICGSTAB_TAKE, 1, k->v[BEST], k->job->x}));
done:
  return status;
}

static lac_status bicgstab_run(lac_context *ctx, const lac_krylov_job *job, lac_solve_report *report) {
  krylov_method method = {4, job->m.apply ? 3 : 2, LAC_BICGSTAB_SLOTS, krylov_window(job), 0, bicgstab_cycle, false};
  return krylov_run(ctx, job, &method, report);
}

const lac_krylov_table lac_krylov_bicgstab = {.name = "bicgstab", .run = bicgstab_run};
