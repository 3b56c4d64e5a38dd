// SPDX-License-Identifier: Apache-2.0
/// @file pattern.c
/// The life of a pattern: adoption, identity, what it says of itself, what others keep with it.

#include <inttypes.h>
#include <string.h>

#include "core/pattern/structure.h"
#include "core/numbers/search.h"

/// A link of the chain of objects that others keep with a pattern.
typedef struct lac_cached {
  struct lac_cached *next;
  lac_object *object;
  int64_t bytes;
} lac_cached;

static void pattern_free(lac_object *object) {
  lac_pattern *p = (lac_pattern *)object;
  const void *const held[] = {p->offsets,       p->columns,       p->rows_of,        p->t_offsets,
                              p->t_rows,        p->t_slots,       p->identity,       p->halo,
                              p->row_partition, p->col_partition, p->entry_partition};

  if (atomic_load_explicit(&p->has_plans, memory_order_relaxed)) lac_pair_plans_forget(p->object.id);
  for (size_t i = 0; i < sizeof held / sizeof *held; ++i) lac_object_release(held[i]);
  for (int i = 0; i < LAC_PARTS_KEPT; ++i) lac_object_release(p->parts[i]);
  while (p->cached) {
    lac_cached *link = p->cached;
    p->cached = link->next;
    lac_object_release(link->object);
    lac_free(link);
  }
  pthread_mutex_destroy(&p->lock);
  lac_free(p->band);
  lac_free(p);
}

static const lac_kind pattern_kind = {"pattern", pattern_free};

// -- widths ----------------------------------------------------------------------------------------------------------

lac_index_type lac_width_offsets(lac_width width) { return width == LAC_WIDTH_32_32 ? LAC_I32 : LAC_I64; }
lac_index_type lac_width_columns(lac_width width) { return width == LAC_WIDTH_64_64 ? LAC_I64 : LAC_I32; }

static const char *width_name(lac_width width) {
  static const char *const names[] = {"LAC_WIDTH_AUTO", "LAC_WIDTH_32_32", "LAC_WIDTH_64_32", "LAC_WIDTH_64_64"};
  return names[width];
}

/// Rows are held to the columns' limit, so that a transpose and the row of each slot have the same width.
lac_status lac_width_choose(lac_context *ctx, const char *function, lac_width width, int64_t rows, int64_t cols,
                            int64_t nnz, lac_width *out) {
  lac_status status = LAC_OK;
  int64_t largest = rows > cols ? rows : cols;
  lac_width narrowest = largest > INT32_MAX ? LAC_WIDTH_64_64 : nnz > INT32_MAX ? LAC_WIDTH_64_32 : LAC_WIDTH_32_32;

  LAC_CHECK(width >= LAC_WIDTH_AUTO && width <= LAC_WIDTH_64_64, LAC_ERR_ARG, "%s: width = %d is none of lac_width",
            function, (int)width);
  LAC_CHECK(width == LAC_WIDTH_AUTO || width >= narrowest, LAC_ERR_OVERFLOW,
            "%s: %s holds counts up to %d, and the matrix has %s = %" PRId64 "; use %s or LAC_WIDTH_AUTO", function,
            width_name(width), INT32_MAX,
            largest <= INT32_MAX ? "nnz"
            : rows >= cols       ? "rows"
                                 : "cols",
            largest <= INT32_MAX ? nnz : largest, width_name(narrowest));
  *out = width == LAC_WIDTH_AUTO ? narrowest : width;
done:
  return status;
}

// -- making ----------------------------------------------------------------------------------------------------------

/// A sum of images of (place, value): neither the width nor the number of threads changes it.
static uint64_t pattern_buffer_print(const lac_buffer *buffer, uint64_t seed, int threads) {
  uint64_t sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum) schedule(static) if (buffer->count > 1 << 16)
  for (int64_t i = 0; i < buffer->count; ++i) {
    sum += lac_fingerprint_image((uint64_t)lac_buffer_get(buffer, i), seed, (uint64_t)i);
  }
  return sum;
}

/// Where the integers are: on the host, or else where the context can read them.
static lac_status pattern_print_of(lac_context *ctx, const lac_buffer *buffer, uint64_t seed, uint64_t *sum) {
  lac_status status = LAC_OK;
  if (!lac_buffer_is_host(buffer) && lac_structure_of(ctx)) {
    LAC_TRY(lac_structure_of(ctx)->print(ctx, buffer, seed, sum));
  } else {
    LAC_TRY(lac_buffer_host(ctx, buffer));
    *sum = pattern_buffer_print(buffer, seed, lac_structure_threads(ctx));
  }
done:
  return status;
}

static lac_status pattern_print(lac_context *ctx, lac_pattern *p) {
  lac_status status = LAC_OK;
  uint64_t print = lac_fingerprint_mix((uint64_t)p->rows + 1) + 3 * lac_fingerprint_mix((uint64_t)p->cols + 2);
  uint64_t offsets = 0, columns = 0;

  print += 5 * lac_fingerprint_mix((uint64_t)p->br) + 7 * lac_fingerprint_mix((uint64_t)p->bc);
  LAC_TRY(pattern_print_of(ctx, p->offsets, UINT64_C(0xd6e8feb86659fd93), &offsets));
  LAC_TRY(pattern_print_of(ctx, p->columns, UINT64_C(0xa0761d6478bd642f), &columns));
  p->fingerprint = lac_fingerprint_mix(print + offsets + columns);
done:
  return status;
}

lac_status lac_pattern_adopt_blocks(lac_context *ctx, int64_t rows, int64_t cols, int64_t br, int64_t bc,
                                    lac_width width, lac_buffer **offsets, lac_buffer **columns, lac_pattern **out) {
  lac_status status = LAC_OK;
  lac_pattern *p = NULL;

  LAC_CHECK((*offsets)->type == lac_width_offsets(width) && (*columns)->type == lac_width_columns(width) &&
                (*offsets)->count == rows + 1 &&
                (!lac_buffer_is_host(*offsets) || (*columns)->count == lac_buffer_get(*offsets, rows)),
            LAC_ERR_PATTERN, "lac_pattern_adopt: offsets or columns do not have the length and integers of %s",
            width_name(width));
  LAC_ALLOC(p, 1);
  lac_object_init(&p->object, &pattern_kind);
  pthread_mutex_init(&p->lock, NULL);
  p->rows = rows;
  p->cols = cols;
  p->br = br;
  p->bc = bc;
  p->nnz = (*columns)->count;
  p->width = width;
  p->offsets = lac_object_retain(*offsets);
  p->columns = lac_object_retain(*columns);
  LAC_TRY(pattern_print(ctx, p));
  lac_object_release(*offsets);
  lac_object_release(*columns);
  *offsets = *columns = NULL;
  *out = p, p = NULL;
done:
  lac_object_release(p);
  return status;
}

lac_status lac_pattern_adopt(lac_context *ctx, int64_t rows, int64_t cols, lac_width width, lac_buffer **offsets,
                             lac_buffer **columns, lac_pattern **out) {
  return lac_pattern_adopt_blocks(ctx, rows, cols, 1, 1, width, offsets, columns, out);
}

lac_pattern *lac_pattern_retain(const lac_pattern *pattern) { return lac_object_retain(pattern); }

void lac_pattern_destroy(lac_pattern **pattern) {
  if (!pattern) return;
  lac_object_release(*pattern);
  *pattern = NULL;
}

lac_status lac_pattern_require_here(lac_context *ctx, const lac_pattern *pattern, const char *function) {
  lac_status status = LAC_OK;
  LAC_CHECK(pattern, LAC_ERR_ARG, "%s: the pattern is NULL", function);
  LAC_CHECK(
      !pattern->halo, LAC_ERR_UNSUPPORTED,
      "%s: the pattern is distributed and its other rows lie on other ranks; make the result of the whole pattern in "
      "one process and distribute that (lac_pattern_distributed)",
      function);
done:
  return status;
}

lac_status lac_pattern_require_scalar(lac_context *ctx, const lac_pattern *pattern, const char *function) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_pattern_require_here(ctx, pattern, function));
  LAC_CHECK(!lac_pattern_has_blocks(pattern), LAC_ERR_UNSUPPORTED,
            "%s: the pattern has blocks of %" PRId64 " x %" PRId64
            ", and one with single entries is needed; lac_pattern_scalar gives it, and the map that takes values there",
            function, pattern->br, pattern->bc);
done:
  return status;
}

lac_status lac_pattern_require_host(lac_context *ctx, const lac_pattern *pattern, const char *function) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_pattern_require_scalar(ctx, pattern, function));
  LAC_TRY(lac_pattern_host(ctx, pattern));
done:
  return status;
}

lac_status lac_pattern_host(lac_context *ctx, const lac_pattern *pattern) {
  lac_status status = LAC_OK;
  LAC_TRY(lac_buffer_host(ctx, pattern->offsets));
  LAC_TRY(lac_buffer_host(ctx, pattern->columns));
done:
  return status;
}

// -- what it says of itself ------------------------------------------------------------------------------------------

int64_t lac_pattern_rows(const lac_pattern *pattern) { return pattern ? pattern->rows * pattern->br : 0; }
int64_t lac_pattern_cols(const lac_pattern *pattern) { return pattern ? pattern->cols * pattern->bc : 0; }
int lac_pattern_device(const lac_pattern *pattern) { return pattern ? lac_buffer_device(pattern->columns) : -1; }

int64_t lac_pattern_nnz(const lac_pattern *pattern) { return pattern ? pattern->nnz : 0; }

void lac_pattern_blocks(const lac_pattern *pattern, int64_t *br, int64_t *bc) {
  if (br) *br = pattern ? pattern->br : 0;
  if (bc) *bc = pattern ? pattern->bc : 0;
}

lac_width lac_pattern_width(const lac_pattern *pattern) { return pattern ? pattern->width : LAC_WIDTH_AUTO; }
int64_t lac_pattern_id(const lac_pattern *pattern) { return pattern ? pattern->object.id : 0; }

static int64_t buffer_bytes(const lac_buffer *b) {
  if (!b) return 0;
  bool is_there = !b->counts || lac_buffer_is_host(b);
  return (int64_t)sizeof *b + (is_there ? b->count * (b->type == LAC_I32 ? 4 : 8) : 0);
}

enum { BUFFERS_HELD = 7 };

/// The bytes of a buffer that is not in the list.
static int64_t buffer_bytes_beyond(const lac_buffer *b, const lac_buffer *const *list, int count) {
  for (int i = 0; i < count; ++i) {
    if (list[i] == b) return 0;
  }
  return buffer_bytes(b);
}

/// The bytes of a pattern and of what it keeps, less the buffers that were counted already: parts share them.
static int64_t pattern_weigh(const lac_pattern *pattern, const lac_buffer *const *counted, int count) {
  lac_pattern *p = (lac_pattern *)pattern;  // for its lock
  int64_t bytes = (int64_t)sizeof *p;

  pthread_mutex_lock(&p->lock);
  const lac_buffer *held[BUFFERS_HELD + 1] = {p->offsets,
                                              p->columns,
                                              p->rows_of,
                                              p->t_offsets,
                                              p->t_rows,
                                              p->t_slots,
                                              p->identity ? p->identity->target : NULL};
  for (int i = 0; i < BUFFERS_HELD; ++i) {
    if (buffer_bytes_beyond(held[i], held, i)) bytes += buffer_bytes_beyond(held[i], counted, count);
  }
  if (p->identity) bytes += (int64_t)sizeof(lac_map);
  for (const lac_cached *link = p->cached; link; link = link->next) bytes += (int64_t)sizeof *link + link->bytes;
  for (int i = 0; i < LAC_PARTS_KEPT; ++i) {
    const lac_part *part = p->parts[i];
    if (!part) continue;
    bytes += (int64_t)(sizeof *part + sizeof *part->map) + buffer_bytes_beyond(part->map->target, held, BUFFERS_HELD);
    held[BUFFERS_HELD] = part->map->target;
    if (part->pattern) bytes += pattern_weigh(part->pattern, held, BUFFERS_HELD + 1);
  }
  pthread_mutex_unlock(&p->lock);
  return bytes;
}

int64_t lac_pattern_bytes(const lac_pattern *pattern) { return pattern ? pattern_weigh(pattern, NULL, 0) : 0; }

lac_status lac_pattern_read(const lac_pattern *pattern, int64_t *offsets, int64_t *columns, int64_t *rows_of) {
  lac_context *ctx = NULL;
  lac_status status = LAC_OK;

  LAC_CHECK(pattern, LAC_ERR_ARG, "lac_pattern_read: the pattern is NULL");
  LAC_TRY(lac_pattern_host(ctx, pattern));
  for (int64_t i = 0; offsets && i <= pattern->rows; ++i) offsets[i] = lac_buffer_get(pattern->offsets, i);
  for (int64_t p = 0; columns && p < pattern->nnz; ++p) columns[p] = lac_buffer_get(pattern->columns, p);
  for (int64_t i = 0; rows_of && i < pattern->rows; ++i) {
    int64_t end = lac_buffer_get(pattern->offsets, i + 1);
    for (int64_t p = lac_buffer_get(pattern->offsets, i); p < end; ++p) rows_of[p] = i;
  }
done:
  return status;
}

int64_t lac_pattern_reaches(const lac_pattern *pattern, int64_t i, int64_t col) {
  int64_t low = lac_buffer_get(pattern->offsets, i), high = lac_buffer_get(pattern->offsets, i + 1);
  LAC_SEARCH(low, high, p, lac_buffer_get(pattern->columns, p) < col)
  return low;
}

/// Run by run, so that most of what differs is found early and the loop within has no way out.
static bool widths_same(const int32_t *narrow, const int64_t *wide, int64_t count) {
  enum { RUN = 4096 };
  int64_t differs = 0;
  for (int64_t i = 0; i < count && !differs; i += RUN) {
    int64_t end = i + RUN < count ? i + RUN : count;
    for (int64_t k = i; k < end; ++k) differs |= narrow[k] ^ wide[k];
  }
  return !differs;
}

static bool indices_same(lac_indices a, lac_indices b, int64_t count) {
  if (a.type == b.type) return count == 0 || !memcmp(a.data, b.data, (size_t)count * lac_index_size(a.type));
  return a.type == LAC_I32 ? widths_same(a.data, b.data, count) : widths_same(b.data, a.data, count);
}

static bool buffer_same(const lac_buffer *a, const lac_buffer *b) {
  if (a == b) return true;
  return a->count == b->count &&
         indices_same((lac_indices){a->host, a->type}, (lac_indices){b->host, b->type}, a->count);
}

int lac_pattern_same(const lac_pattern *a, const lac_pattern *b) {
  if (a == b) return 1;
  if (!a || !b || a->fingerprint != b->fingerprint || a->rows != b->rows || a->cols != b->cols) return 0;
  if (a->br != b->br || a->bc != b->bc || a->halo || b->halo) return 0;
  if (a->offsets == b->offsets && a->columns == b->columns) return 1;
  if (lac_pattern_host(NULL, a) != LAC_OK || lac_pattern_host(NULL, b) != LAC_OK) return 0;
  return buffer_same(a->offsets, b->offsets) && buffer_same(a->columns, b->columns);
}

int lac_pattern_same_csr(const lac_pattern *pattern, int64_t rows, lac_index_type type, const void *offsets,
                         const void *columns) {
  if (!pattern || pattern->halo || !offsets || rows != pattern->rows || (!columns && pattern->nnz != 0)) return 0;
  if ((type != LAC_I32 && type != LAC_I64) || lac_pattern_host(NULL, pattern) != LAC_OK) return 0;
  lac_indices own[] = {{pattern->offsets->host, pattern->offsets->type},
                       {pattern->columns->host, pattern->columns->type}};
  return indices_same(own[0], (lac_indices){offsets, type}, rows + 1) &&
         indices_same(own[1], (lac_indices){columns, type}, pattern->nnz);
}

// -- what is kept with it --------------------------------------------------------------------------------------------

lac_object *lac_pattern_find_cached(const lac_pattern *pattern, const lac_kind *kind,
                                    int (*match)(const lac_object *object, const void *key), const void *key) {
  lac_pattern *p = (lac_pattern *)pattern;  // for its lock
  lac_object *found = NULL;

  pthread_mutex_lock(&p->lock);
  for (const lac_cached *link = p->cached; link && !found; link = link->next) {
    if (link->object->kind == kind && (!match || match(link->object, key))) found = lac_object_retain(link->object);
  }
  pthread_mutex_unlock(&p->lock);
  return found;
}

lac_status lac_pattern_add_cached(lac_context *ctx, const lac_pattern *pattern, lac_object *object, int64_t bytes) {
  lac_status status = LAC_OK;
  lac_pattern *p = (lac_pattern *)pattern;  // only the chain changes, under the lock
  lac_cached *link = NULL;

  LAC_ALLOC(link, 1);
  link->object = lac_object_retain(object);
  link->bytes = bytes;
  pthread_mutex_lock(&p->lock);
  link->next = p->cached;
  p->cached = link;
  pthread_mutex_unlock(&p->lock);
done:
  return status;
}
