// SPDX-License-Identifier: Apache-2.0
/// @file matrix_use.c
/// Matrices on tapes, in solvers and in files.

#include <string.h>

#include "autodiff/rule.h"
#include "lacuna/io.h"
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
  const lac_solver_options direct = {.size = sizeof direct, .method = "direct"};
  lac_solver *solver = NULL;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(matrix && out, LAC_ERR_ARG, "lac_matrix_factor: %s is NULL", matrix ? "out" : "the matrix");
  LAC_TRY(lac_solver_create(ctx, matrix->pattern, options ? options : &direct, &solver));
  LAC_TRY(lac_solver_factor(ctx, solver, matrix->values, out));
done:
  lac_solver_destroy(&solver);
  return status;
}

// -- in a file -------------------------------------------------------------------------------------------------------

typedef enum file_kind { FILE_MATRIX_MARKET, FILE_TENSORS } file_kind;

static bool file_ends(const char *path, const char *ending) {
  size_t length = strlen(path), tail = strlen(ending);
  return length >= tail && strcmp(path + length - tail, ending) == 0;
}

/// What a path's ending says.
static lac_status file_find_kind(lac_context *ctx, const char *function, const char *path, file_kind *out) {
  lac_status status = LAC_OK;
  bool is_tensors, is_text;

  LAC_CHECK(path, LAC_ERR_ARG, "%s: path is NULL", function);
  is_tensors = file_ends(path, ".safetensors");
  is_text = file_ends(path, ".mtx") || file_ends(path, ".mtx.gz");
  LAC_CHECK(
      is_tensors || is_text, LAC_ERR_ARG,
      "%s: \"%s\" ends neither in .mtx or .mtx.gz (Matrix Market) nor in .safetensors; io.h has functions for each "
      "format by itself",
      function, path);
  *out = is_tensors ? FILE_TENSORS : FILE_MATRIX_MARKET;
done:
  return status;
}

/// A file of dense numbers has an array and no pattern: its zeros are dropped.
static lac_status file_take_dense(lac_context *ctx, const lac_array *array, lac_matrix **out) {
  lac_status status = LAC_OK;
  char *numbers = NULL;

  LAC_ALLOC(numbers, lac_array_bytes(array));
  LAC_TRY(lac_array_read(ctx, array, numbers));
  LAC_TRY(lac_matrix_from_dense(ctx, array->meta.shape[0], array->meta.shape[1], array->meta.dtype, numbers, 0, out));
done:
  lac_free(numbers);
  return status;
}

lac_status lac_matrix_from_file(lac_context *ctx, const char *path, lac_matrix **out) {
  lac_status status = LAC_OK;
  lac_pattern *pattern = NULL;
  lac_array *values = NULL;
  file_kind kind;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "lac_matrix_from_file: out is NULL");
  LAC_TRY(file_find_kind(ctx, __func__, path, &kind));
  if (kind == FILE_TENSORS) {
    LAC_TRY(lac_load_matrix(ctx, path, "matrix", &pattern, &values));
  } else {
    LAC_TRY(lac_read_matrix_market(ctx, path, NULL, &pattern, &values, NULL));
  }
  if (pattern) {
    LAC_TRY(lac_matrix_create(ctx, pattern, NULL, values, out));
  } else {
    LAC_TRY(file_take_dense(ctx, values, out));
  }
done:
  lac_pattern_destroy(&pattern);
  lac_array_destroy(&values);
  return status;
}

lac_status lac_matrix_to_file(lac_context *ctx, const lac_matrix *matrix, const char *path) {
  lac_status status = LAC_OK;
  file_kind kind;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(matrix, LAC_ERR_ARG, "lac_matrix_to_file: the matrix is NULL");
  LAC_TRY(file_find_kind(ctx, __func__, path, &kind));
  if (kind == FILE_TENSORS) {
    LAC_TRY(lac_save_matrix(ctx, path, "matrix", matrix->pattern, matrix->values));
  } else {
    LAC_TRY(lac_write_matrix_market(ctx, path, matrix->pattern, matrix->values, NULL));
  }
done:
  return status;
}
