// SPDX-License-Identifier: Apache-2.0
/// @file structured.h
/// The launchers of banded and circulant matrices, by the rules of launch.h.

#ifndef LACUNA_BACKENDS_CUDA_STRUCTURED_STRUCTURED_H
#define LACUNA_BACKENDS_CUDA_STRUCTURED_STRUCTURED_H

#include "backends/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- bands -----------------------------------------------------------------------------------------------------------

/// A banded matrix as it is stored, ab[upper + i - j, j] = A[i, j], and how it is applied.
typedef struct cuda_band {
  int64_t lower, upper, rows, cols;
  int transposed, conj;
} cuda_band;

/// y = op(A) x, x of k columns; the band of u v^H; the band of op(X) op(Y), all of them square. `batch` leads through
/// the two operands.
cudaError_t cuda_launch_banded_mm(cudaStream_t stream, lac_dtype dtype, const cuda_band *band, int64_t k,
                                  const cuda_batch *batch, const void *ab, const void *x, void *y);
cudaError_t cuda_launch_banded_outer(cudaStream_t stream, lac_dtype dtype, const cuda_band *band, int64_t k,
                                     const cuda_batch *batch, const void *u, const void *v, void *s);
cudaError_t cuda_launch_banded_gemm(cudaStream_t stream, lac_dtype dtype, const cuda_band *band, const cuda_band *bx,
                                    const cuda_band *by, const cuda_batch *batch, const void *x, const void *y,
                                    void *t);

/// op(A) x = b for a square band. *fault is the item times n, plus the column without a pivot, of the first item that
/// has one; all ones: none. `scratch` has the bytes that cuda_banded_solve_scratch says.
typedef struct cuda_banded_solve_job {
  lac_dtype dtype;
  cuda_band band;
  int64_t lower, upper;  // of op(A), below n
  int64_t k;
  cuda_batch batch;  // leads through ab and b; x has its items in order
  const void *ab, *b;
  void *x;
  uint64_t *fault;
} cuda_banded_solve_job;

size_t cuda_banded_solve_scratch(const cuda_banded_solve_job *job);
cudaError_t cuda_launch_banded_solve(cudaStream_t stream, const cuda_banded_solve_job *job, void *scratch);

/// The same for three diagonals and two rows or more, a thread to a system.
size_t cuda_tridiagonal_scratch(const cuda_banded_solve_job *job);
cudaError_t cuda_launch_tridiagonal(cudaStream_t stream, const cuda_banded_solve_job *job, void *scratch);

// -- Fourier transforms ----------------------------------------------------------------------------------------------

/// A complex number in double precision, as arrays of c128 have it.
typedef struct cuda_wide {
  double re, im;
} cuda_wide;

enum { CUDA_FFT_PASSES = 64 };

/// Transforms of one length, X_k = sum_j x_j exp(-2 pi i j k / n). Lengths with a prime factor over 13 are convolved
/// with a chirp (Bluestein) by transforms of the length `size`.
typedef struct cuda_fft {
  int64_t n, size;
  int passes;
  int radix[CUDA_FFT_PASSES];
  cuda_wide *roots;   // size: exp(-2 pi i k / size)
  cuda_wide *chirp;   // n: exp(-pi i j^2 / n); not set where size == n
  cuda_wide *kernel;  // size: the transform of the conjugate chirp, over size
} cuda_fft;

/// How a length is transformed; the numbers of its tables, and of the room that `count` transforms need beside x.
cuda_fft cuda_fft_plan(int64_t n);
int64_t cuda_fft_tables(const cuda_fft *fft);
int64_t cuda_fft_room(const cuda_fft *fft, int64_t count);

/// Fill the tables, which lie one behind the other from `tables` on; `room` is that of one transform.
cudaError_t cuda_launch_fft_tables(cudaStream_t stream, cuda_fft *fft, cuda_wide *tables, cuda_wide *room);

/// x [count, n] becomes its transforms.
cudaError_t cuda_launch_fft(cudaStream_t stream, const cuda_fft *fft, int64_t count, cuda_wide *x, cuda_wide *room);

// -- circulants ------------------------------------------------------------------------------------------------------

/// Columns [first, first + count) of arrays [items, n, k]; `batch` leads through both operands.
typedef struct cuda_circulant_part {
  lac_dtype dtype;
  int64_t n, k, first, count;
  cuda_batch batch;
} cuda_circulant_part;

/// y = op(C) x and s[d] = sum of u[i] conj(v[i - d]) by n^2 products a column, for few unknowns.
cudaError_t cuda_launch_circulant_direct(cudaStream_t stream, const cuda_circulant_part *part, int transposed, int conj,
                                         const void *c, const void *x, void *y);
cudaError_t cuda_launch_circulant_direct_outer(cudaStream_t stream, const cuda_circulant_part *part, const void *u,
                                               const void *v, void *s);

/// How many transforms columns take for each item: two columns of reals are one of complex numbers where `paired`.
int64_t cuda_circulant_units(const cuda_circulant_part *part, int paired);

/// The first columns of op(C), [items, n], each with its own.
cudaError_t cuda_launch_circulant_load(cudaStream_t stream, lac_dtype dtype, int64_t n, int64_t items, int transposed,
                                       int conj, const void *c, cuda_wide *to);

/// 1 / c^ of [items, n]; *fault: the first item n + frequency whose number is zero, to the tolerance, relative to the
/// largest of its item; all ones: none.
cudaError_t cuda_launch_circulant_invert(cudaStream_t stream, int64_t n, int64_t items, double tolerance, cuda_wide *c,
                                         uint64_t *fault);

/// Columns to [items, units, n] and back, conjugated and over n. `operand`, 0 or 1, is the one of the batch that x is.
cudaError_t cuda_launch_circulant_gather(cudaStream_t stream, const cuda_circulant_part *part, int operand, int paired,
                                         const void *x, cuda_wide *to);
cudaError_t cuda_launch_circulant_store(cudaStream_t stream, const cuda_circulant_part *part, const cuda_wide *from,
                                        void *y);

/// x = conj(c x) in Fourier space, each with the c of its item.
cudaError_t cuda_launch_circulant_multiply(cudaStream_t stream, const cuda_circulant_part *part, const cuda_wide *c,
                                           cuda_wide *x);

/// sums [items, n] = sum over the columns of u conj(v), added to what is there if `adds`; and that, conjugated and over
/// n after its transform, to s.
cudaError_t cuda_launch_circulant_add(cudaStream_t stream, const cuda_circulant_part *part, int adds,
                                      const cuda_wide *u, const cuda_wide *v, cuda_wide *sums);
cudaError_t cuda_launch_circulant_conj(cudaStream_t stream, int64_t count, cuda_wide *x);
cudaError_t cuda_launch_circulant_sums(cudaStream_t stream, lac_dtype dtype, int64_t n, int64_t items,
                                       const cuda_wide *sums, void *s);

#ifdef __cplusplus
}
#endif
#endif
