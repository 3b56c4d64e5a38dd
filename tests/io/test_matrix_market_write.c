// SPDX-License-Identifier: Apache-2.0
/// Matrix Market files, written: what is read back has the same structure and the same bits.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory_impl.h"
#include "support/check.h"
#include "support/dense.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/temporary.h"

static const lac_dtype dtypes[] = {LAC_F32, LAC_F64, LAC_C64, LAC_C128};

/// Values whose numbers use all their bits.
static lac_array *values_of(lac_context *ctx, lac_dtype dtype, int ndim, const int64_t *shape, uint64_t seed) {
  random_state r = random_start(seed);
  lac_array *a = NULL;
  CHECK_OK(lac_array_create(ctx, dtype, ndim, shape, &a));
  int is_single = dtype == LAC_F32 || dtype == LAC_C64;
  int64_t count = lac_array_count(a) * (dtype >= LAC_C64 ? 2 : 1);
  for (int64_t i = 0; i < count; ++i) {
    double x = ldexp((double)(random_bits(&r) >> 11) - 0x1p52, -52 + (int)random_below(&r, 60) - 30);
    if (is_single) {
      ((float *)lac_array_edit(a))[i] = (float)x;
    } else {
      ((double *)lac_array_edit(a))[i] = x;
    }
  }
  return a;
}

/// Reads back the same.
static void check_back(lac_context *ctx, const char *path, const lac_pattern *p, const lac_array *a) {
  lac_mm_read_options o = lac_mm_read_options_defaults();
  lac_pattern *p_back = NULL;
  lac_array *a_back = NULL;
  o.dtype = lac_dtype_name(lac_array_meta(a)->dtype);
  CHECK_OK(lac_read_matrix_market(ctx, path, &o, &p_back, &a_back, NULL));
  CHECK(p ? lac_pattern_same(p, p_back) : !p_back);
  CHECK_EQ(lac_array_count(a), lac_array_count(a_back));
  CHECK(memcmp(lac_array_data(a), lac_array_data(a_back),
               (size_t)lac_array_count(a) * lac_dtype_size(lac_array_meta(a)->dtype)) == 0);
  lac_pattern_destroy(&p_back);
  lac_array_destroy(&a_back);
}

static void matrices_come_back_to_the_bit(lac_context *ctx) {
  static const int64_t sizes[][2] = {{17, 23}, {300, 200}, {1, 1}, {5, 0}, {0, 0}};
  for (int c = 0; c < 20; ++c) {
    const sketch *s = sketch_random(sizes[c % 5][0], sizes[c % 5][1], 0.2, 3);
    const char *path = temporary_path("w.mtx");
    lac_pattern *p = NULL;
    CHECK_OK(lac_context_set_threads(ctx, 1 + c % 3));
    CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
    lac_array *a = values_of(ctx, dtypes[c / 5], 1, (int64_t[]){s->nnz}, 9);
    CHECK_OK(lac_write_matrix_market(ctx, path, p, a, NULL));
    check_back(ctx, path, p, a);
    lac_array_destroy(&a);
    lac_pattern_destroy(&p);
  }
}

static void arrays_come_back_to_the_bit(lac_context *ctx) {
  static const int64_t sizes[][2] = {{17, 23}, {80, 90}, {1, 1}, {5, 0}, {0, 5}};
  for (int c = 0; c < 20; ++c) {
    const char *path = temporary_path("w.mtx");
    lac_array *a = values_of(ctx, dtypes[c / 5], 2, sizes[c % 5], 9);
    CHECK_OK(lac_write_matrix_market(ctx, path, NULL, a, NULL));
    check_back(ctx, path, NULL, a);
    lac_array_destroy(&a);
  }
}

static void the_text_is_what_one_expects(lac_context *ctx) {
  lac_pattern *p = NULL;
  lac_array *a = NULL;
  double x[] = {1, -0.5, 1e-7};
  const char *path = temporary_path("w.mtx");
  lac_mm_write_options o = {.comment = "one\ntwo"};
  CHECK_OK(lac_pattern_from_coo(ctx, 2, 3, 3, LAC_I64, (int64_t[]){0, 0, 1}, (int64_t[]){0, 2, 1}, LAC_WIDTH_AUTO, &p,
                                NULL));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, (int64_t[]){3}, x, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_write_matrix_market(ctx, path, p, a, &o));
  CHECK_TEXT(temporary_read(path, NULL),
             "%%MatrixMarket matrix coordinate real general\n% one\n% two\n2 3 3\n1 1 1\n1 3 -5e-1\n2 2 1e-7\n");
  CHECK_OK(lac_write_matrix_market(ctx, path, p, NULL, NULL));
  CHECK_TEXT(temporary_read(path, NULL), "%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n1 3\n2 2\n");
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
}

/// A matrix of one symmetry: entry z and its opposite.
static lac_array *mirrored_values(lac_context *ctx, const sketch *s, lac_mm_symmetry symmetry) {
  lac_array *a = values_of(ctx, LAC_C128, 1, (int64_t[]){s->nnz}, 5);
  double complex *x = lac_array_edit(a);
  for (int64_t z = 0; z < s->nnz; ++z) {
    int64_t other = sketch_find(s, s->col[z], s->row[z]);
    if (z == other && symmetry == LAC_MM_SKEW) x[z] = 0;
    if (z == other && symmetry == LAC_MM_HERMITIAN) x[z] = creal(x[z]);
    if (other > z) x[other] = symmetry == LAC_MM_SYMMETRIC ? x[z] : symmetry == LAC_MM_SKEW ? -x[z] : conj(x[z]);
  }
  return a;
}

static void one_triangle_is_written_and_comes_back_whole(lac_context *ctx) {
  const sketch *s = sketch_symmetric(12, 0.3, 7);
  const char *path = temporary_path("w.mtx");
  lac_pattern *p = NULL;
  lac_mm_info info = {0};
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  for (lac_mm_symmetry symmetry = LAC_MM_SYMMETRIC; symmetry <= LAC_MM_HERMITIAN; symmetry += 2) {
    lac_array *a = mirrored_values(ctx, s, symmetry);
    lac_mm_write_options o = {.symmetry = symmetry};
    lac_pattern *back = NULL;
    CHECK_OK(lac_write_matrix_market(ctx, path, p, a, &o));
    check_back(ctx, path, p, a);
    CHECK_OK(lac_read_matrix_market(ctx, path, NULL, &back, NULL, &info));
    CHECK_EQ(info.symmetry, symmetry);
    CHECK_EQ(info.entries, (s->nnz + 12) / 2);
    lac_pattern_destroy(&back);
    lac_array_destroy(&a);
  }
  lac_pattern_destroy(&p);
}

static void arrays_have_symmetry_too(lac_context *ctx) {
  double even[] = {1, 2, 3, 2, 4, 5, 3, 5, 6}, odd[] = {0, -1, -2, 1, 0, -3, 2, 3, 0};
  const char *path = temporary_path("w.mtx");
  lac_mm_write_options o = {.symmetry = LAC_MM_SYMMETRIC};
  lac_array *a = NULL, *b = NULL;
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 3}, even, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){3, 3}, odd, LAC_OWNERSHIP_COPY, &b));
  CHECK_OK(lac_write_matrix_market(ctx, path, NULL, a, &o));
  CHECK_TEXT(temporary_read(path, NULL), "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
  check_back(ctx, path, NULL, a);
  CHECK_FAILS(lac_write_matrix_market(ctx, path, NULL, b, &o), LAC_ERR_SYMMETRY, "is not symmetric (number 1)");
  o.symmetry = LAC_MM_SKEW;
  CHECK_OK(lac_write_matrix_market(ctx, path, NULL, b, &o));
  check_back(ctx, path, NULL, b);
  lac_array_destroy(&a);
  lac_array_destroy(&b);
}

static void what_is_not_symmetric_is_not_written_so(lac_context *ctx) {
  const char *path = temporary_path("kept.mtx");
  const sketch *s = sketch_square(6, 0.3, 2);
  lac_mm_write_options o = {.symmetry = LAC_MM_SYMMETRIC};
  lac_pattern *p = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  lac_array *a = values_of(ctx, LAC_F64, 1, (int64_t[]){s->nnz}, 1),
            *two = values_of(ctx, LAC_F64, 2, (int64_t[]){2, s->nnz}, 1);
  CHECK_FAILS(lac_write_matrix_market(ctx, path, p, a, &o), LAC_ERR_SYMMETRY, "is not symmetric");
  o.symmetry = LAC_MM_HERMITIAN;
  CHECK_FAILS(lac_write_matrix_market(ctx, path, p, a, &o), LAC_ERR_SYMMETRY, "hermitian goes with complex");
  o.symmetry = LAC_MM_SKEW;
  CHECK_FAILS(lac_write_matrix_market(ctx, path, p, NULL, &o), LAC_ERR_SYMMETRY, "a pattern has no signs");
  CHECK_FAILS(lac_write_matrix_market(ctx, path, p, two, NULL), LAC_ERR_SHAPE, "the values have shape (2, ");
  CHECK_FAILS(lac_write_matrix_market(ctx, path, NULL, a, NULL), LAC_ERR_SHAPE, "holds rows and columns");
  CHECK_FAILS(lac_write_matrix_market(ctx, path, NULL, NULL, NULL), LAC_ERR_ARG, "give a pattern, or values");
  CHECK_FAILS(lac_write_matrix_market(ctx, temporary_path("no/folder.mtx"), p, a, NULL), LAC_ERR_FILE, "cannot write");
  CHECK_FAILS(lac_write_matrix_market(ctx, "/dev/full", p, a, NULL), LAC_ERR_FILE, "cannot write '/dev/full'");
  lac_array_destroy(&a);
  lac_array_destroy(&two);
  lac_pattern_destroy(&p);
}

/// gz, where there is zlib: 0 when there is none.
static int gzip_is_here(lac_context *ctx, const char *path, const lac_pattern *p, const lac_array *a) {
  lac_status status = lac_write_matrix_market(ctx, path, p, a, NULL);
  if (status != LAC_ERR_UNSUPPORTED) return CHECK_OK(status), 1;
  CHECK(strstr(lac_context_error(ctx), "this build has no zlib"));
  lac_context_clear_error(ctx);
  (void)printf("    without zlib\n");
  return 0;
}

static void gzipped_files_come_back_and_damaged_ones_do_not(lac_context *ctx) {
  const sketch *s = sketch_random(300, 200, 0.2, 3);
  const char *path = temporary_path("w.mtx.gz");
  lac_pattern *p = NULL, *none = NULL;
  size_t size = 0;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  lac_array *a = values_of(ctx, LAC_F64, 1, (int64_t[]){s->nnz}, 1);
  if (gzip_is_here(ctx, path, p, a)) {
    check_back(ctx, path, p, a);
    char *packed = temporary_read(path, &size);
    CHECK(memcmp(packed, "\x1f\x8b", 2) == 0);
    check_back(ctx, temporary_bytes("other.name", packed, size), p, a);
    lac_mm_read_options small = lac_mm_read_options_defaults();
    small.most_bytes = 100000;  // the text has more
    CHECK_FAILS(lac_read_matrix_market(ctx, path, &small, &none, NULL, NULL), LAC_ERR_FORMAT,
                "unpacks to more than 100000 bytes");
    for (size_t cut = 2; cut < size; cut += size / 23) {
      CHECK_FAILS(lac_read_matrix_market(ctx, temporary_bytes("cut.gz", packed, cut), NULL, &none, NULL, NULL),
                  LAC_ERR_FORMAT, "ends too early");
    }
    packed[size - 5] ^= 1;
    CHECK_FAILS(lac_read_matrix_market(ctx, temporary_bytes("bad.gz", packed, size), NULL, &none, NULL, NULL),
                LAC_ERR_FORMAT, "is gzipped and damaged");
  }
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
}

/// The old file stays while the new one cannot be made, and no other is left behind.
static void failing_allocations_leave_the_old_file_alone(lac_context *ctx) {
  const sketch *s = sketch_random(9, 8, 0.4, 3);
  lac_pattern *p = NULL;
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  lac_array *a = values_of(ctx, LAC_F64, 1, (int64_t[]){s->nnz}, 1);
  for (int packed = 0; packed < 2; ++packed) {
    const char *path = temporary_text(packed ? "old.mtx.gz" : "old.mtx", "old");
    int files = temporary_count();
    lac_status status = LAC_ERR_MEMORY;
    for (int64_t n = 1; status == LAC_ERR_MEMORY; ++n) {
      CHECK_TEXT(temporary_read(path, NULL), "old");
      CHECK_EQ(temporary_count(), files);
      (void)lac_memory_fail_at(n);
      status = lac_write_matrix_market(ctx, path, p, a, NULL);
      (void)lac_memory_fail_at(0);
    }
    CHECK(status == LAC_OK || (packed && status == LAC_ERR_UNSUPPORTED));
    if (status == LAC_OK) check_back(ctx, path, p, a);
  }
  lac_context_clear_error(ctx);
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
}

/// The defaults are what NULL gives: everything, and no comment.
static void options_begin_with_their_defaults(lac_context *ctx) {
  lac_mm_write_options o = lac_mm_write_options_defaults();
  const char *usual = temporary_path("usual.mtx"), *given = temporary_path("given.mtx");
  const sketch *s = sketch_random(6, 4, 0.5, 2);
  lac_pattern *p = NULL;
  size_t sizes[2] = {0, 0};
  CHECK_OK(sketch_pattern(ctx, s, LAC_WIDTH_AUTO, &p));
  lac_array *a = values_of(ctx, LAC_F64, 1, (int64_t[]){s->nnz}, 4);
  CHECK_OK(lac_write_matrix_market(ctx, usual, p, a, NULL));
  CHECK_OK(lac_write_matrix_market(ctx, given, p, a, &o));
  const char *texts[2] = {temporary_read(usual, &sizes[0]), temporary_read(given, &sizes[1])};
  CHECK(sizes[0] > 0 && sizes[0] == sizes[1] && memcmp(texts[0], texts[1], sizes[0]) == 0);
  o.comment = "of a test";
  CHECK_OK(lac_write_matrix_market(ctx, given, p, a, &o));
  CHECK(strstr(temporary_read(given, &sizes[1]), "of a test"));
  lac_array_destroy(&a);
  lac_pattern_destroy(&p);
}

CHECK_MAIN(options_begin_with_their_defaults, matrices_come_back_to_the_bit, arrays_come_back_to_the_bit,
           the_text_is_what_one_expects, one_triangle_is_written_and_comes_back_whole, arrays_have_symmetry_too,
           what_is_not_symmetric_is_not_written_so, gzipped_files_come_back_and_damaged_ones_do_not,
           failing_allocations_leave_the_old_file_alone)
