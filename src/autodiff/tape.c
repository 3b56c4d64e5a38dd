// SPDX-License-Identifier: Apache-2.0
/// @file tape.c
/// Calls on a tape: they run, or are only written, and are recorded where something differentiable goes in.

#include "autodiff/rule.h"
#include "autodiff/tape_impl.h"

/// What a var is that stands for no array of this tape.
static const char *tape_what_is(lac_var var) {
  if (var.id == TAPE_UNNAMED) {
    return "a var that the rule reads but its needs mask does not name (vjp_needs, jvp_needs)";
  }
  return var.id ? "a var of another tape, or from before lac_tape_clear" : "absent; give it a value";
}

/// Check the input vars of a call and fill its metas, and its arrays unless the tape is only written.
static lac_status tape_take_inputs(lac_tape *tape, lac_call *call, const lac_var *in) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  char name[LAC_INPUT_NAME];

  for (int i = 0; i < call->ins; i++) {
    int place = lac_tape_place(tape, in[i]);
    LAC_CHECK(place, LAC_ERR_ABSENT, "%s: %s is %s", call->op->name, lac_op_input_name(call->op, i, name),
              tape_what_is(in[i]));
    if (!lac_tape_is_written(tape)) LAC_TRY(lac_tape_check_fresh(ctx, tape, place, call->op->name));
    call->in_meta[i] = tape->vars[place].meta;
    call->in[i] = tape->vars[place].array;
  }
done:
  return status;
}

lac_status lac_tape_judge(lac_tape *tape, const lac_spec *spec, const lac_var *in) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  lac_frame frame = {.heap = NULL};

  LAC_TRY(tape->status);
  LAC_TRY(lac_call_begin(ctx, spec, &frame));
  LAC_TRY(tape_take_inputs(tape, &frame.call, in));
  LAC_TRY(lac_call_infer(&frame.call));
done:
  lac_call_end(&frame);
  return status;
}

/// The order that a node of `op` has on this tape: what the operator allows, within the cap of what it is a derivative
/// of.
static int tape_order(const lac_tape *tape, const lac_op *op) {
  if (tape->order == LAC_ANY_ORDER) return op->order;
  if (op->order == LAC_ANY_ORDER) return tape->order;
  return op->order < tape->order ? op->order : tape->order;
}

static bool tape_is_differentiable(const lac_tape *tape, int ins, const lac_var *in) {
  bool differentiable = false;

  for (int i = 0; i < ins; i++) differentiable |= tape->vars[lac_tape_place(tape, in[i])].differentiable;
  return differentiable;
}

/// Room for one more node with so many operands.
static lac_status tape_make_room(lac_tape *tape, int operands) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_tape_grow(ctx, (void **)&tape->nodes, sizeof *tape->nodes, tape->nodes_count, 1, &tape->nodes_capacity));
  LAC_TRY(lac_tape_grow(ctx, (void **)&tape->places, sizeof *tape->places, tape->places_count, operands,
                        &tape->places_capacity));
done:
  return status;
}

/// Record the call itself and the report of its solve; there is room for it.
static void tape_push_node(lac_tape *tape, const lac_call *call, const lac_spec *spec, const lac_var *in,
                           const lac_var *out, lac_solve_report *solved) {
  tape_node *node = &tape->nodes[tape->nodes_count++];
  int *places = tape->places + tape->places_count, most = call->ins > call->outs ? call->ins : call->outs;

  *node = (tape_node){.spec = *spec,
                      .ins = call->ins,
                      .outs = call->outs,
                      .first = tape->places_count,
                      .order = tape_order(tape, spec->op),
                      .solved = solved};
  for (int i = 0; i < call->ins; i++) *places++ = lac_tape_place(tape, in[i]);
  for (int i = 0; i < call->outs; i++) *places++ = lac_tape_place(tape, out[i]);
  tape->places_count += call->ins + call->outs;
  if (most > tape->widest) tape->widest = most;
  lac_spec_retain(spec);
  lac_tape_count_needs(tape, node, +1);
}

/// Put the call's outputs on the tape, and the call itself where something differentiable goes in, with the report of
/// its solve.
static lac_status tape_push_call(lac_tape *tape, lac_call *call, const lac_spec *spec, const lac_var *in, lac_var *out,
                                 bool has_solved) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  int vars = tape->vars_count;
  bool differentiable = tape_is_differentiable(tape, call->ins, in);
  bool record = lac_tape_is_written(tape) || (tape->mode == TAPE_RECORD && differentiable);
  lac_solve_report *solved = NULL;

  if (record) LAC_TRY(tape_make_room(tape, call->ins + call->outs));
  if (record && has_solved) {
    LAC_ALLOC(solved, 1);
    *solved = ctx->last_solve;
  }
  for (int i = 0; i < call->outs; i++) {
    int place = 0;
    LAC_TRY(lac_tape_push_var(tape, &call->out_meta[i], &call->out[i], record ? tape->nodes_count : -1, differentiable,
                              &place));
    out[i] = lac_tape_name(tape, place);
  }
  if (record) tape_push_node(tape, call, spec, in, out, solved), solved = NULL;
done:
  lac_free(solved);
  if (status != LAC_OK) lac_tape_truncate(tape, vars, tape->nodes_count);
  return status;
}

/// In a rule an absent input makes the outputs absent: the rule's term is zero.
static bool tape_emits_nothing(const lac_tape *tape, int ins, const lac_var *in) {
  for (int i = 0; i < ins; i++) {
    if (tape->mode == TAPE_WRITE && lac_var_is_absent(in[i])) return true;
  }
  return false;
}

bool lac_tape_has(lac_tape *tape, const char *function, int count, const lac_var *in) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;

  LAC_TRY(lac_tape_status(tape));
  if (tape_emits_nothing(tape, count, in)) return false;
  for (int i = 0; i < count; i++) {
    LAC_CHECK(lac_tape_place(tape, in[i]), LAC_ERR_ABSENT, "%s: input %d is %s", function, i, tape_what_is(in[i]));
  }
  return true;
done:
  (void)lac_tape_fail(tape, status);
  return false;
}

static void tape_make_absent(const lac_spec *spec, lac_var *out) {
  out[0] = (lac_var){0};  // where their number is unknown
  for (int i = 1; i < lac_op_outputs(spec->op); i++) out[i] = (lac_var){0};
}

/// On a failed tape nothing runs. Where ranks would communicate, those that do not know of the failure yet learn of it.
static lac_status tape_call_failed(lac_tape *tape, const lac_spec *spec, lac_var *out) {
  tape_make_absent(spec, out);
  if (spec->op && spec->op->flags & LAC_OP_COMMUNICATES && !tape->agreed) {
    (void)lac_call_agree(tape->ctx, tape->status);
    tape->agreed = tape->ctx->agreed;
  }
  return tape->status;
}

/// Let a call write to where the caller of a plain call wants the result, once. If it turns out to be no result, the
/// memory has served as any other.
static void tape_use_given(lac_tape *tape, lac_call *call) {
  if (!tape->given || call->outs != 1 || !lac_meta_same(&tape->given->meta, call->out_meta)) return;
  (void)lac_array_edit(tape->given);
  call->out[0] = lac_array_retain(tape->given);
  tape->given = NULL;
}

lac_status lac_tape_call(lac_tape *tape, const lac_spec *spec, const lac_var *in, lac_var *out) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  lac_frame frame;
  lac_call *call = &frame.call;
  int64_t solves = 0;

  if (!tape || !spec || !in || !out) {
    return lac_context_fail(ctx, LAC_ERR_ARG, __func__, "lac_tape_call: tape, spec, in or out is NULL");
  }
  if (tape->status != LAC_OK) return tape_call_failed(tape, spec, out);
  ctx->agreed = false;
  solves = ctx->solves;
  LAC_TRY(lac_call_begin(ctx, spec, &frame));
  if (tape_emits_nothing(tape, call->ins, in)) {
    tape_make_absent(spec, out);
    goto done;
  }

  if (!lac_tape_is_written(tape)) status = lac_context_faults(ctx);
  if (status == LAC_OK) status = tape_take_inputs(tape, call, in);
  if (status == LAC_OK) status = lac_call_infer(call);
  if (status == LAC_OK) tape_use_given(tape, call);
  if (!lac_tape_is_written(tape)) status = lac_call_run(call, status);
  LAC_TRY(status);
  LAC_TRY(tape_push_call(tape, call, spec, in, out, ctx->solves != solves));
done:
  for (int i = 0; i < call->outs; i++) lac_array_destroy(&call->out[i]);
  lac_call_end(&frame);
  if (status != LAC_OK) {
    tape_make_absent(spec, out);
    (void)lac_tape_fail(tape, status);
    tape->agreed = ctx->agreed;
  }
  return status;
}
