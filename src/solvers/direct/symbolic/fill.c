// SPDX-License-Identifier: Apache-2.0
/// @file fill.c
/// The structure of the factors: a pattern that is closed under elimination.
///
///     F = A[order, order] + its transpose + the diagonal + what elimination without pivoting fills in
///
/// Row k of L is the union of the paths in the elimination tree from the entries of row k to k. The tree is that of a
/// postorder, which fills in the same entries: under LAC_ORDER_NATURAL they go back to where they came from.

#include "core/pattern/pattern_impl.h"
#include "core/numbers/search.h"
#include "solvers/direct/order/ordering.h"

typedef struct fill_plan {
  lac_object object;
  lac_ordering ordering;
  lac_pattern *pattern;  // NULL: the pattern that keeps the plan
  lac_map *map, *steps;
} fill_plan;

static void fill_free(lac_object *object) {
  fill_plan *plan = (fill_plan *)object;
  lac_pattern_destroy(&plan->pattern);
  lac_map_destroy(&plan->map);
  lac_map_destroy(&plan->steps);
  lac_free(plan);
}

static const lac_kind fill_kind = {"fill", fill_free};

static int fill_match(const lac_object *object, const void *key) {
  return ((const fill_plan *)object)->ordering == *(const lac_ordering *)key;
}

// What both passes share.
typedef struct fill_work {
  const lac_graph *graph;
  const lac_elimination *e;
  const int32_t *name;  // of a step, in F
  int32_t *mark;        // the last row that passed a step
  int64_t *cursor;      // by rows of F: how many entries, or where the next one goes
  int64_t *columns;     // NULL while they are counted
} fill_work;

static void fill_put(const fill_work *w, int32_t row, int32_t col) {
  if (w->columns) w->columns[w->cursor[row]] = col;
  w->cursor[row]++;
}

// All entries, each step's row of L with its mirror image. The first pass counts, the second writes.
static void fill_walk(const fill_work *w) {
  for (int32_t k = 0; k < w->e->n; k++) w->mark[k] = -1;
  for (int32_t k = 0; k < w->e->n; k++) {
    int32_t v = w->e->order[k];
    w->mark[k] = k;
    fill_put(w, w->name[k], w->name[k]);
    for (int64_t p = w->graph->offsets[v]; p < w->graph->offsets[v + 1]; p++) {
      int32_t i = w->e->place[w->graph->columns[p]];
      for (; i < k && w->mark[i] != k; i = w->e->parent[i]) {
        w->mark[i] = k;
        fill_put(w, w->name[k], w->name[i]);
        fill_put(w, w->name[i], w->name[k]);
      }
    }
  }
}

static lac_status fill_structure(lac_context *ctx, const lac_graph *graph, const lac_elimination *e,
                                 const int32_t *name, lac_width width, lac_pattern **out) {
  lac_status status = LAC_OK;
  int64_t n = e->n, *begin = NULL, *columns = NULL;
  fill_work w = {.graph = graph, .e = e, .name = name};
  lac_width wide = LAC_WIDTH_AUTO;

  LAC_ALLOC(w.mark, n);
  LAC_ALLOC(w.cursor, n);
  LAC_ALLOC(begin, n + 1);
  LAC_ALLOC(columns, 2 * e->cost.nnz - n);
  fill_walk(&w);
  for (int64_t i = 0; i < n; i++) begin[i + 1] = begin[i] + w.cursor[i], w.cursor[i] = begin[i];
  w.columns = columns;
  fill_walk(&w);
  LAC_TRY(lac_width_choose(ctx, "lac_pattern_fill", LAC_WIDTH_AUTO, n, n, begin[n], &wide));
  LAC_TRY(lac_pattern_from_csr(ctx, n, n, LAC_I64, begin, columns, wide > width ? wide : width, out, NULL));
done:
  lac_free(w.mark);
  lac_free(w.cursor);
  lac_free(begin);
  lac_free(columns);
  return status;
}

// The slot of an entry that is there.
static int64_t fill_find(const lac_pattern *f, int64_t row, int64_t col) {
  int64_t low = lac_buffer_get(f->offsets, row), high = lac_buffer_get(f->offsets, row + 1);
  LAC_SEARCH(low, high, i, lac_buffer_get(f->columns, i) < col)
  return low;
}

// Where the values of A go, and which row each step eliminates.
static lac_status fill_maps(lac_context *ctx, const lac_structure *s, const lac_elimination *e, const int32_t *name,
                            const lac_pattern *f, fill_plan *plan) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL, *steps = NULL;

  LAC_TRY(lac_buffer_create(ctx, lac_map_type(s->nnz, f->nnz), s->nnz, &target));
  for (int32_t i = 0; i < s->n; i++) {
    int32_t row = name[e->place[i]];
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      lac_buffer_set(target, p, fill_find(f, row, name[e->place[s->columns[p]]]));
    }
  }
  LAC_TRY(lac_buffer_create(ctx, LAC_I32, s->n, &steps));
  for (int32_t k = 0; k < s->n; k++) lac_buffer_set(steps, name[k], e->order[k]);
  LAC_TRY(lac_map_adopt_injective(ctx, f->nnz, &target, &plan->map));
  LAC_TRY(lac_map_adopt_injective(ctx, s->n, &steps, &plan->steps));
done:
  lac_object_release(target);
  lac_object_release(steps);
  return status;
}

static lac_status fill_make(lac_context *ctx, const lac_pattern *pattern, fill_plan *plan) {
  lac_status status = LAC_OK;
  lac_structure *s = NULL;
  lac_graph graph = {0};
  lac_elimination e = {0};
  lac_pattern *f = NULL;
  int32_t *name = NULL;
  const char *taken = "";

  LAC_TRY(lac_structure_get(ctx, pattern, &s));
  LAC_TRY(lac_graph_init(ctx, s, NULL, &graph));
  LAC_TRY(lac_order_graph(ctx, &graph, plan->ordering, &e, &taken));
  LAC_ALLOC(name, e.n);
  for (int32_t k = 0; k < e.n; k++) name[k] = plan->ordering == LAC_ORDER_NATURAL ? e.order[k] : k;
  LAC_TRY(fill_structure(ctx, &graph, &e, name, pattern->width, &f));
  LAC_TRY(fill_maps(ctx, s, &e, name, f, plan));
  if (!lac_pattern_same(f, pattern)) plan->pattern = f, f = NULL;  // no pattern holds itself
done:
  lac_free(name);
  lac_pattern_destroy(&f);
  lac_elimination_clear(&e);
  lac_graph_clear(&graph);
  lac_object_release(s);
  return status;
}

static lac_status fill_get(lac_context *ctx, const lac_pattern *pattern, lac_ordering ordering, fill_plan **out) {
  lac_status status = LAC_OK;
  fill_plan *plan = (fill_plan *)lac_pattern_find_cached(pattern, &fill_kind, fill_match, &ordering);

  if (!plan) {
    LAC_ALLOC(plan, 1);
    lac_object_init(&plan->object, &fill_kind);
    plan->ordering = ordering;
    LAC_TRY(fill_make(ctx, pattern, plan));
    LAC_TRY(
        lac_pattern_add_cached(ctx, pattern, &plan->object, 4 * (pattern->nnz + pattern->rows + plan->map->outputs)));
  }
  *out = plan, plan = NULL;
done:
  lac_object_release(plan);
  return status;
}

lac_status lac_pattern_fill(lac_context *ctx, const lac_pattern *pattern, lac_ordering ordering, lac_pattern **out,
                            lac_map **map, lac_map **steps) {
  lac_status status = LAC_OK;
  fill_plan *plan = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_pattern_fill: out is NULL");
  LAC_TRY(lac_pattern_require_host(ctx, pattern, "lac_pattern_fill"));
  LAC_CHECK(pattern->rows == pattern->cols, LAC_ERR_SHAPE,
            "lac_pattern_fill: the pattern is %lld x %lld; it must be square", (long long)pattern->rows,
            (long long)pattern->cols);
  LAC_CHECK(ordering >= LAC_ORDER_AUTO && ordering <= LAC_ORDER_NATURAL, LAC_ERR_ARG,
            "lac_pattern_fill: unknown ordering %d; use one of lac_ordering", (int)ordering);
  LAC_TRY(fill_get(ctx, pattern, ordering, &plan));
  if (map) *map = lac_map_retain(plan->map);
  if (steps) *steps = lac_map_retain(plan->steps);
  *out = lac_pattern_retain(plan->pattern ? plan->pattern : pattern);
done:
  lac_object_release(plan);
  return status;
}
