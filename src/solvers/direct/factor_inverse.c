// SPDX-License-Identifier: Apache-2.0
/// @file factor_inverse.c
/// Z = A^-T on the pattern of A, for every matrix of a batch.
///
///     check      (A A^-1)_ii = sum_j a_ij z_ij = 1        all that the sum needs of the inverse stands on the pattern
///
/// The method computes Z, or that of a partner where it cannot (factor_partner.c). If Z is the inverse of A + E, the sum
/// of row i is 1 - (E A^-1)_ii: so a factor of another matrix shows. The sums do not change when rows and columns are
/// scaled, and their terms say how large their rounding may be.
///
/// A sum may have small terms although its column x of the inverse is large where the row has no entries: then E A^-1 is
/// large though E is rounding. So a row that is off is excused when it is off by no more than roundings of ||A_i|| ||x||,
/// which a solve tells. Of very many such rows some are tried. Where one has no excuse, a partner that pivots more
/// carefully has its turn; with the last of them it is an error.

#include <stdio.h>

#include "solvers/direct/method/refine.h"

enum {
  INVERSE_ROUNDINGS = 1000,  // what a factor may lose that is worth using: see refine.c
  INVERSE_CHUNK = 4096,      // rows that a thread checks at once
  INVERSE_TRIED = 256        // rows whose columns are solved for, at most
};
static double inverse_allowed(lac_dtype dtype) { return INVERSE_ROUNDINGS * lac_dtype_epsilon(dtype); }

#define wide_size_f32 size_f64
#define wide_size_f64 size_f64
#define wide_size_c64 size_c128
#define wide_size_c128 size_c128
#define KERNEL_FILE "solvers/direct/factor_inverse_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int64_t inverse_check_kernel(const lac_structure *, int64_t, int64_t, double, const void *, const void *,
                                     double *);
typedef void inverse_unit_kernel(int64_t, void *);
typedef bool inverse_excuse_kernel(const lac_structure *, int64_t, double, const void *, const void *, const void *,
                                   int, int);
static inverse_check_kernel *const inverse_check_kernels[] = TABLE(inverse_check);
static inverse_unit_kernel *const inverse_unit_kernels[] = TABLE(inverse_unit);
static inverse_excuse_kernel *const inverse_excuse_kernels[] = TABLE(inverse_excuse);

// Where something went wrong: the first matrix, and the first row of it.
typedef struct inverse_fault {
  lac_status status;
  int64_t item, row;
  lac_fault fault;
} inverse_fault;

static bool inverse_comes_first(const inverse_fault *a, const inverse_fault *b) {
  return b->status == LAC_OK || a->item < b->item || (a->item == b->item && a->row < b->row);
}

static size_t inverse_offset(const lac_factor *f, int64_t item) {
  return (size_t)(item * f->core->structure->nnz) * lac_dtype_size(f->meta.dtype);
}

static inverse_fault inverse_compute(const lac_context *ctx, const lac_factor *f, char *z) {
  int threads = lac_threads_worth(ctx->threads, f->items, f->finding.flops + (double)f->finding.nnz);
  int inner = f->items < ctx->threads ? ctx->threads : 1;
  inverse_fault first = {.status = LAC_OK};

#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t i = 0; i < f->items; i++) {
    inverse_fault own = {.item = i};
    own.status = f->table->selected_inverse(f->core->structure, f->analysis->part, f->numerics[i], inner,
                                            z + inverse_offset(f, i), &own.fault);
    if (own.status == LAC_OK) continue;
#pragma omp critical(lac_inverse_fault)
    if (inverse_comes_first(&own, &first)) first = own;
  }
  return first;
}

static inverse_fault inverse_check(const lac_context *ctx, const lac_factor *f, const char *z) {
  const lac_structure *s = f->core->structure;
  int64_t chunks = (s->n + INVERSE_CHUNK - 1) / INVERSE_CHUNK, tasks = f->items * chunks;
  int threads = lac_threads_worth(ctx->threads, tasks, (double)f->items * (double)s->nnz);
  inverse_fault first = {.status = LAC_OK};

#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t t = 0; t < tasks; t++) {
    inverse_fault own = {.status = LAC_ERR_CONVERGENCE, .item = t / chunks};
    int64_t begin = t % chunks * INVERSE_CHUNK, end = begin + INVERSE_CHUNK < s->n ? begin + INVERSE_CHUNK : s->n;
    size_t at = inverse_offset(f, own.item);
    double error;
    own.row = inverse_check_kernels[f->meta.dtype](s, begin, end, inverse_allowed(f->meta.dtype),
                                                   (const char *)f->values + at, z + at, &error);
    if (own.row < 0) continue;
    snprintf(own.fault.text, sizeof own.fault.text,
             "row %lld of A times its column of the inverse is 1 only to %.2e of its terms", (long long)own.row, error);
#pragma omp critical(lac_inverse_fault)
    if (inverse_comes_first(&own, &first)) first = own;
  }
  return first;
}

// -- rows that are off -----------------------------------------------------------------------------------------------

// Some of the rows of a matrix that are off, spread over all of them; returns how many.
static int inverse_pick(const lac_factor *f, int64_t item, const char *z, int32_t picked[INVERSE_TRIED]) {
  const lac_structure *s = f->core->structure;
  size_t at = inverse_offset(f, item);
  int64_t count = 0, stride = 1;
  double error;
  for (int64_t i = 0; i < s->n; i++) {
    i = inverse_check_kernels[f->meta.dtype](s, i, s->n, inverse_allowed(f->meta.dtype), (const char *)f->values + at,
                                             z + at, &error);
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
  lac_status status = lac_refine_solve(a, LAC_N, width, blocks, &ignored);
  for (int c = 0; c < width; c++) {
    excused = excused && inverse_excuse_kernels[a->dtype](a->structure, rows[c], inverse_allowed(a->dtype), a->values,
                                                          z, blocks[REFINE_X], width, c);
  }
  return excused && (status == LAC_OK || status == LAC_ERR_CONVERGENCE);
}

static lac_status inverse_excuse_item(lac_context *ctx, const lac_factor *f, int64_t item, const char *z,
                                      bool *excused) {
  lac_status status = LAC_OK;
  const lac_structure *s = f->core->structure;
  int32_t picked[INVERSE_TRIED];
  int count = inverse_pick(f, item, z, picked);
  size_t number = lac_dtype_size(f->meta.dtype), at = inverse_offset(f, item);
  char *memory = lac_alloc((size_t)s->n * REFINE_BLOCKS * LAC_BLOCK_WIDTH * number);
  lac_system system = {.table = f->table,
                       .structure = s,
                       .analysis = f->analysis->part,
                       .numeric = f->numerics[item],
                       .values = (const char *)f->values + at,
                       .dtype = f->meta.dtype,
                       .threads = ctx->threads,
                       .is_stable = f->table->is_stable(&f->core->options),
                       .is_regular = lac_factor_is_regular(f, item)};

  LAC_CHECK(memory, LAC_ERR_MEMORY, "lac_factor_selected_inverse: out of memory: columns of %d rows", s->n);
  for (int k = 0; k < count && *excused; k += LAC_BLOCK_WIDTH) {
    int width = count - k < LAC_BLOCK_WIDTH ? count - k : LAC_BLOCK_WIDTH;
    *excused = inverse_excuses(&system, width, picked + k, z + at, memory);
  }
done:
  lac_free(memory);
  return status;
}

static lac_status inverse_judge(lac_context *ctx, const lac_factor *f, const char *z, inverse_fault *fault) {
  lac_status status = LAC_OK;
  bool excused = true;

  *fault = inverse_check(ctx, f, z);
  if (fault->status == LAC_OK) goto done;
  for (int64_t i = 0; i < f->items && excused; i++) LAC_TRY(inverse_excuse_item(ctx, f, i, z, &excused));
  if (excused) fault->status = LAC_OK;
done:
  return status;
}

// -- all of it -------------------------------------------------------------------------------------------------------

static lac_status inverse_explain(lac_context *ctx, const lac_factor *f, const inverse_fault *fault) {
  char which[64];
  return lac_context_fail(
      ctx, fault->status, "lac_factor_selected_inverse", "lac_factor_selected_inverse: %s with %s%s%s",
      fault->fault.text, f->table->name, lac_factor_item_text(f, fault->item, which),
      fault->status == LAC_ERR_CONVERGENCE ? "; use a wider dtype, or check the report for a singular matrix" : "");
}

// Down the chain of partners until one gives what is right.
static lac_status inverse_run(lac_context *ctx, const lac_factor *f, char *z) {
  lac_status status = LAC_OK;
  inverse_fault fault = {.status = LAC_ERR_CONVERGENCE, .fault = {.text = "no inverse can be read off the factor"}};

  for (const lac_factor *next = f; next;) {
    f = next;
    if (!f->iterative && f->table->selected_inverse && f->finding.perturbed == 0) {
      fault = inverse_compute(ctx, f, z);
      if (fault.status == LAC_OK) LAC_TRY(inverse_judge(ctx, f, z, &fault));
      if (fault.status != LAC_ERR_CONVERGENCE) break;
    }
    LAC_TRY(lac_factor_partner(ctx, f, &next));
  }
  if (fault.status != LAC_OK) LAC_TRY(inverse_explain(ctx, f, &fault));
done:
  return status;
}

lac_status lac_factor_selected_inverse(lac_context *ctx, const lac_factor *factor, lac_array *values) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_CHECK_CONTEXT();
  LAC_CHECK(factor, LAC_ERR_ARG, "lac_factor_selected_inverse: the factor is NULL");
  LAC_TRY(lac_solver_require_cpu(ctx, "lac_factor_selected_inverse", values));
  LAC_CHECK(values->meta.dtype == factor->meta.dtype, LAC_ERR_DTYPE,
            "lac_factor_selected_inverse: the factor is %s and values are %s; they must agree",
            lac_dtype_name(factor->meta.dtype), lac_dtype_name(values->meta.dtype));
  LAC_CHECK(lac_factor_same_shape(&factor->meta, &values->meta, 1), LAC_ERR_SHAPE,
            "lac_factor_selected_inverse: values must have the shape of those that were factored, %s; they have %s",
            lac_shape_text(factor->meta.ndim, factor->meta.shape, text),
            lac_shape_text(values->meta.ndim, values->meta.shape, other));
  LAC_TRY(inverse_run(ctx, factor, lac_array_edit(values)));
done:
  return status;
}
