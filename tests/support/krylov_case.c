// SPDX-License-Identifier: Apache-2.0
/// @file krylov_case.c
/// Systems for Krylov methods.

#include "support/krylov_case.h"

#include <math.h>
#include <string.h>

#include "solvers/precondition/preconditioner.h"
#include "support/check.h"
#include "support/scratch.h"

static int64_t items_of(const krylov_case *c) { return c->items < 0 ? 0 : c->items ? c->items : 1; }
static int64_t width_of(const krylov_case *c) { return c->width < 0 ? 0 : c->width ? c->width : 1; }
static lac_dtype dtype_of(const krylov_case *c) { return c->matrix.a.meta.dtype; }

static ref values_of(const krylov_case *c) {
  const sketch *s = c->matrix.s;
  ref a = ref_new(&(lac_meta){.dtype = dtype_of(c), .ndim = 2, .shape = {items_of(c), s->nnz}});
  for (int64_t i = 0; i < items_of(c); ++i) {
    for (int64_t z = 0; z < s->nnz; ++z) {
      double tilt = s->row[z] == s->col[z] ? 1 + (double)i * c->tilt : 1;
      a.x[i * s->nnz + z] = c->matrix.a.x[z] * tilt;
    }
  }
  return a;
}

static ref right_side(const krylov_case *c, int64_t n) {
  int64_t k = width_of(c);
  ref b = ref_new(&(lac_meta){.dtype = dtype_of(c), .ndim = 3, .shape = {items_of(c), n, k}});
  ref_random(&b, 77, lac_dtype_is_complex(dtype_of(c)));
  for (int64_t i = 0; i < b.count; ++i) b.x[i] *= (double)(1 + i % k) * (c->scale != 0 ? c->scale : 1);
  return b;
}

dense krylov_dense(const krylov_case *c, const ref *a, int64_t item) {
  return dense_side(dense_matrix(c->matrix.s, a->x + item * c->matrix.s->nnz), c->form);
}

static lac_status inverse_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y) {
  krylov_inverse *m = (krylov_inverse *)self;
  lac_status status = LAC_OK;
  size_t mark = scratch_mark();
  int64_t n = m->n, k = x->meta.shape[2];
  ref from, to = ref_new(&x->meta);
  lac_array *out = NULL;

  ++m->calls;
  LAC_TRY(ref_download(ctx, x, &from));
  for (int64_t i = 0; i < m->items; ++i) {
    dense part = dense_over(n, k, from.x + i * n * k), inverse = dense_over(n, n, (number *)m->x + i * n * n);
    dense_copy_to(dense_mul(dense_side(inverse, form), part), to.x + i * n * k);
  }
  for (int64_t i = 0; m->varies && m->calls % 2 && i < to.count; ++i) to.x[i] *= i / k % 2 ? 0.5 : 1;
  LAC_TRY(ref_upload(ctx, &to, &out));
  LAC_TRY(ctx->backend->copy(ctx, out, y));
done:
  lac_array_destroy(&out);
  scratch_release(mark);
  return status;
}

static krylov_inverse *inverse_of(const krylov_case *c, int keeps_triangle) {
  ref a = values_of(c);
  int64_t n = c->matrix.s->rows;
  number *x = scratch((size_t)(items_of(c) * n * n + 1) * sizeof *x);
  krylov_inverse *m = scratch(sizeof *m);
  for (int64_t i = 0; i < items_of(c); ++i) {
    dense full = dense_matrix(c->matrix.s, a.x + i * c->matrix.s->nnz);
    for (int64_t p = 0; p < n * n; ++p) {
      if (keeps_triangle ? p % n > p / n : p % n != p / n) full.x[p] = 0;
    }
    dense_copy_to(dense_inverse(full), x + i * n * n);
  }
  *m = (krylov_inverse){.items = items_of(c), .n = n, .x = x};
  return m;
}

krylov_inverse *krylov_diagonal(const krylov_case *c) { return inverse_of(c, 0); }
krylov_inverse *krylov_triangle(const krylov_case *c) { return inverse_of(c, 1); }

static double residual_of(const krylov_case *c, const krylov_result *got) {
  double worst = 0;
  int64_t k = width_of(c);
  for (int64_t item = 0; item < items_of(c); ++item) {
    dense a = krylov_dense(c, &got->a, item);
    dense ax = dense_mul(a, dense_over(a.cols, k, got->x.x + item * a.cols * k));
    for (int64_t j = 0; j < k; ++j) {
      double r = 0, b = 0;
      for (int64_t i = 0; i < a.rows; ++i) {
        number value = got->b.x[(item * a.rows + i) * k + j];
        r = hypot(r, cabs(value - ax.x[i * k + j]));
        b = hypot(b, cabs(value));
      }
      if (b > 0 && !(r / b <= worst)) worst = r / b;
    }
  }
  return worst;
}

double krylov_error(const krylov_case *c, const krylov_result *got) {
  double worst = 0;
  int64_t k = width_of(c);
  for (int64_t item = 0; item < items_of(c); ++item) {
    dense a = krylov_dense(c, &got->a, item);
    dense want = dense_solve(a, dense_over(a.rows, k, got->b.x + item * a.rows * k));
    double size = 0, far = 0;
    for (int64_t i = 0; i < a.cols * k; ++i) {
      size = fmax(size, cabs(want.x[i]));
      far = fmax(far, cabs(want.x[i] - got->x.x[item * a.cols * k + i]));
    }
    worst = fmax(worst, size > 0 ? far / size : far);
  }
  return worst;
}

static lac_status solve_arrays(lac_context *ctx, const krylov_case *c, krylov_result *got, const ref *x0) {
  lac_status status = LAC_OK;
  const sketch *s = c->matrix.s;
  lac_pattern *pattern = NULL;
  lac_array *a = NULL, *b = NULL, *x = NULL;
  lac_matrix_linear matrix;
  lac_iteration iteration = c->iteration;
  lac_krylov_job job = {.form = c->form,
                        .iteration = &iteration,
                        .items = items_of(c),
                        .rows = s->rows,
                        .cols = s->cols,
                        .width = width_of(c),
                        .dtype = dtype_of(c),
                        .starts_at_zero = !c->x0};

  LAC_TRY(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  LAC_TRY(ref_upload(ctx, &got->a, &a));
  LAC_TRY(ref_upload(ctx, &got->b, &b));
  LAC_TRY(ref_upload(ctx, x0, &x));
  matrix = (lac_matrix_linear){pattern, a};
  job.a = (lac_linear){.apply = lac_matrix_linear_apply, .self = &matrix};
  if (c->inverse) job.m = (lac_linear){.apply = inverse_apply, .self = c->inverse};
  job.b = b, job.x = x;
  LAC_TRY(c->method->run(ctx, &job, &got->report));
  LAC_TRY(ref_download(ctx, x, &got->x));
done:
  lac_array_destroy(&a);
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_pattern_destroy(&pattern);
  return status;
}

krylov_result krylov_solve_only(lac_context *ctx, const krylov_case *c) {
  krylov_case full = *c;
  bool turns = c->form == LAC_TRANSPOSED || c->form == LAC_ADJOINT;
  int64_t rows = turns ? c->matrix.s->cols : c->matrix.s->rows, cols = turns ? c->matrix.s->rows : c->matrix.s->cols;
  krylov_result got = {.a = values_of(c), .b = c->b ? ref_copy(c->b) : right_side(c, rows)};
  ref zero = ref_new(&(lac_meta){.dtype = dtype_of(c), .ndim = 3, .shape = {items_of(c), cols, width_of(c)}});
  if (full.iteration.rtol == 0 && full.iteration.atol == 0)
    full.iteration.rtol = direct_rounding(dtype_of(c)) > 1e-10 ? 1e-5 : 1e-10;
  got.status = solve_arrays(ctx, &full, &got, c->x0 ? c->x0 : &zero);
  return got;
}

krylov_result krylov_solve(lac_context *ctx, const krylov_case *c, int may_fail) {
  krylov_result got = krylov_solve_only(ctx, c);
  if (got.status == LAC_OK) {
    got.residual = residual_of(c, &got);
  } else if (!may_fail) {
    CHECK_OK(got.status);
  }
  return got;
}
