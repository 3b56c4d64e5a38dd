// SPDX-License-Identifier: Apache-2.0
/// What all of the library asks of dtypes, of single numbers, and of numbers that ascend.

#include <math.h>

#include "core/number_at.h"
#include "core/numbers/search.h"
#include "support/check.h"
#include "support/random.h"

static void dtypes_know_their_precision(lac_context *ctx) {
  static const struct {
    lac_dtype dtype;
    double after;  // the number that follows 1
    int parts;
  } cases[] = {{LAC_F32, 0, 1}, {LAC_F64, 1, 1}, {LAC_C64, 0, 2}, {LAC_C128, 1, 2}};
  (void)ctx;
  for (int i = 0; i < 4; i++) {
    int is_single = cases[i].after == 0;
    double after = is_single ? (double)nextafterf(1, 2) : nextafter(1, 2);
    CHECK(lac_dtype_epsilon(cases[i].dtype) == after - 1);
    CHECK_EQ(lac_dtype_is_single(cases[i].dtype), is_single);
    CHECK_EQ(lac_dtype_parts(cases[i].dtype), cases[i].parts);
    CHECK_EQ(lac_dtype_size(cases[i].dtype), (is_single ? 4 : 8) * cases[i].parts);
  }
}

static void numbers_of_any_dtype_are_put_and_got(lac_context *ctx) {
  (void)ctx;
  for (int dtype = LAC_F32; dtype <= LAC_C128; dtype++) {
    lac_number block[3] = {{.c128 = 0}};
    int is_complex = dtype >= LAC_C64;
    for (int i = 0; i < 3; i++) lac_number_put((lac_dtype)dtype, block, i, PAIR(i + 0.5, -(double)i));
    for (int i = 0; i < 3; i++) {
      c128 x = lac_number_get((lac_dtype)dtype, block, i);
      CHECK(creal(x) == i + 0.5 && cimag(x) == (is_complex ? -i : 0));
      CHECK(lac_real_get((lac_dtype)dtype, block, is_complex ? 2 * i : i) == i + 0.5);
      if (is_complex) CHECK(lac_real_get((lac_dtype)dtype, block, 2 * i + 1) == -i);
    }
    lac_real_put((lac_dtype)dtype, block, 1, 7);
    CHECK(cimag(lac_number_get((lac_dtype)dtype, block, 0)) == (is_complex ? 7 : 0));
    CHECK(creal(lac_number_get((lac_dtype)dtype, block, 1)) == (is_complex ? 1.5 : 7));
  }
}

static void arrays_know_their_bytes(lac_context *ctx) {
  lac_array *a = NULL;
  CHECK_OK(lac_array_create(ctx, LAC_C64, 3, (int64_t[]){2, 3, 5}, &a));
  CHECK_EQ(lac_array_bytes(a), 2 * 3 * 5 * 2 * (int)sizeof(float));
  lac_array_destroy(&a);
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){0, 4}, &a));
  CHECK_EQ(lac_array_bytes(a), 0);
  lac_array_destroy(&a);
}

/// Numbers that ascend and repeat, against a walk from the left.
static void searches_find_what_a_walk_finds(lac_context *ctx) {
  enum { MOST = 40 };
  random_state r = random_start(5);
  (void)ctx;
  for (int trial = 0; trial < 2000; trial++) {
    int64_t n = random_below(&r, MOST), low = random_below(&r, n + 1), high = low + random_below(&r, n - low + 1);
    int64_t wide[MOST + 1] = {0}, x = -3;
    int32_t narrow[MOST + 1] = {0};
    for (int64_t i = 0; i < n; i++) wide[i] = x += random_below(&r, 3), narrow[i] = (int32_t)x;
    for (int32_t least = -5; least <= x + 2; least++) {
      int64_t at = low;
      while (at < high && wide[at] < least) at++;
      CHECK_EQ(lac_search_i64(wide, low, high, least), at);
      CHECK_EQ(lac_search_i32(narrow, low, high, least), at);
    }
  }
}

static void slots_are_found_in_their_rows(lac_context *ctx) {
  static const int64_t offsets[] = {0, 0, 3, 3, 3, 4, 9};  // rows of 0, 3, 0, 0, 1 and 5 slots
  static const int64_t rows[] = {1, 1, 1, 4, 5, 5, 5, 5, 5};
  (void)ctx;
  for (int64_t slot = 0; slot < 9; slot++) CHECK_EQ(lac_search_row(offsets, 6, slot), rows[slot]);
  CHECK_EQ(lac_search_row(offsets, 0, 0), 0);
}

CHECK_MAIN(dtypes_know_their_precision, numbers_of_any_dtype_are_put_and_got, arrays_know_their_bytes,
           searches_find_what_a_walk_finds, slots_are_found_in_their_rows)
