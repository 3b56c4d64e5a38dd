// SPDX-License-Identifier: Apache-2.0
/// @file call.h
/// One application of an operator: from shapes to outputs.

#ifndef LACUNA_AUTODIFF_CALL_H
#define LACUNA_AUTODIFF_CALL_H

#include "autodiff/signature.h"
#include "core/array_impl.h"

/// Start a call of `spec`; metas and arrays are the caller's to fill in. `signature` receives the operator's, read.
/// Refuses a spec without an operator, or one whose operator is incomplete.
lac_status lac_call_begin(lac_context *ctx, const lac_spec *spec, lac_signature *signature, lac_call *call);

/// Fill out_meta of the `outs` outputs from in_meta.
lac_status lac_call_infer(lac_call *call, int outs);

/// Make the outputs that are not there yet and run the forward. `so_far` is the caller's status: ranks agree on it before an
/// operator that communicates, and a rank that has failed takes part in that. On failure outputs made here are destroyed.
lac_status lac_call_run(lac_call *call, int outs, lac_status so_far);

/// Let all ranks know of this rank's status; returns what they agree on. In one process: `status` itself.
lac_status lac_call_agree(lac_context *ctx, lac_status status);

/// Hold or let go of the patterns, the object and the partition of a spec.
void lac_spec_retain(const lac_spec *spec);
void lac_spec_release(const lac_spec *spec);

/// `to` takes the shape and partition of `from`, and holds that partition instead of its own.
void lac_meta_take_shape(lac_meta *to, const lac_meta *from);

#endif
