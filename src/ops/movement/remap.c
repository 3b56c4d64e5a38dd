// SPDX-License-Identifier: Apache-2.0
/// @file remap.c
/// Values moved along a frozen map between entries: every change of structure is this.
///
///     forward   y_j   = sum of x_i over the sources i of j     (N)      y_i = x_target(i)   (T)     i[0]: form
///     vjp       x_bar = remap(map, flip, y_bar)
///     jvp       y_dot = remap(map, form, x_dot)
///
/// The object is the map. Maps hold ones, so conjugation does not touch them and T is all that N flips to. Entries are
/// numbers, or blocks of numbers that travel together: i[1] says how many axes behind the entries' axis these have.
/// With rows of a matrix as entries this is gather (T) and scatter_add (N).

#include "autodiff/rule.h"

enum { X };
enum { Y };

#define REST(r) ((int)(r)->attrs->i[1])

/// The meta of y but for its size: entries spread over ranks as the map says, other axes as they were.
static lac_status remap_infer_partition(lac_call *c, int axis, const lac_partition *from, const lac_partition *to) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_meta *x = &c->in_meta[X];
  const lac_partition *have = x->partition && x->partition_axis == axis ? x->partition : NULL;

  LAC_CHECK(have == from, LAC_ERR_SHAPE, "remap: dimension %d of x is %s where the map's entries are %s", axis,
            have ? "spread over ranks" : "replicated",
            from ? "spread over ranks by their own partition" : "replicated");
  c->out_meta[Y] = *x;
  if (from) c->out_meta[Y].partition = NULL, c->out_meta[Y].partition_axis = 0;
  if (to) c->out_meta[Y].partition = to, c->out_meta[Y].partition_axis = axis;
done:
  return status;
}

static lac_status remap_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  const lac_map *map = c->object;
  const lac_meta *x = &c->in_meta[X];
  bool forth = FORM(c) == LAC_PLAIN;
  int axis = REST(c) >= 0 && REST(c) < x->ndim ? x->ndim - 1 - REST(c) : -1;
  char text[LAC_SHAPE_TEXT];

  LAC_CHECK(map && map->object.kind == &lac_map_kind, LAC_ERR_ARG, "remap: the object must be a map (lac_map_create)");
  LAC_CHECK(FORM(c) == LAC_PLAIN || FORM(c) == LAC_TRANSPOSED, LAC_ERR_ARG,
            "remap: op is LAC_PLAIN or LAC_TRANSPOSED, not %d", (int)FORM(c));
  LAC_CHECK(REST(c) >= 0, LAC_ERR_SHAPE, "remap: blocks of %d axes; give 0 or more", REST(c));
  LAC_CHECK(axis >= 0, LAC_ERR_SHAPE,
            "remap: x has shape %s; entries that are blocks of %d axes need at least %lld dimensions",
            lac_shape_text(x->ndim, x->shape, text), REST(c), (long long)REST(c) + 1);
  LAC_CHECK(x->shape[axis] == (forth ? map->inputs : map->outputs), LAC_ERR_SHAPE,
            "remap: x has shape %s; its dimension %d must be %lld, as many as the map %s",
            lac_shape_text(x->ndim, x->shape, text), axis, (long long)(forth ? map->inputs : map->outputs),
            forth ? "takes" : "gives");
  LAC_TRY(remap_infer_partition(c, axis, forth ? map->input_partition : map->output_partition,
                                forth ? map->output_partition : map->input_partition));
  c->out_meta[Y].shape[axis] = forth ? map->outputs : map->inputs;
done:
  return status;
}

static lac_status remap_forward(lac_call *c) {
  return KERNELS(c)->remap(c->ctx, c->object, FORM(c), REST(c), c->in[X], c->out[Y]);
}

static void remap_vjp(lac_rule *r) {
  r->in_bar[X] =
      lac_remap_blocks(r->tape, r->object, r->out_bar[Y], FORM(r) == LAC_PLAIN ? LAC_TRANSPOSED : LAC_PLAIN, REST(r));
}

static void remap_jvp(lac_rule *r) {
  r->out_dot[Y] = lac_remap_blocks(r->tape, r->object, r->in_dot[X], FORM(r), REST(r));
}

const lac_op lac_op_remap = {
    .name = "remap",
    .signature = "(p)->(q)",
    .parameters = "map: map, x: array, op: form = N, axes: integer = 0",
    .about = "y = M x or, with op \"T\", M^T x on the last axis; `axes` more stand behind each entry.",
    .flags = LAC_OP_CARRIES_AXES,
    .order = LAC_ANY_ORDER,
    .infer = remap_infer,
    .forward = remap_forward,
    .vjp = remap_vjp,
    .jvp = remap_jvp,
};

lac_var lac_remap_blocks(lac_tape *tape, const lac_map *map, lac_var x, lac_form op, int axes) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_remap, .object = map, .attrs.i = {op, axes}}, &x);
}

lac_var lac_remap(lac_tape *tape, const lac_map *map, lac_var x, lac_form op) {
  return lac_remap_blocks(tape, map, x, op, 0);
}

lac_var lac_gather(lac_tape *tape, const lac_map *map, lac_var x) {
  return lac_remap_blocks(tape, map, x, LAC_TRANSPOSED, 1);
}

lac_var lac_scatter_add(lac_tape *tape, const lac_map *map, lac_var x) {
  return lac_remap_blocks(tape, map, x, LAC_PLAIN, 1);
}
