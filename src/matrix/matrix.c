// SPDX-License-Identifier: Apache-2.0
/// @file matrix.c
/// The life of a matrix and of its values.

#include <inttypes.h>

#include "lacuna/plain.h"
#include "matrix/matrix_impl.h"

static void matrix_free(lac_object *object) {
  lac_matrix *m = (lac_matrix *)object;
  lac_array_destroy(&m->given);
  lac_array_destroy(&m->values);
  lac_object_release(m->entries);
  lac_object_release(m->mirrored);
  lac_object_release(m->pattern);
  lac_free(m);
}

static const lac_kind matrix_kind = {"matrix", matrix_free};

lac_matrix *lac_matrix_retain(const lac_matrix *matrix) { return lac_object_retain(matrix); }

void lac_matrix_destroy(lac_matrix **matrix) {
  if (!matrix) return;
  lac_object_release(*matrix);
  *matrix = NULL;
}

lac_status lac_matrix_open(lac_context *ctx, const lac_pattern *pattern, const lac_map *entries, lac_matrix **out) {
  lac_status status = LAC_OK;
  lac_matrix *m = NULL;

  LAC_ALLOC(m, 1);
  lac_object_init(&m->object, &matrix_kind);
  m->pattern = lac_pattern_retain(pattern);
  m->entries = lac_map_is_identity(entries) ? NULL : lac_map_retain(entries);
  *out = m;
done:
  return status;
}

// -- values ----------------------------------------------------------------------------------------------------------

/// How many numbers all slots hold.
static int64_t matrix_numbers(const lac_pattern *p) { return p->nnz * p->br * p->bc; }

lac_meta lac_matrix_slots_meta(const lac_pattern *pattern, const lac_meta *like, int batch) {
  lac_meta meta = *like;

  meta.ndim = batch + (lac_pattern_has_blocks(pattern) ? 3 : 1);
  if (meta.ndim > LAC_MAX_DIMS) return meta;  // no array has it, and who makes one says so
  meta.shape[batch] = pattern->nnz;
  if (lac_pattern_has_blocks(pattern)) meta.shape[batch + 1] = pattern->br, meta.shape[batch + 2] = pattern->bc;
  return meta;
}

/// Whether an array has one number for each slot, in the slots' own shape.
static bool matrix_is_by_slots(const lac_pattern *p, const lac_array *array) {
  int batch = array->meta.ndim - (lac_pattern_has_blocks(p) ? 3 : 1);
  lac_meta expected;

  if (batch < 0) return false;
  expected = lac_matrix_slots_meta(p, &array->meta, batch);
  return lac_meta_same(&expected, &array->meta);
}

/// Refuse an array that does not have a number for each of the caller's entries.
static lac_status matrix_check_given(lac_context *ctx, const char *function, const lac_matrix *m,
                                     const lac_array *given) {
  lac_status status = LAC_OK;
  int last = given->meta.ndim - 1;
  char text[LAC_SHAPE_TEXT];

  if (m->entries) {
    LAC_CHECK(last >= 0 && given->meta.shape[last] == m->entries->inputs, LAC_ERR_SHAPE,
              "%s: the values are %s, and the matrix has %" PRId64
              " entries; give one number for each, in the order in "
              "which they came",
              function, lac_shape_text(given->meta.ndim, given->meta.shape, text), m->entries->inputs);
  } else {
    LAC_CHECK(matrix_is_by_slots(m->pattern, given), LAC_ERR_SHAPE,
              "%s: the values are %s, and the pattern has %" PRId64 " slots of %" PRId64 " x %" PRId64
              "; give [*batch, slots], and for blocks their rows and columns besides",
              function, lac_shape_text(given->meta.ndim, given->meta.shape, text), m->pattern->nnz, m->pattern->br,
              m->pattern->bc);
  }
done:
  return status;
}

/// The caller's numbers by slots: along the map, in the shape of the slots, with their mirror images.
static lac_status matrix_by_slots(lac_context *ctx, const lac_matrix *m, const lac_array *given, lac_array **out) {
  lac_status status = LAC_OK;
  lac_array *flat = NULL;
  lac_meta meta = lac_matrix_slots_meta(m->pattern, &given->meta, given->meta.ndim - 1);

  if (!m->entries) {
    flat = lac_array_retain(given);
  } else {
    LAC_TRY(lac_run_remap(ctx, m->entries, given, LAC_PLAIN, &flat));
  }
  if (m->mirrored) {
    LAC_TRY(lac_matrix_add_image(ctx, m, given, flat, out));
  } else if (m->entries && lac_pattern_has_blocks(m->pattern)) {
    LAC_TRY(lac_array_reshape(ctx, flat, meta.ndim, meta.shape, out));
  } else {
    *out = flat, flat = NULL;
  }
done:
  lac_array_destroy(&flat);
  return status;
}

/// Take over both arrays in place of the old ones.
static void matrix_exchange(lac_matrix *m, lac_array **given, lac_array **values) {
  lac_array_destroy(&m->given);
  lac_array_destroy(&m->values);
  m->given = *given, *given = NULL;
  m->values = *values, *values = NULL;
}

/// An array in the shape of the caller's entries. Blocks that come in the order of the slots have no map, and may come
/// flat like those that have one.
static lac_status matrix_shape_given(lac_context *ctx, const lac_matrix *m, const lac_array *array, lac_array **out) {
  int batch = array->meta.ndim - 1;
  lac_meta meta = lac_matrix_slots_meta(m->pattern, &array->meta, batch);
  bool is_flat = !m->entries && lac_pattern_has_blocks(m->pattern) && batch >= 0 &&
                 array->meta.shape[batch] == matrix_numbers(m->pattern) && !matrix_is_by_slots(m->pattern, array);

  if (is_flat) return lac_array_reshape(ctx, (lac_array *)array, meta.ndim, meta.shape, out);
  *out = lac_array_retain(array);
  return LAC_OK;
}

lac_status lac_matrix_take(lac_context *ctx, const char *function, lac_matrix *m, const lac_array *array) {
  lac_status status = LAC_OK;
  lac_array *given = NULL, *values = NULL;

  LAC_TRY(matrix_shape_given(ctx, m, array, &given));
  LAC_TRY(matrix_check_given(ctx, function, m, given));
  LAC_TRY(matrix_by_slots(ctx, m, given, &values));
  matrix_exchange(m, &given, &values);
done:
  lac_array_destroy(&given);
  return status;
}

/// An array over memory that was borrowed until here gives way to one that adopts it.
static lac_status matrix_adopt(lac_context *ctx, void *data, lac_array **given, lac_array **values) {
  lac_status status = LAC_OK;
  const lac_meta *meta = &(*given)->meta;
  bool is_by_slots = *values == *given;
  lac_array *adopted = NULL;

  LAC_TRY(lac_array_from(ctx, meta->dtype, meta->ndim, meta->shape, data, LAC_OWNERSHIP_ADOPT, &adopted));
  lac_array_destroy(given);
  *given = adopted;
  if (is_by_slots) lac_array_destroy(values), *values = lac_array_retain(adopted);
done:
  return status;
}

/// From memory. What is to be adopted is borrowed until nothing else can fail.
static lac_status matrix_take_numbers(lac_context *ctx, const char *function, lac_matrix *m, lac_matrix_numbers n,
                                      const lac_meta *like) {
  lac_status status = LAC_OK;
  lac_array *given = NULL, *values = NULL;
  void *data = (void *)n.data;
  bool adopts = n.ownership == LAC_OWNERSHIP_ADOPT;

  LAC_CHECK(data || lac_meta_count(like) == 0, LAC_ERR_ARG, "%s: values is NULL, and there are %" PRId64 " entries",
            function, lac_meta_count(like));
  LAC_TRY(
      lac_array_from(ctx, n.dtype, like->ndim, like->shape, data, adopts ? LAC_OWNERSHIP_BORROW : n.ownership, &given));
  LAC_TRY(matrix_check_given(ctx, function, m, given));
  LAC_TRY(matrix_by_slots(ctx, m, given, &values));
  if (adopts) LAC_TRY(matrix_adopt(ctx, data, &given, &values));
  matrix_exchange(m, &given, &values);
done:
  lac_array_destroy(&given);
  lac_array_destroy(&values);
  return status;
}

lac_status lac_matrix_make(lac_context *ctx, const char *function, const lac_pattern *pattern, const lac_map *entries,
                           lac_matrix_numbers numbers, lac_matrix **out) {
  lac_status status = LAC_OK;
  lac_matrix *m = NULL;
  lac_meta meta = lac_matrix_slots_meta(pattern, &(lac_meta){.ndim = 0}, 0);

  LAC_TRY(lac_matrix_open(ctx, pattern, entries, &m));
  if (m->entries) meta = (lac_meta){.ndim = 1, .shape = {m->entries->inputs}};
  LAC_TRY(matrix_take_numbers(ctx, function, m, numbers, &meta));
  *out = m, m = NULL;
done:
  lac_object_release(m);
  return status;
}

lac_status lac_matrix_create(lac_context *ctx, const lac_pattern *pattern, const lac_map *entries,
                             const lac_array *values, lac_matrix **out) {
  lac_status status = LAC_OK;
  lac_matrix *m = NULL;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(pattern && values && out, LAC_ERR_ARG, "lac_matrix_create: %s is NULL",
            !pattern ? "pattern"
            : values ? "out"
                     : "values");
  LAC_CHECK(!entries || entries->outputs == matrix_numbers(pattern), LAC_ERR_SHAPE,
            "lac_matrix_create: the map leads to %" PRId64 " places, and the pattern has %" PRId64
            "; give the map that came with the pattern",
            entries->outputs, matrix_numbers(pattern));
  LAC_TRY(lac_matrix_open(ctx, pattern, entries, &m));
  LAC_TRY(lac_matrix_take(ctx, "lac_matrix_create", m, values));
  *out = m, m = NULL;
done:
  lac_object_release(m);
  return status;
}

lac_status lac_matrix_update(lac_context *ctx, lac_matrix *matrix, int64_t count, const void *values,
                             lac_ownership ownership) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(matrix, LAC_ERR_ARG, "lac_matrix_update: the matrix is NULL");
  LAC_CHECK(count == matrix->given->count, LAC_ERR_SHAPE,
            "lac_matrix_update: %" PRId64 " numbers for a matrix of %" PRId64
            " entries; give one for each, in the order in which they came",
            count, matrix->given->count);
  LAC_TRY(matrix_take_numbers(ctx, "lac_matrix_update", matrix,
                              (lac_matrix_numbers){matrix->given->meta.dtype, values, ownership},
                              &matrix->given->meta));
done:
  return status;
}

lac_status lac_matrix_update_array(lac_context *ctx, lac_matrix *matrix, const lac_array *values) {
  lac_status status = LAC_OK;

  LAC_CHECK_CONTEXT();
  LAC_CHECK(matrix && values, LAC_ERR_ARG, "lac_matrix_update_array: %s is NULL", matrix ? "values" : "the matrix");
  LAC_TRY(lac_matrix_take(ctx, "lac_matrix_update_array", matrix, values));
done:
  return status;
}

// -- what it says of itself ------------------------------------------------------------------------------------------

const lac_pattern *lac_matrix_pattern(const lac_matrix *matrix) { return matrix ? matrix->pattern : NULL; }
const lac_array *lac_matrix_values(const lac_matrix *matrix) { return matrix ? matrix->values : NULL; }
const lac_array *lac_matrix_given(const lac_matrix *matrix) { return matrix ? matrix->given : NULL; }
const lac_map *lac_matrix_entries(const lac_matrix *matrix) { return matrix ? matrix->entries : NULL; }
const lac_map *lac_matrix_mirrored(const lac_matrix *matrix) { return matrix ? matrix->mirrored : NULL; }
lac_dtype lac_matrix_dtype(const lac_matrix *matrix) { return matrix ? matrix->given->meta.dtype : LAC_F32; }
int64_t lac_matrix_rows(const lac_matrix *matrix) { return lac_pattern_rows(lac_matrix_pattern(matrix)); }
int64_t lac_matrix_cols(const lac_matrix *matrix) { return lac_pattern_cols(lac_matrix_pattern(matrix)); }
int64_t lac_matrix_nnz(const lac_matrix *matrix) { return matrix ? matrix_numbers(matrix->pattern) : 0; }
int64_t lac_matrix_count(const lac_matrix *matrix) { return matrix ? matrix->given->count : 0; }
