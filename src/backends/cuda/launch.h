// SPDX-License-Identifier: Apache-2.0
/// @file launch.h
/// The launchers of the CUDA kernels, as C sees them: raw device pointers, sizes and words.
///
/// A launcher starts kernels on `stream` and returns at once; it takes no memory and never waits, so that all of them
/// can be captured into a CUDA graph. The current device is the stream's. Every sum has one fixed order, whatever else
/// runs.

#ifndef LACUNA_BACKENDS_CUDA_LAUNCH_H
#define LACUNA_BACKENDS_CUDA_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/columns.h"
#include "lacuna/array.h"
#include "lacuna/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A row-major range of indices, and where each leads in up to two operands: an offset in numbers, linear in the index.
typedef struct cuda_axes {
  int64_t count;  // product of the shape
  int ndim;
  int64_t shape[LAC_MAX_DIMS];
  int64_t stride[2][LAC_MAX_DIMS];  // 0 where an operand is broadcast
} cuda_axes;

/// How a product runs over batches: `kept` are the items of the output, in order; `summed` what each of them adds up.
typedef struct cuda_batch {
  cuda_axes kept, summed;
} cuda_batch;

/// Integers on the device.
typedef struct cuda_index {
  const void *data;
  lac_index_type type;
} cuda_index;

/// A matrix on the device as lac_rows walks it; slots.data is NULL where entry p has slot p.
typedef struct cuda_rows {
  int64_t rows, entries;
  cuda_index offsets, columns, slots;
} cuda_rows;

/// An operation on columns, and a pass of them, as kernels/columns.h has it.
enum { CUDA_COLUMN_OPS = 4 };
typedef struct cuda_column_op {
  lac_column_what what;
  int slot;
  double sign;
  const void *x;
  void *y;
} cuda_column_op;
typedef struct cuda_column_pass {
  int count;
  cuda_column_op op[CUDA_COLUMN_OPS];
} cuda_column_pass;

/// All operations of a pass over vectors [items, n, k], with a state [., items, k]. `scratch` has the bytes that
/// cuda_columns_scratch says for so many inner products (0: it may be NULL).
size_t cuda_columns_scratch(int64_t items, int64_t n, int64_t k, int dots);
cudaError_t cuda_launch_columns(cudaStream_t stream, lac_dtype dtype, int64_t items, int64_t n, int64_t k,
                                const cuda_column_pass *ops, lac_pair *state, void *scratch);

/// A step for each column of a state.
cudaError_t cuda_launch_column_step(cudaStream_t stream, lac_column_step which, const lac_step_numbers *numbers,
                                    int64_t columns, lac_pair *state);

/// y[b, target[i]] = x[b, i], where no two targets are equal; negative ones are dropped. y is set to zero before.
cudaError_t cuda_launch_scatter(cudaStream_t stream, lac_dtype dtype, int64_t batch, int64_t inputs, int64_t outputs,
                                int64_t k, cuda_index target, const void *x, void *y);

/// y[b, i] = x[b, target[i]], or 0 where the target is negative.
cudaError_t cuda_launch_gather(cudaStream_t stream, lac_dtype dtype, int64_t batch, int64_t inputs, int64_t outputs,
                               int64_t k, cuda_index target, const void *x, void *y);

/// y[b, j] = sum of x[b, sources[g]] over offsets[j] <= g < offsets[j + 1].
cudaError_t cuda_launch_group(cudaStream_t stream, lac_dtype dtype, int64_t batch, int64_t inputs, int64_t outputs,
                              int64_t k, cuda_index offsets, cuda_index sources, const void *x, void *y);

/// The sums over blocks of kernels/hash.h: two words.
cudaError_t cuda_launch_hash(cudaStream_t stream, const void *data, size_t bytes, uint64_t *leaves);

/// The survey of some rows of a matrix, or of all (kernels/survey.h). Slots and rows: the first offender or INT64_MAX.
typedef struct cuda_survey_part {
  int64_t nonfinite;
  int64_t asymmetric;  // twice the slot, and 1 if its mirror is not stored
  int64_t not_positive, without;
  int64_t excess;           // entries above the diagonal less those below it
  double positive, beside;  // sums of real parts above zero, and of sizes, off the diagonal
  double dominance, largest;
} cuda_survey_part;

/// Shares by moduli, one for each item: NULL where they were not looked for.
typedef struct cuda_survey_shares {
  const double *rows, *columns;
} cuda_survey_shares;

/// A slot or a row, and the first item with such an offender; INT64_MAX: no item has one.
typedef struct cuda_survey_place {
  int64_t at, item;
} cuda_survey_place;

/// The survey of all items.
typedef struct cuda_survey_all {
  cuda_survey_place nonfinite, asymmetric, not_positive, without;
  double dominance;
  int is_uneven;  // there are not as many entries above the diagonal as below
  int is_m_like;
  int wants_rows, wants_columns;  // shares by moduli may still decide
} cuda_survey_all;

/// The parts of one matrix before they are joined.
int64_t cuda_survey_parts(const cuda_rows *rows);

/// Square matrices, one or more: parts [items, cuda_survey_parts] are joined to one part and the largest size of each
/// item.
cudaError_t cuda_launch_survey(cudaStream_t stream, lac_dtype dtype, const cuda_rows *rows, int64_t items,
                               const void *values, cuda_survey_part *parts, cuda_survey_part *of_items,
                               double *largest);

/// The largest share of a row, by moduli, of each item for which it may decide.
cudaError_t cuda_launch_survey_shares(cudaStream_t stream, lac_dtype dtype, const cuda_rows *rows, int64_t items,
                                      const void *values, const cuda_survey_part *of_items, double *shares);

cudaError_t cuda_launch_survey_all(cudaStream_t stream, int64_t items, const cuda_survey_part *of_items,
                                   cuda_survey_shares shares, cuda_survey_all *out);

/// The first entry whose mirror is not stored; the first number that is not finite; else -1.
cudaError_t cuda_launch_survey_unpaired(cudaStream_t stream, const cuda_rows *rows, int64_t *first);
cudaError_t cuda_launch_survey_finite(cudaStream_t stream, lac_dtype dtype, int64_t count, const void *values,
                                      int64_t *first);

/// Integers on the device that are written.
typedef struct cuda_integers {
  void *data;
  lac_index_type type;
} cuda_integers;

/// What is wrong with entries, and what offsets are: positions are the first of their kind, or -1. An index of -1 drops
/// its entry where `lowest` is -1, and is outside where it is 0.
typedef struct cuda_entries_look {
  int64_t row, col, dropped;
  int is_unordered;
} cuda_entries_look;
typedef struct cuda_offsets_look {
  int64_t descent, first, last;
} cuda_offsets_look;
cudaError_t cuda_launch_look_at_entries(cudaStream_t stream, int64_t rows, int64_t cols, int64_t count, int64_t lowest,
                                        cuda_index row, cuda_index col, cuda_entries_look *out);
cudaError_t cuda_launch_look_at_offsets(cudaStream_t stream, int64_t lines, cuda_index offsets, cuda_offsets_look *out);

/// out[i] = i; out[i] = from[at[i]], where `at` without data is i itself; out[at[i]] = i unless at[i] is negative.
cudaError_t cuda_launch_count_up(cudaStream_t stream, int64_t count, cuda_integers out);
cudaError_t cuda_launch_take(cudaStream_t stream, int64_t count, cuda_index from, cuda_index at, cuda_integers out);
cudaError_t cuda_launch_invert(cudaStream_t stream, int64_t count, cuda_index at, cuda_integers out);

/// lines[p] = the i with offsets[i] <= p < offsets[i + 1]; and back, from lines that do not descend: offsets[i] = the
/// first p with lines[p] >= i, of i = 0 .. outputs.
cudaError_t cuda_launch_lines_of(cudaStream_t stream, int64_t count, int64_t lines, cuda_index offsets,
                                 cuda_integers out);
cudaError_t cuda_launch_offsets_of(cudaStream_t stream, int64_t count, int64_t outputs, cuda_index lines,
                                   cuda_integers offsets);

/// key[i] = high[at[i]] << shift | low[at[i]], where `at`, high or low without data are i itself and 0. A negative
/// integer counts as `none`.
cudaError_t cuda_launch_keys(cudaStream_t stream, int64_t count, cuda_index at, cuda_index high, int shift,
                             cuda_index low, int64_t none, uint64_t *keys);

/// Sort keys of so many bits, stably, with the integers that go with them. Both are double: the result is in place
/// *which, 0 or 1. `scratch` has the bytes that cuda_sort_scratch says.
size_t cuda_sort_scratch(int64_t count, int bits, lac_index_type type);
cudaError_t cuda_launch_sort(cudaStream_t stream, int64_t count, int bits, uint64_t *const keys[2],
                             const cuda_integers values[2], void *scratch, size_t bytes, int *which);

/// Rows and columns with what is dropped in one place of a row behind the last: (rows, 0).
cudaError_t cuda_launch_set_aside(cudaStream_t stream, int64_t rows, int64_t count, cuda_index row, cuda_index col,
                                  cuda_integers to_row, cuda_integers to_col);

/// Sorted entries: order[i] is the i-th of them (data is NULL: i itself). Its key, row << shift | column, saves a look
/// at coordinates all over memory; keys is NULL where a key does not hold both.
typedef struct cuda_sorted {
  cuda_index order;
  const uint64_t *keys;
  int shift;
} cuda_sorted;

/// Of sorted entries: slots[i] is one more than the slot of the i-th, which those with
/// the same row and column share. `scratch` has the bytes that cuda_slots_scratch says.
size_t cuda_slots_scratch(int64_t count, lac_index_type type);
cudaError_t cuda_launch_slots(cudaStream_t stream, int64_t count, cuda_sorted sorted, cuda_index row, cuda_index col,
                              cuda_integers slots, void *scratch, size_t bytes);

/// The row and the column of each of nnz slots, and the slot of each entry, -1 where it is not one of them; targets
/// without data are left out.
cudaError_t cuda_launch_emit(cudaStream_t stream, int64_t count, int64_t nnz, cuda_sorted sorted, cuda_index row,
                             cuda_index col, cuda_index slots, cuda_integers rows_of, cuda_integers columns,
                             cuda_integers target);

/// Of a product A B: starts[p] = how many products the entries of A before p have, of p = 0 .. entries. `scratch` has
/// the bytes that cuda_slots_scratch says of entries + 1 integers of 64 bits.
cudaError_t cuda_launch_starts(cudaStream_t stream, int64_t entries, cuda_index columns, cuda_index b_offsets,
                               int64_t *starts, void *scratch, size_t bytes);

/// The row and the column of each product.
cudaError_t cuda_launch_products(cudaStream_t stream, int64_t count, int64_t entries, cuda_index starts,
                                 cuda_index rows_of, cuda_index columns, cuda_index b_offsets, cuda_index b_columns,
                                 cuda_integers row, cuda_integers col);

/// 1 in out[0] where an integer i is not i; 1 in out[1] where one is negative or less than that before it. `out` begins
/// as zeros.
cudaError_t cuda_launch_ascends(cudaStream_t stream, int64_t count, cuda_index integers, int *out);

/// 1 in *out where two integers differ; it begins as zero.
cudaError_t cuda_launch_differ(cudaStream_t stream, int64_t count, cuda_index a, cuda_index b, int *out);

/// Add up lac_fingerprint_image into *sum, which begins as zero.
cudaError_t cuda_launch_print(cudaStream_t stream, int64_t count, cuda_index integers, uint64_t seed, uint64_t *sum);

#ifdef __cplusplus
}
#endif
#endif
