// SPDX-License-Identifier: Apache-2.0
/// @file program_run.c
/// Running programs: on arrays, at once, freeing at last use; or on a tape, call by call.

#include <string.h>

#include "autodiff/tape_impl.h"
#include "kernels/kernels.h"

enum { RUN_VARS = 32, RUN_PORTS = 12 };  // so many have room on the stack

/// Whether step n may write its output over its input: number by number, an array that is made here and read for the
/// last time.
static bool run_is_in_place(const lac_program *program, int n) {
  const lac_tape *tape = program->tape;
  const tape_node *node = &tape->nodes[n];
  int in = lac_node_in(tape, node)[0], out = lac_node_out(tape, node)[0];

  return node->spec.op->flags & LAC_OP_POINTWISE && tape->vars[in].node >= 0 && program->last_use[in] == n &&
         !program->is_result[in] && lac_meta_same(&tape->vars[in].meta, &tape->vars[out].meta);
}

/// Let what is changed in place at the end be made where the caller wants the result.
static void run_place_results(const lac_program *program, lac_array **slots) {
  for (int n = program->tape->nodes_count - 1; n >= 0; n--) {
    const tape_node *node = &program->tape->nodes[n];
    int in = lac_node_in(program->tape, node)[0], out = lac_node_out(program->tape, node)[0];
    if (slots[out] && run_is_in_place(program, n) && !slots[in]) slots[in] = lac_array_retain(slots[out]);
  }
}

/// One step on arrays: slots[v] is the array of var v.
static lac_status run_step(lac_context *ctx, const lac_program *program, int n, lac_array **slots) {
  lac_status status = LAC_OK;
  const lac_tape *tape = program->tape;
  const tape_node *node = &tape->nodes[n];
  const int *in = lac_node_in(tape, node), *out = lac_node_out(tape, node);
  lac_frame frame;
  lac_call *call = &frame.call;

  LAC_TRY(lac_call_resume(ctx, &node->spec, node->ins, node->outs, program->metas + node->first, &frame));
  for (int i = 0; i < node->ins; i++) call->in[i] = slots[in[i]];
  for (int i = 0; i < node->outs; i++) call->out[i] = slots[out[i]];
  status = lac_call_run(call, LAC_OK);
  for (int i = 0; i < node->outs; i++) slots[out[i]] = call->out[i];
  LAC_TRY(status);
done:
  lac_call_end(&frame);
  return status;
}

/// Whether a var is made by a step: its slot holds the array. Inputs and constants are held by others, and borrowed.
static bool run_is_made(const lac_program *program, int v) { return program->tape->vars[v].node >= 0; }

/// Let go of the temporaries that step n read last, and of its results that no step reads.
static void run_free_dead(const lac_program *program, int n, lac_array **slots) {
  const tape_node *node = &program->tape->nodes[n];
  const int *in = lac_node_in(program->tape, node), *out = lac_node_out(program->tape, node);

  for (int i = 0; i < node->ins; i++) {
    bool is_last = program->last_use[in[i]] == n && !program->is_result[in[i]];
    if (is_last && run_is_made(program, in[i])) lac_array_destroy(&slots[in[i]]);
  }
  for (int i = 0; i < node->outs; i++) {
    if (program->last_use[out[i]] < 0 && !program->is_result[out[i]]) lac_array_destroy(&slots[out[i]]);
  }
}

static lac_status run_steps(lac_context *ctx, const lac_program *program, lac_array **slots) {
  lac_status status = LAC_OK;

  ctx->status = LAC_OK;  // so that a code without a sentence does not borrow an older one
  for (int n = 0; n < program->tape->nodes_count && status == LAC_OK; n++) {
    const tape_node *node = &program->tape->nodes[n];
    int in = lac_node_in(program->tape, node)[0], out = lac_node_out(program->tape, node)[0];
    if (!slots[out] && run_is_in_place(program, n) && lac_array_is_sole(slots[in])) {
      (void)lac_array_edit(slots[in]);  // the values of the old version are gone
      slots[out] = lac_array_retain(slots[in]);
    }
    status = run_step(ctx, program, n, slots);
    run_free_dead(program, n, slots);
  }
  return status;
}

/// Hold the results, or copy to where the caller wants one what is not there already: an input, or a result that stands
/// twice.
static lac_status run_take_results(lac_context *ctx, const lac_program *program, lac_array **slots,
                                   lac_array **results) {
  lac_status status = LAC_OK;

  for (int i = 0; i < program->results; i++) {
    int v = program->result[i].var;
    if (!v || slots[v] == results[i]) continue;
    if (results[i]) LAC_TRY(ctx->backend->copy(ctx, slots[v], results[i]));
    if (!results[i]) results[i] = lac_array_retain(slots[v]);
  }
done:
  return status;
}

/// An array struct over foreign memory that lives as long as a run: nothing holds it afterwards.
typedef struct run_borrowed {
  lac_array array;
  lac_storage storage;
} run_borrowed;

/// The arrays of a program's vars.
typedef struct run_slots {
  lac_array **array;
  void *heap;
  lac_array *few[RUN_VARS];
} run_slots;

static lac_status run_slots_open(lac_context *ctx, const lac_program *program, run_slots *slots) {
  lac_status status = LAC_OK;
  int count = program->tape->vars_count;

  slots->array = slots->few;
  slots->heap = NULL;
  if (count > RUN_VARS) {
    LAC_ALLOC(slots->array, count);
    slots->heap = slots->array;
  } else {
    memset(slots->few, 0, (size_t)count * sizeof *slots->few);
  }
done:
  return status;
}

static void run_slots_close(const lac_program *program, run_slots *slots) {
  for (int v = 1; slots->array && v < program->tape->vars_count; v++) {
    if (run_is_made(program, v)) lac_array_destroy(&slots->array[v]);
  }
  lac_free(slots->heap);
}

/// Fill the slots with what is there before the run: constants of the program, inputs, and results to be written to.
static lac_status run_fill_slots(lac_context *ctx, const lac_program *program, const lac_array *const *inputs,
                                 lac_array *const *results, run_slots *slots) {
  lac_status status = LAC_OK;
  const lac_tape *tape = program->tape;

  for (int v = 1; v < tape->vars_count; v++) {
    if (!tape->vars[v].array || (program->last_use[v] < 0 && !program->is_result[v])) continue;
    LAC_TRY(lac_tape_check_fresh(ctx, tape, v, "a checkpointed segment"));
    slots->array[v] = tape->vars[v].array;
  }
  for (int i = 0; i < program->inputs; i++) slots->array[program->input[i].var] = (lac_array *)inputs[i];
  for (int i = 0; i < program->results; i++) {
    int v = program->result[i].var;
    if (v && !slots->array[v]) slots->array[v] = lac_array_retain(results[i]);
  }
done:
  return status;
}

lac_status lac_program_execute(lac_context *ctx, const lac_program *program, const lac_array *const *inputs,
                               lac_array **results) {
  lac_status status = LAC_OK;
  run_slots slots;

  LAC_TRY(run_slots_open(ctx, program, &slots));
  LAC_TRY(run_fill_slots(ctx, program, inputs, results, &slots));
  LAC_TRY(run_steps(ctx, program, slots.array));
  LAC_TRY(run_take_results(ctx, program, slots.array, results));
done:
  run_slots_close(program, &slots);
  return status;
}

/// The constants of a program come onto the tape with the version that they had when the program was written.
static lac_status replay_constants(lac_tape *tape, const lac_program *program, lac_var *vars) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  lac_array *held = NULL;

  for (int v = 1; v < program->tape->vars_count; v++) {
    const tape_var *constant = &program->tape->vars[v];
    int place = 0;
    if (!constant->array) continue;
    held = lac_array_retain(constant->array);
    LAC_TRY(lac_tape_push_var(tape, &constant->meta, &held, -1, false, &place));
    tape->vars[place].version = constant->version;
    vars[v] = lac_tape_name(tape, place);
  }
done:
  lac_array_destroy(&held);
  return status;
}

/// One step of a program on a tape. `in` and `out` have room for its operands.
static lac_status replay_step(lac_tape *tape, const lac_program *program, int n, lac_var *vars, lac_var *in,
                              lac_var *out) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  const tape_node *node = &program->tape->nodes[n];
  const int *from = lac_node_in(program->tape, node), *to = lac_node_out(program->tape, node);

  for (int i = 0; i < node->ins; i++) in[i] = vars[from[i]];
  LAC_TRY(lac_tape_call(tape, &node->spec, in, out));
  for (int i = 0; i < node->outs; i++) vars[to[i]] = out[i];
done:
  return status;
}

lac_status lac_program_replay(lac_tape *tape, const lac_program *program, const lac_var *inputs, lac_var *results) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  lac_var *vars = NULL, *in, *out;
  int cap = tape->order;

  LAC_ALLOC(vars, program->tape->vars_count + 2 * program->tape->widest);
  in = vars + program->tape->vars_count, out = in + program->tape->widest;
  LAC_TRY(replay_constants(tape, program, vars));
  for (int i = 0; i < program->inputs; i++) vars[program->input[i].var] = inputs[i];
  for (int n = 0; n < program->tape->nodes_count; n++) {
    int order = program->tape->nodes[n].order;
    bool is_capped = cap != LAC_ANY_ORDER && (order == LAC_ANY_ORDER || cap < order);
    tape->order = is_capped ? cap : order;
    LAC_TRY(replay_step(tape, program, n, vars, in, out));
  }
  for (int i = 0; i < program->results; i++) results[i] = vars[program->result[i].var];
done:
  tape->order = cap;
  lac_free(vars);
  return status;
}

// -- on foreign memory -----------------------------------------------------------------------------------------------

static void run_borrow(lac_context *ctx, run_borrowed *b, const lac_meta *meta, void *data) {
  memset(b, 0, sizeof *b);
  b->storage.space = ctx->space;
  b->storage.data = data;
  b->storage.origin = STORAGE_BORROWED;
  b->storage.id = 0;
  atomic_init(&b->storage.holders, 2);  // never reaches zero: the run frees it
  atomic_init(&b->array.holders, 2);
  b->array.meta = *meta;
  b->array.count = lac_meta_count(meta);
  b->array.storage = &b->storage;
}

/// The caller's memory as arrays, in the slots: `ports` has room for the inputs, then the results.
static lac_status run_borrow_ports(lac_context *ctx, const lac_program *program, const void *const *in,
                                   void *const *out, lac_array **slots, run_borrowed *ports) {
  lac_status status = LAC_OK;
  run_borrowed *results = ports + program->inputs;

  for (int i = 0; i < program->inputs; i++) {
    run_borrow(ctx, &ports[i], &program->input[i].meta, (void *)in[i]);
    LAC_CHECK(in[i] || !ports[i].array.count, LAC_ERR_ARG,
              "lac_program_run: in[%d] is NULL; give the memory of this input", i);
    slots[program->input[i].var] = &ports[i].array;
  }
  for (int i = 0; i < program->results; i++) {
    int v = program->result[i].var;
    if (!v) continue;
    run_borrow(ctx, &results[i], &program->result[i].meta, out[i]);
    LAC_CHECK(out[i] || !results[i].array.count, LAC_ERR_ARG,
              "lac_program_run: out[%d] is NULL; give memory for this result", i);
    if (ctx->space->is_host) lac_memory_wish_huge(out[i], lac_array_bytes(&results[i].array));  // it may be fresh
    if (!slots[v]) slots[v] = &results[i].array;
  }
done:
  return status;
}

/// A result whose var was already placed, or is an input: copy it to where the caller wants it.
static lac_status run_copy_repeated(lac_context *ctx, const lac_program *program, lac_array **slots,
                                    run_borrowed *results) {
  lac_status status = LAC_OK;

  for (int i = 0; i < program->results; i++) {
    int v = program->result[i].var;
    if (v && slots[v] != &results[i].array) LAC_TRY(ctx->backend->copy(ctx, slots[v], &results[i].array));
  }
done:
  return status;
}

lac_status lac_program_run(lac_context *ctx, const lac_program *program, const void *const *in, void *const *out) {
  lac_status status = LAC_OK;
  run_slots slots = {.array = NULL};
  run_borrowed few[RUN_PORTS], *ports = few, *many = NULL;

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_context_faults(ctx));
  ctx->agreed = false;
  LAC_CHECK(program && (in || !program->inputs) && (out || !program->results), LAC_ERR_ARG,
            "lac_program_run: program, in or out is NULL");
  if (program->inputs + program->results > RUN_PORTS) {
    LAC_ALLOC(many, program->inputs + program->results);
    ports = many;
  }
  LAC_TRY(run_slots_open(ctx, program, &slots));
  LAC_TRY(run_borrow_ports(ctx, program, in, out, slots.array, ports));
  run_place_results(program, slots.array);
  LAC_TRY(run_steps(ctx, program, slots.array));
  LAC_TRY(run_copy_repeated(ctx, program, slots.array, ports + program->inputs));
done:
  if (program) run_slots_close(program, &slots);
  lac_free(many);
  if (ctx && !ctx->agreed) status = lac_call_agree(ctx, status);
  return status;
}
