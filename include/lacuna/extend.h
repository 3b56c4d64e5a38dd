// SPDX-License-Identifier: Apache-2.0
/// @file extend.h
/// For those who add operators: the contract of an operator, its call and its rules; and that of a function.
///
/// An operator knows its own derivatives, and a rule does not compute: it emits calls of operators, with the same
/// functions that users call (ops.h), onto the tape it is given. Rules branch on shapes, patterns, attributes and
/// `wants`, never on values.

#ifndef LACUNA_EXTEND_H
#define LACUNA_EXTEND_H

#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAC_ANY_ORDER = -1 };

/// Bits of lac_op.flags.
typedef enum lac_op_flag {
  LAC_OP_SUMS_BATCH = 1,    ///< the forward sums over batch dimensions that its one output lacks (lac_attrs.fit)
  LAC_OP_COMMUNICATES = 2,  ///< ranks talk to each other inside the forward: they agree on the status first
  LAC_OP_POINTWISE = 4,     ///< one input, one output, linear, number by number: sums may be moved through it,
                            ///< and its output may be the memory of its input
  LAC_OP_TAKES_BLOCKS = 8,  ///< patterns[0] may have blocks: the letter z, its slots, then stands for (nnz, br, bc)
  LAC_OP_WHOLE = 16,        ///< its operands are whole: an array or pattern that is spread over ranks is refused
  LAC_OP_CARRIES_AXES = 32  ///< behind the letters stand as many axes as attribute i[1] says, the same in all operands
} lac_op_flag;

/// One application of an operator as `infer` and `forward` see it. Inputs have the shapes that they were given with:
/// where their batches differ, `forward` broadcasts (lac_call_offset).
typedef struct lac_call {
  lac_context *ctx;
  const lac_op *op;
  const lac_pattern *const *patterns;
  const void *object;
  const lac_attrs *attrs;
  int ins, outs;  ///< as many as the signature names; so long are the lists below
  lac_meta *in_meta, *out_meta;
  const lac_array **in;  ///< of NULLs while only shapes are inferred
  lac_array **out;
  struct lac_symbols *symbols;  ///< bound sizes, for lac_call_bind and lac_call_match
} lac_call;

/// One application of an operator as its rules see it. A vjp may use r->in[i] and r->out[i] only where vjp_needs has
/// their bits, a jvp where jvp_needs has: the tape keeps no other values, and a call with another var fails. Adjoints
/// and tangents that nobody has are absent: emitting with an absent var costs nothing and yields absent. A vjp sets
/// in_bar[i] for each i with wants[i], a jvp every out_dot: what is left unset is an error, and what is zero is set to
/// the absent var, (lac_var){0} (lac_rule_nothing). Where an input was broadcast, its adjoint is summed over that batch
/// afterwards. A rule runs once for its spec, shapes and wants, and what it emits is kept with the youngest pattern or
/// object of the spec: an object that a rule makes for its calls must not hold those of the spec, or neither would ever
/// go.
typedef struct lac_rule {
  lac_tape *tape;  ///< where emitted calls go
  const lac_op *op;
  const lac_pattern *const *patterns;
  const void *object;
  const lac_attrs *attrs;
  int ins, outs;                       ///< as many as the signature names; so long are the lists below
  const lac_meta *in_meta, *out_meta;  ///< of all inputs and outputs, whatever is absent
  lac_var *in, *out;
  int *wants;                 ///< vjp: which in_bar are asked for
  lac_var *out_bar, *in_bar;  ///< vjp: given, to be set
  lac_var *in_dot, *out_dot;  ///< jvp: given, to be set
} lac_rule;

/// Bits of needs masks: input i, output i. The 32nd shares its bit with all that come after it.
#define LAC_NEEDS_IN(i) (UINT64_C(1) << ((i) < 31 ? (i) : 31))
#define LAC_NEEDS_OUT(i) (LAC_NEEDS_IN(i) << 32)

/// The table of an operator. It and its texts are constant, and live as long as anything that was recorded or written
/// with it.
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

/// Say what a symbol of the signature stands for, before lac_call_match, where lac_op.binds has no words for it. The
/// axes of blocks (LAC_OP_TAKES_BLOCKS) are bound already. `partition` is NULL but for distributed patterns.
LAC_API lac_status lac_call_bind(lac_call *call, char symbol, int64_t size, const lac_partition *partition);

/// Match the inputs' shapes, dtypes and partitions with the signature and fill out_meta; errors name input and
/// dimension.
LAC_API lac_status lac_call_match(lac_call *call);

/// Broadcasting, for a forward: how many items the batch of output 0 has, and where the numbers of item i begin in an
/// operand (inputs first, then outputs), as an offset into its memory. An item is what the signature says, "(n,k)": n k
/// numbers in a row; an operand that is broadcast gives the same one several times. -1 for an operand that
/// does not exist.
LAC_API int64_t lac_call_items(const lac_call *call);
LAC_API int64_t lac_call_offset(const lac_call *call, int operand, int64_t i);

/// Fail with a sentence, from inside a user's infer or forward: returns `status`. The operator's name and a colon are
/// put before it.
LAC_API lac_status lac_call_fail(lac_call *call, lac_status status, const char *sentence);

/// Set all results of a rule that are not set yet to the absent var: they are zero. The whole vjp and jvp of an
/// operator that is constant wherever it is differentiable, or the first line of a rule that has little to say.
LAC_API void lac_rule_nothing(lac_rule *rule);

/// A user's own data for an operator's `object`: calls and tapes hold it, and `destroy` (may be NULL) runs with the
/// last holder.
typedef struct lac_userdata lac_userdata;
LAC_API lac_status lac_userdata_create(lac_context *ctx, void *data, void (*destroy)(void *data), lac_userdata **out);
LAC_API void lac_userdata_destroy(lac_userdata **userdata);

/// The data behind an `object` that is a userdata; NULL for any other.
LAC_API void *lac_userdata_get(const void *object);

/// The operators of the library: by name (NULL if unknown), and all of them (0 <= i < lac_op_count()).
LAC_API const lac_op *lac_op_find(const char *name);
LAC_API int lac_op_count(void);
LAC_API const lac_op *lac_op_at(int i);

// -- functions -------------------------------------------------------------------------------------------------------

enum { LAC_FUNCTION_OUTS = 4 };  ///< no function gives more

/// One application of a function as `write` sees it: what is frozen, in the order in which `parameters` names it, and
/// vars. It gives one result unless it says otherwise in `outs`.
typedef struct lac_function_call {
  lac_tape *tape;
  int objects, ints, reals, ins, outs;
  const void *const *object;  ///< patterns, maps, solvers, factors, formats
  const int64_t *i;
  const double *f;
  const lac_var *in;  ///< as many as came: those that may be missing stand last
  lac_var *out;       ///< room for LAC_FUNCTION_OUTS
} lac_function_call;

/// A function composed of operators. `write` calls the typed function of the same name (ops.h), which emits: on a tape
/// that runs it computes, on one that writes it becomes a program (lac_program_function), which any front end can run
/// or replay. Like a rule it branches on shapes and never on values, and puts no array on the tape.
typedef struct lac_function {
  const char *name;
  /// What a user gives, in order: "pa: pattern, a: values, x: columns, op: form = N". Kinds and what they stand for:
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

/// The functions of the library: by name (NULL if unknown), and all of them (0 <= i < lac_function_count()).
LAC_API const lac_function *lac_function_find(const char *name);
LAC_API int lac_function_count(void);
LAC_API const lac_function *lac_function_at(int i);

/// How many inputs and outputs a signature names; 0 for one that cannot be read.
LAC_API int lac_op_inputs(const lac_op *op);
LAC_API int lac_op_outputs(const lac_op *op);

/// How many core dimensions an operand has (inputs first, then outputs): letters of the signature, two more for z
/// where the pattern has blocks, and those that are carried along (LAC_OP_CARRIES_AXES). What stands before them is batch.
/// -1 for an operand that does not exist.
LAC_API int lac_spec_core(const lac_spec *spec, int operand);

#ifdef __cplusplus
}
#endif
#endif
