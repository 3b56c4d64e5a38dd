// SPDX-License-Identifier: Apache-2.0
/// @file method.h
/// The table that a direct method fills: one matrix in host memory, without a context.
///
/// A method knows nothing of batches, arrays or devices; what makes a kind of solver of it is direct/direct.c. An
/// analysis depends on structure and ordering alone and is shared; a numeric belongs to one matrix.

#ifndef LACUNA_SOLVERS_DIRECT_METHOD_METHOD_H
#define LACUNA_SOLVERS_DIRECT_METHOD_METHOD_H

#include "core/array_impl.h"
#include "core/stop.h"
#include "lacuna/solver.h"
#include "solvers/direct/order/structure.h"

/// The error of one matrix of a batch. Matrices are worked on by many threads, none of which may use the context.
typedef struct lac_fault {
  char text[400];
  bool lacks_room;  // more memory is foreseen to be needed than there is, and nothing was begun
} lac_fault;

/// What a method says of one factored matrix, or foresees.
typedef struct lac_finding {
  const char *ordering;  // that was taken; NULL: the one that was asked for
  bool is_guess;         // the values may come to other figures
  int64_t nnz, bytes;    // of the factor
  int64_t work_bytes;    // that factoring takes besides, at its peak, in one thread
  double flops;
  double smallest;  // the smallest pivot, relative to the largest number that its row or column came with
  int64_t where;    // the row or column of that pivot
  int64_t item;     // the matrix of the batch that it is in
  int64_t
      perturbed;   // pivots that were too small and were enlarged: solves must refine, logdet and inverse are refused
  double growth;   // the largest number of the factor over the largest of the (scaled) matrix; 0: not measured
  double weakest;  // the smallest pivot relative to the largest number that its column came to; 0: not measured
  double apart;    // the smallest over the largest of what is the largest number in each column; 0: not measured
  bool is_rough;   // it grew for want of pivots that a safer method takes: logdet and inverse are refused
} lac_finding;

/// Pivots relative to the numbers around them: where those grew, so did what is left of a pivot that should be zero. As
/// the method measured it in each column, or by the growth of all.
static inline double lac_finding_weakest(const lac_finding *finding) {
  double growth = finding->growth > 1 ? finding->growth : 1;
  return finding->weakest > 0 ? finding->weakest : finding->smallest / growth;
}

enum { LAC_BLOCK_WIDTH = 16 };

/// One matrix to factor. Its values are finite, and Hermitian where the method needs it; they outlive the numeric,
/// which may point to them.
typedef struct lac_direct_job {
  const lac_structure *structure;
  const void *part;  // of the method's analysis
  const lac_solver_options *options;
  lac_dtype dtype;
  const void *values;
  const void *like;  // a numeric of the same method and pattern whose matching, scaling and pivots are taken over, and
                     // probed: LAC_ERR_CONVERGENCE where they do not suit; or NULL
  const void *near;  // the first numeric of the same batch, whose choices may be taken where they suit; or NULL
  int threads;       // that the method may use
  lac_stop *stop;    // looked at between pieces of the work; or NULL
} lac_direct_job;

/// det = sign exp(logabs), for complex matrices sign is the phase: sign_re + i sign_im.
typedef struct lac_polar {
  double logabs, sign_re, sign_im;
} lac_polar;

typedef struct lac_direct_table {
  const char *name;
  bool needs_hermitian;  // it takes Hermitian matrices alone
  bool is_foreign;       // an engine's: what it cannot do, the built-in choice does
  bool (*is_stable)(
      const lac_solver_options *options);  // its pivots are chosen, and where numbers grow much for want of
                                           // better ones it gives up: verdicts of solves may be mild
  lac_status (*analyse)(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, void **part,
                        int64_t *bytes);
  void (*forget)(void *part);  // accepts NULL

  /// What a factor of one matrix will be, as far as it follows from the analysis: ordering, nnz, bytes, work_bytes,
  /// flops. Where the values decide: NULL, or an nnz of -1.
  void (*foresee)(const void *part, lac_dtype dtype, lac_finding *finding);

  /// Factor one matrix. On failure the fault has a text.
  lac_status (*factor)(const lac_direct_job *job, void **numeric, lac_fault *fault);

  /// x = A^-1 b (LAC_PLAIN) or A^-T b (LAC_TRANSPOSED) for a block of n rows and `width` columns, 1 <= width <=
  /// LAC_BLOCK_WIDTH. `work` is another such block; none may overlap. What needs no more memory than that cannot fail;
  /// on failure the fault has a text.
  lac_status (*solve)(const void *part, const void *numeric, lac_form form, int width, int threads, const void *b,
                      void *x, void *work, lac_fault *fault);

  /// The determinant, both permutations and all scalings counted (determinant.h). Never asked of a perturbed factor.
  /// Fails with LAC_ERR_MEMORY alone. Optional.
  lac_status (*logdet)(const void *part, const void *numeric, lac_polar *out);

  /// A^-T on the pattern of A: values[slot of (i, j)] = (A^-1)(j, i). Never asked of a perturbed factor. `stop` is that
  /// of a job. Optional.
  lac_status (*selected_inverse)(const lac_structure *structure, const void *part, const void *numeric, int threads,
                                 lac_stop *stop, void *values, lac_fault *fault);

  void (*report)(const void *part, const void *numeric, lac_finding *finding);
  void (*destroy)(void *numeric);  // accepts NULL
} lac_direct_table;

#define LAC_DIRECT(name, flags) extern const lac_direct_table lac_direct_##name;
#include "solvers/direct/direct.def"
#undef LAC_DIRECT

/// Refuse, before it begins, a factorisation of `items` matrices, so many of them at once, that is foreseen to take
/// more memory than there is: LAC_ERR_MEMORY, and the fault has a text. What is unknown or a guess passes.
lac_status lac_foresee_check(const lac_direct_table *table, const lac_solver_options *options, lac_dtype dtype,
                             int64_t items, int64_t at_once, const lac_finding *one, lac_fault *fault);

/// Add a sentence to a warning where a factor of one matrix has very many entries.
void lac_foresee_warn(const lac_structure *structure, const lac_direct_table *table, lac_dtype dtype,
                      const lac_finding *finding, char *warning, size_t size);

/// How work on the matrices of a batch ended: where it failed, the first task to do so and why.
typedef struct lac_trial {
  lac_status status;
  int64_t task;
  lac_fault fault;
} lac_trial;

/// One task of many, by thread number `thread`; where it fails the fault has a text.
typedef lac_status (*lac_task)(const void *job, int64_t task, int thread, lac_fault *fault);

/// End interrupted work: LAC_ERR_INTERRUPTED. It is not LAC_ERR_CONVERGENCE, on which another method would be tried.
lac_status lac_fault_interrupted(lac_fault *fault);

/// BLAS may not be called, for want of memory of its own (core/blas.h): LAC_ERR_MEMORY.
lac_status lac_fault_blas(lac_fault *fault);

/// Tasks first .. count - 1, shared out among threads. All of them are run, until `stop` (or NULL) says that they shall
/// end; of those that fail the first one is reported, on any number of threads. `task` is `count` where all succeeded.
lac_trial lac_tasks_run(int threads, lac_stop *stop, int64_t first, int64_t count, lac_task task, const void *job);

#endif
