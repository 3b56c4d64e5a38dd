// SPDX-License-Identifier: Apache-2.0
/// @file chebyshev.c
/// A polynomial in D^-1 A as preconditioner: Chebyshev's iteration from zero, a fixed number of steps.
///
///     theta = (b + a) / 2,  sigma = (b + a) / (b - a)                 on [a, b] = [lmax / 30, 1.1 lmax]
///     x_1 = d_1 = D^-1 r_0 / theta,  rho_1 = 1 / sigma
///     rho_k+1 = 1 / (2 sigma - rho_k)
///     d_k+1 = rho_k+1 rho_k d_k + 2 rho_k+1 sigma D^-1 (b - A x_k) / theta,  x_k+1 = x_k + d_k+1
///
/// lmax is the largest eigenvalue of D^-1 A, estimated (largest.c). sigma is the same for every matrix, so that 1 /
/// theta goes into the diagonal's reciprocal and a batch has common coefficients. p(D^-1 A) D^-1 = D^-1 p(A D^-1) and
/// the coefficients are real: with op(A) and op(D) the same steps are op(M)^-1 exactly.

#include "solvers/precondition/relax.h"

enum { CHEBYSHEV_DEGREE = 2, CHEBYSHEV_RATIO = 30 };
static const double chebyshev_safety = 1.1;

#define KERNEL_FILE "solvers/precondition/chebyshev_kernel.h"
#include "solvers/numbers/instantiate.h"

typedef void chebyshev_scale_kernel(int64_t, int64_t, const double *, void *);
static chebyshev_scale_kernel *const chebyshev_scale[] = TABLE(chebyshev_scale);

typedef struct chebyshev_part {
  lac_pattern *pattern;
  lac_array *values;              // of the matrix, shared
  lac_array *inverse, *mirrored;  // [items, n, 1]: 1 / (theta d) and its conjugate
  int degree;
} chebyshev_part;

static void chebyshev_destroy(void *part) {
  chebyshev_part *c = part;
  if (!c) return;
  lac_pattern_destroy(&c->pattern);
  lac_array_destroy(&c->values);
  lac_array_destroy(&c->inverse);
  lac_array_destroy(&c->mirrored);
  lac_free(c);
}

/// x = x / theta, a theta for each item, by way of the host.
static lac_status chebyshev_shrink(lac_context *ctx, const double *theta, lac_array *x) {
  lac_status status = LAC_OK;
  char *host = NULL;

  LAC_ALLOC(host, lac_array_bytes(x));
  LAC_TRY(lac_array_fetch(ctx, x, host));
  chebyshev_scale[x->meta.dtype](x->meta.shape[0], x->meta.shape[1], theta, host);
  LAC_TRY(lac_array_write(ctx, x, host));
done:
  lac_free(host);
  return status;
}

static lac_status chebyshev_create(lac_context *ctx, const lac_setup *setup, void **part) {
  lac_status status = LAC_OK;
  int64_t items = setup->values->meta.shape[0];
  int degree = setup->options->preconditioner.degree;
  double *theta = NULL;
  chebyshev_part *made = NULL;

  LAC_CHECK(degree >= 0, LAC_ERR_ARG, "chebyshev: degree = %d; give a positive number, or 0 for the default, %d",
            degree, CHEBYSHEV_DEGREE);
  LAC_ALLOC(made, 1);
  LAC_ALLOC(theta, items);
  made->degree = degree > 0 ? degree : CHEBYSHEV_DEGREE;
  made->pattern = lac_pattern_retain(setup->pattern);
  made->values = lac_array_retain(setup->values);
  LAC_TRY(lac_relax_diagonal(ctx, "chebyshev", setup, NULL, &made->inverse, &made->mirrored));
  LAC_TRY(lac_relax_largest(ctx, setup, theta));
  for (int64_t i = 0; i < items; i++) theta[i] *= (chebyshev_safety + 1.0 / CHEBYSHEV_RATIO) / 2;
  LAC_TRY(chebyshev_shrink(ctx, theta, made->inverse));
  if (made->mirrored != made->inverse) LAC_TRY(ctx->kernels->conj(ctx, made->inverse, made->mirrored));
  *part = made, made = NULL;
done:
  lac_free(theta);
  chebyshev_destroy(made);
  return status;
}

/// next = carry d + gain D^-1 (b - op(A) x), x += next; t is room.
static lac_status chebyshev_step(lac_context *ctx, const chebyshev_part *c, lac_form form, const double factor[2],
                                 const lac_array *b, lac_array *x, const lac_array *d, lac_array *next, lac_array *t) {
  lac_status status = LAC_OK;
  const lac_kernels *k = ctx->kernels;
  const lac_array *inverse = lac_form_conjugates(form) ? c->mirrored : c->inverse;

  LAC_TRY(k->spmm(ctx, c->pattern, form, c->values, x, t));
  LAC_TRY(k->binary(ctx, LAC_SUB, b, t, next));
  LAC_TRY(k->binary(ctx, LAC_MUL, inverse, next, t));
  LAC_TRY(k->scale(ctx, factor[0], 0, d, next));
  LAC_TRY(k->axpy(ctx, factor[1], 0, t, next));
  LAC_TRY(k->axpy(ctx, 1, 0, next, x));
done:
  return status;
}

static lac_status chebyshev_apply(lac_context *ctx, const void *part, lac_form form, const lac_array *b, lac_array *x) {
  lac_status status = LAC_OK;
  const chebyshev_part *c = part;
  double high = chebyshev_safety, low = 1.0 / CHEBYSHEV_RATIO, sigma = (high + low) / (high - low), rho = 1 / sigma;
  lac_array *d = NULL, *next = NULL, *t = NULL;

  LAC_TRY(ctx->kernels->binary(ctx, LAC_MUL, lac_form_conjugates(form) ? c->mirrored : c->inverse, b, x));
  if (c->degree == 1) goto done;
  LAC_TRY(lac_relax_like(ctx, b, &d));
  LAC_TRY(lac_relax_like(ctx, b, &next));
  LAC_TRY(lac_relax_like(ctx, b, &t));
  LAC_TRY(ctx->backend->copy(ctx, x, d));
  for (int i = 1; i < c->degree; i++) {
    double following = 1 / (2 * sigma - rho), factor[] = {following * rho, 2 * following * sigma};
    LAC_TRY(chebyshev_step(ctx, c, form, factor, b, x, d, next, t));
    lac_array *last = d;
    d = next, next = last, rho = following;
  }
done:
  lac_array_destroy(&d);
  lac_array_destroy(&next);
  lac_array_destroy(&t);
  return status;
}

static void chebyshev_report(const void *part, lac_setup_figures *finding) {
  const chebyshev_part *c = part;
  bool has_two = c->mirrored != c->inverse;
  *finding = (lac_setup_figures){.bytes = lac_relax_bytes(c->inverse) * (has_two ? 2 : 1)};
}

static bool chebyshev_is_here(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options) {
  (void)pattern, (void)options;
  return ctx->kernels->unary != NULL;
}

const lac_preconditioner_table lac_preconditioner_chebyshev = {
    .name = "chebyshev",
    .is_here = chebyshev_is_here,
    .create = chebyshev_create,
    .apply = chebyshev_apply,
    .report = chebyshev_report,
    .destroy = chebyshev_destroy,
};
