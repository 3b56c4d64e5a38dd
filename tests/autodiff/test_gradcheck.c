// SPDX-License-Identifier: Apache-2.0
/// The public gradient check: it passes what is right and finds what is wrong.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lacuna/extend.h"
#include "lacuna/gradcheck.h"
#include "support/check.h"
#include "support/dense.h"

typedef struct chain {
  const lac_pattern *pattern;
} chain;

/// |A^T (A x)|^2 + sum(x * x) over values and vectors.
static lac_var chain_function(lac_tape *tape, const lac_var *leaves, void *user) {
  const chain *c = user;
  lac_var y = lac_spmm(tape, c->pattern, leaves[0], leaves[1], LAC_PLAIN);
  lac_var z = lac_spmm(tape, c->pattern, leaves[0], y, LAC_ADJOINT);
  return lac_add(tape, lac_dot(tape, z, z), lac_sum(tape, lac_mul(tape, leaves[1], leaves[1])));
}

static lac_array *random_array(lac_context *ctx, lac_dtype dtype, int ndim, int64_t d0, int64_t d1, uint64_t seed) {
  ref x = ref_new(&(lac_meta){.dtype = dtype, .ndim = ndim, .shape = {d0, d1}});
  lac_array *array = NULL;

  ref_random(&x, seed, dtype >= LAC_C64);
  CHECK_OK(ref_upload(ctx, &x, &array));
  return array;
}

static void right_derivatives_pass_in_every_dtype(lac_context *ctx) {
  const sketch *s = sketch_random(7, 5, 0.4, 3);
  lac_pattern *p = NULL;

  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  for (lac_dtype dtype = LAC_F32; dtype <= LAC_C128; dtype++) {
    lac_array *leaves[2] = {random_array(ctx, dtype, 1, s->nnz, 0, 1), random_array(ctx, dtype, 2, 5, 2, 2)};
    lac_gradcheck_report report = {0};
    CHECK_OK(
        lac_gradcheck(ctx, chain_function, &(chain){.pattern = p}, 2, (const lac_array *const *)leaves, NULL, &report));
    CHECK(report.tangent > 0);  // it did compare
    CHECK(report.second_tangent > 0);
    lac_array_destroy(&leaves[0]);
    lac_array_destroy(&leaves[1]);
  }
  lac_pattern_destroy(&p);
}

// y = x * x with one wrong rule.

static lac_status square_forward(lac_call *c) {
  const double *x = lac_array_data(c->in[0]);
  double *y = lac_array_edit(c->out[0]);

  for (int64_t i = 0; i < lac_array_count(c->in[0]); i++) y[i] = x[i] * x[i];
  return LAC_OK;
}

static lac_var square_slope(lac_tape *tape, double factor, lac_var x, lac_var v) {
  return lac_scale(tape, lac_mul(tape, x, v), factor, 0);
}

static void vjp_right(lac_rule *r) { r->in_bar[0] = square_slope(r->tape, 2, r->in[0], r->out_bar[0]); }
static void vjp_wrong(lac_rule *r) { r->in_bar[0] = square_slope(r->tape, 3, r->in[0], r->out_bar[0]); }
static void jvp_right(lac_rule *r) { r->out_dot[0] = square_slope(r->tape, 2, r->in[0], r->in_dot[0]); }
static void jvp_wrong(lac_rule *r) { r->out_dot[0] = square_slope(r->tape, 3, r->in[0], r->in_dot[0]); }

static lac_var square_function(lac_tape *tape, const lac_var *leaves, void *user) {
  lac_var y;
  lac_tape_call(tape, &(lac_spec){.op = user}, leaves, &y);
  return y;
}

static lac_status check_square(lac_context *ctx, void (*vjp)(lac_rule *), void (*jvp)(lac_rule *)) {
  lac_op op = {.name = "square",
               .signature = "()->()",
               .order = LAC_ANY_ORDER,
               .vjp_needs = 1,
               .jvp_needs = 1,
               .forward = square_forward,
               .vjp = vjp,
               .jvp = jvp};
  lac_array *x = random_array(ctx, LAC_F64, 1, 5, 0, 4);
  lac_status status = lac_gradcheck(ctx, square_function, &op, 1, (const lac_array *const *)&x, NULL, NULL);

  lac_array_destroy(&x);
  return status;
}

static void wrong_derivatives_are_found(lac_context *ctx) {
  if (!check_claimed("an operator that reads host memory")) return;
  CHECK_OK(check_square(ctx, vjp_right, jvp_right));
  CHECK_FAILS(check_square(ctx, vjp_wrong, jvp_right), LAC_ERR_CONVERGENCE, "do not belong together");
  CHECK_FAILS(check_square(ctx, vjp_right, jvp_wrong), LAC_ERR_CONVERGENCE, "do not belong together");
  CHECK_FAILS(check_square(ctx, vjp_wrong, jvp_wrong), LAC_ERR_CONVERGENCE, "central difference");
}

/// The number that follows these words in the context's sentence.
static double number_after(const lac_context *ctx, const char *words) {
  const char *at = strstr(lac_context_error(ctx), words);
  double found = 0;
  CHECK(at && sscanf(at + strlen(words), "%lf", &found) == 1);
  return found;
}

static void the_sentence_names_check_leaf_numbers_and_tolerance(lac_context *ctx) {
  if (!check_claimed("an operator that reads host memory")) return;
  CHECK_EQ(check_square(ctx, vjp_wrong, jvp_right), LAC_ERR_CONVERGENCE);
  CHECK(strstr(lac_context_error(ctx), "adjoint identity, order 1, leaf 0: "));
  CHECK_NEAR(number_after(ctx, "<J^H seed, x_dot> is "), 1.5 * number_after(ctx, "<seed, J x_dot> is "), 1e-9);
  CHECK(number_after(ctx, "differ by ") > 1e-3);
  CHECK_NEAR(number_after(ctx, "where "), 1e3 * 0x1p-52, 1e-2);
  CHECK_EQ(check_square(ctx, vjp_wrong, jvp_wrong), LAC_ERR_CONVERGENCE);
  CHECK(strstr(lac_context_error(ctx), "central difference, order 1, leaf 0: number "));
  CHECK_NEAR(number_after(ctx, " of J x_dot is "), 1.5 * number_after(ctx, "the difference is "), 1e-6);
}

// z = x y with a rule that is wrong for y, or wrong for y where x is not asked for.

static lac_status product_forward(lac_call *c) {
  const double *x = lac_array_data(c->in[0]), *y = lac_array_data(c->in[1]);
  double *z = lac_array_edit(c->out[0]);

  for (int64_t i = 0; i < lac_array_count(c->in[0]); i++) z[i] = x[i] * y[i];
  return LAC_OK;
}

static void product_vjp(lac_rule *r, double y_alone, double y_with_x) {
  if (r->wants[0]) r->in_bar[0] = lac_mul(r->tape, r->in[1], r->out_bar[0]);
  if (r->wants[1]) r->in_bar[1] = square_slope(r->tape, r->wants[0] ? y_with_x : y_alone, r->in[0], r->out_bar[0]);
}

static void product_vjp_wrong(lac_rule *r) { product_vjp(r, 2, 2); }
static void product_vjp_wrong_alone(lac_rule *r) { product_vjp(r, 2, 1); }

static void product_jvp(lac_rule *r) {
  r->out_dot[0] = lac_add(r->tape, lac_mul(r->tape, r->in_dot[0], r->in[1]), lac_mul(r->tape, r->in[0], r->in_dot[1]));
}

static lac_status check_product(lac_context *ctx, void (*vjp)(lac_rule *)) {
  lac_op op = {.name = "product",
               .signature = "(n),(n)->(n)",
               .order = LAC_ANY_ORDER,
               .vjp_needs = 3,
               .jvp_needs = 3,
               .forward = product_forward,
               .vjp = vjp,
               .jvp = product_jvp};
  lac_array *leaves[2] = {random_array(ctx, LAC_F64, 1, 5, 0, 4), random_array(ctx, LAC_F64, 1, 5, 0, 5)};
  lac_gradcheck_options options = {.order = 1, .seed = 1};
  lac_status status = lac_gradcheck(ctx, square_function, &op, 2, (const lac_array *const *)leaves, &options, NULL);

  lac_array_destroy(&leaves[0]);
  lac_array_destroy(&leaves[1]);
  return status;
}

static void each_leaf_is_checked_alone_and_named(lac_context *ctx) {
  if (!check_claimed("an operator that reads host memory")) return;
  CHECK_FAILS(check_product(ctx, product_vjp_wrong), LAC_ERR_CONVERGENCE, "adjoint identity, order 1, all leaves: ");
  CHECK_FAILS(check_product(ctx, product_vjp_wrong_alone), LAC_ERR_CONVERGENCE, "adjoint identity, order 1, leaf 1: ");
}

static lac_var sum_of_nan(lac_tape *tape, const lac_var *leaves, void *user) {
  (void)user;
  return lac_sum(tape, lac_scale(tape, leaves[0], NAN, 0));
}

/// Its derivative is finite, its value is not: NaN in the middle, so that neither the first nor the last number shows
/// it.
static lac_var plus_nan(lac_tape *tape, const lac_var *leaves, void *user) {
  return lac_add(tape, leaves[0], lac_tape_constant(tape, user));
}

static void nan_fails(lac_context *ctx) {
  lac_array *x = random_array(ctx, LAC_F64, 1, 3, 0, 4), *hole = NULL;
  const lac_array *const *leaves = (const lac_array *const *)&x;
  lac_gradcheck_report report = {0};

  CHECK_FAILS(lac_gradcheck(ctx, sum_of_nan, NULL, 1, leaves, NULL, &report), LAC_ERR_CONVERGENCE, "adjoint identity");
  CHECK(isnan(report.adjoint));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, (double[]){0, NAN, 0}, LAC_OWNERSHIP_COPY, &hole));
  CHECK_FAILS(lac_gradcheck(ctx, plus_nan, hole, 1, leaves, NULL, &report), LAC_ERR_CONVERGENCE, "number 1 of J x_dot");
  CHECK(isnan(report.tangent));
  lac_array_destroy(&hole);
  lac_array_destroy(&x);
}

static lac_var sum_of_squares_of_the_first(lac_tape *tape, const lac_var *leaves, void *user) {
  (void)user;
  return lac_sum(tape, lac_mul(tape, leaves[0], leaves[0]));
}

static void a_leaf_that_is_not_used_has_a_zero_gradient(lac_context *ctx) {
  lac_array *leaves[2] = {random_array(ctx, LAC_C128, 1, 4, 0, 1), random_array(ctx, LAC_C128, 2, 3, 2, 2)};
  lac_gradcheck_report report = {0};

  CHECK_OK(lac_gradcheck(ctx, sum_of_squares_of_the_first, NULL, 2, (const lac_array *const *)leaves, NULL, &report));
  CHECK(report.second_tangent > 0);
  lac_array_destroy(&leaves[0]);
  lac_array_destroy(&leaves[1]);
}

/// Called with NULL: the check looks for the thread's sentence.
static void refuse_missing_context(lac_context *ctx, const lac_array *x) {
  CHECK_FAILS(lac_gradcheck(ctx, sum_of_nan, NULL, 1, &x, NULL, NULL), LAC_ERR_ARG, "the context is NULL");
}

static lac_var nothing(lac_tape *tape, const lac_var *leaves, void *user) {
  (void)tape, (void)leaves, (void)user;
  return (lac_var){0};
}

static void bad_questions_are_refused(lac_context *ctx) {
  lac_array *x = random_array(ctx, LAC_F64, 1, 5, 0, 4);

  CHECK_FAILS(lac_gradcheck(ctx, NULL, NULL, 1, (const lac_array *const *)&x, NULL, NULL), LAC_ERR_ARG,
              "needs a function");
  CHECK_FAILS(lac_gradcheck(ctx, nothing, NULL, 1, (const lac_array *const *)&x, NULL, NULL), LAC_ERR_ABSENT,
              "absent var");
  CHECK_FAILS(lac_gradcheck(ctx, nothing, NULL, 2, (const lac_array *[]){x, NULL}, NULL, NULL), LAC_ERR_ARG,
              "leaf 1 of 2 is NULL");
  lac_gradcheck_options wrong[] = {
      {.order = 3}, {.order = -1}, {.step = -1e-5}, {.tolerance = NAN}, {.fd_tolerance = -1}};
  for (int i = 0; i < 5; i++) {
    const char *what = i < 2 ? "order is" : "none may be negative or NaN";
    CHECK_FAILS(lac_gradcheck(ctx, nothing, NULL, 1, (const lac_array *const *)&x, &wrong[i], NULL), LAC_ERR_ARG, what);
  }
  refuse_missing_context(NULL, x);
  lac_array_destroy(&x);
}

/// An order of 1 from the defaults leaves the second derivatives out, and the defaults are what NULL gives.
static void options_begin_with_their_defaults(lac_context *ctx) {
  lac_gradcheck_options options = lac_gradcheck_options_defaults();
  lac_gradcheck_report given = {0}, usual = {0};
  lac_array *x = random_array(ctx, LAC_F64, 1, 4, 0, 1);
  const lac_array *leaves[] = {x};
  CHECK_EQ(options.order, 2);
  CHECK_OK(lac_gradcheck(ctx, sum_of_squares_of_the_first, NULL, 1, leaves, &options, &given));
  CHECK_OK(lac_gradcheck(ctx, sum_of_squares_of_the_first, NULL, 1, leaves, NULL, &usual));
  CHECK(given.tangent == usual.tangent && given.second_tangent == usual.second_tangent && given.second_tangent > 0);
  CHECK_OK(lac_gradcheck(ctx, sum_of_squares_of_the_first, NULL, 1, leaves, &(lac_gradcheck_options){0}, &given));
  CHECK(given.tangent == usual.tangent && given.second_tangent == usual.second_tangent);
  options.order = 1, options.size = sizeof(size_t);  // the order lies behind the end
  CHECK_FAILS(lac_gradcheck(ctx, sum_of_squares_of_the_first, NULL, 1, leaves, &options, &given), LAC_ERR_ARG,
              "sizeof(lac_gradcheck_options)");
  options.size = sizeof options;
  CHECK_OK(lac_gradcheck(ctx, sum_of_squares_of_the_first, NULL, 1, leaves, &options, &given));
  CHECK(given.second_tangent == 0 && given.second_adjoint == 0);
  lac_array_destroy(&x);
}

CHECK_MAIN(options_begin_with_their_defaults, right_derivatives_pass_in_every_dtype, wrong_derivatives_are_found,
           the_sentence_names_check_leaf_numbers_and_tolerance, each_leaf_is_checked_alone_and_named, nan_fails,
           a_leaf_that_is_not_used_has_a_zero_gradient, bad_questions_are_refused)
