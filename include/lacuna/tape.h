// SPDX-License-Identifier: Apache-2.0
/// @file tape.h
/// A tape runs calls of operators and records them; a var is an array on that record.
///
/// Errors of calls stick: after the first one every call on the tape does nothing and returns an absent var, so that a
/// long formula needs one check at its end (lac_tape_status, or the derivative's own status; the context has the
/// sentence). A derivative that fails leaves the tape as it was. A tape belongs to its context's thread.
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

enum { LAC_MAX_PATTERNS = 3 };

typedef struct lac_tape lac_tape;
typedef struct lac_op lac_op;  // extend.h

/// A handle to an array on a tape, of no other tape and not of after a clear. id 0 is the absent var: inside rules, and
/// in lac_add and lac_sub, a zero that costs nothing; other calls refuse it, since outside rules it is mostly something
/// forgotten.
typedef struct lac_var {
  int64_t id;
} lac_var;

/// What an operator is told besides its inputs. Each operator says in its room which it reads.
typedef struct lac_attrs {
  int64_t i[8];  ///< sides, triangles, masks of axes, bandwidths
  double f[2];   ///< a number with its imaginary part, two bounds, a tolerance
  int fit;  ///< 1: sum over batch dimensions so that the output has the shape `like` (operators with LAC_OP_SUMS_BATCH)
  lac_meta like;  ///< a shape
} lac_attrs;

/// An application of an operator without its inputs: what is frozen. Whoever keeps one holds its patterns and object.
typedef struct lac_spec {
  const lac_op *op;
  const lac_pattern *patterns[LAC_MAX_PATTERNS];
  const void *object;  ///< a map, solver, factor, format or userdata (extend.h), as the operator says; nothing else
  lac_attrs attrs;
} lac_spec;

typedef enum lac_tape_mode {
  LAC_TAPE_RECORD,  ///< run calls and record them
  LAC_TAPE_RUN      ///< run calls only: no derivatives, nothing kept but the values of vars
} lac_tape_mode;

typedef enum lac_graph_mode {
  LAC_GRAPH_NONE,   ///< derivatives are plain arrays
  LAC_GRAPH_CREATE  ///< derivatives are recorded too, and can be differentiated again
} lac_graph_mode;

LAC_API lac_status lac_tape_create(lac_context *ctx, lac_tape_mode mode, lac_tape **out);
LAC_API void lac_tape_destroy(lac_tape **tape);

/// Forget everything recorded, and the error if there is one. All vars of the tape become invalid.
LAC_API void lac_tape_clear(lac_tape *tape);

/// LAC_OK, or the first error since the tape was created or cleared.
LAC_API lac_status lac_tape_status(const lac_tape *tape);
LAC_API lac_context *lac_tape_context(const lac_tape *tape);

/// Put an array on the tape: a leaf is differentiated, a constant is not. The tape holds the array; writing to it
/// afterwards (lac_array_edit) makes what depends on it stale, and a derivative that would need the old values fails.
LAC_API lac_var lac_tape_leaf(lac_tape *tape, const lac_array *array);
LAC_API lac_var lac_tape_constant(lac_tape *tape, const lac_array *array);

/// A constant that holds one number (ndim = 0).
LAC_API lac_var lac_tape_scalar(lac_tape *tape, lac_dtype dtype, double real, double imag);

/// The array behind a var, borrowed until the tape is cleared or the var released; NULL if the var is absent or
/// unknown.
LAC_API const lac_array *lac_tape_value(const lac_tape *tape, lac_var var);
LAC_API const lac_meta *lac_tape_meta(const lac_tape *tape, lac_var var);

/// Say that a var's value will not be read nor used in a call again: memory that no rule needs is freed.
LAC_API void lac_tape_release(lac_tape *tape, lac_var var);

/// Apply an operator: reads as many vars from `in` and writes as many to `out` as the operator's signature says. The
/// functions of ops.h are this with names. On a failing tape, or on failure, the outputs are absent.
LAC_API lac_status lac_tape_call(lac_tape *tape, const lac_spec *spec, const lac_var *in, lac_var *out);

/// Reverse mode: in_bar[j] = sum_i J_ij^H seed[i] for each of the `ins` vars, which may be leaves or anything in
/// between. `seeds` may be NULL, or hold absent vars, where an output is a single number: its seed is then 1. An in_bar
/// that does not depend on any output comes back absent, and so do all on failure. Results may share memory with seeds
/// and with each other (y = x + z hands its seed to both): write to none of them. Cost: one rule for each call
/// between them. Memory: the tape has kept those inputs and outputs of calls that their derivatives read, and no others
/// (lac_op.vjp_needs, jvp_needs); adjoints are freed as the sweep passes.
LAC_API lac_status lac_tape_vjp(lac_tape *tape, int outs, const lac_var *out, const lac_var *seeds, int ins,
                                const lac_var *in, lac_var *in_bar, lac_graph_mode mode);

/// Read the value of a loss of one number (its real part) and its gradient by each leaf: reverse mode for who wants arrays, as objectives
/// do (optimise.h).
/// Ownership: the caller destroys each gradient[i]; NULL is zero.
/// Errors: LAC_ERR_ARG for a loss of several numbers; those of the tape.
LAC_API lac_status lac_tape_gradient(lac_tape *tape, lac_var loss, int count, const lac_var *leaves, double *value,
                                     lac_array **gradient);

/// Forward mode: out_dot[i] = sum_j J_ij in_dot[j].
LAC_API lac_status lac_tape_jvp(lac_tape *tape, int ins, const lac_var *in, const lac_var *in_dot, int outs,
                                const lac_var *out, lac_var *out_dot, lac_graph_mode mode);

/// A part of a computation: emits calls on `tape` that make `out` of `in`. It is run once, on a tape that only writes:
/// like a rule it branches on shapes and never on values (lac_tape_value is NULL there), it reads no var but `in`, and
/// arrays come in through lac_tape_constant and lac_tape_scalar. `step` counts from 0 in lac_tape_checkpoint_steps and
/// is 0 elsewhere.
typedef lac_status (*lac_tape_function)(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out);

/// Run a segment and keep only its inputs and outputs: what lies between is computed again, from the inputs, when a
/// derivative needs it. Memory: one array for each input and output, and inside a derivative those of one segment.
/// Cost: up to one more forward. All modes and orders, segments within segments and derivatives inside a segment
/// (lac_tape_vjp with LAC_GRAPH_CREATE) work; a derivative that is recorded (LAC_GRAPH_CREATE) keeps what was computed
/// again. There may be any number of inputs and outputs. `data` is used in this call alone. Errors stick to the tape,
/// and nothing of the segment is left on it; a constant that is written to before the derivative is LAC_ERR_STALE.
LAC_API lac_status lac_tape_checkpoint(lac_tape *tape, lac_tape_function segment, void *data, int ins,
                                       const lac_var *in, int outs, lac_var *out);

/// A loop of `steps` steps in about sqrt(steps) checkpointed segments, so that about 2 sqrt(steps) states are alive at
/// once. The first `states` of the inputs are the state, which every step maps to the next; the others are the same in
/// each.
LAC_API lac_status lac_tape_checkpoint_steps(lac_tape *tape, lac_tape_function step, void *data, int steps, int ins,
                                             const lac_var *in, int states, lac_var *out);

#ifdef __cplusplus
}
#endif
#endif
