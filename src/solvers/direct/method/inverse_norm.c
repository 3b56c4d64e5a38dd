// SPDX-License-Identifier: Apache-2.0
/// @file inverse_norm.c
/// The 1-norm of B = diag(left) op(A)^-1 diag(right), estimated (Hager 1984, Higham 1988).
///
///     ||B||_1 = max ||B x||_1 over ||x||_1 = 1        is at a unit vector, and convex:
///     y = B x,   z = B^H sign(y),   x = e_j where |z_j| is largest        until y grows no more
///
/// from x = (1, ..., 1) / n on; and once for a vector of alternating signs, which meets matrices that fool this. The
/// estimate is a lower bound of the norm, mostly sharp, rarely less than a third.

#include "solvers/direct/method/inverse_norm.h"

#include <math.h>
#include <string.h>

enum { NORM_STEPS = 5 };

#define KERNEL_FILE "solvers/direct/method/inverse_norm_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef double norm_root_kernel(int64_t, const void *);
typedef double norm_given_kernel(const lac_structure *, const void *, double);
typedef void norm_start_kernel(int32_t, const double *, double, void *);
typedef void norm_unit_kernel(int32_t, int32_t, double, void *);
typedef double norm_sum_kernel(int32_t, int, int, const double *, double, const void *);
typedef void norm_signs_kernel(int32_t, int, const double *, double, const void *, void *);
typedef double norm_largest_kernel(int32_t, const double *, double, const void *, int32_t *);
static norm_root_kernel *const norm_root_kernels[] = TABLE(norm_root);
static norm_given_kernel *const norm_given_kernels[] = TABLE(norm_given);
static norm_start_kernel *const norm_start_kernels[] = TABLE(norm_start);
static norm_unit_kernel *const norm_unit_kernels[] = TABLE(norm_unit);
static norm_sum_kernel *const norm_sum_kernels[] = TABLE(norm_sum);
static norm_signs_kernel *const norm_signs_kernels[] = TABLE(norm_signs);
static norm_largest_kernel *const norm_largest_kernels[] = TABLE(norm_largest);

double lac_inverse_root(const lac_system *a) { return norm_root_kernels[a->dtype](a->structure->nnz, a->values); }

double lac_inverse_given(const lac_system *a, double root) {
  return norm_given_kernels[a->dtype](a->structure, a->values, root);
}

/// Solve for the first `width` columns of block REFINE_B, into REFINE_X: by the factor as it is, or refined. Where
/// refinement does not arrive, what it has is still the size of the solution.
static lac_status inverse_solve(lac_inverse_task *t, lac_form form, int width, lac_fault *fault) {
  const lac_system *a = &t->system;
  lac_status status;
  if (lac_stop_is_set(a->stop)) return lac_fault_interrupted(fault);
  if (!t->refines) {
    return a->table->solve(a->analysis, a->numeric, form, width, a->threads, t->blocks[REFINE_B], t->blocks[REFINE_X],
                           t->blocks[REFINE_WORK], fault);
  }
  status = lac_refine_solve(a, form, width, t->blocks, NULL, fault);
  t->is_lost = t->is_lost || status == LAC_ERR_CONVERGENCE;
  return status == LAC_ERR_CONVERGENCE || status == LAC_ERR_NONFINITE ? LAC_OK : status;
}

// From e_j for the j of the largest of B^H sign(y), y the solution that is there, to the next y; *is_done where it
// grows no more.
static lac_status norm_step(lac_inverse_task *t, lac_form form, int width, const double *left, const double *right,
                            int32_t *at, double *before, double *norm, bool *is_done, lac_fault *fault) {
  int32_t n = t->system.structure->n, next;
  lac_dtype dtype = t->system.dtype;
  double largest, grown;
  lac_status status;

  *is_done = true;
  norm_signs_kernels[dtype](n, width, left, t->root, t->blocks[REFINE_X], t->blocks[REFINE_B]);
  status = inverse_solve(t, form == LAC_PLAIN ? LAC_TRANSPOSED : LAC_PLAIN, 1, fault);
  if (status != LAC_OK) return status;
  largest = norm_largest_kernels[dtype](n, right, t->root, t->blocks[REFINE_X], &next);
  if (next == *at || !(largest > *before)) return LAC_OK;
  *at = next, *before = largest;
  norm_unit_kernels[dtype](n, next, right ? right[next] : t->root, t->blocks[REFINE_B]);
  status = inverse_solve(t, form, 1, fault);
  if (status != LAC_OK) return status;
  grown = norm_sum_kernels[dtype](n, 1, 0, left, t->root, t->blocks[REFINE_X]);
  *is_done = grown <= *norm;
  if (!*is_done) *norm = grown;
  return LAC_OK;
}

lac_status lac_inverse_norm(lac_inverse_task *t, lac_form form, const double *left, const double *right, double *norm,
                            lac_fault *fault) {
  int32_t n = t->system.structure->n, at = -1;
  lac_dtype dtype = t->system.dtype;
  double alternating, before = -1;
  bool is_done = n <= 1;
  lac_status status;

  norm_start_kernels[dtype](n, right, t->root, t->blocks[REFINE_B]);
  status = inverse_solve(t, form, LAC_INVERSE_NORM_WIDTH, fault);
  if (status != LAC_OK) return status;
  *norm = norm_sum_kernels[dtype](n, LAC_INVERSE_NORM_WIDTH, 0, left, t->root, t->blocks[REFINE_X]);
  alternating = norm_sum_kernels[dtype](n, LAC_INVERSE_NORM_WIDTH, 1, left, t->root, t->blocks[REFINE_X]);
  for (int step = 0, width = LAC_INVERSE_NORM_WIDTH; step < NORM_STEPS && !is_done; step++, width = 1) {
    status = norm_step(t, form, width, left, right, &at, &before, norm, &is_done, fault);
    if (status != LAC_OK) return status;
  }
  if (!(alternating <= *norm)) *norm = alternating;
  return LAC_OK;
}
