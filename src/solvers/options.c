// SPDX-License-Identifier: Apache-2.0
/// @file options.c
/// The options of solvers: defaults, what is refused whatever the kind, what they hold.

#include "solvers/options.h"

#include <math.h>
#include <string.h>

#include "core/number_at.h"

// The triangle of GMRES is counted in 32-bit numbers, and is 50 million of them then.
enum { OPTIONS_RESTART_MOST = 10000 };

/// Zero is the default, and below it stands zero.
static void options_settle(lac_solver_options *o) {
  if (o->keep_bytes == 0) o->keep_bytes = INT64_C(512) << 20;
  if (o->keep_bytes < 0) o->keep_bytes = 0;
  if (o->pivot_tolerance == 0) o->pivot_tolerance = 0.1;
  if (o->pivot_tolerance < 0) o->pivot_tolerance = 0;
}

lac_solver_options lac_solver_options_defaults(void) {
  lac_solver_options options = {.size = sizeof options};
  options_settle(&options);
  return options;
}

static lac_status options_check_reserved(lac_context *ctx, const char *function, const char *part, int count,
                                         const int64_t *reserved) {
  lac_status status = LAC_OK;

  for (int i = 0; i < count; i++) {
    LAC_CHECK(
        reserved[i] == 0, LAC_ERR_ARG,
        "%s: the reserved numbers of %s are not zero: the struct was not initialised, or the program was compiled "
        "for a later version of the library; begin with {0}",
        function, part);
  }
done:
  return status;
}

lac_status lac_options_take(lac_context *ctx, const char *function, const lac_solver_options *given,
                            lac_solver_options *out) {
  lac_status status = LAC_OK;
  enum { RESERVED = sizeof out->iteration.reserved / sizeof *out->iteration.reserved };

  LAC_TRY(lac_sized_take(ctx, function, LAC_SIZED(lac_solver_options, preconditioner), given, out));
  LAC_TRY(options_check_reserved(ctx, function, "iteration", RESERVED, out->iteration.reserved));
  LAC_TRY(options_check_reserved(ctx, function, "preconditioner", RESERVED, out->preconditioner.reserved));
  options_settle(out);
done:
  return status;
}

// -- what they hold --------------------------------------------------------------------------------------------------

void lac_options_hold(const lac_solver_options *o) {
  (void)lac_array_retain(o->iteration.null_space);
  (void)lac_array_retain(o->iteration.left_null_space);
  (void)lac_array_retain(o->preconditioner.near_null);
  (void)lac_array_retain(o->preconditioner.coordinates);
  (void)lac_object_retain(o->preconditioner.factor);
}

static void options_drop(const lac_array *array) {
  lac_array *held = (lac_array *)array;
  lac_array_destroy(&held);
}

void lac_options_let_go(const lac_solver_options *o) {
  options_drop(o->iteration.null_space);
  options_drop(o->iteration.left_null_space);
  options_drop(o->preconditioner.near_null);
  options_drop(o->preconditioner.coordinates);
  lac_object_release(o->preconditioner.factor);
}

// -- numbers ---------------------------------------------------------------------------------------------------------

lac_status lac_options_check_iteration(lac_context *ctx, const char *function, const lac_iteration *i) {
  lac_status status = LAC_OK;

  LAC_CHECK(i->rtol >= 0 && i->rtol < 1 && i->adjoint_rtol >= 0 && i->adjoint_rtol < 1, LAC_ERR_ARG,
            "%s: rtol and adjoint_rtol must lie between 0 and 1, they are %g and %g", function, i->rtol,
            i->adjoint_rtol);
  LAC_CHECK(i->atol >= 0 && isfinite(i->atol), LAC_ERR_ARG,
            "%s: atol must be a finite number that is not negative, it is %g", function, i->atol);
  LAC_CHECK(i->max_iterations >= 0, LAC_ERR_ARG,
            "%s: max_iterations must not be negative, it is %lld; 0 is the default", function,
            (long long)i->max_iterations);
  LAC_CHECK(i->restart >= 0 && i->restart <= OPTIONS_RESTART_MOST && i->look_every >= 0, LAC_ERR_ARG,
            "%s: restart must lie between 0 and %d and look_every must not be negative, they are %d and "
            "%d; 0 is the default",
            function, (int)OPTIONS_RESTART_MOST, i->restart, i->look_every);
done:
  return status;
}

static lac_status options_check_precondition(lac_context *ctx, const lac_precondition *p) {
  lac_status status = LAC_OK;

  LAC_CHECK(p->omega >= 0 && p->omega < 2, LAC_ERR_ARG,
            "lac_solver_create: the over-relaxation omega must lie between 0 and 2, it is %g", p->omega);
  LAC_CHECK(p->block >= 0 && p->degree >= 0 && p->coarse_rows >= 0 && p->max_levels >= 0, LAC_ERR_ARG,
            "lac_solver_create: block, degree, coarse_rows and max_levels must not be negative, they are %d, %d, %d "
            "and %d; 0 is the default",
            p->block, p->degree, p->coarse_rows, p->max_levels);
  LAC_CHECK(p->kind >= LAC_MULTIGRID_AUTO && p->kind <= LAC_MULTIGRID_GRID, LAC_ERR_ARG,
            "lac_solver_create: unknown kind of multigrid %d; use one of lac_multigrid_kind", (int)p->kind);
  LAC_CHECK(p->strength < 1, LAC_ERR_ARG,
            "lac_solver_create: the strength threshold must lie below 1, it is %g; 0 is the default, and below 0 no "
            "entry is weak",
            p->strength);
done:
  return status;
}

lac_status lac_options_check(lac_context *ctx, const lac_solver_options *o) {
  lac_status status = LAC_OK;

  LAC_CHECK(o->ordering >= LAC_ORDER_AUTO && o->ordering <= LAC_ORDER_NATURAL, LAC_ERR_ARG,
            "lac_solver_create: unknown ordering %d; use one of lac_ordering", (int)o->ordering);
  LAC_TRY(lac_ordering_find(ctx, o->ordering));
  LAC_CHECK(
      o->pivot_tolerance >= 0 && o->pivot_tolerance <= 1, LAC_ERR_ARG,
      "lac_solver_create: pivot_tolerance must be at most 1, it is %g; 0 is the default, and below 0 any diagonal is "
      "a pivot",
      o->pivot_tolerance);
  LAC_CHECK(o->max_bytes >= 0, LAC_ERR_ARG, "lac_solver_create: max_bytes must not be negative, it is %lld",
            (long long)o->max_bytes);
  LAC_TRY(lac_options_check_iteration(ctx, "lac_solver_create", &o->iteration));
  LAC_TRY(options_check_precondition(ctx, &o->preconditioner));
done:
  return status;
}

// -- what iterations are given ---------------------------------------------------------------------------------------

const char *lac_options_preconditioner(const lac_precondition *p) {
  return p->method && strcmp(p->method, "auto") == 0 ? NULL : p->method;
}

static lac_status options_check_preconditioner(lac_context *ctx, const lac_pattern *pattern,
                                               const lac_precondition *p) {
  lac_status status = LAC_OK;
  const lac_solver_core *other = p->factor ? p->factor->core : NULL;
  const lac_solver_table *kind = NULL;
  const char *name = p->method;
  bool is_square = pattern->rows == pattern->cols;

  LAC_TRY(lac_kind_of_preconditioner(ctx, "lac_solver_create", name, &kind));
  LAC_CHECK(!kind || !(kind->flags & LAC_ITERATES), LAC_ERR_ARG,
            "lac_solver_create: %s as a preconditioner is an iteration inside one; make a factor of it, hand that over "
            "as preconditioner.factor, and use a flexible method",
            name);
  LAC_CHECK(!kind || !(kind->flags & LAC_DELEGATES), LAC_ERR_ARG,
            "lac_solver_create: %s is no preconditioner; leave it out, and one is chosen", name);
  LAC_CHECK(!(p->factor && p->apply), LAC_ERR_ARG,
            "lac_solver_create: the preconditioner is both a factor and a function; give one of them");
  LAC_CHECK(!other || (other->rows == pattern->cols && other->cols == pattern->cols), LAC_ERR_SHAPE,
            "lac_solver_create: the preconditioner's factor is of a %lld x %lld matrix, this one has %lld columns",
            (long long)other->rows, (long long)other->cols, (long long)pattern->cols);
  LAC_CHECK(
      is_square || !kind || kind->flags & LAC_TAKES_RECTANGLES, LAC_ERR_ARG,
      "lac_solver_create: a matrix of %lld x %lld has no preconditioner of its own; leave it out, or give a factor or "
      "a function that stands for an inverse of (A^H A)^1/2",
      (long long)pattern->rows, (long long)pattern->cols);
done:
  return status;
}

static lac_status options_require_finite(lac_context *ctx, const char *name, const lac_array *columns) {
  lac_status status = LAC_OK;
  int64_t m = columns->meta.shape[1];
  char *host = NULL;

  LAC_ALLOC(host, (size_t)columns->count * lac_dtype_size(columns->meta.dtype) + 1);
  LAC_TRY(lac_array_fetch(ctx, columns, host));
  for (int64_t i = 0; i < columns->count; i++) {
    c128 number = lac_number_get(columns->meta.dtype, host, i);
    LAC_CHECK(isfinite(creal(number)) && isfinite(cimag(number)), LAC_ERR_NONFINITE,
              "lac_solver_create: %s is not finite in row %lld of column %lld", name, (long long)(i / m),
              (long long)(i % m));
  }
done:
  lac_free(host);
  return status;
}

/// [rows, m].
static lac_status options_check_columns(lac_context *ctx, const char *name, const lac_array *array, int64_t rows) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT];

  if (!array) goto done;
  LAC_TRY(lac_solver_require_here(ctx, "lac_solver_create", name, array));
  LAC_CHECK(array->meta.ndim == 2 && array->meta.shape[0] == rows, LAC_ERR_SHAPE,
            "lac_solver_create: %s must have shape (%lld, m), one column for each vector; it has %s", name,
            (long long)rows, lac_shape_text(array->meta.ndim, array->meta.shape, text));
  LAC_TRY(options_require_finite(ctx, name, array));
done:
  return status;
}

/// [nodes, 2] or [nodes, 3], a direction for each coordinate. Nodes may lack rows, but each has one.
static lac_status options_check_coordinates(lac_context *ctx, const lac_array *array, int64_t rows) {
  lac_status status = LAC_OK;
  char text[LAC_SHAPE_TEXT];
  int64_t axes;

  if (!array) goto done;
  LAC_TRY(lac_solver_require_here(ctx, "lac_solver_create", "coordinates", array));
  axes = array->meta.ndim == 2 ? array->meta.shape[1] : 0;
  LAC_CHECK(
      (axes == 2 || axes == 3) && array->count >= rows && array->meta.shape[0] <= rows, LAC_ERR_SHAPE,
      "lac_solver_create: coordinates must have shape (nodes, 2) or (nodes, 3), of all nodes that have any of the "
      "%lld rows; they have %s; where nodes have other unknowns than displacements, give near_null",
      (long long)rows, lac_shape_text(array->meta.ndim, array->meta.shape, text));
  LAC_CHECK(!lac_dtype_is_complex(array->meta.dtype), LAC_ERR_DTYPE,
            "lac_solver_create: coordinates must be real, they are %s", lac_dtype_name(array->meta.dtype));
  LAC_TRY(options_require_finite(ctx, "coordinates", array));
done:
  return status;
}

lac_status lac_options_check_iterating(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *o) {
  lac_status status = LAC_OK;

  LAC_TRY(options_check_preconditioner(ctx, pattern, &o->preconditioner));
  LAC_TRY(options_check_columns(ctx, "null_space", o->iteration.null_space, pattern->cols));
  LAC_TRY(options_check_columns(ctx, "left_null_space", o->iteration.left_null_space, pattern->rows));
  LAC_TRY(options_check_columns(ctx, "near_null", o->preconditioner.near_null, pattern->rows));
  LAC_TRY(options_check_coordinates(ctx, o->preconditioner.coordinates, pattern->rows));
done:
  return status;
}

// The tolerance that is not asked for, and what takes its place in single precision.
static const double options_rtol = 1e-10, options_rtol_single = 1e-5;

lac_iteration lac_options_iteration(const lac_iteration *asked, lac_dtype dtype, bool is_derivative) {
  lac_iteration i = *asked;

  if (is_derivative) i.atol = 0;  // it has the unit of b, and cotangents have another
  if (is_derivative && i.adjoint_rtol > 0) i.rtol = i.adjoint_rtol;
  if (i.rtol == 0 && i.atol == 0) i.rtol = lac_dtype_real(dtype) == LAC_F32 ? options_rtol_single : options_rtol;
  return i;
}
