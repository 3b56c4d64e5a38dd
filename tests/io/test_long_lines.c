// SPDX-License-Identifier: Apache-2.0
/// Matrix Market files whose lines are as long as they are: read in one pass, and refused by the line.

#include <string.h>

#include "io/mm.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/temporary.h"

#define BANNER "%%MatrixMarket matrix "

enum { LINE = 8 << 20 };

/// A file whose only entry has a number of LINE digits, behind a comment as long; its path.
static const char *file_of_long_lines(const char *name) {
  const char head[] = BANNER "coordinate real general\n%", sizes[] = "\n2 2 1\n1 2 ";
  char *text = scratch(2 * (size_t)LINE + sizeof head + sizeof sizes), *p = text;
  p = (char *)memcpy(p, head, sizeof head - 1) + sizeof head - 1;
  p = (char *)memset(p, 'c', LINE) + LINE;
  p = (char *)memcpy(p, sizes, sizeof sizes - 1) + sizeof sizes - 1;
  p = (char *)memset(p, '7', LINE) + LINE;
  return temporary_bytes(name, text, (size_t)(p - text));
}

static void a_number_as_long_as_the_file_is_refused_by_its_line(lac_context *ctx) {
  lac_pattern *p = NULL;
  CHECK_FAILS(lac_read_matrix_market(ctx, file_of_long_lines("long.mtx"), NULL, &p, NULL, NULL), LAC_ERR_FORMAT,
              "line 4: '777777777777777777777777...' goes on for 8388608 characters; numbers of at most 4095 are read");
  CHECK(!p);
}

// What is read to cut the text is counted: once in all, and not once for each chunk that a line runs through.
static void long_lines_are_read_once(lac_context *ctx) {
  size_t size = 0;
  const char *text = temporary_read(file_of_long_lines("long.mtx"), &size);
  mm_head head = {.body = text, .end = text + size, .line = 1};
  mm_chunks chunks = {0};
  int64_t sought = 0, entries = 0, lines = 0;
  const char *begin = text;

  CHECK_OK(mm_chunks_make(ctx, &head, &chunks));
  CHECK(chunks.count > 32);
  for (int64_t i = 0; i < chunks.count; ++i) {
    const mm_chunk *c = &chunks.items[i];
    CHECK(c->begin == begin && c->end >= begin);
    begin = c->end;
    sought += c->sought, entries += c->entries, lines += c->lines;
  }
  CHECK(begin == head.end);
  CHECK_EQ(entries, 2);  // the line of sizes is one here
  CHECK_EQ(lines, 4);
  CHECK(sought <= (int64_t)size + chunks.count);
  lac_free(chunks.items);
}

CHECK_MAIN(a_number_as_long_as_the_file_is_refused_by_its_line, long_lines_are_read_once)
