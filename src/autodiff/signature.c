// SPDX-License-Identifier: Apache-2.0
/// @file signature.c
/// Grammar: operand ("," operand)* "->" operand ("," operand)*, operand: "(" [letter ("," letter)*] ")".

#include "autodiff/signature.h"

#include <string.h>

/// Read one operand at *text, and step over it.
static bool signature_operand(const char **text, int *core, char symbol[LAC_MAX_CORE]) {
  const char *c = *text;

  *core = 0;
  if (*c++ != '(') return false;
  while (*c != ')') {
    if (*c < 'a' || *c > 'z' || *core == LAC_MAX_CORE) return false;
    symbol[(*core)++] = *c++;
    if (*c == ',') c++;
  }
  *text = c + 1;
  return true;
}

bool lac_signature_read(const char *text, lac_signature *out) {
  out->ins = out->outs = 0;
  if (!text) return false;
  for (bool arrow = false; *text;) {
    int i = out->ins + out->outs;
    if (arrow ? out->outs == LAC_MAX_OUT : out->ins == LAC_MAX_IN) return false;
    if (!signature_operand(&text, &out->core[i], out->symbol[i])) return false;
    if (arrow) {
      out->outs++;
    } else {
      out->ins++;
    }
    if (*text == ',') {
      text++;
    } else if (!arrow && strncmp(text, "->", 2) == 0) {
      arrow = true, text += 2;
    } else if (*text) {
      return false;
    }
  }
  return out->ins > 0 && out->outs > 0;
}

int lac_op_inputs(const lac_op *op) {
  lac_signature s;
  return op && lac_signature_read(op->signature, &s) ? s.ins : 0;
}

int lac_op_outputs(const lac_op *op) {
  lac_signature s;
  return op && lac_signature_read(op->signature, &s) ? s.outs : 0;
}
