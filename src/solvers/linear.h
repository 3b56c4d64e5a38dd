// SPDX-License-Identifier: Apache-2.0
/// @file linear.h
/// Linear maps on arrays [items, n, k]: what solvers are made for and what Krylov methods multiply by.
///
/// A matrix (pattern and values on arrays) is the most common one; a user's function, a program and a preconditioner
/// are others, known by their products alone.

#ifndef LACUNA_SOLVERS_LINEAR_H
#define LACUNA_SOLVERS_LINEAR_H

#include "kernels/kernels.h"
#include "solvers/survey/survey.h"

/// y = op(L) x; x and y have the dtype of the system and do not overlap. `apply` may be called by several threads at
/// once, each with a context of its own: what it works in, it takes and gives back.
typedef struct lac_linear {
  lac_status (*apply)(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y);
  const void *self;
  int64_t rows, cols;
  // Of a matrix (lac_linear_is_matrix) alone:
  const lac_pattern *pattern;
  const lac_array *values;        // [*batch, nnz]
  const lac_survey *survey;       // of the values, where one was made already; or NULL
  const lac_array *largest;       // [items, 1, 1], f64: the largest size in each matrix; goes with the survey
  int64_t levels;                 // of a breadth-first search: how far rows are apart; 0: not yet known
  const struct lac_nodes *nodes;  // of several unknowns (precondition/preconditioner.h); NULL: not yet known
} lac_linear;

static inline bool lac_linear_is_matrix(const lac_linear *a) { return a->pattern != NULL; }

/// The matrix of a pattern and values, as a kind of solver is given it: what else is said of it can be added.
static inline lac_linear lac_linear_matrix(const lac_pattern *pattern, const lac_array *values) {
  return (lac_linear){.rows = pattern->rows, .cols = pattern->cols, .pattern = pattern, .values = values};
}

static inline lac_status lac_linear_apply(lac_context *ctx, const lac_linear *linear, lac_form form, const lac_array *x,
                                          lac_array *y) {
  return linear->apply(ctx, linear->self, form, x, y);
}

/// A matrix as Krylov methods see it: the products of `self`, which outlives the map.
typedef struct lac_matrix_linear {
  const lac_pattern *pattern;
  const lac_array *values;  // [items, nnz]
} lac_matrix_linear;

lac_status lac_matrix_linear_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y);

#endif
