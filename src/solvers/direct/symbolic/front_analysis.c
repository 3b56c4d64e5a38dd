// SPDX-License-Identifier: Apache-2.0
/// @file front_analysis.c
/// The supernodes of a matrix as it stands, and of the latest choices.

#include "solvers/direct/symbolic/front_analysis.h"

#include <string.h>

#include "core/array_impl.h"

static void front_choice_clear(lac_front_choice *choice) {
  lac_object_release(choice->s);
  lac_free(choice->row_scale);
  lac_free(choice->col_scale);
}

void lac_front_forget(void *part) {
  lac_front_analysis *a = part;
  if (!a) return;
  lac_object_release(a->plain);
  for (int slot = 0; slot < LAC_FRONT_SLOTS; slot++) front_choice_clear(&a->kept[slot]);
  pthread_mutex_destroy(&a->lock);
  lac_free(a);
}

lac_status lac_front_analyse(lac_context *ctx, const lac_structure *structure, lac_ordering ordering, void **part,
                             int64_t *bytes) {
  lac_status status = LAC_OK;
  lac_front_analysis *a = NULL;
  const lac_outline *outline = NULL;

  LAC_ALLOC(a, 1);
  pthread_mutex_init(&a->lock, NULL);
  a->ordering = ordering;
  if (structure->is_symmetric || structure->diagonals == structure->n) {
    LAC_TRY(lac_outline_get(ctx, structure, ordering, &outline));
    if (outline->form) {  // of its blocks, and not of the whole
      LAC_TRY(lac_supernodes_create(ctx, structure, NULL, ordering, &a->plain));
    } else {
      LAC_TRY(lac_supernodes_create_outlined(ctx, structure, outline, &a->plain));
    }
  }
  *bytes = (int64_t)sizeof *a + lac_outline_bytes(outline) + (a->plain ? lac_supernodes_bytes(a->plain) : 0);
  *part = a, a = NULL;
done:
  lac_front_forget(a);
  return status;
}

static size_t front_scale_bytes(const lac_supernodes *s, lac_dtype dtype) {
  return (size_t)s->n * (lac_dtype_size(dtype) / (lac_dtype_is_complex(dtype) ? 2 : 1));
}

lac_supernodes *lac_front_recall(const lac_front_analysis *analysis, lac_front_slot slot, lac_dtype dtype,
                                 void *row_scale, void *col_scale) {
  lac_front_analysis *a = (lac_front_analysis *)analysis;  // what it keeps changes under its lock
  const lac_front_choice *kept = &a->kept[slot];
  lac_supernodes *s = NULL;

  pthread_mutex_lock(&a->lock);
  if (kept->s && kept->dtype == dtype) {
    size_t bytes = front_scale_bytes(kept->s, dtype);
    s = lac_object_retain(kept->s);
    memcpy(row_scale, kept->row_scale, bytes);
    memcpy(col_scale, kept->col_scale, bytes);
  }
  pthread_mutex_unlock(&a->lock);
  return s;
}

bool lac_front_keep(const lac_front_analysis *analysis, lac_front_slot slot, lac_dtype dtype, lac_supernodes *s,
                    const void *row_scale, const void *col_scale) {
  lac_front_analysis *a = (lac_front_analysis *)analysis;
  size_t bytes = front_scale_bytes(s, dtype);
  lac_front_choice choice = {.dtype = dtype, .row_scale = lac_alloc(bytes), .col_scale = lac_alloc(bytes)};
  bool fits = choice.row_scale && choice.col_scale;

  if (fits) {
    choice.s = lac_object_retain(s);
    memcpy(choice.row_scale, row_scale, bytes);
    memcpy(choice.col_scale, col_scale, bytes);
    pthread_mutex_lock(&a->lock);
    lac_front_choice before = a->kept[slot];
    a->kept[slot] = choice;
    pthread_mutex_unlock(&a->lock);
    choice = before;
  }
  front_choice_clear(&choice);
  return fits;
}
