// SPDX-License-Identifier: Apache-2.0
/// Matrix Market files that were spoilt at random: each is read, or refused with a sentence; nothing crashes, hangs or
/// leaks. A file that is read after all says the same on three threads.

#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/spoil.h"
#include "support/temporary.h"

#define BANNER "%%MatrixMarket matrix "

static const char *const texts[] = {
    BANNER "coordinate real general\n% comment\n4 5 6\n1 1 1.5\n4 5 -2e-3\n2 3 0.1\n2 3 4\n3 1 1e300\n1 5 nan\n",
    BANNER "coordinate complex hermitian\n3 3 3\n1 1 1 0\n2 1 -1.25 3\n3 2 1e-7 -2.5e+2\n",
    BANNER "coordinate integer skew-symmetric\r\n3 3 2\r\n2 1 7\r\n3 2 -9\r\n",
    BANNER "coordinate pattern symmetric\n4 4 4\n1 1\n2 1\n4 3\n4 4",
    BANNER "array real general\n3 2\n1\n2.5\n-3e2\n4\n5\n6\n",
    BANNER "array complex symmetric\n2 2\n1 2\n3 4\n5 6\n",
    BANNER "array real skew-symmetric\n3 3\n1\n2\n3\n"};

static const char *const words[] = {"nan",
                                    "-inf",
                                    "99999999999999999999",
                                    "-1",
                                    "0",
                                    "1e999",
                                    "1e-999",
                                    "%",
                                    "\n",
                                    "\n\n",
                                    "\r\n",
                                    " ",
                                    "array",
                                    "coordinate",
                                    "symmetric",
                                    "hermitian",
                                    "pattern",
                                    "complex",
                                    "+",
                                    ".",
                                    "e",
                                    "2147483648",
                                    "1000000000000",
                                    "\x1f\x8b",
                                    "%%MatrixMarket",
                                    "00000000000000000000000001",
                                    "4294967297"};

static int read_on(lac_context *ctx, const char *path, int threads, lac_pattern **p, lac_array **a) {
  lac_mm_read_options o = lac_mm_read_options_defaults();
  o.most_bytes = 1 << 20;
  CHECK_OK(lac_context_set_threads(ctx, threads));
  lac_status status = lac_read_matrix_market(ctx, path, &o, p, a, NULL);
  if (status == LAC_OK) return 1;
  CHECK(status == LAC_ERR_FORMAT || status == LAC_ERR_UNSUPPORTED);
  CHECK(!*p && !*a && strstr(lac_context_error(ctx), "lac_read_matrix_market: '"));
  lac_context_clear_error(ctx);
  return 0;
}

static void check_bytes(lac_context *ctx, const unsigned char *bytes, size_t size, int *read) {
  lac_pattern *p = NULL, *q = NULL;
  lac_array *a = NULL, *b = NULL;
  long long before = check_live_blocks();
  const char *path = temporary_bytes("f.mtx", bytes, size);
  int good = read_on(ctx, path, 1, &p, &a);
  *read += good;
  if (good) {
    CHECK(read_on(ctx, path, 3, &q, &b));
    CHECK(p ? lac_pattern_same(p, q) : !q);
    CHECK(memcmp(lac_array_data(a), lac_array_data(b),
                 (size_t)lac_array_count(a) * lac_dtype_size(lac_array_meta(a)->dtype)) == 0);
  }
  lac_pattern_destroy(&p), lac_pattern_destroy(&q);
  lac_array_destroy(&a), lac_array_destroy(&b);
  CHECK_EQ(check_live_blocks(), before);
}

static void spoilt_texts_are_read_or_refused(lac_context *ctx) {
  random_state r = random_start(91);
  int read = 0, trials = check_sweep(6000);
  for (int trial = 0; trial < trials; ++trial) {
    size_t mark = scratch_mark();
    spoilt s = spoil_start(texts[trial % 7], strlen(texts[trial % 7]));
    for (int64_t n = random_below(&r, 4); n >= 0; --n) spoil(&r, &s, words, (int)(sizeof words / sizeof *words));
    check_bytes(ctx, s.bytes, s.size, &read);
    scratch_release(mark);
  }
  CHECK(read > 100 && read < trials - 100);
}

static void spoilt_gzips_are_read_or_refused(lac_context *ctx) {
  random_state r = random_start(92);
  const char *path = temporary_path("g.mtx.gz");
  lac_pattern *p = NULL;
  size_t size = 0;
  int read = 0;
  CHECK_OK(sketch_pattern(ctx, sketch_random(30, 20, 0.2, 3), LAC_WIDTH_AUTO, &p));
  lac_status status = lac_write_matrix_market(ctx, path, p, NULL, NULL);
  lac_pattern_destroy(&p);
  if (status == LAC_ERR_UNSUPPORTED) {
    lac_context_clear_error(ctx);
    return;
  }
  CHECK_OK(status);
  const char *packed = temporary_read(path, &size);
  for (int trial = 0; trial < check_sweep(2000); ++trial) {
    size_t mark = scratch_mark();
    spoilt s = spoil_start(packed, size);
    spoil(&r, &s, words, (int)(sizeof words / sizeof *words));
    check_bytes(ctx, s.bytes, s.size, &read);
    scratch_release(mark);
  }
}

/// Allocations that fail while a spoilt file is read: still one of the two answers, and nothing is left.
static void spoilt_texts_with_failing_allocations_leave_nothing(lac_context *ctx) {
  random_state r = random_start(93);
  for (int trial = 0; trial < check_sweep(300); ++trial) {
    size_t mark = scratch_mark();
    spoilt s = spoil_start(texts[trial % 7], strlen(texts[trial % 7]));
    spoil(&r, &s, words, (int)(sizeof words / sizeof *words));
    const char *path = temporary_bytes("f.mtx", s.bytes, s.size);
    lac_status status = LAC_ERR_MEMORY;
    for (int64_t n = 1; status == LAC_ERR_MEMORY; ++n) {
      lac_pattern *p = NULL;
      lac_array *a = NULL;
      long long before = check_live_blocks();
      (void)lac_memory_fail_at(n);
      status = lac_read_matrix_market(ctx, path, NULL, &p, &a, NULL);
      (void)lac_memory_fail_at(0);
      CHECK(status == LAC_OK || (!p && !a));
      lac_pattern_destroy(&p);
      lac_array_destroy(&a);
      CHECK_EQ(check_live_blocks(), before);
    }
    lac_context_clear_error(ctx);
    scratch_release(mark);
  }
}

CHECK_MAIN(spoilt_texts_are_read_or_refused, spoilt_gzips_are_read_or_refused,
           spoilt_texts_with_failing_allocations_leave_nothing)
