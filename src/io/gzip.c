// SPDX-License-Identifier: Apache-2.0
/// @file gzip.c
/// Gzip by zlib, with the library's own memory. Without zlib: a sentence.

#include <string.h>

#include "io/file.h"

#ifdef LACUNA_HAVE_ZLIB
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, PIECE = 1 << 16, MOST_AT_ONCE = 1 << 30 };

static void *gzip_alloc(void *self, unsigned number, unsigned size) {
  (void)self;
  return lac_calloc(number, size);
}

static void gzip_free(void *self, void *block) {
  (void)self;
  lac_free(block);
}

// -- unpacking -------------------------------------------------------------------------------------------------------

/// What has come out so far.
typedef struct unpacked {
  char *data;
  size_t size, capacity, most;
} unpacked;

static lac_status unpacked_grow(lac_context *ctx, io_source from, unpacked *u) {
  lac_status status = LAC_OK;
  size_t capacity = u->capacity < u->most / 2 ? u->capacity * 2 : u->most;
  char *more = NULL;

  LAC_CHECK(capacity > u->capacity, LAC_ERR_FORMAT,
            "%s: '%s' is gzipped and unpacks to more than %zu bytes: raise most_bytes if that is meant", from.function,
            from.path, u->most);
  more = lac_realloc(u->data, capacity);
  LAC_CHECK(more, LAC_ERR_MEMORY, "%s: out of memory: '%s' unpacks to more than %zu bytes", from.function, from.path,
            u->capacity);
  u->data = more;
  u->capacity = capacity;
done:
  return status;
}

static unsigned at_once(size_t bytes) { return bytes < MOST_AT_ONCE ? (unsigned)bytes : MOST_AT_ONCE; }

/// One step of a stream; `ended` says that a member of the file is complete.
static lac_status gunzip_step(lac_context *ctx, io_source from, z_stream *z, size_t *left, unpacked *u, bool *ended) {
  lac_status status = LAC_OK;
  unsigned given = 0, room = 0;
  int result = 0;

  if (u->size == u->capacity) LAC_TRY(unpacked_grow(ctx, from, u));
  z->avail_in = given = at_once(*left);
  z->avail_out = room = at_once(u->capacity - u->size);
  z->next_out = (Bytef *)u->data + u->size;
  result = inflate(z, Z_NO_FLUSH);
  *left -= given - z->avail_in;
  u->size += room - z->avail_out;
  *ended = result == Z_STREAM_END;
  LAC_CHECK(result != Z_MEM_ERROR, LAC_ERR_MEMORY, "%s: out of memory while '%s' was unpacked", from.function,
            from.path);
  LAC_CHECK(!(result == Z_BUF_ERROR && *left == 0), LAC_ERR_FORMAT, "%s: '%s' is gzipped and ends too early",
            from.function, from.path);
  LAC_CHECK(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR, LAC_ERR_FORMAT,
            "%s: '%s' is gzipped and damaged: %s", from.function, from.path, z->msg ? z->msg : "no dictionary");
done:
  return status;
}

lac_status io_gunzip(lac_context *ctx, io_source from, const char *data, size_t size, char **out, size_t *out_size) {
  lac_status status = LAC_OK;
  z_stream z = {.zalloc = gzip_alloc, .zfree = gzip_free, .next_in = (z_const Bytef *)data};
  unpacked u = {.capacity = 4 * size < PIECE ? PIECE : 4 * size, .most = (size_t)io_most_bytes(from, size)};
  bool open = false, ended = false;
  size_t left = size;

  if (u.capacity > u.most) u.capacity = u.most;
  u.data = lac_alloc(u.capacity);
  LAC_CHECK(u.data, LAC_ERR_MEMORY, "%s: out of memory: %zu bytes", from.function, u.capacity);
  open = inflateInit2(&z, GZIP_WINDOW) == Z_OK;
  LAC_CHECK(open, LAC_ERR_MEMORY, "%s: out of memory: zlib cannot begin", from.function);
  while (left > 0 || !ended) {  // a file may have several members
    if (ended) (void)inflateReset(&z);
    LAC_TRY(gunzip_step(ctx, from, &z, &left, &u, &ended));
  }
  *out = u.data, u.data = NULL;
  *out_size = u.size;
done:
  if (open) (void)inflateEnd(&z);
  lac_free(u.data);
  return status;
}

// -- packing ---------------------------------------------------------------------------------------------------------

struct io_packer {
  z_stream z;
  unsigned char piece[PIECE];
};

lac_status io_packer_open(lac_context *ctx, io_source to, io_packer **out) {
  lac_status status = LAC_OK;
  io_packer *p = NULL;

  LAC_ALLOC(p, 1);
  p->z.zalloc = gzip_alloc;
  p->z.zfree = gzip_free;
  LAC_CHECK(deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK,
            LAC_ERR_MEMORY, "%s: out of memory: zlib cannot begin", to.function);
  *out = p, p = NULL;
done:
  lac_free(p);
  return status;
}

lac_status io_packer_put(lac_context *ctx, io_packer *p, const void *data, size_t size, bool last, io_sink *sink,
                         void *self) {
  lac_status status = LAC_OK;

  p->z.next_in = (z_const Bytef *)data;
  do {
    unsigned given = at_once(size);
    p->z.avail_in = given;
    do {
      p->z.next_out = p->piece;
      p->z.avail_out = PIECE;
      (void)deflate(&p->z, last && size == given ? Z_FINISH : Z_NO_FLUSH);
      LAC_TRY(sink(ctx, self, p->piece, PIECE - p->z.avail_out));
    } while (p->z.avail_out == 0);
    size -= given;
  } while (size > 0);
done:
  return status;
}

void io_packer_close(io_packer **packer) {
  if (!*packer) return;
  (void)deflateEnd(&(*packer)->z);
  lac_free(*packer);
  *packer = NULL;
}

#else

lac_status io_gunzip(lac_context *ctx, io_source from, const char *data, size_t size, char **out, size_t *out_size) {
  (void)data, (void)size, (void)out, (void)out_size;
  return lac_context_fail(ctx, LAC_ERR_UNSUPPORTED, __func__,
                          "%s: '%s' is gzipped, and this build has no zlib; unpack it with gunzip, or build with "
                          "LACUNA_ZLIB=ON",
                          from.function, from.path);
}

lac_status io_packer_open(lac_context *ctx, io_source to, io_packer **out) {
  (void)out;
  return lac_context_fail(ctx, LAC_ERR_UNSUPPORTED, __func__,
                          "%s: '%s' would be gzipped, and this build has no zlib; give a path without .gz, or build "
                          "with LACUNA_ZLIB=ON",
                          to.function, to.path);
}

lac_status io_packer_put(lac_context *ctx, io_packer *p, const void *data, size_t size, bool last, io_sink *sink,
                         void *self) {
  (void)ctx, (void)p, (void)data, (void)size, (void)last, (void)sink, (void)self;
  return LAC_ERR_UNSUPPORTED;
}

void io_packer_close(io_packer **packer) { *packer = NULL; }

#endif
