// SPDX-License-Identifier: Apache-2.0
/// @file pairwise_lists.h
/// A short list of integers for each slice of rows, kept once for neighbours that have the same: a grid has a handful
/// of them.

#ifndef LACUNA_BACKENDS_CPU_PAIRWISE_PAIRWISE_LISTS_H
#define LACUNA_BACKENDS_CPU_PAIRWISE_PAIRWISE_LISTS_H

#include "kernels/pairwise.h"

enum { CPU_LIST = 10 + 3 * LAC_SHAPE };  // integers, at most

typedef struct cpu_lister {
  const void *self;
  /// The list of a slice; returns how many integers it has, at least 1
  int (*make)(const void *self, int64_t slice, int32_t list[CPU_LIST]);
  /// Whether a slice has this list: quicker than making it, and may say no where it has
  bool (*is_like)(const void *self, int64_t slice, const int32_t *list);
} cpu_lister;

/// The list of slice s is lists[firsts[s]] and on. The same on any number of threads.
lac_status cpu_lists_create(lac_context *ctx, const cpu_lister *lister, int64_t slices, int threads,
                            lac_buffer **firsts, lac_buffer **lists);

#endif
