// SPDX-License-Identifier: Apache-2.0
/// @file matrix_use.c
/// Matrices on tapes and in solvers.

#include "autodiff/rule.h"
#include "core/sized.h"
#include "matrix/matrix_impl.h"

// -- on a tape -------------------------------------------------------------------------------------------------------

static lac_var use_no_matrix(lac_tape *tape, const char *function) {
  return lac_tape_fail(
      tape, lac_context_fail(lac_tape_context(tape), LAC_ERR_ARG, function, "%s: the matrix is NULL", function));
}

/// The mirror images of the caller's numbers, by slots.
static lac_var use_image(lac_tape *tape, const lac_matrix *matrix, lac_var given) {
  lac_var image = lac_remap(tape, matrix->mirrored, given, LAC_PLAIN);
  return matrix->mirror == LAC_ADJOINT ? lac_conj(tape, image) : image;
}

lac_var lac_matrix_leaf(lac_tape *tape, const lac_matrix *matrix, lac_var *leaf) {
  lac_var given, flat;

  if (leaf) *leaf = (lac_var){0};
  if (!matrix) return use_no_matrix(tape, __func__);
  given = lac_tape_leaf(tape, matrix->given);
  if (leaf) *leaf = given;
  flat = matrix->entries ? lac_remap(tape, matrix->entries, given, LAC_PLAIN) : given;
  if (matrix->mirrored) return lac_add(tape, flat, use_image(tape, matrix, given));
  if (!matrix->entries || !lac_pattern_has_blocks(matrix->pattern)) return flat;
  return lac_reshape(tape, flat, matrix->values->meta.ndim, matrix->values->meta.shape);
}

lac_var lac_matrix_constant(lac_tape *tape, const lac_matrix *matrix) {
  return matrix ? lac_tape_constant(tape, matrix->values) : use_no_matrix(tape, __func__);
}

// -- in a solver -----------------------------------------------------------------------------------------------------

lac_status lac_matrix_factor(lac_context *ctx, const lac_matrix *matrix, const lac_solver_options *options,
                             lac_factor **out) {
  lac_status status = LAC_OK;
  lac_solver_options chosen;
  lac_solver *solver = NULL;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(matrix && out, LAC_ERR_ARG, "lac_matrix_factor: %s is NULL", matrix ? "out" : "the matrix");
  LAC_TRY(lac_sized_take(ctx, __func__, LAC_SIZED(lac_solver_options, preconditioner), options, &chosen));
  if (!chosen.method) chosen.method = "direct";
  LAC_TRY(lac_solver_create(ctx, matrix->pattern, &chosen, &solver));
  LAC_TRY(lac_solver_factor(ctx, solver, matrix->values, out));
done:
  lac_solver_destroy(&solver);
  return status;
}
