// SPDX-License-Identifier: Apache-2.0
/// @file signature.h
/// The signature of an operator, "(z),(n,k)->(m,k)", read operand by operand: which core dimensions each of them has.

#ifndef LACUNA_AUTODIFF_SIGNATURE_H
#define LACUNA_AUTODIFF_SIGNATURE_H

#include <stdbool.h>

#include "lacuna/extend.h"

enum { LAC_MAX_CORE = 8, LAC_SYMBOLS = 'z' - 'A' + 1 };

// What stands behind z for the rows and columns of a block. Capitals, which a signature cannot have.
enum { LAC_SYMBOL_BR = 'R', LAC_SYMBOL_BC = 'C' };

/// How many integers and numbers the attributes of a call have.
enum {
  LAC_ATTR_INTS = sizeof((lac_attrs *)NULL)->i / sizeof *((lac_attrs *)NULL)->i,
  LAC_ATTR_REALS = sizeof((lac_attrs *)NULL)->f / sizeof *((lac_attrs *)NULL)->f
};

/// One operand: how many core dimensions it has, and their letters.
typedef struct lac_operand {
  int core;
  char symbol[LAC_MAX_CORE];
} lac_operand;

/// Count the inputs and outputs of a signature; false when it is malformed.
bool lac_signature_count(const char *text, int *ins, int *outs);

/// A reader of the operands of a sound signature, inputs first, then outputs.
typedef struct lac_operands {
  const char *at;
  bool has_blocks;  // z is followed by the axes of a block
} lac_operands;

/// Start with the first operand of an operator on these patterns: z has the axes of a block where the first pattern has
/// blocks and the operator takes them.
lac_operands lac_operands_of(const lac_op *op, const lac_pattern *const *patterns);

/// Read the next operand.
void lac_operands_next(lac_operands *operands, lac_operand *out);

enum { LAC_INPUT_NAME = 40 };

/// The name of an input by the operator's parameters, as its function in ops.h has it: "x"; "input 2" where it has no
/// name there.
const char *lac_op_input_name(const lac_op *op, int input, char text[LAC_INPUT_NAME]);

/// "(),()->()": the signature of an operator whose operands have no core dimensions in common. The caller frees it.
lac_status lac_signature_plain(lac_context *ctx, int ins, int outs, char **out);

/// The size of an axis; `partition` where that is spread over ranks.
typedef struct lac_measure {
  int64_t size;
  const lac_partition *partition;
} lac_measure;

/// What the letters stand for in one call, each in its place from 'A' on.
struct lac_symbols {
  uint64_t bound;  // a bit for each place
  lac_measure at[LAC_SYMBOLS];
};

#endif
