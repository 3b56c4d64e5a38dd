// SPDX-License-Identifier: Apache-2.0
/// @file groups.c
/// Maps for the cases of segment operators.

#include "support/groups.h"

#include "core/pattern/pattern_impl.h"
#include "support/scratch.h"

enum { MIXED_GROUPS = 4 };

#define KIND(c) ((group_kind)(c)->i[5])

int64_t group_count(const op_case *c) {
  const sketch *s = c->patterns[0];
  return KIND(c) == BY_ROW ? s->rows : KIND(c) == BY_COL ? s->cols : MIXED_GROUPS;
}

int64_t group_of(const op_case *c, int64_t e) {
  const sketch *s = c->patterns[0];
  return KIND(c) == BY_ROW ? s->row[e] : KIND(c) == BY_COL ? s->col[e] : e % MIXED_GROUPS - 1;
}

static lac_status mixed_map(const op_setup *setup, lac_map **out) {
  const op_case *c = setup->c;
  lac_buffer *target = NULL;
  lac_status status = lac_buffer_create(setup->ctx, lac_width_offsets(setup->width), c->patterns[0]->nnz, &target);
  for (int64_t e = 0; status == LAC_OK && e < c->patterns[0]->nnz; ++e) lac_buffer_set(target, e, group_of(c, e));
  if (status == LAC_OK) status = lac_map_adopt(setup->ctx, MIXED_GROUPS, &target, out);
  lac_object_release(target);
  return status;
}

lac_status group_map(const op_setup *setup, lac_array *const *in, const void **out) {
  (void)in;
  lac_map *map = NULL;
  lac_status status = KIND(setup->c) == BY_ROW   ? lac_pattern_row_map(setup->ctx, setup->patterns[0], &map)
                      : KIND(setup->c) == BY_COL ? lac_pattern_col_map(setup->ctx, setup->patterns[0], &map)
                                                 : mixed_map(setup, &map);
  *out = map;
  return status;
}

/// The numbers of a var.
static void read_var(lac_context *ctx, const lac_tape *tape, lac_var var, double *to) {
  if (to && lac_tape_value(tape, var)) {
    CHECK_OK(lac_array_read(ctx, lac_tape_value(tape, var), to));
  }
}

lac_status group_probe(lac_context *ctx, group_function *f, int64_t p, const int64_t *target, int64_t q, int64_t full,
                       const double *x, double *y, double *x_bar) {
  lac_map *map = NULL;
  lac_array *array = NULL;
  lac_tape *tape = NULL;
  CHECK_OK(lac_map_create(ctx, p, q, target, &map));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &p, (void *)x, LAC_OWNERSHIP_COPY, &array));
  CHECK_OK(lac_tape_create(ctx, LAC_TAPE_RECORD, &tape));
  lac_var in = lac_tape_leaf(tape, array), bar = {0};
  lac_var out = f(tape, map, in, full), sum = lac_sum(tape, out);
  lac_status status = lac_tape_status(tape);
  if (status == LAC_OK) {
    CHECK_OK(lac_tape_vjp(tape, 1, &sum, NULL, 1, &in, &bar, LAC_GRAPH_NONE));
    read_var(ctx, tape, out, y);
    read_var(ctx, tape, bar, x_bar);
  }
  lac_tape_destroy(&tape);
  lac_array_destroy(&array);
  lac_map_destroy(&map);
  return status;
}
