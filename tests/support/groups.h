// SPDX-License-Identifier: Apache-2.0
/// @file groups.h
/// Maps whose groups the cases of segment operators use, and where each entry goes, said without them. i[5] of a case
/// is the kind.

#ifndef LACUNA_TESTS_GROUPS_H
#define LACUNA_TESTS_GROUPS_H

#include "support/op_case.h"

/// The rows and columns of the case's pattern, or a map with an entry for each of its slots that mixes four groups,
/// drops some entries and gives none to the last group.
typedef enum group_kind { BY_ROW, BY_COL, MIXED } group_kind;

/// How many groups there are; the group of entry e, or -1.
int64_t group_count(const op_case *c);
int64_t group_of(const op_case *c, int64_t e);

/// The `object` of a case: the map, in the integers of the case's width.
lac_status group_map(const op_setup *setup, lac_array *const *in, const void **out);

/// f(map, x) of numbers in f64 with this map, run at once; `n` numbers of the result into `y`, and of the gradient of
/// their sum into `x_bar`. Returns the tape's status.
typedef lac_var group_function(lac_tape *tape, const lac_map *map, lac_var x, int64_t full);
lac_status group_probe(lac_context *ctx, group_function *f, int64_t p, const int64_t *target, int64_t q, int64_t full,
                       const double *x, double *y, double *x_bar);

#endif
