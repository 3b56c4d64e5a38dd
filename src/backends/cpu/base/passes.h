// SPDX-License-Identifier: Apache-2.0
/// @file passes.h
/// Products that walk the rows of a pattern once for each item of a joint batch: spmm and sddmm.

#ifndef LACUNA_BACKENDS_CPU_BASE_PASSES_H
#define LACUNA_BACKENDS_CPU_BASE_PASSES_H

#include "backends/cpu/base/cpu.h"

enum { CPU_BYTES_AHEAD = 1024 };  // of a row that is prefetched: hardware foresees the rest

/// One walk: one item of the batch.
typedef struct cpu_pass {
  const void *offsets, *columns, *slots;  // slots == NULL: entry p has slot p
  int64_t rows, cols, k;
  int64_t stride;                   // of rows of y: k, or more where the walk has a part of the columns
  int64_t br, bc;                   // rows and columns of a block, for the kernels of blocks
  bool wide_offsets, wide_columns;  // 64-bit integers, for kernels whose type does not show it
  double sign;                      // -1 conjugates the values
  bool adds;                        // to what the output holds
  bool streams;                     // the output past the caches
  bool is_large;                    // the matrix is beyond the caches
  int64_t ahead;                    // entries by which rows of a dense operand are prefetched; 0: not at all
  void *next;                       // by parts: the entry with which each row goes on, of the type of offsets
  int64_t limit;                    // and the column before which it ends
  const void *in[2];
  void *out;
} cpu_pass;

// Reading the structure where the type does not show the width: the branch is predicted, and its cost is small
// relative to the work of a block.
static inline int64_t cpu_pass_offset(const cpu_pass *pass, int64_t i) {
  return pass->wide_offsets ? ((const int64_t *)pass->offsets)[i] : ((const int32_t *)pass->offsets)[i];
}
static inline int64_t cpu_pass_column(const cpu_pass *pass, int64_t p) {
  return pass->wide_columns ? ((const int64_t *)pass->columns)[p] : ((const int32_t *)pass->columns)[p];
}
static inline int64_t cpu_pass_slot(const cpu_pass *pass, int64_t p) {
  if (!pass->slots) return p;
  return pass->wide_offsets ? ((const int64_t *)pass->slots)[p] : ((const int32_t *)pass->slots)[p];
}

typedef void (*cpu_pass_rows)(const cpu_pass *pass, int64_t begin, int64_t end);

/// All walks of a call. `pass` holds what they share.
typedef struct cpu_passes {
  cpu_pass pass;
  cpu_pass_rows kernel;
  lac_batch batch;  // of in[0], in[1], out
  size_t bytes[3];  // of one item of each
  const lac_buffer *offsets;
} cpu_passes;

/// Set what the walks share: the pattern, the operands, which have `core` dimensions behind their batch.
void cpu_passes_init(cpu_passes *passes, const lac_rows *rows, const lac_array *const in[2], lac_array *out,
                     const int core[3]);

/// How many entries ahead rows of `bytes` bytes of a dense operand should be prefetched: 0 where neighbouring rows of
/// the matrix read neighbouring rows of the operand, or all of it fits a cache.
int64_t cpu_rows_ahead(const lac_rows *rows, size_t bytes);

/// How many columns of a dense operand, in whole lines, are read at a time so that its rows stay in the last cache
/// while entries ask for them in any order: k, where all are read at once, for they are few, or entries near each
/// other.
int64_t cpu_tile_columns(const lac_rows *rows, int64_t k, size_t number);

/// Likewise in how many parts its rows are read: 1, where in one.
int64_t cpu_tile_parts(const lac_rows *rows, int64_t k, size_t number);

/// The walk of one item.
cpu_pass cpu_pass_of(const cpu_passes *passes, int64_t item);

/// Run that of `walk`, whatever its batch, with its rows cut among threads.
void cpu_pass_run(int threads, const cpu_passes *walk);

/// How many threads its rows are worth, and those of all items.
int cpu_passes_threads(const lac_context *ctx, const cpu_passes *passes);

/// The bytes of the last cache; 0: not known. Tests set others, -1 those of the machine.
int64_t cpu_last_cache(void);
void cpu_last_cache_set(int64_t bytes);

/// Run all walks. `whole`: the kernel must see all rows at once.
void cpu_passes_run(lac_context *ctx, const cpu_passes *passes, bool whole);

#endif
