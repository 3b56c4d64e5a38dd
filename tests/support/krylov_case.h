// SPDX-License-Identifier: Apache-2.0
/// @file krylov_case.h
/// Systems for Krylov methods, run and measured against dense matrices.

#ifndef LACUNA_TESTS_KRYLOV_CASE_H
#define LACUNA_TESTS_KRYLOV_CASE_H

#include "solvers/krylov/krylov.h"
#include "support/direct_case.h"

/// A preconditioner by dense matrices: x = op(M)^-1 b for each item.
typedef struct krylov_inverse {
  int64_t items, n;
  const number *x;  // [items, n, n]: the inverses
  int calls;
  int varies;  ///< each second call gives the half of a row in two
} krylov_inverse;

typedef struct krylov_case {
  const lac_krylov_table *method;
  direct_case matrix;
  lac_form form;
  int64_t items, width;     // 0 stands for 1
  lac_iteration iteration;  // rtol 0 and atol 0: the defaults
  double tilt;              // item i has its diagonal times 1 + i tilt
  double scale;             // of b; 0 stands for 1
  const ref *b;             // NULL: random, each column another scale
  const ref *x0;
  krylov_inverse *inverse;  // NULL: no preconditioner
} krylov_case;

typedef struct krylov_result {
  lac_status status;
  lac_solve_report report;
  ref a, b, x;      // a: [items, nnz]
  double residual;  // the largest |b - op(A) x| / |b| of a column with b != 0, by dense matrices
} krylov_result;

/// Run a case. Fails the test where the run itself fails, unless `may_fail`.
krylov_result krylov_solve(lac_context *ctx, const krylov_case *c, int may_fail);

/// The same without the residual by dense matrices: for large systems.
krylov_result krylov_solve_only(lac_context *ctx, const krylov_case *c);

/// The largest distance of x from op(A)^-1 b, beside the largest number of a column.
double krylov_error(const krylov_case *c, const krylov_result *got);

/// The inverse of the diagonal of a case's matrices, and of a triangle of them: Hermitian where A is, and not.
krylov_inverse *krylov_diagonal(const krylov_case *c);
krylov_inverse *krylov_triangle(const krylov_case *c);

/// The dense op(A) of an item.
dense krylov_dense(const krylov_case *c, const ref *a, int64_t item);

#endif
