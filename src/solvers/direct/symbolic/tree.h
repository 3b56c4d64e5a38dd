// SPDX-License-Identifier: Apache-2.0
/// @file tree.h
/// Work along the tree of supernodes.
///
/// Disjoint subtrees are done by one thread each, several at once; what is above them by all threads together, one
/// supernode after another. Which subtrees these are depends on the tree alone, never on the number of threads: so the
/// bits of a result do not either.

#ifndef LACUNA_SOLVERS_DIRECT_SYMBOLIC_TREE_H
#define LACUNA_SOLVERS_DIRECT_SYMBOLIC_TREE_H

#include "solvers/direct/symbolic/supernodes.h"

/// Cut the tree: fills s->ranges and what goes with them, update_at and what goes with it, from parent, leftmost, rows
/// and flops. False: no memory. Part of making an analysis.
bool lac_tree_cut(lac_supernodes *s);

/// Work on supernode s in thread `worker` of 0 .. threads - 1 given to the walk; `threads` may be used inside. False
/// stops the walk.
typedef bool lac_tree_visit(void *job, int32_t s, int worker, int threads);

/// Children before parents; parents before children. False when a visit said so.
bool lac_tree_up(const lac_supernodes *s, int threads, lac_tree_visit *visit, void *job);
bool lac_tree_down(const lac_supernodes *s, int threads, lac_tree_visit *visit, void *job);

/// The same for callers that need to know where subtrees begin and end: ranges[range] holds whole subtrees, for one
/// thread, or one supernode above them, for all. Inside a range, the visit goes through the supernodes itself.
typedef bool lac_tree_visit_range(void *job, int32_t range, int worker, int threads);
bool lac_tree_up_ranges(const lac_supernodes *s, int threads, lac_tree_visit_range *visit, void *job);
bool lac_tree_down_ranges(const lac_supernodes *s, int threads, lac_tree_visit_range *visit, void *job);

/// The subtrees alone.
bool lac_tree_subtrees(const lac_supernodes *s, int threads, lac_tree_visit_range *visit, void *job);

#endif
