// SPDX-License-Identifier: Apache-2.0
/// @file matrix.h
/// A matrix is a pattern, its values, and the map from the caller's entries to slots.
///
/// One call makes a matrix of coordinates, compressed rows or columns, blocks, or dense numbers. The caller's numbers
/// stay in the caller's order, which may be unsorted, with duplicates, which sum, and with entries that are dropped.
/// The matrix has its values by slots as well, which products, solvers and all functions of ops.h and plain.h take
/// together with the pattern:
///
///     lac_matrix_from_csc(ctx, n, n, LAC_I32, offsets, rows, LAC_F64, numbers, LAC_OWNERSHIP_COPY, &a);
///     lac_run_spmm(ctx, lac_matrix_pattern(a), lac_matrix_values(a), x, LAC_PLAIN, &y);
///
/// Ownership: matrices are reference counted. Objects that a getter returns are borrowed until the matrix is updated or
/// destroyed.
/// Derivatives: lac_matrix_leaf puts the caller's numbers on a tape: gradients come back in the caller's order.
/// Threads: the structure never changes; while one thread updates the values, no other thread may use the matrix.
/// Errors: a function that fails has changed nothing, and has adopted no memory. LAC_ERR_ARG for NULL.

#ifndef LACUNA_MATRIX_H
#define LACUNA_MATRIX_H

#include "lacuna/pattern.h"
#include "lacuna/solver.h"
#include "lacuna/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_matrix lac_matrix;

// -- making matrices -------------------------------------------------------------------------------------------------

// Indices are those of lac_pattern_from_coo and the other formats (pattern.h), in host memory, and are copied.
//
// Ownership: the caller destroys *out. `values` as `ownership` says (array.h): LAC_OWNERSHIP_COPY from host memory,
// LAC_OWNERSHIP_BORROW or LAC_OWNERSHIP_ADOPT in the memory space of the context. The caller changes borrowed numbers
// only right before lac_matrix_update, with which the change takes effect.
// Cost: that of the pattern; a second array of values unless the entries come in the order of the slots.
// Errors: LAC_ERR_PATTERN names the first index that is wrong; LAC_ERR_DTYPE, LAC_ERR_OVERFLOW, LAC_ERR_MEMORY.

/// Make a matrix of `count` coordinates in any order; duplicates sum, and a row or column of -1 drops its entry.
LAC_API lac_status lac_matrix_from_coo(lac_context *ctx, int64_t rows, int64_t cols, int64_t count, lac_index_type type,
                                       const void *row, const void *col, lac_dtype dtype, const void *values,
                                       lac_ownership ownership, lac_matrix **out);

/// Make a matrix of compressed rows: rows + 1 offsets; columns within a row may be unsorted and repeated.
LAC_API lac_status lac_matrix_from_csr(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                       const void *offsets, const void *columns, lac_dtype dtype, const void *values,
                                       lac_ownership ownership, lac_matrix **out);

/// Make a matrix of compressed columns, as CHOLMOD and SciPy have them: cols + 1 offsets.
LAC_API lac_status lac_matrix_from_csc(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                       const void *offsets, const void *rows_of, lac_dtype dtype, const void *values,
                                       lac_ownership ownership, lac_matrix **out);

/// Make a matrix of compressed rows of blocks of br x bc, row-major inside: rows / br + 1 offsets. Its pattern has
/// blocks.
LAC_API lac_status lac_matrix_from_bsr(lac_context *ctx, int64_t rows, int64_t cols, int64_t br, int64_t bc,
                                       lac_index_type type, const void *offsets, const void *columns, lac_dtype dtype,
                                       const void *values, lac_ownership ownership, lac_matrix **out);

/// Make a matrix of rows x cols numbers, row-major in host memory, without the numbers whose size is at most
/// `threshold`: 0 drops exact zeros, -1 keeps every number. The entries are the numbers that are kept, by rows; they
/// are copied.
/// Errors: LAC_ERR_ARG for a threshold that is NaN.
LAC_API lac_status lac_matrix_from_dense(lac_context *ctx, int64_t rows, int64_t cols, lac_dtype dtype,
                                         const void *numbers, double threshold, lac_matrix **out);

/// Make a matrix of a pattern and an array. Where `entries` is NULL, `values` are by slots, [*batch, nnz], or [*batch,
/// nnz, br, bc] where the pattern has blocks; else they are [*batch, inputs of the map], in the caller's order.
/// Ownership: the caller destroys *out, which holds all three.
/// Cost: none without a map; with a map, an array of values.
/// Errors: LAC_ERR_SHAPE where sizes differ.
LAC_API lac_status lac_matrix_create(lac_context *ctx, const lac_pattern *pattern, const lac_map *entries,
                                     const lac_array *values, lac_matrix **out);

/// Make the whole of a Hermitian (LAC_ADJOINT) or symmetric (LAC_TRANSPOSED) matrix of which another matrix has one
/// triangle: A = T + op(T without its diagonal). Its entries are those of the other matrix, in the same order: numbers
/// of the one triangle update it, and gradients come back to them. Entries outside the triangle are not read.
/// Ownership: the caller destroys *out, which shares the numbers with `matrix`.
/// Cost: that of the pattern (lac_pattern_mirror), and an array of values.
/// Errors: LAC_ERR_SHAPE for a matrix that is not square; LAC_ERR_ARG for another op; LAC_ERR_UNSUPPORTED for blocks.
LAC_API lac_status lac_matrix_mirror(lac_context *ctx, const lac_matrix *matrix, lac_triangle triangle, lac_form op,
                                     lac_matrix **out);

/// Read a matrix from a file: Matrix Market (".mtx", ".mtx.gz"), or safetensors (".safetensors") that
/// lac_matrix_to_file wrote. io.h has functions with options.
/// Ownership: the caller destroys *out.
/// Errors: LAC_ERR_FILE, LAC_ERR_FORMAT; LAC_ERR_ARG for a path with another ending.
LAC_API lac_status lac_matrix_from_file(lac_context *ctx, const char *path, lac_matrix **out);

/// Add a holder, and remove one; both accept NULL. The last one that goes ends the matrix; *matrix is NULL afterwards.
LAC_API lac_matrix *lac_matrix_retain(const lac_matrix *matrix);
LAC_API void lac_matrix_destroy(lac_matrix **matrix);

// -- reading a matrix ------------------------------------------------------------------------------------------------

// Ownership: objects are borrowed.
// Cost: none. Of NULL: NULL, 0 or LAC_F32.

LAC_API const lac_pattern *lac_matrix_pattern(const lac_matrix *matrix);
LAC_API const lac_array *lac_matrix_values(const lac_matrix *matrix);  ///< by slots
LAC_API const lac_array *lac_matrix_given(const lac_matrix *matrix);   ///< in the caller's order
LAC_API const lac_map *lac_matrix_entries(const lac_matrix *matrix);   ///< from there to slots; NULL: identity
LAC_API const lac_map *lac_matrix_mirrored(const lac_matrix *matrix);  ///< to mirror images; NULL: there are none
LAC_API lac_dtype lac_matrix_dtype(const lac_matrix *matrix);
LAC_API int64_t lac_matrix_rows(const lac_matrix *matrix);
LAC_API int64_t lac_matrix_cols(const lac_matrix *matrix);
LAC_API int64_t lac_matrix_nnz(const lac_matrix *matrix);    ///< stored numbers, those inside blocks one by one
LAC_API int64_t lac_matrix_count(const lac_matrix *matrix);  ///< the caller's numbers, all of them

// -- new values ------------------------------------------------------------------------------------------------------

/// Give a matrix other numbers, in the caller's order and of the same dtype. Vars and factors that were made of the old
/// numbers keep those.
/// Ownership: `values` as `ownership` says, as where matrices are made.
/// Cost: two arrays of values; one where the caller's order is that of the slots.
/// Errors: LAC_ERR_SHAPE where `count` is not lac_matrix_count.
LAC_API lac_status lac_matrix_update(lac_context *ctx, lac_matrix *matrix, int64_t count, const void *values,
                                     lac_ownership ownership);

/// Give a matrix other numbers as an array, of any batch and dtype, in the shape of lac_matrix_create.
/// Ownership: the matrix holds the array.
/// Errors: LAC_ERR_SHAPE where sizes differ.
LAC_API lac_status lac_matrix_update_array(lac_context *ctx, lac_matrix *matrix, const lac_array *values);

// -- on a tape -------------------------------------------------------------------------------------------------------

/// Put a matrix on a tape: the result is the values by slots; `leaf` (may be NULL) receives the caller's numbers, a
/// leaf whose gradient lac_tape_vjp gives.
/// Derivatives: of any order; each duplicate has the full cotangent, dropped entries have 0.
/// Errors: they stick to the tape.
LAC_API lac_var lac_matrix_leaf(lac_tape *tape, const lac_matrix *matrix, lac_var *leaf);

/// Put the values by slots on a tape as a constant.
/// Errors: they stick to the tape.
LAC_API lac_var lac_matrix_constant(lac_tape *tape, const lac_matrix *matrix);

// -- solving ---------------------------------------------------------------------------------------------------------

/// Factor a matrix: lac_solver_create and lac_solver_factor in one call. lac_factor_solve then solves for any number of
/// right-hand sides, lac_factor_logdet gives the determinant, lac_factor_refactor factors new values (solver.h).
/// Options: NULL stands for the defaults. The default of `method` is "direct" here, since a factor is asked for; method
/// "auto" iterates where that is foreseen to be cheaper for one right-hand side.
/// Ownership: the caller destroys *out, which does not need the matrix.
/// Cost: the analysis, which is kept with the pattern, and the factorisation.
/// Errors: those of lac_solver_create and lac_solver_factor.
LAC_API lac_status lac_matrix_factor(lac_context *ctx, const lac_matrix *matrix, const lac_solver_options *options,
                                     lac_factor **out);

// -- copying a matrix out --------------------------------------------------------------------------------------------

// Copies of single entries by slots to host memory; each pointer may be NULL. Of a batch, values and dense numbers are
// one matrix behind the other.
//
// Cost: a copy; for compressed columns and for blocks also a transpose or an order, which is kept with the pattern.
// Errors: LAC_ERR_UNSUPPORTED for a distributed matrix; LAC_ERR_MEMORY.

/// Copy lac_matrix_nnz rows, columns and values, by rows, columns ascending.
LAC_API lac_status lac_matrix_read_coo(lac_context *ctx, const lac_matrix *matrix, int64_t *row, int64_t *col,
                                       void *values);

/// Copy rows + 1 offsets, and lac_matrix_nnz columns and values.
LAC_API lac_status lac_matrix_read_csr(lac_context *ctx, const lac_matrix *matrix, int64_t *offsets, int64_t *columns,
                                       void *values);

/// Copy cols + 1 offsets, and lac_matrix_nnz rows and values, by columns, rows ascending.
LAC_API lac_status lac_matrix_read_csc(lac_context *ctx, const lac_matrix *matrix, int64_t *offsets, int64_t *rows_of,
                                       void *values);

/// Copy rows x cols numbers, row-major.
LAC_API lac_status lac_matrix_read_dense(lac_context *ctx, const lac_matrix *matrix, void *numbers);

/// Copy lac_matrix_count numbers, in the caller's order.
LAC_API lac_status lac_matrix_read_given(lac_context *ctx, const lac_matrix *matrix, void *values);

/// Write a file that lac_matrix_from_file reads; the ending of the path decides on the format. Safetensors hold the
/// matrix under the name "matrix".
/// Errors: LAC_ERR_FILE; LAC_ERR_ARG for a path with another ending, LAC_ERR_UNSUPPORTED for blocks.
LAC_API lac_status lac_matrix_to_file(lac_context *ctx, const lac_matrix *matrix, const char *path);

#ifdef __cplusplus
}
#endif
#endif
