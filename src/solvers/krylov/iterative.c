// SPDX-License-Identifier: Apache-2.0
/// @file iterative.c
/// The options of iterative solvers, and their cores.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solvers/krylov/iterative.h"

// The tolerance that is not asked for, and what takes its place in single precision.
static const double iterative_rtol = 1e-10, iterative_rtol_single = 1e-5;

// The triangle of GMRES is counted in 32-bit numbers, and is 50 million of them then.
enum { ITERATIVE_RESTART_MOST = 10000 };

// -- methods ---------------------------------------------------------------------------------------------------------

static const char *const iterative_krylov_names[] = {"cg",     "flexible_cg", "bicgstab", "gmres", "flexible_gmres",
                                                     "minres", "lsmr",        "lsqr"};
static const char *const iterative_preconditioner_names[] = {"identity", "jacobi", "block_jacobi", "ssor",
                                                             "ic0",      "ilu0",   "chebyshev",    "multigrid"};

const lac_krylov_table *lac_krylov_of(lac_method method) {
  static const lac_krylov_table *const tables[] = {
#define LAC_KRYLOV(name) &lac_krylov_##name,
#include "solvers/krylov/krylov.def"
#undef LAC_KRYLOV
  };
  if (method < LAC_METHOD_CG || method > LAC_METHOD_LSQR) return NULL;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if (strcmp(tables[i]->name, iterative_krylov_names[method - LAC_METHOD_CG]) == 0) return tables[i];
  }
  return NULL;
}

const lac_preconditioner_table *lac_preconditioner_of(lac_method method) {
  static const lac_preconditioner_table *const tables[] = {
#define LAC_PRECONDITIONER(name) &lac_preconditioner_##name,
#include "solvers/precondition/preconditioners.def"
#undef LAC_PRECONDITIONER
  };
  if (method < LAC_METHOD_IDENTITY || method > LAC_METHOD_MULTIGRID) return NULL;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if (strcmp(tables[i]->name, iterative_preconditioner_names[method - LAC_METHOD_IDENTITY]) == 0) return tables[i];
  }
  return NULL;
}

const lac_krylov_table *lac_krylov_flexible(const lac_krylov_table *krylov) {
  if (krylov == &lac_krylov_cg) return &lac_krylov_flexible_cg;
  if (krylov == &lac_krylov_gmres) return &lac_krylov_flexible_gmres;
  return krylov && krylov->is_flexible ? krylov : NULL;
}

bool lac_iterative_takes_rectangles(lac_method method) {
  const lac_krylov_table *table = lac_krylov_of(method);
  return table && table->takes_rectangles;
}

// -- options ---------------------------------------------------------------------------------------------------------

lac_iteration lac_iteration_defaults(void) { return (lac_iteration){0}; }

lac_status lac_iteration_check(lac_context *ctx, const lac_iteration *iteration) {
  const lac_iteration *i = iteration;
  lac_status status = LAC_OK;

  LAC_CHECK(i->rtol >= 0 && i->rtol < 1 && i->adjoint_rtol >= 0 && i->adjoint_rtol < 1, LAC_ERR_ARG,
            "lac_solver_create: rtol and adjoint_rtol must lie between 0 and 1, they are %g and %g", i->rtol,
            i->adjoint_rtol);
  LAC_CHECK(i->atol >= 0 && isfinite(i->atol), LAC_ERR_ARG,
            "lac_solver_create: atol must be a finite number that is not negative, it is %g", i->atol);
  LAC_CHECK(i->max_iterations >= 0, LAC_ERR_ARG,
            "lac_solver_create: max_iterations must not be negative, it is %lld; 0 is the default",
            (long long)i->max_iterations);
  LAC_CHECK(i->restart >= 0 && i->restart <= ITERATIVE_RESTART_MOST && i->look_every >= 0, LAC_ERR_ARG,
            "lac_solver_create: restart must lie between 0 and %d and look_every must not be negative, they are %d and "
            "%d; 0 is the default",
            (int)ITERATIVE_RESTART_MOST, i->restart, i->look_every);
done:
  return status;
}

static lac_status iterative_check_numbers(lac_context *ctx, const lac_precondition *p) {
  lac_status status = LAC_OK;

  LAC_CHECK(p->omega >= 0 && p->omega < 2, LAC_ERR_ARG,
            "lac_solver_create: the over-relaxation omega must lie between 0 and 2, it is %g", p->omega);
  LAC_CHECK(p->block >= 0 && p->degree >= 0 && p->coarse_rows >= 0 && p->max_levels >= 0, LAC_ERR_ARG,
            "lac_solver_create: block, degree, coarse_rows and max_levels must not be negative, they are %d, %d, %d "
            "and %d; 0 is the default",
            p->block, p->degree, p->coarse_rows, p->max_levels);
  LAC_CHECK(p->kind >= LAC_MULTIGRID_AUTO && p->kind <= LAC_MULTIGRID_SMOOTHED, LAC_ERR_ARG,
            "lac_solver_create: unknown kind of multigrid %d; use one of lac_multigrid_kind", (int)p->kind);
  LAC_CHECK(p->strength >= 0 && p->strength < 1, LAC_ERR_ARG,
            "lac_solver_create: the strength threshold must lie between 0 and 1, it is %g", p->strength);
done:
  return status;
}

static lac_status iterative_check_method(lac_context *ctx, const lac_pattern *pattern, const lac_precondition *p) {
  lac_status status = LAC_OK;
  const lac_pattern *other = p->factor ? p->factor->core->pattern : NULL;
  bool is_square = pattern->rows == pattern->cols, is_plain = !p->method || p->method == LAC_METHOD_IDENTITY;

  LAC_CHECK(p->method >= LAC_METHOD_AUTO && p->method <= LAC_METHOD_DIRECT, LAC_ERR_ARG,
            "lac_solver_create: unknown preconditioner %d; use one of lac_method", p->method);
  LAC_CHECK(!lac_krylov_of((lac_method)p->method), LAC_ERR_ARG,
            "lac_solver_create: %s as a preconditioner is an iteration inside one; make a factor of it, hand that over "
            "as preconditioner.factor, and use a flexible method",
            lac_krylov_of((lac_method)p->method)->name);
  LAC_CHECK(!(p->factor && p->apply), LAC_ERR_ARG,
            "lac_solver_create: the preconditioner is both a factor and a function; give one of them");
  LAC_CHECK(!other || (other->rows == pattern->cols && other->cols == pattern->cols), LAC_ERR_SHAPE,
            "lac_solver_create: the preconditioner's factor is of a %lld x %lld matrix, this one has %lld columns",
            (long long)other->rows, (long long)other->cols, (long long)pattern->cols);
  LAC_CHECK(
      is_square || is_plain, LAC_ERR_ARG,
      "lac_solver_create: a matrix of %lld x %lld has no preconditioner of its own; leave it out, or give a factor or "
      "a function that stands for an inverse of (A^H A)^1/2",
      (long long)pattern->rows, (long long)pattern->cols);
done:
  return status;
}

/// [rows, m].
static lac_status iterative_check_columns(lac_context *ctx, const char *name, const lac_array *array, int64_t rows) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT];

  if (!array) goto done;
  LAC_TRY(lac_solver_require_here(ctx, "lac_solver_create", array));
  LAC_CHECK(array->meta.ndim == 2 && array->meta.shape[0] == rows, LAC_ERR_SHAPE,
            "lac_solver_create: %s must have shape (%lld, m), one column for each vector; it has %s", name,
            (long long)rows, lac_shape_text(array->meta.ndim, array->meta.shape, text));
  LAC_TRY(lac_iterative_require_finite(ctx, name, array));
done:
  return status;
}

lac_status lac_iterative_check(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_iteration_check(ctx, &options->iteration));
  LAC_TRY(iterative_check_numbers(ctx, &options->preconditioner));
  if (options->method == LAC_METHOD_AUTO || (options->method >= LAC_METHOD_CG && options->method < LAC_METHOD_DIRECT)) {
    LAC_TRY(iterative_check_method(ctx, pattern, &options->preconditioner));
    LAC_TRY(iterative_check_columns(ctx, "null_space", options->iteration.null_space, pattern->cols));
    LAC_TRY(iterative_check_columns(ctx, "left_null_space", options->iteration.left_null_space, pattern->rows));
    LAC_TRY(iterative_check_columns(ctx, "near_null", options->preconditioner.near_null, pattern->rows));
  }
done:
  return status;
}

void lac_iterative_hold(const lac_solver_options *o) {
  (void)lac_array_retain(o->iteration.null_space);
  (void)lac_array_retain(o->iteration.left_null_space);
  (void)lac_array_retain(o->preconditioner.near_null);
  (void)lac_object_retain(o->preconditioner.factor);
}

static void iterative_drop(const lac_array *array) {
  lac_array *held = (lac_array *)array;
  lac_array_destroy(&held);
}

void lac_iterative_let_go(const lac_solver_options *o) {
  iterative_drop(o->iteration.null_space);
  iterative_drop(o->iteration.left_null_space);
  iterative_drop(o->preconditioner.near_null);
  lac_object_release(o->preconditioner.factor);
}

lac_iteration lac_iteration_for(const lac_iteration *asked, lac_dtype dtype, bool is_derivative) {
  lac_iteration i = *asked;

  if (is_derivative) i.atol = 0;  // it has the unit of b, and cotangents have another
  if (is_derivative && i.adjoint_rtol > 0) i.rtol = i.adjoint_rtol;
  if (i.rtol == 0 && i.atol == 0) i.rtol = lac_dtype_real(dtype) == LAC_F32 ? iterative_rtol_single : iterative_rtol;
  return i;
}

// -- cores -----------------------------------------------------------------------------------------------------------

// An automatic choice has nothing to ask of a preconditioner: whoever gives one wants to iterate.
static bool iterative_is_wanted(const lac_solver_options *o) {
  const lac_precondition *p = &o->preconditioner;
  return p->factor || p->apply || p->near_null || p->method != LAC_METHOD_AUTO || o->iteration.null_space ||
         o->iteration.left_null_space;
}

static lac_status iterative_foresee(lac_context *ctx, const lac_pattern *pattern, lac_forecast *forecast,
                                    char why[LAC_REASON_SIZE]) {
  lac_status status = LAC_OK;

  LAC_TRY(lac_forecast_direct(ctx, pattern, forecast));
  snprintf(why, LAC_REASON_SIZE,
           "iterating is foreseen to be cheaper: separators of about %.0f rows make a factor of about %.2g GB and %.2g "
           "flops, %.0f times the work of iterating",
           forecast->width, 1e-9 * forecast->bytes, forecast->flops, forecast->share);
done:
  return status;
}

lac_status lac_iterative_core(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                              lac_solver_core **out) {
  lac_status status = LAC_OK;
  lac_forecast forecast = {0};
  char why[LAC_REASON_SIZE] = "asked for";
  double begin = lac_solver_seconds();

  if (options->method != LAC_METHOD_AUTO && options->method < LAC_METHOD_CG) goto done;
  if (options->method == LAC_METHOD_AUTO) {
    bool is_wanted = iterative_is_wanted(options);
    if (!is_wanted) LAC_TRY(iterative_foresee(ctx, pattern, &forecast, why));
    if (!is_wanted && !forecast.is_costly) goto done;
    if (is_wanted) snprintf(why, sizeof why, "a preconditioner or a null space is given");
  }
  LAC_TRY(lac_solver_core_begin(ctx, pattern, options, out));
  snprintf((*out)->why, sizeof(*out)->why, "%s", why);
  (*out)->seconds = lac_solver_seconds() - begin;
done:
  return status;
}
