// SPDX-License-Identifier: Apache-2.0
/// @file program.h
/// A program is a short list of calls, made from shapes alone: the forward of an operator, the calls that one of its
/// rules emits, or the calls that a function of operators writes.
///
/// Programs are for frameworks. A framework asks for a program by shapes, allocates the outputs itself, and either runs
/// the program in one call or reads its steps and applies each through its own operators, which then differentiate the
/// derivative.
///
/// A program is written once for its spec, its shapes, and the set of derivatives that exist and are wanted; a second
/// request returns the same program. It is kept with the youngest of the spec's patterns and object, ends with that
/// object, and keeps none of them alive; where the spec has neither, the context keeps it. Programs are immutable, and
/// run through any context, in any thread.
///
/// Ownership: the caller lets go of *out (lac_program_destroy).
/// Errors: LAC_ERR_ARG for NULL; LAC_ERR_SHAPE and LAC_ERR_DTYPE for inputs that do not fit; those of the operator.

#ifndef LACUNA_PROGRAM_H
#define LACUNA_PROGRAM_H

#include "lacuna/extend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_program lac_program;

/// The role of an input or result of a program in the operator's call.
typedef enum lac_role {
  LAC_ROLE_IN,       ///< an input
  LAC_ROLE_OUT,      ///< an output
  LAC_ROLE_OUT_BAR,  ///< the adjoint of an output
  LAC_ROLE_IN_DOT,   ///< the tangent of an input
  LAC_ROLE_IN_BAR,   ///< the adjoint of an input
  LAC_ROLE_OUT_DOT   ///< the tangent of an output
} lac_role;

/// An input or result of a program.
typedef struct lac_port {
  lac_role role;
  int index;      ///< which input or output of the operator
  int var;        ///< its name in the steps: 1 and up; 0: absent
  lac_meta meta;  ///< its shape and dtype
} lac_port;

/// One call of a program; spec and lists are borrowed from the program.
typedef struct lac_step {
  const lac_spec *spec;
  int ins, outs;
  const int *in, *out;  ///< the vars that it reads and makes
} lac_step;

/// Write the forward of an operator: one step. Inputs are LAC_ROLE_IN in order, results LAC_ROLE_OUT.
LAC_API lac_status lac_program_forward(lac_context *ctx, const lac_spec *spec, const lac_meta *in, lac_program **out);

/// Write the vjp rule of an operator. Results are LAC_ROLE_IN_BAR, with var 0 where the adjoint is zero. Arrays that no
/// step reads are not among the inputs.
/// Arguments: `wants[i]` says whether the adjoint of input i is wanted, `out_bars[i]` whether the adjoint of output i
/// exists; NULL stands for all.
/// Errors: LAC_ERR_ORDER for an operator without a vjp rule.
LAC_API lac_status lac_program_vjp(lac_context *ctx, const lac_spec *spec, const lac_meta *in, const int *wants,
                                   const int *out_bars, lac_program **out);

/// Write the jvp rule of an operator. Results are LAC_ROLE_OUT_DOT, with var 0 where the tangent is zero.
/// Arguments: `in_dots[i]` says whether the tangent of input i exists; NULL stands for all.
/// Errors: LAC_ERR_ORDER for an operator without a jvp rule.
LAC_API lac_status lac_program_jvp(lac_context *ctx, const lac_spec *spec, const lac_meta *in, const int *in_dots,
                                   lac_program **out);

/// The frozen part of a call of a function (extend.h): its objects, integers and numbers, in the order of its
/// parameters.
typedef struct lac_function_spec {
  const lac_function *function;
  int objects, ints, reals;
  const void *const *object;
  const int64_t *i;
  const double *f;
} lac_function_spec;

/// Write a function of operators for inputs of these metas. Inputs are LAC_ROLE_IN in order, without those that no step
/// reads; results are LAC_ROLE_OUT, and a result may be an input. The program is kept with the youngest of its objects.
/// Errors: LAC_ERR_ARG for a function that puts arrays of its own on the tape; LAC_ERR_ABSENT for a missing input.
LAC_API lac_status lac_program_function(lac_context *ctx, const lac_function_spec *spec, int ins, const lac_meta *in,
                                        lac_program **out);

/// Let go of a program; accepts NULL and leaves NULL. Until then its caller holds the program, and with it the patterns
/// and the object of the spec.
LAC_API void lac_program_destroy(lac_program **program);

/// The counts of inputs, results and steps, and each of them by its place, borrowed. Of NULL: 0. Outside the list:
/// NULL, or a step without a spec.
LAC_API int lac_program_inputs(const lac_program *program);
LAC_API int lac_program_results(const lac_program *program);
LAC_API int lac_program_steps(const lac_program *program);
LAC_API const lac_port *lac_program_input(const lac_program *program, int i);
LAC_API const lac_port *lac_program_result(const lac_program *program, int i);
LAC_API lac_step lac_program_step(const lac_program *program, int i);

/// Run all steps of a program.
/// Arguments: `in` and `out` are the data pointers of the inputs and results on the context's device, contiguous, in
/// the order of lac_program_input and lac_program_result; a result whose var is 0 is skipped.
/// Cost: temporaries are freed at their last use. Fresh pages of large results on the host become huge ones where the
/// system grants that.
/// Errors: LAC_ERR_ARG for a NULL pointer to an array with numbers; those of the operators.
LAC_API lac_status lac_program_run(lac_context *ctx, const lac_program *program, const void *const *in,
                                   void *const *out);

#ifdef __cplusplus
}
#endif
#endif
