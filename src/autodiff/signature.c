// SPDX-License-Identifier: Apache-2.0
/// @file signature.c
/// Grammar: operand ("," operand)* "->" operand ("," operand)*, operand: "(" [letter ("," letter)*] ")".

#include "autodiff/signature.h"

#include <string.h>

#include "core/pattern/pattern_impl.h"

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

/// (.., z, ..) becomes (.., z, R, C, ..).
static bool signature_spread(int *core, char symbol[LAC_MAX_CORE]) {
  char *z = memchr(symbol, 'z', (size_t)*core);
  if (!z) return true;
  if (*core + 2 > LAC_MAX_CORE) return false;
  memmove(z + 3, z + 1, (size_t)(symbol + *core - (z + 1)));
  z[1] = LAC_SYMBOL_BR;
  z[2] = LAC_SYMBOL_BC;
  *core += 2;
  return true;
}

bool lac_signature_of(const lac_op *op, const lac_pattern *const *patterns, lac_signature *out) {
  bool is_read = lac_signature_read(op->signature, out);
  if (!(op->flags & LAC_TAKES_BLOCKS) || !patterns[0] || !lac_pattern_has_blocks(patterns[0])) return is_read;
  for (int i = 0; is_read && i < out->ins + out->outs; i++) {
    is_read = signature_spread(&out->core[i], out->symbol[i]);
  }
  return is_read;
}

int lac_spec_core(const lac_spec *spec, int operand) {
  lac_signature s;
  if (!spec->op || operand < 0 || !lac_signature_of(spec->op, spec->patterns, &s)) return -1;
  return operand < s.ins + s.outs ? s.core[operand] : -1;
}

int lac_op_inputs(const lac_op *op) {
  lac_signature s;
  return op && lac_signature_read(op->signature, &s) ? s.ins : 0;
}

int lac_op_outputs(const lac_op *op) {
  lac_signature s;
  return op && lac_signature_read(op->signature, &s) ? s.outs : 0;
}
