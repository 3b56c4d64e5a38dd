// SPDX-License-Identifier: Apache-2.0
/// @file travel.c
/// Kinds that work in host memory, for arrays that lie elsewhere: values and right-hand sides travel there, solutions
/// back.
///
/// A factor of this kind stands for one on the host, made through a context of the host that belongs to the caller's.
/// Operators and derivatives see no difference; the report says that it travels.

#include <stdio.h>

#include "solvers/solver_impl.h"

typedef struct travel_part {
  lac_factor *there;
} travel_part;

static const lac_factor *travel_inner(const lac_factor *f) { return ((const travel_part *)f->part)->there; }

// -- to the host and back --------------------------------------------------------------------------------------------

/// What failed on the host, or was doubtful there, in the caller's context.
static lac_status travel_pass(lac_context *ctx, lac_context *host, lac_status status) {
  if (host != ctx && *lac_context_warning(host)) {
    lac_context_warn(ctx, "%s", lac_context_warning(host));
    lac_context_clear_warning(host);
  }
  if (status == LAC_OK) return status;
  return host == ctx ? lac_context_pass(ctx, status, __func__)
                     : lac_context_fail(ctx, status, __func__, "%s", lac_context_error(host));
}

/// A copy of an array in host memory; NULL stays NULL.
static lac_status travel_down(lac_context *ctx, lac_context *host, const lac_array *array, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *made = NULL;

  if (!array) goto done;
  LAC_TRY(travel_pass(ctx, host, lac_array_make(host, &array->meta, &made)));
  LAC_TRY(lac_array_fetch(ctx, array, lac_array_edit(made)));
  *out = made, made = NULL;
done:
  lac_array_destroy(&made);
  return status;
}

/// The contents of an array in host memory.
static lac_status travel_up(lac_context *ctx, const lac_array *from, lac_array *to) {
  return lac_array_write(ctx, to, lac_array_data(from));
}

// -- the core on the host --------------------------------------------------------------------------------------------

/// What a kind does not read stays where it is.
static lac_status travel_options(lac_context *ctx, lac_context *host, const lac_solver_core *core, lac_array *held[4],
                                 lac_solver_options *out) {
  lac_status status = LAC_OK;
  const lac_solver_options *options = &core->options;

  *out = *options;
  out->iteration.null_space = out->iteration.left_null_space = NULL;
  out->preconditioner = (lac_precondition){0};
  if (!(core->table->flags & (LAC_ITERATES | LAC_APPROXIMATES | LAC_DELEGATES))) goto done;
  LAC_CHECK(!options->preconditioner.apply && !options->preconditioner.factor, LAC_ERR_UNSUPPORTED,
            "lac_solver_factor: the preconditioner that is given works on %s, and %s works on the host; use a Krylov "
            "method with no other preconditioner besides, which works there",
            lac_context_backend(ctx), core->table->name);
  LAC_TRY(travel_down(ctx, host, options->iteration.null_space, &held[0]));
  LAC_TRY(travel_down(ctx, host, options->iteration.left_null_space, &held[1]));
  LAC_TRY(travel_down(ctx, host, options->preconditioner.near_null, &held[2]));
  LAC_TRY(travel_down(ctx, host, options->preconditioner.coordinates, &held[3]));
  out->preconditioner = options->preconditioner;
  out->iteration.null_space = held[0];
  out->iteration.left_null_space = held[1];
  out->preconditioner.near_null = held[2];
  out->preconditioner.coordinates = held[3];
done:
  return status;
}

/// The core's own kind with options in host memory, made when first asked for; borrowed.
static lac_status travel_core(lac_context *ctx, lac_context *host, lac_solver_core *core, lac_solver_core **out) {
  lac_status status = LAC_OK;
  lac_array *held[4] = {NULL, NULL, NULL, NULL};
  lac_solver_options options;
  lac_solver_core *made = NULL;

  pthread_mutex_lock(&core->lock);
  if (!core->host) {
    status = travel_options(ctx, host, core, held, &options);
    if (status == LAC_OK) {
      status = travel_pass(ctx, host, lac_core_create(host, core->table, core->pattern, &options, core->why, &made));
    }
    if (made) made->counts = core->counts, core->host = made;
  }
  *out = core->host;
  pthread_mutex_unlock(&core->lock);
  for (int i = 0; i < 4; i++) lac_array_destroy(&held[i]);
  return status == LAC_OK ? status : lac_context_pass(ctx, status, __func__);
}

// -- factors ---------------------------------------------------------------------------------------------------------

static lac_status travel_make(lac_context *ctx, const lac_linear *a, const lac_factor *like, bool by_choices,
                              lac_factor *f) {
  lac_status status = LAC_OK;
  lac_context *host = NULL;
  lac_solver_core *core = NULL;
  lac_array *values = NULL;
  travel_part *part = NULL;
  lac_linear own = lac_linear_matrix(a->pattern, NULL);

  LAC_ALLOC(part, 1);
  f->part = part;
  LAC_TRY(lac_context_host(ctx, &host));
  LAC_TRY(travel_core(ctx, host, f->core, &core));
  LAC_TRY(travel_down(ctx, host, a->values, &values));
  own.values = values;
  LAC_TRY(travel_pass(ctx, host,
                      lac_factor_make_here(host, f->function, core, &own, like ? travel_inner(like) : NULL, by_choices,
                                           &f->shortage, &part->there)));
  lac_factor_say(f, "%s; values and right-hand sides travel to the host, where %s works", part->there->reason,
                 f->core->table->name);
  snprintf(f->warning, sizeof f->warning, "%s", part->there->warning);
done:
  lac_array_destroy(&values);
  return status;
}

static lac_status travel_factor(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  return travel_make(ctx, a, like, false, f);
}

static lac_status travel_refresh(lac_context *ctx, const lac_linear *a, const lac_factor *like, lac_factor *f) {
  return travel_make(ctx, a, like, true, f);
}

static void travel_destroy(lac_factor *f) {
  travel_part *part = f->part;
  if (!part) return;
  lac_object_release(part->there);
  lac_free(part);
  f->part = NULL;
}

// -- what it is asked ------------------------------------------------------------------------------------------------

/// A residual is measured on the host, where the values are.
static lac_status travel_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job,
                               lac_solve_report *report) {
  lac_status status = LAC_OK;
  const lac_factor *there = travel_inner(f);
  lac_context *host = NULL;
  lac_array *b = NULL, *x = NULL, *x0 = NULL;
  lac_solve_job own = *job;

  LAC_TRY(lac_context_host(ctx, &host));
  LAC_TRY(travel_down(ctx, host, job->b, &b));
  LAC_TRY(travel_down(ctx, host, job->x0, &x0));
  LAC_TRY(travel_pass(ctx, host, lac_array_make(host, &job->x->meta, &x)));
  own.b = b, own.x0 = x0, own.x = x;
  LAC_TRY(travel_pass(ctx, host, there->table->solve(host, there, &own, report)));
  if (job->wants_residual && report->residual == LAC_UNMEASURED) {
    LAC_TRY(travel_pass(ctx, host, lac_factor_measure(host, there, &own, report)));
  }
  LAC_TRY(travel_up(ctx, x, job->x));
done:
  lac_array_destroy(&b);
  lac_array_destroy(&x);
  lac_array_destroy(&x0);
  return status;
}

static lac_status travel_logdet(lac_context *ctx, const lac_factor *f, lac_array *logabs, lac_array *sign) {
  lac_status status = LAC_OK;
  lac_context *host = NULL;
  lac_array *l = NULL, *s = NULL;

  LAC_TRY(lac_context_host(ctx, &host));
  LAC_TRY(travel_pass(ctx, host, lac_array_make(host, &logabs->meta, &l)));
  LAC_TRY(travel_pass(ctx, host, lac_array_make(host, &sign->meta, &s)));
  LAC_TRY(travel_pass(ctx, host, lac_factor_logdet(host, travel_inner(f), l, s)));
  LAC_TRY(travel_up(ctx, l, logabs));
  LAC_TRY(travel_up(ctx, s, sign));
done:
  lac_array_destroy(&l);
  lac_array_destroy(&s);
  return status;
}

/// One array that the host fills.
static lac_status travel_one(lac_context *ctx, const lac_factor *f, lac_array *out,
                             lac_status (*ask)(lac_context *, const lac_factor *, lac_array *)) {
  lac_status status = LAC_OK;
  lac_context *host = NULL;
  lac_array *own = NULL;

  LAC_TRY(lac_context_host(ctx, &host));
  LAC_TRY(travel_pass(ctx, host, lac_array_make(host, &out->meta, &own)));
  LAC_TRY(travel_pass(ctx, host, ask(host, travel_inner(f), own)));
  LAC_TRY(travel_up(ctx, own, out));
done:
  lac_array_destroy(&own);
  return status;
}

static lac_status travel_selected_inverse(lac_context *ctx, const lac_factor *f, lac_array *values) {
  return travel_one(ctx, f, values, lac_factor_selected_inverse);
}

static lac_status travel_rcond(lac_context *ctx, const lac_factor *f, lac_array *rcond) {
  return travel_one(ctx, f, rcond, lac_factor_rcond);
}

static lac_status travel_describe(lac_context *ctx, const lac_factor *f, char **text) {
  const lac_factor *there = travel_inner(f);
  lac_status status = LAC_OK;
  lac_context *host = NULL;

  if (!there->table->describe) goto done;
  LAC_TRY(lac_context_host(ctx, &host));
  LAC_TRY(travel_pass(ctx, host, there->table->describe(host, there, text)));
done:
  return status;
}

static void travel_report(const lac_factor *f, lac_report *report) {
  lac_report there = lac_factor_reported(travel_inner(f));

  there.reason = report->reason;
  there.analyse_seconds += report->analyse_seconds;
  there.factor_seconds = report->factor_seconds;
  *report = there;
}

const lac_solver_table lac_travel_table = {.name = "travel",
                                           .flags = LAC_DELEGATES | LAC_KEEPS_HERMITIAN,
                                           .factor = travel_factor,
                                           .refresh = travel_refresh,
                                           .solve = travel_solve,
                                           .logdet = travel_logdet,
                                           .selected_inverse = travel_selected_inverse,
                                           .rcond = travel_rcond,
                                           .inner = travel_inner,
                                           .describe = travel_describe,
                                           .report = travel_report,
                                           .destroy = travel_destroy};
