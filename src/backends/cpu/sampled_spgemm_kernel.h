// SPDX-License-Identifier: Apache-2.0
// Three ways to a product at given places. Where the entries of one row stand is kept in `mark`; as positions ascend from row to
// row, one before the start of the current row is an old one, and nothing has to be cleared.
//
// INDEX(type) is an array of integers, OPEN makes one of a buffer and AT reads it: all of one width, or each of its own.

#define REAL FN(real)

/// A walk as this width reads it, with the values of one item of the batch.
typedef struct XN(view) {
  INDEX(O) offsets;
  INDEX(C) columns;
  INDEX(O) slots;  // NULL: entry p has slot p
  REAL sign;
  const T *data;
} XN(view);

INLINE XN(view) XN(view_of)(const spgemm_walk *w) {
  return (XN(view)){OPEN(O, w->rows.offsets), OPEN(C, w->rows.columns), w->rows.slots ? OPEN(O, w->rows.slots) : NULL,
                    (REAL)w->sign, w->data};
}

/// The value of entry p; `direct` says that there are no slots, and is a constant to the compiler in inner loops.
INLINE T XN(entry)(const XN(view) * v, int64_t p, bool direct) {
  return FN(signed)(v->data[direct ? p : AT(v->slots, p)], v->sign);
}

INLINE void XN(mark_row)(const XN(view) * v, int64_t i, O *mark) {
  for (int64_t p = AT(v->offsets, i), end = AT(v->offsets, i + 1); p < end; ++p) mark[AT(v->columns, p)] = (O)p;
}

/// Row i of t: t_i += x_ik y_k. The target's row is marked.
INLINE void XN(expand_row)(const XN(view) * x, const XN(view) * y, int64_t i, int64_t start, const O *mark, T *t,
                           const bool direct) {
  for (int64_t p = AT(x->offsets, i), end = AT(x->offsets, i + 1); p < end; ++p) {
    int64_t k = AT(x->columns, p);
    T factor = XN(entry)(x, p, !x->slots);
    for (int64_t q = AT(y->offsets, k), last = AT(y->offsets, k + 1); q < last; ++q) {
      int64_t place = mark[AT(y->columns, q)];
      if (place >= start) t[place] = FN(mac)(t[place], factor, XN(entry)(y, q, direct));
    }
  }
}

/// Row i of t: t_ij = <row i of x, row j of y>. The row of x is marked.
INLINE void XN(dot_row)(const XN(view) * x, const XN(view) * y, const XN(view) * target, int64_t i, const O *mark, T *t,
                        bool adds, const bool direct) {
  int64_t start = AT(x->offsets, i);
  for (int64_t p = AT(target->offsets, i), end = AT(target->offsets, i + 1); p < end; ++p) {
    int64_t j = AT(target->columns, p);
    T sum = adds ? t[p] : 0;
    for (int64_t q = AT(y->offsets, j), last = AT(y->offsets, j + 1); q < last; ++q) {
      int64_t place = mark[AT(y->columns, q)];
      if (place >= start) sum = FN(mac)(sum, XN(entry)(x, place, direct), XN(entry)(y, q, !y->slots));
    }
    t[p] = sum;
  }
}

/// What row i of x and of y gives to the rows [begin, end) of t: t_k += x_ik y_i. The row of y is marked.
INLINE void XN(scatter_row)(const XN(view) * x, const XN(view) * y, const XN(view) * target, int64_t i, int64_t p,
                            int64_t end, const O *mark, T *t, const bool direct) {
  int64_t start = AT(y->offsets, i);
  for (int64_t last = AT(x->offsets, i + 1); p < last; ++p) {
    int64_t k = AT(x->columns, p);
    if (k >= end) break;
    T factor = XN(entry)(x, p, !x->slots);
    for (int64_t q = AT(target->offsets, k), stop = AT(target->offsets, k + 1); q < stop; ++q) {
      int64_t place = mark[AT(target->columns, q)];
      if (place >= start) t[q] = FN(mac)(t[q], factor, XN(entry)(y, place, direct));
    }
  }
}

/// One walk over an item of the batch.
typedef struct XN(views) {
  XN(view) x, y, target;
  T *t;
  bool adds;
} XN(views);

INLINE XN(views) XN(views_of)(const spgemm_job *job, int64_t item) {
  XN(views) v = {XN(view_of)(&job->x), XN(view_of)(&job->y), XN(view_of)(&job->target), (T *)job->t, false};
  if (job->batch.count > 1) {
    v.x.data += lac_batch_item(&job->batch, 0, item) * job->x.nnz;
    v.y.data += lac_batch_item(&job->batch, 1, item) * job->y.nnz;
    v.t += lac_batch_item(&job->batch, 2, item) * job->target.nnz;
    v.adds = !cpu_batch_is_first(&job->batch, 2, item);
  }
  return v;
}

/// Set the rows [begin, end) of t to zero, unless this item is added to another.
INLINE void XN(clear_rows)(const XN(views) * v, int64_t begin, int64_t end) {
  int64_t p = AT(v->target.offsets, begin), stop = AT(v->target.offsets, end);
  if (!v->adds) memset(v->t + p, 0, (size_t)(stop - p) * sizeof(T));
}

static void XN(expand)(const spgemm_job *job, int64_t begin, int64_t end, O *mark) {
  XN(views) v = XN(views_of)(job, 0);
  for (int64_t i = begin; i < end; ++i) {
    int64_t start = AT(v.target.offsets, i);
    XN(mark_row)(&v.target, i, mark);
    for (int64_t item = 0; item < job->batch.count; ++item) {
      if (job->batch.count > 1) v = XN(views_of)(job, item);
      XN(clear_rows)(&v, i, i + 1);
      if (v.y.slots) {
        XN(expand_row)(&v.x, &v.y, i, start, mark, v.t, false);
      } else {
        XN(expand_row)(&v.x, &v.y, i, start, mark, v.t, true);
      }
    }
  }
}

static void XN(dot)(const spgemm_job *job, int64_t begin, int64_t end, O *mark) {
  XN(views) v = XN(views_of)(job, 0);
  for (int64_t i = begin; i < end; ++i) {
    XN(mark_row)(&v.x, i, mark);
    for (int64_t item = 0; item < job->batch.count; ++item) {
      if (job->batch.count > 1) v = XN(views_of)(job, item);
      if (v.x.slots) {
        XN(dot_row)(&v.x, &v.y, &v.target, i, mark, v.t, v.adds, false);
      } else {
        XN(dot_row)(&v.x, &v.y, &v.target, i, mark, v.t, v.adds, true);
      }
    }
  }
}

static void XN(scatter)(const spgemm_job *job, int64_t begin, int64_t end, O *mark) {
  XN(views) v = XN(views_of)(job, 0);
  for (int64_t item = 0; item < job->batch.count; ++item) {
    if (job->batch.count > 1) v = XN(views_of)(job, item);
    XN(clear_rows)(&v, begin, end);
  }
  for (int64_t i = 0; i < job->x.rows.rows; ++i) {
    int64_t p = AT(v.x.offsets, i), last = AT(v.x.offsets, i + 1);
    while (p < last && AT(v.x.columns, p) < begin) ++p;
    if (p == last || AT(v.x.columns, p) >= end) continue;
    XN(mark_row)(&v.y, i, mark);
    for (int64_t item = 0; item < job->batch.count; ++item) {
      if (job->batch.count > 1) v = XN(views_of)(job, item);
      if (v.y.slots) {
        XN(scatter_row)(&v.x, &v.y, &v.target, i, p, end, mark, v.t, false);
      } else {
        XN(scatter_row)(&v.x, &v.y, &v.target, i, p, end, mark, v.t, true);
      }
    }
  }
}

/// Rows [begin, end) of t.
static void XN(spgemm_rows)(const void *opaque, int64_t begin, int64_t end) {
  const spgemm_job *job = opaque;
  O *mark = lac_alloc((size_t)job->marks * sizeof(O));
  if (!mark) {
    atomic_store_explicit(job->failed, 1, memory_order_relaxed);
    return;
  }
  memset(mark, 0xff, (size_t)job->marks * sizeof(O));
  switch (job->way) {
    case EXPAND:
      XN(expand)(job, begin, end, mark);
      break;
    case DOT:
      XN(dot)(job, begin, end, mark);
      break;
    default:
      XN(scatter)(job, begin, end, mark);
  }
  lac_free(mark);
}

#undef REAL
