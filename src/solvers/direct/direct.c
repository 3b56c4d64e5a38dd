// SPDX-License-Identifier: Apache-2.0
/// @file direct.c
/// Kinds of solvers that are direct methods: cores, factors, and who serves where a factor cannot.
///
/// Enlarged pivots are made good for by refinement in a solve, but a determinant or an inverse of such a factor is that
/// of another matrix; and some methods only solve. Then a partner has the same values factored once more, by
///
///     an engine                     ->  the built-in choice
///     a method without the slots    ->  LU inside supernodes
///     L D L^H                       ->  LU inside supernodes, which may match rows with other columns
///     enlarged pivots, bad results  ->  LU with threshold partial pivoting, and at last strict partial pivoting
///
/// A factor of other values by the choices of an earlier one searches for nothing: matching, scaling and pivots are
/// probed (pivoted_fronts.h) or watched (pivoting_lu_again.c), and where they do not suit, the values are factored like
/// any others.

#include "solvers/direct/direct.h"

#include <stdio.h>
#include <string.h>

#include "core/blas.h"
#include "lacuna/lacuna.h"

#define LAC_DIRECT(name, flags) extern const lac_solver_table lac_kind_##name;
#include "solvers/direct/direct.def"
#undef LAC_DIRECT
extern const lac_solver_table lac_kind_direct;

static const char *direct_ordering(const lac_finding *finding, const lac_solver_core *core) {
  static const char *const names[] = {"amd", "amd", "metis", "natural"};
  return finding->ordering ? finding->ordering : names[core->options.ordering];
}

// -- cores -----------------------------------------------------------------------------------------------------------

static void direct_forget(lac_solver_core *core) {
  lac_direct_core *d = core->part;
  if (!d) return;
  lac_object_release(d->analysis);
  lac_object_release(d->structure);
  lac_free(d);
  core->part = NULL;
}

/// The structure, and for the method that values will probably need (NULL: chosen) its analysis and what that foresees.
static lac_status direct_prepare(lac_context *ctx, lac_solver_core *core, const lac_direct_table *asked) {
  lac_status status = LAC_OK;
  lac_direct_core *d = NULL;

  LAC_ALLOC(d, 1);
  core->part = d;
  LAC_TRY(lac_structure_get(ctx, core->pattern, &d->structure));
  if (asked) {
    LAC_TRY(lac_choose_likely_asked(ctx, d->structure, asked, &d->likely, &d->reason));
  } else {
    LAC_TRY(lac_choose_likely(ctx, d->structure, core->options.ordering, &d->likely, &d->reason));
  }
  if (d->likely) {
    LAC_TRY(lac_analysis_get(ctx, core->pattern, d->structure, d->likely, core->options.ordering, &d->analysis));
  }
  d->foreseen = lac_foresee(d->likely, d->analysis, LAC_F64);
  if (d->foreseen.nnz >= 0) {
    lac_foresee_warn(d->structure, d->likely, LAC_F64, &d->foreseen, d->warning, sizeof d->warning);
  }
done:
  return status;
}

static lac_status direct_analyse(lac_context *ctx, lac_solver_core *core) { return direct_prepare(ctx, core, NULL); }

static lac_status direct_analyse_asked(lac_context *ctx, lac_solver_core *core) {
  return direct_prepare(ctx, core, core->table->method);
}

static void direct_foresee(const lac_solver_core *core, lac_report *report) {
  const lac_direct_core *d = core->part;

  if (d->likely) report->method = d->likely->name;
  report->reason = d->reason;
  report->warning = d->warning;
  report->ordering = direct_ordering(&d->foreseen, core);
  report->factor_nnz = d->foreseen.nnz;
  report->work_bytes = d->foreseen.work_bytes;
  report->flops = d->foreseen.flops;
  if (d->foreseen.nnz >= 0) report->factor_bytes = lac_factor_bytes_of(core, LAC_F64, 1, d->foreseen.bytes);
}

static bool direct_is_here(const lac_context *ctx, const lac_solver_table *table, const lac_solver_core *core) {
  (void)table, (void)core;
  return lac_context_is_host(ctx);
}

// -- factors ---------------------------------------------------------------------------------------------------------

// Pivots below so much of their column are little more than rounding.
static double direct_doubt(const lac_factor *f) { return 8 * lac_dtype_epsilon(f->meta.dtype); }

bool lac_direct_is_exact(const lac_factor *f) {
  return lac_direct_of(f)->finding.perturbed == 0 && !lac_direct_of(f)->finding.is_rough;
}

/// Whether all pivots of one matrix are more than rounding.
static bool direct_is_regular(const lac_factor *f, int64_t item) {
  const lac_direct_factor *d = f->part;
  lac_finding one = {0};
  if (d->finding.smallest >= direct_doubt(f)) return true;
  d->table->report(d->analysis->part, d->numerics[item], &one);
  return one.smallest >= direct_doubt(f) || one.where < 0;
}

lac_system lac_direct_system(const lac_factor *f, int64_t item, int threads, lac_stop *stop) {
  const lac_direct_factor *d = f->part;
  return (lac_system){.table = d->table,
                      .structure = lac_direct_structure(f),
                      .analysis = d->analysis->part,
                      .numeric = d->numerics[item],
                      .values = lac_direct_item(f, item),
                      .dtype = f->meta.dtype,
                      .threads = threads,
                      .stop = stop,
                      .is_stable = d->table->is_stable(&f->core->options),
                      .is_regular = direct_is_regular(f, item)};
}

static const double direct_long = 1e10;  // operations that take seconds without a BLAS

/// Warn of a BLAS that was named and cannot be used, and of a missing BLAS where the factorisation was slow without it.
static void direct_warn_of_blas(lac_factor *f) {
  const lac_direct_factor *d = f->part;

  if (*f->warning) return;
  if (*lac_blas_refusal()) {
    snprintf(f->warning, sizeof f->warning, "%s; loops of the library's own did, several times slower",
             lac_blas_refusal());
  } else if (d->finding.flops > direct_long && !*lac_blas_name()) {
    snprintf(f->warning, sizeof f->warning,
             "no fast BLAS was found, and loops of the library's own did the %.0e operations of this factor, several "
             "times slower: install OpenBLAS (Debian: libopenblas0), or name a BLAS in LACUNA_BLAS",
             d->finding.flops);
  }
}

// A pivot that is little more than rounding does not stop anything, but it is said. So is a factor with very many
// entries, and one that did without a BLAS.
static void direct_warn(lac_factor *f) {
  const lac_direct_factor *d = f->part;
  lac_finding one = d->finding;
  char which[64];
  if (f->items == 0) return;
  if (d->finding.smallest < direct_doubt(f) && d->finding.where >= 0) {
    snprintf(f->warning, sizeof f->warning,
             "the matrix is singular to working precision: the pivot of column %lld is %.1e of the column%s",
             (long long)d->finding.where, d->finding.smallest, lac_factor_item_text(f, d->finding.item, which));
  }
  one.nnz /= f->items, one.bytes /= f->items;
  lac_foresee_warn(lac_direct_structure(f), d->table, f->meta.dtype, &one, f->warning, sizeof f->warning);
  direct_warn_of_blas(f);
}

static void direct_destroy(lac_factor *f) {
  lac_direct_factor *d = f->part;
  if (!d) return;
  lac_direct_drop(f);
  lac_free(d->numerics);
  lac_free((void *)d->conditions);
  lac_free(d);
  f->part = NULL;
}

static lac_status direct_begin(lac_context *ctx, lac_factor *f) {
  lac_status status = LAC_OK;
  lac_direct_factor *d = NULL;

  LAC_ALLOC(d, 1);
  f->part = d;
  LAC_ALLOC(d->numerics, f->items);
  LAC_ALLOC(d->conditions, CERTAIN_KEPT * f->items);
done:
  return status;
}

static lac_status direct_factor(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK;

  (void)like;  // what it chose is with the analysis
  LAC_TRY(direct_begin(ctx, f));
  LAC_TRY(lac_choose(ctx, a, f));
  direct_warn(f);
done:
  return status;
}

static lac_status direct_factor_asked(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK;

  (void)like;
  LAC_TRY(direct_begin(ctx, f));
  LAC_TRY(lac_choose_asked(ctx, a, f->core->table->method, f));
  direct_warn(f);
done:
  return status;
}

// "as before: ..." once, however often a factor was made of a factor.
static void direct_say_again(lac_factor *f, const lac_factor *like) {
  static const char before[] = "as before: ";
  bool is_said = strncmp(like->reason, before, sizeof before - 1) == 0;
  lac_factor_say(f, "%s%s", is_said ? "" : before, like->reason);
}

static lac_status direct_refresh(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  lac_status status = LAC_OK;
  lac_trial trial = {.status = LAC_ERR_SYMMETRY, .fault = {.text = "they are not Hermitian"}};
  bool fits = true;

  LAC_TRY(direct_begin(ctx, f));
  LAC_TRY(lac_choose_fits(ctx, a, f, lac_direct_of(like)->table, &fits));
  if (fits) trial = lac_direct_try_like(ctx, f, like);
  if (lac_status_is_final(trial.status)) LAC_TRY(lac_direct_explain(ctx, f, &trial));
  if (trial.status == LAC_OK) {
    direct_say_again(f, like);
    direct_warn(f);
    goto done;
  }
  lac_factor_say(f, "afresh, for what suited the earlier values does not suit these: %s; ", trial.fault.text);
  direct_destroy(f);
  LAC_TRY(f->core->table->factor(ctx, a, NULL, f));
done:
  return status;
}

static void direct_report(const lac_factor *f, lac_report *report) {
  const lac_direct_factor *d = f->part;
  report->method = d->table->name;
  report->ordering = direct_ordering(&d->finding, f->core);
  report->factor_nnz = d->finding.nnz;
  report->factor_bytes = lac_factor_bytes_of(f->core, f->meta.dtype, f->items, d->finding.bytes);
  report->work_bytes = d->finding.work_bytes;
  report->flops = d->finding.flops;
  report->perturbed = d->finding.perturbed;
  if (d->analysis != ((const lac_direct_core *)f->core->part)->analysis)
    report->analyse_seconds += d->analysis->seconds;
}

// -- partners --------------------------------------------------------------------------------------------------------

/// Strict pivoting may still let numbers grow in the order that keeps a factor sparse. What is nearly full anyway is
/// factored as it comes, which is often as it was made: an upper Hessenberg matrix grows in every order but its own.
static const lac_solver_table *direct_in_own_order(const lac_factor *f, lac_solver_options *options) {
  enum { MORE = 8 };  // at most so many times the numbers
  int64_t n = lac_direct_structure(f)->n;
  bool is_full = MORE * (lac_direct_of(f)->finding.nnz / (f->items > 0 ? f->items : 1)) >= n * n;

  if (!is_full || options->ordering == LAC_ORDER_NATURAL) return NULL;
  options->ordering = LAC_ORDER_NATURAL;
  return &lac_kind_pivoting_lu;
}

static const lac_solver_table *direct_partner(const lac_factor *f, lac_solver_options *options) {
  const lac_direct_factor *d = f->part;
  const double usual = lac_solver_options_defaults().pivot_tolerance;
  bool has_slots = d->table->logdet && d->table->selected_inverse, is_perturbed = d->finding.perturbed > 0;

  if (d->table == &lac_direct_pivoting_lu) {
    options->pivot_tolerance = options->pivot_tolerance < usual ? usual : 1;
    return f->core->options.pivot_tolerance < 1 ? &lac_kind_pivoting_lu : direct_in_own_order(f, options);
  }
  if (options->pivot_tolerance < usual) options->pivot_tolerance = usual;
  if (d->table->is_foreign && (!has_slots || is_perturbed)) return &lac_kind_direct;
  return (!has_slots && !is_perturbed) || d->table == &lac_direct_ldlt ? &lac_kind_lu : &lac_kind_pivoting_lu;
}

bool lac_direct_has_partner(const lac_factor *f) {
  lac_solver_options options = f->core->options;
  return f->table->partner(f, &options);
}

// -- the kinds -------------------------------------------------------------------------------------------------------

#define DIRECT_KIND(kind_name, kind_flags, kind_method, kind_analyse, kind_factor)                               \
  {                                                                                                              \
    .name = kind_name, .flags = (kind_flags) | LAC_DIRECT_FLAGS, .method = kind_method, .analyse = kind_analyse, \
    .forget = direct_forget, .foresee = direct_foresee, .is_here = direct_is_here, .factor = kind_factor,        \
    .refresh = direct_refresh, .solve = lac_direct_solve, .logdet = lac_direct_logdet,                           \
    .selected_inverse = lac_direct_selected_inverse, .rcond = lac_direct_rcond, .partner = direct_partner,       \
    .report = direct_report, .destroy = direct_destroy                                                           \
  }

const lac_solver_table lac_kind_direct =
    DIRECT_KIND("direct", LAC_READS_ORDERING | LAC_READS_PIVOTING, NULL, direct_analyse, direct_factor);

#define LAC_DIRECT(name, flags)            \
  const lac_solver_table lac_kind_##name = \
      DIRECT_KIND(#name, flags, &lac_direct_##name, direct_analyse_asked, direct_factor_asked);
#include "solvers/direct/direct.def"
#undef LAC_DIRECT

lac_solver_table lac_direct_kind(const lac_direct_table *method, unsigned flags) {
  return (lac_solver_table)DIRECT_KIND(method->name, flags, method, direct_analyse_asked, direct_factor_asked);
}
