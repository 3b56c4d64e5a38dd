// SPDX-License-Identifier: Apache-2.0
/// @file lstsq.c
/// Least squares, by one system that holds the residual too: derivatives of every order are those of its solution.
///
///     minimise |A x - b|^2 + delta^2 |x|^2          r = b - A x,   A^H r = delta^2 x
///
///     [p I   A  ] [s]   [b]        A tall: p = alpha,            q = -delta^2 / alpha
///     [A^H   q I] [x] = [0]        A wide: p = -delta^2 / alpha, q = alpha            r = p s
///
/// Eliminating s (tall) or x (wide) gives the normal equations, which are not formed: alpha is small relative to A, so
/// that pivots are taken from A itself, and the accuracy is that of an orthogonal factorisation. x depends on alpha in
/// no way, nor on the scales of the shorter side, columns of a tall A and rows of a wide one, which are brought near 1
/// by powers of two, damp included: nothing is rounded, and no derivative passes through them (magnitude).
///
/// A solver of A itself, or of A over the identity where there is damp, is one that knows least squares, LSMR or LSQR:
/// then it is lstsq_with, of A or [A; delta].

#include "functions/function.h"
#include "ops/solves/factored.h"

/// Small relative to A: a factor of the system has errors of eps in its numbers, for which refinement corrects
/// where alpha eps / sigma^2 is less than 1 for the singular values sigma of A, and eps / alpha for the residual.
static double lstsq_alpha_of(lac_dtype dtype) { return lac_dtype_real(dtype) == LAC_F32 ? 0x1p-13 : 0x1p-36; }

/// What is frozen, and the scale d of the shorter side.
typedef struct lstsq_task {
  const lac_pattern *pattern;
  lac_dtype dtype;
  double alpha;
  bool tall;
  lac_var d, damp;  // damp (.., 1), in the dtype
} lstsq_task;

static lac_var lstsq_in_dtype(lac_tape *tape, const lstsq_task *t, lac_var x) {
  return lac_dtype_is_complex(t->dtype) ? lac_cast(tape, x, t->dtype) : x;
}

/// One over the power of two below the largest number of each line of the shorter side and damp.
static lac_var lstsq_scale(lac_tape *tape, const lstsq_task *t, lac_var a, lac_var damp) {
  lac_var most = lac_sparse_max(tape, t->pattern, lac_abs(tape, a), t->tall ? LAC_LINES_COLS : LAC_LINES_ROWS,
                                LAC_ABSENT_IS_ZERO, LAC_EXTREME_LARGEST);
  if (damp.id) most = lac_add(tape, most, lac_abs(tape, damp));
  return lstsq_in_dtype(tape, t, lac_reciprocal(tape, lac_magnitude(tape, most)));
}

/// The values of the system, scaled.
static lac_var lstsq_values(lac_tape *tape, const lstsq_task *t, const lac_map *map, lac_var a) {
  int64_t m = t->pattern->rows, n = t->pattern->cols;
  lac_var scaled = t->tall ? lac_scale_cols(tape, t->pattern, a, t->d) : lac_scale_rows(tape, t->pattern, a, t->d);
  lac_var alpha = lac_full(tape, a, 1, t->tall ? &m : &n, t->alpha, 0), damped = {0}, parts[4];

  if (t->damp.id) {
    damped = lac_scale(tape, lac_square(tape, lac_mul(tape, t->d, t->damp)), -1 / t->alpha, 0);
  } else {
    damped = lac_full(tape, a, 1, t->tall ? &n : &m, 0, 0);
  }
  parts[0] = t->tall ? alpha : damped, parts[3] = t->tall ? damped : alpha;
  parts[1] = scaled, parts[2] = lac_conj(tape, scaled);
  return lac_remap(tape, map, lac_concat_all(tape, 4, parts, -1), LAC_PLAIN);
}

/// b (m, k), scaled where A is wide, over n rows of zeros.
static lac_var lstsq_right(lac_tape *tape, const lstsq_task *t, lac_var b) {
  int64_t m = t->pattern->rows;
  const lac_meta *meta = NULL;
  lac_meta like;

  if (!t->tall) b = lac_mul(tape, lac_emit_column(tape, t->d), b);
  meta = lac_tape_meta(tape, b);
  if (!meta) return b;
  like = *meta;
  like.shape[like.ndim - 2] = m + t->pattern->cols;
  return lac_embed(tape, b, &like, -2, 0, m, 1);
}

/// r = p s: alpha s, or -delta^2 / alpha times what the scaled system has in its place.
static lac_var lstsq_residual(lac_tape *tape, const lstsq_task *t, lac_var s) {
  if (t->tall) return lac_scale(tape, s, t->alpha, 0);
  if (!t->damp.id) return lac_scale(tape, s, 0, 0);
  lac_var p = lac_mul(tape, lac_mul(tape, t->d, t->damp), t->damp);
  return lac_scale(tape, lac_mul(tape, lac_emit_column(tape, p), s), -1 / t->alpha, 0);
}

/// The solution of the system, whose matrix must have full rank.
static lac_status lstsq_solve(lac_tape *tape, const lac_solver *solver, const lstsq_task *t, lac_var k, lac_var right,
                              lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_array *values = lac_tape_value(tape, k);
  int64_t m = t->pattern->rows, begin = t->tall ? m : 0, end = t->tall ? m + t->pattern->cols : m;
  lac_attrs attrs = {.i = {[SOLVE_FORM] = LAC_PLAIN, [SOLVE_RANK] = 1, [SOLVE_BEGIN] = begin, [SOLVE_END] = end},
                     .f = {t->alpha}};
  lac_factor *factor = NULL;

  LAC_TRY(lac_tape_status(tape));
  if (values)
    LAC_TRY(lac_rank_judge(ctx, &attrs, lac_core_of(solver), lac_solver_take_factor(ctx, solver, values, &factor)));
  *out = lac_emit_solve(tape, factor ? (const void *)factor : solver, &attrs, k, right);
  LAC_TRY(lac_tape_status(tape));
done:
  lac_factor_destroy(&factor);
  return status;
}

static lac_status lstsq_check(lac_tape *tape, const lac_solver *solver, const lac_pattern *pattern, lac_var a,
                              lac_var b, lac_var damp) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  const lac_meta *am = lac_tape_meta(tape, a), *bm = lac_tape_meta(tape, b), *dm = lac_tape_meta(tape, damp);
  char text[LAC_SHAPE_TEXT];

  LAC_TRY(lac_pattern_require_host(ctx, pattern, "lstsq"));
  LAC_TRY(lac_tape_check_values(tape, "lstsq", 0, pattern, a));
  LAC_CHECK(solver, LAC_ERR_ARG,
            "lstsq: the solver is NULL; lac_solver_create makes one of the pattern that lac_pattern_augmented gives");
  LAC_CHECK(bm->ndim >= 2 && bm->shape[bm->ndim - 2] == pattern->rows, LAC_ERR_SHAPE,
            "lstsq: b has shape %s; it must have shape (*batch, %lld, k)", lac_shape_text(bm->ndim, bm->shape, text),
            (long long)pattern->rows);
  LAC_CHECK(bm->dtype == am->dtype, LAC_ERR_DTYPE, "lstsq: a is %s and b is %s; they must agree",
            lac_dtype_name(am->dtype), lac_dtype_name(bm->dtype));
  LAC_CHECK(!dm || dm->dtype == lac_dtype_real(am->dtype), LAC_ERR_DTYPE,
            "lstsq: damp has dtype %s and the values have %s; damp is a real number, %s", lac_dtype_name(dm->dtype),
            lac_dtype_name(am->dtype), lac_dtype_name(lac_dtype_real(am->dtype)));
done:
  return status;
}

/// The map into the system of a pattern, which must be that of the solver.
static lac_status lstsq_system(lac_context *ctx, const lac_solver *solver, const lac_pattern *pattern, lac_map **map) {
  lac_status status = LAC_OK;
  lac_pattern *system = NULL;

  LAC_TRY(lac_pattern_augmented(ctx, pattern, &system, map));
  LAC_CHECK(
      lac_pattern_same(system, lac_solver_pattern(solver)), LAC_ERR_PATTERN,
      "lstsq: the solver is one of another pattern; make it of what lac_pattern_augmented gives, or LSMR or LSQR of "
      "the pattern itself (with damp: of lac_pattern_vstack's, of it and the identity)");
done:
  lac_pattern_destroy(&system);
  return status;
}

static lac_status lstsq_by_system(lac_tape *tape, const lac_solver *solver, const lac_pattern *pattern, lac_var a,
                                  lac_var b, lac_var damp, lac_var out[2]) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lstsq_task t = {.pattern = pattern};
  lac_map *map = NULL;
  lac_var z = {0}, x = {0}, r = {0};
  int64_t m = 0;

  LAC_TRY(lstsq_system(ctx, solver, pattern, &map));
  m = pattern->rows, t.tall = m >= pattern->cols, t.dtype = lac_tape_meta(tape, a)->dtype,
  t.alpha = lstsq_alpha_of(t.dtype);
  if (damp.id) damp = lac_emit_column(tape, damp), t.damp = lstsq_in_dtype(tape, &t, damp);
  t.d = lstsq_scale(tape, &t, a, damp);
  LAC_TRY(lstsq_solve(tape, solver, &t, lstsq_values(tape, &t, map, a), lstsq_right(tape, &t, b), &z));
  x = lac_slice(tape, z, -2, m, m + pattern->cols, 1);
  if (t.tall) x = lac_mul(tape, lac_emit_column(tape, t.d), x);
  r = lstsq_residual(tape, &t, lac_slice(tape, z, -2, 0, m, 1));
  LAC_TRY(lac_tape_status(tape));
  out[0] = x, out[1] = r;
done:
  lac_map_destroy(&map);
  return status;
}

// -- by a solver of the matrix ---------------------------------------------------------------------------------------

/// Whether a solver is one of A, or with damp of A over the identity.
static lac_status lstsq_is_of_matrix(lac_context *ctx, const lac_solver *solver, const lac_pattern *pattern,
                                     bool is_damped, bool *out) {
  lac_status status = LAC_OK;
  const lac_pattern *of = lac_solver_pattern(solver);
  lac_pattern *identity = NULL, *stack = NULL;

  // Of nothing, the system is the matrix.
  *out = !is_damped && lac_pattern_same(of, pattern) && of->rows + of->cols > 0;
  if (!is_damped || of->rows != pattern->rows + pattern->cols || of->cols != pattern->cols) goto done;
  LAC_TRY(lac_pattern_eye(ctx, pattern->cols, pattern->cols, 0, LAC_WIDTH_AUTO, &identity));
  LAC_TRY(lac_pattern_vstack(ctx, 2, (const lac_pattern *[]){pattern, identity}, &stack, NULL));
  *out = lac_pattern_same(of, stack);
done:
  lac_pattern_destroy(&identity);
  lac_pattern_destroy(&stack);
  return status;
}

static lac_status lstsq_by_matrix(lac_tape *tape, const lac_solver *solver, const lac_pattern *pattern, lac_var a,
                                  lac_var b, lac_var damp, lac_var out[2]) {
  lac_var values = a, right = b;

  if (damp.id) {
    lstsq_task t = {.pattern = pattern, .dtype = lac_tape_meta(tape, a)->dtype, .tall = true};
    damp = lac_mul(tape, lac_full(tape, a, 1, &pattern->cols, 1, 0),
                   lstsq_in_dtype(tape, &t, lac_emit_column(tape, damp)));
    values = lac_concat_all(tape, 2, (lac_var[]){a, damp}, -1);
    right = lstsq_right(tape, &t, b);
  }
  out[0] = lac_emit_lstsq(tape, solver, values, right);
  out[1] = lac_sub(tape, b, lac_spmm(tape, pattern, a, out[0], LAC_PLAIN));
  return lac_tape_status(tape);
}

void lac_lstsq(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var b, lac_var damp, const lac_solver *solver,
               lac_var out[2]) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  bool is_of_matrix = false;

  if (!lac_tape_results(tape, "lstsq", 2, out) || !lac_tape_has(tape, "lstsq", 2, (lac_var[]){a, b})) return;
  LAC_TRY(lstsq_check(tape, solver, pattern, a, b, damp));
  LAC_TRY(lstsq_is_of_matrix(ctx, solver, pattern, damp.id != 0, &is_of_matrix));
  LAC_TRY((is_of_matrix ? lstsq_by_matrix : lstsq_by_system)(tape, solver, pattern, a, b, damp, out));
done:
  if (status != LAC_OK) out[0] = out[1] = (lac_var){0}, (void)lac_tape_fail(tape, status);
}

LAC_WRITES(
    lstsq, "pattern: pattern, a: values, b: columns, damp: array = none, solver: solver = none, residual: flag = false",
    "x that minimises |A x - b|^2 + |damp x|^2, and of all such x, where A is wide, is the shortest; with residual "
    "(x, b - A x).") {
  lac_var out[2];

  lac_lstsq(c->tape, PATTERN(c, 0), IN(c, 0), IN(c, 1), IN(c, 2), SOLVER(c, 1), out);
  c->out[0] = out[0], c->out[1] = out[1];
  c->outs = INT(c, 0) ? 2 : 1;
}
