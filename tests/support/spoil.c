// SPDX-License-Identifier: Apache-2.0
/// @file spoil.c
/// Random changes to a block of bytes.

#include "support/spoil.h"

#include <string.h>

#include "support/scratch.h"

spoilt spoil_start(const void *bytes, size_t size) {
  spoilt s = {scratch(size), size};
  memcpy(s.bytes, bytes, size);
  return s;
}

/// Replace [begin, end) by other bytes.
static void splice(spoilt *s, size_t begin, size_t end, const void *bytes, size_t size) {
  unsigned char *made = scratch(s->size - (end - begin) + size);
  memcpy(made, s->bytes, begin);
  memcpy(made + begin, bytes, size);
  memcpy(made + begin + size, s->bytes + end, s->size - end);
  s->bytes = made;
  s->size = s->size - (end - begin) + size;
}

void spoil(random_state *r, spoilt *s, const char *const *words, int count) {
  enum { LONGEST_PART = 24 };
  size_t at = (size_t)random_below(r, (int64_t)s->size + 1), length = (size_t)random_below(r, LONGEST_PART);
  size_t end = at + length < s->size ? at + length : s->size;
  const char *word = words[random_below(r, count)];
  unsigned char byte = (unsigned char)random_bits(r);

  switch (random_below(r, 6)) {
    case 0:
      if (at < s->size) s->bytes[at] ^= (unsigned char)(1U << (byte % 8));
      break;
    case 1:
      if (at < s->size) s->bytes[at] = byte;
      break;
    case 2:
      splice(s, at, end, "", 0);
      break;
    case 3:
      splice(s, at, at, s->bytes + at, end - at);
      break;
    case 4:
      if (random_below(r, 4) == 0) s->size = at;
      break;
    default:
      splice(s, at, random_below(r, 2) ? end : at, word, strlen(word));
  }
}
