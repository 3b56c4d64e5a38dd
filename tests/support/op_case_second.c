// SPDX-License-Identifier: Apache-2.0
/// @file op_case_second.c
/// The derivatives of the gradient g(x, y_bar) = J(x)^H y_bar, and Hessian-vector products three ways.

#include <string.h>

#include "support/op_case_impl.h"

enum { MAX_LEAVES = OP_MAX_IN + OP_MAX_OUT };

/// A stage whose gradient is recorded.
typedef struct graph {
  op_stage s;
  uint32_t wants;
  int count;             // of wanted inputs
  int place[OP_MAX_IN];  // of each in the operator's inputs
  lac_var x[OP_MAX_IN], g[OP_MAX_IN], y_bar[OP_MAX_OUT];
} graph;

static void graph_open(const op_run *r, uint32_t wants, const op_point *p, graph *q) {
  *q = (graph){.wants = wants};
  op_stage_open(r, &r->setup, p, wants, &q->s);
  for (int i = 0; i < r->ins; ++i) {
    if (wants >> i & 1) q->place[q->count] = i, q->x[q->count++] = q->s.x[i];
  }
  for (int o = 0; o < r->outs; ++o) q->y_bar[o] = op_stage_put(&q->s, &p->y_bar[o], true);
  if (q->s.status != LAC_OK) return;
  q->s.status = lac_tape_vjp(q->s.tape, r->outs, q->s.y, q->y_bar, q->count, q->x, q->g, LAC_GRAPH_CREATE);
}

/// Reverse over the gradient: seeds for the parts of g that are there.
static void graph_vjp(graph *q, const ref *seeds, int leaves, const lac_var *leaf, lac_var *bar) {
  lac_var out[OP_MAX_IN], seed[OP_MAX_IN];
  int outs = 0;
  for (int j = 0; j < q->count; ++j) {
    if (!q->g[j].id) continue;
    out[outs] = q->g[j];
    seed[outs++] = op_stage_put(&q->s, &seeds[q->place[j]], false);
  }
  if (q->s.status == LAC_OK && outs) {
    q->s.status = lac_tape_vjp(q->s.tape, outs, out, seed, leaves, leaf, bar, LAC_GRAPH_NONE);
  }
}

/// Forward over the gradient; absent parts of g have absent tangents.
static void graph_jvp(graph *q, int leaves, const lac_var *leaf, const lac_var *dot, const op_point *p, ref *g_dot) {
  lac_var out[OP_MAX_IN], out_dot[OP_MAX_IN] = {{0}};
  int outs = 0;
  for (int j = 0; j < q->count; ++j) {
    if (q->g[j].id) out[outs++] = q->g[j];
  }
  if (q->s.status == LAC_OK && outs) {
    q->s.status = lac_tape_jvp(q->s.tape, leaves, leaf, dot, outs, out, out_dot, LAC_GRAPH_NONE);
  }
  for (int j = 0, at = 0; j < q->count; ++j) {
    g_dot[q->place[j]] = op_stage_get(&q->s, q->g[j].id ? out_dot[at++] : (lac_var){0}, &p->in[q->place[j]]);
  }
}

static void graph_identities(graph *q, const op_run *r, const op_point *p, op_second *out) {
  lac_var leaf[MAX_LEAVES], dot[MAX_LEAVES], bar[MAX_LEAVES] = {{0}};
  int leaves = q->count + r->outs;
  for (int j = 0; j < q->count; ++j) {
    leaf[j] = q->x[j];
    dot[j] = op_stage_put(&q->s, &p->x_dot[q->place[j]], false);
    out->g[q->place[j]] = op_stage_get(&q->s, q->g[j], &p->in[q->place[j]]);
  }
  for (int o = 0; o < r->outs; ++o) {
    leaf[q->count + o] = q->y_bar[o];
    dot[q->count + o] = op_stage_put(&q->s, &p->y_bar_dot[o], false);
  }
  graph_jvp(q, leaves, leaf, dot, p, out->g_dot);
  graph_vjp(q, p->z_bar, leaves, leaf, bar);
  for (int j = 0; j < q->count; ++j) out->x_bar[q->place[j]] = op_stage_get(&q->s, bar[j], &p->in[q->place[j]]);
  for (int o = 0; o < r->outs; ++o) out->y_bar_bar[o] = op_stage_get(&q->s, bar[q->count + o], &p->y_bar[o]);
  graph_jvp(q, q->count, q->x, dot, p, out->hvp[0]);
}

/// Gradients of Re <y_bar, J(x) x_dot> and of Re <x_dot, g(x)>.
static void graph_products(graph *q, const op_run *r, const op_point *p, op_second *out) {
  lac_var dot[OP_MAX_IN], y_dot[OP_MAX_OUT] = {{0}}, bar[OP_MAX_IN] = {{0}};
  lac_var present[OP_MAX_OUT], seed[OP_MAX_OUT];
  int outs = 0;
  for (int j = 0; j < q->count; ++j) dot[j] = op_stage_put(&q->s, &p->x_dot[q->place[j]], false);
  if (q->s.status == LAC_OK) {
    q->s.status = lac_tape_jvp(q->s.tape, q->count, q->x, dot, r->outs, q->s.y, y_dot, LAC_GRAPH_CREATE);
  }
  for (int o = 0; o < r->outs; ++o) {
    if (y_dot[o].id) present[outs] = y_dot[o], seed[outs++] = q->y_bar[o];
  }
  if (q->s.status == LAC_OK && outs) {
    q->s.status = lac_tape_vjp(q->s.tape, outs, present, seed, q->count, q->x, bar, LAC_GRAPH_NONE);
  }
  for (int o = 0; o < r->outs; ++o) {
    out->y[o] = op_stage_get(&q->s, q->s.y[o], &p->y_bar[o]);
    out->y_dot[o] = op_stage_get(&q->s, y_dot[o], &p->y_bar[o]);
  }
  for (int j = 0; j < q->count; ++j) out->hvp[1][q->place[j]] = op_stage_get(&q->s, bar[j], &p->in[q->place[j]]);
  memset(bar, 0, sizeof bar);
  graph_vjp(q, p->x_dot, q->count, q->x, bar);
  for (int j = 0; j < q->count; ++j) out->hvp[2][q->place[j]] = op_stage_get(&q->s, bar[j], &p->in[q->place[j]]);
}

op_second op_differentiate_twice(const op_run *r, const op_point *p, uint32_t wants) {
  op_second out = {0};
  graph q;
  graph_open(r, wants, p, &q);
  if (q.s.status == LAC_OK) graph_identities(&q, r, p, &out);
  if (q.s.status == LAC_OK) graph_products(&q, r, p, &out);
  out.status = q.s.status;
  op_stage_close(&q.s);
  return out;
}

static void check_adjoint(op_run *r, uint32_t wants, const op_second *got) {
  const op_point *p = &r->point;
  double left = 0, right = 0, size = 0;
  for (int i = 0; i < r->ins; ++i) {
    if (!(wants >> i & 1)) continue;
    left += ref_inner(&p->z_bar[i], &got->g_dot[i], &size);
    right += ref_inner(&got->x_bar[i], &p->x_dot[i], &size);
  }
  for (int o = 0; o < r->outs; ++o) right += ref_inner(&got->y_bar_bar[o], &p->y_bar_dot[o], &size);
  double apart = left > right ? left - right : right - left;
  op_expect(r, OP_SECOND, apart <= op_tolerance(r, 64) * size,
            "inputs %#x: <z_bar, g_dot> = %.9g, <(x_bar, y_bar_bar), (x_dot, y_bar_dot)> = %.9g", wants, left, right);
}

/// g_dot against differences of the gradient, which the first sections have checked against the dense formula.
static void check_tangent(op_run *r, uint32_t wants, const op_second *got) {
  op_first at[4];
  for (int s = 0; s < 4; ++s) {
    op_point moved = op_point_move(r, &r->point, wants, true, op_stencil[s] * op_step(r));
    at[s] = op_differentiate(r, &r->setup, &moved, wants, ASK_IN_BAR);
    op_expect(r, OP_SECOND, at[s].status == LAC_OK, "gradient beside the point: %s", lac_context_error(r->ctx));
    if (at[s].status != LAC_OK) return;
  }
  for (int i = 0; i < r->ins; ++i) {
    if (!(wants >> i & 1)) continue;
    ref own = op_difference((const ref *[]){&at[0].in_bar[i], &at[1].in_bar[i], &at[2].in_bar[i], &at[3].in_bar[i]},
                            op_step(r));
    op_expect_close(r, OP_SECOND, &got->g_dot[i], &own, 4 * op_step_tolerance(r),
                    "inputs %#x: tangent of gradient %d against its difference", wants, i);
  }
}

void op_check_second(op_run *r, uint32_t wants) {
  op_second got = op_differentiate_twice(r, &r->point, wants);
  op_expect(r, OP_SECOND, got.status == LAC_OK, "inputs %#x: second derivatives: %s: %s", wants,
            lac_status_name(got.status), lac_context_error(r->ctx));
  if (got.status != LAC_OK) return;
  check_adjoint(r, wants, &got);
  check_tangent(r, wants, &got);
  op_first first = op_differentiate(r, &r->setup, &r->point, wants, ASK_IN_BAR);
  for (int i = 0; i < r->ins; ++i) {
    if (!(wants >> i & 1)) continue;
    op_expect_close(r, OP_SECOND, &got.g[i], &first.in_bar[i], op_tolerance(r, 8),
                    "inputs %#x: recorded and plain gradient %d", wants, i);
    for (int way = 1; way < 3; ++way) {
      op_expect_close(r, OP_SECOND, &got.hvp[way][i], &got.hvp[0][i], op_tolerance(r, 256),
                      "inputs %#x: Hessian times vector for input %d, %s", wants, i,
                      way == 1 ? "reverse over forward" : "reverse over reverse");
    }
  }
}
