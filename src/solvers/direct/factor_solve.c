// SPDX-License-Identifier: Apache-2.0
/// @file factor_solve.c
/// x = op(A)^-1 b for batches of matrices and blocks of columns.
///
/// The work is cut into tasks, one for each matrix of the joint batch and each block of columns. Tasks do not depend on
/// the number of threads nor on each other, so neither do the bits of x. conj(A) and A^H are A and A^T between two
/// conjugations.

#include <omp.h>
#include <string.h>

#include "solvers/direct/method/refine.h"
#include "solvers/krylov/iterative.h"

typedef struct solve_plan {
  const lac_factor *factor;
  lac_side side;
  lac_batch batch;  // of values, b, x
  int64_t k;        // columns of b
  int64_t blocks;   // of columns
  size_t number;    // bytes of a number
  int threads;      // of each task
  const char *b;
  char *x;
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
  for (int64_t i = 0; i < n; i++) {
    memcpy(block + (size_t)(i * width) * plan->number, from + (size_t)(i * plan->k) * plan->number,
           (size_t)width * plan->number);
  }
}

static void solve_unpack(const solve_plan *plan, int64_t n, const char *block, int width, char *to) {
  for (int64_t i = 0; i < n; i++) {
    memcpy(to + (size_t)(i * plan->k) * plan->number, block + (size_t)(i * width) * plan->number,
           (size_t)width * plan->number);
  }
}

static lac_status solve_task(const solve_plan *plan, int64_t task, char *memory, lac_fault *fault) {
  const lac_factor *f = plan->factor;
  int64_t n = f->core->structure->n, item = task / plan->blocks, column = task % plan->blocks * LAC_BLOCK_WIDTH;
  int64_t matrix = lac_batch_item(&plan->batch, 0, item);
  int width = plan->k - column < LAC_BLOCK_WIDTH ? (int)(plan->k - column) : LAC_BLOCK_WIDTH;
  bool conjugated = lac_side_conjugates(plan->side);
  lac_side side = lac_side_transposes(plan->side) ? LAC_T : LAC_N;
  void *blocks[REFINE_BLOCKS];
  lac_system system = {.table = f->table,
                       .structure = f->core->structure,
                       .analysis = f->analysis->part,
                       .numeric = f->numerics[matrix],
                       .values = (const char *)f->values + (size_t)(matrix * f->core->structure->nnz) * plan->number,
                       .dtype = f->meta.dtype,
                       .threads = plan->threads,
                       .is_stable = f->table->is_stable(&f->core->options),
                       .is_regular = lac_factor_is_regular(f, matrix)};

  for (int i = 0; i < REFINE_BLOCKS; i++) blocks[i] = memory + (size_t)(i * n * width) * plan->number;
  solve_pack(plan, n, plan->b + (size_t)(lac_batch_item(&plan->batch, 1, item) * n * plan->k + column) * plan->number,
             width, blocks[REFINE_B]);
  if (conjugated) solve_conjugate(f->meta.dtype, n * width, blocks[REFINE_B]);
  lac_status status = lac_refine_solve(&system, side, width, blocks, fault);
  if (conjugated) solve_conjugate(f->meta.dtype, n * width, blocks[REFINE_X]);
  solve_unpack(plan, n, blocks[REFINE_X], width,
               plan->x + (size_t)(lac_batch_item(&plan->batch, 2, item) * n * plan->k + column) * plan->number);
  return status;
}

static const char *solve_way_out(lac_status status) {
  if (status == LAC_ERR_NONFINITE) return "scale b down, or check the report for a singular matrix";
  if (status == LAC_ERR_CONVERGENCE) return "use a wider dtype, or check lac_factor_rcond for a singular matrix";
  return "solve for fewer columns, or free memory";
}

// Numbers of the factors and of the matrices that all columns meet.
static double solve_work(const solve_plan *plan) {
  const lac_factor *f = plan->factor;
  double one = (double)f->core->structure->nnz + (f->items > 0 ? (double)f->finding.nnz / (double)f->items : 0);
  return one * (double)plan->k * (double)plan->batch.count;
}

static lac_status solve_run(lac_context *ctx, const solve_plan *plan) {
  lac_status status = LAC_OK, result = LAC_OK;
  lac_fault fault = {.text = ""};
  int64_t tasks = plan->batch.count * plan->blocks, first = tasks;
  int threads = lac_threads_worth(ctx->threads, tasks, solve_work(plan));
  int64_t width = plan->k < LAC_BLOCK_WIDTH ? plan->k : LAC_BLOCK_WIDTH;
  size_t share = (size_t)(REFINE_BLOCKS * width * plan->factor->core->structure->n) * plan->number;
  char *memory = NULL;

  if (tasks == 0) goto done;
  memory = lac_alloc((size_t)threads * share);
  LAC_CHECK(memory, LAC_ERR_MEMORY, "lac_factor_solve: out of memory: %zu bytes to work in", (size_t)threads * share);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t task = 0; task < tasks; task++) {
    lac_fault own = {.text = ""};
    lac_status one = solve_task(plan, task, memory + (size_t)omp_get_thread_num() * share, &own);
    if (one == LAC_OK) continue;
#pragma omp critical(lac_factor_solve_fault)
    if (task < first) first = task, fault = own, result = one;
  }
  LAC_CHECK(result == LAC_OK, result, "lac_factor_solve: %s with %s (matrix %lld of the batch, columns from %lld); %s",
            fault.text, plan->factor->table->name, (long long)(first / plan->blocks),
            (long long)(first % plan->blocks * LAC_BLOCK_WIDTH), solve_way_out(result));
done:
  lac_free(memory);
  return status;
}

// b and x fit the factor: dtype, rows, columns, and the batch of x is the joint one of values and b.
static lac_status solve_fits(lac_context *ctx, const char *who, const lac_factor *factor, lac_side side,
                             const lac_meta *b, const lac_meta *x, lac_batch *batch) {
  lac_status status = LAC_OK;
  const lac_meta *metas[] = {&factor->meta, b, x};
  const int core[] = {1, 2, 2};
  const lac_pattern *pattern = factor->core->pattern;
  bool turns = lac_side_transposes(side);
  long long m = turns ? pattern->cols : pattern->rows, n = turns ? pattern->rows : pattern->cols;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];
  bool fits = true;

  LAC_CHECK(b->dtype == factor->meta.dtype && x->dtype == factor->meta.dtype, LAC_ERR_DTYPE,
            "%s: the factor is %s, b is %s and x is %s; they must agree", who, lac_dtype_name(factor->meta.dtype),
            lac_dtype_name(b->dtype), lac_dtype_name(x->dtype));
  LAC_CHECK(b->ndim >= 2 && b->shape[b->ndim - 2] == m, LAC_ERR_SHAPE,
            "%s: b must have shape (*batch, %lld, k), it has %s", who, m, lac_shape_text(b->ndim, b->shape, text));
  LAC_CHECK(x->ndim >= 2 && x->shape[x->ndim - 2] == n && x->shape[x->ndim - 1] == b->shape[b->ndim - 1], LAC_ERR_SHAPE,
            "%s: x must have shape (*batch, %lld, %lld), it has %s", who, n, (long long)b->shape[b->ndim - 1],
            lac_shape_text(x->ndim, x->shape, text));
  lac_batch_init(batch, 2, metas, core);
  for (int o = 0; o < 3; o++) {
    int own = metas[o]->ndim - core[o];
    fits = fits && own <= batch->ndim && (o < 2 || own == batch->ndim);
    for (int d = 0; fits && d < own; d++) {
      int64_t size = metas[o]->shape[d], joint = batch->shape[batch->ndim - own + d];
      fits = size == joint || (o < 2 && size == 1);
    }
  }
  LAC_CHECK(fits, LAC_ERR_SHAPE,
            "%s: the batch dimensions of x, %s, must be the joint ones of the factored values and of b, %s", who,
            lac_shape_text(x->ndim, x->shape, text), lac_shape_text(b->ndim, b->shape, other));
  lac_batch_init(batch, 3, metas, core);
done:
  return status;
}

// Where the error stays large, a partner of the factor that pivots more carefully has its turn.
static lac_status solve_by_partners(lac_context *ctx, solve_plan *plan) {
  lac_status status = solve_run(ctx, plan), made = LAC_OK;

  while (status == LAC_ERR_CONVERGENCE && made == LAC_OK) {
    made = lac_factor_partner(ctx, plan->factor, &plan->factor);
    if (made != LAC_OK || !plan->factor) break;
    status = solve_run(ctx, plan);
  }
  return made == LAC_OK ? status : made;
}

lac_status lac_factor_solve_check(lac_context *ctx, const char *function, const lac_factor *factor, lac_side side,
                                  const lac_array *b, const lac_array *x, lac_batch *batch) {
  lac_status status = LAC_OK;

  LAC_CHECK(factor, LAC_ERR_ARG, "%s: the factor is NULL", function);
  LAC_CHECK(side >= LAC_N && side <= LAC_H, LAC_ERR_ARG, "%s: unknown side %d; use one of lac_side", function,
            (int)side);
  if (factor->iterative) {
    LAC_TRY(lac_solver_require_iterative(ctx, function, b));
    LAC_TRY(lac_solver_require_here(ctx, function, x));
  } else {
    LAC_TRY(lac_solver_require_cpu(ctx, function, b));
    LAC_TRY(lac_solver_require_cpu(ctx, function, x));
  }
  LAC_CHECK(b->storage != x->storage, LAC_ERR_ARG, "%s: b and x share memory; give x memory of its own", function);
  LAC_TRY(solve_fits(ctx, function, factor, side, &b->meta, &x->meta, batch));
done:
  return status;
}

lac_status lac_factor_solve_for(lac_context *ctx, const lac_factor *factor, lac_side side, bool is_derivative,
                                const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  solve_plan plan = {.factor = factor, .side = side};

  LAC_TRY(lac_factor_solve_check(ctx, "lac_factor_solve", factor, side, b, x, &plan.batch));
  if (factor->iterative) {
    LAC_TRY(lac_iterative_solve(ctx, factor, side, is_derivative, &plan.batch, b, x));
    goto done;
  }
  plan.k = b->meta.shape[b->meta.ndim - 1];
  plan.blocks = (plan.k + LAC_BLOCK_WIDTH - 1) / LAC_BLOCK_WIDTH;
  plan.number = lac_dtype_size(factor->meta.dtype);
  plan.threads = plan.batch.count * plan.blocks < ctx->threads ? ctx->threads : 1;
  plan.b = lac_array_data(b);
  plan.x = lac_array_edit(x);
  LAC_TRY(solve_by_partners(ctx, &plan));
done:
  return status;
}

lac_status lac_factor_solve(lac_context *ctx, const lac_factor *factor, lac_side side, const lac_array *b,
                            lac_array *x) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_factor_solve_for(ctx, factor, side, false, b, x));
done:
  return status;
}
