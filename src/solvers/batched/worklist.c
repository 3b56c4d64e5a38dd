// SPDX-License-Identifier: Apache-2.0
/// @file worklist.c
/// Tasks sorted by level, and within a level by length, so that the lanes of a chunk have about as many steps.

#include "solvers/batched/worklist.h"

#include <stdlib.h>
#include <string.h>

enum {
  WORK_PRODUCTS = 32,      // of a level, for a warp that eliminates
  WORK_READS = 256,        // and for one that substitutes
  WORK_LARGE = 8,          // warps of a matrix that has no room there
  WORK_ROUND = 4,          // steps that a round takes besides its products
  WORK_BYTES = 224 << 10,  // of fast memory, that the matrices share which a processor of a device works on
  WORK_NARROW = 0xffff     // numbers that 16 bits tell apart, and that there is none
};

void lac_tasks_clear(lac_tasks *tasks) {
  lac_free(tasks->level), lac_free(tasks->target), lac_free(tasks->over);
  lac_free(tasks->begin), lac_free(tasks->left), lac_free(tasks->right);
  memset(tasks, 0, sizeof *tasks);
}

void lac_worklist_clear(lac_worklist *list) {
  lac_object_release(list->first), lac_object_release(list->heads);
  lac_object_release(list->tasks), lac_object_release(list->pairs);
  memset(list, 0, sizeof *list);
}

// -- the order of tasks ----------------------------------------------------------------------------------------------

typedef struct work_task {
  int32_t level, length, task;
} work_task;

static int work_compare(const void *x, const void *y) {
  const work_task *a = x, *b = y;
  if (a->level != b->level) return a->level < b->level ? -1 : 1;
  if (a->length != b->length) return a->length > b->length ? -1 : 1;
  return (a->task > b->task) - (a->task < b->task);
}

/// A chunk before it has a place: its tasks from `first` on, before `end`.
typedef struct work_chunk {
  int64_t first, end, steps;
  int32_t level, lanes, warp;
} work_chunk;

/// What is known of a list before it is written.
typedef struct work_plan {
  const lac_tasks *tasks;
  work_task *order;
  int64_t count, levels, products;
  int warps;
  work_chunk *chunks;  // by levels; NULL while they are counted
  int64_t chunk_count;
} work_plan;

/// As many as the levels have products for, on average, and as make a processor full with the matrices that it has room
/// for. Substitution, whose right number is no entry, waits for memory more than it computes.
static int work_warps(const work_plan *w) {
  const lac_tasks *t = w->tasks;
  int64_t bytes = 8 * (int64_t)t->no_left, most = bytes * LAC_LISTED_WARPS / WORK_BYTES;
  int64_t enough = t->no_left == t->no_right ? WORK_PRODUCTS : WORK_READS;
  int warps = 1;
  if (bytes > WORK_BYTES) most = WORK_LARGE;
  while (2 * warps <= LAC_LISTED_WARPS && 2 * warps <= most && enough * warps * w->levels < w->products) warps *= 2;
  return warps;
}

static lac_status work_sort(lac_context *ctx, const lac_tasks *t, work_plan *w) {
  lac_status status = LAC_OK;

  w->tasks = t;
  LAC_ALLOC(w->order, t->count);
  for (int64_t i = 0; i < t->count; i++) {
    int32_t length = (int32_t)(t->begin[i + 1] - t->begin[i]);
    if (t->level[i] == 0) continue;
    w->order[w->count++] = (work_task){t->level[i], length, (int32_t)i};
    w->products += length;
    if (t->level[i] > w->levels) w->levels = t->level[i];
  }
  qsort(w->order, (size_t)w->count, sizeof *w->order, work_compare);
  w->warps = work_warps(w);
done:
  return status;
}

// -- chunks ----------------------------------------------------------------------------------------------------------

/// The end of a level that begins at `at` in the order of tasks.
static int64_t work_level_end(const work_plan *w, int64_t at) {
  int64_t end = at;
  while (end < w->count && w->order[end].level == w->order[at].level) end++;
  return end;
}

/// The steps of a chunk whose first task is the longest.
static int64_t work_steps(const work_plan *w, int64_t first, int lanes) {
  return (w->order[first].length + lanes - 1) / lanes;
}

/// What a level takes with so many lanes a task, in steps: a round is a chunk for each warp, as long as the longest.
static int64_t work_cost(const work_plan *w, int64_t begin, int64_t end, int lanes) {
  int64_t cost = 0, tasks = w->warps * LAC_LANES / lanes, joins = 0;
  while (lanes >> joins > 1) joins++;
  for (int64_t first = begin; first < end; first += tasks) cost += work_steps(w, first, lanes) + joins + WORK_ROUND;
  return cost;
}

/// How many lanes share a task of a level.
static int work_lanes(const work_plan *w, int64_t begin, int64_t end) {
  int best = 1;
  for (int lanes = 2; lanes <= LAC_LANES; lanes *= 2) {
    if (work_cost(w, begin, end, lanes) < work_cost(w, begin, end, best)) best = lanes;
  }
  return best;
}

/// The chunks of one level, shared out among the warps in turn.
static void work_level(work_plan *w, int64_t begin, int64_t end) {
  int lanes = work_lanes(w, begin, end), warp = 0;
  int32_t level = w->order[begin].level - 1;
  for (int64_t first = begin; first < end; first += LAC_LANES / lanes, warp = (warp + 1) % w->warps, w->chunk_count++) {
    if (!w->chunks) continue;
    w->chunks[w->chunk_count] = (work_chunk){first, end, work_steps(w, first, lanes), level, lanes, warp};
  }
}

/// A chunk for each warp that has none in the first level, and those of all levels.
static void work_walk(work_plan *w) {
  int64_t end = work_level_end(w, 0);
  w->chunk_count = 0;
  if (end > 0) work_level(w, 0, end);
  for (int64_t warp = w->chunk_count; warp < w->warps; warp++, w->chunk_count++) {
    if (w->chunks) w->chunks[w->chunk_count] = (work_chunk){.lanes = 1, .warp = (int32_t)warp};
  }
  for (int64_t begin = end; begin < w->count; begin = end) {
    end = work_level_end(w, begin);
    work_level(w, begin, end);
  }
}

// -- writing ---------------------------------------------------------------------------------------------------------

/// The products of a task that one of its lanes adds up, from its first step on.
static void work_lane(const work_plan *w, const work_chunk *chunk, int lane, int64_t begin, lac_worklist *out) {
  const lac_tasks *t = w->tasks;
  int64_t i = chunk->first + lane / chunk->lanes, task = i < chunk->end ? w->order[i].task : -1;
  for (int64_t s = 0; s < chunk->steps; s++) {
    int64_t p = task >= 0 ? t->begin[task] + lane % chunk->lanes + s * chunk->lanes : 0;
    lac_two pair = {t->no_left, t->no_right};
    if (task >= 0 && p < t->begin[task + 1]) pair = (lac_two){t->left[p], t->right[p]};
    lac_two_set(out->pairs, (begin + s) * LAC_LANES + lane, pair);
  }
}

/// A chunk as number `at`, with steps from `begin` on.
static lac_chunk work_write(const work_plan *w, const work_chunk *chunk, int64_t at, int64_t begin, lac_worklist *out) {
  const lac_tasks *t = w->tasks;
  const uint32_t none = lac_none(out->tasks);
  lac_chunk head = {(int32_t)begin, (int32_t)(begin + chunk->steps), (int16_t)chunk->lanes, 0, 0};
  for (int lane = 0; lane < LAC_LANES; lane++) {
    int64_t i = chunk->first + lane / chunk->lanes;
    lac_two two = {none, none};
    if (i < chunk->end) head.active++;
    if (i < chunk->end && lane % chunk->lanes == 0) {
      int32_t task = w->order[i].task, over = t->over[task];
      two = (lac_two){(uint32_t)t->target[task], over < 0 ? none : (uint32_t)over};
    }
    lac_two_set(out->tasks, at * LAC_LANES + lane, two);
    work_lane(w, chunk, lane, begin, out);
  }
  return head;
}

/// The chunks of a warp behind those of the warps before it; *at and *step are where the next ones go.
static void work_warp(const work_plan *w, int warp, int64_t *at, int64_t *step, lac_worklist *out) {
  lac_chunk *heads = out->heads->host, *last = NULL;
  int32_t level = 0;
  lac_buffer_set(out->first, warp, *at);
  for (int64_t c = 0; c < w->chunk_count; c++) {
    const work_chunk *chunk = &w->chunks[c];
    if (chunk->warp != warp) continue;
    if (last) last->waits = chunk->level - level;
    level = chunk->level;
    last = &heads[*at];
    *last = work_write(w, chunk, *at, *step, out);
    *step += chunk->steps;
    ++*at;
  }
  if (last) last->waits = (int32_t)w->levels - level;
}

static lac_status work_fill(lac_context *ctx, const work_plan *w, lac_index_type two, lac_worklist *list) {
  lac_status status = LAC_OK;
  int64_t steps = LAC_LISTED_AHEAD, at = 0, step = 0;

  for (int64_t c = 0; c < w->chunk_count; c++) steps += w->chunks[c].steps;
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, w->warps + 1, &list->first));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, w->chunk_count * 4, &list->heads));
  LAC_TRY(lac_buffer_create(ctx, two, w->chunk_count * LAC_LANES, &list->tasks));
  LAC_TRY(lac_buffer_create(ctx, two, steps * LAC_LANES, &list->pairs));
  for (int warp = 0; warp < w->warps; warp++) work_warp(w, warp, &at, &step, list);
  lac_buffer_set(list->first, w->warps, at);
  for (int64_t i = step * LAC_LANES; i < steps * LAC_LANES; i++) lac_two_set(list->pairs, i, (lac_two){0, 0});
done:
  return status;
}

lac_status lac_worklist_make(lac_context *ctx, const lac_tasks *tasks, lac_worklist *list) {
  lac_status status = LAC_OK;
  work_plan w = {0};
  bool is_narrow = tasks->no_left < WORK_NARROW && tasks->no_right < WORK_NARROW;  // they are the largest

  LAC_TRY(work_sort(ctx, tasks, &w));
  work_walk(&w);
  LAC_ALLOC(w.chunks, w.chunk_count);
  work_walk(&w);
  list->warps = w.warps;
  list->levels = w.levels;
  list->chunks = w.chunk_count;
  LAC_TRY(work_fill(ctx, &w, is_narrow ? LAC_I32 : LAC_I64, list));
done:
  lac_free(w.order);
  lac_free(w.chunks);
  return status;
}
