// SPDX-License-Identifier: Apache-2.0
/// @file logdet.c
/// det A = sign exp(logabs) of every matrix of a batch, read off its factor.

#include "core/number_at.h"
#include "solvers/direct/direct.h"

typedef struct logdet_work {
  const lac_factor *f;
  void *logabs, *sign;
} logdet_work;

static lac_status logdet_item(const void *job, int64_t i, int thread, lac_fault *fault) {
  const logdet_work *w = job;
  const lac_direct_factor *d = w->f->part;
  lac_polar one = {0};
  lac_status status = d->table->logdet(d->analysis->part, d->numerics[i], &one);
  (void)thread, (void)fault;
  lac_number_put(lac_dtype_real(w->f->meta.dtype), w->logabs, i, one.logabs);
  lac_number_put(w->f->meta.dtype, w->sign, i, PAIR(one.sign_re, one.sign_im));
  return status;
}

/// Whether the determinant can be read off a factor.
static bool logdet_is_able(const lac_factor *f) { return lac_direct_of(f)->table->logdet && lac_direct_is_exact(f); }

lac_status lac_direct_logdet(lac_context *ctx, const lac_factor *f, lac_array *logabs, lac_array *sign) {
  lac_status status = LAC_OK;
  logdet_work work;
  int32_t n = lac_direct_structure(f)->n;
  int threads = lac_threads_worth(ctx->threads, f->items, (double)f->items * n);

  LAC_TRY(lac_direct_certain_partner(ctx, "lac_factor_logdet", logdet_is_able, &f));
  LAC_CHECK(f, LAC_ERR_UNSUPPORTED, "lac_factor_logdet: no method gives the determinant");
  work = (logdet_work){f, lac_array_edit(logabs), lac_array_edit(sign)};
  LAC_CHECK(lac_tasks_run(threads, NULL, 0, f->items, logdet_item, &work).status == LAC_OK, LAC_ERR_MEMORY,
            "lac_factor_logdet: out of memory: permutations of %lld rows", (long long)n);
done:
  return status;
}
