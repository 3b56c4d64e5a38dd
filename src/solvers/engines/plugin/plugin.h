// SPDX-License-Identifier: Apache-2.0
/// @file plugin.h
/// What the plug-ins of engines share: the solvers' functions through their host, blocks of columns.

#ifndef LACUNA_SOLVERS_ENGINES_PLUGIN_PLUGIN_H
#define LACUNA_SOLVERS_ENGINES_PLUGIN_PLUGIN_H

#include "core/blas.h"
#include "solvers/engines/engine.h"

/// Where the caller's threads are all there is, BLAS runs in the one that calls it: between these two, if `threads` is
/// 1. LAC_ERR_MEMORY where BLAS has no memory: then there is nothing to leave.
lac_status plugin_enter(int threads, lac_fault *fault);
void plugin_leave(int threads);

/// Whether there is address space for so many bytes and the stacks of so many threads, which an engine will take: for
/// those that hang or end the process where it is not. LAC_ERR_MEMORY.
lac_status plugin_ask(const char *engine, double bytes, int threads, lac_fault *fault);

/// The first line of lac_plugin_<name>. False: the host is of another build.
bool plugin_start(const lac_host *host, const void *more);

/// Order by the core's own; the k-th to be eliminated. Structures for which 64-bit indices are used from the beginning.
lac_status plugin_order(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, int32_t *order);
bool plugin_is_wide(const lac_structure *structure);

lac_status plugin_fault(lac_fault *fault, lac_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Refuse what is neither f64 nor c128.
lac_status plugin_check_double(const char *engine, const char *instead, lac_dtype dtype, lac_fault *fault);

/// out[i] = values[slots[i]], numbers of `size` bytes.
void plugin_gather(int64_t count, size_t size, const int64_t *slots, const void *values, void *out);

/// A block of n rows of `width` numbers, as columns one after the other, and back.
void plugin_to_columns(int64_t n, int width, size_t size, const void *rows, void *columns);
void plugin_to_rows(int64_t n, int width, size_t size, const void *columns, void *rows);

/// A pivot relative to the largest number of its row or column, noted where it is the smallest so far.
void plugin_smallest(lac_finding *finding, double pivot, int64_t where);

#endif
