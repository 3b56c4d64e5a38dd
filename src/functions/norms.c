// SPDX-License-Identifier: Apache-2.0
/// @file norms.c
/// Norms of a matrix, of operators alone:
///
///     fro   norm(a)       1     max(col_sum |a|)
///     2     norm2(a)      inf   max(row_sum |a|)

#include "functions/function.h"

static lac_status matrix_norm_check(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_norm_kind kind) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;

  LAC_TRY(lac_pattern_require_host(ctx, pattern, "matrix_norm"));
  LAC_TRY(lac_tape_check_values(tape, "matrix_norm", 0, pattern, a));
  LAC_CHECK(kind == LAC_NORM_FRO || kind == LAC_NORM_1 || kind == LAC_NORM_INF || kind == LAC_NORM_2, LAC_ERR_ARG,
            "matrix_norm: kind %d is none of LAC_NORM_FRO, 1, INF and 2", (int)kind);
done:
  return status;
}

/// Of the operator norms the 1-norm and the inf-norm are the largest sum of |a| of a column and of a row.
static lac_var matrix_norm_by(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_norm_kind kind,
                              double tolerance, int64_t steps) {
  lac_status status = LAC_OK;

  if (!lac_tape_has(tape, "matrix_norm", 1, &a)) return (lac_var){0};
  status = matrix_norm_check(tape, pattern, a, kind);
  if (status != LAC_OK) return lac_tape_fail(tape, status);
  if (pattern->nnz == 0 || kind == LAC_NORM_FRO) return lac_norm(tape, a, LAC_AXES(-1), false);  // of nothing all are 0
  if (kind == LAC_NORM_2) return lac_norm2(tape, pattern, a, tolerance, steps);
  a = lac_abs(tape, a);
  return lac_max(tape, kind == LAC_NORM_1 ? lac_col_sum(tape, pattern, a) : lac_row_sum(tape, pattern, a), LAC_AXES(-1),
                 false);
}

lac_var lac_matrix_norm(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_norm_kind kind) {
  return matrix_norm_by(tape, pattern, a, kind, 0, 0);
}

LAC_WRITES(matrix_norm, "pattern: pattern, a: values, ord: fro|1|inf|2 = fro, tolerance: real = 0, steps: integer = 0",
           "The norm of a matrix: \"fro\", 1, inf, or 2: the largest singular value, to a relative residual in so many "
           "steps (0: the defaults), else a ConvergenceError. Norm 2 can be differentiated once.") {
  c->out[0] = matrix_norm_by(c->tape, PATTERN(c, 0), IN(c, 0), (lac_norm_kind)INT(c, 0), REAL(c, 0), INT(c, 1));
}
