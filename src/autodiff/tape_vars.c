// SPDX-License-Identifier: Apache-2.0
/// @file tape_vars.c
/// The life of a tape, and the vars on it.

#include <string.h>

#include "autodiff/rule.h"
#include "autodiff/tape_impl.h"

/// A number that no tape had before, as the upper half of ids: a var of another tape, or of before a clear, is found
/// out.
static int64_t tape_new_base(void) {
  static _Atomic int64_t tapes;
  return (atomic_fetch_add(&tapes, 1) + 1) << 32;
}

void lac_tape_init(lac_tape *tape, lac_context *ctx, tape_mode mode) {
  *tape = (lac_tape){
      .ctx = ctx,
      .mode = mode,
      .order = LAC_ANY_ORDER,
      .base = tape_new_base(),
      .vars_count = 1,  // the absent var; its place is never read
  };
}

lac_status lac_tape_open(lac_context *ctx, tape_mode mode, lac_tape **out) {
  lac_status status = LAC_OK;
  lac_tape *tape = NULL;

  LAC_ALLOC(tape, 1);
  lac_tape_init(tape, ctx, mode);
  *out = tape, tape = NULL;
done:
  lac_free(tape);
  return status;
}

lac_status lac_tape_create(lac_context *ctx, lac_tape_mode mode, lac_tape **out) {
  lac_status status = LAC_OK;

  LAC_CHECK(ctx && out, LAC_ERR_ARG, "lac_tape_create: %s is NULL", ctx ? "out" : "ctx");
  LAC_CHECK(mode == LAC_TAPE_RECORD || mode == LAC_TAPE_RUN, LAC_ERR_ARG,
            "lac_tape_create: mode is LAC_TAPE_RECORD or LAC_TAPE_RUN, not %d", (int)mode);
  LAC_TRY(lac_tape_open(ctx, mode == LAC_TAPE_RECORD ? TAPE_RECORD : TAPE_RUN, out));
done:
  return status;
}

void lac_tape_count_needs(lac_tape *tape, const tape_node *node, int by) {
  const uint64_t needs = node->spec.op->vjp_needs | node->spec.op->jvp_needs;
  const int *in = lac_node_in(tape, node), *out = lac_node_out(tape, node);

  if (lac_tape_is_written(tape)) return;
  for (int i = 0; i < node->ins; i++) {
    if (needs & NEEDS_IN(i)) tape->vars[in[i]].needed += by;
  }
  for (int i = 0; i < node->outs; i++) {
    if (needs & NEEDS_OUT(i)) tape->vars[out[i]].needed += by;
  }
}

void lac_tape_truncate(lac_tape *tape, int vars, int nodes) {
  while (tape->nodes_count > nodes) {
    tape_node *node = &tape->nodes[--tape->nodes_count];
    lac_tape_count_needs(tape, node, -1);
    lac_spec_release(&node->spec);
    lac_free(node->solved);
    tape->places_count = node->first;
  }
  while (tape->vars_count > vars) {
    tape_var *var = &tape->vars[--tape->vars_count];
    lac_array_destroy(&var->array);
    lac_object_release(var->meta.partition);
  }
}

void lac_tape_forgive(lac_tape *tape) {
  tape->status = LAC_OK;
  tape->agreed = false;
  lac_free(tape->sentence);
  tape->sentence = NULL;
}

void lac_tape_clear(lac_tape *tape) {
  if (!tape) return;
  tape->base = tape_new_base();
  lac_tape_truncate(tape, 1, 0);
  lac_tape_forgive(tape);
}

void lac_tape_destroy(lac_tape **tape) {
  if (!tape || !*tape) return;
  lac_tape_truncate(*tape, 1, 0);
  lac_free((*tape)->vars);
  lac_free((*tape)->nodes);
  lac_free((*tape)->places);
  lac_free((*tape)->sentence);
  lac_free(*tape);
  *tape = NULL;
}

/// The context may have met other errors since: the tape's own sentence is put back.
lac_status lac_tape_status(const lac_tape *tape) {
  if (!tape) return LAC_ERR_ARG;
  if (tape->sentence && (tape->ctx->status != tape->status || strcmp(tape->sentence, tape->ctx->sentence) != 0)) {
    (void)lac_context_fail(tape->ctx, tape->status, __func__, "%s", tape->sentence);
  }
  return tape->status;
}

/// A copy of the context's sentence; NULL where there is no memory for it.
static char *tape_sentence(const lac_context *ctx) {
  size_t size = strlen(ctx->sentence) + 1;
  char *copy = lac_alloc(size);

  if (copy) memcpy(copy, ctx->sentence, size);
  return copy;
}

lac_var lac_tape_fail(lac_tape *tape, lac_status status) {
  if (tape && tape->status == LAC_OK) {
    tape->status = status;
    if (status != LAC_OK && !tape->few) tape->sentence = tape_sentence(tape->ctx);
  }
  return (lac_var){0};
}

bool lac_tape_results(lac_tape *tape, const char *function, int count, lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;

  LAC_CHECK(out, LAC_ERR_ARG, "%s: the list of results is NULL; give room for %d vars", function, count);
  for (int i = 0; i < count; i++) out[i] = (lac_var){0};
done:
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
  return status == LAC_OK;
}

lac_context *lac_tape_context(const lac_tape *tape) { return tape ? tape->ctx : NULL; }

lac_status lac_tape_grow(lac_context *ctx, void **items, size_t size, int count, int more, int *capacity) {
  lac_status status = LAC_OK;
  int larger = 2 * *capacity < 16 ? 16 : 2 * *capacity;
  void *grown = NULL;

  if (count + more <= *capacity) return LAC_OK;
  if (larger < count + more) larger = count + more;
  grown = lac_realloc(*items, (size_t)larger * size);
  LAC_CHECK(grown, LAC_ERR_MEMORY, "the tape is out of memory after %d entries", count);
  *items = grown;
  *capacity = larger;
done:
  return status;
}

/// Make room for more vars where it is used up. The first few of a plain call are in the caller's memory: they move.
static lac_status tape_grow_vars(lac_tape *tape) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  tape_var *moved = NULL;

  if (tape->few && tape->vars == tape->few) {
    LAC_ALLOC(moved, 2 * tape->vars_capacity);
    memcpy(moved, tape->few, (size_t)tape->vars_count * sizeof *moved);
    tape->vars = moved;
    tape->vars_capacity *= 2;
  }
  LAC_TRY(lac_tape_grow(ctx, (void **)&tape->vars, sizeof *tape->vars, tape->vars_count, 1, &tape->vars_capacity));
done:
  return status;
}

lac_status lac_tape_push_var(lac_tape *tape, const lac_meta *meta, lac_array **array, int node, bool differentiable,
                             int *place) {
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  tape_var *var = NULL;

  if (tape->vars_count >= tape->vars_capacity) LAC_TRY(tape_grow_vars(tape));
  if (tape->vars_count == 1) memset(&tape->vars[0], 0, sizeof tape->vars[0]);
  var = &tape->vars[tape->vars_count];
  var->meta = *meta;
  var->array = array ? *array : NULL;
  var->version = lac_array_version(var->array);
  var->node = node;
  var->needed = 0;
  var->differentiable = differentiable;
  var->released = false;
  lac_object_retain(meta->partition);
  if (array) *array = NULL;
  *place = tape->vars_count++;
done:
  return status;
}

/// Put an array on the tape; on failure the tape fails and the var is absent.
static lac_var tape_input(lac_tape *tape, const lac_array *array, bool differentiable) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  lac_array *held = NULL;
  int place = 0;

  if (!tape || tape->status != LAC_OK) return (lac_var){0};
  LAC_CHECK(
      tape->mode != TAPE_WRITE, LAC_ERR_ARG,
      "a rule put an array on its tape; rules emit operators on what they are given (lac_scale has frozen factors)");
  LAC_CHECK(tape->mode != TAPE_FUNCTION, LAC_ERR_ARG,
            "a function put an array on its tape; functions emit operators on what they are given (lac_full makes "
            "numbers like an input)");
  LAC_CHECK(
      tape->mode != TAPE_SEGMENT || !differentiable, LAC_ERR_ARG,
      "lac_tape_leaf: a segment has no leaves of its own; make it an input of lac_tape_checkpoint, or a constant");
  LAC_CHECK(array, LAC_ERR_ARG, "%s: the array is NULL", differentiable ? "lac_tape_leaf" : "lac_tape_constant");
  LAC_CHECK(array->storage->space == ctx->space, LAC_ERR_DEVICE,
            "%s: the array is not on the tape's device (%s %d); copy it there",
            differentiable ? "lac_tape_leaf" : "lac_tape_constant", lac_context_backend(ctx), ctx->device);
  held = lac_array_retain(array);
  LAC_TRY(lac_tape_push_var(tape, &array->meta, &held, -1, differentiable && tape->mode == TAPE_RECORD, &place));
done:
  lac_array_destroy(&held);
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
  return lac_tape_name(tape, place);
}

lac_var lac_tape_leaf(lac_tape *tape, const lac_array *array) { return tape_input(tape, array, true); }

lac_var lac_tape_constant(lac_tape *tape, const lac_array *array) { return tape_input(tape, array, false); }

lac_var lac_tape_scalar(lac_tape *tape, lac_dtype dtype, double real, double imag) {
  lac_context *ctx = tape ? tape->ctx : NULL;
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  lac_var var = {0};

  if (!tape || tape->status != LAC_OK) return var;
  LAC_TRY(lac_array_create(ctx, dtype, 0, NULL, &array));
  LAC_TRY(lac_array_fill(ctx, array, real, imag));
  var = lac_tape_constant(tape, array);
done:
  lac_array_destroy(&array);
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
  return var;
}

const lac_array *lac_tape_value(const lac_tape *tape, lac_var var) {
  int place = lac_tape_place(tape, var);
  return place && !tape->vars[place].released ? tape->vars[place].array : NULL;
}

const lac_meta *lac_tape_meta(const lac_tape *tape, lac_var var) {
  int place = lac_tape_place(tape, var);
  return place ? &tape->vars[place].meta : NULL;
}

void lac_tape_release(lac_tape *tape, lac_var var) {
  int place = lac_tape_place(tape, var);

  if (!place || lac_tape_is_written(tape)) return;  // a program frees at last use by itself
  tape->vars[place].released = true;
  if (!tape->vars[place].needed) lac_array_destroy(&tape->vars[place].array);
}

lac_status lac_tape_check_fresh(lac_context *ctx, const lac_tape *tape, int place, const char *what) {
  lac_status status = LAC_OK;
  const tape_var *var = &tape->vars[place];

  LAC_CHECK(var->array, LAC_ERR_ARG, "%s: a var that it needs was released (lac_tape_release); release it later", what);
  LAC_CHECK(
      lac_array_version(var->array) == var->version, LAC_ERR_STALE,
      "%s: an array that it needs was written to after it came onto the tape; write to a copy, or start a new tape",
      what);
done:
  return status;
}
