// SPDX-License-Identifier: Apache-2.0
/// @file op_case_oracle.c
/// The dense formula and its derivatives, by four-point differences in complex double: error ~ h^4 + 1e-16 / h.

#include "support/op_case_impl.h"
#include "support/scratch.h"

static const double ORACLE_STEP = 0x1p-10;

static void oracle_values(const op_run *r, const ref *in, ref *out) {
  for (int o = 0; o < r->outs; ++o) {
    lac_meta meta = op_result(r->c, o, r->setup.dtype);
    out[o] = ref_new(&meta);
  }
  r->c->dense(r->c, in, out);
}

/// J_i x_dot_i.
static void oracle_tangent(const op_run *r, int i, ref *y_dot) {
  ref y[4][OP_MAX_OUT];
  for (int s = 0; s < 4; ++s) {
    op_point moved = op_point_move(r, &r->point, 1u << i, false, op_stencil[s] * ORACLE_STEP);
    oracle_values(r, moved.in, y[s]);
  }
  for (int o = 0; o < r->outs; ++o) {
    y_dot[o] = op_difference((const ref *[]){&y[0][o], &y[1][o], &y[2][o], &y[3][o]}, ORACLE_STEP);
  }
}

/// d/dh Re <y_bar, f(x + h direction e_k)>.
static double oracle_partial(op_run *r, int i, int64_t k, number direction) {
  static const double weights[4] = {1, -8, 8, -1};
  number *x = &r->point.in[i].x[k], keep = *x;
  double sum = 0, unused = 0;
  size_t mark = scratch_mark();
  for (int s = 0; s < 4; ++s) {
    ref y[OP_MAX_OUT];
    *x = keep + op_stencil[s] * ORACLE_STEP * direction;
    oracle_values(r, r->point.in, y);
    for (int o = 0; o < r->outs; ++o) sum += weights[s] * ref_inner(&r->point.y_bar[o], &y[o], &unused);
  }
  *x = keep;
  scratch_release(mark);
  return sum / (12 * ORACLE_STEP);
}

static void oracle_gradient(op_run *r, int i, ref *in_bar) {
  *in_bar = ref_new(&r->point.in[i].meta);
  for (int64_t k = 0; k < in_bar->count; ++k) {
    in_bar->x[k] = oracle_partial(r, i, k, 1);
    if (r->is_complex) in_bar->x[k] += oracle_partial(r, i, k, I) * I;
  }
}

void op_oracle_ask(op_run *r) {
  if (!(r->sections & (OP_VALUES | OP_TANGENT | OP_GRADIENT))) return;
  oracle_values(r, r->point.in, r->oracle.y);
  if (!(r->sections & (OP_TANGENT | OP_GRADIENT))) return;
  for (int i = 0; i < r->ins; ++i) {
    oracle_tangent(r, i, r->oracle.y_dot[i]);
    oracle_gradient(r, i, &r->oracle.in_bar[i]);
  }
}
