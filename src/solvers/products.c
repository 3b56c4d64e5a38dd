// SPDX-License-Identifier: Apache-2.0
/// @file products.c
/// Solves with a matrix that is known by its products alone.

#include <string.h>

#include "solvers/options.h"
#include "solvers/products.h"

static lac_status products_take_method(lac_context *ctx, const char *function, int64_t rows, int64_t cols,
                                       lac_solver_options *options) {
  lac_status status = LAC_OK;
  const lac_solver_table *kind = NULL;

  if (!options->method || strcmp(options->method, "auto") == 0) options->method = rows == cols ? "gmres" : "lsmr";
  LAC_TRY(lac_kind_find(ctx, function, options->method, &kind));
  LAC_CHECK(kind->flags & LAC_TAKES_PRODUCTS, LAC_ERR_ARG,
            "%s: %s needs a matrix; use a Krylov method, method = \"cg\" or method = \"gmres\" say", function,
            kind->name);
  LAC_CHECK(rows == cols || kind->flags & LAC_TAKES_RECTANGLES, LAC_ERR_SHAPE,
            "%s: %s needs a square matrix, and b has %lld numbers where x has %lld; use method = \"lsmr\" or "
            "method = \"lsqr\" for least squares",
            function, kind->name, (long long)rows, (long long)cols);
  options->method = kind->name;
done:
  return status;
}

lac_status lac_products_take_options(lac_context *ctx, const char *function, int64_t rows, int64_t cols,
                                     lac_solver_options *options) {
  lac_status status = LAC_OK;
  lac_precondition *p = &options->preconditioner;
  const lac_solver_table *preconditioner = NULL;

  LAC_TRY(products_take_method(ctx, function, rows, cols, options));
  LAC_TRY(lac_kind_of_preconditioner(ctx, function, p->method, &preconditioner));
  LAC_CHECK(!preconditioner || strcmp(preconditioner->name, "identity") == 0, LAC_ERR_ARG,
            "%s: this preconditioner needs a matrix; give preconditioner.factor, made of a matrix that is near, or "
            "preconditioner.apply",
            function);
  p->method = preconditioner ? preconditioner->name : NULL;
  LAC_CHECK(!(p->factor && p->apply), LAC_ERR_ARG,
            "%s: the preconditioner is both a factor and a function; give one of them", function);
  LAC_CHECK(rows >= cols || (!p->factor && !p->apply), LAC_ERR_UNSUPPORTED,
            "%s: with a preconditioner x is not the shortest of many solutions, and b has %lld numbers where x has "
            "%lld; leave the preconditioner out",
            function, (long long)rows, (long long)cols);
  LAC_TRY(lac_options_check_acting(ctx, function, options));
  LAC_TRY(lac_options_check_iteration(ctx, function, &options->iteration));
done:
  return status;
}

/// Vectors as Krylov methods have them, [1, n, 1], in the shapes that the products take.
typedef struct products_view {
  const lac_products *products;
  const lac_meta *b, *x;
  lac_form form;  // of the job
} products_view;

static lac_status products_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;
  const products_view *v = self;
  bool is_ahead = lac_form_transposes(form) == lac_form_transposes(v->form);
  const lac_meta *taken = is_ahead ? v->x : v->b, *given = is_ahead ? v->b : v->x;
  lac_array *from = NULL, *to = NULL;

  LAC_TRY(lac_array_reshape(ctx, (lac_array *)x, taken->ndim, taken->shape, &from));
  LAC_TRY(lac_array_reshape(ctx, y, given->ndim, given->shape, &to));
  LAC_TRY(v->products->apply(ctx, v->products->self, form, from, to));
done:
  lac_array_destroy(&from);
  lac_array_destroy(&to);
  return status;
}

/// With b, x0 and x as columns.
static lac_status products_iterate(lac_context *ctx, const char *function, const lac_solver_options *options,
                                   const lac_linear *a, lac_solve_job job, lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_factor *factor = NULL;
  lac_batch batch;

  job.only_reports = true, job.batch = &batch;
  LAC_TRY(lac_factor_of_products(ctx, function, options, a, job.b->meta.dtype, &factor));
  LAC_TRY(lac_factor_fit(ctx, function, factor, job.form, job.b, job.x, &batch));
  LAC_TRY(factor->table->solve(ctx, factor, &job, report));
  lac_solve_name(factor, report);
  lac_solve_tell(ctx, report);
  LAC_CHECK(report->ending == LAC_ENDING_CONVERGED || options->iteration.accept_unconverged,
            lac_ending_status(report->ending), "%s: did not reach the tolerance%s: %s%s", function,
            job.is_derivative ? " in the solve of a derivative" : "", report->reason,
            report->ending == LAC_ENDING_DIVERGED ? "" : "; raise max_iterations or rtol, or give a preconditioner");
done:
  lac_object_release(factor);
  return status;
}

lac_status lac_products_solve(lac_context *ctx, const char *function, const lac_solver_options *options,
                              const lac_products *products, lac_solve_job job, lac_solve_report *report) {
  lac_status status = LAC_OK;
  int64_t rows = job.b->count, cols = job.x->count;
  const int64_t b_shape[] = {1, rows, 1}, x_shape[] = {1, cols, 1};
  bool turns = lac_form_transposes(job.form);
  products_view view = {products, &job.b->meta, &job.x->meta, job.form};
  lac_linear a = {.apply = products_apply, .self = &view, .rows = turns ? cols : rows, .cols = turns ? rows : cols};
  lac_array *b = NULL, *x0 = NULL, *x = NULL;

  if (cols == 0) goto done;
  LAC_TRY(lac_array_reshape(ctx, (lac_array *)job.b, 3, b_shape, &b));
  if (job.x0) LAC_TRY(lac_array_reshape(ctx, (lac_array *)job.x0, 3, x_shape, &x0));
  LAC_TRY(lac_array_reshape(ctx, job.x, 3, x_shape, &x));
  (void)lac_array_edit(x);
  job.b = b, job.x0 = x0, job.x = x;
  LAC_TRY(products_iterate(ctx, function, options, &a, job, report));
done:
  lac_array_destroy(&b);
  lac_array_destroy(&x0);
  lac_array_destroy(&x);
  return status;
}

// -- by a function of the caller's -----------------------------------------------------------------------------------

lac_status lac_products_call(lac_context *ctx, const char *function, const char *what, lac_apply apply, void *data,
                             lac_form form, const lac_array *x, lac_array *y) {
  lac_status status = LAC_OK;

  ctx->status = LAC_OK;  // so that a code without a sentence does not borrow an older one
  status = apply(ctx, data, x, form, y);
  LAC_CHECK(status == LAC_OK || ctx->status == status, status, "%s: the %s returned %s", function, what,
            lac_status_name(status));
done:
  return status;
}

typedef struct products_call {
  lac_apply product;
  void *data;
} products_call;

static lac_status products_call_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *x,
                                      lac_array *y) {
  const products_call *c = self;
  return lac_products_call(ctx, "lac_solve_products", "product", c->product, c->data, form, x, y);
}

static lac_status products_check(lac_context *ctx, lac_apply product, const lac_array *b, const lac_array *x0,
                                 const lac_array *x, const lac_solve_report *report) {
  lac_status status = LAC_OK;

  LAC_CHECK(product && b && x, LAC_ERR_ARG, "lac_solve_products: the product, b or x is NULL");
  LAC_TRY(lac_solver_require_here(ctx, "lac_solve_products", "b", b));
  LAC_TRY(lac_solver_require_here(ctx, "lac_solve_products", "x", x));
  LAC_CHECK(b->meta.dtype == x->meta.dtype, LAC_ERR_DTYPE, "lac_solve_products: b is %s and x is %s; they must agree",
            lac_dtype_name(b->meta.dtype), lac_dtype_name(x->meta.dtype));
  LAC_TRY(lac_solve_check_start(ctx, "lac_solve_products", x0, x));
  if (report) LAC_TRY(lac_sized_check(ctx, "lac_solve_products", LAC_SOLVE_REPORT, report));
done:
  return status;
}

lac_status lac_solve_products(lac_context *ctx, lac_apply product, void *data, const lac_array *b, const lac_array *x0,
                              lac_form op, const lac_solver_options *options, lac_array *x, lac_solve_report *report) {
  lac_status status = LAC_OK;
  lac_solver_options chosen;
  products_call call = {product, data};
  const lac_products products = {products_call_apply, &call};
  lac_solve_report own = {.ending = LAC_ENDING_CONVERGED};
  double begin = lac_seconds();

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_context_faults(ctx));
  LAC_TRY(products_check(ctx, product, b, x0, x, report));
  LAC_TRY(lac_options_take(ctx, "lac_solve_products", options, &chosen));
  LAC_TRY(lac_products_take_options(ctx, "lac_solve_products", b->count, x->count, &chosen));
  status = lac_products_solve(ctx, "lac_solve_products", &chosen, &products,
                              (lac_solve_job){.form = op, .b = b, .x0 = x0, .x = x}, &own);
  own.seconds = lac_seconds() - begin;
  if (report && (status == LAC_OK || status == LAC_ERR_CONVERGENCE)) lac_sized_give(LAC_SOLVE_REPORT, &own, report);
done:
  return status;
}
