// SPDX-License-Identifier: Apache-2.0
/// @file tape.h
/// A tape runs calls of operators and records them; a var is an array on that record.
///
/// Errors of calls stick: after the first error every call on the tape does nothing and returns an absent var. A long
/// formula therefore needs one check at its end: lac_tape_status, or the status of the derivative. The context has the
/// sentence. A derivative that fails leaves the tape as it was. A tape belongs to the thread of its context.
///
///     lac_var a = lac_tape_leaf(tape, values), x = lac_tape_constant(tape, input);
///     lac_var y = lac_spmm(tape, pattern, a, x, LAC_PLAIN), loss = lac_dot(tape, y, y), a_bar;
///     lac_status status = lac_tape_vjp(tape, 1, &loss, NULL, 1, &a, &a_bar, LAC_GRAPH_NONE);

#ifndef LACUNA_TAPE_H
#define LACUNA_TAPE_H

#include "lacuna/array.h"
#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAC_MAX_PATTERNS = 3 };  ///< the most patterns that an operator may have

typedef struct lac_tape lac_tape;
typedef struct lac_op lac_op;  // extend.h

/// A handle to an array on one tape, valid until that tape is cleared or destroyed.
/// The var with id 0 is absent. Inside rules, and in lac_add and lac_sub, the absent var is a zero that costs nothing;
/// other calls refuse it with LAC_ERR_ABSENT, because outside rules an absent var is usually a forgotten one.
typedef struct lac_var {
  int64_t id;
} lac_var;

/// The frozen numbers of a call. Each operator says in its source which of them it reads.
typedef struct lac_attrs {
  int64_t i[8];   ///< forms, triangles, masks of axes, bandwidths
  double f[2];    ///< a number with its imaginary part, two bounds, a tolerance
  int fit;        ///< 1: sum over batch axes until the output has the shape `like` (operators with LAC_OP_SUMS_BATCH)
  lac_meta like;  ///< a shape
} lac_attrs;

/// The frozen part of a call: an operator and all of its arguments but the vars.
/// Ownership: a tape or program that keeps a spec holds its patterns and its object.
typedef struct lac_spec {
  const lac_op *op;
  const lac_pattern *patterns[LAC_MAX_PATTERNS];
  const void *object;  ///< a map, solver, factor, format or userdata (extend.h), as the operator says; nothing else
  lac_attrs attrs;
} lac_spec;

/// What a tape keeps.
typedef enum lac_tape_mode {
  LAC_TAPE_RECORD,  ///< run calls and record them
  LAC_TAPE_RUN      ///< run calls only: no derivatives; the tape keeps the values of vars alone
} lac_tape_mode;

/// What becomes of the calls that a derivative makes.
typedef enum lac_graph_mode {
  LAC_GRAPH_NONE,   ///< derivatives are plain arrays
  LAC_GRAPH_CREATE  ///< derivatives are recorded too, and can be differentiated again
} lac_graph_mode;

// -- tapes and vars --------------------------------------------------------------------------------------------------

/// Make a tape.
/// Ownership: the caller destroys *out, before the context.
LAC_API lac_status lac_tape_create(lac_context *ctx, lac_tape_mode mode, lac_tape **out);

/// End a tape and all of its vars; accepts NULL and leaves NULL.
LAC_API void lac_tape_destroy(lac_tape **tape);

/// Forget all records, and the error if there is one. All vars of the tape become invalid.
LAC_API void lac_tape_clear(lac_tape *tape);

/// LAC_OK, or the first error since the tape was created or cleared; LAC_ERR_ARG for NULL.
LAC_API lac_status lac_tape_status(const lac_tape *tape);

/// The context of a tape, borrowed; NULL for NULL.
LAC_API lac_context *lac_tape_context(const lac_tape *tape);

/// Put an array on the tape: a leaf is differentiated, a constant is not.
/// Ownership: the tape holds the array. After a write to it (lac_array_edit) the results that depend on it are stale,
/// and a derivative that needs the old values fails with LAC_ERR_STALE.
/// Errors: they stick to the tape. LAC_ERR_DEVICE for an array on another device.
LAC_API lac_var lac_tape_leaf(lac_tape *tape, const lac_array *array);
LAC_API lac_var lac_tape_constant(lac_tape *tape, const lac_array *array);

/// Put a constant of one number on the tape (ndim = 0).
LAC_API lac_var lac_tape_scalar(lac_tape *tape, lac_dtype dtype, double real, double imag);

/// The array behind a var, and its description; NULL for an absent or unknown var.
/// Ownership: the array is borrowed until the tape is cleared or the var is released, the description until the next
/// call on the tape. lac_array_retain keeps the array.
LAC_API const lac_array *lac_tape_value(const lac_tape *tape, lac_var var);
LAC_API const lac_meta *lac_tape_meta(const lac_tape *tape, lac_var var);

/// Promise that the value of a var is neither read nor used in a call again: its memory is freed unless a rule needs
/// it.
LAC_API void lac_tape_release(lac_tape *tape, lac_var var);

/// Apply an operator: read as many vars from `in`, and write as many to `out`, as its signature names. The functions of
/// ops.h are this call with names.
/// Errors: they stick to the tape, and the outputs are absent, as they are on a tape that failed before.
LAC_API lac_status lac_tape_call(lac_tape *tape, const lac_spec *spec, const lac_var *in, lac_var *out);

// -- derivatives -----------------------------------------------------------------------------------------------------

/// Reverse mode: in_bar[j] = sum_i J_ij^H seed[i] for each of the `ins` vars, which are leaves or depend on leaves.
/// Arguments: `seeds` may be NULL or hold absent vars where an output is a single number, whose seed is then 1. An
/// in_bar[j] on which no output depends is absent; on failure all are absent.
/// Ownership: results are vars of the tape. They may share memory with seeds and with each other (for y = x + z the
/// seed of y serves for both): write to none of them.
/// Cost: one rule for each recorded call between `in` and `out`. The tape has kept only those inputs and outputs of
/// calls that their rules read (lac_op.vjp_needs, jvp_needs); adjoints are freed as the sweep passes.
/// Errors: LAC_ERR_ARG for NULL, an output without a seed that is not a single number, an input that depends on no
/// leaf, and a tape that does not record; LAC_ERR_SHAPE for a seed that is not like its output; LAC_ERR_STALE;
/// LAC_ERR_ORDER.
LAC_API lac_status lac_tape_vjp(lac_tape *tape, int outs, const lac_var *out, const lac_var *seeds, int ins,
                                const lac_var *in, lac_var *in_bar, lac_graph_mode mode);

/// Reverse mode for a loss of one number, as arrays: its value (the real part) and its gradient by each of `count`
/// leaves, as objectives need them (optimise.h). On failure no gradient is set.
/// Ownership: the caller destroys each gradient[i], and writes to none of them: they may share memory. NULL is zero.
/// Errors: LAC_ERR_ARG for a loss of several numbers; those of the tape and of lac_tape_vjp.
LAC_API lac_status lac_tape_gradient(lac_tape *tape, lac_var loss, int count, const lac_var *leaves, double *value,
                                     lac_array **gradient);

/// Forward mode: out_dot[i] = sum_j J_ij in_dot[j]. An absent in_dot[j] is zero, and an out_dot[i] that is zero is
/// absent.
/// Ownership, errors: those of lac_tape_vjp.
LAC_API lac_status lac_tape_jvp(lac_tape *tape, int ins, const lac_var *in, const lac_var *in_dot, int outs,
                                const lac_var *out, lac_var *out_dot, lac_graph_mode mode);

// -- checkpoints -----------------------------------------------------------------------------------------------------

/// Write a part of a computation: emit calls on `tape` that make `out` of `in`. The function is called once, on a tape
/// that records calls and does not run them. Like a rule it branches on shapes and never on values (lac_tape_value is
/// NULL there), and reads no var but `in`; arrays come in through lac_tape_constant and lac_tape_scalar. `step` counts
/// from 0 in lac_tape_checkpoint_steps, and is 0 elsewhere.
/// Errors: any status but LAC_OK ends the call that called the function.
typedef lac_status (*lac_tape_function)(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out);

/// Run a segment and keep its inputs and outputs alone: the values between them are computed again, from the inputs,
/// when a derivative needs them.
/// Arguments: any number of inputs and outputs, at least one of each; `data` is used in this call alone.
/// Derivatives: all modes and orders. Segments may contain segments and derivatives (lac_tape_vjp with
/// LAC_GRAPH_CREATE). A derivative that is recorded keeps the values that it computed again.
/// Cost: one array for each input and output, and inside a derivative those of one segment; up to one more forward.
/// Errors: they stick to the tape, on which no part of the segment is left. LAC_ERR_STALE where a constant of the
/// segment was written to before the derivative.
LAC_API lac_status lac_tape_checkpoint(lac_tape *tape, lac_tape_function segment, void *data, int ins,
                                       const lac_var *in, int outs, lac_var *out);

/// Run a loop of `steps` steps in about sqrt(steps) checkpointed segments.
/// Arguments: the first `states` inputs are the state, which each step maps to the next; the other inputs are the same
/// in each step. `out` receives the last state.
/// Cost: about 2 sqrt(steps) states are kept at once.
/// Errors: those of lac_tape_checkpoint; LAC_ERR_ARG unless steps >= 0 and 0 < states <= ins.
LAC_API lac_status lac_tape_checkpoint_steps(lac_tape *tape, lac_tape_function step, void *data, int steps, int ins,
                                             const lac_var *in, int states, lac_var *out);

#ifdef __cplusplus
}
#endif
#endif
