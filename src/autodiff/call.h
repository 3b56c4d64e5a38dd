// SPDX-License-Identifier: Apache-2.0
/// @file call.h
/// One application of an operator: from shapes to outputs.

#ifndef LACUNA_AUTODIFF_CALL_H
#define LACUNA_AUTODIFF_CALL_H

#include "autodiff/signature.h"
#include "core/array_impl.h"

enum { FRAME_INS = 6, FRAME_OUTS = 4 };

/// A call with the lists of its operands: on the stack where they are short, in one block where they are not.
typedef struct lac_frame {
  lac_call call;
  void *heap;
  lac_meta meta[FRAME_INS + FRAME_OUTS];
  const lac_array *in[FRAME_INS];
  lac_array *out[FRAME_OUTS];
} lac_frame;

/// Start a call of `spec`; metas of inputs and arrays are the caller's to fill in, and the arrays are NULL. Refuses a
/// spec without an operator, or one whose operator is incomplete.
lac_status lac_call_begin(lac_context *ctx, const lac_spec *spec, lac_frame *out);

/// The same for a spec that was judged before, and whose counts of inputs and outputs are known. `metas`, of the inputs
/// and then of the outputs, are borrowed; NULL: there is room for them in the frame.
lac_status lac_call_resume(lac_context *ctx, const lac_spec *spec, int ins, int outs, lac_meta *metas, lac_frame *out);

/// Give the lists back, after lac_call_begin or lac_call_resume, whatever these returned. Not the arrays in them.
static inline void lac_call_end(lac_frame *frame) { lac_free(frame->heap); }

/// Bind the letters that op->binds names.
lac_status lac_call_bind_frozen(lac_call *call);

/// Fill out_meta from in_meta.
lac_status lac_call_infer(lac_call *call);

/// Make the outputs that are not there yet and run the forward. `so_far` is the caller's status: ranks agree on it
/// before an operator that communicates, and a rank that has failed takes part in that. The outputs are the caller's,
/// on failure too.
lac_status lac_call_run(lac_call *call, lac_status so_far);

/// Let all ranks know of this rank's status; returns what they agree on. In one process: `status` itself.
lac_status lac_call_agree(lac_context *ctx, lac_status status);

/// Hold or let go of the patterns, the object and the partition of a spec.
void lac_spec_retain(const lac_spec *spec);
void lac_spec_release(const lac_spec *spec);

/// `to` takes the shape and partition of `from`, and holds that partition instead of its own.
void lac_meta_take_shape(lac_meta *to, const lac_meta *from);

#endif
