// SPDX-License-Identifier: Apache-2.0
/// @file inverse.c
/// Z = A^-T on the pattern of A, for every matrix of a batch.
///
///     check      (A A^-1)_ii = sum_j a_ij z_ij = 1        all that the sum needs of the inverse stands on the pattern
///
/// The method computes Z, or that of a partner where it cannot (direct.c). If Z is the inverse of A + E, the sum
/// of row i is 1 - (E A^-1)_ii: so a factor of another matrix shows. The sums do not change when rows and columns are
/// scaled, and their terms say how large their rounding may be.
///
/// A sum may have small terms although its column x of the inverse is large where the row has no entries: then E A^-1
/// is large though E is rounding. So a row that is off is excused when it is off by no more than roundings of ||A_i||
/// ||x||, which a solve gives. Of very many such rows some are tried. Where one has no excuse, a partner that pivots
/// more carefully has its turn; with the last of them it is an error.

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "solvers/direct/direct.h"

enum {
  INVERSE_ROUNDINGS = 1000,  // what a factor may lose that is worth using: see refine.c
  INVERSE_CHUNK = 4096,      // rows that a thread checks at once
  INVERSE_TRIED = 256        // rows whose columns are solved for, at most
};
static const double inverse_allowed[] = {INVERSE_ROUNDINGS * FLT_EPSILON, INVERSE_ROUNDINGS *DBL_EPSILON,
                                         INVERSE_ROUNDINGS *FLT_EPSILON, INVERSE_ROUNDINGS *DBL_EPSILON};

#define KERNEL_FILE "solvers/direct/inverse_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int64_t inverse_check_kernel(const lac_structure *, int64_t, int64_t, double, const void *, const void *,
                                     double *);
typedef void inverse_unit_kernel(int64_t, void *);
typedef bool inverse_excuse_kernel(const lac_structure *, int64_t, double, const void *, const void *, const void *,
                                   int, int);
static inverse_check_kernel *const inverse_check_kernels[] = TABLE(inverse_check);
static inverse_unit_kernel *const inverse_unit_kernels[] = TABLE(inverse_unit);
static inverse_excuse_kernel *const inverse_excuse_kernels[] = TABLE(inverse_excuse);

/// The matrices of a factor and the inverses of them.
typedef struct inverse_work {
  const lac_factor *f;
  int threads;     // of each matrix
  int64_t chunks;  // of rows of a matrix, to check
  char *z;
  lac_stop *stop;
} inverse_work;

static size_t inverse_offset(const lac_factor *f, int64_t item) {
  return (size_t)(item * lac_direct_structure(f)->nnz) * lac_dtype_size(f->meta.dtype);
}

static lac_status inverse_item(const void *job, int64_t i, int thread, lac_fault *fault) {
  const inverse_work *w = job;
  const lac_direct_factor *d = w->f->part;
  (void)thread;
  return d->table->selected_inverse(lac_direct_structure(w->f), d->analysis->part, d->numerics[i], w->threads, w->stop,
                                    w->z + inverse_offset(w->f, i), fault);
}

static lac_trial inverse_compute(lac_context *ctx, const lac_factor *f, char *z) {
  const lac_finding *finding = &lac_direct_of(f)->finding;
  lac_stop stop;
  inverse_work work = {.f = f, .threads = f->items < ctx->threads ? ctx->threads : 1, .z = z, .stop = &stop};
  int threads = lac_threads_worth(ctx->threads, f->items, finding->flops + (double)finding->nnz);
  lac_stop_init(&stop, ctx);
  return lac_tasks_run(threads, &stop, 0, f->items, inverse_item, &work);
}

/// Some rows of a matrix; the first that is off.
static lac_status inverse_chunk(const void *job, int64_t task, int thread, lac_fault *fault) {
  const inverse_work *w = job;
  const lac_structure *s = lac_direct_structure(w->f);
  int64_t item = task / w->chunks, begin = task % w->chunks * INVERSE_CHUNK;
  int64_t end = begin + INVERSE_CHUNK < s->n ? begin + INVERSE_CHUNK : s->n, row;
  double error;

  (void)thread;
  row = inverse_check_kernels[w->f->meta.dtype](s, begin, end, inverse_allowed[w->f->meta.dtype],
                                                lac_direct_item(w->f, item), w->z + inverse_offset(w->f, item), &error);
  if (row < 0) return LAC_OK;
  snprintf(fault->text, sizeof fault->text,
           "row %lld of A times its column of the inverse is 1 only to %.2e of its terms", (long long)row, error);
  return LAC_ERR_CONVERGENCE;
}

/// The task of a fault is the matrix that it is in.
static lac_trial inverse_check(const lac_context *ctx, const lac_factor *f, char *z) {
  const lac_structure *s = lac_direct_structure(f);
  inverse_work work = {.f = f, .chunks = (s->n + INVERSE_CHUNK - 1) / INVERSE_CHUNK, .z = z};
  int64_t tasks = f->items * work.chunks;
  int threads = lac_threads_worth(ctx->threads, tasks, (double)f->items * (double)s->nnz);
  lac_trial trial = lac_tasks_run(threads, NULL, 0, tasks, inverse_chunk, &work);
  if (work.chunks > 0) trial.task /= work.chunks;
  return trial;
}

// -- rows that are off -----------------------------------------------------------------------------------------------

// Some of the rows of a matrix that are off, spread over all of them; returns how many.
static int inverse_pick(const lac_factor *f, int64_t item, const char *z, int32_t picked[INVERSE_TRIED]) {
  const lac_structure *s = lac_direct_structure(f);
  const char *own = z + inverse_offset(f, item);
  int64_t count = 0, stride = 1;
  double error;
  for (int64_t i = 0; i < s->n; i++) {
    i = inverse_check_kernels[f->meta.dtype](s, i, s->n, inverse_allowed[f->meta.dtype], lac_direct_item(f, item), own,
                                             &error);
    if (i < 0) break;
    if (count++ % stride != 0) continue;
    if ((count - 1) / stride == INVERSE_TRIED) {  // every second one makes room
      for (int k = 0; k < INVERSE_TRIED / 2; k++) picked[k] = picked[2 * k];
      stride *= 2;
    }
    picked[(count - 1) / stride] = (int32_t)i;
  }
  return (int)((count + stride - 1) / stride);
}

// Whether `width` rows have an excuse: their columns of the inverse are solved for.
static bool inverse_excuses(const lac_system *a, int width, const int32_t *rows, const char *z, char *memory) {
  int64_t n = a->structure->n;
  size_t block = (size_t)(n * width) * lac_dtype_size(a->dtype);
  void *blocks[REFINE_BLOCKS];
  lac_fault ignored;
  bool excused = true;

  for (int i = 0; i < REFINE_BLOCKS; i++) blocks[i] = memory + (size_t)i * block;
  memset(blocks[REFINE_B], 0, block);
  for (int c = 0; c < width; c++) inverse_unit_kernels[a->dtype]((int64_t)rows[c] * width + c, blocks[REFINE_B]);
  lac_status status = lac_refine_solve(a, LAC_PLAIN, width, blocks, NULL, &ignored);
  for (int c = 0; c < width; c++) {
    excused = excused && inverse_excuse_kernels[a->dtype](a->structure, rows[c], inverse_allowed[a->dtype], a->values,
                                                          z, blocks[REFINE_X], width, c);
  }
  return excused && (status == LAC_OK || status == LAC_ERR_CONVERGENCE);
}

static lac_status inverse_excuse_item(lac_context *ctx, const lac_factor *f, int64_t item, const char *z,
                                      bool *excused) {
  lac_status status = LAC_OK;
  int64_t n = lac_direct_structure(f)->n;
  int32_t picked[INVERSE_TRIED];
  int count = inverse_pick(f, item, z, picked);
  char *memory = lac_alloc((size_t)n * REFINE_BLOCKS * LAC_BLOCK_WIDTH * lac_dtype_size(f->meta.dtype));
  lac_system system = lac_direct_system(f, item, ctx->threads, NULL);

  LAC_CHECK(memory, LAC_ERR_MEMORY, "lac_factor_selected_inverse: out of memory: columns of %lld rows", (long long)n);
  for (int k = 0; k < count && *excused; k += LAC_BLOCK_WIDTH) {
    int width = count - k < LAC_BLOCK_WIDTH ? count - k : LAC_BLOCK_WIDTH;
    LAC_TRY(lac_context_look(ctx, "lac_factor_selected_inverse"));
    *excused = inverse_excuses(&system, width, picked + k, z + inverse_offset(f, item), memory);
  }
done:
  lac_free(memory);
  return status;
}

static lac_status inverse_judge(lac_context *ctx, const lac_factor *f, char *z, lac_trial *trial) {
  lac_status status = LAC_OK;
  bool excused = true;

  *trial = inverse_check(ctx, f, z);
  if (trial->status == LAC_OK) goto done;
  for (int64_t i = 0; i < f->items && excused; i++) LAC_TRY(inverse_excuse_item(ctx, f, i, z, &excused));
  if (excused) trial->status = LAC_OK;
done:
  return status;
}

// -- all of it -------------------------------------------------------------------------------------------------------

static lac_status inverse_explain(lac_context *ctx, const lac_factor *f, const lac_trial *trial) {
  char which[64];
  return lac_context_fail(
      ctx, trial->status, "lac_factor_selected_inverse", "lac_factor_selected_inverse: %s with %s%s%s",
      trial->fault.text, lac_direct_of(f)->table->name, lac_factor_item_text(f, trial->task, which),
      trial->status == LAC_ERR_CONVERGENCE ? "; use a wider dtype, or check the report for a singular matrix" : "");
}

/// Whether an inverse can be read off a factor.
static bool inverse_is_able(const lac_factor *f) {
  return lac_direct_of(f)->table->selected_inverse && lac_direct_is_exact(f);
}

// Down the chain of partners until one gives what is right.
lac_status lac_direct_selected_inverse(lac_context *ctx, const lac_factor *f, lac_array *values) {
  lac_status status = LAC_OK;
  lac_trial trial = {.status = LAC_ERR_CONVERGENCE, .fault = {.text = "no inverse can be read off the factor"}};
  char *z = lac_array_edit(values);

  LAC_TRY(lac_direct_certain_partner(ctx, "lac_factor_selected_inverse", inverse_is_able, &f));
  LAC_CHECK(f, LAC_ERR_CONVERGENCE, "lac_factor_selected_inverse: no inverse can be read off a factor of this matrix");
  for (const lac_factor *next;; f = next) {
    if (inverse_is_able(f)) {
      trial = inverse_compute(ctx, f, z);
      if (trial.status == LAC_OK) LAC_TRY(inverse_judge(ctx, f, z, &trial));
      if (trial.status != LAC_ERR_CONVERGENCE) break;
    }
    LAC_TRY(lac_factor_partner(ctx, f, NULL, &next));
    if (!next) break;
  }
  if (trial.status != LAC_OK) LAC_TRY(inverse_explain(ctx, f, &trial));
done:
  return status;
}
