// SPDX-License-Identifier: Apache-2.0
/// @file products.h
/// The launchers of products, as launch.h has those of the rest.

#ifndef LACUNA_BACKENDS_CUDA_PRODUCTS_PRODUCTS_H
#define LACUNA_BACKENDS_CUDA_PRODUCTS_PRODUCTS_H

#include "backends/cuda/launch.h"
#include "backends/cuda/lines.h"

#ifdef __cplusplus
extern "C" {
#endif

/// op(A) as kernels walk it: its rows, how long they are, and whether its values are conjugated.
typedef struct cuda_matrix {
  cuda_rows rows;
  cuda_lengths lengths;
  int conj;
} cuda_matrix;

/// How far the rows of a matrix reach: the median, over rows at equal distances, of how far the entry of a row that is
/// furthest from the diagonal is from it.
cudaError_t cuda_launch_stride(cudaStream_t stream, const cuda_rows *rows, int64_t *stride);

/// y[b, i] = sum over entries p of row i, and over `summed`, of a[slot p] x[column p]. `batch` leads through the
/// operands a and x. `scratch` has the bytes that cuda_spmv_scratch says (0: it may be NULL).
size_t cuda_spmv_scratch(lac_dtype dtype, const cuda_matrix *m, int64_t items);
cudaError_t cuda_launch_spmv(cudaStream_t stream, lac_dtype dtype, const cuda_matrix *m, const cuda_batch *batch,
                             const void *a, const void *x, void *scratch, void *y);

/// The same for k columns: x[column p, :], y[b, i, :].
size_t cuda_spmm_scratch(lac_dtype dtype, const cuda_matrix *m, int64_t items, int64_t k);
cudaError_t cuda_launch_spmm(cudaStream_t stream, lac_dtype dtype, const cuda_matrix *m, const cuda_batch *batch,
                             int64_t k, const void *a, const void *x, void *scratch, void *y);

/// s[b, z] = sum over columns c, and over `summed`, of u[row z, c] conj(v[column z, c]). `batch` leads through u and v.
/// rows_of has the row of each slot.
cudaError_t cuda_launch_sddmm(cudaStream_t stream, lac_dtype dtype, const cuda_matrix *m, cuda_index rows_of,
                              const cuda_batch *batch, int64_t k, const void *u, const void *v, void *s);

/// The rows and columns of a block as a product reads it; turned: it is stored as its transpose.
typedef struct cuda_block {
  int64_t br, bc;
  int turned;
} cuda_block;

/// Both with blocks: y[b, i br + r, :] and s[b, z, r, c].
cudaError_t cuda_launch_block_spmm(cudaStream_t stream, lac_dtype dtype, const cuda_matrix *m, cuda_block block,
                                   const cuda_batch *batch, int64_t k, const void *a, const void *x, void *y);
cudaError_t cuda_launch_block_sddmm(cudaStream_t stream, lac_dtype dtype, int64_t slots, cuda_index rows_of,
                                    cuda_index columns, cuda_block block, const cuda_batch *batch, int64_t k,
                                    const void *u, const void *v, void *s);

/// Sliced ELL: entry j of lane l of slice s is number offsets[s] + j width + l; a column below 0 is padding, behind
/// which a lane has nothing. rows_of without data: lane l of slice s is row s width + l.
typedef struct cuda_sell {
  int64_t rows, width, slices;
  cuda_index offsets, columns, rows_of;
} cuda_sell;

/// y[b, i, :] = sum over the entries of row i of a x[column, :].
cudaError_t cuda_launch_sell_mm(cudaStream_t stream, lac_dtype dtype, const cuda_sell *f, const cuda_batch *batch,
                                int64_t k, const void *a, const void *x, void *y);

/// t[b, z] = sum over l, and over `summed`, of X[row z, l] Y^T[column z, l]: both factors are walked by rows, columns
/// ascending. Bit 0 of `conj` conjugates X, bit 1 Y. `batch` leads through the values x and y.
cudaError_t cuda_launch_sampled(cudaStream_t stream, lac_dtype dtype, int64_t slots, cuda_index rows_of,
                                cuda_index columns, const cuda_rows *left, const cuda_rows *right_t, int conj,
                                const cuda_batch *batch, const void *x, const void *y, void *t);

/// The same by rows, where nothing is summed over a batch: `right` has the rows of Y.
typedef struct cuda_sampled_rows {
  cuda_rows target, left, right;
  cuda_axes items;
  int conj;
} cuda_sampled_rows;
cudaError_t cuda_launch_sampled_rows(cudaStream_t stream, lac_dtype dtype, const cuda_sampled_rows *job, const void *x,
                                     const void *y, void *t);

#ifdef __cplusplus
}
#endif
#endif
