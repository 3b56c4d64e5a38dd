// SPDX-License-Identifier: Apache-2.0
/// @file plain.c
/// Calls without a tape.

#include "autodiff/plain.h"

#include "autodiff/rule.h"
#include "core/backend.h"

bool lac_plain_open(lac_plain *plain, lac_context *ctx, const char *function) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT_OF(function);
  ctx->agreed = false;
  lac_tape_init(&plain->tape, ctx, TAPE_RUN);
  plain->tape.vars = plain->tape.few = plain->few;
  plain->tape.vars_capacity = PLAIN_VARS;
  plain->function = function;
  plain->list = NULL;
  plain->inputs = 0;
done:
  return status == LAC_OK;
}

void lac_plain_give(lac_plain *plain, lac_array **result) {
  lac_context *ctx = plain->tape.ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(result, LAC_ERR_ARG, "%s: result is NULL; give the address of an array, or of NULL for a new one",
            plain->function);
  if (*result && (*result)->storage->space == ctx->space) plain->tape.given = *result;
done:
  if (status != LAC_OK) (void)lac_tape_fail(&plain->tape, status);
}

lac_var lac_plain_in(lac_plain *plain, const char *name, const lac_array *array) {
  lac_context *ctx = plain->tape.ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(array, LAC_ERR_ARG, "%s: %s is NULL; give an array", plain->function, name);
  return lac_plain_may(plain, array);
done:
  return lac_tape_fail(&plain->tape, status);
}

lac_var lac_plain_may(lac_plain *plain, const lac_array *array) {
  lac_tape *tape = &plain->tape;
  lac_context *ctx = tape->ctx;
  lac_status status = LAC_OK;
  lac_array *borrowed = (lac_array *)array;
  int place = 0;

  if (!array || tape->status != LAC_OK) return (lac_var){0};
  LAC_CHECK(array->storage->space == ctx->space, LAC_ERR_DEVICE,
            "%s: array %d is not on the context's device (%s %d); copy it there", plain->function, plain->inputs,
            lac_context_backend(ctx), ctx->device);
  if (tape->given && lac_array_overlaps(array, tape->given)) tape->given = NULL;  // what will be read is not written to
  LAC_TRY(lac_tape_push_var(tape, &array->meta, &borrowed, -1, false, &place));
  plain->inputs = place;
done:
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
  return lac_tape_name(tape, place);
}

const lac_var *lac_plain_list(lac_plain *plain, int count, const lac_array *const *arrays) {
  lac_context *ctx = plain->tape.ctx;
  lac_status status = LAC_OK;

  if (count <= 0) return NULL;
  LAC_CHECK(arrays, LAC_ERR_ARG, "%s: the list of %d arrays is NULL", plain->function, count);
  LAC_ALLOC(plain->list, count);
  for (int i = 0; i < count; i++) plain->list[i] = lac_plain_in(plain, "an array of the list", arrays[i]);
done:
  if (status != LAC_OK) (void)lac_tape_fail(&plain->tape, status);
  return plain->list;
}

/// Copy a result into the array that the caller gave for it.
static lac_status plain_copy(lac_plain *plain, const lac_array *made, lac_array *given) {
  lac_context *ctx = plain->tape.ctx;
  lac_status status = LAC_OK;
  char here[LAC_SHAPE_TEXT], there[LAC_SHAPE_TEXT];

  LAC_CHECK(lac_meta_same(&made->meta, &given->meta), LAC_ERR_SHAPE,
            "%s: the result is %s %s, and the array given for it is %s %s; give one like the result, or NULL for a new "
            "one",
            plain->function, lac_dtype_name(made->meta.dtype), lac_shape_text(made->meta.ndim, made->meta.shape, here),
            lac_dtype_name(given->meta.dtype), lac_shape_text(given->meta.ndim, given->meta.shape, there));
  LAC_CHECK(given->storage->space == ctx->space, LAC_ERR_DEVICE,
            "%s: the array given for the result is not on the context's device (%s %d); give one that is",
            plain->function, lac_context_backend(ctx), ctx->device);
  if (given->storage->data == made->storage->data || !made->count) goto done;
  (void)lac_array_edit(given);
  LAC_TRY(ctx->backend->copy(ctx, made, given));
done:
  return status;
}

/// Bring one result to where the caller wants it: `fresh` receives a new array where none was given. What is an input
/// itself, or shares memory with others, is copied, so that the new array is the caller's alone.
static lac_status plain_take(lac_plain *plain, lac_var made, lac_array *given, lac_array **fresh) {
  lac_context *ctx = plain->tape.ctx;
  lac_status status = LAC_OK;
  const lac_array *array = lac_tape_value(&plain->tape, made);

  LAC_CHECK(array, LAC_ERR_ABSENT, "%s: what it is made of is absent, and so is the result; give an array",
            plain->function);
  if (given) {
    LAC_TRY(plain_copy(plain, array, given));
  } else if (lac_tape_place(&plain->tape, made) > plain->inputs && lac_array_is_sole(array)) {
    *fresh = lac_array_retain(array);
  } else {
    LAC_TRY(lac_array_clone(ctx, array, fresh));
  }
done:
  return status;
}

/// Refuse one array for two results.
static lac_status plain_check_apart(lac_plain *plain, int count, lac_array **const *result) {
  lac_context *ctx = plain->tape.ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < count; i++) {
    for (int j = 0; j < i; j++) {
      bool is_given = *result[i] && *result[j];
      LAC_CHECK(!is_given || !lac_array_overlaps(*result[i], *result[j]), LAC_ERR_ARG,
                "%s: the arrays for results %d and %d share memory; give each its own, or NULL for a new one",
                plain->function, j, i);
    }
  }
done:
  return status;
}

static lac_status plain_take_all(lac_plain *plain, int count, const lac_var *made, lac_array **const *result,
                                 lac_array **fresh) {
  lac_context *ctx = plain->tape.ctx;
  lac_status status = LAC_OK;

  LAC_TRY(plain->tape.status);
  for (int i = 0; i < count; i++) {
    LAC_CHECK(result[i], LAC_ERR_ARG, "%s: the list of results is NULL; give %d places, each with an array or NULL",
              plain->function, count);
  }
  if (count > 1) LAC_TRY(plain_check_apart(plain, count, result));
  for (int i = 0; i < count; i++) LAC_TRY(plain_take(plain, made[i], *result[i], &fresh[i]));
done:
  return status;
}

/// Let go of all vars but the inputs, which are the caller's.
static void plain_release(lac_plain *plain) {
  for (int i = 1; i <= plain->inputs; i++) plain->tape.vars[i].array = NULL;
  lac_tape_truncate(&plain->tape, 1, 0);
  if (plain->tape.vars != plain->few) lac_free(plain->tape.vars);
  lac_free(plain->list);
}

lac_status lac_plain_close(lac_plain *plain, int count, const lac_var *made, lac_array **const *result) {
  lac_context *ctx = plain->tape.ctx;
  lac_array *fresh[LAC_FUNCTION_OUTS] = {NULL};
  lac_status status = plain_take_all(plain, count, made, result, fresh);

  plain_release(plain);
  if (!ctx->agreed) status = lac_call_agree(ctx, status);
  for (int i = 0; i < count; i++) {
    if (status == LAC_OK && fresh[i]) *result[i] = fresh[i], fresh[i] = NULL;
    lac_array_destroy(&fresh[i]);
  }
  return status;
}
