// SPDX-License-Identifier: Apache-2.0
/// @file inverses.c
/// What is read off an inverse, and quadratic forms, of operators alone: derivatives come from the parts.
///
///     inverse_on               A^-1 where a target pattern has entries
///     inverse_diagonal         (A^-1)_ii
///     trace_solve              tr(A^-1 B) = sum of b_ij (A^-T)_ij over the entries of B
///     trace_solve_estimate     mean and standard error of z^H A^-1 B z over probes z with E[z z^H] = I
///     quadratic_form           x^H A y of each column
///     inverse_quadratic_form   x^H A^-1 y of each column
///
/// Where the target has entries that A lacks, A is embedded in a pattern that has them too, with zeros there, and the selected inverse is
/// that of the larger matrix. Nothing of size n x n is formed, and no system is solved for each entry.

#include <math.h>

#include "ops/solves/factored.h"

/// Values of `from` as those of `to`, which has all its entries; or back, those of `to` at the entries of `from`.
static lac_var inverse_move(lac_tape *tape, const lac_pattern *from, const lac_pattern *to, lac_side side, lac_var x) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *same = NULL;
  lac_map *map = NULL;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_union(ctx, to, from, &same, NULL, &map));
  y = lac_map_is_identity(map) ? x : lac_remap(tape, map, side, x);
done:
  lac_map_destroy(&map);
  lac_pattern_destroy(&same);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

/// A^-T at the entries of a target.
static lac_var inverse_at(lac_tape *tape, const char *function, const lac_solver *solver, const lac_pattern *target,
                          lac_var a) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_solver *wide = NULL;
  lac_var z = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(solver, LAC_ERR_ARG, "%s: the solver is NULL; see lac_solver_create", function);
  LAC_TRY(lac_tape_check_values(tape, function, 0, lac_solver_pattern(solver), a));
  LAC_TRY(lac_solver_covering(ctx, solver, target, &wide));
  a = inverse_move(tape, lac_solver_pattern(solver), lac_solver_pattern(wide), LAC_N, a);
  z = lac_selected_inverse(tape, wide, a);
  z = inverse_move(tape, target, lac_solver_pattern(wide), LAC_T, z);
done:
  lac_solver_destroy(&wide);
  return status == LAC_OK ? z : lac_tape_fail(tape, status);
}

lac_var lac_inverse_on(lac_tape *tape, const lac_solver *solver, const lac_pattern *target, lac_var a) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *turned = NULL;
  lac_map *map = NULL;
  lac_var z = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_transpose(ctx, target, &turned, &map));
  z = lac_remap(tape, map, LAC_T, inverse_at(tape, "lac_inverse_on", solver, turned, a));
done:
  lac_map_destroy(&map);
  lac_pattern_destroy(&turned);
  return status == LAC_OK ? z : lac_tape_fail(tape, status);
}

lac_var lac_inverse_diagonal(lac_tape *tape, const lac_solver *solver, lac_var a) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *diagonal = NULL;
  int64_t n = solver ? lac_pattern_rows(lac_solver_pattern(solver)) : 0;
  lac_var z = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_eye(ctx, n, n, 0, LAC_WIDTH_AUTO, &diagonal));
  z = inverse_at(tape, "lac_inverse_diagonal", solver, diagonal, a);
done:
  lac_pattern_destroy(&diagonal);
  return status == LAC_OK ? z : lac_tape_fail(tape, status);
}

lac_var lac_trace_solve(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *pb, lac_var b) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *ma = lac_tape_meta(tape, a), *mb = lac_tape_meta(tape, b);

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_require_host(ctx, pb, "lac_trace_solve"));
  LAC_TRY(lac_tape_check_values(tape, "lac_trace_solve", 1, pb, b));
  LAC_CHECK(!ma || ma->dtype == mb->dtype, LAC_ERR_DTYPE,
            "lac_trace_solve: the values of A are %s and those of B are %s; cast one of them (lac_cast)",
            lac_dtype_name(ma->dtype), lac_dtype_name(mb->dtype));
  return lac_emit_pairing(tape, inverse_at(tape, "lac_trace_solve", solver, pb, a), b);
done:
  return lac_tape_fail(tape, status);
}

/// x has `rows` rows, and the columns and the dtype of y. Products would broadcast what does not fit, and find out late.
static lac_status form_check(lac_tape *tape, const char *function, int64_t rows, lac_var x, lac_var y) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *mx = lac_tape_meta(tape, x), *my = lac_tape_meta(tape, y);

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(mx && my, LAC_ERR_ABSENT, "%s: x or y is absent; give both a value", function);
  LAC_CHECK(mx->ndim > 1 && my->ndim > 1 && mx->shape[mx->ndim - 2] == rows &&
                mx->shape[mx->ndim - 1] == my->shape[my->ndim - 1],
            LAC_ERR_SHAPE, "%s: x must have %lld rows and as many columns as y", function, (long long)rows);
  LAC_CHECK(mx->dtype == my->dtype, LAC_ERR_DTYPE, "%s: x is %s and y is %s; cast one of them (lac_cast)", function,
            lac_dtype_name(mx->dtype), lac_dtype_name(my->dtype));
done:
  return status;
}

/// The sum of conj(x) y over the rows: one number for each column.
static lac_var form_of_columns(lac_tape *tape, lac_var x, lac_var y) {
  return lac_sum_axes(tape, lac_mul(tape, lac_conj(tape, x), y), 2, LAC_DROP_AXES);
}

lac_var lac_quadratic_form(lac_tape *tape, const lac_pattern *pattern, lac_var x, lac_var a, lac_var y) {
  lac_status status = pattern ? form_check(tape, "lac_quadratic_form", lac_pattern_rows(pattern), x, y) : LAC_OK;

  if (status != LAC_OK) return lac_tape_fail(tape, status);
  return form_of_columns(tape, x, lac_spmm(tape, pattern, LAC_N, a, y));
}

lac_var lac_inverse_quadratic_form(lac_tape *tape, const lac_solver *solver, lac_var x, lac_var a, lac_var y) {
  const lac_pattern *p = solver ? lac_solver_pattern(solver) : NULL;
  lac_status status = p ? form_check(tape, "lac_inverse_quadratic_form", lac_pattern_rows(p), x, y) : LAC_OK;

  if (status != LAC_OK) return lac_tape_fail(tape, status);
  return form_of_columns(tape, x, lac_solve(tape, solver, LAC_N, a, y));
}

/// Mean and standard error of the k numbers of the last axis; of one number the error is NaN.
static void form_statistics(lac_tape *tape, lac_var t, double k, lac_var out[2]) {
  lac_var mean = lac_mean(tape, t, 1, LAC_KEEP_AXES);
  lac_var spread = lac_norm(tape, lac_sub(tape, t, mean), 1, LAC_DROP_AXES);

  out[0] = lac_mean(tape, t, 1, LAC_DROP_AXES);
  out[1] = lac_scale(tape, k > 1 ? 1 / sqrt(k * (k - 1)) : NAN, 0, spread);
}

void lac_trace_solve_estimate(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *pb, lac_var b,
                              lac_var probes, lac_var out[2]) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *z = lac_tape_meta(tape, probes);
  lac_var x = {0};
  int64_t k = 0;

  out[0] = out[1] = x;
  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(solver, LAC_ERR_ARG, "lac_trace_solve_estimate: the solver is NULL; see lac_solver_create");
  LAC_TRY(lac_tape_check_values(tape, "lac_trace_solve_estimate", 1, pb, b));
  LAC_TRY(form_check(tape, "lac_trace_solve_estimate", lac_pattern_rows(lac_solver_pattern(solver)), probes, probes));
  k = z->shape[z->ndim - 1];  // a copy: calls grow the tape
  LAC_CHECK(k > 0, LAC_ERR_SHAPE, "lac_trace_solve_estimate: there are no probes; give at least one column");
  x = lac_solve(tape, solver, LAC_N, a, lac_spmm(tape, pb, LAC_N, b, probes));
  form_statistics(tape, form_of_columns(tape, probes, x), (double)k, out);
done:
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
}
