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

// x -= L(:, j) x_j for the steps j of column k, in their order, which become its column of U; *above is the largest
// number of that. False: one of these columns does not come.
static inline bool FN(again_update)(const again_team *team, int32_t k, T *x, pivoting_numeric *f, double *above) {
  const pivoting_index *lower = &f->shape->l, *upper = &f->shape->u;
  const int64_t *offsets = lower->offsets, end = upper->offsets[k + 1];
  const int32_t *rows = lower->rows, *steps = upper->rows;
  const T *l = f->l;
  T *u = f->u;
  double largest = 0;
  bool waits = team->threads > 1;
  for (int64_t p = upper->offsets[k]; p < end; p++) {
    int32_t j = steps[p];
    T value = x[j];
    double size = FN(size)(value);
    x[j] = 0;
    u[p] = value;
    if (size > largest) largest = size;
    if (waits && !again_await(team, j)) return false;
    int64_t begin = offsets[j];
    FN(column_take)(offsets[j + 1] - begin, rows + begin, l + begin, value, x);
  }
  *above = largest;
  return true;
}

// Column k of L and U. False: its pivot is not the one that `rule` takes, something overflows, or a column before it
// does not come.
static inline bool FN(again_column)(again_team *team, int32_t column, int32_t k, int32_t end, again_rule rule, T *x,
                                    pivoting_numeric *f) {
  const pivoting_index *lower = &f->shape->l;
  const lac_direct_job *job = team->job;
  T *l = f->l;
  double above, others = 0;
  bool is_finite = FN(again_read)(job->structure, job->values, column, k, end, x, f);
  if (!FN(again_update)(team, k, x, f, &above)) return false;
  double size = FN(size)(x[k]), rival = rule.rival >= 0 ? FN(size)(x[rule.rival]) : 0;
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
  pivoting_note(f, k, size, most, above);
  if (team->threads > 1) again_hand_over(team, k);
  return true;
}

// Columns from k on, up to `last`, in a column x that is zero; returns `last`, or the one that failed.
static int32_t FN(again_columns)(again_team *team, int32_t k, int32_t last, void *x, pivoting_numeric *f) {
  const pivoting_analysis *a = team->job->part;
  for (; k < last; k++) {
    int32_t column = a->order[k], end = a->col_block ? a->first[a->col_block[column] + 1] : f->n;
    again_rule rule = team->chosen ? again_rule_of(a, f->shape, k) : (again_rule){team->tolerance, -1};
    if (!FN(again_column)(team, column, k, end, rule, x, f)) break;
  }
  return k;
}
