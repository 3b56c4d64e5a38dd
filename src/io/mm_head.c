// SPDX-License-Identifier: Apache-2.0
/// @file mm_head.c
/// The head of a Matrix Market file:
///
///     %%MatrixMarket matrix coordinate|array real|integer|complex|pattern general|symmetric|skew-symmetric|hermitian
///     % comments
///     rows cols entries        (arrays: rows cols)

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "io/mm.h"
#include "io/number.h"

const char *const mm_formats[2] = {"coordinate", "array"};
const char *const mm_fields[4] = {"real", "integer", "complex", "pattern"};
const char *const mm_symmetries[4] = {"general", "symmetric", "skew-symmetric", "hermitian"};

bool mm_next_line(const char **p, const char *end, int64_t *line, const char **begin, const char **line_end) {
  while (*p < end) {
    const char *start = mm_skip(*p, end), *stop = memchr(*p, '\n', (size_t)(end - *p));
    if (!stop) stop = end;
    *p = stop < end ? stop + 1 : end;
    ++*line;
    if (start >= stop || *start == '%') continue;
    *begin = start;
    *line_end = stop;
    return true;
  }
  return false;
}

/// A word of the banner.
typedef struct word {
  const char *text;
  int length;
} word;

static word next_word(const char **p, const char *end) {
  const char *begin = mm_skip(*p, end);
  for (*p = begin; *p < end && !mm_is_blank(**p);) ++*p;
  ptrdiff_t length = *p - begin;
  return (word){begin, length < 64 ? (int)length : 64};
}

static bool word_is(word w, const char *text) {
  return (size_t)w.length == strlen(text) && strncasecmp(w.text, text, (size_t)w.length) == 0;
}

static int word_find(word w, const char *const *texts, int count) {
  for (int i = 0; i < count; ++i) {
    if (word_is(w, texts[i])) return i;
  }
  return -1;
}

static lac_status head_banner(lac_context *ctx, io_source from, const char *p, const char *end, lac_mm_info *info) {
  lac_status status = LAC_OK;
  word banner = next_word(&p, end), object = next_word(&p, end), format = next_word(&p, end);
  word field = next_word(&p, end), symmetry = next_word(&p, end);
  int found[3] = {word_find(format, mm_formats, 2), word_find(field, mm_fields, 4),
                  word_find(symmetry, mm_symmetries, 4)};

  LAC_CHECK(word_is(banner, "%%MatrixMarket"), LAC_ERR_FORMAT,
            "%s: '%s' is no Matrix Market file: it does not begin with %%%%MatrixMarket", from.function, from.path);
  LAC_CHECK(word_is(object, "matrix"), LAC_ERR_FORMAT, "%s: '%s', line 1: expected the word matrix, got '%.*s'",
            from.function, from.path, object.length, object.text);
  LAC_CHECK(found[0] >= 0, LAC_ERR_FORMAT, "%s: '%s', line 1: expected coordinate or array, got '%.*s'", from.function,
            from.path, format.length, format.text);
  if (word_is(field, "unsigned-integer")) found[1] = LAC_MM_INTEGER;
  LAC_CHECK(found[1] >= 0, LAC_ERR_FORMAT, "%s: '%s', line 1: expected real, integer, complex or pattern, got '%.*s'",
            from.function, from.path, field.length, field.text);
  LAC_CHECK(found[2] >= 0, LAC_ERR_FORMAT,
            "%s: '%s', line 1: expected general, symmetric, skew-symmetric or hermitian, got '%.*s'", from.function,
            from.path, symmetry.length, symmetry.text);
  LAC_CHECK(mm_skip(p, end) == end, LAC_ERR_FORMAT, "%s: '%s', line 1: more than five words", from.function, from.path);
  info->format = (lac_mm_format)found[0];
  info->field = (lac_mm_field)found[1];
  info->symmetry = (lac_mm_symmetry)found[2];
done:
  return status;
}

/// What the words of the banner do not say together.
static lac_status head_accord(lac_context *ctx, io_source from, const lac_mm_info *info) {
  lac_status status = LAC_OK;
  bool is_pattern = info->field == LAC_MM_PATTERN;

  LAC_CHECK(!is_pattern || info->format == LAC_MM_COORDINATE, LAC_ERR_FORMAT,
            "%s: '%s', line 1: an array file has numbers, so its field is not pattern", from.function, from.path);
  LAC_CHECK(!is_pattern || info->symmetry <= LAC_MM_SYMMETRIC, LAC_ERR_FORMAT,
            "%s: '%s', line 1: a pattern has no signs and no conjugates, so it is not %s", from.function, from.path,
            mm_symmetries[info->symmetry]);
  LAC_CHECK(info->symmetry != LAC_MM_HERMITIAN || info->field == LAC_MM_COMPLEX, LAC_ERR_FORMAT,
            "%s: '%s', line 1: hermitian goes with complex, not with %s; the word for it is symmetric", from.function,
            from.path, mm_fields[info->field]);
done:
  return status;
}

bool mm_array_entries(const lac_mm_info *info, int64_t *out) {
  int64_t n = info->rows, lines = n;
  if (info->symmetry == LAC_MM_GENERAL) return !__builtin_mul_overflow(n, info->cols, out);
  if (__builtin_mul_overflow(n, info->symmetry == LAC_MM_SKEW ? n - 1 : n + 1, &lines)) return false;
  *out = n ? lines / 2 : 0;
  return true;
}

static lac_status head_sizes(lac_context *ctx, io_source from, int64_t line, const char *p, const char *end,
                             lac_mm_info *info) {
  lac_status status = LAC_OK;
  bool is_array = info->format == LAC_MM_ARRAY;
  int64_t sizes[3] = {0};

  for (int i = 0; i < (is_array ? 2 : 3); ++i) {
    p = io_scan_integer(mm_skip(p, end), end, &sizes[i]);
    LAC_CHECK(p && (p == end || mm_is_blank(*p)), LAC_ERR_FORMAT, "%s: '%s', line %" PRId64 ": expected %s",
              from.function, from.path, line, is_array ? "the sizes rows cols" : "the sizes rows cols entries");
    LAC_CHECK(sizes[i] >= 0 && sizes[i] <= LAC_MAX_COUNT, LAC_ERR_FORMAT,
              "%s: '%s', line %" PRId64 ": a size of %" PRId64 " is not within 0..%" PRId64, from.function, from.path,
              line, sizes[i], (int64_t)LAC_MAX_COUNT);
  }
  LAC_CHECK(mm_skip(p, end) == end, LAC_ERR_FORMAT, "%s: '%s', line %" PRId64 ": more than %d sizes", from.function,
            from.path, line, is_array ? 2 : 3);
  info->rows = sizes[0], info->cols = sizes[1], info->entries = sizes[2];
  LAC_CHECK(info->symmetry == LAC_MM_GENERAL || info->rows == info->cols, LAC_ERR_FORMAT,
            "%s: '%s', line %" PRId64 ": a %s matrix is square, not %" PRId64 " x %" PRId64, from.function, from.path,
            line, mm_symmetries[info->symmetry], info->rows, info->cols);
  LAC_CHECK(!is_array || mm_array_entries(info, &info->entries), LAC_ERR_FORMAT,
            "%s: '%s', line %" PRId64 ": an array of %" PRId64 " x %" PRId64 " numbers cannot be addressed",
            from.function, from.path, line, info->rows, info->cols);
done:
  return status;
}

lac_status mm_read_head(lac_context *ctx, io_source from, const io_bytes *text, mm_head *out) {
  lac_status status = LAC_OK;
  mm_head head = {.info = {.bytes = (int64_t)text->size}, .body = text->data, .end = text->data + text->size};
  const char *begin = head.body, *end = NULL;

  end = memchr(begin, '\n', text->size);
  if (!end) end = head.end;
  LAC_TRY(head_banner(ctx, from, begin, end, &head.info));
  LAC_TRY(head_accord(ctx, from, &head.info));
  LAC_CHECK(mm_next_line(&head.body, head.end, &head.line, &begin, &end), LAC_ERR_FORMAT,
            "%s: '%s' ends before the line with the sizes", from.function, from.path);
  LAC_TRY(head_sizes(ctx, from, head.line, begin, end, &head.info));
  ++head.line;
  *out = head;
done:
  return status;
}
