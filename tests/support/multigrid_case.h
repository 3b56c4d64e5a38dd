// SPDX-License-Identifier: Apache-2.0
/// @file multigrid_case.h
/// A matrix with a preconditioner, by its table: set up, applied, iterated with.

#ifndef LACUNA_TESTS_MULTIGRID_CASE_H
#define LACUNA_TESTS_MULTIGRID_CASE_H

#include <math.h>
#include <string.h>

#include "core/number_at.h"
#include "solvers/krylov/krylov.h"
#include "solvers/precondition/preconditioner.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"

typedef struct multigrid_case {
  const lac_preconditioner_table *table;
  lac_pattern *pattern;
  lac_array *values;  // [items, nnz]
  lac_solver_options options;
  lac_setup setup;
  void *part;
} multigrid_case;

/// Item i has the values times 2^i.
static inline void case_open(lac_context *ctx, multigrid_case *s, const lac_preconditioner_table *table,
                             const direct_case *c, lac_width width, int64_t items, bool is_hermitian) {
  lac_meta meta = {.dtype = c->a.meta.dtype, .ndim = 2, .shape = {items, c->s->nnz}};
  ref a = ref_new(&meta);
  for (int64_t i = 0; i < a.count; ++i) a.x[i] = c->a.x[i % c->s->nnz] * ldexp(1, (int)(i / c->s->nnz));
  *s = (multigrid_case){.table = table, .options = lac_solver_options_defaults()};
  CHECK_OK(sketch_pattern(ctx, c->s, width, &s->pattern));
  CHECK_OK(ref_upload(ctx, &a, &s->values));
  s->setup = (lac_setup){.pattern = s->pattern, .values = s->values, .is_hermitian = is_hermitian};
}

static inline void case_set_up(lac_context *ctx, multigrid_case *s) {
  s->setup.options = &s->options;
  CHECK_OK(s->table->create(ctx, &s->setup, &s->part));
}

static inline void case_close(multigrid_case *s) {
  s->table->destroy(s->part);
  lac_array_destroy(&s->values);
  lac_pattern_destroy(&s->pattern);
}

static inline lac_array *case_random(lac_context *ctx, const multigrid_case *s, int64_t k, uint64_t seed) {
  const int64_t shape[] = {s->values->meta.shape[0], s->pattern->rows, k};
  return direct_random(ctx, s->values->meta.dtype, 3, shape, seed);
}

static inline lac_array *case_apply(lac_context *ctx, const multigrid_case *s, lac_form form, const lac_array *b) {
  lac_array *x = NULL;
  CHECK_OK(lac_array_create(ctx, b->meta.dtype, 3, b->meta.shape, &x));
  CHECK_OK(s->table->apply(ctx, s->part, form, b, x));
  return x;
}

static inline bool case_same_bits(lac_context *ctx, const lac_array *x, const lac_array *y) {
  size_t mark = scratch_mark(), bytes = (size_t)x->count * lac_dtype_size(x->meta.dtype);
  void *of_x = scratch(bytes + 1), *of_y = scratch(bytes + 1);
  if (x->count != y->count) return false;
  CHECK_OK(lac_array_read(ctx, x, of_x));
  CHECK_OK(lac_array_read(ctx, y, of_y));
  bool same = memcmp(of_x, of_y, bytes) == 0;
  scratch_release(mark);
  return same;
}

/// Refreshed with its own values it does to the bit what it did; the refreshed part takes the place of the other.
static inline void case_check_refreshed(lac_context *ctx, multigrid_case *s, lac_form form) {
  void *again = NULL;
  CHECK_OK(s->table->refresh(ctx, &s->setup, s->part, &again));
  lac_array *b = case_random(ctx, s, 2, 3), *x = case_apply(ctx, s, form, b), *y = NULL;
  s->table->destroy(s->part);
  s->part = again;
  y = case_apply(ctx, s, form, b);
  CHECK(case_same_bits(ctx, x, y));
  lac_array_destroy(&b), lac_array_destroy(&x), lac_array_destroy(&y);
}

/// One of the matrices of a level: [items, nnz], or blocks [items, nnz, br, bc].
static inline dense case_dense(lac_dtype dtype, const lac_rows *a, const lac_array *array, int64_t item) {
  bool has_blocks = array->meta.ndim > 2;
  int64_t br = has_blocks ? array->meta.shape[array->meta.ndim - 2] : 1;
  int64_t bc = has_blocks ? array->meta.shape[array->meta.ndim - 1] : 1, area = br * bc;
  int64_t before = item * a->columns->count * area;
  dense d = dense_new(a->rows * br, a->cols * bc);
  for (int64_t i = 0; i < a->rows; ++i) {
    for (int64_t p = lac_buffer_get(a->offsets, i); p < lac_buffer_get(a->offsets, i + 1); ++p) {
      number *to = d.x + i * br * d.cols + lac_buffer_get(a->columns, p) * bc;
      for (int64_t n = 0; n < area; ++n)
        to[n / bc * d.cols + n % bc] += lac_number_get(dtype, lac_array_data(array), before + p * area + n);
    }
  }
  return d;
}

static inline void case_check_same(dense a, dense b, double tolerance) {
  double worst = 0, most = 0;
  CHECK_EQ(a.rows, b.rows);
  CHECK_EQ(a.cols, b.cols);
  for (int64_t i = 0; i < a.rows * a.cols; ++i) {
    worst = fmax(worst, cabs(a.x[i] - b.x[i])), most = fmax(most, cabs(a.x[i]));
  }
  CHECK(worst <= tolerance * most);
}

static inline lac_status case_precondition(lac_context *ctx, const void *self, lac_form form, const lac_array *b,
                                           lac_array *x) {
  const multigrid_case *s = self;
  return s->table->apply(ctx, s->part, form, b, x);
}

/// The iterations of flexible CG, or GMRES, to 1e-10 (single: 1e-5); b NULL: random. Checks that it converges.
static inline int64_t case_iterations(lac_context *ctx, const multigrid_case *s, lac_form form, int64_t k,
                                      const lac_array *b) {
  lac_matrix_linear matrix = {s->pattern, s->values};
  lac_iteration iteration = {0};
  lac_solve_report report = {0};
  lac_dtype dtype = s->values->meta.dtype;
  lac_array *x = NULL, *random = b ? NULL : case_random(ctx, s, k, 9);
  lac_krylov_job job = {.a = {.apply = lac_matrix_linear_apply, .self = &matrix},
                        .m = {.apply = case_precondition, .self = s},
                        .form = form};

  iteration.rtol = lac_dtype_real(dtype) == LAC_F32 ? 1e-5 : 1e-10;
  iteration.max_iterations = 200;
  if (!b) b = random;
  CHECK_OK(lac_array_create(ctx, dtype, 3, b->meta.shape, &x));
  CHECK_OK(lac_array_fill(ctx, x, 0, 0));
  job.iteration = &iteration, job.items = b->meta.shape[0], job.rows = job.cols = s->pattern->rows;
  job.width = k, job.dtype = dtype, job.b = b, job.x = x, job.starts_at_zero = true;
  CHECK_OK((s->setup.is_hermitian ? &lac_krylov_flexible_cg : &lac_krylov_flexible_gmres)->run(ctx, &job, &report));
  lac_array_destroy(&x);
  lac_array_destroy(&random);
  if (report.ending != LAC_ENDING_CONVERGED) check_fail(__FILE__, __LINE__, "%s", report.reason);
  return report.iterations;
}

/// sum x y, x conjugated where asked for, and the product of the norms.
static inline number case_inner(lac_context *ctx, const lac_array *x, const lac_array *y, bool conjugates,
                                double *size) {
  ref a, b;
  number sum = 0;
  double xx = 0, yy = 0;
  CHECK_OK(ref_download(ctx, x, &a));
  CHECK_OK(ref_download(ctx, y, &b));
  for (int64_t i = 0; i < a.count; ++i) {
    sum += (conjugates ? conj(a.x[i]) : a.x[i]) * b.x[i];
    xx += creal(a.x[i] * conj(a.x[i])), yy += creal(b.x[i] * conj(b.x[i]));
  }
  *size = sqrt(xx * yy);
  return sum;
}

/// <op(M)^-1 u, v> = <u, other(M)^-1 v> to so many roundings, in full precision with few rows on the coarsest level.
static inline void case_check_adjoint(lac_context *ctx, const lac_preconditioner_table *table, const direct_case *c,
                                      bool is_hermitian, int degree, double roundings, lac_form one, lac_form other,
                                      bool conjugates) {
  multigrid_case s;
  double size = 0;
  case_open(ctx, &s, table, c, LAC_WIDTH_AUTO, 1, is_hermitian);
  s.options.preconditioner.full_precision = 1;
  s.options.preconditioner.coarse_rows = 40;
  s.options.preconditioner.degree = degree;
  case_set_up(ctx, &s);
  lac_array *u = case_random(ctx, &s, 1, 3), *v = case_random(ctx, &s, 1, 4);
  lac_array *mu = case_apply(ctx, &s, one, u), *mv = case_apply(ctx, &s, other, v);
  number left = case_inner(ctx, mu, v, conjugates, &size), right = case_inner(ctx, u, mv, conjugates, &size);
  CHECK(cabs(left - right) <= roundings * direct_rounding(c->a.meta.dtype) * size);
  CHECK(cabs(left) > 0);
  lac_array_destroy(&u), lac_array_destroy(&v), lac_array_destroy(&mu), lac_array_destroy(&mv);
  case_close(&s);
}

/// Diagonals so that rows sum up to zero.
static inline direct_case multigrid_neumann(int64_t side, lac_dtype dtype) {
  direct_case c = direct_make(DIRECT_POISSON, side * side, dtype, 1);
  number *sum = scratch((size_t)c.s->rows * sizeof *sum);
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] != c.s->col[z]) sum[c.s->row[z]] += c.a.x[z];
  }
  for (int64_t z = 0; z < c.s->nnz; ++z) {
    if (c.s->row[z] == c.s->col[z]) c.a.x[z] = -sum[c.s->row[z]];
  }
  return c;
}

/// A batch of no matrices, and a b of no columns: both give nothing.
static inline void case_check_nothing(lac_context *ctx, const lac_preconditioner_table *table) {
  direct_case c = direct_make(DIRECT_POISSON, 40 * 40, LAC_F64, 1);
  for (int64_t items = 0; items < 2; ++items) {
    multigrid_case s;
    case_open(ctx, &s, table, &c, LAC_WIDTH_AUTO, items, true), case_set_up(ctx, &s);
    lac_array *b = case_random(ctx, &s, 1 - items, 5), *x = case_apply(ctx, &s, LAC_PLAIN, b);
    CHECK_EQ(lac_array_count(x), 0);
    lac_array_destroy(&b), lac_array_destroy(&x);
    case_close(&s);
  }
}

/// Iterations for such a matrix, which is singular, with a b that it can give.
static inline int64_t multigrid_neumann_iterations(lac_context *ctx, const lac_preconditioner_table *table,
                                                   int64_t side) {
  direct_case c = multigrid_neumann(side, LAC_F64);
  multigrid_case s;
  ref b;
  number mean = 0;
  case_open(ctx, &s, table, &c, LAC_WIDTH_AUTO, 1, true), case_set_up(ctx, &s);
  lac_array *random = case_random(ctx, &s, 1, 5), *bs = NULL;
  CHECK_OK(ref_download(ctx, random, &b));
  for (int64_t i = 0; i < b.count; ++i) mean += b.x[i] / (double)b.count;
  for (int64_t i = 0; i < b.count; ++i) b.x[i] -= mean;
  CHECK_OK(ref_upload(ctx, &b, &bs));
  int64_t count = case_iterations(ctx, &s, LAC_PLAIN, 1, bs);
  lac_array_destroy(&bs), lac_array_destroy(&random);
  case_close(&s);
  return count;
}

/// A grid of side x side points with two unknowns each: springs along the edges and diagonals, held at one side.
static inline direct_case multigrid_springs(int64_t side, ref *motions) {
  static const int64_t AHEAD[4][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
  int64_t n = 2 * side * side;
  number *full = scratch((size_t)(n * n) * sizeof *full);
  double *real = scratch((size_t)(n * n) * sizeof *real);
  *motions = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {n, 3}});
  for (int64_t p = 0; p < side * side; ++p) {
    int64_t x = p % side, y = p / side;
    motions->x[6 * p] = 1, motions->x[6 * p + 4] = 1;
    motions->x[6 * p + 2] = -(double)y, motions->x[6 * p + 5] = (double)x;
    for (int e = 0; e < 4; ++e) {
      int64_t u = x + AHEAD[e][0], v = y + AHEAD[e][1], q = v * side + u;
      double length = hypot((double)AHEAD[e][0], (double)AHEAD[e][1]);
      if (u >= side || v < 0 || v >= side) continue;
      for (int i = 0; i < 4; ++i) {
        double k = (double)AHEAD[e][i / 2] * (double)AHEAD[e][i % 2] / (length * length);
        int64_t r = i / 2, c = i % 2;
        full[(2 * p + r) * n + 2 * p + c] += k, full[(2 * q + r) * n + 2 * q + c] += k;
        full[(2 * p + r) * n + 2 * q + c] -= k, full[(2 * q + r) * n + 2 * p + c] -= k;
      }
    }
    if (x == 0) full[2 * p * (n + 1)] += 1, full[(2 * p + 1) * (n + 1)] += 1;
  }
  for (int64_t i = 0; i < n * n; ++i) real[i] = creal(full[i]);
  return direct_small(n, real, LAC_F64);
}

/// Two matrices, eleven columns, adjoint solves and values of their own again: all are solved.
static inline void case_check_others(lac_context *ctx, const lac_preconditioner_table *table, const direct_case *c) {
  multigrid_case s;
  case_open(ctx, &s, table, c, LAC_WIDTH_AUTO, 2, false);
  s.options.preconditioner.coarse_rows = 40;
  case_set_up(ctx, &s);
  CHECK(case_iterations(ctx, &s, LAC_PLAIN, 11, NULL) <= 60);
  CHECK(case_iterations(ctx, &s, LAC_ADJOINT, 1, NULL) <= 60);
  case_check_refreshed(ctx, &s, LAC_PLAIN);
  case_close(&s);
}

#endif
