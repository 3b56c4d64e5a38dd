// SPDX-License-Identifier: Apache-2.0
/// @file certainty.c
/// Condition numbers and forward errors, entry by entry (Skeel 1979; LAPACK's error bounds), in units D of x:
///
///     condition       || D |A^-1| |A| D^-1 ||_oo
///     error of x      || D |A^-1| (|r| + eps (|A| |x| + |b|)) ||_oo / || D x ||_oo,   r = b - A x
///
/// D is 1, or one over the scales of columns by which the largest numbers that can be matched with
/// each other are 1 and no other is larger (order/matching.h): units of the matrix, not of its solution. Both are || D
/// A^-1 diag(w) ||_oo = || diag(w) A^-T D ||_1 for weights w, which a few solves estimate (inverse_norm.c). Scaling
/// rows or columns changes neither: a penalty of 1e20 or graded rows are as certain as they were. Of a matrix that is
/// singular to working precision, A^-1 is what the factor has for it, and both are 1 / eps or more.

#include "solvers/direct/method/certainty.h"

#include <math.h>
#include <stdio.h>

#include "solvers/direct/order/matching.h"

#define KERNEL_FILE "solvers/direct/method/certainty_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void certainty_rows_kernel(const lac_structure *, const void *, bool, const double *, double *);
typedef void certainty_errors_kernel(const lac_structure *, const void *, bool, int, int, const void *, const void *,
                                     double *);
typedef double certainty_size_kernel(int32_t, int, int, const double *, const void *);
static certainty_rows_kernel *const certainty_rows_kernels[] = TABLE(certainty_rows);
static certainty_errors_kernel *const certainty_errors_kernels[] = TABLE(certainty_errors);
static certainty_size_kernel *const certainty_size_kernels[] = TABLE(certainty_size);

/// Units about the root: their exponents have the mean that those of the root have. Rows that have no column of their
/// own leave all units as they are: what is so singular does not come here.
lac_status lac_certainty_units(lac_certainty *c, lac_fault *fault) {
  const lac_system *a = &c->task.system;
  int32_t n = a->structure->n, rank = 0;
  int32_t *match = lac_alloc((size_t)n * sizeof *match);
  double *scales = lac_alloc(2 * (size_t)n * sizeof *scales), *own, mean = 0;
  lac_status status = LAC_ERR_MEMORY;

  if (match && scales) status = lac_matching(a->structure, a->dtype, a->values, match, scales, scales + n, &rank);
  own = c->side == LAC_T ? scales : scales + n;
  for (int32_t j = 0; status == LAC_OK && j < n; j++) mean += log2(own[j]) / n;
  for (int32_t j = 0; status == LAC_OK && j < n; j++) c->right[j] = c->task.root * exp2(floor(mean)) / own[j];
  if (status == LAC_ERR_MEMORY)
    snprintf(fault->text, sizeof fault->text, "out of memory: units of %lld rows", (long long)n);
  lac_free(match);
  lac_free(scales);
  return status == LAC_ERR_MEMORY ? status : LAC_OK;
}

lac_status lac_certainty_open(const lac_system *a, bool refines, lac_side side, lac_certainty *out, lac_fault *fault) {
  int64_t n = a->structure->n;
  size_t block = (size_t)(n * LAC_INVERSE_NORM_WIDTH) * lac_dtype_size(a->dtype), row = (size_t)n * sizeof(double);
  char *memory = lac_alloc(2 * row + REFINE_BLOCKS * block);

  *out = (lac_certainty){.task = {.system = *a, .refines = refines}, .side = side, .memory = memory};
  if (!memory) {
    snprintf(fault->text, sizeof fault->text, "out of memory: %zu bytes to judge a solution",
             2 * row + REFINE_BLOCKS * block);
    return LAC_ERR_MEMORY;
  }
  out->left = (double *)(void *)memory;
  out->right = (double *)(void *)(memory + row);
  for (int i = 0; i < REFINE_BLOCKS; i++) out->task.blocks[i] = memory + 2 * row + (size_t)i * block;
  out->task.system.is_regular = false;  // this is what is in doubt
  (void)lac_inverse_root(a, &out->task.root);
  for (int64_t j = 0; j < n; j++) out->right[j] = out->task.root;
  return LAC_OK;
}

void lac_certainty_rows(lac_certainty *c, int64_t from) {
  for (int64_t j = 0; j < from; j++) c->right[j] = 0;
  c->counts_b = true;
}

void lac_certainty_close(lac_certainty *c) { lac_free(c->memory); }

// || D A^-1 diag(left) ||_oo; what overflows is infinite.
static lac_status certainty_norm(lac_certainty *c, double *norm, lac_fault *fault) {
  lac_status status = lac_inverse_norm(&c->task, c->side == LAC_N ? LAC_T : LAC_N, c->left, c->right, norm, fault);
  if (!isfinite(*norm)) *norm = (double)INFINITY;
  return status;
}

lac_status lac_certainty_condition(lac_certainty *c, double *condition, lac_fault *fault) {
  const lac_system *a = &c->task.system;
  certainty_rows_kernels[a->dtype](a->structure, a->values, c->side == LAC_T, c->right, c->left);
  return certainty_norm(c, condition, fault);
}

/// The size of x, by which errors are measured.
static double certainty_size_of(lac_certainty *c, int width, int column, const void *b, const void *x) {
  int32_t n = c->task.system.structure->n;
  certainty_size_kernel *size_of = certainty_size_kernels[c->task.system.dtype];
  double size = size_of(n, width, column, c->right, x);

  if (!c->counts_b) return size;
  for (int32_t i = 0; i < n; i++) c->left[i] = c->task.root;
  return fmax(size, size_of(n, width, column, c->left, b));
}

lac_status lac_certainty_error(lac_certainty *c, int width, int column, const void *b, const void *x, double *error,
                               lac_fault *fault) {
  const lac_system *a = &c->task.system;
  double size = certainty_size_of(c, width, column, b, x);

  *error = 0;
  if (!(size > 0)) return LAC_OK;
  certainty_errors_kernels[a->dtype](a->structure, a->values, c->side == LAC_T, width, column, b, x, c->left);
  for (int64_t i = 0; i < a->structure->n; i++) c->left[i] /= size;
  return certainty_norm(c, error, fault);
}
