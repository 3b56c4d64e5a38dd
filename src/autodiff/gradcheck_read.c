// SPDX-License-Identifier: Apache-2.0
/// @file gradcheck_read.c
/// Readings of a function for the gradient check: numbers of its outputs, tangents and adjoints at a point.

#include "autodiff/gradcheck_impl.h"
#include "core/array_impl.h"
#include "core/number_at.h"
#include "core/numbers/random.h"

/// What a level's function gave: its outputs on a tape.
typedef struct outputs {
  int count;
  lac_var var[CHECK_MAX_LEAVES];
} outputs;

/// The next random number, uniform in (-1, 1).
static double read_random(check *c) { return lac_random_unit(c->options.seed, c->drawn++); }

/// The numbers of an array as complex doubles on the host; owned by the caller.
static lac_status read_numbers(lac_context *ctx, const lac_array *array, double complex **out) {
  lac_status status = LAC_OK;
  double complex *numbers = NULL;
  char *raw = NULL;

  LAC_ALLOC(numbers, array->count);
  LAC_ALLOC(raw, (size_t)array->count * lac_dtype_size(array->meta.dtype));
  LAC_TRY(lac_array_read(ctx, array, raw));
  for (int64_t i = 0; i < array->count; i++) numbers[i] = lac_number_get(array->meta.dtype, raw, i);
  *out = numbers, numbers = NULL;
done:
  lac_free(raw);
  lac_free(numbers);
  return status;
}

static lac_status read_write(lac_context *ctx, lac_array *array, const double complex *numbers) {
  lac_status status = LAC_OK;
  char *raw = NULL;

  LAC_ALLOC(raw, (size_t)array->count * lac_dtype_size(array->meta.dtype));
  for (int64_t i = 0; i < array->count; i++) lac_number_put(array->meta.dtype, raw, i, numbers[i]);
  LAC_TRY(lac_array_write(ctx, array, raw));
done:
  lac_free(raw);
  return status;
}

/// An array like `meta` with random numbers of size `scale`.
static lac_status read_direction(check *c, const lac_meta *meta, double scale, lac_array **out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  double complex *numbers = NULL;

  LAC_TRY(lac_array_make(ctx, meta, &array));
  LAC_ALLOC(numbers, array->count);
  for (int64_t i = 0; i < array->count; i++) {
    numbers[i] = scale * read_random(c);
    if (lac_dtype_is_complex(meta->dtype)) numbers[i] += PAIR(0.0, scale * read_random(c));
  }
  LAC_TRY(read_write(ctx, array, numbers));
  *out = array, array = NULL;
done:
  lac_free(numbers);
  lac_array_destroy(&array);
  return status;
}

/// The largest number of an array.
static lac_status read_size(lac_context *ctx, const lac_array *array, double *out) {
  lac_status status = LAC_OK;
  double complex *numbers = NULL;

  LAC_TRY(read_numbers(ctx, array, &numbers));
  *out = 0;
  for (int64_t i = 0; i < array->count; i++) *out = check_max(*out, cabs(numbers[i]));
done:
  lac_free(numbers);
  return status;
}

lac_status lac_check_draw(check *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < c->count; i++) {
    if (!(c->subset >> i & 1)) continue;
    LAC_TRY(read_size(ctx, c->leaves[i], &c->size[i]));
    if (!(c->size[i] > 0)) c->size[i] = 1;
    LAC_TRY(read_direction(c, &c->leaves[i]->meta, c->size[i], &c->x_dot[i]));
  }
done:
  return status;
}

void lac_check_forget(check *c) {
  for (int i = 0; i < CHECK_MAX_LEAVES; i++) lac_array_destroy(&c->x_dot[i]), lac_array_destroy(&c->seed[i]);
}

/// x + step x_dot, and with a `rounding` that is not 0 a random number up to that besides, as a new array.
static lac_status read_moved(check *c, const lac_array *x, double step, const lac_array *x_dot, double rounding,
                             lac_array **out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_array *moved = NULL;
  double complex *at = NULL, *by = NULL;

  LAC_TRY(read_numbers(ctx, x, &at));
  if (x_dot) LAC_TRY(read_numbers(ctx, x_dot, &by));
  for (int64_t k = 0; k < x->count; k++) {
    if (by) at[k] += step * by[k];
    if (rounding > 0) at[k] += rounding * read_random(c);
    if (rounding > 0 && lac_dtype_is_complex(x->meta.dtype)) at[k] += PAIR(0.0, rounding * read_random(c));
  }
  LAC_TRY(lac_array_make(ctx, &x->meta, &moved));
  LAC_TRY(read_write(ctx, moved, at));
  *out = moved, moved = NULL;
done:
  lac_free(at);
  lac_free(by);
  lac_array_destroy(&moved);
  return status;
}

/// A rounding of the largest number of an array, in a stirred reading.
static double read_rounding(check_point at, const lac_array *array, double size) {
  return at.is_stirred ? lac_dtype_epsilon(array->meta.dtype) * size : 0;
}

/// A direction on the tape; in a stirred reading moved by a rounding, since the derivative may not depend on x.
static lac_status read_put(check *c, lac_tape *tape, check_point at, const lac_array *direction, double size,
                           lac_var *out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_array *moved = NULL;
  const double rounding = read_rounding(at, direction, size);

  if (rounding > 0) LAC_TRY(read_moved(c, direction, 0, NULL, rounding, &moved));
  *out = lac_tape_constant(tape, moved ? moved : direction);
  LAC_TRY(lac_tape_status(tape));
done:
  lac_array_destroy(&moved);
  return status;
}

/// A gradient that is absent, since the function does not use the leaf, is a zero.
static lac_status read_zero(lac_context *ctx, lac_tape *tape, const lac_meta *meta, lac_var *out) {
  lac_status status = LAC_OK;
  lac_array *zero = NULL;

  LAC_TRY(lac_array_make(ctx, meta, &zero));
  LAC_TRY(lac_array_fill(ctx, zero, 0, 0));
  *out = lac_tape_constant(tape, zero);
  LAC_TRY(lac_tape_status(tape));
done:
  lac_array_destroy(&zero);
  return status;
}

/// Build the level's function at the given arrays: leaves on the tape, outputs of the function or of its gradient.
static lac_status read_build(check *c, lac_tape *tape, lac_array *const *at, lac_var *leaf, outputs *out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_var y, seed, asked[CHECK_MAX_LEAVES];
  int n = 0;

  for (int i = 0; i < c->count; i++) {
    leaf[i] = c->subset >> i & 1 ? lac_tape_leaf(tape, at[i]) : lac_tape_constant(tape, at[i]);
    if (c->subset >> i & 1) asked[n++] = leaf[i];
  }
  y = c->function(tape, leaf, c->user);
  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(lac_tape_value(tape, y), LAC_ERR_ABSENT, "lac_gradcheck: the function returned an absent var");
  if (c->level == 1) {
    *out = (outputs){.count = 1, .var = {y}};
  } else {
    seed = lac_tape_constant(tape, c->y_bar);
    out->count = n;
    LAC_TRY(lac_tape_vjp(tape, 1, &y, &seed, n, asked, out->var, LAC_GRAPH_CREATE));
    for (int i = 0; i < n; i++) {
      if (!out->var[i].id) LAC_TRY(read_zero(ctx, tape, lac_tape_meta(tape, asked[i]), &out->var[i]));
    }
  }
done:
  return status;
}

/// Re <a, b>, and the sum of |terms|; an absent array is zero.
static lac_status read_inner(lac_context *ctx, const lac_array *a, const lac_array *b, double *value, double *terms) {
  lac_status status = LAC_OK;
  double complex *x = NULL, *y = NULL;

  if (!a || !b) return LAC_OK;
  LAC_TRY(read_numbers(ctx, a, &x));
  LAC_TRY(read_numbers(ctx, b, &y));
  for (int64_t i = 0; i < a->count; i++) {
    *value += creal(conj(x[i]) * y[i]);
    *terms += cabs(x[i]) * cabs(y[i]);
  }
done:
  lac_free(x);
  lac_free(y);
  return status;
}

/// Seeds for the outputs, drawn once. That of the function itself stays for its gradient.
static lac_status read_seeds(check *c, lac_tape *tape, const outputs *out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < out->count; i++) {
    if (!c->seed[i]) LAC_TRY(read_direction(c, lac_tape_meta(tape, out->var[i]), 1, &c->seed[i]));
  }
  if (!c->y_bar) c->y_bar = lac_array_retain(c->seed[0]);
done:
  return status;
}

/// J x_dot and J^H seed.
static lac_status read_derivatives(check *c, lac_tape *tape, check_point at, const lac_var *leaf, const outputs *out,
                                   reading *r) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_var x[CHECK_MAX_LEAVES], x_dot[CHECK_MAX_LEAVES], x_bar[CHECK_MAX_LEAVES];
  lac_var seed[CHECK_MAX_LEAVES], y_dot[CHECK_MAX_LEAVES];
  int ins = 0;

  LAC_TRY(read_seeds(c, tape, out));
  for (int i = 0; i < c->count; i++) {
    if (!(c->subset >> i & 1)) continue;
    x[ins] = leaf[i];
    LAC_TRY(read_put(c, tape, at, c->x_dot[i], c->size[i], &x_dot[ins++]));
  }
  for (int i = 0; i < out->count; i++) LAC_TRY(read_put(c, tape, at, c->seed[i], 1, &seed[i]));
  LAC_TRY(lac_tape_jvp(tape, ins, x, x_dot, out->count, out->var, y_dot, LAC_GRAPH_NONE));
  LAC_TRY(lac_tape_vjp(tape, out->count, out->var, seed, ins, x, x_bar, LAC_GRAPH_NONE));
  for (int i = 0; i < out->count; i++) {
    const lac_array *tangent = lac_tape_value(tape, y_dot[i]);
    LAC_TRY(read_inner(ctx, lac_tape_value(tape, seed[i]), tangent, &r->forward, &r->terms));
    if (tangent) LAC_TRY(read_numbers(ctx, tangent, &r->tangent[i]));
  }
  for (int j = 0; j < ins; j++) {
    LAC_TRY(read_inner(ctx, lac_tape_value(tape, x_bar[j]), lac_tape_value(tape, x_dot[j]), &r->reverse, &r->terms));
  }
done:
  return status;
}

double lac_check_adjoint(const reading *r) { return r->terms == 0 ? 0 : (r->forward - r->reverse) / r->terms; }

lac_status lac_check_read(check *c, check_point at, reading *out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_tape *tape = NULL;
  lac_array *x[CHECK_MAX_LEAVES] = {NULL};
  lac_var leaf[CHECK_MAX_LEAVES];
  outputs outs;
  reading r = {0};

  for (int i = 0; i < c->count; i++) {
    const bool moves = c->x_dot[i] && (at.step != 0 || at.is_stirred);
    if (!moves) x[i] = lac_array_retain(c->leaves[i]);
    if (!moves) continue;
    double rounding = read_rounding(at, c->leaves[i], c->size[i]);
    LAC_TRY(read_moved(c, c->leaves[i], at.step, c->x_dot[i], rounding, &x[i]));
  }
  if (at.is_stirred) ctx->stir = lac_random_bits(c->options.seed, c->drawn++) | 1;
  LAC_TRY(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  LAC_TRY(read_build(c, tape, x, leaf, &outs));
  r.outs = outs.count;
  for (int i = 0; i < outs.count; i++) {
    const lac_array *value = lac_tape_value(tape, outs.var[i]);
    r.count[i] = value->count;
    LAC_TRY(read_numbers(ctx, value, &r.value[i]));
  }
  if (at.has_derivatives) LAC_TRY(read_derivatives(c, tape, at, leaf, &outs, &r));
  *out = r, r = (reading){0};
done:
  ctx->stir = 0;
  for (int i = 0; i < c->count; i++) lac_array_destroy(&x[i]);
  lac_tape_destroy(&tape);
  lac_check_free(&r);
  return status;
}

void lac_check_free(reading *r) {
  for (int i = 0; i < CHECK_MAX_LEAVES; i++) lac_free(r->value[i]), lac_free(r->tangent[i]);
  *r = (reading){0};
}
