// SPDX-License-Identifier: Apache-2.0
/// @file probes.c
/// Random signs, for estimates of traces. Of x the dtype and the place are read, its numbers are not.
///
///     forward   z_ij  = 1 or -1     a function of the seed i[0], i and j alone: more columns leave the first ones as
///                                   they are; `like` is the shape of z, (.., rows, columns), the same in each of the
///                                   batch
///     vjp       x_bar = 0
///     jvp       z_dot = 0

#include "autodiff/rule.h"
#include "core/numbers/random.h"
#include "core/reals.h"

enum { X };
enum { Z };

static lac_status probes_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;

  LAC_CHECK(c->attrs->like.ndim >= 2, LAC_ERR_SHAPE, "probes: a shape of %d dimensions; it must be (rows, columns)",
            c->attrs->like.ndim);
  c->out_meta[Z] = c->attrs->like;
  c->out_meta[Z].dtype = c->in_meta[X].dtype;
done:
  return status;
}

/// The signs of column j are those of a seed of its own.
static void probes_fill(int64_t items, int64_t rows, int64_t columns, int64_t seed, double *z) {
  for (int64_t j = 0; j < columns; j++) {
    uint64_t mine = lac_random_bits((uint64_t)seed, (uint64_t)j);
    for (int64_t i = 0; i < items * rows; i++) z[i * columns + j] = lac_random_sign(mine, (uint64_t)(i % rows));
  }
}

static lac_status probes_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *like = &c->attrs->like;
  int64_t rows = like->shape[like->ndim - 2], columns = like->shape[like->ndim - 1], count = c->out[Z]->count;
  double *z = NULL;

  LAC_ALLOC(z, count);
  if (count > 0) probes_fill(count / columns / rows, rows, columns, c->attrs->i[0], z);
  LAC_TRY(lac_reals_write(ctx, c->out[Z], z));
done:
  lac_free(z);
  return status;
}

const lac_op lac_op_probes = {
    .name = "probes",
    .signature = "()->()",
    .parameters = "like: array, rows: size, count: size, seed: integer = 0",
    .about =
        "Signs at random in the dtype, and on the device, of the array `like`: the same for the same seed, and more "
        "columns leave the first ones as they are.",
    .order = LAC_ANY_ORDER,
    .infer = probes_infer,
    .forward = probes_forward,
    .vjp = lac_rule_nothing,
    .jvp = lac_rule_nothing,
};

lac_var lac_probes_like(lac_tape *tape, lac_var x, int64_t rows, int64_t count, int64_t seed) {
  lac_meta like = {.ndim = 2, .shape = {rows, count}};
  return lac_emit(tape, &(lac_spec){.op = &lac_op_probes, .attrs = {.i = {seed}, .like = like}}, &x);
}

lac_var lac_probes(lac_tape *tape, lac_dtype dtype, int64_t rows, int64_t count, int64_t seed) {
  return lac_probes_like(tape, lac_tape_scalar(tape, dtype, 0, 0), rows, count, seed);
}
