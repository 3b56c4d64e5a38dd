// SPDX-License-Identifier: Apache-2.0
/// @file fronts.h
/// The numeric factor over supernodes, whichever method made it.
///
///     Cholesky   B = L L^H
///     L D L^H    B = Pi^T L D L^H Pi      D with blocks of 1 and 2; Pi permutes inside supernodes
///     LU         R B C = Pi^T L U         L unit; Pi permutes rows inside supernodes; R, C real diagonal scalings
///
/// Panel s of `l`, at number panels[s]: (p + r) x p by columns with leading dimension p + r. Its diagonal block holds
/// L_PP (Cholesky), unit L_PP below D's diagonal (L D L^H), L_PP\U_PP (LU); below stands L_RP. LU: U_PR^T, r x p by
/// columns with leading dimension r, stands in `u` at u_panels[s].

#ifndef LACUNA_SOLVERS_DIRECT_FRONTS_FRONTS_H
#define LACUNA_SOLVERS_DIRECT_FRONTS_FRONTS_H

#include "solvers/direct/dense/eliminate.h"
#include "solvers/direct/symbolic/supernodes.h"
#include "solvers/direct/method/method.h"

typedef enum lac_front_kind { LAC_FRONT_CHOLESKY, LAC_FRONT_LDLT, LAC_FRONT_LU } lac_front_kind;

typedef struct lac_fronts {
  lac_front_kind kind;
  lac_dtype dtype;
  lac_supernodes *s;  // held
  void *l, *u;
  int64_t *u_panels;  // LU: count + 1
  int32_t *pivots;  // not Cholesky: n: at step k the pivot row (and column) is that of step pivots[k], in its supernode
  void *d_below;    // L D L^H: n: D(k + 1, k), nonzero where a block of 2 begins at k
  void *row_scale;  // LU: n, real, by rows of A; NULL: none
  void *col_scale;  // and by columns
  double smallest;  // see lac_finding
  int64_t where;
  int64_t perturbed;
  int64_t zeros;  // of these: see eliminate.h
  double growth;
  double flops;
  bool lacks_blas;  // LAC_ERR_MEMORY for want of memory for BLAS
} lac_fronts;

/// Memory for a factor, which holds the analysis. NULL: out of memory.
lac_fronts *lac_fronts_create(lac_supernodes *s, lac_front_kind kind, lac_dtype dtype);
void lac_fronts_destroy(void *fronts);  // accepts NULL

/// How one matrix is factored.
typedef struct lac_fronts_job {
  lac_eliminate *const *eliminate;  // by lac_dtype
  const void *values;               // of A in its slots, scaled where the method scales
  const lac_fronts *like;           // a factor whose pivots are taken over; or NULL
  const double *norms;              // Cholesky: n, by steps: see eliminate.h
  double small;                     // see eliminate.h
  int threads;
  lac_stop *stop;  // looked at between fronts; or NULL
} lac_fronts_job;

/// Factor. LAC_ERR_DEFINITE (Cholesky) or LAC_ERR_NONFINITE where a front was refused: `where` is then the step, the
/// first of all, and `smallest` what the front said; else `where` is the column of A of the smallest pivot.
/// LAC_ERR_MEMORY. LAC_ERR_INTERRUPTED.
lac_status lac_fronts_factor(lac_fronts *f, const lac_fronts_job *job);

/// x = A^-1 b (LAC_PLAIN) or A^-T b (LAC_TRANSPOSED); see lac_direct_table.
lac_status lac_fronts_solve(const lac_fronts *f, lac_form form, int width, int threads, const void *b, void *x,
                            void *work, lac_fault *fault);

/// nnz, bytes, work_bytes and flops of a factor.
void lac_fronts_foresee(const lac_supernodes *s, lac_front_kind kind, lac_dtype dtype, lac_finding *finding);
void lac_fronts_report(const lac_fronts *f, lac_finding *finding);

#endif
