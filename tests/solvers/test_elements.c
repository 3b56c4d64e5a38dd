// SPDX-License-Identifier: Apache-2.0
/// Matrices of finite elements, which are symmetric to rounding only: methods for Hermitian matrices take them as they
/// are.

#include "support/elements.h"

#include <math.h>
#include <stdio.h>

#include "support/check.h"
#include "support/reports.h"
#include "support/scratch.h"

static const lac_dtype REALS[] = {LAC_F64, LAC_F32};
static const char *const NAMES[] = {"planar", "solid", "shell", "plastic"};

/// How far a matrix is from being symmetric: beside sqrt(a_ii a_jj) and beside the entry, each the largest, and in how
/// many entries.
typedef struct asymmetry {
  double beside_diagonal, beside_entry;
  int64_t entries;
} asymmetry;

static asymmetry asymmetry_of(const direct_case *c) {
  asymmetry out = {0, 0, 0};
  for (int64_t z = 0; z < c->s->nnz; z++) {
    int64_t i = c->s->row[z], j = c->s->col[z];
    double a = creal(c->a.x[z]), b = creal(c->a.x[sketch_find(c->s, j, i)]), gap = fabs(a - b);
    double root = sqrt(creal(c->a.x[sketch_find(c->s, i, i)]) * creal(c->a.x[sketch_find(c->s, j, j)]));
    out.beside_diagonal = fmax(out.beside_diagonal, gap / root);
    if (gap > 0) out.beside_entry = fmax(out.beside_entry, gap / fmax(fabs(a), fabs(b)));
    out.entries += gap > 0;
  }
  return out;
}

/// What the other tests rest on: many entries differ from their mirror images, by rounding of the diagonal, some by all
/// of themselves.
static void assembled_matrices_are_symmetric_to_rounding_alone(lac_context *ctx) {
  (void)ctx;
  for (int k = 0; k < ELEMENTS_KINDS; k++) {
    for (int d = 0; d < 2; d++) {
      size_t mark = scratch_mark();
      double eps = direct_rounding(REALS[d]);
      direct_case c = elements_make((elements_kind)k, REALS[d]);
      asymmetry found = asymmetry_of(&c);
      printf("  %s: %lld of %lld entries differ, by %.1f roundings of the diagonal and %.1e of the entry\n", NAMES[k],
             (long long)found.entries, (long long)c.s->nnz, found.beside_diagonal / eps, found.beside_entry);
      CHECK(found.entries > c.s->nnz / 20);
      CHECK(found.beside_diagonal <= 8 * eps);
      CHECK(found.beside_entry > 64 * eps);
      scratch_release(mark);
    }
  }
}

/// |b - A x| <= tolerance |b| + 100 roundings of |A| |x|, in the norms of columns.
static void check_residual(const direct_case *c, const ref *b, const ref *x, double tolerance) {
  int64_t n = c->s->rows;
  double *rest = scratch((size_t)n * sizeof *rest), *size = scratch((size_t)n * sizeof *size);
  double r2 = 0, b2 = 0, s2 = 0;
  for (int64_t i = 0; i < n; i++) rest[i] = creal(b->x[i]), size[i] = 0;
  for (int64_t z = 0; z < c->s->nnz; z++) {
    double term = creal(c->a.x[z] * x->x[c->s->col[z]]);
    rest[c->s->row[z]] -= term, size[c->s->row[z]] += fabs(term);
  }
  for (int64_t i = 0; i < n; i++) r2 += rest[i] * rest[i], b2 += creal(b->x[i] * b->x[i]), s2 += size[i] * size[i];
  CHECK(sqrt(r2) <= tolerance * sqrt(b2) + 100 * direct_rounding(c->a.meta.dtype) * sqrt(s2));
}

/// Factored and solved as it is, with the method expected.
static void check_taken(lac_context *ctx, const direct_case *c, const char *method, const char *expected,
                        double tolerance) {
  lac_solver_options options = lac_solver_options_defaults();
  lac_factor *factor = NULL;
  lac_dtype dtype = c->a.meta.dtype;
  options.method = method;
  direct_system system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  lac_array *b = direct_random(ctx, dtype, 2, (int64_t[]){c->s->rows, 1}, 9), *x = NULL;
  ref rb, rx;
  CHECK_OK(lac_solver_factor(ctx, system.solver, system.values, &factor));
  CHECK_OK(lac_array_create(ctx, dtype, 2, lac_array_meta(b)->shape, &x));
  CHECK_OK(lac_factor_solve(ctx, factor, b, LAC_PLAIN, x));
  CHECK_TEXT(report_of_factor(factor).method, expected);
  CHECK_OK(ref_download(ctx, b, &rb));
  CHECK_OK(ref_download(ctx, x, &rx));
  check_residual(c, &rb, &rx, tolerance);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_factor_destroy(&factor);
  direct_close(&system);
}

static void check_all(lac_context *ctx, const char *method, const char *expected, bool is_iterative) {
  for (int k = 0; k < ELEMENTS_KINDS; k++) {
    for (int d = 0; d < 2; d++) {
      size_t mark = scratch_mark();
      direct_case c = elements_make((elements_kind)k, REALS[d]);
      double tolerance = is_iterative ? (REALS[d] == LAC_F32 ? 1e-5 : 1e-10) : 0;
      check_taken(ctx, &c, method, expected, tolerance);
      scratch_release(mark);
    }
  }
}

static void cholesky_takes_them(lac_context *ctx) { check_all(ctx, "cholesky", "cholesky", false); }
static void cg_takes_them(lac_context *ctx) { check_all(ctx, "flexible_cg", "flexible_cg", true); }
static void minres_takes_them(lac_context *ctx) { check_all(ctx, "minres", "minres", true); }
static void the_automatic_choice_is_cholesky(lac_context *ctx) { check_all(ctx, "auto", "cholesky", false); }

/// A hundred times the largest rounding, in one entry, is none.
static void more_than_rounding_is_refused_with_the_entry(lac_context *ctx) {
  for (int k = 0; k < ELEMENTS_KINDS; k++) {
    size_t mark = scratch_mark();
    direct_case c = elements_make((elements_kind)k, LAC_F64);
    int64_t z = c.s->nnz / 2;
    while (c.s->row[z] == c.s->col[z]) z++;
    double root = sqrt(creal(c.a.x[sketch_find(c.s, c.s->row[z], c.s->row[z])]) *
                       creal(c.a.x[sketch_find(c.s, c.s->col[z], c.s->col[z])]));
    c.a.x[z] += 1000 * direct_rounding(LAC_F64) * root;
    lac_solver_options options = lac_solver_options_defaults();
    lac_factor *factor = NULL;
    options.method = "cholesky";
    direct_system system = direct_open(ctx, &c, LAC_WIDTH_AUTO, &options);
    CHECK_FAILS(lac_solver_factor(ctx, system.solver, system.values, &factor), LAC_ERR_SYMMETRY, "to rounding");
    direct_close(&system);
    scratch_release(mark);
  }
}

CHECK_MAIN_OF("direct", assembled_matrices_are_symmetric_to_rounding_alone, cholesky_takes_them, cg_takes_them,
              minres_takes_them, the_automatic_choice_is_cholesky, more_than_rounding_is_refused_with_the_entry)
