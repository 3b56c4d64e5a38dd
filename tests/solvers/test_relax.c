// SPDX-License-Identifier: Apache-2.0
/// The simple preconditioners, beside dense formulas: every side, dtype, batch and width.

#include "support/relax_case.h"

static dense identity_inverse(dense a, const lac_precondition *p) {
  dense m = dense_new(a.rows, a.rows);
  (void)p;
  for (int64_t i = 0; i < a.rows; i++) m.x[i * a.rows + i] = 1;
  return m;
}

static dense jacobi_inverse(dense a, const lac_precondition *p) {
  dense m = dense_new(a.rows, a.rows);
  (void)p;
  for (int64_t i = 0; i < a.rows; i++) m.x[i * a.rows + i] = 1 / a.x[i * a.rows + i];
  return m;
}

static const relax_case identity = {
    .table = &lac_preconditioner_identity, .inverse = identity_inverse, .scale_power = 0};
static const relax_case jacobi = {.table = &lac_preconditioner_jacobi, .inverse = jacobi_inverse, .scale_power = -1};

static void identity_is_nothing(lac_context *ctx) { relax_check(ctx, &identity); }

static void jacobi_divides_by_the_diagonal(lac_context *ctx) { relax_check(ctx, &jacobi); }

static void jacobi_names_a_row_without_a_diagonal(lac_context *ctx) {
  relax_refuses(ctx, &jacobi, 3, (const double[]){2, 1, 0, 1, 2, 1, 0, 1, 0}, LAC_ERR_SINGULAR, "row 2 in matrix 0");
}

CHECK_MAIN(identity_is_nothing, jacobi_divides_by_the_diagonal, jacobi_names_a_row_without_a_diagonal)
