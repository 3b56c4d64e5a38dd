// SPDX-License-Identifier: Apache-2.0
/// @file op_case_first.c
/// Values and first derivatives.

#include "support/op_case_impl.h"

/// The oracle's differences leave about this much, relative.
static const double ORACLE_TOLERANCE = 1e-9;

static double oracle_tolerance(const op_run *r) {
  double slack = r->c->slack > 0 ? r->c->slack : 1;
  return op_tolerance(r, 64) + ORACLE_TOLERANCE * slack;
}

/// What to add where a derivative that is not zero came back absent.
static const char *absent_hint(uint32_t absent, int i) {
  return absent >> i & 1 ? "; absent: the rule gives nothing" : "";
}

void op_check_values(op_run *r) {
  op_first got = op_differentiate(r, &r->setup, &r->point, 0, ASK_Y);
  if (!op_succeeded(r, OP_VALUES, got.status, "forward")) return;
  for (int o = 0; o < r->outs; ++o) {
    op_expect_close(r, OP_VALUES, &got.y[o], &r->oracle.y[o], op_tolerance(r, 64),
                    "output %d against the dense formula", o);
  }
}

static void check_adjoint(op_run *r, uint32_t wants, const op_first *got) {
  double left = 0, right = 0, left_size = 0, right_size = 0;
  for (int o = 0; o < r->outs; ++o) left += ref_inner(&r->point.y_bar[o], &got->y_dot[o], &left_size);
  for (int i = 0; i < r->ins; ++i) {
    if (wants >> i & 1) right += ref_inner(&got->in_bar[i], &r->point.x_dot[i], &right_size);
  }
  double apart = left > right ? left - right : right - left, bound = op_tolerance(r, 32) * (left_size + right_size);
  op_expect(r, OP_ADJOINT, apart <= bound, "inputs %#x: <y_bar, J x_dot> = %.9g, <J^H y_bar, x_dot> = %.9g", wants,
            left, right);
}

/// J x_dot against differences of the forward, and of the dense formula.
static void check_tangent(op_run *r, uint32_t wants, const op_first *got) {
  op_first at[4];
  for (int s = 0; s < 4; ++s) {
    op_point moved = op_point_move(r, &r->point, wants, false, op_stencil[s] * op_step(r));
    at[s] = op_differentiate(r, &r->setup, &moved, 0, ASK_Y);
    if (!op_succeeded(r, OP_TANGENT, at[s].status, "forward beside the point")) return;
  }
  for (int o = 0; o < r->outs; ++o) {
    ref own = op_difference((const ref *[]){&at[0].y[o], &at[1].y[o], &at[2].y[o], &at[3].y[o]}, op_step(r));
    ref sum = ref_new(&got->y_dot[o].meta);
    for (int i = 0; i < r->ins; ++i) {
      if (wants >> i & 1) ref_axpy(1, &r->oracle.y_dot[i][o], &sum);
    }
    op_expect_close(r, OP_TANGENT, &got->y_dot[o], &own, op_step_tolerance(r),
                    "inputs %#x: tangent of output %d against the difference of the forward", wants, o);
    op_expect_close(r, OP_TANGENT, &got->y_dot[o], &sum, oracle_tolerance(r),
                    "inputs %#x: tangent of output %d against that of the dense formula%s", wants, o,
                    absent_hint(got->absent_dot, o));
  }
}

void op_check_first(op_run *r, uint32_t wants) {
  op_first got = op_differentiate(r, &r->setup, &r->point, wants, ASK_ALL);
  if (!op_succeeded(r, OP_ADJOINT, got.status, "first derivatives")) return;
  if (r->sections & OP_ADJOINT) check_adjoint(r, wants, &got);
  if (r->sections & OP_TANGENT) check_tangent(r, wants, &got);
  for (int i = 0; i < r->ins && r->sections & OP_GRADIENT && !r->is_stopped; ++i) {
    if (!(wants >> i & 1)) continue;
    op_expect_close(r, OP_GRADIENT, &got.in_bar[i], &r->oracle.in_bar[i], oracle_tolerance(r),
                    "inputs %#x: gradient of input %d against that of the dense formula%s", wants, i,
                    absent_hint(got.absent_bar, i));
  }
}
