// SPDX-License-Identifier: Apache-2.0
/// The CUDA backend between other people's pointers, streams, threads and graphs.
///
/// The work is y = A x with the five-point matrix of a grid, its gradients and sums, on streams that do not wait for
/// the default one. Expected values come from the CPU.

#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77 };

#ifdef LACUNA_HAVE_CUDA

#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>

#include "kernels/kernels.h"
#include "lacuna/extend.h"
#include "lacuna/program.h"
#include "support/check.h"
#include "support/scratch.h"

enum { FORM = 90, N = FORM * FORM, MOST = 5 * N, K = 3 };

#define CHECK_CUDA(call) CHECK_EQ((call), cudaSuccess)

/// A problem on the host: the pattern, values and vectors that f64 and f32 both hold exactly.
typedef struct problem {
  int64_t nnz;
  int32_t *row, *col;
  double *a, *x;
} problem;

static problem problem_make(void) {
  problem p = {0, scratch(MOST * sizeof(int32_t)), scratch(MOST * sizeof(int32_t)), scratch(MOST * sizeof(double)),
               scratch(N * K * sizeof(double))};
  const int step[] = {-FORM, -1, 0, 1, FORM};
  for (int i = 0; i < N; ++i) {
    for (int s = 0; s < 5; ++s) {
      int j = i + step[s];
      if (j < 0 || j >= N || (s == 1 && i % FORM == 0) || (s == 3 && i % FORM == FORM - 1)) continue;
      p.row[p.nnz] = i, p.col[p.nnz] = j;
      p.a[p.nnz] = (s == 2 ? 4 : -1) + (double)(p.nnz % 61) / 64;
      ++p.nnz;
    }
  }
  for (int i = 0; i < N * K; ++i) p.x[i] = (double)(i % 127 - 63) / 64;
  return p;
}

static lac_pattern *problem_pattern(lac_context *ctx, const problem *p) {
  lac_pattern *pattern = NULL;
  CHECK_OK(lac_pattern_from_coo(ctx, N, N, p->nnz, LAC_I32, p->row, p->col, LAC_WIDTH_AUTO, &pattern, NULL));
  return pattern;
}

/// y, the gradients of sum |y|^2 and the sum itself, on the host.
typedef struct answer {
  double *y, *a_bar, *x_bar, loss;
} answer;

static answer answer_new(const problem *p) {
  answer out = {scratch(N * K * sizeof(double)), scratch((size_t)p->nnz * sizeof(double)),
                scratch(N * K * sizeof(double)), 0};
  return out;
}

/// Runs in any thread: reports by status.
static lac_status differentiate(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *x,
                                answer *out) {
  lac_tape *tape = NULL;
  lac_var in[2], bar[2], y, loss;
  lac_status status = lac_tape_create(ctx, LAC_TAPE_RECORD, &tape);
  if (status != LAC_OK) return status;
  in[0] = lac_tape_leaf(tape, a), in[1] = lac_tape_leaf(tape, x);
  y = lac_spmm(tape, pattern, in[0], in[1], LAC_PLAIN);
  loss = lac_dot(tape, y, y);
  status = lac_tape_vjp(tape, 1, &loss, NULL, 2, in, bar, LAC_GRAPH_NONE);
  if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, y), out->y);
  if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, loss), &out->loss);
  if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, bar[0]), out->a_bar);
  if (status == LAC_OK) status = lac_array_read(ctx, lac_tape_value(tape, bar[1]), out->x_bar);
  lac_tape_destroy(&tape);
  return status;
}

/// Arrays made from host memory, used once and given back.
static lac_status differentiate_copies(lac_context *ctx, const lac_pattern *pattern, const problem *p, answer *out) {
  lac_array *a = NULL, *x = NULL;
  lac_status status = lac_array_from(ctx, LAC_F64, 1, (int64_t[]){p->nnz}, p->a, LAC_OWNERSHIP_COPY, &a);
  if (status == LAC_OK) status = lac_array_from(ctx, LAC_F64, 2, (int64_t[]){N, K}, p->x, LAC_OWNERSHIP_COPY, &x);
  if (status == LAC_OK) status = differentiate(ctx, pattern, a, x, out);
  lac_array_destroy(&a);
  lac_array_destroy(&x);
  return status;
}

static answer expected(const problem *p) {
  lac_context *ctx = NULL;
  answer want = answer_new(p);
  CHECK_OK(lac_context_create("cpu", 0, &ctx));
  lac_pattern *pattern = problem_pattern(ctx, p);
  CHECK_OK(differentiate_copies(ctx, pattern, p, &want));
  lac_pattern_destroy(&pattern);
  lac_context_destroy(&ctx);
  return want;
}

static int is_near(const double *got, const double *want, int64_t count) {
  double worst = 0, size = 0;
  for (int64_t i = 0; i < count; ++i) {
    worst = fmax(worst, fabs(got[i] - want[i]));
    size = fmax(size, fabs(want[i]));
    if (isnan(got[i])) return 0;
  }
  return worst <= 1e-13 * size;
}

static int is_answer(const problem *p, const answer *got, const answer *want) {
  return is_near(got->y, want->y, N * K) && is_near(got->a_bar, want->a_bar, p->nnz) &&
         is_near(got->x_bar, want->x_bar, N * K) && is_near(&got->loss, &want->loss, 1);
}

static int is_same(const problem *p, const answer *a, const answer *b) {
  size_t values = (size_t)p->nnz * sizeof(double), block = N * K * sizeof(double);
  return memcmp(a->y, b->y, block) == 0 && memcmp(a->a_bar, b->a_bar, values) == 0 &&
         memcmp(a->x_bar, b->x_bar, block) == 0 && memcmp(&a->loss, &b->loss, sizeof a->loss) == 0;
}

static void *to_device(const void *host, size_t bytes) {
  void *data = NULL;
  CHECK_CUDA(cudaMalloc(&data, bytes));
  CHECK_CUDA(cudaMemcpy(data, host, bytes, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());  // the copy may still be under way, and our streams do not wait for it
  return data;
}

static cudaStream_t stream_open(lac_context *ctx) {
  cudaStream_t stream = NULL;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_OK(lac_context_set_stream(ctx, stream));
  return stream;
}

static void stream_close(lac_context *ctx, cudaStream_t stream) {
  CHECK_OK(lac_context_synchronize(ctx));
  CHECK_OK(lac_context_set_stream(ctx, NULL));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

static int64_t live_bytes(void) { return memory_now("cuda").live_bytes; }

static void borrowed_pointers_are_used_on_the_given_stream(lac_context *ctx) {
  problem p = problem_make();
  answer want = expected(&p), got = answer_new(&p);
  cudaStream_t stream = stream_open(ctx);
  void *a_data = to_device(p.a, (size_t)p.nnz * sizeof *p.a), *x_data = to_device(p.x, N * K * sizeof *p.x);
  lac_pattern *pattern = problem_pattern(ctx, &p);
  lac_array *a = NULL, *x = NULL;

  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &p.nnz, a_data, LAC_OWNERSHIP_BORROW, &a));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){N, K}, x_data, LAC_OWNERSHIP_ADOPT, &x));
  CHECK(lac_array_data(a) == a_data);
  CHECK_OK(differentiate(ctx, pattern, a, x, &got));
  CHECK(is_answer(&p, &got, &want));
  lac_array_destroy(&a);
  lac_array_destroy(&x);  // frees x_data
  lac_pattern_destroy(&pattern);
  CHECK_CUDA(cudaFree(a_data));
  stream_close(ctx, stream);
}

static void unaligned_pointers_are_taken(lac_context *ctx) {
  problem p = problem_make();
  answer want = expected(&p), got = answer_new(&p);
  double *a_data = to_device(p.a, (size_t)p.nnz * sizeof *p.a), *x_data = NULL;
  lac_pattern *pattern = problem_pattern(ctx, &p);
  lac_array *a = NULL, *x = NULL;

  CHECK_CUDA(cudaMalloc((void **)&x_data, (N * K + 1) * sizeof *x_data));
  CHECK_CUDA(cudaMemcpy(x_data + 1, p.x, N * K * sizeof *x_data, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &p.nnz, a_data, LAC_OWNERSHIP_BORROW, &a));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){N, K}, x_data + 1, LAC_OWNERSHIP_BORROW, &x));
  CHECK_OK(differentiate(ctx, pattern, a, x, &got));
  CHECK(is_answer(&p, &got, &want));
  lac_array_destroy(&a);
  lac_array_destroy(&x);
  lac_pattern_destroy(&pattern);
  CHECK_CUDA(cudaFree(a_data));
  CHECK_CUDA(cudaFree(x_data));
}

static void two_runs_give_the_same_bits(lac_context *ctx) {
  problem p = problem_make();
  answer first = answer_new(&p), second = answer_new(&p);
  lac_pattern *pattern = problem_pattern(ctx, &p);
  cudaStream_t stream = NULL;

  CHECK_OK(differentiate_copies(ctx, pattern, &p, &first));
  stream = stream_open(ctx);
  for (int run = 0; run < 3; ++run) {
    CHECK_OK(differentiate_copies(ctx, pattern, &p, &second));
    CHECK(is_same(&p, &first, &second));
  }
  stream_close(ctx, stream);
  lac_pattern_destroy(&pattern);
}

static void arrays_outlive_context_and_stream(lac_context *ctx) {
  problem p = problem_make();
  int64_t before = live_bytes();
  lac_context *other = NULL;
  cudaStream_t stream = NULL;
  lac_pattern *pattern = NULL;
  lac_array *x = NULL, *y = NULL;
  double *back = scratch(N * K * sizeof *back);

  CHECK_OK(lac_context_create("cuda", 0, &other));
  stream = stream_open(other);
  pattern = problem_pattern(other, &p);
  CHECK_OK(lac_array_from(other, LAC_F64, 2, (int64_t[]){N, K}, p.x, LAC_OWNERSHIP_COPY, &x));
  CHECK_OK(lac_array_clone(other, x, &y));
  CHECK(live_bytes() > before);
  CHECK_OK(lac_context_synchronize(other));
  lac_context_destroy(&other);
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_OK(lac_array_read(ctx, y, back));
  CHECK(memcmp(back, p.x, N * K * sizeof *back) == 0);
  lac_array_destroy(&x);
  lac_array_destroy(&y);
  lac_pattern_destroy(&pattern);
  CHECK_EQ(live_bytes(), before);
}

static void memory_is_taken_again_and_counted_to_zero(lac_context *ctx) {
  problem p = problem_make();
  answer got = answer_new(&p);
  int64_t before = live_bytes();
  cudaStream_t stream = stream_open(ctx);
  lac_pattern *pattern = problem_pattern(ctx, &p);

  CHECK_OK(differentiate_copies(ctx, pattern, &p, &got));
  int64_t kept = live_bytes();  // the index buffers
  lac_memory_reset_peak("cuda");
  CHECK_OK(differentiate_copies(ctx, pattern, &p, &got));
  int64_t peak = memory_now("cuda").peak_bytes;
  for (int run = 0; run < 20; ++run) CHECK_OK(differentiate_copies(ctx, pattern, &p, &got));
  CHECK_EQ(live_bytes(), kept);
  CHECK_EQ(memory_now("cuda").peak_bytes, peak);
  lac_pattern_destroy(&pattern);
  stream_close(ctx, stream);
  CHECK_EQ(live_bytes(), before);
}

static int64_t device_bytes_free(void) {
  size_t left = 0, total = 0;
  CHECK_CUDA(cudaMemGetInfo(&left, &total));
  return (int64_t)left;
}

static void what_is_kept_can_be_given_back(lac_context *ctx) {
  const int64_t bytes = (int64_t)512 << 20;
  lac_array *x = NULL;

  lac_memory_trim();
  int64_t before = memory_now("cuda").cached_bytes;
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){bytes / 8}, &x));
  CHECK_OK(lac_array_fill(ctx, x, 1, 0));
  lac_array_destroy(&x);
  CHECK_OK(lac_context_synchronize(ctx));
  CHECK(memory_now("cuda").cached_bytes >= bytes / 8 * 7);  // the pool rounds and shares its pages
  int64_t left = device_bytes_free();
  lac_memory_trim();
  CHECK(memory_now("cuda").cached_bytes <= before + bytes / 8);
  CHECK(device_bytes_free() >= left + bytes / 8 * 7);
}

/// A source that counts its blocks.
static void *lend(void *self, int device, size_t bytes, void *stream) {
  void *data = NULL;
  (void)device;
  ++((int *)self)[0], ++((int *)self)[1];
  return cudaMallocAsync(&data, bytes, stream) == cudaSuccess ? data : NULL;
}

static void take_back(void *self, int device, void *block, size_t bytes, void *stream) {
  (void)device, (void)bytes;
  --((int *)self)[0];
  CHECK_CUDA(cudaFreeAsync(block, stream));
}

static void a_source_of_the_users_lends_the_blocks_of_streams(lac_context *ctx) {
  problem p = problem_make();
  answer want = expected(&p), got = answer_new(&p);
  int blocks[2] = {0, 0};  // out now, and so far
  lac_device_allocator source = {.allocate = lend, .release = take_back, .self = blocks};
  cudaStream_t stream = stream_open(ctx);
  lac_pattern *pattern = problem_pattern(ctx, &p);
  lac_array *before = NULL, *during = NULL;

  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){1000}, &before));
  lac_memory_set_device_allocator(&source);
  CHECK_OK(differentiate_copies(ctx, pattern, &p, &got));
  CHECK(is_answer(&p, &got, &want));
  CHECK(blocks[1] > 0);
  CHECK_EQ(blocks[0], 0);
  CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){1000}, &during));
  lac_array_destroy(&before);
  CHECK_EQ(blocks[0], 1);
  lac_memory_set_device_allocator(NULL);
  lac_array_destroy(&during);  // to where it came from
  CHECK_EQ(blocks[0], 0);
  lac_pattern_destroy(&pattern);
  stream_close(ctx, stream);
}

static void products_neither_copy_nor_wait(lac_context *ctx) {
  problem p = problem_make();
  lac_pattern *pattern = problem_pattern(ctx, &p);
  lac_array *a = NULL, *x = NULL, *y = NULL;

  CHECK_OK(lac_array_from(ctx, LAC_F64, 1, &p.nnz, p.a, LAC_OWNERSHIP_COPY, &a));
  CHECK_OK(lac_array_from(ctx, LAC_F64, 2, (int64_t[]){N, K}, p.x, LAC_OWNERSHIP_COPY, &x));
  CHECK_OK(lac_run_spmm(ctx, pattern, a, x, LAC_PLAIN, &y));  // the indices are on the device from now on
  lac_memory_stats before = memory_now("cuda");
  for (int i = 0; i < 5; ++i) {
    lac_array_destroy(&y);
    CHECK_OK(lac_run_spmm(ctx, pattern, a, x, LAC_PLAIN, &y));
  }
  lac_memory_stats after = memory_now("cuda");
  CHECK_EQ(after.to_host_bytes, before.to_host_bytes);
  CHECK_EQ(after.to_device_bytes, before.to_device_bytes);
  CHECK_EQ(after.waits, before.waits);
  CHECK_OK(lac_context_synchronize(ctx));
  CHECK_EQ(memory_now("cuda").waits, before.waits + 1);
  lac_array_destroy(&a);
  lac_array_destroy(&x);
  lac_array_destroy(&y);
  lac_pattern_destroy(&pattern);
}

static void the_callers_device_stays_current(lac_context *ctx) {
  int count = 0, now = -1;
  lac_array *x = NULL;
  CHECK_CUDA(cudaGetDeviceCount(&count));
  CHECK_CUDA(cudaSetDevice(count - 1));
  CHECK_OK(lac_array_create(ctx, LAC_F32, 1, (int64_t[]){1000}, &x));
  CHECK_OK(lac_array_fill(ctx, x, 1, 0));
  CHECK_OK(lac_context_synchronize(ctx));
  lac_array_destroy(&x);
  CHECK_CUDA(cudaGetDevice(&now));
  CHECK_EQ(now, count - 1);
  CHECK_CUDA(cudaSetDevice(0));
}

/// What one of two threads does with a pattern that both share.
typedef struct worker {
  const problem *p;
  const lac_pattern *pattern;
  const answer *want;
  answer got[2];
  lac_status status;
  int same;
} worker;

static void *worker_run(void *argument) {
  worker *w = argument;
  lac_context *ctx = NULL;
  cudaStream_t stream = NULL;

  w->status = lac_context_create("cuda", 0, &ctx);
  if (w->status != LAC_OK) return NULL;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) w->status = LAC_ERR_BACKEND;
  (void)lac_context_set_stream(ctx, stream);
  w->same = 1;
  for (int run = 0; run < 20 && w->status == LAC_OK; ++run) {
    w->status = differentiate_copies(ctx, w->pattern, w->p, &w->got[run % 2]);
    if (run) w->same &= is_same(w->p, &w->got[0], &w->got[1]);
  }
  lac_context_destroy(&ctx);
  (void)cudaStreamDestroy(stream);
  return NULL;
}

static void two_threads_share_a_pattern(lac_context *ctx) {
  problem p = problem_make();
  answer want = expected(&p);
  lac_pattern *pattern = problem_pattern(ctx, &p);
  worker workers[2];
  pthread_t threads[2];

  for (int t = 0; t < 2; ++t) {
    workers[t] = (worker){.p = &p, .pattern = pattern, .got = {answer_new(&p), answer_new(&p)}};
    CHECK_EQ(pthread_create(&threads[t], NULL, worker_run, &workers[t]), 0);
  }
  for (int t = 0; t < 2; ++t) CHECK_EQ(pthread_join(threads[t], NULL), 0);
  for (int t = 0; t < 2; ++t) {
    CHECK_EQ(workers[t].status, LAC_OK);
    CHECK(workers[t].same);
    CHECK(is_answer(&p, &workers[t].got[0], &want));
  }
  CHECK(is_same(&p, &workers[0].got[0], &workers[1].got[0]));
  lac_pattern_destroy(&pattern);
}

static void *destroy_array(void *array) {
  lac_array *a = array;
  lac_array_destroy(&a);
  return NULL;
}

static void another_thread_may_give_back(lac_context *ctx) {
  int64_t before = live_bytes();
  cudaStream_t stream = stream_open(ctx);
  pthread_t thread;

  for (int i = 0; i < 10; ++i) {
    lac_array *x = NULL;
    CHECK_OK(lac_array_create(ctx, LAC_F64, 1, (int64_t[]){1 << 16}, &x));
    CHECK_OK(lac_array_fill(ctx, x, i, 0));
    CHECK_EQ(pthread_create(&thread, NULL, destroy_array, x), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
  }
  CHECK_EQ(live_bytes(), before);
  stream_close(ctx, stream);
}

/// y = A x and s = sum of y, which takes memory of its own, recorded once and replayed on new values.
static void calls_are_captured_into_a_graph(lac_context *ctx) {
  problem p = problem_make();
  answer want = expected(&p);
  cudaStream_t stream = stream_open(ctx);
  lac_pattern *pattern = problem_pattern(ctx, &p);
  lac_program *product = NULL, *total = NULL;
  lac_meta in[] = {{.dtype = LAC_F64, .ndim = 1, .shape = {p.nnz}}, {.dtype = LAC_F64, .ndim = 2, .shape = {N, K}}};
  void *a = to_device(p.a, (size_t)p.nnz * sizeof *p.a), *x = to_device(p.x, N * K * sizeof *p.x);
  void *y = to_device(p.x, N * K * sizeof *p.x), *s = to_device(p.x, sizeof *p.x);
  double *back = scratch(N * K * sizeof *back), sum = 0, expected_sum = 0;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t runnable = NULL;

  lac_spec multiply = {.op = lac_op_find("spmm"), .patterns = {pattern}}, add_up = {.op = lac_op_find("sum")};
  add_up.attrs.i[0] = 3;  // both axes
  CHECK_OK(lac_program_forward(ctx, &multiply, in, &product));
  CHECK_OK(lac_program_forward(ctx, &add_up, &in[1], &total));
  CHECK_OK(
      lac_program_run(ctx, product, (const void *[]){a, x}, &y));  // first calls upload the pattern and load kernels
  CHECK_OK(lac_program_run(ctx, total, (const void *[]){y}, &s));
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK_OK(lac_program_run(ctx, product, (const void *[]){a, x}, &y));
  CHECK_OK(lac_program_run(ctx, total, (const void *[]){y}, &s));
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&runnable, graph, 0));
  for (int run = 0; run < 3; ++run) {
    CHECK_CUDA(cudaMemsetAsync(y, 0xff, N * K * sizeof *back, stream));
    CHECK_CUDA(cudaGraphLaunch(runnable, stream));
  }
  CHECK_CUDA(cudaMemcpyAsync(back, y, N * K * sizeof *back, cudaMemcpyDeviceToHost, stream));
  CHECK_CUDA(cudaMemcpyAsync(&sum, s, sizeof sum, cudaMemcpyDeviceToHost, stream));
  CHECK_OK(lac_context_synchronize(ctx));
  for (int i = 0; i < N * K; ++i) expected_sum += want.y[i];
  CHECK(is_near(back, want.y, N * K));
  CHECK(fabs(sum - expected_sum) <= 1e-10 * N);
  CHECK_CUDA(cudaGraphExecDestroy(runnable));
  CHECK_CUDA(cudaGraphDestroy(graph));
  lac_program_destroy(&product);
  lac_program_destroy(&total);
  lac_pattern_destroy(&pattern);
  for (int i = 0; i < 4; ++i) CHECK_CUDA(cudaFree((void *[]){a, x, y, s}[i]));
  stream_close(ctx, stream);
}

/// A product that is large enough for cuBLAS: numbers 1 and 2.
static void dense_products_are_captured_into_a_graph(lac_context *ctx) {
  enum { M = 200, L = 150, NCOLS = 120 };
  const lac_kernels *k = ctx->kernels;
  cudaStream_t stream = stream_open(ctx);
  lac_array *x = NULL, *y = NULL, *z = NULL;
  double *back = scratch(M * NCOLS * sizeof *back);
  cudaGraph_t graph = NULL;
  cudaGraphExec_t runnable = NULL;

  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){M, L}, &x));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){L, NCOLS}, &y));
  CHECK_OK(lac_array_create(ctx, LAC_F64, 2, (int64_t[]){M, NCOLS}, &z));
  CHECK_OK(lac_array_fill(ctx, x, 1, 0));
  CHECK_OK(lac_array_fill(ctx, y, 1, 0));
  CHECK_OK(k->matmul(ctx, LAC_PLAIN, x, LAC_PLAIN, y, z));  // loads kernels
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK_OK(k->matmul(ctx, LAC_PLAIN, x, LAC_PLAIN, y, z));
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&runnable, graph, 0));
  CHECK_OK(lac_array_fill(ctx, z, NAN, 0));
  CHECK_OK(lac_array_fill(ctx, y, 2, 0));
  CHECK_CUDA(cudaGraphLaunch(runnable, stream));
  CHECK_OK(lac_array_read(ctx, z, back));
  for (int i = 0; i < M * NCOLS; ++i) CHECK(back[i] == 2 * L);
  CHECK_CUDA(cudaGraphExecDestroy(runnable));
  CHECK_CUDA(cudaGraphDestroy(graph));
  lac_array_destroy(&x), lac_array_destroy(&y), lac_array_destroy(&z);
  stream_close(ctx, stream);
}

#define TESTS                                                                                                       \
  borrowed_pointers_are_used_on_the_given_stream, unaligned_pointers_are_taken, two_runs_give_the_same_bits,        \
      arrays_outlive_context_and_stream, memory_is_taken_again_and_counted_to_zero, what_is_kept_can_be_given_back, \
      the_callers_device_stays_current, two_threads_share_a_pattern, another_thread_may_give_back,                  \
      calls_are_captured_into_a_graph, dense_products_are_captured_into_a_graph,                                    \
      a_source_of_the_users_lends_the_blocks_of_streams, products_neither_copy_nor_wait
#define NAMES_OF(...) #__VA_ARGS__
#define NAMES(...) NAMES_OF(__VA_ARGS__)

static int run(int argc, char **argv) {
  static check_test *const tests[] = {TESTS};
  return check_main(argc, argv, NULL, NAMES(TESTS), tests, (int)(sizeof tests / sizeof *tests));
}

#else

static int run(int argc, char **argv) {
  (void)argc, (void)argv;
  (void)printf("skip: built without CUDA\n");
  return SKIPPED;
}

#endif

int main(int argc, char **argv) {
  if (argc < 2 || strcmp(argv[1], "cuda") != 0) {
    (void)printf("skip: only the CUDA backend has streams\n");
    return SKIPPED;
  }
  return run(argc, argv);
}
