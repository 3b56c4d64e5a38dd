// SPDX-License-Identifier: Apache-2.0
/// @file graph_makers.c
/// The table of nodes (graph_makers.def), and the words that its lines are written with.

#include <math.h>

#include "support/graph_impl.h"

static bool is_complex(const graph *g) { return g->dtype == LAC_C128; }

/// A form, drawn.
static lac_form form(graph *g) { return (lac_form)graph_draw(g, 4); }

static lac_var constant(graph *g, lac_array *const of[2]) { return lac_tape_constant(g->tape, of[is_complex(g)]); }

/// Zeros and ones, (N, K).
static lac_var mask(graph *g) { return constant(g, g->w->mask); }

/// A real result in the dtype of the graph.
static lac_var complex_of(graph *g, lac_var x) { return is_complex(g) ? lac_cast(g->tape, x, LAC_C128) : x; }

/// An imaginary part, for those who have one.
static double imaginary(const graph *g, double im) { return is_complex(g) ? im : 0; }

/// x plus a number.
static lac_var shifted(graph *g, double re, double im, lac_var x) {
  return lac_offset(g->tape, x, re, imaginary(g, im));
}

/// The first of 0, 0.1, 0.2, ... that leaves no number near zero.
static double find_offset(int64_t count, const double complex *x) {
  for (int k = 0; k < 64; k++) {
    double offset = 0.1 * k, nearest = 1;
    for (int64_t i = 0; i < count; i++) nearest = fmin(nearest, cabs(x[i] + offset));
    if (nearest > 0.02) return offset;
  }
  return 8;
}

/// x moved off zero.
static lac_var away(graph *g, lac_var x) { return lac_offset(g->tape, x, graph_freeze(g, x, find_offset), 0); }

/// x of kind d or v with numbers that are far from each other, in size too.
static lac_var apart(graph *g, lac_var x) {
  const lac_meta *meta = lac_tape_meta(g->tape, x);
  bool is_dense = meta && meta->ndim >= 2 && meta->shape[meta->ndim - 2] == N && meta->shape[meta->ndim - 1] == K;
  return lac_add(g->tape, x, constant(g, is_dense ? g->w->ramp : g->w->ramp_values));
}

/// The values of P with a diagonal that outweighs its row.
static lac_var dominant(graph *g, lac_var v) {
  return lac_add(g->tape, lac_scale(g->tape, v, 0.5, 0), constant(g, g->w->diagonal));
}

static lac_meta meta_of(const graph *g, lac_var x) {
  const lac_meta *meta = lac_tape_meta(g->tape, x);
  return meta ? *meta : (lac_meta){.ndim = 0};
}

/// The number y spread to the shape of x.
static lac_var spread(graph *g, lac_var x, lac_var y) {
  lac_meta like = meta_of(g, x);
  return lac_broadcast(g->tape, y, &like, LAC_AXES(-2, -1), false);
}

/// The rows 1, 3, ... of zeros like `like`.
static lac_var embed_like(graph *g, lac_var x, lac_var like) {
  lac_meta meta = meta_of(g, like);
  return lac_embed(g->tape, x, &meta, -2, 1, N, 2);
}

/// tanh of one long column.
static lac_var there_and_back(graph *g, lac_var x) {
  lac_meta meta = meta_of(g, x);
  int64_t count = 1;

  for (int d = 0; d < meta.ndim; d++) count *= meta.shape[d];
  lac_var long_one = lac_tanh(g->tape, lac_reshape(g->tape, x, 2, (int64_t[]){count, 1}));
  return lac_reshape(g->tape, long_one, meta.ndim, meta.shape);
}

/// The dense matrix of values of P.
static lac_var dense_of(graph *g, lac_var v) {
  lac_meta meta = meta_of(g, v);

  meta.shape[meta.ndim - 1] = N;
  meta.shape[meta.ndim] = N;
  return lac_reshape(g->tape, lac_remap(g->tape, g->w->dense, v, LAC_PLAIN), meta.ndim + 1, meta.shape);
}

/// The values of P in blocks, and back.
static lac_var blocks_of(graph *g, lac_var v) {
  lac_meta meta = meta_of(g, v);

  meta.shape[meta.ndim - 1] = lac_pattern_nnz(g->w->blocked);
  meta.shape[meta.ndim] = meta.shape[meta.ndim + 1] = BLOCK;
  return lac_reshape(g->tape, lac_remap(g->tape, g->w->blocks, v, LAC_PLAIN), meta.ndim + 2, meta.shape);
}

static lac_var values_of(graph *g, lac_var blocks) {
  lac_meta meta = meta_of(g, blocks);

  meta.ndim = meta.ndim < 2 ? 0 : meta.ndim - 2;
  if (meta.ndim) meta.shape[meta.ndim - 1] = lac_map_outputs(g->w->blocks);
  return lac_remap(g->tape, g->w->blocks, lac_reshape(g->tape, blocks, meta.ndim, meta.shape), LAC_TRANSPOSED);
}

/// X X^H of a band X = band of u v^H.
static lac_var band_squared(graph *g, lac_var u, lac_var v) {
  lac_var x = lac_banded_outer(g->tape, 1, 1, u, v);
  return lac_banded_gemm(g->tape, 1, 1, x, 1, 1, x, 2, 2, LAC_PLAIN, LAC_ADJOINT);
}

/// Three diagonals of which the middle one outweighs the others.
static lac_var dominant_band(graph *g, lac_var u, lac_var v) {
  lac_var band = lac_scale(g->tape, lac_banded_outer(g->tape, 1, 1, u, v), 0.25, 0), row[3];

  for (int i = 0; i < 3; i++) row[i] = lac_slice(g->tape, band, -2, i, i + 1, 1);
  row[1] = shifted(g, 3, 0, row[1]);
  return lac_concat_all(g->tape, 3, row, -2);
}

/// (N) numbers of which the first outweighs the others.
static lac_var dominant_ring(graph *g, lac_var c) {
  lac_var small = lac_scale(g->tape, c, 0.125, 0);
  return lac_concat(g->tape, shifted(g, 3, 0, lac_slice(g->tape, small, -1, 0, 1, 1)),
                    lac_slice(g->tape, small, -1, 1, N, 1), -1);
}

/// The solution with a tridiagonal matrix made of (N) numbers.
static lac_var tridiagonal(graph *g, lac_var c, lac_var b) {
  lac_var small = lac_scale(g->tape, c, 0.125, 0), diag = shifted(g, 3, 0, small);
  lac_var lower = lac_slice(g->tape, small, -1, 0, N - 1, 1), upper = lac_slice(g->tape, small, -1, 1, N, 1);
  return lac_tridiagonal_solve(g->tape, lower, diag, upper, b);
}

/// The N N numbers of the dense matrix of values of P as a column.
static lac_var column_of(graph *g, lac_var v) {
  lac_meta meta = meta_of(g, v);

  meta.shape[meta.ndim - 1] = N * N;
  meta.shape[meta.ndim] = 1;
  return lac_reshape(g->tape, lac_remap(g->tape, g->w->dense, v, LAC_PLAIN), meta.ndim + 1, meta.shape);
}

/// The values of P^T on its own pattern.
static lac_var transposed(graph *g, lac_var v) { return lac_remap(g->tape, g->w->transposed, v, LAC_PLAIN); }

/// A graph within the graph, of three inputs.
static lac_status inner_graph(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  graph *g = data;

  (void)step;
  g->tape = tape;
  for (int i = 0; i < 3; i++) g->var[i] = in[i];
  (void)graph_grow(g, 3);
  out[0] = graph_pick(g, 'd', NULL);
  return lac_tape_status(tape);
}

/// Three random nodes as a checkpointed segment, once they have run without one. What the first two inputs are is
/// known.
static lac_var checkpointed(graph *g, lac_var *in) {
  lac_var out = {0};
  double scale;

  if (g->is_inside) return lac_sin(g->tape, in[0]);
  in[2] = graph_fit(g, lac_mul(g->tape, in[0], lac_sum(g->tape, in[2])), &scale);
  graph inner = *g;
  inner.is_inside = true;
  inner.text = NULL;
  inner.count = 3;
  inner.kind[0] = 'd', inner.kind[1] = 'v', inner.kind[2] = 'd';
  if (g->is_freezing) {
    (void)inner_graph(g->tape, &inner, 0, in, &out);
  } else {
    (void)lac_tape_checkpoint(g->tape, inner_graph, &inner, 3, in, 1, &out);
  }
  g->random = inner.random;
  for (int i = g->frozen_count; i < inner.frozen_count; i++) g->frozen[i] = inner.frozen[i];
  g->frozen_count = inner.frozen_count;
  g->frozen_next = inner.frozen_next;
  return out;
}

#define T (g->tape)
#define MAKER(name, numbers, ins, out, ...)           \
  static lac_var make_##name(graph *g, lac_var *in) { \
    const graph_world *w = g->w;                      \
    (void)w;                                          \
    return __VA_ARGS__;                               \
  }
#include "support/graph_makers.def"
#undef MAKER

const graph_maker graph_makers[] = {
#define MAKER(name, numbers, ins, out, ...) {#name, numbers, ins, out, make_##name},
#include "support/graph_makers.def"
#undef MAKER
};

const int graph_makers_count = sizeof graph_makers / sizeof *graph_makers;
