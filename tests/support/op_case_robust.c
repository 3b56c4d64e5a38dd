// SPDX-License-Identifier: Apache-2.0
/// @file op_case_robust.c
/// Failing allocations, wrong input, peaks of memory.

#include <stdio.h>
#include <stdlib.h>

#include "core/memory_impl.h"
#include "support/op_case_impl.h"
#include "support/scratch.h"

// -- memory ----------------------------------------------------------------------------------------------------------

/// Let the n-th allocation fail, then try again with what it left. False when there are fewer than n.
static bool fail_once(op_run *r, int64_t n, const op_first *want) {
  size_t mark = scratch_mark();
  long long before = check_live_blocks();
  op_setup setup;
  lac_status status = op_setup_open(r, &setup);
  op_expect(r, OP_MEMORY, status == LAC_OK, "patterns: %s", lac_context_error(r->ctx));

  lac_context_clear_error(r->ctx);
  lac_memory_fail_at(n);
  op_first failing = op_differentiate(r, &setup, &r->point, op_all_inputs(r), ASK_ALL);
  bool is_reached = lac_memory_fail_at(0) >= n;
  if (is_reached) {
    op_expect(r, OP_MEMORY, failing.status == LAC_ERR_MEMORY, "allocation %lld fails and gives %s", (long long)n,
              lac_status_name(failing.status));
    op_expect(r, OP_MEMORY, lac_context_error(r->ctx)[0] != '\0', "allocation %lld fails without a sentence",
              (long long)n);
    op_first after = op_differentiate(r, &setup, &r->point, op_all_inputs(r), ASK_ALL);
    op_expect(r, OP_MEMORY, after.status == LAC_OK, "after allocation %lld failed: %s", (long long)n,
              lac_context_error(r->ctx));
    for (int i = 0; i < r->ins && after.status == LAC_OK; ++i) {
      op_expect_bits(r, OP_MEMORY, &after.in_bar[i], &want->in_bar[i], "after a failed allocation gradient", i);
    }
  }
  op_setup_close(&setup);
  long long left = check_live_blocks() - before;
  op_expect(r, OP_MEMORY, left == 0, "%lld blocks are left after allocation %lld of forward, vjp and jvp failed", left,
            (long long)n);
  scratch_release(mark);
  return is_reached;
}

void op_check_memory(op_run *r) {
  enum { FEW = 5 };
  op_first want = op_differentiate(r, &r->setup, &r->point, op_all_inputs(r), ASK_ALL);
  uint32_t failed = r->failed;
  r->failed = 0;
  int faults = 0;
  for (int64_t n = 1; fail_once(r, n, &want) && faults < FEW; n = check_next_failure(r->ctx, n)) {
    faults += r->failed != 0;
    failed |= r->failed;
    r->failed = 0;
  }
  r->failed |= failed;
}

// -- input -----------------------------------------------------------------------------------------------------------

/// Apply the operator to arrays with these metas; with `absent` the input of that number is.
static void expect_refusal(op_run *r, const op_setup *setup, const lac_meta *metas, int absent, const char *what) {
  long long before = check_live_blocks();
  lac_context *ctx = r->ctx;
  lac_tape *tape = NULL;
  lac_var in[OP_MAX_IN] = {{0}}, out[OP_MAX_OUT] = {{0}};

  lac_context_clear_error(ctx);
  lac_status status = lac_tape_create(ctx, LAC_TAPE_RECORD, &tape);
  for (int i = 0; i < r->ins && status == LAC_OK; ++i) {
    lac_array *array = NULL;
    if (i == absent) continue;
    status = lac_array_create(ctx, metas[i].dtype, metas[i].ndim, metas[i].shape, &array);
    if (status == LAC_OK) status = lac_array_fill(ctx, array, 1, 0);
    if (status == LAC_OK) in[i] = lac_tape_leaf(tape, array);
    lac_array_destroy(&array);
  }
  op_expect(r, OP_INPUT, status == LAC_OK, "%s: %s", what, lac_context_error(ctx));
  if (status == LAC_OK) setup->c->apply(tape, setup, in, out);
  status = lac_tape_status(tape);
  op_expect(r, OP_INPUT, status != LAC_OK && !out[0].id, "%s is not refused", what);
  op_expect(r, OP_INPUT, lac_context_error(ctx)[0] != '\0', "%s is refused without a sentence", what);
  lac_tape_destroy(&tape);
  op_expect(r, OP_INPUT, check_live_blocks() == before, "%s leaves blocks behind", what);
}

static void refuse_one_input(op_run *r, const op_setup *setup, const lac_meta *good, int i) {
  char what[64];
  lac_meta metas[OP_MAX_IN];

  for (int j = 0; j < r->ins; ++j) metas[j] = good[j];
  for (int d = 0; d < good[i].ndim; ++d) {
    if (!(r->c->fixed[i] >> d & 1)) continue;
    metas[i].shape[good[i].ndim - 1 - d] += 2;
    (void)snprintf(what, sizeof what, "axis %d of input %d, 2 longer", good[i].ndim - 1 - d, i);
    expect_refusal(r, setup, metas, -1, what);
    metas[i] = good[i];
  }
  if (r->c->fixed[i]) {
    metas[i].ndim = 0;
    (void)snprintf(what, sizeof what, "input %d without axes", i);
    expect_refusal(r, setup, metas, -1, what);
    metas[i] = good[i];
  }
  if (r->ins > 1) {
    metas[i].dtype = good[i].dtype == LAC_F64 ? LAC_C128 : LAC_F64;
    (void)snprintf(what, sizeof what, "another dtype of input %d", i);
    expect_refusal(r, setup, metas, -1, what);
    metas[i] = good[i];
  }
  if (r->c->takes_absent) return;
  (void)snprintf(what, sizeof what, "an absent input %d", i);
  expect_refusal(r, setup, metas, i, what);
}

void op_check_input(op_run *r) {
  lac_meta metas[OP_MAX_IN];
  op_stage s;
  op_stage_open(r, &r->setup, &r->point, 0, &s);  // for its object
  for (int i = 0; i < r->ins; ++i) metas[i] = r->point.in[i].meta;
  for (int i = 0; i < r->ins; ++i) refuse_one_input(r, &s.setup, metas, i);
  for (int p = 0; p < LAC_MAX_PATTERNS && r->c->patterns[p] && !r->c->object; ++p) {
    op_setup without = s.setup;
    without.patterns[p] = NULL;
    expect_refusal(r, &without, metas, -1, "a missing pattern");
  }
  if (r->c->object) {
    op_setup without = s.setup;
    without.object = NULL;
    expect_refusal(r, &without, metas, -1, "a missing object");
  }
  op_stage_close(&s);
  lac_context_clear_error(r->ctx);
}

// -- peaks -----------------------------------------------------------------------------------------------------------

static void expect_peak(const op_run *r, int64_t before, int64_t stated, const char *what) {
  enum { HEADS = 16384 };
  int64_t peak = memory_now(lac_context_backend(r->ctx)).peak_bytes - before;
  if (peak >= stated && peak <= stated + HEADS) return;
  check_fail(__FILE__, __LINE__, "%s: the %s takes %lld bytes at its peak, stated are %lld", r->c->op, what,
             (long long)peak, (long long)stated);
}

/// One pass over the inputs and the object of a stage, on a tape of its own.
static void measure_pass(op_run *r, op_stage *s, bool is_measured, int64_t forward, int64_t gradient) {
  const char *backend = lac_context_backend(s->ctx);
  lac_context *ctx = s->ctx;
  lac_var seed = {0}, bar[OP_MAX_IN];

  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &s->tape));
  for (int i = 0; i < r->ins; ++i) s->x[i] = lac_tape_leaf(s->tape, s->in[i]);
  seed = op_stage_put(s, &r->point.y_bar[0], false);
  lac_memory_reset_peak(backend);
  int64_t before = memory_now(backend).live_bytes;
  r->c->apply(s->tape, &s->setup, s->x, s->y);
  CHECK_OK(lac_tape_status(s->tape));
  if (is_measured) expect_peak(r, before, forward, "forward");
  CHECK_OK(lac_tape_vjp(s->tape, 1, s->y, &seed, r->ins, s->x, bar, LAC_GRAPH_NONE));
  if (is_measured) expect_peak(r, before, gradient, "gradient");
  lac_tape_destroy(&s->tape);
}

/// The second of two passes finds everything that patterns and the object keep, also on a device, and is measured.
static void measure(op_run *r, lac_context *ctx, int64_t forward, int64_t gradient) {
  op_stage s = {.run = r, .setup = r->setup, .ctx = ctx};

  for (int i = 0; i < r->ins; ++i) CHECK_OK(ref_upload(ctx, &r->point.in[i], &s.in[i]));
  if (r->c->object) CHECK_OK(r->c->object(&s.setup, s.in, &s.setup.object));
  measure_pass(r, &s, false, forward, gradient);
  measure_pass(r, &s, true, forward, gradient);
  op_stage_close(&s);
}

void check_op_peak(lac_context *ctx, const op_case *c, lac_dtype dtype, int64_t forward, int64_t gradient) {
  size_t mark = scratch_mark();
  op_run r = {.c = c, .ctx = ctx, .outs = 1, .is_complex = dtype >= LAC_C64};
  while (r.ins < OP_MAX_IN && c->shapes[r.ins]) ++r.ins;
  r.setup = (op_setup){.c = c, .ctx = ctx, .dtype = dtype, .width = LAC_WIDTH_32_32};
  op_point_draw(&r, &r.point);
  CHECK_OK(op_setup_open(&r, &r.setup));
  measure(&r, ctx, forward, gradient);
  op_setup_close(&r.setup);
  scratch_release(mark);
}
