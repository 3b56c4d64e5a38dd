// SPDX-License-Identifier: Apache-2.0
/// @file look.c
/// Looks at plain preconditioners, and their price.

#include "solvers/precondition/choice/look.h"

#include <math.h>
#include <string.h>

#include "solvers/krylov/krylov.h"
#include "solvers/options.h"
#include "solvers/price.h"

enum { LOOK_LEAST = 10000 };  // rows: below, multigrid is as good

static const double look_multigrid = 20;                  // iterations of multigrid, about
static const double look_even = 1.33, look_uneven = 2.4;  // complexities of its hierarchies
static const double look_share = 0.25;                    // of multigrid is what a look may cost
static const double look_enough = 1e-10;                  // of the residual: there is no more to see
static const double look_far = 80;  // iterations of CG: what a look foresees beyond, it cannot know

/// Systems of several unknowns a node are left to multigrid: their slow motions hide from a look.
static lac_status look_is_system(lac_context *ctx, const lac_setup *setup, lac_nodes **nodes, bool *is_system) {
  lac_status status = LAC_OK;
  const lac_precondition *p = &setup->options->preconditioner;
  bool is_given = p->near_null || p->coordinates;

  if (!is_given && ctx->kernels->smoothed) LAC_TRY(lac_nodes_find(ctx, setup, nodes));
  *is_system = is_given || lac_nodes_unknowns(*nodes) > 1;
done:
  return status;
}

static bool look_is_hermitian(const lac_look *look) { return look->a->survey->asymmetric < 0; }

static bool look_is_jacobi(const char *kind) { return strcmp(kind, "jacobi") == 0; }

static int look_iterations(const char *kind) { return look_is_jacobi(kind) ? 20 : 8; }

static lac_price_of look_price_of(const lac_look *look, const char *kind) {
  return (lac_price_of){.preconditioner = kind, .is_hermitian = look_is_hermitian(look)};
}

lac_status lac_look_begin(lac_context *ctx, lac_look *look, bool *is_due) {
  lac_status status = LAC_OK;
  const lac_linear *a = look->a;
  const lac_solver_options *options = &look->f->core->options;
  lac_setup setup = {.pattern = a->pattern, .options = options, .is_hermitian = look_is_hermitian(look)};
  lac_price_of of = look_price_of(look, "multigrid");
  lac_array *values = NULL;
  bool is_uneven = false, is_system = false;

  *is_due = lac_context_is_host(ctx) && a->pattern->rows >= LOOK_LEAST && look->f->items > 0 &&
            !options->iteration.null_space;  // of a singular matrix not every b is one to look with
  if (!*is_due) goto done;
  LAC_TRY(lac_pattern_host(ctx, a->pattern));
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)a->values, 2, (int64_t[]){look->f->items, a->pattern->nnz}, &values));
  setup.values = values;
  LAC_TRY(look_is_system(ctx, &setup, &look->nodes, &is_system));
  *is_due = !is_system;
  if (!*is_due) goto done;
  LAC_TRY(lac_multigrid_look(ctx, &setup, &is_uneven, NULL));
  of.complexity = is_uneven ? look_uneven : look_even;
  LAC_TRY(lac_multigrid_is_grid(ctx, a->pattern, &of.is_grid));
  look->multigrid = lac_price_setup(a->pattern, &of) + look_multigrid * lac_price_iteration(a->pattern, &of);
done:
  lac_array_destroy(&values);
  return status;
}

bool lac_look_is_due(const lac_look *look, const char *kind) {
  const lac_linear *a = look->a;
  lac_price_of of = look_price_of(look, kind);
  double iteration = lac_price_iteration(a->pattern, &of), setup = lac_price_setup(a->pattern, &of);
  bool is_near = a->levels > 0 && (double)a->levels * iteration < look->multigrid;

  if (look_is_jacobi(kind) && !is_near) return false;
  return setup + look_iterations(kind) * iteration <= look_share * look->multigrid;
}

static lac_status look_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y) {
  const lac_precondition_factor *p = self;
  return p->table->apply(ctx, p->part, form, x, y);
}

static lac_status look_probe(lac_context *ctx, const lac_look *look, const lac_factor *m, lac_krylov_pace *pace) {
  const lac_precondition_factor *p = lac_precondition_of(m);
  lac_matrix_linear matrix = {look->a->pattern, p->values};
  lac_iteration iteration = {0};
  lac_krylov_job job = {.iteration = &iteration, .rows = look->a->pattern->rows, .items = m->items};

  iteration.rtol = look_enough;
  iteration.max_iterations = look_iterations(m->table->name);
  job.dtype = m->meta.dtype;
  job.a = (lac_linear){.apply = lac_matrix_linear_apply, .self = &matrix};
  job.m = (lac_linear){.apply = look_apply, .self = p};
  return lac_krylov_probe(ctx, &job, look_is_hermitian(look), true, pace);
}

lac_status lac_look_at(lac_context *ctx, const lac_look *look, const lac_factor *m, double *seconds,
                       double *iterations) {
  lac_status status = LAC_OK;
  lac_price_of of = look_price_of(look, m->table->name);
  lac_iteration asked = lac_options_iteration(&look->f->core->options.iteration, m->meta.dtype, false);
  lac_krylov_pace pace = {0};

  LAC_TRY(look_probe(ctx, look, m, &pace));
  *iterations = (double)pace.iterations;
  if (pace.residual > asked.rtol) {
    *iterations += pace.late < 1 ? log(pace.residual / asked.rtol) / -log(pace.late) : INFINITY;
  }
  *seconds = *iterations * lac_price_iteration(look->a->pattern, &of);
  if (*seconds >= look->multigrid || (look_is_hermitian(look) && *iterations > look_far)) *seconds = INFINITY;
done:
  return status;
}
