// SPDX-License-Identifier: Apache-2.0
/// @file probe.c
/// Random right-hand sides, and what they tell.

#include "solvers/measured/probe.h"

#include <math.h>

#include "core/numbers/random.h"

// How far an estimate of a condition may be too small, and an error that leaves few digits.
static const double probe_margin = 3, probe_few = 0.01;

double lac_measured_cause(const lac_factor *f) { return pow(lac_dtype_epsilon(f->meta.dtype), 0.4); }
double lac_measured_growth(const lac_factor *f) { return pow(lac_dtype_epsilon(f->meta.dtype), -0.65); }

// Random numbers have about 1 / sqrt(n) of their size in any one direction.
double lac_measured_condition(const lac_factor *f, const lac_measured *probe) {
  return fmax(1, probe->growth) * sqrt((double)f->core->rows);
}

bool lac_measured_is_bad(const lac_factor *f, double error) {
  return !(error <= LAC_MEASURED_BAD * lac_dtype_epsilon(f->meta.dtype));
}

bool lac_measured_is_settled(const lac_factor *f, double condition, double error, double least) {
  return probe_margin * condition * fmax(fmax(error, least), lac_dtype_epsilon(f->meta.dtype)) < probe_few;
}

lac_status lac_measured_probe(lac_context *ctx, const lac_factor *f, lac_measured_apply *apply, const void *self,
                              lac_measured *each, lac_measured *out) {
  lac_status status = LAC_OK;
  int64_t n = f->core->rows, count = f->items * n * lac_dtype_parts(f->meta.dtype), shape[LAC_MAX_DIMS];
  lac_measured_system system = {.pattern = f->core->pattern, .values = f->values, .apply = apply, .self = self};
  lac_array *b = NULL, *x = NULL;
  double *numbers = NULL, *columns = NULL;
  int dims = f->meta.ndim - 1;

  for (int d = 0; d < dims; d++) shape[d] = f->meta.shape[d];
  shape[dims] = n, shape[dims + 1] = 1;
  LAC_ALLOC(numbers, count);
  LAC_ALLOC(columns, 2 * f->items);
  lac_random_fill(1, !lac_dtype_is_single(f->meta.dtype), count, numbers);
  LAC_TRY(lac_array_from(ctx, f->meta.dtype, 3, (int64_t[]){f->items, n, 1}, numbers, LAC_OWNERSHIP_COPY, &b));
  LAC_TRY(lac_array_create(ctx, f->meta.dtype, dims + 2, shape, &x));
  system.b = b, system.x = x, system.errors = columns, system.growths = columns + f->items;
  LAC_TRY(lac_measured_solve(ctx, &system, out));
  for (int64_t i = 0; each && i < f->items; i++) each[i] = (lac_measured){system.errors[i], system.growths[i]};
done:
  lac_free(numbers);
  lac_free(columns);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return status;
}
