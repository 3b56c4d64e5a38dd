// SPDX-License-Identifier: Apache-2.0
/// @file golub_kahan.c
/// Golub-Kahan-Lanczos bidiagonalisation, restarted:
///
///     A V = U B,   A^H U = V B^T + beta v e^T       B upper bidiagonal: alpha on the diagonal, beta above it
///
/// From a start v the bases grow by one product with A and one with A^H a step, each new vector being made orthogonal
/// to all before it. The largest singular triplet (s, p, q) of B gives sigma = s, u = U p, v = V q, whose residual |A^H
/// u - sigma v| is beta |p_last|. Where that is not small enough yet the next round starts from v. The first start is a
/// fixed vector without structure, so results repeat. Values are scaled by a power of two first: no square leaves the
/// range, and thresholds are absolute.

#include "solvers/eigen/golub_kahan.h"

#include <math.h>
#include <string.h>

#include "core/number_at.h"
#include "core/numbers/random.h"

enum { BASIS = 32, SWEEPS = 40, GOLUB_SEED = 1 };

typedef struct golub {
  lac_context *ctx;
  const lac_pattern *p;
  const lac_array *a;  // scaled
  lac_dtype dtype;
  double epsilon;
  int most;                            // vectors in a basis
  lac_array *u[BASIS], *v[BASIS + 1];  // owned
  lac_array *number;                   // owned: one
  double alpha[BASIS], beta[BASIS];
  int count;  // of this round
  int64_t steps;
  double p_of[BASIS], q_of[BASIS];  // the largest triplet of B
} golub;

// -- vectors ---------------------------------------------------------------------------------------------------------

static lac_status golub_vector(const golub *g, int64_t size, lac_array **out) {
  return lac_array_make(g->ctx, &(lac_meta){.dtype = g->dtype, .ndim = 2, .shape = {size, 1}}, out);
}

/// conj(x) y
static lac_status golub_dot(const golub *g, const lac_array *x, const lac_array *y, double out[2]) {
  lac_context *ctx = g->ctx;
  lac_status status = LAC_OK;
  lac_number number = {.c128 = 0};
  c128 product = 0;

  LAC_TRY(ctx->kernels->dot(ctx, x, y, g->number));
  LAC_TRY(ctx->backend->download(ctx, &number, g->number->storage->data, lac_dtype_size(g->dtype)));
  product = lac_number_get(g->dtype, &number, 0);
done:
  out[0] = creal(product), out[1] = cimag(product);
  return status;
}

/// x orthogonal to `count` vectors (twice is enough), its length, and x at length 1; of a vector that vanishes, 0 and
/// zeros.
static lac_status golub_clean(const golub *g, lac_array *const *basis, int count, lac_array *x, double *length) {
  lac_context *ctx = g->ctx;
  lac_status status = LAC_OK;
  double c[2];

  for (int i = 0; i < 2 * count; ++i) {
    LAC_TRY(golub_dot(g, basis[i % count], x, c));
    LAC_TRY(ctx->kernels->axpy(ctx, -c[0], -c[1], basis[i % count], x));
  }
  LAC_TRY(golub_dot(g, x, x, c));
  *length = sqrt(c[0]);
  if (*length <= 64 * g->epsilon) *length = 0;
  if (*length > 0) {
    LAC_TRY(ctx->kernels->scale(ctx, 1 / *length, 0, x, x));
  } else {
    LAC_TRY(ctx->backend->fill(ctx, x, 0, 0));
  }
done:
  return status;
}

/// out = sum of weight_j basis_j
static lac_status golub_combine(const golub *g, lac_array *const *basis, const double *weight, lac_array *out) {
  lac_context *ctx = g->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(ctx->backend->fill(ctx, out, 0, 0));
  for (int j = 0; j < g->count; ++j) LAC_TRY(ctx->kernels->axpy(ctx, weight[j], 0, basis[j], out));
done:
  return status;
}

// -- the small problem -----------------------------------------------------------------------------------------------

/// Turn columns i and j of z until they are orthogonal, and w with them; returns whether they were not.
static bool golub_rotate(int n, double z[BASIS][BASIS], double w[BASIS][BASIS], int i, int j) {
  double ii = 0, jj = 0, ij = 0;
  for (int r = 0; r < n; ++r) ii += z[r][i] * z[r][i], jj += z[r][j] * z[r][j], ij += z[r][i] * z[r][j];
  if (fabs(ij) <= DBL_EPSILON * sqrt(ii * jj)) return false;
  double tau = (jj - ii) / (2 * ij), t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
  double c = 1 / sqrt(1 + t * t), s = c * t;
  for (int r = 0; r < n; ++r) {
    double x = z[r][i], y = z[r][j];
    z[r][i] = c * x - s * y, z[r][j] = s * x + c * y;
    x = w[r][i], y = w[r][j];
    w[r][i] = c * x - s * y, w[r][j] = s * x + c * y;
  }
  return true;
}

/// The largest singular triplet of B, by turning its columns orthogonal (one-sided Jacobi). Returns the value.
static double golub_small(golub *g) {
  double z[BASIS][BASIS] = {{0}}, w[BASIS][BASIS] = {{0}}, best = 0;
  int n = g->count, at = 0;
  bool turned = true;

  for (int i = 0; i < n; ++i) z[i][i] = g->alpha[i], w[i][i] = 1;
  for (int i = 0; i + 1 < n; ++i) z[i][i + 1] = g->beta[i];
  for (int sweep = 0; sweep < SWEEPS && turned; ++sweep) {
    turned = false;
    for (int i = 0; i < n; ++i) {
      for (int j = i + 1; j < n; ++j) turned |= golub_rotate(n, z, w, i, j);
    }
  }
  for (int j = 0; j < n; ++j) {
    double square = 0;
    for (int r = 0; r < n; ++r) square += z[r][j] * z[r][j];
    if (square > best) best = square, at = j;
  }
  best = sqrt(best);
  for (int r = 0; r < n; ++r) g->p_of[r] = best > 0 ? z[r][at] / best : 0, g->q_of[r] = w[r][at];
  return best;
}

// -- rounds ----------------------------------------------------------------------------------------------------------

/// Grow the bases from v[0] until they are full or span all that can be reached.
static lac_status golub_round(golub *g, const lac_singular_options *o) {
  lac_context *ctx = g->ctx;
  lac_status status = LAC_OK;

  for (g->count = 0; g->count < g->most && g->steps < o->steps;) {
    int k = g->count;
    LAC_TRY(lac_context_look(ctx, o->function));
    LAC_TRY(ctx->kernels->spmm(ctx, g->p, LAC_PLAIN, g->a, g->v[k], g->u[k]));
    LAC_TRY(golub_clean(g, g->u, k, g->u[k], &g->alpha[k]));
    LAC_TRY(ctx->kernels->spmm(ctx, g->p, LAC_ADJOINT, g->a, g->u[k], g->v[k + 1]));
    LAC_TRY(golub_clean(g, g->v, k + 1, g->v[k + 1], &g->beta[k]));
    ++g->steps;
    ++g->count;
    if (g->beta[k] == 0) break;
  }
done:
  return status;
}

static lac_status golub_iterate(golub *g, const lac_singular_options *o, double *sigma, lac_array *u, lac_array *v) {
  lac_context *ctx = g->ctx;
  lac_status status = LAC_OK;
  double residual = INFINITY;

  while (residual > o->tolerance) {
    LAC_CHECK(g->steps < o->steps, LAC_ERR_CONVERGENCE,
              "%s: did not reach the tolerance: relative residual %.1e after %lld steps (asked: %.1e)\n"
              "  allow more steps or a larger tolerance; singular values that lie close together need many",
              o->function, residual, (long long)g->steps, o->tolerance);
    LAC_TRY(golub_round(g, o));
    *sigma = golub_small(g);
    residual = *sigma > 0 ? fabs(g->beta[g->count - 1] * g->p_of[g->count - 1]) / *sigma : 0;
    LAC_TRY(golub_combine(g, g->v, g->q_of, v));
    if (residual > o->tolerance) LAC_TRY(ctx->backend->copy(ctx, v, g->v[0]));
  }
  LAC_TRY(golub_combine(g, g->u, g->p_of, u));
done:
  return status;
}

// -- beginning and end -----------------------------------------------------------------------------------------------

/// A fixed vector whose numbers follow no pattern, at length 1.
static lac_status golub_start(golub *g) {
  lac_context *ctx = g->ctx;
  lac_status status = LAC_OK;
  int64_t reals = g->p->cols * lac_dtype_parts(g->dtype);
  double *numbers = NULL, length = 0;

  LAC_ALLOC(numbers, reals);
  lac_random_fill(GOLUB_SEED, !lac_dtype_is_single(g->dtype), reals, numbers);
  LAC_TRY(ctx->backend->upload(ctx, g->v[0]->storage->data, numbers, (size_t)g->p->cols * lac_dtype_size(g->dtype)));
  LAC_TRY(golub_clean(g, g->v, 0, g->v[0], &length));
done:
  lac_free(numbers);
  return status;
}

/// The exponent of the largest part of a value, and whether all are zero. Refuses what is not finite.
static lac_status golub_exponent(lac_context *ctx, const char *function, const lac_array *a, bool *is_zero, int *out) {
  lac_status status = LAC_OK;
  lac_dtype dtype = a->meta.dtype;
  int parts = lac_dtype_parts(dtype);
  void *host = NULL;
  double most = 0;

  host = lac_alloc(lac_array_bytes(a));
  LAC_CHECK(host, LAC_ERR_MEMORY, "out of memory: the values of a matrix, to find their size");
  LAC_TRY(lac_array_fetch(ctx, a, host));
  for (int64_t i = 0; i < a->count * parts; ++i) {
    double x = fabs(lac_real_get(dtype, host, i));
    LAC_CHECK(isfinite(x), LAC_ERR_NONFINITE, "%s: the value in slot %lld is not finite", function,
              (long long)(i / parts));
    if (x > most) most = x;
  }
  *is_zero = most == 0;
  *out = most > 0 ? ilogb(most) : 0;
done:
  lac_free(host);
  return status;
}

/// a times 2^-exponent, in two steps where one factor would leave the range.
static lac_status golub_scaled(lac_context *ctx, const lac_array *a, int exponent, lac_array **out) {
  lac_status status = LAC_OK;
  int half = -exponent / 2;

  LAC_TRY(lac_array_make(ctx, &a->meta, out));
  LAC_TRY(ctx->kernels->scale(ctx, ldexp(1, half), 0, a, *out));
  LAC_TRY(ctx->kernels->scale(ctx, ldexp(1, -exponent - half), 0, *out, *out));
done:
  return status;
}

static lac_status golub_open(golub *g) {
  lac_context *ctx = g->ctx;
  lac_status status = LAC_OK;
  int64_t least = g->p->rows < g->p->cols ? g->p->rows : g->p->cols;

  g->most =
      least < BASIS ? (int)least + 1 : BASIS;  // the start may lie outside what A^H reaches: one more than the rank
  g->epsilon = lac_dtype_epsilon(g->dtype);
  LAC_TRY(lac_array_make(ctx, &(lac_meta){.dtype = g->dtype}, &g->number));
  for (int i = 0; i < g->most; ++i) LAC_TRY(golub_vector(g, g->p->rows, &g->u[i]));
  for (int i = 0; i <= g->most; ++i) LAC_TRY(golub_vector(g, g->p->cols, &g->v[i]));
  LAC_TRY(golub_start(g));
done:
  return status;
}

static void golub_close(golub *g) {
  for (int i = 0; i < BASIS; ++i) lac_array_destroy(&g->u[i]);
  for (int i = 0; i <= BASIS; ++i) lac_array_destroy(&g->v[i]);
  lac_array_destroy(&g->number);
}

lac_status lac_singular_largest(lac_context *ctx, const lac_pattern *p, const lac_array *a,
                                const lac_singular_options *options, double *sigma, lac_array *u, lac_array *v) {
  lac_status status = LAC_OK;
  lac_array *scaled = NULL;
  golub g = {.ctx = ctx, .p = p, .dtype = a->meta.dtype};
  bool is_zero = true;
  int exponent = 0;

  if (a->count) LAC_TRY(golub_exponent(ctx, options->function, a, &is_zero, &exponent));
  if (is_zero) {
    *sigma = 0;
    LAC_TRY(ctx->backend->fill(ctx, u, 0, 0));
    LAC_TRY(ctx->backend->fill(ctx, v, 0, 0));
    goto done;
  }
  LAC_TRY(golub_scaled(ctx, a, exponent, &scaled));
  g.a = scaled;
  LAC_TRY(golub_open(&g));
  LAC_TRY(golub_iterate(&g, options, sigma, u, v));
  *sigma = ldexp(*sigma, exponent);
done:
  golub_close(&g);
  lac_array_destroy(&scaled);
  return status;
}
