// SPDX-License-Identifier: Apache-2.0
/// @file tape_impl.h
/// The inside of tapes and programs. A program is a tape that is written and not run: the same vars, the same nodes.

#ifndef LACUNA_AUTODIFF_TAPE_IMPL_H
#define LACUNA_AUTODIFF_TAPE_IMPL_H

#include "autodiff/call.h"
#include "core/array_impl.h"
#include "core/object.h"
#include "lacuna/program.h"

/// Two modes that users see; the one in which rules emit; the one in which a segment is written, which is a user's: it
/// may put constants on the tape, and an absent input is an error there; and that of functions, which have no
/// constants.
typedef enum tape_mode { TAPE_RECORD, TAPE_RUN, TAPE_WRITE, TAPE_SEGMENT, TAPE_FUNCTION } tape_mode;

typedef struct tape_var {
  lac_meta meta;
  lac_array *array;     // NULL: released, or on a program, where only constants have one
  int64_t version;      // the array's when it came onto the tape
  int node;             // that made it, or -1
  int needed;           // by how many recorded calls' rules
  bool differentiable;  // a leaf, or made of one by recorded calls
  bool released;        // the user is done with it
} tape_var;

typedef struct tape_node {
  lac_spec spec;  // its patterns and object are held
  int ins, outs;
  int first;                 // its inputs, then its outputs, are tape->places[first], ...
  int order;                 // how often it may be differentiated; LAC_ANY_ORDER
  lac_solve_report *solved;  // owned: of the last solve that the call did; NULL: it did none
} tape_node;

struct lac_tape {
  lac_context *ctx;
  tape_mode mode;
  lac_status status;
  char *sentence;  // of that status; NULL: none, or no memory for it, and the context's has to do
  bool agreed;     // all ranks know of that status: they do not speak of it again
  int64_t base;    // of this tape's ids: a number of its own, changed by a clear, in the upper half
  int order;       // cap on the order of nodes being recorded: they are a derivative of something
  int widest;      // the most inputs or outputs that a node had
  int vars_count, vars_capacity;
  int nodes_count, nodes_capacity;
  int places_count, places_capacity;
  tape_var *vars;  // vars[0] is the absent var
  tape_node *nodes;
  int *places;       // in vars, of all nodes' operands
  tape_var *few;     // where the first vars stand, in memory of others (plain.h); NULL: all are the tape's own
  lac_array *given;  // borrowed: where the caller of a plain call wants the result; NULL: nowhere, or it is in use
};

/// Forget the error of a tape, if there is one.
void lac_tape_forgive(lac_tape *tape);

/// The places in vars of what a node reads and makes, until the tape grows.
static inline const int *lac_node_in(const lac_tape *tape, const tape_node *node) { return tape->places + node->first; }
static inline const int *lac_node_out(const lac_tape *tape, const tape_node *node) {
  return tape->places + node->first + node->ins;
}

/// What a kept program was written for (program_keep.c).
typedef struct lac_program_key lac_program_key;

struct lac_program {
  lac_object object;
  lac_tape *tape;  // in a mode that writes; without a context once the program is finished
  int inputs, results, inputs_capacity;
  lac_port *input, *result;
  int *last_use;         // of each var: the last node that reads it, or -1
  bool *is_result;       // of each var
  lac_meta *metas;       // of the operands of each node, as tape->places has them
  lac_program_key *key;  // NULL: it is not kept
};

/// The id of a var that a rule may not read, since its needs mask does not name it: a call that reads it fails.
enum { TAPE_UNNAMED = -1 };

/// The id of a result that a rule has not set yet. To whoever reads it, it is absent.
enum { TAPE_UNSET = -2 };

static inline bool lac_var_is_absent(lac_var var) { return var.id == 0 || var.id == TAPE_UNSET; }

/// Create a tape in any mode; the same in memory that is there, without vars of its own.
lac_status lac_tape_open(lac_context *ctx, tape_mode mode, lac_tape **out);
void lac_tape_init(lac_tape *tape, lac_context *ctx, tape_mode mode);

/// A tape whose calls are written and not run: it belongs to a program.
static inline bool lac_tape_is_written(const lac_tape *tape) { return tape->mode >= TAPE_WRITE; }

/// The place of a var, or 0 when it is absent or not of this tape.
static inline int lac_tape_place(const lac_tape *tape, lac_var var) {
  int64_t place = tape ? var.id - tape->base : 0;
  return place > 0 && place < tape->vars_count ? (int)place : 0;
}
static inline lac_var lac_tape_name(const lac_tape *tape, int place) {
  return (lac_var){place ? tape->base + place : 0};
}

/// Add a var; takes over `array` (may be NULL) on success.
lac_status lac_tape_push_var(lac_tape *tape, const lac_meta *meta, lac_array **array, int node, bool differentiable,
                             int *place);

/// Count the vars that a node's rules read, which are kept while it is recorded: `by` is +1 or -1.
void lac_tape_count_needs(lac_tape *tape, const tape_node *node, int by);

/// Room for `more` items behind the `count` of a list that grows.
lac_status lac_tape_grow(lac_context *ctx, void **items, size_t size, int count, int more, int *capacity);

/// Forget vars and nodes beyond these counts.
void lac_tape_truncate(lac_tape *tape, int vars, int nodes);

/// Fail when the array behind a var is gone, or was written to since it came onto the tape.
lac_status lac_tape_check_fresh(lac_context *ctx, const lac_tape *tape, int place, const char *what);

/// Write a program by hand: open it, declare its inputs in order, emit on its tape, say how many results it delivers,
/// set these, finish it. Finishing drops calls whose results are not read, and inputs that no call reads.
lac_status lac_program_open(lac_context *ctx, tape_mode mode, lac_program **out);
lac_status lac_program_declare(lac_program *program, lac_role role, int index, const lac_meta *meta, lac_var *out);
lac_status lac_program_deliver(lac_program *program, int results);
lac_status lac_program_finish(lac_program *program);

/// What a program is asked for: the vjp (result LAC_ROLE_IN_BAR), the jvp (LAC_ROLE_OUT_DOT) or the forward
/// (LAC_ROLE_OUT) of a call with these metas; or a function.
typedef struct lac_request {
  const lac_spec *spec;               // NULL for a function
  const lac_function_spec *function;  // NULL for an operator
  const lac_meta *in;
  int ins, outs;  // as the signature counts them; of a function the inputs that came, and no outputs
  lac_role result;
  const int *wants;  // vjp: the inputs whose adjoints are asked for; NULL: all
  const int *given;  // vjp, jvp: the adjoints or tangents that exist; NULL: all
} lac_request;

/// Write the program of a request: of an operator (program_rule.c), and of a function (program_function.c).
lac_status lac_program_write(lac_context *ctx, const lac_request *q, lac_program **out);
lac_status lac_program_write_function(lac_context *ctx, const lac_request *q, lac_program **out);

/// The program of a request, written when it is asked for the first time and kept. The caller holds it until
/// lac_object_release, and holds what the request names for as long as it uses the program.
lac_status lac_program_ask(lac_context *ctx, const lac_request *q, lac_program **out);

/// Take what a kept program borrows out of it, before it is freed.
void lac_program_key_destroy(lac_program *program);

/// Hold and let go of the objects that a kept program borrows: for holders that do not hold them anyway.
void lac_program_key_retain(const lac_program_key *key);
void lac_program_key_release(const lac_program_key *key);

/// For tests: drop the programs that are kept with an object, or by the context where `object` is NULL; how many were
/// written in this process; and how many bytes may be kept in each place, where 0 keeps nothing.
void lac_program_forget(lac_context *ctx, const void *object);
int64_t lac_program_count_written(void);
void lac_program_set_budget(int64_t bytes);

/// Run a program on arrays: inputs in the order of its ports. Where results[i] is given it is written to; else it is
/// made, or stays NULL where the result is absent, and one that is an input's or another result's array is that array,
/// held once more.
lac_status lac_program_execute(lac_context *ctx, const lac_program *program, const lac_array *const *inputs,
                               lac_array **results);

/// Run a program on a tape, call by call, so that it is recorded; or write it once more, on the tape of another
/// program.
lac_status lac_program_replay(lac_tape *tape, const lac_program *program, const lac_var *inputs, lac_var *results);

#endif
