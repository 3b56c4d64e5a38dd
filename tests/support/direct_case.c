// SPDX-License-Identifier: Apache-2.0
/// @file direct_case.c
/// Systems for direct solvers.

#include "support/direct_case.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/scratch.h"

static int is_complex(lac_dtype dtype) { return dtype == LAC_C64 || dtype == LAC_C128; }

double direct_rounding(lac_dtype dtype) { return dtype == LAC_F32 || dtype == LAC_C64 ? FLT_EPSILON : DBL_EPSILON; }

static void *copy_sorted(const sketch *s, const int64_t *rows, const int64_t *cols) {
  sketch *t = scratch(sizeof *t);
  char *mask = scratch((size_t)(s->rows * s->cols + 1));
  *t =
      (sketch){s->rows, s->cols, 0, scratch((size_t)s->nnz * sizeof *t->row), scratch((size_t)s->nnz * sizeof *t->col)};
  for (int64_t z = 0; z < s->nnz; z++) mask[rows[s->row[z]] * s->cols + cols[s->col[z]]] = 1;
  for (int64_t p = 0; p < s->rows * s->cols; p++) {
    if (!mask[p]) continue;
    t->row[t->nnz] = p / s->cols;
    t->col[t->nnz++] = p % s->cols;
  }
  return t;
}

static int64_t *shuffled(int64_t n, uint64_t seed) {
  int64_t *order = scratch((size_t)n * sizeof *order);
  random_state r = random_start(seed);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = random_below(&r, i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  return order;
}

static const sketch *sketch_grid(int64_t side) {
  sketch *s = scratch(sizeof *s);
  int64_t n = side * side, step[] = {-side, -1, 0, 1, side};
  *s = (sketch){n, n, 0, scratch((size_t)(5 * n) * sizeof *s->row), scratch((size_t)(5 * n) * sizeof *s->col)};
  for (int64_t i = 0; i < n; i++) {
    for (int d = 0; d < 5; d++) {
      int64_t j = i + step[d];
      if (j < 0 || j >= n || (llabs(step[d]) == 1 && j / side != i / side)) continue;
      s->row[s->nnz] = i;
      s->col[s->nnz++] = j;
    }
  }
  return s;
}

static const sketch *sketch_arrow(int64_t n) {
  sketch *s = scratch(sizeof *s);
  *s = (sketch){n, n, 0, scratch((size_t)(3 * n) * sizeof *s->row), scratch((size_t)(3 * n) * sizeof *s->col)};
  for (int64_t p = 0; p < n * n; p++) {
    if (p / n != 0 && p % n != 0 && p / n != p % n) continue;
    s->row[s->nnz] = p / n;
    s->col[s->nnz++] = p % n;
  }
  return s;
}

// A ring of entries beside the diagonal, none on it, and some at random.
static const sketch *sketch_off_diagonal(int64_t n, uint64_t seed) {
  const sketch *from = sketch_random(n, n, 3.0 / (double)n, seed);
  int64_t *same = scratch((size_t)n * sizeof *same), *next = scratch((size_t)n * sizeof *next), count = 0;
  sketch *s = scratch(sizeof *s);
  for (int64_t i = 0; i < n; i++) same[i] = i, next[i] = (i + 1) % n;
  *s = (sketch){n, n, 0, scratch((size_t)(from->nnz + n) * sizeof *s->row),
                scratch((size_t)(from->nnz + n) * sizeof *s->col)};
  for (int64_t z = 0; z < from->nnz; z++) {
    if (from->row[z] == from->col[z]) continue;
    s->row[count] = from->row[z];
    s->col[count++] = from->col[z];
  }
  for (int64_t i = 0; i < n; i++) s->row[count] = i, s->col[count++] = next[i];
  s->nnz = count;
  return copy_sorted(s, same, same);
}

static const sketch *direct_sketch(direct_kind kind, int64_t n, uint64_t seed) {
  switch (kind) {
    case DIRECT_POSITIVE:
    case DIRECT_INDEFINITE:
    case DIRECT_COMPLEX_SYMMETRIC:
      return sketch_symmetric(n, 4.0 / (double)n, seed);
    case DIRECT_TRIANGULAR:
      return copy_sorted(sketch_triangle(n, 4.0 / (double)n, LAC_TRIANGLE_LOWER, LAC_DIAGONAL_STORED, seed),
                         shuffled(n, seed + 1), shuffled(n, seed + 2));
    case DIRECT_ARROW:
      return sketch_arrow(n);
    case DIRECT_POISSON:
      return sketch_grid((int64_t)sqrt((double)n));
    case DIRECT_ZERO_DIAGONAL:
      return sketch_off_diagonal(n, seed);
    default:
      return sketch_square(n, 4.0 / (double)n, seed);
  }
}

// Diagonal of row i: more than the sum of the others, times `sign`.
static void set_dominant(const sketch *s, number *a, int64_t i, double sign) {
  double sum = 1;
  for (int64_t z = 0; z < s->nnz; z++) {
    if (s->row[z] == i && s->col[z] != i) sum += 2 * ceil(cabs(a[z]));
  }
  a[sketch_find(s, i, i)] = sign * sum;
}

static void make_hermitian(const sketch *s, number *a, int conjugated) {
  for (int64_t z = 0; z < s->nnz; z++) {
    if (s->row[z] >= s->col[z]) continue;
    a[sketch_find(s, s->col[z], s->row[z])] = conjugated ? conj(a[z]) : a[z];
  }
}

static void scale_badly(const sketch *s, number *a, lac_dtype dtype, uint64_t seed) {
  int reach = direct_rounding(dtype) > 1e-10 ? 4 : 60;
  random_state r = random_start(seed);
  int *row = scratch((size_t)s->rows * sizeof *row), *col = scratch((size_t)s->cols * sizeof *col);
  for (int64_t i = 0; i < s->rows; i++) row[i] = (int)random_below(&r, 2 * reach) - reach;
  for (int64_t i = 0; i < s->cols; i++) col[i] = (int)random_below(&r, 2 * reach) - reach;
  for (int64_t z = 0; z < s->nnz; z++) a[z] *= pow(10, row[s->row[z]] + col[s->col[z]]);
}

static void direct_values(direct_kind kind, const sketch *s, number *a, lac_dtype dtype, uint64_t seed) {
  int hermitian = kind == DIRECT_POSITIVE || kind == DIRECT_INDEFINITE || kind == DIRECT_ARROW;
  if (hermitian || kind == DIRECT_COMPLEX_SYMMETRIC) make_hermitian(s, a, hermitian);
  for (int64_t z = 0; kind == DIRECT_POISSON && z < s->nnz; z++) a[z] = s->row[z] == s->col[z] ? 4 : -1;
  for (int64_t i = 0; (kind == DIRECT_POSITIVE || kind == DIRECT_ARROW) && i < s->rows; i++) set_dominant(s, a, i, 1);
  for (int64_t i = 0; kind == DIRECT_INDEFINITE && i < s->rows; i++) set_dominant(s, a, i, i % 2 ? 1 : -1);
  if (kind == DIRECT_ILL_SCALED) scale_badly(s, a, dtype, seed);
}

// Round to the dtype, so that what is solved is what is measured.
static void direct_round(lac_dtype dtype, ref *a) {
  for (int64_t z = 0; direct_rounding(dtype) > 1e-10 && z < a->count; z++) a->x[z] = (float complex)a->x[z];
}

direct_case direct_make(direct_kind kind, int64_t n, lac_dtype dtype, uint64_t seed) {
  direct_case c = {.s = direct_sketch(kind, n, seed)};
  c.a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {c.s->nnz}});
  ref_random(&c.a, seed + 3, is_complex(dtype));
  direct_values(kind, c.s, c.a.x, dtype, seed + 4);
  direct_round(dtype, &c.a);
  return c;
}

// -- cases of their own -----------------------------------------------------------------------------------------------

direct_case direct_convection(int64_t side, double peclet, lac_dtype dtype) {
  direct_case c = direct_make(DIRECT_POISSON, side * side, dtype, 1);
  for (int64_t z = 0; z < c.s->nnz; z++) {
    int64_t step = c.s->col[z] - c.s->row[z];
    if (step == 1 || step == side) c.a.x[z] += peclet / 2;
    if (step == -1 || step == -side) c.a.x[z] -= peclet / 2;
  }
  return c;
}

direct_case direct_turned(int64_t side, lac_dtype dtype) {
  direct_case from = direct_convection(side, 3, dtype);
  int64_t n = side * side, at = 0;
  sketch *s = scratch(sizeof *s);
  direct_case c = {s, ref_copy(&from.a)};
  *s = (sketch){n, n, from.s->nnz, scratch((size_t)from.s->nnz * sizeof *s->row),
                scratch((size_t)from.s->nnz * sizeof *s->col)};
  for (int64_t i = 0; i < n; i++) {
    for (int64_t z = 0; z < from.s->nnz; z++) {
      if (from.s->row[z] != (i * 7 + 3) % n) continue;
      s->row[at] = i, s->col[at] = from.s->col[z], c.a.x[at++] = from.a.x[z];
    }
  }
  return c;
}

direct_case direct_small(int64_t n, const double *full, lac_dtype dtype) {
  sketch *s = scratch(sizeof *s);
  *s = (sketch){n, n, 0, scratch((size_t)(n * n) * sizeof *s->row), scratch((size_t)(n * n) * sizeof *s->col)};
  double *x = scratch((size_t)(n * n) * sizeof *x);
  for (int64_t p = 0; p < n * n; p++) {
    if (full[p] == 0) continue;
    s->row[s->nnz] = p / n, s->col[s->nnz] = p % n, x[s->nnz++] = full[p];
  }
  direct_case c = {s, ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {s->nnz}})};
  for (int64_t z = 0; z < s->nnz; z++) c.a.x[z] = x[z];
  return c;
}

direct_case direct_treacherous(int64_t pairs, double tiny, int alike, int is_hermitian) {
  int64_t shared = 24, n = 2 * pairs + shared;
  double *full = scratch((size_t)(n * n) * sizeof *full);
  for (int64_t i = 0; i < 2 * pairs; i += 2) {
    full[i * n + i] = 1, full[i * n + i + 1] = 1, full[(i + 1) * n + i] = 1;
    full[(i + 1) * n + i + 1] = 1 + (i % 16 == 4 ? tiny : 0.5);
    for (int64_t j = 0; j < 4; j++) {
      int64_t place = alike ? i * i : (int64_t)(1000 + 1000 * sin((double)i)),
              other = 2 * pairs + (place + 5 * j) % shared;
      full[(i + 1) * n + other] = 0.6 + 0.3 * sin((double)(i + j));
      full[other * n + i + 1] = is_hermitian ? full[(i + 1) * n + other] : 0.4 * cos((double)(i * j));
    }
  }
  for (int64_t i = 2 * pairs; i < n; i++) full[i * n + i] = is_hermitian && i % 2 == 0 ? -1 : 1;
  return direct_small(n, full, LAC_F64);
}

// -- systems ----------------------------------------------------------------------------------------------------------

direct_system direct_open(lac_context *ctx, const direct_case *c, lac_width width, const lac_solver_options *options) {
  direct_system system = {0};
  CHECK_OK(sketch_pattern(ctx, c->s, width, &system.pattern));
  CHECK_OK(ref_upload(ctx, &c->a, &system.values));
  CHECK_OK(lac_solver_create(ctx, system.pattern, options, &system.solver));
  return system;
}

void direct_close(direct_system *system) {
  lac_solver_destroy(&system->solver);
  lac_array_destroy(&system->values);
  lac_pattern_destroy(&system->pattern);
}

double direct_error(const sketch *s, const number *a, lac_form form, int64_t k, const number *b, const number *x) {
  int transposed = form == LAC_TRANSPOSED || form == LAC_ADJOINT,
      conjugated = form == LAC_CONJUGATED || form == LAC_ADJOINT;
  size_t mark = scratch_mark();
  number *sum = scratch((size_t)(s->rows * k) * sizeof *sum);
  double *terms = scratch((size_t)(s->rows * k) * sizeof *terms), worst = 0;

  for (int64_t z = 0; z < s->nnz; z++) {
    int64_t i = transposed ? s->col[z] : s->row[z], j = transposed ? s->row[z] : s->col[z];
    for (int64_t c = 0; c < k; c++) {
      sum[i * k + c] += (conjugated ? conj(a[z]) : a[z]) * x[j * k + c];
      terms[i * k + c] += cabs(a[z]) * cabs(x[j * k + c]);
    }
  }
  for (int64_t i = 0; i < s->rows * k; i++) {
    double error = cabs(b[i] - sum[i]);
    if (error != 0) error /= terms[i] + cabs(b[i]);
    if (!(error <= worst)) worst = error;
  }
  scratch_release(mark);
  return worst;
}

lac_array *direct_random(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, uint64_t seed) {
  lac_meta meta = {.dtype = dtype, .ndim = ndim};
  lac_array *array = NULL;
  for (int d = 0; d < ndim; d++) meta.shape[d] = shape[d];
  ref r = ref_new(&meta);
  ref_random(&r, seed, is_complex(dtype));
  CHECK_OK(ref_upload(ctx, &r, &array));
  return array;
}

void direct_check(lac_context *ctx, const direct_case *c, const lac_factor *factor, lac_form form, int64_t k,
                  double roundings) {
  int64_t shape[] = {c->s->rows, k};
  lac_array *b = direct_random(ctx, c->a.meta.dtype, 2, shape, 77), *x = NULL;
  ref rb, rx;
  CHECK_OK(lac_array_create(ctx, c->a.meta.dtype, 2, shape, &x));
  CHECK_OK(lac_factor_solve(ctx, factor, b, form, x));
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  double error = direct_error(c->s, c->a.x, form, k, rb.x, rx.x) / direct_rounding(c->a.meta.dtype);
  if (!(error <= roundings)) check_fail(__FILE__, __LINE__, "backward error of %.3g roundings", error);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
}

void direct_check_singular(lac_context *ctx, int64_t n, const double *full, const lac_solver_options *options,
                           const char *words) {
  direct_case c = direct_small(n, full, LAC_F64);
  direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, options);
  lac_factor *factor = NULL;
  CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_SINGULAR, words);
  CHECK(!factor);
  direct_close(&system);
}

double direct_residual_of(const direct_system *s, const lac_array *b, const lac_array *x) {
  const double *a = lac_array_data(s->values), *f = lac_array_data(b), *u = lac_array_data(x);
  double left = 0, whole = 0;
  for (int64_t i = 0; i < s->pattern->rows; i++) {
    double r = f[i];
    for (int64_t p = lac_buffer_get(s->pattern->offsets, i); p < lac_buffer_get(s->pattern->offsets, i + 1); p++) {
      r -= a[p] * u[lac_buffer_get(s->pattern->columns, p)];
    }
    left += r * r, whole += f[i] * f[i];
  }
  return sqrt(left / whole);
}
