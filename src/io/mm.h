// SPDX-License-Identifier: Apache-2.0
/// @file mm.h
/// Matrix Market files inside: the head, and the entries that follow.

#ifndef LACUNA_IO_MM_H
#define LACUNA_IO_MM_H

#include "core/number_at.h"
#include "core/pattern/pattern_impl.h"
#include "io/file.h"
#include "lacuna/io.h"

/// The head of a file, and where it ends.
typedef struct mm_head {
  lac_mm_info info;
  const char *body, *end;
  int64_t line;  // of the body's first line, counted from 1
} mm_head;

/// Read banner, comments and sizes. `info.entries` is what the sizes announce: for arrays, what their symmetry stores.
lac_status mm_read_head(lac_context *ctx, io_source from, const io_bytes *text, mm_head *out);

/// Entries as they are stored: coordinates from 0 and numbers of one dtype. For arrays there are numbers alone.
typedef struct mm_entries {
  int64_t count;
  lac_index_type type;
  void *row, *col;
  lac_dtype dtype;
  void *values;
} mm_entries;

/// Read the entries behind a head. A triangle is expanded when asked. Owned by `out`, also on failure.
lac_status mm_read_entries(lac_context *ctx, io_source from, const mm_head *head, lac_mm_storage storage,
                           lac_dtype dtype, mm_entries *out);
void mm_entries_free(mm_entries *entries);

/// Arrays, which list column after column: the first row listed of a column, and the place of the k-th number.
int64_t mm_array_top(const lac_mm_info *info, int64_t j);
void mm_array_place(const lac_mm_info *info, int64_t k, int64_t *row, int64_t *col);

/// How many numbers an array of this shape and symmetry lists; false when that does not fit.
bool mm_array_entries(const lac_mm_info *info, int64_t *out);

/// Lines between two places of the text.
typedef struct mm_chunk {
  const char *begin, *end;
  int64_t first_line, lines;     // counted from 1
  int64_t first_entry, entries;  // neither blank nor comment
  int64_t first_mirror, mirrors;
  int64_t sought;  // bytes read to find where it begins
} mm_chunk;

typedef struct mm_chunks {
  mm_chunk *items;
  int64_t count;
  int threads;
} mm_chunks;

/// Cut the body into chunks and count what is in each.
lac_status mm_chunks_make(lac_context *ctx, const mm_head *head, mm_chunks *out);

static inline bool mm_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

static inline const char *mm_skip(const char *p, const char *end) {
  while (p < end && mm_is_blank(*p)) ++p;
  return p;
}

/// The next line that says something, from *p on; false at the end. Advances *p past it and counts lines.
bool mm_next_line(const char **p, const char *end, int64_t *line, const char **begin, const char **line_end);

static inline void mm_store(void *values, lac_dtype dtype, int64_t k, double re, double im) {
  lac_number_put(dtype, values, k, PAIR(re, im));
}

static inline void mm_load(const void *values, lac_dtype dtype, int64_t k, double *re, double *im) {
  c128 number = lac_number_get(dtype, values, k);
  *re = creal(number), *im = cimag(number);
}

/// The number that stands opposite, by symmetry.
static inline void mm_mirror(lac_mm_symmetry symmetry, double *re, double *im) {
  if (symmetry == LAC_MM_SKEW) *re = -*re;
  if (symmetry == LAC_MM_SKEW || symmetry == LAC_MM_HERMITIAN) *im = -*im;
}

/// The words of the banner, by their codes.
extern const char *const mm_formats[2], *const mm_fields[4], *const mm_symmetries[4];

#endif
