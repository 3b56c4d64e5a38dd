// SPDX-License-Identifier: Apache-2.0
/// @file frozen.h
/// What is frozen in a call, and the sizes of it that letters of an operator's signature can stand for (lac_op.binds).

#ifndef LACUNA_AUTODIFF_FROZEN_H
#define LACUNA_AUTODIFF_FROZEN_H

#include "autodiff/signature.h"
#include "core/pattern/pattern_impl.h"

/// Of a matrix its slots, rows and columns, the latter two in numbers; of a map its inputs and outputs.
typedef struct lac_measures {
  lac_measure of[3];
  const lac_pattern *blocks;  // what the object was made of, where that has blocks: it must be the call's pattern
} lac_measures;

static inline void lac_pattern_measure(const lac_pattern *p, lac_measures *out) {
  out->of[0] = (lac_measure){p->nnz, p->entry_partition};
  out->of[1] = (lac_measure){p->rows * p->br, p->row_partition};
  out->of[2] = (lac_measure){p->cols * p->bc, p->col_partition};
  out->blocks = NULL;
}

/// What the object of a call can be.
typedef struct lac_frozen {
  const char *word;       // for it in the text
  const char *asked_for;  // in a refusal of others
  const char *hint;       // what it adds where a matrix is not square
  bool (*fits)(const lac_object *object);
  const char *(*measure)(const lac_object *object, lac_measures *out);  // NULL, or why the object cannot be taken
} lac_frozen;

/// All of them (ops/frozen.c), which ends with one without a word.
extern const lac_frozen lac_frozen_objects[];

#endif
