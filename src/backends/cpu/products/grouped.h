// SPDX-License-Identifier: Apache-2.0
/// @file grouped.h
/// Kernels over the groups of a map: its inputs, or its outputs with their sources, once for each item of a joint
/// batch.

#ifndef LACUNA_BACKENDS_CPU_PRODUCTS_GROUPED_H
#define LACUNA_BACKENDS_CPU_PRODUCTS_GROUPED_H

#include "backends/cpu/base/cpu.h"

/// One item of the batch.
typedef struct cpu_grouped {
  const void *target;             // of each input
  const void *offsets, *sources;  // of each output; sources == NULL: a group is a run of inputs
  int64_t inputs, outputs;
  int64_t d, e;  // sizes of a matrix (gather_mm)
  int64_t full;  // length of a group with its implicit zeros; 0: there are no such zeros
  double sign;   // -1 conjugates, or turns max into min
  bool adds;     // to what the output holds
  const void *in[2];
  void *out;
} cpu_grouped;

typedef void (*cpu_grouped_kernel)(const cpu_grouped *g, int64_t begin, int64_t end);

/// A call: what the items share, and what is cut among threads.
typedef struct cpu_grouping {
  cpu_grouped shared;
  cpu_grouped_kernel kernel;
  lac_batch batch;            // of in[0], in[1], out
  size_t bytes[3];            // of one item of each
  int64_t range;              // what a kernel's begin and end count
  int64_t work;               // products of one item
  const lac_buffer *offsets;  // cut the range, which is that of the outputs, by their sources; NULL: evenly
} cpu_grouping;

/// Set the map and the operands, which have `core` dimensions behind their batch.
lac_status cpu_grouping_init(lac_context *ctx, cpu_grouping *g, const lac_map *map, const lac_array *const in[2],
                             lac_array *out, const int core[3]);

void cpu_grouping_run(lac_context *ctx, const cpu_grouping *g);

// Kernel texts over a map are included once for each dtype T and each type C of its integers: IN(name) is name_<T>_<C>.
#define IN(name) PASTE(FN(name), C)
#define TABLE_TYPES(name)                                                \
  {                                                                      \
    {name##_f32_i32, name##_f64_i32, name##_c64_i32, name##_c128_i32}, { \
      name##_f32_i64, name##_f64_i64, name##_c64_i64, name##_c128_i64    \
    }                                                                    \
  }
#define TABLE_REALS(name)                                                \
  {                                                                      \
    {name##_f32_i32, name##_f64_i32}, { name##_f32_i64, name##_f64_i64 } \
  }

#endif
