// SPDX-License-Identifier: Apache-2.0
/// Kept programs: each is written once, goes with what it was written for, and keeps nothing alive.

#include <pthread.h>

#include "autodiff/tape_impl.h"
#include "lacuna/ops.h"
#include "lacuna/program.h"
#include "support/check.h"
#include "support/dense.h"

enum { N = 6, ROUNDS = 1000, THREADS = 4 };

static lac_meta doubles(int ndim, int64_t d0, int64_t d1) {
  return (lac_meta){.dtype = LAC_F64, .ndim = ndim, .shape = {d0, d1}};
}

/// A square pattern with `n` rows and its diagonal.
static lac_pattern *diagonal(lac_context *ctx, int64_t n) {
  lac_pattern *p = NULL;
  CHECK_OK(lac_pattern_eye(ctx, n, n, 0, LAC_WIDTH_AUTO, &p));
  return p;
}

static lac_array *filled(lac_context *ctx, int64_t n, int64_t k, double value) {
  lac_array *array = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_F64, k ? 2 : 1, (int64_t[]){n, k}, &array));
  CHECK_OK(lac_array_fill(ctx, array, value, 0));
  return array;
}

/// The gradient of sum((A x)^2) in both, A = 3 and x = 2: a_bar = 2 (3 * 2) 2 = 24, x_bar = 2 (3 * 2) 3 = 36.
static void check_gradient(lac_context *ctx, lac_tape *tape, const lac_pattern *p, const lac_array *a,
                           const lac_array *x) {
  double a_bar[N], x_bar[N];
  lac_var in[2], bar[2], y, loss;

  lac_tape_clear(tape);
  in[0] = lac_tape_leaf(tape, a), in[1] = lac_tape_leaf(tape, x);
  y = lac_spmm(tape, p, in[0], in[1], LAC_PLAIN);
  loss = lac_sum(tape, lac_mul(tape, y, y));
  CHECK_OK(lac_tape_vjp(tape, 1, &loss, NULL, 2, in, bar, LAC_GRAPH_NONE));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, bar[0]), a_bar));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, bar[1]), x_bar));
  for (int i = 0; i < N; i++) {
    CHECK_NEAR(a_bar[i], 24, 1e-15);
    CHECK_NEAR(x_bar[i], 36, 1e-15);
  }
}

static void a_loop_writes_each_program_once(lac_context *ctx) {
  lac_pattern *p = diagonal(ctx, N);
  lac_array *a = filled(ctx, N, 0, 3), *x = filled(ctx, N, 1, 2);
  lac_tape *tape = NULL;
  int64_t before = lac_program_count_written(), first;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  check_gradient(ctx, tape, p, a, x);
  first = lac_program_count_written();
  CHECK_EQ(first - before, 3);  // those of spmm, mul and sum
  for (int i = 1; i < ROUNDS; i++) check_gradient(ctx, tape, p, a, x);
  CHECK_EQ(lac_program_count_written(), first);
  lac_tape_destroy(&tape);
  lac_array_destroy(&a), lac_array_destroy(&x);
  lac_pattern_destroy(&p);
}

static void who_asks_again_gets_the_same_program(lac_context *ctx) {
  lac_pattern *p = diagonal(ctx, N);
  lac_spec spec = {.op = lac_op_find("spmm"), .patterns = {p}}, turned = spec;
  lac_meta in[2] = {doubles(1, N, 0), doubles(2, N, 1)}, wider[2] = {in[0], doubles(2, N, 2)};
  lac_program *programs[7] = {NULL}, *again = NULL;

  turned.attrs.i[0] = LAC_TRANSPOSED;
  CHECK_OK(lac_program_vjp(ctx, &spec, in, NULL, NULL, &programs[0]));
  CHECK_OK(lac_program_vjp(ctx, &spec, in, (int[]){1, 0}, NULL, &programs[1]));
  CHECK_OK(lac_program_vjp(ctx, &spec, in, NULL, (int[]){0}, &programs[2]));
  CHECK_OK(lac_program_vjp(ctx, &spec, wider, NULL, NULL, &programs[3]));
  CHECK_OK(lac_program_vjp(ctx, &turned, in, NULL, NULL, &programs[4]));
  CHECK_OK(lac_program_jvp(ctx, &spec, in, NULL, &programs[5]));
  CHECK_OK(lac_program_forward(ctx, &spec, in, &programs[6]));
  for (int i = 0; i < 7; i++) {
    for (int j = 0; j < i; j++) CHECK(programs[i] != programs[j]);
  }
  CHECK_OK(lac_program_vjp(ctx, &spec, in, (int[]){1, 1}, (int[]){1}, &again));  // all, said otherwise
  CHECK(again == programs[0]);
  lac_program_destroy(&again);
  for (int i = 0; i < 7; i++) lac_program_destroy(&programs[i]);
  lac_pattern_destroy(&p);
}

static void a_program_that_is_held_runs_after_its_pattern_was_let_go(lac_context *ctx) {
  long long before = check_live_blocks();
  lac_pattern *p = diagonal(ctx, N);
  lac_spec spec = {.op = lac_op_find("spmm"), .patterns = {p}};
  lac_array *a = filled(ctx, N, 0, 3), *x = filled(ctx, N, 1, 2), *y = filled(ctx, N, 1, 0);
  lac_program *program = NULL;
  double numbers[N];

  CHECK_OK(lac_program_forward(ctx, &spec, (lac_meta[]){*lac_array_meta(a), *lac_array_meta(x)}, &program));
  lac_pattern_destroy(&p);
  CHECK_OK(lac_program_run(ctx, program, (const void *[]){lac_array_data(a), lac_array_data(x)},
                           (void *[]){lac_array_edit(y)}));
  CHECK_OK(lac_array_read(ctx, y, numbers));
  for (int i = 0; i < N; i++) CHECK_NEAR(numbers[i], 6, 0);
  lac_program_destroy(&program);
  lac_array_destroy(&a), lac_array_destroy(&x), lac_array_destroy(&y);
  CHECK_EQ(check_live_blocks(), before);
}

/// How many bytes are given back when the first of two patterns goes, and the other, of which programs were kept,
/// stays.
static int64_t given_back(lac_context *ctx, lac_pattern **going, const lac_pattern *staying) {
  const lac_pattern *a = lac_pattern_id(*going) < lac_pattern_id(staying) ? *going : staying;
  const lac_pattern *b = a == staying ? *going : staying;
  lac_spec spec = {.op = lac_op_find("sampled_spgemm"), .patterns = {a, a, b}};
  int64_t n = lac_pattern_nnz(a), before;
  lac_meta in[2] = {doubles(1, n, 0), doubles(1, n, 0)};
  lac_program *program = NULL;

  CHECK_OK(lac_program_vjp(ctx, &spec, in, NULL, NULL, &program));
  CHECK(lac_program_steps(program) >= 2);
  lac_program_destroy(&program);
  (void)check_live_blocks();  // drops plans and what the context keeps
  before = memory_now("cpu").live_bytes;
  lac_pattern_destroy(going);
  return before - memory_now("cpu").live_bytes;
}

static void a_pattern_goes_when_its_user_lets_go_of_it(lac_context *ctx) {
  enum { LARGE = 10000 };
  const int64_t least = 2 * LARGE * (int64_t)sizeof(int32_t);  // its offsets and columns

  for (int younger_goes = 0; younger_goes < 2; younger_goes++) {
    lac_pattern *pair[2] = {diagonal(ctx, LARGE), NULL};
    pair[1] = diagonal(ctx, LARGE);
    CHECK(given_back(ctx, &pair[younger_goes], pair[!younger_goes]) >= least);
    lac_pattern_destroy(&pair[!younger_goes]);
  }
}

// -- objects of users ------------------------------------------------------------------------------------------------

static lac_status twice_forward(lac_call *c) {
  const double *x = lac_array_data(c->in[0]);
  double *y = lac_array_edit(c->out[0]);
  double factor = *(const double *)lac_userdata_get(c->object);

  for (int64_t i = 0; i < lac_array_count(c->in[0]); i++) y[i] = factor * x[i];
  return LAC_OK;
}

/// The rule emits the operator itself, with its own object.
static void twice_vjp(lac_rule *r) {
  lac_spec spec = {.op = r->op, .object = r->object};
  (void)lac_tape_call(r->tape, &spec, &r->out_bar[0], &r->in_bar[0]);
}

static void twice_jvp(lac_rule *r) {
  lac_spec spec = {.op = r->op, .object = r->object};
  (void)lac_tape_call(r->tape, &spec, &r->in_dot[0], &r->out_dot[0]);
}

static const lac_op twice = {.name = "twice",
                             .signature = "()->()",
                             .order = LAC_ANY_ORDER,
                             .forward = twice_forward,
                             .vjp = twice_vjp,
                             .jvp = twice_jvp};

static void count_down(void *data) { *(double *)data = -1; }

static void an_object_goes_when_its_user_lets_go_of_it(lac_context *ctx) {
  double factor = 2, bar[2];
  lac_userdata *object = NULL;
  lac_array *x = filled(ctx, 2, 0, 1);
  lac_tape *tape = NULL;

  if (!check_claimed("an operator that reads host memory")) {
    lac_array_destroy(&x);
    return;
  }
  CHECK_OK(lac_userdata_create(ctx, &factor, count_down, &object));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in = lac_tape_leaf(tape, x), y, seed = lac_tape_constant(tape, x), x_bar;
  CHECK_OK(lac_tape_call(tape, &(lac_spec){.op = &twice, .object = object}, &in, &y));
  lac_userdata_destroy(&object);
  CHECK_OK(lac_tape_vjp(tape, 1, &y, &seed, 1, &in, &x_bar, LAC_GRAPH_CREATE));  // the tape holds it
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, x_bar), bar));
  CHECK_NEAR(bar[0], 2, 0);
  CHECK_NEAR(factor, 2, 0);
  lac_tape_destroy(&tape);
  CHECK_NEAR(factor, -1, 0);
  CHECK(!lac_userdata_get(NULL));
  lac_array_destroy(&x);
}

static void a_table_that_lies_where_another_lay_has_programs_of_its_own(lac_context *ctx) {
  lac_op op = *lac_op_find("sin");
  lac_meta in = doubles(1, N, 0);
  lac_program *first = NULL, *second = NULL;

  CHECK_OK(lac_program_vjp(ctx, &(lac_spec){.op = &op}, &in, NULL, NULL, &first));
  op = *lac_op_find("exp");
  CHECK_OK(lac_program_vjp(ctx, &(lac_spec){.op = &op}, &in, NULL, NULL, &second));
  CHECK(first != second);
  lac_program_destroy(&first);
  lac_program_destroy(&second);
}

// -- budgets ---------------------------------------------------------------------------------------------------------

static void the_budget_is_kept_and_the_oldest_go_first(lac_context *ctx) {
  enum { SHAPES = 500, BUDGET = 1 << 16, DEFAULT = 16 << 20 };
  lac_spec spec = {.op = lac_op_find("mul")};
  lac_program *program = NULL, *kept = NULL;
  int64_t before = memory_now("cpu").live_bytes, written;

  lac_program_set_budget(BUDGET);
  for (int n = 1; n <= SHAPES; n++) {
    lac_meta in[2] = {doubles(1, n, 0), doubles(1, n, 0)};
    CHECK_OK(lac_program_vjp(ctx, &spec, in, NULL, NULL, &program));
    lac_program_destroy(&program);
  }
  CHECK(memory_now("cpu").live_bytes - before < 2 * BUDGET);
  written = lac_program_count_written();
  for (int n = SHAPES; n >= 1; n -= SHAPES - 1) {  // the last, then the first
    lac_meta in[2] = {doubles(1, n, 0), doubles(1, n, 0)};
    CHECK_OK(lac_program_vjp(ctx, &spec, in, NULL, NULL, &program));
    CHECK_EQ(lac_program_count_written() - written, n == 1);
    lac_program_destroy(&program);
  }
  lac_program_set_budget(0);  // nothing is kept: each asks for its own
  CHECK_OK(lac_program_jvp(ctx, &spec, (lac_meta[]){doubles(1, N, 0), doubles(1, N, 0)}, NULL, &program));
  CHECK_OK(lac_program_jvp(ctx, &spec, (lac_meta[]){doubles(1, N, 0), doubles(1, N, 0)}, NULL, &kept));
  CHECK(program != kept);
  lac_program_destroy(&program), lac_program_destroy(&kept);
  lac_program_set_budget(DEFAULT);
}

// -- threads ---------------------------------------------------------------------------------------------------------

typedef struct worker {
  pthread_t thread;
  const lac_pattern *pattern;
  lac_program *program;
} worker;

/// Gradients through a context of its own, of values that are the thread's own, on the pattern that all share.
static void *work(void *data) {
  worker *w = data;
  lac_context *ctx = NULL;
  lac_tape *tape = NULL;
  lac_spec spec = {.op = lac_op_find("spmm"), .patterns = {w->pattern}};
  lac_array *a, *x;

  if (lac_context_create(check_backend(), 0, &ctx) != LAC_OK) return NULL;
  a = filled(ctx, N, 0, 3), x = filled(ctx, N, 1, 2);
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  for (int i = 0; i < 50; i++) check_gradient(ctx, tape, w->pattern, a, x);
  CHECK_OK(lac_program_vjp(ctx, &spec, (lac_meta[]){*lac_array_meta(a), *lac_array_meta(x)}, NULL, NULL, &w->program));
  lac_tape_destroy(&tape);
  lac_array_destroy(&a), lac_array_destroy(&x);
  lac_context_destroy(&ctx);
  return NULL;
}

static void threads_share_the_programs_of_a_pattern(lac_context *ctx) {
  for (int round = 0; round < 20; round++) {
    lac_pattern *p = diagonal(ctx, N);
    worker workers[THREADS] = {{.pattern = NULL}};

    for (int i = 0; i < THREADS; i++) {
      workers[i].pattern = p;
      CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
    lac_pattern_destroy(&p);  // the programs are still held
    for (int i = 0; i < THREADS; i++) CHECK(workers[i].program && workers[i].program == workers[0].program);
    for (int i = 0; i < THREADS; i++) lac_program_destroy(&workers[i].program);
  }
}

static void what_is_missing_is_refused(lac_context *ctx) {
  lac_meta in = doubles(1, N, 0);
  lac_spec spec = {.op = lac_op_find("sin")};
  lac_program *program = NULL;

  CHECK_EQ(lac_program_forward(NULL, &spec, &in, &program), LAC_ERR_ARG);
  CHECK_EQ(lac_program_vjp(NULL, &spec, &in, NULL, NULL, &program), LAC_ERR_ARG);
  CHECK_EQ(lac_program_jvp(NULL, &spec, &in, NULL, &program), LAC_ERR_ARG);
  CHECK_EQ(lac_program_run(NULL, NULL, NULL, NULL), LAC_ERR_ARG);
  CHECK_FAILS(lac_program_run(ctx, NULL, NULL, NULL), LAC_ERR_ARG, "program, in or out is NULL");
  CHECK_FAILS(lac_program_vjp(ctx, NULL, &in, NULL, NULL, &program), LAC_ERR_ARG, "spec, in or out is NULL");
  spec.op = NULL;
  CHECK_FAILS(lac_program_forward(ctx, &spec, &in, &program), LAC_ERR_ARG, "names no operator");
  CHECK_EQ(lac_program_inputs(NULL) + lac_program_results(NULL) + lac_program_steps(NULL), 0);
  CHECK(!lac_program_input(NULL, 0) && !lac_program_result(NULL, 0) && !lac_program_step(NULL, 0).spec);
}

CHECK_MAIN(a_loop_writes_each_program_once, who_asks_again_gets_the_same_program,
           a_program_that_is_held_runs_after_its_pattern_was_let_go, a_pattern_goes_when_its_user_lets_go_of_it,
           an_object_goes_when_its_user_lets_go_of_it, a_table_that_lies_where_another_lay_has_programs_of_its_own,
           the_budget_is_kept_and_the_oldest_go_first, threads_share_the_programs_of_a_pattern,
           what_is_missing_is_refused)
