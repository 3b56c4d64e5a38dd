// SPDX-License-Identifier: Apache-2.0
/// @file worklist.h
/// From tasks with their products to a list by levels (kernels/listed.h).

#ifndef LACUNA_SOLVERS_BATCHED_WORKLIST_H
#define LACUNA_SOLVERS_BATCHED_WORKLIST_H

#include "kernels/listed.h"

/// Tasks as they are found: the products of task t are begin[t] .. begin[t + 1] - 1. A task of level 0 is none.
typedef struct lac_tasks {
  int64_t count;
  int32_t *level, *target, *over;
  int64_t *begin;
  uint32_t *left, *right;
  uint32_t no_left, no_right;  // where zeros are
} lac_tasks;

void lac_tasks_clear(lac_tasks *tasks);

/// `list` is zero before and cleared by the caller, also where this fails. Lanes are shared out by the lengths of sums,
/// with as many threads as the levels have work for on average.
lac_status lac_worklist_make(lac_context *ctx, const lac_tasks *tasks, lac_worklist *list);
void lac_worklist_clear(lac_worklist *list);

#endif
