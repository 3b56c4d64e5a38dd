// SPDX-License-Identifier: Apache-2.0
/// @file checkpoint.c
/// Checkpointed segments: a segment is a program, and running it is an operator of its own.
///
///     forward   y     = S(x)                  the program is run, its temporaries are freed at last use
///     vjp       x_bar = emit S(x), then emit the vjp of what was emitted
///     jvp       y_dot = emit S(x), then emit the jvp of what was emitted
///
/// The rules emit the recomputation and its derivative into one program, so every order and every nesting follow from
/// the rules of the operators inside. Calls of the recomputation that the derivative does not read are dropped.

#include <math.h>
#include <string.h>

#include "autodiff/rule.h"
#include "autodiff/tape_impl.h"

enum { SIGNATURE_SIZE = 3 * (LAC_MAX_IN + LAC_MAX_OUT) + 2 };

/// The object of a checkpoint call. Its operator differs from others by its arity alone, and lives as long as the call.
typedef struct segment {
  lac_object object;
  lac_op op;
  char signature[SIGNATURE_SIZE];
  lac_program *program;
} segment;

static void segment_free(lac_object *object) {
  segment *s = (segment *)object;

  lac_program_destroy(&s->program);
  lac_free(s);
}

static const lac_kind segment_kind = {"segment", segment_free};

// -- the operator ----------------------------------------------------------------------------------------------------

static lac_status checkpoint_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_program *program = ((const segment *)c->object)->program;
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];

  for (int i = 0; i < lac_op_inputs(c->op); i++) {
    const lac_meta *in = &c->in_meta[i], *written = &program->tape->vars[1 + i].meta;  // inputs were declared first
    LAC_CHECK(lac_meta_same(in, written), LAC_ERR_SHAPE,
              "checkpoint: input %d is %s %s where the segment was written for %s %s", i, lac_dtype_name(in->dtype),
              lac_shape_text(in->ndim, in->shape, have), lac_dtype_name(written->dtype),
              lac_shape_text(written->ndim, written->shape, want));
  }
  for (int i = 0; i < program->results; i++) c->out_meta[i] = program->result[i].meta;
done:
  return status;
}

static lac_status checkpoint_forward(lac_call *c) {
  const lac_program *program = ((const segment *)c->object)->program;
  const lac_array *inputs[LAC_MAX_IN] = {NULL};

  for (int i = 0; i < program->inputs; i++) inputs[i] = c->in[program->input[i].index];
  return lac_program_execute(c->ctx, program, inputs, c->out);
}

/// Emit the segment on the rule's tape.
static lac_status checkpoint_emit(lac_rule *r, lac_var *out) {
  const lac_program *program = ((const segment *)r->object)->program;
  lac_var inputs[LAC_MAX_IN] = {{0}};

  for (int i = 0; i < program->inputs; i++) inputs[i] = r->in[program->input[i].index];
  return lac_program_replay(r->tape, program, inputs, out);
}

/// Inputs that the segment does not read are not named in its needs, and have no derivative.
static bool checkpoint_reads(const lac_rule *r, int i) { return r->op->vjp_needs >> i & 1; }

static void checkpoint_vjp(lac_rule *r) {
  lac_var out[LAC_MAX_OUT] = {{0}}, y[LAC_MAX_OUT], seed[LAC_MAX_OUT], x[LAC_MAX_IN], bar[LAC_MAX_IN];
  int outs = 0, ins = 0, from[LAC_MAX_IN];
  lac_status status = checkpoint_emit(r, out);

  for (int i = 0; i < lac_op_outputs(r->op); i++) {
    if (r->out_bar[i].id) y[outs] = out[i], seed[outs++] = r->out_bar[i];
  }
  for (int i = 0; i < lac_op_inputs(r->op); i++) {
    if (r->wants[i] && checkpoint_reads(r, i)) x[ins] = r->in[i], from[ins++] = i;
  }
  if (status == LAC_OK && ins) status = lac_tape_vjp(r->tape, outs, y, seed, ins, x, bar, LAC_CREATE_GRAPH);
  for (int j = 0; j < ins && status == LAC_OK; j++) r->in_bar[from[j]] = bar[j];
  if (status != LAC_OK) (void)lac_tape_fail(r->tape, status);
}

static void checkpoint_jvp(lac_rule *r) {
  lac_var out[LAC_MAX_OUT] = {{0}}, x[LAC_MAX_IN], dot[LAC_MAX_IN];
  int ins = 0;
  lac_status status = checkpoint_emit(r, out);

  for (int i = 0; i < lac_op_inputs(r->op); i++) {
    if (r->in_dot[i].id && checkpoint_reads(r, i)) x[ins] = r->in[i], dot[ins++] = r->in_dot[i];
  }
  if (status == LAC_OK && ins) {
    status = lac_tape_jvp(r->tape, ins, x, dot, lac_op_outputs(r->op), out, r->out_dot, LAC_CREATE_GRAPH);
  }
  if (status != LAC_OK) (void)lac_tape_fail(r->tape, status);
}

// -- writing a segment -----------------------------------------------------------------------------------------------

/// "(),()->()": inputs and outputs have no core dimensions in common, infer knows their shapes.
static void segment_sign(segment *s, int ins, int outs) {
  char *end = s->signature;

  for (int i = 0; i < ins + outs; i++) {
    for (const char *c = i == 0 ? "()" : i == ins ? "->()" : ",()"; *c; c++) *end++ = *c;
  }
  *end = '\0';
}

/// The operator of a finished program.
static void segment_make_operator(segment *s, int ins, int outs) {
  const lac_tape *tape = s->program->tape;

  segment_sign(s, ins, outs);
  s->op = (lac_op){.name = "checkpoint", .signature = s->signature, .order = LAC_ANY_ORDER};
  for (int i = 0; i < s->program->inputs; i++) s->op.vjp_needs |= NEEDS_IN(s->program->input[i].index);
  s->op.jvp_needs = s->op.vjp_needs;
  for (int n = 0; n < tape->nodes_count; n++) s->op.flags |= tape->nodes[n].spec.op->flags & LAC_COMMUNICATES;
  s->op.infer = checkpoint_infer;
  s->op.forward = checkpoint_forward;
  s->op.vjp = checkpoint_vjp;
  s->op.jvp = checkpoint_jvp;
}

/// Let the user's function emit on the program's tape.
static lac_status segment_emit(lac_context *ctx, lac_program *program, lac_tape_function function, void *data,
                               const lac_var *in, lac_var *out) {
  lac_status status = LAC_OK, returned;
  int64_t base = program->tape->base;

  ctx->status = LAC_OK;  // so that a code without a sentence does not borrow an older one
  returned = function(program->tape, data, 0, in, out);
  LAC_CHECK(program->tape->base == base, LAC_ERR_ARG, "lac_tape_checkpoint: the segment cleared its tape");
  LAC_TRY(program->tape->status);
  LAC_CHECK(returned == LAC_OK || ctx->status == returned, returned, "lac_tape_checkpoint: the segment returned %s",
            lac_status_name(returned));
  LAC_TRY(returned);
done:
  return status;
}

static lac_status segment_write(lac_tape *tape, lac_tape_function function, void *data, int ins, const lac_var *in,
                                int outs, segment **out) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  segment *s = NULL;
  lac_var x[LAC_MAX_IN], y[LAC_MAX_OUT] = {{0}};

  LAC_ALLOC(s, 1);
  lac_object_init(&s->object, &segment_kind);
  LAC_TRY(lac_program_open(ctx, TAPE_SEGMENT, &s->program));
  for (int i = 0; i < ins; i++) {
    const lac_meta *meta = lac_tape_meta(tape, in[i]);
    LAC_CHECK(meta, LAC_ERR_ABSENT, "lac_tape_checkpoint: input %d is %s", i,
              in[i].id ? "a var of another tape, or from before lac_tape_clear" : "absent; give it a value");
    LAC_TRY(lac_program_declare(s->program, LAC_ROLE_IN, i, meta, &x[i]));
  }
  LAC_TRY(segment_emit(ctx, s->program, function, data, x, y));
  for (int i = 0; i < outs; i++) {
    int place = lac_tape_place(s->program->tape, y[i]);
    LAC_CHECK(place, LAC_ERR_ABSENT, "lac_tape_checkpoint: the segment left output %d %s", i,
              y[i].id ? "to a var that is not on its own tape" : "absent; give it a value");
    s->program->result[i] =
        (lac_port){.role = LAC_ROLE_OUT, .index = i, .var = place, .meta = s->program->tape->vars[place].meta};
  }
  s->program->results = outs;
  LAC_TRY(lac_program_finish(s->program));
  segment_make_operator(s, ins, outs);
  *out = s, s = NULL;
done:
  if (s) lac_object_release(&s->object);
  return status;
}

lac_status lac_tape_checkpoint(lac_tape *tape, lac_tape_function function, void *data, int ins, const lac_var *in,
                               int outs, lac_var *out) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  segment *s = NULL;

  if (!tape || !function || !in || !out) {
    return lac_context_fail(ctx, LAC_ERR_ARG, __func__, "lac_tape_checkpoint: tape, segment, in or out is NULL");
  }
  for (int i = 0; i < outs; i++) out[i] = (lac_var){0};
  if (tape->status != LAC_OK) return tape->status;
  LAC_CHECK(ins > 0 && ins <= LAC_MAX_IN && outs > 0 && outs <= LAC_MAX_OUT, LAC_ERR_ARG,
            "lac_tape_checkpoint: %d inputs and %d outputs; 1 to %d and 1 to %d are possible", ins, outs, LAC_MAX_IN,
            LAC_MAX_OUT);
  LAC_TRY(segment_write(tape, function, data, ins, in, outs, &s));
  LAC_TRY(lac_tape_call(tape, &(lac_spec){.op = &s->op, .object = s}, in, out));
done:
  if (s) lac_object_release(&s->object);
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
  return status;
}

// -- loops -----------------------------------------------------------------------------------------------------------

/// The steps [first, first + count) of a loop, as one segment.
typedef struct loop {
  lac_tape_function step;
  void *data;
  int first, count, ins, states;
} loop;

static lac_status loop_segment(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  const loop *l = data;
  lac_var now[LAC_MAX_IN];
  lac_status status = LAC_OK;

  (void)step;
  memcpy(now, in, (size_t)l->ins * sizeof *now);
  for (int k = 0; k < l->count && status == LAC_OK; k++) {
    lac_var next[LAC_MAX_OUT] = {{0}};
    status = l->step(tape, l->data, l->first + k, now, next);
    memcpy(now, next, (size_t)l->states * sizeof *now);
  }
  memcpy(out, now, (size_t)l->states * sizeof *out);
  return status;
}

lac_status lac_tape_checkpoint_steps(lac_tape *tape, lac_tape_function step, void *data, int steps, int ins,
                                     const lac_var *in, int states, lac_var *out) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  int length = steps > 0 ? (int)ceil(sqrt(steps)) : 1;
  lac_var now[LAC_MAX_IN] = {{0}};

  if (!tape || !step || !in || !out) {
    return lac_context_fail(ctx, LAC_ERR_ARG, __func__, "lac_tape_checkpoint_steps: tape, step, in or out is NULL");
  }
  if (tape->status != LAC_OK) goto done;
  LAC_CHECK(steps >= 0 && states > 0 && states <= ins && ins <= LAC_MAX_IN && states <= LAC_MAX_OUT, LAC_ERR_ARG,
            "lac_tape_checkpoint_steps: %d steps, %d inputs, %d states; at least one state, at most %d and as many as "
            "there are inputs, which are at most %d",
            steps, ins, states, LAC_MAX_OUT, LAC_MAX_IN);
  memcpy(now, in, (size_t)ins * sizeof *now);
  for (int first = 0, count; first < steps; first += count) {
    lac_var next[LAC_MAX_OUT] = {{0}};
    count = steps - first < length ? steps - first : length;
    loop l = {.step = step, .data = data, .first = first, .count = count, .ins = ins, .states = states};
    LAC_TRY(lac_tape_checkpoint(tape, loop_segment, &l, ins, now, states, next));
    memcpy(now, next, (size_t)states * sizeof *now);
  }
done:
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
  for (int i = 0; i < states && i < LAC_MAX_OUT; i++) out[i] = tape->status == LAC_OK ? now[i] : (lac_var){0};
  return tape->status;
}
