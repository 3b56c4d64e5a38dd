// SPDX-License-Identifier: Apache-2.0
/// @file derivative.c
/// One rule of one node: write its program, run it on arrays or replay it on the tape, add up what comes out.

#include "autodiff/derivative.h"

#include <string.h>

#include "kernels/kernels.h"
#include "lacuna/ops.h"

lac_status lac_pass_open(lac_tape *tape, lac_graph_mode mode, const char *name, pass *out) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;

  ctx->agreed = tape->agreed;
  *out = (pass){.tape = tape, .mode = mode, .vars = tape->vars_count, .nodes = tape->nodes_count};
  out->had_failed = tape->status != LAC_OK;
  LAC_TRY(tape->status);
  LAC_CHECK(mode == LAC_PLAIN || mode == LAC_CREATE_GRAPH, LAC_ERR_ARG,
            "%s: mode is LAC_PLAIN or LAC_CREATE_GRAPH, not %d", name, (int)mode);
  LAC_CHECK(tape->mode != TAPE_RUN, LAC_ERR_ARG, "%s: the tape does not record; create it with LAC_RECORD", name);
  LAC_CHECK(mode == LAC_CREATE_GRAPH || !lac_tape_is_written(tape), LAC_ERR_ARG,
            "%s: inside a segment or a rule derivatives are written, not computed; use LAC_CREATE_GRAPH", name);
  LAC_ALLOC(out->table, out->vars);
  LAC_ALLOC(out->on_path, out->vars);
done:
  return status;
}

lac_status lac_pass_close(pass *p, lac_status status) {
  lac_tape *tape = p->tape;

  for (int v = 0; p->table && v < p->vars; v++) lac_array_destroy(&p->table[v].array);
  lac_free(p->table);
  lac_free(p->on_path);
  if (!tape->ctx->agreed && !lac_tape_is_written(tape)) status = lac_call_agree(tape->ctx, status);
  if (status != LAC_OK && !p->had_failed) {
    lac_tape_truncate(tape, p->vars, p->nodes);
    tape->status = LAC_OK;
    tape->agreed = false;
  }
  tape->order = LAC_ANY_ORDER;
  return status;
}

lac_status lac_pass_find(pass *p, lac_var var, const char *name, int i, int *place) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;

  *place = lac_tape_place(p->tape, var);
  LAC_CHECK(*place, LAC_ERR_ABSENT, "%s: var %d is %s", name, i,
            var.id ? "of another tape, or from before lac_tape_clear" : "absent");
done:
  return status;
}

lac_status lac_pass_find_input(pass *p, lac_var var, const char *name, int i, int *place) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_pass_find(p, var, name, i, place));
  LAC_CHECK(
      p->tape->vars[*place].differentiable, LAC_ERR_ARG,
      "%s: var %d does not depend on a leaf; make it one (lac_tape_leaf), or record what made it (LAC_CREATE_GRAPH)",
      name, i);
done:
  return status;
}

/// table[place] += term, in place where nobody else holds one of the two. Takes over `term`.
static lac_status pass_add_array(pass *p, int place, lac_array **term) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;
  lac_array **sum = &p->table[place].array, *fresh = NULL;

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

lac_status lac_pass_seed(pass *p, int place, lac_var value, const char *name, int i) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];
  lac_array *array = NULL;
  int given = 0;
  const lac_meta *meta = &p->tape->vars[place].meta, *seed;

  LAC_TRY(lac_pass_find(p, value, name, i, &given));
  seed = &p->tape->vars[given].meta;
  LAC_CHECK(lac_meta_same(seed, meta), LAC_ERR_SHAPE, "%s: seed %d is %s %s where its var is %s %s; make them alike",
            name, i, lac_dtype_name(seed->dtype), lac_shape_text(seed->ndim, seed->shape, have),
            lac_dtype_name(meta->dtype), lac_shape_text(meta->ndim, meta->shape, want));
  if (!lac_tape_is_written(p->tape)) LAC_TRY(lac_tape_check_fresh(p->tape, given, name));
  if (p->mode == LAC_CREATE_GRAPH) {
    p->table[place].var = lac_add(p->tape, p->table[place].var, value);
    LAC_TRY(p->tape->status);
  } else {
    array = lac_array_retain(p->tape->vars[given].array);
    LAC_TRY(pass_add_array(p, place, &array));
  }
done:
  return status;
}

/// The place on the tape that an input port of a rule's program stands for; adjoints and tangents are in the table.
static int pass_port_place(const tape_node *node, const lac_port *port) {
  bool is_output = port->role == LAC_ROLE_OUT || port->role == LAC_ROLE_OUT_BAR;
  return is_output ? node->out[port->index] : node->in[port->index];
}

static bool pass_port_is_derivative(const lac_port *port) {
  return port->role == LAC_ROLE_OUT_BAR || port->role == LAC_ROLE_IN_DOT;
}

/// Run the program on arrays and add its results.
static lac_status pass_execute(pass *p, const tape_node *node, const lac_program *program, const int *to) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;
  const lac_array *inputs[PROGRAM_MAX_INPUTS];
  lac_array *results[LAC_MAX_IN] = {NULL};

  for (int i = 0; i < program->inputs; i++) {
    int place = pass_port_place(node, &program->input[i]);
    bool is_derivative = pass_port_is_derivative(&program->input[i]);
    if (!is_derivative) LAC_TRY(lac_tape_check_fresh(p->tape, place, node->spec.op->name));
    inputs[i] = is_derivative ? p->table[place].array : p->tape->vars[place].array;
  }
  LAC_TRY(lac_program_execute(ctx, program, inputs, results));
  for (int i = 0; i < program->results; i++) {
    if (results[i] && to[i]) LAC_TRY(pass_add_array(p, to[i], &results[i]));
  }
done:
  for (int i = 0; i < program->results; i++) lac_array_destroy(&results[i]);
  return status;
}

/// Replay the program on the tape and add its results, recorded.
static lac_status pass_replay(pass *p, const tape_node *node, const lac_program *program, const int *to) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;
  lac_var inputs[PROGRAM_MAX_INPUTS], results[LAC_MAX_IN] = {{0}};

  for (int i = 0; i < program->inputs; i++) {
    int place = pass_port_place(node, &program->input[i]);
    inputs[i] = pass_port_is_derivative(&program->input[i]) ? p->table[place].var : lac_tape_name(p->tape, place);
  }
  p->tape->order = node->order == LAC_ANY_ORDER ? LAC_ANY_ORDER : node->order - 1;
  LAC_TRY(lac_program_replay(p->tape, program, inputs, results));
  for (int i = 0; i < program->results; i++) {
    if (!results[i].id || !to[i]) continue;
    p->table[to[i]].var = lac_add(p->tape, p->table[to[i]].var, results[i]);
    LAC_TRY(p->tape->status);
  }
done:
  return status;
}

lac_status lac_pass_rule(pass *p, int n, lac_role result, uint32_t wants, uint32_t given, const int *to) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;
  lac_program *program = NULL;
  const tape_node node = p->tape->nodes[n];  // a copy: replaying grows the tape
  lac_meta in[LAC_MAX_IN];

  LAC_CHECK(
      node.order != 0 || node.spec.op->order != LAC_ANY_ORDER, LAC_ERR_ORDER,
      "%s: this call was made by the rule of an operator that may not be differentiated as often as this; ask for "
      "fewer derivatives",
      node.spec.op->name);
  LAC_CHECK(
      node.order != 0, LAC_ERR_ORDER,
      "%s: differentiated more often than it allows (%d times); ask for fewer derivatives, or write its rule with "
      "operators",
      node.spec.op->name, node.spec.op->order);
  for (int i = 0; i < node.ins; i++) in[i] = p->tape->vars[node.in[i]].meta;
  LAC_TRY(lac_program_write(ctx, &node.spec, in, result, wants, given, &program));
  if (p->mode == LAC_PLAIN) {
    LAC_TRY(pass_execute(p, &node, program, to));
  } else {
    LAC_TRY(pass_replay(p, &node, program, to));
  }
done:
  lac_program_destroy(&program);
  return status;
}

lac_status lac_pass_take(pass *p, int place, lac_var *out) {
  lac_context *ctx = p->tape->ctx;
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  int at = 0;

  *out = p->table[place].var;
  if (!p->table[place].array) return LAC_OK;
  array = lac_array_retain(p->table[place].array);
  LAC_TRY(lac_tape_push_var(p->tape, &array->meta, &array, -1, false, &at));
  *out = lac_tape_name(p->tape, at);
done:
  lac_array_destroy(&array);
  return status;
}

void lac_pass_drop(pass *p, int place) { lac_array_destroy(&p->table[place].array); }
