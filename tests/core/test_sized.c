// SPDX-License-Identifier: Apache-2.0
/// Structs whose first field is their size: of earlier, of the same and of later versions.

#include "core/sized.h"

#include <stdint.h>
#include <string.h>

#include "support/check.h"

/// Its first version ended with `first`.
typedef struct sample {
  size_t size;
  int64_t first, second;
} sample;

typedef struct later_sample {
  sample known;
  int64_t third;
} later_sample;

#define SAMPLE LAC_SIZED(sample, first)
enum { FIRST = offsetof(sample, second) };

/// Behind the end of an earlier struct is memory of somebody else.
static void an_earlier_struct_has_defaults_for_new_fields(lac_context *ctx) {
  for (int i = 0; i < 2; i++) {
    sample given = {.size = i ? FIRST : 0, .first = 5, .second = 7}, out = {.second = 9};
    CHECK_OK(lac_sized_take(ctx, "f", SAMPLE, &given, &out));
    CHECK(out.size == sizeof out && out.first == 5 && out.second == 0);
    memset(&given.second, 0x5a, sizeof given.second);
    CHECK_OK(lac_sized_check(ctx, "f", SAMPLE, &given));
    lac_sized_give(SAMPLE, &(sample){.first = 3, .second = 4}, &given);
    CHECK(given.first == 3 && given.size == (i ? FIRST : 0));
    CHECK_EQ(given.second, 0x5a5a5a5a5a5a5a5a);
  }
}

static void a_struct_of_this_version_is_taken_whole(lac_context *ctx) {
  sample given = {.size = sizeof given, .first = 5, .second = 7}, out;
  CHECK_OK(lac_sized_take(ctx, "f", SAMPLE, &given, &out));
  CHECK(out.first == 5 && out.second == 7);
  CHECK_OK(lac_sized_take(ctx, "f", SAMPLE, NULL, &out));
  CHECK(out.size == sizeof out && out.first == 0 && out.second == 0);
}

static void a_later_struct_is_taken_as_far_as_it_is_zero(lac_context *ctx) {
  later_sample given = {.known = {.size = sizeof given, .first = 5, .second = 7}};
  sample out;
  CHECK_OK(lac_sized_take(ctx, "f", SAMPLE, &given, &out));
  CHECK(out.size == sizeof out && out.second == 7);
  given.third = 1;
  CHECK_FAILS(lac_sized_take(ctx, "f", SAMPLE, &given, &out), LAC_ERR_ARG, "f: the sample has");
  lac_sized_give(SAMPLE, &out, &given);
  CHECK(given.third == 0 && given.known.size == sizeof given);
}

/// No version of a struct is smaller than its first: sizeof of a pointer to it is.
static void a_size_that_no_version_has_is_refused(lac_context *ctx) {
  const size_t sizes[] = {1, sizeof(sample *), FIRST - 1, (size_t)1 << 20, SIZE_MAX};
  for (int i = 0; i < 5; i++) {
    sample given = {.size = sizes[i]}, out;
    CHECK_FAILS(lac_sized_take(ctx, "f", SAMPLE, &given, &out), LAC_ERR_ARG, "f: the size of the sample is");
    CHECK_FAILS(lac_sized_check(ctx, "f", SAMPLE, &given), LAC_ERR_ARG, "sizeof(sample)");
  }
}

CHECK_MAIN(an_earlier_struct_has_defaults_for_new_fields, a_struct_of_this_version_is_taken_whole,
           a_later_struct_is_taken_as_far_as_it_is_zero, a_size_that_no_version_has_is_refused)
