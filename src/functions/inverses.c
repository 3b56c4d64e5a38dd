// SPDX-License-Identifier: Apache-2.0
/// @file inverses.c
/// What is read off an inverse, and quadratic forms, of operators alone: derivatives come from the parts.
///
///     inverse_on               A^-1 where a target pattern has entries
///     inverse_diagonal         (A^-1)_ii
///     trace_solve              tr(A^-1 B) = sum of b_ij (A^-T)_ij over the entries of B
///     quadratic_form           x^H A y of each column
///     inverse_quadratic_form   x^H A^-1 y of each column
///
/// Where the target has entries that A lacks, A is embedded in a pattern that has them too, with zeros there, and the
/// selected inverse is that of the larger matrix. Nothing of size n x n is formed, and no system is solved for each
/// entry.

#include "functions/function.h"
#include "ops/solves/factored.h"

/// Values of `from` as those of `to`, which has all its entries; or back, those of `to` at the entries of `from`.
static lac_var inverse_move(lac_tape *tape, const lac_pattern *from, const lac_pattern *to, lac_form form, lac_var x) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *same = NULL;
  lac_map *map = NULL;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_union(ctx, to, from, &same, NULL, &map));
  y = lac_emit_along(tape, map, x, form);
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
  a = inverse_move(tape, lac_solver_pattern(solver), lac_solver_pattern(wide), LAC_PLAIN, a);
  z = lac_selected_inverse(tape, wide, a);
  z = inverse_move(tape, target, lac_solver_pattern(wide), LAC_TRANSPOSED, z);
done:
  lac_solver_destroy(&wide);
  return status == LAC_OK ? z : lac_tape_fail(tape, status);
}

lac_var lac_inverse_on(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *target) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *turned = NULL;
  lac_map *map = NULL;
  lac_var z = {0};

  if (!lac_tape_has(tape, "inverse_on", 1, &a)) return z;
  LAC_TRY(lac_pattern_transpose(ctx, target, &turned, &map));
  z = lac_remap(tape, map, inverse_at(tape, "inverse_on", solver, turned, a), LAC_TRANSPOSED);
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

  if (!lac_tape_has(tape, "inverse_diagonal", 1, &a)) return z;
  LAC_TRY(lac_pattern_eye(ctx, n, n, 0, LAC_WIDTH_AUTO, &diagonal));
  z = inverse_at(tape, "inverse_diagonal", solver, diagonal, a);
done:
  lac_pattern_destroy(&diagonal);
  return status == LAC_OK ? z : lac_tape_fail(tape, status);
}

lac_var lac_trace_solve(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *pb, lac_var b) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *ma = lac_tape_meta(tape, a), *mb = lac_tape_meta(tape, b);

  if (!lac_tape_has(tape, "trace_solve", 2, (lac_var[]){a, b})) return (lac_var){0};
  LAC_TRY(lac_pattern_require_host(ctx, pb, "trace_solve"));
  LAC_TRY(lac_tape_check_values(tape, "trace_solve", 1, pb, b));
  LAC_CHECK(ma->dtype == mb->dtype, LAC_ERR_DTYPE,
            "trace_solve: the values of A are %s and those of B are %s; cast one of them (lac_cast)",
            lac_dtype_name(ma->dtype), lac_dtype_name(mb->dtype));
  return lac_emit_pairing(tape, inverse_at(tape, "trace_solve", solver, pb, a), b);
done:
  return lac_tape_fail(tape, status);
}

/// x has `rows` rows, and the columns and the dtype of y. Products would broadcast what does not fit, and find out
/// late.
static lac_status form_check(lac_tape *tape, const char *function, int64_t rows, lac_var x, lac_var y) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *mx = lac_tape_meta(tape, x), *my = lac_tape_meta(tape, y);
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_CHECK(mx->ndim > 1 && my->ndim > 1, LAC_ERR_SHAPE,
            "%s: x has shape %s and y %s; they must be two vectors, or both have columns, (.., n, k)", function,
            lac_shape_text(mx->ndim, mx->shape, text), lac_shape_text(my->ndim, my->shape, other));
  LAC_CHECK(mx->shape[mx->ndim - 2] == rows && mx->shape[mx->ndim - 1] == my->shape[my->ndim - 1], LAC_ERR_SHAPE,
            "%s: x has shape %s; it must have %lld rows and as many columns as y, %lld", function,
            lac_shape_text(mx->ndim, mx->shape, text), (long long)rows, (long long)my->shape[my->ndim - 1]);
  LAC_CHECK(mx->dtype == my->dtype, LAC_ERR_DTYPE, "%s: x is %s and y is %s; cast one of them (lac_cast)", function,
            lac_dtype_name(mx->dtype), lac_dtype_name(my->dtype));
done:
  return status;
}

/// The sum of conj(x) y over the rows: one number for each column.
static lac_var form_of_columns(lac_tape *tape, lac_var x, lac_var y) {
  return lac_sum_axes(tape, lac_mul(tape, lac_conj(tape, x), y), LAC_AXES(-2), false);
}

lac_var lac_quadratic_form(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var x, lac_var y) {
  lac_status status = LAC_OK;

  if (!lac_tape_has(tape, "quadratic_form", 3, (lac_var[]){a, x, y})) return (lac_var){0};
  if (pattern) status = form_check(tape, "quadratic_form", lac_pattern_rows(pattern), x, y);
  if (status != LAC_OK) return lac_tape_fail(tape, status);
  return form_of_columns(tape, x, lac_spmm(tape, pattern, a, y, LAC_PLAIN));
}

/// By a solver or a factor.
static lac_var form_of_inverse(lac_tape *tape, const void *object, lac_var x, lac_var a, lac_var y) {
  const lac_pattern *p = object ? lac_factored_pattern(object) : NULL;
  lac_status status = LAC_OK;

  if (!lac_tape_has(tape, "inverse_quadratic_form", 3, (lac_var[]){a, x, y})) return (lac_var){0};
  if (p) status = form_check(tape, "inverse_quadratic_form", lac_pattern_rows(p), x, y);
  if (status != LAC_OK) return lac_tape_fail(tape, status);
  return form_of_columns(tape, x, lac_emit_solution(tape, object, LAC_PLAIN, a, y));
}

lac_var lac_inverse_quadratic_form(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var x, lac_var y) {
  return form_of_inverse(tape, solver, x, a, y);
}

LAC_WRITES(inverse_on, "solver: solver, a: values, target: pattern",
           "A^-1 where the target pattern has entries, in its slots. Entries that A^T lacks widen what is factored.") {
  c->out[0] = lac_inverse_on(c->tape, SOLVER(c, 0), IN(c, 0), PATTERN(c, 1));
}

LAC_WRITES(inverse_diagonal, "solver: solver, a: values", "The diagonal of A^-1: (nnz) -> (n).") {
  c->out[0] = lac_inverse_diagonal(c->tape, SOLVER(c, 0), IN(c, 0));
}

LAC_WRITES(trace_solve, "solver: solver, a: values, pb: pattern, b: values",
           "tr(A^-1 B), B sparse with the pattern pb. Entries that A lacks widen what is factored.") {
  c->out[0] = lac_trace_solve(c->tape, SOLVER(c, 0), IN(c, 0), PATTERN(c, 1), IN(c, 1));
}

LAC_WRITES(quadratic_form, "pattern: pattern, a: values, x: columns, y: columns = x",
           "x^H A y of each column, y = x unless given: x (m, k), y (n, k), result (k); of vectors one number.") {
  c->out[0] = lac_quadratic_form(c->tape, PATTERN(c, 0), IN(c, 0), IN(c, 1), IN(c, 2));
}

LAC_WRITES(inverse_quadratic_form, "solver: factor, a: values, x: columns, y: columns = x",
           "x^H A^-1 y of each column, y = x unless given: x (n, k), y (n, k), result (k); of vectors one number.") {
  c->out[0] = form_of_inverse(c->tape, FACTORED(c, 0), IN(c, 1), IN(c, 0), IN(c, 2));
}
