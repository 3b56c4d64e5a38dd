// SPDX-License-Identifier: Apache-2.0
/// @file iterative_choose.c
/// Which Krylov method and which preconditioner, and why.
///
///     Hermitian, a positive diagonal     flexible CG    multigrid, else IC(0), Jacobi, none
///     diagonally dominant by a margin    GMRES          ILU(0), else Jacobi, none
///     like an M-matrix                   flexible GMRES multigrid, else ILU(0), Jacobi, none
///     any other                          GMRES          ILU(0), else Jacobi, none
///     least squares                                     none
///
/// What is asked for is done or refused. What is left open goes from the best to the plainest until one can be set up.

#include <stdio.h>

#include "solvers/krylov/iterative.h"

enum { CHOOSE_CANDIDATES = 5 };

// What stands beside the diagonal, as a share of it, up to which ILU(0) needs a few iterations: multigrid is not worth its set-up.
static const double choose_margin = 0.95;

/// A direct factor knows of no null space: with one the matrix is singular, and what it gives would be rounding magnified.
bool lac_iterative_may_go_direct(const lac_solver_core *core) {
  return core->options.method == LAC_METHOD_AUTO && !core->options.iteration.null_space;
}

bool lac_iterative_suits(const lac_survey *s, const char **finding) {
  bool is_definite = s->asymmetric < 0 && s->not_positive < 0;
  if (is_definite || s->is_m_like || s->dominance < 1) return true;
  *finding = s->asymmetric < 0 ? "the matrix is Hermitian without a positive diagonal, and not diagonally dominant"
                               : "the matrix is neither Hermitian nor like an M-matrix nor diagonally dominant";
  return false;
}

static lac_status choose_require_hermitian(lac_context *ctx, const lac_factor *f, const lac_survey *s) {
  lac_status status = LAC_OK;
  bool is_complex = lac_dtype_is_complex(f->meta.dtype);
  long long row = 0, column = 0;
  char which[64];

  if (s->asymmetric < 0 || !f->iterative->krylov || !f->iterative->krylov->needs_hermitian) goto done;
  LAC_TRY(lac_survey_place(ctx, f->core->pattern, s->asymmetric, &row, &column));
  LAC_CHECK(false, LAC_ERR_SYMMETRY,
            "lac_solver_factor: %s needs a Hermitian matrix, but entry (%lld, %lld) %s (%lld, %lld)%s; use "
            "LAC_METHOD_GMRES or LAC_METHOD_BICGSTAB",
            f->iterative->krylov->name, row, column,
            s->is_unpaired ? "has no counterpart"
            : is_complex   ? "is not the conjugate of entry"
                           : "does not equal entry",
            column, row, lac_factor_item_text(f, s->asymmetric_item, which));
done:
  return status;
}

// -- setting up ------------------------------------------------------------------------------------------------------

static void choose_note(lac_factor *f) {
  lac_iterative *it = f->iterative;
  it->finding = (lac_setup_finding){0};
  if (it->table && it->part) it->table->report(it->part, &it->finding);
  snprintf(f->warning, sizeof f->warning, "%s", it->finding.warning);
  f->finding = (lac_finding){.bytes = it->finding.bytes, .smallest = 1, .where = -1};
  if (it->inner) f->finding.bytes += lac_factor_bytes(it->inner);
}

/// By this table: from what there is where that can be refreshed, else from nothing.
static lac_status choose_set_up(lac_context *ctx, lac_factor *f, const lac_factor *like,
                                const lac_preconditioner_table *table) {
  lac_status status = LAC_OK, refreshed = LAC_ERR_ARG;
  lac_iterative *it = f->iterative;
  lac_setup setup = {.pattern = f->core->pattern,
                     .values = it->values,
                     .options = &f->core->options,
                     .is_hermitian = it->is_hermitian,
                     .largest = it->largest};
  bool has_like = like && like->iterative && like->iterative->table == table && like->iterative->part;

  it->table = table;
  if (f->items == 0 || f->core->pattern->rows == 0 || f->core->pattern->rows != f->core->pattern->cols) goto done;
  if (has_like && table->refresh) refreshed = table->refresh(ctx, &setup, like->iterative->part, &it->part);
  if (refreshed == LAC_ERR_MEMORY || refreshed == LAC_ERR_BACKEND) LAC_TRY(refreshed);
  if (refreshed == LAC_OK) {
    atomic_fetch_add(&f->core->refreshes, 1);
  } else {
    LAC_TRY(table->create(ctx, &setup, &it->part));
    atomic_fetch_add(&f->core->setups, 1);
  }
done:
  return status;
}

/// By a direct factor of the same values.
static lac_status choose_direct(lac_context *ctx, lac_factor *f, const lac_factor *like, lac_method method) {
  lac_status status = LAC_OK;
  lac_iterative *it = f->iterative;
  lac_solver_options options = f->core->options;
  lac_solver_core *core = NULL;

  options.method = method == LAC_METHOD_DIRECT ? LAC_METHOD_AUTO : method;
  if (like && like->iterative && like->iterative->inner && !f->core->options.preconditioner.factor) {
    LAC_TRY(lac_factor_refactor(ctx, like->iterative->inner, it->given, &it->inner));
    atomic_fetch_add(&f->core->refreshes, 1);
  } else {
    LAC_TRY(lac_solver_require_cpu(ctx, "lac_solver_factor", it->given));
    LAC_TRY(lac_solver_core_create(ctx, f->core->pattern, &options, &core));
    LAC_TRY(lac_factor_make(ctx, core, it->given, NULL, &it->inner));
    atomic_fetch_add(&f->core->setups, 1);
  }
done:
  lac_object_release(core);
  return status;
}

// -- what goes together ----------------------------------------------------------------------------------------------

/// CG and GMRES become their flexible forms where the preconditioner varies; the others cannot.
static void choose_bend(lac_factor *f, const lac_krylov_table *flexible) {
  if (!flexible || flexible == f->iterative->krylov) return;
  f->iterative->krylov = flexible;
  lac_choose_say(f, "; %s, since the preconditioner varies", flexible->name);
}

static lac_status choose_require_fit(lac_context *ctx, lac_factor *f, const char *name, bool is_variable,
                                     bool keeps_hermitian) {
  lac_status status = LAC_OK;
  const lac_krylov_table *krylov = f->iterative->krylov, *flexible = lac_krylov_flexible(krylov);

  if (!krylov) goto done;
  LAC_CHECK(!is_variable || flexible, LAC_ERR_ARG,
            "lac_solver_factor: %s is another matrix each time it is applied, which %s cannot take; use "
            "LAC_METHOD_FLEXIBLE_CG or LAC_METHOD_FLEXIBLE_GMRES",
            name, krylov->name);
  LAC_CHECK(keeps_hermitian || !krylov->needs_hermitian, LAC_ERR_ARG,
            "lac_solver_factor: %s needs a Hermitian positive definite preconditioner, and %s is none; use "
            "LAC_METHOD_IC0 or LAC_METHOD_SSOR, or LAC_METHOD_GMRES with this one",
            krylov->name, name);
  if (is_variable) choose_bend(f, flexible);
done:
  return status;
}

bool lac_iterative_varies(const lac_factor *f) {
  const lac_iterative *it = f->iterative;
  if (!it || atomic_load(&it->has_fallen)) return false;
  return it->krylov || (it->table && it->table->is_variable) || (it->inner && lac_iterative_varies(it->inner));
}

// -- asked for -------------------------------------------------------------------------------------------------------

static lac_status choose_given_factor(lac_context *ctx, lac_factor *f, const lac_factor *given) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_CHECK(given->meta.dtype == f->meta.dtype, LAC_ERR_DTYPE,
            "lac_solver_factor: the preconditioner's factor is %s, the values are %s; they must agree",
            lac_dtype_name(given->meta.dtype), lac_dtype_name(f->meta.dtype));
  LAC_CHECK(
      given->items == 1 || lac_factor_same_shape(&given->meta, &f->meta, 1), LAC_ERR_SHAPE,
      "lac_solver_factor: the preconditioner's factor has the batch shape of values %s, these have %s; it must be "
      "of one matrix or of as many",
      lac_shape_text(given->meta.ndim, given->meta.shape, text), lac_shape_text(f->meta.ndim, f->meta.shape, other));
  LAC_TRY(choose_require_fit(ctx, f, lac_factor_report(given).method, lac_iterative_varies(given), true));
  f->iterative->inner = lac_factor_retain(given);
  lac_choose_say(f, "; preconditioned by a factor that was given");
done:
  return status;
}

static lac_status choose_asked(lac_context *ctx, lac_factor *f, const lac_factor *like, lac_method method) {
  lac_status status = LAC_OK;
  const lac_preconditioner_table *table = lac_preconditioner_of(method);

  if (!table) {
    LAC_TRY(choose_direct(ctx, f, like, method));
  } else {
    LAC_TRY(choose_require_fit(ctx, f, table->name, table->is_variable, table->keeps_hermitian));
    LAC_TRY(choose_set_up(ctx, f, like, table));
  }
done:
  return status;
}

// -- left open -------------------------------------------------------------------------------------------------------

static int choose_candidates(const lac_factor *f, const lac_survey *s, const lac_preconditioner_table **list) {
  const lac_krylov_table *krylov = f->iterative->krylov;
  bool is_definite = s->asymmetric < 0 && s->not_positive < 0;
  int count = 0;

  if (!krylov->takes_rectangles && s->without < 0) {
    if (is_definite || (s->is_m_like && s->dominance > choose_margin)) list[count++] = &lac_preconditioner_multigrid;
    if (is_definite) list[count++] = &lac_preconditioner_ic0;
    if (!is_definite && !krylov->needs_hermitian) list[count++] = &lac_preconditioner_ilu0;
    if (is_definite || !krylov->needs_hermitian) list[count++] = &lac_preconditioner_jacobi;
  }
  list[count++] = &lac_preconditioner_identity;
  return count;
}

/// Whether a set-up failed for what the matrix is, so that a plainer one may do; not for want of memory, nor a device's fault.
static bool choose_may_go_on(lac_status status) {
  return status == LAC_ERR_SINGULAR || status == LAC_ERR_DEFINITE || status == LAC_ERR_SYMMETRY ||
         status == LAC_ERR_NONFINITE || status == LAC_ERR_OVERFLOW || status == LAC_ERR_UNSUPPORTED;
}

/// One that was left open; `krylov` becomes its flexible form where it must be.
static lac_status choose_try(lac_context *ctx, lac_factor *f, const lac_factor *like,
                             const lac_preconditioner_table *table, bool *is_done) {
  lac_status status;
  const lac_krylov_table *krylov = f->iterative->krylov;

  if (table->is_variable) krylov = lac_krylov_flexible(krylov);
  if (!krylov || (krylov->needs_hermitian && !table->keeps_hermitian)) return LAC_OK;
  status = choose_set_up(ctx, f, like, table);
  *is_done = status == LAC_OK;
  if (!*is_done && !choose_may_go_on(status)) return lac_context_pass(ctx, status, __func__);
  if (!*is_done) {
    lac_choose_say(f, "; %s gave up", table->name);
    return LAC_OK;
  }
  choose_bend(f, krylov);
  return LAC_OK;
}

static const char *choose_finding(const lac_survey *s) {
  if (s->asymmetric < 0 && s->not_positive < 0) return "the matrix is Hermitian with a positive diagonal";
  if (s->without >= 0) return "there are gaps or zeros on the diagonal";
  if (s->dominance <= choose_margin || (s->dominance < 1 && !s->is_m_like)) return "the matrix is diagonally dominant";
  if (s->asymmetric < 0) return "the matrix is Hermitian without a positive diagonal";
  return s->is_m_like ? "the matrix is like an M-matrix" : "the matrix is not Hermitian";
}

static lac_status choose_open(lac_context *ctx, lac_factor *f, const lac_factor *like, const lac_survey *s) {
  lac_status status = LAC_OK;
  const lac_preconditioner_table *list[CHOOSE_CANDIDATES];
  int count = choose_candidates(f, s, list);
  bool is_done = false;

  if (!f->iterative->krylov->takes_rectangles) lac_choose_say(f, "; %s", choose_finding(s));
  for (int i = 0; i < count && !is_done; i++) LAC_TRY(choose_try(ctx, f, like, list[i], &is_done));
done:
  return status;
}

// -- all of it -------------------------------------------------------------------------------------------------------

// A function may vary, nobody knows; where the library sees that a preconditioner does, GMRES becomes flexible.
static const lac_krylov_table *choose_krylov(const lac_solver_options *o, const lac_survey *s) {
  if (o->method != LAC_METHOD_AUTO) return lac_krylov_of(o->method);
  if (s->asymmetric < 0 && s->not_positive < 0) return &lac_krylov_flexible_cg;
  return o->preconditioner.apply ? &lac_krylov_flexible_gmres : &lac_krylov_gmres;
}

lac_status lac_iterative_choose(lac_context *ctx, lac_factor *f, const lac_factor *like, const lac_survey *s) {
  lac_status status = LAC_OK;
  lac_iterative *it = f->iterative;
  const lac_solver_options *o = &f->core->options;

  it->krylov = choose_krylov(o, s);
  it->is_hermitian = s->asymmetric < 0;
  LAC_TRY(choose_require_hermitian(ctx, f, s));
  lac_choose_say(f, "%s", f->core->why);
  if (!it->krylov) {
    LAC_TRY(choose_asked(ctx, f, like, o->method));
  } else if (o->preconditioner.factor) {
    LAC_TRY(choose_given_factor(ctx, f, o->preconditioner.factor));
  } else if (o->preconditioner.apply) {
    lac_choose_say(f, "; preconditioned by a function that was given");
  } else if (o->preconditioner.method != LAC_METHOD_AUTO) {
    LAC_TRY(choose_asked(ctx, f, like, (lac_method)o->preconditioner.method));
  } else {
    LAC_TRY(choose_open(ctx, f, like, s));
  }
  if (it->krylov) LAC_TRY(lac_iterative_require_null(ctx, f));
  choose_note(f);
done:
  return status;
}
