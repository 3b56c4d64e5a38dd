// SPDX-License-Identifier: Apache-2.0
/// @file factors.c
/// The factors of a matrix as arrays, made of lu_values: derivatives come from the parts.
///
///     lu         P A P^T = L U          remap of A to the filled pattern, lu_values, two triangles; L stores its ones
///     ldlt       P H P^T = L D L^H      H = (A + A^H) / 2; D real
///     cholesky   P H P^T = L L^H        L of ldlt times sqrt(D)
///     ilu0, ic0  the same on the pattern of A itself (A and A^H), in its own order
///
/// ldlt, cholesky and ic0 are functions of the Hermitian part of A: for a Hermitian A that is A, and the gradient is
/// Hermitian, as that of torch.linalg.cholesky is. A matrix that is stored in one triangle counts as half of itself:
/// store both triangles.

#include "functions/function.h"
#include "ops/solves/factored.h"

/// Where elimination takes place: the pattern, the way there, and which rows its steps are (NULL: their own).
typedef struct factors_place {
  lac_pattern *pattern;
  lac_map *map, *steps;
} factors_place;

static void factors_leave(factors_place *place) {
  lac_pattern_destroy(&place->pattern);
  lac_map_destroy(&place->map);
  lac_map_destroy(&place->steps);
}

/// Refuse values that do not fit, and find the filled pattern.
static lac_status factors_fill(lac_tape *tape, const char *name, const lac_pattern *pattern, lac_ordering ordering,
                               lac_var a, factors_place *place) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;

  LAC_TRY(lac_pattern_fill(ctx, pattern, ordering, &place->pattern, &place->map, &place->steps));
  LAC_TRY(lac_tape_check_values(tape, name, 0, pattern, a));
done:
  return status;
}

/// The same for the pattern itself, with its transpose where that shall be there too.
static lac_status factors_own(lac_tape *tape, const char *name, const lac_pattern *pattern, bool symmetric, lac_var a,
                              factors_place *place) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *transpose = NULL;

  LAC_TRY(lac_pattern_require_host(ctx, pattern, name));
  LAC_CHECK(pattern->rows == pattern->cols, LAC_ERR_SHAPE, "%s: the matrix is %lld x %lld; it must be square", name,
            (long long)pattern->rows, (long long)pattern->cols);
  LAC_TRY(lac_tape_check_values(tape, name, 0, pattern, a));
  if (symmetric) {
    LAC_TRY(lac_pattern_transpose(ctx, pattern, &transpose, NULL));
    LAC_TRY(lac_pattern_union(ctx, pattern, transpose, &place->pattern, &place->map, NULL));
  } else {
    LAC_TRY(lac_pattern_identity(ctx, pattern, &place->map));
    place->pattern = lac_pattern_retain(pattern);
  }
done:
  lac_pattern_destroy(&transpose);
  return status;
}

/// Ones on the diagonal of a pattern, in the dtype of x.
static lac_status factors_ones(lac_tape *tape, const lac_pattern *pattern, lac_var x, lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_map *map = NULL;

  LAC_TRY(lac_pattern_diagonal(ctx, pattern, &map));
  *out = lac_remap(tape, map, lac_full(tape, x, 1, &pattern->rows, 1, 0), LAC_TRANSPOSED);
done:
  lac_map_destroy(&map);
  return status;
}

/// L of L\U, its ones put in.
static lac_status factors_lower(lac_tape *tape, const lac_pattern *pattern, lac_var lu, lac_pattern **lower,
                                lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *below = NULL, *inside = NULL;
  lac_map *take = NULL, *put = NULL;
  lac_var ones = {0}, l = {0};

  LAC_TRY(lac_pattern_triangle(ctx, pattern, LAC_TRIANGLE_LOWER, 0, lower, NULL));
  LAC_TRY(lac_pattern_triangle(ctx, pattern, LAC_TRIANGLE_LOWER, -1, &below, &take));
  LAC_TRY(lac_pattern_triangle(ctx, *lower, LAC_TRIANGLE_LOWER, -1, &inside, &put));
  LAC_TRY(factors_ones(tape, *lower, lu, &ones));
  l = lac_remap(tape, put, lac_emit_along(tape, take, lu, LAC_PLAIN), LAC_TRANSPOSED);
  *out = lac_add(tape, l, ones);
  LAC_TRY(lac_tape_status(tape));
done:
  lac_map_destroy(&take);
  lac_map_destroy(&put);
  lac_pattern_destroy(&below);
  lac_pattern_destroy(&inside);
  return status;
}

static lac_status factors_upper(lac_tape *tape, const lac_pattern *pattern, lac_var lu, lac_pattern **upper,
                                lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_map *map = NULL;

  LAC_TRY(lac_pattern_triangle(ctx, pattern, LAC_TRIANGLE_UPPER, 0, upper, &map));
  *out = lac_emit_along(tape, map, lu, LAC_PLAIN);
done:
  lac_map_destroy(&map);
  return status;
}

// -- lu --------------------------------------------------------------------------------------------------------------

/// Both triangles; out and patterns are set when all is well.
static lac_status factors_lu(lac_tape *tape, const factors_place *place, lac_var a, lac_pattern **patterns,
                             lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *lower = NULL, *upper = NULL;
  lac_var lu = {0}, l = {0}, u = {0};

  lu = lac_lu_values(tape, place->pattern, lac_emit_along(tape, place->map, a, LAC_PLAIN), place->steps,
                     LAC_PIVOTS_NONZERO);
  LAC_TRY(factors_lower(tape, place->pattern, lu, &lower, &l));
  LAC_TRY(factors_upper(tape, place->pattern, lu, &upper, &u));
  LAC_TRY(lac_tape_status(tape));
  out[0] = l, out[1] = u;
  if (patterns) patterns[0] = lower, patterns[1] = upper, lower = upper = NULL;
done:
  lac_pattern_destroy(&lower);
  lac_pattern_destroy(&upper);
  return status;
}

void lac_lu(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_ordering ordering, lac_pattern *patterns[2],
            lac_var out[2]) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  factors_place place = {NULL, NULL, NULL};

  if (!lac_tape_results(tape, "lu", 2, out) || !lac_tape_has(tape, "lu", 1, &a)) return;
  LAC_TRY(factors_fill(tape, "lu", pattern, ordering, a, &place));
  LAC_TRY(factors_lu(tape, &place, a, patterns, out));
done:
  factors_leave(&place);
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
}

void lac_ilu0(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_pattern *patterns[2], lac_var out[2]) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  factors_place place = {NULL, NULL, NULL};

  if (!lac_tape_results(tape, "ilu0", 2, out) || !lac_tape_has(tape, "ilu0", 1, &a)) return;
  LAC_TRY(factors_own(tape, "ilu0", pattern, false, a, &place));
  LAC_TRY(factors_lu(tape, &place, a, patterns, out));
done:
  factors_leave(&place);
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
}

// -- ldlt, cholesky --------------------------------------------------------------------------------------------------

/// L, of unit diagonal, and the real D of the Hermitian part.
static lac_status factors_ldlt(lac_tape *tape, const factors_place *place, lac_pivots pivots, lac_var a,
                               lac_pattern **lower, lac_var *l, lac_var *d) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_var h = {0}, lu = {0};

  LAC_TRY(lac_tape_hermitian(tape, place->pattern, lac_emit_along(tape, place->map, a, LAC_PLAIN), &h));
  lu = lac_lu_values(tape, place->pattern, h, place->steps, pivots);
  *d = lac_real(tape, lac_diagonal_of(tape, place->pattern, lu));
  LAC_TRY(factors_lower(tape, place->pattern, lu, lower, l));
done:
  return status;
}

void lac_ldlt(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_ordering ordering, lac_pattern **lower,
              lac_var out[2]) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  factors_place place = {NULL, NULL, NULL};
  lac_pattern *made = NULL;
  lac_var l = {0}, d = {0};

  if (!lac_tape_results(tape, "ldlt", 2, out) || !lac_tape_has(tape, "ldlt", 1, &a)) return;
  LAC_TRY(factors_fill(tape, "ldlt", pattern, ordering, a, &place));
  LAC_TRY(factors_ldlt(tape, &place, LAC_PIVOTS_NONZERO, a, &made, &l, &d));
  out[0] = l, out[1] = d;
  if (lower) *lower = made, made = NULL;
done:
  lac_pattern_destroy(&made);
  factors_leave(&place);
  if (status != LAC_OK) (void)lac_tape_fail(tape, status);
}

/// L sqrt(D).
static lac_status factors_cholesky(lac_tape *tape, const factors_place *place, lac_var a, lac_pattern **lower,
                                   lac_var *out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_dtype dtype = lac_tape_meta(tape, a)->dtype;
  lac_pattern *made = NULL;
  lac_var l = {0}, d = {0};

  LAC_TRY(factors_ldlt(tape, place, LAC_PIVOTS_POSITIVE, a, &made, &l, &d));
  d = lac_sqrt(tape, d);
  if (lac_dtype_is_complex(dtype)) d = lac_cast(tape, d, dtype);
  l = lac_scale_cols(tape, made, l, d);
  LAC_TRY(lac_tape_status(tape));
  *out = l;
  if (lower) *lower = made, made = NULL;
done:
  lac_pattern_destroy(&made);
  return status;
}

lac_var lac_cholesky(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_ordering ordering,
                     lac_pattern **lower) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  factors_place place = {NULL, NULL, NULL};
  lac_var l = {0};

  if (!lac_tape_has(tape, "cholesky", 1, &a)) return l;
  LAC_TRY(factors_fill(tape, "cholesky", pattern, ordering, a, &place));
  LAC_TRY(factors_cholesky(tape, &place, a, lower, &l));
done:
  factors_leave(&place);
  return status == LAC_OK ? l : lac_tape_fail(tape, status);
}

lac_var lac_ic0(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_pattern **lower) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  factors_place place = {NULL, NULL, NULL};
  lac_var l = {0};

  if (!lac_tape_has(tape, "ic0", 1, &a)) return l;
  LAC_TRY(factors_own(tape, "ic0", pattern, true, a, &place));
  LAC_TRY(factors_cholesky(tape, &place, a, lower, &l));
done:
  factors_leave(&place);
  return status == LAC_OK ? l : lac_tape_fail(tape, status);
}

#define ORDERED "pattern: pattern, a: values, ordering: auto|amd|metis|natural = auto"
#define ORDERING(c) ((lac_ordering)INT(c, 0))

LAC_WRITES(
    lu, ORDERED,
    "(L, U) of A[order][:, order] = L U without pivoting, on the triangles of F = pattern.fill(ordering)[0]: L on "
    "F.tril()[0], its ones stored, U on F.triu()[0].") {
  c->outs = 2;
  lac_lu(c->tape, PATTERN(c, 0), IN(c, 0), ORDERING(c), NULL, c->out);
}

LAC_WRITES(ldlt, ORDERED,
           "(L, D) of H[order][:, order] = L D L^H without pivoting, H = (A + A^H) / 2; L on F.tril()[0] of F = "
           "pattern.fill(ordering)[0], its ones stored; D (n), real.") {
  c->outs = 2;
  lac_ldlt(c->tape, PATTERN(c, 0), IN(c, 0), ORDERING(c), NULL, c->out);
}

LAC_WRITES(
    cholesky, ORDERED,
    "L of H[order][:, order] = L L^H, H = (A + A^H) / 2, on F.tril()[0] of F = pattern.fill(ordering)[0]. A matrix "
    "that is not positive definite is an error that names the row.") {
  c->out[0] = lac_cholesky(c->tape, PATTERN(c, 0), IN(c, 0), ORDERING(c), NULL);
}

LAC_WRITES(
    ilu0, "pattern: pattern, a: values",
    "(L, U) with L U = A where A has entries: L on pattern.tril()[0], its ones stored, U on pattern.triu()[0].") {
  c->outs = 2;
  lac_ilu0(c->tape, PATTERN(c, 0), IN(c, 0), NULL, c->out);
}

LAC_WRITES(ic0, "pattern: pattern, a: values",
           "L with L L^H = (A + A^H) / 2 where A has entries, on its lower triangle (and that of A^H where A is not "
           "symmetric in structure).") {
  c->out[0] = lac_ic0(c->tape, PATTERN(c, 0), IN(c, 0), NULL);
}
