// SPDX-License-Identifier: Apache-2.0
// Three ways to a product at given places. Where the entries of one row stand is kept in `mark`; as positions ascend
// from row to row, one before the start of the current row is an old one, and nothing has to be cleared.
//
// Where the target, X and Y are a product and its factors, in any roles, their places say where each product goes, and
// nothing is marked (core/pattern/pattern_impl.h). The order of the sums is the same.
//
// INDEX(type) is an array of integers, OPEN makes one of a buffer, AT reads it and ASK asks for one that comes soon:
// all of one width, or each of its own.

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

/// A, B and C = A B as a placed walk reads them, whichever of them is wanted.
typedef struct XN(placed) {
  XN(view) a, b, c;
  int64_t asks;  // entries of A up to which rows of B are prefetched
  const int64_t *start;
  const uint16_t *place;
} XN(placed);

/// Rows of B may stand anywhere: the values of a row that comes soon are prefetched.
INLINE void XN(ask_ahead)(const XN(placed) * w, int64_t p) {
  if (p >= w->asks) return;
  ASK(w->b.offsets, AT(w->a.columns, p + SPGEMM_FAR_AHEAD));
  __builtin_prefetch(&w->b.data[AT(w->b.offsets, AT(w->a.columns, p + SPGEMM_AHEAD))]);
}

// One entry of A with n entries of B, from entry q on; n is a constant to the compiler where it is small.

INLINE void XN(expand_run)(const XN(placed) * w, T a, int64_t q, const uint16_t *place, T *c, const int64_t n) {
  UNROLL(8) for (int64_t r = 0; r < n; ++r) c[place[r]] = FN(mac)(c[place[r]], a, XN(entry)(&w->b, q + r, true));
}

INLINE T XN(dot_run)(const XN(placed) * w, T sum, int64_t q, const uint16_t *place, int64_t row, const int64_t n) {
  UNROLL(8) for (int64_t r = 0; r < n; ++r) {
    sum = FN(mac)(sum, XN(entry)(&w->c, row + place[r], true), XN(entry)(&w->b, q + r, true));
  }
  return sum;
}

INLINE void XN(scatter_run)(const XN(placed) * w, T a, const uint16_t *place, int64_t row, T *b, const int64_t n) {
  UNROLL(8) for (int64_t r = 0; r < n; ++r) b[r] = FN(mac)(b[r], a, XN(entry)(&w->c, row + place[r], true));
}

/// Row i of C: c_i += a_ik b_k.
INLINE void XN(expand_placed)(const XN(placed) * w, int64_t i, T *c) {
  const uint16_t *place = w->place + w->start[i];
  for (int64_t p = AT(w->a.offsets, i), end = AT(w->a.offsets, i + 1); p < end; ++p) {
    int64_t k = AT(w->a.columns, p), q = AT(w->b.offsets, k), n = AT(w->b.offsets, k + 1) - q;
    T a = XN(entry)(&w->a, p, true);
    XN(ask_ahead)(w, p);
#define RUN(n) XN(expand_run)(w, a, q, place, c, n)
    BY_LENGTH(n, RUN)
#undef RUN
    place += n;
  }
}

/// Row i of A: a_ik = <c_i, b_k>.
INLINE void XN(dot_placed)(const XN(placed) * w, int64_t i, T *a, bool adds) {
  const uint16_t *place = w->place + w->start[i];
  int64_t row = AT(w->c.offsets, i);
  for (int64_t p = AT(w->a.offsets, i), end = AT(w->a.offsets, i + 1); p < end; ++p) {
    int64_t k = AT(w->a.columns, p), q = AT(w->b.offsets, k), n = AT(w->b.offsets, k + 1) - q;
    T sum = adds ? a[p] : 0;
    XN(ask_ahead)(w, p);
#define RUN(n) sum = XN(dot_run)(w, sum, q, place, row, n)
    BY_LENGTH(n, RUN)
#undef RUN
    a[p] = sum;
    place += n;
  }
}

/// What row i of A and of C gives to the rows [begin, end) of B: b_k += a_ik c_i.
INLINE void XN(scatter_placed)(const XN(placed) * w, int64_t i, T *b, int64_t begin, int64_t end) {
  const uint16_t *place = w->place + w->start[i];
  int64_t row = AT(w->c.offsets, i), p = AT(w->a.offsets, i), stop = AT(w->a.offsets, i + 1);
  if (p == stop || AT(w->a.columns, stop - 1) < begin) return;
  for (; p < stop; ++p) {
    int64_t k = AT(w->a.columns, p), q = AT(w->b.offsets, k), n = AT(w->b.offsets, k + 1) - q;
    T a = XN(entry)(&w->a, p, true);
    if (k >= end) return;
    XN(ask_ahead)(w, p);
    if (k >= begin) {
#define RUN(n) XN(scatter_run)(w, a, place, row, b + q, n)
      BY_LENGTH(n, RUN)
#undef RUN
    }
    place += n;
  }
}

/// Rows [begin, end) of t, for one item of the batch.
static void XN(rows_placed)(const spgemm_job *job, int64_t item, int64_t begin, int64_t end) {
  const XN(views) v = XN(views_of)(job, item);
  XN(placed) w = {.start = job->places->start, .place = job->places->place};
  int64_t entries = job->way == DOT ? job->target.nnz : job->x.nnz;
  w.asks = job->places->repeats ? 0 : entries - SPGEMM_FAR_AHEAD;
  switch (job->way) {
    case EXPAND:
      w.a = v.x, w.b = v.y, w.c = v.target;
      XN(clear_rows)(&v, begin, end);
      for (int64_t i = begin; i < end; ++i) XN(expand_placed)(&w, i, v.t + AT(w.c.offsets, i));
      break;
    case DOT:
      w.a = v.target, w.b = v.y, w.c = v.x;
      for (int64_t i = begin; i < end; ++i) XN(dot_placed)(&w, i, v.t, v.adds);
      break;
    default:
      w.a = v.x, w.b = v.target, w.c = v.y;
      w.b.data = v.t;
      XN(clear_rows)(&v, begin, end);
      for (int64_t i = 0; i < job->x.rows.rows; ++i) XN(scatter_placed)(&w, i, v.t, begin, end);
  }
}

/// Rows [begin, end) of t.
static void XN(spgemm_rows)(const void *opaque, int64_t begin, int64_t end) {
  const spgemm_job *job = opaque;
  if (job->places) {
    for (int64_t item = 0; item < job->batch.count; ++item) XN(rows_placed)(job, item, begin, end);
    return;
  }
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
