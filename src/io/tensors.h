// SPDX-License-Identifier: Apache-2.0
/// @file tensors.h
/// Safetensors files inside:
///
///     8 bytes    the length n of the header, little-endian
///     n bytes    JSON: {"NAME": {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__":
///                {...}}
///     the rest   the data, without gaps

#ifndef LACUNA_IO_TENSORS_H
#define LACUNA_IO_TENSORS_H

#include "core/array_impl.h"
#include "io/file.h"
#include "lacuna/io.h"

/// A key of the metadata and its text.
typedef struct st_pair {
  const char *key, *text;
} st_pair;

/// A tensor of the header: where its bytes are, from the beginning of the data.
typedef struct st_item {
  lac_tensor tensor;
  uint64_t begin, end;
} st_item;

/// What a header says. Its texts lie in `texts`.
typedef struct st_header {
  char *texts;
  st_item *items;
  st_pair *pairs;
  int64_t count, room, pair_count, pair_room;
} st_header;

/// Parse the JSON of a header, strictly. Owned by `out`, also on failure.
lac_status st_header_parse(lac_context *ctx, io_source from, const char *json, size_t size, st_header *out);
void st_header_free(st_header *header);

struct lac_tensors {
  io_bytes bytes;
  st_header header;            // items by place, pairs by key
  const lac_tensor **by_name;  // as many as items
  char *path;
};

/// The bytes of one number of a dtype that the format has; 0: unknown, or not whole bytes.
size_t st_dtype_size(const char *dtype);

/// The key under which the metadata says that a tensor is an array of c128.
#define ST_DTYPE_KEY "lacuna.dtype."

/// Whether the text is UTF-8: no overlong forms, no surrogates.
bool st_is_utf8(const char *text, size_t size);

#endif
