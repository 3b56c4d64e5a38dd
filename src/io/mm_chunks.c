// SPDX-License-Identifier: Apache-2.0
/// @file mm_chunks.c
/// The body of a Matrix Market file in pieces. A first pass counts the entries and lines of each piece, so that the
/// second can put every entry in its place and name every line, and nothing is allocated on the word of a header.

#include <string.h>

#include "io/mm.h"

enum { CHUNK_BYTES = 1 << 18 };

/// A chunk begins with the first line that begins in [p, p + CHUNK_BYTES); NULL: none does. It looks no further, so
/// that all chunks together read the text once, though a line be as long as the file.
static void chunk_open(const mm_head *head, const char *p, mm_chunk *c) {
  int64_t left = head->end - (p - 1);
  const char *newline = NULL;

  c->begin = p;
  if (p == head->body) return;
  c->sought = left < CHUNK_BYTES ? left : CHUNK_BYTES;
  newline = memchr(p - 1, '\n', (size_t)c->sought);
  c->begin = newline ? newline + 1 : NULL;
  if (newline) c->sought = newline + 1 - (p - 1);
}

/// A chunk ends where the next one begins that has a line; one without lines is empty.
static void chunks_close(const mm_head *head, mm_chunks *chunks) {
  const char *next = head->end;
  for (int64_t i = chunks->count - 1; i >= 0; --i) {
    mm_chunk *c = &chunks->items[i];
    c->end = next;
    if (!c->begin) c->begin = next;
    next = c->begin;
  }
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
    chunk_open(head, head->body + i * CHUNK_BYTES, &chunks.items[i]);
  }
  chunks_close(head, &chunks);
#pragma omp parallel for num_threads(chunks.threads) schedule(dynamic, 1) if (chunks.count > 1)
  for (int64_t i = 0; i < chunks.count; ++i) chunk_count(&chunks.items[i]);
  for (int64_t i = 0; i < chunks.count; ++i) {
    mm_chunk *c = &chunks.items[i];
    c->first_line = line, line += c->lines;
    c->first_entry = entry, entry += c->entries;
  }
done:
  return status;
}
