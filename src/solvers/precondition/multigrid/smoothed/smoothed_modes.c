// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_modes.c
/// What coarse levels must hold.
///
///     rigid motions of points x     translations e_c, and rotations: (-y, x) in the plane, e_c cross x in space
///     translations                  e_c alone, where the matrix takes one unknown of all nodes nearly to zero, for each
///                                   unknown that a node has
///
/// Whoever gives something is believed; else a look at some rows tells whether there are nodes.

#include <math.h>

#include "core/reals.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"

enum { MODES_SAMPLES = 512, MODES_UNKNOWNS = 6 };  // nodes that are looked at; the most unknowns that they may have
static const double MODES_SHARE = 0.45;            // of the rows looked at: of a shell, half of them
// Of the places in blocks: where zeros were dropped, elasticity on a grid has 0.7, a lattice of bars 0.6; on scalar
// grids pairs have 0.5.
static const double MODES_FULL = 0.55;

void smoothed_modes_close(smoothed_modes *modes) { lac_array_destroy(&modes->vectors); }

bool smoothed_modes_given(const lac_solver_options *o) {
  const lac_array *null_space = o->iteration.null_space;
  return o->preconditioner.near_null || o->preconditioner.coordinates ||
         (null_space && null_space->meta.shape[1] > 1);  // one vector is as a rule what is taken anyway
}

// -- a look ----------------------------------------------------------------------------------------------------------

lac_status smoothed_modes_look(lac_context *ctx, const lac_setup *setup, int64_t *size) {
  lac_status status = LAC_OK;
  const lac_pattern *p = setup->pattern;
  lac_rows rows = smoothed_walk(p);
  lac_array *found = NULL;
  double share = MODES_SHARE, seen[2];

  *size = 1;
  LAC_TRY(lac_array_create(ctx, LAC_F64, 1, (const int64_t[]){2}, &found));
  for (int64_t unknowns = 2; unknowns <= MODES_UNKNOWNS; ++unknowns) {
    if (p->rows % unknowns) continue;
    LAC_TRY(ctx->kernels->smoothed->translations(ctx, &rows, setup->values, unknowns, MODES_SAMPLES, found));
    LAC_TRY(lac_array_read(ctx, found, seen));
    if (seen[0] < share || seen[1] < MODES_FULL) continue;
    *size = unknowns, share = seen[0];
  }
done:
  lac_array_destroy(&found);
  return status;
}

// -- vectors ---------------------------------------------------------------------------------------------------------

static lac_dtype modes_dtype(const lac_setup *setup) {
  return lac_dtype_is_complex(setup->values->meta.dtype) ? LAC_C128 : LAC_F64;
}

/// Vectors that somebody gave, in double precision.
static lac_status modes_take(lac_context *ctx, const lac_setup *setup, const lac_array *given, smoothed_modes *modes) {
  lac_status status = LAC_OK;
  lac_dtype dtype = modes_dtype(setup);

  if (given->count == 0) goto done;
  LAC_CHECK(lac_dtype_is_complex(dtype) || !lac_dtype_is_complex(given->meta.dtype), LAC_ERR_DTYPE,
            "multigrid: near_null is complex and the matrix is real; give its real and imaginary parts as columns");
  LAC_CHECK(given->meta.shape[1] <= LAC_BLOCK_MOST, LAC_ERR_ARG,
            "multigrid: %lld near-null vectors; give at most %d, those that the matrix takes nearest to zero",
            (long long)given->meta.shape[1], LAC_BLOCK_MOST);
  modes->m = (int)given->meta.shape[1];
  LAC_TRY(lac_array_create(ctx, dtype, 2, given->meta.shape, &modes->vectors));
  LAC_TRY(ctx->kernels->cast(ctx, given, modes->vectors));
  if (modes->size == 1 && modes->m == 3) modes->size = 2;  // rigid motions of the plane and of space
  if (modes->size == 1 && modes->m == 6) modes->size = 3;
  if (setup->pattern->rows % modes->size) modes->size = 1;
done:
  return status;
}

/// Numbers [n, m] on the host.
static lac_status modes_write(lac_context *ctx, const lac_setup *setup, const double *numbers, smoothed_modes *modes) {
  lac_status status = LAC_OK;
  const int64_t shape[] = {setup->pattern->rows, modes->m};

  LAC_TRY(lac_array_create(ctx, modes_dtype(setup), 2, shape, &modes->vectors));
  LAC_TRY(lac_reals_write(ctx, modes->vectors, numbers));
done:
  return status;
}

static lac_status modes_translations(lac_context *ctx, const lac_setup *setup, smoothed_modes *modes) {
  lac_status status = LAC_OK;
  int64_t n = setup->pattern->rows;
  double *numbers = NULL;

  modes->m = (int)modes->size;
  LAC_ALLOC(numbers, n * modes->m);
  for (int64_t i = 0; i < n; ++i) numbers[i * modes->m + i % modes->m] = 1;
  LAC_TRY(modes_write(ctx, setup, numbers, modes));
done:
  lac_free(numbers);
  return status;
}

/// The middle of the points becomes the origin, so that rotations are not nearly translations.
static void points_centre(int64_t points, int64_t axes, double *x) {
  for (int64_t c = 0; c < axes; ++c) {
    double mean = 0;
    for (int64_t i = 0; i < points; ++i) mean += x[i * axes + c] / (double)points;
    for (int64_t i = 0; i < points; ++i) x[i * axes + c] -= mean;
  }
}

/// The rows of one point: [axes, m].
static void point_motions(int64_t axes, int m, const double *x, double *rows) {
  for (int64_t c = 0; c < axes; ++c) rows[c * m + c] = 1;
  if (axes == 2) rows[2] = -x[1], rows[m + 2] = x[0];
  for (int64_t c = 0; axes == 3 && c < 3; ++c) {
    int64_t next = (c + 1) % 3, last = (c + 2) % 3;
    rows[next * m + 3 + c] = -x[last], rows[last * m + 3 + c] = x[next];
  }
}

static lac_status modes_rigid(lac_context *ctx, const lac_setup *setup, const lac_array *given, smoothed_modes *modes) {
  lac_status status = LAC_OK;
  int64_t points = given->meta.shape[0], axes = given->meta.shape[1];
  double *x = NULL, *numbers = NULL;

  modes->size = axes;
  modes->m = axes == 2 ? 3 : 6;
  LAC_ALLOC(x, points * axes);
  LAC_ALLOC(numbers, points * axes * modes->m);
  LAC_TRY(lac_reals_read(ctx, given, x));
  points_centre(points, axes, x);
  for (int64_t i = 0; i < points; ++i) point_motions(axes, modes->m, x + i * axes, numbers + i * axes * modes->m);
  LAC_TRY(modes_write(ctx, setup, numbers, modes));
done:
  lac_free(x);
  lac_free(numbers);
  return status;
}

lac_status smoothed_modes_open(lac_context *ctx, const lac_setup *setup, smoothed_modes *modes) {
  lac_status status = LAC_OK;
  const lac_precondition *options = &setup->options->preconditioner;
  const lac_array *given = options->near_null;

  *modes = (smoothed_modes){.size = setup->unknowns};
  if (modes->size == 0) LAC_TRY(smoothed_modes_look(ctx, setup, &modes->size));
  if (!given && !options->coordinates && smoothed_modes_given(setup->options))
    given = setup->options->iteration.null_space;
  if (given) {
    LAC_TRY(modes_take(ctx, setup, given, modes));
  } else if (options->coordinates) {
    LAC_TRY(modes_rigid(ctx, setup, options->coordinates, modes));
  } else if (modes->size > 1) {
    LAC_TRY(modes_translations(ctx, setup, modes));
  }
done:
  return status;
}
