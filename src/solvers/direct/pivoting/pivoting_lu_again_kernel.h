// SPDX-License-Identifier: Apache-2.0
// LU with given pivots for one dtype; pivoting_lu_again.c has the equation. Included once for each.

#include "solvers/direct/pivoting/eliminate_column_kernel.h"

// The column by steps, scaled: into x, and what stands below its block, which ends before step `end`, to where it
// stays. False: that is out of range.
static inline bool FN(again_read)(const lac_structure *s, const T *a, int32_t column, int32_t k, int32_t end, T *x,
                                  pivoting_numeric *f) {
  const REAL *row_scale = f->row_scale, scale = ((const REAL *)f->col_scale)[column];
  const int32_t *place = f->shape->place;
  T *below = (T *)f->below + f->shape->below.offsets[k];
  bool is_finite = true;
  for (int64_t q = s->t_offsets[column]; q < s->t_offsets[column + 1]; q++) {
    int32_t row = s->t_rows[q], step = place[row];
    T value = a[s->t_slots[q]];
    if (step < end) {
      x[step] = value * row_scale[row] * scale;
    } else {
      value = *below++ = FN(rescale)(value, (double)row_scale[row], (double)scale);
      is_finite = is_finite && FN(finite)(value);
    }
  }
  return is_finite;
}

// x -= L(:, j) x_j for the steps j of column k, in their order, which become its column of U. Returns the largest
// number of that; infinite where one of these columns does not come.
static inline __attribute__((always_inline)) double FN(again_update)(int32_t k, pivoting_numeric *f, again_team *team,
                                                                     T *x) {
  const pivoting_index *lower = &f->shape->l, *upper = &f->shape->u;
  const T *l = f->l;
  T *u = f->u;
  double largest = 0;
  for (int64_t p = upper->offsets[k]; p < upper->offsets[k + 1]; p++) {
    int32_t j = upper->rows[p];
    T value = x[j];
    double size = FN(size)(value);
    x[j] = 0;
    u[p] = value;
    if (size > largest) largest = size;
    if (team && !again_await(team, j)) return (double)INFINITY;
    int64_t begin = lower->offsets[j];
    FN(column_take)(lower->offsets[j + 1] - begin, lower->rows + begin, l + begin, value, x);
  }
  return largest;
}

// Column k of L and U. False: its pivot is not the one that `rule` takes, or something overflows.
static inline __attribute__((always_inline)) bool FN(again_column)(const lac_structure *s, const void *values,
                                                                   int32_t column, int32_t k, int32_t end,
                                                                   again_rule rule, again_team *team, void *work,
                                                                   pivoting_numeric *f) {
  const pivoting_index *lower = &f->shape->l;
  T *x = work, *l = f->l;
  bool is_finite = FN(again_read)(s, values, column, k, end, x, f);
  double above = FN(again_update)(k, f, team, x), size = FN(size)(x[k]), others = 0;
  double rival = rule.rival >= 0 ? FN(size)(x[rule.rival]) : 0;
  T pivot = ((T *)f->diagonal)[k] = x[k], inverse = ((T *)f->inverse)[k] = FN(column_inverse)(pivot);
  bool is_tiny = !(size >= FN(tiny));
  x[k] = 0;
  for (int64_t q = lower->offsets[k]; q < lower->offsets[k + 1]; q++) {
    T value = x[lower->rows[q]];
    double candidate = FN(size)(value);
    if (candidate > others) others = candidate;
    l[q] = FN(column_over)(value, pivot, inverse, is_tiny);  // by zero where that is found in the end
    x[lower->rows[q]] = 0;
  }
  double most = size > others ? size : others;
  if (!again_takes(rule, size, others, rival) || !isfinite(most) || !isfinite(above) || !is_finite) return false;
  pivoting_note(f, column, size, most, above);
  if (team) again_hand_over(team, k);
  return true;
}

static inline __attribute__((always_inline)) int32_t FN(again_piece)(const lac_direct_job *job, int32_t k, int32_t last,
                                                                     double tolerance, bool chosen, again_team *team,
                                                                     void *work, pivoting_numeric *f) {
  const pivoting_analysis *a = job->part;
  for (; k < last; k++) {
    int32_t column = a->order[k], end = a->col_block ? a->first[a->col_block[column] + 1] : f->n;
    again_rule rule = chosen ? again_rule_of(a, f->shape, k) : (again_rule){tolerance, -1};
    if (!FN(again_column)(job->structure, job->values, column, k, end, rule, team, work, f)) break;
  }
  return k;
}

// Columns from k on, up to `last`, by one thread of a team, or by the only one (NULL); returns `last`, or the one that
// failed.
static int32_t FN(again_columns)(const lac_direct_job *job, int32_t k, int32_t last, double tolerance, bool chosen,
                                 again_team *team, void *work, pivoting_numeric *f) {
  if (!team) return FN(again_piece)(job, k, last, tolerance, chosen, NULL, work, f);
  return FN(again_piece)(job, k, last, tolerance, chosen, team, work, f);
}
