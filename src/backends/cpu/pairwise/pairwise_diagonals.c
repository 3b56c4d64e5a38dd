// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_diagonals.c
/// The diagonals that neighbouring rows of a coarse level share, and where its values are held (lac_slices).

#include <string.h>

#include "backends/cpu/pairwise/pairwise.h"
#include "backends/cpu/pairwise/pairwise_lists.h"

enum { DIAGONALS = 32 };  // of a slice, at most
enum { SAMPLES = 64 };    // slices that are looked at first
_Static_assert(1 + DIAGONALS <= CPU_LIST, "a list has room for them");

/// Take a diagonal into the ascending list of `count`, beginning at place *at, where the one before it in the row went;
/// returns the new count.
static int put(int32_t *shifts, int count, int32_t shift, int *at) {
  int place = *at;
  while (place < count && shifts[place] < shift) ++place;
  *at = place;
  if (place < count && shifts[place] == shift) return count;
  if (count < DIAGONALS) {
    memmove(shifts + place + 1, shifts + place, (size_t)(count - place) * sizeof *shifts);
    shifts[place] = shift;
  }
  return count + 1;
}

/// The number of diagonals and their shifts. Columns outside of the matrix may not be read, so that a slice at its edge
/// has none; nor has one whose rows have too little in common.
static int slice_make(const void *self, int64_t slice, int32_t list[CPU_LIST]) {
  const lac_pattern *p = self;
  const int32_t *columns = p->columns->host;
  int64_t first = slice * LAC_SLICE, begin, end;
  int32_t *shifts = list + 1;
  int count = 0;

  list[0] = 0;
  if (first + LAC_SLICE > p->rows) return 1;
  begin = end = lac_buffer_get(p->offsets, first);
  for (int64_t i = first; i < first + LAC_SLICE && count <= DIAGONALS; ++i) {
    int at = 0;
    int64_t q = end;
    end = lac_buffer_get(p->offsets, i + 1);
    for (; q < end && count <= DIAGONALS; ++q) count = put(shifts, count, (int32_t)(columns[q] - i), &at);
  }
  bool fits =
      count > 0 && count <= DIAGONALS && first + shifts[0] >= 0 && first + LAC_SLICE - 1 + shifts[count - 1] < p->cols;
  if (!fits || 4 * LAC_SLICE * count > 5 * (end - begin)) return 1;  // a zero to four entries, at most
  list[0] = count;
  return 1 + count;
}

/// Whether every row of a slice has all diagonals of the list: most slices of a grid, found at the speed of reading.
/// Where rows end need not be read, for columns ascend; but those of a single diagonal do from row to row as well, and
/// say nothing.
static bool slice_is_like(const void *self, int64_t slice, const int32_t *list) {
  const lac_pattern *p = self;
  int64_t first = slice * LAC_SLICE, begin = lac_buffer_get(p->offsets, first);
  const int32_t *columns = (const int32_t *)p->columns->host + begin;
  int32_t count = list[0], other = 0;
  if (count <= 1 || first + LAC_SLICE > p->rows ||
      lac_buffer_get(p->offsets, first + LAC_SLICE) - begin != LAC_SLICE * count)
    return false;
  for (int32_t r = 0; r < LAC_SLICE; ++r, columns += count) {
    for (int q = 0; q < count; ++q) other |= columns[q] ^ ((int32_t)first + r + list[1 + q]);
  }
  return other == 0;
}

/// Whether enough rows lie on diagonals, by some of them.
static bool is_promising(const lac_pattern *p, int64_t slices) {
  int64_t step = slices > SAMPLES ? slices / SAMPLES : 1, seen = 0, held = 0;
  for (int64_t i = step / 2; i < slices; i += step, ++seen) {
    int32_t list[CPU_LIST];
    held += slice_make(p, i, list) > 1;
  }
  return 4 * held >= 3 * seen && held > 0;
}

/// Where the values of each slice begin.
static void place_values(const lac_pattern *p, lac_slices *slices) {
  for (int64_t s = 0; s < slices->count; ++s) {
    int64_t row = s * LAC_SLICE, end = row + LAC_SLICE < p->rows ? row + LAC_SLICE : p->rows;
    int64_t diagonals = lac_buffer_get(slices->lists, lac_buffer_get(slices->firsts, s));
    lac_buffer_set(slices->starts, s, slices->room);
    slices->room +=
        diagonals ? LAC_SLICE * diagonals : lac_buffer_get(p->offsets, end) - lac_buffer_get(p->offsets, row);
  }
}

lac_status cpu_pairwise_slices(lac_context *ctx, const lac_pattern *pattern, lac_slices **out) {
  lac_status status = LAC_OK;
  int threads = lac_threads_worth(ctx->threads, ctx->threads, (double)pattern->nnz);
  int64_t count = (pattern->rows + LAC_SLICE - 1) / LAC_SLICE;
  cpu_lister lister = {pattern, slice_make, slice_is_like};
  lac_slices *made = NULL;

  if (pattern->columns->type != LAC_I32 || pattern->nnz > INT32_MAX / 2 || !is_promising(pattern, count)) return LAC_OK;
  LAC_ALLOC(made, 1);
  made->count = count;
  LAC_TRY(cpu_lists_create(ctx, &lister, count, threads, &made->firsts, &made->lists));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, count, &made->starts));
  place_values(pattern, made);
  *out = made, made = NULL;
done:
  lac_slices_destroy(made);
  return status;
}
