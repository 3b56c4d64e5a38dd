// SPDX-License-Identifier: Apache-2.0
/// @file hello.c
/// The smallest whole program: solve A u = f, and the gradient of a loss with respect to the entries of A.

#include <lacuna/lacuna.h>
#include <stdio.h>

// [readme]
// A = [[4, 1, 0], [0, 3, 1], [1, 0, 2]] from unsorted coordinates; loss = |u|^2 with A u = f.
static lac_status gradient(lac_context *ctx, lac_tape *tape, double a_bar[6]) {
  int32_t row[] = {2, 0, 0, 1, 1, 2}, col[] = {2, 0, 1, 1, 2, 0};
  double values[] = {2, 4, 1, 3, 1, 1}, f[] = {1, 2, 3};
  lac_matrix *a = NULL;
  lac_solver *solver = NULL;
  lac_array *b = NULL;
  lac_status status = lac_matrix_from_coo(ctx, 3, 3, 6, LAC_I32, row, col, LAC_F64, values, LAC_OWNERSHIP_COPY, &a);
  if (status == LAC_OK) status = lac_solver_create(ctx, lac_matrix_pattern(a), NULL, &solver);
  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 1}, f, LAC_OWNERSHIP_COPY, &b);
  if (status == LAC_OK) {
    lac_var leaf, bar, slots = lac_matrix_leaf(tape, a, &leaf);  // leaf: `values`, in the order above
    lac_var u = lac_solve(tape, solver, slots, lac_tape_constant(tape, b), LAC_PLAIN);
    lac_var loss = lac_dot(tape, u, u);  // an error of any of these sticks to the tape
    status = lac_tape_vjp(tape, 1, &loss, NULL, 1, &leaf, &bar, LAC_GRAPH_NONE);
    if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, bar), a_bar);
  }
  lac_array_destroy(&b), lac_solver_destroy(&solver), lac_matrix_destroy(&a);
  return status;
}
// [end]

int main(void) {
  lac_context *ctx = NULL;
  lac_tape *tape = NULL;
  double a_bar[6];
  lac_status status = lac_context_create("cpu", 0, &ctx);

  if (status == LAC_OK) status = lac_tape_create(ctx, LAC_TAPE_RECORD, &tape);
  if (status == LAC_OK) status = gradient(ctx, tape, a_bar);
  if (status != LAC_OK) fprintf(stderr, "%s\n", lac_context_error(ctx));
  for (int i = 0; i < 6 && status == LAC_OK; i++) printf("d loss / d values[%d] = %+.6f\n", i, a_bar[i]);

  lac_tape_destroy(&tape);
  lac_context_destroy(&ctx);
  return status != LAC_OK;
}
