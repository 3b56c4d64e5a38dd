// SPDX-License-Identifier: Apache-2.0
/// @file matrix_market.c
/// Real matrices through the library's own reader, which tests/python/test_io.py holds against SciPy's on the same
/// files.

#include "support/matrix_market.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { LONGEST = 1024 };

static void mm_take(const lac_pattern *pattern, const lac_array *values, mm_matrix *m) {
  m->rows = lac_pattern_rows(pattern), m->cols = lac_pattern_cols(pattern), m->count = lac_pattern_nnz(pattern);
  size_t room = (size_t)m->count + 1;
  m->row = malloc(room * sizeof *m->row);
  m->col = malloc(room * sizeof *m->col);
  m->value = malloc(2 * room * sizeof *m->value);
  CHECK(m->row && m->col && m->value);
  lac_pattern_read(pattern, NULL, m->col, m->row);
  memcpy(m->value, lac_array_data(values), (size_t)m->count * 2 * sizeof *m->value);
}

void mm_read(const char *name, mm_matrix *out) {
  char path[LONGEST];
  lac_context *ctx = NULL;
  lac_pattern *pattern = NULL;
  lac_array *values = NULL;
  lac_mm_info info = {0};
  lac_mm_read_options options = lac_mm_read_options_defaults();

  options.dtype = "c128";
  (void)snprintf(path, sizeof path, "data/matrices/%s.mtx", name);
  CHECK_OK(lac_context_create("cpu", 0, &ctx));
  CHECK_OK(lac_read_matrix_market(ctx, path, &options, &pattern, &values, &info));
  *out = (mm_matrix){.is_complex = info.field == LAC_MM_COMPLEX, .is_pattern = info.field == LAC_MM_PATTERN};
  mm_take(pattern, values, out);
  lac_pattern_destroy(&pattern);
  lac_array_destroy(&values);
  lac_context_destroy(&ctx);
}

void mm_free(mm_matrix *matrix) {
  free(matrix->row);
  free(matrix->col);
  free(matrix->value);
}
