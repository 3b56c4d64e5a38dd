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

#ifndef LACUNA_KERNELS_KERNELS_H
#define LACUNA_KERNELS_KERNELS_H

#include "core/array_impl.h"
#include "core/backend.h"
#include "kernels/columns.h"
#include "core/pattern/format_impl.h"
#include "core/pattern/pattern_impl.h"
#include "kernels/survey.h"

/// What `binary` computes. A backend has the first three; what it does not have, it answers with LAC_ERR_UNSUPPORTED.
/// Comparisons give 1 or 0 in the operands' dtype, in the order of lac_relation (ops.h); complex numbers are only equal or not.
typedef enum lac_binary {
  LAC_ADD,
  LAC_SUB,
  LAC_MUL,
  LAC_DIV,
  LAC_DIV_OR_ZERO,  // x / y, and 0 where y is 0
  LAC_POW,
  LAC_COMPARE_EQ,
  LAC_COMPARE_NE,
  LAC_COMPARE_LT,
  LAC_COMPARE_LE,
  LAC_COMPARE_GT,
  LAC_COMPARE_GE
} lac_binary;

/// What `unary` computes. The first four give reals also of complex numbers; those behind LAC_TANH take reals alone.
typedef enum lac_unary {
  LAC_ABS,
  LAC_REAL,
  LAC_IMAG,
  LAC_MAGNITUDE,  // the power of two at or below |x|, and 1 where x is 0
  LAC_SIGN,       // x / |x|, and 0 where x is 0
  LAC_EXP,
  LAC_LOG,
  LAC_SQRT,
  LAC_SIN,
  LAC_COS,
  LAC_SIGMOID,
  LAC_TANH,
  LAC_EXPM1,
  LAC_LOG1P,
  LAC_SOFTPLUS,
  LAC_RELU,
  LAC_HEAVISIDE
} lac_unary;

/// What `reduce` computes. Norms are real, also of complex numbers; the others take reals alone. A NaN is the largest and the
/// smallest. Over nothing the norm is 0 and log(sum(exp)) is -inf; max and min are not asked for.
typedef enum lac_reduction { LAC_REDUCE_MAX, LAC_REDUCE_MIN, LAC_REDUCE_NORM, LAC_REDUCE_LOGSUMEXP } lac_reduction;

/// Places along an axis: begin, begin + step, ...
typedef struct lac_along {
  int64_t begin, step;
} lac_along;

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

/// Where an elimination met a pivot that does not do: in which item of the batch and row, and what it was. row < 0: nowhere.
typedef struct lac_pivot_fault {
  int64_t item, row;
  double pivot;  // its real part
} lac_pivot_fault;

/// The numbers of one step of Adam, as the kernel uses them.
typedef struct lac_adam {
  double beta1, beta2, epsilon;
  double step;    // the rate over 1 - beta1^t
  double root;    // 1 over the root of 1 - beta2^t
  double decay;   // times x, added to the gradient
  double shrink;  // factor of x
} lac_adam;

typedef struct lac_smoothed_kernels lac_smoothed_kernels;    // kernels/smoothed.h
typedef struct lac_multigrid_kernels lac_multigrid_kernels;  // kernels/pairwise.h

struct lac_kernels {
  // -- arrays --------------------------------------------------------------------------------------------------------
  /// z = x op y, all dimensions broadcast, z has the joint shape
  lac_status (*binary)(lac_context *ctx, lac_binary op, const lac_array *x, const lac_array *y, lac_array *z);
  /// y = alpha x (the imaginary part is ignored for real dtypes)
  lac_status (*scale)(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y);
  /// y += alpha x, same shape, in place
  lac_status (*axpy)(lac_context *ctx, double real, double imag, const lac_array *x, lac_array *y);
  lac_status (*conj)(lac_context *ctx, const lac_array *x, lac_array *y);
  /// y = op(x), same shape
  lac_status (*unary)(lac_context *ctx, lac_unary op, const lac_array *x, lac_array *y);  // optional
  /// y = x^exponent, a frozen one; 0^0 = 1
  lac_status (*power)(lac_context *ctx, double exponent, const lac_array *x, lac_array *y);  // optional
  /// y = x, moved into [low, high]; NaN stays. Reals alone.
  lac_status (*clamp)(lac_context *ctx, double low, double high, const lac_array *x, lac_array *y);  // optional
  /// y = x in y's dtype, same shape; never from complex to real
  lac_status (*cast)(lac_context *ctx, const lac_array *x, lac_array *y);  // optional
  /// z = x where c is not zero, else y; all dimensions broadcast. An x or y that is NULL stands for exact zeros.
  lac_status (*where)(lac_context *ctx, const lac_array *c, const lac_array *x, const lac_array *y,
                      lac_array *z);  // optional
  /// y = sum of x over the axes of `mask`, where bit i is axis ndim-1-i of x; y's count is the product of the other axes.
  /// Accumulates in f64.
  lac_status (*sum)(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y);
  /// y = op over the axes of `mask`, as in sum
  lac_status (*reduce)(lac_context *ctx, lac_reduction op, const lac_array *x, uint32_t mask,
                       lac_array *y);  // optional
  /// y = exp(x) / sum(exp(x)), the sum over the axes of `mask`; 0 where all x are -inf. Reals alone.
  lac_status (*softmax)(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y);  // optional
  /// y = running sums of x along an axis (counted from the end), from its last place on if `backwards`
  lac_status (*cumsum)(lac_context *ctx, int axis, bool backwards, const lac_array *x, lac_array *y);  // optional
  /// y = x spread over the axes of `mask` (bit i is axis ndim-1-i of y): the adjoint of sum
  lac_status (*broadcast)(lac_context *ctx, const lac_array *x, uint32_t mask, lac_array *y);
  /// s = sum over the last two axes of conj(x) y, for each of the batch; accumulates in f64
  lac_status (*dot)(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array *s);
  /// z[*,m,n] = op(X) op(Y), dense; z sums over batch dimensions it does not have
  lac_status (*matmul)(lac_context *ctx, lac_side side_x, const lac_array *x, lac_side side_y, const lac_array *y,
                       lac_array *z);  // optional
  /// `count` places of an axis (counted from the end) of x go to places of that axis of y; the rest of y is left as it is.
  /// Dimensions before the axis broadcast to those of y.
  lac_status (*place)(lac_context *ctx, int axis, int64_t count, const lac_array *x, lac_along from, lac_array *y,
                      lac_along to);  // optional

  // -- structure -----------------------------------------------------------------------------------------------------
  /// y[*batch, outputs, *rest] = M x (LAC_N) or y[*batch, inputs, *rest] = M^T x' (LAC_T); `rest` axes travel along
  lac_status (*remap)(lac_context *ctx, const lac_map *map, lac_side side, int rest, const lac_array *x, lac_array *y);

  // -- what values are -----------------------------------------------------------------------------------------------
  /// 128 bits of the values' bits (hash.h): equal hashes mean equal values
  lac_status (*hash)(lac_context *ctx, const lac_array *values, uint64_t out[2]);
  /// Values [items, nnz] in one pass (survey.h), with a closer look at dominance if asked; `largest` is NULL or gets the largest size in
  /// each matrix that is square. Both are on the host.
  lac_status (*survey)(lac_context *ctx, const lac_pattern *p, const lac_array *values, bool is_closer, double *largest,
                       lac_survey *out);  // optional

  // -- groups of a map -----------------------------------------------------------------------------------------------
  /// y[*,p] = d[*,q] along the map, times a[*,p]; y sums over batch dimensions it does not have
  lac_status (*segment_scale)(lac_context *ctx, const lac_map *map, const lac_array *d, const lac_array *a,
                              lac_array *y);  // optional
  /// s[*,q] = sum of u conj(v) over the sources; s sums over batch dimensions it does not have
  lac_status (*segment_dot)(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v,
                            lac_array *s);  // optional
  /// Reals: y is [*,q] or, for softmax and ties, [*,p]. Groups have `full` numbers, zeros where there is no source; full = 0: none
  lac_status (*segment)(lac_context *ctx, lac_segment what, const lac_map *map, int64_t full, const lac_array *x,
                        lac_array *y);  // optional
  /// y[*,i,:] = a[*,i,:] op(b[*,target i,:,:]); y sums over batch dimensions it does not have
  lac_status (*gather_mm)(lac_context *ctx, const lac_map *map, lac_side side, const lac_array *a, const lac_array *b,
                          lac_array *y);  // optional
  /// w[*,j,:,:] = sum of conj(u[*,i,:])^T v[*,i,:] over the sources i of j; w sums over batch dimensions it does not have
  lac_status (*gather_outer)(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v,
                             lac_array *w);  // optional

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

  /// L\U of c on a square pattern with a full diagonal, without pivoting. A pivot that is zero and divided by, or with `positive`
  /// one whose real part is not positive, is told in *fault: of the first such item, the first such row.
  lac_status (*lu_values)(lac_context *ctx, const lac_pattern *p, bool positive, const lac_array *c, lac_array *lu,
                          lac_pivot_fault *fault);  // optional
  /// c_bar = J^H lu_bar, J the derivative of lu_values in c at its result lu; c_bar has the joint batch
  lac_status (*lu_values_adjoint)(lac_context *ctx, const lac_pattern *p, const lac_array *lu, const lac_array *lu_bar,
                                  lac_array *c_bar);  // optional

  // -- structured matrices -------------------------------------------------------------------------------------------
  /// y[*,m,k] = op(A) x[*,n,k]; y sums over batch dimensions it does not have
  lac_status (*banded_mm)(lac_context *ctx, const lac_banded *band, lac_side side, const lac_array *ab,
                          const lac_array *x, lac_array *y);  // optional
  /// the band of u v^H, zero in the corners; s sums over batch dimensions it does not have
  lac_status (*banded_outer)(lac_context *ctx, const lac_banded *band, const lac_array *u, const lac_array *v,
                             lac_array *s);  // optional
  /// the band t of op(X) op(Y), all square, zero in the corners; it sums over batch dimensions it does not have
  lac_status (*banded_gemm)(lac_context *ctx, const lac_banded *band, const lac_banded *bx, lac_side sx,
                            const lac_banded *by, lac_side sy, const lac_array *x, const lac_array *y,
                            lac_array *t);  // optional
  /// op(A) x = b, pivoted. LAC_ERR_SINGULAR names the column without a pivot.
  lac_status (*banded_solve)(lac_context *ctx, const lac_banded *band, lac_side side, const lac_array *ab,
                             const lac_array *b, lac_array *x);  // optional
  /// y = op(C) x, C[i,j] = c[(i - j) mod n]
  lac_status (*circulant_mm)(lac_context *ctx, lac_side side, const lac_array *c, const lac_array *x,
                             lac_array *y);  // optional
  /// s[d] = sum over i and k of u[i,k] conj(v[(i - d) mod n,k])
  lac_status (*circulant_outer)(lac_context *ctx, const lac_array *u, const lac_array *v, lac_array *s);  // optional
  /// op(C) x = b. LAC_ERR_SINGULAR names an eigenvalue that is zero to rounding.
  lac_status (*circulant_solve)(lac_context *ctx, lac_side side, const lac_array *c, const lac_array *b,
                                lac_array *x);  // optional

  // -- columns (columns.h) -------------------------------------------------------------------------------------------
  /// Operations one after the other on vectors [items, n, k] of one shape, with the coefficients of a state [slots, items, k]
  lac_status (*columns)(lac_context *ctx, int count, const lac_column_op *ops,
                        lac_array *state);  // optional: composed in solvers/krylov/compose.c
  lac_status (*column_step)(lac_context *ctx, lac_column_step step, const lac_step_numbers *numbers,
                            lac_array *state);  // optional: the same
  /// Around what an iteration starts, whose shapes and memory are those of the one before: a device may record it once
  lac_status (*step_begin)(lac_context *ctx);  // optional
  lac_status (*step_end)(lac_context *ctx);    // optional

  // -- optimisers ----------------------------------------------------------------------------------------------------
  /// g += decay x, m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, x = shrink x - step m / (root sqrt(v) + epsilon) on
  /// every real number (the parts of complex ones are two); all of one dtype and count, g itself is only read, and NULL is zero
  lac_status (*adam)(lac_context *ctx, const lac_adam *a, const lac_array *g, lac_array *m, lac_array *v,
                     lac_array *x);  // optional

  // -- multigrid -----------------------------------------------------------------------------------------------------
  const lac_smoothed_kernels *smoothed;    // optional: smoothed aggregation
  const lac_multigrid_kernels *multigrid;  // optional

  // -- ranks ---------------------------------------------------------------------------------------------------------
  /// All ranks exchange their status before a call that communicates, also those whose tape has failed already, and on leaving
  /// vjp and jvp. If any status is not LAC_OK, a failing rank gets its own back and the others LAC_ERR_REMOTE with the failing
  /// rank's sentence. From then on all ranks know: a tape does not agree again on that failure (until it is cleared), so
  /// that a rank which left early and one which met the news in its next call have agreed equally often.
  lac_status (*agree)(lac_context *ctx, lac_status mine);  // optional: NULL in one process
};

#endif
