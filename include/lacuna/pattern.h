// SPDX-License-Identifier: Apache-2.0
/// @file pattern.h
/// A pattern is the immutable structure of a sparse matrix: which entries exist.
///
/// Entries are kept by rows, columns ascending, each at most once: the place of an entry in that order is its *slot*, and the
/// values of a matrix are an array with one number for each slot. Stored zeros are entries like any other. Because the
/// order is canonical, equal structure means equal slots; what comes in another order (COO, CSC, an unsorted CSR, a
/// transpose) is taken over by a map (map.h) that says where each input entry went, and `remap` moves values along it.
///
/// A pattern may have blocks: its slots then hold br x bc numbers each, values are [*batch, nnz, br, bc], and nnz counts blocks.
/// `spmm`, `sddmm` and solves take such patterns; everything else wants single entries, says so, and lac_pattern_scalar
/// gives them. Maps of block patterns are between the flattened numbers, nnz br bc of them: reshape, remap, reshape. A
/// block of 1 x 1 is no block: values are [*batch, nnz].
///
/// Patterns are context-free, reference counted and safe to share between threads. What depends on structure alone is
/// computed when first needed and kept with the pattern: the transpose, the maps to diagonal, rows and
/// columns, the four triangles used last, symbolic analyses. Asking for one of them again gives the same object.

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

/// The integers in which indices are handed in.
typedef enum lac_index_type { LAC_I32, LAC_I64 } lac_index_type;

/// The integers in which a pattern keeps its offsets / columns. Slot maps use the offsets' type.
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

/// Which triangle, and what stands on the diagonal.
typedef enum lac_triangle { LAC_TRIANGLE_LOWER, LAC_TRIANGLE_UPPER } lac_triangle;
typedef enum lac_diagonal { LAC_DIAGONAL_STORED, LAC_DIAGONAL_UNIT } lac_diagonal;

/// From coordinates in any order. Duplicates share a slot: their values sum, and each gets the full cotangent. A row or
/// a column of -1 drops its entry, as a fixed degree of freedom does: the map has -1 for it, its value goes nowhere and
/// its cotangent is 0. `entries` (optional) receives the map from input entries to slots. Errors name the first
/// offending position.
LAC_API lac_status lac_pattern_from_coo(lac_context *ctx, int64_t rows, int64_t cols, int64_t count,
                                        lac_index_type type, const void *row, const void *col, lac_width width,
                                        lac_pattern **out, lac_map **entries);

/// From compressed rows (rows + 1 offsets). Columns within a row may be unsorted and repeated.
LAC_API lac_status lac_pattern_from_csr(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                        const void *offsets, const void *columns, lac_width width, lac_pattern **out,
                                        lac_map **entries);

/// The same two with indices where the context's arrays lie: on a CUDA device they are read and sorted there, the pattern and its map
/// are born there, and nothing but a few counts comes to the host. What algorithms on the host ask of such a pattern later is copied
/// to it then, once. The indices belong to the context's stream, and are done with on return. Errors are those above.
LAC_API lac_status lac_pattern_from_coo_on(lac_context *ctx, int64_t rows, int64_t cols, int64_t count,
                                           lac_index_type type, const void *row, const void *col, lac_width width,
                                           lac_pattern **out, lac_map **entries);
LAC_API lac_status lac_pattern_from_csr_on(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                           const void *offsets, const void *columns, lac_width width, lac_pattern **out,
                                           lac_map **entries);

/// From compressed columns (cols + 1 offsets).
LAC_API lac_status lac_pattern_from_csc(lac_context *ctx, int64_t rows, int64_t cols, lac_index_type type,
                                        const void *offsets, const void *rows_of, lac_width width, lac_pattern **out,
                                        lac_map **entries);

/// From compressed rows of blocks of br x bc (rows / br + 1 offsets, columns of blocks), in any order and repeated. The size must
/// divide rows and cols. `entries` is on the flattened numbers, offsets[last] br bc of them.
LAC_API lac_status lac_pattern_from_bsr(lac_context *ctx, int64_t rows, int64_t cols, int64_t br, int64_t bc,
                                        lac_index_type type, const void *offsets, const void *columns, lac_width width,
                                        lac_pattern **out, lac_map **entries);

/// The pattern of the k-th diagonal, entries (i, i + k): the matrix whose values are a vector.
LAC_API lac_status lac_pattern_eye(lac_context *ctx, int64_t rows, int64_t cols, int64_t k, lac_width width,
                                   lac_pattern **out);

/// All entries of a rows x cols matrix with -lower <= col - row <= upper. `map` (optional) takes the band's storage (lac_banded_mm in
/// ops.h, flattened) to the slots and, transposed, back: its corners are dropped.
LAC_API lac_status lac_pattern_banded(lac_context *ctx, int64_t rows, int64_t cols, int64_t lower, int64_t upper,
                                      lac_width width, lac_pattern **out, lac_map **map);

/// One more holder; one holder less (accepts NULL, leaves NULL).
LAC_API lac_pattern *lac_pattern_retain(const lac_pattern *pattern);
LAC_API void lac_pattern_destroy(lac_pattern **pattern);

LAC_API int64_t lac_pattern_rows(const lac_pattern *pattern);
LAC_API int64_t lac_pattern_cols(const lac_pattern *pattern);
LAC_API int64_t lac_pattern_nnz(const lac_pattern *pattern);  ///< slots: blocks, where there are blocks
LAC_API void lac_pattern_blocks(const lac_pattern *pattern, int64_t *br, int64_t *bc);  ///< 1 and 1 without blocks
LAC_API lac_width lac_pattern_width(const lac_pattern *pattern);
LAC_API int64_t lac_pattern_bytes(const lac_pattern *pattern);  ///< host bytes held, caches included

/// A 64-bit name that no other pattern, map, format, solver or factor of this process has or will have.
LAC_API int64_t lac_pattern_id(const lac_pattern *pattern);

/// Host copies of the structure: rows + 1 offsets, nnz columns, nnz rows (each may be NULL). Of a block pattern: rows / br + 1
/// offsets, columns and rows of blocks. Only a pattern that was made on a device can fail: LAC_ERR_MEMORY, or LAC_ERR_BACKEND when the
/// device does.
LAC_API lac_status lac_pattern_read(const lac_pattern *pattern, int64_t *offsets, int64_t *columns, int64_t *rows_of);

/// Equal structure and block size, and therefore equal slots: 1 or 0. Widths may differ.
LAC_API int lac_pattern_same(const lac_pattern *a, const lac_pattern *b);

// Patterns made of patterns. Each gives the new pattern and, when asked (the last pointer may be NULL), the map that takes
// the old values to the new. No derivative passes through the structure; values follow by `remap`. A part that is the whole,
// and a union that adds nothing, give the pattern itself, retained. Distributed patterns: LAC_ERR_UNSUPPORTED.

/// A^T. For a symmetric structure the result is the same pattern, and still the map is not the identity.
LAC_API lac_status lac_pattern_transpose(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out,
                                         lac_map **map);

/// The entries on and below (LAC_TRIANGLE_LOWER) or above (LAC_TRIANGLE_UPPER) the k-th diagonal, col - row <= k or >= k; same shape.
LAC_API lac_status lac_pattern_triangle(lac_context *ctx, const lac_pattern *pattern, lac_triangle triangle, int64_t k,
                                        lac_pattern **out, lac_map **map);

/// Rows [row0, row1) and columns [col0, col1). Not kept: every call makes a new pattern.
LAC_API lac_status lac_pattern_submatrix(lac_context *ctx, const lac_pattern *pattern, int64_t row0, int64_t row1,
                                         int64_t col0, int64_t col1, lac_pattern **out, lac_map **map);

/// Entries of either: same shape. The maps take the values of a and of b to the slots of the union.
LAC_API lac_status lac_pattern_union(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out,
                                     lac_map **from_a, lac_map **from_b);

/// Entries of both: same shape. The maps take the values of a and of b there; what only one has is dropped. Kept for the pair.
LAC_API lac_status lac_pattern_intersection(lac_context *ctx, const lac_pattern *a, const lac_pattern *b,
                                            lac_pattern **out, lac_map **from_a, lac_map **from_b);

/// Where A B may be nonzero. Kept for the pair, so that asking again costs nothing.
LAC_API lac_status lac_pattern_product(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out);

/// The map from slots to the min(rows, cols) numbers of the diagonal; missing entries read 0.
LAC_API lac_status lac_pattern_diagonal(lac_context *ctx, const lac_pattern *pattern, lac_map **map);

/// The maps from slots to rows and to columns, kept with the pattern: remap by them sums each row or column.
LAC_API lac_status lac_pattern_row_map(lac_context *ctx, const lac_pattern *pattern, lac_map **map);
LAC_API lac_status lac_pattern_col_map(lac_context *ctx, const lac_pattern *pattern, lac_map **map);

/// The map from slots to the rows * cols numbers of the dense matrix, row-major. It is made anew by every call, and
/// `remap` by it is what makes an array of that size.
LAC_API lac_status lac_pattern_dense(lac_context *ctx, const lac_pattern *pattern, lac_map **map);

/// The Kronecker product: entry (i mb + k, j nb + l) where a has (i, j) and b has (k, l). The map takes the outer product of
/// the values, nnz_a x nnz_b numbers by rows, to the slots. LAC_ERR_OVERFLOW before any memory is taken. Kept for the pair.
LAC_API lac_status lac_pattern_kron(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out,
                                    lac_map **map);

/// [A B ...], [A; B; ...], and A, B, ... along the diagonal of a matrix without other entries: at least one pattern, the same one
/// as often as one likes. `maps` (optional) receives one map for each. The values of a vstack and of a block_diag are those of the
/// patterns one after the other. Not kept.
LAC_API lac_status lac_pattern_hstack(lac_context *ctx, int64_t count, const lac_pattern *const *patterns,
                                      lac_pattern **out, lac_map **maps);
LAC_API lac_status lac_pattern_vstack(lac_context *ctx, int64_t count, const lac_pattern *const *patterns,
                                      lac_pattern **out, lac_map **maps);
LAC_API lac_status lac_pattern_block_diag(lac_context *ctx, int64_t count, const lac_pattern *const *patterns,
                                          lac_pattern **out, lac_map **maps);

/// [[I, A], [A^T, I]], a square of rows + cols: the system of least squares (lac_lstsq). The map takes to its slots, one behind the
/// other: the first diagonal (rows), the values of A, those of its mirror image in A's slots, the second diagonal (cols). Kept.
LAC_API lac_status lac_pattern_augmented(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out,
                                         lac_map **map);

/// B[i, j] = A[row[i], col[j]] with permutations of all rows and all columns; NULL leaves them. Not kept.
LAC_API lac_status lac_pattern_permute(lac_context *ctx, const lac_pattern *pattern, const int64_t *row,
                                       const int64_t *col, lac_pattern **out, lac_map **map);

/// B = A[row, :][:, col] with any lists of indices, repeated ones too; NULL takes all. An entry of A may go to several of B, so
/// this map runs from the slots of B to those of A: values follow by remap with LAC_TRANSPOSED. Not kept.
LAC_API lac_status lac_pattern_select(lac_context *ctx, const lac_pattern *pattern, int64_t rows, const int64_t *row,
                                      int64_t cols, const int64_t *col, lac_pattern **out, lac_map **map);

/// The single entries of a block pattern, and the map from its nnz br bc numbers to their slots. A pattern without blocks gives
/// itself.
LAC_API lac_status lac_pattern_scalar(lac_context *ctx, const lac_pattern *pattern, lac_pattern **out, lac_map **map);

/// The blocks of br x bc that hold any entry of a pattern without blocks, and the map from its slots to the nnz br bc numbers, 0
/// where there was no entry. The size must divide the shape. Not kept: every call makes a new pattern.
LAC_API lac_status lac_pattern_blocked(lac_context *ctx, const lac_pattern *pattern, int64_t br, int64_t bc,
                                       lac_pattern **out, lac_map **map);

/// Byte budget of the plans kept for pairs of patterns (least recently used go first). Default 256 MiB. A plan goes with either of
/// its patterns, and keeps neither alive. The places of a product's terms, which make its values and adjoints fast, are part of
/// its plan when they take at most a quarter of the budget: two bytes for each multiplication that a neighbouring row does not share.
LAC_API void lac_pattern_set_plan_budget(int64_t bytes);

// -- what elimination makes of a pattern -----------------------------------------------------------------------------

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
