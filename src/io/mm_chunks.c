// SPDX-License-Identifier: Apache-2.0
/// @file mm_chunks.c
/// The body of a Matrix Market file in pieces. A first pass counts the entries and lines of each piece, so that the second can
/// put every entry in its place and name every line, and nothing is allocated on the word of a header.

#include <string.h>

#include "io/mm.h"

enum { CHUNK_BYTES = 1 << 18 };

/// The beginning of the first line at or after `p`.
static const char *line_after(const char *begin, const char *p, const char *end) {
  if (p == begin || p >= end) return p < end ? p : end;
  const char *newline = memchr(p - 1, '\n', (size_t)(end - (p - 1)));
  return newline ? newline + 1 : end;
}

static void chunk_count(mm_chunk *c) {
  const char *p = c->begin, *begin = NULL, *end = NULL;
  while (mm_next_line(&p, c->end, &c->lines, &begin, &end)) ++c->entries;
}

lac_status mm_chunks_make(lac_context *ctx, const mm_head *head, mm_chunks *out) {
  lac_status status = LAC_OK;
  int64_t size = head->end - head->body, line = head->line, entry = 0;
  mm_chunks chunks = {.count = size / CHUNK_BYTES + 1, .threads = lac_structure_threads(ctx)};

  LAC_ALLOC(chunks.items, chunks.count);
  *out = chunks;
#pragma omp parallel for num_threads(chunks.threads) schedule(dynamic, 1) if (chunks.count > 1)
  for (int64_t i = 0; i < chunks.count; ++i) {
    mm_chunk *c = &chunks.items[i];
    c->begin = line_after(head->body, head->body + i * CHUNK_BYTES, head->end);
    c->end = i + 1 < chunks.count ? line_after(head->body, head->body + (i + 1) * CHUNK_BYTES, head->end) : head->end;
    chunk_count(c);
  }
  for (int64_t i = 0; i < chunks.count; ++i) {
    mm_chunk *c = &chunks.items[i];
    c->first_line = line, line += c->lines;
    c->first_entry = entry, entry += c->entries;
  }
done:
  return status;
}
