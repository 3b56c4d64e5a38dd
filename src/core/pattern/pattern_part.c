// SPDX-License-Identifier: Apache-2.0
/// @file pattern_part.c
/// What is derived from a pattern and kept with it: its transpose, its latest triangles, the maps to its diagonal, its
/// rows and its columns, the scalar pattern of a block pattern.
///
/// Whoever asks again gets the same objects, so that what these keep themselves (a triangle's own transpose, copies on
/// devices) is kept too. A part holds buffers and never the pattern it is of: there are no cycles, not through the
/// transpose of a transpose either, which is a pattern of its own. A pattern that was made as part of a part of a part
/// keeps nothing, so that `p = transpose(p)` over and over does not grow a chain.

#include <string.h>

#include "core/pattern/pattern_impl.h"

enum { DEEPEST = 3 };
enum { TRANSPOSE, DIAGONAL, ROWS, COLS, SCALAR, TRIANGLES };  // places; the latest triangle comes first

static void part_free(lac_object *object) {
  lac_part *part = (lac_part *)object;
  lac_pattern_destroy(&part->pattern);
  lac_map_destroy(&part->map);
  lac_free(part);
}

static const lac_kind part_kind = {"part", part_free};

// -- places; the pattern's lock is held ------------------------------------------------------------------------------

static int part_place(const lac_part *part) {
  static const int places[] = {[LAC_PART_TRANSPOSE] = TRANSPOSE,
                               [LAC_PART_LOWER] = LAC_PARTS_KEPT - 1,
                               [LAC_PART_UPPER] = LAC_PARTS_KEPT - 1,
                               [LAC_PART_DIAGONAL] = DIAGONAL,
                               [LAC_PART_ROWS] = ROWS,
                               [LAC_PART_COLS] = COLS,
                               [LAC_PART_SCALAR] = SCALAR};
  return places[part->name];
}

/// Put a part in its place; a triangle from place i before the others.
static void part_put(lac_pattern *p, int i, lac_part *part) {
  int first = i < TRIANGLES ? i : TRIANGLES;
  memmove(&p->parts[first + 1], &p->parts[first], (size_t)(i - first) * sizeof *p->parts);
  p->parts[first] = part;
}

/// The kept part, retained, or NULL.
static lac_part *part_find(lac_pattern *p, lac_part_name name, int64_t k) {
  for (int i = 0; i < LAC_PARTS_KEPT; ++i) {
    lac_part *part = p->parts[i];
    if (!part || part->name != name || part->k != k) continue;
    part_put(p, i, part);
    return lac_object_retain(part);
  }
  return NULL;
}

// -- asking ----------------------------------------------------------------------------------------------------------

/// Keep a new part, or take the one that another thread kept meanwhile: all who ask get the same. Retained.
static lac_part *part_keep(lac_pattern *p, lac_part *made) {
  lac_part *gone = NULL;

  pthread_mutex_lock(&p->lock);
  lac_part *part = part_find(p, made->name, made->k);
  if (!part) {
    part = lac_object_retain(made);
    if (p->depth < DEEPEST) {
      int place = part_place(made);
      gone = p->parts[place];
      if (made->pattern) made->pattern->depth = p->depth + 1;
      part_put(p, place, lac_object_retain(made));
    }
  }
  pthread_mutex_unlock(&p->lock);
  lac_object_release(gone);
  return part;
}

lac_status lac_pattern_part(lac_context *ctx, const lac_pattern *pattern, lac_part_name name, int64_t k,
                            lac_status (*make)(lac_context *, const lac_pattern *, lac_part *), lac_pattern **out,
                            lac_map **map) {
  lac_status status = LAC_OK;
  lac_pattern *p = (lac_pattern *)pattern;  // only its parts change, under the lock
  lac_part *part = NULL, *made = NULL;

  pthread_mutex_lock(&p->lock);
  part = part_find(p, name, k);
  pthread_mutex_unlock(&p->lock);
  if (!part) {
    LAC_ALLOC(made, 1);
    lac_object_init(&made->object, &part_kind);
    made->name = name;
    made->k = k;
    LAC_TRY(make(ctx, pattern, made));
    if (made->pattern == pattern) lac_pattern_destroy(&made->pattern);  // no pattern holds itself
    part = part_keep(p, made);
  }
  if (map) *map = lac_map_retain(part->map);
  if (out) *out = lac_pattern_retain(part->pattern ? part->pattern : pattern);
done:
  lac_object_release(made);
  lac_object_release(part);
  return status;
}

lac_status lac_pattern_part_map(lac_context *ctx, const char *function, const lac_pattern *pattern, lac_part_name name,
                                lac_status (*make)(lac_context *, const lac_pattern *, lac_part *), lac_map **map) {
  lac_status status = LAC_OK;
  LAC_CHECK(map, LAC_ERR_ARG, "%s: map is NULL", function);
  LAC_TRY(lac_pattern_require_scalar(ctx, pattern, function));
  LAC_TRY(lac_pattern_part(ctx, pattern, name, 0, make, NULL, map));
done:
  return status;
}
