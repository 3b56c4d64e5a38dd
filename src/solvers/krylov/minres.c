// SPDX-License-Identifier: Apache-2.0
/// @file minres.c
/// MINRES for Hermitian A, indefinite too, and Hermitian positive definite M (Paige and Saunders 1975).
///
///     v = M^-1 r2 / beta      r = A v - alpha / beta r2 - beta / beta_old r1       the Lanczos process
///     w = (v - epsilon w1 - delta w2) / gamma      x += phi w                      the rotated tridiagonal matrix
///
/// The least residual is in the norm of M^-1. Its 2-norm, which is asked for, is that of r = sine^2 r - phi cosine /
/// beta r2, which is only kept where there is an M. Works in 6 vectors, 8 with a preconditioner.

#include "solvers/krylov/frame.h"

enum { R, T, R1, R2 };  // like b; without M the residual itself is the first r2
enum { V, W1, W2, Z };  // like x

/// Two vectors that change places as the iteration goes on.
typedef struct minres_pair {
  lac_array *old, *last;
} minres_pair;

static void minres_swap(minres_pair *pair) {
  lac_array *last = pair->last;
  pair->last = pair->old;
  pair->old = last;
}

/// z = M^-1 r2 and (r2, z); without M, z is r2.
static lac_status minres_norm(krylov *k, const minres_pair *r) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool has_m = krylov_is_preconditioned(k);
  if (has_m) LAC_TRY(krylov_precondition(k, r->last, k->v[Z]));
  LAC_TRY(
      krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_DOT, LAC_MINRES_SQUARE, 1, r->last, has_m ? k->v[Z] : r->last}));
done:
  return status;
}

/// The next vector of the Lanczos process.
static lac_status minres_lanczos(krylov *k, minres_pair *r) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  lac_array *v = k->v[V], *t = k->r[T];
  const lac_array *z = krylov_is_preconditioned(k) ? k->v[Z] : r->last;

  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_SCALE, LAC_MINRES_INVERSE, 1, z, v}));
  LAC_TRY(krylov_product(k, v, t));
  LAC_TRY(krylov_pass(k, 2,
                      (lac_column_op[]){{LAC_COLUMN_TURN, LAC_MINRES_BEFORE, -1, t, r->old},
                                        {LAC_COLUMN_DOT, LAC_MINRES_ALPHA, 1, v, r->old}}));
  LAC_TRY(krylov_step(k, LAC_STEP_minres_alpha));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_ADD, LAC_MINRES_SHARE, -1, r->last, r->old}));
  minres_swap(r);
  LAC_TRY(minres_norm(k, r));
done:
  return status;
}

static lac_status minres_iterate(krylov *k, minres_pair *r, minres_pair *w) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(minres_lanczos(k, r));
  LAC_TRY(krylov_step(k, LAC_STEP_minres_rotate));
  LAC_TRY(krylov_pass(k, 4,
                      (lac_column_op[]){{LAC_COLUMN_SCALE, LAC_MINRES_W1, 1, w->old, w->old},
                                        {LAC_COLUMN_ADD, LAC_MINRES_V, 1, k->v[V], w->old},
                                        {LAC_COLUMN_ADD, LAC_MINRES_W2, -1, w->last, w->old},
                                        {LAC_COLUMN_ADD, LAC_MINRES_PHI, 1, w->old, k->job->x}}));
  minres_swap(w);
  if (krylov_is_preconditioned(k)) {
    LAC_TRY(krylov_pass(k, 3,
                        (lac_column_op[]){{LAC_COLUMN_SCALE, LAC_MINRES_KEEP, 1, k->r[R], k->r[R]},
                                          {LAC_COLUMN_ADD, LAC_MINRES_NEXT, 1, r->last, k->r[R]},
                                          {LAC_COLUMN_DOT, LAC_SLOT_SQUARE, 1, k->r[R], k->r[R]}}));
    LAC_TRY(krylov_step(k, LAC_STEP_minres_residual));
  }
done:
  return status;
}

static lac_status minres_cycle(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool has_m = krylov_is_preconditioned(k), goes_on = true;
  minres_pair r = {k->r[R1], k->r[has_m ? R2 : R]}, w = {k->v[W1], k->v[W2]};

  k->numbers.has_m = has_m;
  if (has_m) LAC_TRY(ctx->backend->copy(ctx, k->r[R], r.last));
  LAC_TRY(minres_norm(k, &r));
  LAC_TRY(krylov_step(k, LAC_STEP_minres_begin));
  while (goes_on) {
    LAC_TRY(minres_iterate(k, &r, &w));
    LAC_TRY(krylov_end(k, &goes_on));
  }
done:
  return status;
}

static lac_status minres_run(lac_context *ctx, const lac_krylov_job *job, lac_solve_report *report) {
  bool has_m = job->m.apply;
  krylov_method method = {has_m ? 4 : 3, has_m ? 4 : 3, LAC_MINRES_SLOTS, krylov_window(job), 0, minres_cycle, false};
  return krylov_run(ctx, job, &method, report);
}

const lac_krylov_table lac_krylov_minres = {.name = "minres", .needs_hermitian = true, .run = minres_run};
