// SPDX-License-Identifier: Apache-2.0
/// @file compose.c
/// Matrices made of matrices, and what is made of groups, of operators alone: derivatives come from the parts.
///
///     spadd        remap(from_a, a) + remap(from_b, b)      on the union
///     hadamard     remap(from_a, a) * remap(from_b, b)      on the intersection
///     kron         remap(map, outer product of a and b)     one array of all entries besides the result
///     block_diag   concat(a, b, ...)
///     segment_mean remap(map, x) times 1 / count
///     segment_mm   gather_mm with the map that lengths describe

#include "autodiff/rule.h"

/// Two matrices on one pattern, and their values combined there number by number.
typedef struct compose_pair {
  const char *name;
  lac_status (*join)(lac_context *, const lac_pattern *, const lac_pattern *, lac_pattern **, lac_map **, lac_map **);
  lac_var (*combine)(lac_tape *, lac_var, lac_var);
  bool takes_absent;  // values that are absent are zeros
} compose_pair;

static lac_var compose_on_pair(lac_tape *tape, const compose_pair *kind, const lac_pattern *pa, lac_var a,
                               const lac_pattern *pb, lac_var b, lac_pattern **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *both = NULL;
  lac_map *from_a = NULL, *from_b = NULL;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(kind->join(ctx, pa, pb, &both, &from_a, &from_b));
  if (a.id || !kind->takes_absent) LAC_TRY(lac_tape_check_values(tape, kind->name, 0, pa, a));
  if (b.id || !kind->takes_absent) LAC_TRY(lac_tape_check_values(tape, kind->name, 1, pb, b));
  y = kind->combine(tape, lac_emit_along(tape, from_a, a), lac_emit_along(tape, from_b, b));
  LAC_TRY(lac_tape_status(tape));
  if (out) *out = both, both = NULL;
done:
  lac_map_destroy(&from_a);
  lac_map_destroy(&from_b);
  lac_pattern_destroy(&both);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

lac_var lac_spadd(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                  lac_pattern **out) {
  static const compose_pair kind = {"spadd", lac_pattern_union, lac_add, true};
  return compose_on_pair(tape, &kind, pa, a, pb, b, out);
}

lac_var lac_hadamard(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                     lac_pattern **out) {
  static const compose_pair kind = {"hadamard", lac_pattern_intersection, lac_mul, false};
  return compose_on_pair(tape, &kind, pa, a, pb, b, out);
}

lac_var lac_kron(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                 lac_pattern **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *made = NULL;
  lac_map *map = NULL;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_kron(ctx, pa, pb, &made, &map));
  LAC_TRY(lac_tape_check_values(tape, "kron", 0, pa, a));
  LAC_TRY(lac_tape_check_values(tape, "kron", 1, pb, b));
  a = lac_emit_axes(tape, a, 1, 2, (int64_t[]){pa->nnz, 1});
  b = lac_emit_axes(tape, b, 1, 2, (int64_t[]){1, pb->nnz});
  y = lac_emit_axes(tape, lac_mul(tape, a, b), 2, 1, &made->nnz);
  y = lac_emit_along(tape, map, y);
  LAC_TRY(lac_tape_status(tape));
  if (out) *out = made, made = NULL;
done:
  lac_map_destroy(&map);
  lac_pattern_destroy(&made);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

lac_var lac_block_diag(lac_tape *tape, int n, const lac_pattern *const *patterns, const lac_var *values,
                       lac_pattern **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *made = NULL;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(patterns && values, LAC_ERR_ARG,
            "block_diag: the patterns or the values are NULL; give one of each for all");
  LAC_TRY(lac_pattern_block_diag(ctx, n, patterns, &made, NULL));
  for (int i = 0; i < n; ++i) LAC_TRY(lac_tape_check_values(tape, "block_diag", i, patterns[i], values[i]));
  y = lac_concat_all(tape, n, values, 0);
  LAC_TRY(lac_tape_status(tape));
  if (out) *out = made, made = NULL;
done:
  lac_pattern_destroy(&made);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

lac_var lac_segment_mean(lac_tape *tape, const lac_map *map, lac_var x) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *meta = lac_tape_meta(tape, x);
  lac_dtype dtype = meta ? meta->dtype : LAC_F64;  // a copy: calls grow the tape
  const lac_buffer *offsets = NULL, *sources = NULL;
  lac_array *share = NULL;
  double *numbers = NULL;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(map && meta, LAC_ERR_ARG, "segment_mean: the map or the array is missing");
  LAC_TRY(lac_map_runs(ctx, map, &offsets, &sources));
  LAC_TRY(lac_buffer_host(ctx, offsets));
  LAC_ALLOC(numbers, map->outputs);
  for (int64_t j = 0; j < map->outputs; ++j) {
    int64_t count = lac_buffer_get(offsets, j + 1) - lac_buffer_get(offsets, j);
    numbers[j] = count ? 1 / (double)count : 0;
  }
  LAC_TRY(lac_array_from(ctx, LAC_F64, 1, &map->outputs, numbers, LAC_COPY, &share));
  y = lac_remap(tape, map, LAC_N, x);
  y = lac_mul(tape, lac_cast(tape, dtype, lac_tape_constant(tape, share)), y);
  LAC_TRY(lac_tape_status(tape));
done:
  lac_free(numbers);
  lac_array_destroy(&share);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

/// Row i of the segments belongs to the matrix whose segment it is in.
static lac_status compose_segments(lac_context *ctx, int64_t n, int64_t r, const int64_t *lengths, lac_map **out) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;
  int64_t sum = 0;

  for (int64_t j = 0; j < r; ++j) {
    LAC_CHECK(lengths[j] >= 0 && lengths[j] <= n - sum, LAC_ERR_SHAPE,
              "segment_mm: lengths[%lld] = %lld; lengths are 0 or more and add up to the %lld rows of a", (long long)j,
              (long long)lengths[j], (long long)n);
    sum += lengths[j];
  }
  LAC_CHECK(sum == n, LAC_ERR_SHAPE, "segment_mm: the lengths add up to %lld and a has %lld rows; they must agree",
            (long long)sum, (long long)n);
  LAC_TRY(lac_buffer_create(ctx, lac_map_type(n, r), n, &target));
  for (int64_t j = 0, i = 0; j < r; ++j) {
    for (int64_t end = i + lengths[j]; i < end; ++i) lac_buffer_set(target, i, j);
  }
  LAC_TRY(lac_map_adopt(ctx, r, &target, out));
done:
  lac_object_release(target);
  return status;
}

lac_var lac_segment_mm(lac_tape *tape, lac_var a, lac_var b, int64_t r, const int64_t *lengths) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *meta = lac_tape_meta(tape, a);
  lac_map *map = NULL;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(meta && meta->ndim >= 2, LAC_ERR_SHAPE, "segment_mm: a must be (n, d)");
  LAC_CHECK(r >= 0 && (lengths || r == 0), LAC_ERR_ARG, "segment_mm: %lld lengths came, or none where some are needed",
            (long long)r);
  LAC_TRY(compose_segments(ctx, meta->shape[meta->ndim - 2], r, lengths, &map));
  y = lac_gather_mm(tape, map, LAC_N, a, b);
  LAC_TRY(lac_tape_status(tape));
done:
  lac_map_destroy(&map);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}
