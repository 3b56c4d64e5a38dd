// SPDX-License-Identifier: Apache-2.0
/// @file pattern_double.c
/// Dual numbers as matrices: c + eps m is the block [[c, m], [0, c]].
///
///     A (x) [[1, 1], [0, 1]]     rows 2i and 2i + 1 are row i; entry (i, j) becomes (2i, 2j), (2i, 2j + 1), (2i + 1,
///                                2j + 1)
///
/// Such blocks add, multiply and divide as dual numbers do. A function of the values of a matrix that is made of these
/// alone, run on the doubled pattern, therefore gives its value on the diagonals of the blocks and its derivative off
/// them.

#include "core/pattern/pattern_impl.h"

static void doubled_free(lac_object *object) {
  lac_doubled *d = (lac_doubled *)object;
  lac_pattern_destroy(&d->pattern);
  lac_map_destroy(&d->pair);
  lac_map_destroy(&d->twice);
  lac_map_destroy(&d->once);
  lac_free(d);
}

static const lac_kind doubled_kind = {"doubled pattern", doubled_free};

/// What becomes the maps: the target of each slot.
typedef struct doubled_targets {
  lac_buffer *pair, *twice, *once;
} doubled_targets;

/// The slots of one entry's block are first, first + 1 and last.
static void doubled_aim(const doubled_targets *t, int64_t nnz, int64_t p, int64_t first, int64_t last) {
  lac_buffer_set(t->pair, first, p);
  lac_buffer_set(t->pair, first + 1, nnz + p);
  lac_buffer_set(t->pair, last, p);
  lac_buffer_set(t->twice, first, p);
  lac_buffer_set(t->twice, first + 1, -1);
  lac_buffer_set(t->twice, last, p);
  lac_buffer_set(t->once, first, -1);
  lac_buffer_set(t->once, first + 1, p);
  lac_buffer_set(t->once, last, -1);
}

static void doubled_fill(const lac_pattern *a, lac_buffer *offsets, lac_buffer *columns, const doubled_targets *t) {
  for (int64_t i = 0; i < a->rows; ++i) {
    int64_t begin = lac_buffer_get(a->offsets, i), end = lac_buffer_get(a->offsets, i + 1);
    int64_t first = 3 * begin, last = first + 2 * (end - begin);
    lac_buffer_set(offsets, 2 * i, first);
    lac_buffer_set(offsets, 2 * i + 1, last);
    for (int64_t p = begin; p < end; ++p, first += 2, ++last) {
      int64_t j = lac_buffer_get(a->columns, p);
      lac_buffer_set(columns, first, 2 * j);
      lac_buffer_set(columns, first + 1, 2 * j + 1);
      lac_buffer_set(columns, last, 2 * j + 1);
      doubled_aim(t, a->nnz, p, first, last);
    }
  }
  lac_buffer_set(offsets, 2 * a->rows, 3 * a->nnz);
}

static lac_status doubled_structure(lac_context *ctx, const lac_pattern *a, lac_width width, const doubled_targets *t,
                                    lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *columns = NULL;

  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), 2 * a->rows + 1, &offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), 3 * a->nnz, &columns));
  doubled_fill(a, offsets, columns, t);
  LAC_TRY(lac_pattern_adopt(ctx, 2 * a->rows, 2 * a->cols, width, &offsets, &columns, out));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

static lac_status doubled_make(lac_context *ctx, const lac_pattern *a, lac_doubled *d) {
  lac_status status = LAC_OK;
  doubled_targets t = {NULL, NULL, NULL};
  lac_width width = LAC_WIDTH_AUTO;
  lac_index_type type = LAC_I32;

  LAC_TRY(lac_width_choose(ctx, "lac_pattern_doubled", LAC_WIDTH_AUTO, 2 * a->rows, 2 * a->cols, 3 * a->nnz, &width));
  if (a->width > width) width = a->width;
  type = lac_width_offsets(width);
  LAC_TRY(lac_buffer_create(ctx, type, 3 * a->nnz, &t.pair));
  LAC_TRY(lac_buffer_create(ctx, type, 3 * a->nnz, &t.twice));
  LAC_TRY(lac_buffer_create(ctx, type, 3 * a->nnz, &t.once));
  LAC_TRY(doubled_structure(ctx, a, width, &t, &d->pattern));
  LAC_TRY(lac_map_adopt(ctx, 2 * a->nnz, &t.pair, &d->pair));
  LAC_TRY(lac_map_adopt(ctx, a->nnz, &t.twice, &d->twice));
  LAC_TRY(lac_map_adopt_injective(ctx, a->nnz, &t.once, &d->once));
done:
  lac_object_release(t.pair);
  lac_object_release(t.twice);
  lac_object_release(t.once);
  return status;
}

lac_status lac_pattern_doubled(lac_context *ctx, const lac_pattern *pattern, lac_doubled **out) {
  lac_status status = LAC_OK;
  lac_doubled *d = NULL;

  LAC_TRY(lac_pattern_require_host(ctx, pattern, "lac_pattern_doubled"));
  d = (lac_doubled *)lac_pattern_find_cached(pattern, &doubled_kind, NULL, NULL);
  if (!d) {
    LAC_ALLOC(d, 1);
    lac_object_init(&d->object, &doubled_kind);
    LAC_TRY(doubled_make(ctx, pattern, d));
    LAC_TRY(lac_pattern_add_cached(ctx, pattern, &d->object, 48 * pattern->nnz + 8 * pattern->rows));
  }
  *out = d, d = NULL;
done:
  lac_object_release(d);
  return status;
}
