// SPDX-License-Identifier: Apache-2.0
/// @file tensors_save.c
/// Safetensors files, written. Wide numbers come first and the header is padded, so that every tensor lies aligned.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/tensors.h"

static const char FUNCTION[] = "lac_tensors_save";

enum { ALIGNMENT = 64 };

/// A text that grows.
typedef struct st_text {
  char *data;
  size_t size, room;
} st_text;

static lac_status text_put(lac_context *ctx, st_text *t, const char *from, size_t size) {
  lac_status status = LAC_OK;
  if (t->size + size > t->room) {
    size_t room = 2 * (t->size + size) + 256;
    char *more = lac_realloc(t->data, room);
    LAC_CHECK(more, LAC_ERR_MEMORY, "%s: out of memory: %zu bytes", FUNCTION, room);
    t->data = more;
    t->room = room;
  }
  memcpy(t->data + t->size, from, size);
  t->size += size;
done:
  return status;
}

/// In double quotes, with what JSON wants escaped.
static lac_status text_put_quoted(lac_context *ctx, st_text *t, const char *from) {
  lac_status status = LAC_OK;
  char escape[8];

  LAC_TRY(text_put(ctx, t, "\"", 1));
  for (; *from; ++from) {
    unsigned char c = (unsigned char)*from;
    if (c >= ' ' && c != '"' && c != '\\') {
      LAC_TRY(text_put(ctx, t, from, 1));
      continue;
    }
    int length = snprintf(escape, sizeof escape, "\\u%04x", c);
    LAC_TRY(text_put(ctx, t, escape, (size_t)length));
  }
  LAC_TRY(text_put(ctx, t, "\"", 1));
done:
  return status;
}

static lac_status save_check(lac_context *ctx, const lac_tensor *t, int64_t i) {
  lac_status status = LAC_OK;
  lac_meta meta = {.dtype = LAC_F64, .ndim = t->ndim};
  size_t size = st_dtype_size(t->dtype);

  LAC_CHECK(t->name && st_is_utf8(t->name, strlen(t->name)), LAC_ERR_ARG, "%s: the name of tensor %" PRId64 " is %s",
            FUNCTION, i, t->name ? "not UTF-8" : "NULL");
  LAC_CHECK(strcmp(t->name, "__metadata__") != 0, LAC_ERR_ARG, "%s: no tensor can have the name __metadata__",
            FUNCTION);
  LAC_CHECK(size, LAC_ERR_DTYPE, "%s: '%.100s' has the dtype '%.20s', which the format does not have", FUNCTION,
            t->name, t->dtype ? t->dtype : "NULL");
  for (int d = 0; d < t->ndim && d < LAC_MAX_DIMS; ++d) meta.shape[d] = t->shape[d];
  LAC_TRY(lac_meta_check(ctx, FUNCTION, &meta));
  LAC_CHECK(t->bytes == size * (size_t)lac_meta_count(&meta), LAC_ERR_SHAPE,
            "%s: '%.100s' has %zu bytes, and its shape asks for %zu", FUNCTION, t->name, t->bytes,
            size * (size_t)lac_meta_count(&meta));
  LAC_CHECK(t->data || t->bytes == 0, LAC_ERR_ARG, "%s: the data of '%.100s' are NULL", FUNCTION, t->name);
done:
  return status;
}

static lac_status put_tensor(lac_context *ctx, st_text *json, const lac_tensor *t, size_t at) {
  lac_status status = LAC_OK;
  char part[96];
  int length = 0;

  LAC_TRY(text_put_quoted(ctx, json, t->name));
  length = snprintf(part, sizeof part, ":{\"dtype\":\"%s\",\"shape\":[", t->dtype);
  LAC_TRY(text_put(ctx, json, part, (size_t)length));
  for (int d = 0; d < t->ndim; ++d) {
    length = snprintf(part, sizeof part, "%s%" PRId64, d ? "," : "", t->shape[d]);
    LAC_TRY(text_put(ctx, json, part, (size_t)length));
  }
  length = snprintf(part, sizeof part, "],\"data_offsets\":[%zu,%zu]}", at, at + t->bytes);
  LAC_TRY(text_put(ctx, json, part, (size_t)length));
done:
  return status;
}

static lac_status put_metadata(lac_context *ctx, st_text *json, int64_t pairs, const char *const *metadata) {
  lac_status status = LAC_OK;

  LAC_TRY(text_put_quoted(ctx, json, "__metadata__"));
  LAC_TRY(text_put(ctx, json, ":{", 2));
  for (int64_t i = 0; i < 2 * pairs; ++i) {
    LAC_CHECK(metadata[i] && st_is_utf8(metadata[i], strlen(metadata[i])), LAC_ERR_ARG,
              "%s: text %" PRId64 " of the metadata is %s", FUNCTION, i, metadata[i] ? "not UTF-8" : "NULL");
    if (i) LAC_TRY(text_put(ctx, json, i % 2 ? ":" : ",", 1));
    LAC_TRY(text_put_quoted(ctx, json, metadata[i]));
  }
  LAC_TRY(text_put(ctx, json, "}", 1));
done:
  return status;
}

/// The header, padded with spaces; `order` receives the tensors as they shall lie.
static lac_status save_header(lac_context *ctx, int64_t count, const lac_tensor *tensors, int64_t pairs,
                              const char *const *metadata, st_text *json, int64_t *order) {
  lac_status status = LAC_OK;
  size_t at = 0;
  int64_t n = 0;

  LAC_TRY(text_put(ctx, json, "{", 1));
  if (pairs) LAC_TRY(put_metadata(ctx, json, pairs, metadata));
  for (size_t size = 8; size > 0; size /= 2) {
    for (int64_t i = 0; i < count; ++i) {
      if (st_dtype_size(tensors[i].dtype) != size) continue;
      if (n || pairs) LAC_TRY(text_put(ctx, json, ",", 1));
      LAC_TRY(put_tensor(ctx, json, &tensors[i], at));
      at += tensors[i].bytes;
      order[n++] = i;
    }
  }
  LAC_TRY(text_put(ctx, json, "}", 1));
  while ((json->size + 8) % ALIGNMENT) LAC_TRY(text_put(ctx, json, " ", 1));
done:
  return status;
}

/// A name or key that comes twice would give a file that cannot be opened.
static lac_status check_twice(lac_context *ctx, int64_t count, const char *const *names, int64_t stride) {
  lac_status status = LAC_OK;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      LAC_CHECK(strcmp(names[i * stride], names[j * stride]) != 0, LAC_ERR_ARG, "%s: the name '%.100s' comes twice",
                FUNCTION, names[i * stride]);
    }
  }
done:
  return status;
}

static lac_status save_check_all(lac_context *ctx, int64_t count, const lac_tensor *tensors, int64_t pairs,
                                 const char *const *metadata) {
  lac_status status = LAC_OK;
  const char **names = NULL;

  LAC_CHECK(count >= 0 && pairs >= 0 && (tensors || !count) && (metadata || !pairs), LAC_ERR_ARG,
            "%s: %" PRId64 " tensors and %" PRId64 " pairs of metadata; give 0 or more, and what they are", FUNCTION,
            count, pairs);
  LAC_ALLOC(names, count);
  for (int64_t i = 0; i < count; ++i) {
    LAC_TRY(save_check(ctx, &tensors[i], i));
    names[i] = tensors[i].name;
  }
  for (int64_t i = 0; i < 2 * pairs; ++i)
    LAC_CHECK(metadata[i], LAC_ERR_ARG, "%s: a text of the metadata is NULL", FUNCTION);
  LAC_TRY(check_twice(ctx, count, names, 1));
  LAC_TRY(check_twice(ctx, pairs, metadata, 2));
done:
  lac_free((void *)names);
  return status;
}

lac_status lac_tensors_save(lac_context *ctx, const char *path, int64_t count, const lac_tensor *tensors, int64_t pairs,
                            const char *const *metadata) {
  lac_status status = LAC_OK;
  io_writer *file = NULL;
  st_text json = {0};
  int64_t *order = NULL;
  unsigned char length[8] = {0};

  LAC_CHECK_CONTEXT();
  LAC_TRY(save_check_all(ctx, count, tensors, pairs, metadata));
  LAC_ALLOC(order, count);
  LAC_TRY(save_header(ctx, count, tensors, pairs, metadata, &json, order));
  for (int i = 0; i < 8; ++i) length[i] = (unsigned char)(json.size >> (8 * i));
  LAC_TRY(io_writer_open(ctx, (io_source){FUNCTION, path, 0}, IO_PLAIN, &file));
  LAC_TRY(io_writer_put(ctx, file, length, sizeof length));
  LAC_TRY(io_writer_put(ctx, file, json.data, json.size));
  for (int64_t i = 0; i < count; ++i)
    LAC_TRY(io_writer_put(ctx, file, tensors[order[i]].data, tensors[order[i]].bytes));
  LAC_TRY(io_writer_finish(ctx, file));
done:
  io_writer_close(&file);
  lac_free(json.data);
  lac_free(order);
  return status;
}
