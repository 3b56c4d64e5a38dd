// SPDX-License-Identifier: Apache-2.0
/// @file derivative.h
/// What reverse and forward mode have in common: a table of adjoints or tangents, one for each var, and the run of one rule.

#ifndef LACUNA_AUTODIFF_DERIVATIVE_H
#define LACUNA_AUTODIFF_DERIVATIVE_H

#include "autodiff/tape_impl.h"

/// The adjoint or tangent of one var: an array when derivatives are plain, a var when they are recorded. Zeroed: absent.
typedef struct derivative {
  lac_array *array;
  lac_var var;
} derivative;

/// The pass over the tape of one lac_tape_vjp or lac_tape_jvp.
typedef struct pass {
  lac_tape *tape;
  lac_graph_mode mode;
  int vars, nodes;    // what was on the tape when the pass began
  bool had_failed;    // the tape itself, before
  derivative *table;  // of each var
  bool *on_path;      // whether a var lies between the inputs and the outputs asked for
} pass;

lac_status lac_pass_open(lac_tape *tape, lac_graph_mode mode, const char *name, pass *out);

/// Free the pass; returns what all ranks agree on. When it failed, what it put on the tape is taken off again.
lac_status lac_pass_close(pass *p, lac_status status);

static inline bool lac_pass_has(const pass *p, int place) { return p->table[place].array || p->table[place].var.id; }

/// Check a var handed in by the user, and find its place. The second is for vars that are differentiated by.
lac_status lac_pass_find(pass *p, lac_var var, const char *name, int i, int *place);
lac_status lac_pass_find_input(pass *p, lac_var var, const char *name, int i, int *place);

/// Start from a given seed or tangent, whose shape must be that of `place`. Seeds of one var add up.
lac_status lac_pass_seed(pass *p, int place, lac_var value, const char *name, int i);

/// Run a rule of a node and add its results to the table, at the places in `to`; 0 drops one.
lac_status lac_pass_rule(pass *p, int node, lac_role result, uint32_t wants, uint32_t given, const int *to);

/// Hand a result out as a var of the tape; absent when it is zero.
lac_status lac_pass_take(pass *p, int place, lac_var *out);

/// Forget an adjoint that nobody reads any more.
void lac_pass_drop(pass *p, int place);

#endif
