// SPDX-License-Identifier: Apache-2.0
/// @file vjp.c
/// Reverse mode over a tape: in_bar_j = sum_i J_ij^H out_bar_i, one vjp rule a recorded call, last call first.

#include "autodiff/derivative.h"
#include "lacuna/ops.h"

/// Mark what depends on the inputs asked for: only that is differentiated.
static void vjp_mark(sweep *s, int ins) {
  const lac_tape *tape = s->tape;

  for (int j = 0; j < ins; j++) s->on_path[s->places[j]] = s->is_end[s->places[j]] = true;
  for (int n = 0; n < s->nodes; n++) {
    const tape_node *node = &tape->nodes[n];
    const int *in = lac_node_in(tape, node), *out = lac_node_out(tape, node);
    bool depends = false;
    for (int i = 0; i < node->ins; i++) depends |= s->on_path[in[i]];
    for (int i = 0; i < node->outs; i++) s->on_path[out[i]] |= depends;
  }
}

/// A missing seed of a single number is 1.
static lac_status vjp_seed(sweep *s, int place, lac_var seed, int i) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;
  const lac_meta *meta = &s->tape->vars[place].meta;
  char text[LAC_SHAPE_TEXT];
  lac_array *one = NULL;
  int at = 0;

  if (!seed.id) {
    LAC_CHECK(lac_meta_count(meta) == 1 && !meta->partition, LAC_ERR_ARG,
              "lac_tape_vjp: output %d has shape %s and no seed; give one, or reduce it to a single number", i,
              lac_shape_text(meta->ndim, meta->shape, text));
    LAC_TRY(lac_array_make(ctx, meta, &one));
    LAC_TRY(lac_array_fill(ctx, one, 1, 0));
    LAC_TRY(lac_tape_push_var(s->tape, &one->meta, &one, -1, false, &at));
    seed = lac_tape_name(s->tape, at);
  }
  LAC_TRY(lac_sweep_seed(s, place, seed, "lac_tape_vjp", i));
done:
  lac_array_destroy(&one);
  return status;
}

/// One node: its outputs' adjoints to its inputs' adjoints.
static lac_status vjp_node(sweep *s, int n) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;
  const tape_node *node = &s->tape->nodes[n];
  const int *in = lac_node_in(s->tape, node), *out = lac_node_out(s->tape, node), outs = node->outs;
  bool is_given = false, is_wanted = false;

  for (int i = 0; i < outs; i++) is_given |= s->given[i] = lac_sweep_has(s, out[i]);
  for (int i = 0; i < node->ins; i++) is_wanted |= s->wants[i] = s->on_path[in[i]];
  if (!is_given || !is_wanted) return LAC_OK;
  LAC_TRY(lac_sweep_rule(s, n, LAC_ROLE_IN_BAR));
  out = lac_node_out(s->tape, &s->tape->nodes[n]);  // the tape may have grown
  for (int i = 0; i < outs; i++) {
    if (!s->is_end[out[i]]) lac_sweep_drop(s, out[i]);
  }
done:
  return status;
}

lac_status lac_tape_vjp(lac_tape *tape, int outs, const lac_var *out, const lac_var *seeds, int ins, const lac_var *in,
                        lac_var *in_bar, lac_graph_mode mode) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  sweep s;

  if (!tape) return lac_context_fail(NULL, LAC_ERR_ARG, __func__, "lac_tape_vjp: the tape is NULL");
  LAC_TRY(lac_sweep_open(tape, mode, "lac_tape_vjp", ins > 0 ? ins : 0, &s));
  LAC_CHECK(out && in && in_bar, LAC_ERR_ARG, "lac_tape_vjp: %s is NULL; give a list of %d vars",
            !out  ? "out"
            : !in ? "in"
                  : "in_bar",
            !out ? outs : ins);
  LAC_CHECK(outs > 0 && ins > 0, LAC_ERR_ARG, "lac_tape_vjp: outs = %d, ins = %d; name at least one of each", outs,
            ins);
  for (int j = 0; j < ins; j++) LAC_TRY(lac_sweep_find_end(&s, in[j], "lac_tape_vjp: in", j, &s.places[j]));
  vjp_mark(&s, ins);
  for (int i = 0; i < outs; i++) {
    int place;
    LAC_TRY(lac_sweep_find(&s, out[i], "lac_tape_vjp: out", i, &place));
    LAC_TRY(vjp_seed(&s, place, seeds ? seeds[i] : (lac_var){0}, i));
  }
  for (int n = s.nodes - 1; n >= 0; n--) LAC_TRY(vjp_node(&s, n));
  for (int j = 0; j < ins; j++) LAC_TRY(lac_sweep_take(&s, s.places[j], &s.answers[j]));
done:
  return lac_sweep_close(&s, status, ins, in_bar);
}
