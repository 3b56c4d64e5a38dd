// SPDX-License-Identifier: Apache-2.0
// CHOLMOD with one kind of index, INT; cholmod.c has the equations. Included once for each, and without a guard.

#include "solvers/engines/suitesparse/indices_kernel.h"

static void FN(cholmod_forget)(cholmod_part *a) {
  cholmod_common common;
  CALL(start)(&common);
  CALL(free_factor)(&a->symbolic, &common);
  CALL(finish)(&common);
}

// The rows of A as CHOLMOD has a matrix by columns. Of the two triangles it reads what is the lower one of A.
static cholmod_sparse FN(cholmod_view)(const lac_structure *s, const FN(indices) * indices, int xtype,
                                       const void *values) {
  return (cholmod_sparse){.nrow = (size_t)s->n,
                          .ncol = (size_t)s->n,
                          .nzmax = (size_t)s->nnz,
                          .p = indices->offsets,
                          .i = indices->others,
                          .x = (void *)values,
                          .stype = 1,
                          .itype = ITYPE,
                          .xtype = xtype,
                          .dtype = CHOLMOD_DOUBLE,
                          .sorted = 1,
                          .packed = 1};
}

static lac_status FN(cholmod_symbolic)(lac_context *ctx, const lac_structure *s, const FN(indices) * indices,
                                       INT *order, cholmod_part *a, bool *is_large) {
  lac_status status = LAC_OK;
  cholmod_sparse view = FN(cholmod_view)(s, indices, CHOLMOD_PATTERN, NULL);
  cholmod_common common;

  CALL(start)(&common);
  cholmod_quiet(&common);
  if (order) common.nmethods = 1, common.method[0].ordering = CHOLMOD_GIVEN;
  a->symbolic = CALL(analyze_p)(&view, order, NULL, 0, &common);
  a->nnz = common.lnz;
  a->flops = common.fl;
  *is_large = common.status == CHOLMOD_TOO_LARGE;
  LAC_CHECK(*is_large || common.status != CHOLMOD_OUT_OF_MEMORY, LAC_ERR_MEMORY,
            "out of memory: CHOLMOD's analysis of %d rows", s->n);
  LAC_CHECK(*is_large || (a->symbolic && common.status >= 0), LAC_ERR_BACKEND,
            "CHOLMOD's analysis fails with status %d", common.status);
done:
  CALL(finish)(&common);
  return status;
}

static lac_status FN(cholmod_analyse)(lac_context *ctx, const lac_structure *s, const int32_t *order, cholmod_part *a,
                                      bool *is_large) {
  lac_status status = LAC_OK;
  FN(indices) indices = {0};
  INT *given = NULL;

  *is_large = false;
  LAC_CHECK(FN(indices_open)(s->n, s->nnz, s->offsets, s->columns, &indices), LAC_ERR_MEMORY,
            "out of memory: indices for CHOLMOD, %lld of them", (long long)s->nnz);
  if (order) {
    LAC_ALLOC(given, s->n);
    for (int32_t i = 0; i < s->n; i++) given[i] = (INT)order[i];
  }
  if (s->n > 0) LAC_TRY(FN(cholmod_symbolic)(ctx, s, &indices, given, a, is_large));
done:
  FN(indices_close)(&indices);
  lac_free(given);
  return status;
}

// The determinant, and the smallest pivot relative to its diagonal entry.
static void FN(cholmod_inspect)(const lac_direct_job *job, cholmod_numeric *f) {
  const lac_structure *s = job->structure;
  const INT *super = f->l->super, *pi = f->l->pi, *px = f->l->px, *order = f->l->Perm;
  const double *l = f->l->x, *values = job->values;
  int64_t step = job->dtype == LAC_C128 ? 2 : 1;
  lac_finding smallest = {.smallest = 1, .where = -1};
  lac_determinant det = lac_determinant_one();

  for (size_t k = 0; k < f->l->nsuper; k++) {
    int64_t rows = pi[k + 1] - pi[k];
    for (INT j = super[k]; j < super[k + 1]; j++) {
      double root = l[step * (px[k] + (j - super[k]) * (rows + 1))];
      int64_t row = order[j], p = s->offsets[row];
      while (s->columns[p] != row) p++;
      lac_determinant_times_modulus(&det, root);
      plugin_smallest(&smallest, root / values[step * p] * root, row);
    }
  }
  f->det = lac_determinant_log(&det);
  f->det.logabs *= 2;
  f->smallest = smallest.smallest;
  f->where = smallest.where;
}

static lac_status FN(cholmod_factor)(const lac_direct_job *job, cholmod_numeric *f, lac_fault *fault) {
  const cholmod_part *a = job->part;
  const lac_structure *s = job->structure;
  FN(indices) indices;
  cholmod_common common;
  lac_status status = LAC_OK;

  CALL(start)(&common);
  cholmod_quiet(&common);
  if (FN(indices_open)(s->n, s->nnz, s->offsets, s->columns, &indices)) {
    int xtype = job->dtype == LAC_C128 ? CHOLMOD_COMPLEX : CHOLMOD_REAL;
    cholmod_sparse view = FN(cholmod_view)(s, &indices, xtype, job->values);
    f->l = CALL(copy_factor)(a->symbolic, &common);
    if (f->l) CALL(factorize)(&view, f->l, &common);
  } else {
    common.status = CHOLMOD_OUT_OF_MEMORY;
  }
  if (common.status < 0) {
    status = cholmod_problem(&common, fault);
  } else if (f->l->minor < f->l->n) {
    status = plugin_fault(fault, LAC_ERR_DEFINITE, "CHOLMOD: the matrix is not positive definite in row %lld",
                          (long long)((const INT *)f->l->Perm)[f->l->minor]);
  } else {
    FN(cholmod_inspect)(job, f);
  }
  FN(indices_close)(&indices);
  CALL(finish)(&common);
  return status;
}

static void FN(cholmod_destroy)(cholmod_numeric *f) {
  cholmod_common common;
  CALL(start)(&common);
  CALL(free_factor)(&f->l, &common);
  CALL(finish)(&common);
}

// X = (L L^H)^-1 B, both by columns.
static lac_status FN(cholmod_solve)(const cholmod_numeric *f, int width, void *b, void *x, lac_fault *fault) {
  size_t n = f->l->n;
  cholmod_dense from = {.nrow = n, .ncol = (size_t)width, .nzmax = n * (size_t)width, .d = n, .x = b};
  cholmod_dense *y = NULL, *e = NULL, into, *to = &into;
  cholmod_common common;
  lac_status status = LAC_OK;

  from.xtype = f->l->xtype;
  from.dtype = CHOLMOD_DOUBLE;
  into = from;
  into.x = x;
  CALL(start)(&common);
  cholmod_quiet(&common);
  if (!CALL(solve2)(CHOLMOD_A, f->l, &from, NULL, &to, NULL, &y, &e, &common)) status = cholmod_problem(&common, fault);
  CALL(free_dense)(&y, &common);
  CALL(free_dense)(&e, &common);
  CALL(finish)(&common);
  return status;
}

#undef INT
#undef ITYPE
#undef CALL
#undef FN
