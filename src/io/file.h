// SPDX-License-Identifier: Apache-2.0
/// @file file.h
/// Files as blocks of bytes: mapped for reading, unpacked where they are gzipped, written whole or not at all.

#ifndef LACUNA_IO_FILE_H
#define LACUNA_IO_FILE_H

#include <stdbool.h>

#include "core/context_impl.h"

/// Who reads which file: what every sentence begins with.
typedef struct io_source {
  const char *function, *path;
  int64_t most_bytes;  // that a few bytes of the file may ask for; 0: io_most_bytes decides
} io_source;

/// How much memory a file of `size` bytes may announce, beyond what it holds itself.
int64_t io_most_bytes(io_source from, size_t size);

/// The bytes of a file. Zeroed: closed.
typedef struct io_bytes {
  const char *data;
  size_t size;
  void *mapped;  // one of these holds the data
  size_t mapped_size;
  char *owned;
} io_bytes;

/// Map a regular file. Directories, pipes and devices are refused.
lac_status io_bytes_open(lac_context *ctx, io_source from, io_bytes *out);

/// Replace gzipped bytes by what they stand for; others are left alone.
lac_status io_bytes_unpack(lac_context *ctx, io_source from, io_bytes *bytes);

void io_bytes_close(io_bytes *bytes);

/// A file that is being written: in the folder of its target until it is finished.
typedef struct io_writer io_writer;

typedef enum io_packing { IO_PLAIN, IO_GZIP } io_packing;

lac_status io_writer_open(lac_context *ctx, io_source to, io_packing packing, io_writer **out);
lac_status io_writer_put(lac_context *ctx, io_writer *writer, const void *data, size_t size);

/// Complete the file and give it its name. The writer is to be closed still, whether this succeeds or not.
lac_status io_writer_finish(lac_context *ctx, io_writer *writer);

/// Free; a file that was not finished is removed. Accepts NULL, leaves NULL.
void io_writer_close(io_writer **writer);

/// Whether a path asks for a gzipped file.
bool io_path_is_gzip(const char *path);

// Gzip, of zlib: bytes in, bytes out.

typedef struct io_packer io_packer;

/// Where packed bytes go.
typedef lac_status io_sink(lac_context *ctx, void *self, const void *data, size_t size);

lac_status io_packer_open(lac_context *ctx, io_source to, io_packer **out);
lac_status io_packer_put(lac_context *ctx, io_packer *packer, const void *data, size_t size, bool last, io_sink *sink,
                         void *self);
void io_packer_close(io_packer **packer);

/// All that gzipped bytes stand for; `out` is to be freed by lac_free.
lac_status io_gunzip(lac_context *ctx, io_source from, const char *data, size_t size, char **out, size_t *out_size);

#endif
