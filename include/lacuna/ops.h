// SPDX-License-Identifier: Apache-2.0
/// @file ops.h
/// The operators, one prototype each. Equations and rules stand at the head of each operator's room, src/ops/<name>.c.
///
/// All take vars of one tape and return a var; all are differentiable to any order in all their vars unless said. Leading
/// dimensions are batch and broadcast (aligned at the right, equal or 1). Dense operands carry their columns: a vector is (n, 1).
/// Errors stick to the tape: LAC_ERR_SHAPE, LAC_ERR_DTYPE, LAC_ERR_MEMORY everywhere, others as said.
///
/// Each pattern, map, solver or factor comes first and its values right behind it, then the other vars, then numbers, axes, `op` and
/// options, in the order in which the Python functions have them; several results come in a list at the end.

#ifndef LACUNA_OPS_H
#define LACUNA_OPS_H

#include "lacuna/format.h"
#include "lacuna/solver.h"
#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- arrays, number by number ----------------------------------------------------------------------------------------

LAC_API lac_var lac_add(lac_tape *tape, lac_var x, lac_var y);                   ///< x + y
LAC_API lac_var lac_sub(lac_tape *tape, lac_var x, lac_var y);                   ///< x - y
LAC_API lac_var lac_mul(lac_tape *tape, lac_var x, lac_var y);                   ///< x * y, number by number
LAC_API lac_var lac_div(lac_tape *tape, lac_var x, lac_var y);                   ///< x / y
LAC_API lac_var lac_neg(lac_tape *tape, lac_var x);                              ///< -x
LAC_API lac_var lac_scale(lac_tape *tape, lac_var x, double real, double imag);  ///< (real + i imag) x, a frozen factor
LAC_API lac_var lac_offset(lac_tape *tape, lac_var x, double real, double imag);  ///< x + real + i imag, frozen too

/// The number real + i imag, frozen, in every place of a shape, in the dtype of x, whose numbers are not read.
LAC_API lac_var lac_full(lac_tape *tape, lac_var x, int ndim, const int64_t *shape, double real, double imag);

/// x / y, and exactly 0 where y is 0. So are its derivatives there, of every order.
LAC_API lac_var lac_div_or_zero(lac_tape *tape, lac_var x, lac_var y);

LAC_API lac_var lac_conj(lac_tape *tape, lac_var x);  ///< conj(x); x itself when real
LAC_API lac_var lac_real(lac_tape *tape, lac_var x);  ///< real part; x itself when real
LAC_API lac_var lac_imag(lac_tape *tape, lac_var x);  ///< imaginary part, of a real dtype
LAC_API lac_var lac_abs(lac_tape *tape, lac_var x);   ///< |x|, of a real dtype; its gradient x / |x| is 0 at 0
LAC_API lac_var lac_sign(lac_tape *tape, lac_var x);  ///< x / |x|, 0 at 0; so are its derivatives there
LAC_API lac_var lac_cast(lac_tape *tape, lac_var x, lac_dtype dtype);  ///< x in another dtype, not complex to real

/// The power of two at or below |x|, of a real dtype; 1 at 0, and no less than the smallest normal number. What is divided by it
/// comes near 1 without rounding. Its derivative is zero: nothing passes through such a scale.
LAC_API lac_var lac_magnitude(lac_tape *tape, lac_var x);

/// 1 where x and y stand in the relation, else 0, in their dtype: `x < y` is LAC_RELATION_LT. NaN is unequal to everything. The
/// derivative is zero. LAC_ERR_DTYPE for an order of complex numbers.
typedef enum lac_relation {
  LAC_RELATION_EQ,
  LAC_RELATION_NE,
  LAC_RELATION_LT,
  LAC_RELATION_LE,
  LAC_RELATION_GT,
  LAC_RELATION_GE
} lac_relation;
LAC_API lac_var lac_compare(lac_tape *tape, lac_var x, lac_var y, lac_relation relation);

/// x where c is not zero (or where it is), exactly 0 elsewhere, whatever x holds there; its derivative likewise. c, of x's
/// dtype, has none.
typedef enum lac_selection { LAC_SELECT_NONZERO, LAC_SELECT_ZERO } lac_selection;
LAC_API lac_var lac_select(lac_tape *tape, lac_var c, lac_var x, lac_selection selection);

/// x where c is not zero, else y; what is not chosen is not seen. c, of their dtype, has no derivative.
LAC_API lac_var lac_where(lac_tape *tape, lac_var c, lac_var x, lac_var y);

// Functions of each number. Complex numbers have the principal branches, cut along the negative real axis.

LAC_API lac_var lac_exp(lac_tape *tape, lac_var x);         ///< e^x
LAC_API lac_var lac_log(lac_tape *tape, lac_var x);         ///< natural logarithm
LAC_API lac_var lac_sqrt(lac_tape *tape, lac_var x);        ///< square root; its derivative at 0 is infinite
LAC_API lac_var lac_sin(lac_tape *tape, lac_var x);         ///< sine
LAC_API lac_var lac_cos(lac_tape *tape, lac_var x);         ///< cosine
LAC_API lac_var lac_tanh(lac_tape *tape, lac_var x);        ///< hyperbolic tangent
LAC_API lac_var lac_sigmoid(lac_tape *tape, lac_var x);     ///< 1 / (1 + e^-x)
LAC_API lac_var lac_square(lac_tape *tape, lac_var x);      ///< x^2
LAC_API lac_var lac_reciprocal(lac_tape *tape, lac_var x);  ///< 1 / x

/// x^y with 0^0 = 1, differentiable in both. Of a negative real x the derivative in y is NaN.
LAC_API lac_var lac_pow(lac_tape *tape, lac_var x, lac_var y);

/// x^exponent, a frozen number: no logarithm, and derivatives at 0 that are right for whole exponents.
LAC_API lac_var lac_power(lac_tape *tape, lac_var x, double exponent);

// Functions of reals alone: LAC_ERR_DTYPE for complex arrays.

LAC_API lac_var lac_expm1(lac_tape *tape, lac_var x);      ///< e^x - 1, exact for small x
LAC_API lac_var lac_log1p(lac_tape *tape, lac_var x);      ///< log(1 + x), exact for small x
LAC_API lac_var lac_softplus(lac_tape *tape, lac_var x);   ///< log(1 + e^x), without overflow
LAC_API lac_var lac_relu(lac_tape *tape, lac_var x);       ///< max(x, 0); derivative 0 at 0
LAC_API lac_var lac_heaviside(lac_tape *tape, lac_var x);  ///< 1 where x > 0, else 0; its derivative is zero

/// min(max(x, low), high); infinite bounds are none. The derivative is 1 on the closed interval. LAC_ERR_ARG unless low <= high.
LAC_API lac_var lac_clamp(lac_tape *tape, lac_var x, double low, double high);

// -- reductions over axes --------------------------------------------------------------------------------------------

// Over `count` axes, counted as NumPy counts them: 0 is the first, -1 the last. 0 and NULL stand for all of them, and so does
// LAC_ALL_AXES; in C, LAC_AXES(-1) or LAC_AXES(0, 1) writes both arguments. Reduced axes are dropped or, with keepdims, have
// size 1. LAC_ERR_SHAPE for an axis that the array lacks or that is named twice.

#define LAC_ALL_AXES 0, NULL
#define LAC_AXES(...) \
  (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]) { __VA_ARGS__ }

/// The sum over these axes, and over all axes: a single number.
LAC_API lac_var lac_sum_axes(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);
LAC_API lac_var lac_sum(lac_tape *tape, lac_var x);

/// How many numbers stand along these axes, to a power: one number in the dtype of x, whose numbers are not read.
LAC_API lac_var lac_extent(lac_tape *tape, lac_var x, int count, const int *axes, double power);

/// The mean; of no numbers it is NaN.
LAC_API lac_var lac_mean(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// The product, exact with zeros; of no numbers it is 1. Made of slices and products, pair by pair.
LAC_API lac_var lac_prod(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// The largest and the smallest number, of reals; NaN if there is one. The gradient is shared evenly among ties.
/// LAC_ERR_SHAPE for an axis of no numbers.
LAC_API lac_var lac_max(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);
LAC_API lac_var lac_min(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// sqrt(sum |x|^2), sum |x| and max |x|, of a real dtype. No square leaves the range; the gradient at zero is zero.
LAC_API lac_var lac_norm(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);
LAC_API lac_var lac_norm1(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);
LAC_API lac_var lac_norm_inf(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// log(sum(exp(x))), of reals. Nothing overflows; where all x are -inf the result is, with a gradient of zero.
LAC_API lac_var lac_logsumexp(lac_tape *tape, lac_var x, int count, const int *axes, bool keepdims);

/// exp(x) / sum(exp(x)), of reals, the sum over these axes; 0 where all x are -inf.
LAC_API lac_var lac_softmax(lac_tape *tape, lac_var x, int count, const int *axes);

/// log(softmax(x)) = y - logsumexp(y) for y = x - max(x), which loses no digits however large x is.
LAC_API lac_var lac_log_softmax(lac_tape *tape, lac_var x, int count, const int *axes);

/// Running sums along an axis, from its first place on or, backwards, from its last.
LAC_API lac_var lac_cumsum(lac_tape *tape, lac_var x, int axis, bool backwards);

// -- shapes, parts and dense products --------------------------------------------------------------------------------

/// x spread to the shape of `like` along these axes of it: the adjoint of lac_sum_axes.
LAC_API lac_var lac_broadcast(lac_tape *tape, lac_var x, const lac_meta *like, int count, const int *axes,
                              bool keepdims);

/// The same numbers under another shape. Of an array that is spread over ranks the spread axis must survive; write -1 for its size
/// wherever axes of size 1 stand beside it: a rank with one row could not tell it from them.
LAC_API lac_var lac_reshape(lac_tape *tape, lac_var x, int ndim, const int64_t *shape);

/// The places begin, begin + step, ... before `end` of an axis: -1 is the last.
/// 0 <= begin <= end <= size and step > 0, else LAC_ERR_SHAPE; begin = end is empty.
LAC_API lac_var lac_slice(lac_tape *tape, lac_var x, int axis, int64_t begin, int64_t end, int64_t step);

/// x at these places of zeros with the shape of `like`: the adjoint of lac_slice.
LAC_API lac_var lac_embed(lac_tape *tape, lac_var x, const lac_meta *like, int axis, int64_t begin, int64_t end,
                          int64_t step);

/// x, then y along an axis: axes before it broadcast, those behind it are equal.
LAC_API lac_var lac_concat(lac_tape *tape, lac_var x, lac_var y, int axis);

/// Any number of arrays along an axis, at least one: pairs, then pairs of pairs. Of one it is that var.
LAC_API lac_var lac_concat_all(lac_tape *tape, int n, const lac_var *vars, int axis);

/// The sum of conj(x) y over the last two axes.
LAC_API lac_var lac_dot(lac_tape *tape, lac_var x, lac_var y);

/// Z = op(X) op(Y), dense: op(X) (m, l), op(Y) (l, n), Z (m, n).
LAC_API lac_var lac_matmul(lac_tape *tape, lac_var x, lac_var y, lac_form op_x, lac_form op_y);

// -- structure -------------------------------------------------------------------------------------------------------

/// y = M x (LAC_PLAIN) or M^T x (LAC_TRANSPOSED) on the last axis. With the maps of pattern.h: transpose, triangle, submatrix, diagonal,
/// to_dense, coalesce.
LAC_API lac_var lac_remap(lac_tape *tape, const lac_map *map, lac_var x, lac_form op);

/// The same where an entry is a block of numbers with `axes` axes of its own: y and x are [*batch, entries, *block].
LAC_API lac_var lac_remap_blocks(lac_tape *tape, const lac_map *map, lac_var x, lac_form op, int axes);

/// Rows along a frozen list of indices, the target of a map with n outputs: x (n, k), y (m, k), y[i] = x[target[i]], and 0
/// where it is -1. This is M^T x on rows.
LAC_API lac_var lac_gather(lac_tape *tape, const lac_map *map, lac_var x);

/// The adjoint of lac_gather: y[target[i]] += x[i], x (m, k), y (n, k), in one order on any number of threads. This is M x.
LAC_API lac_var lac_scatter_add(lac_tape *tape, const lac_map *map, lac_var x);

/// A + B on the union of two patterns. `out` (optional) receives the union, to be destroyed by the caller.
LAC_API lac_var lac_spadd(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                          lac_pattern **out);

/// A .* B on the intersection of two patterns. `out` (optional) receives it, to be destroyed by the caller.
LAC_API lac_var lac_hadamard(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                             lac_pattern **out);

/// The Kronecker product of A and B. `out` (optional) receives its pattern, to be destroyed by the caller.
LAC_API lac_var lac_kron(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                         lac_pattern **out);

/// The matrix with n others along its diagonal. `out` (optional) receives its pattern, to be destroyed by the caller.
LAC_API lac_var lac_block_diag(lac_tape *tape, int n, const lac_pattern *const *patterns, const lac_var *values,
                               lac_pattern **out);

/// The dense matrix: (nnz) -> (rows, cols).
LAC_API lac_var lac_to_dense(lac_tape *tape, const lac_pattern *pattern, lac_var a);

LAC_API lac_var lac_row_sum(lac_tape *tape, const lac_pattern *pattern, lac_var a);      ///< (nnz) -> (rows)
LAC_API lac_var lac_col_sum(lac_tape *tape, const lac_pattern *pattern, lac_var a);      ///< (nnz) -> (cols)
LAC_API lac_var lac_diagonal_of(lac_tape *tape, const lac_pattern *pattern, lac_var a);  ///< (nnz) -> (min(rows, cols))
LAC_API lac_var lac_trace(lac_tape *tape, const lac_pattern *pattern, lac_var a);        ///< (nnz) -> (): their sum

/// diag(d) A and A diag(d), on the pattern of A: d (rows) or (cols).
LAC_API lac_var lac_scale_rows(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var d);
LAC_API lac_var lac_scale_cols(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var d);

/// A norm of a matrix: Frobenius, the largest column sum of |a|, the largest row sum of |a|, the largest singular value.
typedef enum lac_norm_kind { LAC_NORM_FRO, LAC_NORM_1, LAC_NORM_INF, LAC_NORM_2 } lac_norm_kind;
LAC_API lac_var lac_matrix_norm(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_norm_kind kind);

/// The largest singular value, by Lanczos iteration to a relative residual (0: 1e-12, f32 1e-5) in at most so many steps
/// (0: 10000), else LAC_ERR_CONVERGENCE. Differentiable once; where the value is multiple, its gradient is one of many.
LAC_API lac_var lac_norm2(lac_tape *tape, const lac_pattern *pattern, lac_var a, double tolerance, int64_t steps);

// -- reductions over groups ------------------------------------------------------------------------------------------

// The groups of a map are the sources of each of its outputs: x (p), one number for each input, y (q), one for each group. With
// lac_pattern_row_map and lac_pattern_col_map they are the lines of a matrix. The sum of each group is lac_remap.

/// d[target i] a_i: each number of a group times that of the group. With the map from the entries of element matrices
/// to their elements, and lac_remap after it, this assembles a matrix from what each element has (docs/assembling.md).
LAC_API lac_var lac_segment_scale(lac_tape *tape, const lac_map *map, lac_var d, lac_var a);
LAC_API lac_var lac_segment_dot(lac_tape *tape, const lac_map *map, lac_var u, lac_var v);  ///< sums of u_i conj(v_i)
LAC_API lac_var lac_segment_mean(lac_tape *tape, const lac_map *map, lac_var x);  ///< 0 for a group of nothing

/// log of the sum of exp(x) of each group, and the weights exp(x) / sum. Reals alone. `full` is the length of a group of which
/// entries that are not stored are zeros, which take part; 0: only what is stored counts, and a group of nothing is -inf.
LAC_API lac_var lac_segment_logsumexp(lac_tape *tape, const lac_map *map, lac_var x, int64_t full);
LAC_API lac_var lac_segment_softmax(lac_tape *tape, const lac_map *map, lac_var x, int64_t full);

/// The extreme of each group; numbers that tie have even shares of its derivative, which lac_segment_ties gives (itself
/// without derivative). Reals alone; `full` as above, a group of nothing is -inf or +inf.
typedef enum lac_extreme { LAC_EXTREME_LARGEST, LAC_EXTREME_SMALLEST } lac_extreme;
LAC_API lac_var lac_segment_max(lac_tape *tape, const lac_map *map, lac_var x, int64_t full, lac_extreme extreme);
LAC_API lac_var lac_segment_ties(lac_tape *tape, const lac_map *map, lac_var x, int64_t full, lac_extreme extreme);

/// The same over the lines of a matrix, one number for each row or column; with implicit zeros the results are the dense ones.
typedef enum lac_lines { LAC_LINES_ROWS, LAC_LINES_COLS } lac_lines;
typedef enum lac_absent { LAC_ABSENT_IS_ZERO, LAC_ABSENT_IS_NOTHING } lac_absent;
LAC_API lac_var lac_sparse_logsumexp(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines,
                                     lac_absent absent);
LAC_API lac_var lac_sparse_softmax(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines,
                                   lac_absent absent);
LAC_API lac_var lac_sparse_max(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_lines lines,
                               lac_extreme extreme, lac_absent absent);

/// Both at once: out[0] over each column, (cols), and out[1] over each row, (rows).
LAC_API void lac_sparse_bidir_logsumexp(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_absent absent,
                                        lac_var out[2]);

// -- products --------------------------------------------------------------------------------------------------------

/// y = op(A) x: a (nnz), x (n, k), y (m, k). Where the pattern has blocks, a is (nnz, br, bc).
LAC_API lac_var lac_spmm(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var x, lac_form op);

/// s_z = sum_k u[row z, k] conj(v[col z, k]) for each slot z: u (rows, k), v (cols, k), s (nnz). No rows x cols anywhere.
LAC_API lac_var lac_sddmm(lac_tape *tape, const lac_pattern *pattern, lac_var u, lac_var v);

/// C = A B on the pattern of the product. `out` (optional) receives that pattern, to be destroyed by the caller.
LAC_API lac_var lac_spgemm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                           lac_pattern **out);

/// t = op(X) op(Y) at the slots of `target` alone.
LAC_API lac_var lac_sampled_spgemm(lac_tape *tape, const lac_pattern *target, const lac_pattern *px, lac_var x,
                                   const lac_pattern *py, lac_var y, lac_form op_x, lac_form op_y);

/// y = A x with A in sliced ELL: a holds the numbers of the format's storage, lac_remap(lac_format_map(format)) of the values by
/// slots. Padding is not read and gets a gradient of zero. LAC_ERR_ARG for a format of another kind.
LAC_API lac_var lac_sell_mm(lac_tape *tape, const lac_format *format, lac_var a, lac_var x);

/// y[i] = a[i] op(b[target i]): a (n, d), b (r, d, e), y (n, e) for LAC_PLAIN; the map is from n rows to r matrices.
LAC_API lac_var lac_gather_mm(lac_tape *tape, const lac_map *map, lac_var a, lac_var b, lac_form op);

/// w[j] = sum of conj(u[i])^T v[i] over the rows i that name j: u (n, d), v (n, e), w (r, d, e).
LAC_API lac_var lac_gather_outer(lac_tape *tape, const lac_map *map, lac_var u, lac_var v);

/// The first lengths[0] rows of a times b[0], the next lengths[1] times b[1], ...: r lengths, which add up to n.
LAC_API lac_var lac_segment_mm(lac_tape *tape, lac_var a, lac_var b, int64_t r, const int64_t *lengths);

// -- solves ----------------------------------------------------------------------------------------------------------

/// op(T) x = b with T the named triangle of the matrix. Entries outside it, and a stored diagonal under LAC_DIAGONAL_UNIT, are not read
/// and get a gradient of exactly zero. LAC_ERR_SINGULAR names a zero or missing diagonal.
LAC_API lac_var lac_trisolve(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var b, lac_triangle triangle,
                             lac_diagonal diagonal, lac_form op);

/// x = op(A)^-1 b with a factor of these values. LAC_ERR_STALE when `a` is not what `factor` was made of.
LAC_API lac_var lac_solve_with(lac_tape *tape, const lac_factor *factor, lac_var a, lac_var b, lac_form op);

/// x = op(A)^-1 b: factor and solve. Every derivative of every order uses the factor made here.
LAC_API lac_var lac_solve(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var b, lac_form op);

/// What was done for `var`: of the last call that solved or factored among those it was made of, whether by lac_solve,
/// lac_solve_with, lac_lstsq, lac_logdet or a function composed of them. `factor` (optional) receives the report of
/// that call's factor, whose texts live until the tape is cleared; it is empty where the call holds no factor
/// (lac_solve_operator, a checkpoint). `solve` (optional) receives what lac_solver_last_solve said after the call; its
/// `reason` is "" where nothing was solved, as for a determinant. Calls are recorded on a LAC_TAPE_RECORD tape where a leaf
/// goes in: LAC_ERR_ARG where there is no such call.
LAC_API lac_status lac_tape_solve_report(const lac_tape *tape, lac_var var, lac_report *factor,
                                         lac_solve_report *solve);

/// x = L(theta)^-1 b without a matrix: `function` emits y = L(theta) x from in = {theta .., x} into out[0], linear in x, x and y like b, which is
/// one vector whatever its shape. It runs twice, now. `options` (NULL: GMRES) give a Krylov method, its iteration, and preconditioner.factor
/// or .apply, which sees arrays [1, n, 1]. Differentiable in b and theta, to any order.
LAC_API lac_var lac_solve_operator(lac_tape *tape, lac_tape_function function, void *data, int thetas,
                                   const lac_var *theta, lac_var b, const lac_solver_options *options);

/// Least squares: x = out[0] (cols, k) minimises |A x - b|^2 + |damp x|^2, and of all such x, where A is wide, it is the shortest;
/// out[1] = b - A x (rows, k). Any shape of A; b (rows, k); damp, one real number for each of the batch, may be absent, which
/// is zero. All three are differentiable to any order, the residual's part of the gradient included (Golub and Pereyra). `solver` is
/// one of the pattern that lac_pattern_augmented makes of A's: LAC_ERR_SINGULAR where A has not full rank and is not
/// damped, a warning where few digits are certain. Or it is LSMR or LSQR of A's own pattern, with damp of A over the
/// identity (lac_pattern_vstack), which iterates to its tolerance.
LAC_API void lac_lstsq(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var b, lac_var damp,
                       const lac_solver *solver, lac_var out[2]);

// -- factors as arrays -----------------------------------------------------------------------------------------------

/// What the pivots of an elimination may be: LAC_ERR_SINGULAR where one is zero and divided by, or LAC_ERR_DEFINITE where one is not
/// positive. Both name the row.
typedef enum lac_pivots { LAC_PIVOTS_NONZERO, LAC_PIVOTS_POSITIVE } lac_pivots;

/// C = L U without pivoting, on a square pattern with a full diagonal: L, whose diagonal is one, below the diagonal and U on and
/// above. What falls outside the pattern is dropped: nothing where it is closed under elimination (lac_pattern_fill), else this is
/// ILU(0). `steps` (may be NULL) is the map of lac_pattern_fill that says in errors which row a step eliminates.
LAC_API lac_var lac_lu_values(lac_tape *tape, const lac_pattern *pattern, lac_var c, const lac_map *steps,
                              lac_pivots pivots);

/// The gradient in c of lac_lu_values, given that of its result.
LAC_API lac_var lac_lu_values_adjoint(lac_tape *tape, const lac_pattern *pattern, lac_var c, lac_var lu_bar);

// The functions that follow are made of it. A[order, order] is factored in the order and on the filled pattern of lac_pattern_fill;
// `patterns` and `lower` (optional) receive the triangles of that pattern which the values are on, to be destroyed by the caller.

/// A[order, order] = L U without pivoting: out[0] is L, its ones stored, out[1] is U. LAC_ERR_SINGULAR names the row.
LAC_API void lac_lu(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_ordering ordering,
                    lac_pattern *patterns[2], lac_var out[2]);

/// H[order, order] = L D L^H without pivoting, H = (A + A^H) / 2: out[0] is L, its ones stored, out[1] is D (n), real.
LAC_API void lac_ldlt(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_ordering ordering, lac_pattern **lower,
                      lac_var out[2]);

/// H[order, order] = L L^H, H = (A + A^H) / 2: for a Hermitian A the gradient is Hermitian too. LAC_ERR_DEFINITE names the row.
LAC_API lac_var lac_cholesky(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_ordering ordering,
                             lac_pattern **lower);

/// The incomplete factors on the pattern of A itself, in its own order, which need a full diagonal: L U = A where A has entries.
LAC_API void lac_ilu0(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_pattern *patterns[2], lac_var out[2]);

/// L L^H = (A + A^H) / 2 where A or A^H has entries. LAC_ERR_DEFINITE where a pivot is not positive: a positive definite
/// matrix may have no such factor, one whose diagonal outweighs its rows has.
LAC_API lac_var lac_ic0(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_pattern **lower);
// -- determinants and inverses ---------------------------------------------------------------------------------------

// Of a square matrix, through a factor as solves are: a (nnz), one number for each matrix of the batch. Gradients cost one selected
// inversion, about twice the factorisation; second derivatives one of twice the size. LAC_ERR_SINGULAR names the column. Nothing
// overflows but det itself, and nothing is estimated.

/// log|det A|; of a complex matrix log|det A| + i arg(det A), the principal branch.
LAC_API lac_var lac_logdet(lac_tape *tape, const lac_solver *solver, lac_var a);

/// The same with a factor of these values. LAC_ERR_STALE when `a` is not what `factor` was made of.
LAC_API lac_var lac_logdet_with(lac_tape *tape, const lac_factor *factor, lac_var a);

/// det A = sign exp(logabs): out[0], sign, is 1 or -1, of complex matrices the phase; out[1], logabs, is of a real dtype.
LAC_API void lac_slogdet(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var out[2]);

/// det A. It overflows and underflows where the number does: lac_slogdet does not.
LAC_API lac_var lac_det(lac_tape *tape, const lac_solver *solver, lac_var a);

/// A^-T where A has entries, (nnz): in the slot of (i, j) stands (A^-1)(j, i), the gradient of log|det A| before its conjugate.
LAC_API lac_var lac_selected_inverse(lac_tape *tape, const lac_solver *solver, lac_var a);

/// The same with a factor of these values. LAC_ERR_STALE when `a` is not what `factor` was made of.
LAC_API lac_var lac_selected_inverse_with(lac_tape *tape, const lac_factor *factor, lac_var a);

/// A^-1 where `target` has entries, in its slots. Entries that A^T lacks widen the pattern that is factored.
LAC_API lac_var lac_inverse_on(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *target);

LAC_API lac_var lac_inverse_diagonal(lac_tape *tape, const lac_solver *solver, lac_var a);  ///< (A^-1)_ii: (nnz) -> (n)

/// tr(A^-1 B), B sparse with a pattern of its own. Entries that A lacks widen the pattern that is factored.
LAC_API lac_var lac_trace_solve(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *pb, lac_var b);

/// x^H A y and x^H A^-1 y of each column: x (m, k), y (n, k), result (k).
LAC_API lac_var lac_quadratic_form(lac_tape *tape, const lac_pattern *pattern, lac_var a, lac_var x, lac_var y);
LAC_API lac_var lac_inverse_quadratic_form(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var x, lac_var y);

// -- estimates of what cannot be factored ----------------------------------------------------------------------------

// From probes: columns z with E[z z^H] = I, as lac_probes makes them. out[0] is the mean over the probes and out[1] its standard
// error, real, which falls with their root; of one probe it is NaN.

/// A constant (rows, count) of signs at random: the same for the same seed, and more columns leave the first ones as they are.
LAC_API lac_var lac_probes(lac_tape *tape, lac_dtype dtype, int64_t rows, int64_t count, int64_t seed);

/// The same in the dtype of x, whose numbers are not read.
LAC_API lac_var lac_probes_like(lac_tape *tape, lac_var x, int64_t rows, int64_t count, int64_t seed);

/// log det A of the Hermitian part of A, positive definite, by `steps` of Lanczos (0: 50) from each probe; both outputs are real. No
/// factor is made. The gradient is an unbiased estimate of that of log det A, (A^-1 z) z^H with the same probes by solves of `solver`,
/// and not the derivative of the estimate; higher orders are the derivatives of the gradient. None passes through probes or error.
/// LAC_ERR_DEFINITE where an eigenvalue is not positive.
LAC_API void lac_logdet_estimate(lac_tape *tape, const lac_solver *solver, lac_var a, lac_var probes, int64_t steps,
                                 lac_var out[2]);

/// tr(A^-1 B) by Hutchinson's z^H A^-1 B z, any square A and B: one solve for each probe. Its derivatives are those of the estimate.
LAC_API void lac_trace_solve_estimate(lac_tape *tape, const lac_solver *solver, lac_var a, const lac_pattern *pb,
                                      lac_var b, lac_var probes, lac_var out[2]);

// -- structured matrices ---------------------------------------------------------------------------------------------

// A band is stored as LAPACK and SciPy store it: ab (lower + upper + 1, n) holds A[i, j] at ab[upper + i - j, j]. What lies outside
// the matrix is not read and has a gradient of exactly zero. lower, upper >= 0 may reach beyond the matrix.

/// y = op(A) x for a banded A with `rows` rows: ab (lower + upper + 1, cols), x (n, k), y (m, k).
LAC_API lac_var lac_banded_mm(lac_tape *tape, int64_t lower, int64_t upper, lac_var ab, lac_var x, int64_t rows,
                              lac_form op);

/// The band of u v^H: s[upper + i - j, j] = sum_k u[i, k] conj(v[j, k]): u (rows, k), v (cols, k), s (lower + upper + 1, cols).
LAC_API lac_var lac_banded_outer(lac_tape *tape, int64_t lower, int64_t upper, lac_var u, lac_var v);

/// The band (lower, upper) of op(X) op(Y), both square and banded; lower_x + lower_y and upper_x + upper_y hold all of X Y.
LAC_API lac_var lac_banded_gemm(lac_tape *tape, int64_t lower_x, int64_t upper_x, lac_var x, int64_t lower_y,
                                int64_t upper_y, lac_var y, int64_t lower, int64_t upper, lac_form op_x, lac_form op_y);

/// x = op(A)^-1 b for a square banded A, pivoted: ab (lower + upper + 1, n), b (n, k). LAC_ERR_SINGULAR names the column.
LAC_API lac_var lac_banded_solve(lac_tape *tape, int64_t lower, int64_t upper, lac_var ab, lac_var b, lac_form op);

/// x = A^-1 b for a tridiagonal A: lower (n - 1), diag (n), upper (n - 1), b (n, k).
LAC_API lac_var lac_tridiagonal_solve(lac_tape *tape, lac_var lower, lac_var diag, lac_var upper, lac_var b);

LAC_API lac_var lac_diag_mm(lac_tape *tape, lac_var d, lac_var x);     ///< diag(d) x: d (n), x (n, k)
LAC_API lac_var lac_diag_solve(lac_tape *tape, lac_var d, lac_var b);  ///< diag(d)^-1 b; LAC_ERR_SINGULAR names a zero

/// y = op(C) x with C[i, j] = c[(i - j) mod n], in O(n log n): c (n), x (n, k).
LAC_API lac_var lac_circulant_mm(lac_tape *tape, lac_var c, lac_var x, lac_form op);

/// s[d] = sum_i sum_k u[i, k] conj(v[(i - d) mod n, k]): u, v (n, k), s (n).
LAC_API lac_var lac_circulant_outer(lac_tape *tape, lac_var u, lac_var v);

/// x = op(C)^-1 b: c (n), b (n, k). LAC_ERR_SINGULAR names an eigenvalue that is zero to rounding.
LAC_API lac_var lac_circulant_solve(lac_tape *tape, lac_var c, lac_var b, lac_form op);

/// y = op(T) x with T[i, j] = column[i - j] for i >= j, else row[j - i], in O(n log n): column (m), row (n), T m x n. row[0] is
/// not read.
LAC_API lac_var lac_toeplitz_mm(lac_tape *tape, lac_var column, lac_var row, lac_var x, lac_form op);

/// y = op(A (x) B) x, the Kronecker product never formed: y and x have the rows of A outside, those of B inside.
LAC_API lac_var lac_kron_mm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                            lac_var x, lac_form op);

/// y = op(A (x) I + I (x) B) x for square A and B.
LAC_API lac_var lac_kronsum_mm(lac_tape *tape, const lac_pattern *pa, lac_var a, const lac_pattern *pb, lac_var b,
                               lac_var x, lac_form op);

/// x = op(A (x) B)^-1 y by a solver of A's pattern and one of B's.
LAC_API lac_var lac_kron_solve(lac_tape *tape, const lac_solver *sa, lac_var a, const lac_solver *sb, lac_var b,
                               lac_var y, lac_form op);

#ifdef __cplusplus
}
#endif
#endif
