// SPDX-License-Identifier: Apache-2.0
/// @file slices.c
/// The diagonals that neighbouring rows of a coarse level share, and where its values are held (lac_slices).
///
/// Slices are looked at in groups of GROUP, each by one thread; a slice that has the diagonals of the one before it in its group shares its
/// list. A grid has a handful of lists.

#include <omp.h>
#include <string.h>

#include "solvers/multigrid/hierarchy.h"

enum { DIAGONALS = 32 };  // of a slice, at most
enum { GROUP = 1024 };
enum { SAMPLES = 64 };  // slices that are looked at first

typedef struct list {
  int count;  // of diagonals; 0 where the rows have too little in common
  bool is_full;
  int32_t shifts[DIAGONALS];  // columns less rows, ascending
} list;

/// Take a diagonal into the list, beginning at place *at, where the one before it in the row went.
static void list_put(list *l, int32_t shift, int *at) {
  int place = *at;
  while (place < l->count && l->shifts[place] < shift) ++place;
  *at = place;
  if (place < l->count && l->shifts[place] == shift) return;
  if (l->count < DIAGONALS) {
    memmove(l->shifts + place + 1, l->shifts + place, (size_t)(l->count - place) * sizeof *l->shifts);
    l->shifts[place] = shift;
  }
  ++l->count;
}

/// The diagonals of a slice. Columns that would lie outside of the matrix are none that may be read, so it has no list then.
static void list_of(const lac_pattern *p, int64_t slice, list *l) {
  int64_t first = slice * LAC_SLICE, begin, end;
  const int32_t *columns = p->columns->host;
  l->count = 0;
  if (first + LAC_SLICE > p->rows) return;
  begin = end = lac_buffer_get(p->offsets, first);
  for (int64_t i = first; i < first + LAC_SLICE && l->count <= DIAGONALS; ++i) {
    int at = 0;
    int64_t q = end;
    end = lac_buffer_get(p->offsets, i + 1);
    for (; q < end && l->count <= DIAGONALS; ++q) list_put(l, (int32_t)(columns[q] - i), &at);
  }
  bool fits = l->count > 0 && l->count <= DIAGONALS && first + l->shifts[0] >= 0 &&
              first + LAC_SLICE - 1 + l->shifts[l->count - 1] < p->cols;
  if (!fits || 4 * LAC_SLICE * l->count > 5 * (end - begin)) l->count = 0;  // a quarter of zeros, at most
  l->is_full = LAC_SLICE * l->count == end - begin;
}

/// Whether a slice has exactly the diagonals of a full list: most slices of a grid, found at the speed of reading.
static bool is_like(const lac_pattern *p, int64_t slice, const list *l) {
  int64_t first = slice * LAC_SLICE, begin = lac_buffer_get(p->offsets, first);
  const int32_t *columns = (const int32_t *)p->columns->host + begin;
  int32_t other = 0;
  if (!l->is_full || first + LAC_SLICE > p->rows ||
      lac_buffer_get(p->offsets, first + LAC_SLICE) - begin != LAC_SLICE * l->count)
    return false;
  for (int32_t r = 0; r < LAC_SLICE; ++r, columns += l->count) {
    for (int q = 0; q < l->count; ++q) other |= columns[q] ^ ((int32_t)first + r + l->shifts[q]);
  }
  return other == 0;
}

static bool is_equal(const list *a, const list *b) {
  return a->count == b->count && a->is_full == b->is_full &&
         memcmp(a->shifts, b->shifts, (size_t)a->count * sizeof *a->shifts) == 0;
}

/// sizes[i] = the integers of the list of slice i, 0 where it is that of the slice before.
static void look_at_group(const lac_pattern *p, int64_t begin, int64_t end, int32_t *sizes) {
  list two[2];
  int last = 0;
  for (int64_t i = begin; i < end; ++i) {
    sizes[i] = 0;
    if (i > begin && is_like(p, i, &two[last])) continue;
    list_of(p, i, &two[!last]);
    if (i > begin && is_equal(&two[0], &two[1])) continue;
    last = !last;
    sizes[i] = two[last].count + 1;
  }
}

static void look_at_all(const lac_pattern *p, int64_t slices, int32_t *sizes, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t begin = 0; begin < slices; begin += GROUP) {
    look_at_group(p, begin, begin + GROUP < slices ? begin + GROUP : slices, sizes);
  }
}

/// Whether enough rows lie on diagonals, by some of them.
static bool is_promising(const lac_pattern *p, int64_t slices) {
  int64_t step = slices > SAMPLES ? slices / SAMPLES : 1, seen = 0, held = 0;
  for (int64_t i = step / 2; i < slices; i += step, ++seen) {
    list l;
    list_of(p, i, &l);
    held += l.count > 0;
  }
  return 4 * held >= 3 * seen && held > 0;
}

/// The lists of the slices that have one of their own, and where the others find theirs; where the values of each begin.
static void write_lists(const lac_pattern *p, lac_slices *slices) {
  int32_t *firsts = slices->firsts->host, *starts = slices->starts->host, *lists = slices->lists->host, next = 0;
  for (int64_t i = 0; i < slices->count; ++i) {
    int64_t row = i * LAC_SLICE, end = row + LAC_SLICE < p->rows ? row + LAC_SLICE : p->rows;
    int32_t size = firsts[i];
    if (size) {
      list l;
      list_of(p, i, &l);
      lists[next] = l.count;
      memcpy(lists + next + 1, l.shifts, (size_t)l.count * sizeof *lists);
    }
    firsts[i] = size ? next : firsts[i - 1];
    next += size;
    starts[i] = (int32_t)slices->room;
    slices->room += lists[firsts[i]] ? LAC_SLICE * lists[firsts[i]]
                                     : lac_buffer_get(p->offsets, end) - lac_buffer_get(p->offsets, row);
  }
}

lac_status lac_slices_create(lac_context *ctx, const lac_pattern *p, lac_slices **out) {
  lac_status status = LAC_OK;
  int64_t slices = (p->rows + LAC_SLICE - 1) / LAC_SLICE, integers = 0;
  lac_slices *made = NULL;

  if (p->columns->type != LAC_I32 || p->nnz > INT32_MAX / 2 || !is_promising(p, slices)) return LAC_OK;
  LAC_ALLOC(made, 1);
  made->count = slices;
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, slices, &made->firsts));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, slices, &made->starts));
  look_at_all(p, slices, made->firsts->host, p->nnz < 50000 ? 1 : lac_structure_threads(ctx));
  for (int64_t i = 0; i < slices; ++i) integers += lac_buffer_get(made->firsts, i);
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, integers, &made->lists));
  write_lists(p, made);
  *out = made, made = NULL;
done:
  lac_slices_destroy(made);
  return status;
}

void lac_slices_destroy(lac_slices *slices) {
  if (!slices) return;
  lac_object_release(slices->firsts);
  lac_object_release(slices->starts);
  lac_object_release(slices->lists);
  lac_free(slices);
}
