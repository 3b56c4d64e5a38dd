// SPDX-License-Identifier: Apache-2.0
/// Safetensors files that were spoilt at random: each opens, with every byte of every tensor inside the file, or is
/// refused with a sentence; nothing crashes, hangs or leaks.

#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/spoil.h"
#include "support/temporary.h"

static const char *const words[] = {"\"",
                                    "{",
                                    "}",
                                    "[",
                                    "]",
                                    ",",
                                    ":",
                                    "\\u0041",
                                    "\\ud83d\\ude00",
                                    "null",
                                    "true",
                                    "-1",
                                    "1e3",
                                    "[[[[",
                                    "{{{{",
                                    "F64",
                                    "I32",
                                    "BF16",
                                    " ",
                                    "\xc3\xa9",
                                    "\xff",
                                    "dtype",
                                    "shape",
                                    "999999",
                                    "A.values",
                                    "18446744073709551615",
                                    "lacuna.dtype.",
                                    "__metadata__",
                                    "data_offsets",
                                    "4294967296",
                                    "\\",
                                    "c128"};

/// A file with a matrix, an array, metadata.
static const char *seed_file(lac_context *ctx, size_t *size) {
  static const int64_t shape[] = {3, 3}, offsets[] = {0, 2, 3, 4};
  static const int32_t columns[] = {0, 2, 1, 0};
  static const double values[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const char *const metadata[] = {"lacuna.dtype.A.values", "c128", "k\n", "v\"\\"};
  const lac_tensor t[] = {{"A.shape", "I64", 1, {2}, shape, sizeof shape},
                          {"A.offsets", "I64", 1, {4}, offsets, sizeof offsets},
                          {"A.columns", "I32", 1, {4}, columns, sizeof columns},
                          {"A.values", "F64", 2, {4, 2}, values, sizeof values},
                          {"b", "F32", 2, {2, 2}, values, 16}};
  const char *path = temporary_path("seed.safetensors");
  CHECK_OK(lac_tensors_save(ctx, path, 5, t, 2, metadata));
  return temporary_read(path, size);
}

/// Every byte of every tensor can be read, and what is asked for is given or refused.
static void check_open(lac_context *ctx, const lac_tensors *t) {
  lac_pattern *p = NULL;
  lac_array *a = NULL;
  unsigned sum = 0;
  for (int64_t i = 0; i < lac_tensors_count(t); ++i) {
    lac_tensor x = lac_tensors_get(t, i);
    CHECK_EQ(lac_tensors_find(t, x.name), i);
    for (size_t k = 0; k < x.bytes; ++k) sum += ((const unsigned char *)x.data)[k];
    if (lac_tensors_array(ctx, t, x.name, &a) != LAC_OK) CHECK(!a);
    lac_array_destroy(&a);
  }
  CHECK(sum < 100000);
  if (lac_tensors_matrix(ctx, t, "A", &p, &a) != LAC_OK) CHECK(!p && !a);
  lac_pattern_destroy(&p);
  lac_array_destroy(&a);
  lac_context_clear_error(ctx);
}

static int check_bytes(lac_context *ctx, const spoilt *s, int64_t fail_at) {
  lac_tensors *t = NULL;
  long long before = check_live_blocks();
  const char *path = temporary_bytes("f.safetensors", s->bytes, s->size);
  (void)lac_memory_fail_at(fail_at);
  lac_status status = lac_tensors_open(ctx, path, &t);
  if (status == LAC_OK) check_open(ctx, t);
  int64_t asked = lac_memory_fail_at(0);
  CHECK(status == LAC_OK || status == LAC_ERR_FORMAT || (fail_at && status == LAC_ERR_MEMORY));
  if (status != LAC_OK) CHECK(!t && *lac_context_error(ctx));
  lac_context_clear_error(ctx);
  lac_tensors_close(&t);
  CHECK_EQ(check_live_blocks(), before);
  return fail_at ? asked >= fail_at : status == LAC_OK;
}

/// Spoil a copy; half of the time only the header, with its length set right, so that the parser is reached.
static spoilt draw(random_state *r, const char *seed, size_t size) {
  size_t header = (unsigned char)seed[0] + 256 * (size_t)(unsigned char)seed[1];
  if (random_below(r, 2)) {
    spoilt all = spoil_start(seed, size);
    spoil(r, &all, words, (int)(sizeof words / sizeof *words));
    return all;
  }
  spoilt json = spoil_start(seed + 8, header);
  for (int64_t n = random_below(r, 3); n >= 0; --n) spoil(r, &json, words, (int)(sizeof words / sizeof *words));
  spoilt made = {scratch(size + json.size - header), size + json.size - header};
  for (int i = 0; i < 8; ++i) made.bytes[i] = (unsigned char)((uint64_t)json.size >> (8 * i));
  memcpy(made.bytes + 8, json.bytes, json.size);
  memcpy(made.bytes + 8 + json.size, seed + 8 + header, size - 8 - header);
  return made;
}

static void spoilt_files_open_or_are_refused(lac_context *ctx) {
  random_state r = random_start(95);
  size_t size = 0;
  const char *seed = seed_file(ctx, &size);
  int open = 0, trials = check_sweep(8000);
  for (int trial = 0; trial < trials; ++trial) {
    size_t mark = scratch_mark();
    spoilt s = draw(&r, seed, size);
    open += check_bytes(ctx, &s, 0);
    scratch_release(mark);
  }
  CHECK(open > 100 && open < trials - 100);
}

static void spoilt_files_with_failing_allocations_leave_nothing(lac_context *ctx) {
  random_state r = random_start(96);
  size_t size = 0;
  const char *seed = seed_file(ctx, &size);
  for (int trial = 0; trial < check_sweep(100); ++trial) {
    size_t mark = scratch_mark();
    spoilt s = draw(&r, seed, size);
    for (int64_t n = 1; check_bytes(ctx, &s, n); ++n) continue;
    scratch_release(mark);
  }
}

CHECK_MAIN(spoilt_files_open_or_are_refused, spoilt_files_with_failing_allocations_leave_nothing)
