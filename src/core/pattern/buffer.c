// SPDX-License-Identifier: Apache-2.0
/// @file buffer.c
/// Shared blocks of integers, with copies on devices.

#include "core/backend.h"
#include "core/pattern/pattern_impl.h"

struct lac_device_copy {
  struct lac_device_copy *next;
  lac_space *space;
  void *data;
  size_t bytes;
  void *stream;
};

static void copy_destroy(struct lac_device_copy *copy) {
  if (!copy) return;
  if (copy->data) copy->space->release(copy->space, copy->data, copy->bytes, copy->stream);
  lac_free(copy);
}

static void buffer_destroy(lac_object *object) {
  lac_buffer *b = (lac_buffer *)object;
  while (b->copies) {
    struct lac_device_copy *copy = b->copies;
    b->copies = copy->next;
    copy_destroy(copy);
  }
  pthread_mutex_destroy(&b->lock);
  lac_free(b->host);
  lac_free(b);
}

static const lac_kind buffer_kind = {"buffer", buffer_destroy};

static size_t integer_size(lac_index_type type) { return type == LAC_I32 ? sizeof(int32_t) : sizeof(int64_t); }

lac_status lac_buffer_create(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *b = NULL;
  size_t bytes = 0;

  LAC_CHECK(count >= 0 && !__builtin_mul_overflow((size_t)count, integer_size(type), &bytes), LAC_ERR_OVERFLOW,
            "buffer: %lld integers are more than fit", (long long)count);
  LAC_ALLOC(b, 1);
  b->host = lac_alloc(bytes);
  LAC_CHECK(b->host, LAC_ERR_MEMORY, "out of memory: %lld integers of %zu bytes", (long long)count, integer_size(type));
  lac_object_init(&b->object, &buffer_kind);
  pthread_mutex_init(&b->lock, NULL);
  b->type = type;
  b->count = count;
  *out = b, b = NULL;
done:
  lac_free(b);
  return status;
}

/// A copy where the context's kernels can read it.
static lac_status copy_create(lac_context *ctx, const lac_buffer *b, struct lac_device_copy **out) {
  lac_status status = LAC_OK;
  struct lac_device_copy *copy = NULL;
  size_t bytes = (size_t)b->count * integer_size(b->type);

  LAC_ALLOC(copy, 1);
  copy->space = ctx->space;
  copy->stream = LAC_EVERY_STREAM;
  copy->bytes = bytes ? bytes : 1;
  copy->data = copy->space->allocate(copy->space, copy->bytes, copy->stream);
  LAC_CHECK(copy->data, LAC_ERR_MEMORY, "out of memory: %zu bytes of indices on %s", bytes, copy->space->backend);
  if (bytes) LAC_TRY(ctx->backend->upload(ctx, copy->data, b->host, bytes));
  *out = copy, copy = NULL;
done:
  copy_destroy(copy);
  return status;
}

lac_status lac_buffer_on(lac_context *ctx, const lac_buffer *buffer, const void **out) {
  lac_status status = LAC_OK;
  lac_buffer *b = (lac_buffer *)buffer;  // only the list of copies changes, under the lock
  struct lac_device_copy *copy = NULL;

  if (ctx->space == &lac_host_space) {
    *out = b->host;
    return LAC_OK;
  }
  pthread_mutex_lock(&b->lock);
  for (copy = b->copies; copy && copy->space != ctx->space;) copy = copy->next;
  if (!copy) {
    LAC_TRY(copy_create(ctx, b, &copy));
    copy->next = b->copies;
    b->copies = copy;
  }
  *out = copy->data;
done:
  pthread_mutex_unlock(&b->lock);
  return status;
}
