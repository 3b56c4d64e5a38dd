// SPDX-License-Identifier: Apache-2.0
/// @file program_run.c
/// Running programs: on arrays, at once, freeing at last use; or on a tape, call by call.

#include <string.h>

#include "autodiff/tape_impl.h"
#include "kernels/kernels.h"

enum { RUN_INLINE_VARS = 32 };

/// Whether step n may write its output over its input: number by number, an array that is made here and read for the last time.
static bool run_is_in_place(const lac_program *program, int n, const bool *is_result) {
  const tape_node *node = &program->tape->nodes[n];
  const tape_var *in = &program->tape->vars[node->in[0]], *out = &program->tape->vars[node->out[0]];

  return node->spec.op->flags & LAC_POINTWISE && in->node >= 0 && program->last_use[node->in[0]] == n &&
         !is_result[node->in[0]] && lac_meta_same(&in->meta, &out->meta);
}

/// Let what is changed in place at the end be made where the caller wants the result.
static void run_place_results(const lac_program *program, lac_array **slots, const bool *is_result) {
  for (int n = program->tape->nodes_count - 1; n >= 0; n--) {
    const tape_node *node = &program->tape->nodes[n];
    if (slots[node->out[0]] && run_is_in_place(program, n, is_result) && !slots[node->in[0]]) {
      slots[node->in[0]] = lac_array_retain(slots[node->out[0]]);
    }
  }
}

/// One step on arrays: slots[v] is the array of var v.
static lac_status run_step(lac_context *ctx, const lac_program *program, int n, lac_array **slots) {
  lac_status status = LAC_OK;
  const lac_tape *tape = program->tape;
  const tape_node *node = &tape->nodes[n];
  lac_signature signature;
  lac_call call;

  LAC_TRY(lac_call_begin(ctx, &node->spec, &signature, &call));
  for (int i = 0; i < node->ins; i++) {
    call.in_meta[i] = tape->vars[node->in[i]].meta;
    call.in[i] = slots[node->in[i]];
  }
  for (int i = 0; i < node->outs; i++) {
    call.out_meta[i] = tape->vars[node->out[i]].meta;
    call.out[i] = slots[node->out[i]];
  }
  LAC_TRY(lac_call_run(&call, node->outs, LAC_OK));
  for (int i = 0; i < node->outs; i++) slots[node->out[i]] = call.out[i];
done:
  return status;
}

/// Let go of the temporaries that step n read last, and of what it made for nobody.
static void run_free_dead(const lac_program *program, int n, lac_array **slots, const bool *is_result) {
  const tape_node *node = &program->tape->nodes[n];

  for (int i = 0; i < node->ins; i++) {
    int v = node->in[i];
    if (program->last_use[v] == n && !is_result[v]) lac_array_destroy(&slots[v]);
  }
  for (int i = 0; i < node->outs; i++) {
    int v = node->out[i];
    if (program->last_use[v] < 0 && !is_result[v]) lac_array_destroy(&slots[v]);
  }
}

static lac_status run_steps(lac_context *ctx, const lac_program *program, lac_array **slots, const bool *is_result) {
  lac_status status = LAC_OK;

  for (int n = 0; n < program->tape->nodes_count && status == LAC_OK; n++) {
    const tape_node *node = &program->tape->nodes[n];
    if (!slots[node->out[0]] && run_is_in_place(program, n, is_result) && lac_array_is_sole(slots[node->in[0]])) {
      (void)lac_array_edit(slots[node->in[0]]);  // who knew the values by their version knows them no more
      slots[node->out[0]] = lac_array_retain(slots[node->in[0]]);
    }
    status = run_step(ctx, program, n, slots);
    run_free_dead(program, n, slots, is_result);
  }
  return status;
}

/// Hold the results, or copy to where the caller wants one what is not there already: an input, or a result that stands twice.
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

/// The slots of a program's vars, on the stack when they are few.
typedef struct run_slots {
  lac_array **array;
  bool *is_result;
  void *heap;
  lac_array *inline_array[RUN_INLINE_VARS];
  bool inline_result[RUN_INLINE_VARS];
} run_slots;

static lac_status run_slots_open(lac_context *ctx, const lac_program *program, run_slots *slots) {
  lac_status status = LAC_OK;
  int count = program->tape->vars_count;
  char *heap = NULL;

  if (count > RUN_INLINE_VARS) LAC_ALLOC(heap, (size_t)count * (sizeof(lac_array *) + sizeof(bool)));
  slots->heap = heap;
  slots->array = heap ? (lac_array **)(void *)heap : slots->inline_array;
  slots->is_result = heap ? (bool *)(heap + (size_t)count * sizeof(lac_array *)) : slots->inline_result;
  memset(slots->array, 0, (size_t)count * sizeof *slots->array);
  memset(slots->is_result, 0, (size_t)count * sizeof *slots->is_result);
  for (int i = 0; i < program->results; i++) slots->is_result[program->result[i].var] = true;
done:
  return status;
}

static void run_slots_close(const lac_program *program, run_slots *slots) {
  for (int v = 0; v < program->tape->vars_count; v++) lac_array_destroy(&slots->array[v]);
  lac_free(slots->heap);
}

/// Fill the slots with what is there before the run: constants of the program, inputs, and results to be written to.
static lac_status run_fill_slots(lac_context *ctx, const lac_program *program, const lac_array *const *inputs,
                                 lac_array *const *results, run_slots *slots) {
  lac_status status = LAC_OK;
  lac_tape *tape = program->tape;

  for (int v = 1; v < tape->vars_count; v++) {
    if (!tape->vars[v].array || (program->last_use[v] < 0 && !slots->is_result[v])) continue;
    LAC_TRY(lac_tape_check_fresh(tape, v, "a checkpointed segment"));
    slots->array[v] = lac_array_retain(tape->vars[v].array);
  }
  for (int i = 0; i < program->inputs; i++) slots->array[program->input[i].var] = lac_array_retain(inputs[i]);
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
  run_slots slots = {.array = NULL};

  LAC_TRY(run_slots_open(ctx, program, &slots));
  LAC_TRY(run_fill_slots(ctx, program, inputs, results, &slots));
  LAC_TRY(run_steps(ctx, program, slots.array, slots.is_result));
  LAC_TRY(run_take_results(ctx, program, slots.array, results));
done:
  if (slots.array) run_slots_close(program, &slots);
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

lac_status lac_program_replay(lac_tape *tape, const lac_program *program, const lac_var *inputs, lac_var *results) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  lac_var *vars = NULL;
  int cap = tape->order;

  LAC_ALLOC(vars, program->tape->vars_count);
  LAC_TRY(replay_constants(tape, program, vars));
  for (int i = 0; i < program->inputs; i++) vars[program->input[i].var] = inputs[i];
  for (int n = 0; n < program->tape->nodes_count; n++) {
    const tape_node *node = &program->tape->nodes[n];
    lac_var in[LAC_MAX_IN], out[LAC_MAX_OUT];
    for (int i = 0; i < node->ins; i++) in[i] = vars[node->in[i]];
    bool is_capped = cap != LAC_ANY_ORDER && (node->order == LAC_ANY_ORDER || cap < node->order);
    tape->order = is_capped ? cap : node->order;
    LAC_TRY(lac_tape_call(tape, &node->spec, in, out));
    for (int i = 0; i < node->outs; i++) vars[node->out[i]] = out[i];
  }
  for (int i = 0; i < program->results; i++) results[i] = vars[program->result[i].var];
done:
  tape->order = cap;
  lac_free(vars);
  return status;
}

/// An array struct over foreign memory that lives on the stack of a run: nothing is allocated, nothing holds it afterwards.
typedef struct run_borrowed {
  lac_array array;
  lac_storage storage;
} run_borrowed;

static void run_borrow(lac_context *ctx, run_borrowed *b, const lac_meta *meta, void *data) {
  memset(b, 0, sizeof *b);
  b->storage.space = ctx->space;
  b->storage.data = data;
  b->storage.origin = STORAGE_BORROWED;
  atomic_init(&b->storage.holders, 2);  // never reaches zero: the stack frees it
  atomic_init(&b->array.holders, 2);
  b->array.meta = *meta;
  b->array.count = lac_meta_count(meta);
  b->array.storage = &b->storage;
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
  run_borrowed inputs[PROGRAM_MAX_INPUTS], results[LAC_MAX_IN];

  LAC_CHECK(program && (in || !program->inputs) && (out || !program->results), LAC_ERR_ARG,
            "lac_program_run: program, in or out is NULL");
  ctx->agreed = false;
  LAC_TRY(run_slots_open(ctx, program, &slots));
  for (int i = 0; i < program->inputs; i++) {
    run_borrow(ctx, &inputs[i], &program->input[i].meta, (void *)in[i]);
    LAC_CHECK(in[i] || !inputs[i].array.count, LAC_ERR_ARG, "lac_program_run: the pointer of input %d is NULL", i);
    slots.array[program->input[i].var] = &inputs[i].array;
  }
  for (int i = 0; i < program->results; i++) {
    int v = program->result[i].var;
    if (!v) continue;
    run_borrow(ctx, &results[i], &program->result[i].meta, out[i]);
    LAC_CHECK(out[i] || !results[i].array.count, LAC_ERR_ARG, "lac_program_run: the pointer of result %d is NULL", i);
    if (!slots.array[v]) slots.array[v] = &results[i].array;
  }
  run_place_results(program, slots.array, slots.is_result);
  LAC_TRY(run_steps(ctx, program, slots.array, slots.is_result));
  LAC_TRY(run_copy_repeated(ctx, program, slots.array, results));
done:
  if (slots.array) run_slots_close(program, &slots);
  if (!ctx->agreed) status = lac_call_agree(ctx, status);
  return status;
}
