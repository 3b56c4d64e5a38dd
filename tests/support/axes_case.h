// SPDX-License-Identifier: Apache-2.0
/// @file axes_case.h
/// Cases of reductions over axes: their dense formulas see the numbers of one output at a time.

#ifndef LACUNA_TESTS_AXES_CASE_H
#define LACUNA_TESTS_AXES_CASE_H

#include <stdbool.h>

#include "support/op_case.h"
#include "support/scratch.h"

/// The axes of a mask, bit d the d-th from the end, as two arguments. The axes count from the front and from the end by
/// turns.
static inline const int *axes_list(int64_t mask, int ndim, int axes[LAC_MAX_DIMS]) {
  for (int d = 0, n = 0; d < LAC_MAX_DIMS; ++d) {
    if (mask >> d & 1) axes[n] = n % 2 && d < ndim ? ndim - 1 - d : -1 - d, ++n;
  }
  return axes;
}
#define AXES_OF(mask, ndim) __builtin_popcount((unsigned)(mask)), axes_list(mask, ndim, (int[LAC_MAX_DIMS]){0})

typedef lac_var axes_function(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);
typedef number axes_formula(const number *x, int64_t n);

/// What a case is about: its data.
typedef struct axes_subject {
  axes_function *function;
  axes_formula *formula;
} axes_subject;

static inline void axes_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const axes_subject *subject = setup->c->data;
  int ndim = lac_tape_meta(tape, in[0]) ? lac_tape_meta(tape, in[0])->ndim : 0;
  out[0] = subject->function(tape, in[0], AXES_OF(setup->c->i[0], ndim), setup->c->i[1] != 0);
}

/// Numbers whose sizes are apart: no step of a difference changes which is the largest, or the smallest.
static inline void axes_apart(const op_case *c, int input, ref *x) {
  (void)c, (void)input;
  for (int64_t i = 0; i < x->count; ++i) {
    double size = cabs(x->x[i]);
    x->x[i] = (size > 0 ? x->x[i] / size : 1) * (1 + 0.25 * (double)(7 * i % x->count));
  }
}

/// Where the numbers of x go: the place of the output that each belongs to.
static inline int64_t axes_place(const walk *w, const ref *x, int64_t mask) {
  int64_t at = 0;
  for (int d = 0; d < x->meta.ndim; ++d) {
    if (!(mask >> (x->meta.ndim - 1 - d) & 1)) at = at * x->meta.shape[d] + w->at[d];
  }
  return at;
}

static inline void axes_dense(const op_case *c, const ref *in, ref *out) {
  const axes_subject *subject = c->data;
  for (int64_t o = 0; o < out[0].count; ++o) {
    number *group = scratch((size_t)(in[0].count + 1) * sizeof *group);
    int64_t n = 0;
    for (walk w = walk_batch(in, 0); walk_next(&w);) {
      if (axes_place(&w, in, c->i[0]) == o) group[n++] = *walk_item(&w, in, 0);
    }
    out[0].x[o] = subject->formula(group, n);
  }
}

/// The shape of x without the axes of a mask.
static inline const char *axes_dropped(const op_case *c, const char *x, uint32_t mask, bool keepdims) {
  lac_meta meta = op_shape(c, LAC_F64, x);
  const char *text = "";
  for (int d = 0; d < meta.ndim; ++d) {
    bool reduced = mask >> (meta.ndim - 1 - d) & 1;
    if (reduced && !keepdims) continue;
    text = op_text("%s%s%lld", text, *text ? "," : "", (long long)(reduced ? 1 : meta.shape[d]));
  }
  return text;
}

/// A case over the axes of a mask of x, dropped or kept.
static inline op_case axes_case(op_case c, const char *x, uint32_t mask) {
  bool keepdims = mask % 3 == 1;
  c.apply = axes_apply, c.dense = axes_dense, c.shapes[0] = x;
  c.i[0] = mask, c.i[1] = keepdims, c.result[0] = axes_dropped(&c, x, mask, keepdims);
  return c;
}

/// Every mask of x.
static inline void check_op_axes(lac_context *ctx, op_case c, const char *x) {
  int ndim = op_shape(&c, LAC_F64, x).ndim;
  for (uint32_t mask = 0; mask < 1u << ndim; ++mask) {
    op_case masked = axes_case(c, x, mask);
    check_op(ctx, &masked);
  }
}

/// Threads at size: all numbers, rows, columns.
static inline void check_op_axes_large(lac_context *ctx, op_case c) {
  c.apply = axes_apply, c.shapes[0] = "300,500";
  c.i[0] = 3, c.result[0] = "";
  check_op_large(ctx, &c);
  c.i[0] = 1, c.result[0] = "300";
  check_op_large(ctx, &c);
  c.i[0] = 2, c.result[0] = "500";
  check_op_large(ctx, &c);
}

/// f of the doubles x over their only axis, and its gradient into x_bar; returns the value.
static inline double axes_probe(lac_context *ctx, axes_function *f, int n, const double *x, double *x_bar) {
  lac_tape *tape = NULL;
  lac_array *array = NULL;
  lac_var bar = {0};
  double value = 0;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){n}, (void *)x, LAC_OWNERSHIP_COPY, &array));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var leaf = lac_tape_leaf(tape, array), y = f(tape, leaf, LAC_AXES(-1), false);
  CHECK_OK(lac_tape_status(tape));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, y), &value));
  if (x_bar) {
    CHECK_OK(lac_tape_vjp(tape, 1, &y, NULL, 1, &leaf, &bar, LAC_GRAPH_NONE));
    CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, bar), x_bar));
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&array);
  return value;
}

#endif
