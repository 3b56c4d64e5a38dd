// SPDX-License-Identifier: Apache-2.0
/// @file tree.c
/// Which subtrees one thread does, and walks over them.
///
/// A subtree is cut off where its flops are at most 1/64 of all, so that dozens of threads find work and the largest
/// piece delays the end by little; neighbours that are smaller still are put together. A tree whose whole work takes
/// less than what threads cost is one piece.

#include "solvers/direct/tree.h"

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

bool lac_tree_cut(lac_supernodes *s) {
  double limit = fmax(tree_flops(s) / TREE_SHARES, TREE_SMALL);
  int32_t aboves = 0, pieces = tree_pieces(s, limit, NULL, NULL, &aboves);
  tree_range *cut = lac_calloc((size_t)pieces, sizeof *cut);
  lac_range *ranges = lac_calloc((size_t)(pieces + aboves), sizeof *ranges);
  bool fits = cut && ranges;

  if (fits) {
    tree_pieces(s, limit, cut, ranges + pieces + aboves, &aboves);
    qsort(cut, (size_t)pieces, sizeof *cut, tree_compare);
    for (int32_t i = 0; i < pieces; i++) ranges[i] = cut[i].range;
    s->ranges = ranges, ranges = NULL;
    s->range_count = pieces + aboves;
    s->subtree_count = pieces;
  }
  lac_free(cut);
  lac_free(ranges);
  return fits;
}

// -- walks over ranges -----------------------------------------------------------------------------------------------

static bool tree_subtrees(const lac_supernodes *s, int threads, lac_tree_visit_range *visit, void *job) {
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
  if (!tree_subtrees(s, threads, visit, job)) return false;
  for (int32_t i = s->subtree_count; i < s->range_count; i++) {
    if (!visit(job, i, 0, threads)) return false;
  }
  return true;
}

bool lac_tree_down_ranges(const lac_supernodes *s, int threads, lac_tree_visit_range *visit, void *job) {
  for (int32_t i = s->range_count - 1; i >= s->subtree_count; i--) {
    if (!visit(job, i, 0, threads)) return false;
  }
  return tree_subtrees(s, threads, visit, job);
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
