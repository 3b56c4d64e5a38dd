// SPDX-License-Identifier: Apache-2.0
/// @file preconditioner.h
/// The table that each preconditioner fills: set up for values, refreshed with others, applied to either side.

#ifndef LACUNA_SOLVERS_PRECONDITION_PRECONDITIONER_H
#define LACUNA_SOLVERS_PRECONDITION_PRECONDITIONER_H

#include "kernels/grid.h"
#include "lacuna/solver.h"
#include "solvers/linear.h"
#include "solvers/solver_impl.h"

/// The nodes of several unknowns that the values of a matrix show (multigrid/smoothed/smoothed_modes.c): looked for
/// once, and carried on from the choice of a preconditioner to its set-up.
typedef struct lac_nodes lac_nodes;

/// A matrix to be preconditioned: finite values [items, nnz] on a square pattern of single entries.
typedef struct lac_setup {
  const lac_pattern *pattern;
  const lac_array *values;
  const lac_solver_options *options;
  bool is_hermitian;         // in values
  const lac_array *largest;  // [items, 1, 1]: sizes of numbers; NULL: not known
  double spread;             // the largest diagonal entry over the smallest; 0: not known
  double contrast;           // how much stiffer than a row its neighbours are, at most (multigrid.c); 0: not known
  const lac_nodes *nodes;    // that the values show; NULL: not yet known
} lac_setup;

/// How many matrices there are.
static inline int64_t lac_setup_items(const lac_setup *setup) {
  return setup->values->meta.ndim > 1 ? setup->values->meta.shape[0] : 1;
}

/// Rows that belong together: the largest block size up to `most` into which the structure can be cut; 1: none.
int64_t lac_setup_blocks(const lac_pattern *pattern, int most);

enum { LAC_SETUP_WARNING = 200 };  // characters

/// What a preconditioner says of itself.
typedef struct lac_setup_figures {
  int64_t bytes;      // that it holds, shared arrays not counted
  int levels;         // of a hierarchy
  double complexity;  // entries of all levels over those of the matrix
  bool is_grid;       // of a grid, whose cycles are cheaper than their entries tell
  double least;       // the smallest diagonal entry as cycles take it, the largest entry near 1; 0: not known
  char
      warning[LAC_SETUP_WARNING];  // a sentence where something had to be changed: IC(0) enlarged the diagonal; else ""
} lac_setup_figures;

/// M approximates A. A part is immutable once made and may be applied by several threads; it holds (retains) what it
/// needs of pattern and values: never a copy of the finest level's indices, and of its values only where it says so.
typedef struct lac_preconditioner_table {
  const char *name;
  /// Whether the backend has its kernels for this pattern and these options. NULL: every backend has
  bool (*is_here)(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options);
  lac_status (*create)(lac_context *ctx, const lac_setup *setup, void **part);
  /// The same for other values on the structure of `like`: no aggregation, no symbolic work. NULL: create, which is
  /// also asked where this one fails, since what suited other values does not suit these.
  lac_status (*refresh)(lac_context *ctx, const lac_setup *setup, const void *like, void **part);
  /// x = op(M)^-1 b, arrays [items, n, k] of the matrix's dtype.
  lac_status (*apply)(lac_context *ctx, const void *part, lac_form form, const lac_array *b, lac_array *x);
  void (*report)(const void *part, lac_setup_figures *finding);
  lac_status (*describe)(lac_context *ctx, const void *part, char **text);  // optional; by lac_alloc
  void (*destroy)(void *part);                                              // accepts NULL
} lac_preconditioner_table;

#define LAC_PRECONDITIONER(name, flags) extern const lac_preconditioner_table lac_preconditioner_##name;
#include "solvers/precondition/preconditioners.def"
#undef LAC_PRECONDITIONER

/// The part of a factor that is a preconditioner (precondition.c).
typedef struct lac_precondition_factor {
  const lac_preconditioner_table *table;
  void *part;         // NULL: there is nothing to apply it to
  lac_array *values;  // [items, nnz], over the factor's own
  lac_array *largest;
  bool is_hermitian;
  lac_setup_figures finding;
} lac_precondition_factor;

static inline lac_precondition_factor *lac_precondition_of(const lac_factor *f) { return f->part; }

/// What a Krylov method can take.
typedef struct lac_precondition_wish {
  bool may_vary;         // the Krylov method is flexible, or has a flexible form
  bool needs_hermitian;  // it must be Hermitian positive definite
  bool is_rectangular;   // there is no matrix to speak of
} lac_precondition_wish;

/// A preconditioner of a matrix that has been looked at, where none is asked for: the first of those that promise most
/// and can be set up. `like` is an earlier one; what gave up is said in the reason of `f`, the factor that it is for.
lac_status lac_precondition_open(lac_context *ctx, lac_factor *f, const lac_linear *a,
                                 const lac_precondition_wish *wish, const lac_factor *like, lac_factor **out);

/// What a look at the values finds that pairs are not good at, so that smoothed aggregation is to be expected, which is
/// dearer: most rows have entries of different sizes; or some do, or have neighbours that are much stiffer, which takes
/// a look at all rows (`jumps` may be NULL).
lac_status lac_multigrid_look(lac_context *ctx, const lac_setup *setup, bool *is_uneven, bool *jumps);

/// Whether the rows of a pattern are the points of a grid, large enough along both sides, for which multigrid has a
/// kind of its own: quick for Hermitian matrices, with jumps too, and for many others.
lac_status lac_multigrid_is_grid(lac_context *ctx, const lac_pattern *pattern, bool *is_grid);

/// Bytes that multigrid on a grid takes for one symmetric matrix in f64: what it keeps, what its set-up takes besides
/// at the peak, what a cycle of one column works in. All 0 where the pattern has no such grid.
typedef struct lac_multigrid_bytes {
  int64_t kept, setup, cycle;
} lac_multigrid_bytes;
lac_status lac_multigrid_foresee(lac_context *ctx, const lac_pattern *pattern, const lac_solver_options *options,
                                 lac_multigrid_bytes *out);

/// That grid; its width is 0 where there is none.
lac_status lac_multigrid_grid(lac_context *ctx, const lac_pattern *pattern, lac_grid *out);

/// Whether multigrid takes a pattern in the memory space of a context, whatever its values: by pairs.
bool lac_multigrid_takes(lac_context *ctx, const lac_pattern *pattern);

/// Look for nodes, on a backend with the kernels of smoothed aggregation; how many unknowns they have, 1 where there
/// are no nodes, or they are not known yet.
lac_status lac_nodes_find(lac_context *ctx, const lac_setup *setup, lac_nodes **out);
int64_t lac_nodes_unknowns(const lac_nodes *nodes);
void lac_nodes_destroy(lac_nodes **nodes);

/// What `multigrid` chooses from.
extern const lac_preconditioner_table lac_preconditioner_smoothed, lac_preconditioner_grid;

#endif
