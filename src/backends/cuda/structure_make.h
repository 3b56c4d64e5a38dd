// SPDX-License-Identifier: Apache-2.0
/// @file structure_make.h
/// What the files of structure on the device share: buffers that are made there, and the loops of structure_parts.c.

#ifndef LACUNA_BACKENDS_CUDA_STRUCTURE_MAKE_H
#define LACUNA_BACKENDS_CUDA_STRUCTURE_MAKE_H

#include "backends/cuda/backend.h"
#include "core/pattern/structure.h"

/// A new buffer, as launchers write it.
lac_status cuda_structure_create(lac_context *ctx, lac_index_type type, int64_t count, lac_buffer **out,
                                 cuda_integers *to);

/// Wait for what fills a buffer, and hand it over.
lac_status cuda_structure_finish(lac_context *ctx, cuda_scope scope, cudaError_t error, const char *call,
                                 lac_buffer **made, lac_buffer **out);

/// An error of CUDA as a status, and the words at `from` on the host.
lac_status cuda_structure_read(lac_context *ctx, cuda_scope scope, cudaError_t error, const char *call, void *to,
                               const void *from, size_t bytes);

/// The slots of lac_structure_kernels by the same names.
lac_status cuda_structure_select(lac_context *ctx, const lac_pattern *a, const lac_window *w, lac_width width,
                                 lac_buffer **offsets, lac_buffer **columns, lac_buffer **target);
lac_status cuda_structure_products(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_buffer **row,
                                   lac_buffer **col);
lac_status cuda_structure_kron(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_width width,
                               lac_buffer **offsets, lac_buffer **columns, lac_buffer **target);
lac_status cuda_structure_stack(lac_context *ctx, const lac_stacking *s, lac_buffer **offsets, lac_buffer **columns,
                                lac_buffer **targets);
lac_status cuda_structure_places(lac_context *ctx, const lac_pattern *a, int64_t stride, lac_index_type type,
                                 lac_buffer **out);

#endif
