// SPDX-License-Identifier: Apache-2.0
/// @file block_form.c
/// A matching puts entries on the diagonal; the strongly connected components of what results are the blocks (Tarjan
/// 1972, with a stack of its own).
///
/// Nodes are columns. The edges of node j go to the columns of the row matched with j: what has to be known before
/// x_j. A component is complete when all that it needs is, so they come out in the order of substitution.

#include "solvers/direct/order/block_form.h"

#include <string.h>

#include "solvers/direct/order/permutation.h"
#include "solvers/direct/order/matching.h"

enum { FORM_DONE = INT32_MAX };

typedef struct form_work {
  const lac_structure *s;
  int32_t *match;    // of rows; pairs of what is left over count as matched here
  int32_t *holder;   // the row of each node
  int32_t *number;   // in the order of discovery, from 1; 0: not yet; FORM_DONE: its component is complete
  int32_t *low;      // the least number that each node of the path reaches
  int32_t *block;    // of each node, once its component is complete
  int32_t *path;     // nodes above the one in hand
  int32_t *waiting;  // nodes whose component is not complete
  int64_t *next;     // where each node of the path goes on
  int32_t discovered, waiting_count, placed;
} form_work;

static void form_clear(form_work *w) {
  lac_free(w->match);
  lac_free(w->holder);
  lac_free(w->number);
  lac_free(w->low);
  lac_free(w->block);
  lac_free(w->path);
  lac_free(w->waiting);
  lac_free(w->next);
}

static lac_status form_init(lac_context *ctx, form_work *w) {
  lac_status status = LAC_OK;
  int32_t n = w->s->n;

  LAC_ROOM(w->match, n);
  LAC_ROOM(w->holder, n);
  LAC_ALLOC(w->number, n);
  LAC_ROOM(w->low, n);
  LAC_ROOM(w->block, n);
  LAC_ROOM(w->path, n);
  LAC_ROOM(w->waiting, n);
  LAC_ROOM(w->next, n);
done:
  return status;
}

// All edges of the node have been followed, and it reaches nothing before itself: its component is complete.
static void form_complete(form_work *w, int32_t node, lac_block_form *form) {
  int32_t other, count = w->waiting_count, block = form->blocks;
  do {
    other = w->waiting[--count];
    w->block[other] = block;
    w->number[other] = FORM_DONE;
  } while (other != node);
  w->placed += w->waiting_count - count;
  w->waiting_count = count;
  form->first[++form->blocks] = w->placed;
}

// The node in hand is kept in registers; path, next and low have those above it.
static void form_search(form_work *w, int32_t root, lac_block_form *form) {
  const int64_t *offsets = w->s->offsets;
  const int32_t *columns = w->s->columns, *holder = w->holder;
  int32_t *number = w->number, node = root, depth = 0, low = number[root] = ++w->discovered;
  int64_t p = offsets[holder[root]];
  w->waiting[w->waiting_count++] = root;
  for (;;) {
    int32_t to = node;
    int64_t end = offsets[holder[node] + 1];
    for (; p < end; p++) {
      int32_t found = number[to = columns[p]];
      if (found == 0) break;
      low = found < low ? found : low;
    }
    if (p < end) {
      w->path[depth] = node, w->next[depth] = p, w->low[depth] = low, depth++;
      node = to, p = offsets[holder[to]];
      low = number[to] = ++w->discovered;
      w->waiting[w->waiting_count++] = to;
      continue;
    }
    if (low == number[node]) form_complete(w, node, form);
    if (depth-- == 0) return;
    node = w->path[depth], p = w->next[depth];
    low = low < w->low[depth] ? low : w->low[depth];
  }
}

// Places: block after block, columns ascending inside. The next place of a block is at hand while columns are of one.
static void form_place(form_work *w, lac_block_form *form) {
  int32_t *next = w->low, last = 0, place = 0;
  memcpy(next, form->first, (size_t)form->blocks * sizeof *next);
  for (int32_t j = 0; j < form->n; j++, place++) {
    if (w->block[j] != last) {
      next[last] = place;
      last = w->block[j], place = next[last];
    }
    form->cols[place] = j;
    form->rows[place] = w->holder[j];
  }
  for (int32_t k = 0; k < form->n && form->rank < form->n && form->vacant < 0; k++) {
    if (w->match[form->rows[k]] < 0) form->vacant = k;
  }
}

static lac_status form_find(lac_context *ctx, form_work *w, lac_block_form *form) {
  lac_status status = LAC_OK;
  int32_t n = w->s->n;

  form->first[0] = 0;
  form->rank = lac_matching_structural(w->s, w->match);
  LAC_CHECK(form->rank >= 0, LAC_ERR_MEMORY, "out of memory: the matching of %lld rows", (long long)n);
  for (int32_t i = 0; i < n; i++) w->holder[w->match[i] < 0 ? -1 - w->match[i] : w->match[i]] = i;
  for (int32_t j = 0; j < n; j++) {
    if (w->number[j] == 0) form_search(w, j, form);
  }
  form_place(w, form);
  form->block = w->block, w->block = NULL;
done:
  return status;
}

static lac_status form_create(lac_context *ctx, const lac_structure *structure, lac_block_form **out) {
  lac_status status = LAC_OK;
  lac_block_form *form = NULL;
  form_work w = {.s = structure};

  LAC_ALLOC(form, 1);
  form->n = structure->n;
  form->vacant = -1;
  LAC_ROOM(form->rows, form->n);
  LAC_ROOM(form->cols, form->n);
  LAC_ROOM(form->first, form->n + 1);
  LAC_TRY(form_init(ctx, &w));
  LAC_TRY(form_find(ctx, &w, form));
  *out = form, form = NULL;
done:
  form_clear(&w);
  lac_block_form_destroy(form);
  return status;
}

lac_status lac_block_form_get(lac_context *ctx, const lac_structure *structure, const lac_block_form **out) {
  lac_status status = LAC_OK;
  lac_structure *keeper = (lac_structure *)structure;  // what it keeps is filled once, whoever is first
  lac_block_form *form = atomic_load(&keeper->form), *made = NULL;

  if (!form) {
    LAC_TRY(form_create(ctx, structure, &made));
    if (atomic_compare_exchange_strong(&keeper->form, &form, made)) form = made, made = NULL;
  }
  *out = form;
done:
  lac_block_form_destroy(made);
  return status;
}

void lac_block_form_destroy(lac_block_form *form) {
  if (!form) return;
  lac_free(form->rows);
  lac_free(form->cols);
  lac_free(form->first);
  lac_free(form->block);
  lac_free(form);
}

// Blocks pay from so many rows on, so many percent of them outside the largest.
enum { FORM_ROWS = 128, FORM_SHARE = 2 };

bool lac_block_form_pays(const lac_block_form *form) {
  int32_t largest = 0;
  for (int32_t b = 0; b < form->blocks; b++) {
    int32_t size = form->first[b + 1] - form->first[b];
    if (size > largest) largest = size;
  }
  return form->n >= FORM_ROWS && form->rank == form->n &&
         100 * (int64_t)(form->n - largest) >= FORM_SHARE * (int64_t)form->n;
}

// Nodes joined by an entry, whichever way, are of one component.
lac_status lac_block_form_components(lac_context *ctx, const lac_structure *s, const lac_block_form *form,
                                     int32_t *out) {
  lac_status status = LAC_OK;
  int32_t *parent = NULL, count = s->n;

  LAC_ALLOC(parent, s->n);
  for (int32_t j = 0; j < s->n; j++) parent[j] = j;
  for (int32_t k = 0; k < s->n; k++) {
    for (int64_t p = s->offsets[form->rows[k]]; p < s->offsets[form->rows[k] + 1]; p++) {
      int32_t a = lac_forest_root(parent, form->cols[k]), b = lac_forest_root(parent, s->columns[p]);
      if (a == b) continue;
      parent[a > b ? a : b] = a > b ? b : a;
      count--;
    }
  }
  *out = count;
done:
  lac_free(parent);
  return status;
}

lac_status lac_block_form_parity(lac_context *ctx, const lac_block_form *form, bool *is_odd) {
  lac_status status = LAC_OK;
  int32_t *to = NULL;
  char *seen = NULL;

  LAC_ALLOC(to, form->n);
  LAC_ALLOC(seen, form->n);
  for (int32_t k = 0; k < form->n; k++) to[form->rows[k]] = form->cols[k];
  *is_odd = lac_permutation_is_odd(form->n, to, seen);
done:
  lac_free(to);
  lac_free(seen);
  return status;
}
