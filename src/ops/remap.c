// SPDX-License-Identifier: Apache-2.0
/// @file remap.c
/// Values moved along a frozen map between entries: every change of structure is this.
///
///     forward   y_j   = sum of x_i over the sources i of j     (N)      x_i = y_target(i)   (T)
///     vjp       x_bar = remap(map, flip, y_bar)
///     jvp       y_dot = remap(map, side, x_dot)
///
/// The object is the map. Maps hold ones, so conjugation does not touch them and T is all that N flips to.

#include "autodiff/rule.h"

enum { X };
enum { Y };

static lac_status remap_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_map *map = c->object;

  LAC_CHECK(map && map->object.kind == &lac_map_kind, LAC_ERR_ARG, "remap: the object must be a map (lac_map_create)");
  LAC_CHECK(SIDE(c) == LAC_N || SIDE(c) == LAC_T, LAC_ERR_ARG, "remap: the side is LAC_N or LAC_T, not %d",
            (int)SIDE(c));
  LAC_TRY(lac_call_bind(c, SIDE(c) == LAC_N ? 'p' : 'q', map->inputs, map->input_partition));
  LAC_TRY(lac_call_bind(c, SIDE(c) == LAC_N ? 'q' : 'p', map->outputs, map->output_partition));
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status remap_forward(lac_call *c) {
  return KERNELS(c)->remap(c->ctx, c->object, SIDE(c), c->in[X], c->out[Y]);
}

static void remap_vjp(lac_rule *r) {
  r->in_bar[X] = lac_remap(r->tape, r->object, SIDE(r) == LAC_N ? LAC_T : LAC_N, r->out_bar[Y]);
}

static void remap_jvp(lac_rule *r) { r->out_dot[Y] = lac_remap(r->tape, r->object, SIDE(r), r->in_dot[X]); }

const lac_op lac_op_remap = {
    .name = "remap",
    .signature = "(p)->(q)",
    .order = LAC_ANY_ORDER,
    .infer = remap_infer,
    .forward = remap_forward,
    .vjp = remap_vjp,
    .jvp = remap_jvp,
};

lac_var lac_remap(lac_tape *tape, const lac_map *map, lac_side side, lac_var x) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_remap, .object = map, .attrs.i = {side}}, &x);
}

/// A value on the way to a larger pattern; the identity costs nothing.
static lac_var remap_unless_identity(lac_tape *tape, const lac_map *map, lac_var x) {
  return lac_map_is_identity(map) ? x : lac_remap(tape, map, LAC_N, x);
}

/// A + B = remap(A) + remap(B) on the union: derivatives come from the parts.
lac_var lac_spadd(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                  lac_pattern **out) {
  lac_context *ctx = lac_tape_context(tape);
  lac_status status = LAC_OK;
  lac_pattern *both = NULL;
  lac_map *from_a = NULL, *from_b = NULL;
  lac_var sum = {0};

  LAC_TRY(lac_tape_status(tape));
  LAC_TRY(lac_pattern_union(ctx, pa, pb, &both, &from_a, &from_b));
  sum = lac_add(tape, remap_unless_identity(tape, from_a, a), remap_unless_identity(tape, from_b, b));
  LAC_TRY(lac_tape_status(tape));
  if (out) *out = both, both = NULL;
done:
  lac_map_destroy(&from_a);
  lac_map_destroy(&from_b);
  lac_pattern_destroy(&both);
  return status == LAC_OK ? sum : lac_tape_fail(tape, status);
}
