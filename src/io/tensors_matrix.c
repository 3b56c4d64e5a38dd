// SPDX-License-Identifier: Apache-2.0
/// @file tensors_matrix.c
/// Arrays and matrices in safetensors files:
///
///     c128 [...]         F64 [..., 2], and the metadata says "lacuna.dtype.NAME": "c128"
///     a matrix NAME      NAME.shape, NAME.offsets, NAME.columns, NAME.values: compressed rows

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/pattern/pattern_impl.h"
#include "io/tensors.h"
#include "io/values.h"

// -- arrays ----------------------------------------------------------------------------------------------------------

/// "AB" in memory of its own.
static lac_status join(lac_context *ctx, const char *a, const char *b, char **out) {
  lac_status status = LAC_OK;
  size_t size = strlen(a) + strlen(b) + 1;
  LAC_ALLOC(*out, size);
  (void)snprintf(*out, size, "%s%s", a, b);
done:
  return status;
}

/// A tensor by name, or a sentence.
static lac_status tensors_need(lac_context *ctx, const lac_tensors *tensors, const char *function, const char *name,
                               lac_tensor *out) {
  lac_status status = LAC_OK;
  int64_t i = lac_tensors_find(tensors, name);
  LAC_CHECK(i >= 0, LAC_ERR_ARG, "%s: '%s' has no tensor '%.100s'", function, tensors->path, name);
  *out = lac_tensors_get(tensors, i);
done:
  return status;
}

/// The meta of the array that a tensor is.
static lac_status tensor_meta(lac_context *ctx, const lac_tensors *tensors, const char *function, const lac_tensor *t,
                              lac_meta *out) {
  static const char *const words[] = {"F32", "F64", "C64"};
  lac_status status = LAC_OK;
  char *key = NULL;
  const char *mark = NULL;
  lac_meta meta = {.ndim = t->ndim};
  int dtype = 0;

  while (dtype < 3 && strcmp(t->dtype, words[dtype]) != 0) ++dtype;
  LAC_CHECK(
      dtype < 3, LAC_ERR_DTYPE,
      "%s: '%.100s' of '%s' has the dtype %s; Lacuna computes in F32, F64 and C64: convert it, or read it as it is "
      "with lac_tensors_get",
      function, t->name, tensors->path, t->dtype);
  LAC_TRY(join(ctx, ST_DTYPE_KEY, t->name, &key));
  mark = lac_tensors_metadata(tensors, key);
  meta.dtype = (lac_dtype)dtype;
  memcpy(meta.shape, t->shape, sizeof meta.shape);
  if (mark && strcmp(mark, "c128") == 0) {
    LAC_CHECK(dtype == LAC_F64 && t->ndim > 0 && t->shape[t->ndim - 1] == 2, LAC_ERR_FORMAT,
              "%s: '%.100s' of '%s' is said to be c128, which is F64 with a last axis of 2", function, t->name,
              tensors->path);
    meta.dtype = LAC_C128;
    meta.ndim -= 1;
  }
  *out = meta;
done:
  lac_free(key);
  return status;
}

lac_status lac_tensors_array(lac_context *ctx, const lac_tensors *tensors, const char *name, lac_array **out) {
  lac_status status = LAC_OK;
  lac_tensor t = {0};
  lac_meta meta = {0};

  LAC_CHECK_CONTEXT();
  LAC_CHECK(tensors && name && out, LAC_ERR_ARG, "lac_tensors_array: %s is NULL",
            !tensors ? "tensors"
            : !name  ? "name"
                     : "out");
  LAC_TRY(tensors_need(ctx, tensors, "lac_tensors_array", name, &t));
  LAC_TRY(tensor_meta(ctx, tensors, "lac_tensors_array", &t, &meta));
  LAC_TRY(lac_array_from(ctx, meta.dtype, meta.ndim, meta.shape, (void *)t.data, LAC_OWNERSHIP_COPY, out));
done:
  return status;
}

/// The tensor that an array becomes. The data are the array's own, or a copy that `owned` holds.
static lac_status tensor_of(lac_context *ctx, const char *function, const char *name, const lac_array *array,
                            lac_tensor *out, void **owned) {
  static const char *const words[] = {"F32", "F64", "C64", "F64"};
  lac_status status = LAC_OK;
  const lac_meta *meta = NULL;
  const void *data = NULL;

  LAC_CHECK(array && name, LAC_ERR_ARG, "%s: %s is NULL", function, array ? "a name" : "an array");
  meta = lac_array_meta(array);
  LAC_CHECK(meta->dtype != LAC_C128 || meta->ndim < LAC_MAX_DIMS, LAC_ERR_SHAPE,
            "%s: '%.100s' is c128 with %d dimensions and would need one more; reshape it", function, name, meta->ndim);
  LAC_TRY(io_values_on_host(ctx, function, array, &data, owned));
  *out = (lac_tensor){.name = name, .dtype = words[meta->dtype], .ndim = meta->ndim, .data = data};
  out->bytes = (size_t)lac_array_count(array) * lac_dtype_size(meta->dtype);
  memcpy(out->shape, meta->shape, sizeof out->shape);
  if (meta->dtype == LAC_C128) out->shape[out->ndim++] = 2;
done:
  return status;
}

/// What is to be written: tensors, and what they own.
typedef struct st_list {
  int64_t count, pairs;
  lac_tensor *tensors;
  void **copies;
  char **metadata;  // keys that are owned, and a literal after each
} st_list;

static lac_status list_open(lac_context *ctx, int64_t room, st_list *list) {
  lac_status status = LAC_OK;
  LAC_ALLOC(list->tensors, room);
  LAC_ALLOC(list->copies, room);
  LAC_ALLOC(list->metadata, 2 * room);
done:
  return status;
}

static void list_close(st_list *list) {
  for (int64_t i = 0; list->copies && i < list->count; ++i) lac_free(list->copies[i]);
  for (int64_t i = 0; list->metadata && i < list->pairs; ++i) lac_free(list->metadata[2 * i]);
  lac_free(list->tensors);
  lac_free((void *)list->copies);
  lac_free((void *)list->metadata);
}

static lac_status list_add(lac_context *ctx, st_list *list, const char *function, const char *name,
                           const lac_array *array) {
  static char c128[] = "c128";
  lac_status status = LAC_OK;
  int64_t i = list->count;

  LAC_TRY(tensor_of(ctx, function, name, array, &list->tensors[i], &list->copies[i]));
  ++list->count;
  if (lac_array_meta(array)->dtype == LAC_C128) {
    LAC_TRY(join(ctx, ST_DTYPE_KEY, name, &list->metadata[2 * list->pairs]));
    list->metadata[2 * list->pairs + 1] = c128;
    ++list->pairs;
  }
done:
  return status;
}

static lac_status list_save(lac_context *ctx, const st_list *list, const char *path) {
  return lac_tensors_save(ctx, path, list->count, list->tensors, list->pairs, (const char *const *)list->metadata);
}

lac_status lac_save_arrays(lac_context *ctx, const char *path, int64_t count, const char *const *names,
                           const lac_array *const *arrays) {
  lac_status status = LAC_OK;
  st_list list = {0};

  LAC_CHECK_CONTEXT();
  LAC_CHECK(count >= 0 && ((names && arrays) || count == 0), LAC_ERR_ARG,
            "lac_save_arrays: %" PRId64 " arrays; give 0 or more, and a name for each", count);
  LAC_TRY(list_open(ctx, count, &list));
  for (int64_t i = 0; i < count; ++i) LAC_TRY(list_add(ctx, &list, "lac_save_arrays", names[i], arrays[i]));
  LAC_TRY(list_save(ctx, &list, path));
done:
  list_close(&list);
  return status;
}

// -- matrices --------------------------------------------------------------------------------------------------------

enum { SHAPE, OFFSETS, COLUMNS, VALUES, PARTS };
static const char *const parts[PARTS] = {".shape", ".offsets", ".columns", ".values"};

static void names_free(char *names[PARTS]) {
  for (int i = 0; i < PARTS; ++i) lac_free(names[i]);
}

static lac_status names_make(lac_context *ctx, const char *name, char *names[PARTS]) {
  lac_status status = LAC_OK;
  for (int i = 0; i < PARTS; ++i) LAC_TRY(join(ctx, name, parts[i], &names[i]));
done:
  return status;
}

static lac_tensor tensor_of_buffer(const char *name, const lac_buffer *b) {
  size_t size = b->type == LAC_I32 ? sizeof(int32_t) : sizeof(int64_t);
  return (lac_tensor){name, b->type == LAC_I32 ? "I32" : "I64", 1, {b->count}, b->host, (size_t)b->count * size};
}

lac_status lac_save_matrix(lac_context *ctx, const char *path, const char *name, const lac_pattern *pattern,
                           const lac_array *values) {
  lac_status status = LAC_OK;
  char *names[PARTS] = {NULL}, shown[LAC_SHAPE_TEXT];
  st_list list = {0};
  int64_t shape[2] = {0};
  const lac_meta *meta = lac_array_meta(values);

  LAC_CHECK_CONTEXT();
  LAC_CHECK(name, LAC_ERR_ARG, "lac_save_matrix: name is NULL");
  LAC_TRY(lac_pattern_require_host(ctx, pattern, "lac_save_matrix"));
  LAC_CHECK(!meta || (meta->ndim > 0 && meta->shape[meta->ndim - 1] == pattern->nnz), LAC_ERR_SHAPE,
            "lac_save_matrix: the pattern has %" PRId64 " slots and the values have shape %s", pattern->nnz,
            lac_shape_text(meta->ndim, meta->shape, shown));
  LAC_TRY(names_make(ctx, name, names));
  LAC_TRY(list_open(ctx, PARTS, &list));
  shape[0] = pattern->rows, shape[1] = pattern->cols;
  list.tensors[list.count++] = (lac_tensor){names[SHAPE], "I64", 1, {2}, shape, sizeof shape};
  list.tensors[list.count++] = tensor_of_buffer(names[OFFSETS], pattern->offsets);
  list.tensors[list.count++] = tensor_of_buffer(names[COLUMNS], pattern->columns);
  if (values) LAC_TRY(list_add(ctx, &list, "lac_save_matrix", names[VALUES], values));
  LAC_TRY(list_save(ctx, &list, path));
done:
  names_free(names);
  list_close(&list);
  return status;
}

/// A list of integers as I64 in memory of its own, from I32 or I64 wherever it lies.
static lac_status tensor_integers(lac_context *ctx, const lac_tensors *tensors, const char *function, const char *name,
                                  int64_t *count, int64_t **out) {
  lac_status status = LAC_OK;
  lac_tensor t = {0};
  bool is_narrow = false;
  int32_t narrow = 0;

  LAC_TRY(tensors_need(ctx, tensors, function, name, &t));
  is_narrow = strcmp(t.dtype, "I32") == 0;
  LAC_CHECK(is_narrow || strcmp(t.dtype, "I64") == 0, LAC_ERR_FORMAT,
            "%s: '%.100s' of '%s' holds indices and has the dtype %s; they are I32 or I64", function, name,
            tensors->path, t.dtype);
  LAC_CHECK(t.ndim == 1, LAC_ERR_FORMAT, "%s: '%.100s' of '%s' has %d dimensions, not one", function, name,
            tensors->path, t.ndim);
  *count = t.shape[0];
  LAC_ALLOC(*out, *count);
  if (!is_narrow && t.bytes) memcpy(*out, t.data, t.bytes);
  for (int64_t i = 0; is_narrow && i < *count; ++i) {
    memcpy(&narrow, (const char *)t.data + 4 * i, sizeof narrow);
    (*out)[i] = narrow;
  }
done:
  return status;
}

/// The structure of a matrix, and the map of its entries.
static lac_status matrix_pattern(lac_context *ctx, const lac_tensors *tensors, char *const names[PARTS],
                                 lac_pattern **out, lac_map **map) {
  static const char function[] = "lac_tensors_matrix";
  lac_status status = LAC_OK;
  int64_t *lists[VALUES] = {NULL}, counts[VALUES] = {0};
  int64_t rows = 0, last = 0;

  for (int i = SHAPE; i < VALUES; ++i)
    LAC_TRY(tensor_integers(ctx, tensors, function, names[i], &counts[i], &lists[i]));
  LAC_CHECK(counts[SHAPE] == 2 && lists[SHAPE][0] >= 0 && lists[SHAPE][1] >= 0, LAC_ERR_FORMAT,
            "%s: '%.100s' of '%s' does not hold two sizes", function, names[SHAPE], tensors->path);
  rows = lists[SHAPE][0];
  LAC_CHECK(rows < INT64_MAX && counts[OFFSETS] == rows + 1, LAC_ERR_FORMAT,
            "%s: '%.100s' of '%s' has %" PRId64 " numbers, and %" PRId64 " rows need one more than that", function,
            names[OFFSETS], tensors->path, counts[OFFSETS], rows);
  last = lists[OFFSETS][rows];
  LAC_CHECK(last == counts[COLUMNS], LAC_ERR_FORMAT,
            "%s: the last offset of '%.100s' in '%s' is %" PRId64 ", and there are %" PRId64 " columns", function,
            names[OFFSETS], tensors->path, last, counts[COLUMNS]);
  LAC_TRY(lac_pattern_from_csr(ctx, rows, lists[SHAPE][1], LAC_I64, lists[OFFSETS], lists[COLUMNS], LAC_WIDTH_AUTO, out,
                               map));
done:
  for (int i = SHAPE; i < VALUES; ++i) lac_free(lists[i]);
  return status;
}

static lac_status matrix_values(lac_context *ctx, const lac_tensors *tensors, const char *name, const lac_map *map,
                                lac_array **out) {
  static const char function[] = "lac_tensors_matrix";
  lac_status status = LAC_OK;
  lac_tensor t = {0};
  lac_meta meta = {0};

  LAC_TRY(tensors_need(ctx, tensors, function, name, &t));
  LAC_TRY(tensor_meta(ctx, tensors, function, &t, &meta));
  LAC_CHECK(meta.ndim > 0 && meta.shape[meta.ndim - 1] == map->inputs, LAC_ERR_FORMAT,
            "%s: '%.100s' of '%s' does not have %" PRId64 " numbers, one for each column index", function, name,
            tensors->path, map->inputs);
  LAC_TRY(io_values_along(ctx, map, meta.dtype, meta.ndim, meta.shape, t.data, out));
done:
  return status;
}

lac_status lac_tensors_matrix(lac_context *ctx, const lac_tensors *tensors, const char *name, lac_pattern **pattern,
                              lac_array **values) {
  lac_status status = LAC_OK;
  char *names[PARTS] = {NULL};
  lac_pattern *made = NULL;
  lac_map *map = NULL;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(tensors && name && pattern, LAC_ERR_ARG, "lac_tensors_matrix: %s is NULL",
            !tensors ? "tensors"
            : !name  ? "name"
                     : "pattern");
  LAC_TRY(names_make(ctx, name, names));
  LAC_TRY(matrix_pattern(ctx, tensors, names, &made, &map));
  if (values) LAC_TRY(matrix_values(ctx, tensors, names[VALUES], map, values));
  *pattern = made, made = NULL;
done:
  names_free(names);
  lac_pattern_destroy(&made);
  lac_map_destroy(&map);
  return status;
}

lac_status lac_load_matrix(lac_context *ctx, const char *path, const char *name, lac_pattern **pattern,
                           lac_array **values) {
  lac_status status = LAC_OK;
  lac_tensors *tensors = NULL;

  LAC_TRY(lac_tensors_open(ctx, path, &tensors));
  LAC_TRY(lac_tensors_matrix(ctx, tensors, name, pattern, values));
done:
  lac_tensors_close(&tensors);
  return status;
}
