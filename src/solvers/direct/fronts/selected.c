// SPDX-License-Identifier: Apache-2.0
/// @file selected.c
/// Takahashi's recursion over supernodes: Z = B^-1 on the structure of the factor, parents first.
///
///     front of s     Z_RR is part of the parent's front, where `relative` says
///     columns K of P, from the last to the first; what comes after K in the front is Q
///     Cholesky       Y = L_QK L_KK^-1       Z_QK = -Z_QQ Y       Z_KK = (L_KK L_KK^H)^-1 - Z_KQ Y,   Z_KQ = Z_QK^H
///     L D L^H        the same with L_KK D_KK L_KK^H
///     LU             the same Y and Z_QK;   V = U_KK^-1 U_KQ     Z_KQ = -V Z_QQ      Z_KK = U_KK^-1 L_KK^-1 - V Z_QK
///
/// So all is products of Z_QQ with few columns: twice the work of the factorisation. Inside a supernode Z is kept in
/// the order of pivots; `place` says where that of a step stands. The number of (A^-1)(j, i) = c_j Z(j, i) r_i goes to
/// the slot of a_ij (Takahashi, Fagan and Chin 1973; Erisman and Tinney 1975).
///
/// A front of Z is needed until all its children have taken their part. Inside a subtree those alive lie on one path
/// from its root: they are stacked in the memory of the thread. Above they are blocks, given back by the last child.

#include "solvers/direct/fronts/selected.h"

#include <stdio.h>

#include "solvers/direct/dense/dense.h"
#include "solvers/direct/symbolic/tree.h"

enum {
  SELECTED_WIDTH = 64,       // columns done at once, about
  SELECTED_SHARED = 1 << 16  // numbers from which threads share the copying
};

// Rows from .. from + count - 1 of the parent's front stand at rows to .. in that of the child.
typedef struct selected_run {
  int32_t from, to, count;
} selected_run;

// One front of Z, and what it is made of.
typedef struct selected_front {
  const lac_fronts *f;
  int32_t s;
  int p, r, threads;
  const int32_t *place;  // of the steps of P in the order of pivots, or NULL
  void *z;               // (p + r) x (p + r)
  const void *above;     // the front of the parent
  int64_t above_rows;
  selected_run *runs;  // of rows of the parent's front
  int run_count;
  const int32_t *columns;  // of the parent's front
  void *y, *v;             // (p + r) x widest block
} selected_front;

#define KERNEL_FILE "solvers/direct/fronts/selected_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void selected_kernel(const selected_front *);
typedef void selected_store_kernel(const selected_front *, void *);
static selected_kernel *const selected_gather_kernels[] = TABLE(selected_gather);
static selected_kernel *const selected_invert_kernels[] = TABLE(selected_invert);
static selected_store_kernel *const selected_store_kernels[] = TABLE(selected_store);

// What a thread has to itself.
typedef struct selected_worker {
  _Alignas(64) char *fronts;  // a line of its own
  char *work;                 // Y and V
  selected_run *runs;
  int32_t *columns;
  double since;  // operations since it looked whether the walk shall end
} selected_worker;

typedef struct selected_walk {
  const lac_fronts *f;
  void *values;
  size_t size;
  int32_t most;      // rows of a front
  int32_t *place;    // n: the local place of the pivot of a step; NULL: its own
  int64_t *at;       // count: where the front stands in its thread's memory; -1: in a block of its own
  int64_t work;      // numbers of that memory
  char **blocks;     // count
  int32_t *waiting;  // count: children that have not taken their part of a block
  selected_worker *workers;
  lac_stop *stop;
} selected_walk;

// -- memory ----------------------------------------------------------------------------------------------------------

static int64_t selected_rows(const lac_supernodes *s, int32_t i) { return lac_front_cols(s, i) + lac_front_rows(s, i); }

// Fronts of a subtree lie one behind the other along the path from its root.
static void selected_plan(selected_walk *w) {
  const lac_supernodes *s = w->f->s;
  for (int32_t i = 0; i < s->count; i++) {
    w->at[i] = -1;
    if (s->parent[i] >= 0) w->waiting[s->parent[i]]++;
    if (selected_rows(s, i) > w->most) w->most = (int32_t)selected_rows(s, i);
  }
  for (int32_t range = 0; range < s->subtree_count; range++) {
    for (int32_t i = s->ranges[range].end - 1; i >= s->ranges[range].begin; i--) {
      int32_t up = s->parent[i];
      int64_t rows = selected_rows(s, i), inside = up >= 0 && up < s->ranges[range].end;
      w->at[i] = inside ? w->at[up] + (selected_rows(s, up) * selected_rows(s, up) + 7) / 8 * 8 : 0;
      if (w->at[i] + rows * rows > w->work) w->work = w->at[i] + rows * rows;
    }
  }
}

static void selected_invert_pivots(const lac_fronts *f, int32_t *place) {
  for (int32_t i = 0; i < f->s->count; i++) {
    for (int32_t k = f->s->first[i]; k < f->s->first[i + 1]; k++) place[f->pivots[k]] = k - f->s->first[i];
  }
}

static bool selected_begin(selected_walk *w, int threads) {
  const lac_supernodes *s = w->f->s;
  size_t count = (size_t)s->count;
  w->at = lac_calloc(count, sizeof *w->at);
  w->blocks = lac_calloc(count, sizeof *w->blocks);
  w->waiting = lac_calloc(count, sizeof *w->waiting);
  w->workers = lac_calloc((size_t)threads, sizeof *w->workers);
  if (w->f->pivots) w->place = lac_alloc((size_t)s->n * sizeof *w->place);
  if (!w->at || !w->blocks || !w->waiting || !w->workers || (w->f->pivots && !w->place)) return false;
  if (w->place) selected_invert_pivots(w->f, w->place);
  selected_plan(w);
  return true;
}

static void selected_end(selected_walk *w, int threads) {
  for (int t = 0; w->workers && t < threads; t++) {
    lac_free(w->workers[t].fronts);
    lac_free(w->workers[t].work);
    lac_free(w->workers[t].runs);
    lac_free(w->workers[t].columns);
  }
  for (int32_t i = 0; w->blocks && i < w->f->s->count; i++) lac_free(w->blocks[i]);
  void *blocks[] = {w->at, w->blocks, w->waiting, w->workers, w->place};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) lac_free(blocks[i]);
}

// Memory for the front of i, and the thread's own where it is the first.
static bool selected_prepare(selected_walk *w, selected_worker *worker, int32_t i) {
  size_t rows = (size_t)selected_rows(w->f->s, i), most = (size_t)w->most;
  if (!worker->work) {
    worker->work = lac_alloc(2 * most * (SELECTED_WIDTH + 1) * w->size);
    worker->runs = lac_alloc(most * sizeof *worker->runs);
    worker->columns = lac_alloc(most * sizeof *worker->columns);
    if (!worker->work || !worker->runs || !worker->columns) return false;
  }
  if (w->at[i] >= 0 && !worker->fronts) worker->fronts = lac_alloc((size_t)w->work * w->size);
  if (w->at[i] < 0) w->blocks[i] = lac_alloc(rows * rows * w->size);
  return w->at[i] >= 0 ? worker->fronts != NULL : w->blocks[i] != NULL;
}

static void *selected_memory(const selected_walk *w, const selected_worker *worker, int32_t i) {
  return w->at[i] < 0 ? w->blocks[i] : worker->fronts + (size_t)w->at[i] * w->size;
}

// A child has what it needs, or there are none. Sequentially consistent: all of them have read before one frees.
static void selected_release(selected_walk *w, int32_t i, int32_t taken) {
  int32_t left;
  if (i < 0 || w->at[i] >= 0) return;
#pragma omp atomic capture seq_cst
  left = w->waiting[i] -= taken;
  if (left > 0) return;
  lac_free(w->blocks[i]);
  w->blocks[i] = NULL;
}

// -- one front -------------------------------------------------------------------------------------------------------

// Where the rows and columns of R stand in the front of the parent.
static void selected_locate(const selected_walk *w, selected_worker *worker, selected_front *front) {
  const lac_supernodes *s = w->f->s;
  int32_t up = s->parent[front->s], cols = lac_front_cols(s, up);
  const int32_t *relative = s->relative + s->row_offsets[front->s];
  const int32_t *place = w->place ? w->place + s->first[up] : NULL;
  bool moves_rows = place && w->f->kind == LAC_FRONT_LDLT;
  for (int32_t i = 0; i < front->r; i++) {
    int32_t at = relative[i], moved = place && at < cols ? place[at] : at, row = moves_rows ? moved : at;
    selected_run *last = worker->runs + front->run_count - 1;
    worker->columns[i] = moved;
    if (front->run_count > 0 && last->from + last->count == row) {
      last->count++;
    } else {
      worker->runs[front->run_count++] = (selected_run){row, i, 1};
    }
  }
  front->runs = worker->runs;
  front->columns = worker->columns;
  front->above = selected_memory(w, worker, up);
  front->above_rows = selected_rows(s, up);
}

static bool selected_visit(selected_walk *w, int32_t i, int thread, int threads) {
  const lac_supernodes *s = w->f->s;
  selected_worker *worker = &w->workers[thread];
  selected_front front = {.f = w->f, .s = i, .p = lac_front_cols(s, i), .r = lac_front_rows(s, i), .threads = threads};

  if (!selected_prepare(w, worker, i)) return false;
  front.place = w->place ? w->place + s->first[i] : NULL;
  front.z = selected_memory(w, worker, i);
  front.y = worker->work;
  front.v = worker->work + (size_t)w->most * (SELECTED_WIDTH + 1) * w->size;
  if (front.r > 0) {
    selected_locate(w, worker, &front);
    selected_gather_kernels[w->f->dtype](&front);
  }
  selected_release(w, s->parent[i], 1);
  selected_invert_kernels[w->f->dtype](&front);
  selected_store_kernels[w->f->dtype](&front, w->values);
  if (w->waiting[i] == 0) selected_release(w, i, 0);
  return true;
}

static bool selected_range(void *job, int32_t range, int worker, int threads) {
  selected_walk *w = job;
  const lac_supernodes *s = w->f->s;
  for (int32_t i = s->ranges[range].end - 1; i >= s->ranges[range].begin; i--) {
    double p = lac_front_cols(s, i), m = (double)selected_rows(s, i);
    if (lac_stop_is_due(w->stop, 2 * p * m * m, &w->workers[worker].since)) return false;
    if (!selected_visit(w, i, worker, threads)) return false;
  }
  return true;
}

lac_status lac_fronts_selected_inverse(const lac_structure *structure, const void *part, const void *fronts,
                                       int threads, lac_stop *stop, void *values, lac_fault *fault) {
  selected_walk w = {.f = fronts, .values = values, .stop = stop};
  (void)structure, (void)part;
  w.size = lac_dtype_size(w.f->dtype);
  bool is_done = selected_begin(&w, threads), lacks_blas = is_done && !lac_blas_enter(threads);
  is_done = is_done && !lacks_blas;
  if (is_done) {
    is_done = lac_tree_down_ranges(w.f->s, threads, selected_range, &w);
    lac_blas_leave(threads);
  }
  selected_end(&w, threads);
  if (is_done) return LAC_OK;
  if (lac_stop_is_set(stop)) return lac_fault_interrupted(fault);
  if (lacks_blas) return lac_fault_blas(fault);
  snprintf(fault->text, sizeof fault->text, "out of memory: fronts of the inverse of up to %d rows", w.most);
  return LAC_ERR_MEMORY;
}
