// SPDX-License-Identifier: Apache-2.0
/// @file factored.c
/// Objects that are a factor of a matrix, or a solver that factors when asked.

#include "ops/solves/factored.h"

static bool factored_is_factor(const void *object) { return ((const lac_object *)object)->kind == &lac_factor_kind; }

static bool factored_is_solver(const void *object) { return ((const lac_object *)object)->kind == &lac_solver_kind; }

const lac_pattern *lac_factored_pattern(const void *object) { return lac_core_of(object)->pattern; }

lac_status lac_call_factor(lac_call *call, int a, lac_factor **out) {
  lac_context *ctx = call->ctx;
  lac_status status = LAC_OK;
  int matches = 0;

  if (factored_is_factor(call->object)) {
    LAC_TRY(lac_factor_matches(ctx, call->op->name, call->object, call->in[a], &matches));
    LAC_CHECK(matches, LAC_ERR_STALE, "%s: the factor was made of other values; factor these first (lac_solver_factor)",
              call->op->name);
    *out = lac_factor_retain(call->object);
  } else {
    LAC_TRY(lac_solver_take_factor(ctx, call->object, call->in[a], out));
  }
done:
  return status;
}

void lac_tape_call_factored(lac_tape *tape, const char *function, const void *object, lac_spec spec, const lac_var *in,
                            lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_factor *factor = NULL;

  for (int i = 0; i < lac_op_outputs(spec.op); i++) out[i] = (lac_var){0};
  if (!lac_tape_has(tape, function, lac_op_inputs(spec.op), in)) return;
  LAC_CHECK(object, LAC_ERR_ARG, "%s: the solver is NULL; see lac_solver_create", function);
  spec.object = object;
  if (factored_is_solver(object) && lac_tape_value(tape, in[0])) {
    LAC_TRY(lac_tape_judge(tape, &spec, in));
    LAC_TRY(lac_solver_factor(ctx, object, lac_tape_value(tape, in[0]), &factor));
    spec.object = factor;
  }
  (void)lac_tape_call(tape, &spec, in, out);  // the status sticks to the tape
done:
  lac_factor_destroy(&factor);
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
}

lac_status lac_tape_hermitian(lac_tape *tape, const lac_pattern *pattern, lac_var x, lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *transpose = NULL;
  lac_map *map = NULL;

  LAC_TRY(lac_pattern_transpose(ctx, pattern, &transpose, &map));
  x = lac_scale(tape, x, 0.5, 0);
  *out = lac_add(tape, x, lac_conj(tape, lac_emit_along(tape, map, x, LAC_PLAIN)));
done:
  lac_map_destroy(&map);
  lac_pattern_destroy(&transpose);
  return status;
}

lac_var lac_emit_size(lac_tape *tape, lac_var x, lac_dtype dtype) {
  const lac_meta *meta = lac_tape_meta(tape, x);
  lac_var size = {0};

  if (meta && meta->shape[meta->ndim - 1] == 0) return lac_full(tape, x, 1, (int64_t[]){1}, 1, 0);
  size = lac_magnitude(tape, lac_norm_inf(tape, x, LAC_AXES(-1), true));
  return lac_dtype_is_complex(dtype) ? lac_cast(tape, size, dtype) : size;
}

lac_var lac_emit_pairing(lac_tape *tape, lac_var x, lac_var y) {
  return lac_dot(tape, lac_emit_column(tape, lac_conj(tape, x)), lac_emit_column(tape, y));
}
