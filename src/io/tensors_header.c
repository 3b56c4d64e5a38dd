// SPDX-License-Identifier: Apache-2.0
/// @file tensors_header.c
/// The header of a safetensors file: JSON of one shape, read by a parser that knows no other. It does not recurse, so
/// no nesting is too deep for it, and what it keeps is never longer than what it reads.

#include <inttypes.h>
#include <string.h>

#include "io/tensors.h"

/// Where the parser is, and what is wrong there.
typedef struct st_parser {
  const char *p, *end;
  char *text;  // where the next string goes
  st_header *out;
  const char *fault;
  lac_status status;
} st_parser;

static bool parser_fail(st_parser *s, const char *fault) {
  if (!s->fault) s->fault = fault;
  return false;
}

static void skip_space(st_parser *s) {
  while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r')) ++s->p;
}

/// The next character that is not space, if it is this one.
static bool accept(st_parser *s, char c) {
  skip_space(s);
  if (s->p == s->end || *s->p != c) return false;
  ++s->p;
  return true;
}

static bool expect(st_parser *s, char c, const char *fault) { return accept(s, c) || parser_fail(s, fault); }

// -- strings ---------------------------------------------------------------------------------------------------------

/// The length of the UTF-8 sequence at `p`, or 0.
static size_t utf8_length(const unsigned char *p, size_t left) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
  if (n <= 1 || n > left) return n == 1 ? 1 : 0;
  uint32_t code = p[0] & (0x7fU >> n);
  for (size_t i = 1; i < n; ++i) {
    if ((p[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (p[i] & 0x3f);
  }
  return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

bool st_is_utf8(const char *text, size_t size) {
  for (size_t i = 0; i < size;) {
    size_t n = utf8_length((const unsigned char *)text + i, size - i);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

static void put_code(st_parser *s, uint32_t code) {
  static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  int n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int i = n - 1; i > 0; --i, code >>= 6) s->text[i] = (char)(0x80 | (code & 0x3f));
  s->text[0] = (char)(heads[n] | code);
  s->text += n;
}

static bool scan_hex(st_parser *s, uint32_t *out) {
  uint32_t code = 0;
  if (s->end - s->p < 4) return parser_fail(s, "\\u needs four hexadecimal digits");
  for (int i = 0; i < 4; ++i) {
    int c = (unsigned char)*s->p++, low = c | 32;
    int digit = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
    if (digit < 0) return parser_fail(s, "\\u needs four hexadecimal digits");
    code = code << 4 | (uint32_t)digit;
  }
  *out = code;
  return true;
}

/// What follows "\u": one code, or the two halves of one.
static bool scan_unicode(st_parser *s) {
  uint32_t code = 0, low = 0;
  if (!scan_hex(s, &code)) return false;
  if (code >= 0xd800 && code < 0xdc00) {
    if (s->end - s->p < 2 || s->p[0] != '\\' || s->p[1] != 'u') return parser_fail(s, "half of a surrogate pair");
    s->p += 2;
    if (!scan_hex(s, &low)) return false;
    if (low < 0xdc00 || low >= 0xe000) return parser_fail(s, "half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code < 0xe000) {
    return parser_fail(s, "half of a surrogate pair");
  }
  if (code == 0) return parser_fail(s, "a zero character in a text");
  put_code(s, code);
  return true;
}

static bool scan_escape(st_parser *s) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char *found = NULL;
  if (s->p == s->end) return parser_fail(s, "the header ends within a text");
  if (*s->p == 'u') return ++s->p, scan_unicode(s);
  found = *s->p ? strchr(from, *s->p) : NULL;
  if (!found) return parser_fail(s, "an escape that JSON does not have");
  *s->text++ = to[found - from];
  ++s->p;
  return true;
}

/// A string, decoded behind those before it. It takes at least two characters of the header, so there is room for it.
static bool scan_string(st_parser *s, const char **out) {
  *out = s->text;
  if (!expect(s, '"', "expected a text in double quotes")) return false;
  while (s->p < s->end && *s->p != '"') {
    size_t n = utf8_length((const unsigned char *)s->p, (size_t)(s->end - s->p));
    if (n == 0) return parser_fail(s, "a text is not UTF-8");
    if ((unsigned char)*s->p < ' ') return parser_fail(s, "a control character in a text");
    if (*s->p == '\\') {
      ++s->p;
      if (!scan_escape(s)) return false;
      continue;
    }
    memcpy(s->text, s->p, n);
    s->text += n;
    s->p += n;
  }
  if (s->p == s->end) return parser_fail(s, "the header ends within a text");
  ++s->p;
  *s->text++ = '\0';
  return true;
}

// -- numbers ---------------------------------------------------------------------------------------------------------

/// A whole number from 0 on; no sign, no fraction, no leading zero.
static bool scan_whole(st_parser *s, uint64_t *out) {
  uint64_t x = 0;
  const char *begin = NULL;
  skip_space(s);
  for (begin = s->p; s->p < s->end && *s->p >= '0' && *s->p <= '9'; ++s->p) {
    if (__builtin_mul_overflow(x, (uint64_t)10, &x) || __builtin_add_overflow(x, (uint64_t)(*s->p - '0'), &x))
      return parser_fail(s, "a number beyond 64 bits");
  }
  if (s->p == begin) return parser_fail(s, "expected a whole number");
  if (*begin == '0' && s->p - begin > 1) return parser_fail(s, "a number with a leading zero");
  *out = x;
  return true;
}

/// "[1, 2, 3]", at most `most` of them.
static bool scan_list(st_parser *s, uint64_t *out, int most, int *count) {
  *count = 0;
  if (!expect(s, '[', "expected a list of whole numbers")) return false;
  if (accept(s, ']')) return true;
  do {
    if (*count == most) return parser_fail(s, "more numbers than a list may have (8 dimensions, 2 offsets)");
    if (!scan_whole(s, &out[(*count)++])) return false;
  } while (accept(s, ','));
  return expect(s, ']', "expected , or ] in a list");
}

// -- members ---------------------------------------------------------------------------------------------------------

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

static bool scan_shape(st_parser *s, lac_tensor *t) {
  uint64_t sizes[LAC_MAX_DIMS] = {0};
  if (!scan_list(s, sizes, LAC_MAX_DIMS, &t->ndim)) return false;
  for (int d = 0; d < t->ndim; ++d) {
    if (sizes[d] > INT64_MAX / 64) return parser_fail(s, "a dimension that cannot be addressed");
    t->shape[d] = (int64_t)sizes[d];
  }
  return true;
}

/// One of the three members of a tensor.
static bool scan_member(st_parser *s, st_item *item, int *has) {
  const char *key = NULL;
  uint64_t offsets[2] = {0};
  int bit = 0, count = 0;

  if (!scan_string(s, &key) || !expect(s, ':', "expected : after a name")) return false;
  bit = strcmp(key, "dtype") == 0          ? HAS_DTYPE
        : strcmp(key, "shape") == 0        ? HAS_SHAPE
        : strcmp(key, "data_offsets") == 0 ? HAS_OFFSETS
                                           : 0;
  if (!bit || *has & bit) return parser_fail(s, "a tensor has dtype, shape and data_offsets, each once and no more");
  *has |= bit;
  if (bit == HAS_DTYPE) return scan_string(s, &item->tensor.dtype);
  if (bit == HAS_SHAPE) return scan_shape(s, &item->tensor);
  if (!scan_list(s, offsets, 2, &count)) return false;
  if (count != 2) return parser_fail(s, "data_offsets are two numbers");
  item->begin = offsets[0];
  item->end = offsets[1];
  return true;
}

/// Shape, dtype and offsets say the same size.
static bool check_size(st_parser *s, const lac_tensor *t, uint64_t begin, uint64_t end) {
  uint64_t bytes = st_dtype_size(t->dtype), all = 1;
  bool empty = false;
  if (bytes == 0) return parser_fail(s, "a dtype that is not known");
  for (int d = 0; d < t->ndim; ++d) {
    empty |= t->shape[d] == 0;
    if (t->shape[d] && __builtin_mul_overflow(all, (uint64_t)t->shape[d], &all))
      return parser_fail(s, "a shape that overflows");
  }
  if (all > INT64_MAX / 64 || __builtin_mul_overflow(bytes, all, &bytes))
    return parser_fail(s, "a shape that overflows");
  if (end < begin || end - begin != (empty ? 0 : bytes))
    return parser_fail(s, "data_offsets that are not as long as shape and dtype ask for");
  return true;
}

/// Room for one more item in a growing list.
static bool grow(st_parser *s, void **list, int64_t count, int64_t *room, size_t size) {
  if (count < *room) return true;
  int64_t more = *room ? 2 * *room : 16;
  void *grown = lac_realloc(*list, (size_t)more * size);
  if (!grown) {
    s->status = LAC_ERR_MEMORY;
    return parser_fail(s, "out of memory");
  }
  *list = grown;
  *room = more;
  return true;
}

static bool scan_tensor(st_parser *s, const char *name) {
  st_header *h = s->out;
  st_item item = {.tensor = {.name = name}};
  int has = 0;

  if (!expect(s, '{', "expected a tensor: {\"dtype\": ..., \"shape\": ..., \"data_offsets\": ...}")) return false;
  do {
    if (!scan_member(s, &item, &has)) return false;
  } while (accept(s, ','));
  if (!expect(s, '}', "expected , or } in a tensor")) return false;
  if (has != HAS_ALL) return parser_fail(s, "a tensor without dtype, shape or data_offsets");
  if (!check_size(s, &item.tensor, item.begin, item.end)) return false;
  item.tensor.bytes = (size_t)(item.end - item.begin);
  if (!grow(s, (void **)&h->items, h->count, &h->room, sizeof *h->items)) return false;
  h->items[h->count++] = item;
  return true;
}

static bool scan_metadata(st_parser *s) {
  st_header *h = s->out;
  st_pair pair = {0};

  if (!expect(s, '{', "__metadata__ is an object of texts")) return false;
  if (accept(s, '}')) return true;
  do {
    if (!scan_string(s, &pair.key) || !expect(s, ':', "expected : after a name") || !scan_string(s, &pair.text))
      return false;
    if (!grow(s, (void **)&h->pairs, h->pair_count, &h->pair_room, sizeof *h->pairs)) return false;
    h->pairs[h->pair_count++] = pair;
  } while (accept(s, ','));
  return expect(s, '}', "expected , or } in __metadata__");
}

static bool scan_header(st_parser *s) {
  const char *name = NULL;
  bool has_metadata = false;

  if (s->p == s->end || *s->p != '{') return parser_fail(s, "a header begins with {");
  ++s->p;
  if (!accept(s, '}')) {
    do {
      if (!scan_string(s, &name) || !expect(s, ':', "expected : after a name")) return false;
      bool is_metadata = strcmp(name, "__metadata__") == 0;
      if (is_metadata && has_metadata) return parser_fail(s, "__metadata__ comes twice");
      has_metadata |= is_metadata;
      if (is_metadata ? !scan_metadata(s) : !scan_tensor(s, name)) return false;
    } while (accept(s, ','));
    if (!expect(s, '}', "expected , or } after a tensor")) return false;
  }
  skip_space(s);
  return s->p == s->end || parser_fail(s, "more than one object");
}

lac_status st_header_parse(lac_context *ctx, io_source from, const char *json, size_t size, st_header *out) {
  lac_status status = LAC_OK;
  st_parser s = {.p = json, .end = json + size, .out = out, .status = LAC_ERR_FORMAT};

  *out = (st_header){0};
  out->texts = s.text = lac_alloc(size + 1);
  LAC_CHECK(out->texts, LAC_ERR_MEMORY, "%s: out of memory: %zu bytes", from.function, size);
  LAC_CHECK(scan_header(&s), s.status, "%s: '%s', byte %lld of the header: %s", from.function, from.path,
            (long long)(s.p - json), s.fault);
done:
  return status;
}

void st_header_free(st_header *header) {
  lac_free(header->texts);
  lac_free(header->items);
  lac_free(header->pairs);
  *header = (st_header){0};
}
