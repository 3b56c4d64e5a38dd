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

/// The object of a checkpoint call. Its operator differs from others by its arity alone, and lives as long as the call.
typedef struct segment {
  lac_object object;
  lac_op op;
  char *signature;
  lac_program *program;
} segment;

static void segment_free(lac_object *object) {
  segment *s = (segment *)object;

  lac_program_destroy(&s->program);
  lac_free(s->signature);
  lac_free(s);
}

static const lac_kind segment_kind = {"segment", segment_free};

// -- the operator ----------------------------------------------------------------------------------------------------

static lac_status checkpoint_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_program *program = ((const segment *)c->object)->program;
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];

  for (int i = 0; i < c->ins; i++) {
    const lac_meta *in = &c->in_meta[i], *written = &program->tape->vars[1 + i].meta;  // inputs were declared first
    LAC_CHECK(lac_meta_same(in, written), LAC_ERR_SHAPE,
              "checkpoint: in[%d] is %s %s where the segment was written for %s %s", i, lac_dtype_name(in->dtype),
              lac_shape_text(in->ndim, in->shape, have), lac_dtype_name(written->dtype),
              lac_shape_text(written->ndim, written->shape, want));
  }
  for (int i = 0; i < program->results; i++) c->out_meta[i] = program->result[i].meta;
done:
  return status;
}

static lac_status checkpoint_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_program *program = ((const segment *)c->object)->program;
  const lac_array **inputs = NULL;

  LAC_ALLOC(inputs, program->inputs);
  for (int i = 0; i < program->inputs; i++) inputs[i] = c->in[program->input[i].index];
  LAC_TRY(lac_program_execute(ctx, program, inputs, c->out));
done:
  lac_free(inputs);
  return status;
}

/// The vars of a rule that emits a segment and differentiates it, in one block.
typedef struct emission {
  lac_var *y, *seed, *x, *dot, *inputs;  // outputs and their adjoints, inputs and their tangents or adjoints
  int *from;                             // the input that x[j] is
  int outs, ins;
} emission;

/// Emit the segment on the rule's tape.
static lac_status emission_open(lac_rule *r, emission *e) {
  lac_context *ctx = lac_tape_context(r->tape);
  lac_status status = LAC_OK;
  const lac_program *program = ((const segment *)r->object)->program;

  *e = (emission){.y = NULL};
  LAC_ALLOC(e->y, 2 * r->outs + 4 * r->ins);
  e->seed = e->y + r->outs, e->x = e->seed + r->outs, e->dot = e->x + r->ins, e->inputs = e->dot + r->ins;
  e->from = (int *)(void *)(e->inputs + r->ins);
  for (int i = 0; i < program->inputs; i++) e->inputs[i] = r->in[program->input[i].index];
  LAC_TRY(lac_program_replay(r->tape, program, e->inputs, e->y));
done:
  return status;
}

/// Inputs that the segment does not read are not named in its needs, and have no derivative.
static bool checkpoint_reads(const lac_rule *r, int i) { return r->in[i].id != TAPE_UNNAMED; }

static void checkpoint_vjp(lac_rule *r) {
  emission e;
  lac_status status = emission_open(r, &e);

  lac_rule_nothing(r);
  for (int i = 0; i < r->outs && status == LAC_OK; i++) {
    if (r->out_bar[i].id) e.y[e.outs] = e.y[i], e.seed[e.outs++] = r->out_bar[i];
  }
  for (int i = 0; i < r->ins && status == LAC_OK; i++) {
    if (r->wants[i] && checkpoint_reads(r, i)) e.x[e.ins] = r->in[i], e.from[e.ins++] = i;
  }
  if (e.ins && e.outs) status = lac_tape_vjp(r->tape, e.outs, e.y, e.seed, e.ins, e.x, e.dot, LAC_GRAPH_CREATE);
  for (int j = 0; j < e.ins && status == LAC_OK; j++) r->in_bar[e.from[j]] = e.dot[j];
  if (status != LAC_OK) (void)lac_tape_fail(r->tape, status);
  lac_free(e.y);
}

static void checkpoint_jvp(lac_rule *r) {
  emission e;
  lac_status status = emission_open(r, &e);

  lac_rule_nothing(r);
  for (int i = 0; i < r->ins && status == LAC_OK; i++) {
    if (r->in_dot[i].id && checkpoint_reads(r, i)) e.x[e.ins] = r->in[i], e.dot[e.ins++] = r->in_dot[i];
  }
  if (e.ins) status = lac_tape_jvp(r->tape, e.ins, e.x, e.dot, r->outs, e.y, r->out_dot, LAC_GRAPH_CREATE);
  if (status != LAC_OK) (void)lac_tape_fail(r->tape, status);
  lac_free(e.y);
}

// -- writing a segment -----------------------------------------------------------------------------------------------

/// The operator of a finished program.
static lac_status segment_make_operator(lac_context *ctx, segment *s, int ins, int outs) {
  lac_status status = LAC_OK;
  const lac_tape *tape = s->program->tape;
  lac_op op = {.name = "checkpoint", .order = LAC_ANY_ORDER};

  LAC_TRY(lac_signature_plain(ctx, ins, outs, &s->signature));
  for (int i = 0; i < s->program->inputs; i++) op.vjp_needs |= NEEDS_IN(s->program->input[i].index);
  for (int n = 0; n < tape->nodes_count; n++) op.flags |= tape->nodes[n].spec.op->flags & LAC_OP_COMMUNICATES;
  op.signature = s->signature;
  op.jvp_needs = op.vjp_needs;
  op.infer = checkpoint_infer;
  op.forward = checkpoint_forward;
  op.vjp = checkpoint_vjp;
  op.jvp = checkpoint_jvp;
  s->op = op;
done:
  return status;
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

/// The inputs of a segment, on its own tape.
static lac_status segment_declare(lac_tape *tape, lac_program *program, int ins, const lac_var *in, lac_var *x) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < ins; i++) {
    const lac_meta *meta = lac_tape_meta(tape, in[i]);
    LAC_CHECK(meta, LAC_ERR_ABSENT, "lac_tape_checkpoint: in[%d] is %s", i,
              in[i].id ? "a var of another tape, or from before lac_tape_clear" : "absent; give it a value");
    LAC_TRY(lac_program_declare(program, LAC_ROLE_IN, i, meta, &x[i]));
  }
done:
  return status;
}

/// What the segment emitted becomes the results of its program.
static lac_status segment_deliver(lac_context *ctx, lac_program *program, int outs, const lac_var *y) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_program_deliver(program, outs));
  for (int i = 0; i < outs; i++) {
    int place = lac_tape_place(program->tape, y[i]);
    LAC_CHECK(place, LAC_ERR_ABSENT, "lac_tape_checkpoint: the segment left output %d %s", i,
              y[i].id ? "to a var that is not on its own tape" : "absent; give it a value");
    program->result[i] =
        (lac_port){.role = LAC_ROLE_OUT, .index = i, .var = place, .meta = program->tape->vars[place].meta};
  }
  LAC_TRY(lac_program_finish(program));
done:
  return status;
}

static lac_status segment_write(lac_tape *tape, lac_tape_function function, void *data, int ins, const lac_var *in,
                                int outs, segment **out) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  segment *s = NULL;
  lac_var *vars = NULL;

  LAC_ALLOC(vars, ins + outs);
  LAC_ALLOC(s, 1);
  lac_object_init(&s->object, &segment_kind);
  LAC_TRY(lac_program_open(ctx, TAPE_SEGMENT, &s->program));
  LAC_TRY(segment_declare(tape, s->program, ins, in, vars));
  LAC_TRY(segment_emit(ctx, s->program, function, data, vars, vars + ins));
  LAC_TRY(segment_deliver(ctx, s->program, outs, vars + ins));
  LAC_TRY(segment_make_operator(ctx, s, ins, outs));
  *out = s, s = NULL;
done:
  if (s) lac_object_release(&s->object);
  lac_free(vars);
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
  if (tape->status != LAC_OK) return lac_tape_status(tape);
  LAC_CHECK(ins > 0 && outs > 0, LAC_ERR_ARG,
            "lac_tape_checkpoint: %d inputs and %d outputs; at least one of each is needed", ins, outs);
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
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_var *now = NULL, *next;

  (void)step;
  LAC_ALLOC(now, l->ins + l->states);
  next = now + l->ins;
  memcpy(now, in, (size_t)l->ins * sizeof *now);
  for (int k = 0; k < l->count; k++) {
    memset(next, 0, (size_t)l->states * sizeof *next);
    LAC_TRY(l->step(tape, l->data, l->first + k, now, next));
    memcpy(now, next, (size_t)l->states * sizeof *now);
  }
  memcpy(out, now, (size_t)l->states * sizeof *out);
done:
  lac_free(now);
  return status;
}

/// All segments of a loop: `now` begins with the state, and is what every step reads.
static lac_status loop_run(lac_tape *tape, loop l, int steps, lac_var *now, lac_var *next) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  int length = steps > 0 ? (int)ceil(sqrt(steps)) : 1;

  for (; l.first < steps; l.first += l.count) {
    l.count = steps - l.first < length ? steps - l.first : length;
    LAC_TRY(lac_tape_checkpoint(tape, loop_segment, &l, l.ins, now, l.states, next));
    memcpy(now, next, (size_t)l.states * sizeof *now);
  }
done:
  return status;
}

lac_status lac_tape_checkpoint_steps(lac_tape *tape, lac_tape_function step, void *data, int steps, int ins,
                                     const lac_var *in, int states, lac_var *out) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  lac_var *now = NULL;

  if (!tape || !step || !in || !out) {
    return lac_context_fail(ctx, LAC_ERR_ARG, __func__, "lac_tape_checkpoint_steps: tape, step, in or out is NULL");
  }
  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(steps >= 0 && states > 0 && states <= ins, LAC_ERR_ARG,
            "lac_tape_checkpoint_steps: %d steps, %d inputs, %d states; give 0 steps or more, at least one state, and "
            "no more states than inputs",
            steps, ins, states);
  LAC_ALLOC(now, ins + states);
  memcpy(now, in, (size_t)ins * sizeof *now);
  LAC_TRY(loop_run(tape, (loop){.step = step, .data = data, .ins = ins, .states = states}, steps, now, now + ins));
  memcpy(out, now, (size_t)states * sizeof *out);
done:
  for (int i = 0; i < states && status != LAC_OK; i++) out[i] = (lac_var){0};
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
  lac_free(now);
  return status;
}
