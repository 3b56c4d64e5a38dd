// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_shapes.c
/// Which aggregates of a grid are like their neighbours, so that P^T A P needs no search (lac_aggregation).

#include "backends/cpu/pairwise/pairwise.h"
#include "backends/cpu/pairwise/pairwise_lists.h"

enum { MEMBERS = 8, ENTRIES = LAC_SHAPE };  // of a shape, at most
_Static_assert(2 + MEMBERS + 3 * ENTRIES <= CPU_LIST, "a list has room for a shape and its shifts");

typedef struct sight {
  const lac_pattern *pattern;
  int64_t coarse;
  const int32_t *aggregates, *starts, *members;
} sight;

/// The distinct of `count` numbers, ascending; returns how many there are.
static int32_t distinct(int32_t count, const int32_t *numbers, int32_t *out) {
  int32_t found = 0;
  for (int32_t e = 0; e < count; ++e) {
    int32_t at = found;
    while (at > 0 && out[at - 1] >= numbers[e]) --at;
    if (at < found && out[at] == numbers[e]) continue;
    for (int32_t q = found++; q > at; --q) out[q] = out[q - 1];
    out[at] = numbers[e];
  }
  return found;
}

/// The shape of one coarse row, as lac_aggregation has it, and its shifts entry by entry behind it; returns its size, 0
/// where it has none.
static int shape_of_row(const sight *s, int64_t i, int32_t list[CPU_LIST]) {
  int32_t first = s->starts[i], members = s->starts[i + 1] - first, lengths[MEMBERS], shifts[ENTRIES], count = 0;
  if (members > MEMBERS) return 0;
  for (int32_t m = 0; m < members; ++m) {
    int64_t row = s->members[first + m], p = lac_buffer_get(s->pattern->offsets, row);
    int64_t end = lac_buffer_get(s->pattern->offsets, row + 1);
    if (end - p > ENTRIES - count) return 0;
    lengths[m] = (int32_t)(end - p);
    for (; p < end; ++p, ++count) {
      int32_t aggregate = s->aggregates[lac_buffer_get(s->pattern->columns, p)];
      if (aggregate < 0) return 0;
      shifts[count] = aggregate - (int32_t)i;
    }
  }
  list[0] = members;
  list[1] = distinct(count, shifts, list + 2);
  int32_t *to = list + 2 + list[1];
  for (int32_t m = 0; m < members; ++m) *to++ = lengths[m];
  for (int32_t e = 0; e < count; ++e, ++to) {
    for (*to = 0; list[2 + *to] != shifts[e];) ++*to;
  }
  for (int32_t e = 0; e < count; ++e) *to++ = shifts[e];
  return (int)(to - list);
}

/// Whether coarse row i has the shape of a list.
static inline bool row_is_like(const sight *s, int64_t i, const int32_t *list) {
  const int32_t first = s->starts[i], members = list[0], *lengths = list + 2 + list[1], *shifts = lengths + members;
  const int32_t *columns = s->pattern->columns->host;
  int32_t other = 0;
  if (s->starts[i + 1] - first != members) return false;
  for (int32_t m = 0; m < members; ++m) shifts += lengths[m];
  for (int32_t m = 0; m < members; ++m) {
    int64_t row = s->members[first + m], p = lac_buffer_get(s->pattern->offsets, row);
    if (lac_buffer_get(s->pattern->offsets, row + 1) - p != lengths[m]) return false;
    for (int32_t q = 0; q < lengths[m]; ++q) other |= s->aggregates[columns[p + q]] ^ ((int32_t)i + *shifts++);
  }
  return other == 0;
}

static bool shape_is_like(const void *self, int64_t slice, const int32_t *list) {
  const sight *s = self;
  int64_t first = slice * LAC_SLICE;
  if (list[0] == 0 || first + LAC_SLICE > s->coarse) return false;
  for (int64_t i = first; i < first + LAC_SLICE; ++i) {
    if (!row_is_like(s, i, list)) return false;
  }
  return true;
}

static int shape_make(const void *self, int64_t slice, int32_t list[CPU_LIST]) {
  const sight *s = self;
  int size = slice * LAC_SLICE + LAC_SLICE <= s->coarse ? shape_of_row(s, slice * LAC_SLICE, list) : 0;
  if (size && shape_is_like(self, slice, list)) return size;
  list[0] = 0;
  return 1;
}

lac_status cpu_pairwise_shaped(lac_context *ctx, const lac_pattern *pattern, lac_aggregation *aggregation) {
  int threads = lac_threads_worth(ctx->threads, ctx->threads, (double)pattern->nnz);
  sight s = {pattern, aggregation->coarse, aggregation->aggregates->host, aggregation->starts->host,
             aggregation->members->host};
  cpu_lister lister = {&s, shape_make, shape_is_like};
  bool fits = (2 + MEMBERS) * s.coarse + 3 * pattern->nnz <=
              LAC_SLICE * (int64_t)INT32_MAX;  // all lists, if no two are the same
  if (!aggregation->is_regular || pattern->columns->type != LAC_I32 || !fits) return LAC_OK;
  return cpu_lists_create(ctx, &lister, (aggregation->coarse + LAC_SLICE - 1) / LAC_SLICE, threads,
                          &aggregation->firsts, &aggregation->shapes);
}
