// SPDX-License-Identifier: Apache-2.0
/// @file plain.h
/// Plain calls: the functions of ops.h without a tape. Made from their prototypes by scripts/check-plain --write.
///
/// lac_run_NAME computes what lac_NAME does, once, on arrays: each var of the prototype is an array (NULL for the damp
/// of lac_run_lstsq alone), and the result comes last. *result is read: where it is NULL it receives a new array; where
/// it is an array of the right shape and dtype the result is written there, so that a loop makes no new memory:
///
///     lac_array *y = NULL;
///     for (int i = 0; i < steps; i++) lac_run_spmm(ctx, pattern, a, x, LAC_PLAIN, &y);
///
/// A function of several results has a list of arrays, a place for each. A pattern that a function gives besides is new
/// in each call, whatever its pointer held, and the caller's to destroy.
///
/// Ownership: inputs stay the caller's; a new array is the caller's to destroy, and shares memory with nothing.
/// Derivatives: none; nothing is recorded. The function without `run_`, on a tape, has them.
/// Cost: that of the kernels, and less than a microsecond. A function of one operator writes to the given array itself;
/// one that is composed of several may copy its result there, and so does a result that shares memory with an input.
/// Errors: those of the function, as the status; nothing sticks. LAC_ERR_SHAPE where the array given for a result is of
/// another shape or dtype. On failure no pointer is changed, and what a given array holds is undefined.

#ifndef LACUNA_PLAIN_H
#define LACUNA_PLAIN_H

#include "lacuna/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

// -- arithmetic ------------------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_add(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result);
LAC_API lac_status lac_run_sub(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result);
LAC_API lac_status lac_run_mul(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result);
LAC_API lac_status lac_run_div(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result);
LAC_API lac_status lac_run_neg(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_scale(lac_context *ctx, const lac_array *x, double real, double imag, lac_array **result);
LAC_API lac_status lac_run_offset(lac_context *ctx, const lac_array *x, double real, double imag, lac_array **result);
LAC_API lac_status lac_run_full(lac_context *ctx, const lac_array *x, int ndim, const int64_t *shape, double real,
                                double imag, lac_array **result);
LAC_API lac_status lac_run_div_or_zero(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result);

// -- parts of numbers ------------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_conj(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_real(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_imag(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_abs(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_sign(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_cast(lac_context *ctx, const lac_array *x, lac_dtype dtype, lac_array **result);
LAC_API lac_status lac_run_magnitude(lac_context *ctx, const lac_array *x, lac_array **result);

// -- comparisons and choices -----------------------------------------------------------------------------------------

LAC_API lac_status lac_run_compare(lac_context *ctx, const lac_array *x, const lac_array *y, lac_relation relation,
                                   lac_array **result);
LAC_API lac_status lac_run_select(lac_context *ctx, const lac_array *c, const lac_array *x, lac_selection selection,
                                  lac_array **result);
LAC_API lac_status lac_run_where(lac_context *ctx, const lac_array *c, const lac_array *x, const lac_array *y,
                                 lac_array **result);

// -- functions -------------------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_exp(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_log(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_sqrt(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_sin(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_cos(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_tanh(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_sigmoid(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_square(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_reciprocal(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_pow(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result);
LAC_API lac_status lac_run_power(lac_context *ctx, const lac_array *x, double exponent, lac_array **result);
LAC_API lac_status lac_run_expm1(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_log1p(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_softplus(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_relu(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_heaviside(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_clamp(lac_context *ctx, const lac_array *x, double low, double high, lac_array **result);

// -- shapes and parts ------------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_broadcast(lac_context *ctx, const lac_array *x, const lac_meta *like, int count,
                                     const int *axes, bool keepdims, lac_array **result);
LAC_API lac_status lac_run_reshape(lac_context *ctx, const lac_array *x, int ndim, const int64_t *shape,
                                   lac_array **result);
LAC_API lac_status lac_run_slice(lac_context *ctx, const lac_array *x, int axis, int64_t begin, int64_t end,
                                 int64_t step, lac_array **result);
LAC_API lac_status lac_run_embed(lac_context *ctx, const lac_array *x, const lac_meta *like, int axis, int64_t begin,
                                 int64_t end, int64_t step, lac_array **result);
LAC_API lac_status lac_run_concat(lac_context *ctx, const lac_array *x, const lac_array *y, int axis,
                                  lac_array **result);
LAC_API lac_status lac_run_concat_all(lac_context *ctx, int n, const lac_array *const *vars, int axis,
                                      lac_array **result);

// -- reductions over axes --------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_sum_axes(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                                    lac_array **result);
LAC_API lac_status lac_run_sum(lac_context *ctx, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_extent(lac_context *ctx, const lac_array *x, int count, const int *axes, double power,
                                  lac_array **result);
LAC_API lac_status lac_run_mean(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                                lac_array **result);
LAC_API lac_status lac_run_prod(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                                lac_array **result);
LAC_API lac_status lac_run_max(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                               lac_array **result);
LAC_API lac_status lac_run_min(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                               lac_array **result);
LAC_API lac_status lac_run_norm(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                                lac_array **result);
LAC_API lac_status lac_run_norm1(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                                 lac_array **result);
LAC_API lac_status lac_run_norm_inf(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                                    lac_array **result);
LAC_API lac_status lac_run_logsumexp(lac_context *ctx, const lac_array *x, int count, const int *axes, bool keepdims,
                                     lac_array **result);
LAC_API lac_status lac_run_softmax(lac_context *ctx, const lac_array *x, int count, const int *axes,
                                   lac_array **result);
LAC_API lac_status lac_run_log_softmax(lac_context *ctx, const lac_array *x, int count, const int *axes,
                                       lac_array **result);
LAC_API lac_status lac_run_cumsum(lac_context *ctx, const lac_array *x, int axis, bool backwards, lac_array **result);

// -- reductions over groups ------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_segment_scale(lac_context *ctx, const lac_map *map, const lac_array *d, const lac_array *a,
                                         lac_array **result);
LAC_API lac_status lac_run_segment_dot(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v,
                                       lac_array **result);
LAC_API lac_status lac_run_segment_mean(lac_context *ctx, const lac_map *map, const lac_array *x, int axes,
                                        lac_array **result);
LAC_API lac_status lac_run_segment_logsumexp(lac_context *ctx, const lac_map *map, const lac_array *x, int64_t full,
                                             lac_array **result);
LAC_API lac_status lac_run_segment_softmax(lac_context *ctx, const lac_map *map, const lac_array *x, int64_t full,
                                           lac_array **result);
LAC_API lac_status lac_run_segment_max(lac_context *ctx, const lac_map *map, const lac_array *x, int64_t full,
                                       lac_extreme extreme, lac_array **result);
LAC_API lac_status lac_run_segment_ties(lac_context *ctx, const lac_map *map, const lac_array *x, int64_t full,
                                        lac_extreme extreme, lac_array **result);

// -- reductions over the lines of a matrix ---------------------------------------------------------------------------

LAC_API lac_status lac_run_sparse_logsumexp(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                            lac_lines lines, lac_absent absent, lac_array **result);
LAC_API lac_status lac_run_sparse_softmax(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                          lac_lines lines, lac_absent absent, lac_array **result);
LAC_API lac_status lac_run_sparse_max(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_lines lines,
                                      lac_absent absent, lac_extreme extreme, lac_array **result);
LAC_API lac_status lac_run_sparse_bidir_logsumexp(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                                  lac_absent absent, lac_array *out[2]);

// -- values along maps -----------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_remap(lac_context *ctx, const lac_map *map, const lac_array *x, lac_form op,
                                 lac_array **result);
LAC_API lac_status lac_run_remap_blocks(lac_context *ctx, const lac_map *map, const lac_array *x, lac_form op, int axes,
                                        lac_array **result);
LAC_API lac_status lac_run_gather(lac_context *ctx, const lac_map *map, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_scatter_add(lac_context *ctx, const lac_map *map, const lac_array *x, lac_array **result);

// -- matrices made of matrices ---------------------------------------------------------------------------------------

LAC_API lac_status lac_run_spadd(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                                 const lac_array *b, lac_pattern **out, lac_array **result);
LAC_API lac_status lac_run_hadamard(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                                    const lac_array *b, lac_pattern **out, lac_array **result);
LAC_API lac_status lac_run_kron(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                                const lac_array *b, lac_pattern **out, lac_array **result);
LAC_API lac_status lac_run_mirror(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                  lac_triangle triangle, lac_form op, lac_pattern **out, lac_array **result);
LAC_API lac_status lac_run_block_diag(lac_context *ctx, int n, const lac_pattern *const *patterns,
                                      const lac_array *const *values, lac_pattern **out, lac_array **result);

// -- sums, scalings and norms of a matrix ----------------------------------------------------------------------------

LAC_API lac_status lac_run_to_dense(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                    lac_array **result);
LAC_API lac_status lac_run_row_sum(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                   lac_array **result);
LAC_API lac_status lac_run_col_sum(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                   lac_array **result);
LAC_API lac_status lac_run_diagonal_of(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                       lac_array **result);
LAC_API lac_status lac_run_trace(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_array **result);
LAC_API lac_status lac_run_scale_rows(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                      const lac_array *d, lac_array **result);
LAC_API lac_status lac_run_scale_cols(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                      const lac_array *d, lac_array **result);
LAC_API lac_status lac_run_matrix_norm(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                       lac_norm_kind kind, lac_array **result);
LAC_API lac_status lac_run_norm2(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, double tolerance,
                                 int64_t steps, lac_array **result);

// -- dense products --------------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_dot(lac_context *ctx, const lac_array *x, const lac_array *y, lac_array **result);
LAC_API lac_status lac_run_matmul(lac_context *ctx, const lac_array *x, const lac_array *y, lac_form op_x,
                                  lac_form op_y, lac_array **result);

// -- sparse products -------------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_spmm(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *x,
                                lac_form op, lac_array **result);
LAC_API lac_status lac_run_sddmm(lac_context *ctx, const lac_pattern *pattern, const lac_array *u, const lac_array *v,
                                 lac_array **result);
LAC_API lac_status lac_run_spgemm(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                                  const lac_array *b, lac_pattern **out, lac_array **result);
LAC_API lac_status lac_run_sampled_spgemm(lac_context *ctx, const lac_pattern *target, const lac_pattern *px,
                                          const lac_array *x, const lac_pattern *py, const lac_array *y, lac_form op_x,
                                          lac_form op_y, lac_array **result);
LAC_API lac_status lac_run_sell_mm(lac_context *ctx, const lac_format *format, const lac_array *a, const lac_array *x,
                                   lac_array **result);

// -- products of grouped rows ----------------------------------------------------------------------------------------

LAC_API lac_status lac_run_gather_mm(lac_context *ctx, const lac_map *map, const lac_array *a, const lac_array *b,
                                     lac_form op, lac_array **result);
LAC_API lac_status lac_run_gather_outer(lac_context *ctx, const lac_map *map, const lac_array *u, const lac_array *v,
                                        lac_array **result);
LAC_API lac_status lac_run_segment_mm(lac_context *ctx, const lac_array *a, const lac_array *b, int64_t r,
                                      const int64_t *lengths, lac_array **result);

// -- solves ----------------------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_trisolve(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                    const lac_array *b, lac_triangle triangle, lac_diagonal diagonal, lac_form op,
                                    lac_array **result);
LAC_API lac_status lac_run_solve_with(lac_context *ctx, const lac_factor *factor, const lac_array *a,
                                      const lac_array *b, lac_form op, lac_array **result);
LAC_API lac_status lac_run_solve(lac_context *ctx, const lac_solver *solver, const lac_array *a, const lac_array *b,
                                 lac_form op, lac_array **result);
LAC_API lac_status lac_run_solve_from(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                      const lac_array *b, const lac_array *x0, lac_form op, bool reports,
                                      lac_array **result);
LAC_API lac_status lac_run_solve_operator(lac_context *ctx, lac_tape_function function, void *data, int thetas,
                                          const lac_array *const *theta, const lac_array *b,
                                          const lac_solver_options *options, lac_array **result);
LAC_API lac_status lac_run_lstsq(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, const lac_array *b,
                                 const lac_array *damp, const lac_solver *solver, lac_array *out[2]);

// -- factors as arrays -----------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_lu_values(lac_context *ctx, const lac_pattern *pattern, const lac_array *c,
                                     const lac_map *steps, lac_pivots pivots, lac_array **result);
LAC_API lac_status lac_run_lu_values_adjoint(lac_context *ctx, const lac_pattern *pattern, const lac_array *c,
                                             const lac_array *lu_bar, lac_array **result);
LAC_API lac_status lac_run_lu(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_ordering ordering,
                              lac_pattern *patterns[2], lac_array *out[2]);
LAC_API lac_status lac_run_ldlt(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_ordering ordering,
                                lac_pattern **lower, lac_array *out[2]);
LAC_API lac_status lac_run_cholesky(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                    lac_ordering ordering, lac_pattern **lower, lac_array **result);
LAC_API lac_status lac_run_ilu0(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                lac_pattern *patterns[2], lac_array *out[2]);
LAC_API lac_status lac_run_ic0(lac_context *ctx, const lac_pattern *pattern, const lac_array *a, lac_pattern **lower,
                               lac_array **result);

// -- determinants and inverses ---------------------------------------------------------------------------------------

LAC_API lac_status lac_run_logdet(lac_context *ctx, const lac_solver *solver, const lac_array *a, lac_array **result);
LAC_API lac_status lac_run_logdet_with(lac_context *ctx, const lac_factor *factor, const lac_array *a,
                                       lac_array **result);
LAC_API lac_status lac_run_slogdet(lac_context *ctx, const lac_solver *solver, const lac_array *a, lac_array *out[2]);
LAC_API lac_status lac_run_det(lac_context *ctx, const lac_solver *solver, const lac_array *a, lac_array **result);
LAC_API lac_status lac_run_selected_inverse(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                            lac_array **result);
LAC_API lac_status lac_run_selected_inverse_with(lac_context *ctx, const lac_factor *factor, const lac_array *a,
                                                 lac_array **result);
LAC_API lac_status lac_run_inverse_on(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                      const lac_pattern *target, lac_array **result);
LAC_API lac_status lac_run_inverse_diagonal(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                            lac_array **result);
LAC_API lac_status lac_run_trace_solve(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                       const lac_pattern *pb, const lac_array *b, lac_array **result);
LAC_API lac_status lac_run_quadratic_form(lac_context *ctx, const lac_pattern *pattern, const lac_array *a,
                                          const lac_array *x, const lac_array *y, lac_array **result);
LAC_API lac_status lac_run_inverse_quadratic_form(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                                  const lac_array *x, const lac_array *y, lac_array **result);

// -- estimates from probes -------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_probes(lac_context *ctx, lac_dtype dtype, int64_t rows, int64_t count, int64_t seed,
                                  lac_array **result);
LAC_API lac_status lac_run_probes_like(lac_context *ctx, const lac_array *x, int64_t rows, int64_t count, int64_t seed,
                                       lac_array **result);
LAC_API lac_status lac_run_logdet_estimate(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                           const lac_array *probes, int64_t steps, lac_array *out[2]);
LAC_API lac_status lac_run_trace_solve_estimate(lac_context *ctx, const lac_solver *solver, const lac_array *a,
                                                const lac_pattern *pb, const lac_array *b, const lac_array *probes,
                                                lac_array *out[2]);

// -- banded matrices -------------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_banded_mm(lac_context *ctx, int64_t lower, int64_t upper, const lac_array *ab,
                                     const lac_array *x, int64_t rows, lac_form op, lac_array **result);
LAC_API lac_status lac_run_banded_outer(lac_context *ctx, int64_t lower, int64_t upper, const lac_array *u,
                                        const lac_array *v, lac_array **result);
LAC_API lac_status lac_run_banded_gemm(lac_context *ctx, int64_t lower_x, int64_t upper_x, const lac_array *x,
                                       int64_t lower_y, int64_t upper_y, const lac_array *y, int64_t lower,
                                       int64_t upper, lac_form op_x, lac_form op_y, lac_array **result);
LAC_API lac_status lac_run_banded_solve(lac_context *ctx, int64_t lower, int64_t upper, const lac_array *ab,
                                        const lac_array *b, lac_form op, lac_array **result);
LAC_API lac_status lac_run_tridiagonal_solve(lac_context *ctx, const lac_array *lower, const lac_array *diag,
                                             const lac_array *upper, const lac_array *b, lac_array **result);
LAC_API lac_status lac_run_diag_mm(lac_context *ctx, const lac_array *d, const lac_array *x, lac_array **result);
LAC_API lac_status lac_run_diag_solve(lac_context *ctx, const lac_array *d, const lac_array *b, lac_array **result);

// -- circulant and Toeplitz matrices ---------------------------------------------------------------------------------

LAC_API lac_status lac_run_circulant_mm(lac_context *ctx, const lac_array *c, const lac_array *x, lac_form op,
                                        lac_array **result);
LAC_API lac_status lac_run_circulant_outer(lac_context *ctx, const lac_array *u, const lac_array *v,
                                           lac_array **result);
LAC_API lac_status lac_run_circulant_solve(lac_context *ctx, const lac_array *c, const lac_array *b, lac_form op,
                                           lac_array **result);
LAC_API lac_status lac_run_toeplitz_mm(lac_context *ctx, const lac_array *column, const lac_array *row,
                                       const lac_array *x, lac_form op, lac_array **result);
LAC_API lac_status lac_run_toeplitz(lac_context *ctx, const lac_pattern *pattern, const lac_array *column,
                                    const lac_array *row, lac_array **result);

// -- Kronecker products ----------------------------------------------------------------------------------------------

LAC_API lac_status lac_run_kron_mm(lac_context *ctx, const lac_pattern *pa, const lac_array *a, const lac_pattern *pb,
                                   const lac_array *b, const lac_array *x, lac_form op, lac_array **result);
LAC_API lac_status lac_run_kronsum_mm(lac_context *ctx, const lac_pattern *pa, const lac_array *a,
                                      const lac_pattern *pb, const lac_array *b, const lac_array *x, lac_form op,
                                      lac_array **result);
LAC_API lac_status lac_run_kron_solve(lac_context *ctx, const lac_solver *sa, const lac_array *a, const lac_solver *sb,
                                      const lac_array *b, const lac_array *y, lac_form op, lac_array **result);

#ifdef __cplusplus
}
#endif
#endif
