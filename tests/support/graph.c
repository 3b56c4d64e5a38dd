// SPDX-License-Identifier: Apache-2.0
/// @file graph.c
/// Drawing graphs and building them.

#include "support/graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autodiff/tape_impl.h"
#include "support/check.h"
#include "support/graph_impl.h"
#include "support/scratch.h"

int graph_draw(graph *g, int n) { return (int)random_below(&g->random, n); }

/// The numbers of an array, complex.
static const double complex *read_array(lac_context *ctx, const lac_array *array) {
  int64_t count = lac_array_count(array);
  double complex *out = scratch((size_t)count * sizeof *out);

  CHECK_OK(lac_array_read(ctx, array, out));
  if (lac_array_meta(array)->dtype == LAC_F64) {
    const double *reals = (const double *)(const void *)out;
    for (int64_t i = count - 1; i >= 0; i--) {
      double x;
      memcpy(&x, reals + i, sizeof x);
      out[i] = x;
    }
  }
  return out;
}

double graph_freeze(graph *g, lac_var var, double (*find)(int64_t count, const double complex *x)) {
  if (g->is_freezing) {
    const lac_array *array = lac_tape_value(g->tape, var);
    CHECK(g->frozen_count < GRAPH_MOST_FROZEN);
    g->frozen[g->frozen_count++] = array ? find(lac_array_count(array), read_array(g->ctx, array)) : 1;
  }
  return g->frozen[g->frozen_next++];
}

/// A power of two that brings the largest number to between 1/2 and 1.
static double find_scale(int64_t count, const double complex *x) {
  double largest = 0;
  int exponent;

  for (int64_t i = 0; i < count; i++) largest = fmax(largest, cabs(x[i]));
  if (!(largest > 0) || !isfinite(largest)) return 1;
  (void)frexp(largest, &exponent);
  return ldexp(1, -exponent);
}

lac_var graph_fit(graph *g, lac_var x, double *scale) {
  *scale = graph_freeze(g, x, find_scale);
  return *scale == 1 ? x : lac_scale(g->tape, x, *scale, 0);
}

lac_var graph_pick(graph *g, char kind, char *found) {
  int match[GRAPH_MOST_VARS], count = 0;
  double scale;

  for (int i = 0; i < g->count; i++) {
    if (kind == 'x' || g->kind[i] == kind) match[count++] = i;
  }
  if (!count) {  // a number, where there is none yet
    return graph_fit(g, lac_sum(g->tape, g->var[graph_draw(g, g->count)]), &scale);
  }
  int newest = count < 3 ? count : 3, i = graph_draw(g, 2) ? count - 1 - graph_draw(g, newest) : graph_draw(g, count);
  if (found) *found = g->kind[match[i]];
  if (g->text) g->text += snprintf(g->text, g->room, " %%%d", match[i]);
  return g->var[match[i]];
}

static const graph_maker *draw_maker(graph *g) {
  int numbers = g->dtype == LAC_C128 ? COMPLEX : REALS;

  for (;;) {
    int i = graph_draw(g, graph_makers_count + (g->extra ? graph_makers_count / 3 : 0));
    const graph_maker *m = i < graph_makers_count ? &graph_makers[i] : g->extra;
    if (m->numbers & numbers && !(m->numbers & ONCE && g->order > 1)) return m;
  }
}

lac_var graph_grow(graph *g, int nodes) {
  lac_var made = {0};
  double scale;

  for (int n = 0; n < nodes; n++) {
    const graph_maker *m = draw_maker(g);
    lac_var in[4];
    char kind[4] = {0};
    if (g->text) g->text += snprintf(g->text, g->room, "    %%%d = %s", g->count, m->name);
    for (int i = 0; m->in[i]; i++) {
      kind[i] = m->in[i];
      in[i] = graph_pick(g, m->in[i] == 'y' ? kind[0] : m->in[i], &kind[i]);
    }
    made = graph_fit(g, m->make(g, in), &scale);
    if (g->text) g->text += snprintf(g->text, g->room, ", times %g\n", scale);
    CHECK(g->count < GRAPH_MOST_VARS);
    g->kind[g->count] = m->out == 'x' ? kind[0] : m->out == 'y' ? kind[1] : m->out;
    g->var[g->count++] = made;
  }
  return made;
}

// -- samples ---------------------------------------------------------------------------------------------------------

static graph_array draw_array(random_state *r, const lac_meta *meta) {
  graph_array a = {.meta = *meta, .count = 1};

  for (int d = 0; d < meta->ndim; d++) a.count *= meta->shape[d];
  a.x = scratch((size_t)a.count * sizeof *a.x);
  for (int64_t i = 0; i < a.count; i++) {
    double re = random_unit(r), im = random_unit(r);
    a.x[i] = meta->dtype == LAC_C128 ? 0.7 * (re + im * _Complex_I) : re;
  }
  return a;
}

/// Shape of a leaf: some have a batch.
static lac_meta draw_leaf(graph *g, char kind) {
  lac_meta meta = {.dtype = g->dtype};

  if (kind != 's' && graph_draw(g, 4) == 0) meta.shape[meta.ndim++] = BATCH;
  if (kind == 'd') meta.shape[meta.ndim++] = N, meta.shape[meta.ndim++] = K;
  if (kind == 'v') meta.shape[meta.ndim++] = lac_pattern_nnz(g->w->p);
  return meta;
}

static lac_array *upload(lac_context *ctx, const graph_array *a, const graph_array *along, double t) {
  double complex *x = scratch((size_t)a->count * sizeof *x);
  double *reals = scratch((size_t)a->count * sizeof *reals);
  bool is_complex = a->meta.dtype == LAC_C128;
  lac_array *array = NULL;

  for (int64_t i = 0; i < a->count; i++) x[i] = a->x[i] + (along ? t * along->x[i] : 0), reals[i] = creal(x[i]);
  CHECK_OK(lac_array_from(ctx, a->meta.dtype, a->meta.ndim, a->meta.shape, is_complex ? (void *)x : reals,
                          LAC_OWNERSHIP_COPY, &array));
  return array;
}

static lac_var put(graph_sample *s, lac_tape *tape, const graph_array *a, double t, const graph_array *along,
                   bool is_leaf) {
  lac_array *array = upload(s->ctx, a, along, t);
  lac_var var = is_leaf ? lac_tape_leaf(tape, array) : lac_tape_constant(tape, array);

  lac_array_destroy(&array);
  return var;
}

void graph_must(graph_sample *s, lac_status status, const char *what) {
  if (status == LAC_OK) return;
  char sentence[600];
  (void)snprintf(sentence, sizeof sentence, "%s", lac_context_error(s->ctx));
  check_fail(__FILE__, __LINE__, "graph %llu: %s gives %s: %s\n%s", (unsigned long long)s->seed, what,
             lac_status_name(status), sentence, s->g.text ? "" : graph_sample_text(s));
}

/// All of the graph; the outputs are the last node and another of the last.
static void build(graph_sample *s, lac_tape *tape, double t, graph_run *r) {
  graph *g = &s->g;

  *r = (graph_run){.leaves = 0};
  g->tape = tape, g->frozen_next = 0, g->count = 0;
  g->random = random_start(s->seed * 2 + 1);
  for (int i = 0; i < s->leaves; i++) {
    lac_var leaf = put(s, tape, &s->x[i], t, s->is_constant[i] ? NULL : &s->x_dot[i], !s->is_constant[i]);
    g->kind[g->count] = s->kind[i], g->var[g->count++] = leaf;
    if (!s->is_constant[i]) r->of[r->leaves] = i, r->leaf[r->leaves++] = leaf;
  }
  r->out[0] = graph_grow(g, 3 + graph_draw(g, 10));
  r->outs = 1 + graph_draw(g, GRAPH_MOST_OUTS);
  if (r->outs == 2) r->out[1] = g->var[g->count - 2];
}

/// Mark the operators on a recording tape.
static void cover(graph_world *w, const lac_tape *tape) {
  for (int n = 0; n < tape->nodes_count; n++) {
    for (int i = 0; i < lac_op_count(); i++) w->is_covered[i] |= tape->nodes[n].spec.op == lac_op_at(i);
  }
}

void graph_sample_run(graph_sample *s, lac_tape *tape, double t, graph_run *r) {
  build(s, tape, t, r);
  for (int j = 0; j < r->leaves; j++) {
    r->x_dot[j] = put(s, tape, &s->x_dot[r->of[j]], 0, NULL, false);
    r->v[j] = put(s, tape, &s->v[r->of[j]], 0, NULL, false);
  }
  for (int i = 0; i < r->outs; i++) r->y_bar[i] = put(s, tape, &s->y_bar[i], 0, NULL, false);
  graph_must(s, lac_tape_status(tape), "building it");
  if (t == 0) cover(s->g.w, tape);
}

void graph_sample_open(lac_context *ctx, graph_world *w, uint64_t seed, int order, const graph_maker *extra,
                       graph_sample *s) {
  random_state r = random_start(seed * 2);
  lac_tape *tape = NULL;
  graph_run first;

  *s = (graph_sample){.ctx = ctx, .seed = seed};
  s->g =
      (graph){.ctx = ctx, .w = w, .dtype = seed % 2 ? LAC_F64 : LAC_C128, .order = order, .random = r, .extra = extra};
  s->leaves = 2 + graph_draw(&s->g, GRAPH_MOST_LEAVES - 1);
  for (int i = 0; i < s->leaves; i++) {
    s->kind[i] = "dvdvs"[i < 2 ? i : 2 + graph_draw(&s->g, 3)];
    s->is_constant[i] = i >= 2 && graph_draw(&s->g, 3) == 0;
    lac_meta meta = draw_leaf(&s->g, s->kind[i]);
    s->x[i] = draw_array(&r, &meta), s->x_dot[i] = draw_array(&r, &meta), s->v[i] = draw_array(&r, &meta);
  }
  s->g.is_freezing = true;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
  build(s, tape, 0, &first);
  s->g.is_freezing = false;
  graph_must(s, lac_tape_status(tape), "building it for the first time");
  s->outs = first.outs;
  for (int i = 0; i < s->outs; i++) s->y_bar[i] = draw_array(&r, lac_tape_meta(tape, first.out[i]));
  lac_tape_destroy(&tape);
}

const char *graph_sample_text(graph_sample *s) {
  enum { ROOM = 8192 };
  lac_tape *tape = NULL;
  char *text = scratch(ROOM), *end = text;
  graph_run r;

  for (int i = 0; i < s->leaves; i++) {
    end += snprintf(end, 200, "    %%%d: %s of kind %c, %d axes\n", i, s->is_constant[i] ? "constant" : "leaf",
                    s->kind[i], s->x[i].meta.ndim);
  }
  if (lac_tape_create(s->ctx, LAC_TAPE_RUN, &tape) != LAC_OK) return "";
  s->g.text = end, s->g.room = 200;
  build(s, tape, 0, &r);
  (void)snprintf(s->g.text, 200, "    %d outputs, the last ones\n", r.outs);
  s->g.text = NULL;
  lac_tape_destroy(&tape);
  return text;
}

double graph_inner(graph_sample *s, const lac_tape *tape, const graph_array *a, lac_var var, double *size) {
  const lac_array *array = lac_tape_value(tape, var);
  double sum = 0;

  if (!array) return 0;
  CHECK_EQ(lac_array_count(array), a->count);
  const double complex *x = read_array(s->ctx, array);
  for (int64_t i = 0; i < a->count; i++) {
    double term = creal(conj(a->x[i]) * x[i]);
    sum += term;
    if (size) *size += fabs(creal(a->x[i]) * creal(x[i])) + fabs(cimag(a->x[i]) * cimag(x[i]));
  }
  return sum;
}
