// SPDX-License-Identifier: Apache-2.0
/// @file pattern_mirror.c
/// The whole of a symmetric or Hermitian matrix that is known by one triangle T:
///
///     A = T + op(S)       S: T without its diagonal; op: transposed or adjoint
///
/// The pattern is the union of T and S^T. An entry of S is stored twice, so there are two maps from the slots of the
/// given pattern: `stored` takes T to A, `mirrored` takes S to its mirror image.

#include "core/pattern/pattern_impl.h"

/// A pattern on the way, and the map that takes values to it.
typedef struct mirror_part {
  lac_pattern *pattern;
  lac_map *map;
} mirror_part;

static void mirror_drop(mirror_part *part) {
  lac_pattern_destroy(&part->pattern);
  lac_map_destroy(&part->map);
}

static lac_status mirror_make(lac_context *ctx, const lac_pattern *p, lac_triangle triangle, lac_pattern **out,
                              lac_map **stored, lac_map **mirrored) {
  lac_status status = LAC_OK;
  int64_t beside = triangle == LAC_TRIANGLE_LOWER ? -1 : 1;
  mirror_part t = {0}, s = {0}, turned = {0};
  lac_pattern *whole = NULL;
  lac_map *from_t = NULL, *from_turned = NULL, *first = NULL;

  LAC_TRY(lac_pattern_triangle(ctx, p, triangle, 0, &t.pattern, &t.map));
  LAC_TRY(lac_pattern_triangle(ctx, p, triangle, beside, &s.pattern, &s.map));
  LAC_TRY(lac_pattern_transpose(ctx, s.pattern, &turned.pattern, &turned.map));
  LAC_TRY(lac_pattern_union(ctx, t.pattern, turned.pattern, &whole, &from_t, &from_turned));
  if (stored) LAC_TRY(lac_map_follow(ctx, p->nnz, 2, (const lac_map *[]){t.map, from_t}, &first));
  if (mirrored) LAC_TRY(lac_map_follow(ctx, p->nnz, 3, (const lac_map *[]){s.map, turned.map, from_turned}, mirrored));
  if (stored) *stored = first, first = NULL;
  *out = whole, whole = NULL;
done:
  mirror_drop(&t), mirror_drop(&s), mirror_drop(&turned);
  lac_pattern_destroy(&whole);
  lac_map_destroy(&from_t), lac_map_destroy(&from_turned), lac_map_destroy(&first);
  return status;
}

lac_status lac_pattern_mirror(lac_context *ctx, const lac_pattern *pattern, lac_triangle triangle, lac_pattern **out,
                              lac_map **stored, lac_map **mirrored) {
  lac_status status = LAC_OK;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_mirror: out is NULL");
  LAC_TRY(lac_pattern_require_host(ctx, pattern, "lac_pattern_mirror"));
  LAC_CHECK(triangle == LAC_TRIANGLE_LOWER || triangle == LAC_TRIANGLE_UPPER, LAC_ERR_ARG,
            "lac_pattern_mirror: triangle = %d; give LAC_TRIANGLE_LOWER or LAC_TRIANGLE_UPPER", (int)triangle);
  LAC_CHECK(pattern->rows == pattern->cols, LAC_ERR_SHAPE,
            "lac_pattern_mirror: the pattern is %lld x %lld; only a square matrix has a mirror image",
            (long long)pattern->rows, (long long)pattern->cols);
  LAC_TRY(mirror_make(ctx, pattern, triangle, out, stored, mirrored));
done:
  return status;
}
