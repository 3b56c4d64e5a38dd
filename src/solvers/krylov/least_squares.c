// SPDX-License-Identifier: Apache-2.0
/// @file least_squares.c
/// LSQR (Paige and Saunders 1982) and LSMR (Fong and Saunders 2011) for min |b - A x|, any shape.
///
///     beta u = A v - alpha u        alpha v = A^H u - beta v        the Golub-Kahan process, from u = r / |r|
///     LSQR   x += phi / rho w       w = v - theta / rho w           CG on A^H A x = A^H b: |r| falls
///     LSMR   h~ = h - .. h~         x += .. h~       h = v - .. h   MINRES on it: |A^H r| falls too
///
/// It ends where |r| is within the tolerance, or where A^H r is zero relative to |A| |r|: then no x does better, which
/// is convergence for a rectangular A and stagnation for a square one. A preconditioner stands at the right: A M^-1,
/// and x = M^-1 y. Works in 2 vectors like b and 3 (LSMR: 4) like x, 2 more with a preconditioner.

#include "solvers/krylov/frame.h"

enum { U, T };           // like b
enum { V, S, W, Y, Z };  // like x; the last is h~ of LSMR

static lac_array *hbar_of(krylov *k) { return k->numbers.is_lsmr ? k->v[k->v_count - 1] : NULL; }
static lac_array *sum_of(krylov *k) { return krylov_is_preconditioned(k) ? k->v[Y] : k->job->x; }

/// T = A M^-1 v
static lac_status gk_product(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool has_m = krylov_is_preconditioned(k);
  if (has_m) LAC_TRY(krylov_precondition(k, k->v[V], k->v[Z]));
  LAC_TRY(krylov_product(k, k->v[has_m ? Z : V], k->r[T]));
done:
  return status;
}

/// to = M^-H A^H u
static lac_status gk_adjoint(krylov *k, lac_array *to) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool has_m = krylov_is_preconditioned(k);
  LAC_TRY(krylov_adjoint(k, k->r[U], has_m ? k->v[Z] : to));
  if (has_m) LAC_TRY(lac_linear_apply(ctx, &k->job->m, (lac_form)(k->job->form ^ LAC_ADJOINT), k->v[Z], to));
done:
  return status;
}

static lac_status gk_begin(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  lac_array *u = k->r[U], *v = k->v[V], *w = k->v[W];

  if (krylov_is_preconditioned(k)) LAC_TRY(ctx->backend->fill(ctx, k->v[Y], 0, 0));
  if (k->numbers.is_lsmr) LAC_TRY(ctx->backend->fill(ctx, hbar_of(k), 0, 0));
  LAC_TRY(krylov_step(k, LAC_STEP_gk_begin));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_SCALE, LAC_GK_INVERSE, 1, u, u}));
  LAC_TRY(gk_adjoint(k, v));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_DOT, LAC_GK_SQUARE, 1, v, v}));
  k->numbers.first = k->iterations == 0;
  LAC_TRY(krylov_step(k, LAC_STEP_gk_first));
  k->numbers.first = 0;
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_SCALE, LAC_GK_INVERSE, 1, v, v}));
  LAC_TRY(ctx->backend->copy(ctx, v, w));
done:
  return status;
}

/// What x takes, and the direction after. The first operation belongs to both: v is scaled.
static lac_status gk_move(krylov *k) {
  lac_array *v = k->v[V], *w = k->v[W], *x = sum_of(k), *h = hbar_of(k);
  if (h) {
    return krylov_pass(k, 4,
                       (lac_column_op[]){{LAC_COLUMN_SCALE, LAC_GK_INVERSE, 1, v, v},
                                         {LAC_COLUMN_TURN, LAC_GK_HBAR, 1, w, h},
                                         {LAC_COLUMN_ADD, LAC_GK_X, 1, h, x},
                                         {LAC_COLUMN_TURN, LAC_GK_W, 1, v, w}});
  }
  return krylov_pass(k, 3,
                     (lac_column_op[]){{LAC_COLUMN_SCALE, LAC_GK_INVERSE, 1, v, v},
                                       {LAC_COLUMN_ADD, LAC_GK_X, 1, w, x},
                                       {LAC_COLUMN_TURN, LAC_GK_W, 1, v, w}});
}

static lac_status gk_iterate(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  lac_array *u = k->r[U], *v = k->v[V];

  LAC_TRY(gk_product(k));
  LAC_TRY(krylov_pass(
      k, 2,
      (lac_column_op[]){{LAC_COLUMN_TURN, LAC_GK_ALPHA, -1, k->r[T], u}, {LAC_COLUMN_DOT, LAC_GK_SQUARE, 1, u, u}}));
  LAC_TRY(krylov_step(k, LAC_STEP_gk_u));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_SCALE, LAC_GK_INVERSE, 1, u, u}));
  LAC_TRY(gk_adjoint(k, k->v[S]));
  LAC_TRY(krylov_pass(
      k, 2,
      (lac_column_op[]){{LAC_COLUMN_TURN, LAC_GK_BETA, -1, k->v[S], v}, {LAC_COLUMN_DOT, LAC_GK_SQUARE, 1, v, v}}));
  LAC_TRY(krylov_step(k, k->numbers.is_lsmr ? LAC_STEP_lsmr_rotate : LAC_STEP_lsqr_rotate));
  LAC_TRY(gk_move(k));
done:
  return status;
}

/// The norm of A, of which the products of a cycle have seen the largest part.
static lac_status gk_measure(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;

  if (!k->numbers.is_rectangular || krylov_is_preconditioned(k)) goto done;
  LAC_TRY(ctx->backend->download(ctx, k->seen, (lac_pair *)k->state->storage->data + LAC_GK_SIZE * k->columns,
                                 (size_t)k->columns * sizeof *k->seen));
  for (int64_t c = 0; c < k->columns; ++c) k->size = fmax(k->size, k->seen[c].re);
done:
  return status;
}

static lac_status gk_repeat(krylov *k, int is_lsmr) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool goes_on = true;

  k->numbers.is_lsmr = is_lsmr;
  k->numbers.is_rectangular = k->job->rows != k->job->cols;
  k->numbers.least = k->numbers.is_rectangular ? k->job->iteration->rtol : 10 * k->numbers.epsilon;
  LAC_TRY(gk_begin(k));
  while (goes_on) {
    LAC_TRY(gk_iterate(k));
    LAC_TRY(krylov_end(k, &goes_on));
  }
  LAC_TRY(gk_measure(k));
  if (krylov_is_preconditioned(k)) {
    LAC_TRY(krylov_precondition(k, k->v[Y], k->v[Z]));
    LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_ADD, LAC_GK_LIVE, 1, k->v[Z], k->job->x}));
  }
done:
  return status;
}

static lac_status lsqr_cycle(krylov *k) { return gk_repeat(k, 0); }
static lac_status lsmr_cycle(krylov *k) { return gk_repeat(k, 1); }

static lac_status lsqr_run(lac_context *ctx, const lac_krylov_job *job, lac_solve_report *report) {
  krylov_method method = {2, job->m.apply ? 5 : 3, LAC_GK_SLOTS, krylov_window(job), 0, lsqr_cycle, true};
  return krylov_run(ctx, job, &method, report);
}

static lac_status lsmr_run(lac_context *ctx, const lac_krylov_job *job, lac_solve_report *report) {
  krylov_method method = {2, job->m.apply ? 6 : 4, LAC_GK_SLOTS, krylov_window(job), 0, lsmr_cycle, true};
  return krylov_run(ctx, job, &method, report);
}

const lac_krylov_table lac_krylov_lsqr = {.name = "lsqr", .takes_rectangles = true, .run = lsqr_run};
const lac_krylov_table lac_krylov_lsmr = {.name = "lsmr", .takes_rectangles = true, .run = lsmr_run};
