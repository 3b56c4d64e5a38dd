// SPDX-License-Identifier: Apache-2.0
/// @file bench_cuda_structure.c
/// Structure on a CUDA device: the pattern of a five-point grid from shuffled coordinates, its transpose, and what is
/// asked of values. Checked against the host's pattern, then timed.
///
///     bench_cuda_structure [form]      form^2 unknowns; 4473 unless said, which has 100 million entries
///
/// Times are of whole calls, from the host's clock: they end with the device idle. The bar is 60 ms for the pattern
/// and its map.

#include <stdio.h>

#ifdef LACUNA_HAVE_CUDA

#include <cuda_runtime_api.h>
#include <lacuna/lacuna.h>
#include <stdlib.h>
#include <time.h>

#include "cuda_must.h"
#include "core/pattern/pattern_impl.h"
#include "core/numbers/random.h"
#include "kernels/kernels.h"

enum { ROUNDS = 7 };

static const double bar = 0.06;  // seconds

typedef struct grid {
  int64_t n, nnz;
  int32_t *offsets, *columns;        // canonical
  int32_t *row, *col;                // shuffled
  int32_t *place;                    // the slot of each shuffled entry
  int32_t *device_row, *device_col;  // the same on the device
} grid;

static void *take(int64_t count, size_t size) {
  void *block = malloc((size_t)count * size);
  if (block) return block;
  fprintf(stderr, "out of host memory\n");
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// -- the problem -----------------------------------------------------------------------------------------------------

static void grid_rows(grid *g, int64_t side) {
  const int64_t step[] = {-side, -1, 0, 1, side};
  g->n = side * side;
  g->offsets = take(g->n + 1, sizeof *g->offsets);
  g->columns = take(5 * g->n, sizeof *g->columns);
  g->offsets[0] = 0;
  for (int64_t i = 0; i < g->n; i++) {
    for (int s = 0; s < 5; s++) {
      int64_t j = i + step[s];
      if (j < 0 || j >= g->n || (s == 1 && i % side == 0) || (s == 3 && i % side == side - 1)) continue;
      g->columns[g->nnz++] = (int32_t)j;
    }
    g->offsets[i + 1] = (int32_t)g->nnz;
  }
}

/// A random permutation of 0 .. count - 1 by place: four rounds of Feistel on twice `half` bits, again until the result
/// is inside.
static int64_t shuffled(int64_t i, int64_t count, int half) {
  const uint64_t mask = ((uint64_t)1 << half) - 1;
  uint64_t left = (uint64_t)i >> half, right = (uint64_t)i & mask;
  do {
    for (uint64_t round = 0; round < 4; round++) {
      uint64_t next = left ^ (lac_random_bits(round + 1, right) & mask);
      left = right, right = next;
    }
  } while ((int64_t)(left << half | right) >= count);
  return (int64_t)(left << half | right);
}

static void grid_shuffle(grid *g) {
  int32_t *row = take(g->nnz, sizeof *row);
  int half = 1;
  while (((int64_t)1 << 2 * half) < g->nnz) half++;
  g->row = take(g->nnz, sizeof *g->row);
  g->col = take(g->nnz, sizeof *g->col);
  g->place = take(g->nnz, sizeof *g->place);
  for (int64_t i = 0; i < g->n; i++) {
    for (int32_t p = g->offsets[i]; p < g->offsets[i + 1]; p++) row[p] = (int32_t)i;
  }
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < g->nnz; e++) {
    int64_t p = shuffled(e, g->nnz, half);
    g->place[e] = (int32_t)p, g->row[e] = row[p], g->col[e] = g->columns[p];
  }
  free(row);
}

static grid grid_open(int64_t side) {
  grid g = {0};
  grid_rows(&g, side);
  grid_shuffle(&g);
  size_t bytes = (size_t)g.nnz * sizeof *g.row;
  must_cuda(cudaMalloc((void **)&g.device_row, bytes));
  must_cuda(cudaMalloc((void **)&g.device_col, bytes));
  must_cuda(cudaMemcpy(g.device_row, g.row, bytes, cudaMemcpyHostToDevice));
  must_cuda(cudaMemcpy(g.device_col, g.col, bytes, cudaMemcpyHostToDevice));
  return g;
}

static void grid_close(grid *g) {
  must_cuda(cudaFree(g->device_row));
  must_cuda(cudaFree(g->device_col));
  free(g->offsets), free(g->columns), free(g->row), free(g->col), free(g->place);
}

// -- rows of the table -----------------------------------------------------------------------------------------------

static int order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// The median, and what it moves of `bytes` (0: not said).
static void row(const char *name, double *seconds, double bytes) {
  double first = seconds[0], median;
  qsort(seconds, ROUNDS, sizeof *seconds, order);
  median = seconds[ROUNDS / 2];
  printf("%-34s %9.2f ms  (first %.2f, least %.2f)", name, 1e3 * median, 1e3 * first, 1e3 * seconds[0]);
  if (bytes > 0) printf("  %.0f GB/s", 1e-9 * bytes / median);
  printf("\n");
}

static void build(lac_context *ctx, const grid *g, lac_pattern **pattern, lac_map **map) {
  must(ctx, lac_pattern_from_coo_on(ctx, g->n, g->n, g->nnz, LAC_I32, g->device_row, g->device_col, LAC_WIDTH_AUTO,
                                    pattern, map));
}

/// Slot by slot, entry by entry; 1 if anything differs.
static int check(lac_context *ctx, const grid *g) {
  lac_context *cpu = NULL;
  lac_pattern *here = NULL, *there = NULL;
  lac_map *map = NULL;
  int64_t *target = take(g->nnz, sizeof *target);
  int wrong = 0;
  must(NULL, lac_context_create("cpu", 0, &cpu));
  must(cpu, lac_pattern_from_csr(cpu, g->n, g->n, LAC_I32, g->offsets, g->columns, LAC_WIDTH_AUTO, &here, NULL));
  build(ctx, g, &there, &map);
  wrong |= here->fingerprint != there->fingerprint;
  wrong |= !lac_pattern_same(here, there);
  must(ctx, lac_map_read(map, target));
  for (int64_t e = 0; e < g->nnz; e++) wrong |= target[e] != g->place[e];
  printf("%-34s %s\n", "pattern and map beside the host's", wrong ? "DIFFER" : "equal");
  lac_map_destroy(&map);
  lac_pattern_destroy(&here);
  lac_pattern_destroy(&there);
  lac_context_destroy(&cpu);
  free(target);
  return wrong;
}

static int time_build(lac_context *ctx, const grid *g) {
  double seconds[ROUNDS], transposes[ROUNDS];
  for (int r = 0; r < ROUNDS; r++) {
    lac_pattern *pattern = NULL, *transpose = NULL;
    lac_map *map = NULL;
    double begin = now();
    build(ctx, g, &pattern, &map);
    seconds[r] = now() - begin;
    begin = now();
    must(ctx, lac_pattern_transpose(ctx, pattern, &transpose, NULL));
    must(ctx, lac_context_synchronize(ctx));
    transposes[r] = now() - begin;
    lac_map_destroy(&map);
    lac_pattern_destroy(&pattern);
    lac_pattern_destroy(&transpose);
  }
  row("pattern and map from shuffled COO", seconds, 0);
  printf("%-34s %9.2f ms\n", "bar", 1e3 * bar);
  row("transpose and its map", transposes, 0);
  return seconds[ROUNDS / 2] > bar;
}

/// All entries are -1: a Hermitian matrix without a positive diagonal. 1 if the survey says otherwise.
static int time_values(lac_context *ctx, const grid *g) {
  lac_pattern *pattern = NULL;
  lac_array *values = NULL;
  lac_survey survey;
  double hashes[ROUNDS], surveys[ROUNDS], bytes = 8 * (double)g->nnz;
  uint64_t hash[2];
  build(ctx, g, &pattern, NULL);
  must(ctx, lac_array_create(ctx, LAC_F64, 2, (int64_t[]){1, g->nnz}, &values));
  must(ctx, lac_array_fill(ctx, values, -1, 0));
  for (int r = 0; r < ROUNDS; r++) {
    double begin = now();
    must(ctx, ctx->kernels->hash(ctx, values, hash));
    hashes[r] = now() - begin;
    begin = now();
    must(ctx, ctx->kernels->survey(ctx, pattern, values, false, NULL, &survey));
    surveys[r] = now() - begin;
  }
  row("hash of f64 values", hashes, bytes);
  row("survey of f64 values", surveys, bytes + 4 * (double)(g->nnz + g->n));
  lac_array_destroy(&values);
  lac_pattern_destroy(&pattern);
  return survey.asymmetric >= 0 || survey.not_positive != 0 || survey.nonfinite >= 0;
}

int main(int argc, char **argv) {
  int64_t forms[] = {300, argc > 1 ? atoll(argv[1]) : 4473};
  lac_context *ctx = NULL;
  int failed = 0;

  if (lac_context_create("cuda", 0, &ctx) != LAC_OK) return printf("skip: %s\n", lac_context_error(NULL)), 0;
  for (int s = 0; s < 2; s++) {
    grid g = grid_open(forms[s]);
    printf("five-point grid, %lld unknowns, %lld entries\n", (long long)g.n, (long long)g.nnz);
    failed |= check(ctx, &g);
    failed |= time_build(ctx, &g);
    failed |= time_values(ctx, &g);
    grid_close(&g);
  }
  lac_context_destroy(&ctx);
  return failed;
}

#else

int main(void) { return printf("skip: built without CUDA\n"), 0; }

#endif
