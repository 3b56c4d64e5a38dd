// SPDX-License-Identifier: Apache-2.0
/// @file op_case_operator.c
/// The case is one of the operator that it names, and that operator's flags are true.

#include "autodiff/signature.h"
#include "autodiff/tape_impl.h"
#include "support/op_case_impl.h"

/// Whether an input of a call has more dimensions than the signature gives it.
static bool is_batched(const lac_tape *tape, const tape_node *node) {
  lac_operands operands = lac_operands_of(node->spec.op, node->spec.patterns);
  for (int i = 0; i < node->ins; ++i) {
    lac_operand operand;
    lac_operands_next(&operands, &operand);
    if (tape->vars[lac_node_in(tape, node)[i]].meta.ndim > operand.core) return true;
  }
  return false;
}

/// A public function may do without its operator, as conj does on reals: one dtype in which it is called is enough.
bool op_is_called(op_run *r, lac_status *status) {
  op_stage s;
  bool is_called = false;
  op_stage_open(r, &r->setup, &r->point, op_all_inputs(r), &s);
  *status = s.status;
  for (int n = 0; s.status == LAC_OK && n < s.tape->nodes_count; ++n) {
    if (s.tape->nodes[n].spec.op != r->op) continue;
    is_called = true;
    r->is_batched |= is_batched(s.tape, &s.tape->nodes[n]);
  }
  op_stage_close(&s);
  return is_called;
}

/// Sums are moved through pointwise operators: f(x + y) = f(x) + f(y).
static void check_linear(op_run *r) {
  op_point other = r->point, both = op_point_move(r, &r->point, 1, false, 1);
  other.in[0] = r->point.x_dot[0];
  op_first at_x = op_differentiate(r, &r->setup, &r->point, 0, ASK_Y);
  op_first at_y = op_differentiate(r, &r->setup, &other, 0, ASK_Y);
  op_first at_both = op_differentiate(r, &r->setup, &both, 0, ASK_Y);
  lac_status status = at_x.status != LAC_OK ? at_x.status : at_y.status != LAC_OK ? at_y.status : at_both.status;

  if (!op_succeeded(r, OP_OPERATOR, status, "forward of a sum")) return;
  ref sum = ref_copy(&at_x.y[0]);
  ref_axpy(1, &at_y.y[0], &sum);
  op_expect_close(r, OP_OPERATOR, &at_both.y[0], &sum, op_tolerance(r, 64),
                  "LAC_OP_POINTWISE is for linear operators; f(x + y) against f(x) + f(y)");
}

void op_check_operator(op_run *r) {
  lac_status status;
  r->is_called |= op_is_called(r, &status);
  if (!op_succeeded(r, OP_OPERATOR, status, "forward") || !(r->op->flags & LAC_OP_POINTWISE)) return;
  op_expect(r, OP_OPERATOR, lac_op_inputs(r->op) == 1 && lac_op_outputs(r->op) == 1,
            "LAC_OP_POINTWISE is for operators of one input and one output, not \"%s\"", r->op->signature);
  if (r->ins == 1) check_linear(r);
}
