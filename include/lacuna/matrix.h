// SPDX-License-Identifier: Apache-2.0
/// @file matrix.h
/// A matrix is a pattern, values, and the way in which the caller's entries came in.
///
/// One call makes it of coordinates, compressed rows or columns, blocks, or dense numbers. The caller's numbers stay in
/// the caller's order, whatever that is: unsorted, with duplicates, which sum, or with entries that are dropped. Beside
/// them stand the values by slots, which products, solvers and all functions of ops.h and plain.h take together with
/// the pattern:
///
///     lac_matrix_from_csc(ctx, n, n, LAC_I32, offsets, rows, LAC_F64, numbers, LAC_OWNERSHIP_COPY, &a);
///     lac_run_spmm(ctx, lac_matrix_pattern(a), lac_matrix_values(a), x, LAC_PLAIN, &y);
///
/// Ownership: matrices are reference counted. What a getter returns is borrowed, until the matrix is updated or gone.
/// Derivatives: lac_matrix_leaf puts the caller's numbers on a tape, so that gradients come back in the caller's order.
/// Threads: the structure never changes; whoever updates the values must be alone with the matrix.
/// Errors: a function that fails has changed nothing, and has taken over no memory. LAC_ERR_ARG for NULL.

#ifndef LACUNA_MATRIX_H
#define LACUNA_MATRIX_H

#include "lacuna/pattern.h"
#include "lacuna/solver.h"
#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_matrix lac_matrix;

// -- making one ------------------------------------------------------------------------------------------------------

// Indices are those of lac_pattern_from_coo and its kin (pattern.h), in host memory, and are copied.
//
// Ownership: `values` as `ownership` says (array.h): LAC_OWNERSHIP_COPY from host memory, LAC_OWNERSHIP_BORROW or LAC_OWNERSHIP_ADOPT where the
// context's arrays lie. Borrowed numbers that the caller changes are seen after the next lac_matrix_update.
// Cost: that of the pattern; a second array of values unless the entries come in the order of the slots.
// Errors: LAC_ERR_PATTERN names the first index that is wrong; LAC_ERR_DTYPE, LAC_ERR_OVERFLOW, LAC_ERR_MEMORY.

/// The matrix of `count` coordinates in any order; duplicates sum, and a row or column of -1 drops its entry.
LAC_API lac_status lac_matrix_from_coo(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, lac_index_type type,
                                       const void *row, const void *col, lac_dtype dtype, const void *values,
                                       lac_ownership ownership, lac_matrix **out);

/// The matrix of compressed rows: rows + 1 offsets; columns within a row may be unsorted and repeated.
LAC_API lac_status lac_matrix_from_csr(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                       const void *offsets, const void *columns, lac_dtype dtype, const void *values,
                                       lac_ownership ownership, lac_matrix **out);

/// The matrix of compressed columns, as CHOLMOD and SciPy have it: cols + 1 offsets.
LAC_API lac_status lac_matrix_from_csc(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                       const void *offsets, const void *rows_of, lac_dtype dtype, const void *values,
                                       lac_ownership ownership, lac_matrix **out);

/// The matrix of compressed rows of blocks of br x bc, row-major inside: rows / br + 1 offsets. Its pattern has blocks.
LAC_API lac_status lac_matrix_from_bsr(lac_context *ctx, int64_t rows, int64_t cols, int64_t br, int64_t bc,
                                       lac_index_type type, const void *offsets, const void *columns, lac_dtype dtype,
                                       const void *values, lac_ownership ownership, lac_matrix **out);

/// The matrix of rows x cols numbers, row-major in host memory, without those whose size is at most `threshold`: 0
/// drops exact zeros, -1 keeps every number. Its entries are those that are kept, by rows; the dense numbers are
/// copied.
/// Errors: LAC_ERR_ARG for a threshold that is NaN.
LAC_API lac_status lac_matrix_from_dense(lac_context *ctx, int64_t rows, int64_t cols, lac_dtype dtype,
                                         const void *numbers, double threshold, lac_matrix **out);

/// The matrix of a pattern and an array. Where `entries` is NULL, `values` are by slots, [*batch, nnz], or [*batch,
/// nnz, br, bc] where the pattern has blocks; else they are [*batch, inputs of the map], in the caller's order.
/// Ownership: the matrix holds all three.
/// Cost: none without a map; with one, an array of values.
/// Errors: LAC_ERR_SHAPE where sizes differ.
LAC_API lac_status lac_matrix_create(lac_context *ctx, const lac_pattern *pattern, const lac_map *entries,
                                     const lac_array *values, lac_matrix **out);

/// The matrix in a file: Matrix Market (".mtx", ".mtx.gz"), or safetensors (".safetensors") as lac_matrix_to_file wrote
/// it. io.h has the options.
/// Errors: LAC_ERR_FILE, LAC_ERR_FORMAT; LAC_ERR_ARG for a path with another ending.
LAC_API lac_status lac_matrix_from_file(lac_context *ctx, const char *path, lac_matrix **out);

/// One more holder; one holder less (accepts NULL, leaves NULL).
LAC_API lac_matrix *lac_matrix_retain(const lac_matrix *matrix);
LAC_API void lac_matrix_destroy(lac_matrix **matrix);

// -- what it says of itself ------------------------------------------------------------------------------------------

// Cost: none. Of NULL: NULL, 0 or LAC_F32.

LAC_API const lac_pattern *lac_matrix_pattern(const lac_matrix *matrix);
LAC_API const lac_array *lac_matrix_values(const lac_matrix *matrix);  ///< by slots
LAC_API const lac_array *lac_matrix_given(const lac_matrix *matrix);   ///< in the caller's order
LAC_API const lac_map *lac_matrix_entries(const lac_matrix *matrix);   ///< from there to slots; NULL: the same order
LAC_API lac_dtype lac_matrix_dtype(const lac_matrix *matrix);
LAC_API int64_t lac_matrix_rows(const lac_matrix *matrix);
LAC_API int64_t lac_matrix_cols(const lac_matrix *matrix);
LAC_API int64_t lac_matrix_nnz(const lac_matrix *matrix);    ///< stored numbers, those inside blocks one by one
LAC_API int64_t lac_matrix_count(const lac_matrix *matrix);  ///< the caller's numbers, duplicates and dropped ones too

// -- new values ------------------------------------------------------------------------------------------------------

/// Other numbers in the caller's order, of the same dtype. What was made of the old ones, on a tape or as a factor,
/// keeps them.
/// Ownership: as where matrices are made.
/// Cost: two arrays, one where the caller's order is that of the slots.
/// Errors: LAC_ERR_SHAPE where `count` is not lac_matrix_count.
LAC_API lac_status lac_matrix_update(lac_context *ctx, lac_matrix *matrix, int64_t count, const void *values,
                                     lac_ownership ownership);

/// The same with an array, of any batch and dtype, as lac_matrix_create takes it.
LAC_API lac_status lac_matrix_update_array(lac_context *ctx, lac_matrix *matrix, const lac_array *values);

// -- on a tape -------------------------------------------------------------------------------------------------------

/// The values by slots, as a var made of the caller's numbers: `leaf` receives these, whose gradient is what
/// lac_tape_vjp is asked for.
/// Derivatives: of any order; duplicates each have the full cotangent, dropped entries have 0.
/// Errors: stick to the tape.
LAC_API lac_var lac_matrix_leaf(lac_tape *tape, const lac_matrix *matrix, lac_var *leaf);

/// The values by slots as a constant.
LAC_API lac_var lac_matrix_constant(lac_tape *tape, const lac_matrix *matrix);

// -- solving ---------------------------------------------------------------------------------------------------------

/// A factor of the matrix: lac_solver_create and lac_solver_factor in one (solver.h). lac_factor_solve solves with it for
/// any number of right-hand sides, lac_factor_logdet gives its determinant, lac_factor_refactor factors new values.
/// Options: NULL stands for method "direct", since a factor is asked for; method "auto" would iterate where that is
/// foreseen to be cheaper for one right-hand side.
/// Ownership: the factor is the caller's, and holds what it needs.
/// Cost: analysis, which stays with the pattern, and factorisation.
/// Errors: those of the two.
LAC_API lac_status lac_matrix_factor(lac_context *ctx, const lac_matrix *matrix, const lac_solver_options *options,
                                     lac_factor **out);

// -- out again -------------------------------------------------------------------------------------------------------

// Copies in host memory, of single entries by slots: each pointer may be NULL. Of a batch, values and dense numbers are
// one matrix behind the other.
//
// Cost: a copy; compressed columns and blocks besides a transpose or an order, which stay with the pattern.
// Errors: LAC_ERR_UNSUPPORTED for a distributed matrix; LAC_ERR_MEMORY.

/// lac_matrix_nnz rows, columns and values, by rows, columns ascending.
LAC_API lac_status lac_matrix_read_coo(lac_context *ctx, const lac_matrix *matrix, int64_t *row, int64_t *col,
                                       void *values);

/// rows + 1 offsets, and as many columns and values.
LAC_API lac_status lac_matrix_read_csr(lac_context *ctx, const lac_matrix *matrix, int64_t *offsets, int64_t *columns,
                                       void *values);

/// cols + 1 offsets, and as many rows and values, by columns, rows ascending.
LAC_API lac_status lac_matrix_read_csc(lac_context *ctx, const lac_matrix *matrix, int64_t *offsets, int64_t *rows_of,
                                       void *values);

/// rows x cols numbers, row-major.
LAC_API lac_status lac_matrix_read_dense(lac_context *ctx, const lac_matrix *matrix, void *numbers);

/// lac_matrix_count numbers, in the caller's order.
LAC_API lac_status lac_matrix_read_given(lac_context *ctx, const lac_matrix *matrix, void *values);

/// Write a file that lac_matrix_from_file reads, by the path's ending; safetensors hold the matrix under "matrix".
/// Errors: LAC_ERR_FILE; LAC_ERR_ARG for a path with another ending, LAC_ERR_UNSUPPORTED for blocks.
LAC_API lac_status lac_matrix_to_file(lac_context *ctx, const lac_matrix *matrix, const char *path);

#ifdef __cplusplus
}
#endif
#endif
