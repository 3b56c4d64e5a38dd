// SPDX-License-Identifier: Apache-2.0
/// Plain calls: what they compute, where they put it, and that nothing is left of one that fails.

#include <complex.h>
#include <math.h>
#include <string.h>

#include "core/test_hooks.h"
#include "support/check.h"
#include "support/dense.h"
#include "support/scratch.h"

#undef I

enum { N = 3 };

/// An array of doubles; one axis where cols is 0.
static lac_array *array_of(lac_context *ctx, int64_t rows, int64_t cols, const double *numbers) {
  lac_array *array = NULL;
  CHECK_OK(
      lac_array_from(ctx, LAC_F64, cols ? 2 : 1, (int64_t[]){rows, cols}, (void *)numbers, LAC_OWNERSHIP_COPY, &array));
  return array;
}

static void check_numbers(lac_context *ctx, const lac_array *array, int64_t count, const double *expected) {
  double *numbers = scratch((size_t)count * sizeof *numbers);
  CHECK_EQ(lac_array_count(array), count);
  CHECK_OK(lac_array_read(ctx, array, numbers));
  for (int64_t i = 0; i < count; i++) CHECK_NEAR(numbers[i], expected[i], 1e-13);
}

/// A = [[4, 1, 0], [0, 3, 1], [1, 0, 2]], whose determinant is 25, and a vector x with A x = (6, 9, 7).
typedef struct world {
  lac_pattern *pattern;
  lac_array *a, *x;
} world;

static const double a_x[N] = {6, 9, 7};

static world world_open(lac_context *ctx) {
  world w = {.a = array_of(ctx, 6, 0, (double[]){4, 1, 3, 1, 1, 2}), .x = array_of(ctx, N, 1, (double[]){1, 2, 3})};
  CHECK_OK(lac_pattern_from_csr(ctx, N, N, LAC_I32, (int32_t[]){0, 2, 4, 6}, (int32_t[]){0, 1, 1, 2, 0, 2},
                                LAC_WIDTH_AUTO, &w.pattern, NULL));
  return w;
}

static void world_close(world *w) {
  lac_array_destroy(&w->a), lac_array_destroy(&w->x);
  lac_pattern_destroy(&w->pattern);
}

static void check_product(lac_context *ctx, const sketch *s, lac_dtype dtype, lac_form form) {
  ref a = ref_new(&(lac_meta){.dtype = dtype, .ndim = 1, .shape = {s->nnz}});
  ref x = ref_new(&(lac_meta){.dtype = dtype, .ndim = 2, .shape = {form % 2 ? s->rows : s->cols, 2}});
  lac_pattern *pattern = NULL;
  lac_array *values = NULL, *right = NULL, *y = NULL;
  ref got;

  ref_random(&a, 1, dtype >= LAC_C64), ref_random(&x, 2, dtype >= LAC_C64);
  dense expected = dense_mul(dense_side(dense_matrix(s, a.x), form), dense_over(x.meta.shape[0], 2, x.x));
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  CHECK_OK(ref_upload(ctx, &a, &values));
  CHECK_OK(ref_upload(ctx, &x, &right));
  CHECK_OK(lac_run_spmm(ctx, pattern, values, right, form, &y));
  got = ref_new(lac_array_meta(y));
  CHECK_OK(ref_download(ctx, y, &got));
  CHECK_EQ(got.count, expected.rows * 2);
  for (int64_t i = 0; i < got.count; i++) CHECK(cabs(got.x[i] - expected.x[i]) < 1e-5);  // sums of a few small numbers
  lac_array_destroy(&values), lac_array_destroy(&right), lac_array_destroy(&y);
  lac_pattern_destroy(&pattern);
}

static void a_product_is_the_dense_one(lac_context *ctx) {
  const sketch *s = sketch_random(7, 5, 0.4, 3);
  for (int dtype = LAC_F32; dtype <= LAC_C128; dtype++) {
    for (int form = LAC_PLAIN; form <= LAC_ADJOINT; form++) check_product(ctx, s, (lac_dtype)dtype, (lac_form)form);
  }
}

static void a_given_array_is_written_to_without_an_allocation(lac_context *ctx) {
  world w = world_open(ctx);
  lac_array *y = array_of(ctx, N, 1, (double[]){-1, -1, -1}), *same = y;
  int64_t version = lac_array_version(y);

  (void)lac_memory_fail_at(0);
  for (int i = 0; i < 3; i++) CHECK_OK(lac_run_spmm(ctx, w.pattern, w.a, w.x, LAC_PLAIN, &y));
  CHECK_EQ(lac_memory_fail_at(0), 0);
  CHECK(y == same);
  CHECK(lac_array_version(y) > version);  // who made something of the old values knows
  check_numbers(ctx, y, N, a_x);
  lac_array_destroy(&y);
  world_close(&w);
}

// [loop]
/// x = A x / 4, `steps` times: both results are written to memory that is there from the second step on.
static lac_status iterate(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, int steps, lac_array **x) {
  lac_array *y = NULL;
  lac_status status = LAC_OK;

  for (int i = 0; i < steps && status == LAC_OK; i++) {
    status = lac_run_spmm(ctx, pattern, a, *x, LAC_PLAIN, &y);
    if (status == LAC_OK) status = lac_run_scale(ctx, y, 0.25, 0, x);
  }
  lac_array_destroy(&y);
  return status;
}
// [end]

static void a_loop_of_products_is_right(lac_context *ctx) {
  world w = world_open(ctx);

  CHECK_OK(iterate(ctx, w.pattern, w.a, 2, &w.x));  // A (6, 9, 7) = (33, 34, 20)
  check_numbers(ctx, w.x, N, (double[]){33.0 / 16, 34.0 / 16, 20.0 / 16});
  world_close(&w);
}

static void a_result_over_an_input_is_right(lac_context *ctx) {
  world w = world_open(ctx);
  lac_array *view = NULL;

  CHECK_OK(lac_run_spmm(ctx, w.pattern, w.a, w.x, LAC_PLAIN, &w.x));
  check_numbers(ctx, w.x, N, a_x);
  CHECK_OK(lac_array_write(ctx, w.x, (double[]){1, 2, 3}));
  CHECK_OK(lac_array_reshape(ctx, w.x, 2, (int64_t[]){N, 1}, &view));  // another array over the same memory
  CHECK_OK(lac_run_spmm(ctx, w.pattern, w.a, w.x, LAC_PLAIN, &view));
  check_numbers(ctx, w.x, N, a_x);
  CHECK_OK(lac_run_conj(ctx, w.x, &view));  // the result is the input itself
  check_numbers(ctx, w.x, N, a_x);
  lac_array_destroy(&view);
  world_close(&w);
}

static void a_new_array_shares_memory_with_nothing(lac_context *ctx) {
  world w = world_open(ctx);
  lac_array *y = NULL;

  CHECK_OK(lac_run_real(ctx, w.x, &y));  // on a tape, x itself
  CHECK(y != w.x && lac_array_data(y) != lac_array_data(w.x));
  check_numbers(ctx, y, N, (double[]){1, 2, 3});
  lac_array_destroy(&y);
  world_close(&w);
}

static void composed_functions_are_right_and_leave_nothing_behind(lac_context *ctx) {
  enum { MANY = 40 };  // more vars than stand on the stack
  double powers[MANY], one = 1;
  lac_array *p = NULL, *y = NULL, *n = array_of(ctx, N, 0, (double[]){2, 2, 2});
  lac_array *below = array_of(ctx, N - 1, 0, (double[]){-1, -1}), *b = array_of(ctx, N, 1, (double[]){1, 0, 1});

  for (int i = 0; i < MANY; i++) powers[i] = i % 2 ? 0.5 : 2;
  p = array_of(ctx, MANY, 0, powers);
  CHECK_OK(lac_run_prod(ctx, p, LAC_AXES(-1), false, &y));
  check_numbers(ctx, y, 1, &one);
  lac_array_destroy(&y);
  for (int i = 0; i < 2; i++) CHECK_OK(lac_run_tridiagonal_solve(ctx, below, n, below, b, &y));  // new, then given
  check_numbers(ctx, y, N, (double[]){1, 1, 1});
  lac_array_destroy(&y), lac_array_destroy(&p), lac_array_destroy(&n), lac_array_destroy(&below);
  lac_array_destroy(&b);
}

static void several_results_come_each_to_its_place(lac_context *ctx) {
  world w = world_open(ctx);
  lac_solver *solver = NULL;
  lac_array *out[2] = {NULL}, *twice[2];

  CHECK_OK(lac_solver_create(ctx, w.pattern, NULL, &solver));
  CHECK_OK(lac_run_slogdet(ctx, solver, w.a, out));
  check_numbers(ctx, out[0], 1, (double[]){1});
  twice[0] = twice[1] = out[0];
  CHECK_OK(lac_array_fill(ctx, out[0], 7, 0));
  lac_array_destroy(&out[1]);  // one is given and one is new
  CHECK_OK(lac_run_slogdet(ctx, solver, w.a, out));
  CHECK(out[0] == twice[0]);
  check_numbers(ctx, out[0], 1, (double[]){1});
  check_numbers(ctx, out[1], 1, (double[]){log(25)});
  CHECK_FAILS(lac_run_slogdet(ctx, solver, w.a, twice), LAC_ERR_ARG, "results 0 and 1 share memory");
  lac_array_destroy(&out[0]), lac_array_destroy(&out[1]);
  lac_solver_destroy(&solver);
  world_close(&w);
}

static void patterns_and_lists_pass_through(lac_context *ctx) {
  world w = world_open(ctx);
  lac_pattern *twice[2] = {w.pattern, w.pattern}, *out = NULL, *triangles[2] = {NULL};
  const lac_array *values[2] = {w.a, w.a};
  lac_array *y = NULL, *lu[2] = {NULL};

  CHECK_OK(lac_run_block_diag(ctx, 2, (const lac_pattern *const *)twice, values, &out, &y));
  CHECK_EQ(lac_pattern_rows(out), 2 * N);
  check_numbers(ctx, y, 12, (double[]){4, 1, 3, 1, 1, 2, 4, 1, 3, 1, 1, 2});
  CHECK_OK(lac_run_lu(ctx, w.pattern, w.a, LAC_ORDER_NATURAL, triangles, lu));
  CHECK_EQ(lac_pattern_nnz(triangles[0]), lac_array_count(lu[0]));
  check_numbers(ctx, lu[1], 6, (double[]){4, 1, 0, 3, 1, 25.0 / 12});  // the filled pattern is symmetric
  lac_array_destroy(&y), lac_array_destroy(&lu[0]), lac_array_destroy(&lu[1]);
  lac_pattern_destroy(&out), lac_pattern_destroy(&triangles[0]), lac_pattern_destroy(&triangles[1]);
  world_close(&w);
}

static void what_may_be_absent_is_null(lac_context *ctx) {
  world w = world_open(ctx);
  lac_pattern *system = NULL;
  lac_solver *solver = NULL;
  lac_array *y = NULL, *b = array_of(ctx, N, 1, a_x), *out[2] = {NULL};

  CHECK_FAILS(lac_run_add(ctx, NULL, w.x, &y), LAC_ERR_ARG, "lac_run_add: x is NULL");
  CHECK_FAILS(lac_run_sub(ctx, w.x, NULL, &y), LAC_ERR_ARG, "lac_run_sub: y is NULL");
  CHECK(!y);
  CHECK_OK(lac_pattern_augmented(ctx, w.pattern, &system, NULL));
  CHECK_OK(lac_solver_create(ctx, system, NULL, &solver));
  CHECK_FAILS(lac_run_lstsq(ctx, w.pattern, w.a, b, NULL, solver, NULL), LAC_ERR_ARG,
              "lac_run_lstsq: the list of results is NULL");
  CHECK_OK(lac_run_lstsq(ctx, w.pattern, w.a, b, NULL, solver, out));
  check_numbers(ctx, out[0], N, (double[]){1, 2, 3});
  lac_array_destroy(&y), lac_array_destroy(&b), lac_array_destroy(&out[0]), lac_array_destroy(&out[1]);
  lac_solver_destroy(&solver);
  lac_pattern_destroy(&system);
  world_close(&w);
}

static void errors_are_the_status_and_do_not_stick(lac_context *ctx) {
  world w = world_open(ctx);
  lac_array *y = NULL, *wrong = array_of(ctx, 2, 1, (double[]){5, 6}), *same = wrong;
  lac_pattern *out = NULL;

  CHECK_EQ(lac_run_spmm(NULL, w.pattern, w.a, w.x, LAC_PLAIN, &y), LAC_ERR_ARG);
  CHECK(strstr(lac_context_error(NULL), "lac_run_spmm: the context is NULL"));
  CHECK_FAILS(lac_run_spmm(ctx, w.pattern, w.a, w.x, LAC_PLAIN, NULL), LAC_ERR_ARG, "lac_run_spmm: result is NULL");
  CHECK_FAILS(lac_run_spmm(ctx, w.pattern, w.a, NULL, LAC_PLAIN, &y), LAC_ERR_ARG, "lac_run_spmm: x is NULL");
  CHECK_FAILS(lac_run_spmm(ctx, NULL, w.a, w.x, LAC_PLAIN, &y), LAC_ERR_ARG, "spmm: pattern 0 is missing");
  CHECK_FAILS(lac_run_sum_axes(ctx, w.x, LAC_AXES(7, -1), false, &y), LAC_ERR_SHAPE, "no axis 7");  // the first fault
  CHECK_FAILS(lac_run_spmm(ctx, w.pattern, w.x, w.x, LAC_PLAIN, &y), LAC_ERR_SHAPE, "spmm: a has shape");
  CHECK_FAILS(lac_run_concat_all(ctx, 2, NULL, -1, &y), LAC_ERR_ARG, "the list of 2 arrays is NULL");
  CHECK(!y);
  CHECK_FAILS(lac_run_spmm(ctx, w.pattern, w.a, w.x, LAC_PLAIN, &wrong), LAC_ERR_SHAPE,
              "lac_run_spmm: the result is f64 (3, 1), and the array given for it is f64 (2, 1)");
  CHECK_FAILS(lac_run_spgemm(ctx, w.pattern, w.a, w.pattern, w.a, &out, &wrong), LAC_ERR_SHAPE, "lac_run_spgemm");
  CHECK(wrong == same && !out);
  check_numbers(ctx, wrong, 2, (double[]){5, 6});
  CHECK_OK(lac_run_spmm(ctx, w.pattern, w.a, w.x, LAC_PLAIN, &y));
  check_numbers(ctx, y, N, a_x);
  lac_array_destroy(&y), lac_array_destroy(&wrong);
  world_close(&w);
}

/// One of each: new and given results, a pattern, more vars than stand on the stack, a list.
static lac_status call_all(lac_context *ctx, const world *w, const lac_array *many, lac_array **results,
                           lac_pattern **out) {
  const lac_array *list[2] = {w->x, w->x};
  lac_status status = lac_run_spgemm(ctx, w->pattern, w->a, w->pattern, w->a, out, &results[0]);
  if (status == LAC_OK) status = lac_run_prod(ctx, many, LAC_AXES(-1), false, &results[1]);
  if (status == LAC_OK) status = lac_run_prod(ctx, many, LAC_AXES(-1), false, &results[1]);
  if (status == LAC_OK) status = lac_run_conj(ctx, w->x, &results[2]);
  if (status == LAC_OK) status = lac_run_concat_all(ctx, 2, list, -1, &results[3]);
  return status;
}

static void failing_allocations_lose_nothing(lac_context *ctx) {
  world w = world_open(ctx);
  lac_array *many = array_of(ctx, 20, 0, (double[20]){1}), *results[4] = {NULL};
  lac_pattern *out = NULL;
  int is_reached = 1;

  CHECK_OK(call_all(ctx, &w, many, results, &out));  // what patterns keep is there from now on
  for (int i = 0; i < 4; i++) lac_array_destroy(&results[i]);
  lac_pattern_destroy(&out);
  long long before = check_live_blocks();
  for (int64_t n = 1; is_reached; n++) {
    lac_memory_fail_at(n);
    lac_status status = call_all(ctx, &w, many, results, &out);
    is_reached = lac_memory_fail_at(0) >= n;
    if (is_reached) CHECK_FAILS(status, LAC_ERR_MEMORY, "");
    CHECK_EQ(!results[0], !out);
    for (int i = 0; i < 4; i++) lac_array_destroy(&results[i]);
    lac_pattern_destroy(&out);
    CHECK_EQ(check_live_blocks(), before);
  }
  lac_array_destroy(&many);
  world_close(&w);
}

/// y = theta x, and as a preconditioner y = x / theta: by a plain call inside one.
static lac_status times(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)data, (void)step;
  out[0] = lac_mul(tape, in[0], in[1]);
  return LAC_OK;
}

static lac_status divided(lac_context *ctx, void *data, const lac_array *x, lac_form form, lac_array *y) {
  (void)form;
  return lac_run_div(ctx, x, data, &y);
}

static void a_plain_call_may_stand_inside_another(lac_context *ctx) {
  lac_array *theta = array_of(ctx, N, 1, (double[]){2, 3, 4}), *b = array_of(ctx, N, 1, (double[]){2, 6, 12});
  const lac_array *thetas[1] = {theta};
  lac_array *y = NULL;
  lac_solver_options options = lac_solver_options_defaults();

  options.method = "gmres";
  options.preconditioner.apply = divided;
  options.preconditioner.apply_data = theta;
  CHECK_OK(lac_run_solve_operator(ctx, times, NULL, 1, thetas, b, &options, &y));
  check_numbers(ctx, y, N, (double[]){1, 2, 3});
  lac_array_destroy(&theta), lac_array_destroy(&b), lac_array_destroy(&y);
}

CHECK_MAIN(a_product_is_the_dense_one, a_given_array_is_written_to_without_an_allocation, a_loop_of_products_is_right,
           a_result_over_an_input_is_right, a_new_array_shares_memory_with_nothing,
           composed_functions_are_right_and_leave_nothing_behind, several_results_come_each_to_its_place,
           patterns_and_lists_pass_through, what_may_be_absent_is_null, errors_are_the_status_and_do_not_stick,
           failing_allocations_lose_nothing, a_plain_call_may_stand_inside_another)
