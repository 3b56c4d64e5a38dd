// SPDX-License-Identifier: Apache-2.0
/// @file frame.c
/// Start, true residual, look and end of every Krylov method.
///
/// Works in a vector for a start that is not zero, in at most r_count vectors like b, v_count like x, and slots pairs
/// of doubles for each column.

#include "solvers/krylov/frame.h"

#include "solvers/solver_impl.h"
#include "solvers/vectors.h"

// Unless the options say otherwise. In exact arithmetic n iterations are enough; rounding takes several times as many,
// and small systems get the 10 and the 50 besides. Residuals of CG and BiCGSTAB may rise for long before they fall, but
// not for so long.
enum { KRYLOV_MOST = 10000, KRYLOV_WINDOW = 2000 };

static int64_t krylov_longest(const lac_krylov_job *job) { return job->rows > job->cols ? job->rows : job->cols; }

int64_t krylov_limit(const lac_krylov_job *job) {
  int64_t n = krylov_longest(job), most = n < KRYLOV_MOST / 10 ? 10 * n + 10 : KRYLOV_MOST;
  if (job->iteration->max_iterations > 0) return job->iteration->max_iterations - job->spent;
  return (most < KRYLOV_MOST ? most : KRYLOV_MOST) - job->spent;
}

int64_t krylov_window(const lac_krylov_job *job) {
  int64_t n = krylov_longest(job), window = n < KRYLOV_WINDOW / 2 ? 2 * n + 50 : KRYLOV_WINDOW;
  return window < KRYLOV_WINDOW ? window : KRYLOV_WINDOW;
}

lac_status krylov_pass(krylov *k, int count, const lac_column_op *ops) {
  return k->ctx->kernels->columns(k->ctx, count, ops, k->state);
}

lac_status krylov_step(krylov *k, lac_column_step step) {
  return k->ctx->kernels->column_step(k->ctx, step, &k->numbers, k->state);
}

/// y = op(A) x in units of A.
static lac_status krylov_apply(krylov *k, lac_form form, const lac_array *x, lac_array *y) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  LAC_TRY(lac_linear_apply(ctx, &k->job->a, form, x, y));
  if (k->unit != 1) LAC_TRY(ctx->kernels->scale(ctx, 1 / k->unit, 0, y, y));
done:
  return status;
}

lac_status krylov_product(krylov *k, const lac_array *x, lac_array *y) { return krylov_apply(k, k->job->form, x, y); }

lac_status krylov_adjoint(krylov *k, const lac_array *x, lac_array *y) {
  return krylov_apply(k, (lac_form)(k->job->form ^ LAC_ADJOINT), x, y);
}

lac_status krylov_precondition(krylov *k, const lac_array *x, lac_array *y) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  LAC_TRY(lac_linear_apply(ctx, &k->job->m, k->job->form, x, y));
  LAC_TRY(krylov_free_of(k, &k->x_null, y));
done:
  return status;
}

// -- looks -----------------------------------------------------------------------------------------------------------

/// The largest |r|, over |b| and over what is asked, of all columns and of those that run.
static void krylov_worst(krylov *k, double *relative, double *excess) {
  *relative = *excess = 0;
  k->running = 0;
  for (int64_t c = 0; c < k->columns; ++c) {
    lac_pair r = k->seen[LAC_SLOT_RESIDUAL * k->columns + c];  // and what is asked
    double b = k->seen[LAC_SLOT_B * k->columns + c].re;
    bool runs = k->seen[c].re == LAC_COLUMN_RUNS;
    k->running += runs;
    if (b > 0 && krylov_is_worse(r.re / b, *relative)) *relative = r.re / b;
    if (runs && r.im > 0 && krylov_is_worse(r.re / r.im, *excess)) *excess = r.re / r.im;
  }
}

/// Report to `progress` and the onlooker, once an iteration.
static lac_status krylov_say(krylov *k, double relative, double excess) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  const lac_iteration *iteration = k->job->iteration;
  const lac_onlooker *onlooker = k->job->onlooker;

  if (k->told == k->iterations || k->is_again) goto done;
  if (iteration->progress && iteration->progress(iteration->progress_data, k->job->spent + k->iterations, relative))
    k->is_stopped = true;
  if (onlooker && k->running && !k->is_stopped && k->iterations < k->limit) {
    LAC_TRY(onlooker->look(ctx, onlooker->data, k->iterations, excess, &k->is_left));
    k->is_stopped = k->is_left;
  }
done:
  return status;
}

/// Read what the host may know, and say it.
static lac_status krylov_look(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  double relative, excess;

  LAC_TRY(ctx->backend->download(ctx, k->seen, k->state->storage->data,
                                 (size_t)(LAC_SLOTS_SEEN * k->columns) * sizeof *k->seen));
  k->looked = k->iterations;
  krylov_worst(k, &relative, &excess);
  LAC_TRY(krylov_say(k, relative, excess));
  LAC_TRY(lac_context_look(ctx, "an iteration"));
  k->told = k->iterations;
done:
  return status;
}

lac_status krylov_end(krylov *k, bool *goes_on) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  int64_t every = k->job->iteration->look_every > 1 ? k->job->iteration->look_every : 1;

  ++k->iterations;
  if (k->iterations - k->looked >= every || k->iterations >= k->limit) LAC_TRY(krylov_look(k));
  *goes_on = k->running > 0 && k->iterations < k->limit && !k->is_stopped;
done:
  return status;
}

// -- residuals -------------------------------------------------------------------------------------------------------

/// r = b - op(A) x and its square; where `starts` is set, r = b.
static lac_status krylov_residual(krylov *k, bool starts) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  lac_array *r = k->r[0], *w = k->r[1];
  lac_column_op ops[] = {{LAC_COLUMN_SCALE, LAC_SLOT_SCALE, 1, k->job->b, r},
                         {LAC_COLUMN_ADD, LAC_SLOT_ONE, -1, w, r},
                         {LAC_COLUMN_DOT, LAC_SLOT_SQUARE, 1, r, r}};
  bool is_singular = k->b_null.count > 0;

  if (starts) {
    ops[1] = ops[2];
  } else {
    LAC_TRY(krylov_product(k, k->job->x, w));
  }
  LAC_TRY(krylov_pass(k, (starts ? 2 : 3) - is_singular, ops));
  if (is_singular) {
    LAC_TRY(krylov_free_of(k, &k->b_null, r));
    LAC_TRY(krylov_pass(k, 1, &ops[starts ? 1 : 2]));
  }
done:
  return status;
}

/// Norms that stay in range, into the state.
static lac_status krylov_safe_norms(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  double *norms = NULL;

  LAC_ALLOC(norms, k->columns);
  LAC_TRY(lac_column_norms(ctx, k->job->b, k->job->items, k->b_rows, k->job->width, norms));
  for (int64_t c = 0; c < k->columns; ++c) k->seen[c] = lac_pair_of(norms[c], 0);
  LAC_TRY(ctx->backend->upload(ctx, (lac_pair *)k->state->storage->data + LAC_SLOT_RESIDUAL * k->columns, k->seen,
                               (size_t)k->columns * sizeof *k->seen));
done:
  lac_free(norms);
  return status;
}

/// The scale of every column. b may not be as long as the vectors of a pass over x: it has its own.
static lac_status krylov_scale(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  bool is_safe = true;
  lac_column_op dot = {LAC_COLUMN_DOT, LAC_SLOT_SQUARE, 1, k->job->b, (lac_array *)k->job->b};

  LAC_TRY(krylov_pass(k, 1, &dot));
  LAC_TRY(ctx->backend->download(ctx, k->seen, (lac_pair *)k->state->storage->data + LAC_SLOT_SQUARE * k->columns,
                                 (size_t)k->columns * sizeof *k->seen));
  for (int64_t c = 0; c < k->columns; ++c) {
    double norm = sqrt(k->seen[c].re);
    if (!(norm >= k->numbers.low && norm <= k->numbers.high)) is_safe = false;
  }
  if (!is_safe) LAC_TRY(krylov_safe_norms(k));
  for (int64_t c = 0; c < k->columns && !is_safe; ++c) {
    double norm = k->seen[c].re;
    k->is_far |= norm > 0 && isfinite(norm) && !(norm >= k->numbers.low && norm <= k->numbers.high);
  }
  k->is_scaled = !is_safe;
  LAC_TRY(krylov_step(k, LAC_STEP_open));
done:
  return status;
}

/// x times a coefficient.
static lac_status krylov_rescale(krylov *k, int slot) {
  lac_column_op op = {LAC_COLUMN_SCALE, slot, 1, k->job->x, k->job->x};
  return k->is_scaled ? krylov_pass(k, 1, &op) : LAC_OK;
}

/// x as the caller's b and A have it, or back again.
static lac_status krylov_turn(krylov *k, bool is_back) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  LAC_TRY(krylov_rescale(k, is_back ? LAC_SLOT_SCALE : LAC_SLOT_UNSCALE));
  if (k->unit != 1) LAC_TRY(ctx->kernels->scale(ctx, is_back ? k->unit : 1 / k->unit, 0, k->job->x, k->job->x));
done:
  return status;
}

/// x as the caller has it. What converged is the scaled x: one that overflows on the way back has not, and of one
/// that underflows the report has the residual that is left.
static lac_status krylov_unscale(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(krylov_turn(k, false));
  if (!k->is_far && k->unit == 1) goto done;
  LAC_TRY(krylov_turn(k, true));
  LAC_TRY(krylov_residual(k, false));
  LAC_TRY(krylov_step(k, LAC_STEP_look));
  LAC_TRY(krylov_look(k));
  for (int64_t c = 0; c < k->columns; ++c) {
    bool is_finite = isfinite(k->seen[LAC_SLOT_RESIDUAL * k->columns + c].re);
    if (k->seen[c].re == LAC_COLUMN_CONVERGED && !is_finite)
      k->seen[c] = lac_pair_of(LAC_COLUMN_DIVERGED, LAC_FAULT_RANGE);
  }
  LAC_TRY(krylov_turn(k, false));
done:
  return status;
}

/// Up to the first residual.
static lac_status krylov_start(krylov *k) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(krylov_scale(k));
  LAC_TRY(krylov_residual(k, true));
  LAC_TRY(krylov_step(k, LAC_STEP_norm));
  if (k->b_null.count) k->is_scaled = true;  // a b that is all null space makes x zero
  LAC_TRY(krylov_rescale(k, LAC_SLOT_SCALE));
  if (k->start) LAC_TRY(ctx->backend->copy(ctx, k->job->x, k->start));
  if (!k->job->starts_at_zero) LAC_TRY(krylov_residual(k, false));
  k->numbers.first = 1;
  LAC_TRY(krylov_step(k, LAC_STEP_look));
  k->numbers.first = 0;
  LAC_TRY(krylov_look(k));
done:
  return status;
}

/// Cycles and true residuals in turn.
static lac_status krylov_cycles(krylov *k, const krylov_method *method) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;

  while (k->running && !k->is_stopped) {
    LAC_TRY(method->cycle(k));
    k->numbers.is_last = k->iterations >= k->limit || k->is_stopped;
    LAC_TRY(krylov_residual(k, false));
    LAC_TRY(krylov_step(k, LAC_STEP_look));
    LAC_TRY(krylov_look(k));
    LAC_TRY(krylov_warn(k));
  }
done:
  return status;
}

/// Columns that failed far from their best iterate run once more from the start, up to there: what no vector was kept
/// for.
static lac_status krylov_again(krylov *k, const krylov_method *method) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  lac_array *x = k->job->x;
  const lac_column_op keep = {LAC_COLUMN_SCALE, LAC_SLOT_KEEP, 1, x, x};

  if (k->is_stopped) goto done;
  LAC_TRY(krylov_step(k, LAC_STEP_again));
  LAC_TRY(krylov_look(k));
  k->is_again = true;
  if (k->start) {
    // x of a column is its start where KEEP is 0: what is kept of it, and of the start what is not.
    LAC_TRY(krylov_pass(k, 2,
                        (lac_column_op[]){{LAC_COLUMN_TAKE, LAC_SLOT_KEEP, 1, x, k->start},
                                          {LAC_COLUMN_SCALE, LAC_SLOT_ONE, 1, k->start, x}}));
  } else {
    LAC_TRY(krylov_pass(k, 1, &keep));
  }
  k->iterations = k->looked = 0;
  k->numbers.is_last = 0;
  krylov_forget(k);
  LAC_TRY(krylov_residual(k, false));
  LAC_TRY(krylov_step(k, LAC_STEP_look));
  LAC_TRY(krylov_look(k));
  LAC_TRY(krylov_cycles(k, method));
done:
  return status;
}

/// Whether some column is far from where it was, by what the host has seen.
static bool krylov_is_astray(const krylov *k) {
  for (int64_t c = 0; c < k->columns; ++c) {
    double status = k->seen[c].re, b = k->seen[LAC_SLOT_B * k->columns + c].re;
    double norm = k->seen[LAC_SLOT_RESIDUAL * k->columns + c].re, first = k->seen[LAC_SLOT_B * k->columns + c].im;
    if (status > LAC_COLUMN_CONVERGED && b > 0 && !(norm <= first)) return true;
  }
  return false;
}

// -- memory ----------------------------------------------------------------------------------------------------------

static lac_status krylov_need(krylov *k, int64_t rows, lac_array **vector) {
  if (*vector) return LAC_OK;
  return lac_array_create(k->ctx, k->job->dtype, 3, (int64_t[]){k->job->items, rows, k->job->width}, vector);
}

lac_status krylov_need_r(krylov *k, int64_t i) { return krylov_need(k, k->b_rows, k->r + i); }
lac_status krylov_need_v(krylov *k, int64_t i) { return krylov_need(k, k->x_rows, k->v + i); }

/// The size of A as a power of two where its square, or that of its inverse, is far from 1; else 1.
static double krylov_unit(const lac_krylov_job *job) {
  const int far = 300;
  int power = 0;
  if (!(job->largest > 0) || !isfinite(job->largest)) return 1;
  (void)frexp(job->largest, &power);
  return power > far || power < -far ? ldexp(1, power < -1000 ? -1000 : power > 1000 ? 1000 : power) : 1;
}

static lac_status krylov_open(krylov *k, const krylov_method *method) {
  lac_context *ctx = k->ctx;
  lac_status status = LAC_OK;
  const lac_krylov_job *job = k->job;
  bool is_double = !lac_dtype_is_single(job->dtype);

  k->columns = job->items * job->width;
  k->b_rows = lac_form_transposes(job->form) ? job->cols : job->rows;
  k->x_rows = lac_form_transposes(job->form) ? job->rows : job->cols;
  k->limit = krylov_limit(job);
  k->restart = method->restart;
  k->unit = method->squares ? krylov_unit(job) : 1;
  k->size = job->largest / k->unit;
  k->r_count = method->r_count;
  k->v_count = method->v_count;
  k->numbers = (lac_step_numbers){.rtol = job->iteration->rtol,
                                  .atol = job->iteration->atol,
                                  .low = ldexp(1, is_double ? -150 : -50),  // (r, M^-1 r) has the scale of A besides
                                  .high = ldexp(1, is_double ? 150 : 50),
                                  .reach = is_double ? 1000 : 120,
                                  .epsilon = lac_dtype_epsilon(job->dtype),
                                  .window = method->window,
                                  .restart = method->restart};
  LAC_ALLOC(k->seen, LAC_SLOTS_SEEN * k->columns);
  LAC_ALLOC(k->near, k->columns);
  krylov_forget(k);
  LAC_TRY(lac_array_create(ctx, LAC_C128, 3, (int64_t[]){method->slots, job->items, job->width}, &k->state));
  LAC_TRY(ctx->backend->fill(ctx, k->state, 0, 0));
  LAC_ALLOC(k->r, k->r_count);
  LAC_ALLOC(k->v, k->v_count + 1);
  for (int i = 0; i < (method->restart ? 2 : k->r_count); ++i) LAC_TRY(krylov_need_r(k, i));
  for (int i = 0; i < (method->restart ? 0 : k->v_count); ++i) LAC_TRY(krylov_need_v(k, i));
  if (!job->starts_at_zero) LAC_TRY(krylov_need(k, k->x_rows, &k->start));
  LAC_TRY(krylov_bases_open(k));
  if (k->b_null.count) k->numbers.floor = is_double ? 1e-14 : 1e-6;
done:
  return status;
}

static void krylov_close(krylov *k) {
  for (int i = 0; k->r && i < k->r_count; ++i) lac_array_destroy(k->r + i);
  for (int i = 0; k->v && i < k->v_count; ++i) lac_array_destroy(k->v + i);
  lac_free(k->r);
  lac_free(k->v);
  lac_array_destroy(&k->start);
  krylov_bases_close(k);
  lac_array_destroy(&k->state);
  lac_free(k->seen);
  lac_free(k->near);
}

lac_status krylov_run(lac_context *ctx, const lac_krylov_job *job, const krylov_method *method,
                      lac_solve_report *report) {
  lac_status status = LAC_OK;
  krylov k = {.ctx = ctx, .job = job, .told = job->spent ? 0 : -1};
  double begin = lac_seconds();

  *report = (lac_solve_report){.ending = LAC_ENDING_CONVERGED, .reason = "nothing to solve"};
  if (job->b->count == 0 || job->x->count == 0) {
    LAC_TRY(ctx->backend->fill(ctx, job->x, 0, 0));
    goto done;
  }
  LAC_TRY(krylov_open(&k, method));
  if (k.unit != 1) LAC_TRY(ctx->kernels->scale(ctx, k.unit, 0, job->x, job->x));
  LAC_TRY(krylov_start(&k));
  LAC_TRY(krylov_cycles(&k, method));
  for (int i = 0; i < 2 && krylov_is_astray(&k); ++i) LAC_TRY(krylov_again(&k, method));
  LAC_TRY(krylov_attain(&k));
  LAC_TRY(krylov_free_of(&k, &k.x_null, job->x));
  LAC_TRY(krylov_unscale(&k));
  krylov_tell(&k, report);
done:
  krylov_close(&k);
  report->seconds = lac_seconds() - begin;
  return status;
}
