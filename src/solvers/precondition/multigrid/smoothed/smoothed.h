// SPDX-License-Identifier: Apache-2.0
/// @file smoothed.h
/// The inside of smoothed aggregation: the structure of its levels, which values share, and the numbers on them.

#ifndef LACUNA_SOLVERS_PRECONDITION_MULTIGRID_SMOOTHED_SMOOTHED_H
#define LACUNA_SOLVERS_PRECONDITION_MULTIGRID_SMOOTHED_SMOOTHED_H

#include "kernels/smoothed.h"
#include "solvers/precondition/multigrid/coarse/coarse.h"
#include "solvers/precondition/preconditioner.h"

/// The structure of a level and of the way to the next one; the last has none of that. Of nodes, where a shape has
/// blocks.
typedef struct smoothed_structure {
  lac_pattern *pattern;
  int64_t size;       // rows of a node
  lac_rows a, p, r;   // p.rows == 0: the last level
  lac_buffer *kinds;  // of the entries of a
  int64_t weak;       // how many are weak
  lac_aggregates aggregates;
  lac_buffer *p_offsets, *p_columns, *r_offsets, *r_columns;
} smoothed_structure;

/// Where rows stand among those of whole nodes, some of which lack rows (smoothed_places.c).
typedef struct smoothed_places {
  lac_pattern *pattern;  // with empty rows for those that lack; NULL: all nodes are whole
  lac_map *rows;         // from rows to places
} smoothed_places;

struct lac_nodes {
  int64_t size;  // rows of a whole one; 1: there are none
  smoothed_places places;
};

/// What does not depend on values, shared by a set-up and its refreshments.
typedef struct smoothed_shape {
  lac_object object;
  smoothed_places places;
  bool has_blocks;  // values are [items, nnz, rows, columns] of blocks
  int levels;
  int64_t bytes;
  char warning[LAC_SETUP_WARNING];  // of what was given and set aside
  smoothed_structure level[LAC_LEVELS];
} smoothed_shape;

/// The numbers of a level: of each matrix one behind the other.
typedef struct smoothed_numbers {
  lac_array *values;               // [items, nnz]; of the finest level the caller's, where they are used as they are
  lac_array *s;                    // [items, n]; of blocks [items, nodes, size, size]
  lac_array *p_values, *r_values;  // [items, nnz of p]
  double *omega;                   // of the smoother, for each matrix
} smoothed_numbers;

typedef struct smoothed_part {
  smoothed_shape *shape;
  lac_dtype dtype, outer;  // of the hierarchy and of the caller's matrix
  int64_t items;
  bool is_hermitian;
  int degree;      // of the smoother: 1 or 2
  double *factor;  // for each matrix: what its values were scaled by
  smoothed_numbers level[LAC_LEVELS];
  lac_coarse *coarse;  // NULL: the last level is smoothed
  int64_t bytes;
} smoothed_part;

/// The rows of a pattern as they stand; their entries; of a level's matrix, single ones, and its rows.
static inline lac_rows smoothed_walk(const lac_pattern *p) {
  return (lac_rows){p->rows, p->cols, p->offsets, p->columns, NULL};
}
static inline int64_t smoothed_nnz(const lac_rows *rows) { return rows->columns->count; }
static inline int64_t smoothed_entries(const smoothed_structure *s) { return smoothed_nnz(&s->a) * s->size * s->size; }
static inline int64_t smoothed_rows(const smoothed_structure *s) { return s->a.rows * s->size; }

/// What coarse levels must hold: vectors that the matrix takes nearly to zero, and the nodes that they are for.
typedef struct smoothed_modes {
  int64_t size;  // rows of a node
  smoothed_places places;
  int m;                            // vectors; 0: constants
  lac_array *vectors;               // [n, m], f64 or c128, n counts places; NULL: constants
  char warning[LAC_SETUP_WARNING];  // coordinates were set aside; else ""
} smoothed_modes;

/// From near-null vectors, coordinates or a null space, whichever is given first; else from what the matrix shows: one
/// translation for each unknown of its nodes. Coordinates are a hint: those that do not fit the rows are set aside with
/// a warning, and are an error where multigrid was asked for by name. The caller closes it.
lac_status smoothed_modes_open(lac_context *ctx, const lac_setup *setup, smoothed_modes *modes);
void smoothed_modes_close(smoothed_modes *modes);

/// Whether options say what coarse levels must hold; and the rows of a node as the values show it, 1 where there are
/// none, with their places, which the caller closes.
bool smoothed_modes_given(const lac_solver_options *options);
lac_status smoothed_modes_look(lac_context *ctx, const lac_setup *setup, int64_t *size, smoothed_places *places);

/// Nodes some of which lack rows: *size rows in a whole one, or 1 and no places, where all are whole or there are none.
lac_status smoothed_places_find(lac_context *ctx, const lac_setup *setup, int64_t most, int64_t *size,
                                smoothed_places *places);
void smoothed_places_close(smoothed_places *places);

/// An array [*, n, k] of the rows' at their places, zeros elsewhere; and an array at places back to rows.
lac_status smoothed_places_put(lac_context *ctx, const smoothed_places *places, const lac_array *x, lac_array **out);
lac_status smoothed_places_take(lac_context *ctx, const smoothed_places *places, const lac_array *x, lac_array *out);

/// One of several matrices or blocks of vectors, array[item]: the array itself where there is but one, or a view. The
/// caller destroys it, before the array.
lac_status smoothed_item(lac_context *ctx, const lac_array *array, int64_t items, int64_t item, lac_array **out);

/// One matrix of a level whose structure is known, and what is made of it.
typedef struct smoothed_matrix {
  const smoothed_structure *structure;
  lac_array *values, *s, *f, *p_values, *r_values;
  lac_array *found;
} smoothed_matrix;

/// Take the numbers of one of the matrices of a level, but f and found; and let go of them.
lac_status smoothed_matrix_open(lac_context *ctx, const smoothed_part *part, int l, int64_t item, smoothed_matrix *m);
void smoothed_matrix_close(smoothed_matrix *m);

/// Numbers [items, count] in the hierarchy's precision that the part counts, or blocks [items, count, rows, cols].
lac_status smoothed_take(lac_context *ctx, smoothed_part *part, int64_t count, int64_t rows, int64_t cols,
                         lac_array **out);

/// What kernels find, and reading it: the one place at which a set-up waits for its backend.
lac_status smoothed_found_create(lac_context *ctx, lac_array **out);
lac_status smoothed_found_read(lac_context *ctx, lac_array *found, double numbers[2]);

/// The values of the finest level; smoother and interpolation of all matrices of level l; the values of level l + 1 for
/// those from `first` on.
lac_status smoothed_finest(lac_context *ctx, const lac_setup *setup, smoothed_part *part);
lac_status smoothed_fill(lac_context *ctx, smoothed_part *part, int l);
lac_status smoothed_galerkin(lac_context *ctx, smoothed_part *part, int l, int64_t first);

lac_status smoothed_create(lac_context *ctx, const lac_setup *setup, void **out);
lac_status smoothed_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **out);
lac_status smoothed_apply(lac_context *ctx, const void *self, lac_form form, const lac_array *b, lac_array *x);
void smoothed_destroy(void *part);

#endif
