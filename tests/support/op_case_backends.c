// SPDX-License-Identifier: Apache-2.0
/// @file op_case_backends.c
/// The same bits on any number of threads and in any run; every backend agrees with the CPU.

#include "support/op_case_impl.h"

static void expect_same(op_run *r, const op_first *got, const op_first *want) {
  op_expect(r, OP_THREADS, got->status == LAC_OK && want->status == LAC_OK, "a run again: %s",
            lac_context_error(r->ctx));
  if (got->status != LAC_OK || want->status != LAC_OK) return;
  for (int o = 0; o < r->outs; ++o) op_expect_bits(r, OP_THREADS, &got->y[o], &want->y[o], "output", o);
  for (int i = 0; i < r->ins; ++i) op_expect_bits(r, OP_THREADS, &got->in_bar[i], &want->in_bar[i], "gradient", i);
  for (int o = 0; o < r->outs; ++o) op_expect_bits(r, OP_THREADS, &got->y_dot[o], &want->y_dot[o], "tangent", o);
}

/// 1 thread, 2 threads, 2 again; a device, which knows no threads, runs twice.
void op_check_threads(op_run *r) {
  int keep = lac_context_threads(r->ctx), times = op_is_on_device(r) ? 2 : 3;
  op_first first = {0};
  for (int t = 0; t < times && !r->is_stopped; ++t) {
    if (lac_context_set_threads(r->ctx, t ? 2 : 1) != LAC_OK) break;
    op_first run = op_differentiate(r, &r->setup, &r->point, op_all_inputs(r), ASK_ALL);
    if (t) expect_same(r, &run, &first);
    if (!t && op_succeeded(r, OP_THREADS, run.status, "first derivatives on one thread")) first = run;
  }
  (void)lac_context_set_threads(r->ctx, keep);
}

void op_check_other_backend(op_run *r) {
  lac_context *cpu = NULL;
  op_setup setup = r->setup;
  if (lac_context_create("cpu", 0, &cpu) != LAC_OK) return;
  setup.ctx = cpu;
  op_first got = op_differentiate(r, &r->setup, &r->point, op_all_inputs(r), ASK_ALL);
  op_first want = op_differentiate(r, &setup, &r->point, op_all_inputs(r), ASK_ALL);
  op_expect(r, OP_THREADS, got.status == LAC_OK && want.status == LAC_OK, "beside the CPU: %s",
            lac_context_error(r->ctx));
  for (int o = 0; o < r->outs && got.status == LAC_OK && want.status == LAC_OK; ++o) {
    op_expect_close(r, OP_THREADS, &got.y[o], &want.y[o], op_tolerance(r, 256), "output %d beside the CPU", o);
    op_expect_close(r, OP_THREADS, &got.y_dot[o], &want.y_dot[o], op_tolerance(r, 256), "tangent %d beside the CPU", o);
  }
  for (int i = 0; i < r->ins && got.status == LAC_OK && want.status == LAC_OK; ++i) {
    op_expect_close(r, OP_THREADS, &got.in_bar[i], &want.in_bar[i], op_tolerance(r, 256), "gradient %d beside the CPU",
                    i);
  }
  lac_context_destroy(&cpu);
}
