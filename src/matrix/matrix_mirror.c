// SPDX-License-Identifier: Apache-2.0
/// @file matrix_mirror.c
/// Matrices of which one triangle is given: A = T + op(T without its diagonal), in the caller's own entries.

#include "lacuna/plain.h"
#include "matrix/matrix_impl.h"

lac_status lac_matrix_add_image(lac_context *ctx, const lac_matrix *matrix, const lac_array *given,
                                const lac_array *values, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *image = NULL, *turned = NULL;

  LAC_TRY(lac_run_remap(ctx, matrix->mirrored, given, LAC_PLAIN, &image));
  if (matrix->mirror == LAC_ADJOINT) LAC_TRY(lac_run_conj(ctx, image, &turned));
  LAC_TRY(lac_run_add(ctx, values, turned ? turned : image, out));
done:
  lac_array_destroy(&image);
  lac_array_destroy(&turned);
  return status;
}

static lac_status mirror_check(lac_context *ctx, const lac_matrix *matrix, lac_form op, lac_matrix **out) {
  lac_status status = LAC_OK;

  LAC_CHECK(matrix && out, LAC_ERR_ARG, "lac_matrix_mirror: %s is NULL", matrix ? "out" : "the matrix");
  LAC_CHECK(op == LAC_ADJOINT || op == LAC_TRANSPOSED, LAC_ERR_ARG,
            "lac_matrix_mirror: op = %d; give LAC_ADJOINT for a Hermitian matrix, LAC_TRANSPOSED for a symmetric one",
            (int)op);
  LAC_CHECK(!matrix->mirrored, LAC_ERR_ARG,
            "lac_matrix_mirror: the matrix was mirrored before and is whole; give the matrix of the triangle");
done:
  return status;
}

lac_status lac_matrix_mirror(lac_context *ctx, const lac_matrix *matrix, lac_triangle triangle, lac_form op,
                             lac_matrix **out) {
  lac_status status = LAC_OK;
  lac_pattern *whole = NULL;
  lac_map *stored = NULL, *mirrored = NULL, *entries = NULL;
  lac_matrix *m = NULL;
  int64_t count;

  LAC_CHECK_CONTEXT();
  LAC_TRY(mirror_check(ctx, matrix, op, out));
  count = matrix->entries ? matrix->entries->inputs : matrix->pattern->nnz;
  LAC_TRY(lac_pattern_mirror(ctx, matrix->pattern, triangle, &whole, &stored, &mirrored));
  LAC_TRY(lac_map_follow(ctx, count, 2, (const lac_map *[]){matrix->entries, stored}, &entries));
  LAC_TRY(lac_matrix_open(ctx, whole, entries, &m));
  LAC_TRY(lac_map_follow(ctx, count, 2, (const lac_map *[]){matrix->entries, mirrored}, &m->mirrored));
  m->mirror = op;
  LAC_TRY(lac_matrix_take(ctx, "lac_matrix_mirror", m, matrix->given));
  *out = m, m = NULL;
done:
  lac_object_release(m);
  lac_map_destroy(&entries);
  lac_map_destroy(&stored);
  lac_map_destroy(&mirrored);
  lac_pattern_destroy(&whole);
  return status;
}
