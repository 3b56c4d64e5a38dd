// SPDX-License-Identifier: Apache-2.0
/// @file banded_outer.c
/// The band of an outer product: what sddmm is to a pattern.
///
///     forward   s[upper + i - j, j] = sum_k u[i, k] conj(v[j, k])     zero in the corners; i[1], i[2]: lower, upper
///     vjp       u_bar = S_bar v,   v_bar = S_bar^H u                  by banded_mm
///     jvp       s_dot = banded_outer(u_dot, v) + banded_outer(u, v_dot)

#include "ops/structured/banded.h"

enum { U, V };
enum { S };

#define LOWER(r) ((r)->attrs->i[1])
#define UPPER(r) ((r)->attrs->i[2])

static int64_t banded_outer_rows(const lac_meta *u) { return u->shape[u->ndim - 2]; }

static lac_status banded_outer_forward(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  lac_banded band = {.lower = LOWER(c),
                     .upper = UPPER(c),
                     .rows = banded_outer_rows(&c->in_meta[U]),
                     .cols = banded_outer_rows(&c->in_meta[V])};

  LAC_TRY(lac_call_needs_kernel(c, KERNELS(c)->banded_outer));
  LAC_TRY(KERNELS(c)->banded_outer(ctx, &band, c->in[U], c->in[V], c->out[S]));
done:
  return status;
}

static void banded_outer_vjp(lac_rule *r) {
  int64_t rows = banded_outer_rows(&r->in_meta[U]);
  lac_var s_bar = r->out_bar[S];

  if (r->wants[U]) r->in_bar[U] = lac_banded_mm(r->tape, LOWER(r), UPPER(r), s_bar, r->in[V], rows, LAC_PLAIN);
  if (r->wants[V]) r->in_bar[V] = lac_banded_mm(r->tape, LOWER(r), UPPER(r), s_bar, r->in[U], rows, LAC_ADJOINT);
}

static void banded_outer_jvp(lac_rule *r) {
  r->out_dot[S] = lac_add(r->tape, lac_banded_outer(r->tape, LOWER(r), UPPER(r), r->in_dot[U], r->in[V]),
                          lac_banded_outer(r->tape, LOWER(r), UPPER(r), r->in[U], r->in_dot[V]));
}

const lac_op lac_op_banded_outer = {
    .name = "banded_outer",
    .signature = "(m,k),(n,k)->(w,n)",
    .binds = "bands 1: w",
    .parameters = "lower_and_upper: bands @1, u: column, v: column",
    .about = "The band of u v^H: u (rows, k), v (cols, k), or vectors.",
    .order = LAC_ANY_ORDER,
    .flags = LAC_OP_SUMS_BATCH | LAC_OP_WHOLE,
    .vjp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .jvp_needs = NEEDS_IN(U) | NEEDS_IN(V),
    .forward = banded_outer_forward,
    .vjp = banded_outer_vjp,
    .jvp = banded_outer_jvp,
};

lac_var lac_banded_outer(lac_tape *tape, int64_t lower, int64_t upper, lac_var u, lac_var v) {
  lac_spec spec = {.op = &lac_op_banded_outer, .attrs.i = {0, lower, upper}};
  return lac_emit(tape, &spec, (lac_var[]){u, v});
}
