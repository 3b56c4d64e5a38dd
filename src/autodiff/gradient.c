// SPDX-License-Identifier: Apache-2.0
/// @file gradient.c
/// From a loss on a tape to its value and gradient in arrays that outlive the tape.

#include "autodiff/tape_impl.h"
#include "core/array_impl.h"
#include "core/number_at.h"

lac_status lac_tape_gradient(lac_tape *tape, lac_var loss, int count, const lac_var *leaves, double *value,
                             lac_array **gradient) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_var *bar = NULL;
  lac_number number = {.c128 = 0};
  const lac_meta *meta;

  LAC_CHECK(tape && leaves && value && gradient, LAC_ERR_ARG, "lac_tape_gradient: %s is NULL",
            !tape     ? "tape"
            : !leaves ? "leaves"
            : !value  ? "value"
                      : "gradient");
  LAC_CHECK(count > 0, LAC_ERR_ARG, "lac_tape_gradient: count = %d; name at least one leaf", count);
  LAC_TRY(lac_tape_status(tape));
  meta = lac_tape_meta(tape, loss);
  LAC_CHECK(meta && lac_meta_count(meta) == 1 && lac_tape_value(tape, loss), LAC_ERR_ARG,
            "lac_tape_gradient: the loss must be a single number on this tape; reduce it (lac_sum, lac_dot)");
  LAC_ALLOC(bar, count);
  LAC_TRY(lac_tape_vjp(tape, 1, &loss, NULL, count, leaves, bar, LAC_GRAPH_NONE));
  LAC_TRY(lac_array_read(ctx, lac_tape_value(tape, loss), &number));
  *value = lac_real_get(lac_tape_meta(tape, loss)->dtype, &number, 0);
  for (int i = 0; i < count; i++) gradient[i] = lac_array_retain(lac_tape_value(tape, bar[i]));
done:
  lac_free(bar);
  return status;
}
