// SPDX-License-Identifier: Apache-2.0
/// @file bench_cuda.c
/// Products on a CUDA device: the five-point matrix of a square grid in f64, checked, then timed with events.
///
///     bench_cuda [side]      side^2 unknowns; 4000 unless said; blocks of columns are left out where they do not fit
///
/// Bytes are the compulsory ones: each array read or written once, indices included. The share is of what a
/// device-to-device copy moves in the same run, and each row has its bar.

#include <stdio.h>

#ifdef LACUNA_HAVE_CUDA

#include <cuda_runtime_api.h>
#include <lacuna/extend.h>
#include <lacuna/lacuna.h>
#include <lacuna/program.h>
#include <math.h>
#include <stdlib.h>

#include "cuda_must.h"

enum { COLUMNS = 128, WARM = 3, ROUNDS = 21, SAMPLES = 2000, MOST_SIDE = 5000 };

typedef struct bench {
  int64_t side, n, nnz;
  int32_t *offsets, *columns;
  double *a, *x;          // on the host
  double *ax, *atx, *xx;  // and what is expected: A x, A^T x, x_i x_j for each slot,
  double *weights;        // softmax(a) of each row
  lac_context *ctx;
  lac_pattern *pattern;
  lac_array *values, *vector, *block;  // a (nnz), x (n, 1), x q^T (n, 32 or COLUMNS)
  lac_tape *tape;
  cudaStream_t stream;
  cudaEvent_t begin, end;
  char device[256];
  double bandwidth;  // GB/s of a copy
  int missed;
} bench;

static void *take(size_t bytes) {
  void *block = malloc(bytes);
  if (block) return block;
  fprintf(stderr, "out of host memory: %zu bytes\n", bytes);
  exit(1);
}

// -- the problem -----------------------------------------------------------------------------------------------------

/// A number in [-1, 1) from an index: the same everywhere, and no two alike nearby.
static double noise(int64_t i) {
  uint64_t h = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
  return (double)(int64_t)(h ^ (h >> 32)) / 9.3e18;
}

static double weight(int c) { return 1 + c / 64.0; }  // q: column c of the block is x times this

static void make_matrix(bench *b) {
  int64_t side = b->side, step[] = {-side, -1, 0, 1, side};

  b->n = side * side;
  b->offsets = take((size_t)(b->n + 1) * sizeof *b->offsets);
  b->columns = take((size_t)b->n * 5 * sizeof *b->columns);
  b->a = take((size_t)b->n * 5 * sizeof *b->a);
  b->x = take((size_t)b->n * sizeof *b->x);
  b->offsets[0] = 0;
  for (int64_t i = 0; i < b->n; i++) {
    for (int s = 0; s < 5; s++) {
      int64_t j = i + step[s];
      if (j < 0 || j >= b->n || (s == 1 && i % side == 0) || (s == 3 && i % side == side - 1)) continue;
      b->columns[b->nnz] = (int32_t)j;
      b->a[b->nnz] = (s == 2 ? 4 : -1) + 0.25 * noise(b->nnz);
      b->nnz++;
    }
    b->offsets[i + 1] = (int32_t)b->nnz;
    b->x[i] = noise(i);
  }
}

/// What the products must give.
static void make_answers(bench *b) {
  b->ax = take((size_t)b->n * sizeof *b->ax);
  b->atx = take((size_t)b->n * sizeof *b->atx);
  b->xx = take((size_t)b->nnz * sizeof *b->xx);
  for (int64_t i = 0; i < b->n; i++) b->ax[i] = b->atx[i] = 0;
  for (int64_t i = 0; i < b->n; i++) {
    for (int32_t p = b->offsets[i]; p < b->offsets[i + 1]; p++) {
      int32_t j = b->columns[p];
      b->ax[i] += b->a[p] * b->x[j];
      b->atx[j] += b->a[p] * b->x[i];
      b->xx[p] = b->x[i] * b->x[j];
    }
  }
}

/// exp(a) / its sum in each row.
static void make_weights(bench *b) {
  b->weights = take((size_t)b->nnz * sizeof *b->weights);
  for (int64_t i = 0; i < b->n; i++) {
    double sum = 0;
    for (int32_t p = b->offsets[i]; p < b->offsets[i + 1]; p++) sum += b->weights[p] = exp(b->a[p]);
    for (int32_t p = b->offsets[i]; p < b->offsets[i + 1]; p++) b->weights[p] /= sum;
  }
}

/// The block x q^T is made on the device: it is too large to send.
static void make_block(bench *b, int columns) {
  double q[COLUMNS];
  lac_array *row = NULL;

  lac_array_destroy(&b->block);
  for (int c = 0; c < columns; c++) q[c] = weight(c);
  must(b->ctx, lac_array_from(b->ctx, LAC_F64, 2, (int64_t[]){1, columns}, q, LAC_OWNERSHIP_COPY, &row));
  lac_var y = lac_mul(b->tape, lac_tape_constant(b->tape, b->vector), lac_tape_constant(b->tape, row));
  must(b->ctx, lac_tape_status(b->tape));
  must(b->ctx, lac_array_clone(b->ctx, lac_tape_value(b->tape, y), &b->block));
  lac_tape_clear(b->tape);
  lac_array_destroy(&row);
}

static void open_bench(bench *b) {
  struct cudaDeviceProp device;

  must_cuda(cudaGetDeviceProperties(&device, 0));
  snprintf(b->device, sizeof b->device, "%s", device.name);
  must_cuda(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
  must_cuda(cudaEventCreate(&b->begin));
  must_cuda(cudaEventCreate(&b->end));
  must(b->ctx, lac_context_set_stream(b->ctx, b->stream));
  make_matrix(b);
  make_answers(b);
  make_weights(b);
  must(b->ctx,
       lac_pattern_from_csr(b->ctx, b->n, b->n, LAC_I32, b->offsets, b->columns, LAC_WIDTH_32_32, &b->pattern, NULL));
  must(b->ctx, lac_array_from(b->ctx, LAC_F64, 1, &b->nnz, b->a, LAC_OWNERSHIP_COPY, &b->values));
  must(b->ctx, lac_array_from(b->ctx, LAC_F64, 2, (int64_t[]){b->n, 1}, b->x, LAC_OWNERSHIP_COPY, &b->vector));
  must(b->ctx, lac_tape_create(b->ctx, LAC_TAPE_RECORD, &b->tape));
}

static void close_bench(bench *b) {
  must(b->ctx, lac_context_synchronize(b->ctx));
  lac_tape_destroy(&b->tape);
  lac_array_destroy(&b->values), lac_array_destroy(&b->vector), lac_array_destroy(&b->block);
  lac_pattern_destroy(&b->pattern);
  lac_context_destroy(&b->ctx);
  must_cuda(cudaEventDestroy(b->begin));
  must_cuda(cudaEventDestroy(b->end));
  must_cuda(cudaStreamDestroy(b->stream));
  free(b->offsets), free(b->columns), free(b->a), free(b->x), free(b->ax), free(b->atx), free(b->xx), free(b->weights);
}

// -- what is timed ---------------------------------------------------------------------------------------------------

/// Something to do, with the arrays it reads and writes.
typedef struct job {
  bench *b;
  lac_program *program;
  const lac_array *in[2];
  lac_array *out;
  lac_var y, bar[2];  // on the tape
} job;

static void run_program(job *j) {
  const void *in[] = {lac_array_data(j->in[0]), j->in[1] ? lac_array_data(j->in[1]) : NULL};
  void *out[] = {lac_array_edit(j->out)};
  must(j->b->ctx, lac_program_run(j->b->ctx, j->program, in, out));
}

static void run_forward(job *j) {
  lac_tape *tape = j->b->tape;
  lac_tape_clear(tape);
  j->y = lac_spmm(tape, j->b->pattern, lac_tape_leaf(tape, j->in[0]), lac_tape_leaf(tape, j->in[1]), LAC_PLAIN);
  must(j->b->ctx, lac_tape_status(tape));
}

/// The product's own input serves as the adjoint of its output: a_bar = x_i x_j, x_bar = A^T x.
static void run_backward(job *j) {
  lac_tape *tape = j->b->tape;

  lac_tape_clear(tape);
  lac_var in[] = {lac_tape_leaf(tape, j->in[0]), lac_tape_leaf(tape, j->in[1])},
          y_bar = lac_tape_constant(tape, j->in[1]);
  j->y = lac_spmm(tape, j->b->pattern, in[0], in[1], LAC_PLAIN);
  must(j->b->ctx, lac_tape_vjp(tape, 1, &j->y, &y_bar, 2, in, j->bar, LAC_GRAPH_NONE));
}

static void run_copy(job *j) {
  size_t bytes = (size_t)lac_array_count(j->out) * sizeof(double);
  must_cuda(
      cudaMemcpyAsync(lac_array_edit(j->out), lac_array_data(j->in[0]), bytes, cudaMemcpyDeviceToDevice, j->b->stream));
}

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/// The median of a few rounds, in seconds. The peak of memory is of these rounds alone.
static double seconds(job *j, void (*run)(job *)) {
  float ms[ROUNDS];
  bench *b = j->b;

  lac_memory_reset_peak("cuda");
  for (int i = 0; i < WARM; i++) run(j);
  for (int i = 0; i < ROUNDS; i++) {
    must_cuda(cudaEventRecord(b->begin, b->stream));
    run(j);
    must_cuda(cudaEventRecord(b->end, b->stream));
    must_cuda(cudaEventSynchronize(b->end));
    must_cuda(cudaEventElapsedTime(&ms[i], b->begin, b->end));
  }
  qsort(ms, ROUNDS, sizeof *ms, by_size);
  return ms[ROUNDS / 2] * 1e-3;
}

// -- rows ------------------------------------------------------------------------------------------------------------

/// Whether so many bytes move at no less than a share of the bandwidth.
static int reaches(const bench *b, double ours, double bytes, double share) {
  return bytes / ours * 1e-9 >= share * b->bandwidth;
}

static void row(bench *b, const char *name, double ours, double bytes, double residual, int holds) {
  lac_memory_stats stats = {.size = sizeof stats};
  FILE *file = fopen("build/bench.jsonl", "a");
  int ok = holds && residual < 1e-13;
  double gbps = bytes / ours * 1e-9, peak;

  (void)lac_memory_get_stats("cuda", &stats);
  peak = (double)stats.peak_bytes / (double)b->n;

  b->missed += !ok;
  printf("%-34s %9.3f ms %8.0f GB/s %5.0f %% %9.1e%s\n", name, ours * 1e3, gbps, 100 * gbps / b->bandwidth, residual,
         ok ? "" : "  MISSED");
  if (!file) return;
  fprintf(
      file,
      "{\"bench\": \"cuda\", \"row\": \"%s\", \"pass\": %s, \"n\": %lld, \"dtype\": \"f64\", \"threads\": 1, "
      "\"device\": \"%s\", \"ours_s\": %.4e, \"peer\": null, \"peer_s\": null, \"ratio\": null, \"residual\": %.2e, "
      "\"gbps\": %.1f, \"bandwidth_share\": %.4f, \"bytes_per_unknown\": %.1f}\n",
      name, ok ? "true" : "false", (long long)b->n, b->device, ours, residual, gbps, gbps / b->bandwidth, peak);
  fclose(file);
}

/// The largest deviation of a result from `want` at spread places, relative to the largest number. Column c of a block
/// is weighted by weight(c), and all numbers by `factor`.
static double deviation(bench *b, const lac_array *got, const double *want, double factor, int columns) {
  const double *data = lac_array_data(got);
  double line[COLUMNS], worst = 0, size = 0;
  int64_t rows = lac_array_count(got) / columns;

  must(b->ctx, lac_context_synchronize(b->ctx));
  for (int64_t s = 0; s < SAMPLES; s++) {
    int64_t i = s < 8 ? (s < 4 ? s : rows - 1 - (s - 4)) : (int64_t)(((uint64_t)s * 2654435761u * 97) % (uint64_t)rows);
    must_cuda(cudaMemcpy(line, data + i * columns, (size_t)columns * sizeof *line, cudaMemcpyDeviceToHost));
    for (int c = 0; c < columns; c++) {
      double reference = want[i] * factor * (columns > 1 ? weight(c) : 1);
      worst = isnan(line[c]) ? INFINITY : fmax(worst, fabs(line[c] - reference));
      size = fmax(size, fabs(reference));
    }
  }
  return worst / size;
}

/// The sum over columns of the squared weights: what x_i x_j is to be multiplied by.
static double squares(int columns) {
  double sum = 0;
  for (int c = 0; c < columns; c++) sum += weight(c) * weight(c);
  return columns > 1 ? sum : 1;
}

static void bench_copy(bench *b) {
  job j = {.b = b, .in = {b->values}};
  must(b->ctx, lac_array_create(b->ctx, LAC_F64, 1, &b->nnz, &j.out));
  double bytes = 2.0 * (double)b->nnz * sizeof(double), time = seconds(&j, run_copy);
  b->bandwidth = bytes / time * 1e-9;
  row(b, "copy", time, bytes, deviation(b, j.out, b->a, 1, 1), 1);
  lac_array_destroy(&j.out);
}

/// y = op(A) x for one column or the block.
static void bench_product(bench *b, const char *name, lac_form form, const lac_array *x, int columns, double bar) {
  job j = {.b = b, .in = {b->values, x}};
  lac_spec spec = {.op = lac_op_find("spmm"), .patterns = {b->pattern}, .attrs = {.i = {form}}};
  lac_meta in[] = {*lac_array_meta(b->values), *lac_array_meta(x)};
  double indices = (double)b->nnz * (form == LAC_TRANSPOSED ? 8 : 4) + (double)b->n * 4;

  must(b->ctx, lac_program_forward(b->ctx, &spec, in, &j.program));
  must(b->ctx, lac_array_create(b->ctx, LAC_F64, 2, in[1].shape, &j.out));
  run_program(&j);
  double error = deviation(b, j.out, form == LAC_TRANSPOSED ? b->atx : b->ax, 1, columns);
  double bytes = indices + 8.0 * (double)b->nnz + 16.0 * columns * (double)b->n, time = seconds(&j, run_program);
  row(b, name, time, bytes, error, reaches(b, time, bytes, bar));
  lac_program_destroy(&j.program);
  lac_array_destroy(&j.out);
}

/// s_z = sum over columns of x[row z] x[column z]
static void bench_sddmm(bench *b, const char *name, const lac_array *x, int columns, double bar) {
  job j = {.b = b, .in = {x, x}};
  lac_spec spec = {.op = lac_op_find("sddmm"), .patterns = {b->pattern}};
  lac_meta in[] = {*lac_array_meta(x), *lac_array_meta(x)};

  must(b->ctx, lac_program_forward(b->ctx, &spec, in, &j.program));
  must(b->ctx, lac_array_create(b->ctx, LAC_F64, 1, &b->nnz, &j.out));
  run_program(&j);
  double error = deviation(b, j.out, b->xx, squares(columns), 1);
  double bytes = 16.0 * (double)b->nnz + 16.0 * columns * (double)b->n, time = seconds(&j, run_program);
  row(b, name, time, bytes, error, reaches(b, time, bytes, bar));
  lac_program_destroy(&j.program);
  lac_array_destroy(&j.out);
}

/// The weights of the entries of each row. The bar is 1.5 times a copy from input to output: offsets are not counted.
static void bench_softmax(bench *b) {
  job j = {.b = b, .in = {b->values}};
  lac_map *rows = NULL;
  must(b->ctx, lac_pattern_row_map(b->ctx, b->pattern, &rows));
  lac_spec spec = {.op = lac_op_find("segment_softmax"), .object = rows};
  lac_meta in[] = {*lac_array_meta(b->values)};

  must(b->ctx, lac_program_forward(b->ctx, &spec, in, &j.program));
  must(b->ctx, lac_array_create(b->ctx, LAC_F64, 1, &b->nnz, &j.out));
  run_program(&j);
  double error = deviation(b, j.out, b->weights, 1, 1);
  double bytes = 16.0 * (double)b->nnz, time = seconds(&j, run_program);
  row(b, "segment softmax of rows", time, bytes, error, reaches(b, time, bytes, 1 / 1.5));
  lac_program_destroy(&j.program);
  lac_array_destroy(&j.out);
  lac_map_destroy(&rows);
}

/// Forward, and forward with both gradients: the bar is 3.2 times the forward.
static void bench_tape(bench *b, const char *forward, const char *both, const lac_array *x, int columns) {
  job j = {.b = b, .in = {b->values, x}};
  double nnz = (double)b->nnz, n = (double)b->n, block = 16.0 * columns * n, bytes = 12 * nnz + 4 * n + block, error;

  double alone = seconds(&j, run_forward);
  error = deviation(b, lac_tape_value(b->tape, j.y), b->ax, 1, columns);
  row(b, forward, alone, bytes, error, 1);
  double whole = seconds(&j, run_backward);
  error = deviation(b, lac_tape_value(b->tape, j.bar[0]), b->xx, squares(columns), 1);
  error = fmax(error, deviation(b, lac_tape_value(b->tape, j.bar[1]), b->atx, 1, columns));
  row(b, both, whole, bytes + (16 * nnz + block) + (16 * nnz + 4 * n + block), error, whole <= 3.2 * alone);
  printf("%-34s %9.2f x forward (bar: 3.2)\n", "", whole / alone);
  lac_tape_clear(b->tape);
}

static void bench_blocks(bench *b) {
  make_block(b, 32);
  bench_product(b, "spmm A X, 32 columns", LAC_PLAIN, b->block, 32, 0.75);
  bench_product(b, "spmm A^T X, 32 columns", LAC_TRANSPOSED, b->block, 32, 0);
  bench_sddmm(b, "sddmm, 32 columns", b->block, 32, 0.7);
  bench_tape(b, "tape: spmm 32", "tape: spmm 32 and both gradients", b->block, 32);
  make_block(b, 128);
  bench_product(b, "spmm A X, 128 columns", LAC_PLAIN, b->block, 128, 0.75);
  bench_sddmm(b, "sddmm, 128 columns", b->block, 128, 0);
}

int main(int argc, char **argv) {
  bench b = {.side = argc > 1 ? atoll(argv[1]) : 4000};

  if (lac_context_create("cuda", 0, &b.ctx) != LAC_OK) return printf("skip: %s\n", lac_context_error(NULL)), 0;
  open_bench(&b);
  printf("five-point, %lld unknowns, %lld entries, f64, %s\n", (long long)b.n, (long long)b.nnz, b.device);
  printf("%-34s %12s %13s %7s %9s\n", "row", "median", "compulsory", "of copy", "error");
  bench_copy(&b);
  bench_product(&b, "spmv A x", LAC_PLAIN, b.vector, 1, 0.9);
  bench_product(&b, "spmv A^T x", LAC_TRANSPOSED, b.vector, 1, 1 / 1.1);
  bench_sddmm(&b, "sddmm, 1 column", b.vector, 1, 0);
  bench_softmax(&b);
  bench_tape(&b, "tape: spmv", "tape: spmv and both gradients", b.vector, 1);
  if (b.side <= MOST_SIDE) bench_blocks(&b);
  close_bench(&b);
  return b.missed != 0;
}

#else

int main(void) { return printf("skip: built without CUDA\n"), 0; }

#endif
