// SPDX-License-Identifier: Apache-2.0
/// @file axes.h
/// What reductions over axes share. Their attributes: i[0] is a mask, bit d the d-th axis from the end; i[1]: keepdims.

#ifndef LACUNA_OPS_AXES_H
#define LACUNA_OPS_AXES_H

#include "autodiff/axis.h"
#include "autodiff/rule.h"

#define MASK(call_or_rule) ((uint32_t)(call_or_rule)->attrs->i[0])
#define KEEP(call_or_rule) ((call_or_rule)->attrs->i[1] != 0)

/// The meta of a reduction: input 0 without the axes of the mask, or with size 1 there.
lac_status lac_call_reduce_axes(lac_call *call);

/// The same for reductions that stay on one rank: an axis of the mask that is spread over ranks is refused.
lac_status lac_call_reduce_local(lac_call *call);

/// Refuse complex inputs, then reduce on one rank.
lac_status lac_call_reduce_ordered(lac_call *call);

/// Run the reduction of a call.
lac_status lac_call_reduce(lac_call *call, lac_reduction op);

/// A reduced var spread again over the input that a rule is about.
lac_var lac_emit_spread(lac_rule *rule, lac_var y);

#endif
