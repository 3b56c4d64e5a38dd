// SPDX-License-Identifier: Apache-2.0
// s_z = sum_k u[row z, k] conj(v[col z, k]) for the entries of rows. Several columns are summed in accumulators (f64
// for f32 and c64); what comes from several items of a batch is added in T.

/// The entries of one row, one column: `length` is a constant to the compiler where rows are short.
INLINE void XN(outer_row)(const cpu_pass *pass, int64_t i, int64_t p, const int64_t length, const bool streams) {
  const C *column = (const C *)pass->columns + p;
  const T u = ((const T *)pass->in[0])[i], *v = pass->in[1];
  T *s = (T *)pass->out + p;
  UNROLL(8) for (int64_t q = 0; q < length; ++q) {
    T w = FN(signed)(v[column[q]], -1);
    if (streams) {
      w = FN(mul)(u, w);
      cpu_stream_number(s + q, &w, sizeof w);
    } else {
      s[q] = pass->adds ? FN(mac)(s[q], u, w) : FN(mul)(u, w);
    }
  }
}

/// Rows of one length from row i on; returns the first row that is of another.
INLINE int64_t XN(outer_rows)(const cpu_pass *pass, int64_t i, int64_t end, const int length, const bool streams) {
  const O *offsets = pass->offsets;
  int64_t p = offsets[i];
  do {
    if (streams) {  // smaller ones are in a cache
      __builtin_prefetch((const C *)pass->columns + p + SDDMM_AHEAD, 0, 0);
      XN(ask_rows)(pass, pass->in[1], 1, p, p + length);
    }
    XN(outer_row)(pass, i, p, length, streams);
    p += length, ++i;
  } while (i < end && offsets[i + 1] - p == length);
  return i;
}

INLINE void XN(outer_all)(const cpu_pass *pass, int64_t i, int64_t end, const bool streams) {
  const O *offsets = pass->offsets;
  while (i < end) {
    switch (offsets[i + 1] - offsets[i]) {
      case 1:
        i = XN(outer_rows)(pass, i, end, 1, streams);
        break;
      case 2:
        i = XN(outer_rows)(pass, i, end, 2, streams);
        break;
      case 3:
        i = XN(outer_rows)(pass, i, end, 3, streams);
        break;
      case 4:
        i = XN(outer_rows)(pass, i, end, 4, streams);
        break;
      case 5:
        i = XN(outer_rows)(pass, i, end, 5, streams);
        break;
      case 6:
        i = XN(outer_rows)(pass, i, end, 6, streams);
        break;
      case 7:
        i = XN(outer_rows)(pass, i, end, 7, streams);
        break;
      case 8:
        i = XN(outer_rows)(pass, i, end, 8, streams);
        break;
      default:
        XN(outer_row)(pass, i, offsets[i], offsets[i + 1] - offsets[i], streams);
        ++i;
    }
  }
}

/// Entries [p, end), each with the number of its row: u[0] is that of entry p.
INLINE void XN(outer_span)(const cpu_pass *pass, const T *u, int64_t p, int64_t end, const bool streams) {
  enum { LINE = 64 / sizeof(T) };
  const C *column = pass->columns;
  const T *v = pass->in[1];
  T *s = pass->out;
  int64_t to_line = (int64_t)(-(uintptr_t)(s + p) % 64 / sizeof(T)), head = p + to_line < end ? p + to_line : end;
  for (; p < (streams ? head : end); ++p, ++u) {
    T w = FN(signed)(v[column[p]], -1);
    s[p] = pass->adds ? FN(mac)(s[p], *u, w) : FN(mul)(*u, w);
  }
  for (; p + LINE <= end; p += LINE, u += LINE) {
    T line[LINE];
    UNROLL(16) for (int q = 0; q < LINE; ++q) line[q] = FN(mul)(u[q], FN(signed)(v[column[p + q]], -1));
    cpu_stream(s + p, line);
  }
  for (; p < end; ++p, ++u) s[p] = FN(mul)(*u, FN(signed)(v[column[p]], -1));
}

/// Rows of any lengths: the number of each row is first written for its entries, SHORT of them at a time whatever the
/// length, so that nothing branches on it. The next row overwrites what is beyond the end of a row.
INLINE void XN(outer_mixed)(const cpu_pass *pass, int64_t i, int64_t end, const bool streams) {
  enum { SHORT = 8, ENTRIES = 1024 };
  const O *offsets = pass->offsets;
  const T *u = pass->in[0];
  while (i < end) {
    T of_row[ENTRIES + SHORT];
    int64_t first = offsets[i];
    for (; i < end && offsets[i + 1] - first <= ENTRIES; ++i) {
      T *to = of_row + (offsets[i] - first);
      int64_t length = offsets[i + 1] - offsets[i];
      UNROLL(8) for (int q = 0; q < SHORT; ++q) to[q] = u[i];
      for (int64_t q = SHORT; q < length; ++q) to[q] = u[i];
    }
    XN(outer_span)(pass, of_row, first, offsets[i], streams);
    if (i < end && offsets[i + 1] - offsets[i] > ENTRIES) {
      XN(outer_row)(pass, i, offsets[i], offsets[i + 1] - offsets[i], streams);
      ++i;
    }
  }
}

/// Whether rows differ in length so often that a branch on it could not be predicted.
static bool XN(outer_is_mixed)(const cpu_pass *pass, int64_t begin, int64_t end) {
  enum { LOOKED_AT = 64 };
  const O *offsets = pass->offsets;
  int64_t step = (end - begin) / LOOKED_AT, changes = 0;
  if (step < 2 || (uintptr_t)pass->out % sizeof(T)) return false;
  for (int64_t i = begin; i + 2 <= end; i += step) {
    changes += offsets[i + 2] - offsets[i + 1] != offsets[i + 1] - offsets[i];
  }
  return changes > LOOKED_AT / 4;
}

INLINE void XN(outer_any)(const cpu_pass *pass, int64_t begin, int64_t end, const bool streams) {
  if (XN(outer_is_mixed)(pass, begin, end)) {
    XN(outer_mixed)(pass, begin, end, streams);
  } else {
    XN(outer_all)(pass, begin, end, streams);
  }
}

static void XN(outer)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass local = *shared;
  if (local.streams) {
    XN(outer_any)(&local, begin, end, true);
    cpu_stream_end();
  } else {
    XN(outer_any)(&local, begin, end, false);
  }
}

/// One entry of a row, whose numbers are u.
INLINE void XN(inner)(const cpu_pass *pass, const T *u, int64_t p, const int64_t k) {
  const T *v = (const T *)pass->in[1] + ((const C *)pass->columns)[p] * k;
  T *s = pass->out, product = FN(signed)((T)FN(run_dot)(u, v, k, 8), -1);
  s[p] = pass->adds ? s[p] + product : product;
}

/// k columns: a constant to the compiler where they are few.
INLINE void XN(inner_rows)(const cpu_pass *pass, int64_t begin, int64_t end, const int64_t k) {
  const O *offsets = pass->offsets;
  for (int64_t i = begin; i < end; ++i) {
    const T *u = (const T *)pass->in[0] + i * k;
    XN(ask_rows)(pass, pass->in[1], k, offsets[i], offsets[i + 1]);
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) XN(inner)(pass, u, p, k);
  }
}

/// The entries of rows before a column, from where the part before ended.
static void XN(sddmm_part)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass local = *shared, *pass = &local;
  const O *offsets = pass->offsets;
  const C *columns = pass->columns;
  O *next = pass->next;
  for (int64_t i = begin; i < end; ++i) {
    const T *u = (const T *)pass->in[0] + i * pass->k;
    int64_t p = next[i];
    for (; p < offsets[i + 1] && columns[p] < pass->limit; ++p) XN(inner)(pass, u, p, pass->k);
    next[i] = (O)p;
  }
}

static void XN(sddmm_rows)(const cpu_pass *shared, int64_t begin, int64_t end) {
  const cpu_pass local = *shared;
  switch (local.k) {
    case 2:
      XN(inner_rows)(&local, begin, end, 2);
      break;
    case 3:
      XN(inner_rows)(&local, begin, end, 3);
      break;
    case 4:
      XN(inner_rows)(&local, begin, end, 4);
      break;
    case 8:
      XN(inner_rows)(&local, begin, end, 8);
      break;
    default:
      XN(inner_rows)(&local, begin, end, local.k);
  }
}
