// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_modes.c
/// What coarse levels must hold.
///
///     rigid motions of points x     translations e_c, and rotations: (-y, x) in the plane, e_c cross x in space
///     translations                  e_c alone, where the matrix takes one unknown of all nodes nearly to 0, for each
///                                   unknown that a node has
///
/// Vectors that the user gives are taken; else a sample of rows shows whether there are nodes.

#include <math.h>
#include <stdio.h>

#include "core/reals.h"
#include "solvers/options.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"

enum { MODES_SAMPLES = 512, MODES_UNKNOWNS = 6 };  // nodes that are looked at; the most unknowns that they may have
static const double MODES_SHARE = 0.45;            // of the rows looked at: of a shell, half of them
// Of the places in blocks: where zeros were dropped, elasticity on a grid has 0.7, a lattice of bars 0.6; on scalar
// grids pairs have 0.5.
static const double MODES_FULL = 0.55;

void smoothed_modes_close(smoothed_modes *modes) {
  smoothed_places_close(&modes->places);
  lac_array_destroy(&modes->vectors);
}

/// A null space that says what coarse levels must hold: one vector is as a rule what is taken anyway.
static const lac_array *modes_null_space(const lac_solver_options *o) {
  const lac_array *null_space = o->iteration.null_space;
  return null_space && null_space->meta.shape[1] > 1 ? null_space : NULL;
}

bool smoothed_modes_given(const lac_solver_options *o) {
  return o->preconditioner.near_null || o->preconditioner.coordinates || modes_null_space(o);
}

// -- a look ----------------------------------------------------------------------------------------------------------

/// Shares of the rows looked at and of the places in their blocks (kernels/smoothed.def).
typedef struct modes_seen {
  double still, full;
} modes_seen;

static lac_status look_at(lac_context *ctx, const lac_setup *setup, const lac_pattern *p, int64_t unknowns,
                          modes_seen *seen) {
  lac_status status = LAC_OK;
  lac_rows rows = smoothed_walk(p);
  lac_array *found = NULL;
  double told[2];

  LAC_TRY(smoothed_found_create(ctx, &found));
  LAC_TRY(ctx->kernels->smoothed->translations(ctx, &rows, setup->values, unknowns, MODES_SAMPLES, found));
  LAC_TRY(smoothed_found_read(ctx, found, told));
  *seen = (modes_seen){told[0], told[1]};
done:
  lac_array_destroy(&found);
  return status;
}

/// Nodes that lack rows, where their blocks are fuller than those of the nodes that were seen. Coordinates of more
/// nodes than rows make say that some do, and else that none does.
static lac_status look_at_places(lac_context *ctx, const lac_setup *setup, double full, int64_t *size,
                                 smoothed_places *places) {
  lac_status status = LAC_OK;
  const lac_array *points = setup->options->preconditioner.coordinates;
  smoothed_places made = {0};
  modes_seen seen = {0, 0};
  int64_t unknowns = 1;

  if (full == 1 || (points && points->count == setup->pattern->rows)) goto done;
  LAC_TRY(smoothed_places_find(ctx, setup, MODES_UNKNOWNS, &unknowns, &made));
  if (!made.pattern) goto done;
  LAC_TRY(look_at(ctx, setup, made.pattern, unknowns, &seen));
  if (!points && (seen.still < MODES_SHARE || seen.full < MODES_FULL || seen.full <= full)) goto done;
  *size = unknowns;
  *places = made, made = (smoothed_places){0};
done:
  smoothed_places_close(&made);
  return status;
}

lac_status smoothed_modes_look(lac_context *ctx, const lac_setup *setup, int64_t *size, smoothed_places *places) {
  lac_status status = LAC_OK;
  modes_seen best = {MODES_SHARE, 0}, seen;

  *size = 1;
  for (int64_t unknowns = 2; unknowns <= MODES_UNKNOWNS; ++unknowns) {
    if (setup->pattern->rows % unknowns) continue;
    LAC_TRY(look_at(ctx, setup, setup->pattern, unknowns, &seen));
    if (seen.still < best.still || seen.full < MODES_FULL) continue;
    *size = unknowns, best = seen;
  }
  LAC_TRY(look_at_places(ctx, setup, best.full, size, places));
done:
  return status;
}

lac_status lac_nodes_find(lac_context *ctx, const lac_setup *setup, lac_nodes **out) {
  lac_status status = LAC_OK;
  lac_nodes *nodes = NULL;

  LAC_ALLOC(nodes, 1);
  LAC_TRY(smoothed_modes_look(ctx, setup, &nodes->size, &nodes->places));
  *out = nodes, nodes = NULL;
done:
  lac_nodes_destroy(&nodes);
  return status;
}

int64_t lac_nodes_unknowns(const lac_nodes *nodes) { return nodes ? nodes->size : 1; }

void lac_nodes_destroy(lac_nodes **nodes) {
  if (!*nodes) return;
  smoothed_places_close(&(*nodes)->places);
  lac_free(*nodes);
  *nodes = NULL;
}

/// The nodes that are known already, or else a search.
static lac_status modes_look(lac_context *ctx, const lac_setup *setup, smoothed_modes *modes) {
  const lac_nodes *nodes = setup->nodes;

  if (!nodes) return smoothed_modes_look(ctx, setup, &modes->size, &modes->places);
  modes->size = nodes->size;
  modes->places.pattern = lac_pattern_retain(nodes->places.pattern);
  modes->places.rows = lac_map_retain(nodes->places.rows);
  return LAC_OK;
}

// -- vectors ---------------------------------------------------------------------------------------------------------

static lac_dtype modes_dtype(const lac_setup *setup) {
  return lac_dtype_is_complex(setup->values->meta.dtype) ? LAC_C128 : LAC_F64;
}

/// Vectors of rows become vectors of places.
static lac_status modes_spread(lac_context *ctx, smoothed_modes *modes) {
  lac_status status = LAC_OK;
  lac_array *spread = NULL;

  LAC_TRY(smoothed_places_put(ctx, &modes->places, modes->vectors, &spread));
  lac_array_destroy(&modes->vectors);
  modes->vectors = spread;
done:
  return status;
}

/// The user's vectors, in double precision.
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
  if (modes->places.rows) LAC_TRY(modes_spread(ctx, modes));
  if (modes->size == 1 && modes->m == 3) modes->size = 2;  // rigid motions of the plane and of space
  if (modes->size == 1 && modes->m == 6) modes->size = 3;
  if (!modes->places.rows && setup->pattern->rows % modes->size) modes->size = 1;
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
  const lac_buffer *places = modes->places.rows ? modes->places.rows->target : NULL;
  double *numbers = NULL;

  modes->m = (int)modes->size;
  LAC_ALLOC(numbers, n * modes->m);
  for (int64_t i = 0; i < n; ++i) numbers[i * modes->m + (places ? lac_buffer_get(places, i) : i) % modes->m] = 1;
  LAC_TRY(modes_write(ctx, setup, numbers, modes));
  if (places) LAC_TRY(modes_spread(ctx, modes));
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

static int64_t modes_rows(const lac_setup *setup, const smoothed_modes *modes) {
  return modes->places.rows ? modes->places.rows->outputs : setup->pattern->rows;
}

/// Whether coordinates are those of the nodes that rows show.
static bool modes_fit(const lac_setup *setup, const lac_array *given, const smoothed_modes *modes) {
  return modes_rows(setup, modes) == given->count && (!modes->places.rows || modes->size == given->meta.shape[1]);
}

/// Coordinates that do not fit: rows are looked at without them.
static lac_status modes_set_aside(lac_context *ctx, const lac_setup *setup, const lac_array *given,
                                  smoothed_modes *modes) {
  lac_status status = LAC_OK;
  lac_solver_options options = *setup->options;
  lac_setup own = *setup;

  snprintf(
      modes->warning, sizeof modes->warning,
      "coordinates of %lld nodes with %lld unknowns each, but rows show %lld of %lld; give those of all nodes that "
      "have a row, in their order, or near_null",
      (long long)given->meta.shape[0], (long long)given->meta.shape[1],
      (long long)(modes_rows(setup, modes) / modes->size), (long long)modes->size);
  LAC_CHECK(!lac_options_preconditioner(&options.preconditioner), LAC_ERR_SHAPE, "multigrid: %s", modes->warning);
  smoothed_places_close(&modes->places);
  options.preconditioner.coordinates = NULL;
  own.options = &options, own.nodes = NULL;
  LAC_TRY(modes_look(ctx, &own, modes));
done:
  return status;
}

static lac_status modes_rigid(lac_context *ctx, const lac_setup *setup, const lac_array *given, smoothed_modes *modes) {
  lac_status status = LAC_OK;
  int64_t points = given->meta.shape[0], axes = given->meta.shape[1], n = setup->pattern->rows;
  const lac_buffer *places = modes->places.rows ? modes->places.rows->target : NULL;
  double *x = NULL, *numbers = NULL;

  modes->size = axes;
  modes->m = axes == 2 ? 3 : 6;
  LAC_ALLOC(x, points * axes);
  LAC_ALLOC(numbers, points * axes * modes->m);
  LAC_TRY(lac_reals_read(ctx, given, x));
  points_centre(points, axes, x);
  for (int64_t i = 0; i < points; ++i) point_motions(axes, modes->m, x + i * axes, numbers + i * axes * modes->m);
  for (int64_t i = 0; places && i < n * modes->m; ++i)  // no row stands before its place
    numbers[i] = numbers[lac_buffer_get(places, i / modes->m) * modes->m + i % modes->m];
  LAC_TRY(modes_write(ctx, setup, numbers, modes));
  if (places) LAC_TRY(modes_spread(ctx, modes));
done:
  lac_free(x);
  lac_free(numbers);
  return status;
}

lac_status smoothed_modes_open(lac_context *ctx, const lac_setup *setup, smoothed_modes *modes) {
  lac_status status = LAC_OK;
  const lac_precondition *options = &setup->options->preconditioner;
  const lac_array *given = options->near_null, *points = given ? NULL : options->coordinates;

  *modes = (smoothed_modes){0};
  LAC_TRY(modes_look(ctx, setup, modes));
  if (points && !modes_fit(setup, points, modes)) {
    LAC_TRY(modes_set_aside(ctx, setup, points, modes));
    points = NULL;
  }
  if (!given && !points) given = modes_null_space(setup->options);
  if (given) {
    LAC_TRY(modes_take(ctx, setup, given, modes));
  } else if (points) {
    LAC_TRY(modes_rigid(ctx, setup, points, modes));
  } else if (modes->size > 1) {
    LAC_TRY(modes_translations(ctx, setup, modes));
  }
done:
  return status;
}
