// SPDX-License-Identifier: Apache-2.0
/// @file hello.c
/// The smallest whole program: solve A u = f, and the gradient of a loss with respect to the entries of A.

#include <lacuna/lacuna.h>
#include <stdio.h>

// [readme]
// A = [[4, 1, 0], [0, 3, 1], [1, 0, 2]] from unsorted coordinates; loss = |u|^2 with A u = f.
static lac_status gradient(lac_context *ctx, lac_tape *tape, lac_pattern **pattern, lac_solver **solver,
                           double a_bar[6]) {
  int32_t row[] = {2, 0, 0, 1, 1, 2}, col[] = {2, 0, 1, 1, 2, 0};
  double values[] = {2, 4, 1, 3, 1, 1}, f[] = {1, 2, 3};
  lac_map *entries = NULL;
  lac_array *a = NULL, *b = NULL;

  lac_pattern_from_coo(ctx, 3, 3, 6, LAC_I32, row, col, LAC_WIDTH_AUTO, pattern, &entries);
  lac_solver_create(ctx, *pattern, NULL, solver);
  lac_array_from(ctx, LAC_F64, 1, (int64_t[]){6}, values, LAC_COPY, &a);
  lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 1}, f, LAC_COPY, &b);

  lac_var leaf = lac_tape_leaf(tape, a), bar;
  lac_var slots = lac_remap(tape, entries, LAC_N, leaf);  // coordinates to slots
  lac_var u = lac_solve(tape, *solver, LAC_N, slots, lac_tape_constant(tape, b));
  lac_var loss = lac_dot(tape, u, u);
  lac_status status = lac_tape_vjp(tape, 1, &loss, NULL, 1, &leaf, &bar, LAC_PLAIN);
  if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, bar), a_bar);
  lac_array_destroy(&a), lac_array_destroy(&b), lac_map_destroy(&entries);
  return status;
}
// [end]

int main(void) {
  lac_context *ctx = NULL;
  lac_tape *tape = NULL;
  lac_pattern *pattern = NULL;
  lac_solver *solver = NULL;
  double a_bar[6];
  lac_status status;

  if (lac_context_create("cpu", 0, &ctx) != LAC_OK || lac_tape_create(ctx, LAC_RECORD, &tape) != LAC_OK) {
    fprintf(stderr, "%s\n", lac_context_error(ctx));
    return 1;
  }
  status = gradient(ctx, tape, &pattern, &solver, a_bar);
  if (status != LAC_OK) fprintf(stderr, "%s\n", lac_context_error(ctx));
  for (int i = 0; i < 6 && status == LAC_OK; i++) printf("d loss / d values[%d] = %+.6f\n", i, a_bar[i]);

  lac_tape_destroy(&tape);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&pattern);
  lac_context_destroy(&ctx);
  return status != LAC_OK;
}
