// SPDX-License-Identifier: Apache-2.0
/// @file estimates.c
/// Estimates from probes, columns z with E[z z^H] = I, each with its standard error; of operators alone.
///
///     logdet_estimate        the operator of that name, of the Hermitian part of A
///     trace_solve_estimate   mean and standard error of t_j = z_j^H A^-1 B z_j over k probes:
///                            |t - mean| / sqrt(k (k - 1)), of one probe NaN

#include "functions/function.h"
#include "ops/solves/factored.h"

/// Refuse probes that are not (n, k) in the dtype of the values: products would find out late.
static lac_status estimate_check_probes(lac_tape *tape, const char *function, int64_t rows, lac_var a, lac_var probes) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *z = lac_tape_meta(tape, probes), *values = lac_tape_meta(tape, a);
  char text[LAC_SHAPE_TEXT];

  LAC_CHECK(z->ndim > 1 && z->shape[z->ndim - 2] == rows && z->shape[z->ndim - 1] > 0, LAC_ERR_SHAPE,
            "%s: there are no probes in an array of shape %s; give columns (%lld, k), at least one", function,
            lac_shape_text(z->ndim, z->shape, text), (long long)rows);
  LAC_CHECK(z->dtype == values->dtype, LAC_ERR_DTYPE, "%s: the values are %s and the probes %s; cast one of them",
            function, lac_dtype_name(values->dtype), lac_dtype_name(z->dtype));
done:
  return status;
}

/// The Hermitian part of the values of a solver's pattern, which must be symmetric.
static lac_status estimate_part(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var probes, lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_pattern *p = NULL;
  lac_pattern *turned = NULL;

  LAC_CHECK(solver, LAC_ERR_ARG, "logdet_estimate: the solver is NULL; see lac_solver_create");
  p = lac_solver_pattern(solver);
  LAC_TRY(lac_tape_check_values(tape, "logdet_estimate", 0, p, a));
  LAC_TRY(estimate_check_probes(tape, "logdet_estimate", p->rows, a, probes));
  LAC_TRY(lac_pattern_transpose(ctx, p, &turned, NULL));
  LAC_CHECK(lac_pattern_same(p, turned), LAC_ERR_SYMMETRY,
            "logdet_estimate: the pattern is not symmetric; store both halves of the Hermitian matrix");
  LAC_TRY(lac_tape_hermitian(tape, p, a, out));
done:
  lac_pattern_destroy(&turned);
  return status;
}

void lac_logdet_estimate(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var probes, int64_t steps,
                         lac_var out[2]) {
  lac_var h = {0};
  lac_status status = LAC_OK;

  if (!lac_tape_results(tape, "logdet_estimate", 2, out)) return;
  if (!lac_tape_has(tape, "logdet_estimate", 2, (lac_var[]){a, probes})) return;
  status = estimate_part(tape, solver, a, probes, &h);
  if (status == LAC_OK) {
    lac_emit_logdet_estimate(tape, solver, h, probes, steps, out);
  } else {
    (void)lac_tape_fail(tape, status);
  }
}

/// Mean and standard error of the numbers of the last axis: 0 / 0 where there is one. How many there are is left open.
static void estimate_statistics(lac_tape *tape, lac_var t, lac_var out[2]) {
  lac_var mean = lac_mean(tape, t, LAC_AXES(-1), true), k = lac_real(tape, lac_extent(tape, t, LAC_AXES(-1), 1));
  lac_var spread = lac_norm(tape, lac_sub(tape, t, mean), LAC_AXES(-1), false);

  out[0] = lac_mean(tape, t, LAC_AXES(-1), false);
  out[1] = lac_div(tape, spread, lac_sqrt(tape, lac_mul(tape, k, lac_offset(tape, k, -1, 0))));
}

void lac_trace_solve_estimate(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *pb, lac_var b,
                              lac_var probes, lac_var out[2]) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_var x = {0};

  if (!lac_tape_results(tape, "trace_solve_estimate", 2, out)) return;
  if (!lac_tape_has(tape, "trace_solve_estimate", 3, (lac_var[]){a, b, probes})) return;
  LAC_CHECK(solver, LAC_ERR_ARG, "trace_solve_estimate: the solver is NULL; see lac_solver_create");
  LAC_TRY(lac_pattern_require_host(ctx, pb, "trace_solve_estimate"));
  LAC_TRY(lac_tape_check_values(tape, "trace_solve_estimate", 1, pb, b));
  LAC_TRY(estimate_check_probes(tape, "trace_solve_estimate", lac_pattern_rows(lac_solver_pattern(solver)), a, probes));
  x = lac_solve(tape, solver, a, lac_spmm(tape, pb, b, probes, LAC_PLAIN), LAC_PLAIN);
  estimate_statistics(tape, lac_sum_axes(tape, lac_mul(tape, lac_conj(tape, probes), x), LAC_AXES(-2), false), out);
done:
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
}

/// The probes that came as input n, or `count` random ones in the dtype of the values.
static lac_var estimate_probes(lac_function_call *c, const char *name, int n, int64_t count, int64_t seed) {
  const lac_solver *solver = SOLVER(c, 0);
  lac_context *ctx = lac_tape_context(c->tape);
  lac_status status = LAC_OK;

  if (n < c->ins || !solver) return IN(c, n);
  LAC_CHECK(count > 0, LAC_ERR_ARG, "%s: %lld probes; give at least one, two for an error", name, (long long)count);
  return lac_probes_like(c->tape, IN(c, 0), lac_pattern_rows(lac_solver_pattern(solver)), count, seed);
done:
  return lac_tape_fail(c->tape, status);
}

LAC_WRITES(
    logdet_estimate, "solver: solver, a: values, probes: array = 20, steps: integer = 0, seed: integer = 0",
    "(estimate, error) of log det of the Hermitian part of A, positive definite, by Lanczos quadrature: `steps` from "
    "each probe, 50 by default. Both are real; the error is that of chance alone, and NaN of one probe. The gradient "
    "is an unbiased estimate of that of log det A, (A^-1 z) z^H with the same probes, and not the derivative of the "
    "estimate: with random probes gradcheck finds the two apart. Higher orders are derivatives of the gradient.") {
  c->outs = 2;
  lac_logdet_estimate(c->tape, SOLVER(c, 0), IN(c, 0), estimate_probes(c, "logdet_estimate", 1, INT(c, 0), INT(c, 2)),
                      INT(c, 1), c->out);
}

LAC_WRITES(
    trace_solve_estimate, "solver: solver, a: values, pb: pattern, b: values, probes: array = 20, seed: integer = 0",
    "(estimate, error) of tr(A^-1 B), any square A and B with the pattern pb: one solve for each probe. The error is "
    "the standard error; derivatives are those of the estimate.") {
  c->outs = 2;
  lac_trace_solve_estimate(c->tape, SOLVER(c, 0), IN(c, 0), PATTERN(c, 1), IN(c, 1),
                           estimate_probes(c, "trace_solve_estimate", 2, INT(c, 0), INT(c, 1)), c->out);
}
