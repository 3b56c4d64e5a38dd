// SPDX-License-Identifier: Apache-2.0
/// Plain calls over ranks: the product is that of one process, and one rank's error is everyone's.

#include "distributed/spread.h"

enum { WIDTH = 2 };

static int is_culprit(void) { return world.rank == world.size - 1; }

static lac_status expected(lac_status culprits) { return is_culprit() ? culprits : LAC_ERR_REMOTE; }

/// A product, whole and in parts.
typedef struct product {
  spread s;
  twin a, x;
  lac_array *whole, *part;
} product;

static product product_open(lac_context *ctx) {
  product p = {.s = spread_create(ctx, 12, 10, 0.4, DEAL_EVEN, DEAL_EVEN, LAC_WIDTH_AUTO)};
  const int64_t nnz = lac_pattern_nnz(p.s.whole), shape[] = {10, WIDTH};

  p.a = twin_random(&p.s, LAC_F64, 1, &nnz, lac_pattern_entries(p.s.pattern), 0, 1);
  p.x = twin_random(&p.s, LAC_F64, 2, shape, p.s.cols, 0, 2);
  CHECK(lac_run_spmm(p.s.serial, p.s.whole, p.a.whole, p.x.whole, LAC_PLAIN, &p.whole) == LAC_OK);
  return p;
}

static void product_close(product *p) {
  lac_array_destroy(&p->whole), lac_array_destroy(&p->part);
  twin_destroy(&p->a), twin_destroy(&p->x);
  spread_destroy(&p->s);
}

static lac_status product_run(lac_context *ctx, product *p, lac_array **result) {
  return lac_run_spmm(ctx, p->s.pattern, p->a.part, p->x.part, LAC_PLAIN, result);
}

static void a_product_is_that_of_one_process(lac_context *ctx) {
  product p = product_open(ctx);
  lac_array *same;

  CHECK_OK(product_run(ctx, &p, &p.part));
  CHECK_SAME(p.part, p.whole);
  same = p.part;
  CHECK_OK(lac_array_fill(ctx, p.part, 7, 0));
  CHECK_OK(product_run(ctx, &p, &p.part));
  CHECK(p.part == same);
  CHECK_SAME(p.part, p.whole);
  product_close(&p);
}

/// Before the ranks have talked, and after.
static void one_ranks_error_is_everyones(lac_context *ctx) {
  product p = product_open(ctx);
  lac_array *wrong = NULL, *result = NULL;

  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){1}, &wrong));
  CHECK_FAILS(product_run(ctx, &p, is_culprit() ? NULL : &result), expected(LAC_ERR_ARG), "result is NULL");
  CHECK(!result);
  CHECK_FAILS(product_run(ctx, &p, is_culprit() ? &wrong : &result), expected(LAC_ERR_SHAPE), "the array given for it");
  CHECK(!result);
  CHECK_OK(product_run(ctx, &p, &p.part));
  CHECK_SAME(p.part, p.whole);
  lac_array_destroy(&wrong);
  product_close(&p);
}

MPI_CHECK_MAIN(a_product_is_that_of_one_process, one_ranks_error_is_everyones)
