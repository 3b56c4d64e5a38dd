// SPDX-License-Identifier: Apache-2.0
/// @file op_case_impl.h
/// The inside of the battery: a run, a point at which it differentiates, a stage on which one tape plays.

#ifndef LACUNA_TESTS_OP_CASE_IMPL_H
#define LACUNA_TESTS_OP_CASE_IMPL_H

#include <stdbool.h>

#include "support/op_case.h"

/// Where and in which directions. All of it holds in every dtype exactly.
typedef struct op_point {
  ref in[OP_MAX_IN], x_dot[OP_MAX_IN], z_bar[OP_MAX_IN];  // z_bar: the adjoint of a gradient
  ref y_bar[OP_MAX_OUT], y_bar_dot[OP_MAX_OUT];
} op_point;

/// What the dense formula says at a point.
typedef struct op_oracle {
  ref y[OP_MAX_OUT];
  ref y_dot[OP_MAX_IN][OP_MAX_OUT];  // J_i x_dot_i
  ref in_bar[OP_MAX_IN];
} op_oracle;

typedef struct op_run {
  const op_case *c;
  lac_context *ctx;
  op_setup setup;
  int ins, outs;
  bool is_complex;
  op_point point;
  op_oracle oracle;
  const lac_op *op;   // the one that the case names
  bool is_called;     // by `apply`, in some dtype
  bool is_batched;    // called with more dimensions than its signature has, at this dtype and width
  bool is_stopped;    // by an error, at this dtype
  FILE *out;          // what is said; NULL is silence
  uint32_t sections;  // those to run
  uint32_t failed;    // those that failed
  int checks;
} op_run;

/// Whether the backend is a device, or stands in for one: every look at a number there waits.
bool op_is_on_device(const op_run *r);

static inline uint32_t op_all_inputs(const op_run *r) { return (1u << r->ins) - 1; }

/// One number that is expected to hold; says so when it does not.
void op_expect(op_run *r, op_section section, bool holds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/// Two refs agree to `tolerance` times the largest number of `want`.
void op_expect_close(op_run *r, op_section section, const ref *got, const ref *want, double tolerance,
                     const char *format, ...) __attribute__((format(printf, 6, 7)));
void op_expect_bits(op_run *r, op_section section, const ref *got, const ref *want, const char *what, int i);

/// A forward or a derivative succeeded. If not, the case stops at this dtype: what follows would only say the same
/// again.
bool op_succeeded(op_run *r, op_section section, lac_status status, const char *what);

/// The rounding unit of the run's dtype, times `factor`, times the case's slack.
double op_tolerance(const op_run *r, double factor);
/// The step of the four-point difference and what it leaves, relative.
double op_step(const op_run *r);
double op_step_tolerance(const op_run *r);

/// The meta of an output for inputs of `dtype`.
lac_meta op_result(const op_case *c, int output, lac_dtype dtype);

lac_status op_setup_open(op_run *r, op_setup *setup);
void op_setup_close(op_setup *setup);
void op_point_draw(op_run *r, op_point *p);
void op_oracle_ask(op_run *r);

/// A tape with the inputs on it and the operator applied. Errors stick in `status`; closing leaves nothing behind.
typedef struct op_stage {
  const op_run *run;
  op_setup setup;  // patterns are the caller's, the object is the stage's
  lac_context *ctx;
  lac_status status;
  lac_tape *tape;
  lac_array *in[OP_MAX_IN];
  lac_var x[OP_MAX_IN], y[OP_MAX_OUT];
} op_stage;

void op_stage_open(const op_run *r, const op_setup *setup, const op_point *p, uint32_t leaves, op_stage *s);
void op_stage_close(op_stage *s);
lac_var op_stage_put(op_stage *s, const ref *x, bool is_leaf);
/// The value of a var; zeros like `like` when it is absent.
ref op_stage_get(op_stage *s, lac_var var, const ref *like);

/// First derivatives at a point: leaves in `wants`. Parts that are not asked for are not computed.
typedef struct op_first {
  lac_status status;
  ref y[OP_MAX_OUT], in_bar[OP_MAX_IN], y_dot[OP_MAX_OUT];
  uint32_t absent_bar, absent_dot;  // those that came back absent, and read as zeros
} op_first;

enum { ASK_Y = 1, ASK_IN_BAR = 2, ASK_Y_DOT = 4, ASK_ALL = 7 };
op_first op_differentiate(const op_run *r, const op_setup *setup, const op_point *p, uint32_t wants, unsigned ask);

/// What a recorded gradient g(x, y_bar) = J(x)^H y_bar gives: its derivatives along (x_dot, y_bar_dot), and its adjoint
/// under z_bar. Leaves are the inputs of `wants` and the cotangents.
typedef struct op_second {
  lac_status status;
  ref y[OP_MAX_OUT], y_dot[OP_MAX_OUT], g[OP_MAX_IN], g_dot[OP_MAX_IN];
  ref x_bar[OP_MAX_IN], y_bar_bar[OP_MAX_OUT];
  ref hvp[3][OP_MAX_IN];  // forward over reverse, reverse over forward, reverse over reverse
} op_second;

op_second op_differentiate_twice(const op_run *r, const op_point *p, uint32_t wants);

/// f(x + h x_dot): the inputs of `wants` moved along their directions, cotangents too when `moves_y_bar`.
op_point op_point_move(const op_run *r, const op_point *p, uint32_t wants, bool moves_y_bar, double h);
/// The four-point difference of refs at -2h, -h, h, 2h.
ref op_difference(const ref *const at[4], double h);
extern const double op_stencil[4];  // -2, -1, 1, 2

// One function for each section.
/// Whether `apply` calls the operator at the run's dtype; *status says how the forward ended.
bool op_is_called(op_run *r, lac_status *status);

void op_check_operator(op_run *r);
void op_check_values(op_run *r);
void op_check_first(op_run *r, uint32_t wants);  // adjoint, tangent, gradient
void op_check_second(op_run *r, uint32_t wants);
void op_check_memory(op_run *r);
void op_check_scale(op_run *r);
void op_check_input(op_run *r);
void op_check_threads(op_run *r);
void op_check_other_backend(op_run *r);

#endif
