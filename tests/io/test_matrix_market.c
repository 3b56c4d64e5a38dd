// SPDX-License-Identifier: Apache-2.0
/// Matrix Market files: every format, field and symmetry; what is not one is refused with its line.

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/temporary.h"

/// A file as it was read, spread out: numbers[i * cols + j].
typedef struct read_matrix {
  lac_mm_info info;
  int64_t nnz;
  double complex *numbers;
} read_matrix;

static double complex number_at(const lac_array *a, int64_t i) {
  const void *x = lac_array_data(a);
  switch (lac_array_meta(a)->dtype) {
    case LAC_F32:
      return ((const float *)x)[i];
    case LAC_F64:
      return ((const double *)x)[i];
    case LAC_C64:
      return ((const float complex *)x)[i];
    default:
      return ((const double complex *)x)[i];
  }
}

static read_matrix read_path(lac_context *ctx, const char *path, const lac_mm_read_options *options, lac_dtype dtype) {
  read_matrix m = {.nnz = -1};
  lac_pattern *p = NULL;
  lac_array *a = NULL;
  CHECK_OK(lac_read_matrix_market(ctx, path, options, &p, &a, &m.info));
  CHECK_EQ(lac_array_meta(a)->dtype, dtype);
  m.numbers = scratch((size_t)(m.info.rows * m.info.cols) * sizeof *m.numbers);
  if (p) {
    m.nnz = lac_pattern_nnz(p);
    int64_t *row = scratch((size_t)m.nnz * sizeof *row), *col = scratch((size_t)m.nnz * sizeof *col);
    lac_pattern_read(p, NULL, col, row);
    for (int64_t z = 0; z < m.nnz; ++z) m.numbers[row[z] * m.info.cols + col[z]] = number_at(a, z);
  } else {
    CHECK_EQ(lac_array_count(a), m.info.rows * m.info.cols);
    for (int64_t i = 0; i < lac_array_count(a); ++i) m.numbers[i] = number_at(a, i);
  }
  lac_pattern_destroy(&p);
  lac_array_destroy(&a);
  return m;
}

static void check_numbers(const read_matrix *m, const double complex *expected) {
  for (int64_t i = 0; i < m->info.rows * m->info.cols; ++i) CHECK(m->numbers[i] == expected[i]);
}

/// A text gives these numbers, row by row, in `nnz` slots (-1: an array).
static void check_text_is(lac_context *ctx, const char *text, lac_dtype dtype, int64_t nnz,
                          const double complex *expected) {
  read_matrix m = read_path(ctx, temporary_text("a.mtx", text), NULL, dtype);
  CHECK_EQ(m.nnz, nnz);
  check_numbers(&m, expected);
}

#define BANNER "%%MatrixMarket matrix "

static void coordinates_of_every_field_are_read(lac_context *ctx) {
  const double complex real[] = {0, 2.5, -1, 0, 0, 4}, whole[] = {0, 2, -1, 0, 0, 4}, ones[] = {0, 1, 1, 0, 0, 1};
  const double complex z[] = {0, 2.5 + 1 * I, -1, 0, 0, -4 * I};
  check_text_is(ctx, BANNER "coordinate real general\n2 3 3\n1 2 2.5\n1 3 -1\n2 3 4e0\n", LAC_F64, 3, real);
  check_text_is(ctx, BANNER "coordinate integer general\n2 3 3\n2 3 4\n1 2 +2\n1 3 -1\n", LAC_F64, 3, whole);
  check_text_is(ctx, BANNER "coordinate pattern general\n2 3 3\n1 2\n1 3\n2 3\n", LAC_F64, 3, ones);
  check_text_is(ctx, BANNER "coordinate complex general\n2 3 3\n1 2 2.5 1\n1 3 -1 0\n2 3 0 -4\n", LAC_C128, 3, z);
}

static void triangles_are_expanded(lac_context *ctx) {
  const double complex even[] = {1, 2, 0, 2, 0, 3, 0, 3, 0}, odd[] = {0, -2, 0, 2, 0, -3, 0, 3, 0};
  const double complex h[] = {1, 2 - 1 * I, 0, 2 + 1 * I, 0, 0, 0, 0, 0},
                       s[] = {1, 2 + 1 * I, 0, 2 + 1 * I, 0, 0, 0, 0, 0};
  const double complex one[] = {1, 1, 0, 1, 0, 0, 0, 0, 0};
  check_text_is(ctx, BANNER "coordinate real symmetric\n3 3 3\n1 1 1\n2 1 2\n3 2 3\n", LAC_F64, 5, even);
  check_text_is(ctx, BANNER "coordinate real skew-symmetric\n3 3 2\n2 1 2\n3 2 3\n", LAC_F64, 4, odd);
  check_text_is(ctx, BANNER "coordinate complex hermitian\n3 3 2\n1 1 1 0\n2 1 2 1\n", LAC_C128, 3, h);
  check_text_is(ctx, BANNER "coordinate complex symmetric\n3 3 2\n1 1 1 0\n2 1 2 1\n", LAC_C128, 3, s);
  check_text_is(ctx, BANNER "coordinate pattern symmetric\n3 3 2\n1 1\n2 1\n", LAC_F64, 3, one);
}

static void arrays_are_read_column_by_column(lac_context *ctx) {
  const double complex general[] = {1, 3, 5, 2, 4, 6}, even[] = {1, 2, 3, 2, 4, 5, 3, 5, 6};
  const double complex odd[] = {0, -1, -2, 1, 0, -3, 2, 3, 0}, h[] = {1, 2 - 3 * I, 2 + 3 * I, 4};
  check_text_is(ctx, BANNER "array real general\n2 3\n1\n2\n3\n4\n5\n6\n", LAC_F64, -1, general);
  check_text_is(ctx, BANNER "array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", LAC_F64, -1, even);
  check_text_is(ctx, BANNER "array real skew-symmetric\n3 3\n1\n2\n3\n", LAC_F64, -1, odd);
  check_text_is(ctx, BANNER "array complex hermitian\n2 2\n1 0\n2 3\n4 0\n", LAC_C128, -1, h);
  check_text_is(ctx, BANNER "array real general\n0 3\n", LAC_F64, -1, NULL);
}

static void layout_does_not_matter(lac_context *ctx) {
  const double complex x[] = {0, 2.5, -1, 0};
  check_text_is(ctx, "%%matrixmarket MATRIX Coordinate REAL General\n2 2 2\n1 2 2.5\n2 1 -1", LAC_F64, 2, x);
  check_text_is(ctx, BANNER "coordinate real general \r\n%\r\n  % c\r\n\r\n2 2 2\r\n1 2 2.5\r\n\r\n2 1 -1\r\n", LAC_F64,
                2, x);
  check_text_is(ctx, BANNER "coordinate  real\tgeneral\n\n \t\n 2\t2  2 \n%\n   1\t 2 2.5  \n% between\n\n2 1 -1\n\n\n",
                LAC_F64, 2, x);
}

static void duplicates_sum(lac_context *ctx) {
  const double complex x[] = {6, 0, 0, 4}, s[] = {0, 5, 5, 0}, ones[] = {0, 3, 1, 0};
  check_text_is(ctx, BANNER "coordinate pattern general\n2 2 4\n1 2\n2 1\n1 2\n1 2\n", LAC_F64, 2, ones);
  check_text_is(ctx, BANNER "coordinate real general\n2 2 4\n1 1 1\n2 2 4\n1 1 2\n1 1 3\n", LAC_F64, 2, x);
  check_text_is(ctx, BANNER "coordinate real symmetric\n2 2 2\n2 1 2\n2 1 3\n", LAC_F64, 2, s);
}

static void empty_matrices_are_read(lac_context *ctx) {
  check_text_is(ctx, BANNER "coordinate real general\n0 0 0\n", LAC_F64, 0, NULL);
  check_text_is(ctx, BANNER "coordinate real general\n3 0 0", LAC_F64, 0, NULL);
  check_text_is(ctx, BANNER "coordinate complex hermitian\n0 0 0\n% end\n", LAC_C128, 0, NULL);
}

static void words_for_what_is_not_finite_are_numbers(lac_context *ctx) {
  read_matrix m = read_path(
      ctx, temporary_text("a.mtx", BANNER "coordinate real general\n1 3 3\n1 1 NaN\n1 2 -inf\n1 3 Infinity\n"), NULL,
      LAC_F64);
  CHECK(isnan(creal(m.numbers[0])) && creal(m.numbers[1]) == -INFINITY && creal(m.numbers[2]) == INFINITY);
}

static void options_choose_storage_and_dtype(lac_context *ctx) {
  const char *path = temporary_text("a.mtx", BANNER "coordinate real symmetric\n2 2 2\n1 1 0.1\n2 1 2\n");
  const char *z = temporary_text("z.mtx", BANNER "coordinate complex general\n1 1 1\n1 1 0.1 2\n");
  lac_mm_read_options o = lac_mm_read_options_defaults();
  o.storage = LAC_MM_AS_STORED;
  read_matrix m = read_path(ctx, path, &o, LAC_F64);
  CHECK_EQ(m.nnz, 2);
  CHECK_EQ(m.info.symmetry, LAC_MM_SYMMETRIC);
  CHECK(m.numbers[1] == 0 && m.numbers[2] == 2);
  o.dtype = "f32";
  m = read_path(ctx, path, &o, LAC_F32);
  CHECK(m.numbers[0] == 0.1F);
  o.dtype = "c64";
  m = read_path(ctx, z, &o, LAC_C64);
  CHECK(m.numbers[0] == 0.1F + 2 * I);
  o.dtype = "c128", o.storage = LAC_MM_EXPANDED;
  m = read_path(ctx, path, &o, LAC_C128);
  CHECK(m.numbers[1] == 2);
  lac_pattern *p = NULL;
  o.dtype = "f64";
  CHECK_FAILS(lac_read_matrix_market(ctx, z, &o, &p, NULL, NULL), LAC_ERR_DTYPE,
              "holds complex numbers, and f64 was asked");
  o.dtype = "f16";
  CHECK_FAILS(lac_read_matrix_market(ctx, z, &o, &p, NULL, NULL), LAC_ERR_ARG, "no dtype \"f16\"; there are \"f32\"");
}

/// {0}, NULL and the defaults give the same; a size that cannot be is refused.
static void zero_is_the_default_of_every_option(lac_context *ctx) {
  const char *path = temporary_text("a.mtx", BANNER "coordinate real symmetric\n2 2 2\n1 1 0.1\n2 1 2\n");
  lac_mm_read_options usual = lac_mm_read_options_defaults(), zero = {0}, cut = {.size = sizeof(size_t)};
  const lac_mm_read_options *asked[] = {NULL, &zero, &usual};
  for (int i = 0; i < 3; i++) {
    read_matrix m = read_path(ctx, path, asked[i], LAC_F64);
    CHECK_EQ(m.nnz, 3);
    CHECK(m.numbers[0] == 0.1 && m.numbers[1] == 2 && m.numbers[2] == 2);
    CHECK_EQ(m.info.entries, 2);
  }
  struct {
    lac_mm_read_options known;
    int64_t later;
  } options = {.known = {.size = sizeof options}, .later = 1};
  lac_pattern *p = NULL;
  CHECK_FAILS(lac_read_matrix_market(ctx, path, &options.known, &p, NULL, NULL), LAC_ERR_ARG, "later version");
  CHECK_FAILS(lac_read_matrix_market(ctx, path, &cut, &p, NULL, NULL), LAC_ERR_ARG, "sizeof(lac_mm_read_options)");
  lac_mm_info info = {.size = 5};
  CHECK_FAILS(lac_read_matrix_market(ctx, path, NULL, &p, NULL, &info), LAC_ERR_ARG, "sizeof(lac_mm_info)");
  CHECK(!p);
}

/// A text is refused with these words, and nothing is handed over.
static void check_refused(lac_context *ctx, const char *text, const char *words) {
  lac_pattern *p = NULL;
  lac_array *a = NULL;
  CHECK_FAILS(lac_read_matrix_market(ctx, temporary_text("bad.mtx", text), NULL, &p, &a, NULL), LAC_ERR_FORMAT, words);
  CHECK(!p && !a);
}

static void heads_that_say_nothing_are_refused(lac_context *ctx) {
  check_refused(ctx, "", "does not begin with %%MatrixMarket");
  check_refused(ctx, "1 1 1\n", "does not begin with %%MatrixMarket");
  check_refused(ctx, "%%MatrixMarket vector coordinate real general\n",
                "line 1: expected the word matrix, got 'vector'");
  check_refused(ctx, BANNER "sparse real general\n", "expected coordinate or array, got 'sparse'");
  check_refused(ctx, BANNER "coordinate quaternion general\n",
                "expected real, integer, complex or pattern, got 'quaternion'");
  check_refused(ctx, BANNER "coordinate real\n", "expected general, symmetric, skew-symmetric or hermitian, got ''");
  check_refused(ctx, BANNER "coordinate real general more\n", "more than five words");
  check_refused(ctx, BANNER "array pattern general\n", "its field is not pattern");
  check_refused(ctx, BANNER "coordinate pattern skew-symmetric\n", "is not skew-symmetric");
  check_refused(ctx, BANNER "coordinate real hermitian\n", "hermitian goes with complex");
  check_refused(ctx, BANNER "coordinate real general", "ends before the line with the sizes");
  check_refused(ctx, BANNER "coordinate real general\n% only comments\n\n", "ends before the line with the sizes");
}

static void sizes_that_cannot_be_are_refused(lac_context *ctx) {
  check_refused(ctx, BANNER "coordinate real general\n% c\n3 3\n", "line 3: expected the sizes rows cols entries");
  check_refused(ctx, BANNER "coordinate real general\n3 3 x\n", "line 2: expected the sizes");
  check_refused(ctx, BANNER "coordinate real general\n3 3 1.5\n", "line 2: expected the sizes");
  check_refused(ctx, BANNER "coordinate real general\n3 3 1 1\n", "line 2: more than 3 sizes");
  check_refused(ctx, BANNER "coordinate real general\n-3 3 1\n", "a size of -3 is not within");
  check_refused(ctx, BANNER "coordinate real general\n3 99999999999999999999 1\n",
                "a size of 9223372036854775807 is not within");
  check_refused(ctx, BANNER "coordinate real symmetric\n3 4 1\n", "a symmetric matrix is square, not 3 x 4");
  check_refused(ctx, BANNER "array real general\n100000000000000000 100000000000000000\n", "cannot be addressed");
  check_refused(ctx, BANNER "array real symmetric\n2000000000 2000000000\n",
                "the head announces 2000000001000000000 numbers");
  check_refused(ctx, BANNER "array real skew-symmetric\n100000000000000000 100000000000000000\n",
                "cannot be addressed");
  check_refused(ctx, BANNER "coordinate real general\n1000000000000 1 0\n", "announces 1000000000000 rows in");
  check_refused(ctx, BANNER "coordinate real general\n5 5 100000000000000000\n1 1 1\n",
                "announces 100000000000000000 entries, and there are 1");
}

static void headers_alone_take_no_memory(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_mm_read_options o = lac_mm_read_options_defaults();
  const char *path = temporary_text("a.mtx", BANNER "coordinate real general\n1000000 1 0\n");
  o.most_bytes = 1000000;
  lac_memory_reset_peak("cpu");
  int64_t before = memory_now("cpu").live_bytes;
  CHECK_FAILS(lac_read_matrix_market(ctx, path, &o, &p, NULL, NULL), LAC_ERR_FORMAT, "raise most_bytes");
  CHECK(memory_now("cpu").peak_bytes - before < 10000);
  o.most_bytes = 100000000;
  CHECK_OK(lac_read_matrix_market(ctx, path, &o, &p, NULL, NULL));
  CHECK_EQ(lac_pattern_rows(p), 1000000);
  lac_pattern_destroy(&p);
}

static void faulty_lines_are_named(lac_context *ctx) {
#define HEAD BANNER "coordinate real general\n% c\n2 3 2\n"
  check_refused(ctx, HEAD "1 1 1\n\n3 1 1\n", "line 6: row 3 is outside 1..2");
  check_refused(ctx, HEAD "0 1 1\n1 1 1\n", "line 4: row 0 is outside 1..2");
  check_refused(ctx, HEAD "1 4 1\n1 1 1\n", "line 4: column 4 is outside 1..3");
  check_refused(ctx, HEAD "1 -1 1\n1 1 1\n", "line 4: column -1 is outside 1..3");
  check_refused(ctx, HEAD "1 99999999999999999999 1\n1 1 1\n", "column 9223372036854775807 is outside");
  check_refused(ctx, HEAD "1 1\n1 1 1\n", "line 4: expected row column number, got '1 1'");
  check_refused(ctx, HEAD "1 1 x\n1 1 1\n", "line 4: expected row column number, got '1 1 x'");
  check_refused(ctx, HEAD "1 1 1,5\n1 1 1\n", "expected row column number, got '1 1 1,5'");
  check_refused(ctx, HEAD "1 1 1 1\n1 1 1\n", "expected row column number and no more");
  check_refused(ctx, HEAD "1.0 1 1\n1 1 1\n", "expected row column number, got '1.0 1 1'");
  check_refused(ctx, HEAD "1 1 0x1p3\n1 1 1\n", "expected row column number");
  check_refused(ctx, HEAD "1 1 1\n", "announces 2 entries, and there are 1 up to line 4");
  check_refused(ctx, HEAD "1 1 1\n1 2 1\n1 3 1\n", "announces 2 entries, and there are 3 up to line 6");
  check_refused(ctx, BANNER "coordinate integer general\n1 1 1\n1 1 1.5\n", "expected row column integer");
  check_refused(ctx, BANNER "coordinate complex general\n1 1 1\n1 1 1\n", "expected row column real imaginary");
  check_refused(ctx, BANNER "coordinate real skew-symmetric\n2 2 1\n1 1 3\n",
                "line 3: the diagonal of a skew-symmetric matrix is zero");
  check_refused(ctx, BANNER "coordinate complex hermitian\n2 2 1\n1 1 3 1\n",
                "line 3: the diagonal of a hermitian matrix is real");
  check_refused(ctx, BANNER "array real general\n2 2\n1\n2\n3\n",
                "announces 4 numbers, one to a line, and there are 3");
  check_refused(ctx, BANNER "array real general\n2 1\n1\n2 3\n", "line 4: expected a number and no more, got '2 3'");
#undef HEAD
}

static void what_is_no_file_is_refused(lac_context *ctx) {
  lac_pattern *p = NULL;
  const char *pipe = temporary_path("pipe");
  CHECK_FAILS(lac_read_matrix_market(ctx, temporary_path("none.mtx"), NULL, &p, NULL, NULL), LAC_ERR_FILE,
              "No such file");
  CHECK_FAILS(lac_read_matrix_market(ctx, "/", NULL, &p, NULL, NULL), LAC_ERR_FILE, "is a directory");
  CHECK_FAILS(lac_read_matrix_market(ctx, "/dev/zero", NULL, &p, NULL, NULL), LAC_ERR_FILE, "is a pipe or a device");
  CHECK(mkfifo(pipe, 0600) == 0);
  CHECK_FAILS(lac_read_matrix_market(ctx, pipe, NULL, &p, NULL, NULL), LAC_ERR_FILE, "is a pipe or a device");
  CHECK_FAILS(lac_read_matrix_market(ctx, NULL, NULL, &p, NULL, NULL), LAC_ERR_ARG, "the path is NULL");
  CHECK_FAILS(lac_read_matrix_market(ctx, temporary_text("a.mtx", BANNER "coordinate real general\n0 0 0\n"), NULL,
                                     NULL, NULL, NULL),
              LAC_ERR_ARG, "pattern is NULL");
}

/// A long file with entries in random order, some of them twice, comments and blank lines between.
static const char *long_file(int64_t n, int64_t entries) {
  random_state r = random_start(81);
  const char *path = temporary_path("long.mtx");
  FILE *file = fopen(path, "w");
  CHECK(file);
  (void)fprintf(file, "%scoordinate complex hermitian\n%" PRId64 " %" PRId64 " %" PRId64 "\n", BANNER, n, n, entries);
  for (int64_t k = 0; k < entries; ++k) {
    int64_t i = random_below(&r, n), j = random_below(&r, n);
    if (i < j) i ^= j, j ^= i, i ^= j;
    (void)fprintf(file, "%" PRId64 " %" PRId64 " %.17g %.17g\n", i + 1, j + 1, random_unit(&r),
                  i == j ? 0 : random_unit(&r));
    if (k % 997 == 0) (void)fprintf(file, "%% comment\n\n");
  }
  (void)fclose(file);
  return path;
}

static void threads_do_not_change_a_bit(lac_context *ctx) {
  const char *path = long_file(3000, 60000);
  lac_pattern *p[2] = {NULL};
  lac_array *a[2] = {NULL};
  for (int t = 0; t < 2; ++t) {
    CHECK_OK(lac_context_set_threads(ctx, t ? 3 : 1));
    CHECK_OK(lac_read_matrix_market(ctx, path, NULL, &p[t], &a[t], NULL));
  }
  CHECK(lac_pattern_same(p[0], p[1]) && lac_pattern_nnz(p[0]) > 100000);
  CHECK(memcmp(lac_array_data(a[0]), lac_array_data(a[1]), (size_t)lac_array_count(a[0]) * 16) == 0);
  for (int t = 0; t < 2; ++t) {
    lac_pattern_destroy(&p[t]);
    lac_array_destroy(&a[t]);
  }
}

static void the_first_fault_of_many_is_named(lac_context *ctx) {
  size_t size = 0;
  char *text = temporary_read(long_file(3000, 60000), &size);
  lac_pattern *p = NULL;
  CHECK_OK(lac_context_set_threads(ctx, 3));
  int64_t line = 1;
  for (size_t i = 0; i + 1 < size; ++i) {
    if (text[i] != '\n') continue;
    ++line;
    if (line >= 20000 && line % 7000 == 0 && text[i + 1] != '%' && text[i + 1] != '\n') text[i + 1] = '?';
  }
  CHECK_FAILS(lac_read_matrix_market(ctx, temporary_bytes("bad.mtx", text, size), NULL, &p, NULL, NULL), LAC_ERR_FORMAT,
              "line 21000: expected row column real imaginary, got '?");
}

static void every_allocation_may_fail(lac_context *ctx) {
  const char *path = long_file(40, 100);
  for (int64_t n = 1;; ++n) {
    lac_pattern *p = NULL;
    lac_array *a = NULL;
    long long before = check_live_blocks();
    (void)lac_memory_fail_at(n);
    lac_status status = lac_read_matrix_market(ctx, path, NULL, &p, &a, NULL);
    (void)lac_memory_fail_at(0);
    if (status == LAC_OK) {
      lac_pattern_destroy(&p);
      lac_array_destroy(&a);
      CHECK(n > 5);
      break;
    }
    CHECK_EQ(status, LAC_ERR_MEMORY);
    CHECK(!p && !a);
    CHECK_EQ(check_live_blocks(), before);
  }
  lac_context_clear_error(ctx);
}

CHECK_MAIN(coordinates_of_every_field_are_read, triangles_are_expanded, arrays_are_read_column_by_column,
           layout_does_not_matter, duplicates_sum, empty_matrices_are_read, words_for_what_is_not_finite_are_numbers,
           options_choose_storage_and_dtype, zero_is_the_default_of_every_option, heads_that_say_nothing_are_refused,
           sizes_that_cannot_be_are_refused, headers_alone_take_no_memory, faulty_lines_are_named,
           what_is_no_file_is_refused, threads_do_not_change_a_bit, the_first_fault_of_many_is_named,
           every_allocation_may_fail)
