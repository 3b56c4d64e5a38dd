// SPDX-License-Identifier: Apache-2.0
/// LU with old pivots by several threads, which wait for each other's columns: the same bits, findings and failures on
/// any number of them.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solvers/direct/pivoting/pivoting_lu.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
enum { SIDE = 64, THREADS = 4, ROUNDS = 8 };

/// A factor, and what it takes to make another one of other values with its pivots.
typedef struct old {
  direct_system system;
  lac_factor *factor;
  lac_direct_job job;
} old;

static old open(lac_context *ctx, const direct_case *c) {
  old o = {0};
  lac_solver_options options = lac_solver_options_defaults();
  options.method = "column_lu";
  o.system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  CHECK_OK(lac_solver_factor(ctx, o.system.solver, o.system.values, &o.factor));
  o.job = (lac_direct_job){.structure = lac_direct_structure(o.factor),
                           .part = direct_part(o.factor)->analysis->part,
                           .options = &o.factor->core->options,
                           .dtype = c->a.meta.dtype,
                           .like = direct_part(o.factor)->numerics[0]};
  return o;
}

static void close(old *o) {
  lac_factor_destroy(&o->factor);
  direct_close(&o->system);
}

static lac_status again(const old *o, const void *values, int threads, pivoting_numeric **out, lac_fault *fault) {
  lac_direct_job job = o->job;
  void *numeric = NULL;
  job.values = values, job.threads = threads;
  lac_status status = lac_direct_column_lu.factor(&job, &numeric, fault);
  *out = numeric;
  return status;
}

static void check_same(const pivoting_numeric *f, const pivoting_numeric *g) {
  size_t size = lac_dtype_size(f->dtype);
  CHECK(memcmp(f->l, g->l, (size_t)f->shape->l.count * size) == 0);
  CHECK(memcmp(f->u, g->u, (size_t)f->shape->u.count * size) == 0);
  CHECK(memcmp(f->diagonal, g->diagonal, (size_t)f->n * size) == 0);
  CHECK(f->smallest == g->smallest && f->where == g->where && f->growth == g->growth && f->weakest == g->weakest);
}

static void bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  size_t mark = scratch_mark();
  for (int d = 0; d < 4; d++) {
    direct_case c = direct_convection(SIDE, 0.5, DTYPES[d]);
    old o = open(ctx, &c);
    const void *values = lac_array_data(o.system.values);
    pivoting_numeric *alone = NULL, *together = NULL;
    lac_fault fault = {0};
    CHECK_OK(again(&o, values, 1, &alone, &fault));
    CHECK(alone->shape->flops > 2e6);  // enough for threads
    for (int round = 0; round < ROUNDS; round++) {
      CHECK_OK(again(&o, values, 2 + round % (THREADS - 1), &together, &fault));
      check_same(alone, together);
      pivoting_destroy(together);
    }
    pivoting_destroy(alone);
    close(&o);
  }
  scratch_release(mark);
}

/// Two columns that read no other one have pivots of zero: the one that is eliminated first is named.
static void the_first_column_that_fails_is_named(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = direct_convection(SIDE, 0.5, LAC_F64);
  old o = open(ctx, &c);
  const pivoting_analysis *a = o.job.part;
  const pivoting_shape *shape = ((const pivoting_numeric *)o.job.like)->shape;
  double *values = scratch((size_t)c.s->nnz * sizeof *values);
  int32_t first = -1, count = 0;
  memcpy(values, lac_array_data(o.system.values), (size_t)c.s->nnz * sizeof *values);
  for (int32_t k = a->n - 1; k >= a->n / 3; k--) {
    if (shape->u.offsets[k] < shape->u.offsets[k + 1]) continue;
    for (int64_t z = 0; z < c.s->nnz; z++) {
      if (c.s->row[z] == a->order[k] && c.s->col[z] == a->order[k]) values[z] = 0;
    }
    first = k, count++;
  }
  CHECK(count > 2);
  for (int round = 0; round < ROUNDS; round++) {
    pivoting_numeric *none = NULL;
    lac_fault fault = {0};
    char named[64];
    CHECK_EQ(again(&o, values, 1 + round % THREADS, &none, &fault), LAC_ERR_CONVERGENCE);
    snprintf(named, sizeof named, "the old pivot of column %d ", a->order[first]);
    CHECK(!none && strstr(fault.text, named));
  }
  close(&o);
  scratch_release(mark);
}

/// Rounded, the second is below the product of the first and what is around it, and not below it as a share.
static void what_pivots_show_does_not_depend_on_their_order(lac_context *ctx) {
  pivoting_numeric forth = {.smallest = 1, .where = -1, .weakest = 1}, back = forth;
  const double size[] = {0x1.c7fc6bf690df2p-1, 0x1.17a73b63f24dfp+0}, around[] = {1, 0x1.3a019a09a7608p+0};
  (void)ctx;
  for (int k = 0; k < 2; k++) {
    pivoting_note(&forth, k, size[k], around[k], 0);
    pivoting_note(&back, 1 - k, size[1 - k], 0, around[1 - k]);
  }
  CHECK(forth.weakest == back.weakest && forth.weakest == fmin(size[0], size[1] / around[1]));
  CHECK(forth.smallest == back.smallest && forth.where == 0 && back.where == 0);
}

CHECK_MAIN_OF("direct", bits_do_not_depend_on_the_number_of_threads, the_first_column_that_fails_is_named,
              what_pivots_show_does_not_depend_on_their_order)
