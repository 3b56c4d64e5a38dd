// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_setup.c
/// The set-up of smoothed aggregation, level by level. Structure (kinds of entries, aggregates, patterns) goes into a
/// shape that refreshments share; they redo the numbers alone (smoothed_numbers.c).

#include <string.h>

#include "solvers/precondition/multigrid/smoothed/smoothed.h"

enum { SETUP_GOAL = 300 };  // rows of a dense factor that costs less than another level
static const char SETUP_WORK[] = "the set-up of smoothed aggregation";
static const double SETUP_THETA = 0.08, SETUP_BLOCK_THETA = 0.02;
static const double SETUP_STALL = 0.85;  // a next level with more rows than this share is not made
// Of what stiff rows share with soft ones, a hierarchy in f32 loses this contrast times 6e-8 for each row of an island.
static const double SETUP_STIFF = 1e5;
static const double SETUP_ZERO = 100;  // roundings: a pivot of the last level below them is zero

// -- what owns memory ------------------------------------------------------------------------------------------------

static void structure_clear(smoothed_structure *level) {
  lac_buffer *buffers[] = {level->kinds,     level->aggregates.member, level->p_offsets,
                           level->p_columns, level->r_offsets,         level->r_columns};
  lac_pattern_destroy(&level->pattern);
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; ++i) lac_object_release(buffers[i]);
  lac_array_destroy(&level->aggregates.basis);
}

static void shape_destroy(lac_object *object) {
  smoothed_shape *shape = (smoothed_shape *)object;
  smoothed_places_close(&shape->places);
  for (int l = 0; l < LAC_LEVELS; ++l) structure_clear(&shape->level[l]);
  lac_free(shape);
}

static const lac_kind SHAPE_KIND = {.name = "smoothed_shape", .destroy = shape_destroy};

void smoothed_destroy(void *part) {
  smoothed_part *p = part;
  if (!p) return;
  for (int l = 0; l < LAC_LEVELS; ++l) {
    smoothed_numbers *level = &p->level[l];
    lac_array_destroy(&level->values), lac_array_destroy(&level->s);
    lac_array_destroy(&level->p_values), lac_array_destroy(&level->r_values);
    lac_free(level->omega);
  }
  lac_coarse_destroy(p->coarse);
  lac_free(p->factor);
  lac_object_release(p->shape);
  lac_free(p);
}

// -- structure -------------------------------------------------------------------------------------------------------

/// The structures of P and R for the aggregates of a level.
static lac_status setup_interpolation(lac_context *ctx, smoothed_structure *level) {
  lac_status status = LAC_OK;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  int64_t rows = level->a.rows, columns = level->aggregates.count;

  LAC_TRY(kernels->interpolate(ctx, &level->a, level->kinds, &level->aggregates, &level->p_offsets, &level->p_columns));
  level->p = (lac_rows){rows, columns, level->p_offsets, level->p_columns, NULL};
  LAC_TRY(kernels->transpose(ctx, &level->p, &level->r_offsets, &level->r_columns));
  level->r = (lac_rows){columns, rows, level->r_offsets, level->r_columns, NULL};
done:
  return status;
}

/// The next level's structure with the first matrix on it, and then the others.
static lac_status setup_next(lac_context *ctx, smoothed_part *part, int l) {
  lac_status status = LAC_OK;
  smoothed_structure *structure = &part->shape->level[l], *next = structure + 1;
  lac_buffer *offsets = NULL, *columns = NULL;
  smoothed_matrix m = {0};
  lac_array *made = NULL, *first = NULL;

  LAC_TRY(smoothed_matrix_open(ctx, part, l, 0, &m));
  LAC_TRY(ctx->kernels->smoothed->galerkin(ctx, &structure->a, m.values, &structure->p, m.p_values, &structure->r,
                                           m.r_values, &offsets, &columns, &made));
  next->size = part->shape->has_blocks ? structure->aggregates.m : 1;
  LAC_TRY(lac_pattern_adopt_blocks(ctx, structure->r.rows, structure->r.rows, next->size, next->size,
                                   structure->pattern->width, &offsets, &columns, &next->pattern));
  next->a = smoothed_walk(next->pattern);
  if (part->items == 1) {
    part->bytes += made->count * (int64_t)lac_dtype_size(part->dtype);
    part->level[l + 1].values = made, made = NULL;
  } else {
    LAC_TRY(smoothed_take(ctx, part, next->pattern->nnz, next->size, next->size, &part->level[l + 1].values));
    LAC_TRY(smoothed_item(ctx, part->level[l + 1].values, part->items, 0, &first));
    LAC_TRY(ctx->backend->copy(ctx, made, first));
    LAC_TRY(smoothed_galerkin(ctx, part, l, 1));
  }
done:
  smoothed_matrix_close(&m);
  lac_array_destroy(&made);
  lac_array_destroy(&first);
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

/// What a set-up goes by, level after level.
typedef struct setup_course {
  const lac_precondition *options;
  double theta;
  smoothed_modes modes;  // of the present level
  lac_array *found;      // by kernels
} setup_course;

static lac_status course_open(lac_context *ctx, const lac_setup *setup, setup_course *course) {
  lac_status status = LAC_OK;
  const lac_precondition *options = &setup->options->preconditioner;

  course->options = options;
  LAC_TRY(smoothed_found_create(ctx, &course->found));
  LAC_TRY(smoothed_modes_open(ctx, setup, &course->modes));
  course->theta = course->modes.m > 1 ? SETUP_BLOCK_THETA : SETUP_THETA;
  if (options->strength != 0) course->theta = options->strength > 0 ? options->strength : 0;
done:
  return status;
}

static void course_close(setup_course *course) {
  smoothed_modes_close(&course->modes);
  lac_array_destroy(&course->found);
}

/// The tentative interpolation of near-null vectors; what is left of them is the next level's.
static lac_status course_tentative(lac_context *ctx, lac_dtype dtype, smoothed_structure *level, setup_course *course) {
  lac_status status = LAC_OK;
  lac_aggregates *aggregates = &level->aggregates;
  lac_array *next = NULL;

  LAC_TRY(ctx->kernels->smoothed->tentative(ctx, dtype, aggregates, course->modes.vectors, &aggregates->basis, &next));
  aggregates->m = course->modes.m;
  lac_array_destroy(&course->modes.vectors);
  course->modes.vectors = next;
done:
  return status;
}

/// Aggregates of rows along strong entries.
static lac_status course_rows(lac_context *ctx, const smoothed_part *part, int l, setup_course *course) {
  lac_status status = LAC_OK;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  smoothed_structure *level = &part->shape->level[l];
  const lac_array *values = part->level[l].values;
  double found[2];

  LAC_TRY(kernels->strength(ctx, &level->a, part->items, values, course->theta, &level->kinds, course->found));
  LAC_TRY(smoothed_found_read(ctx, course->found, found));
  level->weak = (int64_t)found[0];
  LAC_TRY(kernels->aggregate(ctx, &level->a, values, level->kinds, &level->aggregates.member, course->found));
done:
  return status;
}

/// Aggregates of nodes along strong blocks. All blocks are smoothed by: a weak one on the diagonal would spoil the
/// other near-null vectors.
static lac_status course_nodes(lac_context *ctx, const smoothed_part *part, int l, setup_course *course) {
  lac_status status = LAC_OK;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  smoothed_structure *level = &part->shape->level[l];
  int64_t nnz = smoothed_nnz(&level->a);
  lac_array *sizes = NULL;
  lac_buffer *kinds = NULL;

  LAC_TRY(lac_array_create(ctx, LAC_F64, 1, &nnz, &sizes));
  LAC_TRY(kernels->sizes(ctx, &level->a, part->items, part->level[l].values, sizes));
  LAC_TRY(kernels->strength(ctx, &level->a, 1, sizes, 0, &level->kinds, course->found));
  LAC_TRY(kernels->strength(ctx, &level->a, 1, sizes, course->theta, &kinds, course->found));
  LAC_TRY(kernels->aggregate(ctx, &level->a, sizes, kinds, &level->aggregates.member, course->found));
done:
  lac_array_destroy(&sizes);
  lac_object_release(kinds);
  return status;
}

static lac_status course_aggregate(lac_context *ctx, const smoothed_part *part, int l, setup_course *course) {
  lac_status status = LAC_OK;
  lac_aggregates *aggregates = &part->shape->level[l].aggregates;
  double found[2];

  LAC_TRY((part->shape->has_blocks ? course_nodes : course_rows)(ctx, part, l, course));
  LAC_TRY(smoothed_found_read(ctx, course->found, found));
  aggregates->count = (int64_t)found[0];
  aggregates->m = 1;
done:
  return status;
}

/// Aggregates and the tentative interpolation; *goes_on is false where they make no smaller level.
static lac_status setup_aggregates(lac_context *ctx, smoothed_part *part, int l, setup_course *course, bool *goes_on) {
  lac_status status = LAC_OK;
  smoothed_structure *level = &part->shape->level[l];

  LAC_TRY(course_aggregate(ctx, part, l, course));
  if (course->modes.vectors) LAC_TRY(course_tentative(ctx, part->dtype, level, course));
  *goes_on = level->aggregates.count > 0 &&
             (double)(level->aggregates.count * level->aggregates.m) < SETUP_STALL * (double)smoothed_rows(level);
done:
  return status;
}

/// Whether a level shall have one below it.
static bool setup_is_last(const smoothed_part *part, int l, const setup_course *course) {
  int64_t goal = lac_coarse_rows(course->options);
  if (goal > SETUP_GOAL) goal = SETUP_GOAL;
  return smoothed_rows(&part->shape->level[l]) <= goal || l + 1 >= lac_coarse_levels(course->options);
}

static lac_status setup_levels(lac_context *ctx, smoothed_part *part, setup_course *course) {
  lac_status status = LAC_OK;
  smoothed_structure *level = part->shape->level;
  int l = 0;

  for (bool goes_on = true; goes_on; course->theta /= 2) {
    part->shape->levels = l + 1;
    LAC_TRY(lac_context_look(ctx, SETUP_WORK));
    goes_on = !setup_is_last(part, l, course);
    if (goes_on) LAC_TRY(setup_aggregates(ctx, part, l, course, &goes_on));
    if (goes_on) LAC_TRY(setup_interpolation(ctx, &level[l]));
    if (!goes_on) break;
    LAC_TRY(smoothed_fill(ctx, part, l));
    LAC_TRY(setup_next(ctx, part, l));
    ++l;
  }
done:
  return status;
}

/// The last level: a dense factor, or a smoother where it is too large for one.
static lac_status setup_last(lac_context *ctx, const lac_setup *setup, smoothed_part *part) {
  lac_status status = LAC_OK;
  lac_array *found = NULL;
  int l = part->shape->levels - 1;
  smoothed_structure *structure = &part->shape->level[l];
  double rounding = SETUP_ZERO * lac_dtype_epsilon(part->dtype);

  if (smoothed_rows(structure) <= lac_coarse_rows(&setup->options->preconditioner)) {
    LAC_TRY(
        lac_coarse_create(ctx, structure->pattern, part->level[l].values, part->is_hermitian, rounding, &part->coarse));
    part->bytes += lac_coarse_bytes(part->coarse);
    goto done;
  }
  if (!structure->kinds && !part->shape->has_blocks) {
    LAC_TRY(smoothed_found_create(ctx, &found));
    LAC_TRY(ctx->kernels->smoothed->strength(ctx, &structure->a, part->items, part->level[l].values, 0,
                                             &structure->kinds, found));
  }
  LAC_TRY(smoothed_fill(ctx, part, l));
done:
  lac_array_destroy(&found);
  return status;
}

static int64_t buffer_bytes(const lac_buffer *b) { return b ? b->count * (b->type == LAC_I32 ? 4 : 8) : 0; }

/// What a level holds; of the finest not the pattern, which is the caller's unless it is one of nodes.
static int64_t structure_bytes(const smoothed_structure *s, int l, size_t number) {
  int64_t bytes = buffer_bytes(s->kinds) + buffer_bytes(s->aggregates.member);
  bytes += buffer_bytes(s->p_offsets) + buffer_bytes(s->p_columns);
  bytes += buffer_bytes(s->r_offsets) + buffer_bytes(s->r_columns);
  if (s->aggregates.basis) bytes += s->aggregates.basis->count * (int64_t)number;
  if (l || s->size > 1) bytes += buffer_bytes(s->a.offsets) + buffer_bytes(s->a.columns);
  return bytes;
}

static void shape_count(smoothed_shape *shape, lac_dtype dtype) {
  const smoothed_places *places = &shape->places;
  shape->bytes = 0;
  if (places->pattern)
    shape->bytes += buffer_bytes(places->pattern->offsets) + buffer_bytes(places->pattern->columns) +
                    buffer_bytes(places->rows->target);
  for (int l = 0; l < shape->levels; ++l) shape->bytes += structure_bytes(&shape->level[l], l, lac_dtype_size(dtype));
}

// -- doors -----------------------------------------------------------------------------------------------------------

static lac_dtype setup_dtype(const lac_setup *setup) {
  lac_dtype dtype = setup->values->meta.dtype;
  if (setup->options->preconditioner.full_precision || setup->contrast > SETUP_STIFF) return dtype;
  return lac_coarse_narrow(dtype);
}

/// The pattern that values are read by: the caller's, or with rows at their places.
static const lac_pattern *setup_pattern(const lac_setup *setup, const smoothed_shape *shape) {
  return shape->places.pattern ? shape->places.pattern : setup->pattern;
}

/// A shape with the structure of the finest level: the caller's, or that of nodes, whose places it takes over.
static lac_status shape_open(lac_context *ctx, const lac_setup *setup, smoothed_modes *modes, smoothed_shape **out) {
  lac_status status = LAC_OK;
  smoothed_structure *level;
  smoothed_shape *shape = NULL;
  lac_rows entries;
  lac_buffer *offsets = NULL, *columns = NULL;
  int64_t size = modes->size;

  LAC_ALLOC(shape, 1);
  lac_object_init(&shape->object, &SHAPE_KIND);
  shape->places = modes->places, modes->places = (smoothed_places){0};
  memcpy(shape->warning, modes->warning, sizeof shape->warning);
  shape->has_blocks = size > 1 || modes->m > 1;
  entries = smoothed_walk(setup_pattern(setup, shape));
  level = &shape->level[0];
  level->size = size;
  if (size > 1) {
    LAC_TRY(ctx->kernels->smoothed->nodes(ctx, &entries, size, &offsets, &columns));
    LAC_TRY(lac_pattern_adopt_blocks(ctx, entries.rows / size, entries.rows / size, size, size, setup->pattern->width,
                                     &offsets, &columns, &level->pattern));
  } else {
    level->pattern = lac_pattern_retain(setup->pattern);
  }
  level->a = smoothed_walk(level->pattern);
  *out = shape, shape = NULL;
done:
  lac_object_release(shape);
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

/// A part with the finest level's values; it takes the shape over, also where it fails.
static lac_status part_open(lac_context *ctx, const lac_setup *setup, lac_dtype dtype, smoothed_shape *shape,
                            smoothed_part **out) {
  lac_status status = LAC_OK;
  smoothed_part *part = NULL;
  const lac_meta *meta = &setup->values->meta;
  lac_setup own = *setup;

  own.pattern = setup_pattern(setup, shape);
  LAC_ALLOC(part, 1);
  part->shape = shape, shape = NULL;
  part->outer = meta->dtype;
  part->dtype = dtype;
  part->items = lac_setup_items(setup);
  part->is_hermitian = setup->is_hermitian;
  part->degree = setup->is_hermitian && setup->options->preconditioner.degree != 1 ? 2 : 1;
  LAC_TRY(smoothed_finest(ctx, &own, part));
  *out = part, part = NULL;
done:
  smoothed_destroy(part);
  lac_object_release(shape);
  return status;
}

lac_status smoothed_create(lac_context *ctx, const lac_setup *setup, void **out) {
  lac_status status = LAC_OK;
  smoothed_part *part = NULL;
  smoothed_shape *shape = NULL;
  setup_course course = {0};

  LAC_CHECK(ctx->kernels->smoothed, LAC_ERR_UNSUPPORTED, "smoothed aggregation: the backend '%s' has no kernels for it",
            ctx->backend->name);
  LAC_TRY(lac_pattern_host(ctx, setup->pattern));
  LAC_TRY(course_open(ctx, setup, &course));
  LAC_TRY(shape_open(ctx, setup, &course.modes, &shape));
  LAC_TRY(part_open(ctx, setup, setup_dtype(setup), shape, &part));
  LAC_TRY(setup_levels(ctx, part, &course));
  LAC_TRY(setup_last(ctx, setup, part));
  shape_count(part->shape, part->dtype);
  *out = part, part = NULL;
done:
  course_close(&course);
  smoothed_destroy(part);
  return status;
}

lac_status smoothed_refresh(lac_context *ctx, const lac_setup *setup, const void *like, void **out) {
  lac_status status = LAC_OK;
  const smoothed_part *old = like;
  smoothed_part *part = NULL;

  if (setup_dtype(setup) != old->dtype) return smoothed_create(ctx, setup, out);
  LAC_TRY(part_open(ctx, setup, old->dtype, lac_object_retain(old->shape), &part));
  for (int l = 0; l + 1 < part->shape->levels; ++l) {
    const smoothed_structure *next = &part->shape->level[l + 1];
    LAC_TRY(lac_context_look(ctx, SETUP_WORK));
    LAC_TRY(smoothed_fill(ctx, part, l));
    LAC_TRY(smoothed_take(ctx, part, smoothed_nnz(&next->a), next->size, next->size, &part->level[l + 1].values));
    LAC_TRY(smoothed_galerkin(ctx, part, l, 0));
  }
  LAC_TRY(setup_last(ctx, setup, part));
  *out = part, part = NULL;
done:
  smoothed_destroy(part);
  return status;
}
