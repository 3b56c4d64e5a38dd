// SPDX-License-Identifier: Apache-2.0
/// @file solve_report.c
/// What a tape knows of the solves on it: a recorded call holds its factor, and the report of what it solved.

#include "autodiff/tape_impl.h"
#include "ops/solves/factored.h"

static const lac_factor *report_factor(const tape_node *node) {
  const lac_object *object = node->spec.object;
  return object && object->kind == &lac_factor_kind ? (const lac_factor *)object : NULL;
}

static bool report_makes(const lac_tape *tape, const tape_node *node, const bool *asked) {
  const int *out = lac_node_out(tape, node);
  for (int i = 0; i < node->outs; i++) {
    if (asked[out[i]]) return true;
  }
  return false;
}

/// Backwards over the calls that the var depends on, to the last that has a factor or the report of a solve.
static const tape_node *report_find(const lac_tape *tape, int last, bool *asked) {
  for (int n = last; n >= 0; n--) {
    const tape_node *node = &tape->nodes[n];
    const int *in = lac_node_in(tape, node);
    if (!report_makes(tape, node, asked)) continue;
    if (node->solved || report_factor(node)) return node;
    for (int i = 0; i < node->ins; i++) asked[in[i]] = true;
  }
  return NULL;
}

lac_status lac_tape_solve_report(const lac_tape *tape, lac_var var, lac_report *factor, lac_solve_report *solve) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  int place = lac_tape_place(tape, var);
  const tape_node *node = NULL;
  bool *asked = NULL;
  lac_report made;
  lac_solve_report solved;

  LAC_CHECK(tape, LAC_ERR_ARG, "lac_tape_solve_report: the tape is NULL");
  if (factor) LAC_TRY(lac_sized_check(ctx, "lac_tape_solve_report", LAC_REPORT, factor));
  if (solve) LAC_TRY(lac_sized_check(ctx, "lac_tape_solve_report", LAC_SOLVE_REPORT, solve));
  LAC_CHECK(
      place, LAC_ERR_ABSENT, "lac_tape_solve_report: the var is %s",
      var.id ? "one of another tape, or from before lac_tape_clear" : "absent: its call failed, or it was never set");
  LAC_ALLOC(asked, tape->vars_count);
  asked[place] = true;
  node = report_find(tape, tape->vars[place].node, asked);
  LAC_CHECK(node, LAC_ERR_ARG,
            "lac_tape_solve_report: no recorded call of a solver made this var; give one that lac_solve or its kin "
            "made of a leaf on a LAC_TAPE_RECORD tape, or ask the solver (lac_solver_last_solve)");
  made = lac_factor_reported(report_factor(node));
  solved = node->solved ? *node->solved : (lac_solve_report){.residual = LAC_UNMEASURED};
  if (factor) lac_sized_give(LAC_REPORT, &made, factor);
  if (solve) lac_sized_give(LAC_SOLVE_REPORT, &solved, solve);
done:
  lac_free(asked);
  return status;
}
