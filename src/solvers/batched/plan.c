// SPDX-License-Identifier: Apache-2.0
/// @file plan.c
/// The products of an elimination without pivoting, as lists.
///
///     l_ij = (a_ij - sum_k<j l_ik u_kj) / u_jj,   u_ij = a_ij - sum_k<i l_ik u_kj
///
/// The structure of L\U is that of lac_pattern_fill. An entry is one level above the highest level of what it needs;
/// one that needs nothing is there from the beginning.

#include "solvers/batched/plan.h"

#include "solvers/batched/worklist.h"
#include "solvers/direct/order/ordering.h"

/// L\U on the host, by rows and by columns.
typedef struct plan_work {
  lac_pattern *f;
  lac_rows rows, columns;
  lac_map *map, *steps;
  int64_t *diagonal;  // the slot of each
  int64_t *slot_of;   // of the columns of one row
  lac_listed_lu *plan;
} plan_work;

static int64_t plan_begin(const lac_rows *r, int64_t i) { return lac_buffer_get(r->offsets, i); }
static int64_t plan_column(const lac_rows *r, int64_t p) { return lac_buffer_get(r->columns, p); }
static int64_t plan_slot(const lac_rows *r, int64_t p) { return r->slots ? lac_buffer_get(r->slots, p) : p; }

/// Entries of row k behind its diagonal.
static int64_t plan_behind(const plan_work *w, int64_t k) { return plan_begin(&w->rows, k + 1) - w->diagonal[k] - 1; }

// -- elimination -----------------------------------------------------------------------------------------------------

/// One more than the higher of two levels, and no less than a third.
static int32_t plan_above(int32_t a, int32_t b, int32_t least) {
  int32_t most = a > b ? a : b;
  return most + 1 > least ? most + 1 : least;
}

/// The products of row i go to t->begin[slot + 1], which counts them, or to their places; the levels of its entries.
static void plan_row(const plan_work *w, int64_t i, bool counts, int64_t *cursor, lac_tasks *t) {
  const lac_rows *r = &w->rows;
  for (int64_t p = plan_begin(r, i); p < plan_begin(r, i + 1); p++) w->slot_of[plan_column(r, p)] = p;
  for (int64_t p = plan_begin(r, i); p < w->diagonal[i]; p++) {
    int64_t k = plan_column(r, p);
    if (counts) t->level[p] = plan_above(t->level[w->diagonal[k]], -1, t->level[p] > 0 ? t->level[p] : 1);
    for (int64_t q = w->diagonal[k] + 1; q < plan_begin(r, k + 1); q++) {
      int64_t to = w->slot_of[plan_column(r, q)];
      if (counts) {
        t->begin[to + 1]++;
        t->level[to] = plan_above(t->level[p], t->level[q], t->level[to]);
      } else {
        t->left[cursor[to]] = (uint32_t)p;
        t->right[cursor[to]++] = (uint32_t)q;
      }
    }
  }
}

static lac_status plan_factor(lac_context *ctx, const plan_work *w) {
  lac_status status = LAC_OK;
  lac_listed_lu *plan = w->plan;
  lac_tasks t = {.count = plan->entries, .no_left = (uint32_t)plan->entries, .no_right = (uint32_t)plan->entries};
  int64_t *cursor = NULL;

  LAC_ALLOC(t.level, t.count);
  LAC_ALLOC(t.target, t.count);
  LAC_ALLOC(t.over, t.count);
  LAC_ALLOC(t.begin, t.count + 1);
  LAC_ALLOC(t.left, plan->products);
  LAC_ALLOC(t.right, plan->products);
  LAC_ALLOC(cursor, t.count);
  for (int64_t i = 0; i < plan->n; i++) plan_row(w, i, true, NULL, &t);
  for (int64_t e = 0; e < t.count; e++) t.begin[e + 1] += t.begin[e], cursor[e] = t.begin[e];
  for (int64_t i = 0; i < plan->n; i++) {
    plan_row(w, i, false, cursor, &t);
    for (int64_t p = plan_begin(&w->rows, i); p < plan_begin(&w->rows, i + 1); p++) {
      t.target[p] = (int32_t)p;
      t.over[p] = p < w->diagonal[i] ? (int32_t)w->diagonal[plan_column(&w->rows, p)] : -1;
    }
  }
  LAC_TRY(lac_worklist_make(ctx, &t, &plan->factor));
done:
  lac_free(cursor);
  lac_tasks_clear(&t);
  return status;
}

// -- substitution ----------------------------------------------------------------------------------------------------

/// A triangle as a sweep reads it: its lines are rows of L\U or its columns, those before the diagonal or those behind
/// it, and U alone divides.
typedef struct plan_sweep {
  bool is_up, divides;
  const lac_rows *lines;
} plan_sweep;

/// The entries of a line that take part.
static void plan_range(const plan_sweep *s, int64_t i, int64_t *begin, int64_t *end) {
  int64_t middle = plan_begin(s->lines, i), last = plan_begin(s->lines, i + 1);
  *begin = middle;
  while (plan_column(s->lines, middle) < i) middle++;
  *end = middle;
  if (s->is_up) *begin = middle + 1, *end = last;
}

static void plan_line_level(const plan_sweep *s, int64_t i, lac_tasks *t) {
  int64_t begin, end;
  plan_range(s, i, &begin, &end);
  t->level[i] = s->divides;
  for (int64_t p = begin; p < end; p++) t->level[i] = plan_above(t->level[plan_column(s->lines, p)], -1, t->level[i]);
}

/// The task of a line, behind those of the lines before it.
static void plan_line(const plan_work *w, const plan_sweep *s, int64_t i, lac_tasks *t) {
  int64_t begin, end, cursor = t->begin[i];
  plan_range(s, i, &begin, &end);
  t->target[i] = (int32_t)i;
  t->over[i] = s->divides ? (int32_t)w->diagonal[i] : -1;
  for (int64_t p = begin; p < end; p++, cursor++) {
    t->left[cursor] = (uint32_t)plan_slot(s->lines, p);
    t->right[cursor] = (uint32_t)plan_column(s->lines, p);
  }
  t->begin[i + 1] = cursor;
}

static lac_status plan_solve(lac_context *ctx, const plan_work *w, const plan_sweep *s, lac_worklist *out) {
  lac_status status = LAC_OK;
  int64_t n = w->plan->n;
  lac_tasks t = {.count = n, .no_left = (uint32_t)w->plan->entries, .no_right = (uint32_t)n};

  LAC_ALLOC(t.level, n);
  LAC_ALLOC(t.target, n);
  LAC_ALLOC(t.over, n);
  LAC_ALLOC(t.begin, n + 1);
  LAC_ALLOC(t.left, w->plan->entries);
  LAC_ALLOC(t.right, w->plan->entries);
  for (int64_t k = 0; k < n; k++) plan_line_level(s, s->is_up ? n - 1 - k : k, &t);
  for (int64_t i = 0; i < n; i++) plan_line(w, s, i, &t);
  LAC_TRY(lac_worklist_make(ctx, &t, out));
done:
  lac_tasks_clear(&t);
  return status;
}

// -- all of it -------------------------------------------------------------------------------------------------------

/// The entries on the diagonal, and how many products an elimination has.
static lac_status plan_count(lac_context *ctx, plan_work *w, int64_t *products) {
  lac_status status = LAC_OK;
  const lac_rows *r = &w->rows;

  LAC_ALLOC(w->diagonal, w->f->rows);
  LAC_ALLOC(w->slot_of, w->f->rows);
  for (int64_t i = 0; i < w->f->rows; i++) {
    w->diagonal[i] = plan_begin(r, i);
    while (plan_column(r, w->diagonal[i]) < i) w->diagonal[i]++;
  }
  *products = 0;
  for (int64_t k = 0; k < w->f->rows; k++) *products += plan_behind(w, k) * plan_behind(w, k);
done:
  return status;
}

/// What leads from A to L\U: `source` is the inverse of a map whose targets are entries.
static lac_status plan_ways(lac_context *ctx, const plan_work *w) {
  lac_status status = LAC_OK;
  lac_listed_lu *plan = w->plan;

  LAC_TRY(lac_map_host(ctx, w->map));
  LAC_TRY(lac_map_host(ctx, w->steps));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, plan->entries, &plan->source));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, plan->n, &plan->diagonal));
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, plan->n, &plan->steps));
  for (int64_t e = 0; e < plan->entries; e++) lac_buffer_set(plan->source, e, -1);
  for (int64_t z = 0; z < w->map->inputs; z++) lac_buffer_set(plan->source, lac_buffer_get(w->map->target, z), z);
  for (int64_t k = 0; k < plan->n; k++) {
    lac_buffer_set(plan->diagonal, k, w->diagonal[k]);
    lac_buffer_set(plan->steps, k, lac_buffer_get(w->steps->target, k));
  }
done:
  return status;
}

static lac_status plan_make(lac_context *ctx, plan_work *w) {
  lac_status status = LAC_OK;
  lac_listed_lu *plan = w->plan;

  LAC_TRY(plan_ways(ctx, w));
  LAC_TRY(plan_factor(ctx, w));
  for (int is_transposed = 0; is_transposed < 2; is_transposed++) {
    for (int is_up = 0; is_up < 2; is_up++) {
      plan_sweep s = {is_up, is_up != is_transposed, is_transposed ? &w->columns : &w->rows};
      LAC_TRY(plan_solve(ctx, w, &s, &plan->solve[is_transposed][is_up]));
    }
  }
done:
  return status;
}

/// Whether an elimination is not far too large, before its entries are made: as many products as a Cholesky
/// factorisation has flops, about.
static lac_status plan_foresee(lac_context *ctx, const lac_pattern *pattern, lac_ordering ordering, int64_t *products,
                               bool *is_small) {
  lac_status status = LAC_OK;
  lac_structure *s = NULL;
  lac_graph graph = {0};
  lac_cost cost = {0};
  int32_t *order = NULL;
  const char *taken = "";

  LAC_TRY(lac_structure_get(ctx, pattern, &s));
  LAC_TRY(lac_graph_init(ctx, s, NULL, &graph));
  LAC_ALLOC(order, s->n);
  LAC_TRY(lac_order_find(ctx, &graph, ordering, order, &cost, &taken));
  *products = (int64_t)cost.flops;
  *is_small = cost.nnz < 0 || cost.flops <= 2.0 * LAC_BATCHED_PRODUCTS;
done:
  lac_free(order);
  lac_graph_clear(&graph);
  lac_object_release(s);
  return status;
}

lac_status lac_batched_plan(lac_context *ctx, const lac_pattern *pattern, lac_ordering ordering, int64_t *products,
                            lac_listed_lu **out) {
  lac_status status = LAC_OK;
  plan_work w = {0};
  bool is_small = false;

  *out = NULL;
  LAC_TRY(plan_foresee(ctx, pattern, ordering, products, &is_small));
  if (!is_small) goto done;
  LAC_TRY(lac_pattern_fill(ctx, pattern, ordering, &w.f, &w.map, &w.steps));
  LAC_TRY(lac_pattern_walk(ctx, w.f, false, &w.rows));
  LAC_TRY(lac_pattern_walk(ctx, w.f, true, &w.columns));
  LAC_TRY(lac_rows_host(ctx, &w.rows));
  LAC_TRY(lac_rows_host(ctx, &w.columns));
  LAC_TRY(plan_count(ctx, &w, products));
  if (*products > LAC_BATCHED_PRODUCTS) goto done;
  LAC_ALLOC(w.plan, 1);
  w.plan->n = w.f->rows, w.plan->entries = w.f->nnz, w.plan->products = *products;
  LAC_TRY(plan_make(ctx, &w));
  *out = w.plan, w.plan = NULL;
done:
  lac_batched_plan_destroy(&w.plan);
  lac_free(w.diagonal), lac_free(w.slot_of);
  lac_pattern_destroy(&w.f);
  lac_map_destroy(&w.map);
  lac_map_destroy(&w.steps);
  return status;
}

void lac_batched_plan_destroy(lac_listed_lu **plan) {
  lac_listed_lu *p = *plan;
  if (!p) return;
  lac_object_release(p->source), lac_object_release(p->diagonal), lac_object_release(p->steps);
  lac_worklist_clear(&p->factor);
  for (int i = 0; i < 4; i++) lac_worklist_clear(&p->solve[i / 2][i % 2]);
  lac_free(p);
  *plan = NULL;
}
