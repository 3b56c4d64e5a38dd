// SPDX-License-Identifier: Apache-2.0
/// @file pattern_product.c
/// The pattern of a product (A B), kept as a plan for the pair, and the places of its products, kept with it.
///
///     row i has the columns of B's rows k over the columns k of A's row i, collected in an index set
///     product n of row i belongs to entry place[start[i] + n] of that row
///
/// On grids and bands most rows repeat the one above: they have its columns one further, and so have B's rows under
/// them. Such a row of the product is its neighbour's, one column further, with the same places: nothing is collected,
/// and nothing new is kept.
///
/// Each thread makes a range of rows in memory of its own, and then all are put together. What comes out does not
/// depend on the ranges, because columns ascend. Where a backend builds patterns on its device, the product is built
/// there, of an entry for each product of numbers; it has no places, which only the host's kernels read.

#include <omp.h>
#include <string.h>

#include "core/pattern/index_set.h"
#include "core/pattern/structure.h"

enum { PRODUCT_SMALL = 1 << 14, PRODUCT_AHEAD = 8, PRODUCT_FAR_AHEAD = 24 };  // work for one thread; entries ahead
enum { PRODUCT_LARGE = 1 << 20 };       // entries of a factor that a device may have no room for
enum { PLACE_LIMIT = UINT16_MAX + 1 };  // of the entries in a row

/// What one thread makes: the columns of those rows of [begin, end) that do not repeat, and of the first.
typedef struct product_range {
  int64_t begin, end;
  lac_index_set set;
  void *columns;
  int64_t count, room;
  int64_t total;         // entries of all rows
  bool failed, is_long;  // out of memory; a row beyond PLACE_LIMIT
} product_range;

typedef struct product_work {
  const lac_pattern *a, *b;
  int threads;
  unsigned char *repeats;  // for each row: it repeats the one above
  int64_t *start;   // for each row: products before it that have places of their own, and then where its own begin
  int64_t *length;  // entries of each row
  int64_t places, repeated;  // numbers of places, and of rows that repeat
  uint16_t *place;           // NULL: not kept
  product_range *ranges;
} product_work;

/// Room for `more` columns of `size` bytes behind those that are there, for row i: as much as all rows need if they are
/// like those so far, but at most four times as much as there was.
static bool range_grow(product_range *r, int64_t i, int64_t more, size_t size) {
  if (r->count + more <= r->room) return true;
  double guess = (double)(r->count + more) * (double)(r->end - r->begin) / (double)(i - r->begin + 1);
  int64_t least = r->room + r->room / 2 + more, most = 4 * r->room + more;
  int64_t room = guess < (double)least ? least : guess > (double)most ? most : (int64_t)guess + more;
  void *columns = lac_realloc(r->columns, (size_t)room * size);
  r->failed = !columns;
  if (r->failed) return false;
  r->columns = columns;
  r->room = room;
  return true;
}

// Both patterns 32/32, which is nearly always so.
#define NAME(x) x##_32
#define COLUMN int32_t
#define INDEX const int32_t *
#define OPEN(buffer) (buffer)->host
#define AT(array, i) ((int64_t)(array)[i])
#define ASK(array, i) __builtin_prefetch(&(array)[i])
#define PUT(buffer, i, value) (((int32_t *)(buffer)->host)[i] = (int32_t)(value))
#include "core/pattern/pattern_product.inc"
#undef NAME
#undef COLUMN
#undef INDEX
#undef OPEN
#undef AT
#undef ASK
#undef PUT

// Any widths.
#define NAME(x) x##_any
#define COLUMN int64_t
#define INDEX const lac_buffer *
#define OPEN(buffer) (buffer)
#define AT(array, i) lac_buffer_get(array, i)
#define ASK(array, i) ((void)0)
#define PUT(buffer, i, value) lac_buffer_set(buffer, i, value)
#include "core/pattern/pattern_product.inc"

static bool product_is_narrow(const product_work *w) {
  return w->a->width == LAC_WIDTH_32_32 && w->b->width == LAC_WIDTH_32_32;
}

/// Where each row's places begin; returns how many there are.
static int64_t product_add_up(product_work *w) {
  int64_t sum = 0, begin = 0;
  for (int64_t i = 0; i < w->a->rows; ++i) {
    if (w->repeats[i]) {
      ++w->repeated;
    } else {
      begin = sum, sum += w->start[i];
    }
    w->start[i] = begin;
  }
  return sum;
}

/// Which rows repeat, and how many products the others have. Shifts are of A's rows and of B's.
static lac_status product_survey(lac_context *ctx, product_work *w) {
  lac_status status = LAC_OK;
  unsigned char *shifts = NULL;
  bool narrow = product_is_narrow(w);

  LAC_ALLOC(w->repeats, w->a->rows + 1);
  LAC_ALLOC(w->start, w->a->rows + 1);
  LAC_ALLOC(shifts, w->b->rows + 1);
  (narrow ? find_shifts_32 : find_shifts_any)(w->b, shifts, w->threads);
  if (w->a == w->b) {
    memcpy(w->repeats, shifts, (size_t)w->a->rows);
  } else {
    (narrow ? find_shifts_32 : find_shifts_any)(w->a, w->repeats, w->threads);
  }
  (narrow ? find_repeats_32 : find_repeats_any)(w, shifts);
  w->places = product_add_up(w);
done:
  lac_free(shifts);
  return status;
}

/// The first row before which `share` of the work lies: entries of A, rows, and products that are not repeated.
static int64_t product_row_at(const product_work *w, double share) {
  int64_t low = 0, high = w->a->rows;
  double before = share * (double)(w->places + w->a->nnz + w->a->rows);
  while (low < high) {
    int64_t i = low + (high - low) / 2;
    if ((double)(w->start[i] + lac_buffer_get(w->a->offsets, i) + i) < before) {
      low = i + 1;
    } else {
      high = i;
    }
  }
  return low;
}

static lac_status product_open(lac_context *ctx, product_work *w) {
  lac_status status = LAC_OK;

  w->threads = w->a->nnz + w->b->nnz < PRODUCT_SMALL ? 1 : lac_structure_threads(ctx);
  LAC_ALLOC(w->ranges, w->threads);
  LAC_TRY(product_survey(ctx, w));
  LAC_ALLOC(w->length, w->a->rows + 1);
  if (w->places <= lac_pair_plans_budget() / 4 / (int64_t)sizeof *w->place) {
    w->place = lac_alloc((size_t)w->places * sizeof *w->place);
    LAC_CHECK(w->place, LAC_ERR_MEMORY, "lac_pattern_product: out of memory for %lld places", (long long)w->places);
  }
  for (int t = 0; t < w->threads; ++t) {
    w->ranges[t].begin = t ? w->ranges[t - 1].end : 0;
    w->ranges[t].end = t + 1 == w->threads ? w->a->rows : product_row_at(w, (double)(t + 1) / w->threads);
    LAC_TRY(lac_index_set_open(ctx, &w->ranges[t].set, w->b->cols));
  }
done:
  return status;
}

static void product_close(product_work *w) {
  for (int t = 0; w->ranges && t < w->threads; ++t) {
    lac_index_set_close(&w->ranges[t].set);
    lac_free(w->ranges[t].columns);
  }
  lac_free(w->ranges);
  lac_free(w->repeats);
  lac_free(w->start);
  lac_free(w->length);
  lac_free(w->place);
}

static lac_status product_collect(lac_context *ctx, product_work *w) {
  lac_status status = LAC_OK;
  bool narrow = product_is_narrow(w), is_long = false;

#pragma omp parallel for num_threads(w->threads) schedule(static, 1)
  for (int t = 0; t < w->threads; ++t) (narrow ? collect_32 : collect_any)(w, &w->ranges[t]);
  for (int t = 0; t < w->threads; ++t) {
    LAC_CHECK(!w->ranges[t].failed, LAC_ERR_MEMORY,
              "lac_pattern_product: out of memory for the columns of the product");
    is_long = is_long || w->ranges[t].is_long;
  }
  if (is_long) {
    lac_free(w->place);
    w->place = NULL;
  }
done:
  return status;
}

static lac_status product_assemble(lac_context *ctx, const product_work *w, lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *columns = NULL;
  lac_width width = LAC_WIDTH_AUTO;
  int64_t rows = w->a->rows, nnz = 0;

  for (int t = 0; t < w->threads; ++t) nnz += w->ranges[t].total;
  LAC_TRY(lac_pair_width(ctx, "lac_pattern_product", w->a, w->b, rows, w->b->cols, nnz, &width));
  LAC_TRY(lac_buffer_create(ctx, lac_width_offsets(width), rows + 1, &offsets));
  LAC_TRY(lac_buffer_create(ctx, lac_width_columns(width), nnz, &columns));
#pragma omp parallel for num_threads(w->threads) schedule(static, 1)
  for (int t = 0; t < w->threads; ++t) {
    int64_t at = 0;
    for (int s = 0; s < t; ++s) at += w->ranges[s].total;
    (product_is_narrow(w) ? put_32 : put_any)(w, &w->ranges[t], at, offsets, columns);
  }
  lac_buffer_set(offsets, rows, nnz);
  LAC_TRY(lac_pattern_adopt(ctx, rows, w->b->cols, width, &offsets, &columns, out));
done:
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

// -- places ----------------------------------------------------------------------------------------------------------

static void places_free(lac_object *object) {
  lac_places *places = (lac_places *)object;
  lac_free(places->start);
  lac_free(places->place);
  lac_free(places);
}

static const lac_kind places_kind = {"places", places_free};

/// Let the product's pattern keep the places.
static lac_status product_keep_places(lac_context *ctx, product_work *w, const lac_pattern *c) {
  lac_status status = LAC_OK;
  lac_places *places = NULL;
  int64_t bytes = w->places * (int64_t)sizeof *w->place + w->a->rows * (int64_t)sizeof *w->start;

  LAC_ALLOC(places, 1);
  lac_object_init(&places->object, &places_kind);
  places->a = w->a->object.id;
  places->b = w->b->object.id;
  places->start = w->start, w->start = NULL;
  places->place = w->place, w->place = NULL;
  places->repeats = w->repeated > w->a->rows / 2;
  LAC_TRY(lac_pattern_add_cached(ctx, c, &places->object, bytes + (int64_t)sizeof *places));
done:
  lac_object_release(places);
  return status;
}

static int places_match(const lac_object *object, const void *key) {
  const lac_places *places = (const lac_places *)object;
  const int64_t *ids = key;
  return places->a == ids[0] && places->b == ids[1];
}

lac_places *lac_pattern_places(const lac_pattern *a, const lac_pattern *b, const lac_pattern *c) {
  const int64_t ids[] = {a->object.id, b->object.id};
  return (lac_places *)lac_pattern_find_cached(c, &places_kind, places_match, ids);
}

// -- the product -----------------------------------------------------------------------------------------------------

static lac_status product_build(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out) {
  lac_status status = LAC_OK;
  const lac_structure_kernels *structure = lac_structure_of(ctx);
  lac_buffer *row = NULL, *col = NULL, *offsets = NULL, *columns = NULL;
  lac_width width = lac_pair_width_asked(a, b);
  lac_entries e = {.rows = a->rows, .cols = b->cols};

  LAC_TRY(structure->products(ctx, a, b, &row, &col));
  e.count = row->count;
  e.row.type = row->type, e.col.type = col->type;
  LAC_TRY(lac_buffer_on(ctx, row, &e.row.data));
  LAC_TRY(lac_buffer_on(ctx, col, &e.col.data));
  LAC_TRY(structure->build(ctx, "lac_pattern_product", &e, &width, &offsets, &columns, NULL));
  LAC_TRY(lac_pattern_adopt(ctx, a->rows, b->cols, width, &offsets, &columns, out));
done:
  lac_object_release(row);
  lac_object_release(col);
  lac_object_release(offsets);
  lac_object_release(columns);
  return status;
}

static lac_status product_make(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pair_plan *plan) {
  lac_status status = LAC_OK;
  product_work w = {.a = a, .b = b};

  LAC_TRY(lac_pair_host(ctx, a, b));
  LAC_TRY(product_open(ctx, &w));
  LAC_TRY(product_collect(ctx, &w));
  LAC_TRY(product_assemble(ctx, &w, &plan->pattern));
  if (w.place) LAC_TRY(product_keep_places(ctx, &w, plan->pattern));
done:
  product_close(&w);
  return status;
}

/// A device may have no room for all products at once; the host has them row by row. Where they are few, it is
/// something else that fails.
static lac_status product_make_there(lac_context *ctx, const lac_pattern *a, const lac_pattern *b,
                                     lac_pair_plan *plan) {
  lac_status status = product_build(ctx, a, b, &plan->pattern);

  if (status != LAC_ERR_MEMORY || a->nnz < PRODUCT_LARGE) return status;
  lac_context_clear_error(ctx);
  return product_make(ctx, a, b, plan);
}

lac_status lac_pattern_product(lac_context *ctx, const lac_pattern *a, const lac_pattern *b, lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_pair_plan *plan = NULL;
  bool is_there = lac_structure_of(ctx) != NULL;

  LAC_TRY(lac_pair_check(ctx, "lac_pattern_product", a, b, out));
  LAC_CHECK(a->cols == b->rows, LAC_ERR_SHAPE,
            "lac_pattern_product: a is %lld x %lld and b is %lld x %lld; a must have as many columns as b has rows",
            (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols);
  // Apart, since the host's kernels are the quicker for the places.
  LAC_TRY(lac_pair_plan_get(ctx, is_there ? "product there" : "product", a, b,
                            is_there ? product_make_there : product_make, &plan));
  *out = lac_pattern_retain(plan->pattern);
done:
  lac_object_release(plan);
  return status;
}
