// SPDX-License-Identifier: Apache-2.0
/// @file mumps.c
/// MUMPS, sequential: multifrontal L D L^T and LU with delayed pivots, for all four dtypes.
///
/// Which of them the values decide: real symmetric matrices with a positive diagonal are tried as positive definite,
/// and taken as indefinite where a pivot turns out negative; other symmetric ones (complex: equal to their transpose)
/// are L D L^T; the rest, Hermitian matrices included, is LU. Its analysis and its factor are one object, so that what
/// is kept with the pattern is the order, which makes the analysis cheap. Where the diagonal is not full MUMPS chooses
/// its order by the values, matching rows and columns, and each factor has its own.
///
/// Its state is global: all calls are made under one lock. Memory that it lacks it reports (codes -5, -7, -13, ...), as
/// far as its own checks reach; the buffers of its BLAS are had before it is called (plugin_enter).

#include <cmumps_c.h>
#include <dmumps_c.h>
#include <math.h>
#include <smumps_c.h>
#include <string.h>
#include <zmumps_c.h>

#include "core/memory_impl.h"
#include "solvers/direct/method/determinant.h"
#include "solvers/engines/plugin/plugin.h"

enum { MUMPS_UNSYMMETRIC, MUMPS_POSITIVE, MUMPS_SYMMETRIC };
enum { MUMPS_ONE_PROCESS = -987654, MUMPS_GROWTHS = 8 };

typedef struct mumps_part {
  int32_t n;
  const char *ordering;  // MUMPS' own, where it was asked without values
  MUMPS_INT *place;      // of a row in the order, from 1; NULL: each factor finds its own
} mumps_part;

typedef struct mumps_numeric {
  void *instance;  // NULL where n = 0
  lac_dtype dtype;
  lac_polar det;
  lac_finding finding;
} mumps_numeric;

/// A matrix as MUMPS takes it: rows and columns from 1, one triangle of a symmetric one.
typedef struct mumps_entries {
  int64_t count;
  MUMPS_INT *rows, *columns;
  int64_t *slots;  // NULL: all, as they come
} mumps_entries;

static pthread_mutex_t mumps_lock = PTHREAD_MUTEX_INITIALIZER;

static void mumps_entries_close(mumps_entries *e) {
  lac_free(e->rows);
  lac_free(e->columns);
  lac_free(e->slots);
}

static bool mumps_entries_open(const lac_structure *s, bool is_symmetric, mumps_entries *e) {
  *e = (mumps_entries){.rows = lac_alloc((size_t)s->nnz * sizeof *e->rows),
                       .columns = lac_alloc((size_t)s->nnz * sizeof *e->columns),
                       .slots = is_symmetric ? lac_alloc((size_t)s->nnz * sizeof *e->slots) : NULL};
  if (!e->rows || !e->columns || (is_symmetric && !e->slots)) return false;
  for (int32_t i = 0; i < s->n; i++) {
    for (int64_t p = s->offsets[i]; p < s->offsets[i + 1]; p++) {
      if (is_symmetric && s->columns[p] > i) break;
      if (is_symmetric) e->slots[e->count] = p;
      e->rows[e->count] = i + 1;
      e->columns[e->count++] = s->columns[p] + 1;
    }
  }
  return true;
}

// The orders that MUMPS has, by its own numbers.
static const char *mumps_ordering(MUMPS_INT number) {
  static const char *const names[] = {"amd", NULL, "amf", "scotch", "pord", "metis", "qamd"};
  return number >= 0 && number < 7 ? names[number] : NULL;
}

static lac_status mumps_problem(int64_t code, int64_t detail, lac_fault *fault) {
  switch (code) {
    case -5:
    case -7:
    case -8:
    case -9:
    case -13:
    case -19:
      return plugin_fault(fault, LAC_ERR_MEMORY, "MUMPS is out of memory (its code %lld)", (long long)code);
    case -2:  // no entries
    case -6:
      return plugin_fault(fault, LAC_ERR_SINGULAR, "the matrix is structurally singular: MUMPS finds rank %lld",
                          (long long)detail);
    case -10:
      if (detail < 0) return plugin_fault(fault, LAC_ERR_SINGULAR, "the matrix is singular: MUMPS meets a pivot 0");
      return plugin_fault(fault, LAC_ERR_SINGULAR, "the matrix is singular: pivot 0 of MUMPS in row %lld",
                          (long long)detail);
    default:
      return plugin_fault(fault, LAC_ERR_BACKEND, "MUMPS fails with code %lld, %lld", (long long)code,
                          (long long)detail);
  }
}

#define STRUC SMUMPS_STRUC_C
#define CALL smumps_c
#define REAL float
#define PARTS 1
#define FN(name) name##_s
#include "solvers/engines/mumps/mumps_kernel.h"
#define STRUC DMUMPS_STRUC_C
#define CALL dmumps_c
#define REAL double
#define PARTS 1
#define FN(name) name##_d
#include "solvers/engines/mumps/mumps_kernel.h"
#define STRUC CMUMPS_STRUC_C
#define CALL cmumps_c
#define REAL float
#define PARTS 2
#define FN(name) name##_c
#include "solvers/engines/mumps/mumps_kernel.h"
#define STRUC ZMUMPS_STRUC_C
#define CALL zmumps_c
#define REAL double
#define PARTS 2
#define FN(name) name##_z
#include "solvers/engines/mumps/mumps_kernel.h"

#define VARIANTS(name) \
  { name##_s, name##_d, name##_c, name##_z }  // as lac_dtype has them
typedef lac_status mumps_factor_kernel(const lac_direct_job *, mumps_numeric *, lac_fault *);
typedef lac_status mumps_solve_kernel(const mumps_numeric *, lac_form, int, void *, lac_fault *);
typedef void mumps_close_kernel(void *);
static mumps_factor_kernel *const mumps_factor_kernels[] = VARIANTS(mumps_factor);
static mumps_solve_kernel *const mumps_solve_kernels[] = VARIANTS(mumps_solve);
static mumps_close_kernel *const mumps_close_kernels[] = VARIANTS(mumps_close);
static const size_t mumps_sizes[] = {sizeof(float), sizeof(double), 2 * sizeof(float), 2 * sizeof(double)};

// -- analysis --------------------------------------------------------------------------------------------------------

static void engine_mumps_forget(void *part) {
  mumps_part *a = part;
  if (!a) return;
  lac_free(a->place);
  lac_free(a);
}

// The order that MUMPS itself chooses for the pattern.
static lac_status mumps_order(const lac_structure *s, mumps_part *a, lac_fault *fault) {
  mumps_entries e;
  DMUMPS_STRUC_C *id = NULL;
  lac_status status = LAC_OK;

  if (mumps_entries_open(s, true, &e)) id = mumps_open_d(MUMPS_SYMMETRIC);
  if (id) {
    id->n = s->n;
    id->nnz = e.count;
    id->irn = e.rows;
    id->jcn = e.columns;
    id->icntl[5] = id->icntl[7] = 0;  // no matching and no scaling: there are no values yet
    id->icntl[11] = 1;                // an order of the plain graph
    id->job = 1;
    dmumps_c(id);
    if (id->infog[0] < 0) {
      status = mumps_problem(id->infog[0], id->infog[1], fault);
    } else {
      memcpy(a->place, id->sym_perm, (size_t)s->n * sizeof *a->place);
      a->ordering = mumps_ordering(id->infog[6]);
    }
    mumps_close_d(id);
  } else {
    status = mumps_problem(-13, 0, fault);
  }
  mumps_entries_close(&e);
  return status;
}

static lac_status mumps_place(lac_context *ctx, const lac_structure *s, lac_ordering ordering, MUMPS_INT *place) {
  lac_status status = LAC_OK;
  int32_t *order = NULL;

  LAC_ALLOC(order, s->n);
  LAC_TRY(plugin_order(ctx, s, ordering, order));
  for (int32_t k = 0; k < s->n; k++) place[order[k]] = k + 1;
done:
  lac_free(order);
  return status;
}

static lac_status engine_mumps_analyse(lac_context *ctx, const lac_structure *s, lac_ordering ordering, void **part,
                                       int64_t *bytes) {
  lac_status status = LAC_OK;
  mumps_part *a = NULL;
  bool is_own = ordering == LAC_ORDER_AUTO, by_values = is_own && (!s->is_symmetric || s->diagonals < s->n);
  lac_fault fault = {.text = ""};

  LAC_ALLOC(a, 1);
  a->n = s->n;
  if (s->n > 0 && !by_values) {
    LAC_ALLOC(a->place, s->n);
    if (is_own) {
      pthread_mutex_lock(&mumps_lock);
      lac_status made = mumps_order(s, a, &fault);
      pthread_mutex_unlock(&mumps_lock);
      LAC_CHECK(made == LAC_OK, made, "lac_solver_create: %s", fault.text);
    } else {
      LAC_TRY(mumps_place(ctx, s, ordering, a->place));
    }
  }
  *bytes = (int64_t)sizeof *a + s->n * (int64_t)sizeof *a->place;
  *part = a, a = NULL;
done:
  engine_mumps_forget(a);
  return status;
}

// -- factor ----------------------------------------------------------------------------------------------------------

static void engine_mumps_destroy(void *numeric) {
  mumps_numeric *f = numeric;
  if (!f) return;
  pthread_mutex_lock(&mumps_lock);
  if (f->instance) mumps_close_kernels[f->dtype](f->instance);
  pthread_mutex_unlock(&mumps_lock);
  lac_free(f);
}

static lac_status engine_mumps_factor(const lac_direct_job *job, void **numeric, lac_fault *fault) {
  mumps_numeric *f = lac_calloc(1, sizeof *f);
  lac_status status = LAC_OK;

  if (!f) return plugin_fault(fault, LAC_ERR_MEMORY, "out of memory: a factor of MUMPS");
  f->dtype = job->dtype;
  f->det = (lac_polar){.sign_re = 1};
  f->finding = (lac_finding){.smallest = 0, .where = -1};  // MUMPS does not report its pivots: each factor is in doubt
  pthread_mutex_lock(&mumps_lock);
  status = plugin_enter(job->threads, fault);
  if (status == LAC_OK) {
    if (job->structure->n > 0) status = mumps_factor_kernels[job->dtype](job, f, fault);
    plugin_leave(job->threads);
  }
  pthread_mutex_unlock(&mumps_lock);
  if (status == LAC_OK) *numeric = f, f = NULL;
  engine_mumps_destroy(f);
  return status;
}

static lac_status engine_mumps_solve(const void *part, const void *numeric, lac_form form, int width, int threads,
                                     const void *b, void *x, void *work, lac_fault *fault) {
  const mumps_part *a = part;
  const mumps_numeric *f = numeric;
  lac_status status;

  if (a->n == 0) return LAC_OK;
  plugin_to_columns(a->n, width, mumps_sizes[f->dtype], b, work);
  pthread_mutex_lock(&mumps_lock);
  status = plugin_enter(threads, fault);
  if (status == LAC_OK) {
    status = mumps_solve_kernels[f->dtype](f, form, width, work, fault);
    plugin_leave(threads);
  }
  pthread_mutex_unlock(&mumps_lock);
  if (status == LAC_OK) plugin_to_rows(a->n, width, mumps_sizes[f->dtype], work, x);
  return status;
}

// -- what it says ----------------------------------------------------------------------------------------------------

static bool engine_mumps_is_stable(const lac_solver_options *options) { return options->pivot_tolerance >= 0.1; }

static lac_status engine_mumps_logdet(const void *part, const void *numeric, lac_polar *out) {
  (void)part;
  *out = ((const mumps_numeric *)numeric)->det;
  return LAC_OK;
}

static void engine_mumps_report(const void *part, const void *numeric, lac_finding *finding) {
  (void)part;
  *finding = ((const mumps_numeric *)numeric)->finding;
}

static const lac_direct_table engine_mumps = {
    .name = "mumps",
    .is_foreign = true,
    .is_stable = engine_mumps_is_stable,
    .analyse = engine_mumps_analyse,
    .forget = engine_mumps_forget,
    .factor = engine_mumps_factor,
    .solve = engine_mumps_solve,
    .logdet = engine_mumps_logdet,
    .report = engine_mumps_report,
    .destroy = engine_mumps_destroy,
};

LAC_API lac_plugin_open lac_plugin_mumps;

const void *lac_plugin_mumps(const lac_host *host, const void *more) {
  static const lac_direct_table *const methods[] = {&engine_mumps, NULL};
  static const lac_engine engine = {.methods = methods};
  return plugin_start(host, more) ? &engine : NULL;
}
