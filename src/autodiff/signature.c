// SPDX-License-Identifier: Apache-2.0
/// @file signature.c
/// Grammar: operand ("," operand)* "->" operand ("," operand)*, operand: "(" [letter ("," letter)*] ")".

#include "autodiff/signature.h"

#include <stdio.h>
#include <string.h>

#include "core/pattern/pattern_impl.h"

enum { LETTERS_SHOWN = LAC_MAX_CORE - 2 };  // z may stand for two more

/// Step over one operand; NULL when it is malformed.
static const char *signature_step(const char *c) {
  int core = 0;

  if (*c++ != '(') return NULL;
  while (*c != ')') {
    if (*c < 'a' || *c > 'z' || core++ == LETTERS_SHOWN) return NULL;
    if (*++c == ',') c++;
  }
  return c + 1;
}

/// Step over operands with commas between them; NULL when one is malformed.
static const char *signature_list(const char *c, int *count) {
  int operands = 1;

  for (c = signature_step(c); c && *c == ','; c = signature_step(c + 1)) operands++;
  *count = operands;
  return c;
}

bool lac_signature_count(const char *text, int *ins, int *outs) {
  *ins = *outs = 0;
  if (!text) return false;
  text = signature_list(text, ins);
  if (!text || text[0] != '-' || text[1] != '>') return false;
  text = signature_list(text + 2, outs);
  return text && !*text;
}

lac_status lac_signature_plain(lac_context *ctx, int ins, int outs, char **out) {
  lac_status status = LAC_OK;
  char *end = NULL;

  LAC_ALLOC(end, 3 * ((size_t)ins + (size_t)outs) + 2);
  *out = end;
  for (int i = 0; i < ins + outs; i++) {
    for (const char *c = i == 0 ? "()" : i == ins ? "->()" : ",()"; *c; c++) *end++ = *c;
  }
done:
  return status;
}

lac_operands lac_operands_of(const lac_op *op, const lac_pattern *const *patterns) {
  bool has_blocks = op->flags & LAC_OP_TAKES_BLOCKS && patterns[0] && lac_pattern_has_blocks(patterns[0]);
  return (lac_operands){op->signature, has_blocks};
}

/// (.., z, ..) becomes (.., z, R, C, ..).
static void operand_spread(lac_operand *operand) {
  char *z = memchr(operand->symbol, 'z', (size_t)operand->core);

  if (!z) return;
  memmove(z + 3, z + 1, (size_t)(operand->symbol + operand->core - (z + 1)));
  z[1] = LAC_SYMBOL_BR;
  z[2] = LAC_SYMBOL_BC;
  operand->core += 2;
}

void lac_operands_next(lac_operands *operands, lac_operand *out) {
  const char *c = operands->at;
  int core = 0;  // not out->core, which a store to a char could be taken to change

  while (*c != '(') c++;  // a comma, or the arrow
  while (*++c != ')') {
    if (*c != ',') out->symbol[core++] = *c;
  }
  out->core = core;
  operands->at = c + 1;
  if (operands->has_blocks) operand_spread(out);
}

int lac_spec_core(const lac_spec *spec, int operand) {
  lac_operands operands;
  lac_operand found = {.core = -1};
  int ins, outs;

  if (!spec || !spec->op || operand < 0 || !lac_signature_count(spec->op->signature, &ins, &outs)) return -1;
  if (operand >= ins + outs) return -1;
  operands = lac_operands_of(spec->op, spec->patterns);
  for (int i = 0; i <= operand; i++) lac_operands_next(&operands, &found);
  return found.core + (spec->op->flags & LAC_OP_CARRIES_AXES && spec->attrs.i[1] > 0 ? (int)spec->attrs.i[1] : 0);
}

int lac_op_inputs(const lac_op *op) {
  int ins, outs;
  return op && lac_signature_count(op->signature, &ins, &outs) ? ins : 0;
}

int lac_op_outputs(const lac_op *op) {
  int ins, outs;
  return op && lac_signature_count(op->signature, &ins, &outs) ? outs : 0;
}

// -- names -----------------------------------------------------------------------------------------------------------

/// Whether a parameter is an input, by its kind, which ends at a space, a bracket or the text's end (lac_function).
static bool parameter_is_input(const char *kind, size_t length) {
  static const char *const kinds[] = {"array", "values", "columns", "column", "number", "condition"};

  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (strlen(kinds[k]) == length && strncmp(kinds[k], kind, length) == 0) return true;
  }
  return false;
}

const char *lac_op_input_name(const lac_op *op, int input, char text[LAC_INPUT_NAME]) {
  const char *at = op->parameters ? op->parameters : "";

  (void)snprintf(text, LAC_INPUT_NAME, "input %d", input);
  for (int seen = 0; *at; at += strspn(at, ", ")) {
    size_t name = strcspn(at, ":");
    const char *kind = at + name + strspn(at + name, ": ");
    if (parameter_is_input(kind, strcspn(kind, " [,=@")) && seen++ == input) {
      (void)snprintf(text, LAC_INPUT_NAME, "%.*s", (int)name, at);
    }
    at = kind + strcspn(kind, ",");
  }
  return text;
}
