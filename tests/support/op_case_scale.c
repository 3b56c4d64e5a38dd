// SPDX-License-Identifier: Apache-2.0
/// @file op_case_scale.c
/// Tiny and huge numbers: a change of units changes nothing but units.
///
/// Let x_i be given in units of 2^u_i, cotangents in 2^bar, and directions (x_dot, z_bar, y_bar_dot) in 2^dot of what
/// they belong to. With f of degree d_i in x_i and D = sum of d_i u_i, what comes out has the powers
///
///     y                    D                y_dot, adjoint of y_bar            D + dot
///     g_i                  D - u_i + bar    derivatives of g_i in any mode     D - u_i + bar + dot
///
/// and the same digits, since scaling by powers of two rounds nothing. A rule whose result is in range and that takes a
/// way through numbers which are not is found by that.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/op_case_impl.h"

/// Powers of two of the inputs, of cotangents, and of directions beside what they belong to.
typedef struct units {
  int in[OP_MAX_IN];
  int bar, dot;
} units;

static ref scaled(const ref *x, int power) {
  ref out = ref_new(&x->meta);
  ref_axpy(ldexp(1, power), x, &out);
  return out;
}

static op_point scaled_point(const op_run *r, const units *u) {
  op_point p = r->point;
  for (int i = 0; i < r->ins; ++i) {
    p.in[i] = scaled(&p.in[i], u->in[i]);
    p.x_dot[i] = scaled(&p.x_dot[i], u->in[i] + u->dot);
    p.z_bar[i] = scaled(&p.z_bar[i], u->in[i] + u->dot);
  }
  for (int o = 0; o < r->outs; ++o) {
    p.y_bar[o] = scaled(&p.y_bar[o], u->bar);
    p.y_bar_dot[o] = scaled(&p.y_bar_dot[o], u->bar + u->dot);
  }
  return p;
}

/// D
static int power_of_result(const op_run *r, const units *u) {
  int power = 0;
  for (int i = 0; i < r->ins; ++i) power += r->c->degree[i] * u->in[i];
  return power;
}

/// All that the case has derivatives of; a case without second ones leaves those empty.
static op_second derivatives(const op_run *r, const op_point *p) {
  if (r->sections & OP_SECOND) return op_differentiate_twice(r, p, op_all_inputs(r));
  op_first first = op_differentiate(r, &r->setup, p, op_all_inputs(r), ASK_ALL);
  op_second out = {.status = first.status};
  memcpy(out.y, first.y, sizeof out.y);
  memcpy(out.y_dot, first.y_dot, sizeof out.y_dot);
  memcpy(out.g, first.in_bar, sizeof out.g);
  return out;
}

static void expect_scaled(op_run *r, const ref *got, const ref *want, int power, const char *what, int i,
                          const units *u) {
  int k = 0;
  if (!want->x) return;
  while (k < r->ins - 1 && !u->in[k]) ++k;
  ref back = scaled(got, -power);
  op_expect_close(r, OP_SCALE, &back, want, op_tolerance(r, 64),
                  "%s %d, 2^%d times as large: input %d times 2^%d, cotangents 2^%d, directions 2^%d", what, i, power,
                  k, u->in[k], u->bar, u->dot);
}

static void check_units(op_run *r, const op_second *want, const units *u) {
  int result = power_of_result(r, u);
  op_point p = scaled_point(r, u);
  op_second got = derivatives(r, &p);
  op_expect(r, OP_SCALE, got.status == LAC_OK, "cotangents times 2^%d, directions 2^%d, results 2^%d: %s", u->bar,
            u->dot, result, lac_context_error(r->ctx));
  if (got.status != LAC_OK) return;
  for (int o = 0; o < r->outs; ++o) {
    expect_scaled(r, &got.y[o], &want->y[o], result, "output", o, u);
    expect_scaled(r, &got.y_dot[o], &want->y_dot[o], result + u->dot, "tangent", o, u);
    expect_scaled(r, &got.y_bar_bar[o], &want->y_bar_bar[o], result + u->dot, "adjoint of cotangent", o, u);
  }
  for (int i = 0; i < r->ins; ++i) {
    int first = result - u->in[i] + u->bar, second = first + u->dot;
    expect_scaled(r, &got.g[i], &want->g[i], first, "gradient", i, u);
    expect_scaled(r, &got.g_dot[i], &want->g_dot[i], second, "tangent of gradient", i, u);
    expect_scaled(r, &got.x_bar[i], &want->x_bar[i], second, "adjoint of gradient", i, u);
    for (int way = 0; way < 3; ++way) {
      expect_scaled(r, &got.hvp[way][i], &want->hvp[way][i], second, "Hessian times vector", i, u);
    }
  }
}

/// The largest power of all that goes in and comes out.
static int largest_power(const op_run *r, const units *u) {
  int result = power_of_result(r, u);
  int most = abs(u->bar), others[] = {u->bar + u->dot, result, result + u->dot};
  for (int k = 0; k < 3; ++k) most = abs(others[k]) > most ? abs(others[k]) : most;
  for (int i = 0; i < r->ins; ++i) {
    int own[] = {u->in[i], u->in[i] + u->dot, result - u->in[i] + u->bar, result - u->in[i] + u->bar + u->dot};
    for (int k = 0; k < 4; ++k) most = abs(own[k]) > most ? abs(own[k]) : most;
  }
  return most;
}

/// Units as large, and as small, as all that goes in and comes out allows. Even powers have exact roots.
static void check_both_ends(op_run *r, const op_second *want, const units *direction) {
  bool is_single = r->setup.dtype == LAC_F32 || r->setup.dtype == LAC_C64;
  int reach = (is_single ? 96 : 500) / largest_power(r, direction) & ~1;
  for (int k = -reach; k <= reach; k += 2 * reach) {
    units u = {.bar = k * direction->bar, .dot = k * direction->dot};
    for (int i = 0; i < r->ins; ++i) u.in[i] = k * direction->in[i];
    check_units(r, want, &u);
  }
}

void op_check_scale(op_run *r) {
  if (r->setup.width != LAC_WIDTH_32_32) return;  // ranges are those of numbers, whatever the indices
  op_second want = derivatives(r, &r->point);
  units all = {.bar = 0};
  int scaled_inputs = 0;
  if (want.status != LAC_OK) return;
  check_both_ends(r, &want, &(units){.bar = 1, .dot = -1});
  for (int i = 0; i < r->ins; ++i) {
    units one = {.bar = 0};
    if (!r->c->degree[i]) continue;
    one.in[i] = 1;
    check_both_ends(r, &want, &one);
    one.bar = -power_of_result(r, &one);  // y_bar in units of 1 / y: a number that is differentiated keeps its own
    check_both_ends(r, &want, &one);
    all.in[i] = 1, ++scaled_inputs;
  }
  all.bar = -power_of_result(r, &all);
  if (scaled_inputs > 1) check_both_ends(r, &want, &all);
}
