// SPDX-License-Identifier: Apache-2.0
/// @file kind.h
/// What the files of the kind "cudss" share: its cores and factors.

#ifndef LACUNA_SOLVERS_ENGINES_CUDSS_KIND_H
#define LACUNA_SOLVERS_ENGINES_CUDSS_KIND_H

#include "solvers/engines/cudss/session.h"
#include "solvers/solver_impl.h"

enum { CUDSS_IDLE = 2 };

/// The part of a core: sessions that wait for the next factor.
typedef struct cudss_core {
  const cudss_library *l;
  pthread_mutex_t lock;  // of all sessions, those of factors too
  bool repeats;          // its bits, as far as cuDSS can
  bool lends;            // memory to cuDSS, as long as that works
  cudss_session *idle[CUDSS_IDLE];
} cudss_core;

/// The part of a factor.
typedef struct cudss_factor {
  cudss_session *session;        // NULL: there is nothing to solve, or the partner solves
  cudss_session *twin;           // of A^T, once that was needed; under the core's lock
  lac_array *scaled, *t_scaled;  // values over `unit`, where that is not 1, and those of A^T
  double unit;                   // a power of two
  bool is_hermitian;
  const char *way;  // of factoring
  cudss_finding finding;
  double analyse_seconds;
  _Atomic int64_t bytes;     // of device memory that it holds, its values not counted
  _Atomic double condition;  // from below; 0: not yet known
  atomic_bool has_failed;    // the partner solves
} cudss_factor;

static inline cudss_core *cudss_core_of(const lac_factor *f) { return f->core->part; }
static inline cudss_factor *cudss_of(const lac_factor *f) { return f->part; }

/// A session of that nature that has these values factored. An earlier analysis serves, unless it matched rows by other
/// values and that does not suit these. The lock is held.
lac_status lac_cudss_make(lac_context *ctx, lac_factor *f, const lac_pattern *pattern, const cudss_nature *nature,
                          const lac_array *values, cudss_finding *finding, cudss_session **out);

/// Count what a factor holds. The lock is held.
void lac_cudss_count(const lac_factor *f);

/// The values that are factored: those of the factor, or scaled ones.
static inline const lac_array *lac_cudss_values(const lac_factor *f) {
  return cudss_of(f)->scaled ? cudss_of(f)->scaled : f->values;
}

/// Whether a new factor is good, by its pivots, and by a probe where these give cause. The lock is held.
lac_status lac_cudss_judge(lac_context *ctx, lac_factor *f, bool *is_good);

/// lac_solver_table.solve
lac_status lac_cudss_solve(lac_context *ctx, const lac_factor *f, const lac_solve_job *job, lac_solve_report *report);

#endif
