// SPDX-License-Identifier: Apache-2.0
/// @file klu.c
/// KLU: block triangular form, then LU column by column, the diagonal preferred. Made for circuits.
///
///     P R A Q = L U + F          block by block; F above the blocks; R divides every row by its largest number
///     logdet     det A = sign(P) sign(Q) prod u_kk / prod r_i
///
/// AUTO and AMD are KLU's own (block triangular form, AMD inside the blocks); other orderings are the core's, handed
/// in, and there are no blocks then. A refactorisation keeps the pivots of the factor it is like, of which it takes a
/// copy.

#include <klu.h>
#include <math.h>
#include <string.h>

#include "core/memory_impl.h"
#include "solvers/direct/method/determinant.h"
#include "solvers/engines/suitesparse/tables.h"

enum { KLU_COMPLEX = 1, KLU_WIDE = 2 };

static const double KLU_GROWTH = 1e8;  // beyond it the pivots of another matrix do not suit

typedef struct klu_part {
  int32_t n;
  bool is_wide;          // from the beginning
  int32_t *order;        // NULL: KLU's own
  pthread_mutex_t lock;  // of what follows
  klu_symbolic *narrow;
  klu_l_symbolic *wide;
} klu_part;

typedef struct klu_lu {
  void *lu;  // klu_numeric or klu_l_numeric; NULL where n = 0
  int variant;
  lac_polar det;
  lac_finding finding;
} klu_lu;

static lac_status klu_problem(int64_t status, int64_t column, lac_fault *fault) {
  if (status == KLU_OUT_OF_MEMORY) return plugin_fault(fault, LAC_ERR_MEMORY, "KLU is out of memory");
  if (status == KLU_SINGULAR) {
    return plugin_fault(fault, LAC_ERR_SINGULAR, "the matrix is singular: pivot 0 of KLU in column %lld",
                        (long long)column);
  }
  return plugin_fault(fault, LAC_ERR_BACKEND, "KLU fails with status %d", (int)status);
}

// Analyses are the same for real and complex matrices.
#define INT int
#define SYMBOLIC klu_symbolic
#define COMMON klu_common
#define CALL(name) klu_##name
#define FN(name) name##_narrow
#include "solvers/engines/suitesparse/klu_symbolic_kernel.h"
#define INT SuiteSparse_long
#define SYMBOLIC klu_l_symbolic
#define COMMON klu_l_common
#define CALL(name) klu_l_##name
#define FN(name) name##_wide
#include "solvers/engines/suitesparse/klu_symbolic_kernel.h"

#define INT int
#define SYMBOLIC klu_symbolic
#define NUMERIC klu_numeric
#define COMMON klu_common
#define CALL(name) klu_##name
#define CALL_ANY(name) klu_##name
#define FN(name) name##_di
#define CONJUGATE
#define PARTS 1
#include "solvers/engines/suitesparse/klu_kernel.h"
#define INT int
#define SYMBOLIC klu_symbolic
#define NUMERIC klu_numeric
#define COMMON klu_common
#define CALL(name) klu_z_##name
#define CALL_ANY(name) klu_##name
#define FN(name) name##_zi
#define CONJUGATE , 0
#define PARTS 2
#include "solvers/engines/suitesparse/klu_kernel.h"
#define INT SuiteSparse_long
#define SYMBOLIC klu_l_symbolic
#define NUMERIC klu_l_numeric
#define COMMON klu_l_common
#define CALL(name) klu_l_##name
#define CALL_ANY(name) klu_l_##name
#define FN(name) name##_dl
#define CONJUGATE
#define PARTS 1
#include "solvers/engines/suitesparse/klu_kernel.h"
#define INT SuiteSparse_long
#define SYMBOLIC klu_l_symbolic
#define NUMERIC klu_l_numeric
#define COMMON klu_l_common
#define CALL(name) klu_zl_##name
#define CALL_ANY(name) klu_l_##name
#define FN(name) name##_zl
#define CONJUGATE , 0
#define PARTS 2
#include "solvers/engines/suitesparse/klu_kernel.h"

#define VARIANTS(name) \
  { name##_di, name##_zi, name##_dl, name##_zl }
typedef int64_t klu_factor_kernel(const lac_direct_job *, const void *, klu_lu *, lac_fault *, lac_status *);
typedef lac_status klu_solve_kernel(const void *, const klu_lu *, lac_form, int, double *, lac_fault *);
typedef void klu_free_kernel(void **);
static klu_factor_kernel *const klu_factor_kernels[] = VARIANTS(klu_factor);
static klu_solve_kernel *const klu_solve_kernels[] = VARIANTS(klu_solve);
static klu_free_kernel *const klu_free_kernels[] = VARIANTS(klu_free);

// -- analysis --------------------------------------------------------------------------------------------------------

static void engine_klu_forget(void *part) {
  klu_part *a = part;
  if (!a) return;
  klu_forget_narrow(&a->narrow);
  klu_forget_wide(&a->wide);
  pthread_mutex_destroy(&a->lock);
  lac_free(a->order);
  lac_free(a);
}

static lac_status klu_symbolic_get(klu_part *a, const lac_structure *s, bool is_wide, lac_fault *fault) {
  lac_status status = LAC_OK;
  pthread_mutex_lock(&a->lock);
  if (is_wide && !a->wide) status = klu_analyse_wide(s, a->order, &a->wide, fault);
  if (!is_wide && !a->narrow) status = klu_analyse_narrow(s, a->order, &a->narrow, fault);
  pthread_mutex_unlock(&a->lock);
  return status;
}

static lac_status engine_klu_analyse(lac_context *ctx, const lac_structure *s, lac_ordering ordering, void **part,
                                     int64_t *bytes) {
  lac_status status = LAC_OK;
  klu_part *a = NULL;
  lac_fault fault = {.text = ""};

  LAC_ALLOC(a, 1);
  pthread_mutex_init(&a->lock, NULL);
  a->n = s->n;
  a->is_wide = plugin_is_wide(s);
  if (ordering == LAC_ORDER_METIS || ordering == LAC_ORDER_NATURAL) {
    LAC_ALLOC(a->order, s->n);
    LAC_TRY(plugin_order(ctx, s, ordering, a->order));
  }
  if (s->n > 0) {
    lac_status made = klu_symbolic_get(a, s, a->is_wide, &fault);
    LAC_CHECK(made == LAC_OK, made, "lac_solver_create: %s", fault.text);
  }
  *bytes = (int64_t)sizeof *a + 32 * s->n;
  *part = a, a = NULL;
done:
  engine_klu_forget(a);
  return status;
}

// -- factor ----------------------------------------------------------------------------------------------------------

static void engine_klu_clear(klu_lu *f) {
  if (f->lu) klu_free_kernels[f->variant](&f->lu);
}

static void engine_klu_destroy(void *numeric) {
  klu_lu *f = numeric;
  if (!f) return;
  engine_klu_clear(f);
  lac_free(f);
}

static const void *klu_symbolic_of(const klu_part *a, int variant) {
  return variant & KLU_WIDE ? (const void *)a->wide : (const void *)a->narrow;
}

// Returns KLU's own status.
static int64_t klu_try(const lac_direct_job *job, klu_lu *f, lac_fault *fault, lac_status *status) {
  klu_part *a = (klu_part *)job->part;  // it grows under its lock
  *status = klu_symbolic_get(a, job->structure, f->variant & KLU_WIDE, fault);
  if (*status != LAC_OK) return KLU_INVALID;
  return klu_factor_kernels[f->variant](job, klu_symbolic_of(a, f->variant), f, fault, status);
}

static lac_status engine_klu_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  const klu_part *a = job->part;
  const klu_lu *like = job->like;
  klu_lu *f = NULL;
  lac_status status = plugin_check_double("KLU", "method = \"lu\"", job->dtype, fault);

  if (status != LAC_OK) return status;
  f = lac_calloc(1, sizeof *f);
  if (!f) return plugin_fault(fault, LAC_ERR_MEMORY, "out of memory: a factor of KLU");
  f->variant =
      (job->dtype == LAC_C128 ? KLU_COMPLEX : 0) + (a->is_wide || (like && like->variant & KLU_WIDE) ? KLU_WIDE : 0);
  f->det = (lac_polar){.sign_re = 1};
  f->finding = (lac_finding){.smallest = 1, .where = -1};
  if (a->n > 0 && klu_try(job, f, fault, &status) == KLU_TOO_LARGE && !(f->variant & KLU_WIDE)) {
    lac_direct_job wide = *job;  // pivots in narrow indices cannot be taken over
    wide.like = NULL;
    engine_klu_clear(f);
    f->variant += KLU_WIDE;
    klu_try(&wide, f, fault, &status);
  }
  if (status == LAC_OK) *numeric = f, f = NULL;
  engine_klu_destroy(f);
  return status;
}

static lac_status engine_klu_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                                   const void *b, void *x, void *work, lac_fault *fault) {
  const klu_part *a = part;
  const klu_lu *f = numeric;
  size_t size = (f->variant & KLU_COMPLEX ? 2 : 1) * sizeof(double);
  lac_status status;

  (void)threads;
  if (a->n == 0) return LAC_OK;
  plugin_to_columns(a->n, width, size, b, work);
  status = klu_solve_kernels[f->variant](klu_symbolic_of(a, f->variant), f, form, width, work, fault);
  if (status == LAC_OK) plugin_to_rows(a->n, width, size, work, x);
  return status;
}

// -- what it says ----------------------------------------------------------------------------------------------------

static bool engine_klu_is_stable(const lac_solver_options *options) { return options->pivot_tolerance >= 0.1; }

static lac_status engine_klu_logdet(const void *part, const void *numeric, lac_polar *out) {
  (void)part;
  *out = ((const klu_lu *)numeric)->det;
  return LAC_OK;
}

static void engine_klu_report(const void *part, const void *numeric, lac_finding *finding) {
  (void)part;
  *finding = ((const klu_lu *)numeric)->finding;
}

const lac_direct_table engine_klu = {
    .name = "klu",
    .is_foreign = true,
    .is_stable = engine_klu_is_stable,
    .analyse = engine_klu_analyse,
    .forget = engine_klu_forget,
    .factor = engine_klu_factor,
    .solve = engine_klu_solve,
    .logdet = engine_klu_logdet,
    .report = engine_klu_report,
    .destroy = engine_klu_destroy,
};
