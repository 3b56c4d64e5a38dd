// SPDX-License-Identifier: Apache-2.0
/// LU with old pivots by several threads, which wait for each other's columns: the same bits, findings and failures on
/// any number of them, and no more threads than find room and work.

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "core/test_hooks.h"
#include "solvers/direct/pivoting/pivoting_lu.h"
#include "support/check.h"
#include "support/direct_case.h"
#include "support/scratch.h"

static const lac_dtype DTYPES[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};
enum { SIDE = 64, COPIES = 4, COPY_SIDE = 40, CHAIN = 1500, THREADS = 4 };

/// A factor, and what it takes to make another one of other values with its pivots.
typedef struct old {
  direct_system system;
  lac_factor *factor;
  lac_direct_job job;
} old;

static old old_open(lac_context *ctx, const direct_case *c, lac_ordering ordering) {
  old o = {0};
  lac_solver_options options = lac_solver_options_defaults();
  pivoting_team_share = 1 << 19;
  options.method = "column_lu", options.ordering = ordering;
  options.keep_bytes = -1;  // values that were factored before are factored again
  o.system = direct_open(ctx, c, LAC_WIDTH_AUTO, &options);
  CHECK_OK(lac_solver_factor(ctx, o.system.solver, o.system.values, &o.factor));
  o.job = (lac_direct_job){.structure = lac_direct_structure(o.factor),
                           .part = direct_part(o.factor)->analysis->part,
                           .options = &o.factor->core->options,
                           .dtype = c->a.meta.dtype,
                           .values = lac_array_data(o.system.values),
                           .like = direct_part(o.factor)->numerics[0]};
  return o;
}

static void old_close(old *o) {
  lac_factor_destroy(&o->factor);
  direct_close(&o->system);
}

static const pivoting_numeric *old_numeric(const old *o) { return o->job.like; }

static lac_status again(const old *o, int threads, pivoting_numeric **out, lac_fault *fault) {
  lac_direct_job job = o->job;
  void *numeric = NULL;
  job.threads = threads;
  lac_status status = lac_direct_column_lu.factor(&job, &numeric, fault);
  *out = numeric;
  return status;
}

/// Where a search would find the pivots too.
static lac_status chosen(const old *o, int threads, pivoting_numeric **out, lac_fault *fault) {
  lac_direct_job job = o->job;
  void *numeric = NULL;
  job.threads = threads, job.like = NULL;
  atomic_store(&old_numeric(o)->shape->is_usual, true);
  lac_status status = pivoting_factor_chosen(&job, old_numeric(o)->shape, &numeric, fault);
  *out = numeric;
  return status;
}

typedef lac_status way(const old *, int, pivoting_numeric **, lac_fault *);

static void check_same(const pivoting_numeric *f, const pivoting_numeric *g) {
  size_t size = lac_dtype_size(f->dtype);
  CHECK(f->shape == g->shape);
  CHECK(memcmp(f->l, g->l, (size_t)f->shape->l.count * size) == 0);
  CHECK(memcmp(f->u, g->u, (size_t)f->shape->u.count * size) == 0);
  CHECK(memcmp(f->below, g->below, (size_t)f->shape->below.count * size) == 0);
  CHECK(memcmp(f->diagonal, g->diagonal, (size_t)f->n * size) == 0);
  CHECK(memcmp(f->inverse, g->inverse, (size_t)f->n * size) == 0);
  CHECK(f->smallest == g->smallest && f->where == g->where && f->growth == g->growth && f->weakest == g->weakest);
  CHECK(f->apart == g->apart && f->is_rough == g->is_rough);
}

/// The blocks of memory that a factor takes. Several threads share one, and each that helps has one of its own.
static int64_t blocks_of(const old *o, way *make, int threads) {
  pivoting_numeric *f = NULL;
  lac_fault fault = {0};
  int64_t before = memory_now("cpu").allocations;
  lac_status status = make(o, threads, &f, &fault);
  int64_t taken = memory_now("cpu").allocations - before;
  pivoting_destroy(f);
  return status == LAC_OK ? taken : -1;
}

// -- the same on any number of threads -------------------------------------------------------------------------------

/// Copies of a matrix on the diagonal; where they are coupled, with entries below each.
static direct_case copies_of(const direct_case *one, bool is_coupled) {
  int64_t n = one->s->rows, most = COPIES * (one->s->nnz + n), z = 0;
  sketch *s = scratch(sizeof *s);
  *s = (sketch){COPIES * n, COPIES * n, 0, scratch((size_t)most * 8), scratch((size_t)most * 8)};
  number *x = scratch((size_t)most * sizeof *x);
  for (int64_t row = 0; row < COPIES * n; row++, z %= one->s->nnz) {
    if (is_coupled && row >= n) s->row[s->nnz] = row, s->col[s->nnz] = row - n, x[s->nnz++] = 0.5;
    for (; z < one->s->nnz && one->s->row[z] == row % n; z++) {
      s->row[s->nnz] = row, s->col[s->nnz] = row - row % n + one->s->col[z], x[s->nnz++] = one->a.x[z];
    }
  }
  direct_case c = {s, ref_new(&(lac_meta){.dtype = one->a.meta.dtype, .ndim = 1, .shape = {s->nnz}})};
  memcpy(c.a.x, x, (size_t)s->nnz * sizeof *x);
  return c;
}

/// Returns how many threads helped, in all.
static int64_t check_threads(const old *o, way *make) {
  pivoting_numeric *alone = NULL, *together = NULL;
  lac_fault fault = {0};
  int64_t helpers = 0, blocks = blocks_of(o, make, 1);
  CHECK_EQ(make(o, 1, &alone, &fault), LAC_OK);
  CHECK(alone->shape->flops >= 1 << 20);  // enough for two threads
  for (int threads = 2; threads <= THREADS; threads++) {
    CHECK_EQ(make(o, threads, &together, &fault), LAC_OK);
    check_same(alone, together);
    pivoting_destroy(together);
    helpers += blocks_of(o, make, threads) - blocks - 1;
  }
  pivoting_destroy(alone);
  return helpers;
}

static void bits_do_not_depend_on_the_number_of_threads(lac_context *ctx) {
  size_t mark = scratch_mark();
  int64_t helpers = 0;
  for (int d = 0; d < 4; d++) {
    direct_case c = direct_convection(SIDE, 0.5, DTYPES[d]);
    old o = old_open(ctx, &c, LAC_ORDER_AUTO);
    helpers += check_threads(&o, again) + check_threads(&o, chosen);
    old_close(&o);
  }
  scratch_release(mark);
  if (helpers <= 0) check_skip("there is no second thread");
}

static void blocks_and_what_is_below_them_are_those_of_one_thread(lac_context *ctx) {
  size_t mark = scratch_mark();
  for (int d = 0; d < 4; d++) {
    direct_case one = direct_convection(COPY_SIDE, 0.5, DTYPES[d]), c = copies_of(&one, true);
    old o = old_open(ctx, &c, LAC_ORDER_AUTO);
    CHECK_EQ(((const pivoting_analysis *)o.job.part)->blocks, COPIES);
    CHECK(old_numeric(&o)->shape->below.count > 0);
    check_threads(&o, again);
    check_threads(&o, chosen);
    old_close(&o);
  }
  scratch_release(mark);
}

/// The same columns in each of the copies have the smallest pivot: the first of them is reported.
static void of_pivots_that_are_alike_the_first_is_reported(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case one = direct_convection(COPY_SIDE, 0.5, LAC_F64), c = copies_of(&one, false);
  old o = old_open(ctx, &c, LAC_ORDER_NATURAL);
  for (int threads = 1; threads <= THREADS; threads++) {
    pivoting_numeric *f = NULL;
    lac_fault fault = {0};
    int count = 0, first = 0;
    CHECK_EQ(again(&o, threads, &f, &fault), LAC_OK);
    for (int k = f->n - 1; k >= 0; k--) {
      if (fabs(((const double *)f->diagonal)[k]) == f->smallest) first = k, count++;
    }
    CHECK(count >= COPIES && first < f->n / COPIES);
    CHECK_EQ(f->where, ((const pivoting_analysis *)o.job.part)->order[first]);
    pivoting_destroy(f);
  }
  old_close(&o);
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

static void matrices_of_a_batch_are_those_of_one_thread(lac_context *ctx) {
  size_t mark = scratch_mark();
  enum { ITEMS = THREADS - 1 };  // fewer than threads: each is given all of them
  direct_case c = direct_convection(SIDE, 0.5, LAC_F64);
  ref many = ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {ITEMS, c.s->nnz}});
  lac_array *values = NULL;
  lac_factor *first = NULL, *made[2] = {NULL, NULL};
  old o = old_open(ctx, &c, LAC_ORDER_AUTO);
  for (int64_t z = 0; z < ITEMS * c.s->nnz; z++) many.x[z] = c.a.x[z % c.s->nnz] * (double)(2 + z / c.s->nnz);
  CHECK_OK(ref_upload(ctx, &many, &values));
  CHECK_OK(lac_solver_factor(ctx, o.system.solver, values, &first));
  for (int t = 0; t < 2; t++) {
    CHECK_OK(lac_context_set_threads(ctx, t == 0 ? 1 : THREADS));
    CHECK_OK(lac_factor_refactor(ctx, first, values, &made[t]));
  }
  for (int i = 0; i < ITEMS; i++) check_same(direct_part(made[0])->numerics[i], direct_part(made[1])->numerics[i]);
  for (int t = 0; t < 2; t++) lac_factor_destroy(&made[t]);
  lac_factor_destroy(&first);
  lac_array_destroy(&values);
  old_close(&o);
  scratch_release(mark);
}

/// Two columns that read no other one have pivots of zero: the one that is eliminated first is named.
static void the_first_column_that_fails_is_named(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = direct_convection(SIDE, 0.5, LAC_F64);
  old o = old_open(ctx, &c, LAC_ORDER_AUTO);
  const pivoting_analysis *a = o.job.part;
  const pivoting_shape *shape = old_numeric(&o)->shape;
  double *values = scratch((size_t)c.s->nnz * sizeof *values);
  int32_t first = -1, count = 0;
  memcpy(values, o.job.values, (size_t)c.s->nnz * sizeof *values);
  o.job.values = values;
  for (int32_t k = a->n - 1; k >= a->n / 3; k--) {
    if (shape->u.offsets[k] < shape->u.offsets[k + 1]) continue;
    for (int64_t z = 0; z < c.s->nnz; z++) {
      if (c.s->row[z] == a->order[k] && c.s->col[z] == a->order[k]) values[z] = 0;
    }
    first = k, count++;
  }
  CHECK(count > 2);
  for (int threads = 1; threads <= THREADS; threads++) {
    pivoting_numeric *none = NULL;
    lac_fault fault = {0};
    char named[64];
    CHECK_EQ(again(&o, threads, &none, &fault), LAC_ERR_CONVERGENCE);
    snprintf(named, sizeof named, "the old pivot of column %d ", a->order[first]);
    CHECK(!none && strstr(fault.text, named));
  }
  old_close(&o);
  scratch_release(mark);
}

// -- no more threads than find room and work -------------------------------------------------------------------------

/// Whichever allocation fails: what others lack one thread makes good for.
static void threads_that_find_no_memory_are_not_missed(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = direct_convection(SIDE, 0.5, LAC_F64);
  old o = old_open(ctx, &c, LAC_ORDER_AUTO);
  pivoting_numeric *alone = NULL;
  lac_fault fault = {0};
  int refused = 0, survived = 0;
  bool is_reached = true;
  CHECK_OK(again(&o, 1, &alone, &fault));
  for (int64_t n = 1; is_reached; n++) {
    pivoting_numeric *f = NULL;
    lac_memory_fail_at(n);
    lac_status status = again(&o, THREADS, &f, &fault);
    is_reached = lac_memory_fail_at(0) >= n;
    CHECK(status == LAC_OK || (status == LAC_ERR_MEMORY && is_reached && !f));
    if (f) check_same(alone, f);
    pivoting_destroy(f);
    refused += status != LAC_OK, survived += is_reached && status == LAC_OK;
  }
  CHECK(refused > 0 && survived > 0);
  pivoting_destroy(alone);
  old_close(&o);
  scratch_release(mark);
}

static void inside_a_team_there_is_no_other(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = direct_convection(SIDE, 0.5, LAC_F64);
  old o = old_open(ctx, &c, LAC_ORDER_AUTO);
  int64_t alone = blocks_of(&o, again, 1), inside = 0;
  bool is_inside = false;
#pragma omp parallel num_threads(2)
#pragma omp single
  is_inside = omp_get_active_level() >= omp_get_max_active_levels(), inside = blocks_of(&o, again, THREADS);
  old_close(&o);
  scratch_release(mark);
  if (is_inside) {
    CHECK_EQ(inside, alone);
  } else {
    check_skip("there is no second thread, or a team may have teams");
  }
}

/// A full lower triangle and one diagonal above it: every column reads the one before it.
static direct_case chain_of(int64_t n) {
  sketch *s = scratch(sizeof *s);
  size_t most = (size_t)(n * (n + 3) / 2);
  *s = (sketch){n, n, 0, scratch(most * 8), scratch(most * 8)};
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i + 1 && j < n; j++) s->row[s->nnz] = i, s->col[s->nnz++] = j;
  }
  direct_case c = {s, ref_new(&(lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {s->nnz}})};
  for (int64_t z = 0; z < s->nnz; z++) {
    c.a.x[z] = s->row[z] == s->col[z] ? 1 : s->row[z] < s->col[z] ? 0.25 : 0.5 / (double)n;
  }
  return c;
}

static void columns_that_all_wait_for_the_last_have_one_thread(lac_context *ctx) {
  size_t mark = scratch_mark();
  direct_case c = chain_of(CHAIN);
  old o = old_open(ctx, &c, LAC_ORDER_NATURAL);
  const pivoting_shape *shape = old_numeric(&o)->shape;
  CHECK(shape->flops >= 1 << 20);
  blocks_of(&o, again, THREADS);  // finds out
  CHECK(atomic_load(&shape->depth) == shape->flops);
  CHECK_EQ(blocks_of(&o, again, THREADS), blocks_of(&o, again, 1));
  old_close(&o);
  scratch_release(mark);
}

CHECK_MAIN_OF("direct", bits_do_not_depend_on_the_number_of_threads,
              blocks_and_what_is_below_them_are_those_of_one_thread, of_pivots_that_are_alike_the_first_is_reported,
              what_pivots_show_does_not_depend_on_their_order, matrices_of_a_batch_are_those_of_one_thread,
              the_first_column_that_fails_is_named, threads_that_find_no_memory_are_not_missed,
              inside_a_team_there_is_no_other, columns_that_all_wait_for_the_last_have_one_thread)
