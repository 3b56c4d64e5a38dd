// SPDX-License-Identifier: Apache-2.0
/// @file tensors.c
/// Open safetensors files: mapped, checked once, then looked up.

#include "io/tensors.h"

#include <stdlib.h>
#include <string.h>

static const char FUNCTION[] = "lac_tensors_open";

enum { LENGTH_BYTES = 8, LONGEST_HEADER = 100000000 };

size_t st_dtype_size(const char *dtype) {
  static const struct {
    const char *name;
    size_t size;
  } known[] = {{"F64", 8}, {"I64", 8},  {"U64", 8},     {"C64", 8},    {"F32", 4}, {"I32", 4},
               {"U32", 4}, {"F16", 2},  {"BF16", 2},    {"I16", 2},    {"U16", 2}, {"I8", 1},
               {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  for (size_t i = 0; dtype && i < sizeof known / sizeof *known; ++i) {
    if (strcmp(dtype, known[i].name) == 0) return known[i].size;
  }
  return 0;
}

// -- order -----------------------------------------------------------------------------------------------------------

static int by_place(const void *a, const void *b) {
  const st_item *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return strcmp(x->tensor.name, y->tensor.name);
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(const lac_tensor *const *)a)->name, (*(const lac_tensor *const *)b)->name);
}

static int by_key(const void *a, const void *b) { return strcmp(((const st_pair *)a)->key, ((const st_pair *)b)->key); }

/// Names come once, and so do the keys of the metadata.
static lac_status tensors_sort(lac_context *ctx, io_source from, lac_tensors *t) {
  lac_status status = LAC_OK;
  st_header *h = &t->header;

  LAC_ALLOC(t->by_name, h->count);
  if (h->count) qsort(h->items, (size_t)h->count, sizeof *h->items, by_place);
  for (int64_t i = 0; i < h->count; ++i) t->by_name[i] = &h->items[i].tensor;
  if (h->count) qsort(t->by_name, (size_t)h->count, sizeof *t->by_name, by_name);
  if (h->pair_count) qsort(h->pairs, (size_t)h->pair_count, sizeof *h->pairs, by_key);
  for (int64_t i = 1; i < h->count; ++i) {
    LAC_CHECK(strcmp(t->by_name[i - 1]->name, t->by_name[i]->name) != 0, LAC_ERR_FORMAT,
              "%s: '%s': the name '%.100s' comes twice", from.function, from.path, t->by_name[i]->name);
  }
  for (int64_t i = 1; i < h->pair_count; ++i) {
    LAC_CHECK(strcmp(h->pairs[i - 1].key, h->pairs[i].key) != 0, LAC_ERR_FORMAT,
              "%s: '%s': the key '%.100s' of the metadata comes twice", from.function, from.path, h->pairs[i].key);
  }
done:
  return status;
}

/// The data of the tensors follow one another and fill the rest of the file. Sets where each begins.
static lac_status tensors_place(lac_context *ctx, io_source from, lac_tensors *t, const char *data, size_t size) {
  lac_status status = LAC_OK;
  uint64_t at = 0;

  for (int64_t i = 0; i < t->header.count; ++i) {
    st_item *item = &t->header.items[i];
    LAC_CHECK(item->end <= size, LAC_ERR_FORMAT, "%s: '%s': '%.100s' ends at byte %llu, and the data have %zu bytes",
              from.function, from.path, item->tensor.name, (unsigned long long)item->end, size);
    LAC_CHECK(item->begin == at, LAC_ERR_FORMAT, "%s: '%s': '%.100s' begins at byte %llu, %s", from.function, from.path,
              item->tensor.name, (unsigned long long)item->begin,
              item->begin < at ? "inside the tensor before it" : "behind a gap");
    item->tensor.data = data + item->begin;
    at = item->end;
  }
  LAC_CHECK(at == size, LAC_ERR_FORMAT, "%s: '%s': %llu bytes of data belong to no tensor", from.function, from.path,
            (unsigned long long)(size - at));
done:
  return status;
}

// -- public ----------------------------------------------------------------------------------------------------------

static lac_status tensors_header_length(lac_context *ctx, io_source from, const io_bytes *bytes, size_t *out) {
  lac_status status = LAC_OK;
  uint64_t length = 0;

  LAC_CHECK(bytes->size >= LENGTH_BYTES, LAC_ERR_FORMAT, "%s: '%s' has %zu bytes and is no safetensors file",
            from.function, from.path, bytes->size);
  for (int i = LENGTH_BYTES - 1; i >= 0; --i) length = length << 8 | (unsigned char)bytes->data[i];
  LAC_CHECK(length <= bytes->size - LENGTH_BYTES, LAC_ERR_FORMAT,
            "%s: '%s' announces a header of %llu bytes and has %zu; it is cut off, or no safetensors file",
            from.function, from.path, (unsigned long long)length, bytes->size - LENGTH_BYTES);
  LAC_CHECK(length <= LONGEST_HEADER, LAC_ERR_FORMAT, "%s: '%s' has a header of %llu bytes; the format allows %d",
            from.function, from.path, (unsigned long long)length, LONGEST_HEADER);
  *out = (size_t)length;
done:
  return status;
}

lac_status lac_tensors_open(lac_context *ctx, const char *path, lac_tensors **out) {
  lac_status status = LAC_OK;
  io_source from = {FUNCTION, path, 0};
  lac_tensors *t = NULL;
  const char *json = NULL;
  size_t length = 0;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(out, LAC_ERR_ARG, "%s: out is NULL", FUNCTION);
  LAC_ALLOC(t, 1);
  LAC_TRY(io_bytes_open(ctx, from, &t->bytes));
  LAC_ALLOC(t->path, strlen(path) + 1);
  memcpy(t->path, path, strlen(path));
  LAC_TRY(tensors_header_length(ctx, from, &t->bytes, &length));
  json = t->bytes.data + LENGTH_BYTES;
  LAC_TRY(st_header_parse(ctx, from, json, length, &t->header));
  LAC_TRY(tensors_sort(ctx, from, t));
  LAC_TRY(tensors_place(ctx, from, t, json + length, t->bytes.size - LENGTH_BYTES - length));
  *out = t, t = NULL;
done:
  lac_tensors_close(&t);
  return status;
}

void lac_tensors_close(lac_tensors **tensors) {
  if (!tensors || !*tensors) return;
  lac_tensors *t = *tensors;
  io_bytes_close(&t->bytes);
  st_header_free(&t->header);
  lac_free((void *)t->by_name);
  lac_free(t->path);
  lac_free(t);
  *tensors = NULL;
}

int64_t lac_tensors_count(const lac_tensors *tensors) { return tensors ? tensors->header.count : 0; }

lac_tensor lac_tensors_get(const lac_tensors *tensors, int64_t i) {
  return tensors && i >= 0 && i < tensors->header.count ? tensors->header.items[i].tensor : (lac_tensor){0};
}

int64_t lac_tensors_find(const lac_tensors *tensors, const char *name) {
  lac_tensor wanted = {.name = name};
  const lac_tensor *key = &wanted;
  const lac_tensor *const *found = NULL;

  if (!tensors || !name || !tensors->header.count) return -1;
  found = bsearch(&key, tensors->by_name, (size_t)tensors->header.count, sizeof *tensors->by_name, by_name);
  return found ? (const st_item *)*found - tensors->header.items : -1;  // the tensor is the item's first member
}

const char *lac_tensors_metadata(const lac_tensors *tensors, const char *key) {
  st_pair wanted = {key, NULL};
  const st_pair *found = NULL;

  if (!tensors || !key || !tensors->header.pair_count) return NULL;
  found = bsearch(&wanted, tensors->header.pairs, (size_t)tensors->header.pair_count, sizeof wanted, by_key);
  return found ? found->text : NULL;
}
