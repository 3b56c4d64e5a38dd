// SPDX-License-Identifier: Apache-2.0
/// The table of operators: every line of ops.def is found under its own name, and its operator says what it must.

#include "autodiff/rule.h"
#include "support/check.h"
#include "support/op_case.h"

static const char *const lines[] = {
#define LAC_OP(name) #name,
#include "ops/ops.def"
#undef LAC_OP
};

static void every_line_is_found_under_its_name(lac_context *ctx) {
  (void)ctx;
  CHECK_EQ(lac_op_count(), sizeof lines / sizeof *lines);
  for (int i = 0; i < lac_op_count(); ++i) {
    CHECK_TEXT(lac_op_at(i)->name, lines[i]);
    if (lac_op_find(lines[i]) != lac_op_at(i)) check_fail(__FILE__, __LINE__, "two operators are called %s", lines[i]);
  }
}

static void every_operator_has_a_signature_and_its_rules(lac_context *ctx) {
  (void)ctx;
  for (int i = 0; i < lac_op_count(); ++i) {
    const lac_op *op = lac_op_at(i);
    if (!lac_op_inputs(op) || !lac_op_outputs(op)) check_fail(__FILE__, __LINE__, "%s: no signature", op->name);
    if (lac_op_inputs(op) > OP_MAX_IN) check_fail(__FILE__, __LINE__, "%s: a case has no room for it", op->name);
    if (lac_op_outputs(op) > LAC_EMIT_OUTS) check_fail(__FILE__, __LINE__, "%s: lac_emit has no room", op->name);
    if (op->order != 0 && (!op->vjp || !op->jvp)) check_fail(__FILE__, __LINE__, "%s: no vjp or no jvp", op->name);
  }
}

CHECK_MAIN(every_line_is_found_under_its_name, every_operator_has_a_signature_and_its_rules)
