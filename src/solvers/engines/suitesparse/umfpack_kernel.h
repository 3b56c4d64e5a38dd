// SPDX-License-Identifier: Apache-2.0
// UMFPACK with one kind of index, INT, and of numbers, made of PARTS reals; umfpack.c has the equations. Included once
// for each, and without a guard.

#include "solvers/engines/suitesparse/indices_kernel.h"
#include "solvers/engines/suitesparse/parity_kernel.h"

static lac_status FN(umfpack_symbolic)(const lac_structure *s, lac_ordering ordering, void **symbolic,
                                       lac_fault *fault) {
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO] = {UMFPACK_ERROR_out_of_memory};
  FN(indices) indices;
  lac_status status = LAC_OK;

  CALL(defaults)(control);
  umfpack_choose(ordering, control[UMFPACK_PIVOT_TOLERANCE], control);
  if (FN(indices_open)(s->n, s->nnz, s->t_offsets, s->t_rows, &indices)) {
    CALL(symbolic)(s->n, s->n, indices.offsets, indices.others, NULL IMAGINARY, symbolic, control, info);
  }
  if (info[UMFPACK_STATUS] < 0) status = umfpack_problem(info[UMFPACK_STATUS], fault);
  FN(indices_close)(&indices);
  return status;
}

// The determinant and the smallest pivot; singular where one is zero.
static lac_status FN(umfpack_inspect)(const lac_structure *s, umfpack_numeric *f, lac_fault *fault) {
  INT *order = lac_alloc(2 * (size_t)s->n * sizeof *order), recip = 0;
  double *pivots = lac_alloc((PARTS + 1) * (size_t)s->n * sizeof *pivots), *scale = NULL;
  bool *seen = lac_calloc((size_t)s->n, sizeof *seen);
  lac_determinant det = lac_determinant_one();
  lac_status status = LAC_OK;

  if (!order || !pivots || !seen) {
    status = plugin_fault(fault, LAC_ERR_MEMORY, "out of memory: the pivots of UMFPACK");
    goto done;
  }
  scale = pivots + PARTS * (int64_t)s->n;
  CALL(get_numeric)
  (NULL, NULL, NULL IMAGINARY, NULL, NULL, NULL IMAGINARY, order, order + s->n, pivots IMAGINARY, &recip, scale, f->lu);
  for (int32_t k = 0; k < s->n; k++) {
    double re = pivots[PARTS * (int64_t)k], im = PARTS == 2 ? pivots[PARTS * (int64_t)k + 1] : 0;
    double size = fabs(re) + fabs(im);
    long long column = order[s->n + k];
    if (size == 0) {
      status =
          plugin_fault(fault, LAC_ERR_SINGULAR, "the matrix is singular: pivot 0 of UMFPACK in column %lld", column);
      goto done;
    }
    if (!isfinite(size)) {
      status = plugin_fault(fault, LAC_ERR_NONFINITE, "UMFPACK overflows in column %lld", column);
      goto done;
    }
    plugin_smallest(&f->finding, size, column);
    lac_determinant_times(&det, re, im);
    (recip ? lac_determinant_over : lac_determinant_times_modulus)(&det, scale[k]);
  }
  if (FN(parity)(s->n, order, seen) != FN(parity)(s->n, order + s->n, seen)) lac_determinant_negate(&det);
  f->det = lac_determinant_log(&det);
done:
  lac_free(order);
  lac_free(pivots);
  lac_free(seen);
  return status;
}

static void FN(umfpack_take)(const double *info, umfpack_numeric *f) {
  f->finding.nnz = (int64_t)(info[UMFPACK_LNZ] + info[UMFPACK_UNZ] - info[UMFPACK_NCOL]);
  f->finding.bytes = (int64_t)(info[UMFPACK_NUMERIC_SIZE] * info[UMFPACK_SIZE_OF_UNIT]);
  f->finding.work_bytes =
      (int64_t)((info[UMFPACK_PEAK_MEMORY] - info[UMFPACK_NUMERIC_SIZE]) * info[UMFPACK_SIZE_OF_UNIT]);
  f->finding.flops = info[UMFPACK_FLOPS];
}

// `is_large`: it ran out of memory, and perhaps of narrow indices.
static lac_status FN(umfpack_factor)(const lac_direct_job *job, void *symbolic, umfpack_numeric *f, bool *is_large,
                                     lac_fault *fault) {
  const lac_structure *s = job->structure;
  size_t size = PARTS * sizeof(double);
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO] = {UMFPACK_ERROR_out_of_memory};
  double *values = lac_alloc((size_t)s->nnz * size);
  FN(indices) indices;
  lac_status status = LAC_OK;

  CALL(defaults)(control);
  umfpack_choose(LAC_ORDER_AUTO, job->options->pivot_tolerance, control);
  if (FN(indices_open)(s->n, s->nnz, s->t_offsets, s->t_rows, &indices) && values) {
    plugin_gather(s->nnz, size, s->t_slots, job->values, values);
    CALL(numeric)(indices.offsets, indices.others, values IMAGINARY, symbolic, &f->lu, control, info);
  }
  FN(indices_close)(&indices);
  lac_free(values);
  *is_large = info[UMFPACK_STATUS] == UMFPACK_ERROR_out_of_memory && info[UMFPACK_VARIABLE_PEAK_ESTIMATE] > INT32_MAX;
  if (info[UMFPACK_STATUS] < 0) {
    status = umfpack_problem(info[UMFPACK_STATUS], fault);
  } else {
    FN(umfpack_take)(info, f);
    status = FN(umfpack_inspect)(s, f, fault);
  }
  return status;
}

// Columns x = op(A)^-1 b.
static lac_status FN(umfpack_solve)(const umfpack_numeric *f, int32_t n, lac_form form, int width, const double *b,
                                    double *x, lac_fault *fault) {
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
  INT *indices = lac_alloc((size_t)n * sizeof *indices);
  double *work = lac_alloc((PARTS == 2 ? 4 : 1) * (size_t)n * sizeof *work);
  lac_status status = LAC_OK;

  CALL(defaults)(control);
  umfpack_choose(LAC_ORDER_AUTO, 0, control);
  if (!indices || !work) status = plugin_fault(fault, LAC_ERR_MEMORY, "out of memory: a solve of UMFPACK");
  for (int64_t c = 0; status == LAC_OK && c < width; c++) {
    int code = (int)CALL(wsolve)(form == LAC_TRANSPOSED ? UMFPACK_Aat : UMFPACK_A, NULL, NULL, NULL IMAGINARY,
                                 x + PARTS * c * n IMAGINARY, b + PARTS * c * n IMAGINARY, f->lu, control, info,
                                 indices, work);
    if (code < 0) status = umfpack_problem(code, fault);
  }
  lac_free(indices);
  lac_free(work);
  return status;
}

#undef INT
#undef CALL
#undef FN
#undef IMAGINARY
#undef PARTS
