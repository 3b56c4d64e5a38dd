// SPDX-License-Identifier: Apache-2.0
/// @file krylov_solver.c
/// Krylov methods as kinds: which preconditioner, what goes together, what is said of it.

#include "solvers/krylov/krylov_solver.h"

#include <stdio.h>

#include "solvers/options.h"
#include "solvers/precondition/preconditioner.h"

// -- cores -----------------------------------------------------------------------------------------------------------

static lac_status krylov_analyse(lac_context *ctx, lac_solver_core *core) {
  lac_status status = LAC_OK;
  const char *name = lac_options_preconditioner(&core->options.preconditioner);
  lac_krylov_core *k = NULL;

  LAC_ALLOC(k, 1);
  core->part = k;
  LAC_TRY(lac_options_check_iterating(ctx, core->pattern, &core->options));
  if (name) LAC_TRY(lac_kind_find(ctx, "lac_solver_create", name, &k->asked));
done:
  return status;
}

static void krylov_forget(lac_solver_core *core) {
  lac_free(core->part);
  core->part = NULL;
}

static void krylov_foresee(const lac_solver_core *core, lac_report *report) {
  const lac_krylov_core *k = core->part;
  const lac_krylov_table *method = core->table->method;

  if (k->asked && k->asked->flags & LAC_VARIES && method->flexible) method = method->flexible;
  report->method = method->name;
  report->preconditioner = k->asked ? k->asked->name : "";
}

/// Where the preconditioner is that is asked for by name.
static bool krylov_is_here(const lac_context *ctx, const lac_solver_table *table, const lac_solver_core *core) {
  const lac_krylov_core *k = core->part;
  (void)table;
  if (!ctx->kernels->columns) return false;
  return !k || !k->asked || !k->asked->is_here || k->asked->is_here(ctx, k->asked, core);
}

// -- what goes together ----------------------------------------------------------------------------------------------

static lac_status krylov_require_hermitian(lac_context *ctx, const lac_factor *f, const lac_linear *a) {
  lac_status status = LAC_OK;
  const lac_krylov_table *method = lac_krylov_of(f)->method;
  const lac_survey *s = a->survey;
  char which[64], text[LAC_SENTENCE_SIZE / 4];

  if (s->asymmetric < 0 || !method->needs_hermitian) goto done;
  LAC_TRY(lac_survey_asymmetry(ctx, a->pattern, lac_krylov_of(f)->values, s, text, sizeof text));
  LAC_FAIL(
      LAC_ERR_SYMMETRY,
      "lac_solver_factor: %s needs a Hermitian matrix, but %s%s; use method = \"gmres\" or method = \"bicgstab\", %s",
      method->name, text, lac_factor_item_text(f, s->asymmetric_item, which), lac_survey_symmetry_ways(s));
done:
  return status;
}

/// The largest of all matrices, which separates rounding from a residual that is left to solve.
static lac_status krylov_take_largest(lac_context *ctx, lac_factor *f, const lac_array *largest) {
  lac_status status = LAC_OK;
  lac_krylov_factor *k = f->part;
  double *each = NULL;

  if (!largest || f->items == 0) goto done;
  LAC_ALLOC(each, f->items);
  LAC_TRY(ctx->backend->download(ctx, each, largest->storage->data, (size_t)f->items * sizeof *each));
  for (int64_t i = 0; i < f->items; i++) k->largest = each[i] > k->largest ? each[i] : k->largest;
done:
  lac_free(each);
  return status;
}

bool lac_krylov_is_on_grid(const lac_factor *f) {
  extern const lac_solver_table lac_kind_multigrid;
  const lac_factor *m = lac_krylov_of(f)->m;
  return m && m->table == &lac_kind_multigrid && lac_precondition_of(m)->finding.is_grid;
}

/// CG and GMRES become their flexible forms where the preconditioner varies. A V-cycle on a grid varies by its rounding
/// alone, which CG takes where a vector is to be saved.
static void krylov_bend(lac_factor *f) {
  lac_krylov_factor *k = f->part;
  if (!k->m || !lac_factor_varies(k->m) || k->method->is_flexible) return;
  if (f->core->options.low_memory && k->method == &lac_krylov_cg && lac_krylov_is_on_grid(f)) return;
  k->method = k->method->flexible;
  lac_factor_say(f, "; %s, since the preconditioner varies", k->method->name);
}

static lac_status krylov_require_fit(lac_context *ctx, const lac_factor *f, const char *name, bool varies,
                                     bool keeps_hermitian) {
  lac_status status = LAC_OK;
  const lac_krylov_table *method = lac_krylov_of(f)->method;

  LAC_CHECK(!varies || method->flexible, LAC_ERR_ARG,
            "lac_solver_factor: %s is another matrix each time it is applied, which %s cannot take; use "
            "method = \"flexible_cg\" or method = \"flexible_gmres\"",
            name, method->name);
  LAC_CHECK(keeps_hermitian || !method->needs_hermitian, LAC_ERR_ARG,
            "lac_solver_factor: %s needs a Hermitian positive definite preconditioner, and %s is not; use "
            "preconditioner.method = \"ic0\" or preconditioner.method = \"ssor\", or method = \"gmres\" with this one",
            method->name, name);
done:
  return status;
}

// -- the preconditioner ----------------------------------------------------------------------------------------------

static lac_status krylov_take_given(lac_context *ctx, lac_factor *f, const lac_factor *given) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT], other[LAC_SHAPE_TEXT];

  LAC_TRY(lac_factor_require_here(ctx, f->function, given));
  LAC_CHECK(given->core->rows == f->core->cols && given->core->cols == f->core->cols, LAC_ERR_SHAPE,
            "%s: the preconditioner's factor is of a %lld x %lld matrix, this one has %lld columns", f->function,
            (long long)given->core->rows, (long long)given->core->cols, (long long)f->core->cols);
  LAC_CHECK(given->meta.dtype == f->meta.dtype, LAC_ERR_DTYPE,
            "%s: the preconditioner's factor is %s, the values are %s; they must agree", f->function,
            lac_dtype_name(given->meta.dtype), lac_dtype_name(f->meta.dtype));
  LAC_CHECK(given->items == 1 || lac_factor_same_shape(&given->meta, &f->meta, 1), LAC_ERR_SHAPE,
            "%s: the preconditioner's factor has the batch shape of values %s, these have %s; it must be "
            "of one matrix or of as many",
            f->function, lac_shape_text(given->meta.ndim, given->meta.shape, text),
            lac_shape_text(f->meta.ndim, f->meta.shape, other));
  LAC_TRY(krylov_require_fit(ctx, f, lac_factor_reported(given).method, lac_factor_varies(given), true));
  lac_krylov_of(f)->m = lac_factor_retain(given);
  lac_factor_say(f, "; preconditioned by a factor that was given");
done:
  return status;
}

static lac_status krylov_set_up(lac_context *ctx, lac_factor *f, const lac_linear *a, const lac_solver_table *kind,
                                const lac_factor *like) {
  lac_status status = LAC_OK;
  lac_solver_core *core = NULL;
  bool is_direct = !(kind->flags & LAC_APPROXIMATES), is_like = like && like->table == kind;

  LAC_TRY(krylov_require_fit(ctx, f, kind->name, kind->flags & LAC_VARIES, kind->flags & LAC_KEEPS_HERMITIAN));
  LAC_TRY(lac_core_inner(ctx, f->core, kind, "asked for", &core));
  LAC_TRY(lac_factor_make(ctx, f->function, core, a, like, is_direct, NULL, &lac_krylov_of(f)->m));
  if (is_direct) atomic_fetch_add(is_like ? &f->core->counts->refreshes : &f->core->counts->setups, 1);
done:
  return status;
}

/// Given, asked for by name, or left open.
static lac_status krylov_take_preconditioner(lac_context *ctx, lac_factor *f, const lac_linear *a,
                                             const lac_factor *like) {
  lac_status status = LAC_OK;
  lac_krylov_factor *k = f->part;
  const lac_precondition *p = &f->core->options.preconditioner;
  const lac_krylov_core *core = f->core->part;
  const lac_factor *old = like ? lac_krylov_of(like)->m : NULL;
  lac_precondition_wish wish = {.may_vary = k->method->flexible,
                                .needs_hermitian = k->method->needs_hermitian,
                                .is_rectangular = k->method->takes_rectangles};

  if (p->factor) {
    LAC_TRY(krylov_take_given(ctx, f, p->factor));
  } else if (p->apply) {
    lac_factor_say(f, "; preconditioned by a function that was given");
  } else if (core->asked) {
    LAC_TRY(krylov_set_up(ctx, f, a, core->asked, old));
  } else {
    LAC_TRY(lac_precondition_open(ctx, f, a, &wish, old, &k->m));
  }
  krylov_bend(f);
done:
  return status;
}

// -- factors ---------------------------------------------------------------------------------------------------------

static void krylov_destroy(lac_factor *f) {
  lac_krylov_factor *k = f->part;
  if (!k) return;
  lac_object_release(k->m);
  lac_array_destroy(&k->values);
  lac_free(k);
  f->part = NULL;
}

static lac_status krylov_factor_matrix(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK;
  lac_krylov_factor *k = f->part;
  lac_linear own = *a;
  lac_surveyed seen = {0};

  LAC_TRY(lac_array_reshape(ctx, f->values, 2, (int64_t[]){f->items, a->pattern->nnz}, &k->values));
  LAC_TRY(lac_surveyed_make(ctx, f, a, &seen));
  own.survey = &seen.survey, own.largest = seen.largest;
  k->is_hermitian = seen.survey.asymmetric < 0;
  LAC_TRY(krylov_take_largest(ctx, f, seen.largest));
  LAC_TRY(krylov_require_hermitian(ctx, f, &own));
  lac_factor_say(f, "%s", f->core->why);
  LAC_TRY(krylov_take_preconditioner(ctx, f, &own, like));
  LAC_TRY(lac_krylov_require_null(ctx, f));
  if (k->m) snprintf(f->warning, sizeof f->warning, "%s", k->m->warning);
done:
  lac_surveyed_drop(&seen);
  return status;
}

/// What has no matrix has no preconditioner of its own.
static lac_status krylov_factor_products(lac_context *ctx, const lac_linear *a, lac_factor *f) {
  lac_status status = LAC_OK;
  lac_krylov_factor *k = f->part;
  const lac_factor *given = f->core->options.preconditioner.factor;

  k->products = *a;
  if (given) LAC_TRY(krylov_take_given(ctx, f, given));
  krylov_bend(f);
done:
  return status;
}

static lac_status krylov_factor(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK;
  lac_krylov_factor *k = NULL;

  LAC_ALLOC(k, 1);
  f->part = k;
  k->method = f->core->table->method;
  if (lac_linear_is_matrix(a)) {
    LAC_TRY(krylov_factor_matrix(ctx, a, like, f));
  } else {
    LAC_TRY(krylov_factor_products(ctx, a, f));
  }
done:
  return status;
}

// -- what it says ----------------------------------------------------------------------------------------------------

/// Without what it shares with the factor that it preconditions.
static int64_t krylov_preconditioner_bytes(const lac_factor *f, const lac_factor *m) {
  bool are_same = m->values && f->values && m->values->storage == f->values->storage && !lac_factor_is_lent(m);
  bool shares = m->shares_values || are_same;
  return lac_factor_bytes(m) - (shares ? lac_factor_bytes_of(m->core, f->meta.dtype, m->items, 0) : 0);
}

static void krylov_report(const lac_factor *f, lac_report *report) {
  const lac_krylov_factor *k = f->part;
  bool is_function = f->core->options.preconditioner.apply;
  lac_report inner = {.method = is_function ? "a function" : "identity"};
  int64_t bytes = k->m ? krylov_preconditioner_bytes(f, k->m) : 0;

  if (k->m) inner = lac_factor_reported(k->m);
  report->method = k->method->name;
  report->factor_bytes = lac_factor_bytes_of(f->core, f->meta.dtype, f->items, bytes) - lac_factor_lent_bytes(f);
  report->preconditioner = inner.method;
  report->levels = inner.levels;
  report->complexity = inner.complexity;
  report->solves = atomic_load(&k->solves);
  report->iterations = atomic_load(&k->iterations);
}

static lac_status krylov_describe(lac_context *ctx, const lac_factor *f, char **text) {
  const lac_factor *m = lac_krylov_of(f)->m;
  return m && m->table->describe ? m->table->describe(ctx, m, text) : LAC_OK;
}

// -- the kinds -------------------------------------------------------------------------------------------------------

#define LAC_KRYLOV(kind, kind_flags)                                                                                 \
  extern const lac_solver_table lac_kind_##kind;                                                                     \
  const lac_solver_table lac_kind_##kind = {.name = #kind,                                                           \
                                            .flags = (kind_flags) | LAC_TAKES_PRODUCTS | LAC_ITERATES | LAC_VARIES | \
                                                     LAC_KEEPS_HERMITIAN | LAC_IS_SEED | LAC_READS_ITERATION |       \
                                                     LAC_READS_ANYWHERE,                                             \
                                            .method = &lac_krylov_##kind,                                            \
                                            .analyse = krylov_analyse,                                               \
                                            .forget = krylov_forget,                                                 \
                                            .foresee = krylov_foresee,                                               \
                                            .is_here = krylov_is_here,                                               \
                                            .factor = krylov_factor,                                                 \
                                            .solve = lac_krylov_solve,                                               \
                                            .partner = lac_partner_direct,                                           \
                                            .describe = krylov_describe,                                             \
                                            .report = krylov_report,                                                 \
                                            .destroy = krylov_destroy};
#include "solvers/krylov/krylov.def"
#undef LAC_KRYLOV
