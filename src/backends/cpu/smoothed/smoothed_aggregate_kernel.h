// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_aggregate.c, for one dtype T and integers O, C (instantiate_indexed.h).

enum { XN(FREE) = -1, XN(ALONE) = -2 };  // no aggregate yet; no strong entry

/// Whether row i and all its strong neighbours are free.
INLINE bool XN(is_root)(const aggregate_job *j, int64_t i) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns, *member = j->member;
  bool has = false;
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    if (j->kinds[p] != LAC_ENTRY_STRONG) continue;
    if (member[columns[p]] >= 0) return false;
    has = true;
  }
  if (!has) ((C *)j->member)[i] = XN(ALONE);
  return has;
}

/// Row i and its strong neighbours that are free become an aggregate.
INLINE void XN(gather)(const aggregate_job *j, int64_t i, C number) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  C *member = j->member;
  member[i] = number;
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    C *other = &member[columns[p]];
    if (j->kinds[p] == LAC_ENTRY_STRONG && *other < 0) *other = number;
  }
}

/// The aggregate of the strongest neighbour that has one, as 2 and more below zero: -3 - number; or FREE.
INLINE C XN(strongest)(const aggregate_job *j, int64_t i) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns, *member = j->member;
  const T *values = j->values;
  double most = 0;
  C best = XN(FREE);
  for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
    if (j->kinds[p] != LAC_ENTRY_STRONG || member[columns[p]] < 0) continue;
    double size = FN(modulus)(values[p]);
    if (size > most) most = size, best = (C)(-3 - member[columns[p]]);
  }
  return best;
}

/// Whether most neighbours of the rows looked at are far off in number: rows that have been shuffled.
static bool XN(is_shuffled)(const aggregate_job *j) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns;
  int64_t rows = j->a->rows, far = 0, all = 0, step = rows / SHUFFLED_SAMPLES + 1;
  for (int64_t i = 0; i < rows; i += step) {
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
      int64_t apart = columns[p] < i ? i - columns[p] : columns[p] - i;
      all += apart > 0;
      far += apart > rows / 8;
    }
  }
  return 2 * far > all;
}

/// Roots in the order of the rows; returns how many.
static int64_t XN(roots_in_order)(const aggregate_job *j) {
  int64_t count = 0;
  const C *member = j->member;
  for (int64_t i = 0; i < j->a->rows; ++i) {
    if (member[i] == XN(FREE) && XN(is_root)(j, i)) XN(gather)(j, i, (C)count++);
  }
  return count;
}

/// Roots breadth first along strong entries: aggregates pack densely, and neighbours have near numbers.
static int64_t XN(roots_along)(const aggregate_job *j) {
  const O *offsets = j->a->offsets;
  const C *columns = j->a->columns, *member = j->member;
  C *queue = j->queue;
  int64_t count = 0, next = 0, last = 0;
  for (int64_t start = 0; start < j->a->rows; ++start) {
    if (!j->seen[start]) queue[last++] = (C)start, j->seen[start] = 1;
    for (; next < last; ++next) {
      int64_t i = queue[next];
      if (member[i] == XN(FREE) && XN(is_root)(j, i)) XN(gather)(j, i, (C)count++);
      for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
        if (j->kinds[p] != LAC_ENTRY_STRONG || j->seen[columns[p]]) continue;
        j->seen[columns[p]] = 1;
        queue[last++] = columns[p];
      }
    }
  }
  return count;
}

/// Roots whose neighbours are all free; the rest joins its strongest neighbour; what has none by then makes aggregates
/// of its own.
static int64_t XN(aggregate_greedily)(const aggregate_job *j) {
  int64_t rows = j->a->rows, count;
  C *member = j->member;
  for (int64_t i = 0; i < rows; ++i) member[i] = XN(FREE);
  count = XN(is_shuffled)(j) ? XN(roots_along)(j) : XN(roots_in_order)(j);
  for (int64_t i = 0; i < rows; ++i) {
    if (member[i] == XN(FREE)) member[i] = XN(strongest)(j, i);
  }
  for (int64_t i = 0; i < rows; ++i) {
    if (member[i] <= -3) member[i] = (C)(-3 - member[i]);
  }
  for (int64_t i = 0; i < rows; ++i) {
    if (member[i] == XN(FREE)) XN(gather)(j, i, (C)count++);
  }
  for (int64_t i = 0; i < rows; ++i) {
    if (member[i] < 0) member[i] = -1;
  }
  return count;
}

/// The next aggregate along row i of A: that of entry p, which is not weak nor the diagonal; or -1.
INLINE int64_t XN(member_of)(const interpolate_job *j, int64_t p) {
  const C *columns = j->a->columns, *member = j->aggregates->member;
  return j->kinds[p] == LAC_ENTRY_STRONG || j->kinds[p] == LAC_ENTRY_LEANING ? (int64_t)member[columns[p]] : -1;
}

/// Lengths of the rows of P, into `numbers`. Marks: the row that saw the aggregate last.
static void XN(interpolate_lengths)(const void *job, int64_t begin, int64_t end) {
  const interpolate_job *j = job;
  const O *offsets = j->a->offsets;
  const C *member = j->aggregates->member;
  O *lengths = j->numbers;
  for (int64_t i = begin; i < end; ++i) {
    lengths[i] = member[i] >= 0;
    if (member[i] >= 0) j->mark[member[i]] = i;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
      int64_t a = XN(member_of)(j, p);
      if (a < 0 || j->mark[a] == i) continue;
      j->mark[a] = i;
      ++lengths[i];
    }
  }
}

static void XN(interpolate_columns)(const void *job, int64_t begin, int64_t end) {
  const interpolate_job *j = job;
  const O *offsets = j->a->offsets, *to = j->offsets;
  const C *member = j->aggregates->member;
  C *columns = j->columns;
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = to[i];
    if (member[i] >= 0) columns[at++] = member[i], j->mark[member[i]] = i;
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
      int64_t a = XN(member_of)(j, p);
      if (a < 0 || j->mark[a] == i) continue;
      j->mark[a] = i;
      columns[at++] = (C)a;
    }
  }
}

/// factor T[row, its aggregate]
INLINE T XN(times_basis)(const cpu_aggregates *g, int64_t row, T factor) {
  const T *basis = g->basis;
  return basis ? FN(mul)(factor, basis[row]) : factor;
}

/// Marks: where the column of the aggregate stands in P; those before the row are old.
static void XN(interpolate_numbers)(const void *job, int64_t begin, int64_t end) {
  const interpolate_job *j = job;
  const O *offsets = j->a->offsets, *to = j->offsets;
  const C *columns = j->a->columns, *member = j->aggregates->member;
  const T *f = j->f, *values = j->values;
  T *numbers = j->numbers;
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = to[i];
    FN(real) omega = member[i] < 0 ? 1 : (FN(real))j->omega;  // what has no aggregate has all from its neighbours
    for (int64_t q = at; q < to[i + 1]; ++q) numbers[q] = 0;
    if (member[i] >= 0) {
      j->mark[member[i]] = at;
      numbers[at++] = XN(times_basis)(j->aggregates, i, f[i] == 0 ? 1 : 1 - omega);
    }
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) {
      int64_t a = XN(member_of)(j, p);
      if (a < 0) continue;
      if (j->mark[a] < to[i]) j->mark[a] = at++;
      numbers[j->mark[a]] += XN(times_basis)(j->aggregates, columns[p], -omega * FN(mul)(f[i], values[p]));
    }
  }
}
