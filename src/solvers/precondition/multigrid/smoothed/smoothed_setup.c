// SPDX-License-Identifier: Apache-2.0
/// @file smoothed_setup.c
/// The set-up of smoothed aggregation, level by level.
///
///     P = (I - omega F A') T,  R = P^H,  A_next = R A P,  omega = 4/3 / rho(F A')
///
/// A' is A with its weak entries on the diagonal, F its inverted diagonal. Structure (kinds of entries, aggregates, patterns) goes into a shape
/// that refreshments share; they redo the numbers alone.

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/random.h"
#include "solvers/precondition/multigrid/smoothed/smoothed.h"

enum { SETUP_POWER_STEPS = 8, SETUP_SEED = 1 };
enum { SETUP_GOAL = 300 };  // rows of a dense factor that costs less than another level
static const double SETUP_THETA = 0.08;
static const double SETUP_TIGHT = 2.1;    // a bound of rho that needs no better one
static const double SETUP_SAFETY = 1.15;  // for what the power method has not found yet
static const double SETUP_STALL = 0.85;   // a next level with more rows than this share is none
static const double SETUP_ZERO = 100;     // roundings: a pivot of the last level below them is none
// A diagonal smoother I - omega S A: S A has eigenvalues near 1, unless rho is near 2; then omega rho is 1.8, safely below 2.
static const double SETUP_NEAR_TWO = 1.9, SETUP_DAMPED = 1.8;

// -- what owns memory ------------------------------------------------------------------------------------------------

static void structure_clear(smoothed_structure *level) {
  lac_pattern_destroy(&level->pattern);
  lac_free(level->kinds), lac_free(level->member), lac_free(level->first), lac_free(level->basis);
  lac_free(level->p_offsets), lac_free(level->p_columns), lac_free(level->r_offsets), lac_free(level->r_columns);
}

static void shape_destroy(lac_object *object) {
  smoothed_shape *shape = (smoothed_shape *)object;
  for (int l = 0; l < LAC_LEVELS; ++l) structure_clear(&shape->level[l]);
  lac_free(shape);
}

static const lac_kind SHAPE_KIND = {.name = "smoothed_shape", .destroy = shape_destroy};

void smoothed_destroy(void *part) {
  smoothed_part *p = part;
  if (!p) return;
  for (int l = 0; l < LAC_LEVELS; ++l) {
    smoothed_numbers *level = &p->level[l];
    lac_free(level->owned), lac_free(level->s), lac_free(level->p_values), lac_free(level->r_values);
    lac_free(level->omega);
  }
  lac_coarse_destroy(p->coarse);
  lac_array_destroy(&p->shared);
  lac_free(p->factor);
  lac_object_release(p->shape);
  lac_free(p);
}

/// A block of numbers that the part counts.
static lac_status part_take(lac_context *ctx, smoothed_part *part, int64_t count, size_t size, void **out) {
  lac_status status = LAC_OK;
  *out = lac_alloc((size_t)count * size);
  LAC_CHECK(*out, LAC_ERR_MEMORY, "out of memory: %lld numbers of %zu bytes", (long long)count, size);
  part->bytes += count * (int64_t)size;
done:
  return status;
}

static lac_sparse sparse_of(const lac_pattern *p) {
  return (lac_sparse){p->rows, p->cols, p->nnz, p->width, p->offsets->host, p->columns->host, NULL};
}

// -- numbers ---------------------------------------------------------------------------------------------------------

double smoothed_factor(double largest) {
  int exponent = 0;
  if (!(largest > 0) || !isfinite(largest)) return 1;
  (void)frexp(largest, &exponent);
  return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

/// The values of the finest level: the caller's own, or in the hierarchy's precision.
static lac_status setup_finest(lac_context *ctx, const lac_setup *setup, smoothed_part *part) {
  lac_status status = LAC_OK;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  int64_t nnz = setup->pattern->nnz;
  size_t wide = lac_dtype_size(part->outer), narrow = lac_dtype_size(part->dtype);
  const char *values = setup->values->storage->data;

  LAC_ALLOC(part->factor, part->items);
  for (int64_t item = 0; item < part->items; ++item) part->factor[item] = 1;
  part->level[0].values = values;
  if (part->dtype == part->outer) {
    part->shared = lac_array_retain(setup->values);
    goto done;
  }
  LAC_TRY(part_take(ctx, part, part->items * nnz, narrow, &part->level[0].owned));
  part->level[0].values = part->level[0].owned;
  for (int64_t item = 0; item < part->items; ++item) {
    const char *from = values + (size_t)(item * nnz) * wide;
    double largest = 0;
    LAC_TRY(kernels->largest(ctx, part->outer, nnz, 1, from, &largest));
    part->factor[item] = smoothed_factor(largest);
    LAC_TRY(kernels->narrow(ctx, part->dtype, nnz, 1, &part->factor[item], from,
                            (char *)part->level[0].owned + (size_t)(item * nnz) * narrow));
  }
done:
  return status;
}

/// Numbers of no order, the same in every run, as real numbers of a dtype.
static void setup_random(lac_dtype dtype, int64_t count, void *x) {
  int64_t reals = lac_dtype_is_complex(dtype) ? 2 * count : count;
  lac_random_fill(SETUP_SEED, lac_dtype_real(dtype) == LAC_F64, reals, x);
}

/// rho(S A), or of F A' with kinds: a bound that is tight enough, or what a few power steps find.
static lac_status setup_rho(lac_context *ctx, const smoothed_part *part, const lac_sparse *a, const void *values,
                            const uint8_t *kinds, const void *s, double bound, double *rho) {
  lac_status status = LAC_OK;
  size_t bytes = (size_t)a->rows * lac_dtype_size(part->dtype);
  void *x = NULL, *y = NULL, *swap;
  double norm = 0, before = 1;

  *rho = bound;
  if (!(bound > SETUP_TIGHT)) goto done;
  x = lac_alloc(bytes), y = lac_alloc(bytes);
  LAC_CHECK(x && y, LAC_ERR_MEMORY, "out of memory: vectors of %zu bytes", bytes);
  setup_random(part->dtype, a->rows, x);
  for (int n = 0; n < SETUP_POWER_STEPS; ++n) {
    before = n ? norm : 1;
    if (!(before > 0)) break;
    LAC_TRY(ctx->kernels->smoothed->power_step(ctx, part->dtype, a, values, kinds, s, 1 / before, x, y, &norm));
    swap = x, x = y, y = swap;
  }
  if (isfinite(norm) && norm > 0) *rho = fmin(bound, SETUP_SAFETY * norm);
done:
  lac_free(x);
  lac_free(y);
  return status;
}

/// Smoother and interpolation of one matrix on a level whose structure is known.
static lac_status setup_item(lac_context *ctx, smoothed_part *part, int l, int64_t item, void *f) {
  lac_status status = LAC_OK;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  const smoothed_structure *structure = &part->shape->level[l];
  smoothed_numbers *level = &part->level[l];
  size_t size = lac_dtype_size(part->dtype);
  const void *values = (const char *)level->values + (size_t)(item * structure->a.nnz) * size;
  char *s = (char *)level->s + (size_t)(item * structure->a.rows) * size;
  double bounds[2], rho = 0;
  lac_smoother smoother = part->degree > 1 ? LAC_SMOOTHER_JACOBI : LAC_SMOOTHER_SPAI;

  LAC_TRY(kernels->diagonals(ctx, part->dtype, &structure->a, values, structure->kinds, smoother, s, f, bounds));
  LAC_TRY(setup_rho(ctx, part, &structure->a, values, NULL, s, bounds[0], &rho));
  level->omega[item] = part->degree > 1 ? rho : rho > SETUP_NEAR_TWO ? SETUP_DAMPED / rho : 1;
  if (!structure->p.rows) goto done;
  LAC_TRY(setup_rho(ctx, part, &structure->a, values, structure->kinds, f, bounds[1], &rho));
  LAC_TRY(kernels->interpolate_values(ctx, part->dtype, &structure->a, values, structure->kinds, f,
                                      rho > 0 ? 4 / (3 * rho) : 0, &structure->aggregates, &structure->p,
                                      (char *)level->p_values + (size_t)(item * structure->p.nnz) * size));
  LAC_TRY(kernels->transpose_values(ctx, part->dtype, &structure->p,
                                    (char *)level->p_values + (size_t)(item * structure->p.nnz) * size, &structure->r,
                                    (char *)level->r_values + (size_t)(item * structure->p.nnz) * size));
done:
  return status;
}

static lac_status setup_numbers(lac_context *ctx, smoothed_part *part, int l) {
  lac_status status = LAC_OK;
  const smoothed_structure *structure = &part->shape->level[l];
  smoothed_numbers *level = &part->level[l];
  size_t size = lac_dtype_size(part->dtype);
  void *f = lac_alloc((size_t)structure->a.rows * size);

  LAC_CHECK(f, LAC_ERR_MEMORY, "out of memory: %lld numbers", (long long)structure->a.rows);
  LAC_TRY(part_take(ctx, part, part->items * structure->a.rows, size, &level->s));
  LAC_ALLOC(level->omega, part->items);
  if (structure->p.rows) {
    LAC_TRY(part_take(ctx, part, part->items * structure->p.nnz, size, &level->p_values));
    LAC_TRY(part_take(ctx, part, part->items * structure->p.nnz, size, &level->r_values));
  }
  for (int64_t item = 0; item < part->items; ++item) LAC_TRY(setup_item(ctx, part, l, item, f));
done:
  lac_free(f);
  return status;
}

/// The next level's values of matrices [first, items), on its structure.
static lac_status setup_galerkin(lac_context *ctx, smoothed_part *part, int l, int64_t first) {
  lac_status status = LAC_OK;
  const smoothed_structure *structure = &part->shape->level[l], *next = structure + 1;
  smoothed_numbers *level = &part->level[l];
  size_t size = lac_dtype_size(part->dtype);

  for (int64_t item = first; item < part->items; ++item) {
    LAC_TRY(ctx->kernels->smoothed->galerkin_values(
        ctx, part->dtype, &structure->a, (const char *)level->values + (size_t)(item * structure->a.nnz) * size,
        &structure->p, (char *)level->p_values + (size_t)(item * structure->p.nnz) * size, &structure->r,
        (char *)level->r_values + (size_t)(item * structure->p.nnz) * size, &next->a,
        (char *)level[1].owned + (size_t)(item * next->a.nnz) * size));
  }
done:
  return status;
}

// -- structure -------------------------------------------------------------------------------------------------------

/// The structures of P and R for the aggregates of a level.
static lac_status setup_interpolation(lac_context *ctx, smoothed_structure *level) {
  lac_status status = LAC_OK;
  const lac_smoothed_kernels *kernels = ctx->kernels->smoothed;
  lac_width width = level->a.width;
  size_t offset = smoothed_offset_size(width), column = smoothed_column_size(width);
  int64_t rows = level->a.rows, columns = level->aggregates.columns, nnz = 0;

  level->p_offsets = lac_alloc((size_t)(rows + 1) * offset);
  level->r_offsets = lac_alloc((size_t)(columns + 1) * offset);
  LAC_CHECK(level->p_offsets && level->r_offsets, LAC_ERR_MEMORY, "out of memory: %lld rows", (long long)rows);
  LAC_TRY(kernels->interpolate(ctx, &level->a, level->kinds, &level->aggregates, level->p_offsets, NULL));
  nnz = offset == 4 ? ((int32_t *)level->p_offsets)[rows] : ((int64_t *)level->p_offsets)[rows];
  level->p_columns = lac_alloc((size_t)nnz * column);
  level->r_columns = lac_alloc((size_t)nnz * column);
  LAC_CHECK(level->p_columns && level->r_columns, LAC_ERR_MEMORY, "out of memory: %lld entries", (long long)nnz);
  LAC_TRY(kernels->interpolate(ctx, &level->a, level->kinds, &level->aggregates, level->p_offsets, level->p_columns));
  level->p = (lac_sparse){rows, columns, nnz, width, level->p_offsets, level->p_columns, NULL};
  LAC_TRY(kernels->transpose(ctx, &level->p, level->r_offsets, level->r_columns));
  level->r = (lac_sparse){columns, rows, nnz, width, level->r_offsets, level->r_columns, NULL};
done:
  return status;
}

/// The next level's structure with the first matrix on it, and then the others.
static lac_status setup_next(lac_context *ctx, smoothed_part *part, int l) {
  lac_status status = LAC_OK;
  smoothed_structure *structure = &part->shape->level[l], *next = structure + 1;
  smoothed_numbers *level = &part->level[l];
  lac_buffer *offsets = NULL, *columns = NULL;
  size_t size = lac_dtype_size(part->dtype);
  void *first = NULL;

  LAC_TRY(ctx->kernels->smoothed->galerkin(ctx, part->dtype, &structure->a, level->values, &structure->p,
                                           level->p_values, &structure->r, level->r_values, &offsets, &columns,
                                           &first));
  LAC_TRY(lac_pattern_adopt(ctx, structure->r.rows, structure->r.rows, structure->a.width, &offsets, &columns,
                            &next->pattern));
  next->a = sparse_of(next->pattern);
  if (part->items == 1) {
    level[1].owned = first, first = NULL;
    part->bytes += next->a.nnz * (int64_t)size;
  } else {
    LAC_TRY(part_take(ctx, part, part->items * next->a.nnz, size, &level[1].owned));
    memcpy(level[1].owned, first, (size_t)next->a.nnz * size);
    LAC_TRY(setup_galerkin(ctx, part, l, 1));
  }
  level[1].values = level[1].owned;
done:
  lac_free(first);
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

/// What a set-up goes by, level after level.
typedef struct setup_course {
  const lac_precondition *options;
  double theta;
  int m;                 // near-null vectors; 0: constants
  void *vectors;         // [rows, m] of the present level
  int64_t nodes, *node;  // runs of rows that stay together; NULL: rows
} setup_course;

/// The near-null vectors in double precision, and the nodes of the finest level.
static lac_status course_open(lac_context *ctx, const lac_setup *setup, lac_dtype dtype, setup_course *course) {
  lac_status status = LAC_OK;
  const lac_array *given = setup->options->preconditioner.near_null;
  lac_dtype wide = lac_dtype_is_complex(dtype) ? LAC_C128 : LAC_F64;
  int64_t n = setup->pattern->rows, block = 1;
  lac_array *cast = NULL;

  course->options = &setup->options->preconditioner;
  course->theta = course->options->strength > 0 ? course->options->strength : SETUP_THETA;
  if (!given || given->count == 0) goto done;
  LAC_CHECK(given->meta.ndim == 2 && given->meta.shape[0] == n, LAC_ERR_SHAPE,
            "multigrid: near_null must be [%lld, m]; it has %d dimensions and %lld rows", (long long)n,
            given->meta.ndim, (long long)given->meta.shape[0]);
  LAC_CHECK(lac_dtype_is_complex(dtype) || !lac_dtype_is_complex(given->meta.dtype), LAC_ERR_DTYPE,
            "multigrid: near_null is complex and the matrix is real; give its real and imaginary parts as columns");
  course->m = (int)given->meta.shape[1];
  LAC_TRY(lac_array_create(ctx, wide, 2, given->meta.shape, &cast));
  LAC_TRY(ctx->kernels->cast(ctx, given, cast));
  course->vectors = lac_alloc((size_t)given->count * lac_dtype_size(wide));
  LAC_CHECK(course->vectors, LAC_ERR_MEMORY, "out of memory: %lld near-null numbers", (long long)given->count);
  LAC_TRY(lac_array_read(ctx, cast, course->vectors));
  if (course->m == 1) goto done;
  block = lac_setup_blocks(setup->pattern, course->m < 8 ? course->m : 8);
  if (block == 1) block = course->m == 3 ? 2 : course->m == 6 ? 3 : 1;  // rigid motions of two and three dimensions
  if (n % block) block = 1;
  course->nodes = n / block;
  LAC_ALLOC(course->node, course->nodes + 1);
  for (int64_t i = 0; i <= course->nodes; ++i) course->node[i] = i * block;
done:
  lac_array_destroy(&cast);
  return status;
}

static void course_close(setup_course *course) {
  lac_free(course->vectors);
  lac_free(course->node);
}

/// From the nodes of a level to those of the next: its aggregates.
static lac_status course_nodes(lac_context *ctx, const smoothed_structure *level, setup_course *course) {
  lac_status status = LAC_OK;
  int64_t count = level->aggregates.count, *node = NULL;

  if (!course->node) goto done;
  LAC_ALLOC(node, count + 1);
  for (int64_t a = 0; a <= count; ++a) node[a] = smoothed_index(level->a.width, level->first, a);
  lac_free(course->node);
  course->node = node;
  course->nodes = count;
done:
  return status;
}

/// Aggregates and the tentative interpolation; *goes_on is false where they make no smaller level.
static lac_status setup_aggregates(lac_context *ctx, smoothed_part *part, int l, setup_course *course, bool *goes_on) {
  lac_status status = LAC_OK;
  smoothed_structure *level = &part->shape->level[l];
  void *next = NULL;

  LAC_TRY(smoothed_aggregate(ctx, part->dtype, part->items, part->level[l].values, course->theta, course->nodes,
                             course->node, level));
  if (course->m) {
    LAC_TRY(smoothed_tentative(ctx, part->dtype, course->m, course->vectors, level, &next));
    lac_free(course->vectors);
    course->vectors = next;
    LAC_TRY(course_nodes(ctx, level, course));
  }
  *goes_on = level->aggregates.columns > 0 && (double)level->aggregates.columns < SETUP_STALL * (double)level->a.rows;
done:
  return status;
}

/// Whether a level shall have one below it.
static bool setup_is_last(const smoothed_part *part, int l, const setup_course *course) {
  int64_t goal = lac_coarse_rows(course->options);
  if (goal > SETUP_GOAL) goal = SETUP_GOAL;
  return part->shape->level[l].a.rows <= goal || l + 1 >= lac_coarse_levels(course->options);
}

static lac_status setup_levels(lac_context *ctx, smoothed_part *part, setup_course *course) {
  lac_status status = LAC_OK;
  smoothed_structure *level = part->shape->level;
  int l = 0;

  for (bool goes_on = true; goes_on; course->theta /= 2) {
    part->shape->levels = l + 1;
    goes_on = !setup_is_last(part, l, course);
    if (goes_on) LAC_TRY(setup_aggregates(ctx, part, l, course, &goes_on));
    if (goes_on) LAC_TRY(setup_interpolation(ctx, &level[l]));
    if (!goes_on) break;
    LAC_TRY(setup_numbers(ctx, part, l));
    LAC_TRY(setup_next(ctx, part, l));
    ++l;
  }
done:
  return status;
}

/// The last level: a dense factor, or a smoother where it is too large for one.
static lac_status setup_last(lac_context *ctx, const lac_setup *setup, smoothed_part *part) {
  lac_status status = LAC_OK;
  int l = part->shape->levels - 1;
  smoothed_structure *structure = &part->shape->level[l];
  double rounding = SETUP_ZERO * (lac_dtype_real(part->dtype) == LAC_F32 ? FLT_EPSILON : DBL_EPSILON);
  int64_t weak = 0;

  if (structure->a.rows <= lac_coarse_rows(&setup->options->preconditioner)) {
    LAC_TRY(lac_coarse_create(ctx, part->dtype, structure->pattern, part->items, part->level[l].values,
                              part->is_hermitian, rounding, &part->coarse));
    part->bytes += lac_coarse_bytes(part->coarse);
    goto done;
  }
  if (!structure->kinds) {
    LAC_ALLOC(structure->kinds, structure->a.nnz);
    LAC_TRY(ctx->kernels->smoothed->strength(ctx, part->dtype, &structure->a, part->items, part->level[l].values, 0,
                                             structure->kinds, &weak));
  }
  LAC_TRY(setup_numbers(ctx, part, l));
done:
  return status;
}

static int64_t structure_bytes(const smoothed_structure *s, size_t number) {
  int64_t offset = (int64_t)smoothed_offset_size(s->a.width), column = (int64_t)smoothed_column_size(s->a.width);
  int64_t bytes = s->kinds ? s->a.nnz : 0;
  if (s->member) bytes += s->a.rows * column;
  if (s->basis) bytes += s->a.rows * s->aggregates.m * (int64_t)number;
  if (s->p.rows) bytes += (s->p.rows + s->r.rows + 2) * offset + 2 * s->p.nnz * column;
  return bytes;
}

static void shape_count(smoothed_shape *shape, lac_dtype dtype) {
  shape->bytes = 0;
  for (int l = 0; l < shape->levels; ++l) {
    const smoothed_structure *s = &shape->level[l];
    shape->bytes += structure_bytes(s, lac_dtype_size(dtype));
    if (l) {
      shape->bytes += (s->a.rows + 1) * (int64_t)smoothed_offset_size(s->a.width) +
                      s->a.nnz * (int64_t)smoothed_column_size(s->a.width);
    }
  }
}

// -- doors -----------------------------------------------------------------------------------------------------------

static lac_dtype setup_dtype(const lac_setup *setup) {
  lac_dtype dtype = setup->values->meta.dtype;
  if (setup->options->preconditioner.full_precision) return dtype;
  return dtype == LAC_F64 ? LAC_F32 : dtype == LAC_C128 ? LAC_C64 : dtype;
}

/// A part with the finest level's values.
static lac_status part_open(lac_context *ctx, const lac_setup *setup, smoothed_part **out) {
  lac_status status = LAC_OK;
  smoothed_part *part = NULL;
  const lac_meta *meta = &setup->values->meta;

  LAC_CHECK(ctx->kernels->smoothed, LAC_ERR_UNSUPPORTED, "smoothed aggregation: the backend '%s' has no kernels for it",
            ctx->backend->name);
  LAC_ALLOC(part, 1);
  part->outer = meta->dtype;
  part->dtype = setup_dtype(setup);
  part->items = meta->ndim > 1 ? meta->shape[0] : 1;
  part->is_hermitian = setup->is_hermitian;
  part->degree = setup->is_hermitian && setup->options->preconditioner.degree != 1 ? 2 : 1;
  LAC_TRY(setup_finest(ctx, setup, part));
  *out = part, part = NULL;
done:
  smoothed_destroy(part);
  return status;
}

lac_status smoothed_create(lac_context *ctx, const lac_setup *setup, void **out) {
  lac_status status = LAC_OK;
  smoothed_part *part = NULL;
  setup_course course = {0};

  LAC_TRY(lac_pattern_host(ctx, setup->pattern));
  LAC_TRY(part_open(ctx, setup, &part));
  LAC_TRY(course_open(ctx, setup, part->dtype, &course));
  LAC_ALLOC(part->shape, 1);
  lac_object_init(&part->shape->object, &SHAPE_KIND);
  part->shape->level[0].pattern = lac_pattern_retain(setup->pattern);
  part->shape->level[0].a = sparse_of(setup->pattern);
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
  LAC_TRY(part_open(ctx, setup, &part));
  part->shape = lac_object_retain(old->shape);
  for (int l = 0; l + 1 < part->shape->levels; ++l) {
    LAC_TRY(setup_numbers(ctx, part, l));
    LAC_TRY(part_take(ctx, part, part->items * part->shape->level[l + 1].a.nnz, lac_dtype_size(part->dtype),
                      &part->level[l + 1].owned));
    part->level[l + 1].values = part->level[l + 1].owned;
    LAC_TRY(setup_galerkin(ctx, part, l, 0));
  }
  LAC_TRY(setup_last(ctx, setup, part));
  *out = part, part = NULL;
done:
  smoothed_destroy(part);
  return status;
}
