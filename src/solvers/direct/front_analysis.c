// SPDX-License-Identifier: Apache-2.0
/// @file front_analysis.c
/// The supernodes of a matrix as it stands, and of its latest matching.

#include "solvers/direct/front_analysis.h"

#include <string.h>

#include "core/array_impl.h"

void lac_front_forget(void *part) {
  lac_front_analysis *a = part;
  if (!a) return;
  lac_object_release(a->plain);
  lac_object_release(a->matched);
  lac_free(a->row_scale);
  lac_free(a->col_scale);
  pthread_mutex_destroy(&a->lock);
  lac_free(a);
}

lac_status lac_front_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, void **part,
                             int64_t *bytes) {
  lac_status status = LAC_OK;
  lac_front_analysis *a = NULL;

  LAC_ALLOC(a, 1);
  pthread_mutex_init(&a->lock, NULL);
  a->ordering = ordering;
  if (structure->is_symmetric || structure->diagonals == structure->n) {
    LAC_TRY(lac_supernodes_create(ctx, structure, NULL, ordering, &a->plain));
  }
  *bytes = (int64_t)sizeof *a + (a->plain ? lac_supernodes_bytes(a->plain) : 0);
  *part = a, a = NULL;
done:
  lac_front_forget(a);
  return status;
}

static size_t front_scale_bytes(const lac_supernodes *s, lac_dtype dtype) {
  return (size_t)s->n * (lac_dtype_size(dtype) / (lac_dtype_is_complex(dtype) ? 2 : 1));
}

lac_supernodes *lac_front_recall(const lac_front_analysis *analysis, lac_dtype dtype, void *row_scale,
                                 void *col_scale) {
  lac_front_analysis *a = (lac_front_analysis *)analysis;  // what it keeps changes under its lock
  lac_supernodes *matched = NULL;

  pthread_mutex_lock(&a->lock);
  if (a->matched && a->dtype == dtype) {
    size_t bytes = front_scale_bytes(a->matched, dtype);
    matched = lac_object_retain(a->matched);
    memcpy(row_scale, a->row_scale, bytes);
    memcpy(col_scale, a->col_scale, bytes);
  }
  pthread_mutex_unlock(&a->lock);
  return matched;
}

bool lac_front_keep(const lac_front_analysis *analysis, lac_dtype dtype, lac_supernodes *matched, const void *row_scale,
                    const void *col_scale) {
  lac_front_analysis *a = (lac_front_analysis *)analysis;
  size_t bytes = front_scale_bytes(matched, dtype);
  lac_supernodes *before = NULL;
  void *rows = lac_alloc(bytes), *cols = lac_alloc(bytes), *old_rows = rows, *old_cols = cols;

  bool fits = rows && cols;

  if (fits) {
    memcpy(rows, row_scale, bytes);
    memcpy(cols, col_scale, bytes);
    pthread_mutex_lock(&a->lock);
    before = a->matched, old_rows = a->row_scale, old_cols = a->col_scale;
    a->matched = lac_object_retain(matched), a->dtype = dtype;
    a->row_scale = rows, a->col_scale = cols;
    pthread_mutex_unlock(&a->lock);
  }
  lac_object_release(before);
  lac_free(old_rows);
  lac_free(old_cols);
  return fits;
}
