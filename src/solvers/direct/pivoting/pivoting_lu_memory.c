// SPDX-License-Identifier: Apache-2.0
/// @file pivoting_lu_memory.c
/// Memory of LU by columns: shapes, which factors with the same pivots share, numbers, and room to work in.

#include <string.h>

#include "solvers/direct/pivoting/pivoting_lu.h"
#include "solvers/direct/pivoting/pivoting_lu_replay.h"

bool pivoting_grow(pivoting_index *index, void **values, int64_t count, size_t number_size) {
  int64_t capacity = index->count + count + index->capacity / 2;
  int32_t *rows = lac_realloc(index->rows, (size_t)capacity * sizeof *rows);
  if (rows) index->rows = rows;
  void *larger = lac_realloc(*values, (size_t)capacity * number_size);
  if (larger) *values = larger;
  if (rows && larger) index->capacity = capacity;
  return rows && larger;
}

static bool pivoting_index_init(pivoting_index *index, int32_t n, int64_t capacity) {
  index->capacity = capacity;
  index->offsets = lac_calloc((size_t)n + 1, sizeof *index->offsets);
  index->rows = lac_alloc((size_t)capacity * sizeof *index->rows);
  return index->offsets && index->rows;
}

static void pivoting_index_clear(pivoting_index *index) {
  lac_free(index->offsets);
  lac_free(index->rows);
}

static void pivoting_shape_destroy(lac_object *object) {
  pivoting_shape *shape = (pivoting_shape *)object;
  pivoting_index_clear(&shape->l);
  pivoting_index_clear(&shape->u);
  pivoting_index_clear(&shape->below);
  lac_free(shape->pivots);
  lac_free(shape->place);
  lac_free(shape->wanted);
  pivoting_replay_destroy(shape->replay);
  lac_free(shape);
}

static const lac_kind pivoting_shape_kind = {"pivoting_shape", pivoting_shape_destroy};

static pivoting_shape *pivoting_shape_create(int32_t n, int64_t l_count, int64_t u_count, int64_t below_count) {
  pivoting_shape *shape = lac_calloc(1, sizeof *shape);
  if (!shape) return NULL;
  lac_object_init(&shape->object, &pivoting_shape_kind);
  shape->n = n;
  shape->pivots = lac_alloc((size_t)n * sizeof *shape->pivots);
  shape->place = lac_alloc((size_t)n * sizeof *shape->place);
  shape->wanted = lac_alloc((size_t)n * sizeof *shape->wanted);
  bool has_l = pivoting_index_init(&shape->l, n, l_count), has_u = pivoting_index_init(&shape->u, n, u_count),
       has_below = pivoting_index_init(&shape->below, n, below_count);
  if (has_l && has_u && has_below && shape->pivots && shape->place && shape->wanted) {
    memset(shape->place, -1, (size_t)n * sizeof *shape->place);
    return shape;
  }
  lac_object_release(shape);
  return NULL;
}

void pivoting_destroy(void *numeric) {
  pivoting_numeric *f = numeric;
  if (!f) return;
  lac_free(f->l);
  if (!f->replay) {
    lac_free(f->u);
    lac_free(f->below);
    lac_free(f->diagonal);
    lac_free(f->inverse);
    lac_free(f->row_scale);
    lac_free(f->col_scale);
  }
  lac_object_release(f->shape);
  lac_free(f);
}

/// With the shape, which it takes over, and room for so many numbers.
static pivoting_numeric *pivoting_create_in(pivoting_shape *shape, lac_dtype dtype, int64_t l_count, int64_t u_count) {
  pivoting_numeric *f = shape ? lac_calloc(1, sizeof *f) : NULL;
  size_t size = lac_dtype_size(dtype), line = shape ? (size_t)shape->n * size : 0;
  if (!f) {
    lac_object_release(shape);
    return NULL;
  }
  *f = (pivoting_numeric){.dtype = dtype, .n = shape->n, .shape = shape, .smallest = 1, .where = -1, .weakest = 1};
  f->l = lac_alloc((size_t)l_count * size);
  f->u = lac_alloc((size_t)u_count * size);
  f->below = lac_alloc((size_t)shape->below.capacity * size);
  f->diagonal = lac_alloc(line);
  f->inverse = lac_alloc(line);
  f->row_scale = lac_alloc(line);
  f->col_scale = lac_alloc(line);
  if (f->l && f->u && f->below && f->diagonal && f->inverse && f->row_scale && f->col_scale) return f;
  pivoting_destroy(f);
  return NULL;
}

pivoting_numeric *pivoting_create(const pivoting_analysis *a, lac_dtype dtype, int64_t l_count, int64_t u_count) {
  return pivoting_create_in(pivoting_shape_create(a->n, l_count, u_count, a->below), dtype, l_count, u_count);
}

pivoting_numeric *pivoting_create_like(pivoting_shape *shape, lac_dtype dtype) {
  pivoting_numeric *f = pivoting_create_in(lac_object_retain(shape), dtype, shape->l.count, shape->u.count);
  if (f) f->is_like = true;
  return f;
}

void pivoting_work_clear(pivoting_work *w) {
  lac_free(w->x);
  lac_free(w->mark);
  lac_free(w->path);
  lac_free(w->stack);
  lac_free(w->resume);
  lac_free(w->rest);
  lac_free(w->pruned);
  lac_free(w->row_of);
  lac_free(w->col_of);
}

bool pivoting_work_init(pivoting_work *w, size_t n, lac_dtype dtype) {
  w->x = lac_calloc(n, lac_dtype_size(dtype));
  w->mark = lac_alloc(n * sizeof *w->mark);
  w->path = lac_alloc(n * sizeof *w->path);
  w->stack = lac_alloc(n * sizeof *w->stack);
  w->resume = lac_alloc(n * sizeof *w->resume);
  w->rest = lac_alloc(n * sizeof *w->rest);
  w->pruned = lac_alloc(n * sizeof *w->pruned);
  w->row_of = lac_alloc(n * sizeof *w->row_of);
  w->col_of = lac_alloc(n * sizeof *w->col_of);
  if (!w->x || !w->mark || !w->path || !w->stack || !w->resume || !w->rest || !w->pruned) return false;
  if (!w->row_of || !w->col_of) return false;
  memset(w->mark, -1, n * sizeof *w->mark);
  return true;
}

int64_t pivoting_shape_bytes(int32_t n, int64_t entries) {
  return entries * (int64_t)sizeof(int32_t) + n * (int64_t)(3 * sizeof(int32_t) + 3 * sizeof(int64_t));
}

int64_t pivoting_bytes(lac_dtype dtype, int32_t n, int64_t entries) {
  return pivoting_shape_bytes(n, entries) + (entries + 4 * (int64_t)n) * (int64_t)lac_dtype_size(dtype);
}

int64_t pivoting_bytes_of(const pivoting_numeric *f) {
  const pivoting_shape *shape = f->shape;
  int64_t entries = shape->l.capacity + shape->u.capacity + shape->below.capacity;
  if (f->replay) {
    return f->replay->count * (int64_t)lac_dtype_size(f->dtype) + (f->counts_replay ? f->replay->bytes : 0);
  }
  return pivoting_bytes(f->dtype, f->n, entries) - (f->is_like ? pivoting_shape_bytes(f->n, entries) : 0);
}
