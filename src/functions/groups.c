// SPDX-License-Identifier: Apache-2.0
/// @file groups.c
/// What is made of the groups of a map, of operators alone: derivatives come from the parts.
///
///     segment_mean   remap(map, x) / remap(map, 1), 0 for a group of nothing; of blocks of numbers, number by number
///     segment_mm     gather_mm with the map that lengths describe

#include "functions/function.h"

/// How many numbers each group of a map has, with `axes` more axes of size 1 behind.
static lac_var groups_counts(lac_tape *tape, const lac_map *map, lac_var x, int axes) {
  int64_t shape[LAC_MAX_DIMS];
  lac_var counts = lac_remap(tape, map, lac_full(tape, x, 1, &map->inputs, 1, 0), LAC_PLAIN);

  if (axes == 0) return counts;
  for (int d = 0; d <= axes; d++) shape[d] = d == 0 ? map->outputs : 1;
  return lac_reshape(tape, counts, axes + 1, shape);
}

lac_var lac_segment_mean(lac_tape *tape, const lac_map *map, lac_var x, int axes) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_var counts = {0};

  if (!lac_tape_has(tape, "segment_mean", 1, &x)) return (lac_var){0};
  LAC_CHECK(map, LAC_ERR_ARG, "segment_mean: the map is NULL; see lac_map_create and lac_pattern_row_map");
  LAC_CHECK(axes >= 0 && axes < LAC_MAX_DIMS, LAC_ERR_SHAPE, "segment_mean: %d axes behind each entry; give 0 to %d",
            axes, LAC_MAX_DIMS - 1);
  counts = groups_counts(tape, map, x, axes);
  return lac_div_or_zero(tape, lac_remap_blocks(tape, map, x, LAC_PLAIN, axes), counts);
done:
  return lac_tape_fail(tape, status);
}

/// Row i of the segments belongs to the matrix whose segment it is in.
static lac_status groups_segments(lac_context *ctx, int64_t n, int64_t r, const int64_t *lengths, lac_map **out) {
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

  if (!lac_tape_has(tape, "segment_mm", 2, (lac_var[]){a, b})) return (lac_var){0};
  LAC_CHECK(meta->ndim >= 2, LAC_ERR_SHAPE, "segment_mm: a has %d dimensions; it must be (n, d)", meta->ndim);
  LAC_CHECK(r >= 0 && (lengths || r == 0), LAC_ERR_ARG,
            "segment_mm: r = %lld lengths at %s; give a list and its length", (long long)r,
            lengths ? "a list" : "NULL");
  LAC_TRY(groups_segments(ctx, meta->shape[meta->ndim - 2], r, lengths, &map));
  y = lac_gather_mm(tape, map, a, b, LAC_PLAIN);
  LAC_TRY(lac_tape_status(tape));
done:
  lac_map_destroy(&map);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

LAC_WRITES(segment_mean, "map: map, x: array, axes: integer = 0",
           "The mean of each group of a map; 0 for an empty one. `axes` more stand behind each entry, as in remap: 1 "
           "for rows of features.") {
  c->out[0] = lac_segment_mean(c->tape, MAP(c, 0), IN(c, 0), (int)INT(c, 0));
}
