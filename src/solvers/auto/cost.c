// SPDX-License-Identifier: Apache-2.0
/// @file cost.c
/// What a direct factor will cost, without an ordering: the levels of a breadth-first search are separators.
///
///     w       rows of the widest level, from a row at the far end of the graph, and dense rows, which are left out of it: they are
///             neighbours of all, and orderings put them last
///     flops   10 w^3                    nested dissection of a square (w = sqrt n) and of a cube (w = n^(2/3))
///     nnz     4 n log2 w + 6 w^2
///
/// Both within a factor of a few, which is enough: where direct and iterative solvers are within that, either will do.
/// Two searches, 9 bytes a row while they last.

#include <math.h>

#include "core/memory_impl.h"
#include "solvers/auto/cost.h"

// Iterating to a tolerance takes about as long as so many operations of a dense kernel for each entry of the matrix.
// Direct solvers are worth more than that: they do not fail, and a factor serves many right-hand sides. Small systems
// are solved directly but where that is far more work: patterns that fill in as random ones do.
static const double cost_iterating = 1000, cost_worth = 4, cost_worth_small = 1000;

enum { COST_SMALL = 50000 };  // rows: below, a system is small
enum { COST_LEAST = 10000 };  // rows: below, it is always solved directly
enum { COST_DENSE = 10 };     // times sqrt(n) entries make a row dense

typedef struct cost_search {
  const lac_pattern *pattern;
  int64_t *queue;
  unsigned char *seen;
  unsigned char mark;  // of this search
  int64_t most;        // entries of a row that is not dense
} cost_search;

/// The neighbours of queue[head] that were not seen go to the end of the queue; returns where it ends.
static int64_t cost_visit(cost_search *s, int64_t head, int64_t tail) {
  const lac_pattern *p = s->pattern;
  int64_t row = s->queue[head], begin = lac_buffer_get(p->offsets, row), end = lac_buffer_get(p->offsets, row + 1);

  if (end - begin > s->most) return tail;
  for (int64_t e = begin; e < end; e++) {
    int64_t j = lac_buffer_get(p->columns, e);
    if (s->seen[j] == s->mark) continue;
    s->seen[j] = s->mark;
    s->queue[tail++] = j;
  }
  return tail;
}

/// From a row, through all components; the widest level, and a row of the last one of the first component.
static int64_t cost_levels(cost_search *s, int64_t start, int64_t *last) {
  int64_t n = s->pattern->rows, head = 0, tail = 0, widest = 0, next = 0;

  s->mark++;
  *last = -1;
  while (tail < n) {
    if (head == tail) {
      if (tail > 0 && *last < 0) *last = s->queue[tail - 1];
      int64_t from = start;
      while (s->seen[from] == s->mark) from = next++;
      s->seen[from] = s->mark;
      s->queue[tail++] = from;
    }
    int64_t end = tail;
    if (end - head > widest) widest = end - head;
    for (; head < end; head++) tail = cost_visit(s, head, tail);
  }
  if (tail - head > widest) widest = tail - head;
  if (*last < 0) *last = n > 0 ? s->queue[n - 1] : 0;
  return widest;
}

static int64_t cost_dense(const cost_search *s) {
  int64_t count = 0;
  for (int64_t i = 0; i < s->pattern->rows; i++) {
    count += lac_buffer_get(s->pattern->offsets, i + 1) - lac_buffer_get(s->pattern->offsets, i) > s->most;
  }
  return count;
}

static lac_status cost_width(lac_context *ctx, const lac_pattern *pattern, double *width) {
  lac_status status = LAC_OK;
  cost_search search = {.pattern = pattern, .most = (int64_t)(COST_DENSE * sqrt((double)pattern->rows))};
  int64_t last = 0;

  LAC_TRY(lac_pattern_host(ctx, pattern));
  LAC_ALLOC(search.queue, pattern->rows);
  LAC_ALLOC(search.seen, pattern->rows);
  (void)cost_levels(&search, 0, &last);
  *width = (double)(cost_levels(&search, last, &last) + cost_dense(&search));
done:
  lac_free(search.queue);
  lac_free(search.seen);
  return status;
}

lac_status lac_auto_foresee(lac_context *ctx, const lac_pattern *pattern, lac_auto_cost *out) {
  lac_status status = LAC_OK;
  double n = (double)pattern->rows;
  const lac_band *band = NULL;

  *out = (lac_auto_cost){0};
  if (pattern->rows < COST_LEAST || pattern->rows != pattern->cols) goto done;
  LAC_TRY(lac_pattern_band(ctx, pattern, &band));
  if (band->low >= 0 || band->high <= 0) goto done;  // triangular
  LAC_TRY(cost_width(ctx, pattern, &out->width));
  out->flops = 10 * pow(out->width, 3);
  out->bytes = 8 * (4 * n * log2(out->width + 1) + 6 * pow(out->width, 2));
  out->share = out->flops / (cost_iterating * (double)pattern->nnz);
  out->is_costly = out->share >= (pattern->rows < COST_SMALL ? cost_worth_small : cost_worth) ||
                   out->bytes > 0.5 * (double)lac_memory_available();
done:
  return status;
}
