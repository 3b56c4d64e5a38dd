// SPDX-License-Identifier: Apache-2.0
/// @file cost.c
/// What a direct factor will cost, without an ordering: the levels of a breadth-first search are separators.
///
///     w       rows of the narrowest level between a third and two thirds of the rows, from a row at the far end of the
///             graph, and dense rows, which are left out of it: they are neighbours of all, and orderings put them last;
///             no more than the graph has independent cycles, of which a tree has none
///     flops   6 w^3
///     nnz     4 n log2 w + 8 w^2
///
/// A guess: beside an analysis the flops were 0.2 times (nearest neighbours of random points) to 5 times (squares) what
/// is foreseen, of long bars 20 times, of graphs with a power law a 300th. That is enough where direct and iterative
/// solvers are far apart; where they are not, an analysis decides, and where that costs more than iterating does as a
/// rule, iterating begins and is watched (watch.h). Two searches, 17 bytes a row while they last.

#include <math.h>

#include "core/memory_impl.h"
#include "solvers/auto/cost.h"
#include "solvers/price.h"

// A direct solution may cost so much more than iterating does as a rule, that is by multigrid, in so many iterations
// and with a hierarchy of this complexity: it does not fail, it is exact, and a factor serves many right-hand sides.
static const double cost_worth = 1.3, cost_iterations = 20, cost_complexity = 1.33;

static const double cost_uneven = 1.4;    // times that is what multigrid takes where entries jump
static const double cost_doubt = 8;       // a guess so near the border may be on the wrong side of it
static const double cost_looking = 0.25;  // of iterating is what an analysis may take that only decides

enum { COST_SMALL = 10000 };  // rows: up to so many it is always solved directly
enum { COST_DENSE = 10 };     // times sqrt(n) entries make a row dense

typedef struct cost_search {
  const lac_pattern *pattern;
  int64_t *queue;
  int64_t *ends;  // of levels, in the queue
  unsigned char *seen;
  unsigned char mark;           // of this search
  int64_t most;                 // entries of a row that is not dense
  int64_t components, deepest;  // of this search: how many, and the most levels of one
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

/// Rows of the level that parts a component, which begins at a place of the queue, best: the narrowest between a third
/// and two thirds of its rows, or the one in the middle.
static int64_t cost_middle(const cost_search *s, int64_t begin, int64_t levels) {
  int64_t total = s->ends[levels - 1] - begin, at = begin, best = 0;

  for (int64_t i = 0; i < levels; at = s->ends[i++]) {
    int64_t rows = s->ends[i] - at, before = at - begin, until = s->ends[i] - begin;
    bool is_middle = 2 * before < total && 2 * until >= total;
    bool is_inside = 3 * before >= total && 3 * until <= 2 * total;
    if ((is_middle || is_inside) && (best == 0 || rows < best)) best = rows;
  }
  return best;
}

/// The rows that a row reaches, level by level, from the end of the queue on; returns how many levels.
static int64_t cost_component(cost_search *s, int64_t from, int64_t *tail) {
  int64_t head = *tail, levels = 0;

  s->seen[from] = s->mark;
  s->queue[(*tail)++] = from;
  while (head < *tail) {
    s->ends[levels++] = *tail;
    for (int64_t end = *tail; head < end; head++) *tail = cost_visit(s, head, *tail);
  }
  return levels;
}

/// From a row, through all components; the widest separator of one, and a row of the last level of the first.
static int64_t cost_levels(cost_search *s, int64_t start, int64_t *last) {
  int64_t n = s->pattern->rows, tail = 0, widest = 0, next = 0;

  s->mark++;
  s->components = s->deepest = 0;
  *last = start;
  while (tail < n) {
    int64_t begin = tail, from = start;
    while (s->seen[from] == s->mark) from = next++;
    int64_t levels = cost_component(s, from, &tail), width = cost_middle(s, begin, levels);
    if (width > widest) widest = width;
    if (levels > s->deepest) s->deepest = levels;
    s->components++;
    if (begin == 0) *last = s->queue[tail - 1];
  }
  return widest;
}

static int64_t cost_dense(const cost_search *s) {
  int64_t count = 0;
  for (int64_t i = 0; i < s->pattern->rows; i++) {
    count += lac_buffer_get(s->pattern->offsets, i + 1) - lac_buffer_get(s->pattern->offsets, i) > s->most;
  }
  return count;
}

/// Edges beyond those of a tree: no separator of a part need have more rows.
static double cost_cycles(const lac_pattern *pattern, int64_t components) {
  double edges = 0.5 * (double)(pattern->nnz - pattern->rows);
  return edges - (double)pattern->rows + (double)components + 1;
}

static lac_status cost_width(lac_context *ctx, const lac_pattern *pattern, lac_auto_cost *out) {
  lac_status status = LAC_OK;
  cost_search search = {.pattern = pattern, .most = (int64_t)(COST_DENSE * sqrt((double)pattern->rows))};
  int64_t last = 0;

  LAC_TRY(lac_pattern_host(ctx, pattern));
  LAC_ALLOC(search.queue, pattern->rows);
  LAC_ALLOC(search.ends, pattern->rows);
  LAC_ALLOC(search.seen, pattern->rows);
  (void)cost_levels(&search, 0, &last);
  out->width = (double)(cost_levels(&search, last, &last) + cost_dense(&search));
  out->width = fmax(1, fmin(out->width, cost_cycles(pattern, search.components)));
  out->levels = search.deepest;
done:
  lac_free(search.queue);
  lac_free(search.ends);
  lac_free(search.seen);
  return status;
}

static double cost_of_iterating(const lac_pattern *pattern) {
  lac_price_of of = {.preconditioner = "multigrid", .complexity = cost_complexity, .is_hermitian = true};
  return lac_price_setup(pattern, &of) + cost_iterations * lac_price_iteration(pattern, &of);
}

static double cost_of_analysis(const lac_pattern *pattern, const lac_auto_cost *c) {
  return c->is_exact ? 0 : lac_price_analysis(pattern, c->width, c->flops);
}

static bool cost_has_room(const lac_auto_cost *c) { return c->bytes <= 0.5 * (double)lac_memory_available(); }

/// By what is yet to do beside what iterating takes, and by the memory that there is.
static void cost_judge(const lac_pattern *pattern, lac_auto_cost *c) {
  double direct =
      cost_of_analysis(pattern, c) + lac_price_factor(pattern, c->flops, c->nnz) + lac_price_solve(pattern, c->nnz);
  c->share = direct / cost_of_iterating(pattern);
  c->is_costly = pattern->rows > COST_SMALL && (c->share >= cost_worth || !cost_has_room(c));
}

lac_status lac_auto_foresee(lac_context *ctx, const lac_pattern *pattern, lac_auto_cost *out) {
  lac_status status = LAC_OK;
  double n = (double)pattern->rows;
  const lac_band *band = NULL;

  *out = (lac_auto_cost){0};
  if (pattern->rows <= COST_SMALL || pattern->rows != pattern->cols) goto done;
  LAC_TRY(lac_pattern_band(ctx, pattern, &band));
  if (band->low >= 0 || band->high <= 0) goto done;  // triangular
  LAC_TRY(cost_width(ctx, pattern, out));
  out->flops = 6 * pow(out->width, 3);
  out->nnz = 4 * n * log2(out->width + 1) + 8 * pow(out->width, 2);
  out->bytes = 10 * out->nnz;
  cost_judge(pattern, out);
done:
  return status;
}

bool lac_auto_analysed(const lac_pattern *pattern, const lac_report *foreseen, lac_auto_cost *out) {
  if (foreseen->factor_nnz <= 0) return false;
  *out = (lac_auto_cost){.width = out->width,
                         .levels = out->levels,
                         .flops = foreseen->flops,
                         .bytes = (double)foreseen->factor_bytes,
                         .nnz = (double)foreseen->factor_nnz,
                         .is_exact = true};
  cost_judge(pattern, out);
  return true;
}

bool lac_auto_is_cheap_beside(const lac_auto_cost *cost) {
  return cost->share > 0 && cost->share < cost_uneven * cost_worth && cost_has_room(cost);
}

bool lac_auto_is_in_doubt(const lac_pattern *pattern, const lac_auto_cost *guess) {
  return guess->is_costly && guess->share < cost_doubt * cost_worth &&
         cost_of_analysis(pattern, guess) <= cost_looking * cost_of_iterating(pattern);
}
