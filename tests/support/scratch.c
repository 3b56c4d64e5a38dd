// SPDX-License-Identifier: Apache-2.0
/// @file scratch.c
/// A stack of blocks.

#include "support/scratch.h"

#include <stdio.h>
#include <stdlib.h>

static void **blocks;
static size_t count, capacity;

static void *or_die(void *block) {
  if (block) return block;
  (void)fputs("a test is out of memory\n", stderr);
  exit(1);
}

void *scratch(size_t bytes) {
  if (count == capacity) {
    capacity = capacity ? 2 * capacity : 1024;
    blocks = or_die(realloc(blocks, capacity * sizeof *blocks));
  }
  return blocks[count++] = or_die(calloc(1, bytes ? bytes : 1));
}

size_t scratch_mark(void) { return count; }

void scratch_release(size_t mark) {
  while (count > mark) free(blocks[--count]);
  if (count) return;
  free(blocks);
  blocks = NULL;
  capacity = 0;
}
