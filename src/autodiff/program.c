// SPDX-License-Identifier: Apache-2.0
/// @file program.c
/// Writing programs: a rule is run on a tape that only writes, and what it emitted becomes a program.
///
/// Adjoints must have the shape of what they are adjoint to. Where an input was broadcast over a batch, its adjoint is summed
/// over that batch; the sum is moved into the kernel that makes the adjoint when it can do that, so that nothing of the
/// size batch x nnz appears.

#include <string.h>

#include "autodiff/tape_impl.h"
#include "lacuna/ops.h"

/// Whether the d-th axis from the right is spread over ranks. Its size here says nothing: it may be 1 on this rank alone.
static bool program_is_spread(const lac_meta *meta, int d) {
  return meta->partition && meta->ndim - 1 - meta->partition_axis == d;
}

/// How many calls and results read a var.
static int program_uses(const lac_program *program, const lac_var *results, int count, int place) {
  const lac_tape *tape = program->tape;
  int uses = 0;

  for (int n = 0; n < tape->nodes_count; n++) {
    for (int i = 0; i < tape->nodes[n].ins; i++) uses += tape->nodes[n].in[i] == place;
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
  if (node->spec.op->flags & LAC_POINTWISE) {
    if (!program_fit_inside(program, results, count, node->in[0], like)) return false;
  } else if (node->spec.op->flags & LAC_SUMS_BATCH) {
    node->spec.attrs.fit = 1;
    lac_meta_take_shape(&node->spec.attrs.like, like);
  } else {
    return false;
  }
  lac_meta_take_shape(&var->meta, like);
  return true;
}

/// Spread a result to the shape `like` along dimensions that it lacks or has with size 1: the tangent of a broadcast sum.
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
  if (grown) var = lac_broadcast(tape, var, &same_ndim, grown, LAC_KEEP_AXES);
  if (added) var = lac_broadcast(tape, var, like, added, LAC_DROP_AXES);
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
  if (keep) var = lac_sum_axes(tape, var, keep, LAC_KEEP_AXES);
  if (drop) var = lac_sum_axes(tape, var, drop, LAC_DROP_AXES);
  return var;
}

lac_status lac_program_declare(lac_program *program, lac_role role, int index, const lac_meta *meta, lac_var *out) {
  lac_port *port = &program->input[program->inputs];
  int place;
  lac_status status = lac_tape_push_var(program->tape, meta, NULL, -1, true, &place);

  if (status != LAC_OK) return status;
  *port = (lac_port){.role = role, .index = index, .var = place, .meta = *meta};
  program->inputs++;
  *out = lac_tape_name(program->tape, place);
  return LAC_OK;
}

/// The vars that a rule may read: what its needs mask names, and the adjoints or tangents that exist.
static lac_status program_declare_all(lac_program *program, lac_rule *r, const lac_signature *s, lac_role result,
                                      uint32_t given) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;
  bool is_vjp = result == LAC_ROLE_IN_BAR;
  uint32_t needs = is_vjp ? r->op->vjp_needs : r->op->jvp_needs;

  for (int i = 0; i < s->ins; i++) {
    r->in[i] = (lac_var){TAPE_UNNAMED};
    if (needs >> i & 1) LAC_TRY(lac_program_declare(program, LAC_ROLE_IN, i, &r->in_meta[i], &r->in[i]));
  }
  for (int i = 0; i < s->outs; i++) {
    r->out[i] = (lac_var){TAPE_UNNAMED};
    if (needs >> (8 + i) & 1) LAC_TRY(lac_program_declare(program, LAC_ROLE_OUT, i, &r->out_meta[i], &r->out[i]));
  }
  for (int i = 0; i < s->outs && is_vjp; i++) {
    if (given >> i & 1) LAC_TRY(lac_program_declare(program, LAC_ROLE_OUT_BAR, i, &r->out_meta[i], &r->out_bar[i]));
  }
  for (int i = 0; i < s->ins && !is_vjp; i++) {
    if (given >> i & 1) LAC_TRY(lac_program_declare(program, LAC_ROLE_IN_DOT, i, &r->in_meta[i], &r->in_dot[i]));
  }
done:
  return status;
}

/// Drop the calls of which no result is read. `is_read` is of each var, and zero.
static void program_prune(lac_program *program, bool *is_read) {
  lac_tape *tape = program->tape;
  int kept = tape->nodes_count;

  for (int i = 0; i < program->results; i++) is_read[program->result[i].var] = true;
  for (int n = tape->nodes_count - 1; n >= 0; n--) {  // the kept ones gather at the end
    const tape_node node = tape->nodes[n];
    bool is_live = false;
    for (int i = 0; i < node.outs; i++) is_live |= is_read[node.out[i]];
    for (int i = 0; i < node.ins && is_live; i++) is_read[node.in[i]] = true;
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
  LAC_ALLOC(is_read, tape->vars_count);
  program_prune(program, is_read);
  for (int v = 0; v < tape->vars_count; v++) program->last_use[v] = -1;
  for (int n = 0; n < tape->nodes_count; n++) {
    for (int i = 0; i < tape->nodes[n].ins; i++) program->last_use[tape->nodes[n].in[i]] = n;
  }
  for (int i = 0; i < program->inputs; i++) {
    if (is_read[program->input[i].var]) program->input[kept++] = program->input[i];
  }
  program->inputs = kept;
done:
  lac_free(is_read);
  return status;
}

lac_status lac_program_open(lac_context *ctx, tape_mode mode, lac_program **out) {
  lac_status status = LAC_OK;
  lac_program *program = NULL;

  LAC_ALLOC(program, 1);
  LAC_TRY(lac_tape_open(ctx, mode, &program->tape));
  *out = program, program = NULL;
done:
  lac_program_destroy(&program);
  return status;
}

/// Infer the call of `spec` on these metas and start its rule.
static lac_status program_rule(lac_context *ctx, const lac_spec *spec, const lac_meta *in, lac_signature *signature,
                               lac_rule *rule) {
  lac_status status = LAC_OK;
  lac_call call;

  LAC_TRY(lac_call_begin(ctx, spec, signature, &call));
  for (int i = 0; i < signature->ins; i++) {
    LAC_TRY(lac_meta_check(ctx, spec->op->name, &in[i]));
    call.in_meta[i] = in[i];
  }
  LAC_TRY(lac_call_infer(&call, signature->outs));
  *rule = (lac_rule){.op = spec->op, .patterns = spec->patterns, .object = spec->object, .attrs = &spec->attrs};
  memcpy(rule->in_meta, call.in_meta, sizeof rule->in_meta);
  memcpy(rule->out_meta, call.out_meta, sizeof rule->out_meta);
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

/// Turn what the rule set into results: only what was wanted, each in the shape of what it belongs to.
static lac_status program_take_results(lac_program *program, const lac_rule *rule, const lac_signature *signature,
                                       lac_role role) {
  lac_context *ctx = program->tape->ctx;
  lac_status status = LAC_OK;
  bool is_vjp = role == LAC_ROLE_IN_BAR;
  const int *core = signature->core + (is_vjp ? 0 : signature->ins);
  const lac_meta *like = is_vjp ? rule->in_meta : rule->out_meta;
  lac_var var[LAC_MAX_IN] = {{0}};

  program->results = is_vjp ? signature->ins : signature->outs;
  for (int i = 0; i < program->results; i++) {
    if (is_vjp ? rule->wants[i] : 1) var[i] = is_vjp ? rule->in_bar[i] : rule->out_dot[i];
  }
  for (int i = 0; i < program->results; i++) {
    LAC_TRY(program_check_core(program, rule, role, i, var[i], core[i]));
    var[i] = program_fit(program, var, program->results, i, &like[i], core[i]);
    LAC_TRY(program->tape->status);
    LAC_TRY(program_check_core(program, rule, role, i, var[i], like[i].ndim));
    program->result[i] =
        (lac_port){.role = role, .index = i, .var = lac_tape_place(program->tape, var[i]), .meta = like[i]};
  }
done:
  return status;
}

lac_status lac_program_write(lac_context *ctx, const lac_spec *spec, const lac_meta *in, lac_role result,
                             uint32_t wants, uint32_t given, lac_program **out) {
  lac_status status = LAC_OK;
  lac_program *program = NULL;
  lac_signature signature;
  lac_rule rule;
  bool is_vjp = result == LAC_ROLE_IN_BAR;

  LAC_TRY(program_rule(ctx, spec, in, &signature, &rule));
  LAC_CHECK(rule.op->order != 0 && (is_vjp ? rule.op->vjp : rule.op->jvp), LAC_ERR_ORDER,
            "%s: cannot be differentiated again: it has no %s rule", rule.op->name, is_vjp ? "vjp" : "jvp");
  LAC_TRY(lac_program_open(ctx, TAPE_WRITE, &program));
  LAC_TRY(program_declare_all(program, &rule, &signature, result, given));
  rule.tape = program->tape;
  for (int i = 0; i < signature.ins; i++) rule.wants[i] = is_vjp && (wants >> i & 1);
  (is_vjp ? rule.op->vjp : rule.op->jvp)(&rule);
  LAC_TRY(program->tape->status);
  LAC_TRY(program_take_results(program, &rule, &signature, result));
  LAC_TRY(lac_program_finish(program));
  *out = program, program = NULL;
done:
  lac_program_destroy(&program);
  return status;
}

lac_status lac_program_forward(lac_context *ctx, const lac_spec *spec, const lac_meta *in, lac_program **out) {
  lac_status status = LAC_OK;
  lac_program *program = NULL;
  lac_signature signature;
  lac_rule rule;
  lac_var vars[LAC_MAX_IN], results[LAC_MAX_OUT];

  LAC_CHECK(spec && in && out, LAC_ERR_ARG, "lac_program_forward: spec, in or out is NULL");
  LAC_TRY(program_rule(ctx, spec, in, &signature, &rule));
  LAC_TRY(lac_program_open(ctx, TAPE_WRITE, &program));
  for (int i = 0; i < signature.ins; i++) LAC_TRY(lac_program_declare(program, LAC_ROLE_IN, i, &in[i], &vars[i]));
  LAC_TRY(lac_tape_call(program->tape, spec, vars, results));
  program->results = signature.outs;
  for (int i = 0; i < signature.outs; i++) {
    program->result[i] = (lac_port){
        .role = LAC_ROLE_OUT, .index = i, .var = lac_tape_place(program->tape, results[i]), .meta = rule.out_meta[i]};
  }
  LAC_TRY(lac_program_finish(program));
  *out = program, program = NULL;
done:
  lac_program_destroy(&program);
  return status;
}

lac_status lac_program_vjp(lac_context *ctx, const lac_spec *spec, const lac_meta *in, uint32_t wants,
                           uint32_t out_bars, lac_program **out) {
  lac_status status = LAC_OK;

  LAC_CHECK(spec && in && out, LAC_ERR_ARG, "lac_program_vjp: spec, in or out is NULL");
  LAC_TRY(lac_program_write(ctx, spec, in, LAC_ROLE_IN_BAR, wants, out_bars, out));
done:
  return status;
}

lac_status lac_program_jvp(lac_context *ctx, const lac_spec *spec, const lac_meta *in, uint32_t in_dots,
                           lac_program **out) {
  lac_status status = LAC_OK;

  LAC_CHECK(spec && in && out, LAC_ERR_ARG, "lac_program_jvp: spec, in or out is NULL");
  LAC_TRY(lac_program_write(ctx, spec, in, LAC_ROLE_OUT_DOT, 0, in_dots, out));
done:
  return status;
}

void lac_program_destroy(lac_program **program) {
  if (!program || !*program) return;
  lac_tape_destroy(&(*program)->tape);
  lac_free((*program)->last_use);
  lac_free(*program);
  *program = NULL;
}

int lac_program_inputs(const lac_program *program) { return program->inputs; }
int lac_program_results(const lac_program *program) { return program->results; }
int lac_program_steps(const lac_program *program) { return program->tape->nodes_count; }

const lac_port *lac_program_input(const lac_program *program, int i) {
  return i >= 0 && i < program->inputs ? &program->input[i] : NULL;
}

const lac_port *lac_program_result(const lac_program *program, int i) {
  return i >= 0 && i < program->results ? &program->result[i] : NULL;
}

lac_step lac_program_step(const lac_program *program, int i) {
  if (i < 0 || i >= program->tape->nodes_count) return (lac_step){.spec = NULL};
  const tape_node *node = &program->tape->nodes[i];
  lac_step step = {.spec = &node->spec, .ins = node->ins, .outs = node->outs};

  memcpy(step.in, node->in, sizeof step.in);
  memcpy(step.out, node->out, sizeof step.out);
  return step;
}
