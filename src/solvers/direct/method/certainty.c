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
/// singular to working precision, A^-1 is what the factor has for it, and both are 1 / eps or more. Parts that have
/// nothing to do with each other have no unit in common: each is measured by its own x.

#include "solvers/direct/method/certainty.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "solvers/direct/order/matching.h"

#define KERNEL_FILE "solvers/direct/method/certainty_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void certainty_rows_kernel(const lac_structure *, const void *, bool, const double *, double *);
typedef void certainty_errors_kernel(const lac_structure *, const void *, bool, int, int, const void *, const void *,
                                     double *);
typedef void certainty_sizes_kernel(int32_t, int, int, const double *, const void *, const int32_t *, double *);
typedef void certainty_join_kernel(const lac_structure *, const void *, int32_t *);
typedef double certainty_apart_kernel(const lac_structure *, const void *, bool, double);
static certainty_rows_kernel *const certainty_rows_kernels[] = TABLE(certainty_rows);
static certainty_errors_kernel *const certainty_errors_kernels[] = TABLE(certainty_errors);
static certainty_sizes_kernel *const certainty_sizes_kernels[] = TABLE(certainty_sizes);
static certainty_join_kernel *const certainty_join_kernels[] = TABLE(certainty_join);
static certainty_apart_kernel *const certainty_apart_kernels[] = TABLE(certainty_apart);

double lac_certainty_apart(const lac_system *a, lac_form form, double enough) {
  return certainty_apart_kernels[a->dtype](a->structure, a->values, form == LAC_TRANSPOSED, enough);
}

/// Units about the root: their exponents have the mean that those of the root have. Rows that have no column of their
/// own leave all units as they are: what is so singular does not come here.
static lac_status certainty_match(lac_certainty *c) {
  const lac_system *a = &c->task.system;
  int32_t n = a->structure->n, rank = 0;
  int32_t *match = lac_alloc((size_t)n * sizeof *match);
  double *scales = lac_alloc(2 * (size_t)n * sizeof *scales), *own, mean = 0;
  lac_status status = LAC_ERR_MEMORY;

  if (match && scales) status = lac_matching(a->structure, a->dtype, a->values, match, scales, scales + n, &rank);
  own = c->form == LAC_TRANSPOSED ? scales : scales + n;
  for (int32_t j = 0; status == LAC_OK && j < n; j++) mean += log2(own[j]) / n;
  for (int32_t j = 0; status == LAC_OK && j < n; j++) c->right[j] = c->task.root * exp2(floor(mean)) / own[j];
  lac_free(match);
  lac_free(scales);
  return status == LAC_ERR_MEMORY ? status : LAC_OK;
}

/// Numbers of the parts that have nothing to do with each other, of rows and of columns. One part needs none.
static bool certainty_divide(lac_certainty *c) {
  const lac_system *a = &c->task.system;
  int32_t n = a->structure->n, count = 0;
  int32_t *parent = lac_alloc(2 * (size_t)n * sizeof *parent), *number = lac_alloc(2 * (size_t)n * sizeof *number);

  if (!parent || !number) {
    lac_free(parent);
    lac_free(number);
    return false;
  }
  for (int32_t i = 0; i < 2 * n; i++) parent[i] = i;
  certainty_join_kernels[a->dtype](a->structure, a->values, parent);
  for (int32_t i = 0; i < 2 * n; i++) parent[i] = lac_forest_root(parent, i);
  for (int32_t i = 0; i < 2 * n; i++) number[i] = parent[i] == i ? count++ : 0;
  for (int32_t i = 0; i < 2 * n; i++) parent[i] = number[parent[i]];
  lac_free(number);
  c->parts = count;
  c->part = parent;
  return true;
}

lac_status lac_certainty_units(lac_certainty *c, lac_fault *fault) {
  int64_t n = c->task.system.structure->n;
  if (certainty_match(c) == LAC_OK && (c->part || certainty_divide(c))) return LAC_OK;
  snprintf(fault->text, sizeof fault->text, "out of memory: units of %lld rows", (long long)n);
  return LAC_ERR_MEMORY;
}

void lac_certainty_plain(lac_certainty *c) {
  for (int64_t j = 0; j < c->task.system.structure->n; j++) c->right[j] = c->task.root;
}

lac_status lac_certainty_open(const lac_system *a, bool refines, lac_form form, lac_certainty *out, lac_fault *fault) {
  int64_t n = a->structure->n;
  size_t block = (size_t)(n * LAC_INVERSE_NORM_WIDTH) * lac_dtype_size(a->dtype), row = (size_t)n * sizeof(double);
  char *memory = lac_alloc(2 * row + REFINE_BLOCKS * block);

  *out = (lac_certainty){.task = {.system = *a, .refines = refines}, .form = form, .memory = memory};
  if (!memory) {
    snprintf(fault->text, sizeof fault->text, "out of memory: %zu bytes to judge a solution",
             2 * row + REFINE_BLOCKS * block);
    return LAC_ERR_MEMORY;
  }
  out->left = (double *)(void *)memory;
  out->right = (double *)(void *)(memory + row);
  for (int i = 0; i < REFINE_BLOCKS; i++) out->task.blocks[i] = memory + 2 * row + (size_t)i * block;
  out->task.system.is_regular = false;  // this is what is in doubt
  out->parts = 1;
  out->task.root = lac_inverse_root(a);
  lac_certainty_plain(out);
  return LAC_OK;
}

void lac_certainty_rows(lac_certainty *c, int64_t from) {
  for (int64_t j = 0; j < from; j++) c->right[j] = 0;
  c->counts_b = true;
}

void lac_certainty_close(lac_certainty *c) {
  lac_free(c->memory);
  lac_free(c->part);
}

// || D A^-1 diag(left) ||_oo; what overflows is infinite.
static lac_status certainty_norm(lac_certainty *c, double *norm, lac_fault *fault) {
  lac_status status =
      lac_inverse_norm(&c->task, c->form == LAC_PLAIN ? LAC_TRANSPOSED : LAC_PLAIN, c->left, c->right, norm, fault);
  if (!isfinite(*norm)) *norm = (double)INFINITY;
  return status;
}

lac_status lac_certainty_condition(lac_certainty *c, double *condition, lac_fault *fault) {
  const lac_system *a = &c->task.system;
  certainty_rows_kernels[a->dtype](a->structure, a->values, c->form == LAC_TRANSPOSED, c->right, c->left);
  return certainty_norm(c, condition, fault);
}

/// Whose numbers: those of columns come first.
static const int32_t *certainty_part(const lac_certainty *c, bool of_rows) {
  if (!c->part) return NULL;
  return c->part + ((c->form == LAC_TRANSPOSED) != of_rows ? c->task.system.structure->n : 0);
}

/// The size of x in each part, by which errors are measured.
static void certainty_measure(lac_certainty *c, int width, int column, const void *b, const void *x, double *sizes) {
  int32_t n = c->task.system.structure->n;
  certainty_sizes_kernel *measure = certainty_sizes_kernels[c->task.system.dtype];

  for (int32_t i = 0; i < c->parts; i++) sizes[i] = 0;
  measure(n, width, column, c->right, x, certainty_part(c, false), sizes);
  if (!c->counts_b) return;
  for (int32_t i = 0; i < n; i++) c->left[i] = c->task.root;
  measure(n, width, column, c->left, b, certainty_part(c, true), sizes);
}

lac_status lac_certainty_error(lac_certainty *c, int width, int column, const void *b, const void *x, double *error,
                               lac_fault *fault) {
  const lac_system *a = &c->task.system;
  const int32_t *part = certainty_part(c, true);
  double one, *sizes = c->parts > 1 ? lac_alloc((size_t)c->parts * sizeof *sizes) : &one;
  bool any = false;

  *error = 0;
  if (!sizes) {
    snprintf(fault->text, sizeof fault->text, "out of memory: sizes of %lld parts", (long long)c->parts);
    return LAC_ERR_MEMORY;
  }
  certainty_measure(c, width, column, b, x, sizes);
  certainty_errors_kernels[a->dtype](a->structure, a->values, c->form == LAC_TRANSPOSED, width, column, b, x, c->left);
  for (int64_t i = 0; i < a->structure->n; i++) {
    double size = sizes[part ? part[i] : 0];
    c->left[i] = size > 0 ? c->left[i] / size : 0;
    any |= size > 0;
  }
  if (sizes != &one) lac_free(sizes);
  return any ? certainty_norm(c, error, fault) : LAC_OK;
}
