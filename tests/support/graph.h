// SPDX-License-Identifier: Apache-2.0
/// @file graph.h
/// Random graphs of operators: drawn from a seed, built on any tape, at any point along a line.
///
/// A graph is never stored: building it draws the same numbers again. What must not depend on the point (factors that
/// keep numbers small, offsets that keep them off kinks) is found in a first build and frozen.

#ifndef LACUNA_TESTS_GRAPH_H
#define LACUNA_TESTS_GRAPH_H

#include <complex.h>
#include <stdbool.h>

#include "lacuna/lacuna.h"
#include "support/random.h"

#undef I

enum { GRAPH_MOST_LEAVES = 4, GRAPH_MOST_OUTS = 2, GRAPH_MOST_VARS = 32, GRAPH_MOST_FROZEN = 128 };

/// What all graphs of a context share: patterns, maps and constants of two dtypes.
typedef struct graph_world graph_world;
graph_world *graph_world_open(lac_context *ctx);
void graph_world_close(graph_world *w);

/// How many operators of the library were in the graphs so far.
int graph_world_covered(const graph_world *w);

/// One being built.
typedef struct graph {
  lac_context *ctx;
  graph_world *w;
  lac_tape *tape;
  lac_dtype dtype;
  int order;
  random_state random;
  const struct graph_maker *extra;  // beside the table's; may be NULL
  bool is_freezing;                 // the first build
  bool is_inside;                   // a checkpointed segment
  double frozen[GRAPH_MOST_FROZEN];
  int frozen_count, frozen_next;
  int count;
  lac_var var[GRAPH_MOST_VARS];
  char kind[GRAPH_MOST_VARS];
  char *text;  // its lines, where asked for
  size_t room;
} graph;

/// ONCE is for what may be differentiated once: it stays away from graphs of second order.
typedef enum graph_numbers { REALS = 1, COMPLEX = 2, BOTH = 3, ONCE = 4 } graph_numbers;

/// A node: see graph_makers.def.
typedef struct graph_maker {
  const char *name;
  int numbers;  // graph_numbers
  const char *in;
  char out;
  lac_var (*make)(graph *g, lac_var *in);
} graph_maker;

/// The numbers of an array on the host.
typedef struct graph_array {
  lac_meta meta;
  int64_t count;
  double complex *x;
} graph_array;

/// A graph with a point, a direction and cotangents.
typedef struct graph_sample {
  lac_context *ctx;
  uint64_t seed;
  graph g;
  int leaves, outs;
  bool is_constant[GRAPH_MOST_LEAVES];
  char kind[GRAPH_MOST_LEAVES];
  graph_array x[GRAPH_MOST_LEAVES], x_dot[GRAPH_MOST_LEAVES], v[GRAPH_MOST_LEAVES];  // v: a cotangent of the gradient
  graph_array y_bar[GRAPH_MOST_OUTS];
} graph_sample;

/// Draw the graph of a seed, to be differentiated `order` times; its memory is scratch. A graph that fails is printed.
void graph_sample_open(lac_context *ctx, graph_world *w, uint64_t seed, int order, const graph_maker *extra,
                       graph_sample *out);

/// The graph in words, one line a node.
const char *graph_sample_text(graph_sample *s);

/// Build the graph on a tape at x + t x_dot: leaves that are not constant, their tangents and cotangents, outputs,
/// cotangents.
typedef struct graph_run {
  int leaves, outs;
  int of[GRAPH_MOST_LEAVES];  // which leaf of the sample
  lac_var leaf[GRAPH_MOST_LEAVES], x_dot[GRAPH_MOST_LEAVES], v[GRAPH_MOST_LEAVES];
  lac_var out[GRAPH_MOST_OUTS], y_bar[GRAPH_MOST_OUTS];
} graph_run;
void graph_sample_run(graph_sample *s, lac_tape *tape, double t, graph_run *r);

/// Re <a, var> of numbers and a var like them; an absent var is zero. Adds the sum of |terms| to *size, unless it is
/// NULL.
double graph_inner(graph_sample *s, const lac_tape *tape, const graph_array *a, lac_var var, double *size);

/// Stop with the seed and the graph when a call failed.
void graph_must(graph_sample *s, lac_status status, const char *what);

#endif
