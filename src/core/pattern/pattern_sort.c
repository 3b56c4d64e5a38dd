// SPDX-License-Identifier: Apache-2.0
/// @file pattern_sort.c
/// Entries into canonical order, in time linear in entries and rows.
///
///     partition   entries into blocks of consecutive rows, keeping their order          one pass, many sequential
///                 writers
///     group       the entries of a block by row, keeping their order                    within the cache
///     sort        the entries of a row by column, keeping their order                   insertion or radix
///     emit        a slot for each distinct column
///
/// Every step is stable, so the order that comes out is unique and does not depend on the number of threads. Work is by
/// blocks: a block's memory is taken when its turn comes.

#include "core/pattern/pattern_sort.h"

#include <string.h>

enum {
  BLOCK_ENTRIES = 1 << 14,  // about what a block shall hold, so that it fits the cache
  MOST_BLOCKS = 1 << 10,    // as many writers as the partition keeps open
  SHORT_ROW = 32,           // up to here insertion wins
  DIGIT_BITS = 8,
  DIGITS = 1 << DIGIT_BITS
};

/// Block b has the rows [b << shift, (b + 1) << shift) and the entries [starts[b], starts[b + 1]).
typedef struct sort_blocks {
  int shift;
  int64_t count;
  int64_t *starts;
} sort_blocks;

static lac_status sort_blocks_make(lac_context *ctx, const lac_entries *e, sort_blocks *blocks) {
  lac_status status = LAC_OK;
  int64_t most = e->count / BLOCK_ENTRIES + 1;

  if (most > MOST_BLOCKS) most = MOST_BLOCKS;
  while ((e->rows - 1) >> blocks->shift >= most) ++blocks->shift;
  blocks->count = ((e->rows - 1) >> blocks->shift) + 1;
  LAC_ALLOC(blocks->starts, blocks->count + 1);
done:
  return status;
}

static int64_t block_row(const lac_entries *e, const sort_blocks *blocks, int64_t b) {
  return b < blocks->count ? b << blocks->shift : e->rows;
}

/// Where chunk c of the input begins.
static int64_t chunk_begin(int64_t count, int chunks, int c) { return c < chunks ? count / chunks * c : count; }

#define INDEX int32_t
#define ITEM item_32
#define NAME(x) x##_32
#include "core/pattern/pattern_sort.inc"
#undef INDEX
#undef ITEM
#undef NAME

#define INDEX int64_t
#define ITEM item_64
#define NAME(x) x##_64
#include "core/pattern/pattern_sort.inc"
#undef INDEX
#undef ITEM
#undef NAME

lac_index_type lac_entries_type(const lac_entries *e) {
  return e->rows < INT32_MAX && e->cols <= INT32_MAX && e->count <= INT32_MAX ? LAC_I32 : LAC_I64;
}

lac_status lac_entries_sort(lac_context *ctx, const lac_entries *e, lac_buffer *bounds, lac_buffer *offsets,
                            void **sorted) {
  return bounds->type == LAC_I32 ? sort_32(ctx, e, bounds->host, offsets->host, sorted)
                                 : sort_64(ctx, e, bounds->host, offsets->host, sorted);
}

void lac_entries_emit(lac_context *ctx, const lac_entries *e, const void *sorted, const lac_buffer *bounds,
                      const lac_buffer *offsets, lac_buffer *columns, lac_buffer *target) {
  int threads = lac_structure_threads(ctx);
  if (bounds->type == LAC_I32) {
    emit_32(e, sorted, bounds->host, offsets->host, columns, target, threads);
  } else {
    emit_64(e, sorted, bounds->host, offsets->host, columns, target, threads);
  }
}
