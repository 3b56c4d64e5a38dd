// SPDX-License-Identifier: Apache-2.0
/// @file claims.c
/// Looking into a list of claims.

#include "kernels/claims.h"

#include <string.h>

bool lac_claims_have(const lac_claims *claims, lac_claim_kind kind, const char *name, lac_dtype dtype,
                     bool has_blocks) {
  if (!claims) return true;
  for (int i = 0; i < claims->count; ++i) {
    const lac_claim *c = &claims->list[i];
    if (c->kind != kind || strcmp(c->name, name) != 0) continue;
    return (c->dtypes >> dtype & 1) && (!has_blocks || c->blocks == LAC_CLAIM_BLOCKS);
  }
  return false;
}
