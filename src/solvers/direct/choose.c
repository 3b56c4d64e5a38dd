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
///     LU column by column           any of the last three, where columns of the factor are short
///     pivoting LU                   what is left
///
/// What the pattern says is kept with it. Values are looked at once for every factor that is made of them.

#include <stdio.h>
#include <string.h>

#include "core/finite.h"
#include "solvers/direct/direct.h"
#include "solvers/direct/order/block_form.h"
#include "solvers/direct/order/outline.h"

// -- by the pattern --------------------------------------------------------------------------------------------------

// Bands up to so many diagonals on either side need no ordering and no dense blocks: wider ones are better off with
// both, and Cholesky with less. At least a third of the band is stored, else the holes are worth an ordering.
enum { CHOOSE_NARROW = 32, CHOOSE_NARROW_CHOLESKY = 8, CHOOSE_HOLES = 3 };
enum { CHOOSE_TEXT = 256 };  // of why a matrix is not Hermitian

static bool choose_is_tridiagonal(const lac_structure *s) { return s->lower <= 1 && s->upper <= 1 && s->n > 3; }

static bool choose_is_narrow(const lac_structure *s, int32_t most) {
  int64_t band = (int64_t)s->lower + s->upper + 1;
  return s->lower <= most && s->upper <= most && 4 * band <= s->n && s->n * band <= CHOOSE_HOLES * s->nnz;
}

// A symmetric structure with a diagonal and any other entry has a block of two rows at least: no search is needed.
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

// The method that the pattern alone decides for, and why; NULL: the values decide.
static lac_status choose_by_pattern(lac_context *ctx, const lac_structure *s, const lac_direct_table **table,
                                    const char **reason) {
  lac_status status = LAC_OK;
  bool is_triangular = false;

  *table = NULL;
  LAC_TRY(choose_is_triangular(ctx, s, &is_triangular));
  if (s->lower == 0 && s->upper == 0) {
    *table = &lac_direct_diagonal, *reason = "the pattern is diagonal";
  } else if (is_triangular) {
    *table = &lac_direct_triangular;
    *reason = s->lower == 0 || s->upper == 0 ? "the pattern is triangular"
                                             : "the pattern is triangular after permutations of rows and columns";
  } else if (choose_is_tridiagonal(s)) {
    *table = &lac_direct_banded, *reason = "the pattern is tridiagonal";
  } else if (choose_is_narrow(s, s->is_symmetric ? CHOOSE_NARROW_CHOLESKY : CHOOSE_NARROW)) {
    *table = &lac_direct_banded, *reason = "the pattern is a narrow band";
  }
done:
  return status;
}

// From so many rows on it matters how short the columns of a factor are.
enum { CHOOSE_ROWS = 128, CHOOSE_ROWS_HERMITIAN = 1000 };

// Column by column, in place of a method that makes dense blocks, where columns are short.
static lac_status choose_columns(lac_context *ctx, const lac_structure *s, lac_ordering ordering,
                                 const lac_direct_table **table) {
  lac_status status = LAC_OK;
  bool is_hermitian = (*table)->needs_hermitian, is_open = s->is_symmetric && s->diagonals < s->n;
  const lac_outline *outline = NULL;

  if (!is_hermitian && *table != &lac_direct_lu && *table != &lac_direct_block_lu) goto done;
  if (s->n < (is_hermitian ? CHOOSE_ROWS_HERMITIAN : CHOOSE_ROWS) || is_open) goto done;
  LAC_TRY(lac_outline_get(ctx, s, ordering, &outline));
  if (lac_outline_is_thin(outline, is_hermitian ? LAC_OUTLINE_THIN_HERMITIAN : LAC_OUTLINE_THIN)) {
    *table = &lac_direct_column_lu;
  }
done:
  return status;
}

// LU takes a matrix apart where its blocks pay.
static lac_status choose_blocks(lac_context *ctx, const lac_structure *s, const lac_direct_table **table) {
  lac_status status = LAC_OK;
  const lac_block_form *form = NULL;

  if (*table != &lac_direct_lu) goto done;
  LAC_TRY(lac_block_form_get(ctx, s, &form));
  if (lac_block_form_pays(form)) *table = &lac_direct_block_lu;
done:
  return status;
}

// The first entry off the diagonal.
static int64_t choose_off_diagonal(const lac_structure *s) {
  int64_t p = 0;
  while (lac_structure_row(s, p) == s->columns[p]) p++;
  return p;
}

static lac_status choose_require_pattern(lac_context *ctx, const lac_structure *s, const lac_direct_table *asked) {
  lac_status status = LAC_OK;
  const lac_block_form *form = NULL;
  bool fits = s->lower == 0 && s->upper == 0;
  int64_t p = fits ? 0 : choose_off_diagonal(s);

  if (asked != &lac_direct_diagonal && asked != &lac_direct_triangular) goto done;
  LAC_CHECK(
      fits || asked != &lac_direct_diagonal, LAC_ERR_ARG,
      "lac_solver_create: method = \"diagonal\" needs a diagonal pattern, this one stores entry (%lld, %lld); use "
      "method = \"auto\"",
      (long long)lac_structure_row(s, p), (long long)s->columns[p]);
  LAC_TRY(choose_is_triangular(ctx, s, &fits));
  if (fits) goto done;
  LAC_TRY(lac_block_form_get(ctx, s, &form));
  LAC_CHECK(asked != &lac_direct_triangular, LAC_ERR_ARG,
            "lac_solver_create: method = \"triangular\" needs a pattern that some order of rows and columns makes "
            "triangular, this one has %lld blocks in %lld rows; use method = \"auto\"",
            (long long)form->blocks, (long long)s->n);
done:
  return status;
}

// -- what is foreseen ------------------------------------------------------------------------------------------------

#define CHOOSE_THIN "columns of the factor are short, and factored one by one"
static const char CHOOSE_THIN_REASON[] = CHOOSE_THIN "; figures are of one f64 matrix that is strong on its diagonal";

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

lac_status lac_choose_likely(lac_context *ctx, const lac_structure *s, lac_ordering ordering,
                             const lac_direct_table **table, const char **reason) {
  lac_status status = LAC_OK;

  LAC_TRY(choose_by_pattern(ctx, s, table, reason));
  if (*table) goto done;
  if (s->is_symmetric && s->diagonals == s->n) {
    *table = &lac_direct_cholesky;
    *reason =
        "the pattern is symmetric with a full diagonal; figures are of one f64 matrix, if its values turn out "
        "Hermitian positive definite (else L D L^H or LU is used)";
  } else if (s->is_symmetric) {
    *table = &lac_direct_ldlt;
    *reason =
        "the pattern is symmetric with gaps on the diagonal; figures are of one f64 matrix, if its values turn out "
        "Hermitian (else LU is used)";
  } else {
    *table = &lac_direct_lu;
    *reason = choose_lu_reason(s, false);
    LAC_TRY(choose_blocks(ctx, s, table));
  }
  LAC_TRY(choose_columns(ctx, s, ordering, table));
  if (*table == &lac_direct_column_lu) *reason = CHOOSE_THIN_REASON;
done:
  return status;
}

lac_status lac_choose_likely_asked(lac_context *ctx, const lac_structure *s, const lac_direct_table *asked,
                                   const lac_direct_table **table, const char **reason) {
  lac_status status = LAC_OK;

  LAC_TRY(choose_require_pattern(ctx, s, asked));
  *table = asked;
  *reason = asked->foresee ? "asked for; figures are of one f64 matrix"
                           : "asked for; figures are unknown before the values choose the pivots";
  if (asked == &lac_direct_lu) *reason = choose_lu_reason(s, true);
  if (asked->needs_hermitian && !s->is_symmetric) {
    *table = NULL;
    *reason = "asked for, but it needs a symmetric pattern: all values of this one will be refused";
  }
  LAC_TRY(choose_blocks(ctx, s, table));
done:
  return status;
}

// -- by the values ---------------------------------------------------------------------------------------------------

/// What the values say: by a look that was had before, or by one now, which asks whether they are Hermitian where that
/// matters and the pattern leaves it open. Those that are not finite are refused.
static lac_status choose_look(lac_context *ctx, const lac_linear *a, const lac_factor *f, bool matters,
                              lac_survey *out) {
  lac_status status = LAC_OK;
  const lac_structure *s = lac_direct_structure(f);
  lac_array *flat = NULL;
  char which[64];

  if (a->survey) {
    *out = *a->survey;
  } else if (!matters || !s->is_symmetric) {
    *out = lac_survey_begin();
    out->nonfinite =
        lac_nonfinite_first(ctx, f->meta.dtype, lac_direct_item(f, 0), f->items, s->nnz, &out->nonfinite_item);
  } else {
    LAC_TRY(lac_array_reshape(ctx, (lac_array *)a->values, 2, (int64_t[]){f->items, s->nnz}, &flat));
    LAC_TRY(lac_survey_glance(ctx, a->pattern, flat, out));
  }
  if (!s->is_symmetric) out->asymmetric = s->unmatched, out->asymmetric_item = 0, out->is_unpaired = true;
  lac_surveyed_assume(f, out);
  LAC_CHECK(out->nonfinite < 0, LAC_ERR_NONFINITE,
            "%s: the value of entry (%lld, %lld) is not finite%s; a matrix with NaN or infinity has no factor",
            f->function, (long long)lac_structure_row(s, out->nonfinite), (long long)s->columns[out->nonfinite],
            lac_factor_item_text(f, out->nonfinite_item, which));
done:
  lac_array_destroy(&flat);
  return status;
}

// Why the matrix is not Hermitian.
static lac_status choose_asymmetry(lac_context *ctx, const lac_linear *a, const lac_factor *f, const lac_survey *survey,
                                   char *text, size_t size) {
  lac_status status = LAC_OK;
  char which[64];
  size_t length;

  LAC_TRY(lac_survey_asymmetry(ctx, a->pattern, a->values, survey, text, size));
  length = strlen(text);
  snprintf(text + length, size - length, "%s", lac_factor_item_text(f, survey->asymmetric_item, which));
done:
  return status;
}

// A structure without a full diagonal in any order is singular whatever the values: said before they are matched, which
// takes long where it fails.
static lac_status choose_require_rank(lac_context *ctx, const lac_factor *f) {
  lac_status status = LAC_OK;
  const lac_structure *s = lac_direct_structure(f);
  const lac_block_form *form = NULL;
  lac_trial trial = {.status = LAC_ERR_SINGULAR, .task = f->items};

  if (s->diagonals == s->n) goto done;
  LAC_TRY(lac_block_form_get(ctx, s, &form));
  if (form->rank == form->n) goto done;
  lac_structure_singular_text(s, form->cols[form->vacant], trial.fault.text, sizeof trial.fault.text);
  LAC_TRY(lac_direct_explain(ctx, f, &trial));
done:
  return status;
}

// What follows where pivots chosen inside supernodes do not suit.
static const lac_direct_table *choose_safer(const lac_direct_table *table) {
  if (table == &lac_direct_ldlt) return &lac_direct_lu;
  return table == &lac_direct_lu || table == &lac_direct_block_lu || table == &lac_direct_column_lu
             ? &lac_direct_pivoting_lu
             : NULL;
}

// By this method or not at all.
static lac_status choose_only(lac_context *ctx, lac_factor *f, const lac_direct_table *table) {
  lac_status status = LAC_OK;
  lac_trial trial;

  LAC_TRY(lac_direct_try(ctx, f, table, &trial));
  if (trial.status != LAC_OK) LAC_TRY(lac_direct_explain(ctx, f, &trial));
done:
  return status;
}

// From one method to the next safer one, until one takes the matrix; the reason says why those before it did not.
static lac_status choose_ladder(lac_context *ctx, lac_factor *f, const lac_direct_table *table) {
  lac_status status = LAC_OK;
  lac_trial trial;

  while (table) {
    const lac_direct_table *next = choose_safer(table);
    LAC_TRY(lac_direct_try(ctx, f, table, &trial));
    if (trial.status == LAC_OK) break;
    if (trial.status != LAC_ERR_CONVERGENCE || !next) LAC_TRY(lac_direct_explain(ctx, f, &trial));
    lac_factor_say(f, "; %s gave up: %s", table->name, trial.fault.text);
    table = next;
  }
  if (table == &lac_direct_block_lu) {
    lac_factor_say(f, "; the blocks of the block triangular form are factored one by one");
  }
done:
  return status;
}

lac_status lac_choose_asked(lac_context *ctx, const lac_linear *a, const lac_direct_table *asked, lac_factor *f) {
  lac_status status = LAC_OK;
  const lac_direct_table *table = asked;
  lac_survey survey;
  bool is_refused = false;
  char text[CHOOSE_TEXT] = "";

  LAC_TRY(choose_look(ctx, a, f, asked->needs_hermitian, &survey));
  is_refused = asked->needs_hermitian && survey.asymmetric >= 0;
  if (is_refused) LAC_TRY(choose_asymmetry(ctx, a, f, &survey, text, sizeof text));
  LAC_CHECK(!is_refused, LAC_ERR_SYMMETRY,
            "%s: %s needs a Hermitian matrix, but %s; use method = \"lu\" or method = \"auto\", %s", f->function,
            asked->name, text, lac_survey_symmetry_ways(&survey));
  lac_factor_say(f, "%s", f->core->why);
  if (table == &lac_direct_lu) LAC_TRY(choose_require_rank(ctx, f));
  LAC_TRY(choose_blocks(ctx, lac_direct_structure(f), &table));
  LAC_TRY(choose_ladder(ctx, f, table));
done:
  return status;
}

// Cholesky where nothing speaks against it; else the reason says what did, and *is_done stays false.
static lac_status choose_cholesky(lac_context *ctx, const lac_linear *a, lac_factor *f, const lac_survey *survey,
                                  bool *is_done) {
  lac_status status = LAC_OK;
  lac_trial trial;
  char text[CHOOSE_TEXT] = "", which[64];

  if (survey->asymmetric >= 0) {
    LAC_TRY(choose_asymmetry(ctx, a, f, survey, text, sizeof text));
    lac_factor_say(f, "the matrix is not Hermitian: %s", text);
  } else if (survey->not_positive >= 0) {
    lac_factor_say(f, "the diagonal is not positive in row %lld%s", (long long)survey->not_positive,
                   lac_factor_item_text(f, survey->not_positive_item, which));
  } else {
    LAC_TRY(lac_direct_try(ctx, f, &lac_direct_cholesky, &trial));
    *is_done = trial.status == LAC_OK;
    lac_factor_say(f, "%s%s", *is_done ? "the matrix is Hermitian with a positive diagonal" : "Cholesky gave up: ",
                   *is_done ? "" : trial.fault.text);
    if (!*is_done && trial.status != LAC_ERR_DEFINITE) LAC_TRY(lac_direct_explain(ctx, f, &trial));
  }
done:
  return status;
}

lac_status lac_choose(lac_context *ctx, const lac_linear *a, lac_factor *f) {
  lac_status status = LAC_OK;
  const lac_structure *s = lac_direct_structure(f);
  const lac_direct_table *table = NULL;
  const char *reason = "";
  lac_survey survey;
  bool is_done = false;

  LAC_TRY(choose_look(ctx, a, f, true, &survey));
  LAC_TRY(choose_by_pattern(ctx, s, &table, &reason));
  if (table) {
    lac_factor_say(f, "%s", reason);
    LAC_TRY(choose_only(ctx, f, table));
    goto done;
  }
  LAC_TRY(choose_require_rank(ctx, f));
  table = survey.asymmetric < 0 ? &lac_direct_ldlt : &lac_direct_lu;
  if (survey.asymmetric < 0) LAC_TRY(choose_columns(ctx, s, f->core->options.ordering, &table));
  if (table != &lac_direct_column_lu) LAC_TRY(choose_cholesky(ctx, a, f, &survey, &is_done));
  if (is_done) goto done;
  if (choose_is_narrow(s, CHOOSE_NARROW)) table = &lac_direct_banded;
  LAC_TRY(choose_blocks(ctx, s, &table));
  if (survey.asymmetric >= 0) LAC_TRY(choose_columns(ctx, s, f->core->options.ordering, &table));
  if (table == &lac_direct_column_lu) lac_factor_say(f, "%s%s", *f->reason ? "; " : "", CHOOSE_THIN);
  LAC_TRY(choose_ladder(ctx, f, table));
done:
  return status;
}

lac_status lac_choose_fits(lac_context *ctx, const lac_linear *a, const lac_factor *f, const lac_direct_table *table,
                           bool *fits) {
  lac_status status = LAC_OK;
  lac_survey survey;

  LAC_TRY(choose_look(ctx, a, f, table->needs_hermitian, &survey));
  *fits = survey.asymmetric < 0 || !table->needs_hermitian;
done:
  return status;
}
