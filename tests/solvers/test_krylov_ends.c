// SPDX-License-Identifier: Apache-2.0
/// How Krylov methods end: tolerances kept exactly, zero and empty systems, limits, breakdowns, stagnation, NaN,
/// interruption, null spaces, scales, memory that fails.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"
#include "support/check.h"
#include "support/composed_columns.h"
#include "support/krylov_case.h"
#include "support/scratch.h"

static const lac_krylov_table *const METHODS[] = {
#define LAC_KRYLOV(name, flags) &lac_krylov_##name,
#include "solvers/krylov/krylov.def"
#undef LAC_KRYLOV
};
enum { METHOD_COUNT = sizeof METHODS / sizeof *METHODS };

static ref columns(lac_dtype dtype, int64_t items, int64_t n, int64_t k, uint64_t seed) {
  ref x = ref_new(&(lac_meta){.dtype = dtype, .ndim = 3, .shape = {items, n, k}});
  ref_random(&x, seed, lac_dtype_is_complex(dtype));
  return x;
}

static int is(const krylov_case *c, const char *name) { return strcmp(c->method->name, name) == 0; }

/// A Hermitian positive definite system, which every method takes.
static krylov_case definite(const lac_krylov_table *method, int64_t n, lac_dtype dtype) {
  return (krylov_case){.method = method, .matrix = direct_make(DIRECT_POSITIVE, n, dtype, 9)};
}

static void relative_tolerances_are_kept_exactly(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (double rtol = 0.5; rtol > 1e-13; rtol *= 0.01) {
      size_t mark = scratch_mark();
      krylov_case c = definite(METHODS[m], 60, LAC_C128);
      c.width = 3, c.iteration.rtol = rtol;
      krylov_result got = krylov_solve(ctx, &c, 0);
      CHECK_EQ(got.report.ending, LAC_ENDING_CONVERGED);
      CHECK(got.residual <= rtol * (1 + 1e-6) + 1e-15);
      CHECK_NEAR(got.report.residual, got.residual, 1e-3);
      scratch_release(mark);
    }
  }
}

static void absolute_tolerances_are_kept_exactly(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case c = definite(METHODS[m], 60, LAC_F64);
    c.iteration.atol = 1e-3, c.iteration.rtol = 0;
    krylov_result got = krylov_solve(ctx, &c, 0);
    double norm = 0;
    for (int64_t i = 0; i < got.b.count; ++i) norm = hypot(norm, cabs(got.b.x[i]));
    CHECK_EQ(got.report.ending, LAC_ENDING_CONVERGED);
    CHECK(got.residual * norm <= 1e-3 && got.residual * norm > 1e-8);
  }
}

static void a_start_that_is_good_enough_is_left_alone(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case c = definite(METHODS[m], 30, LAC_F64);
    c.width = 2;
    krylov_result first = krylov_solve(ctx, &c, 0);
    c.x0 = &first.x;
    krylov_result again = krylov_solve(ctx, &c, 0);
    CHECK_EQ(again.report.iterations, 0);
    CHECK_EQ(memcmp(again.x.x, first.x.x, (size_t)first.x.count * sizeof *first.x.x), 0);
    ref far = columns(LAC_F64, 1, 30, 2, 3);
    c.x0 = &far;
    again = krylov_solve(ctx, &c, 0);
    CHECK(again.residual <= 1e-10 && again.report.first_residual != 1);
  }
}

static void a_zero_right_side_gives_zero_at_once(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case c = definite(METHODS[m], 20, LAC_C64);
    c.width = 3;
    ref b = columns(LAC_C64, 1, 20, 3, 4), x0 = columns(LAC_C64, 1, 20, 3, 5);
    for (int64_t i = 0; i < 20; ++i) b.x[i * 3 + 1] = 0;
    c.b = &b, c.x0 = &x0;
    krylov_result got = krylov_solve(ctx, &c, 0);
    CHECK_EQ(got.report.ending, LAC_ENDING_CONVERGED);
    for (int64_t i = 0; i < 20; ++i) CHECK(got.x.x[i * 3 + 1] == 0);
    CHECK(got.residual <= 1.01e-5);
    memset(b.x, 0, (size_t)b.count * sizeof *b.x);
    got = krylov_solve(ctx, &c, 0);
    CHECK(got.report.iterations == 0 && got.report.residual == 0 && ref_max(&got.x) == 0);
  }
}

static void small_and_empty_systems_are_solved(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case one = {.method = METHODS[m], .matrix = direct_small(1, (double[]){3}, LAC_F64)};
    krylov_result got = krylov_solve(ctx, &one, 0);
    CHECK_NEAR(creal(got.x.x[0]), creal(got.b.x[0]) / 3, 1e-15);
    krylov_case none = {.method = METHODS[m], .matrix = direct_small(0, (double[]){0}, LAC_F64)};
    CHECK_EQ(krylov_solve(ctx, &none, 0).report.ending, LAC_ENDING_CONVERGED);
    one.width = -1;
    CHECK_EQ(krylov_solve(ctx, &one, 0).report.ending, LAC_ENDING_CONVERGED);
    one.width = 1, one.items = -1;
    CHECK_EQ(krylov_solve(ctx, &one, 0).report.ending, LAC_ENDING_CONVERGED);
  }
}

static void scales_do_not_matter(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (int d = 0; d < 2; ++d) {
      lac_dtype dtype = d ? LAC_C128 : LAC_F32;
      double powers[] = {ldexp(1, d ? 500 : 60), ldexp(1, d ? -500 : -60)};
      for (int p = 0; p < 4; ++p) {
        size_t mark = scratch_mark();
        krylov_case c = definite(METHODS[m], 25, dtype);
        krylov_result want = krylov_solve(ctx, &c, 0);
        double power = powers[p % 2];
        if (p < 2) c.scale = power;
        for (int64_t z = 0; p >= 2 && z < c.matrix.a.count; ++z) c.matrix.a.x[z] *= power;
        krylov_result got = krylov_solve(ctx, &c, 0);
        if (got.report.ending != LAC_ENDING_CONVERGED)
          check_fail(__FILE__, __LINE__, "%s, power %d: %s", c.method->name, p, got.report.reason);
        CHECK_EQ(got.report.iterations, want.report.iterations);
        for (int64_t i = 0; i < want.x.count; ++i)
          CHECK(cabs(got.x.x[i] * (p < 2 ? 1 / power : power) - want.x.x[i]) <= 1e-4 * ref_max(&want.x));
        scratch_release(mark);
      }
    }
  }
}

static void the_smallest_numbers_do_not_overflow(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (int d = 0; d < 4; ++d) {
      krylov_case c = definite(METHODS[m], 10, (lac_dtype)d);
      c.scale = ldexp(1, d % 2 ? -1060 : -138);
      krylov_result got = krylov_solve(ctx, &c, 0);
      CHECK(isfinite(ref_max(&got.x)) && ref_max(&got.x) > 0);
    }
  }
}

static void limits_are_told_and_x_is_what_there_is(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case c = {.method = METHODS[m], .matrix = direct_make(DIRECT_POISSON, 144, LAC_F64, 1)};
    c.width = 2, c.iteration.max_iterations = 5, c.iteration.rtol = 1e-12;
    krylov_result got = krylov_solve(ctx, &c, 0);
    CHECK_EQ(got.report.ending, LAC_ENDING_LIMIT);
    CHECK_EQ(got.report.iterations, 5);
    CHECK(got.residual > 1e-12 && got.residual < 1);
    CHECK_NEAR(got.report.residual, got.residual, 1e-10);
    CHECK(strstr(got.report.reason, "limit") && strstr(got.report.reason, "column"));
  }
}

static int stop_at_three(void *data, int64_t iteration, double residual) {
  *(double *)data = residual;
  return iteration >= 3;
}

static void progress_may_end_it(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    double residual = -1;
    krylov_case c = {.method = METHODS[m], .matrix = direct_make(DIRECT_POISSON, 144, LAC_F64, 1)};
    c.iteration.progress = stop_at_three, c.iteration.progress_data = &residual;
    krylov_result got = krylov_solve(ctx, &c, 0);
    CHECK_EQ(got.report.ending, LAC_ENDING_INTERRUPTED);
    CHECK_EQ(got.report.iterations, 3);
    CHECK(residual > 0 && residual < 2 && got.residual < 1);
  }
}

static void looks_may_be_rare(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case c = definite(METHODS[m], 50, LAC_F64);
    c.width = 4;
    krylov_result want = krylov_solve(ctx, &c, 0);
    c.iteration.look_every = 7;
    krylov_result got = krylov_solve(ctx, &c, 0);
    CHECK_EQ(got.report.ending, LAC_ENDING_CONVERGED);
    CHECK_EQ(got.report.iterations, want.report.iterations);
    CHECK_EQ(memcmp(got.x.x, want.x.x, (size_t)got.x.count * sizeof *got.x.x), 0);
  }
}

static void indefinite_matrices_break_cg_down(lac_context *ctx) {
  for (int m = 0; m < 2; ++m) {
    krylov_case c = {.method = m ? &lac_krylov_flexible_cg : &lac_krylov_cg,
                     .matrix = direct_make(DIRECT_INDEFINITE, 40, LAC_C128, 2),
                     .width = 2};
    krylov_result got = krylov_solve(ctx, &c, 0);
    CHECK_EQ(got.report.ending, LAC_ENDING_BROKE_DOWN);
    CHECK(strstr(got.report.reason, "(p, A p)") && isfinite(ref_max(&got.x)));
    c.inverse = krylov_diagonal(&c);
    got = krylov_solve(ctx, &c, 0);
    CHECK_EQ(got.report.ending, LAC_ENDING_BROKE_DOWN);
    CHECK(strstr(got.report.reason, "preconditioner"));
  }
}

static void skew_matrices_break_bicgstab_down(lac_context *ctx) {
  krylov_case c = {.method = &lac_krylov_bicgstab, .matrix = direct_small(2, (double[]){0, 1, -1, 0}, LAC_F64)};
  krylov_result got = krylov_solve(ctx, &c, 0);
  CHECK_EQ(got.report.ending, LAC_ENDING_BROKE_DOWN);
  CHECK(strstr(got.report.reason, "(r0, r)"));
}

static void nan_is_told_and_x_stays_finite(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case c = definite(METHODS[m], 20, LAC_F64);
    c.width = 2;
    c.matrix.a.x[7] = NAN;
    krylov_result got = krylov_solve(ctx, &c, 0);
    CHECK_EQ(got.report.ending, LAC_ENDING_DIVERGED);
    CHECK(isfinite(ref_max(&got.x)) && strstr(got.report.reason, "NaN"));
  }
}

static void nan_in_a_column_stays_there(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case c = definite(METHODS[m], 20, LAC_F64);
    ref b = columns(LAC_F64, 1, 20, 3, 4);
    c.width = 3, c.b = &b;
    krylov_result want = krylov_solve(ctx, &c, 0);
    b.x[4] = INFINITY;
    krylov_result got = krylov_solve(ctx, &c, 0);
    CHECK_EQ(got.report.ending, LAC_ENDING_DIVERGED);
    for (int64_t i = 0; i < 60; ++i) {
      if (i % 3 == 1) {
        CHECK(isnan(creal(got.x.x[i])));
      } else {
        CHECK(cabs(got.x.x[i] - want.x.x[i]) <= 1e-9);
      }
    }
  }
}

/// The graph Laplacian of a path or ring: singular, with the constants as null space.
static direct_case laplacian(int64_t n, lac_dtype dtype) {
  double *full = scratch((size_t)(n * n) * sizeof *full);
  for (int64_t i = 0; i + 1 < n; ++i) {
    full[i * n + i] += 1, full[(i + 1) * n + i + 1] += 1;
    full[i * n + i + 1] = full[(i + 1) * n + i] = -1;
  }
  return direct_small(n, full, dtype);
}

static void null_spaces_are_taken_out(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (int width = 1; width <= 3; width += 2) {
      lac_array *space = NULL;
      ref ones = ref_new(&(lac_meta){.dtype = LAC_C128, .ndim = 2, .shape = {20, 2}});
      for (int64_t i = 0; i < 40; ++i) ones.x[i] = 2;  // the same column twice
      CHECK_OK(ref_upload(ctx, &ones, &space));
      ref x0 = columns(LAC_C128, 1, 20, width, 8);
      krylov_case c = {.method = METHODS[m], .matrix = laplacian(20, LAC_C128), .width = width, .x0 = &x0};
      c.iteration.null_space = space;
      krylov_result got = krylov_solve(ctx, &c, 0);
      lac_array_destroy(&space);
      if (got.report.ending != LAC_ENDING_CONVERGED)
        check_fail(__FILE__, __LINE__, "%s: %s", c.method->name, got.report.reason);
      for (int64_t j = 0; j < width; ++j) {
        number x = 0, mean = 0;
        for (int64_t i = 0; i < 20; ++i) x += got.x.x[i * width + j], mean += got.b.x[i * width + j] / 20;
        CHECK(cabs(x) <= 1e-12 * (1 + ref_max(&got.x)));
        dense r = dense_mul(krylov_dense(&c, &got.a, 0), dense_over(20, width, got.x.x));
        double off = 0;
        for (int64_t i = 0; i < 20; ++i) off = hypot(off, cabs(got.b.x[i * width + j] - mean - r.x[i * width + j]));
        CHECK(off <= 1e-9 * width);
      }
    }
  }
}

static void singular_systems_without_a_null_space_end(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (int d = 0; d < 2; ++d) {
      krylov_case c = {.method = METHODS[m], .matrix = laplacian(12, d ? LAC_C128 : LAC_F32)};
      krylov_result got = krylov_solve(ctx, &c, 0);
      ref x0 = columns(c.matrix.a.meta.dtype, 1, 12, 1, 5);
      CHECK(got.report.ending != LAC_ENDING_CONVERGED);
      CHECK(isfinite(ref_max(&got.x)) && strlen(got.report.reason) > 20);
      c.x0 = &x0;
      krylov_result other = krylov_solve(ctx, &c, 0);
      CHECK(other.residual <= 10 * other.report.first_residual);
      CHECK_NEAR(got.report.residual, got.residual, 1e-3);
      CHECK(got.residual <=
            10 * got.report.first_residual);  // where iterates stray farther, x is the best of them, or the start
    }
  }
}

static void impossible_tolerances_stagnate(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    krylov_case c = {.method = METHODS[m], .matrix = direct_make(DIRECT_POISSON, 100, LAC_F64, 1)};
    c.iteration.rtol = 1e-18;
    krylov_result got = krylov_solve(ctx, &c, 0);
    if (got.report.ending != LAC_ENDING_STAGNATED)
      check_fail(__FILE__, __LINE__, "%s: %s", c.method->name, got.report.reason);
    CHECK(got.residual < 1e-12);
  }
}

static void restarts_that_do_not_help_stagnate(lac_context *ctx) {
  double full[64] = {0};
  for (int i = 0; i < 8; ++i) full[i * 8 + (i + 1) % 8] = 1;
  krylov_case c = {.method = &lac_krylov_gmres, .matrix = direct_small(8, full, LAC_F64)};
  ref b = columns(LAC_F64, 1, 8, 1, 1);
  for (int i = 0; i < 8; ++i) b.x[i] = i == 0;
  c.b = &b, c.iteration.restart = 3;
  krylov_result got = krylov_solve(ctx, &c, 0);
  CHECK_EQ(got.report.ending, LAC_ENDING_STAGNATED);
  CHECK(strstr(got.report.reason, "iterations"));
  c.iteration.restart = 8;
  got = krylov_solve(ctx, &c, 0);
  CHECK_EQ(got.report.ending, LAC_ENDING_CONVERGED);
}

static void nonsymmetric_preconditioners_are_applied_from_their_side(lac_context *ctx) {
  static const lac_form forms[] = {LAC_PLAIN, LAC_TRANSPOSED, LAC_ADJOINT, LAC_CONJUGATED};
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (int s = 0; s < 4; ++s) {
      size_t mark = scratch_mark();
      krylov_case c = {.method = METHODS[m],
                       .matrix = direct_convection(6, 1.5, LAC_C128),
                       .form = forms[s],
                       .items = 2,
                       .width = 2,
                       .tilt = 0.5};
      for (int64_t z = 0; z < c.matrix.s->nnz; ++z)
        c.matrix.a.x[z] *= 1 + 0.1 * (double)(c.matrix.s->row[z] % 3) * _Complex_I;
      if (c.method->needs_hermitian) {
        c.matrix = direct_make(is(&c, "minres") ? DIRECT_INDEFINITE : DIRECT_POSITIVE, 36, LAC_C128, 4);
        krylov_case other = c;
        other.matrix = direct_make(DIRECT_POSITIVE, 36, LAC_C128, 4);
        c.inverse = krylov_diagonal(&other);
      } else {
        c.inverse = krylov_triangle(&c);
      }
      krylov_result got = krylov_solve(ctx, &c, 0);
      if (got.report.ending != LAC_ENDING_CONVERGED)
        check_fail(__FILE__, __LINE__, "%s: %s", c.method->name, got.report.reason);
      CHECK(got.residual <= 1.001e-10 && c.inverse->calls > 0);
      CHECK(krylov_error(&c, &got) <= 1e-7);
      scratch_release(mark);
    }
  }
}

static void rectangles_are_solved_in_the_least_squares_sense(lac_context *ctx) {
  static const lac_form forms[] = {LAC_PLAIN, LAC_ADJOINT, LAC_TRANSPOSED};
  for (int m = 0; m < METHOD_COUNT; ++m) {
    if (!METHODS[m]->takes_rectangles) continue;
    for (int s = 0; s < 3; ++s) {
      const sketch *sk = sketch_random(24, 10, 0.6, 3);
      krylov_case c = {.method = METHODS[m],
                       .matrix = {sk, ref_new(&(lac_meta){.dtype = LAC_C128, .ndim = 1, .shape = {sk->nnz}})},
                       .form = forms[s],
                       .width = 3};
      ref_random(&c.matrix.a, 6, 1);
      c.iteration.rtol = 1e-11;
      krylov_result got = krylov_solve(ctx, &c, 0);
      if (got.report.ending != LAC_ENDING_CONVERGED)
        check_fail(__FILE__, __LINE__, "%s: %s", c.method->name, got.report.reason);
      dense a = krylov_dense(&c, &got.a, 0), r = dense_mul(a, dense_over(a.cols, 3, got.x.x));
      for (int64_t i = 0; i < a.rows * 3; ++i) r.x[i] = got.b.x[i] - r.x[i];
      dense normal = dense_mul(dense_side(a, LAC_ADJOINT), r);
      for (int64_t i = 0; i < a.cols * 3; ++i) CHECK(cabs(normal.x[i]) <= 1e-8);
    }
  }
}

static void bits_do_not_depend_on_threads(lac_context *ctx) {
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (int width = 1; width <= 3; width += 2) {
      size_t mark = scratch_mark();
      krylov_case c = {
          .method = METHODS[m], .matrix = direct_make(DIRECT_POISSON, 1600, LAC_C64, 1), .width = 16 * width + 1};
      c.iteration.max_iterations = 12;
      CHECK_OK(lac_context_set_threads(ctx, 1));
      krylov_case tall = c;
      krylov_result one = krylov_solve_only(ctx, &tall);
      CHECK_OK(lac_context_set_threads(ctx, 2));
      krylov_result two = krylov_solve_only(ctx, &tall);
      CHECK_EQ(memcmp(one.x.x, two.x.x, (size_t)one.x.count * sizeof *one.x.x), 0);
      scratch_release(mark);
    }
  }
}

static void composed_kernels_agree(lac_context *ctx) {
  const lac_kernels *own = ctx->kernels;
  lac_kernels composed = *own;
  composed.columns = composed_columns, composed.column_step = composed_column_step;
  for (int m = 0; m < METHOD_COUNT; ++m) {
    for (int d = 0; d < 4; ++d) {
      size_t mark = scratch_mark();
      krylov_case c = definite(METHODS[m], 30, (lac_dtype)d);
      c.items = 2, c.width = 3, c.tilt = 1;
      krylov_result want = krylov_solve(ctx, &c, 0);
      ctx->kernels = &composed;
      krylov_result got = krylov_solve(ctx, &c, 1);
      ctx->kernels = own;
      CHECK_OK(got.status);
      CHECK_EQ(got.report.ending, LAC_ENDING_CONVERGED);
      for (int64_t i = 0; i < want.x.count; ++i)
        CHECK(cabs(got.x.x[i] - want.x.x[i]) <=
              (direct_rounding((lac_dtype)d) > 1e-10 ? 1e-4 : 1e-8) * ref_max(&want.x));
      scratch_release(mark);
    }
  }
}

static void failing_allocations_leave_nothing_behind(lac_context *ctx) {
  const lac_kernels *own = ctx->kernels;
  lac_kernels composed = *own;
  composed.columns = composed_columns, composed.column_step = composed_column_step;
  for (int m = 0; m < 2 * METHOD_COUNT; ++m) {
    size_t mark = scratch_mark();
    lac_array *space = NULL;
    krylov_case c = {.method = METHODS[m / 2], .matrix = laplacian(5, LAC_F64), .width = 2, .scale = 1e200};
    ref ones = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {5, 1}});
    for (int64_t i = 0; i < 5; ++i) ones.x[i] = 1;
    CHECK_OK(ref_upload(ctx, &ones, &space));
    c.iteration.null_space = space, c.iteration.max_iterations = 2;
    for (int64_t n = 1;; n = check_next_failure(ctx, n)) {
      long long before = check_live_blocks();
      ctx->kernels = m % 2 ? &composed : own;
      (void)lac_memory_fail_at(n);
      krylov_result got = krylov_solve(ctx, &c, 1);
      (void)lac_memory_fail_at(0);
      ctx->kernels = own;
      CHECK_EQ(check_live_blocks(), before);
      if (got.status == LAC_OK) break;
      CHECK_EQ(got.status, LAC_ERR_MEMORY);
    }
    lac_array_destroy(&space);
    scratch_release(mark);
  }
}

static void null_spaces_of_other_shapes_are_refused(lac_context *ctx) {
  lac_array *space = NULL;
  ref ones = columns(LAC_F64, 1, 20, 1, 3);
  CHECK_OK(ref_upload(ctx, &ones, &space));
  krylov_case c = definite(&lac_krylov_cg, 20, LAC_F64);
  c.iteration.null_space = space;
  krylov_result got = krylov_solve(ctx, &c, 1);
  lac_array_destroy(&space);
  CHECK_EQ(got.status, LAC_ERR_SHAPE);
  CHECK(strstr(lac_context_error(ctx), "(20, m)"));
}

CHECK_MAIN(relative_tolerances_are_kept_exactly, absolute_tolerances_are_kept_exactly,
           a_start_that_is_good_enough_is_left_alone, a_zero_right_side_gives_zero_at_once,
           small_and_empty_systems_are_solved, scales_do_not_matter, the_smallest_numbers_do_not_overflow,
           limits_are_told_and_x_is_what_there_is, progress_may_end_it, looks_may_be_rare,
           indefinite_matrices_break_cg_down, skew_matrices_break_bicgstab_down, nan_is_told_and_x_stays_finite,
           nan_in_a_column_stays_there, null_spaces_are_taken_out, singular_systems_without_a_null_space_end,
           impossible_tolerances_stagnate, restarts_that_do_not_help_stagnate,
           nonsymmetric_preconditioners_are_applied_from_their_side, rectangles_are_solved_in_the_least_squares_sense,
           bits_do_not_depend_on_threads, composed_kernels_agree, failing_allocations_leave_nothing_behind,
           null_spaces_of_other_shapes_are_refused)
