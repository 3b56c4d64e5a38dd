// SPDX-License-Identifier: Apache-2.0
/// @file gradcheck.c
/// Check derivatives in random directions.
///
///     adjoint   Re <y_bar, J x_dot> = Re <J^H y_bar, x_dot>                 no step size: to rounding
///     tangent   J x_dot             = (f(x + h x_dot) - f(x - h x_dot)) / 2h
///
/// The second order is the first order of the gradient: the function x -> J(x)^H y_bar with y_bar frozen.

#include "lacuna/gradcheck.h"

#include <complex.h>
#include <float.h>
#include <math.h>

#include "core/array_impl.h"

enum { CHECK_MAX_LEAVES = 16 };

typedef struct check {
  lac_context *ctx;
  lac_function function;
  void *user;
  int count;
  uint32_t subset;    // which leaves are differentiated
  int level;          // 1: the function, 2: its gradient
  lac_array *y_bar;   // the frozen seed of the gradient
  lac_gradcheck_options options;
  uint64_t state;     // of the random numbers
} check;

/// What a level's function gave: its outputs on a tape.
typedef struct outputs {
  int count;
  lac_var var[CHECK_MAX_LEAVES];
} outputs;

lac_gradcheck_options lac_gradcheck_options_defaults(void) { return (lac_gradcheck_options){.order = 2, .seed = 1}; }

/// Uniform in (-1, 1); splitmix64.
static double check_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-52 - 1;
}

static double check_epsilon(const lac_array *array) {
  return array->meta.dtype == LAC_F32 || array->meta.dtype == LAC_C64 ? FLT_EPSILON : DBL_EPSILON;
}

/// The numbers of an array as complex doubles on the host; owned by the caller.
static lac_status check_read(lac_context *ctx, const lac_array *array, double complex **out) {
  lac_status status = LAC_OK;
  double complex *numbers = NULL;
  char *raw = NULL;

  LAC_ALLOC(numbers, array->count);
  LAC_ALLOC(raw, (size_t)array->count * lac_dtype_size(array->meta.dtype));
  LAC_TRY(lac_array_read(ctx, array, raw));
  for (int64_t i = 0; i < array->count; i++) {
    switch (array->meta.dtype) {
      case LAC_F32: numbers[i] = ((float *)(void *)raw)[i]; break;
      case LAC_F64: numbers[i] = ((double *)(void *)raw)[i]; break;
      case LAC_C64: numbers[i] = ((float complex *)(void *)raw)[i]; break;
      case LAC_C128: numbers[i] = ((double complex *)(void *)raw)[i]; break;
    }
  }
  *out = numbers, numbers = NULL;
done:
  lac_free(raw);
  lac_free(numbers);
  return status;
}

static lac_status check_write(lac_context *ctx, lac_array *array, const double complex *numbers) {
  lac_status status = LAC_OK;
  char *raw = NULL;

  LAC_ALLOC(raw, (size_t)array->count * lac_dtype_size(array->meta.dtype));
  for (int64_t i = 0; i < array->count; i++) {
    switch (array->meta.dtype) {
      case LAC_F32: ((float *)(void *)raw)[i] = (float)creal(numbers[i]); break;
      case LAC_F64: ((double *)(void *)raw)[i] = creal(numbers[i]); break;
      case LAC_C64: ((float complex *)(void *)raw)[i] = (float complex)numbers[i]; break;
      case LAC_C128: ((double complex *)(void *)raw)[i] = numbers[i]; break;
    }
  }
  LAC_TRY(lac_array_write(ctx, array, raw));
done:
  lac_free(raw);
  return status;
}

/// An array like `meta` with random numbers of size `scale`.
static lac_status check_direction(check *c, const lac_meta *meta, double scale, lac_array **out) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_array *array = NULL;
  double complex *numbers = NULL;

  LAC_TRY(lac_array_make(ctx, meta, &array));
  LAC_ALLOC(numbers, array->count);
  for (int64_t i = 0; i < array->count; i++) {
    numbers[i] = scale * check_random(&c->state);
    if (lac_dtype_is_complex(meta->dtype)) numbers[i] += I * scale * check_random(&c->state);
  }
  LAC_TRY(check_write(ctx, array, numbers));
  *out = array, array = NULL;
done:
  lac_free(numbers);
  lac_array_destroy(&array);
  return status;
}

/// The largest number of an array.
static lac_status check_size(lac_context *ctx, const lac_array *array, double *out) {
  lac_status status = LAC_OK;
  double complex *numbers = NULL;

  LAC_TRY(check_read(ctx, array, &numbers));
  *out = 0;
  for (int64_t i = 0; i < array->count; i++) *out = fmax(*out, cabs(numbers[i]));
done:
  lac_free(numbers);
  return status;
}

/// x + h x_dot, as a new array.
static lac_status check_moved(lac_context *ctx, const lac_array *x, const lac_array *x_dot, double h, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *moved = NULL;
  double complex *at = NULL, *by = NULL;

  LAC_TRY(check_read(ctx, x, &at));
  LAC_TRY(check_read(ctx, x_dot, &by));
  for (int64_t i = 0; i < x->count; i++) at[i] += h * by[i];
  LAC_TRY(lac_array_make(ctx, &x->meta, &moved));
  LAC_TRY(check_write(ctx, moved, at));
  *out = moved, moved = NULL;
done:
  lac_free(at);
  lac_free(by);
  lac_array_destroy(&moved);
  return status;
}

/// Build the level's function at the given arrays: leaves on the tape, outputs of the function or of its gradient.
static lac_status check_build(check *c, lac_tape *tape, const lac_array *const *at, lac_var *leaf, outputs *out) {
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
    LAC_TRY(lac_tape_vjp(tape, 1, &y, &seed, n, asked, out->var, LAC_CREATE_GRAPH));
  }
done:
  return status;
}

/// Re <a, b>, and the sum of |terms|; an absent array is zero.
static lac_status check_inner(lac_context *ctx, const lac_array *a, const lac_array *b, double *value, double *terms) {
  lac_status status = LAC_OK;
  double complex *x = NULL, *y = NULL;

  if (!a || !b) return LAC_OK;
  LAC_TRY(check_read(ctx, a, &x));
  LAC_TRY(check_read(ctx, b, &y));
  for (int64_t i = 0; i < a->count; i++) {
    *value += creal(conj(x[i]) * y[i]);
    *terms += cabs(x[i]) * cabs(y[i]);
  }
done:
  lac_free(x);
  lac_free(y);
  return status;
}

/// The directions of one comparison: tangents of the leaves, seeds of the outputs.
typedef struct directions {
  lac_array *x_dot[CHECK_MAX_LEAVES], *seed[CHECK_MAX_LEAVES];
} directions;

static void check_free_directions(directions *d) {
  for (int i = 0; i < CHECK_MAX_LEAVES; i++) lac_array_destroy(&d->x_dot[i]), lac_array_destroy(&d->seed[i]);
}

/// |Re <seed, J x_dot> - Re <J^H seed, x_dot>| over the sum of |terms|.
static lac_status check_adjoint(check *c, lac_tape *tape, const lac_var *leaf, const outputs *out, directions *d,
                                lac_var *y_dot, double *deviation) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_var x[CHECK_MAX_LEAVES], x_dot[CHECK_MAX_LEAVES], x_bar[CHECK_MAX_LEAVES], y[CHECK_MAX_LEAVES], seed[CHECK_MAX_LEAVES];
  int ins = 0, outs = 0;
  double forward = 0, reverse = 0, terms = 0;

  for (int i = 0; i < c->count; i++) {
    if (c->subset >> i & 1) x[ins] = leaf[i], x_dot[ins++] = lac_tape_constant(tape, d->x_dot[i]);
  }
  LAC_TRY(lac_tape_jvp(tape, ins, x, x_dot, out->count, out->var, y_dot, LAC_PLAIN));
  for (int i = 0; i < out->count; i++) {
    LAC_TRY(check_inner(ctx, d->seed[i], lac_tape_value(tape, y_dot[i]), &forward, &terms));
    if (d->seed[i]) y[outs] = out->var[i], seed[outs++] = lac_tape_constant(tape, d->seed[i]);
  }
  LAC_TRY(lac_tape_vjp(tape, outs, y, seed, ins, x, x_bar, LAC_PLAIN));
  for (int j = 0; j < ins; j++) {
    LAC_TRY(check_inner(ctx, lac_tape_value(tape, x_bar[j]), lac_tape_value(tape, x_dot[j]), &reverse, &terms));
  }
  *deviation = terms > 0 ? fabs(forward - reverse) / terms : 0;
done:
  return status;
}

/// The outputs at x + h x_dot, as numbers.
static lac_status check_evaluate(check *c, const lac_array *const *leaves, const directions *d, double h, int i,
                                 double complex **numbers) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_tape *tape = NULL;
  lac_array *at[CHECK_MAX_LEAVES] = {NULL};
  lac_var leaf[CHECK_MAX_LEAVES];
  outputs out;

  for (int j = 0; j < c->count; j++) {
    if (d->x_dot[j]) {
      LAC_TRY(check_moved(ctx, leaves[j], d->x_dot[j], h, &at[j]));
    } else {
      at[j] = lac_array_retain((lac_array *)leaves[j]);
    }
  }
  LAC_TRY(lac_tape_create(ctx, LAC_RECORD, &tape));
  LAC_TRY(check_build(c, tape, (const lac_array *const *)at, leaf, &out));
  LAC_TRY(check_read(ctx, lac_tape_value(tape, out.var[i]), numbers));
done:
  for (int j = 0; j < c->count; j++) lac_array_destroy(&at[j]);
  lac_tape_destroy(&tape);
  return status;
}

/// max |y_dot - difference| over the size of both, for output i.
static lac_status check_tangent(check *c, const lac_array *const *leaves, const directions *d, const lac_array *y_dot,
                                int64_t count, int i, double *deviation) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  double complex *plus = NULL, *minus = NULL, *exact = NULL;
  double h = c->options.step, worst = 0, size = 0;

  LAC_TRY(check_evaluate(c, leaves, d, h, i, &plus));
  LAC_TRY(check_evaluate(c, leaves, d, -h, i, &minus));
  if (y_dot) LAC_TRY(check_read(ctx, y_dot, &exact));
  for (int64_t k = 0; k < count; k++) {
    double complex difference = (plus[k] - minus[k]) / (2 * h), tangent = exact ? exact[k] : 0;
    worst = fmax(worst, cabs(difference - tangent));
    size = fmax(size, fmax(cabs(tangent), 1e-3 * cabs(plus[k])));
  }
  *deviation = size > 0 ? worst / size : worst;
done:
  lac_free(plus);
  lac_free(minus);
  lac_free(exact);
  return status;
}

/// Random tangents for the leaves of the subset, of their own size, and random seeds for the outputs that exist.
static lac_status check_draw(check *c, lac_tape *tape, const lac_array *const *leaves, const outputs *out, directions *d) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < c->count; i++) {
    double size = 0;
    if (!(c->subset >> i & 1)) continue;
    LAC_TRY(check_size(ctx, leaves[i], &size));
    LAC_TRY(check_direction(c, &leaves[i]->meta, size > 0 ? size : 1, &d->x_dot[i]));
  }
  for (int i = 0; i < out->count; i++) {
    if (out->var[i].id) LAC_TRY(check_direction(c, lac_tape_meta(tape, out->var[i]), 1, &d->seed[i]));
  }
done:
  return status;
}

/// Both comparisons at one level for one subset of the leaves.
static lac_status check_level(check *c, const lac_array *const *leaves, double *adjoint, double *tangent) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_tape *tape = NULL;
  lac_var leaf[CHECK_MAX_LEAVES], y_dot[CHECK_MAX_LEAVES] = {{0}};
  directions d = {{NULL}, {NULL}};
  outputs out;
  double deviation = 0;

  LAC_TRY(lac_tape_create(ctx, LAC_RECORD, &tape));
  LAC_TRY(check_build(c, tape, leaves, leaf, &out));
  if (c->level == 1 && !c->y_bar) LAC_TRY(check_direction(c, lac_tape_meta(tape, out.var[0]), 1, &c->y_bar));
  LAC_TRY(check_draw(c, tape, leaves, &out, &d));
  LAC_TRY(check_adjoint(c, tape, leaf, &out, &d, y_dot, &deviation));
  *adjoint = fmax(*adjoint, deviation);
  LAC_CHECK(deviation <= c->options.tolerance, LAC_ERR_CONVERGENCE,
            "lac_gradcheck: order %d, leaves 0x%x: <seed, J x_dot> and <J^H seed, x_dot> differ by %.2e of their terms (%.2e is "
            "allowed): vjp and jvp do not belong together",
            c->level, (unsigned)c->subset, deviation, c->options.tolerance);
  for (int i = 0; i < out.count; i++) {
    if (!out.var[i].id) continue;
    LAC_TRY(check_tangent(c, leaves, &d, lac_tape_value(tape, y_dot[i]), lac_tape_value(tape, out.var[i])->count, i, &deviation));
    *tangent = fmax(*tangent, deviation);
    LAC_CHECK(deviation <= c->options.fd_tolerance, LAC_ERR_CONVERGENCE,
              "lac_gradcheck: order %d, leaves 0x%x: J x_dot and the central difference differ by %.2e (%.2e is allowed): the "
              "derivative is wrong, or the function is not smooth here",
              c->level, (unsigned)c->subset, deviation, c->options.fd_tolerance);
  }
done:
  check_free_directions(&d);
  lac_tape_destroy(&tape);
  return status;
}

/// Tolerances that the caller left open, by the precision of the leaves.
static void check_settle(lac_gradcheck_options *options, double epsilon) {
  if (options->step <= 0) options->step = cbrt(epsilon);
  if (options->tolerance <= 0) options->tolerance = 1e3 * epsilon;
  if (options->fd_tolerance <= 0) options->fd_tolerance = 1e3 * options->step * options->step;
}

lac_status lac_gradcheck(lac_context *ctx, lac_function function, void *user, int count, const lac_array *const *leaves,
                         const lac_gradcheck_options *options, lac_gradcheck_report *report) {
  lac_status status = LAC_OK;
  lac_gradcheck_report seen = {0};
  check c = {.ctx = ctx, .function = function, .user = user, .count = count};

  LAC_CHECK(function && leaves && count > 0 && count <= CHECK_MAX_LEAVES, LAC_ERR_ARG,
            "lac_gradcheck: needs a function and 1 to %d leaves, got %d", CHECK_MAX_LEAVES, count);
  c.options = options ? *options : lac_gradcheck_options_defaults();
  c.state = c.options.seed;
  check_settle(&c.options, check_epsilon(leaves[0]));
  for (int s = 0; s <= count; s++) {  // all leaves together, then each alone
    if (s == 1 && count == 1) break;
    c.subset = s == 0 ? (1u << count) - 1 : 1u << (s - 1);
    c.level = 1;
    LAC_TRY(check_level(&c, leaves, &seen.adjoint, &seen.tangent));
    c.level = 2;
    if (c.options.order >= 2) LAC_TRY(check_level(&c, leaves, &seen.second_adjoint, &seen.second_tangent));
  }
done:
  lac_array_destroy(&c.y_bar);
  if (report) *report = seen;
  return status;
}
