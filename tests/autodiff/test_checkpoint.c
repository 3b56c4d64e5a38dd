// SPDX-License-Identifier: Apache-2.0
/// Checkpointed segments: the derivatives are those of the same calls without checkpoints, the memory is not.

#include <math.h>
#include <string.h>

#include "autodiff/tape_impl.h"
#include "core/memory_impl.h"
#include "lacuna/extend.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"

enum { N = 7, STEPS = 9 };

typedef enum way { PLAINLY, IN_SEGMENTS, NESTED } way;

/// x' = x + 0.1 (A x) (w x) with A (pattern, a) and a constant w.
typedef struct model {
  lac_context *ctx;
  lac_pattern *pattern;
  lac_array *a, *x, *w, *seed;
} model;

static lac_array *random_array(lac_context *ctx, int64_t rows, int64_t cols, uint64_t seed) {
  random_state r = random_start(seed);
  double *numbers = scratch((size_t)(rows * (cols ? cols : 1)) * sizeof *numbers);
  lac_array *array = NULL;

  for (int64_t i = 0; i < rows * (cols ? cols : 1); i++) numbers[i] = random_unit(&r);
  CHECK_OK(lac_array_from(ctx, LAC_F64, cols ? 2 : 1, (int64_t[]){rows, cols}, numbers, LAC_OWNERSHIP_COPY, &array));
  return array;
}

static model open_model(lac_context *ctx) {
  model m = {.ctx = ctx};

  CHECK_OK(sketch_pattern(ctx, sketch_square(N, 0.4, 3), LAC_WIDTH_AUTO, &m.pattern));
  m.a = random_array(ctx, lac_pattern_nnz(m.pattern), 0, 1);
  m.x = random_array(ctx, N, 2, 2);
  m.w = random_array(ctx, N, 1, 3);
  m.seed = random_array(ctx, N, 2, 4);
  return m;
}

static void close_model(model *m) {
  lac_array_destroy(&m->a);
  lac_array_destroy(&m->x);
  lac_array_destroy(&m->w);
  lac_array_destroy(&m->seed);
  lac_pattern_destroy(&m->pattern);
}

static lac_status model_step(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  const model *m = data;
  lac_var y = lac_spmm(tape, m->pattern, in[1], in[0], LAC_PLAIN);
  lac_var wx = lac_mul(tape, lac_tape_constant(tape, m->w), in[0]);

  out[0] = lac_add(tape, in[0], lac_scale(tape, lac_mul(tape, y, wx), 0.1 + 0.01 * step, 0));
  return lac_tape_status(tape);
}

/// All steps, in segments of their own.
static lac_status model_loop(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)step;
  return lac_tape_checkpoint_steps(tape, model_step, data, STEPS, 2, in, 1, out);
}

static lac_var run_model(model *m, lac_tape *tape, way how, lac_var x, lac_var a) {
  lac_var in[2] = {x, a}, out = {0};

  if (how == NESTED) {
    (void)lac_tape_checkpoint(tape, model_loop, m, 2, in, 1, &out);
    return out;
  }
  if (how == IN_SEGMENTS) {
    (void)model_loop(tape, m, 0, in, &out);
    return out;
  }
  for (int step = 0; step < STEPS; step++) (void)model_step(tape, m, step, in, &in[0]);
  return in[0];
}

static void read_var(lac_context *ctx, const lac_tape *tape, lac_var var, double *out) {
  CHECK(lac_tape_value(tape, var));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, var), out));
}

static double *new_numbers(const lac_array *like) { return scratch((size_t)lac_array_count(like) * sizeof(double)); }

static void check_close(const double *got, const double *expected, int64_t count, double tolerance) {
  for (int64_t i = 0; i < count; i++) CHECK_NEAR(got[i], expected[i], tolerance);
}

// -- derivatives -----------------------------------------------------------------------------------------------------

static void gradients_and_tangents_equal_those_without_checkpoints(lac_context *ctx) {
  model m = open_model(ctx);
  double *y[3], *x_bar[3], *a_bar[3], *y_dot[3];
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  for (way how = PLAINLY; how <= NESTED; how++) {
    lac_tape_clear(tape);
    y[how] = new_numbers(m.x), x_bar[how] = new_numbers(m.x), y_dot[how] = new_numbers(m.x);
    a_bar[how] = new_numbers(m.a);
    lac_var in[2] = {lac_tape_leaf(tape, m.x), lac_tape_leaf(tape, m.a)}, bar[2], dot;
    lac_var out = run_model(&m, tape, how, in[0], in[1]), seed = lac_tape_constant(tape, m.seed);
    CHECK_OK(lac_tape_vjp(tape, 1, &out, &seed, 2, in, bar, LAC_GRAPH_NONE));
    CHECK_OK(lac_tape_jvp(tape, 1, in, &seed, 1, &out, &dot, LAC_GRAPH_NONE));
    read_var(ctx, tape, out, y[how]);
    read_var(ctx, tape, bar[0], x_bar[how]);
    read_var(ctx, tape, bar[1], a_bar[how]);
    read_var(ctx, tape, dot, y_dot[how]);
  }
  for (way how = IN_SEGMENTS; how <= NESTED; how++) {
    size_t bytes = (size_t)lac_array_count(m.x) * sizeof(double);
    CHECK(memcmp(y[how], y[PLAINLY], bytes) == 0);
    CHECK(memcmp(x_bar[how], x_bar[PLAINLY], bytes) == 0);
    CHECK(memcmp(y_dot[how], y_dot[PLAINLY], bytes) == 0);
    check_close(a_bar[how], a_bar[PLAINLY], lac_array_count(m.a), 1e-13);  // its terms are added in another order
  }
  lac_tape_destroy(&tape);
  close_model(&m);
}

/// d^order/dx of s = <seed, y(x, a)> along the seed, by repeated recorded reverse sweeps.
static void repeated_gradient(model *m, way how, int order, const lac_array *x, double *out) {
  lac_context *ctx = m->ctx;
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in[2] = {lac_tape_leaf(tape, x), lac_tape_leaf(tape, m->a)}, seed = lac_tape_constant(tape, m->seed);
  lac_var g = run_model(m, tape, how, in[0], in[1]);
  for (int k = 0; k < order; k++) {
    lac_graph_mode mode = k + 1 < order ? LAC_GRAPH_CREATE : LAC_GRAPH_NONE;
    CHECK_OK(lac_tape_vjp(tape, 1, &g, &seed, 1, in, &g, mode));
  }
  read_var(ctx, tape, g, out);
  lac_tape_destroy(&tape);
}

static void second_and_third_derivatives_equal_those_without_checkpoints(lac_context *ctx) {
  model m = open_model(ctx);

  for (int order = 2; order <= 3; order++) {
    double *expected = new_numbers(m.x), *got = new_numbers(m.x);
    repeated_gradient(&m, PLAINLY, order, m.x, expected);
    for (way how = IN_SEGMENTS; how <= NESTED; how++) {
      repeated_gradient(&m, how, order, m.x, got);
      check_close(got, expected, lac_array_count(m.x), 1e-10);
    }
  }
  close_model(&m);
}

static void second_derivative_is_the_difference_of_gradients(lac_context *ctx) {
  enum { COUNT = 2 * N };
  model m = open_model(ctx);
  double x[COUNT], v[COUNT], moved[COUNT], up[COUNT], down[COUNT], got[COUNT], h = 1e-5;
  lac_array *at = NULL;

  CHECK_OK(lac_array_read(ctx, m.x, x));
  CHECK_OK(lac_array_read(ctx, m.seed, v));
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int i = 0; i < COUNT; i++) moved[i] = x[i] + sign * h * v[i];
    CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){N, 2}, moved, LAC_OWNERSHIP_COPY, &at));
    repeated_gradient(&m, NESTED, 1, at, sign < 0 ? down : up);
    lac_array_destroy(&at);
  }
  repeated_gradient(&m, NESTED, 2, m.x, got);
  for (int i = 0; i < COUNT; i++) CHECK(fabs(got[i] - (up[i] - down[i]) / (2 * h)) < 1e-7 * (1 + fabs(got[i])));
  close_model(&m);
}

/// Two outputs of three inputs, of which the last is not read: x^2 a and a itself.
static lac_status two_outputs(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)data, (void)step;
  out[0] = lac_mul(tape, lac_mul(tape, in[0], in[0]), in[1]);
  out[1] = in[1];
  return LAC_OK;
}

static void outputs_inputs_and_adjoints_may_be_unused(lac_context *ctx) {
  lac_array *x = random_array(ctx, 3, 1, 1), *a = random_array(ctx, 3, 1, 2);
  lac_tape *tape = NULL;
  double xs[3], as[3], got[3];

  CHECK_OK(lac_array_read(ctx, x, xs));
  CHECK_OK(lac_array_read(ctx, a, as));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in[3] = {lac_tape_leaf(tape, x), lac_tape_leaf(tape, a), lac_tape_leaf(tape, a)}, out[2], bar[3], dot[2];
  CHECK_OK(lac_tape_checkpoint(tape, two_outputs, NULL, 3, in, 2, out));
  lac_var first = lac_sum(tape, out[0]), second = lac_sum(tape, out[1]);
  CHECK_OK(lac_tape_vjp(tape, 1, &first, NULL, 3, in, bar, LAC_GRAPH_NONE));
  CHECK_EQ(bar[2].id, 0);
  read_var(ctx, tape, bar[0], got);
  for (int i = 0; i < 3; i++) CHECK_NEAR(got[i], 2 * xs[i] * as[i], 1e-15);
  read_var(ctx, tape, bar[1], got);
  for (int i = 0; i < 3; i++) CHECK_NEAR(got[i], xs[i] * xs[i], 1e-15);
  CHECK_OK(lac_tape_vjp(tape, 1, &second, NULL, 3, in, bar, LAC_GRAPH_NONE));
  CHECK_EQ(bar[0].id, 0);
  read_var(ctx, tape, bar[1], got);
  for (int i = 0; i < 3; i++) CHECK_NEAR(got[i], 1, 0);
  CHECK_OK(lac_tape_jvp(tape, 1, &in[2], &in[0], 2, out, dot, LAC_GRAPH_NONE));  // along the input that is not read
  CHECK(!dot[0].id && !dot[1].id);
  CHECK_OK(lac_tape_jvp(tape, 1, &in[0], &in[0], 2, out, dot, LAC_GRAPH_NONE));
  CHECK(dot[0].id && !dot[1].id);

  lac_var constants[3] = {in[0], lac_tape_constant(tape, a), in[0]};  // a constant, and one var twice
  CHECK_OK(lac_tape_checkpoint(tape, two_outputs, NULL, 3, constants, 2, out));
  first = lac_sum(tape, out[0]);
  CHECK_OK(lac_tape_vjp(tape, 1, &first, NULL, 1, in, bar, LAC_GRAPH_NONE));
  read_var(ctx, tape, bar[0], got);
  for (int i = 0; i < 3; i++) CHECK_NEAR(got[i], 2 * xs[i] * as[i], 1e-15);
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&a);
}

/// y = A^-1 b twice over.
static lac_status solve_twice(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)step;
  out[0] = lac_solve(tape, data, in[0], lac_solve(tape, data, in[0], in[1], LAC_PLAIN), LAC_TRANSPOSED);
  return LAC_OK;
}

static void segments_call_solvers(lac_context *ctx) {
  if (!check_claimed("the direct solver")) return;
  model m = open_model(ctx);
  lac_solver *solver = NULL;
  lac_tape *tape = NULL;
  double *a_bar[2], *second[2];

  CHECK_OK(lac_solver_create(ctx, m.pattern, NULL, &solver));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  for (int i = 0; i < 2; i++) {
    a_bar[i] = new_numbers(m.a), second[i] = new_numbers(m.a);
    lac_var in[2] = {lac_tape_leaf(tape, m.a), lac_tape_leaf(tape, m.x)}, out, bar[2], again;
    lac_var seed = lac_tape_constant(tape, m.seed), along = lac_tape_constant(tape, m.a);
    CHECK_OK(i ? lac_tape_checkpoint(tape, solve_twice, solver, 2, in, 1, &out)
               : solve_twice(tape, solver, 0, in, &out));
    CHECK_OK(lac_tape_vjp(tape, 1, &out, &seed, 2, in, bar, LAC_GRAPH_CREATE));
    CHECK_OK(lac_tape_jvp(tape, 1, in, &along, 1, bar, &again, LAC_GRAPH_NONE));
    read_var(ctx, tape, bar[0], a_bar[i]);
    read_var(ctx, tape, again, second[i]);
    lac_tape_clear(tape);
  }
  check_close(a_bar[1], a_bar[0], lac_array_count(m.a), 1e-12);
  check_close(second[1], second[0], lac_array_count(m.a), 1e-10);
  lac_tape_destroy(&tape);
  lac_solver_destroy(&solver);
  close_model(&m);
}

/// One step of descent on f(x) = sum x^4: x - 0.1 f'(x), with the derivative taken inside.
static lac_status descend(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  lac_var square = lac_mul(tape, in[0], in[0]), f = lac_sum(tape, lac_mul(tape, square, square)), g = {0};
  lac_status status = lac_tape_vjp(tape, 1, &f, NULL, 1, in, &g, *(lac_graph_mode *)data);

  (void)step;
  if (status != LAC_OK) return status;
  out[0] = lac_sub(tape, in[0], lac_scale(tape, g, 0.1, 0));
  return LAC_OK;
}

static void derivatives_may_be_taken_inside(lac_context *ctx) {
  lac_array *x = random_array(ctx, 4, 1, 5);
  lac_tape *tape = NULL;
  lac_graph_mode mode = LAC_GRAPH_CREATE, plain = LAC_GRAPH_NONE;
  double xs[4], y[4], got[4];

  CHECK_OK(lac_array_read(ctx, x, xs));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in = lac_tape_leaf(tape, x), out, bar;
  CHECK_OK(lac_tape_checkpoint(tape, descend, &mode, 1, &in, 1, &out));
  read_var(ctx, tape, out, y);
  lac_var s = lac_sum(tape, out);
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 1, &in, &bar, LAC_GRAPH_NONE));
  read_var(ctx, tape, bar, got);
  for (int i = 0; i < 4; i++) {
    CHECK_NEAR(y[i], xs[i] - 0.4 * xs[i] * xs[i] * xs[i], 1e-14);
    CHECK_NEAR(got[i], 1 - 1.2 * xs[i] * xs[i], 1e-13);
  }
  CHECK_FAILS(lac_tape_checkpoint(tape, descend, &plain, 1, &in, 1, &out), LAC_ERR_ARG, "use LAC_GRAPH_CREATE");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

// -- memory ----------------------------------------------------------------------------------------------------------

static lac_status square_step(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)data, (void)step;
  out[0] = lac_sub(tape, in[0], lac_mul(tape, in[0], in[0]));
  return LAC_OK;
}

/// Peak of forward and gradient over a chain of 64 steps, in states.
static double chain_peak(lac_context *ctx, const lac_array *x, way how) {
  const char *backend = lac_context_backend(ctx);
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in = lac_tape_leaf(tape, x), now = in, bar;
  lac_memory_reset_peak(backend);
  int64_t before = memory_now(backend).live_bytes;
  if (how == IN_SEGMENTS) CHECK_OK(lac_tape_checkpoint_steps(tape, square_step, NULL, 64, 1, &in, 1, &now));
  for (int step = 0; step < 64 && how == PLAINLY; step++) {
    lac_var square = lac_mul(tape, now, now), next = lac_sub(tape, now, square);
    lac_tape_release(tape, square);
    if (step) lac_tape_release(tape, now);
    now = next;
  }
  lac_var s = lac_sum(tape, now);
  CHECK_OK(lac_tape_vjp(tape, 1, &s, NULL, 1, &in, &bar, LAC_GRAPH_NONE));
  int64_t peak = memory_now(backend).peak_bytes - before;
  lac_tape_destroy(&tape);
  return (double)peak / (double)(lac_array_count(x) * 8);
}

static void a_chain_of_64_steps_in_8_segments_holds_8_and_8_states(lac_context *ctx) {
  lac_array *x = random_array(ctx, 40000, 1, 6);
  double plain = chain_peak(ctx, x, PLAINLY), segments = chain_peak(ctx, x, IN_SEGMENTS);

  CHECK(plain > 64);
  CHECK(segments > 14 && segments < 8 + 8 + 5);  // and the adjoint, its terms and what is being computed
  lac_array_destroy(&x);
}

static lac_status model_gradient(model *m, lac_graph_mode mode) {
  lac_tape *tape = NULL;
  lac_status status = lac_tape_create(m->ctx, LAC_TAPE_RECORD, &tape);

  if (status != LAC_OK) return status;
  lac_var in[2] = {lac_tape_leaf(tape, m->x), lac_tape_leaf(tape, m->a)}, bar[2], dot;
  lac_var out = run_model(m, tape, NESTED, in[0], in[1]), seed = lac_tape_constant(tape, m->seed);
  status = lac_tape_vjp(tape, 1, &out, &seed, 2, in, bar, mode);
  if (status == LAC_OK) status = lac_tape_jvp(tape, 1, in, &seed, 1, &out, &dot, LAC_GRAPH_NONE);
  lac_tape_destroy(&tape);
  return status;
}

static void every_failing_allocation_is_told_and_nothing_leaks(lac_context *ctx) {
  model m = open_model(ctx);

  CHECK_OK(model_gradient(&m, LAC_GRAPH_CREATE));  // caches of structure are filled
  lac_program_forget(ctx, m.pattern);
  long long before = check_live_blocks();
  for (int mode = LAC_GRAPH_NONE; mode <= LAC_GRAPH_CREATE; mode++) {
    for (int64_t n = 1;; n += 1 + n / 64) {
      lac_program_forget(ctx, NULL), lac_program_forget(ctx, m.pattern);
      lac_memory_fail_at(n);
      lac_status status = model_gradient(&m, (lac_graph_mode)mode);
      if (lac_memory_fail_at(0) < n) {
        CHECK_EQ(status, LAC_OK);
        break;
      }
      CHECK_EQ(status, LAC_ERR_MEMORY);
      lac_program_forget(ctx, m.pattern);
      CHECK_EQ(check_live_blocks(), before);
    }
  }
  close_model(&m);
}

// -- errors ----------------------------------------------------------------------------------------------------------

typedef struct fault {
  enum { SHAPE, CODE, LEAF, FORGOTTEN, FOREIGN, CLEARED, ABSENT_INPUT, STEPS_LEFT_OUT } kind;
  lac_array *array;
  lac_var outside;
} fault;

static lac_status faulty(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  const fault *f = data;

  (void)step;
  if (f->kind == SHAPE) out[0] = lac_add(tape, in[0], lac_tape_constant(tape, f->array));
  if (f->kind == CODE) return LAC_ERR_CONVERGENCE;
  if (f->kind == LEAF) out[0] = lac_tape_leaf(tape, f->array);
  if (f->kind == FOREIGN) out[0] = lac_mul(tape, in[0], f->outside);
  if (f->kind == CLEARED) lac_tape_clear(tape);
  if (f->kind == ABSENT_INPUT) out[0] = lac_mul(tape, in[0], (lac_var){0});
  return LAC_OK;
}

static void errors_inside_stick_and_leave_nothing(lac_context *ctx) {
  static const struct {
    lac_status status;
    const char *words;
  } expected[] = {{LAC_ERR_SHAPE, "add: y has shape (2, 1)"},
                  {LAC_ERR_CONVERGENCE, "the segment returned LAC_ERR_CONVERGENCE"},
                  {LAC_ERR_ARG, "a segment has no leaves"},
                  {LAC_ERR_ABSENT, "left output 0 absent"},
                  {LAC_ERR_ABSENT, "mul: y is a var of another tape"},
                  {LAC_ERR_ARG, "cleared its tape"},
                  {LAC_ERR_ABSENT, "mul: y is absent"}};
  lac_array *x = random_array(ctx, 3, 1, 1), *other = random_array(ctx, 2, 1, 1);
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  long long before = check_live_blocks();
  for (int kind = SHAPE; kind < STEPS_LEFT_OUT; kind++) {
    lac_var in = lac_tape_leaf(tape, x), out = in;
    fault f = {.array = other, .outside = in};
    f.kind = kind;
    CHECK_FAILS(lac_tape_checkpoint(tape, faulty, &f, 1, &in, 1, &out), expected[kind].status, expected[kind].words);
    CHECK_EQ(out.id, 0);
    CHECK_EQ(lac_tape_status(tape), expected[kind].status);
    CHECK_EQ(lac_mul(tape, in, in).id, 0);
    lac_tape_clear(tape);
    CHECK(check_live_blocks() <= before + 1);  // the tape's own room for vars
  }
  lac_var in = lac_tape_leaf(tape, x), none = {0};
  lac_context_clear_error(ctx);
  CHECK_FAILS(lac_tape_checkpoint(tape, square_step, NULL, 1, &none, 1, &in), LAC_ERR_ABSENT, "in[0] is absent");
  lac_tape_clear(tape);
  in = lac_tape_leaf(tape, x);
  CHECK_FAILS(lac_tape_checkpoint(tape, square_step, NULL, 0, &in, 1, &in), LAC_ERR_ARG, "0 inputs");
  lac_tape_clear(tape);
  CHECK_FAILS(lac_tape_checkpoint_steps(tape, square_step, NULL, -1, 1, &in, 1, &in), LAC_ERR_ARG, "give 0 steps");
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
  lac_array_destroy(&other);
}

static void a_constant_written_to_before_the_derivative_is_stale(lac_context *ctx) {
  model m = open_model(ctx);
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in[2] = {lac_tape_leaf(tape, m.x), lac_tape_leaf(tape, m.a)}, bar[2];
  lac_var out = run_model(&m, tape, IN_SEGMENTS, in[0], in[1]), seed = lac_tape_constant(tape, m.seed);
  CHECK_OK(lac_tape_vjp(tape, 1, &out, &seed, 2, in, bar, LAC_GRAPH_NONE));
  CHECK_OK(lac_array_fill(ctx, m.w, 2, 0));
  for (int mode = LAC_GRAPH_NONE; mode <= LAC_GRAPH_CREATE; mode++) {
    CHECK_FAILS(lac_tape_vjp(tape, 1, &out, &seed, 2, in, bar, (lac_graph_mode)mode), LAC_ERR_STALE, "written to");
    CHECK(!bar[0].id && !bar[1].id);
    CHECK_OK(lac_tape_status(tape));
  }
  lac_tape_destroy(&tape);
  close_model(&m);
}

// A copy that may be differentiated once.
static lac_status once_forward(lac_call *c) { return lac_array_write(c->ctx, c->out[0], lac_array_data(c->in[0])); }
static void once_vjp(lac_rule *r) { r->in_bar[0] = lac_mul(r->tape, r->out_bar[0], r->in[0]); }
static const lac_op once = {
    .name = "once", .signature = "()->()", .vjp_needs = 1, .order = 1, .forward = once_forward, .vjp = once_vjp};

static lac_status once_and_square(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)data, (void)step;
  lac_status status = lac_tape_call(tape, &(lac_spec){.op = &once}, in, out);
  out[1] = lac_mul(tape, in[1], in[1]);
  return status;
}

static void the_order_of_what_is_inside_is_kept(lac_context *ctx) {
  if (!check_claimed("an operator that reads host memory")) return;
  lac_array *x = random_array(ctx, 3, 1, 1);
  lac_tape *tape = NULL;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in[2] = {lac_tape_leaf(tape, x), lac_tape_leaf(tape, x)}, out[2], bar, again;
  CHECK_OK(lac_tape_checkpoint(tape, once_and_square, NULL, 2, in, 2, out));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(lac_tape_vjp(tape, 1, &out[i], &in[0], 1, &in[i], &bar, LAC_GRAPH_CREATE));
    lac_status status = lac_tape_vjp(tape, 1, &bar, &in[0], 1, &in[i], &again, LAC_GRAPH_NONE);
    CHECK_EQ(status, i == 0 ? LAC_ERR_ORDER : LAC_OK);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&x);
}

static void a_running_tape_runs_segments_too(lac_context *ctx) {
  model m = open_model(ctx);
  double *expected = new_numbers(m.x), *got = new_numbers(m.x);
  lac_tape *tape = NULL;

  for (way how = PLAINLY; how <= NESTED; how++) {
    CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RUN, &tape));
    lac_var out = run_model(&m, tape, how, lac_tape_constant(tape, m.x), lac_tape_constant(tape, m.a));
    read_var(ctx, tape, out, how == PLAINLY ? expected : got);
    if (how != PLAINLY) CHECK(memcmp(got, expected, (size_t)lac_array_count(m.x) * sizeof *got) == 0);
    lac_tape_destroy(&tape);
  }
  close_model(&m);
}

// -- many inputs and outputs -----------------------------------------------------------------------------------------

enum { MANY_IN = 40, MANY_OUT = 36 };

/// y_k = (k + 1) x_k x_{k+1}, and the last also holds what is left of the inputs: y = .. + sum_{i > MANY_OUT} i x_i^2.
static lac_status many_segment(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)data, (void)step;
  for (int k = 0; k < MANY_OUT; k++) out[k] = lac_scale(tape, lac_mul(tape, in[k], in[k + 1]), k + 1, 0);
  for (int i = MANY_OUT + 1; i < MANY_IN; i++) {
    lac_var square = lac_scale(tape, lac_mul(tape, in[i], in[i]), i, 0);
    out[MANY_OUT - 1] = lac_add(tape, out[MANY_OUT - 1], square);
  }
  return lac_tape_status(tape);
}

/// The number that input i holds, and the seed of output k.
static double many_x(int i) { return 0.5 + 0.25 * (i % 7); }
static double many_seed(int k) { return 1 - 0.125 * (k % 5); }

/// dL/dx_i by hand, L = sum_k seed_k y_k.
static double many_bar(int i) {
  double bar = 0;

  if (i < MANY_OUT) bar += many_seed(i) * (i + 1) * many_x(i + 1);
  if (i > 0 && i <= MANY_OUT) bar += many_seed(i - 1) * i * many_x(i - 1);
  if (i > MANY_OUT) bar += many_seed(MANY_OUT - 1) * 2 * i * many_x(i);
  return bar;
}

static lac_var scalar_leaf(lac_context *ctx, lac_tape *tape, double number) {
  lac_array *array = NULL;
  lac_var leaf;

  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &array));
  CHECK_OK(lac_array_fill(ctx, array, number, 0));
  leaf = lac_tape_leaf(tape, array);
  lac_array_destroy(&array);
  return leaf;
}

static double number_of(lac_context *ctx, const lac_tape *tape, lac_var var) {
  double number = 0;
  CHECK(lac_tape_value(tape, var));
  CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, var), &number));
  return number;
}

static void a_segment_may_have_forty_inputs(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_var in[MANY_IN], out[MANY_OUT], seed[MANY_OUT], bar[MANY_IN], dot, curved;
  double along = 0;

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  for (int i = 0; i < MANY_IN; i++) in[i] = scalar_leaf(ctx, tape, many_x(i));
  for (int k = 0; k < MANY_OUT; k++) seed[k] = lac_tape_scalar(tape, LAC_F64, many_seed(k), 0);
  CHECK_OK(lac_tape_checkpoint(tape, many_segment, NULL, MANY_IN, in, MANY_OUT, out));
  CHECK_OK(lac_tape_vjp(tape, MANY_OUT, out, seed, MANY_IN, in, bar, LAC_GRAPH_CREATE));
  for (int i = 0; i < MANY_IN; i++) CHECK_NEAR(number_of(ctx, tape, bar[i]), many_bar(i), 1e-14);

  CHECK_OK(lac_tape_jvp(tape, 1, &in[MANY_IN - 1], &seed[0], 1, &out[MANY_OUT - 1], &dot, LAC_GRAPH_NONE));
  along = many_seed(0) * 2 * (MANY_IN - 1) * many_x(MANY_IN - 1);
  CHECK_NEAR(number_of(ctx, tape, dot), along, 1e-14);

  CHECK_OK(lac_tape_vjp(tape, 1, &bar[MANY_IN - 1], NULL, 1, &in[MANY_IN - 1], &curved, LAC_GRAPH_NONE));  // 2 i seed
  CHECK_NEAR(number_of(ctx, tape, curved), many_seed(MANY_OUT - 1) * 2 * (MANY_IN - 1), 1e-14);
  lac_tape_destroy(&tape);
}

/// x_i' = x_i + 0.01 x_{i+1} for the states, in a ring; what comes after them stays as it is, and is added.
static lac_status many_step(lac_tape *tape, void *data, int step, const lac_var *in, lac_var *out) {
  (void)data, (void)step;
  for (int k = 0; k < MANY_OUT; k++) {
    lac_var moved = lac_add(tape, in[k], lac_scale(tape, in[(k + 1) % MANY_OUT], 0.01, 0));
    out[k] = k == 0 ? lac_add(tape, moved, in[MANY_OUT]) : moved;
  }
  return lac_tape_status(tape);
}

static void a_loop_may_have_many_states(lac_context *ctx) {
  lac_tape *tape = NULL;
  lac_var in[MANY_OUT + 1], out[MANY_OUT], plain[MANY_OUT + 1], next[MANY_OUT], bar[2], want[2];

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  for (int i = 0; i <= MANY_OUT; i++) plain[i] = in[i] = scalar_leaf(ctx, tape, many_x(i));
  CHECK_OK(lac_tape_checkpoint_steps(tape, many_step, NULL, 5, MANY_OUT + 1, in, MANY_OUT, out));
  for (int step = 0; step < 5; step++) {
    CHECK_OK(many_step(tape, NULL, step, plain, next));
    memcpy(plain, next, sizeof next);
  }
  for (int k = 0; k < MANY_OUT; k++) {
    CHECK_NEAR(number_of(ctx, tape, out[k]), number_of(ctx, tape, plain[k]), 0);
  }
  lac_var ends[2] = {in[1], in[MANY_OUT]};
  CHECK_OK(lac_tape_vjp(tape, 1, &out[0], NULL, 2, ends, bar, LAC_GRAPH_NONE));
  CHECK_OK(lac_tape_vjp(tape, 1, &plain[0], NULL, 2, ends, want, LAC_GRAPH_NONE));
  for (int j = 0; j < 2; j++) {
    CHECK_NEAR(number_of(ctx, tape, bar[j]), number_of(ctx, tape, want[j]), 1e-15);
  }
  lac_tape_destroy(&tape);
}

CHECK_MAIN(gradients_and_tangents_equal_those_without_checkpoints,
           second_and_third_derivatives_equal_those_without_checkpoints,
           second_derivative_is_the_difference_of_gradients, outputs_inputs_and_adjoints_may_be_unused,
           segments_call_solvers, derivatives_may_be_taken_inside,
           a_chain_of_64_steps_in_8_segments_holds_8_and_8_states, every_failing_allocation_is_told_and_nothing_leaks,
           errors_inside_stick_and_leave_nothing, a_constant_written_to_before_the_derivative_is_stale,
           the_order_of_what_is_inside_is_kept, a_running_tape_runs_segments_too, a_segment_may_have_forty_inputs,
           a_loop_may_have_many_states)
