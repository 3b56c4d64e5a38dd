// SPDX-License-Identifier: Apache-2.0
/// @file optimiser.c
/// First-order methods, step by step.
///
///     gradient descent   v = momentum v + g            x = x - rate v
///     Adam               m = beta1 m + (1 - beta1) g   v = beta2 v + (1 - beta2) g^2
///                        x = x - rate m' / (sqrt(v') + epsilon)    m' = m / (1 - beta1^t), v' = v / (1 - beta2^t)
///     decay              coupled: g + decay x instead of g; decoupled: x = (1 - rate decay) x before the step

#include <math.h>

#include "core/sized.h"
#include "kernels/kernels.h"
#include "optimise/optimise_impl.h"

struct lac_optimiser {
  lac_context *ctx;
  lac_optimise_options options;
  int count, steps;
  lac_point x, mean, square;  // square: Adam alone; mean: NULL for descent without momentum
};

/// Zero is the default, and below it stands zero.
static void settle(double *number, double usual) { *number = *number == 0 ? usual : *number < 0 ? 0 : *number; }

static void optimise_settle(lac_optimise_options *o) {
  if (o->rate == 0) o->rate = 1e-3;
  settle(&o->beta1, 0.9);
  settle(&o->beta2, 0.999);
  settle(&o->epsilon, 1e-8);
  if (o->memory == 0) o->memory = 20;
  if (o->armijo == 0) o->armijo = 1e-4;
  if (o->curvature == 0) o->curvature = 0.9;
  if (o->max_iterations == 0) o->max_iterations = 1000;
  settle(&o->gradient_tolerance, 1e-8);
}

lac_optimise_options lac_optimise_options_defaults(void) {
  lac_optimise_options options = {.size = sizeof options};
  optimise_settle(&options);
  return options;
}

lac_status lac_optimise_take(lac_context *ctx, const char *function, const lac_optimise_options *given,
                             lac_optimise_options *out) {
  lac_status status = lac_sized_take(ctx, function, LAC_SIZED(lac_optimise_options, progress_data), given, out);
  optimise_settle(out);
  return status;
}

/// New arrays of zeros like x.
static lac_status optimiser_zeros(lac_optimiser *o, lac_point *out) {
  lac_context *ctx = o->ctx;
  lac_status status = LAC_OK;

  LAC_TRY(lac_point_make(ctx, o->count, o->x, out));
  for (int i = 0; i < o->count; i++) LAC_TRY(ctx->backend->fill(ctx, (*out)[i], 0, 0));
done:
  return status;
}

static lac_status optimiser_check(lac_context *ctx, const lac_optimise_options *o, int count, lac_array *const *x) {
  lac_status status = LAC_OK;

  LAC_CHECK(o->method == LAC_OPTIMISE_GRADIENT_DESCENT || o->method == LAC_OPTIMISE_ADAM, LAC_ERR_ARG,
            "lac_optimiser_create: method %d is not a first-order one; use lac_minimise", (int)o->method);
  LAC_CHECK(o->decay_kind == LAC_DECAY_COUPLED || o->decay_kind == LAC_DECAY_DECOUPLED, LAC_ERR_ARG,
            "lac_optimiser_create: decay_kind is LAC_DECAY_COUPLED or LAC_DECAY_DECOUPLED, not %d", (int)o->decay_kind);
  LAC_CHECK(isfinite(o->rate) && isfinite(o->decay) && isfinite(o->momentum), LAC_ERR_ARG,
            "lac_optimiser_create: rate %g, decay %g or momentum %g is not finite", o->rate, o->decay, o->momentum);
  LAC_CHECK(o->method != LAC_OPTIMISE_ADAM || (o->beta1 >= 0 && o->beta1 < 1 && o->beta2 >= 0 && o->beta2 < 1),
            LAC_ERR_ARG, "lac_optimiser_create: beta1 %g and beta2 %g lie in [0, 1)", o->beta1, o->beta2);
  LAC_CHECK(o->method != LAC_OPTIMISE_ADAM || o->epsilon >= 0, LAC_ERR_ARG,
            "lac_optimiser_create: epsilon %g is added to a root and must be 0 or more", o->epsilon);
  LAC_CHECK(o->method != LAC_OPTIMISE_ADAM || ctx->backend->kernels->adam, LAC_ERR_UNSUPPORTED,
            "lac_optimiser_create: backend \"%s\" has no kernel for Adam; use LAC_OPTIMISE_GRADIENT_DESCENT or "
            "LAC_OPTIMISE_LBFGS",
            ctx->backend->name);
  for (int i = 0; i < count; i++) {
    LAC_CHECK(x[i], LAC_ERR_ARG, "lac_optimiser_create: array %d is NULL", i);
    LAC_CHECK(x[i]->storage->space == ctx->space, LAC_ERR_DEVICE,
              "lac_optimiser_create: array %d is not on the context's device (%s %d); copy it there", i,
              lac_context_backend(ctx), ctx->device);
  }
done:
  return status;
}

lac_status lac_optimiser_make(lac_context *ctx, const lac_optimise_options *options, int count, lac_array *const *x,
                              lac_optimiser **out) {
  lac_status status = LAC_OK;
  lac_optimiser *o = NULL;

  LAC_TRY(optimiser_check(ctx, options, count, x));
  LAC_ALLOC(o, 1);
  o->ctx = ctx, o->options = *options, o->count = count;
  LAC_TRY(lac_point_empty(ctx, count, &o->x));
  for (int i = 0; i < count; i++) o->x[i] = lac_array_retain(x[i]);
  if (options->method == LAC_OPTIMISE_ADAM || options->momentum != 0) LAC_TRY(optimiser_zeros(o, &o->mean));
  if (options->method == LAC_OPTIMISE_ADAM) LAC_TRY(optimiser_zeros(o, &o->square));
  *out = o, o = NULL;
done:
  lac_optimiser_destroy(&o);
  return status;
}

lac_status lac_optimiser_create(lac_context *ctx, const lac_optimise_options *options, int count, lac_array *const *x,
                                lac_optimiser **out) {
  lac_status status = LAC_OK;
  lac_optimise_options settled;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(options && x && out && count > 0, LAC_ERR_ARG,
            "lac_optimiser_create: options, x or out is NULL, or there are no arrays");
  LAC_TRY(lac_optimise_take(ctx, "lac_optimiser_create", options, &settled));
  LAC_TRY(lac_optimiser_make(ctx, &settled, count, x, out));
done:
  return status;
}

void lac_optimiser_destroy(lac_optimiser **optimiser) {
  lac_optimiser *o = optimiser ? *optimiser : NULL;

  if (!o) return;
  lac_point_destroy(o->count, &o->x);
  lac_point_destroy(o->count, &o->mean);
  lac_point_destroy(o->count, &o->square);
  lac_free(o);
  *optimiser = NULL;
}

lac_status lac_optimiser_set_rate(lac_optimiser *optimiser, double rate) {
  lac_context *ctx = optimiser ? optimiser->ctx : NULL;
  lac_status status = LAC_OK;

  LAC_CHECK(optimiser, LAC_ERR_ARG, "lac_optimiser_set_rate: the optimiser is NULL");
  LAC_CHECK(isfinite(rate), LAC_ERR_ARG, "lac_optimiser_set_rate: the rate %g is not finite", rate);
  optimiser->options.rate = rate;
done:
  return status;
}

static lac_status optimiser_adam(lac_optimiser *o, lac_array *const *g) {
  lac_context *ctx = o->ctx;
  lac_status status = LAC_OK;
  const lac_optimise_options *p = &o->options;
  bool is_coupled = p->decay_kind == LAC_DECAY_COUPLED;
  lac_adam a = {.beta1 = p->beta1, .beta2 = p->beta2, .epsilon = p->epsilon};

  a.step = p->rate / (1 - pow(p->beta1, o->steps));
  a.root = 1 / sqrt(1 - pow(p->beta2, o->steps));
  a.decay = is_coupled ? p->decay : 0;
  a.shrink = is_coupled ? 1 : 1 - p->rate * p->decay;
  for (int i = 0; i < o->count; i++) {
    (void)lac_array_edit(o->x[i]);
    LAC_TRY(ctx->kernels->adam(ctx, &a, g[i], o->mean[i], o->square[i], o->x[i]));
  }
done:
  return status;
}

static lac_status optimiser_descend(lac_optimiser *o, lac_array *const *g) {
  lac_context *ctx = o->ctx;
  lac_status status = LAC_OK;
  const lac_optimise_options *p = &o->options;
  bool is_coupled = p->decay_kind == LAC_DECAY_COUPLED;

  if (o->mean) {
    LAC_TRY(lac_point_scale(ctx, o->count, p->momentum, o->mean, o->mean));
    LAC_TRY(lac_point_axpy(ctx, o->count, 1, g, o->mean));
    if (p->decay != 0 && is_coupled) LAC_TRY(lac_point_axpy(ctx, o->count, p->decay, o->x, o->mean));
  }
  if (p->decay != 0 && (!is_coupled || !o->mean)) {
    LAC_TRY(lac_point_scale(ctx, o->count, 1 - p->rate * p->decay, o->x, o->x));
  }
  LAC_TRY(lac_point_axpy(ctx, o->count, -p->rate, o->mean ? o->mean : g, o->x));
done:
  return status;
}

/// A gradient must be like its array.
static lac_status optimiser_check_gradient(const lac_optimiser *o, const lac_array *const *gradient) {
  lac_context *ctx = o->ctx;
  lac_status status = LAC_OK;
  char have[LAC_SHAPE_TEXT], want[LAC_SHAPE_TEXT];

  for (int i = 0; i < o->count; i++) {
    if (!gradient[i]) continue;
    const lac_meta *g = &gradient[i]->meta, *x = &o->x[i]->meta;
    LAC_CHECK(lac_meta_same(g, x), LAC_ERR_SHAPE,
              "lac_optimiser_step: gradient %d is %s %s where its array is %s %s; make them alike", i,
              lac_dtype_name(g->dtype), lac_shape_text(g->ndim, g->shape, have), lac_dtype_name(x->dtype),
              lac_shape_text(x->ndim, x->shape, want));
    LAC_CHECK(!lac_point_shares(o->count, o->x, gradient[i]), LAC_ERR_ARG,
              "lac_optimiser_step: gradient %d shares its memory with an array that is changed; give it a copy", i);
  }
done:
  return status;
}

lac_status lac_optimiser_step(lac_optimiser *optimiser, const lac_array *const *gradient) {
  lac_context *ctx = optimiser ? optimiser->ctx : NULL;
  lac_status status = LAC_OK;
  lac_array *const *g = (lac_array *const *)gradient;

  LAC_CHECK(optimiser && gradient, LAC_ERR_ARG, "lac_optimiser_step: optimiser or gradient is NULL");
  LAC_TRY(optimiser_check_gradient(optimiser, gradient));
  optimiser->steps++;
  if (optimiser->options.method == LAC_OPTIMISE_ADAM) {
    LAC_TRY(optimiser_adam(optimiser, g));
  } else {
    LAC_TRY(optimiser_descend(optimiser, g));
  }
done:
  return status;
}
