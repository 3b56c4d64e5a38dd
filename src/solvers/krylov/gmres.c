// SPDX-License-Identifier: Apache-2.0
/// @file gmres.c
/// Restarted GMRES for any square A, preconditioned from the right (Saad and Schultz 1986; flexible: Saad 1993).
///
///     v_0 = r / |r|      w = A M^-1 v_j = V h + |w'| v_j+1      min |g - H y|      x += M^-1 V y
///
/// The right side keeps the residual that of A x = b. V is made orthogonal by the classical process, twice: each vector
/// comes from memory three times, whatever j. H is rotated to a triangle as it grows, so that its last number is the
/// residual. Works in m + 1 vectors and one for M; flexible: 2 m + 1, which keeps M^-1 v_j since M may vary. They are
/// made as the first cycle grows. m^2 / 2 + 6 m pairs of doubles for each column.

#include "solvers/krylov/frame.h"

/// Column j of H and the next vector.
static lac_status gmres_orthogonalise(krylov *k, int64_t j, lac_column_op *ops) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  int64_t m = k->restart;
  lac_array *w = k->r[j + 1];

  for (int i = 0; i <= j; ++i) ops[i] = (lac_column_op){LAC_COLUMN_DOT, LAC_GMRES_H(m, i), 1, k->r[i], w};
  LAC_TRY(krylov_pass(k, (int)j + 1, ops));
  for (int i = 0; i <= j; ++i) {
    ops[i] = (lac_column_op){LAC_COLUMN_ADD, LAC_GMRES_H(m, i), -1, k->r[i], w};
    ops[j + 1 + i] = (lac_column_op){LAC_COLUMN_DOT, LAC_GMRES_AGAIN(m, i), 1, k->r[i], w};
  }
  LAC_TRY(krylov_pass(k, 2 * (int)j + 2, ops));
  for (int i = 0; i <= j; ++i) ops[i] = (lac_column_op){LAC_COLUMN_ADD, LAC_GMRES_AGAIN(m, i), -1, k->r[i], w};
  ops[j + 1] = (lac_column_op){LAC_COLUMN_DOT, LAC_GMRES_SQUARE, 1, w, w};
  LAC_TRY(krylov_pass(k, (int)j + 2, ops));
  k->numbers.iteration = j;
  LAC_TRY(krylov_step(k, LAC_STEP_gmres_column));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_SCALE, LAC_GMRES_INVERSE, 1, w, w}));
done:
  return status;
}

/// x += M^-1 V y, or Z y.
static lac_status gmres_update(krylov *k, int64_t size, bool is_flexible, lac_column_op *ops) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool has_m = krylov_is_preconditioned(k), adds_up = has_m && !is_flexible;
  lac_array **basis = is_flexible && has_m ? k->v : k->r;
  lac_array *sum = adds_up ? k->r[size] : k->job->x;  // the last vector has served

  LAC_TRY(krylov_step(k, LAC_STEP_gmres_solve));
  for (int i = 0; i < size; ++i) ops[i] = (lac_column_op){LAC_COLUMN_ADD, LAC_GMRES_Y(k->restart, i), 1, basis[i], sum};
  if (adds_up) ops[0].what = LAC_COLUMN_SCALE;
  LAC_TRY(krylov_pass(k, (int)size, ops));
  if (adds_up) {
    LAC_TRY(krylov_precondition(k, sum, k->v[0]));
    LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_ADD, LAC_GMRES_LIVE, 1, k->v[0], k->job->x}));
  }
done:
  return status;
}

static lac_status gmres_repeat(krylov *k, bool is_flexible) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool has_m = krylov_is_preconditioned(k), goes_on = true;
  lac_column_op *ops = NULL;
  int64_t j = 0;

  LAC_ALLOC(ops, 2 * k->restart + 2);
  LAC_TRY(krylov_step(k, LAC_STEP_gmres_begin));
  LAC_TRY(krylov_pass(k, 1, &(lac_column_op){LAC_COLUMN_SCALE, LAC_GMRES_INVERSE, 1, k->r[0], k->r[0]}));
  for (; goes_on && j < k->restart; ++j) {
    const lac_array *z = k->r[j];
    LAC_TRY(krylov_need_r(k, j + 1));
    if (has_m) LAC_TRY(krylov_need_v(k, is_flexible ? j : 0));
    if (has_m) {
      z = k->v[is_flexible ? j : 0];
      LAC_TRY(krylov_precondition(k, k->r[j], k->v[is_flexible ? j : 0]));
    }
    LAC_TRY(krylov_product(k, z, k->r[j + 1]));
    LAC_TRY(gmres_orthogonalise(k, j, ops));
    LAC_TRY(krylov_end(k, &goes_on));
  }
  LAC_TRY(gmres_update(k, j, is_flexible, ops));
done:
  lac_free(ops);
  return status;
}

static lac_status gmres_cycle(krylov *k) { return gmres_repeat(k, false); }
static lac_status flexible_cycle(krylov *k) { return gmres_repeat(k, true); }

static int64_t gmres_restart(const lac_krylov_job *job) {
  int64_t m = job->iteration->restart > 0 ? job->iteration->restart : 30, limit = krylov_limit(job);
  if (m > job->rows) m = job->rows;
  return m < limit ? m : limit;
}

static lac_status gmres_run(lac_context *ctx, const lac_krylov_job *job, lac_solve_report *report) {
  int64_t m = gmres_restart(job);
  krylov_method method = {(int)m + 1, job->m.apply ? 1 : 0, LAC_GMRES_SLOTS(m), 3 * m, m, gmres_cycle, false};
  return krylov_run(ctx, job, &method, report);
}

static lac_status flexible_run(lac_context *ctx, const lac_krylov_job *job, lac_solve_report *report) {
  int64_t m = gmres_restart(job);
  krylov_method method = {(int)m + 1, job->m.apply ? (int)m : 0, LAC_GMRES_SLOTS(m), 3 * m, m, flexible_cycle, false};
  return krylov_run(ctx, job, &method, report);
}

const lac_krylov_table lac_krylov_gmres = {.name = "gmres", .flexible = &lac_krylov_flexible_gmres, .run = gmres_run};
const lac_krylov_table lac_krylov_flexible_gmres = {
    .name = "flexible_gmres", .is_flexible = true, .flexible = &lac_krylov_flexible_gmres, .run = flexible_run};
