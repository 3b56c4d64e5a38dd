// SPDX-License-Identifier: Apache-2.0
/// @file pattern.h
/// A pattern is the immutable structure of a sparse matrix: which entries exist.
///
/// Entries are stored by rows, columns ascending, each at most once. The place of an entry in that order is its *slot*,
/// and the values of a matrix are an array [*batch, nnz], one number for each slot. Stored zeros are entries like any
/// other. The order is canonical: equal structure means equal slots. Entries in another order (COO, CSC, an unsorted
/// CSR, a transpose) come with a map (map.h) from input entries to slots, and lac_remap moves values along it.
///
/// A pattern may have blocks: each slot then holds br x bc numbers, values are [*batch, nnz, br, bc], and nnz counts
/// blocks. lac_spmm, lac_sddmm and solves take such patterns; other functions refuse them with LAC_ERR_UNSUPPORTED, and
/// lac_pattern_scalar makes the pattern of single entries. Maps of block patterns are between the flattened numbers,
/// nnz br bc of them: reshape, remap, reshape. A block of 1 x 1 is no block: values are [*batch, nnz].
///
/// Patterns belong to no context, are immutable and reference counted, and may be shared between threads. Objects that
/// depend on structure alone are computed when first needed and kept with the pattern: the transpose, the maps to
/// diagonal, rows and columns, the four triangles used last, symbolic analyses. A second request returns the same
/// object.
///
/// Ownership: the caller destroys every pattern and every map that a function hands out, kept ones too. A pointer for a
/// map may be NULL where the map is not wanted, unless the map is the function's only result.
/// Errors: LAC_ERR_ARG for NULL and sizes that are negative; LAC_ERR_OVERFLOW for counts that cannot be addressed or do
/// not fit the width; LAC_ERR_MEMORY.

#ifndef LACUNA_PATTERN_H
#define LACUNA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lacuna/array.h"
#include "lacuna/map.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lac_pattern lac_pattern;

/// The type of indices that are handed in.
typedef enum lac_index_type { LAC_I32, LAC_I64 } lac_index_type;

/// The bits of the integers in which a pattern stores offsets and columns. Maps of slots have the type of the offsets.
typedef enum lac_width {
  LAC_WIDTH_AUTO,  ///< the narrowest that fits
  LAC_WIDTH_32_32,
  LAC_WIDTH_64_32,
  LAC_WIDTH_64_64
} lac_width;

/// The form in which a matrix is applied: op(A) in formulas.
typedef enum lac_form {
  LAC_PLAIN,       ///< A
  LAC_TRANSPOSED,  ///< A^T
  LAC_CONJUGATED,  ///< conj(A), not transposed: derivatives of the other three need it
  LAC_ADJOINT      ///< A^H, the conjugate transpose, which BLAS calls C
} lac_form;

/// Which triangle of a matrix.
typedef enum lac_triangle { LAC_TRIANGLE_LOWER, LAC_TRIANGLE_UPPER } lac_triangle;

/// The diagonal of a triangle: as stored, or ones that are not read.
typedef enum lac_diagonal { LAC_DIAGONAL_STORED, LAC_DIAGONAL_UNIT } lac_diagonal;

// -- making patterns -------------------------------------------------------------------------------------------------

// `entries` (may be NULL) receives the map from input entries to slots. Indices are in host memory and are copied.
// Errors: LAC_ERR_PATTERN names the first position that is wrong.

/// Make a pattern from coordinates in any order. Duplicates share a slot: their values sum, and each has the full
/// cotangent. A row or column of -1 drops its entry, for example that of a fixed degree of freedom: the target of the
/// entry is -1, its value is not used, and its cotangent is 0.
LAC_API lac_status lac_pattern_from_coo(lac_context *ctx, int64_t rows, int64_t cols, int64_t count,
                                        lac_index_type type, const void *row, const void *col, lac_width width,
                                        lac_pattern **out, lac_map **entries);

/// Make a pattern from compressed rows: rows + 1 offsets. Columns within a row may be unsorted and repeated.
LAC_API lac_status lac_pattern_from_csr(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                        const void *offsets, const void *columns, lac_width width, lac_pattern **out,
                                        lac_map **entries);

/// Make a pattern from coordinates, from compressed rows, or from compressed columns (as lac_pattern_from_csc takes
/// them), that lie in the memory space of the context. On a CUDA
/// device the indices are read and sorted there, and the pattern and its map are made there; only a few counts are
/// copied to the host. Indices that algorithms on the host need later are copied then, once.
/// Ownership: the indices belong to the context's stream, and are not used after the call.
/// Errors: LAC_ERR_UNSUPPORTED where the backend makes no patterns.
LAC_API lac_status lac_pattern_from_coo_on(lac_context *ctx, int64_t rows, int64_t cols, int64_t count,
                                           lac_index_type type, const void *row, const void *col, lac_width width,
                                           lac_pattern **out, lac_map **entries);
LAC_API lac_status lac_pattern_from_csr_on(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                           const void *offsets, const void *columns, lac_width width, lac_pattern **out,
                                           lac_map **entries);
LAC_API lac_status lac_pattern_from_csc_on(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                           const void *offsets, const void *rows_of, lac_width width, lac_pattern **out,
                                           lac_map **entries);

/// Make a pattern from compressed columns: cols + 1 offsets. Rows within a column may be unsorted and repeated.
LAC_API lac_status lac_pattern_from_csc(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                        const void *offsets, const void *rows_of, lac_width width, lac_pattern **out,
                                        lac_map **entries);

/// Make a pattern from compressed rows of blocks of br x bc: rows / br + 1 offsets, and columns of blocks, in any order
/// and repeated. `entries` is a map of the flattened numbers, offsets[last] br bc of them.
/// Errors: LAC_ERR_SHAPE unless br divides rows and bc divides cols.
LAC_API lac_status lac_pattern_from_bsr(lac_context *ctx, int64_t rows, int64_t cols, int64_t br, int64_t bc,
                                        lac_index_type type, const void *offsets, const void *columns, lac_width width,
                                        lac_pattern **out, lac_map **entries);

/// Make the pattern of the k-th diagonal: entries (i, i + k).
LAC_API lac_status lac_pattern_eye(lac_context *ctx, int64_t rows, int64_t cols, int64_t k, lac_width width,
                                   lac_pattern **out);

/// Make the pattern of a band: all entries of a rows x cols matrix with -lower <= col - row <= upper. `map` (may be
/// NULL) takes the band's storage (structured.h), flattened, to the slots, and transposed back; corners are dropped.
LAC_API lac_status lac_pattern_banded(lac_context *ctx, int64_t rows, int64_t cols, int64_t lower, int64_t upper,
                                      lac_width width, lac_pattern **out, lac_map **map);

/// Add a holder, and remove one; both accept NULL. The last one that goes ends the pattern; *pattern is NULL
/// afterwards.
/// Threads: any.
LAC_API lac_pattern *lac_pattern_retain(const lac_pattern *pattern);
LAC_API void lac_pattern_destroy(lac_pattern **pattern);

// -- reading patterns ------------------------------------------------------------------------------------------------

// Of NULL: 0, and LAC_WIDTH_AUTO.

LAC_API int64_t lac_pattern_rows(const lac_pattern *pattern);
LAC_API int64_t lac_pattern_cols(const lac_pattern *pattern);
LAC_API int64_t lac_pattern_nnz(const lac_pattern *pattern);  ///< slots: blocks, where there are blocks
LAC_API void lac_pattern_blocks(const lac_pattern *pattern, int64_t *br, int64_t *bc);  ///< 1 and 1 without blocks
LAC_API lac_width lac_pattern_width(const lac_pattern *pattern);

/// The number of the CUDA device that alone has the indices of a pattern; -1 where the host has them, and of NULL. A
/// context on that device makes solvers without a copy of the indices.
LAC_API int lac_pattern_device(const lac_pattern *pattern);
LAC_API int64_t lac_pattern_bytes(const lac_pattern *pattern);  ///< host bytes held, kept objects included

/// The number of a pattern, which no other object of the process has or will have.
LAC_API int64_t lac_pattern_id(const lac_pattern *pattern);

/// Copy the structure to host memory: rows + 1 offsets, nnz columns, nnz rows; each pointer may be NULL. Of a block
/// pattern: rows / br + 1 offsets, columns and rows of blocks.
/// Errors: LAC_ERR_ARG for a NULL pattern. A pattern that was made on a device is copied to the host first:
/// LAC_ERR_MEMORY, LAC_ERR_BACKEND.
LAC_API lac_status lac_pattern_read(const lac_pattern *pattern, int64_t *offsets, int64_t *columns, int64_t *rows_of);

/// 1 where structure and block size, and therefore slots, are equal, else 0. Widths may differ.
LAC_API int lac_pattern_same(const lac_pattern *a, const lac_pattern *b);

/// 1 where compressed rows in host memory, rows + 1 offsets and offsets[rows] columns, are those of the pattern in its
/// own order, else 0; `rows` and what they list count blocks, where the pattern has blocks. How many columns a matrix
/// has is not compared. A pattern that was made on a device is copied to the host first; 0 where that fails.
LAC_API int lac_pattern_same_csr(const lac_pattern *pattern, int64_t rows, lac_index_type type, const void *offsets,
                                 const void *columns);

// -- patterns made of patterns ---------------------------------------------------------------------------------------

// Each function makes a pattern and a map (may be NULL) that takes the old values to the new slots by lac_remap. No
// derivative passes through the structure. Where the result equals the pattern it is that pattern, retained.
// "Kept": the result stays with the pattern, or in the budget of pairs, and a second request costs nothing.
// Errors: LAC_ERR_UNSUPPORTED for distributed patterns; LAC_ERR_SHAPE where shapes do not fit.

/// Make the pattern of A^T. For a symmetric structure the result is the same pattern, though the map is not the
/// identity. Kept.
LAC_API lac_status lac_pattern_transpose(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out,
                                         lac_map **map);

/// Make the pattern of the entries on and below (LAC_TRIANGLE_LOWER, col - row <= k) or on and above
/// (LAC_TRIANGLE_UPPER, col - row >= k) the k-th diagonal; the shape is the same. The four triangles used last are
/// kept.
LAC_API lac_status lac_pattern_triangle(lac_context *ctx, const lac_pattern *pattern, lac_triangle triangle, int64_t k,
                                        lac_pattern **out, lac_map **map);

/// Make the pattern of the whole of a symmetric or Hermitian matrix of which one triangle is given: the entries of that
/// triangle, and their mirror images. Entries outside the triangle are not read, as with CHOLMOD's stype. `stored`
/// takes values to the triangle of the whole, `mirrored` takes those off the diagonal to their mirror images;
/// lac_mirror (structure.h) and lac_matrix_mirror (matrix.h) add both. Not kept.
/// Errors: LAC_ERR_SHAPE for a pattern that is not square.
LAC_API lac_status lac_pattern_mirror(lac_context *ctx, const lac_pattern *pattern, lac_triangle triangle,
                                      lac_pattern **out, lac_map **stored, lac_map **mirrored);

/// Make the pattern of the rows [row0, row1) and columns [col0, col1). Not kept.
/// Errors: LAC_ERR_ARG for a range outside the pattern.
LAC_API lac_status lac_pattern_submatrix(lac_context *ctx, const lac_pattern *pattern, int64_t row0, int64_t row1,
                                         int64_t col0, int64_t col1, lac_pattern **out, lac_map **map);

/// Make the pattern of the entries of a or b, which have the same shape. The maps take the values of a and of b to the
/// slots of the union. Kept for the pair.
LAC_API lac_status lac_pattern_union(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out,
                                     lac_map **from_a, lac_map **from_b);

/// Make the pattern of the entries that both a and b have; they have the same shape. The maps take the values of a and
/// of b to its slots, and drop the other entries. Kept for the pair.
LAC_API lac_status lac_pattern_intersection(lac_context *ctx, const lac_pattern *a, const lac_pattern *b,
                                            lac_pattern **out, lac_map **from_a, lac_map **from_b);

/// Make the pattern of A B: the entries with at least one term. Kept for the pair.
LAC_API lac_status lac_pattern_product(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out);

/// Make the map from slots to the min(rows, cols) numbers of the diagonal, which are 0 where no entry is stored. Kept.
LAC_API lac_status lac_pattern_diagonal(lac_context *ctx, const lac_pattern *pattern, lac_map **map);

/// Make the map from slots to rows, or to columns: lac_remap along it sums each row or column. Kept.
LAC_API lac_status lac_pattern_row_map(lac_context *ctx, const lac_pattern *pattern, lac_map **map);
LAC_API lac_status lac_pattern_col_map(lac_context *ctx, const lac_pattern *pattern, lac_map **map);

/// Make the map from slots to the rows * cols numbers of the dense matrix, row-major. Not kept.
/// Cost: the map is as large as the slots; lac_remap along it makes the dense array.
LAC_API lac_status lac_pattern_dense(lac_context *ctx, const lac_pattern *pattern, lac_map **map);

/// Make the map from the rows of a square pattern to its connected components, where an entry (i, j) joins row i and
/// row j: lac_map_outputs of them, numbered by their first rows. Not kept.
/// Cost: nearly proportional to the entries.
/// Errors: LAC_ERR_SHAPE for a pattern that is not square.
LAC_API lac_status lac_pattern_components(lac_context *ctx, const lac_pattern *pattern, lac_map **map);

/// Make the pattern of the Kronecker product: entry (i rows_b + k, j cols_b + l) where a has (i, j) and b has (k, l).
/// The map takes the outer product of the values, nnz_a x nnz_b numbers by rows, to the slots. Kept for the pair.
/// Errors: LAC_ERR_OVERFLOW, before any memory is taken.
LAC_API lac_status lac_pattern_kron(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out,
                                    lac_map **map);

/// Make the pattern of [A B ...], of [A; B; ...], and of A, B, ... along the diagonal, from `count` >= 1 patterns,
/// which may repeat. `maps` (may be NULL) receives one map for each. The values of a vstack and of a block_diag are
/// those of the patterns one after the other. Not kept.
LAC_API lac_status lac_pattern_hstack(lac_context *ctx, int64_t count, const lac_pattern *const *patterns,
                                      lac_pattern **out, lac_map **maps);
LAC_API lac_status lac_pattern_vstack(lac_context *ctx, int64_t count, const lac_pattern *const *patterns,
                                      lac_pattern **out, lac_map **maps);
LAC_API lac_status lac_pattern_block_diag(lac_context *ctx, int64_t count, const lac_pattern *const *patterns,
                                          lac_pattern **out, lac_map **maps);

/// Make the pattern of [[I, A], [A^T, I]], square, of rows + cols rows: the system of least squares (lac_lstsq). The
/// map takes these values, one behind the other, to its slots: the first diagonal (rows), the values of A, the values
/// of A^T in the order of A's slots, the second diagonal (cols). Kept.
LAC_API lac_status lac_pattern_augmented(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out,
                                         lac_map **map);

/// Make the pattern of B[i, j] = A[row[i], col[j]], for permutations of all rows and of all columns; NULL is the
/// identity. Not kept.
/// Errors: LAC_ERR_ARG names the first index that is out of range or repeated.
LAC_API lac_status lac_pattern_permute(lac_context *ctx, const lac_pattern *pattern, const int64_t *row,
                                       const int64_t *col, lac_pattern **out, lac_map **map);

/// Make the pattern of B = A[row, :][:, col], for lists of indices that may repeat; NULL takes all. An entry of A may
/// be several of B; this map therefore goes from the slots of B to those of A, and lac_remap with LAC_TRANSPOSED takes
/// the values of A to B. Not kept.
/// Errors: LAC_ERR_ARG names the first index that is out of range.
LAC_API lac_status lac_pattern_select(lac_context *ctx, const lac_pattern *pattern, int64_t rows, const int64_t *row,
                                      int64_t cols, const int64_t *col, lac_pattern **out, lac_map **map);

/// Make the pattern of the single entries of a block pattern, and the map from its nnz br bc numbers to their slots. Of
/// a pattern without blocks the result is that pattern.
LAC_API lac_status lac_pattern_scalar(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out, lac_map **map);

/// Make the pattern of the blocks of br x bc that hold any entry of a pattern without blocks, and the map from its
/// slots to the nnz br bc numbers, which are 0 where there is no entry. Not kept.
/// Errors: LAC_ERR_SHAPE unless br divides rows and bc divides cols.
LAC_API lac_status lac_pattern_blocked(lac_context *ctx, const lac_pattern *pattern, int64_t br, int64_t bc,
                                       lac_pattern **out, lac_map **map);

/// Set the budget, in bytes, of the results that are kept for pairs of patterns; the least recently used are dropped
/// first. Default: 256 MiB. The result of a pair ends with either of its patterns, and keeps neither alive. The places
/// of a product's terms, which make its values and adjoints fast, are kept where they take at most a quarter of the
/// budget: two bytes for each multiplication that a neighbouring row does not share.
LAC_API void lac_pattern_set_plan_budget(int64_t bytes);

// -- elimination -----------------------------------------------------------------------------------------------------

/// The order of elimination.
typedef enum lac_ordering {
  LAC_ORDER_AUTO,    ///< AMD; METIS where it is found and AMD promises a costly factor, the better of the two
  LAC_ORDER_AMD,     ///< approximate minimum degree
  LAC_ORDER_METIS,   ///< nested dissection; LAC_ERR_UNSUPPORTED where METIS is not found
  LAC_ORDER_NATURAL  ///< as the matrix comes
} lac_ordering;

/// Find out whether an ordering can be used here. METIS 5 is loaded now, from the file that LACUNA_METIS in the
/// environment names, else from where the system finds libmetis.so.
/// Errors: LAC_ERR_UNSUPPORTED where METIS is not found, with the package that brings it.
LAC_API lac_status lac_ordering_find(lac_context *ctx, lac_ordering ordering);

/// What can be read off a square pattern. `size`: see "Options and reports" in lacuna.h.
typedef struct lac_nature {
  size_t size;  ///< set by the caller: sizeof(lac_nature), or 0
  bool is_diagonal;
  bool is_triangular;       ///< after some permutation of rows and one of columns
  bool is_symmetric;        ///< (i, j) is stored where (j, i) is
  int64_t lower, upper;     ///< bandwidths
  int64_t diagonals;        ///< entries on the diagonal
  int64_t structural_rank;  ///< the largest number of entries of which no two share a row or column
  int64_t blocks;           ///< blocks of the block triangular form: strongly connected components after a matching
  int64_t components;       ///< connected components: independent systems
} lac_nature;

/// Read off the nature of a square pattern.
/// Cost: proportional to the entries, apart from the matching. It is kept with the pattern.
/// Errors: LAC_ERR_SHAPE for a pattern that is not square.
LAC_API lac_status lac_pattern_nature(lac_context *ctx, const lac_pattern *pattern, lac_nature *out);

/// Make the structure F of the factors of a square pattern, whatever its values: A[order, order], its transpose, the
/// diagonal, and what elimination without pivoting fills in. The triangles of F are those of L and U. `map` (optional)
/// takes the values of A there. `steps` (optional) says which row of A each row of F is: lac_gather by it takes b to
/// the order of F, lac_scatter_add takes x back.
/// Ownership: the caller destroys all three; they are kept with the pattern too.
/// Cost: time and memory proportional to the entries of F, and the ordering.
LAC_API lac_status lac_pattern_fill(lac_context *ctx, const lac_pattern *pattern, lac_ordering ordering,
                                    lac_pattern **out, lac_map **map, lac_map **steps);

#ifdef __cplusplus
}
#endif
#endif
