// SPDX-License-Identifier: Apache-2.0
/// @file solve.c
/// x = op(A)^-1 b for batches of matrices and blocks of columns.
///
/// The work is cut into tasks, one for each matrix of the joint batch and each block of columns. Tasks do not depend on
/// the number of threads nor on each other, so neither do the bits of x. conj(A) and A^H are A and A^T between two
/// conjugations.

#include <stdio.h>
#include <string.h>

#include "solvers/direct/direct.h"
#include "solvers/direct/method/certainty.h"

typedef struct solve_plan {
  const lac_factor *factor;
  lac_form form;
  const lac_batch *batch;  // of values, b, x
  int64_t judged_from;
  int64_t k;       // columns of b
  int64_t blocks;  // of columns
  size_t number;   // bytes of a number
  int threads;     // of each task
  char *memory;    // `share` bytes for each thread to work in
  size_t share;
  const char *b;
  char *x;
  lac_doubt *doubt;
  lac_stop *stop;
} solve_plan;

static void solve_conjugate(lac_dtype dtype, int64_t count, void *block) {
  if (dtype == LAC_C64) {
    for (int64_t i = 0; i < count; i++) ((float *)block)[2 * i + 1] *= -1;
  } else if (dtype == LAC_C128) {
    for (int64_t i = 0; i < count; i++) ((double *)block)[2 * i + 1] *= -1;
  }
}

// Columns [column, column + width) of n rows of k numbers, into a block of their own or back.
static void solve_pack(const solve_plan *plan, int64_t n, const char *from, int width, char *block) {
  if (width == plan->k) memcpy(block, from, (size_t)(n * width) * plan->number), n = 0;
  for (int64_t i = 0; i < n; i++) {
    memcpy(block + (size_t)(i * width) * plan->number, from + (size_t)(i * plan->k) * plan->number,
           (size_t)width * plan->number);
  }
}

static void solve_unpack(const solve_plan *plan, int64_t n, const char *block, int width, char *to) {
  if (block == to) n = 0;
  for (int64_t i = 0; i < n; i++) {
    memcpy(to + (size_t)(i * plan->k) * plan->number, block + (size_t)(i * width) * plan->number,
           (size_t)width * plan->number);
  }
}

// The blocks of a task, with b in its place. Where all columns are in one, b and x are the caller's own memory, of
// which b is only read.
static void solve_place(const solve_plan *plan, int64_t n, int width, const char *b, char *x, char *memory,
                        void *blocks[REFINE_BLOCKS]) {
  bool is_whole = width == plan->k, conjugated = lac_form_conjugates(plan->form);
  for (int i = 0; i < REFINE_BLOCKS; i++) blocks[i] = memory + (size_t)(i * n * width) * plan->number;
  if (is_whole) blocks[REFINE_X] = x;
  if (is_whole && !conjugated) {
    blocks[REFINE_B] = (void *)b;
  } else {
    solve_pack(plan, n, b, width, blocks[REFINE_B]);
  }
  if (conjugated) solve_conjugate(plan->factor->meta.dtype, n * width, blocks[REFINE_B]);
}

static lac_status solve_task(const void *job, int64_t task, int thread, lac_fault *fault) {
  const solve_plan *plan = job;
  const lac_factor *f = plan->factor;
  int64_t n = lac_direct_structure(f)->n, item = task / plan->blocks, column = task % plan->blocks * LAC_BLOCK_WIDTH;
  int width = plan->k - column < LAC_BLOCK_WIDTH ? (int)(plan->k - column) : LAC_BLOCK_WIDTH;
  lac_form form = lac_form_transposes(plan->form) ? LAC_TRANSPOSED : LAC_PLAIN;
  const char *b = plan->b + (size_t)(lac_batch_item(plan->batch, 1, item) * n * plan->k + column) * plan->number;
  char *x = plan->x + (size_t)(lac_batch_item(plan->batch, 2, item) * n * plan->k + column) * plan->number;
  void *blocks[REFINE_BLOCKS];
  lac_system system = lac_direct_system(f, lac_batch_item(plan->batch, 0, item), plan->threads, plan->stop);

  solve_place(plan, n, width, b, x, plan->memory + (size_t)thread * plan->share, blocks);
  lac_refined refined;
  lac_status status = lac_refine_solve(&system, form, width, blocks, &refined, fault);
  if (status == LAC_OK && plan->judged_from != LAC_UNJUDGED) {
    lac_solved solved = {&system,          lac_batch_item(plan->batch, 0, item), task, form, width, blocks, &refined,
                         plan->judged_from};
    status = lac_direct_certain(f, &solved, plan->doubt, fault);
  }
  if (lac_form_conjugates(plan->form)) solve_conjugate(f->meta.dtype, n * width, blocks[REFINE_X]);
  solve_unpack(plan, n, blocks[REFINE_X], width, x);
  return status;
}

static const char *solve_way_out(lac_status status) {
  if (status == LAC_ERR_NONFINITE) return "scale b down, or check the report for a singular matrix";
  if (status == LAC_ERR_SINGULAR) return lac_direct_singular_ways;
  if (status == LAC_ERR_INTERRUPTED) return lac_direct_interrupted_ways;
  if (status == LAC_ERR_CONVERGENCE) return "use a wider dtype, or check lac_factor_rcond for a singular matrix";
  return "solve for fewer columns, or free memory";
}

// Numbers of the factors and of the matrices that all columns meet.
static double solve_work(const solve_plan *plan) {
  const lac_factor *f = plan->factor;
  double factors = f->items > 0 ? (double)lac_direct_of(f)->finding.nnz / (double)f->items : 0;
  return ((double)lac_direct_structure(f)->nnz + factors) * (double)plan->k * (double)plan->batch->count;
}

static lac_status solve_run(lac_context *ctx, solve_plan *plan) {
  lac_status status = LAC_OK;
  lac_trial trial;
  int64_t tasks = plan->batch->count * plan->blocks, width = plan->k < LAC_BLOCK_WIDTH ? plan->k : LAC_BLOCK_WIDTH;
  int threads = lac_threads_worth(ctx->threads, tasks, solve_work(plan));

  if (tasks == 0) goto done;
  plan->share = (size_t)(REFINE_BLOCKS * width * lac_direct_structure(plan->factor)->n) * plan->number;
  plan->memory = lac_alloc((size_t)threads * plan->share);
  LAC_CHECK(plan->memory, LAC_ERR_MEMORY, "lac_factor_solve: out of memory: %zu bytes to work in",
            (size_t)threads * plan->share);
  trial = lac_tasks_run(threads, plan->stop, 0, tasks, solve_task, plan);
  LAC_CHECK(trial.status == LAC_OK, trial.status,
            "lac_factor_solve: %s with %s (matrix %lld of the batch, columns from %lld); %s", trial.fault.text,
            lac_direct_of(plan->factor)->table->name, (long long)(trial.task / plan->blocks),
            (long long)(trial.task % plan->blocks * LAC_BLOCK_WIDTH), solve_way_out(trial.status));
done:
  lac_free(plan->memory);
  plan->memory = NULL;
  return status;
}

// Where the error stays large, a partner of the factor that pivots more carefully has its turn, now and from now on.
static lac_status solve_by_partners(lac_context *ctx, solve_plan *plan) {
  lac_status status = LAC_ERR_CONVERGENCE, made = LAC_OK;

  while (status == LAC_ERR_CONVERGENCE && made == LAC_OK) {
    lac_direct_factor *d = lac_direct_of(plan->factor);
    plan->doubt->error = 0;
    if (!atomic_load(&d->has_failed)) status = solve_run(ctx, plan);
    if (status != LAC_ERR_CONVERGENCE || !lac_direct_has_partner(plan->factor)) break;
    made = lac_factor_partner(ctx, plan->factor, NULL, &plan->factor);
    if (made == LAC_OK) atomic_store(&d->has_failed, true);
  }
  return made == LAC_OK ? status : made;
}

static void solve_warn(lac_context *ctx, const solve_plan *plan, lac_solve_report *report) {
  const lac_doubt *doubt = plan->doubt;
  long long first = plan->blocks > 0 ? doubt->task % plan->blocks : 0;
  char which[64];

  report->forward_error = doubt->error;
  if (doubt->error == 0) return;
  snprintf(
      report->warning, sizeof report->warning,
      "%s digit of x is certain, for the matrix is %s: the estimated relative error is %.1e in columns from %lld%s",
      doubt->error < LAC_CERTAINTY_NONE ? "hardly a" : "no",
      doubt->error < LAC_CERTAINTY_NONE ? "nearly singular, or its unknowns of units far apart"
                                        : "singular to working precision",
      doubt->error, first * LAC_BLOCK_WIDTH,
      lac_factor_item_text(plan->factor, lac_batch_item(plan->batch, 0, doubt->task / plan->blocks), which));
  lac_context_warn(ctx, "lac_factor_solve: %s", report->warning);
}

lac_status lac_direct_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_doubt doubt = {.lock = PTHREAD_MUTEX_INITIALIZER};
  lac_stop stop;
  int64_t k = job->b->meta.shape[job->b->meta.ndim - 1], blocks = (k + LAC_BLOCK_WIDTH - 1) / LAC_BLOCK_WIDTH;
  solve_plan plan = {.factor = f,
                     .form = job->form,
                     .batch = job->batch,
                     .judged_from = job->judged_from,
                     .k = k,
                     .blocks = blocks,
                     .number = lac_dtype_size(f->meta.dtype),
                     .threads = job->batch->count * blocks < ctx->threads ? ctx->threads : 1,
                     .b = lac_array_data(job->b),
                     .x = lac_array_edit(job->x),
                     .doubt = &doubt,
                     .stop = &stop};

  *report = (lac_solve_report){.ending = LAC_ENDING_CONVERGED, .residual = LAC_UNMEASURED};
  snprintf(report->reason, sizeof report->reason, "solved by a direct factor");
  lac_stop_init(&stop, ctx);
  LAC_TRY(solve_by_partners(ctx, &plan));
  solve_warn(ctx, &plan, report);
done:
  return status;
}
