// SPDX-License-Identifier: Apache-2.0
/// @file derivative.h
/// What reverse and forward mode have in common: a table of adjoints or tangents, one for each var, and the run of one
/// rule.

#ifndef LACUNA_AUTODIFF_DERIVATIVE_H
#define LACUNA_AUTODIFF_DERIVATIVE_H

#include "autodiff/tape_impl.h"

enum { SWEEP_BYTES = 1536 };  // enough for a dozen vars

/// The adjoint or tangent of one var: an array when derivatives are plain, a var when they are recorded. Zeroed:
/// absent.
typedef struct derivative {
  lac_array *array;
  lac_var var;
} derivative;

/// The sweep over the tape of one lac_tape_vjp or lac_tape_jvp. All its lists lie in one block, on the stack where it
/// is small.
typedef struct sweep {
  lac_tape *tape;
  lac_graph_mode mode;
  int vars, nodes;    // what was on the tape when the sweep began
  bool had_failed;    // the tape itself, before
  derivative *table;  // of each var
  bool *on_path;      // whether a var lies between the inputs and the outputs asked for
  bool *is_end;       // whether a var is one of those that the user differentiates by
  lac_var *answers;   // what is handed out, and where it stands
  int *places;

  // Room for one rule, as wide as the widest call: what it is asked for, and what its program takes and gives.
  int *wants, *given;
  lac_meta *metas;
  const lac_array **arrays_in;
  lac_array **arrays_out;
  lac_var *vars_in, *vars_out;

  void *heap;  // the block, where it is large
  _Alignas(16) char few[SWEEP_BYTES];
} sweep;

/// `answers` is how many derivatives will be handed out.
lac_status lac_sweep_open(lac_tape *tape, lac_graph_mode mode, const char *name, int answers, sweep *out);

/// Hand the answers to `out`, absent where the sweep failed, and free it; returns what all ranks agree on. When it
/// failed, what it put on the tape is taken off again.
lac_status lac_sweep_close(sweep *s, lac_status status, int answers, lac_var *out);

static inline bool lac_sweep_has(const sweep *s, int place) { return s->table[place].array || s->table[place].var.id; }

/// Check a var handed in by the user, and find its place. The second is for vars that are differentiated by.
lac_status lac_sweep_find(sweep *s, lac_var var, const char *name, int i, int *place);
lac_status lac_sweep_find_end(sweep *s, lac_var var, const char *name, int i, int *place);

/// Start from a given seed or tangent, whose shape must be that of `place`. Seeds of one var add up.
lac_status lac_sweep_seed(sweep *s, int place, lac_var value, const char *name, int i);

/// Run the rule of a node for s->wants and s->given, and add its results to the table. The tangent of an end is as it
/// was given.
lac_status lac_sweep_rule(sweep *s, int node, lac_role result);

/// Find the answer that stands at a place, as a var of the tape; absent when it is zero.
lac_status lac_sweep_take(sweep *s, int place, lac_var *out);

/// Forget an adjoint that is not read any more.
void lac_sweep_drop(sweep *s, int place);

#endif
