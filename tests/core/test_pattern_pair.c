// SPDX-License-Identifier: Apache-2.0
/// Patterns made of two: union and product, and the plans that are kept for pairs.

#include <pthread.h>

#include "core/pattern/index_set.h"
#include "core/pattern/pattern_impl.h"
#include "support/check.h"
#include "support/mask.h"
#include "support/random.h"
#include "support/scratch.h"

static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
static const int64_t whole_budget = (int64_t)256 << 20;

static lac_pattern *draw(lac_context *ctx, random_state *r, int64_t rows, int64_t cols, lac_width width) {
  size_t mark = scratch_mark();
  lac_pattern *p = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_random(rows, cols, (double)random_below(r, 9) / 10, random_bits(r)), width, &p));
  scratch_release(mark);
  return p;
}

static void check_union(lac_context *ctx, const lac_pattern *a, const lac_pattern *b) {
  mask ma = mask_read(a), mb = mask_read(b), expected = mask_empty(ma.rows, ma.cols);
  lac_pattern *out = NULL;
  lac_map *from_a = NULL, *from_b = NULL;
  for (int64_t z = 0; z < ma.rows * ma.cols; ++z) expected.slot[z] = ma.slot[z] >= 0 || mb.slot[z] >= 0 ? 0 : -1;
  mask_number(&expected);
  CHECK_OK(lac_pattern_union(ctx, a, b, &out, &from_a, &from_b));
  mask_check(&expected, out);
  mask_check_map(&ma, &expected, 0, 0, from_a);
  mask_check_map(&mb, &expected, 0, 0, from_b);
  CHECK_EQ(out == a, expected.nnz == ma.nnz);
  CHECK_EQ(out == b, b == a || (expected.nnz == mb.nnz && expected.nnz > ma.nnz));
  lac_pattern_destroy(&out);
  lac_map_destroy(&from_a);
  lac_map_destroy(&from_b);
}

static void check_product(lac_context *ctx, const lac_pattern *a, const lac_pattern *b) {
  mask ma = mask_read(a), mb = mask_read(b), expected = mask_empty(ma.rows, mb.cols);
  lac_pattern *out = NULL;
  for (int64_t i = 0; i < ma.rows; ++i) {
    for (int64_t k = 0; k < ma.cols; ++k) {
      for (int64_t j = 0; j < mb.cols; ++j) {
        if (*mask_at(&ma, i, k) >= 0 && *mask_at(&mb, k, j) >= 0) *mask_at(&expected, i, j) = 0;
      }
    }
  }
  mask_number(&expected);
  CHECK_OK(lac_pattern_product(ctx, a, b, &out));
  mask_check(&expected, out);
  lac_pattern_destroy(&out);
}

static void unions_and_products_match_brute_force(lac_context *ctx) {
  random_state r = random_start(41);
  for (int trial = 0; trial < 1000; ++trial) {
    size_t mark = scratch_mark();
    int64_t rows = random_below(&r, 8), cols = random_below(&r, 8), more = random_below(&r, 8);
    lac_width wa = widths[trial % 3], wb = widths[trial / 3 % 3];
    CHECK_OK(lac_context_set_threads(ctx, 1 + trial % 3));
    lac_pattern *a = draw(ctx, &r, rows, cols, wa), *b = draw(ctx, &r, rows, cols, wb),
                *c = draw(ctx, &r, cols, more, wb);
    check_union(ctx, a, b);
    check_union(ctx, a, a);
    check_product(ctx, a, c);
    lac_pattern_destroy(&a);
    lac_pattern_destroy(&b);
    lac_pattern_destroy(&c);
    scratch_release(mark);
  }
}

static void large_products_and_unions_do_not_depend_on_threads(lac_context *ctx) {
  const sketch *sa = sketch_random(700, 90, 0.3, 42), *sb = sketch_random(90, 5000, 0.004, 43),
               *sc = sketch_random(700, 90, 0.3, 44);
  for (int threads = 1; threads < 5; threads += 3) {
    lac_pattern *a = NULL, *b = NULL, *c = NULL;
    CHECK_OK(lac_context_set_threads(ctx, threads));
    CHECK_OK(sketch_pattern(ctx, sa, LAC_WIDTH_32_32, &a));
    CHECK_OK(sketch_pattern(ctx, sb, LAC_WIDTH_32_32, &b));
    CHECK_OK(sketch_pattern(ctx, sc, LAC_WIDTH_64_64, &c));
    check_product(ctx, a, b);
    check_union(ctx, a, c);
    lac_pattern_destroy(&a);
    lac_pattern_destroy(&b);
    lac_pattern_destroy(&c);
  }
}

/// A band with a hole in each row of `every`, so that runs of rows that repeat begin and end.
static lac_pattern *draw_band(lac_context *ctx, int64_t n, int64_t every, lac_width width) {
  static const int64_t diagonals[] = {-7, -1, 0, 1, 7};
  int64_t row[5 * 64], col[5 * 64], count = 0;
  lac_pattern *p = NULL;
  for (int64_t i = 0; i < n; ++i) {
    for (int d = 0; d < 5; ++d) {
      int64_t j = i + diagonals[d];
      if (j < 0 || j >= n || (i % every == every - 1 && d == 3)) continue;
      row[count] = i, col[count++] = j;
    }
  }
  CHECK_OK(lac_pattern_from_coo(ctx, n, n, count, LAC_I64, row, col, width, &p, NULL));
  return p;
}

static void products_of_bands_match_brute_force(lac_context *ctx) {
  for (int trial = 0; trial < 60; ++trial) {
    size_t mark = scratch_mark();
    int64_t n = 1 + trial;
    CHECK_OK(lac_context_set_threads(ctx, 1 + trial % 3));
    lac_pattern *a = draw_band(ctx, n, 5 + trial % 20, widths[trial % 3]),
                *b = draw_band(ctx, n, 9, widths[trial / 3 % 3]);
    check_product(ctx, a, b);
    check_product(ctx, b, a);
    check_product(ctx, a, a);
    lac_pattern_destroy(&a);
    lac_pattern_destroy(&b);
    scratch_release(mark);
  }
}

/// Every product of A B has the place of its column in C's row.
static void check_places(lac_context *ctx, const lac_pattern *a, const lac_pattern *b) {
  lac_pattern *c = NULL;
  CHECK_OK(lac_pattern_product(ctx, a, b, &c));
  lac_places *places = lac_pattern_places(a, b, c);
  CHECK(places);
  for (int64_t i = 0; i < a->rows; ++i) {
    const uint16_t *place = places->place + places->start[i];
    for (int64_t p = lac_buffer_get(a->offsets, i); p < lac_buffer_get(a->offsets, i + 1); ++p) {
      int64_t k = lac_buffer_get(a->columns, p);
      for (int64_t q = lac_buffer_get(b->offsets, k); q < lac_buffer_get(b->offsets, k + 1); ++q, ++place) {
        int64_t at = lac_buffer_get(c->offsets, i) + *place;
        CHECK(at < lac_buffer_get(c->offsets, i + 1));
        CHECK_EQ(lac_buffer_get(c->columns, at), lac_buffer_get(b->columns, q));
      }
    }
  }
  CHECK(lac_pattern_places(b, a, c) == NULL);
  CHECK(lac_pattern_places(a, b, a) == NULL);
  lac_object_release(places);
  lac_pattern_destroy(&c);
}

static void places_lead_to_their_columns(lac_context *ctx) {
  random_state r = random_start(59);
  for (int trial = 0; trial < 60; ++trial) {
    int64_t n = 1 + random_below(&r, 60);
    CHECK_OK(lac_context_set_threads(ctx, 1 + trial % 3));
    lac_pattern *a = draw_band(ctx, n, 5 + trial % 20, widths[trial % 3]),
                *b = draw(ctx, &r, n, 9, widths[trial / 3 % 3]);
    check_places(ctx, a, b);
    lac_pattern_destroy(&b);
    b = draw_band(ctx, n, 64, widths[trial / 3 % 3]);
    check_places(ctx, b, a);
    lac_pattern_destroy(&a);
    lac_pattern_destroy(&b);
  }
}

static void places_beyond_a_quarter_of_the_budget_are_not_kept(lac_context *ctx) {
  lac_pattern *a = NULL, *c = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_square(30, 0.5, 60), LAC_WIDTH_32_32, &a));
  lac_pattern_set_plan_budget(1000);
  CHECK_OK(lac_pattern_product(ctx, a, a, &c));
  CHECK(lac_pattern_places(a, a, c) == NULL);
  lac_pattern_set_plan_budget(whole_budget);
  lac_pattern_destroy(&c);
  lac_pattern_destroy(&a);
}

static void results_are_as_wide_as_the_wider(lac_context *ctx) {
  random_state r = random_start(45);
  for (int v = 0; v < 9; ++v) {
    lac_pattern *a = draw(ctx, &r, 5, 5, widths[v % 3]), *b = draw(ctx, &r, 5, 5, widths[v / 3]), *out = NULL;
    lac_width wider = widths[v % 3] > widths[v / 3] ? widths[v % 3] : widths[v / 3];
    CHECK_OK(lac_pattern_product(ctx, a, b, &out));
    CHECK_EQ(lac_pattern_width(out), wider);
    lac_pattern_destroy(&out);
    lac_pattern_destroy(&a);
    lac_pattern_destroy(&b);
  }
}

static void a_union_with_the_same_is_the_pattern_itself(lac_context *ctx) {
  const sketch *s = sketch_random(6, 5, 0.5, 46);
  lac_pattern *a = NULL, *b = NULL, *out = NULL;
  lac_map *from_a = NULL, *from_b = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_32_32, &a));
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_64_64, &b));
  const lac_pattern *others[] = {a, b};
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(lac_pattern_union(ctx, a, others[i], &out, &from_a, &from_b));
    CHECK(out == a);
    CHECK(lac_map_is_identity(from_a) && lac_map_is_identity(from_b));
    lac_pattern_destroy(&out);
    lac_map_destroy(&from_a);
    lac_map_destroy(&from_b);
  }
  lac_pattern_destroy(&a);
  lac_pattern_destroy(&b);
}

static void shapes_that_do_not_fit_are_refused(lac_context *ctx) {
  random_state r = random_start(47);
  lac_pattern *a = draw(ctx, &r, 3, 4, LAC_WIDTH_AUTO), *b = draw(ctx, &r, 3, 5, LAC_WIDTH_AUTO), *out = NULL;
  CHECK_FAILS(lac_pattern_union(ctx, a, b, &out, NULL, NULL), LAC_ERR_SHAPE,
              "lac_pattern_union: a is 3 x 4 and b is 3 x 5");
  CHECK_FAILS(lac_pattern_product(ctx, a, b, &out), LAC_ERR_SHAPE, "lac_pattern_product: a is 3 x 4 and b is 3 x 5");
  CHECK_FAILS(lac_pattern_union(ctx, a, NULL, &out, NULL, NULL), LAC_ERR_ARG, "lac_pattern_union: the pattern is NULL");
  CHECK_FAILS(lac_pattern_product(ctx, NULL, b, &out), LAC_ERR_ARG, "lac_pattern_product: the pattern is NULL");
  CHECK_FAILS(lac_pattern_union(ctx, a, a, NULL, NULL, NULL), LAC_ERR_ARG, "lac_pattern_union: out is NULL");
  CHECK_FAILS(lac_pattern_product(ctx, a, a, NULL), LAC_ERR_ARG, "lac_pattern_product: out is NULL");
  CHECK(!out);
  lac_pattern_destroy(&a);
  lac_pattern_destroy(&b);
}

// The plans that are kept.

/// The id of the product's pattern: another one each time unless the plan was kept.
static int64_t product_id(lac_context *ctx, const lac_pattern *a, const lac_pattern *b) {
  lac_pattern *out = NULL;
  CHECK_OK(lac_pattern_product(ctx, a, b, &out));
  int64_t id = lac_pattern_id(out);
  lac_pattern_destroy(&out);
  return id;
}

static void asking_again_gives_the_same_result(lac_context *ctx) {
  random_state r = random_start(48);
  lac_pattern *a = draw(ctx, &r, 5, 5, LAC_WIDTH_AUTO), *b = draw(ctx, &r, 5, 5, LAC_WIDTH_AUTO);
  int64_t ab = product_id(ctx, a, b);
  CHECK_EQ(product_id(ctx, a, b), ab);
  CHECK(product_id(ctx, b, a) != ab);
  CHECK_EQ(product_id(ctx, a, b), ab);
  lac_pattern_set_plan_budget(0);
  CHECK(product_id(ctx, a, b) != ab);
  CHECK(product_id(ctx, a, b) != product_id(ctx, a, b));
  lac_pattern_set_plan_budget(whole_budget);
  lac_pattern_destroy(&a);
  lac_pattern_destroy(&b);
}

static void the_budget_is_honoured_and_the_oldest_goes_first(lac_context *ctx) {
  enum { COUNT = 6 };
  const sketch *s = sketch_square(40, 0.2, 49);
  lac_pattern *p[COUNT];
  int64_t id[COUNT];
  for (int i = 0; i < COUNT; ++i) CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_32_32, &p[i]));
  int64_t before = memory_now("cpu").live_bytes;
  id[0] = product_id(ctx, p[0], p[0]);
  int64_t each = memory_now("cpu").live_bytes - before, budget = 3 * each + each / 2;
  lac_pattern_set_plan_budget(budget);
  for (int i = 1; i < COUNT; ++i) {
    id[i] = product_id(ctx, p[i], p[i]);
    CHECK_EQ(product_id(ctx, p[0], p[0]), id[0]);  // in use, so never the oldest
    CHECK(memory_now("cpu").live_bytes - before <= budget + each);
  }
  CHECK_EQ(product_id(ctx, p[COUNT - 1], p[COUNT - 1]), id[COUNT - 1]);
  CHECK(product_id(ctx, p[1], p[1]) != id[1]);
  lac_pattern_set_plan_budget(each / 8);  // too little, also without places
  CHECK_EQ(memory_now("cpu").live_bytes, before);
  CHECK(product_id(ctx, p[0], p[0]) != id[0]);
  CHECK_EQ(memory_now("cpu").live_bytes, before);
  lac_pattern_set_plan_budget(whole_budget);
  for (int i = 0; i < COUNT; ++i) lac_pattern_destroy(&p[i]);
}

static void what_a_result_derives_counts_against_the_budget(lac_context *ctx) {
  lac_pattern *a = NULL, *out = NULL;
  lac_rows rows;
  CHECK_OK(sketch_pattern(ctx, sketch_square(60, 0.1, 50), LAC_WIDTH_32_32, &a));
  CHECK_OK(lac_pattern_product(ctx, a, a, &out));
  int64_t id = lac_pattern_id(out);
  lac_pattern_set_plan_budget(2 * lac_pattern_bytes(out));
  CHECK_EQ(product_id(ctx, a, a), id);
  CHECK_OK(lac_pattern_walk(ctx, out, true, &rows));
  CHECK_EQ(product_id(ctx, a, a), id);  // found, weighed, and let go
  CHECK(product_id(ctx, a, a) != id);
  lac_pattern_set_plan_budget(whole_budget);
  lac_pattern_destroy(&out);
  lac_pattern_destroy(&a);
}

static void plans_do_not_keep_patterns_alive(lac_context *ctx) {
  random_state r = random_start(51);
  long long before = memory_now("cpu").live_blocks;
  lac_pattern *a = draw(ctx, &r, 6, 6, LAC_WIDTH_AUTO), *lower = NULL, *out = NULL;
  CHECK_OK(lac_pattern_triangle(ctx, a, LAC_TRIANGLE_LOWER, 0, &lower, NULL));
  CHECK_OK(lac_pattern_union(ctx, a, lower, &out, NULL, NULL));
  CHECK(out == a);
  lac_pattern_destroy(&out);
  CHECK_OK(lac_pattern_product(ctx, a, lower, &out));
  lac_pattern_destroy(&out);
  CHECK_EQ(a->object.holders, 1);
  CHECK_EQ(lower->object.holders, 2);  // we, and a, which keeps its triangles
  lac_pattern_destroy(&lower);
  CHECK_EQ(a->object.holders, 1);
  lac_pattern_destroy(&a);
  CHECK_EQ(memory_now("cpu").live_blocks, before);  // plans went with the patterns
}

static void a_long_chain_of_plans_is_let_go_without_depth(lac_context *ctx) {
  enum { LENGTH = 30000 };
  lac_pattern *first = NULL, *step = NULL;
  CHECK_OK(sketch_pattern(ctx, sketch_square(2, 0.5, 52), LAC_WIDTH_AUTO, &first));
  CHECK_OK(sketch_pattern(ctx, sketch_square(2, 0.5, 53), LAC_WIDTH_AUTO, &step));
  lac_pattern *last = lac_pattern_retain(first);
  for (int i = 0; i < LENGTH; ++i) {
    lac_pattern *next = NULL;
    CHECK_OK(lac_pattern_product(ctx, last, step, &next));
    lac_pattern_destroy(&last);
    last = next;
  }
  lac_pattern_destroy(&last);
  lac_pattern_destroy(&first);  // each plan holds the pattern under which the next is kept
  lac_pattern_destroy(&step);
}

typedef struct asker {
  pthread_t thread;
  const lac_pattern *a, *b;
  lac_pattern *product, *both;
  lac_status status;
} asker;

static void *ask(void *argument) {
  asker *x = argument;
  for (int i = 0; i < 50 && x->status == LAC_OK; ++i) {
    lac_pattern_destroy(&x->product);
    lac_pattern_destroy(&x->both);
    x->status = lac_pattern_product(NULL, x->a, x->b, &x->product);
    if (x->status == LAC_OK) x->status = lac_pattern_union(NULL, x->a, x->b, &x->both, NULL, NULL);
  }
  return NULL;
}

static void threads_get_the_same_plan(lac_context *ctx) {
  for (int trial = 0; trial < 20; ++trial) {
    lac_pattern *a = NULL, *b = NULL;
    CHECK_OK(sketch_pattern(ctx, sketch_square(30, 0.1, 54), LAC_WIDTH_AUTO, &a));
    CHECK_OK(sketch_pattern(ctx, sketch_square(30, 0.1, 55), LAC_WIDTH_AUTO, &b));
    lac_pattern_set_plan_budget(trial % 2 ? whole_budget : 4000);  // kept, or always on their way out
    asker askers[2] = {{.a = a, .b = b}, {.a = a, .b = b}};
    for (int i = 0; i < 2; ++i) CHECK_EQ(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    for (int i = 0; i < 2; ++i) CHECK_EQ(pthread_join(askers[i].thread, NULL), 0);
    for (int i = 0; i < 2; ++i) CHECK_EQ(askers[i].status, LAC_OK);
    CHECK(lac_pattern_same(askers[0].product, askers[1].product) && lac_pattern_same(askers[0].both, askers[1].both));
    if (trial % 2) CHECK(askers[0].product == askers[1].product && askers[0].both == askers[1].both);
    for (int i = 0; i < 2; ++i) lac_pattern_destroy(&askers[i].product), lac_pattern_destroy(&askers[i].both);
    lac_pattern_destroy(&a);
    lac_pattern_destroy(&b);
  }
  lac_pattern_set_plan_budget(whole_budget);
}

static void failing_allocations_lose_nothing(lac_context *ctx) {
  const sketch *sa = sketch_random(5, 5, 0.4, 56), *sb = sketch_random(5, 5, 0.4, 57);
  for (int which = 0; which < 3; ++which) {
    for (int64_t n = 1;; ++n) {
      lac_pattern *a = NULL, *b = NULL, *out = NULL;
      lac_map *from_a = NULL, *from_b = NULL;
      long long before = check_live_blocks();
      CHECK_OK(sketch_pattern(ctx, sa, LAC_WIDTH_AUTO, &a));
      CHECK_OK(sketch_pattern(ctx, sb, LAC_WIDTH_AUTO, &b));
      lac_memory_fail_at(n);
      lac_status status = which == 0   ? lac_pattern_product(ctx, a, b, &out)
                          : which == 1 ? lac_pattern_union(ctx, a, b, &out, &from_a, &from_b)
                                       : lac_pattern_union(ctx, a, a, &out, &from_a, &from_b);
      int64_t asked = lac_memory_fail_at(0);
      if (status != LAC_OK) CHECK(!out && !from_a && !from_b);
      lac_pattern_destroy(&out);
      lac_map_destroy(&from_a);
      lac_map_destroy(&from_b);
      lac_pattern_destroy(&a);
      lac_pattern_destroy(&b);
      CHECK_EQ(check_live_blocks(), before);
      if (asked < n) break;
      CHECK_FAILS(status, LAC_ERR_MEMORY, "out of memory");
    }
  }
}

static void index_sets_sort_and_rank(lac_context *ctx) {
  static const int64_t sizes[] = {0, 1, 63, 64, 65, 4095, 4096, 4097, 300000, 20000000};
  random_state r = random_start(58);
  for (size_t c = 0; c < sizeof sizes / sizeof *sizes; ++c) {
    lac_index_set set = {0};
    CHECK_OK(lac_index_set_open(ctx, &set, sizes[c]));
    for (int round = 0; round < 20; ++round) {
      int64_t added[100], count = sizes[c] ? random_below(&r, 100) : 0, distinct = 0;
      for (int64_t i = 0; i < count; ++i) {
        added[i] = i % 4 == 3 ? added[i - 1] : random_below(&r, sizes[c]);
        lac_index_set_add(&set, added[i]);
      }
      lac_index_set_sort(&set);
      bool fresh[100];  // not added before
      for (int64_t i = 0; i < count; ++i) {
        fresh[i] = true;
        for (int64_t j = 0; j < i; ++j) fresh[i] = fresh[i] && added[j] != added[i];
        distinct += fresh[i];
      }
      for (int64_t i = 0; i < count; ++i) {
        int64_t smaller = 0;
        for (int64_t j = 0; j < count; ++j) smaller += fresh[j] && added[j] < added[i];
        CHECK_EQ(lac_index_set_rank(&set, added[i]), smaller);
      }
      CHECK_EQ(set.count, distinct);
      CHECK(set.used_count <= set.count);
      for (int64_t u = 1; u < set.used_count; ++u) CHECK(set.used[u - 1] < set.used[u]);
      lac_index_set_clear(&set);
      CHECK_EQ(set.count, 0);
    }
    lac_index_set_close(&set);
  }
}

CHECK_MAIN(unions_and_products_match_brute_force, large_products_and_unions_do_not_depend_on_threads,
           products_of_bands_match_brute_force, places_lead_to_their_columns,
           places_beyond_a_quarter_of_the_budget_are_not_kept, results_are_as_wide_as_the_wider,
           a_union_with_the_same_is_the_pattern_itself, shapes_that_do_not_fit_are_refused,
           asking_again_gives_the_same_result, the_budget_is_honoured_and_the_oldest_goes_first,
           what_a_result_derives_counts_against_the_budget, plans_do_not_keep_patterns_alive,
           a_long_chain_of_plans_is_let_go_without_depth, threads_get_the_same_plan, failing_allocations_lose_nothing,
           index_sets_sort_and_rank)
