// SPDX-License-Identifier: Apache-2.0
/// @file mm_write.c
/// Matrices and arrays as Matrix Market files. Pieces are put into text in parallel and written in order.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/sized.h"
#include "core/numbers/search.h"
#include "io/mm.h"
#include "io/number.h"
#include "io/values.h"

static const char FUNCTION[] = "lac_write_matrix_market";

enum { PIECE_ENTRIES = 1 << 12, ENTRY_TEXT = 2 * 20 + 2 * IO_NUMBER_TEXT + 4 };

/// What is written.
typedef struct mm_text {
  lac_mm_info info;
  const lac_pattern *pattern;
  const void *values;
  lac_dtype dtype;
  int64_t walked;  // slots or numbers that are looked at: a triangle is picked out of all slots
} mm_text;

lac_mm_write_options lac_mm_write_options_defaults(void) {
  return (lac_mm_write_options){.size = sizeof(lac_mm_write_options)};
}

// -- checks ----------------------------------------------------------------------------------------------------------

static lac_status write_check(lac_context *ctx, const lac_pattern *pattern, const lac_array *values,
                              const lac_mm_write_options *o) {
  lac_status status = LAC_OK;
  const lac_meta *meta = lac_array_meta(values);
  char shape[LAC_SHAPE_TEXT];

  LAC_CHECK(pattern || values, LAC_ERR_ARG, "%s: give a pattern, or values, or both", FUNCTION);
  LAC_CHECK((unsigned)o->symmetry <= LAC_MM_HERMITIAN, LAC_ERR_ARG, "%s: symmetry %d is none of lac_mm_symmetry",
            FUNCTION, (int)o->symmetry);
  if (pattern) LAC_TRY(lac_pattern_require_host(ctx, pattern, FUNCTION));
  if (pattern && values)
    LAC_CHECK(meta->ndim == 1 && meta->shape[0] == pattern->nnz, LAC_ERR_SHAPE,
              "%s: the pattern has %" PRId64
              " slots and the values have shape %s; a file holds one matrix, with one "
              "number for each slot",
              FUNCTION, pattern->nnz, lac_shape_text(meta->ndim, meta->shape, shape));
  if (!pattern)
    LAC_CHECK(meta->ndim == 2, LAC_ERR_SHAPE, "%s: an array file holds rows and columns, and the values have shape %s",
              FUNCTION, lac_shape_text(meta->ndim, meta->shape, shape));
done:
  return status;
}

/// Whether two places of the values are what the symmetry asks of them; NaN stands opposite to NaN.
static bool is_mirrored(const mm_text *t, int64_t a, int64_t b) {
  double re = 0, im = 0, re_b = 0, im_b = 0;
  if (!t->values) return true;
  mm_load(t->values, t->dtype, a, &re, &im);
  mm_load(t->values, t->dtype, b, &re_b, &im_b);
  if (a == b) return (t->info.symmetry != LAC_MM_SKEW || re == 0) && (t->info.symmetry == LAC_MM_SYMMETRIC || im == 0);
  mm_mirror(t->info.symmetry, &re, &im);
  return (re == re_b || (re != re && re_b != re_b)) && (im == im_b || (im != im && im_b != im_b));
}

/// The first slot or number that is not mirrored, or -1.
static lac_status first_unmirrored(lac_context *ctx, const mm_text *t, int64_t *out) {
  lac_status status = LAC_OK;
  int64_t n = t->info.rows;
  lac_rows rows = {0};

  *out = -1;
  if (t->pattern) {
    LAC_TRY(lac_pattern_walk(ctx, t->pattern, true, &rows));
    LAC_TRY(lac_rows_host(ctx, &rows));
    if (rows.columns != t->pattern->columns) *out = 0;  // the structures differ: equal ones are shared
    for (int64_t p = 0; *out < 0 && p < t->pattern->nnz; ++p) {
      if (!is_mirrored(t, p, lac_buffer_get(rows.slots, p))) *out = p;
    }
  }
  for (int64_t k = 0; !t->pattern && *out < 0 && k < n * n; ++k) {
    if (!is_mirrored(t, k, k % n * n + k / n)) *out = k;
  }
done:
  return status;
}

static lac_status write_check_symmetry(lac_context *ctx, const mm_text *t) {
  lac_status status = LAC_OK;
  const lac_mm_info *info = &t->info;
  int64_t where = -1;

  if (info->symmetry == LAC_MM_GENERAL) goto done;
  LAC_CHECK(t->values || info->symmetry == LAC_MM_SYMMETRIC, LAC_ERR_SYMMETRY,
            "%s: a pattern has no signs and no conjugates: write it as symmetric or general", FUNCTION);
  LAC_CHECK(info->symmetry != LAC_MM_HERMITIAN || info->field == LAC_MM_COMPLEX, LAC_ERR_SYMMETRY,
            "%s: hermitian goes with complex values, and these are %s: write them as symmetric", FUNCTION,
            lac_dtype_name(t->dtype));
  LAC_CHECK(info->rows == info->cols, LAC_ERR_SYMMETRY, "%s: a matrix of %" PRId64 " x %" PRId64 " is not %s", FUNCTION,
            info->rows, info->cols, mm_symmetries[info->symmetry]);
  LAC_TRY(first_unmirrored(ctx, t, &where));
  LAC_CHECK(where < 0, LAC_ERR_SYMMETRY, "%s: the matrix is not %s (%s %" PRId64 "): write it as general", FUNCTION,
            mm_symmetries[info->symmetry], t->pattern ? "slot" : "number", where);
done:
  return status;
}

// -- text ------------------------------------------------------------------------------------------------------------

static char *put_values(const mm_text *t, int64_t k, char *to) {
  bool is_single = lac_dtype_is_single(t->dtype);
  double re = 0, im = 0;
  if (!t->values) return to;
  mm_load(t->values, t->dtype, k, &re, &im);
  to += io_print_number(re, is_single, to);
  if (!lac_dtype_is_complex(t->dtype)) return to;
  *to++ = ' ';
  return to + io_print_number(im, is_single, to);
}

static bool is_written(const lac_mm_info *info, int64_t row, int64_t col) {
  return info->symmetry == LAC_MM_GENERAL || row > col || (row == col && info->symmetry != LAC_MM_SKEW);
}

/// The last row that begins at or before slot p.
static int64_t row_of_slot(const lac_pattern *a, int64_t p) {
  int64_t next = 1, rows = a->rows;
  LAC_SEARCH(next, rows, i, lac_buffer_get(a->offsets, i) <= p)
  return next - 1;
}

static char *piece_coordinates(const mm_text *t, int64_t begin, int64_t end, char *to) {
  int64_t row = begin < end ? row_of_slot(t->pattern, begin) : 0;
  for (int64_t p = begin; p < end; ++p) {
    int64_t col = lac_buffer_get(t->pattern->columns, p);
    while (lac_buffer_get(t->pattern->offsets, row + 1) <= p) ++row;
    if (!is_written(&t->info, row, col)) continue;
    to += io_print_integer(row + 1, to);
    *to++ = ' ';
    to += io_print_integer(col + 1, to);
    if (t->values) *to++ = ' ';
    to = put_values(t, p, to);
    *to++ = '\n';
  }
  return to;
}

static char *piece_array(const mm_text *t, int64_t begin, int64_t end, char *to) {
  int64_t row = 0, col = 0;
  if (begin < end) mm_array_place(&t->info, begin, &row, &col);
  for (int64_t k = begin; k < end; ++k) {
    to = put_values(t, row * t->info.cols + col, to);
    *to++ = '\n';
    if (++row == t->info.rows) row = mm_array_top(&t->info, ++col);
  }
  return to;
}

// -- the file --------------------------------------------------------------------------------------------------------

/// Entries that a triangle of the pattern has.
static int64_t count_written(const mm_text *t) {
  int64_t count = 0, p = 0;
  if (t->info.symmetry == LAC_MM_GENERAL) return t->pattern->nnz;
  for (int64_t i = 0; i < t->pattern->rows; ++i) {
    for (int64_t end = lac_buffer_get(t->pattern->offsets, i + 1); p < end; ++p) {
      count += is_written(&t->info, i, lac_buffer_get(t->pattern->columns, p));
    }
  }
  return count;
}

static lac_status put_comment(lac_context *ctx, io_writer *file, const char *comment) {
  lac_status status = LAC_OK;
  while (comment && *comment) {
    size_t length = strcspn(comment, "\r\n");
    LAC_TRY(io_writer_put(ctx, file, "% ", 2));
    LAC_TRY(io_writer_put(ctx, file, comment, length));
    LAC_TRY(io_writer_put(ctx, file, "\n", 1));
    comment += length;
    comment += *comment == '\r' && comment[1] == '\n' ? 2 : *comment != '\0';
  }
done:
  return status;
}

static lac_status put_head(lac_context *ctx, io_writer *file, const mm_text *t, const char *comment) {
  lac_status status = LAC_OK;
  const lac_mm_info *info = &t->info;
  char line[160];
  int length = snprintf(line, sizeof line, "%%%%MatrixMarket matrix %s %s %s\n", mm_formats[info->format],
                        mm_fields[info->field], mm_symmetries[info->symmetry]);

  LAC_TRY(io_writer_put(ctx, file, line, (size_t)length));
  LAC_TRY(put_comment(ctx, file, comment));
  length = snprintf(line, sizeof line, "%" PRId64 " %" PRId64, info->rows, info->cols);
  if (t->pattern) length += snprintf(line + length, sizeof line - (size_t)length, " %" PRId64, info->entries);
  line[length++] = '\n';
  LAC_TRY(io_writer_put(ctx, file, line, (size_t)length));
done:
  return status;
}

/// As many pieces at a time as there are threads, each in a buffer of its own.
static lac_status put_body(lac_context *ctx, io_writer *file, const mm_text *t) {
  lac_status status = LAC_OK;
  int threads = lac_structure_threads(ctx);
  const size_t room = (size_t)PIECE_ENTRIES * ENTRY_TEXT;
  char *buffers = NULL;
  size_t *lengths = NULL;

  LAC_ALLOC(lengths, threads);
  buffers = lac_alloc((size_t)threads * room);
  LAC_CHECK(buffers, LAC_ERR_MEMORY, "out of memory: %zu bytes", (size_t)threads * room);
  for (int64_t at = 0; at < t->walked; at += (int64_t)threads * PIECE_ENTRIES) {
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (t->walked > PIECE_ENTRIES)
    for (int i = 0; i < threads; ++i) {
      int64_t begin = at + (int64_t)i * PIECE_ENTRIES, end = begin + PIECE_ENTRIES;
      char *to = buffers + (size_t)i * room;
      if (begin > t->walked) begin = t->walked;
      if (end > t->walked) end = t->walked;
      lengths[i] = (size_t)((t->pattern ? piece_coordinates : piece_array)(t, begin, end, to) - to);
    }
    for (int i = 0; i < threads; ++i) LAC_TRY(io_writer_put(ctx, file, buffers + (size_t)i * room, lengths[i]));
  }
done:
  lac_free(lengths);
  lac_free(buffers);
  return status;
}

static mm_text text_of(const lac_pattern *pattern, const lac_array *values, const void *host,
                       lac_mm_symmetry symmetry) {
  const lac_meta *meta = lac_array_meta(values);
  mm_text t = {.pattern = pattern, .values = host, .dtype = meta ? meta->dtype : LAC_F64};
  t.info.format = pattern ? LAC_MM_COORDINATE : LAC_MM_ARRAY;
  t.info.field = !values ? LAC_MM_PATTERN : lac_dtype_is_complex(t.dtype) ? LAC_MM_COMPLEX : LAC_MM_REAL;
  t.info.symmetry = symmetry;
  if (pattern) {
    t.info.rows = pattern->rows, t.info.cols = pattern->cols;
  } else if (meta) {
    t.info.rows = meta->shape[0], t.info.cols = meta->shape[1];
  }
  return t;
}

lac_status lac_write_matrix_market(lac_context *ctx, const char *path, const lac_pattern *pattern,
                                   const lac_array *values, const lac_mm_write_options *options) {
  lac_status status = LAC_OK;
  lac_mm_write_options o;
  io_writer *file = NULL;
  const void *host = NULL;
  void *copy = NULL;
  mm_text t = {0};

  LAC_CHECK_CONTEXT();
  LAC_TRY(lac_sized_take(ctx, FUNCTION, LAC_SIZED(lac_mm_write_options, comment), options, &o));
  LAC_TRY(write_check(ctx, pattern, values, &o));
  if (values) LAC_TRY(io_values_on_host(ctx, FUNCTION, values, &host, &copy));
  t = text_of(pattern, values, host, o.symmetry);
  LAC_TRY(write_check_symmetry(ctx, &t));
  if (pattern) {
    t.info.entries = count_written(&t);
    t.walked = pattern->nnz;
  } else {
    (void)mm_array_entries(&t.info, &t.info.entries);  // an array that exists can be counted
    t.walked = t.info.entries;
  }
  LAC_TRY(io_writer_open(ctx, (io_source){FUNCTION, path, 0}, io_path_is_gzip(path) ? IO_GZIP : IO_PLAIN, &file));
  LAC_TRY(put_head(ctx, file, &t, o.comment));
  LAC_TRY(put_body(ctx, file, &t));
  LAC_TRY(io_writer_finish(ctx, file));
done:
  io_writer_close(&file);
  lac_free(copy);
  return status;
}
