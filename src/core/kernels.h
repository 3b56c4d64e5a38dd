// SPDX-License-Identifier: Apache-2.0
/// @file kernels.h
/// The table that a backend fills. A kernel is a loop over memory: no derivative, no policy, no shape check.
///
/// Operands have been checked (by `infer`) when a kernel is called: dtypes agree, core shapes fit, batches broadcast
/// (array_impl.h). Outputs have undefined contents unless said otherwise. Slots marked optional may be NULL; what uses
/// them answers LAC_ERR_UNSUPPORTED with the backend's name.
///
/// Precision: `sum` and `dot` accumulate in f64, also for f32 and c64. The other kernels that add up (remap, the products,
/// trisolve, and any kernel over the batch dimensions its output lacks) do so in the dtype's own precision or better; which
/// of them does better differs between backends and shapes, and nothing may rely on it. On one backend every sum has one
/// order: the same bits on any number of threads, in every run.

#ifndef LACUNA_CORE_KERNELS_H
#define LACUNA_CORE_KERNELS_H

#include "core/array_impl.h"
#include "core/format_impl.h"
#include "core/pattern_impl.h"

typedef enum lac_binary { LAC_ADD, LAC_SUB, LAC_MUL } lac_binary;

struct lac_kernels {
  const char *name;  // "cpu", "cuda"

  // -- the door ------------------------------------------------------------------------------------------------------
  lac_status (*open)(lac_context *ctx,
                     int device);  // sets space, backend_data, threads; finds the device or says why not
  void (*close)(lac_context *ctx);
  lac_status (*synchronize)(lac_context *ctx);

  // -- bytes ---------------------------------------------------------------------------------------------------------
  lac_status (*upload)(lac_context *ctx, void *to, const void *from_host, size_t bytes);    // done on return
  lac_status (*download)(lac_context *ctx, void *to_host, const void *from, size_t bytes);  // done on return
  lac_status (*copy)(lac_context *ctx, const lac_array *from, lac_array *to);               // same count

  // -- arrays --------------------------------------------------------------------------------------------------------
  lac_status (*fill)(lac_context *ctx, lac_array *x, double real, double imag);
  /// z = x op y, all dimensions broadcast, z has the joint shape
  lac_status (*binary)(lac_context *ctx, lac_binary op, const lac_array *x, const lac_array *y, lac_array *z);
  /// y = alpha x (the imaginary part is ignored for real dtypes)
  lac_status (*scale)(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y);
  /// y += alpha x, same shape, in place
  lac_status (*axpy)(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y);
  lac_status (*conj)(lac_context *ctx, const lac_array *x, lac_array *y);
  /// y = sum of x over the axes of `mask`, where bit i is axis ndim-1-i of x; y's count is the product of the other axes.
  /// Accumulates in f64.
  lac_status (*sum)(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y);
  /// y = x spread over the axes of `mask` (bit i is axis ndim-1-i of y): the adjoint of sum
  lac_status (*broadcast)(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y);
  /// s = sum over the last two axes of conj(x) y, for each of the batch; accumulates in f64
  lac_status (*dot)(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array *s);

  // -- structure -----------------------------------------------------------------------------------------------------
  /// y[*batch, outputs] = M x (LAC_N) or y[*batch, inputs] = M^T x' (LAC_T)
  lac_status (*remap)(lac_context *ctx, const lac_map *map, lac_side side, const lac_array *x, lac_array *y);

  // -- products ------------------------------------------------------------------------------------------------------
  /// y[*,m,k] = op(A) x[*,n,k]; y sums over batch dimensions it does not have
  lac_status (*spmm)(lac_context *ctx, const lac_pattern *p, lac_side side, const lac_array *a, const lac_array *x,
                     lac_array *y);
  /// s_z = sum_k u[row z, k] conj(v[col z, k]); s sums over batch dimensions it does not have
  lac_status (*sddmm)(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v, lac_array *s);
  /// The same two for a pattern with blocks: values are [*,nnz,br,bc]
  lac_status (*block_spmm)(lac_context *ctx, const lac_pattern *p, lac_side side, const lac_array *a,
                           const lac_array *x, lac_array *y);  // optional
  lac_status (*block_sddmm)(lac_context *ctx, const lac_pattern *p, const lac_array *u, const lac_array *v,
                            lac_array *s);  // optional
  /// y[*,m,k] = A x[*,n,k] with A in sliced ELL; padding is not read
  lac_status (*sell_mm)(lac_context *ctx, const lac_format *f, const lac_array *a, const lac_array *x,
                        lac_array *y);  // optional
  /// t = op(X) op(Y) where `target` has entries
  lac_status (*sampled_spgemm)(lac_context *ctx, const lac_pattern *target, const lac_pattern *px, lac_side sx,
                               const lac_pattern *py, lac_side sy, const lac_array *x, const lac_array *y,
                               lac_array *t);  // optional

  // -- solves --------------------------------------------------------------------------------------------------------
  /// op(T) x = b, T triangular in structure; LAC_UNIT: no diagonal stored. LAC_ERR_SINGULAR names a zero on the diagonal.
  lac_status (*trisolve)(lac_context *ctx, const lac_pattern *p, lac_triangle triangle, lac_diagonal diagonal,
                         lac_side side, const lac_array *a, const lac_array *b, lac_array *x);  // optional

  // -- ranks ---------------------------------------------------------------------------------------------------------
  /// All ranks exchange their status before a call that communicates, also those whose tape has failed already, and on leaving
  /// vjp and jvp. If any status is not LAC_OK, a failing rank gets its own back and the others LAC_ERR_REMOTE with the failing
  /// rank's sentence. From then on all ranks know: a tape does not agree again on that failure (until it is cleared), so
  /// that a rank which left early and one which met the news in its next call have agreed equally often.
  lac_status (*agree)(lac_context *ctx, lac_status mine);  // optional: NULL in one process
};

/// The table of a backend by name, or NULL when it is not built in (backends/backends.def).
const lac_kernels *lac_kernels_find(const char *backend);

#endif
