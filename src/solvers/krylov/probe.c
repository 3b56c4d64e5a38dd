// SPDX-License-Identifier: Apache-2.0
/// @file probe.c
/// A few iterations with a preconditioner, to see how fast they are.
///
/// From constants, or from numbers at random: constants are slow on all that is elliptic, on stiff islands most of all,
/// but where something flows they have to cross the whole before anything is seen of the rate.

#include <math.h>

#include "core/numbers/random.h"
#include "solvers/krylov/krylov.h"

enum { PROBE_SEED = 5 };

typedef struct probe_course {
  double enough;   // the onlooker sees |r| over this times |b|
  int64_t middle;  // of the iterations
  double halfway;  // the least |r| over |b| up to there: what only comes down from a hill is not fast
} probe_course;

static lac_status probe_look(lac_context *ctx, void *data, int64_t iteration, double excess, bool *ends) {
  probe_course *course = data;
  (void)ctx;
  if (iteration <= course->middle) course->halfway = fmin(course->halfway, course->enough * excess);
  *ends = false;
  return LAC_OK;
}

static lac_status probe_fill(lac_context *ctx, bool is_random, lac_array *b) {
  lac_status status = LAC_OK;
  char *numbers = NULL;

  if (!is_random) return ctx->backend->fill(ctx, b, 1, 0);
  LAC_ALLOC(numbers, lac_array_bytes(b));
  lac_random_fill(PROBE_SEED, !lac_dtype_is_single(b->meta.dtype), b->count * lac_dtype_parts(b->meta.dtype), numbers);
  LAC_TRY(lac_array_write(ctx, b, numbers));
done:
  lac_free(numbers);
  return status;
}

static lac_krylov_pace probe_pace(const probe_course *course, const lac_solve_report *report) {
  int64_t done = report->iterations, late = done - course->middle;
  lac_krylov_pace pace = {.iterations = done, .residual = report->residual};

  if (report->ending != LAC_ENDING_CONVERGED && report->ending != LAC_ENDING_LIMIT)
    return (lac_krylov_pace){done, INFINITY, 1, 1};
  pace.factor = done > 0 ? pow(report->residual, 1 / (double)done) : 0;
  pace.late = late > 0 ? pow(report->residual / course->halfway, 1 / (double)late) : pace.factor;
  return pace;
}

lac_status lac_krylov_probe(lac_context *ctx, const lac_krylov_job *asked, bool is_hermitian, bool is_random,
                            lac_krylov_pace *pace) {
  lac_status status = LAC_OK;
  const lac_krylov_table *method = is_hermitian ? &lac_krylov_flexible_cg : &lac_krylov_flexible_gmres;
  probe_course course = {
      .enough = asked->iteration->rtol, .middle = asked->iteration->max_iterations / 2, .halfway = 1};
  lac_onlooker onlooker = {.look = probe_look, .data = &course};
  lac_krylov_job job = *asked;
  lac_solve_report report = {0};
  lac_array *b = NULL, *x = NULL;

  LAC_TRY(lac_array_create(ctx, job.dtype, 3, (const int64_t[]){job.items, job.rows, 1}, &b));
  LAC_TRY(probe_fill(ctx, is_random, b));
  LAC_TRY(lac_array_make(ctx, &b->meta, &x));
  LAC_TRY(ctx->backend->fill(ctx, x, 0, 0));
  job.cols = job.rows, job.width = 1, job.b = b, job.x = x;
  job.starts_at_zero = true, job.onlooker = &onlooker;
  LAC_TRY(method->run(ctx, &job, &report));
  *pace = probe_pace(&course, &report);
done:
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  return status;
}
