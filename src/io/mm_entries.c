// SPDX-License-Identifier: Apache-2.0
/// @file mm_entries.c
/// The entries of a Matrix Market file, parsed in parallel:
///
///     row col [re [im]]       coordinates, counted from 1
///     re [im]                 arrays, column after column; of a symmetric one what is on and below the diagonal
///
/// Entry k goes to place k, whatever the number of threads; what a symmetry adds follows behind all of them.

#include <inttypes.h>
#include <string.h>

#include "core/numbers/search.h"
#include "io/mm.h"
#include "io/number.h"

enum { LONG_SHOWN = 24 };  // characters of a number that is too long

/// What is wrong with a line. The first in the file is reported.
typedef struct mm_fault {
  enum { FAULT_NONE, FAULT_WORD, FAULT_MORE, FAULT_ROW, FAULT_COL, FAULT_SKEW, FAULT_HERMITIAN } kind;
  int64_t line, value;
  const char *begin, *end;
} mm_fault;

/// What all chunks share.
typedef struct mm_job {
  const lac_mm_info *info;
  mm_entries *out;
  bool expand;
} mm_job;

/// One entry of the file.
typedef struct mm_entry {
  int64_t row, col;
  double re, im;
} mm_entry;

// -- one line --------------------------------------------------------------------------------------------------------

// Numbers end where lines end, so no line's end is looked for before its entries are read: `end` is the chunk's.

static inline bool is_line_end(const char *p, const char *end) { return p == end || *p == '\n'; }

static inline const char *scan_end(const char *p, const char *end) {
  return p && (is_line_end(p, end) || mm_is_blank(*p)) ? mm_skip(p, end) : NULL;
}

/// Go on to the next entry, counting lines; false at the end.
static inline bool next_entry(const char **p, const char *end, int64_t *line) {
  for (;;) {
    *p = mm_skip(*p, end);
    if (*p == end) return false;
    if (**p == '\n') {
      ++*p;
      ++*line;
    } else if (**p == '%') {
      const char *newline = memchr(*p, '\n', (size_t)(end - *p));
      *p = newline ? newline : end;
    } else {
      return true;
    }
  }
}

static mm_fault fault_at(int kind, int64_t line, int64_t value, const char *begin, const char *end) {
  const char *newline = memchr(begin, '\n', (size_t)(end - begin));
  return (mm_fault){kind, line, value, begin, newline ? newline : end};
}

/// The numbers of a line from `p` on; NULL when there are none, or other things.
static inline const char *scan_values(const lac_mm_info *info, const char *p, const char *end, mm_entry *e) {
  int64_t whole = 0;
  e->im = 0;
  if (info->field == LAC_MM_INTEGER) {
    const char *digits = scan_end(io_scan_integer(p, end, &whole), end);
    return digits ? scan_end(io_scan_number(p, end, &e->re), end) : NULL;  // beyond 2^53 it is rounded, not cut
  }
  p = scan_end(io_scan_number(p, end, &e->re), end);
  if (p && info->field == LAC_MM_COMPLEX) p = scan_end(io_scan_number(p, end, &e->im), end);
  return p;
}

static int fault_of_place(const lac_mm_info *info, const mm_entry *e) {
  if (e->row < 0 || e->row >= info->rows) return FAULT_ROW;
  if (e->col < 0 || e->col >= info->cols) return FAULT_COL;
  if (e->row != e->col) return FAULT_NONE;
  if (info->symmetry == LAC_MM_SKEW && (e->re != 0 || e->im != 0)) return FAULT_SKEW;
  return info->symmetry == LAC_MM_HERMITIAN && e->im != 0 ? FAULT_HERMITIAN : FAULT_NONE;
}

/// One line of coordinates; *at moves behind what was read.
static inline int parse_coordinate(const lac_mm_info *info, const char **at, const char *end, mm_entry *e) {
  const char *p = *at;
  p = scan_end(io_scan_integer(p, end, &e->row), end);
  if (p) p = scan_end(io_scan_integer(p, end, &e->col), end);
  if (p && info->field != LAC_MM_PATTERN) p = scan_values(info, p, end, e);
  if (!p) return FAULT_WORD;
  e->row = (int64_t)((uint64_t)e->row - 1), e->col = (int64_t)((uint64_t)e->col - 1);  // the least integer comes round
  *at = p;
  return is_line_end(p, end) ? fault_of_place(info, e) : FAULT_MORE;
}

// -- one chunk -------------------------------------------------------------------------------------------------------

static inline void entries_put(mm_entries *out, int64_t k, int64_t row, int64_t col) {
  if (out->type == LAC_I32) {
    ((int32_t *)out->row)[k] = (int32_t)row;
    ((int32_t *)out->col)[k] = (int32_t)col;
  } else {
    ((int64_t *)out->row)[k] = row;
    ((int64_t *)out->col)[k] = col;
  }
}

static void chunk_coordinates(const mm_job *job, mm_chunk *c, mm_fault *fault) {
  const char *p = c->begin;
  int64_t line = c->first_line, k = c->first_entry;
  mm_entry e = {0};

  while (next_entry(&p, c->end, &line)) {
    const char *begin = p;
    int kind = parse_coordinate(job->info, &p, c->end, &e);
    if (kind) {
      *fault = fault_at(kind, line, (int64_t)((uint64_t)(kind == FAULT_ROW ? e.row : e.col) + 1), begin, c->end);
      return;
    }
    entries_put(job->out, k, e.row, e.col);
    if (job->out->values) mm_store(job->out->values, job->out->dtype, k, e.re, e.im);
    c->mirrors += e.row != e.col;
    ++k;
  }
}

int64_t mm_array_top(const lac_mm_info *info, int64_t j) {
  return info->symmetry == LAC_MM_GENERAL ? 0 : info->symmetry == LAC_MM_SKEW ? j + 1 : j;
}

/// Where the numbers of column j begin in the file.
static int64_t column_begin(const lac_mm_info *info, int64_t j) {
  if (info->symmetry == LAC_MM_GENERAL) return j * info->rows;
  return info->symmetry == LAC_MM_SKEW ? j * (info->rows - 1) - j * (j - 1) / 2 : j * info->rows - j * (j - 1) / 2;
}

void mm_array_place(const lac_mm_info *info, int64_t k, int64_t *row, int64_t *col) {
  int64_t next = 1, cols = info->cols;
  LAC_SEARCH(next, cols, j, column_begin(info, j) <= k)
  *col = next - 1;
  *row = mm_array_top(info, *col) + k - column_begin(info, *col);
}

static void array_put(const mm_job *job, const mm_entry *e) {
  const lac_mm_info *info = job->info;
  double re = e->re, im = e->im;
  mm_store(job->out->values, job->out->dtype, e->row * info->cols + e->col, re, im);
  if (!job->expand || e->row == e->col) return;
  mm_mirror(info->symmetry, &re, &im);
  mm_store(job->out->values, job->out->dtype, e->col * info->cols + e->row, re, im);
}

static void chunk_array(const mm_job *job, mm_chunk *c, mm_fault *fault) {
  const char *p = c->begin;
  int64_t line = c->first_line;
  mm_entry e = {0};

  if (c->entries) mm_array_place(job->info, c->first_entry, &e.row, &e.col);
  while (next_entry(&p, c->end, &line)) {
    const char *begin = p;
    p = scan_values(job->info, begin, c->end, &e);
    int kind = !p ? FAULT_WORD : !is_line_end(p, c->end) ? FAULT_MORE : fault_of_place(job->info, &e);
    if (kind) {
      *fault = fault_at(kind, line, 0, begin, c->end);
      return;
    }
    array_put(job, &e);
    if (++e.row < job->info->rows) continue;
    ++e.col;
    e.row = mm_array_top(job->info, e.col);
  }
}

/// What a symmetry adds to the entries of a chunk.
static void chunk_mirror(const mm_job *job, const mm_chunk *c) {
  mm_entries *out = job->out;
  int64_t to = c->first_mirror;
  double re = 0, im = 0;

  for (int64_t k = c->first_entry; k < c->first_entry + c->entries; ++k) {
    int64_t row = out->type == LAC_I32 ? ((int32_t *)out->row)[k] : ((int64_t *)out->row)[k];
    int64_t col = out->type == LAC_I32 ? ((int32_t *)out->col)[k] : ((int64_t *)out->col)[k];
    if (row == col) continue;
    entries_put(out, to, col, row);
    if (out->values) {
      mm_load(out->values, out->dtype, k, &re, &im);
      mm_mirror(job->info->symmetry, &re, &im);
      mm_store(out->values, out->dtype, to, re, im);
    }
    ++to;
  }
}

// -- all -------------------------------------------------------------------------------------------------------------

/// How long the longest word of a line is, and where it begins.
static int64_t longest_word(const char *p, const char *end, const char **begin) {
  int64_t longest = 0;
  for (p = mm_skip(p, end); p < end; p = mm_skip(p, end)) {
    const char *from = p;
    while (p < end && !mm_is_blank(*p)) ++p;
    if (p - from > longest) longest = p - from, *begin = from;
  }
  return longest;
}

static lac_status fault_tell(lac_context *ctx, io_source from, const lac_mm_info *info, const mm_fault *f) {
  static const char *const asked[2][4] = {
      {"row column number", "row column integer", "row column real imaginary", "row column"},
      {"a number", "an integer", "real imaginary", ""}};
  lac_status status = LAC_OK;
  ptrdiff_t length = f->end - f->begin;
  const char *longest = f->begin;
  int64_t word = longest_word(f->begin, f->end, &longest);
  int shown = 0;

  while (shown < (length < 48 ? length : 48) && (unsigned char)f->begin[shown] >= ' ') ++shown;
  LAC_CHECK(f->kind != FAULT_ROW && f->kind != FAULT_COL, LAC_ERR_FORMAT,
            "%s: '%s', line %" PRId64 ": %s %" PRId64 " is outside 1..%" PRId64, from.function, from.path, f->line,
            f->kind == FAULT_ROW ? "row" : "column", f->value, f->kind == FAULT_ROW ? info->rows : info->cols);
  LAC_CHECK(f->kind != FAULT_SKEW && f->kind != FAULT_HERMITIAN, LAC_ERR_FORMAT,
            "%s: '%s', line %" PRId64 ": the diagonal of a %s matrix is %s, but here is '%.*s'", from.function,
            from.path, f->line, mm_symmetries[info->symmetry], f->kind == FAULT_SKEW ? "zero" : "real", shown,
            f->begin);
  LAC_CHECK(f->kind != FAULT_WORD || word <= IO_LONGEST_NUMBER, LAC_ERR_FORMAT,
            "%s: '%s', line %" PRId64 ": '%.*s...' goes on for %" PRId64
            " characters; numbers of at most %d are read: write fewer digits",
            from.function, from.path, f->line, LONG_SHOWN, longest, word, IO_LONGEST_NUMBER);
  LAC_FAIL(LAC_ERR_FORMAT, "%s: '%s', line %" PRId64 ": expected %s%s, got '%.*s'", from.function, from.path, f->line,
           asked[info->format][info->field], f->kind == FAULT_MORE ? " and no more" : "", shown, f->begin);
done:
  return status;
}

/// As many entries as the head announces: what is allocated is bounded by what is there.
static lac_status entries_check(lac_context *ctx, io_source from, const mm_head *head, const mm_chunks *chunks) {
  lac_status status = LAC_OK;
  const mm_chunk *last = &chunks->items[chunks->count - 1];
  int64_t found = last->first_entry + last->entries;

  LAC_CHECK(found == head->info.entries, LAC_ERR_FORMAT,
            "%s: '%s': the head announces %" PRId64 " %s, and there are %" PRId64 " up to line %" PRId64
            ", where the file ends",
            from.function, from.path, head->info.entries,
            head->info.format == LAC_MM_ARRAY ? "numbers, one to a line" : "entries", found,
            last->first_line + last->lines - 1);
done:
  return status;
}

static lac_status entries_alloc(lac_context *ctx, const mm_job *job) {
  lac_status status = LAC_OK;
  const lac_mm_info *info = job->info;
  mm_entries *out = job->out;
  bool is_array = info->format == LAC_MM_ARRAY;
  int64_t room = is_array ? info->rows * info->cols : job->expand ? 2 * info->entries : info->entries;
  size_t index = 0, size = lac_dtype_size(out->dtype);

  out->type = info->rows > INT32_MAX || info->cols > INT32_MAX ? LAC_I64 : LAC_I32;
  index = out->type == LAC_I32 ? sizeof(int32_t) : sizeof(int64_t);
  if (!is_array) {
    out->row = lac_alloc((size_t)room * index);
    out->col = lac_alloc((size_t)room * index);
  }
  if (info->field != LAC_MM_PATTERN)
    out->values = is_array ? lac_calloc((size_t)room, size) : lac_alloc((size_t)room * size);
  LAC_CHECK((is_array || (out->row && out->col)) && (info->field == LAC_MM_PATTERN || out->values), LAC_ERR_MEMORY,
            "out of memory: %" PRId64 " entries", room);
done:
  return status;
}

static lac_status entries_parse(lac_context *ctx, io_source from, const mm_job *job, const mm_chunks *chunks) {
  lac_status status = LAC_OK;
  mm_fault *faults = NULL;
  bool is_array = job->info->format == LAC_MM_ARRAY;

  LAC_ALLOC(faults, chunks->count);
#pragma omp parallel for num_threads(chunks->threads) schedule(dynamic, 1) if (chunks->count > 1)
  for (int64_t i = 0; i < chunks->count; ++i) {
    (is_array ? chunk_array : chunk_coordinates)(job, &chunks->items[i], &faults[i]);
  }
  for (int64_t i = 0; i < chunks->count; ++i) {
    if (faults[i].kind) LAC_TRY(fault_tell(ctx, from, job->info, &faults[i]));
  }
done:
  lac_free(faults);
  return status;
}

static void entries_mirror(const mm_job *job, const mm_chunks *chunks) {
  int64_t to = job->info->entries;
  for (int64_t i = 0; i < chunks->count; ++i) {
    chunks->items[i].first_mirror = to;
    to += chunks->items[i].mirrors;
  }
#pragma omp parallel for num_threads(chunks->threads) schedule(dynamic, 1) if (chunks->count > 1)
  for (int64_t i = 0; i < chunks->count; ++i) chunk_mirror(job, &chunks->items[i]);
  job->out->count = to;
}

lac_status mm_read_entries(lac_context *ctx, io_source from, const mm_head *head, lac_mm_storage storage,
                           lac_dtype dtype, mm_entries *out) {
  lac_status status = LAC_OK;
  mm_chunks chunks = {0};
  mm_job job = {&head->info, out, storage == LAC_MM_EXPANDED && head->info.symmetry != LAC_MM_GENERAL};

  *out = (mm_entries){.count = head->info.entries, .dtype = dtype};
  LAC_TRY(mm_chunks_make(ctx, head, &chunks));
  LAC_TRY(entries_check(ctx, from, head, &chunks));
  LAC_TRY(entries_alloc(ctx, &job));
  LAC_TRY(entries_parse(ctx, from, &job, &chunks));
  if (job.expand && head->info.format == LAC_MM_COORDINATE) entries_mirror(&job, &chunks);
done:
  lac_free(chunks.items);
  return status;
}

void mm_entries_free(mm_entries *entries) {
  lac_free(entries->row);
  lac_free(entries->col);
  lac_free(entries->values);
  *entries = (mm_entries){0};
}
