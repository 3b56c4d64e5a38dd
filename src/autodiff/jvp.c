// SPDX-License-Identifier: Apache-2.0
/// @file jvp.c
/// Forward mode over a tape: out_dot_i = sum_j J_ij in_dot_j, one jvp rule a recorded call, first call first.

#include "autodiff/derivative.h"

/// Mark what leads to the outputs asked for: only there tangents are of use.
static void jvp_mark(pass *p, int outs, const int *out) {
  const lac_tape *tape = p->tape;

  for (int i = 0; i < outs; i++) p->on_path[out[i]] = true;
  for (int n = p->nodes - 1; n >= 0; n--) {
    const tape_node *node = &tape->nodes[n];
    bool leads = false;
    for (int i = 0; i < node->outs; i++) leads |= p->on_path[node->out[i]];
    for (int i = 0; i < node->ins; i++) p->on_path[node->in[i]] |= leads;
  }
}

/// One node: its inputs' tangents to its outputs' tangents. A var whose tangent was given is independent of what made it.
static lac_status jvp_node(pass *p, int n, const bool *is_given) {
  const tape_node *node = &p->tape->nodes[n];
  uint32_t given = 0;
  bool leads = false;
  int to[LAC_MAX_OUT] = {0};

  for (int i = 0; i < node->ins; i++) given |= (uint32_t)lac_pass_has(p, node->in[i]) << i;
  for (int i = 0; i < node->outs; i++) {
    if (!is_given[node->out[i]]) to[i] = node->out[i];
    leads |= to[i] && p->on_path[to[i]];
  }
  if (!given || !leads) return LAC_OK;
  return lac_pass_rule(p, n, LAC_ROLE_OUT_DOT, 0, given, to);
}

lac_status lac_tape_jvp(lac_tape *tape, int ins, const lac_var *in, const lac_var *in_dot, int outs, const lac_var *out,
                        lac_var *out_dot, lac_graph_mode mode) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  pass p = {.tape = tape};
  int *places = NULL;
  bool *is_given = NULL;
  lac_var *results = NULL;

  if (!tape) return lac_context_fail(NULL, LAC_ERR_ARG, __func__, "lac_tape_jvp: the tape is NULL");
  LAC_TRY(lac_pass_open(tape, mode, "lac_tape_jvp", &p));
  LAC_CHECK(in && in_dot && out && out_dot && ins > 0 && outs > 0, LAC_ERR_ARG,
            "lac_tape_jvp: name at least one input with its tangent and one output");
  LAC_ALLOC(places, outs);
  LAC_ALLOC(results, outs);
  LAC_ALLOC(is_given, p.vars);
  for (int i = 0; i < outs; i++) LAC_TRY(lac_pass_find(&p, out[i], "lac_tape_jvp: out", i, &places[i]));
  jvp_mark(&p, outs, places);
  for (int j = 0; j < ins; j++) {
    int place;
    LAC_TRY(lac_pass_find_input(&p, in[j], "lac_tape_jvp: in", j, &place));
    is_given[place] = true;
    if (in_dot[j].id) LAC_TRY(lac_pass_seed(&p, place, in_dot[j], "lac_tape_jvp", j));
  }
  for (int n = 0; n < p.nodes; n++) LAC_TRY(jvp_node(&p, n, is_given));
  for (int i = 0; i < outs; i++) LAC_TRY(lac_pass_take(&p, places[i], &results[i]));
done:
  status = lac_pass_close(&p, status);
  for (int i = 0; out_dot && i < outs; i++) out_dot[i] = results && status == LAC_OK ? results[i] : (lac_var){0};
  lac_free(places);
  lac_free(results);
  lac_free(is_given);
  return status;
}
