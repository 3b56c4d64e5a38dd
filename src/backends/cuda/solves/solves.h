// SPDX-License-Identifier: Apache-2.0
/// @file solves.h
/// The launchers of substitution and elimination on patterns, by the rules of launch.h.
///
/// No kernel can hang: rows are taken up by tickets, in the order of levels, so that a row only waits for rows that
/// were taken up before it by threads that run.

#ifndef LACUNA_BACKENDS_CUDA_SOLVES_SOLVES_H
#define LACUNA_BACKENDS_CUDA_SOLVES_SOLVES_H

#include "backends/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a kernel leaves for the host, and how far it is. All bits are set before the kernel starts.
typedef struct cuda_solve_words {
  uint64_t fault;   // the least of the numbers that name a fault; all ones: none
  uint64_t ticket;  // the last that was taken; all ones: none yet
} cuda_solve_words;

/// The level of each row, whose highest goes to words->highest. Entries of the other triangle and of the diagonal do
/// not count.
typedef struct cuda_level_words {
  uint64_t ticket;  // as in cuda_solve_words
  int32_t highest;  // -1: there are no rows
  int32_t rest;
} cuda_level_words;
cudaError_t cuda_launch_levels(cudaStream_t stream, const cuda_rows *rows, int is_lower, int32_t *level,
                               cuda_level_words *words);

/// op(T) x = b, T triangular and its rows walked as those of op(T).
typedef struct cuda_trisolve_job {
  lac_dtype dtype;
  cuda_rows rows;
  int64_t k;
  int is_lower, is_unit, conj;
  cuda_batch batch;  // leads through a and b; x has its items in order
  const void *a, *b;
  void *x;
  cuda_solve_words *words;  // fault: item of a times rows, plus the row of a zero on the diagonal
} cuda_trisolve_job;

/// By levels: `order` has the rows of `levels` levels. x must not lie where b does.
cudaError_t cuda_launch_trisolve(cudaStream_t stream, const cuda_trisolve_job *job, cuda_index order, int64_t levels);

/// By a scan, for rows that reach no further than `reach` <= CUDA_NARROW from the diagonal. `words` begins the memory
/// whose bytes cuda_narrow_bytes says.
enum { CUDA_NARROW = 4 };
size_t cuda_narrow_bytes(const cuda_trisolve_job *job, int reach);
cudaError_t cuda_launch_trisolve_narrow(cudaStream_t stream, const cuda_trisolve_job *job, int reach);

/// Elimination on a square pattern: rows as they are, `diagonal` the slot on the diagonal of each.
typedef struct cuda_lu_job {
  lac_dtype dtype;
  cuda_rows rows;
  cuda_index diagonal, order;
  cuda_batch batch;  // leads through c, or lu and lu_bar; the output has its items in order
  int *ready;        // for each row of each item; zero before
  cuda_solve_words *words;
} cuda_lu_job;

/// L\U of c. words->fault becomes the item times rows, plus the row whose pivot does not do, of the first row that
/// meets one, and *pivot its real part.
cudaError_t cuda_launch_lu(cudaStream_t stream, const cuda_lu_job *job, int positive, const void *c, void *lu,
                           double *pivot);

/// c_bar from lu and lu_bar; `columns` walks the transpose, and job->order its upper triangle.
cudaError_t cuda_launch_lu_adjoint(cudaStream_t stream, const cuda_lu_job *job, const cuda_rows *columns,
                                   const void *lu, const void *lu_bar, void *c_bar);

/// A list of kernels/listed.h on the device; all other integers have 32 bits.
typedef struct cuda_worklist {
  int warps, levels;
  int is_narrow;  // pairs and tasks are two numbers of 16 bits, else of 32
  const int *first, *heads;
  const void *tasks, *pairs;
} cuda_worklist;

/// Elimination of a by `first`, or substitution by `first` and then `second` with L\U in a.
enum {
  CUDA_LISTED_THREADS = 1024,
  CUDA_LISTED_AHEAD = 4,        // as LAC_LISTED_AHEAD
  CUDA_LISTED_PLAIN = 48 << 10  // bytes that a block may have without asking
};
typedef struct cuda_listed_job {
  int n, entries, threads, conj;
  int64_t nnz, k;
  const int *source, *diagonal, *steps;
  cuda_worklist first, second;
  cuda_batch batch;  // of a substitution: leads through a; x has its items in order
  const void *a, *b;
  void *out;
  double *share;
} cuda_listed_job;

/// `most`: bytes of shared memory that a block may have.
cudaError_t cuda_launch_listed_factor(cudaStream_t stream, lac_dtype dtype, int64_t items, size_t most,
                                      const cuda_listed_job *job);
cudaError_t cuda_launch_listed_solve(cudaStream_t stream, lac_dtype dtype, int64_t items, const cuda_listed_job *job);

#ifdef __cplusplus
}
#endif
#endif
