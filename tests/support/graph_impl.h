// SPDX-License-Identifier: Apache-2.0
/// @file graph_impl.h
/// The inside of graph.h: the world, and what makers are written with.

#ifndef LACUNA_TESTS_GRAPH_IMPL_H
#define LACUNA_TESTS_GRAPH_IMPL_H

#include "support/graph.h"

enum { N = 4, K = 2, BATCH = 2, GROUPS = 2, BLOCK = 2 };

struct graph_world {
  lac_pattern *p, *q, *product, *both, *common, *lower, *blocked;  // q = p^T; both and common: of p and q
  lac_map *transposed, *triangle, *dense, *rows, *lines, *groups, *blocks;
  lac_solver *solver;
  lac_array *mask[2], *diagonal[2], *ramp[2], *ramp_values[2];  // real and complex
  bool *is_covered;                                             // of each operator
};

extern const graph_maker graph_makers[];
extern const int graph_makers_count;

/// A random number below n; a random form.
int graph_draw(graph *g, int n);

/// A number that is found in the first build, by `find` from the var's numbers, and is the same in all later ones.
double graph_freeze(graph *g, lac_var var, double (*find)(int64_t count, const double complex *x));

/// x times a power of two, which is frozen too, so that its largest number is between 1/2 and 1.
lac_var graph_fit(graph *g, lac_var x, double *scale);

/// A var of a kind, drawn.
lac_var graph_pick(graph *g, char kind, char *found);

/// Add `nodes` random nodes to the pool; returns the last.
lac_var graph_grow(graph *g, int nodes);

#endif
