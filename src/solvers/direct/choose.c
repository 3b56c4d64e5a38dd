// SPDX-License-Identifier: Apache-2.0
/// @file choose.c
/// Which method, and why: by the pattern where it says enough, else by the values, from the cheapest to the safest.
///
///     diagonal                      nothing off the diagonal
///     triangular                    all blocks of the block triangular form have one row
///     banded                        a narrow band with few holes
///     Cholesky                      Hermitian with a positive diagonal, until a pivot is not positive
///     L D L^H                       Hermitian, until pivots inside supernodes do not suit
///     LU                            all others, block by block where there are several, until pivots do not suit
///     pivoting LU                   what is left
///
/// What the pattern says is kept with it. Values are looked at once for every factor that is made of them.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "solvers/direct/order/block_form.h"
#include "solvers/direct/fronts/block_lu.h"
#include "solvers/survey/survey.h"
#include "solvers/engines/engine.h"
#include "solvers/solver_impl.h"

// -- by the pattern --------------------------------------------------------------------------------------------------

// Bands up to so many diagonals on either side need no ordering and no dense blocks: wider ones are better off with
// both, and Cholesky with less. At least a third of the band is stored, else the holes are worth an ordering.
enum { CHOOSE_NARROW = 32, CHOOSE_NARROW_CHOLESKY = 8, CHOOSE_HOLES = 3 };

static bool choose_is_tridiagonal(const lac_structure *s) { return s->lower <= 1 && s->upper <= 1 && s->n > 3; }

static bool choose_is_narrow(const lac_structure *s, int32_t most) {
  int64_t band = (int64_t)s->lower + s->upper + 1;
  return s->lower <= most && s->upper <= most && 4 * band <= s->n && s->n * band <= CHOOSE_HOLES * s->nnz;
}

// A symmetric structure with a diagonal and anything beside it has a block of two rows at least: nothing to look for.
static lac_status choose_is_triangular(lac_context *ctx, const lac_structure *s, bool *out) {
  lac_status status = LAC_OK;
  const lac_block_form *form = NULL;

  *out = s->lower == 0 || s->upper == 0;
  if (*out || (s->is_symmetric && s->diagonals == s->n)) goto done;
  LAC_TRY(lac_block_form_get(ctx, s, &form));
  *out = form->rank == s->n && form->blocks == s->n;
done:
  return status;
}

// The method that the pattern alone decides for, and why; NULL: values must tell.
static lac_status choose_by_pattern(lac_context *ctx, const lac_structure *s, const lac_solver_table **table,
                                    const char **reason) {
  lac_status status = LAC_OK;
  bool is_triangular = false;

  *table = NULL;
  LAC_TRY(choose_is_triangular(ctx, s, &is_triangular));
  if (s->lower == 0 && s->upper == 0) {
    *table = &lac_solver_diagonal, *reason = "the pattern is diagonal";
  } else if (is_triangular) {
    *table = &lac_solver_triangular;
    *reason = s->lower == 0 || s->upper == 0 ? "the pattern is triangular"
                                             : "the pattern is triangular after permutations of rows and columns";
  } else if (choose_is_tridiagonal(s)) {
    *table = &lac_solver_banded, *reason = "the pattern is tridiagonal";
  } else if (choose_is_narrow(s, s->is_symmetric ? CHOOSE_NARROW_CHOLESKY : CHOOSE_NARROW)) {
    *table = &lac_solver_banded, *reason = "the pattern is a narrow band";
  }
done:
  return status;
}

// LU takes a matrix apart where its blocks pay.
static lac_status choose_blocks(lac_context *ctx, const lac_structure *s, const lac_solver_table **table) {
  lac_status status = LAC_OK;
  bool pays = false;

  if (*table == &lac_solver_lu) LAC_TRY(lac_block_lu_pays(ctx, s, &pays));
  if (pays) *table = &lac_solver_block_lu;
done:
  return status;
}

// The first entry off the diagonal.
static int64_t choose_off_diagonal(const lac_structure *s) {
  int64_t p = 0;
  while (lac_structure_row(s, p) == s->columns[p]) p++;
  return p;
}

static lac_status choose_require_pattern(lac_context *ctx, const lac_structure *s, lac_method method) {
  lac_status status = LAC_OK;
  const lac_block_form *form = NULL;
  bool fits = s->lower == 0 && s->upper == 0;
  int64_t p = fits ? 0 : choose_off_diagonal(s);

  LAC_CHECK(fits || method != LAC_METHOD_DIAGONAL, LAC_ERR_ARG,
            "lac_solver_create: LAC_METHOD_DIAGONAL needs a diagonal pattern, this one stores entry (%lld, %lld); use "
            "LAC_METHOD_AUTO",
            (long long)lac_structure_row(s, p), (long long)s->columns[p]);
  LAC_TRY(choose_is_triangular(ctx, s, &fits));
  if (fits) goto done;
  LAC_TRY(lac_block_form_get(ctx, s, &form));
  LAC_CHECK(method != LAC_METHOD_TRIANGULAR, LAC_ERR_ARG,
            "lac_solver_create: LAC_METHOD_TRIANGULAR needs a pattern that some order of rows and columns makes "
            "triangular, this one has %lld blocks in %lld rows; use LAC_METHOD_AUTO",
            (long long)form->blocks, (long long)s->n);
done:
  return status;
}

// -- what is foreseen ------------------------------------------------------------------------------------------------

// LU is foreseen for pivots from a diagonal that is there.
static const char *choose_lu_reason(const lac_structure *s, bool is_asked) {
  if (s->is_symmetric || s->diagonals == s->n) {
    return is_asked ? "asked for; figures are of one f64 matrix that is strong on its diagonal"
                    : "the pattern is not symmetric; figures are of one f64 matrix that is strong on its diagonal";
  }
  return is_asked ? "asked for; figures are unknown before the values choose the pivots"
                  : "the pattern is not symmetric and has gaps on its diagonal; figures are unknown before the values "
                    "choose the pivots";
}

static lac_status choose_likely_automatic(lac_context *ctx, const lac_structure *s, const lac_solver_table **table,
                                          const char **reason) {
  lac_status status = LAC_OK;

  LAC_TRY(choose_by_pattern(ctx, s, table, reason));
  if (*table) goto done;
  if (s->is_symmetric && s->diagonals == s->n) {
    *table = &lac_solver_cholesky;
    *reason =
        "the pattern is symmetric with a full diagonal; figures are of one f64 matrix, if its values turn out "
        "Hermitian positive definite (else L D L^H or LU is used)";
  } else if (s->is_symmetric) {
    *table = &lac_solver_ldlt;
    *reason =
        "the pattern is symmetric with gaps on the diagonal; figures are of one f64 matrix, if its values turn out "
        "Hermitian (else LU is used)";
  } else {
    *table = &lac_solver_lu;
    *reason = choose_lu_reason(s, false);
  }
done:
  return status;
}

static const lac_solver_table *choose_built_in(lac_method method) {
  switch (method) {
    case LAC_METHOD_DIAGONAL:
      return &lac_solver_diagonal;
    case LAC_METHOD_TRIANGULAR:
      return &lac_solver_triangular;
    case LAC_METHOD_BANDED:
      return &lac_solver_banded;
    case LAC_METHOD_CHOLESKY:
      return &lac_solver_cholesky;
    case LAC_METHOD_LDLT:
      return &lac_solver_ldlt;
    case LAC_METHOD_LU:
      return &lac_solver_lu;
    default:
      return &lac_solver_pivoting_lu;
  }
}

static lac_status choose_table(lac_context *ctx, lac_method method, const lac_solver_table **table) {
  if (method >= LAC_METHOD_CHOLMOD) return lac_engine_table(ctx, method, table);
  *table = choose_built_in(method);
  return LAC_OK;
}

lac_status lac_choose_likely(lac_context *ctx, const lac_solver_core *core, const lac_solver_table **table,
                             const char **reason) {
  lac_status status = LAC_OK;
  lac_method method = core->options.method;

  if (method == LAC_METHOD_AUTO) {
    LAC_TRY(choose_likely_automatic(ctx, core->structure, table, reason));
    LAC_TRY(choose_blocks(ctx, core->structure, table));
    goto done;
  }
  if (method == LAC_METHOD_DIAGONAL || method == LAC_METHOD_TRIANGULAR) {
    LAC_TRY(choose_require_pattern(ctx, core->structure, method));
  }
  LAC_TRY(choose_table(ctx, method, table));
  *reason = (*table)->predict ? "asked for; figures are of one f64 matrix"
                              : "asked for; figures are unknown before the values choose the pivots";
  if (*table == &lac_solver_lu) *reason = choose_lu_reason(core->structure, true);
  if ((*table)->needs_hermitian && !core->structure->is_symmetric) {
    *table = NULL;
    *reason = "asked for, but it needs a symmetric pattern: all values of this one will be refused";
  }
  LAC_TRY(choose_blocks(ctx, core->structure, table));
done:
  return status;
}

// -- by the values ---------------------------------------------------------------------------------------------------

static lac_status choose_look(lac_context *ctx, const lac_factor *f, lac_survey *out) {
  lac_status status = LAC_OK;
  const lac_structure *s = f->core->structure;
  lac_array *values = NULL;
  long long row = 0, column = 0;
  char which[64];

  LAC_TRY(lac_array_wrap(ctx, &(lac_meta){.dtype = f->meta.dtype, .ndim = 2, .shape = {f->items, s->nnz}}, f->values,
                         &values));
  LAC_TRY(lac_survey_glance(ctx, f->core->pattern, values, out));
  if (out->nonfinite >= 0) LAC_TRY(lac_survey_place(ctx, f->core->pattern, out->nonfinite, &row, &column));
  LAC_CHECK(out->nonfinite < 0, LAC_ERR_NONFINITE,
            "%s: the value of entry (%lld, %lld) is not finite%s; a matrix with NaN or infinity has no factor",
            f->function, row, column, lac_factor_item_text(f, out->nonfinite_item, which));
  if (!s->is_symmetric) out->asymmetric = s->unmatched, out->asymmetric_item = 0, out->is_unpaired = true;
done:
  lac_array_destroy(&values);
  return status;
}

// "entry (2, 5) has no entry (5, 2)" or "entry (2, 5) is not the conjugate of entry (5, 2)".
static void choose_asymmetry_text(const lac_factor *f, const lac_survey *survey, char *text, size_t size) {
  const lac_structure *s = f->core->structure;
  long long row = lac_structure_row(s, survey->asymmetric), col = s->columns[survey->asymmetric];
  const char *what = survey->is_unpaired                   ? "has no counterpart"
                     : lac_dtype_is_complex(f->meta.dtype) ? "is not the conjugate of entry"
                                                           : "does not equal entry";
  char which[64];
  snprintf(text, size, "entry (%lld, %lld) %s (%lld, %lld)%s", row, col, what, col, row,
           lac_factor_item_text(f, survey->asymmetric_item, which));
}

void lac_choose_say(lac_factor *f, const char *format, ...) {
  size_t length = strlen(f->reason);
  va_list list;
  va_start(list, format);
  vsnprintf(f->reason + length, sizeof f->reason - length, format, list);
  va_end(list);
}

// What follows where pivots chosen inside supernodes do not suit.
static const lac_solver_table *choose_safer(const lac_solver_table *table) {
  if (table == &lac_solver_ldlt) return &lac_solver_lu;
  return table == &lac_solver_lu || table == &lac_solver_block_lu ? &lac_solver_pivoting_lu : NULL;
}

// By this method or not at all.
static lac_status choose_only(lac_context *ctx, lac_factor *f, const lac_solver_table *table) {
  lac_status status = LAC_OK;
  lac_trial trial;

  LAC_TRY(lac_factor_try(ctx, f, table, &trial));
  if (trial.status != LAC_OK) LAC_TRY(lac_factor_explain(ctx, f, &trial));
done:
  return status;
}

// From one method to the next safer one, until one takes the matrix; the reason says why those before it did not.
static lac_status choose_ladder(lac_context *ctx, lac_factor *f, const lac_solver_table *table) {
  lac_status status = LAC_OK;
  lac_trial trial;

  while (table) {
    const lac_solver_table *next = choose_safer(table);
    LAC_TRY(lac_factor_try(ctx, f, table, &trial));
    if (trial.status == LAC_OK) break;
    if (trial.status != LAC_ERR_CONVERGENCE || !next) LAC_TRY(lac_factor_explain(ctx, f, &trial));
    lac_choose_say(f, "; %s gave up: %s", table->name, trial.fault.text);
    table = next;
  }
  if (table == &lac_solver_block_lu) {
    lac_choose_say(f, "; the blocks of the block triangular form are factored one by one");
  }
done:
  return status;
}

static lac_status choose_asked(lac_context *ctx, lac_factor *f, const lac_survey *survey) {
  lac_status status = LAC_OK;
  const lac_solver_table *table = NULL;
  bool is_refused = false;
  char text[160] = "";

  LAC_TRY(choose_table(ctx, f->core->options.method, &table));
  is_refused = table->needs_hermitian && survey->asymmetric >= 0;
  if (is_refused) choose_asymmetry_text(f, survey, text, sizeof text);
  LAC_CHECK(!is_refused, LAC_ERR_SYMMETRY,
            "%s: %s needs a Hermitian matrix, but %s; use LAC_METHOD_LU or LAC_METHOD_AUTO", f->function, table->name,
            text);
  lac_choose_say(f, "asked for");
  LAC_TRY(choose_blocks(ctx, f->core->structure, &table));
  LAC_TRY(choose_ladder(ctx, f, table));
done:
  return status;
}

// Cholesky where nothing speaks against it; else the reason says what did, and *done stays false.
static lac_status choose_cholesky(lac_context *ctx, lac_factor *f, const lac_survey *survey, bool *is_done) {
  lac_status status = LAC_OK;
  lac_trial trial;
  char text[160] = "", which[64];

  if (survey->asymmetric >= 0) {
    choose_asymmetry_text(f, survey, text, sizeof text);
    lac_choose_say(f, "the matrix is not Hermitian: %s", text);
  } else if (survey->not_positive >= 0) {
    lac_choose_say(f, "the diagonal is not positive in row %lld%s", (long long)survey->not_positive,
                   lac_factor_item_text(f, survey->not_positive_item, which));
  } else {
    LAC_TRY(lac_factor_try(ctx, f, &lac_solver_cholesky, &trial));
    *is_done = trial.status == LAC_OK;
    lac_choose_say(f, "%s%s", *is_done ? "the matrix is Hermitian with a positive diagonal" : "Cholesky gave up: ",
                   *is_done ? "" : trial.fault.text);
    if (!*is_done && trial.status != LAC_ERR_DEFINITE) LAC_TRY(lac_factor_explain(ctx, f, &trial));
  }
done:
  return status;
}

static lac_status choose_automatic(lac_context *ctx, lac_factor *f, const lac_survey *survey) {
  lac_status status = LAC_OK;
  const lac_solver_table *table = NULL;
  const char *reason = "";
  bool is_done = false;

  LAC_TRY(choose_by_pattern(ctx, f->core->structure, &table, &reason));
  if (table) {
    lac_choose_say(f, "%s", reason);
    LAC_TRY(choose_only(ctx, f, table));
    goto done;
  }
  LAC_TRY(choose_cholesky(ctx, f, survey, &is_done));
  if (is_done) goto done;
  table = choose_is_narrow(f->core->structure, CHOOSE_NARROW) ? &lac_solver_banded
          : survey->asymmetric < 0                            ? &lac_solver_ldlt
                                                              : &lac_solver_lu;
  LAC_TRY(choose_blocks(ctx, f->core->structure, &table));
  LAC_TRY(choose_ladder(ctx, f, table));
done:
  return status;
}

lac_status lac_choose(lac_context *ctx, lac_factor *factor) {
  lac_status status = LAC_OK;
  lac_survey survey;

  LAC_TRY(choose_look(ctx, factor, &survey));
  if (factor->core->options.method == LAC_METHOD_AUTO) {
    LAC_TRY(choose_automatic(ctx, factor, &survey));
  } else {
    LAC_TRY(choose_asked(ctx, factor, &survey));
  }
done:
  return status;
}

lac_status lac_choose_fits(lac_context *ctx, const lac_factor *factor, const lac_solver_table *table, bool *fits) {
  lac_status status = LAC_OK;
  lac_survey survey;

  LAC_TRY(choose_look(ctx, factor, &survey));
  *fits = survey.asymmetric < 0 || !table->needs_hermitian;
done:
  return status;
}
