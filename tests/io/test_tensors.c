// SPDX-License-Identifier: Apache-2.0
/// Safetensors files: what is saved comes back; what is not such a file is refused.

#include <stdio.h>
#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/temporary.h"

/// A file of this header and so many bytes of data, 0, 1, 2, ...
static const char *file_of(const char *header, size_t data) {
  size_t length = strlen(header);
  unsigned char *bytes = scratch(8 + length + data);
  for (int i = 0; i < 8; ++i) bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
  memcpy(bytes + 8, header, length);
  for (size_t i = 0; i < data; ++i) bytes[8 + length + i] = (unsigned char)i;
  return temporary_bytes("t.safetensors", bytes, 8 + length + data);
}

#define T(name, dtype, shape, begin, end) \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void tensors_are_listed_in_the_order_of_their_data(lac_context *ctx) {
  lac_tensors *t = NULL;
  CHECK_OK(
      lac_tensors_open(ctx,
                       file_of("{ " T("b", "BF16", "[2,3]", 8, 20) ",\n\"__metadata__\" : {\"k\":\"v\\n\\u00e9\"},\t" T(
                                   "a", "F64", "[]", 0, 8) ", " T("", "I32", "[0]", 8, 8) "}   ",
                               20),
                       &t));
  CHECK_EQ(lac_tensors_count(t), 3);
  CHECK_TEXT(lac_tensors_get(t, 0).name, "a");
  CHECK_TEXT(lac_tensors_get(t, 1).name, "");
  lac_tensor b = lac_tensors_get(t, lac_tensors_find(t, "b"));
  CHECK(strcmp(b.dtype, "BF16") == 0 && b.ndim == 2 && b.shape[0] == 2 && b.shape[1] == 3 && b.bytes == 12);
  CHECK_EQ(*(const unsigned char *)b.data, 8);
  CHECK_EQ(lac_tensors_find(t, "c"), -1);
  CHECK(!lac_tensors_get(t, 3).name && !lac_tensors_get(t, -1).name && !lac_tensors_metadata(t, "j"));
  CHECK_TEXT(lac_tensors_metadata(t, "k"), "v\n\xc3\xa9");
  lac_array *a = NULL;
  CHECK_FAILS(lac_tensors_array(ctx, t, "b", &a), LAC_ERR_DTYPE,
              "has the dtype BF16; Lacuna computes in F32, F64 and C64");
  CHECK_FAILS(lac_tensors_array(ctx, t, "none", &a), LAC_ERR_ARG, "has no tensor 'none'");
  lac_tensors_close(&t);
  CHECK(!t);
}

static void check_refused(lac_context *ctx, const char *header, size_t data, const char *words) {
  lac_tensors *t = NULL;
  CHECK_FAILS(lac_tensors_open(ctx, file_of(header, data), &t), LAC_ERR_FORMAT, words);
  CHECK(!t);
}

static void headers_that_are_not_json_are_refused(lac_context *ctx) {
  check_refused(ctx, "", 0, "byte 0 of the header: a header begins with {");
  check_refused(ctx, " {}", 0, "a header begins with {");
  check_refused(ctx, "{", 0, "expected a text in double quotes");
  check_refused(ctx, "{}x", 0, "more than one object");
  check_refused(ctx, "{" T("a", "F64", "[1]", 0, 8) ",}", 8, "expected a text in double quotes");
  check_refused(ctx, "{" T("a", "F64", "[1]", 0, 8), 8, "expected , or } after a tensor");
  check_refused(ctx, "{\"a", 0, "the header ends within a text");
  check_refused(ctx, "{\"a\\", 0, "the header ends within a text");
  check_refused(ctx, "{\"a\\q\":{}}", 0, "an escape that JSON does not have");
  check_refused(ctx, "{\"a\\u12g4\":{}}", 0, "four hexadecimal digits");
  check_refused(ctx, "{\"a\\ud800\":{}}", 0, "half of a surrogate pair");
  check_refused(ctx, "{\"a\\udc00\":{}}", 0, "half of a surrogate pair");
  check_refused(ctx, "{\"a\\u0000\":{}}", 0, "a zero character");
  check_refused(ctx, "{\"a\n\":{}}", 0, "a control character");
  check_refused(ctx, "{\"\xc3\x28\":{}}", 0, "not UTF-8");
  check_refused(ctx, "{\"\xc0\x80\":{}}", 0, "not UTF-8");
  check_refused(ctx, "{\"\xed\xa0\x80\":{}}", 0, "not UTF-8");
  check_refused(ctx, "{\"\xf5\x80\x80\x80\":{}}", 0, "not UTF-8");
  check_refused(ctx, "{\"\xe2\x82\":{}}", 0, "not UTF-8");
}

static void tensors_that_do_not_fit_are_refused(lac_context *ctx) {
  check_refused(ctx, "{\"a\":[]}", 0, "expected a tensor");
  check_refused(ctx, "{\"a\":{}}", 0, "expected a text in double quotes");
  check_refused(ctx, "{\"a\":{\"dtype\":\"F64\",\"shape\":[1]}}", 8, "without dtype, shape or data_offsets");
  check_refused(ctx, "{\"a\":{\"dtype\":\"F64\",\"dtype\":\"F64\"}}", 8, "each once and no more");
  check_refused(ctx, "{\"a\":{\"color\":\"red\"}}", 8, "each once and no more");
  check_refused(ctx, "{" T("a", "F65", "[1]", 0, 8) "}", 8, "a dtype that is not known");
  check_refused(ctx, "{" T("a", "F64", "[-1]", 0, 8) "}", 8, "expected a whole number");
  check_refused(ctx, "{" T("a", "F64", "[1.0]", 0, 8) "}", 8, "expected , or ] in a list");
  check_refused(ctx, "{" T("a", "F64", "[01]", 0, 8) "}", 8, "a leading zero");
  check_refused(ctx, "{" T("a", "F64", "[1,1,1,1,1,1,1,1,1]", 0, 8) "}", 8, "more numbers than a list may have");
  check_refused(ctx, "{" T("a", "F64", "[99999999999999999999]", 0, 8) "}", 8, "beyond 64 bits");
  check_refused(ctx, "{" T("a", "F64", "[9223372036854775807]", 0, 8) "}", 8, "cannot be addressed");
  check_refused(ctx, "{" T("a", "F64", "[4294967296,4294967296]", 0, 0) "}", 0, "a shape that overflows");
  check_refused(ctx, "{" T("a", "F64", "[0,4294967296,4294967296]", 0, 0) "}", 0, "a shape that overflows");
  check_refused(ctx, "{" T("a", "F64", "[1]", 0, 7) "}", 7, "not as long as shape and dtype ask for");
  check_refused(ctx, "{" T("a", "F64", "[1]", 8, 0) "}", 8, "not as long as shape and dtype ask for");
  check_refused(ctx, "{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0]}}", 8,
                "data_offsets are two numbers");
  check_refused(ctx, "{" T("a", "F64", "[1]", 0, 8) "," T("a", "F64", "[1]", 8, 16) "}", 16,
                "the name 'a' comes twice");
  check_refused(ctx, "{" T("a", "F64", "[1]", 0, 8) "," T("b", "F64", "[1]", 4, 12) "}", 12,
                "inside the tensor before it");
  check_refused(ctx, "{" T("a", "F64", "[1]", 0, 8) "," T("b", "F64", "[1]", 9, 17) "}", 17, "behind a gap");
  check_refused(ctx, "{" T("a", "F64", "[1]", 0, 8) "}", 9, "1 bytes of data belong to no tensor");
  check_refused(ctx, "{" T("a", "F64", "[2]", 0, 16) "}", 15, "ends at byte 16, and the data have 15 bytes");
  check_refused(
      ctx, "{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[18446744073709551608,18446744073709551615]}}", 8,
      "not as long");
  check_refused(ctx, "{\"__metadata__\":{\"a\":1}}", 0, "expected a text");
  check_refused(ctx, "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "the key 'a' of the metadata comes twice");
  check_refused(ctx, "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ comes twice");
}

static void no_nesting_is_too_deep(lac_context *ctx) {
  enum { DEPTH = 1000000 };
  char *header = scratch(DEPTH + 6);
  memcpy(header, "{\"a\":", 5);
  memset(header + 5, '[', DEPTH);
  check_refused(ctx, header, 0, "expected a tensor");
  memset(header + 5, '{', DEPTH);
  check_refused(ctx, header, 0, "expected a text");
}

static void lengths_beyond_the_file_are_refused(lac_context *ctx) {
  unsigned char bytes[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{', '}'};
  lac_tensors *t = NULL;
  CHECK_FAILS(lac_tensors_open(ctx, temporary_bytes("t", bytes, 10), &t), LAC_ERR_FORMAT,
              "announces a header of 18446744073709551615 bytes and has 2");
  CHECK_FAILS(lac_tensors_open(ctx, temporary_bytes("t", bytes, 7), &t), LAC_ERR_FORMAT,
              "has 7 bytes and is no safetensors");
  CHECK_FAILS(lac_tensors_open(ctx, temporary_bytes("t", bytes, 0), &t), LAC_ERR_FORMAT, "has 0 bytes");
  CHECK_FAILS(lac_tensors_open(ctx, "/", &t), LAC_ERR_FILE, "is a directory");
  CHECK_FAILS(lac_tensors_open(ctx, NULL, &t), LAC_ERR_ARG, "the path is NULL");
}

static const lac_dtype dtypes[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};

static lac_array *values_of(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape) {
  random_state r = random_start(4);
  lac_array *a = NULL;
  CHECK_OK(lac_array_create(ctx, dtype, ndim, shape, &a));
  unsigned char *bytes = lac_array_edit(a);
  for (size_t i = 0; i < (size_t)lac_array_count(a) * lac_dtype_size(dtype); ++i)
    bytes[i] = (unsigned char)random_bits(&r);
  return a;
}

static void check_same(const lac_array *a, const lac_array *b) {
  const lac_meta *x = lac_array_meta(a), *y = lac_array_meta(b);
  CHECK_EQ(x->dtype, y->dtype);
  CHECK_EQ(x->ndim, y->ndim);
  CHECK(memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape) == 0);
  CHECK(memcmp(lac_array_data(a), lac_array_data(b), (size_t)lac_array_count(a) * lac_dtype_size(x->dtype)) == 0);
}

static void arrays_of_every_dtype_come_back(lac_context *ctx) {
  static const char *const names[] = {"f32", "line\n\"quote\"\\", "\xc3\xa9t\xc3\xa9", "", "none", "one"};
  static const int64_t shape[] = {3, 2, 5}, none[] = {0, 4};
  const char *path = temporary_path("a.safetensors");
  lac_tensors *t = NULL;
  lac_array *a[6] = {NULL}, *back = NULL;
  for (int i = 0; i < 4; ++i) a[i] = values_of(ctx, dtypes[i], 3, shape);
  a[4] = values_of(ctx, LAC_F32, 2, none), a[5] = values_of(ctx, LAC_C128, 0, NULL);
  CHECK_OK(lac_save_arrays(ctx, path, 6, names, (const lac_array *const *)a));
  CHECK_OK(lac_tensors_open(ctx, path, &t));
  CHECK_EQ(lac_tensors_count(t), 6);
  for (int i = 0; i < 6; ++i) {
    CHECK_EQ((uintptr_t)lac_tensors_get(t, i).data % (i < 5 ? 4 : 1), 0);
    CHECK_OK(lac_tensors_array(ctx, t, names[i], &back));
    check_same(a[i], back);
    lac_array_destroy(&back);
    lac_array_destroy(&a[i]);
  }
  lac_tensors_close(&t);
}

static void matrices_come_back(lac_context *ctx) {
  static const lac_width widths[] = {LAC_WIDTH_32_32, LAC_WIDTH_64_32, LAC_WIDTH_64_64};
  const char *path = temporary_path("a.safetensors");
  for (int c = 0; c < 12; ++c) {
    const sketch *s = c % 4 ? sketch_random(9, 7, 0.4, 5) : sketch_empty(3, 0);
    lac_pattern *p = NULL, *back = NULL;
    lac_array *values = NULL;
    CHECK_OK(sketch_pattern(ctx, s, widths[c / 4], &p));
    lac_array *a = values_of(ctx, dtypes[c % 4], c % 2 ? 1 : 2, c % 2 ? (int64_t[]){s->nnz} : (int64_t[]){2, s->nnz});
    CHECK_OK(lac_save_matrix(ctx, path, "A", p, a));
    CHECK_OK(lac_load_matrix(ctx, path, "A", &back, &values));
    CHECK(lac_pattern_same(p, back));
    check_same(a, values);
    lac_pattern_destroy(&back);
    CHECK_OK(lac_save_matrix(ctx, path, "A", p, NULL));
    CHECK_OK(lac_load_matrix(ctx, path, "A", &back, NULL));
    CHECK(lac_pattern_same(p, back));
    lac_pattern_destroy(&back);
    CHECK_FAILS(lac_load_matrix(ctx, path, "A", &back, &values), LAC_ERR_ARG, "has no tensor 'A.values'");
    CHECK_FAILS(lac_load_matrix(ctx, path, "B", &back, NULL), LAC_ERR_ARG, "has no tensor 'B.shape'");
    lac_array_destroy(&a);
    lac_array_destroy(&values);
    lac_pattern_destroy(&p);
  }
}

/// A matrix of others: unsorted, with a duplicate, 32 and 64 bits mixed, or wrong.
static lac_status foreign_matrix(lac_context *ctx, const int64_t *offsets, const int32_t *columns, int64_t shape0,
                                 lac_pattern **p, lac_array **a) {
  double values[] = {1, 2, 3, 4};
  int64_t shape[] = {shape0, 3};
  const lac_tensor t[] = {{"m.shape", "I64", 1, {2}, shape, sizeof shape},
                          {"m.offsets", "I64", 1, {3}, offsets, 3 * sizeof *offsets},
                          {"m.columns", "I32", 1, {4}, columns, 4 * sizeof *columns},
                          {"m.values", "F64", 1, {4}, values, sizeof values}};
  const char *path = temporary_path("m.safetensors");
  CHECK_OK(lac_tensors_save(ctx, path, 4, t, 0, NULL));
  return lac_load_matrix(ctx, path, "m", p, a);
}

static void matrices_of_others_are_put_in_order_or_refused(lac_context *ctx) {
  int64_t good[] = {0, 3, 4}, down[] = {0, 5, 4}, few[] = {0, 1, 3};
  int32_t columns[] = {2, 0, 2, 1}, wide[] = {2, 0, 3, 1};
  lac_pattern *p = NULL;
  lac_array *a = NULL;
  CHECK_OK(foreign_matrix(ctx, good, columns, 2, &p, &a));
  CHECK_EQ(lac_pattern_nnz(p), 3);
  const double *x = lac_array_data(a);
  CHECK(x[0] == 2 && x[1] == 4 && x[2] == 4);
  lac_pattern_destroy(&p);
  lac_array_destroy(&a);
  CHECK_FAILS(foreign_matrix(ctx, down, columns, 2, &p, &a), LAC_ERR_PATTERN, "offsets must not decrease");
  CHECK_FAILS(foreign_matrix(ctx, few, columns, 2, &p, &a), LAC_ERR_FORMAT, "is 3, and there are 4 columns");
  CHECK_FAILS(foreign_matrix(ctx, good, wide, 2, &p, &a), LAC_ERR_PATTERN, "columns[2] = 3 is outside");
  CHECK_FAILS(foreign_matrix(ctx, good, columns, 9, &p, &a), LAC_ERR_FORMAT, "9 rows need one more than that");
  CHECK_FAILS(foreign_matrix(ctx, good, columns, -1, &p, &a), LAC_ERR_FORMAT, "does not hold two sizes");
  CHECK_FAILS(foreign_matrix(ctx, good, columns, INT64_MAX, &p, &a), LAC_ERR_FORMAT, "need one more");
  CHECK(!p && !a);
}

static void what_cannot_be_saved_is_refused(lac_context *ctx) {
  const char *path = temporary_path("s.safetensors");
  double x[2] = {1, 2};
  lac_tensor t[2] = {{"a", "F64", 1, {2}, x, 16}, {"a", "F64", 1, {2}, x, 16}};
  CHECK_FAILS(lac_tensors_save(ctx, path, 2, t, 0, NULL), LAC_ERR_ARG, "the name 'a' comes twice");
  CHECK_FAILS(lac_tensors_save(ctx, path, 0, NULL, 2, (const char *const[]){"k", "v", "k", "w"}), LAC_ERR_ARG,
              "'k' comes twice");
  t[0].bytes = 15;
  CHECK_FAILS(lac_tensors_save(ctx, path, 1, t, 0, NULL), LAC_ERR_SHAPE, "has 15 bytes, and its shape asks for 16");
  t[0].dtype = "F80";
  CHECK_FAILS(lac_tensors_save(ctx, path, 1, t, 0, NULL), LAC_ERR_DTYPE, "'F80', which the format does not have");
  t[0].name = "\xff";
  CHECK_FAILS(lac_tensors_save(ctx, path, 1, t, 0, NULL), LAC_ERR_ARG, "is not UTF-8");
  t[0].name = "__metadata__";
  CHECK_FAILS(lac_tensors_save(ctx, path, 1, t, 0, NULL), LAC_ERR_ARG, "__metadata__");
  CHECK_FAILS(lac_tensors_save(ctx, path, -1, t, 0, NULL), LAC_ERR_ARG, "give 0 or more");
  CHECK_FAILS(lac_tensors_save(ctx, temporary_path("no/x"), 1, t + 1, 0, NULL), LAC_ERR_FILE, "cannot write");
}

static void every_allocation_may_fail(lac_context *ctx) {
  const sketch *s = sketch_random(9, 7, 0.4, 5);
  const char *path = temporary_path("f.safetensors");
  lac_pattern *p = NULL, *back = NULL;
  lac_array *values = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  lac_array *a = values_of(ctx, LAC_C128, 1, (int64_t[]){s->nnz});
  int files = temporary_count();
  long long before = check_live_blocks();
  for (int loading = 0; loading < 2; ++loading) {
    lac_status status = LAC_ERR_MEMORY;
    int64_t n = 0;
    while (status == LAC_ERR_MEMORY) {
      CHECK_EQ(check_live_blocks(), before);
      CHECK_EQ(temporary_count(), files + loading);
      (void)lac_memory_fail_at(++n);
      status = loading ? lac_load_matrix(ctx, path, "A", &back, &values) : lac_save_matrix(ctx, path, "A", p, a);
      (void)lac_memory_fail_at(0);
    }
    CHECK_OK(status);
    CHECK(n > 10);
  }
  lac_context_clear_error(ctx);
  check_same(a, values);
  lac_array_destroy(&values);
  lac_pattern_destroy(&back);
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(tensors_are_listed_in_the_order_of_their_data, headers_that_are_not_json_are_refused,
           tensors_that_do_not_fit_are_refused, no_nesting_is_too_deep, lengths_beyond_the_file_are_refused,
           arrays_of_every_dtype_come_back, matrices_come_back, matrices_of_others_are_put_in_order_or_refused,
           what_cannot_be_saved_is_refused, every_allocation_may_fail)
