// SPDX-License-Identifier: Apache-2.0
/// @file levels.h
/// The level sets of a triangular pattern: a row's level is one more than the highest level of the rows that it needs.
/// Rows of a level do not need each other.

#ifndef LACUNA_BACKENDS_CPU_SOLVES_LEVELS_H
#define LACUNA_BACKENDS_CPU_SOLVES_LEVELS_H

#include "backends/cpu/base/cpu.h"

typedef struct cpu_levels {
  lac_object object;
  bool transposed, is_lower;  // the walk whose rows these are
  int64_t count;              // 0: too many and too narrow to be used
  int64_t *offsets;           // count + 1
  lac_buffer *order;          // the rows by level, ascending within each
} cpu_levels;

/// The levels of a walk, found when first asked and kept with the pattern. They are of use when a level has `work`
/// entries and rows on average; else count is 0. Retained for the caller (lac_object_release).
lac_status cpu_levels_get(lac_context *ctx, const lac_pattern *p, const lac_rows *rows, bool is_lower, int64_t work,
                          cpu_levels **out);

#endif
