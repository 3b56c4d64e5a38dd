// SPDX-License-Identifier: Apache-2.0
// The text of smoothed_product.c, for one dtype T and integers O, C (instantiate_indexed.h).

/// Row i of A P behind the others of the chunk; false without memory.
static bool XN(make_row)(const galerkin_job *j, galerkin_work *w, int64_t i) {
  const O *offsets = j->a->offsets, *p_offsets = j->p->offsets;
  const C *columns = j->a->columns, *p_columns = j->p->columns;
  const T *values = j->values, *p_values = j->p_values;
  int64_t begin = w->entries, base = w->entries_before, most = 0;

  for (int64_t q = offsets[i]; q < offsets[i + 1]; ++q) most += p_offsets[columns[q] + 1] - p_offsets[columns[q]];
  if (!grow_both(&w->columns, &w->numbers, &w->room, begin - base + most, sizeof(C), sizeof(T))) return false;
  if (!grow((void **)&w->start, &w->start_room, w->made - w->made_before + 2, sizeof *w->start)) return false;
  C *made = w->columns;
  T *numbers = w->numbers;
  O *mark = w->mark;
  int64_t count = begin;
  for (int64_t n = begin - base; n < begin - base + most; ++n) numbers[n] = 0;
  for (int64_t q = offsets[i]; q < offsets[i + 1]; ++q) {
    T value = values[q];
    for (int64_t s = p_offsets[columns[q]]; s < p_offsets[columns[q] + 1]; ++s) {  // no branch: it is unpredictable
      C column = p_columns[s];
      int64_t at = mark[column], is_new = at < begin;
      at = is_new ? count : at;
      count += is_new;
      mark[column] = (O)at;
      made[at - base] = column;
      numbers[at - base] = FN(mac)(numbers[at - base], value, p_values[s]);
    }
  }
  w->entries = count;
  w->start[w->made - w->made_before] = begin - base;
  w->start[w->made - w->made_before + 1] = w->entries - base;
  ((O *)w->where)[i] = (O)++w->made;
  return true;
}

/// Where row i of A P stands in the chunk, made when it is not there; -1 without memory.
INLINE int64_t XN(find_row)(const galerkin_job *j, galerkin_work *w, int64_t i) {
  const O *where = w->where;
  if (where[i] <= w->made_before && !XN(make_row)(j, w, i)) return -1;
  return where[i] - 1 - w->made_before;
}

/// A row of the result into memory of its own, columns as they come; false without memory.
static bool XN(new_row)(const galerkin_job *j, galerkin_work *w, int64_t row) {
  const O *r_offsets = j->r->offsets;
  const C *r_columns = j->r->columns;
  const T *r_values = j->r_values;
  O *place = w->place;
  int64_t begin = w->c_count;
  for (int64_t q = r_offsets[row]; q < r_offsets[row + 1]; ++q) {
    int64_t found = XN(find_row)(j, w, r_columns[q]);
    if (found < 0) return false;
    int64_t from = w->start[found], to = w->start[found + 1];
    if (!grow_both(&w->c_columns, &w->c_numbers, &w->c_room, w->c_count + to - from, sizeof(C), sizeof(T)))
      return false;
    const C *columns = w->columns;
    const T *numbers = w->numbers;
    C *out = w->c_columns;
    T *sums = w->c_numbers, factor = r_values[q];
    int64_t count = w->c_count;
    for (int64_t n = count; n < count + to - from; ++n) sums[n] = 0;
    for (int64_t s = from; s < to; ++s) {
      C column = columns[s];
      int64_t at = place[column], is_new = at < begin;
      at = is_new ? count : at;
      count += is_new;
      place[column] = (O)at;
      out[at] = column;
      sums[at] = FN(mac)(sums[at], factor, numbers[s]);
    }
    w->c_count = count;
  }
  j->lengths[row] = w->c_count - begin;
  return true;
}

/// The same where the columns are known.
static bool XN(known_row)(const galerkin_job *j, galerkin_work *w, int64_t row) {
  const O *r_offsets = j->r->offsets, *c_offsets = j->c->offsets;
  const C *r_columns = j->r->columns, *c_columns = j->c->columns;
  const T *r_values = j->r_values;
  T *sums = j->out;
  O *place = w->place;
  for (int64_t q = c_offsets[row]; q < c_offsets[row + 1]; ++q) place[c_columns[q]] = (O)q, sums[q] = 0;
  for (int64_t q = r_offsets[row]; q < r_offsets[row + 1]; ++q) {
    int64_t found = XN(find_row)(j, w, r_columns[q]);
    if (found < 0) return false;
    const C *columns = w->columns;
    const T *numbers = w->numbers, factor = r_values[q];
    for (int64_t s = w->start[found]; s < w->start[found + 1]; ++s) {
      T *sum = &sums[place[columns[s]]];
      *sum = FN(mac)(*sum, factor, numbers[s]);
    }
  }
  return true;
}

/// Start a chunk. Entries are counted on from chunk to chunk, so that marks of earlier ones are old; before they would
/// not fit, marks are made anew.
static void XN(open_chunk)(const galerkin_job *j, galerkin_work *w) {
  O *mark = w->mark;
  if (w->entries > GALERKIN_COUNT) {
    for (int64_t c = 0; c < j->p->cols; ++c) mark[c] = -1;
    w->entries = 0;
  }
  w->made_before = w->made, w->entries_before = w->entries;
}

static void XN(galerkin_rows)(const galerkin_job *j, galerkin_work *w) {
  O *mark = w->mark, *place = w->place;
  for (int64_t c = 0; c < j->p->cols; ++c) mark[c] = place[c] = -1;
  for (int64_t row = w->begin; row < w->end && !w->failed; ++row) {
    if ((row - w->begin) % GALERKIN_CHUNK == 0 || w->entries - w->entries_before > GALERKIN_KEPT) XN(open_chunk)(j, w);
    w->failed = !(j->c ? XN(known_row) : XN(new_row))(j, w, row);
  }
}

/// Columns ascending, numbers along: by ever smaller steps.
INLINE void XN(sort_row)(int64_t count, C *columns, T *numbers) {
  int64_t step = 1;
  while (step < count / 9) step = 3 * step + 1;
  for (; step > 0; step /= 3) {
    for (int64_t n = step; n < count; ++n) {
      C column = columns[n];
      T number = numbers[n];
      int64_t at = n;
      for (; at >= step && columns[at - step] > column; at -= step) {
        columns[at] = columns[at - step], numbers[at] = numbers[at - step];
      }
      columns[at] = column, numbers[at] = number;
    }
  }
}

static void XN(galerkin_gather)(const galerkin_work *w, const void *offsets, void *columns, void *out) {
  const O *starts = offsets;
  C *to = columns;
  T *numbers = out;
  if (w->begin == w->end || !w->c_count) return;
  memcpy(to + starts[w->begin], w->c_columns, (size_t)w->c_count * sizeof *to);
  memcpy(numbers + starts[w->begin], w->c_numbers, (size_t)w->c_count * sizeof *numbers);
  for (int64_t i = w->begin; i < w->end; ++i) {
    XN(sort_row)(starts[i + 1] - starts[i], to + starts[i], numbers + starts[i]);
  }
}

static void XN(transpose_count)(const void *job, int64_t begin, int64_t end) {
  const transpose_job *j = job;
  const O *offsets = j->p->offsets;
  const C *columns = j->p->columns;
  for (int64_t q = offsets[begin]; q < offsets[end]; ++q) ++j->next[columns[q]];
}

static void XN(transpose_columns)(const void *job, int64_t begin, int64_t end) {
  const transpose_job *j = job;
  const O *offsets = j->p->offsets;
  const C *columns = j->p->columns;
  C *to = j->columns;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t q = offsets[i]; q < offsets[i + 1]; ++q) to[j->next[columns[q]]++] = (C)i;
  }
}

static void XN(transpose_numbers)(const void *job, int64_t begin, int64_t end) {
  const transpose_job *j = job;
  const O *offsets = j->p->offsets;
  const C *columns = j->p->columns;
  const T *values = j->p_values;
  T *to = j->values;
  for (int64_t q = offsets[begin]; q < offsets[end]; ++q) to[j->next[columns[q]]++] = FN(conj)(values[q]);
}
