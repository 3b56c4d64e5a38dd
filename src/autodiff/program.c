// SPDX-License-Identifier: Apache-2.0
/// @file program.c
/// The life of a program: its inputs and results, and what is dropped when it is finished.

#include <string.h>

#include "autodiff/tape_impl.h"

static void program_free(lac_object *object) {
  lac_program *program = (lac_program *)object;

  if (program->key) lac_program_key_destroy(program);
  lac_tape_destroy(&program->tape);
  lac_free(program->input);
  lac_free(program->result);
  lac_free(program->last_use);
  lac_free(program->is_result);
  lac_free(program->metas);
  lac_free(program);
}

static const lac_kind program_kind = {"program", program_free};

void lac_program_destroy(lac_program **program) {
  if (!program || !*program) return;
  if ((*program)->key) lac_program_key_release((*program)->key);
  lac_object_release(*program);
  *program = NULL;
}

lac_status lac_program_open(lac_context *ctx, tape_mode mode, lac_program **out) {
  lac_status status = LAC_OK;
  lac_program *program = NULL;

  LAC_ALLOC(program, 1);
  lac_object_init(&program->object, &program_kind);
  LAC_TRY(lac_tape_open(ctx, mode, &program->tape));
  *out = program, program = NULL;
done:
  lac_program_destroy(&program);
  return status;
}

lac_status lac_program_declare(lac_program *program, lac_role role, int index, const lac_meta *meta, lac_var *out) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;
  int place = 0;

  LAC_TRY(lac_tape_grow(ctx, (void **)&program->input, sizeof *program->input, program->inputs, 1,
                        &program->inputs_capacity));
  LAC_TRY(lac_tape_push_var(program->tape, meta, NULL, -1, true, &place));
  program->input[program->inputs++] = (lac_port){.role = role, .index = index, .var = place, .meta = *meta};
  *out = lac_tape_name(program->tape, place);
done:
  return status;
}

lac_status lac_program_deliver(lac_program *program, int results) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;

  LAC_ALLOC(program->result, results);
  program->results = results;
done:
  return status;
}

/// Drop the calls of which no result is read. `is_read` is of each var, and marks the results.
static void program_prune(lac_program *program, bool *is_read) {
  lac_tape *tape = program->tape;
  int kept = tape->nodes_count;

  for (int n = tape->nodes_count - 1; n >= 0; n--) {  // the kept ones gather at the end
    const tape_node node = tape->nodes[n];
    const int *in = lac_node_in(tape, &node), *out = lac_node_out(tape, &node);
    bool is_live = false;
    for (int i = 0; i < node.outs; i++) is_live |= is_read[out[i]];
    for (int i = 0; i < node.ins && is_live; i++) is_read[in[i]] = true;
    if (is_live) {
      tape->nodes[--kept] = node;
    } else {
      lac_spec_release(&node.spec);
    }
  }
  tape->nodes_count -= kept;
  if (kept) memmove(tape->nodes, tape->nodes + kept, (size_t)tape->nodes_count * sizeof *tape->nodes);
}

lac_status lac_program_finish(lac_program *program) {
  lac_tape *tape = program->tape;
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  bool *is_read = NULL;
  int kept = 0;

  LAC_ALLOC(program->last_use, tape->vars_count);
  LAC_ALLOC(program->is_result, tape->vars_count);
  LAC_ALLOC(program->metas, tape->places_count);
  LAC_ALLOC(is_read, tape->vars_count);
  for (int i = 0; i < program->results; i++) program->is_result[program->result[i].var] = true;
  memcpy(is_read, program->is_result, (size_t)tape->vars_count * sizeof *is_read);
  program_prune(program, is_read);
  for (int v = 0; v < tape->vars_count; v++) program->last_use[v] = -1;
  for (int n = 0; n < tape->nodes_count; n++) {
    const int *in = lac_node_in(tape, &tape->nodes[n]);
    for (int i = 0; i < tape->nodes[n].ins; i++) program->last_use[in[i]] = n;
  }
  for (int i = 0; i < program->inputs; i++) {
    if (is_read[program->input[i].var]) program->input[kept++] = program->input[i];
  }
  program->inputs = kept;
  for (int i = 0; i < tape->places_count; i++) program->metas[i] = tape->vars[tape->places[i]].meta;
  tape->ctx = NULL;  // programs outlive contexts, and run through others
done:
  lac_free(is_read);
  return status;
}

int lac_program_inputs(const lac_program *program) { return program ? program->inputs : 0; }
int lac_program_results(const lac_program *program) { return program ? program->results : 0; }
int lac_program_steps(const lac_program *program) { return program ? program->tape->nodes_count : 0; }

const lac_port *lac_program_input(const lac_program *program, int i) {
  return i >= 0 && i < lac_program_inputs(program) ? &program->input[i] : NULL;
}

const lac_port *lac_program_result(const lac_program *program, int i) {
  return i >= 0 && i < lac_program_results(program) ? &program->result[i] : NULL;
}

lac_step lac_program_step(const lac_program *program, int i) {
  if (i < 0 || i >= lac_program_steps(program)) return (lac_step){.spec = NULL};
  const tape_node *node = &program->tape->nodes[i];
  return (lac_step){.spec = &node->spec,
                    .ins = node->ins,
                    .outs = node->outs,
                    .in = lac_node_in(program->tape, node),
                    .out = lac_node_out(program->tape, node)};
}

// -- public ----------------------------------------------------------------------------------------------------------

/// The request of a public function, which counts what the signature names.
static lac_status program_request(lac_context *ctx, const char *function, const lac_request *asked, lac_program **out) {
  lac_status status = LAC_OK;
  lac_request q = *asked;

  LAC_CHECK_CONTEXT_OF(function);
  LAC_CHECK(q.spec && q.in && out, LAC_ERR_ARG, "%s: spec, in or out is NULL", function);
  q.ins = lac_op_inputs(q.spec->op), q.outs = lac_op_outputs(q.spec->op);
  if (!q.ins) {  // there is no such call, and writing it says why
    LAC_TRY(lac_program_write(ctx, &q, out));
    goto done;
  }
  LAC_TRY(lac_program_ask(ctx, &q, out));
  if ((*out)->key) lac_program_key_retain((*out)->key);
done:
  return status;
}

lac_status lac_program_function(lac_context *ctx, const lac_function_spec *spec, int ins, const lac_meta *in,
                                lac_program **out) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(spec && spec->function && spec->function->write && ins >= 0 && (in || !ins) && out, LAC_ERR_ARG,
            "%s: spec, its function, in or out is NULL", __func__);
  LAC_CHECK(spec->objects >= 0 && spec->ints >= 0 && spec->reals >= 0, LAC_ERR_ARG,
            "%s: %d objects, %d integers, %d numbers; counts are 0 or more", __func__, spec->objects, spec->ints,
            spec->reals);
  LAC_CHECK((spec->object || !spec->objects) && (spec->i || !spec->ints) && (spec->f || !spec->reals), LAC_ERR_ARG,
            "%s: objects, integers or numbers are NULL, and their counts are not 0", __func__);
  LAC_TRY(lac_program_ask(ctx, &(lac_request){.function = spec, .in = in, .ins = ins, .result = LAC_ROLE_OUT}, out));
  if ((*out)->key) lac_program_key_retain((*out)->key);
done:
  return status;
}

lac_status lac_program_forward(lac_context *ctx, const lac_spec *spec, const lac_meta *in, lac_program **out) {
  return program_request(ctx, __func__, &(lac_request){.spec = spec, .in = in, .result = LAC_ROLE_OUT}, out);
}

lac_status lac_program_vjp(lac_context *ctx, const lac_spec *spec, const lac_meta *in, const int *wants,
                           const int *out_bars, lac_program **out) {
  return program_request(
      ctx, __func__,
      &(lac_request){.spec = spec, .in = in, .result = LAC_ROLE_IN_BAR, .wants = wants, .given = out_bars}, out);
}

lac_status lac_program_jvp(lac_context *ctx, const lac_spec *spec, const lac_meta *in, const int *in_dots,
                           lac_program **out) {
  return program_request(ctx, __func__,
                         &(lac_request){.spec = spec, .in = in, .result = LAC_ROLE_OUT_DOT, .given = in_dots}, out);
}
