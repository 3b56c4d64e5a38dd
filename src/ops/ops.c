// SPDX-License-Identifier: Apache-2.0
/// @file ops.c
/// The table of operators, from ops.def.

#include <string.h>

#include "lacuna/extend.h"

#define LAC_OP(name) extern const lac_op lac_op_##name;
#include "ops/ops.def"
#undef LAC_OP

static const lac_op *const ops_table[] = {
#define LAC_OP(name) &lac_op_##name,
#include "ops/ops.def"
#undef LAC_OP
};

int lac_op_count(void) { return (int)(sizeof ops_table / sizeof *ops_table); }

const lac_op *lac_op_at(int i) { return i >= 0 && i < lac_op_count() ? ops_table[i] : NULL; }

const lac_op *lac_op_find(const char *name) {
  for (int i = 0; name && i < lac_op_count(); i++) {
    if (strcmp(ops_table[i]->name, name) == 0) return ops_table[i];
  }
  return NULL;
}
