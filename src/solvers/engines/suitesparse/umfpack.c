// SPDX-License-Identifier: Apache-2.0
/// @file umfpack.c
/// UMFPACK: multifrontal LU with threshold partial pivoting.
///
///     P R A Q = L U              R divides every row by its largest number
///     logdet     det A = sign(P) sign(Q) prod u_kk / prod r_i
///
/// Solves work in memory of their own, so that threads share a factor. Analyses of real and complex matrices, with
/// narrow and wide indices, are different objects; each is made when it is first needed.

#include <math.h>
#include <string.h>
#include <umfpack.h>

#include "core/memory_impl.h"
#include "solvers/direct/method/determinant.h"
#include "solvers/engines/suitesparse/tables.h"

enum { UMFPACK_COMPLEX = 1, UMFPACK_WIDE = 2, UMFPACK_VARIANTS = 4 };

typedef struct umfpack_part {
  int32_t n;
  bool is_wide;  // from the beginning
  lac_ordering ordering;
  pthread_mutex_t lock;  // of what follows
  void *symbolic[UMFPACK_VARIANTS];
} umfpack_part;

typedef struct umfpack_numeric {
  void *lu;  // NULL where n = 0
  int variant;
  lac_polar det;
  lac_finding finding;
} umfpack_numeric;

static lac_status umfpack_problem(double status, lac_fault *fault) {
  if (status == UMFPACK_ERROR_out_of_memory) {
    return plugin_fault(fault, LAC_ERR_MEMORY, "UMFPACK is out of memory");
  }
  if (status == UMFPACK_ERROR_ordering_failed) {
    return plugin_fault(fault, LAC_ERR_UNSUPPORTED, "this UMFPACK cannot make the ordering; use LAC_ORDER_AMD");
  }
  return plugin_fault(fault, LAC_ERR_BACKEND, "UMFPACK fails with status %d", (int)status);
}

// Diagonal entries are preferred down to the cube of the tolerance: UMFPACK's own default where the tolerance is ours.
static void umfpack_choose(lac_ordering ordering, double tolerance, double *control) {
  control[UMFPACK_PRL] = 0;
  control[UMFPACK_IRSTEP] = 0;
  control[UMFPACK_SCALE] = UMFPACK_SCALE_MAX;
  control[UMFPACK_PIVOT_TOLERANCE] = tolerance;
  control[UMFPACK_SYM_PIVOT_TOLERANCE] = tolerance * tolerance * tolerance;
  if (ordering == LAC_ORDER_METIS) control[UMFPACK_ORDERING] = UMFPACK_ORDERING_METIS;
  if (ordering == LAC_ORDER_NATURAL) control[UMFPACK_ORDERING] = UMFPACK_ORDERING_NONE;
}

#define INT int
#define CALL(name) umfpack_di_##name
#define FN(name) name##_di
#define IMAGINARY
#define PARTS 1
#include "solvers/engines/suitesparse/umfpack_kernel.h"
#define INT int
#define CALL(name) umfpack_zi_##name
#define FN(name) name##_zi
#define IMAGINARY , NULL
#define PARTS 2
#include "solvers/engines/suitesparse/umfpack_kernel.h"
#define INT SuiteSparse_long
#define CALL(name) umfpack_dl_##name
#define FN(name) name##_dl
#define IMAGINARY
#define PARTS 1
#include "solvers/engines/suitesparse/umfpack_kernel.h"
#define INT SuiteSparse_long
#define CALL(name) umfpack_zl_##name
#define FN(name) name##_zl
#define IMAGINARY , NULL
#define PARTS 2
#include "solvers/engines/suitesparse/umfpack_kernel.h"

#define VARIANTS(name) \
  { name##_di, name##_zi, name##_dl, name##_zl }
typedef lac_status umfpack_symbolic_kernel(const lac_structure *, lac_ordering, void **, lac_fault *);
typedef lac_status umfpack_factor_kernel(const lac_direct_job *, void *, umfpack_numeric *, bool *, lac_fault *);
typedef lac_status umfpack_solve_kernel(const umfpack_numeric *, int32_t, lac_form, int, const double *, double *,
                                        lac_fault *);
typedef void umfpack_free_kernel(void **);
static umfpack_symbolic_kernel *const umfpack_symbolic_kernels[] = VARIANTS(umfpack_symbolic);
static umfpack_factor_kernel *const umfpack_factor_kernels[] = VARIANTS(umfpack_factor);
static umfpack_solve_kernel *const umfpack_solve_kernels[] = VARIANTS(umfpack_solve);
static umfpack_free_kernel *const umfpack_symbolic_frees[] = {umfpack_di_free_symbolic, umfpack_zi_free_symbolic,
                                                              umfpack_dl_free_symbolic, umfpack_zl_free_symbolic};
static umfpack_free_kernel *const umfpack_numeric_frees[] = {umfpack_di_free_numeric, umfpack_zi_free_numeric,
                                                             umfpack_dl_free_numeric, umfpack_zl_free_numeric};

// -- analysis --------------------------------------------------------------------------------------------------------

static void engine_umfpack_forget(void *part) {
  umfpack_part *a = part;
  if (!a) return;
  for (int v = 0; v < UMFPACK_VARIANTS; v++) {
    if (a->symbolic[v]) umfpack_symbolic_frees[v](&a->symbolic[v]);
  }
  pthread_mutex_destroy(&a->lock);
  lac_free(a);
}

static lac_status umfpack_symbolic_get(umfpack_part *a, const lac_structure *s, int variant, void **symbolic,
                                       lac_fault *fault) {
  lac_status status = LAC_OK;
  pthread_mutex_lock(&a->lock);
  if (!a->symbolic[variant]) {
    status = umfpack_symbolic_kernels[variant](s, a->ordering, &a->symbolic[variant], fault);
  }
  *symbolic = a->symbolic[variant];
  pthread_mutex_unlock(&a->lock);
  return status;
}

static lac_status engine_umfpack_analyse(lac_context *ctx, const lac_structure *s, lac_ordering ordering, void **part,
                                         int64_t *bytes) {
  lac_status status = LAC_OK;
  umfpack_part *a = NULL;
  void *symbolic;
  lac_fault fault = {.text = ""};

  LAC_ALLOC(a, 1);
  pthread_mutex_init(&a->lock, NULL);
  a->n = s->n;
  a->ordering = ordering;
  a->is_wide = plugin_is_wide(s);
  if (s->n > 0) {
    lac_status made = umfpack_symbolic_get(a, s, a->is_wide ? UMFPACK_WIDE : 0, &symbolic, &fault);
    LAC_CHECK(made == LAC_OK, made, "lac_solver_create: %s", fault.text);
  }
  *bytes = (int64_t)sizeof *a + 8 * (s->n + s->nnz);
  *part = a, a = NULL;
done:
  engine_umfpack_forget(a);
  return status;
}

// -- factor ----------------------------------------------------------------------------------------------------------

static void engine_umfpack_destroy(void *numeric) {
  umfpack_numeric *f = numeric;
  if (!f) return;
  if (f->lu) umfpack_numeric_frees[f->variant](&f->lu);
  lac_free(f);
}

static lac_status umfpack_try(const lac_direct_job *job, umfpack_numeric *f, bool *is_large, lac_fault *fault) {
  void *symbolic;
  lac_status status =
      umfpack_symbolic_get((umfpack_part *)job->part, job->structure, f->variant, &symbolic, fault);  // under its lock
  if (status != LAC_OK) return status;
  return umfpack_factor_kernels[f->variant](job, symbolic, f, is_large, fault);
}

static lac_status engine_umfpack_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  const umfpack_part *a = job->part;
  umfpack_numeric *f = NULL;
  bool is_large = false;
  lac_status status = plugin_check_double("UMFPACK", "method = \"lu\"", job->dtype, fault);

  if (status != LAC_OK) return status;
  f = lac_calloc(1, sizeof *f);
  if (!f) return plugin_fault(fault, LAC_ERR_MEMORY, "out of memory: a factor of UMFPACK");
  f->variant = (job->dtype == LAC_C128 ? UMFPACK_COMPLEX : 0) + (a->is_wide ? UMFPACK_WIDE : 0);
  f->det = (lac_polar){.sign_re = 1};
  f->finding = (lac_finding){.smallest = 1, .where = -1};
  status = plugin_enter(job->threads, fault);
  if (status == LAC_OK) {
    if (a->n > 0) status = umfpack_try(job, f, &is_large, fault);
    if (is_large && !a->is_wide) {
      f->variant += UMFPACK_WIDE;
      status = umfpack_try(job, f, &is_large, fault);
    }
    plugin_leave(job->threads);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  engine_umfpack_destroy(f);
  return status;
}

static lac_status engine_umfpack_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                                       const void *b, void *x, void *work, lac_fault *fault) {
  const umfpack_numeric *f = numeric;
  int32_t n = ((const umfpack_part *)part)->n;
  size_t size = (f->variant & UMFPACK_COMPLEX ? 2 : 1) * sizeof(double);
  lac_status status;

  (void)threads;
  if (n == 0) return LAC_OK;
  plugin_to_columns(n, width, size, b, work);
  status = umfpack_solve_kernels[f->variant](f, n, form, width, work, x, fault);
  if (status != LAC_OK || width == 1) return status;
  plugin_to_rows(n, width, size, x, work);
  memcpy(x, work, (size_t)n * (size_t)width * size);
  return LAC_OK;
}

// -- what it says ----------------------------------------------------------------------------------------------------

static bool engine_umfpack_is_stable(const lac_solver_options *options) { return options->pivot_tolerance >= 0.1; }

static lac_status engine_umfpack_logdet(const void *part, const void *numeric, lac_polar *out) {
  (void)part;
  *out = ((const umfpack_numeric *)numeric)->det;
  return LAC_OK;
}

static void engine_umfpack_report(const void *part, const void *numeric, lac_finding *finding) {
  (void)part;
  *finding = ((const umfpack_numeric *)numeric)->finding;
}

const lac_direct_table engine_umfpack = {
    .name = "umfpack",
    .is_foreign = true,
    .is_stable = engine_umfpack_is_stable,
    .analyse = engine_umfpack_analyse,
    .forget = engine_umfpack_forget,
    .factor = engine_umfpack_factor,
    .solve = engine_umfpack_solve,
    .logdet = engine_umfpack_logdet,
    .report = engine_umfpack_report,
    .destroy = engine_umfpack_destroy,
};
