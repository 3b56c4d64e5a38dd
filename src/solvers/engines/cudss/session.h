// SPDX-License-Identifier: Apache-2.0
/// @file session.h
/// One matrix, or a batch of one pattern, in the hands of cuDSS: its analysis and its factor, on the device.
///
/// cuDSS keeps both in one object. A factor therefore has a session of its own, and gives it back when it ends: the
/// next factor of the same pattern then factors without an analysis.

#ifndef LACUNA_SOLVERS_ENGINES_CUDSS_SESSION_H
#define LACUNA_SOLVERS_ENGINES_CUDSS_SESSION_H

#include "core/array_impl.h"
#include "core/pattern/pattern_impl.h"
#include "solvers/engines/cudss/library.h"

/// What an analysis is of.
typedef struct cudss_nature {
  const lac_space *space;  // where the arrays lie
  lac_dtype dtype;
  int64_t items;
  int of;             // CUDSS_GENERAL ...
  bool matches;       // rows are matched with columns, by the values that were analysed
  bool is_transpose;  // of the pattern
  bool repeats;       // its bits
  bool lends;         // memory of the space to cuDSS, which else takes its own
} cudss_nature;

/// What cuDSS says of a factor.
typedef struct cudss_finding {
  int info;           // not 0: there is no factor; of Cholesky, the pivot that is not positive, from 1
  int64_t perturbed;  // pivots
  int64_t nnz;
  double flops;  // -1: not known
} cudss_finding;

typedef struct cudss_session cudss_session;

/// Analyse a pattern for values like these [items, nnz], which lie on the context's device. What is lent to cuDSS comes
/// from there, in the order of the stream; where it lacks memory though nothing was refused, that is LAC_ERR_BACKEND.
lac_status lac_cudss_session_create(lac_context *ctx, const cudss_library *l, const lac_pattern *pattern,
                                    const cudss_nature *nature, const lac_array *values, cudss_session **out);
void lac_cudss_session_destroy(cudss_session *s);

const cudss_nature *lac_cudss_session_nature(const cudss_session *s);

/// LAC_ERR_MEMORY where more than `most` bytes of the device are foreseen (0: any number).
lac_status lac_cudss_session_fits(lac_context *ctx, cudss_session *s, int64_t most);

/// Of device memory that it holds, by count, or as cuDSS foresees it where that is its own.
int64_t lac_cudss_session_bytes(const cudss_session *s);

/// Factor values [items, nnz], which stay until others are factored; waits for the device.
lac_status lac_cudss_session_factor(lac_context *ctx, cudss_session *s, const lac_array *values, cudss_finding *out);

/// A x = b or A^T x = b for arrays [items, n]. *is_able is false, and nothing done, where this cuDSS solves no
/// transposed systems.
lac_status lac_cudss_session_solve(lac_context *ctx, cudss_session *s, bool is_transposed, const lac_array *b,
                                   lac_array *x, bool *is_able);

/// The sizes of the smallest and the largest pivot of one matrix; both -1 where cuDSS does not give its pivots.
lac_status lac_cudss_session_pivots(lac_context *ctx, cudss_session *s, double *smallest, double *largest);

#endif
