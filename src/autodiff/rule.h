// SPDX-License-Identifier: Apache-2.0
/// @file rule.h
/// What an operator's room needs: needs masks, forms, and one-line emission.

#ifndef LACUNA_AUTODIFF_RULE_H
#define LACUNA_AUTODIFF_RULE_H

#include "autodiff/call.h"
#include "kernels/kernels.h"
#include "lacuna/extend.h"
#include "lacuna/ops.h"

/// As rooms write them.
#define NEEDS_IN(i) LAC_NEEDS_IN(i)
#define NEEDS_OUT(i) LAC_NEEDS_OUT(i)

/// The form of a call or rule; by convention the first attribute of every operator that has one.
#define FORM(call_or_rule) ((lac_form)(call_or_rule)->attrs->i[0])

/// The kernels of a call's context.
#define KERNELS(call) ((call)->ctx->kernels)

/// op(A)^H as a form: N <-> H, T <-> C.
static inline lac_form flip(lac_form form) { return (lac_form)(form ^ LAC_ADJOINT); }

/// Let the tape fail from outside a call; returns the absent var.
lac_var lac_tape_fail(lac_tape *tape, lac_status status);

/// Begin a function of several results: all are absent until they are made. False where the list is NULL: the tape
/// fails then, and the function returns.
bool lac_tape_results(lac_tape *tape, const char *function, int count, lac_var *out);

/// Begin a function that looks at its inputs before its first call. False where one of them is absent or the tape has
/// failed, and the function returns absent vars: in a rule its term is zero, elsewhere the tape fails.
bool lac_tape_has(lac_tape *tape, const char *function, int count, const lac_var *in);

/// Refuse what lac_tape_call would refuse before it runs: for functions that do costly work ahead of their call.
lac_status lac_tape_judge(lac_tape *tape, const lac_spec *spec, const lac_var *in);

enum { LAC_EMIT_OUTS = 4 };  // no operator of the library's table has more outputs (tests/harness/test_table.c)

/// Apply an operator of the library's table and take its first output.
static inline lac_var lac_emit(lac_tape *tape, const lac_spec *spec, const lac_var *in) {
  lac_var out[LAC_EMIT_OUTS] = {{0}};
  (void)lac_tape_call(tape, spec, in, out);  // the status sticks to the tape
  return out[0];
}

/// The adjoint of the values in y = op(A) x: a_bar_z = <y_bar[row z], conj x[col z]> for op = N, alike for the others.
static inline lac_var lac_emit_matrix_bar(lac_tape *tape, const lac_pattern *p, lac_form form, lac_var y_bar,
                                          lac_var x) {
  lac_var s = lac_form_transposes(form) ? lac_sddmm(tape, p, x, y_bar) : lac_sddmm(tape, p, y_bar, x);
  return form == LAC_TRANSPOSED || form == LAC_CONJUGATED ? lac_conj(tape, s) : s;
}

/// Fail for an argument that is NULL, LAC_ERR_ARG with the ways out: `what` it is, and what to `give`.
lac_var lac_tape_lacks(lac_tape *tape, const char *function, const char *what, const char *give);

/// The same for the shape of `ndim` dimensions.
lac_var lac_tape_lacks_shape(lac_tape *tape, const char *function, int ndim);

/// lac_remap, of which the identity costs nothing.
lac_var lac_emit_along(lac_tape *tape, const lac_map *map, lac_var x, lac_form form);

/// The numbers of x with axes of `count` sizes in place of its last `drop` ones. An x that is not there, or has fewer
/// axes, comes back as it is: the call that takes it says what is wrong.
lac_var lac_emit_axes(lac_tape *tape, lac_var x, int drop, int count, const int64_t *sizes);

/// x with one more axis of size 1 at its end.
static inline lac_var lac_emit_column(lac_tape *tape, lac_var x) {
  return lac_emit_axes(tape, x, 0, 1, (int64_t[]){1});
}

/// Refuse values that are not one number for each slot of a pattern, matrix i of the function `name`: for functions
/// whose parts would not notice.
lac_status lac_tape_check_values(lac_tape *tape, const char *name, int i, const lac_pattern *p, lac_var values);

/// Refuse a call without its pattern.
lac_status lac_call_needs_pattern(lac_call *call, int i);

/// Refuse what is no form.
lac_status lac_call_check_form(lac_call *call, int64_t form);

/// Refuse complex inputs: for operators that need an order, or a branch that complex numbers do not have.
lac_status lac_call_check_ordered(lac_call *call);

/// Refuse a call whose kernel this backend goes without: `has` says whether the slot is filled.
lac_status lac_call_needs_kernel(lac_call *call, bool has);

/// Match, and give output 0 the reals of the inputs' dtype.
lac_status lac_call_match_real(lac_call *call);

/// lac_call_check_ordered, then match.
lac_status lac_call_match_ordered(lac_call *call);

/// out 0 = op(in 0), number by number.
lac_status lac_call_unary(lac_call *call, lac_unary op);

#endif
