// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_lists.c
/// Slices are looked at in groups, each by one thread; a slice may share the list of the one before it in its group.

#include "backends/cpu/pairwise/pairwise_lists.h"

#include <string.h>

enum { GROUP = 1024 };

/// sizes[i] = the integers of the list of slice i, 0 where it is that of the slice before.
static void look_at_group(const cpu_lister *lister, int64_t begin, int64_t end, int32_t *sizes) {
  int32_t two[2][CPU_LIST];
  int last = 0, size = 0;
  for (int64_t i = begin; i < end; ++i) {
    sizes[i] = 0;
    if (size && lister->is_like(lister->self, i, two[last])) continue;
    int made = lister->make(lister->self, i, two[!last]);
    if (made == size && memcmp(two[0], two[1], (size_t)size * sizeof **two) == 0) continue;
    last = !last;
    sizes[i] = size = made;
  }
}

static void look_at_all(const cpu_lister *lister, int64_t slices, int threads, int32_t *sizes) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t begin = 0; begin < slices; begin += GROUP) {
    look_at_group(lister, begin, begin + GROUP < slices ? begin + GROUP : slices, sizes);
  }
}

/// From sizes to the places of lists, in place; returns the integers of all.
static int64_t place_all(int64_t slices, int32_t *firsts) {
  int64_t next = 0;
  for (int64_t i = 0; i < slices; ++i) {
    int32_t size = firsts[i];
    firsts[i] = size ? (int32_t)next : firsts[i - 1];
    next += size;
  }
  return next;
}

/// A list that does not begin where the one before does is a new one.
static void write_all(const cpu_lister *lister, int64_t slices, int threads, const int32_t *firsts, int32_t *lists) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < slices; ++i) {
    int32_t list[CPU_LIST];
    if (i > 0 && firsts[i] == firsts[i - 1]) continue;
    int size = lister->make(lister->self, i, list);
    memcpy(lists + firsts[i], list, (size_t)size * sizeof *list);
  }
}

lac_status cpu_lists_create(lac_context *ctx, const cpu_lister *lister, int64_t slices, int threads,
                            lac_buffer **firsts, lac_buffer **lists) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, slices, firsts));
  look_at_all(lister, slices, threads, (*firsts)->host);
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, place_all(slices, (*firsts)->host), lists));
  write_all(lister, slices, threads, (*firsts)->host, (*lists)->host);
done:
  return status;
}
