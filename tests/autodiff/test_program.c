// SPDX-License-Identifier: Apache-2.0
/// Programs: what a rule emits, read and run from outside as a framework does.

#include <string.h>

#include "lacuna/extend.h"
#include "lacuna/program.h"
#include "support/check.h"
#include "support/random.h"

static lac_meta doubles(int ndim, int64_t d0, int64_t d1) {
  return (lac_meta){.dtype = LAC_F64, .ndim = ndim, .shape = {d0, d1}};
}

/// Host numbers on the context's device, as a framework's own memory.
static lac_array *on_device(lac_context *ctx, int64_t count, const double *numbers) {
  lac_array *array = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &count, (void *)numbers, LAC_OWNERSHIP_COPY, &array));
  return array;
}

/// Run a program on host numbers: inputs and results as the ports say.
static void run(lac_context *ctx, const lac_program *program, const double *const *in, double *const *out) {
  lac_array *arrays[16] = {NULL};
  const void *inputs[8];
  void *results[8];
  int ins = lac_program_inputs(program), outs = lac_program_results(program);

  for (int i = 0; i < ins; i++) {
    const lac_meta *meta = &lac_program_input(program, i)->meta;
    int64_t count = 1;
    for (int d = 0; d < meta->ndim; d++) count *= meta->shape[d];
    arrays[i] = on_device(ctx, count, in[i]);
    inputs[i] = lac_array_data(arrays[i]);
  }
  for (int i = 0; i < outs; i++) {
    const lac_port *port = lac_program_result(program, i);
    results[i] = NULL;
    if (!port->var) continue;
    CHECK_OK(lac_array_create(ctx, port->meta.dtype, port->meta.ndim, port->meta.shape, &arrays[8 + i]));
    results[i] = lac_array_edit(arrays[8 + i]);
  }
  CHECK_OK(lac_program_run(ctx, program, inputs, results));
  for (int i = 0; i < outs; i++) {
    if (arrays[8 + i]) CHECK_OK(lac_array_read(ctx, arrays[8 + i], out[i]));
  }
  for (int i = 0; i < 16; i++) lac_array_destroy(&arrays[i]);
}

/// A is [[1, 2, 0], [0, 0, 3]].
static lac_pattern *small_pattern(lac_context *ctx) {
  lac_pattern *pattern = NULL;
  CHECK_OK(lac_pattern_from_csr(ctx, 2, 3, LAC_I64, (int64_t[]){0, 2, 3}, (int64_t[]){0, 1, 2}, LAC_WIDTH_AUTO,
                                &pattern, NULL));
  return pattern;
}

static void forward_is_one_step(lac_context *ctx) {
  lac_pattern *p = small_pattern(ctx);
  lac_program *program = NULL;
  lac_spec spec = {.op = lac_op_find("spmm"), .patterns = {p}};
  lac_meta in[2] = {doubles(1, 3, 0), doubles(2, 3, 1)};
  double y[2];

  CHECK_OK(lac_program_forward(ctx, &spec, in, &program));
  CHECK_EQ(lac_program_steps(program), 1);
  CHECK_EQ(lac_program_inputs(program), 2);
  CHECK_EQ(lac_program_results(program), 1);
  CHECK_EQ(lac_program_result(program, 0)->meta.shape[0], 2);
  run(ctx, program, (const double *[]){(double[]){1, 2, 3}, (double[]){1, -1, 2}}, (double *[]){y});
  CHECK_NEAR(y[0], -1, 0);
  CHECK_NEAR(y[1], 6, 0);
  lac_program_destroy(&program);
  lac_pattern_destroy(&p);
}

static void backward_reads_only_what_it_needs(lac_context *ctx) {
  lac_pattern *p = small_pattern(ctx);
  lac_program *program = NULL;
  lac_spec spec = {.op = lac_op_find("spmm"), .patterns = {p}};
  lac_meta in[2] = {doubles(1, 3, 0), doubles(2, 3, 1)};
  double a_bar[3];

  CHECK_OK(
      lac_program_vjp(ctx, &spec, in, (int[]){1, 0}, NULL, &program));  // a_bar alone: the values of a are not read
  CHECK_EQ(lac_program_inputs(program), 2);
  CHECK_EQ(lac_program_input(program, 0)->role, LAC_ROLE_IN);
  CHECK_EQ(lac_program_input(program, 0)->index, 1);
  CHECK_EQ(lac_program_input(program, 1)->role, LAC_ROLE_OUT_BAR);
  CHECK(lac_program_result(program, 0)->var);
  CHECK_EQ(lac_program_result(program, 1)->var, 0);  // not wanted
  run(ctx, program, (const double *[]){(double[]){1, -1, 2}, (double[]){10, 100}}, (double *[]){a_bar, NULL});
  CHECK_NEAR(a_bar[0], 10, 0);
  CHECK_NEAR(a_bar[1], -10, 0);
  CHECK_NEAR(a_bar[2], 200, 0);
  lac_program_destroy(&program);

  CHECK_OK(lac_program_vjp(ctx, &spec, in, NULL, (int[]){0}, &program));  // no adjoint comes in: nothing to do
  CHECK_EQ(lac_program_steps(program), 0);
  CHECK_EQ(lac_program_result(program, 0)->var, 0);
  lac_program_destroy(&program);
  lac_pattern_destroy(&p);
}

static void results_that_are_inputs_are_copied(lac_context *ctx) {
  lac_program *program = NULL;
  lac_spec spec = {.op = lac_op_find("add")};
  lac_meta in[2] = {doubles(1, 2, 0), doubles(1, 2, 0)};
  double x_bar[2], y_bar[2];

  CHECK_OK(lac_program_vjp(ctx, &spec, in, NULL, NULL, &program));
  CHECK_EQ(lac_program_steps(program), 0);
  run(ctx, program, (const double *[]){(double[]){3, 4}}, (double *[]){x_bar, y_bar});
  for (int i = 0; i < 2; i++) CHECK_NEAR(x_bar[i], 3 + i, 0), CHECK_NEAR(y_bar[i], 3 + i, 0);
  lac_program_destroy(&program);
}

static void broadcast_inputs_get_summed_adjoints(lac_context *ctx) {
  // y[b] = A x[b]: one matrix, two vectors. The sum over b is inside the sddmm, not a step of its own.
  lac_pattern *p = small_pattern(ctx);
  lac_program *program = NULL;
  lac_spec spec = {.op = lac_op_find("spmm"), .patterns = {p}};
  lac_meta in[2] = {doubles(1, 3, 0), {.dtype = LAC_F64, .ndim = 3, .shape = {2, 3, 1}}};
  double a_bar[3];

  CHECK_OK(lac_program_vjp(ctx, &spec, in, (int[]){1, 0}, NULL, &program));
  CHECK_EQ(lac_program_steps(program), 1);
  CHECK_EQ(lac_program_step(program, 0).spec->attrs.fit, 1);
  CHECK_EQ(lac_program_result(program, 0)->meta.ndim, 1);
  run(ctx, program, (const double *[]){(double[]){1, 2, 3, 4, 5, 6}, (double[]){1, 1, 10, 10}},
      (double *[]){a_bar, NULL});
  CHECK_NEAR(a_bar[0], 41, 0);
  CHECK_NEAR(a_bar[1], 52, 0);
  CHECK_NEAR(a_bar[2], 63, 0);
  lac_program_destroy(&program);
  lac_pattern_destroy(&p);
}

static void tangent_of_a_broadcast_sum_is_spread(lac_context *ctx) {
  lac_program *program = NULL;
  lac_spec spec = {.op = lac_op_find("add")};
  lac_meta in[2] = {doubles(1, 1, 0), doubles(2, 2, 3)};
  double y_dot[6];

  CHECK_OK(lac_program_jvp(ctx, &spec, in, (int[]){1, 0}, &program));  // only the small one has a tangent
  run(ctx, program, (const double *[]){(double[]){5}}, (double *[]){y_dot});
  for (int i = 0; i < 6; i++) CHECK_NEAR(y_dot[i], 5, 0);
  lac_program_destroy(&program);
}

static void bad_shapes_are_refused(lac_context *ctx) {
  lac_pattern *p = small_pattern(ctx);
  lac_program *program = NULL;
  lac_spec spec = {.op = lac_op_find("spmm"), .patterns = {p}};
  lac_meta in[2] = {doubles(1, 3, 0), doubles(2, 4, 1)};

  CHECK_FAILS(lac_program_forward(ctx, &spec, in, &program), LAC_ERR_SHAPE, "spmm: x has shape (4, 1)");
  CHECK(!program);
  in[1] = doubles(1, 3, 0);
  CHECK_FAILS(lac_program_forward(ctx, &spec, in, &program), LAC_ERR_SHAPE, "at least 2 dimensions");
  in[1] = doubles(2, 3, 1), in[1].dtype = LAC_F32;
  CHECK_FAILS(lac_program_vjp(ctx, &spec, in, NULL, NULL, &program), LAC_ERR_DTYPE, "x is f32 and a is f64");
  spec.patterns[0] = NULL, in[1].dtype = LAC_F64;
  CHECK_FAILS(lac_program_jvp(ctx, &spec, in, NULL, &program), LAC_ERR_ARG, "pattern 0 is missing");
  lac_pattern_destroy(&p);
}

static void programs_hold_their_patterns(lac_context *ctx) {
  lac_pattern *p = small_pattern(ctx);
  lac_program *program = NULL;
  lac_spec spec = {.op = lac_op_find("spmm"), .patterns = {p}};
  lac_meta in[2] = {doubles(1, 3, 0), doubles(2, 3, 1)};
  double y[2];

  CHECK_OK(lac_program_forward(ctx, &spec, in, &program));
  lac_pattern_destroy(&p);
  run(ctx, program, (const double *[]){(double[]){1, 2, 3}, (double[]){1, 1, 1}}, (double *[]){y});
  CHECK_NEAR(y[0], 3, 0);
  lac_program_destroy(&program);
}

CHECK_MAIN(forward_is_one_step, backward_reads_only_what_it_needs, results_that_are_inputs_are_copied,
           broadcast_inputs_get_summed_adjoints, tangent_of_a_broadcast_sum_is_spread, bad_shapes_are_refused,
           programs_hold_their_patterns)
