// SPDX-License-Identifier: Apache-2.0
/// @file launch_arrays.h
/// The launchers of the kernels on arrays, as launch.h has them: raw device pointers, sizes and words.

#ifndef LACUNA_BACKENDS_CUDA_ARRAYS_LAUNCH_ARRAYS_H
#define LACUNA_BACKENDS_CUDA_ARRAYS_LAUNCH_ARRAYS_H

#include "backends/cuda/launch.h"
#include "kernels/arrays.h"
#include "kernels/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- number by number (map.cu, binary.cu, unary.cu, adam.cu) ---------------------------------------------------------

/// An operation on x, z and a factor alpha, number by number.
typedef enum cuda_map {
  CUDA_FILL,   // alpha
  CUDA_COPY,   // x
  CUDA_SCALE,  // alpha x
  CUDA_CONJ,   // conj(x)
  CUDA_AXPY    // alpha x + z
} cuda_map;

/// y_i = map(x at i, z at i) for the indices i of `loop`, whose first two operands are x and z; either may be y itself.
cudaError_t cuda_launch_map(cudaStream_t stream, lac_dtype dtype, cuda_map map, const double alpha[2],
                            const lac_loop *loop, const void *x, const void *z, void *y);

/// z_i = x at i op y at i, likewise.
cudaError_t cuda_launch_binary(cudaStream_t stream, lac_dtype dtype, lac_binary op, const lac_loop *loop, const void *x,
                               const void *y, void *z);

/// z_i = x at i where c at i is not zero, else y at i: operands c, x, y. NULL stands for zeros.
cudaError_t cuda_launch_where(cudaStream_t stream, lac_dtype dtype, const lac_loop *loop, const void *c, const void *x,
                              const void *y, void *z);

/// y = op(x), of reals where the values of op are real; y = x^exponent; y = x, moved into [low, high].
cudaError_t cuda_launch_unary(cudaStream_t stream, lac_dtype dtype, lac_unary op, int64_t count, const void *x,
                              void *y);
cudaError_t cuda_launch_power(cudaStream_t stream, lac_dtype dtype, double exponent, int64_t count, const void *x,
                              void *y);
cudaError_t cuda_launch_clamp(cudaStream_t stream, lac_dtype dtype, double low, double high, int64_t count,
                              const void *x, void *y);

/// y = x in another dtype.
cudaError_t cuda_launch_cast(cudaStream_t stream, lac_dtype from, lac_dtype to, int64_t count, const void *x, void *y);

/// y = 1 / x; *first (on the device) is the first place where that is not finite, or all ones.
cudaError_t cuda_launch_reciprocal(cudaStream_t stream, lac_dtype dtype, int64_t count, const void *x, void *y,
                                   uint64_t *first);

/// A step of Adam on `count` reals; g may be NULL.
cudaError_t cuda_launch_adam(cudaStream_t stream, int is_single, const lac_adam *a, int64_t count, const void *g,
                             void *m, void *v, void *x);

// -- reductions (reduce.cu, states.cu, softmax.cu, cumsum.cu) --------------------------------------------------------

/// out_j = sum of x over `summed`, or of conj(x) y when y is given, for the indices j of `kept`, in f64. `scratch` has
/// the bytes that cuda_reduce_scratch says (0: it may be NULL).
size_t cuda_reduce_scratch(lac_dtype dtype, const cuda_batch *axes);
cudaError_t cuda_launch_reduce(cudaStream_t stream, lac_dtype dtype, const cuda_batch *axes, const void *x,
                               const void *y, void *scratch, void *out);

/// y_j = op over `summed`, real; or, with `states`, one state for each j (kernels/states.h) in place of y_j. `scratch`
/// has the bytes that cuda_states_scratch says (0: it may be NULL).
size_t cuda_states_scratch(const cuda_batch *axes);
cudaError_t cuda_launch_states(cudaStream_t stream, lac_dtype dtype, lac_reduction op, const cuda_batch *axes,
                               const void *x, void *scratch, void *y, void *states);

/// The softmax of each row of x [rows, n]; n is at most cuda_softmax_longest.
int64_t cuda_softmax_longest(lac_dtype dtype);
cudaError_t cuda_launch_softmax_rows(cudaStream_t stream, lac_dtype dtype, int64_t rows, int64_t n, const void *x,
                                     void *y);

/// y_i = exp(x_i - most) / total with the state of i, which the second operand of `loop` leads to.
cudaError_t cuda_launch_softmax(cudaStream_t stream, lac_dtype dtype, const lac_loop *loop, const void *x,
                                const void *states, void *y);

/// Running sums of x [outer, n, inner] along n. `scratch` has the bytes that cuda_cumsum_scratch says (0: it may be
/// NULL).
size_t cuda_cumsum_scratch(lac_dtype dtype, int64_t outer, int64_t n, int64_t inner);
cudaError_t cuda_launch_cumsum(cudaStream_t stream, lac_dtype dtype, int64_t outer, int64_t n, int64_t inner,
                               int backwards, const void *x, void *scratch, void *y);

// -- products and movement (matmul.cu, place.cu) ---------------------------------------------------------------------

/// Z = op(X) op(Y) of m x l and l x n: where the numbers of X and Y stand. X[i, k] is x[i * x_row + k * x_col].
typedef struct cuda_matmul_job {
  int64_t m, l, n;
  int64_t x_row, x_col, y_row, y_col;
  int conj_x, conj_y;
} cuda_matmul_job;

/// z[b] = the sum over `summed` of op(X) op(Y); `batch` leads through x and y. `scratch` has the bytes that
/// cuda_matmul_scratch says (0: it may be NULL).
size_t cuda_matmul_scratch(lac_dtype dtype, const cuda_matmul_job *job, const cuda_batch *batch);
cudaError_t cuda_launch_matmul(cudaStream_t stream, lac_dtype dtype, const cuda_matmul_job *job,
                               const cuda_batch *batch, const void *x, const void *y, void *scratch, void *z);

/// y at i = x at i for the indices of `axes`, numbers of `bytes` bytes: 4, 8 or 16.
cudaError_t cuda_launch_place(cudaStream_t stream, size_t bytes, const cuda_axes *axes, const void *x, void *y);

#ifdef __cplusplus
}
#endif
#endif
