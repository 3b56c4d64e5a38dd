// SPDX-License-Identifier: Apache-2.0
/// @file matrix_market.c
/// Reads Matrix Market coordinate files.

#include "support/matrix_market.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

enum { LINE = 1024 };

static void mm_add(mm_matrix *m, int64_t row, int64_t col, double re, double im) {
  m->row[m->count] = row;
  m->col[m->count] = col;
  m->value[2 * m->count] = re;
  m->value[2 * m->count + 1] = im;
  m->count++;
}

// One line of entries: "row col [re [im]]", from 1.
static int mm_parse(const mm_matrix *m, const char *line, int64_t place[2], double value[2]) {
  char *end;
  for (int i = 0; i < 2; i++) {
    place[i] = strtoll(line, &end, 10) - 1;
    if (end == line) return 0;
    line = end;
  }
  value[0] = 1, value[1] = 0;
  for (int i = 0; !m->is_pattern && i < 1 + m->is_complex; i++) {
    value[i] = strtod(line, &end);
    if (end == line) return 0;
    line = end;
  }
  return place[0] >= 0 && place[0] < m->rows && place[1] >= 0 && place[1] < m->cols;
}

static void mm_read_entries(FILE *file, const char *symmetry, int64_t lines, mm_matrix *m) {
  double mirror = strcmp(symmetry, "skew-symmetric") == 0 ? -1 : 1,
         conjugate = strcmp(symmetry, "hermitian") == 0 ? -1 : 1;
  char line[LINE];

  m->row = malloc((size_t)(2 * lines + 1) * sizeof *m->row);
  m->col = malloc((size_t)(2 * lines + 1) * sizeof *m->col);
  m->value = malloc((size_t)(4 * lines + 2) * sizeof *m->value);
  CHECK(m->row && m->col && m->value);
  for (int64_t i = 0; i < lines; i++) {
    int64_t place[2];
    double value[2];
    CHECK(fgets(line, LINE, file) && mm_parse(m, line, place, value));
    mm_add(m, place[0], place[1], value[0], value[1]);
    if (strcmp(symmetry, "general") != 0 && place[0] != place[1]) {
      mm_add(m, place[1], place[0], mirror * value[0], mirror * conjugate * value[1]);
    }
  }
}

static const char *mm_folder(void) {
  const char *data = getenv("LACUNA_DATA");
  return data ? data : "../shared/data";
}

int mm_is_there(void) {
  char path[LINE];
  snprintf(path, sizeof path, "%s/matrices", mm_folder());
  return access(path, R_OK | X_OK) == 0;
}

void mm_read(const char *name, mm_matrix *out) {
  char path[LINE], line[LINE], field[32], symmetry[32], *end;
  mm_matrix m = {0};

  snprintf(path, sizeof path, "%s/matrices/%s.mtx", mm_folder(), name);
  FILE *file = fopen(path, "r");
  if (!file) check_fail(__FILE__, __LINE__, "%s is not there (LACUNA_DATA names the folder)", path);
  CHECK(fgets(line, LINE, file) && sscanf(line, "%%%%MatrixMarket matrix coordinate %31s %31s", field, symmetry) == 2);
  do CHECK(fgets(line, LINE, file));
  while (line[0] == '%');
  m.rows = strtoll(line, &end, 10);
  m.cols = strtoll(end, &end, 10);
  m.is_complex = strcmp(field, "complex") == 0;
  m.is_pattern = strcmp(field, "pattern") == 0;
  mm_read_entries(file, symmetry, strtoll(end, NULL, 10), &m);
  fclose(file);
  *out = m;
}

void mm_free(mm_matrix *matrix) {
  free(matrix->row);
  free(matrix->col);
  free(matrix->value);
}
