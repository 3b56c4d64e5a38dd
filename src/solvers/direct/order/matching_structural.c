// SPDX-License-Identifier: Apache-2.0
/// @file matching_structural.c
/// As many entries as possible, no two in a row or column (Pothen and Fan 1990).
///
/// In phases: from every row without a column a depth-first search looks for a way to a free one, and no two searches
/// of a phase visit the same column. A row looks for a free column of its own before it goes deeper; what it has passed
/// it never looks at again, since columns do not become free. Every other phase searches from the other end of each
/// row: on grids this is the difference between few phases and many.

#include "solvers/direct/order/matching.h"

typedef struct structural_work {
  const lac_structure *s;
  int32_t *match;   // of rows; -1: none
  int32_t *holder;  // of columns
  int32_t *seen;    // the phase in which a column was visited
  int32_t *stack;   // rows of the search
  int64_t *look;    // where each row looks for a free column next
  int64_t *next;    // and where its search goes on
} structural_work;

static void structural_clear(structural_work *w) {
  lac_free(w->holder);
  lac_free(w->seen);
  lac_free(w->stack);
  lac_free(w->look);
  lac_free(w->next);
}

static bool structural_init(structural_work *w) {
  size_t n = (size_t)w->s->n;
  w->holder = lac_alloc(n * sizeof *w->holder);
  w->seen = lac_calloc(n, sizeof *w->seen);
  w->stack = lac_alloc(n * sizeof *w->stack);
  w->look = lac_alloc(n * sizeof *w->look);
  w->next = lac_alloc(n * sizeof *w->next);
  if (!w->holder || !w->seen || !w->stack || !w->look || !w->next) return false;
  for (size_t i = 0; i < n; i++) w->match[i] = w->holder[i] = -1, w->look[i] = w->s->offsets[i];
  return true;
}

static void structural_assign(structural_work *w, int32_t row, int32_t column) {
  w->match[row] = column;
  w->holder[column] = row;
}

// The diagonal where there is one: nothing moves that need not.
static void structural_begin(structural_work *w) {
  const lac_structure *s = w->s;
  for (int32_t i = 0; i < s->n; i++) {
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1] && s->columns[p] <= i; p++) {
      if (s->columns[p] == i) structural_assign(w, i, i);
    }
  }
}

// A free column of a row, or -1.
static int32_t structural_look(const structural_work *w, int32_t row) {
  for (int64_t *p = &w->look[row]; *p < w->s->offsets[row + 1]; ++*p) {
    if (w->holder[w->s->columns[*p]] < 0) return w->s->columns[*p];
  }
  return -1;
}

// The next column of a row that this phase has not visited, or -1.
static int32_t structural_next(const structural_work *w, int32_t row, int32_t phase) {
  while (w->next[row] < w->s->offsets[row + 1]) {
    int64_t p = w->next[row]++;
    int32_t column = w->s->columns[phase % 2 ? p : w->s->offsets[row] + w->s->offsets[row + 1] - 1 - p];
    if (w->seen[column] != phase) return column;
  }
  return -1;
}

// Every row of the stack takes the column by which the search left it, the last one a free column.
static void structural_augment(structural_work *w, int32_t depth, int32_t column) {
  while (depth > 0) {
    int32_t row = w->stack[--depth], given_up = w->match[row];
    structural_assign(w, row, column);
    column = given_up;
  }
}

static bool structural_search(structural_work *w, int32_t start, int32_t phase) {
  int32_t depth = 0;
  w->stack[depth++] = start;
  w->next[start] = w->s->offsets[start];
  while (depth > 0) {
    int32_t row = w->stack[depth - 1], column = structural_look(w, row);
    if (column >= 0) {
      structural_augment(w, depth, column);
      return true;
    }
    column = structural_next(w, row, phase);
    if (column < 0) {
      depth--;
      continue;
    }
    w->seen[column] = phase;
    w->stack[depth++] = w->holder[column];
    w->next[w->holder[column]] = w->s->offsets[w->holder[column]];
  }
  return false;
}

static int32_t structural_run(structural_work *w) {
  int32_t n = w->s->n, rank = 0, column = 0;
  bool found = true;
  structural_begin(w);
  for (int32_t phase = 1; found; phase++) {
    found = false;
    for (int32_t i = 0; i < n; i++) {
      if (w->match[i] < 0) found |= structural_search(w, i, phase);
    }
  }
  for (int32_t i = 0; i < n; i++) {
    if (w->match[i] >= 0) {
      rank++;
      continue;
    }
    while (w->holder[column] >= 0) column++;
    w->match[i] = -1 - column++;
  }
  return rank;
}

int32_t lac_matching_structural(const lac_structure *structure, int32_t *match) {
  structural_work w = {.s = structure, .match = match};
  int32_t rank = structural_init(&w) ? structural_run(&w) : -1;
  structural_clear(&w);
  return rank;
}
