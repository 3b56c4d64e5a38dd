// SPDX-License-Identifier: Apache-2.0
/// @file bench_call.c
/// What one call costs: spmm with a tridiagonal matrix of n = 100, from C: the kernel alone, as a plain call, by a
/// program, on a tape, and with its gradient.
/// All numbers are 1, so y and x_bar are 3 (2 at both ends) and a_bar is 1, exactly. Each row is checked, then timed.

#include <lacuna/extend.h>
#include <lacuna/lacuna.h>
#include <lacuna/program.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/context_impl.h"
#include "kernels/kernels.h"

enum { N = 100, ROUNDS = 20, CALLS = 20000 };

typedef struct small {
  lac_context *ctx;
  lac_pattern *pattern;
  lac_program *program;
  lac_array *a, *x, *y;
  lac_tape *tape;
  lac_var recorded, bar[2];  // of the last call on the tape: y, a_bar, x_bar
} small;

static void must(lac_context *ctx, lac_status status) {
  if (status == LAC_OK) return;
  fprintf(stderr, "%s\n", lac_context_error(ctx));
  exit(1);
}

static void open_small(small *s) {
  int32_t row[3 * N], col[3 * N];
  double ones[3 * N];
  int count = 0;

  for (int i = 0; i < N; i++) {
    for (int j = i ? i - 1 : 0; j <= i + 1 && j < N; j++) row[count] = i, col[count] = j, ones[count++] = 1;
  }
  must(NULL, lac_context_create("cpu", 0, &s->ctx));
  must(s->ctx, lac_pattern_from_coo(s->ctx, N, N, count, LAC_I32, row, col, LAC_WIDTH_AUTO, &s->pattern, NULL));
  must(s->ctx, lac_array_from(s->ctx, LAC_F64, 1, (int64_t[]){count}, ones, LAC_OWNERSHIP_COPY, &s->a));
  must(s->ctx, lac_array_from(s->ctx, LAC_F64, 2, (int64_t[]){N, 1}, ones, LAC_OWNERSHIP_COPY, &s->x));
  must(s->ctx, lac_array_create(s->ctx, LAC_F64, 2, (int64_t[]){N, 1}, &s->y));
  must(s->ctx, lac_tape_create(s->ctx, LAC_TAPE_RECORD, &s->tape));
  lac_meta in[2] = {*lac_array_meta(s->a), *lac_array_meta(s->x)};
  must(s->ctx,
       lac_program_forward(s->ctx, &(lac_spec){.op = lac_op_find("spmm"), .patterns = {s->pattern}}, in, &s->program));
}

static void close_small(small *s) {
  lac_tape_destroy(&s->tape);
  lac_program_destroy(&s->program);
  lac_array_destroy(&s->a), lac_array_destroy(&s->x), lac_array_destroy(&s->y);
  lac_pattern_destroy(&s->pattern);
  lac_context_destroy(&s->ctx);
}

static void call_kernel(small *s) {
  (void)lac_array_edit(s->y);
  must(s->ctx, s->ctx->kernels->spmm(s->ctx, s->pattern, LAC_PLAIN, s->a, s->x, s->y));
}

static void call_plain(small *s) { must(s->ctx, lac_run_spmm(s->ctx, s->pattern, s->a, s->x, LAC_PLAIN, &s->y)); }

static void call_program(small *s) {
  const void *in[2] = {lac_array_data(s->a), lac_array_data(s->x)};
  void *out[1] = {lac_array_edit(s->y)};
  must(s->ctx, lac_program_run(s->ctx, s->program, in, out));
}

static void call_tape(small *s) {
  lac_tape_clear(s->tape);
  s->recorded = lac_spmm(s->tape, s->pattern, lac_tape_leaf(s->tape, s->a), lac_tape_leaf(s->tape, s->x), LAC_PLAIN);
  must(s->ctx, lac_tape_status(s->tape));
}

static void call_gradient(small *s) {
  lac_tape_clear(s->tape);
  lac_var in[2] = {lac_tape_leaf(s->tape, s->a), lac_tape_leaf(s->tape, s->x)};
  lac_var y = lac_spmm(s->tape, s->pattern, in[0], in[1], LAC_PLAIN), seed = lac_tape_constant(s->tape, s->x);
  must(s->ctx, lac_tape_vjp(s->tape, 1, &y, &seed, 2, in, s->bar, LAC_GRAPH_NONE));
}

/// The largest deviation of what an array holds from A 1, or from 1 where it is values of A.
static double deviation(small *s, const lac_array *array) {
  double numbers[3 * N], worst = 0;
  int64_t count = lac_array_count(array);

  must(s->ctx, lac_array_read(s->ctx, array, numbers));
  for (int64_t i = 0; i < count; i++) {
    double expected = count != N ? 1 : i == 0 || i == N - 1 ? 2 : 3;
    worst = isnan(numbers[i]) ? INFINITY : fmax(worst, fabs(numbers[i] - expected));
  }
  return worst;
}

static double check_y(small *s) { return deviation(s, s->y); }

static double check_tape(small *s) { return deviation(s, lac_tape_value(s->tape, s->recorded)); }

static double check_gradient(small *s) {
  return fmax(deviation(s, lac_tape_value(s->tape, s->bar[0])), deviation(s, lac_tape_value(s->tape, s->bar[1])));
}

/// The best mean over a round of calls, in seconds.
static double seconds(small *s, void (*call)(small *)) {
  double best = 1e30;

  for (int round = 0; round < ROUNDS; round++) {
    double begin = omp_get_wtime(), mean;
    for (int i = 0; i < CALLS; i++) call(s);
    mean = (omp_get_wtime() - begin) / CALLS;
    if (mean < best) best = mean;
  }
  return best;
}

typedef struct outcome {
  double seconds;
  int missed;
} outcome;

/// One row: checked, timed, printed, and appended to build/bench.jsonl. It is missed when it is wrong or over its bar
/// (0: none).
static outcome row(small *s, const char *name, void (*call)(small *), double (*check)(small *), double bar) {
  call(s);
  double residual = check(s), ours = seconds(s, call);
  FILE *file = fopen("build/bench.jsonl", "a");
  int right = residual <= 1e-13, ok = right && (bar == 0 || ours <= bar);
  const char *verdict = ok ? "" : right ? "  MISSED" : "  WRONG";

  printf("%-34s %8.3f us %8.1e", name, ours * 1e6, residual);
  if (bar > 0) printf("   bar: %.3f us", bar * 1e6);
  printf("%s\n", verdict);
  if (file) {
    fprintf(file,
            "{\"bench\": \"call\", \"row\": \"%s\", \"pass\": %s, \"n\": %d, \"dtype\": \"f64\", \"threads\": 1, "
            "\"device\": \"cpu\", \"ours_s\": %.3e, \"peer\": null, \"peer_s\": null, \"ratio\": null, "
            "\"residual\": %.2e, \"gbps\": null, \"bandwidth_share\": null, \"bytes_per_unknown\": null}\n",
            name, ok ? "true" : "false", N, ours, residual);
    fclose(file);
  }
  return (outcome){ours, !ok};
}

int main(void) {
  small s;
  int missed = 0;

  open_small(&s);
  outcome kernel = row(&s, "spmm from C, the kernel alone", call_kernel, check_y, 0);
  missed += kernel.missed;
  missed += row(&s, "spmm from C, plain call", call_plain, check_y, kernel.seconds + 0.2e-6).missed;
  missed += row(&s, "spmm from C, no tape", call_program, check_y, 2e-6).missed;
  missed += row(&s, "spmm from C, recorded", call_tape, check_tape, 0).missed;
  missed += row(&s, "spmm from C, with both gradients", call_gradient, check_gradient, 0).missed;
  close_small(&s);
  return missed;
}
