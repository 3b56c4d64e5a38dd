// SPDX-License-Identifier: Apache-2.0
/// Arrays: making, sharing, versions, refusals; batches.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/array_impl.h"
#include "core/pattern/pattern_impl.h"
#include "support/check.h"

static lac_array *array_of(lac_context *ctx, int64_t rows, int64_t cols) {
  lac_array *a = NULL;
  double data[64];
  for (int i = 0; i < 64; ++i) data[i] = i;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){rows, cols}, data, LAC_OWNERSHIP_COPY, &a));
  return a;
}

static void arrays_hold_what_was_written(lac_context *ctx) {
  lac_array *a = array_of(ctx, 3, 4), *copy = NULL;
  double back[12], other[12];
  CHECK_EQ(lac_array_count(a), 12);
  CHECK_EQ(lac_array_meta(a)->ndim, 2);
  CHECK_EQ(lac_array_meta(a)->shape[1], 4);
  CHECK_OK(lac_array_read(ctx, a, back));
  for (int i = 0; i < 12; ++i) CHECK(back[i] == i);
  for (int i = 0; i < 12; ++i) other[i] = -i;
  CHECK_OK(lac_array_clone(ctx, a, &copy));
  CHECK_OK(lac_array_write(ctx, a, other));
  CHECK_OK(lac_array_read(ctx, copy, back));
  for (int i = 0; i < 12; ++i) CHECK(back[i] == i);
  CHECK_OK(lac_array_fill(ctx, a, 2.5, 0));
  CHECK_OK(lac_array_read(ctx, a, back));
  for (int i = 0; i < 12; ++i) CHECK(back[i] == 2.5);
  lac_array_destroy(&a);
  lac_array_destroy(&copy);
  lac_array_destroy(&copy);
}

static void dtypes_have_sizes_and_names(lac_context *ctx) {
  (void)ctx;
  static const size_t sizes[] = {4, 8, 8, 16};
  static const char *const names[] = {"f32", "f64", "c64", "c128"};
  for (int d = 0; d < 4; ++d) {
    CHECK_EQ(lac_dtype_size((lac_dtype)d), sizes[d]);
    CHECK_TEXT(lac_dtype_name((lac_dtype)d), names[d]);
  }
  CHECK_EQ(lac_dtype_size((lac_dtype)9), 0);
  CHECK_EQ(lac_dtype_size((lac_dtype)-1), 0);
  CHECK_TEXT(lac_dtype_name((lac_dtype)9), "unknown dtype");
}

static void reshaped_arrays_share_memory_and_version(lac_context *ctx) {
  lac_array *a = array_of(ctx, 3, 4), *b = NULL;
  CHECK_OK(lac_array_reshape(ctx, a, 3, (int64_t[]){2, 2, 3}, &b));
  CHECK(lac_array_data(a) == lac_array_data(b));
  CHECK(!lac_array_is_sole(a) && !lac_array_is_sole(b));
  int64_t version = lac_array_version(a);
  CHECK(lac_array_edit(b) == lac_array_data(a));
  CHECK_EQ(lac_array_version(a), version + 1);
  lac_array_destroy(&a);
  CHECK(lac_array_is_sole(b));
  double back[12];
  CHECK_OK(lac_array_read(ctx, b, back));
  CHECK(back[11] == 11);
  CHECK_FAILS(lac_array_reshape(ctx, b, 1, (int64_t[]){11}, &a), LAC_ERR_SHAPE, "(2, 2, 3) holds 12");
  lac_array_destroy(&b);
}

static void borrowed_memory_is_used_as_it_is(lac_context *ctx) {
  if (strcmp(check_backend(), "cpu") != 0) return;
  float data[6] = {1, 2, 3, 4, 5, 6};
  lac_array *a = NULL, *b = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F32, 1, (int64_t[]){6}, data, LAC_OWNERSHIP_BORROW, &a));
  CHECK(lac_array_data(a) == data);
  CHECK(!lac_array_is_sole(a));
  lac_array_destroy(&a);
  void *own = malloc(6 * sizeof(float));
  CHECK_OK(lac_array_from(ctx, LAC_F32, 1, (int64_t[]){6}, own, LAC_OWNERSHIP_ADOPT, &b));
  CHECK(lac_array_data(b) == own);
  lac_array_destroy(&b);
}

static int adopted_freed;
static void count_adopted(lac_space *space, void *data) {
  (void)space;
  ++adopted_freed;
  free(data);
}

static void adopted_memory_stays_the_callers_when_adopting_fails(lac_context *ctx) {
  if (strcmp(check_backend(), "cpu") != 0) return;
  void (*adopted)(lac_space *, void *) = lac_host_space.adopted;
  int failures = 0;
  lac_array *a = NULL;
  lac_host_space.adopted = count_adopted;
  for (;; ++failures) {  // the storage, with the array's head
    double *own = malloc(4 * sizeof *own);
    lac_memory_fail_at(failures + 1);
    lac_status status = lac_array_from(ctx, LAC_F64, 1, (int64_t[]){4}, own, LAC_OWNERSHIP_ADOPT, &a);
    lac_memory_fail_at(0);
    CHECK_EQ(adopted_freed, 0);
    if (status == LAC_OK) break;
    CHECK_EQ(status, LAC_ERR_MEMORY);
    CHECK(!a);
    free(own);
  }
  CHECK_EQ(failures, 1);
  lac_array_destroy(&a);
  CHECK_EQ(adopted_freed, 1);
  lac_host_space.adopted = adopted;
}

static void memory_that_is_used_as_it_is_must_be_aligned(lac_context *ctx) {
  if (strcmp(check_backend(), "cpu") != 0) return;
  _Alignas(16) char bytes[64] = {0};
  float in[2] = {3, 4}, back[2];
  lac_array *a = NULL;
  int64_t one = 1, two = 2;
  CHECK_FAILS(lac_array_from(ctx, LAC_F32, 1, &two, bytes + 2, LAC_OWNERSHIP_BORROW, &a), LAC_ERR_ARG,
              "LAC_OWNERSHIP_COPY");
  CHECK_FAILS(lac_array_from(ctx, LAC_F64, 1, &two, bytes + 4, LAC_OWNERSHIP_ADOPT, &a), LAC_ERR_ARG,
              "8 bytes of a number of f64");
  CHECK_FAILS(lac_array_from(ctx, LAC_C128, 1, &one, bytes + 8, LAC_OWNERSHIP_BORROW, &a), LAC_ERR_ARG, "not aligned");
  CHECK(!a);
  CHECK_OK(lac_array_from(ctx, LAC_C64, 1, &one, bytes + 8, LAC_OWNERSHIP_BORROW, &a));
  lac_array_destroy(&a);
  memcpy(bytes + 1, in, sizeof in);
  CHECK_OK(lac_array_from(ctx, LAC_F32, 1, &two, bytes + 1, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_array_read(ctx, a, back));
  CHECK(back[0] == 3 && back[1] == 4);
  lac_array_destroy(&a);
  CHECK_FAILS(lac_array_from(ctx, LAC_F32, 1, &two, bytes, (lac_ownership)3, &a), LAC_ERR_ARG, "ownership 3");
  CHECK_FAILS(lac_array_from(ctx, (lac_dtype)9, 1, &two, bytes, LAC_OWNERSHIP_BORROW, &a), LAC_ERR_DTYPE, "dtype 9");
}

static void empty_and_single_arrays_are_legal(lac_context *ctx) {
  lac_array *empty = NULL, *single = NULL, *copy = NULL;
  double one = 0;
  CHECK_OK(lac_array_create(ctx, LAC_C128, 3, (int64_t[]){4, 0, 2}, &empty));
  CHECK_EQ(lac_array_count(empty), 0);
  CHECK_OK(lac_array_read(ctx, empty, NULL));
  CHECK_OK(lac_array_clone(ctx, empty, &copy));
  lac_array_destroy(&copy);
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){0}, NULL, LAC_OWNERSHIP_COPY, &copy));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 0, NULL, &single));
  CHECK_EQ(lac_array_count(single), 1);
  CHECK_OK(lac_array_fill(ctx, single, 7, 0));
  CHECK_OK(lac_array_read(ctx, single, &one));
  CHECK(one == 7);
  lac_array_destroy(&empty);
  lac_array_destroy(&single);
  lac_array_destroy(&copy);
}

static void impossible_shapes_are_refused(lac_context *ctx) {
  lac_array *a = NULL;
  int64_t big = (int64_t)1 << 40;
  CHECK_FAILS(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){3, -1}, &a), LAC_ERR_SHAPE, "(3, -1)");
  CHECK_FAILS(lac_array_create(ctx, LAC_F64, 3, (int64_t[]){big, 0, big}, &a), LAC_ERR_OVERFLOW, "64 bits");
  CHECK_FAILS(lac_array_create(ctx, LAC_F64, 9, NULL, &a), LAC_ERR_SHAPE, "9 dimensions");
  CHECK_FAILS(lac_array_create(ctx, LAC_F64, 1, NULL, &a), LAC_ERR_ARG, "shape is NULL");
  CHECK_FAILS(lac_array_create(ctx, (lac_dtype)7, 0, NULL, &a), LAC_ERR_DTYPE, "dtype 7");
  CHECK_FAILS(lac_array_create(ctx, LAC_F64, 0, NULL, NULL), LAC_ERR_ARG, "out is NULL");
  CHECK_FAILS(lac_array_from(ctx, LAC_F64, 0, NULL, NULL, LAC_OWNERSHIP_COPY, &a), LAC_ERR_ARG, "data is NULL");
  CHECK_FAILS(lac_array_clone(ctx, NULL, &a), LAC_ERR_ARG, "NULL");
  CHECK_FAILS(lac_array_create(ctx, LAC_F64, 1, &(int64_t){(int64_t)1 << 55}, &a), LAC_ERR_MEMORY, "out of memory");
  CHECK(!a);
}

static void metas_that_no_array_can_have_are_refused(lac_context *ctx) {
  const int64_t big = (int64_t)1 << 31;
  lac_array *a = NULL;
  lac_meta meta = {.dtype = LAC_F64, .ndim = 3, .shape = {big, 0, 3}};
  double number = 0;
  CHECK_OK(lac_meta_check(ctx, "who", &meta));
  CHECK_OK(lac_meta_check(ctx, "who", &(lac_meta){.dtype = LAC_C128}));
  meta.shape[2] = big;
  CHECK_FAILS(lac_meta_check(ctx, "who", &meta), LAC_ERR_OVERFLOW, "who: shape (2147483648, 0, 2147483648)");
  CHECK_FAILS(lac_array_make(ctx, &meta, &a), LAC_ERR_OVERFLOW, "64 bits");
  CHECK_FAILS(lac_array_wrap(ctx, &meta, &number, &a), LAC_ERR_OVERFLOW, "64 bits");
  meta.shape[2] = -1;
  CHECK_FAILS(lac_meta_check(ctx, "who", &meta), LAC_ERR_SHAPE, "who: dimension 2 of shape");
  meta.ndim = LAC_MAX_DIMS + 1;
  CHECK_FAILS(lac_meta_check(ctx, "who", &meta), LAC_ERR_SHAPE, "who: 9 dimensions");
  meta.ndim = -1;
  CHECK_FAILS(lac_meta_check(ctx, "who", &meta), LAC_ERR_SHAPE, "who: -1 dimensions");
  meta.dtype = (lac_dtype)4;
  CHECK_FAILS(lac_meta_check(ctx, "who", &meta), LAC_ERR_DTYPE, "who: dtype 4");
  CHECK_FAILS(lac_meta_check(ctx, "who", NULL), LAC_ERR_ARG, "who: the meta is NULL");
  CHECK(!a);
}

/// Everything that takes a context and an array, of which one is NULL.
static void refuse_missing(lac_context *ctx, lac_array *array, const char *words) {
  int64_t one = 1;
  double number = 0;
  lac_array *out = NULL;
  CHECK_FAILS(lac_array_clone(ctx, array, &out), LAC_ERR_ARG, words);
  CHECK_FAILS(lac_array_reshape(ctx, array, 1, &one, &out), LAC_ERR_ARG, words);
  CHECK_FAILS(lac_array_read(ctx, array, &number), LAC_ERR_ARG, words);
  CHECK_FAILS(lac_array_write(ctx, array, &number), LAC_ERR_ARG, words);
  CHECK_FAILS(lac_array_fill(ctx, array, 0, 0), LAC_ERR_ARG, words);
  if (!ctx) {
    CHECK_FAILS(lac_array_create(ctx, LAC_F64, 1, &one, &out), LAC_ERR_ARG, "lac_array_create: the context is NULL");
    CHECK_FAILS(lac_array_from(ctx, LAC_F64, 1, &one, &number, LAC_OWNERSHIP_COPY, &out), LAC_ERR_ARG,
                "lac_context_create");
  }
  CHECK(!out);
}

static void missing_contexts_and_arrays_are_refused(lac_context *ctx) {
  lac_array *a = array_of(ctx, 1, 1);
  refuse_missing(NULL, a, "context is NULL");
  refuse_missing(ctx, NULL, "array is NULL");
  refuse_missing(NULL, NULL, "context is NULL");
  CHECK(!lac_array_meta(NULL) && !lac_array_data(NULL) && !lac_array_edit(NULL) && !lac_array_retain(NULL));
  CHECK_EQ(lac_array_count(NULL), 0);
  CHECK_EQ(lac_array_version(NULL), 0);
  lac_array_destroy(&a);
}

static void failing_allocations_leave_nothing(lac_context *ctx) {
  long long before = check_live_blocks();
  double data[4] = {1, 2, 3, 4};
  lac_array *a = NULL, *b = NULL;
  for (int64_t n = 1;; ++n) {
    lac_memory_fail_at(n);
    lac_status status = lac_array_from(ctx, LAC_F64, 1, (int64_t[]){4}, data, LAC_OWNERSHIP_COPY, &a);
    if (status == LAC_OK) status = lac_array_reshape(ctx, a, 2, (int64_t[]){2, 2}, &b);
    int64_t asked = lac_memory_fail_at(0);
    lac_array_destroy(&a);
    lac_array_destroy(&b);
    CHECK_EQ(check_live_blocks(), before);
    if (asked < n) break;
    CHECK_EQ(status, LAC_ERR_MEMORY);
  }
}

static void *destroy_elsewhere(void *array) {
  lac_array *a = array;
  lac_array_destroy(&a);
  return NULL;
}

static void arrays_outlive_contexts_and_threads(lac_context *ctx) {
  lac_context *other = NULL;
  lac_array *a = NULL;
  pthread_t thread;
  CHECK_OK(lac_context_create(check_backend(), 0, &other));
  CHECK_OK(lac_array_create(other, LAC_F64, 1, (int64_t[]){100}, &a));
  CHECK(lac_array_retain((const lac_array *)a) == a);
  lac_context_destroy(&other);
  CHECK_EQ(pthread_create(&thread, NULL, destroy_elsewhere, a), 0);
  CHECK_EQ(pthread_join(thread, NULL), 0);
  CHECK_OK(lac_array_fill(ctx, a, 1, 0));
  lac_array_destroy(&a);
}

static void batches_join_with_broadcasting(lac_context *ctx) {
  (void)ctx;
  lac_meta a = {.ndim = 3, .shape = {2, 1, 9}}, x = {.ndim = 4, .shape = {1, 3, 5, 4}},
           y = {.ndim = 2, .shape = {5, 4}};
  lac_batch batch;
  lac_batch_init(&batch, 3, (const lac_meta *[]){&a, &x, &y}, (int[]){1, 2, 2});
  CHECK_EQ(batch.count, 6);
  for (int64_t i = 0; i < 6; ++i) {
    CHECK_EQ(lac_batch_item(&batch, 0, i), i / 3);
    CHECK_EQ(lac_batch_item(&batch, 1, i), i % 3);
    CHECK_EQ(lac_batch_item(&batch, 2, i), 0);
  }
  lac_meta none = {.ndim = 2, .shape = {0, 9}};
  lac_batch_init(&batch, 2, (const lac_meta *[]){&none, &y}, (int[]){1, 2});
  CHECK_EQ(batch.count, 0);
  lac_batch_init(&batch, 1, (const lac_meta *[]){&y}, (int[]){2});
  CHECK_EQ(batch.count, 1);
  CHECK_EQ(lac_batch_item(&batch, 0, 0), 0);
}

static void metas_compare_and_print(lac_context *ctx) {
  (void)ctx;
  lac_meta a = {.dtype = LAC_F32, .ndim = 2, .shape = {3, 4}}, b = a;
  char text[LAC_SHAPE_TEXT];
  CHECK(lac_meta_same(&a, &b));
  b.shape[1] = 5;
  CHECK(!lac_meta_same(&a, &b));
  b = a, b.dtype = LAC_F64;
  CHECK(!lac_meta_same(&a, &b));
  CHECK_EQ(lac_meta_count(&a), 12);
  CHECK_TEXT(lac_shape_text(2, a.shape, text), "(3, 4)");
  CHECK_TEXT(lac_shape_text(0, a.shape, text), "()");
  int64_t huge[8];
  for (int d = 0; d < 8; ++d) huge[d] = INT64_MAX;
  CHECK_EQ(lac_shape_text(8, huge, text)[LAC_SHAPE_TEXT - 2], ')');
}

static void buffers_hold_integers_where_kernels_are(lac_context *ctx) {
  lac_buffer *b = NULL;
  const void *there = NULL;
  CHECK_OK(lac_buffer_create(ctx, LAC_I32, 5, &b));
  for (int i = 0; i < 5; ++i) lac_buffer_set(b, i, i - 2);
  CHECK_EQ(lac_buffer_get(b, 0), -2);
  CHECK_OK(lac_buffer_on(ctx, b, &there));
  int32_t back[5];
  lac_array *view = NULL;
  CHECK_OK(lac_array_wrap(ctx, &(lac_meta){.dtype = LAC_F32, .ndim = 1, .shape = {5}}, (void *)there, &view));
  CHECK_OK(lac_array_read(ctx, view, back));
  for (int i = 0; i < 5; ++i) CHECK_EQ(back[i], i - 2);
  lac_array_destroy(&view);
  lac_object_release(b);
  CHECK_FAILS(lac_buffer_create(ctx, LAC_I64, INT64_MAX, &b), LAC_ERR_OVERFLOW, "more than fit");
}

CHECK_MAIN(arrays_hold_what_was_written, dtypes_have_sizes_and_names, reshaped_arrays_share_memory_and_version,
           borrowed_memory_is_used_as_it_is, adopted_memory_stays_the_callers_when_adopting_fails,
           memory_that_is_used_as_it_is_must_be_aligned, metas_that_no_array_can_have_are_refused,
           missing_contexts_and_arrays_are_refused, empty_and_single_arrays_are_legal, impossible_shapes_are_refused,
           failing_allocations_leave_nothing, arrays_outlive_contexts_and_threads, batches_join_with_broadcasting,
           metas_compare_and_print, buffers_hold_integers_where_kernels_are)
