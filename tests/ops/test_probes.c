// SPDX-License-Identifier: Apache-2.0
/// The operator probes: signs that depend on seed, row and column alone; its derivatives are zero.

#include "support/op_case.h"

/// splitmix64, twice, as its authors write it: the numbers of a seed may not change between versions.
static uint64_t finish(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static uint64_t bits(uint64_t seed, uint64_t i) {
  const uint64_t golden = 0x9e3779b97f4a7c15u;
  return finish(finish(seed + golden) + i * golden);
}

static void probes_apply(lac_tape *tape, const op_setup *setup, const lac_var *in, lac_var *out) {
  const int64_t *i = setup->c->i;
  out[0] = lac_probes_like(tape, in[0], i[0], i[1], i[2]);
}

static void probes_dense(const op_case *c, const ref *in, ref *out) {
  (void)in;
  for (int64_t i = 0; i < c->i[0]; ++i) {
    for (int64_t j = 0; j < c->i[1]; ++j) {
      out[0].x[i * c->i[1] + j] = bits(bits((uint64_t)c->i[2], (uint64_t)j), (uint64_t)i) >> 63 ? 1 : -1;
    }
  }
}

static void check_probes(lac_context *ctx, const char *shape, int64_t rows, int64_t count, int64_t seed) {
  check_op(ctx, &(op_case){.op = "probes",
                           .shapes = {shape},
                           .result = {op_text("%lld,%lld", (long long)rows, (long long)count)},
                           .i = {rows, count, seed},
                           .apply = probes_apply,
                           .dense = probes_dense});
}

static void probes_are_signs_of_their_places(lac_context *ctx) {
  check_probes(ctx, "4", 5, 3, 7);
  check_probes(ctx, "", 2, 6, -1);
}

static void probes_take_empty_arrays(lac_context *ctx) {
  check_probes(ctx, "0", 3, 2, 0);
  check_probes(ctx, "3", 0, 2, 0);
  check_probes(ctx, "3", 2, 0, 0);
}

static void probes_refuse_what_is_no_size(lac_context *ctx) {
  lac_tape *tape = NULL;
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  CHECK(!lac_probes(tape, LAC_F64, 3, -1, 0).id);
  CHECK_FAILS(lac_tape_status(tape), LAC_ERR_SHAPE, "probes");
  lac_tape_destroy(&tape);
}

CHECK_MAIN(probes_are_signs_of_their_places, probes_take_empty_arrays, probes_refuse_what_is_no_size)
