// SPDX-License-Identifier: Apache-2.0
/// @file logdet_estimate.c
/// The logarithm of the determinant of a Hermitian positive definite matrix from probes: stochastic Lanczos quadrature.
///
///     forward   q_j      = z_j^H log(A) z_j                by i[0] steps of Lanczos from each column z_j of the probes
///               estimate = mean of q                       of log det A = tr log A, where E[z z^H] = I
///               error    = its standard error              sqrt(sum |q_j - mean|^2 / (k (k - 1))); one probe: NaN
///     vjp       a_bar    = estimate_bar / k sddmm(P, lambda, z)       lambda = solve_with(S, H, a, z)
///     jvp       estimate_dot = Re(lambda^H A_dot z) / k
///
/// The derivative is an estimate too, with the same probes: that of the gradient A^-H of log det A, by Hutchinson's
/// (A^-H z) z^H. It is unbiased as the value is, and it is not the derivative of the value at these probes, which would
/// be that of q_j; the two agree where the probes do not leave it to chance (Z Z^H = k I: a Hadamard matrix, all unit
/// vectors) and for a diagonal A. It is made of solves and sddmm, so that derivatives of every order are estimates of
/// those of log det A, and agree with each other. The object is a solver: the value factors nothing, a derivative asks
/// it for solves. The probes are data: no derivative passes through them, nor through the error, which is that of
/// chance alone, without that of too few steps.
///
/// The public function (functions/estimates.c) takes the Hermitian part of A, as lac_cholesky does: its gradient is
/// Hermitian.

#include <math.h>

#include "core/reals.h"
#include "ops/solves/factored.h"
#include "solvers/eigen/lanczos.h"
#include "solvers/eigen/tridiagonal.h"

enum { A, Z };
enum { ESTIMATE, ERROR };
enum { ESTIMATE_STEPS = 50 };

#define STEPS(call) ((call)->attrs->i[0] > 0 ? (call)->attrs->i[0] : ESTIMATE_STEPS)

static lac_status logdet_estimate_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *z = &c->in_meta[Z];

  LAC_CHECK(c->attrs->i[0] >= 0, LAC_ERR_ARG, "logdet_estimate: %lld steps; give a positive number, or 0 for %d",
            (long long)c->attrs->i[0], ESTIMATE_STEPS);
  LAC_TRY(lac_call_match(c));
  LAC_CHECK(z->shape[z->ndim - 1] > 0, LAC_ERR_SHAPE, "logdet_estimate: there are no probes; give at least one column");
  c->out_meta[ESTIMATE].dtype = c->out_meta[ERROR].dtype = lac_dtype_real(c->in_meta[A].dtype);
done:
  return status;
}

/// Refuse values that are not Hermitian, to a few roundings of their norm.
static lac_status estimate_check(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_pattern *p = lac_factored_pattern(c->object);
  const lac_array *a = c->in[A];
  lac_pattern *turned = NULL;
  lac_map *map = NULL;
  lac_array *mirror = NULL, *adjoint = NULL, *norm = NULL;
  double size = 0, difference = 0;

  LAC_TRY(lac_pattern_transpose(ctx, p, &turned, &map));
  LAC_CHECK(lac_pattern_same(p, turned), LAC_ERR_SYMMETRY,
            "logdet_estimate: the pattern is not symmetric; store both halves of the Hermitian matrix");
  LAC_TRY(lac_array_make(ctx, &a->meta, &mirror));
  LAC_TRY(lac_array_make(ctx, &a->meta, &adjoint));
  LAC_TRY(lac_array_create(ctx, c->out_meta[ESTIMATE].dtype, 0, NULL, &norm));
  LAC_TRY(KERNELS(c)->remap(ctx, map, LAC_PLAIN, 0, a, mirror));
  LAC_TRY(KERNELS(c)->conj(ctx, mirror, adjoint));
  LAC_TRY(KERNELS(c)->binary(ctx, LAC_SUB, a, adjoint, mirror));
  LAC_TRY(KERNELS(c)->reduce(ctx, LAC_REDUCE_NORM, a, (1U << a->meta.ndim) - 1, norm));
  LAC_TRY(lac_reals_read(ctx, norm, &size));
  LAC_TRY(KERNELS(c)->reduce(ctx, LAC_REDUCE_NORM, mirror, (1U << a->meta.ndim) - 1, norm));
  LAC_TRY(lac_reals_read(ctx, norm, &difference));
  LAC_CHECK(!(difference > size * (norm->meta.dtype == LAC_F32 ? 1e-6 : 1e-14)), LAC_ERR_SYMMETRY,
            "logdet_estimate: the matrix is not Hermitian, |A - A^H| = %.3g |A|; lac_logdet takes any",
            difference / size);
done:
  lac_pattern_destroy(&turned);
  lac_map_destroy(&map);
  lac_array_destroy(&mirror);
  lac_array_destroy(&adjoint);
  lac_array_destroy(&norm);
  return status;
}

static lac_status estimate_product(lac_context *ctx, const void *self, const lac_array *x, lac_array *y) {
  const lac_call *c = self;
  return ctx->kernels->spmm(ctx, lac_factored_pattern(c->object), LAC_PLAIN, c->in[A], x, y);
}

/// z^H log(A) z from the tridiagonal matrix, which is used up. False where an eigenvalue, *least, is not positive.
static bool estimate_quadrature(int64_t steps, double *alpha, double *beta, double *weight, double norm, double *q,
                                double *least) {
  *q = 0;
  if (!lac_tridiagonal_eigen(steps, alpha, beta, weight)) *q = NAN;  // NaN or infinity came in
  for (int64_t i = 0; i < steps && !isnan(*q); i++) {
    if (weight[i] == 0) continue;
    *least = alpha[i];
    if (!(alpha[i] > 0)) return false;
    *q += norm * weight[i] * (norm * weight[i]) * log(alpha[i]);
  }
  return true;
}

/// What all probes share. q has k numbers for each item.
typedef struct estimate_work {
  lac_lanczos job;
  lac_array *start;  // [*batch, n, 1]
  int64_t items, probes;
  double *weight, *q;
} estimate_work;

static void estimate_close(estimate_work *work) {
  lac_array_destroy(&work->start);
  lac_free(work->job.alpha);
  lac_free(work->job.beta);
  lac_free(work->job.norm);
  lac_free(work->job.made);
  lac_free(work->weight);
  lac_free(work->q);
}

static lac_status estimate_open(lac_call *c, estimate_work *work) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_meta meta = c->out_meta[ESTIMATE];
  int64_t steps = STEPS(c), n = lac_factored_pattern(c->object)->rows;

  LAC_CHECK(meta.ndim + 2 <= LAC_MAX_DIMS && KERNELS(c)->place && KERNELS(c)->reduce, LAC_ERR_UNSUPPORTED,
            "logdet_estimate: %d batch dimensions on the backend %s; at most %d on the CPU", meta.ndim,
            c->ctx->backend->name, LAC_MAX_DIMS - 2);
  if (steps > n) steps = n;
  meta.dtype = c->in_meta[A].dtype;
  meta.shape[meta.ndim++] = n;
  meta.shape[meta.ndim++] = 1;
  work->items = c->out[ESTIMATE]->count;
  work->probes = c->in_meta[Z].shape[c->in_meta[Z].ndim - 1];
  work->job = (lac_lanczos){.function = "logdet_estimate", .product = estimate_product, .self = c, .steps = steps};
  LAC_TRY(lac_array_make(ctx, &meta, &work->start));
  LAC_ALLOC(work->job.alpha, work->items * steps);
  LAC_ALLOC(work->job.beta, work->items * steps);
  LAC_ALLOC(work->job.norm, work->items);
  LAC_ALLOC(work->job.made, work->items);
  LAC_ALLOC(work->weight, steps);
  LAC_ALLOC(work->q, work->items * work->probes);
done:
  return status;
}

/// q of the probe in column j.
static lac_status estimate_probe(lac_call *c, estimate_work *work, int64_t j) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_lanczos *job = &work->job;
  lac_along from = {j, 1}, to = {0, 1};
  double least = 0;

  LAC_TRY(KERNELS(c)->place(ctx, 0, 1, c->in[Z], from, work->start, to));
  LAC_TRY(lac_lanczos_run(ctx, job, work->start));
  for (int64_t i = 0; i < work->items; i++) {
    double *q = work->q + i * work->probes + j;
    LAC_CHECK(
        estimate_quadrature(job->made[i], job->alpha + i * job->steps, job->beta + i * job->steps, work->weight,
                            job->norm[i], q, &least),
        LAC_ERR_DEFINITE,
        "logdet_estimate: matrix %lld of the batch is not positive definite: it has an eigenvalue near or below %.3g; "
        "lac_logdet takes any matrix",
        (long long)i, least);
  }
done:
  return status;
}

/// Mean and standard error of each item's q.
static lac_status estimate_finish(lac_call *c, const estimate_work *work) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  double *mean = NULL, *error = NULL, k = (double)work->probes;

  LAC_ALLOC(mean, work->items);
  LAC_ALLOC(error, work->items);
  for (int64_t i = 0; i < work->items; i++) {
    const double *q = work->q + i * work->probes;
    for (int64_t j = 0; j < work->probes; j++) mean[i] += q[j];
    mean[i] /= k;
    for (int64_t j = 0; j < work->probes; j++) error[i] += (q[j] - mean[i]) * (q[j] - mean[i]);
    error[i] = work->probes > 1 ? sqrt(error[i] / (k * (k - 1))) : NAN;
  }
  LAC_TRY(lac_reals_write(ctx, c->out[ESTIMATE], mean));
  LAC_TRY(lac_reals_write(ctx, c->out[ERROR], error));
done:
  lac_free(mean);
  lac_free(error);
  return status;
}

static lac_status logdet_estimate_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  estimate_work work = {.start = NULL};

  LAC_TRY(estimate_open(c, &work));
  LAC_TRY(estimate_check(c));
  for (int64_t j = 0; j < work.probes; j++) LAC_TRY(estimate_probe(c, &work, j));
  LAC_TRY(estimate_finish(c, &work));
done:
  estimate_close(&work);
  return status;
}

/// A^-H z.
static lac_var estimate_solve(lac_rule *r) {
  return lac_emit_derivative_solve(r->tape, r->object, LAC_ADJOINT, r->in[A], r->in[Z]);
}

/// x / k.
static lac_var estimate_mean(lac_rule *r, lac_var x) {
  const lac_meta *z = &r->in_meta[Z];
  return lac_scale(r->tape, x, 1 / (double)z->shape[z->ndim - 1], 0);
}

static void logdet_estimate_vjp(lac_rule *r) {
  const lac_pattern *p = lac_factored_pattern(r->object);
  lac_var bar = lac_cast(r->tape, r->out_bar[ESTIMATE], r->in_meta[A].dtype);

  lac_rule_nothing(r);  // of the probes, and of an estimate that is not wanted
  if (!r->wants[A] || !r->out_bar[ESTIMATE].id) return;
  bar = lac_emit_column(r->tape, estimate_mean(r, bar));
  r->in_bar[A] = lac_mul(r->tape, bar, lac_sddmm(r->tape, p, estimate_solve(r), r->in[Z]));
}

static void logdet_estimate_jvp(lac_rule *r) {
  lac_rule_nothing(r);
  if (!r->in_dot[A].id) return;
  lac_var change = lac_spmm(r->tape, lac_factored_pattern(r->object), r->in_dot[A], r->in[Z], LAC_PLAIN);
  r->out_dot[ESTIMATE] = estimate_mean(r, lac_real(r->tape, lac_dot(r->tape, estimate_solve(r), change)));
}

const lac_op lac_op_logdet_estimate = {
    .name = "logdet_estimate",
    .signature = "(z),(n,k)->(),()",
    .binds = "factor: z, (n,n)",
    .parameters = "solver: solver, a: values, probes: array, steps: integer = 0",
    .about = "(estimate, error) of log det of a Hermitian A from probes.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(A) | NEEDS_IN(Z),
    .jvp_needs = NEEDS_IN(A) | NEEDS_IN(Z),
    .infer = logdet_estimate_infer,
    .forward = logdet_estimate_forward,
    .vjp = logdet_estimate_vjp,
    .jvp = logdet_estimate_jvp,
};

void lac_emit_logdet_estimate(lac_tape *tape, const lac_solver *solver, lac_var h, lac_var probes, int64_t steps,
                              lac_var out[2]) {
  lac_spec spec = {.op = &lac_op_logdet_estimate, .object = solver, .attrs.i = {steps}};
  (void)lac_tape_call(tape, &spec, (lac_var[]){h, probes}, out);  // the status sticks to the tape
}
