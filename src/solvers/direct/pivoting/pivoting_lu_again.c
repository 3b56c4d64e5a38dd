// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu_again.c
/// LU with the pivots and therefore the shape of an earlier factor: no search, and nothing grows but the numbers.
///
///     column k   x = (R A C)(:, order(k)), rows by their steps;   u_jk = x_j, x -= l_j u_jk for its steps j in order
///                d_k = x_k;   l_ik = x_i / d_k
///
/// A pivot suits where it would be taken on the diagonal, however readily, and numbers do not grow much more than they
/// did; or, where pivots are those that a search would find (`chosen`), where it is the one that the rule of
/// pivoting_lu_kernel.h takes: the factor is then that of the search, to the last bit for real numbers.

#include <math.h>
#include <stdio.h>

#include "solvers/direct/pivoting/pivoting_lu_replay.h"

// When a pivot is taken: where it is `tolerance` of the largest number of its column; or, where another row was wanted
// for it, the `rival`, where that one is too small and no other one as large.
typedef struct again_rule {
  double tolerance;
  int32_t rival;  // a step; -1: the pivot is the row that was wanted
} again_rule;

static inline again_rule again_rule_of(const pivoting_analysis *a, const pivoting_shape *shape, int32_t k) {
  int32_t wanted = shape->wanted[k];
  return (again_rule){pivoting_tolerance(a, a->order[k], wanted, shape->tolerance),
                      wanted == shape->pivots[k] ? -1 : shape->place[wanted]};
}

static inline bool again_takes(again_rule rule, double size, double others, double rival) {
  if (rule.rival >= 0) return size > others && !(rival > 0 && rival >= rule.tolerance * size);
  return size > 0 && size >= rule.tolerance * (size > others ? size : others);
}

#define KERNEL_FILE "solvers/direct/pivoting/pivoting_lu_again_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef int32_t again_columns_kernel(const lac_direct_job *, int32_t, int32_t, double, bool, void *, pivoting_numeric *,
                                     bool *);
static again_columns_kernel *const again_columns_kernels[] = TABLE(again_columns);

enum { AGAIN_LOOK = 64 };  // columns after which it looks whether it shall end

static lac_status again_columns(const lac_direct_job *job, bool chosen, void *x, pivoting_numeric *f,
                                lac_fault *fault) {
  const pivoting_analysis *a = job->part;
  double since = 0, work = AGAIN_LOOK * f->shape->flops / f->n;  // on the average
  double tolerance = pivoting_readiness(job->options);
  bool is_done = true;
  for (int32_t k = 0; k < f->n && is_done;) {
    int32_t last = k + AGAIN_LOOK < f->n ? k + AGAIN_LOOK : f->n;
    if (lac_stop_is_due(job->stop, work, &since)) return lac_fault_interrupted(fault);
    k = again_columns_kernels[f->dtype](job, k, last, tolerance, chosen, x, f, &is_done);
    if (is_done) continue;
    snprintf(fault->text, sizeof fault->text, "the old pivot of column %d is 0, too small, or overflows", a->order[k]);
  }
  return is_done ? LAC_OK : LAC_ERR_CONVERGENCE;
}

/// The growth that old pivots may cause: it must leave digits of the dtype.
static double again_growth(lac_dtype dtype) { return fmin(PIVOTING_GROWTH, 1e-3 / lac_dtype_epsilon(dtype)); }

static bool again_suits(const pivoting_numeric *like, pivoting_numeric *f) {
  f->is_rough = like->is_rough || f->growth > fmax(PIVOTING_ROUGH, 2 * like->growth);
  return f->growth <= fmax(again_growth(f->dtype), like->growth);
}

static lac_status again_eliminate(const lac_direct_job *job, bool chosen, void *x, pivoting_numeric *f,
                                  lac_fault *fault) {
  int32_t zero_row = pivoting_scale(job, f);
  if (zero_row < 0) return again_columns(job, chosen, x, f, fault);
  snprintf(fault->text, sizeof fault->text, "row %d has only zeros", zero_row);
  return LAC_ERR_CONVERGENCE;
}

static lac_status again_by_columns(const lac_direct_job *job, pivoting_shape *shape, bool chosen,
                                   pivoting_numeric **numeric, lac_fault *fault) {
  pivoting_numeric *f = pivoting_create_like(shape, job->dtype);
  void *x = lac_calloc((size_t)job->structure->n, lac_dtype_size(job->dtype));
  lac_status status = LAC_ERR_MEMORY;

  if (f && x) {
    status = again_eliminate(job, chosen, x, f, fault);
  } else {
    snprintf(fault->text, sizeof fault->text, "out of memory: LU of %d rows", job->structure->n);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  pivoting_destroy(f);
  lac_free(x);
  return status;
}

lac_status pivoting_factor_again(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  const pivoting_numeric *like = job->like;
  pivoting_numeric *f = pivoting_replay_factor(job, like->shape, false);
  if (f && again_suits(like, f)) {
    pivoting_replay_count(f);
    *numeric = f;
    return LAC_OK;
  }
  pivoting_destroy(f);
  lac_status status = again_by_columns(job, like->shape, false, &f, fault);
  if (status != LAC_OK) return status;
  if (!again_suits(like, f)) {
    snprintf(fault->text, sizeof fault->text, "numbers grow to %.1e with the old pivots", f->growth);
    pivoting_destroy(f);
    return LAC_ERR_CONVERGENCE;
  }
  pivoting_replay_learn(job, f, like->shape);
  *numeric = f;
  return LAC_OK;
}

lac_status pivoting_factor_chosen(const lac_direct_job *job, pivoting_shape *shape, void **numeric, lac_fault *fault) {
  bool is_usual = atomic_load(&shape->is_usual) && !job->near && pivoting_readiness(job->options) == shape->tolerance;
  pivoting_numeric *f = pivoting_replay_factor(job, shape, true);
  lac_status status = f ? LAC_OK : LAC_ERR_CONVERGENCE;

  if (f) {
    pivoting_replay_count(f);
  } else if (is_usual) {
    status = again_by_columns(job, shape, true, &f, fault);
    if (status == LAC_OK) pivoting_replay_learn(job, f, shape);
    if (status == LAC_ERR_CONVERGENCE) atomic_store(&shape->is_usual, false);
  }
  *numeric = f;
  return status;
}
