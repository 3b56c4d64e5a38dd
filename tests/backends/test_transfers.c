// SPDX-License-Identifier: Apache-2.0
/// Bytes that are copied between the host and a device are counted: all of them, and those of values.

#include "kernel_check.h"
#include "solvers/survey/survey.h"

static lac_memory_stats stats_now(void) { return memory_now(check_backend()); }

/// What is expected, where the host is no device.
static int64_t moved(const lac_context *ctx, int64_t bytes) { return ctx->space->is_host ? 0 : bytes; }

static void arrays_are_counted_both_ways(lac_context *ctx) {
  double numbers[100] = {1};
  lac_array *array = NULL;
  lac_memory_stats before = stats_now(), after;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){100}, numbers, LAC_OWNERSHIP_COPY, &array));
  CHECK_OK(lac_array_write(ctx, array, numbers));
  CHECK_OK(lac_array_read(ctx, array, numbers));
  after = stats_now();
  CHECK_EQ(after.values_to_device_bytes - before.values_to_device_bytes, moved(ctx, 1600));
  CHECK_EQ(after.values_to_host_bytes - before.values_to_host_bytes, moved(ctx, 800));
  CHECK_EQ(after.to_device_bytes - before.to_device_bytes, moved(ctx, 1600));
  CHECK_EQ(after.to_host_bytes - before.to_host_bytes, moved(ctx, 800));
  lac_array_destroy(&array);
}

/// Indices go to the device once; a product moves no values at all.
static void products_move_no_values(lac_context *ctx) {
  const sketch *s = sketch_square(40, 0.2, 1);
  lac_pattern *pattern = NULL;
  subject a = subject_in(ctx, (lac_meta){.dtype = LAC_F64, .ndim = 1, .shape = {s->nnz}}, 1);
  subject x = subject_in(ctx, (lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {40, 2}}, 2);
  subject y = subject_out(ctx, (lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {40, 2}});
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  for (int round = 0; round < 2; ++round) {
    lac_memory_stats before = stats_now(), after;
    CHECK_OK(ctx->kernels->spmm(ctx, pattern, LAC_PLAIN, a.array, x.array, y.array));
    after = stats_now();
    CHECK_EQ(after.values_to_device_bytes - before.values_to_device_bytes, 0);
    CHECK_EQ(after.to_host_bytes - before.to_host_bytes, 0);
    if (round == 1) CHECK_EQ(after.to_device_bytes - before.to_device_bytes, 0);
  }
  lac_pattern_destroy(&pattern);
  lac_array_destroy(&a.array);
  lac_array_destroy(&x.array);
  lac_array_destroy(&y.array);
}

/// A few words come back, and none of them is a value.
static void values_are_judged_where_they_lie(lac_context *ctx) {
  CHECK(ctx->kernels->survey);
  const sketch *s = sketch_symmetric(300, 0.1, 1);
  subject a = subject_in(ctx, (lac_meta){.dtype = LAC_F64, .ndim = 2, .shape = {1, s->nnz}}, 1);
  lac_pattern *pattern = NULL;
  lac_memory_stats before, after;
  lac_survey survey;
  uint64_t hash[2];
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &pattern));
  before = stats_now();
  CHECK_OK(ctx->kernels->hash(ctx, a.array, hash));
  CHECK_EQ(stats_now().to_host_bytes - before.to_host_bytes, moved(ctx, 16));
  CHECK_OK(lac_survey_glance(ctx, pattern, a.array, &survey));
  after = stats_now();
  CHECK_EQ(after.values_to_host_bytes - before.values_to_host_bytes, 0);
  CHECK(after.to_host_bytes - before.to_host_bytes < 512);
  lac_array_destroy(&a.array);
  lac_pattern_destroy(&pattern);
}

CHECK_MAIN(arrays_are_counted_both_ways, products_move_no_values, values_are_judged_where_they_lie)
