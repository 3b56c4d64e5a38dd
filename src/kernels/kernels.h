// SPDX-License-Identifier: Apache-2.0
/// @file kernels.h
/// The table that a backend fills. A kernel is a loop over memory: no derivative, no policy, no shape check.
///
/// Operands have been checked (by `infer`) when a kernel is called: dtypes agree, core shapes fit, batches broadcast
/// (array_impl.h). Outputs have undefined contents unless said otherwise. The slots are listed and described in
/// kernels.def.
///
/// Precision: `sum` and `dot` accumulate in f64, also for f32 and c64. The other kernels that add up (remap, the
/// products, trisolve, and any kernel over the batch dimensions its output lacks) do so in the dtype's own precision or
/// better; which of them does better differs between backends and shapes, and nothing may rely on it. On one backend
/// every sum has one order: the same bits on any number of threads, in every run.

#ifndef LACUNA_KERNELS_KERNELS_H
#define LACUNA_KERNELS_KERNELS_H

#include "core/array_impl.h"
#include "core/backend.h"
#include "core/fault.h"
#include "kernels/arrays.h"
#include "kernels/columns.h"
#include "core/pattern/format_impl.h"
#include "core/pattern/pattern_impl.h"
#include "kernels/claims.h"
#include "kernels/listed.h"
#include "kernels/survey.h"

/// What `segment` makes of each group of a map. Ties: 1 / n for each of the n extremes of a group, 0 for the others.
typedef enum lac_segment {
  LAC_SEGMENT_LOGSUMEXP,
  LAC_SEGMENT_SOFTMAX,
  LAC_SEGMENT_MAX,
  LAC_SEGMENT_MIN,
  LAC_SEGMENT_MAX_TIES,
  LAC_SEGMENT_MIN_TIES
} lac_segment;

/// A banded matrix: ab[upper + i - j, j] = A[i, j].
typedef struct lac_banded {
  int64_t lower, upper, rows, cols;
} lac_banded;

/// Where an elimination met a pivot that does not do: in which item of the batch and row, and what it was. row < 0:
/// nowhere.
typedef struct lac_pivot_fault {
  int64_t item, row;
  double pivot;  // its real part
} lac_pivot_fault;

typedef struct lac_pairwise_kernels lac_pairwise_kernels;  // kernels/pairwise.h
typedef struct lac_smoothed_kernels lac_smoothed_kernels;  // kernels/smoothed.h
typedef struct lac_grid_kernels lac_grid_kernels;          // kernels/grid.h

/// The type of the kernel in each slot, by which backends declare theirs: lac_kernel_spmm cpu_spmm;
#define LAC_KERNEL(slot, need, parameters) typedef lac_status lac_kernel_##slot parameters;
#include "kernels/kernels.def"
#undef LAC_KERNEL

struct lac_kernels {
#define LAC_KERNEL(slot, need, parameters) lac_kernel_##slot *slot;
#include "kernels/kernels.def"
#undef LAC_KERNEL

  // -- multigrid -----------------------------------------------------------------------------------------------------
  const lac_pairwise_kernels *pairwise;  // optional
  const lac_smoothed_kernels *smoothed;  // optional
  const lac_grid_kernels *grid;          // optional

  const lac_claims *claims;  // what works with these kernels; NULL: everything

  // -- ranks ---------------------------------------------------------------------------------------------------------
  /// All ranks exchange their status before a call that communicates, also those whose tape has failed already, and on
  /// leaving vjp and jvp. If any status is not LAC_OK, a failing rank gets its own back and the others LAC_ERR_REMOTE
  /// with the failing rank's sentence. From then on all ranks know: a tape does not agree again on that failure (until
  /// it is cleared), so that a rank which left early and one which met the news in its next call have agreed equally
  /// often.
  lac_status (*agree)(lac_context *ctx, lac_status mine);  // optional: NULL in one process
};

#endif
