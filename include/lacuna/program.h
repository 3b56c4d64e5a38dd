// SPDX-License-Identifier: Apache-2.0
/// @file program.h
/// A program is a short list of calls, made from shapes alone: an operator's forward, what one of its rules emits,
/// or what a function of operators writes.
///
/// This is the door for frameworks. They ask for programs by shape, allocate the outputs themselves, and either run a
/// program in one call or read its steps and apply each through their own machinery, so that the derivative of a
/// derivative is theirs too.
///
/// Each program is written once for its spec, shapes, and which derivatives exist and are asked for; who asks again
/// gets the same one. It is kept with the youngest of the spec's patterns and object, goes with it, and keeps none of
/// them alive; where the spec has none, the context keeps it. Programs are immutable, and run through any context, in
/// any thread.

#ifndef LACUNA_PROGRAM_H
#define LACUNA_PROGRAM_H

#include "lacuna/extend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_program lac_program;

/// What an input or result of a program is, relative to the operator's call.
typedef enum lac_role {
  LAC_ROLE_IN,
  LAC_ROLE_OUT,
  LAC_ROLE_OUT_BAR,
  LAC_ROLE_IN_DOT,
  LAC_ROLE_IN_BAR,
  LAC_ROLE_OUT_DOT
} lac_role;

/// A place in a program: `var` names it in the steps (1 and up, 0 is absent).
typedef struct lac_port {
  lac_role role;
  int index;
  int var;
  lac_meta meta;
} lac_port;

/// One call: the spec and the vars that it reads and makes are borrowed from the program.
typedef struct lac_step {
  const lac_spec *spec;
  int ins, outs;
  const int *in, *out;
} lac_step;

/// The operator's own forward: one step. Inputs are LAC_ROLE_IN in order, results LAC_ROLE_OUT.
LAC_API lac_status lac_program_forward(lac_context *ctx, const lac_spec *spec, const lac_meta *in, lac_program **out);

/// The vjp rule: `wants[i]` says whether the adjoint of input i is asked for, `out_bars[i]` whether that of output i
/// exists; NULL means all of them. Results are LAC_ROLE_IN_BAR, with var 0 where the adjoint is zero. Only what the
/// steps read becomes an input.
LAC_API lac_status lac_program_vjp(lac_context *ctx, const lac_spec *spec, const lac_meta *in, const int *wants,
                                   const int *out_bars, lac_program **out);

/// The jvp rule: `in_dots[i]` says whether the tangent of input i exists, NULL that all do. Results are
/// LAC_ROLE_OUT_DOT.
LAC_API lac_status lac_program_jvp(lac_context *ctx, const lac_spec *spec, const lac_meta *in, const int *in_dots,
                                   lac_program **out);

/// An application of a function (extend.h) without its inputs: what is frozen, in the order of its parameters.
typedef struct lac_function_spec {
  const lac_function *function;
  int objects, ints, reals;
  const void *const *object;
  const int64_t *i;
  const double *f;
} lac_function_spec;

/// What a function of operators writes for inputs of these metas. Inputs are LAC_ROLE_IN in order, those alone that are
/// read; results LAC_ROLE_OUT, of which one may be an input. Kept with the youngest of its objects, as other programs
/// are. LAC_ERR_ARG for a function that puts arrays of its own on the tape.
LAC_API lac_status lac_program_function(lac_context *ctx, const lac_function_spec *spec, int ins, const lac_meta *in,
                                        lac_program **out);

/// Let go of a program. Until then its caller holds it, and with it the patterns and the object of the spec.
LAC_API void lac_program_destroy(lac_program **program);

/// Counts, and what stands at a place: NULL, or a step without a spec, for a place that does not exist.
LAC_API int lac_program_inputs(const lac_program *program);
LAC_API int lac_program_results(const lac_program *program);
LAC_API int lac_program_steps(const lac_program *program);
LAC_API const lac_port *lac_program_input(const lac_program *program, int i);
LAC_API const lac_port *lac_program_result(const lac_program *program, int i);
LAC_API lac_step lac_program_step(const lac_program *program, int i);

/// Run all steps. `in` and `out` are the data pointers of the inputs and results on the context's device, contiguous,
/// in the order of lac_program_input and lac_program_result; a result whose var is 0 is skipped. Temporaries are freed
/// at their last use.
LAC_API lac_status lac_program_run(lac_context *ctx, const lac_program *program, const void *const *in,
                                   void *const *out);

#ifdef __cplusplus
}
#endif
#endif
