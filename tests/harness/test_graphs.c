// SPDX-License-Identifier: Apache-2.0
/// Random graphs of operators, differentiated by the tape and by differences.
///
/// A seed draws leaves and nodes (support/graph_makers.def). For random directions x_dot and cotangents y_bar three
/// numbers agree:
///
///     Re <x_bar, x_dot> by vjp        Re <y_bar, y_dot> by jvp        d/dt Re <y_bar, y(x + t x_dot)> by differences
///
/// and on a part of the graphs the same three for the gradient itself. A graph where they do not is printed with its
/// seed; GRAPH_SEED=n in the environment draws that one alone.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "autodiff/rule.h"
#include "support/check.h"
#include "support/graph.h"
#include "support/scratch.h"

enum { GRAPHS = 2400, SECOND_EVERY = 4 };

static const double tolerance = 1e-6, h = 2e-4;
static const double at[4] = {-2, -1, 1, 2};

/// The derivative at 0 from values at -2h, -h, h, 2h.
static double slope_of(const double phi[4]) { return (phi[0] - 8 * phi[1] + 8 * phi[2] - phi[3]) / (12 * h); }

/// The three numbers of one order, and the sum of |terms| by which they are judged.
typedef struct trio {
  double vjp, jvp, difference, size;
} trio;

static bool trio_agrees(const trio *f) {
  return fabs(f->vjp - f->difference) <= tolerance * f->size && fabs(f->jvp - f->difference) <= tolerance * f->size;
}

static double inner_of_outputs(graph_sample *s, const lac_tape *tape, const lac_var *y, double *size) {
  double sum = 0;
  for (int i = 0; i < s->outs; i++) sum += graph_inner(s, tape, &s->y_bar[i], y[i], size);
  return sum;
}

static double inner_of_leaves(graph_sample *s, const lac_tape *tape, const graph_run *r, const graph_array *a,
                              const lac_var *x, double *size) {
  double sum = 0;
  for (int j = 0; j < r->leaves; j++) sum += graph_inner(s, tape, &a[r->of[j]], x[j], size);
  return sum;
}

/// Re <y_bar, y> at x + t x_dot.
static double outputs_at(graph_sample *s, double t, double *size) {
  lac_tape *tape = NULL;
  graph_run r;

  graph_must(s, lac_tape_create(s->ctx, LAC_TAPE_RUN, &tape), "lac_tape_create");
  graph_sample_run(s, tape, t, &r);
  double phi = inner_of_outputs(s, tape, r.out, size);
  lac_tape_destroy(&tape);
  return phi;
}

/// Re <v, x_bar> at x + t x_dot.
static double gradient_at(graph_sample *s, double t) {
  lac_tape *tape = NULL;
  lac_var bar[GRAPH_MOST_LEAVES];
  graph_run r;

  graph_must(s, lac_tape_create(s->ctx, LAC_TAPE_RECORD, &tape), "lac_tape_create");
  graph_sample_run(s, tape, t, &r);
  graph_must(s, lac_tape_vjp(tape, r.outs, r.out, r.y_bar, r.leaves, r.leaf, bar, LAC_GRAPH_NONE), "vjp");
  double phi = inner_of_leaves(s, tape, &r, s->v, bar, NULL);
  lac_tape_destroy(&tape);
  return phi;
}

/// The gradient's own derivative, of the leaves whose gradient exists.
static void differentiate_gradient(graph_sample *s, lac_tape *tape, const graph_run *r, const lac_var *bar, trio *f) {
  lac_var g[GRAPH_MOST_LEAVES], v[GRAPH_MOST_LEAVES], dot[GRAPH_MOST_LEAVES], again[GRAPH_MOST_LEAVES];
  int count = 0, of[GRAPH_MOST_LEAVES];
  double phi[4];

  for (int j = 0; j < r->leaves; j++) {
    if (bar[j].id) g[count] = bar[j], v[count] = r->v[j], of[count++] = r->of[j];
  }
  if (!count) return;
  graph_must(s, lac_tape_jvp(tape, r->leaves, r->leaf, r->x_dot, count, g, dot, LAC_GRAPH_NONE), "jvp of the gradient");
  graph_must(s, lac_tape_vjp(tape, count, g, v, r->leaves, r->leaf, again, LAC_GRAPH_NONE), "vjp of the gradient");
  for (int j = 0; j < count; j++) f->jvp += graph_inner(s, tape, &s->v[of[j]], dot[j], &f->size);
  f->vjp = inner_of_leaves(s, tape, r, s->x_dot, again, &f->size);
  for (int k = 0; k < 4; k++) phi[k] = gradient_at(s, at[k] * h);
  f->difference = slope_of(phi);
}

static void differentiate(graph_sample *s, bool is_second, trio *first, trio *second) {
  lac_tape *tape = NULL;
  lac_var bar[GRAPH_MOST_LEAVES], dot[GRAPH_MOST_OUTS];
  graph_run r;
  double phi[4], values = 0;

  graph_must(s, lac_tape_create(s->ctx, LAC_TAPE_RECORD, &tape), "lac_tape_create");
  graph_sample_run(s, tape, 0, &r);
  lac_graph_mode mode = is_second ? LAC_GRAPH_CREATE : LAC_GRAPH_NONE;
  graph_must(s, lac_tape_vjp(tape, r.outs, r.out, r.y_bar, r.leaves, r.leaf, bar, mode), "vjp");
  graph_must(s, lac_tape_jvp(tape, r.leaves, r.leaf, r.x_dot, r.outs, r.out, dot, LAC_GRAPH_NONE), "jvp");
  first->vjp = inner_of_leaves(s, tape, &r, s->x_dot, bar, &first->size);
  first->jvp = inner_of_outputs(s, tape, dot, &first->size);
  for (int k = 0; k < 4; k++) phi[k] = outputs_at(s, at[k] * h, &values);
  first->difference = slope_of(phi);
  first->size += 1e-4 * values;  // differences of large values round
  if (is_second) differentiate_gradient(s, tape, &r, bar, second);
  second->size += 1e-3 * first->size;
  lac_tape_destroy(&tape);
}

/// Whether the derivatives of one graph agree; `text` may be NULL, and receives what is wrong.
static bool graph_agrees(lac_context *ctx, graph_world *w, uint64_t seed, const graph_maker *extra, bool prints) {
  trio first = {0}, second = {0};
  graph_sample s;

  bool is_second = seed / 2 % SECOND_EVERY == 0;
  graph_sample_open(ctx, w, seed, is_second ? 2 : 1, extra, &s);
  differentiate(&s, is_second, &first, &second);
  bool agrees = trio_agrees(&first) && trio_agrees(&second);
  if (!agrees && prints) {
    const trio *f = trio_agrees(&first) ? &second : &first;
    printf("  graph %llu, %s order: vjp %.12g, jvp %.12g, differences %.12g, |terms| %.3g\n%s",
           (unsigned long long)seed, f == &first ? "first" : "second", f->vjp, f->jvp, f->difference, f->size,
           graph_sample_text(&s));
  }
  return agrees;
}

static void random_graphs_are_differentiated_right(lac_context *ctx) {
  const char *only = getenv("GRAPH_SEED");
  uint64_t first = only ? strtoull(only, NULL, 10) : 1, last = only ? first : (uint64_t)check_sweep(GRAPHS);
  graph_world *w = graph_world_open(ctx);
  int wrong = 0;

  for (uint64_t seed = first; seed <= last; seed++) {
    size_t mark = scratch_mark();
    wrong += !graph_agrees(ctx, w, seed, NULL, true);
    scratch_release(mark);
  }
  int covered = graph_world_covered(w);
  graph_world_close(w);
  CHECK_EQ(wrong, 0);
  printf("graphs: %d agree to 1e-6, %d of %d operators in them\n", (int)(last - first + 1), covered, lac_op_count());
}

// -- the test is tested ----------------------------------------------------------------------------------------------

enum { NO_FAULT, WRONG_SIGN, MISSING_CONJ, FACTOR_TWO, DETACHED, FAULTS };

#define FAULT(call_or_rule) ((int)(call_or_rule)->attrs->i[0])

static lac_status copy_forward(lac_call *c) { return c->ctx->backend->copy(c->ctx, c->in[0], c->out[0]); }
static const lac_op detach = {.name = "detach",
                              .signature = "()->()",
                              .order = LAC_ANY_ORDER,
                              .forward = copy_forward,
                              .vjp = lac_rule_nothing,
                              .jvp = lac_rule_nothing};

/// z = x y with one thing wrong.
static lac_status faulty_forward(lac_call *c) {
  return KERNELS(c)->binary(c->ctx, LAC_MUL, c->in[0], c->in[1], c->out[0]);
}

static void faulty_vjp(lac_rule *r) {
  lac_var y = FAULT(r) == MISSING_CONJ ? r->in[1] : lac_conj(r->tape, r->in[1]);
  double factor = FAULT(r) == WRONG_SIGN ? -1 : FAULT(r) == FACTOR_TWO ? 2 : 1;

  if (FAULT(r) == DETACHED) y = lac_emit(r->tape, &(lac_spec){.op = &detach}, &y);
  r->in_bar[0] = lac_scale(r->tape, lac_mul(r->tape, r->out_bar[0], y), factor, 0);
  r->in_bar[1] = lac_mul(r->tape, r->out_bar[0], lac_conj(r->tape, r->in[0]));
}

static void faulty_jvp(lac_rule *r) {
  double factor = FAULT(r) == FACTOR_TWO ? 2 : 1;  // wrong in the same way as the vjp
  r->out_dot[0] = lac_add(r->tape, lac_scale(r->tape, lac_mul(r->tape, r->in_dot[0], r->in[1]), factor, 0),
                          lac_mul(r->tape, r->in[0], r->in_dot[1]));
}

static const lac_op faulty = {.name = "faulty",
                              .signature = "(),()->()",
                              .order = LAC_ANY_ORDER,
                              .vjp_needs = NEEDS_IN(0) | NEEDS_IN(1),
                              .jvp_needs = NEEDS_IN(0) | NEEDS_IN(1),
                              .forward = faulty_forward,
                              .vjp = faulty_vjp,
                              .jvp = faulty_jvp};

static int fault_kind;

static lac_var make_faulty(graph *g, lac_var *in) {
  return lac_emit(g->tape, &(lac_spec){.op = &faulty, .attrs.i = {fault_kind}}, in);
}

static void wrong_rules_are_found(lac_context *ctx) {
  static const graph_maker maker = {"faulty", BOTH, "xy", 'x', make_faulty};
  graph_world *w = graph_world_open(ctx);

  for (fault_kind = NO_FAULT; fault_kind < FAULTS; fault_kind++) {
    int found = 0;
    for (uint64_t seed = 1; seed <= 64; seed++) {
      size_t mark = scratch_mark();
      found += !graph_agrees(ctx, w, seed, &maker, false);
      scratch_release(mark);
    }
    if (fault_kind ? found < 3 : found > 0) {
      check_fail(__FILE__, __LINE__, "fault %d is found in %d of 64 graphs", fault_kind, found);
    }
  }
  graph_world_close(w);
}

CHECK_MAIN(random_graphs_are_differentiated_right, wrong_rules_are_found)
