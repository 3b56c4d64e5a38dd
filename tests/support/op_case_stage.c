// SPDX-License-Identifier: Apache-2.0
/// @file op_case_stage.c
/// One tape with the operator on it, and its first derivatives read off.

#include <string.h>

#include "core/object.h"
#include "support/op_case_impl.h"

lac_var op_stage_put(op_stage *s, const ref *x, bool is_leaf) {
  lac_array *array = NULL;
  lac_var var = {0};
  if (s->status == LAC_OK) s->status = ref_upload(s->ctx, x, &array);
  if (s->status == LAC_OK) {
    var = is_leaf ? lac_tape_leaf(s->tape, array) : lac_tape_constant(s->tape, array);
    s->status = lac_tape_status(s->tape);
  }
  lac_array_destroy(&array);
  return var;
}

ref op_stage_get(op_stage *s, lac_var var, const ref *like) {
  const lac_array *array = s->status == LAC_OK ? lac_tape_value(s->tape, var) : NULL;
  ref out = {0};
  if (!array) return ref_new(&like->meta);
  s->status = ref_download(s->ctx, array, &out);
  return out;
}

void op_stage_open(const op_run *r, const op_setup *setup, const op_point *p, uint32_t leaves, op_stage *s) {
  *s = (op_stage){.run = r, .setup = *setup, .ctx = setup->ctx};
  for (int i = 0; i < r->ins && s->status == LAC_OK; ++i) s->status = ref_upload(s->ctx, &p->in[i], &s->in[i]);
  if (s->status == LAC_OK && r->c->object) s->status = r->c->object(&s->setup, s->in, &s->setup.object);
  if (s->status == LAC_OK) s->status = lac_tape_create(s->ctx, LAC_TAPE_RECORD, &s->tape);
  if (s->status != LAC_OK) return;
  for (int i = 0; i < r->ins; ++i) {
    s->x[i] = leaves >> i & 1 ? lac_tape_leaf(s->tape, s->in[i]) : lac_tape_constant(s->tape, s->in[i]);
  }
  r->c->apply(s->tape, &s->setup, s->x, s->y);
  s->status = lac_tape_status(s->tape);
}

void op_stage_close(op_stage *s) {
  lac_tape_destroy(&s->tape);
  lac_object_release(s->setup.object);
  for (int i = 0; i < OP_MAX_IN; ++i) lac_array_destroy(&s->in[i]);
}

/// The vars of `wants`, packed; returns how many.
static int pack(const op_run *r, uint32_t wants, const lac_var *from, lac_var *to) {
  int count = 0;
  for (int i = 0; i < r->ins; ++i) {
    if (wants >> i & 1) to[count++] = from[i];
  }
  return count;
}

static void stage_vjp(op_stage *s, const op_point *p, uint32_t wants, op_first *out) {
  const op_run *r = s->run;
  lac_var seeds[OP_MAX_OUT], x[OP_MAX_IN], x_bar[OP_MAX_IN] = {{0}};
  int count = pack(r, wants, s->x, x);

  for (int o = 0; o < r->outs; ++o) seeds[o] = op_stage_put(s, &p->y_bar[o], false);
  if (s->status == LAC_OK) s->status = lac_tape_vjp(s->tape, r->outs, s->y, seeds, count, x, x_bar, LAC_GRAPH_NONE);
  for (int i = 0, at = 0; i < r->ins; ++i) {
    lac_var bar = wants >> i & 1 ? x_bar[at++] : (lac_var){0};
    out->in_bar[i] = op_stage_get(s, bar, &p->in[i]);
    if (!bar.id) out->absent_bar |= 1u << i;
  }
}

static void stage_jvp(op_stage *s, const op_point *p, uint32_t wants, op_first *out) {
  const op_run *r = s->run;
  lac_var dots[OP_MAX_IN] = {{0}}, x[OP_MAX_IN], x_dot[OP_MAX_IN], y_dot[OP_MAX_OUT] = {{0}};
  int count = pack(r, wants, s->x, x);

  for (int i = 0; i < r->ins; ++i) {
    if (wants >> i & 1) dots[i] = op_stage_put(s, &p->x_dot[i], false);
  }
  (void)pack(r, wants, dots, x_dot);
  if (s->status == LAC_OK) s->status = lac_tape_jvp(s->tape, count, x, x_dot, r->outs, s->y, y_dot, LAC_GRAPH_NONE);
  for (int o = 0; o < r->outs; ++o) {
    out->y_dot[o] = op_stage_get(s, y_dot[o], &p->y_bar[o]);
    if (!y_dot[o].id) out->absent_dot |= 1u << o;
  }
}

op_first op_differentiate(const op_run *r, const op_setup *setup, const op_point *p, uint32_t wants, unsigned ask) {
  op_first out = {0};
  op_stage s;
  op_stage_open(r, setup, p, wants, &s);
  for (int o = 0; o < r->outs && ask & ASK_Y; ++o) out.y[o] = op_stage_get(&s, s.y[o], &p->y_bar[o]);
  if (ask & ASK_IN_BAR) stage_vjp(&s, p, wants, &out);
  if (ask & ASK_Y_DOT) stage_jvp(&s, p, wants, &out);
  op_stage_close(&s);
  out.status = s.status;
  return out;
}

op_point op_point_move(const op_run *r, const op_point *p, uint32_t wants, bool moves_y_bar, double h) {
  op_point moved = *p;
  for (int i = 0; i < r->ins; ++i) {
    if (!(wants >> i & 1)) continue;
    moved.in[i] = ref_copy(&p->in[i]);
    ref_axpy(h, &p->x_dot[i], &moved.in[i]);
  }
  for (int o = 0; o < r->outs && moves_y_bar; ++o) {
    moved.y_bar[o] = ref_copy(&p->y_bar[o]);
    ref_axpy(h, &p->y_bar_dot[o], &moved.y_bar[o]);
  }
  return moved;
}

const double op_stencil[4] = {-2, -1, 1, 2};

ref op_difference(const ref *const at[4], double h) {
  static const double weights[4] = {1, -8, 8, -1};
  ref out = ref_new(&at[0]->meta);
  for (int s = 0; s < 4; ++s) ref_axpy(weights[s] / (12 * h), at[s], &out);
  return out;
}
