// SPDX-License-Identifier: Apache-2.0
/// @file tune_cuda.cu
/// Variants of product kernels side by side: how many loads are on their way, how many blocks are on a multiprocessor,
/// in which order rows are taken.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backends/cuda/products/matrix.cuh"

using namespace lac_cuda;

namespace {

constexpr int ROOM = 512, MOST = 256;

struct Grid {
  int64_t rows, stride;  // of the tile's lines; 0: rows follow each other
  int lines, along;      // a tile has lines x along rows

  __device__ int64_t row(int64_t tile, int i) const {
    if (stride == 0) return tile * lines * along + i;
    int64_t across = (stride + along - 1) / along, tx = tile % across, ty = tile / across;
    int64_t at = tx * along + i % along, line = ty * lines + i / along;
    int64_t row = line * stride + at;
    return at < stride && row < rows ? row : rows;
  }
};

/// Exclusive sums over MOST threads.
__device__ int scan(int x, int *total) {
  __shared__ int parts[BLOCK / 32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = x;
  for (int d = 1; d < 32; d *= 2) {
    int other = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += other;
  }
  if (lane == 31) parts[warp] = sum;
  __syncthreads();
  int base = 0, all = 0;
  for (int w = 0; w < BLOCK / 32; ++w) {
    if (w == warp) base = all;
    all += parts[w];
  }
  __syncthreads();
  *total = all;
  return base + sum - x;
}

template <class T, int V, int U, int MINB>
__global__ void __launch_bounds__(BLOCK, MINB)
    spmm_tile(Grid grid, const int *__restrict__ offsets, const int *__restrict__ columns, const T *__restrict__ a,
              int64_t k, int lanes, const T *__restrict__ x, T *__restrict__ y) {
  __shared__ int s_columns[ROOM];
  __shared__ T s_values[ROOM];
  __shared__ int begins[MOST + 1];
  int R = grid.lines * grid.along, thread = threadIdx.x;
  int64_t tile = blockIdx.x;
  if (grid.stride == 0) {
    int64_t top = tile * R;
    int here = grid.rows - top < R ? (int)(grid.rows - top) : R;
    int first = offsets[top], last = offsets[top + here];
    for (int i = thread; i <= R; i += BLOCK) begins[i] = offsets[top + (i < here ? i : here)] - first;
    for (int i = thread; i < last - first; i += BLOCK) s_columns[i] = columns[first + i], s_values[i] = a[first + i];
  } else {
    int64_t row = thread < R ? grid.row(tile, thread) : grid.rows;
    int begin = row < grid.rows ? offsets[row] : 0, end = row < grid.rows ? offsets[row + 1] : 0, all;
    int at = scan(end - begin, &all);
    if (thread < R) begins[thread] = at;
    if (thread == 0) begins[R] = all;
    for (int e = begin; e < end; ++e) s_columns[at + e - begin] = columns[e], s_values[at + e - begin] = a[e];
  }
  __syncthreads();
  int lane = thread & (lanes - 1), group = thread / lanes, groups = BLOCK / lanes;
  for (int64_t c = ((int64_t)blockIdx.y * lanes + lane) * V; c < k; c += (int64_t)gridDim.y * lanes * V) {
    for (int i = group; i < R; i += groups) {
      int64_t row = grid.row(tile, i);
      if (row >= grid.rows) continue;
      int begin = begins[i], end = begins[i + 1];
      Pack<T, V> sum;
#pragma unroll
      for (int v = 0; v < V; ++v) sum.at[v] = 0;
      for (int p = begin; p < end; p += U) {
        Pack<T, V> f[U];
#pragma unroll
        for (int u = 0; u < U; ++u)
          if (p + u < end) f[u] = load<V>(x + (int64_t)s_columns[p + u] * k + c);
#pragma unroll
        for (int u = 0; u < U; ++u)
          if (p + u < end) {
            T value = s_values[p + u];
#pragma unroll
            for (int v = 0; v < V; ++v) sum.at[v] += value * f[u].at[v];
          }
      }
      store<V>(y + row * k + c, sum);
    }
  }
}

template <class T>
__device__ T across(T x, int d) {
  return __shfl_xor_sync(0xffffffffu, x, d);
}

/// Slots of a tile of rows; SLOTS of them to a group of 8 lanes.
template <class T, int V, int MINB>
__global__ void __launch_bounds__(BLOCK, MINB)
    sddmm_tile(Grid grid, const int *__restrict__ offsets, const int *__restrict__ columns, int64_t k,
               const T *__restrict__ u, const T *__restrict__ v, T *__restrict__ s) {
  constexpr int G = 8, SLOTS = 4;
  __shared__ int s_columns[ROOM], s_rows[ROOM], s_slots[ROOM];
  int R = grid.lines * grid.along, thread = threadIdx.x, all;
  int64_t tile = blockIdx.x;
  int64_t row = thread < R ? grid.row(tile, thread) : grid.rows;
  int begin = row < grid.rows ? offsets[row] : 0, end = row < grid.rows ? offsets[row + 1] : 0;
  int at = scan(end - begin, &all);
  for (int e = begin; e < end; ++e)
    s_columns[at + e - begin] = columns[e], s_rows[at + e - begin] = (int)row, s_slots[at + e - begin] = e;
  __syncthreads();
  int lane = thread % G, group = thread / G;
  for (int z0 = 0; z0 < all; z0 += BLOCK / G * SLOTS) {
    int z = z0 + group * SLOTS, r[SLOTS], c[SLOTS];
    T sum[SLOTS];
#pragma unroll
    for (int i = 0; i < SLOTS; ++i) {
      int q = z + i < all ? z + i : all - 1;
      r[i] = s_rows[q], c[i] = s_columns[q], sum[i] = 0;
    }
    for (int64_t j = lane * V; j < k; j += G * V) {
      Pack<T, V> pu[SLOTS], pv[SLOTS];
#pragma unroll
      for (int i = 0; i < SLOTS; ++i) pv[i] = load<V>(v + (int64_t)c[i] * k + j);
#pragma unroll
      for (int i = 0; i < SLOTS; ++i) {
        if (i == 0 || r[i] != r[i - 1]) {
          pu[i] = load<V>(u + (int64_t)r[i] * k + j);
        } else {
          pu[i] = pu[i - 1];
        }
      }
#pragma unroll
      for (int i = 0; i < SLOTS; ++i)
#pragma unroll
        for (int e = 0; e < V; ++e) sum[i] += pu[i].at[e] * pv[i].at[e];
    }
    bool up = lane & 4, odd = lane & 2;
    T low = up ? sum[2] : sum[0], high = up ? sum[3] : sum[1];
    low += across(up ? sum[0] : sum[2], 4);
    high += across(up ? sum[1] : sum[3], 4);
    T one = (odd ? high : low) + across(odd ? low : high, 2);
    one += across(one, 1);
    if (lane % 2 == 0 && z + lane / 2 < all) s[s_slots[z + lane / 2]] = one;
  }
}

/// A^T x: how entries are read.
template <int U, int STREAM, int LINES, class T>
__global__ void __launch_bounds__(BLOCK)
    spmv_t(int64_t rows, const int *__restrict__ offsets, const int *__restrict__ columns,
           const int *__restrict__ slots, const T *__restrict__ a, const T *__restrict__ x, T *__restrict__ y) {
  constexpr int CHUNK = 1536 * LINES;
  __shared__ T terms[CHUNK];
  int64_t top = (int64_t)blockIdx.x * BLOCK * LINES, bottom = min(top + BLOCK * LINES, rows);
  int first = offsets[top], last = offsets[bottom], count = last - first;
#pragma unroll U
  for (int i = threadIdx.x; i < count; i += BLOCK) {
    int c = STREAM ? __ldcs(columns + first + i) : columns[first + i];
    int z = STREAM ? __ldcs(slots + first + i) : slots[first + i];
    terms[i] = a[z] * x[c];
  }
  __syncthreads();
#pragma unroll
  for (int l = 0; l < LINES; ++l) {
    int64_t row = top + l * BLOCK + threadIdx.x;
    if (row >= bottom) continue;
    T sum = 0;
    for (int i = offsets[row] - first, end = offsets[row + 1] - first; i < end; ++i) sum += terms[i];
    y[row] = sum;
  }
}

template <class T>
__global__ void spmv_t_row(int64_t rows, const int *__restrict__ offsets, const int *__restrict__ columns,
                           const int *__restrict__ slots, const T *__restrict__ a, const T *__restrict__ x,
                           T *__restrict__ y) {
  int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int begin = offsets[row], end = offsets[row + 1];
  T sum = 0;
  for (int p = begin; p < end; p += 8) {
    int z[8], c[8];
#pragma unroll
    for (int u = 0; u < 8; ++u)
      if (p + u < end) z[u] = slots[p + u], c[u] = columns[p + u];
#pragma unroll
    for (int u = 0; u < 8; ++u)
      if (p + u < end) sum += a[z[u]] * x[c[u]];
  }
  y[row] = sum;
}

template <class T>
__global__ void fill(int64_t n, T *x) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
    x[i] = (T)((i * 2654435761ll >> 8 & 0xffff) / 65536.0 - 0.5);
}

template <class T>
__global__ void differ(int64_t n, const T *x, const T *y, double *worst) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
    if (!(fabs((double)x[i] - (double)y[i]) <= 1e-4)) *worst = 1;
}

void must(cudaError_t e) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "%s\n", cudaGetErrorString(e));
  exit(1);
}

template <class T>
T *take(int64_t n) {
  T *p;
  must(cudaMalloc(&p, (size_t)n * sizeof(T)));
  fill<<<4096, 256>>>(n, p);
  return p;
}

template <class F>
double best(F f) {
  std::vector<float> ms;
  cudaEvent_t b, e;
  must(cudaEventCreate(&b)), must(cudaEventCreate(&e));
  for (int i = 0; i < 9; ++i) {
    must(cudaEventRecord(b));
    f();
    must(cudaEventRecord(e));
    must(cudaEventSynchronize(e));
    float t;
    must(cudaEventElapsedTime(&t, b, e));
    if (i > 1) ms.push_back(t);
  }
  must(cudaGetLastError());
  std::sort(ms.begin(), ms.end());
  return ms[ms.size() / 2] * 1e-3;
}

double bandwidth;
double *flag;

void tell(const char *name, double bytes, double s, bool right) {
  printf("%-44s %8.3f ms %5.0f %%%s\n", name, s * 1e3, 100 * bytes / s / bandwidth, right ? "" : "  WRONG");
}

template <class T>
bool same(int64_t n, const T *x, const T *y) {
  double worst = 0;
  must(cudaMemcpy(flag, &worst, 8, cudaMemcpyHostToDevice));
  differ<<<4096, 256>>>(n, x, y, flag);
  must(cudaMemcpy(&worst, flag, 8, cudaMemcpyDeviceToHost));
  return worst == 0;
}

struct Problem {
  int64_t n, nnz, side;
  int *offsets, *columns, *slots;
};

Problem five_point(int side) {
  std::vector<int> o(1, 0), c, t;
  int64_t n = (int64_t)side * side;
  const int step[] = {-side, -1, 0, 1, side};
  c.reserve(5 * n);
  for (int64_t i = 0; i < n; ++i) {
    for (int s = 0; s < 5; ++s) {
      int64_t j = i + step[s];
      if (j < 0 || j >= n || (s == 1 && i % side == 0) || (s == 3 && i % side == side - 1)) continue;
      c.push_back((int)j);
    }
    o.push_back((int)c.size());
  }
  t.resize(c.size());
  std::vector<int> at(o);
  for (int64_t i = 0; i < n; ++i)
    for (int p = o[i]; p < o[i + 1]; ++p) t[at[c[p]]++] = p;
  Problem p = {n, (int64_t)c.size(), side, nullptr, nullptr, nullptr};
  must(cudaMalloc(&p.offsets, 4 * o.size())), must(cudaMalloc(&p.columns, 4 * c.size()));
  must(cudaMalloc(&p.slots, 4 * c.size()));
  must(cudaMemcpy(p.offsets, o.data(), 4 * o.size(), cudaMemcpyHostToDevice));
  must(cudaMemcpy(p.columns, c.data(), 4 * c.size(), cudaMemcpyHostToDevice));
  must(cudaMemcpy(p.slots, t.data(), 4 * t.size(), cudaMemcpyHostToDevice));
  return p;
}

Problem tridiagonal(int n) {
  std::vector<int> o(1, 0), c;
  for (int i = 0; i < n; ++i) {
    for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) c.push_back(j);
    o.push_back((int)c.size());
  }
  Problem p = {n, (int64_t)c.size(), 0, nullptr, nullptr, nullptr};
  must(cudaMalloc(&p.offsets, 4 * o.size())), must(cudaMalloc(&p.columns, 4 * c.size()));
  must(cudaMemcpy(p.offsets, o.data(), 4 * o.size(), cudaMemcpyHostToDevice));
  must(cudaMemcpy(p.columns, c.data(), 4 * c.size(), cudaMemcpyHostToDevice));
  return p;
}

template <class T, int V, int U, int MINB>
void spmm_one(const char *what, const Problem &p, int64_t k, int lines, int along, int64_t stride, int y_grid,
              const T *a, const T *x, T *y, const T *want) {
  char name[128];
  int lanes = 1, regs;
  while (lanes < 32 && lanes < k / V) lanes *= 2;
  Grid g = {p.n, stride, lines, along};
  int64_t tiles = stride ? ((stride + along - 1) / along) * ((p.n / stride + lines - 1) / lines)
                         : (p.n + lines * along - 1) / (lines * along);
  cudaFuncAttributes attributes;
  must(cudaFuncGetAttributes(&attributes, spmm_tile<T, V, U, MINB>));
  regs = attributes.numRegs;
  double s = best(
      [&] { spmm_tile<T, V, U, MINB><<<dim3(tiles, y_grid), BLOCK>>>(g, p.offsets, p.columns, a, k, lanes, x, y); });
  snprintf(name, sizeof name, "%s U%d b%d (%d regs) %dx%d%s", what, U, MINB, regs, lines, along,
           stride ? " tiles" : "");
  tell(name, (double)p.nnz * (4 + sizeof(T)) + 4.0 * p.n + 2.0 * p.n * k * sizeof(T), s,
       !want || same(p.n * k, y, want));
}

template <class T, int V>
void spmm_all(const char *what, const Problem &p, int64_t k) {
  T *a = take<T>(p.nnz), *x = take<T>(p.n * k), *y = take<T>(p.n * k), *want = take<T>(p.n * k);
  spmm_one<T, V, 4, 4>(what, p, k, 1, 16, 0, 1, a, x, want, (const T *)nullptr);
  spmm_one<T, V, 4, 4>(what, p, k, 1, 32, 0, 1, a, x, y, want);
  spmm_one<T, V, 4, 4>(what, p, k, 1, 64, 0, 1, a, x, y, want);
  spmm_one<T, V, 4, 5>(what, p, k, 1, 64, 0, 1, a, x, y, want);
  spmm_one<T, V, 5, 4>(what, p, k, 1, 64, 0, 1, a, x, y, want);
  spmm_one<T, V, 8, 2>(what, p, k, 1, 64, 0, 1, a, x, y, want);
  spmm_one<T, V, 8, 3>(what, p, k, 1, 64, 0, 1, a, x, y, want);
  spmm_one<T, V, 8, 4>(what, p, k, 1, 64, 0, 1, a, x, y, want);
  for (int lines = 2; p.side && lines <= 16; lines *= 2) {
    spmm_one<T, V, 4, 4>(what, p, k, lines, 64 / lines, p.side, 1, a, x, y, want);
    spmm_one<T, V, 5, 4>(what, p, k, lines, 64 / lines, p.side, 1, a, x, y, want);
  }
  cudaFree(a), cudaFree(x), cudaFree(y), cudaFree(want);
}

template <class T, int V, int MINB>
void sddmm_one(const char *what, const Problem &p, int64_t k, int lines, int along, int64_t stride, const T *u,
               const T *v, T *s, const T *want) {
  char name[128];
  Grid g = {p.n, stride, lines, along};
  int64_t tiles = stride ? ((stride + along - 1) / along) * ((p.n / stride + lines - 1) / lines)
                         : (p.n + lines * along - 1) / (lines * along);
  cudaFuncAttributes attributes;
  must(cudaFuncGetAttributes(&attributes, sddmm_tile<T, V, MINB>));
  double t = best([&] { sddmm_tile<T, V, MINB><<<tiles, BLOCK>>>(g, p.offsets, p.columns, k, u, v, s); });
  snprintf(name, sizeof name, "%s b%d (%d regs) %dx%d%s", what, MINB, attributes.numRegs, lines, along,
           stride ? " tiles" : "");
  tell(name, (double)p.nnz * (8 + sizeof(T)) + 2.0 * p.n * k * sizeof(T), t, !want || same(p.nnz, s, want));
}

template <class T, int V>
void sddmm_all(const char *what, const Problem &p, int64_t k) {
  T *u = take<T>(p.n * k), *v = take<T>(p.n * k), *s = take<T>(p.nnz), *want = take<T>(p.nnz);
  sddmm_one<T, V, 3>(what, p, k, 1, 64, 0, u, v, want, (const T *)nullptr);
  sddmm_one<T, V, 4>(what, p, k, 1, 64, 0, u, v, s, want);
  sddmm_one<T, V, 5>(what, p, k, 1, 64, 0, u, v, s, want);
  sddmm_one<T, V, 4>(what, p, k, 1, 96, 0, u, v, s, want);
  for (int lines = 2; lines <= 16; lines *= 2) {
    sddmm_one<T, V, 4>(what, p, k, lines, 64 / lines, p.side, u, v, s, want);
    sddmm_one<T, V, 4>(what, p, k, lines, 96 / lines, p.side, u, v, s, want);
  }
  cudaFree(u), cudaFree(v), cudaFree(s), cudaFree(want);
}

template <class T>
void transposed_all(const char *what, const Problem &p) {
  T *a = take<T>(p.nnz), *x = take<T>(p.n), *y = take<T>(p.n), *want = take<T>(p.n);
  double bytes = (double)p.nnz * (8 + sizeof(T)) + 4.0 * p.n + 2.0 * p.n * sizeof(T);
  auto go = [&](const char *name, auto kernel, int rows, T *to) {
    double s = best(
        [&] { kernel<<<(unsigned)((p.n + rows - 1) / rows), BLOCK>>>(p.n, p.offsets, p.columns, p.slots, a, x, to); });
    char full[128];
    snprintf(full, sizeof full, "%s %s", what, name);
    tell(full, bytes, s, same(p.n, to, want));
  };
  go("row", spmv_t_row<T>, 256, want);
  go("U4", spmv_t<4, 0, 1, T>, 256, y);
  go("U8", spmv_t<8, 0, 1, T>, 256, y);
  go("U4 stream", spmv_t<4, 1, 1, T>, 256, y);
  go("U8 stream", spmv_t<8, 1, 1, T>, 256, y);
  go("U4 2 lines", spmv_t<4, 0, 2, T>, 512, y);
  go("U4 stream 2 lines", spmv_t<4, 1, 2, T>, 512, y);
  go("U4 stream 4 lines", spmv_t<4, 1, 3, T>, 768, y);
  cudaFree(a), cudaFree(x), cudaFree(y), cudaFree(want);
}

}  // namespace

int main(int argc, char **argv) {
  int side = argc > 1 ? atoi(argv[1]) : 4000;
  must(cudaMalloc(&flag, 8));
  double *from = take<double>(1 << 27), *to = take<double>(1 << 27);
  double s = best([&] { must(cudaMemcpyAsync(to, from, 8ll << 27, cudaMemcpyDeviceToDevice)); });
  bandwidth = 16.0 * (1 << 27) / s;
  printf("copy %.0f GB/s\n", bandwidth * 1e-9);
  cudaFree(from), cudaFree(to);
  Problem p = five_point(side);
  transposed_all<double>("A^T f64", p);
  spmm_all<double, 2>("spmm f64 32", p, 32);
  sddmm_all<double, 2>("sddmm f64 32", p, 32);
  spmm_all<double, 2>("spmm f64 128", p, 128);
  spmm_all<float, 4>("spmm f32 32", p, 32);
  sddmm_all<float, 4>("sddmm f32 32", p, 32);
  Problem t = tridiagonal(16384);
  float *a = take<float>(t.nnz), *x = take<float>(16384ll * 16384), *y = take<float>(16384ll * 16384);
  const float *none = nullptr;
  for (int grid : {8, 32, 128}) {
    printf("grid %d\n", grid);
    spmm_one<float, 4, 4, 4>("spdmm f32", t, 16384, 1, 8, 0, grid, a, x, y, none);
    spmm_one<float, 4, 4, 4>("spdmm f32", t, 16384, 1, 32, 0, grid, a, x, y, none);
    spmm_one<float, 4, 4, 4>("spdmm f32", t, 16384, 1, 128, 0, grid, a, x, y, none);
    spmm_one<float, 4, 8, 4>("spdmm f32", t, 16384, 1, 32, 0, grid, a, x, y, none);
  }
  return 0;
}
