// SPDX-License-Identifier: Apache-2.0
/// @file worklist.c
/// Tasks sorted by level, and within a level by length, so that the lanes of a chunk have about as many steps.

#include "solvers/batched/worklist.h"

#include <stdlib.h>
#include <string.h>

enum {
  WORK_STEPS = 8,           // products of a lane in a level, about
  WORK_THREADS = 256,       // of a matrix, at most
  WORK_NARROW = 1 << 16     // numbers that 16 bits tell apart
};

void lac_tasks_clear(lac_tasks *t) {
  lac_free(t->level), lac_free(t->target), lac_free(t->over);
  lac_free(t->begin), lac_free(t->left), lac_free(t->right);
  memset(t, 0, sizeof *t);
}

void lac_worklist_clear(lac_worklist *w) {
  lac_object_release(w->level), lac_object_release(w->lanes), lac_object_release(w->base);
  lac_object_release(w->target), lac_object_release(w->over), lac_object_release(w->pairs);
  memset(w, 0, sizeof *w);
}

static int64_t work_bytes(const lac_buffer *b) { return b ? b->count * (int64_t)lac_index_size(b->type) : 0; }

int64_t lac_worklist_bytes(const lac_worklist *w) {
  return work_bytes(w->level) + work_bytes(w->lanes) + work_bytes(w->base) + work_bytes(w->target) +
         work_bytes(w->over) + work_bytes(w->pairs);
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

/// What is known of a list before it is written.
typedef struct work_plan {
  const lac_tasks *tasks;
  work_task *order;
  int64_t count, levels, products;
  int threads;
} work_plan;

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
  w->threads = LAC_LANES;
  while (w->threads < WORK_THREADS && w->threads * WORK_STEPS * w->levels < w->products + w->count) w->threads *= 2;
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

/// How many lanes share a task of a level: no more than keep the threads busy, and no more than have two products each.
static int work_lanes(const work_plan *w, int64_t begin, int64_t end) {
  int64_t products = 0, tasks = end - begin;
  int lanes = 1;
  for (int64_t i = begin; i < end; i++) products += w->order[i].length;
  while (lanes < LAC_LANES && 2 * lanes * tasks <= w->threads && 4 * lanes * tasks <= products) lanes *= 2;
  return lanes;
}

/// The steps of a chunk whose first task is the longest.
static int64_t work_steps(const work_plan *w, int64_t first, int lanes) {
  return (w->order[first].length + lanes - 1) / lanes;
}

/// Where a chunk is written: its number, its first step, the lanes that share a task.
typedef struct work_place {
  int64_t chunk, step;
  int lanes;
} work_place;

/// One chunk with tasks from `first` on, before `end`.
static void work_chunk(const work_plan *w, int64_t first, int64_t end, const work_place *at, lac_worklist *out) {
  const lac_tasks *t = w->tasks;
  int64_t steps = work_steps(w, first, at->lanes);
  for (int lane = 0; lane < LAC_LANES; lane++) {
    int64_t i = first + lane / at->lanes, place = at->chunk * LAC_LANES + lane;
    int64_t task = i < end ? w->order[i].task : -1, part = lane % at->lanes;
    bool is_first = task >= 0 && part == 0;
    lac_buffer_set(out->target, place, is_first ? t->target[task] : -1);
    lac_buffer_set(out->over, place, is_first ? t->over[task] : -1);
    for (int64_t s = 0; s < steps; s++) {
      int64_t p = task >= 0 ? t->begin[task] + part + s * at->lanes : 0;
      bool is_there = task >= 0 && p < t->begin[task + 1];
      uint64_t left = is_there ? t->left[p] : t->no_left, right = is_there ? t->right[p] : t->no_right;
      lac_buffer_set(out->pairs, (at->step + s) * LAC_LANES + lane, (int64_t)(left | right << out->shift));
    }
  }
}

/// All chunks; without buffers they are counted.
static work_place work_walk(const work_plan *w, lac_worklist *out) {
  work_place at = {0, 0, 1};
  int64_t level = 0;
  for (int64_t begin = 0, end; begin < w->count; begin = end) {
    end = work_level_end(w, begin);
    at.lanes = work_lanes(w, begin, end);
    if (out->level) lac_buffer_set(out->level, level++, at.chunk);
    for (int64_t first = begin; first < end; first += LAC_LANES / at.lanes, at.chunk++) {
      if (out->level) {
        lac_buffer_set(out->lanes, at.chunk, at.lanes);
        lac_buffer_set(out->base, at.chunk, at.step);
        work_chunk(w, first, end, &at, out);
      }
      at.step += work_steps(w, first, at.lanes);
    }
  }
  if (out->level) lac_buffer_set(out->level, level, at.chunk), lac_buffer_set(out->base, at.chunk, at.step);
  return at;
}

lac_status lac_worklist_make(lac_context *ctx, const lac_tasks *tasks, lac_worklist *list) {
  lac_status status = LAC_OK;
  work_plan w = {0};
  bool is_narrow = tasks->no_left < WORK_NARROW && tasks->no_right < WORK_NARROW;  // they are the largest
  work_place size;

  LAC_TRY(work_sort(ctx, tasks, &w));
  size = work_walk(&w, list);
  list->threads = w.threads;
  list->levels = w.levels;
  list->shift = is_narrow ? 16 : 32;
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, size.chunk, &list->lanes));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, size.chunk + 1, &list->base));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, size.chunk * LAC_LANES, &list->target));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, size.chunk * LAC_LANES, &list->over));
  LAC_TRY(lac_buffer_create(ctx, is_narrow ? LAC_I32 : LAC_I64, size.step * LAC_LANES, &list->pairs));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, w.levels + 1, &list->level));
  (void)work_walk(&w, list);
done:
  lac_free(w.order);
  return status;
}
