// SPDX-License-Identifier: Apache-2.0
/// @file mm_read.c
/// A Matrix Market file into a pattern and values, or into an array.

#include <inttypes.h>
#include <string.h>

#include "core/sized.h"
#include "kernels/kernels.h"
#include "io/mm.h"
#include "io/values.h"

#define READ_INFO LAC_SIZED(lac_mm_info, bytes)

static const char FUNCTION[] = "lac_read_matrix_market";

lac_mm_read_options lac_mm_read_options_defaults(void) {
  return (lac_mm_read_options){.size = sizeof(lac_mm_read_options)};
}

static lac_status read_check_options(lac_context *ctx, const lac_mm_read_options *o) {
  lac_status status = LAC_OK;
  LAC_CHECK(o->storage == LAC_MM_EXPANDED || o->storage == LAC_MM_AS_STORED, LAC_ERR_ARG,
            "%s: storage %d is neither LAC_MM_EXPANDED nor LAC_MM_AS_STORED", FUNCTION, (int)o->storage);
  LAC_CHECK(o->most_bytes >= 0, LAC_ERR_ARG, "%s: most_bytes = %" PRId64 " is negative", FUNCTION, o->most_bytes);
done:
  return status;
}

/// The dtype of a name, or `otherwise` for NULL.
static lac_status read_named_dtype(lac_context *ctx, const char *name, lac_dtype otherwise, lac_dtype *out) {
  lac_status status = LAC_OK;
  int dtype = LAC_F32;

  while (name && dtype <= LAC_C128 && strcmp(name, lac_dtype_name((lac_dtype)dtype)) != 0) dtype++;
  LAC_CHECK(dtype <= LAC_C128, LAC_ERR_ARG,
            "%s: there is no dtype \"%s\"; there are \"f32\", \"f64\", \"c64\" and \"c128\"", FUNCTION, name);
  *out = name ? (lac_dtype)dtype : otherwise;
done:
  return status;
}

static lac_status read_choose_dtype(lac_context *ctx, io_source from, const lac_mm_info *info, const char *asked,
                                    lac_dtype *out) {
  lac_status status = LAC_OK;
  bool is_complex = info->field == LAC_MM_COMPLEX;

  LAC_TRY(read_named_dtype(ctx, asked, is_complex ? LAC_C128 : LAC_F64, out));
  LAC_CHECK(!is_complex || lac_dtype_is_complex(*out), LAC_ERR_DTYPE,
            "%s: '%s' holds complex numbers, and %s was asked for; ask for c64 or c128", from.function, from.path,
            lac_dtype_name(*out));
done:
  return status;
}

/// Rows without entries cost memory too, and a header can announce any number of them.
static lac_status read_check_rows(lac_context *ctx, io_source from, const lac_mm_info *info) {
  lac_status status = LAC_OK;
  const int64_t a_row = 16;  // two offsets while the pattern is built

  LAC_CHECK(info->rows < io_most_bytes(from, (size_t)info->bytes) / a_row, LAC_ERR_FORMAT,
            "%s: '%s' announces %" PRId64 " rows in %" PRId64 " bytes of text; their offsets alone need %" PRId64
            " bytes: raise most_bytes if that is meant",
            from.function, from.path, info->rows, info->bytes,
            info->rows < INT64_MAX / a_row ? info->rows * a_row : INT64_MAX);
done:
  return status;
}

/// Entries without numbers count as ones, of which duplicates have several.
static lac_status read_ones(lac_context *ctx, const lac_map *map, lac_dtype dtype, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *ones = NULL, *values = NULL;
  int64_t entries = lac_map_inputs(map), slots = lac_map_outputs(map);

  LAC_TRY(lac_array_create(ctx, dtype, 1, &slots, &values));
  if (map->is_injective) {
    LAC_TRY(lac_array_fill(ctx, values, 1, 0));
  } else {
    LAC_TRY(lac_array_create(ctx, dtype, 1, &entries, &ones));
    LAC_TRY(lac_array_fill(ctx, ones, 1, 0));
    LAC_TRY(ctx->backend->kernels->remap(ctx, map, LAC_PLAIN, 0, ones, values));
  }
  *out = values, values = NULL;
done:
  lac_array_destroy(&ones);
  lac_array_destroy(&values);
  return status;
}

static lac_status read_matrix(lac_context *ctx, const lac_mm_info *info, const lac_mm_read_options *o,
                              const mm_entries *e, lac_pattern **pattern, lac_array **values) {
  lac_status status = LAC_OK;
  lac_pattern *made = NULL;
  lac_map *map = NULL;

  LAC_TRY(lac_pattern_from_coo(ctx, info->rows, info->cols, e->count, e->type, e->row, e->col, o->width, &made,
                               values ? &map : NULL));
  if (values && e->values) LAC_TRY(io_values_along(ctx, map, e->dtype, 1, &e->count, e->values, values));
  if (values && !e->values) LAC_TRY(read_ones(ctx, map, e->dtype, values));
  *pattern = made, made = NULL;
done:
  lac_pattern_destroy(&made);
  lac_map_destroy(&map);
  return status;
}

static lac_status read_text(lac_context *ctx, io_source from, const io_bytes *text, const lac_mm_read_options *o,
                            lac_pattern **pattern, lac_array **values, lac_mm_info *info) {
  lac_status status = LAC_OK;
  mm_head head = {0};
  mm_entries entries = {0};
  lac_dtype dtype = LAC_F64;
  bool is_array = false;

  LAC_TRY(mm_read_head(ctx, from, text, &head));
  is_array = head.info.format == LAC_MM_ARRAY;
  LAC_CHECK(pattern || is_array, LAC_ERR_ARG, "%s: pattern is NULL, and '%s' holds a sparse matrix", from.function,
            from.path);
  LAC_TRY(read_choose_dtype(ctx, from, &head.info, o->dtype, &dtype));
  if (!is_array) LAC_TRY(read_check_rows(ctx, from, &head.info));
  LAC_TRY(mm_read_entries(ctx, from, &head, o->storage, dtype, &entries));
  if (!is_array) {
    LAC_TRY(read_matrix(ctx, &head.info, o, &entries, pattern, values));
  } else {
    if (values)
      LAC_TRY(lac_array_from(ctx, dtype, 2, (int64_t[]){head.info.rows, head.info.cols}, entries.values,
                             LAC_OWNERSHIP_COPY, values));
    if (pattern) *pattern = NULL;
  }
  if (info) lac_sized_give(READ_INFO, &head.info, info);
done:
  mm_entries_free(&entries);
  return status;
}

lac_status lac_read_matrix_market(lac_context *ctx, const char *path, const lac_mm_read_options *options,
                                  lac_pattern **pattern, lac_array **values, lac_mm_info *info) {
  lac_status status = LAC_OK;
  lac_mm_read_options o;
  io_source from = {FUNCTION, path, 0};
  io_bytes text = {0};

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_sized_take(ctx, FUNCTION, LAC_SIZED(lac_mm_read_options, most_bytes), options, &o));
  LAC_TRY(read_check_options(ctx, &o));
  if (info) LAC_TRY(lac_sized_check(ctx, FUNCTION, READ_INFO, info));
  from.most_bytes = o.most_bytes;
  LAC_TRY(io_bytes_open(ctx, from, &text));
  LAC_TRY(io_bytes_unpack(ctx, from, &text));
  LAC_TRY(read_text(ctx, from, &text, &o, pattern, values, info));
done:
  io_bytes_close(&text);
  return status;
}
