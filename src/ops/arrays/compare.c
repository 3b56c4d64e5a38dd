// SPDX-License-Identifier: Apache-2.0
/// @file compare.c
/// How two arrays compare, number by number.
///
///     forward   z = 1 where x and y stand in a relation, else 0       i[0]: lac_relation; all dimensions broadcast
///     vjp, jvp  nothing: z is constant wherever it is differentiable

#include "autodiff/rule.h"

enum { X, Y };
enum { Z };

_Static_assert((int)LAC_COMPARE_GE - LAC_COMPARE_EQ == (int)LAC_RELATION_GE,
               "the kernel's relations are in the same order");

static lac_status compare_infer(lac_call *c) {
  lac_context *ctx = c->ctx;
  lac_status status = LAC_OK;
  int64_t relation = c->attrs->i[0];

  LAC_CHECK(relation >= LAC_RELATION_EQ && relation <= LAC_RELATION_GE, LAC_ERR_ARG,
            "compare: the relation is LAC_RELATION_EQ, NE, LT, LE, GT or GE, not %lld", (long long)relation);
  LAC_CHECK(relation <= LAC_RELATION_NE || !lac_dtype_is_complex(c->in_meta[X].dtype), LAC_ERR_DTYPE,
            "compare: complex numbers have no order, and x is %s; take LAC_RELATION_EQ or LAC_RELATION_NE, or "
            "compare sizes (abs)",
            lac_dtype_name(c->in_meta[X].dtype));
  LAC_TRY(lac_call_match(c));
done:
  return status;
}

static lac_status compare_forward(lac_call *c) {
  lac_binary op = (lac_binary)(LAC_COMPARE_EQ + c->attrs->i[0]);
  return KERNELS(c)->binary(c->ctx, op, c->in[X], c->in[Y], c->out[Z]);
}

const lac_op lac_op_compare = {
    .name = "compare",
    .signature = "(),()->()",
    .parameters = "x: number, y: number, relation: eq|ne|lt|le|gt|ge",
    .about = "1 where x and y stand in the relation, else 0, in their dtype.",
    .order = LAC_ANY_ORDER,
    .infer = compare_infer,
    .forward = compare_forward,
    .vjp = lac_rule_nothing,
    .jvp = lac_rule_nothing,
};

lac_var lac_compare(lac_tape *tape, lac_var x, lac_var y, lac_relation relation) {
  return lac_emit(tape, &(lac_spec){.op = &lac_op_compare, .attrs.i = {relation}}, (lac_var[]){x, y});
}
