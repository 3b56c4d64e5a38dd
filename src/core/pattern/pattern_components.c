// SPDX-License-Identifier: Apache-2.0
/// @file pattern_components.c
/// The connected components of a square pattern: nodes are rows, and an entry (i, j) joins i and j, whichever way.
///
/// Every node has a parent that is not larger; the root of a component is its smallest node. Components are numbered by
/// their roots, so that the numbers depend on the pattern alone.

#include "core/pattern/pattern_impl.h"

static int64_t components_root(int64_t *parent, int64_t node) {
  while (parent[node] != node) node = parent[node] = parent[parent[node]];
  return node;
}

static void components_join(const lac_pattern *p, int64_t *parent) {
  for (int64_t i = 0; i < p->rows; ++i) parent[i] = i;
  for (int64_t i = 0; i < p->rows; ++i) {
    int64_t end = lac_buffer_get(p->offsets, i + 1);
    for (int64_t slot = lac_buffer_get(p->offsets, i); slot < end; ++slot) {
      int64_t a = components_root(parent, i), b = components_root(parent, lac_buffer_get(p->columns, slot));
      parent[a > b ? a : b] = a > b ? b : a;
    }
  }
}

/// Replace each parent by the number of its component: that of a root is known before those of its larger nodes.
static int64_t components_number(int64_t nodes, int64_t *parent) {
  int64_t count = 0;
  for (int64_t i = 0; i < nodes; ++i) parent[i] = components_root(parent, i);
  for (int64_t i = 0; i < nodes; ++i) parent[i] = parent[i] == i ? count++ : parent[parent[i]];
  return count;
}

lac_status lac_pattern_components(lac_context *ctx, const lac_pattern *pattern, lac_map **map) {
  lac_status status = LAC_OK;
  int64_t *parent = NULL, count = 0;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(map, LAC_ERR_ARG, "lac_pattern_components: map is NULL");
  LAC_TRY(lac_pattern_require_host(ctx, pattern, "lac_pattern_components"));
  LAC_CHECK(pattern->rows == pattern->cols, LAC_ERR_SHAPE,
            "lac_pattern_components: rows and columns are the same nodes in a square pattern alone, this one is %lld x "
            "%lld",
            (long long)pattern->rows, (long long)pattern->cols);
  LAC_ALLOC(parent, pattern->rows);
  components_join(pattern, parent);
  count = components_number(pattern->rows, parent);
  LAC_TRY(lac_map_create(ctx, pattern->rows, count, parent, map));
done:
  lac_free(parent);
  return status;
}
