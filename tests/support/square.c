// SPDX-License-Identifier: Apache-2.0
/// @file square.c
/// Square matrices that have a factor.

#include "support/square.h"

#include <math.h>
#include <stdbool.h>

lac_status square_object(const op_setup *setup, lac_array *const *in, const void **out) {
  lac_solver *solver = NULL;
  lac_factor *factor = NULL;
  lac_status status = lac_solver_create(setup->ctx, setup->patterns[0], setup->c->data, &solver);
  if (status == LAC_OK && setup->c->i[1] == FACTOR) {
    status = lac_solver_factor(setup->ctx, solver, in[0], &factor);
    *out = factor;
    lac_solver_destroy(&solver);
  } else {
    *out = solver;
  }
  return status;
}

void square_fill(const op_case *c, int input, ref *x) {
  const sketch *s = c->patterns[0];
  if (input != 0) return;
  for (int64_t e = 0; e < x->count; ++e) {
    int64_t z = e % s->nnz, i = s->row[z], j = s->col[z], mirror = sketch_find(s, j, i) + e - z;
    bool is_large = c->i[2] == SHUFFLED ? j == (i + 1) % s->rows : i == j;
    if (c->i[2] == SHUFFLED) x->x[e] /= i == j ? 64 : 4;
    if (c->i[2] == DEFINITE && j < i) x->x[e] = conj(x->x[mirror]);
    if (c->i[2] == DEFINITE && i == j) x->x[e] = fabs(creal(x->x[e])) + 2;
    if (is_large) x->x[e] += 3;
  }
}

void square_solve_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  lac_form form = (lac_form)setup->c->i[0];
  out[0] = setup->c->i[1] == FACTOR ? lac_solve_with(tape, setup->object, in[0], in[1], form)
                                    : lac_solve(tape, setup->object, in[0], in[1], form);
}

void square_solve_dense(const op_case *c, const ref *in, ref *out) {
  int64_t n = c->patterns[0]->rows, k = out[0].meta.shape[out[0].meta.ndim - 1];
  for (walk w = walk_batch(out, 2); walk_next(&w);) {
    dense a = dense_side(dense_matrix(c->patterns[0], walk_item(&w, &in[0], 1)), (lac_form)c->i[0]);
    dense_copy_to(dense_solve(a, dense_over(n, k, walk_item(&w, &in[1], 2))), walk_item(&w, out, 2));
  }
}

two_by_two two_by_two_open(lac_context *ctx, const double values[4]) {
  two_by_two s = {0};
  CHECK_OK(sketch_pattern(ctx, sketch_random(2, 2, 1, 1), LAC_WIDTH_AUTO, &s.pattern));
  CHECK_OK(lac_solver_create(ctx, s.pattern, NULL, &s.solver));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){4}, (void *)values, LAC_OWNERSHIP_COPY, &s.a));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &s.tape));
  return s;
}

void two_by_two_close(two_by_two *s) {
  lac_tape_destroy(&s->tape);
  lac_array_destroy(&s->a);
  lac_solver_destroy(&s->solver);
  lac_pattern_destroy(&s->pattern);
}

void check_names_singular(lac_context *ctx, lac_var (*op)(lac_tape *tape, const lac_solver *solver, lac_var a)) {
  two_by_two s = two_by_two_open(ctx, (double[]){1, 2, 2, 4});
  CHECK(!op(s.tape, s.solver, lac_tape_leaf(s.tape, s.a)).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_SINGULAR, "column");
  two_by_two_close(&s);
}

void check_refuses_stale(lac_context *ctx, const char *name,
                         lac_var (*op)(lac_tape *tape, const lac_factor *factor, lac_var a)) {
  two_by_two s = two_by_two_open(ctx, (double[]){3, 1, 2, 4});
  lac_factor *factor = NULL;
  CHECK_OK(lac_solver_factor(ctx, s.solver, s.a, &factor));
  CHECK_OK(lac_array_write(ctx, s.a, (double[]){3, 1, 2, 5}));
  CHECK(!op(s.tape, factor, lac_tape_leaf(s.tape, s.a)).id);
  CHECK_FAILS(lac_tape_status(s.tape), LAC_ERR_STALE, name);
  lac_factor_destroy(&factor);
  two_by_two_close(&s);
}
