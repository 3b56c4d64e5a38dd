// SPDX-License-Identifier: Apache-2.0
/// @file jvp.c
/// Forward mode over a tape: out_dot_i = sum_j J_ij in_dot_j, one jvp rule a recorded call, first call first.

#include "autodiff/derivative.h"

/// Mark what leads to the outputs asked for: only there tangents are of use.
static void jvp_mark(sweep *s, int outs) {
  const lac_tape *tape = s->tape;

  for (int i = 0; i < outs; i++) s->on_path[s->places[i]] = true;
  for (int n = s->nodes - 1; n >= 0; n--) {
    const tape_node *node = &tape->nodes[n];
    const int *in = lac_node_in(tape, node), *out = lac_node_out(tape, node);
    bool leads = false;
    for (int i = 0; i < node->outs; i++) leads |= s->on_path[out[i]];
    for (int i = 0; i < node->ins; i++) s->on_path[in[i]] |= leads;
  }
}

/// One node: its inputs' tangents to its outputs' tangents. A var whose tangent was given is independent of what made
/// it.
static lac_status jvp_node(sweep *s, int n) {
  const tape_node *node = &s->tape->nodes[n];
  const int *in = lac_node_in(s->tape, node), *out = lac_node_out(s->tape, node);
  bool is_given = false, leads = false;

  for (int i = 0; i < node->ins; i++) is_given |= s->given[i] = lac_sweep_has(s, in[i]);
  for (int i = 0; i < node->outs; i++) leads |= s->on_path[out[i]] && !s->is_end[out[i]];
  return is_given && leads ? lac_sweep_rule(s, n, LAC_ROLE_OUT_DOT) : LAC_OK;
}

lac_status lac_tape_jvp(lac_tape *tape, int ins, const lac_var *in, const lac_var *in_dot, int outs, const lac_var *out,
                        lac_var *out_dot, lac_graph_mode mode) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  sweep s;

  if (!tape) return lac_context_fail(NULL, LAC_ERR_ARG, __func__, "lac_tape_jvp: the tape is NULL");
  LAC_TRY(lac_sweep_open(tape, mode, "lac_tape_jvp", outs > 0 ? outs : 0, &s));
  LAC_CHECK(in && in_dot && out && out_dot, LAC_ERR_ARG, "lac_tape_jvp: %s is NULL; give a list of %d vars",
            !in       ? "in"
            : !in_dot ? "in_dot"
            : !out    ? "out"
                      : "out_dot",
            !in || !in_dot ? ins : outs);
  LAC_CHECK(ins > 0 && outs > 0, LAC_ERR_ARG, "lac_tape_jvp: ins = %d, outs = %d; name at least one of each", ins,
            outs);
  for (int i = 0; i < outs; i++) LAC_TRY(lac_sweep_find(&s, out[i], "lac_tape_jvp: out", i, &s.places[i]));
  jvp_mark(&s, outs);
  for (int j = 0; j < ins; j++) {
    int place;
    LAC_TRY(lac_sweep_find_end(&s, in[j], "lac_tape_jvp: in", j, &place));
    s.is_end[place] = true;
    if (in_dot[j].id) LAC_TRY(lac_sweep_seed(&s, place, in_dot[j], "lac_tape_jvp", j));
  }
  for (int n = 0; n < s.nodes; n++) LAC_TRY(jvp_node(&s, n));
  for (int i = 0; i < outs; i++) LAC_TRY(lac_sweep_take(&s, s.places[i], &s.answers[i]));
done:
  return lac_sweep_close(&s, status, outs, out_dot);
}
