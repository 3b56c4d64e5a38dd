// SPDX-License-Identifier: Apache-2.0
/// @file program_rule.c
/// Writing programs: a rule is run on a tape that only writes, and what it emitted becomes a program.
///
/// Adjoints must have the shape of what they are adjoint to. Where an input was broadcast over a batch, its adjoint is
/// summed over that batch; the sum is moved into the kernel that makes the adjoint when it can do that, so that nothing
/// of the size batch x nnz appears.

#include <string.h>

#include "autodiff/axis.h"
#include "autodiff/rule.h"
#include "autodiff/tape_impl.h"

/// Whether the d-th axis from the right is spread over ranks. Its size here says nothing: it may be 1 on this rank
/// alone.
static bool program_is_spread(const lac_meta *meta, int d) {
  return meta->partition && meta->ndim - 1 - meta->partition_axis == d;
}

/// How many calls and results read a var.
static int program_uses(const lac_program *program, const lac_var *results, int count, int place) {
  const lac_tape *tape = program->tape;
  int uses = 0;

  for (int n = 0; n < tape->nodes_count; n++) {
    const int *in = lac_node_in(tape, &tape->nodes[n]);
    for (int i = 0; i < tape->nodes[n].ins; i++) uses += in[i] == place;
  }
  for (int i = 0; i < count; i++) uses += lac_tape_place(tape, results[i]) == place;
  return uses;
}

/// Try to let the call that makes `place` sum over the batch itself; through pointwise calls, to what they read.
static bool program_fit_inside(lac_program *program, const lac_var *results, int count, int place,
                               const lac_meta *like) {
  lac_tape *tape = program->tape;
  tape_var *var = &tape->vars[place];

  if (var->node < 0 || program_uses(program, results, count, place) != 1) return false;
  tape_node *node = &tape->nodes[var->node];
  if (node->spec.op->flags & LAC_OP_POINTWISE) {
    if (!program_fit_inside(program, results, count, lac_node_in(tape, node)[0], like)) return false;
  } else if (node->spec.op->flags & LAC_OP_SUMS_BATCH) {
    node->spec.attrs.fit = 1;
    lac_meta_take_shape(&node->spec.attrs.like, like);
  } else {
    return false;
  }
  lac_meta_take_shape(&var->meta, like);
  return true;
}

/// Spread a result to the shape `like` along dimensions that it lacks or has with size 1: the tangent of a broadcast
/// sum.
static lac_var program_spread(lac_tape *tape, lac_var var, const lac_meta *like, int core) {
  const lac_meta *meta = lac_tape_meta(tape, var);
  lac_meta same_ndim = *like;
  uint32_t grown = 0, added = 0;

  if (!meta) return var;
  int missing = like->ndim - meta->ndim;
  for (int d = core; d < like->ndim; d++) {  // from the right
    if (d >= meta->ndim) {
      added |= 1u << d;
    } else if (meta->shape[meta->ndim - 1 - d] != like->shape[like->ndim - 1 - d] ||
               program_is_spread(meta, d) != program_is_spread(like, d)) {
      grown |= 1u << d;
    }
  }
  same_ndim.ndim = meta->ndim;
  for (int d = 0; d < same_ndim.ndim; d++) same_ndim.shape[d] = like->shape[d + missing];
  same_ndim.partition_axis = like->partition_axis - missing;
  if (same_ndim.partition_axis < 0) same_ndim.partition = NULL;
  if (grown) var = lac_broadcast(tape, var, &same_ndim, OVER(grown), true);
  if (added) var = lac_broadcast(tape, var, like, OVER(added), false);
  return var;
}

/// Bring a result to the shape `like` by summing over batch dimensions that it has and `like` has not. The last `core`
/// dimensions are the operator's own: they fit, or the rule is wrong.
static lac_var program_fit(lac_program *program, const lac_var *results, int count, int i, const lac_meta *like,
                           int core) {
  lac_tape *tape = program->tape;
  lac_var var = results[i];
  int place = lac_tape_place(tape, var);
  uint32_t keep = 0, drop = 0;

  if (!place) return var;
  const lac_meta meta = tape->vars[place].meta;
  for (int d = core; d < meta.ndim; d++) {  // from the right
    int64_t size = meta.shape[meta.ndim - 1 - d];
    if (d >= like->ndim) {
      drop |= 1u << d;
    } else if (program_is_spread(&meta, d) ? !program_is_spread(like, d)
                                           : size != like->shape[like->ndim - 1 - d] && size != 1) {
      keep |= 1u << d;
    }
  }
  if (!keep && !drop) return program_spread(tape, var, like, core);
  if (program_fit_inside(program, results, count, place, like)) return var;
  if (keep) var = lac_sum_axes(tape, var, OVER(keep), true);
  if (drop) var = lac_sum_axes(tape, var, OVER(drop), false);
  return var;
}

/// A rule about to be run: the call that it belongs to, and the vars that it reads and sets.
typedef struct draft {
  lac_frame frame;
  lac_rule rule;
  lac_var *vars;  // all lists of the rule, in one block
} draft;

static void draft_close(draft *d) {
  lac_call_end(&d->frame);
  lac_free(d->vars);
}

/// The lists of a rule.
static lac_status draft_extend(lac_context *ctx, draft *d) {
  lac_status status = LAC_OK;
  const size_t ins = (size_t)d->rule.ins, outs = (size_t)d->rule.outs;
  lac_rule *r = &d->rule;

  LAC_ALLOC(d->vars, 4 * ins + 3 * outs);  // the wants take no more than vars do
  r->in = d->vars, r->in_bar = r->in + ins, r->in_dot = r->in_bar + ins;
  r->out = r->in_dot + ins, r->out_bar = r->out + outs, r->out_dot = r->out_bar + outs;
  r->wants = (int *)(void *)(r->out_dot + outs);
done:
  return status;
}

/// Infer the call of `spec` on these metas and start its rule.
static lac_status draft_open(lac_context *ctx, const lac_spec *spec, const lac_meta *in, draft *d) {
  lac_status status = LAC_OK;
  lac_call *call = &d->frame.call;

  d->vars = NULL;
  LAC_TRY(lac_call_begin(ctx, spec, &d->frame));
  for (int i = 0; i < call->ins; i++) {
    LAC_TRY(lac_meta_check(ctx, spec->op->name, &in[i]));
    call->in_meta[i] = in[i];
  }
  LAC_TRY(lac_call_infer(call));
  d->rule = (lac_rule){.op = spec->op, .patterns = spec->patterns, .object = spec->object, .attrs = &spec->attrs};
  d->rule.ins = call->ins, d->rule.outs = call->outs;
  d->rule.in_meta = call->in_meta, d->rule.out_meta = call->out_meta;
  LAC_TRY(draft_extend(ctx, d));
done:
  return status;
}

/// The vars that a rule may read: what its needs mask names, and the adjoints or tangents that exist.
static lac_status program_declare_all(lac_program *program, lac_rule *r, lac_role result, const int *given) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;
  bool is_vjp = result == LAC_ROLE_IN_BAR;
  uint64_t needs = is_vjp ? r->op->vjp_needs : r->op->jvp_needs;
  lac_role role = is_vjp ? LAC_ROLE_OUT_BAR : LAC_ROLE_IN_DOT;
  const lac_meta *meta = is_vjp ? r->out_meta : r->in_meta;
  lac_var *derivative = is_vjp ? r->out_bar : r->in_dot;

  for (int i = 0; i < r->ins; i++) {
    r->in[i] = (lac_var){TAPE_UNNAMED};
    if (needs & NEEDS_IN(i)) LAC_TRY(lac_program_declare(program, LAC_ROLE_IN, i, &r->in_meta[i], &r->in[i]));
  }
  for (int i = 0; i < r->outs; i++) {
    r->out[i] = (lac_var){TAPE_UNNAMED};
    if (needs & NEEDS_OUT(i)) LAC_TRY(lac_program_declare(program, LAC_ROLE_OUT, i, &r->out_meta[i], &r->out[i]));
  }
  for (int i = 0; i < (is_vjp ? r->outs : r->ins); i++) {
    if (!given || given[i]) LAC_TRY(lac_program_declare(program, role, i, &meta[i], &derivative[i]));
  }
done:
  return status;
}

/// The last `core` dimensions of result i, and its dtype, must be those of what it belongs to.
static lac_status program_check_core(lac_program *program, const lac_rule *rule, lac_role role, int i, lac_var var,
                                     int core) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;
  bool is_vjp = role == LAC_ROLE_IN_BAR;
  const lac_meta *like = is_vjp ? &rule->in_meta[i] : &rule->out_meta[i], *meta = lac_tape_meta(program->tape, var);
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];
  bool fits;

  LAC_CHECK(meta || !var.id, LAC_ERR_ABSENT,
            "%s: its %s rule gives %s %d a var that is not on its tape; emit it with r->tape", rule->op->name,
            is_vjp ? "vjp" : "jvp", is_vjp ? "input" : "output", i);
  if (!meta) return LAC_OK;  // absent: zero
  fits = meta->ndim >= core && meta->dtype == like->dtype;
  for (int d = 1; fits && d <= core; d++) fits = meta->shape[meta->ndim - d] == like->shape[like->ndim - d];
  LAC_CHECK(fits, LAC_ERR_SHAPE,
            "%s: its %s rule gives a result of shape %s for %s %d, which has shape %s; mend the rule", rule->op->name,
            is_vjp ? "vjp" : "jvp", lac_shape_text(meta->ndim, meta->shape, have), is_vjp ? "input" : "output", i,
            lac_shape_text(like->ndim, like->shape, want));
done:
  return status;
}

/// One result in the shape of what it belongs to. `vars` are all results.
static lac_status program_take_result(lac_program *program, const lac_rule *rule, lac_role role, lac_var *vars, int i,
                                      int core) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;
  const lac_meta *like = role == LAC_ROLE_IN_BAR ? &rule->in_meta[i] : &rule->out_meta[i];

  LAC_TRY(program_check_core(program, rule, role, i, vars[i], core));
  vars[i] = program_fit(program, vars, program->results, i, like, core);
  LAC_TRY(program->tape->status);
  LAC_TRY(program_check_core(program, rule, role, i, vars[i], like->ndim));
  program->result[i] =
      (lac_port){.role = role, .index = i, .var = lac_tape_place(program->tape, vars[i]), .meta = *like};
done:
  return status;
}

/// Turn what the rule set into results: only what was wanted.
static lac_status program_take_results(lac_program *program, lac_rule *rule, lac_role role) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;
  bool is_vjp = role == LAC_ROLE_IN_BAR;
  lac_var *vars = is_vjp ? rule->in_bar : rule->out_dot;
  lac_operands operands = lac_operands_of(rule->op, rule->patterns);
  lac_operand operand;

  LAC_TRY(lac_program_deliver(program, is_vjp ? rule->ins : rule->outs));
  for (int i = 0; i < rule->ins && is_vjp; i++) {
    if (!rule->wants[i]) vars[i] = (lac_var){0};
  }
  for (int i = 0; i < rule->ins && !is_vjp; i++) lac_operands_next(&operands, &operand);  // to the outputs
  for (int i = 0; i < program->results; i++) {
    lac_operands_next(&operands, &operand);
    LAC_TRY(program_take_result(program, rule, role, vars, i, operand.core));
  }
done:
  return status;
}

/// What the rule is asked for is not set yet.
static void program_unset(lac_rule *rule, bool is_vjp) {
  for (int i = 0; i < rule->ins && is_vjp; i++) rule->in_bar[i].id = rule->wants[i] ? TAPE_UNSET : 0;
  for (int i = 0; i < rule->outs && !is_vjp; i++) rule->out_dot[i].id = TAPE_UNSET;
}

/// A rule says of everything that it was asked for what it is; what it forgets would pass for zero.
static lac_status program_check_set(lac_context *ctx, const lac_rule *rule, bool is_vjp) {
  lac_status status = LAC_OK;
  const lac_var *results = is_vjp ? rule->in_bar : rule->out_dot;

  for (int i = 0; i < (is_vjp ? rule->ins : rule->outs); i++) {
    LAC_CHECK(results[i].id != TAPE_UNSET, LAC_ERR_ABSENT,
              "%s: its %s rule does not set %s[%d], which was asked for; set it, to the absent var where it is zero "
              "(lac_rule_nothing does that for all)",
              rule->op->name, is_vjp ? "vjp" : "jvp", is_vjp ? "in_bar" : "out_dot", i);
  }
done:
  return status;
}

/// Let the rule emit, and take what it gives.
static lac_status program_write_rule(lac_program *program, lac_rule *rule, const lac_request *q) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;
  bool is_vjp = q->result == LAC_ROLE_IN_BAR;

  LAC_CHECK(rule->op->order != 0 && (is_vjp ? rule->op->vjp : rule->op->jvp), LAC_ERR_ORDER,
            "%s: cannot be differentiated again: it has no %s rule", rule->op->name, is_vjp ? "vjp" : "jvp");
  LAC_TRY(program_declare_all(program, rule, q->result, q->given));
  rule->tape = program->tape;
  for (int i = 0; i < rule->ins; i++) rule->wants[i] = is_vjp && (!q->wants || q->wants[i]);
  program_unset(rule, is_vjp);
  (is_vjp ? rule->op->vjp : rule->op->jvp)(rule);
  LAC_TRY(program->tape->status);
  LAC_TRY(program_check_set(ctx, rule, is_vjp));
  LAC_TRY(program_take_results(program, rule, q->result));
done:
  return status;
}

/// The operator itself, as the one step.
static lac_status program_write_forward(lac_program *program, lac_rule *rule, const lac_request *q) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < rule->ins; i++) {
    LAC_TRY(lac_program_declare(program, LAC_ROLE_IN, i, &q->in[i], &rule->in[i]));
  }
  LAC_TRY(lac_tape_call(program->tape, q->spec, rule->in, rule->out));
  LAC_TRY(lac_program_deliver(program, rule->outs));
  for (int i = 0; i < rule->outs; i++) {
    program->result[i] = (lac_port){.role = LAC_ROLE_OUT,
                                    .index = i,
                                    .var = lac_tape_place(program->tape, rule->out[i]),
                                    .meta = rule->out_meta[i]};
  }
done:
  return status;
}

lac_status lac_program_write(lac_context *ctx, const lac_request *q, lac_program **out) {
  lac_status status = LAC_OK;
  lac_program *program = NULL;
  draft d;

  LAC_TRY(draft_open(ctx, q->spec, q->in, &d));
  LAC_TRY(lac_program_open(ctx, TAPE_WRITE, &program));
  LAC_TRY(q->result == LAC_ROLE_OUT ? program_write_forward(program, &d.rule, q)
                                    : program_write_rule(program, &d.rule, q));
  LAC_TRY(lac_program_finish(program));
  *out = program, program = NULL;
done:
  lac_program_destroy(&program);
  draft_close(&d);
  return status;
}
