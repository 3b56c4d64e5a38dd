// SPDX-License-Identifier: Apache-2.0
/// @file segment.h
/// What operators over the groups of a map share. The object is the map; a group is the sources of one of its outputs.

#ifndef LACUNA_OPS_REDUCTIONS_SEGMENT_H
#define LACUNA_OPS_REDUCTIONS_SEGMENT_H

#include "autodiff/rule.h"

/// The length of a group with its implicit zeros, by convention the first attribute of reductions; 0: only what is
/// stored.
#define FULL(call_or_rule) ((call_or_rule)->attrs->i[0])

/// For a reduction of reals.
static inline lac_status segment_infer_ordered(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(FULL(c) >= 0, LAC_ERR_ARG, "%s: groups of %lld numbers; give their full length, or 0 for no implicit zeros",
            c->op->name, (long long)FULL(c));
  LAC_TRY(lac_call_match_ordered(c));
done:
  return status;
}

/// Which extreme, the second attribute of those that seek one.
#define EXTREME(call_or_rule) ((lac_extreme)(call_or_rule)->attrs->i[1])

static inline lac_status segment_infer_extreme(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(EXTREME(c) == LAC_EXTREME_LARGEST || EXTREME(c) == LAC_EXTREME_SMALLEST, LAC_ERR_ARG,
            "%s: the extreme is LAC_EXTREME_LARGEST or LAC_EXTREME_SMALLEST, not %d", c->op->name, (int)EXTREME(c));
  LAC_TRY(segment_infer_ordered(c));
done:
  return status;
}

/// Run the kernel of a reduction. A group must not have more sources than its full length.
static inline lac_status segment_run(lac_call *c, lac_segment what) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_map *map = c->object;
  int64_t group = 0, count = 0;

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->segment));
  if (FULL(c)) LAC_TRY(lac_map_longest(ctx, map, &group, &count));
  LAC_CHECK(count <= FULL(c), LAC_ERR_ARG, "%s: group %lld has %lld entries, more than its full length of %lld",
            c->op->name, (long long)group, (long long)count, (long long)FULL(c));
  LAC_TRY(KERNELS(c)->segment(ctx, what, map, FULL(c), c->in[0], c->out[0]));
done:
  return status;
}

#endif
