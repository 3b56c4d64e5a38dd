// SPDX-License-Identifier: Apache-2.0
/// @file vjp.c
/// Reverse mode over a tape: in_bar_j = sum_i J_ij^H out_bar_i, one vjp rule a recorded call, last call first.

#include "autodiff/derivative.h"
#include "lacuna/ops.h"

/// Mark what depends on the inputs asked for: only that is differentiated.
static void vjp_mark(pass *p, int ins, const int *in) {
  const lac_tape *tape = p->tape;

  for (int j = 0; j < ins; j++) p->on_path[in[j]] = true;
  for (int n = 0; n < p->nodes; n++) {
    const tape_node *node = &tape->nodes[n];
    bool depends = false;
    for (int i = 0; i < node->ins; i++) depends |= p->on_path[node->in[i]];
    for (int i = 0; i < node->outs; i++) p->on_path[node->out[i]] |= depends;
  }
}

/// A missing seed of a single number is 1.
static lac_status vjp_seed(pass *p, int place, lac_var seed, int i) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;
  const lac_meta meta = p->tape->vars[place].meta;
  char text[LAC_SHAPE_TEXT];
  lac_array *one = NULL;
  int at = 0;

  if (!seed.id) {
    LAC_CHECK(lac_meta_count(&meta) == 1 && !meta.partition, LAC_ERR_ARG,
              "lac_tape_vjp: output %d has shape %s and no seed; give one, or reduce it to a single number", i,
              lac_shape_text(meta.ndim, meta.shape, text));
    LAC_TRY(lac_array_make(ctx, &meta, &one));
    LAC_TRY(lac_array_fill(ctx, one, 1, 0));
    LAC_TRY(lac_tape_push_var(p->tape, &meta, &one, -1, false, &at));
    seed = lac_tape_name(p->tape, at);
  }
  LAC_TRY(lac_pass_seed(p, place, seed, "lac_tape_vjp", i));
done:
  lac_array_destroy(&one);
  return status;
}

/// One node: its outputs' adjoints to its inputs' adjoints.
static lac_status vjp_node(pass *p, int n, const bool *is_asked) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;
  const tape_node node = p->tape->nodes[n];
  uint32_t wants = 0, given = 0;

  for (int i = 0; i < node.outs; i++) given |= (uint32_t)lac_pass_has(p, node.out[i]) << i;
  for (int i = 0; i < node.ins; i++) wants |= (uint32_t)p->on_path[node.in[i]] << i;
  if (!given || !wants) return LAC_OK;
  LAC_TRY(lac_pass_rule(p, n, LAC_ROLE_IN_BAR, wants, given, node.in));
  for (int i = 0; i < node.outs; i++) {
    if (!is_asked[node.out[i]]) lac_pass_drop(p, node.out[i]);
  }
done:
  return status;
}

lac_status lac_tape_vjp(lac_tape *tape, int outs, const lac_var *out, const lac_var *seeds, int ins, const lac_var *in,
                        lac_var *in_bar, lac_graph_mode mode) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  pass p = {.tape = tape};
  int *places = NULL;
  bool *is_asked = NULL;
  lac_var *results = NULL;

  if (!tape) return lac_context_fail(NULL, LAC_ERR_ARG, __func__, "lac_tape_vjp: the tape is NULL");
  LAC_TRY(lac_pass_open(tape, mode, "lac_tape_vjp", &p));
  LAC_CHECK(out && in && in_bar && outs > 0 && ins > 0, LAC_ERR_ARG,
            "lac_tape_vjp: name at least one output and one input");
  LAC_ALLOC(places, ins);
  LAC_ALLOC(results, ins);
  LAC_ALLOC(is_asked, p.vars);
  for (int j = 0; j < ins; j++) {
    LAC_TRY(lac_pass_find_input(&p, in[j], "lac_tape_vjp: in", j, &places[j]));
    is_asked[places[j]] = true;
  }
  vjp_mark(&p, ins, places);
  for (int i = 0; i < outs; i++) {
    int place;
    LAC_TRY(lac_pass_find(&p, out[i], "lac_tape_vjp: out", i, &place));
    LAC_TRY(vjp_seed(&p, place, seeds ? seeds[i] : (lac_var){0}, i));
  }
  for (int n = p.nodes - 1; n >= 0; n--) LAC_TRY(vjp_node(&p, n, is_asked));
  for (int j = 0; j < ins; j++) LAC_TRY(lac_pass_take(&p, places[j], &results[j]));
done:
  status = lac_pass_close(&p, status);
  for (int j = 0; in_bar && j < ins; j++) in_bar[j] = results && status == LAC_OK ? results[j] : (lac_var){0};
  lac_free(places);
  lac_free(results);
  lac_free(is_asked);
  return status;
}
