// SPDX-License-Identifier: Apache-2.0
/// @file bench_formats.c
/// What formats bring: one column by rows and by sliced ELL, blocks and single entries of the same matrix. Each row is
/// checked, then all take turns, best of many rounds. Bytes are those that must move at least once: values, indices, x
/// and y.
///
///     bench_formats [threads [rounds]]        default: all, 60

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "kernels/kernels.h"
#include "lacuna/lacuna.h"

enum { TRIAD = 1 << 24, MOST = 8 };

static lac_context *ctx;
static int rounds = 60;

static void must(lac_status status) {
  if (status == LAC_OK) return;
  fprintf(stderr, "%s\n", lac_context_error(ctx));
  exit(1);
}

/// One thing to time: y = A x in some layout.
typedef struct bench_row {
  const char *name;
  lac_pattern *pattern;  // spmm, or
  lac_format *format;    // sell_mm
  lac_array *a, *x, *y;
  double bytes, best;
} bench_row;

static void row_run(const bench_row *r) {
  if (r->format) {
    must(ctx->kernels->sell_mm(ctx, r->format, r->a, r->x, r->y));
  } else {
    must(ctx->kernels->spmm(ctx, r->pattern, LAC_PLAIN, r->a, r->x, r->y));
  }
}

/// a = b + 3 c with stores past the caches: what the machine can move.
static double triad_run(double *a, const double *b, const double *c) {
  double begin = omp_get_wtime();
#pragma omp parallel for schedule(static) num_threads(ctx->threads)
  for (int64_t i = 0; i < TRIAD; i += 2) {
    double s[2] = {b[i] + 3 * c[i], b[i + 1] + 3 * c[i + 1]};
#ifdef __SSE2__
    _mm_stream_pd(a + i, _mm_loadu_pd(s));
#else
    memcpy(a + i, s, sizeof s);
#endif
  }
  return omp_get_wtime() - begin;
}

static lac_array *array_like(int ndim, const int64_t *shape) {
  lac_array *x = NULL;
  must(lac_array_create(ctx, LAC_F64, ndim, shape, &x));
  double *data = lac_array_edit(x);
  for (int64_t i = 0; i < lac_array_count(x); ++i) data[i] = (double)(i % 13) - 6;
  return x;
}

/// Values moved along a map, and the seconds that took.
static lac_array *array_moved(const lac_map *map, lac_array *from, int ndim, const int64_t *shape, double *seconds) {
  lac_array *flat = NULL, *out = NULL, *source = NULL;
  must(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){lac_map_outputs(map)}, &flat));
  must(lac_array_reshape(ctx, from, 1, (int64_t[]){lac_array_count(from)}, &source));
  *seconds = 1e9;
  for (int i = 0; i < 5; ++i) {
    double begin = omp_get_wtime(), took;
    must(ctx->kernels->remap(ctx, map, LAC_PLAIN, 0, source, flat));
    took = omp_get_wtime() - begin;
    if (took < *seconds) *seconds = took;
  }
  must(lac_array_reshape(ctx, flat, ndim, shape, &out));
  lac_array_destroy(&flat), lac_array_destroy(&source);
  return out;
}

/// All rows of a table give what the first gives, and are timed in turns with the triad.
static void table_run(const char *title, bench_row *rows, int count) {
  static double *a, *b, *c;
  size_t bytes = TRIAD * sizeof *a;
  double triad = 1e9, bandwidth;

  if (!a) a = aligned_alloc(64, bytes), b = aligned_alloc(64, bytes), c = aligned_alloc(64, bytes);
  for (int64_t i = 0; i < TRIAD; ++i) a[i] = 0, b[i] = (double)i, c[i] = 1;
  for (int i = 0; i < count; ++i) {
    row_run(&rows[i]);
    const double *want = lac_array_data(rows[0].y), *got = lac_array_data(rows[i].y);
    for (int64_t j = 0; j < lac_array_count(rows[0].y); ++j) {
      if (!(fabs(got[j] - want[j]) <= 1e-12 * (1 + fabs(want[j])))) {
        fprintf(stderr, "%s: y[%lld] = %g, not %g\n", rows[i].name, (long long)j, got[j], want[j]);
        exit(1);
      }
    }
  }
  for (int round = 0; round < rounds; ++round) {
    double took = triad_run(a, b, c);
    if (took < triad) triad = took;
    for (int i = 0; i < count; ++i) {
      int repeats = rows[i].bytes < 4e6 ? 20 : 1;  // what fits a cache is there after the first
      double begin = omp_get_wtime();
      for (int repeat = 0; repeat < repeats; ++repeat) row_run(&rows[i]);
      took = (omp_get_wtime() - begin) / repeats;
      if (round == 0 || took < rows[i].best) rows[i].best = took;
    }
  }
  bandwidth = 24. * TRIAD / triad;
  printf("%s (triad, streamed: %.1f GB/s)\n", title, bandwidth * 1e-9);
  for (int i = 0; i < count; ++i) {
    printf("  %-22s %8.3f ms  %5.2fx  %5.1f %% of triad\n", rows[i].name, rows[i].best * 1e3,
           rows[0].best / rows[i].best, 100 * rows[i].bytes / rows[i].best / bandwidth);
  }
}

static void rows_close(bench_row *rows, int count) {
  for (int i = 0; i < count; ++i) {
    lac_pattern_destroy(&rows[i].pattern);
    lac_format_destroy(&rows[i].format);
    lac_array_destroy(&rows[i].a), lac_array_destroy(&rows[i].x), lac_array_destroy(&rows[i].y);
  }
}

// -- matrices --------------------------------------------------------------------------------------------------------

/// The five-point stencil on a grid of side x side.
static lac_pattern *poisson(int64_t side, int64_t br) {
  int64_t n = side * side, nnz = 0;
  int64_t *offsets = malloc((size_t)(n + 1) * 8), *columns = malloc((size_t)(5 * n) * 8);
  lac_pattern *p = NULL;
  if (!offsets || !columns) exit(1);
  offsets[0] = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i >= side) columns[nnz++] = i - side;
    if (i % side) columns[nnz++] = i - 1;
    columns[nnz++] = i;
    if (i % side < side - 1) columns[nnz++] = i + 1;
    if (i < n - side) columns[nnz++] = i + side;
    offsets[i + 1] = nnz;
  }
  must(lac_pattern_from_bsr(ctx, n * br, n * br, br, br, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  free(offsets), free(columns);
  return p;
}

/// Eight random columns a row.
static lac_pattern *scattered(int64_t n) {
  int64_t *offsets = malloc((size_t)(n + 1) * 8), *columns = malloc((size_t)(8 * n) * 8);
  lac_pattern *p = NULL;
  uint64_t s = 1;
  if (!offsets || !columns) exit(1);
  for (int64_t i = 0; i <= n; ++i) offsets[i] = 8 * i;
  for (int64_t z = 0; z < 8 * n; ++z) {
    s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    columns[z] = (int64_t)((s >> 33) % (uint64_t)n);
  }
  must(lac_pattern_from_csr(ctx, n, n, LAC_I64, offsets, columns, LAC_WIDTH_AUTO, &p, NULL));
  free(offsets), free(columns);
  return p;
}

// -- tables ----------------------------------------------------------------------------------------------------------

static void sell_table(const char *title, lac_pattern *p) {
  static const int64_t slices[] = {8, 16, 32};
  static const char *const names[] = {"sliced ELL, 8", "sliced ELL, 16", "sliced ELL, 32"};
  int64_t n = lac_pattern_rows(p), nnz = lac_pattern_nnz(p);
  bench_row rows[MOST] = {{.name = "rows", .pattern = p, .bytes = 12. * (double)nnz + 20. * (double)n}};
  double moved = 0, made = 0;

  rows[0].a = array_like(1, &nnz);
  rows[0].x = array_like(2, (int64_t[]){n, 1}), rows[0].y = array_like(2, (int64_t[]){n, 1});
  for (int i = 0; i < 3; ++i) {
    bench_row *r = &rows[i + 1];
    double begin = omp_get_wtime();
    *r = (bench_row){.name = names[i], .x = lac_array_retain(rows[0].x), .y = array_like(2, (int64_t[]){n, 1})};
    must(lac_format_sell(ctx, p, slices[i], 1, &r->format));
    if (i == 0) made = omp_get_wtime() - begin;
    int64_t size = lac_format_size(r->format);
    r->a = array_moved(lac_format_map(r->format), rows[0].a, 1, &size, &moved);
    r->bytes = 12. * (double)size + 16. * (double)n + 16. * (double)n / (double)slices[i];
  }
  table_run(title, rows, 4);
  printf("  conversion, apart: layout %.1f ms once, values %.2f ms each time\n", made * 1e3, moved * 1e3);
  rows_close(rows, 4);
}

static void block_table(int64_t side, int64_t block, int64_t k) {
  char title[80];
  lac_pattern *p = poisson(side, block), *scalar = NULL;
  lac_map *map = NULL;
  int64_t n = lac_pattern_rows(p), nnz = lac_pattern_nnz(p), numbers = nnz * block * block;
  double dense = 16. * (double)(n * k), seconds;

  must(lac_pattern_scalar(ctx, p, &scalar, &map));
  bench_row rows[2] = {
      {.name = "single entries", .pattern = scalar, .bytes = 12. * (double)numbers + 4. * (double)n + dense},
      {.name = "blocks", .pattern = p, .bytes = 8. * (double)numbers + 4. * (double)nnz + dense}};
  rows[1].a = array_like(3, (int64_t[]){nnz, block, block});
  rows[0].a = array_moved(map, rows[1].a, 1, &numbers, &seconds);
  for (int i = 0; i < 2; ++i) {
    rows[i].x = array_like(2, (int64_t[]){n, k});
    rows[i].y = array_like(2, (int64_t[]){n, k});
  }
  (void)snprintf(title, sizeof title, "blocks of %d, %d columns", (int)block, (int)k);
  table_run(title, rows, 2);
  lac_map_destroy(&map);
  rows_close(rows, 2);
}

int main(int argc, char **argv) {
  must(lac_context_create("cpu", 0, &ctx));
  if (argc > 1) must(lac_context_set_threads(ctx, atoi(argv[1])));
  if (argc > 2) rounds = atoi(argv[2]);
  printf("threads: %d, rounds: %d\n", ctx->threads, rounds);
  sell_table("2-D Poisson, 10k rows, 1 column", poisson(100, 1));
  sell_table("2-D Poisson, 1M rows, 1 column", poisson(1000, 1));
  sell_table("8 random columns a row, 1M rows, 1 column", scattered(1000000));
  block_table(30, 3, 1);
  block_table(30, 3, 32);
  block_table(25, 4, 1);
  block_table(25, 4, 32);
  block_table(330, 3, 1);
  block_table(250, 4, 1);
  block_table(330, 3, 32);
  block_table(250, 4, 32);
  block_table(166, 6, 1);
  block_table(125, 8, 1);
  block_table(125, 8, 32);
  lac_context_destroy(&ctx);
  return 0;
}
