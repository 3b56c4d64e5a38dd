// SPDX-License-Identifier: Apache-2.0
/// @file tree.c
/// Which subtrees one thread does, and walks over them.
///
/// A subtree is cut off where its flops are at most 1/64 of all, so that dozens of threads find work and the largest
/// piece delays the end by little; neighbours that are smaller still are put together. A tree whose whole work takes
/// less than what threads cost is one piece.

#include "solvers/direct/symbolic/tree.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "core/memory_impl.h"

enum { TREE_SHARES = 64 };
static const double TREE_SMALL = 4e6;  // flops

static double tree_flops(const lac_supernodes *s) {
  double sum = 0;
  for (int32_t k = s->count - 1; k >= 0; k = s->leftmost[k] - 1) sum += s->flops[k];
  return sum;
}

typedef struct tree_range {
  lac_range range;
  double flops;
} tree_range;

// From the last supernode down: either it is above the cut, or its whole subtree is a piece or joins the one before.
// Pieces come in `cut`, the others, counted, in `above`; both may be NULL.
static int32_t tree_pieces(const lac_supernodes *s, double limit, tree_range *cut, lac_range *above, int32_t *aboves) {
  int32_t pieces = 0, begin = -1;  // of the open piece
  double flops = 0;
  *aboves = 0;
  for (int32_t k = s->count - 1; k >= 0;) {
    if (s->flops[k] > limit) {
      if (above) above[-1 - *aboves] = (lac_range){k, k + 1};
      *aboves += 1;
      begin = -1, k--;
      continue;
    }
    bool joins = begin == k + 1 && flops + s->flops[k] <= limit;
    flops = joins ? flops + s->flops[k] : s->flops[k];
    pieces += !joins;
    begin = s->leftmost[k];
    if (cut && !joins) cut[pieces - 1].range.end = k + 1;
    if (cut) cut[pieces - 1].range.begin = begin, cut[pieces - 1].flops = flops;
    k = begin - 1;
  }
  return pieces;
}

// Largest first; equal ones as they come.
static int tree_compare(const void *a, const void *b) {
  const tree_range *x = a, *y = b;
  if (x->flops != y->flops) return x->flops < y->flops ? 1 : -1;
  return x->range.begin < y->range.begin ? -1 : 1;
}

// -- memory of update matrices ---------------------------------------------------------------------------------------

static int64_t tree_update(const lac_supernodes *s, int32_t k) {
  int64_t rows = lac_front_rows(s, k);
  return (rows * rows + 7) / 8 * 8;
}

static int64_t tree_children(const lac_supernodes *s, int32_t k) {
  int64_t sum = 0;
  for (int32_t c = k - 1; c >= s->leftmost[k]; c = s->leftmost[c] - 1) sum += tree_update(s, c);
  return sum;
}

// Supernodes of even and odd depth stack their updates at the two ends of the memory: a parent's grows at one end while
// its children's lie on top at the other, and nothing moves. Those at the far end are counted from it, negative.
static int64_t tree_stack(lac_supernodes *s, lac_range range) {
  int64_t top[2] = {0, 0}, peak = 0, *at = s->update_at;
  for (int32_t k = range.end - 1; k >= range.begin; k--) {
    at[k] = s->parent[k] == -1 || s->parent[k] >= range.end ? 0 : 1 - at[s->parent[k]];
  }
  for (int32_t k = range.begin; k < range.end; k++) {
    int64_t side = at[k];
    at[k] = INT64_MIN;
    if (s->parent[k] != -1 && s->parent[k] < range.end) {
      int64_t begin = top[side];
      top[side] += tree_update(s, k);
      at[k] = side == 0 ? begin : -top[side];
      if (top[0] + top[1] > peak) peak = top[0] + top[1];
    }
    top[1 - side] -= tree_children(s, k);
  }
  return peak;
}

static void tree_place_updates(lac_supernodes *s) {
  int64_t alive = 0;
  s->update_work = s->update_blocks = 0;
  for (int32_t i = 0; i < s->subtree_count; i++) {
    int64_t peak = tree_stack(s, s->ranges[i]);
    if (peak > s->update_work) s->update_work = peak;
  }
  for (int32_t i = s->subtree_count; i < s->range_count; i++) s->update_at[s->ranges[i].begin] = INT64_MIN;
  for (int32_t k = 0; k < s->count; k++) {
    if (s->update_at[k] != INT64_MIN && s->update_at[k] < 0) s->update_at[k] += s->update_work;
    if (s->update_at[k] == INT64_MIN) s->update_at[k] = -1;
  }
  for (int32_t i = 0; i < s->subtree_count; i++) {
    for (int32_t k = s->ranges[i].end - 1; k >= s->ranges[i].begin; k = s->leftmost[k] - 1) alive += tree_update(s, k);
  }
  s->update_blocks = alive;
  for (int32_t i = s->subtree_count; i < s->range_count; i++) {
    alive += tree_update(s, s->ranges[i].begin);
    if (alive > s->update_blocks) s->update_blocks = alive;
    alive -= tree_children(s, s->ranges[i].begin);
  }
}

// -- the cut ---------------------------------------------------------------------------------------------------------

bool lac_tree_cut(lac_supernodes *s) {
  double limit = fmax(tree_flops(s) / TREE_SHARES, TREE_SMALL);
  int32_t aboves = 0, pieces = tree_pieces(s, limit, NULL, NULL, &aboves);
  tree_range *cut = lac_calloc((size_t)pieces, sizeof *cut);
  lac_range *ranges = lac_calloc((size_t)pieces + (size_t)aboves, sizeof *ranges);
  int64_t *update_at = lac_calloc((size_t)s->count, sizeof *update_at);
  bool fits = cut && ranges && update_at;

  if (fits) {
    tree_pieces(s, limit, cut, ranges + pieces + aboves, &aboves);
    qsort(cut, (size_t)pieces, sizeof *cut, tree_compare);
    for (int32_t i = 0; i < pieces; i++) ranges[i] = cut[i].range;
    s->ranges = ranges, ranges = NULL;
    s->update_at = update_at, update_at = NULL;
    s->range_count = pieces + aboves;
    s->subtree_count = pieces;
    tree_place_updates(s);
  }
  lac_free(cut);
  lac_free(ranges);
  lac_free(update_at);
  return fits;
}

// -- walks over ranges -----------------------------------------------------------------------------------------------

bool lac_tree_subtrees(const lac_supernodes *s, int threads, lac_tree_visit_range *visit, void *job) {
  int fails = 0;
  threads = threads < s->subtree_count ? threads : s->subtree_count;
  if (threads <= 1) {
    for (int32_t i = 0; i < s->subtree_count && !fails; i++) fails = !visit(job, i, 0, 1);
    return !fails;
  }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int32_t i = 0; i < s->subtree_count; i++) {
    int stops;
#pragma omp atomic read
    stops = fails;
    if (stops || visit(job, i, omp_get_thread_num(), 1)) continue;
#pragma omp atomic write
    fails = 1;
  }
  return !fails;
}

bool lac_tree_up_ranges(const lac_supernodes *s, int threads, lac_tree_visit_range *visit, void *job) {
  if (!lac_tree_subtrees(s, threads, visit, job)) return false;
  for (int32_t i = s->subtree_count; i < s->range_count; i++) {
    if (!visit(job, i, 0, threads)) return false;
  }
  return true;
}

bool lac_tree_down_ranges(const lac_supernodes *s, int threads, lac_tree_visit_range *visit, void *job) {
  for (int32_t i = s->range_count - 1; i >= s->subtree_count; i--) {
    if (!visit(job, i, 0, threads)) return false;
  }
  return lac_tree_subtrees(s, threads, visit, job);
}

// -- walks over supernodes -------------------------------------------------------------------------------------------

typedef struct tree_walk {
  const lac_supernodes *s;
  lac_tree_visit *visit;
  void *job;
} tree_walk;

static bool tree_range_up(void *opaque, int32_t range, int worker, int threads) {
  const tree_walk *w = opaque;
  for (int32_t k = w->s->ranges[range].begin; k < w->s->ranges[range].end; k++) {
    if (!w->visit(w->job, k, worker, threads)) return false;
  }
  return true;
}

static bool tree_range_down(void *opaque, int32_t range, int worker, int threads) {
  const tree_walk *w = opaque;
  for (int32_t k = w->s->ranges[range].end - 1; k >= w->s->ranges[range].begin; k--) {
    if (!w->visit(w->job, k, worker, threads)) return false;
  }
  return true;
}

bool lac_tree_up(const lac_supernodes *s, int threads, lac_tree_visit *visit, void *job) {
  tree_walk walk = {s, visit, job};
  return lac_tree_up_ranges(s, threads, tree_range_up, &walk);
}

bool lac_tree_down(const lac_supernodes *s, int threads, lac_tree_visit *visit, void *job) {
  tree_walk walk = {s, visit, job};
  return lac_tree_down_ranges(s, threads, tree_range_down, &walk);
}
