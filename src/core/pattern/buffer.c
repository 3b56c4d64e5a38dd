// SPDX-License-Identifier: Apache-2.0
/// @file buffer.c
/// Shared blocks of integers, which are copied to where they are asked for.
///
/// A block is complete before it is shared, or one that counts, and never changes, so that a copy of it on any device
/// or on the host serves as well as the first.

#include "core/pattern/structure.h"

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

static size_t buffer_size(const lac_buffer *b) { return (size_t)b->count * lac_index_size(b->type); }

/// A buffer without memory.
static lac_status buffer_make(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *b = NULL;
  size_t bytes = 0;

  LAC_CHECK(count >= 0 && !__builtin_mul_overflow((size_t)count, lac_index_size(type), &bytes), LAC_ERR_OVERFLOW,
            "buffer: %lld integers are more than fit", (long long)count);
  LAC_ALLOC(b, 1);
  lac_object_init(&b->object, &buffer_kind);
  pthread_mutex_init(&b->lock, NULL);
  b->type = type;
  b->count = count;
  *out = b;
done:
  return status;
}

static lac_status buffer_take_host(lac_context *ctx, const lac_buffer *b, void **out) {
  lac_status status = LAC_OK;
  *out = lac_alloc(buffer_size(b));
  LAC_CHECK(*out, LAC_ERR_MEMORY, "out of memory: %lld integers of %zu bytes", (long long)b->count,
            lac_index_size(b->type));
done:
  return status;
}

/// Memory for a copy on the context's device.
static lac_status copy_create(lac_context *ctx, const lac_buffer *b, struct lac_device_copy **out) {
  lac_status status = LAC_OK;
  struct lac_device_copy *copy = NULL;
  size_t bytes = buffer_size(b);

  LAC_ALLOC(copy, 1);
  copy->space = ctx->space;
  copy->stream = LAC_EVERY_STREAM;
  copy->bytes = bytes ? bytes : 1;
  copy->data = copy->space->allocate(copy->space, copy->bytes, copy->stream);
  LAC_CHECK(copy->data, LAC_ERR_MEMORY, "out of memory: %zu bytes of indices on %s", bytes, copy->space->backend);
  *out = copy, copy = NULL;
done:
  copy_destroy(copy);
  return status;
}

lac_status lac_buffer_create(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out) {
  lac_status status = LAC_OK;
  lac_buffer *b = NULL;

  LAC_TRY(buffer_make(ctx, type, count, &b));
  LAC_TRY(buffer_take_host(ctx, b, &b->host));
  *out = b, b = NULL;
done:
  lac_object_release(b);
  return status;
}

lac_status lac_buffer_create_on(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out, void **data) {
  lac_status status = LAC_OK;
  lac_buffer *b = NULL;

  LAC_TRY(buffer_make(ctx, type, count, &b));
  if (ctx->space->is_host) {
    LAC_TRY(buffer_take_host(ctx, b, &b->host));
    *data = b->host;
  } else {
    LAC_TRY(copy_create(ctx, b, &b->copies));
    *data = b->copies->data;
  }
  *out = b, b = NULL;
done:
  lac_object_release(b);
  return status;
}

lac_status lac_buffer_create_counting(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out) {
  lac_status status = LAC_OK;
  LAC_TRY(buffer_make(ctx, type, count, out));
  (*out)->counts = true;
done:
  return status;
}

static void buffer_count(const lac_buffer *b, void *host) {
  for (int64_t i = 0; i < b->count && b->type == LAC_I32; ++i) ((int32_t *)host)[i] = (int32_t)i;
  for (int64_t i = 0; i < b->count && b->type == LAC_I64; ++i) ((int64_t *)host)[i] = i;
}

/// Copies are complete: any of them will do.
static lac_status buffer_download(lac_context *ctx, const lac_buffer *b, void *host) {
  lac_status status = LAC_OK;
  const struct lac_device_copy *copy = b->copies;

  LAC_CHECK(copy, LAC_ERR_BACKEND, "buffer: %lld integers are neither on the host nor on a device",
            (long long)b->count);
  LAC_CHECK(b->count == 0 || copy->space->fetch(copy->space, host, copy->data, buffer_size(b)), LAC_ERR_BACKEND,
            "buffer: %zu bytes of indices could not be copied from %s:%d to the host", buffer_size(b),
            copy->space->backend, copy->space->device);
done:
  return status;
}

/// The lock is held.
static lac_status buffer_fetch(lac_context *ctx, lac_buffer *b) {
  lac_status status = LAC_OK;
  void *host = NULL;

  LAC_TRY(buffer_take_host(ctx, b, &host));
  if (b->counts) {
    buffer_count(b, host);
  } else {
    LAC_TRY(buffer_download(ctx, b, host));
  }
  __atomic_store_n(&b->host, host, __ATOMIC_RELEASE);  // read without the lock
  host = NULL;
done:
  lac_free(host);
  return status;
}

lac_status lac_buffer_host(lac_context *ctx, const lac_buffer *buffer) {
  lac_status status = LAC_OK;
  lac_buffer *b = (lac_buffer *)buffer;  // only where copies are changes, under the lock

  if (!b || lac_buffer_is_host(b)) return LAC_OK;
  pthread_mutex_lock(&b->lock);
  if (!b->host) LAC_TRY(buffer_fetch(ctx, b));
done:
  pthread_mutex_unlock(&b->lock);
  return status;
}

int lac_buffer_device(const lac_buffer *buffer) {
  lac_buffer *b = (lac_buffer *)buffer;
  int device = -1;

  if (lac_buffer_is_host(b)) return -1;
  pthread_mutex_lock(&b->lock);
  if (b->copies && !b->copies->space->is_host) device = b->copies->space->device;
  pthread_mutex_unlock(&b->lock);
  return device;
}

lac_status lac_buffer_on(lac_context *ctx, const lac_buffer *buffer, const void **out) {
  lac_status status = LAC_OK;
  lac_buffer *b = (lac_buffer *)buffer;  // only the list of copies changes, under the lock
  struct lac_device_copy *copy = NULL, *made = NULL;

  if (ctx->space->is_host && lac_buffer_is_host(b)) {
    *out = b->host;
    return LAC_OK;
  }
  pthread_mutex_lock(&b->lock);
  for (copy = b->copies; copy && copy->space != ctx->space;) copy = copy->next;
  if (!copy && !b->host) LAC_TRY(buffer_fetch(ctx, b));
  if (!copy && !ctx->space->is_host) {
    LAC_TRY(copy_create(ctx, b, &made));
    if (b->count) LAC_TRY(ctx->backend->upload(ctx, made->data, b->host, buffer_size(b)));
    made->next = b->copies;
    copy = b->copies = made, made = NULL;
  }
  *out = copy ? copy->data : b->host;
done:
  pthread_mutex_unlock(&b->lock);
  copy_destroy(made);
  return status;
}

// -- lines between offsets -------------------------------------------------------------------------------------------

static lac_longest longest_here(const lac_buffer *offsets) {
  lac_longest longest = {0, 0, true};
  for (int64_t i = 0; i + 1 < offsets->count; ++i) {
    int64_t count = lac_buffer_get(offsets, i + 1) - lac_buffer_get(offsets, i);
    if (count > longest.count) longest.line = i, longest.count = count;
  }
  return longest;
}

static lac_longest longest_kept(const lac_buffer *offsets) {
  lac_buffer *b = (lac_buffer *)offsets;  // the lock alone changes
  pthread_mutex_lock(&b->lock);
  lac_longest longest = b->longest;
  pthread_mutex_unlock(&b->lock);
  return longest;
}

lac_status lac_buffer_longest(lac_context *ctx, const lac_buffer *offsets, lac_longest *out) {
  lac_status status = LAC_OK;
  lac_buffer *b = (lac_buffer *)offsets;  // only what is kept changes, under the lock
  lac_longest longest = longest_kept(offsets);

  if (!longest.is_known) {
    if (lac_buffer_is_host(b) || !lac_structure_of(ctx)) {
      LAC_TRY(lac_buffer_host(ctx, b));
      longest = longest_here(b);
    } else {
      LAC_TRY(lac_structure_of(ctx)->longest(ctx, b, &longest));
    }
    pthread_mutex_lock(&b->lock);
    b->longest = longest;
    pthread_mutex_unlock(&b->lock);
  }
  *out = longest;
done:
  return status;
}

bool lac_buffer_knows_longest(const lac_buffer *offsets) {
  return lac_buffer_is_host(offsets) || longest_kept(offsets).is_known;
}

lac_status lac_rows_host(lac_context *ctx, const lac_rows *rows) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_buffer_host(ctx, rows->offsets));
  LAC_TRY(lac_buffer_host(ctx, rows->columns));
  LAC_TRY(lac_buffer_host(ctx, rows->slots));
done:
  return status;
}
