// SPDX-License-Identifier: Apache-2.0
// KLU with one kind of index, INT, and of numbers, made of PARTS reals; klu.c has the equations. Included once for
// each, and without a guard.

#include "solvers/engines/suitesparse/indices_kernel.h"
#include "solvers/engines/suitesparse/parity_kernel.h"

static void FN(klu_free)(void **lu) {
  COMMON common;
  NUMERIC *numeric = *lu;
  CALL_ANY(defaults)(&common);
  CALL(free_numeric)(&numeric, &common);
  *lu = numeric;
}

// A copy of `count` items, or NULL with a status.
static void *FN(klu_copy)(size_t count, size_t size, const void *from, COMMON *common) {
  void *to = from ? CALL_ANY(malloc)(count, size, common) : NULL;
  if (to) memcpy(to, from, count * size);
  return to;
}

// Everything that a refactorisation reads or overwrites. On failure the status says so, and what there is can be freed.
static NUMERIC *FN(klu_clone)(const NUMERIC *from, COMMON *common) {
  size_t n = (size_t)from->n, blocks = (size_t)from->nblocks, off = (size_t)from->nzoff,
         number = PARTS * sizeof(double);
  NUMERIC *to = FN(klu_copy)(1, sizeof *to, from, common);
  if (!to) return NULL;
  INT **lists[] = {&to->Pnum, &to->Pinv, &to->Lip, &to->Uip, &to->Llen, &to->Ulen};
  for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) *lists[l] = FN(klu_copy)(n, sizeof(INT), *lists[l], common);
  to->Udiag = FN(klu_copy)(n, number, from->Udiag, common);
  to->Rs = FN(klu_copy)(n, sizeof *to->Rs, from->Rs, common);
  to->Offp = FN(klu_copy)(n + 1, sizeof(INT), from->Offp, common);
  to->Offi = FN(klu_copy)(off + 1, sizeof(INT), from->Offi, common);
  to->Offx = FN(klu_copy)(off + 1, number, from->Offx, common);
  to->LUsize = FN(klu_copy)(blocks, sizeof *to->LUsize, from->LUsize, common);
  to->LUbx = CALL_ANY(malloc)(blocks, sizeof *to->LUbx, common);
  for (size_t b = 0; to->LUbx && b < blocks; b++) {
    to->LUbx[b] = FN(klu_copy)(from->LUsize[b], number, from->LUbx[b], common);
  }
  to->Work = CALL_ANY(malloc)(from->worksize, 1, common);
  to->Xwork = to->Work;
  to->Iwork = to->Work ? (INT *)(void *)((char *)to->Work + n * number) : NULL;
  return to;
}

// The determinant and the smallest pivot.
static lac_status FN(klu_inspect)(const SYMBOLIC *symbolic, klu_lu *f, lac_fault *fault) {
  const NUMERIC *lu = f->lu;
  const double *pivots = lu->Udiag;
  bool *seen = lac_calloc((size_t)lu->n, sizeof *seen);
  lac_determinant det = lac_determinant_one();

  if (!seen) return plugin_fault(fault, LAC_ERR_MEMORY, "out of memory: the pivots of KLU");
  for (int64_t k = 0; k < lu->n; k++) {
    double re = pivots[PARTS * k], im = PARTS == 2 ? pivots[PARTS * k + 1] : 0;
    plugin_smallest(&f->finding, fabs(re) + fabs(im), symbolic->Q[k]);
    lac_determinant_times(&det, re, im);
    lac_determinant_times_modulus(&det, lu->Rs[k]);
  }
  if (FN(parity)(lu->n, lu->Pnum, seen) != FN(parity)(lu->n, symbolic->Q, seen)) lac_determinant_negate(&det);
  f->det = lac_determinant_log(&det);
  lac_free(seen);
  if (isfinite(f->det.logabs)) return LAC_OK;
  return plugin_fault(fault, LAC_ERR_NONFINITE, "KLU overflows");
}

static void FN(klu_take)(SYMBOLIC *symbolic, klu_lu *f, COMMON *common) {
  NUMERIC *lu = f->lu;
  size_t number = PARTS * sizeof(double), bytes = sizeof *lu + lu->worksize;
  bytes += (size_t)lu->n * (7 * sizeof(INT) + number + sizeof(double)) + (size_t)lu->nzoff * (number + sizeof(INT));
  for (INT b = 0; b < lu->nblocks; b++) bytes += lu->LUbx[b] ? lu->LUsize[b] * number : 0;
  CALL(flops)(symbolic, lu, common);
  f->finding.nnz = (int64_t)lu->lnz + lu->unz - lu->n + lu->nzoff;
  f->finding.bytes = (int64_t)bytes;
  f->finding.flops = common->flops;
}

// A factor of its own, or one with the pivots of another.
static void FN(klu_make)(const lac_direct_job *job, SYMBOLIC *symbolic, const FN(indices) * a, double *values,
                         klu_lu *f, COMMON *common) {
  const klu_lu *like = job->like;
  if (like) {
    f->lu = FN(klu_clone)(like->lu, common);
    if (common->status < 0) return;
    CALL(refactor)(a->offsets, a->others, values, symbolic, f->lu, common);
  } else {
    f->lu = CALL(factor)(a->offsets, a->others, values, symbolic, common);
  }
  if (common->status != KLU_OK) return;
  CALL(rgrowth)(a->offsets, a->others, values, symbolic, f->lu, common);
  f->finding.growth = 1 / common->rgrowth;
}

static int64_t FN(klu_factor)(const lac_direct_job *job, const void *analysis, klu_lu *f, lac_fault *fault,
                              lac_status *status) {
  const lac_structure *s = job->structure;
  SYMBOLIC *symbolic = (SYMBOLIC *)analysis;  // KLU reads it only
  double tolerance = job->options->pivot_tolerance, *values = lac_alloc(PARTS * (size_t)s->nnz * sizeof *values);
  FN(indices) indices;
  COMMON common;

  CALL_ANY(defaults)(&common);
  common.tol = tolerance * tolerance * tolerance;  // KLU's own default where the tolerance is ours
  common.scale = 2;
  common.status = KLU_OUT_OF_MEMORY;
  if (FN(indices_open)(s->n, s->nnz, s->t_offsets, s->t_rows, &indices) && values) {
    common.status = KLU_OK;
    plugin_gather(s->nnz, PARTS * sizeof *values, s->t_slots, job->values, values);
    FN(klu_make)(job, symbolic, &indices, values, f, &common);
  }
  FN(indices_close)(&indices);
  lac_free(values);
  if (common.status == KLU_OK && job->like && f->finding.growth > KLU_GROWTH) {
    *status =
        plugin_fault(fault, LAC_ERR_CONVERGENCE, "KLU's factor grows to %.1e times the matrix", f->finding.growth);
  } else if (common.status == KLU_OK && f->lu) {
    FN(klu_take)(symbolic, f, &common);
    *status = FN(klu_inspect)(symbolic, f, fault);
  } else {
    *status = klu_problem(common.status, common.singular_col, fault);
  }
  return common.status;
}

// In place, by columns. KLU works in memory of the factor: here it gets other memory, so that threads share the factor.
static lac_status FN(klu_solve)(const void *analysis, const klu_lu *f, lac_form form, int width, double *x,
                                lac_fault *fault) {
  SYMBOLIC *symbolic = (SYMBOLIC *)analysis;
  NUMERIC own = *(const NUMERIC *)f->lu;
  COMMON common;

  CALL_ANY(defaults)(&common);
  own.Xwork = lac_alloc(4 * PARTS * (size_t)own.n * sizeof *x);
  if (!own.Xwork) return plugin_fault(fault, LAC_ERR_MEMORY, "out of memory: a solve of KLU");
  if (form == LAC_TRANSPOSED) {
    CALL(tsolve)(symbolic, &own, own.n, width, x CONJUGATE, &common);
  } else {
    CALL(solve)(symbolic, &own, own.n, width, x, &common);
  }
  lac_free(own.Xwork);
  return common.status < 0 ? klu_problem(common.status, -1, fault) : LAC_OK;
}

#undef INT
#undef SYMBOLIC
#undef NUMERIC
#undef COMMON
#undef CALL
#undef CALL_ANY
#undef FN
#undef CONJUGATE
#undef PARTS
