// SPDX-License-Identifier: Apache-2.0
/// @file ordering_series.c
/// Variables with at most two neighbours, which circuits and networks consist of, are eliminated on the graph itself.
///
///     a - v - b   becomes   a - b        each of the two has the other where it had v: lists do not grow
///
/// Minimum degree takes them first too, but with elements, hashes and lists of degrees for each. What hangs on one
/// neighbour goes at once. Of those with two, no neighbours go in the same round: a chain is halved by each round, and
/// the tree of elimination stays low.

#include "solvers/direct/order/amd.h"

// Lists that are longer are not searched, and what they have to do with is left to minimum degree; nor is anything
// done where fewer than one in so many variables would go.
enum { SERIES_LENGTH = 64, SERIES_SHARE = 8 };

typedef struct series {
  amd *g;
  int32_t *order;  // what is eliminated
  int32_t count;   // of it
  int32_t round;
  int32_t *waiting;  // variables with two neighbours, of this round
  int32_t *later;    // and of the next one
  int32_t later_count;
} series;

// In node[i].previous: the round in which a neighbour of i was eliminated; in node[i].next: whether i waits.
static void series_wait(series *s, int32_t i) {
  if (s->g->node[i].next) return;
  s->g->node[i].next = 1;
  s->later[s->later_count++] = i;
}

// The neighbours that variable i has left, of which there are at most two.
static int32_t series_ends(const amd *g, int32_t i, int32_t ends[2]) {
  const int32_t *list = g->list + g->node[i].start;
  int32_t count = 0;
  ends[0] = ends[1] = LAC_AMD_NONE;
  for (int32_t q = 0; count < g->node[i].degree; q++) {
    if (g->weight[list[q]] > 0) ends[count++] = list[q];
  }
  return count;
}

static void series_take(series *s, int32_t v, const int32_t ends[2]) {
  amd *g = s->g;
  int32_t degree = g->node[v].degree, *kept = g->ends + 2 * (int64_t)s->count;
  kept[0] = degree > 0 ? ends[0] : LAC_AMD_NONE;
  kept[1] = degree > 1 ? ends[1] : LAC_AMD_NONE;
  s->order[s->count++] = v;
  g->weight[v] = 0;
  g->node[v].degree = -1;
  lac_amd_count_one(g, degree);
}

// A variable that has one neighbour or none, then that neighbour if the same is true of it, and so on.
static void series_peel(series *s, int32_t v) {
  amd *g = s->g;
  int32_t ends[2];
  while (g->weight[v] > 0 && g->node[v].degree <= 1) {
    int32_t left = series_ends(g, v, ends);
    series_take(s, v, ends);
    if (left == 0) break;
    v = ends[0];
    g->node[v].previous = s->round;
    g->node[v].degree--;
  }
  if (g->weight[v] > 0 && g->node[v].degree == 2) series_wait(s, v);
}

// The place of v in the list of i, or -1 where that has `other` too. No branch depends on what it has.
static int32_t series_find(const amd *g, int32_t i, int32_t v, int32_t other) {
  const int32_t *list = g->list + g->node[i].start;
  int32_t place = 0, met = 0;
  for (int32_t q = 0; q < g->node[i].length; q++) {
    place = list[q] == v ? q : place;
    met |= list[q] == other;
  }
  return met ? -1 : place;
}

// Where a and b are neighbours already they have one less each; else each gets the other in the place of v.
static void series_join(series *s, int32_t v, int32_t a, int32_t b) {
  amd *g = s->g;
  int32_t place = series_find(g, a, v, b);
  g->node[a].previous = g->node[b].previous = s->round;
  if (place < 0) {
    g->node[a].degree--, g->node[b].degree--;
    return;
  }
  g->list[g->node[a].start + place] = b;
  g->list[g->node[b].start + series_find(g, b, v, a)] = a;
}

static void series_eliminate(series *s, int32_t v) {
  amd *g = s->g;
  int32_t ends[2];
  series_ends(g, v, ends);
  if (g->node[ends[0]].length > SERIES_LENGTH || g->node[ends[1]].length > SERIES_LENGTH) return;
  series_take(s, v, ends);
  series_join(s, v, ends[0], ends[1]);
  for (int e = 0; e < 2; e++) {
    if (g->node[ends[e]].degree <= 1) series_peel(s, ends[e]);
    if (g->weight[ends[e]] > 0 && g->node[ends[e]].degree == 2) series_wait(s, ends[e]);
  }
}

// A variable with at most two neighbours from the start: most that have none are blocks of one row.
static void series_begin(series *s, int32_t v) {
  static const int32_t none[2] = {LAC_AMD_NONE, LAC_AMD_NONE};
  int32_t degree = s->g->node[v].degree;
  if (degree == 0) {
    series_take(s, v, none);
  } else if (degree == 1) {
    series_peel(s, v);
  } else {
    series_wait(s, v);
  }
}

static void series_round(series *s) {
  amd *g = s->g;
  int32_t count = s->later_count, *now = s->later;
  s->later = s->waiting, s->waiting = now, s->later_count = 0, s->round++;
  for (int32_t k = 0; k < count; k++) {
    int32_t v = now[k];
    g->node[v].next = 0;
    if (g->weight[v] == 0) continue;
    if (g->node[v].previous == s->round) {
      series_wait(s, v);
    } else {
      series_eliminate(s, v);
    }
  }
}

// Neighbours that were set aside do not count. Returns how many variables have at most two others.
static int32_t series_degrees(amd *g, bool has_aside) {
  int32_t few = 0;
  for (int32_t i = 0; i < g->n; i++) {
    int32_t degree = g->node[i].length;
    for (int32_t q = 0; has_aside && q < g->node[i].length; q++)
      degree -= g->weight[g->list[g->node[i].start + q]] == 0;
    if (g->weight[i] > 0) g->node[i].degree = degree, few += degree <= 2;
  }
  return few;
}

lac_status lac_amd_series(lac_context *ctx, amd *g, bool has_aside, int32_t *order) {
  lac_status status = LAC_OK;
  series s = {.g = g, .order = order};

  if (SERIES_SHARE * (int64_t)series_degrees(g, has_aside) < g->n) goto done;
  LAC_ROOM(g->ends, 2 * (int64_t)g->n);
  LAC_ROOM(s.waiting, g->n);
  LAC_ROOM(s.later, g->n);
  for (int32_t i = 0; i < g->n; i++) {
    if (g->weight[i] > 0 && g->node[i].degree <= 2) series_begin(&s, i);
  }
  while (s.later_count > 0) series_round(&s);
  g->series = s.count;
done:
  lac_free(s.waiting);
  lac_free(s.later);
  return status;
}
