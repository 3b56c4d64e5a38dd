// SPDX-License-Identifier: Apache-2.0
/// The public gradient check: it passes what is right and finds what is wrong.

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
  lac_var y = lac_spmm(tape, c->pattern, LAC_N, leaves[0], leaves[1]);
  lac_var z = lac_spmm(tape, c->pattern, LAC_H, leaves[0], y);
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
    lac_gradcheck_report report;
    CHECK_OK(lac_gradcheck(ctx, chain_function, &(chain){.pattern = p}, 2, (const lac_array *const *)leaves, NULL, &report));
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
  return lac_scale(tape, factor, 0, lac_mul(tape, x, v));
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
  lac_op op = {.name = "square", .signature = "()->()", .order = LAC_ANY_ORDER, .vjp_needs = 1, .jvp_needs = 1,
               .forward = square_forward, .vjp = vjp, .jvp = jvp};
  lac_array *x = random_array(ctx, LAC_F64, 1, 5, 0, 4);
  lac_status status = lac_gradcheck(ctx, square_function, &op, 1, (const lac_array *const *)&x, NULL, NULL);

  lac_array_destroy(&x);
  return status;
}

static void wrong_derivatives_are_found(lac_context *ctx) {
  if (check_backend()[0] != 'c' || check_backend()[1] != 'p') return;  // the operator above reads host memory
  CHECK_OK(check_square(ctx, vjp_right, jvp_right));
  CHECK_FAILS(check_square(ctx, vjp_wrong, jvp_right), LAC_ERR_CONVERGENCE, "do not belong together");
  CHECK_FAILS(check_square(ctx, vjp_right, jvp_wrong), LAC_ERR_CONVERGENCE, "do not belong together");
  CHECK_FAILS(check_square(ctx, vjp_wrong, jvp_wrong), LAC_ERR_CONVERGENCE, "central difference");
}

static lac_var nothing(lac_tape *tape, const lac_var *leaves, void *user) {
  (void)tape, (void)leaves, (void)user;
  return (lac_var){0};
}

static void bad_questions_are_refused(lac_context *ctx) {
  lac_array *x = random_array(ctx, LAC_F64, 1, 5, 0, 4);

  CHECK_FAILS(lac_gradcheck(ctx, NULL, NULL, 1, (const lac_array *const *)&x, NULL, NULL), LAC_ERR_ARG, "needs a function");
  CHECK_FAILS(lac_gradcheck(ctx, nothing, NULL, 1, (const lac_array *const *)&x, NULL, NULL), LAC_ERR_ABSENT, "absent var");
  lac_array_destroy(&x);
}

CHECK_MAIN(right_derivatives_pass_in_every_dtype, wrong_derivatives_are_found, bad_questions_are_refused)
