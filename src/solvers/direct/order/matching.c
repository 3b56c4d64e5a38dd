// SPDX-License-Identifier: Apache-2.0
/// @file matching.c
/// The diagonal with the largest product, and scalings that make it 1 (Duff and Koster 2001).
///
///     c_ij = log2 max_k |a_ik| - log2 |a_ij|           the cost of (i, j): never negative, infinite for no entry
///     min sum_i c_i,match(i)  =  max sum_i u_i + sum_j v_j   over   u_i + v_j <= c_ij, equal on the matching
///     2^u_i 2^v_j |a_ij| / max_k |a_ik| <= 1           so the dual variables are the scalings
///
/// Most rows find a column at reduced cost c_ij - u_i - v_j = 0, at once or by bidding. The others join the matching
/// along shortest augmenting paths: Dijkstra over columns with the reduced costs as lengths, in phases, from all of
/// them at once. Each has a tree of its own, and all trees that meet a free column augment: where the last columns that
/// are free are far, one sweep of the matrix serves half of the rows. A diagonal that is the largest of its rows, or of
/// its columns, is the answer itself.

#include "solvers/direct/order/matching.h"

#include <math.h>

#include "solvers/numbers/numbers.h"

#define KERNEL_FILE "solvers/direct/order/matching_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void matching_dominance_kernel(const lac_structure *, const void *, bool *, bool *);
typedef void matching_logs_kernel(const lac_structure *, const void *, double *);
static matching_dominance_kernel *const matching_dominance_kernels[] = TABLE(matching_dominance);
static matching_logs_kernel *const matching_logs_kernels[] = TABLE(matching_logs);
static matching_logs_kernel *const matching_diagonal_kernels[] = TABLE(matching_diagonal);
static const int matching_range[] = {range_f32, range_f64, range_c64, range_c128};

// -- scalings --------------------------------------------------------------------------------------------------------

static double matching_middle(int32_t n, const double *x) {
  double least = INFINITY, most = -INFINITY;
  for (int32_t i = 0; i < n; i++) least = fmin(least, x[i]), most = fmax(most, x[i]);
  return n > 0 ? (least + most) / 2 : 0;
}

static void matching_exponentiate(int32_t n, double shift, int range, double *x) {
  for (int32_t i = 0; i < n; i++) x[i] = ldexp(1, (int)fmax(-range, fmin(range, rint(x[i] + shift))));
}

// Powers of two from logarithms. Rows may give to columns: both stay in the middle of the range.
static void matching_scale(int32_t n, lac_dtype dtype, double *row_scale, double *col_scale) {
  double shift = trunc((matching_middle(n, col_scale) - matching_middle(n, row_scale)) / 2);
  matching_exponentiate(n, shift, matching_range[dtype], row_scale);
  matching_exponentiate(n, -shift, matching_range[dtype], col_scale);
}

// The identity where the diagonal dominates: scaled from both sides alike where it does so both ways.
static bool matching_is_identity(const lac_structure *s, lac_dtype dtype, const void *values, int32_t *match,
                                 double *row_scale, double *col_scale) {
  bool by_rows, by_columns;
  matching_dominance_kernels[dtype](s, values, &by_rows, &by_columns);
  if (!by_rows && !by_columns) return false;
  double row_share = by_rows && by_columns ? 0.5 : by_rows ? 1 : 0;
  matching_diagonal_kernels[dtype](s, values, row_scale);
  for (int32_t i = 0; i < s->n; i++) {
    double size = row_scale[i];
    match[i] = i;
    row_scale[i] = -row_share * size;
    col_scale[i] = -(1 - row_share) * size;
  }
  matching_scale(s->n, dtype, row_scale, col_scale);
  return true;
}

// -- the search ------------------------------------------------------------------------------------------------------

// A column that a search has reached, and how far it is.
typedef struct matching_end {
  double distance;
  int32_t column;
} matching_end;

typedef struct matching_work {
  const lac_structure *s;
  double *cost;        // nnz: infinite for a stored zero
  double *u, *v;       // the dual variables of rows and columns
  int64_t *slot;       // of the matched entry of each row; -1: none
  int32_t *holder;     // the row that has a column; -1: none
  double *distance;    // of each column; infinite: not reached
  int64_t *via;        // the slot by which a column was reached,
  int32_t *from;       // and its row
  int32_t *root;       // of the tree that it is in
  matching_end *heap;  // of reached columns by distance
  int32_t *place;      // of each in it: MATCHING_OUT, MATCHING_DONE or its index
  int32_t *reached;    // all of them
  int32_t *open;       // rows without a column
  int32_t *goal;       // the column that each of them has found; -1: none
  int32_t heap_count, reached_count, open_count;
} matching_work;

// Places out of the heap, and how many stand below each in it; how often a row and those that lose by it bid; how many
// columns more than twice those before the latest find a search may take until the next.
enum { MATCHING_OUT = -1, MATCHING_DONE = -2, HEAP_WIDTH = 4, MATCHING_BIDS = 1000, MATCHING_PATIENCE = 1000 };

static void matching_clear(matching_work *w) {
  lac_free(w->cost);
  lac_free(w->u);
  lac_free(w->slot);
  lac_free(w->holder);
  lac_free(w->distance);
  lac_free(w->via);
  lac_free(w->from);
  lac_free(w->heap);
  lac_free(w->place);
  lac_free(w->reached);
  lac_free(w->root);
  lac_free(w->open);
  lac_free(w->goal);
}

static bool matching_init(matching_work *w) {
  size_t n = (size_t)w->s->n;
  w->cost = lac_alloc((size_t)w->s->nnz * sizeof *w->cost);
  w->u = lac_alloc(n * sizeof *w->u);
  w->slot = lac_alloc(n * sizeof *w->slot);
  w->holder = lac_alloc(n * sizeof *w->holder);
  w->distance = lac_alloc(n * sizeof *w->distance);
  w->via = lac_alloc(n * sizeof *w->via);
  w->from = lac_alloc(n * sizeof *w->from);
  w->heap = lac_alloc(n * sizeof *w->heap);
  w->place = lac_alloc(n * sizeof *w->place);
  w->reached = lac_alloc(n * sizeof *w->reached);
  w->root = lac_alloc(n * sizeof *w->root);
  w->open = lac_alloc(n * sizeof *w->open);
  w->goal = lac_alloc(n * sizeof *w->goal);
  if (!w->cost || !w->u || !w->slot || !w->holder || !w->distance || !w->via || !w->from || !w->heap || !w->place ||
      !w->reached || !w->root || !w->open || !w->goal) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    w->slot[i] = w->holder[i] = w->place[i] = -1;
    w->distance[i] = INFINITY;
  }
  return true;
}

// Costs from logarithms, and feasible duals: what every column costs at least, then what every row costs beyond that.
static void matching_price(const matching_work *w, double *row_largest) {
  const lac_structure *s = w->s;
  for (int32_t j = 0; j < s->n; j++) w->v[j] = INFINITY;
  for (int32_t i = 0; i < s->n; i++) {
    row_largest[i] = -INFINITY;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) row_largest[i] = fmax(row_largest[i], w->cost[p]);
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      w->cost[p] = w->cost[p] == -INFINITY ? INFINITY : row_largest[i] - w->cost[p];
      w->v[s->columns[p]] = fmin(w->v[s->columns[p]], w->cost[p]);
    }
  }
  for (int32_t i = 0; i < s->n; i++) {
    w->u[i] = INFINITY;
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      if (w->cost[p] < INFINITY) w->u[i] = fmin(w->u[i], w->cost[p] - w->v[s->columns[p]]);
    }
  }
}

// What entry p of row i costs beyond the duals. In this order of operations the price of a row is exactly free.
static inline double matching_reduced(const matching_work *w, int32_t i, int64_t p) {
  return w->cost[p] == INFINITY ? INFINITY : w->cost[p] - w->v[w->s->columns[p]] - w->u[i];
}

static void matching_assign(matching_work *w, int32_t i, int64_t p) {
  w->slot[i] = p;
  w->holder[w->s->columns[p]] = i;
}

// An entry of row i that is free of cost in a column that is free, or -1; the diagonal first.
static int64_t matching_free(const matching_work *w, int32_t i) {
  const lac_structure *s = w->s;
  int64_t found = -1;
  for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
    if (w->holder[s->columns[p]] >= 0 || matching_reduced(w, i, p) > 0) continue;
    if (s->columns[p] == i) return p;
    if (found < 0) found = p;
  }
  return found;
}

// What an entry costs beyond the price of its column.
static inline double matching_cost(const matching_work *w, int64_t p) {
  return w->cost[p] == INFINITY ? INFINITY : w->cost[p] - w->v[w->s->columns[p]];
}

// The cheapest entry of row i, a free column first where several are equal, and the cost of the next one.
static int64_t matching_cheapest(const matching_work *w, int32_t i, double *first, double *second) {
  const lac_structure *s = w->s;
  int64_t best = -1;
  *first = *second = INFINITY;
  for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
    double cost = matching_cost(w, p);
    if (cost < *first || (cost == *first && cost < INFINITY && w->holder[s->columns[p]] < 0)) {
      *second = *first, *first = cost, best = p;
    } else if (cost < *second) {
      *second = cost;
    }
  }
  return best;
}

// Row i outbids whoever holds its cheapest column: the price goes up by what i would rather pay than take the next one.
// Returns the row that has lost its column, or -1.
static int32_t matching_bid(matching_work *w, int32_t i) {
  double first, second;
  int64_t p = matching_cheapest(w, i, &first, &second);
  if (second == INFINITY) return -1;
  int32_t column = w->s->columns[p], loser = w->holder[column];
  if (loser >= 0) w->slot[loser] = -1, w->v[column] -= second - first;
  matching_assign(w, i, p);
  w->u[i] = matching_cost(w, p);
  return loser;
}

// Every row takes what is free of cost; then those without a column bid, and losers in their turn, a limited number of
// times (augmenting row reduction, Jonker and Volgenant 1987).
static void matching_begin(matching_work *w) {
  for (int32_t i = 0; i < w->s->n; i++) {
    int64_t p = matching_free(w, i);
    if (p >= 0) matching_assign(w, i, p);
  }
  for (int32_t start = 0; start < w->s->n; start++) {
    int32_t i = w->slot[start] < 0 ? start : -1;
    for (int bids = 0; i >= 0 && bids < MATCHING_BIDS; bids++) i = matching_bid(w, i);
  }
  for (int32_t i = 0; i < w->s->n; i++) {
    double first, second;
    if (w->slot[i] < 0 && matching_cheapest(w, i, &first, &second) >= 0) w->u[i] = first;
  }
}

// -- the heap --------------------------------------------------------------------------------------------------------

static void heap_put(matching_work *w, int32_t at, matching_end end) {
  w->heap[at] = end;
  w->place[end.column] = at;
}

static void heap_rise(matching_work *w, int32_t at, matching_end end) {
  for (; at > 0; at = (at - 1) / HEAP_WIDTH) {
    matching_end above = w->heap[(at - 1) / HEAP_WIDTH];
    if (above.distance <= end.distance) break;
    heap_put(w, at, above);
  }
  heap_put(w, at, end);
}

// The nearest of those below a place, or -1.
static inline int32_t heap_below(const matching_work *w, int32_t at) {
  int64_t first = HEAP_WIDTH * (int64_t)at + 1, end = first + HEAP_WIDTH;
  if (first >= w->heap_count) return -1;
  if (end > w->heap_count) end = w->heap_count;
  int64_t best = first;
  for (int64_t k = first + 1; k < end; k++) best = w->heap[k].distance < w->heap[best].distance ? k : best;
  return (int32_t)best;
}

static int32_t heap_take(matching_work *w) {
  int32_t first = w->heap[0].column, at = 0;
  matching_end last = w->heap[--w->heap_count];
  for (int32_t below; (below = heap_below(w, at)) >= 0 && w->heap[below].distance < last.distance; at = below) {
    heap_put(w, at, w->heap[below]);
  }
  if (w->heap_count > 0) heap_put(w, at, last);
  w->place[first] = MATCHING_DONE;
  return first;
}

// -- augmenting ------------------------------------------------------------------------------------------------------

// Where the searches of all rows without a column stand.
typedef struct matching_phase {
  int32_t served;          // of them, that have found one
  int64_t taken, enough;   // columns whose distance is final, and how many of them may be
  double limit, distance;  // no longer way is looked at; the length of the latest
} matching_phase;

// Columns that row i, in the tree of `root` and itself at `distance`, reaches on ways shorter than those known. Where
// there is one tree, the nearest free column ends it.
static void matching_relax(matching_work *w, int32_t i, int32_t root, double distance, matching_phase *phase) {
  const lac_structure *s = w->s;
  for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
    int32_t j = s->columns[p];
    double length = distance + fmax(matching_reduced(w, i, p), 0);
    if (w->place[j] == MATCHING_DONE || !(length < phase->limit) || !(length < w->distance[j])) continue;
    if (w->distance[j] == INFINITY) w->reached[w->reached_count++] = j;
    if (w->holder[j] < 0 && w->open_count == 1) phase->limit = length;
    w->distance[j] = length;
    w->via[j] = p;
    w->from[j] = i;
    w->root[j] = root;
    heap_rise(w, w->place[j] >= 0 ? w->place[j] : w->heap_count++, (matching_end){length, j});
  }
}

// The nearest column of all trees has its final distance: its row goes on, or a root that has none yet takes it.
static void matching_step(matching_work *w, matching_phase *phase) {
  int32_t j = heap_take(w), root = w->root[j];
  phase->taken++;
  phase->distance = w->distance[j];
  if (w->holder[j] >= 0) {
    matching_relax(w, w->holder[j], root, w->distance[j], phase);
  } else if (w->goal[root] < 0) {
    w->goal[root] = j;
    phase->served++;
    phase->enough = 2 * phase->taken + MATCHING_PATIENCE;
  }
}

// Rows take over columns back along the way from a goal to the root.
static void matching_augment(matching_work *w, int32_t root) {
  for (int32_t j = w->goal[root], i = -1; i != root;) {
    int64_t given_up;
    i = w->from[j];
    given_up = w->slot[i];
    matching_assign(w, i, w->via[j]);
    if (i != root) j = w->s->columns[given_up];
  }
}

// Trees share no row or column, so that every root with a goal augments; duals follow the distances, up to the latest.
static void matching_settle(matching_work *w, const matching_phase *phase) {
  int32_t left = 0;
  for (int32_t t = 0; t < w->reached_count; t++) {
    int32_t j = w->reached[t];
    if (w->place[j] == MATCHING_DONE) w->v[j] += w->distance[j] - phase->distance;
  }
  for (int32_t t = 0; t < w->open_count; t++) {
    int32_t i = w->open[t];
    if (w->goal[i] >= 0) {
      matching_augment(w, i);
    } else {
      w->u[i] += phase->distance;
      w->open[left++] = i;
    }
  }
  w->open_count = left;
  for (int32_t t = 0; t < w->reached_count; t++) {
    int32_t j = w->reached[t], i = w->holder[j];
    if (w->place[j] == MATCHING_DONE && i >= 0) w->u[i] = w->cost[w->slot[i]] - w->v[j];
  }
}

// One search for all open rows at once. False: none of them has a way to a free column.
static bool matching_search(matching_work *w) {
  matching_phase phase = {.enough = INT64_MAX, .limit = INFINITY};
  w->heap_count = w->reached_count = 0;
  for (int32_t t = 0; t < w->open_count; t++) {
    w->goal[w->open[t]] = -1;
    matching_relax(w, w->open[t], w->open[t], 0, &phase);
  }
  while (w->heap_count > 0 && phase.served < w->open_count && phase.taken < phase.enough) matching_step(w, &phase);
  if (phase.served > 0) matching_settle(w, &phase);
  for (int32_t t = 0; t < w->reached_count; t++) {
    w->distance[w->reached[t]] = INFINITY;
    w->place[w->reached[t]] = MATCHING_OUT;
  }
  return phase.served > 0;
}

// Rows and columns that are left over, in pairs.
static void matching_pair_rest(const matching_work *w, int32_t *match) {
  int32_t column = 0;
  for (int32_t i = 0; i < w->s->n; i++) {
    if (match[i] >= 0) continue;
    while (w->holder[column] >= 0) column++;
    match[i] = -1 - column++;
  }
}

static int32_t matching_run(matching_work *w, int32_t *match) {
  int32_t rank = 0;
  matching_begin(w);
  for (int32_t i = 0; i < w->s->n; i++) {
    if (w->slot[i] < 0) w->open[w->open_count++] = i;
  }
  while (w->open_count > 0 && matching_search(w)) continue;
  for (int32_t i = 0; i < w->s->n; i++) {
    match[i] = w->slot[i] < 0 ? -1 : w->s->columns[w->slot[i]];
    rank += match[i] >= 0;
  }
  matching_pair_rest(w, match);
  return rank;
}

lac_status lac_matching(const lac_structure *structure, lac_dtype dtype, const void *values, int32_t *match,
                        double *row_scale, double *col_scale, int32_t *rank) {
  lac_status status = LAC_ERR_MEMORY;
  int32_t n = structure->n;
  matching_work w = {.s = structure, .v = col_scale};

  *rank = n;
  if (matching_is_identity(structure, dtype, values, match, row_scale, col_scale)) return LAC_OK;
  if (matching_init(&w)) {
    matching_logs_kernels[dtype](structure, values, w.cost);
    matching_price(&w, row_scale);
    *rank = matching_run(&w, match);
    status = *rank == n ? LAC_OK : LAC_ERR_SINGULAR;
  }
  if (status == LAC_OK) {
    for (int32_t i = 0; i < n; i++) row_scale[i] = w.u[i] - row_scale[i];
    matching_scale(n, dtype, row_scale, col_scale);
  }
  matching_clear(&w);
  return status;
}
