// SPDX-License-Identifier: Apache-2.0
/// @file bench_cuda_solves.c
/// Triangular solves on a CUDA device beside cuSPARSE's, checked by their residuals, then timed with events.
///
///     bench_cuda_solves [side]      the cube has side^3 unknowns; 100 unless said
///
/// The chain is that of numml's Table 2, 2 I less the diagonal below, f32; the triangles are the factors of ILU(0) of
/// the seven-point matrix of a cube, f64. "first" is the first solve, which finds levels, or cuSPARSE's analysis; the
/// median is of solves after it. cuSPARSE is found at run time, and its columns are empty where it is not there.

#include <stdio.h>

#ifdef LACUNA_HAVE_CUDA

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <lacuna/lacuna.h>
#include <lacuna/plain.h>
#include <math.h>
#include <stdlib.h>

#include "cuda_must.h"
#if defined(__has_include)
#if __has_include(<cusparse.h>)
#include <cusparse.h>
#define HAVE_CUSPARSE
#endif
#endif

enum { WARM = 3, ROUNDS = 21 };

static lac_context *ctx;
static cudaStream_t stream;
static cudaEvent_t events[2];
static char device_name[256];
static int missed;

static void *take(size_t bytes) {
  void *block = malloc(bytes ? bytes : 1);
  if (block) return block;
  fprintf(stderr, "out of host memory: %zu bytes\n", bytes);
  exit(1);
}

// -- time ------------------------------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static double once(void (*run)(void *), void *job) {
  float ms = 0;
  must_cuda(cudaEventRecord(events[0], stream));
  run(job);
  must_cuda(cudaEventRecord(events[1], stream));
  must_cuda(cudaEventSynchronize(events[1]));
  must_cuda(cudaEventElapsedTime(&ms, events[0], events[1]));
  return ms;
}

/// The median, in milliseconds.
static double median(void (*run)(void *), void *job) {
  float ms[ROUNDS];
  for (int i = 0; i < WARM; i++) (void)once(run, job);
  for (int i = 0; i < ROUNDS; i++) ms[i] = (float)once(run, job);
  qsort(ms, ROUNDS, sizeof *ms, by_size);
  return ms[ROUNDS / 2];
}

// -- triangles -------------------------------------------------------------------------------------------------------

/// A triangle on the host and on the device.
typedef struct triangle {
  int64_t n, nnz;
  int32_t *offsets, *columns;
  lac_dtype dtype;
  lac_triangle which;
  lac_diagonal diagonal;
  lac_pattern *pattern;
  lac_array *values, *b, *x;
} triangle;

static void run_ours(void *opaque) {
  triangle *t = opaque;
  must(ctx, lac_run_trisolve(ctx, t->pattern, t->values, t->b, t->which, t->diagonal, LAC_PLAIN, &t->x));
}

static double number(const void *host, lac_dtype dtype, int64_t i) {
  return dtype == LAC_F32 ? (double)((const float *)host)[i] : ((const double *)host)[i];
}

/// max |T x - b| / max(|T| |x| + |b|), row by row.
static double residual(const triangle *t) {
  size_t size = lac_dtype_size(t->dtype);
  void *a = take((size_t)t->nnz * size), *b = take((size_t)t->n * size), *x = take((size_t)t->n * size);
  double worst = 0;
  must(ctx, lac_array_read(ctx, t->values, a));
  must(ctx, lac_array_read(ctx, t->b, b));
  must(ctx, lac_array_read(ctx, t->x, x));
  for (int64_t i = 0; i < t->n; i++) {
    double sum = number(b, t->dtype, i), terms = fabs(sum);
    if (t->diagonal == LAC_DIAGONAL_UNIT) sum -= number(x, t->dtype, i), terms += fabs(number(x, t->dtype, i));
    for (int32_t p = t->offsets[i]; p < t->offsets[i + 1]; p++) {
      double term = number(a, t->dtype, p) * number(x, t->dtype, t->columns[p]);
      sum -= term, terms += fabs(term);
    }
    worst = fmax(worst, fabs(sum) / terms);
  }
  free(a), free(b), free(x);
  return worst;
}

static void make_sides(triangle *t) {
  size_t size = lac_dtype_size(t->dtype);
  void *host = take((size_t)t->n * size);
  for (int64_t i = 0; i < t->n; i++) {
    double value = 1 + 0.5 * sin((double)i);
    if (t->dtype == LAC_F32) {
      ((float *)host)[i] = (float)value;
    } else {
      ((double *)host)[i] = value;
    }
  }
  must(ctx, lac_array_from(ctx, t->dtype, 2, (int64_t[]){t->n, 1}, host, LAC_OWNERSHIP_COPY, &t->b));
  must(ctx, lac_array_create(ctx, t->dtype, 2, (int64_t[]){t->n, 1}, &t->x));
  free(host);
}

static void triangle_free(triangle *t) {
  free(t->offsets), free(t->columns);
  lac_pattern_destroy(&t->pattern);
  lac_array_destroy(&t->values);
  lac_array_destroy(&t->b);
  lac_array_destroy(&t->x);
}

// -- cuSPARSE --------------------------------------------------------------------------------------------------------

#ifdef HAVE_CUSPARSE

#define FUNCTIONS(F)           \
  F(cusparseCreate)            \
  F(cusparseSetStream)         \
  F(cusparseCreateCsr)         \
  F(cusparseCreateDnVec)       \
  F(cusparseSpMatSetAttribute) \
  F(cusparseSpSV_createDescr)  \
  F(cusparseSpSV_bufferSize)   \
  F(cusparseSpSV_analysis)     \
  F(cusparseSpSV_solve) F(cusparseDestroySpMat) F(cusparseDestroyDnVec) F(cusparseSpSV_destroyDescr)
#define MEMBER(name) __typeof__(&name) name;

typedef struct peer {
  void *library;
  FUNCTIONS(MEMBER)
  cusparseHandle_t handle;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t b, x;
  cusparseSpSVDescr_t solve;
  cudaDataType type;
  float one_f32;
  double one_f64;
  const void *one;
  void *buffer, *result;
  int32_t *offsets, *columns;
} peer;

static int peer_find(peer *p) {
  p->library = dlopen("libcusparse.so.12", RTLD_NOW);
  if (!p->library) p->library = dlopen("libcusparse.so", RTLD_NOW);
  if (!p->library) return 0;
#define FIND(name) *(void **)&p->name = dlsym(p->library, #name);
  FUNCTIONS(FIND)
  return p->cusparseCreate && p->cusparseSpSV_solve && p->cusparseCreate(&p->handle) == CUSPARSE_STATUS_SUCCESS &&
         p->cusparseSetStream(p->handle, stream) == CUSPARSE_STATUS_SUCCESS;
}

static void must_peer(cusparseStatus_t status) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  fprintf(stderr, "cuSPARSE: status %d\n", (int)status);
  exit(1);
}

static void run_analysis(void *opaque) {
  peer *p = opaque;
  must_peer(p->cusparseSpSV_analysis(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, p->one, p->matrix, p->b, p->x,
                                     p->type, CUSPARSE_SPSV_ALG_DEFAULT, p->solve, p->buffer));
}

static void run_peer(void *opaque) {
  peer *p = opaque;
  must_peer(p->cusparseSpSV_solve(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, p->one, p->matrix, p->b, p->x, p->type,
                                  CUSPARSE_SPSV_ALG_DEFAULT, p->solve));
}

static int32_t *to_device(const int32_t *host, int64_t count) {
  void *data = NULL;
  must_cuda(cudaMalloc(&data, (size_t)(count ? count : 1) * sizeof *host));
  must_cuda(cudaMemcpy(data, host, (size_t)count * sizeof *host, cudaMemcpyHostToDevice));
  return data;
}

static void peer_open(peer *p, const triangle *t) {
  cusparseFillMode_t fill = t->which == LAC_TRIANGLE_LOWER ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
  cusparseDiagType_t diagonal =
      t->diagonal == LAC_DIAGONAL_UNIT ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
  size_t bytes = 0;
  p->type = t->dtype == LAC_F32 ? CUDA_R_32F : CUDA_R_64F;
  p->one_f32 = 1, p->one_f64 = 1;
  p->one = t->dtype == LAC_F32 ? (const void *)&p->one_f32 : (const void *)&p->one_f64;
  p->offsets = to_device(t->offsets, t->n + 1), p->columns = to_device(t->columns, t->nnz);
  must_cuda(cudaMalloc(&p->result, (size_t)t->n * lac_dtype_size(t->dtype)));
  must_peer(p->cusparseCreateCsr(&p->matrix, t->n, t->n, t->nnz, p->offsets, p->columns,
                                 (void *)lac_array_data(t->values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                 CUSPARSE_INDEX_BASE_ZERO, p->type));
  must_peer(p->cusparseSpMatSetAttribute(p->matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
  must_peer(p->cusparseSpMatSetAttribute(p->matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
  must_peer(p->cusparseCreateDnVec(&p->b, t->n, (void *)lac_array_data(t->b), p->type));
  must_peer(p->cusparseCreateDnVec(&p->x, t->n, p->result, p->type));
  must_peer(p->cusparseSpSV_createDescr(&p->solve));
  must_peer(p->cusparseSpSV_bufferSize(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, p->one, p->matrix, p->b, p->x,
                                       p->type, CUSPARSE_SPSV_ALG_DEFAULT, p->solve, &bytes));
  must_cuda(cudaMalloc(&p->buffer, bytes ? bytes : 1));
}

static void peer_close(peer *p) {
  must_peer(p->cusparseSpSV_destroyDescr(p->solve));
  must_peer(p->cusparseDestroyDnVec(p->b));
  must_peer(p->cusparseDestroyDnVec(p->x));
  must_peer(p->cusparseDestroySpMat(p->matrix));
  must_cuda(cudaFree(p->buffer));
  must_cuda(cudaFree(p->result));
  must_cuda(cudaFree(p->offsets));
  must_cuda(cudaFree(p->columns));
}

/// The time of cuSPARSE's analysis and of its solve; 0 where it is not there.
static void bench_peer(const triangle *t, double *first, double *time) {
  static peer p;
  static int is_here = -1;
  if (is_here < 0) is_here = peer_find(&p);
  *first = *time = 0;
  if (!is_here) return;
  peer_open(&p, t);
  *first = once(run_analysis, &p);
  *time = median(run_peer, &p);
  peer_close(&p);
}

#else

static void bench_peer(const triangle *t, double *first, double *time) { (void)t, *first = *time = 0; }

#endif

// -- rows ------------------------------------------------------------------------------------------------------------

/// A row passes by its residual, its bar in milliseconds (0: none) and cuSPARSE's time.
static void row(const char *name, int64_t n, lac_dtype dtype, double first, double ours, double peer_first,
                double theirs, double error, double bar) {
  FILE *file = fopen("build/bench.jsonl", "a");
  int ok = error < (dtype == LAC_F32 ? 1e-5 : 1e-13) && (bar == 0 || ours <= bar) && (theirs == 0 || ours <= theirs);
  missed += !ok;
  printf("%-30s %10.3f %10.3f", name, first, ours);
  if (theirs > 0) {
    printf(" %10.3f %10.3f", peer_first, theirs);
  } else {
    printf(" %10s %10s", "-", "-");
  }
  printf(" %9.1e%s\n", error, ok ? "" : "  MISSED");
  if (!file) return;
  fprintf(file,
          "{\"bench\": \"cuda_solves\", \"row\": \"%s\", \"pass\": %s, \"n\": %lld, \"dtype\": \"%s\", \"device\": "
          "\"%s\", \"first_s\": %.4e, \"ours_s\": %.4e, \"peer\": \"cuSPARSE\", \"peer_first_s\": %.4e, \"peer_s\": "
          "%.4e, \"residual\": %.2e}\n",
          name, ok ? "true" : "false", (long long)n, lac_dtype_name(dtype), device_name, first * 1e-3, ours * 1e-3,
          peer_first * 1e-3, theirs * 1e-3, error);
  fclose(file);
}

static void bench_triangle(const char *name, triangle *t, double bar) {
  double peer_first, theirs, first = once(run_ours, t), ours = median(run_ours, t);
  bench_peer(t, &peer_first, &theirs);
  row(name, t->n, t->dtype, first, ours, peer_first, theirs, residual(t), bar);
}

/// 2 I less the diagonal below, n rows.
static void bench_chain(int64_t n) {
  triangle t = {.n = n, .nnz = 2 * n - 1, .dtype = LAC_F32, .which = LAC_TRIANGLE_LOWER};
  float *values = take((size_t)t.nnz * sizeof *values);
  t.offsets = take((size_t)(n + 1) * sizeof *t.offsets), t.columns = take((size_t)t.nnz * sizeof *t.columns);
  t.diagonal = LAC_DIAGONAL_STORED;
  for (int64_t i = 0, z = 0; i < n; i++) {
    t.offsets[i] = (int32_t)z;
    if (i) values[z] = -1, t.columns[z++] = (int32_t)(i - 1);
    values[z] = 2, t.columns[z++] = (int32_t)i;
  }
  t.offsets[n] = (int32_t)t.nnz;
  must(ctx, lac_pattern_from_csr(ctx, n, n, LAC_I32, t.offsets, t.columns, LAC_WIDTH_AUTO, &t.pattern, NULL));
  must(ctx, lac_array_from(ctx, LAC_F32, 1, &t.nnz, values, LAC_OWNERSHIP_COPY, &t.values));
  make_sides(&t);
  bench_triangle("SpTRSV, chain, f32", &t, 0.05);
  triangle_free(&t);
  free(values);
}

/// The seven-point matrix of a cube: rows of a pattern and values.
static void cube(int64_t side, int32_t *offsets, int32_t *columns, double *values) {
  const int64_t n = side * side * side, steps[] = {-side * side, -side, -1, 0, 1, side, side * side};
  int32_t z = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t at[] = {i / (side * side), i / side % side, i % side};
    offsets[i] = z;
    for (int s = 0; s < 7; s++) {
      int axis = s < 3 ? s : 6 - s;
      if ((s < 3 && at[axis] == 0) || (s > 3 && at[axis] == side - 1)) continue;
      columns[z] = (int32_t)(i + steps[s]), values[z++] = s == 3 ? 6 : -1;
    }
  }
  offsets[n] = z;
}

typedef struct elimination {
  lac_pattern *pattern;
  lac_array *values, *lu;
} elimination;

static void run_elimination(void *opaque) {
  elimination *e = opaque;
  must(ctx, lac_run_lu_values(ctx, e->pattern, e->values, NULL, LAC_PIVOTS_NONZERO, &e->lu));
}

/// The rows of t's pattern, in integers of 32 bits.
static void read_rows(triangle *t) {
  int64_t *offsets = take((size_t)(t->n + 1) * sizeof *offsets), *columns = take((size_t)t->nnz * sizeof *columns);
  must(ctx, lac_pattern_read(t->pattern, offsets, columns, NULL));
  t->offsets = take((size_t)(t->n + 1) * sizeof *t->offsets), t->columns = take((size_t)t->nnz * sizeof *t->columns);
  for (int64_t i = 0; i <= t->n; i++) t->offsets[i] = (int32_t)offsets[i];
  for (int64_t z = 0; z < t->nnz; z++) t->columns[z] = (int32_t)columns[z];
  free(offsets), free(columns);
}

/// A triangle of the factors.
static void bench_factor(const char *name, const elimination *e, int64_t n, lac_triangle which) {
  triangle t = {.n = n, .dtype = LAC_F64, .which = which};
  lac_map *map = NULL;
  bool lower = which == LAC_TRIANGLE_LOWER;
  t.diagonal = lower ? LAC_DIAGONAL_UNIT : LAC_DIAGONAL_STORED;
  must(ctx, lac_pattern_triangle(ctx, e->pattern, which, lower ? -1 : 0, &t.pattern, &map));
  must(ctx, lac_run_remap(ctx, map, e->lu, LAC_PLAIN, &t.values));
  t.nnz = lac_pattern_nnz(t.pattern);
  read_rows(&t);
  make_sides(&t);
  bench_triangle(name, &t, 0);
  triangle_free(&t);
  lac_map_destroy(&map);
}

static void bench_cube(int64_t side) {
  int64_t n = side * side * side, nnz;
  int32_t *offsets = take((size_t)(n + 1) * sizeof *offsets), *columns = take((size_t)(7 * n) * sizeof *columns);
  double *values = take((size_t)(7 * n) * sizeof *values);
  elimination e = {0};
  cube(side, offsets, columns, values);
  nnz = offsets[n];
  must(ctx, lac_pattern_from_csr(ctx, n, n, LAC_I32, offsets, columns, LAC_WIDTH_AUTO, &e.pattern, NULL));
  must(ctx, lac_array_from(ctx, LAC_F64, 1, &nnz, values, LAC_OWNERSHIP_COPY, &e.values));
  must(ctx, lac_array_create(ctx, LAC_F64, 1, &nnz, &e.lu));
  double first = once(run_elimination, &e);
  row("ILU(0) of the cube, f64", n, LAC_F64, first, median(run_elimination, &e), 0, 0, 0, 0);
  bench_factor("its L, f64", &e, n, LAC_TRIANGLE_LOWER);
  bench_factor("its U, f64", &e, n, LAC_TRIANGLE_UPPER);
  lac_pattern_destroy(&e.pattern);
  lac_array_destroy(&e.values);
  lac_array_destroy(&e.lu);
  free(offsets), free(columns), free(values);
}

int main(int argc, char **argv) {
  struct cudaDeviceProp device;

  if (lac_context_create("cuda", 0, &ctx) != LAC_OK) return printf("skip: %s\n", lac_context_error(NULL)), 0;
  must_cuda(cudaGetDeviceProperties(&device, 0));
  snprintf(device_name, sizeof device_name, "%s", device.name);
  must_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(ctx, lac_context_set_stream(ctx, stream));
  for (int i = 0; i < 2; i++) must_cuda(cudaEventCreate(&events[i]));
  printf("triangular solves, ms, %s\n%-30s %10s %10s %10s %10s %9s\n", device_name, "row", "first", "median",
         "analysis", "cuSPARSE", "error");
  bench_chain(32768);
  bench_cube(argc > 1 ? atoll(argv[1]) : 100);
  lac_context_destroy(&ctx);
  for (int i = 0; i < 2; i++) must_cuda(cudaEventDestroy(events[i]));
  must_cuda(cudaStreamDestroy(stream));
  return missed != 0;
}

#else

int main(void) { return printf("skip: built without CUDA\n"), 0; }

#endif
