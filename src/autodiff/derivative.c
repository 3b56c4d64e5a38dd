// SPDX-License-Identifier: Apache-2.0
/// @file derivative.c
/// One rule of one node: ask for its program, run it on arrays or replay it on the tape, add up what comes out.

#include "autodiff/derivative.h"

#include <string.h>

#include "kernels/kernels.h"
#include "lacuna/ops.h"

/// A block that lists are cut from; without a base it only counts.
typedef struct block {
  char *base;
  size_t used;
} block;

static void *block_cut(block *b, size_t count, size_t size) {
  void *piece = b->base ? b->base + b->used : NULL;
  b->used += (count * size + 15) / 16 * 16;
  return piece;
}

/// Cut the lists of a sweep; returns how many bytes must be zero at first.
static size_t sweep_cut(sweep *s, int answers, block *b) {
  const size_t vars = (size_t)s->vars, handed = (size_t)answers, wide = (size_t)s->tape->widest;
  size_t zeroed;

  s->table = block_cut(b, vars, sizeof *s->table);
  s->on_path = block_cut(b, vars, sizeof *s->on_path);
  s->is_end = block_cut(b, vars, sizeof *s->is_end);
  zeroed = b->used;
  s->answers = block_cut(b, handed, sizeof *s->answers);
  s->places = block_cut(b, handed, sizeof *s->places);
  s->wants = block_cut(b, wide, sizeof *s->wants);
  s->given = block_cut(b, wide, sizeof *s->given);
  s->metas = block_cut(b, wide, sizeof *s->metas);
  s->arrays_in = block_cut(b, 3 * wide, sizeof *s->arrays_in);  // inputs, outputs, and derivatives of one of the two
  s->arrays_out = block_cut(b, wide, sizeof *s->arrays_out);
  s->vars_in = block_cut(b, 3 * wide, sizeof *s->vars_in);
  s->vars_out = block_cut(b, wide, sizeof *s->vars_out);
  return zeroed;
}

lac_status lac_sweep_open(lac_tape *tape, lac_graph_mode mode, const char *name, int answers, sweep *out) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  block b = {.base = NULL};
  size_t zeroed;
  char *heap = NULL;

  ctx->agreed = tape->agreed;
  out->tape = tape, out->mode = mode;
  out->vars = tape->vars_count, out->nodes = tape->nodes_count;
  out->had_failed = tape->status != LAC_OK;
  out->heap = out->table = NULL;
  LAC_TRY(lac_tape_status(tape));
  if (!lac_tape_is_written(tape)) LAC_TRY(lac_context_faults(ctx));
  LAC_CHECK(mode == LAC_GRAPH_NONE || mode == LAC_GRAPH_CREATE, LAC_ERR_ARG,
            "%s: mode is LAC_GRAPH_NONE or LAC_GRAPH_CREATE, not %d", name, (int)mode);
  LAC_CHECK(tape->mode != TAPE_RUN, LAC_ERR_ARG, "%s: the tape does not record; create it with LAC_TAPE_RECORD", name);
  LAC_CHECK(mode == LAC_GRAPH_CREATE || !lac_tape_is_written(tape), LAC_ERR_ARG,
            "%s: inside a segment or a rule derivatives are written, not computed; use LAC_GRAPH_CREATE", name);
  zeroed = sweep_cut(out, answers, &b);
  if (b.used > sizeof out->few) LAC_ALLOC(heap, b.used);
  out->heap = heap;
  b = (block){.base = heap ? heap : out->few};
  (void)sweep_cut(out, answers, &b);
  memset(b.base, 0, zeroed);
done:
  return status;
}

lac_status lac_sweep_close(sweep *s, lac_status status, int answers, lac_var *out) {
  lac_tape *tape = s->tape;

  for (int v = 0; s->table && v < s->vars; v++) {
    if (s->table[v].array) lac_array_destroy(&s->table[v].array);
  }
  if (!tape->ctx->agreed && !lac_tape_is_written(tape)) status = lac_call_agree(tape->ctx, status);
  if (status != LAC_OK && !s->had_failed) {
    lac_tape_truncate(tape, s->vars, s->nodes);
    lac_tape_forgive(tape);
  }
  tape->order = LAC_ANY_ORDER;
  for (int i = 0; out && i < answers; i++) out[i] = status == LAC_OK ? s->answers[i] : (lac_var){0};
  lac_free(s->heap);
  return status;
}

lac_status lac_sweep_find(sweep *s, lac_var var, const char *name, int i, int *place) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;

  *place = lac_tape_place(s->tape, var);
  LAC_CHECK(*place, LAC_ERR_ABSENT, "%s: var %d is %s", name, i,
            var.id ? "of another tape, or from before lac_tape_clear" : "absent");
done:
  return status;
}

lac_status lac_sweep_find_end(sweep *s, lac_var var, const char *name, int i, int *place) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_sweep_find(s, var, name, i, place));
  LAC_CHECK(
      s->tape->vars[*place].differentiable, LAC_ERR_ARG,
      "%s: var %d does not depend on a leaf; make it one (lac_tape_leaf), or record what made it (LAC_GRAPH_CREATE)",
      name, i);
done:
  return status;
}

/// table[place] += term, in place where one of the two has no other holder. Takes over `term`.
static lac_status sweep_add_array(sweep *s, int place, lac_array **term) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;
  lac_array **sum = &s->table[place].array, *fresh = NULL;

  if (!*sum) {
    *sum = *term, *term = NULL;
  } else if (lac_array_is_sole(*sum)) {
    (void)lac_array_edit(*sum);
    LAC_TRY(ctx->kernels->axpy(ctx, 1, 0, *term, *sum));
  } else if (lac_array_is_sole(*term)) {
    (void)lac_array_edit(*term);
    LAC_TRY(ctx->kernels->axpy(ctx, 1, 0, *sum, *term));
    lac_array_destroy(sum);
    *sum = *term, *term = NULL;
  } else {
    LAC_TRY(lac_array_make(ctx, &(*sum)->meta, &fresh));
    LAC_TRY(ctx->kernels->binary(ctx, LAC_ADD, *sum, *term, fresh));
    lac_array_destroy(sum);
    *sum = fresh, fresh = NULL;
  }
done:
  lac_array_destroy(&fresh);
  lac_array_destroy(term);
  return status;
}

lac_status lac_sweep_seed(sweep *s, int place, lac_var value, const char *name, int i) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];
  lac_array *array = NULL;
  int given = 0;
  const lac_meta *meta = &s->tape->vars[place].meta, *seed;

  LAC_TRY(lac_sweep_find(s, value, name, i, &given));
  seed = &s->tape->vars[given].meta;
  LAC_CHECK(lac_meta_same(seed, meta), LAC_ERR_SHAPE, "%s: seed %d is %s %s where its var is %s %s; make them alike",
            name, i, lac_dtype_name(seed->dtype), lac_shape_text(seed->ndim, seed->shape, have),
            lac_dtype_name(meta->dtype), lac_shape_text(meta->ndim, meta->shape, want));
  if (!lac_tape_is_written(s->tape)) LAC_TRY(lac_tape_check_fresh(ctx, s->tape, given, name));
  if (s->mode == LAC_GRAPH_CREATE) {
    s->table[place].var = lac_add(s->tape, s->table[place].var, value);
    LAC_TRY(s->tape->status);
  } else {
    array = lac_array_retain(s->tape->vars[given].array);
    LAC_TRY(sweep_add_array(s, place, &array));
  }
done:
  return status;
}

/// The place on the tape that an input port of a rule's program stands for; adjoints and tangents are in the table.
static int sweep_port_place(const sweep *s, int n, const lac_port *port) {
  const tape_node *node = &s->tape->nodes[n];
  bool is_output = port->role == LAC_ROLE_OUT || port->role == LAC_ROLE_OUT_BAR;
  return (is_output ? lac_node_out(s->tape, node) : lac_node_in(s->tape, node))[port->index];
}

/// Where a result of a rule's program is added; 0 drops it.
static int sweep_result_place(const sweep *s, int n, const lac_port *port) {
  const tape_node *node = &s->tape->nodes[n];
  if (port->role == LAC_ROLE_IN_BAR) return lac_node_in(s->tape, node)[port->index];
  int place = lac_node_out(s->tape, node)[port->index];
  return s->is_end[place] ? 0 : place;
}

static bool sweep_port_is_derivative(const lac_port *port) {
  return port->role == LAC_ROLE_OUT_BAR || port->role == LAC_ROLE_IN_DOT;
}

/// Run the program on arrays and add its results.
static lac_status sweep_execute(sweep *s, int n, const lac_program *program) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < program->results; i++) s->arrays_out[i] = NULL;
  for (int i = 0; i < program->inputs; i++) {
    int place = sweep_port_place(s, n, &program->input[i]);
    bool is_derivative = sweep_port_is_derivative(&program->input[i]);
    if (!is_derivative) LAC_TRY(lac_tape_check_fresh(ctx, s->tape, place, s->tape->nodes[n].spec.op->name));
    s->arrays_in[i] = is_derivative ? s->table[place].array : s->tape->vars[place].array;
  }
  LAC_TRY(lac_program_execute(ctx, program, s->arrays_in, s->arrays_out));
  for (int i = 0; i < program->results; i++) {
    int place = sweep_result_place(s, n, &program->result[i]);
    if (s->arrays_out[i] && place) LAC_TRY(sweep_add_array(s, place, &s->arrays_out[i]));
  }
done:
  for (int i = 0; i < program->results; i++) lac_array_destroy(&s->arrays_out[i]);
  return status;
}

/// Replay the program on the tape and add its results, recorded.
static lac_status sweep_replay(sweep *s, int n, const lac_program *program) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;
  int order = s->tape->nodes[n].order;

  for (int i = 0; i < program->inputs; i++) {
    const lac_port *port = &program->input[i];
    int place = sweep_port_place(s, n, port);
    s->vars_in[i] = sweep_port_is_derivative(port) ? s->table[place].var : lac_tape_name(s->tape, place);
  }
  s->tape->order = order == LAC_ANY_ORDER ? LAC_ANY_ORDER : order - 1;
  LAC_TRY(lac_program_replay(s->tape, program, s->vars_in, s->vars_out));
  for (int i = 0; i < program->results; i++) {
    int place = sweep_result_place(s, n, &program->result[i]);
    if (!s->vars_out[i].id || !place) continue;
    s->table[place].var = lac_add(s->tape, s->table[place].var, s->vars_out[i]);
    LAC_TRY(s->tape->status);
  }
done:
  return status;
}

lac_status lac_sweep_rule(sweep *s, int n, lac_role result) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;
  lac_program *program = NULL;
  const tape_node *node = &s->tape->nodes[n];  // until the tape grows
  const int *in = lac_node_in(s->tape, node);
  lac_request request = {.spec = &node->spec,
                         .in = s->metas,
                         .ins = node->ins,
                         .outs = node->outs,
                         .result = result,
                         .wants = s->wants,
                         .given = s->given};

  LAC_CHECK(
      node->order != 0 || node->spec.op->order != LAC_ANY_ORDER, LAC_ERR_ORDER,
      "%s: this call was made by the rule of an operator that may not be differentiated as often as this; ask for "
      "fewer derivatives",
      node->spec.op->name);
  LAC_CHECK(
      node->order != 0, LAC_ERR_ORDER,
      "%s: differentiated more often than it allows (%d times); ask for fewer derivatives, or write its rule with "
      "operators",
      node->spec.op->name, node->spec.op->order);
  for (int i = 0; i < node->ins; i++) s->metas[i] = s->tape->vars[in[i]].meta;
  LAC_TRY(lac_program_ask(ctx, &request, &program));
  LAC_TRY(s->mode == LAC_GRAPH_NONE ? sweep_execute(s, n, program) : sweep_replay(s, n, program));
done:
  lac_object_release(program);
  return status;
}

lac_status lac_sweep_take(sweep *s, int place, lac_var *out) {
  lac_context *ctx = s->tape->ctx;
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  int at = 0;

  *out = s->table[place].var;
  if (!s->table[place].array) return LAC_OK;
  array = lac_array_retain(s->table[place].array);
  LAC_TRY(lac_tape_push_var(s->tape, &array->meta, &array, -1, false, &at));
  *out = lac_tape_name(s->tape, at);
done:
  lac_array_destroy(&array);
  return status;
}

void lac_sweep_drop(sweep *s, int place) { lac_array_destroy(&s->table[place].array); }
