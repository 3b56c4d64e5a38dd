// SPDX-License-Identifier: Apache-2.0
/// @file matrices.c
/// Matrices made of matrices, of operators alone: derivatives come from the parts.
///
///     spadd        remap(from_a, a) + remap(from_b, b)      on the union
///     hadamard     remap(from_a, a) * remap(from_b, b)      on the intersection
///     kron         remap(map, outer product of a and b)     one array of all entries besides the result
///     mirror       remap(stored, a) + conj(remap(mirrored, a))     without the conjugate for a symmetric matrix
///     block_diag   concat(a, b, ...)
///     to_dense     remap(dense map, a), as (rows, cols)

#include "functions/function.h"

/// Two matrices on one pattern, and their values combined there number by number.
typedef struct compose_pair {
  const char *name;
  lac_status (*join)(lac_context *, const lac_pattern *, const lac_pattern *, lac_pattern **, lac_map **, lac_map **);
  lac_var (*combine)(lac_tape *, lac_var, lac_var);
  bool takes_absent;  // values that are absent are zeros
} compose_pair;

static lac_var compose_on_pair(lac_tape *tape, const compose_pair *kind, const lac_pattern *pa, lac_var a,
                               const lac_pattern *pb, lac_var b, lac_pattern **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *both = NULL;
  lac_map *from_a = NULL, *from_b = NULL;
  lac_var y = {0};

  if (!lac_tape_has(tape, kind->name, kind->takes_absent ? 0 : 2, (lac_var[]){a, b})) return y;
  LAC_TRY(kind->join(ctx, pa, pb, &both, &from_a, &from_b));
  if (a.id) LAC_TRY(lac_tape_check_values(tape, kind->name, 0, pa, a));
  if (b.id) LAC_TRY(lac_tape_check_values(tape, kind->name, 1, pb, b));
  y = kind->combine(tape, lac_emit_along(tape, from_a, a, LAC_PLAIN), lac_emit_along(tape, from_b, b, LAC_PLAIN));
  LAC_TRY(lac_tape_status(tape));
  if (out) *out = both, both = NULL;
done:
  lac_map_destroy(&from_a);
  lac_map_destroy(&from_b);
  lac_pattern_destroy(&both);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

lac_var lac_spadd(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                  lac_pattern **out) {
  static const compose_pair kind = {"spadd", lac_pattern_union, lac_add, true};
  return compose_on_pair(tape, &kind, pa, a, pb, b, out);
}

lac_var lac_hadamard(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                     lac_pattern **out) {
  static const compose_pair kind = {"hadamard", lac_pattern_intersection, lac_mul, false};
  return compose_on_pair(tape, &kind, pa, a, pb, b, out);
}

lac_var lac_kron(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                 lac_pattern **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *made = NULL;
  lac_map *map = NULL;
  lac_var y = {0};

  if (!lac_tape_has(tape, "kron", 2, (lac_var[]){a, b})) return y;
  LAC_TRY(lac_pattern_kron(ctx, pa, pb, &made, &map));
  LAC_TRY(lac_tape_check_values(tape, "kron", 0, pa, a));
  LAC_TRY(lac_tape_check_values(tape, "kron", 1, pb, b));
  a = lac_emit_axes(tape, a, 1, 2, (int64_t[]){pa->nnz, 1});
  b = lac_emit_axes(tape, b, 1, 2, (int64_t[]){1, pb->nnz});
  y = lac_emit_axes(tape, lac_mul(tape, a, b), 2, 1, &made->nnz);
  y = lac_emit_along(tape, map, y, LAC_PLAIN);
  LAC_TRY(lac_tape_status(tape));
  if (out) *out = made, made = NULL;
done:
  lac_map_destroy(&map);
  lac_pattern_destroy(&made);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

/// Refuse what is no way to mirror a triangle.
static lac_status mirror_check(lac_context *ctx, lac_form op) {
  lac_status status = LAC_OK;

  LAC_CHECK(
      op == LAC_ADJOINT || op == LAC_TRANSPOSED, LAC_ERR_ARG,
      "mirror: op = %d; give LAC_ADJOINT (\"H\") for a Hermitian matrix, LAC_TRANSPOSED (\"T\") for a symmetric one",
      (int)op);
done:
  return status;
}

lac_var lac_mirror(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_triangle triangle, lac_form op,
                   lac_pattern **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *whole = NULL;
  lac_map *stored = NULL, *mirrored = NULL;
  lac_var y = {0}, image;

  if (!lac_tape_has(tape, "mirror", 1, &a)) return y;
  LAC_TRY(mirror_check(ctx, op));
  LAC_TRY(lac_pattern_mirror(ctx, pattern, triangle, &whole, &stored, &mirrored));
  LAC_TRY(lac_tape_check_values(tape, "mirror", 0, pattern, a));
  image = lac_remap(tape, mirrored, a, LAC_PLAIN);
  y = lac_add(tape, lac_emit_along(tape, stored, a, LAC_PLAIN), op == LAC_ADJOINT ? lac_conj(tape, image) : image);
  LAC_TRY(lac_tape_status(tape));
  if (out) *out = whole, whole = NULL;
done:
  lac_map_destroy(&stored);
  lac_map_destroy(&mirrored);
  lac_pattern_destroy(&whole);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

lac_var lac_block_diag(lac_tape *tape, int n, const lac_pattern *const *patterns, const lac_var *values,
                       lac_pattern **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *made = NULL;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_CHECK(patterns && values, LAC_ERR_ARG,
            "block_diag: the patterns or the values are NULL; give one of each for all");
  if (!lac_tape_has(tape, "block_diag", n, values)) return y;
  LAC_TRY(lac_pattern_block_diag(ctx, n, patterns, &made, NULL));
  for (int i = 0; i < n; ++i) LAC_TRY(lac_tape_check_values(tape, "block_diag", i, patterns[i], values[i]));
  y = lac_concat_all(tape, n, values, -1);
  LAC_TRY(lac_tape_status(tape));
  if (out) *out = made, made = NULL;
done:
  lac_pattern_destroy(&made);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

lac_var lac_to_dense(lac_tape *tape, const lac_pattern *pattern, lac_var a) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_map *map = NULL;
  lac_var y = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_dense(ctx, pattern, &map));
  y = lac_emit_axes(tape, lac_remap(tape, map, a, LAC_PLAIN), 1, 2, (int64_t[]){pattern->rows, pattern->cols});
done:
  lac_map_destroy(&map);
  return status == LAC_OK ? y : lac_tape_fail(tape, status);
}

// -- entries ---------------------------------------------------------------------------------------------------------

#define PAIR "pa: pattern, a: values, pb: pattern, b: values"

LAC_WRITES(spadd, PAIR, "The values of A + B on the first of pa.union(pb).") {
  c->out[0] = lac_spadd(c->tape, PATTERN(c, 0), IN(c, 0), PATTERN(c, 1), IN(c, 1), NULL);
}

LAC_WRITES(hadamard, PAIR, "The values of A .* B on the first of pa.intersection(pb).") {
  c->out[0] = lac_hadamard(c->tape, PATTERN(c, 0), IN(c, 0), PATTERN(c, 1), IN(c, 1), NULL);
}

LAC_WRITES(kron, PAIR, "The values of the Kronecker product on the first of pa.kron(pb).") {
  c->out[0] = lac_kron(c->tape, PATTERN(c, 0), IN(c, 0), PATTERN(c, 1), IN(c, 1), NULL);
}

LAC_WRITES(spgemm, PAIR, "The values of C = A B on pa.product(pb).") {
  c->out[0] = lac_spgemm(c->tape, PATTERN(c, 0), IN(c, 0), PATTERN(c, 1), IN(c, 1), NULL);
}

LAC_WRITES(mirror, "pattern: pattern, a: values, triangle: lower|upper = lower, op: form = H",
           "The values of T + op(T without its diagonal), T one triangle of the matrix, on the first of "
           "pattern.mirror(triangle): op \"H\" for Hermitian matrices, \"T\" for symmetric ones.") {
  c->out[0] = lac_mirror(c->tape, PATTERN(c, 0), IN(c, 0), (lac_triangle)INT(c, 0), (lac_form)INT(c, 1), NULL);
}

/// Patterns and arrays are lists: as many of one as of the other.
LAC_WRITES(block_diag, "patterns: pattern[], arrays: values[]",
           "The values on the first of Pattern.block_diag(patterns): one matrix's behind the other's.") {
  lac_context *ctx = lac_tape_context(c->tape);
  lac_status status = LAC_OK;

  LAC_CHECK(c->objects == c->ins && c->ins > 0, LAC_ERR_ARG,
            "block_diag: %d patterns and %d arrays; give as many of one as of the other, and at least one of each",
            c->objects, c->ins);
  for (int i = 0; i < c->objects; i++) LAC_CHECK(PATTERN(c, i), LAC_ERR_ARG, "block_diag: object %d is no pattern", i);
  c->out[0] = lac_block_diag(c->tape, c->ins, (const lac_pattern *const *)c->object, c->in, NULL);
done:
  if (status != LAC_OK) (void)lac_tape_fail(c->tape, status);
}

LAC_WRITES(to_dense, "pattern: pattern, a: values", "The dense matrix, (rows, cols).") {
  c->out[0] = lac_to_dense(c->tape, PATTERN(c, 0), IN(c, 0));
}
