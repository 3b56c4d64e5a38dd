// SPDX-License-Identifier: Apache-2.0
/// @file square.h
/// Cases of operators on factors: square matrices that have one, as the patterns[0] and the input 0 of an op_case.
///
/// i[1] says whether the object is a factor or a solver, i[2] how the matrix looks, `data` are lac_solver_options
/// (NULL: defaults).

#ifndef LACUNA_TESTS_SQUARE_H
#define LACUNA_TESTS_SQUARE_H

#include "support/op_case.h"

enum { FACTOR, SOLVER };

/// GENERAL: nonsymmetric, the diagonal is largest. SHUFFLED: what is largest in row i stands in column i + 1, so that
/// pivoting is needed. DEFINITE: Hermitian with a large diagonal.
typedef enum look { GENERAL, SHUFFLED, DEFINITE } look;

/// op_case.object and op_case.fill.
lac_status square_object(const op_setup *setup, lac_array *const *in, const void **out);
void square_fill(const op_case *c, int input, ref *x);

/// op_case.apply and op_case.dense of x = op(A)^-1 b, i[0] the form.
void square_solve_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out);
void square_solve_dense(const op_case *c, const ref *in, ref *out);

/// A matrix of two rows and columns, all four entries stored, on a tape: for refusals.
typedef struct two_by_two {
  lac_pattern *pattern;
  lac_solver *solver;
  lac_array *a;
  lac_tape *tape;
} two_by_two;

two_by_two two_by_two_open(lac_context *ctx, const double values[4]);
void two_by_two_close(two_by_two *s);

/// An operator of one matrix by a solver names the column of a singular one; by a factor, it refuses values that are no
/// longer those of the factor, and says who it is.
void check_names_singular(lac_context *ctx, lac_var (*op)(lac_tape *tape, const lac_solver *solver, lac_var a));
void check_refuses_stale(lac_context *ctx, const char *name,
                         lac_var (*op)(lac_tape *tape, const lac_factor *factor, lac_var a));

#endif
