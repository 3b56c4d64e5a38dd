// SPDX-License-Identifier: Apache-2.0
/// @file optimise_impl.h
/// Points: lists of arrays as one vector of real numbers, with the kernels' operations on them.

#ifndef LACUNA_OPTIMISE_OPTIMISE_IMPL_H
#define LACUNA_OPTIMISE_OPTIMISE_IMPL_H

#include "core/array_impl.h"
#include "lacuna/optimise.h"

/// `count` arrays, of which NULL is zero. The list itself is owned, the arrays are held.
typedef lac_array **lac_point;

/// New arrays like those of `like`, undefined contents.
lac_status lac_point_make(lac_context *ctx, int count, lac_array *const *like, lac_point *out);
/// A list without arrays.
lac_status lac_point_empty(lac_context *ctx, int count, lac_point *out);
void lac_point_drop(int count, lac_array **arrays);  ///< the arrays, not the list
void lac_point_destroy(int count, lac_point *point);

/// y = alpha x; y += alpha x. The arrays of y are there, those of x may be NULL. Raises the version of y.
lac_status lac_point_scale(lac_context *ctx, int count, double alpha, lac_array *const *x, lac_array *const *y);
lac_status lac_point_axpy(lac_context *ctx, int count, double alpha, lac_array *const *x, lac_array *const *y);

/// Whether an array shares its memory with one of x.
bool lac_point_shares(int count, lac_array *const *x, const lac_array *array);

/// Re sum conj(x) y over all arrays.
lac_status lac_point_dot(lac_context *ctx, int count, lac_array *const *x, lac_array *const *y, double *out);

/// What one run of lac_minimise carries along.
typedef struct lac_search {
  lac_context *ctx;
  const lac_optimise_options *options;
  int count;
  lac_array *const *x;
  lac_objective objective;
  void *data;
  lac_optimise_report *report;
} lac_search;

/// The objective at x: value, gradient (an empty list of `count`, filled) and its norm; either may be infinite or NaN.
lac_status lac_search_evaluate(lac_search *s, double *value, lac_point gradient, double *norm);

/// Whether the search ends at a point with this value and gradient, `before` being the value one step ago. Sets the
/// outcome.
bool lac_search_ends(lac_search *s, double value, double before, double norm);

/// Set the outcome and its sentence.
void lac_search_end(lac_search *s, lac_outcome outcome, const char *format, ...) __attribute__((format(printf, 3, 4)));

/// The spacing of the real numbers of the arrays, relative.
double lac_search_rounding(const lac_search *s);

/// One point of a line: x = x0 + t d, its value, slope and gradient.
typedef struct lac_trial {
  double t, value, slope, norm;
  lac_point gradient;
} lac_trial;

/// Find t that fulfils the strong Wolfe conditions, starting with `first`. `start` is the trial t = 0. `found` receives
/// the trial, at which x then is; its t is 0, and x is x0, when there is none.
lac_status lac_line_search(lac_search *s, lac_array *const *x0, lac_array *const *d, const lac_trial *start,
                           double first, lac_trial *found);

/// L-BFGS from x on.
lac_status lac_search_lbfgs(lac_search *s);

/// The options that a caller gave `function` (NULL: the defaults), settled: zero means zero.
lac_status lac_optimise_take(lac_context *ctx, const char *function, const lac_optimise_options *given,
                             lac_optimise_options *out);

/// A first-order method by settled options.
lac_status lac_optimiser_make(lac_context *ctx, const lac_optimise_options *options, int count, lac_array *const *x,
                              lac_optimiser **out);

#endif
