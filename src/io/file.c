// SPDX-License-Identifier: Apache-2.0
/// @file file.c
/// Mapped files, and files that are renamed when they are whole.

#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// -- reading ---------------------------------------------------------------------------------------------------------

/// The size of an open file that can be mapped.
static lac_status bytes_measure(lac_context *ctx, io_source from, int file, size_t *out) {
  lac_status status = LAC_OK;
  struct stat about;

  LAC_CHECK(fstat(file, &about) == 0, LAC_ERR_FILE, "%s: cannot look at '%s': %s", from.function, from.path,
            strerror(errno));
  LAC_CHECK(!S_ISDIR(about.st_mode), LAC_ERR_FILE, "%s: '%s' is a directory; give the path of a file", from.function,
            from.path);
  LAC_CHECK(S_ISREG(about.st_mode), LAC_ERR_FILE,
            "%s: '%s' is a pipe or a device; copy what it holds to a file and give the path of that", from.function,
            from.path);
  *out = (size_t)about.st_size;
done:
  return status;
}

lac_status io_bytes_open(lac_context *ctx, io_source from, io_bytes *out) {
  lac_status status = LAC_OK;
  size_t size = 0;
  void *mapped = NULL;
  int file = -1;

  LAC_CHECK(from.path, LAC_ERR_ARG, "%s: the path is NULL", from.function);
  file = open(from.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not make us wait
  LAC_CHECK(file >= 0, LAC_ERR_FILE, "%s: cannot open '%s': %s", from.function, from.path, strerror(errno));
  LAC_TRY(bytes_measure(ctx, from, file, &size));
  if (size) {
    mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    LAC_CHECK(mapped != MAP_FAILED, LAC_ERR_FILE, "%s: cannot map the %zu bytes of '%s': %s", from.function, size,
              from.path, strerror(errno));
  }
  *out = (io_bytes){size ? mapped : "", size, mapped, size, NULL};
done:
  if (file >= 0) (void)close(file);
  return status;
}

void io_bytes_close(io_bytes *bytes) {
  if (bytes->mapped) (void)munmap(bytes->mapped, bytes->mapped_size);
  lac_free(bytes->owned);
  *bytes = (io_bytes){0};
}

int64_t io_most_bytes(io_source from, size_t size) {
  const int64_t floor = (int64_t)1 << 30, of_file = 64;
  return from.most_bytes ? from.most_bytes : floor + of_file * (int64_t)size;
}

lac_status io_bytes_unpack(lac_context *ctx, io_source from, io_bytes *bytes) {
  lac_status status = LAC_OK;
  char *text = NULL;
  size_t size = 0;

  if (bytes->size < 2 || memcmp(bytes->data, "\x1f\x8b", 2) != 0) goto done;
  LAC_TRY(io_gunzip(ctx, from, bytes->data, bytes->size, &text, &size));
  io_bytes_close(bytes);
  *bytes = (io_bytes){.data = text, .size = size, .owned = text};
done:
  return status;
}

bool io_path_is_gzip(const char *path) {
  size_t length = path ? strlen(path) : 0;
  return length >= 3 && strcmp(path + length - 3, ".gz") == 0;
}

// -- writing ---------------------------------------------------------------------------------------------------------

struct io_writer {
  io_source to;
  io_packer *packer;  // NULL: plain
  char *temporary;    // NULL: written in place, as devices and pipes are
  int file;
};

/// "PATH.<process>-<n>.part": no other call writes there.
static lac_status writer_name(lac_context *ctx, io_writer *w) {
  lac_status status = LAC_OK;
  static _Atomic int names;
  size_t size = strlen(w->to.path) + 64;

  LAC_ALLOC(w->temporary, size);
  (void)snprintf(w->temporary, size, "%s.%ld-%d.part", w->to.path, (long)getpid(), names++);
done:
  return status;
}

lac_status io_writer_open(lac_context *ctx, io_source to, io_packing packing, io_writer **out) {
  lac_status status = LAC_OK;
  io_writer *w = NULL;
  struct stat about;
  const char *name = to.path;

  LAC_CHECK(to.path, LAC_ERR_ARG, "%s: the path is NULL", to.function);
  LAC_ALLOC(w, 1);
  *w = (io_writer){.to = to, .file = -1};
  if (packing == IO_GZIP) LAC_TRY(io_packer_open(ctx, to, &w->packer));
  if (stat(to.path, &about) != 0 || S_ISREG(about.st_mode)) {
    LAC_TRY(writer_name(ctx, w));
    name = w->temporary;
  }
  w->file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  LAC_CHECK(w->file >= 0, LAC_ERR_FILE, "%s: cannot write '%s': %s", to.function, name, strerror(errno));
  *out = w, w = NULL;
done:
  io_writer_close(&w);
  return status;
}

/// All of the bytes to the file itself.
static lac_status writer_write(lac_context *ctx, void *self, const void *data, size_t size) {
  lac_status status = LAC_OK;
  const io_writer *w = self;
  const char *from = data;

  while (size > 0) {
    ssize_t done_now = write(w->file, from, size < ((size_t)1 << 30) ? size : (size_t)1 << 30);
    if (done_now < 0 && errno == EINTR) continue;
    LAC_CHECK(done_now > 0, LAC_ERR_FILE, "%s: cannot write '%s': %s", w->to.function, w->to.path, strerror(errno));
    from += done_now;
    size -= (size_t)done_now;
  }
done:
  return status;
}

lac_status io_writer_put(lac_context *ctx, io_writer *writer, const void *data, size_t size) {
  return writer->packer ? io_packer_put(ctx, writer->packer, data, size, false, writer_write, writer)
                        : writer_write(ctx, writer, data, size);
}

lac_status io_writer_finish(lac_context *ctx, io_writer *writer) {
  lac_status status = LAC_OK;
  io_source to = writer->to;
  int file = writer->file;

  if (writer->packer) LAC_TRY(io_packer_put(ctx, writer->packer, "", 0, true, writer_write, writer));
  writer->file = -1;
  LAC_CHECK(close(file) == 0, LAC_ERR_FILE, "%s: cannot write '%s': %s", to.function, to.path, strerror(errno));
  if (!writer->temporary) goto done;
  LAC_CHECK(rename(writer->temporary, to.path) == 0, LAC_ERR_FILE, "%s: cannot rename what was written to '%s': %s",
            to.function, to.path, strerror(errno));
  lac_free(writer->temporary);
  writer->temporary = NULL;
done:
  return status;
}

void io_writer_close(io_writer **writer) {
  io_writer *w = *writer;
  if (!w) return;
  if (w->file >= 0) (void)close(w->file);
  if (w->temporary) (void)unlink(w->temporary);
  io_packer_close(&w->packer);
  lac_free(w->temporary);
  lac_free(w);
  *writer = NULL;
}
