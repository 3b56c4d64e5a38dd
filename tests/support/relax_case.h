// SPDX-License-Identifier: Apache-2.0
/// @file relax_case.h
/// The battery of preconditioners whose inverse is a matrix that can be written down.

#ifndef LACUNA_TESTS_RELAX_CASE_H
#define LACUNA_TESTS_RELAX_CASE_H

#include "solvers/precondition/preconditioner.h"
#include "support/check.h"
#include "support/dense.h"

typedef struct relax_case {
  const lac_preconditioner_table *table;
  lac_precondition options;
  dense (*inverse)(dense a, const lac_precondition *options);  ///< M^-1 by the textbook
  int hermitian_only;
  int is_hermitian;  ///< of the matrices of relax_refuses
  int scale_power;   ///< M^-1 of s A is s^power M^-1 of A: -1, or 0 where it does not look at A
  double roundings;  ///< allowed, in units of the largest number; 0: 200
} relax_case;

/// Every dtype, form and shape; refreshed as made; scaled; on threads; out of memory.
void relax_check(lac_context *ctx, const relax_case *c);

/// A small real matrix, row by row, zeros are no entries: it is refused with this status and words.
void relax_refuses(lac_context *ctx, const relax_case *c, int64_t n, const double *full, lac_status expected,
                   const char *words);

/// The same: it is taken, and applied as it should; what it says of itself.
lac_setup_figures relax_takes(lac_context *ctx, const relax_case *c, int64_t n, const double *full, int is_hermitian);

/// A set-up of a sketch with values [items, nnz].
typedef struct relax_setup {
  lac_pattern *pattern;
  lac_array *values;
  lac_solver_options options;
  lac_setup setup;
} relax_setup;

/// Nonsymmetric or Hermitian, the diagonal dominates.
ref relax_values(const sketch *s, lac_dtype dtype, int64_t items, int is_hermitian, uint64_t seed);
void relax_open(lac_context *ctx, const relax_case *c, const sketch *s, const ref *values, int is_hermitian,
                relax_setup *out);
void relax_close(relax_setup *out);

#endif
