// SPDX-License-Identifier: Apache-2.0
/// @file extend.h
/// For authors of operators: the contract of an operator, of its call and of its rules; and the contract of a function.
///
/// An operator has rules for its own derivatives. A rule does not compute: it emits calls of operators onto the tape
/// that it is given, with the functions that users call (ops.h). Rules branch on shapes, patterns, attributes and
/// `wants`, never on values.

#ifndef LACUNA_EXTEND_H
#define LACUNA_EXTEND_H

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAC_ANY_ORDER = -1 };  ///< lac_op.order: any number of derivatives

/// Bits of lac_op.flags.
typedef enum lac_op_flag {
  LAC_OP_SUMS_BATCH = 1,    ///< the forward sums over batch dimensions that its one output lacks (lac_attrs.fit)
  LAC_OP_COMMUNICATES = 2,  ///< ranks talk to each other inside the forward: they agree on the status first
  LAC_OP_POINTWISE = 4,     ///< one input, one output, linear, number by number: sums may be moved through it,
                            ///< and its output may be the memory of its input
  LAC_OP_TAKES_BLOCKS = 8,  ///< patterns[0] may have blocks: the letter z, its slots, then stands for (nnz, br, bc)
  LAC_OP_WHOLE = 16,        ///< its operands are whole: an array or pattern that is spread over ranks is refused
  LAC_OP_CARRIES_AXES = 32  ///< attribute i[1] counts further axes behind the letters, the same in all operands
} lac_op_flag;

/// One application of an operator as `infer` and `forward` see it. Inputs keep the shapes that the caller gave: where
/// their batches differ, `forward` broadcasts (lac_call_offset).
/// Ownership: everything is borrowed for the time of the call.
typedef struct lac_call {
  lac_context *ctx;
  const lac_op *op;
  const lac_pattern *const *patterns;
  const void *object;
  const lac_attrs *attrs;
  int ins, outs;  ///< as many as the signature names: the lengths of the lists below
  lac_meta *in_meta, *out_meta;
  const lac_array **in;  ///< of NULLs in `infer`, while a program is written
  lac_array **out;
  struct lac_symbols *symbols;  ///< bound sizes, for lac_call_bind and lac_call_match
} lac_call;

/// One application of an operator as its rules see it.
/// Inputs: a vjp may use r->in[i] and r->out[i] only where vjp_needs has their bits, a jvp where jvp_needs has them:
/// the tape keeps no other values, and a call with another var fails. Adjoints and tangents that are zero are absent; a
/// call with an absent var costs nothing, and its results are absent.
/// Results: a vjp sets in_bar[i] for each i with wants[i], a jvp sets every out_dot. A result that is zero is set to
/// the absent var, (lac_var){0} (lac_rule_nothing); a result that is not set is an error. Where an input was broadcast,
/// its adjoint is summed over that batch afterwards.
/// Ownership: a rule runs once for its spec, shapes and wants, and the calls that it emits are kept with the youngest
/// pattern or object of the spec. An object that a rule makes for its calls must not hold the spec's patterns or
/// object: the two would keep each other alive.
typedef struct lac_rule {
  lac_tape *tape;  ///< where emitted calls go
  const lac_op *op;
  const lac_pattern *const *patterns;
  const void *object;
  const lac_attrs *attrs;
  int ins, outs;                       ///< as many as the signature names: the lengths of the lists below
  const lac_meta *in_meta, *out_meta;  ///< of all inputs and outputs, absent ones too
  lac_var *in, *out;
  int *wants;                 ///< vjp: which in_bar are wanted
  lac_var *out_bar, *in_bar;  ///< vjp: given, to be set
  lac_var *in_dot, *out_dot;  ///< jvp: given, to be set
} lac_rule;

/// Bits of needs masks: input i, output i. The 32nd operand and all that follow it share one bit.
#define LAC_NEEDS_IN(i) (UINT64_C(1) << ((i) < 31 ? (i) : 31))
#define LAC_NEEDS_OUT(i) (LAC_NEEDS_IN(i) << 32)

/// The table of an operator. It and its texts are constant, and live as long as anything that was recorded or written
/// with it. Unlike options it has no size: tables are compiled with the headers of the library that they run with.
struct lac_op {
  const char *name;
  /// "(z),(n,k)->(m,k)": core shapes. Dimensions before them are batch: aligned at the right, and equal or 1; outputs
  /// have the joint one.
  const char *signature;
  /// Which letters are sizes of what is frozen, and which attributes are forms; others are refused: "pattern 0: z,
  /// op(m,n)". Clauses, with "; " between them:
  ///   pattern 0: z, op(m,n)      patterns[0] has z slots, and op(A) m rows and n columns; "(m,n)" are those of A
  ///   factor: z, op(n,n)         the object is a solver or a factor: the same of its matrix, which is square here
  ///   format: s, (m,n)           the object is a format: numbers of its storage, rows and columns
  ///   map: p -> q                the object is a map from p entries to q
  ///   bands 1: w                 attrs.i[1], i[2] are how far a band reaches below and above the diagonal: w diagonals
  ///   op, op1                    attrs.i[0], i[1] is a lac_form; so it is where a clause above says op
  /// Axes that are spread over ranks have the partitions of their pattern or map. NULL: inputs show all letters, or
  /// infer binds the rest.
  const char *binds;
  /// What a user gives, in order, as front ends take it: see lac_function.parameters. Integers go to attrs.i and
  /// numbers to attrs.f in the order in which they are named, or from the place that follows an @: "op: form @0 = N".
  /// NULL for an operator that only lac_tape_call applies.
  const char *parameters;
  const char *about;  ///< one sentence, may be NULL
  /// Which inputs and outputs the vjp reads, LAC_NEEDS_IN(i) | LAC_NEEDS_OUT(j); the tape keeps nothing else.
  uint64_t vjp_needs;
  uint64_t jvp_needs;
  int order;       ///< how often it may be differentiated; LAC_ANY_ORDER, or 0 for an operator without rules
  uint32_t flags;  ///< lac_op_flag
  lac_status (*infer)(lac_call *call);    ///< after `binds`: refuses what does not fit; NULL: lac_call_match
  lac_status (*forward)(lac_call *call);  ///< runs kernels
  void (*vjp)(lac_rule *rule);
  void (*jvp)(lac_rule *rule);
};

/// Bind a letter of the signature to a size, before lac_call_match, where lac_op.binds cannot express it. The axes of
/// blocks (LAC_OP_TAKES_BLOCKS) are bound already. `partition` is NULL except for distributed patterns.
/// Errors: LAC_ERR_SHAPE where the letter is bound to another size.
LAC_API lac_status lac_call_bind(lac_call *call, char symbol, int64_t size, const lac_partition *partition);

/// Match the inputs' shapes, dtypes and partitions with the signature, and fill out_meta.
/// Errors: LAC_ERR_SHAPE and LAC_ERR_DTYPE name the input and the dimension.
LAC_API lac_status lac_call_match(lac_call *call);

/// Broadcast, in a forward: the count of items in the batch of output 0, and the place where the numbers of item i
/// begin in the memory of an operand (inputs first, then outputs), in numbers. For "(n,k)" an item is n k consecutive
/// numbers; an operand that is broadcast gives the same place for several items. -1 for an operand that does not exist.
LAC_API int64_t lac_call_items(const lac_call *call);
LAC_API int64_t lac_call_offset(const lac_call *call, int operand, int64_t i);

/// Fail with a sentence, in a user's infer or forward; returns `status`. The operator's name and a colon are put before
/// the sentence.
LAC_API lac_status lac_call_fail(lac_call *call, lac_status status, const char *sentence);

/// Set all results of a rule that are not set yet to the absent var: they are zero. This call is the whole vjp and jvp
/// of an operator that is constant wherever it is differentiable.
LAC_API void lac_rule_nothing(lac_rule *rule);

/// A user's own data as the `object` of an operator.
typedef struct lac_userdata lac_userdata;

/// Make a userdata. `destroy` (may be NULL) is called with `data` when the last holder goes.
/// Ownership: the caller destroys *out; calls and tapes hold it as long as they need it.
/// Errors: LAC_ERR_ARG for a NULL `out`; LAC_ERR_MEMORY. `destroy` is not called then.
LAC_API lac_status lac_userdata_create(lac_context *ctx, void *data, void (*destroy)(void *data), lac_userdata **out);

/// Remove the caller's handle; accepts NULL and leaves NULL.
LAC_API void lac_userdata_destroy(lac_userdata **userdata);

/// The data behind an `object` that is a userdata, borrowed; NULL for other objects.
LAC_API void *lac_userdata_get(const void *object);

/// The operators of the library: by name, their count, and by place, 0 <= i < lac_op_count(). NULL for an unknown name
/// or place.
LAC_API const lac_op *lac_op_find(const char *name);
LAC_API int lac_op_count(void);
LAC_API const lac_op *lac_op_at(int i);

// -- functions -------------------------------------------------------------------------------------------------------

enum { LAC_FUNCTION_OUTS = 4 };  ///< the most results that a function may have

/// One application of a function as `write` sees it: objects, integers and numbers in the order of `parameters`, and
/// vars. The function has one result, unless `write` sets `outs`.
typedef struct lac_function_call {
  lac_tape *tape;
  int objects, ints, reals, ins, outs;
  const void *const *object;  ///< patterns, maps, solvers, factors, formats
  const int64_t *i;
  const double *f;
  const lac_var *in;  ///< the inputs that were given: optional ones are last
  lac_var *out;       ///< room for LAC_FUNCTION_OUTS
} lac_function_call;

/// A function composed of operators. `write` calls the typed function of the same name (ops.h), which emits calls: on a
/// tape that runs they compute, on a tape that writes they become a program (lac_program_function), which any front end
/// can run or replay. Like a rule, a function branches on shapes and never on values, and puts no array on the tape.
typedef struct lac_function {
  const char *name;
  /// The user's arguments, in order: "pa: pattern, a: values, x: columns, op: form = N". The kinds of arguments:
  ///   pattern, map, format       such an object
  ///   solver                     a solver, or a pattern, which stands for its solver with default options
  ///   factor                     a factor, or what `solver` takes
  ///   array, values              an array; values are one number for each slot of the object before them
  ///   columns                    (n, k), or a vector, which is (n, 1): then the results lose their last axis
  ///   column                     (n, k), or a vector, which is (n, 1)
  ///   number                     an array, or a number that stands for one in the dtype of the others
  ///   condition                  an array, or truth values, in the dtype of the others
  ///   form                       a lac_form
  ///   bands                      how far a band reaches below and above the diagonal: two integers
  ///   integer, real, flag        an integer, a number, 0 or 1
  ///   axis                       one of the first array's axes, counted from the end, 0 is the last
  ///   axes                       a mask of them; "all" are all
  ///   word|word|...              the number of the word, from 0
  ///   dtype, shape, size         attrs.like, of operators: its dtype, its shape, the next size of its shape
  /// "name: kind[]" is a list, "= x" the default, "= none" one that may be missing. Of an array whose default is an
  /// integer, that many are made: "probes: columns = 20" takes an array or the number, which is then an integer.
  const char *parameters;
  const char *about;  ///< one sentence
  void (*write)(lac_function_call *call);
} lac_function;

/// The functions of the library: by name, their count, and by place, 0 <= i < lac_function_count(). NULL for an unknown
/// name or place.
LAC_API const lac_function *lac_function_find(const char *name);
LAC_API int lac_function_count(void);
LAC_API const lac_function *lac_function_at(int i);

/// The counts of inputs and outputs that an operator's signature names; 0 for NULL and a signature that cannot be read.
LAC_API int lac_op_inputs(const lac_op *op);
LAC_API int lac_op_outputs(const lac_op *op);

/// The count of core axes of an operand (inputs first, then outputs): the letters of the signature, two more for z
/// where the pattern has blocks, and the axes of LAC_OP_CARRIES_AXES. All axes before them are batch. -1 for an operand
/// that does not exist.
LAC_API int lac_spec_core(const lac_spec *spec, int operand);

#ifdef __cplusplus
}
#endif
#endif
