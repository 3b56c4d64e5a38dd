// SPDX-License-Identifier: Apache-2.0
/// @file signature.h
/// The signature of an operator, "(z),(n,k)->(m,k)", read into arrays: which core dimensions each operand has.

#ifndef LACUNA_AUTODIFF_SIGNATURE_H
#define LACUNA_AUTODIFF_SIGNATURE_H

#include <stdbool.h>

#include "lacuna/extend.h"

enum { LAC_MAX_CORE = 6, LAC_MAX_SYMBOLS = 14 };

// What stands behind z for the rows and columns of a block. Capitals, which a signature cannot have.
enum { LAC_SYMBOL_BR = 'R', LAC_SYMBOL_BC = 'C' };

/// Operands are numbered through: inputs first, then outputs.
typedef struct lac_signature {
  int ins, outs;
  int core[LAC_MAX_IN + LAC_MAX_OUT];                   // how many core dimensions
  char symbol[LAC_MAX_IN + LAC_MAX_OUT][LAC_MAX_CORE];  // their letters
} lac_signature;

/// Read a signature; false when it is malformed or too long.
bool lac_signature_read(const char *text, lac_signature *out);

/// The signature of an operator on these patterns: read, and z followed by the axes of a block where the first pattern has
/// blocks and the operator takes them.
bool lac_signature_of(const lac_op *op, const lac_pattern *const *patterns, lac_signature *out);

/// What the letters stand for in one call. A symbol has a partition when the axis is spread over ranks.
struct lac_symbols {
  int count;
  char symbol[LAC_MAX_SYMBOLS];
  int64_t size[LAC_MAX_SYMBOLS];
  const lac_partition *partition[LAC_MAX_SYMBOLS];
};

#endif
