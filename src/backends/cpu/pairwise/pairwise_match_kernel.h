// SPDX-License-Identifier: Apache-2.0
// Matching of rows and of pairs, for values of T.

/// How strongly an entry holds its row, whose diagonal has this phase, to its column.
INLINE double FN(hold)(T a, T phase) {
  return -((double)FN(re)(a) * (double)FN(re)(phase) + (double)FN(im)(a) * (double)FN(im)(phase));
}

/// The sign of a row's diagonal (1 for a complex number near the positive reals): what entries are compared with.
INLINE T FN(phase)(const match *m, int64_t i, int64_t begin, int64_t end) {
  const T *values = m->values;
  for (int64_t p = begin; p < end; ++p) {
    if (match_column(m, p) != i || values[p] == 0) continue;
    if (sizeof(T) == sizeof(FN(real))) return FN(re)(values[p]) < 0 ? -1 : 1;
    return (T)(values[p] / (FN(real))hypot((double)FN(re)(values[p]), (double)FN(im)(values[p])));
  }
  return 1;
}

/// Whether a row's diagonal outweighs all else.
INLINE bool FN(is_dominant)(const match *m, int64_t i, int64_t begin, int64_t end) {
  const T *values = m->values;
  double diagonal = 0, rest = 0;
  for (int64_t p = begin; p < end; ++p) {
    double size = fabs((double)FN(re)(values[p])) + fabs((double)FN(im)(values[p]));
    if (match_column(m, p) == i) {
      diagonal = size;
    } else {
      rest += size;
    }
  }
  return diagonal >= DOMINANT * rest;
}

INLINE bool FN(comes_first)(const match *m, int64_t a, int64_t b) {
  return m->place ? m->place[a] < m->place[b] : a < b;
}

/// The strongest neighbour of a row among those that are free (`joins` false) or have a pair; else -1.
INLINE int64_t FN(partner)(const match *m, int64_t i, const bool joins) {
  const T *values = m->values;
  int64_t begin = match_offset(m, i), end = match_offset(m, i + 1), best = -1;
  T phase = FN(phase)(m, i, begin, end);
  double most = 0, strongest = 0;
  for (int64_t p = begin; p < end; ++p) {
    int64_t j = match_column(m, p);
    double strength = FN(hold)(values[p], phase);
    if (j == i || !(strength > 0)) continue;
    if (strength > strongest) strongest = strength;
    if (joins ? m->pair[j] < 0 : m->pair[j] != FREE) continue;
    if (strength > most || (strength == most && FN(comes_first)(m, j, best))) most = strength, best = j;
  }
  return joins || most >= STRONG * strongest ? best : -1;
}

static void FN(match_rows)(match *m) {
  for (int64_t i = 0; i < m->rows; ++i) m->pair[i] = FREE;
  for (int64_t visit = 0; visit < m->rows; ++visit) {
    int64_t i = m->order ? m->order[visit] : visit;
    if (m->order) match_ask(m, m->order, visit, m->rows, sizeof(T));
    if (m->pair[i] != FREE) continue;
    if (FN(is_dominant)(m, i, match_offset(m, i), match_offset(m, i + 1))) {
      m->pair[i] = OUT;
      continue;
    }
    int64_t j = FN(partner)(m, i, false);
    if (j >= 0) m->pair[i] = m->pair[j] = m->pairs++;
  }
  for (int64_t visit = 0; visit < m->rows; ++visit) {  // what found nobody joins a pair
    int64_t i = m->order ? m->order[visit] : visit;
    if (m->pair[i] != FREE) continue;
    int64_t j = FN(partner)(m, i, true);
    m->pair[i] = j >= 0 ? m->pair[j] : OUT;
  }
}

/// The strengths of all pairs that pair i sees, into m->strength; returns how many are in m->seen.
static int32_t FN(look_around)(const match *m, int32_t i) {
  const T *values = m->values;
  int32_t count = 0;
  for (int32_t q = m->starts[i]; q < m->starts[i + 1]; ++q) {
    int64_t row = m->members[q], begin = match_offset(m, row), end = match_offset(m, row + 1);
    T phase = FN(phase)(m, row, begin, end);
    for (int64_t p = begin; p < end; ++p) {
      int32_t j = m->pair[match_column(m, p)];
      if (j < 0 || j == i) continue;
      if (m->strength[j] == 0) m->seen[count++] = j;
      m->strength[j] += FN(hold)(values[p], phase);
      if (m->strength[j] == 0) m->strength[j] = -1e-300;  // seen all the same
    }
  }
  return count;
}

static void FN(match_pairs)(match *m) {
  for (int32_t i = 0; i < m->pairs; ++i) {
    if (m->order) match_ask(m, m->members, m->starts[i], m->starts[m->pairs], sizeof(T));
    if (m->order) match_ask(m, m->members, m->starts[i] + 1, m->starts[m->pairs], sizeof(T));
    if (m->merged[i] != FREE) continue;
    int32_t best = -1, count = FN(look_around)(m, i);
    double most = 0, strongest = 0;
    for (int32_t s = 0; s < count; ++s) {
      int32_t j = m->seen[s];
      double strength = m->strength[j];
      m->strength[j] = 0;
      if (strength > strongest) strongest = strength;
      if (m->merged[j] != FREE || !(strength > 0)) continue;
      if (strength > most || (strength == most && j < best)) most = strength, best = j;
    }
    m->merged[i] = m->merges++;
    if (best >= 0 && most >= STRONG * strongest) m->merged[best] = m->merged[i];
  }
}
