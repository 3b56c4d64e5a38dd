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
#include <stdio.h>

#include "core/array_impl.h"
#include "core/random.h"

enum { CHECK_MAX_LEAVES = 16 };

typedef struct check {
  lac_context *ctx;
  lac_function function;
  void *user;
  int count;
  uint32_t subset;   // which leaves are differentiated
  int level;         // 1: the function, 2: its gradient
  lac_array *y_bar;  // the frozen seed of the gradient
  lac_gradcheck_options options;
  uint64_t drawn;  // how many random numbers
} check;

/// One comparison: two numbers that should be equal, and by how much they are not, relative to what they are made of.
typedef struct comparison {
  double complex derived, expected;
  int64_t at;  // where in the output they stand
  double deviation;
} comparison;

/// What a level's function gave: its outputs on a tape.
typedef struct outputs {
  int count;
  lac_var var[CHECK_MAX_LEAVES];
} outputs;

lac_gradcheck_options lac_gradcheck_options_defaults(void) { return (lac_gradcheck_options){.order = 2, .seed = 1}; }

/// Whether `a` is worse than the worst so far. NaN is worse than any number, and stays the worst.
static bool check_worse(double a, double worst) { return !isnan(worst) && !(a <= worst); }
static double check_max(double a, double b) { return check_worse(b, a) ? b : a; }

/// The next random number, uniform in (-1, 1).
static double check_random(check *c) { return lac_random_unit(c->options.seed, c->drawn++); }

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
      case LAC_F32:
        numbers[i] = ((float *)(void *)raw)[i];
        break;
      case LAC_F64:
        numbers[i] = ((double *)(void *)raw)[i];
        break;
      case LAC_C64:
        numbers[i] = ((float complex *)(void *)raw)[i];
        break;
      case LAC_C128:
        numbers[i] = ((double complex *)(void *)raw)[i];
        break;
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
      case LAC_F32:
        ((float *)(void *)raw)[i] = (float)creal(numbers[i]);
        break;
      case LAC_F64:
        ((double *)(void *)raw)[i] = creal(numbers[i]);
        break;
      case LAC_C64:
        ((float complex *)(void *)raw)[i] = (float complex)numbers[i];
        break;
      case LAC_C128:
        ((double complex *)(void *)raw)[i] = numbers[i];
        break;
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
    numbers[i] = scale * check_random(c);
    if (lac_dtype_is_complex(meta->dtype)) numbers[i] += I * scale * check_random(c);
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
  for (int64_t i = 0; i < array->count; i++) *out = check_max(*out, cabs(numbers[i]));
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

/// A gradient that is absent, since the function does not use the leaf, is a zero.
static lac_status check_zero(lac_context *ctx, lac_tape *tape, const lac_meta *meta, lac_var *out) {
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
    for (int i = 0; i < n; i++) {
      if (!out->var[i].id) LAC_TRY(check_zero(ctx, tape, lac_tape_meta(tape, asked[i]), &out->var[i]));
    }
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

/// Re <J^H seed, x_dot> against Re <seed, J x_dot>, relative to the sum of |terms|.
static lac_status check_adjoint(check *c, lac_tape *tape, const lac_var *leaf, const outputs *out, directions *d,
                                lac_var *y_dot, comparison *found) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_var x[CHECK_MAX_LEAVES], x_dot[CHECK_MAX_LEAVES], x_bar[CHECK_MAX_LEAVES], seed[CHECK_MAX_LEAVES];
  int ins = 0;
  double forward = 0, reverse = 0, terms = 0;

  for (int i = 0; i < c->count; i++) {
    if (c->subset >> i & 1) x[ins] = leaf[i], x_dot[ins++] = lac_tape_constant(tape, d->x_dot[i]);
  }
  LAC_TRY(lac_tape_jvp(tape, ins, x, x_dot, out->count, out->var, y_dot, LAC_PLAIN));
  for (int i = 0; i < out->count; i++) {
    LAC_TRY(check_inner(ctx, d->seed[i], lac_tape_value(tape, y_dot[i]), &forward, &terms));
    seed[i] = lac_tape_constant(tape, d->seed[i]);
  }
  LAC_TRY(lac_tape_vjp(tape, out->count, out->var, seed, ins, x, x_bar, LAC_PLAIN));
  for (int j = 0; j < ins; j++) {
    LAC_TRY(check_inner(ctx, lac_tape_value(tape, x_bar[j]), lac_tape_value(tape, x_dot[j]), &reverse, &terms));
  }
  *found = (comparison){reverse, forward, 0, terms == 0 ? 0 : fabs(forward - reverse) / terms};
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
      at[j] = lac_array_retain(leaves[j]);
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

/// J x_dot against the central difference where they differ most, relative to the size of output i.
static lac_status check_tangent(check *c, const lac_array *const *leaves, const directions *d, const lac_array *y_dot,
                                int64_t count, int i, comparison *found) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  double complex *plus = NULL, *minus = NULL, *exact = NULL;
  double h = c->options.step, worst = 0, size = 0;

  LAC_TRY(check_evaluate(c, leaves, d, h, i, &plus));
  LAC_TRY(check_evaluate(c, leaves, d, -h, i, &minus));
  if (y_dot) LAC_TRY(check_read(ctx, y_dot, &exact));
  for (int64_t k = 0; k < count; k++) {
    double complex difference = (plus[k] - minus[k]) / (2 * h), tangent = exact ? exact[k] : 0;
    double gap = cabs(difference - tangent);
    if (check_worse(gap, worst)) worst = gap, *found = (comparison){tangent, difference, k, 0};
    size = check_max(size, check_max(cabs(tangent), 1e-3 * cabs(plus[k])));
  }
  found->deviation = size == 0 ? worst : worst / size;
done:
  lac_free(plus);
  lac_free(minus);
  lac_free(exact);
  return status;
}

/// Random tangents for the leaves of the subset, of their own size, and random seeds for the outputs.
static lac_status check_draw(check *c, lac_tape *tape, const lac_array *const *leaves, const outputs *out,
                             directions *d) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  for (int i = 0; i < c->count; i++) {
    double size = 0;
    if (!(c->subset >> i & 1)) continue;
    LAC_TRY(check_size(ctx, leaves[i], &size));
    LAC_TRY(check_direction(c, &leaves[i]->meta, size > 0 ? size : 1, &d->x_dot[i]));
  }
  for (int i = 0; i < out->count; i++) {
    LAC_TRY(check_direction(c, lac_tape_meta(tape, out->var[i]), 1, &d->seed[i]));
  }
done:
  return status;
}

enum { CHECK_TEXT = 96 };

/// "leaf 2", or "all leaves", into `text`.
static const char *check_leaves_text(const check *c, char text[CHECK_TEXT]) {
  const bool is_one = (c->subset & (c->subset - 1)) == 0;

  (void)snprintf(text, CHECK_TEXT, is_one ? "leaf %d" : "all leaves", __builtin_ctz(c->subset));
  return text;
}

/// "1.5", or "1.5-2i", into `text`.
static const char *check_number_text(double complex number, char text[CHECK_TEXT]) {
  (void)snprintf(text, CHECK_TEXT, cimag(number) == 0 ? "%.12g" : "%.12g%+.12gi", creal(number), cimag(number));
  return text;
}

static lac_status check_judge_adjoint(check *c, const comparison *found, double *worst) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  char leaves[CHECK_TEXT];

  *worst = check_max(*worst, found->deviation);
  LAC_CHECK(
      found->deviation <= c->options.tolerance, LAC_ERR_CONVERGENCE,
      "lac_gradcheck: adjoint identity, order %d, %s: <J^H seed, x_dot> is %.12g and <seed, J x_dot> is %.12g; they "
      "differ by %.2e of their terms where %.2e is allowed: vjp and jvp do not belong together",
      c->level, check_leaves_text(c, leaves), creal(found->derived), creal(found->expected), found->deviation,
      c->options.tolerance);
done:
  return status;
}

static lac_status check_judge_tangent(check *c, const comparison *found, double *worst) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  char leaves[CHECK_TEXT], derived[CHECK_TEXT], expected[CHECK_TEXT];

  *worst = check_max(*worst, found->deviation);
  LAC_CHECK(
      found->deviation <= c->options.fd_tolerance, LAC_ERR_CONVERGENCE,
      "lac_gradcheck: central difference, order %d, %s: number %lld of J x_dot is %s and the difference is %s; they "
      "differ by %.2e of the largest where %.2e is allowed: the derivative is wrong, or the function is not smooth "
      "here",
      c->level, check_leaves_text(c, leaves), (long long)found->at, check_number_text(found->derived, derived),
      check_number_text(found->expected, expected), found->deviation, c->options.fd_tolerance);
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
  comparison found;

  LAC_TRY(lac_tape_create(ctx, LAC_RECORD, &tape));
  LAC_TRY(check_build(c, tape, leaves, leaf, &out));
  if (c->level == 1 && !c->y_bar) LAC_TRY(check_direction(c, lac_tape_meta(tape, out.var[0]), 1, &c->y_bar));
  LAC_TRY(check_draw(c, tape, leaves, &out, &d));
  LAC_TRY(check_adjoint(c, tape, leaf, &out, &d, y_dot, &found));
  LAC_TRY(check_judge_adjoint(c, &found, adjoint));
  for (int i = 0; i < out.count; i++) {
    const lac_array *y = lac_tape_value(tape, out.var[i]);
    LAC_TRY(check_tangent(c, leaves, &d, lac_tape_value(tape, y_dot[i]), y->count, i, &found));
    LAC_TRY(check_judge_tangent(c, &found, tangent));
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

  LAC_CHECK_CONTEXT();
  LAC_CHECK(function && leaves && count > 0 && count <= CHECK_MAX_LEAVES, LAC_ERR_ARG,
            "lac_gradcheck: needs a function and 1 to %d leaves, got %d", CHECK_MAX_LEAVES, count);
  for (int i = 0; i < count; i++) {
    LAC_CHECK(leaves[i], LAC_ERR_ARG, "lac_gradcheck: leaf %d of %d is NULL; give an array for each", i, count);
  }
  c.options = options ? *options : lac_gradcheck_options_defaults();
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
