// SPDX-License-Identifier: Apache-2.0
/// @file cholmod.c
/// CHOLMOD: supernodal Cholesky.
///
///     P conj(A) P^T = L L^H          the rows of A are the columns of A^T = conj(A): nothing is copied
///     solve      A^-T b = P^T L^-H L^-1 P b,   A^-1 b = conj(A^-T conj(b))
///     logdet     2 sum log l_kk
///
/// Every call has a cholmod_common of its own, so that threads share analysis and factor. AUTO is CHOLMOD's own choice
/// of ordering; all others are the core's, handed in.

#include <cholmod.h>
#include <math.h>
#include <string.h>

#include "core/memory_impl.h"
#include "solvers/direct/method/determinant.h"
#include "solvers/engines/suitesparse/tables.h"

#ifndef CHOLMOD_OMP_NUM_THREADS
#define CHOLMOD_OMP_NUM_THREADS 4
#endif

typedef struct cholmod_part {
  int32_t n;
  bool is_wide;
  cholmod_factor *symbolic;  // NULL where n = 0
  double nnz, flops;         // of L
} cholmod_part;

typedef struct cholmod_numeric {
  cholmod_factor *l;
  lac_dtype dtype;
  lac_polar det;
  double smallest;
  int64_t where;
} cholmod_numeric;

static void cholmod_quiet(cholmod_common *common) {
  common->supernodal = CHOLMOD_SUPERNODAL;
  common->print = 0;
  common->quick_return_if_not_posdef = 1;
}

static lac_status cholmod_problem(const cholmod_common *common, lac_fault *fault) {
  if (common->status == CHOLMOD_OUT_OF_MEMORY) return plugin_fault(fault, LAC_ERR_MEMORY, "CHOLMOD is out of memory");
  return plugin_fault(fault, LAC_ERR_BACKEND, "CHOLMOD fails with status %d", common->status);
}

#define INT int
#define ITYPE CHOLMOD_INT
#define CALL(name) cholmod_##name
#define FN(name) name##_narrow
#include "solvers/engines/suitesparse/cholmod_kernel.h"
#define INT SuiteSparse_long
#define ITYPE CHOLMOD_LONG
#define CALL(name) cholmod_l_##name
#define FN(name) name##_wide
#include "solvers/engines/suitesparse/cholmod_kernel.h"

// -- analysis --------------------------------------------------------------------------------------------------------

static void engine_cholmod_forget(void *part) {
  cholmod_part *a = part;
  if (!a) return;
  (a->is_wide ? cholmod_forget_wide : cholmod_forget_narrow)(a);
  lac_free(a);
}

// Counts that do not fit narrow indices are known when the symbolic factor is.
static lac_status engine_cholmod_analyse(lac_context *ctx, const lac_structure *s, lac_ordering ordering, void **part,
                                         int64_t *bytes) {
  lac_status status = LAC_OK;
  cholmod_part *a = NULL;
  int32_t *order = NULL;
  bool is_large = plugin_is_wide(s);

  LAC_CHECK(s->is_symmetric, LAC_ERR_SYMMETRY,
            "CHOLMOD needs a symmetric pattern, slot %lld has no mirror; use method = \"lu\"", (long long)s->unmatched);
  LAC_ALLOC(a, 1);
  a->n = s->n;
  if (ordering != LAC_ORDER_AUTO) {
    LAC_ALLOC(order, s->n);
    LAC_TRY(plugin_order(ctx, s, ordering, order));
  }
  if (!is_large) LAC_TRY(cholmod_analyse_narrow(ctx, s, order, a, &is_large));
  if (is_large) {
    cholmod_forget_narrow(a);
    a->is_wide = true;
    LAC_TRY(cholmod_analyse_wide(ctx, s, order, a, &is_large));
    LAC_CHECK(!is_large, LAC_ERR_OVERFLOW, "CHOLMOD: the factor has more entries than 64-bit integers count");
  }
  *bytes = a->symbolic ? (int64_t)(8 * (a->symbolic->ssize + 3 * a->symbolic->nsuper + 3 * a->symbolic->n)) : 0;
  *part = a, a = NULL;
done:
  lac_free(order);
  engine_cholmod_forget(a);
  return status;
}

// -- factor ----------------------------------------------------------------------------------------------------------

static void engine_cholmod_destroy(void *numeric) {
  cholmod_numeric *f = numeric;
  if (!f) return;
  if (f->l) (f->l->itype == CHOLMOD_LONG ? cholmod_destroy_wide : cholmod_destroy_narrow)(f);
  lac_free(f);
}

// Threads of its own that CHOLMOD begins where it was built with OpenMP, which ends the process when it cannot; by then
// the factor and a work space no larger are taken.
static lac_status cholmod_ask(const lac_direct_job *job, lac_fault *fault) {
  const cholmod_part *a = job->part;
  double size = job->dtype == LAC_C128 ? 16 : 8;
  return plugin_ask("CHOLMOD", 2 * a->nnz * size, CHOLMOD_OMP_NUM_THREADS, fault);
}

static lac_status engine_cholmod_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  const cholmod_part *a = job->part;
  cholmod_numeric *f = NULL;
  lac_status status = plugin_check_double("CHOLMOD", "method = \"cholesky\"", job->dtype, fault);

  if (status != LAC_OK) return status;
  f = lac_calloc(1, sizeof *f);
  if (!f) return plugin_fault(fault, LAC_ERR_MEMORY, "out of memory: a factor of CHOLMOD");
  f->dtype = job->dtype;
  f->smallest = 1;
  f->where = -1;
  f->det = (lac_polar){.sign_re = 1};
  status = plugin_enter(job->threads, fault);
  if (status == LAC_OK) {
    status = cholmod_ask(job, fault);
    if (status == LAC_OK && a->n > 0)
      status = (a->is_wide ? cholmod_factor_wide : cholmod_factor_narrow)(job, f, fault);
    plugin_leave(job->threads);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  engine_cholmod_destroy(f);
  return status;
}

static void cholmod_conjugate(lac_dtype dtype, int64_t count, double *block) {
  for (int64_t i = 0; dtype == LAC_C128 && i < count; i++) block[2 * i + 1] = -block[2 * i + 1];
}

static lac_status engine_cholmod_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                                       const void *b, void *x, void *work, lac_fault *fault) {
  const cholmod_part *a = part;
  const cholmod_numeric *f = numeric;
  int64_t count = (int64_t)a->n * width;
  size_t size = f->dtype == LAC_C128 ? 2 * sizeof(double) : sizeof(double);
  lac_status status;

  if (a->n == 0) return LAC_OK;
  plugin_to_columns(a->n, width, size, b, work);
  if (form == LAC_PLAIN) cholmod_conjugate(f->dtype, count, work);
  status = plugin_enter(threads, fault);
  if (status != LAC_OK) return status;
  status = (a->is_wide ? cholmod_solve_wide : cholmod_solve_narrow)(f, width, work, x, fault);
  plugin_leave(threads);
  if (status != LAC_OK) return status;
  if (form == LAC_PLAIN) cholmod_conjugate(f->dtype, count, x);
  if (width == 1) return LAC_OK;
  plugin_to_rows(a->n, width, size, x, work);
  memcpy(x, work, (size_t)count * size);
  return LAC_OK;
}

// -- what it says ----------------------------------------------------------------------------------------------------

static bool engine_cholmod_is_stable(const lac_solver_options *options) { return (void)options, true; }

static lac_status engine_cholmod_logdet(const void *part, const void *numeric, lac_polar *out) {
  (void)part;
  *out = ((const cholmod_numeric *)numeric)->det;
  return LAC_OK;
}

// What CHOLMOD chose; an order that was handed in is the one that was asked for.
static const char *cholmod_ordering(int ordering) {
  switch (ordering) {
    case CHOLMOD_AMD:
      return "amd";
    case CHOLMOD_METIS:
      return "metis";
    case CHOLMOD_NATURAL:
      return "natural";
    default:
      return NULL;
  }
}

static void engine_cholmod_foresee(const void *part, lac_dtype dtype, lac_finding *finding) {
  const cholmod_part *a = part;
  const cholmod_factor *l = a->symbolic;
  bool is_complex = dtype == LAC_C128 || dtype == LAC_C64;
  if (!l) return;
  size_t number = (is_complex ? 2 : 1) * sizeof(double), index = a->is_wide ? sizeof(int64_t) : sizeof(int32_t);
  finding->ordering = cholmod_ordering(l->ordering);
  finding->nnz = (int64_t)a->nnz;
  finding->flops = a->flops * (is_complex ? 4 : 1);
  finding->bytes = (int64_t)(l->xsize * number + (l->ssize + 3 * l->nsuper + 2 * l->n) * index);
  finding->work_bytes = (int64_t)(l->maxcsize * number + 6 * l->n * index);
}

static void engine_cholmod_report(const void *part, const void *numeric, lac_finding *finding) {
  const cholmod_numeric *f = numeric;
  engine_cholmod_foresee(part, f->dtype, finding);
  finding->smallest = f->smallest;
  finding->where = f->where;
}

const lac_direct_table engine_cholmod = {
    .name = "cholmod",
    .is_foreign = true,
    .needs_hermitian = true,
    .is_stable = engine_cholmod_is_stable,
    .analyse = engine_cholmod_analyse,
    .forget = engine_cholmod_forget,
    .foresee = engine_cholmod_foresee,
    .factor = engine_cholmod_factor,
    .solve = engine_cholmod_solve,
    .logdet = engine_cholmod_logdet,
    .report = engine_cholmod_report,
    .destroy = engine_cholmod_destroy,
};
