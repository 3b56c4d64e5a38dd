// SPDX-License-Identifier: Apache-2.0
/// @file cost.c
/// What a direct factor will cost, without an ordering: the levels of a breadth-first search are separators.
///
///     w       rows of the narrowest level between a third and two thirds of the rows, from a row at the far end of the
///             graph, and dense rows, which the search leaves out: they join all rows, and orderings put them last;
///             no more than the graph has independent cycles, of which a tree has none
///     flops   6 w^3
///     nnz     4 n log2 w + 8 w^2
///
/// Where an entry has no mirror, the search goes along rows and columns alike, as elimination does, and the factor is
/// LU: twice as much; what iterates is GMRES.
///
/// A guess: compared with an analysis the flops were 0.2 times (nearest neighbours of random points) to 5 times
/// (squares) what is foreseen, of long bars 20 times, of graphs with a power law a 300th. That is enough where direct
/// and iterative solvers are far apart; where they are not, an analysis decides, and where that costs more than
/// iterating does as a rule, iterating begins and is watched (watch.h). Two searches, 17 bytes a row while they last.

#include <math.h>
#include <string.h>

#include "core/memory_impl.h"
#include "core/numbers/search.h"
#include "solvers/auto/cost.h"
#include "solvers/precondition/preconditioner.h"
#include "solvers/price.h"

// A direct solution may cost so much more than iterating does as a rule, that is by multigrid, in so many iterations
// and with a hierarchy of this complexity: it does not fail, it is exact, and a factor serves many right-hand sides.
static const double cost_worth = 1.3, cost_iterations = 20, cost_complexity = 1.33;

static const double cost_grid = 10;     // iterations on a grid
static const double cost_uneven = 1.4;  // times that is what multigrid takes where entries jump
static const double cost_uneven_grid = 5;
static const double cost_doubt = 8;       // a guess so near the border may be on the wrong side of it
static const double cost_looking = 0.25;  // of iterating is what an analysis may take that only decides

enum { COST_SMALL = 10000 };  // rows: up to so many it is always solved directly
enum { COST_BAND = 64 };      // diagonals, up to which a matrix is solved directly, wherever it is
enum { COST_DENSE = 10 };     // times sqrt(n) entries make a row dense
enum { COST_SAMPLES = 512 };  // rows that are looked at for entries without a mirror

typedef struct cost_search {
  int64_t rows, nnz;
  lac_rows halves[2];  // where neighbours stand: rows, and the columns where these are others
  int count;           // of halves
  int64_t *queue;
  int64_t *ends;  // of levels, in the queue
  unsigned char *seen;
  unsigned char mark;           // of this search
  int64_t most;                 // entries of a row that is not dense
  int64_t components, deepest;  // of this search: how many, and the most levels of one
} cost_search;

// -- neighbours ------------------------------------------------------------------------------------------------------

static int64_t cost_begin(const lac_rows *half, int64_t row) { return lac_buffer_get(half->offsets, row); }

static bool cost_has(const lac_rows *half, int64_t row, int64_t column) {
  int64_t at = cost_begin(half, row), end = cost_begin(half, row + 1), high = end;
  LAC_SEARCH(at, high, i, lac_buffer_get(half->columns, i) < column)
  return at < end && lac_buffer_get(half->columns, at) == column;
}

/// Whether all entries of some rows have their mirrors.
static bool cost_is_symmetric(const lac_rows *rows) {
  int64_t step = rows->rows / COST_SAMPLES + 1;
  for (int64_t i = 0; i < rows->rows; i += step) {
    for (int64_t e = cost_begin(rows, i), end = cost_begin(rows, i + 1); e < end; e++) {
      if (!cost_has(rows, lac_buffer_get(rows->columns, e), i)) return false;
    }
  }
  return true;
}

static bool cost_is_dense(const cost_search *s, int64_t row) {
  for (int h = 0; h < s->count; h++) {
    if (cost_begin(&s->halves[h], row + 1) - cost_begin(&s->halves[h], row) > s->most) return true;
  }
  return false;
}

/// Off-diagonal entries of a row that have a mirror.
static int64_t cost_mirrored(const cost_search *s, int64_t row) {
  const lac_rows *a = &s->halves[0], *t = &s->halves[1];
  int64_t p = cost_begin(a, row), q = cost_begin(t, row), count = 0;
  const int64_t a_end = cost_begin(a, row + 1), t_end = cost_begin(t, row + 1);

  while (p < a_end && q < t_end) {
    int64_t i = lac_buffer_get(a->columns, p), j = lac_buffer_get(t->columns, q);
    count += i == j && i != row;
    p += i <= j, q += j <= i;
  }
  return count;
}

/// Pairs of rows that are neighbours.
static double cost_edges(const cost_search *s) {
  int64_t beside = s->nnz - s->rows, mirrored = s->count == 1 ? beside : 0;
  for (int64_t i = 0; s->count > 1 && i < s->rows; i++) mirrored += cost_mirrored(s, i);
  return (double)beside - 0.5 * (double)mirrored;
}

// -- the search ------------------------------------------------------------------------------------------------------

/// The neighbours of queue[head] that were not seen go to the end of the queue; returns where it ends.
static int64_t cost_visit(cost_search *s, int64_t head, int64_t tail) {
  int64_t row = s->queue[head];

  if (cost_is_dense(s, row)) return tail;
  for (int h = 0; h < s->count; h++) {
    const lac_rows *half = &s->halves[h];
    for (int64_t e = cost_begin(half, row), end = cost_begin(half, row + 1); e < end; e++) {
      int64_t j = lac_buffer_get(half->columns, e);
      if (s->seen[j] == s->mark) continue;
      s->seen[j] = s->mark;
      s->queue[tail++] = j;
    }
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
  int64_t n = s->rows, tail = 0, widest = 0, next = 0;

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
  for (int64_t i = 0; i < s->rows; i++) count += cost_is_dense(s, i);
  return count;
}

/// Edges beyond those of a tree: no separator of a part need have more rows.
static double cost_cycles(const cost_search *s) { return cost_edges(s) - (double)s->rows + (double)s->components + 1; }

/// The rows of a pattern on the host, and its columns where they are no mirror of them.
static lac_status cost_take(lac_context *ctx, const lac_pattern *pattern, cost_search *s) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_pattern_walk(ctx, pattern, false, &s->halves[0]));
  LAC_TRY(lac_rows_host(ctx, &s->halves[0]));
  s->count = cost_is_symmetric(&s->halves[0]) ? 1 : 2;
  if (s->count == 1) goto done;
  LAC_TRY(lac_pattern_walk(ctx, pattern, true, &s->halves[1]));
  LAC_TRY(lac_rows_host(ctx, &s->halves[1]));
done:
  return status;
}

static lac_status cost_width(lac_context *ctx, const lac_pattern *pattern, lac_auto_cost *out) {
  lac_status status = LAC_OK;
  cost_search search = {.rows = pattern->rows, .nnz = pattern->nnz};
  int64_t last = 0;

  search.most = (int64_t)(COST_DENSE * sqrt((double)pattern->rows));
  LAC_TRY(cost_take(ctx, pattern, &search));
  LAC_ALLOC(search.queue, pattern->rows);
  LAC_ALLOC(search.ends, pattern->rows);
  LAC_ALLOC(search.seen, pattern->rows);
  (void)cost_levels(&search, 0, &last);
  out->width = (double)(cost_levels(&search, last, &last) + cost_dense(&search));
  out->width = fmax(1, fmin(out->width, cost_cycles(&search)));
  out->levels = search.deepest;
  out->is_lopsided = search.count > 1;
done:
  lac_free(search.queue);
  lac_free(search.ends);
  lac_free(search.seen);
  return status;
}

/// The width of a grid that has all its neighbours, without a search: nothing of it is read on the host.
static lac_status cost_grid_width(lac_context *ctx, const lac_pattern *pattern, lac_auto_cost *out) {
  lac_status status = LAC_OK;
  lac_grid grid = {0};

  LAC_TRY(lac_multigrid_grid(ctx, pattern, &grid));
  if (grid.width == 0 || lac_grid_entries(&grid) != pattern->nnz) goto done;
  out->width = (double)(grid.width < grid.height ? grid.width : grid.height);
  out->levels = grid.width + grid.height - 1;
  out->is_grid = true;
  out->is_away = !lac_context_is_host(ctx);
done:
  return status;
}

// -- prices ----------------------------------------------------------------------------------------------------------

static double cost_of_iterating(const lac_pattern *pattern, const lac_auto_cost *c) {
  lac_price_of of = {.preconditioner = "multigrid",
                     .complexity = cost_complexity,
                     .is_hermitian = !c->is_lopsided,
                     .is_grid = c->is_grid};
  return lac_price_setup(pattern, &of) + (c->is_grid ? cost_grid : cost_iterations) * lac_price_iteration(pattern, &of);
}

static double cost_of_analysis(const lac_pattern *pattern, const lac_auto_cost *c) {
  return c->is_exact ? 0 : lac_price_analysis(pattern, c->width, c->flops);
}

static bool cost_has_room(const lac_auto_cost *c) { return c->bytes <= 0.5 * (double)lac_memory_available(); }

/// By the remaining work relative to that of iterating, and by the free memory.
static void cost_judge(const lac_pattern *pattern, lac_auto_cost *c) {
  double direct =
      cost_of_analysis(pattern, c) + lac_price_factor(pattern, c->flops, c->nnz) + lac_price_solve(pattern, c->nnz);
  c->share = direct / cost_of_iterating(pattern, c);
  c->is_costly = c->is_away || (pattern->rows > COST_SMALL && (c->share >= cost_worth || !cost_has_room(c)));
}

lac_status lac_auto_foresee(lac_context *ctx, const lac_pattern *pattern, lac_auto_cost *out) {
  lac_status status = LAC_OK;
  double n = (double)pattern->rows, halves;
  const lac_band *band = NULL;

  *out = (lac_auto_cost){0};
  if (pattern->rows != pattern->cols) goto done;
  if (pattern->rows > COST_SMALL || !lac_context_is_host(ctx)) LAC_TRY(cost_grid_width(ctx, pattern, out));
  if (pattern->rows <= COST_SMALL && !out->is_grid) goto done;
  if (!out->is_grid) {
    LAC_TRY(lac_pattern_band(ctx, pattern, &band));
    if (band->low >= 0 || band->high <= 0) goto done;  // triangular
    out->is_away = !lac_context_is_host(ctx) && band->high - band->low > COST_BAND && lac_multigrid_takes(ctx, pattern);
    out->is_costly = out->is_away;
    if (out->is_away) goto done;  // without a search: nothing is read on the host
    LAC_TRY(cost_width(ctx, pattern, out));
    if (!out->is_lopsided) LAC_TRY(lac_multigrid_is_grid(ctx, pattern, &out->is_grid));
  }
  out->has_both = out->is_lopsided;
  halves = out->has_both ? 2 : 1;
  out->flops = halves * 6 * pow(out->width, 3);
  out->nnz = halves * (4 * n * log2(out->width + 1) + 8 * pow(out->width, 2));
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
                         .is_lopsided = out->is_lopsided,
                         .is_grid = out->is_grid,
                         .is_away = out->is_away,
                         .has_both = strcmp(foreseen->method, "cholesky") != 0 && strcmp(foreseen->method, "ldlt") != 0,
                         .is_exact = true};
  cost_judge(pattern, out);
  return true;
}

bool lac_auto_is_cheap_beside(const lac_auto_cost *cost) {
  double more = cost->is_grid ? cost_uneven_grid : cost_uneven;
  return !cost->is_away && cost->share > 0 && cost->share < more * cost_worth && cost_has_room(cost);
}

bool lac_auto_is_in_doubt(const lac_pattern *pattern, const lac_auto_cost *guess) {
  return guess->is_costly && !guess->is_away && guess->share < cost_doubt * cost_worth &&
         cost_of_analysis(pattern, guess) <= cost_looking * cost_of_iterating(pattern, guess);
}
